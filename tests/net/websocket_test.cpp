// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/detail/net/websocket.hpp>
#include <cofferdam/detail/net/websocket_frame.hpp>
#include <cofferdam/detail/net/websocket_handshake.hpp>
#include <cofferdam/net/net_error.hpp>

#include "net/certificates.hpp"
#include "net/memory_peer.hpp"
#include "net/real_server.hpp"
#include "support/cancel_when_idle.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::awaitable;
using cofferdam::byte_stream;
using cofferdam::bytes;
using cofferdam::bytes_view;
using cofferdam::error;
using cofferdam::exec_errc;
using cofferdam::http_request;
using cofferdam::net_errc;
using cofferdam::detail::connector;
using cofferdam::detail::http_client;
using cofferdam::detail::http_limits;
using cofferdam::detail::websocket;
using cofferdam::detail::websocket_message;
using cofferdam::detail::websocket_opening;
using cofferdam::detail::websocket_piece;
using cofferdam::detail::websocket_settings;
using cofferdam_test::cancel_after;
using cofferdam_test::conversation;
using cofferdam_test::destroy_after;
using cofferdam_test::memory_peer;
using cofferdam_test::real_server;
using cofferdam_test::run;
using ending = conversation::ending;
using namespace std::chrono_literals;
using namespace std::string_literals;

const std::vector<std::string> both{"v5.channel.k8s.io", "v4.channel.k8s.io"};

/// Returns a frame of a server with a short payload.
std::string frame(unsigned first, std::string_view payload) {
  std::string text(1, static_cast<char>(first));
  text += static_cast<char>(payload.size());
  return text += payload;
}

/// Removes the first frame of a client from `text`, and returns it with its payload unmasked: "2:payload" for a binary
/// message. Returns an empty text if no whole frame is left.
std::string next_frame(std::string& text) {
  const auto at = [&text](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  if (text.size() < 2) return "";
  EXPECT_TRUE((at(0) & 0x80U) != 0) << "not the last fragment";
  EXPECT_TRUE((at(1) & 0x80U) != 0) << "not masked";
  std::size_t size = at(1) & 0x7FU;
  std::size_t head = 2;
  if (size == 126) {
    size = at(2) << 8U | at(3);
    head = 4;
  } else if (size == 127) {
    size = 0;
    for (std::size_t i = 2; i < 10; ++i) size = size << 8U | at(i);
    head = 10;
  }
  if (text.size() < head + 4 + size) return "";
  std::string payload = text.substr(head + 4, size);
  for (std::size_t i = 0; i < size; ++i)
    payload[i] = static_cast<char>(static_cast<unsigned char>(payload[i]) ^ at(head + i % 4));
  const std::string result = std::to_string(at(0) & 0x0FU) + ":" + payload;
  text.erase(0, head + 4 + size);
  return result;
}
std::vector<std::string> frames(std::string text) {
  std::vector<std::string> result;
  for (std::string each = next_frame(text); !each.empty(); each = next_frame(text)) result.push_back(each);
  EXPECT_TRUE(text.empty()) << "half a frame was sent";
  return result;
}

/// Reads one whole message. Returns "closed CODE REASON" at the end.
awaitable<std::string> message(websocket& socket) {
  std::string text;
  for (;;) {
    const websocket_piece piece = co_await socket.read();
    if (piece.closed) {
      co_return "closed " + std::to_string(socket.close_code()) + " " + socket.close_reason();
    }
    EXPECT_EQ(piece.begins, text.empty() || piece.data.empty());
    text += as_text(piece.data);
    if (piece.ends) co_return text;
  }
}

awaitable<void> send(websocket& socket, std::string text) {
  co_await socket.write(websocket_message::binary, as_bytes(std::string_view(text)));
}

/// Returns the error that a coroutine throws.
template <class F>
error failure_of(F&& make) {
  try {
    run(std::forward<F>(make));
  } catch (const error& failure) {
    return failure;
  }
  ADD_FAILURE() << "nothing was thrown";
  return error(exec_errc{}, "");
}

class Websocket : public ::testing::Test {
 protected:
  ~Websocket() override { EXPECT_EQ(peer.open, 0) << "a stream was left open"; }

  /// Runs `body(socket)` with a WebSocket to the scripted peer, without a handshake, and closes the WebSocket.
  awaitable<void> with_socket(std::function<awaitable<void>(websocket&)> body,
                              websocket_settings settings = websocket_settings().peer("pod p")) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    connector target = peer.connector();
    byte_stream stream = co_await target.connect(executor, 10s);
    websocket socket(executor, std::move(stream), "v4.channel.k8s.io", settings);
    const auto part = [&] { return body(socket); };
    const auto end = [&] { return socket.close(); };
    co_await cofferdam::detail::with_cleanup(part, end);
  }
  /// Makes the scripted peer send a text at once, and answer a close frame without a code in it.
  void says(const std::string& text, ending last = ending::stay) {
    conversation plan;
    plan.on("", text).on("\x88\x82", "\x88\x02\x03\xe8");
    peer.plans.push_back(std::move(plan).then(last));
  }

  memory_peer peer;
};

