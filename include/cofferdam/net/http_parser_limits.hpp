// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>

namespace cofferdam::inline COFFERDAM_ABI {

/// The limits of a head. A larger head is `error{errc::io_error}` with `net_errc::head_too_large` or `too_many_fields`.
class http_parser_limits {
 public:
  http_parser_limits() = default;

  std::size_t line = 16 * 1024;  ///< bytes of one line, without its end
  std::size_t head = 64 * 1024;  ///< bytes of all lines of a head, and of all trailers
  std::size_t fields = 256;      ///< lines of a head, and of trailers
  std::size_t interim = 32;      ///< interim answers (1xx) before the final one
};

}  // namespace cofferdam::inline COFFERDAM_ABI
