// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/checked_tool.hpp>
#include <cofferdam/serve/mcp/detail/command_answer.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/live_report.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/serve/mcp/detail/shell_arguments.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/definition.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

template <class = void>
class basic_code_exec_tool;
using code_exec_tool = basic_code_exec_tool<>;

/// The tool `code_exec`, which runs a command and waits for its end.
template <class>
class basic_code_exec_tool {
 public:
  static void add_to(server_core& core) {
    const auto self = std::make_shared<const basic_code_exec_tool>(core.options());
    add_checked(core, self, self->arguments_, definition(core.options()), &basic_code_exec_tool::run);
  }

  explicit basic_code_exec_tool(const server_options& options) : kept_output_(options.kept_output()) {
    const auto longest = static_cast<double>(options.max_timeout().count());
    const std::int64_t usual = std::min(options.command_timeout(), options.max_timeout()).count();
    using tools::argument;
    arguments_ = tools::argument_list(
        command_line_argument(
            "The bash command line. May span several lines and use pipes, &&, redirects and here-documents."),
        directory_argument(),
        argument("timeout_s", tools::integer, "Seconds before the command is killed. Raise it for builds and installs.")
            .between(1, longest)
            .otherwise(usual),
        argument("stdin", tools::text, "Text for the command's standard input.").optional());
  }

 private:
  static tools::definition definition(const server_options& options) {
    return tools::definition(
               "code_exec",
               "Run one command line with bash in the sandbox workspace, wait for it to end, and return "
               "its exit code, stdout and stderr. Use it to run programs and tests, install packages, and "
               "inspect, search, move or delete files.\n"
               "- Every call starts a new shell in `cwd`: files persist between calls, exported variables and `cd` do "
               "not.\n"
               "- It is not interactive: stdin is empty unless `stdin` is given. Pass flags such as -y; "
               "never start an editor, a pager or a REPL.\n"
               "- A non-zero exit code is a normal result, not a tool failure: read stderr and decide.\n"
               "- Long output is cut in the middle. To keep all of it, redirect to a file and read parts "
               "with read_file.\n"
               "- After `timeout_s` seconds the command and everything it started are killed. For servers "
               "and long work use start_command." +
                   environment_note(options))
        .title("Run shell command")
        .output(schema_of(R"({"type":"object","properties":{
          "status":{"type":"string","enum":["exited","signaled","timeout","cancelled","rejected","failed"],"description":"exited: the command ran to its end, see exit_code. rejected: a policy refused the command. failed: the sandbox could not run it."},
          "exit_code":{"type":"integer","description":"Present when status is exited."},
          "signal":{"type":"string","description":"Present when status is signaled, such as SIGKILL."},
          "stdout":{"type":"string"},"stderr":{"type":"string"},
          "stdout_truncated":{"type":"boolean"},"stderr_truncated":{"type":"boolean"},
          "stdout_bytes":{"type":"integer","minimum":0},"stderr_bytes":{"type":"integer","minimum":0},
          "duration_ms":{"type":"integer","minimum":0},
          "reason":{"type":"string","description":"Why, when status is rejected or failed."}},
          "required":["status","stdout","stderr","stdout_truncated","stderr_truncated","duration_ms"],
          "additionalProperties":false})"))
        .hints(false, true, false, options.open_world());
  }

  /// Runs a command. Sends the output to the client while the command runs, if the client wants such reports and the
  /// environment supports them.
  static awaitable<answer> run(std::shared_ptr<const basic_code_exec_tool> self, call& invocation,
                               tools::checked_arguments arguments) {
    const std::shared_ptr<workspace> place = invocation.inside()->place;
    const std::shared_ptr<any_environment> environment = co_await place->environment();
    co_await workspace::take_turn(place);
    const cofferdam::detail::held_permits turn = place->turn();
    command line = shell_command(arguments);
    line.timeout(std::chrono::seconds(arguments.integer("timeout_s"))).keep_output(self->kept_output_);
    if (arguments.has("stdin")) line.input(arguments.text("stdin"));
    std::shared_ptr<live_report> report;
    if (environment->can_start()) report = place->report(invocation.inside(), invocation.name());
    if (!report) {
      const command_result result = co_await environment->run_command(std::move(line));
      co_return command_answer(result);
    }
    const reporting at_end(report);
    const auto feed = [&report](const output_chunk& piece) { report->feed(piece.stream(), piece.data()); };
    const command_result result = co_await stream_output(*environment, std::move(line), feed);
    co_return command_answer(result);
  }

  std::size_t kept_output_;
  tools::argument_list arguments_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
