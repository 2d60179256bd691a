// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/backends/detail/over_program.hpp>
#include <cofferdam/backends/over.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>

#include "support/census.hpp"
#include "support/error_of.hpp"
#include "support/forked_host.hpp"
#include "support/require.hpp"
#include "support/result_of.hpp"
#include "support/run.hpp"
#include "support/ssh_server.hpp"
#include "support/temporary_folder.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

// Tests of `over`. Most places are this machine, reached by programs that need no network.

namespace over_tests {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::detail::bootstrap_reader;
using cofferdam::detail::bootstrap_words;
using cofferdam::detail::over_mark;
using cofferdam::detail::over_program;
using cofferdam::detail::over_script;
using cofferdam::detail::place_report;
using cofferdam_test::code_of;
using cofferdam_test::error_of;
using cofferdam_test::result_of;
using cofferdam_test::run;
using cofferdam_test::ssh_server;
using cofferdam_test::temporary_folder;

static_assert(code_exec_provider<over>);
static_assert(streaming_environment<over_environment> && file_environment<over_environment>);

/// Returns a place whose program is a script for `sh`. In the script, "$@" is the command that the place must run.
over through(const std::string& script) { return over("sh", "-c", script, "sh"); }

/// Opens an environment, and closes it.
void open_once(const over& recipe) { result_of(recipe, shell("true")); }

/// Returns the error of `open()`.
error refusal_of(const over& recipe) {
  std::optional<error> failure = error_of([&] { open_once(recipe); });
  return failure ? *failure : error(exec_errc::invalid_argument, "open() succeeded");
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Returns true if the path vanishes within 5 s.
bool vanishes(const std::filesystem::path& path) {
  for (int i = 0; i < 500 && std::filesystem::exists(path); ++i) std::this_thread::sleep_for(10ms);
  return !std::filesystem::exists(path);
}

/// Returns true if the process ends within 5 s.
bool ends(pid_t pid) {
  for (int i = 0; i < 500 && cofferdam_test::is_alive(pid); ++i) std::this_thread::sleep_for(10ms);
  return !cofferdam_test::is_alive(pid);
}

// ---- the command line and the answers, without a process ----

TEST(over, ssh_gets_one_word_and_other_programs_get_separate_words) {
  using words = std::vector<std::string>;
  const words joined = bootstrap_words({"/usr/bin/ssh", "host"}, place_words::automatic);
  ASSERT_EQ(joined.size(), 3U);
  EXPECT_EQ(joined[2], "exec sh -c '" + std::string(over_script) + "'");
  const words separate = bootstrap_words({"podman", "exec", "-i", "box"}, place_words::automatic);
  EXPECT_EQ(separate, (words{"podman", "exec", "-i", "box", "sh", "-c", std::string(over_script)}));
  EXPECT_EQ(bootstrap_words({"ssh", "host"}, place_words::separate).size(), 5U);
  EXPECT_EQ(bootstrap_words({"sshpass", "ssh", "host"}, place_words::automatic).size(), 6U);
  EXPECT_EQ(bootstrap_words({"sshpass", "ssh", "host"}, place_words::joined).size(), 4U);
}

TEST(over, the_script_needs_no_escapes_between_single_quotes_of_any_shell) {
  EXPECT_EQ(over_script.find_first_of("'!\n"), std::string_view::npos);
  EXPECT_EQ(over_script.find("\\\\"), std::string_view::npos);
  EXPECT_EQ(over_script.find(over_mark), std::string_view::npos) << "an echo of the script would look like an answer";
}

TEST(over, answers_are_found_behind_a_banner_and_in_pieces) {
  bootstrap_reader reader;
  const std::string text = "Welcome\r\nto the hostcofferdam 42 ready x86_64\nframes";
  for (const char& each : text) {
    if (&each != &text.front() && &each == &text[text.size() - 6]) break;
    EXPECT_FALSE(reader.next().has_value());
    reader.arrived(as_bytes(std::string_view(&each, 1)));
  }
  const auto answer = reader.next();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->kind, "ready");
  EXPECT_EQ(answer->value, "x86_64");
  EXPECT_EQ(answer->before, "Welcome\r\nto the host");
  reader.arrived(as_bytes(std::string_view("frames")));
  EXPECT_EQ(reader.take_rest(), "frames");
}

TEST(over, an_answer_with_a_carriage_return_comes_through_a_terminal) {
  bootstrap_reader reader;
  reader.arrived(as_bytes(std::string_view("cofferdam 42 ready x86_64\r\n")));
  EXPECT_EQ(code_of([&] { static_cast<void>(reader.next()); }), exec_errc::unsupported);
}

TEST(over, a_report_has_the_variables_with_and_without_proc) {
  using namespace std::string_view_literals;
  const place_report whole("/tmp/a\n/tmp/a/workspace\n/bin/bash\nA=1\nstill A\0PATH=/bin\0AB=2\0\n"sv);
  EXPECT_EQ(whole.workspace(), "/tmp/a/workspace");
  EXPECT_EQ(whole.variable("A"), "A=1\nstill A");
  EXPECT_EQ(whole.variable("PATH"), "PATH=/bin");
  EXPECT_EQ(whole.variable("B"), "");
  const place_report lines("/tmp/a\n/tmp/a/workspace\n\nA=1\nPATH=/bin\n"sv);
  EXPECT_EQ(lines.shell(), "/bin/sh");
  EXPECT_EQ(lines.variable("PATH"), "PATH=/bin");
  EXPECT_EQ(code_of([] { place_report("sh: not found\n"); }), exec_errc::provider_failed);
}

TEST(over, invalid_settings_are_refused_at_once) {
  for (const auto& call : std::vector<std::function<void()>>{
           [] { over(""); }, [] { over(std::vector<std::string>()); }, [] { over("ssh", std::string("a\0b", 3)); },
           [] { over("ssh").workspace(""); }, [] { over("ssh").workspace("a\nb"); },
           [] { over("ssh").warden_folder("tmp"); }, [] { over("ssh").variable("A=B", "c"); },
           [] { over("ssh").place_variable(""); }, [] { over("ssh").shell("bash"); },
           [] { over("ssh").connect_timeout(0ms); }, [] { over("ssh").lease(999ms); },
           [] { over("ssh").default_timeout(0ms); }, [] { over("ssh").kill_grace(-1ms); },
           [] { over("ssh").output_grace(-1ms); }})
    EXPECT_EQ(code_of(call), exec_errc::invalid_argument);
}

// ---- a place that works ----

// A command with the user of the shell may open its streams. With the stream of the frames, it could forge results.
TEST(over, PR_06_the_shell_that_waits_for_the_warden_has_no_streams) {
  run([]() -> awaitable<void> {
    auto body = [](over_environment& env) -> awaitable<void> {
      co_await env.run_command("true");
      int shells = 0;
      for (const cofferdam_test::process_entry& each : cofferdam_test::process_table()) {
        const std::filesystem::path process = "/proc/" + std::to_string(each.pid);
        const std::string line = cofferdam_test::read_proc((process / "cmdline").string());
        if (!contains(line, "unset CDPATH; a=$1") || !contains(line, "over-streams-test")) continue;
        ++shells;
        for (const auto& stream : std::filesystem::directory_iterator(process / "fd")) {
          if (stream.path().filename() == "2") continue;  // the error output carries no frames
          std::error_code ended;
          const std::filesystem::path target = std::filesystem::read_symlink(stream.path(), ended);
          EXPECT_TRUE(ended || target == "/dev/null") << stream.path() << " is " << target;
        }
      }
      EXPECT_EQ(shells, 1);
    };
    co_await with(over("sh", "-c", "exec \"$@\" over-streams-test", "sh"), std::ref(body));
  });
}

TEST(over, commands_files_and_streams_work_and_nothing_stays) {
  std::string workspace;
  run([&]() -> awaitable<void> {
    auto body = [&](over_environment& env) -> awaitable<void> {
      workspace = env.workspace();
      co_await write_text(env, "in.txt", "one\ntwo\n");
      command_result counted = co_await env.run_command(shell("wc -l < in.txt; pwd; echo \"$HOME\""));
      EXPECT_EQ(counted.out().text(), "2\n" + workspace + "\n" + workspace + "\n");
      const isolation_report& isolation = counted.isolation();
      EXPECT_TRUE(contains(isolation.of(isolation_kind::process_tree), "everything the command started"));
      EXPECT_TRUE(contains(isolation.of(isolation_kind::host_death), "everything the command started"));
      EXPECT_EQ(isolation.of(isolation_kind::network), "none");
      EXPECT_EQ(isolation.of(isolation_kind::files), "none");
      EXPECT_EQ(isolation.of(isolation_kind::secrets), "none");
      process running = co_await env.start(argv("cat").open_input());
      co_await running.write_input(as_bytes(std::string("to and fro")));
      co_await running.close_input();
      command_result echoed = co_await running.wait();
      EXPECT_EQ(echoed.out().text(), "to and fro");
    };
    co_await with(over("env"), body);
  });
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(workspace).parent_path()));
}

