// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The second of two translation units that include the single header.

#include <cofferdam/cofferdam.hpp>

cofferdam::command made_by_the_other_unit() { return cofferdam::argv("true"); }
