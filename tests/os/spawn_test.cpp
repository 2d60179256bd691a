// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/os/spawn.hpp>

#include "support/census.hpp"
#include "support/forbid.hpp"
#include "support/forked_host.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/audit.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using cofferdam::program_candidates;
using cofferdam::spawn;
using cofferdam::spawn_request;
using cofferdam::spawn_stage;
using cofferdam::spawned;
using cofferdam::unique_fd;
using cofferdam_test::eventually;
using cofferdam_test::forbid;
using cofferdam_test::in_forked_host;
using cofferdam_test::process_entry;
using cofferdam_test::process_of;
using cofferdam_test::read_proc;
using cofferdam_test::settled_descriptors;
using cofferdam_test::temporary_folder;
using namespace std::string_literals;

using strings = std::vector<std::string>;

/// A process that `spawn` has started, and that the test observes in /proc. The destructor kills and reaps it.
class guest {
 public:
  explicit guest(strings words = {"sleep", "60"}) {
    request.candidates = program_candidates(words.front(), "/usr/bin:/bin");
    request.words = std::move(words);
    null_ = unique_fd::above_standard(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
    request.input = request.output = request.error = null_.get();
  }
  guest(const guest&) = delete;
  guest& operator=(const guest&) = delete;
  ~guest() {
    if (!started_ || !started_->ok()) return;
    ::kill(-started_->pid(), SIGKILL);
    reap();
  }

  spawned& start() {
    if (started_) return *started_;
    started_.emplace(spawn(request));
    // `spawn` returns as soon as the child no longer shares the memory of this program. The kernel may still be
    // preparing the new program, so this waits until /proc shows it.
    if (started_->ok())
      eventually([this] { return !proc("cmdline").empty() || process_of(started_->pid()).is_zombie(); });
    return *started_;
  }

  /// Waits for the process, and returns "exited N" or "signal N".
  std::string reap() {
    siginfo_t info{};
    if (reaped_) return "reaped before";
    reaped_ = true;
    if (::waitid(P_PID, static_cast<id_t>(started_->pid()), &info, WEXITED) != 0) return "no status";
    return (info.si_code == CLD_EXITED ? "exited " : "signal ") + std::to_string(info.si_status);
  }

  /// Returns the content of a file in /proc/PID.
  std::string proc(const std::string& name) const {
    return read_proc("/proc/" + std::to_string(started_->pid()) + "/" + name);
  }
  std::string link(const std::string& name) const {
    return std::filesystem::read_symlink("/proc/" + std::to_string(started_->pid()) + "/" + name).string();
  }
  /// Returns the value of a line in /proc/PID/status or /proc/PID/limits. Blanks before the value are removed.
  std::string line(const std::string& file, const std::string& name) const {
    const std::string text = proc(file);
    const std::size_t at = text.find(name);
    if (at == std::string::npos) return "no " + name;
    const std::size_t start = text.find_first_not_of(" \t:", at + name.size());
    return text.substr(start, text.find('\n', start) - start);
  }
  std::uint64_t mask(const std::string& name) const { return std::stoull(line("status", name), nullptr, 16); }

  spawn_request request;

 private:
  unique_fd null_;
  std::optional<spawned> started_;
  bool reaped_ = false;
};

std::string joined(const strings& words) {
  std::string joined_words;
  for (const std::string& word : words) joined_words += word + '\0';
  return joined_words;
}

bool readable(int fd, int milliseconds) {
  pollfd ready{fd, POLLIN, 0};
  return ::poll(&ready, 1, milliseconds) == 1 && (ready.revents & POLLIN) != 0;
}

TEST(Spawn, further_descriptors_follow_the_control_descriptor) {
  guest child({"bash", "-c", "cat <&4; cat <&5; ls /proc/self/fd >&3; exec cat <&6"});
  const temporary_folder base;
  base.write("a", "first ");
  base.write("b", "second");
  const auto opened = [&](const char* name, int flags) {
    const unique_fd low(::open((base / name).c_str(), flags | O_CREAT | O_CLOEXEC, 0644));
    return unique_fd(::fcntl(low.get(), F_DUPFD_CLOEXEC, spawn_request::first_borrowable));
  };
  const unique_fd control = opened("list", O_WRONLY);
  const unique_fd output = opened("output", O_WRONLY);
  const unique_fd first = opened("a", O_RDONLY);
  const unique_fd second = opened("b", O_RDONLY);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const unique_fd waits(::fcntl(ends[0], F_DUPFD_CLOEXEC, spawn_request::first_borrowable));
  const unique_fd written(ends[1]);
  ::close(ends[0]);
  // The directory is opened with a low number, which the child may overwrite with another descriptor. The child must
  // enter the directory first.
  const unique_fd folder(::open(base.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  child.request.output = output.get();
  child.request.control = control.get();
  child.request.further = {first.get(), second.get(), waits.get()};
  child.request.directory = folder.get();
  ASSERT_TRUE(child.start().ok());
  EXPECT_TRUE(eventually([&] { return base.has("list") && !base.read("list").empty(); }));
  EXPECT_EQ(base.read("output"), "first second");
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(child.start().pid()) + "/cwd"), base.path());
  EXPECT_EQ(base.read("list").substr(0, 14), "0\n1\n2\n3\n4\n5\n6\n");
}

TEST(Spawn, root_can_start_a_process_of_another_user_and_stays_dumpable) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "that a child changes its user");
  ASSERT_EQ(::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1);
  guest child;
  child.request.uid = 4242;
  child.request.gid = 4243;
  ASSERT_TRUE(child.start().ok());
  const std::string status = read_proc("/proc/" + std::to_string(child.start().pid()) + "/status");
  EXPECT_NE(status.find("Uid:\t4242\t4242\t4242\t4242\n"), std::string::npos) << status;
  EXPECT_NE(status.find("Gid:\t4243\t4243\t4243\t4243\n"), std::string::npos) << status;
  EXPECT_NE(status.find("Groups:\t \n"), std::string::npos) << status;
  EXPECT_EQ(::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1);
}

