// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/code/unfenced.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/detail/checked_tool.hpp>
#include <cofferdam/serve/mcp/detail/code_offers.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/live_report.hpp>
#include <cofferdam/serve/mcp/detail/python_answer.hpp>
#include <cofferdam/serve/mcp/detail/python_contexts.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/definition.hpp>

#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The tools `run_python`, `create_python_context` and `close_python_context`.
class python_tool {
 public:
  static void add_to(server_core& core) {
    const auto self = std::make_shared<const python_tool>(core);
    add_checked(core, self, self->arguments_, self->definition(core), &python_tool::run);
    add_checked(core, self, self->create_, self->create_definition(), &python_tool::create);
    add_checked(core, self, self->close_, close_definition(), &python_tool::close);
  }

  /// Writes the functions and tools that code can call into the description of `run_python`, and notifies the clients.
  /// Does nothing if the server has no Python tools.
  static void describe_offers(server_core& core) {
    if (!core.plan.open_runner) return;
    for (std::shared_ptr<const registered_tool>& each : core.tools)
      if (each->what.name() == run_name) {
        tools::definition what = each->what;
        what.description(description(core));
        each = std::make_shared<const registered_tool>(std::move(what), each->serve);
      }
    core.changed("tools", false);
  }

  explicit python_tool(const server_core& core)
      : offers_(core.offers),
        kept_(core.options().kept_output()),
        max_contexts_(core.options().max_contexts()),
        context_timeout_(core.options().context_timeout()) {
    const server_options& options = core.options();
    using tools::argument;
    const auto longest = static_cast<double>(options.max_timeout().count());
    const std::int64_t usual = std::min(options.python_timeout(), options.max_timeout()).count();
    arguments_ = tools::argument_list(
        argument("code", tools::text, "Python source. Plain code, no markdown fences.").between(1, 200'000),
        argument("context_id", tools::text,
                 "The interpreter to use, by the id that create_python_context returned. Leave it out for the shared "
                 "default interpreter.")
            .between(1, 64)
            .otherwise(default_context),
        argument("variables", tools::object,
                 "JSON values to set as global variables before the run. Keys must be Python identifiers.")
            .optional(),
        argument("timeout_s", tools::integer, "Seconds before the run is stopped.")
            .between(1, longest)
            .otherwise(usual),
        argument("reset", tools::boolean, "Restart this interpreter before the run; its variables are lost.")
            .otherwise(false));
    create_ = tools::argument_list(
        argument("label", tools::text, "A note on the purpose of the interpreter.").between(0, 80).optional());
    close_ = tools::argument_list(
        argument("context_id", tools::text, "The id that create_python_context returned.").between(1, 64));
  }

 private:
  using self_pointer = std::shared_ptr<const python_tool>;
  static constexpr const char* default_context = "default";
  static constexpr const char* run_name = "run_python";

  static std::string description(const server_core& core) {
    const server_options& options = core.options();
    std::string text =
        "Run Python code in a persistent interpreter, like a notebook cell, and return what it printed and the value "
        "of its last expression. Variables, imports and functions from earlier calls with the same `context_id` are "
        "still defined. Prefer this to shell commands for calculations, data work and plots.\n"
        "- End the code with a bare expression to get its value; print() everything else you need to see.\n"
        "- Matplotlib figures that are shown or left open come back as images.\n"
        "- `variables` are set as globals before the code runs: pass data there instead of pasting it into the code.\n"
        "- An exception is returned with its traceback; the variables set before it stay.\n"
        "- On a timeout the interpreter may be restarted and its variables lost; the result says so." +
        environment_note(options);
    for (const std::string& each : {options.about_python(), core.offers->about()})
      if (!each.empty()) text += "\n" + each;
    return text;
  }

  tools::definition definition(const server_core& core) const {
    return tools::definition(run_name, description(core))
        .title("Run Python")
        .input(arguments_.schema())
        .output(schema_of(R"({"type":"object","properties":{
          "status":{"type":"string","enum":["ok","error","timeout","cancelled","rejected","failed"]},
          "stdout":{"type":"string"},"stderr":{"type":"string"},
          "stdout_truncated":{"type":"boolean"},"stderr_truncated":{"type":"boolean"},
          "result":{"type":"string","description":"repr() of the last expression, absent if it is None or the code does not end in an expression."},
          "result_json":{"type":"string","description":"The same value as JSON text, when it converts without loss and is at most 64 KiB."},
          "error":{"type":"object","properties":{"type":{"type":"string"},"message":{"type":"string"},"traceback":{"type":"string"}},"required":["type","message"],"additionalProperties":false},
          "images":{"type":"array","items":{"type":"object","properties":{"mime_type":{"type":"string"},"width":{"type":"integer"},"height":{"type":"integer"}},"required":["mime_type"],"additionalProperties":false},"description":"The images that follow as image content, in the same order."},
          "new_files":{"type":"array","items":{"type":"string"},"description":"Files of the workspace that this run created or changed."},
          "context_id":{"type":"string"},"context_restarted":{"type":"boolean"},
          "duration_ms":{"type":"integer","minimum":0},"reason":{"type":"string"}},
          "required":["status","stdout","stderr","context_id","duration_ms"],"additionalProperties":false})"))
        .hints(false, true, false, core.options().open_world());
  }

