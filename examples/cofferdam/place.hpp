// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>

#include "options.hpp"

#include <string>
#include <vector>

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

/// Returns the hosts that the place may reach if it reaches nothing else; empty if there is no such list.
std::vector<std::string> reachable_hosts(const place_options& options);

/// Returns what a model must know about the network of the place: "There is no internet access.", or which hosts can be
/// reached. Empty if the place sets no limit, or if the limit is not known.
std::string about_network(const place_options& options);

}  // namespace program
