// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/build_request.hpp>
#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/find_daemon.hpp>
#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/llm/chat_completions_options.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/tls.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>
#include <cofferdam/serve/mcp/detail/tool_json.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/function.hpp>

#include "support/paths.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <type_traits>
#include <utility>

// Setters must have one of two forms. Types for options, which are set once, have one unqualified setter that returns
// T&; `x = std::move(x).setter(…)` then copies x to itself. `command` and `code_request`, which are moved in each call
// and may hold large inputs, also have an overload for temporaries that returns T by value; the same line then moves
// from another object. A setter that returned T&& would make that line move x to itself, which empties its strings and
// lists.

namespace option_setters_tests {

using namespace cofferdam;
using cofferdam::detail::tar_entry;
using cofferdam::detail::tar_type;
using namespace std::chrono_literals;

// Too long for the small-string buffer, so that a wrong move empties the string.
const std::string text(100, 't');
const std::string other(100, 'o');

boost::json::object schema() {
  boost::json::object result;
  result["type"] = "object";
  return result;
}

awaitable<boost::json::value> answer(boost::json::object) { co_return boost::json::value(); }

/// Assigns the result of a setter to its own object, twice. Expects that `look`, which must not show the set field,
/// returns the same text as before.
template <class T, class Setter, class Look>
void expect_kept(const char* type, T value, Setter setter, Look look) {
  const auto before = look(value);
  value = setter(std::move(value));
  EXPECT_EQ(look(value), before) << type;
  value = setter(std::move(value));
  EXPECT_EQ(look(value), before) << type << ", the second time";
}

TEST(OptionSetters, an_assignment_of_a_setters_result_keeps_every_other_field) {
  expect_kept(
      "command", shell(text).working_directory(other).variable(text, other).input(text),
      [](command&& x) -> decltype(auto) { return std::move(x).timeout(1s); },
      [](const command& x) {
        std::string fields =
            x.line() + '|' + x.working_directory() + '|' + std::to_string(x.input().value_or(bytes()).size());
        for (const command::variable_setting& each : x.variables()) fields += '|' + each.name() + '=' + each.value();
        return fields;
      });
  expect_kept(
      "command, words", argv("printf", text, other),
      [](command&& x) -> decltype(auto) { return std::move(x).keep_output(10); },
      [](const command& x) { return x.words(); });
  expect_kept(
      "code_request",
      code_request(text).prelude(other).variable("a", boost::json::value(text)).context(text).environment("E", other),
      [](code_request&& x) -> decltype(auto) { return std::move(x).timeout(1s); },
      [](const code_request& x) {
        return x.source() + '|' + x.prelude() + '|' + x.context().value_or("none") + '|' +
               boost::json::serialize(x.variables()) + boost::json::serialize(x.environment());
      });
  expect_kept(
      "http_request", http_request("POST", "/" + text).field("X-A", other).content("text/plain", text),
      [](http_request&& x) -> decltype(auto) { return std::move(x).idempotent(); },
      [](const http_request& x) {
        return x.method() + x.target() + std::string(x.fields().find("X-A").value_or("none")) +
               std::string(as_text(x.body().content()));
      });
  expect_kept(
      "http_reply", http_reply(200).field("X-A", other).content("text/plain", text),
      [](http_reply&& x) -> decltype(auto) { return std::move(x).field("X-B", "b"); },
      [](const http_reply& x) {
        return std::string(x.fields().find("X-A").value_or("none")) + std::string(as_text(x.body()));
      });
  expect_kept(
      "chat_request", chat_request({chat_message::user(text)}).json_schema(other, schema()),
      [](chat_request&& x) -> decltype(auto) { return std::move(x).temperature(0.5); },
      [](const chat_request& x) {
        return std::to_string(x.messages().size()) + x.schema_name() +
               (x.messages().empty() ? std::string() : x.messages().front().text());
      });
  expect_kept(
      "docker::container_options",
      docker::container_options().user("1234").working_directory("/" + text).variable("A", text).label("l", other),
      [](docker::container_options&& x) -> decltype(auto) { return std::move(x).memory(std::uint64_t(1) << 30U); },
      [](const docker::container_options& x) {
        return x.user() + x.working_directory() + (x.labels().empty() ? "none" : x.labels().begin()->second);
      });
  expect_kept(
      "docker::build_request", docker::build_request("/" + text).argument("A", text).target(other),
      [](docker::build_request&& x) -> decltype(auto) { return std::move(x).dockerfile("Dockerfile"); },
      [](const docker::build_request& x) {
        return x.context().string() + x.target() + (x.arguments().empty() ? "none" : x.arguments().begin()->second);
      });
  expect_kept(
      "docker::daemon_choice", docker::daemon_choice().tls_folder("/" + text).context(other),
      [](docker::daemon_choice&& x) -> decltype(auto) { return std::move(x).without_verification(); },
      [](const docker::daemon_choice& x) { return x.tls_folder() + x.context(); });
  expect_kept(
      "chat_completions_options",
      chat_completions_options(text).base_url("http://127.0.0.1:1/" + text).api_key(text).header("X-A", other),
      [](chat_completions_options&& x) -> decltype(auto) { return std::move(x).max_retries(1); },
      [](const chat_completions_options& x) {
        return x.model() + std::string(x.headers().find("X-A").value_or("none")) + x.token_limit_field() +
               x.system_role();
      });
  expect_kept(
      "file_set", file_set().add(text).exactly(other).matching(text + "*").into(other),
      [](file_set&& x) -> decltype(auto) { return std::move(x).at_most(5); },
      [](const file_set& x) {
        std::string fields = x.into().value_or("none");
        for (const file_item& each : x.items()) fields += '|' + each.text();
        return fields;
      });
  expect_kept(
      "http_server_settings", http_server_settings().allowed_hosts({text, other}).allowed_origins({other}),
      [](http_server_settings&& x) -> decltype(auto) { return std::move(x).connections(5); },
      [](const http_server_settings& x) {
        std::string fields;
        for (const std::string& each : x.allowed_hosts().value()) fields += each + '|';
        for (const std::string& each : x.allowed_origins().value()) fields += each + '|';
        return fields;
      });
  expect_kept(
      "e2b_gateway::options", e2b_gateway::options().api_key(text).domain(other).templates({text}).home("/" + text),
      [](e2b_gateway::options&& x) -> decltype(auto) { return std::move(x).sandboxes(5); },
      [](const e2b_gateway::options& x) {
        return x.domain() + x.home() + std::to_string(x.templates().size()) + std::to_string(x.api_keys().size());
      });
  expect_kept(
      "tar_entry", tar_entry(text, tar_type::symlink).link(other),
      [](tar_entry&& x) -> decltype(auto) { return std::move(x).modified(5); },
      [](const tar_entry& x) { return x.name() + x.link(); });
  expect_kept(
      "tools::function", tools::function("name", text, tools::argument("first"), &answer).title(other),
      [](tools::function&& x) -> decltype(auto) { return std::move(x).output(schema()); },
      [](const tools::function& x) {
        return x.name() + x.description() + x.title() + boost::json::serialize(x.parameters());
      });
  expect_kept(
      "tools::argument", tools::argument("name", tools::text, text).between(1, 5),
      [](tools::argument<tools::text_type>&& x) -> decltype(auto) { return std::move(x).one_of({other}); },
      [](const tools::argument<tools::text_type>& x) { return x.name() + x.description(); });
  expect_kept(
      "tools::definition", tools::definition("name", text).title(other).input(schema()),
      [](tools::definition&& x) -> decltype(auto) { return std::move(x).output(schema()); },
      [](const tools::definition& x) {
        const std::string json = boost::json::serialize(mcp::detail::tool_json(x, "2025-06-18"));
        return x.name() + boost::json::serialize(x.parameters()) +
               (json.find(text) == std::string::npos ? "" : "description") +
               (json.find(other) == std::string::npos ? "" : "title");
      });
  expect_kept(
      "e2b::code", e2b::code(text).variable("A", other).language("python"),
      [](e2b::code&& x) -> decltype(auto) { return std::move(x).timeout(5s); },
      [](const e2b::code& x) { return boost::json::serialize(x.body()); });
  expect_kept(
      "python_reader", python_reader().interpreter(text),
      [](python_reader&& x) -> decltype(auto) { return std::move(x).place(analysis_place::host); },
      [](const python_reader& x) { return x.interpreter(); });
  expect_kept(
      "reject_patterns", reject_patterns().permit("os.remove"),
      [](reject_patterns&& x) -> decltype(auto) { return std::move(x).permit("pickle.load"); },
      [](const reject_patterns& x) { return x.policy().permits("os.remove"); });
}

// The tests above need a row for each type. This test reads all headers and therefore covers every setter.
TEST(OptionSetters, no_setter_of_any_header_returns_an_rvalue_reference) {
  const std::regex setter(R"(^ +(\w+)&& \w+\(.*\) &&)");
  std::size_t headers = 0;
  for (const std::filesystem::directory_entry& each :
       std::filesystem::recursive_directory_iterator(cofferdam_test::source_path("include"))) {
    if (each.path().extension() != ".hpp") continue;
    ++headers;
    std::ifstream file(each.path());
    for (std::string line; std::getline(file, line);) {
      const bool has_setter = line.find(") &&") != std::string::npos && std::regex_search(line, setter);
      EXPECT_FALSE(has_setter) << each.path().filename() << ": " << line;
    }
  }
  EXPECT_GT(headers, 150U);
}

TEST(OptionSetters, a_setter_called_as_a_statement_sets_the_variable) {
  python_reader reader;
  std::move(reader).interpreter(text);  // NOLINT(bugprone-use-after-move): it is not moved
  EXPECT_EQ(reader.interpreter(), text);
  docker::container_options options;
  std::move(options).user("1234");
  EXPECT_EQ(options.user(), "1234");
}

// The overloads for temporaries of often moved types return values. Dropping such a value is a compiler warning
// ([[nodiscard]]).
template <class Setter>
constexpr bool is_value = !std::is_reference_v<Setter>;
static_assert(is_value<decltype(std::declval<command>().timeout(1s))>);
static_assert(is_value<decltype(std::declval<code_request>().timeout(1s))>);
static_assert(std::same_as<decltype(std::declval<command&>().timeout(1s)), command&>);
static_assert(std::same_as<decltype(std::declval<http_request>().idempotent()), http_request&>);
static_assert(std::same_as<decltype(std::declval<local>().shell("/bin/sh")), local&>);
static_assert(std::same_as<decltype(std::declval<pyodide>().deno("deno")), pyodide&>);
static_assert(std::same_as<decltype(std::declval<python>().interpreter("python3")), python&>);
static_assert(std::same_as<decltype(std::declval<reject_patterns>().permit("os.remove")), reject_patterns&>);
static_assert(std::same_as<decltype(std::declval<reject_patterns>().reader(python_reader())), reject_patterns&>);
static_assert(std::same_as<decltype(std::declval<allow_commands>().prefix_match()), allow_commands&>);

}  // namespace option_setters_tests
