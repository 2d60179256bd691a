// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/control_group.hpp>

#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/hostile.hpp"
#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace jail_tests {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using namespace std::string_literals;
using cofferdam_test::eventually;
using cofferdam_test::process_entry;
using cofferdam_test::read_proc;
using cofferdam_test::result_of;
using cofferdam_test::run;

static_assert(code_exec_provider<jail>);
static_assert(streaming_environment<jail_environment> && file_environment<jail_environment> &&
              !suspendable_environment<jail_environment>);
static_assert(!std::copyable<jail_environment> && std::movable<jail_environment>);

constexpr std::size_t mebibyte = std::size_t{1} << 20;

class Jail : public cofferdam_test::jail_fixture {
 protected:
  /// Writes a program that runs bubblewrap with other arguments.
  /// \param change  lines of bash that change the array `a`.
  std::filesystem::path changed_bubblewrap(const std::string& change) const {
    return base_.write("changed/bwrap", "#!/bin/bash\na=(\"$@\")\n" + change + "\nexec bwrap \"${a[@]}\"\n", 0755);
  }

  /// Returns lines that remove an argument and the words behind it.
  static std::string without(const std::string& argument, int words, const std::string& first = "") {
    return "for i in \"${!a[@]}\"; do if [ \"${a[i]}\" = '" + argument + "' ]" +
           (first.empty() ? "" : " && [ \"${a[i+1]}\" = '" + first + "' ]") + "; then a=(\"${a[@]:0:i}\" \"${a[@]:i+" +
           std::to_string(words + 1) + "}\"); break; fi; done";
  }

  static std::string failure_of(const jail& recipe) {
    try {
      result_of(recipe, "true");
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::provider_failed);
      return failure.what();
    }
    return "";
  }
};

/// Living processes of the jails of this program: bubblewrap, the warden and all beneath it.
std::vector<process_entry> jailed() {
  std::vector<process_entry> found;
  const std::vector<process_entry> all = cofferdam_test::process_table();
  std::vector<pid_t> parents;
  for (const process_entry& one : all)
    if (one.parent == ::getpid() && one.name == "bwrap" && !one.is_zombie()) parents.push_back(one.pid);
  for (std::size_t i = 0; i < parents.size(); ++i)
    for (const process_entry& one : all) {
      if (one.pid == parents[i]) found.push_back(one);
      if (one.parent == parents[i]) parents.push_back(one.pid);
    }
  return found;
}

awaitable<error> rename_failure(jail_environment& env, std::string from, std::string to) {
  error reason(exec_errc::io_error, "the rename was done");
  try {
    co_await rename(env, std::move(from), std::move(to));
  } catch (const error& failure) {
    reason = failure;
  }
  co_return reason;
}

pid_t warden_in(const std::vector<process_entry>& all) {
  for (const process_entry& bubblewrap : all)
    for (const process_entry& one : all)
      if (bubblewrap.name == "bwrap" && one.parent == bubblewrap.pid) return one.pid;
  return 0;
}

}  // namespace

// Feature: B26
TEST_F(Jail, commands_run_as_an_ordinary_user_in_a_private_root) {
  const command_result result =
      result_of(recipe(), "id -u; id -g; id -un; hostname; pwd; echo $HOME $TMPDIR; cd / && echo [!l]*; echo $$ > ok");
  EXPECT_EQ(result.out().text(),
            "1000\n1000\nuser\nsandbox\n/workspace\n/workspace /tmp\nbin dev etc proc sbin tmp usr workspace\n");
  EXPECT_FALSE(result.ok());  // the root is read-only
  EXPECT_NE(result.err().text().find("Read-only file system"), std::string::npos);
}

TEST_F(Jail, closing_leaves_no_process_and_no_folder) {
  run([&]() -> awaitable<void> {
    jail_environment env = co_await recipe().open();
    co_await write_text(env, "a/b", "x");
    command_result result =
        co_await env.run_command("setsid sleep 1000 > /dev/null 2>&1 & cat a/b; mkdir -p c && chmod 0 c");
    EXPECT_EQ(result.out().text(), "x");
    EXPECT_FALSE(jailed().empty());
    co_await env.close();
  });
  EXPECT_TRUE(jailed().empty());
  EXPECT_TRUE(std::filesystem::is_empty(base_.path()));
}

TEST_F(Jail, opening_that_is_cancelled_leaves_no_process_and_no_folder) {
  const auto open_and_close = [&] { return with(recipe(), [](jail_environment&) -> awaitable<void> { co_return; }); };
  std::exception_ptr failure;
  std::size_t step = 0;
  for (; !cofferdam_test::cancel_after(step, open_and_close, failure); ++step) {
    EXPECT_TRUE(jailed().empty()) << step;
    EXPECT_TRUE(std::filesystem::is_empty(base_.path())) << step;
  }
  EXPECT_GT(step, 5U);
}

// This bubblewrap takes a while to end, because the kernel has to free its memory.
TEST_F(Jail, opening_that_is_cancelled_waits_for_the_end_of_bubblewrap) {
  const std::filesystem::path ready = base_.make_shared_folder("signs") / "ready";
  const std::filesystem::path slow =
      changed_bubblewrap("printf -v memory '%*s' 300000000 ''; : > '" + ready.string() + "'; kill -STOP $$");
  const std::filesystem::path folders = base_.make_shared_folder("folders");
  asio::io_context context;
  asio::cancellation_signal cancel;
  std::exception_ptr failure;
  cofferdam_test::spawn(
      context, with(recipe().temporary_base(folders).bubblewrap(slow), [](auto&) -> awaitable<void> { co_return; }),
      [&failure](std::exception_ptr ended) { failure = ended; }, cancel.slot());
  while (!std::filesystem::exists(ready) && !context.stopped()) context.run_for(1ms);
  EXPECT_FALSE(std::filesystem::is_empty(folders));
  cancel.emit(asio::cancellation_type::terminal);
  context.run();
  ASSERT_TRUE(failure);
  EXPECT_THROW(std::rethrow_exception(failure), error);
  EXPECT_TRUE(jailed().empty());
  EXPECT_TRUE(std::filesystem::is_empty(folders));
}

