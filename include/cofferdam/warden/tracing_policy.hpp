// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// The processes on which commands may use the calls of debuggers: ptrace(2), process_vm_readv(2), pidfd_getfd(2),
/// kcmp(2).
enum class tracing_policy {
  contained,  ///< on their own descendants, if Landlock protects all other processes (Linux 5.19); else on none
  allowed,    ///< always; without Landlock, on every process of the same user, including this program
};

}  // namespace cofferdam::inline COFFERDAM_ABI
