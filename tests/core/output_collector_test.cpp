// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/output_collector.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::captured_output;
using cofferdam::detail::output_collector;

/// Compares `kept` with the expected result, which is computed from the whole stream and the limit `keep`.
void expect_matches(const captured_output& kept, std::string_view whole_stream, std::size_t keep) {
  ASSERT_EQ(kept.total(), whole_stream.size());
  if (whole_stream.size() <= keep) {
    ASSERT_EQ(as_text(kept.head()), whole_stream);
    ASSERT_TRUE(kept.tail().empty());
    ASSERT_EQ(kept.cut(), 0U);
    return;
  }
  const std::size_t head = keep / 2;
  const std::size_t tail = keep - head;
  ASSERT_EQ(as_text(kept.head()), whole_stream.substr(0, head));
  ASSERT_EQ(as_text(kept.tail()), whole_stream.substr(whole_stream.size() - tail));
  ASSERT_EQ(kept.cut(), whole_stream.size() - keep);
}

std::string numbered(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
  text.resize(size);
  return text;
}

captured_output collect(std::string_view whole_stream, std::size_t keep, std::size_t chunk) {
  output_collector collector(keep);
  for (std::size_t at = 0; at < whole_stream.size(); at += chunk)
    collector.append(as_bytes(whole_stream.substr(at, chunk)));
  return collector.take();
}

TEST(OutputCollector, everything_is_kept_in_one_piece_while_it_fits) {
  const captured_output kept = collect("hello, world", 12, 5);
  expect_matches(kept, "hello, world", 12);
}

TEST(OutputCollector, one_byte_too_many_cuts_exactly_one_byte) {
  const captured_output kept = collect("0123456789", 9, 10);
  EXPECT_EQ(as_text(kept.head()), "0123");
  EXPECT_EQ(as_text(kept.tail()), "56789");
  EXPECT_EQ(kept.cut(), 1U);
}

TEST(OutputCollector, keeping_nothing_still_counts) {
  const captured_output kept = collect("0123456789", 0, 3);
  expect_matches(kept, "0123456789", 0);
  EXPECT_EQ(kept.cut(), 10U);
}

TEST(OutputCollector, keeping_one_byte_keeps_the_last) {
  const captured_output kept = collect("0123456789", 1, 3);
  EXPECT_EQ(as_text(kept.head()), "");
  EXPECT_EQ(as_text(kept.tail()), "9");
}

TEST(OutputCollector, an_empty_chunk_changes_nothing) {
  for (const std::size_t keep : {0, 1, 2, 5, 100}) {
    output_collector collector(keep);
    collector.append({});
    EXPECT_EQ(collector.total(), 0U);
    collector.append(as_bytes("abcdef"));
    collector.append({});
    expect_matches(collector.take(), "abcdef", keep);
  }
}

TEST(OutputCollector, every_small_size_cap_and_chunk_gives_what_the_whole_stream_says) {
  const std::string whole_stream = numbered(23);
  for (std::size_t size = 0; size <= whole_stream.size(); ++size)
    for (std::size_t keep = 0; keep <= whole_stream.size() + 1; ++keep)
      for (std::size_t chunk = 1; chunk <= size + 1; ++chunk) {
        SCOPED_TRACE(std::to_string(size) + " bytes, keep " + std::to_string(keep) + ", chunks of " +
                     std::to_string(chunk));
        expect_matches(collect(std::string_view(whole_stream).substr(0, size), keep, chunk),
                       std::string_view(whole_stream).substr(0, size), keep);
        if (HasFatalFailure()) return;
      }
}

