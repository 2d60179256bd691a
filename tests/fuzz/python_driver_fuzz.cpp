// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the reader of the Python driver's output gets any bytes. (The driver is the program in the sandbox that
// runs Python code.) The frames must not depend on the size of the pieces. Invalid input must lead to an error, or to a
// result with an error.
// Input: one byte for the size of the pieces, one for the operation, then the output.

#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/driver_report.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

std::string frames_of(std::string_view all, std::size_t piece) {
  cofferdam::detail::driver_frames frames(4096);
  std::string seen;
  try {
    for (std::size_t at = 0; at < all.size(); at += piece) {
      frames.append(cofferdam::as_bytes(all.substr(at, piece)));
      while (const std::optional<cofferdam::detail::driver_frame> one = frames.next())
        seen += std::to_string(one->header.size()) + "," + std::to_string(one->body.size()) + ";";
    }
  } catch (const cofferdam::error&) {
    seen += "error";
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1 + data[0] % 40U;
  const std::string_view said(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[1] % 2 == 0) {
    const std::string all = std::string(cofferdam::detail::driver_greeting) + std::string(said);
    require(frames_of(all, piece) == frames_of(all, all.size()), "the pieces do not matter");
    require(frames_of(said, piece) == frames_of(said, said.size()), "nor do they without a greeting");
    return 0;
  }
  boost::json::object header;
  header["exit"] = 0;
  const cofferdam::code_result result =
      cofferdam::detail::read_end(header, cofferdam::as_bytes(said), {}, data[1] % 4 == 1);
  if (result.success()) require(!result.failure(), "a success has no failure");
  static_cast<void>(cofferdam::detail::read_display(cofferdam::as_bytes(said)));
  return 0;
}
