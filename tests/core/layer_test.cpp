// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/with.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace layer_tests {

namespace {

using namespace cofferdam;
using cofferdam_test::fake_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

// ---- layers for the tests ------------------------------------------------------------------------------------------

template <code_exec_environment Inner>
class mark_layer : public layer<mark_layer<Inner>, Inner> {
 public:
  mark_layer(Inner inner, std::string name)
      : layer<mark_layer<Inner>, Inner>(std::move(inner)), name_(std::move(name)) {}
  std::optional<command_result> admit(command& c) {
    if (c.line() == "forbidden")
      return command_result::refused(error_kind::command_not_allowed, "no", "something else");
    std::string marks;
    for (const command::variable_setting& setting : c.variables())
      if (setting.name() == "MARKS") marks = setting.value();
    c.variable("MARKS", marks + name_);
    return std::nullopt;
  }

 private:
  std::string name_;
};

class mark : public pipeable {
 public:
  explicit mark(std::string name) : name_(std::move(name)) {}
  template <code_exec_environment Inner>
  mark_layer<Inner> attach(Inner inner) const {
    return mark_layer<Inner>(std::move(inner), name_);
  }

 private:
  std::string name_;
};

template <code_exec_environment Inner>
class own_run_layer : public layer<own_run_layer<Inner>, Inner> {
 public:
  using layer<own_run_layer<Inner>, Inner>::layer;
  awaitable<command_result> run_command(command c) { return this->inner().run_command(std::move(c)); }
};

template <code_exec_environment Inner>
class own_run_and_start_layer : public layer<own_run_and_start_layer<Inner>, Inner> {
 public:
  using layer<own_run_and_start_layer<Inner>, Inner>::layer;
  awaitable<command_result> run_command(command c) { return this->inner().run_command(std::move(c)); }
  awaitable<process> start(command c) { return this->inner().start(std::move(c)); }
};

template <code_exec_environment Inner>
class own_write_layer : public layer<own_write_layer<Inner>, Inner> {
 public:
  using layer<own_write_layer<Inner>, Inner>::layer;
  awaitable<void> write_file(std::string path, bytes_view content) {
    return this->inner().write_file(std::move(path), content);
  }
};

template <code_exec_environment Inner>
class own_read_layer : public layer<own_read_layer<Inner>, Inner> {
 public:
  using layer<own_read_layer<Inner>, Inner>::layer;
  awaitable<bytes> read_file(std::string path, std::size_t max_size) {
    return this->inner().read_file(std::move(path), max_size);
  }
};

template <code_exec_environment Inner>
class preparing_layer : public layer<preparing_layer<Inner>, Inner> {
 public:
  preparing_layer(Inner inner, bool fails) : layer<preparing_layer<Inner>, Inner>(std::move(inner)), fails_(fails) {}
  awaitable<void> prepare() {
    co_await this->inner().write_file("prepared", bytes_view());
    if (fails_) throw std::runtime_error("cannot prepare");
  }

 private:
  bool fails_;
};

class preparing : public pipeable {
 public:
  explicit preparing(bool fails) : fails_(fails) {}
  template <code_exec_environment Inner>
  preparing_layer<Inner> attach(Inner inner) const {
    return preparing_layer<Inner>(std::move(inner), fails_);
  }

 private:
  bool fails_;
};

/// A layer whose `prepare` and `close` do their work and then throw.
template <class Inner>
class broken_layer : public layer<broken_layer<Inner>, Inner> {
 public:
  explicit broken_layer(Inner inner) : layer<broken_layer<Inner>, Inner>(std::move(inner)) {}
  awaitable<void> prepare() {
    co_await this->inner().write_file("prepared", bytes_view());
    throw std::runtime_error("cannot prepare");
  }
  awaitable<void> close() {
    co_await this->inner().close();
    throw std::runtime_error("cannot close");
  }
};

class broken : public pipeable {
 public:
  template <code_exec_environment Inner>
  broken_layer<Inner> attach(Inner inner) const {
    return broken_layer<Inner>(std::move(inner));
  }
};

/// An environment in which two commands have left processes running.
class lasting_fake : public full_fake {
 public:
  using full_fake::full_fake;
  std::vector<background_command> background() const { return {{3, "server"}, {7, "watcher"}}; }
  awaitable<void> end_background(std::uint32_t number) {
    log_->calls.push_back("end_background " + std::to_string(number));
    co_return;
  }
};

/// An environment that can be paused, but not saved.
class pausing_fake : public plain_fake {
 public:
  using plain_fake::plain_fake;
  awaitable<void> pause() { return note("pause"); }
  awaitable<void> resume() { return note("resume"); }

