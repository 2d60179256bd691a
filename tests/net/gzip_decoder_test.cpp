// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/crc32.hpp>
#include <cofferdam/detail/net/gzip_decoder.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::base64_decode;
using cofferdam::detail::gzip_decoder;
using cofferdam_test::code_of;
using cofferdam_test::sentence_of;

struct decoded {
  std::string content;
  bool is_complete = false;
  std::size_t max_piece = 0;
};

decoded decode(std::string_view stream, std::size_t cut, std::uint64_t limit = 1'000'000) {
  decoded output;
  gzip_decoder decoder(limit);
  for (std::size_t at = 0; at < stream.size(); at += cut) {
    decoder.feed(as_bytes(stream.substr(at, cut)));
    while (decoder.next() == gzip_decoder::event::output) {
      output.content += as_text(decoder.output());
      output.max_piece = std::max(output.max_piece, decoder.output().size());
    }
  }
  output.is_complete = decoder.is_complete();
  return output;
}

std::string from_base64(std::string_view text) {
  const std::optional<bytes> raw = base64_decode(text);
  return std::string(as_text(raw.value()));
}

struct sample {
  const char* name;
  const char* stream;  // base64 of a stream that zlib 1.2.13 made
  std::uint32_t checksum;
  std::size_t size;
};

const std::vector<sample>& samples() {
  static const std::vector<sample> known{
      {"stored", "H4sIAAAAAAAEAwENAPL/aGVsbG8sIHN0b3JlZPDsX38NAAAA", 2136993008U, 13},
      {"fixed", "H4sIAAAAAAAEA8tIzcnJV8hAItMyK1JTAFc55CUXAAAA", 635713879U, 23},
      {"dynamic",
       "H4sIAAAAAAACA+1VZbtWRRQFEQUBEZSQ0C1lcOkuUUBUQkQEQamZPbP3kC9cuIWiYhEKBhIGAopKIyXS3Z3SoChloCihoLDm/ga/"
       "eT+c5znn3Wutvdaa9zknW/YbctyY86abc+W+JU/efLfmv61AwdvvKFS4SNE7ixUvUfKuu+meUqXLlC137333P1A+qULFSpWrVK1W"
       "vUbNWrXr1K1Xv8GDDR96uFHjJo80ffSxx5s1b9HyiVZPtn6qzdNt2z3TvsOzz3Xs1LlLV2PZedHQrXuPnr16J/r0Te7XPyU1LT1j"
       "wPMvDHzxpZcHvfLqa6+/MXjI0GFvvjV8xNvvvPveyPdHjR4z9oMPP/p43CfjJ0z89LNJn3/x5eQpU6dNnzFz1lez58ydN//rBd8s"
       "XLR4ydJly1esXLV6zdp16zds3LR5y9Zt23fs3LV7z9593+4/cPDQ4SNHjx3/7vsTP/x48tTpM2d/+vmXX8/99vv5P/68cPHS5b/+"
       "vnL1n3+vZfuf5+8fPPVN6cY9yCYn0nqTJNKpe0qvPv0okeqTKY57mgEZ5BKaRFngLHAW+D8HkxcywRm2EpySJWecela2TBSYjXGO"
       "2YsjxxgYUTxZ8USGxHrxQTgENnFiSEWhZpicdUFIyAdL4o1aJ0TC4EUOxD04lkiNwzwo9gRxTKyWVdjAQiCmECT4OLZKjE0W3qFj"
       "4dlHce+FsZCiD08ieNnBjgio7EC1ihSkIHkDdUg6RlqOcTk4MhokM7QT+PcKswZYCwLkhVVxgxZICSyygiQIQiykqi7AWtwAi15N"
       "9MABqYLzhhW2yLtggGIAsJyswV1Uhudo0hhPIVYe9wQN6tAX2orJGAWgQsbEWOethUGrkLeOMuuLZXEkk1WQoI6OMv2hNcGmaAxe"
       "wcXlMwvB4RmxEET1OG4A8YBDYHXWxoQq+GCQIJV4Rcug40isMeycARyFeYBCsPhXWHxaOLbFHkMj2AoMfvbBXQf7uLD+3AcAAA==",
       4272994555U, 2012},
      {"header", "H4sIHgAAAAAAAwMAYWJjbmFtZS50eHQAYSBjb21tZW50AJwxK88syVBIVMhITUxJLQIASh1+fw0AAAA=", 2138971466U, 13},
      {"members", "H4sIAAAAAAAAA8vPS9VRAAAc1fpKBQAAAB+LCAAAAAAAAAMDAAAAAAAAAAAAH4sIAAAAAAAEAwEDAPz/dHdvZorKEQMAAAA=",
       2782001760U, 8},
  };
  return known;
}

/// A gzip stream, in base64, of 1 MiB of zeros.
const char* const zeros =
    "H4sIAAAAAAACA+3BMQEAAADCoPVPbQhfoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPgMc6jinAAAQ"
    "AA==";

