// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/os/machine.hpp>
#include <cofferdam/detail/os/seccomp_program.hpp>

#include "support/require.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace seccomp_program_tests {

namespace {

using namespace cofferdam::detail;

/// The input of a seccomp filter, laid out as the kernel passes it (struct seccomp_data).
struct call_data {
  std::uint32_t number = 0;
  std::uint32_t architecture = 0;
  std::uint64_t instruction = 0;
  std::array<std::uint64_t, 6> arguments{};
};

/// Interprets a filter program as the kernel does, and returns its decision. Returns 0 if the kernel would refuse the
/// program.
std::uint32_t answer_of(std::span<const filter_instruction> program, const call_data& data) {
  std::array<std::uint32_t, sizeof(call_data) / 4> words{};
  static_assert(sizeof words == sizeof data);
  std::memcpy(words.data(), &data, sizeof data);
  std::uint32_t word = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const filter_instruction& step = program[at];
    bool jumps = false;
    switch (step.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        if (step.value % 4 != 0 || step.value / 4 >= words.size()) return 0;
        word = words[step.value / 4];
        continue;
      case BPF_ALU | BPF_AND | BPF_K: word &= step.value; continue;
      case BPF_RET | BPF_K: return step.value;
      case BPF_JMP | BPF_JEQ | BPF_K: jumps = word == step.value; break;
      case BPF_JMP | BPF_JGT | BPF_K: jumps = word > step.value; break;
      case BPF_JMP | BPF_JGE | BPF_K: jumps = word >= step.value; break;
      case BPF_JMP | BPF_JSET | BPF_K: jumps = (word & step.value) != 0; break;
      default: return 0;
    }
    at += jumps ? step.if_true : step.if_false;
  }
  return 0;
}

constexpr std::uint32_t allowed = SECCOMP_RET_ALLOW;
constexpr std::uint32_t killed = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t failing(int number) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number); }

constexpr std::uint32_t x86_64 = 0xc000003e, i386 = 0x40000003, aarch64 = 0xc00000b7, arm = 0x40000028;

std::uint32_t answer(std::string_view machine, std::uint32_t architecture, std::uint32_t number,
                     std::vector<std::uint64_t> arguments = {}) {
  call_data data;
  data.number = number;
  data.architecture = architecture;
  for (std::size_t i = 0; i < arguments.size(); ++i) data.arguments[i] = arguments[i];
  return answer_of(jail_filter(machine), data);
}

/// Returns the published policy of the jail's filter for calls whose arguments are zero: call numbers and decisions.
/// The numbers come from the kernel's tables. A call without an entry is allowed.
std::map<std::uint32_t, std::uint32_t> policy_of(std::string_view machine) {
  const std::vector<std::uint32_t> x86_64_refused{
      101, 103, 134, 139, 153, 154, 155, 156, 159, 161, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173,
      174, 175, 176, 177, 178, 179, 180, 206, 212, 227, 246, 248, 249, 250, 272, 298, 300, 301, 304, 305, 308,
      310, 311, 312, 313, 320, 321, 323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 467};
  const std::vector<std::uint32_t> aarch64_refused{0,   18,  39,  40,  41,  42,  51,  58,  60,  89,  97,  104, 105, 106,
                                                   112, 116, 117, 142, 161, 162, 170, 171, 217, 218, 219, 224, 225, 241,
                                                   262, 263, 265, 266, 268, 270, 271, 272, 273, 280, 282, 294, 425, 426,
                                                   427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 467};
  std::map<std::uint32_t, std::uint32_t> policy;
  const bool is_intel = machine == "x86_64";
  for (const std::uint32_t number : is_intel ? x86_64_refused : aarch64_refused) policy[number] = failing(EPERM);
  policy[is_intel ? 251 : 30] = failing(EPERM);  // ioprio_set with a kind of target that does not exist, 0
  policy[435] = failing(ENOSYS);                 // clone3
  policy[437] = failing(ENOSYS);                 // openat2
  for (const std::uint32_t number :
       is_intel ? std::vector<std::uint32_t>{41, 53} : std::vector<std::uint32_t>{198, 199})
    policy[number] = failing(EAFNOSUPPORT);  // for the domain AF_UNSPEC, because the arguments are zero
  for (std::uint32_t number = 470; number <= 600; ++number) policy[number] = failing(ENOSYS);
  return policy;
}

}  // namespace

