// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/tls.hpp>
#include <cofferdam/version.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

/// The form of the protocol that a client uses.
enum class protocol_era {
  automatic,  ///< with a handshake; if the server refuses it, the modern form
  legacy,     ///< versions up to 2025-11-25, with a handshake
  modern,     ///< version 2026-07-28, without a handshake
};

/// A handler of a server's question to the client.
/// \param params  the parameters of the request, in MCP's format.
/// \return        the result in MCP's format.
using question_handler = std::function<awaitable<boost::json::object>(boost::json::object params)>;
/// A callable that receives a message of a server that needs no answer. Its exceptions are ignored.
using message_listener = std::function<void(const boost::json::object& params)>;
/// A callable that receives the progress of a call: a number that grows, the number at the end or 0 if it is not known,
/// and a text that may be empty. Its exceptions are ignored.
using progress_listener = std::function<void(double progress, double total, const std::string& message)>;

/// The options of an `mcp::client`. Handlers and listeners run on the executor of the client. With HTTP, they keep a
/// connection open, by which the server reaches them.
class client_options {
 public:
  /// Sets the name and the version by which the server knows this program. Default: `cofferdam` and its version.
  client_options& name(std::string name, std::string version) {
    name_ = std::move(name);
    version_ = std::move(version);
    return *this;
  }
  /// Sets the form of the protocol. Default: automatic.
  client_options& era(protocol_era form) {
    era_ = form;
    return *this;
  }
  /// Sets the bearer token for servers that are reached by HTTP. It never appears in the texts of errors. A token that
  /// the server refuses is error{exec_errc::permission_denied}.
  client_options& token(std::string token) {
    token_ = secret_string(std::move(token));
    return *this;
  }
  /// Adds a field to all HTTP requests.
  /// \throws error{exec_errc::invalid_argument} for an invalid name or value.
  client_options& header(std::string name, std::string value) {
    headers_.set(std::move(name), std::move(value));
    return *this;
  }
  /// Sets the TLS settings for `https://`, and the rules for proxies.
  client_options& tls(tls_settings settings) {
    tls_ = std::move(settings);
    return *this;
  }
  /// Sets the time limit of the handshake. Default: 60 s, because a server may first download itself.
  client_options& start_timeout(std::chrono::milliseconds limit) {
    start_timeout_ = positive(limit);
    return *this;
  }
  /// Sets the time limit of each request after the handshake. A late request is cancelled at the server, and is
  /// error{exec_errc::unavailable}. Default: 5 minutes.
  client_options& timeout(std::chrono::milliseconds limit) {
    timeout_ = positive(limit);
    return *this;
  }
  /// Sets the maximum size of one message of the server, in bytes. Default: 16 MiB. A message may also have at most one
  /// value for each 40 bytes of this size, 64 levels, and 1000 members in an object. If a message exceeds these limits,
  /// the requests under way fail, because it is not known to which of them the message belongs.
  client_options& message(std::size_t max_bytes) {
    if (max_bytes == 0)
      throw error(exec_errc::invalid_argument, "mcp: the maximum size of a message must be at least 1");
    message_ = max_bytes;
    return *this;
  }

  /// Answers the server's requests for an answer of a model (`sampling/createMessage`). Default: they are refused, and
  /// the server knows that from the start.
  client_options& on_sampling(question_handler handler) {
    sampling_ = std::move(handler);
    return *this;
  }
  /// Answers the server's questions to the user (`elicitation/create`). Default: they are refused, and the server knows
  /// that from the start.
  client_options& on_elicitation(question_handler handler) {
    elicitation_ = std::move(handler);
    return *this;
  }
  /// Sets the listener for the log messages of the server (`notifications/message`).
  client_options& on_log(message_listener listener) {
    log_ = std::move(listener);
    return *this;
  }
  /// Sets the listener for changes of the server's lists of tools, resources and prompts. Its argument has the member
  /// `method`, such as `notifications/tools/list_changed`.
  client_options& on_change(message_listener listener) {
    change_ = std::move(listener);
    return *this;
  }

  /// Returns the name of this program.
  const std::string& name() const noexcept { return name_; }
  /// Returns the version of this program.
  const std::string& version() const noexcept { return version_; }
  protocol_era era() const noexcept { return era_; }
  const secret_string& token() const noexcept { return token_; }
  /// Returns the fields that `header` has added.
  const http_fields& headers() const noexcept { return headers_; }
  const tls_settings& tls() const noexcept { return tls_; }
  std::chrono::milliseconds start_timeout() const noexcept { return start_timeout_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  std::size_t message() const noexcept { return message_; }
  const question_handler& on_sampling() const noexcept { return sampling_; }
  const question_handler& on_elicitation() const noexcept { return elicitation_; }
  const message_listener& on_log() const noexcept { return log_; }
  const message_listener& on_change() const noexcept { return change_; }

 private:
  static std::chrono::milliseconds positive(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero() || limit > std::chrono::hours(24 * 7))
      throw error(exec_errc::invalid_argument, "mcp: a time limit must be longer than zero, and at most a week");
    return limit;
  }

  std::string name_ = "cofferdam";
  std::string version_ = std::string(cofferdam::version);
  protocol_era era_ = protocol_era::automatic;
  secret_string token_;
  http_fields headers_;
  tls_settings tls_;
  std::chrono::milliseconds start_timeout_{60'000};
  std::chrono::milliseconds timeout_{300'000};
  std::size_t message_ = std::size_t{16} * 1024 * 1024;
  question_handler sampling_;
  question_handler elicitation_;
  message_listener log_;
  message_listener change_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