TEST(GzipDecoder, reads_what_zlib_writes_wherever_it_is_cut) {
  for (const sample& example : samples()) {
    const std::string stream = from_base64(example.stream);
    for (std::size_t cut = 1; cut <= stream.size(); ++cut) {
      const decoded output = decode(stream, cut);
      cofferdam::detail::crc32 checksum;
      checksum.add(as_bytes(std::string_view(output.content)));
      ASSERT_EQ(output.content.size(), example.size) << example.name << " " << cut;
      ASSERT_EQ(checksum.value(), example.checksum) << example.name << " " << cut;
      ASSERT_TRUE(output.is_complete) << example.name << " " << cut;
    }
  }
  EXPECT_EQ(decode(from_base64(samples()[0].stream), 7).content, "hello, stored");
  EXPECT_EQ(decode(from_base64(samples()[4].stream), 7).content, "one, two") << "two members, and an empty one between";
}

TEST(GzipDecoder, a_stream_that_ends_early_is_not_complete) {
  for (const sample& example : samples()) {
    const std::string stream = from_base64(example.stream);
    for (std::size_t size = 0; size < stream.size(); ++size) {
      const decoded output = decode(std::string_view(stream).substr(0, size), 1000);
      if (output.is_complete) {
        // The stream of two members is complete after each of them.
        EXPECT_EQ(example.name, std::string("members")) << size;
      }
    }
  }
}

TEST(GzipDecoder, every_flipped_bit_is_refused_or_is_one_that_says_nothing) {
  // A flipped bit may stay unnoticed in the header only: in the time, the flags for the compressor's speed, and the
  // operating system.
  const std::string stream = from_base64(samples()[1].stream);
  const std::string content = decode(stream, 1000).content;
  for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
    std::string other = stream;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    decoded output;
    std::error_code code;
    try {
      output = decode(other, 1000);
    } catch (const error& refusal) {
      code = refusal.code();
    }
    const bool is_idle = bit / 8 >= 4 && bit / 8 < 10;
    const bool is_text_flag = bit == 3 * 8;
    if (is_idle || is_text_flag) {
      EXPECT_TRUE(!code && output.is_complete && output.content == content) << bit;
    } else {
      EXPECT_TRUE(code == exec_errc::io_error || !output.is_complete) << bit;
    }
  }
}

TEST(GzipDecoder, a_bomb_is_refused_at_the_limit_and_pieces_are_small) {
  const std::string stream = from_base64(zeros);
  ASSERT_LT(stream.size(), 1200U);
  EXPECT_EQ(code_of([&] { decode(stream, 1000, (1 << 20) - 1); }), exec_errc::too_large);
  const decoded output = decode(stream, 1, 1 << 20);
  EXPECT_EQ(output.content, std::string(1 << 20, '\0'));
  EXPECT_LE(output.max_piece, std::size_t{32} * 1024);
}

TEST(GzipDecoder, content_that_repeats_is_decoded_faster_than_byte_by_byte) {
  const std::string stream = from_base64(zeros);
  const auto time_of = [](auto work) {  // the shortest of several, in ticks of the processor time
    std::clock_t shortest = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 5; ++i) {
      const std::clock_t begin = std::clock();
      work();
      shortest = std::min(shortest, std::clock() - begin);
    }
    return shortest;
  };
  const std::clock_t decoding = time_of([&] {
    gzip_decoder decoder(1 << 20);
    decoder.feed(as_bytes(std::string_view(stream)));
    while (decoder.next() == gzip_decoder::event::output) {
    }
    EXPECT_TRUE(decoder.is_complete());
  });
  std::vector<std::byte> window(std::size_t{64} * 1024);
  std::uint32_t checksum = 0xFFFFFFFFU;
  const auto& table = cofferdam::detail::crc32_table[0];
  const std::clock_t byte_by_byte = time_of([&] {
    for (std::size_t i = 1; i <= 1 << 20; ++i) {
      window[i % window.size()] = window[(i - 1) % window.size()];
      const auto octet = std::to_integer<std::uint32_t>(window[i % window.size()]);
      checksum = table[(checksum ^ octet) & 0xFFU] ^ (checksum >> 8U);
    }
  });
  EXPECT_LT(decoding, byte_by_byte) << checksum;
}

TEST(GzipDecoder, says_what_is_wrong) {
  using namespace std::string_view_literals;
  EXPECT_EQ(sentence_of([] { decode("PK\3\4", 10); }), "gzip: the data does not start with a gzip header");
  EXPECT_EQ(sentence_of([] { decode("\x1f\x8b\x07\0\0\0\0\0\0\3"sv, 10); }),
            "gzip: the compression method is not DEFLATE");
  EXPECT_EQ(sentence_of([] { decode("\x1f\x8b\x08\x80\0\0\0\0\0\3"sv, 10); }),
            "gzip: a flag is set that RFC 1952 reserves");
  EXPECT_EQ(sentence_of([] { decode("\x1f\x8b\x08\0\0\0\0\0\0\3\7"sv, 20); }), "gzip: a block has an invalid type");
  const std::string whole = from_base64(samples()[0].stream);
  EXPECT_EQ(sentence_of([&] { decode(whole + "x", 1000); }), "gzip: the data does not start with a gzip header");
}

}  // namespace
