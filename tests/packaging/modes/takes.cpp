// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Defines a function that takes an object of the library. The type of the object depends on the mode (header-only or
// compiled) that this file is compiled in.

#include <cofferdam/core/command.hpp>

bool take(const cofferdam::command& given) { return given.is_shell(); }
