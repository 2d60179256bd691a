// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests the parts of the E2B backend that use the sandbox's daemon and no warden: commands with a user of their own,
// commands where no warden can run, and the metadata of files. The daemon is go_daemon, a stand-in that starts
// processes as E2B's daemon does.

#include <cofferdam/backends/detail/tracked_script.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>

#include "backends/e2b/go_daemon.hpp"
#include "support/hostile.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace go_daemon_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::kill_marked;
using cofferdam_test::marked;
using cofferdam_test::new_marker;
using cofferdam_test::shown;
using cofferdam_test::with_marker;
using e2b::command_transport;
using e2b::file_metadata;

/// A shell line that starts processes, of which some leave its session. All of them keep its variables. `M` stands for
/// the marker.
const std::string own_tree =
    "sleep M & setsid sleep M & (setsid sh -c 'sleep M & sleep M' </dev/null >/dev/null 2>&1 &); ";

// ---- users ----------------------------------------------------------------------------------------------------------

TEST(E2bGoDaemon, a_command_with_a_user_of_its_own_runs_as_this_user_in_the_workspace) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that commands in E2B can have users of their own");
  const cofferdam_test::spare_user& user = cofferdam_test::spare_user::instance();
  COFFERDAM_NEEDS("root", user.is_there(), "that commands in E2B can have users of their own");
  const std::string own = std::to_string(user.uid());
  const go_daemon daemon({"-user", own});
  for (const command_transport how : {command_transport::warden, command_transport::daemon}) {
    in_environment(provider_at(daemon.url(), how), [&](e2b::environment& env) -> awaitable<void> {
      co_await env.files().make_directory("sub");
      const command plain = shell("id -u; pwd");
      command_result result = co_await env.run_command(command(plain).user("root"));
      EXPECT_EQ(result.out_text(), "0\n" + env.workspace() + "\n") << error_output(result);
      EXPECT_EQ(result.isolation().of(isolation_kind::process_tree),
                "the command's session, and processes with its variables");
      result = co_await env.run_command(command(plain).user("root").working_directory("sub"));
      EXPECT_EQ(result.out_text(), "0\n" + env.workspace() + "/sub\n") << error_output(result);
      result = co_await env.run_command(command(plain).user("root").terminal(24, 80));
      EXPECT_EQ(result.out_text(), "0\r\n" + env.workspace() + "\r\n") << error_output(result);
      result = co_await env.run_command(plain);
      EXPECT_EQ(result.out_text(), own + "\n" + env.workspace() + "\n") << error_output(result);
      const error unknown = co_await failure_of(
          [&]() -> awaitable<void> { co_await env.run_command(command(plain).user("nobody-has-this-name")); });
      EXPECT_EQ(unknown.code(), exec_errc::permission_denied) << unknown.what();
      EXPECT_NE(std::string(unknown.what()).find("nobody-has-this-name"), std::string::npos) << unknown.what();
      const error missing = co_await failure_of([&]() -> awaitable<void> {
        co_await env.run_command(command(plain).user("root").working_directory("none"));
      });
      EXPECT_EQ(missing.code(), exec_errc::not_found) << missing.what();
    });
  }
}

TEST(E2bGoDaemon, the_whole_tree_of_a_command_of_root_ends_in_the_sandbox_of_another_user) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that root's commands in E2B end");
  const cofferdam_test::spare_user& user = cofferdam_test::spare_user::instance();
  COFFERDAM_NEEDS("root", user.is_there(), "that root's commands in E2B end");
  const go_daemon daemon({"-user", std::to_string(user.uid())});
  const e2b::provider recipe = provider_at(daemon.url(), command_transport::warden).kill_grace(2s);
  in_environment(recipe, [](e2b::environment& env) -> awaitable<void> {
    const std::string marker = new_marker();
    const command limited = shell(with_marker(own_tree + "trap 'echo asked; exit 7' TERM; sleep M", marker));
    command_result result = co_await env.run_command(command(limited).user("root").timeout(1s));
    EXPECT_EQ(result.kind(), error_kind::timeout) << error_output(result);
    EXPECT_EQ(result.out_text(), "asked\n") << error_output(result);  // SIGTERM has reached a process of root
    EXPECT_EQ(shown(marked(marker)), "");
    process running = co_await env.start(shell(with_marker("sleep M & echo; sleep M", marker)).user("root"));
    co_await running.read();
    co_await running.signal(SIGKILL);
    result = co_await running.wait();
    EXPECT_EQ(result.term_signal(), SIGKILL) << error_output(result);
    EXPECT_EQ(shown(marked(marker)), "");
    {
      process abandoned = co_await env.start(shell(with_marker(own_tree + "echo; sleep M", marker)).user("root"));
      co_await abandoned.read();
      EXPECT_FALSE(marked(marker).empty());
    }
    const bool ended = co_await comes_true([&] { return marked(marker).empty(); });
    EXPECT_TRUE(ended) << shown(marked(marker));
    kill_marked(marker);
  });
}

