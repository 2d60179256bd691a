// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/backends/process_limits.hpp>
#include <cofferdam/detail/os/control_group.hpp>

#include "support/error_of.hpp"
#include "support/result_of.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace local_limits_tests {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::code_of;
using cofferdam_test::run;
using cofferdam_test::sentence_of;

command_result result_with(process_limits limits, command c) {
  return cofferdam_test::result_of(local().without_warning().limits(limits), std::move(c));
}

bool makes_control_groups() {
  detail::control_group_limits limits;
  limits.processes = 100;
  std::string obstacle;
  return detail::control_group::make(limits, obstacle).has_value();
}

// `tail` keeps the whole text in memory.
const char* const takes_400_mb = "head -c 400000000 /dev/zero | tail -c 400000000 >/dev/null";

TEST(LocalLimits, without_limits_commands_have_none_and_the_report_has_none) {
  const command_result result = result_with({}, takes_400_mb);
  EXPECT_TRUE(result.ok()) << result.summary() << result.err().text();
  for (const isolation_kind kind : {isolation_kind::memory, isolation_kind::processor_time, isolation_kind::disk,
                                    isolation_kind::open_files, isolation_kind::process_count})
    EXPECT_EQ(result.isolation().of(kind), "none");
  EXPECT_NE(result.isolation().of(isolation_kind::process_tree), "none");
}

// Feature: B24
TEST(LocalLimits, memory_is_limited_in_total_or_for_each_process_as_the_report_has_it) {
  const command_result result = result_with(process_limits().memory(std::uint64_t{100} << 20), takes_400_mb);
  EXPECT_FALSE(result.ok());
  const std::string report(result.isolation().of(isolation_kind::memory));
  if (report.find("in all (control group") != std::string::npos) {
    EXPECT_EQ(result.kind(), error_kind::out_of_memory) << result.summary();
    const command_result piped =
        result_with(process_limits().memory(std::uint64_t{100} << 20), std::string(takes_400_mb) + " | cat");
    EXPECT_TRUE(piped.ok()) << piped.summary();
    EXPECT_NE(piped.advice().find("the kernel killed a process"), std::string::npos) << piped.advice();
  } else {
    EXPECT_EQ(report, "104857600 bytes per process (RLIMIT_AS), no total");
  }
}

TEST(LocalLimits, processor_time_is_limited) {
  const command_result result = result_with(process_limits().cpu_time(1s), "while :; do :; done");
  EXPECT_EQ(result.kind(), error_kind::processor_time_limit) << result.summary();
  EXPECT_EQ(result.isolation().of(isolation_kind::processor_time), "1 s per process (RLIMIT_CPU), no total");
}

TEST(LocalLimits, the_size_of_a_file_is_limited) {
  const command write = shell("exec dd if=/dev/zero of=big bs=1000 count=100");
  EXPECT_TRUE(result_with({}, write).ok());
  const command_result result = result_with(process_limits().file_size(50'000), write);
  EXPECT_EQ(result.kind(), error_kind::file_too_large) << result.summary();
  EXPECT_EQ(result.isolation().of(isolation_kind::disk), "50000 bytes per file (RLIMIT_FSIZE)");
}

TEST(LocalLimits, open_files_are_limited_for_good) {
  const command_result result = result_with(process_limits().open_files(40), "ulimit -n; ulimit -Hn; ulimit -n 41");
  EXPECT_EQ(result.out_text(), "40\n40\n");
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.isolation().of(isolation_kind::open_files), "40 per process (RLIMIT_NOFILE)");
}

TEST(LocalLimits, processes_are_limited_or_open_throws_a_typed_error) {
  const command start = argv("/bin/sh", "-c", "for i in $(seq 30); do sleep 1 & done; wait");
  if (!makes_control_groups()) {
    const std::optional<error> failure =
        cofferdam_test::error_of([&] { result_with(process_limits().processes(20), start); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), exec_errc::unsupported);
    EXPECT_NE(std::string(failure->what()).find("use jail()"), std::string::npos) << failure->what();
    return;
  }
  EXPECT_TRUE(result_with({}, start).ok());
  const command_result result = result_with(process_limits().processes(20), start);
  EXPECT_EQ(result.kind(), error_kind::process_limit) << result.summary();
  EXPECT_EQ(result.isolation().of(isolation_kind::process_count),
            "20 in all, with the warden's (control group, pids.max)");
}

TEST(LocalLimits, need_a_warden) {
  const auto opens = [] {
    run([]() -> awaitable<void> {
      const local recipe =
          local().without_warning().warden(warden_policy::never).limits(process_limits().open_files(64));
      co_await recipe.open();
    });
  };
  EXPECT_EQ(code_of(opens), exec_errc::unsupported);
  // Without a warden there are no limits, so open() fails.
  const auto broken = [] {
    run([]() -> awaitable<void> {
      local recipe = local().without_warning().warden_program("/bin/true").limits(process_limits().open_files(64));
      co_await recipe.open();
    });
  };
  EXPECT_EQ(code_of(broken), exec_errc::provider_failed);
}

TEST(LocalLimits, that_make_no_sense_are_refused) {
  EXPECT_EQ(sentence_of([] { process_limits().memory(1 << 20); }),
            "process_limits: memory must be from 16 MiB to 2^62 bytes");
  EXPECT_THROW(process_limits().processes(7), error);
  EXPECT_THROW(process_limits().processes((1U << 22) + 1), error);
  EXPECT_THROW(process_limits().cpu_time(0s), error);
  EXPECT_THROW(process_limits().open_files(15), error);
}

}  // namespace local_limits_tests
