// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/secret_string.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The limits of the head of an HTTP message: its first line and its header fields. A larger head is
/// `error{exec_errc::io_error}` with `net_errc::head_too_large` or `net_errc::too_many_fields`.
class http_parser_limits {
 public:
  http_parser_limits() = default;

  std::size_t line = 16 * 1024;  ///< maximum bytes of one line, without its CR LF
  std::size_t head = 64 * 1024;  ///< maximum bytes of all lines of a head; the trailers have the same limit again
  std::size_t fields = 256;      ///< maximum number of fields in a head; the trailers have the same limit again
  std::size_t interim = 32;      ///< maximum number of interim responses (status 1xx) before the final response
};

namespace detail {

/// Returns true for a `tchar` of RFC 9110, 5.6.2: a character that may be in a method or a field name.
constexpr bool is_token_char(char c) noexcept {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}
/// Returns true for a valid field value (RFC 9110, 5.5): no CR, LF, NUL or other control character except the tab.
constexpr bool is_field_text(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7F);
  });
}
/// Returns true for a valid request target: visible ASCII. The caller must have percent-encoded all other characters.
constexpr bool is_target(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}
constexpr char lowered(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lowered(x) == lowered(y); });
}
constexpr std::string_view without_blanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace detail

/// One header field: a name, and a value that may be empty.
class http_field {
 public:
  http_field() = default;
  /// \param name   a `token` of RFC 9110: letters, digits and some punctuation; not empty.
  /// \param value  may be empty. Must not contain control characters except the tab. Blanks at its beginning and end
  ///               are removed.
  /// \throws error{exec_errc::invalid_argument} for an invalid name or value. Untrusted text therefore cannot add lines
  ///     to the head. The message does not show the value, which may be secret.
  http_field(std::string name, std::string value) : name_(std::move(name)) {
    if (!detail::is_token(name_))
      throw error(exec_errc::invalid_argument, "\"" + one_line(name_) + "\" is not a valid name of an HTTP field");
    if (!detail::is_field_text(value))
      throw error(exec_errc::invalid_argument,
                  "the value for the HTTP field " + name_ + " has a line break, a NUL or another control character");
    value_ = detail::without_blanks(value);
  }

  /// Returns the name of the field, as it was given.
  const std::string& name() const noexcept { return name_; }
  /// Returns the value of the field, without blanks at its beginning and end.
  const std::string& value() const noexcept { return value_; }

 private:
  std::string name_;
  std::string value_;
};

/// The header fields of a message, in their order. Names are compared without regard to case.
/// \par Source  RFC 9110, 5.
class http_fields {
 public:
  /// Adds a field, even if there is one with the same name.
  /// \throws error{exec_errc::invalid_argument} for an invalid name or value, as the constructor of `http_field`.
  http_fields& append(std::string name, std::string value) {
    return append(http_field(std::move(name), std::move(value)));
  }
  http_fields& append(http_field field) {
    fields_.push_back(std::move(field));
    return *this;
  }
  /// Sets the value of the first field with this name, and removes all other fields with this name. Adds a field if
  /// there is none.
  /// \throws error{exec_errc::invalid_argument} for an invalid name or value, as the constructor of `http_field`.
  http_fields& set(std::string name, std::string value) {
    http_field field(std::move(name), std::move(value));
    const auto same = [&](const http_field& entry) { return detail::same_ignoring_case(entry.name(), field.name()); };
    const auto first = std::find_if(fields_.begin(), fields_.end(), same);
    if (first == fields_.end()) {
      fields_.push_back(std::move(field));
      return *this;
    }
    fields_.erase(std::remove_if(first + 1, fields_.end(), same), fields_.end());
    *first = std::move(field);
    return *this;
  }
  /// Removes all fields with this name.
  void erase(std::string_view name) {
    std::erase_if(fields_, [&](const http_field& entry) { return detail::same_ignoring_case(entry.name(), name); });
  }

  /// Returns the value of the first field with this name; no value if the field is absent. The view is valid until the
  /// fields change.
  std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (const http_field& entry : fields_)
      if (detail::same_ignoring_case(entry.name(), name)) return entry.value();
    return std::nullopt;
  }
  /// Returns the number of fields with this name.
  std::size_t count(std::string_view name) const noexcept {
    return static_cast<std::size_t>(std::count_if(fields_.begin(), fields_.end(), [&](const http_field& entry) {
      return detail::same_ignoring_case(entry.name(), name);
    }));
  }
  /// Returns true if a field with this name has `member` in its comma-separated value. Case is ignored.
  bool lists(std::string_view name, std::string_view member) const noexcept {
    for (const http_field& entry : fields_) {
      if (!detail::same_ignoring_case(entry.name(), name)) continue;
      std::string_view rest = entry.value();
      while (!rest.empty()) {
        const auto comma = rest.find(',');
        if (detail::same_ignoring_case(detail::without_blanks(rest.substr(0, comma)), member)) return true;
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      }
    }
    return false;
  }

  /// Returns the number of fields.
  std::size_t size() const noexcept { return fields_.size(); }
  /// Returns true if there are no fields.
  bool empty() const noexcept { return fields_.empty(); }
  /// Returns an iterator to the first field.
  auto begin() const noexcept { return fields_.begin(); }
  /// Returns the iterator after the last field.
  auto end() const noexcept { return fields_.end(); }

 private:
  std::vector<http_field> fields_;
};

