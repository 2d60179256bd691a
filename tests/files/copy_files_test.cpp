// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/files/copy_files.hpp>

#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using cofferdam::exec_errc;
using cofferdam::file_set;
using cofferdam::files;
using cofferdam::transfer_result;
using cofferdam_test::BothKinds;
using cofferdam_test::in_one_trip;
using cofferdam_test::names;
using cofferdam_test::one_by_one;
using cofferdam_test::only_failure;
using cofferdam_test::thrown_by;
using cofferdam_test::tree;

template <class Kind>
class CopyFiles : public cofferdam_test::two_sides<Kind> {};
TYPED_TEST_SUITE(CopyFiles, BothKinds);

TYPED_TEST(CopyFiles, names_are_those_that_upload_gives) {
  this->work_.write("a/b/file", "1");
  this->work_.write("a/dir/x/y", "2");
  this->work_.write("p/q/1.png", "3");
  const transfer_result report = this->copy(files("a/b/file", "a/dir", "p/**/*.png"));
  EXPECT_EQ(tree(this->second_), (names{"dir/", "dir/x/", "dir/x/y=2", "file=1", "q/", "q/1.png=3"}));
  EXPECT_EQ(report.files().at(0).source(), "a/b/file");
  EXPECT_EQ(report.files().at(0).destination(), "file");
}

TYPED_TEST(CopyFiles, into_takes_a_directorys_contents) {
  this->work_.write("dir/x/y", "2");
  this->copy(files("dir").into("z")).throw_if_failed();
  EXPECT_EQ(tree(this->second_), (names{"z/", "z/x/", "z/x/y=2"}));
}

TYPED_TEST(CopyFiles, the_whole_workspace_needs_a_place) {
  this->work_.write("a", "1");
  EXPECT_EQ(only_failure(this->copy(files("."))), exec_errc::invalid_argument);
  EXPECT_TRUE(this->copy(files(".").into(".")).ok());
  EXPECT_EQ(tree(this->second_), (names{"a=1"}));
}

TYPED_TEST(CopyFiles, two_files_for_one_name_collide_before_anything_is_written) {
  this->work_.write("x/a", "1");
  this->work_.write("y/a", "2");
  EXPECT_EQ(thrown_by([&] { this->copy(files("x/a", "y/a")).throw_if_failed(); }), exec_errc::collision);
  EXPECT_EQ(thrown_by([&] { this->copy(files("x/*", "y/*")).throw_if_failed(); }), exec_errc::collision);
  EXPECT_EQ(tree(this->second_), names{});
}

TYPED_TEST(CopyFiles, what_cannot_be_copied_fails_and_the_rest_arrives) {
  this->work_.write("d/a", "1", 0755);
  this->work_.make_link("d/out", (this->outside_ / "secret/key").string());
  this->work_.make_fifo("d/fifo");
  const transfer_result report = this->copy(files("d", "nothing"));
  EXPECT_EQ(tree(this->second_), (names{"d/", "d/a=1"}));
  EXPECT_EQ(this->second_.mode("d/a"), 0755U);
  EXPECT_EQ(report.failed().size(), 3U);
}

TYPED_TEST(CopyFiles, a_big_file_arrives_whole) {
  std::string content;
  for (int i = 0; i < 3000000; ++i) content += static_cast<char>(i * 7 % 253);
  this->work_.write("big", content);
  this->copy(files("big")).throw_if_failed();
  EXPECT_EQ(this->second_.read("big"), content);
}

template <class From, class To>
void between_kinds() {
  const cofferdam_test::temporary_folder workspace;
  const cofferdam_test::temporary_folder two;
  workspace.write("d/a", std::string(2000000, 'x'), 0755);
  workspace.make_folder("d/empty");
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    auto from = co_await From::provider(workspace.path()).open();
    auto to = co_await To::provider(two.path()).open();
    transfer_result report = co_await cofferdam::copy_files(from, to, files("d"));
    EXPECT_TRUE(report.ok());
    transfer_result within = co_await cofferdam::copy_files(to, to, files("d").into("again"));
    EXPECT_TRUE(within.ok());
    co_await to.close();
    co_await from.close();
  });
  EXPECT_EQ(two.read("d/a"), workspace.read("d/a"));
  EXPECT_EQ(two.read("again/a"), workspace.read("d/a"));
  EXPECT_EQ(two.mode("again/a"), 0755U);
  EXPECT_TRUE(two.has("again/empty"));
}

// Feature: E5
TEST(CopyFilesBetween, kinds_of_backends_mix) {
  between_kinds<in_one_trip, one_by_one>();
  between_kinds<one_by_one, in_one_trip>();
}

}  // namespace
