// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/files/detail/file_sinks.hpp>
#include <cofferdam/files/download.hpp>

#include "support/files_by_members.hpp"
#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

// A named namespace, because g++ 12 warns when a coroutine template of a header is instantiated with a type from an
// anonymous namespace.
namespace cofferdam_test::download_test {

using cofferdam::transfer_result;

/// An environment that returns invented listings and contents, as a compromised sandbox could.
class lying_environment {
 public:
  std::vector<cofferdam::directory_entry> listing;
  std::string content = "x";
  unsigned stat_mode = 0755;

  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command) {
    co_return cofferdam::command_result();
  }
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string, std::size_t) { co_return cofferdam::to_bytes(content); }
  cofferdam::awaitable<void> write_file(std::string, cofferdam::bytes_view) { co_return; }
  cofferdam::file_system files() { return cofferdam_test::files_by_members(*this); }
  cofferdam::awaitable<cofferdam::directory_entry> stat(std::string path) {
    co_return cofferdam::directory_entry(path, cofferdam::file_type::directory, 0, stat_mode);
  }
  cofferdam::awaitable<std::vector<cofferdam::directory_entry>> list(std::string, cofferdam::list_options) {
    co_return listing;
  }
  cofferdam::awaitable<void> close() { co_return; }
};

/// An environment that returns other files than the requested ones when many files are fetched at once.
class muddled_environment : public lying_environment {
 public:
  class source : public cofferdam::file_source {
   public:
    explicit source(std::vector<cofferdam::file_header> headers) : headers_(std::move(headers)) {}
    cofferdam::awaitable<std::optional<cofferdam::file_header>> next() override {
      if (at_ == headers_.size()) co_return std::nullopt;
      sent_ = false;
      co_return headers_[at_++];
    }
    cofferdam::awaitable<cofferdam::bytes> read(std::size_t) override {
      if (sent_) co_return cofferdam::bytes();
      sent_ = true;
      co_return cofferdam::to_bytes("x");
    }

   private:
    std::vector<cofferdam::file_header> headers_;
    std::size_t at_ = 0;
    bool sent_ = false;
  };

  std::vector<cofferdam::file_header> headers;

  cofferdam::file_system files() { return cofferdam_test::files_by_members(*this); }
  cofferdam::awaitable<transfer_result> put_files(cofferdam::file_source&) { co_return transfer_result(); }
  cofferdam::awaitable<std::unique_ptr<cofferdam::file_source>> get_files(std::vector<cofferdam::file_request>) {
    co_return std::make_unique<source>(headers);
  }
};
static_assert(cofferdam::file_environment<muddled_environment>);

}  // namespace cofferdam_test::download_test

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
using cofferdam_test::download_test::lying_environment;
using cofferdam_test::download_test::muddled_environment;

template <class Kind>
class Download : public cofferdam_test::two_sides<Kind> {};
TYPED_TEST_SUITE(Download, BothKinds);

// Feature: F3
TYPED_TEST(Download, files_keep_their_path_in_the_workspace) {
  this->work_.write("report.md", "r");
  this->work_.write("plots/a.png", "a");
  const transfer_result report = this->download(files("report.md", "plots/a.png"));
  EXPECT_EQ(tree(this->out_), (names{"plots/", "plots/a.png=a", "report.md=r"}));
  ASSERT_EQ(report.files().size(), 2U);
  EXPECT_EQ(report.files()[1].source(), "plots/a.png");
  EXPECT_EQ(report.files()[1].destination(), (this->out_ / "plots/a.png").string());
  EXPECT_EQ(report.files()[1].size(), 1U);
}

TYPED_TEST(Download, directories_and_patterns_keep_theirs_too) {
  this->work_.write("d/e/1", "1");
  this->work_.write("p/x/2.png", "2");
  this->work_.write("p/3.png", "3");
  this->work_.write("p/4.txt", "4");
  this->download(files("d/e", "p/**/*.png")).throw_if_failed();
  EXPECT_EQ(tree(this->out_), (names{"d/", "d/e/", "d/e/1=1", "p/", "p/3.png=3", "p/x/", "p/x/2.png=2"}));
}

TYPED_TEST(Download, into_is_put_before_it) {
  this->work_.write("d/a", "1");
  this->download(files("d").into("run/1")).throw_if_failed();
  EXPECT_EQ(tree(this->out_), (names{"run/", "run/1/", "run/1/d/", "run/1/d/a=1"}));
}

