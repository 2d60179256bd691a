// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

// The life of a command as a sans-I/O state machine: events go in, actions come out. It uses neither Asio nor
// descriptors, and reads no clock.
//
// state    the command                                   leaves it by
// -------  --------------------------------------------  -------------------------------------------------------------
// running  runs                                          end_asked, kill_asked -> ending
//                                                        exited -> exited; left_running -> parted; nothing_left -> over
// ending   runs, and has to end or was killed            grace_over: kill, and stays
//                                                        exited -> exited; left_running -> parted; nothing_left -> over
// exited   has ended; its outputs, and what is left of   left_running -> parted; nothing_left -> over
//          it, are waited for                            paced by us: both outputs ended, or linger_over: conclude
// parted   has ended, and what it left running goes on;  all of that output taken: finish -> kept
//          the result has what stood in the outputs      nothing_left -> over
// kept     the same, and its result is there; what       nothing_left: close_outputs -> settled
//          comes in its outputs now is thrown away
// over     is over, with all that it started; the        all of that output taken: finish, close_outputs -> settled
//          result has what stood in the outputs
// settled  has a result, and nothing of it is left       -
//
// Only the first reason to end a command counts. A result is finished once, and never before its outputs are complete.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The reason for which this program ends a command.
enum class end_reason : std::uint8_t { none, timeout, cancelled, closed };

/// The side that measures the two times of an end: the grace period between SIGTERM and SIGKILL, and the linger time of
/// the outputs.
enum class paced_by : std::uint8_t {
  us,         ///< The grace and the linger time are actions, and their ends are events.
  transport,  ///< The transport measures them, and reports when nothing of the command is left.
};

/// The state machine. Its owner reports events, and then performs the actions that `next` returns, until that is
/// `none`.
class command_lifecycle {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  enum class state : std::uint8_t { running, ending, exited, parted, kept, over, settled };
  enum class output : std::uint8_t {
    open,      ///< More of it belongs to the result.
    complete,  ///< No more of it belongs to the result, but it may still be read.
    ended,     ///< Nothing more is read from it.
  };
  enum class action : std::uint8_t {
    none,
    ask_to_end,     ///< Begin the end, for the reason `asked_for`.
    kill,           ///< Send SIGKILL.
    wait_grace,     ///< Report `grace_over` after the grace. Replaces a wait under way.
    wait_linger,    ///< Report `linger_over` after the linger time. Replaces a wait under way.
    close_input,    ///< The command has closed its input.
    take_output,    ///< Read both outputs, as far as `allowance` lets it, and report each read.
    conclude,       ///< End what is left of the command, take its status, and report `nothing_left`.
    finish,         ///< Make the result.
    close_outputs,  ///< Close the outputs that are not closed, and the terminal.
    wake,           ///< Wake all coroutines that wait for a change.
  };
  /// The number of bytes that are available in each output.
  using amounts = std::array<std::size_t, 2>;

  explicit command_lifecycle(paced_by pace) noexcept : pace_(pace) {}

  // ---- events ----

  /// The end of the command was requested.
  void end_asked(end_reason reason) noexcept {
    const bool too_late = is_over() || (pace_ == paced_by::us && state_ == state::exited);
    if (too_late || ended_by_ != end_reason::none) return;
    asked_for_ = reason;
    note_end(reason);
    begin_ending();
    put(action::ask_to_end);
    if (pace_ == paced_by::us) put(action::wait_grace);
  }

  /// The command must be killed.
  /// \return true if SIGKILL has to be sent at once; `next` does not return an action for it.
  bool kill_asked() noexcept {
    if (is_over()) return false;
    is_killed_ = true;
    begin_ending();
    return true;
  }

  /// Another cause has ended the command, for this reason.
  void note_end(end_reason reason) noexcept {
    if (!is_finished() && ended_by_ == end_reason::none) ended_by_ = reason;
  }

  /// From now on all output is read as it arrives.
  void drain() noexcept {
    if (is_draining_ || is_settled()) return;
    is_draining_ = true;
    put(action::take_output);
  }

  /// The status of the command is known.
  void status_known() noexcept { has_status_ = true; }

  /// The command itself has ended. May be left out if the transport keeps the times.
  void exited() noexcept {
    if (state_ != state::running && state_ != state::ending) return;
    state_ = state::exited;
    put(action::close_input);
    take_output();
    is_linger_due_ = pace_ == paced_by::us;
  }

  /// The command itself has ended, and some of its processes continue.
  /// \param standing  the bytes that are now in the outputs, which are the last of the result.
  void left_running(time_point now, amounts standing) noexcept {
    if (state_ > state::exited || is_concluding_) return;
    if (state_ < state::exited) put(action::close_input);
    state_ = state::parted;
    ended_at_ = now;
    left_ = standing;
    take_output();
    put(action::wake);
  }

  /// Nothing more of the command is awaited: nothing of it runs, or this is unknown.
  /// \param standing  the bytes that are now in the outputs, which are the last of the result, unless the command has
  ///                  parted.
  void nothing_left(time_point now, amounts standing) noexcept {
    if (is_over()) return;
    is_concluding_ = true;
    is_linger_due_ = false;
    pending_ &= static_cast<std::uint16_t>(~(bit(action::ask_to_end) | bit(action::kill) | bit(action::wait_grace) |
                                             bit(action::wait_linger) | bit(action::conclude)));
    if (state_ == state::kept) return settle();
    if (state_ < state::exited) put(action::close_input);
    if (state_ != state::parted) {
      ended_at_ = now;
      left_ = standing;
    }
    state_ = state::over;
    take_output();
    put(action::wake);
  }

