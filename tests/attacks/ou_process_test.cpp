// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks OU-01, 02, 08, 10 and 11 of the project's catalogue of attacks: the amount, the speed and the destination
// of a guest's output. A guest is a process that a command started. They run over `local` and in the jail. The tests
// check this program's memory as reported by the kernel, and the host's process table.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>

#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/naive_runner.hpp"
#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

namespace ou_process_tests {

namespace {

using asio::awaitable;
using cofferdam::argv;
using cofferdam::as_text;
using cofferdam::captured_output;
using cofferdam::command;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::exec_errc;
using cofferdam::output_chunk;
using cofferdam::process;
using cofferdam::shell;
using cofferdam::stream_output;
using cofferdam::with;
using cofferdam_test::attack_folder;
using cofferdam_test::census;
using cofferdam_test::eventually;
using cofferdam_test::guests_of;
using cofferdam_test::is_sanitized;
using cofferdam_test::is_soak;
using cofferdam_test::memory_growth;
using cofferdam_test::naive_runner;
using cofferdam_test::pause_for;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;
using namespace std::chrono_literals;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::size_t gib = 1024 * mib;

class OuAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, OuAttack, cofferdam_test::in_places("local", "jail"), cofferdam_test::place_name);

auto provider(const attack_folder& base) { return base.provider(100ms, 500ms); }

/// Runs a command and returns its result. `growth` becomes the peak growth of this program's memory during the run,
/// in bytes.
command_result result_of(const attack_folder& base, command c, std::size_t& growth) {
  const auto body = [&](auto& env) -> awaitable<command_result> {
    command_result warm_up = co_await env.run_command(shell("head -c 1M /dev/zero").keep_output(64 * kib));
    EXPECT_TRUE(warm_up.ok());
    const memory_growth memory;
    command_result result = co_await env.run_command(c);
    growth = memory.peak();
    co_return result;
  };
  return run(
      [&]() -> awaitable<command_result> {
        command_result result = co_await with(provider(base), std::ref(body));
        co_return result;
      },
      600s);
}

std::string kibibytes(std::size_t bytes) { return std::to_string(bytes / kib) + " KiB"; }

/// Returns the number of bytes that `seq 1 …` has printed so far. `tail` is the end of the output; the last complete
/// line contains the last number, from which the length of all earlier lines follows.
std::uint64_t printed_by_seq(std::string_view tail) {
  const std::size_t last_break = tail.rfind('\n');
  const std::size_t before = tail.rfind('\n', last_break - 1);
  const std::string last_line(tail.substr(before + 1, last_break - before - 1));
  const std::uint64_t last = std::strtoull(last_line.c_str(), nullptr, 10);
  std::uint64_t total = tail.size() - last_break - 1;
  std::uint64_t digits = 1;
  for (std::uint64_t from = 1; from <= last; from *= 10, ++digits) {
    const std::uint64_t to = std::min(last, from * 10 - 1);
    total += (to - from + 1) * (digits + 1);
  }
  return total;
}

}  // namespace

TEST_P(OuAttack, OU_01_gigabytes_through_a_small_cap_cost_little_memory_and_are_counted_exactly) {
  const std::size_t size = is_soak() ? 10 * gib : is_sanitized() ? gib / 4 : 2 * gib;
  const attack_folder base(GetParam());
  std::size_t growth = 0;
  const auto begin = std::chrono::steady_clock::now();
  const command_result result =
      result_of(base,
                shell("printf START; head -c " + std::to_string(size) + " /dev/zero; printf END")
                    .keep_output(64 * kib)
                    .timeout(500s),
                growth);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << size / mib << " MiB in " << seconds << " s; memory grew by " << kibibytes(growth) << "\n";
  EXPECT_TRUE(result.ok()) << "the guest was held up";
  EXPECT_EQ(result.out().total(), size + 8);
  EXPECT_EQ(result.out().head().size(), 32 * kib);
  EXPECT_EQ(result.out().tail().size(), 32 * kib);
  EXPECT_EQ(as_text(result.out().head()).substr(0, 6), std::string_view("START\0", 6));
  EXPECT_EQ(as_text(result.out().tail()).substr(32 * kib - 4), std::string_view("\0END", 4));
  if (!is_sanitized()) {
    EXPECT_LE(growth, 320 * kib);
  }
}

TEST_P(OuAttack, OU_01_an_endless_yes_is_ended_by_its_limit_and_costs_little_memory) {
  const auto time = is_soak() ? 5s : 2s;
  const attack_folder base(GetParam());
  std::size_t growth = 0;
  const command_result result = result_of(base, argv("yes").keep_output(64 * kib).timeout(time), growth);
  std::cout << result.out().total() / mib << " MiB in " << time.count() << " s; memory grew by " << kibibytes(growth)
            << "\n";
  EXPECT_EQ(result.kind(), error_kind::timeout);
  EXPECT_GT(result.out().total(), mib);
  // The program `yes` prints "y" and a line break alternately, so the last byte shows if the total is even.
  EXPECT_EQ(as_text(result.out().tail()).back(), result.out().total() % 2 == 0 ? '\n' : 'y');
  if (!is_sanitized()) {
    EXPECT_LT(growth, 2 * mib);
  }
}

