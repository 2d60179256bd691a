// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/in_time.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/sse_reader.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/mcp/client_options.hpp>
#include <cofferdam/serve/mcp/detail/client_link.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/protocol.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/steady_timer.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

using cofferdam::detail::http_exchange;

/// The error for a server that does not know the session any more. It has not executed the request.
class session_lost : public error {
 public:
  session_lost() : error(exec_errc::provider_lost, "mcp: the server has ended the session") {}
};

/// The address of a server that is reached by HTTP.
class server_address {
 public:
  /// \throws error{exec_errc::invalid_argument}; the message does not contain the URL, because a key may be in it.
  explicit server_address(const std::string& url) {
    const std::size_t mark = url.find('?');
    try {
      place = e2b::detail::endpoint::parse(url.substr(0, mark), "url");
    } catch (const error&) {
      throw error(exec_errc::invalid_argument,
                  "mcp: the URL is invalid: write it as https://HOST[:PORT]/PATH, without a user and a fragment");
    }
    target = place.prefix().empty() ? "/" : place.prefix();
    if (mark != std::string::npos) target += url.substr(mark);
    if (!cofferdam::detail::is_target(target))
      throw error(exec_errc::invalid_argument, "mcp: the URL has a blank or a character that must be percent-encoded");
  }

  e2b::detail::endpoint place;
  std::string target;
};

/// A connection to a server by streamable HTTP. MCP, "Transports", "Streamable HTTP".
class http_link final : public client_link, public std::enable_shared_from_this<http_link> {
 public:
  http_link(asio::any_io_executor executor, server_address where, const client_options& options,
            server_message_listener hears)
      : executor_(executor),
        where_(std::move(where)),
        fields_(options.headers()),
        limits_{options.message()},
        hears_(std::move(hears)),
        client_(executor, where_.place.reach(options.tls())),
        tasks_(std::make_shared<cofferdam::detail::joined_tasks>(executor)) {
    hide_secrets(options);
    if (options.token().empty()) return;
    std::string text("Bearer ");
    text.reserve(text.size() + options.token().size());
    text += options.token().reveal();
    authorization_ = secret_string(std::move(text));
    static_cast<void>(message("POST"));  // reports a token with a line break now
  }

  awaitable<boost::json::object> request(client_request what, request_time limit) override {
    return ask(shared_from_this(), std::move(what), limit);
  }
  awaitable<void> send(std::string text) override { return post(shared_from_this(), std::move(text)); }
  void speak(std::string_view version) override { version_ = version; }
  std::string name() const override { return where_.place.text(); }
  awaitable<void> close() override { return end(shared_from_this()); }

  /// Ends the background coroutines and the requests under way, without waiting.
  void abandon() noexcept {
    is_abandoned_ = true;
    for (asio::steady_timer* const limit : limits_of_requests_) limit->cancel();
    tasks_->cancel();
  }

  /// Returns the text without the token, the values of header fields, and those of the URL's query.
  std::string clean(std::string_view text) const override { return redactor_.clean(text); }

  /// Forgets the session, so that a new one can begin.
  void forget_session() {
    session_.clear();
    version_.clear();
  }
  bool has_session() const noexcept { return !session_.empty(); }

  /// Listens in the background for messages that belong to no request. Legacy era only.
  void listen() { tasks_->spawn(hear_all(shared_from_this())); }

 private:
  void hide_secrets(const client_options& options) {
    redactor_.hide(options.token());
    for (const http_field& each : options.headers()) {
      redactor_.hide(secret_string(each.value()));
      if (const std::size_t blank = each.value().find(' '); blank != std::string::npos)  // "Bearer KEY"
        redactor_.hide(secret_string(each.value().substr(blank + 1)));
    }
    const std::size_t mark = where_.target.find('?');
    if (mark == std::string::npos) return;
    std::string_view rest = std::string_view(where_.target).substr(mark + 1);
    while (!rest.empty()) {
      const std::string_view pair = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      const std::string_view value = pair.substr(pair.find('=') + 1);
      redactor_.hide(secret_string(std::string(value)));
      if (std::optional<std::string> decoded = cofferdam::detail::percent_decoded(value))
        redactor_.hide(secret_string(std::move(*decoded)));
    }
  }

