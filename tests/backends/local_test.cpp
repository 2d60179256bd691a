// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/middleware/allow_commands.hpp>

#include "support/census.hpp"
#include "support/error_of.hpp"
#include "support/require.hpp"
#include "support/result_of.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::result_of;
using cofferdam_test::run;

static_assert(code_exec_provider<local>);
static_assert(streaming_environment<local_environment> && file_environment<local_environment> &&
              !suspendable_environment<local_environment>);
static_assert(!std::copyable<local_environment> && std::movable<local_environment>);

class Local : public ::testing::Test {
 protected:
  static std::error_code open_error(local recipe) {
    std::error_code code;
    run([&]() -> awaitable<void> {
      try {
        local_environment env = co_await recipe.open();
        co_await env.close();
      } catch (const error& failure) {
        code = failure.code();
      }
    });
    return code;
  }

  cofferdam_test::temporary_folder base_;
  const std::filesystem::path& folder_ = base_.path();
};

TEST_F(Local, closing_removes_its_folder) {
  const local recipe = local().without_warning().temporary_base(folder_);
  run([&]() -> awaitable<void> {
    co_await with(recipe, [&](auto& env) -> awaitable<void> {
      co_await write_text(env, "a/b/c", "x");
      command_result result =
          co_await env.run_command(shell("mkdir -p d/e && chmod 0 d/e && chmod 0 d && touch $TMPDIR/t"));
      EXPECT_TRUE(result.ok());
      EXPECT_FALSE(std::filesystem::is_empty(folder_));
    });
  });
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Local, an_environment_that_is_dropped_leaves_its_folder_to_the_next) {
  const local recipe = local().without_warning().temporary_base(folder_);
  run([&]() -> awaitable<void> {
    {
      local_environment env = co_await recipe.open();
      co_await write_text(env, "a", "x");
    }
  });
  // The warden needs a moment to end. The next environment after that removes the folder.
  const auto next = [&]() -> awaitable<void> {
    local_environment env = co_await recipe.open();
    co_await env.close();
  };
  EXPECT_TRUE(cofferdam_test::eventually([&] {
    run(next);
    return std::filesystem::is_empty(folder_);
  }));
}

