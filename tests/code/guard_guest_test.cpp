// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of guards (layers around a code runner that may refuse code) if the host has no Python: the guards then parse
// code with the Python of the environment. The host and the environments use different values of PATH. A folder in the
// environment's PATH contains an interpreter that the host cannot find.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/middleware/variables.hpp>

#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>

namespace guard_guest {
namespace {

using namespace cofferdam;
using namespace std::chrono_literals;

/// A runner that runs nothing, but grants access to its environment.
template <streaming_environment E>
class idle_runner {
 public:
  explicit idle_runner(E environment) : environment_(std::make_unique<E>(std::move(environment))) {}
  E& environment() { return *environment_; }
  awaitable<code_result> run_code(code_request) {
    code_result result;
    result.exit_code(0);
    co_return result;
  }
  awaitable<void> close() { return environment_->close(); }

 private:
  std::unique_ptr<E> environment_;
};

template <code_exec_provider P>
class idle_runner_provider {
 public:
  explicit idle_runner_provider(P provider) : provider_(std::move(provider)) {}
  awaitable<idle_runner<environment_of<P>>> open() const {
    environment_of<P> environment = co_await provider_.open();
    co_return idle_runner<environment_of<P>>(std::move(environment));
  }

 private:
  P provider_;
};

/// A folder in the PATH of the environment only. It contains an interpreter that records its pid at each start.
class guests_python {
 public:
  explicit guests_python(const std::string& name, const std::string& instead = "exec /usr/bin/env python3 \"$@\"\n") {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\necho $$ >> '" << notes() << "'\n" << instead;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  auto provider() const {
    return idle_runner_provider(local().without_warning() |
                                variables("PATH", folder_.path().string() + ":/usr/local/bin:/usr/bin:/bin"));
  }
  /// Returns the pids of the interpreter's processes, in the order of their start.
  std::vector<int> starts() const {
    std::ifstream file(notes());
    std::vector<int> pids;
    for (int pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  }

 private:
  std::string notes() const { return (folder_ / "notes").string(); }

  cofferdam_test::temporary_folder folder_;
};

/// Opens a runner with a guard and calls `body`. Returns the text of the exception from `body`, after which the
/// runner is still closed; empty means none.
template <class Provider>
std::string with_guard(Provider provider, python_reader settings,
                       const std::function<awaitable<void>(std::function<awaitable<code_result>(std::string)>)>& body) {
  std::string thrown;
  cofferdam_test::run([&]() -> awaitable<void> {
    auto recipe = std::move(provider) | check_syntax().reader(std::move(settings));
    auto runner = co_await recipe.open();
    const std::function<awaitable<code_result>(std::string)> runs = [&runner](std::string code) {
      return runner.run_code(code_request(std::move(code)));
    };
    try {
      co_await body(runs);
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::provider_failed);
      thrown = failure.what();
    }
    co_await runner.close();
  });
  return thrown;
}

TEST(GuardGuest, code_is_read_in_the_environment_where_the_host_has_no_python) {
  const guests_python python("python-of-the-guest");
  const std::string thrown = with_guard(
      python.provider(), python_reader().interpreter("python-of-the-guest"), [](auto runs) -> awaitable<void> {
        for (int i = 0; i < 3; ++i) {
          const code_result good = co_await runs("x = " + std::to_string(i));
          EXPECT_TRUE(good.ok()) << good.reason();
          const code_result bad = co_await runs("x = 1\ny = " + std::to_string(i) + " +\n");
          EXPECT_EQ(bad.kind(), error_kind::security_violation);
          EXPECT_NE(bad.reason().find("line 2"), std::string::npos) << bad.reason();
        }
      });
  EXPECT_EQ(thrown, "");
  EXPECT_EQ(python.starts().size(), 1U) << "it stays warm";
}

TEST(GuardGuest, a_reader_that_has_to_be_on_the_host_is_not_looked_for_elsewhere) {
  const guests_python python("python-of-the-guest");
  python_reader settings;
  const std::string thrown = with_guard(
      python.provider(), std::move(std::move(settings).interpreter("python-of-the-guest")).place(analysis_place::host),
      [](auto runs) -> awaitable<void> { co_await runs("x = 1"); });
  EXPECT_NE(thrown.find("on the host: "), std::string::npos) << thrown;
  EXPECT_EQ(thrown.find("in the environment"), std::string::npos) << thrown;
  EXPECT_TRUE(python.starts().empty());
}

TEST(GuardGuest, the_host_is_asked_first_and_not_at_all_where_the_guest_is_named) {
  for (const analysis_place place : {analysis_place::automatic, analysis_place::guest}) {
    const guests_python python("python3");
    python_reader settings;
    const std::string thrown =
        with_guard(python.provider(), std::move(settings).place(place), [](auto runs) -> awaitable<void> {
          const code_result good = co_await runs("x = 1");
          EXPECT_TRUE(good.ok()) << good.reason();
        });
    EXPECT_EQ(thrown, "");
    EXPECT_EQ(python.starts().size(), place == analysis_place::guest ? 1U : 0U);
  }
}

TEST(GuardGuest, no_python_in_either_place_is_an_error_that_names_both_and_nothing_has_run) {
  const guests_python python("another-name");
  const std::string thrown = with_guard(python.provider(), python_reader().interpreter("no-such-python"),
                                        [](auto runs) -> awaitable<void> { co_await runs("x = 1"); });
  EXPECT_NE(thrown.find("on the host: "), std::string::npos) << thrown;
  EXPECT_NE(thrown.find("in the environment: "), std::string::npos) << thrown;
}

TEST(GuardGuest, a_guest_that_ends_the_reader_gains_no_permission_and_the_next_code_is_read) {
  const guests_python python("python-of-the-guest");
  const std::string thrown = with_guard(python.provider(), python_reader().interpreter("python-of-the-guest"),
                                        [&](auto runs) -> awaitable<void> {
                                          for (std::size_t i = 1; i <= 3; ++i) {
                                            const code_result bad = co_await runs("x = " + std::to_string(i) + " +");
                                            EXPECT_EQ(bad.kind(), error_kind::security_violation) << bad.reason();
                                            const std::vector<int> starts = python.starts();
                                            EXPECT_EQ(starts.size(), i);
                                            if (!starts.empty()) {
                                              EXPECT_EQ(::kill(starts.back(), SIGKILL), 0);
                                            }
                                          }
                                        });
  EXPECT_EQ(thrown, "");
}

TEST(GuardGuest, a_reader_that_a_guest_has_replaced_and_that_says_nothing_is_no_permission) {
  const guests_python python("python-of-the-guest",
                             "printf '\\ncofferdam python reader 2 3.11\\n'\nexec cat > /dev/null\n");
  const std::string thrown =
      with_guard(python.provider(), python_reader().interpreter("python-of-the-guest").timeout(100ms),
                 [](auto runs) -> awaitable<void> {
                   const code_result silent = co_await runs("x = 1");
                   EXPECT_EQ(silent.kind(), error_kind::security_violation);
                   EXPECT_FALSE(silent.ok());
                 });
  EXPECT_EQ(thrown, "");
}

TEST(GuardGuest, closing_ends_the_reader) {
  const guests_python python("python-of-the-guest");
  with_guard(python.provider(), python_reader().interpreter("python-of-the-guest"),
             [](auto runs) -> awaitable<void> { co_await runs("x = 1"); });
  ASSERT_EQ(python.starts().size(), 1U);
  const int pid = python.starts().front();
  bool ended = false;
  for (int i = 0; i < 1000 && !ended; ++i) {
    ended = ::kill(pid, 0) != 0;
    if (!ended) std::this_thread::sleep_for(20ms);
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace guard_guest
