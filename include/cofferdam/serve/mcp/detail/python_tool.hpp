// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/detail/command_tools.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/image_header.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::mcp::detail {

/// Python as a tool. specs/mcp-and-llm.md, 9.2 and 10.1.
class python_tool {
 public:
  static void add_to(server_core& core) {
    const auto self = std::make_shared<const python_tool>(core.options());
    tool_handler serve = [self](call& made) { return run(self, made); };
    core.tools.push_back(std::make_shared<const registered_tool>(self->definition(), std::move(serve)));
  }

  explicit python_tool(const server_options& options)
      : kept_(options.kept_output()), about_(options.about_environment()), open_world_(options.open_world()) {
    using tools::argument;
    using tools::argument_kind;
    const auto longest = static_cast<double>(options.longest_time().count());
    const std::int64_t usual = std::min(options.python_time(), options.longest_time()).count();
    arguments_ = tools::argument_list(
        argument("code", argument_kind::text, "Python source. Plain code, no markdown fences.")
            .required()
            .between(1, 200'000),
        argument("context_id", argument_kind::text,
                 "Which interpreter to use: up to 64 letters, digits, dashes and underscores; one of a new name is "
                 "made. Leave it out to use the shared default one.")
            .between(1, 64)
            .otherwise("default"),
        argument("variables", argument_kind::object,
                 "JSON values to assign as global variables first. Keys must be Python identifiers."),
        argument("timeout_s", argument_kind::integer, "Seconds before the run is stopped.")
            .between(1, longest)
            .otherwise(usual),
        argument("reset", argument_kind::boolean, "Start this interpreter afresh before running.").otherwise(false));
  }

 private:
  tool_definition definition() const {
    return tool_definition("run_python",
                           "Run Python code in a persistent interpreter, like a notebook cell, and return what it "
                           "printed and the value of its last expression. Variables, imports and functions from "
                           "earlier calls with the same `context_id` are still defined. Prefer this to shell commands "
                           "for calculations, data work and plots.\n"
                           "- End the code with a bare expression to get its value; print() whatever else you need to "
                           "see.\n"
                           "- Matplotlib figures that are shown or left open come back as images.\n"
                           "- `variables` are set as globals before the code runs: pass data there instead of pasting "
                           "it into the code.\n"
                           "- An exception is returned with its traceback; the variables set before it stay.\n"
                           "- On a timeout the interpreter may be restarted and its variables lost; the result says "
                           "so." +
                               (about_.empty() ? std::string() : "\n- " + about_))
        .title("Run Python")
        .input(arguments_.schema())
        .output(schema_of(R"({"type":"object","properties":{
          "status":{"type":"string","enum":["ok","error","timeout","cancelled","rejected","failed"]},
          "stdout":{"type":"string"},"stderr":{"type":"string"},
          "stdout_truncated":{"type":"boolean"},"stderr_truncated":{"type":"boolean"},
          "result":{"type":"string","description":"repr() of the last expression, absent when it is None or there is none."},
          "result_json":{"type":"string","description":"The same value as JSON text, when it converts without loss and is at most 64 KiB."},
          "error":{"type":"object","properties":{"type":{"type":"string"},"message":{"type":"string"},"traceback":{"type":"string"}},"required":["type","message"],"additionalProperties":false},
          "images":{"type":"array","items":{"type":"object","properties":{"mime_type":{"type":"string"},"width":{"type":"integer"},"height":{"type":"integer"}},"required":["mime_type"],"additionalProperties":false},"description":"The images that follow as image content, in the same order."},
          "new_files":{"type":"array","items":{"type":"string"},"description":"Workspace files created or changed by this run."},
          "context_id":{"type":"string"},"context_restarted":{"type":"boolean"},
          "duration_ms":{"type":"integer","minimum":0},"reason":{"type":"string"}},
          "required":["status","stdout","stderr","context_id","duration_ms"],"additionalProperties":false})"))
        .hints(false, true, false, open_world_);
  }

  static bool is_context_name(std::string_view name) {
    return std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
  }

  static awaitable<answer> run(std::shared_ptr<const python_tool> self, call& made) {
    tools::checked_arguments arguments;
    std::string complaint = self->arguments_.check(made.arguments(), arguments);
    if (complaint.empty() && !is_context_name(arguments.text("context_id")))
      complaint = "Wrong arguments: 'context_id' must be letters, digits, dashes and underscores.";
    if (!complaint.empty()) co_return answer::failed(made.name() + ": " + complaint);
    const std::string context = arguments.text("context_id");
    code_request wanted(arguments.text("code"));
    wanted.context(context).keep_output(self->kept_).timeout(std::chrono::seconds(arguments.integer("timeout_s")));
    const boost::json::object variables = arguments.object("variables");
    for (const auto& each : variables) wanted.variable(std::string(each.key()), each.value());

    const std::shared_ptr<workspace> place = made.inside()->place;
    const std::shared_ptr<opened_runner> opened = co_await place->runner();
    co_await workspace::take_turn(place);
    const cofferdam::detail::allotted turn = place->turn();
    const std::shared_ptr<live_report> report = place->report(made.inside(), made.name());
    const reporting at_end(report);
    if (report) wanted.on_output([report](output_stream stream, bytes_view piece) { report->feed(stream, piece); });
    bool was_reset = false;
    if (arguments.boolean("reset")) was_reset = co_await opened->runner.end_context(context);
    const code_result result = co_await opened->runner.run_code(std::move(wanted));
    co_return show(result, context, was_reset);
  }

