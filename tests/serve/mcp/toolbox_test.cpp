// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of mcp::toolbox: Python code in a runner calls the tools of a server of this library, which is reached by HTTP.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/limit_code.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp/servers.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_client.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/run_python.hpp>

#include "llm/scripted_model.hpp"
#include "support/error_of.hpp"
#include "support/paths.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mcp_toolbox_test {

using namespace cofferdam;
using namespace std::chrono_literals;
using boost::json::object;

/// The number of calls of the tool `wait` that run at the same time, and the greatest such number.
class crowd {
 public:
  int now = 0;
  int most = 0;
};

object schema(const std::string& text) { return boost::json::parse(text).as_object(); }

awaitable<mcp::answer> echo(mcp::call& of) {
  mcp::answer made("the arguments");
  made.structured(of.arguments());
  co_return made;
}
awaitable<mcp::answer> say(mcp::call&) { co_return mcp::answer("two\nlines"); }
awaitable<mcp::answer> parts(mcp::call&) {
  mcp::answer made("first");
  made.add(mcp::content::image(as_bytes("PNG"), "image/png"));
  co_return made;
}
awaitable<mcp::answer> fail(mcp::call&) { co_return mcp::answer::failed("the tide is out"); }
awaitable<mcp::answer> large(mcp::call&) { co_return mcp::answer(std::string(3000, 'x')); }
awaitable<mcp::answer> wait(std::shared_ptr<crowd> all, mcp::call&) {
  ++all->now;
  all->most = std::max(all->most, all->now);
  asio::steady_timer pause(co_await asio::this_coro::executor, 50ms);
  co_await pause.async_wait(asio::use_awaitable);
  --all->now;
  co_return mcp::answer("waited");
}

awaitable<mcp::answer> never(mcp::call&) {
  asio::steady_timer pause(co_await asio::this_coro::executor, 1h);
  co_await pause.async_wait(asio::use_awaitable);
  co_return mcp::answer("never");
}

using box_work = std::function<awaitable<void>(mcp::client& client, local_environment& place, crowd& waiting)>;

/// Runs `body` with a client of a server that has the tools above.
void with_tools(const box_work& body) {
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    mcp::server_options options;
    options.without_token();
    mcp::server server(executor, std::move(options));
    const auto waiting = std::make_shared<crowd>();
    const auto waits = [waiting](mcp::call& of) { return wait(waiting, of); };
    const object any = schema(R"({"type":"object"})");
    const object typed = schema(R"({"type":"object","required":["city"],"properties":{
        "days":{"type":"integer","description":"How many days."},"city":{"type":"string"},"from":{}}})");
    server.add(
        tools::definition("get-forecast", "Returns its arguments.\nMore.").input(typed).hints(true, false, true, false),
        echo);
    server.add(tools::definition("class", "Says.").input(any).hints(true, false, true, false), say);
    server.add(tools::definition("parts", "Two parts.").input(any).hints(true, false, true, false), parts);
    server.add(tools::definition("fail", "Fails.").input(any).hints(true, false, true, false), fail);
    server.add(tools::definition("large", "A large answer.").input(any).hints(true, false, true, false), large);
    server.add(tools::definition("never", "Does not end.").input(any).hints(true, false, true, false), never);
    server.add(tools::definition("wait", "Waits.").input(any).hints(true, false, true, false), waits);
    server.add(tools::definition("drop", "Removes a table.").input(typed).hints(false, true, false, false), echo);
    listener where = tcp_listener(executor, "127.0.0.1", 0);
    const std::string url = "http://127.0.0.1:" + std::to_string(where.port()) + "/mcp";
    asio::cancellation_signal stop;
    bool has_ended = false;
    const auto done = [&](const std::exception_ptr&) { has_ended = true; };
    cofferdam_test::spawn(executor, server.serve(std::move(where)), done, stop.slot());
    std::exception_ptr failure;
    try {
      mcp::client client = co_await mcp::client::connect(url);
      const auto uses = [&](local_environment& place) -> awaitable<void> { co_await body(client, place, *waiting); };
      co_await with(local().without_warning().kill_grace(50ms), uses);
      co_await client.close();
    } catch (...) {
      failure = std::current_exception();
    }
    stop.emit(asio::cancellation_type::terminal);
    asio::steady_timer pause(executor);
    while (!has_ended) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
    if (failure) std::rethrow_exception(failure);
  });
}

