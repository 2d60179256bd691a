// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/tls.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// Options of a `chat_completions_client`: the service, the model and limits.
///
///     chat_completions_options("gpt-5-mini")                                     // service and key: see below
///     chat_completions_options("qwen3").base_url("http://localhost:11434/v1")    // a local server
///
/// As with OpenAI's clients, some settings come from environment variables: `OPENAI_API_KEY`, `OPENAI_BASE_URL`,
/// `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID`, `OPENAI_CUSTOM_HEADERS` (lines of `Name: value`). If there is neither a key
/// nor a URL, and `OPENROUTER_API_KEY` is set, the service is OpenRouter. An empty environment variable counts as not
/// set. A key from the environment is never sent to a URL that was set by `base_url`, unless `key_from_environment()`
/// was called: such a URL gets only a key that was set by `api_key`.
/// \par Source  OpenAI's API reference, "Chat Completions".
class chat_completions_options {
 public:
  /// \param model  the name of the model at the service; must not be empty.
  explicit chat_completions_options(std::string model) : model_(std::move(model)) {
    if (model_.empty())
      throw error(exec_errc::invalid_argument, "chat_completions_options: the name of the model is empty");
  }

  /// Sets the base URL of the service, usually up to and including `/v1`. The client appends `/chat/completions`.
  chat_completions_options& base_url(std::string url) {
    base_url_ = std::move(url);
    return *this;
  }
  /// Sets the API key. It is sent as a bearer token and never appears in messages. If it is empty, no key is sent.
  chat_completions_options& api_key(std::string key) {
    api_key_ = secret_string(std::move(key));
    return *this;
  }
  /// Permits to send the key from the environment to a URL that was set by `base_url`.
  chat_completions_options& key_from_environment() {
    key_from_environment_ = true;
    return *this;
  }
  /// Sets a header field that is sent with each request.
  /// \throws error{exec_errc::invalid_argument} if the name or the value is not valid in HTTP.
  chat_completions_options& header(std::string name, std::string value) {
    headers_.set(std::move(name), std::move(value));
    return *this;
  }
  /// Sets members that are added to the JSON body of each request, such as `{"reasoning_effort": "high"}`. They replace
  /// members of the same name.
  chat_completions_options& extra_body(boost::json::object members) {
    extra_body_ = std::move(members);
    return *this;
  }
  /// Sets the maximum number of tokens of an answer, for requests that do not set it. Default: the limit of the
  /// service.
  chat_completions_options& max_output_tokens(std::uint64_t max_tokens) {
    max_output_ = max_tokens;
    return *this;
  }
  /// Sets the name of the member for the token limit in requests. Default: "max_completion_tokens". Older servers need
  /// "max_tokens".
  chat_completions_options& token_limit_field(std::string name) {
    token_limit_field_ = std::move(name);
    return *this;
  }
  /// Sets the role of system messages in requests. Default: "system". Some models need "developer".
  chat_completions_options& system_role(std::string name) {
    system_role_ = std::move(name);
    return *this;
  }
  /// Sends the earlier reasoning of the model back to the service, as `reasoning_content`. Some services need this.
  chat_completions_options& send_reasoning() {
    send_reasoning_ = true;
    return *this;
  }
  /// Leaves the member `parallel_tool_calls` out of requests, because some servers refuse it.
  chat_completions_options& without_parallel_tool_calls_field() {
    parallel_field_ = false;
    return *this;
  }
  /// Sets the maximum number of retries after a temporary failure. Default: 2.
  chat_completions_options& max_retries(unsigned times) {
    max_retries_ = times;
    return *this;
  }
  /// Sets the pause before the first retry. It is doubled for each further retry, up to 8 s. Default: 500 ms.
  chat_completions_options& retry_pause(std::chrono::milliseconds first) {
    retry_pause_ = first;
    return *this;
  }
  /// Sets the longest pause before a retry that is acceptable. If the service requests a longer one, the request fails
  /// at once. Default: 120 s.
  chat_completions_options& max_wait(std::chrono::milliseconds limit) {
    max_wait_ = limit;
    return *this;
  }
  /// Sets the time limit for a whole answer, including retries. More than zero. Default: 10 minutes.
  chat_completions_options& timeout(std::chrono::milliseconds limit) {
    timeout_ = positive(limit);
    return *this;
  }
  /// Sets the maximum time between two pieces of a streamed answer. More than zero. Default: 120 s.
  chat_completions_options& idle_timeout(std::chrono::milliseconds limit) {
    idle_timeout_ = positive(limit);
    return *this;
  }
  /// Sets how the certificates of TLS servers are verified. Default: with the certificates of the system.
  chat_completions_options& tls(tls_settings settings) {
    tls_ = std::move(settings);
    return *this;
  }
  /// Sets the maximum size of an answer, in bytes. Default: 16 MiB.
  chat_completions_options& max_answer(std::size_t max_bytes) {
    max_answer_ = max_bytes;
    return *this;
  }

