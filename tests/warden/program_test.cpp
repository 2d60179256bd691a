// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/wire.hpp>

#include "support/census.hpp"
#include "support/forbid.hpp"
#include "support/forked_host.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"
#include "support/wire_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Tests of the warden program as its host sees it: the bytes on the stream, and the processes in /proc. (The warden is
// the helper program that starts commands in each sandbox. It forks a supervisor process for each running command.)

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam_test::eventually;
using cofferdam_test::forbid;
using cofferdam_test::in_forked_host;
using cofferdam_test::living_with;
using cofferdam_test::process_entry;
using cofferdam_test::process_of;
using cofferdam_test::process_table;
using cofferdam_test::read_proc;
using cofferdam_test::temporary_folder;
using cofferdam_test::unique_sleep;
using cofferdam_test::wire_bytes;
using cofferdam_test::wire_client;
using cofferdam_test::wire_command;
using cofferdam_test::wire_outcome;
using cofferdam_test::wire_payload;
using cofferdam_test::wire_session;
using cofferdam_test::wire_start;
using frame = wire::frame_type;
using wire::exit_how;
using wire::exit_reason;
using wire::fail_stage;
using wire::fault;
using wire::signal_scope;
using namespace std::chrono_literals;
using namespace std::string_literals;
using clock = std::chrono::steady_clock;

wire_start over_pipes() { return {{cofferdam_test::warden_program()}, true}; }

wire_command shell(std::string line) { return wire_command::shell(std::move(line)); }

std::chrono::milliseconds since(clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begin);
}

std::string configure_bytes() {
  return wire_bytes(frame::configure, 0, wire_payload().number(std::uint32_t{0}).number(std::uint32_t{0}).string(""));
}

bool is_clean_exit(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

/// Returns the living children of a process.
std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> found;
  for (const process_entry& entry : process_table())
    if (entry.parent == pid && !entry.is_zombie()) found.push_back(entry.pid);
  return found;
}

class without_sigpipe : public ::testing::Test {
 protected:
  void SetUp() override { before_ = ::signal(SIGPIPE, SIG_IGN); }
  void TearDown() override { ::signal(SIGPIPE, before_); }

 private:
  sighandler_t before_ = SIG_DFL;
};

/// Tests that run twice: over a socket, and over two pipes.
class WardenStream : public without_sigpipe, public ::testing::WithParamInterface<bool> {
 protected:
  static wire_start how() { return GetParam() ? over_pipes() : wire_start(); }
};
INSTANTIATE_TEST_SUITE_P(, WardenStream, ::testing::Values(false, true),
                         [](const ::testing::TestParamInfo<bool>& info) { return info.param ? "pipes" : "socket"; });

using WardenProgram = without_sigpipe;

// ---- the greeting ---------------------------------------------------------------------------------------------------

TEST_P(WardenStream, greets_with_what_it_is) {
  wire_session warden(how());
  EXPECT_EQ(warden.hello().magic, wire::magic);
  EXPECT_EQ(warden.hello().version, wire::version);
#if defined(__x86_64__)
  EXPECT_EQ(warden.hello().machine, 62);
#elif defined(__aarch64__)
  EXPECT_EQ(warden.hello().machine, 183);
#endif
  EXPECT_EQ(static_cast<pid_t>(warden.hello().pid), warden.stream().pid());
  EXPECT_EQ(warden.hello().uid, ::geteuid());
  EXPECT_EQ(warden.hello().gid, ::getegid());
  EXPECT_EQ(warden.hello().can(wire::capability_descriptors), !GetParam());
  EXPECT_TRUE(warden.hello().can(wire::capability_processes));
  EXPECT_TRUE(warden.hello().can(wire::capability_adopts));
  EXPECT_GT(warden.hello().max_jobs, 0U);
  EXPECT_TRUE(warden.is_alive());
  // Signals to the process group or the terminal of the test do not reach the warden.
  EXPECT_EQ(process_of(warden.stream().pid()).session, warden.stream().pid());
}

TEST_P(WardenStream, ends_with_its_stream_and_status_zero) {
  wire_client before(how());  // the stream ends before any frame was sent
  before.take_hello();
  before.close();
  EXPECT_TRUE(is_clean_exit(before.wait()));
  wire_session after(how());
  ASSERT_TRUE(after.is_alive());
  after.stream().finish_sending();
  EXPECT_TRUE(is_clean_exit(after.finish()));
}

TEST_P(WardenStream, a_ping_comes_back_with_what_it_held) {
  wire_session warden(how());
  std::string held;
  for (int i = 0; i <= 64; ++i) {
    warden.stream().send_frame(frame::ping, static_cast<std::uint32_t>(i), held);
    held += static_cast<char>(i * 7);
  }
  ASSERT_TRUE(warden.until([&] { return warden.pongs().size() == 65; }));
  for (std::size_t i = 0; i <= 64; ++i) {
    EXPECT_EQ(warden.pongs()[i].job, i);
    EXPECT_EQ(warden.pongs()[i].payload, held.substr(0, i));
  }
}

// ---- frames that are refused ----------------------------------------------------------------------------------------

/// Starts a job (a command), sends `bytes`, and expects a `protocol_error` with this fault and type. The program must
/// then end, and its processes must be dead.
void expect_refused(const wire_start& how, std::string_view bytes, fault what, frame type,
                    const std::vector<int>& fds = {}) {
  const std::string mark = unique_sleep();
  wire_session warden(how);
  warden.spawn(1, shell("echo up; sleep " + mark + " & exec sleep " + mark));
  ASSERT_TRUE(warden.until_out(1, "up"));
  warden.stream().send_bytes(bytes, fds);
  const int status = warden.finish();
  EXPECT_TRUE(is_clean_exit(status)) << status;
  EXPECT_TRUE(living_with(mark).empty());
  ASSERT_TRUE(warden.refusal().has_value());
  EXPECT_EQ(warden.refusal()->first, what);
  EXPECT_EQ(warden.refusal()->second, type);
}

/// Sends a payload that is cut at each position, and one with an additional byte. Expects that each is refused.
void expect_refused_when_cut(const wire_start& how, frame type, const std::string& payload) {
  const std::size_t step = how.over_pipes && payload.size() > 20 ? 3 : 1;  // over the socket, each position is tested
  for (std::size_t size = 0; size < payload.size(); size += step) {
    SCOPED_TRACE("cut to " + std::to_string(size) + " of " + std::to_string(payload.size()));
    expect_refused(how, wire_bytes(type, 1, payload.substr(0, size)), fault::malformed, type);
    if (::testing::Test::HasFailure()) return;
  }
  SCOPED_TRACE("with a byte behind");
  expect_refused(how, wire_bytes(type, 1, payload + '\0'), fault::malformed, type);
}

TEST_P(WardenStream, a_malformed_signal_is_refused) {
  expect_refused_when_cut(how(), frame::signal, std::string("\0\x0f", 2));
  for (const std::string_view bad : {"\x03\x0f", "\xff\x0f"})
    expect_refused(how(), wire_bytes(frame::signal, 1, bad), fault::malformed, frame::signal);
  for (const std::string_view bad : {std::string_view("\0\0", 2), std::string_view("\0\x41", 2)})
    expect_refused(how(), wire_bytes(frame::signal, 1, bad), fault::malformed, frame::signal);
}

TEST_P(WardenStream, a_malformed_kill_is_refused) {
  expect_refused_when_cut(how(), frame::kill, std::string("\x10\0\0\0", 4));
}

TEST_P(WardenStream, a_malformed_credit_is_refused) {
  expect_refused_when_cut(how(), frame::credit, std::string("\x01\x10\0\0\0", 5));
  expect_refused(how(), wire_bytes(frame::credit, 1, std::string_view("\0\x10\0\0\0", 5)), fault::malformed,
                 frame::credit);
  expect_refused(how(), wire_bytes(frame::credit, 1, std::string_view("\x03\x10\0\0\0", 5)), fault::malformed,
                 frame::credit);
}

TEST_P(WardenStream, a_malformed_resize_is_refused) {
  expect_refused_when_cut(how(), frame::resize, std::string("\x10\0\x20\0", 4));
}

TEST_P(WardenStream, a_malformed_configure_is_refused) {
  const std::string payload = wire_payload().number(std::uint32_t{0}).number(std::uint32_t{0}).string("/tmp").bytes();
  const auto refused = [&](const std::string& sent) {
    wire_session warden(how(), false);
    warden.stream().send_frame(frame::configure, 0, sent);
    EXPECT_TRUE(is_clean_exit(warden.finish()));
    ASSERT_TRUE(warden.refusal().has_value());
    EXPECT_EQ(warden.refusal()->first, fault::malformed);
    EXPECT_EQ(warden.refusal()->second, frame::configure);
  };
  for (std::size_t size = 0; size < payload.size(); ++size) refused(payload.substr(0, size));
  refused(payload + "x");
  refused(wire_payload().number(0x80000000U).number(std::uint32_t{0}).string("").bytes());  // an unknown flag
  refused(wire_payload().number(std::uint32_t{0}).number(std::uint32_t{0}).string(std::string("a\0b", 3)).bytes());
}

wire_command with_everything() {
  wire_command command = wire_command::of({"/bin/true", "x"});
  command.candidates = {"/nowhere", "/bin/true"};
  command.limits = {{7, 100, 100}};
  command.directory = "/";
  command.variables = {"A=1"};
  return command;
}

TEST_P(WardenStream, a_malformed_spawn_is_refused) {
  expect_refused_when_cut(how(), frame::spawn, with_everything().payload());
}

TEST_F(WardenProgram, a_spawn_that_lies_is_refused) {
  const std::string good = with_everything().payload();
  const auto at = [&](std::size_t offset, std::string_view bytes) {
    std::string bad = good;
    bad.replace(offset, bytes.size(), bytes);
    expect_refused({}, wire_bytes(frame::spawn, 2, bad), fault::malformed, frame::spawn);
  };
  at(1, "\x08");                                   // an unknown flag
  at(wire::spawn_fixed_size, "\x02");              // more limits than there are
  at(wire::spawn_fixed_size, "\xff\xff\xff\xff");  // far more limits than there are
  const std::size_t directory = wire::spawn_fixed_size + 4 + 20;
  at(directory, "\x02");  // the string is longer than its NUL shows
  at(directory, "\xff\xff\xff\xff");
  at(directory + 4, std::string_view("\0", 1));        // a NUL inside the string
  at(directory + 6, "\xff\xff\xff\xff");               // strings that do not exist
  at(directory + 6, std::string_view("\0\0\0\0", 4));  // no candidate
  wire_command no_words = with_everything();
  no_words.words.clear();
  expect_refused({}, wire_bytes(frame::spawn, 2, no_words.payload()), fault::malformed, frame::spawn);
  wire_command seventeen = with_everything();
  seventeen.limits.assign(17, {7, 100, 100});
  expect_refused({}, wire_bytes(frame::spawn, 2, seventeen.payload()), fault::malformed, frame::spawn);
}

TEST_F(WardenProgram, too_many_strings_are_refused) {
  wire_command command = wire_command::of({"/bin/true"});
  command.variables.assign(wire::max_strings + 1, "");
  expect_refused({}, wire_bytes(frame::spawn, 2, command.payload()), fault::malformed, frame::spawn);
}

TEST_P(WardenStream, unknown_types_are_refused) {
  for (const int type : {0x00, 0x0c, 0x1f, 0x2f, 0x37, 0x7f, 0x80, 0x85, 0xff})
    expect_refused(how(), wire_bytes(static_cast<frame>(type), 1), fault::unknown_type, static_cast<frame>(type));
}

TEST_P(WardenStream, frames_that_are_too_long_are_refused_by_their_header) {
  const auto head = [](std::size_t size, frame type) {
    return wire_payload()
        .number(static_cast<std::uint32_t>(size))
        .number(static_cast<std::uint8_t>(type))
        .number(std::uint32_t{1})
        .bytes();
  };
  for (const frame type : {frame::input, frame::kill, frame::ping, frame::configure, frame::stat, frame{0x7f}})
    expect_refused(how(), head(wire::max_payload + 1, type), fault::too_long, type);
  expect_refused(how(), head(wire::max_spawn + 1, frame::spawn), fault::too_long, frame::spawn);
  expect_refused(how(), head(0xffffffff, frame::spawn), fault::too_long, frame::spawn);
  expect_refused(how(), wire_bytes(frame::ping, 0, std::string(65, 'x')), fault::too_long, frame::ping);
}

TEST_P(WardenStream, nothing_is_done_before_configure) {
  for (const int type : {0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x20, 0x30, 0x32, 0x7f}) {
    wire_session warden(how(), false);
    const std::string payload = type == 2 ? shell("exit 1").payload() : "";
    warden.stream().send_frame(static_cast<frame>(type), 1, payload);
    EXPECT_TRUE(is_clean_exit(warden.finish()));
    ASSERT_TRUE(warden.refusal().has_value()) << type;
    EXPECT_EQ(warden.refusal()->first, fault::unexpected);
    EXPECT_EQ(warden.refusal()->second, static_cast<frame>(type));
  }
}

