// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <optional>
#include <string_view>

// Defines the versions of MCP, and the names that the protocol uses. MCP, "Versioning".

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

inline constexpr std::array<std::string_view, 4> legacy_versions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                                 "2024-11-05"};
inline constexpr std::string_view latest_legacy = "2025-11-25";
inline constexpr std::string_view modern_version = "2026-07-28";

/// Returns the version for the answer to a client that begins with a handshake, as in versions up to 2025-11-25, and
/// requests the version `requested`.
inline std::string_view negotiate(std::string_view requested) noexcept {
  for (const std::string_view known : legacy_versions)
    if (known == requested) return known;
  // This draft preceded the first version. Some clients still request it.
  return requested == "2024-10-07" ? std::string_view("2024-11-05") : latest_legacy;
}
inline bool is_legacy(std::string_view version) noexcept {
  return version == "2024-10-07" || negotiate(version) == version;
}

inline constexpr std::string_view meta_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view meta_capabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view meta_log_level = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view meta_server = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view meta_subscription = "io.modelcontextprotocol/subscriptionId";

/// The log levels, from the least to the most severe. The index of a level is its number.
inline constexpr std::array<std::string_view, 8> log_levels{"debug", "info",     "notice", "warning",
                                                            "error", "critical", "alert",  "emergency"};
inline std::optional<int> log_level(std::string_view name) noexcept {
  for (std::size_t i = 0; i < log_levels.size(); ++i)
    if (log_levels[i] == name) return static_cast<int>(i);
  return std::nullopt;
}
/// The number above all log levels: no message is sent.
inline constexpr int silent = 8;

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
