// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests the E2B backend with go_daemon, a stand-in for E2B's API and daemon that starts processes as the real daemon
// does. The tests see the processes of the sandbox from outside, in the process table of this machine.

#include "backends/e2b/go_daemon.hpp"

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/files/upload.hpp>

#include "support/fault_proxy.hpp"
#include "support/go_program.hpp"
#include "support/hostile.hpp"
#include "support/paths.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace go_daemon_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::eventually;
using cofferdam_test::fault;
using cofferdam_test::fault_proxy;
using cofferdam_test::forked_program;
using cofferdam_test::kill_marked;
using cofferdam_test::marked;
using cofferdam_test::new_marker;
using cofferdam_test::shown;
using cofferdam_test::with_marker;
using e2b::command_transport;

/// A shell line that starts processes which leave its session, its process group and its variables. `M` stands for the
/// marker.
const std::string tree =
    "sleep M & setsid sleep M & (setsid sh -c 'sleep M & exec env -i sleep M' </dev/null >/dev/null 2>&1 &); ";

/// The number of processes that `tree` starts.
constexpr std::size_t tree_size = 4;

// ---- the end of the host --------------------------------------------------------------------------------------------

/// Kills a host while its command runs, and returns the processes of the command that still live after 10 seconds.
std::string left_after_the_death_of_a_host(const go_daemon& daemon, command_transport how) {
  const std::string marker = new_marker();
  const std::string line = with_marker(tree + "sleep M", marker);
  forked_program host([&](int fd) {
    cofferdam_test::run([&]() -> awaitable<void> {
      e2b::environment env = co_await provider_at(daemon.url(), how).open();
      forked_program::say(fd, "open\n");
      co_await env.run_command(shell(line).timeout(1min));
    });
  });
  const std::string said = host.line();
  if (said != "open") return said;
  if (!eventually([&] { return marked(marker).size() > tree_size; })) return "not started";
  host.kill();
  eventually([&] { return marked(marker).empty(); }, 10s);
  const std::string left = shown(marked(marker));
  kill_marked(marker);
  return left;
}

TEST(E2bGoDaemon, nothing_of_a_command_survives_its_killed_host) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that commands in E2B end with their host");
  const go_daemon daemon;
  EXPECT_EQ(left_after_the_death_of_a_host(daemon, command_transport::warden), "");
}

TEST(E2bGoDaemon, control_by_the_daemon_all_of_it_survives) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that commands in E2B survive their host without a warden");
  const go_daemon daemon;
  const std::string left = left_after_the_death_of_a_host(daemon, command_transport::daemon);
  EXPECT_NE(left.find("sleep"), std::string::npos) << left;
}

// ---- the end of a command -------------------------------------------------------------------------------------------

TEST(E2bGoDaemon, the_whole_tree_of_a_command_ends_at_its_time_limit_and_at_its_end) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that the process trees of commands end in E2B");
  const go_daemon daemon;
  in_environment(provider_at(daemon.url(), command_transport::warden), [](e2b::environment& env) -> awaitable<void> {
    const std::string marker = new_marker();
    const command limited = shell(with_marker(tree + "sleep M", marker)).timeout(1s);
    command_result result = co_await env.run_command(limited);
    EXPECT_EQ(result.kind(), error_kind::timeout) << error_output(result);
    EXPECT_EQ(shown(marked(marker)), "");
    // The pause lets all of them start.
    const command ending = shell(with_marker(tree + "sleep 0.5", marker));
    result = co_await env.run_command(ending);
    EXPECT_TRUE(result.ok()) << error_output(result);
    EXPECT_EQ(shown(marked(marker)), "");
    kill_marked(marker);
  });
}

TEST(E2bGoDaemon, a_command_that_kills_all_processes_of_its_user_does_not_reach_the_warden) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that commands in E2B cannot kill the warden");
  const cofferdam_test::spare_user& user = cofferdam_test::spare_user::instance();
  COFFERDAM_NEEDS("root", user.is_there(), "that commands in E2B cannot kill the warden, which runs as root");
  const go_daemon daemon({"-user", std::to_string(user.uid())});
  in_environment(provider_at(daemon.url(), command_transport::warden), [&](e2b::environment& env) -> awaitable<void> {
    const std::string marker = new_marker();
    const command kept = shell(with_marker("sleep M & echo $!", marker)).background(background_policy::keep);
    command_result result = co_await env.run_command(kept);
    EXPECT_TRUE(result.left_running()) << error_output(result);
    EXPECT_NE(result.isolation().of(isolation_kind::process_tree).find("unless it becomes root"),
              std::string_view::npos);
    const command hostile = shell("id -u; kill -9 -1; kill -9 -1");
    result = co_await env.run_command(hostile);
    EXPECT_EQ(result.out_text(), std::to_string(user.uid()) + "\n") << error_output(result);
    const command next = shell("echo next");
    result = co_await env.run_command(next);
    EXPECT_EQ(result.out_text(), "next\n") << error_output(result);
    kill_marked(marker);
  });
}

