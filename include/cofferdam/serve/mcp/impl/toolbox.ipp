// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/code/function_text.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/detail/core/join_all.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/serve/mcp/detail/code_tools.hpp>
#include <cofferdam/serve/mcp/detail/tool_names.hpp>
#include <cofferdam/serve/mcp/remote.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_client.hpp>
#include <cofferdam/tools/function.hpp>

#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A tool of a toolbox.
class offered_tool {
 public:
  offered_tool(std::string of_server, client& connected, remote_tool described)
      : server(std::move(of_server)), source(&connected), tool(std::move(described)) {}

  std::string server;
  client* source;
  remote_tool tool;
};

/// The contents of a toolbox.
class toolbox_state {
 public:
  std::vector<offered_tool> tools;
  std::vector<cofferdam::detail::host_function> functions;
  call_approval approve;
  call_listener listener;
  std::size_t max_calls = 1000;
  std::size_t at_once = 8;
  std::size_t max_answer = std::size_t{1} << 20U;
  std::string module = "cofferdam_tools";
  std::size_t changes = 0;               // the number of changes of `tools` and `module`
  std::uint64_t number = next_number();  // of this toolbox in the program

  /// Returns the list of all tools, as JSON text for the prelude.
  const std::string& catalogue() {
    if (listed_changes_ == changes && !listed_.empty()) return listed_;
    boost::json::array all;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      const offered_tool& each = tools[i];
      boost::json::object entry;
      entry["id"] = i;
      entry["server"] = cofferdam::detail::json_text(each.server);
      entry["instructions"] = cofferdam::detail::json_text(each.source->instructions());
      entry["tool"] = cofferdam::detail::json_text(each.tool.name());
      entry["description"] = cofferdam::detail::json_text(each.tool.description());
      entry["schema"] = each.tool.input_schema();
      if (!each.tool.output_schema().empty()) entry["output"] = each.tool.output_schema();
      all.push_back(std::move(entry));
    }
    listed_ = readable_json(all);
    listed_changes_ = changes;
    return listed_;
  }

  bool has_server(std::string_view name) const {
    return std::any_of(tools.begin(), tools.end(), [&](const offered_tool& each) { return each.server == name; });
  }

 private:
  static std::uint64_t next_number() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  std::string listed_;  // the catalogue at the time of `listed_changes_`
  std::size_t listed_changes_ = 0;
};

/// One call of one run.
class code_call {
 public:
  std::size_t tool = 0;  // its index in the toolbox, to which tools may be added during the call
  boost::json::object arguments;
  std::string answer;  // for the prelude, as JSON text
};

/// The calls of one run.
class code_calls {
 public:
  explicit code_calls(std::shared_ptr<toolbox_state> box) : box_(std::move(box)) {}

  /// Serves the calls in a JSON text of the prelude, and returns the answers as JSON text.
  static awaitable<boost::json::value> serve(std::shared_ptr<code_calls> self, std::string text) {
    std::vector<code_call> calls = self->parse(text);
    std::size_t bytes = 0;  // of all answers
    const auto serves = [&](std::size_t number) { return serve_one(self, calls[number], bytes); };
    co_await cofferdam::detail::join_all(calls.size(), self->box_->at_once, serves);
    std::string answers;
    for (const code_call& each : calls) answers += (answers.empty() ? "[" : ",") + each.answer;
    co_return cofferdam::detail::json_text(answers.empty() ? "[]" : answers + "]");
  }

  /// Returns the list of all tools. A run can get it as often as it can call tools.
  static awaitable<boost::json::value> list(std::shared_ptr<code_calls> self) {
    if (++self->lists_ > self->box_->max_calls) throw cofferdam::detail::wrong_arguments(self->too_many());
    co_return cofferdam::detail::json_text(self->box_->catalogue());
  }

 private:
  /// The maximum size of the answers to calls that are sent at once, in bytes of JSON.
  static constexpr std::size_t most_at_once = std::size_t{16} << 20U;

  std::string too_many() const {
    return "the run has made " + std::to_string(box_->max_calls) + " calls of tools, the maximum";
  }

  static std::string failed(const std::string& why) {
    boost::json::object answer;
    answer["ok"] = false;
    answer["error"] = cofferdam::detail::json_text(why);
    return readable_json(answer);
  }