// The child process executes this test program again, with this test only. A plain fork would run the destructors of
// static objects whose threads do not exist in the child.
TEST_F(Local, an_environment_that_is_dropped_leaves_no_folder_when_the_program_ends) {
  constexpr const char* variable = "COFFERDAM_TEST_BASE";
  if (const char* const base = std::getenv(variable)) {
    run([&]() -> awaitable<void> {
      local_environment env = co_await local().without_warning().temporary_base(base).open();
      const command_result begun = co_await env.run_command(shell("sleep 100 & echo begun"));
      EXPECT_EQ(begun.out().text(), "begun\n");
    });
    EXPECT_FALSE(std::filesystem::is_empty(base));
    return;
  }
  const std::string only = std::string("--gtest_filter=") +
                           ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() + "." +
                           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(variable, folder_.c_str(), 1);
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    ::execl("/proc/self/exe", "unit_tests", only.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Local, what_a_command_has_mounted_in_the_workspace_is_not_emptied) {
  const std::filesystem::path victim = folder_ / "victim";
  const std::filesystem::path base = folder_ / "base";
  const auto unmount = [](const std::filesystem::path& where) {
    EXPECT_EQ(::umount2(where.c_str(), MNT_DETACH), 0) << where;
  };
  std::filesystem::create_directories(victim);
  std::filesystem::create_directories(base / "control");
  std::ofstream(victim / "precious") << "x";
  COFFERDAM_NEEDS("root", ::mount(victim.c_str(), (base / "control").c_str(), nullptr, MS_BIND, nullptr) == 0,
                  "what a command has mounted");
  EXPECT_TRUE(std::filesystem::exists(base / "control/precious"))
      << "removing what is there would reach the host's file";
  unmount(base / "control");
  std::filesystem::remove(base / "control");
  for (const bool is_closed : {true, false}) {
    std::filesystem::path mounted;
    run([&]() -> awaitable<void> {
      local_environment env = co_await local().without_warning().temporary_base(base).open();
      mounted = env.workspace() / "deep/b";
      const command_result result =
          co_await env.run_command(shell("mkdir -p deep/b && mount --bind '" + victim.string() + "' deep/b"));
      EXPECT_TRUE(result.ok()) << result.err().text();
      if (!is_closed) co_return;
      try {
        co_await env.close();
        ADD_FAILURE() << "it closed";
      } catch (const error& reason) {
        EXPECT_NE(std::string(reason.what()).find("mounted on 'b'"), std::string::npos) << reason.what();
      }
    });
    cofferdam_test::eventually([] {
      detail::reaper::instance().sweep();
      return detail::reaper::instance().pending() <= 1;
    });
    EXPECT_TRUE(std::filesystem::exists(victim / "precious")) << (is_closed ? "closed" : "dropped");
    unmount(mounted);
    // The folder that was left behind is removed as soon as nothing is mounted there.
    EXPECT_TRUE(cofferdam_test::eventually([&] {
      detail::reaper::instance().sweep();
      return std::filesystem::is_empty(base);
    }));
  }
}

TEST_F(Local, a_cancelled_command_is_ended_and_its_output_kept) {
  for (const warden_policy policy : {warden_policy::require, warden_policy::never}) {
    run([&]() -> awaitable<void> {
      local_environment env =
          co_await local().without_warning().warden(policy).kill_grace(100ms).temporary_base(folder_).open();
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::cancellation_signal stop;
      std::exception_ptr failure;
      bool has_ended = false;
      const auto work = [&env]() -> awaitable<void> {
        co_await env.run_command(shell("echo begun; trap '' TERM; echo $$ > pid; while :; do sleep 100; done"));
      };
      const auto ended = [&](std::exception_ptr reason) {
        failure = std::move(reason);
        has_ended = true;
      };
      cofferdam_test::spawn(executor, work, ended, stop.slot());
      asio::steady_timer pause(executor);
      std::string pid;
      while (pid.empty()) {
        pause.expires_after(1ms);
        co_await pause.async_wait(asio::use_awaitable);
        const command_result result = co_await env.run_command(shell("printf %s \"$(cat pid 2>/dev/null)\""));
        pid = result.out().text();
      }
      stop.emit(asio::cancellation_type::terminal);
      while (!has_ended) {
        pause.expires_after(1ms);
        co_await pause.async_wait(asio::use_awaitable);
      }
      EXPECT_FALSE(std::filesystem::exists("/proc/" + pid)) << "the command runs on";
      co_await env.close();
      try {
        if (failure) std::rethrow_exception(failure);
        ADD_FAILURE() << "it was not cancelled";
      } catch (const error& reason) {
        EXPECT_EQ(reason.code(), exec_errc::cancelled);
        EXPECT_EQ(reason.what(), std::string("run_command: cancelled; the command was ended"));
        if (reason.partial() != nullptr) {
          EXPECT_EQ(reason.partial()->out().text(), "begun\n");
        } else {
          ADD_FAILURE() << "what it had written is lost";
        }
      }
    });
  }
}

TEST_F(Local, a_cancelled_stream_says_that_the_command_was_ended) {
  run([&]() -> awaitable<void> {
    local_environment env = co_await local().without_warning().temporary_base(folder_).open();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    bool has_ended = false;
    const auto cancel = [&](const output_chunk&) {
      asio::post(executor, [&] { stop.emit(asio::cancellation_type::terminal); });
    };
    const auto work = [&]() -> awaitable<void> { co_await stream_output(env, shell("echo begun; sleep 100"), cancel); };
    const auto ended = [&](std::exception_ptr reason) {
      failure = std::move(reason);
      has_ended = true;
    };
    cofferdam_test::spawn(executor, work, ended, stop.slot());
    asio::steady_timer pause(executor);
    while (!has_ended) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
    co_await env.close();
    try {
      if (failure) std::rethrow_exception(failure);
      ADD_FAILURE() << "it was not cancelled";
    } catch (const error& reason) {
      EXPECT_EQ(reason.code(), exec_errc::cancelled);
      EXPECT_EQ(reason.what(), std::string("stream_output: cancelled; the command was ended"));
    }
  });
}

/// Starts a process that opens an environment, kills it, and returns the folder of the environment.
std::filesystem::path folder_of_the_killed(const std::filesystem::path& base) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    run([&]() -> awaitable<void> {
      local_environment env = co_await local().without_warning().temporary_base(base).open();
      const std::string text = "x";
      co_await env.write_file("a/b", as_bytes(text));
      const std::string path = env.workspace().parent_path();
      static_cast<void>(!::write(ends[1], path.data(), path.size()));
      for (;;) ::pause();
    });
  }
  ::close(ends[1]);
  char path[4096];
  const ssize_t size = ::read(ends[0], path, sizeof path);
  ::close(ends[0]);
  const std::filesystem::path folder(std::string(path, static_cast<std::size_t>(std::max<ssize_t>(size, 0))));
  EXPECT_TRUE(std::filesystem::exists(folder / "workspace/a/b"));
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return folder;
}

