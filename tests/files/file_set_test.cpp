// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/files/detail/file_plan.hpp>
#include <cofferdam/files/file_set.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using cofferdam::exec_errc;
using cofferdam::file_naming;
using cofferdam::file_set;
using cofferdam::file_type;
using cofferdam::files;
using cofferdam::detail::file_plan;
using cofferdam::detail::planned_file;

static_assert(!std::is_aggregate_v<file_set>, "g++ 12 destroys aggregate temporaries in a co_await operand twice");
static_assert(std::is_default_constructible_v<file_set> && std::is_copy_constructible_v<file_set>);

template <class F>
exec_errc thrown_by(F&& doing) {
  try {
    doing();
  } catch (const cofferdam::error& failure) {
    return static_cast<exec_errc>(failure.code().value());
  }
  ADD_FAILURE() << "nothing was thrown";
  return exec_errc{};
}

TEST(FileSet, plain_texts_name_automatically) {
  const file_set set = files("a", std::string("b*"), std::filesystem::path("c/d"));
  ASSERT_EQ(set.items().size(), 3U);
  EXPECT_EQ(set.items()[1].text(), "b*");
  EXPECT_EQ(set.items()[1].naming(), file_naming::automatic);
  EXPECT_EQ(set.items()[2].text(), "c/d");
}

TEST(FileSet, exact_names_and_patterns_can_be_said) {
  const file_set set = file_set().exactly("a*").matching("b*").add("c");
  ASSERT_EQ(set.items().size(), 3U);
  EXPECT_EQ(set.items()[0].naming(), file_naming::exact);
  EXPECT_EQ(set.items()[1].naming(), file_naming::pattern);
}

TEST(FileSet, a_list_made_at_run_time_will_do) {
  std::vector<std::string> list{"a", "b"};
  EXPECT_EQ(files(std::move(list)).items().size(), 2U);
}

TEST(FileSet, setters_chain_on_temporaries_and_on_names) {
  file_set named = files("a").into("x").follow_symlinks().at_most(5).at_most_files(6);
  EXPECT_EQ(named.into(), "x");
  EXPECT_TRUE(named.follows_symlinks());
  EXPECT_EQ(named.max_bytes(), 5U);
  EXPECT_EQ(named.max_files(), 6U);
  named.into("y").at_most(7);
  EXPECT_EQ(named.into(), "y");
  EXPECT_EQ(named.max_bytes(), 7U);
}

TEST(FileSet, into_takes_only_what_stays_inside) {
  EXPECT_EQ(files("a").into("./x//y/").into(), "x/y");
  EXPECT_EQ(files("a").into(".").into(), ".");
  EXPECT_EQ(thrown_by([] { files("a").into("../x"); }), exec_errc::outside_workspace);
  EXPECT_EQ(thrown_by([] { files("a").into("/x"); }), exec_errc::outside_workspace);
  EXPECT_EQ(thrown_by([] { files("a").into("x/../y"); }), exec_errc::outside_workspace);
  EXPECT_EQ(thrown_by([] { files("a").into(""); }), exec_errc::invalid_argument);
}

planned_file file(std::string source, std::string destination, std::uint64_t size = 1) {
  return planned_file(std::move(source), std::move(destination), file_type::regular, size, 0644);
}
planned_file folder(std::string source, std::string destination, unsigned mode = 0755) {
  return planned_file(std::move(source), std::move(destination), file_type::directory, 0, mode);
}

// Feature: F4
TEST(FilePlan, two_files_for_one_name_collide) {
  file_plan plan{file_set()};
  plan.add(file("x/a", "a"));
  EXPECT_EQ(thrown_by([&] { plan.add(file("y/a", "a")); }), exec_errc::collision);
}

TEST(FilePlan, a_file_where_another_needs_a_folder_collides_in_either_order) {
  for (const bool file_first : {true, false}) {
    file_plan plan{file_set()};
    if (file_first) plan.add(file("a", "a"));
    plan.add(file("b", "a/b/c"));
    if (!file_first) plan.add(file("a", "a"));
    EXPECT_EQ(thrown_by([&] { plan.settle(); }), exec_errc::collision);
  }
}

