// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/os/control_group.hpp>
#include <cofferdam/os/spawn.hpp>

#include "support/require.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using cofferdam::program_candidates;
using cofferdam::spawn;
using cofferdam::spawn_request;
using cofferdam::spawn_stage;
using cofferdam::spawned;
using cofferdam::unique_fd;
using cofferdam::detail::control_group;
using cofferdam::detail::control_group_limits;
using cofferdam::detail::control_group_place;
using cofferdam::detail::control_group_places;
using cofferdam_test::temporary_folder;

using place_map = std::map<std::string, control_group_place, std::less<>>;

constexpr std::uint64_t mebibyte = 1U << 20U;

control_group_place place(std::string directory, bool is_unified) {
  control_group_place made;
  made.directory = std::move(directory);
  made.is_unified = is_unified;
  return made;
}

// ---- where the groups are -------------------------------------------------------------------------------------------

TEST(ControlGroupPlaces, version_2_alone_has_one_place) {
  const place_map places = control_group_places(
      "0::/user.slice/session-3.scope\n",
      "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n");
  const place_map expected = {{"memory", place("/sys/fs/cgroup/user.slice/session-3.scope", true)},
                              {"pids", place("/sys/fs/cgroup/user.slice/session-3.scope", true)},
                              {"cpu", place("/sys/fs/cgroup/user.slice/session-3.scope", true)}};
  EXPECT_EQ(places, expected);
}

TEST(ControlGroupPlaces, a_controller_of_version_1_wins_in_either_order) {
  const std::string unified = "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const std::string memory = "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  const place_map expected = {{"memory", place("/sys/fs/cgroup/memory/a", false)},
                              {"pids", place("/sys/fs/cgroup/unified/b", true)},
                              {"cpu", place("/sys/fs/cgroup/unified/b", true)}};
  EXPECT_EQ(control_group_places("4:memory:/a\n0::/b\n", unified + memory), expected);
  EXPECT_EQ(control_group_places("0::/b\n4:memory:/a\n", memory + unified), expected);
}

TEST(ControlGroupPlaces, controllers_that_share_a_hierarchy_are_told_apart_by_whole_words) {
  const std::string mounts =
      "32 30 0:28 / /g rw - cgroup cgroup rw,cpu,memoryless\n33 30 0:29 / /h rw - cgroup x rw,pids,memory\n";
  const place_map expected = {
      {"memory", place("/h/own", false)}, {"pids", place("/h/own", false)}, {"cpu", place("/g/other", false)}};
  EXPECT_EQ(control_group_places("5:cpu,memoryless:/other\n6:pids,memory:/own\n", mounts), expected);
}