TEST(E2bGoDaemon, a_command_of_another_place_has_no_user_of_its_own) {
  cofferdam_test::run([]() -> awaitable<void> {
    for (const warden_policy policy : {warden_policy::never, warden_policy::require}) {
      auto env = co_await local().without_warning().warden(policy).open();
      const error failure =
          co_await failure_of([&]() -> awaitable<void> { co_await env.run_command(shell("id").user("root")); });
      EXPECT_EQ(failure.code(), exec_errc::unsupported) << failure.what();
      co_await env.close();
    }
  });
}

// ---- the script around a command ------------------------------------------------------------------------------------

/// Runs a command by `exec_script`, and returns the shell's trace of the script.
awaitable<std::string> trace_of(local_environment& env, std::string line) {
  std::vector<std::string> words{
      "/bin/sh", "-x", "-c",           std::string(cofferdam::detail::exec_script), "sh", "mark", ".", "", "0", "", "0",
      "/bin/sh", "-c", std::move(line)};
  const command_result result = co_await env.run_command(argv(std::move(words)));
  EXPECT_TRUE(result.ok()) << error_output(result);
  co_return result.err_text();
}

TEST(E2bScript, only_a_command_that_has_started_processes_is_followed_by_a_search) {
  cofferdam_test::run([]() -> awaitable<void> {
    local_environment env = co_await local().without_warning().open();
    // Any other process of this machine that starts meanwhile leads to a search, too.
    bool searched = true;
    for (int i = 0; i < 200 && searched; ++i) {
      const std::string trace = co_await trace_of(env, "exit 0");
      searched = trace.find("_ck") != std::string::npos;
    }
    EXPECT_FALSE(searched);
    for (int i = 0; i < 20; ++i) {
      const std::string trace = co_await trace_of(env, "/bin/true; exit 0");
      EXPECT_NE(trace.find("_ck"), std::string::npos) << trace;
    }
    co_await env.close();
  });
}

/// A folder with the programs that the scripts of the library need, but without `setsid`.
class few_programs {
 public:
  few_programs() {
    for (const char* const name : {"cat", "chmod", "find", "grep", "id", "kill", "mkdir", "mv", "readlink", "rm",
                                   "sleep", "stat", "stty", "uname"})
      for (const char* const folder : {"/usr/bin/", "/bin/"})
        if (::access((folder + std::string(name)).c_str(), X_OK) == 0) {
          std::filesystem::create_symlink(folder + std::string(name), folder_ / name);
          break;
        }
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  }
  std::string path() const { return folder_.path().string(); }

 private:
  cofferdam_test::temporary_folder folder_;
};

TEST(E2bGoDaemon, without_setsid_commands_work_and_end_by_their_variable) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B works without setsid");
  const few_programs programs;
  const go_daemon daemon({"-path", programs.path()});
  in_environment(provider_at(daemon.url(), command_transport::daemon), [](e2b::environment& env) -> awaitable<void> {
    const std::string marker = new_marker();
    command_result result = co_await env.run_command(shell("command -v setsid || echo none"));
    EXPECT_EQ(result.out_text(), "none\n") << error_output(result);
    const command limited = shell(with_marker("sleep M & (sleep M &) ; sleep M", marker)).timeout(1s);
    result = co_await env.run_command(limited);
    EXPECT_EQ(result.kind(), error_kind::timeout) << error_output(result);
    EXPECT_EQ(shown(marked(marker)), "");
    co_await env.write_file("folder/a", as_bytes("hello"));
    const bytes back = co_await env.read_file("folder/a", 100);
    EXPECT_EQ(as_text(back), "hello");
    kill_marked(marker);
  });
}

TEST(E2bGoDaemon, a_cancelled_file_operation_leaves_no_process) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that cancelled file operations in E2B leave nothing running");
  const std::string marker = new_marker();
  const cofferdam_test::temporary_folder folder;
  const std::filesystem::path slow =
      folder.write("bin/find", with_marker("#!/bin/sh\n(setsid sleep M) & sleep M\n", marker), 0755).parent_path();
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const go_daemon daemon({"-path", slow.string() + ":" + std::getenv("PATH")});
  in_environment(provider_at(daemon.url(), command_transport::daemon), [&](e2b::environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::cancellation_signal stop;
    std::optional<error> failure;
    bool over = false;
    const auto lists = [&]() -> awaitable<void> {
      try {
        co_await env.files().list(".");
      } catch (const error& reason) {
        failure = reason;
      }
    };
    auto ended = [&](std::exception_ptr) { over = true; };
    cofferdam_test::spawn(executor, lists, std::move(ended), stop.slot());
    const bool started = co_await comes_true([&] { return marked(marker).size() > 1; });
    EXPECT_TRUE(started);
    stop.emit(asio::cancellation_type::terminal);
    const bool finished = co_await comes_true([&] { return over; });
    EXPECT_TRUE(finished);
    EXPECT_TRUE(failure && failure->code() == exec_errc::cancelled) << (failure ? failure->what() : "no failure");
    EXPECT_EQ(shown(marked(marker)), "");
    const command_result result = co_await env.run_command(shell("echo next"));
    EXPECT_EQ(result.out_text(), "next\n") << error_output(result);
    kill_marked(marker);
  });
}

