// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace callable_argument_tests {

using namespace cofferdam;
using cofferdam_test::fake_provider;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

struct plain {
  int number = 0;
  void operator()() const {}
};
struct with_text {
  std::string text;
  void operator()() const {}
};

static_assert(detail::safe_callable<plain> && detail::safe_callable<plain&>);
static_assert(detail::safe_callable<with_text&> && detail::safe_callable<const with_text&>);
static_assert(detail::safe_callable<std::reference_wrapper<with_text>>);
static_assert(detail::safe_callable<with_text> != detail::destroys_temporaries_twice);

TEST(CallableArgument, a_named_body_with_captures_by_value_is_copied_and_can_be_used_again) {
  auto log = std::make_shared<journal>();
  const auto counted = std::make_shared<std::string>(100, 'x');
  run([&]() -> awaitable<void> {
    auto body = [counted](auto& environment) -> awaitable<std::size_t> {
      command_result result = co_await environment.run_command(shell(*counted));
      co_return result.ok() ? counted->size() : 0;
    };
    for (int i = 0; i < 3; ++i) {
      const std::size_t size = co_await with(fake_provider<plain_fake>(log), body);
      EXPECT_EQ(size, 100U);
    }
    const std::size_t in_place = co_await with(fake_provider<plain_fake>(log), std::ref(body));
    EXPECT_EQ(in_place, 100U);
  });
  EXPECT_EQ(counted.use_count(), 1) << "each copy of the captures was destroyed once";
  EXPECT_EQ(log->commands.size(), 4U);
}

}  // namespace callable_argument_tests
