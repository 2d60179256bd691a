// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The server name in the first message of a TLS client. The parser does no I/O and consumes nothing: the
/// caller passes all bytes from the beginning of the connection, and passes them on itself.
/// \par Source  RFC 8446, 4.1.2 and 5.1; RFC 6066, 3 (server_name).
class client_hello {
 public:
  enum class state {
    need_more,  ///< the message is not complete
    not_tls,    ///< the first bytes are not those of TLS
    malformed,  ///< the message is TLS, but invalid, or longer than `max_size`
    complete,   ///< `server_name()` is known
  };
  /// The maximum size of the message with the headers of its records.
  static constexpr std::size_t max_size = std::size_t{32} * 1024;

  explicit client_hello(bytes_view from_start) { state_ = parse(as_text(from_start)); }

  state result() const noexcept { return state_; }
  /// Returns the name, as the client has sent it; no value if the client sends none. Untrusted.
  const std::optional<std::string>& server_name() const noexcept { return name_; }

 private:
  /// A view that is read from its beginning. After an attempt to read behind its end, `failed()` is true.
  class reader {
   public:
    explicit reader(std::string_view text) : rest_(text) {}
    bool failed() const noexcept { return failed_; }
    bool empty() const noexcept { return rest_.empty(); }
    std::size_t number(std::size_t size) {
      std::size_t value = 0;
      for (const char c : text(size)) value = value * 256 + static_cast<unsigned char>(c);
      return value;
    }
    std::string_view text(std::size_t size) {
      if (size > rest_.size()) {
        failed_ = true;
        rest_ = {};
        return {};
      }
      const std::string_view result = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return result;
    }
    /// Reads a vector that is preceded by its length.
    reader block(std::size_t size_of_length) { return reader(text(number(size_of_length))); }

   private:
    std::string_view rest_;
    bool failed_ = false;
  };

  state parse(std::string_view input) {
    std::string message;  // the handshake message without the headers of the records
    while (true) {
      if (!input.empty() && input[0] != '\x16') return message.empty() ? state::not_tls : state::malformed;
      if (input.size() > 1 && input[1] != '\x03') return message.empty() ? state::not_tls : state::malformed;
      if (input.size() < 5) return state::need_more;
      reader header(input.substr(3, 2));
      const std::size_t length = header.number(2);
      if (length == 0 || length > 16384) return state::malformed;
      message += input.substr(5, length);
      if (!message.empty() && message[0] != '\x01') return state::malformed;
      if (message.size() >= 4) {
        reader start(std::string_view(message).substr(1, 3));
        const std::size_t size = start.number(3);
        if (size > max_size - 1024) return state::malformed;
        if (message.size() > size + 4) return state::malformed;  // nothing may follow before the server's answer
        if (message.size() == size + 4) return body(std::string_view(message).substr(4));
      }
      if (input.size() < 5 + length) return state::need_more;
      input.remove_prefix(5 + length);
      if (message.size() > max_size) return state::malformed;
    }
  }

  state body(std::string_view text) {
    reader hello(text);
    hello.text(2 + 32);  // version and random
    hello.block(1);      // session id
    hello.block(2);      // cipher suites
    hello.block(1);      // compression methods
    if (hello.failed()) return state::malformed;
    if (hello.empty()) return state::complete;  // no extensions
    reader extensions = hello.block(2);
    if (hello.failed() || !hello.empty()) return state::malformed;
    bool found = false;
    while (!extensions.empty()) {
      const std::size_t kind = extensions.number(2);
      reader content = extensions.block(2);
      if (extensions.failed()) return state::malformed;
      if (kind != 0) continue;
      if (found) return state::malformed;
      found = true;
      reader names = content.block(2);
      const std::size_t name_kind = names.number(1);
      const std::size_t length = names.number(2);
      const std::string_view name = names.text(length);
      if (content.failed() || names.failed() || !content.empty() || !names.empty() || name_kind != 0 || name.empty())
        return state::malformed;
      name_ = std::string(name);
    }
    return extensions.failed() ? state::malformed : state::complete;
  }

  state state_ = state::need_more;
  std::optional<std::string> name_;
};

/// The alert "unrecognized_name" with which a server ends a handshake (RFC 6066, 3).
inline constexpr std::string_view unrecognized_name_alert("\x15\x03\x03\x00\x02\x02\x70", 7);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
