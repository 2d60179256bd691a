// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

/// Returns the recipe that a name stands for, so that a program's user chooses where commands run:
///
///     co_await with(make_provider(options.provider), [](any_environment& env) -> awaitable<void> { ... });
///
/// | name | where commands run |
/// |---|---|
/// | "sandbox" | the strongest place that needs no setting up: `sandbox()` |
/// | "local" | this machine, without a wall |
/// | "jail" | this machine, behind walls of the kernel; needs bubblewrap |
/// | "docker", "docker:IMAGE" | a container; the default image is python:3.12-slim |
/// | "e2b", "e2b:TEMPLATE" | a sandbox of E2B; the default template is base |
///
/// \param name  one of these, case-sensitive.
/// \throws      error{exec_errc::invalid_argument} for any other name, with the valid names. Nothing is opened yet.
any_provider make_provider(std::string_view name);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/impl/make_provider.ipp>
#endif
