// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>

#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

// Tests of attacks that run over several backends. `./dev doctor --scoreboard` reads the names of the backends from the
// lines INSTANTIATE_TEST_SUITE_P(Places, SUITE, in_places("local", "jail"), place_name).

namespace cofferdam_test {

/// Returns the backends over which the tests of a suite run.
template <class... Names>
auto in_places(Names... names) {
  return ::testing::ValuesIn(std::vector<std::string>{names...});
}

inline std::string place_name(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

/// The fixture of tests that run over several backends. The parameter is the name of the backend.
class attack_places : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "jail") COFFERDAM_NEEDS("bubblewrap", has_jail(), "the attacks in the jail");
  }
};

/// A folder for the environments of one attack, and their backend. The workspace is the folder `w`, which has the same
/// path inside and outside of the walls; so HOME, by which `guests_of` finds processes, is beneath the folder.
class attack_folder : public open_folder {
 public:
  /// \param place  "local", "jail", or "no_warden", the control: `local` without a warden.
  explicit attack_folder(std::string place) : place_(std::move(place)) { make_shared_folder("w"); }

  bool is_jail() const { return place_ == "jail"; }
  bool has_warden() const { return place_ != "no_warden"; }
  std::filesystem::path workspace() const { return path() / "w"; }

  /// Returns the recipe of environments in this folder.
  /// \param processes  the maximum in a jail; 0 is the default of `jail`.
  cofferdam::any_provider provider(std::chrono::milliseconds kill_grace, std::chrono::milliseconds output_grace,
                                   std::uint32_t processes = 0) const {
    if (is_jail()) {
      auto recipe = cofferdam::jail()
                        .temporary_base(path())
                        .workspace(workspace())
                        .workspace_path(workspace().string())
                        .kill_grace(kill_grace)
                        .output_grace(output_grace);
      if (processes != 0) recipe.control_groups(false).processes(processes);
      return cofferdam::any_provider(recipe);
    }
    return cofferdam::any_provider(
        cofferdam::local()
            .without_warning()
            .temporary_base(path())
            .workspace(workspace())
            .warden(has_warden() ? cofferdam::warden_policy::require : cofferdam::warden_policy::never)
            .kill_grace(kill_grace)
            .output_grace(output_grace));
  }

 private:
  std::string place_;
};

}  // namespace cofferdam_test
