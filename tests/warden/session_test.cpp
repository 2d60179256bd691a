// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/listener.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>

#include "support/census.hpp"
#include "support/far_provider.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/resource.h>

namespace {

using namespace cofferdam;
namespace wire = cofferdam::detail::wire;
using cofferdam_test::far_environment;
using cofferdam_test::far_provider;
using cofferdam_test::pause_for;

/// A set of coroutines that run at the same time, and a function that waits for all of them.
class group {
 public:
  explicit group(asio::any_io_executor executor) : executor_(std::move(executor)) {}
  template <class Work>
  void add(Work work) {
    ++running_;
    cofferdam_test::spawn(executor_, std::move(work), [this](std::exception_ptr failure) {
      --running_;
      if (failure) failures_.push_back(failure);
    });
  }
  awaitable<void> wait() {
    while (running_ != 0) co_await pause_for(std::chrono::milliseconds(1));
  }
  const std::vector<std::exception_ptr>& failures() const { return failures_; }

 private:
  asio::any_io_executor executor_;
  int running_ = 0;
  std::vector<std::exception_ptr> failures_;
};

TEST(WardenSession, forty_files_are_written_and_read_at_once_beyond_the_wardens_window) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      group tasks(co_await asio::this_coro::executor);
      for (int i = 0; i < 40; ++i) {
        tasks.add([&env, i]() -> awaitable<void> {
          const bytes content(300'000 + static_cast<std::size_t>(i), static_cast<std::byte>(i));
          const std::string name = "f" + std::to_string(i);
          co_await env.write_file(name, content);
          bytes back = co_await env.read_file(name, 1'000'000);
          EXPECT_EQ(back, content);
        });
      }
      co_await tasks.wait();
      EXPECT_TRUE(tasks.failures().empty());
    });
  });
}

TEST(WardenSession, a_write_that_cannot_be_done_is_an_error_with_its_own_reason_and_the_others_go_on) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      co_await env.files().make_directory("folder");
      const bytes large(900'000, std::byte{1});
      for (int i = 0; i < 20; ++i) {  // more requests than may be unfinished: all must end
        bool failed = false;
        try {
          co_await env.write_file("folder", large);
        } catch (const error& failure) {
          failed = failure.cause() == std::error_code(EISDIR, std::system_category());
          EXPECT_TRUE(failed) << failure.what();
        }
        EXPECT_TRUE(failed);
      }
      co_await env.write_file("fine", large);
      bytes back = co_await env.read_file("fine", 1'000'000);
      EXPECT_EQ(back.size(), large.size());
    });
  });
}

TEST(WardenSession, writes_that_are_cancelled_give_their_room_back_and_leave_no_file) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      for (int round = 0; round < 30; ++round) {
        asio::cancellation_signal signal;
        bool ended = false;
        cofferdam_test::spawn(
            executor,
            [&env]() -> awaitable<void> {
              const bytes content(3'000'000, std::byte{7});
              co_await env.write_file("target", content);
            },
            [&ended](std::exception_ptr) { ended = true; }, signal.slot());
        for (int i = 0; i < round; ++i) co_await asio::post(executor, asio::use_awaitable);
        signal.emit(asio::cancellation_type::terminal);
        while (!ended) co_await pause_for(std::chrono::milliseconds(1));
        const bytes small(10, std::byte{1});
        co_await env.write_file("small", small);
      }
      std::vector<directory_entry> left = co_await env.files().list(".");
      for (const directory_entry& each : left)
        EXPECT_TRUE(each.path() == "small" || each.path() == "target") << each.path();
    });
  });
}

/// Returns bytes that differ at each offset, for some time.
bytes pattern(std::size_t size) {
  bytes content(size);
  for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<std::byte>(i * 31 % 251 + i / 1'000'000);
  return content;
}

TEST(WardenSession, files_of_sizes_around_the_pieces_are_read_whole_also_several_at_once) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      constexpr std::size_t piece = wire::max_read;
      group tasks(co_await asio::this_coro::executor);
      for (const std::size_t size : {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1, 2 * piece,
                                     4 * piece - 1, 4 * piece, 4 * piece + 1, 9 * piece + 5}) {
        tasks.add([&env, size]() -> awaitable<void> {
          const bytes content = pattern(size);
          const std::string name = "f" + std::to_string(size);
          co_await env.write_file(name, content);
          const bytes back = co_await env.read_file(name, size);
          EXPECT_TRUE(back == content) << size << " bytes, " << back.size() << " read";
        });
      }
      co_await tasks.wait();
      EXPECT_TRUE(tasks.failures().empty());
    });
  });
}

