// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <string>

// One library in each mode, as two vendors of one program might ship them. Types of cofferdam do not pass between them.

namespace header_only_library {
std::string echo(const std::string& word);
std::string type_name();
}  // namespace header_only_library

namespace compiled_library {
std::string echo(const std::string& word);
std::string type_name();
}  // namespace compiled_library
