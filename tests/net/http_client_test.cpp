// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/net/net_error.hpp>

#include "net/memory_peer.hpp"
#include "support/cancel_when_idle.hpp"
#include "support/run.hpp"

#include <asio/experimental/parallel_group.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::bytes;
using cofferdam::exec_errc;
using cofferdam::http_body;
using cofferdam::http_request;
using cofferdam::http_response;
using cofferdam::net_errc;
using cofferdam::detail::http_client;
using cofferdam::detail::http_client_settings;
using cofferdam::detail::http_exchange;
using cofferdam::detail::http_limits;
using cofferdam::detail::http_upgrade;
using cofferdam_test::cancel_after;
using cofferdam_test::cancel_when_idle;
using cofferdam_test::conversation;
using cofferdam_test::destroy_after;
using cofferdam_test::memory_peer;
using cofferdam_test::run;
using ending = conversation::ending;
using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const std::string pieces =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nSum: 5\r\n\r\n";

/// Returns a plan for one connection: the peer sends one reply after each complete head of a request.
conversation answers(std::initializer_list<std::string> replies) {
  conversation plan;
  for (const std::string& reply : replies) plan.on("\r\n\r\n", reply);
  return plan;
}

/// The parts of a thrown error.
struct thrown {
  exec_errc code{};
  std::error_code cause;
  std::string what;
};
thrown look_at(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const cofferdam::error& reason) {
    return {static_cast<exec_errc>(reason.code().value()), reason.cause(), reason.what()};
  } catch (const std::exception& reason) {
    ADD_FAILURE() << "not one of ours: " << reason.what();
  }
  return {};
}
template <class F>
thrown failure_of(F&& make) {
  try {
    static_cast<void>(run(std::forward<F>(make)));
  } catch (...) {
    return look_at(std::current_exception());
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// A source of a body: yields the given pieces, and then the end. Counts its calls.
class piece_source {
 public:
  explicit piece_source(std::vector<std::string> texts, int* asked = nullptr)
      : texts_(std::make_shared<std::vector<std::string>>(std::move(texts))), asked_(asked) {}
  awaitable<bytes> operator()() const { return next(texts_, asked_); }

 private:
  static awaitable<bytes> next(std::shared_ptr<std::vector<std::string>> texts, int* asked) {
    if (asked != nullptr) ++*asked;
    if (texts->empty()) co_return bytes();
    bytes piece = cofferdam::to_bytes(texts->front());
    texts->erase(texts->begin());
    co_return piece;
  }
  std::shared_ptr<std::vector<std::string>> texts_;
  int* asked_;
};

class HttpClient : public ::testing::Test {
 protected:
  ~HttpClient() override { EXPECT_EQ(peer.open, 0) << "a stream was left open"; }

  http_client client(const http_client_settings& settings = http_client_settings()) {
    return http_client(one_executor(), peer.connector(), settings);
  }
  /// Returns the executor of the running context. `with_client` sets it.
  asio::any_io_executor one_executor() { return executor; }

  /// Runs `body(client)` with a new client, and closes the client afterwards.
  template <class T>
  awaitable<T> with_client(std::function<awaitable<T>(http_client&)> body,
                           http_client_settings settings = http_client_settings()) {
    executor = co_await asio::this_coro::executor;
    http_client http = client(settings);
    if constexpr (std::is_void_v<T>) {
      co_await body(http);
      co_await http.close();
    } else {
      T value = co_await body(http);
      co_await http.close();
      co_return value;
    }
  }
  http_response get(http_request what, http_client_settings settings = http_client_settings()) {
    const std::function<awaitable<http_response>(http_client&)> body = [&](http_client& http) {
      return http.request(what);
    };
    return run([&] { return with_client<http_response>(body, settings); });
  }
  thrown refused(http_request what, http_client_settings settings = http_client_settings()) {
    const std::function<awaitable<http_response>(http_client&)> body = [&](http_client& http) {
      return http.request(what);
    };
    return failure_of([&] { return with_client<http_response>(body, settings); });
  }
  /// Runs a coroutine with a new client.
  void use(const std::function<awaitable<void>(http_client&)>& body,
           const http_client_settings& settings = http_client_settings()) {
    run([&] { return with_client<void>(body, settings); });
  }

  memory_peer peer;
  asio::any_io_executor executor;
};

awaitable<std::string> drain(http_exchange& exchange, std::size_t room) {
  std::string text;
  std::vector<std::byte> piece(room);
  for (;;) {
    const std::size_t count = co_await exchange.read_some(piece);
    if (count == 0) break;
    text += cofferdam::as_text(cofferdam::bytes_view(piece).first(count));
  }
  co_return text;
}

awaitable<std::size_t> drain_count(http_exchange& exchange) {
  const std::string text = co_await drain(exchange, 100);
  co_return text.size();
}
awaitable<void> close_later(http_client& http) {
  const asio::any_io_executor own = co_await asio::this_coro::executor;
  for (int turn = 0; turn < 20; ++turn) co_await asio::post(own, asio::use_awaitable);
  co_await http.close();
}

TEST_F(HttpClient, sends_a_request_and_yields_the_whole_answer) {
  peer.plans = {answers({hello})};
  const http_response answer = get(http_request("GET", "/x").field("A", "b"));
  EXPECT_EQ(answer.status(), 200);
  EXPECT_EQ(answer.text(), "hello");
  EXPECT_EQ(answer.field("content-length"), "5");
  EXPECT_EQ(peer.received.at(0), "GET /x HTTP/1.1\r\nHost: peer.test\r\nA: b\r\n\r\n");
}

TEST_F(HttpClient, a_compressed_answer_is_refused_unless_it_was_asked_for) {
  const auto coded = [](const std::string& coding) {
    return "HTTP/1.1 200 OK\r\nContent-Encoding: " + coding + "\r\nContent-Length: 2\r\n\r\nab";
  };
  for (const char* coding : {"gzip", "br", "gzip, identity", "identity, gzip"}) {
    peer.plans.push_back(answers({coded(coding)}));
    const thrown failure = refused(http_request("GET", "/"));
    EXPECT_EQ(failure.code, exec_errc::io_error) << coding;
    EXPECT_EQ(failure.cause, net_errc::unsupported_coding) << failure.what;
    peer.plans.push_back(answers({coded(coding)}));
    EXPECT_EQ(get(http_request("GET", "/").field("Accept-Encoding", "gzip")).text(), "ab") << coding;
  }
  peer.plans.push_back(answers({coded("Identity")}));
  EXPECT_EQ(get(http_request("GET", "/")).text(), "ab");
}

TEST_F(HttpClient, a_body_of_any_length_is_read_whole_and_one_too_long_is_not) {
  for (const std::size_t length : {0UL, 1UL, 16383UL, 16384UL, 40000UL, 262143UL, 262144UL, 262145UL, 700000UL}) {
    std::string content;
    for (std::size_t i = 0; i < length; ++i) content += static_cast<char>('a' + i % 23);
    const std::string by_length = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" + content;
    std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < length; at += 50000) {
      const std::string piece = content.substr(at, 50000);
      std::ostringstream size;
      size << std::hex << piece.size();
      chunks += size.str() + "\r\n" + piece + "\r\n";
    }
    chunks += "0\r\n\r\n";
    for (const std::string& answer : {by_length, chunks}) {
      for (const std::size_t limit : {length + 1, length, length == 0 ? 0 : length - 1}) {
        peer.plans.push_back(answers({answer, hello}));
        use([&](http_client& http) -> awaitable<void> {
          cofferdam::detail::http_limits limits;
          limits.body(limit);
          std::string came;
          exec_errc code{};
          try {
            const http_response whole = co_await http.request(http_request("GET", "/"), limits);
            came = whole.text();
          } catch (const cofferdam::error& failure) {
            code = static_cast<exec_errc>(failure.code().value());
          }
          if (limit < length) {
            EXPECT_EQ(code, exec_errc::too_large) << length;
            co_return;
          }
          EXPECT_TRUE(came == content) << length << ": " << came.size();
          // The connection is still in step: the next reply is read from its beginning.
          const http_response next = co_await http.request(http_request("GET", "/"));
          EXPECT_EQ(next.text(), "hello") << length;
        });
      }
    }
  }
}

TEST_F(HttpClient, a_body_brings_its_length_or_its_chunks) {
  peer.plans = {answers({hello, hello}).on("xyxy", hello).on("0\r\n\r\n", hello).on("other", hello)};
  use([&](http_client& http) -> awaitable<void> {
    co_await http.request(http_request("POST", "/").content("text/plain", "abc"));
    co_await http.request(http_request("POST", "/"));
    http_body known(piece_source(std::vector<std::string>(2, "xy")), 4);
    http_request second("PUT", "/");
    second.body(std::move(known));
    co_await http.request(std::move(second));
    http_body unknown(http_body::source(piece_source(std::vector<std::string>(2, "xyz"))));
    http_request third("PUT", "/");
    third.body(std::move(unknown));
    co_await http.request(std::move(third));
    co_await http.request(http_request("GET", "/").field("Host", "other"));
  });
  EXPECT_EQ(peer.received.size(), 1U);
  EXPECT_EQ(peer.received.at(0),
            "POST / HTTP/1.1\r\nHost: peer.test\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc"
            "POST / HTTP/1.1\r\nHost: peer.test\r\nContent-Length: 0\r\n\r\n"
            "PUT / HTTP/1.1\r\nHost: peer.test\r\nContent-Length: 4\r\n\r\nxyxy"
            "PUT / HTTP/1.1\r\nHost: peer.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n3\r\nxyz\r\n0\r\n\r\n"
            "GET / HTTP/1.1\r\nHost: other\r\n\r\n");
}

TEST_F(HttpClient, a_body_of_known_length_may_come_in_chunks_all_the_same) {
  const std::string large(100'000, 'x');
  peer.plans = {answers({hello, hello}).on("186a0\r\n" + large + "\r\n0\r\n\r\n", hello).on("yy\r\n0\r\n\r\n", hello)};
  use([&](http_client& http) -> awaitable<void> {
    for (const std::string& text : {"abc"s, ""s, large}) {
      http_request what("POST", "/");
      what.body(http_body(std::string_view(text)).in_chunks());
      const http_response answer = co_await http.request(std::move(what));
      EXPECT_EQ(answer.text(), "hello") << text.size();
    }
    http_request pieces_in_chunks("PUT", "/");
    pieces_in_chunks.body(http_body(piece_source(std::vector<std::string>(1, "yy")), 2).in_chunks());
    co_await http.request(std::move(pieces_in_chunks));
  });
  EXPECT_EQ(peer.received.size(), 1U);
  const std::string head = "POST / HTTP/1.1\r\nHost: peer.test\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_TRUE(peer.received.at(0) == head + "3\r\nabc\r\n0\r\n\r\n" + head + "0\r\n\r\n" + head + "186a0\r\n" + large +
                                         "\r\n0\r\n\r\n" + "PUT" + head.substr(4) + "2\r\nyy\r\n0\r\n\r\n");
}

TEST_F(HttpClient, framing_is_not_the_callers_business) {
  peer.plans = {answers({hello})};
  for (const char* name : {"Content-Length", "transfer-encoding", "Trailer"})
    EXPECT_EQ(refused(http_request("POST", "/").field(name, "1")).code, exec_errc::invalid_argument);
  EXPECT_TRUE(peer.received.empty());
}

TEST_F(HttpClient, an_answer_is_the_same_however_the_stream_is_cut) {
  for (std::size_t piece = 1; piece < pieces.size() + 2; ++piece) {
    for (const std::size_t room : {std::size_t{1}, std::size_t{3}, std::size_t{100}}) {
      peer = memory_peer();
      peer.piece = piece;
      peer.plans = {answers({pieces, hello})};
      use([&](http_client& http) -> awaitable<void> {
        http_exchange answer = co_await http.send(http_request("GET", "/"));
        const std::string text = co_await drain(answer, room);
        EXPECT_EQ(text, "hello");
        EXPECT_EQ(answer.trailers().find("sum"), "5");
        const std::size_t again = co_await drain_count(answer);
        EXPECT_EQ(again, 0U);
        http_exchange second = co_await http.send(http_request("GET", "/"));
        const std::string more = co_await drain(second, room);
        EXPECT_EQ(more, "hello");
      });
      EXPECT_EQ(peer.received.size(), 1U);
    }
  }
}

TEST_F(HttpClient, a_connection_is_used_again_only_where_the_answer_allows_it) {
  struct row {
    std::string answer;
    bool again;
  };
  for (const row& entry :
       {row{hello, true}, row{pieces, true}, row{"HTTP/1.1 204 X\r\n\r\n", true},
        row{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false},
        row{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", false},
        row{"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false}, row{hello + "!", false},
        row{"HTTP/1.1 100 Continue\r\n\r\n" + hello, true}, row{"HTTP/1.1 304 X\r\nContent-Length: 5\r\n\r\n", true}}) {
    peer = memory_peer();
    peer.plans = {answers({entry.answer, hello}), answers({hello})};
    use([&](http_client& client) -> awaitable<void> {
      co_await client.request(http_request("GET", "/"));
      EXPECT_EQ(client.idle_connections(), entry.again ? 1U : 0U) << entry.answer;
      co_await client.request(http_request("GET", "/"));
    });
    EXPECT_EQ(peer.received.size(), entry.again ? 1U : 2U) << entry.answer;
  }
}

TEST_F(HttpClient, a_head_answer_has_no_body_and_frees_its_connection_at_once) {
  peer.plans = {answers({"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", hello})};
  use([&](http_client& http) -> awaitable<void> {
    http_exchange answer = co_await http.send(http_request("HEAD", "/"));
    EXPECT_EQ(http.idle_connections(), 1U);
    const std::size_t count = co_await drain_count(answer);
    EXPECT_EQ(count, 0U);
  });
}

TEST_F(HttpClient, a_kept_connection_that_has_ended_is_not_used) {
  peer.plans = {answers({hello}).then(ending::close), answers({hello})};
  peer.plans[0].secret = false;
  use([&](http_client& http) -> awaitable<void> {
    co_await http.request(http_request("POST", "/"));
    co_await http.request(http_request("POST", "/"));
  });
  EXPECT_EQ(peer.received.size(), 2U);
}

TEST_F(HttpClient, a_kept_connection_that_turns_out_to_be_dead_is_replaced_once_where_that_is_harmless) {
  for (const ending how : {ending::close, ending::reset}) {
    const auto second = [&](http_request what) {
      peer = memory_peer();
      peer.plans = {answers({hello}).then(how).secretly(), answers({hello})};
      return run([&] {
        const std::function<awaitable<http_response>(http_client&)> body =
            [&](http_client& http) -> awaitable<http_response> {
          co_await http.request(http_request("GET", "/"));
          http_response answer = co_await http.request(what);
          co_return answer;
        };
        return with_client<http_response>(body);
      });
    };
    EXPECT_EQ(second(http_request("GET", "/")).text(), "hello");
    EXPECT_EQ(second(http_request("PUT", "/").content("a/b", "x")).text(), "hello");
    EXPECT_EQ(second(http_request("POST", "/").content("a/b", "x").idempotent()).text(), "hello");
    EXPECT_EQ(peer.received.size(), 2U);
    for (const http_request& harmful : {http_request("POST", "/"), http_request("POST", "/").content("a/b", "x")}) {
      try {
        second(harmful);
        ADD_FAILURE() << "a request that could be done twice was sent twice";
      } catch (const cofferdam::error& failure) {
        EXPECT_EQ(failure.code(), exec_errc::io_error);
      }
      EXPECT_EQ(peer.received.size(), 1U);
    }
  }
}

TEST_F(HttpClient, a_body_that_was_not_begun_goes_over_the_new_connection) {
  int asked = 0;
  peer.plans = {answers({hello}).takes(40, true).secretly().then(ending::close), answers({hello})};
  use(
      [&](http_client& http) -> awaitable<void> {
        co_await http.request(http_request("GET", "/"));
        http_body body(http_body::source(piece_source(std::vector<std::string>(1, "xyz"), &asked)));
        http_request what("POST", "/");
        what.body(std::move(body));
        http_response answer = co_await http.request(std::move(what));
        EXPECT_EQ(answer.text(), "hello");
      },
      http_client_settings().limits(http_limits().head(10s)));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(peer.received.size(), 2U);
}

TEST_F(HttpClient, a_new_connection_that_dies_is_not_tried_again) {
  peer.plans = {conversation().on("\r\n\r\n", "").then(ending::close), answers({hello})};
  const thrown failure = refused(http_request("GET", "/"));
  EXPECT_EQ(failure.code, exec_errc::io_error);
  EXPECT_EQ(failure.cause, net_errc::connection_lost);
  EXPECT_NE(failure.what.find("the scripted peer"), std::string::npos) << failure.what;
  EXPECT_EQ(peer.received.size(), 1U);
}

TEST_F(HttpClient, an_answer_that_breaks_off_is_an_error_at_every_byte) {
  for (const std::string& text : {hello, pieces}) {
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      peer = memory_peer();
      peer.plans = {answers({text.substr(0, cut)}).then(ending::close)};
      const thrown failure = refused(http_request("GET", "/"));
      EXPECT_EQ(failure.code, exec_errc::io_error);
      EXPECT_EQ(failure.cause, net_errc::truncated) << cut;
      EXPECT_EQ(peer.open, 0);
    }
  }
}

TEST_F(HttpClient, garbage_is_an_error_that_names_the_peer) {
  for (const std::string& text :
       {"SSH-2.0-OpenSSH\r\n"s, "\x15\x03\x01\r\n"s, "HTTP/1.1 200 OK\n\n"s, std::string(100'000, 'x')}) {
    peer = memory_peer();
    peer.plans = {answers({text})};
    const thrown failure = refused(http_request("GET", "/"));
    EXPECT_EQ(failure.code, exec_errc::io_error);
    EXPECT_NE(failure.what.find("the scripted peer"), std::string::npos) << failure.what;
  }
}

TEST_F(HttpClient, a_body_longer_than_the_limit_is_too_large_and_closes_the_connection) {
  for (const std::string& text : {hello, pieces, "HTTP/1.1 200 OK\r\n\r\nhello"s}) {
    peer = memory_peer();
    peer.plans = {answers({text})};
    use([&](http_client& http) -> awaitable<void> {
      http_limits limits = http_limits().body(4);
      std::exception_ptr failure;
      try {
        co_await http.request(http_request("GET", "/"), limits);
      } catch (...) {
        failure = std::current_exception();
      }
      EXPECT_EQ(look_at(failure).code, exec_errc::too_large);
      EXPECT_EQ(peer.open, 0);
    });
    peer = memory_peer();
    peer.plans = {answers({text}).then(ending::close)};
    EXPECT_EQ(get(http_request("GET", "/"), http_client_settings().limits(http_limits().body(5))).text(), "hello");
  }
}

TEST_F(HttpClient, an_answer_dropped_half_read_closes_its_connection) {
  peer.plans = {answers({pieces}), answers({hello})};
  use([&](http_client& http) -> awaitable<void> {
    {
      http_exchange answer = co_await http.send(http_request("GET", "/"));
      std::array<std::byte, 1> room;
      co_await answer.read_some(room);
      EXPECT_EQ(peer.open, 1);
    }
    EXPECT_EQ(peer.open, 0);
    co_await http.request(http_request("GET", "/"));
  });
}

TEST_F(HttpClient, a_source_that_throws_or_miscounts_fails_the_request) {
  const auto failing = []() -> awaitable<bytes> {
    throw std::runtime_error("the disk is gone");
    co_return bytes();
  };
  peer.plans = {answers({}), answers({}), answers({}), answers({})};
  EXPECT_THROW(get(http_request("POST", "/").body(http_body(http_body::source(failing)))), std::runtime_error);
  for (const std::uint64_t size : {1U, 5U}) {
    const thrown failure = refused(http_request("POST", "/").body(http_body(piece_source({"xy", "z"}), size)));
    EXPECT_EQ(failure.code, exec_errc::invalid_argument);
  }
  EXPECT_EQ(peer.open, 0);
}

TEST_F(HttpClient, an_early_answer_ends_the_sending) {
  const std::string refusal = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno";
  for (const bool fails : {false, true}) {
    for (const bool whole : {false, true}) {
      peer = memory_peer();
      peer.plans = {answers({refusal}).takes(1000, fails), answers({hello})};
      use([&](http_client& http) -> awaitable<void> {
        http_body body(std::string(100'000, 'x'));
        if (!whole)
          body = http_body(http_body::source(piece_source(std::vector<std::string>(50, std::string(5000, 'x')))));
        http_request what("POST", "/");
        what.body(std::move(body));
        http_response answer = co_await http.request(std::move(what));
        EXPECT_EQ(answer.status(), 413);
        EXPECT_EQ(answer.text(), "no");
        EXPECT_EQ(http.idle_connections(), 0U);
        co_await http.request(http_request("GET", "/"));
      });
      EXPECT_EQ(peer.received.size(), 2U);
    }
  }
}

TEST_F(HttpClient, a_server_that_agrees_early_still_gets_the_whole_body) {
  peer.plans = {conversation()
                    .on("\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
                    .on("0\r\n\r\n", "1\r\nc\r\n0\r\n\r\n")};
  use([&](http_client& http) -> awaitable<void> {
    http_body body(http_body::source(piece_source(std::vector<std::string>(50, std::string(5000, 'x')))));
    http_request what("POST", "/");
    what.body(std::move(body));
    http_response answer = co_await http.request(std::move(what));
    EXPECT_EQ(answer.text(), "abc");
    EXPECT_EQ(http.idle_connections(), 1U);
  });
}

TEST_F(HttpClient, a_source_that_throws_after_an_early_yes_still_fails_the_request) {
  class second_piece_throws {
   public:
    awaitable<bytes> operator()() const { return next(calls_); }

   private:
    static awaitable<bytes> next(std::shared_ptr<int> calls) {
      const asio::any_io_executor own = co_await asio::this_coro::executor;
      for (int turn = 0; turn < 20; ++turn) co_await asio::post(own, asio::use_awaitable);
      if (++*calls == 2) throw std::runtime_error("the disk is gone");
      co_return bytes(10);
    }
    std::shared_ptr<int> calls_ = std::make_shared<int>(0);
  };
  peer.plans = {answers({"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"})};
  const http_request what = http_request("POST", "/").body(http_body(http_body::source(second_piece_throws())));
  EXPECT_THROW(get(what), std::runtime_error);
  EXPECT_EQ(peer.open, 0);
}

TEST_F(HttpClient, a_client_that_was_moved_from_says_so) {
  peer.plans = {answers({hello})};
  use([&](http_client& http) -> awaitable<void> {
    http_client other(std::move(http));
    EXPECT_THROW(static_cast<void>(http.request(http_request("GET", "/"))), cofferdam::error);
    http = std::move(other);
    co_await http.request(http_request("GET", "/"));
  });
}

TEST_F(HttpClient, a_large_body_arrives_whole) {
  const std::string content(300'001, 'x');
  peer.plans = {conversation().on(content, hello)};
  EXPECT_EQ(get(http_request("POST", "/").body(http_body(content))).text(), "hello");
  EXPECT_TRUE(peer.received.at(0).ends_with("Content-Length: 300001\r\n\r\n" + content));
}

TEST_F(HttpClient, a_write_that_fails_without_an_answer_is_the_error) {
  peer.plans = {conversation().on("never", "").takes(10, true).then(ending::close)};
  peer.plans[0].turns.clear();
  const thrown failure = refused(http_request("GET", "/"));
  EXPECT_EQ(failure.code, exec_errc::io_error);
  EXPECT_EQ(peer.open, 0);
}

TEST_F(HttpClient, a_peer_that_does_not_answer_runs_into_the_limit_for_the_head) {
  http_client_settings settings;
  settings.limits(http_limits().head(20ms));
  for (const char* text : {"", "HTTP/1.1 20", "HTTP/1.1 100 Continue\r\n\r\n"}) {
    peer = memory_peer();
    peer.plans = {answers({text})};
    const thrown failure = refused(http_request("GET", "/"), settings);
    EXPECT_EQ(failure.code, exec_errc::io_error);
    EXPECT_EQ(failure.cause, net_errc::timed_out);
    EXPECT_NE(failure.what.find("the scripted peer"), std::string::npos);
    EXPECT_EQ(peer.open, 0);
  }
  peer = memory_peer();
  peer.plans = {conversation().on("never", "").takes(1000, false)};
  EXPECT_EQ(refused(http_request("POST", "/").body(http_body(std::string(50'000, 'x'))), settings).cause,
            net_errc::timed_out);
}

TEST_F(HttpClient, a_body_that_stops_runs_into_the_idle_limit) {
  peer.plans = {answers({hello.substr(0, hello.size() - 1)})};
  http_client_settings settings;
  settings.limits(http_limits().idle(20ms));
  const thrown failure = refused(http_request("GET", "/"), settings);
  EXPECT_EQ(failure.cause, net_errc::timed_out);
  EXPECT_NE(failure.what.find("idle"), std::string::npos) << failure.what;
}

TEST_F(HttpClient, limits_longer_than_zero_or_none) {
  EXPECT_THROW(http_limits().head(0ms), cofferdam::error);
  EXPECT_THROW(http_limits().connect(-1ms), cofferdam::error);
  EXPECT_THROW(http_client_settings().connections(0), cofferdam::error);
  EXPECT_FALSE(http_limits().head(std::nullopt).head().has_value());
  peer.plans = {answers({hello})};
  http_client_settings settings;
  settings.limits(http_limits().head(std::nullopt).idle(std::nullopt));
  EXPECT_EQ(get(http_request("GET", "/"), settings).text(), "hello");
}

TEST_F(HttpClient, an_upgrade_yields_both_directions_and_what_came_early) {
  for (const std::string& head : {"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"s,
                                  "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"s}) {
    for (std::size_t piece = 1; piece < head.size() + 8; piece += 7) {
      peer = memory_peer();
      peer.piece = piece;
      peer.plans = {conversation().on("\r\n\r\n", head + "early").on("late<end>", "last").then(ending::close)};
      use([&](http_client& http) -> awaitable<void> {
        http_upgrade done = co_await http.upgrade(http_request("POST", "/exec").content("application/json", "{}"));
        EXPECT_TRUE(done.upgraded());
        co_await http.close();
        const bytes late = cofferdam::to_bytes("late");
        co_await done.stream().write(late);
        co_await done.stream().shutdown_send();
        std::string text;
        std::array<std::byte, 3> room;
        for (;;) {
          const std::size_t count = co_await done.stream().read_some(room);
          if (count == 0) break;
          text += cofferdam::as_text(cofferdam::bytes_view(room).first(count));
        }
        EXPECT_EQ(text, "earlylast");
      });
      EXPECT_EQ(peer.open, 0);
    }
  }
  EXPECT_EQ(peer.received.at(0),
            "POST /exec HTTP/1.1\r\nHost: peer.test\r\nContent-Type: application/json\r\nConnection: Upgrade\r\n"
            "Upgrade: tcp\r\nContent-Length: 2\r\n\r\n{}late");
}

TEST_F(HttpClient, an_upgrade_that_is_refused_says_why) {
  peer.plans = {answers({"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"}), answers({hello})};
  use([&](http_client& http) -> awaitable<void> {
    http_upgrade done = co_await http.upgrade(http_request("POST", "/"));
    EXPECT_FALSE(done.upgraded());
    EXPECT_EQ(done.answer().status(), 404);
    EXPECT_EQ(done.answer().text(), "no");
    EXPECT_THROW(static_cast<void>(done.stream().write(cofferdam::bytes_view())), cofferdam::error);
    http_upgrade other = co_await http.upgrade(http_request("POST", "/"));
    EXPECT_FALSE(other.upgraded());
    EXPECT_EQ(other.answer().text(), "hello");
  });
}

TEST_F(HttpClient, a_switch_that_nobody_asked_for_is_an_error) {
  peer.plans = {answers({"HTTP/1.1 101 X\r\n\r\n"})};
  EXPECT_EQ(refused(http_request("GET", "/")).cause, net_errc::malformed);
}

TEST_F(HttpClient, a_closed_client_refuses_and_ends_what_is_under_way) {
  peer.plans = {answers({hello}), answers({hello.substr(0, 50)})};
  use([&](http_client& http) -> awaitable<void> {
    http_exchange half = co_await http.send(http_request("GET", "/"));
    co_await http.close();
    std::array<std::byte, 64> room;
    std::exception_ptr failure;
    std::size_t total = 0;
    try {
      for (;;) {
        const std::size_t count = co_await half.read_some(room);
        total += count;
        if (count == 0) break;
      }
    } catch (...) {
      failure = std::current_exception();
    }
    EXPECT_EQ(total, 5U) << "what had come already is still there";
    EXPECT_EQ(peer.open, 0);
    failure = nullptr;
    try {
      co_await http.request(http_request("GET", "/"));
    } catch (...) {
      failure = std::current_exception();
    }
    EXPECT_EQ(look_at(failure).code, exec_errc::environment_closed);
    co_await http.close();
  });
}

TEST_F(HttpClient, closing_ends_a_request_that_waits_for_its_answer_and_one_that_waits_for_a_place) {
  peer.plans = {answers({""})};
  use(
      [&](http_client& http) -> awaitable<void> {
        auto group = asio::experimental::make_parallel_group(
            asio::co_spawn(executor, http.request(http_request("GET", "/")), cofferdam::detail::deferred),
            asio::co_spawn(executor, http.request(http_request("GET", "/")), cofferdam::detail::deferred),
            asio::co_spawn(executor, close_later(http), cofferdam::detail::deferred));
        auto result = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
        EXPECT_EQ(look_at(std::get<1>(result)).code, exec_errc::environment_closed);
        EXPECT_EQ(look_at(std::get<3>(result)).code, exec_errc::environment_closed);
      },
      http_client_settings().connections(1));
}

TEST_F(HttpClient, requests_beyond_the_limit_wait_for_a_connection) {
  peer.plans = {answers({hello, hello, hello})};
  use(
      [&](http_client& http) -> awaitable<void> {
        auto group = asio::experimental::make_parallel_group(
            asio::co_spawn(executor, http.request(http_request("GET", "/1")), cofferdam::detail::deferred),
            asio::co_spawn(executor, http.request(http_request("GET", "/2")), cofferdam::detail::deferred),
            asio::co_spawn(executor, http.request(http_request("GET", "/3")), cofferdam::detail::deferred));
        auto result = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
        EXPECT_EQ(std::get<2>(result).text(), "hello");
        EXPECT_EQ(std::get<4>(result).text(), "hello");
        EXPECT_EQ(std::get<6>(result).text(), "hello");
      },
      http_client_settings().connections(1));
  EXPECT_EQ(peer.received.size(), 1U);
}

TEST_F(HttpClient, no_more_connections_are_kept_than_the_limit_says) {
  for (const std::size_t limit : {0U, 1U}) {
    peer = memory_peer();
    peer.plans = {answers({hello}), answers({hello})};
    use(
        [&](http_client& http) -> awaitable<void> {
          http_exchange first = co_await http.send(http_request("GET", "/"));
          http_exchange second = co_await http.send(http_request("GET", "/"));
          co_await drain_count(first);
          co_await drain_count(second);
          EXPECT_EQ(http.idle_connections(), limit);
          EXPECT_EQ(peer.open, static_cast<int>(limit));
        },
        http_client_settings().idle_connections(limit));
  }
}

TEST_F(HttpClient, an_answer_outlives_its_client) {
  peer.plans = {answers({hello})};
  run([&]() -> awaitable<void> {
    executor = co_await asio::this_coro::executor;
    std::optional<http_client> http(client());
    http_exchange answer = co_await http->send(http_request("GET", "/"));
    http.reset();
    const std::string text = co_await drain(answer, 100);
    EXPECT_EQ(text, "hello");
    EXPECT_EQ(peer.open, 0);
  });
}

TEST_F(HttpClient, a_default_constructed_answer_or_connector_is_refused) {
  http_exchange none;
  std::array<std::byte, 1> room;
  EXPECT_THROW(static_cast<void>(none.read_some(room)), cofferdam::error);
  EXPECT_EQ(failure_of([&]() -> awaitable<void> {
              http_client nobody(co_await asio::this_coro::executor, cofferdam::detail::connector());
              co_await nobody.request(http_request("GET", "/"));
            }).code,
            exec_errc::invalid_argument);
}

/// Makes one request of each kind: with a streamed body, over the kept connection, and an upgrade. A test interrupts it
/// at each step.
awaitable<void> some_of_everything(http_client* http) {
  http_body body(http_body::source(piece_source(std::vector<std::string>(3, "xyz"))));
  http_request what("POST", "/");
  what.body(std::move(body));
  co_await http->request(std::move(what));
  co_await http->request(http_request("GET", "/"));
  http_upgrade done = co_await http->upgrade(http_request("POST", "/"));
  const bytes late = cofferdam::to_bytes("late");
  co_await done.stream().write(late);
  std::array<std::byte, 64> room;
  co_await done.stream().read_some(room);
}
std::vector<conversation> some_of_everything_answered() {
  return {conversation().on("0\r\n\r\n", pieces).on("\r\n\r\n", hello),
          conversation().on("\r\n\r\n", "HTTP/1.1 101 X\r\n\r\n").on("late", "done"), answers({hello})};
}

TEST_F(HttpClient, cancelling_at_every_step_closes_that_connection_and_leaves_the_client_usable) {
  bool ended = false;
  for (std::size_t n = 0; !ended; ++n) {
    peer = memory_peer();
    peer.plans = some_of_everything_answered();
    std::exception_ptr failure;
    ended = cancel_after(
        n,
        [&]() -> awaitable<void> {
          executor = co_await asio::this_coro::executor;
          http_client http = client();
          std::exception_ptr reason;
          try {
            co_await some_of_everything(&http);
          } catch (...) {
            reason = std::current_exception();
          }
          EXPECT_EQ(peer.open, static_cast<int>(http.idle_connections())) << n;
          if (reason) std::rethrow_exception(reason);
        },
        failure);
    ASSERT_LT(n, 1000U);
    if (!ended && failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const std::system_error& reason) {
        EXPECT_TRUE(reason.code() == exec_errc::cancelled || reason.code() == asio::error::operation_aborted)
            << n << ": " << reason.what();
      }
    }
    EXPECT_EQ(peer.open, 0) << n;
  }
}

TEST_F(HttpClient, a_client_is_usable_after_a_cancellation) {
  peer.plans = {answers({""}), answers({hello})};
  std::optional<http_client> http;
  const auto body = [&]() -> awaitable<void> {
    const asio::any_io_executor own = co_await asio::this_coro::executor;
    http.emplace(own, peer.connector(), http_client_settings().connections(1));
    std::exception_ptr failure;
    try {
      co_await http->request(http_request("GET", "/"));
    } catch (...) {
      failure = std::current_exception();
    }
    EXPECT_EQ(look_at(failure).code, exec_errc::cancelled);
    EXPECT_EQ(peer.open, 0);
    co_await asio::this_coro::reset_cancellation_state();
    http_response answer = co_await http->request(http_request("GET", "/"));
    EXPECT_EQ(answer.text(), "hello");
  };
  cofferdam_test::driven<void> first(body());
  first.context().poll();
  first.cancel();
  first.run_to_end();
  first.result();
  http.reset();
}

TEST_F(HttpClient, destroying_the_context_after_every_handler_leaks_nothing) {
  bool ended = false;
  for (std::size_t n = 0; !ended; ++n) {
    peer = memory_peer();
    peer.plans = some_of_everything_answered();
    ended = destroy_after(n, [&]() -> awaitable<void> {
      executor = co_await asio::this_coro::executor;
      http_client http = client();
      co_await some_of_everything(&http);
    });
    EXPECT_EQ(peer.open, 0) << n;
    ASSERT_LT(n, 1000U);
  }
}

TEST_F(HttpClient, a_request_that_waits_for_a_place_can_be_cancelled) {
  peer.plans = {answers({hello})};
  const std::exception_ptr failure = cancel_when_idle([&]() -> awaitable<void> {
    executor = co_await asio::this_coro::executor;
    http_client http = client(http_client_settings().connections(1));
    http_exchange held = co_await http.send(http_request("GET", "/"));
    co_await http.send(http_request("GET", "/"));
  });
  EXPECT_EQ(look_at(failure).code, exec_errc::cancelled);
}

}  // namespace
