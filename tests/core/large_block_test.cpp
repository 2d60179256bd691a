// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/large_block.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using cofferdam::detail::fill_soon;

/// Returns true if the memory at this address is marked for large pages (madvise(2), MADV_HUGEPAGE).
bool is_for_large_pages(const void* at) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= address && address < end;
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

TEST(FillSoon, a_large_block_is_for_large_pages_and_a_small_one_is_left_alone) {
  std::vector<std::byte> large;
  large.reserve(std::size_t{64} << 20U);
  EXPECT_FALSE(is_for_large_pages(large.data() + (std::size_t{1} << 20U)));
  fill_soon(large.data() + 5, 1024);
  fill_soon(nullptr, 0);
  EXPECT_FALSE(is_for_large_pages(large.data() + (std::size_t{1} << 20U)));
  fill_soon(large.data() + 5, large.capacity() - 5);
  EXPECT_TRUE(is_for_large_pages(large.data() + (std::size_t{1} << 20U)));
  large.resize(large.capacity(), std::byte{7});
  EXPECT_EQ(large.front(), std::byte{7});
  EXPECT_EQ(large.back(), std::byte{7});
}

}  // namespace
