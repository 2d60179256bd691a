// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/net/websocket_frame.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using namespace std::string_literals;
using cofferdam::detail::websocket_event;
using cofferdam::detail::websocket_key;
using cofferdam::detail::websocket_opcode;
using cofferdam::detail::websocket_reader;
using cofferdam::detail::websocket_step;
using cofferdam_test::error_of;

/// Returns a frame of a server.
std::string frame(unsigned first, std::string_view payload) {
  std::string text(1, static_cast<char>(first));
  if (payload.size() < 126) {
    text += static_cast<char>(payload.size());
  } else if (payload.size() < 65536) {
    text += '\x7e';
    text += static_cast<char>(payload.size() >> 8U);
    text += static_cast<char>(payload.size());
  } else {
    text += '\x7f';
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(std::uint64_t{payload.size()} >> shift);
  }
  return text += payload;
}

/// Reads a stream cut into pieces, and describes its events. Joins the pieces of each message.
class description {
 public:
  void feed(std::string_view piece) {
    while (true) {
      const websocket_step step = reader_.parse(as_bytes(piece));
      piece.remove_prefix(step.consumed);
      if (step.event == websocket_event::need_more) {
        EXPECT_TRUE(piece.empty());
        return;
      }
      if (step.event == websocket_event::data) {
        if (step.begins) text_ += step.is_text ? "text(" : "binary(";
        text_ += as_text(step.data);
        if (step.ends) text_ += ")";
      } else if (step.event == websocket_event::ping) {
        text_ += "ping[" + std::string(as_text(step.data)) + "]";
      } else if (step.event == websocket_event::pong) {
        text_ += "pong";
      } else {
        text_ += "closed " + std::to_string(reader_.close_code()) + " " + reader_.close_reason();
        return;
      }
    }
  }
  /// Returns the events. A ping or pong inside a message is part of its text.
  const std::string& text() const { return text_; }

  websocket_reader reader_;

 private:
  std::string text_;
};

std::string read(std::string_view text, std::size_t size) {
  description result;
  for (std::size_t at = 0; at < text.size(); at += size) result.feed(text.substr(at, size));
  return result.text();
}

TEST(WebsocketReader, reads_messages_control_frames_and_the_end) {
  const std::string stream = frame(0x82, "one") + frame(0x81, "two") + frame(0x82, "") + frame(0x89, "p") +
                             frame(0x8a, "q") + frame(0x88, "\x03\xe8"s + "bye");
  EXPECT_EQ(read(stream, stream.size()), "binary(one)text(two)binary()ping[p]pongclosed 1000 bye");
}

TEST(WebsocketReader, joins_fragments_and_passes_control_frames_between_them) {
  const std::string stream = frame(0x02, "") + frame(0x00, "a") + frame(0x89, "") + frame(0x00, "") +
                             frame(0x00, "bc") + frame(0x80, "") + frame(0x01, "d") + frame(0x80, "e");
  EXPECT_EQ(read(stream, stream.size()), "binary(aping[]bc)text(de)");
}

TEST(WebsocketReader, reads_lengths_of_every_form) {
  for (const std::size_t size : {0U, 1U, 125U, 126U, 127U, 65535U, 65536U, 200000U}) {
    const std::string payload(size, 'x');
    EXPECT_EQ(read(frame(0x82, payload), 1U << 20U), "binary(" + payload + ")") << size;
  }
}

TEST(WebsocketReader, does_not_depend_on_how_the_stream_is_cut) {
  const std::string stream = frame(0x02, "") + frame(0x00, "abc") + frame(0x89, "ping") + frame(0x80, "d") +
                             frame(0x81, std::string(130, 'x')) + frame(0x82, "") + frame(0x8a, "") +
                             frame(0x88, "\x0f\xa1"s + "flooded") + "not parsed";
  const std::string whole = read(stream, stream.size());
  EXPECT_TRUE(whole.ends_with("closed 4001 flooded")) << whole;
  for (std::size_t size = 1; size <= stream.size(); ++size)
    EXPECT_EQ(read(stream, size).substr(0, whole.size()), whole) << size;
  const std::size_t end = stream.size() - 10;
  for (std::size_t cut = 0; cut <= end; ++cut) {
    description result;
    result.feed(std::string_view(stream).substr(0, cut));
    EXPECT_EQ(result.reader_.closed(), cut == end);
    if (cut != end) result.feed(std::string_view(stream).substr(cut, end - cut));
    EXPECT_EQ(result.text(), whole) << cut;
  }
}

