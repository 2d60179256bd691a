// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include "support/paths.hpp"

namespace cofferdam_test {

std::string source_path(const std::string& relative) { return COFFERDAM_SOURCE_DIR "/" + relative; }

std::string warden_program() { return COFFERDAM_WARDEN_PROGRAM; }

std::string aarch64_warden_program() { return COFFERDAM_WARDEN_AARCH64; }

}  // namespace cofferdam_test
