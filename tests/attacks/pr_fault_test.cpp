// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attack PR-09 of the project's catalogue of attacks: a cancellation, a destruction, a failing allocation or a
// failing system call at every point where it can happen. The tests compare counts of processes and descriptors
// before and after, and run under the sanitizers.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/reaper.hpp>

#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/forbid.hpp"
#include "support/forked_host.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// Number of allocations of this thread until one fails; 1 is the next allocation. 0 means that no allocation fails.
thread_local std::size_t failing_allocation = 0;
thread_local bool allocation_failed = false;

bool must_fail() noexcept {
  if (failing_allocation == 0 || --failing_allocation != 0) return false;
  allocation_failed = true;
  return true;
}

}  // namespace

// Not inlined, because g++ 12 would otherwise warn that malloc and free do not match new and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* block = must_fail() ? nullptr : std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
// The test does not replace Asio's own allocations (aligned new): Asio ends the program if one of them fails, and the
// library cannot prevent that.

namespace {

using asio::awaitable;
using cofferdam::as_bytes;
using cofferdam::command_result;
using cofferdam::exec_errc;
using cofferdam::output_chunk;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::with;
using cofferdam_test::attack_folder;
using cofferdam_test::cancel_after;
using cofferdam_test::census;
using cofferdam_test::destroy_after;
using cofferdam_test::eventually;
using cofferdam_test::forbid;
using cofferdam_test::in_forked_host;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;
using cofferdam_test::watchdog;
using namespace std::chrono_literals;
using namespace std::string_literals;

auto provider(const attack_folder& base) { return base.provider(5ms, 5ms); }

class PrFaultAttack : public cofferdam_test::attack_places {
 protected:
  /// Every step in `local`. In the jail, where each attempt takes longer, one of this many.
  std::size_t stride() const { return GetParam() == "jail" && !cofferdam_test::is_soak() ? 5 : 1; }
};
INSTANTIATE_TEST_SUITE_P(Places, PrFaultAttack, cofferdam_test::in_places("local", "jail"), cofferdam_test::place_name);

/// Exercises a command, a background child, a process with input, a time limit and files. Adds one to `results` for
/// each of four correct results.
awaitable<void> a_little_of_everything(const attack_folder& base, int& results) {
  const auto body = [&](auto& env) -> awaitable<void> {
    co_await write_text(env, "file", "text");
    command_result first = co_await env.run_command(shell("cat file; sleep 60 & exit 3").keep_output(100));
    if (first.exit_code() == 3 && first.out().text() == "text") ++results;
    process running = co_await env.start(shell("read a; echo got $a; sleep 60 & echo err >&2").open_input());
    co_await running.write_input(as_bytes("it\n"));
    std::string out;
    for (;;) {
      output_chunk piece = co_await running.read();
      if (piece.end()) break;
      out += cofferdam::as_text(piece.data());
    }
    command_result second = co_await running.wait();
    if (second.ok() && out.find("got it\n") != std::string::npos) ++results;
    command_result third = co_await env.run_command(shell("trap '' TERM; sleep 60").timeout(5ms));
    if (third.kind() == cofferdam::error_kind::timeout) ++results;
    std::string text = co_await read_text(env, "file");
    if (text == "text") ++results;
  };
  co_await with(provider(base), std::ref(body));
}

/// Returns a name for the exception: "cancelled", "no memory", "error N", "system N", "" for none, and "?" for any
/// other.
std::string name_of(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "no memory";
  } catch (const cofferdam::error& thrown) {
    if (thrown.code() == exec_errc::cancelled) return "cancelled";
    return "error " + std::to_string(thrown.code().value());
  } catch (const std::system_error& thrown) {
    if (thrown.code() == asio::error::operation_aborted) return "cancelled";
    return "system " + std::to_string(thrown.code().value());
  } catch (...) {
    return "?";
  }
  return "";
}

/// Expects that the counts return to `before`, within the time that the library needs to reap its child processes.
void expect_as_before(const temporary_folder& base, const census& before, const std::string& where) {
  eventually(
      [&] {
        cofferdam::detail::reaper::instance().sweep();
        return census::take(base.path()) == before;
      },
      5s);
  EXPECT_EQ(census::take(base.path()), before) << where;
}

