// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/undumped_text.hpp>
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

namespace cofferdam::inline v0 {

/// Which service a `chat_completions_client` asks, for which model, and how:
///
///     chat_completions_options("gpt-5-mini")                                        // as the environment says
///     chat_completions_options("qwen3").base_url("http://localhost:11434/v1")       // a server of one's own
///
/// What is not set here comes from the environment, as with the official clients: `OPENAI_API_KEY`, `OPENAI_BASE_URL`,
/// `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID`, `OPENAI_CUSTOM_HEADERS` (lines of `Name: value`). Where no key and no URL is given
/// and `OPENROUTER_API_KEY` is set, OpenRouter is asked. An empty variable counts as unset. Keys are taken from the
/// environment only for the URL that goes with them: a `base_url` set here gets no key but one set here, unless
/// `key_from_environment()` says so.
/// \par Source  OpenAI's API reference, "Chat Completions".
class chat_completions_options {
 public:
  /// \param model  as the service calls it; not empty.
  explicit chat_completions_options(std::string model) : model_(std::move(model)) {
    if (model_.empty()) throw error(errc::invalid_argument, "chat_completions_options: the model has no name");
  }

  /// Up to and with `/v1`, as a rule; `/chat/completions` is added.
  chat_completions_options& base_url(std::string url) & {
    base_url_ = std::move(url);
    return *this;
  }
  chat_completions_options&& base_url(std::string url) && { return std::move(base_url(std::move(url))); }
  /// Sent as a bearer token, and never shown. Empty: none is sent.
  chat_completions_options& api_key(std::string key) & {
    api_key_ = undumped_text(std::move(key));
    return *this;
  }
  chat_completions_options&& api_key(std::string key) && { return std::move(api_key(std::move(key))); }
  /// Sends the environment's key to the URL that `base_url` says.
  chat_completions_options& key_from_environment() & {
    key_from_environment_ = true;
    return *this;
  }
  chat_completions_options&& key_from_environment() && { return std::move(key_from_environment()); }
  /// One more field for each request. \throws as `http_field`.
  chat_completions_options& header(std::string name, std::string value) & {
    headers_.set(std::move(name), std::move(value));
    return *this;
  }
  chat_completions_options&& header(std::string name, std::string value) && {
    return std::move(header(std::move(name), std::move(value)));
  }
  /// Members for each request's body, which replace ours: `{"reasoning_effort": "high"}`.
  chat_completions_options& extra_body(boost::json::object members) & {
    extra_body_ = std::move(members);
    return *this;
  }
  chat_completions_options&& extra_body(boost::json::object members) && {
    return std::move(extra_body(std::move(members)));
  }
  /// The most tokens of an answer where the request does not say.
  chat_completions_options& max_output_tokens(std::uint64_t most) & {
    most_output_ = most;
    return *this;
  }
  chat_completions_options&& max_output_tokens(std::uint64_t most) && { return std::move(max_output_tokens(most)); }
  /// What the limit is called: "max_completion_tokens" as it is made; older servers know "max_tokens".
  chat_completions_options& token_limit_field(std::string name) & {
    token_limit_field_ = std::move(name);
    return *this;
  }
  chat_completions_options&& token_limit_field(std::string name) && {
    return std::move(token_limit_field(std::move(name)));
  }
  /// The role of system messages: "system" as it is made; some models want "developer".
  chat_completions_options& system_role(std::string name) & {
    system_role_ = std::move(name);
    return *this;
  }
  chat_completions_options&& system_role(std::string name) && { return std::move(system_role(std::move(name))); }
  /// Sends back what the model has thought, as `reasoning_content`, for services that want that.
  chat_completions_options& send_reasoning() & {
    send_reasoning_ = true;
    return *this;
  }
  chat_completions_options&& send_reasoning() && { return std::move(send_reasoning()); }
  /// Does not send `parallel_tool_calls`, which some servers refuse.
  chat_completions_options& without_parallel_tool_calls_field() & {
    parallel_field_ = false;
    return *this;
  }
  chat_completions_options&& without_parallel_tool_calls_field() && {
    return std::move(without_parallel_tool_calls_field());
  }
  /// How often a request is sent again after a failure that may pass. 2 as it is made.
  chat_completions_options& max_retries(unsigned times) & {
    max_retries_ = times;
    return *this;
  }
  chat_completions_options&& max_retries(unsigned times) && { return std::move(max_retries(times)); }
  /// The pause before the first retry, which doubles up to 8 s. 500 ms as it is made.
  chat_completions_options& retry_pause(std::chrono::milliseconds first) & {
    retry_pause_ = first;
    return *this;
  }
  chat_completions_options&& retry_pause(std::chrono::milliseconds first) && { return std::move(retry_pause(first)); }
  /// The longest that a service may make us wait before a retry. 120 s as it is made; a longer one fails at once.
  chat_completions_options& longest_wait(std::chrono::milliseconds most) & {
    longest_wait_ = most;
    return *this;
  }
  chat_completions_options&& longest_wait(std::chrono::milliseconds most) && { return std::move(longest_wait(most)); }
  /// For an answer, retries and all. 10 minutes as it is made; more than zero.
  chat_completions_options& timeout(std::chrono::milliseconds limit) & {
    timeout_ = positive(limit);
    return *this;
  }
  chat_completions_options&& timeout(std::chrono::milliseconds limit) && { return std::move(timeout(limit)); }
  /// Between two pieces of a streamed answer. 120 s as it is made; more than zero.
  chat_completions_options& idle_timeout(std::chrono::milliseconds limit) & {
    idle_timeout_ = positive(limit);
    return *this;
  }
  chat_completions_options&& idle_timeout(std::chrono::milliseconds limit) && { return std::move(idle_timeout(limit)); }
  /// How TLS servers are verified.
  chat_completions_options& tls(tls_settings settings) & {
    tls_ = std::move(settings);
    return *this;
  }
  chat_completions_options&& tls(tls_settings settings) && { return std::move(tls(std::move(settings))); }
  /// Bytes of an answer. 16 MiB as it is made.
  chat_completions_options& largest_answer(std::size_t bytes) & {
    largest_answer_ = bytes;
    return *this;
  }
  chat_completions_options&& largest_answer(std::size_t bytes) && { return std::move(largest_answer(bytes)); }

