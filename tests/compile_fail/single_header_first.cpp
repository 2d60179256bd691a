// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The single header and one of the headers it is made of do not go together.
// expect: the single header was included first

#include "../../single_include/cofferdam/cofferdam.hpp"
#ifndef FIXED
#include <cofferdam/core/bytes.hpp>
#endif

int main() {}
