// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/detail/core/sleep.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/sse_reader.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/llm/chat_completions_client.hpp>
#include <cofferdam/llm/chat_completions_options.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/detail/completion_error.hpp>
#include <cofferdam/llm/detail/completion_reply.hpp>
#include <cofferdam/llm/detail/completion_request.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/readable_json.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The state that copies of a `chat_completions_client` and their requests share.
class completions_core {
 public:
  completions_core(asio::any_io_executor executor, chat_completions_options options)
      : options_(resolved(std::move(options))),
        endpoint_(parsed(options_.resolved_url())),
        client_(std::move(executor), endpoint_.reach(options_.tls())) {
    const std::string_view key = options_.resolved_key();
    redactor_.hide(secret_string(std::string(key)));
    for (const http_field& each : options_.headers())
      if (each.value().size() >= 16) redactor_.hide(secret_string(each.value()));
    if (key.empty()) return;
    std::string text("Bearer ");
    // Prevents a reallocation, which would leave an unwiped copy of the key in freed memory.
    text.reserve(text.size() + key.size());
    text += key;
    authorization_ = secret_string(std::move(text));
    // Adds the key to a request that is never sent. This reports a key with a line break in the constructor, not at the
    // first request. The message of the error does not contain the key.
    http_request probe;
    probe.secret_field("Authorization", authorization_);
  }

  const chat_completions_options& options() const noexcept { return options_; }
  const std::string peer() const { return endpoint_.text(); }
  http_client& client() noexcept { return client_; }
  std::string clean(std::string_view text) const { return redactor_.clean(text); }

  http_request request(const std::string& body, bool streams, unsigned attempt) const {
    http_request post("POST", endpoint_.prefix() + "/chat/completions");
    post.field("Accept", streams ? "text/event-stream" : "application/json");
    for (const http_field& each : options_.headers()) post.field(each.name(), each.value());
    if (!authorization_.empty() && !options_.headers().find("Authorization"))
      post.secret_field("Authorization", authorization_);
    if (attempt != 0) post.field("X-Stainless-Retry-Count", std::to_string(attempt));
    post.content("application/json", body);
    return post;
  }

  std::string body(const chat_request& what) const {
    boost::json::object json;
    json["model"] = options_.model();
    wire_messages writer(options_.sends_reasoning(), options_.system_role());
    json["messages"] = writer.make(what.messages());
    if (!what.tools().empty()) {
      boost::json::array list;
      for (const chat_tool& each : what.tools()) list.push_back(wire_tool(each));
      json["tools"] = std::move(list);
      switch (what.tool_choice()) {
        case chat_tool_choice::automatic: json["tool_choice"] = "auto"; break;
        case chat_tool_choice::required: json["tool_choice"] = "required"; break;
        case chat_tool_choice::none: json["tool_choice"] = "none"; break;
      }
      if (options_.sends_parallel_field()) json["parallel_tool_calls"] = true;
    }
    std::optional<std::uint64_t> max_tokens = what.max_output_tokens();
    if (!max_tokens) max_tokens = options_.max_output_tokens();
    if (max_tokens) json[json_view(options_.token_limit_field())] = *max_tokens;
    if (what.temperature()) json["temperature"] = *what.temperature();
    if (what.schema()) {
      boost::json::object schema;
      schema["name"] = what.schema_name();
      schema["schema"] = *what.schema();
      schema["strict"] = true;
      boost::json::object format;
      format["type"] = "json_schema";
      format["json_schema"] = std::move(schema);
      json["response_format"] = std::move(format);
    }
    if (what.on_delta()) {
      boost::json::object usage;
      usage["include_usage"] = true;
      json["stream"] = true;
      json["stream_options"] = std::move(usage);
    }
    for (const auto& each : options_.extra_body()) json[each.key()] = each.value();
    return readable_json(json);
  }

 private:
  static chat_completions_options resolved(chat_completions_options options) {
    options.resolve([](const char* name) {
      // std::getenv is safe as long as no other thread changes environment variables.
      const char* const value = std::getenv(name);
      if (value != nullptr && std::string_view(name).ends_with("_API_KEY")) keep_out_of_core_dumps(value);
      return std::string(value == nullptr ? "" : value);
    });
    return options;
  }
  static e2b::detail::endpoint parsed(const std::string& url) {
    try {
      return e2b::detail::endpoint::parse(url, "base_url");
    } catch (const error&) {
      throw error(exec_errc::invalid_argument,
                  "chat: the base URL (base_url, or OPENAI_BASE_URL) is invalid: write it as "
                  "https://HOST[:PORT][/PATH], without user, password, query and fragment");
    }
  }

