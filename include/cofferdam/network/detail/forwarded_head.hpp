// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/http_serializer.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/network/detail/egress_decision.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/host_rule.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The heads that a proxy reads and writes. A head that is passed on is always written anew from its parsed form, so
// that nothing in it can be read in two ways. None of these functions does I/O.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The destination of a request to a proxy.
class proxy_target {
 public:
  host_and_number where;
  std::string target;   ///< the target in origin form; empty for CONNECT
  std::string problem;  ///< the sentence for an answer 400; empty if the request is valid
};

/// Returns the sentence for a `Host` field that names another place than the request; empty if the field is absent or
/// names the same place.
inline std::string host_problem(const http_request_head& head, const host_and_number& where) {
  const std::optional<std::string_view> field = head.fields.find("Host");
  if (!field) return "";
  const std::optional<host_and_number> named = parse_authority(*field, where.port);
  if (named == where) return "";
  return "The Host field names " + one_line(*field, 100) + ", but the request is for " + authority_text(where) +
         ". Send the request to the host that it is for.";
}

/// Reads the destination of a request to a proxy: the authority of CONNECT, or an absolute `http` URL.
/// \par Source  RFC 9112, 3.2.2 and 3.2.3. A `Host` field that differs is refused rather than replaced.
inline proxy_target read_proxy_target(const http_request_head& head) {
  proxy_target result;
  std::string_view rest = head.target;
  std::optional<host_and_number> where;
  if (head.method == "CONNECT") {
    where = parse_authority(rest, 0);
  } else {
    constexpr std::string_view scheme = "http://";
    if (!same_ignoring_case(rest.substr(0, scheme.size()), scheme)) {
      result.problem =
          "This is an HTTP proxy: send CONNECT HOST:PORT for https, or a URL that begins with http:// as the target.";
      return result;
    }
    rest.remove_prefix(scheme.size());
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    where = parse_authority(rest.substr(0, end), 80);
    result.target = rest.substr(end);
    if (result.target.starts_with('?') || result.target.empty()) result.target.insert(0, "/");
    if (result.target.find('#') != std::string::npos) where.reset();
  }
  if (!where) {
    result.problem = "The target " + one_line(head.target, 100) +
                     " is not valid: it needs a plain host name or IP address, without a user name and without "
                     "percent-encoding, and a port.";
    return result;
  }
  result.where = *where;
  result.problem = host_problem(head, result.where);
  return result;
}

/// Checks a request inside a connection to one host. Returns the sentence for an answer 400; empty if it is valid.
inline std::string inner_request_problem(const http_request_head& head, const host_and_number& where) {
  if (head.method == "CONNECT") return "CONNECT is not possible inside a connection to " + authority_text(where) + ".";
  const bool is_star = head.method == "OPTIONS" && head.target == "*";
  if ((!head.target.starts_with('/') && !is_star) || head.target.find('#') != std::string::npos)
    return "The target " + one_line(head.target, 100) + " is not a path.";
  return host_problem(head, where);
}

/// Returns the printable form of a label, which is untrusted.
inline std::string label_text(std::string_view untrusted) { return one_line(untrusted, 64); }

/// Returns the user name in the `Proxy-Authorization` field; empty if there is none. Every password is accepted.
inline std::string label_of(const http_fields& fields) {
  const std::optional<std::string_view> field = fields.find("Proxy-Authorization");
  if (!field || !same_ignoring_case(field->substr(0, 6), "Basic ")) return "";
  const std::optional<bytes> decoded = base64_decode(without_blanks(field->substr(6)));
  if (!decoded) return "";
  const std::string_view text = as_text(*decoded);
  return label_text(text.substr(0, text.find(':')));
}

