// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Includes everything and uses nothing of it.

#include <cofferdam/cofferdam.hpp>

int main() {}
