// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/protocol.hpp>

#include "support/wire_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam_test::wire_payload;
using cofferdam_test::wire_reader;
using frame = wire::frame_type;

std::string raw(frame type, std::uint32_t job, std::string_view payload = {}) {
  wire_payload head;
  head.number(static_cast<std::uint32_t>(payload.size())).number(static_cast<std::uint8_t>(type)).number(job);
  return head.bytes() + std::string(payload);
}

/// A copy of a frame, which stays valid when the decoder reuses its buffer.
struct taken {
  frame type;
  std::uint32_t job;
  std::string payload;
  bool operator==(const taken&) const = default;
};
void PrintTo(const taken& received, std::ostream* to) {
  *to << static_cast<unsigned>(received.type) << "/" << received.job << "/" << received.payload.size() << " bytes";
}

void put(wire::frame_decoder& decoder, std::string_view piece) {
  while (!piece.empty()) {
    const std::span<std::byte> room = decoder.room();
    ASSERT_FALSE(room.empty());
    const std::size_t size = std::min(room.size(), piece.size());
    std::memcpy(room.data(), piece.data(), size);
    decoder.arrived(size);
    piece.remove_prefix(size);
  }
}

void take_all(wire::frame_decoder& decoder, std::vector<taken>& to) {
  while (const std::optional<wire::frame> next = decoder.next())
    to.push_back({next->type(), next->job(), std::string(as_text(next->payload()))});
}

std::vector<taken> decode(std::string_view stream, const std::vector<std::size_t>& cuts) {
  wire::frame_decoder decoder;
  std::vector<taken> found;
  std::size_t at = 0;
  for (const std::size_t cut : cuts) {
    put(decoder, stream.substr(at, cut - at));
    take_all(decoder, found);
    at = cut;
  }
  put(decoder, stream.substr(at));
  take_all(decoder, found);
  EXPECT_EQ(decoder.pending(), 0U);
  return found;
}

/// Returns frames of each type. Some payloads look like headers.
std::vector<taken> small_frames() {
  return {{frame::hello, 0, std::string(28, '\x01')},
          {frame::output, 1, "a"},
          {frame::output, 0xffffffff, ""},
          {frame::error_output, 2, std::string("\0\0\0\0\x82\0\0\0\0", 9)},
          {frame::exited, 1, std::string(wire::exited_size, '\0')},
          {static_cast<frame>(0xff), 7, std::string(300, '\xff')},
          {frame::done, 1, std::string(16, '\0')},
          {frame::pong, 0, "x"},
          {static_cast<frame>(0), 0, ""}};
}

std::string joined(const std::vector<taken>& frames) {
  std::string stream;
  for (const taken& received : frames) stream += raw(received.type, received.job, received.payload);
  return stream;
}

/// Returns the error that `act` throws; no value if it throws none.
std::optional<cofferdam::error> refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const cofferdam::error& failure) {
    return failure;
  }
  return std::nullopt;
}

void expect_violation(const std::function<void()>& act, std::string_view word = "") {
  const std::optional<cofferdam::error> failure = refusal(act);
  ASSERT_TRUE(failure.has_value()) << "nothing is thrown";
  EXPECT_EQ(failure->code(), cofferdam::exec_errc::provider_lost) << failure->what();
  EXPECT_NE(std::string_view(failure->what()).find(word), std::string_view::npos) << failure->what();
}

wire::frame frame_of(frame type, const std::string& payload, std::uint32_t job = 0) {
  return wire::frame(type, job, as_bytes(payload));
}

// ---- frame_decoder --------------------------------------------------------------------------------------------------

TEST(WireProtocol, a_whole_stream_gives_its_frames) { EXPECT_EQ(decode(joined(small_frames()), {}), small_frames()); }

TEST(WireProtocol, one_byte_at_a_time_gives_the_same_frames) {
  const std::string stream = joined(small_frames());
  std::vector<std::size_t> cuts(stream.size());
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i] = i;
  EXPECT_EQ(decode(stream, cuts), small_frames());
}

TEST(WireProtocol, every_single_cut_gives_the_same_frames) {
  const std::string stream = joined(small_frames());
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) ASSERT_EQ(decode(stream, {cut}), small_frames()) << cut;
}

