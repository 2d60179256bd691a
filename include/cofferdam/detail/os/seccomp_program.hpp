// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/version.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

// The system call filter (seccomp) of the jail, a sandbox made of namespaces. It is a program for the kernel's packet
// filter (BPF), assembled here without libseccomp.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// One instruction of the filter (struct sock_filter).
class filter_instruction {
 public:
  std::uint16_t code = 0;
  std::uint8_t if_true = 0;   ///< the number of instructions to skip if the condition is true
  std::uint8_t if_false = 0;  ///< the number of instructions to skip if the condition is false
  std::uint32_t value = 0;

  bool operator==(const filter_instruction&) const = default;
};
static_assert(sizeof(filter_instruction) == 8);

/// The instruction codes that are used here, each composed of class, mode and size (linux/bpf_common.h).
namespace filter_code {
inline constexpr std::uint16_t load = 0x20;           // loads a 32-bit word of struct seccomp_data
inline constexpr std::uint16_t mask = 0x54;           // combines the loaded word and the value by a bitwise and
inline constexpr std::uint16_t jump_equal = 0x15;     // jumps if the word is equal to the value
inline constexpr std::uint16_t jump_greater = 0x25;   // jumps if the word is greater than the value, unsigned
inline constexpr std::uint16_t jump_at_least = 0x35;  // jumps if the word is at least the value, unsigned
inline constexpr std::uint16_t jump_any_bit = 0x45;   // jumps if the word and the value have a common bit
inline constexpr std::uint16_t answer = 0x06;
}  // namespace filter_code

/// The results of a filter (SECCOMP_RET_*).
namespace filter_answer {
inline constexpr std::uint32_t allow = 0x7fff0000;
inline constexpr std::uint32_t kill = 0x80000000;  // kills the whole process
constexpr std::uint32_t fail(int number) noexcept { return 0x00050000U | static_cast<std::uint32_t>(number); }
}  // namespace filter_answer

/// An assembler for filters. The `load_` functions and `mask` change the loaded word; the other functions test it or
/// return a result.
class filter_assembler {
 public:
  /// Loads the low 32 bits of an argument of the system call. For an argument of type int, the kernel uses only these
  /// bits.
  /// \param index  the position of the argument, 0 to 5.
  void load_argument(unsigned index) { add(filter_code::load, 16 + 8 * index); }
  void load_number() { add(filter_code::load, 0); }
  void load_architecture() { add(filter_code::load, 4); }
  void mask(std::uint32_t bits) { add(filter_code::mask, bits); }
  void answer(std::uint32_t value) { add(filter_code::answer, value); }

  void answer_if_equal(std::uint32_t word, std::uint32_t value) {
    add(filter_code::jump_equal, word, 0, 1);
    answer(value);
  }
  void answer_unless_equal(std::uint32_t word, std::uint32_t value) {
    add(filter_code::jump_equal, word, 1, 0);
    answer(value);
  }
  void answer_if_at_least(std::uint32_t word, std::uint32_t value) {
    add(filter_code::jump_at_least, word, 0, 1);
    answer(value);
  }
  void answer_if_greater(std::uint32_t word, std::uint32_t value) {
    add(filter_code::jump_greater, word, 0, 1);
    answer(value);
  }
  void answer_if_any_bit(std::uint32_t bits, std::uint32_t value) {
    add(filter_code::jump_any_bit, bits, 0, 1);
    answer(value);
  }
  void answer_unless_any_bit(std::uint32_t bits, std::uint32_t value) {
    add(filter_code::jump_any_bit, bits, 1, 0);
    answer(value);
  }
  /// Adds the instructions that `body` adds, and skips them at run time unless the loaded word is equal to `word`.
  template <class Body>
  void only_if_equal(std::uint32_t word, Body body) {
    const std::size_t jump = steps_.size();
    add(filter_code::jump_equal, word, 0, 0);
    body();
    steps_[jump].if_false = static_cast<std::uint8_t>(steps_.size() - jump - 1);
  }

  std::vector<filter_instruction> take() noexcept { return std::move(steps_); }

 private:
  void add(std::uint16_t code, std::uint32_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    filter_instruction step;
    step.code = code;
    step.if_true = if_true;
    step.if_false = if_false;
    step.value = value;
    steps_.push_back(step);
  }

  std::vector<filter_instruction> steps_;
};

