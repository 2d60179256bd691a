// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of Connect streams and errors get any bytes. (Connect is the RPC protocol of E2B's service
// in the sandbox.) The first byte sets the size of the pieces, which must not change the result.

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/detail/net/connect_error.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::detail::connect_end;
using cofferdam::detail::connect_end_text;
using cofferdam::detail::connect_envelope;
using cofferdam::detail::connect_envelope_reader;
using cofferdam::detail::connect_failure;
using cofferdam::detail::connect_failure_text;
using cofferdam::detail::connect_message;
using cofferdam::detail::read_connect_end;
using cofferdam::detail::read_connect_failure;

void require(bool holds) {
  if (!holds) std::abort();
}

enum class ways { by_pieces, into_the_room_too };

std::string read_stream(std::string_view text, std::size_t size, ways how = ways::by_pieces) {
  connect_envelope_reader reader(512);
  std::string events;
  const auto tell = [&](const connect_envelope& envelope) {
    require(envelope.payload().size() <= 512);
    require(envelope.is_end() == reader.ended());
    events += (envelope.is_end() ? "end " : "message ") + std::string(envelope.payload()) + "\n";
  };
  try {
    while (!text.empty()) {
      const std::span<char> room = how == ways::into_the_room_too ? reader.room() : std::span<char>();
      if (!room.empty()) {
        const std::size_t count = text.copy(room.data(), std::min(room.size(), size));
        text.remove_prefix(count);
        if (const std::optional<connect_envelope> envelope = reader.took(count)) tell(*envelope);
        continue;
      }
      std::string_view piece = text.substr(0, size);
      text.remove_prefix(piece.size());
      while (const std::optional<connect_envelope> envelope = reader.next(piece)) tell(*envelope);
      require(piece.empty());
    }
    reader.finish();
    events += "whole";
  } catch (const error& failure) {
    events += failure.what();
  }
  return events;
}

}  // namespace

COFFERDAM_FUZZ_TARGET(connect)(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_stream(text, text.size() + 1);
  require(read_stream(text, data[0] % 16U + 1U) == whole);
  require(read_stream(text, data[0] % 16U + 1U, ways::into_the_room_too) == whole);
  const connect_failure failure = read_connect_failure(100U + data[0] * 2U % 500U, text);
  require(read_connect_failure(500, connect_failure_text(failure)).code() == failure.code());
  try {
    const std::optional<connect_failure> end = read_connect_end(text);
    if (end) require(read_connect_end(connect_end_text(*end))->message() == end->message());
  } catch (const error& broken) {
    require(broken.code() == exec_errc::io_error);
  }
  const std::string wire = connect_message(text.substr(0, 512)) + connect_end();
  require(read_stream(wire, 3) == "message " + std::string(text.substr(0, 512)) + "\nend {}\nwhole");
  return 0;
}
