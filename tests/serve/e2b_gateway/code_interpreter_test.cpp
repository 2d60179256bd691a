// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the gateway's code interpreter: with requests as E2B's SDKs send them, and with the library's own client.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_lines.hpp>

#include "serve/gateway_support.hpp"
#include "support/error_of.hpp"
#include "support/gateway_thread.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::http_exchange;
using namespace std::chrono_literals;
using cofferdam_test::code_of;
using cofferdam_test::comes_about;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::json_of;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;
using cofferdam_test::text_at;

// ---- the lines ----

TEST(E2bInterpreterLines, are_ascii_whatever_they_hold) {
  boost::json::object object;
  object["k\u00e9"] = "\u20ac \U0001F600 \n";
  const std::string line = e2b_gateway::detail::interpreter_line(object);
  EXPECT_EQ(line, "{\"k\\u00e9\":\"\\u20ac \\ud83d\\ude00 \\n\"}\n");
  EXPECT_EQ(json_of(line), boost::json::value(object));
}

TEST(E2bInterpreterLines, output_is_told_in_whole_characters_wherever_it_was_cut) {
  const std::string whole = "a\u00e9\u20ac\U0001F600\xff z";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    e2b_gateway::detail::interpreter_output output("stdout");
    std::string text;
    const auto add = [&text](const std::string& line) {
      if (!line.empty()) text += text_at(json_of(line), "text");
    };
    add(output.take(as_bytes(std::string_view(whole).substr(0, cut))));
    add(output.take(as_bytes(std::string_view(whole).substr(cut))));
    add(output.finish(captured_output(to_bytes(whole), bytes(), whole.size())));
    EXPECT_EQ(text, "a\u00e9\u20ac\U0001F600\ufffd z") << cut;
  }
}

TEST(E2bInterpreterLines, the_end_of_an_output_has_what_was_not_told_and_says_what_is_missing) {
  e2b_gateway::detail::interpreter_output output("stdout");
  output.take(as_bytes("abc"));
  const std::string line = output.finish(captured_output(to_bytes("abcde"), to_bytes("xyz"), 100));
  EXPECT_EQ(text_at(json_of(line), "text"), "de" + captured_output::cut_marker(92, 100) + "xyz");
  e2b_gateway::detail::interpreter_output nothing("stderr");
  EXPECT_EQ(nothing.finish(captured_output()), "");
}

TEST(E2bInterpreterLines, a_display_has_its_forms_under_their_own_names) {
  const std::map<std::string, std::string> forms = {{"text/plain", "'it'"},
                                                    {"image/png", "iVBO"},
                                                    {"application/json", R"({"a":1})"},
                                                    {"application/vnd.e2b.chart+json", "no JSON"},
                                                    {"text/x-own", "o"}};
  const boost::json::value result_line =
      json_of(e2b_gateway::detail::interpreter_result_line(display_output(forms, true)));
  EXPECT_EQ(result_line, json_of(R"({"type":"result","text":"it","png":"iVBO","json":{"a":1},"chart":"no JSON",
                              "extra":{"text/x-own":"o"},"is_main_result":true})"));
}

// ---- over HTTP ----

http_request to_interpreter(std::string method, std::string target, const gateway_sandbox_name& box) {
  http_request request(std::move(method), std::move(target));
  request.field("E2b-Sandbox-Id", box.id).field("E2b-Sandbox-Port", "49999");
  if (!box.token.empty()) request.field("X-Access-Token", box.token);
  return request;
}

/// The status and the received messages of one run.
struct heard_run {
  int status = 0;
  std::string text;
  std::vector<boost::json::value> lines;

  std::vector<std::string> types() const {
    std::vector<std::string> result;
    for (const boost::json::value& item : lines) result.push_back(text_at(item, "type"));
    return result;
  }
  std::string all_of(const std::string& type, const char* member = "text") const {
    std::string joined;
    for (const boost::json::value& item : lines)
      if (text_at(item, "type") == type) joined += text_at(item, member);
    return joined;
  }
};

heard_run heard(const http_response& answer) {
  heard_run run;
  run.status = answer.status();
  run.text = std::string(answer.text());
  if (run.status != 200) return run;
  for (std::string_view rest = run.text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    run.lines.push_back(json_of(rest.substr(0, end)));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return run;
}

std::string execute_body(std::string_view code, const std::string& more = "") {
  return R"({"code":)" + boost::json::serialize(boost::json::value(boost::json::string(code.data(), code.size()))) +
         more + "}";
}

awaitable<http_response> ask(gateway_client& client, gateway_sandbox_name box, std::string method, std::string target,
                             std::string body = "") {
  http_request request = to_interpreter(std::move(method), std::move(target), box);
  if (!body.empty()) request.content("application/json", body);
  http_response answer = co_await client.http.request(std::move(request));
  co_return answer;
}

awaitable<heard_run> execute(gateway_client& client, gateway_sandbox_name box, std::string code,
                             std::string more = "") {
  http_response answer = co_await ask(client, box, "POST", "/execute", execute_body(code, more));
  co_return heard(answer);
}

using body = std::function<awaitable<void>(gateway_client&, gateway_sandbox_name)>;

void with_interpreter(const body& work, e2b_gateway::code_interpreter interpreter = e2b_gateway::code_interpreter(),
                      any_provider provider = cofferdam_test::local_provider()) {
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box =
            co_await client.create(R"({"templateID":"code-interpreter-v1","envVars":{"OF_THE_SANDBOX":"yes"}})");
        co_await work(client, box);
      },
      e2b_gateway::options().port(e2b_gateway::code_interpreter::usual_port, std::move(interpreter)),
      std::move(provider));
}