TEST(Spawn, a_user_that_is_not_allowed_is_a_failed_start) {
  const std::string outcome = in_forked_host([]() -> std::string {
    if (::geteuid() == 0 && ::setresuid(4242, 4242, 4242) != 0) return "no other user";
    guest child;
    child.request.uid = 4243;
    spawned& started = child.start();
    return started.ok() ? "started" : started.stage() == spawn_stage::identity ? "identity" : "another stage";
  });
  EXPECT_EQ(outcome, "identity");
}

}  // namespace

TEST(Spawn, gives_the_words_and_nothing_else) {
  guest child;
  child.request.candidates = {"/bin/sh"};
  child.request.words = {"a name", "-c", "sleep 60; :", "", "two\nlines", "\xff\xfe"};
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(child.proc("cmdline"), joined(child.request.words));
}

TEST(Spawn, gives_the_variables_and_nothing_of_ours) {
  ::setenv("COFFERDAM_TEST_SECRET", "canary", 1);
  guest child;
  child.request.variables = {"A=1", "EMPTY=", "ODD= x=y\n"};
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(child.proc("environ"), joined(child.request.variables));
  ::unsetenv("COFFERDAM_TEST_SECRET");
}

TEST(Spawn, starts_with_an_empty_environment_where_none_is_given) {
  guest child;
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(child.proc("environ"), "");
}