TEST(SeccompProgram, SY_20_every_number_has_the_answer_of_the_published_policy) {
  for (const auto& [machine, architecture] :
       {std::pair{std::string_view("x86_64"), x86_64}, std::pair{std::string_view("aarch64"), aarch64}}) {
    const std::map<std::uint32_t, std::uint32_t> policy = policy_of(machine);
    for (std::uint32_t number = 0; number <= 600; ++number) {
      const auto found = policy.find(number);
      EXPECT_EQ(answer(machine, architecture, number), found == policy.end() ? allowed : found->second)
          << machine << " " << number;
    }
    EXPECT_EQ(answer(machine, architecture, 0x3fffffff), failing(ENOSYS));
  }
}

TEST(SeccompProgram, SY_20_other_architectures_are_killed) {
  for (std::uint32_t number = 0; number <= 600; ++number) {
    EXPECT_EQ(answer("x86_64", i386, number), killed) << number;
    EXPECT_EQ(answer("x86_64", aarch64, number), killed) << number;
    EXPECT_EQ(answer("aarch64", arm, number), killed) << number;
    EXPECT_EQ(answer("aarch64", x86_64, number), killed) << number;
    EXPECT_EQ(answer("x86_64", x86_64, 0x40000000 + number), killed) << number;  // numbers of the x32 call interface
  }
  EXPECT_EQ(answer("x86_64", x86_64, 0xffffffff), killed);
}

TEST(SeccompProgram, an_unknown_machine_has_no_filter) {
  EXPECT_TRUE(jail_filter("riscv64").empty());
  EXPECT_TRUE(jail_filter("").empty());
}

TEST(SeccompProgram, clone_is_refused_with_each_flag_for_a_namespace) {
  for (const std::uint64_t flag :
       {0x00020000U, 0x02000000U, 0x04000000U, 0x08000000U, 0x10000000U, 0x20000000U, 0x40000000U}) {
    EXPECT_EQ(answer("x86_64", x86_64, 56, {flag}), failing(EPERM)) << flag;
    EXPECT_EQ(answer("aarch64", aarch64, 220, {flag | SIGCHLD}), failing(EPERM)) << flag;
  }
  constexpr std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                                   CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  EXPECT_EQ(answer("x86_64", x86_64, 56, {thread}), allowed);
  EXPECT_EQ(answer("x86_64", x86_64, 56, {CLONE_VM | CLONE_VFORK | SIGCHLD}), allowed);
  EXPECT_EQ(answer("aarch64", aarch64, 220, {thread}), allowed);
}

TEST(SeccompProgram, arguments_are_compared_as_the_kernel_takes_them) {
  const std::uint64_t high = std::uint64_t{7} << 32;  // the kernel ignores the upper half of these arguments
  EXPECT_EQ(answer("x86_64", x86_64, 16, {0, high | TIOCSTI}), failing(EPERM));
  EXPECT_EQ(answer("x86_64", x86_64, 16, {0, 0x541c}), failing(EPERM));
  EXPECT_EQ(answer("x86_64", x86_64, 16, {TIOCSTI, TIOCGWINSZ}), allowed);
  EXPECT_EQ(answer("aarch64", aarch64, 29, {0, TIOCSTI}), failing(EPERM));
  EXPECT_EQ(answer("x86_64", x86_64, 62, {high | 0xffffffff, 9}), failing(EPERM));
  EXPECT_EQ(answer("x86_64", x86_64, 62, {0xfffffffe, 9}), allowed);  // the process group 2
  EXPECT_EQ(answer("aarch64", aarch64, 129, {~std::uint64_t{0}, 9}), failing(EPERM));
  EXPECT_EQ(answer("x86_64", x86_64, 135, {0xffffffff}), allowed);  // a query of the personality
  EXPECT_EQ(answer("x86_64", x86_64, 135, {0}), allowed);
  EXPECT_EQ(answer("x86_64", x86_64, 135, {0x0400000}), failing(EPERM));  // READ_IMPLIES_EXEC
  EXPECT_EQ(answer("aarch64", aarch64, 92, {0x0040000}), failing(EPERM));
}

