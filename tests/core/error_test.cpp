// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace {

using cofferdam::command_result;
using cofferdam::error;
using cofferdam::exec_errc;

static_assert(std::is_error_code_enum_v<exec_errc>);
static_assert(!std::is_error_condition_enum_v<exec_errc>);
static_assert(std::is_base_of_v<std::system_error, error>);
static_assert(std::is_nothrow_copy_constructible_v<error>);
static_assert(std::is_nothrow_copy_assignable_v<error>);

constexpr exec_errc every_errc[] = {exec_errc::invalid_argument,
                                    exec_errc::cancelled,
                                    exec_errc::environment_closed,
                                    exec_errc::provider_lost,
                                    exec_errc::provider_failed,
                                    exec_errc::unsupported,
                                    exec_errc::not_found,
                                    exec_errc::not_a_file,
                                    exec_errc::not_a_directory,
                                    exec_errc::already_exists,
                                    exec_errc::not_empty,
                                    exec_errc::outside_workspace,
                                    exec_errc::permission_denied,
                                    exec_errc::too_large,
                                    exec_errc::collision,
                                    exec_errc::io_error,
                                    exec_errc::deadlock,
                                    exec_errc::unavailable,
                                    exec_errc::busy};

TEST(Errc, each_has_a_message_of_its_own) {
  std::set<std::string> messages;
  for (const exec_errc value : every_errc) {
    const std::error_code code = value;
    EXPECT_NE(code.message(), "unknown cofferdam error");
    EXPECT_NE(code.message(), "");
    messages.insert(code.message());
  }
  EXPECT_EQ(messages.size(), std::size(every_errc));
}

TEST(Errc, there_is_none_that_this_test_forgot) {
  for (int value = -1; value <= static_cast<int>(std::size(every_errc)) + 1; ++value) {
    const bool is_known = value >= 1 && value <= static_cast<int>(std::size(every_errc));
    EXPECT_EQ(cofferdam::error_category().message(value) != "unknown cofferdam error", is_known) << value;
  }
}

TEST(Errc, every_value_is_an_error) {
  for (const exec_errc value : every_errc) EXPECT_TRUE(std::error_code(value));
}

TEST(Errc, an_error_code_compares_with_it) {
  const std::error_code code = exec_errc::not_found;
  EXPECT_EQ(code, exec_errc::not_found);
  EXPECT_NE(code, exec_errc::io_error);
  EXPECT_NE(code, std::error_code(static_cast<int>(exec_errc::not_found), std::system_category()));
  EXPECT_EQ(std::string_view(code.category().name()), "cofferdam");
  EXPECT_EQ(&code.category(), &cofferdam::error_category());
}

TEST(Error, it_is_caught_as_a_system_error_with_its_sentence) {
  try {
    throw error(exec_errc::not_found, "read_file: there is no \"a.txt\"",
                std::make_error_code(std::errc::no_such_file_or_directory));
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), exec_errc::not_found);
    EXPECT_STREQ(e.what(), "read_file: there is no \"a.txt\"");
    return;
  }
  FAIL();
}

TEST(Error, the_cause_is_the_code_underneath) {
  EXPECT_FALSE(error(exec_errc::io_error, "x").cause());
  const error full(exec_errc::io_error, "x", std::make_error_code(std::errc::no_space_on_device));
  EXPECT_EQ(full.cause(), std::errc::no_space_on_device);
  EXPECT_EQ(full.code(), exec_errc::io_error);
}

TEST(Error, copies_share_one_sentence_that_outlives_the_first) {
  auto first = std::make_unique<error>(exec_errc::io_error, "a sentence longer than any small string buffer holds");
  const error copy = *first;
  EXPECT_EQ(static_cast<const void*>(copy.what()), static_cast<const void*>(first->what()));
  first.reset();
  EXPECT_STREQ(copy.what(), "a sentence longer than any small string buffer holds");
}

TEST(Error, the_sentence_survives_an_exception_pointer) {
  const std::exception_ptr held = std::make_exception_ptr(error(exec_errc::provider_lost, "gone"));
  try {
    std::rethrow_exception(held);
  } catch (const error& e) {
    EXPECT_STREQ(e.what(), "gone");
    EXPECT_EQ(e.code(), exec_errc::provider_lost);
  }
}

TEST(Error, what_had_arrived_travels_with_it) {
  const error plain(exec_errc::cancelled, "stopped", std::make_error_code(std::errc::operation_canceled));
  EXPECT_EQ(plain.partial(), nullptr);
  const error full = plain.with_partial(std::make_shared<const command_result>(command_result::exited(5)));
  ASSERT_NE(full.partial(), nullptr);
  EXPECT_EQ(full.partial()->exit_code(), 5);
  EXPECT_STREQ(full.what(), "stopped");
  EXPECT_EQ(full.code(), exec_errc::cancelled);
  EXPECT_EQ(full.cause(), std::errc::operation_canceled);
  EXPECT_EQ(plain.partial(), nullptr) << "the first stays as it was";
}

}  // namespace
