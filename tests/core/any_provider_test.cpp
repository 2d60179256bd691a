// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/layer.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

namespace cofferdam_test {

using namespace cofferdam;

/// Knows only at run time whether it can start commands.
class late_knowing_environment {
 public:
  explicit late_knowing_environment(any_environment inside) : inside_(std::move(inside)) {}
  awaitable<command_result> run_command(command c) { return inside_.run_command(std::move(c)); }
  awaitable<process> start(command c) { return inside_.start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t most) { return inside_.read_file(std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inside_.write_file(std::move(path), content);
  }
  awaitable<void> close() { return inside_.close(); }
  bool can_start() const { return inside_.can_start(); }

 private:
  any_environment inside_;
};

namespace any_provider_tests {}  // namespace cofferdam_test

namespace {

using namespace cofferdam;
using cofferdam_test::fake_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

static_assert(code_exec_provider<any_provider>);
static_assert(code_exec_environment<any_environment>);
static_assert(streaming_environment<any_environment>);
static_assert(listing_environment<any_environment>);
static_assert(std::copy_constructible<any_provider>);
static_assert(std::movable<any_environment> && !std::copy_constructible<any_environment>);
static_assert(!std::constructible_from<any_provider, int>);
static_assert(!std::convertible_to<fake_provider<plain_fake>, any_provider>, "erasing is said, not slipped in");

TEST(AnyProvider, copies_open_environments_of_their_own) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    const any_provider first{fake_provider<full_fake>(log)};
    const any_provider second = first;
    any_environment a = co_await first.open();
    any_environment b = co_await second.open();
    co_await a.close();
    co_await b.close();
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "open", "close", "close"}));
}

TEST(AnyProvider, start_is_unsupported_where_the_backend_has_none) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    const any_provider provider{fake_provider<plain_fake>(log)};
    any_environment env = co_await provider.open();
    EXPECT_FALSE(env.can_start());
    std::error_code code;
    try {
      co_await env.start(shell("x"));
    } catch (const error& failure) {
      code = failure.code();
      EXPECT_NE(std::string(failure.what()).find("run_command"), std::string::npos) << "say what to do instead";
    }
    EXPECT_EQ(code, errc::unsupported);
    co_await env.close();
  });
}

TEST(AnyProvider, an_erased_erased_environment_knows_what_the_inner_one_can) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    const any_provider provider{fake_provider<plain_fake>(log)};
    any_environment inner = co_await provider.open();
    any_environment outer{cofferdam_test::late_knowing_environment(std::move(inner))};
    EXPECT_FALSE(outer.can_start());
    co_await outer.close();
  });
}

TEST(AnyProvider, an_empty_environment_says_so) {
  run([&]() -> awaitable<void> {
    any_environment none;
    std::error_code code;
    try {
      co_await none.run_command(shell("x"));
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, errc::environment_closed);
  });
}

}  // namespace

}  // namespace any_provider_tests
