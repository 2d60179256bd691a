// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/testing/detail/conformance_base.hpp>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of `run_command`: results, input, output, settings and time limits.
template <class Backend>
class command_conformance : public detail::conformance<Backend> {};
TYPED_TEST_SUITE_P(command_conformance);

TYPED_TEST_P(command_conformance, a_command_that_succeeds_is_ok) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("true"));
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.exit_code(), 0);
    EXPECT_EQ(result.term_signal(), 0);
    EXPECT_EQ(result.kind(), error_kind::none);
    EXPECT_EQ(result.out().total(), 0U);
    EXPECT_EQ(result.err().total(), 0U);
    EXPECT_EQ(result.out().text(), "");
  });
}

TYPED_TEST_P(command_conformance, every_exit_code_arrives) {
  this->with([](auto& env) -> awaitable<void> {
    for (int code = 0; code < 256; ++code) {
      command_result result = co_await env.run_command(shell("exit " + std::to_string(code)));
      EXPECT_EQ(result.exit_code(), code);
      EXPECT_EQ(result.term_signal(), 0);
      EXPECT_EQ(result.kind(), error_kind::none);
      EXPECT_EQ(result.ok(), code == 0);
    }
  });
}

TYPED_TEST_P(command_conformance, every_deadly_signal_arrives) {
  this->with([](auto& env) -> awaitable<void> {
    // SIGQUIT is sent to a program other than the shell, because bash always ignores it.
    command_result quit = co_await env.run_command(shell("(sleep 0.1; kill -QUIT $$) & exec sleep 30"));
    EXPECT_EQ(quit.term_signal(), SIGQUIT);
    for (const int number :
         {SIGHUP,  SIGINT,  SIGILL,  SIGTRAP, SIGABRT, SIGBUS,    SIGFPE,  SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2,
          SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSYS}) {
      command_result result = co_await env.run_command(shell("kill -" + std::to_string(number) + " $$"));
      EXPECT_EQ(result.term_signal(), number);
      EXPECT_EQ(result.exit_code(), -1);
      EXPECT_EQ(result.kind(), error_kind::none);
      EXPECT_FALSE(result.ok());
    }
  });
}

TYPED_TEST_P(command_conformance, exit_137_is_not_death_by_signal_9_and_neither_is_a_timeout) {
  this->with([](auto& env) -> awaitable<void> {
    command_result by_exit = co_await env.run_command(shell("exit 137"));
    command_result by_signal = co_await env.run_command(shell("kill -9 $$"));
    command_result by_limit = co_await env.run_command(shell("sleep 60").timeout(std::chrono::milliseconds(200)));
    EXPECT_EQ(by_exit.exit_code(), 137);
    EXPECT_EQ(by_exit.term_signal(), 0);
    EXPECT_EQ(by_signal.term_signal(), 9);
    EXPECT_EQ(by_signal.kind(), error_kind::none);
    EXPECT_EQ(by_limit.kind(), error_kind::timeout);
  });
}

TYPED_TEST_P(command_conformance, the_two_outputs_stay_apart) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("echo to-out; echo to-err >&2"));
    EXPECT_EQ(result.out().text(), "to-out\n");
    EXPECT_EQ(result.err().text(), "to-err\n");
  });
}

TYPED_TEST_P(command_conformance, output_without_a_line_end_is_exact) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("printf 'no line end'"));
    EXPECT_EQ(result.out().text(), "no line end");
    EXPECT_EQ(result.out().total(), 11U);
  });
}

TYPED_TEST_P(command_conformance, every_byte_value_passes_through_output) {
  this->with([](auto& env) -> awaitable<void> {
    const std::string everything = detail::all_bytes();
    command_result result = co_await env.run_command(shell("cat").input(everything));
    EXPECT_EQ(as_text(result.out().head()), everything);
    EXPECT_TRUE(cofferdam::detail::is_valid_utf8(result.out().text()));
  });
}

TYPED_TEST_P(command_conformance, broken_utf8_is_repaired_in_the_text_and_kept_in_the_bytes) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("printf 'a\\377b\\303'"));
    EXPECT_EQ(as_text(result.out().head()),
              "a\xff"
              "b\xc3");
    EXPECT_EQ(result.out().text(),
              "a\xEF\xBF\xBD"
              "b\xEF\xBF\xBD");
    EXPECT_EQ(result.out().repairs(), 2U);
  });
}

