// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/port_number.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The way to connect to a daemon.
enum class daemon_transport {
  unix_socket,  ///< a socket of this machine
  tcp,          ///< plain HTTP: each program that can connect to the port can control the daemon's machine as root
  tls,          ///< HTTP over TLS
  ssh,          ///< through the program `ssh`, with the user's configuration
};

/// The paths of the PEM files for TLS. Without `ca`, the system's certificate authorities are trusted. Without
/// `certificate` and `key`, no client certificate is sent.
class tls_files {
 public:
  tls_files() = default;
  tls_files(std::string ca, std::string certificate, std::string key)
      : ca_(std::move(ca)), certificate_(std::move(certificate)), key_(std::move(key)) {}

  const std::string& ca() const noexcept { return ca_; }
  const std::string& certificate() const noexcept { return certificate_; }
  const std::string& key() const noexcept { return key_; }

 private:
  std::string ca_;
  std::string certificate_;
  std::string key_;
};

/// The address of a daemon. A value, made by `parse_daemon_address` and `find_daemon`. It holds no connection.
class daemon_location {
 public:
  using header_list = std::vector<std::pair<std::string, std::string>>;

  /// Makes the location of a socket on this machine, by its absolute path.
  static daemon_location at_socket(std::string path) {
    daemon_location location(daemon_transport::unix_socket);
    location.path_ = std::move(path);
    return location;
  }

  /// Makes the location of a port on another machine. The parts are not checked; `parse_daemon_address` documents their
  /// form.
  static daemon_location at_host(daemon_transport transport, std::string host,
                                 std::optional<std::uint16_t> port = std::nullopt) {
    daemon_location location(transport);
    location.host_ = std::move(host);
    location.port_ = port;
    return location;
  }

  daemon_transport transport() const noexcept { return transport_; }

  /// Returns the path in the address. Its meaning depends on the transport: for unix_socket, the absolute path of the
  /// socket; for ssh, the path of the socket on the other machine, or empty for the default socket; for tcp and tls,
  /// the prefix of each request's path, `/base` or empty.
  const std::string& path() const noexcept { return path_; }
  daemon_location& path(std::string text) & {
    path_ = std::move(text);
    return *this;
  }

  /// Returns the host: a name, an IPv4 address, or an IPv6 address without brackets. Empty for unix_socket.
  const std::string& host() const noexcept { return host_; }

  /// Returns the port. Default: 2375 for tcp, 2376 for tls, 22 for ssh; 0 for a socket.
  std::uint16_t port() const noexcept {
    if (port_) return *port_;
    switch (transport_) {
      case daemon_transport::unix_socket: return 0;
      case daemon_transport::tcp: return 2375;
      case daemon_transport::tls: return 2376;
      case daemon_transport::ssh: return 22;
    }
    return 0;
  }
  /// Returns true if the address contains a port. If it contains none, ssh's own configuration may set one.
  bool has_port() const noexcept { return port_.has_value(); }

  /// Returns the user name for ssh. If it is empty, ssh's own configuration determines the user.
  const std::string& user() const noexcept { return user_; }
  daemon_location& user(std::string name) & {
    user_ = std::move(name);
    return *this;
  }

  const tls_files& tls() const noexcept { return tls_; }
  /// Returns true if the daemon's certificate must be valid for `host()`.
  bool verifies() const noexcept { return verifies_; }
  /// Changes the transport to TLS.
  daemon_location& use_tls(tls_files files, bool verifies) & {
    transport_ = daemon_transport::tls;
    tls_ = std::move(files);
    verifies_ = verifies;
    return *this;
  }

  /// Returns the header fields that the user's configuration adds to every request (HttpHeaders). They may contain
  /// secrets.
  const header_list& headers() const noexcept { return headers_; }
  daemon_location& headers(header_list fields) & {
    headers_ = std::move(fields);
    return *this;
  }

  /// Returns the address for error messages, without secrets: `tcp://host:2375`.
  std::string address() const {
    if (transport_ == daemon_transport::unix_socket) return "unix://" + one_line(path_);
    std::string text = transport_ == daemon_transport::ssh ? "ssh://" : "tcp://";
    if (!user_.empty()) text += user_ + "@";
    text += host_.find(':') == std::string::npos ? host_ : "[" + host_ + "]";
    if (port_ || transport_ != daemon_transport::ssh) text += ":" + std::to_string(port());
    return text + one_line(path_);
  }

 private:
  explicit daemon_location(daemon_transport transport) : transport_(transport) {}

  daemon_transport transport_;
  std::string path_;
  std::string host_;
  std::optional<std::uint16_t> port_;
  std::string user_;
  tls_files tls_;
  bool verifies_ = true;
  header_list headers_;
};

/// The default socket of Docker.
inline constexpr std::string_view default_socket = "/var/run/docker.sock";

// Returns an address for an error message. The part before an `@` is removed, because it may contain a password.
inline std::string shown_address(std::string_view address) {
  std::string shown(address);
  const std::size_t from = shown.find("://") == std::string::npos ? 0 : shown.find("://") + 3;
  const std::size_t at = shown.rfind('@');
  if (at != std::string::npos && at >= from) shown.replace(from, at - from, "...");
  return "\"" + one_line(shown, 120) + "\"";
}

// A parser of one address. Its error messages name the source of the address.
class address_parser {
 public:
  address_parser(std::string_view address, std::string_view said_by) : address_(address), said_by_(said_by) {}

