// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Python in the jail: an interpreter of this machine that the jail does not show.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>

#include "support/jail_tests.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include <stdlib.h>

namespace jail_python_runner_tests {

using namespace cofferdam;
using cofferdam_test::run;

/// Moves the folders of a test out of /tmp, because the jail has one of its own.
class elsewhere {
 public:
  elsewhere() {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", "/var/tmp", 1);
  }
  elsewhere(const elsewhere&) = delete;
  elsewhere& operator=(const elsewhere&) = delete;
  ~elsewhere() {
    if (before_) {
      ::setenv("TMPDIR", before_->c_str(), 1);
    } else {
      ::unsetenv("TMPDIR");
    }
  }

 private:
  std::optional<std::string> before_;
};

class PythonInJail : public cofferdam_test::jail_fixture {
 protected:
  /// Returns the value of an expression, or the error of opening the runner.
  static std::string value_or_error(const jail& place, const std::string& interpreter) {
    std::string text;
    run([&]() -> awaitable<void> {
      const auto recipe = place | python().interpreter(interpreter);
      auto body = [&](auto& runner) -> awaitable<void> {
        code_result result = co_await runner.run_code(code_request("6 * 7"));
        text = result.value_text();
      };
      try {
        co_await with(recipe, body);
      } catch (const error& failure) {
        text = failure.what();
      }
    });
    return text;
  }

  elsewhere not_tmp_;
  cofferdam_test::open_folder outside_;
};

TEST_F(PythonInJail, an_interpreter_outside_the_jail_is_an_error_with_the_line_to_add) {
  const std::string program =
      outside_.write("other/bin/python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n", 0755).string();
  outside_.write("other/lib/python3.11/os.py", "");
  const std::string text = value_or_error(recipe(), program);
  EXPECT_NE(text.find("it is not visible in the jail"), std::string::npos) << text;
  EXPECT_NE(text.find(".mount_read_only(\"" + (outside_ / "other").string() + "\")"), std::string::npos) << text;
  EXPECT_EQ(value_or_error(recipe().mount_read_only(outside_ / "other"), program), "42");
  EXPECT_EQ(value_or_error(recipe(), "python3"), "42");
}

TEST_F(PythonInJail, a_program_outside_the_jail_is_refused_with_the_line_to_add) {
  const std::string program = outside_.write("tools/hello", "#!/bin/sh\necho hello\n", 0755).string();
  const command_result hidden = cofferdam_test::result_of(recipe(), argv(program));
  EXPECT_EQ(hidden.kind(), error_kind::execution_error);
  EXPECT_EQ(hidden.advice(), "Add to the recipe: .mount_read_only(\"" + (outside_ / "tools").string() + "\")");
  const jail shown = recipe().mount_read_only(outside_ / "tools");
  EXPECT_EQ(cofferdam_test::result_of(shown, argv(program)).out().text(), "hello\n");
  const command_result absent = cofferdam_test::result_of(recipe(), argv((outside_ / "absent").string()));
  EXPECT_EQ(absent.advice().find("mount_read_only"), std::string::npos) << absent.advice();
  EXPECT_TRUE(cofferdam_test::result_of(recipe(), argv("/bin/true")).ok());
}

}  // namespace jail_python_runner_tests
