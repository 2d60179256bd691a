// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/in_time.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/detail/preflight.hpp>
#include <cofferdam/serve/detail/request_body.hpp>
#include <cofferdam/serve/mcp/detail/event_stream.hpp>
#include <cofferdam/serve/mcp/detail/http_checks.hpp>
#include <cofferdam/serve/mcp/detail/http_replies.hpp>
#include <cofferdam/serve/mcp/detail/http_session.hpp>
#include <cofferdam/serve/mcp/detail/http_sessions.hpp>
#include <cofferdam/serve/mcp/detail/session.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The endpoint of streamable HTTP: one path for all versions of the protocol. MCP, "Transports".
class http_endpoint {
 public:
  explicit http_endpoint(std::shared_ptr<server_core> core)
      : core_(std::move(core)),
        memory_(core_->executor(), core_->options().memory(), core_->options().message(),
                std::clamp<std::size_t>(core_->options().tokens().size(), 1, 4)),
        sessions_(std::make_shared<http_sessions>(core_)) {}

  http_sessions& sessions() const noexcept { return *sessions_; }

  static awaitable<void> handle(std::shared_ptr<http_endpoint> self, http_call& call) {
    const server_options& options = self->core_->options();
    if (self->checks_hosts_ && !is_own_host(call.field("Host").value_or(""), options.hosts())) {
      co_await call.reply(refusal(403, refused_by_transport, "Invalid Host header"));
      co_return;
    }
    if (!has_own_origin(call.head().fields, options.hosts(), options.origins())) {
      co_await call.reply(refusal(403, refused_by_transport, "Invalid Origin header"));
      co_return;
    }
    if (std::optional<http_reply> allowed = cofferdam::detail::preflight_reply(call, options.origins())) {
      co_await call.reply(std::move(*allowed));
      co_return;
    }
    std::size_t owner = 0;
    if (!options.tokens().empty()) {
      const std::optional<std::size_t> known = token_of(call.field("Authorization").value_or(""), options.tokens());
      if (!known) {
        http_reply no = refusal(401, refused_by_transport, "Unauthorized: a bearer token is required");
        no.field("WWW-Authenticate", "Bearer realm=\"mcp\"");
        co_await call.reply(std::move(no));
        co_return;
      }
      owner = *known;
    }
    if (call.path() != options.path()) {
      http_reply nothing(404);
      nothing.content("text/plain", "not found; the MCP endpoint is " + options.path() + "\n");
      co_await call.reply(std::move(nothing));
      co_return;
    }
    if (call.method() == "POST") {
      co_await post(self, call, owner);
    } else if (call.method() == "GET" && call.field("Mcp-Session-Id")) {
      co_await get(self, call, owner);
    } else if (call.method() == "DELETE" && call.field("Mcp-Session-Id")) {
      co_await remove(self, call, owner);
    } else {
      http_reply no = refusal(405, refused_by_transport, "Method not allowed");
      const bool known = call.method() == "GET" || call.method() == "DELETE";
      no.field("Allow", known ? "POST" : "GET, POST, DELETE");
      co_await call.reply(std::move(no));
    }
  }

  /// Sets if the `Host` field of requests is checked.
  void check_hosts(bool looks) noexcept { checks_hosts_ = looks; }

  /// Ends all sessions and their requests. Cannot be cancelled.
  static awaitable<void> close(std::shared_ptr<http_endpoint> self) { return http_sessions::close(self->sessions_); }

 private:
  std::shared_ptr<http_session> find(const http_call& call, std::size_t owner) const {
    return sessions_->find(std::string(trimmed(call.field("Mcp-Session-Id").value_or(""))), owner);
  }
  static http_reply no_such_session() { return refusal(404, no_session, "Session not found"); }

  /// Returns an error reply for an invalid version in a legacy request (up to 2025-11-25); otherwise no value.
  static std::optional<http_reply> wrong_version(const http_call& call) {
    const auto version = call.field("MCP-Protocol-Version");
    if (!version || is_legacy(trimmed(*version))) return std::nullopt;
    return refusal(400, refused_by_transport,
                   "Bad Request: Unsupported protocol version: " + one_line(*version, 60) +
                       " (supported versions: 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05)");
  }

