// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

/// The description of a process to start. The strings must not contain NUL. A borrowed descriptor belongs to the
/// caller, which keeps it open until the process has been started.
class spawn_request {
 public:
  /// The paths to try for `execve`, in this order, until a program exists. Empty only if `program` is set.
  std::vector<std::string> candidates;
  /// The descriptor of an open ELF file to execute instead of `candidates`, 10 or above; -1 means none. Borrowed.
  int program = -1;
  /// The argument vector. The first element is the program's name.
  std::vector<std::string> words;
  /// All environment variables of the new process, each as "NAME=value".
  std::vector<std::string> variables;
  /// The descriptor of the process's working directory; -1 means the working directory of this program. Borrowed.
  int directory = -1;
  /// The path of the process's working directory, for sessions whose processes are started by a program in a sandbox,
  /// which cannot use a descriptor of this program. `spawn` ignores the path.
  std::string directory_path;
  /// The descriptors that become the process's standard input, output and error. Borrowed; each above 2.
  int input = -1;
  /// The descriptor for standard output; see `input`.
  int output = -1;
  /// The descriptor for standard error; see `input`.
  int error = -1;
  /// True if `input` is a terminal that becomes the controlling terminal of the process.
  bool is_terminal = false;
  /// A descriptor that becomes number 3 of the process, such as the connection of a helper program to this program; -1
  /// means none. Borrowed; above 2.
  int control = -1;
  /// Descriptors that become the numbers 4, 5 and so on of the process. Used only with `control`. Borrowed; each at
  /// least `first_borrowable`.
  std::vector<int> further;
  /// The smallest number of a descriptor in `further`.
  static constexpr int first_borrowable = 64;
  /// The files `cgroup.procs` of the control groups that the process enters before it executes its program, open for
  /// writing. Borrowed.
  std::vector<int> control_groups;
  /// The user and group of the process, without supplementary groups; -1 keeps those of this program. Only root can
  /// change them.
  std::int64_t uid = -1;
  /// The group of the process; see `uid`.
  std::int64_t gid = -1;
};

/// The step of a start that failed: creating the process, installing its descriptors, entering its directory or
/// control groups, changing its user or group, or executing its program; `none` after success.
enum class spawn_stage { none, clone, descriptors, directory, control_group, identity, exec };

/// The result of `spawn`: a process, or the step that failed and the system's error code.
class spawned {
 public:
  /// Describes a process that was started.
  spawned(pid_t pid, unique_fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  /// Describes a failure.
  /// \param stage  the step that failed.
  /// \param number  the value of `errno` after the failed step.
  spawned(spawn_stage stage, int number) : stage_(stage), cause_(number, std::system_category()) {}

  /// Returns true if the process was started.
  bool ok() const noexcept { return stage_ == spawn_stage::none; }
  /// Returns the process number, which is also the number of the process's session and process group. The kernel does
  /// not reuse it until the process is reaped.
  pid_t pid() const noexcept { return pid_; }
  /// Returns the pidfd of the process. It becomes readable when the process ends.
  unique_fd& pidfd() noexcept { return pidfd_; }
  /// Returns the step that failed; `spawn_stage::none` after success.
  spawn_stage stage() const noexcept { return stage_; }
  /// Returns the system's error code for the failed step.
  std::error_code cause() const noexcept { return cause_; }

 private:
  pid_t pid_ = -1;
  unique_fd pidfd_;
  spawn_stage stage_ = spawn_stage::none;
  std::error_code cause_;
};

namespace detail {

/// The data that the child process needs, prepared by the parent. Between clone and exec the child shares the parent's
/// memory, so it must not allocate.
class spawn_plan {
 public:
  explicit spawn_plan(const spawn_request& request)
      : request_(request),
        further_(request.further.data()),
        further_count_(static_cast<int>(request.further.size())),
        control_groups_(request.control_groups.data()),
        control_group_count_(static_cast<int>(request.control_groups.size())) {
    fill(candidates_, request.candidates);
    fill(words_, request.words);
    fill(variables_, request.variables);
    if (::getrlimit(RLIMIT_NOFILE, &files_) == 0) {
      constexpr rlim_t usual = 1024;
      if (files_.rlim_cur < usual || files_.rlim_cur > files_.rlim_max)
        files_.rlim_cur = std::min(usual, files_.rlim_max);
    }
  }

