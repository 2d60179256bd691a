// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/network/detail/host_name.hpp>

#include <asio/ip/address.hpp>

#include <cstdint>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the kind of an IPv4 address that is not part of the public internet, such as "a loopback address"; null for
/// a public address.
/// \par Source  IANA's registry of special-purpose IPv4 addresses (RFC 6890); the documentation of Azure for
///              168.63.129.16, which is a public address by its number.
inline const char* special_v4(std::uint32_t address) noexcept {
  struct block {
    std::uint32_t base;
    int bits;
    const char* kind;
  };
  static constexpr block blocks[] = {
      {0x00000000, 8, "an unspecified address"},    {0x0A000000, 8, "a private address"},
      {0x646464C8, 32, "a cloud metadata address"}, {0x64400000, 10, "a shared address of a carrier's network"},
      {0x7F000000, 8, "a loopback address"},        {0xA83F8110, 32, "a cloud metadata address"},
      {0xA9FEA9FE, 32, "a cloud metadata address"}, {0xA9FE0000, 16, "a link-local address"},
      {0xAC100000, 12, "a private address"},        {0xC0000000, 24, "a reserved address"},
      {0xC0000200, 24, "a documentation address"},  {0xC0586300, 24, "a reserved address"},
      {0xC0A80000, 16, "a private address"},        {0xC6120000, 15, "a benchmarking address"},
      {0xC6336400, 24, "a documentation address"},  {0xCB007100, 24, "a documentation address"},
      {0xE0000000, 4, "a multicast address"},       {0xF0000000, 4, "a reserved or broadcast address"},
  };
  for (const block& each : blocks)
    if (((address ^ each.base) >> (32 - each.bits)) == 0) return each.kind;
  return nullptr;
}

/// Returns the kind of an address that is not part of the public internet, such as "a loopback address"; null for a
/// public address. IPv6 addresses that carry an IPv4 address are judged by it.
/// \par Source  IANA's registries of special-purpose addresses (RFC 6890), and of IPv6 unicast addresses, of which only
///              2000::/3 is in use; RFC 6052 (64:ff9b::/96).
inline const char* special_address(const asio::ip::address& any) {
  const asio::ip::address address = plain_address(any);
  if (address.is_v4()) return special_v4(address.to_v4().to_uint());
  const asio::ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
  const auto word = [&bytes](std::size_t at) {
    return (std::uint32_t{bytes[at]} << 24U) | (std::uint32_t{bytes[at + 1]} << 16U) |
           (std::uint32_t{bytes[at + 2]} << 8U) | bytes[at + 3];
  };
  const std::uint32_t first = word(0);
  const bool middle_is_zero = word(4) == 0 && word(8) == 0;
  if (first == 0 && middle_is_zero) {
    if (word(12) == 0) return "an unspecified address";
    if (word(12) == 1) return "a loopback address";
    return "a reserved address";
  }
  if (first == 0x0064FF9B && middle_is_zero) return special_v4(word(12));
  if (first == 0xFD000EC2 && word(4) == 0 && word(8) == 0 && word(12) == 0x254) return "a cloud metadata address";
  if (bytes[0] == 0xFF) return "a multicast address";
  if ((first >> 25U) == 0x7E) return "a private address";
  if ((first >> 22U) == 0x3FA) return "a link-local address";
  if ((first >> 29U) != 1) return "a reserved address";
  if (first == 0x20010DB8 || (first >> 12U) == 0x3FFF0) return "a documentation address";
  if ((first >> 9U) == (0x20010000U >> 9U)) return "a reserved address";  // Teredo and other assignments of the IETF
  if ((first >> 16U) == 0x2002) return "a tunnel to an IPv4 address";
  return nullptr;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
