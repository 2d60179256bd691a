// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/owner.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam::docker;
using cofferdam::docker::detail::is_left_over;
using cofferdam::docker::detail::is_past_deadline;
using cofferdam::docker::detail::look_at_process;
using cofferdam::docker::detail::owner;
using cofferdam::docker::detail::owner_label;
using cofferdam::docker::detail::process_view;
using cofferdam::docker::detail::read_process_stat;

const std::string boot = "0b7e5f8e-9c0f-4b9f-8a55-6d5d2a7c1e11";
const owner here(boot, 4026531836, 100, 5000);
const owner other(boot, 4026531836, 200, 6000);

process_view gone(std::int64_t) { return process_view::gone(); }

TEST(Owner, a_label_says_who_and_of_what_and_comes_back) {
  const owner_label label(other, "cofferdam-1");
  EXPECT_EQ(label.text(), "1:" + boot + ":4026531836:200:6000:cofferdam-1");
  const std::optional<owner_label> read = owner_label::parse(label.text());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->who(), other);
  EXPECT_EQ(read->name(), "cofferdam-1");
  EXPECT_EQ(owner_label::parse(owner_label(other, "a:b").text())->name(), "a:b");
}

TEST(Owner, whatever_is_not_exactly_a_label_is_a_strangers) {
  const std::string text = owner_label(other, "n").text();
  for (std::size_t cut = 0; cut < text.size(); ++cut) EXPECT_FALSE(owner_label::parse(text.substr(0, cut))) << cut;
  const std::vector<std::string> strange{"2" + text.substr(1),
                                         " " + text,
                                         "1:" + boot + ":1:-2:3:n",
                                         "1:" + boot + ":1:0:3:n",
                                         "1:" + boot + ":1:02:3:n",
                                         "1:" + boot + ":1:+2:3:n",
                                         "1:" + boot + ":1:99999999999999999999:3:n",
                                         "1:" + boot + ":x:2:3:n",
                                         "1:" + boot + "0:1:2:3:n",
                                         "1::1:2:3:n",
                                         "1:" + boot + ":1:2::n",
                                         "host:1:2",
                                         std::string(10'000, 'x'),
                                         "1:" + std::string(36, 'X') + ":1:2:3:n"};
  for (const std::string& bad : strange) EXPECT_FALSE(owner_label::parse(bad)) << bad;
}

TEST(Owner, what_a_dead_process_of_this_host_left_may_be_swept) {
  EXPECT_TRUE(is_left_over(owner_label(other, "n").text(), "n", here, gone));
  const auto reused = [](std::int64_t) { return process_view::running(6001); };
  EXPECT_TRUE(is_left_over(owner_label(other, "n").text(), "n", here, reused));
}

TEST(Owner, whatever_may_belong_to_somebody_alive_stays) {
  const std::string label = owner_label(other, "n").text();
  EXPECT_FALSE(is_left_over(label, "n", here, [](std::int64_t) { return process_view::running(6000); }));
  EXPECT_FALSE(is_left_over(label, "n", here, [](std::int64_t) { return process_view::unknown(); }));
  EXPECT_FALSE(is_left_over(label, "m", here, gone)) << "the label was inherited from an image";
  EXPECT_FALSE(is_left_over(owner_label(here, "n").text(), "n", here, gone)) << "our own";
  const owner elsewhere("1b7e5f8e-9c0f-4b9f-8a55-6d5d2a7c1e11", 4026531836, 200, 6000);
  EXPECT_FALSE(is_left_over(owner_label(elsewhere, "n").text(), "n", here, gone));
  const owner contained(boot, 4026532999, 200, 6000);
  EXPECT_FALSE(is_left_over(owner_label(contained, "n").text(), "n", here, gone));
  EXPECT_FALSE(is_left_over("", "", here, gone));
  EXPECT_FALSE(is_left_over("host:200:6000", "n", here, gone));
}

TEST(Owner, a_deadline_counts_only_for_what_it_was_given_to) {
  const std::string label = owner_label(other, "n").text();
  const auto at = [](int seconds) { return std::chrono::system_clock::time_point(std::chrono::seconds(seconds)); };
  EXPECT_TRUE(is_past_deadline("1000", label, "n", at(1001)));
  EXPECT_FALSE(is_past_deadline("1000", label, "n", at(1000)));
  EXPECT_FALSE(is_past_deadline("1000", label, "m", at(1001))) << "inherited";
  EXPECT_FALSE(is_past_deadline("1000", "", "n", at(1001)));
  for (const char* const text : {"", "0", "-1", "x", "10x", " 10", "99999999999999999999"})
    EXPECT_FALSE(is_past_deadline(text, label, "n", at(1001))) << text;
}

std::string stat_line(const std::string& name, char state, int threads) {
  return "200 (" + name + ") " + std::string(1, state) + " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 " +
         std::to_string(threads) + " 0 6000 99 98\n";
}

TEST(Owner, the_start_time_is_found_behind_any_name) {
  for (const char* const name : {"a", "a b", ") Z 1 2", "((", "\n", ""}) {
    const process_view read = read_process_stat(stat_line(name, 'S', 3));
    EXPECT_EQ(read.what(), process_view::state::running) << name;
    EXPECT_EQ(read.start_time(), 6000U) << name;
  }
  EXPECT_EQ(read_process_stat(stat_line("a", 'Z', 1)).what(), process_view::state::gone);
  EXPECT_EQ(read_process_stat(stat_line("a", 'X', 0)).what(), process_view::state::gone);
  EXPECT_EQ(read_process_stat(stat_line("a", 'Z', 2)).what(), process_view::state::running) << "other threads run on";
  for (const std::string_view text :
       {"", "x", "1 (a)", "1 (a) S 1 2", "1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 x 0 y"})
    EXPECT_EQ(read_process_stat(text).what(), process_view::state::unknown) << text;
}

TEST(Owner, this_process_knows_itself_and_is_never_left_over) {
  const owner self = owner::this_process();
  EXPECT_EQ(self.pid(), ::getpid());
  EXPECT_EQ(self, owner::this_process());
  EXPECT_EQ(look_at_process(::getpid()).start_time(), self.start_time());
  const owner stranger(self.boot(), self.pid_namespace(), self.pid(), self.start_time());
  EXPECT_FALSE(is_left_over(owner_label(stranger, "n").text(), "n", self));
  EXPECT_EQ(look_at_process(0).what(), process_view::state::unknown);
  EXPECT_EQ(look_at_process(-1).what(), process_view::state::unknown);
}

TEST(Owner, a_real_process_is_alive_until_it_has_ended_reaped_or_not) {
  const owner self = owner::this_process();
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(pipe_ends[1]);
    static_cast<void>(!::read(pipe_ends[0], &byte, 1));
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  ::close(pipe_ends[0]);
  const process_view running = look_at_process(child);
  ASSERT_EQ(running.what(), process_view::state::running);
  const std::string label =
      owner_label(owner(self.boot(), self.pid_namespace(), child, running.start_time()), "n").text();
  EXPECT_FALSE(is_left_over(label, "n", self));
  ::close(pipe_ends[1]);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
  EXPECT_TRUE(is_left_over(label, "n", self)) << "a zombie";
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  EXPECT_TRUE(is_left_over(label, "n", self));
}

}  // namespace
