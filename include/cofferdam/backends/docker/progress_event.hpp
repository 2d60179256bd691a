// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker {

/// One message of a pull or a build.
class progress_event {
 public:
  enum class kind {
    status,  ///< the progress of a layer: `text()`, `id()`, `current()` of `total()`
    output,  ///< the output of a build step: `text()`
    /// BuildKit's own progress: `text()` is protobuf, a `StatusResponse`; a provider converts it to the two above
    trace,
    image,    ///< the resulting image: `id()`
    failure,  ///< the end of it: `text()` is the reason, `code()` the exit status of the Dockerfile's command
    other,    ///< an unknown message
  };

  explicit progress_event(kind what) : what_(what) {}

  kind what() const noexcept { return what_; }
  /// Returns a text of the daemon, the registry or the Dockerfile's commands: untrusted. UTF-8, except for a trace.
  const std::string& text() const noexcept { return text_; }
  /// Returns the id of a layer or an image (`sha256:...`); may be empty.
  const std::string& id() const noexcept { return id_; }
  /// Returns the number of bytes; 0 if it is not known.
  std::uint64_t current() const noexcept { return current_; }
  std::uint64_t total() const noexcept { return total_; }
  /// Returns the exit code of the command that failed the build, or 0.
  int code() const noexcept { return code_; }

  progress_event& text(std::string message) & {
    text_ = std::move(message);
    return *this;
  }
  progress_event& id(std::string name) & {
    id_ = std::move(name);
    return *this;
  }
  progress_event& progress(std::uint64_t current, std::uint64_t total) & {
    current_ = current;
    total_ = total;
    return *this;
  }
  progress_event& code(int exit_code) & {
    code_ = exit_code;
    return *this;
  }

 private:
  kind what_;
  std::string text_;
  std::string id_;
  std::uint64_t current_ = 0;
  std::uint64_t total_ = 0;
  int code_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker
