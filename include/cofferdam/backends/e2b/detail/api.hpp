// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/detail/account.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/sandbox_filter.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/core/sleep.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/version.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The User-Agent field of all requests. It must not resemble that of a browser, because the proxies of the service
/// send HTML pages to browsers.
inline constexpr std::string_view user_agent = "cofferdam-e2b/0.1";

/// Waits until the time `until`, for example before a call is repeated. Throws error{exec_errc::cancelled} if the
/// awaiting coroutine is cancelled.
/// \param doing  the purpose of the API call that waits; it is part of the error's message.
inline awaitable<void> rest(std::chrono::steady_clock::time_point until, const char* doing) {
  return cofferdam::detail::sleep_until(until, std::string("e2b: cannot ") + doing + ": cancelled while waiting");
}

/// The pauses between the attempts of one call. Each pause is twice as long as the previous one, minus a random part,
/// and all attempts together have a time limit.
class back_off {
 public:
  using clock = std::chrono::steady_clock;

  back_off(std::chrono::milliseconds first, std::chrono::milliseconds limit)
      : pause_(first), end_(clock::now() + limit) {}

  clock::time_point end() const noexcept { return end_; }
  std::chrono::milliseconds left() const {
    return std::max(std::chrono::milliseconds(1), std::chrono::ceil<std::chrono::milliseconds>(end_ - clock::now()));
  }

  /// Returns the time of the next attempt; no value if there were three retries, or the time would be after the time
  /// limit of the call.
  /// \param asked  the pause that the service requests; no value if it requests none.
  std::optional<clock::time_point> again(std::optional<std::chrono::seconds> asked) {
    if (++tries_ > max_tries) return std::nullopt;
    // The pause is between half and all of its length, so that many clients do not repeat their calls at the same time.
    const auto half = std::max<std::chrono::milliseconds::rep>(pause_.count() / 2, 0);
    const auto jitter = static_cast<std::chrono::milliseconds::rep>(cofferdam::detail::random_number() %
                                                                    (static_cast<std::uint64_t>(half) + 1));
    std::chrono::milliseconds wait(pause_.count() - half + jitter);
    if (asked) wait = *asked + std::chrono::milliseconds(jitter);
    pause_ *= 2;
    const clock::time_point when = clock::now() + wait;
    if (when >= end_) return std::nullopt;
    return when;
  }

 private:
  static constexpr int max_tries = 3;

  std::chrono::milliseconds pause_;
  clock::time_point end_;
  int tries_ = 0;
};