// ---- the end of the connection --------------------------------------------------------------------------------------

TEST(E2bGoDaemon, a_broken_stream_loses_the_command_under_way_and_the_next_one_gets_a_new_warden) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that an environment in E2B survives broken connections");
  const go_daemon daemon;
  fault_proxy proxy(daemon.tcp_address());
  const std::string url = "http://127.0.0.1:" + std::to_string(proxy.port());
  in_environment(provider_at(url, command_transport::warden), [&](e2b::environment& env) -> awaitable<void> {
    const std::string marker = new_marker();
    process running = co_await env.start(shell(with_marker(tree + "echo so far; sleep M", marker)));
    output_chunk piece = co_await running.read();
    EXPECT_EQ(as_text(piece.data()), "so far\n");
    const bool started = co_await comes_true([&] { return marked(marker).size() > tree_size; });
    EXPECT_TRUE(started);
    const std::size_t starts = proxy.requests("process.Process/Start");
    EXPECT_EQ(starts, 2U);  // the facts of the sandbox, and the warden
    proxy.arm(fault());
    const error failure = co_await failure_of([&]() -> awaitable<void> { co_await running.wait(); });
    EXPECT_EQ(failure.code(), exec_errc::provider_lost) << failure.what();
    if (failure.partial() == nullptr)
      ADD_FAILURE() << "no partial result: " << failure.what();
    else
      EXPECT_EQ(failure.partial()->out_text(), "so far\n");
    command_result result = co_await env.run_command(shell("echo next"));
    EXPECT_EQ(result.out_text(), "next\n") << error_output(result);
    EXPECT_EQ(proxy.requests("process.Process/Start"), 1U);
    const bool ended = co_await comes_true([&] { return marked(marker).empty(); });
    EXPECT_TRUE(ended) << shown(marked(marker));
    kill_marked(marker);
  });
}

TEST(E2bGoDaemon, a_silent_daemon_loses_the_command_after_the_lease_and_the_next_one_works) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that silent connections to E2B are noticed");
  const go_daemon daemon;
  in_environment(provider_at(daemon.url(), command_transport::warden), [&](e2b::environment& env) -> awaitable<void> {
    const std::string marker = new_marker();
    process running = co_await env.start(shell(with_marker("echo so far; sleep M", marker)));
    output_chunk piece = co_await running.read();
    EXPECT_EQ(as_text(piece.data()), "so far\n");
    ::kill(daemon.pid(), SIGSTOP);
    const error failure = co_await failure_of([&]() -> awaitable<void> { co_await running.wait(); });
    EXPECT_EQ(failure.code(), exec_errc::provider_lost) << failure.what();
    const bool ended = co_await comes_true([&] { return marked(marker).empty(); }, 1s);
    EXPECT_TRUE(ended) << shown(marked(marker));
    ::kill(daemon.pid(), SIGCONT);
    command_result result = co_await env.run_command(shell("echo next"));
    EXPECT_EQ(result.out_text(), "next\n") << error_output(result);
    kill_marked(marker);
  });
}

TEST(E2bGoDaemon, a_warden_that_a_broken_connection_kept_from_starting_is_started_later) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that broken connections do not end the use of wardens in E2B");
  const go_daemon daemon;
  fault_proxy proxy(daemon.tcp_address());
  const std::string url = "http://127.0.0.1:" + std::to_string(proxy.port());
  in_environment(provider_at(url, command_transport::automatic), [&](e2b::environment& env) -> awaitable<void> {
    int broken = 0;
    for (std::size_t at = 0; at < 2000; at += 100) {
      proxy.arm(fault(fault::kind::cut, cofferdam_test::direction::down, at));
      co_await cofferdam_test::pause_for(50ms);  // in which the loss of the warden is noticed
      const error failure = co_await failure_of([&]() -> awaitable<void> { co_await env.run_command(shell("true")); });
      if (proxy.fired()) ++broken;
      proxy.arm(fault());
      co_await cofferdam_test::pause_for(50ms);
      command_result result = co_await env.run_command(shell("echo next"));
      EXPECT_EQ(result.out_text(), "next\n") << error_output(result);
      EXPECT_TRUE(result.isolation().of(isolation_kind::process_tree).starts_with("everything the command started"))
          << at << ": " << failure.what();
    }
    EXPECT_GT(broken, 5);
  });
}