void make_older(const std::filesystem::path& folder) {
  std::filesystem::last_write_time(folder, std::filesystem::file_time_type::clock::now() - 10min);
}

TEST_F(Local, what_a_killed_program_left_is_removed_by_another_and_nothing_that_is_in_use) {
  const std::filesystem::path left = folder_of_the_killed(folder_);
  const std::filesystem::path young = folder_of_the_killed(folder_);
  const std::filesystem::path without_locks = folder_of_the_killed(folder_);
  std::filesystem::create_directory(without_locks / "has-no-lock");
  const std::filesystem::path stranger = folder_ / "cofferdam-somebody";
  std::filesystem::create_directories(stranger / "workspace");
  const std::filesystem::path link = folder_ / "cofferdam-local-link";
  std::filesystem::create_directory_symlink(stranger, link);
  const local recipe = local().without_warning().temporary_base(folder_);
  run([&]() -> awaitable<void> {
    local_environment user = co_await recipe.open();
    const std::filesystem::path used = user.workspace().parent_path();
    for (const std::filesystem::path& each : {left, without_locks, stranger, used}) make_older(each);
    local_environment first = co_await recipe.open();
    co_await first.close();
    EXPECT_FALSE(std::filesystem::exists(left));
    for (const std::filesystem::path& each : {young, without_locks, stranger / "workspace", used / "workspace", link})
      EXPECT_TRUE(std::filesystem::exists(each)) << each;
    command_result result = co_await user.run_command(cofferdam::shell("echo works > file; cat file"));
    EXPECT_EQ(result.out().text(), "works\n");
    co_await user.close();
  });
}

TEST_F(Local, works_in_an_existing_directory_and_leaves_it) {
  std::ofstream(folder_ / "mine.txt") << "kept";
  const local recipe = local().without_warning().workspace(folder_);
  const command_result result = result_of(recipe, shell("cat mine.txt; echo new > made.txt; pwd"));
  EXPECT_EQ(result.out().text(), "kept" + std::filesystem::canonical(folder_).string() + "\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "made.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "mine.txt"));
}

