// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/layer.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The environment type of `limit_output(most)`.
template <code_exec_environment Inner>
class limit_output_layer : public layer<limit_output_layer<Inner>, Inner> {
 public:
  /// Has no environment: operations throw `error{exec_errc::environment_closed}`.
  limit_output_layer()
    requires std::default_initializable<Inner>
  = default;
  limit_output_layer(Inner inner, std::size_t max_bytes)
      : layer<limit_output_layer<Inner>, Inner>(std::move(inner)), most_(max_bytes) {}

  std::optional<command_result> admit(command& c) {
    c.reduce_kept_output(most_);
    return std::nullopt;
  }

 private:
  std::size_t most_ = 0;
};

/// Keeps at most `max_bytes` bytes of each of a command's outputs: `provider | limit_output(64 * 1024)`.
///
/// The result has the first and the last half of that, and the exact totals. The command is not ended and not blocked.
/// A lower limit of the command itself stays. `process::read` is not limited, because its output is never in memory as
/// a whole.
/// \param  max_bytes  bytes of each stream; 0 keeps nothing and counts.
/// \par Cost          0 allocations, 1 compare.
class limit_output : public pipeable {
 public:
  explicit limit_output(std::size_t max_bytes) : most_(max_bytes) {}

  template <code_exec_environment Inner>
  limit_output_layer<Inner> attach(Inner inner) const {
    return limit_output_layer<Inner>(std::move(inner), most_);
  }

 private:
  std::size_t most_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
