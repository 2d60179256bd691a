// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_layer.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/code/function_text.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/detail/code/unfenced.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/tools/image_header.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that runs Python code in a runner: `tools::run_python tool(runner);`
///
/// Its arguments are `code`, `timeout` in seconds, and `variables`, an object of global variables with JSON values.
/// (Tags as in `tagged_value.hpp` are not interpreted in these values.) A Markdown fence around the code is removed. If
/// the runner has contexts, there are also `context_id` and `reset`. The default context is named "default" and keeps
/// its variables between calls.
///
/// Code can call functions of the program: `tool.functions(tide, height)`. The description lists them, and the tools of
/// a runner with `mcp::offer_tools`, so that the model can use them.
///
/// The answer has the form that `format_result` gives a command, but inside `<python_results>`. It also has the value
/// of the last expression and the names of the new files. PNG and JPEG images that the code displays are shown to the
/// model.
/// \par Lifetime  the runner outlives the tool and its calls, and stays at one address.
template <code_runner R>
class run_python {
 public:
  /// Makes the tool for a runner, which the caller keeps open.
  explicit run_python(R& runner)
      : runner_(&runner), arguments_(list()), from_runner_(cofferdam::detail::about_tools(runner)) {
    describe();
  }

  std::string_view name() const noexcept { return name_; }
  /// Sets the name. Default: "run_python". An agent with two runners needs two different names.
  run_python& name(std::string text) {
    name_ = std::move(text);
    return *this;
  }
  std::string_view description() const noexcept { return whole_description_; }
  /// Sets the description, which the model reads. It should list the installed packages. The descriptions of functions
  /// are added to it.
  run_python& description(std::string text) {
    description_ = std::move(text);
    describe();
    return *this;
  }
  /// Adds functions of the program that the code may call, as `code_request::function` does.
  /// \param given  each a `tools::function`. Two functions with one name make each call fail.
  /// \throws error{exec_errc::invalid_argument} if a name is not valid in Python.
  template <std::convertible_to<cofferdam::detail::host_function>... Functions>
    requires(sizeof...(Functions) > 0)
  run_python& functions(const Functions&... given) {
    (functions_.push_back(given), ...);
    describe();
    return *this;
  }
  boost::json::object parameters() const { return arguments_.schema(); }

  /// Runs the code and returns its result as text.
  /// \throws error{exec_errc::cancelled}, error{exec_errc::provider_lost}, error{exec_errc::environment_closed}; never
  ///     because of the model's arguments or the outcome of the code.
  /// \par Cancellation  terminal: the code is ended.
  awaitable<tool_result> call(boost::json::value arguments) {
    return call(std::move(arguments), tool_output_listener());
  }
  /// Runs the code and passes its output to the listener.
  awaitable<tool_result> call(boost::json::value arguments, tool_output_argument listener) {
    return run(runner_, arguments_, functions_, std::move(arguments), listener.take());
  }

