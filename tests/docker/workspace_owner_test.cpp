// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/core/with.hpp>

#include "docker/docker_support.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::run;
using cofferdam_test::test_image;

std::vector<std::string>& warnings_of_root() {
  static std::vector<std::string> messages;
  return messages;
}

// Feature: F10
TEST(Docker, commands_run_as_the_owner_of_the_folder_that_is_their_workspace) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  const bool is_root = ::geteuid() == 0;
  const unsigned uid = is_root ? 4321 : ::geteuid();
  const unsigned gid = is_root ? 8765 : ::getegid();
  const std::filesystem::path mine = folder.path() / "mine";
  std::filesystem::create_directory(mine);
  std::ofstream(mine / "given") << "given";
  std::filesystem::permissions(mine / "given", std::filesystem::perms(0600));
  if (is_root) {
    ASSERT_EQ(::chown(mine.c_str(), uid, gid), 0);
    ASSERT_EQ(::chown((mine / "given").c_str(), uid, gid), 0);
  }
  const docker::container_options options =
      docker::container_options().add(docker::mount::bind(mine.string(), "/workspace"));
  const std::string deeds = "id -u; id -g; cat given && touch made && echo written";
  // The user of the image "user" could not write to the workspace.
  for (const char* const image : {"busybox", "user"})
    run(
        [&]() -> awaitable<void> {
          co_await with(test_image(image, options), [&](docker::environment& env) -> awaitable<void> {
            command_result result = co_await env.run_command(shell(deeds));
            EXPECT_EQ(result.out().text(), std::to_string(uid) + "\n" + std::to_string(gid) + "\ngivenwritten\n")
                << result.err().text();
            co_await env.write_file("by-us", as_bytes(std::string_view("x")));
          });
        },
        120s);
  for (const char* const name : {"made", "by-us"}) {
    struct stat status {};
    ASSERT_EQ(::stat((mine / name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_uid, uid) << name;
  }
  // An explicit user takes precedence.
  docker::container_options other = options;
  other.user("1000:1000");
  run(
      [&]() -> awaitable<void> {
        co_await with(test_image("busybox", other), [](docker::environment& env) -> awaitable<void> {
          command_result result = co_await env.run_command(shell("id -u"));
          EXPECT_EQ(result.out().text(), "1000\n");
        });
      },
      120s);
}

TEST(Docker, a_folder_of_roots_does_not_make_commands_root) {
  COFFERDAM_NEEDS_DOCKER();
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder of root's";
  const cofferdam_test::temporary_folder folder;
  const std::filesystem::path roots = folder.path() / "roots";
  std::filesystem::create_directory(roots);
  warnings_of_root().clear();
  const warning_handler before =
      set_warning_handler([](std::string_view sentence) { warnings_of_root().emplace_back(sentence); });
  const docker::container_options options =
      docker::container_options().add(docker::mount::bind(roots.string(), "/workspace"));
  docker::container_options as_root = options;
  as_root.user("0");
  for (const bool is_asked : {false, true})
    run(
        [&]() -> awaitable<void> {
          co_await with(test_image("busybox", is_asked ? as_root : options),
                        [&](docker::environment& env) -> awaitable<void> {
                          command_result result = co_await env.run_command(shell("id -u; touch x && echo yes"));
                          EXPECT_EQ(result.out().text(), is_asked ? "0\nyes\n" : "1000\n");
                        });
        },
        120s);
  set_warning_handler(before);
  ASSERT_EQ(warnings_of_root().size(), 1U);
  EXPECT_NE(warnings_of_root()[0].find(roots.string()), std::string::npos) << warnings_of_root()[0];
}

}  // namespace
