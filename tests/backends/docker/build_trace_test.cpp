// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/build_trace.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/base64.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using cofferdam::as_text;
using cofferdam::detail::base64_decode;
using cofferdam::docker::progress_event;
using cofferdam::docker::detail::build_trace;

std::string decoded(std::string_view text) { return std::string(as_text(*base64_decode(text))); }

std::string field(unsigned number, std::string_view content) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(content.size()) + std::string(content);
}
std::string field(unsigned number, char value) { return std::string(1, static_cast<char>(number << 3)) + value; }

// Messages of a build, as sent by Docker 20.10.
const std::string queued = decoded(
    "Cm8KR3NoYTI1Njo5ZmZmYjYxNzcyMWYyODJmMTJiNTNjY2ExN2UxYzEwM2U4N2UyMWZmNDhhZjU1ZGFkNjE5ZjZmMjY0NDc5MzY0GiRbaW50ZXJu"
    "YWxdIGxvYWQgcmVtb3RlIGJ1aWxkIGNvbnRleHQ=");
const std::string started = decoded(
    "Cn0KR3NoYTI1Njo5ZmZmYjYxNzcyMWYyODJmMTJiNTNjY2ExN2UxYzEwM2U4N2UyMWZmNDhhZjU1ZGFkNjE5ZjZmMjY0NDc5MzY0GiRbaW50ZXJu"
    "YWxdIGxvYWQgcmVtb3RlIGJ1aWxkIGNvbnRleHQqDAips47YBhDzgJq0Aw==");
const std::string printed = decoded(
    "GmMKR3NoYTI1Njo5NGVjYmE5NWZlZDVkM2ZkNDM2MDc3ZDg4NjkwMjQzMGUyYzJjODNhNTRiMjc2NmFkMWM1MTc4OGYxZjFmNWViEgwIqrOO2AYQ"
    "8JHpkQIYASIIcHJpbnRlZAo=");

TEST(BuildTrace, a_step_is_told_once_when_it_begins) {
  build_trace trace;
  EXPECT_TRUE(trace.read(queued).empty());
  const std::vector<progress_event> events = trace.read(started);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].what(), progress_event::kind::output);
  EXPECT_EQ(events[0].text(), "[internal] load remote build context\n");
  EXPECT_TRUE(trace.read(started).empty());
}

TEST(BuildTrace, what_a_step_prints_comes_as_utf8) {
  build_trace trace;
  const std::vector<progress_event> events = trace.read(printed);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text(), "printed\n");
  const std::vector<progress_event> broken = trace.read(field(3, field(4,
                                                                       "a\xff"
                                                                       "b")));
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].text(),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(BuildTrace, cached_and_failed_steps_and_downloads_are_told) {
  build_trace trace;
  const std::string cached = field(1, field(1, "d1") + field(3, "RUN x") + field(4, '\1'));
  EXPECT_EQ(trace.read(cached).at(0).text(), "RUN x (cached)\n");
  const std::string failed = field(1, field(1, "d2") + field(3, "RUN y") + field(5, "") + field(7, "exit code: 1"));
  const std::vector<progress_event> events = trace.read(failed + failed);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].text(), "RUN y: exit code: 1\n");
  const std::vector<progress_event> layer =
      trace.read(field(2, field(1, "sha256:1") + field(4, '\5') + field(5, '\7')));
  ASSERT_EQ(layer.size(), 1U);
  EXPECT_EQ(layer[0].what(), progress_event::kind::status);
  EXPECT_EQ(layer[0].id(), "sha256:1");
  EXPECT_EQ(layer[0].current(), 5U);
  EXPECT_EQ(layer[0].total(), 7U);
}

TEST(BuildTrace, what_is_cut_or_no_protobuf_ends_quietly) {
  for (const std::string& message :
       {queued, started, printed, std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        std::string("\x0a\xff\xff\xff\xff\x0f"), std::string("\x0b\x0c")})
    for (std::size_t end = 0; end <= message.size(); ++end) {
      build_trace trace;
      EXPECT_LE(trace.read(std::string_view(message).substr(0, end)).size(), 1U);
    }
}

}  // namespace
