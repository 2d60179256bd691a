// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The kinds of addresses that a network plugin may filter or forget to filter, each by itself.
enum class address_family {
  ipv4,
  ipv6,        ///< IPv6 addresses that are valid beyond the link
  link_local,  ///< IPv6 addresses of the link, fe80::/10; each interface with IPv6 has one
};

inline std::string_view name_of(address_family family) noexcept {
  if (family == address_family::ipv4) return "IPv4";
  return family == address_family::ipv6 ? "IPv6" : "IPv6 link-local";
}

/// Returns the words of a line, which blanks separate.
inline std::vector<std::string_view> words_of_line(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return words;
    const std::size_t size = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, size));
    line.remove_prefix(size);
  }
}

/// What the files of /proc/net in a container show about its network.
/// \par Source  Linux: net/ipv6/addrconf.c (if_inet6), net/ipv4/fib_trie.c (route), net/ipv6/route.c (ipv6_route),
///     net/ipv4/arp.c.
class network_facts {
 public:
  /// Prints the files. Needs no program besides the shell.
  static constexpr const char* script =
      "cd /proc/net || exit; for f in route if_inet6 ipv6_route arp; do echo \"=$f\"; if [ -e $f ]; then "
      "while IFS= read -r l; do echo \"$l\"; done <$f; fi; done; echo =end";

  /// \param printed  the output of `script`.
  static network_facts read(std::string_view printed) {
    network_facts facts;
    std::string file;
    while (!printed.empty()) {
      const std::size_t size = std::min(printed.find('\n'), printed.size());
      const std::vector<std::string_view> line = words_of_line(printed.substr(0, size));
      printed.remove_prefix(std::min(size + 1, printed.size()));
      if (line.size() == 1 && line[0].starts_with('=')) {
        file = line[0].substr(1);
        facts.is_whole_ = facts.is_whole_ || file == "end";
      } else if (file == "route" && line.size() >= 8) {
        facts.add_route(line);
      } else if (file == "if_inet6" && line.size() >= 6) {
        facts.add_address(line);
      } else if (file == "ipv6_route" && line.size() >= 10) {
        facts.add_ipv6_route(line);
      } else if (file == "arp" && line.size() >= 6) {
        facts.add_neighbour(line);
      }
    }
    return facts;
  }

  /// Returns true if all files were printed to the end.
  bool is_whole() const noexcept { return is_whole_; }
  /// Returns true if an address is new, so that it cannot be used so far.
  bool is_tentative() const noexcept { return is_tentative_; }
  /// Returns the families of the addresses that are not those of the loopback interface.
  const std::set<address_family>& families() const noexcept { return families_; }
  /// Returns the IPv6 addresses that are not those of the loopback interface; a link-local one with the interface, by
  /// the name that it has in this container.
  const std::vector<std::string>& ipv6_addresses() const noexcept { return ipv6_addresses_; }
  /// Returns the link-local address of the host's end of the link, with the interface; empty if it is not known. It is
  /// that of the default route, or the one that Linux makes from the hardware address of the IPv4 gateway.
  std::string host_end() const {
    if (!ipv6_gateway_.empty()) return ipv6_gateway_;
    for (const auto& [address, hardware] : neighbours_)
      if (address == gateway_ && !gateway_.empty()) return hardware;
    return {};
  }

 private:
  /// Returns the number that hexadecimal digits stand for; 0 for other texts.
  static unsigned long number_of(std::string_view digits) {
    unsigned long number = 0;
    for (const char c : digits) {
      const std::size_t value = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
      if (value == std::string_view::npos) return 0;
      number = number * 16 + value;
    }
    return number;
  }

  /// Returns an IPv6 address in its usual form.
  /// \param digits  all of its digits.
  static std::string in_groups(std::string_view digits) {
    std::string text;
    for (std::size_t i = 0; i < digits.size(); i += 4) text += (i > 0 ? ":" : "") + std::string(digits.substr(i, 4));
    return text;
  }

  // Interface, destination, gateway, flags, and more. The header has no number.
  void add_route(const std::vector<std::string_view>& line) {
    if (line[0] == "Iface" || line[0] == "lo") return;
    families_.insert(address_family::ipv4);
    const unsigned long gateway = number_of(line[2]);
    if (gateway == 0 || !gateway_.empty()) return;
    for (int byte = 0; byte < 4; ++byte)
      gateway_ += (byte > 0 ? "." : "") + std::to_string(gateway >> (8 * byte) & 0xffU);
    gateway_ += "%" + std::string(line[0]);
  }

