// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Includes the local backend and uses nothing of it.

#include <cofferdam/backends/local.hpp>

int main() {}
