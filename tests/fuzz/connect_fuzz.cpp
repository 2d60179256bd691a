// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The readers of Connect streams and errors on any bytes. The first byte says how the stream is cut; cut otherwise it has
// to be read alike.

#include <cofferdam/core/error.hpp>
#include <cofferdam/net/connect_envelope.hpp>
#include <cofferdam/net/connect_error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string read_stream(std::string_view text, std::size_t size) {
  connect_envelope_reader reader(512);
  std::string all;
  try {
    for (std::size_t at = 0; at < text.size(); at += size) {
      std::string_view piece = text.substr(at, size);
      while (const std::optional<connect_envelope> one = reader.next(piece)) {
        require(one->payload().size() <= 512);
        require(one->is_end() == reader.ended());
        all += (one->is_end() ? "end " : "message ") + std::string(one->payload()) + "\n";
      }
      require(piece.empty());
    }
    reader.finish();
    all += "whole";
  } catch (const error& failure) {
    all += failure.what();
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_stream(text, text.size() + 1);
  require(read_stream(text, data[0] % 16U + 1U) == whole);
  const connect_failure failure = read_connect_failure(100U + data[0] * 2U % 500U, text);
  require(read_connect_failure(500, connect_failure_text(failure)).code() == failure.code());
  try {
    const std::optional<connect_failure> end = read_connect_end(text);
    if (end) require(read_connect_end(connect_end_text(*end))->message() == end->message());
  } catch (const error& broken) {
    require(broken.code() == errc::io_error);
  }
  const std::string wire = connect_message(text.substr(0, 512)) + connect_end();
  require(read_stream(wire, 3) == "message " + std::string(text.substr(0, 512)) + "\nend {}\nwhole");
  return 0;
}
