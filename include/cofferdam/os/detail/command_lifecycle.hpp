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

// The lifecycle of a command as a state machine that does no I/O. The owner, a `running_command`, reports events, and
// the machine returns actions. The machine uses neither Asio nor descriptors, and reads no clock. The grace period and
// the linger time are explained at `paced_by`, the outputs of the command at `output`.
//
// state    meaning                                        event or condition: actions -> next state
// -------  ---------------------------------------------  -----------------------------------------------------------
// running  The command runs.                              end_asked, kill_asked -> ending
//                                                         exited -> exited
//                                                         left_running -> parted
//                                                         nothing_left -> over
// ending   The command runs. Its end was requested, or    grace_over: kill (the state stays)
//          it was killed.                                 exited -> exited
//                                                         left_running -> parted
//                                                         nothing_left -> over
// exited   The command has ended. Its outputs or other    left_running -> parted
//          processes of it may still be open or running.  nothing_left -> over
//                                                         with paced_by::us: both outputs ended, or linger_over:
//                                                         conclude (the state stays)
// parted   The command has ended, but other processes of  all output of the result read: finish -> kept
//          it continue. The result gets the output that   nothing_left -> over
//          was in the pipes at that time.
// kept     As `parted`, but the result exists. Later      nothing_left: close_outputs -> settled
//          output is discarded.
// over     The command and its processes have ended. The  all output of the result read: finish, close_outputs ->
//          result gets the output in the pipes.           settled
// settled  The result exists, and nothing else is left.   none
//
// Only the first reason to end a command counts. The result is made once, when its output is complete.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The reason why this program ends a command.
enum class end_reason : std::uint8_t { none, timeout, cancelled, closed };

/// The component that measures two times: the grace period between SIGTERM and SIGKILL, and the linger time, for which
/// outputs are read after the command has ended.
enum class paced_by : std::uint8_t {
  /// This program: the two times are started by actions, and their ends are reported as events.
  us,
  /// The `command_transport`, which connects the owner to the process. It reports when no process of the command is
  /// left.
  transport,
};

/// The state machine of one command. Its owner reports events, and then performs the actions that `next` returns, until
/// `next` returns `none`.
class command_lifecycle {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  enum class state : std::uint8_t { running, ending, exited, parted, kept, over, settled };
  enum class output : std::uint8_t {
    open,      ///< more of this output belongs to the result
    complete,  ///< no more of this output belongs to the result, but it may still be read
    ended,     ///< nothing more is read from this output
  };
  enum class action : std::uint8_t {
    none,
    ask_to_end,     ///< begin to end the command, for the reason `asked_for()`
    kill,           ///< send SIGKILL
    wait_grace,     ///< report `grace_over` after the grace period; this replaces a wait under way
    wait_linger,    ///< report `linger_over` after the linger time; this replaces a wait under way
    close_input,    ///< close the command's input, because the command has ended
    take_output,    ///< read both outputs, each call at most `allowance()` bytes, and report each read by `took`
    conclude,       ///< end the other processes of the command, take its status, and report `nothing_left`
    finish,         ///< make the result
    close_outputs,  ///< close the outputs that are still open, and the terminal
    wake,           ///< wake all coroutines that wait for a change
  };
  /// The number of bytes that are available in each of the two outputs.
  using amounts = std::array<std::size_t, 2>;

  explicit command_lifecycle(paced_by pace) noexcept : pace_(pace) {}

  // ---- events ----

  /// Reports that the command must end, for this reason.
  void end_asked(end_reason reason) noexcept {
    const bool too_late = is_over() || (pace_ == paced_by::us && state_ == state::exited);
    if (too_late || ended_by_ != end_reason::none) return;
    asked_for_ = reason;
    note_end(reason);
    begin_ending();
    put(action::ask_to_end);
    if (pace_ == paced_by::us) put(action::wait_grace);
  }

  /// Reports that the command must be killed.
  /// \return true if the caller must send SIGKILL now. `next` returns no action for it.
  bool kill_asked() noexcept {
    if (is_over()) return false;
    is_killed_ = true;
    begin_ending();
    return true;
  }

  /// Reports the reason why the owner or the transport ends the command by itself, without `end_asked`. No action
  /// follows.
  void note_end(end_reason reason) noexcept {
    if (!is_finished() && ended_by_ == end_reason::none) ended_by_ = reason;
  }

  /// Reports that from now on all output must be read as it arrives, and not only when the program reads.
  void drain() noexcept {
    if (is_draining_ || is_settled()) return;
    is_draining_ = true;
    put(action::take_output);
  }

