// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

class chat_reply;

/// The verdict of a reviewer about a piece of code. It is meant only for a log of the host: its free texts may come
/// from an attacker, and must not be sent to the model that wrote the code.
class review_verdict {
 public:
  /// Returns true if the code may run.
  bool allowed() const noexcept { return allowed_; }
  /// Returns the verdict in one word: "allow", "ask" or "deny" from a model; "unavailable" if no model gave a valid
  /// answer; "local" if the code was refused without a request to a model.
  const std::string& word() const noexcept { return word_; }
  /// Returns the risk: "none", "low", "medium", "high" or "critical"; empty if the verdict does not come from a model's
  /// answer.
  const std::string& risk() const noexcept { return risk_; }
  /// Returns the categories of the problems. They come from a fixed list, and are in the reviewer's order.
  const std::vector<std::string>& categories() const noexcept { return categories_; }
  /// Returns the reason for the verdict, written by the reviewer or by this library.
  const std::string& reason() const noexcept { return reason_; }
  /// Returns the SHA-256 hash of the reviewed code, in hexadecimal digits.
  const std::string& code_sha256() const noexcept { return sha256_; }
  /// Returns the name that the service reports for the model; empty if it reports none.
  const std::string& model() const noexcept { return model_; }
  /// Returns true if the code was allowed by an earlier review, whose verdict was cached.
  bool cached() const noexcept { return cached_; }

  /// Makes a verdict that refuses the code.
  /// \param word    "unavailable" or "local".
  /// \param sha256  the hash of the code, in hexadecimal digits.
  /// \param reason  one sentence.
  static review_verdict refused(std::string word, std::string sha256, std::string reason) {
    review_verdict verdict;
    verdict.word_ = std::move(word);
    verdict.sha256_ = std::move(sha256);
    verdict.reason_ = std::move(reason);
    return verdict;
  }

  /// Parses the answer of a model. Returns no value unless the answer is complete and valid, and repeats `nonce` and
  /// `sha256`.
  /// \param reply  the answer of the model.
  /// \param nonce, sha256  the random word and the hash of the code in the request.
  /// \param max_risk       the highest risk that is allowed: 0 for none, 1 for low, 2 for medium.
  static std::optional<review_verdict> read(const chat_reply& reply, std::string_view nonce, std::string_view sha256,
                                            std::size_t max_risk);

  /// Makes a verdict that allows code which an earlier review has allowed.
  static review_verdict known(std::string sha256) {
    review_verdict verdict = refused("allow", std::move(sha256), "the same code was allowed before");
    verdict.allowed_ = verdict.cached_ = true;
    return verdict;
  }

 private:
  bool allowed_ = false;
  bool cached_ = false;
  std::string word_;
  std::string risk_;
  std::vector<std::string> categories_;
  std::string reason_;
  std::string sha256_;
  std::string model_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/review_verdict.ipp>
#endif
