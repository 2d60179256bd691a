// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/host_lookups.hpp>
#include <cofferdam/net/net_error.hpp>

#include "support/cancel_when_idle.hpp"
#include "support/census.hpp"
#include "support/error_of.hpp"
#include "support/run.hpp"

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/ip/address.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace host_lookups_tests {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::detail::host_lookups;
using addresses = std::vector<asio::ip::address>;

std::atomic<bool> is_silent = false;
std::atomic<int> silent_lookups = 0;
std::atomic<int> left_lookups = 0;  // those of "slow.and.left.example.org"

/// Names that begin with "slow" are not answered as long as `is_silent` is true.
addresses pretended(const std::string& host, std::error_code& failure) {
  if (host == "none.example.org") {
    failure = std::make_error_code(std::errc::host_unreachable);
    return {};
  }
  if (host.starts_with("slow")) {
    const int left = host == "slow.and.left.example.org" ? 1 : 0;
    ++silent_lookups;
    left_lookups += left;
    while (is_silent) std::this_thread::sleep_for(1ms);
    left_lookups -= left;
    --silent_lookups;
  }
  return {asio::ip::make_address("192.0.2.1")};
}

class HostLookups : public ::testing::Test {
 protected:
  HostLookups() { is_silent = true; }
  ~HostLookups() override {
    is_silent = false;
    EXPECT_TRUE(cofferdam_test::eventually([] { return silent_lookups == 0; }));
  }
  static auto in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }
};

TEST_F(HostLookups, a_silent_name_server_delays_no_other_name) {
  cofferdam_test::run([]() -> awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    const host_lookups lookups(&pretended);
    auto first = lookups.resolve("slow.example.org", in(1h)) || lookups.resolve("quick.example.org", in(30s));
    const auto ended = co_await std::move(first);
    EXPECT_EQ(ended.index(), 1U);
  });
}

TEST_F(HostLookups, a_lookup_ends_in_time_and_leaves_its_thread_behind) {
  cofferdam_test::run([]() -> awaitable<void> {
    const host_lookups lookups(&pretended);
    std::error_code cause;
    try {
      co_await lookups.resolve("slow.and.left.example.org", in(20ms));
    } catch (const error& failure) {
      cause = failure.cause();
    }
    EXPECT_EQ(cause, net_errc::timed_out);
  });
  EXPECT_TRUE(cofferdam_test::eventually([] { return left_lookups == 1; })) << "its thread still waits";
}

TEST_F(HostLookups, a_lookup_can_be_cancelled) {
  const std::exception_ptr failure = cofferdam_test::cancel_when_idle([]() -> awaitable<void> {
    const host_lookups lookups(&pretended);
    co_await lookups.resolve("slow.example.org", in(1h));
  });
  EXPECT_EQ(cofferdam_test::code_of([&] { std::rethrow_exception(failure); }), exec_errc::cancelled);
}

TEST_F(HostLookups, a_lookup_may_outlive_its_caller_and_the_loop) {
  for (std::size_t handlers = 0; handlers < 2; ++handlers) {
    cofferdam_test::destroy_after(handlers, []() -> awaitable<void> {
      const host_lookups lookups(&pretended);
      co_await lookups.resolve("slow.example.org", in(1h));
    });
  }
  is_silent = false;
}

TEST_F(HostLookups, more_lookups_than_threads_wait) {
  cofferdam_test::run([]() -> awaitable<void> {
    const host_lookups lookups(&pretended);
    for (std::size_t i = 0; i < host_lookups::max_threads; ++i) {
      try {
        co_await lookups.resolve("slow.example.org", in(1ms));
      } catch (const error&) {  // its thread goes on
      }
    }
    std::error_code cause;
    try {
      co_await lookups.resolve("quick.example.org", in(100ms));
    } catch (const error& failure) {
      cause = failure.cause();
    }
    EXPECT_EQ(cause, net_errc::timed_out);
    is_silent = false;
    const addresses found = co_await lookups.resolve("quick.example.org", in(30s));
    EXPECT_EQ(found.size(), 1U);
  });
}

TEST_F(HostLookups, a_name_that_does_not_exist_is_an_error_with_the_name) {
  cofferdam_test::run([]() -> awaitable<void> {
    const host_lookups lookups(&pretended);
    std::string sentence;
    try {
      co_await lookups.resolve("none.example.org", in(30s));
    } catch (const error& failure) {
      sentence = failure.what();
    }
    EXPECT_NE(sentence.find("none.example.org cannot be resolved"), std::string::npos) << sentence;
  });
}

TEST_F(HostLookups, the_system_resolves_this_machine) {
  std::error_code failure;
  const addresses found = cofferdam::detail::look_up_host("localhost", failure);
  EXPECT_FALSE(failure) << failure.message();
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found.front().is_loopback());
}

}  // namespace host_lookups_tests
