// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/host_view.hpp>

#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::host_view;
using cofferdam::docker::detail::path_kind;
using namespace cofferdam::docker;
using cofferdam_test::code_of;
using cofferdam_test::temporary_folder;

TEST(HostView, it_sees_variables_and_files_of_this_process) {
  const temporary_folder folder;
  folder.write("f", "content");
  ::setenv("COFFERDAM_TEST_SEEN", "a=b", 1);
  const host_view host = host_view::of_this_process();
  ::unsetenv("COFFERDAM_TEST_SEEN");
  EXPECT_EQ(host.variable("COFFERDAM_TEST_SEEN"), "a=b");
  EXPECT_EQ(host.variable("COFFERDAM_TEST_NOT_SEEN"), std::nullopt);
  EXPECT_EQ(host.value("COFFERDAM_TEST_NOT_SEEN"), "");
  EXPECT_EQ(host.read((folder / "f").string()), "content");
  EXPECT_EQ(host.read((folder / "g").string()), std::nullopt);
  EXPECT_EQ(host.read((folder / "f/g").string()), std::nullopt);
  EXPECT_EQ(host.look((folder / "f").string()), path_kind::file);
  EXPECT_EQ(host.look(folder.path().string()), path_kind::other);
  EXPECT_EQ(host.look((folder / "g").string()), path_kind::nothing);
}

TEST(HostView, what_cannot_be_read_is_an_error_and_does_not_block) {
  const temporary_folder folder;
  folder.make_fifo("p");
  folder.write("long", std::string(host_view::max_bytes + 1, 'x'));
  const host_view host = host_view::of_this_process();
  EXPECT_EQ(code_of([&] { host.read((folder / "p").string()); }), exec_errc::not_a_file);
  EXPECT_EQ(code_of([&] { host.read(folder.path().string()); }), exec_errc::not_a_file);
  EXPECT_EQ(code_of([&] { host.read((folder / "long").string()); }), exec_errc::too_large);
}

TEST(HostView, home_is_what_the_variable_says_or_else_the_system) {
  EXPECT_EQ(host_view({{"HOME", "/a"}}, "/b", 0, {}, {}).home(), "/a");
  EXPECT_EQ(host_view({}, "/b", 0, {}, {}).home(), "/b");
}

}  // namespace
