// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of sending a file over a stream.

#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/net/tls.hpp>
#include <cofferdam/net/tls_listener.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include "net/certificates.hpp"
#include "support/cancel_when_idle.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace send_file_tests {

using namespace cofferdam;
using cofferdam::detail::connector;
using cofferdam::detail::http_client;
using cofferdam::detail::http_server;
using cofferdam::detail::tcp_connector;
using cofferdam::detail::tls_connector;

std::string numbers(std::size_t size) {
  std::string content;
  content.reserve(size + 16);
  for (std::uint32_t i = 0; content.size() < size; ++i) content += std::to_string(i * 2654435761U) + " ";
  content.resize(size);
  return content;
}

class sample {
 public:
  explicit sample(std::size_t size) : text(numbers(size)) {
    path = folder.path() / "sample";
    std::ofstream(path) << text;
    fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  cofferdam_test::temporary_folder folder;
  std::string text;
  std::string path;
  unique_fd fd;
};

class connection {
 public:
  byte_stream client;
  byte_stream server;
};

awaitable<connection> connected() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  listener where = tcp_listener(executor, "127.0.0.1", 0);
  connector target = tcp_connector("127.0.0.1", where.port());
  connection both;
  both.client = co_await target.connect(executor, std::chrono::seconds(20));
  both.server = co_await where.accept();
  co_return both;
}

/// Reads from `from` until the other side ends the stream, and appends the bytes to `into`.
awaitable<void> read_all(byte_stream from, std::string& into) {
  std::array<std::byte, 65536> room;
  for (;;) {
    const std::size_t count = co_await from.read_some(room);
    if (count == 0) co_return;
    into += as_text(bytes_view(room).first(count));
  }
}

TEST(SendFile, a_part_of_a_file_arrives_as_it_is_and_the_descriptor_stays_where_it_was) {
  const sample file(5'000'011);
  std::string heard;
  cofferdam_test::run([&]() -> awaitable<void> {
    connection both = co_await connected();
    byte_stream& client = both.client;
    bool over = false;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam_test::spawn(executor, read_all(std::move(both.server), heard),
                          [&](const std::exception_ptr&) { over = true; });
    EXPECT_EQ(::lseek(file.fd.get(), 7, SEEK_SET), 7);
    co_await client.write(as_bytes("before "));
    co_await client.send_file(file.fd.get(), 10, 5'000'000);
    co_await client.write(as_bytes(" behind"));
    co_await client.shutdown_send();
    while (!over) co_await asio::post(executor, asio::use_awaitable);
  });
  EXPECT_TRUE(heard == "before " + file.text.substr(10, 5'000'000) + " behind") << heard.size();
  EXPECT_EQ(::lseek(file.fd.get(), 0, SEEK_CUR), 7);
}

TEST(SendFile, a_file_that_is_too_short_and_a_peer_that_has_gone_are_errors_and_no_signal) {
  const sample file(1'000'000);
  ::signal(SIGPIPE, SIG_DFL);  // the default action would end this program
  cofferdam_test::run([&]() -> awaitable<void> {
    connection both = co_await connected();
    byte_stream& client = both.client;
    exec_errc code{};
    try {
      co_await client.send_file(file.fd.get(), 999'990, 11);
    } catch (const error& reason) {
      code = static_cast<exec_errc>(reason.code().value());
    }
    EXPECT_EQ(code, exec_errc::invalid_argument);
    both.server.close();
    code = exec_errc{};
    for (int i = 0; i < 100 && code == exec_errc{}; ++i) {
      try {
        co_await client.send_file(file.fd.get(), 0, 1'000'000);
      } catch (const error& reason) {
        code = static_cast<exec_errc>(reason.code().value());
      }
    }
    EXPECT_EQ(code, exec_errc::io_error);
  });
}

TEST(SendFile, waits_for_who_does_not_read_until_it_is_cancelled) {
  const sample file(64'000'000);
  const std::exception_ptr failure = cofferdam_test::cancel_when_idle([&]() -> awaitable<void> {
    connection both = co_await connected();
    byte_stream& client = both.client;
    co_await client.send_file(file.fd.get(), 0, 64'000'000);
  });
  std::string outcome = "nothing";
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const error& reason) {
    outcome = reason.code() == exec_errc::cancelled ? "cancelled" : reason.what();
  }
  EXPECT_EQ(outcome, "cancelled");
}

/// Sends `body` to a server, and then sends the body "next" with the same client. Returns the first reply and the body
/// that the server received, or the message of the error; then a blank and the body of the second request.
std::string talk(const http_body& body, bool with_tls) {
  std::string outcome;
  const cofferdam_test::certificate authority("");
  const cofferdam_test::certificate shown("DNS:localhost,IP:127.0.0.1", &authority);
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::string heard;
    const auto handle = [&heard](http_call& call) -> awaitable<void> {
      heard.clear();
      const bytes body_bytes = co_await call.read_all(16'000'000);
      heard = as_text(body_bytes);
      co_await call.reply(http_reply(200).content("text/plain", "taken"));
    };
    http_server server(executor, handle);
    listener where = with_tls ? tls_listener(executor, "127.0.0.1", 0,
                                             tls_server_settings().certificate(shown.pem(), shown.key_pem()))
                              : tcp_listener(executor, "127.0.0.1", 0);
    const std::uint16_t port = where.port();
    server.listen(std::move(where));
    cofferdam_test::spawn(executor, server.run(), [](const std::exception_ptr&) {});
    http_client client(executor, with_tls ? tls_connector("127.0.0.1", port, tls_settings().trust(authority.pem()))
                                          : tcp_connector("127.0.0.1", port));
    try {
      http_request what("POST", "/");
      what.body(body);
      const http_response answer = co_await client.request(std::move(what));
      outcome = std::string(answer.text()) + " " + heard;
    } catch (const error& reason) {
      outcome = std::string("error: ") + reason.what();
    }
    // The client stays usable after each outcome, so a next request must succeed.
    const http_response next = co_await client.request(http_request("POST", "/").body(http_body("next")));
    outcome += " " + heard;
    co_await server.stop();
  });
  return outcome;
}

TEST(SendFile, a_request_carries_a_file_over_a_socket_and_over_tls) {
  const sample file(1'500'000);
  for (const bool with_tls : {false, true}) {
    const std::string outcome = talk(http_body::of_file(file_range(file.fd.get(), 5, 1'400'000)), with_tls);
    EXPECT_TRUE(outcome == "taken " + file.text.substr(5, 1'400'000) + " next") << with_tls << outcome.substr(0, 200);
    const std::string none = talk(http_body::of_file(file_range(file.fd.get(), 5, 0)), with_tls);
    EXPECT_EQ(none, "taken  next");
    const std::string borrowed = talk(http_body::borrowed(as_bytes(file.text)), with_tls);
    EXPECT_TRUE(borrowed == "taken " + file.text + " next") << with_tls;
  }
}

TEST(SendFile, a_request_whose_file_is_too_short_fails_and_takes_its_connection_along) {
  const sample file(100'000);
  for (const bool with_tls : {false, true}) {
    const std::string outcome = talk(http_body::of_file(file_range(file.fd.get(), 0, 100'001)), with_tls);
    EXPECT_NE(outcome.find("error: "), std::string::npos) << outcome.substr(0, 100);
    EXPECT_NE(outcome.find("became shorter"), std::string::npos) << outcome.substr(0, 200);
    EXPECT_TRUE(outcome.ends_with(" next")) << outcome.substr(0, 200);
  }
}

}  // namespace send_file_tests
