// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/core/worded_category.hpp>
#include <cofferdam/llm/chat_message.hpp>

#include <boost/json/object.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The reason why a model gave no usable answer. It is the `cause()` of the `error` that a `chat_model` throws; the
/// `code()` of this error is in parentheses below.
enum class chat_errc {
  context_overflow = 1,  ///< the conversation is longer than the model's context: send less (exec_errc::too_large)
  output_limit,          ///< the answer was cut off by the limit of output tokens (exec_errc::too_large)
  request_too_large,     ///< the request has more tokens or bytes than the service accepts in one request
                         ///< (exec_errc::too_large)
  not_authenticated,     ///< the API key is missing or wrong (exec_errc::permission_denied)
  not_permitted,         ///< the API key has no permission for this request (exec_errc::permission_denied)
  no_quota,              ///< no credit or quota is left, so waiting does not help (exec_errc::permission_denied)
  no_such_model,         ///< the model does not exist, or the base URL is wrong (exec_errc::not_found)
  rejected,              ///< the service does not accept the form of the request (exec_errc::invalid_argument)
  rate_limited,          ///< too many requests, even after the retries (exec_errc::provider_failed)
  service_failed,        ///< a failure of the service, even after the retries (exec_errc::provider_failed)
  filtered,              ///< a content filter of the service withheld the answer (exec_errc::provider_failed)
  bad_answer,            ///< the response is not a valid answer (exec_errc::io_error)
  cut_off,               ///< the connection was lost before the end of the answer (exec_errc::io_error)
  timed_out,             ///< the whole answer did not arrive within the time limit (exec_errc::io_error)
};

namespace detail {

class chat_words {
 public:
  static constexpr const char* name = "cofferdam.chat";
  static constexpr std::string_view message(int value) {
    switch (static_cast<chat_errc>(value)) {
      case chat_errc::context_overflow: return "the conversation is longer than the model's context";
      case chat_errc::output_limit: return "the answer was cut off by the output limit";
      case chat_errc::request_too_large: return "the request is larger than the service accepts";
      case chat_errc::not_authenticated: return "not authenticated";
      case chat_errc::not_permitted: return "not permitted";
      case chat_errc::no_quota: return "no quota left";
      case chat_errc::no_such_model: return "no such model or path";
      case chat_errc::rejected: return "the request was rejected";
      case chat_errc::rate_limited: return "too many requests";
      case chat_errc::service_failed: return "the service failed";
      case chat_errc::filtered: return "a content filter withheld the answer";
      case chat_errc::bad_answer: return "the answer cannot be read";
      case chat_errc::cut_off: return "the connection ended during the answer";
      case chat_errc::timed_out: return "no answer in time";
    }
    return "unknown chat error";
  }
};

}  // namespace detail

/// Returns the error category of `chat_errc`.
inline const std::error_category& chat_error_category() noexcept { return detail::category_of<detail::chat_words>(); }

/// Makes an error code from a `chat_errc`, so that a `chat_errc` converts to std::error_code.
inline std::error_code make_error_code(chat_errc value) noexcept {
  return {static_cast<int>(value), chat_error_category()};
}

}  // namespace cofferdam::inline COFFERDAM_ABI

template <>
struct std::is_error_code_enum<cofferdam::chat_errc> : std::true_type {};

namespace cofferdam::inline COFFERDAM_ABI {

/// Makes an error whose `cause()` is `why`. Its `code()` is the `exec_errc` that the comments of `chat_errc` list for
/// `why`.
/// \param why  the reason of the failure.
/// \param sentence  the message of the error.
inline error chat_failure(chat_errc why, std::string sentence) {
  exec_errc code = exec_errc::io_error;
  switch (why) {
    case chat_errc::context_overflow:
    case chat_errc::output_limit:
    case chat_errc::request_too_large: code = exec_errc::too_large; break;
    case chat_errc::not_authenticated:
    case chat_errc::not_permitted:
    case chat_errc::no_quota: code = exec_errc::permission_denied; break;
    case chat_errc::no_such_model: code = exec_errc::not_found; break;
    case chat_errc::rejected: code = exec_errc::invalid_argument; break;
    case chat_errc::rate_limited:
    case chat_errc::service_failed:
    case chat_errc::filtered: code = exec_errc::provider_failed; break;
    case chat_errc::bad_answer:
    case chat_errc::cut_off:
    case chat_errc::timed_out: break;
  }
  return error(code, std::move(sentence), why);
}

/// A tool as it is described to a model: its name, its purpose and its parameters.
class chat_tool {
 public:
  chat_tool() = default;
  /// \param name         1 to 64 characters of `[A-Za-z0-9_-]`.
  /// \param description  the purpose of the tool, as a text for the model.
  /// \param parameters   a JSON schema of type "object".
  chat_tool(std::string name, std::string description, boost::json::object parameters)
      : name_(std::move(name)), description_(std::move(description)), parameters_(std::move(parameters)) {}

