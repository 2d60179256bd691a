// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests the E2B backend behind the reverse proxy of Go's standard library. E2B's edge uses such a proxy.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "net/http_server_support.hpp"
#include "support/gateway_thread.hpp"
#include "support/go_program.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace go_proxy_tests {

using namespace cofferdam;
using cofferdam::detail::http_client;
using cofferdam::detail::http_server;
using cofferdam::detail::tcp_connector;
using namespace std::chrono_literals;
using cofferdam_test::gateway_thread;
using cofferdam_test::has_go;

const std::string key = "e2b_0123456789";
constexpr int workers = 24;

/// The proxy of go_proxy/main.go, built and started in front of one URL.
class go_proxy {
 public:
  /// \param pause  delay at the end of each request's body, for example "20ms"; empty means none. See
  /// go_proxy/main.go.
  explicit go_proxy(const std::string& target, const std::string& pause = "")
      : program_(cofferdam_test::build_go_program(cofferdam_test::source_path("tests/backends/e2b/go_proxy"),
                                                  folder_.path().string()),
                 pause.empty() ? std::vector<std::string>{target} : std::vector<std::string>{target, pause}) {}

  std::uint16_t port() const { return program_.port(); }
  std::string url() const { return program_.url(); }

 private:
  cofferdam_test::temporary_folder folder_;
  cofferdam_test::go_program program_;
};

/// Runs `work(i)` for i from 0 to `count` - 1, several at a time, and waits for all of them.
awaitable<void> all_of(int count, std::function<awaitable<void>(int)> work) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  int next = 0;
  int done = 0;
  const auto worker = [&]() -> awaitable<void> {
    while (next < count) {
      const int mine = next++;
      co_await work(mine);
    }
  };
  std::exception_ptr broke;
  for (int i = 0; i < workers; ++i)
    cofferdam_test::spawn(executor, worker, [&](std::exception_ptr failure) {
      if (failure) broke = failure;
      ++done;
    });
  while (done < workers) co_await cofferdam_test::pause(5ms);
  if (broke) std::rethrow_exception(broke);
}

/// Runs `count` commands in the environment, and returns the number of commands that failed.
awaitable<int> lost_of(e2b::environment& env, int count) {
  int lost = 0;
  const auto run_one = [&](int i) -> awaitable<void> {
    const std::string word = "word-" + std::to_string(i);
    try {
      command_result result = co_await env.run_command(argv("echo", word));
      if (result.out().text() != word + "\n") ++lost;
    } catch (const error& failure) {
      if (lost++ == 0) std::printf("first lost: %s\n", failure.what());
    }
  };
  co_await all_of(count, run_one);
  co_return lost;
}

/// Opens a sandbox at the URL, and returns the result of lost_of() in it.
int lost_through(const std::string& url, int count) {
  int lost = 0;
  const auto work = [&]() -> awaitable<void> {
    e2b::provider recipe =
        e2b::from_template("base").variables_from(e2b::surroundings()).api_key(key).api_url(url).sandbox_url(url);
    e2b::environment env = co_await recipe.open();
    lost = co_await lost_of(env, count);
    co_await env.close();
  };
  cofferdam_test::run(work, 400s);
  return lost;
}

TEST(E2bGoProxy, none_of_two_thousand_commands_is_lost_behind_gos_reverse_proxy) {
  COFFERDAM_NEEDS("go", has_go(), "that E2B's commands survive Go's reverse proxy");
  gateway_thread gateway(local().without_warning(), e2b_gateway::options().api_key(key));
  const go_proxy proxy(gateway.url());
  EXPECT_EQ(lost_through(proxy.url(), 2000), 0);
}

TEST(E2bGoProxy, none_is_lost_either_where_the_proxy_sees_the_end_of_each_request_late) {
  COFFERDAM_NEEDS("go", has_go(), "that E2B's commands survive Go's reverse proxy on a busy machine");
  gateway_thread gateway(local().without_warning(), e2b_gateway::options().api_key(key));
  const go_proxy proxy(gateway.url(), "30ms");
  EXPECT_EQ(lost_through(proxy.url(), 100), 0);
}

/// Sends `count` requests to a server that responds as soon as it has read the request. Returns the number of
/// incomplete responses.
awaitable<int> cut_of(http_client& client, int count, bool in_chunks) {
  int cut = 0;
  // The text is longer than the buffer in which the proxy collects data before it sends.
  const std::string text(6000, 'x');
  const auto run_one = [&](int) -> awaitable<void> {
    http_body body{std::string_view(text)};
    if (in_chunks) body = std::move(body).in_chunks();
    http_request what("POST", "/");
    what.body(std::move(body));
    try {
      const http_response answer = co_await client.request(std::move(what));
      if (answer.text() != "begun, and over") ++cut;
    } catch (const error&) {
      ++cut;
    }
  };
  co_await all_of(count, run_one);
  co_return cut;
}

// Control: the proxy does truncate a response if its request has a Content-Length.
TEST(E2bGoProxy, a_stream_is_cut_where_its_request_has_a_content_length_and_whole_where_it_came_in_chunks) {
  COFFERDAM_NEEDS("go", has_go(), "that Go's reverse proxy cuts answers to requests with a Content-Length");
  cofferdam_test::site upstream;
  const cofferdam_test::site::handler streams = [](http_call& call) -> awaitable<void> {
    const bytes content = co_await call.read_all();
    co_await call.begin(http_reply(200));
    co_await call.write("begun");
    co_await cofferdam_test::pause(100ms);
    co_await call.write(", and over");
  };
  const std::function<awaitable<void>(http_server&)> work = [&](http_server&) -> awaitable<void> {
    const go_proxy proxy("http://127.0.0.1:" + std::to_string(upstream.port), "30ms");
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_client client(executor, tcp_connector("127.0.0.1", proxy.port()));
    const int with_length = co_await cut_of(client, 100, false);
    EXPECT_GT(with_length, 0);
    const int in_chunks = co_await cut_of(client, 100, true);
    EXPECT_EQ(in_chunks, 0);
    co_await client.close();
  };
  cofferdam_test::run(upstream.open(streams, http_server_settings(), work), 400s);
}

}  // namespace go_proxy_tests