TYPED_TEST_P(command_conformance, a_flood_of_output_is_counted_exactly_and_kept_in_part) {
  this->with([](auto& env) -> awaitable<void> {
    constexpr std::uint64_t size = 64ULL * 1024 * 1024;
    command_result result = co_await env.run_command(
        shell("echo start; head -c " + std::to_string(size) + " /dev/zero; echo end").keep_output(64 * 1024));
    EXPECT_EQ(result.out().total(), size + 10);
    EXPECT_TRUE(as_text(result.out().head()).starts_with("start\n"));
    EXPECT_TRUE(as_text(result.out().tail()).ends_with("end\n"));
    EXPECT_LE(result.out().head().size() + result.out().tail().size(), 64U * 1024U);
    EXPECT_GE(result.out().head().size() + result.out().tail().size(), 60U * 1024U);
  });
}

TYPED_TEST_P(command_conformance, the_default_cap_is_a_mebibyte_a_stream) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2"));
    EXPECT_EQ(result.out().total(), 3000000U);
    EXPECT_LE(result.out().head().size() + result.out().tail().size(), command::default_kept_output);
    EXPECT_EQ(result.out().cut(), 3000000U - result.out().head().size() - result.out().tail().size());
    EXPECT_EQ(result.err().total(), 10U);
    EXPECT_EQ(result.err().cut(), 0U);
  });
}

TYPED_TEST_P(command_conformance, keeping_nothing_still_counts) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("head -c 100000 /dev/zero").keep_output(0));
    EXPECT_EQ(result.out().total(), 100000U);
    EXPECT_TRUE(result.out().head().empty());
    EXPECT_TRUE(result.out().tail().empty());
  });
}

TYPED_TEST_P(command_conformance, a_mebibyte_on_both_outputs_at_once_is_exact) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(
        shell("for i in 1 2 3 4 5 6 7 8; do head -c 131072 /dev/zero; head -c 131072 /dev/zero >&2; done"));
    EXPECT_EQ(result.out().total(), 1048576U);
    EXPECT_EQ(result.err().total(), 1048576U);
    EXPECT_EQ(result.exit_code(), 0);
  });
}

TYPED_TEST_P(command_conformance, input_arrives_and_ends) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("cat; echo done").input("some input\n"));
    EXPECT_EQ(result.out().text(), "some input\ndone\n");
  });
}

TYPED_TEST_P(command_conformance, eight_mebibytes_of_input_arrive) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("wc -c").input(bytes(8 * 1024 * 1024)));
    EXPECT_EQ(std::atoi(result.out().text().c_str()), 8 * 1024 * 1024);
  });
}

TYPED_TEST_P(command_conformance, input_and_output_bigger_than_any_pipe_do_not_block_each_other) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("cat").input(bytes(4 * 1024 * 1024)).keep_output(0));
    EXPECT_EQ(result.out().total(), 4U * 1024U * 1024U);
  });
}

TYPED_TEST_P(command_conformance, input_that_nobody_reads_does_no_harm) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("exit 4").input(bytes(4 * 1024 * 1024)));
    EXPECT_EQ(result.exit_code(), 4);
  });
}

TYPED_TEST_P(command_conformance, empty_input_is_an_end_at_once) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("cat | wc -c").input(""));
    EXPECT_EQ(std::atoi(result.out().text().c_str()), 0);
  });
}

TYPED_TEST_P(command_conformance, a_command_without_input_does_not_wait_for_any) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("cat").timeout(std::chrono::seconds(30)));
    EXPECT_TRUE(result.ok());
  });
}

TYPED_TEST_P(command_conformance, the_standard_streams_can_be_opened_by_name) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(
        shell("cat < /dev/stdin > /dev/stdout; echo error > /dev/stderr; echo more | tee /dev/stderr")
            .input("input\n"));
    EXPECT_EQ(result.out().text(), "input\nmore\n");
    EXPECT_EQ(result.err().text(), "error\nmore\n");
  });
}

