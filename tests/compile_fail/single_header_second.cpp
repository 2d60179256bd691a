// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The single header and one of the separate headers cannot be included together. Here the separate header is first.
// expect: one of the headers was included before the single header

#ifndef FIXED
#include <cofferdam/core/bytes.hpp>
#endif

#include "../../single_include/cofferdam/cofferdam.hpp"

int main() {}
