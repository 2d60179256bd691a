// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/os/detail/command_lifecycle.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace {

using cofferdam::detail::command_lifecycle;
using cofferdam::detail::end_reason;
using cofferdam::detail::paced_by;
using action = command_lifecycle::action;
using output = command_lifecycle::output;
using state = command_lifecycle::state;
using actions = std::vector<action>;
using time_point = command_lifecycle::time_point;

constexpr command_lifecycle::amounts nothing{0, 0};

time_point at(int seconds) { return time_point(std::chrono::seconds(seconds)); }

/// Takes all actions that are due, and returns them.
actions due(command_lifecycle& life) {
  actions due_actions;
  for (action next = life.next(); next != action::none; next = life.next()) due_actions.push_back(next);
  return due_actions;
}

/// Returns a command in the given state, with no action due.
command_lifecycle in(state target, paced_by pace = paced_by::transport) {
  command_lifecycle life(pace);
  if (target == state::ending) life.kill_asked();
  if (target == state::exited) life.exited();
  if (target == state::parted || target == state::kept) life.left_running(at(1), {1, 1});
  if (target == state::over || target == state::settled) life.nothing_left(at(1), {1, 1});
  if (target == state::kept || target == state::settled)
    for (std::size_t index = 0; index < 2; ++index) {
      life.took(index, 1);
      life.took(index, 0);
    }
  due(life);
  EXPECT_EQ(life.current(), target);
  return life;
}

void end_outputs(command_lifecycle& life) {
  life.took(0, 0);
  life.took(1, 0);
}

// ---- all orders of events -------------------------------------------------------------------------------------------

/// A state machine under test, with counters of the actions that a correct owner has taken. (The owner is the object
/// that performs the actions.)
class watched {
 public:
  explicit watched(paced_by pace) : life(pace) {}

  command_lifecycle life;
  int finishes = 0;
  int conclusions = 0;
  int closings = 0;
  bool is_waiting = false;  // true while the owner waits for the end of the grace time or the linger time
  end_reason reason = end_reason::none;

  friend auto operator<=>(const watched&, const watched&) = default;
};

constexpr int events = 19;

using transition = std::pair<state, state>;

/// The transitions in the table of command_lifecycle.hpp.
const std::set<transition> transitions{
    {state::running, state::ending}, {state::running, state::exited}, {state::running, state::parted},
    {state::running, state::over},   {state::ending, state::exited},  {state::ending, state::parted},
    {state::ending, state::over},    {state::exited, state::parted},  {state::exited, state::over},
    {state::parted, state::kept},    {state::parted, state::over},    {state::kept, state::settled},
    {state::over, state::settled},
};

/// Lets one event happen. Event 0 means that the owner performs the action that is due. Stores a violated rule in
/// `fault`. \return false if the event cannot happen now.
bool happen(watched& tracked, int event, std::string& fault) {
  command_lifecycle& life = tracked.life;
  const state before = life.current();
  switch (event) {
    case 0: {
      const bool was_finished = life.is_finished();
      const action next = life.next();
      if (next == action::none) return false;
      const bool is_over = life.is_over();
      const bool is_step = next == action::wait_grace || next == action::wait_linger;
      if (next == action::finish) {
        if (++tracked.finishes > 1) fault = "finished twice";
        if (!life.has_all_output()) fault = "finished before its outputs were complete";
        if (!life.is_finished()) fault = "has a result, and does not know it";
      } else if (was_finished != life.is_finished()) {
        fault = "finished without a result";
      }
      if (next == action::conclude && ++tracked.conclusions > 1) fault = "concluded twice";
      if (next == action::close_outputs && ++tracked.closings > 1) fault = "closed twice";
      if (next == action::close_outputs && !life.is_settled()) fault = "closed its outputs too soon";
      if (is_over && (is_step || next == action::ask_to_end || next == action::kill || next == action::conclude))
        fault = "did something to a command that is over";
      if (before == state::settled && next != action::close_outputs && next != action::wake)
        fault = "did something after it was settled";
      if (next == action::ask_to_end && life.asked_for() == end_reason::none) fault = "asked for no reason";
      if (is_step) tracked.is_waiting = true;
      break;
    }
    case 1: life.end_asked(end_reason::timeout); break;
    case 2: life.end_asked(end_reason::cancelled); break;
    case 3:
      if (life.kill_asked() != !life.is_over()) fault = "killed what is over, or did not kill";
      break;
    case 4: life.note_end(end_reason::closed); break;
    case 5: life.drain(); break;
    case 6: life.exited(); break;
    case 7: life.left_running(at(0), nothing); break;
    case 8: life.left_running(at(0), {1, 0}); break;
    case 9: life.nothing_left(at(0), nothing); break;
    case 10: life.nothing_left(at(0), {0, 1}); break;
    case 11:
    case 12:
      if (!tracked.is_waiting) return false;
      tracked.is_waiting = false;
      event == 11 ? life.grace_over() : life.linger_over();
      break;
    default: {
      constexpr std::array<ssize_t, 3> reads{0, -1, 1};
      const std::size_t index = event < 16 ? 0 : 1;
      const ssize_t got = reads[static_cast<std::size_t>(event - 13) % 3];
      if (life.output_state(index) == output::ended) return false;
      if (got != 0 && life.allowance(index, 1) == 0) return false;
      life.took(index, got);
      break;
    }
  }
  if (tracked.reason != end_reason::none && life.ended_by() != tracked.reason)
    fault = "the first reason does not count";
  tracked.reason = life.ended_by();
  if (life.current() != before && transitions.count({before, life.current()}) == 0) fault = "no such transition";
  return true;
}

