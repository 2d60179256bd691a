// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/layer.hpp>

#include <chrono>
#include <concepts>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The environment type of `timeout(limit)`.
template <code_exec_environment Inner>
class timeout_layer : public layer<timeout_layer<Inner>, Inner> {
 public:
  /// Has no environment: operations throw `error{exec_errc::environment_closed}`.
  timeout_layer()
    requires std::default_initializable<Inner>
  = default;
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
/// Sets the timeout of a command that has none, and lowers a longer one. The backend enforces it (TERM, grace, KILL).
/// Forwards everything else unchanged. Not a coroutine: adds no frame and no allocation.
///
/// \param  limit      steady-clock time from the start of the command to its end; more than zero.
/// \return            `command_result`; on expiry `error_kind::timeout` with the output until then.
/// \throws            `error{exec_errc::invalid_argument}` from the constructor. Never for a slow command.
/// \par Cancellation  terminal: the command is ended, then `error{exec_errc::cancelled}`.
/// \par Cost          0 allocations, 1 compare.
/// \par Source        Stirrup's `run_command(timeout=…)`; POSIX kill(2).
class timeout : public pipeable {
 public:
  explicit timeout(std::chrono::milliseconds limit) : limit_(limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "timeout: the limit must be longer than zero");
  }

  template <code_exec_environment Inner>
  timeout_layer<Inner> attach(Inner inner) const {
    return timeout_layer<Inner>(std::move(inner), limit_);
  }

 private:
  std::chrono::milliseconds limit_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
