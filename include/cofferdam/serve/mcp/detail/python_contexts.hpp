// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/random_text.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The Python interpreters that a client has made besides its default interpreter, each with the time of its last use.
class python_contexts {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Adds an interpreter, and returns its new id.
  /// \throws error{exec_errc::too_large} if the limit is reached.
  std::string add(std::size_t limit, time_point now) {
    if (all_.size() >= limit)
      throw error(exec_errc::too_large, "the maximum of " + std::to_string(limit) +
                                            " interpreters is open; close one with close_python_context first");
    std::string id = "ctx-" + cofferdam::detail::random_name(26);
    all_[id].used = now;
    return id;
  }
  bool contains(const std::string& id) const { return all_.contains(id); }
  bool remove(const std::string& id) { return all_.erase(id) != 0; }
  bool empty() const noexcept { return all_.empty(); }
  /// Returns true at the first call, and after `watch_no_more`. Then the caller must start the coroutine that removes
  /// unused interpreters.
  bool watch() noexcept { return !std::exchange(watched_, true); }
  void watch_no_more() noexcept { watched_ = false; }

  /// A scope object. As long as it exists, its interpreter counts as used.
  class use {
   public:
    use(python_contexts& of, std::string id) : of_(of), id_(std::move(id)) { of_.count(id_, 1); }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { of_.count(id_, -1); }

   private:
    python_contexts& of_;
    std::string id_;
  };

  /// Removes the interpreters that were not used after the time `since`.
  /// \return their ids.
  std::vector<std::string> take_unused(time_point since) {
    std::vector<std::string> taken;
    for (auto at = all_.begin(); at != all_.end();) {
      if (at->second.runs == 0 && at->second.used <= since) {
        taken.push_back(at->first);
        at = all_.erase(at);
      } else {
        ++at;
      }
    }
    return taken;
  }

 private:
  class context {
   public:
    time_point used;
    int runs = 0;
  };

  void count(const std::string& id, int more) noexcept {
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    found->second.runs += more;
    found->second.used = std::chrono::steady_clock::now();
  }

  std::map<std::string, context> all_;
  bool watched_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