/// Returns each state that any order of events leads to.
std::set<watched> all_lives(paced_by pace, std::set<transition>* reached = nullptr) {
  std::set<watched> known{watched(pace)};
  std::deque<watched> fresh{watched(pace)};
  while (!fresh.empty()) {
    const watched from = fresh.front();
    fresh.pop_front();
    for (int event = 0; event < events; ++event) {
      watched to = from;
      std::string fault;
      if (!happen(to, event, fault)) continue;
      if (!fault.empty()) {
        ADD_FAILURE() << fault << ", at event " << event << " in state " << static_cast<int>(from.life.current());
        return known;
      }
      const transition made_now{from.life.current(), to.life.current()};
      if (reached != nullptr && made_now.first != made_now.second) reached->insert(made_now);
      if (known.insert(to).second) fresh.push_back(to);
    }
  }
  return known;
}

}  // namespace

TEST(CommandLifecycle, whatever_happens_in_whatever_order_it_finishes_once_and_never_too_soon) {
  for (const paced_by pace : {paced_by::us, paced_by::transport}) {
    std::set<transition> reached;
    const std::set<watched> lives = all_lives(pace, &reached);
    EXPECT_GT(lives.size(), 1000U);
    EXPECT_EQ(reached, transitions);
    RecordProperty(pace == paced_by::us ? "lives_paced_by_us" : "lives_paced_by_a_transport",
                   static_cast<int>(lives.size()));
  }
}

TEST(CommandLifecycle, from_everywhere_it_settles_once_the_command_has_ended_and_its_output_was_taken) {
  for (const paced_by pace : {paced_by::us, paced_by::transport}) {
    for (const watched& start : all_lives(pace)) {
      watched last = start;
      std::string fault;
      last.life.exited();
      bool concludes = pace == paced_by::transport || last.conclusions > 0;
      for (int event : {0, 13, 16, 13, 16}) {  // the owner performs the due actions, and reads both outputs to the end
        while (happen(last, 0, fault)) {
        }
        happen(last, event, fault);
      }
      while (happen(last, 0, fault)) {
      }
      concludes = concludes || last.conclusions > 0 || last.life.current() == state::parted ||
                  last.life.current() == state::kept || last.life.is_over();
      EXPECT_TRUE(concludes) << "nobody would take the status";
      last.life.nothing_left(at(0), nothing);
      for (int event : {0, 13, 16}) {
        while (happen(last, 0, fault)) {
        }
        happen(last, event, fault);
      }
      while (happen(last, 0, fault)) {
      }
      EXPECT_EQ(fault, "");
      ASSERT_TRUE(last.life.is_settled()) << "from state " << static_cast<int>(start.life.current());
      EXPECT_EQ(last.finishes, 1);
      EXPECT_EQ(last.closings, 1);
    }
  }
}

// ---- each transition ------------------------------------------------------------------------------------------------

TEST(CommandLifecycle, a_command_that_is_awaited_exits_and_settles) {
  command_lifecycle life(paced_by::us);
  life.drain();
  EXPECT_EQ(due(life), actions{action::take_output});
  life.exited();
  EXPECT_EQ(life.current(), state::exited);
  EXPECT_EQ(life.next(), action::close_input);
  EXPECT_EQ(life.next(), action::take_output);
  end_outputs(life);
  EXPECT_EQ(due(life), actions{action::conclude});
  life.status_known();
  life.nothing_left(at(5), nothing);
  EXPECT_EQ(due(life), (actions{action::take_output, action::finish, action::close_outputs, action::wake}));
  EXPECT_TRUE(life.is_settled());
  EXPECT_TRUE(life.has_status());
  EXPECT_EQ(life.ended_at(), at(5));
}