using words = std::vector<std::string>;

TEST(E2bInterpreter, a_run_is_told_line_by_line_and_ends_with_its_end) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    http_response alive = co_await ask(client, box, "GET", "/health");
    EXPECT_EQ(said(alive), "200 \"OK\"");
    heard_run run = co_await execute(client, box, "import sys\nprint('hi')\nx = 41\nx + 1");
    EXPECT_EQ(run.status, 200);
    EXPECT_EQ(run.types(), (words{"number_of_executions", "stdout", "result", "end_of_execution"}));
    EXPECT_EQ(run.lines[0].at("execution_count").as_int64(), 1);
    EXPECT_EQ(run.all_of("stdout"), "hi\n");
    EXPECT_EQ(run.lines[2], json_of(R"({"type":"result","text":"42","extra":{},"is_main_result":true})"));
    run = co_await execute(client, box, "print(x, file=sys.stderr)");
    EXPECT_EQ(run.all_of("stderr"), "41\n") << "what was defined stays";
    EXPECT_EQ(run.lines[0].at("execution_count").as_int64(), 2);
  });
}

TEST(E2bInterpreter, an_exception_is_a_line_and_not_printed) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    heard_run run = co_await execute(client, box, "print('before')\nraise ValueError('wrong')");
    EXPECT_EQ(run.status, 200);
    EXPECT_EQ(run.types(), (words{"number_of_executions", "stdout", "error", "end_of_execution"}));
    EXPECT_EQ(run.all_of("error", "name"), "ValueError");
    EXPECT_EQ(run.all_of("error", "value"), "wrong");
    EXPECT_NE(run.all_of("error", "traceback").find("raise ValueError('wrong')"), std::string::npos);
    run = co_await execute(client, box, "def broken(:");
    EXPECT_EQ(run.all_of("error", "name"), "SyntaxError");
  });
}

TEST(E2bInterpreter, displays_come_behind_what_was_printed_before_them_with_all_their_forms) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    heard_run run = co_await execute(client, box,
                                     "class Shown:\n"
                                     "    def _repr_png_(self): return b'\\x89PNG'\n"
                                     "    def _repr_html_(self): return '<b>\\u00e9</b>'\n"
                                     "    def __repr__(self): return 'shown'\n"
                                     "print('first')\ndisplay(Shown())\nprint('second')\nShown()");
    EXPECT_EQ(run.all_of("stdout"), "first\nsecond\n");
    std::vector<boost::json::value> results;
    for (const boost::json::value& line : run.lines)
      if (text_at(line, "type") == "result") results.push_back(line);
    EXPECT_EQ(results.size(), 2U) << run.text;
    if (results.size() != 2) co_return;
    EXPECT_EQ(run.types()[1], "stdout") << "what was printed before a display comes before it";
    EXPECT_EQ(results[0], json_of(R"({"type":"result","text":"shown","png":"iVBORw==","html":"<b>\u00e9</b>",
                                      "extra":{},"is_main_result":false})"));
    EXPECT_TRUE(results[1].at("is_main_result").as_bool());
  });
}

TEST(E2bInterpreter, variables_of_the_sandbox_are_there_and_those_of_a_run_are_gone_after_it) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    const std::string code =
        "import os\nprint(*[os.environ.get(n) for n in ['E2B_SANDBOX', 'OF_THE_SANDBOX', 'MINE']])";
    heard_run run = co_await execute(client, box, code, R"(,"env_vars":{"MINE":"a b","OF_THE_SANDBOX":"other"})");
    EXPECT_EQ(run.all_of("stdout"), "true other a b\n");
    run = co_await execute(client, box, code, R"(,"env_vars":null,"context_id":null,"language":null)");
    EXPECT_EQ(run.all_of("stdout"), "true yes None\n");
    run = co_await execute(client, box, code, R"(,"env_vars":{"A=B":"x"})");
    EXPECT_EQ(run.all_of("error", "name"), "ValueError") << "a name that cannot be one is an error of the run";
  });
}

