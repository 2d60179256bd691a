// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// go_daemon is a stand-in for E2B's API and daemon, written in Go. It starts processes as the real daemon does.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>

#include "support/go_program.hpp"
#include "support/paths.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace go_daemon_tests {

/// Returns the path of the stand-in's program, which is built once.
inline const std::string& daemon_program() {
  static const cofferdam_test::temporary_folder folder;
  static const std::string program = cofferdam_test::build_go_program(
      cofferdam_test::source_path("tests/backends/e2b/go_daemon"), folder.path().string());
  return program;
}

/// A running stand-in, with a folder of its own for the homes of its sandboxes.
class go_daemon {
 public:
  explicit go_daemon(std::vector<std::string> options = {})
      : program_(daemon_program(), with_homes(std::move(options))) {}

  std::string url() const { return program_.url(); }
  std::uint16_t port() const { return static_cast<std::uint16_t>(program_.port()); }
  pid_t pid() const { return program_.pid(); }
  std::string tcp_address() const { return "tcp://127.0.0.1:" + std::to_string(program_.port()); }

 private:
  std::vector<std::string> with_homes(std::vector<std::string> options) const {
    // Any user of the sandbox may enter the homes.
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    options.insert(options.begin(), {"-folder", folder_.make_folder("homes").string()});
    return options;
  }

  cofferdam_test::temporary_folder folder_;
  cofferdam_test::go_program program_;
};

inline cofferdam::e2b::provider provider_at(const std::string& url, cofferdam::e2b::command_transport how) {
  return cofferdam::e2b::from_template("base")
      .variables_from(cofferdam::e2b::surroundings())
      .api_key("e2b_0123456789")
      .api_url(url)
      .sandbox_url(url)
      .by(how);
}

inline cofferdam::awaitable<cofferdam::error> failure_of(std::function<cofferdam::awaitable<void>()> call) {
  std::optional<cofferdam::error> failure;
  try {
    co_await call();
  } catch (const cofferdam::error& reason) {
    failure = reason;
  }
  co_return failure.value_or(cofferdam::error(cofferdam::exec_errc::io_error, "nothing was thrown"));
}

/// Waits until `condition` is true. Returns false after `limit`.
inline cofferdam::awaitable<bool> comes_true(std::function<bool()> condition,
                                             std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (condition()) co_return true;
    if (std::chrono::steady_clock::now() > end) co_return false;
    co_await cofferdam_test::pause_for(std::chrono::milliseconds(5));
  }
}

inline std::string error_output(const cofferdam::command_result& result) { return result.reason() + result.err_text(); }

/// Runs work in an environment of a new sandbox. Ends the program if this takes longer than a minute.
inline void in_environment(const cofferdam::e2b::provider& provider,
                           std::function<cofferdam::awaitable<void>(cofferdam::e2b::environment&)> work) {
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    cofferdam::e2b::environment env = co_await provider.open();
    co_await work(env);
    co_await env.close();
  });
}

}  // namespace go_daemon_tests
