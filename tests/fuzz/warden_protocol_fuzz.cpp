// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the host's decoder of the warden's frames gets any bytes. (The warden is the helper program in each
// sandbox.) The decoder must return the same frames, or the same refusal, however the stream is cut. Reading the values
// of a frame must succeed or throw, and must not read beyond the end of the frame.
// Input: one byte for the longest payload that is allowed, one byte for the size of the pieces, then the stream.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/warden/detail/protocol.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace wire = cofferdam::detail::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

struct decoded {
  std::vector<std::string> frames;
  bool refused = false;
  std::size_t pending = 0;
  bool operator==(const decoded&) const = default;
};

/// Reads a frame as each kind of frame that has values. A frame of another kind must be refused.
void read_values(const wire::frame& received) {
  try {
    const wire::hello hello(received);
    require(received.type() == wire::frame_type::hello && received.payload().size() == 28);
    static_cast<void>(hello.can(wire::capability_scope));
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::provider_lost);
  }
  try {
    const wire::exited end(received);
    require(received.payload().size() == wire::exited_size && end.how <= wire::exit_how::lost);
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::provider_lost);
  }
  try {
    wire::payload_reader from(received);
    std::size_t consumed = 0;
    while (!from.empty()) {
      consumed += 4 + from.text().size() + 1;
      require(consumed <= received.payload().size());
    }
    from.finish();
    require(consumed == received.payload().size());
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::provider_lost);
  }
  try {
    wire::payload_reader from(received);
    while (!from.empty()) {
      const wire::change change(from);
      require(change.kind >= wire::change_kind::created && change.kind <= wire::change_kind::ended);
    }
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::provider_lost);
  }
  try {
    wire::payload_reader from(received);
    for (std::size_t left = received.payload().size();; --left) {
      require(from.empty() == (left == 0));
      from.number<std::uint8_t>();
    }
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::provider_lost);
  }
}

decoded decode(std::string_view stream, std::size_t limit, std::size_t piece) {
  decoded found;
  wire::frame_decoder decoder(limit);
  try {
    while (!stream.empty()) {
      const std::span<std::byte> room = decoder.room();
      require(!room.empty());
      const std::size_t size = std::min({room.size(), piece, stream.size()});
      std::memcpy(room.data(), stream.data(), size);
      decoder.arrived(size);
      stream.remove_prefix(size);
      while (const std::optional<wire::frame> next = decoder.next()) {
        require(next->payload().size() <= limit);
        read_values(*next);
        found.frames.push_back(std::to_string(static_cast<unsigned>(next->type())) + "/" + std::to_string(next->job()) +
                               "/" + std::string(cofferdam::as_text(next->payload())));
      }
    }
    found.pending = decoder.pending();
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::provider_lost);
    found.refused = true;
  }
  return found;
}

}  // namespace

COFFERDAM_FUZZ_TARGET(warden_protocol)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t limit = data[0] == 255 ? wire::max_payload : data[0];
  const std::size_t piece = 1 + data[1] % 40U;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);

  const decoded whole = decode(stream, limit, stream.size());
  require(decode(stream, limit, piece) == whole);
  require(decode(stream, limit, 1) == whole);
  // Each byte is in a frame, or belongs to an incomplete frame, or follows the refused position.
  std::size_t bytes = whole.pending;
  for (const std::string& described : whole.frames)
    bytes += wire::header_size + described.size() - described.find('/', described.find('/') + 1) - 1;
  require(whole.refused ? bytes < stream.size() : bytes == stream.size());
  return 0;
}
