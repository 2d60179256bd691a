// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/detail/own_address.hpp>
#include <cofferdam/network/detail/request_path.hpp>
#include <cofferdam/network/detail/special_address.hpp>
#include <cofferdam/network/host_rule.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Read access to the parts of a rule.
class rule_reader {
 public:
  static const std::vector<std::pair<std::string, secret_string>>& headers(const host_rule& rule) noexcept {
    return rule.headers_;
  }
  static const std::optional<host_and_number>& fixed(const host_rule& rule) noexcept { return rule.fixed_; }
  static bool covers_host(const host_rule& rule, const host_name& host) { return rule.covers_host(host); }
  static bool covers(const host_rule& rule, const host_and_number& where) {
    return rule.covers_host(where.host) && rule.covers_port(where.port);
  }
  /// Returns true if requests by this rule must be read, because the rule is about more than host and port.
  static bool reads_requests(const host_rule& rule) noexcept {
    return !rule.methods_.empty() || !rule.paths_.empty() || !rule.headers_.empty();
  }
  static bool allows_method(const host_rule& rule, std::string_view method) {
    // A server answers TRACE with the request that it has received, and so with the secret (RFC 9110, 9.3.8).
    const bool shows_request = same_ignoring_case(method, "TRACE") || same_ignoring_case(method, "TRACK");
    if (shows_request && !rule.headers_.empty()) return false;
    return rule.methods_.empty() ||
           std::find(rule.methods_.begin(), rule.methods_.end(), method) != rule.methods_.end();
  }
  static bool allows_path(const host_rule& rule, std::string_view target) {
    if (rule.paths_.empty()) return true;
    return is_plain_path(target) && std::any_of(rule.paths_.begin(), rule.paths_.end(),
                                                [&](const std::string& prefix) { return is_below(target, prefix); });
  }
  static const std::vector<std::string>& methods(const host_rule& rule) noexcept { return rule.methods_; }
  static const std::vector<std::string>& paths(const host_rule& rule) noexcept { return rule.paths_; }
  static const std::vector<std::uint16_t>& ports(const host_rule& rule) noexcept { return rule.ports_; }
};

/// Joins the first texts of a list for a sentence.
inline std::string listed(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 20;
  std::string list;
  for (std::size_t i = 0; i < texts.size() && i < most; ++i) list += (i == 0 ? "" : ", ") + texts[i];
  if (texts.size() > most) list += " and " + std::to_string(texts.size() - most) + " more";
  return list;
}

/// Returns the sentence about what a policy allows.
inline std::string allowed_places(const std::vector<host_rule>& rules) {
  if (rules.empty()) return "No host is allowed here.";
  std::vector<std::string> places;
  for (const host_rule& rule : rules) places.push_back(rule.place());
  return "Allowed: " + listed(places) +
         " (ports 443 and 80 unless a port is given). Use one of these, or work without.";
}

/// The result of a decision about a connection or a request.
class egress_decision {
 public:
  const host_rule* rule = nullptr;  ///< the rule that allows it; null if it is refused
  bool reads_requests = false;      ///< true if the requests on this connection must be read
  std::string sentence;             ///< the reason for a refusal
};

/// Decides about a connection, of which only the host and the port are known.
inline egress_decision decide(const std::vector<host_rule>& rules, const host_and_number& where) {
  egress_decision decision;
  std::vector<std::string> ports;
  for (const host_rule& rule : rules) {
    if (!rule_reader::covers_host(rule, where.host)) continue;
    if (!rule_reader::covers(rule, where)) {
      for (const std::uint16_t port : rule_reader::ports(rule)) ports.push_back(std::to_string(port));
      continue;
    }
    if (decision.rule == nullptr) decision.rule = &rule;
    decision.reads_requests = decision.reads_requests || rule_reader::reads_requests(rule);
  }
  if (decision.rule != nullptr) return decision;
  const std::string asked = one_line(authority_text(where));
  if (!ports.empty()) {
    decision.sentence =
        "The network policy refuses " + asked + ": for this host it allows only the ports " + listed(ports) + ".";
  } else {
    decision.sentence = "The network policy refuses " + asked + ": no rule names this host. " + allowed_places(rules);
  }
  return decision;
}

/// Decides about a request for an allowed host and port.
inline egress_decision decide(const std::vector<host_rule>& rules, const host_and_number& where,
                              std::string_view method, std::string_view target) {
  egress_decision decision = decide(rules, where);
  if (decision.rule == nullptr) return decision;
  const std::string asked = one_line(std::string(method) + " " + std::string(target), 120);
  decision.rule = nullptr;
  for (const host_rule& rule : rules) {
    if (!rule_reader::covers(rule, where)) continue;
    std::string only;
    if (!rule_reader::allows_method(rule, method)) {
      const std::vector<std::string>& methods = rule_reader::methods(rule);
      only = methods.empty() ? "methods whose answer does not show the request" : "the methods " + listed(methods);
    }
    if (!rule_reader::allows_path(rule, target))
      only += (only.empty() ? "" : " and ") + ("paths below " + listed(rule_reader::paths(rule)));
    if (only.empty()) {
      decision.rule = &rule;
      decision.sentence.clear();
      return decision;
    }
    if (decision.sentence.empty())
      decision.sentence = "The network policy refuses " + asked + " on " + authority_text(where) + ": the rule " +
                          rule.place() + " allows only " + only + ".";
  }
  return decision;
}

/// Returns the addresses that a name may have, for this port: public addresses of other machines, and addresses that a
/// rule names. A rule that also limits the requests to an address does not permit it for names, because requests to a
/// name are decided by the rules of the name.
/// \param refused  receives the reason for the last address that was removed.
/// \param is_own   returns true for an address of this machine.
inline std::vector<asio::ip::address> permitted(const std::vector<host_rule>& rules, const host_and_number& where,
                                                const std::vector<asio::ip::address>& found, std::string& refused,
                                                bool (*is_own)(const asio::ip::address&) = &is_own_address) {
  std::vector<asio::ip::address> result;
  for (const asio::ip::address& each : found) {
    const host_name address(plain_address(each));
    const char* kind = special_address(*address.address());
    if (kind == nullptr && is_own(*address.address())) kind = "an address of this machine";
    const auto names_it = [&](const host_rule& rule) {
      return rule_reader::covers(rule, host_and_number(address, where.port)) && !rule_reader::reads_requests(rule);
    };
    if (kind == nullptr || std::any_of(rules.begin(), rules.end(), names_it)) {
      result.push_back(*address.address());
    } else {
      refused = "The network policy refuses " + where.host.text() + ": the name has the address " + address.text() +
                ", which is " + kind +
                ". Such an address is allowed only if a rule names it, without methods and paths.";
    }
  }
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