TEST(WardenSession, a_file_that_changes_its_size_while_it_is_read_ends_where_the_kernel_ends_it) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      constexpr std::size_t piece = wire::max_read;
      const bytes content = pattern(12 * piece);
      for (const std::size_t new_size : {std::size_t{0}, piece / 2, 5 * piece + 7, 20 * piece}) {
        co_await env.write_file("f", content);
        std::vector<file_request> requests;
        requests.emplace_back("f", "f");
        std::unique_ptr<file_source> source = co_await env.files().get_files(std::move(requests));
        const std::optional<file_header> header = co_await source->next();
        EXPECT_TRUE(header.has_value());
        bytes got = co_await source->read(100);
        command change = argv("truncate", "-s", std::to_string(new_size), "f");
        const command_result changed = co_await env.run_command(std::move(change));
        EXPECT_TRUE(changed.ok()) << changed.reason();
        for (;;) {
          const bytes more = co_await source->read(piece);
          if (more.empty()) break;
          got.insert(got.end(), more.begin(), more.end());
        }
        EXPECT_LE(got.size(), std::max(new_size, 4 * piece));  // four pieces may have been read before
        const std::size_t own = std::min(got.size(), content.size());
        EXPECT_TRUE(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(own), content.begin()))
            << new_size;
      }
    });
  });
}

TEST(WardenSession, reads_that_are_cancelled_leave_the_session_in_order) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      const bytes content = pattern(6'000'000);
      co_await env.write_file("f", content);
      for (int round = 0; round < 30; ++round) {
        asio::cancellation_signal signal;
        bool ended = false;
        cofferdam_test::spawn(
            executor, [&env]() -> awaitable<void> { co_await env.read_file("f", 6'000'000); },
            [&ended](std::exception_ptr) { ended = true; }, signal.slot());
        for (int i = 0; i < 4 * round; ++i) co_await asio::post(executor, asio::use_awaitable);
        signal.emit(asio::cancellation_type::terminal);
        while (!ended) co_await pause_for(std::chrono::milliseconds(1));
        const bytes back = co_await env.read_file("f", 6'000'000);
        EXPECT_TRUE(back == content);
      }
    });
  });
}

std::string worker_of(unsigned warden) {
  // The warden's children are supervisors (which start commands and have sessions of their own), and the worker for
  // file operations.
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    const std::string name = each.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(each.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    const auto close = text.rfind(')');
    if (close == std::string::npos) continue;
    unsigned parent = 0;
    unsigned session = 0;
    char state = 0;
    unsigned group_id = 0;
    if (std::sscanf(text.c_str() + close + 2, "%c %u %u %u", &state, &parent, &group_id, &session) != 4) continue;
    if (parent == warden && session != static_cast<unsigned>(std::stoul(name))) return name;
  }
  return "";
}

TEST(WardenSession, requests_of_a_worker_that_was_killed_fail_and_the_next_ones_work) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      const bytes small(10, std::byte{1});
      co_await env.write_file("before", small);
      for (int round = 0; round < 5; ++round) {
        group tasks(co_await asio::this_coro::executor);
        int done = 0;
        for (int i = 0; i < 12; ++i) {
          tasks.add([&env, &done, i]() -> awaitable<void> {
            const bytes content(1'000'000, static_cast<std::byte>(i));
            co_await env.write_file("f" + std::to_string(i), content);
            ++done;
          });
        }
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        const std::string worker = worker_of(env.session().hello().pid());
        EXPECT_FALSE(worker.empty());
        if (!worker.empty()) ::kill(std::stoi(worker), SIGKILL);
        co_await tasks.wait();  // each request gets a reply or an error, and none waits for ever
        EXPECT_EQ(done + static_cast<int>(tasks.failures().size()), 12);
        co_await env.write_file("after", small);
        bytes back = co_await env.read_file("after", 100);
        EXPECT_EQ(back, small);
      }
    });
  });
}

