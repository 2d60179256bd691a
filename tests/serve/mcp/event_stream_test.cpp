// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The events of a stream while no client reads them.

#include <cofferdam/serve/mcp/detail/event_stream.hpp>

#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mcp_event_stream_tests {

using cofferdam::mcp::detail::event_stream;
using cofferdam::mcp::detail::unread_answers;

/// Returns the texts of all events after the number `seen`.
std::vector<std::string> events_after(const event_stream& stream, std::uint64_t seen) {
  std::vector<std::string> texts;
  while (const auto text = stream.next(seen)) texts.emplace_back(text->view());
  return texts;
}

TEST(McpEventStream, without_a_client_the_oldest_events_are_kept_and_the_newest_droppable_ones_are_not) {
  asio::io_context context;
  event_stream stream(context.get_executor(), std::make_shared<unread_answers>(context.get_executor()), "id", true);
  for (std::size_t i = 0; i < event_stream::max_events + 10; ++i) stream.send(std::to_string(i), true);
  stream.send("a request to the client", false);
  std::vector<std::string> texts = events_after(stream, 0);
  ASSERT_EQ(texts.size(), event_stream::max_events + 1);
  EXPECT_EQ(texts.front(), "0");
  EXPECT_EQ(texts.back(), "a request to the client");
  EXPECT_TRUE(stream.has_all_since(stream.last_delivered()));

  // When a client has received them, they make room for new ones.
  stream.delivered(texts.size());
  stream.send("new", true);
  texts = events_after(stream, stream.last_delivered());
  EXPECT_EQ(texts, std::vector<std::string>{"new"});
}

TEST(McpEventStream, a_client_that_reads_everything_receives_more_events_than_are_kept) {
  asio::io_context context;
  event_stream stream(context.get_executor(), std::make_shared<unread_answers>(context.get_executor()), "id", true);
  std::uint64_t seen = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < 3 * event_stream::max_events; ++i) {
    stream.send(std::to_string(i), true);
    while (stream.next(seen) != nullptr) ++count;
    stream.delivered(seen);
  }
  EXPECT_EQ(count, 3 * event_stream::max_events);
  EXPECT_TRUE(stream.has_all_since(seen - 100));
  EXPECT_FALSE(stream.has_all_since(0));
}

}  // namespace mcp_event_stream_tests
