// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The channel of a piece of output in the stream of a container or an exec.
enum class stream_channel : std::uint8_t {
  input = 0,   ///< the echoed input; daemons define this channel, but do not use it
  output = 1,  ///< standard output
  error = 2,   ///< standard error
  system = 3,  ///< a message of the daemon with the reason for the end
};

/// A piece of a container's output. It refers to the input of `multiplexed_stream::next`, so it is valid only as long
/// as that input.
class stream_piece {
 public:
  stream_piece(stream_channel channel, std::string_view content) : channel_(channel), content_(content) {}
  stream_channel channel() const noexcept { return channel_; }
  /// Returns the bytes of the piece; at least one. They need not be text.
  std::string_view content() const noexcept { return content_; }

 private:
  stream_channel channel_;
  std::string_view content_;
};

/// A parser of the output stream of a container or an exec without a terminal. It does no I/O: the caller passes
/// received bytes to `next`. It stores only the head of a frame (8 bytes), and returns the content of a frame in the
/// pieces in which it was received.
///
/// ```
/// frame = channel(1) zero(3) length(4, big-endian) content(length)      ; a length of 0 is allowed
/// ```
/// A stream with a terminal has no frames, and must not be parsed by this class.
/// \par Cost    no allocation. A frame may be up to 4 GiB long, because its content is not stored.
/// \par Source  Engine API, "Attach to a container", "Stream format".
class multiplexed_stream {
 public:
  /// Removes the next piece from the front of `input` and returns it. Returns no value when `input` is used up.
  /// \param  input  received bytes, cut anywhere. On return it contains the unused rest, which must be passed in again
  ///                before later bytes.
  /// \throws        error{exec_errc::provider_failed} if the head of a frame is invalid. The stream must not be used
  ///                after that.
  std::optional<stream_piece> next(std::string_view& input) {
    while (!input.empty()) {
      if (left_ == 0) {
        const std::size_t taken = std::min(input.size(), head_.size() - have_);
        std::copy_n(input.data(), taken, head_.data() + have_);
        have_ += taken;
        input.remove_prefix(taken);
        if (have_ == head_.size()) read_head();
        continue;
      }
      const std::string_view content = input.substr(0, left_);
      left_ -= static_cast<std::uint32_t>(content.size());
      input.remove_prefix(content.size());
      return stream_piece(channel_, content);
    }
    return std::nullopt;
  }

  /// Returns true if the stream is between two frames, so that it may end at this point.
  bool may_end() const noexcept { return left_ == 0 && have_ == 0; }

  /// Checks that the stream may end at this point. Call this when the stream has ended.
  /// \throws error{exec_errc::provider_lost} if the stream ended inside a frame. An end between two frames does not
  ///     prove that the program has succeeded.
  void finish() const {
    if (!may_end())
      throw error(exec_errc::provider_lost,
                  "docker: the container's output ends in the middle of a frame: the connection was cut");
  }

 private:
  void read_head() {
    have_ = 0;
    const auto byte = [this](std::size_t at) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(head_[at]));
    };
    if (byte(0) > 3 || byte(1) != 0 || byte(2) != 0 || byte(3) != 0)
      throw error(exec_errc::provider_failed, "docker: the container's output has a frame of the unknown kind " +
                                                  std::to_string(byte(0)) +
                                                  "; if the container has a terminal, its output has no frames");
    channel_ = static_cast<stream_channel>(byte(0));
    left_ = byte(4) << 24U | byte(5) << 16U | byte(6) << 8U | byte(7);
  }

  std::array<char, 8> head_{};
  std::size_t have_ = 0;
  std::uint32_t left_ = 0;
  stream_channel channel_ = stream_channel::output;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