  /// The time limit of a request, which `abandon` ends early.
  class request_limit {
   public:
    request_limit(http_link& link, clock::time_point until)
        : link_(link), timer_(link.executor_, std::min(until, clock::now() + std::chrono::hours(24 * 365))) {
      link_.limits_of_requests_.push_back(&timer_);
    }
    request_limit(const request_limit&) = delete;
    request_limit& operator=(const request_limit&) = delete;
    ~request_limit() { std::erase(link_.limits_of_requests_, &timer_); }
    asio::steady_timer& timer() noexcept { return timer_; }

   private:
    http_link& link_;
    asio::steady_timer timer_;
  };

  http_request message(std::string method) const {
    http_request what(std::move(method), where_.target);
    for (const http_field& each : fields_) what.field(each.name(), each.value());
    if (!authorization_.empty() && !fields_.find("Authorization")) what.secret_field("Authorization", authorization_);
    if (!version_.empty()) what.field("MCP-Protocol-Version", version_);
    if (!session_.empty()) what.field("Mcp-Session-Id", session_);
    return what;
  }
  http_request post_of(const std::string& text) const {
    http_request what = message("POST");
    what.field("Accept", "application/json, text/event-stream");
    what.content("application/json", text);
    return what;
  }
  static cofferdam::detail::http_limits patient() {
    cofferdam::detail::http_limits limits;
    limits.connect(std::chrono::seconds(15)).head(std::nullopt).idle(std::nullopt);
    return limits;
  }

  error lost(std::string_view why) const {
    return {exec_errc::provider_lost, "mcp: " + name() + ": " + redactor_.clean(why)};
  }
  /// Returns the error for a connection that has failed. The message for a response that is not HTTP would have a part
  /// of it, which can have a part of a secret.
  error lost(const error& failure) const {
    if (failure.cause() == net_errc::malformed) return lost(std::string_view("its response is not valid HTTP"));
    return lost(std::string_view(failure.what()));
  }

