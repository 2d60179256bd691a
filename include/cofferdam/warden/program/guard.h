// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Landlock and seccomp for one command. They protect the warden (the helper program in a sandbox) and its supervisors
// (see supervisor.h) from the command, which may have the same user id.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

#include "system.h"

namespace wire = cofferdam::detail::wire;

// ---- Landlock -------------------------------------------------------------------------------------------------------

inline constexpr long nr_landlock_create_ruleset = 444, nr_landlock_add_rule = 445, nr_landlock_restrict_self = 446;

/// Returns the version of the kernel's Landlock interface (ABI); less than 1 if the kernel has no Landlock.
inline long landlock_abi() { return kernel(nr_landlock_create_ruleset, 0, 0, 1); }  // LANDLOCK_CREATE_RULESET_VERSION

/// Forbids the calling process to signal or trace processes outside of its Landlock domain, and to connect to their
/// abstract sockets. Needs Landlock ABI 6.
inline long enter_scope() {
  struct {
    u64 files, network, scoped;
  } const rules{0, 0, 3};  // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL
  const long ruleset = kernel(nr_landlock_create_ruleset, address(&rules), sizeof rules, 0);
  if (ruleset < 0) return ruleset;
  return kernel(nr_landlock_restrict_self, ruleset, 0);  // exec closes the descriptor
}

/// Forbids the calling process to trace processes outside of its Landlock domain. Every Landlock domain has this
/// effect. Needs Landlock ABI 2.
///
/// A ruleset must handle at least one access right. A ruleset that handles a right on files forbids moving files
/// between directories, unless it grants the right REFER. This ruleset therefore handles REFER and one other right, and
/// grants both everywhere.
inline long enter_domain() {
  constexpr u64 make_block = u64{1} << 11, refer = u64{1} << 13;
  const u64 handled = make_block | refer;
  const long ruleset = kernel(nr_landlock_create_ruleset, address(&handled), sizeof handled, 0);
  if (ruleset < 0) return ruleset;
  const int root = open_at(at_fdcwd, "/", o_path | o_directory);
  if (root < 0) return root;
  struct __attribute__((packed)) {
    u64 granted;
    i32 beneath;
  } const rule{handled, root};
  const long result = kernel(nr_landlock_add_rule, ruleset, 1, address(&rule), 0);  // LANDLOCK_RULE_PATH_BENEATH
  if (result < 0) return result;
  return kernel(nr_landlock_restrict_self, ruleset, 0);
}

// ---- seccomp --------------------------------------------------------------------------------------------------------

/// One instruction of a filter (struct sock_filter).
struct filter_step {
  u16 code = 0;
  u8 if_equal = 0;
  u8 if_not = 0;
  u32 value = 0;
};

/// The numbers of the system calls that the filter checks, for one ABI. In `tracing`, unused elements repeat another
/// number.
struct filtered_calls {
  u32 abi;              ///< AUDIT_ARCH_*
  u32 mask;             ///< a mask that is applied to the number of a call
  u32 set_limits;       ///< the number of prlimit64
  u32 set_own_limits;   ///< the number of setrlimit
  u32 tracing[8];       ///< the numbers of ptrace, process_vm_readv, process_vm_writev, kcmp and pidfd_getfd
  u32 schedule[3];      ///< the numbers of sched_setparam, sched_setscheduler and sched_setattr
  u32 set_priority;     ///< the number of setpriority
  u32 set_io_priority;  ///< the number of ioprio_set
};