  chat_completions_options options_;
  e2b::detail::endpoint endpoint_;
  http_client client_;
  redactor redactor_;
  secret_string authorization_;
};

/// The result of one attempt to get an answer.
class completion_attempt {
 public:
  std::optional<chat_reply> reply;
  std::optional<error> failure;                   ///< present if there is no reply
  bool may_repeat = false;                        ///< true if another attempt may succeed
  std::optional<std::chrono::milliseconds> wait;  ///< the pause before a retry that the service requests
};

/// Passes the body of a response to the callable `take`, piece by piece.
template <class Take>
awaitable<void> read_pieces(http_exchange& answer, Take& take) {
  std::array<std::byte, 16 * 1024> piece;
  for (;;) {
    const std::size_t count = co_await answer.read_some(piece);
    if (count == 0) break;
    take(as_text(bytes_view(piece.data(), count)));
  }
}

/// Reads a streamed answer.
/// \param told  is set to true when the `on_delta` of the request has received a piece. Then the request must not be
///              repeated.
inline awaitable<chat_reply> read_streamed(std::shared_ptr<completions_core> core, http_exchange& answer,
                                           const chat_request& what, bool& told) {
  const std::string peer = core->peer();
  completion_assembly assembly(core->options().max_answer());
  sse_reader reader(core->options().max_answer());
  bool done = false;
  const chat_request::delta_listener hears = [&](const chat_delta& piece) {
    told = true;
    if (what.on_delta()) what.on_delta()(piece);
  };
  const auto each = [&](const sse_event& event) {
    if (done) return;
    if (event.data() == "[DONE]") {
      done = true;
      return;
    }
    const std::optional<boost::json::value> value = read_json(event.data());
    const boost::json::object* const object = value ? value->if_object() : nullptr;
    if (object == nullptr)
      throw chat_failure(chat_errc::bad_answer, peer + ": an event of the answer is not a JSON object");
    if (const boost::json::value* const wrong = member(*object, "error"); wrong != nullptr && !wrong->is_null()) {
      service_complaint complaint;
      complaint.take(*object);
      complaint.message = core->clean(complaint.message);
      const chat_errc why = complains_of_length(complaint) ? chat_errc::context_overflow : chat_errc::service_failed;
      throw chat_failure(why, complaint_sentence(peer, 0, why, complaint));
    }
    assembly.add(*object, hears);
  };
  const auto take = [&](std::string_view piece) { reader.feed(piece, each); };
  std::optional<error> broke;
  try {
    co_await read_pieces(answer, take);
    reader.finish(each);
  } catch (const error& failure) {
    if (failure.code() != exec_errc::io_error || failure.cause().category() != net_error_category()) throw;
    broke = failure;
  }
  if (!done && !assembly.ended()) {
    const bool late = broke && broke->cause() == net_errc::timed_out;
    throw chat_failure(late ? chat_errc::timed_out : chat_errc::cut_off,
                       peer + ": the connection ended before the answer was complete" +
                           (broke ? ": " + std::string(broke->what()) : ""));
  }
  co_return assembly.finish(peer);
}

inline awaitable<chat_reply> read_whole(std::shared_ptr<completions_core> core, http_exchange& answer,
                                        const chat_request& what) {
  const std::string peer = core->peer();
  const bytes body = co_await answer.read_all(core->options().max_answer());
  const std::optional<boost::json::value> value = read_json(as_text(body));
  const boost::json::object* const object = value ? value->if_object() : nullptr;
  if (object == nullptr)
    throw chat_failure(chat_errc::bad_answer,
                       peer + ": the answer is not a JSON object; check that the base URL is that of an API");
  if (const boost::json::value* const wrong = member(*object, "error"); wrong != nullptr && !wrong->is_null()) {
    service_complaint complaint;
    complaint.take(*object);
    complaint.message = core->clean(complaint.message);
    const chat_errc why = complains_of_length(complaint) ? chat_errc::context_overflow : chat_errc::service_failed;
    throw chat_failure(why, complaint_sentence(peer, 0, why, complaint));
  }
  completion_assembly assembly(core->options().max_answer());
  assembly.add(*object, what.on_delta());
  co_return assembly.finish(peer);
}

