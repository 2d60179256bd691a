// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <string>

// One library in header-only mode and one in compiled mode, as two vendors might ship them in one program. Their
// interfaces contain no types of cofferdam.

namespace header_only_library {
std::string echo(const std::string& word);
std::string type_name();
}  // namespace header_only_library

namespace compiled_library {
std::string echo(const std::string& word);
std::string type_name();
}  // namespace compiled_library
