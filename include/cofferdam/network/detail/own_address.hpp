// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/network/detail/host_name.hpp>

#include <asio/ip/address.hpp>

#include <algorithm>
#include <memory>

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns true for an address that an interface of this machine has now, or if the interfaces cannot be read.
/// Connections to such an address reach this machine's own servers, past the firewall of its network.
inline bool is_own_address(const asio::ip::address& any) {
  const asio::ip::address address = plain_address(any);
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return true;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    if (address.is_v4() && each->ifa_addr->sa_family == AF_INET) {
      const auto* const own = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      if (ntohl(own->sin_addr.s_addr) == address.to_v4().to_uint()) return true;
    }
    if (address.is_v6() && each->ifa_addr->sa_family == AF_INET6) {
      const auto* const own = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr);
      const asio::ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
      if (std::equal(bytes.begin(), bytes.end(), own->sin6_addr.s6_addr)) return true;
    }
  }
  return false;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
