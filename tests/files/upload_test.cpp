// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/files/detail/host_files.hpp>
#include <cofferdam/files/upload.hpp>

#include "support/census.hpp"
#include "support/error_of.hpp"
#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace {

using cofferdam::exec_errc;
using cofferdam::file_set;
using cofferdam::files;
using cofferdam::transfer_result;
using cofferdam_test::BothKinds;
using cofferdam_test::code_of;
using cofferdam_test::in_one_trip;
using cofferdam_test::names;
using cofferdam_test::only_failure;
using cofferdam_test::thrown_by;
using cofferdam_test::tree;

template <class Kind>
class Upload : public cofferdam_test::two_sides<Kind> {};
TYPED_TEST_SUITE(Upload, BothKinds);

// Feature: E1
TYPED_TEST(Upload, a_file_arrives_under_its_own_name) {
  this->host_.write("deep/down/a.csv", "1,2");
  const transfer_result report = this->upload(files(this->on_host("deep/down/a.csv")));
  EXPECT_EQ(tree(this->work_), (names{"a.csv=1,2"}));
  ASSERT_EQ(report.files().size(), 1U);
  EXPECT_EQ(report.files()[0].source(), this->on_host("deep/down/a.csv"));
  EXPECT_EQ(report.files()[0].destination(), "a.csv");
  EXPECT_EQ(report.files()[0].size(), 3U);
  EXPECT_TRUE(report.ok());
}

TYPED_TEST(Upload, a_file_goes_into_a_folder) {
  this->host_.write("a.csv", "1");
  this->upload(files(this->on_host("a.csv")).into("in/puts")).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"in/", "in/puts/", "in/puts/a.csv=1"}));
}

// Feature: E2
TYPED_TEST(Upload, a_directory_keeps_its_name) {
  this->host_.write("x/dir/a", "1");
  this->host_.write("x/dir/b/c", "2");
  this->upload(files(this->on_host("x/dir"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"dir/", "dir/a=1", "dir/b/", "dir/b/c=2"}));
}

// Feature: E4
TYPED_TEST(Upload, a_directory_with_into_gives_its_contents) {
  this->host_.write("x/dir/a", "1");
  this->host_.write("x/dir/b/c", "2");
  this->upload(files(this->on_host("x/dir")).into("y")).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"y/", "y/a=1", "y/b/", "y/b/c=2"}));
}

TYPED_TEST(Upload, into_dot_is_the_workspace_itself) {
  this->host_.write("dir/a", "1");
  this->upload(files(this->on_host("dir")).into(".")).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"a=1"}));
}

TYPED_TEST(Upload, a_slash_at_the_end_changes_nothing) {
  this->host_.write("my dir/a", "1");
  this->upload(files(this->on_host("my dir//"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"my dir/", "my dir/a=1"}));
}

TYPED_TEST(Upload, paths_start_at_the_current_directory) {
  this->host_.write("dir/a", "1");
  this->host_.write("b", "2");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(this->host_ / "dir");
  const transfer_result report = this->upload(files("a", "../b", ".", "./*"));
  std::filesystem::current_path(before);
  EXPECT_EQ(tree(this->work_), (names{"a=1", "b=2", "dir/", "dir/a=1"}));
  EXPECT_EQ(report.files().at(0).source(), "a");
  EXPECT_TRUE(report.ok());
}

// Feature: E3
TYPED_TEST(Upload, a_pattern_keeps_paths_below_its_fixed_part) {
  this->host_.write("logs/1.txt", "1");
  this->host_.write("logs/a/2.txt", "2");
  this->host_.write("logs/a/b/3.txt", "3");
  this->host_.write("logs/a/no.log", "x");
  this->upload(files(this->on_host("logs/**/*.txt")).into("l")).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"l/", "l/1.txt=1", "l/a/", "l/a/2.txt=2", "l/a/b/", "l/a/b/3.txt=3"}));
}

TYPED_TEST(Upload, files_of_one_name_in_two_folders_do_not_overwrite_each_other) {
  this->host_.write("src/a/x.py", "1");
  this->host_.write("src/b/x.py", "2");
  this->upload(files(this->on_host("src/**/*.py"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"a/", "a/x.py=1", "b/", "b/x.py=2"}));
}

