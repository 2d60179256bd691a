// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/http_message.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam_test {

/// Reads until the other side ends its sending direction, and returns all bytes.
inline cofferdam::awaitable<std::string> read_all(cofferdam::byte_stream& stream) {
  std::string text;
  std::array<std::byte, 4096> room;
  for (;;) {
    const std::size_t count = co_await stream.read_some(room);
    if (count == 0) break;
    text += cofferdam::as_text(cofferdam::bytes_view(room).first(count));
  }
  co_return text;
}

/// A source of a request body: yields `count` pieces of 10,000 bytes.
class piece_source {
 public:
  explicit piece_source(int count) : left_(std::make_shared<int>(count)) {}
  cofferdam::awaitable<cofferdam::bytes> operator()() const { return next(left_); }

 private:
  static cofferdam::awaitable<cofferdam::bytes> next(std::shared_ptr<int> left) {
    if (*left == 0) co_return cofferdam::bytes();
    --*left;
    co_return cofferdam::bytes(10'000);
  }
  std::shared_ptr<int> left_;
};

inline void http_body_of(cofferdam::http_request& request, int pieces) {
  request.body(cofferdam::http_body(cofferdam::http_body::source(piece_source(pieces))));
}

/// Makes requests of each kind to tests/net/http_server.py, and checks the replies.
inline cofferdam::awaitable<void> speak_to_a_real_server(cofferdam::detail::connector target) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam::detail::http_client client(executor, target);
  cofferdam::http_response answer = co_await client.request(cofferdam::http_request("GET", "/hello"));
  EXPECT_EQ(answer.text(), "hello");
  answer = co_await client.request(cofferdam::http_request("HEAD", "/hello"));
  EXPECT_TRUE(answer.body().empty());
  answer = co_await client.request(cofferdam::http_request("GET", "/count"));
  EXPECT_EQ(answer.text(), "2") << "the connection was not used again";
  answer = co_await client.request(cofferdam::http_request("GET", "/chunked/300"));
  EXPECT_EQ(answer.text().substr(0, 4), "0,0,");
  EXPECT_EQ(answer.body().size(), 10 * 200U + 90 * 300U + 200 * 400U);
  answer = co_await client.request(cofferdam::http_request("GET", "/none"));
  EXPECT_EQ(answer.status(), 404);
  EXPECT_EQ(answer.text(), "{\"message\":\"no such page\"}");
  answer = co_await client.request(cofferdam::http_request("GET", "/host"));
  EXPECT_EQ(answer.text(), target.host());
  answer = co_await client.request(cofferdam::http_request("GET", "/until-close"));
  EXPECT_EQ(answer.body().size(), 100'000U);

  cofferdam::http_request upload("POST", "/size");
  http_body_of(upload, 300);
  answer = co_await client.request(std::move(upload));
  EXPECT_EQ(answer.text(), "3000000");
  cofferdam::http_request whole("POST", "/size");
  whole.body(cofferdam::http_body(cofferdam::bytes(2'000'000)));
  answer = co_await client.request(std::move(whole));
  EXPECT_EQ(answer.text(), "2000000");
  cofferdam::http_request refused("POST", "/refuse");
  refused.body(cofferdam::http_body(cofferdam::bytes(20'000'000)));
  answer = co_await client.request(std::move(refused));
  EXPECT_EQ(answer.status(), 413);

  std::exception_ptr failure;
  try {
    co_await client.request(cofferdam::http_request("GET", "/drop"));
  } catch (...) {
    failure = std::current_exception();
  }
  EXPECT_TRUE(failure);

  cofferdam::detail::http_upgrade raw =
      co_await client.upgrade(cofferdam::http_request("POST", "/hijack").content("application/json", "{}"));
  EXPECT_TRUE(raw.upgraded());
  const cofferdam::bytes text = cofferdam::to_bytes("shout");
  co_await raw.stream().write(text);
  co_await raw.stream().shutdown_send();
  const std::string heard = co_await read_all(raw.stream());
  EXPECT_EQ(heard, "SHOUT");
  co_await client.close();
}

}  // namespace cofferdam_test
