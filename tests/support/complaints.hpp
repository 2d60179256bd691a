// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <exception>
#include <mutex>
#include <string>

namespace cofferdam_test {

/// A list of failures that any thread can add to.
class complaints {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (all_.size() < 1000) all_ += what + "\n";
  }
  /// Returns a completion handler for `co_spawn`. The handler adds the exception of the coroutine to the list.
  auto handler() {
    return [this](const std::exception_ptr& failure) {
      try {
        if (failure) std::rethrow_exception(failure);
      } catch (const std::exception& reason) {
        add(reason.what());
      }
    };
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::string all_;
};

}  // namespace cofferdam_test
