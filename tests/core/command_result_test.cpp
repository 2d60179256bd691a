// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/command_result.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace {

using cofferdam::captured_output;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::isolation_kind;
using cofferdam::isolation_report;
using cofferdam::to_bytes;
using cofferdam::to_string;
using namespace std::chrono_literals;

static_assert(!std::is_aggregate_v<command_result>);
// asio::co_spawn requires a default constructor.
static_assert(std::is_default_constructible_v<command_result>);
static_assert(std::is_nothrow_move_constructible_v<command_result>);

// Members of a temporary return values, because a reference would dangle. Members of a named result return
// references.
static_assert(std::same_as<decltype(std::declval<command_result>().out()), captured_output>);
static_assert(std::same_as<decltype(std::declval<command_result>().err()), captured_output>);
static_assert(std::same_as<decltype(std::declval<command_result>().reason()), std::string>);
static_assert(std::same_as<decltype(std::declval<command_result>().advice()), std::string>);
static_assert(std::same_as<decltype(std::declval<command_result>().isolation()), isolation_report>);
static_assert(std::same_as<decltype(std::declval<captured_output>().head()), cofferdam::bytes>);
static_assert(std::same_as<decltype(std::declval<command_result&>().out()), const captured_output&>);
static_assert(std::same_as<decltype(std::declval<const command_result&>().isolation()), const isolation_report&>);

TEST(CommandResult, what_is_read_from_a_temporary_outlives_it) {
  const auto make_result = [] {
    command_result result = command_result::refused(error_kind::timeout, std::string(100, 'r'), std::string(100, 'a'));
    result.out(captured_output(to_bytes(std::string(100, 'o')), cofferdam::bytes(), 100));
    return result;
  };
  const captured_output& out = make_result().out();
  const auto& head = make_result().out().head();
  const std::string& reason = make_result().reason();
  EXPECT_EQ(out.text(), std::string(100, 'o'));
  EXPECT_EQ(cofferdam::as_text(head), std::string(100, 'o'));
  EXPECT_EQ(reason, std::string(100, 'r'));
  EXPECT_EQ(make_result().isolation().of(isolation_kind::files), "none");
}

constexpr error_kind every_kind[] = {error_kind::none,
                                     error_kind::timeout,
                                     error_kind::command_not_allowed,
                                     error_kind::absolute_path_detected,
                                     error_kind::invalid_argument,
                                     error_kind::execution_error,
                                     error_kind::out_of_memory,
                                     error_kind::process_limit,
                                     error_kind::disk_full,
                                     error_kind::file_too_large,
                                     error_kind::processor_time_limit,
                                     error_kind::security_violation};

TEST(CommandResult, the_summary_is_one_line_for_every_end) {
  EXPECT_EQ(command_result().summary(), "not run");
  EXPECT_EQ(command_result::exited(0).summary(), "exit status 0");
  EXPECT_EQ(command_result::exited(3).summary(), "exit status 3");
  EXPECT_EQ(command_result().term_signal(SIGKILL).summary(), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(command_result().term_signal(SIGRTMIN).summary(), "killed by signal " + std::to_string(SIGRTMIN));
  EXPECT_EQ(command_result::refused(error_kind::timeout, "Command timed out after 2 seconds").summary(),
            "Command timed out after 2 seconds");
  EXPECT_EQ(command_result().term_signal(SIGKILL).kind(error_kind::out_of_memory).summary(), "out_of_memory");
  EXPECT_EQ(command_result::refused(error_kind::execution_error, "a\nb\tc\x1b[m").summary().find_first_of("\n\t\x1b"),
            std::string::npos);
  for (const error_kind kind : every_kind)
    EXPECT_FALSE(command_result::refused(kind, "").summary().empty()) << to_string(kind);
}

TEST(CommandResult, a_default_result_says_that_nothing_ran) {
  const command_result result;
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.exit_code(), -1);
  EXPECT_EQ(result.term_signal(), 0);
  EXPECT_EQ(result.kind(), error_kind::none);
  EXPECT_EQ(result.duration(), 0ns);
  EXPECT_FALSE(result.cpu_time().has_value());
  EXPECT_FALSE(result.peak_memory().has_value());
  EXPECT_FALSE(result.cause());
}

