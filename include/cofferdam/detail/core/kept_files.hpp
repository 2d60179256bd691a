// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/file_system.hpp>

#include <memory>
#include <mutex>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The member of an environment, or of its state, that keeps the environment's file operations. They are made when they
/// are first used, and again after the environment was moved. `get` may be called on any thread. The file operations
/// must not keep the state alive, because the state keeps them.
class kept_files {
 public:
  kept_files() = default;
  kept_files(kept_files&& other) noexcept { other.files_ = nullptr; }
  kept_files& operator=(kept_files&& other) noexcept {
    files_ = nullptr;
    other.files_ = nullptr;
    return *this;
  }
  ~kept_files() = default;

  /// Returns the file operations.
  /// \param make  a callable that makes them, without parameters. It returns a shared pointer.
  template <class Make>
  file_system get(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (!files_) files_ = make();
    return file_system(files_);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<file_system::implementation> files_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