  // Address, number of the interface, length of the prefix, scope, flags, interface.
  void add_address(const std::vector<std::string_view>& line) {
    constexpr unsigned long link = 0x20;
    constexpr unsigned long tentative = 0x40;
    if (line[5] == "lo") return;
    const bool is_local = number_of(line[3]) == link;
    families_.insert(is_local ? address_family::link_local : address_family::ipv6);
    ipv6_addresses_.push_back(in_groups(line[0]) + (is_local ? "%" + std::string(line[5]) : std::string()));
    is_tentative_ = is_tentative_ || (number_of(line[4]) & tentative) != 0;
  }

  // Destination, length, source, length, gateway, three numbers, flags, interface.
  void add_ipv6_route(const std::vector<std::string_view>& line) {
    const std::string_view gateway = line[4];
    if (line[9] == "lo" || line[1] != "00" || gateway.size() != 32 || !gateway.starts_with("fe80")) return;
    if (!ipv6_gateway_.empty()) return;
    ipv6_gateway_ = in_groups(gateway) + "%" + std::string(line[9]);
  }

  // Address, type, flags, hardware address, mask, interface.
  void add_neighbour(const std::vector<std::string_view>& line) {
    constexpr unsigned long complete = 0x2;
    std::array<unsigned, 6> bytes{};
    const std::string hardware(line[3]);
    const int read = std::sscanf(hardware.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &bytes[0], &bytes[1], &bytes[2],
                                 &bytes[3], &bytes[4], &bytes[5]);
    if (read != 6 || !line[2].starts_with("0x") || (number_of(line[2].substr(2)) & complete) == 0) return;
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "fe80::%02x%02x:%02xff:fe%02x:%02x%02x", bytes[0] ^ 2U, bytes[1], bytes[2],
                  bytes[3], bytes[4], bytes[5]);  // RFC 4291, appendix A
    const std::string interface(line[5]);
    neighbours_.emplace_back(std::string(line[0]) + "%" + interface, text.data() + ("%" + interface));
  }

  bool is_whole_ = false;
  bool is_tentative_ = false;
  std::set<address_family> families_;
  std::vector<std::string> ipv6_addresses_;
  std::string gateway_;       // with its interface; empty if there is none
  std::string ipv6_gateway_;  // a link-local one, with its interface
  std::vector<std::pair<std::string, std::string>> neighbours_;
};

/// The packets that had no receiver in a container: attempts to connect to TCP ports where nothing listens, and
/// datagrams to such UDP ports.
/// \par Source  Linux: net/ipv4/proc.c (snmp), net/ipv6/proc.c (snmp6).
class stray_packets {
 public:
  /// Prints the counters. Needs no program besides the shell.
  static constexpr const char* script =
      "cd /proc/net || exit; for f in snmp snmp6; do if [ -e $f ]; then while IFS= read -r l; do echo \"$l\"; "
      "done <$f; fi; done; echo =end";

  /// \param printed  the output of `script`.
  static stray_packets read(std::string_view printed) {
    stray_packets packets;
    std::vector<std::string_view> names;
    bool has_tcp = false;
    bool has_udp = false;
    while (!printed.empty()) {
      const std::size_t size = std::min(printed.find('\n'), printed.size());
      const std::vector<std::string_view> line = words_of_line(printed.substr(0, size));
      printed.remove_prefix(std::min(size + 1, printed.size()));
      if (line.empty()) continue;
      if (line[0] == "=end") packets.is_whole_ = has_tcp && has_udp;
      if (line.size() == 2 && line[0] == "Udp6NoPorts") packets.udp_ += decimal(line[1]);
      if (names.size() == line.size() && names[0] == line[0]) {  // the line after that of the names has the values
        for (std::size_t i = 1; i < line.size(); ++i) {
          const bool is_tcp = line[0] == "Tcp:" && names[i] == "OutRsts";
          const bool is_udp = line[0] == "Udp:" && names[i] == "NoPorts";
          if (is_tcp) packets.tcp_ += decimal(line[i]);
          if (is_udp) packets.udp_ += decimal(line[i]);
          has_tcp = has_tcp || is_tcp;
          has_udp = has_udp || is_udp;
        }
      }
      names = line;
    }
    return packets;
  }

  /// Returns true if all counters were printed.
  bool is_whole() const noexcept { return is_whole_; }
  std::uint64_t tcp() const noexcept { return tcp_; }
  std::uint64_t udp() const noexcept { return udp_; }

 private:
  static std::uint64_t decimal(std::string_view digits) {
    std::uint64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

  bool is_whole_ = false;
  std::uint64_t tcp_ = 0;
  std::uint64_t udp_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
