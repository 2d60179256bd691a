// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

/// The severity of a message for the client's log.
enum class log_severity { debug, info, notice, warning, error, critical, alert, emergency };

/// Thrown by a handler to answer the request with a JSON-RPC error. For mistakes that a model can correct, use
/// `answer::failed`, which a client shows to the model.
class failure : public std::exception {
 public:
  /// \param code     -32602 for wrong parameters; own codes lie outside -32768 to -32000.
  /// \param message  one sentence; goes to the client.
  failure(int code, std::string message, boost::json::value data = nullptr)
      : code_(code), message_(std::move(message)), data_(std::move(data)) {}

  /// Makes the failure of a request that needs a capability that the client has not declared:
  /// `missing_capability("sampling")`.
  static failure missing_capability(std::string_view name) {
    boost::json::object required;
    required[detail::json_view(name)] = boost::json::object();
    boost::json::object data;
    data["requiredCapabilities"] = std::move(required);
    return {detail::missing_capability, "This needs the client capability '" + std::string(name) + "'",
            std::move(data)};
  }

  const char* what() const noexcept override { return message_.c_str(); }
  int code() const noexcept { return code_; }
  const boost::json::value& data() const noexcept { return data_; }

 private:
  int code_;
  std::string message_;
  boost::json::value data_;
};

/// A request for the handler of a tool, a resource or a prompt, with the messages that the handler may send to the
/// client meanwhile.
/// \par Lifetime  the server's; until the handler's coroutine has ended. Not copied, not moved.
/// \par Threads   the server's executor.
class call {
 public:
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  /// Returns the name of the tool or the prompt, or the URI of the resource.
  const std::string& name() const noexcept { return name_; }
  /// Returns the arguments. Of a tool: checked against its `tools::definition`, without nulls that are not allowed. Of
  /// a resource: the values of the template's variables.
  const boost::json::object& arguments() const noexcept { return arguments_; }

  /// Returns the protocol version: "2025-11-25".
  const std::string& version() const noexcept { return request_->version; }
  /// Returns true if the client uses 2026-07-28 or newer.
  bool is_modern() const noexcept { return request_->modern; }
  /// Returns true if the client has declared this capability: "sampling", "elicitation".
  bool client_can(std::string_view what) const { return request_->capabilities.contains(detail::json_view(what)); }
  /// Returns all declared capabilities, unchecked.
  const boost::json::object& client_capabilities() const noexcept { return request_->capabilities; }

  /// Reports progress. Sends nothing if the client has not requested it, or if `now` has not grown.
  void progress(double now, std::optional<double> total = std::nullopt, std::string_view words = {}) {
    request_->progress(now, total, words);
  }
  /// Sends a message to the client's log, if the client wants that severity.
  void log(log_severity how, boost::json::value data, std::string_view logger = {}) {
    request_->log(static_cast<int>(how), logger, std::move(data));
  }

  /// Sends a request to a legacy client, "sampling/createMessage", "elicitation/create" or "roots/list", and waits for
  /// the response.
  /// \throws failure if the client has not declared this capability, and in the modern era (use
  ///     `answer::input_required`); error{exec_errc::io_error} if it refuses.
  awaitable<boost::json::object> ask(std::string method, boost::json::object params) {
    const std::string capability = method.substr(0, method.find('/'));
    if (!client_can(capability)) throw failure::missing_capability(capability);
    if (is_modern()) throw failure(detail::internal_error, "A modern client is asked by its answer");
    return detail::asked_table::ask(request_->asked, request_->out, request_->executor, std::move(method),
                                    std::move(params));
  }

  /// Returns the client's responses to `answer::input_required`, by name; empty the first time.
  const boost::json::object& input_responses() const noexcept { return responses_; }
  /// Returns the answer's earlier state; empty the first time.
  const std::string& request_state() const noexcept { return state_; }

  /// For a prompt's handler, which does not return an answer: sends the result of `answer::input_required` as the
  /// answer.
  void require_input(answer input_request) { wanted_ = std::move(input_request); }
  const std::optional<answer>& wanted_input() const noexcept { return wanted_; }

  /// Closes the client's connection; the client reconnects for the answer. Streamable HTTP in the legacy era only.
  void interrupt_connection() { request_->out->interrupt(); }

  /// For the library's own tools.
  const std::shared_ptr<detail::request>& inside() const noexcept { return request_; }

  call(std::shared_ptr<detail::request> of, std::string name, boost::json::object arguments)
      : request_(std::move(of)), name_(std::move(name)), arguments_(std::move(arguments)) {}
  boost::json::object& own_arguments() noexcept { return arguments_; }
  void resume(boost::json::object responses, std::string state) {
    responses_ = std::move(responses);
    state_ = std::move(state);
  }

 private:
  std::shared_ptr<detail::request> request_;
  std::string name_;
  boost::json::object arguments_;
  boost::json::object responses_;
  std::string state_;
  std::optional<answer> wanted_;
};

using tool_handler = std::function<awaitable<answer>(call&)>;
/// The handler of a resource; the answer is one `content::resource`.
using resource_handler = std::function<awaitable<content>(call&)>;
using prompt_handler = std::function<awaitable<std::vector<prompt_message>>(call&)>;
/// The handler of completions: `arguments()` has `ref`, `argument` and `context` as the client sent them; the answer
/// has possible values of the argument.
using completion_handler = std::function<awaitable<std::vector<std::string>>(call&)>;

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
