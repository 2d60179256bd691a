// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/asio.hpp>

#include <memory>
#include <optional>

namespace cofferdam::inline COFFERDAM_ABI::detail {
class connect_stream;
}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam::inline COFFERDAM_ABI::e2b {

namespace detail {
class envd;
}

/// A stream of the output that a running process writes after the stream was opened; earlier output is lost. The
/// destructor ends the stream and leaves the process running. If the stream is not read, the process blocks when the
/// pipe for its output is full.
/// \par Lifetime  must not outlive its environment. `close()` of the environment ends the stream.
/// \par Threads   may be used from several threads, but only one call of `next` at a time.
class process_follower {
 public:
  process_follower() = default;
  process_follower(std::shared_ptr<detail::envd> daemon, cofferdam::detail::connect_stream stream);

  /// Returns the next piece of the process's output, or the event of its end. After the end it returns no value.
  /// \throws error{exec_errc::not_found} if there is no such process.
  /// \throws error{exec_errc::provider_lost} if the sandbox or the connection is lost.
  /// \par Cancellation  terminal. It ends the stream, and `next` throws error{exec_errc::cancelled}.
  awaitable<std::optional<process_event>> next();

 private:
  static awaitable<std::optional<process_event>> next_of(std::shared_ptr<detail::envd> daemon,
                                                         std::shared_ptr<cofferdam::detail::connect_stream> stream);

  std::shared_ptr<detail::envd> daemon_;
  std::shared_ptr<cofferdam::detail::connect_stream> stream_;  // used and destroyed on the environment's strand
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/process_follower.ipp>
#endif
