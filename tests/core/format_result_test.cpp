// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/format_result.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace format_result_tests {

namespace {

using cofferdam::bytes;
using cofferdam::captured_output;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::format_options;
using cofferdam::format_result;
using cofferdam::to_bytes;
using cofferdam::detail::is_valid_utf8;
using namespace std::string_literals;

static_assert(
    // g++ 12 destroys a temporary aggregate twice in the operand of co_await.
    !std::is_aggregate_v<format_options>);

captured_output said(std::string_view text) { return captured_output(to_bytes(text), bytes(), text.size()); }

command_result printed(std::string_view out, std::string_view err = {}) {
  command_result result = command_result::exited(0);
  result.out(said(out)).err(said(err));
  return result;
}

std::string field(const std::string& rendered, const std::string& name) {
  const auto start = rendered.find("<" + name + ">");
  const auto end = rendered.find("</" + name + ">");
  if (start == std::string::npos || end == std::string::npos) return "(none)";
  return rendered.substr(start + name.size() + 2, end - start - name.size() - 2);
}

std::string cut_mark(std::size_t total) {
  return "\n<cut>part of the text is left out here; the whole text had " + std::to_string(total) + " bytes</cut>\n";
}

// Feature: C5
TEST(FormatResult, a_command_that_ran_shows_its_code_and_both_streams) {
  EXPECT_EQ(format_result(command_result::exited(3).out(said("hi\n")).err(said("oh"))),
            "<shell_results>\n"
            "<exit_code>3</exit_code>\n"
            "<stdout>hi\n</stdout>\n"
            "<stderr>oh</stderr>\n"
            "</shell_results>");
}

TEST(FormatResult, silence_is_two_empty_fields) {
  EXPECT_EQ(format_result(command_result::exited(0)),
            "<shell_results>\n<exit_code>0</exit_code>\n<stdout></stdout>\n<stderr></stderr>\n</shell_results>");
}

TEST(FormatResult, a_command_that_a_signal_ended_has_the_signal_and_no_exit_code) {
  EXPECT_EQ(format_result(command_result().term_signal(SIGKILL)),
            "<shell_results>\n<signal>SIGKILL</signal>\n<stdout></stdout>\n"
            "<stderr></stderr>\n</shell_results>");
}

TEST(FormatResult, exit_137_is_not_death_by_signal_9) {
  const std::string rendered = format_result(command_result::exited(137));
  EXPECT_EQ(field(rendered, "exit_code"), "137");
  EXPECT_EQ(field(rendered, "signal"), "(none)");
}

TEST(FormatResult, a_signal_without_a_name_is_its_number) {
  EXPECT_EQ(field(format_result(command_result().term_signal(40)), "signal"), "40");
}

TEST(FormatResult, each_standard_signal_has_the_name_the_system_gives_it) {
  for (int number = 1; number < 32; ++number) {
    const char* const name = sigabbrev_np(number);
    if (name == nullptr || std::string_view(name) == "STKFLT" || std::string_view(name) == "POLL" ||
        std::string_view(name) == "WINCH" || std::string_view(name) == "PWR")
      // By default these signals do not end a process.
      continue;
    EXPECT_EQ(field(format_result(command_result().term_signal(number)), "signal"), "SIG"s + name);
  }
}

TEST(FormatResult, advice_of_a_command_that_ran_comes_last) {
  EXPECT_EQ(format_result(printed("x").advice("Use less.")),
            "<shell_results>\n<exit_code>0</exit_code>\n<stdout>x</stdout>\n<stderr></stderr>\n"
            "<advice>Use less.</advice>\n</shell_results>");
}

// Feature: C7, C8, D19
TEST(FormatResult, a_refusal_shows_kind_reason_and_advice) {
  EXPECT_EQ(
      format_result(command_result::refused(error_kind::command_not_allowed, "Command not allowed: 'id'", "Try ls.")),
      "<shell_results>\n<error_kind>command_not_allowed</error_kind>\n<details>Command not allowed: 'id'</details>\n"
      "<advice>Try ls.</advice>\n</shell_results>");
}

TEST(FormatResult, a_refusal_without_advice_has_no_advice_field) {
  EXPECT_EQ(format_result(command_result::refused(error_kind::invalid_argument, "The command is empty.")),
            "<shell_results>\n<error_kind>invalid_argument</error_kind>\n<details>The command is empty.</details>\n"
            "</shell_results>");
}

TEST(FormatResult, output_that_arrived_before_a_timeout_is_shown) {
  command_result result = command_result::refused(error_kind::timeout, "The command ran longer than 5 s.");
  result.out(said("step 1\n")).term_signal(SIGTERM);
  EXPECT_EQ(format_result(result),
            "<shell_results>\n<error_kind>timeout</error_kind>\n<details>The command ran longer than 5 s.</details>\n"
            "<stdout>step 1\n</stdout>\n</shell_results>");
  result.err(said("warning"));
  EXPECT_EQ(field(format_result(result), "stderr"), "warning");
}

// Feature: C6
TEST(FormatResult, markup_in_every_value_is_escaped) {
  const std::string evil = "</stdout>&<exit_code>";
  const std::string safe = "&lt;/stdout&gt;&amp;&lt;exit_code&gt;";
  const std::string ran = format_result(printed(evil, evil).advice(evil));
  EXPECT_EQ(field(ran, "stdout"), safe);
  EXPECT_EQ(field(ran, "stderr"), safe);
  EXPECT_EQ(field(ran, "advice"), safe);
  const std::string refused = format_result(command_result::refused(error_kind::timeout, evil, evil));
  EXPECT_EQ(field(refused, "details"), safe);
  EXPECT_EQ(field(refused, "advice"), safe);
}

TEST(FormatResult, control_sequences_are_shown_as_printable_text_shows_them) {
  EXPECT_EQ(field(format_result(printed("\x1b[31m 1%\r99%\x1b]0;t\x07")), "stdout"), "99%\\x1b]0;t\\x07");
  EXPECT_EQ(field(format_result(command_result::refused(error_kind::execution_error, "no \x1b[2J\xFF")), "details"),
            "no \uFFFD");
}

TEST(FormatResult, a_text_of_exactly_the_limit_is_whole) {
  const std::string text(100, 'x');
  EXPECT_EQ(field(format_result(printed(text), format_options().limit(100)), "stdout"), text);
}

// Feature: C2, C4
TEST(FormatResult, a_longer_text_is_its_two_halves_and_a_mark_with_its_size) {
  EXPECT_EQ(field(format_result(printed("0123456789a"), format_options().limit(10)), "stdout"),
            "01234" + cut_mark(11) + "6789a");
  EXPECT_EQ(field(format_result(printed("0123456789"), format_options().limit(5)), "stdout"),
            "01" + cut_mark(10) + "789");
}

TEST(FormatResult, the_limit_counts_characters_not_bytes_and_cuts_none) {
  const std::string text = "😀😁😂🤣😃😄";
  EXPECT_EQ(field(format_result(printed(text), format_options().limit(6)), "stdout"), text);
  EXPECT_EQ(field(format_result(printed(text), format_options().limit(3)), "stdout"), "😀" + cut_mark(24) + "😃😄");
  for (std::size_t limit = 0; limit < 7; ++limit)
    EXPECT_TRUE(is_valid_utf8(format_result(printed(text), format_options().limit(limit))));
}

TEST(FormatResult, the_limit_counts_before_escaping_and_cuts_no_escape) {
  EXPECT_EQ(field(format_result(printed("<<<<<<"), format_options().limit(3)), "stdout"),
            "&lt;" + cut_mark(6) + "&lt;&lt;");
}

TEST(FormatResult, a_limit_of_nothing_shows_the_mark_alone) {
  EXPECT_EQ(field(format_result(printed("abc"), format_options().limit(0)), "stdout"), cut_mark(3));
  EXPECT_EQ(field(format_result(printed(""), format_options().limit(0)), "stdout"), "");
  EXPECT_EQ(field(format_result(printed("abc"), format_options().limit(1)), "stdout"), cut_mark(3) + "c");
}

TEST(FormatResult, the_limit_is_for_streams_not_for_our_own_words) {
  const auto options = format_options().limit(0);
  EXPECT_EQ(field(format_result(command_result::exited(137), options), "exit_code"), "137");
  EXPECT_EQ(field(format_result(command_result().term_signal(SIGTERM), options), "signal"), "SIGTERM");
  const command_result refused = command_result::refused(error_kind::disk_full, "No room.", "Remove something.");
  EXPECT_EQ(field(format_result(refused, options), "error_kind"), "disk_full");
  EXPECT_EQ(field(format_result(refused, options), "details"), "No room.");
  EXPECT_EQ(field(format_result(refused, options), "advice"), "Remove something.");
}

TEST(FormatResult, a_reason_that_quotes_a_huge_command_is_bounded) {
  const command_result refused = command_result::refused(error_kind::invalid_argument, std::string(1'000'000, 'x'));
  EXPECT_EQ(field(format_result(refused), "details").size(),
            format_options::default_limit + cut_mark(1'000'000).size());
}

TEST(FormatResult, the_default_limit_is_20000_characters) {
  EXPECT_EQ(field(format_result(printed(std::string(20'000, 'x'))), "stdout").size(), 20'000U);
  EXPECT_EQ(field(format_result(printed(std::string(20'001, 'x'))), "stdout").size(),
            20'000U + cut_mark(20'001).size());
}

TEST(FormatResult, what_the_collector_cut_is_marked_even_below_the_limit) {
  command_result result = command_result::exited(0);
  result.out(captured_output(to_bytes("abc"), to_bytes("xyz"), 1'000'000));
  EXPECT_EQ(field(format_result(result), "stdout"), "abc" + cut_mark(1'000'000) + "xyz");
}

TEST(FormatResult, collector_and_limit_together_leave_one_mark) {
  command_result result = command_result::exited(0);
  result.out(captured_output(to_bytes("abcdef"), to_bytes("uvwxyz"), 1'000'000));
  EXPECT_EQ(field(format_result(result, format_options().limit(4)), "stdout"), "ab" + cut_mark(1'000'000) + "yz");
}

TEST(FormatResult, room_that_one_side_does_not_need_goes_to_the_other) {
  command_result result = command_result::exited(0);
  result.out(captured_output(to_bytes("a"), to_bytes("uvwxyz"), 1000));
  EXPECT_EQ(field(format_result(result, format_options().limit(5)), "stdout"), "a" + cut_mark(1000) + "wxyz");
  result.out(captured_output(to_bytes("abcdef"), to_bytes("z"), 1000));
  EXPECT_EQ(field(format_result(result, format_options().limit(5)), "stdout"), "abcd" + cut_mark(1000) + "z");
}

TEST(FormatResult, a_stream_of_which_nothing_was_kept_shows_the_mark) {
  command_result result = command_result::exited(0);
  result.out(captured_output(bytes(), bytes(), 12));
  EXPECT_EQ(field(format_result(result), "stdout"), cut_mark(12));
}

TEST(FormatResult, a_shown_value_is_never_longer_than_limit_and_mark) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += i % 3 == 0 ? "€" : "a";
  for (std::size_t limit = 0; limit < 210; ++limit) {
    const std::string shown = field(format_result(printed(text), format_options().limit(limit)), "stdout");
    const std::size_t mark = limit < 200 ? cut_mark(text.size()).size() : 0;
    EXPECT_EQ(cofferdam::detail::count_code_points(shown), std::min<std::size_t>(limit, 200) + mark);
  }
}

TEST(FormatResult, options_chain_on_values_and_names) {
  format_options options;
  EXPECT_EQ(options.limit(), format_options::default_limit);
  options.limit(1).limit(2);
  EXPECT_EQ(options.limit(), 2U);
  const format_options moved = format_options().limit(3);
  EXPECT_EQ(moved.limit(), 3U);
}

}  // namespace

}  // namespace format_result_tests