  /// \throws wrong_arguments if the text is not from the prelude.
  std::vector<code_call> parse(std::string_view text) const {
    std::error_code failure;
    const boost::json::value value = cofferdam::detail::parse_untrusted_json(text, failure);
    const boost::json::array* const listed = failure ? nullptr : value.if_array();
    if (failure)
      throw cofferdam::detail::wrong_arguments("the arguments of a call cannot be read as JSON: " + failure.message());
    if (listed == nullptr) throw cofferdam::detail::wrong_arguments("the calls are not a list");
    if (listed->size() > box_->max_calls)
      throw cofferdam::detail::wrong_arguments("more than " + std::to_string(box_->max_calls) +
                                               " calls of tools at once, the maximum of a run");
    std::vector<code_call> calls;
    for (const boost::json::value& each : *listed) {
      const boost::json::array* const pair = each.if_array();
      const bool is_call = pair != nullptr && pair->size() == 2 && (*pair)[0].is_int64() && (*pair)[1].is_object();
      const std::int64_t number = is_call ? (*pair)[0].get_int64() : -1;
      if (number < 0 || static_cast<std::size_t>(number) >= box_->tools.size())
        throw cofferdam::detail::wrong_arguments("a call is not a number of a tool with arguments");
      code_call call;
      call.tool = static_cast<std::size_t>(number);
      call.arguments = (*pair)[1].get_object();
      calls.push_back(std::move(call));
    }
    return calls;
  }

  /// \param bytes  the size of the answers to all calls that were sent at once.
  static awaitable<void> serve_one(std::shared_ptr<code_calls> self, code_call& call, std::size_t& bytes) {
    const auto begin = std::chrono::steady_clock::now();
    client& source = *self->box_->tools[call.tool].source;
    const tool_call described(self->box_->tools[call.tool].server, self->box_->tools[call.tool].tool, call.arguments);
    const remote_tool& tool = described.tool();
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    std::string failure;
    std::exception_ptr cancelled;
    if (++self->count_ > self->box_->max_calls) {
      failure = self->too_many();
    } else {
      try {
        const bool is_permitted = co_await permitted(*self->box_, described);
        if (is_permitted) {
          const remote_answer answer = co_await source.call(tool.name(), std::move(call.arguments));
          if (answer.is_error()) {
            const std::string words = answer.text();
            failure = words.empty() ? "the tool has failed" : printable_text(words);
          } else {
            call.answer = answer_of(answer, tool);
          }
        } else {
          failure = described.server() + ": " + tool.name() +
                    " may change something, and the host program does not permit the call";
        }
      } catch (const error& reason) {
        failure = described_failure(described.server(), reason);
        if (cancellation.cancelled() != asio::cancellation_type::none) cancelled = std::current_exception();
      } catch (const std::exception& reason) {
        failure = reason.what();
        if (cancellation.cancelled() != asio::cancellation_type::none) cancelled = std::current_exception();
      } catch (...) {
        failure = "the host program failed to serve the call";
      }
    }
    if (!failure.empty()) call.answer = failed(failure);
    std::size_t size = call.answer.size();
    if (size > self->box_->max_answer || bytes + size > most_at_once) {
      failure = size > self->box_->max_answer
                    ? "the answer of " + described.server() + "." + tool.name() + " has " + std::to_string(size) +
                          " bytes; the limit is " + std::to_string(self->box_->max_answer) +
                          ". Ask for a smaller part of the data."
                    : "the answers to calls that were sent at once have more than 16 MiB. "
                      "Make fewer calls at once.";
      call.answer = failed(failure);
      size = failure.size();
    }
    bytes += size;
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    if (self->box_->listener) self->box_->listener(described, tool_call_end(failure, size, time));
    if (cancelled) std::rethrow_exception(cancelled);
  }

  /// Returns the text of an error of a server for the code: the name of the server, the reason, and what can be done.
  static std::string described_failure(const std::string& server, const error& reason) {
    std::string_view why = reason.what();
    if (why.starts_with("mcp: ")) why.remove_prefix(5);
    const bool is_lost = reason.code() == exec_errc::provider_lost;
    return server + (is_lost ? ": unavailable until the host program starts it again: " : ": ") + std::string(why);
  }

  static awaitable<bool> permitted(const toolbox_state& box, const tool_call& call) {
    if (call.tool().is_read_only()) co_return true;
    if (!box.approve) co_return false;
    const call_approval ask = box.approve;
    const bool is_permitted = co_await ask(call);
    co_return is_permitted;
  }

  static std::string answer_of(const remote_answer& answer, const remote_tool& tool) {
    boost::json::object made;
    made["ok"] = true;
    std::optional<boost::json::value> data = answer.structured();
    if (!data) {
      made["blocks"] = answer.content();
      return readable_json(made);
    }
    const bool is_wrapped = data->is_object() && data->get_object().size() == 1 && wraps_result(tool);
    if (is_wrapped && data->get_object().contains("result")) data = data->get_object().at("result");
    made["value"] = std::move(*data);
    return readable_json(made);
  }

