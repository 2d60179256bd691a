// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/detail/net/connect_error.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
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

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The result of a unary call: a message, or the failure that the peer reports.
class connect_answer {
 public:
  connect_answer() = default;
  connect_answer(int status, std::string message) : message_(std::move(message)), status_(status) {}
  connect_answer(int status, connect_failure failure, http_fields fields = http_fields())
      : failure_(std::move(failure)), fields_(std::move(fields)), status_(status) {}
  bool ok() const noexcept { return !failure_; }
  /// Returns the JSON text of the message, not parsed.
  const std::string& message() const noexcept { return message_; }
  const std::optional<connect_failure>& failure() const noexcept { return failure_; }
  /// Returns the HTTP status.
  int status() const noexcept { return status_; }
  /// Returns the HTTP fields, if the call failed.
  const http_fields& fields() const noexcept { return fields_; }

 private:
  std::string message_;
  std::optional<connect_failure> failure_;
  http_fields fields_;
  int status_ = 0;
};

/// The messages of a streaming call. The destructor closes the connection, unless the end was read.
/// \par Lifetime  as `http_exchange`.
class connect_stream {
 public:
  /// Holds no stream.
  connect_stream() = default;
  /// \param max_bytes  maximum size of a message, in bytes.
  connect_stream(http_exchange answer, std::size_t max_bytes)
      : answer_(std::move(answer)), reader_(max_bytes), buffer_(std::make_unique<buffer>()) {}

  /// Returns the next message; no value at the end.
  /// \return valid until the next call.
  /// \throws error{exec_errc::too_large}; error{exec_errc::io_error}: an error of the connection, net_errc::truncated
  ///     if the stream ends inside a message, net_errc::malformed if it is not a stream of messages. The stream is
  ///     unusable after that.
  /// \par Cancellation  terminal: closes the connection; throws error{exec_errc::cancelled}.
  awaitable<std::optional<std::string_view>> next();

  /// Returns true if the peer has sent the end of the stream; otherwise the stream is incomplete. Known once `next()`
  /// has returned no value.
  bool ended() const noexcept { return reader_.ended(); }
  /// Returns the failure in the end of the stream, if the call failed.
  const std::optional<connect_failure>& failure() const noexcept { return failure_; }

 private:
  using buffer = std::array<std::byte, 64 * 1024>;

  http_exchange answer_;
  connect_envelope_reader reader_{0};
  std::unique_ptr<buffer> buffer_;
  std::string_view rest_;
  std::optional<connect_failure> failure_;
};

/// The result of a streaming call: the stream, or another answer.
class connect_opening {
 public:
  connect_opening() = default;
  explicit connect_opening(connect_stream stream) : stream_(std::move(stream)) {}
  explicit connect_opening(connect_answer refusal) : refusal_(std::move(refusal)) {}
  /// Returns true if there is a stream. If not, the call was not executed, as far as HTTP can show.
  bool ok() const noexcept { return stream_.has_value(); }
  connect_stream& stream() { return *stream_; }
  const connect_answer& refusal() const noexcept { return refusal_; }

 private:
  std::optional<connect_stream> stream_;
  connect_answer refusal_;
};

bool has_media_type(const http_response_head& head, std::string_view media_type);

/// Makes a unary call with the JSON codec.
/// \param client   kept by the caller until the awaitable completes.
/// \param what     the request with its own fields; the fields of the protocol and the body are added.
/// \param message  the text of a JSON object.
/// \param limits   `body()` applies to the answer.
/// \throws         as `http_client::request`. A failure that the peer reports is a value.
/// \par Cancellation  terminal.
/// \par Source     Connect protocol, "Unary-RPCs".
awaitable<connect_answer> connect_unary(http_client& client, http_request what, std::string message,
                                        http_limits limits);

/// Makes a call whose answer is a stream of messages, with the JSON codec.
/// \param max_bytes  maximum size of a message, in bytes.
/// \param limits     `head()` applies to the beginning of the answer, `idle()` between two pieces of it.
/// \throws           as `http_client::send`; error{exec_errc::io_error} with net_errc::malformed for an answer that is
///                   not a stream.
/// \par Cancellation  terminal: the peer may or may not have executed the call.
/// \par Source       Connect protocol, "Streaming-RPCs".
awaitable<connect_opening> connect_server_stream(http_client& client, http_request what, std::string message,
                                                 std::size_t max_bytes, http_limits limits);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/connect_client.ipp>
#endif