TYPED_TEST(Download, the_whole_workspace_is_a_dot) {
  this->work_.write("d/a", "1");
  this->work_.write("b", "2");
  this->work_.make_folder("empty");
  const transfer_result report = this->download(files("."));
  EXPECT_EQ(tree(this->out_), (names{"b=2", "d/", "d/a=1", "empty/"}));
  EXPECT_TRUE(report.ok());
}

TYPED_TEST(Download, the_destination_is_made) {
  this->work_.write("a", "1");
  this->download_to(files("a"), this->out_ / "new/deep").throw_if_failed();
  EXPECT_EQ(tree(this->out_), (names{"new/", "new/deep/", "new/deep/a=1"}));
}

TYPED_TEST(Download, a_destination_that_is_a_file_throws) {
  this->work_.write("a", "1");
  this->out_.write("file", "x");
  EXPECT_EQ(thrown_by([&] { this->download_to(files("a"), this->out_ / "file").throw_if_failed(); }),
            exec_errc::not_a_directory);
  EXPECT_EQ(thrown_by([&] { this->download_to(files("a"), this->out_ / "file/below").throw_if_failed(); }),
            exec_errc::not_a_directory);
}

TYPED_TEST(Download, what_is_missing_fails_and_the_rest_arrives) {
  this->work_.write("a", "1");
  const transfer_result report = this->download(files("nothing", "a", "no*", "no/*", "../a", "/etc/hostname", ""));
  EXPECT_EQ(tree(this->out_), (names{"a=1"}));
  ASSERT_EQ(report.failed().size(), 6U);
  EXPECT_EQ(code_of(report.failed()[0]), exec_errc::not_found);
  EXPECT_EQ(code_of(report.failed()[1]), exec_errc::not_found);
  EXPECT_EQ(code_of(report.failed()[2]), exec_errc::not_found);
  EXPECT_EQ(code_of(report.failed()[3]), exec_errc::outside_workspace);
  EXPECT_EQ(code_of(report.failed()[4]), exec_errc::outside_workspace);
  EXPECT_EQ(code_of(report.failed()[5]), exec_errc::invalid_argument);
}

TYPED_TEST(Download, a_file_whose_name_looks_like_a_pattern_can_be_named) {
  this->work_.write("data[1].csv", "right");
  this->work_.write("data1.csv", "wrong");
  this->download(files("data[1].csv")).throw_if_failed();
  EXPECT_EQ(tree(this->out_), (names{"data[1].csv=right"}));
  this->download(file_set().matching("data[1].csv")).throw_if_failed();
  EXPECT_EQ(tree(this->out_), (names{"data1.csv=wrong", "data[1].csv=right"}));
}

// Feature: F8
TYPED_TEST(Download, permission_bits_are_kept_and_special_ones_dropped) {
  this->work_.write("a", "1", 0755);
  this->work_.write("b", "2", 06750);
  this->work_.write("c", "3", 0644);
  this->download(files("*")).throw_if_failed();
  EXPECT_EQ(this->out_.mode("a"), 0755U);
  EXPECT_EQ(this->out_.mode("b"), 0750U);
  EXPECT_EQ(this->out_.mode("c"), 0644U);
}

// Feature: F5
TYPED_TEST(Download, links_in_a_tree_are_reported_and_nothing_outside_is_read) {
  this->work_.write("d/a", "1");
  this->work_.make_link("d/inner", "a");
  this->work_.make_link("d/out", (this->outside_ / "secret/key").string());
  this->work_.make_link("d/outdir", (this->outside_ / "secret").string());
  const transfer_result report = this->download(files("d"));
  EXPECT_EQ(tree(this->out_), (names{"d/", "d/a=1"}));
  ASSERT_EQ(report.failed().size(), 3U);
  for (const cofferdam::failed_file& file : report.failed()) EXPECT_EQ(code_of(file), exec_errc::not_a_file);
}

TYPED_TEST(Download, links_are_followed_when_asked_but_never_out) {
  this->work_.write("d/a", "1");
  this->work_.make_link("d/inner", "a");
  this->work_.make_link("d/out", (this->outside_ / "secret/key").string());
  const transfer_result report = this->download(files("d").follow_symlinks());
  EXPECT_EQ(tree(this->out_), (names{"d/", "d/a=1", "d/inner=1"}));
  EXPECT_EQ(only_failure(report), exec_errc::outside_workspace);
}

