// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// The network that the commands of a `jail` have.
enum class network_policy {
  none,  ///< a loopback interface of their own, and nothing else
  host,  ///< the network of this machine, its loopback services included
};

}  // namespace cofferdam::inline COFFERDAM_ABI