#if defined(__x86_64__)
// x32 has the same AUDIT_ARCH value as x86-64, and bit 30 is set in the numbers of its calls. Before Linux 5.4, some
// numbers worked both with and without this bit. The mask therefore removes the bit, and the numbers of both ABIs are
// refused.
inline constexpr filtered_calls filtered[2] = {
    {0xc000003e,
     ~0x40000000U,
     302,
     160,
     {101, 310, 311, 312, 438, 521, 539, 540},
     {142, 144, 314},
     141,
     251},                                                                                          // with x32
    {0x40000003, ~0U, 340, 75, {26, 347, 348, 349, 438, 438, 438, 438}, {154, 156, 351}, 97, 289},  // i386
};
#else
inline constexpr filtered_calls filtered[2] = {
    {0xc00000b7, ~0U, 261, 164, {117, 270, 271, 272, 438, 438, 438, 438}, {118, 119, 274}, 140, 30},  // aarch64
    {0x40000028, ~0U, 369, 75, {26, 376, 377, 378, 438, 438, 438, 438}, {154, 156, 380}, 97, 314},    // 32-bit Arm
};
#endif

/// The filter. Changing a limit or the scheduling of another process fails with EPERM. Tracing fails with EPERM, too,
/// unless `enter_filter` replaces the instruction at `on_tracing`.
///
/// The kernel takes a process number as an int, so the filter compares only its low 32 bits. It compares all 64 bits of
/// a pointer. The filter cannot know the process's own number, so only 0 is recognized as the process itself; the
/// process's own number is refused, and so are groups of processes and all processes of a user. The processors on which
/// others run can be changed, because thread libraries set those of their new threads. All ABIs of x86-64 and aarch64
/// machines are listed. A call of any other ABI kills the process.
///
/// A change of the process's own limit of core files has no effect: with a soft limit of 0 in place of 1, the kernel
/// would run the core handler of the host. Programs set this limit to 0 and expect that it works, so the call succeeds.
/// If it also asks for the old limit, which a filter cannot write, it fails with EPERM.
struct filter_text {
  filter_step steps[68];
  u16 size;
  u16 on_tracing;

  static constexpr u32 allow = 0x7fff0000, refuse = 0x00050000 | EPERM, ignore = 0x00050000, kill = 0x80000000;