// ---- the lifetime of the sandbox -----------------------------------------------------------------------------------

TEST(E2bGoDaemon, a_sandbox_lives_as_long_as_a_command_runs_in_it) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B's sandboxes outlive long commands");
  const go_daemon daemon;
  for (const command_transport how : {command_transport::warden, command_transport::daemon}) {
    e2b::provider provider = provider_at(daemon.url(), how).lifetime(2s);
    in_environment(provider, [](e2b::environment& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell("sleep 5; echo done"));
      EXPECT_EQ(result.out_text(), "done\n") << error_output(result);
    });
  }
}

TEST(E2bGoDaemon, a_sandbox_that_goes_on_has_no_warden_after_the_end_of_its_environment) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that environments leave nothing in sandboxes that go on");
  const go_daemon daemon;
  in_environment(provider_at(daemon.url(), command_transport::daemon), [&](e2b::environment& env) -> awaitable<void> {
    e2b::provider guest = e2b::in_sandbox(env.id())
                              .variables_from(e2b::surroundings())
                              .api_key("e2b_0123456789")
                              .api_url(daemon.url())
                              .sandbox_url(daemon.url());
    for (int i = 0; i < 2; ++i) {
      const bool closes = i == 0;
      {
        e2b::environment visit = co_await guest.open();
        co_await visit.run_command(shell("true"));
        std::vector<e2b::running_process> seen = co_await env.processes();
        EXPECT_EQ(seen.size(), 1U);
        if (closes) co_await visit.close();
      }
      // Much earlier than the lease.
      std::vector<e2b::running_process> left;
      for (int tries = 0; tries < 80; ++tries) {
        co_await cofferdam_test::pause_for(50ms);
        left = co_await env.processes();
        if (left.empty()) break;
      }
      EXPECT_TRUE(left.empty());
    }
  });
}

// ---- sandboxes in which no warden can run ---------------------------------------------------------------------------

/// A daemon in whose sandboxes `uname` names a machine without a warden.
class strange_machine {
 public:
  strange_machine()
      : daemon_({"-path", folder_.write("bin/uname", "#!/bin/sh\necho pdp11\n", 0755).parent_path().string() + ":" +
                              std::getenv("PATH")}) {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  }
  std::string url() const { return daemon_.url(); }

 private:
  cofferdam_test::temporary_folder folder_;
  go_daemon daemon_;
};

TEST(E2bGoDaemon, where_no_warden_can_run_the_daemon_starts_the_commands) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B works where no warden can run");
  const strange_machine daemon;
  const auto work = [](e2b::environment& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("echo by the daemon"));
    EXPECT_EQ(result.out_text(), "by the daemon\n") << error_output(result);
    EXPECT_EQ(result.isolation().of(isolation_kind::process_tree),
              "the command's session, and processes with its variables");
    co_await env.write_file("a", as_bytes("hello"));
    bytes back = co_await env.read_file("a", 100);
    EXPECT_EQ(as_text(back), "hello");
    std::vector<e2b::running_process> left = co_await env.processes();
    EXPECT_TRUE(left.empty());
  };
  in_environment(provider_at(daemon.url(), command_transport::automatic), work);
}

TEST(E2bGoDaemon, a_required_warden_that_cannot_run_is_an_error_of_open) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B does not work without a required warden");
  const strange_machine daemon;
  cofferdam_test::run([&]() -> awaitable<void> {
    const error failure = co_await failure_of([&]() -> awaitable<void> {
      e2b::environment env = co_await provider_at(daemon.url(), command_transport::warden).open();
    });
    EXPECT_EQ(failure.code(), exec_errc::unsupported) << failure.what();
    EXPECT_NE(std::string(failure.what()).find("pdp11"), std::string::npos) << failure.what();
  });
}

TEST(E2bGoDaemon, where_nobody_may_be_root_the_warden_has_the_user_of_the_commands) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B works where the daemon refuses root");
  const cofferdam_test::spare_user& user = cofferdam_test::spare_user::instance();
  const std::string uid = std::to_string(user.is_there() ? user.uid() : ::getuid());
  const go_daemon daemon({"-no-root", "-user", uid});
  in_environment(provider_at(daemon.url(), command_transport::warden), [&](e2b::environment& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("id -u"));
    EXPECT_EQ(result.out_text(), uid + "\n") << error_output(result);
    EXPECT_NE(result.isolation().of(isolation_kind::process_tree).find("unless it ends the warden"),
              std::string_view::npos);
  });
}

// ---- pauses ---------------------------------------------------------------------------------------------------------