/// Runs code with the tools of a toolbox, and returns its output, or the end of its traceback.
template <class Place>
awaitable<std::string> run_in(Place& place, const mcp::toolbox& box, std::string code) {
  auto recipe = environment_ref(place) | python() | mcp::offer_tools(box);
  std::string output;
  const auto runs = [&](auto& runner) -> awaitable<void> {
    code_request request(code);
    const code_result result = co_await runner.run_code(std::move(request));
    output = as_text(result.out().head());
    if (result.failure()) output += result.failure()->type() + ": " + result.failure()->message();
    if (!result.reason().empty() && !result.failure()) output += result.reason();
  };
  co_await with(std::move(recipe), runs);
  co_return output;
}

std::vector<std::string> every() { return {"*"}; }

// Feature: H16, J6, J8
TEST(McpToolbox, code_calls_tools_as_functions) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    co_await box.add("my-weather", client, every());
    const std::string out = co_await run_in(place, box, R"(
import cofferdam_tools
from cofferdam_tools import my_weather
from cofferdam_tools.my_weather import get_forecast
print(get_forecast("Oslo", days=2), my_weather.get_forecast(city="Rom", **{"from": (1, 2)}))
print(repr(my_weather.class_()))
print(my_weather.parts())
print(tools is cofferdam_tools, [each for each in globals() if each.startswith("_c")])
print(get_forecast.__name__, get_forecast.__signature__, repr(get_forecast.__doc__))
)");
    EXPECT_EQ(out,
              "{'city': 'Oslo', 'days': 2} {'city': 'Rom', 'from': [1, 2]}\n"
              "'two\\nlines'\n"
              "['first', {'type': 'image', 'data': b'PNG', 'mimeType': 'image/png'}]\n"
              "True ['_cofferdam_send', '_cofferdam_fetch']\n"
              "get_forecast (city: str, days: int = None, from_=None) "
              "'Returns its arguments.\\nMore.\\ndays: How many days.'\n");
  });
}

TEST(McpToolbox, failures_are_exceptions_with_the_text_of_the_server) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    co_await box.add("w", client, every());
    box.max_answer(1000);
    const std::string out = co_await run_in(place, box, R"(
import cofferdam_tools, math
from cofferdam_tools import w
def try_to(call):
    try:
        print(call())
    except Exception as failure:
        print(type(failure).__name__, failure)
try_to(w.fail)
try_to(w.large)
try_to(w.get_forecast)
try_to(lambda: w.get_forecast(city=object()))
try_to(lambda: w.get_forecast(city=math.nan))
try_to(lambda: w.rain())
try_to(lambda: cofferdam_tools.snow)
try_to(lambda: cofferdam_tools.describe_tool("w.snow"))
try_to(lambda: w.drop(city="Oslo"))
print(issubclass(cofferdam_tools.ToolError, RuntimeError))
)");
    EXPECT_EQ(out,
              "ToolError the tide is out\n"
              "ToolError the answer of w.large has 3048 bytes; the limit is 1000. Ask for a smaller part of the data.\n"
              "TypeError w.get_forecast(city: str, days: int = None, from_=None): missing a required argument: 'city'\n"
              "TypeError a value of the type object cannot be sent to a tool\n"
              "ValueError Out of range float values are not JSON compliant\n"
              "AttributeError w has no tool 'rain'; cofferdam_tools.search_tools('rain') finds tools\n"
              "AttributeError cofferdam_tools has no tool 'snow'; cofferdam_tools.search_tools('snow') finds tools\n"
              "LookupError there is no tool 'w.snow'; search_tools() lists the tools\n"
              "ToolError w: drop may change something, and the host program does not permit the call\n"
              "True\n");
  });
}

