// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <cstdint>

#include <sys/mman.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Advises the kernel to use large pages for a new memory block that is going to be filled from its start. This avoids
/// thousands of page faults. A block of less than 8 MiB stays unchanged.
inline void fill_soon(const void* begin, std::size_t size) noexcept {
  constexpr std::size_t worth_it = std::size_t{8} << 20U;
  constexpr std::uintptr_t page = 4096;
  if (size < worth_it) return;
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) & ~(page - 1);
  const auto last = (reinterpret_cast<std::uintptr_t>(begin) + size) & ~(page - 1);
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
