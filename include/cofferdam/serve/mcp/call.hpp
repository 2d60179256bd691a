// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/serve/mcp/content.hpp>

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

namespace detail {
class request;
}  // namespace detail

/// The severity of a message for the client's log, from the least to the most severe.
enum class log_severity { debug, info, notice, warning, error, critical, alert, emergency };

/// An exception with which a handler answers the request by a JSON-RPC error. For mistakes that a model can correct,
/// return `answer::failed` instead: clients show it to the model.
class failure : public std::exception {
 public:
  /// \param code     -32602 for wrong parameters. Codes of your own must be outside of -32768 to -32000.
  /// \param message  one sentence for the client.
  /// \param data     more facts for the client; null means none.
  failure(int code, std::string message, boost::json::value data = nullptr)
      : code_(code), message_(std::move(message)), data_(std::move(data)) {}

  /// Makes the failure of a request that needs a capability which the client has not declared:
  /// `missing_capability("sampling")`.
  static failure missing_capability(std::string_view name);

  /// Returns the message.
  const char* what() const noexcept override { return message_.c_str(); }
  /// Returns the JSON-RPC error code.
  int code() const noexcept { return code_; }
  /// Returns the further facts for the client; null if there are none.
  const boost::json::value& data() const noexcept { return data_; }

 private:
  int code_;
  std::string message_;
  boost::json::value data_;
};

/// A request that the handler of a tool, a resource or a prompt works on. The handler can also send messages to the
/// client through it.
/// \par Lifetime  owned by the server, valid until the handler's coroutine has ended. It can be neither copied nor
///                moved.
/// \par Threads   the server's executor.
class call {
 public:
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  /// Returns the name of the tool or the prompt, or the URI of the resource.
  const std::string& name() const noexcept { return name_; }
  /// Returns the arguments. For a tool they have been checked against its `tools::definition`, and nulls that the
  /// definition does not allow have been removed. For a prompt, only the required arguments have been checked to be
  /// present. For a resource they are the values of the template's variables.
  const boost::json::object& arguments() const noexcept { return arguments_; }

  /// Returns the client's protocol version, such as "2025-11-25".
  const std::string& version() const noexcept;
  /// Returns true if the client belongs to the modern era: protocol version 2026-07-28 or newer.
  bool is_modern() const noexcept;
  /// Returns true if the client has declared a capability, such as "sampling" or "elicitation".
  bool client_can(std::string_view what) const;
  /// Returns all capabilities that the client has declared, as unchecked JSON.
  const boost::json::object& client_capabilities() const noexcept;

  /// Reports the progress of the work. Sends nothing if the client has not requested progress, or if `now` has not
  /// grown since the last report.
  /// \param now    the work that is done, in any unit.
  /// \param total  the whole work in the same unit, if known.
  /// \param words  a text for people; may be empty.
  void progress(double now, std::optional<double> total = std::nullopt, std::string_view words = {});
  /// Sends a message to the client's log. Sends nothing if the client has not requested messages of this severity.
  /// \param how  the severity of the message.
  /// \param data  the message: a text or any other JSON.
  /// \param logger  the name of the part of the program; an empty name is left out.
  void log(log_severity how, boost::json::value data, std::string_view logger = {});

  /// Sends a request to a client of the legacy era (protocol versions up to 2025-11-25), and waits for the response.
  /// \param method  "sampling/createMessage", "elicitation/create" or "roots/list".
  /// \param params  the parameters of the request, as MCP defines them for the method.
  /// \return        the `result` of the response.
  /// \throws failure if the client has not declared the capability, or if the client belongs to the modern era
  ///     (2026-07-28). The handler for such a client returns `answer::input_required` instead.
  /// \throws error{exec_errc::io_error} if the client responds with an error.
  awaitable<boost::json::object> ask(std::string method, boost::json::object params);

  /// Returns the client's responses to `answer::input_required`, by the names of the requests; empty in the first call.
  const boost::json::object& input_responses() const noexcept { return responses_; }
  /// Returns the `state` that the handler passed to `answer::input_required`; empty in the first call.
  const std::string& request_state() const noexcept { return state_; }

  /// Requests more input from a client that has requested a prompt. The handler of a prompt returns messages, so it
  /// passes the result of `answer::input_required` to this function. That result is sent instead of the messages.
  void require_input(answer input_request) { wanted_ = std::move(input_request); }
  /// For the library: returns the request of `require_input`, if it was called.
  const std::optional<answer>& wanted_input() const noexcept { return wanted_; }

  /// Closes the client's connection. The client reconnects to get the answer. It has an effect only over HTTP in the
  /// legacy era (protocol versions up to 2025-11-25).
  void interrupt_connection();

  /// For the library's own tools: returns the internal request.
  const std::shared_ptr<detail::request>& inside() const noexcept { return request_; }

  /// For the library, like the two functions below.
  call(std::shared_ptr<detail::request> of, std::string name, boost::json::object arguments)
      : request_(std::move(of)), name_(std::move(name)), arguments_(std::move(arguments)) {}
  /// Returns the arguments, so that the library can check and change them.
  boost::json::object& own_arguments() noexcept { return arguments_; }
  /// Sets the values that `input_responses()` and `request_state()` return.
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

/// The handler of a tool. It returns the answer for the model.
using tool_handler = std::function<awaitable<answer>(call&)>;
/// The handler of a resource. It returns one `content::resource`.
using resource_handler = std::function<awaitable<content>(call&)>;
/// The handler of a prompt. It returns the messages of the prompt.
using prompt_handler = std::function<awaitable<std::vector<prompt_message>>(call&)>;
/// The handler of completions. The call's `arguments()` has `ref`, `argument` and `context` as the client has sent
/// them. The handler returns possible values of the argument.
using completion_handler = std::function<awaitable<std::vector<std::string>>(call&)>;

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/serve/mcp/impl/call.ipp>
#endif
