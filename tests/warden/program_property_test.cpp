// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/wire.hpp>

#include "support/paths.hpp"
#include "support/wire_client.hpp"
#include "support/wire_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <sys/wait.h>

// Runs random scripts against the warden program, and compares its frames with a small model. (The warden is the helper
// program that starts commands in each sandbox.)

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam_test::living_with;
using cofferdam_test::unique_sleep;
using cofferdam_test::wire_command;
using cofferdam_test::wire_outcome;
using cofferdam_test::wire_session;
using cofferdam_test::wire_start;
using frame = wire::frame_type;
using namespace std::chrono_literals;

enum class kind { exits, echoes, prints, sleeps, missing, leaves };

/// The facts that the model keeps about one job (a command), from which it derives the frames to expect.
struct expectation {
  kind what{};
  bool disturbed = false;  ///< the test has killed or signalled the job, or the job's time limit is short
  bool input_ended = false;
  int code = 0;
  std::string sent;
  std::uint64_t printed = 0;
  std::uint64_t cap = 0;
  std::uint64_t out_credit = 0;
  std::uint64_t err_credit = 0;
};

class script {
 public:
  script(std::uint64_t seed, bool over_pipes)
      : random_(seed),
        mark_(unique_sleep()),
        warden_(over_pipes ? wire_start{{cofferdam_test::warden_program()}, true} : wire_start()) {
    warden_.gives_credit = false;
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      const bool waits = pick(8) == 0;
      while (warden_.take(waits ? 3ms : 0ms) && pick(30) != 0) {
      }
      check();
      if (::testing::Test::HasFailure()) return;
    }
    finish();
  }

  std::size_t spawned() const { return spawned_; }
  std::size_t frames() const { return warden_.frame_count(); }

 private:
  static constexpr std::uint32_t most = 12;

  std::uint32_t pick(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }

  void step() {
    const std::uint32_t job = 1 + pick(most);
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) {
      if (pick(3) != 0)
        spawn(job);
      else
        anything(job);  // the job has ended
      return;
    }
    expectation& expected = found->second;
    switch (pick(10)) {
      case 0:
      case 1:
      case 2:
        if (expected.what == kind::echoes && !expected.input_ended) give_input(job, expected);
        break;
      case 3:
        if (expected.what == kind::echoes && pick(3) == 0) {
          warden_.end_input(job);  // ending the input a second time has no effect
          expected.input_ended = true;
        }
        break;
      case 4:
        if (pick(3) == 0) {
          expected.disturbed = true;
          warden_.kill(job, pick(2) == 0 ? 0 : 1 + pick(20));
        }
        break;
      case 5:
        if (pick(3) == 0) {
          static constexpr int numbers[] = {SIGTERM, SIGKILL, SIGUSR1, SIGINT, SIGSTOP, SIGCONT};
          expected.disturbed = true;
          warden_.signal(job, static_cast<wire::signal_scope>(pick(3)), numbers[pick(6)]);
        }
        break;
      case 6:
      case 7: give_credit(job, expected, pick(5000)); break;
      case 8: give_credit(job, expected, 1'000'000); break;
      default: anything(job); break;
    }
  }

  void spawn(std::uint32_t job) {
    expectation expected;
    expected.what = static_cast<kind>(pick(6));
    wire_command command;
    switch (expected.what) {
      case kind::exits:
        expected.code = static_cast<int>(pick(256));
        command = wire_command::shell("exit " + std::to_string(expected.code));
        break;
      case kind::echoes:
        command = wire_command::of({"/bin/cat"});
        command.flags = wire::spawn_open_input;
        break;
      case kind::prints:
        expected.printed = pick(200'000);
        command = wire_command::of({"/usr/bin/head", "-c", std::to_string(expected.printed), "/dev/zero"});
        if (pick(3) == 0) expected.cap = 1 + pick(100'000);
        break;
      case kind::sleeps: command = wire_command::of({"/bin/sleep", mark_}); break;
      case kind::missing: command = wire_command::of({"/nowhere"}); break;
      case kind::leaves:
        expected.code = 3;
        command = wire_command::shell("setsid sleep " + mark_ + " & exit 3");
        command.linger_ms = pick(30);
        break;
    }
    if (expected.what == kind::sleeps || pick(10) == 0) {
      command.timeout_ms = 1 + pick(60);
      command.grace_ms = pick(3) == 0 ? pick(30) : 0;
      expected.disturbed = true;
    }
    if (pick(4) == 0) command.flags |= wire::spawn_merge;
    if ((expected.what == kind::exits || expected.what == kind::leaves) && pick(6) == 0)
      command.words.resize(20, std::string(2500, 'x'));  // too long for one message to the supervisor
    command.output_cap = expected.cap;
    command.window = pick(2) == 0 ? 1'000'000 : 1 + pick(3000);
    expected.out_credit = expected.err_credit = command.window;
    jobs_[job] = expected;
    warden_.spawn(job, command);
    ++spawned_;
  }

  void give_input(std::uint32_t job, expectation& expected) {
    const std::uint64_t credit = warden_[job].credit;
    if (credit == 0) return;
    std::string bytes(std::min<std::uint64_t>(credit, pick(4) == 0 ? 65'536 : 1 + pick(3000)), '\0');
    for (char& c : bytes) c = static_cast<char>(random_());
    expected.sent += bytes;
    warden_.input(job, bytes);
  }

  void give_credit(std::uint32_t job, expectation& expected, std::uint32_t more) {
    const int stream = 1 + static_cast<int>(pick(2));
    (stream == 1 ? expected.out_credit : expected.err_credit) += more;
    warden_.credit(job, stream, more);
  }

  /// Sends a request without effect, for an existing or a missing job.
  void anything(std::uint32_t job) {
    switch (pick(4)) {
      case 0: warden_.stream().send_frame(frame::ping, job, std::string(pick(65), 'p')); break;
      case 1: warden_.resize(job, static_cast<std::uint16_t>(pick(100)), 80); break;
      case 2:
        if (!jobs_.contains(job)) warden_.kill(job, pick(5));
        break;
      default:
        if (!jobs_.contains(job)) warden_.stream().send_frame(frame::input, job, "late");
        break;
    }
  }

  /// Checks the received frames against the expectations, and removes the jobs that have ended.
  void check() {
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      const expectation& expected = at->second;
      const wire_outcome& heard = warden_[at->first];
      EXPECT_LE(heard.out.size(), expected.out_credit);
      EXPECT_LE(heard.err.size(), expected.err_credit);
      if (!heard.is_over()) {
        ++at;
        continue;
      }
      SCOPED_TRACE("job " + std::to_string(at->first) + " of kind " + std::to_string(static_cast<int>(expected.what)));
      if (expected.what == kind::missing) {
        EXPECT_TRUE(heard.has_failed) << heard;
        EXPECT_EQ(heard.stage, wire::fail_stage::exec);
      } else {
        EXPECT_TRUE(heard.is_done) << heard;
        EXPECT_NE(heard.how, wire::exit_how::lost) << heard;
      }
      if (expected.what == kind::echoes) {
        EXPECT_TRUE(expected.sent.starts_with(heard.out)) << heard.out.size() << " of " << expected.sent.size();
        if (!expected.disturbed) {
          EXPECT_EQ(heard.out.size(), expected.sent.size());
        }
      }
      if (expected.what == kind::prints) {
        EXPECT_LE(heard.out.size() + heard.out_dropped, expected.printed);
        if (!expected.disturbed) {
          EXPECT_EQ(heard.out.size() + heard.out_dropped, expected.printed);
        }
        if (expected.cap != 0) {
          EXPECT_LE(heard.out.size(), expected.cap);
        } else {
          EXPECT_EQ(heard.out_dropped, 0U);
        }
      }
      if (!expected.disturbed && expected.what != kind::missing) {
        EXPECT_TRUE(heard.exited_with(expected.code)) << heard;
        EXPECT_EQ(heard.reason, wire::exit_reason::none);
      }
      at = jobs_.erase(at);
    }
  }

  void finish() {
    for (auto& [job, expected] : jobs_) {
      expected.disturbed = true;
      warden_.credit(job, 1, 0xffffffff);
      warden_.credit(job, 2, 0xffffffff);
      expected.out_credit += 0xffffffff;
      expected.err_credit += 0xffffffff;
    }
    warden_.stream().send_frame(frame::kill_all, 0);
    EXPECT_TRUE(warden_.until(
        [this] {
          return std::all_of(jobs_.begin(), jobs_.end(),
                             [this](const auto& each) { return warden_[each.first].is_over(); });
        },
        10s))
        << "a job does not end";
    check();
    EXPECT_TRUE(living_with(mark_).empty());
    EXPECT_TRUE(warden_.is_alive());
    warden_.stream().finish_sending();
    const int status = warden_.finish();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_FALSE(warden_.refusal().has_value());
  }

  std::mt19937_64 random_;
  std::string mark_;
  wire_session warden_;
  std::map<std::uint32_t, expectation> jobs_;
  std::size_t spawned_ = 0;
};

TEST(WardenProperty, random_scripts_get_what_they_are_owed) {
  std::uint64_t seed = 20260801;
  if (const char* seed_text = std::getenv("COFFERDAM_SEED")) seed = std::strtoull(seed_text, nullptr, 10);
  std::size_t spawned = 0;
  std::size_t frames = 0;
  for (std::uint64_t i = 0; i < 8; ++i) {
    SCOPED_TRACE("COFFERDAM_SEED=" + std::to_string(seed + i) + " repeats it as the first script");
    script random_script(seed + i, (seed + i) % 2 != 0);
    random_script.run(1500);
    spawned += random_script.spawned();
    frames += random_script.frames();
    if (HasFailure()) break;
  }
  std::cout << "  8 scripts from COFFERDAM_SEED=" << seed << ": " << spawned << " jobs, " << frames << " frames back\n";
}

}  // namespace