TEST(McpToolbox, only_named_tools_can_be_called) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    const std::vector<std::string> two{"class", "fail"};
    co_await box.add("w", client, two);
    const std::string out = co_await run_in(place, box, R"(
import cofferdam_tools, json
print(sorted(each["name"] for each in cofferdam_tools.search_tools()))
for forged in ('[[2, {}]]', '[[-1, {}]]', '[["0", {}]]', '[0]', '{}', 'x', '[[0, []]]'):
    try:
        print(_cofferdam_send(forged))
    except TypeError as failure:
        print(failure)
)");
    EXPECT_EQ(out.substr(0, out.find('\n')), "['w.class_', 'w.fail']");
    EXPECT_EQ(out.find("two"), std::string::npos) << out;
    const std::vector<std::pair<std::string, std::vector<std::string>>> wrong{
        {"w", {"class"}}, {"x", {"snow"}}, {"x", {}}, {"", {"class"}}};
    const std::vector<exec_errc> codes{exec_errc::already_exists, exec_errc::not_found, exec_errc::invalid_argument,
                                       exec_errc::invalid_argument};
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      std::optional<error> thrown;
      try {
        co_await box.add(wrong[i].first, client, wrong[i].second);
      } catch (const error& failure) {
        thrown = failure;
      }
      EXPECT_TRUE(thrown && thrown->code() == codes[i]) << i << (thrown ? thrown->what() : " nothing was thrown");
    }
  });
}

TEST(McpToolbox, calls_that_may_change_something_need_a_permission_and_are_reported) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    co_await box.add("w", client, every());
    std::string asked;
    const mcp::call_approval asks = [&](const mcp::tool_call& call) -> awaitable<bool> {
      asked += call.server() + "." + call.tool().name() + boost::json::serialize(call.arguments()) + " ";
      const std::string city = call.arguments().at("city").as_string().c_str();
      if (city == "Bern") throw std::runtime_error("nobody answers");
      co_return city == "Oslo";
    };
    std::string ends;
    const mcp::call_listener hears = [&](const mcp::tool_call& call, const mcp::tool_call_end& end) {
      ends += call.tool().name() + (end.ok() ? " ok" : " failed: " + end.failure()) + "\n";
    };
    box.approve(asks).on_call(hears).max_calls(4);
    const std::string out = co_await run_in(place, box, R"(
from cofferdam_tools import w, ToolError
for city in ("Oslo", "Rom", "Bern"):
    try:
        print(w.drop(city))
    except ToolError as failure:
        print(failure)
w.class_()
w.class_()
)");
    EXPECT_EQ(out,
              "{'city': 'Oslo'}\nw: drop may change something, and the host program does not permit the call\n"
              "nobody answers\nToolError: the run has made 4 calls of tools, the maximum");
    EXPECT_EQ(asked, R"(w.drop{"city":"Oslo"} w.drop{"city":"Rom"} w.drop{"city":"Bern"} )");
    EXPECT_EQ(ends,
              "drop ok\ndrop failed: w: drop may change something, and the host program does not permit the call\n"
              "drop failed: nobody answers\nclass ok\n"
              "class failed: the run has made 4 calls of tools, the maximum\n");
    const std::string next = co_await run_in(place, box, "from cofferdam_tools import w; print(len(w.class_()))");
    EXPECT_EQ(next, "9\n");  // the limit is one of each run
  });
}

// Feature: K6
TEST(McpToolbox, calls_of_coroutines_are_served_at_the_same_time) {
  with_tools([](mcp::client& client, local_environment& place, crowd& waiting) -> awaitable<void> {
    mcp::toolbox box;
    co_await box.add("w", client, every());
    box.at_once(4);
    const std::string out = co_await run_in(place, box, R"(
import asyncio
from cofferdam_tools import w
len = isinstance = str = None  # names that the module itself uses
async def all():
    calls = [w.wait.later() for _ in range(6)] + [w.fail.later()]
    for each in await asyncio.gather(*calls, return_exceptions=True):
        print(each)
asyncio.run(all())
)");
    EXPECT_EQ(out, "waited\nwaited\nwaited\nwaited\nwaited\nwaited\nthe tide is out\n");
    EXPECT_EQ(waiting.most, 4);
  });
}