  static answer show(const code_result& result, const std::string& context, bool was_reset) {
    boost::json::object facts;
    const std::string time = " (" + seconds_text(result.duration()) + ")";
    std::string text;
    bool is_error = false;
    const char* status = "ok";
    const bool lost = result.context_lost() || result.driver_restarted();
    if (result.kind() == error_kind::timeout) {
      status = "timeout";
      text =
          "timed out" + time + (result.context_lost() ? "; the interpreter was restarted, its variables are lost" : "");
      is_error = true;
    } else if (is_rejection(result.kind())) {
      status = "rejected";
      text = "not run: " + result.reason();
      is_error = true;
    } else if (result.kind() != error_kind::none) {
      status = "failed";
      text = "could not run: " + result.reason();
      is_error = true;
    } else if (result.failure()) {
      status = "error";
      text =
          "error " + one_line(result.failure()->type(), 100) + ": " + one_line(result.failure()->message(), 500) + time;
    } else if (result.term_signal() != 0) {
      status = "error";
      text = "the interpreter was killed by " + signal_name(result.term_signal()) + time;
    } else if (result.exit_code() != 0) {
      status = "error";
      text = "exit code " + std::to_string(result.exit_code()) + time;
    } else {
      text = "ok" + time;
    }
    text += "\n";
    if (lost && result.kind() != error_kind::timeout)
      text += "The interpreter was restarted; its variables are lost.\n";
    constexpr std::size_t most_value = 10'000;
    constexpr std::size_t most_json = 64 * 1024;
    if (!result.value_text().empty()) {
      std::string value;
      append_repaired_utf8(value, without_cut_end(std::string_view(result.value_text()).substr(0, most_value)));
      if (result.value_text().size() > most_value) value += " ...";
      text += "--- result ---\n" + printable_text(value) + "\n";
      facts["result"] = value;
      if (result.value() && result.value_is_exact()) {
        const std::string exact = boost::json::serialize(*result.value());
        if (exact.size() <= most_json) facts["result_json"] = exact;
      }
    }
    add_stream(text, "stdout", result.out());
    add_stream(text, "stderr", result.err());
    if (result.failure()) {
      boost::json::object wrong;
      wrong["type"] = good(result.failure()->type());
      wrong["message"] = good(result.failure()->message());
      wrong["traceback"] = good(result.failure()->traceback());
      facts["error"] = std::move(wrong);
      // Where standard error has the traceback already, the exception is not told twice.
      if (result.err().total() == 0)
        text += "--- traceback ---\n" + printable_text(good(result.failure()->traceback()));
    }
    facts["status"] = status;
    add_streams(facts, result.out(), result.err());
    facts["context_id"] = context;
    facts["context_restarted"] = lost || was_reset;
    facts["duration_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(result.duration()).count();
    if (!result.reason().empty()) facts["reason"] = result.reason();
    add_files(result, text, facts);
    answer images;
    add_images(result, facts, images);
    answer said(text);
    for (const content& one : images.blocks()) said.add(one);
    said.structured(std::move(facts)).is_error(is_error);
    return said;
  }

  static std::string good(std::string_view text) {
    std::string made;
    append_repaired_utf8(made, text);
    return made;
  }

  static void add_files(const code_result& result, std::string& text, boost::json::object& facts) {
    constexpr std::size_t most = 50;
    boost::json::array all;
    std::string names;
    for (const generated_file& each : result.files()) {
      if (all.size() == most) {
        names += ", ...";
        break;
      }
      const std::string shown = one_line(each.path());
      names += (names.empty() ? "" : ", ") + shown;
      all.emplace_back(shown);
    }
    if (all.empty()) return;
    text += "--- new files ---\n" + names + "\n";
    facts["new_files"] = std::move(all);
  }

  static void add_images(const code_result& result, boost::json::object& facts, answer& into) {
    constexpr std::size_t most_images = 8;
    constexpr std::size_t most_bytes = std::size_t{4} * 1024 * 1024;
    boost::json::array shown;
    for (const display_output& each : result.displays()) {
      for (const char* const kind : {"image/png", "image/jpeg"}) {
        const auto found = each.forms().find(kind);
        if (found == each.forms().end() || shown.size() == most_images || found->second.size() > most_bytes) continue;
        std::string plain = found->second;
        std::erase(plain, '\n');
        const std::optional<bytes> file = base64_decode(plain);
        const std::optional<tools::image_header> header = file ? tools::read_image_header(*file) : std::nullopt;
        if (!header || !header->has_size() || tools::mime_type(header->format) != kind) continue;
        boost::json::object one;
        one["mime_type"] = kind;
        one["width"] = header->width;
        one["height"] = header->height;
        shown.push_back(std::move(one));
        into.add(content::image(*file, kind));
        break;
      }
    }
    if (!shown.empty()) facts["images"] = std::move(shown);
  }

  std::size_t kept_;
  std::string about_;
  bool open_world_;
  tools::argument_list arguments_;
};

}  // namespace cofferdam::inline v0::mcp::detail