TEST(WireProtocol, every_pair_of_cuts_gives_the_same_frames) {
  const std::vector<taken> frames = {{frame::output, 3, "ab"}, {frame::done, 3, ""}, {frame::pong, 0, "c"}};
  const std::string stream = joined(frames);
  for (std::size_t first = 0; first <= stream.size(); ++first)
    for (std::size_t second = first; second <= stream.size(); ++second)
      ASSERT_EQ(decode(stream, {first, second}), frames) << first << " and " << second;
}

TEST(WireProtocol, random_cuts_of_large_frames_give_the_same_frames) {
  std::mt19937 random(20260801);
  for (int round = 0; round < 30; ++round) {
    std::vector<taken> frames;
    for (int i = 0; i < 12; ++i) {
      const std::size_t size = random() % 3 == 0 ? wire::max_payload - random() % 2 : random() % 3000;
      std::string payload(size, '\0');
      for (std::size_t at = 0; at < size; at += 1 + random() % 97) payload[at] = static_cast<char>(random());
      frames.push_back({static_cast<frame>(random() % 256), static_cast<std::uint32_t>(random()), std::move(payload)});
    }
    const std::string stream = joined(frames);
    std::vector<std::size_t> cuts(random() % 60);
    for (std::size_t& cut : cuts) cut = random() % (stream.size() + 1);
    std::sort(cuts.begin(), cuts.end());
    ASSERT_EQ(decode(stream, cuts), frames) << "round " << round;
  }
}

TEST(WireProtocol, frames_may_be_taken_late_or_one_by_one) {
  const std::vector<taken> frames = small_frames();
  const std::string stream = joined(frames);
  wire::frame_decoder decoder;
  std::vector<taken> found;
  for (const char c : stream) {
    put(decoder, std::string_view(&c, 1));
    if (const std::optional<wire::frame> next = decoder.next())
      found.push_back({next->type(), next->job(), std::string(as_text(next->payload()))});
  }
  EXPECT_EQ(found, frames);

  wire::frame_decoder late;
  for (int i = 0; i < 500; ++i) put(late, stream);  // many kilobytes arrive before the first frame is taken
  EXPECT_EQ(late.pending(), 500 * stream.size());
  std::vector<taken> frames_taken;
  take_all(late, frames_taken);
  ASSERT_EQ(frames_taken.size(), 500 * frames.size());
  for (std::size_t i = 0; i < frames_taken.size(); ++i) ASSERT_EQ(frames_taken[i], frames[i % frames.size()]);
}

TEST(WireProtocol, a_part_of_a_frame_is_pending) {
  const std::string stream = raw(frame::output, 1, "abc");
  for (std::size_t size = 0; size < stream.size(); ++size) {
    wire::frame_decoder decoder;
    put(decoder, std::string_view(stream).substr(0, size));
    EXPECT_FALSE(decoder.next().has_value());
    EXPECT_FALSE(decoder.next().has_value());
    EXPECT_EQ(decoder.pending(), size);
  }
}

TEST(WireProtocol, the_longest_frame_is_taken_and_one_byte_more_is_refused) {
  const std::string longest(wire::max_payload, 'x');
  EXPECT_EQ(decode(raw(frame::output, 1, longest), {}), (std::vector<taken>{{frame::output, 1, longest}}));
  for (const std::uint32_t size :
       {static_cast<std::uint32_t>(wire::max_payload + 1), 0x7fffffffU, 0x80000000U, 0xfffffff6U, 0xffffffffU}) {
    // The header alone is refused, before memory for a payload of that length is allocated.
    const std::string head = wire_payload().number(size).number(std::uint8_t{0x82}).number(std::uint32_t{1}).bytes();
    wire::frame_decoder decoder;
    put(decoder, head);
    expect_violation([&] { decoder.next(); }, std::to_string(size));
    expect_violation([&] { decoder.next(); }, std::to_string(size));  // the decoder repeats the refusal
  }
}

TEST(WireProtocol, the_limit_can_be_set) {
  wire::frame_decoder decoder(3);
  put(decoder, raw(frame::output, 1, "abc") + raw(frame::output, 1, "abcd"));
  ASSERT_TRUE(decoder.next().has_value());
  expect_violation([&] { decoder.next(); }, "4 bytes");
}

