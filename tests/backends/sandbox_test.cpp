// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/sandbox.hpp>

#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace sandbox_tests {

namespace {

using namespace cofferdam;
using cofferdam_test::has_jail;
using cofferdam_test::open_folder;
using cofferdam_test::result_of;

static_assert(std::same_as<decltype(sandbox()), jail>);

/// Sets an environment variable of this program. The destructor restores the old value.
class changed_variable {
 public:
  changed_variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  changed_variable(const changed_variable&) = delete;
  changed_variable& operator=(const changed_variable&) = delete;
  ~changed_variable() { ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

/// Opens a sandbox, which must fail, and returns the message of the error.
std::string failure_of(const jail& recipe) {
  try {
    result_of(recipe, "true");
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::provider_failed);
    return failure.what();
  }
  ADD_FAILURE() << "it opened";
  return "";
}

void expect_choices(const std::string& text, const std::string& remedy) {
  for (const std::string& line : {"\n    " + remedy, std::string("\n    sandbox().bubblewrap(path) "),
                                  std::string("\n    docker::from_image(\"IMAGE\") "), std::string("\n    local() ")})
    EXPECT_NE(text.find(line), std::string::npos) << line << " is missing in:\n" << text;
  EXPECT_EQ(text.find("--provider"), std::string::npos) << text;  // only programs have this option
}

}  // namespace

TEST(Sandbox, it_stands_behind_the_walls_of_the_jail) {
  COFFERDAM_NEEDS("bubblewrap", has_jail(), "the walls of the jail");
  const open_folder base;
  const std::string secret = base.write("secret", "canary").string();
  const command_result result = result_of(sandbox(), "cat " + secret);
  EXPECT_EQ(result.out().text(), "");
  EXPECT_EQ(result.isolation().of(isolation_kind::network), "network namespace: a loopback interface alone");
  EXPECT_EQ(result_of(sandbox().mount_read_only(base.path()), "cat " + secret).out().text(), "canary");
}

// Feature: A20
TEST(Sandbox, without_bubblewrap_it_lists_the_choices_and_runs_nothing) {
  const open_folder base;
  const changed_variable path("PATH", base.path());
  // The sandbox must not fall back to Docker, even if there is a docker command. This command records that it was
  // called.
  base.write("docker", "#!/bin/sh\ntouch " + (base / "asked").string() + "\n", 0755);
  const std::string ran = (base.make_shared_folder("shared") / "ran").string();
  std::string text;
  try {
    result_of(sandbox(), "touch " + ran);
  } catch (const error& failure) {
    text = failure.what();
  }
  expect_choices(text, "sudo apt-get install bubblewrap");
  EXPECT_FALSE(std::filesystem::exists(ran));
  EXPECT_FALSE(base.has("asked"));
}

TEST(Sandbox, a_refusal_of_the_system_names_the_command_that_changes_it) {
  const open_folder base;
  const auto complains = [&](const std::string& text) {
    const std::filesystem::path program =
        base.write("bin/bwrap", "#!/bin/sh\necho 'bwrap: " + text + "' >&2\nexit 1\n", 0755);
    jail recipe = sandbox();
    return failure_of(recipe.bubblewrap(program));
  };
  expect_choices(complains("setting up uid map: Permission denied"), "printf '%s\\n' 'abi <abi/4.0>,'");
  expect_choices(complains("No permissions to create a new namespace"), "sudo sysctl -e ");
  const std::string old = complains("Unknown option --disable-userns");
  EXPECT_NE(old.find("install version 0.8.0 or newer"), std::string::npos) << old;
  EXPECT_NE(old.find("docker::from_image"), std::string::npos) << old;
}

TEST(Sandbox, a_missing_wall_is_an_error_with_the_choices) {
  COFFERDAM_NEEDS("bubblewrap", has_jail(), "the walls of the jail");
  const open_folder base;
  const std::filesystem::path program = base.write("bin/bwrap",
                                                   "#!/bin/bash\nfor word; do shift; [ \"$word\" = --unshare-net ] || "
                                                   "set -- \"$@\" \"$word\"; done\nexec bwrap \"$@\"\n",
                                                   0755);
  jail recipe = sandbox();
  const std::string text = failure_of(recipe.bubblewrap(program));
  EXPECT_NE(text.find("a wall is missing: net namespace"), std::string::npos) << text;
  EXPECT_NE(text.find("docker::from_image"), std::string::npos) << text;
}

// The errors of `jail()` list no alternatives, because a program that names the jail has chosen it. Neither do the
// errors of `sandbox()` that have another cause than a missing jail.
TEST(Sandbox, other_errors_of_open_have_no_choices) {
  const std::string text = failure_of(sandbox().mount_read_only("/no/such/folder"));
  EXPECT_EQ(text.find("docker"), std::string::npos) << text;
  const open_folder base;
  const changed_variable path("PATH", base.path());
  EXPECT_EQ(failure_of(jail()).find("docker"), std::string::npos);
}

}  // namespace sandbox_tests