  void grace_over() noexcept {
    if (pace_ != paced_by::us || state_ > state::exited || is_concluding_) return;
    begin_ending();
    is_killed_ = true;
    put(action::kill);
    is_linger_due_ = state_ == state::exited;
  }

  void linger_over() noexcept {
    if (pace_ == paced_by::us && state_ == state::exited) put_conclusion();
  }

  /// An output was read.
  /// \param got  the number of bytes; 0 at its end, or if `allowance` is 0; -1 if nothing is available now.
  void took(std::size_t index, ssize_t got) noexcept {
    output& its = outputs_[index];
    if (its == output::ended) return;
    const bool is_counted = state_ == state::parted || state_ == state::over;
    if (got > 0) {
      if (is_counted) left_[index] -= std::min(left_[index], static_cast<std::size_t>(got));
    } else if (got == 0) {
      its = state_ == state::parted && left_[index] == 0 ? output::complete : output::ended;
    } else if (is_over()) {
      its = output::ended;
    }
  }

  /// An output cannot be read, or there is none.
  void lost(std::size_t index) noexcept { outputs_[index] = output::ended; }

  // ---- actions ----

  /// Returns the next action. Each action is returned once for each time it is due.
  action next() noexcept {
    if (const action due = take_pending(action::conclude); due != action::none) return due;
    if (pace_ == paced_by::us && state_ == state::exited) {
      if (has(output::ended)) put_conclusion();
      if (const action due = take_pending(action::conclude); due != action::none) return due;
      // After a request to end the command, its remaining processes have the rest of the grace period.
      const bool lingers = is_linger_due_ && (ended_by_ == end_reason::none || is_killed_);
      is_linger_due_ = false;
      if (lingers) return action::wait_linger;
    }
    if (state_ == state::parted && has(output::complete)) {
      state_ = state::kept;
      put(action::take_output);
      put(action::wake);
      return action::finish;
    }
    if (state_ == state::over && has(output::complete)) {
      settle();
      return action::finish;
    }
    return take_pending(action::wake);
  }

  // ---- current state ----

  state current() const noexcept { return state_; }
  /// The result exists, or is about to be made.
  bool is_finished() const noexcept { return state_ == state::kept || state_ == state::settled; }
  bool is_settled() const noexcept { return state_ == state::settled; }
  /// Nothing of the command runs, and its status is taken.
  bool is_over() const noexcept { return state_ >= state::over; }
  /// Output is to be taken as it comes.
  bool takes_output() const noexcept { return is_draining_ || is_finished(); }
  output output_state(std::size_t index) const noexcept { return outputs_[index]; }
  /// All output that belongs to the result was taken.
  bool has_all_output() const noexcept { return has(output::complete); }
  /// Returns how many bytes of an output may be read at once, at most `room`.
  std::size_t allowance(std::size_t index, std::size_t room) const noexcept {
    const bool is_counted = state_ == state::parted || state_ == state::over;
    return is_counted ? std::min(left_[index], room) : room;
  }
  /// The first reason for which the command was ended.
  end_reason ended_by() const noexcept { return ended_by_; }
  /// The reason of the last `ask_to_end`.
  end_reason asked_for() const noexcept { return asked_for_; }
  bool has_status() const noexcept { return has_status_; }
  /// The time of the end. Holds from `parted` or `over` on.
  time_point ended_at() const noexcept { return ended_at_; }

  /// An arbitrary order, so that a test can put all states into a set.
  friend auto operator<=>(const command_lifecycle&, const command_lifecycle&) = default;

 private:
  static constexpr std::uint16_t bit(action due) noexcept {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(due));
  }

  void put(action due) noexcept { pending_ = static_cast<std::uint16_t>(pending_ | bit(due)); }

  void put_conclusion() noexcept {
    if (is_concluding_) return;
    is_concluding_ = true;
    is_linger_due_ = false;
    put(action::conclude);
  }

  /// The first pending action, in the order of their declaration, if it is not behind `last`.
  action take_pending(action last) noexcept {
    if (pending_ == 0) return action::none;
    for (auto each = static_cast<unsigned>(action::ask_to_end); each <= static_cast<unsigned>(last); ++each) {
      const auto due = static_cast<action>(each);
      if ((pending_ & bit(due)) == 0) continue;
      pending_ = static_cast<std::uint16_t>(pending_ & ~bit(due));
      return due;
    }
    return action::none;
  }

  void begin_ending() noexcept {
    if (state_ == state::running) state_ = state::ending;
  }

  void take_output() noexcept {
    if (is_draining_) put(action::take_output);
  }

  void settle() noexcept {
    state_ = state::settled;
    outputs_ = {output::ended, output::ended};
    pending_ = bit(action::close_outputs) | bit(action::wake);
  }

  /// Both outputs have reached that state, or a later one.
  bool has(output least) const noexcept { return outputs_[0] >= least && outputs_[1] >= least; }

  paced_by pace_;
  state state_ = state::running;
  std::array<output, 2> outputs_{};
  end_reason ended_by_ = end_reason::none;
  end_reason asked_for_ = end_reason::none;
  bool is_killed_ = false;
  bool is_draining_ = false;
  bool has_status_ = false;
  bool is_linger_due_ = false;  // once the outputs have been read
  bool is_concluding_ = false;
  std::uint16_t pending_ = 0;
  amounts left_{};  // the available bytes at the last count that were not read since
  time_point ended_at_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