TEST(CommandResult, only_an_exit_with_zero_that_nothing_ended_is_ok) {
  EXPECT_TRUE(command_result::exited(0).ok());
  EXPECT_FALSE(command_result::exited(1).ok());
  EXPECT_FALSE(command_result::exited(255).ok());
  EXPECT_FALSE(command_result::exited(0).term_signal(SIGKILL).ok());
  EXPECT_FALSE(command_result::exited(0).kind(error_kind::disk_full).ok());
}

TEST(CommandResult, four_ways_to_137_are_four_results) {
  const command_result by_itself = command_result::exited(137);
  const command_result by_signal = command_result().term_signal(SIGKILL);
  const command_result by_memory = command_result().term_signal(SIGKILL).kind(error_kind::out_of_memory);
  const command_result by_time = command_result().term_signal(SIGKILL).kind(error_kind::timeout);
  std::set<std::pair<int, std::pair<int, error_kind>>> combinations;
  for (const command_result& result : {by_itself, by_signal, by_memory, by_time})
    combinations.insert({result.exit_code(), {result.term_signal(), result.kind()}});
  EXPECT_EQ(combinations.size(), 4U);
}

TEST(CommandResult, a_refusal_has_its_words_and_no_exit_code) {
  const command_result result = command_result::refused(error_kind::command_not_allowed, "No.", "Try ls.");
  EXPECT_EQ(result.kind(), error_kind::command_not_allowed);
  EXPECT_EQ(result.reason(), "No.");
  EXPECT_EQ(result.advice(), "Try ls.");
  EXPECT_EQ(result.exit_code(), -1);
  EXPECT_FALSE(result.ok());
}

TEST(CommandResult, setters_keep_what_they_are_given) {
  command_result result;
  result.exit_code(4)
      .reason("r")
      .advice("a")
      .cause(std::make_error_code(std::errc::no_such_file_or_directory))
      .out(captured_output(to_bytes("o"), {}, 1))
      .err(captured_output(to_bytes("e"), {}, 1))
      .duration(5ms)
      .cpu_time(6us)
      .peak_memory(7);
  EXPECT_EQ(result.exit_code(), 4);
  EXPECT_EQ(result.reason(), "r");
  EXPECT_EQ(result.advice(), "a");
  EXPECT_EQ(result.cause(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(result.out().text(), "o");
  EXPECT_EQ(result.err().text(), "e");
  EXPECT_EQ(result.duration(), 5ms);
  EXPECT_EQ(result.cpu_time(), 6us);
  EXPECT_EQ(result.peak_memory(), 7U);
}

TEST(CommandResult, walls_are_none_until_a_backend_says_so) {
  command_result result;
  EXPECT_EQ(result.isolation().of(isolation_kind::network), "none");
  auto standing = std::make_shared<isolation_report>();
  standing->set(isolation_kind::network, "no interface");
  result.isolation(standing);
  EXPECT_EQ(result.isolation().of(isolation_kind::network), "no interface");
  EXPECT_EQ(result.isolation().of(isolation_kind::memory), "none");
}

// Feature: C7
TEST(ErrorKind, each_has_a_word_of_its_own) {
  std::set<std::string_view> words;
  for (const error_kind kind : every_kind) {
    EXPECT_NE(to_string(kind), "unknown");
    words.insert(to_string(kind));
  }
  EXPECT_EQ(words.size(), std::size(every_kind));
  EXPECT_EQ(to_string(static_cast<error_kind>(static_cast<int>(error_kind::security_violation) + 1)), "unknown")
      << "a new kind belongs into every_kind";
}

}  // namespace
