// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/json_members.hpp>
#include <cofferdam/backends/e2b/api_error.hpp>
#include <cofferdam/backends/e2b/detail/api.hpp>
#include <cofferdam/backends/e2b/endpoint.hpp>
#include <cofferdam/backends/e2b/envd_version.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/secret.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/base64.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/connect_client.hpp>
#include <cofferdam/net/connect_error.hpp>
#include <cofferdam/net/http_client.hpp>
#include <cofferdam/net/http_limits.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/percent_encoding.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::e2b::detail {

/// The daemon in one sandbox: processes and files. Its coroutines share it.
class envd : public std::enable_shared_from_this<envd> {
 public:
  static constexpr std::uint16_t port = 49983;
  /// The longest message of a stream; the daemon's own hold 32 KiB of output.
  static constexpr std::size_t most_message = std::size_t{8} * 1024 * 1024;

  envd(asio::any_io_executor executor, std::shared_ptr<api> service, const sandbox_info& info, std::string user)
      : executor_(executor),
        service_(std::move(service)),
        redact_(service_->redact()),
        id_(info.id()),
        token_(info.access_token()),
        can_(info.envd_version()),
        user_(std::move(user)),
        base_(service_->who().sandbox(port, id_, info.domain())),
        client_(std::move(executor), base_.reach(service_->who().tls()), settings()) {
    redact_.hide(token_);
    redact_.hide(info.traffic_token());
    if (user_.empty() && !can_.has_default_user()) user_ = "user";
  }
  envd(const envd&) = delete;
  envd& operator=(const envd&) = delete;

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const std::string& id() const noexcept { return id_; }
  const std::string& user() const noexcept { return user_; }
  const secret& token() const noexcept { return token_; }
  const endpoint& base() const noexcept { return base_; }
  const envd_abilities& can() const noexcept { return can_; }
  const redactor& redact() const noexcept { return redact_; }
  std::chrono::milliseconds request_timeout() const { return service_->who().options().request_timeout; }

  /// Called once where the sandbox is lost.
  void on_lost(std::function<void(const error&)> tell) { tell_ = std::move(tell); }
  const std::optional<error>& lost() const noexcept { return lost_; }
  void lose(const error& reason) {
    if (lost_ || closed_) return;
    lost_ = reason;
    if (const auto tell = std::exchange(tell_, nullptr)) tell(reason);
  }

  /// From now on everything fails.
  void close() {
    closed_ = true;
    tell_ = nullptr;
  }
  awaitable<void> close_connections() { return client_.close(); }

  /// What a connect has changed.
  void renew(const sandbox_info& info) {
    if (!info.access_token().empty()) token_ = info.access_token();
    redact_.hide(token_);
  }

  // ---- calls ----

  /// A unary call. What the daemon refuses is an answer; a proxy's word that there is no such sandbox loses it.
  /// \param doing      `start a command`; outlives the call.
  /// \param limit      for the answer to begin; nothing: none.
  /// \param idempotent may be made twice.
  static awaitable<connect_answer> call(std::shared_ptr<envd> self, std::string path, boost::json::object message,
                                        const char* doing, std::optional<std::chrono::milliseconds> limit,
                                        bool idempotent) {
    back_off pauses(self->service_->who().options().first_pause, self->request_timeout());
    const std::string text = boost::json::serialize(message);
    connect_answer answer;
    for (;;) {
      self->require();
      http_request what = self->request("POST", path);
      if (idempotent) what.idempotent();
      what.field("User-Agent", std::string(user_agent));
      if (!self->user_.empty()) what.field("Authorization", authorization(self->user_));
      http_limits limits;
      limits.connect(self->connect_limit()).head(limit).body(most_message);
      std::optional<error> failure;
      try {
        answer = co_await connect_unary(self->client_, std::move(what), text, std::move(limits));
      } catch (const error& reason) {
        if (reason.code() == errc::cancelled) throw;
        failure = reason;
      }
      if (failure) {
        const error why = co_await self->explain(*failure, doing);
        throw why;
      }
      std::optional<std::chrono::steady_clock::time_point> when;
      if (answer.status() == 429) when = pauses.again(std::nullopt);  // nothing was done
      if (!when) break;
      co_await rest(*when, doing);
    }
    self->watch(answer);
    co_return answer;
  }

  /// An object for an answer.
  /// \throws error as `failed_call_error` makes it.
  static awaitable<boost::json::object> ask(std::shared_ptr<envd> self, std::string path, boost::json::object message,
                                            const char* doing, bool idempotent) {
    connect_answer answer =
        co_await call(self, std::move(path), std::move(message), doing, self->request_timeout(), idempotent);
    self->require_ok(answer, doing);
    co_return cofferdam::detail::parse_object(answer.message(), errc::io_error,
                                              std::string("e2b: cannot ") + doing + ": the sandbox's answer");
  }