TYPED_TEST_P(command_conformance, variables_arrive_whatever_is_in_them) {
  this->with([](auto& env) -> awaitable<void> {
    for (const std::string value : {"plain", "", "two words", "a\nline", "'\"`$(id)\\", "\xC3\xA9", "=x="}) {
      command_result result =
          co_await env.run_command(shell("printf '%s' \"$COFFERDAM_V\"").variable("COFFERDAM_V", value));
      EXPECT_EQ(result.out().text(), value);
    }
  });
}

TYPED_TEST_P(command_conformance, a_variable_of_one_command_is_not_seen_by_the_next) {
  this->with([](auto& env) -> awaitable<void> {
    command_result first = co_await env.run_command(shell("true").variable("COFFERDAM_V", "x"));
    command_result second = co_await env.run_command(shell("printf '%s' \"${COFFERDAM_V-unset}\""));
    EXPECT_TRUE(first.ok());
    EXPECT_EQ(second.out().text(), "unset");
  });
}

TYPED_TEST_P(command_conformance, the_host_program_s_variables_do_not_leak) {
  ::setenv("COFFERDAM_HOST_SECRET", "leaked", 1);
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("env; cat /proc/self/environ 2>/dev/null | tr '\\0' '\\n'"));
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.out().text().find("leaked"), std::string::npos);
  });
  ::unsetenv("COFFERDAM_HOST_SECRET");
}

TYPED_TEST_P(command_conformance, path_home_and_tmpdir_are_usable) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result =
        co_await env.run_command(shell("test -n \"$PATH\" && cd \"$HOME\" && touch in-home && cd \"${TMPDIR:-/tmp}\" "
                                       "&& touch in-tmp.$$ && rm in-tmp.$$"));
    EXPECT_TRUE(result.ok()) << result.err().text();
  });
}

TYPED_TEST_P(command_conformance, a_command_starts_in_the_workspace) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "marker.txt", "here");
    command_result result = co_await env.run_command(shell("cat marker.txt"));
    EXPECT_EQ(result.out().text(), "here");
  });
}

TYPED_TEST_P(command_conformance, a_working_directory_is_relative_to_the_workspace) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "deep/er/marker.txt", "there");
    command_result result = co_await env.run_command(shell("cat marker.txt").working_directory("deep/er"));
    EXPECT_EQ(result.out().text(), "there");
  });
}

TYPED_TEST_P(command_conformance, a_wrong_working_directory_is_an_error_and_nothing_runs) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "file", "x");
    const auto in = [&env](std::string where) {
      return env.run_command(shell("touch /dev/null ran").working_directory(std::move(where)));
    };
    co_await detail::expect_error([&] { return in("missing"); }, exec_errc::not_found, "a missing directory");
    co_await detail::expect_error([&] { return in("file"); }, exec_errc::not_a_directory, "a file");
    co_await detail::expect_error([&] { return in(".."); }, exec_errc::outside_workspace, "the parent");
    co_await detail::expect_error([&] { return in("/"); }, exec_errc::outside_workspace, "an absolute path");
    const bool ran = co_await exists(env, "ran");
    EXPECT_FALSE(ran);
  });
}

TYPED_TEST_P(command_conformance, files_stay_from_one_command_to_the_next) {
  this->with([](auto& env) -> awaitable<void> {
    command_result first = co_await env.run_command(shell("echo kept > state"));
    command_result second = co_await env.run_command(shell("cat state"));
    EXPECT_TRUE(first.ok());
    EXPECT_EQ(second.out().text(), "kept\n");
  });
}

TYPED_TEST_P(command_conformance, words_arrive_exactly_and_no_shell_sees_them) {
  this->with([](auto& env) -> awaitable<void> {
    const std::vector<std::string> words{"printf",      "%s|",         "",         " ", "two words", "-x",
                                         "--",          "$(id)",       "`id`",     "*", "~",         "a'b\"c",
                                         "back\\slash", "line\nbreak", "\xC3\xA9", ";", "&&",        "#"};
    std::string expected;
    for (std::size_t i = 2; i < words.size(); ++i) expected += words[i] + "|";
    command_result result = co_await env.run_command(argv(words));
    EXPECT_EQ(result.out().text(), expected);
  });
}