TEST(WireProtocol, frames_before_one_that_is_too_long_are_given) {
  wire::frame_decoder decoder;
  put(decoder, raw(frame::output, 1, "a") + raw(frame::output, 2, "b") + std::string(9, '\xff'));
  EXPECT_EQ(decoder.next()->job(), 1U);
  EXPECT_EQ(decoder.next()->job(), 2U);
  expect_violation([&] { decoder.next(); });
}

TEST(WireProtocol, there_is_always_room) {
  wire::frame_decoder decoder;
  const std::string stream = raw(frame::output, 1, std::string(wire::max_payload, 'y'));
  for (std::size_t at = 0; at < stream.size();) {
    ASSERT_GT(decoder.room().size(), 0U);
    const std::size_t size = std::min<std::size_t>(4097, stream.size() - at);
    put(decoder, std::string_view(stream).substr(at, size));
    at += size;
  }
  ASSERT_TRUE(decoder.next().has_value());
  EXPECT_GT(decoder.room().size(), 0U);
}

// ---- payload_reader -------------------------------------------------------------------------------------------------

TEST(WireProtocol, values_come_in_their_order) {
  wire_payload payload;
  payload.number(std::uint8_t{1}).number(std::uint16_t{0x203}).string("text").number(std::int32_t{-4});
  payload.string("").number(std::numeric_limits<std::uint64_t>::max());
  const std::string held = payload.bytes();
  const wire::frame received = frame_of(frame::reply, held);
  wire::payload_reader from(received);
  EXPECT_FALSE(from.empty());
  EXPECT_EQ(from.number<std::uint8_t>(), 1U);
  EXPECT_EQ(from.number<std::uint16_t>(), 0x203U);
  EXPECT_EQ(from.text(), "text");
  EXPECT_EQ(from.number<std::int32_t>(), -4);
  EXPECT_EQ(from.text(), "");
  EXPECT_EQ(from.number<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(from.empty());
  from.finish();
}

TEST(WireProtocol, a_number_that_is_cut_is_refused) {
  for (std::size_t size = 0; size < 8; ++size) {
    const std::string held(size, '\x01');
    const wire::frame received = frame_of(frame::reply, held);
    wire::payload_reader from(received);
    expect_violation([&] { from.number<std::uint64_t>(); }, "type 160");
  }
}

TEST(WireProtocol, a_text_that_is_cut_is_refused) {
  const std::string whole = wire_payload().string("hello").bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string held = whole.substr(0, size);
    const wire::frame received = frame_of(frame::reply, held);
    wire::payload_reader from(received);
    expect_violation([&] { from.text(); });
  }
}

TEST(WireProtocol, a_text_that_lies_about_its_length_is_refused) {
  for (const std::uint32_t size : {4U, 6U, 7U, 0x7fffffffU, 0xfffffffbU, 0xffffffffU}) {
    const std::string held = wire_payload().number(size).bytes() + "hello" + std::string(1, '\0');
    const wire::frame received = frame_of(frame::reply, held);
    wire::payload_reader from(received);
    expect_violation([&] { from.text(); });
  }
}

TEST(WireProtocol, what_is_left_is_refused) {
  const std::string held(3, 'x');
  const wire::frame received = frame_of(frame::pong, held);
  wire::payload_reader from(received);
  from.number<std::uint16_t>();
  expect_violation([&] { from.finish(); }, "type 135");
  from.number<std::uint8_t>();
  from.finish();
  expect_violation([&] { from.number<std::uint8_t>(); });
}

// ---- hello and exited -----------------------------------------------------------------------------------------------

wire_payload hello_payload(std::uint32_t magic = wire::magic, std::uint16_t version = wire::version) {
  wire_payload to;
  to.number(magic).number(version).number(std::uint16_t{183}).number(std::uint32_t{11}).number(std::uint32_t{22});
  to.number(std::uint32_t{33}).number(std::uint32_t{wire::capability_openat2 | wire::capability_adopts});
  to.number(std::uint32_t{44});
  return to;
}