TEST(McpToolbox, a_run_that_ends_cancels_its_calls) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    co_await box.add("w", client, every());
    std::string ends;
    const mcp::call_listener hears = [&](const mcp::tool_call& call, const mcp::tool_call_end& end) {
      if (!end.ok()) ends += call.tool().name() + ": " + end.failure() + "\n";
    };
    box.on_call(hears);
    auto recipe = environment_ref(place) | python() | mcp::offer_tools(box);
    const auto runs = [&](auto& runner) -> awaitable<void> {
      code_request request("import cofferdam_tools\ncofferdam_tools.w.never()");
      request.timeout(400ms);
      const code_result result = co_await runner.run_code(std::move(request));
      EXPECT_EQ(result.kind(), error_kind::timeout) << result.reason();
    };
    co_await with(std::move(recipe), runs);
    EXPECT_NE(ends.find("never: "), std::string::npos) << ends;
  });
}

TEST(McpToolbox, contexts_guards_names_and_functions) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    co_await box.add("w", client, every());
    const auto doubles = [](double x) -> awaitable<double> { co_return x * 2; };
    box.module_name("helpers").add(tools::function("double", "Doubles.", tools::argument("x"), doubles));
    auto recipe = environment_ref(place) | python() | allow_imports("helpers") | mcp::offer_tools(box);
    const auto runs = [&](auto& runner) -> awaitable<void> {
      const std::vector<std::pair<std::string, std::string>> steps{
          {"from helpers import w; print(len(w.class_()), double(4))", "9 8.0\n"},
          {"tools = 'mine'; print(w.class_()[:3])", "two\n"},  // a function of an earlier run
          {"print(tools, len(w.class_()))", "mine 9\n"},       // a name of the code is kept
          {"import sys", ""},                                  // the guard judges the code, not the prelude
      };
      for (const auto& [code, expected] : steps) {
        code_request request(code);
        request.context("kept");
        const code_result result = co_await runner.run_code(std::move(request));
        EXPECT_EQ(as_text(result.out().head()), expected) << result.reason();
        EXPECT_EQ(result.kind() == error_kind::security_violation, expected.empty()) << result.reason();
      }
    };
    co_await with(std::move(recipe), runs);
    const std::string words = box.description();
    EXPECT_NE(words.find("after `import helpers`"), std::string::npos) << words;
    EXPECT_NE(words.find("\n- w.get_forecast(city, days=None, from_=None): Returns its arguments.\n"),
              std::string::npos)
        << words;
    EXPECT_EQ(cofferdam_test::code_of([&] { box.module_name("class"); }), exec_errc::invalid_argument);
    EXPECT_NE(words.find("\nCode can call these global functions:\n- double(x: float): Doubles."), std::string::npos)
        << words;
    EXPECT_EQ(cofferdam_test::code_of([&] { box.module_name("a b"); }), exec_errc::invalid_argument);
    EXPECT_EQ(cofferdam_test::code_of([&] { box.at_once(0); }), exec_errc::invalid_argument);
  });
}

TEST(McpToolbox, the_model_of_an_agent_is_given_the_tools_that_its_code_can_call) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    std::vector<std::string> names{"get-forecast"};
    co_await box.add("weather", client, std::move(names));
    auto recipe = environment_ref(place) | python() | mcp::offer_tools(box) | limit_code(10'000, 100);
    const auto halves = [](double x) -> awaitable<double> { co_return x / 2; };
    const tools::function half("half", "Halves.", tools::argument("x"), halves);
    cofferdam_test::scripted_model model;
    model.call(
        "run_python",
        R"-({"code":"from cofferdam_tools import weather\nweather.get_forecast('Oslo')['city'] + str(half(5))"})-");
    model.call("finish", R"({"reason":"done","paths":[]})");
    const auto works = [&](auto& runner) -> awaitable<void> {
      agent_session work(agent(model), place);
      work.tool(tools::run_python(runner).functions(half));
      const agent_result result = co_await work.run("How is the weather?");
      EXPECT_TRUE(result.finished());
    };
    co_await with(std::move(recipe), works);
    EXPECT_NE(model.told(1).find("<value>'Oslo2.5'</value>"), std::string::npos) << model.told(1);
    std::string about;
    for (const chat_tool& each : model.asked()[0].tools())
      if (each.name() == "run_python") about = each.description();
    for (const char* const words : {"weather.get_forecast(city, days=None", "search_tools(words)",
                                    "describe_tool(name)", "- half(x: float): Halves."})
      EXPECT_NE(about.find(words), std::string::npos) << words << " in " << about;
  });
}

