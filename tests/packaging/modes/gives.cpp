// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Calls `take`, which is defined in takes.cpp. Linking must fail if the two files are compiled in different modes
// (header-only and compiled).

#include <cofferdam/core/command.hpp>

bool take(const cofferdam::command& given);

int main() { return take(cofferdam::shell("true")) ? 0 : 1; }
