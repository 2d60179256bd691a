// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/detail/net/prefixed_stream.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/network/detail/buffered_stream.hpp>
#include <cofferdam/network/detail/connection_watch.hpp>
#include <cofferdam/network/detail/egress_decision.hpp>
#include <cofferdam/network/detail/egress_state.hpp>
#include <cofferdam/network/detail/forwarded_head.hpp>
#include <cofferdam/network/detail/guest_tls_stream.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/detail/http_session.hpp>
#include <cofferdam/network/detail/relay.hpp>
#include <cofferdam/network/detail/socks_parser.hpp>
#include <cofferdam/network/detail/tunnel_opening.hpp>
#include <cofferdam/network/detail/upstream.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// One connection of a command to the proxy. The first byte decides: SOCKS5, or HTTP.
template <class = void>
class basic_guest_connection {
 public:
  using clock = std::chrono::steady_clock;

  basic_guest_connection(const asio::any_io_executor& executor, byte_stream guest, egress_state& state)
      : executor_(executor),
        state_(state),
        guest_(std::move(guest)),
        watch_(executor, state, guest_.stream()),
        record_(state, watch_) {}

  /// Serves the connection to its end. A failure of the command's side only ends it.
  awaitable<void> serve() {
    const egress_state::place place(state_);
    std::optional<std::system_error> cancelled;
    std::string failure;
    try {
      if (place.is_free()) {
        co_await choose();
      } else {
        co_await refuse_one_too_many();
      }
    } catch (const std::system_error& failed) {
      failure = failed.what();
      if (failed.code() == exec_errc::cancelled || failed.code() == asio::error::operation_aborted) cancelled = failed;
    }
    record_.end(failure);
    watch_.close();
    if (cancelled) rethrow_cancellation(*cancelled, "cancelled while serving a connection of a command");
  }

 private:
  enum class language { http, socks };

  awaitable<void> choose() {
    const clock::time_point due = state_.opening_due();
    const arrival arrived = co_await guest_.more(due);
    if (arrived != arrival::bytes) co_return;
    if (guest_.pending().front() == std::byte{5}) {
      co_await serve_socks(due);
      co_return;
    }
    http_session session(state_, guest_, watch_, record_, std::nullopt, upstream_);
    const std::optional<host_and_number> where = co_await session.serve();
    if (where) co_await open_tunnel(*where, language::http);
  }

  awaitable<void> refuse_one_too_many() {
    const std::string sentence = "The network policy allows " + std::to_string(state_.max_connections()) +
                                 " connections at the same time. Close others first, or try again later.";
    record_.refused(nullptr, sentence);
    const std::string text = proxy_answer(503, reason_of(503), sentence);
    co_await guest_.stream().write(as_bytes(text));
    co_await guest_.stream().shutdown_send();
  }

  awaitable<void> serve_socks(clock::time_point due) {
    socks_parser parser;
    while (true) {
      const socks_step step = parser.parse(guest_.pending());
      guest_.consume(step.consumed);
      if (!step.answer.empty()) co_await guest_.stream().write(as_bytes(step.answer));
      if (step.what == socks_step::event::request) break;
      if (step.what == socks_step::event::refused) {
        record_.refused(nullptr, "The SOCKS5 request is not a CONNECT, or is not valid.");
        co_await linger(guest_);
        co_return;
      }
      if (step.what == socks_step::event::answer) continue;
      const arrival arrived = co_await guest_.more(due);
      if (arrived != arrival::bytes) co_return;
    }
    record_.label(label_text(parser.user()));
    if (parser.where()) {
      co_await open_tunnel(*parser.where(), language::socks);
    } else {
      co_await refuse(nullptr, language::socks,
                      "The SOCKS5 request names no valid host: " + one_line(parser.asked(), 100));
    }
  }

  /// Refuses a tunnel before it was opened.
  awaitable<void> refuse(const host_and_number* where, language spoken, std::string sentence) {
    record_.refused(where, sentence);
    std::string text = socks_reply_text(socks_reply::not_allowed);
    if (spoken == language::http) text = proxy_answer(403, reason_of(403), sentence);
    co_await guest_.stream().write(as_bytes(text));
    co_await linger(guest_);
  }

  awaitable<void> open_tunnel(host_and_number where, language spoken) {
    const egress_decision decision = decide(state_.rules(), where);
    if (decision.rule == nullptr) {
      co_await refuse(&where, spoken, decision.sentence);
      co_return;
    }
    if (!decision.reads_requests) {
      const bool connected = co_await connect(where, decision.rule, spoken);
      if (!connected) co_return;
    }
    std::string text = socks_reply_text(socks_reply::succeeded);
    if (spoken == language::http) text = "HTTP/1.1 200 Connection established\r\n\r\n";
    co_await guest_.stream().write(as_bytes(text));
    co_await use_tunnel(where, decision.reads_requests);
  }