TEST(over, a_relay_of_single_bytes_and_a_slow_start_change_nothing) {
  const over recipe = through("dd bs=1 2>/dev/null | { sleep 0.2; \"$@\"; } | cat");
  EXPECT_EQ(result_of(recipe, shell("seq 1 20000 | tail -n 1")).out().text(), "20000\n");
}

TEST(over, each_login_shell_reads_the_joined_words_unchanged) {
  int tried = 0;
  for (const char* const name : {"sh", "dash", "bash", "zsh", "fish", "tcsh", "csh"}) {
    const std::string path = std::string("/bin/") + name;
    if (::access(path.c_str(), X_OK) != 0) continue;
    ++tried;
    over recipe(path, "-c");
    recipe.words(place_words::joined);
    EXPECT_EQ(result_of(recipe, shell("echo \"it's $((1 + 1))\"")).out().text(), "it's 2\n") << name;
  }
  EXPECT_GE(tried, 2);
}

TEST(over, a_place_with_busybox_only_works) {
  COFFERDAM_NEEDS("busybox", ::access("/usr/bin/busybox", X_OK) == 0, "the script in the shell of BusyBox");
  temporary_folder bin;
  for (const char* const name : {"sh", "mkdir", "chmod", "rm", "cat", "uname", "wc", "head", "find", "env", "tr"})
    bin.make_link(name, "/usr/bin/busybox");
  const std::string path = bin.path().string();
  over recipe("env", "PATH=" + path);
  EXPECT_EQ(result_of(recipe, shell("echo busy | tr a-z A-Z; readlink /proc/$$/exe || echo $PATH")).out().text(),
            "BUSY\n" + path + "\n");
}

