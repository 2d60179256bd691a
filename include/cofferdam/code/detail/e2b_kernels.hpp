// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/driver_report.hpp>
#include <cofferdam/code/detail/e2b_interpreter_settings.hpp>
#include <cofferdam/code/detail/embedded_text.hpp>
#include <cofferdam/code/detail/python_kernel.hpp>
#include <cofferdam/code/detail/request_values.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/output_collector.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/regex.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns a text without the colour codes that IPython puts into tracebacks.
inline std::string without_colours(const std::string& text) {
  static const boost::regex code("\x1B\\[[0-9;]*m");
  return boost::regex_replace(text, code, "");
}

/// Returns the last line that a traceback names of the newest cell in it; 0 if it names none. The cell that has failed
/// is newer than all cells that it calls.
inline int line_in_cell(const std::string& traceback) {
  static const boost::regex place(
      "(?:File \"<code (\\d{1,8})>\"|(?:Cell In ?|Input In ?)\\[(\\d{1,8})\\]), line (\\d{1,8})");
  int newest = 0;
  int line = 0;
  for (boost::sregex_iterator at(traceback.begin(), traceback.end(), place), end; at != end; ++at) {
    const int number = std::stoi((*at)[1].str() + (*at)[2].str());
    if (number >= newest) line = std::stoi((*at)[3].str());
    newest = std::max(newest, number);
  }
  return line;
}

/// Returns the exit code of the argument of SystemExit, as IPython writes it.
inline int exit_code_of(const std::string& argument) {
  if (argument.empty() || argument == "None") return 0;
  long code = 0;
  const char* const end = argument.data() + argument.size();
  const auto [last, failure] = std::from_chars(argument.data(), end, code);
  return failure == std::errc() && last == end ? static_cast<int>(code & 255) : 1;
}

/// Returns a displayed value with MIME types in place of the service's names.
inline display_output display_of(const e2b::rich_output& shown) {
  static const std::map<std::string, std::string> types{{"text", "text/plain"},
                                                        {"html", "text/html"},
                                                        {"markdown", "text/markdown"},
                                                        {"svg", "image/svg+xml"},
                                                        {"png", "image/png"},
                                                        {"jpeg", "image/jpeg"},
                                                        {"pdf", "application/pdf"},
                                                        {"latex", "text/latex"},
                                                        {"json", "application/json"},
                                                        {"chart", "application/vnd.e2b.chart+json"},
                                                        {"data", "application/vnd.e2b.data+json"},
                                                        {"javascript", "application/javascript"}};
  std::map<std::string, std::string> forms;
  forms["text/plain"];
  for (const auto& [name, content] : shown.forms()) {
    const auto type = types.find(name);
    if (type != types.end()) forms[type->second] = content;
  }
  return display_output(std::move(forms), shown.is_value());
}

/// The kernels of one runner: the interpreter of a sandbox, and its contexts.
class e2b_kernels {
 public:
  e2b_kernels(e2b::environment opened, const asio::any_io_executor& executor, e2b_interpreter_settings with)
      : environment(std::move(opened)),
        settings(with),
        interpreter(environment),
        executor_(executor),
        making_(executor, 1) {}

  e2b::environment environment;
  const e2b_interpreter_settings settings;
  std::string version;

  /// Proves that there is an interpreter, and stores its version.
  static awaitable<void> greet(std::shared_ptr<e2b_kernels> self) {
    e2b::execution done =
        co_await self->interpreter.run(e2b::code("import platform\nprint(platform.python_version())"));
    std::string text = done.out().text();
    text.erase(text.find_last_not_of('\n') + 1);
    self->version = std::move(text);
  }

  static awaitable<code_result> run(std::shared_ptr<e2b_kernels> self, code_request request) {
    if (!request.functions().empty() || !request.final_name().empty())
      throw error(exec_errc::unsupported,
                  "e2b_interpreter: the service cannot call functions of this program; run the code by "
                  "e2b::from_template(...) | python() instead");
    code_result result;
    if (!is_utf8(request))
      co_return code_result::refused(error_kind::invalid_argument,
                                     "The code, a variable or a name in it is not UTF-8.");
    std::shared_ptr<kernel> in;
    const auto works = [&]() -> awaitable<void> {
      std::shared_ptr<kernel> found = co_await self->kernel_for(self, request);
      in = std::move(found);
      co_await in->turn.acquire(1, "run_code");
      const held_permits mine(in->turn, 1);
      code_result ran = co_await run_in(self, in, request);
      result = std::move(ran);
    };
    const auto ends = [&]() -> awaitable<void> {
      if (!in || request.context()) return {};
      return forget(self, in->context);
    };
    co_await with_cleanup(works, ends);
    tell(request, result);
    co_return result;
  }