// An open descriptor of a file system in memory, or of the mounts, keeps the memory of the files.
TEST_F(Jail, a_closed_environment_keeps_no_descriptor_of_its_mounts) {
  const std::filesystem::path folder = base_.make_shared_folder("ws");
  base_.write("ws/secret", "text");
  const auto descriptors = [] {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code closed;  // the descriptor of this walk
      const std::filesystem::path target = std::filesystem::read_symlink(each.path(), closed);
      if (target == "/tmp" || target == "/dev/shm" || target == "/" || target.filename() == "mountinfo") ++count;
    }
    return count;
  };
  run([&]() -> awaitable<void> {
    const std::size_t before = descriptors();
    jail_environment env = co_await recipe().workspace(folder).hide(folder / "secret").open();
    EXPECT_GE(descriptors(), before + 4);
    co_await env.close();
    EXPECT_EQ(descriptors(), before);
  });
}

TEST_F(Jail, a_dropped_environment_ends_its_processes) {
  run([&]() -> awaitable<void> {
    jail_environment env = co_await recipe().open();
    process running = co_await env.start("sleep 1000");
  });
  EXPECT_TRUE(eventually([] { return jailed().empty(); }));
}

TEST_F(Jail, the_end_of_the_thread_that_opened_it_does_not_end_it) {
  asio::io_context context;
  std::optional<jail_environment> env;
  std::thread([&] {
    cofferdam_test::spawn(
        context,
        [&]() -> awaitable<void> {
          jail_environment opened = co_await recipe().open();
          env.emplace(std::move(opened));
        },
        [&](std::exception_ptr failure) {
          context.stop();  // the jail goes on waiting for its warden
          if (failure) std::rethrow_exception(failure);
        });
    context.run();
  }).join();
  context.restart();
  std::string text;
  cofferdam_test::spawn(
      context,
      [&]() -> awaitable<void> {
        command_result result = co_await env->run_command("echo alive");
        text = result.out().text();
        co_await env->close();
      },
      [](std::exception_ptr failure) {
        if (failure) std::rethrow_exception(failure);
      });
  context.run();
  EXPECT_EQ(text, "alive\n");
}

TEST_F(Jail, the_death_of_the_host_ends_everything) {
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    ::setsid();
    asio::io_context context;
    cofferdam_test::spawn(
        context,
        [&]() -> awaitable<void> {
          jail_environment env = co_await jail().workspace(shared).open();
          command_result ignored = co_await env.run_command("(setsid sleep 7654321 &) ; touch running; sleep 7654321");
        },
        [](std::exception_ptr) {});
    context.run();
    ::_exit(0);
  }
  const auto sleeping = [] {
    std::size_t count = 0;
    for (const process_entry& one : cofferdam_test::process_table())
      if (!one.is_zombie() &&
          cofferdam_test::read_proc("/proc/" + std::to_string(one.pid) + "/cmdline").find("7654321") !=
              std::string::npos)
        ++count;
    return count;
  };
  EXPECT_TRUE(eventually([&] { return base_.has("shared/running") && sleeping() >= 2; }));
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return sleeping() == 0; }, 2s));
}

