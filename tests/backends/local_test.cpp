// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/core/with_environment.hpp>

#include "support/census.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::run;

static_assert(code_exec_provider<local>);
static_assert(streaming_environment<local_environment> && listing_environment<local_environment> &&
              bulk_file_environment<local_environment> && !suspendable_environment<local_environment>);
static_assert(!std::copyable<local_environment> && std::movable<local_environment>);

class Local : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "cofferdam-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Runs one command in a fresh environment.
  static command_result result_of(local recipe, command c) {
    command_result result;
    run([&]() -> awaitable<void> {
      co_await with_environment(recipe, [&](auto& env) -> awaitable<void> { result = co_await env.run_command(c); });
    });
    return result;
  }

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

  std::filesystem::path folder_;
};

TEST_F(Local, closing_removes_its_folder) {
  const local recipe = local().without_warning().temporary_base(folder_);
  run([&]() -> awaitable<void> {
    co_await with_environment(recipe, [&](auto& env) -> awaitable<void> {
      co_await write_text(env, "a/b/c", "x");
      command_result made =
          co_await env.run_command(shell("mkdir -p d/e && chmod 0 d/e && chmod 0 d && touch $TMPDIR/t"));
      EXPECT_TRUE(made.ok());
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
  // Its warden needs a moment to end; the next environment after that takes the folder away.
  const auto next = [&]() -> awaitable<void> {
    local_environment env = co_await recipe.open();
    co_await env.close();
  };
  EXPECT_TRUE(cofferdam_test::eventually([&] {
    run(next);
    return std::filesystem::is_empty(folder_);
  }));
}

/// A program that opens an environment and is killed: where its folder is.
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

// The warden stands still while the command ends, so that it hears of the end and of the last output at once.
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
    for (const auto& one : wardens) ::kill(one.pid, SIGSTOP);
    std::ofstream(folder_ / "go") << "go";
    EXPECT_TRUE(cofferdam_test::eventually([&] { return !cofferdam_test::is_alive(first); }));
    for (const auto& one : wardens) ::kill(one.pid, SIGCONT);
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
  EXPECT_EQ(open_error(local().without_warning().workspace(folder_ / "missing")), errc::provider_failed);
  EXPECT_EQ(open_error(local().without_warning().workspace(folder_ / "file")), errc::provider_failed);
}

TEST_F(Local, a_folder_that_cannot_be_made_is_refused) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(open_error(local().without_warning().temporary_base(folder_ / "file")), errc::provider_failed);
}

TEST_F(Local, a_shell_can_be_named) {
  EXPECT_EQ(result_of(local().without_warning().shell("/bin/sh"), shell("echo ok")).out().text(), "ok\n");
  EXPECT_EQ(open_error(local().without_warning().shell("/no/such/shell")), errc::provider_failed);
  EXPECT_EQ(open_error(local().without_warning().shell("bash")), errc::provider_failed);
  const command_result one_word = result_of(local().without_warning(), argv("ls -l"));
  EXPECT_NE(one_word.advice().find("an argument of its own"), std::string::npos) << one_word.advice();
}

TEST_F(Local, a_recipe_may_be_set_up_step_by_step_and_copies_keep_what_they_had) {
  local recipe = local().without_warning().temporary_base(folder_);
  const local before = recipe;
  recipe.workspace(folder_).default_timeout(50ms);
  EXPECT_EQ(result_of(recipe, cofferdam::shell("sleep 60")).kind(), error_kind::timeout);
  EXPECT_EQ(result_of(recipe, cofferdam::shell("pwd")).out().text(), folder_.string() + "\n");
  EXPECT_NE(result_of(before, cofferdam::shell("sleep 0.2; pwd")).out().text(), folder_.string() + "\n");
}

TEST_F(Local, the_environment_is_the_documented_one) {
  const command_result result = result_of(local().without_warning(), argv("env"));
  std::vector<std::string> names;
  const std::string text = result.out().text();
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    names.push_back(text.substr(at, text.find('=', at) - at));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"HOME", "LANG", "PATH", "SHELL", "TERM", "TMPDIR"}));
}

TEST_F(Local, the_default_timeout_holds) {
  const command_result result = result_of(local().without_warning().default_timeout(200ms), shell("sleep 30"));
  EXPECT_EQ(result.kind(), error_kind::timeout);
}