// ---- the metadata of files ------------------------------------------------------------------------------------------

bool stores_attributes() {
  const cofferdam_test::temporary_folder folder;
  const std::string file = folder.write("file", "").string();
  return ::setxattr(file.c_str(), "user.e2b.a", "b", 1, 0) == 0;
}

TEST(E2bGoDaemon, the_metadata_of_a_file_are_stored_and_stay_with_it) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that E2B stores the metadata of files");
  COFFERDAM_NEEDS("xattr", stores_attributes(), "that E2B stores the metadata of files");
  const go_daemon daemon;
  for (const command_transport how : {command_transport::warden, command_transport::daemon}) {
    in_environment(provider_at(daemon.url(), how), [](e2b::environment& env) -> awaitable<void> {
      file_metadata notes;
      notes.add("Author", "me").add("stage", "a b;c");
      co_await env.write_file("folder/noted", as_bytes("hello"), notes);
      co_await env.write_file("folder/plain", as_bytes("hello"));
      const bytes back = co_await env.read_file("folder/noted", 100);
      EXPECT_EQ(as_text(back), "hello");
      file_metadata found = co_await env.metadata_of("folder/noted");
      EXPECT_EQ(found, notes);
      found = co_await env.metadata_of("folder/plain");
      EXPECT_TRUE(found.empty());
      co_await env.files().rename("folder/noted", "folder/renamed");
      co_await env.run_command(shell("ln -s renamed folder/link; ln -s /etc outside"));
      std::map<std::string, file_metadata> all = co_await env.metadata_in("folder");
      EXPECT_EQ(all.size(), 1U);
      EXPECT_EQ(all["renamed"], notes);
      all = co_await env.metadata_in(".");
      EXPECT_TRUE(all.empty());
      co_await env.write_file("folder/renamed", as_bytes("again"));
      found = co_await env.metadata_of("folder/renamed");
      EXPECT_TRUE(found.empty());
      const std::vector<std::pair<std::string, exec_errc>> wrong{{"outside/hostname", exec_errc::outside_workspace},
                                                                 {"folder", exec_errc::not_a_file},
                                                                 {"none", exec_errc::not_found},
                                                                 {"../x", exec_errc::outside_workspace}};
      for (const auto& [path, code] : wrong) {
        const error failure = co_await failure_of([&]() -> awaitable<void> { co_await env.metadata_of(path); });
        EXPECT_EQ(failure.code(), code) << path << ": " << failure.what();
      }
      const error outside = co_await failure_of([&]() -> awaitable<void> { co_await env.metadata_in("outside"); });
      EXPECT_EQ(outside.code(), exec_errc::outside_workspace) << outside.what();
    });
  }
}

// ---- the guide ------------------------------------------------------------------------------------------------------

awaitable<void> set_up(e2b::provider sandboxes) {
  co_await with(sandboxes, [](auto& env) -> awaitable<void> {
    command_result who = co_await env.run_command(shell("id -u").user("root"));
    std::cout << who.out_text();

    e2b::file_metadata notes;
    notes.add("source", "https://example.org/data");
    co_await env.write_file("data.csv", as_bytes("a,b\n1,2\n"), notes);
    e2b::file_metadata stored = co_await env.metadata_of("data.csv");
    if (const std::string* source = stored.find("source")) std::cout << *source << "\n";
  });
}

TEST(E2bGoDaemon, the_example_of_the_guide_works) {
  COFFERDAM_NEEDS("go", cofferdam_test::has_go(), "that the guide's example for E2B works");
  COFFERDAM_NEEDS("xattr", stores_attributes(), "that the guide's example for E2B works");
  const cofferdam_test::spare_user& user = cofferdam_test::spare_user::instance();
  COFFERDAM_NEEDS("root", user.is_there(), "that the guide's example for E2B works");
  const go_daemon daemon({"-user", std::to_string(user.uid())});
  ::testing::internal::CaptureStdout();
  cofferdam_test::run(
      [&]() -> awaitable<void> { co_await set_up(provider_at(daemon.url(), command_transport::automatic)); });
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "0\nhttps://example.org/data\n");
}

}  // namespace

}  // namespace go_daemon_tests