TEST(CommandLifecycle, outputs_that_are_held_open_are_waited_for_as_long_as_they_may_linger) {
  command_lifecycle life(paced_by::us);
  life.exited();
  EXPECT_EQ(due(life), (actions{action::close_input, action::wait_linger}));
  EXPECT_EQ(due(life), actions{}) << "once";
  life.linger_over();
  EXPECT_EQ(due(life), actions{action::conclude});
  life.linger_over();
  EXPECT_EQ(due(life), actions{});
  life.nothing_left(at(1), {3, 0});
  EXPECT_EQ(due(life), actions{action::wake}) << "somebody still reads";
  EXPECT_EQ(life.allowance(0, 100), 3U);
  EXPECT_EQ(life.allowance(0, 2), 2U);
  EXPECT_EQ(life.allowance(1, 100), 0U);
  life.took(0, 2);
  EXPECT_EQ(life.allowance(0, 100), 1U);
  life.took(1, 0);
  EXPECT_EQ(due(life), actions{});
  life.took(0, -1);
  EXPECT_EQ(due(life), (actions{action::finish, action::close_outputs, action::wake})) << "nothing stands there";
}

TEST(CommandLifecycle, an_output_that_ends_within_the_linger_time_ends_the_wait) {
  command_lifecycle life(paced_by::us);
  life.exited();
  due(life);
  life.took(0, 0);
  EXPECT_EQ(due(life), actions{});
  life.lost(1);
  EXPECT_EQ(due(life), actions{action::conclude});
  life.linger_over();
  EXPECT_EQ(due(life), actions{}) << "too late";
}

TEST(CommandLifecycle, of_one_that_was_asked_to_end_the_rest_has_the_rest_of_the_grace) {
  command_lifecycle life(paced_by::us);
  life.end_asked(end_reason::timeout);
  EXPECT_EQ(life.current(), state::ending);
  EXPECT_EQ(due(life), (actions{action::ask_to_end, action::wait_grace}));
  life.exited();
  EXPECT_EQ(due(life), actions{action::close_input}) << "no wait that would replace that of the grace";
  life.grace_over();
  EXPECT_EQ(due(life), (actions{action::kill, action::wait_linger}));
  EXPECT_EQ(life.current(), state::exited);
}

TEST(CommandLifecycle, one_that_outlives_the_grace_is_killed_and_then_lingers) {
  command_lifecycle life(paced_by::us);
  life.end_asked(end_reason::cancelled);
  due(life);
  life.grace_over();
  EXPECT_EQ(due(life), actions{action::kill});
  life.exited();
  EXPECT_EQ(due(life), (actions{action::close_input, action::wait_linger}));
}

TEST(CommandLifecycle, only_the_first_reason_counts) {
  for (const paced_by pace : {paced_by::us, paced_by::transport}) {
    command_lifecycle life(pace);
    life.end_asked(end_reason::timeout);
    due(life);
    life.end_asked(end_reason::closed);
    life.note_end(end_reason::cancelled);
    EXPECT_EQ(due(life), actions{});
    EXPECT_EQ(life.ended_by(), end_reason::timeout);
    EXPECT_EQ(life.asked_for(), end_reason::timeout);
  }
}

TEST(CommandLifecycle, asked_to_end_after_its_end_it_has_ended_by_itself) {
  command_lifecycle ours = in(state::exited, paced_by::us);
  ours.end_asked(end_reason::timeout);
  EXPECT_EQ(due(ours), actions{});
  EXPECT_EQ(ours.ended_by(), end_reason::none);

  command_lifecycle theirs = in(state::exited);
  theirs.end_asked(end_reason::timeout);
  EXPECT_EQ(due(theirs), actions{action::ask_to_end}) << "what is left of it is not ours to judge";
  EXPECT_EQ(theirs.ended_by(), end_reason::timeout);
}

TEST(CommandLifecycle, a_transport_that_keeps_the_times_says_when_nothing_is_left) {
  command_lifecycle life(paced_by::transport);
  life.end_asked(end_reason::closed);
  EXPECT_EQ(due(life), actions{action::ask_to_end});
  life.exited();
  EXPECT_EQ(due(life), actions{action::close_input});
  end_outputs(life);
  EXPECT_EQ(due(life), actions{});
  life.grace_over();
  life.linger_over();
  EXPECT_EQ(due(life), actions{}) << "not its events";
  life.nothing_left(at(1), nothing);
  EXPECT_EQ(due(life), (actions{action::finish, action::close_outputs, action::wake}));
}