TEST(McpToolbox, what_calls_at_once_may_answer_is_bounded) {
  with_tools([](mcp::client& client, local_environment& place, crowd&) -> awaitable<void> {
    mcp::toolbox box;
    co_await box.add("w", client, every());
    const std::string out = co_await run_in(place, box, R"(
import asyncio
from cofferdam_tools import w
async def go():
    calls = [w.get_forecast.later(city="x" * 900000) for _ in range(4)]
    try:
        await asyncio.gather(*calls)
    except Exception as failure:
        print(type(failure).__name__, len(str(failure)) < 100)
    print(len((await w.get_forecast.later(city="x" * 900000))["city"]))
asyncio.run(go())
)");
    EXPECT_EQ(out, "ValueError True\n900000\n");  // a message has at most 3 MB
  });
}

// ---- servers of a configuration ----

std::string set_variable(const std::string& text) {
  const mcp::variable_lookup known = [](const std::string& name) -> std::optional<std::string> {
    if (name == "KEY") return "secret";
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  std::string shown;
  for (const mcp::server_entry& each : mcp::read_servers(text, known)) {
    shown += each.name + ":";
    for (const std::string& word : each.words) shown += " " + word;
    for (const auto& [name, value] : each.variables) shown += " " + name + "=" + value;
    if (!each.folder.empty()) shown += " in " + each.folder;
    if (!each.url.empty()) shown += " " + each.url;
    for (const auto& [name, value] : each.headers) shown += " " + name + ": " + value;
    for (const std::string& tool : each.tools) shown += " +" + tool;
    for (const std::string& tool : each.approve) shown += " !" + tool;
    shown += "\n";
  }
  return shown;
}

// Feature: J9
TEST(McpServers, a_configuration_of_hosts_is_read) {
  EXPECT_EQ(set_variable(R"({"other": 1, "mcpServers": {
      "a": {"command": "npx", "args": ["-y", "x${KEY}y${NONE:-z}"], "env": {"K": "${KEY}", "E": "${EMPTY:-e}"},
            "cwd": "/srv", "tools": ["b", "c"], "approve": "*", "type": "stdio"},
      "d": {"url": "https://h/mcp?k=${KEY}", "headers": {"Authorization": "Bearer ${KEY}"}, "tools": "*"},
      "off": {"disabled": true}}})"),
            "a: npx -y xsecretyz K=secret E=e in /srv +b +c !*\n"
            "d: https://h/mcp?k=secret Authorization: Bearer secret +*\n");
}

TEST(McpServers, a_wrong_configuration_is_an_error_that_names_the_place) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"{", "mcpServers: the text is not JSON: incomplete JSON"},
      {"[]", "mcpServers: the text must be an object with the member \"mcpServers\", an object of servers"},
      {R"({"mcpServers": {"a": 1}})", "mcpServers: \"a\" must be an object"},
      {R"({"mcpServers": {"a": {}}})", "mcpServers: \"a\": needs either a \"command\" (and \"args\") or a \"url\""},
      {R"({"mcpServers": {"a": {"command": "x", "url": "y"}}})",
       "mcpServers: \"a\": needs either a \"command\" (and \"args\") or a \"url\""},
      {R"({"mcpServers": {"a": {"command": "x", "args": "y"}}})",
       "mcpServers: \"a\", \"args\": must be a list of texts"},
      {R"({"mcpServers": {"a": {"command": "x", "args": [1]}}})", "mcpServers: \"a\", \"args\": must be text"},
      {R"({"mcpServers": {"a": {"command": "x", "env": []}}})",
       "mcpServers: \"a\", \"env\": must be an object of texts"},
      {R"({"mcpServers": {"a": {"command": "x", "env": {"A": "${NONE}"}}}})",
       "mcpServers: \"a\", \"env\": the environment variable NONE is not set"},
      {R"({"mcpServers": {"a": {"url": "${KEY"}}})", "mcpServers: \"a\", \"url\": \"${\" has no \"}\""},
  };
  for (const auto& [text, message] : rows) {
    const std::optional<error> thrown = cofferdam_test::error_of([&] { set_variable(text); });
    EXPECT_EQ(thrown ? thrown->what() : std::string(), message);
    EXPECT_TRUE(thrown && thrown->code() == exec_errc::invalid_argument);
  }
}

