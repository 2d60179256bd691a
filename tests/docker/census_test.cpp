// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// After all tests of this program, checks that the daemon has the same containers, images and networks as before, and
// this process no additional descriptors.

#include <cofferdam/detail/os/reaper.hpp>

#include "docker/docker_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

using cofferdam_test::docker_says;

std::vector<std::string> open_files() {
  std::vector<std::string> entries;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(each.path(), gone);
    if (!gone) entries.push_back(each.path().filename().string() + " -> " + target.string());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& each : lines) text += each + "\n";
  return text;
}

/// Returns the lines of `now` that `before` lacks. Both are sorted.
std::string added(const std::string& before, const std::string& now) {
  const auto lines = [](const std::string& text) {
    std::istringstream stream(text);
    return std::vector<std::string>(std::istream_iterator<std::string>(stream), {});
  };
  const std::vector<std::string> old = lines(before);
  std::vector<std::string> more;
  std::ranges::set_difference(lines(now), old, std::back_inserter(more));
  return joined(more);
}

class census final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (cofferdam_test::docker_address().empty()) return;
    images_ = docker_says("images -q --no-trunc | sort");
    containers_ = docker_says("ps -aq --no-trunc | sort");
    networks_ = docker_says("network ls -q");
    descriptors_ = open_files().size();
  }
  void TearDown() override {
    if (cofferdam_test::docker_address().empty()) return;
    cofferdam_test::in_time([&] { return docker_says("ps -aq --no-trunc | sort") == containers_; });
    EXPECT_EQ(docker_says("ps -aq --no-trunc | sort"), containers_) << "containers are left";
    // Programs beside this one may remove images of theirs meanwhile.
    EXPECT_EQ(added(images_, docker_says("images -q --no-trunc | sort")), "") << "images are left";
    EXPECT_EQ(docker_says("network ls -q"), networks_) << "networks are left";
    // The volumes that contain the program of the warden (the helper program in each container) stay, because later
    // environments reuse them.
    const std::string volumes = docker_says("volume ls -q");
    for (std::size_t at = 0; at < volumes.size();) {
      const std::size_t end = std::min(volumes.find('\n', at), volumes.size());
      const std::string name = volumes.substr(at, end - at);
      EXPECT_EQ(name.rfind("cofferdam-warden-", 0), 0U) << "the volume " << name << " is left";
      at = end + 1;
    }
    cofferdam_test::in_time([] {
      cofferdam::detail::reaper::instance().sweep();
      return cofferdam::detail::reaper::instance().pending() == 0;
    });
    cofferdam_test::in_time([&] { return open_files().size() <= descriptors_; }, std::chrono::seconds(10));
    EXPECT_LE(open_files().size(), descriptors_) << joined(open_files());
  }

 private:
  std::string images_;
  std::string containers_;
  std::string networks_;
  std::size_t descriptors_ = 0;
};

[[maybe_unused]] ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(new census);

}  // namespace