TEST(CommandLifecycle, what_it_left_running_goes_on_after_its_result) {
  command_lifecycle life(paced_by::transport);
  life.drain();
  due(life);
  life.left_running(at(1), {2, 0});
  EXPECT_EQ(life.current(), state::parted);
  EXPECT_EQ(life.next(), action::close_input);
  EXPECT_EQ(life.next(), action::take_output);
  life.took(0, 2);
  life.took(0, 0);
  EXPECT_EQ(life.output_state(0), output::complete) << "more of it may come, and does not belong to the result";
  life.took(1, 0);
  EXPECT_EQ(life.output_state(1), output::complete);
  EXPECT_EQ(due(life), (actions{action::finish, action::take_output, action::wake}));
  EXPECT_EQ(life.current(), state::kept);
  EXPECT_TRUE(life.is_finished());
  EXPECT_FALSE(life.is_settled());
  EXPECT_EQ(life.allowance(0, 100), 100U) << "to be thrown away";

  life.end_asked(end_reason::closed);
  EXPECT_EQ(due(life), actions{action::ask_to_end});
  EXPECT_EQ(life.ended_by(), end_reason::none) << "its result is there";
  life.end_asked(end_reason::closed);
  EXPECT_EQ(due(life), actions{action::ask_to_end}) << "as often as somebody asks";

  life.took(0, 0);
  EXPECT_EQ(life.output_state(0), output::ended);
  life.nothing_left(at(9), {5, 5});
  EXPECT_EQ(due(life), (actions{action::close_outputs, action::wake}));
  EXPECT_TRUE(life.is_settled());
  EXPECT_EQ(life.ended_at(), at(1));
}

TEST(CommandLifecycle, what_was_left_running_may_end_before_the_output_was_read) {
  command_lifecycle life = in(state::parted);
  life.took(0, 1);
  life.took(0, 0);
  life.nothing_left(at(9), {7, 7});
  EXPECT_EQ(life.current(), state::over);
  EXPECT_EQ(life.allowance(1, 100), 1U) << "what stood there when it parted";
  EXPECT_EQ(due(life), actions{action::wake});
  life.took(1, 1);
  life.took(1, 0);
  EXPECT_EQ(due(life), (actions{action::finish, action::close_outputs, action::wake}));
  EXPECT_EQ(life.ended_at(), at(1));
}

TEST(CommandLifecycle, an_output_that_ends_before_all_that_stood_there_was_read_has_ended) {
  command_lifecycle life = in(state::parted);
  life.took(0, 0);
  EXPECT_EQ(life.output_state(0), output::ended);
}

TEST(CommandLifecycle, killed_it_is_as_long_as_it_is_not_over) {
  for (const state state_before : {state::running, state::ending, state::exited, state::parted, state::kept}) {
    command_lifecycle life = in(state_before);
    EXPECT_TRUE(life.kill_asked()) << static_cast<int>(state_before);
    EXPECT_EQ(due(life), actions{});
  }
  for (const state state_before : {state::over, state::settled}) {
    command_lifecycle life = in(state_before);
    EXPECT_FALSE(life.kill_asked()) << static_cast<int>(state_before);
  }
}

TEST(CommandLifecycle, what_is_due_when_it_is_suddenly_over_is_dropped) {
  command_lifecycle life(paced_by::us);
  life.end_asked(end_reason::timeout);
  life.nothing_left(at(1), nothing);
  EXPECT_EQ(due(life), (actions{action::close_input, action::wake}));
  EXPECT_EQ(life.ended_by(), end_reason::timeout);
}

TEST(CommandLifecycle, settled_it_does_nothing_more) {
  command_lifecycle life = in(state::settled);
  life.end_asked(end_reason::timeout);
  life.note_end(end_reason::closed);
  life.exited();
  life.left_running(at(2), {1, 1});
  life.nothing_left(at(2), {1, 1});
  life.grace_over();
  life.linger_over();
  life.drain();
  EXPECT_EQ(due(life), actions{});
  EXPECT_EQ(life.ended_by(), end_reason::none);
  EXPECT_EQ(life.ended_at(), at(1));
}

TEST(CommandLifecycle, all_output_is_taken_from_then_on) {
  command_lifecycle life(paced_by::transport);
  EXPECT_FALSE(life.takes_output());
  life.exited();
  EXPECT_EQ(due(life), actions{action::close_input}) << "nobody wants it yet";
  life.drain();
  EXPECT_TRUE(life.takes_output());
  EXPECT_EQ(due(life), actions{action::take_output});
  life.drain();
  EXPECT_EQ(due(life), actions{});
}
