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
#include "support/variable.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace jail_python_runner_tests {

using namespace cofferdam;
using cofferdam_test::run;

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

  cofferdam_test::variable not_tmp_{"TMPDIR", "/var/tmp"};  // the jail has a /tmp of its own
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
  const auto line = [](const std::filesystem::path& folder) {
    return "If this machine has it, add to the recipe: .mount_read_only(\"" + folder.string() + "\")";
  };
  EXPECT_EQ(hidden.advice(), line(outside_ / "tools"));
  const jail shown = recipe().mount_read_only(outside_ / "tools");
  EXPECT_EQ(cofferdam_test::result_of(shown, argv(program)).out().text(), "hello\n");
  EXPECT_TRUE(cofferdam_test::result_of(recipe(), argv("/bin/true")).ok());
}

// A model reads the result: it must not be able to ask which paths this machine has.
TEST_F(PythonInJail, the_result_of_a_program_outside_the_jail_is_the_same_if_it_does_not_exist) {
  outside_.write("tools/there", "#!/bin/sh\n", 0755);
  outside_.write("venv/pyvenv.cfg", "home = " + (outside_ / "base/bin").string() + "\n");
  outside_.write("base/lib/python3.11/os.py", "");
  outside_.write("venv/bin/there", "", 0755);
  for (const char* folder : {"tools", "venv/bin"}) {
    const auto text_of = [&](const std::string& name) {
      const std::filesystem::path program = outside_ / folder / name;
      const command_result result = cofferdam_test::result_of(recipe(), argv(program.string()));
      std::string text = std::string(to_string(result.kind())) + result.reason() + result.advice();
      for (std::size_t at = 0; (at = text.find(program.string())) != std::string::npos;)
        text.replace(at, program.string().size(), "PROGRAM");
      return text;
    };
    EXPECT_EQ(text_of("there"), text_of("gone"));
  }
}

TEST_F(PythonInJail, the_line_to_add_never_shows_a_home_or_the_root) {
  const cofferdam_test::variable home("HOME", "/data/users/ann");
  const auto advised = [&](const std::string& program) {
    const std::string advice = cofferdam_test::result_of(recipe(), argv(program)).advice();
    const std::size_t start = advice.find("(\"") + 2;
    return advice.substr(start, advice.find('"', start) - start);
  };
  const std::string eve = std::string("/home") + "/eve";
  EXPECT_EQ(advised(eve + "/tool"), eve + "/tool");
  EXPECT_EQ(advised(eve + "/bin/tool"), eve + "/bin");
  EXPECT_EQ(advised(eve + "/py/bin/tool"), eve + "/py");
  const std::string top = "/top";
  EXPECT_EQ(advised(top + "/tool"), top + "/tool");
  EXPECT_EQ(advised("/tool"), "/tool");
  EXPECT_EQ(advised("/data/users/ann/tool"), "/data/users/ann/tool");
  EXPECT_EQ(advised("/data/users/tool"), "/data/users/tool");
  EXPECT_EQ(advised("/opt/py/bin/python3"), "/opt/py");
  EXPECT_EQ(advised("/srv/tools/python3"), "/srv/tools");
}

// The kernel reports nothing when a covered file is moved, so each call looks.
TEST_F(PythonInJail, a_runner_makes_no_further_call_after_a_covered_file_was_moved_away) {
  const std::filesystem::path folder = base_.make_shared_folder("ws");
  for (const char* name : {"secret", "other"})
    std::filesystem::permissions(base_.write(std::string("ws/") + name, "canary"), std::filesystem::perms(0666));
  const std::string attack = "open('/workspace/secret').read()";
  const auto seen_after_change = [&](const jail& place) {
    std::string seen;
    run([&]() -> awaitable<void> {
      auto body = [&](auto& runner) -> awaitable<void> {
        code_result before = co_await runner.run_code(code_request(attack));
        seen = before.value_text() + ";";
        std::filesystem::rename(folder / "secret", folder / "moved");
        std::filesystem::copy_file(folder / "other", folder / "secret");
        try {
          code_result after = co_await runner.run_code(code_request(attack));
          seen += after.value_text();
        } catch (const error& failure) {
          seen += failure.code() == exec_errc::environment_closed ? "closed" : failure.what();
        }
      };
      const auto recipe = place | python();
      try {
        co_await with(recipe, body);
      } catch (const error&) {
      }
    });
    std::filesystem::remove(folder / "moved");
    return seen;
  };
  EXPECT_EQ(seen_after_change(recipe().workspace(folder).hide(folder / "secret")), ";closed");
  EXPECT_EQ(seen_after_change(recipe().workspace(folder)), "'canary';'canary'");  // the control
}

}  // namespace jail_python_runner_tests
