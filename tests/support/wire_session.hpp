// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

#include "support/hostile.hpp"
#include "support/wire_client.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace cofferdam_test {

/// The content of a `spawn` frame, which makes a warden (the helper program in a sandbox) start one command (a job).
struct wire_command {
  struct limit {
    std::uint32_t resource;
    std::uint64_t soft;
    std::uint64_t hard;
  };

  std::uint32_t flags = 0;
  std::uint32_t uid = cofferdam::detail::wire::keep_id;
  std::uint32_t gid = cofferdam::detail::wire::keep_id;
  std::uint64_t timeout_ms = 0;
  std::uint32_t grace_ms = 0;
  std::uint32_t linger_ms = 0;
  std::uint64_t output_cap = 0;
  std::uint32_t window = 256 * 1024;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::vector<limit> limits{};
  std::string directory{};
  std::vector<std::string> candidates{};
  std::vector<std::string> words{};
  std::vector<std::string> variables{"PATH=/usr/bin:/bin"};

  static wire_command of(std::vector<std::string> words) {
    wire_command command;
    command.candidates = {words.front()};
    command.words = std::move(words);
    return command;
  }
  static wire_command shell(std::string line) { return of({"/bin/sh", "-c", std::move(line)}); }

  std::string payload() const {
    wire_payload to;
    to.number(flags).number(uid).number(gid).number(timeout_ms).number(grace_ms).number(linger_ms).number(output_cap);
    to.number(window).number(rows).number(columns).number(static_cast<std::uint32_t>(limits.size()));
    for (const limit& bound : limits) to.number(bound.resource).number(bound.soft).number(bound.hard);
    to.string(directory).strings(candidates).strings(words).strings(variables);
    return to.bytes();
  }
};

/// Returns the bytes of a frame: header and payload.
inline std::string wire_bytes(cofferdam::detail::wire::frame_type type, std::uint32_t job,
                              std::string_view payload = {}) {
  wire_payload head;
  head.number(static_cast<std::uint32_t>(payload.size())).number(static_cast<std::uint8_t>(type)).number(job);
  return head.bytes() + std::string(payload);
}

/// The frames that were received for one job, decoded.
struct wire_outcome {
  std::string out;
  std::string err;
  std::uint64_t credit = cofferdam::detail::wire::input_window;  ///< input bytes that the warden still accepts
  std::uint64_t credit_given = 0;                                ///< the sum of all credit received
  bool has_exited = false;
  bool is_done = false;
  bool has_failed = false;
  int stuck = 0;

  cofferdam::detail::wire::exit_how how{};
  int code = -1;
  cofferdam::detail::wire::exit_reason reason{};
  bool left = false;
  std::uint64_t wall_us = 0;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t peak_kib = 0;
  std::uint64_t out_dropped = 0;
  std::uint64_t err_dropped = 0;
  cofferdam::detail::wire::fail_stage stage{};
  int number = 0;  ///< the errno in a `failed` frame

  bool is_over() const noexcept { return is_done || has_failed; }
  bool exited_with(int expected) const noexcept {
    return has_exited && how == cofferdam::detail::wire::exit_how::exited && code == expected;
  }
  bool was_killed_by(int signal) const noexcept {
    return has_exited && how == cofferdam::detail::wire::exit_how::signaled && code == signal;
  }
};

inline std::ostream& operator<<(std::ostream& to, const wire_outcome& outcome) {
  to << "out '" << outcome.out.substr(0, 200) << "' err '" << outcome.err.substr(0, 200) << "'";
  if (outcome.has_failed) to << " failed: stage " << static_cast<int>(outcome.stage) << " errno " << outcome.number;
  if (outcome.has_exited)
    to << " exited: how " << static_cast<int>(outcome.how) << " code " << outcome.code << " reason "
       << static_cast<int>(outcome.reason) << " left " << outcome.left;
  if (outcome.is_done) to << " done, dropped " << outcome.out_dropped << " and " << outcome.err_dropped;
  return to;
}

/// The content of the first frame that a warden sends.
struct wire_hello {
  std::uint32_t magic = 0;
  std::uint16_t version = 0;
  std::uint16_t machine = 0;
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t capabilities = 0;
  std::uint32_t max_jobs = 0;

  bool can(cofferdam::detail::wire::capability what) const noexcept { return (capabilities & what) != 0; }
};

/// A warden and its jobs. Checks the order of the received frames: a job gets either one `failed` frame, or one
/// `exited` frame followed by `done`. No frame of a job may arrive after its end.
class wire_session {
 public:
  using frame = cofferdam::detail::wire::frame_type;
  static constexpr std::chrono::milliseconds patience = std::chrono::seconds(30);

