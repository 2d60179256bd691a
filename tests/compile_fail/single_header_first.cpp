// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The single header and one of the separate headers cannot be included together. Here the single header is first.
// expect: the single header was included first

#include "../../single_include/cofferdam/cofferdam.hpp"
#ifndef FIXED
#include <cofferdam/core/bytes.hpp>
#endif

int main() {}