TYPED_TEST(Upload, a_matching_directory_comes_with_all_it_holds) {
  this->host_.write("p/run1/a", "1");
  this->host_.write("p/run1/.hidden", "2");
  this->host_.write("p/other/a", "3");
  this->upload(files(this->on_host("p/run*"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"run1/", "run1/.hidden=2", "run1/a=1"}));
}

TYPED_TEST(Upload, two_stars_at_the_end_leave_hidden_names_out) {
  this->host_.write("p/run1/a", "1");
  this->host_.write("p/run1/.hidden", "2");
  this->host_.write("p/.git/config", "3");
  this->host_.make_folder("p/empty");
  this->upload(files(this->on_host("p/**"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"empty/", "run1/", "run1/a=1"}));
}

TYPED_TEST(Upload, a_file_whose_name_looks_like_a_pattern_can_be_named) {
  this->host_.write("data[1].csv", "right");
  this->host_.write("data1.csv", "wrong");
  this->host_.write("what?", "q");
  this->upload(files(this->on_host("data[1].csv"), this->on_host("what?"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"data[1].csv=right", "what?=q"}));
}

TYPED_TEST(Upload, exactly_is_never_a_pattern_and_matching_always_is) {
  this->host_.write("data[1].csv", "brackets");
  this->host_.write("data1.csv", "one");
  const transfer_result exact = this->upload(file_set().exactly(this->on_host("data*")));
  EXPECT_EQ(only_failure(exact), exec_errc::not_found);
  this->upload(file_set().matching(this->on_host("data[1].csv"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"data1.csv=one"}));
}

// Feature: E6
TYPED_TEST(Upload, what_is_missing_fails_and_the_rest_arrives) {
  this->host_.write("a", "1");
  const transfer_result report =
      this->upload(files(this->on_host("nothing"), this->on_host("a"), this->on_host("no*"), this->on_host("no/*")));
  EXPECT_EQ(tree(this->work_), (names{"a=1"}));
  ASSERT_EQ(report.failed().size(), 3U);
  const std::string sentence = cofferdam_test::sentence_of([&] { report.throw_if_failed("inputs"); });
  EXPECT_TRUE(sentence.starts_with("inputs: ")) << sentence;
  EXPECT_TRUE(sentence.ends_with("(and 2 more of the files failed)")) << sentence;
  for (const cofferdam::failed_file& file : report.failed()) EXPECT_EQ(code_of(file), exec_errc::not_found);
  EXPECT_EQ(report.failed()[0].source(), this->on_host("nothing"));
  EXPECT_FALSE(report.ok());
}

TYPED_TEST(Upload, an_empty_or_broken_name_fails) {
  const transfer_result report = this->upload(files("", std::string("a\0b", 3), std::string(5000, 'x')));
  ASSERT_EQ(report.failed().size(), 3U);
  EXPECT_EQ(code_of(report.failed()[0]), exec_errc::invalid_argument);
  EXPECT_EQ(code_of(report.failed()[1]), exec_errc::invalid_argument);
}

TYPED_TEST(Upload, a_link_that_is_named_is_followed_and_keeps_its_own_name) {
  this->host_.write("real.txt", "1");
  this->host_.write("dir/a", "2");
  this->host_.make_link("link.txt", "real.txt");
  this->host_.make_link("link-dir", "dir");
  this->upload(files(this->on_host("link.txt"), this->on_host("link-dir"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"link-dir/", "link-dir/a=2", "link.txt=1"}));
}

TYPED_TEST(Upload, links_in_a_tree_are_reported_and_not_followed) {
  this->host_.write("dir/a", "1");
  this->host_.make_link("dir/key", (this->outside_ / "secret/key").string());
  this->host_.make_link("dir/keys", (this->outside_ / "secret").string());
  const transfer_result report = this->upload(files(this->on_host("dir")));
  EXPECT_EQ(tree(this->work_), (names{"dir/", "dir/a=1"}));
  ASSERT_EQ(report.failed().size(), 2U);
  EXPECT_EQ(code_of(report.failed()[0]), exec_errc::not_a_file);
  EXPECT_EQ(report.failed()[0].source(), this->on_host("dir/key"));
}