inline awaitable<completion_attempt> attempt_completion(std::shared_ptr<completions_core> core,
                                                        const chat_request& what, const std::string& body,
                                                        unsigned number) {
  completion_attempt result;
  bool told = false;
  const std::string peer = core->peer();
  try {
    http_limits limits = core->client().limits();
    limits.connect(std::chrono::seconds(15)).head(std::nullopt).idle(core->options().idle_timeout());
    http_request request = core->request(body, static_cast<bool>(what.on_delta()), number);
    http_exchange answer = co_await core->client().send(std::move(request), limits);
    if (answer.head().ok()) {
      const std::string_view type = answer.head().fields.find("Content-Type").value_or("");
      if (says(type, "text/event-stream")) {
        result.reply = co_await read_streamed(core, answer, what, told);
      } else {
        result.reply = co_await read_whole(core, answer, what);
      }
      co_return result;
    }
    constexpr std::size_t max_complaint = 256 * 1024;
    const bytes text = co_await answer.read_all(max_complaint);
    service_complaint complaint = service_complaint::read(core->clean(as_text(text)));
    // Secrets are removed a second time. The first time, JSON escapes in the body could have hidden a secret.
    complaint.message = core->clean(complaint.message);
    const int status = answer.status();
    const chat_errc why = classify(status, complaint);
    result.failure = chat_failure(why, complaint_sentence(peer, status, why, complaint));
    result.may_repeat = worth_a_retry(status, why, answer.head().fields);
    result.wait = asked_wait(answer.head().fields, std::time(nullptr));
  } catch (const error& failure) {
    if (failure.code() == exec_errc::cancelled || failure.code() == exec_errc::environment_closed) throw;
    result.failure = failure;
    const std::error_code cause = failure.cause();
    if (cause.category() == chat_error_category()) {
      result.may_repeat = !told && (cause == chat_errc::cut_off || cause == chat_errc::service_failed);
    } else if (failure.code() == exec_errc::io_error) {
      const chat_errc why = cause == net_errc::timed_out ? chat_errc::timed_out : chat_errc::cut_off;
      result.failure = chat_failure(why, core->clean(failure.what()));
      result.may_repeat = !told && cause != net_errc::timed_out;
    }
  }
  co_return result;
}

inline awaitable<chat_reply> ask_completion(std::shared_ptr<completions_core> core, const chat_request& what) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const std::string body = core->body(what);
  const chat_completions_options& options = core->options();
  for (unsigned number = 0;; ++number) {
    completion_attempt result = co_await attempt_completion(core, what, body, number);
    if (result.reply) co_return std::move(*result.reply);
    if (!result.may_repeat || number >= options.max_retries()) throw *result.failure;
    std::chrono::milliseconds pause =
        std::min(options.retry_pause() * (1U << std::min(number, 10U)), std::chrono::milliseconds(8000));
    pause -= pause * static_cast<long>(random_number() % 25U) / 100;
    if (result.wait) pause = *result.wait;
    if (pause > options.max_wait())
      throw error(static_cast<exec_errc>(result.failure->code().value()),
                  std::string(result.failure->what()) + "; the service asks to wait " +
                      std::to_string(pause.count() / 1000) +
                      " s before the next request, which is longer than max_wait",
                  result.failure->cause());
    co_await sleep_for(pause, "the request to the model was cancelled");
  }
}

inline awaitable<chat_reply> complete_in_time(std::shared_ptr<completions_core> core, chat_request what) {
  try {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, core->options().timeout());
    auto both = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, ask_completion(core, what), detail::deferred), timer.async_wait(detail::deferred));
    auto result = co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    auto& [order, failure, reply, rang] = result;
    if (failure && order[0] == 1 && !rang)
      throw chat_failure(chat_errc::timed_out, core->peer() + ": no complete answer within " +
                                                   std::to_string(core->options().timeout().count() / 1000) + " s");
    if (failure) std::rethrow_exception(failure);
    co_return std::move(reply);
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    rethrow_cancellation(failure, "the request to the model was cancelled");
  }
}

}  // namespace detail

COFFERDAM_DECL chat_completions_client::chat_completions_client(asio::any_io_executor executor,
                                                                chat_completions_options options)
    : core_(std::make_shared<detail::completions_core>(std::move(executor), std::move(options))) {}

COFFERDAM_DECL awaitable<chat_reply> chat_completions_client::chat(chat_request request) {
  return detail::complete_in_time(core_, std::move(request));
}

COFFERDAM_DECL std::string chat_completions_client::base_url() const { return core_->peer(); }

COFFERDAM_DECL const std::string& chat_completions_client::model() const noexcept { return core_->options().model(); }

COFFERDAM_DECL awaitable<void> chat_completions_client::close() { return core_->client().close(); }

}  // namespace cofferdam::inline COFFERDAM_ABI