/// One run of `a_little_of_everything`. Stores the exception of the coroutine, an exception from the event loop, and
/// true in `ended` if the coroutine finished.
class fault_run {
 public:
  bool ended = false;
  std::string outcome;
  std::string thrown_by_loop;

  fault_run(asio::io_context& loop, const attack_folder& base, int& results) {
    // The coroutine runs on no strand, so each operation switches to the environment's own strand and back.
    cofferdam_test::spawn(loop, a_little_of_everything(base, results), [this](std::exception_ptr failure) {
      outcome = name_of(failure);
      ended = true;
    });
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < end) {
      try {
        loop.restart();
        loop.run_for(10s);
        break;
      } catch (...) {
        thrown_by_loop = name_of(std::current_exception());
      }
    }
  }
};

}  // namespace

TEST_P(PrFaultAttack, PR_09_cancelled_at_every_step_it_leaves_nothing) {
  const attack_folder base(GetParam());
  run([&]() -> awaitable<void> {
    int results = 0;
    co_await a_little_of_everything(base, results);
    EXPECT_EQ(results, 4) << "the control: undisturbed, all is right";
  });
  const census before = census::take(base.path());
  std::size_t handlers = 0;
  for (bool ended = false; !ended; handlers += stride()) {
    ASSERT_LT(handlers, 2000U);
    std::exception_ptr failure;
    int results = 0;
    ended = cancel_after(
        handlers, [&] { return a_little_of_everything(base, results); }, failure);
    const std::string name = name_of(failure);
    EXPECT_TRUE(name == "cancelled" || name.empty()) << "after " << handlers << " handlers: " << name;
    if (base.is_jail())
      expect_as_before(base, before, "after " + std::to_string(handlers) + " handlers");
    else
      EXPECT_EQ(census::take(base.path()), before) << "after " << handlers << " handlers";
  }
  std::cout << handlers << " steps\n";
  EXPECT_GT(handlers, 20U);
}

TEST_P(PrFaultAttack, PR_09_destroyed_at_every_step_it_leaves_nothing) {
  const attack_folder base(GetParam());
  const census before = census::take(base.path());
  std::size_t handlers = 0;
  for (bool ended = false; !ended; handlers += stride()) {
    ASSERT_LT(handlers, 2000U);
    int results = 0;
    ended = destroy_after(handlers, [&] { return a_little_of_everything(base, results); });
    expect_as_before(base, before, "after " + std::to_string(handlers) + " handlers");
  }
  std::cout << handlers << " steps\n";
  EXPECT_GT(handlers, 20U);
}

TEST(Attack, PR_09_with_any_allocation_failing_it_ends_and_leaves_nothing) {
#if !defined(ASIO_HAS_STD_ALIGNED_ALLOC)
  // Asio 1.22 uses aligned new only if a standard header was included before Asio's first header. Otherwise Asio's
  // allocations cannot be distinguished from those of the library.
  std::cout << "not proven here: in this build Asio's own memory cannot be told from ours\n";
  return;
#endif
  const attack_folder base("local");
  const watchdog guard(600s);
  const census before = census::take(base.path());
  std::size_t number = 1;
  std::size_t from_loop = 0;
  for (;; ++number) {
    ASSERT_LT(number, 5000U);
    std::optional<asio::io_context> loop(std::in_place, 1);
    int results = 0;
    // Asio ends the program if it cannot allocate what an operation needs at its first use. One undisturbed run makes
    // these allocations before the test.
    const fault_run undisturbed(*loop, base, results);
    // Asio's strand service creates its 193 mutexes on demand, and Asio 1.22 ends the program if it cannot create
    // one. The number of a strand selects its mutex, so 4,000 strands create all of them.
    for (int i = 0; i < 4000; ++i) asio::make_strand(loop->get_executor());
    ASSERT_EQ(results, 4) << undisturbed.outcome;
    allocation_failed = false;
    failing_allocation = number;
    std::optional<fault_run> attempt;
    std::string outside;
    try {
      attempt.emplace(*loop, base, results);
    } catch (...) {
      outside = name_of(std::current_exception());
    }
    failing_allocation = 0;
    loop.reset();
    const std::string where = "allocation " + std::to_string(number);
    if (attempt) {
      EXPECT_TRUE(attempt->ended) << where
                                  << " left the coroutine hanging; the loop threw: " << attempt->thrown_by_loop;
      EXPECT_NE(attempt->outcome, "?") << where;
      if (!attempt->thrown_by_loop.empty()) ++from_loop;
    } else {
      EXPECT_EQ(outside, "no memory") << where;
    }
    expect_as_before(base, before, where);
    if (::testing::Test::HasFailure()) break;
    if (!allocation_failed) break;
  }
  std::cout << number - 1 << " allocations, " << from_loop << " of them thrown by the loop\n";
  EXPECT_GT(number, 100U);
}