TEST(E2bInterpreter, contexts_have_globals_and_a_directory_of_their_own) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    co_await client.put(box, "/files?path=below/mine.py", "value = 7\n");
    http_response answer = co_await ask(client, box, "POST", "/contexts", R"({"cwd":"/home/user/below"})");
    EXPECT_EQ(answer.status(), 200) << answer.text();
    const boost::json::value created = json_of(answer.text());
    EXPECT_EQ(text_at(created, "language"), "python");
    EXPECT_EQ(text_at(created, "cwd"), "/home/user/below");
    const std::string id = text_at(created, "id");
    const std::string in_context = R"(,"context_id":")" + id + "\"";
    heard_run run = co_await execute(
        client, box, "import mine, os\nx = mine.value\nprint(os.path.basename(os.getcwd()))", in_context);
    EXPECT_EQ(run.all_of("stdout"), "below\n");
    EXPECT_EQ(run.lines[0].at("execution_count").as_int64(), 1);
    run = co_await execute(client, box, "import sys\nprint(sys.path.index(os.getcwd()) == len(sys.path) - 1)",
                           in_context);
    EXPECT_EQ(run.all_of("stdout"), "True\n") << "the standard library is before it";
    run = co_await execute(client, box, "x");
    EXPECT_EQ(run.all_of("error", "name"), "NameError") << "of another context";
    run = co_await execute(client, box, "x", in_context);
    EXPECT_EQ(run.all_of("result"), "7");

    answer = co_await ask(client, box, "GET", "/contexts");
    EXPECT_EQ(json_of(answer.text()).as_array().size(), 2U) << answer.text();
    answer = co_await ask(client, box, "POST", "/contexts/" + id + "/restart");
    EXPECT_EQ(said(answer), "200 null");
    run = co_await execute(client, box, "x", in_context);
    EXPECT_EQ(run.all_of("error", "name"), "NameError") << "it was restarted";
    EXPECT_EQ(run.lines[0].at("execution_count").as_int64(), 1);
    run = co_await execute(client, box, "import os\nprint(os.path.basename(os.getcwd()))", in_context);
    EXPECT_EQ(run.all_of("stdout"), "below\n") << "its directory is as before";

    answer = co_await ask(client, box, "DELETE", "/contexts/" + id);
    EXPECT_EQ(said(answer), "200 null");
    run = co_await execute(client, box, "1", in_context);
    EXPECT_EQ(run.status, 404);
    EXPECT_EQ(run.text, "Context " + id + " not found");
    answer = co_await ask(client, box, "DELETE", "/contexts/" + id);
    EXPECT_EQ(answer.status(), 404);
    answer = co_await ask(client, box, "POST", "/contexts/none/restart");
    EXPECT_EQ(said(answer), "404 Context none not found");
  });
}

TEST(E2bInterpreter, requests_that_make_no_sense_are_refused_as_by_the_real_one) {
  with_interpreter(
      [](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
        const auto refused = [&](std::string method, std::string target,
                                 std::string content) -> awaitable<std::string> {
          http_response answer = co_await ask(client, box, std::move(method), std::move(target), std::move(content));
          co_return said(answer);
        };
        std::string why = co_await refused("POST", "/execute", R"({"code":"1","context_id":"a","language":"python"})");
        EXPECT_EQ(why, "400 Only one of context_id or language can be provided");
        why = co_await refused("POST", "/execute", R"({"code":1})");
        EXPECT_EQ(why.substr(0, 4), "422 ") << why;
        why = co_await refused("POST", "/execute", R"({"language":"python"})");
        EXPECT_EQ(why, R"(422 {"detail":[{"type":"value_error","loc":["body","code"],"msg":"Field required"}]})");
        why = co_await refused("POST", "/execute", "[");
        EXPECT_EQ(why.substr(0, 4), "422 ") << why;
        why = co_await refused("POST", "/execute", R"({"code":"1","env_vars":{"A":1}})");
        EXPECT_EQ(why.substr(0, 4), "422 ") << why;
        why = co_await refused("POST", "/execute", R"({"code":"1","language":"r"})");
        EXPECT_EQ(why.substr(0, 4), "404 ") << why;
        EXPECT_NE(why.find("'r'"), std::string::npos) << why;
        why = co_await refused("POST", "/contexts", R"({"language":"JavaScript"})");
        EXPECT_EQ(why.substr(0, 4), "404 ") << why;
        why = co_await refused("POST", "/contexts", R"({"cwd":"/etc"})");
        EXPECT_NE(why.find(R"("cwd":"/etc")"), std::string::npos) << why;
        const std::string etc = text_at(json_of(why.substr(4)), "id");
        why =
            co_await refused("POST", "/execute", R"x({"code":"import os; os.getcwd()","context_id":")x" + etc + "\"}");
        EXPECT_NE(why.find(R"("text":"/etc")"), std::string::npos) << why;
        why = co_await refused("DELETE", "/contexts/" + etc, "");
        why = co_await refused("POST", "/contexts", R"({"cwd":"none"})");
        EXPECT_EQ(why,
                  "404 Failed to create context: the directory '/home/user/none' does not exist, or cannot be "
                  "entered")
            << "E2B's JavaScript SDK shows only the text of 404";
        why = co_await refused("GET", "/execute", "");
        EXPECT_EQ(why, R"(405 {"detail":"Method Not Allowed"})");
        why = co_await refused("GET", "/other", "");
        EXPECT_EQ(why, R"(404 {"detail":"Not Found"})");
        why = co_await refused("POST", "/execute", execute_body(std::string(3000, ' ')));
        EXPECT_EQ(why.substr(0, 4), "413 ") << why;
        why = co_await refused("POST", "/contexts", R"({"language":"Python"})");
        EXPECT_EQ(why.substr(0, 4), "200 ") << why;
        heard_run run = co_await execute(client, box, "1 + 1", R"(,"language":"python")");
        EXPECT_EQ(run.all_of("result"), "2");
        why = co_await refused("POST", "/contexts", "{}");
        EXPECT_EQ(why, "429 The maximum of 2 contexts exists; remove one first");
      },
      e2b_gateway::code_interpreter().request(2000).contexts(2));
}

