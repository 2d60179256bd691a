// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/join_all.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/detail/net/http_serializer.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/network/detail/buffered_stream.hpp>
#include <cofferdam/network/detail/connection_watch.hpp>
#include <cofferdam/network/detail/egress_decision.hpp>
#include <cofferdam/network/detail/egress_state.hpp>
#include <cofferdam/network/detail/forwarded_head.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/detail/relay.hpp>
#include <cofferdam/network/detail/upstream.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The place in whose connection a session runs, if the session is inside a tunnel.
class tunnel_place {
 public:
  host_and_number where;
  bool tls = false;
};

/// Returns the text for the status of an answer.
inline std::string_view reason_of(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    default: return "Gateway Timeout";
  }
}

/// A sequence of HTTP requests of a command, each of which is decided alone, written anew, and sent to its host.
template <class = void>
class basic_http_session {
 public:
  using clock = std::chrono::steady_clock;

  /// \param inside    the place of the tunnel; no value for requests to the proxy itself.
  /// \param upstream  a stream to that place, if one is open already.
  basic_http_session(egress_state& state, buffered_stream& guest, connection_watch& watch, connection_record& record,
                     std::optional<tunnel_place> inside, buffered_stream& upstream)
      : state_(state),
        guest_(guest),
        watch_(watch),
        record_(record),
        inside_(std::move(inside)),
        upstream_(upstream),
        is_connected_(upstream) {}

  /// Returns true if at least one head was read.
  bool began() const noexcept { return began_; }

  /// Serves requests until the last one. Returns the destination of CONNECT, if that is the last request.
  awaitable<std::optional<host_and_number>> serve() {
    bool again = true;
    bool first = true;
    while (again) {
      http_request_parser parser;
      const std::string problem = co_await read_head(parser, std::exchange(first, false));
      if (!problem.empty()) {
        co_await answer(400, nullptr, problem);
        break;
      }
      if (!has_head_) break;
      began_ = true;
      const http_request_head& head = parser.head();
      if (!inside_) {
        record_.label(label_of(head.fields));
        if (head.method == "CONNECT") {
          const proxy_target target = read_proxy_target(head);
          if (target.problem.empty()) co_return target.where;
        }
      }
      again = co_await serve_one(parser);
    }
    close_upstream("");
    co_await linger(guest_);
    co_return std::nullopt;
  }

 private:
  /// The state of one request that is being forwarded.
  class exchange {
   public:
    exchange(http_request_parser& of, const asio::any_io_executor& executor, connection_watch& watch)
        : request(of), response(of.head().method), lingering(executor, [&watch] { watch.close(); }) {}
    http_request_parser& request;
    http_response_parser response;
    deadline_timer lingering;
    body_framing up = body_framing::none;
    body_framing down = body_framing::none;
    bool keeps = false;
    bool request_done = false;
    bool response_done = false;
    bool head_sent = false;
    bool upstream_failed = false;
    std::string failure;
  };

  /// Reads the head of the next request. Returns the sentence for an answer 400; empty if the head is valid or the
  /// connection has ended.
  awaitable<std::string> read_head(http_request_parser& parser, bool first) {
    has_head_ = false;
    clock::time_point due = clock::time_point::max();
    if (first) due = state_.opening_due();
    try {
      while (true) {
        const http_step step = parser.parse(guest_.pending());
        guest_.consume(step.consumed);
        if (step.event == http_event::head) {
          has_head_ = true;
          co_return "";
        }
        if (parser.began() && due == clock::time_point::max()) due = state_.opening_due();
        in_input_ = true;
        const arrival arrived = co_await guest_.more(due);
        in_input_ = false;
        if (arrived == arrival::bytes) continue;
        if (!parser.began()) co_return "";
        if (arrived == arrival::end) co_return "The request ends inside its head.";
        co_return "The head of the request took longer than the time limit.";
      }
    } catch (const error& failed) {
      if (std::exchange(in_input_, false)) throw;
      co_return failed.what();
    }
  }

  /// Sends an answer of the proxy itself, and reports the refusal if there was one.
  awaitable<void> answer(int status, const host_and_number* where, std::string sentence) {
    if (status == 400 || status == 403) record_.refused(where, sentence);
    const std::string text = proxy_answer(status, reason_of(status), sentence);
    co_await guest_.stream().write(as_bytes(text));
  }