TEST(over, a_place_without_head_gets_the_warden_byte_by_byte) {
  temporary_folder bin;
  bin.write("head", "#!/bin/sh\nexit 1\n", 0755);
  over recipe("env", "PATH=" + bin.path().string() + ":/usr/bin:/bin");
  EXPECT_EQ(result_of(recipe, shell("echo here")).out().text(), "here\n");
}

TEST(over, commands_get_no_variable_of_this_program_unless_it_is_named) {
  ::setenv("COFFERDAM_OVER_TEST", "secret", 1);
  const command print = shell("echo \"${COFFERDAM_OVER_TEST-absent} ${GIVEN-absent} $TMPDIR\"");
  EXPECT_TRUE(result_of(over("env"), print).out().text().starts_with("absent absent /"));
  over recipe("env");
  recipe.place_variable("COFFERDAM_OVER_TEST").place_variable("COFFERDAM_NOT_SET").variable("GIVEN", "a b");
  EXPECT_TRUE(result_of(recipe, print).out().text().starts_with("secret a b /"));
  ::unsetenv("COFFERDAM_OVER_TEST");
}

TEST(over, a_workspace_of_the_user_is_used_and_kept) {
  temporary_folder folder;
  const std::string workspace = (folder / "it's \\n here").string();
  over recipe("env");
  recipe.workspace(workspace);
  EXPECT_EQ(result_of(recipe, shell("pwd; echo kept > file")).out().text(), workspace + "\n");
  EXPECT_EQ(temporary_folder::read_host(workspace + "/file"), "kept\n");
}

