// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/detail/jail_mounts.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace jail_mounts_tests {

using cofferdam::detail::mount_table;
using paths = std::vector<std::filesystem::path>;

constexpr const char* machine =
    "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "22 21 0:5 / /dev rw - devtmpfs none rw\n"
    "30 21 8:1 /srv/real /mnt/alias rw - ext4 /dev/sda1 rw\n"
    "31 21 8:1 /srv/real/deep /data/with\\040blank rw - ext4 /dev/sda1 rw\n"
    "32 21 8:2 / /srv/other rw - ext4 /dev/sda2 rw\n";

TEST(JailMounts, a_file_is_located_in_the_file_system_of_the_mount_that_shows_it) {
  const mount_table mounts(machine);
  EXPECT_EQ(mounts.entries().size(), 5U);
  const auto expect = [&](const char* path, std::uint64_t number, const char* device, const char* found) {
    const auto location = mounts.locate(path, number);
    ASSERT_TRUE(location) << path;
    EXPECT_EQ(location->device, device) << path;
    EXPECT_EQ(location->path, found) << path;
  };
  expect("/srv/real/key", 0, "8:1", "/srv/real/key");
  expect("/mnt/alias/key", 0, "8:1", "/srv/real/key");
  expect("/data/with blank/key", 0, "8:1", "/srv/real/deep/key");
  expect("/srv/other", 0, "8:2", "/");
  expect("/mnt/alias/key", 21, "8:1", "/mnt/alias/key");  // the number of the mount decides
  EXPECT_FALSE(mounts.locate("/mnt/alias/key", 99));
}

TEST(JailMounts, a_file_is_seen_at_each_mount_of_a_folder_above_it) {
  const mount_table mounts(machine);
  EXPECT_EQ(mounts.places_of({"8:1", "/srv/real/deep/key"}),
            (paths{"/srv/real/deep/key", "/mnt/alias/deep/key", "/data/with blank/key"}));
  EXPECT_EQ(mounts.places_of({"8:1", "/srv/real"}), (paths{"/srv/real", "/mnt/alias"}));
  EXPECT_EQ(mounts.places_of({"8:2", "/key"}), paths{"/srv/other/key"});
  EXPECT_EQ(mounts.places_of({"9:9", "/key"}), paths());
}

TEST(JailMounts, lines_that_are_cut_are_no_mounts) {
  for (const char* text : {"", "\n\n", "21", "21 1 8:1", "21 1 8:1 /", "x y z relative /point\n"})
    EXPECT_TRUE(mount_table(text).entries().empty()) << text;
}

}  // namespace jail_mounts_tests
