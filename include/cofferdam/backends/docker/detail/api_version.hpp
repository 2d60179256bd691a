// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A version of the Engine API, such as `1.41`.
class api_version {
 public:
  constexpr api_version(unsigned major, unsigned minor) noexcept : major_(major), minor_(minor) {}

  /// Parses a version: two numbers of at most four digits each. Returns no value for any other text.
  static std::optional<api_version> parse(std::string_view text) noexcept {
    const std::size_t dot = std::min(text.find('.'), text.size());
    const std::optional<unsigned> major = number(text.substr(0, dot));
    const std::optional<unsigned> minor = dot == text.size() ? std::nullopt : number(text.substr(dot + 1));
    if (!major || !minor) return std::nullopt;
    return api_version(*major, *minor);
  }

  std::string text() const { return std::to_string(major_) + "." + std::to_string(minor_); }
  /// Returns the prefix of the path of each request, such as `/v1.41`. Only `/_ping` has no prefix.
  std::string path_prefix() const { return "/v" + text(); }

  friend constexpr auto operator<=>(const api_version&, const api_version&) = default;

 private:
  static std::optional<unsigned> number(std::string_view digits) noexcept {
    if (digits.empty() || digits.size() > 4) return std::nullopt;
    unsigned value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value;
  }

  unsigned major_;
  unsigned minor_;
};

/// The oldest version that supports all features used by this library. Docker 20.10 and Podman 4 have it.
inline constexpr api_version oldest_api{1, 41};
/// The newest version for which this library was written. No newer version is used.
inline constexpr api_version newest_api{1, 51};

/// The product that implements the daemon.
enum class engine_kind { docker, podman };

/// The properties of a daemon in its response to `GET /_ping`.
class ping_answer {
 public:
  using header_list = std::vector<std::pair<std::string, std::string>>;

  /// Parses the header fields of the response.
  /// \param headers  names in upper or lower case; values without leading and trailing blanks.
  explicit ping_answer(const header_list& headers) {
    for (const auto& [name, value] : headers) {
      if (is(name, "api-version")) version_ = api_version::parse(value);
      if (is(name, "ostype")) operating_system_ = value;
      if (is(name, "builder-version")) has_buildkit_ = value == "2";
      if (is(name, "libpod-api-version")) kind_ = engine_kind::podman;
    }
  }

  /// Returns the newest API version that the daemon supports. No value if the response contains no version, as for a
  /// server that is not a Docker daemon.
  const std::optional<api_version>& version() const noexcept { return version_; }
  /// Returns the operating system of the daemon's containers: `linux` or `windows`; empty if the response does not
  /// contain it.
  const std::string& operating_system() const noexcept { return operating_system_; }
  /// Returns true if the daemon prefers BuildKit for builds.
  bool has_buildkit() const noexcept { return has_buildkit_; }
  engine_kind kind() const noexcept { return kind_; }

 private:
  static bool is(std::string_view name, std::string_view lower) noexcept {
    return std::equal(name.begin(), name.end(), lower.begin(), lower.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
  }

  std::optional<api_version> version_;
  std::string operating_system_;
  bool has_buildkit_ = false;
  engine_kind kind_ = engine_kind::docker;
};

/// Returns the API version to use with a daemon: the newest version that both the daemon and this library support.
/// \param address         the daemon's address, for error messages.
/// \param pinned_version  the value of DOCKER_API_VERSION. If it is not empty, exactly this version is used.
/// \throws                error{exec_errc::unsupported} if the daemon is too old or runs Windows containers;
///                        error{exec_errc::provider_failed} if the server is not a Docker daemon;
///                        error{exec_errc::invalid_argument} if DOCKER_API_VERSION is invalid or not supported.
inline api_version negotiate(const ping_answer& ping, std::string_view address, std::string_view pinned_version = {}) {
  const std::string daemon = "docker: the daemon at " + std::string(address);
  if (!ping.version())
    throw error(exec_errc::provider_failed,
                daemon + " sent no Api-Version header: the server at this address is not Docker");
  if (!ping.operating_system().empty() && ping.operating_system() != "linux")
    throw error(exec_errc::unsupported, daemon + " runs containers of \"" + one_line(ping.operating_system(), 40) +
                                            "\"; only linux is supported: switch it to Linux containers");
  if (!pinned_version.empty()) {
    const std::optional<api_version> forced = api_version::parse(pinned_version);
    if (!forced || *forced < oldest_api || *forced > newest_api)
      throw error(exec_errc::invalid_argument, "docker: DOCKER_API_VERSION is \"" + one_line(pinned_version, 40) +
                                                   "\"; it must be from " + oldest_api.text() + " to " +
                                                   newest_api.text());
    return *forced;
  }
  if (*ping.version() < oldest_api)
    throw error(exec_errc::unsupported, daemon + " supports versions of the API up to " + ping.version()->text() +
                                            ", but " + oldest_api.text() +
                                            " or newer is required: update to Docker 20.10, Podman 4 or newer");
  return std::min(*ping.version(), newest_api);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
