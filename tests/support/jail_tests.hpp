// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/detail/os/control_group.hpp>

#include "support/require.hpp"
#include "support/result_of.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam_test {

/// Returns true if this machine can build a jail: bubblewrap is installed, and user namespaces are allowed.
inline bool has_jail() {
  static const bool works =
      std::system("bwrap --unshare-user --disable-userns --unshare-pid --unshare-net --ro-bind / / true 2>/dev/null") ==
      0;
  return works;
}

/// A folder that other users can enter, as a jail of root needs it.
class open_folder : public temporary_folder {
 public:
  open_folder() { ::chmod(path().c_str(), 0755); }

  /// Makes a folder that the user of a jail can write to.
  std::filesystem::path make_shared_folder(std::string_view name) const {
    std::filesystem::path made = make_folder(name);
    ::chmod(made.c_str(), ::geteuid() == 0 ? 0777 : 0755);
    return made;
  }
};

/// The fixture of tests that open jails.
class jail_fixture : public ::testing::Test {
 protected:
  void SetUp() override { COFFERDAM_NEEDS("bubblewrap", has_jail(), "the walls of the jail"); }

  /// Returns the recipe of a jail whose folders are beneath `base_`.
  cofferdam::jail recipe() const {
    return cofferdam::jail().temporary_base(base_.path()).kill_grace(std::chrono::milliseconds(100));
  }

  /// Returns a recipe whose limits hold for each process, as on a machine where no control group can be made.
  cofferdam::jail limited() const { return recipe().control_groups(false); }

  open_folder base_;
};

/// Returns true if this program can make control groups that limit memory and processes.
inline bool has_control_groups() {
  cofferdam::detail::control_group_limits limits;
  limits.memory = std::uint64_t{64} << 20;
  limits.processes = 16;
  std::string obstacle;
  return cofferdam::detail::control_group::make(limits, obstacle).has_value();
}

}  // namespace cofferdam_test