TEST(over, folders_without_rights_are_removed_too) {
  std::string workspace;
  run([&]() -> awaitable<void> {
    auto body = [&](over_environment& env) -> awaitable<void> {
      workspace = env.workspace();
      command_result made = co_await env.run_command(shell("mkdir -p a/b/c && touch a/b/c/d && chmod 0 a/b/c a/b a"));
      EXPECT_TRUE(made.ok());
    };
    co_await with(over("env"), body);
  });
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(workspace).parent_path()));
}

// ---- open() that fails ----

TEST(over, an_absent_program_is_named) {
  const error failure = refusal_of(over("cofferdam-has-no-such-program"));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_EQ(failure.cause(), std::errc::no_such_file_or_directory);
  EXPECT_TRUE(contains(failure.what(), "cofferdam-has-no-such-program")) << failure.what();
}

TEST(over, a_program_that_exits_at_once_gives_its_status_and_its_error_output) {
  const error failure = refusal_of(through("echo first >&2; echo 'no route to host' >&2; exit 255"));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure.what(), "exited with status 255 before the place answered")) << failure.what();
  EXPECT_TRUE(contains(failure.what(), "first / no route to host")) << failure.what();
}

TEST(over, an_error_of_open_says_what_to_do) {
  const auto text_of = [](const over& recipe) { return std::string(refusal_of(recipe).what()); };
  EXPECT_TRUE(contains(text_of(over("true")), "status 0 before the place answered; the program must run the command"));
  EXPECT_TRUE(contains(text_of(through("echo 'Host key verification failed.' >&2; exit 255")), "run `ssh HOST` once"));
  EXPECT_TRUE(contains(text_of(through("echo 'me@host: Permission denied (publickey).' >&2; exit 255")),
                       "try `ssh -o BatchMode=yes HOST true`"));
  over slow = through("exec sleep 1000");
  const std::string late = text_of(slow.connect_timeout(1s));
  EXPECT_TRUE(contains(late, "within 1 s; started was `sh -c exec sleep 1000")) << late;
  EXPECT_TRUE(contains(late, "`; the program must run the words")) << late;
  EXPECT_FALSE(contains(late, "trap")) << "the script of the library is shown: " << late;
  EXPECT_FALSE(contains(text_of(through("echo why >&2; exit 1")), ";")) << "the reason is in the error output";
}

TEST(over, a_program_that_does_not_pass_its_input_gets_the_advice_to_add_an_option) {
  for (const char* const script : {"exec \"$@\" </dev/null", "echo failed >&2; \"$@\" </dev/null", "exit 1",
                                   "exec </dev/null; sleep 0.1; exit 3"}) {
    const std::string text = refusal_of(through(script)).what();
    EXPECT_TRUE(contains(text, "before the place answered")) << text;
    EXPECT_TRUE(contains(text, "add it, such as -i of docker, podman and kubectl")) << text;
  }
}

TEST(over, a_program_that_a_signal_ends_says_so) {
  const error failure = refusal_of(through("kill -9 $$"));
  EXPECT_TRUE(contains(failure.what(), "was ended by signal 9")) << failure.what();
}