TEST_P(WardenStream, it_is_configured_once) {
  expect_refused(how(), configure_bytes(), fault::unexpected, frame::configure);
}

TEST_P(WardenStream, a_number_is_one_job_s_at_a_time) {
  expect_refused(how(), wire_bytes(frame::spawn, 1, shell("exit 0").payload()), fault::unexpected, frame::spawn);
}

TEST_F(WardenProgram, a_number_can_be_used_again_when_its_job_is_over) {
  wire_session warden;
  for (int i = 0; i < 20; ++i) {
    warden.spawn(5, shell("exit " + std::to_string(i)));
    ASSERT_TRUE(warden.until_over(5));
    EXPECT_TRUE(warden[5].exited_with(i)) << warden[5];
    warden.spawn(5, wire_command::of({"/nowhere"}));
    ASSERT_TRUE(warden.until_over(5));
    EXPECT_TRUE(warden[5].has_failed);
  }
}

TEST_F(WardenProgram, frames_for_jobs_that_are_over_or_never_were_are_ignored) {
  wire_session warden;
  ASSERT_TRUE(warden.run(shell("exit 0")).exited_with(0));
  warden.spawn(1, shell("exit 0"));
  ASSERT_TRUE(warden.until_over(1));
  for (const std::uint32_t job : {1U, 2U, 0U, 0xffffffffU}) {
    warden.stream().send_frame(frame::input, job, "bytes");
    warden.end_input(job);
    warden.signal(job, signal_scope::tree, SIGKILL);
    warden.kill(job);
    warden.kill(job, 1000);
    warden.credit(job, 1, 1000);
    warden.resize(job, 1, 1);
    EXPECT_TRUE(warden.is_alive());
  }
  EXPECT_TRUE(warden.run(shell("exit 3")).exited_with(3));
  EXPECT_FALSE(warden.refusal().has_value());
}

TEST_F(WardenProgram, a_host_that_had_stopped_reading_is_refused_all_the_same) {
  wire_session warden;
  warden.gives_credit = false;
  wire_command loud = shell("exec yes");
  loud.window = 0x7fffffff;
  warden.spawn(1, loud);
  std::this_thread::sleep_for(100ms);  // the socket is full, and the warden has written only a part of a frame
  std::thread refused([&] {
    std::this_thread::sleep_for(50ms);
    warden.stream().send_bytes(wire_bytes(frame{0x7f}, 0));
  });
  // The socket may have no room for the `protocol_error` frame. The stream must contain whole frames only, and then
  // end.
  const int status = warden.finish();
  refused.join();
  EXPECT_TRUE(is_clean_exit(status));
  EXPECT_GT(warden[1].out.size(), 0U);
}

// ---- a stream that ends anywhere ------------------------------------------------------------------------------------

/// Returns the frames of a session whose replies are all known.
std::string whole_session() {
  std::string bytes = configure_bytes();
  wire_command cat = wire_command::of({"/bin/cat"});
  cat.flags = wire::spawn_open_input;
  bytes += wire_bytes(frame::spawn, 1, cat.payload());
  bytes += wire_bytes(frame::input, 1, "some ");
  wire_command two = shell("echo e >&2; exit 7");
  two.flags = wire::spawn_merge;
  bytes += wire_bytes(frame::spawn, 2, two.payload());
  bytes += wire_bytes(frame::input, 1, "input");
  bytes += wire_bytes(frame::ping, 4, "ping");
  bytes += wire_bytes(frame::input_end, 1);
  bytes += wire_bytes(frame::spawn, 3, wire_command::of({"/nowhere"}).payload());
  bytes += wire_bytes(frame::credit, 1, std::string_view("\x01\x01\0\0\0", 5));
  return bytes;
}

void expect_whole_session(wire_session& warden) {
  for (const std::uint32_t job : {1U, 2U, 3U}) warden[job] = wire_outcome();
  warden[1].credit -= 10;
  ASSERT_TRUE(warden.until(
      [&] { return warden[1].is_over() && warden[2].is_over() && warden[3].is_over() && warden.pongs().size() == 1; }));
  EXPECT_EQ(warden[1].out, "some input");
  EXPECT_TRUE(warden[1].exited_with(0)) << warden[1];
  EXPECT_EQ(warden[2].out, "e\n");
  EXPECT_TRUE(warden[2].exited_with(7)) << warden[2];
  EXPECT_EQ(warden[3].stage, fail_stage::exec);
  EXPECT_EQ(warden[3].number, ENOENT);
  EXPECT_EQ(warden.pongs()[0].payload, "ping");
  EXPECT_EQ(warden.pongs()[0].job, 4U);
}

TEST_P(WardenStream, a_session_cut_at_every_byte_gives_the_same_answers) {
  const std::string bytes = whole_session();
  for (std::size_t cut = 0; cut < bytes.size(); cut += GetParam() ? 3 : 1) {  // each position is tested over the socket
    SCOPED_TRACE("cut at " + std::to_string(cut));
    wire_session warden(how(), false);
    warden.gives_credit = false;
    warden.stream().send_bytes(bytes.substr(0, cut));
    std::this_thread::sleep_for(200us);
    warden.stream().send_bytes(bytes.substr(cut));
    expect_whole_session(warden);
    if (HasFailure()) return;
  }
}

TEST_P(WardenStream, a_session_sent_byte_by_byte_gives_the_same_answers) {
  const std::string bytes = whole_session();
  for (const auto pause : {0us, 50us}) {
    wire_session warden(how(), false);
    warden.gives_credit = false;
    for (const char c : bytes) {
      warden.stream().send_bytes(std::string_view(&c, 1));
      if (pause != 0us) std::this_thread::sleep_for(pause);
    }
    expect_whole_session(warden);
  }
}

TEST_P(WardenStream, a_stream_that_ends_in_the_middle_of_a_frame_ends_everything) {
  const std::string mark = unique_sleep();
  const std::string next = wire_bytes(frame::spawn, 2, shell("exit 0").payload());
  for (std::size_t cut = 0; cut < next.size(); cut += 3) {
    wire_session warden(how());
    warden.spawn(1, shell("exec sleep " + mark));
    warden.stream().send_bytes(next.substr(0, cut));
    warden.stream().finish_sending();
    ASSERT_TRUE(is_clean_exit(warden.finish())) << cut;
    ASSERT_TRUE(living_with(mark).empty()) << cut;
    ASSERT_FALSE(warden.refusal().has_value()) << cut;
  }
}

// ---- commands -------------------------------------------------------------------------------------------------------

TEST_F(WardenProgram, every_exit_code_is_told) {
  wire_session warden;
  for (std::uint32_t code = 0; code < 256; ++code) warden.spawn(code + 1, shell("exit " + std::to_string(code)));
  for (std::uint32_t code = 0; code < 256; ++code) {
    ASSERT_TRUE(warden.until_over(code + 1));
    EXPECT_TRUE(warden[code + 1].exited_with(static_cast<int>(code))) << code << ": " << warden[code + 1];
    EXPECT_EQ(warden[code + 1].reason, exit_reason::none);
    EXPECT_FALSE(warden[code + 1].left);
  }
}

TEST_F(WardenProgram, every_signal_that_ends_a_command_is_told) {
  wire_session warden;
  const std::set<int> others = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH, 32, 33};
  for (int number = 1; number <= 64; ++number)
    if (!others.contains(number))
      warden.spawn(static_cast<std::uint32_t>(number), shell("kill -" + std::to_string(number) + " $$; sleep 10"));
  for (int number = 1; number <= 64; ++number) {
    if (others.contains(number)) continue;
    const auto job = static_cast<std::uint32_t>(number);
    ASSERT_TRUE(warden.until_over(job));
    EXPECT_TRUE(warden[job].was_killed_by(number)) << number << ": " << warden[job];
    EXPECT_EQ(warden[job].reason, exit_reason::none);
  }
}

