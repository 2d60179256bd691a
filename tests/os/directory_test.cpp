// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/os/directory.hpp>

#include "support/error_of.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::directory;
using cofferdam::directory_entry;
using cofferdam::exec_errc;
using cofferdam::file_type;
using cofferdam::path_resolution;
using cofferdam_test::sentence_of;
using cofferdam_test::temporary_folder;

template <class F>
exec_errc failure_of(F&& doing) {
  try {
    doing();
  } catch (const cofferdam::error& failure) {
    EXPECT_FALSE(std::string_view(failure.what()).empty());
    return static_cast<exec_errc>(failure.code().value());
  }
  ADD_FAILURE() << "nothing was thrown";
  return exec_errc{};
}

/// Runs `body` in a child without root's privileges. Returns true if `body` returned true there.
template <class F>
bool unprivileged(F&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      const bool dropped = ::getuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0);
      good = dropped && body();
    } catch (...) {
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Each test runs twice: once with the kernel resolving paths (openat2), and once with the library opening the
/// components of a path one by one.
class Directory : public ::testing::TestWithParam<path_resolution> {
 protected:
  Directory() {
    folder_.make_folder("in");
    in_ = directory::open(folder_ / "in", GetParam());
    folder_.write("canary", "untouched");
    folder_.make_folder("outside");
    folder_.write("outside/file", "secret");
  }
  ~Directory() override {
    EXPECT_EQ(folder_.read("canary"), "untouched");
    EXPECT_EQ(folder_.read("outside/file"), "secret");
  }

  std::string read(std::string_view path) { return std::string(as_text(in_.read_file(path, 1 << 20))); }
  void write(std::string_view path, std::string_view text) { in_.write_file(path, as_bytes(text)); }
  std::string at(std::string_view name) { return "in/" + std::string(name); }

  temporary_folder folder_;
  directory in_;
};

INSTANTIATE_TEST_SUITE_P(Resolution, Directory, ::testing::Values(path_resolution::kernel, path_resolution::component),
                         [](const auto& chosen) {
                           return chosen.param == path_resolution::kernel ? "kernel" : "component";
                         });

TEST_P(Directory, uses_the_resolution_it_was_asked_for) {
  EXPECT_EQ(in_.resolution(), GetParam());
  EXPECT_EQ(in_.subdirectory(".").resolution(), GetParam());
}

TEST_P(Directory, open_reports_what_is_not_there_and_what_is_no_directory) {
  EXPECT_EQ(failure_of([&] { directory::open(folder_ / "nowhere", GetParam()); }), exec_errc::not_found);
  EXPECT_EQ(failure_of([&] { directory::open(folder_ / "canary", GetParam()); }), exec_errc::not_a_directory);
}

TEST_P(Directory, descriptors_are_above_the_standard_ones_and_close_on_exec) {
  EXPECT_GT(in_.fd(), 2);
  EXPECT_NE(::fcntl(in_.fd(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_GT(in_.open_directory_fd(".").get(), 2);
}

TEST_P(Directory, goes_on_meaning_the_same_directory_when_it_is_renamed) {
  folder_.write("in/a", "1");
  std::filesystem::rename(folder_ / "in", folder_ / "moved");
  EXPECT_EQ(read("a"), "1");
}

// ---- reading

TEST_P(Directory, reads_what_a_file_holds) {
  folder_.write("in/d/e/f", "text");
  EXPECT_EQ(read("d/e/f"), "text");
  EXPECT_EQ(read("./d//e/f"), "text");
}

TEST_P(Directory, reads_an_empty_file) {
  folder_.write("in/empty", "");
  EXPECT_EQ(read("empty"), "");
}

TEST_P(Directory, reads_in_pieces_to_the_end) {
  std::string content;
  for (int i = 0; i < 300000; ++i) content += static_cast<char>(i * 31 % 251);
  folder_.write("in/big", content);
  cofferdam::file_reader reader = in_.open_file("big");
  EXPECT_EQ(reader.size(), content.size());
  std::string got;
  for (cofferdam::bytes piece = reader.read(70001); !piece.empty(); piece = reader.read(70001)) {
    EXPECT_LE(piece.size(), 70001U);
    got += as_text(piece);
  }
  EXPECT_EQ(got, content);
  EXPECT_TRUE(reader.read(1).empty());
}

TEST_P(Directory, a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_too_large) {
  folder_.write("in/a", std::string(1000, 'x'));
  EXPECT_EQ(in_.read_file("a", 1000).size(), 1000U);
  EXPECT_EQ(failure_of([&] { in_.read_file("a", 999); }), exec_errc::too_large);
  EXPECT_EQ(in_.read_file("a", SIZE_MAX).size(), 1000U);
  EXPECT_EQ(failure_of([&] { in_.read_file("a", 0); }), exec_errc::too_large);
}

TEST_P(Directory, too_large_is_said_before_anything_is_read) {
  folder_.write("in/a", std::string(1000, 'x'));
  cofferdam::file_reader reader = in_.open_file("a");
  EXPECT_EQ(failure_of([&] { reader.read_rest(999); }), exec_errc::too_large);
  EXPECT_EQ(reader.read_rest(1000).size(), 1000U);
}

TEST_P(Directory, a_file_that_grows_past_the_limit_while_it_is_read_is_too_large) {
  folder_.write("in/a", "12345");
  cofferdam::file_reader reader = in_.open_file("a");
  folder_.write("in/a", std::string(100, 'x'));
  EXPECT_EQ(failure_of([&] { reader.read_rest(50); }), exec_errc::too_large);
}

TEST_P(Directory, a_file_that_grew_is_read_to_its_new_end) {
  folder_.write("in/a", "12345");
  cofferdam::file_reader reader = in_.open_file("a");
  folder_.write("in/a", std::string(100000, 'x'));
  EXPECT_EQ(reader.read_rest(200000).size(), 100000U);
}

TEST_P(Directory, a_sparse_terabyte_is_too_large_at_once) {
  folder_.write("in/a", "");
  ASSERT_EQ(::truncate((folder_ / "in/a").c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(failure_of([&] { in_.read_file("a", 1 << 20); }), exec_errc::too_large);
}

TEST_P(Directory, what_cannot_be_read_says_why) {
  folder_.write("in/file", "x");
  folder_.make_folder("in/dir");
  folder_.make_fifo("in/fifo");
  EXPECT_EQ(failure_of([&] { read("nothing"); }), exec_errc::not_found);
  EXPECT_EQ(failure_of([&] { read("nothing/below"); }), exec_errc::not_found);
  EXPECT_EQ(failure_of([&] { read("dir"); }), exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { read("."); }), exec_errc::invalid_argument);
  EXPECT_EQ(failure_of([&] { read("file/below"); }), exec_errc::not_a_directory);
  EXPECT_EQ(failure_of([&] { read("../canary"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { read((folder_ / "canary").string()); }), exec_errc::outside_workspace);
}

TEST_P(Directory, a_fifo_is_refused_without_waking_its_writer) {
  folder_.make_fifo("in/fifo");
  std::atomic<bool> woken = false;
  std::thread writer([&] {
    // Blocks until the other side opens the FIFO for reading.
    const int fd = ::open((folder_ / "in/fifo").c_str(), O_WRONLY | O_CLOEXEC);
    woken = true;
    ::close(fd);
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(failure_of([&] { read("fifo"); }), exec_errc::not_a_file);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(woken);
  const int fd = ::open((folder_ / "in/fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  writer.join();
  ::close(fd);
}

TEST_P(Directory, a_socket_is_refused) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (folder_ / "in/socket").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::copy(name.begin(), name.end(), address.sun_path);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  EXPECT_EQ(failure_of([&] { read("socket"); }), exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { write("socket", "x"); }), exec_errc::not_a_file);
}

TEST_P(Directory, links_that_stay_beneath_are_followed) {
  folder_.write("in/real/file", "text");
  folder_.make_link("in/to-file", "real/file");
  folder_.make_link("in/to-dir", "real");
  folder_.make_link("in/real/up", "../real/file");
  folder_.make_link("in/chain", "to-dir/up");
  EXPECT_EQ(read("to-file"), "text");
  EXPECT_EQ(read("to-dir/file"), "text");
  EXPECT_EQ(read("real/up"), "text");
  EXPECT_EQ(read("to-dir/up"), "text");
  EXPECT_EQ(read("chain"), "text");
}

TEST_P(Directory, links_that_lead_out_are_refused) {
  folder_.make_link("in/absolute", (folder_ / "canary").string());
  folder_.make_link("in/up", "../canary");
  folder_.make_link("in/dir", "../outside");
  folder_.make_folder("in/a/b");
  folder_.make_link("in/a/b/far", "../../../canary");
  folder_.make_link("in/out-and-in", "../in/a");
  for (const char* path : {"absolute", "up", "dir/file", "a/b/far", "out-and-in/x"})
    EXPECT_EQ(failure_of([&] { read(path); }), exec_errc::outside_workspace) << path;
}

TEST_P(Directory, an_absolute_link_is_refused_even_where_it_leads_back_in) {
  folder_.write("in/a", "x");
  folder_.make_link("in/l", (folder_ / "in/a").string());
  EXPECT_EQ(failure_of([&] { read("l"); }), exec_errc::outside_workspace);
}

TEST_P(Directory, links_in_circles_are_refused) {
  folder_.make_link("in/self", "self");
  folder_.make_link("in/ping", "pong");
  folder_.make_link("in/pong", "ping/x");
  EXPECT_EQ(failure_of([&] { read("self"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { read("ping"); }), exec_errc::outside_workspace);
}

TEST_P(Directory, forty_links_are_followed_and_forty_one_are_not) {
  folder_.write("in/l0", "end");
  for (int i = 1; i <= 41; ++i) folder_.make_link("in/l" + std::to_string(i), "l" + std::to_string(i - 1));
  EXPECT_EQ(read("l40"), "end");
  EXPECT_EQ(failure_of([&] { read("l41"); }), exec_errc::outside_workspace);
}

TEST_P(Directory, links_full_of_dot_dot_cost_a_bounded_time) {
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "d/";
  folder_.make_folder(at(deep));
  std::string up_and_down;
  for (int i = 0; i < 500; ++i) up_and_down += "../d/";
  folder_.make_link(at(deep + "l0"), up_and_down + "l1");
  for (int i = 1; i < 39; ++i)
    folder_.make_link(at(deep + "l" + std::to_string(i)), up_and_down + "l" + std::to_string(i + 1));
  folder_.write(at(deep + "l39"), "end");
  const auto start = std::chrono::steady_clock::now();
  try {
    read(deep + "l0");
  } catch (const cofferdam::error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::outside_workspace);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_P(Directory, links_can_be_refused_wherever_they_stand) {
  folder_.write("in/real/file", "text");
  folder_.make_link("in/to-file", "real/file");
  folder_.make_link("in/to-dir", "real");
  const auto refused = [&](const char* path) {
    return failure_of([&] { in_.open_file(path, cofferdam::link_policy::refuse); });
  };
  EXPECT_EQ(refused("to-file"), exec_errc::not_a_file);
  EXPECT_EQ(refused("to-dir/file"), exec_errc::not_a_file);
  EXPECT_EQ(in_.open_file("real/file", cofferdam::link_policy::refuse).size(), 4U);
}

TEST_P(Directory, a_host_file_is_opened_by_any_path_and_only_a_regular_one) {
  folder_.make_link("in/l", "../canary");
  folder_.make_fifo("in/fifo");
  EXPECT_EQ(cofferdam::file_reader::open_host((folder_ / "in/l").string()).size(), 9U);
  EXPECT_EQ(failure_of([&] { cofferdam::file_reader::open_host((folder_ / "in/fifo").string()); }),
            exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { cofferdam::file_reader::open_host((folder_ / "in").string()); }), exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { cofferdam::file_reader::open_host("/dev/zero"); }), exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { cofferdam::file_reader::open_host((folder_ / "no").string()); }), exec_errc::not_found);
}

TEST_P(Directory, magic_links_are_refused) {
  const directory proc = directory::open("/proc/self", GetParam());
  EXPECT_EQ(failure_of([&] { proc.open_file("root/etc/passwd"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { proc.open_file("cwd/anything"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { proc.open_file("exe"); }), exec_errc::outside_workspace);
}

// ---- writing

TEST_P(Directory, writes_a_new_file_with_its_folders) {
  write("a/b/c", "text");
  EXPECT_EQ(folder_.read("in/a/b/c"), "text");
  EXPECT_EQ(folder_.mode("in/a/b/c"), 0644U);
  EXPECT_EQ(folder_.mode("in/a"), 0755U);
}

TEST_P(Directory, the_umask_changes_nothing) {
  const mode_t before = ::umask(0077);
  write("a/b", "text");
  in_.make_directory("c", 0777);
  ::umask(before);
  EXPECT_EQ(folder_.mode("in/a"), 0755U);
  EXPECT_EQ(folder_.mode("in/a/b"), 0644U);
  EXPECT_EQ(folder_.mode("in/c"), 0777U);
}

TEST_P(Directory, a_replaced_file_keeps_its_mode) {
  folder_.write("in/a", "old", 0750);
  write("a", "new");
  EXPECT_EQ(folder_.read("in/a"), "new");
  EXPECT_EQ(folder_.mode("in/a"), 0750U);
}

TEST_P(Directory, a_given_mode_wins_and_loses_its_special_bits) {
  folder_.write("in/a", "old", 0600);
  in_.write_file("a", as_bytes("new"), 07755U);
  EXPECT_EQ(folder_.mode("in/a"), 0755U);
}

TEST_P(Directory, a_replaced_file_loses_its_special_bits) {
  folder_.write("in/a", "old", 06755);
  write("a", "new");
  EXPECT_EQ(folder_.mode("in/a"), 0755U);
}

// Feature: F6
TEST_P(Directory, nothing_is_seen_before_commit_and_nothing_is_left_without) {
  folder_.write("in/old", "old");
  {
    cofferdam::atomic_file file = in_.create_file("old");
    file.write(as_bytes("half"));
    cofferdam::atomic_file other = in_.create_file("new");
    other.write(as_bytes("half"));
    EXPECT_EQ(folder_.read("in/old"), "old");
    EXPECT_FALSE(folder_.has("in/new"));
  }
  EXPECT_EQ(folder_.read("in/old"), "old");
  EXPECT_EQ(in_.list(".").size(), 1U);
}

TEST_P(Directory, commit_leaves_no_other_name) {
  write("a", "1");
  write("a", "2");
  EXPECT_EQ(in_.list(".").size(), 1U);
}

TEST_P(Directory, a_staging_directory_holds_nothing_afterwards) {
  folder_.make_folder("staging");
  const directory staging = directory::open(folder_ / "staging", GetParam());
  for (const char* text : {"first", "second"}) {
    cofferdam::atomic_file file = in_.create_file("d/a", staging);
    file.write(as_bytes(text));
    file.commit();
    EXPECT_EQ(folder_.read("in/d/a"), text);
  }
  EXPECT_TRUE(staging.list(".").empty());
}

TEST_P(Directory, a_file_that_appeared_meanwhile_is_replaced) {
  cofferdam::atomic_file file = in_.create_file("a");
  folder_.write("in/a", "in between");
  file.write(as_bytes("new"));
  file.commit();
  EXPECT_EQ(folder_.read("in/a"), "new");
  EXPECT_EQ(in_.list(".").size(), 1U);
}

TEST_P(Directory, a_directory_that_appeared_meanwhile_is_not_replaced) {
  cofferdam::atomic_file file = in_.create_file("a");
  folder_.make_folder("in/a");
  EXPECT_EQ(failure_of([&] { file.commit(); }), exec_errc::not_a_file);
  EXPECT_EQ(in_.list(".").size(), 1U);
  EXPECT_TRUE(in_.stat("a").is_directory());
}

TEST_P(Directory, a_link_is_replaced_and_not_written_through) {
  folder_.make_link("in/l", "../canary");
  folder_.make_link("in/m", "inner");
  folder_.write("in/inner", "inner");
  write("l", "new");
  write("m", "new");
  EXPECT_EQ(folder_.read("in/l"), "new");
  EXPECT_EQ(folder_.read("in/inner"), "inner");
  EXPECT_EQ(in_.stat("l").type(), file_type::regular);
}

TEST_P(Directory, another_hard_link_keeps_the_old_content) {
  ASSERT_EQ(::link((folder_ / "canary").c_str(), (folder_ / "in/hard").c_str()), 0);
  write("hard", "new");
  EXPECT_EQ(read("hard"), "new");
}

TEST_P(Directory, a_link_to_a_folder_outside_is_not_written_beneath) {
  folder_.make_link("in/dir", "../outside");
  EXPECT_EQ(failure_of([&] { write("dir/file", "x"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { write("dir/new", "x"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { write("dir/new/deep", "x"); }), exec_errc::outside_workspace);
}

TEST_P(Directory, a_dangling_link_is_not_created_through) {
  folder_.make_link("in/dir", "../new-outside");
  folder_.make_link("in/inner", "nothing");
  EXPECT_EQ(failure_of([&] { write("dir/x", "x"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { write("inner/x", "x"); }), exec_errc::not_a_directory);
  EXPECT_FALSE(folder_.has("new-outside"));
  EXPECT_FALSE(folder_.has("in/nothing"));
}

TEST_P(Directory, only_files_are_replaced) {
  folder_.make_folder("in/dir");
  folder_.make_fifo("in/fifo");
  EXPECT_EQ(failure_of([&] { write("dir", "x"); }), exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { write("fifo", "x"); }), exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { write(".", "x"); }), exec_errc::invalid_argument);
  EXPECT_EQ(folder_.mode("in/fifo"), 0644U);
}

TEST_P(Directory, a_file_is_not_a_folder_to_write_in) {
  folder_.write("in/file", "x");
  EXPECT_EQ(failure_of([&] { write("file/a", "x"); }), exec_errc::not_a_directory);
  EXPECT_EQ(failure_of([&] { write("file/a/b", "x"); }), exec_errc::not_a_directory);
}

TEST_P(Directory, a_file_size_limit_is_a_typed_error_and_leaves_the_old_file) {
  folder_.write("in/a", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    exec_errc found{};
    try {
      in_.write_file("a", as_bytes(std::string(5000, 'x')));
    } catch (const cofferdam::error& failure) {
      found = static_cast<exec_errc>(failure.code().value());
    }
    ::_exit(found == exec_errc::too_large ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(folder_.read("in/a"), "old");
}

TEST_P(Directory, moving_an_unfinished_file_moves_the_duty_to_discard_it) {
  cofferdam::atomic_file file = in_.create_file("a");
  file.write(as_bytes("1"));
  cofferdam::atomic_file two = std::move(file);
  two.write(as_bytes("2"));
  cofferdam::atomic_file three;
  three = std::move(two);
  three.commit();
  EXPECT_EQ(folder_.read("in/a"), "12");
}

// ---- stat and list

TEST_P(Directory, stat_tells_the_four_kinds_apart) {
  folder_.write("in/file", "12345", 0640);
  folder_.make_folder("in/dir");
  folder_.make_link("in/link", "../canary");
  folder_.make_fifo("in/fifo");
  EXPECT_EQ(in_.stat("file").type(), file_type::regular);
  EXPECT_EQ(in_.stat("file").size(), 5U);
  EXPECT_EQ(in_.stat("file").mode(), 0640U);
  EXPECT_EQ(in_.stat("./file").path(), "file");
  EXPECT_TRUE(in_.stat("dir").is_directory());
  EXPECT_EQ(in_.stat("dir").size(), 0U);
  EXPECT_EQ(in_.stat("link").type(), file_type::symlink);
  EXPECT_EQ(in_.stat("fifo").type(), file_type::other);
  EXPECT_TRUE(in_.stat(".").is_directory());
  EXPECT_EQ(failure_of([&] { in_.stat("nothing"); }), exec_errc::not_found);
  EXPECT_EQ(failure_of([&] { in_.stat("file/x"); }), exec_errc::not_a_directory);
  EXPECT_EQ(failure_of([&] { in_.stat("link/x"); }), exec_errc::outside_workspace);
}

TEST_P(Directory, link_target_is_what_was_written) {
  folder_.make_link("in/l", "../a b\n");
  folder_.write("in/f", "");
  EXPECT_EQ(in_.link_target("l"), "../a b\n");
  EXPECT_EQ(failure_of([&] { in_.link_target("f"); }), exec_errc::invalid_argument);
}

TEST_P(Directory, list_gives_every_depth_in_byte_order) {
  folder_.write("in/b", "");
  folder_.write("in/a/x/1", "12");
  folder_.write("in/a-b", "");
  folder_.make_folder("in/a/empty");
  folder_.make_link("in/z", "a");
  std::vector<std::string> paths;
  for (const directory_entry& found : in_.list(".")) paths.push_back(found.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"a", "a-b", "a/empty", "a/x", "a/x/1", "b", "z"}));
}

TEST_P(Directory, list_gives_paths_relative_to_the_listed_directory) {
  folder_.write("in/a/x/1", "12");
  const std::vector<directory_entry> found = in_.list("a");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].path(), "x/1");
  EXPECT_EQ(found[1].size(), 2U);
}

TEST_P(Directory, list_enters_no_link) {
  folder_.make_link("in/out", "../outside");
  folder_.make_link("in/loop", ".");
  folder_.make_link("in/dangling", "nowhere");
  const std::vector<directory_entry> found = in_.list(".");
  EXPECT_EQ(found.size(), 3U);
  for (const directory_entry& entry : found) EXPECT_EQ(entry.type(), file_type::symlink) << entry.path();
}

TEST_P(Directory, list_of_what_is_no_directory_says_so) {
  folder_.write("in/f", "");
  EXPECT_EQ(failure_of([&] { in_.list("f"); }), exec_errc::not_a_directory);
  EXPECT_EQ(failure_of([&] { in_.list("nothing"); }), exec_errc::not_found);
}

TEST_P(Directory, list_keeps_every_byte_of_a_name) {
  const std::vector<std::string> names{"-rf",       "a\nb", "'\"", "$(id)", "\xff\xfe", std::string(255, 'n'),
                                       "trailing.", " "};
  for (const std::string& name : names) write(name, name);
  std::vector<std::string> found;
  for (const directory_entry& entry : in_.list(".")) {
    found.push_back(entry.path());
    EXPECT_EQ(read(entry.path()), entry.path());
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(found, sorted);
}

TEST_P(Directory, a_list_at_its_limit_is_whole_and_above_it_is_an_error) {
  for (int i = 0; i < 10; ++i) folder_.write(at("d" + std::to_string(i % 3) + "/" + std::to_string(i)), "");
  EXPECT_EQ(in_.list(".", cofferdam::list_options().entries(13)).size(), 13U);
  EXPECT_EQ(failure_of([&] { in_.list(".", cofferdam::list_options().entries(12)); }), exec_errc::too_large);
  EXPECT_EQ(in_.list(".", cofferdam::list_options().entries(SIZE_MAX)).size(), 13U);
}

TEST_P(Directory, the_paths_of_a_list_have_a_limit_of_their_own) {
  folder_.write("in/aaa/bbb", "");
  EXPECT_EQ(in_.list(".", cofferdam::list_options().path_bytes(10)).size(), 2U);
  EXPECT_EQ(failure_of([&] { in_.list(".", cofferdam::list_options().path_bytes(9)); }), exec_errc::too_large);
}

TEST_P(Directory, a_walk_can_leave_a_directory_out) {
  folder_.write("in/skip/a", "");
  folder_.write("in/enter/b", "");
  cofferdam::tree_walk walk = in_.walk(".");
  std::vector<std::string> paths;
  while (std::optional<directory_entry> found = walk.next()) {
    paths.push_back(found->path());
    if (found->path() == "skip") walk.skip();
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(paths, (std::vector<std::string>{"enter", "enter/b", "skip"}));
}

TEST_P(Directory, a_walk_goes_on_behind_a_directory_that_cannot_be_read) {
  folder_.write("in/locked/a", "");
  folder_.write("in/open/b", "");
  folder_.write("in/c", "");
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  ::chmod((folder_ / "in/locked").c_str(), 0700);
  COFFERDAM_NEEDS("root", ::getuid() == 0, "that what another user owns is refused");
  EXPECT_TRUE(unprivileged([&] {
    cofferdam::tree_walk walk = in_.walk(".");
    std::vector<std::string> paths;
    std::string failed;
    for (;;) {
      try {
        std::optional<directory_entry> found = walk.next();
        if (!found) break;
        paths.push_back(found->path());
      } catch (const cofferdam::error&) {
        failed = paths.back();
      }
    }
    std::sort(paths.begin(), paths.end());
    return failed == "locked" && paths == std::vector<std::string>{"c", "locked", "open", "open/b"};
  }));
}

// ---- very deep, very wide

void make_deep(const temporary_folder& folder, std::string_view start, int levels) {
  int fd = ::open((folder / start).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(fd, "d", 0755), 0);
    const int below = ::openat(fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ::close(fd);
    fd = below;
  }
  ::close(fd);
}

TEST_P(Directory, five_thousand_levels_are_listed_and_removed_with_few_descriptors) {
  make_deep(folder_, "in", 5000);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{cofferdam_test::open_descriptors() + 50, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(in_.list(".").size(), 5000U);
  in_.remove("d");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(in_.list(".").empty());
}

TEST_P(Directory, a_tree_moved_away_while_it_is_removed_takes_the_removal_nowhere) {
  std::string middle;
  for (int i = 0; i < 50; ++i) middle += "d/";
  std::string bottom = middle;
  for (int i = 0; i < 50; ++i) bottom += "d/";
  folder_.write(at(bottom + "bottom"), "");
  folder_.make_folder("elsewhere");
  for (int i = 0; i < 20; ++i) {
    folder_.write(at(middle + "v" + std::to_string(i)), "");
    folder_.write("elsewhere/v" + std::to_string(i), "");
  }
  cofferdam::tree_removal work = in_.removal("d");
  while (folder_.has(at(bottom + "bottom"))) work.step(1);
  std::filesystem::rename(folder_ / at(middle + "d"), folder_ / "elsewhere/d");
  EXPECT_EQ(failure_of([&] {
              while (!work.step()) continue;
            }),
            exec_errc::io_error);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(folder_.has("elsewhere/v" + std::to_string(i)));
  EXPECT_TRUE(folder_.has("canary"));
}

TEST_P(Directory, work_leaves_no_descriptor_open) {
  folder_.write("in/a/b/c", "x");
  const std::size_t before = cofferdam_test::open_descriptors();
  for (int i = 0; i < 20; ++i) {
    in_.list(".");
    read("a/b/c");
    write("a/b/c", "y");
    write("n/m", "y");
    in_.remove("n");
    try {
      read("a/b/c/d");
    } catch (const cofferdam::error&) {
    }
    try {
      write("a", "d");
    } catch (const cofferdam::error&) {
    }
    try {
      in_.list("nothing");
    } catch (const cofferdam::error&) {
    }
  }
  EXPECT_EQ(cofferdam_test::open_descriptors(), before);
}

// ---- make, rename, remove

TEST_P(Directory, make_directory_makes_parents_and_does_not_mind_what_is_there) {
  in_.make_directory("a/b/c");
  in_.make_directory("a/b/c");
  in_.make_directory("a/b/d", 0700);
  in_.make_directory(".");
  EXPECT_TRUE(in_.stat("a/b/c").is_directory());
  EXPECT_EQ(in_.stat("a/b/d").mode(), 0700U);
}

TEST_P(Directory, make_directory_does_not_take_a_file_for_one) {
  folder_.write("in/f", "");
  EXPECT_EQ(failure_of([&] { in_.make_directory("f"); }), exec_errc::not_a_directory);
  EXPECT_EQ(failure_of([&] { in_.make_directory("f/g"); }), exec_errc::not_a_directory);
}

TEST_P(Directory, make_directory_does_not_follow_a_link_out) {
  folder_.make_link("in/l", "../outside");
  EXPECT_EQ(failure_of([&] { in_.make_directory("l/new"); }), exec_errc::outside_workspace);
  EXPECT_FALSE(folder_.has("outside/new"));
}

TEST_P(Directory, remove_takes_files_links_and_trees) {
  folder_.write("in/f", "");
  folder_.write("in/t/a/b", "");
  folder_.write("in/t/c", "");
  folder_.make_link("in/l", "../outside");
  folder_.make_link("in/t/l", "../../outside");
  folder_.make_fifo("in/t/fifo");
  in_.remove("f");
  in_.remove("l");
  in_.remove("t");
  EXPECT_TRUE(in_.list(".").empty());
  EXPECT_EQ(failure_of([&] { in_.remove("f"); }), exec_errc::not_found);
}

TEST_P(Directory, remove_does_not_reach_through_a_link) {
  folder_.make_link("in/l", "../outside");
  EXPECT_EQ(failure_of([&] { in_.remove("l/file"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { in_.remove("."); }), exec_errc::invalid_argument);
}

TEST_P(Directory, remove_goes_in_steps) {
  for (int i = 0; i < 10; ++i) folder_.write(at("d/" + std::to_string(i)), "");
  cofferdam::tree_removal work = in_.removal("d");
  int steps = 1;
  while (!work.step(3)) ++steps;
  EXPECT_GE(steps, 4);
  EXPECT_FALSE(folder_.has("in/d"));
}

TEST_P(Directory, large_directories_are_removed_in_several_rounds) {
  for (int i = 0; i < 40'000; ++i) folder_.write(at((i % 2 == 0 ? "d/" : "") + std::to_string(i)), "");
  in_.remove("d");
  EXPECT_FALSE(folder_.has("in/d"));
  cofferdam::tree_removal work = in_.removal_of_all();
  while (!work.step()) continue;
  EXPECT_TRUE(in_.list(".").empty());
}

TEST_P(Directory, removal_of_all_leaves_the_directory) {
  folder_.write("in/a/b", "");
  folder_.write("in/c", "");
  cofferdam::tree_removal work = in_.removal_of_all();
  while (!work.step()) continue;
  EXPECT_TRUE(folder_.has("in"));
  EXPECT_TRUE(in_.list(".").empty());
}

TEST_P(Directory, remove_takes_directories_of_ours_that_were_locked) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  std::filesystem::permissions(folder_ / "in", std::filesystem::perms::all);
  EXPECT_TRUE(unprivileged([&] {
    for (const unsigned mode : {0U, 0500U, 0400U, 0600U, 0100U, 0300U}) {
      in_.write_file("t/a/b/c", as_bytes("x"));
      in_.make_directory("t/e");
      in_.set_mode("t/a/b", mode);
      in_.set_mode("t/e", mode);
      in_.set_mode("t/a", mode);
      in_.set_mode("t", mode);
      in_.remove("t");
    }
    return in_.list(".").empty();
  }));
}

TEST_P(Directory, removal_of_all_takes_back_its_own_locked_root) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  EXPECT_TRUE(unprivileged([&] {
    std::filesystem::create_directory(folder_ / "own");
    const directory own = directory::open(folder_ / "own", GetParam());
    own.write_file("a/b", as_bytes("x"));
    ::chmod((folder_ / "own").c_str(), 0);
    cofferdam::tree_removal work = own.removal_of_all();
    while (!work.step()) continue;
    ::chmod((folder_ / "own").c_str(), 0700);
    return own.list(".").empty();
  }));
}

TEST_P(Directory, what_permissions_forbid_is_permission_denied) {
  folder_.write("in/secret", "x", 0600);
  folder_.write("in/locked/f", "x");
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  ::chmod((folder_ / "in/locked").c_str(), 0700);
  COFFERDAM_NEEDS("root", ::getuid() == 0, "that what another user owns is refused");
  EXPECT_TRUE(unprivileged([&] {
    const auto denied = [](auto&& doing) { return failure_of(doing) == exec_errc::permission_denied; };
    return denied([&] { in_.read_file("secret", 10); }) && denied([&] { in_.write_file("new", as_bytes("x")); }) &&
           denied([&] { in_.list("."); }) && denied([&] { in_.remove("locked"); }) &&
           denied([&] { in_.make_directory("d"); }) && denied([&] { in_.set_mode("secret", 0644); });
  }));
}

TEST_P(Directory, rename_moves_and_replaces) {
  folder_.write("in/a", "a");
  folder_.write("in/d/b", "b");
  in_.rename("a", "d/b");
  EXPECT_EQ(read("d/b"), "a");
  EXPECT_FALSE(folder_.has("in/a"));
  in_.rename("d", "e");
  EXPECT_EQ(read("e/b"), "a");
}

TEST_P(Directory, rename_moves_a_link_and_not_its_target) {
  folder_.make_link("in/l", "../canary");
  in_.rename("l", "m");
  EXPECT_EQ(in_.stat("m").type(), file_type::symlink);
}

TEST_P(Directory, rename_reaches_through_no_link) {
  folder_.write("in/a", "a");
  folder_.make_link("in/l", "../outside");
  EXPECT_EQ(failure_of([&] { in_.rename("a", "l/new"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { in_.rename("l/file", "b"); }), exec_errc::outside_workspace);
  EXPECT_FALSE(folder_.has("outside/new"));
}

TEST_P(Directory, rename_says_what_is_in_the_way) {
  folder_.write("in/a", "a");
  folder_.write("in/d/x", "a");
  folder_.make_folder("in/e");
  EXPECT_EQ(failure_of([&] { in_.rename("nothing", "b"); }), exec_errc::not_found);
  EXPECT_EQ(failure_of([&] { in_.rename("a", "nowhere/b"); }), exec_errc::not_found);
  EXPECT_EQ(failure_of([&] { in_.rename("a", "d"); }), exec_errc::not_a_file);
  EXPECT_EQ(failure_of([&] { in_.rename("e", "d"); }), exec_errc::not_empty);
  EXPECT_EQ(failure_of([&] { in_.rename("e", "a"); }), exec_errc::not_a_directory);
  EXPECT_EQ(failure_of([&] { in_.rename("d", "d/inner"); }), exec_errc::invalid_argument);
  EXPECT_EQ(sentence_of([&] { in_.rename("e", "d"); }), "rename 'e' to 'd': the directory is not empty");
}

TEST_P(Directory, set_mode_follows_no_link_out_and_drops_special_bits) {
  folder_.write("in/a", "a", 0600);
  folder_.make_link("in/inner", "a");
  folder_.make_link("in/outer", "../canary");
  in_.set_mode("a", 07700);
  EXPECT_EQ(folder_.mode("in/a"), 0700U);
  in_.set_mode("inner", 0640);
  EXPECT_EQ(folder_.mode("in/a"), 0640U);
  const unsigned before = folder_.mode("canary");
  EXPECT_EQ(failure_of([&] { in_.set_mode("outer", 0777); }), exec_errc::outside_workspace);
  EXPECT_EQ(folder_.mode("canary"), before);
}

TEST_P(Directory, a_subdirectory_is_a_root_of_its_own) {
  folder_.write("in/file", "x");
  folder_.write("in/sub/inner", "y");
  folder_.make_link("in/sub/up", "../file");
  const directory sub = in_.subdirectory("sub");
  EXPECT_EQ(as_text(sub.read_file("inner", 10)), "y");
  EXPECT_EQ(failure_of([&] { sub.read_file("up", 10); }), exec_errc::outside_workspace);
  EXPECT_EQ(read("sub/up"), "x");
}

TEST_P(Directory, a_directory_descriptor_can_be_changed_to) {
  folder_.write("in/sub/inner", "y");
  folder_.make_link("in/out", "../outside");
  const pid_t child = ::fork();
  if (child == 0) {
    const cofferdam::unique_fd fd = in_.open_directory_fd("sub");
    ::_exit(::fchdir(fd.get()) == 0 && ::access("inner", F_OK) == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(failure_of([&] { in_.open_directory_fd("out"); }), exec_errc::outside_workspace);
  EXPECT_EQ(failure_of([&] { in_.open_directory_fd("sub/inner"); }), exec_errc::not_a_directory);
}

TEST_P(Directory, the_sentence_shows_the_path_escaped) {
  try {
    read("a\n\x1b[2J");
    FAIL();
  } catch (const cofferdam::error& failure) {
    EXPECT_EQ(std::string_view(failure.what()).find('\n'), std::string_view::npos);
    EXPECT_EQ(std::string_view(failure.what()).find('\x1b'), std::string_view::npos);
    EXPECT_EQ(failure.cause(), std::errc::no_such_file_or_directory);
  }
}

}  // namespace