TEST(over, a_banner_before_the_answer_is_skipped) {
  const over recipe = through("echo 'Welcome, cofferdam 41'; printf 'no line end'; echo warning >&2; exec \"$@\"");
  EXPECT_EQ(result_of(recipe, shell("echo here")).out().text(), "here\n");
}

TEST(over, output_without_an_answer_ends_at_a_limit) {
  const error failure = refusal_of(through("yes 'no answer'"));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure.what(), "64 KiB")) << failure.what();
  EXPECT_TRUE(contains(failure.what(), "no answer")) << failure.what();
}

TEST(over, a_program_that_prints_its_words_has_no_place) {
  const error failure = refusal_of(over("echo"));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure.what(), "the program has printed")) << failure.what();
}

TEST(over, a_terminal_in_the_place_is_refused) {
  COFFERDAM_NEEDS("script", ::access("/usr/bin/script", X_OK) == 0, "a terminal made by script(1)");
  const error failure = refusal_of(through("exec script -qec \"exec sh -c '$3'\" /dev/null"));
  EXPECT_EQ(failure.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(failure.what(), "terminal")) << failure.what();
}

TEST(over, a_place_that_echoes_its_input_is_refused) {
  const error failure = refusal_of(through("echo cofferdam 42 ready x86_64; head -n 1; echo cofferdam 42 place"));
  EXPECT_EQ(failure.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(failure.what(), "terminal")) << failure.what();
}

TEST(over, a_hang_at_connect_ends_at_the_time_limit) {
  const auto begin = std::chrono::steady_clock::now();
  over recipe = through("echo waiting >&2; exec sleep 1000");
  const error failure = refusal_of(recipe.connect_timeout(200ms));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure.what(), "200 ms: waiting")) << failure.what();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

TEST(over, a_place_that_stops_after_its_answer_ends_at_the_time_limit) {
  over recipe = through("echo cofferdam 42 ready x86_64; exec sleep 1000");
  const error failure = refusal_of(recipe.connect_timeout(200ms));
  EXPECT_TRUE(contains(failure.what(), "within 200 ms")) << failure.what();
}

TEST(over, another_kind_of_machine_is_named) {
  temporary_folder bin;
  bin.write("uname", "#!/bin/sh\necho riscv64\n", 0755);
  const error failure = refusal_of(over("env", "PATH=" + bin.path().string() + ":/usr/bin:/bin"));
  EXPECT_EQ(failure.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(failure.what(), "riscv64")) << failure.what();
}

TEST(over, a_folder_that_cannot_take_the_warden_is_named) {
  over recipe("env");
  const error failure = refusal_of(recipe.warden_folder("/cofferdam/absent"));
  EXPECT_EQ(failure.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(failure.what(), "/cofferdam/absent does not exist; set one with warden_folder"))
      << failure.what();
}

TEST(over, a_folder_that_was_tried_twice_is_named_once) {
  const error failure =
      refusal_of(through("echo cofferdam 42 ready x86_64; read a; read b; read c; read d; "
                         "echo 'cofferdam 42 folder /tmp is full, /tmp is full, /run is full, '"));
  EXPECT_TRUE(contains(failure.what(), "executing: /tmp is full, /run is full; set one")) << failure.what();
}

TEST(over, a_workspace_that_cannot_be_made_is_named) {
  over recipe("env");
  const error failure = refusal_of(recipe.workspace("/dev/null/inside"));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure.what(), "/dev/null/inside")) << failure.what();
}

bool has_mounts() { return ::system("unshare -rm true 2>/dev/null || unshare -m true 2>/dev/null") == 0; }

/// Returns a place in a mount namespace of its own, in which `mounts` has run first.
over with_mounts(const std::string& mounts) {
  const std::string flags = ::geteuid() == 0 ? "-m" : "-rm";
  return over("unshare", flags, "sh", "-c", mounts + " && exec \"$@\"", "sh");
}