  tools::definition create_definition() const {
    const std::string minutes = std::to_string((context_timeout_.count() + 59) / 60);
    return tools::definition(
               "create_python_context",
               "Start a separate Python interpreter and return its context_id for run_python. Use it only "
               "to keep two pieces of work apart; otherwise run_python's default interpreter is enough. "
               "Unused interpreters are closed after " +
                   minutes + (minutes == "1" ? " minute" : " minutes") +
                   "; a call with a closed id fails with an error.")
        .title("New Python interpreter")
        .output(schema_of(R"({"type":"object","properties":{"context_id":{"type":"string"},
          "expires_after_idle_s":{"type":"integer"}},"required":["context_id"],"additionalProperties":false})"))
        .hints(false, false, false, false);
  }

  static tools::definition close_definition() {
    return tools::definition(
               "close_python_context",
               "Stop the interpreter `context_id` and free its memory. Its variables are lost; files stay.")
        .title("Close Python interpreter")
        .output(schema_of(R"({"type":"object","properties":{"context_id":{"type":"string"},
          "closed":{"type":"boolean"}},"required":["context_id","closed"],"additionalProperties":false})"))
        .hints(false, true, true, false);
  }

  static awaitable<answer> create(self_pointer self, call& invocation, tools::checked_arguments) {
    const std::shared_ptr<workspace> place = invocation.inside()->place;
    const std::string id = place->contexts().add(self->max_contexts_, std::chrono::steady_clock::now());
    if (place->contexts().watch()) place->work().spawn(end_unused(place, self->context_timeout_));
    boost::json::object facts;
    facts["context_id"] = id;
    facts["expires_after_idle_s"] = self->context_timeout_.count();
    answer result(id + "\n");
    result.structured(std::move(facts));
    co_return result;
  }

  static awaitable<answer> close(self_pointer, call& invocation, tools::checked_arguments arguments) {
    const std::shared_ptr<workspace> place = invocation.inside()->place;
    const std::string id = arguments.text("context_id");
    bool closed = place->contexts().remove(id);
    if (closed || id == default_context) {
      const bool was_used = co_await end_context(place, id);
      closed = closed || was_used;
    }
    boost::json::object facts;
    facts["context_id"] = one_line(id, 64);
    facts["closed"] = closed;
    answer result(closed ? "closed\n" : "unknown interpreter '" + one_line(id, 64) + "'\n");
    result.structured(std::move(facts));
    co_return result;
  }

  /// Ends an interpreter. Returns false if it does not exist; an interpreter is made only at its first use.
  static awaitable<bool> end_context(std::shared_ptr<workspace> place, std::string id) {
    const std::shared_ptr<opened_runner> opened = place->open_runner_now();
    if (!opened) co_return false;
    const bool ended = co_await opened->runner.end_context(std::move(id));
    co_return ended;
  }

  /// Ends unused interpreters at regular intervals, until none are left.
  static awaitable<void> end_unused(std::shared_ptr<workspace> place, std::chrono::seconds idle) {
    asio::steady_timer timer(place->executor());
    while (!place->contexts().empty()) {
      timer.expires_after(std::max<std::chrono::milliseconds>(idle / 4, std::chrono::milliseconds(250)));
      co_await timer.async_wait(asio::use_awaitable);
      const std::vector<std::string> old = place->contexts().take_unused(std::chrono::steady_clock::now() - idle);
      for (const std::string& id : old) {
        try {
          co_await end_context(place, id);
        } catch (const std::exception&) {  // the runner is lost, and all its interpreters with it
        }
      }
    }
    place->contexts().watch_no_more();
  }

  static awaitable<answer> run(self_pointer self, call& invocation, tools::checked_arguments arguments) {
    const std::string context = arguments.text("context_id");
    python_contexts& contexts = invocation.inside()->place->contexts();
    if (context != default_context && !contexts.contains(context))
      co_return answer::failed(invocation.name() + ": context '" + one_line(context, 64) +
                               "' does not exist or has expired; call create_python_context");
    const python_contexts::use in_use(contexts, context);
    code_request run_request(cofferdam::detail::unfenced(arguments.text("code")));
    run_request.context(context).keep_output(self->kept_).timeout(std::chrono::seconds(arguments.integer("timeout_s")));
    const boost::json::object variables = arguments.object("variables");
    for (const auto& each : variables) run_request.variable(std::string(each.key()), each.value());
    run_request = self->offers_->offer(std::move(run_request));

    const std::shared_ptr<workspace> place = invocation.inside()->place;
    const std::shared_ptr<opened_runner> opened = co_await place->runner();
    co_await workspace::take_turn(place);
    const cofferdam::detail::held_permits turn = place->turn();
    const std::shared_ptr<live_report> report = place->report(invocation.inside(), invocation.name());
    const reporting at_end(report);
    const auto feed = [report](output_stream stream, bytes_view piece) { report->feed(stream, piece); };
    if (report) run_request.on_output(feed);
    bool was_reset = false;
    if (arguments.boolean("reset")) was_reset = co_await opened->runner.end_context(context);
    const code_result result = co_await opened->runner.run_code(std::move(run_request));
    co_return python_answer(result, context, was_reset);
  }

  std::shared_ptr<const code_offers> offers_;
  std::size_t kept_;
  std::size_t max_contexts_;
  std::chrono::seconds context_timeout_;
  tools::argument_list arguments_;
  tools::argument_list create_;
  tools::argument_list close_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