TEST(SeccompProgram, no_call_sets_the_bits_that_give_rights) {
  class call {
   public:
    std::uint32_t x86_64;  // 0: not there
    std::uint32_t aarch64;
    unsigned mode;
  };
  // chmod, fchmod, fchmodat, fchmodat2, mknod, mknodat, creat
  for (const call& each : {call{90, 0, 1}, call{91, 52, 1}, call{268, 53, 2}, call{452, 452, 2}, call{133, 0, 1},
                           call{259, 33, 2}, call{85, 0, 1}})
    for (const auto& [machine, architecture, number] :
         {std::tuple{std::string_view("x86_64"), x86_64, each.x86_64},
          std::tuple{std::string_view("aarch64"), aarch64, each.aarch64}}) {
      if (number == 0) continue;
      const auto with_mode = [&](std::uint64_t mode) {
        std::vector<std::uint64_t> arguments(each.mode + 1, ~std::uint64_t{0});
        arguments.back() = mode;
        return answer(machine, architecture, number, arguments);
      };
      for (const std::uint64_t mode : {04755U, 02755U, 06777U, 04000U, 02000U, 0104755U})
        EXPECT_EQ(with_mode(mode), failing(EPERM)) << machine << number;
      for (const std::uint64_t mode : {0U, 0755U, 01777U, 0100644U})
        EXPECT_EQ(with_mode(mode), allowed) << machine << number;
    }
  constexpr std::uint64_t large_file = 0100000;
  for (const std::uint64_t creates : {std::uint64_t{O_CREAT}, std::uint64_t{O_TMPFILE}, O_CREAT | large_file}) {
    EXPECT_EQ(answer("x86_64", x86_64, 2, {0, creates | O_WRONLY, 04755}), failing(EPERM));
    EXPECT_EQ(answer("x86_64", x86_64, 257, {0, 0, creates, 02755}), failing(EPERM));
    EXPECT_EQ(answer("aarch64", aarch64, 56, {0, 0, creates, 04755}), failing(EPERM));
    EXPECT_EQ(answer("x86_64", x86_64, 257, {0, 0, creates, 01777}), allowed);
  }
  EXPECT_EQ(answer("x86_64", x86_64, 2, {0, O_RDWR, 07777}), allowed);  // the mode is not used
  EXPECT_EQ(answer("x86_64", x86_64, 257, {0, 0, O_RDWR | O_TRUNC, 07777}), allowed);
  EXPECT_EQ(answer("aarch64", aarch64, 56, {0, 0, O_RDWR, 07777}), allowed);
}

TEST(SeccompProgram, PR_19_only_the_calling_thread_can_be_scheduled_otherwise) {
  for (const auto& [machine, architecture] :
       {std::pair{std::string_view("x86_64"), x86_64}, std::pair{std::string_view("aarch64"), aarch64}}) {
    const bool is_intel = machine == "x86_64";
    const auto expect = [&](std::uint32_t intel, std::uint32_t arm, std::vector<std::uint64_t> arguments, bool is_let) {
      EXPECT_EQ(answer(machine, architecture, is_intel ? intel : arm, arguments), is_let ? allowed : failing(EPERM))
          << machine << " " << intel;
    };
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> schedulers{{142, 118}, {144, 119}, {314, 274}};
    for (const auto& [intel, arm] : schedulers) {
      expect(intel, arm, {0, 8}, true);
      expect(intel, arm, {1, 8}, false);
      expect(intel, arm, {0xffffffff, 8}, false);
      expect(intel, arm, {0x1'0000'0000, 8}, true);  // the kernel uses the low half
    }
    for (const std::uint64_t kind : {0, 1, 2, 3}) {
      expect(141, 140, {kind, 0, 19}, kind == 0);  // setpriority: a process, a group, a user
      expect(251, 30, {kind, 0, 0}, kind == 1);    // ioprio_set: none, a process, a group, a user
      expect(141, 140, {kind, 1, 19}, false);
      expect(251, 30, {kind, 1, 0}, false);
    }
    expect(203, 122, {1, 8}, true);  // sched_setaffinity, which thread libraries call for their new threads
  }
}

