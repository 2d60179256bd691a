// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The other order of single_header_first.cpp.
// expect: one of the headers was included before the single header

#ifndef FIXED
#include <cofferdam/core/bytes.hpp>
#endif

#include "../../single_include/cofferdam/cofferdam.hpp"

int main() {}