/// The body of a request: absent, bytes, a part of a file, or pieces that are produced while they are sent.
class http_body {
 public:
  /// A function that returns the next piece of the body at each call, and an empty piece at the end. The calls never
  /// overlap.
  using source = std::function<awaitable<bytes>()>;

  /// Constructs an absent body.
  http_body() = default;
  /// Constructs a body of these bytes. They may be empty.
  explicit http_body(bytes content) : content_(std::move(content)) {}
  /// Constructs a body of the bytes of `text`.
  explicit http_body(std::string_view text) : http_body(to_bytes(text)) {}
  /// Returns a body that refers to bytes. The caller keeps the bytes until the request has been answered or has failed.
  static http_body borrowed(bytes_view content) {
    http_body result;
    result.content_ = content;
    return result;
  }
  /// Returns a body that refers to a part of a file. The caller keeps the file open until the request has been answered
  /// or has failed. A socket sends the bytes without a copy in memory.
  static http_body of_file(file_range part) {
    http_body result;
    result.content_ = part;
    return result;
  }
  /// Constructs a body of pieces whose total size is unknown. The body is sent chunked.
  explicit http_body(source pieces) : http_body(made_pieces(std::move(pieces), std::nullopt)) {}
  /// Constructs a body of pieces whose total size is known.
  /// \param pieces  yields the body, piece by piece.
  /// \param size  the exact total size of the pieces, in bytes. If the pieces have another total, the request fails.
  http_body(source pieces, std::uint64_t size) : http_body(made_pieces(std::move(pieces), size)) {}

  /// Returns the same body, which is sent in chunks although its length is known. Use this for requests through a Go
  /// proxy. If the body has a Content-Length, the proxy looks for the body's end only after it has forwarded the last
  /// byte, and it aborts a response that begins before that. The end of a chunked body is forwarded as a chunk, so the
  /// server cannot respond before the proxy has seen the end.
  [[nodiscard]] http_body in_chunks() && {
    in_chunks_ = true;
    return std::move(*this);
  }

  /// Returns true if there is a body, even an empty one.
  bool present() const noexcept { return !std::holds_alternative<std::monostate>(content_); }
  /// Returns true if the body is sent with `Transfer-Encoding: chunked` rather than `Content-Length`.
  bool is_chunked() const noexcept { return present() && (in_chunks_ || !size()); }
  /// Returns the part of a file; null if the body is something else.
  const file_range* file() const noexcept { return std::get_if<file_range>(&content_); }
  /// Returns the bytes, if the body was constructed from bytes or refers to bytes; otherwise an empty view.
  bytes_view content() const noexcept {
    if (const bytes* const own = std::get_if<bytes>(&content_)) return *own;
    if (const bytes_view* const lent = std::get_if<bytes_view>(&content_)) return *lent;
    return {};
  }
  /// Returns the source of the pieces; an empty function if the body has no source.
  const source& pieces() const noexcept {
    static const source none;
    const made_pieces* const held_pieces = std::get_if<made_pieces>(&content_);
    return held_pieces != nullptr ? held_pieces->next : none;
  }
  /// Returns the total size in bytes: 0 for an absent body, no value if the size is not known in advance.
  std::optional<std::uint64_t> size() const noexcept {
    if (const made_pieces* const held_pieces = std::get_if<made_pieces>(&content_)) return held_pieces->size;
    if (const file_range* const part = file()) return part->size();
    return content().size();
  }

 private:
  class made_pieces {
   public:
    made_pieces(source pieces, std::optional<std::uint64_t> sum) : next(std::move(pieces)), size(sum) {
      if (!next) throw error(exec_errc::invalid_argument, "http_body: the source of pieces is empty");
    }
    source next;
    std::optional<std::uint64_t> size;
  };
  explicit http_body(made_pieces pieces) : content_(std::move(pieces)) {}

  std::variant<std::monostate, bytes, bytes_view, file_range, made_pieces> content_;
  bool in_chunks_ = false;
};

/// A request: method, target, fields and body. The client sets `Content-Length` and `Transfer-Encoding`, and `Host` if
/// it is absent.
class http_request {
 public:
  http_request() = default;
  /// \param method  a `token` of RFC 9110, usually in capitals. It is sent unchanged.
  /// \param target  the path and the query, percent-encoded; visible ASCII, not empty.
  /// \throws error{exec_errc::invalid_argument} for an invalid method or target. Untrusted text therefore cannot add
  ///     lines to the head.
  http_request(std::string method, std::string target) : method_(std::move(method)), target_(std::move(target)) {
    if (!detail::is_token(method_))
      throw error(exec_errc::invalid_argument, "\"" + one_line(method_) + "\" is not an HTTP method");
    if (!detail::is_target(target_))
      throw error(exec_errc::invalid_argument, "\"" + one_line(target_) +
                                                   "\" is not a valid target of an HTTP request; percent-encode "
                                                   "blanks, control characters and non-ASCII characters");
  }