TEST(E2bInterpreter, code_is_a_cell_of_a_notebook) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    heard_run run = co_await execute(client, box, "    x = 20\n    x + 1");
    EXPECT_EQ(run.all_of("result"), "21") << "indented code runs";
    run = co_await execute(client, box, "!echo {x} && echo bad >&2\ny = !printf 'a\\nb\\n'\ny");
    EXPECT_EQ(run.all_of("stdout"), "20\nbad\n");
    EXPECT_EQ(run.all_of("result"), "['a', 'b']");
    run = co_await execute(client, box, "%%bash\necho from bash; echo bad >&2");
    EXPECT_EQ(run.all_of("stdout"), "from bash\n");
    EXPECT_EQ(run.all_of("stderr"), "bad\n");
    run = co_await execute(client, box, "%%sh\nexit 4");
    EXPECT_EQ(run.all_of("error", "name"), "CalledProcessError");
    run = co_await execute(client, box, "!echo $MINE", R"(,"env_vars":{"MINE":"a b"})");
    EXPECT_EQ(run.all_of("stdout"), "a b\n");
    run = co_await execute(client, box, "%time x + 2");
    EXPECT_EQ(run.all_of("result"), "22");
    EXPECT_NE(run.all_of("stdout").find("Wall time: "), std::string::npos) << run.text;
    run = co_await execute(client, box, "x;");
    EXPECT_EQ(run.types(), (words{"number_of_executions", "end_of_execution"})) << "a semicolon hides the value";
  });
}

TEST(E2bInterpreter, an_unknown_magic_is_an_error_as_in_ipython) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    heard_run run = co_await execute(client, box, "%nonsense 1");
    EXPECT_EQ(run.all_of("error", "name"), "UsageError");
    EXPECT_EQ(run.all_of("error", "value"), "Line magic function `%nonsense` not found.");
    run = co_await execute(client, box, "%%nonsense\n1");
    EXPECT_EQ(run.all_of("error", "value"), "Cell magic `%%nonsense` not found.");
  });
}

TEST(E2bInterpreter, objects_of_ipython_display_are_sent_in_their_forms) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    heard_run run = co_await execute(client, box,
                                     "from IPython.display import display, HTML, JSON, Latex\n"
                                     "display(HTML('<b>'), JSON({'a': [1]}), Latex('$x$'))\n"
                                     "display({'e2b/chart': {'type': 'line'}, 'text/x-own': 'o'}, raw=True)\n"
                                     "{'k': [1, None]}");
    std::vector<boost::json::value> results;
    for (const boost::json::value& line : run.lines)
      if (text_at(line, "type") == "result") results.push_back(line);
    EXPECT_EQ(results.size(), 5U) << run.text;
    if (results.size() != 5) co_return;
    EXPECT_EQ(text_at(results[0], "html"), "<b>");
    EXPECT_EQ(text_at(results[0], "text"), "<IPython.core.display.HTML object>");
    EXPECT_EQ(results[1].at("json"), json_of(R"({"a":[1]})"));
    EXPECT_EQ(text_at(results[2], "latex"), "$x$");
    EXPECT_EQ(results[3].at("chart"), json_of(R"({"type":"line"})"));
    EXPECT_EQ(results[3].at("extra"), json_of(R"({"text/x-own":"o"})"));
    EXPECT_EQ(results[4].at("json"), json_of(R"({"k":[1,null]})"));
    EXPECT_TRUE(results[4].at("is_main_result").as_bool());
  });
}

