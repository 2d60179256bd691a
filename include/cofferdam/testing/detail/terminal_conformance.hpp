// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/testing/detail/conformance_base.hpp>
#include <cofferdam/testing/detail/streaming_conformance.hpp>

#include <chrono>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of terminals, for backends that support them.
template <class Backend>
class terminal_conformance : public detail::conformance<Backend> {};
TYPED_TEST_SUITE_P(terminal_conformance);

TYPED_TEST_P(terminal_conformance, a_command_gets_a_terminal_of_the_size_that_was_asked_for) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(
        shell("test -t 0 && test -t 1 && test -t 2 && stty size && test -w /dev/tty && echo controlling")
            .terminal(33, 121));
    EXPECT_EQ(result.out().text(), "33 121\r\ncontrolling\r\n");
    EXPECT_TRUE(result.ok());
  });
}

TYPED_TEST_P(terminal_conformance, without_one_there_is_none) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("test -t 0 || test -t 1 || test -t 2 || echo none"));
    EXPECT_EQ(result.out().text(), "none\n");
  });
}

TYPED_TEST_P(terminal_conformance, both_outputs_are_the_terminals) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("echo out; echo err >&2; exit 3").terminal(24, 80));
    EXPECT_EQ(result.out().text(), "out\r\nerr\r\n");
    EXPECT_EQ(result.err().text(), "");
    EXPECT_EQ(result.exit_code(), 3);
  });
}

TYPED_TEST_P(terminal_conformance, its_input_is_at_its_end_where_none_was_given) {
  this->with([](auto& env) -> awaitable<void> {
    command_result none = co_await env.run_command(shell("cat; echo over").terminal(24, 80));
    EXPECT_NE(none.out().text().find("over"), std::string::npos);
    command_result line = co_await env.run_command(shell("stty -echo; cat; echo over").terminal(24, 80).input("a\nb"));
    EXPECT_NE(line.out().text().find("over"), std::string::npos);
    EXPECT_TRUE(line.ok());
  });
}

TYPED_TEST_P(terminal_conformance, what_is_typed_is_echoed_and_read) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(shell("echo ready; read a; echo got:$a; cat").terminal(24, 80).open_input());
    std::string ready = co_await detail::read_until(running, "ready");
    EXPECT_NE(ready.find("ready"), std::string::npos);
    co_await running.write_input(as_bytes("typed\n"));
    std::string seen = co_await detail::read_until(running, "got:typed\r\n");
    EXPECT_NE(seen.find("typed\r\n"), std::string::npos) << seen;
    EXPECT_NE(seen.find("got:typed\r\n"), std::string::npos) << seen;
    co_await running.close_input();
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok()) << result.exit_code() << " " << result.term_signal() << " " << result.reason();
  });
}

TYPED_TEST_P(terminal_conformance, control_c_reaches_the_foreground) {
  this->with([](auto& env) -> awaitable<void> {
    process running =
        co_await env.start(shell("trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.05; done")
                               .terminal(24, 80)
                               .open_input());
    std::string ready = co_await detail::read_until(running, "ready");
    EXPECT_NE(ready.find("ready"), std::string::npos);
    co_await running.write_input(as_bytes("\x03"));
    command_result result = co_await running.wait();
    EXPECT_NE(result.out().text().find("caught"), std::string::npos) << result.out().text();
    EXPECT_TRUE(result.ok());
  });
}

TYPED_TEST_P(terminal_conformance, another_size_is_told) {
  this->with([](auto& env) -> awaitable<void> {
    process running = co_await env.start(
        shell("trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.01; done").terminal(24, 80));
    std::string ready = co_await detail::read_until(running, "ready");
    EXPECT_NE(ready.find("ready"), std::string::npos);
    co_await running.resize(50, 132);
    command_result result = co_await running.wait();
    EXPECT_NE(result.out().text().find("50 132"), std::string::npos) << result.out().text();
    co_await running.resize(10, 10);  // the command has ended, so the call does nothing
  });
}

TYPED_TEST_P(terminal_conformance, sizes_of_zero_and_pipes_are_refused) {
  this->with([](auto& env) -> awaitable<void> {
    co_await detail::expect_error([&env] { return env.run_command(shell("true").terminal(0, 80)); },
                                  exec_errc::invalid_argument, "terminal of no rows");
    process running = co_await env.start(shell("sleep 60"));
    co_await detail::expect_error([&running] { return running.resize(24, 0); }, exec_errc::invalid_argument,
                                  "no columns");
    co_await detail::expect_error([&running] { return running.resize(24, 80); }, exec_errc::unsupported, "no terminal");
  });
}

TYPED_TEST_P(terminal_conformance, a_lot_of_output_arrives_whole) {
  this->with([](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("stty -onlcr; seq 1 50000").terminal(24, 80));
    EXPECT_EQ(result.out().total(), 288894U);
    EXPECT_TRUE(result.ok());
  });
}

TYPED_TEST_P(terminal_conformance, what_is_left_behind_on_it_does_not_keep_the_result) {
  this->with([](auto& env) -> awaitable<void> {
    const std::string line = "trap '' HUP; sleep 60 & echo done";
    command_result result = co_await env.run_command(shell(line).terminal(24, 80));
    EXPECT_NE(result.out().text().find("done"), std::string::npos);
    EXPECT_LT(result.duration(), std::chrono::seconds(20));
    EXPECT_TRUE(result.ok());
  });
}

REGISTER_TYPED_TEST_SUITE_P(terminal_conformance, a_command_gets_a_terminal_of_the_size_that_was_asked_for,
                            without_one_there_is_none, both_outputs_are_the_terminals,
                            its_input_is_at_its_end_where_none_was_given, what_is_typed_is_echoed_and_read,
                            control_c_reaches_the_foreground, another_size_is_told, sizes_of_zero_and_pipes_are_refused,
                            a_lot_of_output_arrives_whole, what_is_left_behind_on_it_does_not_keep_the_result);

// Some test programs do not instantiate this suite, because their backend does not support terminals.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(terminal_conformance);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