  daemon_location parse() const {
    for (const char c : address_)
      if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') throw wrong("contains a blank or a control character");
    const std::size_t colon = address_.find("://");
    if (colon == std::string_view::npos)
      throw wrong(address_.starts_with('/') ? "is a bare path: write unix:// before it" : "has no scheme");
    const std::string_view scheme = address_.substr(0, colon);
    const std::string_view rest = address_.substr(colon + 3);
    if (scheme == "unix") return socket(rest);
    if (scheme == "tcp" || scheme == "http") return host(daemon_transport::tcp, rest);
    if (scheme == "https") return host(daemon_transport::tls, rest);
    if (scheme == "ssh") return host(daemon_transport::ssh, rest);
    throw wrong("has an unsupported scheme");
  }

 private:
  static constexpr std::size_t max_socket = 107;  // the size of sun_path without its NUL, see unix(7)

  error wrong(const std::string& what) const {
    return error(exec_errc::invalid_argument,
                 "docker: the address " + shown_address(address_) + " (from " + std::string(said_by_) + ") " + what +
                     "; accepted forms are unix:///path, tcp://host[:port], https://host[:port] and "
                     "ssh://[user@]host[:port][/path of the socket on that host]");
  }

  daemon_location socket(std::string_view path) const {
    if (path.empty()) path = default_socket;
    if (path.front() != '/') throw wrong("has a socket path that does not start with /");
    if (path.size() > max_socket) throw wrong("has a socket path longer than 107 bytes, the maximum on Linux");
    return daemon_location::at_socket(std::string(path));
  }

  daemon_location host(daemon_transport transport, std::string_view rest) const {
    if (rest.find_first_of("?#") != std::string_view::npos) throw wrong("has a query or a fragment");
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view authority = rest.substr(0, slash);
    std::string_view path = rest.substr(slash);
    std::string_view user;
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
      user = authority.substr(0, at);
      authority.remove_prefix(at + 1);
      if (user.find(':') != std::string_view::npos) throw wrong("contains a password: use ssh keys instead");
      if (transport != daemon_transport::ssh) throw wrong("contains a user, which is allowed only for ssh://");
      if (!is_name(user, "._-"))
        throw wrong("has a user name with characters other than letters, digits, '.', '_' and '-'");
    }
    const auto [name, port] = host_and_port(authority);
    if (path == "/") path = {};
    if (path.size() > 1024) throw wrong("has a path of more than 1024 bytes");
    daemon_location location = daemon_location::at_host(transport, std::string(name), port);
    if (transport == daemon_transport::tls) location.use_tls(tls_files(), true);
    while (transport != daemon_transport::ssh && path.ends_with('/')) path.remove_suffix(1);
    location.path(std::string(path));
    location.user(std::string(user));
    return location;
  }

  std::pair<std::string_view, std::optional<std::uint16_t>> host_and_port(std::string_view authority) const {
    std::string_view name = authority;
    std::string_view port;
    if (authority.starts_with('[')) {
      const std::size_t close = authority.find(']');
      if (close == std::string_view::npos) throw wrong("has a [ without a matching ]");
      name = authority.substr(1, close - 1);
      port = authority.substr(close + 1);
      const bool is_address = name.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos &&
                              std::count(name.begin(), name.end(), ':') >= 2;
      if (!is_address) throw wrong("has no IPv6 address between its brackets");
      if (!port.empty() && port.front() != ':') throw wrong("has something other than a port after its brackets");
    } else {
      const std::size_t colon = std::min(authority.find(':'), authority.size());
      name = authority.substr(0, colon);
      port = authority.substr(colon);
      // The name is passed to ssh as an argument, so it must not look like an option.
      if (!is_name(name, ".-_") || name.size() > 253) throw wrong("has no valid host name");
    }
    if (port.empty()) return {name, std::nullopt};
    port.remove_prefix(1);
    const std::optional<std::uint16_t> number = cofferdam::detail::port_number(port);
    if (!number) throw wrong("has a port that is not a number from 1 to 65535");
    return {name, *number};
  }

  static bool is_name(std::string_view text, std::string_view also) {
    if (text.empty() || text.front() == '-') return false;
    return std::all_of(text.begin(), text.end(), [also](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             also.find(c) != std::string_view::npos;
    });
  }

  std::string_view address_;
  std::string_view said_by_;
};

/// Parses an address in the format of DOCKER_HOST.
///
/// ```
/// address   = "unix://" [absolute path]                     ; without a path: /var/run/docker.sock
///           / ("tcp" / "http" / "https") "://" host [":" port] [base]
///           / "ssh://" [user "@"] host [":" port] [absolute path of the socket there]
/// host      = 1*(letter / digit / "." / "-" / "_") / "[" IPv6 "]"    ; never starts with "-"
/// ```
/// `https` means `tcp` with TLS. A password, a query and a fragment are refused. A path without a scheme is refused
/// too, because the docker command would interpret it as a host name.
/// \param  said_by  the source of the address, for the error message.
/// \throws          error{exec_errc::invalid_argument}. The message contains the accepted forms, but no password.
/// \par Source      docker(1), "-H".
inline daemon_location parse_daemon_address(std::string_view address, std::string_view said_by = "the options") {
  return detail::address_parser(address, said_by).parse();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
