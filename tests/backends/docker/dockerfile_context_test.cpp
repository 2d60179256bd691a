// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/dockerfile_context.hpp>

#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::context_entry;
using cofferdam::docker::detail::context_limit;
using cofferdam::docker::detail::dockerfile_context;
using namespace cofferdam::docker;
using cofferdam_test::code_of;
using cofferdam_test::temporary_folder;
using names = std::vector<std::string>;

names all_of(dockerfile_context context) {
  while (!context.step(1)) continue;
  names found;
  for (const context_entry& entry : context.entries()) found.push_back(entry.path());
  return found;
}

TEST(DockerfileContext, everything_goes_in_order_where_there_are_no_rules) {
  const temporary_folder folder;
  folder.write("Dockerfile", "FROM x\n");
  folder.write("b/2", "22", 0755);
  folder.write("b.txt", "");
  folder.make_folder("empty");
  folder.make_link("link", "/etc/passwd");
  folder.make_fifo("pipe");
  dockerfile_context context(folder.path());
  EXPECT_TRUE(context.step());
  EXPECT_TRUE(context.step());
  names found;
  for (const context_entry& entry : context.entries()) found.push_back(entry.path());
  EXPECT_EQ(found, (names{"Dockerfile", "b", "b.txt", "b/2", "empty", "link"}));
  EXPECT_EQ(context.dockerfile(), "Dockerfile");
  EXPECT_FALSE(context.extra_content().has_value());
  EXPECT_EQ(context.rules(), "");
  EXPECT_EQ(context.total_bytes(), 9U);
  EXPECT_EQ(context.entries()[3].mode(), 0755U);
  EXPECT_EQ(context.entries()[4].type(), file_type::directory);
  EXPECT_EQ(context.entries()[5].type(), file_type::symlink);
  EXPECT_EQ(context.entries()[5].target(), "/etc/passwd");
}

TEST(DockerfileContext, rules_leave_out_and_bring_back_but_never_the_dockerfile_or_themselves) {
  const temporary_folder folder;
  folder.write("Dockerfile", "");
  folder.write(".dockerignore", "**\n!a/keep\n");
  folder.write("a/keep", "");
  folder.write("a/drop", "");
  folder.write("b/deep/drop", "");
  EXPECT_EQ(all_of(dockerfile_context(folder.path())), (names{".dockerignore", "Dockerfile", "a/keep"}));
}

TEST(DockerfileContext, the_dockerfile_is_found_in_a_folder_that_is_left_out) {
  const temporary_folder folder;
  folder.write("docker/app/Dockerfile", "");
  folder.write("docker/other", "");
  folder.write(".dockerignore", "docker\n");
  folder.write("main.c", "");
  EXPECT_EQ(all_of(dockerfile_context(folder.path(), folder / "docker/app/Dockerfile")),
            (names{".dockerignore", "docker/app/Dockerfile", "main.c"}));
}

TEST(DockerfileContext, rules_of_the_dockerfile_itself_go_before_those_of_the_context) {
  const temporary_folder folder;
  folder.write("d/dev.Dockerfile", "");
  folder.write("d/dev.Dockerfile.dockerignore", "x\n");
  folder.write(".dockerignore", "y\n");
  folder.write("x", "");
  folder.write("y", "");
  dockerfile_context context(folder.path(), folder / "d/dev.Dockerfile");
  EXPECT_EQ(context.dockerfile(), "d/dev.Dockerfile");
  EXPECT_EQ(context.rules(), "d/dev.Dockerfile.dockerignore");
  EXPECT_EQ(all_of(std::move(context)),
            (names{".dockerignore", "d", "d/dev.Dockerfile", "d/dev.Dockerfile.dockerignore", "y"}));
}

