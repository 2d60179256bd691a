// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <optional>
#include <string_view>

// The versions of the protocol, and the names it uses. MCP, "Versioning".

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

inline constexpr std::array<std::string_view, 4> legacy_versions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                                 "2024-11-05"};
inline constexpr std::string_view latest_legacy = "2025-11-25";
inline constexpr std::string_view modern_version = "2026-07-28";

/// Returns the version for the answer to a legacy handshake that requests `requested`.
inline std::string_view negotiate(std::string_view requested) noexcept {
  for (const std::string_view known : legacy_versions)
    if (known == requested) return known;
  // The draft before the first version, which clients still list.
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

/// From the least to the most severe.
inline constexpr std::array<std::string_view, 8> log_levels{"debug", "info",     "notice", "warning",
                                                            "error", "critical", "alert",  "emergency"};
inline std::optional<int> log_level(std::string_view name) noexcept {
  for (std::size_t i = 0; i < log_levels.size(); ++i)
    if (log_levels[i] == name) return static_cast<int>(i);
  return std::nullopt;
}
/// Above all levels: no message is sent.
inline constexpr int silent = 8;

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
