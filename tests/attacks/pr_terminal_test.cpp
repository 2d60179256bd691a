// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attack PR-21 of the project's catalogue of attacks: a command's terminal must be a real one, over `local` and in the
// jail. The control uses pipes. All other requirements on terminals are tested in terminal_conformance, for every
// backend.

#include <cofferdam/core/with.hpp>

#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>

namespace pr_terminal_tests {

namespace {

using asio::awaitable;
using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::command_result;
using cofferdam::output_chunk;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::with;
using cofferdam_test::attack_folder;
using cofferdam_test::eventually;
using cofferdam_test::guests_of;
using cofferdam_test::run;

auto provider(const attack_folder& base) {
  return base.provider(std::chrono::milliseconds(50), std::chrono::milliseconds(100));
}

class PrTerminalAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, PrTerminalAttack, cofferdam_test::in_places("local", "jail"),
                         cofferdam_test::place_name);

awaitable<std::string> read_until(process& running, std::string expected) {
  std::string screen;
  while (screen.find(expected) == std::string::npos) {
    output_chunk piece = co_await running.read();
    if (piece.end()) break;
    screen += as_text(piece.data());
  }
  co_return screen;
}

/// Sends ^C to a shell that runs one job in the foreground, and one job in a process group of its own in the
/// background. Returns the output.
std::string after_control_c(const std::string& place, bool with_terminal) {
  const attack_folder base(place);
  std::string screen;
  const auto body = [&](auto& env) -> awaitable<void> {
    cofferdam::command both = shell(
        "set -m; (trap 'echo background hit; exit' INT; while :; do sleep 0.02; done) & "
        "(trap 'echo foreground hit; exit 0' INT; echo ready; while :; do sleep 0.02; read -t 0.01 x && break; done); "
        "sleep 0.2; kill -0 $! && echo background lives; kill -9 $!");
    both.open_input();
    if (with_terminal) both.terminal(24, 80);
    process running = co_await env.start(std::move(both));
    screen = co_await read_until(running, "ready");
    co_await running.write_input(as_bytes(with_terminal ? "\x03" : "\x03\n"));
    std::string rest = co_await read_until(running, "lives");
    screen += rest;
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
  return screen;
}

}  // namespace

TEST_P(PrTerminalAttack, PR_21_control_c_on_a_terminal_hits_the_foreground_group_only) {
  const std::string screen = after_control_c(GetParam(), true);
  EXPECT_NE(screen.find("foreground hit"), std::string::npos) << screen;
  EXPECT_EQ(screen.find("background hit"), std::string::npos) << screen;
  EXPECT_NE(screen.find("background lives"), std::string::npos) << screen;
}

TEST_P(PrTerminalAttack, PR_21_control_on_a_pipe_it_is_a_byte_like_any_other) {
  const std::string screen = after_control_c(GetParam(), false);
  EXPECT_EQ(screen.find("hit"), std::string::npos) << screen;
  EXPECT_NE(screen.find("background lives"), std::string::npos) << screen;
}

TEST_P(PrTerminalAttack, PR_21_raw_mode_passes_every_byte_both_ways) {
  const attack_folder base(GetParam());
  std::string expected;
  for (int byte = 0; byte < 256; ++byte) expected += static_cast<char>(byte);
  std::string screen;
  const auto body = [&](auto& env) -> awaitable<void> {
    process running =
        co_await env.start(shell("stty raw -echo; printf ready; head -c 256").terminal(24, 80).open_input());
    std::string ready = co_await read_until(running, "ready");
    EXPECT_EQ(ready, "ready");
    co_await running.write_input(as_bytes(expected));
    while (screen.size() < 256) {
      output_chunk piece = co_await running.read();
      if (piece.end()) break;
      screen += as_text(piece.data());
    }
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok());
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
  EXPECT_EQ(screen, expected);
}

TEST_P(PrTerminalAttack, PR_21_what_ignores_the_hang_up_of_its_terminal_is_gone_all_the_same) {
  const attack_folder base(GetParam());
  const auto body = [&](auto& env) -> awaitable<void> {
    {
      process running = co_await env.start(
          shell("trap '' HUP TERM; (setsid sh -c 'trap \"\" HUP; sleep 60' &); echo ready; sleep 60").terminal(24, 80));
      std::string ready = co_await read_until(running, "ready");
      EXPECT_NE(ready.find("ready"), std::string::npos);
      EXPECT_TRUE(eventually([&] { return guests_of(base.path()).size() >= 2; }));
    }
    EXPECT_TRUE(eventually([&] { return guests_of(base.path()).empty(); }));
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
}

}  // namespace pr_terminal_tests