TEST(DockerfileContext, a_dockerfile_from_outside_comes_beside_the_context) {
  const temporary_folder folder;
  const temporary_folder outside;
  outside.write("my.Dockerfile", "FROM y\n");
  outside.write("my.Dockerfile.dockerignore", "b\n");
  folder.write("a", "");
  folder.write("b", "");
  folder.write(".dockerignore", "a\n");
  folder.write(".cofferdam.Dockerfile", "taken");
  dockerfile_context context(folder.path(), outside / "my.Dockerfile");
  EXPECT_EQ(context.extra_content(), "FROM y\n");
  EXPECT_EQ(context.dockerfile(), ".cofferdam.Dockerfile.x");
  EXPECT_EQ(all_of(std::move(context)), (names{".cofferdam.Dockerfile", ".dockerignore", "a"}));
  ASSERT_TRUE(std::filesystem::remove(outside / "my.Dockerfile.dockerignore"));
  EXPECT_EQ(all_of(dockerfile_context(folder.path(), outside / "my.Dockerfile")),
            (names{".cofferdam.Dockerfile", ".dockerignore", "b"}));
}

TEST(DockerfileContext, a_link_to_a_dockerfile_is_what_it_leads_to) {
  const temporary_folder folder;
  const temporary_folder outside;
  outside.write("D", "FROM z\n");
  folder.write("real", "");
  folder.make_link("inside", "real");
  folder.make_link("Dockerfile", (outside / "D").string());
  EXPECT_EQ(dockerfile_context(folder.path(), folder / "inside").dockerfile(), "real");
  EXPECT_EQ(dockerfile_context(folder.path()).extra_content(), "FROM z\n");
}

TEST(DockerfileContext, a_folder_that_is_left_out_is_not_even_looked_into) {
  const temporary_folder folder;
  folder.write("Dockerfile", "");
  for (int i = 0; i < 50; ++i) folder.write("much/" + std::to_string(i), "");
  EXPECT_EQ(code_of([&] { all_of(dockerfile_context(folder.path(), {}, context_limit().files(10))); }),
            exec_errc::too_large);
  folder.write(".dockerignore", "much\n");
  EXPECT_EQ(all_of(dockerfile_context(folder.path(), {}, context_limit().files(10))),
            (names{".dockerignore", "Dockerfile"}));
}

TEST(DockerfileContext, what_cannot_be_built_is_told_apart) {
  const temporary_folder folder;
  EXPECT_EQ(code_of([&] { dockerfile_context{folder.path()}; }), exec_errc::not_found);
  EXPECT_EQ(code_of([&] { dockerfile_context(folder / "none"); }), exec_errc::not_found);
  folder.make_folder("Dockerfile");
  EXPECT_EQ(code_of([&] { dockerfile_context{folder.path()}; }), exec_errc::not_a_file);
  folder.write("D", "");
  EXPECT_EQ(code_of([&] { dockerfile_context(folder / "D", folder / "D"); }), exec_errc::not_a_directory);
  folder.write(".dockerignore", "[");
  EXPECT_EQ(code_of([&] { dockerfile_context(folder.path(), folder / "D"); }), exec_errc::invalid_argument);
  folder.write(".dockerignore", std::string((std::size_t{1024} * 1024) + 1, 'x'));
  EXPECT_EQ(code_of([&] { dockerfile_context(folder.path(), folder / "D"); }), exec_errc::too_large);
}

TEST(DockerfileContext, a_context_that_is_too_large_is_an_error) {
  const temporary_folder folder;
  folder.write("Dockerfile", "1234");
  folder.write("a", "12345678");
  EXPECT_EQ(all_of(dockerfile_context(folder.path(), {}, context_limit().bytes(12))).size(), 2U);
  EXPECT_EQ(code_of([&] { all_of(dockerfile_context(folder.path(), {}, context_limit().bytes(11))); }),
            exec_errc::too_large);
  EXPECT_EQ(code_of([&] { all_of(dockerfile_context(folder.path(), {}, context_limit().files(1))); }),
            exec_errc::too_large);
}

}  // namespace
