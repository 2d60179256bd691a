// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/llm/chat_model.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class event_listener;
}  // namespace detail

/// A model whose calls are reported, as `trace` reports the operations of environments:
///
///     trace_file log("trace.jsonl");
///     agent helper(traced_model("gpt-5-mini", client, log));
///     co_await with(sandbox() | trace(log), ...);
///
/// There is one event for each call, at its end. `operation()` is `gen_ai.client.operation`, and `name()` is `chat` and
/// the name of the model. The attributes have names of OpenTelemetry's semantic conventions for generative AI, all in
/// development there:
/// * `gen_ai.operation.name` (`chat`), `gen_ai.request.model`, `gen_ai.response.model`.
/// * `gen_ai.usage.input_tokens`, `gen_ai.usage.output_tokens`, `gen_ai.usage.cache_read.input_tokens`.
/// * `error.type`: the name of a `chat_errc`, such as `rate_limited`, or of an `exec_errc`. Absent after a success.
///
/// The conversation and the answer are never in an event. The function cannot fail a call: its exceptions are dropped,
/// the first one with a warning. A call that is destroyed before its end has no event. Models `chat_model`; copies
/// share the model inside.
/// \par Threads  the function is called on the executor of the call.
class traced_model {
 public:
  /// Wraps a model.
  /// \param name      the name of the model that is requested; a `chat_model` does not reveal it.
  /// \param model     any `chat_model`.
  /// \param on_event  a function that receives the events, such as a `trace_file`.
  /// \throws error{exec_errc::invalid_argument} if the function is empty.
  template <chat_model M>
  traced_model(std::string name, M model, detail::callable_argument<void(const trace_event&)> on_event)
      : name_(std::move(name)),
        model_(detail::as_any_model(std::move(model))),
        listener_(make_listener(on_event.take())) {}

  awaitable<chat_reply> chat(chat_request request);

 private:
  static std::shared_ptr<const detail::event_listener> make_listener(std::function<void(const trace_event&)> on_event);

  std::string name_;
  any_chat_model model_;
  std::shared_ptr<const detail::event_listener> listener_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/traced_model.ipp>
#endif
