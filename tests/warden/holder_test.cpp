// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/wire.hpp>

#include "support/census.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/wire_client.hpp"
#include "support/wire_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Tests of the warden program as the first process of a pod. A pid namespace with a network and a /proc of its own
// takes the place of the pod, and nsenter(1) that of an exec.

namespace {

using cofferdam_test::eventually;
using cofferdam_test::process_entry;
using cofferdam_test::process_table;
using cofferdam_test::unique_sleep;
using cofferdam_test::wire_command;
using cofferdam_test::wire_session;
using cofferdam_test::wire_start;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr const char* make_pod_command = "unshare --user --map-root-user --pid --net --mount-proc --fork";

bool has_namespaces() { return std::system((std::string(make_pod_command) + " true 2>/dev/null").c_str()) == 0; }

std::string namespace_of(pid_t pid) {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", failure).string();
}

/// A pid namespace with a first process.
class pod {
 public:
  explicit pod(std::vector<std::string> first) {
    std::vector<std::string> words{"unshare", "--user",       "--map-root-user", "--pid",
                                   "--net",   "--mount-proc", "--fork",          "--kill-child"};
    words.insert(words.end(), first.begin(), first.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawnp(&unshare_, arguments[0], nullptr, nullptr, arguments.data(), ::environ) != 0)
      throw std::system_error(errno, std::system_category(), "unshare");
    const std::string name = std::filesystem::path(first.front()).filename().string().substr(0, 15);
    eventually([&] {
      for (const process_entry& entry : process_table())
        if (entry.parent == unshare_ && entry.name == name) first_ = entry.pid;
      return first_ != 0;
    });
    namespace_ = namespace_of(first_);
  }
  pod(const pod&) = delete;
  pod& operator=(const pod&) = delete;
  ~pod() {
    if (has_ended()) return;
    ::kill(first_, SIGKILL);
    ::waitpid(unshare_, nullptr, 0);
  }

  pid_t first() const noexcept { return first_; }

  /// The command line that runs a program in the pod.
  std::vector<std::string> enter(std::vector<std::string> words) const {
    std::vector<std::string> line{"nsenter",  "--preserve-credentials", "--user", "--pid", "--net", "--mount",
                                  "--target", std::to_string(first_)};
    line.insert(line.end(), words.begin(), words.end());
    return line;
  }
  wire_start session() const { return {enter({cofferdam_test::warden_program(), "held"}), true, {}}; }