// Stops the warden while the command ends, so that the warden finds the end and the last output at the same time.
TEST_F(Local, what_a_command_wrote_before_it_left_something_running_is_in_its_result) {
  const local recipe = local().without_warning().workspace(folder_);
  const auto number_in = [](const std::filesystem::path& file) {
    int number = 0;
    std::ifstream(file) >> number;
    return number;
  };
  const auto body = [&](bool has_terminal) -> awaitable<void> {
    for (const char* name : {"first", "go"}) std::filesystem::remove(folder_ / name);
    local_environment env = co_await recipe.open();
    command line = shell(
        "trap '' HUP; sleep 60 & echo $$ > first; until [ -e go ]; do sleep 0.01; done; head -c 7000 /dev/zero | tr "
        "'\\0' x");
    line.background(background_policy::keep);
    if (has_terminal) line.terminal(24, 80);
    process running = co_await env.start(std::move(line));
    int first = 0;
    EXPECT_TRUE(cofferdam_test::eventually([&] { return (first = number_in(folder_ / "first")) != 0; }));
    const std::vector<cofferdam_test::process_entry> wardens = cofferdam_test::own_wardens();
    EXPECT_EQ(wardens.size(), 1U);
    for (const auto& warden : wardens) ::kill(warden.pid, SIGSTOP);
    std::ofstream(folder_ / "go") << "go";
    EXPECT_TRUE(cofferdam_test::eventually([&] { return !cofferdam_test::is_alive(first); }));
    for (const auto& stopped : wardens) ::kill(stopped.pid, SIGCONT);
    command_result result = co_await running.wait();
    EXPECT_EQ(result.out().text(), std::string(7000, 'x'));
    EXPECT_TRUE(result.left_running());
    EXPECT_TRUE(result.ok());
    co_await env.close();
  };
  for (const bool has_terminal : {false, true}) run([&] { return body(has_terminal); });
}

TEST_F(Local, a_workspace_that_is_no_directory_is_refused) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(open_error(local().without_warning().workspace(folder_ / "missing")), exec_errc::provider_failed);
  EXPECT_EQ(open_error(local().without_warning().workspace(folder_ / "file")), exec_errc::provider_failed);
}

TEST_F(Local, a_folder_that_cannot_be_made_is_refused) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(open_error(local().without_warning().temporary_base(folder_ / "file")), exec_errc::provider_failed);
}

TEST_F(Local, a_path_that_is_not_allowed_is_the_failure_of_one_requested_file) {
  run([]() -> awaitable<void> {
    const local recipe = local().without_warning();
    local_environment env = co_await recipe.open();
    co_await write_text(env, "f", "content");
    std::vector<file_request> requests;
    requests.emplace_back("../x", "x");
    requests.emplace_back((env.workspace() / "f").string(), "f");
    std::unique_ptr<file_source> source = co_await env.files().get_files(std::move(requests));
    std::optional<file_header> header = co_await source->next();
    EXPECT_TRUE(header && header->failure() && header->failure()->code() == exec_errc::outside_workspace);
    header = co_await source->next();
    EXPECT_TRUE(header && !header->failure() && header->size() == 7);
    header = co_await source->next();
    EXPECT_FALSE(header);
    source.reset();
    co_await env.close();
  });
}

TEST_F(Local, a_shell_can_be_named) {
  EXPECT_EQ(result_of(local().without_warning().shell("/bin/sh"), shell("echo ok")).out().text(), "ok\n");
  EXPECT_EQ(open_error(local().without_warning().shell("/no/such/shell")), exec_errc::provider_failed);
  EXPECT_EQ(open_error(local().without_warning().shell("bash")), exec_errc::provider_failed);
  const command_result one_word = result_of(local().without_warning(), argv("ls -l"));
  EXPECT_NE(one_word.advice().find("a separate argument"), std::string::npos) << one_word.advice();
}

// Feature: A12
TEST_F(Local, a_recipe_may_be_set_up_step_by_step_and_copies_keep_what_they_had) {
  local recipe = local().without_warning().temporary_base(folder_);
  const local before = recipe;
  recipe.workspace(folder_).default_timeout(50ms);
  EXPECT_EQ(result_of(recipe, cofferdam::shell("sleep 60")).kind(), error_kind::timeout);
  EXPECT_EQ(result_of(recipe, cofferdam::shell("pwd").timeout(1min)).out().text(), folder_.string() + "\n");
  EXPECT_NE(result_of(before, cofferdam::shell("sleep 0.2; pwd")).out().text(), folder_.string() + "\n");
}