 private:
  awaitable<void> note(std::string what) {
    log_->calls.push_back(std::move(what));
    co_return;
  }
};

template <class E>
concept has_background = requires(E& env, const E& same) {
  same.background();
  env.end_background(3);
};

// ---- which types model which concepts ------------------------------------------------------------------------------

static_assert(code_exec_environment<plain_fake> && !streaming_environment<plain_fake> && !file_environment<plain_fake>);
static_assert(streaming_environment<full_fake> && file_environment<full_fake> && suspendable_environment<full_fake>);

static_assert(streaming_environment<mark_layer<full_fake>>);
static_assert(file_environment<mark_layer<full_fake>>);
static_assert(suspendable_environment<mark_layer<full_fake>>);
static_assert(!streaming_environment<mark_layer<plain_fake>>);
static_assert(!suspendable_environment<mark_layer<plain_fake>>);
static_assert(file_environment<environment_of<layered_provider<fake_provider<plain_fake>, mark>>>,
              "the first | has put files() around the environment at the bottom");

static_assert(pausable_environment<mark_layer<pausing_fake>>);
static_assert(!snapshot_environment<mark_layer<pausing_fake>> && !suspendable_environment<mark_layer<pausing_fake>>);

static_assert(!streaming_environment<own_run_layer<full_fake>>, "start would go round the layer's run_command");
static_assert(streaming_environment<own_run_and_start_layer<full_fake>>);
static_assert(!file_environment<own_write_layer<full_fake>>, "remove would go round the layer's write_file");
static_assert(!file_environment<own_read_layer<full_fake>>, "list would go round the layer's read_file");
static_assert(!file_environment<detail::completed_t<own_read_layer<full_fake>>>, "and commands would too");

static_assert(has_background<mark_layer<mark_layer<lasting_fake>>>);
static_assert(!has_background<mark_layer<full_fake>>);

static_assert(code_exec_provider<fake_provider<plain_fake>>);
static_assert(code_exec_provider<layered_provider<fake_provider<plain_fake>, mark>>);
static_assert(!code_exec_provider<plain_fake>, "an environment is no recipe");
static_assert(!code_exec_environment<fake_provider<plain_fake>>, "a recipe runs nothing");
static_assert(sizeof(layer<own_run_layer<plain_fake>, plain_fake>) == sizeof(plain_fake));

// ---- tests of the behaviour ----------------------------------------------------------------------------------------

std::string marks_of(const command& c) {
  for (const command::variable_setting& setting : c.variables())
    if (setting.name() == "MARKS") return setting.value();
  return {};
}

TEST(Layer, the_outer_layer_sees_a_command_first) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | mark("a") | mark("b"),
                  [](auto& env) -> awaitable<void> { co_await env.run_command(shell("x")); });
  });
  EXPECT_EQ(marks_of(log->commands.at(0)), "ba");
}

TEST(Layer, recipes_join_before_they_meet_a_provider) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    const auto both = mark("a") | mark("b");
    co_await with(fake_provider<full_fake>(log) | both,
                  [](auto& env) -> awaitable<void> { co_await env.run_command(shell("x")); });
    co_await with(fake_provider<full_fake>(log) | (both | mark("c")),
                  [](auto& env) -> awaitable<void> { co_await env.run_command(shell("x")); });
  });
  EXPECT_EQ(marks_of(log->commands.at(0)), "ba");
  EXPECT_EQ(marks_of(log->commands.at(1)), "cba");
}

TEST(Layer, start_is_asked_like_run_command) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | mark("a"), [](auto& env) -> awaitable<void> {
      process admitted = co_await env.start(shell("x"));
      command_result fine = co_await admitted.wait();
      EXPECT_TRUE(fine.ok());
      process refused = co_await env.start(shell("forbidden"));
      command_result not_fine = co_await refused.wait();
      EXPECT_EQ(not_fine.kind(), error_kind::command_not_allowed);
      EXPECT_EQ(not_fine.advice(), "something else");
    });
  });
  EXPECT_EQ(log->commands.size(), 1U);
  EXPECT_EQ(marks_of(log->commands.at(0)), "a");
}

TEST(Layer, a_refused_command_never_reaches_the_backend) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | mark("a") | mark("b"), [](auto& env) -> awaitable<void> {
      command_result refused = co_await env.run_command(shell("forbidden"));
      EXPECT_EQ(refused.kind(), error_kind::command_not_allowed);
    });
  });
  EXPECT_TRUE(log->commands.empty());
}

/// Calls every operation of an environment once.
template <class E>
awaitable<void> do_everything(E& env) {
  co_await env.run_command(shell("x"));
  co_await env.start(shell("x"));
  co_await env.read_file("r", 1);
  co_await env.write_file("w", bytes_view());
  co_await cofferdam::stat(env, "s");
  co_await cofferdam::list_directory(env, "l");
  co_await cofferdam::make_directory(env, "m");
  co_await cofferdam::remove(env, "d");
  co_await cofferdam::rename(env, "f", "t");
}

const std::vector<std::string> everything{"open",         "run_command", "start",  "read_file r",
                                          "write_file w", "stat s",      "list l", "make_directory m",
                                          "remove d",     "rename f t",  "close"};

