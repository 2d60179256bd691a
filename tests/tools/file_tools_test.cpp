// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/tools/finish.hpp>
#include <cofferdam/tools/list_files.hpp>
#include <cofferdam/tools/read_file.hpp>
#include <cofferdam/tools/run_python.hpp>
#include <cofferdam/tools/view_image.hpp>
#include <cofferdam/tools/write_file.hpp>

#include "llm/scripted_model.hpp"
#include "support/run.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::base64_encode;
using namespace std::string_literals;
using cofferdam_test::memory_environment;
using cofferdam_test::run;

static_assert(tools::tool<tools::read_file<memory_environment>>);
static_assert(!tools::watched_tool<tools::read_file<memory_environment>>);

template <class Tool>
tools::tool_result call(Tool tool, const std::string& arguments) {
  return run([&]() -> awaitable<tools::tool_result> {
    boost::json::value parsed = boost::json::parse(arguments);
    tools::tool_result result = co_await tool.call(std::move(parsed));
    co_return result;
  });
}

TEST(ReadFile, gives_lines_and_says_which) {
  memory_environment env;
  env.all().files["f"] = to_bytes("one\ntwo\r\n\nfour\xff");
  const tools::read_file tool(env);
  EXPECT_EQ(call(tool, R"({"path":"f"})").text(),
            "\"f\": lines 1 to 4 of 4, 15 bytes in all\none\ntwo\r\n\nfour\xEF\xBF\xBD\n");
  EXPECT_EQ(call(tool, R"({"path":"f","offset":2,"limit":1})").text(),
            "\"f\": lines 2 to 2 of 4, 15 bytes in all\ntwo\r\n");
  EXPECT_EQ(call(tool, R"({"path":"f","tail":1})").text(),
            "\"f\": lines 4 to 4 of 4, 15 bytes in all\nfour\xEF\xBF\xBD\n");
  EXPECT_EQ(call(tool, R"({"path":"f","offset":9})").text(), "Error: \"f\" has only 4 lines.");
  EXPECT_EQ(call(tool, R"({"path":"f"})").data().at("total_lines"), 4);
}

TEST(ReadFile, what_cannot_be_read_is_an_answer) {
  memory_environment env;
  env.all().files["b"] = to_bytes("a\0b"s);
  env.all().files["e"];
  env.all().files["long"] = to_bytes(std::string(5000, 'x') + "\n" + std::string(2000, '\n'));
  env.all().files["big"] = to_bytes(std::string(200, 'x'));
  EXPECT_NE(call(tools::read_file(env), R"({"path":"b"})").text().find("binary"), std::string::npos);
  EXPECT_EQ(call(tools::read_file(env), R"({"path":"e"})").text(), "\"e\": empty\n");
  EXPECT_NE(call(tools::read_file(env), R"({"path":"long"})").text().find("[... 904 more bytes in this line]"),
            std::string::npos);
  EXPECT_TRUE(call(tools::read_file(env), R"({"path":"gone"})").text().starts_with("Error: "));
  EXPECT_TRUE(call(tools::read_file(env), R"({"path":"../x"})").text().starts_with("Error: "));
  const tools::tool_result big = call(tools::read_file(env, 100), R"({"path":"big","tail":1})");
  EXPECT_TRUE(big.text().starts_with("Error: \"big\" is larger than the limit of 100 bytes")) << big.text();
  EXPECT_NE(big.text().find("with a command"), std::string::npos);
  EXPECT_FALSE(call(tools::read_file(env), R"({"path":"gone"})").ok());
  EXPECT_FALSE(call(tools::read_file(env), "[]").ok());
}

TEST(WriteFile, replaces_appends_creates_and_decodes) {
  memory_environment env;
  const tools::write_file tool(env);
  EXPECT_TRUE(call(tool, R"({"path":"d/f","content":"one"})").ok());
  EXPECT_EQ(env.all().others.at("d"), file_type::directory);
  EXPECT_EQ(call(tool, R"({"path":"d/f","content":"two","mode":"append"})").text(),
            "Appended 3 bytes to \"d/f\", which now has 6 bytes.");
  EXPECT_EQ(env.text("d/f"), "onetwo");
  EXPECT_FALSE(call(tool, R"({"path":"d/f","content":"x","mode":"create"})").ok());
  EXPECT_EQ(env.text("d/f"), "onetwo");
  EXPECT_TRUE(call(tool, R"({"path":"g","content":"AP8=","encoding":"base64"})").ok());
  EXPECT_EQ(env.text("g"), "\0\xff"s);
  EXPECT_FALSE(call(tool, R"({"path":"g","content":"AP8","encoding":"base64"})").ok());
  EXPECT_FALSE(call(tool, R"({"path":"../g","content":""})").ok());
}

