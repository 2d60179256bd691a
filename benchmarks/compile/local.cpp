// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Includes the local backend without using it: the cost of the #include alone.

#include <cofferdam/backends/local.hpp>

int main() {}
