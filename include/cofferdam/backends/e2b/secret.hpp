// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::e2b {

/// A key or a token. Cannot be printed, compared by accident, or turned into a text without saying so: `reveal()`.
///
/// In this process's memory it lies as any other text, and so do the requests that carry it: a core dump holds it. Where
/// others may read cores, forbid them (`RLIMIT_CORE`, `prctl(PR_SET_DUMPABLE)`).
class secret {
 public:
  secret() = default;
  explicit secret(std::string value) : value_(std::move(value)) {}
  bool empty() const noexcept { return value_.empty(); }
  /// The text itself: for the field of a request, and for nothing that anybody reads.
  const std::string& reveal() const noexcept { return value_; }

 private:
  std::string value_;
};

/// Takes secrets out of what a peer says, before anything else is done with it: a service may quote the key that it refuses.
class redactor {
 public:
  /// Secrets of fewer than 4 bytes are not looked for; no service hands such out.
  void hide(const secret& one) {
    if (one.reveal().size() >= 4) hidden_.push_back(one);
  }

  /// The text, with `[redacted]` for each secret in it.
  std::string clean(std::string_view text) const {
    std::string safe(text);
    for (const secret& one : hidden_) {
      constexpr std::string_view mark = "[redacted]";
      for (std::size_t at = safe.find(one.reveal()); at != std::string::npos; at = safe.find(one.reveal(), at)) {
        safe.replace(at, one.reveal().size(), mark);
        at += mark.size();
      }
    }
    return safe;
  }

 private:
  std::vector<secret> hidden_;
};

}  // namespace cofferdam::inline v0::e2b
