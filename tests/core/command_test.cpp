// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>

#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace command_tests {

namespace {

using cofferdam::argv;
using cofferdam::as_text;
using cofferdam::command;
using cofferdam::exec_errc;
using cofferdam::no_timeout;
using cofferdam::shell;
using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace std::string_view_literals;
using words = std::vector<std::string>;

static_assert(!std::is_aggregate_v<command>);
static_assert(std::copyable<command> && std::default_initializable<command>);
static_assert(std::is_nothrow_move_constructible_v<command>);
static_assert(std::same_as<decltype(shell("x").timeout(1s)), command>);

template <class T>
concept converts_to_a_command = requires(T value, void (*take)(command)) { take(value); };
static_assert(converts_to_a_command<const char*> && converts_to_a_command<std::string>);
static_assert(converts_to_a_command<std::string_view> && converts_to_a_command<char[3]>);
static_assert(!converts_to_a_command<std::nullptr_t> && !converts_to_a_command<int> && !converts_to_a_command<words>);
// A braced list of two words must not convert to a command. std::string would take it for a pair of iterators.
template <class T>
concept converts_from_words = requires(void (*take)(T)) {
  take({"ls", "-l"});
} || requires(void (*take)(T)) {
  take({{"ls", "-l"}});
};
static_assert(!converts_from_words<command> && converts_from_words<std::string>);
static_assert(std::same_as<decltype(std::declval<command&>().timeout(1s)), command&>);

template <class... Words>
concept makes_a_command = requires(Words... words) { argv(words...); };
static_assert(makes_a_command<const char*, std::string>);
static_assert(makes_a_command<words>);
static_assert(!makes_a_command<words, words>);
static_assert(!makes_a_command<int, int>);
// There is no implicit conversion from a view, because the view may not outlive its text.
static_assert(!makes_a_command<std::string_view>);
static_assert(!makes_a_command<>);

template <class F>
exec_errc thrown_by(F f) {
  try {
    f();
  } catch (const cofferdam::error& e) {
    EXPECT_NE(std::string_view(e.what()), "");
    return static_cast<exec_errc>(e.code().value());
  }
  return exec_errc{};
}

TEST(Command, a_shell_line_is_kept_as_it_is) {
  const command c = shell("ls | wc -l\n");
  EXPECT_TRUE(c.is_shell());
  EXPECT_EQ(c.line(), "ls | wc -l\n");
  EXPECT_TRUE(c.words().empty());
}

TEST(Command, a_string_is_a_line_for_the_shell) {
  const auto line_of = [](const command& c) { return c.is_shell() ? c.line() : "no line"; };
  EXPECT_EQ(line_of("ls | wc -l"), "ls | wc -l");
  EXPECT_EQ(line_of("ls"s), "ls");
  EXPECT_EQ(line_of("ls -l"sv.substr(0, 2)), "ls");
}

TEST(Command, quoted_text_is_one_word) {
  EXPECT_EQ(cofferdam::shell_quote("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(cofferdam::shell_quote(""), "''");
}

TEST(Command, words_are_kept_as_they_are) {
  const command c = argv("ls", "-l"s, std::string("a b"));
  EXPECT_FALSE(c.is_shell());
  EXPECT_EQ(c.words(), (words{"ls", "-l", "a b"}));
  EXPECT_EQ(c.line(), "");
}

TEST(Command, words_can_be_a_list_made_at_run_time) {
  words list{"echo", ""};
  EXPECT_EQ(argv(list).words(), list);
  EXPECT_EQ(argv(std::move(list)).words(), (words{"echo", ""}));
}

// g++ 12 rejects a std::initializer_list of strings in an awaited expression ("array used as initializer"), so argv
// takes another type.
TEST(Command, words_in_braces_can_stand_in_an_awaited_expression) {
  const auto words_of = [](command c) -> cofferdam::awaitable<words> { co_return c.words(); };
  const std::string name = "a file whose name is longer than what a string holds in itself";
  cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
    const words several = co_await words_of(argv({"ls", "-l", name}));
    EXPECT_EQ(several, (words{"ls", "-l", name}));
    const words single = co_await words_of(argv({"true"}));
    EXPECT_EQ(single, words{"true"});
    const words copied = co_await words_of(argv(several));
    EXPECT_EQ(copied, several);
  });
  EXPECT_EQ(argv({name, name}).words(), (words{name, name}));
  EXPECT_TRUE(argv({}).words().empty());
}

TEST(Command, one_word_is_a_word_not_a_list) { EXPECT_EQ(argv("true").words(), words{"true"}); }

TEST(Command, nothing_is_set_until_it_is_said) {
  const command c = shell("true");
  EXPECT_FALSE(c.timeout().has_value());
  EXPECT_EQ(c.working_directory(), ".");
  EXPECT_TRUE(c.variables().empty());
  EXPECT_FALSE(c.input().has_value());
  EXPECT_FALSE(c.has_open_input());
  EXPECT_FALSE(c.kept_output().has_value());
}

TEST(Command, setters_chain_on_a_temporary) {
  const command c =
      shell("make").timeout(10s).working_directory("src").variable("A", "1").input("text").keep_output(7).open_input();
  EXPECT_EQ(c.line(), "make");
  EXPECT_EQ(c.timeout(), 10s);
  EXPECT_EQ(c.working_directory(), "src");
  ASSERT_EQ(c.variables().size(), 1U);
  EXPECT_EQ(c.variables()[0].name(), "A");
  EXPECT_EQ(c.variables()[0].value(), "1");
  EXPECT_EQ(as_text(c.input().value()), "text");
  EXPECT_EQ(c.kept_output(), 7U);
  EXPECT_TRUE(c.has_open_input());
}

TEST(Command, setters_chain_on_a_named_command) {
  command c = shell("make");
  c.timeout(1s).working_directory("a").variable("X", "y").keep_output(0).open_input();
  EXPECT_EQ(c.timeout(), 1s);
  EXPECT_EQ(c.working_directory(), "a");
  EXPECT_EQ(c.kept_output(), 0U);
  c.input(cofferdam::to_bytes("raw"));
  EXPECT_EQ(as_text(c.input().value()), "raw");
}

TEST(Command, a_copy_is_independent) {
  const command first = shell("a").variable("X", "1");
  command second = first;
  second.variable("X", "2").timeout(1s);
  EXPECT_EQ(first.variables()[0].value(), "1");
  EXPECT_FALSE(first.timeout().has_value());
}

TEST(Command, a_timeout_that_is_no_time_is_refused) {
  EXPECT_EQ(thrown_by([] { static_cast<void>(shell("x").timeout(0ms)); }), exec_errc::invalid_argument);
  EXPECT_EQ(thrown_by([] { static_cast<void>(shell("x").timeout(-1ms)); }), exec_errc::invalid_argument);
  EXPECT_EQ(thrown_by([] { static_cast<void>(shell("x").timeout(std::chrono::milliseconds::min())); }),
            exec_errc::invalid_argument);
  EXPECT_EQ(thrown_by([] { shell("x").shorten_timeout(0ms); }), exec_errc::invalid_argument);
}

TEST(Command, a_refused_timeout_leaves_the_old_one) {
  command c = shell("x").timeout(5s);
  EXPECT_EQ(thrown_by([&] { c.timeout(0ms); }), exec_errc::invalid_argument);
  EXPECT_EQ(c.timeout(), 5s);
}

TEST(Command, no_timeout_is_a_timeout_that_was_said) {
  EXPECT_EQ(shell("x").timeout(no_timeout).timeout(), no_timeout);
}

TEST(Command, shortening_sets_lowers_and_never_lengthens) {
  command c = shell("x");
  c.shorten_timeout(10s);
  EXPECT_EQ(c.timeout(), 10s);
  c.shorten_timeout(20s);
  EXPECT_EQ(c.timeout(), 10s);
  c.shorten_timeout(5s);
  EXPECT_EQ(c.timeout(), 5s);
  command endless = shell("x").timeout(no_timeout);
  endless.shorten_timeout(3s);
  EXPECT_EQ(endless.timeout(), 3s);
}

TEST(Command, reducing_kept_output_sets_lowers_and_never_raises) {
  command c = shell("x");
  c.reduce_kept_output(100);
  EXPECT_EQ(c.kept_output(), 100U);
  c.reduce_kept_output(200);
  EXPECT_EQ(c.kept_output(), 100U);
  c.reduce_kept_output(0);
  EXPECT_EQ(c.kept_output(), 0U);
}

TEST(Command, a_variable_set_twice_has_the_second_value_and_its_first_place) {
  const command c = shell("x").variable("A", "1").variable("B", "2").variable("A", "3");
  ASSERT_EQ(c.variables().size(), 2U);
  EXPECT_EQ(c.variables()[0].name(), "A");
  EXPECT_EQ(c.variables()[0].value(), "3");
  EXPECT_EQ(c.variables()[1].name(), "B");
}

TEST(Command, a_variable_name_that_cannot_be_one_is_refused) {
  for (const std::string& name : {""s, "A=B"s, "="s, "A\0B"s, "A\nB"s, "A\rB"s})
    EXPECT_EQ(thrown_by([&] { static_cast<void>(shell("x").variable(name, "v")); }), exec_errc::invalid_argument)
        << ::testing::PrintToString(name);
}

TEST(Command, a_variable_value_may_hold_anything_but_nul) {
  EXPECT_EQ(shell("x").variable("A", "=\n\xFF").variables()[0].value(), "=\n\xFF");
  EXPECT_EQ(thrown_by([] { static_cast<void>(shell("x").variable("A", "a\0b"s)); }), exec_errc::invalid_argument);
}

TEST(Command, a_variable_longer_than_linux_allows_is_refused) {
  // The limit includes the terminating NUL.
  const std::size_t longest = command::max_string - 1 - "A="s.size();
  EXPECT_EQ(thrown_by([&] { static_cast<void>(shell("x").variable("A", std::string(longest, 'x'))); }), exec_errc{});
  EXPECT_EQ(thrown_by([&] { static_cast<void>(shell("x").variable("A", std::string(longest + 1, 'x'))); }),
            exec_errc::too_large);
}

TEST(Command, a_user_that_cannot_be_one_is_refused) {
  EXPECT_EQ(shell("x").user(), "");
  command c = shell("x").user("root");
  EXPECT_EQ(c.user(), "root");
  for (const auto& name : {""s, "a:b"s, "a\nb"s, "a\0b"s, "a\x7f"s})
    EXPECT_EQ(thrown_by([&] { c.user(name); }), exec_errc::invalid_argument) << name;
  EXPECT_EQ(c.user(), "root");
}

TEST(Command, a_label_has_only_characters_that_a_url_needs_not_encode) {
  EXPECT_EQ(shell("x").label(), "");
  command c = shell("x").label("Install_2.b-c~");
  EXPECT_EQ(c.label(), "Install_2.b-c~");
  c.label(std::string(64, 'a'));
  for (const auto& text :
       {""s, "a b"s, "a:b"s, "a@b"s, "a%20"s, "a/b"s, "a\nb"s, "a\0b"s, "\xC3\xA4"s, std::string(65, 'a')})
    EXPECT_EQ(thrown_by([&] { c.label(text); }), exec_errc::invalid_argument) << text;
  EXPECT_EQ(c.label(), std::string(64, 'a'));
}

TEST(Command, empty_input_is_not_no_input) { EXPECT_TRUE(shell("x").input("").input().has_value()); }

}  // namespace

}  // namespace command_tests
