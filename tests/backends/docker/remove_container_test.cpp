// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of remove_container() against a scripted daemon.

#include <cofferdam/backends/docker/detail/remove_container.hpp>

#include "net/http_server_support.hpp"
#include "support/spawn.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace docker_remove_tests {

using namespace cofferdam;
using cofferdam::detail::http_server;

constexpr std::string_view ended_meanwhile =
    R"({"message":"Could not kill running container 0928, cannot remove - Container 0928 is not running"})";

class said {
 public:
  int status;  ///< 0 for a daemon that does not answer
  std::string_view body;
};

/// The result of one removal: the text of the error, and the requests that the daemon received.
class removal {
 public:
  std::string failure;
  std::size_t asked = 0;
  std::string last;  // method and target of the last request
};

removal remove_where(std::vector<said> answers) {
  removal result;
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_server daemon(executor, [&](http_call& call) -> awaitable<void> {
      const said& now = answers[std::min(result.asked, answers.size() - 1)];
      ++result.asked;
      result.last = call.method() + " " + call.head().target;
      if (now.status == 0) {
        const asio::any_io_executor here = co_await asio::this_coro::executor;
        asio::steady_timer never(here, asio::steady_timer::time_point::max());
        co_await never.async_wait(asio::use_awaitable);
      }
      co_await call.reply(http_reply(now.status).content("application/json", now.body));
    });
    listener where = tcp_listener(executor, "127.0.0.1", 0);
    const std::string address = "tcp://" + where.name();
    daemon.listen(std::move(where));
    cofferdam_test::spawn(executor, daemon.run(), [](const std::exception_ptr&) {});
    const auto api = std::make_shared<docker::detail::engine>(executor, docker::detail::parse_daemon_address(address),
                                                              docker::detail::host_view::of_this_process());
    try {
      co_await docker::detail::remove_container(api, "0928", "mine");
    } catch (const error& reason) {
      result.failure = reason.what();
    }
    co_await daemon.stop();
  });
  return result;
}

TEST(RemoveContainer, one_that_ends_while_it_is_killed_is_removed_all_the_same) {
  const removal done = remove_where({{500, ended_meanwhile}, {500, ended_meanwhile}, {204, ""}});
  EXPECT_EQ(done.failure, "");
  EXPECT_EQ(done.asked, 3U);
}

TEST(RemoveContainer, a_daemon_that_never_comes_to_an_end_with_it_is_an_error) {
  const removal never = remove_where({{500, ended_meanwhile}});
  EXPECT_NE(never.failure.find("is not running"), std::string::npos) << never.failure;
  const removal other = remove_where({{500, R"({"message":"the disk is on fire"})"}, {204, ""}});
  EXPECT_NE(other.failure.find("on fire"), std::string::npos) << other.failure;
  EXPECT_EQ(other.asked, 1U);
}

TEST(RemoveContainer, another_removal_is_waited_for_with_one_request_that_ends_in_time) {
  const removal done = remove_where({{409, R"({"message":"removal is already in progress"})"}, {200, "{}"}});
  EXPECT_EQ(done.failure, "");
  EXPECT_EQ(done.asked, 2U);
  EXPECT_TRUE(done.last.ends_with("/containers/0928/wait?condition=removed")) << done.last;
  EXPECT_TRUE(done.last.starts_with("POST ")) << done.last;
  EXPECT_EQ(remove_where({{409, "{}"}, {404, "{}"}}).failure, "");
  const auto begin = std::chrono::steady_clock::now();
  const removal stuck = remove_where({{409, "{}"}, {0, ""}});
  EXPECT_EQ(stuck.failure, "");
  EXPECT_EQ(stuck.asked, 2U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace docker_remove_tests