/// Removes the fields that concern one connection only (RFC 9110, 7.6.1), and those that describe the body's length.
inline void remove_connection_fields(http_fields& fields) {
  std::vector<std::string> names{"Connection",          "Content-Length",   "Keep-Alive", "Proxy-Authenticate",
                                 "Proxy-Authorization", "Proxy-Connection", "TE",         "Trailer",
                                 "Transfer-Encoding",   "Upgrade"};
  for (const http_field& field : fields) {
    if (!same_ignoring_case(field.name(), "Connection")) continue;
    std::string_view rest = field.value();
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      names.emplace_back(without_blanks(rest.substr(0, comma)));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  for (const std::string& name : names) fields.erase(name);
}

/// The framing of a body that is passed on.
enum class body_framing { none, length, chunked, until_close };

/// Adds the fields that describe the body.
inline void add_framing(http_fields& fields, body_framing framing, std::string_view length) {
  if (framing == body_framing::length) fields.append("Content-Length", std::string(length));
  if (framing == body_framing::chunked) fields.append("Transfer-Encoding", "chunked");
}

inline body_framing framing_of(const http_fields& fields) {
  if (fields.count("Transfer-Encoding") != 0) return body_framing::chunked;
  return fields.count("Content-Length") != 0 ? body_framing::length : body_framing::none;
}

/// Returns true if a request is for WebSocket, the only protocol to which a connection may switch.
inline bool asks_for_websocket(const http_request_head& head) {
  return head.method == "GET" && head.minor_version == 1 && head.fields.lists("Connection", "Upgrade") &&
         head.fields.count("Upgrade") == 1 && same_ignoring_case(*head.fields.find("Upgrade"), "websocket") &&
         framing_of(head.fields) == body_framing::none;
}

/// Returns the bytes of a request's head, as it is sent to the host.
/// \param target  the target in origin form.
/// \param rule    the rule whose header fields are added; null for none.
/// \param usual   the default port of the scheme, which `Host` does not contain.
/// \param keeps   true if the connection may be used for another request.
inline secret_bytes forwarded_request(const http_request_head& from, std::string target, const host_and_number& where,
                                      const host_rule* rule, std::uint16_t usual, bool keeps) {
  http_request_head head;
  head.method = from.method;
  head.target = std::move(target);
  const body_framing framing = framing_of(from.fields);
  const std::string length(from.fields.find("Content-Length").value_or(""));
  const bool upgrades = asks_for_websocket(from);
  http_fields fields = from.fields;
  remove_connection_fields(fields);
  fields.erase("Host");
  fields.erase("Expect");
  head.fields.append("Host", authority_text(where, usual));
  if (rule != nullptr)
    for (const auto& [name, value] : rule_reader::headers(*rule)) fields.erase(name);
  for (const http_field& field : fields) head.fields.append(field);
  add_framing(head.fields, framing, length);
  if (upgrades) {
    head.fields.append("Connection", "Upgrade").append("Upgrade", "websocket");
  } else if (!keeps) {
    head.fields.append("Connection", "close");
  }
  std::string text = http_head_text(head);
  text.resize(text.size() - 2);  // without the empty line
  secret_bytes result(text.begin(), text.end());
  const auto add = [&result](std::string_view part) { result.insert(result.end(), part.begin(), part.end()); };
  if (rule != nullptr) {
    for (const auto& [name, value] : rule_reader::headers(*rule)) {
      add(name);
      add(": ");
      add(value.reveal());
      add("\r\n");
    }
  }
  add("\r\n");
  return result;
}

/// Returns the bytes of a response's head, as the client of the proxy receives it.
/// \param framing  the framing of the body towards the client.
/// \param keeps    true if the client may send another request on its connection.
inline std::string forwarded_response(const http_response_head& from, body_framing framing, bool keeps) {
  http_response_head head;
  head.status = from.status;
  head.reason = from.reason;
  const std::string length(from.fields.find("Content-Length").value_or(""));
  http_fields fields = from.fields;
  const bool upgrades = from.status == 101;
  remove_connection_fields(fields);
  head.fields = std::move(fields);
  if (upgrades) {
    head.fields.append("Connection", "Upgrade").append("Upgrade", "websocket");
    return http_head_text(head);
  }
  // The answer to HEAD, and status 304, may have the length of a body that is not sent.
  if (framing == body_framing::none && !length.empty() && from.status >= 200 && from.status != 204)
    framing = body_framing::length;
  add_framing(head.fields, framing, length);
  if (!keeps && from.status >= 200) head.fields.append("Connection", "close");
  return http_head_text(head);
}

/// Returns a whole answer of the proxy itself, with a plain text for the reader.
inline std::string proxy_answer(int status, std::string_view reason, const std::string& sentence) {
  // Many programs do not show the body of an answer to CONNECT, but the text of its status.
  std::string text = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + ": " + one_line(sentence, 300);
  text += "\r\n";
  text += "Content-Type: text/plain; charset=utf-8\r\nContent-Length: " + std::to_string(sentence.size() + 1);
  text += "\r\nConnection: close\r\n\r\n" + sentence + "\n";
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