  /// Reports that the exit status of the command is known.
  void status_known() noexcept { has_status_ = true; }

  /// Reports that the command itself has ended. With `paced_by::transport`, this event may be omitted.
  void exited() noexcept {
    if (state_ != state::running && state_ != state::ending) return;
    state_ = state::exited;
    put(action::close_input);
    take_output();
    is_linger_due_ = pace_ == paced_by::us;
  }

  /// Reports that the command itself has ended, while other processes of it continue.
  /// \param now       the time of the end.
  /// \param standing  the number of unread bytes in each output now. They are the last bytes of the result.
  void left_running(time_point now, amounts standing) noexcept {
    if (state_ > state::exited || is_concluding_) return;
    if (state_ < state::exited) put(action::close_input);
    state_ = state::parted;
    ended_at_ = now;
    left_ = standing;
    take_output();
    put(action::wake);
  }

  /// Reports that no process of the command is left, or that nothing more can be learnt about the command.
  /// \param now       the time of the end.
  /// \param standing  the number of unread bytes in each output now. They are the last bytes of the result, unless
  ///                  `left_running` was reported before.
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

  /// Reports that the grace period has expired.
  void grace_over() noexcept {
    if (pace_ != paced_by::us || state_ > state::exited || is_concluding_) return;
    begin_ending();
    is_killed_ = true;
    put(action::kill);
    is_linger_due_ = state_ == state::exited;
  }

  /// Reports that the linger time has expired.
  void linger_over() noexcept {
    if (pace_ == paced_by::us && state_ == state::exited) put_conclusion();
  }

  /// Reports that an output was read.
  /// \param index  0 for standard output, 1 for standard error.
  /// \param got    the number of bytes; 0 at the end of the output or if `allowance` is 0; -1 if nothing is available
  ///               now.
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

  /// Reports that an output does not exist or cannot be read.
  void lost(std::size_t index) noexcept { outputs_[index] = output::ended; }

  // ---- actions ----

  /// Returns the next action, or `none`. Each action is returned once for each time it is due.
  action next() noexcept {
    if (const action due = take_pending(action::conclude); due != action::none) return due;
    if (pace_ == paced_by::us && state_ == state::exited) {
      if (has(output::ended)) put_conclusion();
      if (const action due = take_pending(action::conclude); due != action::none) return due;
      // If the end of the command was requested, its other processes have the rest of the grace period instead of the
      // linger time.
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
  /// Returns true if the result exists, or will be made by the current action.
  bool is_finished() const noexcept { return state_ == state::kept || state_ == state::settled; }
  bool is_settled() const noexcept { return state_ == state::settled; }
  /// Returns true if no process of the command is left and its status was taken.
  bool is_over() const noexcept { return state_ >= state::over; }
  /// Returns true if output must be read as it arrives.
  bool takes_output() const noexcept { return is_draining_ || is_finished(); }
  output output_state(std::size_t index) const noexcept { return outputs_[index]; }
  /// Returns true if all output that belongs to the result was read.
  bool has_all_output() const noexcept { return has(output::complete); }
  /// Returns how many bytes of an output may be read now.
  /// \param index  0 for standard output, 1 for standard error.
  /// \param room   the maximum, in bytes.
  std::size_t allowance(std::size_t index, std::size_t room) const noexcept {
    const bool is_counted = state_ == state::parted || state_ == state::over;
    return is_counted ? std::min(left_[index], room) : room;
  }
  /// Returns the first reason for which the command was ended.
  end_reason ended_by() const noexcept { return ended_by_; }
  /// Returns the reason for the last action `ask_to_end`.
  end_reason asked_for() const noexcept { return asked_for_; }
  bool has_status() const noexcept { return has_status_; }
  /// Returns the time at which the command ended. Valid in the states `parted`, `kept`, `over` and `settled`.
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

  /// Removes and returns the first pending action, in the order of the enumeration, up to and including `last`.
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

  /// Returns true if both outputs have reached this state or a later one.
  bool has(output least) const noexcept { return outputs_[0] >= least && outputs_[1] >= least; }

  paced_by pace_;
  state state_ = state::running;
  std::array<output, 2> outputs_{};
  end_reason ended_by_ = end_reason::none;
  end_reason asked_for_ = end_reason::none;
  bool is_killed_ = false;
  bool is_draining_ = false;
  bool has_status_ = false;
  bool is_linger_due_ = false;  // true if the linger time must start once the outputs have been read
  bool is_concluding_ = false;
  std::uint16_t pending_ = 0;
  amounts left_{};  // the bytes that still belong to the result, as counted by `left_running` or `nothing_left`
  time_point ended_at_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