  static awaitable<bool> end(std::shared_ptr<e2b_kernels> self, std::string name) {
    const auto found = self->kernels_.find(name);
    if (found == self->kernels_.end()) co_return false;
    const std::shared_ptr<kernel> ended = found->second;
    self->kernels_.erase(found);
    std::erase(self->names_, name);
    co_await forget(self, ended->context);
    co_return true;
  }

  const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  class kernel {
   public:
    kernel(e2b::code_context which, const asio::any_io_executor& executor)
        : context(std::move(which)), turn(executor, 1) {}
    e2b::code_context context;
    async_semaphore turn;
  };

  static bool is_utf8(const code_request& request) {
    return is_valid_utf8(request.source()) && is_valid_utf8(request.prelude()) &&
           is_valid_utf8(boost::json::serialize(request.variables())) &&
           is_valid_utf8(boost::json::serialize(request.environment()));
  }

  /// Returns the kernel of the request's context, or a new one for a request without a context.
  static awaitable<std::shared_ptr<kernel>> kernel_for(std::shared_ptr<e2b_kernels> self, const code_request& request) {
    co_await self->making_.acquire(1, "run_code");
    const held_permits mine(self->making_, 1);
    if (request.context()) {
      const auto found = self->kernels_.find(*request.context());
      if (found != self->kernels_.end()) co_return found->second;
    }
    e2b::code_context created = co_await self->interpreter.make_context("python");
    auto fresh = std::make_shared<kernel>(std::move(created), self->executor_);
    if (request.context()) {
      self->kernels_.emplace(*request.context(), fresh);
      self->names_.push_back(*request.context());
    }
    co_return fresh;
  }

  /// Removes a context of the service, unless it is gone already.
  static awaitable<void> forget(std::shared_ptr<e2b_kernels> self, e2b::code_context which) {
    try {
      co_await self->interpreter.remove(std::move(which));
    } catch (const error& failure) {
      if (failure.code() != exec_errc::not_found) throw;
    }
  }

  static awaitable<code_result> run_in(std::shared_ptr<e2b_kernels> self, std::shared_ptr<kernel> in,
                                       const code_request& request) {
    code_result result;
    bool is_gone = false;
    try {
      const std::vector<std::string> preparation = cells_before(request);
      for (const std::string& each : preparation) {
        e2b::execution prepared = co_await self->interpreter.run(self->cell(each, in, request));
        if (!prepared.ok()) co_return self->result_of(prepared, request, false);
      }
      e2b::execution done = co_await self->interpreter.run(self->cell(request.source(), in, request));
      result = self->result_of(done, request, true);
      bool has_value = false;
      for (const e2b::rich_output& shown : done.results()) has_value = has_value || shown.is_value();
      if (has_value && result.ok()) {
        e2b::code reads = self->cell("print(" + kernel_call("last_value", "") + ")", in, request);
        reads.keep(std::size_t{16} << 20, 0);
        e2b::execution read = co_await self->interpreter.run(std::move(reads));
        set_value(result, done, read);
      }
    } catch (const error& failure) {
      if (failure.code() != exec_errc::not_found) throw;
      is_gone = true;
    }
    if (!is_gone) co_return result;
    self->drop(in);
    result = code_result::refused(error_kind::execution_error, "The context was removed while the code ran.");
    result.context_lost(request.context().has_value());
    co_return result;
  }

  void drop(const std::shared_ptr<kernel>& lost) {
    for (auto at = kernels_.begin(); at != kernels_.end(); ++at)
      if (at->second == lost) {
        std::erase(names_, at->first);
        kernels_.erase(at);
        return;
      }
  }

  /// Returns a cell with the settings of a request.
  e2b::code cell(std::string source, const std::shared_ptr<kernel>& in, const code_request& request) const {
    e2b::code what(std::move(source));
    what.in(in->context).timeout(request.timeout().value_or(settings.timeout));
    what.keep(request.kept_output().value_or(settings.kept_output), e2b::execution_limits().results());
    for (const auto& [name, value] : request.environment())
      what.variable(std::string(name), value.is_string() ? std::string(view_of(value.get_string())) : std::string());
    return what;
  }

