// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/retry.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/error_of.hpp"
#include "support/fake_environment.hpp"
#include "support/flaky_provider.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace retry_tests {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::testing::any_command;
using cofferdam::testing::fail_with;
using cofferdam::testing::fake_provider;
using cofferdam::testing::reply;
using cofferdam_test::code_of;
using cofferdam_test::flaky_provider;
using cofferdam_test::full_fake;
using cofferdam_test::plain_fake;
using cofferdam_test::run;
using cofferdam_test::sentence_of;

static_assert(streaming_environment<retry_layer<full_fake>> && file_environment<retry_layer<full_fake>>);
static_assert(suspendable_environment<retry_layer<full_fake>>);
static_assert(!streaming_environment<retry_layer<plain_fake>>);
static_assert(code_exec_provider<layered_provider<flaky_provider, retry>>);

const error busy(exec_errc::unavailable, "the service is busy");
const error refused(exec_errc::provider_failed, "no bubblewrap");

retry quickly(std::size_t attempts = 3) { return retry(attempts).pauses(0ms, 0ms); }

/// The failures that an environment is to have, and how often each operation was called.
class plan {
 public:
  int failures = 0;
  std::map<std::string, int> calls;

  void call(const std::string& name) {
    ++calls[name];
    if (failures > 0 && failures-- > 0) throw busy;
  }
};

/// File operations that fail as the plan says.
class failing_files final : public file_system_adaptor<failing_files> {
 public:
  failing_files(file_system files, std::shared_ptr<plan> of) : files_(std::move(files)), plan_(std::move(of)) {}
  template <class Operation>
  auto call(Operation operation) {
    plan_->call("files");
    return operation(std::as_const(files_));
  }

 private:
  file_system files_;
  std::shared_ptr<plan> plan_;
};

template <code_exec_environment Inner>
class failing_layer : public layer<failing_layer<Inner>, Inner> {
 public:
  failing_layer(Inner inner, std::shared_ptr<plan> of)
      : layer<failing_layer<Inner>, Inner>(std::move(inner)), plan_(std::move(of)) {}
  std::optional<command_result> admit(command&) {
    plan_->call("command");
    return std::nullopt;
  }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    plan_->call("read_file");
    return this->inner().read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    plan_->call("write_file");
    return this->inner().write_file(std::move(path), content);
  }
  file_system files() { return file_system(std::make_shared<failing_files>(this->inner().files(), plan_)); }

 private:
  std::shared_ptr<plan> plan_;
};

class failing : public pipeable {
 public:
  explicit failing(std::shared_ptr<plan> of) : plan_(std::move(of)) {}
  template <code_exec_environment Inner>
  failing_layer<Inner> attach(Inner inner) const {
    return failing_layer<Inner>(std::move(inner), plan_);
  }

 private:
  std::shared_ptr<plan> plan_;
};

/// Runs `body` in an environment with the file "a.txt", whose first operations fail, behind a retry.
/// \return  the number of calls of the operation that reached the environment.
template <class Body>
int calls_of(const std::string& name, int failures, retry layer, Body body) {
  const auto of = std::make_shared<plan>();
  of->failures = failures;
  fake_provider fake;
  fake.file("a.txt", "text").on(any_command, reply("out"));
  run([&]() -> awaitable<void> { co_await with(fake | failing(of) | layer, body); });
  return of->calls[name];
}

const auto runs = [](auto& env) -> awaitable<void> {
  command_result result = co_await env.run_command("git fetch origin");
  EXPECT_EQ(result.out_text(), "out");
};

TEST(Retry, opens_again_after_a_passing_failure) {
  flaky_provider flaky(fake_provider().on("ls", reply("a")));
  flaky.fail({busy, error(exec_errc::provider_lost, "the connection broke")});
  run([&]() -> awaitable<void> {
    co_await with(flaky | quickly() | timeout(5s), [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command("ls");
      EXPECT_EQ(result.out_text(), "a");
    });
  });
  EXPECT_EQ(flaky.attempts(), 3U);
}

TEST(Retry, does_not_open_again_after_a_failure_that_stays) {
  flaky_provider flaky((fake_provider()));
  flaky.fail({refused});
  const auto opens = [&] { run([&]() -> awaitable<void> { co_await (flaky | quickly()).open(); }); };
  EXPECT_EQ(sentence_of(opens), "no bubblewrap");
  EXPECT_EQ(flaky.attempts(), 1U);
}

TEST(Retry, counts_the_attempts_in_the_last_error) {
  flaky_provider flaky((fake_provider()));
  const std::error_code cause = std::make_error_code(std::errc::connection_refused);
  flaky.fail({busy, busy, error(exec_errc::provider_failed, "nobody listens", cause)});
  const auto opens = [&] { run([&]() -> awaitable<void> { co_await (flaky | quickly()).open(); }); };
  const std::optional<error> failure = cofferdam_test::error_of(opens);
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->what(), "nobody listens (after 3 attempts)");
  EXPECT_EQ(failure->code(), exec_errc::provider_failed);
  EXPECT_EQ(failure->cause(), cause);
}

