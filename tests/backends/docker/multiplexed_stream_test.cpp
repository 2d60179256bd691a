// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/multiplexed_stream.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::multiplexed_stream;
using cofferdam::docker::detail::stream_piece;
using namespace cofferdam::docker;
using namespace std::string_literals;
using cofferdam_test::code_of;

std::string frame(int channel, const std::string& content) {
  std::string text(1, static_cast<char>(channel));
  text.append(3, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(content.size() >> shift & 255U);
  return text + content;
}

// The bytes of each channel, indexed by the channel's number.
using outputs = std::array<std::string, 4>;

outputs read(const std::vector<std::string_view>& pieces) {
  multiplexed_stream stream;
  outputs result;
  for (std::string_view piece : pieces) {
    while (const std::optional<stream_piece> frame_part = stream.next(piece)) {
      EXPECT_FALSE(frame_part->content().empty());
      result[static_cast<std::size_t>(frame_part->channel())] += frame_part->content();
    }
    EXPECT_TRUE(piece.empty());
  }
  stream.finish();
  return result;
}

const std::string session = frame(1, "hi\n") + frame(2, "er\n") + frame(1, "") + frame(1, std::string(300, 'x')) +
                            frame(3, "system") + frame(0, "in") + frame(2, "\0\xff"s);
const outputs session_outputs{"in", "hi\n" + std::string(300, 'x'), "er\n\0\xff"s, "system"};

TEST(MultiplexedStream, frames_are_read_whole_byte_by_byte_and_cut_at_every_byte) {
  EXPECT_EQ(read({session}), session_outputs);
  std::vector<std::string_view> bytes;
  for (std::size_t at = 0; at < session.size(); ++at) bytes.push_back(std::string_view(session).substr(at, 1));
  EXPECT_EQ(read(bytes), session_outputs);
  for (std::size_t cut = 0; cut <= session.size(); ++cut)
    EXPECT_EQ(read({std::string_view(session).substr(0, cut), std::string_view(session).substr(cut)}), session_outputs);
}

TEST(MultiplexedStream, an_end_inside_a_frame_is_a_lost_connection) {
  const std::string encoded = frame(1, "abc");
  for (std::size_t cut = 1; cut < encoded.size(); ++cut) {
    multiplexed_stream stream;
    std::string_view piece = std::string_view(encoded).substr(0, cut);
    while (stream.next(piece)) continue;
    EXPECT_FALSE(stream.may_end()) << cut;
    EXPECT_EQ(code_of([&] { stream.finish(); }), exec_errc::provider_lost) << cut;
  }
  EXPECT_TRUE(multiplexed_stream().may_end());
}

TEST(MultiplexedStream, a_head_that_no_daemon_writes_is_refused) {
  for (const std::string& head : {"\4\0\0\0\0\0\0\1"s, "\1\1\0\0\0\0\0\1"s, "\1\0\1\0\0\0\0\1"s, "\1\0\0\1\0\0\0\1"s,
                                  "hello wo"s, "\xff\0\0\0\0\0\0\1"s}) {
    multiplexed_stream stream;
    std::string_view piece = head;
    EXPECT_EQ(code_of([&] { stream.next(piece); }), exec_errc::provider_failed);
  }
}

TEST(MultiplexedStream, a_frame_of_4_GiB_is_passed_on_in_pieces) {
  multiplexed_stream stream;
  const std::string head = "\1\0\0\0\xff\xff\xff\xff"s;
  std::string_view piece = head;
  EXPECT_FALSE(stream.next(piece));
  const std::string part(std::size_t{1} << 20, 'x');
  std::uint64_t total = 0;
  for (int i = 0; i < 4096; ++i) {
    piece = part;
    while (const std::optional<stream_piece> frame_part = stream.next(piece)) {
      total += frame_part->content().size();
      if (stream.may_end()) break;
    }
    if (stream.may_end()) break;
  }
  EXPECT_EQ(total, 0xffffffffU);
  // The first byte after the frame was not consumed.
  EXPECT_EQ(piece.size(), 1U);
}

}  // namespace
