// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/e2b.hpp>

#include "backends/e2b/scripted_service.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>

namespace {

using namespace cofferdam;
using cofferdam::detail::http_server;
using cofferdam_test::scripted_service;

TEST(E2bSandbox, a_loop_that_is_destroyed_at_any_step_does_no_harm) {
  bool ended = false;
  for (std::size_t step = 0; !ended && step < 5000; step += 3) {
    scripted_service service;
    const cofferdam_test::site::handler each = [&service](http_call& call) { return service.handle(call); };
    const std::function<awaitable<void>(http_server&)> body = [&service](http_server&) -> awaitable<void> {
      e2b::environment env = co_await service.provider().open();
      command_result result = co_await env.run_command(shell("x").input("abc"));
      EXPECT_EQ(result.exit_code(), 3);
      co_await env.close();
    };
    const auto work = [&] { return service.server.open(each, http_server_settings(), body); };
    ended = cofferdam_test::destroy_after(step, work);
  }
  EXPECT_TRUE(ended);
}

}  // namespace
