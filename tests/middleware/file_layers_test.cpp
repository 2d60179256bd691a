// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the layers that replace the file operations of an environment: read_only and trace.

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/middleware/read_only.hpp>
#include <cofferdam/middleware/retry.hpp>
#include <cofferdam/middleware/trace.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace file_layers_tests {

using namespace cofferdam;
using cofferdam_test::fake_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

static_assert(file_environment<read_only_layer<full_fake>> && streaming_environment<read_only_layer<full_fake>>);
static_assert(file_environment<trace_layer<full_fake>> && streaming_environment<trace_layer<full_fake>>);
static_assert(suspendable_environment<trace_layer<full_fake>>);

class no_files final : public file_source {
 public:
  awaitable<std::optional<file_header>> next() override { co_return std::nullopt; }
  awaitable<bytes> read(std::size_t) override { co_return bytes(); }
};

/// Expects that an operation throws an error with this code, and with a message that contains `part`.
template <class Begin>
awaitable<void> expect_failure(Begin begin, exec_errc expected, std::string part, std::string name) {
  std::error_code code;
  try {
    static_cast<void>(co_await begin());
  } catch (const error& failure) {
    code = failure.code();
    EXPECT_NE(std::string(failure.what()).find(part), std::string::npos) << failure.what();
  }
  EXPECT_EQ(code, expected) << name;
}

/// Expects that an operation throws permission_denied, with a message that contains "read-only".
template <class Begin>
awaitable<void> expect_denied(Begin begin, const char* name) {
  return expect_failure(std::move(begin), exec_errc::permission_denied, "read-only", name);
}

TEST(ReadOnly, refuses_every_change_of_files_and_passes_the_rest) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | read_only(), [](auto& env) -> awaitable<void> {
      co_await env.run_command(shell("touch x"));
      co_await env.start(shell("touch x"));
      co_await env.read_file("r", 1);
      co_await env.files().stat("s");
      co_await list_directory(env, "l");
      co_await env.files().get_files(std::vector<file_request>());
      const file_system files = env.files();
      const auto write = [&] { return env.write_file("w", bytes_view()); };
      const auto write_own = [&] { return env.write_file("w", bytes()); };
      const auto text = [&] { return write_text(env, "w", "x"); };
      const auto make = [&] { return files.make_directory("m"); };
      const auto removes = [&] { return remove(env, "d"); };
      const auto renames = [&] { return files.rename("f", "t"); };
      co_await expect_denied(write, "write_file");
      co_await expect_denied(write_own, "write_file of bytes");
      co_await expect_denied(text, "write_text");
      co_await expect_denied(make, "make_directory");
      co_await expect_denied(removes, "remove");
      co_await expect_denied(renames, "rename");
      no_files none;
      const auto put = [&] { return files.put_files(none); };
      co_await expect_denied(put, "put_files");
      const auto uploads = [&] { return upload(env, cofferdam::files("/etc/passwd")); };
      co_await expect_denied(uploads, "upload");
    });
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "run_command", "start", "read_file r", "stat s", "list l",
                                                  "get_files", "close"}));
}

TEST(ReadOnly, does_not_let_files_made_of_commands_through) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<plain_fake>(log) | read_only(), [](auto& env) -> awaitable<void> {
      const auto removes = [&] { return remove(env, "d"); };
      co_await expect_denied(removes, "remove");
    });
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "close"}));
}

/// An operation that the library does not have. It counts how often it begins, and fails with `unavailable`.
template <bool Changes>
auto new_operation(int& begun) {
  const auto begin = [&begun](auto& files, const auto& of) -> awaitable<void> {
    ++begun;
    if (begun < 3) throw error(exec_errc::unavailable, "the service is busy");
    return files.make_directory(of.path());
  };
  return file_operation<Changes, decltype(begin)>("touch", begin, "a", std::string());
}

