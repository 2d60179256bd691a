// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/undumped_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// A key or a token. It cannot be printed or compared by accident. Only `reveal()` returns its text.
///
/// This library keeps it, and requests that contain it, out of core dumps. It cannot do that for the text from which
/// the caller made it, nor for the tokens of a sandbox in the responses of the service. Copies share the text.
class secret {
 public:
  secret() = default;
  /// \param value  is wiped if it was moved in.
  explicit secret(std::string value) : value_(std::move(value)) {}
  bool empty() const noexcept { return value_.empty(); }
  /// Returns the text. Do not show it, and keep no copy.
  std::string_view reveal() const noexcept { return value_.view(); }
  /// Returns the text for a field of a request: `http_request::secret_field`.
  const undumped_text& text() const noexcept { return value_; }

 private:
  undumped_text value_;
};

/// Removes secrets from a peer's messages, before any other use: a service may quote the key that it refuses.
class redactor {
 public:
  /// Adds a secret. Secrets of fewer than 4 bytes are ignored; no service issues such short ones.
  void hide(const secret& one) {
    if (one.reveal().size() >= 4) hidden_.push_back(one);
  }

  /// Returns the text, with `[redacted]` in place of each secret.
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

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
