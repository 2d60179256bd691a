// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/http_message.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Decodes percent-encoding, and `+` as a space. Invalid sequences stay unchanged.
inline std::string form_decode(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_coded =
        text[at] == '%' && at + 2 < text.size() && digit(text[at + 1]) >= 0 && digit(text[at + 2]) >= 0;
    if (is_coded) {
      plain += static_cast<char>(digit(text[at + 1]) * 16 + digit(text[at + 2]));
      at += 2;
    } else {
      plain += text[at] == '+' ? ' ' : text[at];
    }
  }
  return plain;
}

/// The parameters in the query of a URL, which follows the `?`. They are decoded once.
class query_fields {
 public:
  explicit query_fields(std::string_view text) {
    while (!text.empty()) {
      const std::string_view pair = text.substr(0, text.find('&'));
      text.remove_prefix(std::min(text.size(), pair.size() + 1));
      const std::size_t equals = std::min(pair.find('='), pair.size());
      if (pair.empty()) continue;
      all_.emplace_back(form_decode(pair.substr(0, equals)),
                        form_decode(pair.substr(std::min(pair.size(), equals + 1))));
    }
  }

  /// Returns the first value of a parameter; no value if the parameter is absent.
  std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (const auto& [key, value] : all_)
      if (key == name) return value;
    return std::nullopt;
  }
  /// Returns the first value of a parameter; an empty text if the parameter is absent.
  std::string_view value(std::string_view name) const noexcept { return find(name).value_or(std::string_view()); }
  const std::vector<std::pair<std::string, std::string>>& all() const noexcept { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

template <class Number>
std::optional<Number> number_from(std::string_view text) noexcept {
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// The destination of a request, or the reason why it has none.
class request_route {
 public:
  enum class target {
    api,          ///< the control plane
    sandbox,      ///< port `port()` of the sandbox `id()`
    signed_file,  ///< a signed URL that names no sandbox; the signature identifies the sandbox
    wrong_host,   ///< an unknown host name: status 421
    one_header,   ///< only one of the two routing headers was sent
    bad_host,     ///< the host name contains no sandbox id
    bad_id,       ///< the sandbox id is invalid
    bad_port,     ///< the port is invalid
  };
  explicit request_route(target where) noexcept : where_(where) {}
  request_route(std::string id, std::uint16_t port) : id_(std::move(id)), port_(port) {}
  target where() const noexcept { return where_; }
  const std::string& id() const noexcept { return id_; }
  std::uint16_t port() const noexcept { return port_; }

 private:
  target where_ = target::sandbox;
  std::string id_;
  std::uint16_t port_ = 0;
};

/// A router that determines the destination of a request from its `Host` field, its target, and E2B's two routing
/// headers, which have the id and the port of a sandbox.
/// \par Source  E2B's client proxy.
class request_router {
 public:
  /// \param domain  the domain name of the gateway.
  /// \param names   further host names of the gateway, without ports. They serve the API and, for requests with the
  ///                routing headers, sandboxes.
  request_router(std::string domain, std::vector<std::string> names)
      : domain_(std::move(domain)), names_(std::move(names)) {
    for (std::string& name : names_) name = lower(name);
  }

  request_route find(const http_request_head& head) const {
    using target = request_route::target;
    const std::string host = name_of(head.fields.find("Host").value_or(std::string_view()));
    const bool is_local = host == "localhost" || is_address(host);
    const bool is_named = std::find(names_.begin(), names_.end(), host) != names_.end();
    const std::string below = below_domain(host);
    if (!is_local && !is_named && host != domain_ && below.empty()) return request_route(target::wrong_host);
    const auto id = head.fields.find("E2b-Sandbox-Id");
    const auto port = head.fields.find("E2b-Sandbox-Port");
    if (is_local || is_named || host == domain_ || below == "sandbox" || below == "api") {
      if (!id && !port) {
        if (below == "sandbox") return request_route(target::one_header);
        return request_route(is_signed_file(head.target) ? target::signed_file : target::api);
      }
      if (below == "api") return request_route(target::api);
      if (!id || !port) return request_route(target::one_header);
      return sandbox(*id, *port);
    }
    const std::string_view label = std::string_view(below).substr(0, below.find('.'));
    const std::size_t dash = label.find('-');
    if (dash == std::string_view::npos) return request_route(target::bad_host);
    const std::string_view rest = label.substr(dash + 1);
    return sandbox(rest.substr(0, rest.find('-')), label.substr(0, dash));
  }

 private:
  static std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = cofferdam::detail::lowered(c);
    return result;
  }
  /// Returns the host without its port.
  static std::string name_of(std::string_view host) {
    if (host.starts_with('[')) return lower(host.substr(0, host.find(']') + 1));
    return lower(host.substr(0, host.find(':')));
  }
  /// Returns true if the host is an IP address and not a name. An address is always accepted, because an attack by DNS
  /// rebinding needs a name.
  static bool is_address(std::string_view host) noexcept {
    if (host.starts_with('[')) return host.ends_with(']');
    std::size_t dots = 0;
    for (const char c : host) {
      if (c == '.') ++dots;
      if (c != '.' && (c < '0' || c > '9')) return false;
    }
    return dots == 3;
  }
  std::string below_domain(std::string_view host) const {
    if (host.size() <= domain_.size() + 1 || !host.ends_with(domain_)) return {};
    host.remove_suffix(domain_.size());
    if (!host.ends_with('.')) return {};
    host.remove_suffix(1);
    return std::string(host);
  }
  static bool is_signed_file(std::string_view whole) {
    const std::size_t mark = whole.find('?');
    if (whole.substr(0, mark) != "/files" || mark == std::string_view::npos) return false;
    return query_fields(whole.substr(mark + 1)).find("signature").has_value();
  }
  static request_route sandbox(std::string_view id, std::string_view port) {
    const bool is_id = !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    });
    if (!is_id) return request_route(request_route::target::bad_id);
    const std::optional<std::uint16_t> number = number_from<std::uint16_t>(port);
    if (!number || *number == 0) return request_route(request_route::target::bad_port);
    return request_route(std::string(id), *number);
  }

  std::string domain_;
  std::vector<std::string> names_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