// Feature: A2
TEST_F(Local, the_environment_is_the_documented_one) {
  const command_result result = result_of(local().without_warning(), argv("env"));
  std::vector<std::string> names;
  const std::string text = result.out().text();
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    names.push_back(text.substr(at, text.find('=', at) - at));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR"}));
}

/// Returns the code of the error for a file command that has failed.
std::error_code code_of_failed(const command_result& result) {
  EXPECT_EQ(result.exit_code(), 1);
  return cofferdam_test::code_of([&] { detail::throw_file_failure(result, "stat", "x"); });
}

// Another program can create an entry while a file command looks for it. Here `ls` finds the entry after the script has
// not found it.
TEST_F(Local, an_entry_that_is_created_while_a_file_command_looks_for_it_is_missing) {
  for (const std::string_view script : {detail::describe_script, detail::list_script, detail::remove_script}) {
    const std::string with_ls = "ls() { :; }; " + std::string(script);
    const command_result result = result_of(local().without_warning(), argv("sh", "-c", with_ls, "sh", "./absent"));
    EXPECT_EQ(code_of_failed(result), exec_errc::not_found) << result.err().text();
  }
}

// Another program can remove an entry that a file command has found. Here `stat` does not find it.
TEST_F(Local, an_entry_that_is_removed_while_a_file_command_looks_at_it_is_missing_and_not_in_a_listing) {
  const std::string with_stat = "stat() { echo \"stat: '$3': No such file or directory\" >&2; return 1; }; " +
                                std::string(detail::describe_script);
  const command_result single = result_of(local().without_warning(), argv("sh", "-c", with_stat, "sh", "./"));
  EXPECT_EQ(code_of_failed(single), exec_errc::not_found) << single.err().text();
  const command_result listed =
      result_of(local().without_warning(), argv("sh", "-c", with_stat, "list", "./", "./absent"));
  EXPECT_TRUE(listed.ok()) << listed.err().text();
  EXPECT_EQ(listed.out().text(), "");
}

TEST_F(Local, a_listing_fails_if_a_directory_in_it_cannot_be_searched) {
  COFFERDAM_NEEDS("root", ::getuid() == 0, "that a listing leaves out nothing that it may not look at");
  const std::string as_nobody =
      "mkdir -m 0744 locked && touch locked/a && chmod 0755 . && exec setpriv --reuid=65534 --regid=65534 "
      "--clear-groups sh -c \"$1\" list ./locked/a";
  const command_result result =
      result_of(local().without_warning(), argv("sh", "-c", as_nobody, "sh", std::string(detail::describe_script)));
  EXPECT_EQ(code_of_failed(result), exec_errc::permission_denied) << result.err().text();
}

// Feature: B5
TEST_F(Local, the_default_timeout_holds) {
  const command_result result = result_of(local().without_warning().default_timeout(200ms), shell("sleep 30"));
  EXPECT_EQ(result.kind(), error_kind::timeout);
}

TEST_F(Local, settings_that_cannot_be_are_refused) {
  EXPECT_THROW(local().default_timeout(0ms), error);
  EXPECT_THROW(local().kill_grace(-1ms), error);
  EXPECT_THROW(local().output_grace(-1ms), error);
}

TEST_F(Local, a_command_that_fails_for_sudo_is_advised_that_nothing_can_gain_privileges) {
  const std::string says =
      "echo 'sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.' ";
  for (const char* line : {">&2; exit 1", "; exit 1", ">&2; kill -9 $$"}) {
    const command_result result = result_of(local().without_warning(), shell(says + line));
    EXPECT_NE(result.advice().find("no_new_privs"), std::string::npos) << line << ": " << result.advice();
  }
  const command_result older =
      result_of(local().without_warning(),
                shell("echo 'sudo: effective uid is not 0, is sudo installed setuid root?' >&2; exit 1"));
  EXPECT_NE(older.advice().find("no_new_privs"), std::string::npos);
  run([&]() -> awaitable<void> {
    co_await with(local().without_warning(), [&](auto& env) -> awaitable<void> {
      process running = co_await env.start(shell(says + ">&2; exit 1"));
      const command_result started = co_await running.wait();
      EXPECT_NE(started.advice().find("no_new_privs"), std::string::npos);
    });
  });
  EXPECT_EQ(result_of(local().without_warning(), shell(says + ">&2")).advice(), "");
  EXPECT_EQ(result_of(local().without_warning(), shell("echo 'sudo: a password is required' >&2; exit 1")).advice(),
            "");
}

