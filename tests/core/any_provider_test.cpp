// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/layer.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

namespace cofferdam_test {

using namespace cofferdam;

/// An environment that has start(), but knows only at run time if it works.
class late_knowing_environment {
 public:
  explicit late_knowing_environment(any_environment inside) : inside_(std::move(inside)) {}
  awaitable<command_result> run_command(command c) { return inside_.run_command(std::move(c)); }
  awaitable<process> start(command c) { return inside_.start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_size) {
    return inside_.read_file(std::move(path), max_size);
  }
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
static_assert(file_environment<any_environment> && suspendable_environment<any_environment>);
static_assert(std::copy_constructible<any_provider>);
static_assert(std::movable<any_environment> && !std::copy_constructible<any_environment>);
static_assert(!std::constructible_from<any_provider, int>);
static_assert(std::convertible_to<fake_provider<plain_fake>, any_provider>);
// Near misses: other types do not convert to any_provider, and an environment does not convert to any_environment
// implicitly.
static_assert(!std::convertible_to<int, any_provider> && !std::convertible_to<plain_fake, any_provider>);
static_assert(!std::convertible_to<any_environment, any_provider> &&
              !std::convertible_to<any_provider, any_environment>);
static_assert(!std::convertible_to<plain_fake, any_environment>,
              "an environment has one owner, who says that it is erased");

/// A layer that changes nothing.
template <code_exec_environment Inner>
class through_layer : public layer<through_layer<Inner>, Inner> {
 public:
  explicit through_layer(Inner inner) : layer<through_layer<Inner>, Inner>(std::move(inner)) {}
};
class through : public pipeable {
 public:
  template <code_exec_environment Inner>
  through_layer<Inner> attach(Inner inner) const {
    return through_layer<Inner>(std::move(inner));
  }
};
static_assert(!std::convertible_to<through, any_provider>);
static_assert(std::same_as<decltype(std::declval<fake_provider<plain_fake>>() | through()),
                           layered_provider<fake_provider<plain_fake>, through>>);
static_assert(
    std::same_as<decltype(std::declval<any_provider>() | through()), layered_provider<any_provider, through>>);

/// A provider whose converting constructor accepts any other provider.
class wrapping_provider {
 public:
  wrapping_provider(any_provider inside) : inside_(std::move(inside)) {}  // NOLINT: converts on purpose
  awaitable<any_environment> open() const { return inside_.open(); }

 private:
  any_provider inside_;
};
static_assert(code_exec_provider<wrapping_provider>, "asking whether it can be copied does not ask the same again");
static_assert(std::convertible_to<wrapping_provider, any_provider>);
static_assert(std::convertible_to<any_provider, wrapping_provider>);

int overload(const any_provider&) { return 1; }
int overload(const any_environment&) { return 2; }
int overload(const std::string&) { return 3; }

any_provider choose(bool plain, std::shared_ptr<journal> log) {
  if (plain) return fake_provider<plain_fake>(log);
  return fake_provider<full_fake>(log) | through();
}

TEST(AnyProvider, a_function_that_chooses_returns_any_provider_by_conversion) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    for (const bool plain : {true, false}) {
      const any_provider chosen = choose(plain, log);
      any_environment opened = co_await chosen.open();
      EXPECT_EQ(opened.can_start(), !plain);
      co_await opened.close();
    }
  });
  EXPECT_EQ(overload(fake_provider<plain_fake>(log)), 1);
  EXPECT_EQ(overload(any_environment(plain_fake(log))), 2);
  EXPECT_EQ(overload("text"), 3);
}

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
    EXPECT_EQ(code, exec_errc::unsupported);
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
    EXPECT_EQ(code, exec_errc::environment_closed);
  });
}

}  // namespace

}  // namespace any_provider_tests