TEST_P(OuAttack, OU_01_the_total_of_an_output_that_was_cut_off_anywhere_is_exact) {
  const attack_folder base(GetParam());
  std::size_t growth = 0;
  const command_result result =
      result_of(base, argv("seq", "1", "99999999999").keep_output(64 * kib).timeout(1s), growth);
  EXPECT_EQ(result.kind(), error_kind::timeout);
  EXPECT_GT(result.out().cut(), 0U);
  EXPECT_EQ(result.out().total(), printed_by_seq(as_text(result.out().tail())));
}

TEST(Attack, OU_01_control_reading_all_of_it_costs_all_of_it) {
  const temporary_folder base;
  const memory_growth memory;
  naive_runner naive("head -c 67108864 /dev/zero", base.path());
  EXPECT_TRUE(naive.finish(60s));
  EXPECT_EQ(naive.text().size(), 64 * mib);
  if (!is_sanitized()) {
    EXPECT_GE(memory.peak(), 64 * mib);
  }
}

TEST_P(OuAttack, OU_02_both_streams_flooded_at_once_are_both_exact) {
  const std::size_t size = is_soak() ? gib : is_sanitized() ? 64 * mib : 256 * mib;
  const attack_folder base(GetParam());
  std::size_t growth = 0;
  const command_result result = result_of(
      base,
      shell("head -c " + std::to_string(size) + " /dev/zero | tee /dev/stderr").keep_output(64 * kib).timeout(300s),
      growth);
  std::cout << "2 x " << size / mib << " MiB; memory grew by " << kibibytes(growth) << "\n";
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.out().total(), size);
  EXPECT_EQ(result.err().total(), size);
  if (!is_sanitized()) {
    EXPECT_LE(growth, 640 * kib);
  }
}

TEST(Attack, OU_02_control_reading_one_stream_to_its_end_first_is_a_deadlock) {
  const temporary_folder base;
  naive_runner naive("head -c 1048576 /dev/zero | tee /dev/stderr", base.path());
  EXPECT_FALSE(naive.finish(1s));
  EXPECT_GT(naive.text().size(), 0U);
  cofferdam_test::kill_guests_of(base.path());
}

namespace {

/// Returns both outputs that the error carries, separated by "|". Returns "" if the exception is not an error with
/// the code `expected`.
std::string partial_output(const std::exception_ptr& failure, exec_errc expected) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const cofferdam::error& thrown) {
    if (thrown.code() == expected && thrown.partial() != nullptr)
      return thrown.partial()->out().text() + "|" + thrown.partial()->err().text();
  } catch (const std::exception&) {
  }
  return "";
}

}  // namespace

TEST_P(OuAttack, OU_08_what_had_come_before_a_timeout_or_a_crash_is_kept_with_the_reason) {
  const attack_folder base(GetParam());
  std::size_t growth = 0;
  const command_result by_time =
      result_of(base, shell("echo out; echo err >&2; printf half; sleep 60").timeout(300ms), growth);
  EXPECT_EQ(by_time.kind(), error_kind::timeout);
  EXPECT_EQ(by_time.out().text(), "out\nhalf");
  EXPECT_EQ(by_time.err().text(), "err\n");
  EXPECT_FALSE(by_time.reason().empty());
  const command_result by_crash = result_of(base, shell("echo out; echo err >&2; printf half; kill -SEGV $$"), growth);
  EXPECT_EQ(by_crash.term_signal(), SIGSEGV);
  EXPECT_EQ(by_crash.out().text(), "out\nhalf");
  EXPECT_EQ(by_crash.err().text(), "err\n");
}

TEST_P(OuAttack, OU_08_what_had_come_before_a_cancellation_or_a_close_is_kept_with_the_reason) {
  const attack_folder base(GetParam());
  for (const bool cancelled : {true, false}) {
    std::exception_ptr caught;
    std::filesystem::remove(base.workspace() / "printed");
    run([&]() -> awaitable<void> {
      const auto body = [&](auto& env) -> awaitable<void> {
        asio::cancellation_signal cancel;
        bool done = false;
        const auto command = [&]() -> awaitable<void> {
          co_await env.run_command(shell("echo out; echo err >&2; touch printed; sleep 60"));
        };
        cofferdam_test::spawn(
            co_await asio::this_coro::executor, std::ref(command),
            [&](std::exception_ptr failure) {
              caught = failure;
              done = true;
            },
            cancel.slot());
        while (!std::filesystem::exists(base.workspace() / "printed")) co_await pause_for(2ms);
        if (cancelled)
          cancel.emit(asio::cancellation_type::terminal);
        else
          co_await env.close();
        while (!done) co_await pause_for(1ms);
      };
      co_await with(provider(base), std::ref(body));
    });
    EXPECT_EQ(partial_output(caught, cancelled ? exec_errc::cancelled : exec_errc::environment_closed), "out\n|err\n");
  }
}

