// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/mount_table.hpp>

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using cofferdam::docker::detail::read_mount_table;
using cofferdam::docker::detail::unexpected_mounts;
namespace json = boost::json;

// The mount table of a container, as produced by Docker 20.10 and runc 1.1.
const std::string table =
    "74 49 0:39 / / ro,relatime master:2 - overlay overlay rw,lowerdir=/l\n"
    "75 74 0:43 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "76 74 0:44 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n"
    "77 76 0:45 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5\n"
    "79 78 0:47 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755\n"
    "80 79 0:29 /x /sys/fs/cgroup/cpu ro,nosuid - cgroup cgroup rw,cpu\n"
    "90 76 0:48 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs shm rw,size=65536k\n"
    "91 74 0:41 / /data rw,nosuid,nodev,relatime master:3 - tmpfs tmpfs rw,size=1024k\n"
    "92 74 254:0 /d/hosts /etc/hosts ro,relatime - ext4 /dev/vda rw\n"
    "93 74 254:0 /srv/my\\040data /in ro,relatime - ext4 /dev/vda rw\n"
    "50 75 0:43 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw\n"
    "55 75 0:44 /null /proc/keys rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n";

json::object asked() {
  return json::parse(R"({"HostConfig":{"Tmpfs":{"/data":"rw,size=1m"},"Mounts":[{"Type":"bind","Target":"/in"}]}})")
      .as_object();
}

TEST(MountTable, is_read_with_its_escapes) {
  const auto places = read_mount_table("1 2 0:1 / /a\\040b\\134 rw - ext4 /dev/x rw\nshort\n1 2 3 4 /x rw\n");
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].target, "/a b\\");
  EXPECT_EQ(places[0].type, "ext4");
  EXPECT_EQ(places[1].target, "");
  EXPECT_EQ(places[2].type, "");
}

TEST(MountTable, what_was_asked_for_and_what_every_container_has_is_no_finding) {
  EXPECT_EQ(unexpected_mounts(table, asked()), std::vector<std::string>{});
  EXPECT_EQ(unexpected_mounts("", asked()), std::vector<std::string>{});
}

TEST(MountTable, any_other_mount_is_a_finding) {
  for (const std::string line :
       {"95 74 254:0 /v/_data /more rw,relatime - ext4 /dev/vda rw\n",
        "95 74 0:9 /docker.sock /run/x rw - tmpfs tmpfs rw\n", "95 74 254:0 /etc /dev/more rw - ext4 /dev/vda rw\n",
        "95 74 254:0 / /proc/sys/x rw - ext4 /dev/vda rw\n", "95 74 254:0 /etc /etc/hosts.d rw - ext4 /dev/vda rw\n",
        "95 74 0:6 / /dev rw,nosuid - devtmpfs udev rw,size=65536k\n", "95 74 0:1 / /nothing\n"})
    EXPECT_EQ(unexpected_mounts(table + line, asked()).size(), 1U) << line;
}

TEST(MountTable, single_devices_of_the_host_are_what_a_daemon_without_root_mounts) {
  const std::string devices = table + "95 76 0:6 /null /dev/null rw,nosuid - devtmpfs udev rw,size=65536k\n";
  EXPECT_EQ(unexpected_mounts(devices, asked()), std::vector<std::string>{});
}

TEST(MountTable, podman_adds_memory_to_a_read_only_root) {
  using cofferdam::docker::detail::engine_kind;
  const std::string podmans = table +
                              "95 74 0:9 / /run rw,nosuid,nodev - tmpfs tmpfs rw\n"
                              "96 74 0:10 / /var/tmp rw,nosuid,nodev - tmpfs tmpfs rw\n";
  EXPECT_EQ(unexpected_mounts(podmans, asked(), engine_kind::podman), std::vector<std::string>{});
  EXPECT_EQ(unexpected_mounts(podmans, asked()).size(), 2U);
  const std::string disk = table + "95 74 254:0 /x /run rw - ext4 /dev/vda rw\n";
  EXPECT_EQ(unexpected_mounts(disk, asked(), engine_kind::podman).size(), 1U);
}

TEST(MountTable, memory_that_is_a_disk_is_a_finding) {
  std::string disk = table;
  disk.replace(disk.find("- tmpfs tmpfs rw,size=1024k"), 13, "- ext4 /dev/v");
  const std::vector<std::string> found = unexpected_mounts(disk, asked());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("\"/data\" (ext4) instead of a tmpfs"), std::string::npos) << found[0];
}

TEST(MountTable, a_target_behind_a_link_of_the_image_is_found_at_its_real_path) {
  json::object through_link =
      json::parse(R"({"HostConfig":{"Tmpfs":{"/var/run/data":""},"Mounts":[{"Type":"bind","Target":"/in"}]}})")
          .as_object();
  EXPECT_EQ(unexpected_mounts(table, through_link), std::vector<std::string>{});
  // Each requested mount may appear only once in the table, so a further mount is reported.
  const std::string more = "95 74 0:9 / /more rw - tmpfs tmpfs rw\n";
  EXPECT_EQ(unexpected_mounts(table + more, through_link).size(), 1U);
}

}  // namespace
