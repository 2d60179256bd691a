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

/// The result of a unary call (one request message, one response message) of the Connect protocol, which is remote
/// procedure calls over HTTP. The result is the response, or the failure that the peer reports.
class connect_answer {
 public:
  connect_answer() = default;
  connect_answer(int status, std::string message) : message_(std::move(message)), status_(status) {}
  connect_answer(int status, connect_failure failure, http_fields fields = http_fields())
      : failure_(std::move(failure)), fields_(std::move(fields)), status_(status) {}
  bool ok() const noexcept { return !failure_; }
  /// Returns the JSON text of the response message, not parsed.
  const std::string& message() const noexcept { return message_; }
  const std::optional<connect_failure>& failure() const noexcept { return failure_; }
  /// Returns the status code of the HTTP response.
  int status() const noexcept { return status_; }
  /// Returns the header fields of the HTTP response, if the call failed; otherwise no fields.
  const http_fields& fields() const noexcept { return fields_; }

 private:
  std::string message_;
  std::optional<connect_failure> failure_;
  http_fields fields_;
  int status_ = 0;
};

/// The response of a streaming call: a sequence of messages. The destructor closes the connection, unless the end of
/// the stream was read.
/// \par Lifetime  as for `http_exchange`: the stream may outlive the client; move it only while no operation is under
///                way.
class connect_stream {
 public:
  /// Constructs an object without a stream.
  connect_stream() = default;
  /// \param max_bytes  the maximum size of one message, in bytes.
  connect_stream(http_exchange answer, std::size_t max_bytes)
      : answer_(std::move(answer)), reader_(max_bytes), buffer_(std::make_unique<buffer>()) {}

  /// Reads the next message.
  /// \return the JSON text of the message, valid until the next call; no value at the end of the stream.
  /// \throws error{exec_errc::too_large} if the message is longer than the limit; error{exec_errc::io_error} if the
  ///     connection fails. Its `cause()` is net_errc::truncated if the stream ends inside a message, and
  ///     net_errc::malformed if the data is not a stream of messages. After an error, the stream cannot be used.
  /// \par Cancellation  terminal: closes the connection; throws error{exec_errc::cancelled}.
  awaitable<std::optional<std::string_view>> next();

  /// Returns true if the peer has sent the end of the stream. Call this after `next()` has returned no value: false
  /// then means that the stream is incomplete.
  bool ended() const noexcept { return reader_.ended(); }
  /// Returns the failure of the call, which the end of the stream contains; no value if the call succeeded.
  const std::optional<connect_failure>& failure() const noexcept { return failure_; }

 private:
  using buffer = std::array<std::byte, 64 * 1024>;

  http_exchange answer_;
  connect_envelope_reader reader_{0};
  std::unique_ptr<buffer> buffer_;
  std::string_view rest_;
  std::optional<connect_failure> failure_;
};

/// The result of starting a streaming call: a stream, or a refusal if the HTTP status is not 200.
class connect_opening {
 public:
  connect_opening() = default;
  explicit connect_opening(connect_stream stream) : stream_(std::move(stream)) {}
  explicit connect_opening(connect_answer refusal) : refusal_(std::move(refusal)) {}
  /// Returns true if there is a stream. If not, the HTTP status was not 200: `refusal()` has the reason, and the peer
  /// reports that it did not execute the call.
  bool ok() const noexcept { return stream_.has_value(); }
  connect_stream& stream() { return *stream_; }
  const connect_answer& refusal() const noexcept { return refusal_; }

 private:
  std::optional<connect_stream> stream_;
  connect_answer refusal_;
};

/// Returns true if the response's Content-Type is `media_type`, whatever its parameters. Case is ignored.
bool has_media_type(const http_response_head& head, std::string_view media_type);

/// Makes a unary call with the JSON codec.
/// \param client   kept by the caller until the awaitable completes.
/// \param what     the method, the target and additional fields. This function adds the fields of the protocol and the
///                 body.
/// \param message  the text of a JSON object.
/// \param limits   `body()` limits the size of the response.
/// \throws         the errors of `http_client::request`. A failure that the peer reports is returned, not thrown.
/// \par Cancellation  terminal.
/// \par Source     Connect protocol, "Unary-RPCs".
awaitable<connect_answer> connect_unary(http_client& client, http_request what, std::string message,
                                        http_limits limits);

/// Makes a call with the JSON codec whose response is a stream of messages.
/// \param client     kept by the caller until the awaitable and the stream have ended.
/// \param what       the method, the target and additional fields. This function adds the fields of the protocol and
///                   the body.
/// \param message    the text of a JSON object.
/// \param max_bytes  the maximum size of one message of the response, in bytes.
/// \param limits     `head()` limits the time until the response begins, `idle()` the time between two pieces of it.
/// \throws           the errors of `http_client::send`; error{exec_errc::io_error} with net_errc::malformed as its
///                   `cause()` if the response is not a stream of messages.
/// \par Cancellation  terminal: the peer may or may not have executed the call.
/// \par Source       Connect protocol, "Streaming-RPCs".
awaitable<connect_opening> connect_server_stream(http_client& client, http_request what, std::string message,
                                                 std::size_t max_bytes, http_limits limits);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/connect_client.ipp>
#endif
