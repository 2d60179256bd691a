// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/undumped_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::e2b {

/// A key or a token. Cannot be printed, compared by accident, or turned into a text without saying so: `reveal()`.
///
/// Core dumps do not hold it, nor the requests that carry it, as far as that is this library's doing: what you have made
/// it from is yours. The tokens of a sandbox, which come in answers of the service, may be in one all the same. Copies
/// share it.
class secret {
 public:
  secret() = default;
  /// \param value  is wiped where it was moved in.
  explicit secret(std::string value) : value_(std::move(value)) {}
  bool empty() const noexcept { return value_.empty(); }
  /// The text itself: for nothing that anybody reads, and for no copy that stays.
  std::string_view reveal() const noexcept { return value_.view(); }
  /// The same for the field of a request: `http_request::secret_field`.
  const undumped_text& text() const noexcept { return value_; }

 private:
  undumped_text value_;
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
