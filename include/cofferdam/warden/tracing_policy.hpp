// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

namespace cofferdam::inline COFFERDAM_ABI {

/// The processes on which the commands of a warden may use the system calls of debuggers: ptrace(2),
/// process_vm_readv(2), process_vm_writev(2), pidfd_getfd(2) and kcmp(2).
enum class tracing_policy {
  contained,  ///< their own descendants, if Landlock protects all other processes (since Linux 5.19); otherwise none
  allowed,    ///< all that the kernel permits; without Landlock, every process of the same user, including this program
};

}  // namespace cofferdam::inline COFFERDAM_ABI
