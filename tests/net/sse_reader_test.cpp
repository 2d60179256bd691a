// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/net/sse_reader.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::detail::sse_event;
using cofferdam::detail::sse_reader;

/// Reads `text` in pieces of `size` bytes. Returns `type:data|` for each event.
std::string read(std::string_view text, std::size_t size = 1000) {
  sse_reader reader;
  std::string events;
  const auto each = [&events](const sse_event& event) {
    events += event.type() + ":" + event.data() + (event.id().empty() ? "" : "#" + event.id()) + "|";
  };
  for (std::size_t at = 0; at < text.size(); at += size) reader.feed(text.substr(at, size), each);
  reader.finish(each);
  return events;
}

TEST(SseReader, reads_events_with_every_end_of_line) {
  EXPECT_EQ(read("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n"), "message:a|message:b|message:c|message:d|");
}

TEST(SseReader, joins_data_lines_and_passes_over_what_it_does_not_know) {
  EXPECT_EQ(read("event: e\nid: 7\n: comment\nretry: 5\nx: y\ndata:one\ndata:  two\ndata\n\n"), "e:one\n two\n#7|");
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "data: a\n\n"),
            "message:a|");
  EXPECT_EQ(read("event: only\n\n\n\n: nothing\n\n"), "");
}

TEST(SseReader, yields_an_event_that_the_stream_cut_short) {
  EXPECT_EQ(read("data: a\n"), "message:a|");
  EXPECT_EQ(read("data: a"), "message:a|");
}

TEST(SseReader, does_not_depend_on_how_the_stream_is_cut) {
  const std::string text = "data: a\r\n\r\nevent: b\rdata: c\rdata: d\r\r: x\n\ndata: e\n\ndata: f";
  const std::string whole = read(text);
  for (std::size_t size = 1; size <= text.size(); ++size) EXPECT_EQ(read(text, size), whole) << size;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    sse_reader reader;
    std::string events;
    const auto each = [&events](const sse_event& event) { events += event.type() + ":" + event.data() + "|"; };
    reader.feed(std::string_view(text).substr(0, cut), each);
    reader.feed(std::string_view(text).substr(cut), each);
    reader.finish(each);
    EXPECT_EQ(events, whole) << cut;
  }
}

TEST(SseReader, an_event_longer_than_the_limit_is_an_error) {
  for (const std::string_view text : {"data: 0123456789", "data: 0123\ndata: 4567\ndata: 89"}) {
    sse_reader reader(12);
    EXPECT_EQ(cofferdam_test::code_of([&] { reader.feed(text, [](const sse_event&) {}); }), exec_errc::too_large);
  }
}

}  // namespace