TEST(E2bInterpreter, a_command_ends_when_its_client_goes) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    http_request request = to_interpreter("POST", "/execute", box);
    request.content("application/json", execute_body("import os\nmark = 'sleep 1000.%d' % os.getpid()\n"
                                                     "!(setsid {mark} &); echo up; exec {mark}"));
    std::string text;
    {
      http_exchange answer = co_await client.http.send(std::move(request));
      std::array<std::byte, 4096> room{};
      while (text.find("stdout") == std::string::npos) {
        const std::size_t count = co_await answer.read_some(std::span<std::byte>(room));
        if (count == 0) break;
        text += as_text(bytes_view(room).first(count));
      }
    }
    heard_run run = co_await execute(client, box, "x = !ps -eo args=\n'sleep 1' in mark and mark in x");
    EXPECT_EQ(run.all_of("result"), "False") << text << run.text;
  });
}

// Feature: B4
TEST(E2bInterpreter, a_bash_context_is_a_shell_that_keeps_its_state) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    co_await client.put(box, "/files?path=below/mine", "");
    http_response answer = co_await ask(client, box, "POST", "/contexts", R"({"language":"Bash","cwd":"below"})");
    EXPECT_EQ(answer.status(), 200) << answer.text();
    const boost::json::value created = json_of(answer.text());
    EXPECT_EQ(text_at(created, "language"), "bash");
    const std::string in_context = R"(,"context_id":")" + text_at(created, "id") + "\"";
    heard_run run = co_await execute(client, box, "  ls; x=5; f() { echo \"f$1\"; }", in_context);
    EXPECT_EQ(run.all_of("stdout"), "mine\n") << run.text;
    EXPECT_EQ(run.lines[0].at("execution_count").as_int64(), 1);
    run = co_await execute(client, box, "f $x; echo $MINE $OF_THE_SANDBOX; echo bad >&2; (exit 3)",
                           in_context + R"(,"env_vars":{"MINE":"it's"})");
    EXPECT_EQ(run.all_of("stdout"), "f5\nit's yes\n");
    EXPECT_EQ(run.all_of("stderr"), "bad\n");
    EXPECT_EQ(run.types().back(), "end_of_execution");
    EXPECT_EQ(run.all_of("error", "value"), "3") << run.text;
    EXPECT_EQ(run.all_of("error", "name"), "");
    EXPECT_EQ(run.all_of("error", "traceback"), "");
    run = co_await execute(client, box, "echo [$MINE] $x", in_context);
    EXPECT_EQ(run.all_of("stdout"), "[] 5\n");
    run = co_await execute(client, box, "y=1; echo [$x]", R"(,"language":"bash")");
    EXPECT_EQ(run.all_of("stdout"), "[]\n") << "the default context of the language is another";
    run = co_await execute(client, box, "echo $y", R"(,"language":"bash")");
    EXPECT_EQ(run.all_of("stdout"), "1\n");
    run = co_await execute(client, box, "exit 4", in_context);
    EXPECT_EQ(run.all_of("error", "value"), "4");
    run = co_await execute(client, box, "echo [$x]", in_context);
    EXPECT_EQ(run.all_of("stdout"), "[]\n") << "a shell that has ended is followed by another";
    answer = co_await ask(client, box, "GET", "/contexts");
    EXPECT_EQ(json_of(answer.text()).as_array().size(), 3U) << answer.text();
  });
}

TEST(E2bInterpreter, the_default_context_is_the_oldest) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    http_response created = co_await ask(client, box, "POST", "/contexts", "{}");
    const std::string first = text_at(json_of(created.text()), "id");
    created = co_await ask(client, box, "POST", "/contexts", "{}");
    const std::string second = text_at(json_of(created.text()), "id");
    co_await execute(client, box, "1");
    http_response answer = co_await ask(client, box, "GET", "/contexts");
    const boost::json::array contexts = json_of(answer.text()).as_array();
    EXPECT_EQ(contexts.size(), 3U) << answer.text();
    if (contexts.size() != 3) co_return;
    EXPECT_EQ(text_at(contexts[1], "id"), first);
    EXPECT_EQ(text_at(contexts[2], "id"), second);
  });
}

TEST(E2bInterpreter, output_comes_while_the_code_runs_and_silence_is_told) {
  with_interpreter(
      [](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
        http_request request = to_interpreter("POST", "/execute", box);
        request.content("application/json", execute_body("import os, time\nprint('up')\n"
                                                         "while not os.path.exists('go'): time.sleep(0.01)\n'done'"));
        http_exchange answer = co_await client.http.send(std::move(request));
        std::string text;
        std::array<std::byte, 4096> room{};
        while (text.find("up") == std::string::npos || text.find("keepalive") == std::string::npos) {
          const std::size_t count = co_await answer.read_some(std::span<std::byte>(room));
          if (count == 0) break;
          text += as_text(bytes_view(room).first(count));
        }
        EXPECT_NE(text.find("\"up\\n\""), std::string::npos) << text;
        EXPECT_EQ(text.find("end_of_execution"), std::string::npos) << text;
        co_await client.put(box, "/files?path=go", "");
        bytes rest = co_await answer.read_all(1024 * 1024);
        EXPECT_NE(as_text(rest).find("done"), std::string::npos);
        EXPECT_TRUE(as_text(rest).ends_with("{\"type\":\"end_of_execution\"}\n"));
      },
      e2b_gateway::code_interpreter().keepalive(50ms));
}