  constexpr filter_text() : steps{}, size(0), on_tracing(0) {
    constexpr u16 load = 0x20, equal = 0x15, mask = 0x54, answer = 0x06;
    constexpr u32 rlimit_core = 4;
    // Placeholders for jumps beyond the current block. They are replaced at the end.
    constexpr u8 to_limits = 250, to_tracing = 251, to_allow = 252, to_refuse = 253, to_kill = 254, to_next_abi = 255;
    constexpr u8 to_schedule = 247, to_priority = 248, to_io_priority = 249;
    constexpr u8 to_own_limits = 244, to_core_limit = 245, to_ignore = 246;
    u16 abi_at[2] = {};
    add(load, 4);  // loads seccomp_data::arch
    for (int i = 0; i < 2; ++i) {
      const filtered_calls& calls = filtered[i];
      abi_at[i] = size;
      add(equal, calls.abi, 0, i == 0 ? to_next_abi : to_kill);
      add(load, 0);  // loads seccomp_data::nr
      add(mask, calls.mask);
      add(equal, calls.set_limits, to_limits, 0);
      add(equal, calls.set_own_limits, to_own_limits, 0);
      for (int k = 0; k < 8; ++k) {
        bool repeated = false;
        for (int j = 0; j < k; ++j) repeated = repeated || calls.tracing[j] == calls.tracing[k];
        if (!repeated) add(equal, calls.tracing[k], to_tracing, 0);
      }
      for (const u32 call : calls.schedule) add(equal, call, to_schedule, 0);
      add(equal, calls.set_priority, to_priority, 0);
      add(equal, calls.set_io_priority, to_io_priority, 0);
      add(answer, allow);
    }
    const u16 limits_at = size;
    add(load, 16);  // loads the first argument: the process whose limits are changed
    add(equal, 0, to_core_limit, 0);
    add(load, 32);  // loads the third argument, first its low half: the new limits, or null
    add(equal, 0, 0, to_refuse);
    add(load, 36);
    add(equal, 0, to_allow, to_refuse);
    const u16 own_limits_at = size;
    add(load, 16);  // loads the first argument: the limit
    add(equal, rlimit_core, to_ignore, to_allow);
    const u16 core_limit_at = size;
    add(load, 24);  // loads the second argument: the limit
    add(equal, rlimit_core, 0, to_allow);
    add(load, 32);  // the new limits
    add(equal, 0, 0, 2);
    add(load, 36);
    add(equal, 0, to_allow, 0);
    add(load, 40);  // loads the fourth argument: the place for the old limits, or null
    add(equal, 0, 0, to_refuse);
    add(load, 44);
    add(equal, 0, to_ignore, to_refuse);
    const u16 priority_at = size;
    add(load, 16);                // loads the first argument: what the second argument names
    add(equal, 0, 2, to_refuse);  // PRIO_PROCESS
    const u16 io_priority_at = size;
    add(load, 16);
    add(equal, 1, 0, to_refuse);  // IOPRIO_WHO_PROCESS
    add(load, 24);                // loads the second argument: the process
    add(equal, 0, to_allow, to_refuse);
    const u16 schedule_at = size;
    add(load, 16);  // loads the first argument: the process
    add(equal, 0, to_allow, 0);
    const u16 refuse_at = size;
    add(answer, refuse);
    on_tracing = size;
    add(answer, refuse);
    const u16 ignore_at = size;
    add(answer, ignore);
    const u16 allow_at = size;
    add(answer, allow);
    const u16 kill_at = size;
    add(answer, kill);
    for (u16 i = 0; i < size; ++i) {
      for (u8* target : {&steps[i].if_equal, &steps[i].if_not}) {
        u16 at = 0;
        switch (*target) {
          case to_limits: at = limits_at; break;
          case to_own_limits: at = own_limits_at; break;
          case to_core_limit: at = core_limit_at; break;
          case to_ignore: at = ignore_at; break;
          case to_schedule: at = schedule_at; break;
          case to_priority: at = priority_at; break;
          case to_io_priority: at = io_priority_at; break;
          case to_tracing: at = on_tracing; break;
          case to_allow: at = allow_at; break;
          case to_refuse: at = refuse_at; break;
          case to_kill: at = kill_at; break;
          case to_next_abi: at = abi_at[1]; break;
          default: continue;
        }
        *target = static_cast<u8>(at - i - 1);
      }
    }
  }

 private:
  constexpr void add(u16 code, u32 value, u8 if_equal = 0, u8 if_not = 0) {
    steps[size++] = filter_step{code, if_equal, if_not, value};
  }
};
inline constexpr filter_text filter{};

/// Returns true if the kernel supports seccomp filters (CONFIG_SECCOMP_FILTER). A null program then gives EFAULT.
inline bool takes_filters() { return kernel(__NR_prctl, 22, 2, 0, 0, 0) == -EFAULT; }  // PR_SET_SECCOMP, a null program

/// The flags of a command that choose its filter. A command that has none of them has no filter.
inline constexpr u32 filter_flags = wire::spawn_filter | wire::spawn_refuse_tracing;

/// Installs the filter permanently for the calling process and all of its descendants. Needs no_new_privs.
inline long enter_filter(bool refuses_tracing) {
  filter_step steps[sizeof filter.steps / sizeof *filter.steps];
  memcpy(steps, filter.steps, sizeof steps);
  if (!refuses_tracing) steps[filter.on_tracing].value = filter_text::allow;
  struct {
    u16 size;
    const filter_step* steps;
  } const program{filter.size, steps};
  // Without SECCOMP_FILTER_FLAG_SPEC_ALLOW (since Linux 4.17), kernels before 5.16 slow down every program under a
  // filter.
  long result = kernel(__NR_seccomp, 1, 4, address(&program));  // SECCOMP_SET_MODE_FILTER
  if (result == -EINVAL) result = kernel(__NR_seccomp, 1, 0, address(&program));
  if (result == -ENOSYS) result = kernel(__NR_prctl, 22, 2, address(&program), 0, 0);
  return result;
}