TEST(OutputCollector, random_scripts_give_what_the_whole_stream_says) {
  std::mt19937 random(7);
  const std::string source = numbered(5000);
  for (int round = 0; round < 5000; ++round) {
    const std::size_t keep = random() % 3 == 0 ? random() % 8 : random() % 600;
    SCOPED_TRACE("round " + std::to_string(round) + ", keep " + std::to_string(keep));
    output_collector collector(keep);
    std::string whole_stream;
    for (auto steps = random() % 20; steps > 0; --steps) {
      switch (random() % 8) {
        case 0: expect_matches(collector.snapshot(), whole_stream, keep); break;
        case 1:
          if (random() % 4 == 0) {
            expect_matches(collector.take(), whole_stream, keep);
            whole_stream.clear();
          }
          break;
        default: {
          const std::size_t at = random() % source.size();
          const auto chunk = std::string_view(source).substr(at, random() % (random() % 4 == 0 ? 2000 : 50));
          collector.append(as_bytes(chunk));
          whole_stream += chunk;
        }
      }
      ASSERT_EQ(collector.total(), whole_stream.size());
      if (HasFatalFailure()) return;
    }
    expect_matches(collector.take(), whole_stream, keep);
    if (HasFatalFailure()) return;
  }
}

TEST(OutputCollector, taking_leaves_it_empty_and_usable) {
  output_collector collector(4);
  collector.append(as_bytes("abcdefgh"));
  expect_matches(collector.take(), "abcdefgh", 4);
  EXPECT_EQ(collector.total(), 0U);
  expect_matches(collector.take(), "", 4);
  collector.append(as_bytes("12345"));
  expect_matches(collector.take(), "12345", 4);
}

TEST(OutputCollector, a_snapshot_changes_nothing) {
  output_collector collector(4);
  collector.append(as_bytes("abcdefgh"));
  expect_matches(collector.snapshot(), "abcdefgh", 4);
  collector.append(as_bytes("ij"));
  expect_matches(collector.snapshot(), "abcdefghij", 4);
  expect_matches(collector.take(), "abcdefghij", 4);
}

TEST(OutputCollector, moving_takes_everything_along_and_leaves_an_empty_one) {
  output_collector first(4);
  first.append(as_bytes("abcdefgh"));
  output_collector second(std::move(first));
  expect_matches(second.snapshot(), "abcdefgh", 4);
  // A collector that was moved from is empty, and can be used again.
  first.append(as_bytes("123456"));
  expect_matches(first.take(), "123456", 4);
  output_collector third(100);
  third = std::move(second);
  expect_matches(third.take(), "abcdefgh", 4);
}

TEST(OutputCollector, a_little_output_takes_little_memory_whatever_the_cap) {
  output_collector collector;
  for (int i = 0; i < 100; ++i) collector.append(as_bytes("x"));
  // The capacity shows that the collector returned its own block.
  EXPECT_LE(collector.take().head().capacity(), 256U);
}

TEST(OutputCollector, the_cap_is_never_exceeded_while_output_grows) {
  for (const std::size_t keep : {1, 3, 1000, 4097}) {
    for (const std::size_t chunk : {1, 7, 900}) {
      output_collector collector(keep);
      const std::string whole_stream = numbered(keep);
      for (std::size_t at = 0; at < whole_stream.size(); at += chunk)
        collector.append(as_bytes(std::string_view(whole_stream).substr(at, chunk)));
      EXPECT_LE(collector.take().head().capacity(), keep);
    }
  }
}

TEST(OutputCollector, a_cut_result_holds_no_more_than_the_cap) {
  const captured_output kept = collect(numbered(100'000), 1001, 64);
  EXPECT_LE(kept.head().capacity() + kept.tail().capacity(), 1001U);
}

TEST(OutputCollector, the_default_is_the_commands_default) {
  output_collector collector;
  const std::string block(64 * 1024, 'x');
  for (int i = 0; i < 32; ++i) collector.append(as_bytes(block));
  const captured_output kept = collector.take();
  EXPECT_EQ(kept.head().size() + kept.tail().size(), cofferdam::command::default_kept_output);
  EXPECT_EQ(kept.total(), 32U * 64 * 1024);
}

}  // namespace