  /// Returns the name of the tool.
  const std::string& name() const noexcept { return name_; }
  /// Returns the purpose of the tool, as a text for the model.
  const std::string& description() const noexcept { return description_; }
  /// Returns the JSON schema of the arguments.
  const boost::json::object& parameters() const noexcept { return parameters_; }

 private:
  std::string name_;
  std::string description_;
  boost::json::object parameters_;
};

/// The tool calls that a model may make in its answer.
enum class chat_tool_choice {
  automatic,  ///< none, one or several calls
  required,   ///< at least one call
  none,       ///< no calls, only text
};

/// The part of an answer to which a piece of the answer belongs.
enum class chat_delta_kind {
  text,       ///< the text of the answer
  reasoning,  ///< the reasoning of the model
  tool_call,  ///< the name of the tool in a call that has begun; the arguments of the call are not reported
};

/// A piece of an answer that is not complete yet. `text()` is valid only until the listener returns.
class chat_delta {
 public:
  /// Makes a piece of an answer. The text is not copied.
  chat_delta(chat_delta_kind kind, std::string_view text) : kind_(kind), text_(text) {}
  /// Returns the part of the answer to which the piece belongs.
  chat_delta_kind kind() const noexcept { return kind_; }
  /// Returns the text of the piece.
  std::string_view text() const noexcept { return text_; }

 private:
  chat_delta_kind kind_;
  std::string_view text_;
};

/// A request to a model: a conversation, the tools that the model may call, and settings. A value type.
class chat_request {
 public:
  /// A callable that receives an answer piece by piece; the reply contains the whole answer too. It must not throw. If
  /// a request fails before the first piece, a client may repeat it. After the first piece it does not repeat the
  /// request.
  using delta_listener = std::function<void(const chat_delta& piece)>;

  chat_request() = default;
  /// Starts with a conversation.
  explicit chat_request(std::vector<chat_message> messages) : messages_(std::move(messages)) {}

  /// Returns the conversation.
  const std::vector<chat_message>& messages() const noexcept { return messages_; }
  /// Adds a message at the end of the conversation.
  chat_request& add(chat_message message) {
    messages_.push_back(std::move(message));
    return *this;
  }

  /// Sets the tools that the model may call. The list is shared, because the same list is sent in every turn of a
  /// conversation.
  chat_request& tools(std::shared_ptr<const std::vector<chat_tool>> list) {
    tools_ = std::move(list);
    return *this;
  }
  chat_request& tools(std::vector<chat_tool> list) {
    return tools(std::make_shared<const std::vector<chat_tool>>(std::move(list)));
  }
  const std::vector<chat_tool>& tools() const noexcept {
    static const std::vector<chat_tool> none;
    return tools_ ? *tools_ : none;
  }

  /// Sets if the model may or must call tools. Default: `chat_tool_choice::automatic`.
  chat_request& tool_choice(chat_tool_choice which) {
    choice_ = which;
    return *this;
  }
  chat_tool_choice tool_choice() const noexcept { return choice_; }

  /// Sets the maximum number of tokens of the answer. Default: the limit of the client, otherwise that of the service.
  chat_request& max_output_tokens(std::uint64_t max_tokens) {
    max_output_ = max_tokens;
    return *this;
  }
  std::optional<std::uint64_t> max_output_tokens() const noexcept { return max_output_; }

  /// Sets the sampling temperature of the model; 0 gives the least random answers. Default: the setting of the service.
  chat_request& temperature(double value) {
    temperature_ = value;
    return *this;
  }
  std::optional<double> temperature() const noexcept { return temperature_; }

  /// Requests an answer that is JSON of this schema. A model may violate the schema, so check the answer.
  /// \param name    the name of the schema: 1 to 64 characters of `[A-Za-z0-9_-]`.
  /// \param schema  a JSON schema.
  chat_request& json_schema(std::string name, boost::json::object schema) {
    schema_name_ = std::move(name);
    schema_ = std::move(schema);
    return *this;
  }
  /// Returns the name that `json_schema` sets; empty if it was not called.
  const std::string& schema_name() const noexcept { return schema_name_; }
  /// Returns the schema that `json_schema` sets; absent if it was not called.
  const std::optional<boost::json::object>& schema() const noexcept { return schema_; }