/// A system call that the filter refuses.
class refused_call {
 public:
  std::string_view name;
  std::int16_t x86_64;   ///< the call's number on x86-64; -1 if it does not exist there
  std::int16_t aarch64;  ///< the call's number on AArch64; -1 if it does not exist there
};

/// The system calls that fail with EPERM, whatever their arguments are. This is a deny list. It names calls that reach
/// parts of the kernel that no ordinary program needs, or that could change the sandbox. Calls newer than this list are
/// refused by `highest_call`.
/// \par Source  the kernel's syscall tables (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h)
inline constexpr auto refused_calls = std::to_array<refused_call>({
    // access to other processes
    {"ptrace", 101, 117},
    {"process_vm_readv", 310, 270},
    {"process_vm_writev", 311, 271},
    {"kcmp", 312, 272},
    {"pidfd_getfd", 438, 438},
    // namespaces and mounts
    {"unshare", 272, 97},
    {"setns", 308, 268},
    {"mount", 165, 40},
    {"umount2", 166, 39},
    {"pivot_root", 155, 41},
    {"chroot", 161, 51},
    {"open_tree", 428, 428},
    {"move_mount", 429, 429},
    {"fsopen", 430, 430},
    {"fsconfig", 431, 431},
    {"fsmount", 432, 432},
    {"fspick", 433, 433},
    {"mount_setattr", 442, 442},
    {"open_tree_attr", 467, 467},
    // parts of the kernel that often had security flaws
    {"bpf", 321, 280},
    {"perf_event_open", 298, 241},
    {"userfaultfd", 323, 282},
    {"io_setup", 206, 0},  // its requests count against a limit of the whole machine
    {"io_uring_setup", 425, 425},
    {"io_uring_enter", 426, 426},
    {"io_uring_register", 427, 427},
    {"add_key", 248, 217},
    {"request_key", 249, 218},
    {"keyctl", 250, 219},
    {"fanotify_init", 300, 262},
    {"fanotify_mark", 301, 263},
    {"open_by_handle_at", 304, 265},
    {"lookup_dcookie", 212, 18},
    {"nfsservctl", 180, 42},
    {"modify_ldt", 154, -1},
    {"uselib", 134, -1},
    {"_sysctl", 156, -1},
    {"sysfs", 139, -1},
    // settings and modules of the whole machine
    {"kexec_load", 246, 104},
    {"kexec_file_load", 320, 294},
    {"create_module", 174, -1},
    {"init_module", 175, 105},
    {"finit_module", 313, 273},
    {"delete_module", 176, 106},
    {"get_kernel_syms", 177, -1},
    {"query_module", 178, -1},
    {"iopl", 172, -1},
    {"ioperm", 173, -1},
    {"swapon", 167, 224},
    {"swapoff", 168, 225},
    {"reboot", 169, 142},
    {"acct", 163, 89},
    {"quotactl", 179, 60},
    {"quotactl_fd", 443, 443},
    {"syslog", 103, 116},
    {"settimeofday", 164, 170},
    {"clock_settime", 227, 112},
    {"clock_adjtime", 305, 266},
    {"adjtimex", 159, 171},
    {"sethostname", 170, 161},
    {"setdomainname", 171, 162},
    {"vhangup", 153, 58},
});

/// A system call that sets the mode of a file.
class mode_call {
 public:
  std::string_view name;
  std::int16_t x86_64;   ///< the call's number on x86-64; -1 if it does not exist there
  std::int16_t aarch64;  ///< the call's number on AArch64; -1 if it does not exist there
  std::uint8_t mode;     ///< the position of the argument with the mode
  std::int8_t flags;     ///< the position of the argument with the flags of open(2); -1 if there is none
};

/// The system calls that can set the mode of a file. mkdir(2) is not among them, because it ignores the bits that
/// matter here, and openat2(2) is refused as a whole, because a filter cannot read its mode.
inline constexpr auto mode_calls = std::to_array<mode_call>({
    {"chmod", 90, -1, 1, -1},
    {"fchmod", 91, 52, 1, -1},
    {"fchmodat", 268, 53, 2, -1},
    {"fchmodat2", 452, 452, 2, -1},
    {"mknod", 133, -1, 1, -1},
    {"mknodat", 259, 33, 2, -1},
    {"creat", 85, -1, 1, -1},
    {"open", 2, -1, 2, 1},
    {"openat", 257, 56, 3, 2},
});

