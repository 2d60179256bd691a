// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>

#include "options.hpp"

namespace program {

class progress;

enum class image_pull { allowed, never };

/// Returns a provider whose commands reach the hosts of --allow-host, and nothing else. Returns the same provider if
/// there is no such option.
/// \throws usage_error if another option contradicts it, or if a host is invalid.
cofferdam::any_provider with_hosts(cofferdam::any_provider provider, const place_options& options);

/// Returns the provider that the options choose. Opens nothing.
/// \param shown  shows the progress of pulls and builds, on the executor of `open()`; may be null. The caller keeps it
///               as long as the provider and its copies are used.
/// \throws usage_error if an option does not fit the provider.
cofferdam::any_provider make_place(const place_options& options, progress* shown,
                                   image_pull pull = image_pull::allowed);

}  // namespace program