TEST(Attack, OU_08_control_a_first_attempt_has_nothing_to_show) {
  const temporary_folder base;
  naive_runner naive("echo out; sleep 60", base.path());
  // The naive runner returns no partial output after a timeout.
  EXPECT_FALSE(naive.finish(300ms));
  naive.kill();
  naive.wait();
}

TEST_P(OuAttack, OU_10_a_slow_consumer_holds_the_producer_up_and_loses_nothing) {
  const attack_folder base(GetParam());
  const std::size_t size = 32 * mib;
  std::uint64_t received = 0;
  std::size_t growth = 0;
  std::uint64_t written_meanwhile = 0;
  const auto body = [&](auto& env) -> awaitable<void> {
    command_result warm_up = co_await env.run_command(shell("head -c 1M /dev/zero").keep_output(kib));
    EXPECT_TRUE(warm_up.ok());
    const memory_growth memory;
    process running = co_await env.start(argv("head", "-c", std::to_string(size), "/dev/zero").keep_output(kib));
    co_await pause_for(300ms);
    // The test has read nothing so far. The kernel's counter shows how much the guest has written.
    const auto guests = guests_of(base.path());
    EXPECT_EQ(guests.size(), 1U) << "it did not wait";
    if (!guests.empty()) {
      const std::string io = cofferdam_test::read_proc("/proc/" + std::to_string(guests.front().pid) + "/io");
      const std::size_t at = io.find("wchar: ");
      if (at != std::string::npos) written_meanwhile = std::strtoull(io.c_str() + at + 7, nullptr, 10);
    }
    for (int i = 0;; ++i) {
      output_chunk piece = co_await running.read();
      if (piece.end()) break;
      received += piece.data().size();
      if (i % 64 == 0) co_await pause_for(2ms);
    }
    growth = memory.peak();
    command_result result = co_await running.wait();
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.out().total(), size);
    EXPECT_EQ(result.out().cut(), size - kib) << "and the result says what it did not keep";
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
  std::cout << "written while nobody read: " << kibibytes(written_meanwhile) << "; memory grew by " << kibibytes(growth)
            << "\n";
  EXPECT_EQ(received, size);
  EXPECT_LE(written_meanwhile, mib) << "no more than the pipe holds";
  if (!is_sanitized()) {
    EXPECT_LT(growth, 2 * mib);
  }
}

TEST(Attack, OU_10_control_output_into_a_file_holds_nothing_up) {
  const temporary_folder base;
  naive_runner naive("head -c 33554432 /dev/zero > '" + (base / "output").string() + "'", base.path());
  EXPECT_TRUE(naive.finish(60s));
  EXPECT_EQ(std::filesystem::file_size(base / "output"), 32 * mib) << "all of it, while nobody has read";
}

TEST_P(OuAttack, OU_11_a_callback_that_throws_ends_the_guest_and_leaks_nothing) {
  const attack_folder base(GetParam());
  const auto body = [&](auto& env) -> awaitable<void> {
    // The first wait opens the descriptors of the event loop, which would otherwise change the count.
    co_await pause_for(1ms);
    const census before = census::take(base.path());
    for (int i = 0; i < 10; ++i) {
      std::string caught;
      try {
        co_await stream_output(env, shell("trap '' TERM; sleep 60 & while :; do echo x; sleep 0.01; done"),
                               [](const output_chunk&) { throw std::runtime_error("enough"); });
      } catch (const std::runtime_error& thrown) {
        caught = thrown.what();
      }
      EXPECT_EQ(caught, "enough");
      // The guest must be dead when the exception arrives. Two seconds are allowed for killed processes to disappear.
      EXPECT_TRUE(eventually([&] { return guests_of(base.path()).empty(); }, 2s));
    }
    co_await pause_for(20ms);
    EXPECT_EQ(census::take(base.path()), before);
  };
  run([&]() -> awaitable<void> { co_await with(provider(base), std::ref(body)); });
}

TEST(Attack, OU_11_control_an_exception_alone_ends_nothing) {
  const temporary_folder base;
  naive_runner naive("trap '' PIPE; while :; do echo x; sleep 0.01; done", base.path());
  try {
    char buffer[16];
    if (::read(naive.output(), buffer, sizeof buffer) > 0) throw std::runtime_error("enough");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(cofferdam_test::is_alive(naive.pid()));
  }
}

}  // namespace ou_process_tests