  /// Returns true if another request may follow.
  awaitable<bool> serve_one(http_request_parser& parser) {
    const http_request_head& head = parser.head();
    proxy_target target;
    if (inside_) {
      target.where = inside_->where;
      target.target = head.target;
      target.problem = inner_request_problem(head, inside_->where);
    } else {
      target = read_proxy_target(head);
    }
    if (!target.problem.empty()) {
      co_await answer(400, nullptr, target.problem);
      co_return false;
    }
    const egress_decision decision = decide(state_.rules(), target.where, head.method, target.target);
    if (decision.rule == nullptr) {
      co_await answer(403, &target.where, decision.sentence);
      co_return false;
    }
    const bool tls = inside_ && inside_->tls;
    const bool connected = co_await connect(target.where, decision.rule, tls);
    if (!connected) co_return false;
    const std::uint16_t usual = tls ? 443 : 80;
    const host_rule* const adding = tls ? decision.rule : nullptr;
    const secret_bytes text = forwarded_request(head, target.target, target.where, adding, usual, tls);
    const bool again = co_await forward(parser, text);
    if (!again) close_upstream("");
    co_return again;
  }

  /// Makes `upstream_` a connection to a host. Returns false if that fails, after an answer.
  awaitable<bool> connect(host_and_number where, const host_rule* rule, bool tls) {
    if (is_connected_) {
      if (upstream_.pending().empty() && upstream_.stream().is_quiet()) co_return true;
      close_upstream("");
    }
    const upstream_failure failure = co_await connect_upstream(state_, where, rule, tls, upstream_, watch_, record_);
    is_connected_ = failure.status == 0;
    if (is_connected_) co_return true;
    const std::string text = proxy_answer(failure.status, reason_of(failure.status), failure.sentence);
    co_await guest_.stream().write(as_bytes(text));
    co_return false;
  }

  void close_upstream(std::string failure) {
    record_.end(std::move(failure));
    watch_.upstream(nullptr);
    upstream_ = buffered_stream();
    is_connected_ = false;
  }

  awaitable<void> send_up(bytes_view data) {
    watch_.sent_up(data.size());
    co_await upstream_.stream().write(data);
  }
  awaitable<void> send_down(bytes_view data) {
    watch_.sent_down(data.size());
    co_await guest_.stream().write(data);
  }

