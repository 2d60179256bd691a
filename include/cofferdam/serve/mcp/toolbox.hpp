// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_layer.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/serve/mcp/remote.hpp>
#include <cofferdam/serve/mcp_client.hpp>
#include <cofferdam/tools/function.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

namespace detail {
class toolbox_state;
}  // namespace detail

/// A call of a tool by code in a runner.
class tool_call {
 public:
  /// Describes a call. The other members describe the parameters.
  tool_call(std::string server, remote_tool tool, boost::json::object arguments)
      : server_(std::move(server)), tool_(std::move(tool)), arguments_(std::move(arguments)) {}
  /// Returns the name of the server in the toolbox.
  const std::string& server() const noexcept { return server_; }
  /// Returns the tool, as the server describes it.
  const remote_tool& tool() const noexcept { return tool_; }
  /// Returns the arguments, which the code has chosen. They are not checked.
  const boost::json::object& arguments() const noexcept { return arguments_; }

 private:
  std::string server_;
  remote_tool tool_;
  boost::json::object arguments_;
};

/// The end of a call of a tool by code in a runner.
class tool_call_end {
 public:
  /// Describes the end of a call. The other members describe the parameters.
  tool_call_end(std::string failure, std::size_t bytes, std::chrono::microseconds time)
      : failure_(std::move(failure)), bytes_(bytes), time_(time) {}
  /// Returns true if the tool has answered without an error.
  bool ok() const noexcept { return failure_.empty(); }
  /// Returns the reason that the code gets, if the call has failed or was not permitted; otherwise empty.
  const std::string& failure() const noexcept { return failure_; }
  /// Returns the size of the answer, in bytes of JSON.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the time from the call to its end.
  std::chrono::microseconds time() const noexcept { return time_; }

 private:
  std::string failure_;
  std::size_t bytes_;
  std::chrono::microseconds time_;
};

/// A callable that permits a call, or does not: `awaitable<bool> ask(const tool_call& call)`. The call outlives the
/// awaitable.
using call_approval = std::function<awaitable<bool>(const tool_call& call)>;
/// A callable that receives the end of each call.
using call_listener = std::function<void(const tool_call& call, const tool_call_end& end)>;

/// Tools of MCP servers, and functions of this program, that code in a runner may call:
///
///     mcp::toolbox box;
///     co_await box.add("weather", weather, {"get-forecast"});
///     code_runner auto runner = co_await (environment_ref(env) | python() | mcp::offer_tools(box)).open();
///     // in the code:   from cofferdam_tools import weather; weather.get_forecast(city="Oslo")
///
/// The module `cofferdam_tools` has a module for each server, and in it a function for each tool. The same module is
/// the global variable `tools`, unless the code uses this name. Names that Python does not allow are changed: other
/// characters become `_`, a name that begins with a digit gets `_` before it, a keyword and a name that modules use
/// themselves get `_` after it, and if two names become the same, the later one gets `_2`. So do the names of
/// arguments. Required arguments come first. None for another argument leaves it out, unless its schema allows null.
/// The signature and `help()` of a function come from the tool's schema and description. Functions of this program are
/// global functions.
///
/// A call returns the data of the answer, otherwise its text. An answer of several parts is a list of texts and of
/// dicts, in which `data` is bytes. If a tool fails or a call is not permitted, the call raises `ToolError` of the
/// module, with the reason. A call waits until the tool has answered. `await weather.get_forecast.later(city="Oslo")`
/// does not block the event loop of the code, and all calls that wait at the same moment are served at the same time.
/// `search_tools("rain")` returns names and descriptions, and `describe_tool("weather.get_forecast")` a signature and a
/// description, so that a model need not have all tools in its instructions.
///
/// **Only what was added can be called**, and calls of tools that may change something need a permission (`approve`).
/// The arguments come from code that a model has written; only the server checks them. The answers are texts of others,
/// which may try to instruct the model.
///
/// Copies share their contents. A runner can have one toolbox. The guard `allow_imports` needs "cofferdam_tools", if
/// code imports the module.
/// \par Lifetime  the clients outlive all runs with the toolbox.
/// \par Threads   the executor of the clients. Runs must be started on it.
/// \par Source    MCP, "Tools".
class toolbox {
 public:
  /// Makes a toolbox without tools.
  toolbox();