  /// Adds a field. If the request has no `Host` field, the client adds one with the name of the connection's host.
  /// \throws error{exec_errc::invalid_argument} for an invalid name or value, as the constructor of `http_field`.
  http_request& field(std::string name, std::string value) {
    fields_.append(std::move(name), std::move(value));
    return *this;
  }
  /// Adds a field with a secret value, for example a token. Its value is kept out of core dumps. `fields()` does not
  /// contain the field.
  /// \throws error{exec_errc::invalid_argument} for an invalid name or value. The message does not show the value.
  http_request& secret_field(std::string name, secret_string value) {
    if (!detail::is_token(name) || !detail::is_field_text(value.reveal()))
      throw error(exec_errc::invalid_argument,
                  "the value of the HTTP field \"" + one_line(name) +
                      "\", which is a secret, contains a control character, or the name is invalid");
    secret_fields_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  /// Sets the body, without a `Content-Type` field.
  http_request& body(http_body content) {
    body_ = std::move(content);
    return *this;
  }
  /// Sets the body and the `Content-Type` field: `request.content("application/json", text)`.
  /// \throws error{exec_errc::invalid_argument} for an invalid type, as the constructor of `http_field`.
  http_request& content(std::string type, std::string_view text) {
    fields_.set("Content-Type", std::move(type));
    body_ = http_body(text);
    return *this;
  }
  /// Marks the request as safe to execute twice, whatever its method. The client may then send it again if a connection
  /// from its pool turns out to be closed.
  http_request& idempotent() {
    idempotent_ = true;
    return *this;
  }

  /// Returns the method, such as "GET".
  const std::string& method() const noexcept { return method_; }
  /// Returns the target: the path and the query.
  const std::string& target() const noexcept { return target_; }
  /// Returns the fields, except those that `secret_field` has added.
  const http_fields& fields() const noexcept { return fields_; }
  http_fields& fields() noexcept { return fields_; }
  /// Returns the fields that `secret_field` has added.
  const std::vector<std::pair<std::string, secret_string>>& secret_fields() const noexcept { return secret_fields_; }
  const http_body& body() const noexcept { return body_; }
  /// Returns true if the request may be sent twice: because its method is idempotent (RFC 9110, 9.2.2), or because
  /// `idempotent()` was called.
  bool is_idempotent() const noexcept {
    if (idempotent_) return true;
    for (const std::string_view name : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"})
      if (method_ == name) return true;
    return false;
  }

 private:
  std::string method_ = "GET";
  std::string target_ = "/";
  http_fields fields_;
  std::vector<std::pair<std::string, secret_string>> secret_fields_;
  http_body body_;
  bool idempotent_ = false;
};

/// The head of a request that a server has received.
class http_request_head {
 public:
  /// The method, such as "GET". Untrusted.
  std::string method;
  /// The target: the path and the query, not percent-decoded. Untrusted.
  std::string target;
  int minor_version = 1;  ///< the 1 of HTTP/1.1, or the 0 of HTTP/1.0
  /// The header fields. Untrusted.
  http_fields fields;
};

/// The head of a response: status, reason and fields.
class http_response_head {
 public:
  /// The status code, 100 to 599; 0 before a response was received.
  int status = 0;
  /// The text after the status code, chosen by the server and often empty. Untrusted: pass it to `one_line` before
  /// showing it.
  std::string reason;
  int minor_version = 1;  ///< the 1 of HTTP/1.1, or the 0 of HTTP/1.0
  /// The header fields. Untrusted.
  http_fields fields;

  /// Returns true if the status is 200 to 299.
  bool ok() const noexcept { return status >= 200 && status < 300; }
};

/// A whole response: its head and its body.
class http_response {
 public:
  http_response() = default;
  /// Combines a head and a body.
  http_response(http_response_head head, bytes body) : head_(std::move(head)), body_(std::move(body)) {}

  /// Returns the head.
  const http_response_head& head() const noexcept { return head_; }
  /// Returns the status code, 100 to 599.
  int status() const noexcept { return head_.status; }
  /// Returns true if the status is 200 to 299.
  bool ok() const noexcept { return head_.ok(); }
  /// Returns the value of the first field with this name; no value if the field is absent. The view is valid as long as
  /// this object.
  std::optional<std::string_view> field(std::string_view name) const noexcept { return head_.fields.find(name); }
  /// Returns the body.
  const bytes& body() const noexcept { return body_; }
  /// Returns the body as characters, which need not be valid UTF-8. The view is valid as long as this object.
  std::string_view text() const noexcept { return as_text(body_); }

 private:
  http_response_head head_;
  bytes body_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
