// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <string>

namespace cofferdam_test {

// Functions, not macros: the absolute paths are compiled into paths.cpp only. The object files of all other tests are
// the same in every clone, so ccache can share them.

/// Returns the absolute path of a file of the source tree: `source_path("tests/net/http_server.py")`.
std::string source_path(const std::string& relative);

/// Returns the path of the warden program for this machine. (The warden is the helper program that runs in each
/// sandbox.)
std::string warden_program();

/// Returns the path of the warden program for aarch64.
std::string aarch64_warden_program();

}  // namespace cofferdam_test