TEST(E2bGoDaemon, a_sandbox_is_not_paused_copied_or_left_while_a_command_runs) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B's sandboxes are paused only without commands");
  const go_daemon daemon;
  for (const command_transport how : {command_transport::warden, command_transport::daemon}) {
    in_environment(provider_at(daemon.url(), how), [](e2b::environment& env) -> awaitable<void> {
      const std::string marker = new_marker();
      process running = co_await env.start(shell(with_marker("echo; sleep M", marker)));
      co_await running.read();
      const std::vector<std::function<awaitable<void>()>> refused{
          [&] { return env.pause(); }, [&]() -> awaitable<void> { co_await env.snapshot(); },
          [&]() -> awaitable<void> { co_await env.fork(); }, [&] { return env.detach(); }};
      for (const auto& each : refused) {
        const error failure = co_await failure_of(each);
        EXPECT_EQ(failure.code(), exec_errc::busy) << failure.what();
      }
      // A process has no command line in the moment in which it starts a program.
      EXPECT_TRUE(cofferdam_test::eventually([&] { return !marked(marker).empty(); }));
      co_await running.signal(SIGKILL);
      co_await running.wait();
      co_await env.pause();
      co_await env.resume();
      command_result result = co_await env.run_command(shell("echo again"));
      EXPECT_EQ(result.out_text(), "again\n") << error_output(result);
    });
  }
}

/// Runs a command that leaves a process running. The process writes all the time.
awaitable<void> keep_running(e2b::environment& env, std::string marker) {
  const command keeps = shell(with_marker("sh -c 'while :; do echo; sleep 0.01; done' M &", marker));
  const command_result result = co_await env.run_command(command(keeps).background(background_policy::keep));
  EXPECT_TRUE(result.left_running()) << error_output(result);
  EXPECT_TRUE(eventually([&] { return !marked(marker).empty(); }));  // a process that begins a program has no words
}

TEST(E2bGoDaemon, what_a_command_has_left_running_survives_a_pause_and_a_copy_of_the_sandbox) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that processes survive a pause of E2B's sandboxes");
  const go_daemon daemon;
  in_environment(provider_at(daemon.url(), command_transport::warden), [](e2b::environment& env) -> awaitable<void> {
    const std::string marker = new_marker();
    co_await keep_running(env, marker);
    co_await env.pause();
    EXPECT_FALSE(marked(marker).empty());
    co_await env.resume();
    command_result result = co_await env.run_command(shell("echo again"));
    EXPECT_EQ(result.out_text(), "again\n") << error_output(result);
    std::vector<e2b::forked> copies = co_await env.fork();
    EXPECT_EQ(copies.size(), 1U);
    // Longer than the lease of a warden: one that was not ended would end the process now.
    co_await cofferdam_test::pause_for(9s);
    EXPECT_FALSE(marked(marker).empty());
    kill_marked(marker);
  });
}

TEST(E2bGoDaemon, a_copy_is_a_sandbox_of_its_own) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that copies of E2B's sandboxes can be used");
  const go_daemon daemon;
  in_environment(provider_at(daemon.url(), command_transport::warden), [](e2b::environment& env) -> awaitable<void> {
    co_await env.write_file("note", as_bytes("before"));
    std::vector<e2b::forked> copies = co_await env.fork(2);
    EXPECT_EQ(copies.size(), 2U);
    co_await env.write_file("note", as_bytes("after"));
    for (e2b::forked& each : copies) {
      if (each.failure() != nullptr) throw *each.failure();
      const bytes content = co_await each.copy().read_file("note", 100);
      EXPECT_EQ(as_text(content), "before");
      command_result result = co_await each.copy().run_command(shell("cat note"));
      EXPECT_EQ(result.out_text(), "before") << error_output(result);
      EXPECT_NE(each.copy().id(), env.id());
    }
    EXPECT_NE(copies.front().copy().id(), copies.back().copy().id());
    for (e2b::forked& each : copies) co_await each.copy().close();
    const bytes content = co_await env.read_file("note", 100);
    EXPECT_EQ(as_text(content), "after");
    const error none = co_await failure_of([&]() -> awaitable<void> { co_await env.fork(0); });
    EXPECT_EQ(none.code(), exec_errc::invalid_argument) << none.what();
  });
}