  /// Sends a message that gets no response.
  static awaitable<void> post(std::shared_ptr<http_link> self, std::string text) {
    http_request what = self->post_of(text);
    cofferdam::detail::http_limits limits = patient();
    limits.head(std::chrono::seconds(60)).idle(std::chrono::seconds(60));
    std::optional<error> broken;
    try {
      const http_response reply = co_await self->client_.request(std::move(what), limits);
      if (reply.status() >= 400) broken = self->refusal(reply.status(), reply.text());
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled || failure.code() == exec_errc::environment_closed) throw;
      broken = self->lost(failure);
    }
    if (broken) throw *broken;
  }

  /// Returns the error for a response with an error status.
  error refusal(int status, std::string_view body) const {
    boost::json::object response;
    std::string message;  // of the error of JSON-RPC, if the body is one
    if (take_refusal(body, response)) message = text_at(object_at(response, "error"), "message");
    if (!message.empty()) body = message;
    const std::string words = shown(body, 300);
    const std::string text =
        "mcp: " + name() + " answered with status " + std::to_string(status) + (words.empty() ? "" : ": " + words);
    if (status == 401 || status == 403) return {exec_errc::permission_denied, text};
    if (status == 429 || status == 503) return {exec_errc::unavailable, text};
    return {exec_errc::provider_lost, text};
  }

  static awaitable<boost::json::object> ask(std::shared_ptr<http_link> self, client_request what, request_time limit) {
    boost::json::object response;
    bool is_cancelled = false;
    bool is_in_time = false;
    const client_request& asked = what;
    try {
      request_limit running(*self, limit.end());
      is_in_time = co_await cofferdam::detail::arrived_before(running.timer(), exchange(self, asked, response));
    } catch (const error& failure) {
      if (failure.code() != exec_errc::cancelled && !self->is_abandoned_) throw;
      is_cancelled = true;
    } catch (const std::system_error& failure) {
      if (failure.code() != asio::error::operation_aborted && !self->is_abandoned_) throw;
      is_cancelled = true;
    }
    if (is_in_time) co_return response;
    if (self->is_abandoned_) throw error(exec_errc::environment_closed, "mcp: the client was closed");
    // In the modern era, the end of the connection is the cancellation.
    if (self->version_ != modern_version && what.method != "initialize")
      self->tasks_->spawn(notify(self, cancellation_of(what.id, is_cancelled ? "cancelled" : "time limit")));
    if (!is_cancelled) throw limit.missed(self->name(), what.method);
    throw error(exec_errc::cancelled, "mcp: " + what.method + " was cancelled");
  }

  static awaitable<void> notify(std::shared_ptr<http_link> self, std::string text) {
    try {
      co_await post(self, std::move(text));
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
      // The server does not need this message.
    }
  }

  /// Sends the request and reads the response.
  static awaitable<void> exchange(std::shared_ptr<http_link> self, const client_request& what,
                                  boost::json::object& response) {
    http_request request = self->post_of(what.text);
    if (self->version_ == modern_version) request.field("Mcp-Method", what.method);
    for (const auto& [name, value] : what.fields) request.field(name, value);
    const bool had_session = self->has_session();
    std::optional<error> broken;
    try {
      http_exchange reply = co_await self->client_.send(std::move(request), patient());
      if (what.method == "initialize") self->session_ = self->session_of(reply);
      if (reply.status() == 404 && had_session) throw session_lost();
      const bool is_found = co_await read_response(self, std::move(reply), what.id, response);
      if (!is_found) broken = self->lost("the connection ended before the answer to " + what.method);
    } catch (const session_lost&) {
      throw;
    } catch (const error& failure) {
      if (failure.code() != exec_errc::io_error) throw;
      broken = self->lost(failure);
    }
    if (broken) throw *broken;
  }

  /// Returns the id of the session; empty if the server has none.
  std::string session_of(const http_exchange& reply) const {
    const std::string_view session = reply.head().fields.find("Mcp-Session-Id").value_or("");
    const bool is_visible = std::all_of(session.begin(), session.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!is_visible) throw protocol_violation(name(), "the id of the session has other characters than visible ASCII");
    return std::string(session);
  }

  /// Returns true if a stream can be continued after the event with this id.
  static bool is_usable_id(std::string_view id) {
    constexpr std::size_t longest_id = 4096;
    return !id.empty() && id.size() <= longest_id && cofferdam::detail::is_field_text(id);
  }

  /// Reads a response, in one of its two forms, and continues a stream that has ended too early.
  /// \return  false if the response has not arrived.
  static awaitable<bool> read_response(std::shared_ptr<http_link> self, http_exchange reply, const std::string& id,
                                       boost::json::object& response) {
    const std::string type(reply.head().fields.find("Content-Type").value_or(""));
    if (!is_stream(type)) {
      const int status = reply.status();
      const bytes body = co_await reply.read_all(self->limits_.bytes);
      bool is_found = false;
      if (status == 401 || status == 403) throw self->refusal(status, as_text(body));
      if (is_json(type)) {
        is_found = status < 300 ? self->take(as_text(body), id, response) : take_refusal(as_text(body), response);
      }
      if (!is_found && (status >= 300 || !is_json(type))) throw self->refusal(status, as_text(body));
      co_return is_found;
    }
    std::string last_id;
    std::chrono::milliseconds pause(1000);
    bool is_found = co_await read_stream(self, reply, id, response, last_id, pause);
    // Only a stream whose events have ids can be continued.
    while (!is_found && is_usable_id(last_id) && self->version_ != modern_version) {
      cofferdam::detail::async_event never(self->executor_);
      co_await never.wait(clock::now() + pause);
      http_request again = self->message("GET");
      again.field("Accept", "text/event-stream").field("Last-Event-ID", last_id);
      http_exchange more = co_await self->client_.send(std::move(again), patient());
      if (more.status() != 200) co_return false;
      is_found = co_await read_stream(self, more, id, response, last_id, pause);
    }
    co_return is_found;
  }

  /// Reads a stream of events up to the response to a request, or to its end.
  /// \param id       the id of the request; empty for a stream without a request.
  /// \param last_id  receives the id of the last event; empty if it has none.
  /// \param pause    receives the pause before a reconnection.
  /// \return         true if the response was found.
  static awaitable<bool> read_stream(std::shared_ptr<http_link> self, http_exchange& reply, const std::string& id,
                                     boost::json::object& response, std::string& last_id,
                                     std::chrono::milliseconds& pause) {
    cofferdam::detail::sse_reader reader(self->limits_.bytes);
    bool is_found = false;
    std::optional<error> broken;
    const auto each = [&](const cofferdam::detail::sse_event& event) {
      if (!event.data().empty() && self->take(event.data(), id, response)) is_found = true;
    };
    std::array<std::byte, 16 * 1024> piece;
    try {
      while (!is_found) {
        const std::size_t count = co_await reply.read_some(piece);
        if (count == 0) break;
        reader.feed(as_text(bytes_view(piece.data(), count)), each);
      }
    } catch (const error& failure) {
      // A connection that is lost inside a stream is the same as one that has ended.
      if (failure.code() != exec_errc::io_error) broken = failure;
    }
    if (!reader.last_id().empty()) last_id = reader.last_id();
    if (reader.retry()) pause = std::clamp(std::chrono::milliseconds(*reader.retry()), shortest_pause, longest_pause);
    if (broken) throw *broken;
    co_return is_found;
  }

  /// Takes a text from the server. Messages that are no responses go to the listener.
  /// \return  true if the text has the response to the request `id`.
  bool take(std::string_view text, const std::string& id, boost::json::object& response) {
    bool is_found = false;
    rpc_input input = read_rpc(text, limits_);
    if (const std::string why = unreadable_part(text, input); !why.empty())
      throw protocol_violation(name(), "a message cannot be read: " + why);
    if (input.is_batch && version_ >= std::string_view("2025-06-18"))
      throw protocol_violation(name(), "it sent a batch of messages");
    for (rpc_message& each : input.messages) {
      if (each.kind != rpc_kind::response) {
        hears_(std::move(each));
      } else if (each.id_text() == id) {
        response = std::move(each.whole);
        is_found = true;
      }
    }
    return is_found;
  }

  /// Takes the error of JSON-RPC in the body of a response with an error status. Its id may be null.
  static bool take_refusal(std::string_view text, boost::json::object& response) {
    std::error_code failure;
    boost::json::value value = cofferdam::detail::parse_untrusted_json(text, failure);
    if (failure || !value.is_object() || object_at(value.get_object(), "error") == nullptr) return false;
    response = std::move(value.get_object());
    return true;
  }

  static bool is_json(std::string_view type) { return starts_as(type, "application/json"); }
  static bool is_stream(std::string_view type) { return starts_as(type, "text/event-stream"); }
  static bool starts_as(std::string_view type, std::string_view wanted) {
    return cofferdam::detail::same_ignoring_case(type.substr(0, wanted.size()), wanted);
  }

  static awaitable<void> hear_all(std::shared_ptr<http_link> self) {
    std::string last_id;
    std::chrono::milliseconds pause(1000);
    boost::json::object unused;
    for (;;) {
      try {
        http_request what = self->message("GET");
        what.field("Accept", "text/event-stream");
        if (is_usable_id(last_id)) what.field("Last-Event-ID", last_id);
        http_exchange reply = co_await self->client_.send(std::move(what), patient());
        // A server without such a stream answers with 405.
        if (reply.status() != 200) co_return;
        const std::string no_request;
        const bool is_found = co_await read_stream(self, reply, no_request, unused, last_id, pause);
        static_cast<void>(is_found);
      } catch (const error& failure) {
        if (failure.code() == exec_errc::cancelled) throw;
        if (failure.code() == exec_errc::environment_closed) co_return;
        // A connection that is lost, or a message that cannot be read. The stream begins again after it.
      }
      cofferdam::detail::async_event never(self->executor_);
      const cofferdam::detail::wait_result woken = co_await never.wait(clock::now() + pause);
      if (woken == cofferdam::detail::wait_result::cancelled) co_return;
    }
  }

  static awaitable<void> remove_session(std::shared_ptr<http_link> self) {
    http_request what = self->message("DELETE");
    cofferdam::detail::http_limits limits;
    limits.connect(patience).head(patience).idle(patience);
    try {
      const http_response reply = co_await self->client_.request(std::move(what), limits);
      static_cast<void>(reply);
    } catch (const error&) {
      // The session ends by itself.
    }
  }

  static awaitable<void> end(std::shared_ptr<http_link> self) {
    co_await cofferdam::detail::joined_tasks::wait(self->tasks_, std::chrono::milliseconds(200));
    self->tasks_->cancel();
    if (self->has_session()) co_await remove_session(self);
    co_await self->client_.close();
    co_await cofferdam::detail::joined_tasks::join(self->tasks_);
  }

  static constexpr std::chrono::milliseconds patience{2000};
  static constexpr std::chrono::milliseconds shortest_pause{100};
  static constexpr std::chrono::milliseconds longest_pause{60'000};

  asio::any_io_executor executor_;
  server_address where_;
  http_fields fields_;
  rpc_limits limits_;
  server_message_listener hears_;
  cofferdam::detail::http_client client_;
  std::shared_ptr<cofferdam::detail::joined_tasks> tasks_;
  redactor redactor_;
  secret_string authorization_;
  std::vector<asio::steady_timer*> limits_of_requests_;
  std::string version_;
  std::string session_;
  bool is_abandoned_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