/// A system call that changes how the kernel schedules a process or thread.
class schedule_call {
 public:
  std::string_view name;
  std::int16_t x86_64;   ///< the call's number on x86-64
  std::int16_t aarch64;  ///< the call's number on AArch64
  std::uint8_t target;   ///< the position of the argument with the target: a process or thread, or 0 for the caller
  std::int8_t kind;      ///< the position of the argument that says what the target is; -1 if there is none
  std::uint8_t process;  ///< the value of the kind for a process or thread
};

/// The system calls that could take the processor from the warden, which has the same user as the commands. The call
/// sched_setaffinity(2) is not among them: thread libraries such as OpenMP's set the processors of their new threads
/// with it, and it slows the warden no more than busy processes on all processors do.
inline constexpr auto schedule_calls = std::to_array<schedule_call>({
    {"sched_setparam", 142, 118, 0, -1, 0},
    {"sched_setscheduler", 144, 119, 0, -1, 0},
    {"sched_setattr", 314, 274, 0, -1, 0},
    {"setpriority", 141, 140, 1, 0, 0},  // PRIO_PROCESS
    {"ioprio_set", 251, 30, 1, 0, 1},    // IOPRIO_WHO_PROCESS
});

/// An architecture: its name, and the numbers of the system calls whose arguments the filter checks.
class filter_machine {
 public:
  std::string_view name;
  std::uint32_t architecture;  ///< the value of AUDIT_ARCH_* in seccomp_data
  std::int16_t refused_call::*number;
  std::int16_t mode_call::*mode_number;
  std::int16_t schedule_call::*schedule_number;
  std::uint32_t ioctl;
  std::uint32_t clone;
  std::uint32_t kill;
  std::uint32_t personality;
  std::uint32_t socket;
  std::uint32_t socketpair;
};

inline constexpr auto filter_machines = std::to_array<filter_machine>({
    {"x86_64", 0xc000003e, &refused_call::x86_64, &mode_call::x86_64, &schedule_call::x86_64, 16, 56, 62, 135, 41, 53},
    {"aarch64", 0xc00000b7, &refused_call::aarch64, &mode_call::aarch64, &schedule_call::aarch64, 29, 220, 129, 92, 198,
     199},
});

/// The highest system call number of Linux 6.17. Higher numbers fail with ENOSYS, as on an older kernel.
inline constexpr std::uint32_t highest_call = 469;
inline constexpr std::uint32_t clone3_call = 435;
inline constexpr std::uint32_t openat2_call = 437;
/// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. CLONE_NEWTIME is not needed, because only clone3
/// and unshare accept it.
inline constexpr std::uint32_t new_namespace_flags = 0x7e020000;