TEST(ControlGroupPlaces, the_mounted_group_is_not_named_twice) {
  // As in a Docker container on a host with version 1 of control groups, where /proc shows the path on the host.
  const place_map places = control_group_places(
      "4:memory:/docker/ab12\n", "32 30 0:28 /docker/ab12 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  const place_map expected = {{"memory", place("/sys/fs/cgroup/memory", false)}};
  EXPECT_EQ(places, expected);
}

TEST(ControlGroupPlaces, a_group_outside_of_what_is_mounted_is_no_place) {
  EXPECT_TRUE(control_group_places("0::/../other\n", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n").empty());
}

TEST(ControlGroupPlaces, broken_text_gives_no_place) {
  for (const char* text :
       {"", "\n", "0", "0:", "::", "0::", " - cgroup2", "1 2 3 - cgroup2 x rw,memory", ":::::\n-\n"}) {
    EXPECT_TRUE(control_group_places(text, text).empty()) << text;
    control_group_places("0::/a\n", text);
    control_group_places(text, "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  }
}

TEST(ControlGroupPlaces, a_missing_controller_is_named) {
  control_group_limits limits;
  limits.memory = mebibyte;
  std::string obstacle;
  EXPECT_FALSE(control_group::make(limits, place_map(), obstacle));
  EXPECT_EQ(obstacle, "no hierarchy of control groups has the controller memory");
}

TEST(ControlGroupPlaces, a_folder_without_control_files_is_no_group) {
  const temporary_folder folder;
  control_group_limits limits;
  limits.memory = mebibyte;
  std::string obstacle;
  const place_map places = {{"memory", place(folder.path().string(), false)}};
  EXPECT_FALSE(control_group::make(limits, places, obstacle));
  EXPECT_NE(obstacle.find("a process cannot be moved to a group in "), std::string::npos) << obstacle;
  EXPECT_NE(obstacle.find("No such file or directory"), std::string::npos) << obstacle;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// ---- the kernel's groups --------------------------------------------------------------------------------------------

class ControlGroup : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string obstacle;
    const bool works = make(64 * mebibyte, 16, obstacle).has_value();
    COFFERDAM_NEEDS("control groups", works, "limits of all processes together: " + obstacle);
  }

  static std::optional<control_group> make(std::uint64_t memory, std::uint32_t processes, std::string& obstacle) {
    control_group_limits limits;
    limits.memory = memory;
    limits.processes = processes;
    return control_group::make(limits, obstacle);
  }

  static control_group made(std::uint64_t memory, std::uint32_t processes) {
    std::string obstacle;
    std::optional<control_group> group = make(memory, processes, obstacle);
    if (!group) throw std::runtime_error(obstacle);
    return std::move(*group);
  }

  /// Runs a line of shell in a group, and returns the status of waitpid.
  static int status_in(const control_group* group, const std::string& line) {
    const unique_fd nothing = unique_fd::above_standard(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
    spawn_request request;
    request.candidates = program_candidates("sh", "/bin:/usr/bin");
    request.words = {"sh", "-c", line};
    request.variables = {"PATH=/usr/bin:/bin"};
    request.input = request.output = request.error = nothing.get();
    if (group != nullptr) request.control_groups = group->members();
    spawned guest = spawn(request);
    EXPECT_TRUE(guest.ok()) << guest.cause().message();
    int status = 0;
    EXPECT_EQ(::waitpid(guest.pid(), &status, 0), guest.pid());
    return status;
  }

  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// Keeps 96 MiB in a variable of the shell.
  static constexpr const char* greedy = "x=$(head -c 96M /dev/zero | tr '\\0' x); exit 0";
};

TEST_F(ControlGroup, all_processes_together_are_held_to_the_memory_limit) {
  const control_group group = made(48 * mebibyte, 64);
  EXPECT_EQ(text_of(group.memory_events().first).find("oom_kill 1"), std::string::npos);
  const int status = status_in(&group, greedy);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_NE(text_of(group.memory_events().first).find("oom_kill 1"), std::string::npos)
      << text_of(group.memory_events().first);
}

TEST_F(ControlGroup, control_the_same_program_without_a_group_ends_well) {
  const int status = status_in(nullptr, greedy);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(ControlGroup, processes_beyond_the_limit_are_refused_and_counted) {
  const control_group group = made(512 * mebibyte, 4);
  EXPECT_EQ(group.refused_processes(), 0U);
  EXPECT_NE(status_in(&group, "for i in 1 2 3 4 5 6; do sleep 1 & done; wait"), 0);
  EXPECT_GE(group.refused_processes(), 1U);
  EXPECT_EQ(status_in(nullptr, "for i in 1 2 3 4 5 6; do sleep 0 & done; wait"), 0);  // the control
}

TEST_F(ControlGroup, is_removed_with_its_object_once_its_processes_have_ended) {
  std::filesystem::path directory;
  {
    control_group group = made(64 * mebibyte, 16);
    directory = group.memory_events().first.parent_path();
    EXPECT_TRUE(std::filesystem::exists(directory));
    EXPECT_EQ(status_in(&group, "exit 0"), 0);
    EXPECT_TRUE(group.remove());
    EXPECT_FALSE(std::filesystem::exists(directory));
    EXPECT_TRUE(group.remove());
  }
  {
    const control_group group = made(64 * mebibyte, 16);
    directory = group.memory_events().first.parent_path();
  }
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST_F(ControlGroup, what_a_killed_program_left_is_removed_and_what_is_in_use_stays) {
  const control_group in_use = made(64 * mebibyte, 16);
  const std::filesystem::path parent = in_use.memory_events().first.parent_path().parent_path();
  const std::filesystem::path left = parent / "cofferdam-jail-0000left";
  ASSERT_TRUE(std::filesystem::create_directory(left));
  const control_group next = made(64 * mebibyte, 16);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(in_use.memory_events().first));
}

TEST_F(ControlGroup, a_process_that_cannot_enter_its_group_is_not_started) {
  const unique_fd read_only = unique_fd::above_standard(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  spawn_request request;
  request.candidates = program_candidates("true", "/bin:/usr/bin");
  request.words = {"true"};
  request.input = request.output = request.error = read_only.get();
  request.control_groups = {read_only.get()};
  spawned guest = spawn(request);
  EXPECT_FALSE(guest.ok());
  EXPECT_EQ(guest.stage(), spawn_stage::control_group);
  EXPECT_EQ(guest.cause().value(), EBADF);
}

}  // namespace