  /// \param configure  true to send the `configure` frame at once.
  /// \param lease_ms   the lease in the `configure` frame: the maximum time between two pings, in milliseconds, after
  ///                   which the warden ends everything. 0 means no lease.
  explicit wire_session(wire_start how = wire_start(), bool configure = true, std::uint32_t lease_ms = 0)
      : client_(std::move(how)) {
    wire_reader from_hello(first_.emplace(client_.take_hello()).payload);
    hello_.magic = from_hello.number<std::uint32_t>();
    hello_.version = from_hello.number<std::uint16_t>();
    hello_.machine = from_hello.number<std::uint16_t>();
    hello_.pid = from_hello.number<std::uint32_t>();
    hello_.uid = from_hello.number<std::uint32_t>();
    hello_.gid = from_hello.number<std::uint32_t>();
    hello_.capabilities = from_hello.number<std::uint32_t>();
    hello_.max_jobs = from_hello.number<std::uint32_t>();
    EXPECT_TRUE(from_hello.at_end());
    if (configure) client_.configure("", 0, lease_ms);
  }

  wire_client& stream() { return client_; }
  const wire_hello& hello() const { return hello_; }

  // ---- to the warden ----
  void spawn(std::uint32_t job, const wire_command& command, const std::vector<int>& fds = {}) {
    jobs_[job] = wire_outcome();
    client_.send_frame(frame::spawn, job, command.payload(), fds);
  }
  void input(std::uint32_t job, std::string_view bytes) {
    client_.send_frame(frame::input, job, bytes);
    jobs_[job].credit -= bytes.size();
  }
  void end_input(std::uint32_t job) { client_.send_frame(frame::input_end, job); }
  void signal(std::uint32_t job, cofferdam::detail::wire::signal_scope scope, int number) {
    client_.send_frame(
        frame::signal, job,
        wire_payload().number(static_cast<std::uint8_t>(scope)).number(static_cast<std::uint8_t>(number)));
  }
  void kill(std::uint32_t job, std::uint32_t grace_ms = 0) {
    client_.send_frame(frame::kill, job, wire_payload().number(grace_ms));
  }
  void credit(std::uint32_t job, int stream, std::uint32_t more) {
    client_.send_frame(frame::credit, job, wire_payload().number(static_cast<std::uint8_t>(stream)).number(more));
  }
  void resize(std::uint32_t job, std::uint16_t rows, std::uint16_t columns) {
    client_.send_frame(frame::resize, job, wire_payload().number(rows).number(columns));
  }

  /// Sends all of `bytes` as input of a job, as fast as the warden grants credit, and then ends the input. Returns
  /// early if the job ends.
  void input_all(std::uint32_t job, std::string_view bytes) {
    while (!bytes.empty()) {
      wire_outcome& outcome = jobs_[job];
      if (outcome.credit == 0) {
        if (!until([&outcome] { return outcome.credit != 0 || outcome.is_over(); }) || outcome.is_over()) return;
        continue;
      }
      const std::size_t size =
          std::min({bytes.size(), static_cast<std::size_t>(outcome.credit), cofferdam::detail::wire::max_payload});
      input(job, bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    end_input(job);
  }

  // ---- from the warden ----
  wire_outcome& operator[](std::uint32_t job) { return jobs_[job]; }
  const std::vector<wire_frame>& pongs() const { return pongs_; }
  /// Returns the content of the received `protocol_error` frame: the fault, and the type of the refused frame. Empty if
  /// there was none.
  const std::optional<std::pair<cofferdam::detail::wire::fault, frame>>& refusal() const { return refusal_; }
  std::size_t frame_count() const { return frame_count_; }

  /// If true, each received piece of output is answered by credit of the same size. (Credit is the number of bytes that
  /// the warden may still send.) If false, the warden stops sending when its initial credit is used up.
  bool gives_credit = true;

  /// Receives and handles one frame. Returns false if no frame arrives within `limit`, or if the stream has ended.
  bool take(std::chrono::milliseconds limit) {
    const std::optional<wire_frame> next = client_.next_frame(limit);
    if (!next) return false;
    ++frame_count_;
    handle(*next);
    return true;
  }

  template <class Condition>
  bool until(Condition condition, std::chrono::milliseconds limit = patience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() < 0 || !take(left + std::chrono::milliseconds(1))) return condition();
    }
    return true;
  }
  bool until_over(std::uint32_t job, std::chrono::milliseconds limit = patience) {
    return until([this, job] { return jobs_[job].is_over(); }, limit);
  }
  bool until_out(std::uint32_t job, std::string_view text, std::chrono::milliseconds limit = patience) {
    return until([this, job, text] { return jobs_[job].out.find(text) != std::string::npos; }, limit);
  }
  /// Receives and handles frames for `time`.
  void listen(std::chrono::milliseconds time) {
    until([] { return false; }, time);
  }
  /// Sends a ping and waits for the reply. When this returns true, the warden has handled all frames sent before.
  bool is_alive() {
    const std::size_t before = pongs_.size();
    client_.send_frame(frame::ping, 0, "?");
    return until([this, before] { return pongs_.size() > before; });
  }
  wire_outcome run(const wire_command& command) {
    const std::uint32_t job = ++last_job_;
    spawn(job, command);
    EXPECT_TRUE(until_over(job)) << "no end of " << command.words.back().substr(0, 200);
    return jobs_[job];
  }

