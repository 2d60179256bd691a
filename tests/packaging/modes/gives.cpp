// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The other side of the call.

#include <cofferdam/core/command.hpp>

bool take(const cofferdam::command& given);

int main() { return take(cofferdam::shell("true")) ? 0 : 1; }