TEST_F(WardenProgram, what_a_command_used_is_told) {
  wire_session warden;
  const wire_outcome used = warden.run(
      wire_command::of({"/usr/bin/perl", "-e",
                        "my $x = 'y' x 30_000_000; my $end = times + 0.1; 1 while times < $end; sleep 1 while 0;"}));
  ASSERT_TRUE(used.exited_with(0)) << used;
  EXPECT_GE(used.user_us + used.system_us, 90'000U);
  EXPECT_LT(used.user_us, 5'000'000U);
  EXPECT_GE(used.wall_us, 90'000U);
  EXPECT_LT(used.wall_us, 20'000'000U);
  EXPECT_GE(used.peak_kib, 30'000'000U / 1024);
  EXPECT_LT(used.peak_kib, 400'000U);
}

TEST_F(WardenProgram, words_and_variables_arrive_as_they_were_sent) {
  wire_session warden;
  wire_command command = wire_command::of({"/bin/sh", "-c", "for a; do printf '[%s]' \"$a\"; done"});
  command.words.insert(command.words.end(), {"zero", "", "a b", "\xff\n'\"$x\\", "*"});
  EXPECT_EQ(warden.run(command).out, "[][a b][\xff\n'\"$x\\][*]");
  command = wire_command::of({"/usr/bin/env"});
  command.variables = {"B=", "A=1", "", "C=\xfe =x", "no name"};
  EXPECT_EQ(warden.run(command).out, "B=\nA=1\n\nC=\xfe =x\nno name\n");
  command.variables.clear();
  EXPECT_EQ(warden.run(command).out, "");
}

TEST_F(WardenProgram, a_command_starts_in_its_directory) {
  wire_session warden;
  EXPECT_EQ(warden.run(shell("pwd -P")).out, "/\n");
  wire_command command = shell("pwd -P");
  command.directory = "/usr/bin";
  EXPECT_EQ(warden.run(command).out, "/usr/bin\n");
}

TEST_F(WardenProgram, the_first_candidate_that_runs_is_taken) {
  wire_session warden;
  wire_command command = shell("exit 6");
  command.candidates = {"/nowhere", "/dev/null/x", "/etc/passwd", "/usr/bin", "/bin/sh", "/bin/false"};
  EXPECT_TRUE(warden.run(command).exited_with(6));
}

TEST_F(WardenProgram, a_command_has_three_descriptors_and_a_session_and_no_blocked_signal) {
  wire_session warden;
  for (const std::uint32_t flags : {0U, std::uint32_t{wire::spawn_open_input}, std::uint32_t{wire::spawn_merge}}) {
    wire_command command = shell("echo $$; exec sleep " + unique_sleep());
    command.flags = flags;
    warden.spawn(1, command);
    ASSERT_TRUE(warden.until_out(1, "\n"));
    const pid_t pid = std::atoi(warden[1].out.c_str());
    const std::string proc = "/proc/" + std::to_string(pid);
    ASSERT_TRUE(eventually([&] { return read_proc(proc + "/comm") == "sleep\n"; }));
    EXPECT_EQ(cofferdam_test::settled_descriptors(pid), "0,1,2");
    EXPECT_EQ(process_of(pid).session, pid);
    EXPECT_EQ(process_of(pid).group, pid);
    EXPECT_NE(process_of(pid).parent, warden.stream().pid());  // the parent of the command is its supervisor
    const std::string status = read_proc(proc + "/status");
    EXPECT_NE(status.find("SigBlk:\t0000000000000000"), std::string::npos) << status;
    EXPECT_NE(status.find("SigIgn:\t0000000000000000"), std::string::npos) << status;
    EXPECT_NE(status.find("Umask:\t0022"), std::string::npos) << status;
    warden.kill(1);
    ASSERT_TRUE(warden.until_over(1));
  }
}

TEST_F(WardenProgram, the_limits_of_descriptors_are_not_raised_for_commands) {
  wire_session warden({{"prlimit", "--nofile=1500:3000", cofferdam_test::warden_program(), "3"}, false});
  EXPECT_EQ(warden.run(shell("ulimit -Sn; ulimit -Hn")).out, "1500\n3000\n");
}

TEST_F(WardenProgram, what_cannot_be_started_says_where_and_why) {
  wire_session warden;
  const temporary_folder folder;
  const auto file = [&](const std::string& name, const std::string& content, mode_t mode) {
    const std::string path = (folder.path() / name).string();
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    return path;
  };
  const auto expect = [&](const wire_command& command, fail_stage stage, int number) {
    const wire_outcome outcome = warden.run(command);
    EXPECT_TRUE(outcome.has_failed) << outcome;
    EXPECT_EQ(outcome.stage, stage) << outcome;
    EXPECT_EQ(outcome.number, number) << outcome;
  };
  const auto exec = [&](const std::vector<std::string>& candidates, int number) {
    wire_command command = wire_command::of({"x"});
    command.candidates = candidates;
    expect(command, fail_stage::exec, number);
  };
  const std::string closed = file("closed", "#!/bin/sh\n", 0644);
  const std::string garbage = file("garbage", "\x01\x02\x03 no program", 0755);
  const std::string orphan = file("orphan", "#!/nowhere/interpreter\n", 0755);
  exec({"/nowhere"}, ENOENT);
  exec({""}, ENOENT);
  exec({"/etc/passwd/x"}, ENOENT);  // reported as not found, as a shell does
  exec({closed}, EACCES);
  exec({"/"}, EACCES);
  exec({closed, "/nowhere"}, EACCES);
  exec({garbage}, ENOEXEC);
  exec({garbage, "/bin/true"}, ENOEXEC);
  exec({orphan}, ENOENT);
  wire_command nowhere = shell("exit 0");
  nowhere.directory = "/nowhere";
  expect(nowhere, fail_stage::directory, ENOENT);
  nowhere.directory = "/etc/passwd";
  expect(nowhere, fail_stage::directory, ENOTDIR);
  wire_command limited = shell("exit 0");
  limited.limits = {{99, 1, 1}};
  expect(limited, fail_stage::limits, EINVAL);
  limited.limits = {{7, 10, 5}};
  expect(limited, fail_stage::limits, EINVAL);
  EXPECT_TRUE(warden.run(shell("exit 4")).exited_with(4));
}

TEST_F(WardenProgram, words_beyond_what_linux_takes_fail_the_exec) {
  wire_session warden;
  wire_command command = wire_command::of({"/bin/true"});
  command.words.insert(command.words.end(), 40, std::string(100'000, 'x'));
  const wire_outcome outcome = warden.run(command);
  EXPECT_EQ(outcome.stage, fail_stage::exec) << outcome;
  EXPECT_EQ(outcome.number, E2BIG) << outcome;
}

TEST_F(WardenProgram, large_commands_arrive_whole) {
  wire_session warden;
  wire_command command = wire_command::of({"/bin/sh", "-c", "printf %s \"$@\"", "sh"});
  std::string expected;
  for (int i = 0; i < 12; ++i) {
    std::string word(125'000, static_cast<char>('a' + i));
    for (std::size_t at = 0; at < word.size(); at += 997) word[at] = static_cast<char>('A' + at % 26);
    expected += word;
    command.words.push_back(std::move(word));
  }
  const wire_outcome outcome = warden.run(command);
  ASSERT_TRUE(outcome.exited_with(0)) << outcome;
  EXPECT_EQ(outcome.out.size(), 1'500'000U);
  EXPECT_TRUE(outcome.out == expected);

  wire_command many = wire_command::of({"/bin/sh", "-c", "echo $#", "sh"});
  many.words.resize(100'000, "");
  EXPECT_EQ(warden.run(many).out, "99996\n");
}

TEST_F(WardenProgram, commands_around_the_size_of_an_order_arrive_whole) {
  wire_session warden;
  const std::size_t around = shell("").payload().size();
  for (std::size_t size = 32 * 1024 - 3; size <= 32 * 1024 + 3; ++size) {
    const std::string line = "echo ";
    const wire_outcome outcome = warden.run(shell(line + std::string(size - around - line.size(), 'x')));
    EXPECT_EQ(outcome.out.size(), size - around - line.size() + 1) << size;
    EXPECT_TRUE(outcome.exited_with(0)) << outcome;
  }
}

TEST_F(WardenProgram, five_hundred_jobs_run_at_once) {
  wire_session warden;
  constexpr std::uint32_t count = 500;
  for (std::uint32_t job = 1; job <= count; ++job) {
    wire_command command = shell("read x; echo $x; exit " + std::to_string(job % 200));
    command.flags = wire::spawn_open_input;
    warden.spawn(job, command);
  }
  ASSERT_TRUE(warden.is_alive());
  EXPECT_FALSE(warden.until(
      [&] {
        for (std::uint32_t job = 1; job <= count; ++job)
          if (warden[job].is_over()) return true;
        return false;
      },
      1ms));
  for (std::uint32_t job = 1; job <= count; ++job) warden.input(job, "line " + std::to_string(job) + "\n");
  for (std::uint32_t job = 1; job <= count; ++job) {
    ASSERT_TRUE(warden.until_over(job)) << job;
    EXPECT_TRUE(warden[job].exited_with(static_cast<int>(job % 200))) << job << ": " << warden[job];
    EXPECT_EQ(warden[job].out, "line " + std::to_string(job) + "\n");
  }
  // The warden keeps a limited number of idle supervisors for later commands.
  EXPECT_TRUE(eventually([&] { return children_of(warden.stream().pid()).size() <= 9; }));
}

TEST_F(WardenProgram, jobs_beyond_what_it_can_keep_fail_and_the_others_go_on) {
  wire_session warden({{"prlimit", "--nofile=200:200", cofferdam_test::warden_program(), "3"}, false});
  const std::uint32_t max_jobs = warden.hello().max_jobs;
  ASSERT_GT(max_jobs, 5U);
  ASSERT_LT(max_jobs, 60U);
  wire_command command = shell("read x; exit 3");
  command.flags = wire::spawn_open_input;
  for (std::uint32_t job = 1; job <= max_jobs + 2; ++job) warden.spawn(job, command);
  for (std::uint32_t job = max_jobs + 1; job <= max_jobs + 2; ++job) {
    ASSERT_TRUE(warden.until_over(job));
    EXPECT_EQ(warden[job].stage, fail_stage::limit) << warden[job];
    EXPECT_EQ(warden[job].number, EAGAIN) << warden[job];
  }
  for (std::uint32_t job = 1; job <= max_jobs; ++job) warden.end_input(job);
  for (std::uint32_t job = 1; job <= max_jobs; ++job) {
    ASSERT_TRUE(warden.until_over(job));
    EXPECT_TRUE(warden[job].exited_with(3)) << warden[job];
  }
  EXPECT_TRUE(warden.run(shell("exit 1")).exited_with(1));
}

// ---- input ----------------------------------------------------------------------------------------------------------

std::string noise(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

TEST_P(WardenStream, bytes_go_in_and_come_out) {
  wire_session warden(how());
  wire_command cat = wire_command::of({"/bin/cat"});
  cat.flags = wire::spawn_open_input;
  const std::string bytes = noise(3'000'001);
  warden.spawn(1, cat);
  warden.input_all(1, bytes);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].out == bytes) << warden[1].out.size();
  EXPECT_TRUE(warden[1].exited_with(0)) << warden[1];
}

TEST_F(WardenProgram, without_input_there_is_an_empty_one) {
  wire_session warden;
  EXPECT_EQ(warden.run(shell("cat; readlink /proc/self/fd/0")).out, "/dev/null\n");
}

TEST_F(WardenProgram, credit_comes_back_exactly_as_it_is_used) {
  wire_session warden;
  wire_command late = shell("sleep 0.1; exec cat >/dev/null");
  late.flags = wire::spawn_open_input;
  warden.spawn(1, late);
  std::uint64_t sent = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t size = warden[1].credit;
    warden.input(1, std::string(size, 'x'));
    sent += size;
    ASSERT_TRUE(warden.until([&] { return warden[1].credit != 0; }));
  }
  warden.end_input(1);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_EQ(warden[1].credit_given, sent);
  EXPECT_TRUE(warden[1].exited_with(0)) << warden[1];
}

TEST_F(WardenProgram, input_beyond_the_credit_is_refused) {
  const std::string mark = unique_sleep();
  wire_session warden;
  wire_command deaf = shell("exec sleep " + mark);
  deaf.flags = wire::spawn_open_input;
  warden.spawn(1, deaf);
  const std::string window(wire::input_window, 'x');
  warden.input(1, window);  // these bytes fill the pipe
  ASSERT_TRUE(warden.until([&] { return warden[1].credit == wire::input_window; }));
  warden.input(1, window);  // these bytes wait in the warden
  ASSERT_TRUE(warden.is_alive());
  EXPECT_EQ(warden[1].credit, 0U);
  warden.stream().send_frame(frame::input, 1, "x");
  EXPECT_TRUE(is_clean_exit(warden.finish()));
  ASSERT_TRUE(warden.refusal().has_value());
  EXPECT_EQ(warden.refusal()->first, fault::too_much_input);
  EXPECT_EQ(warden.refusal()->second, frame::input);
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, input_that_nobody_takes_is_given_back) {
  wire_session warden;
  wire_command closes = shell("exec <&-; echo closed; sleep 0.2; exit 5");
  closes.flags = wire::spawn_open_input;
  warden.spawn(1, closes);
  ASSERT_TRUE(warden.until_out(1, "closed"));
  for (int i = 0; i < 5; ++i) {
    warden.input(1, std::string(30'000, 'x'));
    ASSERT_TRUE(warden.until([&] { return warden[1].credit == wire::input_window; })) << i;
  }
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].exited_with(5)) << warden[1];
}

TEST_F(WardenProgram, input_where_there_is_none_or_no_more_is_refused) {
  for (int kind = 0; kind < 2; ++kind) {
    wire_session warden;
    wire_command command = shell("exec sleep " + unique_sleep());
    if (kind == 1) command.flags = wire::spawn_open_input;
    warden.spawn(1, command);
    if (kind == 1) warden.end_input(1);
    warden.input(1, "x");
    EXPECT_TRUE(is_clean_exit(warden.finish()));
    ASSERT_TRUE(warden.refusal().has_value());
    EXPECT_EQ(warden.refusal()->first, fault::unexpected);
  }
}

// ---- output ---------------------------------------------------------------------------------------------------------

TEST_P(WardenStream, output_without_credit_is_not_read_and_holds_up_nobody) {
  wire_session warden(how());
  warden.gives_credit = false;
  wire_command loud = shell("head -c 300000 /dev/zero; echo end; head -c 100000 /dev/zero >&2; exit 4");
  loud.window = 1000;
  warden.spawn(1, loud);
  ASSERT_TRUE(warden.until([&] { return warden[1].out.size() == 1000; }));
  warden.gives_credit = true;
  EXPECT_TRUE(warden.run(shell("head -c 300000 /dev/zero")).exited_with(0));
  warden.gives_credit = false;
  EXPECT_TRUE(warden.is_alive());
  EXPECT_EQ(warden[1].out.size(), 1000U);
  EXPECT_FALSE(warden[1].has_exited);
  warden.credit(1, 1, 5000);
  ASSERT_TRUE(warden.until([&] { return warden[1].out.size() >= 6000; }));
  warden.credit(1, 2, 7);  // credit for the other stream has no effect on this one
  EXPECT_TRUE(warden.is_alive());
  warden.listen(20ms);
  EXPECT_EQ(warden[1].out.size(), 6000U);
  for (int i = 0; i < 300; ++i) warden.credit(1, 1, 1000);
  ASSERT_TRUE(warden.until([&] { return warden[1].out.size() == 300'004 && warden[1].err.size() == 1007; }));
  EXPECT_FALSE(warden[1].is_over());
  warden.credit(1, 2, 0xffffffff);
  warden.credit(1, 2, 0xffffffff);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_EQ(warden[1].err.size(), 100'000U);
  EXPECT_TRUE(warden[1].exited_with(4)) << warden[1];
  EXPECT_EQ(warden[1].out_dropped + warden[1].err_dropped, 0U);
}

TEST_F(WardenProgram, a_host_that_does_not_read_holds_up_no_deadline) {
  const std::string mark = unique_sleep();
  wire_session warden;
  warden.gives_credit = false;
  wire_command loud = shell("yes; : " + mark);
  loud.window = 0x7fffffff;
  loud.timeout_ms = 300;
  for (std::uint32_t job = 1; job <= 3; ++job) warden.spawn(job, loud);
  EXPECT_TRUE(eventually([&] { return living_with(mark).size() >= 3; }));
  EXPECT_TRUE(eventually([&] { return living_with(mark).empty(); }, 3s));
  for (std::uint32_t job = 1; job <= 3; ++job) {
    ASSERT_TRUE(warden.until_over(job));
    EXPECT_EQ(warden[job].reason, exit_reason::timeout);
  }
}

TEST_F(WardenProgram, error_output_is_merged_where_it_is_asked_for) {
  wire_session warden;
  wire_command command = shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2");
  const wire_outcome apart = warden.run(command);
  EXPECT_EQ(apart.out, "1\n3\n");
  EXPECT_EQ(apart.err, "2\n4\n");
  command.flags = wire::spawn_merge;
  const wire_outcome merged = warden.run(command);
  EXPECT_EQ(merged.out, "1\n2\n3\n4\n");
  EXPECT_EQ(merged.err, "");
}

TEST_F(WardenProgram, output_beyond_its_cap_is_counted_exactly) {
  wire_session warden;
  wire_command command = shell("head -c 123457 /dev/zero; head -c 999 /dev/zero >&2");
  command.output_cap = 1000;
  const wire_outcome outcome = warden.run(command);
  EXPECT_EQ(outcome.out.size(), 1000U);
  EXPECT_EQ(outcome.out_dropped, 122'457U);
  EXPECT_EQ(outcome.err.size(), 999U);
  EXPECT_EQ(outcome.err_dropped, 0U);
  EXPECT_TRUE(outcome.exited_with(0));

  command.output_cap = 1;
  command.window = 1;  // dropped output needs no credit
  warden.gives_credit = false;
  const wire_outcome two = warden.run(command);
  EXPECT_EQ(two.out.size(), 1U);
  EXPECT_EQ(two.out_dropped, 123'456U);
  EXPECT_EQ(two.err_dropped, 998U);

  warden.gives_credit = true;
  command.flags = wire::spawn_merge;
  command.output_cap = 200'000;
  command.window = 256 * 1024;
  const wire_outcome three = warden.run(command);
  EXPECT_EQ(three.out.size(), 123'457U + 999U);
  EXPECT_EQ(three.out_dropped, 0U);
}

// ---- how commands are ended -----------------------------------------------------------------------------------------

TEST_F(WardenProgram, a_command_may_end_itself_within_the_grace) {
  wire_session warden;
  wire_command command = shell("trap 'echo term; exit 5' TERM; echo up; while :; do sleep 0.01; done");
  command.timeout_ms = 200;
  command.grace_ms = 20'000;
  const auto begin = clock::now();
  const wire_outcome outcome = warden.run(command);
  EXPECT_EQ(outcome.out, "up\nterm\n");
  EXPECT_TRUE(outcome.exited_with(5)) << outcome;
  EXPECT_EQ(outcome.reason, exit_reason::timeout);
  EXPECT_GE(since(begin), 200ms);
  EXPECT_LT(since(begin), 20s);
}

TEST_F(WardenProgram, a_command_that_does_not_is_killed_after_the_grace) {
  const std::string mark = unique_sleep();
  wire_session warden;
  wire_command command = shell("trap '' TERM; sleep " + mark + " & sleep " + mark);
  command.timeout_ms = 100;
  command.grace_ms = 300;
  const auto begin = clock::now();
  const wire_outcome outcome = warden.run(command);
  EXPECT_TRUE(outcome.was_killed_by(SIGKILL)) << outcome;
  EXPECT_EQ(outcome.reason, exit_reason::timeout);
  EXPECT_GE(since(begin), 400ms);
  EXPECT_LT(since(begin), 20s);
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, without_a_grace_it_is_killed_at_once) {
  wire_session warden;
  wire_command command = shell("trap 'echo term' TERM; while :; do sleep 0.01; done");
  command.timeout_ms = 100;
  const wire_outcome outcome = warden.run(command);
  EXPECT_TRUE(outcome.was_killed_by(SIGKILL)) << outcome;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.reason, exit_reason::timeout);
}

TEST_F(WardenProgram, a_stopped_command_takes_its_term) {
  wire_session warden;
  wire_command command = shell("trap 'echo term; exit 5' TERM; kill -STOP $$; while :; do sleep 0.01; done");
  command.timeout_ms = 200;
  command.grace_ms = 20'000;
  EXPECT_TRUE(warden.run(command).exited_with(5));
}

TEST_F(WardenProgram, what_a_command_leaves_behind_may_linger_and_is_then_killed) {
  const std::string mark = unique_sleep();
  wire_session warden;
  wire_command command = shell("sleep " + mark + " & setsid sleep " + mark + " & echo up");
  for (const std::uint32_t linger : {0U, 400U}) {
    command.linger_ms = linger;
    const auto begin = clock::now();
    const wire_outcome outcome = warden.run(command);
    EXPECT_TRUE(outcome.exited_with(0)) << outcome;
    EXPECT_TRUE(outcome.left);
    EXPECT_EQ(outcome.reason, exit_reason::none);
    EXPECT_GE(since(begin), std::chrono::milliseconds(linger));
    EXPECT_LT(since(begin), std::chrono::milliseconds(linger) + 20s);
    EXPECT_TRUE(living_with(mark).empty());
  }
  wire_command quick = shell("(sleep 0.1; echo late) & exit 3");
  quick.linger_ms = 20'000;
  const wire_outcome outcome = warden.run(quick);
  EXPECT_TRUE(outcome.exited_with(3)) << outcome;
  EXPECT_EQ(outcome.out, "late\n");
  EXPECT_LT(outcome.wall_us, 15'000'000U);
}

TEST_F(WardenProgram, what_is_kept_goes_on_until_it_is_killed) {
  const std::string mark = unique_sleep();
  wire_session warden;
  wire_command command = shell("setsid sleep " + mark + " >/dev/null 2>&1 & echo up");
  command.flags = wire::spawn_keep;
  command.timeout_ms = 300;  // the time limit ends with the command itself
  warden.spawn(1, command);
  ASSERT_TRUE(warden.until([&] { return warden[1].has_exited; }));
  EXPECT_TRUE(warden[1].exited_with(0)) << warden[1];
  EXPECT_TRUE(warden[1].left);
  warden.listen(500ms);
  EXPECT_FALSE(warden[1].is_over());
  EXPECT_EQ(living_with(mark).size(), 1U);
  warden.kill(1);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, what_is_kept_outlives_the_warden_after_a_release_and_nothing_else_does) {
  const std::string mark = unique_sleep();
  const std::string other = unique_sleep();
  wire_session warden;
  // A shell that writes more than a pipe holds, so it can continue only if its output is read, and a silent process.
  wire_command command = shell("sh -c 'while :; do head -c 9999 /dev/zero; sleep 0.001 & wait; done' & sleep " + mark +
                               " >/dev/null 2>&1 & echo up");
  command.flags = wire::spawn_keep;
  warden.spawn(1, command);
  warden.spawn(2, shell("echo up; sleep " + other));
  wire_command unkept = shell("sleep " + other + " & echo up");
  unkept.linger_ms = 20'000;
  warden.spawn(3, unkept);
  ASSERT_TRUE(warden.until([&] { return warden[1].has_exited && warden[3].has_exited; }));
  ASSERT_TRUE(warden.until_out(2, "up"));
  // A copy of the shell that has not begun its program yet has the shell's arguments, and so the mark.
  std::vector<pid_t> silent;
  ASSERT_TRUE(eventually([&] {
    silent = living_with(mark);
    return silent.size() == 1;
  })) << silent.size();
  pid_t supervisor = 0;
  std::vector<pid_t> kept;
  for (const pid_t each : children_of(warden.stream().pid())) {
    const std::vector<pid_t> held = children_of(each);
    if (std::find(held.begin(), held.end(), silent.front()) == held.end()) continue;
    supervisor = each;
    kept = held;
  }
  const std::shared_ptr<void> ends(nullptr, [&kept](void*) {  // also after a failure
    for (const pid_t each : kept) ::kill(each, SIGKILL);
  });
  ASSERT_GT(supervisor, 1);
  EXPECT_EQ(kept.size(), 2U);
  warden.stream().send_frame(frame::release, 0);
  EXPECT_TRUE(is_clean_exit(warden.stream().wait()));
  EXPECT_TRUE(eventually([&] { return living_with(other).empty(); }));
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(children_of(supervisor), kept);
  for (const pid_t each : kept) ::kill(each, SIGKILL);
  EXPECT_TRUE(eventually([&] { return ::kill(supervisor, 0) != 0; })) << "the supervisor has not ended";
}

TEST_F(WardenProgram, what_lingers_gets_its_term_too_when_it_is_killed_with_a_grace) {
  wire_session warden;
  wire_command command = shell("(trap 'echo term; exit' TERM; echo up; while :; do sleep 0.01; done) & exit 0");
  command.linger_ms = 20'000;
  warden.spawn(1, command);
  ASSERT_TRUE(warden.until([&] { return warden[1].has_exited && !warden[1].out.empty(); }));
  warden.kill(1, 20'000);
  ASSERT_TRUE(warden.until_over(1, 10s)) << warden[1];
  EXPECT_EQ(warden[1].out, "up\nterm\n");
}

TEST_F(WardenProgram, kill_ends_a_command_with_and_without_grace) {
  const std::string mark = unique_sleep();
  wire_session warden;
  warden.spawn(1, shell("echo up; sleep " + mark + " & sleep " + mark));
  warden.spawn(2, shell("trap 'echo term; exit 6' TERM; echo up; while :; do sleep 0.01; done"));
  warden.spawn(3, shell("trap '' TERM; echo up; while :; do sleep 0.01; done"));
  for (const std::uint32_t job : {1U, 2U, 3U}) ASSERT_TRUE(warden.until_out(job, "up"));
  warden.kill(1);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].was_killed_by(SIGKILL)) << warden[1];
  EXPECT_EQ(warden[1].reason, exit_reason::killed);
  EXPECT_TRUE(living_with(mark).empty());
  warden.kill(2, 20'000);
  ASSERT_TRUE(warden.until_over(2, 10s));
  EXPECT_EQ(warden[2].out, "up\nterm\n");
  EXPECT_TRUE(warden[2].exited_with(6)) << warden[2];
  EXPECT_EQ(warden[2].reason, exit_reason::killed);
  const auto begin = clock::now();
  warden.kill(3, 20'000);
  ASSERT_TRUE(warden.is_alive());
  warden.kill(3, 200);  // the shorter grace replaces the longer one
  ASSERT_TRUE(warden.until_over(3));
  EXPECT_LT(since(begin), 20s);
  EXPECT_GE(since(begin), 200ms);
  EXPECT_TRUE(warden[3].was_killed_by(SIGKILL)) << warden[3];
}

TEST_F(WardenProgram, a_signal_goes_to_whom_it_is_for) {
  for (const signal_scope scope : {signal_scope::leader, signal_scope::group, signal_scope::tree}) {
    wire_session warden;
    const std::string body = "echo up; while :; do sleep 0.01; done";
    warden.spawn(1, shell("(trap 'echo group' USR1; " + body + ") & setsid sh -c \"trap 'echo far' USR1; " + body +
                          "\" & trap 'echo leader' USR1; " + body));
    ASSERT_TRUE(warden.until([&] { return warden[1].out.size() >= 9; }));
    warden.signal(1, scope, SIGUSR1);
    const std::size_t signalled = static_cast<std::size_t>(scope);
    EXPECT_TRUE(warden.until_out(1, "leader\n"));
    if (signalled >= 1) {
      EXPECT_TRUE(warden.until_out(1, "group\n"));
    }
    if (signalled >= 2) {
      EXPECT_TRUE(warden.until_out(1, "far\n"));
    }
    warden.listen(50ms);
    EXPECT_EQ(warden[1].out.find("group") != std::string::npos, signalled >= 1) << warden[1].out;
    EXPECT_EQ(warden[1].out.find("far") != std::string::npos, signalled >= 2) << warden[1].out;
    warden.kill(1);
    ASSERT_TRUE(warden.until_over(1));
  }
}

TEST_F(WardenProgram, a_signal_of_the_host_s_is_no_reason_of_the_warden_s) {
  wire_session warden;
  warden.spawn(1, shell("echo up; exec sleep " + unique_sleep()));
  ASSERT_TRUE(warden.until_out(1, "up"));
  warden.signal(1, signal_scope::leader, SIGKILL);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].was_killed_by(SIGKILL));
  EXPECT_EQ(warden[1].reason, exit_reason::none);
}

TEST_F(WardenProgram, kill_all_ends_every_job_and_no_later_one) {
  const std::string mark = unique_sleep();
  wire_session warden;
  for (std::uint32_t job = 1; job <= 10; ++job)
    warden.spawn(job, shell("trap '' TERM; sleep " + mark + " & sleep " + mark));
  warden.stream().send_frame(frame::kill_all, 0);
  warden.spawn(11, shell("exit 9"));
  for (std::uint32_t job = 1; job <= 10; ++job) {
    ASSERT_TRUE(warden.until_over(job)) << job;
    EXPECT_TRUE(warden[job].was_killed_by(SIGKILL)) << warden[job];
    EXPECT_EQ(warden[job].reason, exit_reason::killed);
  }
  ASSERT_TRUE(warden.until_over(11));
  EXPECT_TRUE(warden[11].exited_with(9)) << warden[11];
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, a_kill_that_meets_the_end_of_its_job_touches_no_other) {
  // The supervisor of a job that has just ended runs the next job. It may receive an order for the old job first.
  wire_session warden;
  std::uint32_t job = 0;
  for (int round = 0; round < 600; ++round) {
    const std::uint32_t first = ++job;
    const std::uint32_t second = ++job;
    warden.spawn(first, wire_command::of({"/bin/true"}));
    const auto wait = clock::now() + std::chrono::microseconds(300 + round % 30 * 60);
    while (clock::now() < wait && !warden[first].has_exited) warden.take(0ms);
    warden.kill(first);
    warden.spawn(second, shell("echo up; exec sleep 20"));
    ASSERT_TRUE(warden.until_out(second, "up")) << "round " << round;
    warden.kill(second);
    ASSERT_TRUE(warden.until_over(first, 10s)) << "round " << round;
    ASSERT_TRUE(warden.until_over(second, 5s)) << "round " << round << ": a job that cannot be ended";
    ASSERT_TRUE(warden[second].was_killed_by(SIGKILL)) << warden[second];
  }
}

// ---- terminals ------------------------------------------------------------------------------------------------------

wire_command on_terminal(std::string line) {
  wire_command command = shell(std::move(line));
  command.flags = wire::spawn_terminal;
  command.rows = 33;
  command.columns = 111;
  return command;
}

TEST_F(WardenProgram, a_terminal_is_one) {
  wire_session warden;
  const wire_outcome outcome = warden.run(on_terminal("tty; stty size; echo err >&2; : >/dev/tty && echo own; exit 3"));
  EXPECT_TRUE(outcome.exited_with(3)) << outcome;
  EXPECT_NE(outcome.out.find("/dev/pts/"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\r\n33 111\r\nerr\r\nown\r\n"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(WardenProgram, a_terminal_can_be_resized) {
  wire_session warden;
  warden.spawn(1, on_terminal("trap 'stty size' WINCH; echo up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(warden.until_out(1, "up"));
  warden.resize(1, 44, 222);
  EXPECT_TRUE(warden.until_out(1, "44 222"));
  warden.kill(1);
  EXPECT_TRUE(warden.until_over(1));
}

TEST_F(WardenProgram, a_terminal_passes_interrupts_on) {
  wire_session warden;
  warden.spawn(1, on_terminal("echo up; exec sleep " + unique_sleep()));
  ASSERT_TRUE(warden.until_out(1, "up"));
  warden.input(1, "\x03");
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].was_killed_by(SIGINT)) << warden[1];
}

TEST_F(WardenProgram, a_terminal_s_input_ends) {
  wire_session warden;
  warden.spawn(1, on_terminal("stty -echo; echo up; cat; echo after"));
  ASSERT_TRUE(warden.until_out(1, "up"));
  warden.input(1, "a line\n");
  ASSERT_TRUE(warden.until_out(1, "a line"));
  warden.end_input(1);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_EQ(warden[1].out, "up\r\na line\r\nafter\r\n");
}

TEST_F(WardenProgram, what_leaves_its_terminal_is_killed_too) {
  const std::string mark = unique_sleep();
  wire_session warden;
  const wire_outcome outcome = warden.run(on_terminal("trap '' HUP; setsid sleep " + mark + " & echo up"));
  EXPECT_TRUE(outcome.exited_with(0)) << outcome;
  EXPECT_TRUE(living_with(mark).empty());
}

// ---- the user of a command ------------------------------------------------------------------------------------------

TEST_F(WardenProgram, limits_are_set) {
  wire_session warden;
  wire_command command = shell("ulimit -n; ulimit -Hn; ulimit -t; head -c 5000 /dev/zero > \"$F\"; wc -c < \"$F\"");
  const temporary_folder folder;
  command.variables.push_back("F=" + (folder.path() / "f").string());
  command.limits = {{RLIMIT_NOFILE, 17, 18}, {RLIMIT_CPU, 100, 200}, {RLIMIT_FSIZE, 1024, 1024}};
  const wire_outcome outcome = warden.run(command);
  EXPECT_EQ(outcome.out, "17\n18\n100\n1024\n") << outcome;
  EXPECT_EQ(warden.run(shell("ulimit -t")).out, "unlimited\n");  // the next command does not inherit the limits
}

TEST_F(WardenProgram, a_time_of_the_processor_can_be_limited) {
  wire_session warden;
  wire_command command = shell("while :; do :; done");
  command.limits = {{RLIMIT_CPU, 1, 1}};
  const wire_outcome outcome = warden.run(command);
  EXPECT_TRUE(outcome.was_killed_by(SIGKILL) || outcome.was_killed_by(SIGXCPU)) << outcome;
}

TEST_F(WardenProgram, a_command_runs_as_whom_it_is_to_run) {
  wire_session warden;
  wire_command command = shell("id -u; id -ru; id -g; id -G; id -rg; grep '^Cap[EP]' /proc/self/status");
  command.uid = command.gid = 65534;
  if (::geteuid() == 0) {
    const wire_outcome both = warden.run(command);
    EXPECT_EQ(both.out, "65534\n65534\n65534\n65534\n65534\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
    command = shell("id -u; id -G; cat /etc/shadow && echo read");
    command.uid = 65534;
    EXPECT_EQ(warden.run(command).out, "65534\n0\n");
  } else {
    std::cout << "not proven here: that commands run as somebody else (needs root)\n";
    EXPECT_EQ(warden.run(command).stage, fail_stage::identity);
  }
}

TEST_F(WardenProgram, groups_are_cleared) {
  if (::geteuid() != 0) GTEST_SKIP() << "not proven here: that supplementary groups go (needs root)";
  wire_session warden({{"setpriv", "--groups=7,8", cofferdam_test::warden_program(), "3"}, false});
  EXPECT_EQ(warden.run(shell("id -G")).out, "0 7 8\n");
  wire_command command = shell("id -G");
  command.uid = 65534;
  EXPECT_EQ(warden.run(command).out, "0\n");
  command.gid = 65533;
  EXPECT_EQ(warden.run(command).out, "65533\n");
}

TEST_F(WardenProgram, an_identity_that_cannot_be_taken_fails) {
  wire_session warden(
      {{"setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", cofferdam_test::warden_program(), "3"},
       false});
  wire_command command = shell("id -u");
  command.uid = 65534;
  const wire_outcome outcome = warden.run(command);
  EXPECT_TRUE(outcome.has_failed) << outcome;
  EXPECT_EQ(outcome.stage, fail_stage::identity);
  EXPECT_EQ(outcome.number, EPERM);
}

TEST_F(WardenProgram, privileges_can_be_given_up_for_good) {
  wire_session warden;
  wire_command command = shell("grep NoNewPrivs /proc/self/status");
  EXPECT_EQ(warden.run(command).out, "NoNewPrivs:\t0\n");
  command.flags = wire::spawn_no_new_privileges;
  EXPECT_EQ(warden.run(command).out, "NoNewPrivs:\t1\n");
}

TEST_F(WardenProgram, a_scope_keeps_signals_inside) {
  wire_session warden;
  COFFERDAM_NEEDS("landlock-scope", warden.hello().can(wire::capability_scope), "that signals stay inside");
  wire_command command = shell("kill -0 $PPID && echo out; sleep 20 & kill -9 $! && echo in");
  EXPECT_EQ(warden.run(command).out, "out\nin\n");
  command.flags = wire::spawn_scope;
  EXPECT_EQ(warden.run(command).out, "in\n");
}

TEST_F(WardenProgram, a_filter_refuses_limits_for_others_and_tracing_where_that_is_asked_for) {
  wire_session warden;
  COFFERDAM_NEEDS("seccomp", warden.hello().can(wire::capability_filter), "that limits of others cannot be changed");
  COFFERDAM_NEEDS("prlimit", std::system("command -v prlimit strace >/dev/null 2>&1") == 0,
                  "limits of others, tracing");
  const std::string line =
      "prlimit --pid $PPID --msgqueue=9:9 2>/dev/null && echo limit; prlimit --pid $PPID --msgqueue >/dev/null && "
      "echo "
      "read; ulimit -n 50 && ulimit -n; strace -o /dev/null true 2>/dev/null && echo trace; grep NoNewPrivs "
      "/proc/self/status";
  wire_command command = shell(line);
  EXPECT_EQ(warden.run(command).out, "limit\nread\n50\ntrace\nNoNewPrivs:\t0\n") << "the control";
  command.flags = wire::spawn_filter;
  EXPECT_EQ(warden.run(command).out, "read\n50\ntrace\nNoNewPrivs:\t1\n");
  command.flags = wire::spawn_filter | wire::spawn_refuse_tracing;
  EXPECT_EQ(warden.run(command).out, "read\n50\nNoNewPrivs:\t1\n");
}

// A supervisor enters the filter of its commands only once, so it must not get a command that needs another filter.
TEST_F(WardenProgram, each_command_has_its_own_filter_in_any_order) {
  wire_session warden;
  COFFERDAM_NEEDS("seccomp", warden.hello().can(wire::capability_filter), "that limits of others cannot be changed");
  COFFERDAM_NEEDS("prlimit", std::system("command -v prlimit strace >/dev/null 2>&1") == 0,
                  "limits of others, tracing");
  // Prints the number of filters, or nothing before Linux 5.9. This test itself may run under a filter.
  const std::string count = "sed -n 's/^Seccomp_filters:.//p' /proc/self/status";
  const std::string outside = warden.run(shell(count)).out;
  const std::string inside = outside.empty() ? outside : std::to_string(std::stoi(outside) + 1) + "\n";
  wire_command command = shell(
      "prlimit --pid $PPID --msgqueue=9:9 2>/dev/null && echo limit; strace -o /dev/null true 2>/dev/null && echo "
      "trace; " +
      count);
  const std::uint32_t filter = wire::spawn_filter, refuses = wire::spawn_filter | wire::spawn_refuse_tracing;
  for (const std::uint32_t flags : {refuses, std::uint32_t{0}, filter, refuses, refuses, filter, std::uint32_t{0}}) {
    command.flags = flags;
    const std::string expected = flags == 0 ? "limit\ntrace\n" : flags == filter ? "trace\n" : "";
    EXPECT_EQ(warden.run(command).out, expected + (flags == 0 ? outside : inside)) << "with the flags " << flags;
  }
}

TEST_F(WardenProgram, a_command_with_few_descriptors_can_have_all_guards) {
  wire_session warden;
  COFFERDAM_NEEDS("landlock-scope", warden.hello().can(wire::capability_scope), "guards that need descriptors");
  for (const std::uint32_t guard : {wire::spawn_scope, wire::spawn_domain}) {
    wire_command command = shell("ulimit -n");
    command.flags = guard | wire::spawn_filter;
    command.limits.push_back({7, 4, 4});
    EXPECT_EQ(warden.run(command).out, "4\n");
  }
}

TEST_F(WardenProgram, a_domain_lets_files_move_between_directories) {
  wire_session warden;
  COFFERDAM_NEEDS("landlock-domain", warden.hello().can(wire::capability_domain), "what a domain allows");
  const temporary_folder folder;
  wire_command command = shell(
      "mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && cat a/h && mknod pipe p && test -p pipe && echo fifo");
  command.directory = folder.path().string();
  command.flags = wire::spawn_domain;
  EXPECT_EQ(warden.run(command).out, "x\nfifo\n");
}

// The test traces the command, so the kernel notifies the tracer of the command's death before the supervisor. To the
// supervisor the command looks as if SIGKILL did not end it.
TEST_F(WardenProgram, a_supervisor_that_does_not_finish_in_two_seconds_is_replaced_by_the_warden) {
  wire_session warden;
  const std::string mark = unique_sleep();
  warden.spawn(1, shell("echo $PPID; exec sleep " + mark));
  ASSERT_TRUE(warden.until_out(1, "\n"));
  pid_t command = 0;
  ASSERT_TRUE(eventually([&] {
    const auto found = living_with(mark);  // the command line changes when the shell executes `sleep`
    if (found.size() != 1) return false;
    command = found.front();
    return true;
  }));
  const pid_t supervisor = std::atoi(warden[1].out.c_str());
  COFFERDAM_NEEDS("ptrace", ::ptrace(PTRACE_SEIZE, command, nullptr, nullptr) == 0, "a command that cannot be reaped");
  const auto begin = clock::now();
  warden.kill(1, 0);
  EXPECT_TRUE(eventually(
      [&] {
        warden.listen(10ms);
        return !cofferdam_test::is_alive(supervisor);
      },
      10s))
      << "nobody has ended the supervisor";
  EXPECT_GE(since(begin), 1900ms);
  warden.listen(100ms);
  EXPECT_EQ(warden[1].stuck, 1);
  EXPECT_FALSE(warden[1].is_done) << "nobody has said that nothing is left, while something is";
  EXPECT_EQ(::waitpid(command, nullptr, __WALL), command);
  EXPECT_TRUE(warden.until_over(1, 5s));
  EXPECT_TRUE(warden.run(shell("exit 5")).exited_with(5));
}

TEST_F(WardenProgram, a_supervisor_that_does_not_answer_is_replaced_by_the_warden) {
  wire_session warden;
  const std::string mark = unique_sleep();
  wire_command command = shell("echo $PPID; (setsid sleep " + mark + " &); exec sleep " + mark);
  command.timeout_ms = 300;
  warden.spawn(1, command);
  ASSERT_TRUE(warden.until_out(1, "\n"));
  const pid_t supervisor = std::atoi(warden[1].out.c_str());
  // The test seizes the supervisor as a tracer and interrupts it. The supervisor then does not run, but the kernel does
  // not report it as suspended to the warden.
  COFFERDAM_NEEDS("root", ::ptrace(PTRACE_SEIZE, supervisor, nullptr, nullptr) == 0, "a supervisor that never runs");
  ::ptrace(PTRACE_INTERRUPT, supervisor, nullptr, nullptr);
  EXPECT_TRUE(eventually(
      [&] {
        warden.listen(10ms);
        return living_with(mark).empty();
      },
      10s))
      << "what it watched goes on";
  int status = 0;
  while (::waitpid(supervisor, &status, __WALL) == supervisor && !WIFSIGNALED(status)) {
  }
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  ASSERT_TRUE(warden.until_over(1, 5s));
  EXPECT_EQ(warden[1].how, exit_how::lost) << warden[1];
  EXPECT_EQ(warden[1].reason, exit_reason::timeout);
}

// ---- too many descriptors in flight ---------------------------------------------------------------------------------

// The kernel limits the descriptors that all processes of one user have in flight over sockets. A command with the
// warden's user can use up that limit. The warden can then pass no descriptor to a supervisor, and must report that.
TEST_F(WardenProgram, a_command_whose_descriptors_cannot_be_passed_fails_by_that_and_the_next_one_does_not) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "the limit of an ordinary user");
  COFFERDAM_NEEDS("python3", ::access("/usr/bin/python3", X_OK) == 0, "descriptors on their way");
  const std::string faults = in_forked_host([] {
    const rlimit few{512, 512};
    constexpr uid_t user = 61'307;
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0 || ::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
        ::setresuid(user, user, user) != 0)
      return "not another user"s;
    wire_session warden;
    warden.spawn(1, wire_command::of({"/usr/bin/python3", "-c",
                                      "import resource, socket, time\n"
                                      "resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))\n"
                                      "kept = []\n"
                                      "try:\n"
                                      "    while True:\n"
                                      "        kept.append(socket.socketpair())\n"
                                      "        socket.send_fds(kept[-1][0], [b'x'], [0] * 250)\n"
                                      "except OSError as failure:\n"
                                      "    print(failure.errno, flush=True)\n"
                                      "time.sleep(60)\n"}));
    std::ostringstream text;
    if (!warden.until_out(1, std::to_string(ETOOMANYREFS) + "\n")) text << "no attack: " << warden[1];
    for (int i = 0; i < 3; ++i) {
      const wire_outcome refused = warden.run(shell("exit 3"));
      if (!refused.has_failed || refused.stage != fail_stage::limit || refused.number != ETOOMANYREFS) text << refused;
    }
    warden.kill(1);
    if (!warden.until_over(1)) text << "no end";
    if (const wire_outcome after = warden.run(shell("exit 5")); !after.exited_with(5)) text << after;
    return text.str();
  });
  EXPECT_EQ(faults, "");
}

// ---- commands that request to be traced -----------------------------------------------------------------------------

/// Returns a Perl script that makes its parent its tracer, and then runs `rest`.
std::string traced(const std::string& rest) {
  return "$| = 1; syscall(" + std::to_string(SYS_ptrace) + ", 0, 0, 0, 0) == 0 or exit 99; " + rest;
}

bool can_be_traced() {
  return ::access("/usr/bin/perl", X_OK) == 0 &&
         in_forked_host([] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? "yes"s : "no"s; }) == "yes";
}

// The parent of a command is its supervisor. If the command requests tracing, its supervisor is notified of each signal
// to the command, and must let the command continue.
TEST_F(WardenProgram, a_command_that_asks_to_be_traced_goes_on_and_its_own_end_is_told) {
  COFFERDAM_NEEDS("ptrace", can_be_traced(), "commands that ask to be traced");
  wire_session warden;
  const auto run = [&](const std::string& script) {
    return warden.run(wire_command::of({"/usr/bin/perl", "-e", script}));
  };
  const wire_outcome plain = run(traced("print 'on'; exit 3"));
  EXPECT_TRUE(plain.exited_with(3)) << plain;
  const wire_outcome signalled =
      run(traced("$SIG{USR1} = sub { print 'got ' }; kill 'USR1', $$ for 1..5; print 'on'; exit 5"));
  EXPECT_TRUE(signalled.exited_with(5)) << signalled;
  EXPECT_EQ(signalled.out, "got got got got got on");
  const wire_outcome another = run(traced("exec 'sh', '-c', 'echo on; exit 6'"));
  EXPECT_TRUE(another.exited_with(6)) << another;
  EXPECT_EQ(another.out, "on\n");
  for (const int number : {SIGTERM, SIGTRAP, SIGSEGV, SIGKILL}) {
    const wire_outcome killed = run(traced("exec 'sh', '-c', 'kill -" + std::to_string(number) + " $$; echo on'"));
    EXPECT_TRUE(killed.was_killed_by(number)) << killed;
    EXPECT_EQ(killed.out, "");
  }
  // A traced command that is suspended continues after SIGCONT, as any other command does.
  const wire_outcome stopped =
      run("my $p = $$; if (fork == 0) { select(undef, undef, undef, 0.1); kill 'CONT', $p; exit "
          "0 } " +
          traced("kill 'STOP', $$; print 'on'; exit 7"));
  EXPECT_TRUE(stopped.exited_with(7)) << stopped;
  EXPECT_EQ(stopped.out, "on");
}

TEST_F(WardenProgram, what_asks_to_be_traced_is_ended_with_its_command) {
  COFFERDAM_NEEDS("ptrace", can_be_traced(), "commands that ask to be traced");
  const std::string mark = unique_sleep();
  const std::string scripts[] = {
      traced("kill 'STOP', $$; sleep 60 while 1 # " + mark),
      traced("$SIG{TERM} = 'IGNORE'; kill 'USR2', 0 if fork == 0; sleep 60 while 1 # " + mark),
      "for my $n (1..6) { fork } " + traced("$SIG{TERM} = 'IGNORE'; sleep 60 while 1 # " + mark),
  };
  for (const std::string& script : scripts) {
    wire_session warden;
    wire_command command = wire_command::of({"/usr/bin/perl", "-e", script});
    command.timeout_ms = 500;
    command.grace_ms = 50;
    const auto begin = clock::now();
    const wire_outcome ended = warden.run(command);
    EXPECT_EQ(ended.how, exit_how::signaled) << ended;
    EXPECT_TRUE(ended.reason == exit_reason::timeout || ended.was_killed_by(SIGUSR2)) << ended;
    EXPECT_LT(since(begin), 10s);
    EXPECT_TRUE(living_with(mark).empty());
    EXPECT_TRUE(warden.run(shell("exit 5")).exited_with(5));
  }
}

// The supervisor becomes the parent of orphans too, and each thread of a command can request tracing by its parent.
TEST_F(WardenProgram, orphans_and_threads_that_ask_to_be_traced_go_on) {
  COFFERDAM_NEEDS("ptrace", can_be_traced(), "commands that ask to be traced");
  wire_session warden;
  const temporary_folder folder;
  wire_command orphan = wire_command::of(
      {"/usr/bin/perl", "-e",
       "my $first = $$; if (fork == 0) { if (fork == 0) { select(undef, undef, undef, 0.01) while getppid == $first + "
       "0 || "
       "!-e 'alone'; " +
           traced("$SIG{USR1} = sub { open my $f, '>', 'got' }; kill 'USR1', $$; open my $f, '>', 'up'; exit 0") +
           "} exit 0 } wait; open my $f, '>', 'alone'; select(undef, undef, undef, 0.01) until -e 'up'; exit(-e 'got' "
           "? 7 "
           ": 8)"});
  orphan.directory = folder.path().string();
  orphan.timeout_ms = 20'000;
  const wire_outcome ended = warden.run(orphan);
  EXPECT_TRUE(ended.exited_with(7)) << ended;

  COFFERDAM_NEEDS("python3", ::access("/usr/bin/python3", X_OK) == 0, "threads that ask to be traced");
  wire_command thread = wire_command::of({"/usr/bin/python3", "-c",
                                          "import ctypes, os, signal, threading\n"
                                          "signal.signal(signal.SIGUSR1, lambda *a: print('got', flush=True))\n"
                                          "def work():\n"
                                          "    assert ctypes.CDLL(None).ptrace(0, 0, None, None) == 0\n"
                                          "    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)\n"
                                          "    print('on', flush=True)\n"
                                          "one = threading.Thread(target=work)\n"
                                          "one.start()\n"
                                          "one.join()\n"
                                          "os._exit(9)\n"});
  thread.timeout_ms = 20'000;
  const wire_outcome threaded = warden.run(thread);
  EXPECT_TRUE(threaded.exited_with(9)) << threaded;
  EXPECT_NE(threaded.out.find("on"), std::string::npos) << threaded;
}

// ---- descriptors that are sent with a frame -------------------------------------------------------------------------

struct pipe_pair {
  int read_end = -1;
  int write_end = -1;

  pipe_pair() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  pipe_pair(const pipe_pair&) = delete;
  pipe_pair& operator=(const pipe_pair&) = delete;
  ~pipe_pair() {
    close_write();
    ::close(read_end);
  }
  void close_write() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
  std::string read_all() {
    close_write();
    std::string text;
    char piece[4096];
    for (ssize_t got = 0; (got = ::read(read_end, piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(got));
    return text;
  }
};

TEST_F(WardenProgram, descriptors_of_the_host_s_are_the_command_s) {
  wire_session warden;
  const temporary_folder folder;
  pipe_pair out;
  pipe_pair err;
  pipe_pair in;
  ASSERT_EQ(::write(in.write_end, "in", 2), 2);
  in.close_write();
  const int directory = ::open(folder.path().c_str(), O_PATH | O_CLOEXEC);
  wire_command command = shell("cat; pwd -P >&2; ls /proc/self/fd | wc -l");
  command.flags = wire::spawn_descriptors | wire::spawn_open_input | wire::spawn_directory;
  warden.spawn(1, command, {in.read_end, out.write_end, err.write_end, directory});
  ::close(directory);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].exited_with(0)) << warden[1];
  EXPECT_EQ(out.read_all(), "in4\n");  // 0, 1 and 2, and the one that `ls` opens
  EXPECT_EQ(err.read_all(), folder.path().string() + "\n");
  EXPECT_EQ(warden[1].out, "");
}

TEST_F(WardenProgram, it_connects_to_the_socket_that_it_is_told_of) {
  const temporary_folder folder;
  const std::string path = (folder.path() / "host").string();
  wire_session warden({{cofferdam_test::warden_program(), path}, true, path});
  pipe_pair out;
  wire_command command = shell("echo here");
  command.flags = wire::spawn_descriptors;
  warden.spawn(1, command, {out.write_end, out.write_end});
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_EQ(out.read_all(), "here\n");
  warden.stream().close();
  EXPECT_TRUE(is_clean_exit(warden.stream().wait(10s)));
}

TEST_F(WardenProgram, where_nobody_listens_it_speaks_over_its_standard_streams) {
  const temporary_folder folder;
  for (const std::string& path : {(folder.path() / "nobody").string(), std::string("/") + std::string(200, 'x')}) {
    wire_session warden({{cofferdam_test::warden_program(), path}, true});
    EXPECT_EQ(warden.run(shell("echo here")).out, "here\n");
  }
}

TEST_F(WardenProgram, a_command_whose_descriptors_are_the_host_s_has_no_input_unless_it_gets_one) {
  wire_session warden;
  pipe_pair out;
  wire_command command = shell("cat; [ /proc/self/fd/0 -ef /dev/null ] && echo nothing");
  command.flags = wire::spawn_descriptors;
  warden.spawn(1, command, {out.write_end, out.write_end});
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_EQ(out.read_all(), "nothing\n");
}

TEST_F(WardenProgram, a_directory_of_the_host_s_goes_with_a_terminal) {
  wire_session warden;
  const temporary_folder folder;
  const int directory = ::open(folder.path().c_str(), O_PATH | O_CLOEXEC);
  wire_command command = on_terminal("pwd -P; tty");
  command.flags |= wire::spawn_directory;
  warden.spawn(1, command, {directory});
  ::close(directory);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_EQ(warden[1].out.substr(0, folder.path().string().size()), folder.path().string());
  EXPECT_NE(warden[1].out.find("/dev/pts/"), std::string::npos) << warden[1].out;
}

TEST_F(WardenProgram, a_terminal_and_the_host_s_descriptors_do_not_go_together) {
  wire_command command = shell("exit 0");
  command.flags = wire::spawn_descriptors | wire::spawn_terminal;
  pipe_pair pipe;
  expect_refused({}, wire_bytes(frame::spawn, 2, command.payload()), fault::malformed, frame::spawn,
                 {pipe.write_end, pipe.write_end});
}

TEST_F(WardenProgram, descriptors_do_not_pile_up) {
  wire_session warden;
  const auto count = [&] {
    const std::filesystem::directory_iterator entries("/proc/" + std::to_string(warden.stream().pid()) + "/fd");
    return std::distance(begin(entries), end(entries));
  };
  if (::geteuid() != 0) GTEST_SKIP() << "not proven here: that descriptors do not pile up (needs root to look)";
  wire_command command = shell("exit 0");
  command.flags = wire::spawn_descriptors;
  wire_command terminal = on_terminal("exit 0");
  wire_command input = shell("exit 0");
  input.flags = wire::spawn_open_input;
  std::ptrdiff_t before = 0;
  for (int round = 0; round < 30; ++round) {
    pipe_pair out;
    warden.spawn(1, command, {out.write_end, out.write_end});
    ASSERT_TRUE(warden.until_over(1));
    wire_command missing = command;
    missing.candidates = {"/nowhere"};
    warden.spawn(1, missing, {out.write_end, out.write_end});
    ASSERT_TRUE(warden.until_over(1));
    EXPECT_TRUE(out.read_all().empty());  // the pipe ends only after the warden has closed its copy
    for (wire_command variant : {terminal, input, shell("exit 0")}) {
      EXPECT_TRUE(warden.run(variant).exited_with(0));
      variant.candidates = {"/nowhere"};
      EXPECT_TRUE(warden.run(variant).has_failed);
      variant.candidates = {"/bin/sh"};
      variant.words.assign(20, std::string(3000, 'x'));
      EXPECT_TRUE(warden.run(variant).has_exited);
    }
    ASSERT_TRUE(warden.is_alive());
    if (round == 3) before = count();
  }
  EXPECT_TRUE(eventually([&] { return count() <= before; })) << before << " before, " << count() << " after";
}

TEST_F(WardenProgram, a_spawn_without_its_descriptors_is_refused) {
  wire_command command = shell("exit 0");
  pipe_pair pipe;
  const auto refused = [&](std::uint32_t flags, const std::vector<int>& fds) {
    command.flags = flags;
    expect_refused({}, wire_bytes(frame::spawn, 2, command.payload()), fault::descriptors, frame::spawn, fds);
  };
  refused(wire::spawn_descriptors, {});
  refused(wire::spawn_descriptors, {pipe.write_end});
  refused(wire::spawn_descriptors | wire::spawn_open_input, {pipe.write_end, pipe.write_end});
  refused(wire::spawn_descriptors | wire::spawn_directory, {pipe.write_end, pipe.write_end});
  refused(wire::spawn_directory, {});
  command.flags = wire::spawn_descriptors;
  expect_refused(over_pipes(), wire_bytes(frame::spawn, 2, command.payload()), fault::descriptors, frame::spawn);
  // More descriptors than one frame may have, and more than the warden stores.
  expect_refused({}, wire_bytes(frame::ping, 0), fault::descriptors, frame{0}, std::vector<int>(9, pipe.read_end));
}

TEST_F(WardenProgram, descriptors_come_in_the_order_of_their_frames) {
  wire_session warden;
  std::vector<std::unique_ptr<pipe_pair>> outs;
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (std::uint32_t job = 1; job <= 20; ++job) {
    wire_command command = shell("echo " + std::to_string(job));
    command.flags = wire::spawn_descriptors;
    outs.push_back(std::make_unique<pipe_pair>());
    warden.spawn(job, command, {outs.back()->write_end, nothing});
  }
  ::close(nothing);
  for (std::uint32_t job = 1; job <= 20; ++job) {
    ASSERT_TRUE(warden.until_over(job));
    EXPECT_EQ(outs[job - 1]->read_all(), std::to_string(job) + "\n");
  }
}

// ---- the end of everything ------------------------------------------------------------------------------------------

/// Returns a shell line whose processes try to survive in many ways. It prints "ready" when all of them run.
std::string clinging(const std::string& mark) {
  return "trap '' TERM HUP INT; sleep " + mark + " & setsid sleep " + mark +
         " & (setsid sh -c \"trap '' TERM HUP; (sleep " + mark + " &) ; sleep " + mark +
         "\" &) ; env -i setsid sh -c '(sleep " + mark + " &) ; exec sleep " + mark +
         "' & sh -c 'kill -STOP $$; sleep " + mark + "' & sleep 0.1; echo ready; sleep " + mark;
}

TEST_P(WardenStream, the_end_of_the_stream_ends_everything_whatever_it_did_to_get_away) {
  const std::string mark = unique_sleep();
  for (int kind = 0; kind < 3; ++kind) {
    wire_session warden(how());
    for (std::uint32_t job = 1; job <= 3; ++job) {
      wire_command command = shell(clinging(mark));
      command.flags = job == 2 ? wire::spawn_keep : 0U;
      command.grace_ms = 10'000;
      warden.spawn(job, command);
    }
    for (std::uint32_t job = 1; job <= 3; ++job) ASSERT_TRUE(warden.until_out(job, "ready"));
    ASSERT_GE(living_with(mark).size(), 24U);
    const auto begin = clock::now();
    const pid_t pid = warden.stream().pid();
    if (kind == 0) warden.stream().close();
    if (kind == 1) warden.stream().finish_sending();
    if (kind == 2) ::kill(pid, SIGKILL);  // the warden's supervisors detect that the warden has ended
    EXPECT_TRUE(eventually([&] { return living_with(mark).empty(); }, 2s));
    EXPECT_LT(since(begin), 20s);
    const int status = warden.stream().wait(2s);
    if (kind != 2) {
      EXPECT_TRUE(is_clean_exit(status)) << status;
    }
  }
}

TEST_F(WardenProgram, a_host_that_only_stops_reading_its_pipe_ends_everything) {
  const std::string mark = unique_sleep();
  int in[2];
  int out[2];
  ASSERT_EQ(::pipe2(in, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
  const std::string program = cofferdam_test::warden_program();
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  const std::string bytes = configure_bytes() + wire_bytes(frame::spawn, 1, shell("exec sleep " + mark).payload());
  EXPECT_EQ(::write(in[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_TRUE(eventually([&] { return !living_with(mark).empty(); }));
  ::close(out[0]);
  EXPECT_TRUE(eventually([&] { return living_with(mark).empty(); }, 2s));
  int status = -1;
  EXPECT_TRUE(eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }, 2s));
  EXPECT_TRUE(is_clean_exit(status)) << status;
  ::close(in[1]);
}

TEST_F(WardenProgram, a_bomb_of_processes_is_ended) {
  const std::string mark = unique_sleep();
  wire_session warden;
  wire_command command = shell("while :; do setsid sh -c '(sleep " + mark + " &) ; (sleep " + mark + " &)' & done");
  command.timeout_ms = 150;
  warden.spawn(1, command);
  ASSERT_TRUE(warden.until_over(1, 10s));
  EXPECT_EQ(warden[1].reason, exit_reason::timeout);
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, a_supervisor_stopped_by_its_guest_holds_up_no_deadline) {
  const std::string mark = unique_sleep();
  wire_session warden;
  const auto expect_in_time = [&](const std::string& line, const std::string& name) {
    SCOPED_TRACE(name);
    wire_command command = shell(line);
    command.timeout_ms = 300;
    const auto begin = clock::now();
    wire_outcome outcome = warden.run(command);
    EXPECT_LT(since(begin), 20s);
    EXPECT_TRUE(outcome.has_exited);
    EXPECT_TRUE(living_with(mark).empty());
    return outcome;
  };
  // The warden must resume a suspended supervisor, and the supervisor must then still report how its command ended.
  for (const std::string times : {"1", "1 2 3"}) {
    const wire_outcome outcome =
        expect_in_time("for i in " + times + "; do kill -STOP $PPID; sleep 0.02; done; sleep " + mark, times);
    EXPECT_TRUE(outcome.was_killed_by(SIGKILL)) << outcome;
    EXPECT_EQ(outcome.reason, exit_reason::timeout);
  }
  expect_in_time("while :; do kill -STOP $PPID; sleep 0.01; done; sleep " + mark, "again and again");
  expect_in_time(
      "setsid sh -c 'while :; do kill -STOP "
      "$0"
      "; done' $PPID & sleep " +
          mark,
      "by another process");
  EXPECT_TRUE(warden.run(shell("exit 2")).exited_with(2));
}

TEST_F(WardenProgram, a_supervisor_killed_by_its_guest_is_lost_and_nothing_of_it_lives) {
  const std::string mark = unique_sleep();
  wire_session warden;
  wire_command other = shell("read x; echo $x; exit 8");
  other.flags = wire::spawn_open_input;
  warden.spawn(1, other);
  for (int round = 0; round < 5; ++round) {
    const wire_outcome outcome = warden.run(
        shell("setsid sleep " + mark + " & (sleep " + mark + " &) ; kill -9 $PPID; echo alive; exec sleep " + mark));
    EXPECT_EQ(outcome.how, exit_how::lost) << outcome;
    EXPECT_TRUE(outcome.has_exited && outcome.is_done) << outcome;
    EXPECT_TRUE(living_with(mark).empty());
  }
  warden.input(1, "still here\n");  // the other jobs continue
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].exited_with(8)) << warden[1];
  EXPECT_EQ(warden[1].out, "still here\n");
}

TEST_F(WardenProgram, supervisors_killed_while_they_are_idle_are_replaced) {
  wire_session warden;
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(eventually([&] { return warden.run(shell("exit 3")).exited_with(3); }));
    for (const pid_t child : children_of(warden.stream().pid())) ::kill(child, SIGKILL);
    const wire_outcome outcome =
        warden.run(shell("exit 4"));  // the job may be given to a supervisor that is already dead
    EXPECT_TRUE(outcome.exited_with(4) || outcome.how == exit_how::lost) << outcome;
  }
  EXPECT_TRUE(eventually([&] { return warden.run(shell("exit 5")).exited_with(5); }));
}

TEST_F(WardenProgram, a_lease_that_is_not_renewed_ends_everything) {
  const std::string mark = unique_sleep();
  wire_session warden({}, true, 300);
  const auto begin = clock::now();
  warden.spawn(1, shell(clinging(mark)));
  ASSERT_TRUE(warden.until_out(1, "ready"));
  EXPECT_TRUE(is_clean_exit(warden.finish()));
  EXPECT_GE(since(begin), 290ms);
  EXPECT_LT(since(begin), 20s);
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, a_lease_is_renewed_by_pings_and_by_nothing_else) {
  const std::string mark = unique_sleep();
  wire_session warden({}, true, 300);
  warden.spawn(1, shell("exec sleep " + mark));
  const auto begin = clock::now();
  while (since(begin) < 900ms) {
    ASSERT_TRUE(warden.is_alive());
    std::this_thread::sleep_for(30ms);
  }
  EXPECT_EQ(living_with(mark).size(), 1U);
  const auto last = clock::now();
  while (since(last) < 5s) {
    try {
      warden.credit(1, 1, 1);
    } catch (const std::system_error&) {
      break;  // the warden has ended
    }
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_LT(since(last), 20s);
  EXPECT_TRUE(is_clean_exit(warden.stream().wait(2s)));
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, a_guest_of_the_same_user_sees_nothing_of_the_warden) {
  // Copies the program to a folder where an unprivileged user may execute it.
  const temporary_folder folder;
  ::chmod(folder.path().c_str(), 0755);
  const std::string program = (folder.path() / "warden").string();
  std::filesystem::copy_file(cofferdam_test::warden_program(), program);
  ::chmod(program.c_str(), 0755);
  std::vector<std::string> words = {program, "3"};
  if (::geteuid() == 0)
    words.insert(words.begin(), {"setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", "--inh-caps=-all"});
  wire_session warden({words, false});
  if (::geteuid() == 0) {
    EXPECT_EQ(warden.hello().uid, 4242U);
  }
  const std::string pid = std::to_string(warden.stream().pid());
  wire_command command =
      shell("for p in " + pid +
            " $PPID; do for f in mem environ maps auxv; do cat /proc/$p/$f >/dev/null && echo $p $f; done; "
            "for f in fd cwd root exe; do ls /proc/$p/$f/ >/dev/null && echo $p $f; readlink /proc/$p/$f && echo $p "
            "$f; done; "
            "done 2>/dev/null; "
            // Control: the same files of an ordinary process are readable.
            "sleep 20 & for f in environ maps auxv fd/ cwd; do test -r /proc/$!/$f && echo own $f; done; kill -9 $!");
  const wire_outcome outcome = warden.run(command);
  EXPECT_EQ(outcome.out, "own environ\nown maps\nown auxv\nown fd/\nown cwd\n");
  // The warden's files must also be unreadable for an unrelated process of the same user, which can read the memory of
  // the user's other processes.
  const pid_t stranger = ::fork();
  ASSERT_GE(stranger, 0);
  if (stranger == 0) {
    if (::geteuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(4242, 4242, 4242) != 0 || ::setresuid(4242, 4242, 4242) != 0))
      ::_exit(3);
    const bool opened = ::open(("/proc/" + pid + "/mem").c_str(), O_RDONLY | O_CLOEXEC) >= 0;
    ::_exit(opened ? 1 : errno == EACCES ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(stranger, &status, 0), stranger);
  EXPECT_TRUE(is_clean_exit(status)) << status;
}

TEST_F(WardenProgram, commands_are_the_first_that_the_kernel_ends_for_memory) {
  const temporary_folder folder;
  ::chmod(folder.path().c_str(), 0755);
  const std::string program = (folder.path() / "warden").string();
  std::filesystem::copy_file(cofferdam_test::warden_program(), program);
  ::chmod(program.c_str(), 0755);
  const auto scores = [&](const std::string& ours, bool as_user) {
    return in_forked_host([&] {
      const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
      if (::write(fd, ours.data(), ours.size()) < 0) return "not allowed"s;
      // A process that changes its user becomes undumpable. The exec of the warden makes it dumpable again.
      if (as_user && ::geteuid() == 0 &&
          (::setgroups(0, nullptr) != 0 || ::setresgid(4242, 4242, 4242) != 0 || ::setresuid(4242, 4242, 4242) != 0))
        return "not allowed"s;
      wire_session warden(wire_start{{program, "3"}});
      std::string text = warden.run(shell("cat /proc/self/oom_score_adj")).out;
      text += warden.run(shell("cat /proc/self/oom_score_adj")).out;
      return text + "warden " + read_proc("/proc/" + std::to_string(warden.stream().pid()) + "/oom_score_adj");
    });
  };
  for (const bool as_user : {false, true}) {
    SCOPED_TRACE(as_user ? "as an ordinary user" : "as ourselves");
    EXPECT_EQ(scores("0", as_user), "500\n500\nwarden 0\n");
    EXPECT_EQ(scores("300", as_user), "500\n500\nwarden 300\n");
    EXPECT_EQ(scores("700", as_user), "700\n700\nwarden 700\n");
    const std::string spared = scores("-300", as_user);
    if (spared == "not allowed")
      std::cout << "not proven here: protection from the memory killer is not passed on (needs CAP_SYS_RESOURCE)\n";
    else
      EXPECT_EQ(spared, "500\n500\nwarden -300\n");
  }
}

// ---- the kernel refuses descriptors or system calls -----------------------------------------------------------------

/// Returns a shell line that starts a command, its child and its grandchild, each in a new session. Each prints a line
/// when SIGTERM reaches it, and continues.
std::string three_generations() {
  const auto says = [](const std::string& word) { return "trap \"echo " + word + "\" TERM; "; };
  const std::string goes_on = " echo up; while :; do sleep 0.05; done";
  const std::string inner = "setsid sh -c \"trap \\\"echo second\\\" TERM;" + goes_on + "\" &";
  return says("leader") + "setsid sh -c '" + says("first") + inner + goes_on + "' &" + goes_on;
}

/// Sends SIGTERM to all processes of a command. Returns "yes" if the signal reaches the child and the grandchild;
/// otherwise returns their output.
template <class Prepare>
std::string reaches_far_descendants(Prepare prepare) {
  wire_session warden;
  warden.spawn(1, shell(three_generations()));
  const auto count = [&](std::string_view word) {
    std::size_t found = 0;
    const std::string& text = warden[1].out;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  if (!warden.until([&] { return count("up") == 3; })) return "did not start";
  const std::string problem = prepare(warden);
  if (!problem.empty()) return problem;
  warden.signal(1, signal_scope::tree, SIGTERM);
  const bool both = warden.until([&] { return count("first") == 1 && count("second") == 1; }, 10s);
  const std::string heard = warden[1].out;
  warden.kill(1);
  if (!warden.until_over(1)) return "does not end";
  return both ? "yes" : heard;
}

TEST_F(WardenProgram, signals_reach_far_descendants_where_the_calls_with_pidfds_are_refused) {
  const auto nothing = [](wire_session&) { return std::string(); };
  struct refusal {
    long number;
    int error;
  };
  // Container engines before 2021 make calls that they do not know fail with EPERM.
  for (const refusal& refused_call : {refusal{SYS_pidfd_open, EPERM}, refusal{SYS_pidfd_open, ENOSYS},
                                      refusal{SYS_pidfd_open, ENFILE}, refusal{SYS_pidfd_send_signal, EPERM}}) {
    const std::string reached = in_forked_host([&] {
      if (!forbid(refused_call.number, refused_call.error)) return "no seccomp"s;
      return reaches_far_descendants(nothing);
    });
    if (reached == "no seccomp") GTEST_SKIP() << "not proven here: signals without pidfds (needs seccomp)";
    EXPECT_EQ(reached, "yes") << refused_call.number << " fails with " << refused_call.error;
  }
}

TEST_F(WardenProgram, signals_reach_far_descendants_while_the_supervisor_can_get_no_more_descriptors) {
  for (const rlim_t room : {rlim_t{5}, rlim_t{1}}) {
    EXPECT_EQ(reaches_far_descendants([&](wire_session& warden) {
                const rlimit few{room, room};
                for (const pid_t supervisor : children_of(warden.stream().pid()))
                  if (::prlimit(supervisor, RLIMIT_NOFILE, &few, nullptr) != 0) return "cannot limit it"s;
                return ""s;
              }),
              "yes")
        << room;
  }
}

TEST_F(WardenProgram, a_supervisor_that_was_short_of_descriptors_has_its_standard_ones_afterwards) {
  wire_session warden;
  const std::string mark = unique_sleep();
  warden.spawn(1, shell("(setsid sleep " + mark + " &); echo up $PPID; exec sleep " + mark));
  ASSERT_TRUE(warden.until_out(1, "\n"));
  const pid_t supervisor = static_cast<pid_t>(std::atol(warden[1].out.c_str() + 3));
  const auto standard = [&] {
    std::string text;
    for (const char* fd : {"0", "1", "2"}) {
      std::error_code none;
      text += std::filesystem::read_symlink("/proc/" + std::to_string(supervisor) + "/fd/" + fd, none).string() + " ";
    }
    return text;
  };
  const std::string before = standard();
  rlimit full{};
  ASSERT_EQ(::prlimit(supervisor, RLIMIT_NOFILE, nullptr, &full), 0);
  for (const rlim_t room : {rlim_t{5}, rlim_t{1}, rlim_t{0}}) {
    const rlimit now{room, full.rlim_max};
    ASSERT_EQ(::prlimit(supervisor, RLIMIT_NOFILE, &now, nullptr), 0);
    for (int i = 0; i < 100; ++i) warden.signal(1, signal_scope::tree, SIGURG);
    warden.signal(1, signal_scope::tree, SIGCONT);
    ASSERT_TRUE(warden.is_alive());
    std::this_thread::sleep_for(20ms);
  }
  ASSERT_EQ(::prlimit(supervisor, RLIMIT_NOFILE, &full, nullptr), 0);
  EXPECT_TRUE(eventually([&] { return standard() == before; })) << standard() << "instead of " << before;
  warden.kill(1);
  EXPECT_TRUE(warden.until_over(1));
  EXPECT_TRUE(living_with(mark).empty());
}

TEST_F(WardenProgram, signals_to_the_warden_do_nothing) {
  wire_session warden;
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGQUIT})
    ::kill(warden.stream().pid(), number);
  EXPECT_TRUE(warden.is_alive());
  EXPECT_TRUE(warden.run(shell("exit 3")).exited_with(3));
}

TEST_F(WardenProgram, while_nothing_happens_it_does_nothing) {
  wire_session warden;
  warden.spawn(1, shell("echo up; exec sleep " + unique_sleep()));
  wire_command silent = shell("head -c 300000 /dev/zero");
  silent.window = 10;
  warden.gives_credit = false;
  warden.spawn(2, silent);
  wire_command deaf = shell("exec sleep " + unique_sleep());
  deaf.flags = wire::spawn_open_input;
  warden.spawn(3, deaf);
  warden.input(3, std::string(wire::input_window, 'x'));
  ASSERT_TRUE(warden.until_out(1, "up"));
  warden.listen(50ms);
  const auto switches = [&] {
    const std::string status = read_proc("/proc/" + std::to_string(warden.stream().pid()) + "/status");
    const std::size_t at = status.find("\nvoluntary_ctxt_switches:");
    return at == std::string::npos ? -1L : std::atol(status.c_str() + at + 26);
  };
  const long before = switches();
  ASSERT_GT(before, 0);
  std::this_thread::sleep_for(200ms);
  EXPECT_LE(switches(), before + 2);
}

// ---- the program for another architecture, in an emulator -----------------------------------------------------------

// The emulator does not support subreapers, so processes that fork twice are lost. Process trees are therefore not
// tested in the emulator.

bool has_emulator() { return std::system("command -v qemu-aarch64 >/dev/null 2>&1") == 0; }

wire_start emulated() { return {{"qemu-aarch64", cofferdam_test::aarch64_warden_program(), "3"}, false}; }

#define NEEDS_EMULATOR() COFFERDAM_NEEDS("qemu-aarch64", has_emulator(), "that the warden for aarch64 works at all")

TEST_F(WardenProgram, that_of_aarch64_runs_commands) {
  NEEDS_EMULATOR();
  wire_session warden(emulated());
  EXPECT_EQ(warden.hello().machine, 183);
  EXPECT_EQ(warden.hello().magic, wire::magic);
  EXPECT_EQ(warden.hello().version, wire::version);
  for (const int code : {0, 1, 7, 255})
    EXPECT_TRUE(warden.run(shell("exit " + std::to_string(code))).exited_with(code));
  const wire_outcome outcome = warden.run(shell("echo out; echo err >&2; kill -9 $$"));
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_TRUE(outcome.was_killed_by(SIGKILL)) << outcome;
}

TEST_F(WardenProgram, that_of_aarch64_passes_bytes_both_ways) {
  NEEDS_EMULATOR();
  wire_start how = emulated();
  how.words.pop_back();
  how.over_pipes = true;
  wire_session warden(how);
  wire_command cat = wire_command::of({"/bin/cat"});
  cat.flags = wire::spawn_open_input;
  const std::string bytes = noise(500'003);
  warden.spawn(1, cat);
  warden.input_all(1, bytes);
  ASSERT_TRUE(warden.until_over(1));
  EXPECT_TRUE(warden[1].out == bytes) << warden[1].out.size();
  EXPECT_TRUE(warden[1].exited_with(0)) << warden[1];
}

TEST_F(WardenProgram, that_of_aarch64_tells_what_cannot_be_started) {
  NEEDS_EMULATOR();
  wire_session warden(emulated());
  const wire_outcome missing = warden.run(wire_command::of({"/nowhere"}));
  EXPECT_EQ(missing.stage, fail_stage::exec) << missing;
  EXPECT_EQ(missing.number, ENOENT) << missing;
  wire_command elsewhere = shell("exit 0");
  elsewhere.directory = "/nowhere";
  const wire_outcome nowhere = warden.run(elsewhere);
  EXPECT_EQ(nowhere.stage, fail_stage::directory) << nowhere;
  EXPECT_EQ(nowhere.number, ENOENT) << nowhere;
  EXPECT_TRUE(warden.run(shell("exit 3")).exited_with(3));
}

TEST_F(WardenProgram, that_of_aarch64_ends_commands) {
  NEEDS_EMULATOR();
  const std::string mark = unique_sleep();
  wire_session warden(emulated());
  wire_command command = shell("sleep " + mark);
  command.timeout_ms = 300;
  const wire_outcome late = warden.run(command);
  EXPECT_TRUE(late.was_killed_by(SIGKILL)) << late;
  EXPECT_EQ(late.reason, exit_reason::timeout);
  EXPECT_TRUE(living_with(mark).empty());
  command = shell("trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done");
  warden.spawn(1, command);
  ASSERT_TRUE(warden.until_out(1, "up"));
  warden.kill(1, 20'000);
  ASSERT_TRUE(warden.until_over(1, 15s));
  EXPECT_TRUE(warden[1].exited_with(5)) << warden[1];
  warden.spawn(2, shell("echo up; exec sleep " + mark));
  ASSERT_TRUE(warden.until_out(2, "up"));
  warden.stream().close();
  EXPECT_TRUE(eventually([&] { return living_with(mark).empty(); }, 5s));
  EXPECT_TRUE(is_clean_exit(warden.stream().wait(5s)));
}

TEST_F(WardenProgram, that_of_aarch64_refuses_what_it_does_not_understand) {
  NEEDS_EMULATOR();
  const std::string mark = unique_sleep();
  const std::string good = with_everything().payload();
  for (std::size_t size = 0; size < good.size(); size += 17) {
    wire_session warden(emulated());
    warden.spawn(1, shell("echo up; exec sleep " + mark));
    ASSERT_TRUE(warden.until_out(1, "up"));
    warden.stream().send_frame(frame::spawn, 2, good.substr(0, size));
    EXPECT_TRUE(is_clean_exit(warden.finish())) << size;
    ASSERT_TRUE(warden.refusal().has_value()) << size;
    EXPECT_EQ(warden.refusal()->first, fault::malformed);
    EXPECT_TRUE(living_with(mark).empty());
  }
}

}  // namespace
