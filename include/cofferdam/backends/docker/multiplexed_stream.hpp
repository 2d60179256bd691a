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

namespace cofferdam::inline v0::docker {

/// Which output a piece of an attach or exec stream belongs to.
enum class stream_channel : std::uint8_t {
  input = 0,   ///< what was written to it, echoed; daemons know it and do not send it
  output = 1,  ///< standard output
  error = 2,   ///< standard error
  system = 3,  ///< the daemon speaks itself: why it ends
};

/// A part of what a container printed. Points into what was given to `multiplexed_stream::next`.
class stream_piece {
 public:
  stream_piece(stream_channel channel, std::string_view content) : channel_(channel), content_(content) {}
  stream_channel channel() const noexcept { return channel_; }
  /// Never empty. Any bytes.
  std::string_view content() const noexcept { return content_; }

 private:
  stream_channel channel_;
  std::string_view content_;
};

/// Takes the stream of a container or an exec without a terminal apart. Sans-I/O, and nothing is copied or kept but a
/// head of 8 bytes: a frame comes in as many pieces as it was cut into.
///
/// ```
/// frame = channel(1) zero(3) length(4, big-endian) content(length)      ; a length of 0 is allowed
/// ```
/// With a terminal there are no frames, and this is not to be used.
/// \par Cost    no allocation; a frame may be up to 4 GiB long, since it is never held.
/// \par Source  Engine API, "Attach to a container", "Stream format".
class multiplexed_stream {
 public:
  /// Takes the next piece from the front of `input`; nothing once `input` is used up.
  /// \param  input  what came, cut anywhere; what is left when this returns goes in again, with nothing left out.
  /// \throws        error{errc::provider_failed}: a head that no daemon writes. The stream is not to be used any more.
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

  /// Whether the stream may end here: not inside a frame.
  bool may_end() const noexcept { return left_ == 0 && have_ == 0; }

  /// Says that nothing more comes.
  /// \throws error{errc::provider_lost}: it ended inside a frame. That it ended between two is no proof of success.
  void finish() const {
    if (!may_end())
      throw error(errc::provider_lost,
                  "docker: the container's output ends in the middle of a frame: the connection was cut");
  }

 private:
  void read_head() {
    have_ = 0;
    const auto byte = [this](std::size_t at) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(head_[at]));
    };
    if (byte(0) > 3 || byte(1) != 0 || byte(2) != 0 || byte(3) != 0)
      throw error(errc::provider_failed, "docker: the container's output has a frame of an unknown kind, " +
                                             std::to_string(byte(0)) +
                                             "; was it made with a terminal, which has no frames?");
    channel_ = static_cast<stream_channel>(byte(0));
    left_ = byte(4) << 24U | byte(5) << 16U | byte(6) << 8U | byte(7);
  }

  std::array<char, 8> head_{};
  std::size_t have_ = 0;
  std::uint32_t left_ = 0;
  stream_channel channel_ = stream_channel::output;
};

}  // namespace cofferdam::inline v0::docker