TEST_F(Websocket, messages_go_both_ways_and_the_end_is_orderly) {
  says(frame(0x82, "one") + frame(0x01, "t") + frame(0x80, "wo"));
  run([&] {
    return with_socket([](websocket& socket) -> awaitable<void> {
      EXPECT_EQ(socket.protocol(), "v4.channel.k8s.io");
      std::string text = co_await message(socket);
      EXPECT_EQ(text, "one");
      text = co_await message(socket);
      EXPECT_EQ(text, "two");
      const bytes channel(1);
      co_await socket.write(websocket_message::binary, channel, as_bytes("input"));
      co_await socket.write(websocket_message::text, as_bytes("words"));
    });
  });
  EXPECT_EQ(frames(peer.received[0]), (std::vector<std::string>{"2:\0input"s, "1:words", "8:\x03\xe8"}));
}

TEST_F(Websocket, a_close_frame_of_the_peer_is_answered_and_told) {
  says(frame(0x88, "\x0f\xa1"s + "no more"));
  run([&] {
    return with_socket([](websocket& socket) -> awaitable<void> {
      std::string text = co_await message(socket);
      EXPECT_EQ(text, "closed 4001 no more");
      text = co_await message(socket);
      EXPECT_EQ(text, "closed 4001 no more");
      std::string what;
      try {
        co_await send(socket, "late");
      } catch (const error& failure) {
        what = failure.what();
        EXPECT_EQ(failure.cause(), net_errc::connection_lost);
      }
      EXPECT_NE(what.find("pod p: the peer has closed the WebSocket: 4001 no more"), std::string::npos) << what;
    });
  });
  EXPECT_EQ(frames(peer.received[0]), (std::vector<std::string>{"8:\x0f\xa1"}));
}

TEST_F(Websocket, pings_are_answered_with_their_payload) {
  conversation plan;
  plan.on("", frame(0x89, "are you there?")).on("\x8a\x8e", frame(0x82, "x")).on("\x88\x82", "\x88\x02\x03\xe8");
  peer.plans.push_back(std::move(plan).then(ending::stay));
  run([&] {
    return with_socket([](websocket& socket) -> awaitable<void> {
      const std::string text = co_await message(socket);
      EXPECT_EQ(text, "x");
    });
  });
  const std::vector<std::string> sent = frames(peer.received[0]);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0], "10:are you there?");
}

TEST_F(Websocket, a_long_message_is_one_frame) {
  says("");
  const std::string text(200'000, 'x');
  run([&] {
    return with_socket([&](websocket& socket) -> awaitable<void> {
      co_await socket.write(websocket_message::binary, as_bytes("\x01"), as_bytes(std::string_view(text)));
    });
  });
  const std::vector<std::string> sent = frames(peer.received[0]);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0], "2:\x01" + text);
}

TEST_F(Websocket, a_violation_is_an_error_that_the_peer_is_told) {
  const struct {
    std::string stream;
    exec_errc code;
    std::string close;
  } cases[] = {{"\xff\x00"s, exec_errc::io_error, "8:\x03\xea"},
               {frame(0x82, std::string(101, 'x')), exec_errc::too_large, "8:\x03\xf1"}};
  for (const auto& each : cases) {
    peer.plans.clear();
    peer.received.clear();
    peer.half_closed.clear();
    says(each.stream);
    const error failure = failure_of([&] {
      return with_socket([](websocket& socket) -> awaitable<void> { co_await message(socket); },
                         websocket_settings().peer("pod p").max_message(100));
    });
    EXPECT_EQ(failure.code(), each.code);
    EXPECT_TRUE(std::string(failure.what()).starts_with("pod p: ")) << failure.what();
    EXPECT_EQ(frames(peer.received[0]), std::vector<std::string>{each.close});
  }
}

