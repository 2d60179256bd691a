// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The record of one connection that a command has made or tried to make. There is one event for each connection to a
/// host, at its end, and one for each refusal. No event contains a secret of the policy.
class network_event {
 public:
  network_event() = default;

  /// Returns the time when the connection began.
  std::chrono::system_clock::time_point when() const noexcept { return when_; }
  /// Returns the user name that the program sent to the proxy: with `allow_hosts`, the label of its command
  /// (`command::label`), or the number of the command if it has none. Empty if the program sent none, as those do that
  /// cannot read a user name in HTTP_PROXY. A program can send any other name, so it is no proof. Printable text of at
  /// most 64 characters.
  const std::string& label() const noexcept { return label_; }
  /// Returns the host that was requested: a DNS name in lower case, or an IP address. Empty if the request could not be
  /// read.
  const std::string& host() const noexcept { return host_; }
  /// Returns the port that was requested; 0 if the request could not be read.
  std::uint16_t port() const noexcept { return port_; }
  /// Returns the IP address of the connection; empty if there was no connection.
  const std::string& address() const noexcept { return address_; }
  /// Returns the number of bytes that were sent to the host.
  std::uint64_t bytes_up() const noexcept { return bytes_up_; }
  /// Returns the number of bytes that were received from the host.
  std::uint64_t bytes_down() const noexcept { return bytes_down_; }
  /// Returns true if a rule allowed the connection. It may have failed nevertheless: see `reason()`.
  bool allowed() const noexcept { return allowed_; }
  /// Returns the place of the rule that allowed the connection; empty if no rule did.
  const std::string& rule() const noexcept { return rule_; }
  /// Returns the sentence with the reason for the refusal or the failure; empty if there was none.
  const std::string& reason() const noexcept { return reason_; }

  network_event& when(std::chrono::system_clock::time_point time) & {
    when_ = time;
    return *this;
  }
  network_event& label(std::string text) & {
    label_ = std::move(text);
    return *this;
  }
  /// Sets the values that `host()` and `port()` return.
  network_event& requested(std::string host, std::uint16_t port) & {
    host_ = std::move(host);
    port_ = port;
    return *this;
  }
  network_event& address(std::string text) & {
    address_ = std::move(text);
    return *this;
  }
  /// Adds to the values that `bytes_up()` and `bytes_down()` return.
  network_event& count(std::uint64_t up, std::uint64_t down) & {
    bytes_up_ += up;
    bytes_down_ += down;
    return *this;
  }
  /// Sets the rule that allowed the connection, so that `allowed()` returns true.
  network_event& allowed_by(std::string place) & {
    allowed_ = true;
    rule_ = std::move(place);
    return *this;
  }
  network_event& reason(std::string sentence) & {
    reason_ = std::move(sentence);
    return *this;
  }

 private:
  std::chrono::system_clock::time_point when_;
  std::string label_;
  std::string host_;
  std::string address_;
  std::string rule_;
  std::string reason_;
  std::uint64_t bytes_up_ = 0;
  std::uint64_t bytes_down_ = 0;
  std::uint16_t port_ = 0;
  bool allowed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