TYPED_TEST(Upload, links_that_a_pattern_finds_are_reported_and_not_followed) {
  this->host_.write("dir/a", "1");
  this->host_.make_link("dir/b", "a");
  const transfer_result report = this->upload(files(this->on_host("dir/*")));
  EXPECT_EQ(tree(this->work_), (names{"a=1"}));
  EXPECT_EQ(only_failure(report), exec_errc::not_a_file);
}

TYPED_TEST(Upload, links_are_followed_when_asked) {
  this->host_.write("dir/a", "1");
  this->host_.make_link("dir/key", (this->outside_ / "secret/key").string());
  this->host_.make_link("dir/keys", (this->outside_ / "secret").string());
  const transfer_result report = this->upload(files(this->on_host("dir")).follow_symlinks());
  EXPECT_EQ(tree(this->work_), (names{"dir/", "dir/a=1", "dir/key=secret", "dir/keys/", "dir/keys/key=secret"}));
  EXPECT_TRUE(report.ok());
}

TYPED_TEST(Upload, links_in_circles_end) {
  this->host_.write("dir/a", "1");
  this->host_.write("dir/b/c", "2");
  this->host_.make_link("dir/b/up", "..");
  this->host_.make_link("dir/self", ".");
  this->host_.make_link("dir/dangling", "nowhere");
  const transfer_result report = this->upload(files(this->on_host("dir")).follow_symlinks());
  EXPECT_EQ(tree(this->work_), (names{"dir/", "dir/a=1", "dir/b/", "dir/b/c=2"}));
  EXPECT_EQ(report.failed().size(), 3U);
}

TYPED_TEST(Upload, pattern_matches_are_followed_when_asked) {
  this->host_.write("dir/a", "1");
  this->host_.make_link("dir/b", "a");
  this->host_.make_link("dir/c", (this->outside_ / "secret").string());
  const transfer_result report = this->upload(files(this->on_host("dir/*")).follow_symlinks());
  EXPECT_EQ(tree(this->work_), (names{"a=1", "b=1", "c/", "c/key=secret"}));
  EXPECT_TRUE(report.ok());
}