TEST(SeccompProgram, only_sockets_that_programs_need_can_be_made) {
  for (const auto& [machine, architecture, socket, pair] :
       {std::tuple{std::string_view("x86_64"), x86_64, 41U, 53U},
        std::tuple{std::string_view("aarch64"), aarch64, 198U, 199U}}) {
    for (std::uint64_t family = 0; family <= 50; ++family) {
      const bool known = family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
      EXPECT_EQ(answer(machine, architecture, socket, {family, SOCK_DGRAM, 0}), known ? allowed : failing(EAFNOSUPPORT))
          << family;
      EXPECT_EQ(answer(machine, architecture, pair, {family, SOCK_STREAM, 0}),
                family == AF_UNIX ? allowed : failing(EAFNOSUPPORT))
          << family;
    }
    for (const std::uint64_t family : {std::uint64_t{AF_INET}, std::uint64_t{AF_INET6}}) {
      EXPECT_EQ(answer(machine, architecture, socket, {family, SOCK_STREAM | SOCK_CLOEXEC, 6}), allowed);
      EXPECT_EQ(answer(machine, architecture, socket, {family, SOCK_RAW, 1}), failing(EPERM));
      EXPECT_EQ(answer(machine, architecture, socket, {family, SOCK_RAW | SOCK_NONBLOCK, 1}), failing(EPERM));
      EXPECT_EQ(answer(machine, architecture, socket, {family, SOCK_PACKET, 1}), failing(EPERM));
    }
    EXPECT_EQ(answer(machine, architecture, socket, {AF_NETLINK, SOCK_RAW, 0}), allowed);  // NETLINK_ROUTE
    for (std::uint64_t protocol = 1; protocol <= 22; ++protocol)
      EXPECT_EQ(answer(machine, architecture, socket, {AF_NETLINK, SOCK_RAW, protocol}), failing(EPERM)) << protocol;
  }
}

TEST(SeccompProgram, jumps_stay_within_the_program_and_it_ends_in_an_answer) {
  for (const std::string_view machine : {"x86_64", "aarch64"}) {
    const std::vector<filter_instruction> program = jail_filter(machine);
    ASSERT_LT(program.size(), std::size_t{BPF_MAXINSNS});
    EXPECT_EQ(program.back().code, BPF_RET | BPF_K);
    for (std::size_t at = 0; at < program.size(); ++at) {
      if ((program[at].code & 7) != BPF_JMP) continue;
      EXPECT_LT(at + 1 + program[at].if_true, program.size());
      EXPECT_LT(at + 1 + program[at].if_false, program.size());
    }
  }
}

namespace {

/// Makes a call in a forked child. Returns 0 or the call's errno. Returns 1000 plus the number of a signal that killed
/// the child.
/// \param program  the filter of the child; empty means none.
template <class Call>
int outcome_under(const std::vector<filter_instruction>& program, Call call) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();  // vhangup() shall find no terminal
    if (!program.empty()) {
      sock_fprog given{static_cast<unsigned short>(program.size()),
                       reinterpret_cast<sock_filter*>(const_cast<filter_instruction*>(program.data()))};
      if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
          ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &given) != 0)
        ::_exit(1);
    }
    errno = 0;
    const int result = call() < 0 ? errno : 0;
    [[maybe_unused]] const ssize_t written = ::write(ends[1], &result, sizeof result);
    ::_exit(0);
  }
  ::close(ends[1]);
  int result = -1;
  if (::read(ends[0], &result, sizeof result) != sizeof result) result = -1;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : result;
}

int outcome_of(long (*call)(), bool is_filtered) {
  if (!is_filtered) return outcome_under({}, call);
  return outcome_under(jail_filter(cofferdam::detail::native_machine()), call);
}

class tried_call {
 public:
  const char* name;
  long (*call)();
  int filtered;
};

#define COFFERDAM_TRY(number, ...) [] { return ::syscall(number __VA_OPT__(, ) __VA_ARGS__); }

}  // namespace