  /// Runs a shell line in the pod, outside of any session, and returns its exit code.
  int run(const std::string& line) const {
    std::string text;
    for (const std::string& word : enter({"/bin/sh", "-c", "'" + line + "'"})) text += word + " ";
    const int status = std::system(text.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The processes of the pod besides the first one.
  std::vector<process_entry> others() const {
    std::vector<process_entry> found;
    for (const process_entry& entry : process_table())
      if (entry.pid != first_ && namespace_of(entry.pid) == namespace_) found.push_back(entry);
    return found;
  }
  bool is_empty() const { return others().empty(); }

  bool has_ended() {
    if (unshare_ == 0) return true;
    if (::waitpid(unshare_, &status_, WNOHANG) != unshare_) return false;
    unshare_ = 0;
    return true;
  }
  int exit_code() const noexcept { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

 private:
  pid_t unshare_ = 0;
  pid_t first_ = 0;
  int status_ = -1;
  std::string namespace_;
};

pod held_pod(std::chrono::milliseconds time) {
  return pod({cofferdam_test::warden_program(), "hold", std::to_string(time.count())});
}

/// Begins a session in a pod whose last session has ended. The holder may not yet have seen that all processes are
/// gone; it then refuses or kills the session.
std::unique_ptr<wire_session> next_session(const pod& in) {
  for (int attempt = 0;; ++attempt) {
    try {
      return std::make_unique<wire_session>(in.session());
    } catch (const std::exception&) {
      if (attempt == 100) throw;
      std::this_thread::sleep_for(20ms);
    }
  }
}

/// Starts a program in the pod, and returns its exit code and what it writes to its standard error.
std::pair<int, std::string> ended(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += "'" + word + "' ";
  FILE* const from = ::popen((line + "2>&1 >/dev/null </dev/null").c_str(), "r");
  std::string text;
  std::array<char, 256> piece{};
  while (std::fgets(piece.data(), static_cast<int>(piece.size()), from) != nullptr) text += piece.data();
  const int status = ::pclose(from);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

/// Starts a command that leaves processes everywhere: in other sessions, without a parent, and with a cleared
/// environment.
void leave_processes(wire_session& in) {
  const std::string sleep = "sleep " + unique_sleep();
  in.spawn(101, wire_command::shell("setsid sh -c '" + sleep + " & " + sleep + "' & env -i setsid " + sleep +
                                    " & echo ready; " + sleep));
  EXPECT_TRUE(in.until_out(101, "ready"));
}

class Holder : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = ::signal(SIGPIPE, SIG_IGN);
    COFFERDAM_NEEDS("user namespaces", has_namespaces(), "the first process of a pod");
  }
  void TearDown() override { ::signal(SIGPIPE, before_); }

 private:
  sighandler_t before_ = SIG_DFL;
};

TEST_F(Holder, the_end_of_a_session_kills_everything_else) {
  pod in = held_pod(60s);
  auto session = std::make_unique<wire_session>(in.session());
  EXPECT_NE(session->hello().pid, 1U);
  leave_processes(*session);
  EXPECT_GE(in.others().size(), 5U);
  session->stream().close();
  const auto begin = clock::now();
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));
  EXPECT_LT(clock::now() - begin, 5s);
  EXPECT_FALSE(in.has_ended());
}

TEST_F(Holder, the_next_session_is_served_after_the_first) {
  pod in = held_pod(60s);
  for (int round = 0; round < 5; ++round) {
    const std::unique_ptr<wire_session> session = next_session(in);
    leave_processes(*session);
    session->stream().close();
    ASSERT_TRUE(eventually([&] { return in.is_empty(); })) << round;
  }
  EXPECT_FALSE(in.has_ended());
}

TEST_F(Holder, a_second_session_is_refused_and_the_first_one_goes_on) {
  pod in = held_pod(60s);
  wire_session first(in.session());
  for (int round = 0; round < 3; ++round) {
    const auto [code, text] = ended(in.enter({cofferdam_test::warden_program(), "held"}));
    EXPECT_EQ(code, 3);
    EXPECT_EQ(text, "warden: this pod has another session\n");
  }
  EXPECT_EQ(first.run(wire_command::shell("echo alive")).out, "alive\n");
}

TEST_F(Holder, a_session_needs_a_holder_as_first_process) {
  pod in({"/bin/sleep", "1000"});
  const auto [code, text] = ended(in.enter({cofferdam_test::warden_program(), "held"}));
  EXPECT_EQ(code, 4);
  EXPECT_EQ(text, "warden: the first process of this pod does not hold it\n");
}

TEST_F(Holder, an_impostor_at_its_address_is_no_holder) {
  pod in({"/bin/sleep", "1000"});
  const auto listen = in.enter(
      {"python3", "-c",
       "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\ns.bind(\"\\0cofferdam-hold\")\n"
       "s.listen()\nprint(\"ready\", flush=True)\nc = s.accept()[0]\nc.send(b\"\\1\")\ns.accept()"});
  std::string line;
  for (const std::string& word : listen) line += "'" + word + "' ";
  FILE* const impostor = ::popen(line.c_str(), "r");
  std::array<char, 16> ready{};
  ASSERT_NE(std::fgets(ready.data(), 16, impostor), nullptr);
  EXPECT_EQ(ended(in.enter({cofferdam_test::warden_program(), "held"})).first, 4);
  for (const process_entry& entry : in.others()) ::kill(entry.pid, SIGKILL);
  ::pclose(impostor);
}

TEST_F(Holder, it_ends_when_no_session_comes_in_time) {
  const auto begin = clock::now();
  pod in = held_pod(300ms);
  EXPECT_TRUE(eventually([&] { return in.has_ended(); }));
  EXPECT_EQ(in.exit_code(), 0);
  EXPECT_GE(clock::now() - begin, 300ms);
}

TEST_F(Holder, it_ends_when_no_session_comes_after_the_last_one) {
  pod in = held_pod(1s);
  {
    wire_session session(in.session());
    std::this_thread::sleep_for(1500ms);  // longer than the hold time, which does not run during a session
    EXPECT_EQ(session.run(wire_command::shell("echo alive")).out, "alive\n");
    EXPECT_FALSE(in.has_ended());
  }
  EXPECT_TRUE(eventually([&] { return in.has_ended(); }));
  EXPECT_EQ(in.exit_code(), 0);
}

TEST_F(Holder, a_guest_that_kills_the_session_ends_itself_and_all_others) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  leave_processes(session);
  // Without Landlock, a guest of the same user can signal the session.
  session.spawn(102,
                wire_command::shell("trap '' TERM; kill -9 " + std::to_string(session.hello().pid) + "; sleep 1000"));
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));
  EXPECT_FALSE(in.has_ended());
  session.stream().close();
  EXPECT_EQ(next_session(in)->run(wire_command::shell("echo alive")).out, "alive\n");
}

TEST_F(Holder, a_guest_that_kills_all_it_can_ends_itself) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  session.spawn(101, wire_command::shell("kill -9 -1; exec sleep 1000"));
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));
  EXPECT_FALSE(in.has_ended());
}

TEST_F(Holder, a_guest_gets_no_session_of_its_own) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  const std::string join =
      "import os, socket, sys\n"
      "def join():\n"
      "  s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect('\\0cofferdam-hold'); return s\n";
  const auto python = [&](const std::string& code) {
    return wire_command::of({"/usr/bin/python3", "-c", join + code});
  };
  EXPECT_EQ(session.run(python("print(join().recv(1))")).out, "b'\\x02'\n");
  // Connections that are in the queue when the session ends must not become the next session.
  session.spawn(102, python("os.kill(" + std::to_string(session.hello().pid) +
                            ", 9)\nkept = [join() for each in range(10)]\nimport time; time.sleep(1000)"));
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));
  session.stream().close();
  EXPECT_EQ(next_session(in)->run(wire_command::shell("echo alive")).out, "alive\n");
}

