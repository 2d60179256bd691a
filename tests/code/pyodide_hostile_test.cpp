// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Tests that a run in Pyodide which lies about itself and its interpreter does not affect other runs, contexts or the
// host.
#include "code/pyodide_support.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam_test;
using namespace std::chrono_literals;

code_request lying(const std::string& code) { return code_request(code).timeout(30s); }

}  // namespace

TEST(HostilePyodide, isolated_runs_do_not_meet_whatever_the_first_one_says) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide().isolate_runs(), [](pyodide_runner& runner) -> awaitable<void> {
    code_result thief = co_await runner.run_code(lying(R"py(
channel = display.__self__.channel
channel.send(b"r", {"ok": True, "exit": 0})
channel.send(b"e", {"files": [], "whole": True})
channel.host.idle(None, False)
request = channel.receive()
request = channel.receive()
channel.send(b"r", {"ok": True, "exit": 0, "value": request["code"], "text": "stolen", "value_exact": True})
channel.send(b"e", {"files": [], "whole": True})
while True: pass
)py"));
    EXPECT_TRUE(thief.ok()) << all_of(thief);
    code_result other = co_await runner.run_code(lying("secret = 'mine'\nlen(secret)"));
    EXPECT_EQ(value_of(other), "4") << all_of(other);
  });
}

// Feature: K10
TEST(HostilePyodide, a_run_that_lies_about_its_end_is_ended) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    const auto body = [](pyodide_runner& place) -> awaitable<void> {
      const std::string lies =
          "channel = display.__self__.channel\nchannel.send(b'r', {'ok': True, 'exit': 0})\n"
          "channel.send(b'e', {'files': [], 'whole': True})\nwhile True: pass";
      // There are more such runs than the runner has interpreters.
      for (int i = 0; i < 3; ++i) {
        code_result lied = co_await place.run_code(lying(lies));
        EXPECT_TRUE(lied.ok()) << all_of(lied);
      }
      code_result early =
          co_await place.run_code(lying("display.__self__.channel.host.idle(None, False)\nwhile True: pass"));
      EXPECT_EQ(early.kind(), error_kind::execution_error) << all_of(early);
    };
    co_await around_a_context(runner, body);
  });
}

TEST(HostilePyodide, what_claims_to_equal_what_it_replaces_does_not_stay) {
  COFFERDAM_NEEDS_DENO();
  // Each pair contains code that replaces an object of the interpreter by a fake that claims to equal it, and code
  // with which the next run checks that the original is back.
  const std::vector<std::pair<std::string, std::string>> places{
      {"import json; json.loads = liar", "import json; json.loads('[1]') == [1]"},
      {"import sys; sys.meta_path[0] = liar", "import sys; not any(type(x).__name__ == 'Liar' for x in sys.meta_path)"},
      {"import copyreg; copyreg.dispatch_table[complex] = liar",
       "import copyreg; type(copyreg.dispatch_table[complex]).__name__ == 'function'"},
      {"import sys; sys.set_asyncgen_hooks(firstiter=liar)", "import sys; sys.get_asyncgen_hooks()[0] is None"},
      {"import os; os.environ.decodevalue = liar; os.environ['HOME'] = '/liar'",
       "import os; os.environ['HOME'] == '/code'"},
  };
  with_pyodide(fast_pyodide(), [&](pyodide_runner& runner) -> awaitable<void> {
    for (const auto& [deed, question] : places) {
      const std::string code =
          "class Liar:\n  def __eq__(self, other): return True\n  def __ne__(self, other): return False\n  __hash__ = "
          "object.__hash__\n  def __call__(self, *all, **named): return 'a lie'\n  def find_spec(self, *all): return "
          "None\nliar = Liar()\n";
      code_result did = co_await runner.run_code(code_request(code + deed));
      EXPECT_TRUE(did.ok()) << deed << all_of(did);
      code_result next = co_await runner.run_code(code_request(question));
      EXPECT_EQ(next.value_text(), "True") << deed << all_of(next);
    }
  });
}

TEST(HostilePyodide, what_it_says_of_its_files_is_read_as_nothing_else) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    const auto body = [](pyodide_runner& place) -> awaitable<void> {
      code_result deep = co_await place.run_code(lying(R"py(
deep = []
for _ in range(60): deep = [deep]
files = [deep, {"path": "a", "size": 1, "new": True}, {"path": 5, "size": 1}, {"path": "b", "size": "x"}]
display.__self__.channel.send(b"e", {"files": files, "whole": True})
)py"));
      EXPECT_EQ(deep.files().size(), 1U) << all_of(deep);
    };
    co_await around_a_context(runner, body);
  });
}

TEST(HostilePyodide, without_a_list_of_files_a_run_ends_too) {
  COFFERDAM_NEEDS_DENO();
  code_result result = run_pyodide(lying("6 * 7"), fast_pyodide().track_files(0));
  EXPECT_EQ(value_of(result), "42") << all_of(result);
}
