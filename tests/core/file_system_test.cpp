// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/with.hpp>

#include "support/fake_environment.hpp"
#include "support/pause.hpp"
#include "support/quick_files.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace file_system_tests {

using namespace cofferdam;
using cofferdam_test::fake_provider;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

class no_source final : public file_source {
 public:
  awaitable<std::optional<file_header>> next() override { co_return std::nullopt; }
  awaitable<bytes> read(std::size_t) override { co_return bytes(); }
};

/// A backend with the four required members and a member of its own.
class backend : public plain_fake {
 public:
  using plain_fake::plain_fake;
  std::string own() const { return "own"; }
};
using completed = detail::completed_t<backend>;
static_assert(file_environment<completed> && !file_environment<backend>);
static_assert(std::same_as<detail::completed_t<full_fake>, full_fake>, "what has files() stays as it is");
static_assert(sizeof(file_system) == sizeof(std::shared_ptr<int>));

awaitable<std::error_code> failure_of(file_system files) {
  std::error_code code;
  try {
    co_await files.make_directory("m");
  } catch (const error& failure) {
    code = failure.code();
  }
  co_return code;
}

TEST(FileSystem, one_without_files_says_so) {
  run([]() -> awaitable<void> {
    const std::error_code code = co_await failure_of(file_system());
    EXPECT_EQ(code, exec_errc::environment_closed);
  });
}

TEST(FileSystem, a_backend_with_four_members_keeps_its_own_and_gets_files) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(fake_provider<backend>(log), [](backend& env) -> awaitable<void> {
      EXPECT_EQ(env.own(), "own");
      co_return;
    });
    co_await with(fake_provider<backend>(log), [](auto& env) -> awaitable<void> {
      EXPECT_EQ(env.own(), "own");
      co_await env.files().make_directory("m");
      no_source none;
      const transfer_result report = co_await env.files().put_files(none);
      EXPECT_TRUE(report.ok());
    });
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"open", "close", "open", "run_command", "close"}));
  EXPECT_EQ(log->commands.at(0).words(), (std::vector<std::string>{"mkdir", "-p", "./m"}));
}

TEST(FileSystem, an_error_about_the_workspace_itself_names_it) {
  std::string text;
  run([&]() -> awaitable<void> {
    completed env{backend(std::make_shared<journal>())};
    try {
      co_await env.files().stat(".");  // the command of this backend prints nothing
    } catch (const error& failure) {
      text = failure.what();
    }
  });
  EXPECT_NE(text.find("stat '.': "), std::string::npos) << text;
}

TEST(FileSystem, is_valid_across_moves_and_closed_after_close) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    file_system files;
    {
      completed first{backend(log)};
      files = first.files();
      completed second = std::move(first);
      co_await files.make_directory("a");
      completed third{backend(log)};
      const file_system of_third = third.files();
      third = std::move(second);
      co_await files.make_directory("b");
      const std::error_code replaced = co_await failure_of(of_third);
      EXPECT_EQ(replaced, exec_errc::environment_closed);
      file_system none = first.files();
      const std::error_code moved_from = co_await failure_of(std::move(none));
      EXPECT_EQ(moved_from, exec_errc::environment_closed);
      co_await third.close();
      const std::error_code closed = co_await failure_of(files);
      EXPECT_EQ(closed, exec_errc::environment_closed);
      const completed fourth = std::move(third);
      const std::error_code moved_closed = co_await failure_of(files);
      EXPECT_EQ(moved_closed, exec_errc::environment_closed);
      completed dropped{backend(log)};
      files = dropped.files();
    }
    const std::error_code gone = co_await failure_of(files);
    EXPECT_EQ(gone, exec_errc::environment_closed);
  });
  EXPECT_EQ(log->commands.size(), 2U);
}

TEST(FileSystem, any_environment_has_the_files_of_what_is_inside) {
  const auto log = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    any_environment env{full_fake(log)};
    const file_system files = env.files();
    any_environment moved = std::move(env);
    co_await files.rename("f", "t");
    co_await moved.pause();
    EXPECT_TRUE(moved.can_suspend());
    any_environment plain{plain_fake(log)};
    EXPECT_FALSE(plain.can_suspend());
    co_await plain.files().remove("d");
    std::error_code code;
    try {
      co_await plain.snapshot();
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_EQ(code, exec_errc::unsupported);
  });
  EXPECT_EQ(log->calls, (std::vector<std::string>{"rename f t", "pause", "run_command"}));
}

/// A file system whose operation is a coroutine. Only the running operation keeps the object alive.
class slow_files final : public file_system_adaptor<slow_files> {
 public:
  explicit slow_files(std::shared_ptr<bool> gone) : gone_(std::move(gone)) {}
  ~slow_files() override { *gone_ = true; }
  awaitable<void> make_directory(std::string) override {
    const std::shared_ptr<bool> gone = gone_;
    co_await cofferdam_test::pause_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(*gone);
  }
  template <class Operation>
  auto call(Operation operation) {
    return operation(nothing_);
  }

 private:
  std::shared_ptr<bool> gone_;
  const file_system nothing_;
};

class slow_environment : public plain_fake {
 public:
  using plain_fake::plain_fake;
  file_system files() { return file_system(std::make_shared<slow_files>(std::make_shared<bool>(false))); }
};

TEST(FileSystem, the_functions_keep_the_files_until_the_operation_has_ended) {
  run([]() -> awaitable<void> {
    slow_environment env(std::make_shared<journal>());
    awaitable<void> later = make_directory(env, "m");
    co_await std::move(later);
    co_await env.files().make_directory("m");
  });
}

/// A file system that writes down what `call` receives.
class noting_files final : public file_system_adaptor<noting_files> {
 public:
  explicit noting_files(std::vector<std::string>& notes) : notes_(notes) {}

  template <class Operation>
  auto call(Operation operation) {
    std::string note = std::string(operation.name()) + (Operation::changes ? " changes" : " reads");
    if (!operation.path().empty()) note += " " + operation.path();
    if (!operation.destination().empty()) note += " to " + operation.destination();
    notes_.push_back(std::move(note));
    return operation(std::as_const(files_));
  }

 private:
  file_system files_{std::make_shared<cofferdam_test::quick_files>()};
  std::vector<std::string>& notes_;
};

TEST(FileSystem, each_operation_of_an_adaptor_has_its_name_and_kind) {
  std::vector<std::string> notes;
  run([&]() -> awaitable<void> {
    const file_system files(std::make_shared<noting_files>(notes));
    no_source none;
    co_await files.stat("s");
    co_await files.list("l");
    co_await files.make_directory("m");
    co_await files.remove("d");
    co_await files.rename("f", "t");
    const transfer_result report = co_await files.put_files(none);
    EXPECT_TRUE(report.ok());
    co_await files.get_files(std::vector<file_request>());
    const directory_watch watch = co_await files.watch("w");
    EXPECT_TRUE(watch);
  });
  const std::vector<std::string> expected{"stat reads s",     "list reads l",          "make_directory changes m",
                                          "remove changes d", "rename changes f to t", "put_files changes",
                                          "get_files reads",  "watch reads w"};
  EXPECT_EQ(notes, expected);
}

}  // namespace file_system_tests