TEST(E2bInterpreter, a_client_that_goes_has_its_code_interrupted_and_what_it_defined_stays) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    http_request request = to_interpreter("POST", "/execute", box);
    request.content("application/json",
                    execute_body("import time\ndefined = 'yes'\nprint('up')\n"
                                 "try:\n    time.sleep(1000)\n"
                                 "except KeyboardInterrupt:\n    open('heard', 'w').close()\n    raise"));
    {
      http_exchange answer = co_await client.http.send(std::move(request));
      std::string text;
      std::array<std::byte, 4096> room{};
      while (text.find("up") == std::string::npos) {
        const std::size_t count = co_await answer.read_some(std::span<std::byte>(room));
        if (count == 0) break;
        text += as_text(bytes_view(room).first(count));
      }
    }
    heard_run run = co_await execute(client, box, "import os\nprint(defined, os.path.exists('heard'))");
    EXPECT_EQ(run.all_of("stdout"), "yes True\n") << run.text;
    EXPECT_EQ(run.all_of("error", "name"), "");
  });
}

TEST(E2bInterpreter, runs_of_a_context_wait_for_each_other_and_contexts_do_not) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::vector<heard_run> ended;
    const auto over = [&](std::exception_ptr failure, heard_run run) {
      EXPECT_FALSE(failure);
      ended.push_back(std::move(run));
    };
    const std::string first =
        "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\n'first'";
    cofferdam_test::spawn(executor, execute(client, box, first), over);
    for (;;) {
      http_response begun = co_await client.get(box, "/files?path=begun");
      if (begun.status() == 200) break;
    }
    cofferdam_test::spawn(executor, execute(client, box, "'second'"), over);
    http_response created = co_await ask(client, box, "POST", "/contexts", "{}");
    const std::string id = text_at(json_of(created.text()), "id");
    heard_run other = co_await execute(client, box, "'other'", R"(,"context_id":")" + id + "\"");
    EXPECT_EQ(other.all_of("result"), "other");
    EXPECT_TRUE(ended.empty());
    co_await client.put(box, "/files?path=go", "");
    const std::function<bool()> both = [&] { return ended.size() == 2; };
    const bool are_over = co_await comes_about(both);
    EXPECT_TRUE(are_over);
    if (are_over) {
      EXPECT_EQ(ended[0].all_of("result"), "first");
      EXPECT_EQ(ended[1].all_of("result"), "second");
    }
  });
}

TEST(E2bInterpreter, a_context_that_is_restarted_or_removed_ends_what_runs_in_it) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    for (const bool restarts : {true, false}) {
      http_response created = co_await ask(client, box, "POST", "/contexts", "{}");
      const std::string id = text_at(json_of(created.text()), "id");
      const std::string in_context = R"(,"context_id":")" + id + "\"";
      std::vector<heard_run> ended;
      const auto over = [&](std::exception_ptr failure, heard_run run) {
        EXPECT_FALSE(failure);
        ended.push_back(std::move(run));
      };
      const std::string mark = restarts ? "mark1" : "mark2";
      cofferdam_test::spawn(
          executor,
          execute(client, box, "open('" + mark + "', 'w').close()\nimport time\ntime.sleep(1000)", in_context), over);
      for (;;) {
        http_response found = co_await client.get(box, "/files?path=" + mark);
        if (found.status() == 200) break;
      }
      http_response answer;
      if (restarts) {
        answer = co_await ask(client, box, "POST", "/contexts/" + id + "/restart");
      } else {
        answer = co_await ask(client, box, "DELETE", "/contexts/" + id);
      }
      EXPECT_EQ(said(answer), "200 null");
      const std::function<bool()> is_over = [&] { return !ended.empty(); };
      const bool came = co_await comes_about(is_over);
      EXPECT_TRUE(came);
      if (!came) co_return;
      EXPECT_EQ(ended[0].all_of("error", "name"), restarts ? "ContextRestarting" : "ExecutionAborted");
      EXPECT_EQ(ended[0].types().back(), "end_of_execution");
    }
  });
}

TEST(E2bInterpreter, code_that_kills_its_own_process_is_an_error_line_and_the_next_begins_afresh) {
  with_interpreter([](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
    heard_run run = co_await execute(client, box, "x = 1\nimport os\nos.kill(os.getpid(), 9)");
    EXPECT_EQ(run.all_of("error", "name"), "UnexpectedEndOfExecution") << run.text;
    EXPECT_EQ(run.types().back(), "end_of_execution");
    run = co_await execute(client, box, "x");
    EXPECT_EQ(run.all_of("error", "name"), "NameError");
    EXPECT_EQ(run.lines[0].at("execution_count").as_int64(), 1);
  });
}