  /// Returns the name of the model.
  const std::string& model() const noexcept { return model_; }
  /// Returns the additional header fields.
  const http_fields& headers() const noexcept { return headers_; }
  const boost::json::object& extra_body() const noexcept { return extra_body_; }
  std::optional<std::uint64_t> max_output_tokens() const noexcept { return max_output_; }
  const std::string& token_limit_field() const noexcept { return token_limit_field_; }
  const std::string& system_role() const noexcept { return system_role_; }
  /// Returns true if the reasoning of earlier answers is sent back to the service.
  bool sends_reasoning() const noexcept { return send_reasoning_; }
  /// Returns true if requests have the field `parallel_tool_calls`.
  bool sends_parallel_field() const noexcept { return parallel_field_; }
  unsigned max_retries() const noexcept { return max_retries_; }
  std::chrono::milliseconds retry_pause() const noexcept { return retry_pause_; }
  std::chrono::milliseconds max_wait() const noexcept { return max_wait_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  std::chrono::milliseconds idle_timeout() const noexcept { return idle_timeout_; }
  const tls_settings& tls() const noexcept { return tls_; }
  std::size_t max_answer() const noexcept { return max_answer_; }

  /// Completes the URL, the key and the header fields from environment variables. The client calls this once.
  /// \param variable  a callable that takes the name of an environment variable and returns its value, or an empty text
  ///                  if the variable is not set.
  template <class Variable>
  void resolve(Variable&& variable) {
    const bool own_url = base_url_.has_value();
    std::string url = own_url ? *base_url_ : variable("OPENAI_BASE_URL");
    const bool url_of_environment = !own_url && !url.empty();
    const bool may_take_key = !api_key_ && (!own_url || key_from_environment_);
    secret_string key = api_key_.value_or(secret_string());
    if (may_take_key) {
      key = secret_string(variable("OPENAI_API_KEY"));
      if (key.empty() && !own_url && !url_of_environment) {
        key = secret_string(variable("OPENROUTER_API_KEY"));
        if (!key.empty()) url = "https://openrouter.ai/api/v1";
      }
      add_header("OpenAI-Organization", variable("OPENAI_ORG_ID"));
      add_header("OpenAI-Project", variable("OPENAI_PROJECT_ID"));
      add_lines(variable("OPENAI_CUSTOM_HEADERS"));
    }
    if (url.empty()) url = "https://api.openai.com/v1";
    base_url_ = std::move(url);
    api_key_ = std::move(key);
  }
  /// Returns the base URL. Call this only after `resolve`.
  const std::string& resolved_url() const { return base_url_.value(); }
  /// Returns the key, which is secret. Call this only after `resolve`.
  std::string_view resolved_key() const { return api_key_.value().reveal(); }

 private:
  static std::chrono::milliseconds positive(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(exec_errc::invalid_argument, "chat_completions_options: a time limit must be longer than zero");
    return limit;
  }
  void add_header(const char* name, std::string value) {
    if (!value.empty() && !headers_.find(name)) headers_.set(name, std::move(value));
  }
  void add_lines(std::string_view lines) {
    while (!lines.empty()) {
      const std::size_t end = lines.find('\n');
      std::string_view line = lines.substr(0, end);
      lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const std::size_t colon = line.find(':');
      if (line.empty()) continue;
      if (colon == std::string_view::npos)
        throw error(exec_errc::invalid_argument, "OPENAI_CUSTOM_HEADERS has a line that is not 'Name: value'");
      headers_.set(std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
    }
  }

  std::string model_;
  std::optional<std::string> base_url_;
  std::optional<secret_string> api_key_;
  http_fields headers_;
  boost::json::object extra_body_;
  std::optional<std::uint64_t> max_output_;
  std::string token_limit_field_ = "max_completion_tokens";
  std::string system_role_ = "system";
  bool key_from_environment_ = false;
  bool send_reasoning_ = false;
  bool parallel_field_ = true;
  unsigned max_retries_ = 2;
  std::chrono::milliseconds retry_pause_{500};
  std::chrono::milliseconds max_wait_{120'000};
  std::chrono::milliseconds timeout_{600'000};
  std::chrono::milliseconds idle_timeout_{120'000};
  tls_settings tls_;
  std::size_t max_answer_ = std::size_t{16} * 1024 * 1024;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