TEST(over, a_folder_that_allows_no_executing_is_named_or_passed_over) {
  COFFERDAM_NEEDS("unshare", has_mounts(), "a /tmp without the right to execute");
  over refused = with_mounts("mount -t tmpfs -o noexec none /tmp");
  const error failure = refusal_of(refused.warden_folder("/tmp"));
  EXPECT_EQ(failure.code(), exec_errc::unsupported);
  EXPECT_TRUE(contains(failure.what(), "/tmp allows no executing")) << failure.what();
  const over passed = with_mounts("mount -t tmpfs -o noexec none /tmp && unset TMPDIR");
  EXPECT_TRUE(result_of(passed, shell("pwd")).out().text().starts_with("/var/tmp/"));
}

TEST(over, a_full_folder_is_named) {
  COFFERDAM_NEEDS("unshare", has_mounts(), "a full folder");
  over recipe = with_mounts("mount -t tmpfs -o size=16k none /tmp");
  const error failure = refusal_of(recipe.warden_folder("/tmp"));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure.what(), "may be full")) << failure.what();
}

TEST(over, a_place_without_tmp_uses_another_folder) {
  COFFERDAM_NEEDS("bwrap", ::system("bwrap --ro-bind / / true 2>/dev/null") == 0, "a place that is read-only");
  const over recipe("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unsetenv", "TMPDIR", "--");
  EXPECT_TRUE(result_of(recipe, shell("pwd")).out().text().starts_with("/dev/shm/"));
}

TEST(over, a_host_that_looks_like_an_option_is_refused) {
  EXPECT_EQ(code_of([] { over_ssh("-oProxyCommand=touch x"); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { over_ssh(""); }), exec_errc::invalid_argument);
}

TEST(over, a_cancelled_open_ends_the_program) {
  temporary_folder folder;
  const over recipe = through("echo $$ > '" + (folder / "pid").string() + "'; exec sleep 1000");
  cofferdam_test::driven<over_environment> opening(recipe.open());
  while (!folder.has("pid") || folder.read("pid").empty()) {
    opening.context().poll();
    std::this_thread::sleep_for(1ms);
  }
  opening.cancel();
  opening.run_to_end();
  EXPECT_EQ(code_of([&] { opening.result(); }), exec_errc::cancelled);
  EXPECT_TRUE(ends(static_cast<pid_t>(std::stol(folder.read("pid")))));
}

// ---- the end ----

TEST(over, a_killed_program_loses_the_environment_with_the_output_so_far) {
  temporary_folder folder;
  const std::string pid_file = (folder / "pid").string();
  std::string workspace;
  run([&]() -> awaitable<void> {
    auto body = [&](over_environment& env) -> awaitable<void> {
      workspace = env.workspace();
      const auto program = static_cast<pid_t>(std::stol(folder.read("pid")));
      process running =
          co_await env.start(shell("echo begun >> '" + pid_file + ".count'; echo begun; exec sleep 1000"));
      output_chunk first = co_await running.read();
      EXPECT_EQ(as_text(first.data()), "begun\n");
      EXPECT_FALSE(env.is_lost());
      ::kill(program, SIGKILL);
      std::optional<error> failure;
      try {
        co_await running.wait();
      } catch (const error& reason) {
        failure = reason;
      }
      EXPECT_TRUE(failure.has_value());
      if (!failure) co_return;
      EXPECT_EQ(failure->code(), exec_errc::provider_lost);
      EXPECT_TRUE(contains(failure->what(), "was ended by signal 9")) << failure->what();
      EXPECT_NE(failure->partial(), nullptr);
      EXPECT_TRUE(env.is_lost());
      const auto again = [&] { return env.run_command(shell("true")); };
      std::error_code code;
      try {
        co_await again();
      } catch (const error& reason) {
        code = reason.code();
      }
      EXPECT_EQ(code, exec_errc::provider_lost);
    };
    // The program that is killed is a relay, as ssh is.
    co_await with(through("echo $$ > '" + pid_file + "'; exec 3<&0; \"$@\" <&3 & exec sleep 1000 >/dev/null 3<&-"),
                  body);
  });
  EXPECT_EQ(folder.read("pid.count"), "begun\n") << "a command must not be repeated";
  EXPECT_TRUE(vanishes(std::filesystem::path(workspace).parent_path()));
}

TEST(over, an_environment_that_is_destroyed_without_close_leaves_nothing) {
  std::string workspace;
  pid_t guest = 0;
  run([&]() -> awaitable<void> {
    over_environment env = co_await over("env").open();
    workspace = env.workspace();
    process running = co_await env.start(shell("echo $$; trap '' TERM; while :; do sleep 1; done"));
    output_chunk first = co_await running.read();
    guest = static_cast<pid_t>(std::stol(std::string(as_text(first.data()))));
  });
  EXPECT_TRUE(ends(guest));
  EXPECT_TRUE(vanishes(std::filesystem::path(workspace).parent_path()));
}

/// A program that ends by neither the end of its input nor SIGTERM.
struct stubborn_program {
  std::shared_ptr<over_program> program;
  pid_t pid;
};

awaitable<stubborn_program> start_stubborn_program() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::vector<std::string> words{"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done"};
  const auto program = over_program::start(executor, std::move(words));
  std::array<std::byte, 64> piece;
  const std::size_t got = co_await over_program::read_some(program, std::span(piece));
  program->answered();
  co_return stubborn_program{program,
                             static_cast<pid_t>(std::stol(std::string(as_text(bytes_view(piece.data(), got)))))};
}