TEST(WireProtocol, a_greeting_is_read) {
  const std::string held = hello_payload().bytes();
  const wire::hello hello(frame_of(frame::hello, held));
  EXPECT_EQ(hello.machine(), 183U);
  EXPECT_EQ(hello.pid(), 11U);
  EXPECT_EQ(hello.uid(), 22U);
  EXPECT_EQ(hello.gid(), 33U);
  EXPECT_TRUE(hello.can(wire::capability_openat2));
  EXPECT_TRUE(hello.can(wire::capability_adopts));
  EXPECT_FALSE(hello.can(wire::capability_scope));
  EXPECT_EQ(hello.max_jobs(), 44U);
}

TEST(WireProtocol, a_greeting_cut_anywhere_or_too_long_is_refused) {
  const std::string whole = hello_payload().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_violation([&] { wire::hello(frame_of(frame::hello, whole.substr(0, size))); });
  expect_violation([&] { wire::hello(frame_of(frame::hello, whole + "x")); });
}

TEST(WireProtocol, what_is_no_greeting_of_ours_is_refused) {
  const std::string whole = hello_payload().bytes();
  expect_violation([&] { wire::hello(frame_of(frame::pong, whole)); }, "not a greeting");
  expect_violation([&] { wire::hello(frame_of(frame::hello, hello_payload(wire::magic + 1).bytes())); },
                   "not a greeting");
  expect_violation([&] { wire::hello(frame_of(frame::hello, hello_payload(wire::magic, 77).bytes())); }, "version 77");
}

std::string exited_payload(std::uint8_t how, std::uint8_t left = 1) {
  wire_payload to;
  to.number(how).number(std::int32_t{-5}).number(std::uint8_t{2}).number(std::uint64_t{6}).number(std::uint64_t{7});
  to.number(std::uint64_t{8}).number(std::uint64_t{9}).number(std::uint32_t{10}).number(left);
  return to.bytes();
}

TEST(WireProtocol, an_end_is_read) {
  EXPECT_EQ(exited_payload(0).size(), wire::exited_size);
  for (std::uint8_t how = 0; how <= 2; ++how) {
    const std::string held = exited_payload(how);
    const wire::exited end(frame_of(frame::exited, held));
    EXPECT_EQ(end.how, static_cast<wire::exit_how>(how));
    EXPECT_EQ(end.code, -5);
    EXPECT_EQ(end.reason, wire::exit_reason::killed);
    EXPECT_EQ(end.wall_us, 6U);
    EXPECT_EQ(end.user_us, 7U);
    EXPECT_EQ(end.system_us, 8U);
    EXPECT_EQ(end.peak_kib, 9U);
    EXPECT_EQ(end.oom_kills, 10U);
    EXPECT_TRUE(end.left);
  }
  const std::string held = exited_payload(0, 0);
  EXPECT_FALSE(wire::exited(frame_of(frame::exited, held)).left);
}

TEST(WireProtocol, an_end_cut_anywhere_or_too_long_is_refused) {
  const std::string whole = exited_payload(0);
  for (std::size_t size = 0; size < whole.size(); ++size)
    expect_violation([&] { wire::exited(frame_of(frame::exited, whole.substr(0, size))); });
  expect_violation([&] { wire::exited(frame_of(frame::exited, whole + '\0')); });
}

TEST(WireProtocol, an_end_of_no_known_kind_is_refused) {
  expect_violation([&] { wire::exited(frame_of(frame::exited, exited_payload(3))); }, "unknown kind of end");
  expect_violation([&] { wire::exited(frame_of(frame::exited, exited_payload(255))); }, "unknown kind of end");
}

TEST(WireProtocol, a_change_is_read) {
  wire_payload to;
  to.number(std::uint8_t{4}).number(std::uint8_t{1}).number(std::int32_t{-7}).string("to").string("from");
  to.number(std::uint8_t{7}).number(std::uint8_t{0}).number(std::int32_t{0}).string("").string("");
  const std::string held = to.bytes();
  const wire::frame whole = frame_of(frame::changes, held);
  wire::payload_reader values(whole);
  const wire::change renamed(values);
  EXPECT_EQ(renamed.kind, wire::change_kind::renamed);
  EXPECT_TRUE(renamed.is_directory);
  EXPECT_EQ(renamed.number, -7);
  EXPECT_EQ(renamed.path, "to");
  EXPECT_EQ(renamed.from, "from");
  const wire::change ended(values);
  EXPECT_EQ(ended.kind, wire::change_kind::ended);
  EXPECT_FALSE(ended.is_directory);
  EXPECT_TRUE(values.empty());
}