TEST_F(Holder, guests_that_connect_without_end_hide_nothing_from_it) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  for (std::uint32_t job = 101; job <= 103; ++job)
    session.spawn(job, wire_command::of({"/usr/bin/python3", "-c",
                                         "import socket\nprint('ready', flush=True)\n"
                                         "while True:\n"
                                         "  s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                                         "  s.connect('\\0cofferdam-hold')\n"}));
  for (std::uint32_t job = 101; job <= 103; ++job) EXPECT_TRUE(session.until_out(job, "ready"));
  session.stream().close();
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));
}

// nsenter(1) stops together with its child, and must be continued by the test.
TEST_F(Holder, a_suspended_session_is_continued) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  const std::string number = std::to_string(session.hello().pid);
  // The answer arrives only if the session runs again.
  EXPECT_EQ(session.run(wire_command::shell("kill -STOP " + number + "; echo sent")).out, "sent\n");
  ::kill(session.stream().pid(), SIGCONT);
}

TEST_F(Holder, a_session_that_is_suspended_again_and_again_is_ended) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  const std::string number = std::to_string(session.hello().pid);
  session.spawn(101, wire_command::shell("while :; do kill -STOP " + number + "; sleep 0.01; done"));
  EXPECT_TRUE(eventually([&] {
    const std::vector<process_entry> others = in.others();
    return std::all_of(others.begin(), others.end(), [](const process_entry& each) { return each.is_zombie(); });
  }));
  ::kill(session.stream().pid(), SIGCONT);
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));
  EXPECT_FALSE(in.has_ended());
}

TEST_F(Holder, processes_that_fork_without_end_are_ended) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  session.spawn(101,
                wire_command::shell("f() { sleep 0.02; f & }; for i in 1 2 3 4 5 6 7 8 9 10; do f & done; echo ready; "
                                    "sleep 1000"));
  EXPECT_TRUE(session.until_out(101, "ready"));
  session.spawn(102, wire_command::shell("kill -9 " + std::to_string(session.hello().pid)));
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));
}

TEST_F(Holder, a_request_to_end_from_outside_of_the_pod_is_followed_at_once) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  leave_processes(session);
  ASSERT_EQ(::kill(in.first(), SIGTERM), 0);
  EXPECT_TRUE(eventually([&] { return in.has_ended(); }));
  EXPECT_EQ(in.exit_code(), 143);  // 0 would look as if no session had come
}

TEST_F(Holder, a_guest_cannot_end_it) {
  pod in = held_pod(60s);
  wire_session session(in.session());
  EXPECT_EQ(
      session.run(wire_command::shell("for i in TERM KILL STOP INT HUP QUIT USR1 CHLD; do kill -$i 1; done; echo sent"))
          .out,
      "sent\n");
  // A forged sender: a guest can set the sender 0, but then not the code 0, which means kill(2).
  const std::string call = "libc.syscall(" + std::to_string(SYS_rt_sigqueueinfo) + ", 1, 15, info)";
  const std::string forge =
      "import ctypes\ninfo = (ctypes.c_int * 32)(15, 0, -1, 0, 0, 0)\nlibc = ctypes.CDLL(None, use_errno=True)\n"
      "print(" +
      call + ")\ninfo[2] = 0\nprint(" + call + ", ctypes.get_errno())\n";
  EXPECT_EQ(session.run(wire_command::of({"/usr/bin/python3", "-c", forge})).out, "0\n-1 1\n");
  EXPECT_EQ(session.run(wire_command::shell("echo alive")).out, "alive\n");
  EXPECT_FALSE(in.has_ended());
}

TEST_F(Holder, it_reaps_orphans) {
  pod in = held_pod(60s);
  EXPECT_EQ(in.run("for i in 1 2 3 4 5 6 7 8; do (sleep 0.05 & ) ; done"), 0);
  EXPECT_TRUE(eventually([&] { return in.is_empty(); }));  // counts zombies, too
}

TEST_F(Holder, it_is_the_first_process_of_a_pod_or_nothing) {
  const auto [code, text] = ended({cofferdam_test::warden_program(), "hold", "1000"});
  EXPECT_EQ(code, 2);
  EXPECT_EQ(text, "warden: hold works only as the first process of a pod\n");
  for (const std::string time : {"", "x", "1x", "-1", "1000000000"})
    EXPECT_EQ(ended({cofferdam_test::warden_program(), "hold", time}).second,
              "warden: hold needs a time in milliseconds\n");
  EXPECT_EQ(ended({cofferdam_test::warden_program(), "hold"}).first, 2);
}

}  // namespace