  /// Sends a request and passes on its response. Returns true if both connections may be used again.
  awaitable<bool> forward(http_request_parser& parser, const secret_bytes& head) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    exchange work(parser, executor, watch_);
    work.up = framing_of(parser.head().fields);
    work.keeps = parser.keeps_alive() && parser.head().minor_version == 1;
    if (parser.expects_continue()) co_await guest_.stream().write(as_bytes("HTTP/1.1 100 Continue\r\n\r\n"));
    const bytes_view text = as_bytes(std::string_view(head.data(), head.size()));
    try {
      co_await send_up(text);
    } catch (const error& failed) {
      if (failed.code() == exec_errc::cancelled) throw;
      work.upstream_failed = true;  // the host may have sent an answer before it closed the connection
    }
    const http_step step = parser.parse({});
    work.request_done = step.event == http_event::end;
    if (work.request_done) {
      co_await receive(work);
    } else {
      const auto both = [this, &work](std::size_t number) { return number == 0 ? send_body(work) : receive(work); };
      co_await join_all(2, 2, both);
    }
    work.lingering.stop();
    if (work.response.head().status == 101 && work.failure.empty()) {
      relay both(guest_, upstream_, watch_);
      std::string failure = co_await both.run();
      close_upstream(std::move(failure));
      co_return false;
    }
    if (!work.failure.empty()) {
      close_upstream(work.failure);
      co_return false;
    }
    const bool reusable = inside_ && inside_->tls && work.response.keeps_alive() && !work.upstream_failed;
    if (!reusable) close_upstream("");
    const bool again = work.keeps && work.request_done;
    co_return again;
  }

  /// Sends the body of a request, chunked or with its length. After the response has ended, discards the body.
  awaitable<void> send_body(exchange& work) {
    try {
      while (true) {
        const http_step step = work.request.parse(guest_.pending());
        if (step.event == http_event::end) {
          guest_.consume(step.consumed);
          if (work.up == body_framing::chunked) co_await send_piece(work, as_bytes(http_last_chunk), false);
          work.request_done = true;
          co_return;
        }
        if (step.event == http_event::data) {
          co_await send_piece(work, step.data, work.up == body_framing::chunked);
          guest_.consume(step.consumed);
          continue;
        }
        guest_.consume(step.consumed);
        const arrival arrived = co_await guest_.more();
        if (arrived == arrival::end) {
          static_cast<void>(work.request.end_of_stream());  // throws, because the body is not complete
          co_return;
        }
      }
    } catch (const error& failed) {
      if (work.failure.empty() && !work.response_done) work.failure = failed.what();
      watch_.close();
      if (failed.code() == exec_errc::cancelled) throw;
    }
  }

  awaitable<void> send_piece(exchange& work, bytes_view data, bool chunk) {
    if (work.upstream_failed || work.response_done) co_return;
    try {
      if (chunk) {
        const std::string head = http_chunk_head(data.size());
        co_await send_up(as_bytes(head));
      }
      co_await send_up(data);
      if (chunk) co_await send_up(as_bytes(http_chunk_end));
    } catch (const error& failed) {
      if (failed.code() == exec_errc::cancelled) throw;
      work.upstream_failed = true;
    }
  }

  /// Passes on the response. If it fails before its head was passed on, sends an answer 502 in its place.
  awaitable<void> receive(exchange& work) {
    std::string failure;
    try {
      bool more = true;
      while (more) more = co_await receive_some(work);
    } catch (const error& failed) {
      if (failed.code() == exec_errc::cancelled) throw;
      failure = failed.what();
    }
    work.response_done = true;
    if (!failure.empty() && work.failure.empty()) work.failure = failure;
    if (!failure.empty() && work.head_sent) {
      watch_.close();  // the command sees that the response is not complete
      co_return;
    }
    if (!failure.empty()) {
      work.keeps = false;
      const std::string text = proxy_answer(502, reason_of(502), failure);
      co_await try_to_send(text);
    }
    if (work.request_done) co_return;
    work.keeps = false;
    work.lingering.arm(std::chrono::seconds(2));  // ends `send_body`, which waits for the rest of the request
    co_await try_to_end();
  }

  awaitable<void> try_to_send(const std::string& text) {
    try {
      co_await guest_.stream().write(as_bytes(text));
    } catch (const error& failed) {  // the command has closed its connection
      if (failed.code() == exec_errc::cancelled) throw;
    }
  }
  awaitable<void> try_to_end() {
    try {
      co_await guest_.stream().shutdown_send();
    } catch (const error& failed) {  // the command has closed its connection
      if (failed.code() == exec_errc::cancelled) throw;
    }
  }

  /// Processes the next part of the response. Returns false after the last part.
  awaitable<bool> receive_some(exchange& work) {
    const http_step step = work.response.parse(upstream_.pending());
    const bool chunks = work.down == body_framing::chunked;
    switch (step.event) {
      case http_event::need_more: {
        upstream_.consume(step.consumed);
        const arrival arrived = co_await upstream_.more();
        if (arrived != arrival::end) co_return true;
        if (work.response.end_of_stream() != http_event::end) co_return false;
        if (chunks) co_await send_down(as_bytes(http_last_chunk));
        co_return false;
      }
      case http_event::interim: {
        const std::string text = forwarded_response(work.response.head(), body_framing::none, true);
        const bool passes = work.response.head().status != 100 && work.request.head().minor_version == 1;
        upstream_.consume(step.consumed);
        if (passes) co_await send_down(as_bytes(text));
        co_return true;
      }
      case http_event::head: {
        upstream_.consume(step.consumed);
        choose_framing(work);
        const std::string text = forwarded_response(work.response.head(), work.down, work.keeps);
        work.head_sent = true;
        co_await send_down(as_bytes(text));
        co_return true;
      }
      case http_event::data: {
        if (chunks) {
          const std::string head = http_chunk_head(step.data.size());
          co_await send_down(as_bytes(head));
        }
        co_await send_down(step.data);
        if (chunks) co_await send_down(as_bytes(http_chunk_end));
        upstream_.consume(step.consumed);
        co_return true;
      }
      case http_event::end:
        upstream_.consume(step.consumed);
        if (chunks) co_await send_down(as_bytes(http_last_chunk));
        co_return false;
      case http_event::upgrade: upstream_.consume(step.consumed); co_return false;
    }
    co_return false;
  }

  /// Chooses the framing of the response towards the command.
  static void choose_framing(exchange& work) {
    const http_response_head& head = work.response.head();
    if (head.status == 101 && !asks_for_websocket(work.request.head()))
      throw error(exec_errc::io_error, "the host has switched to another protocol, which the request did not ask for",
                  net_errc::malformed);
    const bool has_no_body =
        work.request.head().method == "HEAD" || head.status == 204 || head.status == 304 || head.status == 101;
    if (has_no_body) return;
    work.down = work.response.until_close() ? body_framing::chunked : framing_of(head.fields);
    if (work.down != body_framing::chunked || work.request.head().minor_version == 1) return;
    work.down = body_framing::until_close;  // HTTP/1.0 has no chunks
    work.keeps = false;
  }

  egress_state& state_;
  buffered_stream& guest_;
  connection_watch& watch_;
  connection_record& record_;
  std::optional<tunnel_place> inside_;
  buffered_stream& upstream_;
  bool is_connected_;
  bool has_head_ = false;
  bool began_ = false;
  bool in_input_ = false;
};
using http_session = basic_http_session<>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
