// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker {

/// The GPUs of the daemon's machine that a container gets.
class gpu_choice {
 public:
  /// Parses a choice.
  /// \param text  `all`, a number such as `2`, or `device=` with indices or UUIDs, such as `device=0,2` or
  ///              `device=GPU-3faa8c21`.
  /// \throws error{exec_errc::invalid_argument} for another text.
  explicit gpu_choice(std::string_view text) {
    constexpr std::string_view by_name = "device=";
    if (text == "all") {
      count_ = every;
    } else if (text.starts_with(by_name)) {
      take_devices(text, text.substr(by_name.size()));
    } else {
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count_);
      if (failure != std::errc() || end != text.data() + text.size() || count_ < 1 || count_ > max_count) refuse(text);
    }
  }

  /// The number that stands for all GPUs.
  static constexpr std::int64_t every = -1;

  /// Returns the number of GPUs: `every` for all, and 0 if the devices are named.
  std::int64_t count() const noexcept { return count_; }
  /// Returns the indices or UUIDs of the GPUs; empty if they are counted.
  const std::vector<std::string>& devices() const noexcept { return devices_; }

 private:
  static constexpr std::int64_t max_count = 1024;

  [[noreturn]] static void refuse(std::string_view text) {
    throw error(exec_errc::invalid_argument, "docker: gpus \"" + one_line(text, 120) +
                                                 "\" must be all, a number from 1 to 1024, or device=0,2 with the "
                                                 "indices or UUIDs of GPUs");
  }

  void take_devices(std::string_view text, std::string_view names) {
    for (;;) {
      const std::string_view name = names.substr(0, names.find(','));
      const auto is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == ':';
      };
      if (name.empty() || name.size() > 100 || !std::all_of(name.begin(), name.end(), is_plain)) refuse(text);
      devices_.emplace_back(name);
      if (name.size() == names.size()) return;
      names.remove_prefix(name.size() + 1);
    }
  }

  std::int64_t count_ = 0;
  std::vector<std::string> devices_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker
