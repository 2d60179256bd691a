// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Includes the whole library without using it: the cost of the #include alone.

#include <cofferdam/cofferdam.hpp>

int main() {}
