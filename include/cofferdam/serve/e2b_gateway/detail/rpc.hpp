// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/detail/net/connect_error.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/arrival.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_process.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// Implements the server's side of the Connect protocol with its JSON codec. \par Source  Connect protocol.

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// Decodes base64 as protobuf's JSON format does: with the standard or the URL alphabet, with or without padding.
inline std::optional<bytes> standard_base64(std::string_view text) {
  std::string plain(text);
  while (!plain.empty() && plain.back() == '=') plain.pop_back();
  for (char& c : plain) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  while (plain.size() % 4 != 0) plain += '=';
  return cofferdam::detail::base64_decode(plain);
}

/// A reader for the members of a message in protobuf's JSON format. It throws rpc_failure for a member of a wrong type.
class message_fields {
 public:
  explicit message_fields(const boost::json::object& object) noexcept : object_(object) {}

  const boost::json::value* find(std::string_view name) const noexcept {
    const boost::json::value* const found = object_.if_contains(cofferdam::detail::json_view(name));
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  const boost::json::object* object(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return nullptr;
    if (!found->is_object()) throw wrong(name);
    return &found->get_object();
  }
  std::optional<std::string> text(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_string()) throw wrong(name);
    return std::string(found->get_string().data(), found->get_string().size());
  }
  std::optional<bool> boolean(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_bool()) throw wrong(name);
    return found->get_bool();
  }
  /// Returns a uint32, which may be given as a number or as a text.
  std::optional<std::uint32_t> number(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return std::nullopt;
    std::optional<std::uint32_t> value;
    if (found->is_int64() && found->get_int64() >= 0 && found->get_int64() <= UINT32_MAX)
      value = static_cast<std::uint32_t>(found->get_int64());
    if (found->is_string())
      value = number_from<std::uint32_t>(std::string_view(found->get_string().data(), found->get_string().size()));
    if (!value) throw wrong(name);
    return value;
  }
  std::optional<bytes> data(std::string_view name) const {
    const boost::json::value* const found = find(name);
    if (found == nullptr) return std::nullopt;
    if (!found->is_string()) throw wrong(name);
    std::optional<bytes> raw =
        standard_base64(std::string_view(found->get_string().data(), found->get_string().size()));
    if (!raw) throw wrong(name);
    return raw;
  }

 private:
  static rpc_failure wrong(std::string_view name) {
    return {cofferdam::detail::connect_code::invalid_argument,
            "unmarshal message: invalid value for the field " + std::string(name)};
  }
  const boost::json::object& object_;
};

/// One Connect call: its header fields, its message and its time limit.
class rpc_call {
 public:
  rpc_call(std::shared_ptr<sandbox_registry> core, std::shared_ptr<served_sandbox> sandbox, http_call& call)
      : core_(std::move(core)), sandbox_(std::move(sandbox)), call_(call), began_(steady_clock::now()) {}

  const std::shared_ptr<sandbox_registry>& core() const noexcept { return core_; }
  const std::shared_ptr<served_sandbox>& sandbox() const noexcept { return sandbox_; }
  http_call& call() const noexcept { return call_; }
  const boost::json::object& message() const noexcept { return message_; }

  /// Returns an error reply if the content type is wrong for this kind of call; otherwise no value.
  static std::optional<http_reply> refused_type(const http_call& call, bool is_stream) {
    const std::string_view due = is_stream ? "application/connect+json" : "application/json";
    std::string_view type = call.field("Content-Type").value_or(std::string_view());
    type = cofferdam::detail::without_blanks(type.substr(0, type.find(';')));
    if (cofferdam::detail::same_ignoring_case(type, due)) return std::nullopt;
    http_reply reply(415);
    reply.field("Accept-Post", std::string(due));
    return reply;
  }