TYPED_TEST(Upload, fifos_are_reported_without_blocking) {
  this->host_.write("dir/a", "1");
  this->host_.make_fifo("dir/fifo");
  this->host_.make_fifo("fifo");
  const auto start = std::chrono::steady_clock::now();
  const transfer_result report =
      this->upload(files(this->on_host("dir"), this->on_host("fifo"), this->on_host("dir/f*"), "/dev/zero"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(tree(this->work_), (names{"dir/", "dir/a=1"}));
  ASSERT_EQ(report.failed().size(), 3U);
  for (const cofferdam::failed_file& file : report.failed()) EXPECT_EQ(code_of(file), exec_errc::not_a_file);
}

TYPED_TEST(Upload, empty_directories_arrive) {
  this->host_.make_folder("dir/empty/deeper");
  this->host_.make_folder("alone");
  this->upload(files(this->on_host("dir"), this->on_host("alone"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"alone/", "dir/", "dir/empty/", "dir/empty/deeper/"}));
}

TYPED_TEST(Upload, executables_stay_executable) {
  this->host_.write("run.sh", "#!/bin/sh\n", 0755);
  this->host_.write("plain", "x", 0644);
  this->upload(files(this->on_host("run.sh"), this->on_host("plain"))).throw_if_failed();
  EXPECT_EQ(this->work_.mode("run.sh"), 0755U);
  EXPECT_EQ(this->work_.mode("plain"), 0644U);
}

TYPED_TEST(Upload, special_bits_do_not_travel) {
  this->host_.write("suid", "x", 06755);
  this->upload(files(this->on_host("suid"))).throw_if_failed();
  EXPECT_EQ(this->work_.mode("suid"), 0755U);
}

TYPED_TEST(Upload, existing_files_are_replaced) {
  this->host_.write("a", "new");
  this->work_.write("a", "old content");
  this->upload(files(this->on_host("a"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"a=new"}));
}

TYPED_TEST(Upload, a_directory_in_the_way_fails_and_the_rest_arrives) {
  this->host_.write("a", "new");
  this->host_.write("b", "new");
  this->work_.make_folder("a");
  const transfer_result report = this->upload(files(this->on_host("a"), this->on_host("b")));
  EXPECT_EQ(only_failure(report), exec_errc::not_a_file);
  EXPECT_EQ(tree(this->work_), (names{"a/", "b=new"}));
}

TYPED_TEST(Upload, a_link_in_the_workspace_leads_no_file_out) {
  this->host_.write("a", "new");
  this->work_.make_link("dir", this->outside_.path().string());
  this->work_.make_link("a", (this->outside_ / "canary").string());
  const transfer_result report = this->upload(files(this->on_host("a")).into("dir"));
  EXPECT_EQ(only_failure(report), exec_errc::outside_workspace);
  EXPECT_TRUE(this->upload(files(this->on_host("a"))).ok());
  EXPECT_EQ(this->work_.read("a"), "new");
}

TYPED_TEST(Upload, two_files_for_one_name_collide_before_anything_is_written) {
  this->host_.write("x/a", "1");
  this->host_.write("y/a", "2");
  this->host_.write("first", "0");
  EXPECT_EQ(thrown_by([&] {
              this->upload(files(this->on_host("first"), this->on_host("x/a"), this->on_host("y/a"))).throw_if_failed();
            }),
            exec_errc::collision);
  EXPECT_EQ(tree(this->work_), names{});
}

TYPED_TEST(Upload, equal_names_below_different_prefixes_collide) {
  this->host_.write("x/a", "1");
  this->host_.write("a", "2");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(this->host_.path());
  EXPECT_EQ(thrown_by([&] { this->upload(files("a", "x/*")).throw_if_failed(); }), exec_errc::collision);
  std::filesystem::current_path(before);
}

TYPED_TEST(Upload, a_file_where_another_needs_a_folder_collides) {
  this->host_.write("x/a", "1");
  this->host_.write("y/a/b", "2");
  EXPECT_EQ(thrown_by([&] { this->upload(files(this->on_host("x/a"), this->on_host("y/a"))).throw_if_failed(); }),
            exec_errc::collision);
  EXPECT_EQ(tree(this->work_), names{});
}

TYPED_TEST(Upload, what_is_named_twice_is_moved_once) {
  this->host_.write("d/a", "1");
  const transfer_result report =
      this->upload(files(this->on_host("d/a"), this->on_host("d/a"), this->on_host("d/./a"), this->on_host("d/*"),
                         this->on_host("nothing"), this->on_host("nothing")));
  EXPECT_EQ(report.files().size(), 1U);
  EXPECT_EQ(report.failed().size(), 1U);
}

TYPED_TEST(Upload, directories_merge) {
  this->host_.write("x/dir/a", "1");
  this->host_.write("y/dir/b", "2");
  this->upload(files(this->on_host("x/dir"), this->on_host("y/dir"))).throw_if_failed();
  EXPECT_EQ(tree(this->work_), (names{"dir/", "dir/a=1", "dir/b=2"}));
}

TYPED_TEST(Upload, odd_names_arrive_byte_for_byte) {
  names expected{"odd/"};
  for (const char* name : {"-rf", "a\nb", "'\"", "$(id)", "\xff\xfe", "*", " ", "trailing.", "CON", "~", "\\"}) {
    this->host_.write(std::string("odd/") + name, name);
    expected.push_back(std::string("odd/") + name + "=" + name);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(this->upload(files(this->on_host("odd"))).ok());
  EXPECT_EQ(tree(this->work_), expected);
}

// Feature: E9
TYPED_TEST(Upload, a_set_larger_than_allowed_throws_before_anything_is_written) {
  this->host_.write("a", "12345");
  this->host_.write("b", "12345");
  EXPECT_EQ(thrown_by([&] { this->upload(files(this->on_host("*")).at_most(9)).throw_if_failed(); }),
            exec_errc::too_large);
  EXPECT_EQ(thrown_by([&] { this->upload(files(this->on_host("*")).at_most_files(1)).throw_if_failed(); }),
            exec_errc::too_large);
  EXPECT_EQ(tree(this->work_), names{});
  EXPECT_TRUE(this->upload(files(this->on_host("*")).at_most(10).at_most_files(2)).ok());
}

TYPED_TEST(Upload, a_sparse_terabyte_is_refused_at_once) {
  this->host_.write("a", "");
  ASSERT_EQ(::truncate(this->on_host("a").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(thrown_by([&] { this->upload(files(this->on_host("a"))).throw_if_failed(); }), exec_errc::too_large);
}

TYPED_TEST(Upload, a_file_of_several_pieces_arrives_whole) {
  std::string content;
  for (int i = 0; i < 3000000; ++i) content += static_cast<char>(i * 7 % 253);
  this->host_.write("big", content);
  this->upload(files(this->on_host("big"))).throw_if_failed();
  EXPECT_EQ(this->work_.read("big"), content);
}

TYPED_TEST(Upload, an_unreadable_file_fails_and_the_rest_arrives) {
  this->host_.write("dir/a", "1");
  this->host_.write("dir/b", "2");
  // The file exists when the transfer is planned, and is removed before the content is read.
  const std::string target = this->on_host("dir/a");
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    auto environment = co_await TypeParam::provider(this->work_.path()).open();
    cofferdam::file_set set = files(this->on_host("dir"));
    cofferdam::detail::host_planner planner(set);
    co_await planner.plan();
    std::filesystem::remove(target);
    cofferdam::detail::host_source source(planner.result());
    transfer_result report = co_await cofferdam::put_files(environment, source);
    EXPECT_EQ(only_failure(report), exec_errc::not_found);
    EXPECT_EQ(report.files().size(), 1U);
    co_await environment.close();
  });
  EXPECT_EQ(tree(this->work_), (names{"dir/", "dir/b=2"}));
}

TYPED_TEST(Upload, a_file_swapped_for_a_link_after_the_plan_is_not_followed) {
  this->host_.write("dir/a", "1");
  this->host_.write("dir/sub/b", "2");
  this->host_.write("dir/near", "3");
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    auto environment = co_await TypeParam::provider(this->work_.path()).open();
    cofferdam::file_set set = files(this->on_host("dir"));
    cofferdam::detail::host_planner planner(set);
    co_await planner.plan();
    std::filesystem::remove_all(this->on_host("dir/a"));
    std::filesystem::remove_all(this->on_host("dir/sub"));
    std::filesystem::remove_all(this->on_host("dir/near"));
    this->host_.write("dir/other", "not asked for");
    this->host_.make_link("dir/near", "other");
    this->host_.make_link("dir/a", (this->outside_ / "secret/key").string());
    this->outside_.write("secret/b", "secret");
    this->host_.make_link("dir/sub", (this->outside_ / "secret").string());
    cofferdam::detail::host_source source(planner.result());
    transfer_result report = co_await cofferdam::put_files(environment, source);
    EXPECT_EQ(report.failed().size(), 3U);
    EXPECT_TRUE(report.files().empty());
    co_await environment.close();
  });
  EXPECT_EQ(tree(this->work_), names{});
}

TYPED_TEST(Upload, a_file_that_grows_past_the_limit_fails) {
  this->host_.write("a", "1");
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    auto environment = co_await TypeParam::provider(this->work_.path()).open();
    cofferdam::file_set set = files(this->on_host("a")).at_most(10);
    cofferdam::detail::host_planner planner(set);
    co_await planner.plan();
    this->host_.write("a", std::string(100, 'x'));
    cofferdam::detail::host_source source(planner.result());
    transfer_result report = co_await cofferdam::put_files(environment, source);
    EXPECT_EQ(only_failure(report), exec_errc::too_large);
    co_await environment.close();
  });
  EXPECT_EQ(tree(this->work_), names{});
}

