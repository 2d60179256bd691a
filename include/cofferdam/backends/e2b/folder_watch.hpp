// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {
class connect_stream;
}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam::inline COFFERDAM_ABI::e2b {

namespace detail {
class envd;
}

/// The kind of change to a file or folder.
enum class file_change { created, written, removed, renamed, mode_changed, other };

/// The folders that are watched: only the folder itself, or also all folders beneath it.
enum class watch_depth { folder, tree };

/// One change in a watched folder.
class folder_event {
 public:
  folder_event() = default;
  /// Describes a change. The path is relative to the watched folder.
  folder_event(std::string path, file_change what) : path_(std::move(path)), what_(what) {}
  /// Returns the path of the changed file, relative to the watched folder.
  const std::string& path() const noexcept { return path_; }
  /// Returns the kind of the change.
  file_change what() const noexcept { return what_; }

 private:
  std::string path_;
  file_change what_ = file_change::other;
};

/// A stream of the changes in a folder. The destructor ends the stream.
/// \par Lifetime  must not outlive its environment. `close()` of the environment ends the stream.
/// \par Threads   may be used from several threads, but only one call of `next` at a time.
class folder_watch {
 public:
  folder_watch() = default;
  folder_watch(std::shared_ptr<detail::envd> daemon, cofferdam::detail::connect_stream stream);

  /// Waits for the next change.
  /// \return no value if the service has ended the stream.
  /// \throws error{exec_errc::provider_lost} if the sandbox or the connection is lost.
  /// \par Cancellation  terminal. It ends the stream, and `next` throws error{exec_errc::cancelled}.
  awaitable<std::optional<folder_event>> next();

  /// Parses one message of the stream. Returns no value if the message is not about a change.
  /// \par Source  envd's filesystem.proto.
  static std::optional<folder_event> parse(std::string_view text);

 private:
  static awaitable<std::optional<folder_event>> next_of(std::shared_ptr<detail::envd> daemon,
                                                        std::shared_ptr<cofferdam::detail::connect_stream> stream);

  std::shared_ptr<detail::envd> daemon_;
  std::shared_ptr<cofferdam::detail::connect_stream> stream_;  // used and destroyed on the environment's strand
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/folder_watch.ipp>
#endif