TEST(WardenSession, the_kernels_limits_hold_for_every_command) {
  cofferdam_test::run([]() -> awaitable<void> {
    warden_settings settings;
    settings.limits.emplace_back(RLIMIT_NOFILE, 77, 88);
    settings.limits.emplace_back(RLIMIT_FSIZE, 1024 * 1024, 1024 * 1024);
    co_await with(far_provider(settings), [](far_environment& env) -> awaitable<void> {
      command_result shown = co_await env.run_command(shell("ulimit -n; ulimit -Hn"));
      EXPECT_EQ(shown.out().text(), "77\n88\n");
      command_result large = co_await env.run_command(argv("head", "-c", "2000000", "/dev/zero"));
      EXPECT_TRUE(large.ok());  // the output of a command does not count as a file
      command_result cut = co_await env.run_command(shell("exec head -c 2000000 /dev/zero > large"));
      EXPECT_EQ(cut.term_signal(), SIGXFSZ);
    });
  });
}

TEST(WardenSession, a_thousand_starts_at_once_let_timers_have_their_turn) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      group tasks(co_await asio::this_coro::executor);
      int begun = 0;
      int done = 0;
      for (int i = 0; i < 300; ++i) {
        tasks.add([&env, &begun, &done]() -> awaitable<void> {
          process running = co_await env.start(shell(":"));
          ++begun;
          command_result result = co_await running.wait();
          EXPECT_TRUE(result.ok());
          ++done;
        });
      }
      int seen_between = 0;  // how often the timer fires between the first and the last start
      while (done != 300) {
        if (begun > 0 && begun < 300) ++seen_between;
        co_await pause_for(std::chrono::milliseconds(0));
      }
      EXPECT_GE(seen_between, 3);
      co_await tasks.wait();
      EXPECT_TRUE(tasks.failures().empty());
    });
  });
}

// ---- a warden that sends without end ----

/// A sink that records the last request, so that a test can send replies that no correct warden sends.
class asked_frames final : public detail::frame_sink {
 public:
  void send(bytes frame) override { last = std::move(frame); }
  std::uint32_t number() const {
    std::uint32_t found = 0;
    std::memcpy(&found, last.data() + 5, sizeof found);
    return found;
  }
  bytes last;
};

TEST(WardenSession, more_of_a_file_than_was_asked_for_is_not_taken) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto sink = std::make_shared<asked_frames>();
    const auto requests = std::make_shared<detail::file_requests>(executor);
    group reading(executor);
    reading.add([=]() -> awaitable<void> {
      detail::warden_files files(sink, requests, "/w");
      co_await files.read_file("f", SIZE_MAX);
    });
    while (sink->last.empty()) co_await pause_for(std::chrono::milliseconds(1));
    const bytes piece(wire::max_payload);
    const wire::frame data(wire::frame_type::reply_data, sink->number(), piece);
    std::size_t count = 0;
    std::error_code code;
    try {
      for (; count < 4 * wire::max_read; count += piece.size()) requests->arrived(*sink, data);
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::provider_lost);
    EXPECT_LE(count, wire::max_read);
    requests->lose(error(exec_errc::provider_lost, "over"));
    co_await reading.wait();
  });
}

TEST(WardenSession, more_of_a_list_than_was_allowed_is_not_kept) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto sink = std::make_shared<asked_frames>();
    const auto requests = std::make_shared<detail::file_requests>(executor);
    std::error_code code;
    group listing(executor);
    listing.add([&, sink, requests]() -> awaitable<void> {
      const list_options options = list_options().entries(1000);
      try {
        detail::warden_files files(sink, requests, "/w");
        co_await files.list(".", options);
      } catch (const error& failure) {
        code = failure.code();
      }
    });
    while (sink->last.empty()) co_await pause_for(std::chrono::milliseconds(1));
    wire::frame_writer names(wire::frame_type::reply_data, 0);
    for (int i = 0; i < 900; ++i) {
      names.number(std::uint8_t{0}).number(std::uint32_t{0644}).number(std::uint64_t{1}).number(std::int64_t{0});
      names.number(std::uint32_t{0}).number(std::uint32_t{0}).number(std::uint32_t{0});
      names.text(std::string()).text(std::string(20, 'n'));
    }
    const bytes whole = names.take();
    const wire::frame data(wire::frame_type::reply_data, sink->number(), bytes_view(whole).subspan(wire::header_size));
    const std::size_t before = cofferdam_test::resident_memory();
    for (int i = 0; i < 2000; ++i) EXPECT_TRUE(requests->arrived(*sink, data));  // some 80 MB in all
    const std::size_t after = cofferdam_test::resident_memory();
    EXPECT_LT(after, before + 16 * 1024 * 1024);
    const bytes fine(4);
    requests->arrived(*sink, wire::frame(wire::frame_type::reply, sink->number(), fine));
    co_await listing.wait();
    EXPECT_EQ(code, exec_errc::too_large);
  });
}