TEST(E2bInterpreter, output_and_results_are_bounded_and_what_is_missing_is_said) {
  with_interpreter(
      [](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
        heard_run run = co_await execute(client, box,
                                         "print('a' * 5000 + 'z' * 5000)\n"
                                         "class Large:\n    def _repr_html_(self): return 'h' * 20000\n"
                                         "display(Large())\n'small'");
        const std::string out = run.all_of("stdout");
        EXPECT_LT(out.size(), 1200U);
        EXPECT_TRUE(out.starts_with("aaa"));
        EXPECT_TRUE(out.ends_with("zzz\n"));
        EXPECT_NE(out.find("of 10001 bytes left out"), std::string::npos) << out;
        EXPECT_EQ(run.all_of("result"), "small");
        EXPECT_NE(run.all_of("stderr").find("was left out"), std::string::npos);
      },
      e2b_gateway::code_interpreter().output(1000).results(10000));
}

TEST(E2bInterpreter, what_all_clients_hold_together_is_bounded) {
  with_interpreter(
      [](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
        heard_run run = co_await execute(client, box, "'h' * 30000");
        EXPECT_NE(run.all_of("stderr").find("was left out"), std::string::npos) << run.text.substr(0, 200);
        run = co_await execute(client, box, std::string(40000, '#'));
        EXPECT_EQ(run.status, 503) << run.text;
        for (int i = 0; i < 3; ++i) {
          run = co_await execute(client, box, std::string(12000, '#'));
          EXPECT_EQ(run.status, 200) << run.text;
        }
        run = co_await execute(client, box, "'fits'");
        EXPECT_EQ(run.all_of("result"), "fits") << "what was held was given back";
      },
      e2b_gateway::code_interpreter().memory(20000));
}

TEST(E2bInterpreter, an_environment_without_python_is_an_error_that_says_so) {
  with_interpreter(
      [](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
        heard_run run = co_await execute(client, box, "1");
        EXPECT_EQ(run.status, 500);
        EXPECT_NE(run.text.find("no-such-python"), std::string::npos) << run.text;
        run = co_await execute(client, box, "1");
        EXPECT_EQ(run.status, 500) << "it is tried again";
      },
      e2b_gateway::code_interpreter(python().interpreter("no-such-python")));
}

TEST(E2bInterpreter, a_layer_of_the_stack_stands_before_it_too) {
  with_interpreter(
      [](gateway_client& client, gateway_sandbox_name box) -> awaitable<void> {
        heard_run run = co_await execute(client, box, "1");
        EXPECT_EQ(run.status, 500) << run.text;
      },
      e2b_gateway::code_interpreter(), any_provider(local().without_warning() | allow_commands("ls")));
}

TEST(E2bInterpreter, either_token_of_a_secured_sandbox_opens_it_and_nothing_else_does) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        http_response created = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
        const boost::json::value value = json_of(created.text());
        const std::string traffic = text_at(value, "trafficAccessToken");
        const std::string token = text_at(value, "envdAccessToken");
        EXPECT_FALSE(traffic.empty());
        EXPECT_NE(traffic, token);
        const auto status = [&](std::string name, std::string secret, std::string port) -> awaitable<int> {
          http_request request("GET", port == "49999" ? "/contexts" : "/envs");
          request.field("E2b-Sandbox-Id", text_at(value, "sandboxID")).field("E2b-Sandbox-Port", port);
          if (!name.empty()) request.field(std::move(name), std::move(secret));
          http_response answer = co_await client.http.request(std::move(request));
          co_return answer.status();
        };
        int got = co_await status("X-Access-Token", token, "49999");
        EXPECT_EQ(got, 200);
        got = co_await status("E2B-Traffic-Access-Token", traffic, "49999");
        EXPECT_EQ(got, 200);
        got = co_await status("", "", "49999");
        EXPECT_EQ(got, 401);
        got = co_await status("E2B-Traffic-Access-Token", token, "49999");
        EXPECT_EQ(got, 401);
        got = co_await status("E2B-Traffic-Access-Token", traffic, "49983");
        EXPECT_EQ(got, 401) << "it is for the further ports only";
        http_response once_more = co_await client.api(
            "POST", "/v2/sandboxes/" + text_at(value, "sandboxID") + "/connect", R"({"timeout":300})");
        if (once_more.status() < 300) {
          EXPECT_EQ(text_at(json_of(once_more.text()), "trafficAccessToken"), traffic);
        }
      },
      e2b_gateway::options().port(49999, e2b_gateway::code_interpreter()));
}

