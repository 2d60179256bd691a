// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The scripted outcome of a command: `reply("a.txt\n")`, `reply("half").then(50ms, "rest").exit_code(1)`.
///
/// Delays are counted on a simulated clock. If the time limit of a command passes before a piece of output is due, the
/// command never writes that piece. The load of the machine does not matter.
class reply {
 public:
  /// One piece of output.
  class piece {
   public:
    std::chrono::milliseconds wait{};  ///< since the piece before it
    output_stream stream = output_stream::out;
    bytes data;
  };

  /// \param out  standard output, written at once.
  reply(std::string_view out = "") : result_(command_result::exited(0)) { then({}, out); }
  reply(const char* out) : reply(std::string_view(out)) {}
  /// Takes a whole result, such as `command_result::refused(error_kind::out_of_memory, "...")`.
  reply(command_result result) : result_(std::move(result)) {
    for (const captured_output* stream : {&result_.out(), &result_.err()}) {
      const output_stream which = stream == &result_.out() ? output_stream::out : output_stream::err;
      pieces_.push_back(piece{{}, which, stream->head()});
      pieces_.push_back(piece{{}, which, stream->tail()});
    }
  }

  /// Adds text to standard error.
  reply& err(std::string_view text) {
    pieces_.push_back(piece{{}, output_stream::err, to_bytes(text)});
    return *this;
  }
  /// Delays the whole reply, counted from the start of the command. The delay ends early at the command's time limit,
  /// by cancellation and by `close()`.
  reply& after(std::chrono::milliseconds delay) {
    pieces_.front().wait = delay;
    return *this;
  }
  /// Adds output that comes later; the command ends with its last output. Without text: `then(1h)` still runs after an
  /// hour.
  reply& then(std::chrono::milliseconds delay, std::string_view out = "") {
    pieces_.push_back(piece{delay, output_stream::out, to_bytes(out)});
    return *this;
  }
  /// \param code  0 to 255.
  reply& exit_code(int code) {
    result_.exit_code(code);
    return *this;
  }
  /// Ends the command by a signal instead of an exit.
  reply& term_signal(int number) {
    result_.exit_code(-1).term_signal(number);
    return *this;
  }

  const std::vector<piece>& pieces() const noexcept { return pieces_; }
  /// Returns the outcome without its output.
  const command_result& result() const noexcept { return result_; }
  const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  friend reply fail_with(error failure);

  command_result result_;
  std::vector<piece> pieces_;
  std::optional<error> failure_;
};

/// Makes a reply that throws: the environment itself has failed. `fail_with(error(exec_errc::provider_lost, "..."))`.
inline reply fail_with(error failure) {
  reply result;
  result.failure_ = std::move(failure);
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
