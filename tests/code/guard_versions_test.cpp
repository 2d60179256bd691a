// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of guards (layers around a code runner that may refuse code) if the Python that parses code for them is older
// or newer than the Python that runs it.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/with.hpp>

#include "code/guard_support.hpp"
#include "code/python_support.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// This namespace is named, because coroutine templates are instantiated with its types, and g++ warns about types of
// an unnamed namespace.
namespace guard_versions {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::all_of;
using cofferdam_test::fake_runner;
using cofferdam_test::python_folder;
using cofferdam_test::temporary_folder;

/// A reader (the Python that parses code for a guard) that pretends to be Python 3.9. It reports a syntax error for all
/// code, and records the version for which it parses.
class old_reader {
 public:
  old_reader() {
    folder_.write("python3",
                  "#!/usr/bin/env python3\n"
                  "import json, os, struct\n"
                  "def take(n):\n"
                  "    got = b''\n"
                  "    while len(got) < n:\n"
                  "        part = os.read(0, n - len(got))\n"
                  "        if not part: os._exit(0)\n"
                  "        got += part\n"
                  "    return got\n"
                  "os.write(1, b'\\ncofferdam python reader 2 3.9\\n')\n"
                  "while True:\n"
                  "    size, minor = struct.unpack('>IB', take(5))\n"
                  "    take(size)\n"
                  "    with open(__file__ + '.asked', 'a') as file: file.write('%d ' % minor)\n"
                  "    said = json.dumps({'error': {'type': 'SyntaxError', 'text': 'old', 'line': 1, 'column': 1}})\n"
                  "    os.write(1, struct.pack('>I', len(said)) + said.encode())\n",
                  0700);
  }
  python_reader settings() const { return python_reader().interpreter((folder_ / "python3").string()); }
  /// Returns the minor versions for which the reader was used.
  std::string asked() const { return folder_.has("python3.asked") ? folder_.read("python3.asked") : ""; }

 private:
  temporary_folder folder_;
};

/// A runner that runs nothing, and reports the given Python version.
class versioned_runner : public fake_runner {
 public:
  explicit versioned_runner(std::string version)
      : fake_runner(std::make_shared<notes>()), version_(std::move(version)) {}
  std::string version() const { return version_; }

 private:
  std::string version_;
};

class versioned_provider {
 public:
  explicit versioned_provider(std::string version) : version_(std::move(version)) {}
  awaitable<versioned_runner> open() const { return make(version_); }