  /// Returns an expression that calls a function of `kernel.py`, and brings that program along. It binds no name.
  static std::string kernel_call(const std::string& function, const std::string& argument) {
    static const std::string program = base64_encode(as_bytes(embedded_text(python_kernel)));
    const std::string module =
        "__import__('sys').modules.setdefault('_cofferdam', __import__('types').ModuleType('_cofferdam'))";
    const std::string brings = "exec(__import__('base64').b64decode('" + program + "'), " + module + ".__dict__)";
    return "(hasattr(" + module + ", 'prepare') or " + brings + ") and None or " + module + "." + function +
           "(globals()" + (argument.empty() ? "" : ", '" + argument + "'") + ")";
  }

  /// Returns the cells that set the variables of a request and execute its prelude; none if it has neither.
  static std::vector<std::string> cells_before(const code_request& request) {
    constexpr std::size_t max_part = std::size_t{512} << 10;
    std::vector<std::string> cells;
    if (request.variables().empty() && request.prelude().empty() && request.classes().empty()) return cells;
    const std::string text = boost::json::serialize(request_values(request));
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(max_part, rest.size())))
      cells.push_back(kernel_call("add", base64_encode(as_bytes(rest.substr(0, max_part)))));
    cells.push_back(kernel_call("prepare", ""));
    return cells;
  }

  /// \param is_code  false for the cell before the code, so that no line of the code is blamed.
  code_result result_of(const e2b::execution& done, const code_request& request, bool is_code) const {
    code_result result;
    result.exit_code(0).out(done.out()).err(done.err()).duration(done.duration());
    std::vector<display_output> displays;
    for (const e2b::rich_output& shown : done.results()) displays.push_back(display_of(shown));
    result.displays(std::move(displays)).files({}, false);
    if (done.timed_out())
      return result.exit_code(-1)
          .kind(error_kind::timeout)
          .reason("The code ran longer than its time limit and was interrupted.");
    if (!done.failure()) return result;
    const e2b::code_error& failure = *done.failure();
    if (failure.name() == "SystemExit") result.exit_code(exit_code_of(failure.value()));
    if (failure.name() == "SystemExit" && result.exit_code() == 0) return result;
    if (failure.name() != "SystemExit") result.exit_code(failure.name() == "KeyboardInterrupt" ? 130 : 1);
    const std::string traceback = without_colours(failure.traceback());
    result.failure(code_error(cut_text(failure.name()), cut_text(failure.value()),
                              is_code ? line_in_cell(traceback) : 0, cut_text(traceback)));
    if (!request.is_quiet_failure() && failure.name() != "SystemExit" && done.err().cut() == 0) {
      output_collector with_traceback(request.kept_output().value_or(settings.kept_output));
      with_traceback.append(done.err().head());
      with_traceback.append(done.err().tail());
      with_traceback.append(as_bytes(traceback + (traceback.ends_with('\n') ? "" : "\n")));
      result.err(with_traceback.take());
    }
    return result;
  }

  /// Sets the value from the report of `last_value`; from the displayed text if the code has broken that report.
  static void set_value(code_result& result, const e2b::execution& done, const e2b::execution& read) {
    if (read.ok() && read.out().cut() == 0) {
      const std::string text = read.out().text();
      if (read_report(as_bytes(text), result)) {
        result.exit_code(0);
        if (result.value()) return;
      }
    }
    boost::json::object shown;
    shown["$python"] = "text";
    shown["text"] = json_text(done.value());
    shown["why"] = "the sandbox did not report it";
    result.value(std::move(shown), false, std::string(done.value()));
  }

  /// Gives the output and the displays to the request's listeners.
  static void tell(const code_request& request, code_result& result) {
    if (request.on_output()) {
      for (const output_stream which : {output_stream::out, output_stream::err}) {
        const captured_output& stream = which == output_stream::out ? result.out() : result.err();
        if (!stream.head().empty()) request.on_output()(which, stream.head());
      }
    }
    if (!request.on_display()) return;
    for (const display_output& shown : result.displays()) request.on_display()(shown);
    result.displays({});
  }

  e2b::code_interpreter interpreter;
  asio::any_io_executor executor_;
  async_semaphore making_;
  std::map<std::string, std::shared_ptr<kernel>> kernels_;
  std::vector<std::string> names_;  // in the order of their creation
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