TYPED_TEST(Download, a_link_that_is_named_is_followed_but_never_out) {
  this->work_.write("real", "1");
  this->work_.make_link("link", "real");
  this->work_.make_link("out", (this->outside_ / "secret/key").string());
  const transfer_result report = this->download(files("link", "out"));
  EXPECT_EQ(tree(this->out_), (names{"link=1"}));
  EXPECT_EQ(only_failure(report), exec_errc::outside_workspace);
}

TYPED_TEST(Download, fifos_are_reported_without_blocking) {
  this->work_.write("d/a", "1");
  this->work_.make_fifo("d/fifo");
  const auto start = std::chrono::steady_clock::now();
  const transfer_result report = this->download(files("d", "d/fifo"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(tree(this->out_), (names{"d/", "d/a=1"}));
  EXPECT_EQ(only_failure(report), exec_errc::not_a_file);
}

TYPED_TEST(Download, existing_files_are_replaced_and_links_not_written_through) {
  this->work_.write("a", "new");
  this->work_.write("b", "new");
  this->out_.write("a", "old");
  this->out_.make_link("b", (this->outside_ / "canary").string());
  EXPECT_TRUE(this->download(files("a", "b")).ok());
  EXPECT_EQ(tree(this->out_), (names{"a=new", "b=new"}));
}

// Feature: F5
TYPED_TEST(Download, a_link_beneath_the_destination_leads_nothing_out) {
  this->work_.write("d/a", "new");
  this->out_.make_link("d", this->outside_.path().string());
  EXPECT_EQ(only_failure(this->download(files("d/a"))), exec_errc::outside_workspace);
}

TYPED_TEST(Download, a_set_larger_than_allowed_throws_before_anything_is_written) {
  this->work_.write("a", "12345");
  this->work_.write("b", "12345");
  EXPECT_EQ(thrown_by([&] { this->download_to(files("*").at_most(9), this->out_ / "new").throw_if_failed(); }),
            exec_errc::too_large);
  EXPECT_EQ(thrown_by([&] { this->download_to(files("*").at_most_files(1), this->out_ / "new").throw_if_failed(); }),
            exec_errc::too_large);
  EXPECT_EQ(tree(this->out_), names{});
  EXPECT_TRUE(this->download(files("*").at_most(10).at_most_files(2)).ok());
}

TYPED_TEST(Download, a_sparse_terabyte_is_refused_at_once) {
  this->work_.write("a", "");
  ASSERT_EQ(::truncate((this->work_ / "a").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(thrown_by([&] { this->download(files("a")).throw_if_failed(); }), exec_errc::too_large);
}

TYPED_TEST(Download, a_file_of_several_pieces_arrives_whole) {
  std::string content;
  for (int i = 0; i < 3000000; ++i) content += static_cast<char>(i * 7 % 253);
  this->work_.write("big", content);
  this->download(files("big")).throw_if_failed();
  EXPECT_EQ(this->out_.read("big"), content);
}

// Feature: F9
TYPED_TEST(Download, odd_names_arrive_byte_for_byte) {
  names expected;
  for (const char* name : {"-rf", "a\nb", "'\"", "$(id)", "\xff\xfe", "*", " ", "trailing.", "CON", "~", "\\",
                           "nfc\xc3\xa9", "nfce\xcc\x81"}) {
    this->work_.write(name, name);
    expected.push_back(std::string(name) + "=" + name);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(this->download(files(".")).ok());
  EXPECT_EQ(tree(this->out_), expected);
}

bool yes(const std::filesystem::path&) { return true; }
bool no(const std::filesystem::path&) { return false; }

// Feature: F4
TYPED_TEST(Download, case_twins_collide_only_where_the_destination_ignores_case) {
  this->work_.write("a.txt", "1");
  this->work_.write("A.txt", "2");
  for (const auto answer : {yes, no}) {
    const auto doing = [&] {
      cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
        auto environment = co_await TypeParam::provider(this->work_.path()).open();
        std::exception_ptr failure;
        try {
          transfer_result report =
              co_await cofferdam::detail::download_files(environment, files("*"), this->out_ / "new", answer);
          EXPECT_TRUE(report.ok());
        } catch (...) {
          failure = std::current_exception();
        }
        co_await environment.close();
        if (failure) std::rethrow_exception(failure);
      });
    };
    if (answer == yes) {
      EXPECT_EQ(thrown_by(doing), exec_errc::collision);
      EXPECT_FALSE(this->out_.has("new"));
    } else {
      doing();
      EXPECT_EQ(tree(this->out_), (names{"new/", "new/A.txt=2", "new/a.txt=1"}));
    }
  }
}

TEST(DownloadOnly, the_probe_for_case_leaves_nothing) {
  const cofferdam_test::temporary_folder folder;
  EXPECT_FALSE(cofferdam::detail::ignores_case(folder.path()));
  EXPECT_EQ(tree(folder), names{});
  EXPECT_EQ(cofferdam::detail::existing_above(folder / "a/b/c"), folder.path());
}

TEST(DownloadOnly, a_listing_cannot_name_what_is_outside) {
  for (const char* name : {"../x", "/etc/x", "a/../../x", "..", ".", "", "a/.."}) {
    const cofferdam_test::temporary_folder folder;
    lying_environment guest;
    guest.listing.emplace_back(name, cofferdam::file_type::regular, 1, 0644);
    const transfer_result report =
        cofferdam_test::run([&] { return cofferdam::download(guest, files("d"), folder / "out"); });
    EXPECT_TRUE(report.files().empty()) << name;
    EXPECT_EQ(only_failure(report), exec_errc::io_error) << name;
    EXPECT_TRUE(tree(folder) == names{} || tree(folder) == names{"out/"}) << name;
  }
}

TEST(DownloadOnly, a_guest_that_sends_more_than_it_said_meets_the_limit) {
  const cofferdam_test::temporary_folder folder;
  lying_environment guest;
  guest.listing.emplace_back("a", cofferdam::file_type::regular, 1, 0644);
  guest.content = std::string(1000, 'x');
  const transfer_result report =
      cofferdam_test::run([&] { return cofferdam::download(guest, files("d").at_most(10), folder / "out"); });
  EXPECT_EQ(only_failure(report), exec_errc::too_large);
  EXPECT_EQ(tree(folder), (names{"out/", "out/d/"}));
}

TEST(DownloadOnly, modes_of_a_guest_are_masked) {
  const cofferdam_test::temporary_folder folder;
  lying_environment guest;
  guest.stat_mode = 07777;
  guest.listing.emplace_back("a", cofferdam::file_type::regular, 1, 07777);
  guest.listing.emplace_back("b", cofferdam::file_type::directory, 0, 07000);
  cofferdam_test::run([&] { return cofferdam::download(guest, files("d"), folder / "out"); }).throw_if_failed();
  EXPECT_EQ(folder.mode("out/d/a"), 0777U);
  EXPECT_EQ(folder.mode("out/d/b"), 0700U);
}

TEST(DownloadOnly, an_answer_that_was_not_asked_for_is_not_written) {
  using cofferdam::file_header;
  using cofferdam::file_type;
  const std::vector<file_header> lies{file_header("d/a", "../../x", file_type::regular, 1, 0644),
                                      file_header("d/a", "d/b", file_type::regular, 1, 0644),
                                      file_header("d/a", "d/a", file_type::directory, 0, 0755),
                                      file_header("d/a", "d/a", file_type::symlink, 0, 0755)};
  for (const file_header& lie : lies) {
    const cofferdam_test::temporary_folder folder;
    muddled_environment guest;
    guest.listing.emplace_back("a", file_type::regular, 1, 0644);
    guest.headers.push_back(lie);
    const transfer_result report =
        cofferdam_test::run([&] { return cofferdam::download(guest, files("d"), folder / "out"); });
    EXPECT_EQ(only_failure(report), exec_errc::io_error);
    EXPECT_TRUE(report.files().empty());
    EXPECT_EQ(tree(folder), (names{"out/"}));
  }
}

TEST(DownloadOnly, an_answer_that_ends_too_early_is_a_failure_of_each_missing_file) {
  const cofferdam_test::temporary_folder folder;
  muddled_environment guest;
  guest.listing.emplace_back("a", cofferdam::file_type::regular, 1, 0644);
  guest.listing.emplace_back("b", cofferdam::file_type::regular, 1, 0644);
  guest.headers.emplace_back("d/a", "d/a", cofferdam::file_type::regular, 1, 0644);
  const transfer_result report =
      cofferdam_test::run([&] { return cofferdam::download(guest, files("d"), folder / "out"); });
  EXPECT_EQ(report.files().size(), 1U);
  EXPECT_EQ(only_failure(report), exec_errc::io_error);
}

}  // namespace