  void require_ok(const connect_answer& answer, const char* doing) const {
    if (!answer.ok()) throw refusal(*answer.failure(), doing);
  }

  error refusal(const connect_failure& failure, const char* doing) const {
    return failed_call_error(doing, failure.code(), redact_.clean(failure.message()));
  }

  /// A call whose answer is a stream. One that was refused because the sandbox was busy is made again; one whose
  /// connection broke never: it may have been done.
  /// \param user     whom it runs as; empty: as configured.
  /// \param enforce  for the daemon, in case that we are gone; nothing: none.
  static awaitable<connect_stream> stream(std::shared_ptr<envd> self, std::string path, boost::json::object message,
                                          const char* doing, std::string user,
                                          std::optional<std::chrono::milliseconds> enforce) {
    back_off pauses(self->service_->who().options().first_pause, self->request_timeout());
    const std::string text = boost::json::serialize(message);
    for (;;) {
      self->require();
      http_request what = self->request("POST", path);
      what.field("User-Agent", std::string(user_agent));
      what.field("Keepalive-Ping-Interval", std::to_string(ping.count()));
      if (enforce) what.field("Connect-Timeout-Ms", std::to_string(enforce->count()));
      const std::string& who = user.empty() ? self->user_ : user;
      if (!who.empty()) what.field("Authorization", authorization(who));
      http_limits limits;
      limits.connect(self->connect_limit()).head(pauses.left()).idle(2 * ping + std::chrono::seconds(5));
      connect_opening opened;
      std::optional<error> failure;
      try {
        opened = co_await connect_server_stream(self->client_, std::move(what), text, most_message, std::move(limits));
      } catch (const error& reason) {
        if (reason.code() == errc::cancelled) throw;
        failure = reason;
      }
      if (failure) {
        const error why = co_await self->explain(*failure, doing);
        throw why;
      }
      if (opened.ok()) co_return std::move(opened.stream());
      const int status = opened.refusal().status();
      std::optional<std::chrono::steady_clock::time_point> when;
      if (status == 429 || status == 409 || status == 503) when = pauses.again(std::nullopt);
      if (!when) {
        self->watch(opened.refusal());
        throw self->refusal(*opened.refusal().failure(), doing);
      }
      co_await rest(*when, doing);
    }
  }

  /// The next message of such a stream; nothing where it has come to its end as it should.
  /// \param stream  kept by the caller, and with it the message until the next call.
  static awaitable<std::optional<std::string_view>> next_message(std::shared_ptr<envd> self, connect_stream& stream,
                                                                 const char* doing) {
    std::optional<error> failure;
    std::optional<std::string_view> one;
    try {
      one = co_await stream.next();
    } catch (const error& reason) {
      if (reason.code() == errc::cancelled) throw;
      failure = reason;
    }
    if (failure) {
      const error why = co_await self->explain(*failure, doing);
      throw why;
    }
    if (!one && stream.failure()) throw self->refusal(*stream.failure(), doing);
    co_return one;
  }

  /// Runs a small script of our own to its end; what it says is not wanted.
  /// \param as_root  as root where the daemon allows that: what a command has started may not be its user's any more.
  /// \return         whether it exited with 0.
  static awaitable<bool> run_script(std::shared_ptr<envd> self, std::vector<std::string> words, bool as_root,
                                    const char* doing) {
    boost::json::object message = start_message("/bin/sh", words, ".", false);
    for (;;) {
      const bool root = as_root && !self->no_root_;
      std::string user;
      if (root) user = "root";
      connect_stream stream =
          co_await envd::stream(self, "/process.Process/Start", message, doing, std::move(user), script_limit);
      bool good = false;
      for (;;) {
        const std::optional<std::string_view> one = co_await stream.next();
        if (!one) break;
        const process_event event = process_event::parse(*one);
        if (event.what == process_event::kind::end) good = event.end.exit_code == 0;
      }
      const bool refused = stream.failure() && (stream.failure()->code() == connect_code::unauthenticated ||
                                                stream.failure()->code() == connect_code::permission_denied ||
                                                stream.failure()->code() == connect_code::invalid_argument);
      if (!root || !refused) co_return good;
      self->no_root_ = true;
    }
  }

  /// What `Start` is asked for.
  static boost::json::object start_message(std::string_view program, const std::vector<std::string>& words,
                                           std::string_view directory, bool has_input) {
    boost::json::object process;
    process["cmd"] = cofferdam::detail::json_text(program);
    boost::json::array args;
    for (const std::string& one : words) args.push_back(cofferdam::detail::json_text(one));
    process["args"] = std::move(args);
    process["cwd"] = cofferdam::detail::json_text(directory);
    boost::json::object message;
    message["process"] = std::move(process);
    message["stdin"] = has_input;
    return message;
  }