// The arguments are invalid on purpose. If the table has the right number of the call, the call fails with EPERM under
// the filter; without the filter it fails with another error, or succeeds.
TEST(SeccompProgram, the_kernel_refuses_these_calls_under_the_filter_alone) {
  COFFERDAM_NEEDS("seccomp", cofferdam::detail::native_machine() != "" && ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0,
                  "that the kernel takes the filter");
  const tried_call calls[] = {
      {"ptrace", COFFERDAM_TRY(SYS_ptrace, 0, 0, 0, 0), EPERM},  // PTRACE_TRACEME
      {"process_vm_readv", COFFERDAM_TRY(SYS_process_vm_readv, ::getpid(), nullptr, 0, nullptr, 0, 0), EPERM},
      {"process_vm_writev", COFFERDAM_TRY(SYS_process_vm_writev, ::getpid(), nullptr, 0, nullptr, 0, 0), EPERM},
      {"pidfd_getfd", COFFERDAM_TRY(438, -1, 0, 0), EPERM},
      {"unshare", COFFERDAM_TRY(SYS_unshare, 0), EPERM},
      {"setns", COFFERDAM_TRY(SYS_setns, -1, 0), EPERM},
      {"fsconfig", COFFERDAM_TRY(431, -1, 0, nullptr, nullptr, 0), EPERM},
      {"keyctl", COFFERDAM_TRY(SYS_keyctl, 0, -3, 0, 0, 0), EPERM},  // the session keyring
      {"add_key", COFFERDAM_TRY(SYS_add_key, nullptr, nullptr, nullptr, 0, 0), EPERM},
      {"request_key", COFFERDAM_TRY(SYS_request_key, nullptr, nullptr, nullptr, 0), EPERM},
      {"perf_event_open", COFFERDAM_TRY(SYS_perf_event_open, nullptr, 0, -1, -1, 0), EPERM},
      {"io_setup", COFFERDAM_TRY(SYS_io_setup, 0, nullptr), EPERM},
      {"io_uring_enter", COFFERDAM_TRY(426, -1, 0, 0, 0, nullptr, 0), EPERM},
      {"io_uring_register", COFFERDAM_TRY(427, -1, 0, nullptr, 0), EPERM},
      {"personality", COFFERDAM_TRY(SYS_personality, 0x0400000), EPERM},
      {"adjtimex", COFFERDAM_TRY(SYS_adjtimex, nullptr), EPERM},
      {"fchmod", COFFERDAM_TRY(SYS_fchmod, -1, 04755), EPERM},
      {"fchmodat", COFFERDAM_TRY(SYS_fchmodat, -1, "", 02755), EPERM},
      {"mknodat", COFFERDAM_TRY(SYS_mknodat, -1, "", 0104755, 0), EPERM},
      {"openat", COFFERDAM_TRY(SYS_openat, -1, "x", O_CREAT, 04755), EPERM},
      {"openat to read", COFFERDAM_TRY(SYS_openat, -1, "/", O_RDONLY, 04755), 0},
      {"sched_setscheduler", COFFERDAM_TRY(SYS_sched_setscheduler, ::getppid(), 0, nullptr), EPERM},
      {"sched_setparam", COFFERDAM_TRY(SYS_sched_setparam, ::getppid(), nullptr), EPERM},
      {"setpriority", COFFERDAM_TRY(SYS_setpriority, 0, ::getppid(), 0), EPERM},
      {"setpriority of oneself", COFFERDAM_TRY(SYS_setpriority, 0, 0, 5), 0},
      {"clone3", COFFERDAM_TRY(435, nullptr, 0), ENOSYS},
      {"openat2", COFFERDAM_TRY(437, -1, nullptr, nullptr, 0), ENOSYS},
      {"a new call", COFFERDAM_TRY(500), ENOSYS},
      {"AF_ALG", COFFERDAM_TRY(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0), EAFNOSUPPORT},
      {"AF_VSOCK", COFFERDAM_TRY(SYS_socket, 40, SOCK_STREAM, 0), EAFNOSUPPORT},
      {"NETLINK_KOBJECT_UEVENT", COFFERDAM_TRY(SYS_socket, AF_NETLINK, SOCK_RAW, 15), EPERM},
      {"AF_INET", COFFERDAM_TRY(SYS_socket, AF_INET, SOCK_STREAM, 0), 0},
      {"AF_UNIX", COFFERDAM_TRY(SYS_socket, AF_UNIX, SOCK_STREAM, 0), 0},
      {"getpid", COFFERDAM_TRY(SYS_getpid), 0},
  };
  int differing = 0;
  for (const tried_call& each : calls) {
    EXPECT_EQ(outcome_of(each.call, true), each.filtered) << each.name;
    if (each.filtered == EPERM) {
      EXPECT_NE(outcome_of(each.call, false), EPERM) << each.name << ": the filter changes nothing here";
      ++differing;
    }
  }
  EXPECT_EQ(differing, 24);
}

// Takes the rules out one at a time. Each time, a call must have another outcome than under the whole filter. The test
// runs with all capabilities, so nothing but the filter refuses these calls; their arguments are invalid where a valid
// call would change the machine.
TEST(SeccompProgram, without_any_one_rule_a_call_has_another_outcome) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "that each rule of the filter is needed");
  using call = std::function<long()>;
  const std::string_view machine = cofferdam::detail::native_machine();
  const bool is_x86 = machine == "x86_64";
  std::vector<std::pair<std::string, call>> probes;
  // in the order of the rules
  const auto add = [&](const char* name, call made) { probes.emplace_back(name, std::move(made)); };
#if defined(__x86_64__)
  add("i386", [] {
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return result;
  });
  add("x32", [] { return ::syscall(0x40000000 + SYS_getpid); });