TEST(FilePlan, a_folder_and_a_file_of_one_name_collide) {
  file_plan plan{file_set()};
  plan.add(folder("x", "a"));
  EXPECT_EQ(thrown_by([&] { plan.add(file("y", "a")); }), exec_errc::collision);
}

TEST(FilePlan, folders_of_one_name_are_one_folder) {
  file_plan plan{file_set()};
  plan.add(folder("x", "a", 0700));
  plan.add(folder("y", "a", 0700));
  plan.add(file("x/1", "a/1"));
  plan.add(file("y/2", "a/2"));
  plan.settle();
  EXPECT_EQ(plan.files().size(), 3U);
}

TEST(FilePlan, a_name_like_another_with_a_longer_last_part_is_no_folder_of_it) {
  file_plan plan{file_set()};
  plan.add(file("a", "a"));
  plan.add(file("ab", "ab/c"));
  plan.add(file("a-b", "a-b"));
  plan.settle();
  EXPECT_EQ(plan.files().size(), 3U);
}

TEST(FilePlan, folders_that_come_by_themselves_are_not_sent) {
  file_plan plan{file_set()};
  plan.add(folder("d", "d"));
  plan.add(folder("d/full", "d/full"));
  plan.add(folder("d/empty", "d/empty"));
  plan.add(folder("d/odd", "d/odd", 0700));
  plan.add(file("d/full/a", "d/full/a"));
  plan.add(file("d/odd/a", "d/odd/a"));
  plan.settle();
  std::vector<std::string> left;
  for (const planned_file& planned : plan.files()) left.push_back(planned.destination());
  EXPECT_EQ(left, (std::vector<std::string>{"d/empty", "d/odd", "d/full/a", "d/odd/a"}));
}

TEST(FilePlan, limits_count_what_is_named_twice_once) {
  file_plan plan(file_set().at_most(10).at_most_files(2));
  plan.add(file("a", "a", 6));
  plan.add(file("a", "a", 6));
  plan.add(file("b", "b", 4));
  plan.add(file("b", "b", 4));
  EXPECT_EQ(plan.files().size(), 2U);
  EXPECT_EQ(thrown_by([&] { plan.add(file("c", "c", 0)); }), exec_errc::too_large);
}

TEST(FilePlan, one_byte_too_many_is_too_large) {
  file_plan plan(file_set().at_most(10));
  plan.add(file("a", "a", 6));
  EXPECT_EQ(thrown_by([&] { plan.add(file("b", "b", 5)); }), exec_errc::too_large);
  EXPECT_EQ(thrown_by([&] { plan.add(file("b", "b", UINT64_MAX)); }), exec_errc::too_large);
}

TEST(FilePlan, a_destination_that_no_workspace_takes_is_a_failure) {
  file_plan plan{file_set()};
  plan.add(file("a", "../a"));
  plan.add(file("b", "d/" + std::string(256, 'x')));
  ASSERT_EQ(plan.files().size(), 2U);
  EXPECT_EQ(plan.files()[0].failure()->code(), exec_errc::outside_workspace);
  EXPECT_EQ(plan.files()[1].failure()->code(), exec_errc::invalid_argument);
}

TEST(FilePlan, case_twins_are_found_in_names_and_in_folders) {
  const auto twins = [](std::string a, std::string b) {
    file_plan plan{file_set()};
    plan.add(file("1", std::move(a)));
    plan.add(file("2", std::move(b)));
    return plan.case_collision().has_value();
  };
  EXPECT_TRUE(twins("a.txt", "A.txt"));
  EXPECT_TRUE(twins("Dir/a", "dir/b"));
  EXPECT_TRUE(twins("x/Dir", "x/dir/b"));
  EXPECT_TRUE(twins("\xc3\x89t\xc3\xa9", "\xc3\xa9t\xc3\xa9"));
  EXPECT_TRUE(twins("\xd0\xaf", "\xd1\x8f"));
  EXPECT_TRUE(twins("\xce\xa3", "\xcf\x83"));
  EXPECT_FALSE(twins("a", "b"));
  EXPECT_FALSE(twins("dir/a", "dir/b"));
  EXPECT_FALSE(twins("\xff", "\xfe"));
  EXPECT_FALSE(twins("\xc3\x97", "\xc3\xb7"));
}

}  // namespace
