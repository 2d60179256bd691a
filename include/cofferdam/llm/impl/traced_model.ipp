// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/detail/core/event_listener.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/traced_model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Sets `error.type` to the name of the exception's `chat_errc`, if it has one, and otherwise to that of its code.
COFFERDAM_DECL void fail_call(trace_event& event, std::exception_ptr reason) {
  static constexpr std::array<std::string_view, 14> names = {
      "context_overflow", "output_limit",  "request_too_large", "not_authenticated", "not_permitted",
      "no_quota",         "no_such_model", "rejected",          "rate_limited",      "service_failed",
      "filtered",         "bad_answer",    "cut_off",           "timed_out"};
  event.fail(reason);
  try {
    std::rethrow_exception(std::move(reason));
  } catch (const error& failure) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (failure.cause() == static_cast<chat_errc>(i + 1)) event.set("error.type", std::string(names[i]));
  } catch (...) {
    return;  // the event has its type
  }
}

COFFERDAM_DECL awaitable<chat_reply> traced_call(std::string name, any_chat_model model,
                                                 std::shared_ptr<const event_listener> listener, chat_request request) {
  trace_event event("gen_ai.client.operation", name.empty() ? "chat" : "chat " + name);
  event.set("gen_ai.operation.name", "chat");
  if (!name.empty()) event.set("gen_ai.request.model", name);
  chat_reply reply;
  try {
    reply = co_await model.chat(std::move(request));
  } catch (...) {
    fail_call(event, std::current_exception());
    listener->report(event.end(), "traced_model");
    throw;
  }
  if (!reply.model().empty()) event.set("gen_ai.response.model", reply.model());
  const chat_usage& usage = reply.usage();
  event.set("gen_ai.usage.input_tokens", static_cast<std::int64_t>(usage.input));
  event.set("gen_ai.usage.output_tokens", static_cast<std::int64_t>(usage.output));
  if (usage.cached != 0) event.set("gen_ai.usage.cache_read.input_tokens", static_cast<std::int64_t>(usage.cached));
  listener->report(event.end(), "traced_model");
  co_return reply;
}

}  // namespace detail

COFFERDAM_DECL std::shared_ptr<const detail::event_listener> traced_model::make_listener(
    std::function<void(const trace_event&)> on_event) {
  if (!on_event) throw error(exec_errc::invalid_argument, "traced_model: the function is empty");
  return std::make_shared<const detail::event_listener>(std::move(on_event));
}

COFFERDAM_DECL awaitable<chat_reply> traced_model::chat(chat_request request) {
  return detail::traced_call(name_, model_, listener_, std::move(request));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