  /// Reads a message within the limits of time and memory. Returns an error reply if it is late; otherwise no value.
  static awaitable<std::optional<http_reply>> read(std::shared_ptr<http_endpoint> self, http_call& call,
                                                   std::size_t owner, cofferdam::detail::request_body& into) {
    const server_options& options = self->core_->options();
    std::size_t units = options.message();
    if (const auto length = call.field("Content-Length")) {
      std::size_t announced = 0;
      const std::string_view digits = trimmed(*length);
      const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), announced);
      if (wrong == std::errc() && end == digits.data() + digits.size()) units = std::min(units, announced);
    }
    const bool is_here = co_await cofferdam::detail::arrived_in_time(
        self->core_->executor(), options.message_timeout(),
        cofferdam::detail::request_body::read(self->memory_, owner, units, call, into));
    if (is_here) co_return std::nullopt;
    if (into.is_waiting())
      co_return refusal(503, refused_by_transport, "no memory for another message of this size; try again later");
    co_return refusal(408, refused_by_transport, "the message did not arrive within the time limit");
  }

  static awaitable<void> post(std::shared_ptr<http_endpoint> self, http_call& call, std::size_t owner) {
    if (!is_json_type(call.field("Content-Type").value_or(""))) {
      co_await call.reply(refusal(415, refused_by_transport, "Content-Type must be application/json"));
      co_return;
    }
    rpc_limits limits;
    limits.bytes = self->core_->options().message();
    // The body keeps its share of the memory as long as this coroutine runs, because the parsed message lives in it.
    cofferdam::detail::request_body body;
    std::optional<http_reply> late = co_await read(self, call, owner, body);
    if (late) {
      co_await call.reply(std::move(*late));
      co_return;
    }
    rpc_input input = read_rpc(body.text(), limits);
    body.drop_text();
    const std::string version(trimmed(call.field("MCP-Protocol-Version").value_or("")));
    bool modern = false;
    if (!input.is_batch && input.messages.size() == 1) {
      const rpc_message& message = input.messages.front();
      const boost::json::object* const meta = object_at(message.params, "_meta");
      modern = meta != nullptr && meta->contains(json_view(meta_version));
      if (!modern && !version.empty() && !is_legacy(version) && message.method != "initialize" &&
          !call.field("Mcp-Session-Id"))
        modern = true;
    }
    if (!input.faults.empty() && !input.is_batch) {
      const auto& [fault, id] = input.faults.front();
      co_await call.reply(json_reply(400, rpc_error(boost::json::serialize(id), fault.code(), fault.message())));
    } else if (modern) {
      co_await post_modern(self, call, owner, std::move(input.messages.front()), version);
    } else {
      co_await post_legacy(self, call, owner, std::move(input));
    }
  }

  // ---- requests of the modern era: version 2026-07-28, without sessions ----
  /// Returns an error message if the field with the place name is invalid; otherwise an empty text.
  static std::string place_complaint(const http_call& call) {
    const std::size_t count = call.head().fields.count(place_field);
    if (count == 0) return {};
    if (count > 1) return "Bad Request: there is more than one " + std::string(place_field) + " field";
    if (is_place_name(call.field(place_field).value_or(""))) return {};
    return "Bad Request: the " + std::string(place_field) +
           " field is invalid: use 1 to 64 letters, digits, dots, hyphens and underscores";
  }

  /// Returns an error reply if header fields or `_meta` of a modern request (2026-07-28) are wrong; else no value.
  std::optional<std::string> modern_complaint(session& of, const rpc_message& message, const http_call& call,
                                              const std::string& version) const {
    const std::string id = message.id_text();
    const boost::json::object* const meta = object_at(message.params, "_meta");
    const bool has_version = meta != nullptr && meta->contains(json_view(meta_version));
    if (has_version && version.empty())
      return rpc_error(id, header_mismatch, "the MCP-Protocol-Version field is missing");
    if (meta == nullptr) return rpc_error(id, invalid_params, "the request has no _meta");
    if (!has_version) return rpc_error(id, invalid_params, std::string(meta_version) + " is missing");
    if (if_text_at(*meta, meta_version) != version)
      return rpc_error(id, header_mismatch, "the MCP-Protocol-Version field and the body disagree");
    request probe(message);
    if (std::optional<reply> wrong = dispatch::admit(of, probe)) return wrong->text;
    const boost::json::object* schema = nullptr;
    std::shared_ptr<const registered_tool> tool;
    if (message.method == "tools/call") {
      tool = core_->tool(std::string(text_at(message.params, "name")));
      if (tool && tool->what.input()) schema = &*tool->what.input();
    }
    const std::string wrong = header_complaint(
        message, [&call](std::string_view name) { return call.field(name); }, schema);
    if (!wrong.empty()) return rpc_error(id, header_mismatch, "Bad Request: " + wrong);
    return std::nullopt;
  }

  static awaitable<void> post_modern(std::shared_ptr<http_endpoint> self, http_call& call, std::size_t owner,
                                     rpc_message message, std::string version) {
    if (message.kind != rpc_kind::request) {
      co_await call.reply(http_reply(202));
      co_return;
    }
    if (const std::string wrong = place_complaint(call); !wrong.empty()) {
      co_await call.reply(refusal(400, refused_by_transport, wrong));
      co_return;
    }
    const std::shared_ptr<http_session> client_session =
        self->sessions_->shared(owner, std::string(call.field(place_field).value_or("")));
    if (!client_session) {
      co_await call.reply(refusal(503, refused_by_transport,
                                  "too many named environments and sessions; use an existing one, or try again later"));
      co_return;
    }
    if (const std::optional<std::string> wrong =
            self->modern_complaint(*client_session->inside, message, call, version)) {
      co_await call.reply(json_reply(400, *wrong));
      co_return;
    }
    const auto stream =
        std::make_shared<event_stream>(self->core_->executor(), client_session->inside->unread, std::string(), false);
    const std::shared_ptr<request> running =
        client_session->inside->receive(std::move(message), stream, request_ids::of_many_clients);
    // The end of the connection ends this coroutine, and so cancels the request.
    const cancelling at_end(running);
    const in_use counted(*client_session);
    co_await answer_with(call, stream, false, "", true, true);
  }

  // ---- requests of the legacy era: versions up to 2025-11-25, with sessions ----
  static awaitable<void> post_legacy(std::shared_ptr<http_endpoint> self, http_call& call, std::size_t owner,
                                     rpc_input input) {
    const std::string_view accept = call.field("Accept").value_or("");
    if (!accepts(accept, "application/json") || !accepts(accept, "text/event-stream")) {
      co_await call.reply(refusal(406, refused_by_transport,
                                  "Not Acceptable: Client must accept both application/json and text/event-stream"));
      co_return;
    }
    const bool begins = !input.is_batch && input.messages.size() == 1 &&
                        input.messages.front().kind == rpc_kind::request &&
                        input.messages.front().method == "initialize";
    const bool has_session = call.field("Mcp-Session-Id").has_value();
    std::shared_ptr<http_session> client_session = self->find(call, owner);
    if (has_session && !client_session) {
      co_await call.reply(no_such_session());
      co_return;
    }
    if (begins) {
      if (client_session) {
        co_await call.reply(refusal(400, invalid_request, "Invalid Request: Server already initialized"));
        co_return;
      }
      co_await initialize(self, call, owner, std::move(input.messages.front()));
      co_return;
    }
    if (input.is_batch && (!client_session || client_session->inside->version != "2025-03-26")) {
      co_await call.reply(
          refusal(400, invalid_request, "Invalid Request: this version of the protocol does not support batches"));
      co_return;
    }
    if (!client_session) {
      co_await call.reply(refusal(400, refused_by_transport, "Bad Request: Mcp-Session-Id header is required"));
      co_return;
    }
    if (std::optional<http_reply> wrong = wrong_version(call)) {
      co_await call.reply(std::move(*wrong));
      co_return;
    }
    if (input.is_batch) {
      co_await answer_batch(client_session, call, std::move(input));
      co_return;
    }
    if (input.messages.empty() || input.messages.front().kind != rpc_kind::request) {
      for (rpc_message& each : input.messages) client_session->inside->receive(std::move(each), nullptr);
      co_await call.reply(http_reply(202));
      co_return;
    }
    const std::shared_ptr<event_stream> stream = client_session->open_stream();
    client_session->inside->receive(std::move(input.messages.front()), stream);
    const in_use counted(*client_session);
    const bool as_json = self->core_->options().json_answers();
    co_await answer_with(call, stream, true, client_session->inside->version, false, as_json);
  }

  static awaitable<void> initialize(std::shared_ptr<http_endpoint> self, http_call& call, std::size_t owner,
                                    rpc_message message) {
    const std::shared_ptr<http_session> client_session = self->sessions_->add(owner);
    if (!client_session) {
      co_await call.reply(refusal(503, refused_by_transport, "too many sessions; end one, or try again later"));
      co_return;
    }
    const std::shared_ptr<event_stream> stream = client_session->open_stream();
    client_session->inside->receive(std::move(message), stream);
    while (!stream->is_done()) co_await stream->change();
    http_reply answered = json_reply(200, stream->last()->view());
    if (client_session->inside->version.empty()) {
      self->sessions_->remove(client_session);
    } else {
      answered.field("Mcp-Session-Id", client_session->id);
    }
    co_await call.reply(std::move(answered));
  }

  static awaitable<void> answer_batch(std::shared_ptr<http_session> client_session, http_call& call, rpc_input input) {
    std::vector<std::shared_ptr<event_stream>> streams;
    std::string text;
    const auto add = [&text](std::string_view message) {
      text += text.empty() ? '[' : ',';
      text += message;
    };
    for (const auto& [fault, id] : input.faults)
      add(rpc_error(boost::json::serialize(id), fault.code(), fault.message()));
    for (rpc_message& each : input.messages) {
      std::shared_ptr<event_stream> stream;
      if (each.kind == rpc_kind::request) {
        stream = std::make_shared<event_stream>(client_session->inside->core->executor(),
                                                client_session->inside->unread, std::string(), false);
        streams.push_back(stream);
      }
      client_session->inside->receive(std::move(each), stream);
    }
    const in_use counted(*client_session);
    for (const std::shared_ptr<event_stream>& stream : streams) {
      while (!stream->is_done()) co_await stream->change();
      if (stream->has_answer()) add(stream->last()->view());
    }
    if (text.empty()) {
      co_await call.reply(http_reply(202));
      co_return;
    }
    text += ']';
    streams.clear();
    const auto whole = std::make_shared<const unread_text>(client_session->inside->unread, std::move(text));
    co_await reply_json(call, 200, whole);
  }

  // ---- the methods GET and DELETE ----
  static awaitable<void> get(std::shared_ptr<http_endpoint> self, http_call& call, std::size_t owner) {
    const std::shared_ptr<http_session> client_session = self->find(call, owner);
    std::optional<http_reply> no;
    std::shared_ptr<event_stream> stream;
    std::uint64_t seen = 0;
    if (!accepts(call.field("Accept").value_or(""), "text/event-stream")) {
      no = refusal(406, refused_by_transport, "Not Acceptable: Client must accept text/event-stream");
    } else if (!client_session) {
      no = no_such_session();
    } else {
      no = wrong_version(call);
      const auto last = call.field("Last-Event-ID");
      stream = last ? client_session->find(trimmed(*last), seen) : client_session->side;
      if (!no && (!stream || !stream->has_all_since(seen)) && last)
        no = refusal(400, refused_by_transport, "Bad Request: this event is no longer stored");
      if (!no && !last && stream->is_attached())
        no = refusal(409, refused_by_transport, "Conflict: Only one SSE stream is allowed per session");
      if (!last && stream) seen = stream->last_delivered();
    }
    if (no) {
      co_await call.reply(std::move(*no));
      co_return;
    }
    const attached mine(stream);
    const in_use counted(*client_session);
    std::string first;
    if (client_session->inside->version >= "2025-11-25")
      first = "id: " + stream->id() + "_" + std::to_string(seen) + "\nretry: 1000\ndata: \n\n";
    co_await write_events(call, stream, mine.writer(), seen, true, std::move(first));
  }

  static awaitable<void> remove(std::shared_ptr<http_endpoint> self, http_call& call, std::size_t owner) {
    const std::shared_ptr<http_session> client_session = self->find(call, owner);
    if (!client_session) {
      co_await call.reply(no_such_session());
      co_return;
    }
    self->sessions_->remove(client_session);
    co_await call.reply(http_reply(200));
  }

  std::shared_ptr<server_core> core_;
  cofferdam::detail::request_memory<std::size_t> memory_;
  std::shared_ptr<http_sessions> sessions_;
  bool checks_hosts_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
