// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the parser of the frames and reports that the Python driver (the program that runs code in the sandbox)
// sends. The tests run no driver.

#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/driver_report.hpp>

#include "support/error_of.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam::code_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::detail::driver_frame;
using cofferdam::detail::driver_frame_of;
using cofferdam::detail::driver_frames;
using cofferdam::detail::driver_greeting;
using cofferdam_test::code_of;

boost::json::object object(const char* text) { return boost::json::parse(text).get_object(); }

std::string speech() {
  std::string bytes_sent = "noise" + std::string(driver_greeting);
  bytes_sent += as_text(driver_frame_of(object(R"({"t":"ready"})"), ""));
  bytes_sent += as_text(driver_frame_of(object(R"({"t":"out","id":1})"), std::string("\0\xff body", 7)));
  bytes_sent += as_text(driver_frame_of(object("{}"), ""));
  return bytes_sent;
}

std::string read_all(driver_frames& frames) {
  std::string collected;
  while (const std::optional<driver_frame> received = frames.next())
    collected += boost::json::serialize(received->header) + "[" + std::string(as_text(received->body)) + "]";
  return collected;
}

code_result end_of(const char* header, const std::string& body, bool context = false) {
  return cofferdam::detail::read_end(object(header), as_bytes(body), {}, context);
}

}  // namespace

TEST(DriverFrames, come_out_as_they_went_in_however_they_are_cut) {
  const std::string bytes_sent = speech();
  const std::string expected = R"({"t":"ready"}[]{"t":"out","id":1}[)" + std::string("\0\xff body", 7) + "]{}[]";
  driver_frames whole(1000);
  whole.append(as_bytes(bytes_sent));
  EXPECT_EQ(read_all(whole), expected);
  driver_frames bytewise(1000);
  std::string collected;
  for (const char c : bytes_sent) {
    bytewise.append(as_bytes(std::string_view(&c, 1)));
    collected += read_all(bytewise);
  }
  EXPECT_EQ(collected, expected);
  for (std::size_t cut = 0; cut <= bytes_sent.size(); ++cut) {
    driver_frames two(1000);
    two.append(as_bytes(std::string_view(bytes_sent).substr(0, cut)));
    std::string parts = read_all(two);
    two.append(as_bytes(std::string_view(bytes_sent).substr(cut)));
    parts += read_all(two);
    EXPECT_EQ(parts, expected) << cut;
  }
}