/// Returns the value of the response field `Retry-After`, in seconds; no value if there is none. A date is ignored, as
/// in E2B's SDKs.
inline std::optional<std::chrono::seconds> retry_after(const http_fields& fields) {
  const std::optional<std::string_view> text = fields.find("Retry-After");
  if (!text || text->empty() || text->size() > 7) return std::nullopt;
  int number = 0;
  for (const char c : *text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return std::chrono::seconds(number);
}

/// Returns the value of the response field `Should-Retry`, which takes precedence over the HTTP status when deciding
/// whether to repeat a call; no value if the response does not have this field.
inline std::optional<bool> should_retry(const http_fields& fields) {
  const std::optional<std::string_view> text = fields.find("Should-Retry");
  if (!text) return std::nullopt;
  return cofferdam::detail::same_ignoring_case(*text, "true");
}

/// The state of a sandbox, as the service reports it. `unknown` means that the service gave no usable answer.
enum class presence { running, paused, gone, unknown };

/// A client of the service's API, which creates, finds and ends sandboxes. It is used on one executor. Many calls may
/// be under way at the same time.
class api {
 public:
  api(asio::any_io_executor executor, account who)
      : who_(std::move(who)), client_(std::move(executor), who_.api().reach(who_.tls())) {
    redact_.hide(who_.key());
  }

  const account& who() const noexcept { return who_; }
  const redactor& redact() const noexcept { return redact_; }
  /// Hides the tokens of a sandbox in error messages from now on, because responses may quote them.
  void hide(const sandbox_info& info) {
    redact_.hide(info.access_token());
    redact_.hide(info.traffic_token());
  }

  /// Sends a request. Repeats the request if the service was too busy for it, or if the request failed and may be
  /// executed twice.
  /// \param doing  the purpose of the call, such as `create a sandbox`. The text must outlive the call.
  /// \param fine   HTTP statuses that count as success, besides 200 to 299.
  /// \param key    the value of the field `Idempotency-Key`, by which the service recognizes repeated attempts. Empty
  ///               means no such field.
  /// \param doubt  is set to true if the service may have executed a failed attempt. May be null. The caller keeps the
  ///               variable until the awaitable completes.
  /// \throws the error of `refused_error`.
  /// \throws error{exec_errc::provider_failed} if the service cannot be reached.
  /// \throws error{exec_errc::cancelled} if the coroutine is cancelled.
  awaitable<http_response> ask(std::string method, std::string path, std::optional<boost::json::object> body,
                               const char* doing, std::vector<int> fine, std::string key = std::string(),
                               bool* doubt = nullptr) {
    back_off pauses(who_.options().first_pause, who_.options().request_timeout);
    for (;;) {
      http_request what(method, who_.api().prefix() + path);
      what.secret_field("X-API-KEY", who_.key()).field("User-Agent", std::string(user_agent));
      if (body) what.content("application/json", boost::json::serialize(*body));
      if (!key.empty()) what.field("Idempotency-Key", key);
      cofferdam::detail::http_limits limits;
      limits.connect(std::min(pauses.left(), std::chrono::milliseconds(30'000)));
      limits.head(pauses.left()).idle(pauses.left()).body(max_answer);
      const bool repeatable = what.is_idempotent();
      http_response answer;
      std::optional<error> failure;
      try {
        answer = co_await client_.request(std::move(what), std::move(limits));
      } catch (const error& reason) {
        if (reason.code() == exec_errc::cancelled || reason.code() == exec_errc::environment_closed) throw;
        failure = error(exec_errc::provider_failed,
                        std::string("e2b: cannot ") + doing + ": " + redact_.clean(reason.what()), reason.cause());
      }
      std::optional<std::chrono::steady_clock::time_point> when;
      if (failure) {
        if (doubt != nullptr) *doubt = true;
        if (repeatable) when = pauses.again(std::nullopt);
        if (!when) throw *failure;
      } else {
        const int status = answer.status();
        if (answer.ok() || std::find(fine.begin(), fine.end(), status) != fine.end()) co_return answer;
        const std::string message = redact_.clean(said_message(redact_.clean(answer.text())));
        const bool full = message.find("maximum number of concurrent") != std::string::npos;
        // With these two statuses, the service has not executed the request.
        const bool busy = (status == 429 && !full) || status == 503;
        const bool broken = status == 500 || status == 502 || status == 504;
        const bool usual = busy || (broken && repeatable);
        if (should_retry(answer.head().fields).value_or(usual)) when = pauses.again(retry_after(answer.head().fields));
        const error refused = refused_error(doing, status, message);
        // The message begins with "idempotency_" if an earlier attempt with the same `Idempotency-Key` was executed, or
        // is still under way.
        if (doubt != nullptr && (leaves_in_doubt(refused) || message.starts_with("idempotency_"))) *doubt = true;
        if (!when) throw refused;
      }
      co_await rest(*when, doing);
    }
  }

  /// Parses the body of a response as a JSON object.
  boost::json::object object_of(const http_response& answer, const char* doing) const {
    return cofferdam::detail::parse_object(answer.text(), exec_errc::provider_failed,
                                           std::string("e2b: cannot ") + doing + ": the service's answer");
  }

  /// Creates a sandbox. If the call fails, the sandbox may exist nevertheless, and the caller must end it with
  /// `end_strays`.
  /// \param tag    a random number that is stored in the sandbox's metadata, so that `end_strays` finds the sandbox.
  /// \param doubt  is set to true if the sandbox may exist although the call has failed. May be null. The caller keeps
  ///               the variable until the awaitable completes.
  awaitable<sandbox_info> create(create_options options, std::string tag, bool* doubt) {
    constexpr const char* doing = "create a sandbox";
    if (who_.options().rate_limit) {
      const auto when = who_.options().rate_limit->reserve();
      co_await rest(when, doing);
    }
    // All attempts have the same `Idempotency-Key`, so that a service that supports this field creates only one
    // sandbox.
    const std::string key = "cofferdam-" + tag;
    options.metadata["cofferdam"] = std::move(tag);
    dialect chosen = who_.options().api_dialect == dialect::v2 ? dialect::v2 : dialect::v1;
    for (;;) {
      const std::string path = chosen == dialect::v2 ? "/v2/sandboxes" : "/sandboxes";
      const bool may_fall_back = chosen == dialect::v1 && who_.options().api_dialect == dialect::automatic;
      std::vector<int> fine;
      if (may_fall_back) fine = {400, 404, 405, 410};
      http_response answer = co_await ask("POST", path, options.body(chosen), doing, fine, key, doubt);
      if (answer.ok()) co_return info_of(answer, doing);
      if (!is_no_route(answer)) refuse(answer, doing);
      chosen = dialect::v2;
    }
  }

  /// Connects to a sandbox. If the sandbox is paused, it is resumed. The sandbox's remaining lifetime becomes at least
  /// `seconds`.
  /// \param stored  `files` starts a paused sandbox anew from its disk, even if its memory was stored.
  awaitable<sandbox_info> connect(std::string id, std::int64_t seconds,
                                  stored_state stored = stored_state::memory_and_files) {
    constexpr const char* doing = "connect to the sandbox";
    check_sandbox_id(id);
    boost::json::object body;
    body["timeout"] = seconds;
    if (stored == stored_state::files) body["memory"] = false;
    const dialect chosen = who_.options().api_dialect;
    std::vector<int> fine;
    if (chosen == dialect::automatic) fine = {400, 404, 405, 410};
    const std::string path = "/sandboxes/" + id + "/connect";
    const std::string first = chosen == dialect::v2 ? "/v2" + path : path;
    http_response answer = co_await ask("POST", first, body, doing, fine);
    if (!answer.ok()) {
      if (!is_no_route(answer)) refuse(answer, doing);
      answer = co_await ask("POST", "/v2" + path, body, doing, std::vector<int>());
    }
    co_return info_of(answer, doing);
  }

  /// Ends a sandbox.
  /// \return  false if there is no such sandbox.
  awaitable<bool> kill(std::string id) {
    check_sandbox_id(id);
    static const std::vector<int> fine{404};
    http_response answer = co_await ask("DELETE", "/sandboxes/" + id, std::nullopt, "end the sandbox", fine);
    co_return answer.status() != 404;
  }

  /// Pauses a sandbox.
  /// \return  false if the sandbox is already paused.
  /// \throws error{exec_errc::unsupported} if the service cannot pause it.
  awaitable<bool> pause(std::string id, pause_options options) {
    check_sandbox_id(id);
    constexpr const char* doing = "pause the sandbox";
    static const std::vector<int> fine{409};
    boost::json::object body;
    if (options.stored == stored_state::files) body["memory"] = false;
    if (options.strict) body["requireHealthyGuest"] = true;
    const http_response answer = co_await ask("POST", "/sandboxes/" + id + "/pause", std::move(body), doing, fine);
    if (answer.status() != 409) co_return true;
    // The service answers 409 for a sandbox that is already paused, and the gateway also where nothing can pause.
    const presence found = co_await presence_of(id);
    if (found == presence::paused) co_return false;
    const std::string message = redact_.clean(said_message(redact_.clean(answer.text())));
    if (message.starts_with("unsupported: ")) throw refused_error(doing, 501, message.substr(13));
    throw refused_error(doing, 409, message);
  }

  /// Sets the remaining lifetime of a sandbox, in seconds.
  awaitable<void> set_lifetime(std::string id, std::int64_t seconds) {
    check_sandbox_id(id);
    boost::json::object body;
    body["timeout"] = seconds;
    co_await ask("POST", "/sandboxes/" + id + "/timeout", std::move(body), "extend the lifetime of the sandbox",
                 std::vector<int>());
  }

  awaitable<sandbox_info> look(std::string id) {
    check_sandbox_id(id);
    constexpr const char* doing = "inspect the sandbox";
    http_response answer = co_await ask("GET", "/sandboxes/" + id, std::nullopt, doing, std::vector<int>());
    co_return info_of(answer, doing);
  }

  /// Returns the state of a sandbox that could not be reached. The only exception is error{exec_errc::cancelled}.
  awaitable<presence> presence_of(std::string id) {
    if (who_.is_debug()) co_return presence::gone;
    static const std::vector<int> fine{404};
    try {
      http_response answer = co_await ask("GET", "/sandboxes/" + id, std::nullopt, "inspect the sandbox", fine);
      if (answer.status() == 404) co_return presence::gone;
      const sandbox_info info = info_of(answer, "inspect the sandbox");
      co_return info.state() == "paused" ? presence::paused : presence::running;
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
    }
    co_return presence::unknown;
  }

  /// Replaces the rules for the outgoing connections of a sandbox.
  awaitable<void> update_network(std::string id, network_rules rules, std::optional<bool> allow_internet) {
    check_sandbox_id(id);
    boost::json::object body = rules.fields(false);
    if (allow_internet) body["allow_internet_access"] = *allow_internet;
    co_await ask("PUT", "/sandboxes/" + id + "/network", std::move(body), "change the network rules of the sandbox",
                 std::vector<int>());
  }

  /// Creates copies of a sandbox.
  /// \return  for each copy, the information about it, or the reason why it was not started.
  awaitable<std::vector<std::variant<sandbox_info, error>>> fork(std::string id, std::size_t count,
                                                                 std::int64_t seconds) {
    check_sandbox_id(id);
    constexpr const char* doing = "copy the sandbox";
    boost::json::object body;
    body["timeout"] = seconds;
    body["count"] = count;
    http_response answer =
        co_await ask("POST", "/sandboxes/" + id + "/fork", std::move(body), doing, std::vector<int>());
    std::vector<std::variant<sandbox_info, error>> copies;
    for (const boost::json::object& each : objects_of(answer, doing)) {
      const boost::json::object* const made = cofferdam::detail::object_at(each, "sandbox");
      const boost::json::object* const failure = cofferdam::detail::object_at(each, "error");
      const sandbox_info info = made != nullptr ? sandbox_info(*made) : sandbox_info();
      if (is_sandbox_id(info.id())) {
        copies.emplace_back(info);
        continue;
      }
      const std::string said(failure != nullptr ? cofferdam::detail::text_at(*failure, "message") : std::string_view());
      const std::int64_t code = failure != nullptr ? cofferdam::detail::number_at(*failure, "code").value_or(500) : 500;
      copies.emplace_back(
          refused_error(doing, code >= 100 && code < 600 ? static_cast<int>(code) : 500, redact_.clean(said)));
    }
    co_return copies;
  }

  /// Returns measurements of a sandbox's load.
  /// \param from, to  the time range, in seconds since 1970; absent: the default of the service.
  awaitable<std::vector<sandbox_metrics>> metrics(std::string id, std::optional<std::int64_t> from,
                                                  std::optional<std::int64_t> to) {
    check_sandbox_id(id);
    constexpr const char* doing = "read the sandbox's metrics";
    std::string path = "/sandboxes/" + id + "/metrics";
    if (from) path += "?start=" + std::to_string(*from);
    if (to) path += (from ? "&end=" : "?end=") + std::to_string(*to);
    http_response answer = co_await ask("GET", std::move(path), std::nullopt, doing, std::vector<int>());
    std::vector<sandbox_metrics> result;
    for (const boost::json::object& each : objects_of(answer, doing)) result.emplace_back(each);
    co_return result;
  }

  awaitable<std::vector<sandbox_log_line>> logs(std::string id) {
    check_sandbox_id(id);
    constexpr const char* doing = "read the sandbox's log";
    http_response answer = co_await ask("GET", "/v2/sandboxes/" + id + "/logs?limit=1000&direction=backward",
                                        std::nullopt, doing, std::vector<int>());
    const boost::json::object response = object_of(answer, doing);
    std::vector<sandbox_log_line> log_lines;
    const boost::json::array* const lines = cofferdam::detail::array_at(response, "logs");
    if (lines == nullptr)
      throw error(exec_errc::provider_failed, std::string("e2b: cannot ") + doing + ": the answer contains no log");
    for (const boost::json::value& each : *lines)
      if (const boost::json::object* const line = each.if_object()) log_lines.emplace_back(*line);
    std::reverse(log_lines.begin(), log_lines.end());
    co_return log_lines;
  }

  awaitable<std::string> snapshot(std::string id, snapshot_options options) {
    check_sandbox_id(id);
    constexpr const char* doing = "take a snapshot of the sandbox";
    boost::json::object body;
    if (!options.name.empty()) body["name"] = cofferdam::detail::json_text(options.name);
    if (options.stored == stored_state::files) body["memory"] = false;
    http_response answer =
        co_await ask("POST", "/sandboxes/" + id + "/snapshots", std::move(body), doing, std::vector<int>());
    const boost::json::object response = object_of(answer, doing);
    std::string name(cofferdam::detail::text_at(response, "snapshotID"));
    if (name.empty())
      throw error(exec_errc::provider_failed,
                  std::string("e2b: cannot ") + doing + ": the answer contains no snapshotID");
    co_return name;
  }

  /// Returns the snapshots of the account.
  /// \param id  the id of a sandbox, for the snapshots of this sandbox only; empty for all.
  awaitable<std::vector<snapshot_info>> snapshots(std::string id) {
    constexpr const char* doing = "list the snapshots";
    std::string query = "limit=100";
    if (!id.empty()) {
      check_sandbox_id(id);
      query += "&sandboxID=" + id;
    }
    std::vector<snapshot_info> found;
    const auto takes = [&found](const boost::json::object& each) {
      found.emplace_back(each);
      return true;
    };
    co_await pages("/snapshots?" + query, doing, takes);
    co_return found;
  }

  /// Deletes a snapshot.
  /// \return  false if there is no such snapshot.
  awaitable<bool> delete_snapshot(std::string id) {
    static const std::vector<int> fine{404};
    http_response answer = co_await ask("DELETE", "/templates/" + cofferdam::detail::percent_encoded(id), std::nullopt,
                                        "delete the snapshot", fine);
    co_return answer.status() != 404;
  }

  /// Returns the sandboxes of the account that a filter selects.
  awaitable<std::vector<sandbox_info>> list(sandbox_filter filter) {
    constexpr const char* doing = "list the sandboxes";
    std::vector<sandbox_info> sandboxes;
    const auto takes = [&sandboxes, &filter](const boost::json::object& each) {
      if (sandboxes.size() < filter.max_count) sandboxes.emplace_back(each);
      return sandboxes.size() < filter.max_count;
    };
    const std::size_t page = std::clamp<std::size_t>(filter.max_count, 1, 100);
    co_await pages("/v2/sandboxes?" + filter.query() + "&limit=" + std::to_string(page), doing, takes);
    co_return sandboxes;
  }

  /// Ends a sandbox that a failed call of `create` may have left running.
  awaitable<void> end_strays(std::string tag) {
    sandbox_filter filter;
    filter.metadata["cofferdam"] = tag;
    std::vector<sandbox_info> left = co_await list(std::move(filter));
    for (const sandbox_info& info : left) {
      const auto found = info.metadata().find("cofferdam");
      if (found == info.metadata().end() || found->second != tag) continue;  // some services ignore the filter
      co_await kill(info.id());
    }
  }

  awaitable<void> close() { return client_.close(); }

 private:
  static constexpr std::size_t max_answer = std::size_t{4} * 1024 * 1024;
  static constexpr int max_pages = 1000;

  /// Returns true if a call failed because the service does not support this form of the call. Returns false if it
  /// failed because the sandbox or template does not exist.
  static bool is_no_route(const http_response& answer) {
    const int status = answer.status();
    if (status == 405 || status == 410) return true;
    const std::string message = said_message(answer.text());
    const auto says = [&](std::string_view words) { return message.find(words) != std::string::npos; };
    if (status == 404) return !says("andbox") && !says("emplate") && !says("tag '");
    return status == 400 && (says("method not allowed") || says("no matching operation"));
  }

  /// Reads a list that the service sends in several pages.
  /// \param path   the request's path, with a query.
  /// \param takes  gets each JSON object, and returns false after the last one that is needed. The caller keeps it
  ///               until the awaitable completes.
  template <class Takes>
  awaitable<void> pages(std::string path, const char* doing, const Takes& takes) {
    std::string next;
    for (int page = 0; page < max_pages; ++page) {
      http_response answer = co_await ask("GET", path + next, std::nullopt, doing, std::vector<int>());
      for (const boost::json::object& each : objects_of(answer, doing))
        if (!takes(each)) co_return;
      const std::string_view token = answer.field("X-Next-Token").value_or(std::string_view());
      if (token.empty()) co_return;
      next = "&nextToken=" + cofferdam::detail::percent_encoded(token);
    }
  }

  [[noreturn]] void refuse(const http_response& answer, const char* doing) const {
    throw refused_error(doing, answer.status(), redact_.clean(said_message(redact_.clean(answer.text()))));
  }

  sandbox_info info_of(const http_response& answer, const char* doing) const {
    sandbox_info info(object_of(answer, doing));
    if (info.id().empty())
      throw error(exec_errc::provider_failed, std::string("e2b: cannot ") + doing + ": the answer has no sandboxID");
    check_sandbox_id(info.id());
    return info;
  }

  static std::vector<boost::json::object> objects_of(const http_response& answer, const char* doing) {
    std::error_code broken;
    boost::json::value value = cofferdam::detail::parse_untrusted_json(answer.text(), broken);
    boost::json::array* const array = broken ? nullptr : value.if_array();
    if (array == nullptr)
      throw error(exec_errc::provider_failed, std::string("e2b: cannot ") + doing + ": the answer is not a JSON array");
    std::vector<boost::json::object> objects;
    for (boost::json::value& each : *array)
      if (boost::json::object* const object = each.if_object()) objects.push_back(std::move(*object));
    return objects;
  }

  account who_;
  redactor redact_;
  cofferdam::detail::http_client client_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