#endif
  add("clone3", [] { return ::syscall(435, nullptr, 0); });
  add("openat2", [] { return ::syscall(437, -1, nullptr, nullptr, 0); });
  for (const cofferdam::detail::refused_call& each : cofferdam::detail::refused_calls) {
    const long number = is_x86 ? each.x86_64 : each.aarch64;
    if (number >= 0) probes.emplace_back(each.name, [number] { return ::syscall(number, -1, -1, -1, -1, -1, -1); });
  }
  for (const cofferdam::detail::mode_call& each : cofferdam::detail::mode_calls) {
    const long number = is_x86 ? each.x86_64 : each.aarch64;
    if (number < 0) continue;
    add("a mode", [number, position = each.mode] {
      std::array<long, 4> arguments{-1, -1, -1, -1};  // no path, no descriptor
      arguments.at(position) = 04755;
      return ::syscall(number, arguments[0], arguments[1], arguments[2], arguments[3]);
    });
  }
  for (const cofferdam::detail::schedule_call& each : cofferdam::detail::schedule_calls) {
    const long number = is_x86 ? each.x86_64 : each.aarch64;
    // a target that does not exist, and a kind of target that does not exist
    add("a target", [number, each] {
      return ::syscall(number, each.kind < 0 ? 0x7fffffff : each.process, each.kind < 0 ? 0 : 0x7fffffff, 0);
    });
    if (each.kind >= 0) add("a kind of target", [number] { return ::syscall(number, 77, 0, 0); });
  }
  add("clone", [] { return ::syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS, 0, 0, 0, 0); });  // exclude each other
  add("TIOCSTI", [] { return ::syscall(SYS_ioctl, -1, 0x5412, 0); });
  add("TIOCLINUX", [] { return ::syscall(SYS_ioctl, -1, 0x541c, 0); });
  add("kill of all", [] { return ::syscall(SYS_kill, -1, 9999); });
  add("personality", [] { return ::syscall(SYS_personality, 0x0400000); });
  add("a pair of AF_INET", [] {
    int ends[2];
    return ::syscall(SYS_socketpair, AF_INET, SOCK_STREAM, 0, ends);
  });
  add("NETLINK_KOBJECT_UEVENT", [] { return ::syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 15); });
  for (const int family : {AF_INET, AF_INET6})
    for (const int type : {3, 10}) add("raw", [=] { return ::syscall(SYS_socket, family, type, 255); });
  add("AF_PACKET", [] { return ::syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0); });

  const std::vector<filter_instruction> whole = jail_filter(machine);
  std::vector<int> refused;
  for (const auto& [name, made] : probes) {
    refused.push_back(outcome_under(whole, made));
    EXPECT_NE(refused.back(), 0) << name;
  }
  int rules = 0;
  std::size_t next_probe = 0;
  std::vector<std::size_t> unnoticed;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (whole[at].code != filter_code::answer || whole[at].value == filter_answer::allow) continue;
    ++rules;
    std::vector<filter_instruction> changed = whole;
    changed[at].value = filter_answer::allow;
    // The probes are in the order of the rules, and each needs a process. So the search begins after the last hit.
    bool is_noticed = false;
    for (std::size_t i = 0; i < probes.size() && !is_noticed; ++i) {
      const std::size_t probe = (next_probe + i) % probes.size();
      is_noticed = outcome_under(changed, probes[probe].second) != refused[probe];
      if (is_noticed) next_probe = probe + 1;
    }
    if (!is_noticed) unnoticed.push_back(at);
  }
  EXPECT_GE(rules, 60);
  // Not seen: the answer to calls that are newer than this kernel, because the kernel gives the same.
  ASSERT_LE(unnoticed.size(), std::size_t{1});
  for (const std::size_t at : unnoticed) EXPECT_EQ(whole[at - 1].value, cofferdam::detail::highest_call) << at;
}

#if defined(__x86_64__)
TEST(SeccompProgram, SY_08_calls_of_the_32_bit_and_x32_interfaces_end_the_process) {
  const auto by_interrupt = [] {
    long result = 20;  // getpid of i386
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return result;
  };
  EXPECT_EQ(outcome_of(by_interrupt, true), 1000 + SIGSYS);
  EXPECT_NE(outcome_of(by_interrupt, false), 1000 + SIGSYS) << "the control, without the filter";
  const auto by_x32 = [] { return ::syscall(0x40000000 + SYS_getpid); };
  EXPECT_EQ(outcome_of(by_x32, true), 1000 + SIGSYS);
  EXPECT_NE(outcome_of(by_x32, false), 1000 + SIGSYS) << "the control, without the filter";
}
#endif

}  // namespace seccomp_program_tests
