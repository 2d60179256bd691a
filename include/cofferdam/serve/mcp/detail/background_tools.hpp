// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/background.hpp>
#include <cofferdam/serve/mcp/detail/checked_tool.hpp>
#include <cofferdam/serve/mcp/detail/command_answer.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/output_text.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/serve/mcp/detail/shell_arguments.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/definition.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

template <class = void>
class basic_background_tools;
using background_tools = basic_background_tools<>;

/// The tools for commands that continue after the call that starts them: `start_command`, `read_output`,
/// `signal_command` and `list_commands`.
template <class>
class basic_background_tools {
 public:
  static void add_to(server_core& core) {
    const auto self = std::make_shared<const basic_background_tools>(core.options());
    add_checked(core, self, self->start_, start_definition(core.options()), &basic_background_tools::start);
    add_checked(core, self, self->read_, read_definition(), &basic_background_tools::read);
    add_checked(core, self, self->signal_, signal_definition(), &basic_background_tools::send_signal);
    add_checked(core, self, self->list_, list_definition(), &basic_background_tools::list);
  }

  explicit basic_background_tools(const server_options& options) : kept_output_(options.kept_output()) {
    using tools::argument;
    start_ = tools::argument_list(
        command_line_argument("The bash command line."), directory_argument(),
        argument(
            "timeout_s", tools::integer,
            "Seconds before the command is killed. If left out, it runs until it ends, is signaled, or the session "
            "ends.")
            .between(1, 604'800)
            .optional());
    read_ = tools::argument_list(
        id_argument(),
        argument("wait_s", tools::integer, "Seconds to wait if there is no new output and the command still runs.")
            .between(0, 50)
            .otherwise(0));
    signal_ = tools::argument_list(
        id_argument(),
        argument("signal", tools::text, "TERM asks the command to end, KILL ends it, INT is the signal of ^C.")
            .one_of({"TERM", "KILL", "INT", "HUP", "QUIT", "STOP", "CONT", "USR1", "USR2"})
            .otherwise("TERM"));
  }

 private:
  using self_pointer = std::shared_ptr<const basic_background_tools>;

  static tools::argument<tools::text_type> id_argument() {
    return tools::argument("id", tools::text, "The id that start_command returned.").between(1, 100);
  }

  static tools::definition start_definition(const server_options& options) {
    return tools::definition("start_command",
                             "Start a command line with bash in the background of the sandbox workspace and return its "
                             "id at once, for servers, watchers and long work. Read its output with read_output, end "
                             "it with signal_command, list all background commands with list_commands. If you need the "
                             "result now, use code_exec." +
                                 environment_note(options))
        .title("Start background command")
        .output(schema_of(R"({"type":"object","properties":{"id":{"type":"string"},
          "status":{"type":"string","enum":["running","rejected","failed"]},"reason":{"type":"string"}},
          "required":["status"],"additionalProperties":false})"))
        .hints(false, true, false, options.open_world());
  }

