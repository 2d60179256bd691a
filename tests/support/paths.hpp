// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <string>

namespace cofferdam_test {

// Functions, not macros: only paths.cpp depends on where the tree lies, so ccache serves all others to every clone.

/// Returns the absolute path of a file of the source tree: `source_path("tests/net/http_server.py")`.
std::string source_path(const std::string& relative);

/// Returns the path of the built warden for this machine, as a file.
std::string warden_program();

/// Returns the path of the built warden for aarch64, as a file.
std::string aarch64_warden_program();

}  // namespace cofferdam_test
