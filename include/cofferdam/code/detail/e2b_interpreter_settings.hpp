// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>

#include <chrono>
#include <cstddef>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The settings of `e2b_interpreter`.
class e2b_interpreter_settings {
 public:
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  std::size_t kept_output = command::default_kept_output;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