TEST(Retry, takes_the_causes_of_a_connection_and_of_a_rate_limit_for_passing) {
  for (const std::errc cause : {std::errc::connection_refused, std::errc::connection_reset, std::errc::timed_out,
                                std::errc::resource_unavailable_try_again}) {
    flaky_provider flaky((fake_provider()));
    flaky.fail({error(exec_errc::provider_failed, "x", std::make_error_code(cause))});
    run([&]() -> awaitable<void> { co_await (flaky | quickly()).open(); });
    EXPECT_EQ(flaky.attempts(), 2U) << std::make_error_code(cause).message();
  }
}

TEST(Retry, repeats_after_the_codes_that_are_named_instead) {
  flaky_provider flaky((fake_provider()));
  flaky.fail({refused, busy});
  const auto opens = [&] {
    run([&]() -> awaitable<void> { co_await (flaky | quickly().errors(exec_errc::provider_failed)).open(); });
  };
  EXPECT_EQ(sentence_of(opens), "the service is busy (after 2 attempts)");
  flaky_provider other((fake_provider()));
  other.fail({refused, refused});
  const auto is_known = [](const error& failure) { return std::string(failure.what()) == "no bubblewrap"; };
  run([&]() -> awaitable<void> { co_await (other | quickly().errors_if(is_known)).open(); });
  EXPECT_EQ(other.attempts(), 3U);
}

TEST(Retry, never_repeats_after_a_cancellation) {
  flaky_provider flaky((fake_provider()));
  flaky.fail({error(exec_errc::cancelled, "cancelled")});
  const auto always = [](const error&) { return true; };
  const auto opens = [&] { run([&]() -> awaitable<void> { co_await (flaky | quickly().errors_if(always)).open(); }); };
  EXPECT_EQ(code_of(opens), exec_errc::cancelled);
  EXPECT_EQ(flaky.attempts(), 1U);
}

TEST(Retry, repeats_reads_and_no_changes_of_files) {
  const auto read = [](auto& env) -> awaitable<void> {
    const bytes content = co_await env.read_file("a.txt", 10);
    EXPECT_EQ(as_text(content), "text");
  };
  EXPECT_EQ(calls_of("read_file", 2, quickly(), read), 3);
  const auto stats = [](auto& env) -> awaitable<void> { co_await env.files().stat("a.txt"); };
  EXPECT_EQ(calls_of("files", 2, quickly(), stats), 3);
  const auto lists = [](auto& env) -> awaitable<void> {
    const std::vector<directory_entry> found = co_await env.files().list(".");
    EXPECT_EQ(found.size(), 1U);
  };
  EXPECT_EQ(calls_of("files", 1, quickly(), lists), 2);
  const auto gets = [](auto& env) -> awaitable<void> {
    std::vector<file_request> requests;
    requests.emplace_back("a.txt", "a.txt");
    const std::unique_ptr<file_source> source = co_await env.files().get_files(requests);
    const std::optional<file_header> first = co_await source->next();
    EXPECT_TRUE(first);
  };
  EXPECT_EQ(calls_of("files", 1, quickly(), gets), 2);

  const auto fails = [](const std::string& name, auto body) {
    const auto of = std::make_shared<plan>();
    of->failures = 1;
    const auto work = [&] {
      run([&]() -> awaitable<void> { co_await with(fake_provider() | failing(of) | quickly(), body); });
    };
    EXPECT_EQ(sentence_of(work), "the service is busy");
    EXPECT_EQ(of->calls[name], 1) << name;
  };
  fails("write_file", [](auto& env) -> awaitable<void> { co_await env.write_file("w", bytes_view()); });
  fails("files", [](auto& env) -> awaitable<void> { co_await env.files().make_directory("m"); });
  fails("files", [](auto& env) -> awaitable<void> { co_await env.files().remove("a.txt"); });
  fails("files", [](auto& env) -> awaitable<void> { co_await env.files().rename("a.txt", "b.txt"); });
}

TEST(Retry, runs_a_command_once_unless_it_was_declared_harmless) {
  const auto once = [&] { calls_of("command", 1, quickly(), runs); };
  EXPECT_EQ(sentence_of(once), "the service is busy");
  const auto other = [&] { calls_of("command", 1, quickly().commands("git fetch"), runs); };
  EXPECT_EQ(sentence_of(other), "the service is busy") << "a pattern is for the whole command";
  EXPECT_EQ(calls_of("command", 2, quickly().commands("ls", "git fetch( .*)?"), runs), 3);
  const auto is_fetch = [](const command& c) { return c.line().starts_with("git fetch"); };
  EXPECT_EQ(calls_of("command", 2, quickly().commands_if(is_fetch), runs), 3);
  EXPECT_THROW(retry().commands("("), error);
}

