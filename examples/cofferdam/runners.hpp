// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/core/any_provider.hpp>

#include "options.hpp"

#include <string>
#include <vector>

namespace program {

/// Returns the recipe of Pyodide.
/// \throws usage_error if the options do not fit.
cofferdam::any_runner_provider make_pyodide(const place_options& options, const std::vector<std::string>& guards);

/// Returns the recipe of Python in an open environment, which the caller keeps.
cofferdam::any_runner_provider make_python(cofferdam::any_environment& inside, const python_options& options);

/// Throws usage_error if a guard is unknown.
void check_guards(const std::vector<std::string>& guards);

}  // namespace program
