// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_message.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline void append_fields(std::string& text, const http_fields& fields) {
  for (const http_field& field : fields) {
    text += field.name();
    text += ": ";
    text += field.value();
    text += "\r\n";
  }
  text += "\r\n";
}

/// Returns the serialized head of a request, including the empty line after it.
/// \throws error{exec_errc::invalid_argument} if the method or the target is invalid, so that neither can add lines to
///     the head.
/// \par Source  RFC 9112, 3.
inline std::string http_head_text(const http_request_head& head) {
  if (!detail::is_token(head.method) || !detail::is_target(head.target))
    throw error(exec_errc::invalid_argument,
                "an HTTP request needs a method that is a token and a target of visible ASCII");
  std::string text = head.method + " " + head.target + " HTTP/1." + (head.minor_version == 0 ? "0" : "1") + "\r\n";
  detail::append_fields(text, head.fields);
  return text;
}

/// Returns the serialized head of a response, including the empty line after it.
/// \throws error{exec_errc::invalid_argument} if the status is not 100 to 599, or if the reason has control characters,
///     which could add lines to the head.
/// \par Source  RFC 9112, 4.
inline std::string http_head_text(const http_response_head& head) {
  if (head.status < 100 || head.status > 599 || !detail::is_field_text(head.reason))
    throw error(exec_errc::invalid_argument,
                "an HTTP response needs a status from 100 to 599 and a reason without control characters");
  std::string text = "HTTP/1." + std::string(head.minor_version == 0 ? "0 " : "1 ");
  text += std::to_string(head.status) + " " + head.reason + "\r\n";
  detail::append_fields(text, head.fields);
  return text;
}

/// Returns the text before the bytes of a chunk. `http_chunk_end` is the text after them.
/// \param size  the number of bytes in the chunk, more than 0, because an empty chunk would end the body.
/// \par Source  RFC 9112, 7.1.
inline std::string http_chunk_head(std::uint64_t size) {
  if (size == 0) throw error(exec_errc::invalid_argument, "an empty chunk would end the body");
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
  std::string text(digits.data(), end);
  text += "\r\n";
  return text;
}
inline constexpr std::string_view http_chunk_end = "\r\n";
/// The text that ends a chunked body without trailers.
inline constexpr std::string_view http_last_chunk = "0\r\n\r\n";

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