TEST(over, an_end_under_way_kills_the_program_soon_if_the_environment_is_destroyed) {
  run([]() -> awaitable<void> {
    const stubborn_program stubborn = co_await start_stubborn_program();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer destruction(executor, 20ms);
    destruction.async_wait([program = stubborn.program](std::error_code) { program->abandon(); });
    const auto begun = std::chrono::steady_clock::now();
    co_await over_program::end(stubborn.program, 100s);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 50s);
    EXPECT_TRUE(ends(stubborn.pid));
  });
}

TEST(over, a_killed_host_leaves_nothing) {
  temporary_folder folder;
  const std::string told = cofferdam_test::in_forked_host([&]() -> std::string {
    run([&]() -> awaitable<void> {
      over_environment env = co_await over("env").open();
      process running = co_await env.start(shell("setsid sh -c 'pwd; echo $$; exec sleep 1000'"));
      std::string text;
      while (text.find('\n') == text.rfind('\n')) {
        output_chunk piece = co_await running.read();
        text += as_text(piece.data());
      }
      folder.write("guest", text);
      ::raise(SIGKILL);
    });
    return "survived";
  });
  EXPECT_EQ(told, "died of signal 9");
  const std::string text = folder.read("guest");
  const std::string workspace = text.substr(0, text.find('\n'));
  EXPECT_TRUE(ends(static_cast<pid_t>(std::stol(text.substr(workspace.size() + 1)))));
  EXPECT_TRUE(vanishes(std::filesystem::path(workspace).parent_path()));
}

TEST(over, a_program_that_ignores_the_end_of_its_input_and_sigterm_is_killed) {
  run([]() -> awaitable<void> {
    const stubborn_program stubborn = co_await start_stubborn_program();
    co_await over_program::end(stubborn.program, 50ms);
    EXPECT_TRUE(ends(stubborn.pid));
  });
}

