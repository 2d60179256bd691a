// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/e2b/file_metadata.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using cofferdam::exec_errc;
using cofferdam::e2b::file_metadata;
using cofferdam_test::code_of;

TEST(E2bFileMetadata, keys_are_kept_in_lower_case_and_a_later_text_replaces_an_earlier_one) {
  file_metadata notes;
  EXPECT_TRUE(notes.empty());
  notes.add("Author", "me").add("x-1", "").add("author", "you");
  EXPECT_EQ(notes.all().size(), 2U);
  ASSERT_NE(notes.find("author"), nullptr);
  EXPECT_EQ(*notes.find("author"), "you");
  EXPECT_EQ(*notes.find("x-1"), "");
  EXPECT_EQ(notes.find("Author"), nullptr);
}

TEST(E2bFileMetadata, what_a_header_could_not_carry_is_refused) {
  for (const std::string& key : {std::string(), std::string("a b"), std::string("a:b"), std::string("a\n"),
                                 std::string("\xc3\xa4"), std::string("a/b"), std::string(247, 'a')})
    EXPECT_EQ(code_of([&] { file_metadata().add(key, "x"); }), exec_errc::invalid_argument) << key;
  for (const std::string value : {"a\r\nX-Evil: 1", "a\tb", "\xc3\xa4", " a", "a ", "\x7f"})
    EXPECT_EQ(code_of([&] { file_metadata().add("key", value); }), exec_errc::invalid_argument) << value;
  EXPECT_NO_THROW(file_metadata().add(std::string(246, 'a'), "x"));
}

TEST(E2bFileMetadata, all_texts_together_have_at_most_4096_bytes) {
  file_metadata notes;
  notes.add("a", std::string(4095, 'x'));
  EXPECT_EQ(code_of([&] { notes.add("b", ""); }), exec_errc::too_large);
  EXPECT_EQ(code_of([&] { notes.add("a", std::string(4096, 'x')); }), exec_errc::too_large);
  EXPECT_NO_THROW(notes.add("a", "y"));  // it replaces the long one
  EXPECT_NO_THROW(notes.add("b", std::string(4093, 'x')));
}

}  // namespace