  const std::string& model() const noexcept { return model_; }
  const http_fields& headers() const noexcept { return headers_; }
  const boost::json::object& extra_body() const noexcept { return extra_body_; }
  std::optional<std::uint64_t> max_output_tokens() const noexcept { return most_output_; }
  const std::string& token_limit_field() const noexcept { return token_limit_field_; }
  const std::string& system_role() const noexcept { return system_role_; }
  bool sends_reasoning() const noexcept { return send_reasoning_; }
  bool sends_parallel_field() const noexcept { return parallel_field_; }
  unsigned max_retries() const noexcept { return max_retries_; }
  std::chrono::milliseconds retry_pause() const noexcept { return retry_pause_; }
  std::chrono::milliseconds longest_wait() const noexcept { return longest_wait_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  std::chrono::milliseconds idle_timeout() const noexcept { return idle_timeout_; }
  const tls_settings& tls() const noexcept { return tls_; }
  std::size_t largest_answer() const noexcept { return largest_answer_; }

  /// What is sent to where, the environment looked at: the URL, the key, the fields. Called once, by the client.
  /// \param variable  yields an environment variable, empty where it is not set.
  template <class Variable>
  void resolve(Variable&& variable) {
    const bool own_url = base_url_.has_value();
    std::string url = own_url ? *base_url_ : variable("OPENAI_BASE_URL");
    const bool url_of_environment = !own_url && !url.empty();
    const bool may_take_key = !api_key_ && (!own_url || key_from_environment_);
    undumped_text key = api_key_.value_or(undumped_text());
    if (may_take_key) {
      key = undumped_text(variable("OPENAI_API_KEY"));
      if (key.empty() && !own_url && !url_of_environment) {
        key = undumped_text(variable("OPENROUTER_API_KEY"));
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
  /// After `resolve`.
  const std::string& resolved_url() const { return base_url_.value(); }
  std::string_view resolved_key() const { return api_key_.value().view(); }

 private:
  static std::chrono::milliseconds positive(std::chrono::milliseconds limit) {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "chat_completions_options: a time limit must be longer than zero");
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
        throw error(errc::invalid_argument, "OPENAI_CUSTOM_HEADERS has a line that is not 'Name: value'");
      headers_.set(std::string(line.substr(0, colon)), std::string(line.substr(colon + 1)));
    }
  }

  std::string model_;
  std::optional<std::string> base_url_;
  std::optional<undumped_text> api_key_;
  http_fields headers_;
  boost::json::object extra_body_;
  std::optional<std::uint64_t> most_output_;
  std::string token_limit_field_ = "max_completion_tokens";
  std::string system_role_ = "system";
  bool key_from_environment_ = false;
  bool send_reasoning_ = false;
  bool parallel_field_ = true;
  unsigned max_retries_ = 2;
  std::chrono::milliseconds retry_pause_{500};
  std::chrono::milliseconds longest_wait_{120'000};
  std::chrono::milliseconds timeout_{600'000};
  std::chrono::milliseconds idle_timeout_{120'000};
  tls_settings tls_;
  std::size_t largest_answer_ = std::size_t{16} * 1024 * 1024;
};

}  // namespace cofferdam::inline v0