TEST(ListFiles, filters_and_goes_on_from_a_cursor) {
  memory_environment env;
  for (const char* name : {"a.csv", "b.csv", "d/c.csv", "d/e.txt"}) env.all().files[name] = to_bytes("x");
  env.all().files["n\nl"] = to_bytes("");
  const tools::list_files tool(env);
  EXPECT_EQ(call(tool, "{}").text(), "a.csv  1 bytes\nb.csv  1 bytes\n\"n\\nl\"  0 bytes\n");
  EXPECT_EQ(call(tool, R"({"pattern":"**/*.csv"})").text(), "a.csv  1 bytes\nb.csv  1 bytes\nd/c.csv  1 bytes\n");
  EXPECT_EQ(call(tool, R"({"pattern":"d/*.txt"})").text(), "d/e.txt  1 bytes\n");
  EXPECT_EQ(call(tool, R"({"limit":1})").text(), "a.csv  1 bytes\nThere is more: call again with cursor \"a.csv\".\n");
  EXPECT_EQ(call(tool, R"({"limit":1,"cursor":"a.csv"})").text(),
            "b.csv  1 bytes\nThere is more: call again with cursor \"b.csv\".\n");
  EXPECT_EQ(call(tool, R"({"pattern":"*.z"})").text(), "Nothing matches the pattern.\n");
  // The structured facts also contain the cursor. A name that must be quoted can be a cursor too.
  env.all().files["o"] = to_bytes("");
  env.all().files["=p"] = to_bytes("");
  std::string pages;
  std::string from;
  for (int page = 0; page < 8; ++page) {
    const tools::tool_result result = call(tool, R"({"limit":1,"recursive":true,"cursor":")" + from + "\"}");
    pages += std::string(result.data().at("entries").at(0).at("path").as_string()) + " ";
    if (!result.data().contains("next_cursor")) break;
    from = std::string(result.data().at("next_cursor").as_string());
  }
  EXPECT_EQ(pages, "=p a.csv b.csv d/c.csv d/e.txt n\\nl o ");
}

// Feature: G1
TEST(ViewImage, goes_by_what_the_file_is_and_not_by_its_name) {
  memory_environment env;
  env.all().files["x.txt"] = to_bytes("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"s);
  const tools::tool_result result = call(tools::view_image(env), R"({"path":"x.txt"})");
  EXPECT_EQ(result.text(), "Image \"x.txt\": image/png, 2 x 3 pixels.");
  ASSERT_EQ(result.images().size(), 1U);
  EXPECT_EQ(result.images()[0].content(), env.all().files["x.txt"]);
}

// Feature: G3
TEST(ViewImage, a_smaller_copy_is_made_in_the_environment) {
  memory_environment env;
  env.all().files["-big [1].png"] = to_bytes(std::string(100, 'x'));
  env.all().runs = [](const command&) {
    const bytes small = to_bytes("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"s);
    return command_result::exited(0).out(captured_output(small, {}, small.size()));
  };
  const tools::tool_result result = call(tools::view_image(env), R"({"path":"-big [1].png","shrink":true})");
  EXPECT_TRUE(result.ok()) << result.text();
  EXPECT_NE(result.text().find("made smaller"), std::string::npos);
  ASSERT_EQ(env.all().commands.size(), 1U);
  env.all().runs = [](const command&) {
    return command_result::exited(127).err(captured_output(to_bytes("neither\x1b here"), {}, 13));
  };
  const tools::tool_result failed = call(tools::view_image(env), R"({"path":"-big [1].png","shrink":true})");
  EXPECT_FALSE(failed.ok());
  EXPECT_NE(failed.text().find("neither\\x1b here"), std::string::npos) << failed.text();
}

// Feature: G3
TEST(ViewImage, an_image_above_a_limit_is_made_smaller_without_a_request) {
  const std::string start = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0"s;
  memory_environment env;
  env.all().files["wide.png"] = to_bytes(start + "\x20\0\0\0\x20\0"s);
  env.all().files["long.png"] = to_bytes(start + "\0\x02\0\0\0\x03"s + std::string(1000, 'x'));
  env.all().files["fine.png"] = to_bytes(start + "\0\x02\0\0\0\x03"s);
  env.all().runs = [start](const command&) {
    const bytes small = to_bytes(start + "\0\x02\0\0\0\x03"s);
    return command_result::exited(0).out(captured_output(small, {}, small.size()));
  };
  tools::view_image tool(env);
  tool.max_bytes(500);
  for (const std::string name : {"wide.png", "long.png", "fine.png"}) {
    const tools::tool_result result = call(tool, R"({"path":")" + name + "\"}");
    EXPECT_TRUE(result.ok()) << result.text();
    EXPECT_EQ(result.data().at("scaled").as_bool(), name != "fine.png");
  }
  EXPECT_EQ(env.all().commands.size(), 2U);
  env.all().runs = [](const command&) {
    const std::string told = "Traceback\n  line\nOSError: no\n";
    return command_result::exited(1).err(captured_output(to_bytes(told), {}, told.size()));
  };
  const tools::tool_result wide = call(tool, R"({"path":"wide.png"})");
  EXPECT_TRUE(
      wide.text().starts_with("Error: \"wide.png\" has 8192 x 8192 pixels, and the limit is 16000000 pixels, and "
                              "it could not be made smaller: \"OSError: no\". Make a smaller copy"))
      << wide.text();
  const tools::tool_result long_one = call(tool, R"({"path":"long.png"})");
  EXPECT_TRUE(
      long_one.text().starts_with("Error: \"long.png\" has 1024 bytes, and the limit is 500 bytes, and it could"))
      << long_one.text();
}

TEST(Finish, takes_regular_files_only) {
  memory_environment env;
  env.all().files["f"] = to_bytes("x");
  env.all().others["d"] = file_type::directory;
  const tools::finish tool(env);
  EXPECT_TRUE(tools::ends_work(tool));
  const tools::tool_result good = call(tool, R"({"reason":"r","paths":["f"]})");
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.files(), std::vector<std::string>{"f"});
  EXPECT_TRUE(call(tool, R"({"reason":"r","paths":[]})").ok());
  const tools::tool_result bad = call(tool, R"({"reason":"r","paths":["f","d","g","../h"]})");
  EXPECT_FALSE(bad.ok());
  for (const char* part : {"\"d\" is a directory", "\"g\" does not exist", "'../h'"})
    EXPECT_NE(bad.text().find(part), std::string::npos) << bad.text();
  EXPECT_FALSE(call(tool, R"({"reason":"r"})").ok());
}

/// A runner that returns a prepared result, and records the source and the context.
class fake_runner {
 public:
  code_result answer;
  std::string source;
  std::string context;
  boost::json::object variables;
  awaitable<code_result> run_code(code_request request) {
    source = request.source();
    variables = request.variables();
    context = request.context().value_or("");
    if (request.on_output()) request.on_output()(output_stream::out, as_bytes("live"));
    co_return answer;
  }
  awaitable<std::vector<std::string>> contexts() { co_return std::vector<std::string>(); }
  awaitable<bool> end_context(std::string) { co_return true; }
  awaitable<void> close() { co_return; }
};

// Feature: H1
TEST(RunPython, answers_with_output_value_files_and_pictures) {
  fake_runner runner;
  const bytes png = to_bytes("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"s);
  std::map<std::string, std::string> forms;
  forms["image/png"] = base64_encode(png) + "\n";
  runner.answer.exit_code(0).out(captured_output(to_bytes("a<b\n"), {}, 4)).value(42, true, "42");
  runner.answer.displays({display_output(forms, false)}).files({generated_file("p.png", 3, true)}, true);
  const tools::tool_result result = call(tools::run_python(runner), R"({"code":"x"})");
  EXPECT_EQ(result.text(),
            "<python_results>\n<exit_code>0</exit_code>\n<stdout>a&lt;b\n</stdout>\n<stderr></stderr>\n"
            "<value>42</value>\n<files>p.png</files>\n</python_results>");
  EXPECT_TRUE(result.ok());
  ASSERT_EQ(result.images().size(), 1U);
  EXPECT_EQ(result.images()[0].content(), png);
  EXPECT_EQ(runner.context, "default");
  EXPECT_EQ(runner.source, "x");
}

TEST(RunPython, a_failure_is_an_answer_without_success) {
  fake_runner runner;
  runner.answer = code_result::refused(error_kind::timeout, "ended after 1 s");
  const tools::tool_result result =
      call(tools::run_python(runner), R"({"code":"x","timeout":1,"reset":true,"context_id":"c"})");
  EXPECT_FALSE(result.ok());
  EXPECT_NE(result.text().find("<error_kind>timeout</error_kind>"), std::string::npos);
  EXPECT_EQ(runner.context, "c");
  EXPECT_FALSE(call(tools::run_python(runner), R"({"code":""})").ok());
}

TEST(RunPython, puts_values_under_names) {
  fake_runner runner;
  const tools::run_python tool(runner);
  call(tool, R"({"code":"x","variables":{"x":[1,"two",null],"y":{"z":2.5}}})");
  EXPECT_EQ(boost::json::serialize(runner.variables), R"({"x":[1,"two",null],"y":{"z":2.5E0}})");
  call(tool, R"({"code":"x"})");
  EXPECT_TRUE(runner.variables.empty());
  EXPECT_EQ(call(tool, R"({"code":"x","variables":[1]})").text(),
            "Error: Wrong arguments: 'variables' must be an object, not an array.");
}

TEST(RunPython, can_be_watched) {
  fake_runner runner;
  tools::any_tool tool{tools::run_python(runner)};
  std::string heard;
  run([&]() -> awaitable<void> {
    boost::json::value arguments = boost::json::parse(R"({"code":"x"})");
    tools::tool_output_listener hears = [&](output_stream, bytes_view piece) { heard += as_text(piece); };
    co_await tool.call(std::move(arguments), std::move(hears));
  });
  EXPECT_EQ(heard, "live");
}

}  // namespace
