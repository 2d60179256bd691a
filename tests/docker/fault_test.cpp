// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/docker/detail/attached_stream.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>

#include "docker/docker_support.hpp"
#include "support/census.hpp"
#include "support/fault_proxy.hpp"
#include "support/paths.hpp"

#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::direction;
using cofferdam_test::docker_says;
using cofferdam_test::fault;
using cofferdam_test::fault_proxy;
using cofferdam_test::in_time;
using cofferdam_test::output_of;
using cofferdam_test::run;

/// Returns the containers of this process, one per line: the label of the owner, and the status.
std::string containers_of_this_process() {
  return docker_says(
      "ps -a --filter label=cofferdam.owner --format '{{.Label \"cofferdam.owner\"}} {{.Status}}' | grep ':" +
      std::to_string(::getpid()) + ":' || true");
}

/// The result of one run of converse().
class outcome {
 public:
  std::string said;  ///< text of the exception; empty means success
  std::error_code code;
  bool is_ours = true;  ///< true if the exception is a cofferdam::error
};

/// Opens an environment, uses it and closes it. Each call uses a new user id, so the library looks up the user in a
/// separate container each time.
awaitable<void> converse(std::string address) {
  static int user = 20000;
  const docker::container_options options = docker::container_options().user(std::to_string(++user));
  const docker::provider provider = docker::from_image("cofferdam-test/busybox")
                                        .options(options)
                                        .daemon(docker::daemon_choice().address(address))
                                        // With this transport, all traffic goes through the daemon's address, and
                                        // therefore through the proxy.
                                        .by(docker::command_transport::attached);
  docker::environment env = co_await provider.open();
  command_result result = co_await env.run_command(shell("cat; echo done").input("in\n"));
  if (result.out().text() != "in\ndone\n") throw std::logic_error("a wrong result: " + result.out().text());
  const std::string text = "content";
  co_await env.write_file("file", as_bytes(text));
  bytes again = co_await env.read_file("file", 100);
  if (as_text(again) != text) throw std::logic_error("a wrong file");
  co_await env.close();
}

outcome outcome_of(const std::string& address) {
  outcome result;
  try {
    run([&] { return converse(address); }, 400s);
  } catch (const error& failure) {
    result.said = failure.what();
    result.code = failure.code();
  } catch (const std::exception& failure) {
    result.said = failure.what();
    result.is_ours = false;
  }
  return result;
}

std::size_t descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(Attack, DK_03_a_conversation_that_comes_a_byte_at_a_time_or_late_is_the_same_conversation) {
  COFFERDAM_NEEDS_DOCKER();
  fault_proxy proxy(cofferdam_test::docker_address());
  proxy.arm(fault());
  proxy.chop(1);
  EXPECT_EQ(outcome_of(proxy.address()).said, "");
  proxy.arm(fault());
  proxy.delay(120ms);
  EXPECT_EQ(outcome_of(proxy.address()).said, "");
  EXPECT_TRUE(in_time([] { return containers_of_this_process().empty(); })) << containers_of_this_process();
}