TYPED_TEST_P(command_conformance, a_missing_program_is_an_execution_error_and_not_exit_127) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(argv("cofferdam-no-such-program"));
    EXPECT_EQ(result.kind(), error_kind::execution_error);
    EXPECT_EQ(result.exit_code(), -1);
    EXPECT_NE(result.reason(), "");
    EXPECT_NE(result.advice(), "");
    EXPECT_EQ(result.cause(), std::errc::no_such_file_or_directory);
  });
}

TYPED_TEST_P(command_conformance, what_cannot_be_executed_says_why) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "dir/plain", "text");
    co_await write_text(env, "bad", "#!/cofferdam/no/such/interpreter\n");
    command_result prepared =
        co_await env.run_command(shell("chmod 755 bad && printf '\\001\\002' > garbage && chmod 755 garbage"));
    EXPECT_TRUE(prepared.ok());
    command_result directory = co_await env.run_command(argv("./dir"));
    command_result no_x_bit = co_await env.run_command(argv("./dir/plain"));
    command_result no_interpreter = co_await env.run_command(argv("./bad"));
    command_result garbage = co_await env.run_command(argv("./garbage"));
    EXPECT_EQ(directory.cause(), std::errc::permission_denied);
    EXPECT_EQ(no_x_bit.cause(), std::errc::permission_denied);
    EXPECT_EQ(no_interpreter.cause(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(garbage.cause(), std::errc::executable_format_error);
    for (const command_result* result : {&directory, &no_x_bit, &no_interpreter, &garbage})
      EXPECT_EQ(result->kind(), error_kind::execution_error);
  });
}

TYPED_TEST_P(command_conformance, a_command_the_shell_does_not_find_exits_with_127) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("cofferdam-no-such-program"));
    EXPECT_EQ(result.exit_code(), 127);
    EXPECT_EQ(result.kind(), error_kind::none);
    EXPECT_NE(result.err().total(), 0U);
  });
}

TYPED_TEST_P(command_conformance, an_empty_command_is_an_invalid_argument) {
  this->with([](auto& env) -> awaitable<void> {
    command_result nothing = co_await env.run_command(command());
    command_result blank = co_await env.run_command(shell("  \n"));
    command_result no_words = co_await env.run_command(argv(std::vector<std::string>()));
    command_result empty_word = co_await env.run_command(argv(""));
    for (const command_result* result : {&nothing, &blank, &no_words, &empty_word})
      EXPECT_EQ(result->kind(), error_kind::invalid_argument);
  });
}

TYPED_TEST_P(command_conformance, a_nul_byte_is_an_invalid_argument) {
  this->with([](auto& env) -> awaitable<void> {
    command_result line = co_await env.run_command(shell(std::string("echo a\0b", 8)));
    command_result word = co_await env.run_command(argv("echo", std::string("a\0b", 3)));
    EXPECT_EQ(line.kind(), error_kind::invalid_argument);
    EXPECT_EQ(word.kind(), error_kind::invalid_argument);
  });
}

TYPED_TEST_P(command_conformance, a_long_line_runs_and_a_line_too_long_for_linux_is_refused) {
  this->with([](auto& env) -> awaitable<void> {
    command_result fits = co_await env.run_command(shell("printf '%s' '" + std::string(100'000, 'x') + "' | wc -c"));
    EXPECT_EQ(std::atoi(fits.out().text().c_str()), 100'000);
    command_result too_long = co_await env.run_command(shell("echo " + std::string(200'000, 'x')));
    EXPECT_EQ(too_long.kind(), error_kind::invalid_argument);
    EXPECT_NE(too_long.advice(), "");
  });
}

TYPED_TEST_P(command_conformance, a_line_that_begins_with_a_dash_is_a_line) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("-x"));
    EXPECT_EQ(result.exit_code(), 127);
  });
}

TYPED_TEST_P(command_conformance, the_shell_is_a_shell) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell(
        "x=$(printf '3\\n1\\n2\\n' | sort | head -n 1) && cat <<END && (exit 3) || echo \"$?\"\nfirst $x\nEND\n"));
    EXPECT_EQ(result.out().text(), "first 1\n3\n");
  });
}

