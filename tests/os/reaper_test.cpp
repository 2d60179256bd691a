// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/os/reaper.hpp>

#include "support/census.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using cofferdam::unique_fd;
using cofferdam::detail::reaper;
using cofferdam_test::eventually;
using cofferdam_test::process_of;
using cofferdam_test::temporary_folder;

/// A child process that sleeps until it is killed.
class sleeper {
 public:
  sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
    pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  unique_fd take_pidfd() { return std::move(pidfd_); }
  void kill() const { ::kill(pid_, SIGKILL); }
  bool is_gone() const { return process_of(pid_).pid == 0; }
  bool is_zombie() const { return process_of(pid_).is_zombie(); }

 private:
  pid_t pid_;
  unique_fd pidfd_;
};

}  // namespace

TEST(Reaper, reaps_what_has_died) {
  reaper& shared_reaper = reaper::instance();
  ASSERT_EQ(shared_reaper.pending(), 0U);
  sleeper child;
  child.kill();
  shared_reaper.adopt(child.take_pidfd());
  EXPECT_TRUE(eventually([&] {
    shared_reaper.sweep();
    return shared_reaper.pending() == 0;
  }));
  EXPECT_TRUE(child.is_gone());
}

TEST(Reaper, does_not_wait_for_what_has_not_died_yet) {
  reaper& shared_reaper = reaper::instance();
  sleeper child;
  shared_reaper.adopt(child.take_pidfd());
  shared_reaper.sweep();
  EXPECT_EQ(shared_reaper.pending(), 1U);
  child.kill();
  EXPECT_TRUE(eventually([&] {
    shared_reaper.sweep();
    return shared_reaper.pending() == 0;
  }));
}

TEST(Reaper, gives_up_what_somebody_else_has_reaped) {
  reaper& shared_reaper = reaper::instance();
  sleeper child;
  child.kill();
  ASSERT_GT(::waitpid(-1, nullptr, 0), 0);
  shared_reaper.adopt(child.take_pidfd());
  shared_reaper.sweep();
  EXPECT_EQ(shared_reaper.pending(), 0U);
}

TEST(Reaper, removes_a_folder_with_all_it_holds) {
  const temporary_folder folder;
  folder.write("doomed/deep/er/file", "x");
  reaper& shared_reaper = reaper::instance();
  shared_reaper.adopt(std::filesystem::path(folder / "doomed"));
  shared_reaper.sweep();
  EXPECT_FALSE(folder.has("doomed"));
  EXPECT_EQ(shared_reaper.pending(), 0U);
}

TEST(Reaper, follows_no_link_out_of_a_folder) {
  const temporary_folder folder;
  folder.write("precious/file", "x");
  folder.make_folder("doomed");
  folder.make_link("doomed/link", (folder / "precious").string());
  reaper& shared_reaper = reaper::instance();
  shared_reaper.adopt(std::filesystem::path(folder / "doomed"));
  shared_reaper.sweep();
  EXPECT_FALSE(folder.has("doomed"));
  EXPECT_TRUE(folder.has("precious/file"));
}

TEST(Reaper, tries_again_what_could_not_be_removed) {
  const temporary_folder folder;
  folder.write("doomed/file", "x");
  reaper& shared_reaper = reaper::instance();
  shared_reaper.adopt(std::filesystem::path(folder / "doomed"));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  shared_reaper.sweep();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(folder.has("doomed/file"));
  EXPECT_EQ(shared_reaper.pending(), 1U);
  shared_reaper.sweep();
  EXPECT_FALSE(folder.has("doomed"));
  EXPECT_EQ(shared_reaper.pending(), 0U);
}

TEST(Reaper, keeps_a_folder_while_a_killed_process_may_still_write_there) {
  const temporary_folder folder;
  folder.make_folder("doomed");
  reaper& shared_reaper = reaper::instance();
  sleeper child;
  shared_reaper.adopt(child.take_pidfd());
  shared_reaper.adopt(std::filesystem::path(folder / "doomed"));
  shared_reaper.sweep();
  EXPECT_TRUE(folder.has("doomed"));
  child.kill();
  EXPECT_TRUE(eventually([&] {
    shared_reaper.sweep();
    return shared_reaper.pending() == 0;
  }));
  EXPECT_FALSE(folder.has("doomed"));
}