TYPED_TEST(Upload, others_have_their_turn_while_a_big_file_moves) {
  this->host_.write("big", std::string(8 * 1024 * 1024, 'x'));
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    auto environment = co_await TypeParam::provider(this->work_.path()).open();
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    int turns = 0;
    bool done = false;
    const auto tick = [&](auto& self) -> void {
      ++turns;
      if (!done) asio::post(executor, [&self] { self(self); });
    };
    tick(tick);
    transfer_result report = co_await cofferdam::upload(environment, files(this->on_host("big")));
    done = true;
    EXPECT_TRUE(report.ok());
    EXPECT_GE(turns, 32);
    co_await asio::post(asio::use_awaitable);
    co_await environment.close();
  });
}

TYPED_TEST(Upload, cancelled_at_any_step_is_a_typed_error_and_leaves_whole_files) {
  this->host_.write("dir/a", std::string(600000, 'a'));
  this->host_.write("dir/b", std::string(600000, 'b'));
  bool ended = false;
  for (std::size_t steps = 0; !ended && steps < 200; ++steps) {
    std::exception_ptr failure;
    ended = cofferdam_test::cancel_after(
        steps,
        [&]() -> cofferdam::awaitable<transfer_result> {
          return cofferdam::with(in_one_trip::provider(this->work_.path()), [&](auto& environment) {
            return cofferdam::upload(environment, files(this->on_host("dir")));
          });
        },
        failure);
    if (failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const cofferdam::error& reason) {
        EXPECT_EQ(reason.code(), exec_errc::cancelled);
      } catch (const std::system_error& reason) {
        // The cancellation came before or after the upload itself.
        EXPECT_EQ(reason.code(), asio::error::operation_aborted);
      }
    }
    for (const std::string& entry : tree(this->work_))
      EXPECT_TRUE(entry == "dir/" || entry.size() == 600000 + 6) << entry.substr(0, 50);
    std::filesystem::remove_all(this->work_ / "dir");
  }
  EXPECT_TRUE(ended);
}

