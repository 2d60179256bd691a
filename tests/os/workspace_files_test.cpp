// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/os/workspace_files.hpp>

#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using asio::awaitable;
using cofferdam::bytes;
using cofferdam::bytes_view;
using cofferdam::directory;
using cofferdam::directory_entry;
using cofferdam::error;
using cofferdam::exec_errc;
using cofferdam::file_header;
using cofferdam::file_source;
using cofferdam::file_type;
using cofferdam::workspace_files;
using cofferdam::detail::home_strand;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;

/// A source of two files. Reading the first one fails.
class failing_source final : public file_source {
 public:
  explicit failing_source(exec_errc reason) : reason_(reason) {}
  awaitable<std::optional<file_header>> next() override {
    std::optional<file_header> header;
    if (given_ < 2) header.emplace("there", given_ == 0 ? "first" : "second", file_type::regular, 0, 0644);
    ++given_;
    co_return header;
  }
  awaitable<bytes> read(std::size_t) override {
    if (given_ == 1) throw error(reason_, "from read");
    co_return bytes();
  }
  int given() const noexcept { return given_; }

 private:
  exec_errc reason_;
  int given_ = 0;
};

}  // namespace

TEST(WorkspaceFiles, a_file_whose_content_fails_is_reported_and_the_next_one_is_put) {
  const temporary_folder folder;
  workspace_files files(directory::open(folder.path()), folder.path().string(), std::nullopt);
  failing_source source(exec_errc::io_error);
  run([&]() -> awaitable<void> {
    const cofferdam::transfer_result report = co_await files.put_files(source);
    EXPECT_EQ(report.failed().size(), 1U);
    EXPECT_EQ(report.files().size(), 1U);
  });
}

TEST(WorkspaceFiles, a_lost_or_closed_source_ends_the_whole_transfer) {
  const temporary_folder folder;
  workspace_files files(directory::open(folder.path()), folder.path().string(), std::nullopt);
  for (const exec_errc reason : {exec_errc::provider_lost, exec_errc::environment_closed, exec_errc::cancelled}) {
    failing_source source(reason);
    std::error_code code;
    run([&]() -> awaitable<void> {
      try {
        static_cast<void>(co_await files.put_files(source));
      } catch (const error& failure) {
        code = failure.code();
      }
    });
    EXPECT_EQ(code, reason);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "second"));
  }
}

namespace {

/// Files that callers on any executor may use, and the strand that they share.
class shared_files {
 public:
  explicit shared_files(asio::any_io_executor executor)
      : home(std::move(executor)), files(directory::open(folder.path()), folder.path().string(), std::nullopt) {
    files.share(home, [this] {
      if (++turns == closed_at) throw error(exec_errc::environment_closed, "closed");
    });
  }

  const temporary_folder folder;
  home_strand home;
  workspace_files files;
  int turns = 0;       // not atomic: ThreadSanitizer reports two turns at once
  int closed_at = -1;  // the turn at which the environment is closed
};

awaitable<void> use_files(workspace_files& files, std::string name) {
  const bytes content(3U * 1024 * 1024, std::byte{'x'});
  co_await files.make_directory(name);
  co_await files.write_file(name + "/first", bytes_view(content));
  co_await files.rename(name + "/first", name + "/second");
  const bytes found = co_await files.read_file(name + "/second", content.size());
  EXPECT_EQ(found, content);
  const std::vector<directory_entry> all = co_await files.list(name);
  EXPECT_EQ(all.size(), 1U);
  co_await files.remove(name);
}

}  // namespace

TEST(WorkspaceFiles, shared_files_take_one_turn_at_a_time_on_many_threads) {
  asio::thread_pool pool(4);
  shared_files shared(pool.get_executor());
  std::vector<std::future<void>> ends;
  for (int i = 0; i < 8; ++i)
    ends.push_back(asio::co_spawn(pool, use_files(shared.files, "d" + std::to_string(i)), asio::use_future));
  for (std::future<void>& end : ends) end.get();
  pool.join();
  // Three turns write a file and four read it; the other four operations have one turn each.
  EXPECT_EQ(shared.turns, 8 * 11);
}