  static tools::definition read_definition() {
    return tools::definition(
               "read_output",
               "Return what a background command has printed since the last read_output for it, and "
               "whether it still runs. Set `wait_s` to wait for something new instead of asking again and "
               "again.")
        .title("Read background output")
        .output(schema_of(R"({"type":"object","properties":{"id":{"type":"string"},
          "status":{"type":"string","enum":["running","exited","signaled","timeout","rejected","failed"]},
          "exit_code":{"type":"integer"},"signal":{"type":"string"},
          "stdout":{"type":"string"},"stderr":{"type":"string"},
          "bytes_dropped":{"type":"integer","minimum":0,"description":"How many bytes of older output were dropped because they were not read in time."},
          "more":{"type":"boolean","description":"More output can be read now."},
          "reason":{"type":"string"}},
          "required":["id","status","stdout","stderr","more"],"additionalProperties":false})"))
        .hints(false, false, false, false);
  }

  static tools::definition signal_definition() {
    return tools::definition("signal_command",
                             "Send a signal to a background command and its process group. See the result in "
                             "read_output.")
        .title("Signal background command")
        .output(schema_of(R"({"type":"object","properties":{"id":{"type":"string"},"signal":{"type":"string"},
          "was_running":{"type":"boolean"}},"required":["id","signal","was_running"],"additionalProperties":false})"))
        .hints(false, true, true, false);
  }

  static tools::definition list_definition() {
    return tools::definition("list_commands", "List the background commands of this session, both running and ended.")
        .title("List background commands")
        .output(schema_of(R"({"type":"object","properties":{"commands":{"type":"array","items":{"type":"object",
          "properties":{"id":{"type":"string"},"cmd":{"type":"string"},"status":{"type":"string"},
          "exit_code":{"type":"integer"},"age_s":{"type":"integer","minimum":0}},
          "required":["id","cmd","status","age_s"],"additionalProperties":false}}},
          "required":["commands"],"additionalProperties":false})"))
        .hints(true, false, true, false);
  }

  static awaitable<answer> start(self_pointer, call& invocation, tools::checked_arguments arguments) {
    const std::shared_ptr<workspace> place = invocation.inside()->place;
    const std::shared_ptr<any_environment> environment = co_await place->environment();
    const background_commands::reservation reserved(place->commands());
    command line = shell_command(arguments);
    line.keep_output(0);
    if (arguments.has("timeout_s")) {
      line.timeout(std::chrono::seconds(arguments.integer("timeout_s")));
    } else {
      line.timeout(no_timeout);
    }
    process running = co_await environment->start(std::move(line));
    const std::shared_ptr<background_command> started =
        place->commands().add(arguments.text("cmd"), environment, std::move(running));
    place->work().spawn(background_command::watch(started));
    boost::json::object facts;
    facts["id"] = started->id;
    facts["status"] = "running";
    co_return told("started as " + started->id + "; call read_output to read its output\n", std::move(facts));
  }

  static awaitable<answer> read(self_pointer self, call& invocation, tools::checked_arguments arguments) {
    const std::shared_ptr<background_command> found = find(invocation, arguments);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.integer("wait_s"));
    while (found->out.empty() && found->err.empty() && !found->over() && std::chrono::steady_clock::now() < until)
      co_await found->changed.wait(until);
    co_return take_output(*found, self->kept_output_);
  }

  /// Returns the output that was not read yet, and removes it from the buffers of the command.
  /// \param max_bytes  the maximum number of bytes of each output stream.
  static answer take_output(background_command& from, std::size_t max_bytes) {
    boost::json::object facts;
    std::string text;
    facts["id"] = from.id;
    add_status(facts, text, from);
    if (from.result && from.result->term_signal() != 0) facts["signal"] = signal_name(from.result->term_signal());
    if (from.result && !from.result->reason().empty()) facts["reason"] = reason_of(*from.result);
    if (!from.result && from.over()) facts["reason"] = from.lost;
    std::uint64_t dropped_out = 0;
    std::uint64_t dropped_err = 0;
    const std::string out = from.out.take(max_bytes, from.over(), dropped_out);
    const std::string err = from.err.take(max_bytes, from.over(), dropped_err);
    const bool more = !(from.out.empty() && from.err.empty()) && out.size() + err.size() != 0;
    text += "\n";
    if (dropped_out + dropped_err != 0)
      text += "(" + std::to_string(dropped_out + dropped_err) + " older bytes were dropped)\n";
    add_stream(text, "stdout", captured_output(to_bytes(out), bytes(), out.size()));
    add_stream(text, "stderr", captured_output(to_bytes(err), bytes(), err.size()));
    if (more) text += "(there is more output: call read_output again)\n";
    facts["stdout"] = out;
    facts["stderr"] = err;
    facts["bytes_dropped"] = dropped_out + dropped_err;
    facts["more"] = more;
    return told(std::move(text), std::move(facts));
  }

  static awaitable<answer> send_signal(self_pointer, call& invocation, tools::checked_arguments arguments) {
    const std::shared_ptr<background_command> found = find(invocation, arguments);
    const std::string name = "SIG" + arguments.text("signal");
    const bool was_running = !found->over();
    if (was_running) {
      const int number = signal_number(name);
      co_await background_command::signal(found, number);
    }
    boost::json::object facts;
    facts["id"] = found->id;
    facts["signal"] = name;
    facts["was_running"] = was_running;
    std::string text = found->id + " had already ended\n";
    if (was_running) text = "sent " + name + " to " + found->id + "\n";
    co_return told(std::move(text), std::move(facts));
  }

  static awaitable<answer> list(self_pointer, call& invocation, tools::checked_arguments) {
    boost::json::array commands;
    std::string text;
    for (const auto& each : invocation.inside()->place->commands().all()) {
      boost::json::object command_facts;
      std::string status;
      const std::string line = one_line(each->line, 200);
      command_facts["id"] = each->id;
      command_facts["cmd"] = line;
      add_status(command_facts, status, *each);
      const auto age = std::chrono::steady_clock::now() - each->started;
      command_facts["age_s"] = std::chrono::duration_cast<std::chrono::seconds>(age).count();
      text += each->id + ": " + one_line(status, 200) + ": " + line + "\n";
      commands.push_back(std::move(command_facts));
    }
    if (commands.empty()) text = "No background commands.\n";
    boost::json::object facts;
    facts["commands"] = std::move(commands);
    co_return told(std::move(text), std::move(facts));
  }

  static std::shared_ptr<background_command> find(const call& invocation, const tools::checked_arguments& arguments) {
    const std::string id = arguments.text("id");
    std::shared_ptr<background_command> found = invocation.inside()->place->commands().find(id);
    if (!found)
      throw error(exec_errc::not_found, "there is no background command '" + one_line(id, 100) +
                                            "' in this session; call list_commands to list them");
    return found;
  }

  /// Sets the status of a command in the answer's JSON data.
  /// \param line  receives the status as a text for the model.
  static void add_status(boost::json::object& facts, std::string& line, const background_command& of) {
    if (!of.over()) {
      facts["status"] = "running";
      line = "running";
    } else if (of.result) {
      const command_outcome outcome = outcome_of(*of.result);
      facts["status"] = outcome.status;
      line = outcome.line;
      if (of.result->exit_code() >= 0) facts["exit_code"] = of.result->exit_code();
    } else {
      facts["status"] = "failed";
      line = "lost: " + of.lost;
    }
  }

  /// Returns the number of a signal.
  /// \param name  such as "SIGTERM". The schema of `signal_command` allows only known signals.
  static int signal_number(std::string_view name) {
    for (int number = 1; number < 32; ++number)
      if (signal_name(number) == name) return number;
    return SIGTERM;
  }

  static answer told(std::string text, boost::json::object facts) {
    answer result(text);
    result.structured(std::move(facts));
    return result;
  }

  std::size_t kept_output_;
  tools::argument_list start_;
  tools::argument_list read_;
  tools::argument_list signal_;
  tools::argument_list list_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
