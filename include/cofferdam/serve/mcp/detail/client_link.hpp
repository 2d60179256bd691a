// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/protocol.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A request of a client, ready to be sent.
class client_request {
 public:
  std::string id;  ///< the id as JSON text
  std::string method;
  std::string text;  ///< the whole message
  /// HTTP fields that repeat parts of the message, in the modern era: `Mcp-Name` and `Mcp-Param-*`.
  std::vector<std::pair<std::string, std::string>> fields;
};

/// The time limit of a request. It begins to run with the construction.
class request_time {
 public:
  using clock = cofferdam::detail::async_event::clock;

  explicit request_time(std::chrono::milliseconds limit) : end_(clock::now() + limit), limit_(limit) {}

  static request_time unlimited() { return request_time(); }

  clock::time_point end() const noexcept { return end_; }
  /// Returns the error of a server that has not answered in time.
  error missed(const std::string& server, const std::string& method) const {
    const bool is_first = method == "initialize" || method == "server/discover";
    return {exec_errc::unavailable, "mcp: " + server + " did not answer " + method + " within the time limit of " +
                                        std::to_string(limit_.count()) + " ms" +
                                        (is_first ? "; check that it is an MCP server" : "")};
  }

 private:
  request_time() : end_(cofferdam::detail::async_event::never), limit_(std::chrono::milliseconds::max()) {}

  clock::time_point end_;
  std::chrono::milliseconds limit_;
};

/// A function that receives the messages of a server that are no responses.
using server_message_listener = std::function<void(rpc_message)>;

/// A connection to an MCP server. Owned by the client's core.
class client_link {
 public:
  using clock = request_time::clock;

  client_link() = default;
  client_link(const client_link&) = delete;
  client_link& operator=(const client_link&) = delete;
  virtual ~client_link() = default;

  /// Sends a request, and returns the response: a message with `result` or `error`.
  /// \throws error{exec_errc::unavailable} at the time limit, after the server was notified; the errors of
  ///     `mcp::client`.
  virtual awaitable<boost::json::object> request(client_request what, request_time limit) = 0;
  /// Sends a notification or a response.
  virtual awaitable<void> send(std::string text) = 0;
  /// Sets the version of the protocol after the handshake.
  virtual void speak(std::string_view version) = 0;
  /// Returns a text without the secrets of the connection.
  virtual std::string clean(std::string_view text) const = 0;
  /// Returns a text of the server for one line of a message, without the secrets of the connection. They are removed
  /// before the text is cut and escaped, which could leave a part of one, and after it.
  std::string shown(std::string_view text, std::size_t max_characters) const {
    return clean(one_line(clean(text), max_characters));
  }
  /// Returns the words for this connection in messages.
  virtual std::string name() const = 0;
  /// Ends the connection, and waits for its end. Must not be cancelled.
  virtual awaitable<void> close() = 0;
};

/// Returns the reason why a text from the server cannot be read; empty if it can, or if it is no message of JSON-RPC at
/// all, such as a line that a program prints by mistake.
inline std::string unreadable_part(std::string_view text, const rpc_input& input) {
  if (input.faults.empty()) return {};
  const std::size_t begin = text.find_first_not_of(" \t");
  const bool is_message = begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[') &&
                          text.find("\"jsonrpc\"") != std::string_view::npos;
  return is_message ? input.faults.front().first.message() : std::string();
}

/// Returns the error for a server that violates the protocol.
inline error protocol_violation(const std::string& server, const std::string& what) {
  return error(exec_errc::provider_lost, "mcp: " + server + " violates the protocol: " + what);
}

/// Makes the notification that a request is cancelled.
inline std::string cancellation_of(const std::string& id, std::string_view reason) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + R"(,"reason":")" +
         std::string(reason) + "\"}}";
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
