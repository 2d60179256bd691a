// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/cofferdam.hpp>

#include <string>

std::string version_seen_by_the_other_file();

std::string version_seen_by_the_other_file() { return std::string(cofferdam::version); }
