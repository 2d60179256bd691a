// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/net/connect_client.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

namespace detail {
class envd;
}

/// The kind of a change to a file.
enum class file_change { created, written, removed, renamed, mode_changed, other };

/// The watched files: those of one folder, or also those in its subfolders.
enum class watch_depth { folder, tree };

/// A change in a watched folder.
class folder_event {
 public:
  folder_event() = default;
  folder_event(std::string path, file_change what) : path_(std::move(path)), what_(what) {}
  /// Returns the path relative to the folder.
  const std::string& path() const noexcept { return path_; }
  file_change what() const noexcept { return what_; }

 private:
  std::string path_;
  file_change what_ = file_change::other;
};

/// A stream of the changes in a folder. The destructor ends it.
/// \par Lifetime  not beyond its environment, whose `close()` ends it.
/// \par Threads   any; one `next` at a time.
class folder_watch {
 public:
  folder_watch() = default;
  folder_watch(std::shared_ptr<detail::envd> place, cofferdam::detail::connect_stream stream);

  /// Waits for the next change.
  /// \return no value at the end of the watch.
  /// \throws error{exec_errc::provider_lost} if the sandbox or the connection is lost.
  /// \par Cancellation  terminal: ends the watch; throws error{exec_errc::cancelled}.
  awaitable<std::optional<folder_event>> next();

  /// Parses one message of the stream; no value if it is not an event.
  /// \par Source  envd's filesystem.proto.
  static std::optional<folder_event> parse(std::string_view text);

 private:
  static awaitable<std::optional<folder_event>> next_of(std::shared_ptr<detail::envd> place,
                                                        std::shared_ptr<cofferdam::detail::connect_stream> stream);

  std::shared_ptr<detail::envd> place_;
  std::shared_ptr<cofferdam::detail::connect_stream> stream_;  // used and ended on the environment's strand
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/folder_watch.ipp>
#endif
