// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/os/pipe.hpp>

#include "support/forked_host.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using cofferdam::as_bytes;
using cofferdam::exec_errc;
using cofferdam::unique_fd;
using cofferdam::detail::make_pipe;
using cofferdam::detail::pipe_ends;
using cofferdam::detail::set_nonblocking;
using cofferdam::detail::usable;
using cofferdam::detail::write_without_sigpipe;
using cofferdam_test::in_forked_host;
using cofferdam_test::open_descriptors;
using namespace std::string_literals;

/// Blocks or unblocks SIGPIPE until the end of the scope, and sets its default action, which ends the process.
class sigpipe_state {
 public:
  explicit sigpipe_state(bool blocked) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGPIPE, &standard, &action_);
    sigset_t sigpipe_only;
    ::sigemptyset(&sigpipe_only);
    ::sigaddset(&sigpipe_only, SIGPIPE);
    ::pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &sigpipe_only, &mask_);
  }
  sigpipe_state(const sigpipe_state&) = delete;
  sigpipe_state& operator=(const sigpipe_state&) = delete;
  ~sigpipe_state() {
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    ::sigaction(SIGPIPE, &action_, nullptr);
  }

  static bool is_pending() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) == 1;
  }

 private:
  struct sigaction action_ {};
  sigset_t mask_{};
};

}  // namespace

TEST(Pipe, what_goes_in_comes_out) {
  const pipe_ends ends = make_pipe();
  ASSERT_EQ(::write(ends.write_end.get(), "abc", 3), 3);
  char buffer[8];
  EXPECT_EQ(::read(ends.read_end.get(), buffer, sizeof buffer), 3);
}

TEST(Pipe, both_ends_are_closed_on_exec) {
  const pipe_ends ends = make_pipe();
  EXPECT_EQ(::fcntl(ends.read_end.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_EQ(::fcntl(ends.write_end.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Pipe, closes_itself) {
  const std::size_t before = open_descriptors();
  {
    const pipe_ends ends = make_pipe();
    EXPECT_EQ(open_descriptors(), before + 2);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Pipe, takes_no_standard_number_and_stays_closed_on_exec_where_those_are_free) {
  const std::string outcome = in_forked_host([] {
    for (const int fd : {0, 1, 2}) ::close(fd);
    const pipe_ends ends = make_pipe();
    for (const unique_fd* end : {&ends.read_end, &ends.write_end}) {
      if (end->get() < 3) return "took " + std::to_string(end->get());
      if ((::fcntl(end->get(), F_GETFD) & FD_CLOEXEC) == 0) return "leaks at exec"s;
    }
    for (const int fd : {0, 1, 2})
      if (::fcntl(fd, F_GETFD) >= 0) return std::to_string(fd) + " was left open";
    return "good"s;
  });
  EXPECT_EQ(outcome, "good");
}

TEST(Pipe, says_what_to_do_where_no_descriptor_is_left_and_leaves_none_behind) {
  // Creates two errors while descriptors are still available: a sanitizer needs a descriptor when it checks the first
  // object of a type.
  const cofferdam::error first(exec_errc::io_error, "");
  const cofferdam::error second(first);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const std::size_t used = open_descriptors();
  const int probe = ::dup(0);
  ::close(probe);
  for (int room = 0; room < 2; ++room) {
    rlimit low = before;
    low.rlim_cur = static_cast<rlim_t>(probe + room);
    ::setrlimit(RLIMIT_NOFILE, &low);
    std::exception_ptr thrown;
    try {
      make_pipe();
    } catch (...) {
      thrown = std::current_exception();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    std::string what;
    std::error_code code;
    std::error_code cause;
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const cofferdam::error& failure) {
      what = failure.what();
      code = failure.code();
      cause = failure.cause();
    }
    EXPECT_EQ(code, exec_errc::io_error);
    EXPECT_EQ(cause, std::errc::too_many_files_open);
    EXPECT_NE(what.find("raise the limit on open files"), std::string::npos) << what;
  }
  EXPECT_EQ(open_descriptors(), used);
}

TEST(Pipe, a_descriptor_that_could_not_be_opened_is_an_error_that_names_it) {
  std::string what;
  try {
    usable(unique_fd(::open("/cofferdam/no/such/file", O_RDONLY)), "the file");
  } catch (const cofferdam::error& failure) {
    what = failure.what();
  }
  EXPECT_EQ(what.substr(0, 9), "the file:") << what;
}

TEST(Pipe, a_nonblocking_end_does_not_wait) {
  const pipe_ends ends = make_pipe();
  set_nonblocking(ends.read_end);
  char buffer[1];
  EXPECT_EQ(::read(ends.read_end.get(), buffer, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(::fcntl(ends.write_end.get(), F_GETFL) & O_NONBLOCK, 0) << "the guest's end is none of our business";
}

TEST(WriteWithoutSigpipe, writes) {
  const pipe_ends ends = make_pipe();
  EXPECT_EQ(write_without_sigpipe(ends.write_end.get(), as_bytes("abc")), 3);
  char buffer[8];
  EXPECT_EQ(::read(ends.read_end.get(), buffer, sizeof buffer), 3);
}

TEST(WriteWithoutSigpipe, answers_with_an_error_where_nobody_reads) {
  const sigpipe_state deadly(false);
  pipe_ends ends = make_pipe();
  ends.read_end.reset();
  errno = 0;
  EXPECT_EQ(write_without_sigpipe(ends.write_end.get(), as_bytes("abc")), -1);
  EXPECT_EQ(errno, EPIPE);
  EXPECT_FALSE(sigpipe_state::is_pending());
}

TEST(WriteWithoutSigpipe, the_control_dies) {
  const std::string outcome = in_forked_host([] {
    const sigpipe_state deadly(false);
    pipe_ends ends = make_pipe();
    ends.read_end.reset();
    return std::to_string(::write(ends.write_end.get(), "abc", 3));
  });
  EXPECT_EQ(outcome, "died of signal " + std::to_string(SIGPIPE));
}

TEST(WriteWithoutSigpipe, leaves_a_signal_pending_that_was_not_ours) {
  const std::string outcome = in_forked_host([] {
    const sigpipe_state blocked(true);
    ::raise(SIGPIPE);
    pipe_ends ends = make_pipe();
    ends.read_end.reset();
    write_without_sigpipe(ends.write_end.get(), as_bytes("abc"));
    const std::string answer = sigpipe_state::is_pending() ? "pending" : "lost";
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, nullptr);  // discards the pending signal
    return answer;
  });
  EXPECT_EQ(outcome, "pending");
}

TEST(WriteWithoutSigpipe, keeps_the_mask_as_it_was) {
  for (const bool blocked : {false, true}) {
    const sigpipe_state state(blocked);
    pipe_ends ends = make_pipe();
    ends.read_end.reset();
    write_without_sigpipe(ends.write_end.get(), as_bytes("abc"));
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(::sigismember(&mask, SIGPIPE) == 1, blocked);
  }
}