  /// Checks the header fields that all calls have, and stores the limits of time that they set.
  /// \throws rpc_failure for an invalid field, or if the time limit is over already.
  void check_fields() {
    const std::string_view version = call_.field("Connect-Protocol-Version").value_or("1");
    if (version != "1")
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "connect-protocol-version must be \"1\": got \"" + one_line(version) + "\"");
    for (const char* const name : {"Content-Encoding", "Connect-Content-Encoding"}) {
      const std::string_view coding = call_.field(name).value_or("identity");
      if (coding != "identity" && !coding.empty())
        throw rpc_failure(cofferdam::detail::connect_code::unimplemented,
                          "unknown compression \"" + one_line(coding) + "\": supported encodings are identity");
    }
    if (const auto limit = call_.field("Connect-Timeout-Ms")) {
      const bool is_number = !limit->empty() && limit->size() <= 10 &&
                             std::all_of(limit->begin(), limit->end(), [](char c) { return c >= '0' && c <= '9'; });
      if (!is_number)
        throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                          "parse timeout: \"" + one_line(*limit) + "\"");
      due_ = began_ + std::chrono::milliseconds(number_from<std::int64_t>(*limit).value_or(0));
      if (*due_ <= began_)
        throw rpc_failure(cofferdam::detail::connect_code::deadline_exceeded, "context deadline exceeded");
    }
    if (const auto ping = call_.field("Keepalive-Ping-Interval")) {
      const auto seconds = number_from<std::int64_t>(*ping);
      if (seconds && *seconds > 0) keepalive_ = std::chrono::seconds(std::min<std::int64_t>(*seconds, 3600));
    }
    check_user();
  }

  /// Returns the time at which the call must have ended; no value if the client has set no limit.
  const std::optional<steady_clock::time_point>& due() const noexcept { return due_; }
  std::chrono::seconds keepalive() const noexcept { return keepalive_; }

  /// Reads the message of a unary call.
  awaitable<void> read_unary() {
    co_await read_body();
    parse(body_.text());
  }

  /// Reads the only message of a call whose reply is a stream.
  awaitable<void> read_only_envelope() {
    co_await read_body();
    cofferdam::detail::connect_envelope_reader reader(core_->options().message());
    std::string_view rest = body_.text();
    const std::optional<cofferdam::detail::connect_envelope> first = next_of(reader, rest);
    if (!first || first->is_end())
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, "protocol error: incomplete envelope");
    parse(first->payload());
    if (!rest.empty())
      throw rpc_failure(cofferdam::detail::connect_code::unimplemented, "unary request has more than one message");
  }

  static std::optional<cofferdam::detail::connect_envelope> next_of(cofferdam::detail::connect_envelope_reader& reader,
                                                                    std::string_view& rest) {
    try {
      return reader.next(rest);
    } catch (const error& broken) {
      if (broken.code() == exec_errc::too_large)
        throw rpc_failure(cofferdam::detail::connect_code::resource_exhausted, broken.what());
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        std::string("protocol error: ") + broken.what());
    }
  }

  void parse(std::string_view text) {
    if (text.empty())
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "zero-length payload is not a valid JSON object");
    std::error_code broken;
    boost::json::value value = cofferdam::detail::parse_untrusted_json(text, broken);
    if (broken || !value.is_object())
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "unmarshal message: " + (broken ? broken.message() : std::string("it is not an object")));
    message_ = std::move(value.get_object());
  }
  /// Releases the request's memory for other requests.
  void forget() {
    message_ = boost::json::object();
    body_ = cofferdam::detail::request_body();
  }

  /// Waits for a permit to send a long reply, and keeps it until the call ends. Releases the request's memory first, so
  /// that a waiting call does not keep memory from other requests.
  awaitable<void> take_listing() {
    forget();
    co_await sandbox_->listings().acquire(1, "list");
    listing_ = cofferdam::detail::held_permits(sandbox_->listings(), 1);
  }

  awaitable<void> begin_stream() {
    http_reply head(200);
    head.field("Content-Type", "application/connect+json").field("Connect-Accept-Encoding", "identity");
    head.field("Vary", "Origin");
    co_await call_.begin(std::move(head));
  }
  awaitable<void> end_stream() {
    const std::string text = cofferdam::detail::connect_end();
    co_await call_.write(text);
    co_await call_.end();
  }
  awaitable<void> end_stream(cofferdam::detail::connect_code code, std::string message) {
    const std::string text = cofferdam::detail::connect_end(
        cofferdam::detail::connect_end_text(cofferdam::detail::connect_failure(code, std::move(message))));
    co_await call_.write(text);
    co_await call_.end();
  }

 private:
  /// Reads the body of the request.
  /// \throws http_refusal 408 after the time limit; rpc_failure if there is no memory for the body.
  awaitable<void> read_body() {
    try {
      body_ = co_await sandbox_registry::read_body(core_, call_, sandbox_->settings().owner);
    } catch (const http_refusal& refusal) {
      if (refusal.status() != 503) throw;
      throw rpc_failure(cofferdam::detail::connect_code::unavailable, refusal.what());
    }
  }
  /// Checks the user name in the call. All valid names (`user`, `root` or none) mean the user of the environment.
  /// \throws rpc_failure for another name.
  void check_user() const {
    const std::string_view given = call_.field("Authorization").value_or(std::string_view());
    if (given.size() < 6 || !cofferdam::detail::same_ignoring_case(given.substr(0, 6), "Basic ")) return;
    const std::optional<bytes> plain = standard_base64(cofferdam::detail::without_blanks(given.substr(6)));
    if (!plain) return;
    const std::string_view pair = as_text(*plain);
    check_user(pair.substr(0, pair.find(':')));
  }

 public:
  static void check_user(std::string_view name) {
    if (!name.empty() && name != "user" && name != "root")
      throw rpc_failure(cofferdam::detail::connect_code::unauthenticated,
                        "invalid username: '" + one_line(name.substr(0, 64)) + "'");
  }

 private:
  std::shared_ptr<sandbox_registry> core_;
  std::shared_ptr<served_sandbox> sandbox_;
  http_call& call_;
  steady_clock::time_point began_;
  std::optional<steady_clock::time_point> due_;
  std::chrono::seconds keepalive_{90};
  cofferdam::detail::request_body body_;
  cofferdam::detail::held_permits listing_;
  boost::json::object message_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
