// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Leaves a sandbox at E2B with a running process, finds it again by its metadata, and ends it. Expected output: "done",
// which the process has written, or one line if the environment variable E2B_API_KEY is not set. `cofferdam serve`
// prints variables with which this program uses sandboxes of your own machine.
#include <cofferdam/e2b.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <vector>

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

awaitable<void> both() {
  co_await leave_work();
  co_await find_work();
}

int main() {
  if (std::getenv("E2B_API_KEY") != nullptr) return cofferdam::run(both());
  std::cout << "no sandbox: set E2B_API_KEY to a key from https://e2b.dev\n";
}
