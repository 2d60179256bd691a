// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam_test {

/// Returns a number in `size` bytes, in network order.
inline std::string big_endian(std::size_t value, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = size; i-- > 0; value /= 256) text[i] = static_cast<char>(value % 256);
  return text;
}
/// Returns a text after its length in `size` bytes.
inline std::string with_length(const std::string& text, std::size_t size) {
  return big_endian(text.size(), size) + text;
}

/// Returns the first handshake message of TLS, without records.
/// \param name   the server name; empty for none.
/// \param other  a second server name, in a second extension; empty for none.
inline std::string client_hello_text(const std::string& name, const std::string& other = "") {
  const auto extension = [](const std::string& server) {
    if (server.empty()) return std::string();
    return big_endian(0, 2) + with_length(with_length(std::string(1, '\0') + with_length(server, 2), 2), 2);
  };
  std::string extensions = big_endian(43, 2) + with_length(with_length(big_endian(0x0304, 2), 1), 2);
  extensions += extension(name) + extension(other);
  std::string body = big_endian(0x0303, 2) + std::string(32, 'r') + with_length("session", 1);
  body += with_length(big_endian(0x1301, 2), 2) + with_length(std::string(1, '\0'), 1) + with_length(extensions, 2);
  return "\x01" + with_length(body, 3);
}

/// Returns a handshake message in TLS records of at most `size` bytes.
inline std::string in_records(std::string_view message, std::size_t size = 16384) {
  std::string text;
  while (!message.empty()) {
    const std::string_view part = message.substr(0, size);
    text += "\x16\x03\x01" + with_length(std::string(part), 2);
    message.remove_prefix(part.size());
  }
  return text;
}

}  // namespace cofferdam_test