TEST(Attack, DK_03_wherever_a_conversation_breaks_there_is_a_typed_error_and_no_container) {
  COFFERDAM_NEEDS_DOCKER();
  fault_proxy proxy(cofferdam_test::docker_address());
  // The first run includes the requests that are sent only once per process.
  ASSERT_EQ(outcome_of(proxy.address()).said, "");
  proxy.arm(fault());
  // Control: without a fault the run succeeds.
  ASSERT_EQ(outcome_of(proxy.address()).said, "");
  ASSERT_TRUE(in_time([&] { return proxy.open() == 0; }));
  const std::vector<std::size_t> up = proxy.messages(direction::up);
  const std::vector<std::size_t> down = proxy.messages(direction::down);
  ASSERT_GT(up.size(), 12U);
  ASSERT_GT(down.size(), 12U);

  // Garbage may announce a longer response than arrives, and the client then waits for its time limit of one minute.
  // The quick run therefore corrupts only the first message, where the client detects it immediately.
  const bool is_long = std::getenv("COFFERDAM_SOAK") != nullptr;
  std::vector<fault> faults;
  faults.emplace_back(fault::kind::garbage, direction::up, up.front());
  faults.emplace_back(fault::kind::garbage, direction::up, up.front());
  faults.emplace_back(fault::kind::garbage, direction::down, down.front());
  faults.emplace_back(fault::kind::garbage, direction::down, down.front());
  for (const std::size_t start : up) {
    faults.emplace_back(fault::kind::cut, direction::up, start);
    faults.emplace_back(fault::kind::cut, direction::up, start + 7);
    if (is_long) faults.emplace_back(fault::kind::garbage, direction::up, start);
  }
  for (const std::size_t start : down) {
    faults.emplace_back(fault::kind::cut, direction::down, start);
    faults.emplace_back(fault::kind::cut, direction::down, start + 9);
    faults.emplace_back(fault::kind::reset, direction::down, start + 1);
    if (!is_long) continue;
    faults.emplace_back(fault::kind::garbage, direction::down, start);
    faults.emplace_back(fault::kind::garbage, direction::down, start + 4);
  }
  const std::size_t step = is_long ? 1 : 2;
  const std::size_t before = descriptors();
  int broken = 0;
  int mended = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < faults.size(); i += step) {
    const fault& injected = faults[i];
    const std::string what = "fault " + std::to_string(static_cast<int>(injected.what)) +
                             (injected.where == direction::up ? " up at " : " down at ") + std::to_string(injected.at);
    proxy.arm(injected);
    const bool by_tcp = injected.what == fault::kind::reset;
    const auto now = std::chrono::steady_clock::now();
    const outcome result = outcome_of(by_tcp ? proxy.tcp_address() : proxy.address());
    const auto took = std::chrono::steady_clock::now() - now;
    if (std::getenv("COFFERDAM_TEST_VERBOSE") != nullptr || took > 20s)
      std::cout << what << ' ' << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                << " ms: " << result.said << '\n';
    EXPECT_TRUE(result.is_ours) << what << ": " << result.said;
    EXPECT_LT(took, 200s) << what << ": " << result.said;
    if (result.said.empty()) {
      // The client repeated the request without an error, or the run ended before the fault.
      ++mended;
    } else {
      ++broken;
      const std::string named = by_tcp ? proxy.tcp_address().substr(6) : proxy.socket();
      // An error message of the warden may arrive over any stream, and does not name the socket.
      EXPECT_TRUE(result.said.find(named) != std::string::npos || result.said.find("warden") != std::string::npos)
          << what << ": " << result.said;
      EXPECT_NE(result.code, exec_errc::cancelled) << result.said;
      EXPECT_NE(result.code, exec_errc::environment_closed) << result.said;
    }
    EXPECT_TRUE(in_time([] { return containers_of_this_process().empty(); }))
        << what << ": " << result.said << "\nleft: " << containers_of_this_process();
    EXPECT_TRUE(in_time([&] { return proxy.open() == 0; })) << what << ": a connection is left open";
    if (HasFailure() && std::chrono::steady_clock::now() - begin > 300s) break;
  }
  EXPECT_GT(broken, 10);
  proxy.arm(fault());
  EXPECT_TRUE(in_time([&] { return descriptors() <= before; })) << descriptors() << " descriptors, before " << before;
  std::cout << broken << " broken, " << mended << " mended\n";
}

TEST(Attack, DK_03_a_daemon_that_answers_nobody_any_more_is_an_error_that_names_the_socket) {
  COFFERDAM_NEEDS_DOCKER();
  fault_proxy proxy(cofferdam_test::docker_address());
  ASSERT_EQ(outcome_of(proxy.address()).said, "");
  proxy.arm(fault());
  ASSERT_EQ(outcome_of(proxy.address()).said, "");
  ASSERT_TRUE(in_time([&] { return proxy.open() == 0; }));
  const std::vector<std::size_t> down = proxy.messages(direction::down);
  std::size_t broken = 0;
  for (std::size_t i = 0; i < down.size(); i += 4) {
    proxy.arm(fault(fault::kind::cut, direction::down, down[i] + 1).for_good());
    const outcome result = outcome_of(proxy.address());
    // This run was shorter than the previous ones.
    if (!proxy.fired()) continue;
    ++broken;
    EXPECT_TRUE(result.is_ours) << result.said;
    EXPECT_NE(result.said.find(proxy.socket()), std::string::npos) << down[i] << ": " << result.said;
    EXPECT_TRUE(result.code == exec_errc::provider_lost || result.code == exec_errc::provider_failed) << result.said;
  }
  EXPECT_GT(broken, 3U);
  // A container that was created but not started stays until another process cleans up. A started container must be
  // gone.
  EXPECT_TRUE(in_time([] { return containers_of_this_process().find("Up ") == std::string::npos; }));
  docker_says("ps -a --filter label=cofferdam.owner --format '{{.ID}} {{.Label \"cofferdam.owner\"}}' | grep ':" +
              std::to_string(::getpid()) + ":' | cut -d' ' -f1 | xargs -r docker -H " +
              cofferdam_test::docker_address() + " rm -f");
}

