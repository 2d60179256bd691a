// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// The way in which the program of `over` passes words to the place.
enum class place_words {
  automatic,  ///< `joined` if the base name of the program is `ssh`, otherwise `separate`
  separate,   ///< as separate arguments of a program, as `podman exec` and `srun` do
  joined,     ///< as one line for a shell, with blanks between the words, as `ssh` does
};

}  // namespace cofferdam::inline COFFERDAM_ABI
