// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// Converts messages between the host and the driver (the Python program that runs the code) to frames and back. A frame
// (see python_driver/base.py) has these parts:
//
// * the length of all that follows, in 32 bits, big-endian
// * the length of the header, in 32 bits, big-endian
// * the header, a JSON object
// * the body, any bytes

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline constexpr std::string_view driver_greeting = "\ncofferdam python driver 1\n";
/// The maximum sizes in bytes: of a frame's header, and of output before the driver's greeting. A start-up file of
/// Python may print such output.
inline constexpr std::size_t max_driver_header = 16 * 1024 * 1024;
inline constexpr std::size_t max_driver_preamble = 64 * 1024;

inline std::string big_endian_32(std::size_t number) {
  std::string text(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) text[i] = static_cast<char>(number >> (24 - 8 * i) & 255U);
  return text;
}

/// Returns a frame as bytes.
/// \throws error{exec_errc::too_large} if the frame would have more than 2 GiB.
inline bytes driver_frame_of(const boost::json::object& header, std::string_view body) {
  const std::string text = boost::json::serialize(header);
  const std::size_t rest = 4 + text.size() + body.size();
  if (rest > 0x7FFFFFFFU)
    throw error(exec_errc::too_large, "run_code: the code and its variables are larger than 2 GiB");
  const std::string sizes = big_endian_32(rest) + big_endian_32(text.size());
  bytes frame;
  frame.reserve(4 + rest);
  const auto add = [&frame](std::string_view part) {
    const bytes_view view = as_bytes(part);
    frame.insert(frame.end(), view.begin(), view.end());
  };
  add(sizes);
  add(text);
  add(body);
  return frame;
}

class driver_frame {
 public:
  boost::json::object header;
  bytes body;
};

/// A parser that splits the driver's output into frames. It does no I/O. The output may be cut at any byte.
class driver_frames {
 public:
  /// \param longest  the maximum size of a frame, in bytes.
  explicit driver_frames(std::size_t longest) : longest_(longest) {}

  /// Raises the maximum size of a frame, for a run that keeps more output.
  void raise_longest(std::size_t longest) noexcept { longest_ = std::max(longest_, longest); }

  void append(bytes_view data) {
    // Frees the memory of an earlier large frame.
    if (at_ == held_.size() && held_.capacity() > 1024 * 1024) held_ = bytes();
    if (at_ > 0 && !held_.empty()) held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    held_.insert(held_.end(), data.begin(), data.end());
  }

  /// Returns the next complete frame; no value if more input is needed.
  /// \throws error{exec_errc::io_error} if the input does not come from a driver. The parser cannot be used after this
  ///     error.
  std::optional<driver_frame> next() {
    if (!greeted_ && !take_greeting()) return std::nullopt;
    if (held_.size() - at_ < 8) return std::nullopt;
    const std::size_t rest = number(at_);
    const std::size_t header = number(at_ + 4);
    if (rest < 4 || header > rest - 4 || header > max_driver_header || rest > longest_)
      throw error(exec_errc::io_error, "the Python driver sent an invalid frame");
    if (held_.size() - at_ < 4 + rest) return std::nullopt;
    const std::string_view content = as_text(held_).substr(at_ + 8, rest - 4);
    const bytes_view body = as_bytes(content.substr(header));
    driver_frame frame{parse(content.substr(0, header)), bytes(body.begin(), body.end())};
    at_ += 4 + rest;
    return frame;
  }

  bool greeted() const noexcept { return greeted_; }

 private:
  static boost::json::object parse(std::string_view text) {
    // The members of a header share blocks of memory. Values for users are in the body.
    std::error_code cause;
    boost::json::value value =
        parse_untrusted_json(text, cause, {}, boost::json::make_shared_resource<boost::json::monotonic_resource>());
    if (cause || !value.is_object())
      throw error(exec_errc::io_error, "the Python driver sent a frame whose header is not a JSON object");
    return std::move(value.get_object());
  }

  bool take_greeting() {
    const std::string_view text = as_text(held_).substr(at_);
    const std::size_t found = text.find(driver_greeting);
    if (found == std::string_view::npos) {
      if (text.size() > max_driver_preamble)
        throw error(exec_errc::io_error, "the interpreter printed other text on the channel of the Python driver");
      return false;
    }
    at_ += found + driver_greeting.size();
    greeted_ = true;
    return true;
  }

  std::size_t number(std::size_t at) const noexcept {
    std::size_t result = 0;
    for (std::size_t i = 0; i < 4; ++i) result = result << 8U | std::to_integer<std::size_t>(held_[at + i]);
    return result;
  }

  std::size_t longest_;
  bytes held_;
  std::size_t at_ = 0;
  bool greeted_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