TEST(E2bInterpreter, a_sandbox_that_is_killed_ends_its_code) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_request request = to_interpreter("POST", "/execute", box);
        request.content("application/json", execute_body("import time\nprint('up')\ntime.sleep(1000)"));
        http_exchange answer = co_await client.http.send(std::move(request));
        std::array<std::byte, 4096> room{};
        std::string text;
        while (text.find("up") == std::string::npos) {
          const std::size_t count = co_await answer.read_some(std::span<std::byte>(room));
          if (count == 0) break;
          text += as_text(bytes_view(room).first(count));
        }
        http_response killed = co_await client.api("DELETE", "/sandboxes/" + box.id);
        EXPECT_EQ(killed.status(), 204);
        bool is_cut = false;
        try {
          bytes rest = co_await answer.read_all(1024 * 1024);
          is_cut = as_text(rest).find("end_of_execution") == std::string_view::npos;
        } catch (const error&) {
          is_cut = true;
        }
        EXPECT_TRUE(is_cut);
      },
      e2b_gateway::options().port(49999, e2b_gateway::code_interpreter()));
}

TEST(E2bInterpreter, limits_are_checked_where_they_are_said) {
  EXPECT_EQ(code_of([] { e2b_gateway::code_interpreter().contexts(0); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { e2b_gateway::code_interpreter().keepalive(1ms); }), exec_errc::invalid_argument);
}

// ---- the library's own client ----

const std::string client_key = "e2b_0123456789";

template <class Body>
void with_client(Body work) {
  static cofferdam_test::gateway_thread gateway(
      local().without_warning(), e2b_gateway::options()
                                     .api_key(client_key)
                                     .port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter()));
  const auto work_in_sandbox = [&]() -> awaitable<void> {
    e2b::provider recipe = e2b::from_template("code-interpreter-v1")
                               .variables_from(e2b::surroundings())
                               .api_key(client_key)
                               .api_url(gateway.url())
                               .sandbox_url(gateway.url());
    co_await cofferdam::with(std::move(recipe), std::ref(work));
  };
  cofferdam_test::run(work_in_sandbox);
}

TEST(E2bInterpreter, our_own_client_runs_code_in_contexts) {
  with_client([](e2b::environment& env) -> awaitable<void> {
    e2b::code_interpreter interpreter(env);
    e2b::execution done = co_await interpreter.run(e2b::code("print('\u00e9')\n[i * i for i in range(5)]"));
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.out().text(), "\u00e9\n");
    EXPECT_EQ(done.value(), "[0, 1, 4, 9, 16]");
    EXPECT_EQ(done.number(), 1);
    e2b::code_context context = co_await interpreter.make_context("python", ".");
    e2b::execution failed = co_await interpreter.run(e2b::code("1 / 0").in(context));
    EXPECT_TRUE(failed.failure().has_value());
    if (failed.failure()) {
      EXPECT_EQ(failed.failure()->name(), "ZeroDivisionError");
    }
    EXPECT_EQ(failed.err().text(), "");
    std::vector<e2b::code_context> contexts = co_await interpreter.contexts();
    EXPECT_EQ(contexts.size(), 2U);
    co_await interpreter.restart(context);
    co_await interpreter.remove(context);
    contexts = co_await interpreter.contexts();
    EXPECT_EQ(contexts.size(), 1U);
  });
}

TEST(E2bInterpreter, the_time_limit_of_our_own_client_interrupts_the_code) {
  with_client([](e2b::environment& env) -> awaitable<void> {
    e2b::code_interpreter interpreter(env);
    e2b::execution slow = co_await interpreter.run(e2b::code("x = 5\nimport time\ntime.sleep(1000)").timeout(300ms));
    EXPECT_TRUE(slow.timed_out());
    e2b::execution after = co_await interpreter.run(e2b::code("'it goes on'"));
    EXPECT_EQ(after.value(), "it goes on");
  });
}

// A module named pip in the work directory stands in for pip, which would need a network.
TEST(E2bInterpreter, a_package_that_pip_has_installed_is_importable_in_the_same_cell) {
  const cofferdam_test::temporary_folder folder;
  with_interpreter([&](gateway_client& client, gateway_sandbox_name) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create(R"({"templateID":"base","envVars":{"PYTHONUSERBASE":")" +
                                                            folder.path().string() + "\"}}");
    const std::string pip =
        "import os, site\n"
        "place = site.getusersitepackages()\n"
        "os.makedirs(place, exist_ok=True)\n"
        "open(os.path.join(place, 'fresh_module.py'), 'w').write('value = 42')\n";
    co_await client.put(box, "/files?path=pip.py", pip);
    const heard_run run = co_await execute(client, box, "%pip install x\nimport fresh_module\nfresh_module.value");
    EXPECT_NE(run.text.find("\"text\":\"42\""), std::string::npos) << run.text;
  });
}

}  // namespace
