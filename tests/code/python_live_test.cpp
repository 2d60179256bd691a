// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of output that is reported before the end of a run, and of the environment variables of a request.

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/file_operations.hpp>

#include "code/python_support.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

using namespace cofferdam;
using cofferdam_test::all_of;
using cofferdam_test::python_folder;
using cofferdam_test::python_here;
using cofferdam_test::run_python;
using cofferdam_test::with_python;

TEST(PythonLive, what_is_printed_is_told_before_what_is_displayed_after_it_and_before_the_end) {
  std::string heard;
  code_request request(
      "import sys\nprint('one', end='')\ndisplay('shown')\nprint('two', file=sys.stderr)\ndisplay('again')\n"
      "print('three')");
  request.on_output([&](output_stream stream, bytes_view piece) {
    heard += (stream == output_stream::out ? "out:" : "err:") + std::string(as_text(piece)) + " ";
  });
  request.on_display([&](display_output shown) { heard += shown.forms().at("text/plain") + " "; });
  const code_result result = run_python(request);
  EXPECT_TRUE(result.ok()) << all_of(result);
  EXPECT_LT(heard.find("out:one"), heard.find("'shown'")) << heard;
  EXPECT_LT(heard.find("err:two"), heard.find("'again'")) << heard;
  EXPECT_NE(heard.find("'again'"), std::string::npos) << heard;
  EXPECT_EQ(result.out().text(), "onethree\n") << "the result has everything";
  EXPECT_EQ(result.err().text(), "two\n");
  EXPECT_TRUE(result.displays().empty()) << "they were given away";
}

TEST(PythonLive, half_of_what_is_kept_is_told_and_the_rest_is_the_results) {
  std::size_t reported = 0;
  code_request request("print('x' * 100000)\ndisplay(1)");
  request.keep_output(1000);
  request.on_output([&](output_stream, bytes_view piece) { reported += piece.size(); });
  const code_result result = run_python(request);
  EXPECT_EQ(reported, 500U);
  EXPECT_EQ(result.out().head().size(), 500U);
  EXPECT_EQ(result.out().tail().size(), 500U);
  EXPECT_EQ(result.out().total(), 100001U);
}

TEST(PythonLive, variables_of_a_run_are_gone_after_it_also_where_the_code_fails) {
  with_python(python().variable("THERE", "before"), [](python_here& runner) -> awaitable<void> {
    code_request first("import os\nseen = [os.environ['NEW'], os.environ['THERE']]\nraise ValueError(str(seen))");
    first.context("c").environment("NEW", "a b").environment("THERE", "changed");
    code_result result = co_await runner.run_code(std::move(first));
    EXPECT_EQ(result.failure() ? result.failure()->message() : "", "['a b', 'changed']") << all_of(result);
    code_request second("print(os.environ.get('NEW'), os.environ['THERE'])");
    second.context("c");
    result = co_await runner.run_code(std::move(second));
    EXPECT_EQ(result.out().text(), "None before\n") << all_of(result);
  });
}

TEST(PythonLive, a_quiet_failure_is_told_and_not_printed) {
  const code_result loud = run_python(code_request("1 / 0"));
  EXPECT_NE(loud.err().text().find("ZeroDivisionError"), std::string::npos);
  code_request request("1 / 0");
  request.quiet_failure();
  const code_result quiet = run_python(request);
  EXPECT_EQ(quiet.err().text(), "") << all_of(quiet);
  EXPECT_EQ(quiet.exit_code(), 1);
  EXPECT_EQ(quiet.failure() ? quiet.failure()->type() : "", "ZeroDivisionError");
}

TEST(BorrowedEnvironment, a_runner_in_it_closes_itself_and_leaves_it_open) {
  const python_folder folder;
  const auto body = [&folder]() -> awaitable<void> {
    local_environment environment = co_await folder.provider().open();
    const auto recipe = environment_ref<local_environment>(environment) | python();
    auto runner = co_await recipe.open();
    code_result result = co_await runner.run_code(code_request("open('made', 'w').write('by code')"));
    EXPECT_TRUE(result.ok()) << all_of(result);
    co_await runner.close();
    std::string text = co_await read_text(environment, "made");
    EXPECT_EQ(text, "by code");
    referenced_environment<local_environment> lent(environment);
    const bool is_there = co_await exists(lent, "made");
    EXPECT_TRUE(is_there);
    co_await environment.close();
  };
  cofferdam_test::run(body);
}

static_assert(code_exec_provider<environment_ref<local_environment>>);
static_assert(streaming_environment<referenced_environment<local_environment>>);

}  // namespace
