// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>

#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

/// Returns the provider for a name, so that the user of a program chooses where commands run. A provider is a recipe
/// that opens environments:
///
///     co_await with(make_provider(options.provider), [](any_environment& env) -> awaitable<void> { ... });
///
/// | name | where commands run |
/// |---|---|
/// | "sandbox" | the same as "jail" (see `sandbox()`) |
/// | "local" | on this machine, without isolation |
/// | "jail" | on this machine, isolated by Linux namespaces and seccomp; bubblewrap must be installed |
/// | "docker", "docker:IMAGE" | in a Docker container; the default image is python:3.12-slim |
/// | "kubernetes", "kubernetes:IMAGE" | in a pod of a cluster, found as kubectl does; default image python:3.12-slim |
/// | "e2b", "e2b:TEMPLATE" | in a sandbox of the E2B service; the default template is base |
/// | "ssh:HOST" | on another machine, as the user of the login; HOST is a name for ssh, such as user\@host |
///
/// `make_runner("docker")` has another default image, python:3.12.
///
/// \param name  one of the names in the table; case-sensitive.
/// \throws      error{exec_errc::invalid_argument} for any other name; the message lists the valid names. The function
///              opens nothing, so a backend that does not work is reported later, by `open()`.
any_provider make_provider(std::string_view name);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/impl/make_provider.ipp>
#endif