TEST_F(Local, paths_that_lead_out_are_advised_on_by_default) {
  const command_result result = result_of(local().without_warning(), shell("ls /etc >/dev/null"));
  EXPECT_TRUE(result.ok());
  EXPECT_NE(result.advice().find("/etc"), std::string::npos);
}

// Feature: D3
TEST_F(Local, paths_that_lead_out_can_be_refused_or_ignored) {
  const command_result refused = result_of(local().without_warning().paths(path_policy::refuse), shell("ls /etc"));
  EXPECT_EQ(refused.kind(), error_kind::absolute_path_detected);
  EXPECT_EQ(refused.out().total(), 0U);
  const command_result ignored = result_of(local().without_warning().paths(path_policy::ignore), shell("ls /etc"));
  EXPECT_TRUE(ignored.ok());
  EXPECT_EQ(ignored.advice(), "");
}

TEST_F(Local, paths_that_lead_out_are_refused_in_an_allowed_command_too) {
  run([&]() -> awaitable<void> {
    const auto provider = local().without_warning().paths(path_policy::refuse) | allow_commands("cat .*");
    co_await with(provider, [&](auto& env) -> awaitable<void> {
      const command_result line = co_await env.run_command(shell("cat /etc/hostname"));
      EXPECT_EQ(line.kind(), error_kind::absolute_path_detected);
      EXPECT_EQ(line.out().total(), 0U);
      const command_result words = co_await env.run_command(argv("cat", "../../etc/hostname"));
      EXPECT_EQ(words.kind(), error_kind::absolute_path_detected);
      const command_result inside = co_await env.run_command(shell("cat ./missing"));
      EXPECT_EQ(inside.kind(), error_kind::none);
    });
  });
  const command_result advised = result_of(local().without_warning(), argv("cat", "/etc/hostname"));
  EXPECT_TRUE(advised.ok());
  EXPECT_NE(advised.advice().find("/etc/hostname"), std::string::npos);
}

TEST_F(Local, absolute_paths_into_the_workspace_are_understood) {
  run([&]() -> awaitable<void> {
    co_await with(local().without_warning(), [&](auto& env) -> awaitable<void> {
      command_result where = co_await env.run_command(shell("echo x > file; printf %s \"$PWD\""));
      std::string text = co_await read_text(env, where.out().text() + "/file");
      EXPECT_EQ(text, "x\n");
      EXPECT_EQ(where.out().text(), env.workspace().string());
    });
  });
}

TEST_F(Local, results_say_which_walls_stood) {
  const command_result result = result_of(local().without_warning(), shell("true"));
  const std::string signals(result.isolation().of(isolation_kind::signals));
  EXPECT_TRUE(signals == "none" || signals == "Landlock: only what the command started") << signals;
  const std::string held =
      "everything the command started" + std::string(signals == "none" ? ", unless it stops or kills the warden" : "");
  EXPECT_EQ(result.isolation().of(isolation_kind::process_tree), held);
  EXPECT_EQ(result.isolation().of(isolation_kind::host_death), held);
  EXPECT_EQ(result.isolation().of(isolation_kind::system_calls), "no change of other processes' limits or priority");
  for (const isolation_kind none :
       {isolation_kind::files, isolation_kind::network, isolation_kind::memory, isolation_kind::process_count})
    EXPECT_EQ(result.isolation().of(none), "none") << to_string(none);
}