/// A daemon that responds to the first request with these bytes, in one piece, and reads the rest of the stream.
class scripted_daemon {
 public:
  explicit scripted_daemon(std::vector<std::string> answers) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    const std::string path = socket();
    path.copy(where.sun_path, sizeof where.sun_path - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 || ::listen(listener_, 4) != 0)
      throw std::runtime_error("scripted_daemon");
    thread_ = std::thread([this, answers = std::move(answers)] {
      for (const std::string& answer : answers) {
        const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        char buffer[4096];
        if (::recv(client, buffer, sizeof buffer, 0) > 0)
          static_cast<void>(::send(client, answer.data(), answer.size(), MSG_NOSIGNAL));
        ::shutdown(client, SHUT_WR);
        while (::recv(client, buffer, sizeof buffer, 0) > 0) {
        }
        ::close(client);
      }
    });
  }
  scripted_daemon(const scripted_daemon&) = delete;
  scripted_daemon& operator=(const scripted_daemon&) = delete;
  ~scripted_daemon() {
    thread_.join();
    ::close(listener_);
  }
  std::string socket() const { return (folder_.path() / "daemon.sock").string(); }

 private:
  cofferdam_test::temporary_folder folder_;
  int listener_ = -1;
  std::thread thread_;
};

// A stream that breaks must end there. If bytes in the middle were left out instead, the client would misread the
// rest, and the tests of broken streams would prove nothing.
TEST(Attack, DK_03_control_nothing_gets_through_behind_the_place_where_a_stream_is_broken) {
  std::string much;
  for (int i = 0; i < 10'000; ++i) much += std::to_string(100'000 + i);
  for (const fault::kind what : {fault::kind::cut, fault::kind::reset}) {
    scripted_daemon daemon({much});
    fault_proxy proxy(daemon.socket());
    proxy.arm(fault(what, direction::down, 10));
    run([&]() -> awaitable<void> {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::ip::tcp::socket client(executor);
      const asio::ip::tcp::endpoint address(asio::ip::address_v4::loopback(), proxy.port());
      co_await client.async_connect(address, asio::use_awaitable);
      co_await asio::async_write(client, asio::buffer("x", 1), asio::use_awaitable);
      std::string got;
      std::error_code end;
      co_await asio::async_read(client, asio::dynamic_buffer(got), asio::redirect_error(asio::use_awaitable, end));
      EXPECT_LE(got.size(), 10U);
      EXPECT_TRUE(much.starts_with(got)) << got.substr(0, 40);
    });
    EXPECT_TRUE(proxy.fired());
  }
}

