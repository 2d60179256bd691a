// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The channels of an exec. The first byte of each WebSocket message is the number of its channel.
/// \par Source  Kubernetes, the subprotocols v4.channel.k8s.io and v5.channel.k8s.io.
enum class exec_channel : std::uint8_t {
  input = 0,
  output = 1,
  error_output = 2,
  status = 3,  ///< one Status object, after the end of the program
  resize = 4,
  close = 255,  ///< v5 only: the second byte is the number of the channel that ends
};

/// Returns a message with bytes for the program's standard input.
inline std::string input_message(std::string_view content) {
  std::string message(1, '\0');
  return message.append(content);
}

/// Returns the message that ends the program's standard input. The subprotocol v4 has no such message.
inline std::string end_of_input_message() { return std::string("\xff\0", 2); }

/// The end of a program that an exec has run.
class exec_end {
 public:
  /// \param exit_code  no value if the program could not be started, or if its end is not known.
  exec_end(std::optional<int> exit_code, std::string message) : exit_code_(exit_code), message_(std::move(message)) {}
  std::optional<int> exit_code() const noexcept { return exit_code_; }
  /// Returns the message of the node: untrusted; empty if the program has exited with 0.
  const std::string& message() const noexcept { return message_; }

 private:
  std::optional<int> exit_code_;
  std::string message_;
};

/// Reads the Status object of an exec.
inline exec_end read_exec_end(std::string_view text) {
  std::error_code failure;
  const boost::json::value value = cofferdam::detail::parse_untrusted_json(text, failure);
  const boost::json::object* const object = failure ? nullptr : value.if_object();
  if (object == nullptr) return exec_end(std::nullopt, std::string(text.substr(0, 4096)));
  const api_status status = api_status::read(0, *object);
  if (status.succeeded()) return exec_end(0, {});
  const boost::json::array* const causes =
      cofferdam::detail::array_at(cofferdam::detail::object_at(*object, "details"), "causes");
  if (status.reason() == "NonZeroExitCode" && causes != nullptr)
    for (const boost::json::value& each : *causes) {
      const boost::json::object* const cause = each.if_object();
      if (cofferdam::detail::text_at(cause, "reason") != "ExitCode") continue;
      const std::string_view digits = cofferdam::detail::text_at(cause, "message");
      int code = 0;
      bool plain = !digits.empty() && digits.size() <= 3;
      for (const char c : digits) {
        plain = plain && c >= '0' && c <= '9';
        if (plain) code = code * 10 + (c - '0');
      }
      if (plain && code <= 255) return exec_end(code, status.message());
    }
  return exec_end(std::nullopt, status.message());
}

/// One WebSocket message of an exec, decoded.
class exec_message {
 public:
  exec_message(exec_channel channel, std::string_view content) : channel_(channel), content_(content) {}
  exec_channel channel() const noexcept { return channel_; }
  /// Returns the bytes after the number of the channel: a view into the message.
  std::string_view content() const noexcept { return content_; }

 private:
  exec_channel channel_;
  std::string_view content_;
};

/// A decoder for the messages of one exec. It collects the Status object, and hands out everything else.
class exec_reader {
 public:
  /// The maximum size of the Status object in bytes.
  static constexpr std::size_t max_status = std::size_t{64} * 1024;

  /// Decodes a message.
  /// \param message  the content of a WebSocket message; the caller keeps it while the result is used.
  /// \return  output of the program; no value for a message without output, such as the empty ones at the start.
  /// \throws error{exec_errc::provider_failed} for a message without a channel, or of a channel that a server does not
  ///     send; error{exec_errc::too_large} if the Status object is too large.
  std::optional<exec_message> take(std::string_view message) {
    if (message.empty())
      throw error(exec_errc::provider_failed, "kubernetes: the exec sent a message without a channel");
    const auto channel = static_cast<exec_channel>(static_cast<unsigned char>(message.front()));
    const std::string_view content = message.substr(1);
    switch (channel) {
      case exec_channel::output:
      case exec_channel::error_output:
        if (content.empty()) return std::nullopt;
        return exec_message(channel, content);
      case exec_channel::status:
        if (content.size() > max_status - status_.size())
          throw error(exec_errc::too_large, "kubernetes: the exec sent a status of more than 64 KiB");
        status_ += content;
        return std::nullopt;
      case exec_channel::input:  // the server announces each channel by an empty message
      case exec_channel::resize:
      case exec_channel::close:
        if (content.size() <= 1) return std::nullopt;
        break;
    }
    throw error(exec_errc::provider_failed, "kubernetes: the exec sent a message of the channel " +
                                                std::to_string(static_cast<unsigned char>(message.front())) +
                                                ", which only clients send");
  }

  /// Returns how the program has ended; no value if the exec ended without a status, as when the connection is lost.
  std::optional<exec_end> end() const {
    if (status_.empty()) return std::nullopt;
    return read_exec_end(status_);
  }

 private:
  std::string status_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
