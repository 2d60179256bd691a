// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker {

/// A message about the progress of an image pull or an image build.
class progress_event {
 public:
  /// The kind of a message.
  enum class kind {
    status,  ///< the progress of an image layer: `text()`, `id()`, and `current()` of `total()` bytes
    output,  ///< the output of a build step: `text()`
    /// BuildKit's own progress message: `text()` is a serialized protobuf `StatusResponse`. A provider converts it to
    /// `status` and `output`, so its listener does not receive this kind.
    trace,
    image,  ///< the resulting image: `id()`
    /// The pull or build has failed: `text()` is the reason, `code()` the exit code of the failed RUN command, or 0.
    failure,
    other,  ///< an unknown message
  };

  /// Makes a message of this kind, whose other members are empty.
  explicit progress_event(kind what) : what_(what) {}

  /// Returns the kind of the message.
  kind what() const noexcept { return what_; }
  /// Returns the message's text, in UTF-8 unless the kind is `trace`. It comes from the daemon, the registry or the
  /// commands of the Dockerfile, so it is untrusted.
  const std::string& text() const noexcept { return text_; }
  /// Returns the id of an image layer or of an image (`sha256:...`), or an empty string.
  const std::string& id() const noexcept { return id_; }
  /// Returns the number of bytes that have been transferred, or 0 if it is not known.
  std::uint64_t current() const noexcept { return current_; }
  /// Returns the total number of bytes, or 0 if it is not known.
  std::uint64_t total() const noexcept { return total_; }
  /// Returns the exit code of the RUN command that failed the build, or 0.
  int code() const noexcept { return code_; }

  progress_event& text(std::string message) & {
    text_ = std::move(message);
    return *this;
  }
  progress_event& id(std::string name) & {
    id_ = std::move(name);
    return *this;
  }
  /// Sets the values that `current()` and `total()` return, in bytes.
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