/// Makes the entry of a server that is scripted_server.py.
mcp::server_entry scripted(std::string name) {
  mcp::server_entry entry;
  entry.name = std::move(name);
  entry.words = {"python3", cofferdam_test::source_path("tests/serve/mcp/scripted_server.py")};
  return entry;
}

TEST(McpServers, servers_are_started_and_offered_to_code) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::vector<mcp::server_entry> entries{scripted("one"), scripted("two")};
    entries[0].tools = {"echo"};
    entries[1].tools = {"*"};
    entries[1].approve = {"fail"};
    const auto uses = [&](mcp::connected_servers& servers) -> awaitable<void> {
      mcp::toolbox box;
      co_await servers.offer(box);
      const auto runs = [&](local_environment& place) -> awaitable<void> {
        const std::string out = co_await run_in(place, box, R"(
from cofferdam_tools import one, two
print(one.echo(words="x"))
for tool in (two.fail, two.never):
    try:
        tool()
    except RuntimeError as failure:
        print(failure)
)");
        EXPECT_EQ(out,
                  "{'words': 'x'}\nit did not work\n"
                  "two: never may change something, and the host program does not permit the call\n");
      };
      co_await with(local().without_warning(), runs);
      EXPECT_EQ(servers.find("two").server_name(), "scripted");
      EXPECT_EQ(cofferdam_test::code_of([&] { servers.find("three"); }), exec_errc::not_found);
    };
    co_await mcp::with_servers(std::move(entries), uses);
  });
}

TEST(McpServers, odd_tools_of_a_server_do_not_break_the_code) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::vector<mcp::server_entry> entries{scripted("__class__"), scripted("good")};
    entries[0].words.emplace_back("odd");
    for (mcp::server_entry& each : entries) each.tools = {"*"};
    const auto uses = [&](mcp::connected_servers& servers) -> awaitable<void> {
      mcp::toolbox box;
      co_await servers.offer(box);
      const auto runs = [&](local_environment& place) -> awaitable<void> {
        const std::string out = co_await run_in(place, box, R"(
import cofferdam_tools
from cofferdam_tools import good
odd = cofferdam_tools.__class___
print(good.echo(words="x"), odd.echo(words="y"))
print(sorted(each["name"] for each in cofferdam_tools.search_tools("odd class")))
print(odd.twice.__signature__)
)");
        EXPECT_EQ(out,
                  "{'words': 'x'} {'words': 'y'}\n"
                  "['__class___.__class___', '__class___._send_', '__class___.echo', '__class___.objects', "
                  "'__class___.properties', '__class___.required', '__class___.schema', '__class___.twice']\n"
                  "(a, b=None)\n");
      };
      co_await with(local().without_warning(), runs);
    };
    co_await mcp::with_servers(std::move(entries), uses);
  });
}

TEST(McpServers, a_server_that_does_not_start_ends_the_others_and_is_named) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::vector<mcp::server_entry> entries{scripted("one"), scripted("two")};
    entries[1].words = {"sh", "-c", "exit 4"};
    std::optional<error> thrown;
    const auto uses = [](mcp::connected_servers&) -> awaitable<void> { co_return; };
    try {
      co_await mcp::with_servers(std::move(entries), uses);
    } catch (const error& failure) {
      thrown = failure;
    }
    EXPECT_STREQ(thrown ? thrown->what() : "", "the server \"two\": mcp: the server has ended: exit status 4");
  });
}

/// Opens servers and returns the text of the error.
awaitable<std::string> error_of_start(std::vector<mcp::server_entry> entries, mcp::client_options options) {
  std::string text = "no error";
  try {
    mcp::connected_servers opened = co_await mcp::connected_servers::open(std::move(entries), std::move(options));
    co_await opened.close();
  } catch (const error& failure) {
    text = failure.what();
  }
  co_return text;
}

TEST(McpServers, servers_are_started_at_the_same_time) {
  cofferdam_test::run([]() -> awaitable<void> {
    const cofferdam_test::temporary_folder folder;
    // Each of the servers begins when the other one has been started.
    std::vector<mcp::server_entry> entries{scripted("a"), scripted("b")};
    for (mcp::server_entry& each : entries) {
      const std::string other = each.name == "a" ? "b" : "a";
      const std::string line = ": > " + folder.path().string() + "/" + each.name + "; while ! [ -e " +
                               folder.path().string() + "/" + other + " ]; do sleep 0.02; done; exec python3 " +
                               each.words.back();
      each.words = {"sh", "-c", line};
    }
    mcp::client_options options;
    options.start_timeout(30s);
    const std::string failure = co_await error_of_start(std::move(entries), std::move(options));
    EXPECT_EQ(failure, "no error");
  });
}

TEST(McpServers, a_server_that_does_not_start_ends_the_wait_for_a_silent_one) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::vector<mcp::server_entry> entries{scripted("silent"), scripted("two")};
    entries[0].words = {"sleep", "300"};
    entries[1].words = {"sh", "-c", "exit 4"};
    const auto begin = std::chrono::steady_clock::now();
    const std::string failure = co_await error_of_start(std::move(entries), mcp::client_options());
    EXPECT_EQ(failure, "the server \"two\": mcp: the server has ended: exit status 4");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  });
}

TEST(McpServers, a_silent_server_is_named_with_the_time_limit) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::vector<mcp::server_entry> entries{scripted("quiet")};
    entries[0].words = {"sleep", "300"};
    mcp::client_options options;
    options.start_timeout(300ms);
    const std::string failure = co_await error_of_start(std::move(entries), std::move(options));
    EXPECT_EQ(failure,
              "the server \"quiet\": mcp: the server did not answer initialize within the time limit of 300 ms; check "
              "that it is an MCP server");
  });
}

TEST(McpServers, a_tool_that_a_server_does_not_have_can_be_neither_offered_nor_approved) {
  cofferdam_test::run([]() -> awaitable<void> {
    for (const bool is_approved : {false, true}) {
      std::vector<mcp::server_entry> entries{scripted("one")};
      entries[0].tools = {is_approved ? "*" : "typo"};
      if (is_approved) entries[0].approve = {"fail", "typo"};
      std::string failure = "no error";
      const auto offers = [](mcp::connected_servers& servers) -> awaitable<void> {
        mcp::toolbox box;
        co_await servers.offer(box);
      };
      try {
        co_await mcp::with_servers(std::move(entries), offers);
      } catch (const error& thrown) {
        failure = thrown.what();
      }
      EXPECT_EQ(failure, is_approved ? "the server \"one\": \"approve\" names the tool \"typo\", which it does not "
                                       "have; its tools are echo, never, fail"
                                     : "mcp::toolbox: the server \"one\" has no tool \"typo\"; its tools are echo, "
                                       "never, fail");
    }
  });
}

TEST(McpServers, code_learns_which_server_has_ended) {
  cofferdam_test::run([]() -> awaitable<void> {
    std::vector<mcp::server_entry> entries{scripted("one")};
    entries[0].words.emplace_back("mortal");
    entries[0].tools = {"*"};
    entries[0].approve = {"*"};
    const auto uses = [&](mcp::connected_servers& servers) -> awaitable<void> {
      mcp::toolbox box;
      co_await servers.offer(box);
      const auto runs = [&](local_environment& place) -> awaitable<void> {
        const std::string out = co_await run_in(place, box, R"(
from cofferdam_tools import one
for _ in range(2):
    try:
        one.die()
    except RuntimeError as failure:
        print(failure)
)");
        const std::string line =
            "one: unavailable until the host program starts it again: the server has ended: exit status 7; its error "
            "output: the disk is full\\n\n";
        EXPECT_EQ(out, line + line);
      };
      co_await with(local().without_warning(), runs);
    };
    co_await mcp::with_servers(std::move(entries), uses);
  });
}

}  // namespace mcp_toolbox_test
