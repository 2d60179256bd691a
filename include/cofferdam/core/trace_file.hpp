// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/trace_event.hpp>

#include <filesystem>
#include <memory>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class trace_file_state;
}  // namespace detail

/// A file with one line of JSON (`trace_event::json`) for each event. It can be the function of several layers and
/// models, which then share the file:
///
///     trace_file log("trace.jsonl");
///     auto provider = sandbox() | trace(log);
///     agent helper(traced_model("gpt-5-mini", client, log));
///
/// The file is opened, appended to and closed for each event, so it may be moved or removed at any time. It is created
/// if it does not exist, and only its owner can read it then. A line is written by one system call, so the lines of
/// several programs do not mix on a local file system. If a disk is full, a part of a line may be left; the next event
/// begins a new line.
///
/// An event that cannot be written is lost: the file is no part of the work, so an operation never fails because of it.
/// The first failure issues a warning (`set_warning_handler`).
/// Copies share the state of the warning.
/// \par Threads  any.
/// \par Cost     about 8 system calls for each event, made by the thread of the operation. Pipes do not block it: an
///               event for which a pipe has no reader or no room is lost. A network file system may block it.
class trace_file {
 public:
  /// Makes a file without opening it.
  /// \param path  the file; its directory must exist. A relative path belongs to the directory that is current when an
  ///              event is written.
  /// \throws error{exec_errc::invalid_argument} if the path is empty.
  explicit trace_file(std::filesystem::path path);

  /// Appends an event to the file.
  void operator()(const trace_event& event) const noexcept;

  /// Marks this type as safe for a temporary argument in an awaited expression with g++ 12.
  using safe_as_temporary = void;

 private:
  std::shared_ptr<detail::trace_file_state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/core/impl/trace_file.ipp>
#endif