 private:
  static argument_list list() {
    argument code("code", text, "Python source. Plain code, no markdown fences.");
    argument limit("timeout", number, "Seconds before the run is stopped. Optional.");
    argument variables("variables", object,
                       "JSON values to set as global variables before the run; the names must be Python identifiers. "
                       "Optional.");
    if constexpr (context_runner<R>) {
      return argument_list(
          std::move(code).between(1, 1'000'000), std::move(limit).between(0.001, 86'400).optional(),
          std::move(variables).optional(),
          argument("context_id", text, "The interpreter to use. Leave it out for the default interpreter.")
              .between(1, 200)
              .otherwise("default"),
          argument("reset", boolean, "Restart this interpreter before the run; its variables are lost.")
              .otherwise(false));
    } else {
      return argument_list(std::move(code).between(1, 1'000'000), std::move(limit).between(0.001, 86'400).optional(),
                           std::move(variables).optional());
    }
  }

  void describe() {
    whole_description_ = description_;
    for (const std::string& each : {from_runner_, cofferdam::detail::function_list(functions_)})
      if (!each.empty()) whole_description_ += "\n" + each;
  }

  static awaitable<tool_result> run(R* runner, const argument_list& known,
                                    const std::vector<cofferdam::detail::host_function>& functions,
                                    boost::json::value arguments, tool_output_listener listener) {
    checked_arguments values;
    std::string complaint = known.check(arguments, values);
    if (!complaint.empty()) co_return tool_result("Error: " + complaint, false);
    try {
      code_request request(cofferdam::detail::unfenced(values.text("code")));
      if (values.has("timeout"))
        request.timeout(std::chrono::milliseconds(std::llround(std::max(values.number("timeout") * 1000, 1.0))));
      for (const auto& each : values.object("variables")) request.variable(each.key(), python_json(each.value()));
      for (const cofferdam::detail::host_function& each : functions) request.function(each);
      if (listener) request.on_output(std::move(listener));
      if constexpr (context_runner<R>) {
        const std::string context = values.text("context_id");
        if (values.boolean("reset")) co_await runner->end_context(context);
        request.context(context);
      }
      const code_result result = co_await runner->run_code(std::move(request));
      co_return show(result);
    } catch (const error& failure) {
      if (cofferdam::detail::ends_everything(failure)) throw;
      complaint = failure.what();
    }
    co_return tool_result("Error: " + complaint, false);
  }

  static tool_result show(const code_result& result) {
    command_result same = command_result::exited(result.exit_code());
    same.term_signal(result.term_signal())
        .kind(result.kind())
        .reason(result.reason())
        .out(result.out())
        .err(result.err());
    std::string text = format_result(same);
    constexpr std::string_view open = "<shell_results>";
    constexpr std::string_view close = "</shell_results>";
    text.replace(0, open.size(), "<python_results>");
    text.resize(text.size() - close.size());
    const auto add = [&text](std::string_view name, std::string_view value) {
      cofferdam::detail::append_field(text, name, value);
    };
    constexpr std::size_t max_value = 10'000;
    if (!result.value_text().empty()) {
      std::string value = printable_text(std::string_view(result.value_text()).substr(0, max_value));
      if (result.value_text().size() > max_value) value += " ...";
      add("value", value);
    }
    // The traceback of the exception is added only if standard error does not contain it already.
    if (result.failure() && result.err().total() == 0) add("exception", printable_text(result.failure()->traceback()));
    std::string files;
    std::size_t count = 0;
    for (const generated_file& each : result.files()) {
      if (++count > 50) break;
      files += (files.empty() ? "" : ", ") + one_line(each.path());
    }
    if (count > 50) files += ", ...";
    if (!files.empty()) add("files", files);
    if (result.driver_restarted())
      add("note", context_runner<R> ? "The interpreter died before this call and was restarted; the variables of "
                                      "earlier calls, in every context, are lost."
                                    : "The interpreter died before this call and was restarted.");
    if (result.context_lost()) add("note", "The interpreter was ended, and its variables are lost.");
    text += "</python_results>";
    boost::json::object facts;
    facts["exit_code"] = result.exit_code();
    facts["success"] = result.ok();
    tool_result answer(text, result.ok());
    answer.data(std::move(facts));
    add_images(result, answer);
    return answer;
  }

  static void add_images(const code_result& result, tool_result& answer) {
    constexpr std::size_t max_images = 8;
    constexpr std::size_t max_bytes = std::size_t{5} * 1024 * 1024;
    for (const display_output& each : result.displays()) {
      for (const char* const kind : {"image/png", "image/jpeg"}) {
        const auto found = each.forms().find(kind);
        if (found == each.forms().end() || answer.images().size() == max_images) continue;
        if (found->second.size() > max_bytes / 3 * 4) continue;
        std::string plain = found->second;
        std::erase(plain, '\n');
        std::optional<bytes> content = cofferdam::detail::base64_decode(plain);
        const std::optional<detail::image_header> header = content ? detail::read_image_header(*content) : std::nullopt;
        if (!header || !header->has_size() || detail::mime_type(header->format) != kind) continue;
        answer.image(tool_image(std::move(*content), kind));
        break;
      }
    }
  }

  R* runner_;
  argument_list arguments_;
  std::string from_runner_;
  std::vector<cofferdam::detail::host_function> functions_;
  std::string whole_description_;
  std::string name_ = "run_python";
  std::string description_ =
      context_runner<R> ? "Run Python code in a persistent interpreter, like a notebook cell, and return what it "
                          "printed and the value of its last expression. Variables and imports of earlier calls are "
                          "still defined. Prefer this to shell commands for calculations, data and plots."
                        : "Run Python code and return what it printed and the value of its last expression. "
                          "Only files persist between calls.";
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