TEST(Attack, DK_03_bytes_that_come_with_the_upgrade_belong_to_the_stream) {
  const std::string ping = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nConnection: close\r\nContent-Length: 2\r\n\r\nOK";
  const std::string upgrade =
      "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: "
      "tcp\r\n\r\n";
  const std::string frames = std::string("\1\0\0\0\0\0\0\0", 8) + std::string("\1\0\0\0\0\0\0\5early", 13) +
                             std::string("\2\0\0\0\0\0\0\4last", 12);
  for (const std::string& tail : {std::string(), std::string("\1\0\0\0\0\0\0\11cut", 11), std::string("\7\0\0\0", 4),
                                  std::string("\7\0\0\0\0\0\0\1x", 9)}) {
    scripted_daemon daemon({ping, upgrade + frames + tail});
    run([&]() -> awaitable<void> {
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      const docker::daemon_choice choice = docker::daemon_choice().address("unix://" + daemon.socket());
      const docker::detail::host_view host = docker::detail::host_view::of_this_process();
      std::shared_ptr<docker::detail::engine> api = co_await docker::detail::engine::connect(executor, choice, host);
      http_request what = api->request("POST", "/containers/x/attach");
      const docker::detail::api_call doing = api->call("attach to the container", "x");
      byte_stream raw = co_await api->upgrade(std::move(what), doing);
      docker::detail::attached_stream stream(std::move(raw), "the container x (" + api->address() + ")");
      std::string text;
      std::string message;
      std::error_code code;
      try {
        for (;;) {
          std::array<std::byte, 3> piece{};
          const std::size_t got = co_await stream.read_some(piece);
          text += as_text(bytes_view(piece.data(), got));
        }
      } catch (const error& failure) {
        message = failure.what();
        code = failure.code();
      }
      EXPECT_EQ(text, tail.size() == 11 ? "earlycut" : "early");
      EXPECT_EQ(code, exec_errc::provider_lost);
      EXPECT_NE(message.find(daemon.socket()), std::string::npos) << message;
      stream.close();
      co_await api->close();
    });
  }
}

TEST(Attack, DK_03_half_a_mebibyte_of_empty_frames_is_no_deep_recursion) {
  std::string frames;
  for (int i = 0; i < 64 * 1024; ++i) frames += std::string("\1\0\0\0\0\0\0\0", 8);
  const std::string ping = "HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nConnection: close\r\nContent-Length: 2\r\n\r\nOK";
  const std::string upgrade = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
  scripted_daemon daemon({ping, upgrade + frames});
  run([&]() -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const docker::daemon_choice choice = docker::daemon_choice().address("unix://" + daemon.socket());
    const docker::detail::host_view host = docker::detail::host_view::of_this_process();
    std::shared_ptr<docker::detail::engine> api = co_await docker::detail::engine::connect(executor, choice, host);
    http_request what = api->request("POST", "/containers/x/attach");
    byte_stream raw = co_await api->upgrade(std::move(what), api->call("attach to the container", "x"));
    docker::detail::attached_stream stream(std::move(raw), "x");
    bool ended = false;
    try {
      std::array<std::byte, 1> piece{};
      co_await stream.read_some(piece);
    } catch (const error& failure) {
      ended = failure.code() == exec_errc::provider_lost;
    }
    EXPECT_TRUE(ended);
    stream.close();
    co_await api->close();
  });
}

/// A Docker daemon that a test may kill.
class own_daemon {
 public:
  own_daemon()
      : folder_(std::string(std::getenv("COFFERDAM_TEST_DOCKER_FOLDER")) + "-faults-" + std::to_string(::getpid())) {
    try {
      start();
    } catch (...) {
      stop();
      throw;
    }
  }
  own_daemon(const own_daemon&) = delete;
  own_daemon& operator=(const own_daemon&) = delete;
  ~own_daemon() { stop(); }
  void start() {
    const std::string printed = script("start");
    const std::string exports = script("env");
    const std::size_t at = exports.find("unix://");
    if (at == std::string::npos) throw std::runtime_error("no daemon: " + printed + exports);
    address_ = exports.substr(at, exports.find_first_of(" \n", at) - at);
  }
  const std::string& address() const { return address_; }
  pid_t pid() const {
    return static_cast<pid_t>(std::atol(output_of("cat \"$(cat '" + folder_ + "/run')/dockerd.pid\"").c_str()));
  }