  // ---- files ----

  /// A request for a file. \param path  as the daemon takes it: absolute, or from the user's home.
  http_request file_request(std::string method, std::string_view path) const {
    std::string query = "/files?path=" + percent_encoded(path);
    if (!user_.empty()) query += "&username=" + percent_encoded(user_);
    http_request what = request(std::move(method), query);
    what.field("User-Agent", std::string(user_agent));
    return what;
  }

  /// \param  own  what the source of the body has failed with, if it did; kept by the caller until this completes.
  /// \throws error: that, or what the connection failed with, as error{errc::provider_lost}.
  static awaitable<http_exchange> exchange(std::shared_ptr<envd> self, http_request what, const char* doing,
                                           const std::optional<error>* own) {
    self->require();
    http_limits limits;
    limits.connect(self->connect_limit()).head(self->request_timeout()).idle(self->request_timeout());
    http_exchange answer;
    std::optional<error> failure;
    try {
      answer = co_await self->client_.send(std::move(what), std::move(limits));
    } catch (const error& reason) {
      if (reason.code() == errc::cancelled) throw;
      if (own != nullptr && own->has_value()) throw **own;
      failure = reason;
    }
    if (failure) {
      const error why = co_await self->explain(*failure, doing);
      throw why;
    }
    co_return answer;
  }

  /// Why a connection broke: asks whether the sandbox is still there.
  awaitable<error> explain(error reason, const char* doing) {
    if (lost_) co_return *lost_;
    // Of invalid_argument: a body of ours is not what it was to be; the sandbox has nothing to do with that.
    for (const errc own : {errc::too_large, errc::environment_closed, errc::invalid_argument})
      if (reason.code() == own) co_return reason;
    bool gone = false;
    std::string still = "the sandbox does not answer either";
    http_request what = request("GET", "/health");
    what.field("User-Agent", std::string(user_agent));
    http_limits limits;
    limits.connect(probe_limit).head(probe_limit).body(std::size_t{64} * 1024);
    try {
      http_response answer = co_await client_.request(std::move(what), std::move(limits));
      gone = answer.status() == 502;
      if (answer.ok()) still = "the sandbox itself is there";
    } catch (const error& failure) {
      if (failure.code() == errc::cancelled) throw;
    }
    const std::string text = std::string("e2b: cannot ") + doing + ": " + redact_.clean(reason.what());
    if (!gone) co_return error(errc::provider_lost, text + "; " + still, reason.cause());
    const error why(errc::provider_lost, "e2b: the sandbox " + id_ + " is gone: it was ended, or its life was over",
                    reason.cause());
    lose(why);
    co_return why;
  }

  /// Hears where a proxy says that there is no such sandbox.
  void watch(const connect_answer& answer) {
    if (answer.ok() || answer.status() != 502) return;
    heard_502(answer.failure()->message());
  }
  void heard_502(std::string_view said) {
    if (said.find("port is not open") != std::string_view::npos) return;
    lose(error(errc::provider_lost,
               "e2b: the sandbox " + id_ + " is gone: it was ended or paused, or its life was over"));
    require();
  }

  void require() const {
    if (lost_) throw *lost_;
    if (closed_) throw error(errc::environment_closed, "e2b: the environment is closed; open another one");
  }

 private:
  static constexpr std::chrono::seconds ping{50};
  static constexpr std::chrono::seconds probe_limit{5};
  static constexpr std::chrono::milliseconds script_limit{std::chrono::seconds(30)};

  static http_client_settings settings() {
    http_client_settings made;
    made.connections(1024).idle_connections(32);
    return made;
  }

  std::chrono::milliseconds connect_limit() const {
    return std::min<std::chrono::milliseconds>(request_timeout(), std::chrono::seconds(30));
  }

  http_request request(std::string method, std::string_view path) const {
    http_request made(std::move(method), base_.prefix() + std::string(path));
    made.field("E2b-Sandbox-Id", id_).field("E2b-Sandbox-Port", std::to_string(port));
    if (!token_.empty()) made.secret_field("X-Access-Token", token_.text());
    return made;
  }

  static std::string authorization(const std::string& user) { return "Basic " + base64_encode(as_bytes(user + ":")); }

  asio::any_io_executor executor_;
  std::shared_ptr<api> service_;
  redactor redact_;
  std::string id_;
  secret token_;
  envd_abilities can_;
  std::string user_;
  endpoint base_;
  http_client client_;
  std::function<void(const error&)> tell_;
  std::optional<error> lost_;
  bool closed_ = false;
  bool no_root_ = false;
};

}  // namespace cofferdam::inline v0::e2b::detail
