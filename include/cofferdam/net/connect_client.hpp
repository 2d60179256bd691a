// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/connect_envelope.hpp>
#include <cofferdam/net/connect_error.hpp>
#include <cofferdam/net/http_client.hpp>
#include <cofferdam/net/http_limits.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0 {

/// What came of a unary call: a message, or the failure that the peer reports.
class connect_answer {
 public:
  connect_answer() = default;
  connect_answer(int status, std::string message) : message_(std::move(message)), status_(status) {}
  connect_answer(int status, connect_failure failure) : failure_(std::move(failure)), status_(status) {}
  bool ok() const noexcept { return !failure_; }
  /// The JSON text of the answer; not parsed.
  const std::string& message() const noexcept { return message_; }
  const std::optional<connect_failure>& failure() const noexcept { return failure_; }
  /// The HTTP status.
  int status() const noexcept { return status_; }

 private:
  std::string message_;
  std::optional<connect_failure> failure_;
  int status_ = 0;
};

/// The messages of a call that streams them. Destroying it closes the connection, unless the end was read.
/// \par Lifetime  as `http_exchange`.
class connect_stream {
 public:
  /// No stream.
  connect_stream() = default;
  /// \param most  the longest message that is taken, in bytes.
  connect_stream(http_exchange answer, std::size_t most)
      : answer_(std::move(answer)), reader_(most), buffer_(std::make_unique<buffer>()) {}

  /// The next message; nothing at the end.
  /// \return valid until the next call.
  /// \throws error{errc::too_large}; error{errc::io_error}: what the connection throws, net_errc::truncated where the stream
  ///         ends inside a message, net_errc::malformed for what is no stream of messages. Afterwards it is of no use.
  /// \par Cancellation  terminal: closes the connection; throws error{errc::cancelled}.
  awaitable<std::optional<std::string_view>> next() {
    std::optional<connect_envelope> one = reader_.next(rest_);
    for (;;) {
      if (one && !one->is_end()) co_return one->payload();
      if (one) {
        failure_ = read_connect_end(one->payload());
        one = reader_.next(rest_);
        continue;
      }
      const std::span<char> room = reader_.room();
      const std::span<std::byte> into = room.empty() ? std::span<std::byte>(*buffer_) : std::as_writable_bytes(room);
      const std::size_t count = co_await answer_.read_some(into);
      if (count == 0) {
        reader_.finish();
        co_return std::nullopt;
      }
      if (room.empty()) {
        rest_ = as_text(bytes_view(buffer_->data(), count));
        one = reader_.next(rest_);
      } else {
        one = reader_.took(count);
      }
    }
  }

  /// Whether the peer has said that it is the end: without that the stream is not whole. Known once `next()` was empty.
  bool ended() const noexcept { return reader_.ended(); }
  /// Why the call failed, where the peer says so at the end.
  const std::optional<connect_failure>& failure() const noexcept { return failure_; }

 private:
  using buffer = std::array<std::byte, 64 * 1024>;

  http_exchange answer_;
  connect_envelope_reader reader_{0};
  std::unique_ptr<buffer> buffer_;
  std::string_view rest_;
  std::optional<connect_failure> failure_;
};

/// What came of a call that streams: the stream, or an answer that is none.
class connect_opening {
 public:
  connect_opening() = default;
  explicit connect_opening(connect_stream stream) : stream_(std::move(stream)) {}
  explicit connect_opening(connect_answer refusal) : refusal_(std::move(refusal)) {}
  /// Whether there is a stream. Where there is none, nothing of the call has been done, as far as HTTP can tell.
  bool ok() const noexcept { return stream_.has_value(); }
  connect_stream& stream() { return *stream_; }
  const connect_answer& refusal() const noexcept { return refusal_; }

 private:
  std::optional<connect_stream> stream_;
  connect_answer refusal_;
};

namespace detail {

inline bool has_media_type(const http_response_head& head, std::string_view wanted) {
  const std::string_view type = head.fields.find("Content-Type").value_or(std::string_view());
  return same_ignoring_case(without_blanks(type.substr(0, type.find(';'))), wanted);
}

}  // namespace detail

/// Makes a unary call with the JSON codec.
/// \param client   kept by the caller until the awaitable completes.
/// \param what     the request with its own fields; those of the protocol and the body are added.
/// \param message  a JSON object's text.
/// \param limits   `body()` holds for the answer.
/// \throws         as `http_client::request`. A failure that the peer reports is a value.
/// \par Cancellation  terminal.
/// \par Source     Connect protocol, "Unary-RPCs".
inline awaitable<connect_answer> connect_unary(http_client& client, http_request what, std::string message,
                                               http_limits limits) {
  what.field("Connect-Protocol-Version", "1").content("application/json", message);
  http_response answer = co_await client.request(std::move(what), std::move(limits));
  if (answer.status() == 200) co_return connect_answer(200, std::string(answer.text()));
  co_return connect_answer(answer.status(),
                           read_connect_failure(static_cast<unsigned>(answer.status()), answer.text()));
}

/// Makes a call whose answer is a stream of messages, with the JSON codec.
/// \param most    the longest message that is taken, in bytes.
/// \param limits  `head()` holds for the begin of the answer, `idle()` between two pieces of it.
/// \throws        as `http_client::send`; error{errc::io_error} with net_errc::malformed for an answer that is no stream.
/// \par Cancellation  terminal: whether the call has been made is not known then.
/// \par Source    Connect protocol, "Streaming-RPCs".
inline awaitable<connect_opening> connect_server_stream(http_client& client, http_request what, std::string message,
                                                        std::size_t most, http_limits limits) {
  what.field("Connect-Protocol-Version", "1").content("application/connect+json", connect_message(message));
  http_exchange answer = co_await client.send(std::move(what), std::move(limits));
  if (answer.status() != 200) {
    constexpr std::size_t longest_refusal = std::size_t{64} * 1024;
    const auto status = static_cast<unsigned>(answer.status());
    bytes body = co_await answer.read_all(longest_refusal);
    co_return connect_opening(connect_answer(static_cast<int>(status), read_connect_failure(status, as_text(body))));
  }
  if (!detail::has_media_type(answer.head(), "application/connect+json"))
    throw error(errc::io_error, "Connect: the answer is no stream of messages: its Content-Type is another",
                net_errc::malformed);
  connect_stream stream(std::move(answer), most);
  co_return connect_opening(std::move(stream));
}

}  // namespace cofferdam::inline v0