  const spawn_request& request() const noexcept { return request_; }
  const char* const* candidates() const noexcept { return candidates_.data(); }
  const char* const* words() const noexcept { return words_.data(); }
  const char* const* variables() const noexcept { return variables_.data(); }
  const rlimit& files() const noexcept { return files_; }
  const int* further() const noexcept { return further_; }
  int further_count() const noexcept { return further_count_; }
  const int* control_groups() const noexcept { return control_groups_; }
  int control_group_count() const noexcept { return control_group_count_; }

  // The child writes these members in the shared memory, while the parent's thread waits.
  spawn_stage stage = spawn_stage::none;
  int number = 0;

 private:
  static void fill(std::vector<const char*>& pointers, const std::vector<std::string>& strings) {
    pointers.reserve(strings.size() + 1);
    for (const std::string& text : strings) pointers.push_back(text.c_str());
    pointers.push_back(nullptr);
  }

  const spawn_request& request_;
  const int* further_;
  int further_count_;
  const int* control_groups_;
  int control_group_count_;
  std::vector<const char*> candidates_;
  std::vector<const char*> words_;
  std::vector<const char*> variables_;
  rlimit files_{};
};

/// The kernel's struct sigaction. The child calls the system call directly. In shared memory, a sanitizer would take a
/// call of sigaction(3) in the child for a call of this program.
class kernel_sigaction {
 public:
  void (*handler)(int) = nullptr;
  unsigned long flags = 0;
  void (*restorer)() = nullptr;
  std::uint64_t mask = 0;
};

// The child runs in this program's memory, on a separate stack, while this thread waits (CLONE_VM | CLONE_VFORK). It
// makes system calls only through `syscall`, which sanitizers do not intercept.
#if defined(__clang__)
#define COFFERDAM_DETAIL_NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define COFFERDAM_DETAIL_NO_SANITIZE __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

[[noreturn]] COFFERDAM_DETAIL_NO_SANITIZE inline void spawn_child_fails(spawn_plan& plan, spawn_stage stage) {
  plan.number = errno;
  plan.stage = stage;
  for (;;) ::syscall(SYS_exit_group, 127);
}

COFFERDAM_DETAIL_NO_SANITIZE inline int spawn_child(void* argument) {
  spawn_plan& plan = *static_cast<spawn_plan*>(argument);
  const spawn_request& request = plan.request();

  // A command is ended by a signal to its process group, so the process must have a group of its own.
  if (::syscall(SYS_setsid) < 0) spawn_child_fails(plan, spawn_stage::clone);
  if (request.is_terminal && ::syscall(SYS_ioctl, request.input, TIOCSCTTY, 0) < 0)
    spawn_child_fails(plan, spawn_stage::descriptors);
  const kernel_sigaction default_action;
  for (int number = 1; number <= 64; ++number)
    ::syscall(SYS_rt_sigaction, number, &default_action, nullptr, sizeof default_action.mask);

  for (int i = 0; i < plan.control_group_count(); ++i)  // "0" is the writing process
    if (::syscall(SYS_write, plan.control_groups()[i], "0", 1) != 1)
      spawn_child_fails(plan, spawn_stage::control_group);
  const int sources[3] = {request.input, request.output, request.error};
  for (int target = 0; target <= 2; ++target)
    if (::syscall(SYS_dup3, sources[target], target, 0) < 0) spawn_child_fails(plan, spawn_stage::descriptors);
  if (request.control == 3) {
    ::syscall(SYS_fcntl, 3, F_SETFD, 0);
  } else if (request.control > 3 && ::syscall(SYS_dup3, request.control, 3, 0) < 0) {
    spawn_child_fails(plan, spawn_stage::descriptors);
  }
  if (request.directory >= 0 && ::syscall(SYS_fchdir, request.directory) < 0)
    spawn_child_fails(plan, spawn_stage::directory);
  for (int i = 0; i < plan.further_count(); ++i)
    if (::syscall(SYS_dup3, plan.further()[i], 4 + i, 0) < 0) spawn_child_fails(plan, spawn_stage::descriptors);
  const unsigned first = request.control >= 0 ? 4 + static_cast<unsigned>(plan.further_count()) : 3;
  const unsigned kept = request.program >= 0 ? static_cast<unsigned>(request.program) : ~0U;
  bool closed = kept == ~0U ? ::syscall(SYS_close_range, first, ~0U, 0U) == 0
                            : ::syscall(SYS_close_range, first, kept - 1, 0U) == 0 &&
                                  ::syscall(SYS_close_range, kept + 1, ~0U, 0U) == 0;
  if (!closed) {
    // close_range(2) fails on kernels before 5.9 and under filters that forbid it. In this case the descriptors are
    // closed one by one, up to the limit on their number.
    for (rlim_t fd = first; fd < plan.files().rlim_max && fd < 1048576; ++fd)
      if (fd != kept) ::syscall(SYS_close, static_cast<int>(fd));
  }

  ::syscall(SYS_umask, 022);
  // A limit of 0 prevents a core file, but not a program in core_pattern. A limit of 1 byte prevents both.
  const rlimit no_core{1, 1};
  ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, nullptr);
  ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &plan.files(), nullptr);
  // If this program is protected from the kernel's out-of-memory killer (a negative score), the child must not inherit
  // the protection. A positive score is kept, so that the child is killed first.
  const int score = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
  if (score >= 0) {
    char sign = 0;
    if (::syscall(SYS_read, score, &sign, 1) == 1 && sign == '-') ::syscall(SYS_write, score, "0", 1);
    ::syscall(SYS_close, score);
  }
  if (request.gid >= 0 || request.uid >= 0) {
    // The system calls change only this process. The C library's functions would change all threads of the parent.
    if (::syscall(SYS_setgroups, 0, nullptr) < 0) spawn_child_fails(plan, spawn_stage::identity);
    if (request.gid >= 0 && ::syscall(SYS_setresgid, request.gid, request.gid, request.gid) < 0)
      spawn_child_fails(plan, spawn_stage::identity);
    if (request.uid >= 0 && ::syscall(SYS_setresuid, request.uid, request.uid, request.uid) < 0)
      spawn_child_fails(plan, spawn_stage::identity);
  }
  const std::uint64_t no_signals = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, nullptr, sizeof no_signals);

  if (request.program >= 0) {
    ::syscall(SYS_execveat, request.program, "", plan.words(), plan.variables(), AT_EMPTY_PATH);
    spawn_child_fails(plan, spawn_stage::exec);
  }
  int worst = ENOENT;
  for (const char* const* candidate = plan.candidates(); *candidate != nullptr; ++candidate) {
    ::syscall(SYS_execve, *candidate, plan.words(), plan.variables());
    if (errno == ENOENT || errno == ENOTDIR) continue;
    worst = errno;
    if (worst != EACCES) break;
  }
  errno = worst;
  spawn_child_fails(plan, spawn_stage::exec);
}

