// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/network/egress_policy.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

inline std::chrono::milliseconds positive_time(std::chrono::milliseconds limit, const char* name) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, std::string("egress_policy: ") + name + " must be longer than zero");
  return limit;
}

}  // namespace detail

COFFERDAM_DECL bool egress_policy::counts_before(const host_rule& a, const host_rule& b) noexcept {
  if (a.is_wildcard_ != b.is_wildcard_) return !a.is_wildcard_;
  if (a.is_wildcard_) return a.place_.size() > b.place_.size();
  return !a.headers_.empty() && b.headers_.empty();
}

COFFERDAM_DECL egress_policy& egress_policy::allow(host_rule rule) {
  const auto at = std::upper_bound(rules_.begin(), rules_.end(), rule, &egress_policy::counts_before);
  rules_.insert(at, std::move(rule));
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::header(std::string_view place, std::string name, secret_string value) {
  host_rule fresh(place);
  bool found = false;
  for (host_rule& each : rules_) {
    if (each.place_ != fresh.place_) continue;
    each.header(name, value);
    found = true;
  }
  std::stable_sort(rules_.begin(), rules_.end(), &egress_policy::counts_before);
  if (found) return *this;
  fresh.header(std::move(name), std::move(value));
  return allow(std::move(fresh));
}

COFFERDAM_DECL egress_policy& egress_policy::log(listener_function listener) {
  log_ = std::move(listener);
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::resolver(resolver_function resolve) {
  resolve_ = std::move(resolve);
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::connections(std::size_t most) {
  if (most == 0)
    throw error(exec_errc::invalid_argument,
                "egress_policy: connections() must be at least 1; to allow no connection, "
                "give the policy no rule");
  connections_ = most;
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::connection_bytes(std::uint64_t most) {
  bytes_ = most;
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::opening_time(std::chrono::milliseconds limit) {
  opening_ = detail::positive_time(limit, "opening_time()");
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::idle_time(std::chrono::milliseconds limit) {
  idle_ = detail::positive_time(limit, "idle_time()");
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::total_time(std::chrono::milliseconds limit) {
  total_ = detail::positive_time(limit, "total_time()");
  return *this;
}

COFFERDAM_DECL egress_policy& egress_policy::trust(std::string pem) {
  trusted_ = std::move(pem);
  return *this;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