/// A socket that counts how often it is closed.
class counting_socket : public asio::local::stream_protocol::socket {
 public:
  counting_socket(const asio::any_io_executor& executor, unique_fd socket, std::shared_ptr<int> closes)
      : asio::local::stream_protocol::socket(executor, asio::local::stream_protocol(), socket.release()),
        closes_(std::move(closes)) {}
  void close() {
    ++*closes_;
    asio::local::stream_protocol::socket::close();
  }

 private:
  std::shared_ptr<int> closes_;
};

// The last owner of an environment's state may destroy its session on another thread than the one that reads the link.
TEST(WardenSession, what_was_closed_or_abandoned_does_nothing_to_its_link_when_it_is_destroyed) {
  for (const bool is_closed : {true, false})
    cofferdam_test::run([is_closed]() -> awaitable<void> {
      const cofferdam_test::session_folder folder;
      const auto closes = std::make_shared<int>(0);
      detail::started_warden started = detail::start_warden(native_warden_image().program(), folder.path());
      counting_socket stream(co_await asio::this_coro::executor, std::move(started.socket), closes);
      {
        warden_session session = co_await warden_session::open(std::move(stream));
        EXPECT_EQ(*closes, 0);
        if (is_closed) co_await session.close();
        session.abandon();
        EXPECT_EQ(*closes, 1);
      }
      EXPECT_EQ(*closes, 1);
      detail::reaper::instance().adopt(std::move(started.pidfd));
    });
}

// The write waits for input credit that never arrives. Losing the session must end it.
TEST(WardenSession, a_write_to_a_command_whose_session_is_lost_ends) {
  cofferdam_test::run([]() -> awaitable<void> {
    const far_provider recipe;
    far_environment env = co_await recipe.open();
    process running = co_await env.start(shell("sleep 100").open_input());
    bool ended = false;
    std::error_code code;
    const auto writes = [&]() -> awaitable<void> {
      const bytes content(std::size_t{16} * 1024 * 1024);
      try {
        co_await running.write_input(content);
      } catch (const error& failure) {
        code = failure.code();
      }
      ended = true;
    };
    cofferdam_test::spawn(co_await asio::this_coro::executor, writes, [](std::exception_ptr) {});
    co_await pause_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(ended);
    env.session().lose(error(exec_errc::provider_lost, "lost on purpose"));
    for (int i = 0; i < 500 && !ended; ++i) co_await pause_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(ended);
    EXPECT_EQ(code, exec_errc::io_error);
  });
}

TEST(WardenSession, files_and_network_that_are_first_used_after_a_loss_fail_with_its_reason) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      const std::shared_ptr<session_files> files = env.session().files();
      env.session().lose(error(exec_errc::provider_lost, "the reason of this test"));
      std::string of_files;
      std::string of_network;
      try {
        co_await files->read_file("f", 100);
      } catch (const error& failure) {
        of_files = failure.what();
      }
      try {
        co_await env.session().network().connect(80);
      } catch (const error& failure) {
        of_network = failure.what();
      }
      EXPECT_NE(of_files.find("the reason of this test"), std::string::npos) << of_files;
      EXPECT_NE(of_network.find("the reason of this test"), std::string::npos) << of_network;
    });
  });
}

TEST(WardenSession, the_network_of_a_session_is_also_that_of_its_base_class) {
  cofferdam_test::run([]() -> awaitable<void> {
    co_await with(far_provider(), [](far_environment& env) -> awaitable<void> {
      command_session& base = env.session();
      listener derived_one = co_await env.session().network().listen();
      const std::uint16_t port = derived_one.port();
      byte_stream sent = co_await base.network().connect(port);
      byte_stream accepted = co_await derived_one.accept();
      EXPECT_TRUE(sent);
      EXPECT_TRUE(accepted);
    });
  });
}

}  // namespace
