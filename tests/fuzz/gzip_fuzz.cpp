// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the gzip decoder gets any bytes. It must return the same content, or the same refusal, however the
// stream is cut, and never more content than the limit.
// Input: one byte for the size of the pieces; if its highest bit is set, a valid header is inserted before the rest.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/gzip_decoder.hpp>

#include "fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t most = 200'000;

void require(bool holds) {
  if (!holds) std::abort();
}

struct outcome {
  std::string content;
  bool is_complete = false;
  cofferdam::exec_errc refused{};
  bool operator==(const outcome&) const = default;
};

outcome decode(std::string_view stream, std::size_t piece) {
  outcome found;
  cofferdam::detail::gzip_decoder decoder(most);
  try {
    while (!stream.empty()) {
      const std::string_view next = stream.substr(0, piece);
      stream.remove_prefix(next.size());
      decoder.feed(cofferdam::as_bytes(next));
      while (decoder.next() == cofferdam::detail::gzip_decoder::event::output) {
        require(!decoder.output().empty() && decoder.output().size() <= 32 * 1024);
        found.content += cofferdam::as_text(decoder.output());
      }
    }
    found.is_complete = decoder.is_complete();
  } catch (const cofferdam::error& refusal) {
    found.refused = static_cast<cofferdam::exec_errc>(refusal.code().value());
    found.content.clear();  // the size of the content before a refusal depends on the pieces
  }
  require(found.content.size() <= most);
  return found;
}

}  // namespace

COFFERDAM_FUZZ_TARGET(gzip)(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string stream;
  if ((data[0] & 0x80U) != 0) stream.assign("\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
  stream.append(reinterpret_cast<const char*>(data) + 1, size - 1);
  const outcome whole = decode(stream, stream.size() + 1);
  require(decode(stream, 1) == whole);
  require(decode(stream, (data[0] & 0x7FU) + std::size_t{1}) == whole);
  return 0;
}