 private:
  static awaitable<versioned_runner> make(std::string version) { co_return versioned_runner(std::move(version)); }
  std::string version_;
};

/// Runs each piece of code in a guarded runner, and returns the results.
template <class Provider>
std::vector<code_result> answers(Provider provider, std::vector<std::string> codes) {
  std::vector<code_result> results;
  cofferdam_test::run(
      [&] {
        return with(provider, [&](auto& runner) -> awaitable<void> {
          for (const std::string& each : codes) {
            code_request request(each);
            code_result result = co_await runner.run_code(std::move(request));
            results.push_back(std::move(result));
          }
        });
      },
      120s);
  return results;
}

template <class Provider>
code_result answer(Provider provider, std::string code) {
  const std::vector<std::string> codes(1, std::move(code));
  return answers(std::move(provider), codes).front();
}

bool has(const code_result& result, const std::string& text) { return result.reason().find(text) != std::string::npos; }

int minor_of_host() {
  int minor = 0;
  if (std::FILE* const pipe = ::popen("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin python3 -c "
                                      "'import sys; print(sys.version_info[1])'",
                                      "r")) {
    if (std::fscanf(pipe, "%d", &minor) != 1) minor = 0;
    ::pclose(pipe);
  }
  return minor;
}

TEST(GuardVersions, what_the_host_cannot_read_is_read_by_the_newer_python_of_the_guest) {
  const old_reader old;
  const python_folder folder;
  const auto guarded = folder.provider() | python() | check_syntax().reader(old.settings()) | allow_imports("json");
  const std::vector<std::string> codes = {"import json\nprint(1)", "import os", "x = (", "import json\nprint(1)"};
  const std::vector<code_result> results = answers(guarded, codes);
  EXPECT_EQ(results[0].out().text(), "1\n") << all_of(results[0]);
  EXPECT_EQ(results[1].kind(), error_kind::security_violation);
  EXPECT_TRUE(has(results[1], "allow_imports refuses line 1")) << results[1].reason();
  EXPECT_EQ(results[2].kind(), error_kind::security_violation);
  EXPECT_TRUE(has(results[2], "never closed")) << "of the guest: " << results[2].reason();
  EXPECT_FALSE(has(results[2], "the code would run on")) << results[2].reason();
  EXPECT_EQ(results[3].out().text(), "1\n") << all_of(results[3]);
  const std::string asked = std::to_string(minor_of_host()) + " ";
  EXPECT_EQ(old.asked(), asked + asked + asked) << "once for each text, by the version of the guest";
}

TEST(GuardVersions, a_runner_behind_any_runner_is_asked_too) {
  const old_reader old;
  const python_folder folder;
  const any_runner_provider any(folder.provider() | python());
  const code_result result = answer(any | check_syntax().reader(old.settings()), "print(1)");
  EXPECT_EQ(result.out().text(), "1\n") << all_of(result);
}

TEST(GuardVersions, a_reader_on_the_host_by_order_does_not_ask_the_guest_and_names_both_versions) {
  const old_reader old;
  const python_folder folder;
  const code_result result = answer(
      folder.provider() | python() | check_syntax().reader(old.settings().place(analysis_place::host)), "print(1)");
  EXPECT_EQ(result.kind(), error_kind::security_violation);
  EXPECT_TRUE(has(
      result, "Python 3.9 on the host reports this; the code would run on Python 3." + std::to_string(minor_of_host())))
      << result.reason();
  EXPECT_TRUE(has(result, "python_reader().interpreter(")) << result.reason();
}

TEST(GuardVersions, a_guest_that_cannot_be_asked_is_a_refusal_that_names_both_versions_and_why) {
  const old_reader old;
  const code_result result = answer(versioned_provider("3.13.1") | check_syntax().reader(old.settings()), "print(1)");
  EXPECT_EQ(result.kind(), error_kind::security_violation);
  EXPECT_TRUE(
      has(result, "Python 3.9 on the host reports this; the code would run on Python 3.13, which cannot read the code"))
      << result.reason();
  EXPECT_TRUE(has(result, "the environment of this runner cannot start processes")) << result.reason();
  const code_result unknown = answer(versioned_provider("") | check_syntax().reader(old.settings()), "print(1)");
  EXPECT_EQ(unknown.kind(), error_kind::security_violation);
  EXPECT_FALSE(has(unknown, "would run on")) << unknown.reason();
}

TEST(GuardVersions, a_reader_in_the_guest_is_the_interpreter_of_the_runner_unless_another_is_named) {
  const old_reader old;
  const python_folder folder;
  const code_result own = answer(
      folder.provider() | python() | check_syntax().reader(python_reader().place(analysis_place::guest)), "print(1)");
  EXPECT_EQ(own.out().text(), "1\n") << all_of(own);
  const code_result named = answer(
      folder.provider() | python() | check_syntax().reader(old.settings().place(analysis_place::guest)), "print(1)");
  EXPECT_EQ(named.kind(), error_kind::security_violation);
  EXPECT_TRUE(has(named, "Python 3.9 in the environment reports this; the code would run on Python 3."))
      << named.reason();
}

TEST(GuardVersions, syntax_that_the_older_python_of_the_guest_has_not_is_refused) {
  COFFERDAM_NEEDS("python 3.10", minor_of_host() >= 10, "that newer syntax is refused for an older guest");
  const auto old = versioned_provider("3.8.20") | check_syntax();
  const auto same = versioned_provider("3." + std::to_string(minor_of_host())) | check_syntax();
  const std::string match = "match x:\n    case 1: pass\n";
  EXPECT_TRUE(answer(same, match).ok());
  const code_result refused = answer(old, match);
  EXPECT_EQ(refused.kind(), error_kind::security_violation);
  EXPECT_TRUE(has(refused, "Pattern matching")) << refused.reason();
  EXPECT_TRUE(has(refused, "the code would run on Python 3.8")) << refused.reason();
  EXPECT_TRUE(answer(old, "match = 1\nprint(match)").ok());
}

TEST(GuardVersions, every_python_of_this_machine_is_given_what_it_can_read) {
  std::vector<std::pair<int, std::string>> guests(1, {minor_of_host(), "python3"});
  for (const cofferdam_test::found_python& each : cofferdam_test::pythons())
    if (each.program.front() == '/' && each.major == 3 && each.minor >= 8)
      guests.emplace_back(each.minor, each.program);
  class piece {
   public:
    std::string code;
    int since;        // the first minor version with this syntax
    bool is_checked;  // true if a newer interpreter detects the syntax of a later version
  };
  const std::vector<piece> pieces = {
      {"import os\nd = {'a': 1}\nprint(f\"{d[\"a\"]}\")", 12, false},
      {"match 1:\n    case 1: print(1)", 10, true},
      {"try: print(1)\nexcept* ValueError: pass", 11, true},
      {"type X = int\nprint(1)", 12, true},
      {"def f[T](x: T) -> T: return x\nprint(f(1))", 12, true},
      {"import io\nwith (io.StringIO()): print(1)", 8, true},
      {"with (open('/dev/null') as f,): print(1)", 9, false},
      {"if (x := 1): print(x)", 8, true},
  };
  for (const auto& [minor, program] : guests) {
    SCOPED_TRACE(program);
    const python_folder folder;
    std::vector<std::string> codes;
    for (const piece& each : pieces) codes.push_back(each.code);
    const std::vector<code_result> results =
        answers(folder.provider() | python().interpreter(program) | check_syntax(), codes);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      SCOPED_TRACE(pieces[i].code);
      if (minor >= pieces[i].since) {
        EXPECT_EQ(results[i].out().text(), "1\n") << all_of(results[i]);
      } else if (pieces[i].is_checked || minor_of_host() < pieces[i].since) {
        EXPECT_EQ(results[i].kind(), error_kind::security_violation) << all_of(results[i]);
      }
    }
  }
}

}  // namespace guard_versions