TEST(Spawn, starts_in_the_directory_of_the_descriptor) {
  const temporary_folder folder;
  const unique_fd directory(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  guest child;
  child.request.directory = directory.get();
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(child.link("cwd"), folder.path());
}

TEST(Spawn, starts_in_our_directory_where_none_is_given) {
  guest child;
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(child.link("cwd"), std::filesystem::current_path());
}

TEST(Spawn, leaves_three_descriptors_open_whatever_we_have) {
  std::vector<unique_fd> ours;
  for (int i = 0; i < 50; ++i) ours.emplace_back(::open("/dev/zero", O_RDONLY));  // without O_CLOEXEC on purpose
  const unique_fd high(::fcntl(ours.back().get(), F_DUPFD, 900));
  guest child;
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(settled_descriptors(child.start().pid()), "0,1,2");
}

TEST(Spawn, closes_descriptors_one_by_one_where_the_kernel_cannot_close_a_range) {
  const std::string outcome = in_forked_host([] {
    if (!forbid(SYS_close_range, ENOSYS)) return "no seccomp"s;
    for (int i = 0; i < 20; ++i) static_cast<void>(::open("/dev/zero", O_RDONLY));
    guest child;
    if (!child.start().ok()) return "not started"s;
    return settled_descriptors(child.start().pid());
  });
  COFFERDAM_NEEDS("seccomp", outcome != "no seccomp", "descriptors are closed on kernels before 5.9");
  EXPECT_EQ(outcome, "0,1,2");
}

TEST(Spawn, starts_with_no_signal_blocked_although_we_block_all) {
  sigset_t every_signal;
  sigset_t before;
  ::sigfillset(&every_signal);
  ::pthread_sigmask(SIG_SETMASK, &every_signal, &before);
  guest child;
  const bool started = child.start().ok();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(started);
  EXPECT_EQ(child.mask("SigBlk"), 0U);
}

TEST(Spawn, keeps_our_own_signal_mask) {
  sigset_t unblocked;
  sigset_t before;
  sigset_t after;
  ::sigemptyset(&unblocked);
  ::sigaddset(&unblocked, SIGUSR2);
  ::pthread_sigmask(SIG_SETMASK, &unblocked, &before);
  guest child;
  child.start();
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(::sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(::sigismember(&after, SIGUSR1), 0);
}

TEST(Spawn, starts_with_no_signal_ignored_although_we_ignore_some) {
  struct sigaction ignore {};
  struct sigaction before[3];
  ignore.sa_handler = SIG_IGN;
  const int numbers[] = {SIGPIPE, SIGHUP, SIGRTMAX};
  for (int i = 0; i < 3; ++i) ::sigaction(numbers[i], &ignore, &before[i]);
  guest child;
  const bool started = child.start().ok();
  for (int i = 0; i < 3; ++i) ::sigaction(numbers[i], &before[i], nullptr);
  ASSERT_TRUE(started);
  EXPECT_EQ(child.mask("SigIgn"), 0U);
}

TEST(Spawn, keeps_our_own_signal_actions) {
  struct sigaction ours {};
  struct sigaction before {};
  struct sigaction after {};
  ours.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR2, &ours, &before);
  guest child;
  child.start();
  ::sigaction(SIGUSR2, &before, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST(Spawn, sets_the_umask_whatever_ours_is) {
  for (const mode_t ours : {mode_t{0}, mode_t{0777}}) {
    const mode_t before = ::umask(ours);
    guest child;
    const bool started = child.start().ok();
    const mode_t kept = ::umask(before);
    ASSERT_TRUE(started);
    EXPECT_EQ(child.line("status", "Umask"), "0022");
    EXPECT_EQ(kept, ours);
  }
}

TEST(Spawn, leads_a_session_and_a_process_group_of_its_own) {
  guest child;
  const pid_t pid = child.start().pid();
  const process_entry entry = process_of(pid);
  EXPECT_EQ(entry.group, pid);
  EXPECT_EQ(entry.session, pid);
  EXPECT_EQ(entry.parent, ::getpid());
}

TEST(Spawn, allows_no_core_dump_neither_as_a_file_nor_to_a_helper) {
  guest child;
  ASSERT_TRUE(child.start().ok());
  rlimit ours{};
  ::getrlimit(RLIMIT_CORE, &ours);
  // A limit of 1 byte prevents both core files and core handler programs. A process whose hard limit is 0 can only set
  // 0.
  EXPECT_EQ(child.line("limits", "Max core file size").substr(0, 2), ours.rlim_max == 0 ? "0 " : "1 ");
}

TEST(Spawn, raises_a_low_limit_on_open_files) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  COFFERDAM_NEEDS("nofile", before.rlim_max >= 1024, "a guest is given the usual limit on open files");
  rlimit low = before;
  low.rlim_cur = 64;
  ::setrlimit(RLIMIT_NOFILE, &low);
  guest child;
  const bool started = child.start().ok();
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(started);
  EXPECT_EQ(child.line("limits", "Max open files").substr(0, 5), "1024 ");
}

TEST(Spawn, the_pidfd_is_readable_once_the_process_has_ended) {
  guest child;
  spawned& started = child.start();
  ASSERT_TRUE(started.ok());
  EXPECT_FALSE(readable(started.pidfd().get(), 50));
  ::kill(started.pid(), SIGKILL);
  EXPECT_TRUE(readable(started.pidfd().get(), 10000));
  EXPECT_EQ(child.reap(), "signal 9");
}

TEST(Spawn, the_pidfd_is_closed_on_exec) {
  guest child;
  spawned& started = child.start();
  EXPECT_EQ(::fcntl(started.pidfd().get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Spawn, tries_the_candidates_in_order) {
  const temporary_folder folder;
  folder.write("first", "#!/bin/sh\nexit 1\n", 0755);
  folder.write("second", "#!/bin/sh\nexit 2\n", 0755);
  guest child;
  child.request.candidates = {folder / "missing", folder / "first/not-a-directory", folder / "second",
                              folder / "first"};
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(child.reap(), "exited 2");
}

TEST(Spawn, goes_past_a_file_that_is_not_executable) {
  const temporary_folder folder;
  folder.write("plain", "#!/bin/sh\nexit 1\n", 0644);
  folder.write("program", "#!/bin/sh\nexit 2\n", 0755);
  guest child;
  child.request.candidates = {folder / "plain", folder / "program"};
  ASSERT_TRUE(child.start().ok());
  EXPECT_EQ(child.reap(), "exited 2");
}

TEST(Spawn, reports_permission_denied_rather_than_not_found) {
  const temporary_folder folder;
  folder.write("plain", "", 0644);
  for (const strings& order :
       {strings{folder / "plain", folder / "missing"}, strings{folder / "missing", folder / "plain"}}) {
    guest child;
    child.request.candidates = order;
    spawned& failed = child.start();
    EXPECT_EQ(failed.stage(), spawn_stage::exec);
    EXPECT_EQ(failed.cause(), std::errc::permission_denied);
  }
}

TEST(Spawn, stops_at_a_file_that_is_no_program) {
  const temporary_folder folder;
  folder.write("text", "exit 1\n", 0755);
  folder.write("program", "#!/bin/sh\nexit 2\n", 0755);
  guest child;
  child.request.candidates = {folder / "text", folder / "program"};
  EXPECT_EQ(child.start().cause(), std::errc::executable_format_error);
}

TEST(Spawn, says_that_nothing_was_found) {
  guest child;
  child.request.candidates = {"/cofferdam/no/such/program", "/dev/null/program"};
  spawned& failed = child.start();
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.stage(), spawn_stage::exec);
  EXPECT_EQ(failed.cause(), std::errc::no_such_file_or_directory);
}

TEST(Spawn, without_candidates_nothing_was_found) {
  guest child;
  child.request.candidates.clear();
  spawned& failed = child.start();
  EXPECT_EQ(failed.stage(), spawn_stage::exec);
  EXPECT_EQ(failed.cause(), std::errc::no_such_file_or_directory);
}

TEST(Spawn, says_that_the_directory_was_the_problem) {
  const unique_fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  guest child;
  child.request.directory = file.get();
  spawned& failed = child.start();
  EXPECT_EQ(failed.stage(), spawn_stage::directory);
  EXPECT_EQ(failed.cause(), std::errc::not_a_directory);
}

TEST(Spawn, says_that_a_descriptor_was_the_problem) {
  guest child;
  child.request.output = 987654;
  spawned& failed = child.start();
  EXPECT_EQ(failed.stage(), spawn_stage::descriptors);
  EXPECT_EQ(failed.cause(), std::errc::bad_file_descriptor);
}

TEST(Spawn, says_that_no_process_could_be_made) {
  const std::string outcome = in_forked_host([] {
    guest child;
    rlimit full{};
    ::getrlimit(RLIMIT_NOFILE, &full);
    full.rlim_cur = static_cast<rlim_t>(child.request.input) + 1;  // so that no number is left for the pidfd
    while (::open("/dev/null", O_RDONLY) >= 0 && full.rlim_cur < 200) ++full.rlim_cur;
    ::setrlimit(RLIMIT_NOFILE, &full);
    while (::open("/dev/null", O_RDONLY) >= 0) {
    }
    spawned& failed = child.start();
    if (failed.ok()) return "started"s;
    return (failed.stage() == spawn_stage::clone ? "clone: " : "another step: ") + failed.cause().message();
  });
  EXPECT_EQ(outcome, "clone: Too many open files");
}

TEST(Spawn, a_failure_leaves_no_process_and_no_descriptor) {
  const temporary_folder folder;
  const auto before = cofferdam_test::census::take(folder.path());
  for (int i = 0; i < 20; ++i) {
    guest child;
    child.request.candidates = {"/cofferdam/no/such/program"};
    EXPECT_FALSE(child.start().ok());
  }
  EXPECT_EQ(cofferdam_test::census::take(folder.path()), before);
}

TEST(Spawn, works_in_a_program_whose_standard_descriptors_are_closed) {
  const std::string outcome = in_forked_host([] {
    for (const int fd : {0, 1, 2}) ::close(fd);
    guest child({"sh", "-c", "exit 7"});
    spawned& started = child.start();
    if (!started.ok()) return started.cause().message();
    if (started.pidfd().get() < 3) return "a standard number was taken"s;
    return child.reap();
  });
  EXPECT_EQ(outcome, "exited 7");
}

TEST(Spawn, a_guest_goes_before_us_when_memory_is_short) {
  const auto score_of_guest = [](std::string ours) {
    return in_forked_host([ours] {
      const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
      if (::write(fd, ours.data(), ours.size()) < 0) return "not allowed"s;
      guest child;
      if (!child.start().ok()) return "not started"s;
      return child.proc("oom_score_adj") + "ours " + read_proc("/proc/self/oom_score_adj");
    });
  };
  EXPECT_EQ(score_of_guest("300"), "300\nours 300\n") << "never less likely to be killed than we are";
  const std::string outcome = score_of_guest("-500");
  if (outcome == "not allowed") {
    std::cout << "not proven here: protection from the memory killer is not passed on (needs CAP_SYS_RESOURCE)\n";
  } else {
    EXPECT_EQ(outcome, "0\nours -500\n");
  }
}

TEST(ProgramCandidates, a_word_with_a_slash_is_taken_as_it_is) {
  EXPECT_EQ(program_candidates("./x", "/bin"), strings{"./x"});
  EXPECT_EQ(program_candidates("a/b", ""), strings{"a/b"});
}

TEST(ProgramCandidates, a_name_is_looked_for_in_each_element) {
  EXPECT_EQ(program_candidates("x", "/a:/b/c"), (strings{"/a/x", "/b/c/x"}));
}

TEST(ProgramCandidates, empty_and_relative_elements_are_passed_over) {
  EXPECT_EQ(program_candidates("x", ":/a::.:bin:../b:/c:"), (strings{"/a/x", "/c/x"}));
  EXPECT_EQ(program_candidates("x", ""), strings{});
  EXPECT_EQ(program_candidates("x", ":"), strings{});
}
