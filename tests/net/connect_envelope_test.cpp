// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/net/connect_envelope.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <support/error_of.hpp>

namespace {

using namespace cofferdam;
using cofferdam::detail::connect_end;
using cofferdam::detail::connect_envelope;
using cofferdam::detail::connect_envelope_reader;
using cofferdam::detail::connect_message;
namespace wire = cofferdam::detail::wire;
using cofferdam_test::code_of;
using cofferdam_test::error_of;

using messages = std::vector<std::pair<bool, std::string>>;

void take(connect_envelope_reader& reader, std::string_view piece, messages& into) {
  while (const std::optional<connect_envelope> envelope = reader.next(piece))
    into.emplace_back(envelope->is_end(), std::string(envelope->payload()));
  EXPECT_TRUE(piece.empty());
}

TEST(ConnectEnvelope, what_is_written_is_read_cut_at_every_byte) {
  const std::string wire = connect_message("{\"a\":1}") + connect_message("") + connect_message(std::string(300, 'x')) +
                           connect_end("{\"error\":{}}");
  const messages expected{{false, "{\"a\":1}"}, {false, ""}, {false, std::string(300, 'x')}, {true, "{\"error\":{}}"}};
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    connect_envelope_reader reader(300);
    messages received;
    take(reader, std::string_view(wire).substr(0, cut), received);
    take(reader, std::string_view(wire).substr(cut), received);
    EXPECT_EQ(received, expected) << cut;
    EXPECT_TRUE(reader.ended());
    reader.finish();
  }
  connect_envelope_reader reader(300);
  messages received;
  for (const char c : wire) take(reader, std::string_view(&c, 1), received);
  EXPECT_EQ(received, expected);
}

TEST(ConnectEnvelope, a_message_that_has_begun_may_be_put_where_it_belongs) {
  const std::string long_one = std::string(40000, 'x') + std::string(40000, 'y');
  const std::string wire =
      connect_message("short") + connect_message(long_one) + connect_message(std::string(50000, 'z')) + connect_end();
  const messages expected{{false, "short"}, {false, long_one}, {false, std::string(50000, 'z')}, {true, "{}"}};
  for (const std::size_t size : {1, 7, 4096, 60000, 90000}) {
    connect_envelope_reader reader(100000);
    messages received;
    std::size_t in_place = 0;
    for (std::string_view left = wire; !left.empty();) {
      const std::span<char> room = reader.room();
      const std::string_view piece = left.substr(0, room.empty() ? size : std::min(size, room.size()));
      left.remove_prefix(piece.size());
      if (room.empty()) {
        take(reader, piece, received);
        continue;
      }
      in_place += piece.copy(room.data(), piece.size());
      const std::optional<connect_envelope> envelope = reader.took(piece.size());
      if (envelope) received.emplace_back(envelope->is_end(), std::string(envelope->payload()));
    }
    EXPECT_EQ(received, expected) << size;
    EXPECT_TRUE(reader.ended());
    EXPECT_GT(in_place, size < 60000 ? 100000U : 0U) << size;
  }
}

TEST(ConnectEnvelope, room_grows_with_what_has_come_and_not_with_what_a_length_claims) {
  connect_envelope_reader reader(std::size_t{1} << 30);
  EXPECT_TRUE(reader.room().empty());
  std::string_view begin(
      "\0\x3f\xff\xff\xff"
      "a",
      6);
  EXPECT_FALSE(reader.next(begin));
  for (std::size_t held = 1; held < 1000000;) {
    const std::size_t size = reader.room().size();
    ASSERT_GT(size, 0U);
    ASSERT_LE(size, 3 * held + 16 * 1024);
    EXPECT_FALSE(reader.took(size));
    held += size;
  }
}

TEST(ConnectEnvelope, the_example_of_the_specification_is_written_to_the_byte) {
  EXPECT_EQ(connect_message("{\"event\":{\"start\":{\"pid\":31201}}}"),
            std::string("\0\0\0\0\x21{\"event\":{\"start\":{\"pid\":31201}}}", 38));
  EXPECT_EQ(connect_end(), std::string("\x02\0\0\0\x02{}", 7));
}

TEST(ConnectEnvelope, a_stream_that_is_cut_off_inside_an_envelope_is_truncated_and_nowhere_else) {
  const std::string wire = connect_message("abc") + connect_message("");
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    connect_envelope_reader reader(16);
    messages received;
    take(reader, std::string_view(wire).substr(0, cut), received);
    EXPECT_FALSE(reader.ended());
    if (cut == 0 || cut == 8 || cut == 13) {
      reader.finish();
    } else {
      const std::optional<error> failure = error_of([&] { reader.finish(); });
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->cause(), net_errc::truncated) << cut;
    }
  }
}

TEST(ConnectEnvelope, a_length_beyond_the_limit_is_refused_before_the_message_comes) {
  connect_envelope_reader reader(16);
  std::string_view head("\0\xff\xff\xff\xff", 5);
  EXPECT_EQ(code_of([&] { reader.next(head); }), exec_errc::too_large);
  connect_envelope_reader exact(16);
  const std::string fits = connect_message(std::string(16, 'x'));
  std::string_view input = fits;
  EXPECT_TRUE(exact.next(input));
  connect_envelope_reader less(15);
  input = fits;
  EXPECT_EQ(code_of([&] { less.next(input); }), exec_errc::too_large);
}

TEST(ConnectEnvelope, reserved_and_compressed_flags_are_malformed) {
  for (int flags = 0; flags < 256; ++flags) {
    connect_envelope_reader reader(16);
    const std::string wire = std::string(1, static_cast<char>(flags)) + std::string(4, '\0');
    std::string_view input = wire;
    if (flags == 0 || flags == 2) {
      const std::optional<connect_envelope> envelope = reader.next(input);
      ASSERT_TRUE(envelope);
      EXPECT_EQ(envelope->is_end(), flags == 2);
    } else {
      const std::optional<error> failure = error_of([&] { reader.next(input); });
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->cause(), net_errc::malformed);
    }
  }
}

TEST(ConnectEnvelope, nothing_may_follow_the_end) {
  connect_envelope_reader reader(16);
  const std::string wire = connect_end() + "x";
  std::string_view input = wire;
  ASSERT_TRUE(reader.next(input));
  const std::optional<error> failure = error_of([&] { reader.next(input); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), exec_errc::io_error);
  EXPECT_EQ(failure->cause(), net_errc::malformed);
}

}  // namespace