TEST(E2bGoDaemon, a_sandbox_can_be_left_with_what_runs_in_it_and_found_again) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B's sandboxes can be left and found again");
  const go_daemon daemon;
  const std::string marker = new_marker();
  std::string id;
  cofferdam_test::run([&]() -> awaitable<void> {
    e2b::environment env = co_await provider_at(daemon.url(), command_transport::warden).open();
    id = env.id();
    co_await env.write_file("note", as_bytes("kept"));
    co_await keep_running(env, marker);
    co_await env.detach();
    const error closed = co_await failure_of([&]() -> awaitable<void> { co_await env.run_command(shell("true")); });
    EXPECT_EQ(closed.code(), exec_errc::environment_closed) << closed.what();
  });
  EXPECT_TRUE(eventually([&] { return !marked(marker).empty(); }));
  e2b::provider again = e2b::in_sandbox(id)
                            .variables_from(e2b::surroundings())
                            .api_key("e2b_0123456789")
                            .api_url(daemon.url())
                            .sandbox_url(daemon.url());
  in_environment(again, [&](e2b::environment& env) -> awaitable<void> {
    const bytes content = co_await env.read_file("note", 100);
    EXPECT_EQ(as_text(content), "kept");
    EXPECT_FALSE(marked(marker).empty());
    kill_marked(marker);
  });
}

TEST(E2bGoDaemon, input_reaches_a_process_that_is_known_by_its_number) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that input reaches processes of E2B's daemon");
  const go_daemon daemon;
  in_environment(provider_at(daemon.url(), command_transport::daemon), [](e2b::environment& env) -> awaitable<void> {
    process running = co_await env.start(shell("cat; echo end").open_input());
    std::vector<e2b::running_process> found;
    for (int i = 0; i < 1000 && found.empty(); ++i) {
      found = co_await env.processes();
      if (found.empty()) co_await cofferdam_test::pause_for(10ms);
    }
    EXPECT_EQ(found.size(), 1U);
    if (found.empty()) co_return;
    co_await env.send_input(found.front().pid(), as_bytes("one\n"));
    co_await env.send_input(found.front().pid(), as_bytes("two\n"));
    co_await env.end_input(found.front().pid());
    const command_result result = co_await running.wait();
    EXPECT_EQ(result.out_text(), "one\ntwo\nend\n") << error_output(result);
    const error failure = co_await failure_of([&]() -> awaitable<void> {
      const bytes_view data = as_bytes("x");
      co_await env.send_input(999'999'999, data);
    });
    EXPECT_EQ(failure.code(), exec_errc::not_found) << failure.what();
  });
}

// ---- files ----------------------------------------------------------------------------------------------------------

TEST(E2bGoDaemon, large_files_go_through_the_daemons_file_calls_and_small_ones_through_the_warden) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "which way files go to E2B");
  const go_daemon daemon;
  fault_proxy proxy(daemon.tcp_address());
  const std::string url = "http://127.0.0.1:" + std::to_string(proxy.port());
  in_environment(provider_at(url, command_transport::warden), [&](e2b::environment& env) -> awaitable<void> {
    const std::string large(std::size_t{1} << 20, 'x');
    co_await env.write_file("small", as_bytes("hello"));
    bytes back = co_await env.read_file("small", large.size());
    EXPECT_EQ(as_text(back), "hello");
    EXPECT_EQ(proxy.requests("/files"), 0U);
    co_await env.write_file("large", as_bytes(large));
    EXPECT_EQ(proxy.requests("POST /files"), 1U);
    back = co_await env.read_file("large", large.size());
    EXPECT_EQ(as_text(back), large);
    EXPECT_EQ(proxy.requests("GET /files"), 1U);
    // A file that is replaced keeps its mode, and no temporary file is left.
    const command script = shell("chmod 604 large");
    co_await env.run_command(script);
    co_await env.write_file("large", as_bytes(large));
    directory_entry found = co_await env.files().stat("large");
    EXPECT_EQ(found.mode(), 0604U);
    const command search = shell("ls -A ~/.cofferdam | grep -c '^[0-9a-f]*$'");
    command_result rest = co_await env.run_command(search);
    EXPECT_EQ(rest.out_text(), "0\n");
    // Of a whole tree, only the large file.
    const cofferdam_test::temporary_folder here;
    here.write("tree/one", "1");
    here.write("tree/sub/two", "2");
    here.write("tree/sub/large", large);
    file_set set = files((here / "tree").string()).into("in");
    const transfer_result moved = co_await upload(env, std::move(set));
    EXPECT_TRUE(moved.ok());
    EXPECT_EQ(proxy.requests("POST /files"), 3U);
    const command count = shell("cat in/one in/sub/two; wc -c < in/sub/large");
    command_result result = co_await env.run_command(count);
    EXPECT_EQ(result.out_text(), "12" + std::to_string(large.size()) + "\n") << error_output(result);
  });
}

}  // namespace

}  // namespace go_daemon_tests
