// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the reader of the Python driver's output gets any bytes. (The driver is the program in the sandbox that
// runs Python code.) The frames must not depend on the size of the pieces. Invalid input must lead to an error, or to a
// result with an error.
// Input: one byte for the size of the pieces, one for the operation, then the output.

#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/driver_report.hpp>

#include "fuzz/target.hpp"

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

std::string frames_of(std::string_view stream, std::size_t piece) {
  cofferdam::detail::driver_frames frames(4096);
  std::string sizes;
  try {
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      frames.append(cofferdam::as_bytes(stream.substr(at, piece)));
      while (const std::optional<cofferdam::detail::driver_frame> frame = frames.next())
        sizes += std::to_string(frame->header.size()) + "," + std::to_string(frame->body.size()) + ";";
    }
  } catch (const cofferdam::error&) {
    sizes += "error";
  }
  return sizes;
}

}  // namespace

COFFERDAM_FUZZ_TARGET(python_driver)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1 + data[0] % 40U;
  const std::string_view output(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[1] % 2 == 0) {
    const std::string greeted = std::string(cofferdam::detail::driver_greeting) + std::string(output);
    require(frames_of(greeted, piece) == frames_of(greeted, greeted.size()), "the pieces do not matter");
    require(frames_of(output, piece) == frames_of(output, output.size()), "nor do they without a greeting");
    return 0;
  }
  boost::json::object header;
  header["exit"] = 0;
  const cofferdam::code_result result =
      cofferdam::detail::read_end(header, cofferdam::as_bytes(output), {}, data[1] % 4 == 1);
  if (result.ok()) require(!result.failure(), "a success has no failure");
  static_cast<void>(cofferdam::detail::read_display(cofferdam::as_bytes(output)));
  return 0;
}
