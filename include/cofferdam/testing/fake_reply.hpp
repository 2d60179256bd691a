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

/// The scripted outcome of a command: `reply("a.txt\n")`, or `reply("half").then(50ms, "rest").exit_code(1)`.
///
/// Delays are counted on a simulated clock, so the load of the machine does not change the outcome. If the time limit
/// of a command passes before a piece of output is due, the command never writes that piece.
class reply {
 public:
  /// One piece of output and the delay before it.
  class piece {
   public:
    std::chrono::milliseconds wait{};  ///< the delay after the previous piece
    /// The stream on which the piece arrives.
    output_stream stream = output_stream::out;
    /// The bytes of the piece.
    bytes data;
  };

  /// Makes a reply that exits with 0.
  /// \param out  the text that the command writes to standard output at its start.
  reply(std::string_view out = "") : result_(command_result::exited(0)) { then({}, out); }
  /// Makes the same reply from a text literal.
  reply(const char* out) : reply(std::string_view(out)) {}
  /// Makes a reply from a complete result, such as `command_result::refused(error_kind::out_of_memory, "...")`.
  reply(command_result result) : result_(std::move(result)) {
    for (const captured_output* stream : {&result_.out(), &result_.err()}) {
      const output_stream which = stream == &result_.out() ? output_stream::out : output_stream::err;
      pieces_.push_back(piece{{}, which, stream->head()});
      pieces_.push_back(piece{{}, which, stream->tail()});
    }
  }

  /// Adds text to standard error, written directly after the previous piece.
  reply& err(std::string_view text) {
    pieces_.push_back(piece{{}, output_stream::err, to_bytes(text)});
    return *this;
  }
  /// Delays the whole reply.
  /// \param delay  the time from the start of the command to its first output. The command's time limit, a cancellation
  ///               or `close()` can end the delay early.
  reply& after(std::chrono::milliseconds delay) {
    pieces_.front().wait = delay;
    return *this;
  }
  /// Adds output to standard output after a delay. The command ends after its last piece. Without a text, the call only
  /// extends the run time: a command with `then(1h)` ends after an hour.
  reply& then(std::chrono::milliseconds delay, std::string_view out = "") {
    pieces_.push_back(piece{delay, output_stream::out, to_bytes(out)});
    return *this;
  }
  /// Sets the exit status.
  /// \param code  0 to 255; default 0.
  reply& exit_code(int code) {
    result_.exit_code(code);
    return *this;
  }
  /// Makes the command end by a signal instead of an exit.
  reply& term_signal(int number) {
    result_.exit_code(-1).term_signal(number);
    return *this;
  }

  /// Returns the output, piece by piece.
  const std::vector<piece>& pieces() const noexcept { return pieces_; }
  /// Returns the outcome: its exit status, signal and other fields. Its output is in `pieces()`.
  const command_result& result() const noexcept { return result_; }
  /// Returns the error that the command throws; absent if it does not throw.
  const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  friend reply fail_with(error failure);

  command_result result_;
  std::vector<piece> pieces_;
  std::optional<error> failure_;
};

/// Makes a reply that throws an error, as a failing environment does: `fail_with(error(exec_errc::provider_lost,
/// "..."))`.
inline reply fail_with(error failure) {
  reply result;
  result.failure_ = std::move(failure);
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
