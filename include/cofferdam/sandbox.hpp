// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/run.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// Returns the default provider of programs and examples that name no backend. It is `local()`, which isolates nothing:
/// commands have all rights of the program. The first `open()` in the program prints a warning about this.
///
///     co_await with(sandbox(), [](auto& env) -> awaitable<void> { ... });
inline local sandbox() { return local(); }

}  // namespace cofferdam::inline COFFERDAM_ABI