TEST_F(Jail, a_warden_killed_from_outside_is_a_lost_provider) {
  run([&]() -> awaitable<void> {
    jail_environment env = co_await recipe().open();
    process running = co_await env.start("sleep 1000");
    const pid_t warden = warden_in(jailed());
    EXPECT_GT(warden, 0);
    ::kill(warden, SIGKILL);
    std::optional<error> failure;
    try {
      co_await running.wait();
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    co_await env.close();
  });
  EXPECT_TRUE(jailed().empty());
  EXPECT_TRUE(std::filesystem::is_empty(base_.path()));
}

TEST_F(Jail, a_bubblewrap_killed_from_outside_does_not_end_the_jail) {
  run([&]() -> awaitable<void> {
    jail_environment env = co_await recipe().open();
    const std::vector<process_entry> all = jailed();
    const pid_t warden = warden_in(all);
    ::kill(cofferdam_test::process_of(warden).parent, SIGKILL);
    command_result result = co_await env.run_command("echo still here");
    EXPECT_EQ(result.out().text(), "still here\n");
    std::optional<error> failure;
    try {
      co_await env.close();
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(eventually([&] { return !cofferdam_test::is_alive(warden); }));
  });
}

// ---- the proof ------------------------------------------------------------------------------------------------------

TEST_F(Jail, opening_without_bubblewrap_says_how_to_get_it) {
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", base_.path().c_str(), 1);
  const std::string failure = failure_of(recipe());
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_NE(failure.find("apt-get install bubblewrap"), std::string::npos) << failure;
  const std::string named = failure_of(recipe().bubblewrap(base_ / "nothing"));
  EXPECT_NE(named.find("apt-get install bubblewrap"), std::string::npos) << named;
}

// Each wall is taken away by a bubblewrap that drops or adds one argument: opening fails and names the wall. Not in the
// list, because another wall does the same: --disable-userns (the filter refuses unshare and clone), --new-session (the
// warden begins a session), --clearenv (bubblewrap is started without variables), --hostname and --chdir.
// Feature: A18
TEST_F(Jail, opening_fails_with_the_name_of_the_wall_that_is_missing) {
  class broken_wall {
   public:
    std::string change;
    const char* named;
  };
  const std::vector<broken_wall> walls{
      {without("--unshare-net", 0), "a wall is missing: net namespace"},
      {without("--unshare-ipc", 0), "a wall is missing: ipc namespace"},
      {without("--unshare-uts", 0) + "\n" + without("--hostname", 1), "a wall is missing: uts namespace"},
      {without("--unshare-cgroup", 0), "a wall is missing: cgroup namespace"},
      {without("--unshare-pid", 0), "jail: bubblewrap could not build it"},  // --as-pid-1 needs it
      {without("--seccomp", 1), "a wall is missing: system call filter"},
      {without("--uid", 1), "a wall is missing: own user (Uid"},
      {without("--gid", 1), "a wall is missing: own user (Gid"},
      {without("--remount-ro", 1, "/"), "a wall is missing: read-only root (/ is writable)"},
      {without("--remount-ro", 1, "/dev"), "a wall is missing: read-only root (/dev is writable)"},
      {"a=(--ro-bind /var /var \"${a[@]}\")", "a wall is missing: private root (/var is mounted)"},
      {"a=(--dir /secrets \"${a[@]}\")", "a wall is missing: private root (/secrets is visible)"},
      {"for i in \"${!a[@]}\"; do if [ \"${a[i]}\" = --ro-bind ]; then a[i]=--bind; break; fi; done",
       "a wall is missing: read-only root (/usr is writable)"},
      {"for i in \"${!a[@]}\"; do if [ \"${a[i]}\" = ALL ]; then a[i-1]=--cap-add; fi; done",
       "a wall is missing: no capabilities"},
      {"a=(--no-such-option \"${a[@]}\")", "too old"},
  };
  EXPECT_EQ(failure_of(recipe().bubblewrap(changed_bubblewrap(""))), "");
  for (const broken_wall& each : walls) {
    const std::string failure = failure_of(recipe().bubblewrap(changed_bubblewrap(each.change)));
    EXPECT_NE(failure.find(each.named), std::string::npos) << each.change << "\n" << failure;
  }
  EXPECT_TRUE(eventually([] { return jailed().empty(); }));
}

// The full proof is made once in a process, and the facts that the kernel shows are read each time.
TEST_F(Jail, each_open_sees_a_wall_that_is_missing_after_others_were_proven) {
  class lost_wall {
   public:
    std::string change;
    const char* named;
  };
  const std::vector<lost_wall> walls{
      {without("--unshare-net", 0), "net namespace"},
      {without("--seccomp", 1), "system call filter"},
      {without("--remount-ro", 1, "/"), "read-only root (/ is writable)"},
      {"a=(--ro-bind /var /var \"${a[@]}\")", "private root (/var is mounted)"},
      {"a=(--dir /secrets \"${a[@]}\")", "private root (/secrets is visible)"},
      {"for i in \"${!a[@]}\"; do if [ \"${a[i]}\" = ALL ]; then a[i-1]=--cap-add; fi; done", "no capabilities"},
  };
  for (const lost_wall& each : walls) {
    std::filesystem::remove(base_ / "lost");
    const jail changed = recipe().bubblewrap(
        changed_bubblewrap("if [ -e " + (base_ / "lost").string() + " ]; then " + each.change + "; fi"));
    EXPECT_EQ(failure_of(changed), "");
    base_.write("lost", "");
    const std::string failure = failure_of(changed);
    EXPECT_NE(failure.find(std::string("a wall is missing: ") + each.named), std::string::npos) << failure;
  }
}

TEST_F(Jail, the_proof_from_inside_is_made_once_for_the_same_walls) {
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  const std::filesystem::path shell =
      base_.write("bin/shell", "#!/bin/bash\necho >> " + std::string("\"$HOME/log\"\n") + "exec bash \"$@\"\n", 0755);
  const jail counted = recipe().workspace(shared).mount_read_only(shell.parent_path()).shell(shell);
  const auto lines = [&] { return base_.has("shared/log") ? base_.read("shared/log").size() : 0; };
  const auto proofs_of = [&](const jail& recipe) {
    const std::size_t before = lines();
    EXPECT_TRUE(result_of(recipe, "true").ok());
    return lines() - before - 1;  // a line is the command
  };
  EXPECT_EQ(proofs_of(counted), 1U);
  EXPECT_EQ(proofs_of(counted), 0U);
  jail other = counted;
  EXPECT_EQ(proofs_of(other.network(network_policy::host)), 1U);
  EXPECT_EQ(proofs_of(other), 0U);
  EXPECT_EQ(proofs_of(jail(counted).bubblewrap(changed_bubblewrap(""))), 1U);
}

TEST_F(Jail, results_report_the_walls_and_limits) {
  const command_result result =
      result_of(limited().memory(512 * mebibyte).processes(50).cpu_time(7s).file_size(mebibyte).open_files(99), "true");
  const isolation_report& report = result.isolation();
  EXPECT_EQ(report.of(isolation_kind::network), "network namespace: a loopback interface alone");
  EXPECT_EQ(report.of(isolation_kind::process_count),
            "50 in all, with the warden's (RLIMIT_NPROC in a user namespace)");
  EXPECT_TRUE(report.of(isolation_kind::memory).starts_with("536870912 bytes per process (RLIMIT_AS), no total"));
  EXPECT_EQ(report.of(isolation_kind::processor_time), "7 s per process (RLIMIT_CPU), no total");
  EXPECT_EQ(report.of(isolation_kind::disk), "1048576 bytes per file (RLIMIT_FSIZE)");
  EXPECT_EQ(report.of(isolation_kind::open_files), "99 per process (RLIMIT_NOFILE)");
  EXPECT_TRUE(report.of(isolation_kind::files).starts_with("private root, read-only; workspace"));
  EXPECT_TRUE(report.of(isolation_kind::signals).starts_with("process namespace"));
  const command_result open = result_of(recipe().network(network_policy::host), "true");
  EXPECT_EQ(open.isolation().of(isolation_kind::network), "none");
  EXPECT_EQ(open.isolation().of(isolation_kind::disk), "none");
}

// ---- what is visible ------------------------------------------------------------------------------------------------

TEST_F(Jail, an_error_of_rename_names_both_paths) {
  run([&]() -> awaitable<void> {
    jail_environment env = co_await recipe().open();
    co_await write_text(env, "d/file", "");
    co_await write_text(env, "file", "");
    const error into_itself = co_await rename_failure(env, "d", "d/e");
    EXPECT_EQ(into_itself.code(), exec_errc::invalid_argument);
    EXPECT_STREQ(into_itself.what(), "rename 'd' to 'd/e': a directory cannot be moved into itself");
    const error over_file = co_await rename_failure(env, "d", "file");
    EXPECT_EQ(over_file.code(), exec_errc::not_a_directory);
    EXPECT_TRUE(std::string(over_file.what()).starts_with("rename 'd' to 'file': ")) << over_file.what();
    co_await env.close();
  });
}

// Feature: D20
TEST_F(Jail, mounted_paths_are_visible_and_only_writable_ones_change) {
  base_.write("in/data", "of the host");
  base_.make_shared_folder("out");
  const std::string in = base_ / "in";
  const std::string out = base_ / "out";
  const command_result result = result_of(recipe().mount_read_only(in).mount_writable(out),
                                          "cat " + in + "/data; echo made > " + out + "/x; echo no > " + in + "/y");
  EXPECT_EQ(result.out().text(), "of the host");
  EXPECT_EQ(base_.read("out/x"), "made\n");
  EXPECT_FALSE(base_.has("in/y"));
  EXPECT_FALSE(result_of(recipe(), "cat " + in + "/data").ok());
}

TEST_F(Jail, hidden_paths_are_empty) {
  base_.write("in/data", "shown");
  base_.write("in/private/key", "secret");
  base_.write("in/token", "secret");
  const std::filesystem::path in = base_ / "in";
  const command_result result =
      result_of(recipe().mount_read_only(in).hide(in / "private").hide(in / "token").hide(in / "absent"),
                "cd " + in.string() + " && cat data token && ls -A private && touch private/x");
  EXPECT_EQ(result.out().text(), "shown");
  EXPECT_FALSE(result.ok());
  // A file in a hidden folder, in both orders.
  const std::string look = "ls -A " + (in / "private").string();
  const jail shown = recipe().mount_read_only(in);
  EXPECT_EQ(result_of(jail(shown).hide(in / "private").hide(in / "private/key"), look).out_text(), "");
  EXPECT_EQ(result_of(jail(shown).hide(in / "private/key").hide(in / "private"), look).out_text(), "");
}

// ---- protected names ------------------------------------------------------------------------------------------------

constexpr const char* attack_on_project =
    "mv .git moved; rm -rf .git/hooks .git/config .envrc .vscode; mkdir -p .git/hooks .vscode;"
    "for name in .git/config .git/hooks/pre-commit .envrc .vscode/tasks.json; do echo evil > $name; done;"
    "ln -sf /tmp/evil .envrc; mv moved/config .git/config; echo ordinary > .git/HEAD; echo ordinary > file";

TEST_F(Jail, protected_names_stay_as_they_are) {
  const auto project = [&](const std::string& name) {
    const std::filesystem::path folder = base_.make_shared_folder(name);
    base_.make_shared_folder(name + "/.git");
    base_.make_shared_folder(name + "/.git/hooks");
    ::chmod(base_.write(name + "/.git/config", "original").c_str(), 0666);
    ::chmod(base_.write(name + "/.envrc", "original").c_str(), 0666);
    return folder;
  };
  const std::filesystem::path safe = project("safe");
  result_of(recipe().workspace(safe).protect_project_files(), attack_on_project);
  EXPECT_EQ(base_.read("safe/.git/config"), "original");
  EXPECT_EQ(base_.read("safe/.envrc"), "original");
  EXPECT_FALSE(base_.has("safe/.git/hooks/pre-commit"));
  EXPECT_FALSE(base_.has("safe/.vscode"));
  EXPECT_FALSE(base_.has("safe/moved"));
  EXPECT_EQ(base_.read("safe/.git/HEAD"), "ordinary\n");
  EXPECT_EQ(base_.read("safe/file"), "ordinary\n");

  const std::filesystem::path open = project("open");
  result_of(recipe().workspace(open), attack_on_project);
  EXPECT_EQ(base_.read("open/.git/hooks/pre-commit"), "evil\n");
  EXPECT_TRUE(base_.has("open/.vscode/tasks.json"));
}

// Removing the mount point of a mount on the host removes the mount in every namespace.
TEST_F(Jail, a_jail_that_closes_does_not_end_the_protection_of_another) {
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  const jail guarded = recipe().workspace(shared).protect(".mcp.json").protect("hooks/");
  run([&]() -> awaitable<void> {
    auto first = [&](jail_environment& early) -> awaitable<void> {
      auto second = [&](jail_environment& late) -> awaitable<void> {
        co_await early.close();
        const command_result attack = co_await late.run_command("echo evil > .mcp.json; echo evil > hooks/run");
        EXPECT_FALSE(attack.ok());
      };
      co_await with(guarded, std::ref(second));
    };
    co_await with(guarded, std::ref(first));
  });
  EXPECT_FALSE(base_.has("shared/hooks/run"));
  EXPECT_TRUE(!base_.has("shared/.mcp.json") || base_.read("shared/.mcp.json").empty());
}

// A second jail finds the stand-ins of the first one, among them an empty folder .git. They protect it too, and the
// last jail removes them, in any order and also after a program was killed.
TEST_F(Jail, several_jails_share_stand_ins_and_the_last_one_removes_them) {
  const auto names_in = [](const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(folder)) names.push_back(each.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  };
  for (const bool first_closes_first : {true, false}) {
    const std::filesystem::path shared = base_.make_shared_folder(first_closes_first ? "one" : "two");
    std::filesystem::create_directory(shared / ".vscode");  // empty, but not a stand-in
    const jail guarded = recipe().workspace(shared).protect_project_files();
    run([&]() -> awaitable<void> {
      jail_environment first = co_await guarded.open();
      jail_environment second = co_await guarded.open();
      const command_result attack =
          co_await second.run_command("echo evil > .git/HEAD; mkdir .git/objects; mv .git moved; rmdir .git");
      EXPECT_FALSE(attack.ok());
      EXPECT_TRUE(std::filesystem::is_empty(shared / ".git"));
      EXPECT_FALSE(std::filesystem::exists(shared / "moved"));
      co_await (first_closes_first ? first : second).close();
      EXPECT_TRUE(std::filesystem::exists(shared / ".git"));
      co_await (first_closes_first ? second : first).close();
    });
    EXPECT_EQ(names_in(shared), std::vector<std::string>{".vscode"});
  }

  const std::filesystem::path left = base_.make_shared_folder("left");
  const jail guarded = recipe().workspace(left).protect_project_files();
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    run([&]() -> awaitable<void> {
      jail_environment env = co_await guarded.open();
      co_await env.run_command("touch opened; sleep 60");
    });
    ::_exit(0);
  }
  EXPECT_TRUE(cofferdam_test::eventually([&] { return std::filesystem::exists(left / "opened"); }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(left / ".git")) << "the killed program has left no stand-in";
  EXPECT_FALSE(result_of(guarded, "echo evil > .git/HEAD").ok());
  EXPECT_EQ(names_in(left), std::vector<std::string>{"opened"});
}

TEST_F(Jail, other_users_of_the_machine_cannot_enter_a_private_workspace) {
  run([&]() -> awaitable<void> {
    auto body = [&](jail_environment& env) -> awaitable<void> {
      co_await env.run_command("echo text > file");
      std::size_t found = 0;
      for (const auto& each : std::filesystem::directory_iterator(base_.path())) {
        if (!std::filesystem::exists(each.path() / "workspace/file")) continue;
        ++found;
        struct stat folder {
        }, workspace{};
        ::stat(each.path().c_str(), &folder);
        ::stat((each.path() / "workspace").c_str(), &workspace);
        EXPECT_TRUE((folder.st_mode & 0077) == 0 || (workspace.st_mode & 0077) == 0) << std::oct << workspace.st_mode;
      }
      EXPECT_EQ(found, 1U);
    };
    co_await with(recipe(), std::ref(body));
  });
}

TEST_F(Jail, protected_names_that_do_not_exist_cannot_be_made_and_leave_nothing_behind) {
  const std::filesystem::path safe = base_.make_shared_folder("safe");
  const command_result result = result_of(recipe().workspace(safe).protect_project_files(),
                                          std::string(attack_on_project) + "; cat .envrc && ls -A .vscode .git");
  EXPECT_TRUE(result.ok()) << result.err().text();
  EXPECT_EQ(result.out().text().find("evil"), std::string::npos) << result.out().text();
  EXPECT_EQ(base_.read("safe/file"), "ordinary\n");
  std::size_t entries = 0;
  for (const auto& each : std::filesystem::directory_iterator(safe)) {
    EXPECT_EQ(each.path().filename(), "file");
    ++entries;
  }
  EXPECT_EQ(entries, 1U);

  result_of(recipe().workspace(base_.make_shared_folder("open")), attack_on_project);
  EXPECT_EQ(base_.read("open/.git/config"), "evil\n");

  // The same in memory, and through the file operations.
  run([&]() -> awaitable<void> {
    const jail in_memory = recipe().workspace_size(mebibyte).protect(".envrc");
    auto body = [](jail_environment& env) -> awaitable<void> {
      std::optional<error> failure;
      try {
        co_await write_text(env, ".envrc", "evil");
      } catch (const error& reason) {
        failure = reason;
      }
      EXPECT_TRUE(failure.has_value());
      std::string text = co_await read_text(env, ".envrc");
      EXPECT_EQ(text, "");
    };
    co_await with(in_memory, body);
  });
}

// A guest of an earlier environment may have put a link there, which would show the jail a file of this machine.
TEST_F(Jail, a_protected_name_that_is_a_link_is_an_error_of_open) {
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  base_.write("secret", "canary");
  base_.make_link("shared/.envrc", (base_ / "secret").string());
  base_.make_link("shared/.git", base_.path().string());
  for (const char* name : {".envrc", ".git/hooks"}) {
    const std::string failure = failure_of(recipe().workspace(shared).protect(".idea/").protect(name));
    EXPECT_NE(failure.find("is a symbolic link"), std::string::npos) << failure;
  }
  EXPECT_FALSE(base_.has("shared/.idea"));
}

// The judge is a bubblewrap that leaves out one of its mounts.
TEST_F(Jail, a_protected_name_that_is_not_mounted_is_a_missing_wall) {
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  ::chmod(base_.write("shared/.envrc", "original").c_str(), 0666);
  const std::string inside = "/workspace/.envrc";
  const std::string change = "for i in \"${!a[@]}\"; do if [ \"${a[i]}\" = " + inside +
                             " ]; then a=(\"${a[@]:0:i-2}\" \"${a[@]:i+1}\"); break; fi; done";
  const std::string failure =
      failure_of(recipe().workspace(shared).protect(".envrc").bubblewrap(changed_bubblewrap(change)));
  EXPECT_NE(failure.find("a wall is missing: read-only path (" + inside + " is writable)"), std::string::npos)
      << failure;
}

TEST_F(Jail, a_path_that_cannot_be_mounted_is_an_error_of_open) {
  const std::string absent = failure_of(recipe().mount_read_only(base_ / "absent"));
  EXPECT_NE(absent.find("mount_read_only(\"" + (base_ / "absent").string() + "\"): No such file"), std::string::npos)
      << absent;
  base_.make_folder("fixed");
  ::chmod((base_ / "fixed").c_str(), 0555);
  const std::string fixed = failure_of(recipe().mount_writable(base_ / "fixed"));
  EXPECT_NE(fixed.find("cannot write there"), std::string::npos) << fixed;
}

TEST_F(Jail, the_workspace_can_have_another_path) {
  run([&]() -> awaitable<void> {
    const jail named = recipe().workspace_path("/home/user");
    auto body = [](jail_environment& env) -> awaitable<void> {
      co_await write_text(env, "/home/user/a", "x");
      command_result result =
          co_await env.run_command(command("pwd; echo $HOME; cat ~/a; mkdir b").working_directory("."));
      EXPECT_EQ(result.out().text(), "/home/user\n/home/user\nx");
      command_result inner = co_await env.run_command(command("pwd").working_directory("b"));
      EXPECT_EQ(inner.out().text(), "/home/user/b\n");
      command_result usual = co_await env.run_command(command("mkdir -p /workspace; cd /workspace; pwd -P; cat a"));
      EXPECT_EQ(usual.out().text(), "/home/user\nx");
    };
    co_await with(named, body);
  });
}

TEST_F(Jail, a_directory_of_this_machine_is_a_workspace_that_stays) {
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  EXPECT_TRUE(result_of(recipe().workspace(shared), "echo kept > x").ok());
  EXPECT_EQ(base_.read("shared/x"), "kept\n");
  struct stat status {};
  ASSERT_EQ(::stat((shared / "x").c_str(), &status), 0);
  const uid_t owner = ::geteuid() == 0 ? 60991 : ::geteuid();
  EXPECT_EQ(status.st_uid, owner);
}

TEST_F(Jail, a_jail_of_root_has_the_user_who_owns_the_workspace) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "the user of a jail of root");
  const std::filesystem::path shared = base_.make_folder("shared");
  ASSERT_EQ(::chown(shared.c_str(), 4242, 4243), 0);
  EXPECT_TRUE(result_of(recipe().workspace(shared), "id -u > x").ok());
  struct stat status {};
  ASSERT_EQ(::stat((shared / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 4242U);
  EXPECT_EQ(status.st_gid, 4243U);
  EXPECT_EQ(base_.read("shared/x"), "1000\n");
  const std::filesystem::path mine = base_.make_folder("mine");
  const std::string failure = failure_of(recipe().workspace(mine));
  EXPECT_NE(failure.find("is not writable for the jail's user (uid 60991)"), std::string::npos) << failure;
}

// Feature: B25
TEST_F(Jail, the_network_of_the_host_is_there_only_if_asked_for) {
  const std::string interfaces = "sed -n 's/^ *\\([^:]*\\):.*/\\1/p' /proc/net/dev";
  EXPECT_EQ(result_of(recipe(), interfaces).out().text(), "lo\n");
  EXPECT_EQ(result_of(recipe().network(network_policy::host), "readlink /proc/self/ns/net").out().text(),
            std::filesystem::read_symlink("/proc/self/ns/net").string() + "\n");
}

// ---- limits ---------------------------------------------------------------------------------------------------------

TEST_F(Jail, a_workspace_with_a_size_is_in_memory_and_gets_full) {
  run([&]() -> awaitable<void> {
    const jail small = recipe().workspace_size(4 * mebibyte);
    auto body = [](jail_environment& env) -> awaitable<void> {
      co_await write_text(env, "a", "text");
      command_result full = co_await env.run_command("cat a; head -c 8M /dev/zero > big");
      EXPECT_FALSE(full.ok());
      EXPECT_EQ(full.out().text(), "text");
      EXPECT_NE(full.err().text().find("No space left"), std::string::npos);
    };
    co_await with(small, body);
  });
  EXPECT_THROW(result_of(recipe().workspace_size(mebibyte).workspace(base_.path()), "true"), error);
}

TEST_F(Jail, temporary_folders_have_a_size) {
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    const command_result result =
        result_of(recipe().temporary_size(mebibyte), "head -c 8M /dev/zero > " + std::string(folder) + "/big");
    EXPECT_NE(result.err().text().find("No space left"), std::string::npos) << folder;
  }
  // nothing else is writable, so nothing else takes memory
  EXPECT_FALSE(result_of(recipe(), "echo x > /dev/x").ok());
  EXPECT_FALSE(result_of(recipe(), "mkdir /x || mkdir /etc/x || mkdir /run/x").ok());
}

TEST_F(Jail, memory_of_a_process_is_limited) {
  const std::string takes = "python3 -c 'b = bytearray(400 << 20); print(len(b))'";
  EXPECT_TRUE(result_of(recipe(), takes).ok());
  const command_result refused = result_of(limited().memory(256 * mebibyte), takes);
  EXPECT_NE(refused.err().text().find("MemoryError"), std::string::npos) << refused.err().text();
  const command_result shared =
      result_of(limited().memory(256 * mebibyte), "python3 -c 'import mmap; mmap.mmap(-1, 400 << 20)'");
  EXPECT_NE(shared.err().text().find("Cannot allocate memory"), std::string::npos) << shared.err().text();
  EXPECT_THROW(result_of(limited().memory(256 * mebibyte).require_total_memory(), "true"), error);
  EXPECT_THROW(result_of(recipe().require_total_memory(), "true"), error);
}

// Feature: B24
TEST_F(Jail, memory_of_all_processes_together_is_limited_by_a_control_group) {
  COFFERDAM_NEEDS("control groups", cofferdam_test::has_control_groups(), "a total limit of memory");
  run([&]() -> awaitable<void> {
    const jail small = recipe().memory(192 * mebibyte).require_total_memory();
    auto body = [](jail_environment& env) -> awaitable<void> {
      EXPECT_NE(env.isolation().of(isolation_kind::memory).find("201326592 bytes in all (control group, "),
                std::string::npos)
          << env.isolation().of(isolation_kind::memory);
      // Each process alone is within the limit.
      const std::string takes = "python3 -c 'b = bytearray(80 << 20); import time; time.sleep(3)'";
      command_result three = co_await env.run_command(takes + " & " + takes + " & " + takes + "; wait; exit 3");
      EXPECT_EQ(three.exit_code(), 3) << three.err().text();  // the kernel has ended one of them, not the shell
      command_result alone = co_await env.run_command(argv("python3", "-c", "b = bytearray(400 << 20)"));
      EXPECT_EQ(alone.kind(), error_kind::out_of_memory) << alone.exit_code() << alone.err().text();
      command_result in_shell = co_await env.run_command("python3 -c 'b = bytearray(400 << 20)'; exit $?");
      EXPECT_EQ(in_shell.kind(), error_kind::out_of_memory) << in_shell.exit_code() << in_shell.err().text();
      command_result piped = co_await env.run_command("python3 -c 'b = bytearray(400 << 20)' | cat");
      EXPECT_TRUE(piped.ok()) << piped.summary();
      EXPECT_NE(piped.advice().find("the kernel killed a process"), std::string::npos) << piped.advice();
      command_result after = co_await env.run_command("exit 137");
      EXPECT_EQ(after.kind(), error_kind::none) << after.reason();
      EXPECT_EQ(after.advice(), "");
      // Files in memory leave room for commands.
      command_result files = co_await env.run_command("head -c 250M /dev/zero > /tmp/big");
      EXPECT_EQ(files.kind(), error_kind::disk_full) << files.exit_code() << files.err().text();
      command_result reserved = co_await env.run_command("python3 -c 'import mmap; mmap.mmap(-1, 2 << 30)'");
      EXPECT_TRUE(reserved.ok()) << reserved.err().text();  // reserved, not used
      command_result killed = co_await env.run_command("kill -9 $$");
      EXPECT_EQ(killed.kind(), error_kind::none);
      EXPECT_EQ(killed.term_signal(), SIGKILL);
    };
    co_await with(small, body);
  });
}

TEST_F(Jail, its_control_group_is_gone_after_it_has_closed) {
  COFFERDAM_NEEDS("control groups", cofferdam_test::has_control_groups(), "that nothing is left of a control group");
  // Other programs may open jails at the same time, so the test looks only at the group of its own jail.
  std::string name;
  const auto groups = [&name] {
    std::size_t found = 0;
    for (const auto& [controller, place] :
         detail::control_group_places(read_proc("/proc/self/cgroup"), read_proc("/proc/self/mountinfo")))
      for (const auto& each : std::filesystem::directory_iterator(place.directory))
        if (each.path().filename() == name) ++found;
    return found;
  };
  std::size_t during = 0;
  run([&]() -> awaitable<void> {
    auto body = [&](jail_environment& env) -> awaitable<void> {
      const std::string marker = cofferdam_test::new_marker();
      const std::string script = "sleep " + marker + " & sleep " + marker;
      cofferdam::process left = co_await env.start(script);
      eventually([&] { return cofferdam_test::marked(marker).size() >= 2; }, 10s);
      for (const process_entry& each : cofferdam_test::marked(marker)) {
        const std::string group = read_proc("/proc/" + std::to_string(each.pid) + "/cgroup");
        const std::size_t begin = std::min(group.find("cofferdam-jail-"), group.size());
        name = group.substr(begin, group.find_first_of("/\n", begin) - begin);
      }
      during = groups();
    };
    co_await with(recipe().memory(256 * mebibyte).processes(40), std::ref(body));
  });
  EXPECT_GT(during, 0U) << name;
  EXPECT_EQ(groups(), 0U) << name;
}

// Feature: B24
TEST_F(Jail, processes_are_limited_for_the_whole_environment) {
  const std::string starts = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 60 & done; wait";
  const command_result refused = result_of(recipe().processes(12), command(starts).timeout(2s));
  EXPECT_NE(refused.err().text().find("Resource temporarily unavailable"), std::string::npos) << refused.err().text();
  const command_result by_limit = result_of(limited().processes(12), command(starts).timeout(2s));
  EXPECT_NE(by_limit.err().text().find("Resource temporarily unavailable"), std::string::npos);
  const command_result free = result_of(recipe(), command(starts).timeout(500ms));
  EXPECT_EQ(free.err().text(), "");
}

TEST_F(Jail, a_result_names_the_limit_that_ended_the_command) {
  const command_result file =
      result_of(recipe().file_size(mebibyte), argv("dd", "if=/dev/zero", "of=big", "bs=8M", "count=1"));
  EXPECT_EQ(file.kind(), error_kind::file_too_large) << file.err().text();
  EXPECT_EQ(file.reason(), "The command was ended because it made a file larger than 1048576 bytes (RLIMIT_FSIZE)");
  const command_result time = result_of(recipe().cpu_time(1s), "while :; do :; done");
  EXPECT_EQ(time.kind(), error_kind::processor_time_limit) << time.term_signal();
  const command_result stubborn = result_of(recipe().cpu_time(1s), "trap '' XCPU; while :; do :; done");
  EXPECT_EQ(stubborn.kind(), error_kind::processor_time_limit) << stubborn.term_signal();
  const command_result disk = result_of(recipe().workspace_size(mebibyte), "head -c 8M /dev/zero > big");
  EXPECT_EQ(disk.kind(), error_kind::disk_full) << disk.err().text();
  EXPECT_EQ(disk.reason(), "The command failed, and /workspace is full (tmpfs)");
  EXPECT_EQ(result_of(recipe().temporary_size(mebibyte), "head -c 8M /dev/zero > /tmp/big").kind(),
            error_kind::disk_full);
  // Failures for other reasons have no kind.
  const jail all = recipe().file_size(mebibyte).cpu_time(9s).workspace_size(mebibyte).processes(50);
  for (const char* line : {"exit 1", "exit 153", "exit 152", "exit 137", "kill -9 $$", "kill -XCPU $$"}) {
    const command_result result = result_of(all, line);
    EXPECT_EQ(result.kind(), error_kind::none) << line;
    EXPECT_EQ(result.reason().find("because"), std::string::npos) << line << result.reason();
  }
  // If the limit has ended a child of the shell, nothing but the exit code says so, and that is no proof.
  const command_result child = result_of(recipe().file_size(mebibyte), "dd if=/dev/zero of=big bs=8M count=1; exit $?");
  EXPECT_EQ(child.exit_code(), 153);
  EXPECT_EQ(child.kind(), error_kind::none);
  EXPECT_EQ(child.advice(),
            "Exit code 153 usually means that a process made a file larger than 1048576 bytes (RLIMIT_FSIZE). Write "
            "less, or several smaller files.");
  const command_result worker = result_of(recipe().cpu_time(1s), "sh -c 'while :; do :; done'; exit $?");
  EXPECT_EQ(worker.exit_code(), 152);
  EXPECT_EQ(worker.kind(), error_kind::none);
  EXPECT_TRUE(worker.advice().starts_with("Exit code 152 usually means")) << worker.advice();
}

TEST_F(Jail, a_refused_process_is_named_where_there_are_control_groups) {
  COFFERDAM_NEEDS("control groups", cofferdam_test::has_control_groups(), "which commands were refused a process");
  const std::string starts = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1 & done; wait";
  const command_result refused = result_of(recipe().processes(12), argv("sh", "-c", starts));  // bash would try again
  EXPECT_EQ(refused.kind(), error_kind::process_limit) << refused.exit_code() << refused.err().text();
  EXPECT_NE(refused.reason().find("there may be 12 processes and threads"), std::string::npos) << refused.reason();
  EXPECT_EQ(result_of(recipe().processes(60), argv("sh", "-c", starts + "; exit 1")).kind(),
            error_kind::none);  // the control
}

TEST_F(Jail, the_other_limits_of_a_process_hold) {
  const command_result file = result_of(recipe().file_size(mebibyte), "head -c 8M /dev/zero > big; stat -c %s big");
  EXPECT_EQ(file.out().text(), "1048576\n");
  EXPECT_EQ(result_of(recipe().open_files(20), "ulimit -Hn; ulimit -Sn").out().text(), "20\n20\n");
  const command_result time = result_of(recipe().cpu_time(1s), argv("sh", "-c", "while :; do :; done"));
  EXPECT_EQ(time.term_signal(), SIGXCPU);
  EXPECT_EQ(time.kind(), error_kind::processor_time_limit);
}

TEST_F(Jail, wrong_settings_are_refused_at_once) {
  const std::vector<std::function<void()>> wrong{
      [] { jail().mount_read_only("relative"); },
      [] { jail().mount_writable("/"); },
      [] { jail().mount_read_only("/proc/1"); },
      [] { jail().hide("/dev/"); },
      [] { jail().mount_read_only("/a/../tmp"); },
      [] { jail().memory(1); },
      [] { jail().cpu_time(0s); },
      [] { jail().memory(std::size_t{1} << 63); },
      [] { jail().processes(1); },
      [] { jail().processes(5'000'000); },
      [] { jail().open_files(3); },
      [] { jail().workspace_size(1); },
      [] { jail().temporary_size(1); },
      [] { jail().temporary_size(std::numeric_limits<std::size_t>::max()); },
      [] { jail().workspace_path("/etc/x"); },
      [] { jail().workspace_path("relative"); },
      [] { jail().workspace_path("/home/u\nroot:x"); },
      [] { jail().workspace_path("/home/u:0"); },
      [] { jail().workspace("/tmp/a\0b"s); },
      [] { jail().temporary_base("/tmp\0b"s); },
      [] { jail().bubblewrap("/usr/bin/bwrap\0b"s); },
      [] { jail().shell("/bin/sh\0b"s); },
      [] { local().workspace("/tmp/a\0b"s); },
      [] { local().temporary_base("/tmp\0b"s); },
      [] { local().shell("/bin/sh\0b"s); },
      [] { jail().protect(""); },
      [] { jail().protect("."); },
      [] { jail().protect("/etc/passwd"); },
      [] { jail().protect("a/../../b"); },
      [] {
        jail many;
        for (int i = 0; i < 25; ++i) many.protect(std::to_string(i));
      },
      [] { jail().default_timeout(0s); },
      [] { jail().kill_grace(-1ms); },
      [] { jail().output_grace(-1ms); },
  };
  EXPECT_NO_THROW(jail().workspace(""));  // as without the option
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    try {
      wrong[i]();
      ADD_FAILURE() << "setting " << i << " was accepted";
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::invalid_argument) << failure.what();
    }
  }
}

}  // namespace jail_tests