// A function template instead of a generic lambda inside another one, which clang 16 does not instantiate completely.
template <class Environment>
cofferdam::awaitable<void> there_and_back(Environment& environment, std::string from, std::string to) {
  transfer_result sent = co_await cofferdam::upload(environment, files(from));
  transfer_result fetched = co_await cofferdam::download(environment, files("**"), to);
  transfer_result copied = co_await cofferdam::copy_files(environment, environment, files("dir").into("again"));
  EXPECT_TRUE(sent.ok() && fetched.ok() && copied.ok());
}

TEST(UploadOnly, the_context_can_be_destroyed_at_any_step) {
  const cofferdam_test::temporary_folder work;
  const cofferdam_test::temporary_folder host;
  const cofferdam_test::temporary_folder out;
  host.write("dir/a", std::string(300000, 'a'));
  host.write("dir/b", "b");
  const auto everything = [&]() -> cofferdam::awaitable<void> {
    return cofferdam::with(in_one_trip::provider(work.path()), [&](auto& environment) {
      return there_and_back(environment, (host / "dir").string(), out.path().string());
    });
  };
  const std::size_t before = cofferdam_test::open_descriptors();
  bool ended = false;
  for (std::size_t steps = 0; !ended && steps < 500; ++steps) ended = cofferdam_test::destroy_after(steps, everything);
  EXPECT_TRUE(ended);
  EXPECT_TRUE(cofferdam_test::eventually([&] {  // the warden of the last environment needs a moment to end
    cofferdam::detail::reaper::instance().sweep();
    return cofferdam_test::open_descriptors() == before;
  }));
}

TEST(UploadOnly, an_environment_that_was_closed_ends_the_whole_transfer) {
  cofferdam_test::temporary_folder work;
  cofferdam_test::temporary_folder host;
  host.write("a", "1");
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    auto environment = co_await cofferdam_test::one_by_one::provider(work.path()).open();
    co_await environment.close();
    std::exception_ptr failure;
    try {
      transfer_result report = co_await cofferdam::upload(environment, files((host / "a").string()));
    } catch (...) {
      failure = std::current_exception();
    }
    EXPECT_EQ(thrown_by([&] { std::rethrow_exception(failure); }), exec_errc::environment_closed);
  });
}

}  // namespace
