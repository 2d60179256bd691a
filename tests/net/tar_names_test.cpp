// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/net/detail/tar_names.hpp>

#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using cofferdam::exec_errc;
using cofferdam::detail::tar_entry;
using cofferdam::detail::tar_names;
using cofferdam::detail::tar_type;
using cofferdam_test::thrown_by;

tar_entry file(std::string name) { return tar_entry(std::move(name), tar_type::regular); }
tar_entry folder(std::string name) { return tar_entry(std::move(name), tar_type::directory); }
tar_entry symlink(std::string name, std::string target) {
  return tar_entry(std::move(name), tar_type::symlink).link(std::move(target));
}
tar_entry hard_link(std::string name, std::string target) {
  return tar_entry(std::move(name), tar_type::hard_link).link(std::move(target));
}

exec_errc refusal(tar_names& names, const tar_entry& entry) {
  return thrown_by([&] { names.admit(entry); });
}
exec_errc refusal(const tar_entry& entry) {
  tar_names names;
  return refusal(names, entry);
}

TEST(TarNames, gives_the_one_spelling_of_a_name) {
  tar_names names;
  EXPECT_EQ(names.admit(folder("./")), ".");
  EXPECT_EQ(names.admit(folder("./a//b/")), "a/b");
  EXPECT_EQ(names.admit(file("a/b/./c")), "a/b/c");
  EXPECT_EQ(names.admit(file("...")), "...");
  EXPECT_EQ(names.admit(file("-rf \n\xff")), "-rf \n\xff");
}

TEST(TarNames, names_that_lead_out_are_refused) {
  for (const char* name : {"../x", "a/../x", "a/..", "..", "/x", "/", "//x", "./../x", "a/../../x"})
    EXPECT_EQ(refusal(file(name)), exec_errc::outside_workspace) << name;
  EXPECT_EQ(refusal(folder("..")), exec_errc::outside_workspace);
  EXPECT_EQ(refusal(file("")), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(file(std::string("a\0b", 3))), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(file(std::string(256, 'n'))), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(file(".")), exec_errc::collision) << "the root is a directory";
  EXPECT_EQ(refusal(symlink(".", "a")), exec_errc::collision);
}

TEST(TarNames, a_name_comes_once_and_only_directories_come_again) {
  tar_names names;
  names.admit(folder("a"));
  names.admit(folder("a/"));
  names.admit(file("a/x"));
  names.admit(file("b/c/x"));
  names.admit(folder("b"));
  for (const tar_entry& again : {file("a/x"), file("./a//x"), folder("a/x"), symlink("a/x", "y"), file("a"),
                                 symlink("a", "b"), symlink("b/c", "x"), hard_link("a", "b/c/x")})
    EXPECT_EQ(refusal(names, again), exec_errc::collision) << again.name();
  EXPECT_EQ(refusal(names, file("a/x/y")), exec_errc::not_a_directory);
  EXPECT_EQ(names.admit(file("a/y")), "a/y");
}

TEST(TarNames, nothing_lies_beneath_a_link) {
  tar_names names;
  names.admit(folder("real"));
  names.admit(symlink("link", "real"));
  EXPECT_EQ(refusal(names, file("link/x")), exec_errc::outside_workspace);
  EXPECT_EQ(refusal(names, folder("link/d")), exec_errc::outside_workspace);
  EXPECT_EQ(refusal(names, symlink("link/d/e", "x")), exec_errc::outside_workspace);
  EXPECT_EQ(refusal(names, folder("link")), exec_errc::collision);
  EXPECT_EQ(refusal(names, symlink("out", "/etc")), exec_errc::outside_workspace);
  EXPECT_EQ(refusal(names, file("out/x")), exec_errc::outside_workspace) << "a refused name stays taken";
  EXPECT_EQ(refusal(names, file("out")), exec_errc::collision);
}

