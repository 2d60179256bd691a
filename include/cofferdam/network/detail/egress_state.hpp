// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/detail/net/host_lookups.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/tls.hpp>
#include <cofferdam/network/detail/certificate_authority.hpp>
#include <cofferdam/network/detail/egress_decision.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/network_event.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/ip/address.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The refusal of a connection by the policy. `what()` is the sentence for the command.
class egress_refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A connection to a host.
class upstream_connection {
 public:
  byte_stream stream;
  std::string address;
};

/// The state that all connections of one environment share: the policy, the authority, and the number of connections.
class egress_state {
 public:
  using clock = std::chrono::steady_clock;

  explicit egress_state(egress_policy policy) : policy_(std::move(policy)) {
    const auto reads = [](const host_rule& rule) { return rule_reader::reads_requests(rule); };
    if (std::any_of(rules().begin(), rules().end(), reads)) authority_.emplace();
  }

  const std::vector<host_rule>& rules() const noexcept { return policy_.rules(); }
  std::uint64_t max_bytes() const noexcept { return policy_.bytes_; }
  std::chrono::milliseconds idle_time() const noexcept { return policy_.idle_; }
  std::chrono::milliseconds total_time() const noexcept { return policy_.total_; }
  clock::time_point opening_due() const { return clock::now() + std::min(policy_.opening_, max_time); }
  /// Returns the authority, which exists if a rule needs it.
  certificate_authority& authority() { return authority_.value(); }
  std::string authority_pem() const { return authority_ ? authority_->pem() : ""; }

  void report(const network_event& event) const {
    if (policy_.log_) policy_.log_(event);
  }

  /// A place among the connections at the same time. The destructor gives it back.
  class place {
   public:
    explicit place(egress_state& of) noexcept : of_(of) { ++of_.open_; }
    place(const place&) = delete;
    place& operator=(const place&) = delete;
    ~place() { --of_.open_; }
    bool is_free() const noexcept { return of_.open_ <= of_.policy_.connections_; }

   private:
    egress_state& of_;
  };
  std::size_t max_connections() const noexcept { return policy_.connections_; }
  std::size_t open() const noexcept { return open_; }

  /// Connects to a host that a rule allows: resolves its name, checks the addresses, and connects to one of them.
  /// \param where  the requested host and port.
  /// \param rule   the rule that allows them; it lives as long as this object.
  /// \param tls    true to begin TLS and to verify the server's certificate for the host.
  /// \throws egress_refusal if no address is permitted; error{exec_errc::io_error} if the connection fails.
  template <class = void>
  awaitable<upstream_connection> connect(host_and_number where, const host_rule* rule, bool tls,
                                         clock::time_point due) {
    const std::vector<asio::ip::address> addresses = co_await addresses_of(where, rule, due);
    const std::optional<host_and_number>& fixed = rule_reader::fixed(*rule);
    const std::uint16_t port = fixed ? fixed->port : where.port;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::exception_ptr failure;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - clock::now());
      const auto share = std::max(left / static_cast<std::int64_t>(addresses.size() - i), std::chrono::milliseconds(1));
      try {
        const connector peer = connector_to(addresses[i], port, where.host, tls);
        upstream_connection made;
        made.address = addresses[i].to_string();
        made.stream = co_await peer.connect(executor, share);
        co_return made;
      } catch (const error& failed) {
        if (failed.code() == exec_errc::cancelled) throw;
        failure = std::current_exception();
      }
    }
    std::rethrow_exception(failure);
  }

 private:
  static constexpr std::chrono::milliseconds max_time = std::chrono::hours(24);

  template <class = void>
  awaitable<std::vector<asio::ip::address>> addresses_of(host_and_number where, const host_rule* rule,
                                                         clock::time_point due) {
    std::vector<asio::ip::address> found;
    if (const std::optional<host_and_number>& fixed = rule_reader::fixed(*rule)) {
      found.push_back(*fixed->host.address());
      co_return found;
    }
    if (where.host.address()) {  // an address is allowed only by a rule that names it
      found.push_back(*where.host.address());
      co_return found;
    }
    if (policy_.resolve_) {
      found = co_await policy_.resolve_(where.host.text());
    } else {
      found = co_await lookups_.resolve(where.host.text(), due);
    }
    std::string refused = "The name " + where.host.text() + " has no address.";
    found = permitted(rules(), where, found, refused);
    if (found.empty()) throw egress_refusal(refused);
    co_return found;
  }

  connector connector_to(const asio::ip::address& address, std::uint16_t port, const host_name& host, bool tls) {
    if (!tls) return tcp_connector(address.to_string(), port);
    if (!tls_) {  // reading all roots takes milliseconds, so it is done once
      tls_settings settings;
      if (!policy_.trusted_.empty()) settings.trust(policy_.trusted_);
      tls_.emplace(settings);
    }
    return tls_->to(address.to_string(), port, host.text());
  }

  egress_policy policy_;
  std::optional<certificate_authority> authority_;
  std::optional<tls_connectors> tls_;
  host_lookups lookups_;
  std::size_t open_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