  /// Connects to the host of a tunnel. Returns false if that fails, after an answer.
  awaitable<bool> connect(host_and_number where, const host_rule* rule, language spoken) {
    const upstream_failure failure = co_await connect_upstream(state_, where, rule, false, upstream_, watch_, record_);
    if (failure.status == 0) co_return true;
    std::string text = socks_reply_text(reply_for(failure));
    if (spoken == language::http) text = proxy_answer(failure.status, reason_of(failure.status), failure.sentence);
    co_await guest_.stream().write(as_bytes(text));
    co_await linger(guest_);
    co_return false;
  }

  static socks_reply reply_for(const upstream_failure& failure) noexcept {
    if (failure.status == 403) return socks_reply::not_allowed;
    if (failure.status == 504) return socks_reply::time_expired;
    if (failure.cause == std::errc::connection_refused) return socks_reply::connection_refused;
    return socks_reply::host_unreachable;
  }

  /// Passes on what the command and the host send through a tunnel. Port 443 takes only TLS, port 80 only TLS and HTTP.
  /// On other ports, what is neither TLS nor HTTP passes unread, unless the requests must be read.
  awaitable<void> use_tunnel(host_and_number where, bool reads_requests) {
    const bool only_known = reads_requests || where.port == 443 || where.port == 80;
    clock::time_point due = state_.opening_due();
    // In some protocols the server speaks first. Then the command sends nothing in this time.
    if (!only_known) due = clock::now() + std::chrono::milliseconds(500);
    arrival arrived = arrival::bytes;
    tunnel_opening opening(guest_.pending());
    while (opening.protocol() == tunnel_protocol::undecided && arrived == arrival::bytes) {
      arrived = co_await guest_.more(due);
      opening = tunnel_opening(guest_.pending());
    }
    const bool server_first = guest_.pending().empty() && !only_known;
    switch (opening.protocol()) {
      case tunnel_protocol::tls: co_await use_tls(where, reads_requests, opening); co_return;
      case tunnel_protocol::http: co_await use_http(where); co_return;
      case tunnel_protocol::other:
        if (!only_known) {
          relay both(guest_, upstream_, watch_);
          co_await run(both);
          co_return;
        }
        break;
      case tunnel_protocol::undecided:
        if (server_first) {
          relay both(guest_, upstream_, watch_);
          both.expect_other();
          co_await run(both);
          co_return;
        }
        if (guest_.pending().empty()) co_return;  // the command has sent nothing
        break;
      case tunnel_protocol::malformed: break;
    }
    const std::string only = where.port == 443 ? " must begin with TLS." : " must begin with TLS or HTTP.";
    close_refused(where, "The connection to " + authority_text(where) + only);
  }

  awaitable<void> use_tls(host_and_number where, bool reads_requests, tunnel_opening opening) {
    const std::string problem = opening.server_name_problem(where);
    if (!problem.empty()) {
      close_upstream();
      record_.refused(&where, problem);
      co_await guest_.stream().write(as_bytes(unrecognized_name_alert));
      co_await linger(guest_);
      co_return;
    }
    if (!reads_requests) {
      relay both(guest_, upstream_, watch_);
      co_await run(both);
      co_return;
    }
    bytes first = guest_.take();
    byte_stream below(std::make_unique<prefixed_stream>(std::move(first), guest_.exchange(byte_stream())));
    guest_.exchange(byte_stream(
        std::make_unique<guest_tls_stream>(executor_, std::move(below), state_.authority().server_for(where.host))));
    tunnel_place inside;
    inside.where = where;
    inside.tls = true;
    http_session session(state_, guest_, watch_, record_, inside, upstream_);
    try {
      co_await session.serve();
    } catch (const error& failed) {
      if (failed.code() != exec_errc::cancelled && !session.began())
        record_.refused(&where, std::string(failed.what()) +
                                    "; the program must trust the authority of the sandbox, as the variables "
                                    "SSL_CERT_FILE and similar ones tell it");
      throw;
    }
  }

  awaitable<void> use_http(host_and_number where) {
    if (where.port == 443) {
      close_upstream();
      const std::string sentence = "The connection to " + authority_text(where) + " must begin with TLS: use https.";
      record_.refused(&where, sentence);
      const std::string text = proxy_answer(400, reason_of(400), sentence);
      co_await guest_.stream().write(as_bytes(text));
      co_await linger(guest_);
      co_return;
    }
    tunnel_place inside;
    inside.where = where;
    http_session session(state_, guest_, watch_, record_, inside, upstream_);
    co_await session.serve();
  }

  awaitable<void> run(relay& both) {
    std::string failure = co_await both.run();
    record_.end(std::move(failure));
  }

  void close_upstream() {
    record_.end("The tunnel was closed, because its first bytes are refused.");
    watch_.upstream(nullptr);
    upstream_ = buffered_stream();
  }
  void close_refused(const host_and_number& where, const std::string& sentence) {
    close_upstream();
    record_.refused(&where, sentence);
  }

  asio::any_io_executor executor_;
  egress_state& state_;
  buffered_stream guest_;
  buffered_stream upstream_;
  connection_watch watch_;
  connection_record record_;
};
using guest_connection = basic_guest_connection<>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