TEST(WireProtocol, a_change_cut_anywhere_is_refused) {
  wire_payload to;
  to.number(std::uint8_t{4}).number(std::uint8_t{1}).number(std::int32_t{0}).string("to").string("from");
  const std::string whole = to.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string held = whole.substr(0, size);
    const wire::frame cut = frame_of(frame::changes, held);
    expect_violation([&] {
      wire::payload_reader values(cut);
      const wire::change read(values);
    });
  }
}

TEST(WireProtocol, a_change_of_no_known_kind_is_refused) {
  for (const unsigned kind : {0U, 8U, 255U}) {
    wire_payload to;
    to.number(static_cast<std::uint8_t>(kind)).number(std::uint8_t{0}).number(std::int32_t{0}).string("a").string("");
    const std::string held = to.bytes();
    const wire::frame one = frame_of(frame::changes, held);
    expect_violation(
        [&] {
          wire::payload_reader values(one);
          const wire::change read(values);
        },
        "unknown kind");
  }
}

// ---- frame_writer and spawn_order -----------------------------------------------------------------------------------

TEST(WireProtocol, a_writer_makes_the_bytes_of_the_wire) {
  const bytes empty = wire::frame_writer(frame::kill_all, 0).take();
  EXPECT_EQ(as_text(empty), std::string_view("\0\0\0\0\x0a\0\0\0\0", 9));
  wire::frame_writer writer(frame::signal, 0x04030201);
  writer.number(std::uint8_t{1}).number(std::uint16_t{0x0302}).text("ab").data(as_bytes("cd"));
  const bytes whole = writer.take();
  EXPECT_EQ(as_text(whole), std::string_view("\x0c\0\0\0\x05\x01\x02\x03\x04"
                                             "\x01\x02\x03"
                                             "\x02\0\0\0ab\0"
                                             "cd",
                                             21));
  const bytes list = wire::frame_writer(frame::spawn, 1).texts({"x", ""}).take();
  EXPECT_EQ(as_text(list).substr(9), std::string_view("\x02\0\0\0\x01\0\0\0x\0\0\0\0\0\0", 15));
  EXPECT_EQ(as_text(wire::frame_writer(frame::spawn, 1).texts({}).take()).substr(9), std::string_view("\0\0\0\0", 4));
}

TEST(WireProtocol, what_is_written_is_what_is_decoded) {
  const bytes whole = wire::frame_writer(frame::output, 9).text("some text").number(std::uint64_t{5}).take();
  wire::frame_decoder decoder;
  put(decoder, as_text(whole));
  const std::optional<wire::frame> got = decoder.next();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->type(), frame::output);
  EXPECT_EQ(got->job(), 9U);
  wire::payload_reader from(*got);
  EXPECT_EQ(from.text(), "some text");
  EXPECT_EQ(from.number<std::uint64_t>(), 5U);
  from.finish();
}

