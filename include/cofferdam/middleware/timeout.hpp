// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/layer.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The environment type that `provider | timeout(limit)` opens.
template <code_exec_environment Inner>
class timeout_layer : public layer<timeout_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  timeout_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns. The limit is that of `timeout`.
  timeout_layer(Inner inner, std::chrono::milliseconds limit)
      : layer<timeout_layer<Inner>, Inner>(std::move(inner)), limit_(limit) {}

  std::optional<command_result> admit(command& c) {
    c.shorten_timeout(limit_);
    return std::nullopt;
  }

 private:
  std::chrono::milliseconds limit_ = no_timeout;
};

/// Ends a command that runs longer than `limit`: `provider | timeout(30s)`.
///
/// Sets the timeout of a command that has none, and lowers a timeout that is longer. The backend ends the command: it
/// sends SIGTERM, waits a grace period, and sends SIGKILL. Everything else is forwarded unchanged. The layer adds no
/// coroutine frame and no allocation.
///
/// \param  limit      the time from the start of the command to its end, measured by a steady clock; more than zero.
/// \return            for a command that was ended, a result of kind `error_kind::timeout` with its output until then.
/// \throws            `error{exec_errc::invalid_argument}` from the constructor if `limit` is zero or less. A slow
///                    command is not an exception.
/// \par Cancellation  terminal: the command is ended, then `error{exec_errc::cancelled}` is thrown.
/// \par Cost          0 allocations, 1 comparison.
/// \par Source        Stirrup's `run_command(timeout=…)`; POSIX kill(2).
class timeout : public pipeable {
 public:
  /// Sets the limit.
  explicit timeout(std::chrono::milliseconds limit) : limit_(limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "timeout: the time limit must be longer than zero");
  }

  template <code_exec_environment Inner>
  timeout_layer<Inner> attach(Inner inner) const {
    return timeout_layer<Inner>(std::move(inner), limit_);
  }

 private:
  std::chrono::milliseconds limit_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
