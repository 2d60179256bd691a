// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/layer.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The environment type that `provider | limit_output(max_bytes)` opens.
template <code_exec_environment Inner>
class limit_output_layer : public layer<limit_output_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  limit_output_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns. The limit is that of `limit_output`.
  limit_output_layer(Inner inner, std::size_t max_bytes)
      : layer<limit_output_layer<Inner>, Inner>(std::move(inner)), max_bytes_(max_bytes) {}

  std::optional<command_result> admit(command& c) {
    c.reduce_kept_output(max_bytes_);
    return std::nullopt;
  }

 private:
  std::size_t max_bytes_ = 0;
};

/// Limits the bytes that a result keeps of each output stream: `provider | limit_output(64 * 1024)`.
///
/// If a stream is longer than `max_bytes`, the result keeps half of these bytes from its start and half from its end.
/// It counts all bytes. The command is neither ended nor blocked. If the command itself has a lower limit, that limit
/// applies. `process::read` still returns all output, because it holds only one piece in memory.
/// \param  max_bytes  the maximum number of bytes for each stream; 0 keeps nothing and only counts.
/// \par Cost          0 allocations, 1 comparison.
class limit_output : public pipeable {
 public:
  /// Sets the limit, in bytes for each stream.
  explicit limit_output(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  template <code_exec_environment Inner>
  limit_output_layer<Inner> attach(Inner inner) const {
    return limit_output_layer<Inner>(std::move(inner), max_bytes_);
  }

 private:
  std::size_t max_bytes_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