TEST_F(Websocket, a_connection_that_ends_without_a_close_frame_is_an_error) {
  const struct {
    std::string stream;
    ending last;
    net_errc cause;
  } cases[] = {{"", ending::close, net_errc::connection_lost},
               {frame(0x82, "x"), ending::close, net_errc::connection_lost},
               {frame(0x82, "x") + "\x82", ending::close, net_errc::truncated},
               {frame(0x82, "x") + frame(0x02, "y"), ending::close, net_errc::truncated}};
  for (const auto& each : cases) {
    peer.plans.clear();
    peer.received.clear();
    conversation plan;
    plan.on("", each.stream);
    peer.plans.push_back(std::move(plan).then(each.last));
    const error failure = failure_of([&] {
      return with_socket([](websocket& socket) -> awaitable<void> {
        for (;;) co_await message(socket);
      });
    });
    EXPECT_EQ(failure.code(), exec_errc::io_error);
    EXPECT_EQ(failure.cause(), each.cause) << failure.what();
  }
}

TEST_F(Websocket, a_reset_connection_is_the_error_of_every_later_call) {
  conversation plan;
  plan.on("", frame(0x82, "x"));
  peer.plans.push_back(std::move(plan).then(ending::reset));
  run([&] {
    return with_socket([](websocket& socket) -> awaitable<void> {
      co_await message(socket);
      int failures = 0;
      for (int i = 0; i < 3; ++i) {
        try {
          if (i == 1) {
            co_await send(socket, "x");
          } else {
            co_await message(socket);
          }
        } catch (const error& failure) {
          EXPECT_EQ(failure.cause(), std::error_code(asio::error::connection_reset)) << failure.what();
          ++failures;
        }
      }
      EXPECT_EQ(failures, 3);
    });
  });
}

TEST_F(Websocket, silence_gets_a_ping_and_then_ends_the_connection) {
  says("");
  const error failure = failure_of([&] {
    return with_socket([](websocket& socket) -> awaitable<void> { co_await message(socket); },
                       websocket_settings().peer("pod p").heartbeat(30ms));
  });
  EXPECT_EQ(failure.code(), exec_errc::io_error);
  EXPECT_EQ(failure.cause(), net_errc::timed_out) << failure.what();
  EXPECT_EQ(frames(peer.received[0]), std::vector<std::string>{"9:"});
}

TEST_F(Websocket, a_peer_that_answers_pings_may_stay_silent) {
  conversation plan;
  for (int i = 0; i < 5; ++i) plan.on("\x89\x80", frame(0x8a, ""));
  plan.on("\x89\x80", frame(0x82, "at last")).on("\x88\x82", "\x88\x02\x03\xe8");
  peer.plans.push_back(std::move(plan).then(ending::stay));
  run([&] {
    return with_socket(
        [](websocket& socket) -> awaitable<void> {
          const std::string text = co_await message(socket);
          EXPECT_EQ(text, "at last");
        },
        websocket_settings().heartbeat(200ms));
  });
  EXPECT_GE(frames(peer.received[0]).size(), 7U);
}

awaitable<void> pause(std::chrono::milliseconds length) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, length);
  co_await timer.async_wait(asio::use_awaitable);
}

TEST_F(Websocket, a_caller_that_does_not_read_does_not_lose_the_connection) {
  conversation plan;
  plan.on("\x89\x80", "").on("\x89\x80", "").on("\x89\x80", frame(0x82, "x")).on("\x88\x82", "\x88\x02\x03\xe8");
  peer.plans.push_back(std::move(plan).then(ending::stay));
  run([&] {
    return with_socket(
        [](websocket& socket) -> awaitable<void> {
          co_await pause(1s);  // pings go out meanwhile, and nothing arrives
          const std::string text = co_await message(socket);
          EXPECT_EQ(text, "x");
        },
        websocket_settings().heartbeat(200ms));
  });
}