TEST(Retry, takes_no_line_with_more_than_one_command_for_harmless) {
  const auto of = std::make_shared<plan>();
  of->failures = 1;
  const auto work = [&] {
    run([&]() -> awaitable<void> {
      co_await with(fake_provider() | failing(of) | quickly().commands(".*"),
                    [](auto& env) -> awaitable<void> { co_await env.run_command("ls; rm x"); });
    });
  };
  EXPECT_EQ(sentence_of(work), "the service is busy");
}

TEST(Retry, repeats_the_start_of_a_harmless_command_and_keeps_its_input) {
  fake_provider fake;
  fake.on("cat", fail_with(busy), reply("out"));
  run([&]() -> awaitable<void> {
    co_await with(fake | quickly().commands("cat"), [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell("cat").input("given"));
      EXPECT_EQ(result.out_text(), "out");
    });
  });
  ASSERT_EQ(fake.commands().size(), 2U);
  EXPECT_EQ(as_text(fake.commands().at(1).input().value_or(bytes())), "given");
  const auto starts = [](auto& env) -> awaitable<void> {
    process running = co_await env.start("ls");
    command_result result = co_await running.wait();
    EXPECT_EQ(result.out_text(), "out");
  };
  EXPECT_EQ(calls_of("command", 1, quickly().commands("ls"), starts), 2);
}

TEST(Retry, an_exit_status_is_no_failure) {
  fake_provider fake;
  fake.on("false", reply("").exit_code(1));
  run([&]() -> awaitable<void> {
    co_await with(fake | quickly().commands(".*"), [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command("false");
      EXPECT_EQ(result.exit_code(), 1);
    });
  });
  EXPECT_EQ(fake.commands().size(), 1U);
}

TEST(Retry, a_cancellation_ends_a_pause_at_once) {
  flaky_provider flaky((fake_provider()));
  flaky.fail({busy});
  const auto before = std::chrono::steady_clock::now();
  const std::exception_ptr failure =
      cofferdam_test::cancel_when_idle([&]() -> awaitable<void> { co_await (flaky | retry().pauses(1h, 1h)).open(); });
  const auto rethrow = [&] {
    if (failure) std::rethrow_exception(failure);
  };
  EXPECT_EQ(sentence_of(rethrow), "retry: cancelled in the pause after attempt 1, which failed: the service is busy");
  EXPECT_LT(std::chrono::steady_clock::now() - before, 30s);
  EXPECT_EQ(flaky.attempts(), 1U);
}

TEST(Retry, pauses_grow_up_to_the_longest_and_vary) {
  detail::retry_policy policy;
  policy.first_pause = 100ms;
  policy.longest_pause = 350ms;
  for (const auto& [attempt, longest] :
       std::map<std::size_t, std::chrono::milliseconds>{{1, 100ms}, {2, 200ms}, {3, 350ms}, {4, 350ms}, {900, 350ms}}) {
    std::map<std::chrono::milliseconds::rep, int> seen;
    for (int i = 0; i < 50; ++i) ++seen[policy.pause_after(attempt).count()];
    EXPECT_GE(seen.begin()->first, longest.count() / 2);
    EXPECT_LE(seen.rbegin()->first, longest.count());
    EXPECT_GT(seen.size(), 3U);
  }
}

TEST(Retry, wraps_an_open_environment_and_an_erased_provider_at_any_place) {
  fake_provider fake;
  fake.on(any_command, fail_with(busy), reply("1"), fail_with(busy), reply("2"));
  run([&]() -> awaitable<void> {
    cofferdam::testing::fake_environment opened = co_await fake.open();
    auto narrow = std::move(opened) | quickly().commands("ls");
    command_result first = co_await narrow.run_command("ls");
    EXPECT_EQ(first.out_text(), "1");
    co_await narrow.close();
    const auto layers = timeout(5s) | quickly().commands("ls") | allow_commands("ls");
    any_provider erased = any_provider(fake) | layers;
    co_await with(erased, [](any_environment& env) -> awaitable<void> {
      command_result second = co_await env.run_command("ls");
      EXPECT_EQ(second.out_text(), "2");
    });
  });
}

TEST(Retry, settings_that_make_no_sense_are_refused) {
  EXPECT_THROW(retry(0), error);
  EXPECT_THROW(retry(1001), error);
  EXPECT_THROW(retry().pauses(-1ms, 1s), error);
  EXPECT_THROW(retry().pauses(2s, 1s), error);
  EXPECT_THROW(retry().pauses(1s, 25h), error);
}

}  // namespace retry_tests