  /// Receives frames until the stream ends, waits for the program, and returns its wait status.
  int finish() {
    while (take(patience)) {
    }
    EXPECT_TRUE(client_.has_ended());
    return client_.wait();
  }

 private:
  void handle(const wire_frame& next) {
    wire_reader from(next.payload);
    EXPECT_FALSE(refusal_.has_value()) << next << " after protocol_error";
    switch (next.type) {
      case frame::pong: pongs_.push_back(next); return;
      case frame::protocol_error: {
        const auto what = static_cast<cofferdam::detail::wire::fault>(from.number<std::uint8_t>());
        refusal_.emplace(what, static_cast<frame>(from.number<std::uint8_t>()));
        EXPECT_TRUE(from.at_end());
        return;
      }
      case frame::reply:
      case frame::reply_data:
      case frame::worker_lost: return;
      default: break;
    }
    const auto found = jobs_.find(next.job);
    if (found == jobs_.end() || found->second.is_over()) {
      ADD_FAILURE() << next << ", which is over or has never been";
      return;
    }
    wire_outcome& outcome = found->second;
    switch (next.type) {
      case frame::output:
      case frame::error_output:
        EXPECT_FALSE(next.payload.empty());
        EXPECT_LE(next.payload.size(), cofferdam::detail::wire::max_payload);
        (next.type == frame::output ? outcome.out : outcome.err) += next.payload;
        if (gives_credit)
          credit(next.job, next.type == frame::output ? 1 : 2, static_cast<std::uint32_t>(next.payload.size()));
        break;
      case frame::exited:
        EXPECT_FALSE(outcome.has_exited);
        EXPECT_EQ(next.payload.size(), cofferdam::detail::wire::exited_size);
        outcome.has_exited = true;
        outcome.how = static_cast<cofferdam::detail::wire::exit_how>(from.number<std::uint8_t>());
        outcome.code = from.number<std::int32_t>();
        outcome.reason = static_cast<cofferdam::detail::wire::exit_reason>(from.number<std::uint8_t>());
        outcome.wall_us = from.number<std::uint64_t>();
        outcome.user_us = from.number<std::uint64_t>();
        outcome.system_us = from.number<std::uint64_t>();
        outcome.peak_kib = from.number<std::uint64_t>();
        from.number<std::uint32_t>();
        outcome.left = from.number<std::uint8_t>() != 0;
        break;
      case frame::done:
        EXPECT_TRUE(outcome.has_exited) << "done before exited";
        outcome.out_dropped = from.number<std::uint64_t>();
        outcome.err_dropped = from.number<std::uint64_t>();
        EXPECT_TRUE(from.at_end());
        outcome.is_done = true;
        break;
      case frame::failed:
        EXPECT_FALSE(outcome.has_exited);
        EXPECT_EQ(outcome.out + outcome.err, "");
        outcome.stage = static_cast<cofferdam::detail::wire::fail_stage>(from.number<std::uint8_t>());
        outcome.number = from.number<std::int32_t>();
        EXPECT_TRUE(from.at_end());
        outcome.has_failed = true;
        break;
      case frame::input_credit: {
        const std::uint32_t more = from.number<std::uint32_t>();
        EXPECT_TRUE(from.at_end());
        EXPECT_NE(more, 0U);
        outcome.credit += more;
        outcome.credit_given += more;
        EXPECT_LE(outcome.credit, cofferdam::detail::wire::input_window) << "more than was sent comes back";
        break;
      }
      case frame::stuck: ++outcome.stuck; break;
      default: ADD_FAILURE() << "unknown: " << next;
    }
  }

  wire_client client_;
  std::optional<wire_frame> first_;
  wire_hello hello_;
  std::map<std::uint32_t, wire_outcome> jobs_;
  std::vector<wire_frame> pongs_;
  std::optional<std::pair<cofferdam::detail::wire::fault, frame>> refusal_;
  std::size_t frame_count_ = 0;
  std::uint32_t last_job_ = 1000;
};

/// Returns a number of seconds for `sleep` that appears in no other command line on this machine. Tests find the
/// process of the `sleep` by this number.
inline std::string unique_sleep() {
  static int count = 0;
  char text[64];
  std::snprintf(text, sizeof text, "54321.0%d0%d", static_cast<int>(::getpid()), ++count);
  return text;
}

/// Returns the ids of the living processes whose command line contains `mark`.
inline std::vector<pid_t> living_with(std::string_view mark) {
  std::vector<pid_t> found;
  for (const process_entry& entry : marked(std::string(mark))) found.push_back(entry.pid);
  return found;
}

}  // namespace cofferdam_test