TEST(WebsocketReader, refuses_what_the_protocol_forbids) {
  const struct {
    std::string stream;
    const char* words;
  } cases[] = {
      {"\xc2\x01x", "extension"},
      {"\xa2\x01x", "extension"},
      {"\x83\x01x", "unknown frame type 3"},
      {"\x8b\x01x", "unknown frame type 11"},
      {"\x82\x81"s + "kkkkx", "masked"},
      {"\x09\x01x", "control frame is fragmented"},
      {"\x89\x7e"s + "\x00\x80"s, "longer than 125"},
      {"\x80\x01x", "no beginning"},
      {"\x02\x01x\x82\x01y", "before the end of another"},
      {"\x82\x7e\x00\x7d"s, "shortest form"},
      {"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff"s, "shortest form"},
      {"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00"s, "too large"},
      {"\x88\x01x", "half a code"},
      {"\x88\x02\x03\xec", "close code 1004"},
      {"\x88\x02\x03\xed", "close code 1005"},
      {"\x88\x02\x03\xee", "close code 1006"},
      {"\x88\x02\x03\xf7", "close code 1015"},
      {"\x88\x02\x00\x00"s, "close code 0"},
      {"\x88\x02\x13\x88", "close code 5000"},
  };
  for (const auto& each : cases) {
    for (const std::size_t size : {std::size_t{1}, each.stream.size()}) {
      const std::optional<error> failure = error_of([&] { read(each.stream, size); });
      ASSERT_TRUE(failure) << each.words;
      EXPECT_EQ(failure->code(), exec_errc::io_error) << each.words;
      EXPECT_EQ(failure->cause(), net_errc::malformed) << each.words;
      EXPECT_NE(std::string(failure->what()).find(each.words), std::string::npos) << failure->what();
    }
  }
}

TEST(WebsocketReader, a_close_frame_without_a_code_is_1005) { EXPECT_EQ(read("\x88\x00"s, 9), "closed 1005 "); }

TEST(WebsocketReader, a_message_longer_than_the_limit_is_an_error) {
  for (const std::string& stream : {frame(0x82, "12345678901"), frame(0x02, "12345") + frame(0x80, "678901")}) {
    websocket_reader reader(10);
    const std::optional<error> failure = error_of([&] {
      std::string_view rest = stream;
      while (!rest.empty()) rest.remove_prefix(reader.parse(as_bytes(rest)).consumed);
    });
    EXPECT_EQ(failure->code(), exec_errc::too_large);
  }
  websocket_reader reader(10);
  for (const std::string& stream : {frame(0x82, "1234567890"), frame(0x82, "1234567890")})
    EXPECT_TRUE(reader.parse(as_bytes(std::string_view(stream))).ends) << "the limit is that of one message";
}

TEST(WebsocketReader, knows_if_the_stream_ends_inside_a_message) {
  websocket_reader reader;
  EXPECT_FALSE(reader.inside_message());
  reader.parse(as_bytes("\x02"));
  EXPECT_TRUE(reader.inside_message());
  reader.parse(as_bytes("\x01x"));
  EXPECT_TRUE(reader.inside_message());
  reader.parse(as_bytes(std::string_view("\x80\x00", 2)));
  EXPECT_FALSE(reader.inside_message());
}

// The example of RFC 6455, 5.7: a masked "Hello".
TEST(WebsocketWriter, masks_as_the_standard_says) {
  const websocket_key key{std::byte{0x37}, std::byte{0xfa}, std::byte{0x21}, std::byte{0x3d}};
  bytes out;
  detail::append_websocket_head(out, websocket_opcode::text, true, key, 5);
  detail::append_websocket_payload(out, key, 0, as_bytes("Hello"));
  EXPECT_EQ(as_text(bytes_view(out)), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
}

TEST(WebsocketWriter, masks_pieces_as_it_masks_the_whole) {
  const websocket_key key{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 7);
  bytes whole;
  detail::append_websocket_payload(whole, key, 0, as_bytes(std::string_view(text)));
  for (std::size_t i = 0; i < text.size(); ++i)
    EXPECT_EQ(whole[i], as_bytes(std::string_view(text))[i] ^ key[i % 4]) << i;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    bytes parts;
    detail::append_websocket_payload(parts, key, 0, as_bytes(std::string_view(text).substr(0, cut)));
    detail::append_websocket_payload(parts, key, cut, as_bytes(std::string_view(text).substr(cut)));
    EXPECT_EQ(parts, whole) << cut;
  }
}

TEST(WebsocketWriter, writes_lengths_in_the_shortest_form) {
  const websocket_key key{};
  const auto head = [&](std::uint64_t size) {
    bytes out;
    detail::append_websocket_head(out, websocket_opcode::binary, true, key, size);
    return as_text(std::move(out));
  };
  const std::string zeros(4, '\0');
  EXPECT_EQ(head(0), "\x82\x80" + zeros);
  EXPECT_EQ(head(125), "\x82\xfd" + zeros);
  EXPECT_EQ(head(126), "\x82\xfe\x00\x7e"s + zeros);
  EXPECT_EQ(head(65535), "\x82\xfe\xff\xff" + zeros);
  EXPECT_EQ(head(65536), "\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00"s + zeros);
}

}  // namespace
