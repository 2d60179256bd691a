// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/llm/chat_completions_options.hpp>
#include <cofferdam/llm/chat_model.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class completions_core;
}  // namespace detail

/// A client of the protocol that most services and local servers support: `POST {base URL}/chat/completions`. Models
/// `chat_model`.
///
/// If the request has an `on_delta`, the client requests a streamed answer; a server that cannot stream may send a
/// whole answer. The service gets a valid conversation in any case. Images, audio and video of tool messages are
/// moved to a user message, because services accept them only there. Audio is sent as `input_audio`, and video as
/// `video_url` with a data URL, which OpenRouter and other services document, but OpenAI does not. A tool call
/// without a result gets a result that states this, and results without a call are left out.
///
/// After a temporary failure (status 408, 409, 429 or 5xx, or a lost connection) the request is repeated, after the
/// pause that the service requests. It is not repeated after the request's `on_delta` has received a piece.
/// \throws            the constructor throws error{exec_errc::invalid_argument} if the base URL, the key or a header
///                    field is invalid. `chat` throws the errors of `chat_failure`. No message contains the key, even
///                    if the service repeats it.
/// \par Cancellation  terminal. The connection is closed, and `chat` throws error{exec_errc::cancelled}. The client can
///                    be used afterwards.
/// \par Lifetime      copies share the connections. A request that is under way keeps all that it needs alive.
/// \par Threads       the client is used on the executor that the constructor got. If several threads run this
///                    executor, it must be a strand. Many requests may be under way at the same time.
/// \par Source        OpenAI's API reference, "Chat Completions"; OpenRouter's documentation, "Video Inputs".
class chat_completions_client {
 public:
  /// Makes a client. The class describes the executor and the errors.
  chat_completions_client(asio::any_io_executor executor, chat_completions_options options);

  awaitable<chat_reply> chat(chat_request request);

  /// Returns the base URL of the service, for example `https://api.openai.com/v1`. It contains no secret.
  std::string base_url() const;
  /// Returns the name of the model.
  const std::string& model() const noexcept;

  /// Closes all connections, so that requests that are under way fail. A second call does nothing.
  awaitable<void> close();

 private:
  std::shared_ptr<detail::completions_core> core_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/chat_completions_client.ipp>
#endif