TEST_F(Local, settings_that_cannot_be_are_refused) {
  EXPECT_THROW(local().default_timeout(0ms), error);
  EXPECT_THROW(local().kill_grace(-1ms), error);
  EXPECT_THROW(local().output_grace(-1ms), error);
}

TEST_F(Local, paths_that_lead_out_are_advised_on_by_default) {
  const command_result result = result_of(local().without_warning(), shell("ls /etc >/dev/null"));
  EXPECT_TRUE(result.ok());
  EXPECT_NE(result.advice().find("/etc"), std::string::npos);
}

TEST_F(Local, paths_that_lead_out_can_be_refused_or_ignored) {
  const command_result refused = result_of(local().without_warning().paths(path_policy::refuse), shell("ls /etc"));
  EXPECT_EQ(refused.kind(), error_kind::absolute_path_detected);
  EXPECT_EQ(refused.out().total(), 0U);
  const command_result ignored = result_of(local().without_warning().paths(path_policy::ignore), shell("ls /etc"));
  EXPECT_TRUE(ignored.ok());
  EXPECT_EQ(ignored.advice(), "");
}

TEST_F(Local, absolute_paths_into_the_workspace_are_understood) {
  run([&]() -> awaitable<void> {
    co_await with_environment(local().without_warning(), [&](auto& env) -> awaitable<void> {
      command_result where = co_await env.run_command(shell("echo x > file; printf %s \"$PWD\""));
      std::string text = co_await read_text(env, where.out().text() + "/file");
      EXPECT_EQ(text, "x\n");
      EXPECT_EQ(where.out().text(), env.workspace().string());
    });
  });
}

TEST_F(Local, results_say_which_walls_stood) {
  const command_result result = result_of(local().without_warning(), shell("true"));
  EXPECT_EQ(result.walls().of(protection::process_tree), "everything the command started");
  EXPECT_EQ(result.walls().of(protection::host_death), "everything the command started");
  const std::string signals(result.walls().of(protection::signals));
  EXPECT_TRUE(signals == "none" || signals == "Landlock: only what the command started") << signals;
  for (const protection none : {protection::files, protection::network, protection::system_calls, protection::memory,
                                protection::process_count})
    EXPECT_EQ(result.walls().of(none), "none") << to_string(none);
}

TEST_F(Local, results_say_so_where_there_is_no_warden) {
  const command_result result =
      result_of(local().without_warning().warden(warden_policy::never), shell("(setsid sleep 0.2 &); echo here"));
  EXPECT_EQ(result.out().text(), "here\n");
  EXPECT_EQ(result.walls().of(protection::process_tree), "process group");
  EXPECT_EQ(result.walls().of(protection::host_death), "none");
}

TEST_F(Local, a_warden_that_cannot_be_started_is_done_without_and_the_result_says_why) {
  const std::filesystem::path no_program = folder_ / "warden";
  std::ofstream(no_program) << "no ELF file";
  const command_result result = result_of(local().without_warning().warden_program(no_program), shell("echo here"));
  EXPECT_EQ(result.out().text(), "here\n");
  const std::string tree(result.walls().of(protection::process_tree));
  EXPECT_TRUE(tree.starts_with("process group only, for the warden cannot be started")) << tree;
  EXPECT_EQ(open_error(local().without_warning().warden_program(no_program).warden(warden_policy::require)),
            errc::provider_failed);
}

TEST_F(Local, a_program_that_is_no_warden_is_found_out) {
  const command_result result = result_of(local().without_warning().warden_program("/bin/true"), shell("echo here"));
  EXPECT_EQ(result.out().text(), "here\n");
  const std::string tree(result.walls().of(protection::process_tree));
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

TEST_F(Local, warns_once_that_it_is_no_wall) {
  const warning_handler before =
      set_warning_handler([](std::string_view sentence) { warnings.emplace_back(sentence); });
  EXPECT_TRUE(result_of(local().without_warning(), shell("true")).ok());
  EXPECT_TRUE(warnings.empty());
  EXPECT_TRUE(result_of(local(), shell("true")).ok());
  EXPECT_TRUE(result_of(local(), shell("true")).ok());
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("no wall"), std::string::npos);
}

}  // namespace