/// The namespaces of another process, for a child that changes mounts there.
class foreign_mounts {
 public:
  int user = -1;  ///< the owner of `mounts`; -1: the child stays in this program's user namespace
  int mounts = -1;
  int number = 0;  ///< written by the child: the error
};

COFFERDAM_DETAIL_NO_SANITIZE inline int private_mounts_child(void* argument) {
  foreign_mounts& of = *static_cast<foreign_mounts*>(argument);
  if ((of.user >= 0 && ::syscall(SYS_setns, of.user, CLONE_NEWUSER) < 0) ||
      ::syscall(SYS_setns, of.mounts, CLONE_NEWNS) < 0 ||
      ::syscall(SYS_mount, "none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0)
    of.number = errno;
  for (;;) ::syscall(SYS_exit_group, 0);
}

#undef COFFERDAM_DETAIL_NO_SANITIZE

// ThreadSanitizer intercepts `clone` and takes it for a fork. It records the fork in the shared memory, and ends the
// program when the program starts another thread. `__clone` is glibc's other name for the same function, which
// ThreadSanitizer does not intercept.
#if defined(__SANITIZE_THREAD__)
#define COFFERDAM_DETAIL_CLONE __clone
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COFFERDAM_DETAIL_CLONE __clone
#endif
#endif
#if defined(COFFERDAM_DETAIL_CLONE)
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
#else
#define COFFERDAM_DETAIL_CLONE ::clone
#endif

/// Calls clone(2). The child runs `child` on the given stack, in this program's memory, while this thread waits.
inline int clone_for_spawn(void* stack_end, int (*child)(void*), void* argument, int& pidfd) {
  return COFFERDAM_DETAIL_CLONE(child, stack_end, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, argument, &pidfd);
}

#undef COFFERDAM_DETAIL_CLONE

/// A guard that restores the dumpable flag of this program (PR_SET_DUMPABLE, prctl(2)) after a child has changed its
/// user. The child shares this program's memory, so the kernel clears the flag for both. The cleared flag protects the
/// memory from the child's new user until the child executes its program.
class dumpable_guard {
 public:
  /// \param changes_user  false: the guard does nothing.
  explicit dumpable_guard(bool changes_user) {
    if (!changes_user) return;
    lock_ = std::unique_lock(mutex());
    was_dumpable_ = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1;
  }
  dumpable_guard(const dumpable_guard&) = delete;
  dumpable_guard& operator=(const dumpable_guard&) = delete;
  ~dumpable_guard() {
    if (was_dumpable_) ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  }

  /// Clears the dumpable flag of this program permanently.
  static void make_undumpable() {
    const std::lock_guard lock(mutex());
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex the_mutex;
    return the_mutex;
  }

  std::unique_lock<std::mutex> lock_;
  bool was_dumpable_ = false;
};

/// Starts a child in this program's memory, and waits until it has executed a program or has ended. Returns its number;
/// -1, with `errno` set, if there is none.
/// \param changes_user  true if the child changes its user or its user namespace.
/// \param pidfd         set to the descriptor of the child.
inline int run_child(int (*child)(void*), void* argument, bool changes_user, unique_fd& pidfd) {
  constexpr std::size_t stack_size = 32 * 1024;
  alignas(16) std::array<std::byte, stack_size> stack;
  sigset_t all_signals;
  sigset_t before;
  ::sigfillset(&all_signals);
  ::pthread_sigmask(SIG_SETMASK, &all_signals, &before);  // so that no signal handler of this program runs in the child
  int pid = -1;
  int fd = -1;
  int clone_error = 0;
  {
    const dumpable_guard guard(changes_user);
    pid = clone_for_spawn(stack.data() + stack.size(), child, argument, fd);
    clone_error = errno;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid >= 0) pidfd.reset(fd);
  errno = clone_error;
  return pid;
}

/// Waits for the end of a child that ends at once.
inline void collect(const unique_fd& pidfd) noexcept {
  siginfo_t ignored{};
  while (::waitid(wait_for_pidfd, static_cast<id_t>(pidfd.get()), &ignored, WEXITED) < 0 && errno == EINTR) {
  }
}

/// Makes all mounts of another mount namespace private: what this machine mounts later does not appear there. The
/// caller is root, or has made the user namespace that owns the mounts. Takes some hundred microseconds.
/// \param mounts  a descriptor of the mount namespace, /proc/PID/ns/mnt.
/// \return        0, or the system's error number.
/// \par Source    setns(2), mount_namespaces(7), ioctl_nsfs(2)
inline int make_mounts_private(const unique_fd& mounts) {
  constexpr unsigned long owner_of_namespace = 0xb701;  // NS_GET_USERNS
  foreign_mounts plan;
  plan.mounts = mounts.get();
  unique_fd owner;
  if (::geteuid() != 0) {
    owner.reset(::ioctl(mounts.get(), owner_of_namespace));
    if (!owner) return errno;
    plan.user = owner.get();
  }
  unique_fd pidfd;
  if (run_child(&private_mounts_child, &plan, plan.user >= 0, pidfd) < 0) return errno;
  collect(pidfd);
  return plan.number;
}

}  // namespace detail

/// Returns the paths at which `execve` looks for a program: only `word` if it has a slash, otherwise `word` in each
/// absolute element of `path`. Empty and relative elements of `path` are skipped, because they would refer to the
/// working directory, which a guest (code in a sandbox) can write.
inline std::vector<std::string> program_candidates(const std::string& word, std::string_view path) {
  std::vector<std::string> candidates;
  if (word.find('/') != std::string::npos) {
    candidates.push_back(word);
    return candidates;
  }
  while (!path.empty()) {
    const std::size_t colon = path.find(':');
    const std::string_view element = path.substr(0, colon);
    path.remove_prefix(colon == std::string_view::npos ? path.size() : colon + 1);
    if (element.empty() || element.front() != '/') continue;
    std::string candidate(element);
    candidate += '/';
    candidate += word;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// Starts a process without copying the address space. The calling thread waits until the child has called `execve`,
/// which takes some hundred microseconds. The child has a session and a process group of its own, the default signal
/// actions, no blocked signals, umask 022, no core dumps and no protection from the out-of-memory killer. It inherits
/// only the descriptors and environment variables that `request` lists.
/// \return  the process, or the failed step and the system's error code. A failure in the child does not throw.
inline spawned spawn(const spawn_request& request) {
  if (request.candidates.empty() && request.program < 0) return {spawn_stage::exec, ENOENT};
  detail::spawn_plan plan(request);

  unique_fd owned;
  const int pid = detail::run_child(&detail::spawn_child, &plan, request.uid >= 0 || request.gid >= 0, owned);
  if (pid < 0) return {spawn_stage::clone, errno};
  if (plan.stage != spawn_stage::none) {
    detail::collect(owned);
    return {plan.stage, plan.number};
  }
  owned = unique_fd::above_standard(std::move(owned));
  return {pid, std::move(owned)};
}

}  // namespace cofferdam::inline COFFERDAM_ABI
