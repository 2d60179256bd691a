// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// One side of a call: takes an object of the library, in the mode that it is compiled in.

#include <cofferdam/core/command.hpp>

bool take(const cofferdam::command& given) { return given.is_shell(); }