TEST(Attack, PR_09_with_any_number_of_descriptors_left_it_ends_with_a_typed_error_and_leaves_nothing) {
  if (cofferdam_test::is_sanitized()) {
    std::cout << "not proven here: the sanitizers need descriptors themselves, and take their absence for a bug\n";
    return;
  }
  const attack_folder base("local");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const watchdog guard(600s);
  const census before = census::take(base.path());
  int right = 0;
  for (rlim_t room = 0; room < 60 && right < 2; ++room) {
    int results = 0;
    std::string outcome = "the loop could not be made";
    {
      const int lowest_free = ::dup(0);
      ::close(lowest_free);
      rlimit low = limit;
      low.rlim_cur = static_cast<rlim_t>(lowest_free) + room;
      ::setrlimit(RLIMIT_NOFILE, &low);
      try {
        asio::io_context loop(1);
        const fault_run attempt(loop, base, results);
        outcome = attempt.outcome;
        EXPECT_TRUE(attempt.ended) << room << " left";
        EXPECT_EQ(attempt.thrown_by_loop, "") << room << " left";
      } catch (const std::system_error&) {
      }
      ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    EXPECT_TRUE(outcome.empty() || outcome.starts_with("error ") || outcome.starts_with("the loop"))
        << room << " left: " << outcome;
    expect_as_before(base, before, std::to_string(room) + " descriptors left");
    if (results == 4 && outcome.empty()) ++right;
  }
  EXPECT_EQ(right, 2) << "with enough of them, all is right";
}

namespace {

struct system_call {
  const char* name;
  long number;
  int error;
};

}  // namespace

TEST(Attack, PR_09_with_a_system_call_that_always_fails_it_ends_with_a_typed_error_and_leaves_nothing) {
  const system_call calls[] = {
      {"pipe2", SYS_pipe2, EMFILE},
      {"clone", SYS_clone, EAGAIN},
      {"dup3", SYS_dup3, EBUSY},
      {"fchdir", SYS_fchdir, EACCES},
      {"execve", SYS_execve, ENOMEM},
      {"setsid", SYS_setsid, EPERM},
      {"close_range", SYS_close_range, ENOSYS},
      {"openat2", SYS_openat2, ENOSYS},
      {"mkdirat", SYS_mkdirat, ENOSPC},
      {"unlinkat", SYS_unlinkat, EBUSY},
      {"getdents64", SYS_getdents64, EIO},
      {"ioctl", SYS_ioctl, ENOTTY},
      {"waitid", SYS_waitid, ECHILD},
      {"epoll_ctl", SYS_epoll_ctl, ENOSPC},
      {"prlimit64", SYS_prlimit64, EPERM},
  };
  for (const system_call& call : calls) {
    const attack_folder base("local");
    const std::string report = in_forked_host(
        [&] {
          int results = 0;
          if (!forbid(call.number, call.error)) return "no seccomp"s;
          std::string outcome;
          try {
            asio::io_context loop(1);
            const fault_run attempt(loop, base, results);
            outcome = attempt.ended ? attempt.outcome : "hangs";
          } catch (...) {
            outcome = name_of(std::current_exception());
          }
          return outcome.empty() ? std::to_string(results) + " right" : outcome;
        },
        30);
    std::cout << call.name << ": " << report << "\n";
    const bool typed = report.starts_with("error ") || report.ends_with(" right");
    EXPECT_TRUE(typed) << call.name << ": " << report;
    EXPECT_TRUE(eventually([&] { return cofferdam_test::guests_of(base.path()).empty(); }, 2s)) << call.name;
    cofferdam_test::kill_guests_of(base.path());
  }
}