TEST(WireProtocol, an_order_is_written_value_by_value) {
  wire::spawn_order order;
  order.flags = wire::spawn_merge | wire::spawn_terminal;
  order.uid = 1;
  order.gid = 2;
  order.timeout_ms = 0x1'0000'0003ULL;
  order.grace_ms = 4;
  order.linger_ms = 5;
  order.output_cap = 0x1'0000'0006ULL;
  order.window = 7;
  order.rows = 8;
  order.columns = 9;
  order.directory = "/d";
  const bytes whole = order.encode(77, {"/a", "/b"}, {"w"}, {"X=1", "Y=", ""});
  wire_reader from(as_text(whole));
  EXPECT_EQ(from.number<std::uint32_t>(), whole.size() - wire::header_size);
  EXPECT_EQ(from.number<std::uint8_t>(), static_cast<std::uint8_t>(frame::spawn));
  EXPECT_EQ(from.number<std::uint32_t>(), 77U);
  EXPECT_EQ(from.number<std::uint32_t>(), 24U);
  EXPECT_EQ(from.number<std::uint32_t>(), 1U);
  EXPECT_EQ(from.number<std::uint32_t>(), 2U);
  EXPECT_EQ(from.number<std::uint64_t>(), 0x1'0000'0003ULL);
  EXPECT_EQ(from.number<std::uint32_t>(), 4U);
  EXPECT_EQ(from.number<std::uint32_t>(), 5U);
  EXPECT_EQ(from.number<std::uint64_t>(), 0x1'0000'0006ULL);
  EXPECT_EQ(from.number<std::uint32_t>(), 7U);
  EXPECT_EQ(from.number<std::uint16_t>(), 8U);
  EXPECT_EQ(from.number<std::uint16_t>(), 9U);
  EXPECT_EQ(whole.size() - from.rest().size() - wire::header_size, wire::spawn_fixed_size);
  EXPECT_EQ(from.number<std::uint32_t>(), 0U);
  EXPECT_EQ(from.string(), "/d");
  EXPECT_EQ(from.number<std::uint32_t>(), 2U);
  EXPECT_EQ(from.string(), "/a");
  EXPECT_EQ(from.string(), "/b");
  EXPECT_EQ(from.number<std::uint32_t>(), 1U);
  EXPECT_EQ(from.string(), "w");
  EXPECT_EQ(from.number<std::uint32_t>(), 3U);
  EXPECT_EQ(from.string(), "X=1");
  EXPECT_EQ(from.string(), "Y=");
  EXPECT_EQ(from.string(), "");
  EXPECT_TRUE(from.at_end());
}

TEST(WireProtocol, an_order_is_as_long_as_a_frame_may_be_and_no_longer) {
  const wire::spawn_order order;
  const std::size_t around = order.encode(1, {"/a"}, {""}, {}).size() - wire::header_size;
  const bytes longest = order.encode(1, {"/a"}, {std::string(wire::max_spawn - around, 'x')}, {});
  EXPECT_EQ(longest.size(), wire::header_size + wire::max_spawn);
  EXPECT_TRUE(order.encode(1, {"/a"}, {std::string(wire::max_spawn - around + 1, 'x')}, {}).empty());
}

TEST(WireProtocol, an_order_has_as_many_strings_as_it_may_have_and_no_more) {
  const wire::spawn_order order;
  EXPECT_FALSE(order.encode(1, {"/a"}, std::vector<std::string>(wire::max_strings - 1), {""}).empty());
  EXPECT_TRUE(order.encode(1, {"/a"}, std::vector<std::string>(wire::max_strings), {""}).empty());
}

TEST(WireProtocol, the_limit_of_a_spawn_frame_is_shortened_by_what_it_has_waited) {
  using namespace std::chrono_literals;
  wire::spawn_order order;
  order.uid = order.gid = 0xfedcba98;
  order.flags = 0x123;
  order.grace_ms = 0x7654321;
  const auto encoded = [&order] { return order.encode(77, {"/bin/true"}, {"true"}, {}); };
  bytes unlimited = encoded();
  EXPECT_EQ(wire::type_of(unlimited), frame::spawn);
  EXPECT_EQ(wire::job_of(unlimited), 77U);
  EXPECT_EQ(wire::spawn_limit(unlimited), std::nullopt);
  wire::shorten_spawn_limit(unlimited, 1000ms);
  EXPECT_EQ(unlimited, encoded());
  order.timeout_ms = 4000;
  bytes limited = encoded();
  EXPECT_EQ(wire::spawn_limit(limited), 4000ms);
  wire::shorten_spawn_limit(limited, 0ms);
  EXPECT_EQ(limited, encoded());
  wire::shorten_spawn_limit(limited, 300ms);
  order.timeout_ms = 3700;
  EXPECT_EQ(limited, encoded());
  for (const auto by : {3700ms, 100'000ms}) {  // a limit never becomes 0, because 0 means no limit
    wire::shorten_spawn_limit(limited, by);
    EXPECT_EQ(wire::spawn_limit(limited), 1ms);
  }
}

}  // namespace
