// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The parts of cofferdam-mcp that use the library, as one file: the server, all backends, the runners and the guards.
#include "../../examples/cofferdam/mcp.cpp"

#include "../../examples/cofferdam/doctor.cpp"
#include "../../examples/cofferdam/place.cpp"
#include "../../examples/cofferdam/runners.cpp"