TEST(TarNames, a_symbolic_link_may_climb_to_the_root_and_no_further) {
  tar_names names;
  EXPECT_EQ(names.admit(symlink("a/b/c", "../../x/y")), "a/b/c");
  EXPECT_EQ(names.admit(symlink("a/b/d", "./.././..")), "a/b/d");
  EXPECT_EQ(names.admit(symlink("e", "x")), "e");
  EXPECT_EQ(names.admit(symlink("self", "self")), "self");
  EXPECT_EQ(names.admit(symlink("dot", ".")), "dot");
  EXPECT_EQ(names.admit(symlink("dots", "..x/...")), "dots");
  int number = 0;
  for (const char* target :
       {"..", "../x", "./..", "/", "/etc/passwd", "//", "../../x", "x/..", "x/../../y", "dot/../.."})
    EXPECT_EQ(refusal(names, symlink("l" + std::to_string(number++), target)), exec_errc::outside_workspace) << target;
  // A target that goes down and then up again is refused, even if it stays inside by counting components. `dot` links
  // to its own folder, so the kernel resolves `dot/dot/../..` to two levels above the root.
  EXPECT_EQ(refusal(names, symlink("deep/l", "dot/..")), exec_errc::outside_workspace);
  EXPECT_EQ(refusal(names, symlink("deep/m", "../../x")), exec_errc::outside_workspace);
  EXPECT_EQ(refusal(symlink("l", "")), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(symlink("l", std::string("a\0b", 3))), exec_errc::invalid_argument);
}

TEST(TarNames, a_hard_link_names_a_file_that_came_before) {
  tar_names names;
  names.admit(file("a/x"));
  names.admit(symlink("link", "a"));
  names.admit(symlink("a/s", "x"));
  EXPECT_EQ(names.admit(hard_link("y", "a/x")), "y");
  EXPECT_EQ(names.admit(hard_link("z", "./y")), "z") << "a hard link is a file too";
  int number = 0;
  for (const char* target : {"a", "b", "a/s", "link", "link/x", "a/x/y", "a/y", "a/x/x"})
    EXPECT_EQ(refusal(names, hard_link("h" + std::to_string(number++), target)), exec_errc::not_found) << target;
  for (const char* target : {"../canary", "/etc/passwd", "a/../a/x"})
    EXPECT_EQ(refusal(names, hard_link("h" + std::to_string(number++), target)), exec_errc::outside_workspace)
        << target;
  EXPECT_EQ(refusal(names, hard_link("own", "own")), exec_errc::not_found);
  EXPECT_EQ(refusal(names, hard_link("again", "own")), exec_errc::not_found) << "what was refused is no file";
  EXPECT_EQ(refusal(names, file("own")), exec_errc::collision);
  EXPECT_EQ(refusal(names, hard_link("h", ".")), exec_errc::invalid_argument);
}

TEST(TarNames, devices_and_unknown_types_are_refused_and_their_names_are_taken) {
  for (const tar_type type : {tar_type::character_device, tar_type::block_device, tar_type::fifo, tar_type::unknown}) {
    tar_names names;
    EXPECT_EQ(refusal(names, tar_entry("d", type)), exec_errc::not_a_file);
    EXPECT_EQ(refusal(names, file("d")), exec_errc::collision);
    EXPECT_EQ(refusal(names, file("d/x")), exec_errc::not_a_directory);
    EXPECT_EQ(refusal(names, hard_link("h", "d")), exec_errc::not_found);
  }
}

TEST(TarNames, the_memory_for_names_is_bounded) {
  tar_names names(1000);
  names.admit(file("a"));
  EXPECT_EQ(refusal(names, file(std::string(250, 'x') + "/" + std::string(250, 'y') + "/" + std::string(250, 'z'))),
            exec_errc::too_large);
  names.admit(folder(std::string(250, 'x')));
  EXPECT_EQ(refusal(names, file("one more that does not fit, " + std::string(200, 'n'))), exec_errc::too_large);
}

}  // namespace