/// Returns the filter of the jail for an architecture.
/// \param machine  the name of the architecture in `uname -m`. For an unknown name the result is empty.
///
/// The filter decides by these rules:
/// - Calls of any other architecture kill the process. On x86-64 these are the calls by `int 0x80`, and those of x32,
///   which are recognized by their numbers.
/// - These fail with EPERM: `refused_calls`; clone(2) with a flag for a new namespace; ioctl(2) with TIOCSTI or
///   TIOCLINUX; kill(2) of all processes (-1), which a shell may call by accident; personality(2) with a value other
///   than 0; raw sockets; netlink sockets other than NETLINK_ROUTE.
/// - `mode_calls` with S_ISUID or S_ISGID fail with EPERM. In a folder that is mounted, such a file would give other
///   users of the machine the rights of the folder's owner. A filter cannot tell folders from files.
/// - `schedule_calls` for anything but the calling thread, as which they name it by 0, fail with EPERM. A filter cannot
///   tell the threads of a command from the warden. So pthread_setschedparam(3) fails, and `nice` works.
/// - clone3(2) and openat2(2) fail with ENOSYS, because a filter cannot read their flags and modes. The C library then
///   uses clone(2), and programs open(2).
/// - Sockets other than Unix, IPv4, IPv6 and netlink fail with EAFNOSUPPORT.
/// - All other calls are allowed.
inline std::vector<filter_instruction> jail_filter(std::string_view machine) {
  const filter_machine* found = nullptr;
  for (const filter_machine& one : filter_machines)
    if (one.name == machine) found = &one;
  if (found == nullptr) return {};
  constexpr std::uint32_t all_bits = 0xffffffff;
  constexpr std::uint32_t first_x32_call = 0x40000000;
  const std::uint32_t no_permission = filter_answer::fail(EPERM);
  filter_assembler program;
  program.load_architecture();
  program.answer_unless_equal(found->architecture, filter_answer::kill);
  program.load_number();
  if (found->name == "x86_64") program.answer_if_at_least(first_x32_call, filter_answer::kill);
  program.answer_if_greater(highest_call, filter_answer::fail(ENOSYS));
  program.answer_if_equal(clone3_call, filter_answer::fail(ENOSYS));
  program.answer_if_equal(openat2_call, filter_answer::fail(ENOSYS));
  for (const refused_call& call : refused_calls)
    if (call.*(found->number) >= 0)
      program.answer_if_equal(static_cast<std::uint32_t>(call.*(found->number)), no_permission);

  constexpr std::uint32_t gives_rights = 06000;           // S_ISUID | S_ISGID
  constexpr std::uint32_t makes_file = 0100 | 020000000;  // O_CREAT | __O_TMPFILE
  for (const mode_call& call : mode_calls) {
    if (call.*(found->mode_number) < 0) continue;
    program.only_if_equal(static_cast<std::uint32_t>(call.*(found->mode_number)), [&] {
      if (call.flags >= 0) {  // otherwise the mode is not used, and may be anything
        program.load_argument(static_cast<unsigned>(call.flags));
        program.answer_unless_any_bit(makes_file, filter_answer::allow);
      }
      program.load_argument(call.mode);
      program.answer_if_any_bit(gives_rights, no_permission);
      program.answer(filter_answer::allow);
    });
  }
  for (const schedule_call& call : schedule_calls)
    program.only_if_equal(static_cast<std::uint32_t>(call.*(found->schedule_number)), [&] {
      if (call.kind >= 0) {
        program.load_argument(static_cast<unsigned>(call.kind));
        program.answer_unless_equal(call.process, no_permission);
      }
      program.load_argument(call.target);
      program.answer_unless_equal(0, no_permission);
      program.answer(filter_answer::allow);
    });
  program.only_if_equal(found->clone, [&] {
    program.load_argument(0);
    program.answer_if_any_bit(new_namespace_flags, no_permission);
    program.answer(filter_answer::allow);
  });
  program.only_if_equal(found->ioctl, [&] {
    constexpr std::uint32_t push_input = 0x5412;     // TIOCSTI
    constexpr std::uint32_t console_calls = 0x541c;  // TIOCLINUX
    program.load_argument(1);
    program.answer_if_equal(push_input, no_permission);
    program.answer_if_equal(console_calls, no_permission);
    program.answer(filter_answer::allow);
  });
  program.only_if_equal(found->kill, [&] {
    program.load_argument(0);
    program.answer_if_equal(all_bits, no_permission);
    program.answer(filter_answer::allow);
  });
  program.only_if_equal(found->personality, [&] {
    program.load_argument(0);
    program.answer_if_equal(0, filter_answer::allow);
    program.answer_if_equal(all_bits, filter_answer::allow);  // queries the personality without changing it
    program.answer(no_permission);
  });
  constexpr std::uint32_t unix_family = 1;
  program.only_if_equal(found->socketpair, [&] {
    program.load_argument(0);
    program.answer_unless_equal(unix_family, filter_answer::fail(EAFNOSUPPORT));
    program.answer(filter_answer::allow);
  });
  program.only_if_equal(found->socket, [&] {
    constexpr std::uint32_t internet = 2, internet6 = 10, netlink = 16;
    constexpr std::uint32_t kind_bits = 0xf, raw = 3, packet = 10;
    constexpr std::uint32_t route = 0;
    program.load_argument(0);
    program.answer_if_equal(unix_family, filter_answer::allow);
    program.only_if_equal(netlink, [&] {
      program.load_argument(2);
      program.answer_unless_equal(route, no_permission);
      program.answer(filter_answer::allow);
    });
    const auto not_raw = [&] {
      program.load_argument(1);
      program.mask(kind_bits);
      program.answer_if_equal(raw, no_permission);
      program.answer_if_equal(packet, no_permission);
      program.answer(filter_answer::allow);
    };
    program.only_if_equal(internet, not_raw);
    program.only_if_equal(internet6, not_raw);
    program.answer(filter_answer::fail(EAFNOSUPPORT));
  });
  program.answer(filter_answer::allow);
  return program.take();
}

/// Returns the filter as bytes, in the form that the kernel and bubblewrap read.
inline bytes filter_bytes(std::span<const filter_instruction> program) {
  bytes content(program.size_bytes());
  if (!content.empty()) std::memcpy(content.data(), program.data(), content.size());
  return content;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