  /// Sets a callable that receives the answer piece by piece, and so requests a streamed answer. g++ 12 does not
  /// compile a temporary lambda that captures by value: give the lambda a name first.
  chat_request& on_delta(detail::callable_argument<void(const chat_delta& piece)> listener) {
    on_delta_ = listener.take();
    return *this;
  }
  const delta_listener& on_delta() const noexcept { return on_delta_; }

 private:
  std::vector<chat_message> messages_;
  std::shared_ptr<const std::vector<chat_tool>> tools_;
  chat_tool_choice choice_ = chat_tool_choice::automatic;
  std::optional<std::uint64_t> max_output_;
  std::optional<double> temperature_;
  std::string schema_name_;
  std::optional<boost::json::object> schema_;
  delta_listener on_delta_;
};

/// The whole answer of a model: a message, its cost in tokens, and the reason why the answer ended.
class chat_reply {
 public:
  chat_reply() = default;
  /// Makes a reply with this message. The setters add the rest.
  explicit chat_reply(chat_message message) : message_(std::move(message)) {}

  /// Returns the answer as a message of the assistant, which can be added to the conversation unchanged.
  const chat_message& message() const noexcept { return message_; }
  /// Returns the text of the answer, without images and tool calls.
  std::string text() const { return message_.text(); }

  /// Returns the cost of the answer in tokens.
  const chat_usage& usage() const noexcept { return usage_; }
  chat_reply& usage(chat_usage tokens) {
    usage_ = tokens;
    return *this;
  }
  /// Returns the service's word for the reason why the answer ended, such as "stop" or "tool_calls". This is only a
  /// hint: use `message().tool_calls()` to find out if the model has called tools.
  const std::string& finish_reason() const noexcept { return finish_; }
  chat_reply& finish_reason(std::string word) {
    finish_ = std::move(word);
    return *this;
  }
  /// Returns the name that the service reports for the model that has answered; empty if the service reports none.
  const std::string& model() const noexcept { return model_; }
  chat_reply& model(std::string name) {
    model_ = std::move(name);
    return *this;
  }

 private:
  chat_message message_{chat_role::assistant, std::string()};
  chat_usage usage_;
  std::string finish_;
  std::string model_;
};

/// A type that answers conversations: a client of a service (`chat_completions_client`), or a model in this process.
///
/// `chat(request)` returns the whole answer. If the request has an `on_delta`, this callable receives the pieces before
/// `chat` returns. An answer that was cut off by a limit is a failure. A failure is an `error` with a `chat_errc` as
/// its `cause()`. A caller can usually handle the causes `context_overflow` and `output_limit`. If the awaiting
/// coroutine is cancelled (terminal), `chat` throws `error{exec_errc::cancelled}`. Many requests may be under way at
/// the same time, from coroutines of one executor.
template <class M>
concept chat_model = requires(M& model, chat_request request) {
  { model.chat(std::move(request)) } -> awaitable_of<chat_reply>;
};

/// A model of any type, chosen at run time. Each request costs one virtual call. Copies share the same model.
class any_chat_model {
 public:
  /// Makes an object without a model. `chat` throws `error{exec_errc::invalid_argument}`.
  any_chat_model() = default;

  /// Contains a model of any type.
  template <class M>
    requires(!std::same_as<M, any_chat_model> && chat_model<M>)
  explicit any_chat_model(M model) : inside_(std::make_shared<box<M>>(std::move(model))) {}

  awaitable<chat_reply> chat(chat_request request) { return keep(inside_, std::move(request)); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual awaitable<chat_reply> chat(chat_request request) = 0;
  };

  template <class M>
  class box final : public interface {
   public:
    explicit box(M model) : model_(std::move(model)) {}
    awaitable<chat_reply> chat(chat_request request) override { return model_.chat(std::move(request)); }

   private:
    M model_;
  };

  static awaitable<chat_reply> keep(std::shared_ptr<interface> inside, chat_request request);

  std::shared_ptr<interface> inside_;
};

namespace detail {

/// Returns the model as an `any_chat_model`, without another one around it.
template <chat_model M>
any_chat_model as_any_model(M model) {
  if constexpr (std::same_as<M, any_chat_model>) {
    return model;
  } else {
    return any_chat_model(std::move(model));
  }
}

}  // namespace detail

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/impl/chat_model.ipp>
#endif