TEST(Layer, every_operation_passes_through_five_layers_once) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | mark("a") | mark("b") | mark("c") | mark("d") | mark("e"),
                  [](auto& env) -> awaitable<void> { co_await do_everything(env); });
  });
  EXPECT_EQ(log->calls, everything);
}

TEST(Layer, every_operation_passes_through_an_erased_provider_with_layers_on_both_sides) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(any_provider(fake_provider<full_fake>(log) | mark("a")) | mark("b"),
                  [](auto& env) -> awaitable<void> { co_await do_everything(env); });
  });
  EXPECT_EQ(log->calls, everything);
  EXPECT_EQ(marks_of(log->commands.at(0)), "ba");
  EXPECT_EQ(marks_of(log->commands.at(1)), "ba");
}

TEST(Layer, the_other_refinements_pass_through) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | mark("a") | mark("b"), [](auto& env) -> awaitable<void> {
      co_await env.pause();
      co_await env.resume();
      co_await env.snapshot();
      co_await env.files().get_files(std::vector<file_request>());
    });
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "pause", "resume", "snapshot", "get_files", "close"}));
}

TEST(Layer, a_pause_does_not_need_a_snapshot) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(any_provider(fake_provider<pausing_fake>(log) | mark("a")) | mark("b"),
                  [](auto& env) -> awaitable<void> {
                    EXPECT_TRUE(env.can_pause());
                    EXPECT_FALSE(env.can_snapshot());
                    EXPECT_FALSE(env.can_suspend());
                    co_await env.pause();
                    co_await env.resume();
                    std::string refusal;
                    try {
                      co_await env.snapshot();
                    } catch (const error& failure) {
                      EXPECT_EQ(failure.code(), exec_errc::unsupported);
                      refusal = failure.what();
                    }
                    EXPECT_EQ(refusal, "snapshot: this backend cannot take snapshots");
                  });
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "pause", "resume", "close"}));
}

TEST(Layer, processes_left_running_are_listed_and_ended_through_layers) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<lasting_fake>(log) | mark("a") | mark("b"), [](auto& env) -> awaitable<void> {
      const std::vector<background_command> left = env.background();
      EXPECT_EQ(left.size(), 2U);
      EXPECT_EQ(left.back().program(), "watcher");
      co_await env.end_background(left.back().number());
    });
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "end_background 7", "close"}));
}

TEST(Layer, a_fallback_is_lowered_below_the_layers_that_judge_commands) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<plain_fake>(log) | mark("a"),
                  [](auto& env) -> awaitable<void> { co_await make_directory(env, "made"); });
  });
  EXPECT_EQ(log->commands.size(), 1U);
  EXPECT_EQ(log->commands.at(0).words(), (std::vector<std::string>{"mkdir", "-p", "./made"}));
  EXPECT_EQ(marks_of(log->commands.at(0)), "") << "the layer has judged a command the caller never gave";
}

TEST(Layer, preparing_happens_once_at_open) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<full_fake>(log) | preparing(false) | mark("a"),
                  [](auto& env) -> awaitable<void> { co_await env.run_command(shell("x")); });
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "write_file prepared", "run_command", "close"}));
}

TEST(Layer, when_preparing_fails_the_environment_is_closed_and_open_throws) {
  auto log = std::make_shared<journal>();
  std::string caught;
  run([&]() -> awaitable<void> {
    try {
      co_await with(fake_provider<full_fake>(log) | preparing(true) | mark("a"),
                    [](auto& env) -> awaitable<void> { co_await env.run_command(shell("x")); });
    } catch (const std::runtime_error& failure) {
      caught = failure.what();
    }
  });
  EXPECT_EQ(caught, "cannot prepare");
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "write_file prepared", "close"}));
}

TEST(Layer, when_preparing_and_closing_fail_open_throws_what_preparing_threw) {
  auto log = std::make_shared<journal>();
  std::string caught;
  bool throws = false;
  run([&]() -> awaitable<void> {
    const auto provider = fake_provider<full_fake>(log) | broken();
    try {
      auto opened = co_await provider.open();
    } catch (const std::runtime_error& failure) {
      caught = failure.what();
    }
    throws = co_await asio::this_coro::throw_if_cancelled();
  });
  EXPECT_EQ(caught, "cannot prepare");
  EXPECT_TRUE(throws) << "a cancellation is not heard of any more";
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "write_file prepared", "close"}));
}

TEST(Layer, an_open_environment_can_be_narrowed) {
  auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    fake_provider<full_fake> provider(log);
    full_fake env = co_await provider.open();
    auto narrow = std::move(env) | mark("a") | mark("b");
    command_result refused = co_await narrow.run_command(shell("forbidden"));
    EXPECT_EQ(refused.kind(), error_kind::command_not_allowed);
    co_await narrow.run_command(shell("x"));
    co_await narrow.close();
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "run_command", "close"}));
  EXPECT_EQ(marks_of(log->commands.at(0)), "ba");
}

}  // namespace

}  // namespace layer_tests