TEST(over, a_warden_without_messages_ends_everything_after_the_lease) {
  temporary_folder folder;
  const std::string file = (folder / "relay").string();
  run([&]() -> awaitable<void> {
    over recipe = through("sh -c 'echo $$ > " + file + "; exec cat' | \"$@\"");
    over_environment env = co_await recipe.lease(1s).open();
    const auto relay = static_cast<pid_t>(std::stol(folder.read("relay")));
    process running = co_await env.start(shell("echo $$; exec sleep 1000"));
    output_chunk first = co_await running.read();
    const auto guest = static_cast<pid_t>(std::stol(std::string(as_text(first.data()))));
    ::kill(relay, SIGSTOP);  // as if the network had failed without a notice
    std::error_code code;
    std::string text;
    try {
      co_await running.wait();
    } catch (const error& reason) {
      code = reason.code();
      text = reason.what();
    }
    EXPECT_EQ(code, exec_errc::provider_lost);
    EXPECT_TRUE(contains(text, "nothing has come from the place through sh for 1 s (lease())")) << text;
    EXPECT_TRUE(ends(guest));
    ::kill(relay, SIGCONT);
    co_await env.close();
  });
}

// ---- a real OpenSSH server, which ends with the test: later tests of this program expect to have no children ----

TEST(over_ssh, commands_run_on_the_host_and_nothing_stays) {
  COFFERDAM_NEEDS("openssh-server", cofferdam_test::has_ssh_server(), "`over` with a real ssh");
  const ssh_server server;
  std::string workspace;
  run([&]() -> awaitable<void> {
    auto body = [&](over_environment& env) -> awaitable<void> {
      workspace = env.workspace();
      command_result result =
          co_await env.run_command(shell("echo \"it's ${SSH_CONNECTION-apart}\"; seq 1 50000 | wc -l"));
      EXPECT_EQ(result.out().text(), "it's apart\n50000\n");
    };
    over recipe(server.client_words());
    co_await with(recipe, body);
  });
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(workspace).parent_path()));
}

TEST(over_ssh, a_terminal_is_refused) {
  COFFERDAM_NEEDS("openssh-server", cofferdam_test::has_ssh_server(), "`over` with a real ssh -tt");
  const ssh_server server;
  std::vector<std::string> words = server.client_words();
  words.insert(words.begin() + 1, "-tt");
  const error failure = refusal_of(over(words));
  EXPECT_EQ(failure.code(), exec_errc::unsupported) << failure.what();
}

TEST(over_ssh, a_refused_login_gives_the_reason_of_ssh) {
  COFFERDAM_NEEDS("openssh-server", cofferdam_test::has_ssh_server(), "`over` with a real ssh");
  const ssh_server server;
  std::vector<std::string> words = server.client_words();
  words[4] = "/dev/null";
  const error failure = refusal_of(over(words));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_TRUE(contains(failure.what(), "ssh exited with status 255")) << failure.what();
  EXPECT_TRUE(contains(failure.what(), "Permission denied")) << failure.what();
}

TEST(over_ssh, a_killed_connection_ends_the_commands_on_the_host) {
  COFFERDAM_NEEDS("openssh-server", cofferdam_test::has_ssh_server(), "`over` with a real ssh");
  const ssh_server server;
  std::string workspace;
  run([&]() -> awaitable<void> {
    over_environment env = co_await over(server.client_words()).open();
    workspace = env.workspace();
    process running = co_await env.start(shell("echo $$; exec sleep 1000"));
    output_chunk first = co_await running.read();
    const auto guest = static_cast<pid_t>(std::stol(std::string(as_text(first.data()))));
    for (const cofferdam_test::process_entry& each : cofferdam_test::process_table())
      if (each.name == "ssh" && each.parent == ::getpid()) ::kill(each.pid, SIGKILL);
    std::error_code code;
    try {
      co_await running.wait();
    } catch (const error& reason) {
      code = reason.code();
    }
    EXPECT_EQ(code, exec_errc::provider_lost);
    EXPECT_TRUE(ends(guest));
    co_await env.close();
  });
  EXPECT_TRUE(vanishes(std::filesystem::path(workspace).parent_path()));
}

}  // namespace over_tests