TEST(WorkspaceFiles, a_turn_waits_while_another_thread_holds_the_strand) {
  asio::io_context loop;
  shared_files shared(loop.get_executor());
  std::promise<void> held;
  std::promise<void> released;
  std::thread holder([&] {
    shared.home.look([&] {
      held.set_value();
      released.get_future().wait();
    });
  });
  held.get_future().wait();
  std::future<directory_entry> end = asio::co_spawn(loop, shared.files.stat("."), asio::use_future);
  loop.poll();
  EXPECT_EQ(shared.turns, 0);
  released.set_value();
  holder.join();
  loop.run();
  EXPECT_TRUE(end.get().is_directory());
  EXPECT_EQ(shared.turns, 1);
}

TEST(WorkspaceFiles, a_turn_does_not_overtake_a_function_that_waits_for_the_strand) {
  asio::io_context loop;
  asio::io_context other;
  shared_files shared(loop.get_executor());
  int turns_before = -1;
  asio::post(shared.home.executor(), [&] { turns_before = shared.turns; });
  std::future<directory_entry> end = asio::co_spawn(other, shared.files.stat("."), asio::use_future);
  other.poll();
  EXPECT_EQ(shared.turns, 0);
  loop.run();
  other.run();
  EXPECT_TRUE(end.get().is_directory());
  EXPECT_EQ(turns_before, 0);
  EXPECT_EQ(shared.turns, 1);
}

TEST(WorkspaceFiles, a_closed_environment_does_not_use_the_source) {
  asio::io_context loop;
  shared_files shared(loop.get_executor());
  shared.closed_at = 1;
  failing_source source(exec_errc::io_error);
  std::error_code code;
  run([&]() -> awaitable<void> {
    try {
      static_cast<void>(co_await shared.files.put_files(source));
    } catch (const error& failure) {
      code = failure.code();
    }
  });
  EXPECT_EQ(code, exec_errc::environment_closed);
  EXPECT_EQ(source.given(), 0);
}

TEST(WorkspaceFiles, a_cancellation_while_a_turn_waits_is_an_error_of_this_library) {
  asio::io_context loop;
  asio::io_context other;
  shared_files shared(loop.get_executor());
  asio::cancellation_signal cancel;
  const bytes content(3U * 1024 * 1024, std::byte{'x'});
  std::exception_ptr failure;
  asio::post(shared.home.executor(), [] {});
  cofferdam_test::spawn(
      other, shared.files.write_file("file", bytes_view(content)), [&](std::exception_ptr thrown) { failure = thrown; },
      cancel.slot());
  other.poll();  // the first turn waits for the strand
  EXPECT_EQ(shared.turns, 0);
  loop.run();  // the function, and that turn
  EXPECT_EQ(shared.turns, 1);
  cancel.emit(asio::cancellation_type::terminal);
  loop.restart();
  loop.run();  // the cancellation, which comes too late for that turn
  other.run();
  std::error_code code;
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const error& reason) {
    code = reason.code();
  } catch (const std::system_error& foreign) {
    ADD_FAILURE() << "a foreign error: " << foreign.what();
  }
  EXPECT_EQ(code, exec_errc::cancelled);
  EXPECT_FALSE(std::filesystem::exists(shared.folder.path() / "file"));
}

TEST(WorkspaceFiles, shared_files_work_on_the_users_strand_and_beside_it) {
  asio::io_context loop;
  const auto strand = asio::make_strand(loop);
  shared_files shared(strand);
  std::future<void> on_strand = asio::co_spawn(strand, use_files(shared.files, "on"), asio::use_future);
  std::future<void> beside = asio::co_spawn(loop, use_files(shared.files, "beside"), asio::use_future);
  std::thread other([&] { loop.run(); });
  loop.run();
  other.join();
  on_strand.get();
  beside.get();
  EXPECT_EQ(shared.turns, 2 * 11);
}

TEST(WorkspaceFiles, an_operation_ends_at_the_first_turn_after_the_environment_was_closed) {
  asio::io_context loop;
  shared_files shared(loop.get_executor());
  shared.closed_at = 2;
  const bytes content(3U * 1024 * 1024, std::byte{'x'});
  std::error_code code;
  run([&]() -> awaitable<void> {
    try {
      co_await shared.files.write_file("file", bytes_view(content));
    } catch (const error& failure) {
      code = failure.code();
    }
  });
  EXPECT_EQ(code, exec_errc::environment_closed);
  EXPECT_EQ(shared.turns, 2);
  EXPECT_FALSE(std::filesystem::exists(shared.folder.path() / "file"));
}
