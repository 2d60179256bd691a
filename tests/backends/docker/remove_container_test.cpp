// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of remove_container() against a scripted daemon.

#include <cofferdam/backends/docker/detail/remove_container.hpp>

#include "net/http_server_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
  unsigned status;
  std::string_view body;
};

/// The result of one removal: the text of the error, and the number of requests that the daemon received.
class removal {
 public:
  std::string failure;
  std::size_t asked = 0;
};

removal remove_where(std::vector<said> answers) {
  removal result;
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_server daemon(executor, [&](http_call& call) -> awaitable<void> {
      const said& now = answers[std::min(result.asked, answers.size() - 1)];
      ++result.asked;
      return call.reply(http_reply(now.status).content("application/json", now.body));
    });
    listener where = tcp_listener(executor, "127.0.0.1", 0);
    const std::string address = "tcp://" + where.name();
    daemon.listen(std::move(where));
    asio::co_spawn(executor, daemon.run(), [](const std::exception_ptr&) {});
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

}  // namespace docker_remove_tests