TEST_F(Local, results_say_what_landlock_does_not_hold) {
  const auto reported = [](unsigned landlock, tracing_policy tracing = tracing_policy::contained) {
    const command_result result =
        result_of(local().without_warning().landlock(landlock).tracing(tracing), shell("true"));
    std::string text;
    for (const isolation_kind each : {isolation_kind::signals, isolation_kind::system_calls, isolation_kind::secrets})
      text += std::string(result.isolation().of(each)) + "; ";
    const bool is_held = result.isolation().of(isolation_kind::host_death).find("unless") == std::string_view::npos;
    EXPECT_EQ(is_held, result.isolation().of(isolation_kind::signals) != "none");
    return text;
  };
  EXPECT_EQ(reported(0), "none; no change of other processes' limits or priority, no tracing; readable; ");
  EXPECT_EQ(reported(1), reported(0));
  EXPECT_EQ(reported(0, tracing_policy::allowed), "none; no change of other processes' limits or priority; readable; ");
  const command_result own = result_of(local().without_warning(), shell("true"));
  COFFERDAM_NEEDS("landlock-scope", own.isolation().of(isolation_kind::signals) != "none", "what newer kernels hold");
  const std::string secrets = ::geteuid() == 0
                                  ? "Landlock: the environment may be readable, because commands run as root; "
                                  : "Landlock: not readable; ";
  EXPECT_EQ(reported(2), "none; no change of other processes' limits or priority; " + secrets);
  EXPECT_EQ(reported(5), reported(2));
  EXPECT_EQ(reported(6),
            "Landlock: only what the command started; no change of other processes' limits or priority; " + secrets);
}

TEST_F(Local, results_say_so_where_there_is_no_warden) {
  const command_result result =
      result_of(local().without_warning().warden(warden_policy::never), shell("(setsid sleep 0.2 &); echo here"));
  EXPECT_EQ(result.out().text(), "here\n");
  EXPECT_EQ(result.isolation().of(isolation_kind::process_tree), "process group");
  EXPECT_EQ(result.isolation().of(isolation_kind::host_death), "none");
}

TEST_F(Local, a_warden_that_cannot_be_started_is_done_without_and_the_result_says_why) {
  const std::filesystem::path no_program = folder_ / "warden";
  std::ofstream(no_program) << "no ELF file";
  const command_result result = result_of(local().without_warning().warden_program(no_program), shell("echo here"));
  EXPECT_EQ(result.out().text(), "here\n");
  const std::string tree(result.isolation().of(isolation_kind::process_tree));
  EXPECT_TRUE(tree.starts_with("process group only, because the warden cannot be started")) << tree;
  EXPECT_EQ(open_error(local().without_warning().warden_program(no_program).warden(warden_policy::require)),
            exec_errc::provider_failed);
}

TEST_F(Local, a_program_that_is_no_warden_is_found_out) {
  const command_result result = result_of(local().without_warning().warden_program("/bin/true"), shell("echo here"));
  EXPECT_EQ(result.out().text(), "here\n");
  const std::string tree(result.isolation().of(isolation_kind::process_tree));
  EXPECT_TRUE(tree.starts_with("process group only")) << tree;
}

TEST_F(Local, results_say_what_was_used) {
  const command_result result =
      result_of(local().without_warning(), shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"));
  EXPECT_TRUE(result.ok());
  ASSERT_TRUE(result.cpu_time());
  EXPECT_GT(result.cpu_time()->count(), 10'000);
  ASSERT_TRUE(result.peak_memory());
  EXPECT_GT(*result.peak_memory(), 500'000U);
}

std::vector<std::string> warnings;

// Feature: D18
TEST_F(Local, warns_once_that_it_is_no_wall) {
  const warning_handler before =
      set_warning_handler([](std::string_view sentence) { warnings.emplace_back(sentence); });
  EXPECT_TRUE(result_of(local().without_warning(), shell("true")).ok());
  EXPECT_TRUE(warnings.empty());
  EXPECT_TRUE(result_of(local(), shell("true")).ok());
  EXPECT_TRUE(result_of(local(), shell("true")).ok());
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("does not isolate"), std::string::npos);
}

}  // namespace