 private:
  void stop() {
    script("stop");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string script(const std::string& verb) const {
    return output_of("'" + cofferdam_test::source_path("tests/docker/daemon.sh") + "' " + verb + " '" + folder_ + "'");
  }
  std::string folder_;
  std::string address_;
};

TEST(Attack, DK_03_a_daemon_that_dies_in_the_middle_of_a_command_is_a_lost_provider_with_what_had_arrived) {
  COFFERDAM_NEEDS_DOCKER();
  COFFERDAM_NEEDS("docker", ::geteuid() == 0, "what becomes of a command whose daemon dies (only root can start one)");
  own_daemon daemon;
  for (const int number : {SIGKILL, SIGTERM}) {
    pid_t warden = 0;
    run(
        [&]() -> awaitable<void> {
          auto settings = std::make_shared<docker::detail::sandbox_settings>();
          settings->name.emplace("cofferdam-test/busybox");
          settings->daemon.address(daemon.address());
          settings->lease = 10s;
          settings->by = docker::command_transport::attached;
          const docker::provider provider(settings);
          docker::environment env = co_await provider.open();
          warden = static_cast<pid_t>(std::atol(
              output_of("docker -H " + daemon.address() + " inspect -f '{{.State.Pid}}' " + env.container_id())
                  .c_str()));
          EXPECT_TRUE(cofferdam_test::is_alive(warden));
          process running = co_await env.start(shell("echo before; sleep 1000"));
          output_chunk piece = co_await running.read();
          EXPECT_FALSE(piece.end());
          ::kill(daemon.pid(), number);
          std::string message;
          std::string partial;
          std::error_code code;
          try {
            co_await running.wait();
          } catch (const error& failure) {
            message = failure.what();
            code = failure.code();
            if (failure.partial() != nullptr) partial = failure.partial()->out().text();
          }
          EXPECT_EQ(code, exec_errc::provider_lost) << message;
          EXPECT_NE(message.find(daemon.address().substr(7)), std::string::npos) << message;
          EXPECT_EQ(partial, "before\n");
          std::string after;
          try {
            co_await env.run_command(shell("true"));
          } catch (const error& failure) {
            after = failure.what();
          }
          EXPECT_NE(after, "");
          std::string closing;
          try {
            co_await env.close();
          } catch (const error& failure) {
            closing = failure.what();
            EXPECT_EQ(failure.code(), exec_errc::provider_lost) << closing;
          }
          EXPECT_TRUE(in_time([&] { return !cofferdam_test::is_alive(daemon.pid()); }, 60s));
          std::string opening;
          try {
            co_await provider.open();
          } catch (const error& failure) {
            opening = failure.what();
            EXPECT_EQ(failure.code(), exec_errc::provider_failed) << opening;
          }
          EXPECT_NE(opening.find(daemon.address()), std::string::npos) << opening;
        },
        180s);
    EXPECT_TRUE(in_time([&] { return !cofferdam_test::is_alive(warden); })) << "the container lives on";
    if (number == SIGKILL) daemon.start();
  }
}

TEST(Attack, DK_03_a_daemon_that_is_killed_takes_nothing_along_and_the_container_ends_with_its_environment) {
  COFFERDAM_NEEDS_DOCKER();
  COFFERDAM_NEEDS("docker", ::geteuid() == 0, "what becomes of a command whose daemon dies (only root can start one)");
  own_daemon daemon;
  pid_t warden = 0;
  run(
      [&]() -> awaitable<void> {
        const docker::provider provider =
            docker::from_image("cofferdam-test/busybox").daemon(docker::daemon_choice().address(daemon.address()));
        docker::environment env = co_await provider.open();
        const std::string pid =
            output_of("docker -H " + daemon.address() + " inspect -f '{{.State.Pid}}' " + env.container_id());
        warden = static_cast<pid_t>(std::atol(pid.c_str()));
        process running = co_await env.start(shell("read line; echo got $line; sleep 1000").open_input());
        ::kill(daemon.pid(), SIGKILL);
        EXPECT_TRUE(in_time([&] { return !cofferdam_test::is_alive(daemon.pid()); }, 60s));
        const std::string line = "it\n";
        co_await running.write_input(as_bytes(line));
        output_chunk piece = co_await running.read();
        EXPECT_EQ(as_text(piece.data()), "got it\n");
        command_result result = co_await env.run_command(shell("echo still here"));
        EXPECT_EQ(result.out().text(), "still here\n");
        EXPECT_TRUE(cofferdam_test::is_alive(warden));
        std::error_code code;
        try {
          co_await env.close();
        } catch (const error& failure) {
          code = failure.code();
        }
        EXPECT_EQ(code, exec_errc::provider_lost) << "nobody can be asked whether the container is gone";
      },
      180s);
  EXPECT_TRUE(in_time([&] { return !cofferdam_test::is_alive(warden); })) << "the container lives on";
}

}  // namespace