TEST(ReadOnly, refuses_an_unknown_operation_that_changes_files) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    any_environment env{full_fake(log)};
    detail::read_only_files files(env.files());
    int begun = 2;
    const auto changes = [&] { return files.call(new_operation<true>(begun)); };
    co_await expect_denied(changes, "touch");
    EXPECT_EQ(begun, 2);
    co_await files.call(new_operation<false>(begun));
    EXPECT_EQ(begun, 3);
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"make_directory a"}));
}

TEST(Retry, repeats_an_unknown_operation_only_if_it_changes_nothing) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    any_environment env{full_fake(log)};
    auto policy = std::make_shared<detail::retry_policy>();
    policy->first_pause = std::chrono::milliseconds(0);
    detail::retried_files files(env.files(), policy);
    int begun = 0;
    co_await files.call(new_operation<false>(begun));
    EXPECT_EQ(begun, 3);
    begun = 0;
    const auto changes = [&] { return files.call(new_operation<true>(begun)); };
    co_await expect_failure(changes, exec_errc::unavailable, "busy", "touch");
    EXPECT_EQ(begun, 1);
  });
}

TEST(Trace, reports_an_unknown_operation_by_its_name) {
  const auto log = std::make_shared<journal>();
  std::vector<std::string> names;
  run([&]() -> awaitable<void> {
    auto settings = std::make_shared<detail::trace_settings>();
    const auto on_event = [&names](const trace_event& event) { names.push_back(event.name()); };
    settings->listener = std::make_shared<const detail::event_listener>(on_event);
    const auto counts = std::make_shared<operation_counts>();
    any_environment env{full_fake(log)};
    detail::traced_files files(env.files(), counts, std::make_shared<detail::trace_state>(settings, "1"));
    int begun = 2;
    co_await files.call(new_operation<true>(begun));
    EXPECT_EQ(counts->file_operations(), 1U);
  });
  EXPECT_EQ(names, (std::vector<std::string>{"execute_tool touch"}));
}

TEST(FileLayers, files_stay_valid_across_moves) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    auto env = plain_fake(log) | trace(std::make_shared<operation_counts>()) | retry() | read_only();
    const file_system files = env.files();
    auto moved = std::move(env);
    const auto makes = [&] { return files.make_directory("m"); };
    co_await expect_denied(makes, "make_directory");
    const auto makes_again = [&] { return moved.files().make_directory("m"); };
    co_await expect_denied(makes_again, "make_directory");
    const auto moved_from = [&] { return env.files().stat("s"); };
    co_await expect_failure(moved_from, exec_errc::environment_closed, "", "moved from");
    co_await moved.close();
    const auto closed = [&] { return files.stat("s"); };
    co_await expect_failure(closed, exec_errc::environment_closed, "", "closed");
  });
}

TEST(Trace, counts_what_reaches_it) {
  const auto log = std::make_shared<journal>();
  const auto counts = std::make_shared<operation_counts>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | trace(counts) | read_only(), [](auto& env) -> awaitable<void> {
      co_await env.run_command(shell("x"));
      co_await env.start(shell("x"));
      co_await env.read_file("r", 1);
      co_await env.files().stat("s");
      co_await list_directory(env, "l");
      const auto write = [&] { return env.write_file("w", bytes_view()); };
      co_await expect_denied(write, "write_file");
    });
    co_await with(any_provider{fake_provider<full_fake>(log)} | trace(counts), [](auto& env) -> awaitable<void> {
      co_await env.write_file("w", to_bytes("own"));
      co_await make_directory(env, "m");
    });
  });
  EXPECT_EQ(counts->commands(), 2U);
  EXPECT_EQ(counts->reads(), 1U);
  EXPECT_EQ(counts->writes(), 1U);
  EXPECT_EQ(counts->file_operations(), 3U);
}

TEST(Trace, moved_from_it_has_no_files) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    auto env = plain_fake(log) | trace(std::make_shared<operation_counts>());
    auto moved = std::move(env);
    std::error_code code;
    try {
      co_await env.files().make_directory("m");
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::environment_closed);
    co_await moved.files().make_directory("m");
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"run_command"}));
}

TEST(Trace, needs_something_to_count_in) { EXPECT_THROW(trace(nullptr), error); }

}  // namespace file_layers_tests