TEST_F(Websocket, a_cancelled_read_loses_nothing) {
  conversation plan;
  plan.on("\x82\x82", frame(0x82, "later")).on("\x88\x82", "\x88\x02\x03\xe8");
  peer.plans.push_back(std::move(plan).then(ending::stay));
  run([&] {
    return with_socket([](websocket& socket) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      const auto both_of = [&] {
        return asio::experimental::make_parallel_group(
                   asio::co_spawn(executor, message(socket), cofferdam::detail::deferred),
                   asio::co_spawn(executor, pause(20ms), cofferdam::detail::deferred))
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
      };
      const auto result = co_await both_of();
      std::exception_ptr failure = std::get<1>(result);
      EXPECT_TRUE(failure) << "the read was not cancelled";
      co_await send(socket, "go");
      const std::string text = co_await message(socket);
      EXPECT_EQ(text, "later");
    });
  });
}

TEST_F(Websocket, several_writes_at_once_are_sent_in_order) {
  says("");
  run([&] {
    return with_socket([](websocket& socket) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      const auto three = [&] {
        return asio::experimental::make_parallel_group(
                   asio::co_spawn(executor, send(socket, "1"), cofferdam::detail::deferred),
                   asio::co_spawn(executor, send(socket, std::string(100'000, '2')), cofferdam::detail::deferred),
                   asio::co_spawn(executor, send(socket, "3"), cofferdam::detail::deferred))
            .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
      };
      co_await three();
    });
  });
  EXPECT_EQ(frames(peer.received[0]),
            (std::vector<std::string>{"2:1", "2:" + std::string(100'000, '2'), "2:3", "8:\x03\xe8"}));
}

TEST_F(Websocket, a_ping_is_answered_although_a_write_waits_for_the_peer) {
  // The peer accepts only a part of a long message before its own message has been read.
  conversation plan;
  plan.on("", frame(0x89, "p") + frame(0x82, "read me"));
  peer.plans.push_back(std::move(plan).takes(100'000, false));
  run([&] {
    return with_socket(
        [](websocket& socket) -> awaitable<void> {
          const asio::any_io_executor executor = co_await asio::this_coro::executor;
          const auto two = [&] {
            return asio::experimental::make_parallel_group(
                       asio::co_spawn(executor, send(socket, std::string(300'000, 'x')), cofferdam::detail::deferred),
                       asio::co_spawn(executor, message(socket), cofferdam::detail::deferred))
                .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
          };
          const auto result = co_await two();
          EXPECT_EQ(std::get<0>(result)[0], 1U) << "the read did not come through";
        },
        websocket_settings().close_limit(50ms));
  });
}

TEST_F(Websocket, closing_ends_in_time_although_the_peer_is_silent) {
  conversation plan;
  peer.plans.push_back(std::move(plan).then(ending::stay));
  const auto begin = std::chrono::steady_clock::now();
  run([&] {
    return with_socket([](websocket&) -> awaitable<void> { co_return; }, websocket_settings().close_limit(50ms));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
  EXPECT_EQ(frames(peer.received[0]), std::vector<std::string>{"8:\x03\xe8"});
}

TEST_F(Websocket, closing_ends_a_read_that_is_under_way) {
  says("");
  run([&] {
    return with_socket([](websocket& socket) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      const auto two = [&] {
        return asio::experimental::make_parallel_group(
                   asio::co_spawn(executor, message(socket), cofferdam::detail::deferred),
                   asio::co_spawn(executor, socket.close(), cofferdam::detail::deferred))
            .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
      };
      const auto result = co_await two();
      EXPECT_EQ(std::get<2>(result), "closed 1000 ");
      std::error_code code;
      try {
        co_await send(socket, "x");
      } catch (const error& failure) {
        code = failure.code();
      }
      EXPECT_EQ(code, exec_errc::environment_closed);
    });
  });
}

TEST_F(Websocket, may_be_destroyed_or_cancelled_at_every_step) {
  const auto talk = [&] {
    peer.plans.clear();
    peer.received.clear();
    peer.half_closed.clear();
    says(frame(0x89, "p") + frame(0x82, "x"));
    return with_socket([](websocket& socket) -> awaitable<void> {
      co_await message(socket);
      co_await send(socket, "y");
    });
  };
  std::size_t steps = 0;
  for (std::size_t n = 0; !destroy_after(n, talk); ++n) {
    EXPECT_EQ(peer.open, 0) << n;
    steps = n;
  }
  EXPECT_GT(steps, 5U);
  std::exception_ptr failure;
  for (std::size_t n = 0; !cancel_after(n, talk, failure); ++n) EXPECT_EQ(peer.open, 0) << n;
}

TEST_F(Websocket, an_empty_object_says_so) {
  websocket socket;
  EXPECT_FALSE(socket);
  EXPECT_EQ(failure_of([&]() -> awaitable<void> { co_await socket.read(); }).code(), exec_errc::invalid_argument);
  EXPECT_EQ(failure_of([&] { return send(socket, "x"); }).code(), exec_errc::invalid_argument);
  run([&] { return socket.close(); });
}

/// Opens a WebSocket at the scripted peer by a handshake.
awaitable<websocket_opening> open(connector target, std::vector<std::string> protocols = both) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  http_client client(executor, std::move(target));
  websocket_opening opening =
      co_await open_websocket(client, http_request("GET", "/exec?stdin=true"), std::move(protocols),
                              websocket_settings().peer("pod p"), client.limits());
  co_await client.close();
  co_return opening;
}

TEST_F(Websocket, a_handshake_opens_a_socket_and_keeps_the_bytes_after_it) {
  conversation plan;
  plan.on("\r\n\r\n", [](const std::string& heard) {
    const std::size_t at = heard.find("Sec-WebSocket-Key: ") + 19;
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\nSec-WebSocket-Accept: " +
           cofferdam::detail::websocket_accept(heard.substr(at, 24)) + "\r\n\r\n" + frame(0x82, "first");
  });
  plan.on("\x88\x82", "\x88\x02\x03\xe8");
  peer.plans.push_back(std::move(plan).then(ending::stay));
  run([&]() -> awaitable<void> {
    websocket_opening opening = co_await open(peer.connector());
    EXPECT_TRUE(opening.opened());
    EXPECT_EQ(opening.socket().protocol(), "v4.channel.k8s.io");
    const std::string text = co_await message(opening.socket());
    EXPECT_EQ(text, "first");
    co_await opening.socket().close();
  });
}

TEST_F(Websocket, a_refusal_is_returned_with_its_text) {
  conversation plan;
  plan.on("\r\n\r\n", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nContent-Length: 9\r\n\r\ntoo many!");
  peer.plans.push_back(std::move(plan).then(ending::stay));
  run([&]() -> awaitable<void> {
    websocket_opening opening = co_await open(peer.connector());
    EXPECT_FALSE(opening.opened());
    EXPECT_EQ(opening.answer().status(), 429);
    EXPECT_EQ(opening.answer().field("Retry-After"), "3");
    EXPECT_EQ(opening.answer().text(), "too many!");
  });
}

TEST_F(Websocket, an_answer_without_the_switch_is_an_error) {
  for (const std::string& reply : {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n"s,
                                   "HTTP/1.1 200 OK\r\n\r\nendless"s}) {
    peer.plans.clear();
    peer.received.clear();
    conversation plan;
    plan.on("\r\n\r\n", reply);
    peer.plans.push_back(std::move(plan).then(ending::stay));
    const error failure = failure_of([&] { return open(peer.connector()); });
    EXPECT_EQ(failure.cause(), net_errc::malformed) << failure.what();
  }
}

// ---- a real server: the Python package websockets -------------------------------------------------------------------

/// Returns an interpreter that has the package; empty if there is none.
std::string python_with_websockets() {
  for (const std::string python : {"python3", "/usr/bin/python3"})
    if (std::system((python + " -c 'import websockets' >/dev/null 2>&1").c_str()) == 0) return python;
  return "";
}

class WebsocketPeer : public ::testing::Test {
 protected:
  void SetUp() override {
    python = python_with_websockets();
    COFFERDAM_NEEDS("python3-websockets", !python.empty(), "that the WebSocket client works with a real server");
    const std::string file = folder.write("server.pem", good.pem() + good.key_pem()).string();
    plain.emplace(std::vector<std::string>(), "tests/net/websocket_server.py", python);
    secure.emplace(std::vector<std::string>{"--certificate", file, "--protocols", "v5.channel.k8s.io"},
                   "tests/net/websocket_server.py", python);
  }

  /// Runs `body(socket)` with a WebSocket to this path of the server, plain or by TLS, and closes the WebSocket.
  awaitable<void> talk(bool with_tls, std::string path, std::function<awaitable<void>(websocket&)> body) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const connector target = with_tls
                                 ? cofferdam::detail::tls_connector("127.0.0.1", secure->port(),
                                                                    cofferdam::tls_settings().trust(authority.pem()))
                                 : cofferdam::detail::tcp_connector("127.0.0.1", plain->port());
    http_client client(executor, target);
    const std::vector<std::string> protocols = with_tls ? both : std::vector<std::string>();
    websocket_opening opening = co_await open_websocket(client, http_request("GET", path), protocols,
                                                        websocket_settings().peer("the server"), client.limits());
    co_await client.close();
    EXPECT_TRUE(opening.opened()) << opening.answer().text();
    EXPECT_EQ(opening.socket().protocol(), with_tls ? "v5.channel.k8s.io" : "");
    co_await body(opening.socket());
    co_await opening.socket().close();
  }

  std::string python;
  cofferdam_test::temporary_folder folder;
  cofferdam_test::certificate authority{""};
  cofferdam_test::certificate good{"IP:127.0.0.1", &authority};
  std::optional<real_server> plain;
  std::optional<real_server> secure;
};

TEST_F(WebsocketPeer, echoes_messages_of_every_size) {
  for (const bool with_tls : {false, true}) {
    for (const char* path : {"/echo", "/fragments"}) {
      run([&] {
        return talk(with_tls, path, [](websocket& socket) -> awaitable<void> {
          for (const std::size_t size : {1U, 125U, 126U, 65535U, 65536U, 1'000'000U}) {
            std::string text(size, 'x');
            for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31);
            co_await send(socket, text);
            std::string back;
            bool ends = false;
            while (!ends) {
              const websocket_piece piece = co_await socket.read();
              back += as_text(piece.data);
              ends = piece.ends || piece.closed;
            }
            EXPECT_TRUE(back == text) << size;
          }
        });
      });
    }
  }
}

TEST_F(WebsocketPeer, gets_its_pings_answered) {
  run([&] {
    return talk(true, "/ping", [](websocket& socket) -> awaitable<void> {
      const std::string text = co_await message(socket);
      EXPECT_EQ(text, "all pings were answered");
    });
  });
}

TEST_F(WebsocketPeer, ends_with_a_code_and_a_reason) {
  run([&] {
    return talk(false, "/close/4321", [](websocket& socket) -> awaitable<void> {
      const std::string text = co_await message(socket);
      EXPECT_EQ(text, "closed 4321 as asked");
    });
  });
}

TEST_F(WebsocketPeer, sends_64_mib) {
  run([&] {
    return talk(true, "/flood/1024", [](websocket& socket) -> awaitable<void> {
      std::uint64_t total = 0;
      std::uint64_t messages = 0;
      for (;;) {
        const websocket_piece piece = co_await socket.read();
        if (piece.closed) break;
        total += piece.data.size();
        messages += piece.ends ? 1 : 0;
      }
      EXPECT_EQ(total, 64U << 20U);
      EXPECT_EQ(messages, 1024U);
      EXPECT_EQ(socket.close_code(), 4001);
    });
  });
}

TEST_F(WebsocketPeer, receives_16_mib) {
  run([&] {
    return talk(true, "/count", [](websocket& socket) -> awaitable<void> {
      const std::string piece(32 * 1024, 'y');
      for (int i = 0; i < 512; ++i) co_await socket.write(websocket_message::binary, as_bytes(std::string_view(piece)));
      co_await send(socket, "end");
      const std::string text = co_await message(socket);
      EXPECT_EQ(text, std::to_string((16U << 20U) + 3));
    });
  });
}

TEST_F(WebsocketPeer, refuses_with_a_text) {
  run([&]() -> awaitable<void> {
    websocket_opening opening = co_await open(cofferdam::detail::tcp_connector("127.0.0.1", plain->port()), {});
    EXPECT_TRUE(opening.opened());
    co_await opening.socket().close();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_client client(executor, cofferdam::detail::tcp_connector("127.0.0.1", plain->port()));
    opening =
        co_await open_websocket(client, http_request("GET", "/refuse"), {}, websocket_settings(), client.limits());
    EXPECT_FALSE(opening.opened());
    EXPECT_EQ(opening.answer().status(), 403);
    const error refusal = cofferdam::detail::websocket_refusal(opening.answer(), "pod p");
    const std::string what = refusal.what();
    EXPECT_NE(what.find("403 Forbidden: pods \\\"p\\\" is forbidden\\nfor you"), std::string::npos) << refusal.what();
    co_await client.close();
  });
}

}  // namespace
