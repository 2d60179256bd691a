// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The programs of the guide's section about E2B, over the gateway and over a daemon written in Go.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "backends/e2b/go_daemon.hpp"
#include "support/gateway_thread.hpp"
#include "support/go_program.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/variable.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace e2b_guide {

using namespace cofferdam;
using namespace std::chrono_literals;

awaitable<void> leave_work() {
  e2b::environment env = co_await e2b::from_template("base").metadata("job", "nightly").lifetime(10min).open();
  command job = shell("nohup sh -c 'sleep 1; echo done > result' > log 2>&1 &");
  job.background(background_policy::keep);
  co_await env.run_command(job);
  co_await env.detach();
}

awaitable<void> find_work() {
  e2b::sandbox_filter nightly;
  nightly.metadata["job"] = "nightly";
  const e2b::sandbox_list account;
  const std::vector<e2b::sandbox_info> found = co_await account.all(nightly);
  for (const e2b::sandbox_info& each : found) {
    e2b::environment env = co_await e2b::in_sandbox(each.id()).open();
    command_result result = co_await env.run_command("until [ -s result ]; do sleep 0.1; done; cat result");
    std::cout << result.out_text();
    co_await env.close();
    co_await account.kill(each.id());
  }
}

awaitable<void> watch_folder() {
  co_await with(e2b::from_template("base"), [](auto& env) -> awaitable<void> {
    e2b::folder_watch changes = co_await env.watch(".", e2b::watch_depth::tree);
    co_await env.run_command("echo x > made");
    std::optional<e2b::folder_event> first = co_await changes.next();
    if (first) std::cout << first->path() << "\n";
  });
}

awaitable<void> copy_sandbox(e2b::provider sandboxes) {
  co_await with(sandboxes, [](auto& env) -> awaitable<void> {
    co_await write_text(env, "state", "prepared\n");
    std::vector<e2b::forked> copies = co_await env.fork(2);
    for (e2b::forked& each : copies) {
      std::string text = co_await read_text(each.copy(), "state");
      std::cout << text;
      co_await each.copy().close();
    }
  });
}

awaitable<void> store_sandbox() {
  co_await with(e2b::from_template("base"), [](auto& env) -> awaitable<void> {
    std::string name = co_await env.snapshot();
    std::cout << "e2b::from_template(\"" << name << "\") opens a copy\n";
  });
}

e2b::provider restricted_sandboxes() {
  e2b::network_rules rules;
  rules.allow_out = {"pypi.org", "files.pythonhosted.org"};
  rules.deny_out = {"0.0.0.0/0"};
  return e2b::from_template("base").network(rules).lifetime(10min).auto_pause().auto_resume();
}

awaitable<void> run_cells() {
  co_await with(e2b::from_template("code-interpreter-v1"), [](auto& env) -> awaitable<void> {
    e2b::code_interpreter python(env);
    e2b::execution done = co_await python.run(e2b::code("numbers = range(10)\nsum(numbers)"));
    std::cout << done.value() << "\n";
    done = co_await python.run(e2b::code("numbers[99]"));
    if (done.failure()) std::cout << done.failure()->name() << "\n";
  });
}

/// Returns what a program prints, if the variables lead to a gateway over `local`.
template <class Work>
std::string printed_by(Work work) {
  const std::string key = "e2b_0123456789";
  e2b_gateway::options options;
  options.api_key(key).port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter());
  const cofferdam_test::gateway_thread gateway(local().without_warning(), std::move(options));
  const cofferdam_test::variable has_key("E2B_API_KEY", key);
  const cofferdam_test::variable has_api("E2B_API_URL", gateway.url());
  const cofferdam_test::variable has_sandboxes("E2B_SANDBOX_URL", gateway.url());
  ::testing::internal::CaptureStdout();
  cofferdam_test::run(work);
  return ::testing::internal::GetCapturedStdout();
}

TEST(E2bGuide, work_that_was_left_is_found_again) {
  const auto works = []() -> awaitable<void> {
    co_await leave_work();
    co_await find_work();
  };
  EXPECT_EQ(printed_by(works), "done\n");
}

TEST(E2bGuide, a_folder_is_watched) { EXPECT_EQ(printed_by(watch_folder), "made\n"); }

TEST(E2bGuide, cells_are_run) { EXPECT_EQ(printed_by(run_cells), "45\nIndexError\n"); }

TEST(E2bGuide, a_sandbox_is_copied) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that the guide's program that copies a sandbox works");
  const go_daemon_tests::go_daemon daemon;
  ::testing::internal::CaptureStdout();
  cofferdam_test::run([&]() -> awaitable<void> {
    co_await copy_sandbox(go_daemon_tests::provider_at(daemon.url(), e2b::command_transport::automatic));
  });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "prepared\nprepared\n");
}

TEST(E2bGuide, a_gateway_whose_provider_saves_nothing_refuses_a_snapshot) {
  const auto stores = []() -> awaitable<void> {
    std::error_code caught;
    try {
      co_await store_sandbox();
    } catch (const error& failure) {
      caught = failure.code();
    }
    EXPECT_EQ(caught, exec_errc::unsupported);
  };
  EXPECT_EQ(printed_by(stores), "");
}

TEST(E2bGuide, rules_are_a_recipe) { EXPECT_NO_THROW(restricted_sandboxes()); }

}  // namespace e2b_guide