TYPED_TEST_P(command_conformance, a_time_limit_ends_the_command_and_keeps_what_it_said) {
  this->with([](auto& env) -> awaitable<void> {
    const auto before = std::chrono::steady_clock::now();
    command_result result = co_await env.run_command(
        shell("echo before; echo also >&2; sleep 60; echo after").timeout(std::chrono::milliseconds(500)));
    const auto took = std::chrono::steady_clock::now() - before;
    EXPECT_EQ(result.kind(), error_kind::timeout);
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.out().text(), "before\n");
    EXPECT_EQ(result.err().text(), "also\n");
    EXPECT_NE(result.reason().find("0.5"), std::string::npos) << result.reason();
    EXPECT_GE(took, std::chrono::milliseconds(500));
    EXPECT_LT(took, std::chrono::seconds(20));
  });
}

TYPED_TEST_P(command_conformance, a_command_that_ignores_every_polite_signal_is_ended_all_the_same) {
  this->with([](auto& env) -> awaitable<void> {
    const auto before = std::chrono::steady_clock::now();
    command_result result = co_await env.run_command(
        shell("trap '' TERM INT HUP QUIT; while :; do sleep 0.05; done").timeout(std::chrono::milliseconds(300)));
    EXPECT_EQ(result.kind(), error_kind::timeout);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(30));
  });
}

TYPED_TEST_P(command_conformance, a_command_that_is_ended_may_still_say_goodbye) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result =
        co_await env.run_command(shell("trap 'echo goodbye; exit 0' TERM; while :; do sleep 0.02; done")
                                     .timeout(std::chrono::milliseconds(400)));
    EXPECT_EQ(result.kind(), error_kind::timeout);
    EXPECT_EQ(result.out().text(), "goodbye\n");
  });
}

TYPED_TEST_P(command_conformance, no_timeout_is_accepted) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("echo fine").timeout(no_timeout));
    EXPECT_TRUE(result.ok());
  });
}

TYPED_TEST_P(command_conformance, a_background_child_does_not_delay_the_result) {
  this->with([](auto& env) -> awaitable<void> {
    const auto before = std::chrono::steady_clock::now();
    command_result result = co_await env.run_command(shell("sleep 60 & echo done; exit 5"));
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
    EXPECT_EQ(result.exit_code(), 5);
    EXPECT_EQ(result.kind(), error_kind::none);
    EXPECT_EQ(result.out().text(), "done\n");
  });
}

TYPED_TEST_P(command_conformance, a_command_that_closes_its_outputs_is_waited_for) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("exec >&- 2>&-; sleep 0.2; exit 7"));
    EXPECT_EQ(result.exit_code(), 7);
    EXPECT_GE(result.duration(), std::chrono::milliseconds(200));
  });
}

TYPED_TEST_P(command_conformance, fifty_commands_at_once_do_not_mix) {
  this->with([](auto& env) -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    int done = 0;
    for (int i = 0; i < 50; ++i) {
      auto work = [&env, &done, i]() -> awaitable<void> {
        const std::string number = std::to_string(i);
        command_result result =
            co_await env.run_command(shell("echo " + number + "; sleep 0.05; echo " + number + "; exit " + number));
        EXPECT_EQ(result.out().text(), number + "\n" + number + "\n");
        EXPECT_EQ(result.exit_code(), i);
        ++done;
      };
      asio::co_spawn(executor, std::move(work), [&done](std::exception_ptr failure) {
        if (!failure) return;
        ++done;
        ADD_FAILURE() << "a command threw";
      });
    }
    while (done < 50) co_await detail::sleep_for(std::chrono::milliseconds(5));
  });
}

TYPED_TEST_P(command_conformance, a_command_has_descriptors_0_1_and_2_and_no_others) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result =
        co_await env.run_command(shell("for f in /proc/$$/fd/*; do [ -e \"$f\" ] && printf '%s ' \"${f##*/}\"; done"));
    EXPECT_EQ(result.out().text(), "0 1 2 ");
  });
}