  /// Offers tools of a server.
  /// \param name    the name of the server for code: 1 to 100 characters.
  /// \param server  outlives the runs.
  /// \param tools   the names of the tools; "*" is every tool that the server lists now.
  /// \throws error{exec_errc::not_found} if the server does not list one of the tools; error{exec_errc::already_exists}
  ///     if the toolbox has a server of this name; error{exec_errc::invalid_argument} for a name of another length, and
  ///     if no tool is named; the errors of `client::tools`.
  awaitable<void> add(std::string name, client& server, std::vector<std::string> tools);

  /// Offers a function of this program, under its own name, as a global function of the code. `approve`, `max_calls`
  /// and `on_call` do not apply to it.
  /// \throws error{exec_errc::already_exists} if the toolbox has a function of this name;
  ///     error{exec_errc::invalid_argument} if the name is not valid in Python.
  toolbox& add(const tools::function& function);

  /// Sets the callable that permits calls of tools that may change something: all tools whose server does not declare
  /// that they only read. Default: no such call is permitted. Its exceptions refuse the call. A tool that its
  /// server declares to be read-only, wrongly or not, needs no permission.
  toolbox& approve(call_approval ask);
  /// Sets the listener for the ends of calls. It must not throw.
  toolbox& on_call(call_listener listener);
  /// Sets the maximum number of calls in one run. Default: 1000.
  toolbox& max_calls(std::size_t count);
  /// Sets the maximum number of calls that are served at the same time. Default: 8; at least 1.
  toolbox& at_once(std::size_t count);
  /// Sets the maximum size of an answer that code gets, in bytes of JSON. A longer answer raises ToolError. Default: 1
  /// MiB. The answers to calls that are sent at once have at most 16 MiB together.
  toolbox& max_answer(std::size_t bytes);
  /// Sets the name of the module. Default: "cofferdam_tools".
  /// \throws error{exec_errc::invalid_argument} if this is not a name for Python in ASCII. If it is the name of another
  ///     module that is loaded, each run fails with an ImportError.
  toolbox& module_name(std::string name);

  /// Returns a text for a model that explains how code calls the tools, with the signatures of the first tools.
  std::string description() const;

  /// Returns the request with the functions, and with a prelude that makes the module.
  /// \throws error{exec_errc::invalid_argument} if the request has a function of the same name.
  code_request offer(code_request request) const;

 private:
  std::shared_ptr<detail::toolbox_state> state_;
};

/// The runner type of `runner | mcp::offer_tools(box)`.
template <code_runner Inner>
class tools_layer : public code_layer<tools_layer<Inner>, Inner> {
 public:
  /// Makes an object without a runner. Every operation throws `error{exec_errc::environment_closed}`.
  tools_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open runner, which the layer then owns.
  tools_layer(Inner inner, toolbox box) : code_layer<tools_layer, Inner>(std::move(inner)), box_(std::move(box)) {}

  awaitable<std::optional<code_result>> admit(const code_request&) { return admitted(); }
  /// Adds the tools to an admitted request.
  code_request prepare(code_request request) { return box_.offer(std::move(request)); }
  /// Returns the description of the tools for a model, after that of the wrapped runner. `tools::run_python` adds it to
  /// its own description.
  std::string about_tools() const {
    const std::string inner = code_layer<tools_layer, Inner>::about_tools();
    return inner.empty() ? box_.description() : inner + "\n" + box_.description();
  }

 private:
  static awaitable<std::optional<code_result>> admitted() { co_return std::nullopt; }

  toolbox box_;
};

/// Offers the tools of a toolbox to all code of a runner: `environment | python() | mcp::offer_tools(box)`. Guards see
/// only the code of the request.
class offer_tools : public pipeable {
 public:
  /// Keeps a copy of the toolbox, which shares its contents.
  explicit offer_tools(toolbox box) : box_(std::move(box)) {}

  template <code_runner Inner>
  tools_layer<Inner> attach(Inner inner) const {
    return tools_layer<Inner>(std::move(inner), box_);
  }

 private:
  toolbox box_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/mcp/impl/toolbox.ipp>
#endif