TEST(DriverFrames, what_cannot_be_one_is_an_error) {
  const std::string greeting(driver_greeting);
  const std::vector<std::string> bad = {
      greeting + std::string("\0\0\0\3\0\0\0\0", 8),       // the frame is too short for the length of its header
      greeting + std::string("\0\0\0\x08\0\0\0\5{}", 10),  // the header is longer than the frame
      greeting + std::string("\xff\xff\xff\xff\0\0\0\0", 8),
      greeting + std::string("\0\0\x10\0\0\0\0\2", 8),  // the frame is longer than the limit
      greeting + std::string("\0\0\0\x06\0\0\0\2[]", 10),
      greeting + std::string("\0\0\0\x06\0\0\0\2{x", 10),
      greeting + std::string("\0\0\0\4\0\0\0\0", 8),
      std::string(70'000, 'x'),
  };
  for (const std::string& text : bad) {
    driver_frames frames(1000);
    frames.append(as_bytes(text));
    EXPECT_EQ(code_of([&] { static_cast<void>(frames.next()); }), exec_errc::io_error);
  }
}

TEST(DriverFrames, a_header_with_many_members_is_refused_but_not_one_with_many_values) {
  boost::json::object header;
  boost::json::array names;
  for (int i = 0; i < 5000; ++i) names.emplace_back(std::to_string(i));
  header["names"] = names;
  const std::string greeting(driver_greeting);
  driver_frames frames(1024 * 1024);
  frames.append(as_bytes(greeting));
  frames.append(driver_frame_of(header, {}));
  const std::optional<driver_frame> frame = frames.next();
  EXPECT_EQ(frame.value().header, header);
  for (int i = 0; i < 1000; ++i) header[std::to_string(i)] = i;
  frames.append(driver_frame_of(header, {}));
  EXPECT_EQ(code_of([&] { static_cast<void>(frames.next()); }), exec_errc::io_error);
}

TEST(DriverReport, the_end_of_a_run_is_a_result) {
  const code_result result = end_of(
      R"({"exit":3,"signal":null,"reason":null,"problem":null,"us":5,"files_whole":true,"pieces":[2,1,1,0],"totals":[9,1],)"
      R"("files":[{"path":"a","size":3,"new":true},{"path64":"/w==","size":-1,"new":false},5]})",
      R"(abzc{"exit":3,"value":{"$f":"0.5"},"value_exact":true,"text":"0.5"})");
  EXPECT_EQ(result.exit_code(), 3);
  EXPECT_EQ(as_text(result.out().head()), "ab");
  EXPECT_EQ(as_text(result.out().tail()), "z");
  EXPECT_EQ(result.out().total(), 9U);
  EXPECT_EQ(as_text(result.err().head()), "c");
  EXPECT_EQ(result.value()->get_double(), 0.5);
  EXPECT_TRUE(result.value_is_exact());
  EXPECT_EQ(result.files().size(), 2U);
  EXPECT_EQ(result.files()[1].path(), "\xff");
  EXPECT_EQ(result.files()[1].size(), 0U);
}

TEST(DriverReport, the_process_says_more_than_the_run_has_said) {
  const code_result forged = end_of(R"({"exit":7})", R"({"exit":0,"ok":true})");
  EXPECT_EQ(forged.exit_code(), 7);
  EXPECT_FALSE(forged.ok());
  const code_result killed = end_of(R"({"signal":9})", R"({"exit":0,"ok":true})");
  EXPECT_EQ(killed.term_signal(), 9);
  EXPECT_FALSE(killed.ok());
  const code_result late = end_of(R"({"signal":9,"reason":"timeout"})", R"({"exit":0,"value":1})");
  EXPECT_EQ(late.kind(), error_kind::timeout);
  EXPECT_TRUE(late.value());
  const code_result context = end_of(R"({"exit":0,"alive":true})", R"({"exit":5})", true);
  EXPECT_EQ(context.exit_code(), 5);
  EXPECT_FALSE(context.context_lost());
}

TEST(DriverReport, a_report_that_makes_no_sense_is_told) {
  for (const std::string body : {"x", "[]", "{", R"({"value":{"$f":"x"}})", R"({"value":[{"$f":1}]})"}) {
    const code_result result = end_of(R"({"exit":0})", body);
    EXPECT_EQ(result.kind(), error_kind::execution_error) << body;
    EXPECT_FALSE(result.ok());
  }
  EXPECT_EQ(end_of(R"({"exit":0})", std::string(600, '[')).kind(), error_kind::execution_error);
  const code_result odd =
      end_of(R"({"exit":"x","signal":[],"us":"","files":{},"pieces":["a",-5,99999999999],"totals":5,"problem":7})",
             R"({"error":{"type":5,"message":null,"line":"x"},"final":[],"text":1})");
  EXPECT_TRUE(odd.out().head().empty());
  EXPECT_FALSE(odd.final_value());
}

TEST(DriverReport, displays_hold_what_is_text) {
  const auto good =
      cofferdam::detail::read_display(as_bytes(std::string_view(R"({"forms":{"a/b":"c","d":5},"value":true})")));
  ASSERT_TRUE(good);
  EXPECT_EQ(good->forms().size(), 2U);
  EXPECT_TRUE(good->is_value());
  EXPECT_FALSE(cofferdam::detail::read_display(as_bytes(std::string_view("{}"))));
  EXPECT_FALSE(cofferdam::detail::read_display(as_bytes(std::string_view("x"))));
}