  /// Returns true if the data of a tool's answers are in a member `result`. Servers that are written in Python wrap a
  /// value that is no object so. FastMCP marks the schema; MCP's own SDK gives it the title NAMEOutput.
  static bool wraps_result(const remote_tool& tool) {
    const boost::json::object schema = tool.output_schema();
    if (cofferdam::detail::is_true_at(schema, "x-fastmcp-wrap-result")) return true;
    const boost::json::object* const properties = cofferdam::detail::object_at(schema, "properties");
    return properties != nullptr && properties->size() == 1 && properties->contains("result") &&
           cofferdam::detail::text_at(schema, "title") == tool.name() + "Output";
  }

  std::shared_ptr<toolbox_state> box_;
  std::size_t count_ = 0;
  std::size_t lists_ = 0;
};

/// Returns the name of a server, a tool or an argument as the prelude makes it, except that it may not be unique.
inline std::string python_name(std::string_view text) {
  std::string made;
  for (const char c : text.substr(0, 128)) {
    const bool is_kept = c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_kept) made += c;
    // A character of several bytes becomes one `_`.
    if (!is_kept && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) made += '_';
  }
  if (made.empty() || (made.front() >= '0' && made.front() <= '9')) made.insert(0, "_");
  if (cofferdam::detail::is_python_keyword(made)) made += '_';
  return made;
}

/// Returns the arguments of a tool's function, such as "city, days=None".
inline std::string python_arguments(const boost::json::object& schema) {
  const boost::json::object* const properties = cofferdam::detail::object_at(schema, "properties");
  if (properties == nullptr) return {};
  const std::vector<std::string> required = cofferdam::detail::texts_at(schema, "required");
  std::string shown;
  const auto add = [&](const std::string& name, const char* usual) {
    shown += (shown.empty() ? "" : ", ") + python_name(name) + usual;
  };
  for (std::size_t i = 0; i < required.size(); ++i) {
    const bool is_first = std::find(required.begin(), required.begin() + static_cast<std::ptrdiff_t>(i), required[i]) ==
                          required.begin() + static_cast<std::ptrdiff_t>(i);
    if (is_first && properties->contains(required[i])) add(required[i], "");
  }
  for (const auto& each : *properties) {
    const std::string name(each.key().data(), each.key().size());
    if (std::find(required.begin(), required.end(), name) == required.end()) add(name, "=None");
  }
  return shown;
}

/// Returns the program that makes the module, as a literal of Python.
inline const std::string& tools_program() {
  static const std::string literal = [] {
    std::string source;
    for (const std::string_view piece : cofferdam::detail::code_tools) source += piece;
    return readable_json(cofferdam::detail::json_text(source));
  }();
  return literal;
}

