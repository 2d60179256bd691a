// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>

#include <asio/any_io_executor.hpp>

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The creations whose requests had the header field `Idempotency-Key`. A client repeats such a request if it has not
/// received the answer. The repetition then gets the same sandbox, and no second one is created.
class repeated_creations {
 public:
  using digest = cofferdam::detail::sha256_digest;
  using name = std::pair<digest, std::string>;  ///< an owner, and a key that the owner has chosen

  explicit repeated_creations(asio::any_io_executor executor) : changed_(std::move(executor)) {}

  /// The turn of one request to create the sandbox of a key. The destructor ends the turn; if no sandbox was recorded,
  /// it forgets the key.
  class turn {
   public:
    turn(repeated_creations& all, name key) noexcept : all_(all), key_(std::move(key)) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      const auto found = all_.known_.find(key_);
      if (found != all_.known_.end() && found->second.id.empty()) all_.known_.erase(found);
      all_.changed_.notify();
    }
    /// Records the id of the created sandbox.
    void created(std::string id) { all_.known_.at(key_).id = std::move(id); }

   private:
    repeated_creations& all_;
    name key_;
  };

  /// Returns the id of the sandbox that an earlier request with this key has created. Waits for an earlier request that
  /// is still creating it. Otherwise returns an empty text; the caller must then make a `turn` and create the sandbox.
  /// \param body     the digest of the request, which must be that of the earlier request.
  /// \param is_open  returns true for the id of a sandbox that exists.
  /// \throws http_refusal 422 if the earlier request was a different one.
  static awaitable<std::string> find(repeated_creations& self, name key, digest body,
                                     std::function<bool(const std::string&)> is_open) {
    for (;;) {
      // A sandbox that has ended is forgotten, so there are at most as many keys as sandboxes.
      std::erase_if(self.known_,
                    [&](const auto& entry) { return !entry.second.id.empty() && !is_open(entry.second.id); });
      const auto found = self.known_.find(key);
      if (found == self.known_.end()) break;
      if (found->second.body != body)
        throw http_refusal(422,
                           "Idempotency-Key: the key was used for a different request; use a new key for each sandbox");
      if (!found->second.id.empty()) co_return found->second.id;
      const cofferdam::detail::wait_result woken = co_await self.changed_.wait();
      if (woken == cofferdam::detail::wait_result::cancelled)
        throw error(exec_errc::cancelled, "create: cancelled while an earlier request creates the sandbox");
    }
    self.known_.emplace(std::move(key), entry{body, std::string()});
    co_return std::string();
  }

 private:
  struct entry {
    digest body;
    std::string id;  // empty while the sandbox is being created
  };

  cofferdam::detail::async_event changed_;
  std::map<name, entry> known_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