TYPED_TEST_P(command_conformance, a_command_starts_with_a_clean_signal_state_and_umask) {
  this->with([](auto& env) -> awaitable<void> {
    command_result mask = co_await env.run_command(shell("umask"));
    EXPECT_EQ(mask.out().text(), "0022\n");
    // The command runs without a shell, because some shells change the handling of SIGQUIT.
    command_result result = co_await env.run_command(argv("grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"));
    EXPECT_EQ(result.out().text(), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  });
}

TYPED_TEST_P(command_conformance, a_result_says_how_long_it_took) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("sleep 0.2"));
    EXPECT_GE(result.duration(), std::chrono::milliseconds(200));
    EXPECT_LT(result.duration(), std::chrono::seconds(20));
  });
}

TYPED_TEST_P(command_conformance, open_input_needs_start) {
  this->with([](auto& env) -> awaitable<void> {
    co_await detail::expect_error([&env] { return env.run_command(shell("cat").open_input()); },
                                  exec_errc::invalid_argument, "run_command with an open input");
  });
}

TYPED_TEST_P(command_conformance, a_command_for_a_user_that_does_not_exist_does_not_run) {
  this->with([](auto& env) -> awaitable<void> {
    bool is_refused = false;
    try {
      const command_result result =
          co_await env.run_command(shell("echo ran > ran-as-user").user("cofferdam-has-no-such-user"));
      is_refused = !result.ok();
    } catch (const error&) {
      is_refused = true;
    }
    EXPECT_TRUE(is_refused) << "a command with an unknown user was not refused";
    const command_result found = co_await env.run_command(shell("[ -e ran-as-user ]"));
    EXPECT_EQ(found.exit_code(), 1);
  });
}

REGISTER_TYPED_TEST_SUITE_P(
    command_conformance, a_command_that_succeeds_is_ok, every_exit_code_arrives, every_deadly_signal_arrives,
    exit_137_is_not_death_by_signal_9_and_neither_is_a_timeout, the_two_outputs_stay_apart,
    output_without_a_line_end_is_exact, every_byte_value_passes_through_output,
    broken_utf8_is_repaired_in_the_text_and_kept_in_the_bytes, a_flood_of_output_is_counted_exactly_and_kept_in_part,
    the_default_cap_is_a_mebibyte_a_stream, keeping_nothing_still_counts, a_mebibyte_on_both_outputs_at_once_is_exact,
    input_arrives_and_ends, eight_mebibytes_of_input_arrive,
    input_and_output_bigger_than_any_pipe_do_not_block_each_other, input_that_nobody_reads_does_no_harm,
    empty_input_is_an_end_at_once, a_command_without_input_does_not_wait_for_any,
    the_standard_streams_can_be_opened_by_name, variables_arrive_whatever_is_in_them,
    a_variable_of_one_command_is_not_seen_by_the_next, the_host_program_s_variables_do_not_leak,
    path_home_and_tmpdir_are_usable, a_command_starts_in_the_workspace,
    a_working_directory_is_relative_to_the_workspace, a_wrong_working_directory_is_an_error_and_nothing_runs,
    files_stay_from_one_command_to_the_next, words_arrive_exactly_and_no_shell_sees_them,
    a_missing_program_is_an_execution_error_and_not_exit_127, what_cannot_be_executed_says_why,
    a_command_the_shell_does_not_find_exits_with_127, an_empty_command_is_an_invalid_argument,
    a_nul_byte_is_an_invalid_argument, a_long_line_runs_and_a_line_too_long_for_linux_is_refused,
    a_line_that_begins_with_a_dash_is_a_line, the_shell_is_a_shell,
    a_time_limit_ends_the_command_and_keeps_what_it_said,
    a_command_that_ignores_every_polite_signal_is_ended_all_the_same, a_command_that_is_ended_may_still_say_goodbye,
    no_timeout_is_accepted, a_background_child_does_not_delay_the_result,
    a_command_that_closes_its_outputs_is_waited_for, fifty_commands_at_once_do_not_mix,
    a_command_has_descriptors_0_1_and_2_and_no_others, a_command_starts_with_a_clean_signal_state_and_umask,
    a_result_says_how_long_it_took, open_input_needs_start, a_command_for_a_user_that_does_not_exist_does_not_run);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