/// Returns the code that makes the module, or renews the module of an earlier run. It uses no names that the code of
/// the run can have redefined.
inline std::string prelude_of(const toolbox_state& state) {
  const std::string version = std::to_string(state.number) + "." + std::to_string(state.changes);
  return "import builtins as _cofferdam_builtins, sys as _cofferdam_sys\n"
         "_cofferdam_space = {'offer': _cofferdam_builtins.getattr(_cofferdam_sys.modules.get('" +
         state.module +
         "'), '_offer', None)}\n"
         "if _cofferdam_space['offer'] is None: _cofferdam_builtins.exec(" +
         tools_program() +
         ", _cofferdam_space)\n"
         "_cofferdam_space['offer'](_cofferdam_builtins.globals(), '" +
         version + "', '" + state.module +
         "', _cofferdam_send, _cofferdam_fetch)\n"
         "del _cofferdam_builtins, _cofferdam_sys, _cofferdam_space\n";
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail

namespace cofferdam::inline COFFERDAM_ABI::mcp {

COFFERDAM_DECL toolbox::toolbox() : state_(std::make_shared<detail::toolbox_state>()) {}

namespace detail {

inline awaitable<void> add_tools(std::shared_ptr<toolbox_state> state, std::string name, client& server,
                                 std::vector<std::string> names) {
  if (name.empty() || name.size() > 100)
    throw error(exec_errc::invalid_argument, "mcp::toolbox: the name of a server must have 1 to 100 characters");
  if (names.empty())
    throw error(exec_errc::invalid_argument, "mcp::toolbox: name the tools of \"" + one_line(name) +
                                                 "\" that code may call, or \"*\" for all of them");
  if (state->has_server(name))
    throw error(exec_errc::already_exists, "mcp::toolbox: there is a server \"" + one_line(name) + "\" already");
  const std::vector<remote_tool> listed = co_await server.tools();
  std::vector<offered_tool> added;
  for (const std::string& wanted : names) {
    bool is_found = wanted == "*";
    for (const remote_tool& tool : listed) {
      const bool is_wanted = wanted == "*" || tool.name() == wanted;
      const bool is_new = std::none_of(added.begin(), added.end(),
                                       [&](const offered_tool& each) { return each.tool.name() == tool.name(); });
      if (is_wanted && is_new) added.emplace_back(name, server, tool);
      is_found = is_found || is_wanted;
    }
    if (!is_found)
      throw error(exec_errc::not_found, "mcp::toolbox: the server \"" + one_line(name) + "\" has no tool \"" +
                                            one_line(wanted, 100) + "\"; " + tool_names(listed));
  }
  for (offered_tool& each : added) state->tools.push_back(std::move(each));
  ++state->changes;
}

}  // namespace detail

COFFERDAM_DECL awaitable<void> toolbox::add(std::string name, client& server, std::vector<std::string> tools) {
  return detail::add_tools(state_, std::move(name), server, std::move(tools));
}

COFFERDAM_DECL toolbox& toolbox::add(const tools::function& function) {
  cofferdam::detail::host_function added = function;
  for (const cofferdam::detail::host_function& each : state_->functions)
    if (each.name() == added.name())
      throw error(exec_errc::already_exists, "mcp::toolbox: there is a function '" + added.name() + "' already");
  state_->functions.push_back(std::move(added));
  return *this;
}

COFFERDAM_DECL toolbox& toolbox::approve(call_approval ask) {
  state_->approve = std::move(ask);
  return *this;
}
COFFERDAM_DECL toolbox& toolbox::on_call(call_listener listener) {
  state_->listener = std::move(listener);
  return *this;
}
COFFERDAM_DECL toolbox& toolbox::max_calls(std::size_t count) {
  state_->max_calls = count;
  return *this;
}
COFFERDAM_DECL toolbox& toolbox::at_once(std::size_t count) {
  if (count == 0) throw error(exec_errc::invalid_argument, "mcp::toolbox: at_once must be at least 1");
  state_->at_once = count;
  return *this;
}
COFFERDAM_DECL toolbox& toolbox::max_answer(std::size_t bytes) {
  state_->max_answer = bytes;
  return *this;
}
COFFERDAM_DECL toolbox& toolbox::module_name(std::string name) {
  bool is_name = !name.empty() && name.size() <= 100 && (name.front() < '0' || name.front() > '9');
  for (const char c : name)
    is_name = is_name && (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
  if (!is_name || cofferdam::detail::is_python_keyword(name))
    throw error(exec_errc::invalid_argument,
                "mcp::toolbox: the name of the module must have letters, digits and '_', not begin with a digit, "
                "and be no keyword of Python");
  state_->module = std::move(name);
  ++state_->changes;
  return *this;
}

COFFERDAM_DECL std::string toolbox::description() const {
  constexpr std::size_t max_listed = 30;
  std::string text;
  if (!state_->tools.empty()) {
    text = "Code can call these tools as functions, after `import " + state_->module + "`: " + state_->module +
           ".SERVER.TOOL(argument=value). A call returns Python values, and raises " + state_->module +
           ".ToolError if the tool fails. Print or return only what is needed. " + state_->module +
           ".search_tools(words) finds tools, and " + state_->module +
           ".describe_tool(name) shows a signature and a description.";
    for (std::size_t i = 0; i < state_->tools.size() && i < max_listed; ++i) {
      const detail::offered_tool& each = state_->tools[i];
      text += "\n- " + detail::python_name(each.server) + "." + detail::python_name(each.tool.name()) + "(";
      const std::string words = each.tool.description();
      text += detail::python_arguments(each.tool.input_schema()) +
              "): " + one_line(std::string_view(words).substr(0, words.find('\n')), 150);
    }
    if (state_->tools.size() > max_listed)
      text += "\n- and " + std::to_string(state_->tools.size() - max_listed) + " others, which search_tools finds";
  }
  const std::string functions = cofferdam::detail::function_list(state_->functions);
  if (!text.empty() && !functions.empty()) text += "\n";
  return text + functions;
}

COFFERDAM_DECL code_request toolbox::offer(code_request request) const {
  for (const cofferdam::detail::host_function& each : state_->functions) request.function(each);
  if (state_->tools.empty()) return request;
  const auto calls = std::make_shared<detail::code_calls>(state_);
  const auto serves = [calls](boost::json::object arguments) {
    return detail::code_calls::serve(calls, std::string(cofferdam::detail::text_at(arguments, "calls")));
  };
  const auto lists = [calls](boost::json::object) { return detail::code_calls::list(calls); };
  cofferdam::detail::host_function send("_cofferdam_send", serves);
  send.parameter("calls", "str");
  request.function(std::move(send)).function(cofferdam::detail::host_function("_cofferdam_fetch", lists));
  request.prelude(detail::prelude_of(*state_) + request.prelude());
  return request;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
