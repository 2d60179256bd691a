// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/detail/within.hpp>
#include <cofferdam/backends/e2b/detail/api.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/detail/envd_version.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/net/connect_client.hpp>
#include <cofferdam/detail/net/connect_error.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// A client of envd, the daemon in one sandbox, which runs processes and transfers files. All coroutines of the
/// environment share it.
class envd : public std::enable_shared_from_this<envd> {
 public:
  static constexpr std::uint16_t port = 49983;
  /// The maximum size of one message in a stream, in bytes. A message of the daemon contains up to 32 KiB of a
  /// process's output.
  static constexpr std::size_t max_message = std::size_t{8} * 1024 * 1024;

  envd(asio::any_io_executor executor, std::shared_ptr<api> service, const sandbox_info& info, std::string user)
      : home_(executor),
        executor_(executor),
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
  const cofferdam::detail::home_strand& home() const noexcept { return home_; }
  const std::string& id() const noexcept { return id_; }
  const std::string& user() const noexcept { return user_; }
  const secret_string& token() const noexcept { return token_; }
  const endpoint& base() const noexcept { return base_; }
  const envd_abilities& can() const noexcept { return can_; }
  const redactor& redact() const noexcept { return redact_; }
  std::chrono::milliseconds request_timeout() const { return service_->who().options().request_timeout; }

  /// Sets a function that is called once if the sandbox is lost.
  void on_lost(std::function<void(const error&)> tell) { tell_ = std::move(tell); }
  const std::optional<error>& lost() const noexcept { return lost_; }
  void lose(const error& reason) {
    if (lost_ || closed_) return;
    lost_ = reason;
    if (const auto tell = std::exchange(tell_, nullptr)) tell(reason);
  }

  /// Marks the client as closed, so that every later call fails.
  void close() {
    closed_ = true;
    tell_ = nullptr;
  }
  awaitable<void> close_connections() { return client_.close(); }

  /// Updates the daemon's access token from the service's response to a call of `api::connect`.
  void renew(const sandbox_info& info) {
    if (!info.access_token().empty()) token_ = info.access_token();
    redact_.hide(token_);
  }

  // ---- calls ----

  /// Makes a call with one request and one response. If the daemon refuses the call, the refusal is returned, not
  /// thrown. If the proxy in front of the daemon reports that the sandbox does not exist, and the service confirms
  /// this, the sandbox counts as lost.
  /// \param doing       the purpose of the call, such as `start a command`. The text must outlive the call.
  /// \param limit       the time limit until the response begins; no value means no limit.
  /// \param idempotent  true if the call may be executed twice.
  static awaitable<cofferdam::detail::connect_answer> call(std::shared_ptr<envd> self, std::string path,
                                                           boost::json::object message, const char* doing,
                                                           std::optional<std::chrono::milliseconds> limit,
                                                           bool idempotent) {
    back_off pauses(self->service_->who().options().first_pause, self->request_timeout());
    const std::string text = boost::json::serialize(message);
    cofferdam::detail::connect_answer answer;
    for (;;) {
      self->require();
      http_request what = self->request("POST", path);
      if (idempotent) what.idempotent();
      what.field("User-Agent", std::string(user_agent));
      if (!self->user_.empty()) what.field("Authorization", authorization(self->user_));
      cofferdam::detail::http_limits limits;
      limits.connect(self->connect_limit()).head(limit).body(max_message);
      std::optional<error> failure;
      try {
        answer = co_await cofferdam::detail::connect_unary(self->client_, std::move(what), text, std::move(limits));
      } catch (const error& reason) {
        if (reason.code() == exec_errc::cancelled) throw;
        failure = reason;
      }
      if (failure) {
        const error why = co_await self->explain(*failure, doing);
        throw why;
      }
      std::optional<std::chrono::steady_clock::time_point> when;
      const bool again = !answer.ok() && may_be_repeated(answer, {idempotent ? 503 : 429});
      if (again) when = pauses.again(retry_after(answer.fields()));
      if (!when) break;
      co_await rest(*when, doing);
    }
    if (!answer.ok()) co_await check_proxy(self, answer.status(), answer.failure()->message(), doing);
    co_return answer;
  }

  /// Makes a call and returns the JSON object of the response.
  /// \throws the error of `failed_call_error` if the daemon refuses the call.
  static awaitable<boost::json::object> ask(std::shared_ptr<envd> self, std::string path, boost::json::object message,
                                            const char* doing, bool idempotent) {
    cofferdam::detail::connect_answer answer =
        co_await call(self, std::move(path), std::move(message), doing, self->request_timeout(), idempotent);
    self->require_ok(answer, doing);
    co_return cofferdam::detail::parse_object(answer.message(), exec_errc::io_error,
                                              std::string("e2b: cannot ") + doing + ": the sandbox's answer");
  }

  void require_ok(const cofferdam::detail::connect_answer& answer, const char* doing) const {
    if (!answer.ok()) throw refusal(*answer.failure(), doing);
  }

  error refusal(const cofferdam::detail::connect_failure& failure, const char* doing) const {
    return failed_call_error(doing, failure.code(), redact_.clean(failure.message()));
  }

  /// Makes a call whose response is a stream. The call is repeated if the sandbox is busy. It is not repeated after a
  /// lost connection, because the daemon may have executed it.
  /// \param user     the user as whom the call is executed. Empty means the user that was given to the constructor.
  /// \param enforce  a time limit that the daemon enforces, in case this program dies; no value means no limit.
  static awaitable<cofferdam::detail::connect_stream> stream(std::shared_ptr<envd> self, std::string path,
                                                             boost::json::object message, const char* doing,
                                                             std::string user,
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
      cofferdam::detail::http_limits limits;
      limits.connect(self->connect_limit()).head(pauses.left()).idle(2 * ping + std::chrono::seconds(5));
      cofferdam::detail::connect_opening opened;
      std::optional<error> failure;
      try {
        opened = co_await cofferdam::detail::connect_server_stream(self->client_, std::move(what), text, max_message,
                                                                   std::move(limits));
      } catch (const error& reason) {
        if (reason.code() == exec_errc::cancelled) throw;
        failure = reason;
      }
      if (failure) {
        const error why = co_await self->explain(*failure, doing);
        throw why;
      }
      if (opened.ok()) co_return std::move(opened.stream());
      const cofferdam::detail::connect_answer refused = opened.refusal();
      std::optional<std::chrono::steady_clock::time_point> when;
      if (may_be_repeated(refused, {409, 503})) when = pauses.again(retry_after(refused.fields()));
      if (!when) {
        co_await check_proxy(self, refused.status(), refused.failure()->message(), doing);
        throw self->refusal(*refused.failure(), doing);
      }
      co_await rest(*when, doing);
    }
  }

  /// Returns the next message of a stream; no value at its regular end.
  /// \param stream  the stream, which the caller keeps. The message is valid until the next call.
  static awaitable<std::optional<std::string_view>> next_message(std::shared_ptr<envd> self,
                                                                 cofferdam::detail::connect_stream& stream,
                                                                 const char* doing) {
    std::optional<error> failure;
    std::optional<std::string_view> message;
    try {
      message = co_await stream.next();
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;
      failure = reason;
    }
    if (failure) {
      const error why = co_await self->explain(*failure, doing);
      throw why;
    }
    if (!message && stream.failure()) {
      const error why = co_await ended_by(self, *stream.failure(), doing);
      throw why;
    }
    co_return message;
  }

  /// Returns the error to throw for the failure with which a stream has ended. The code `unavailable` means that the
  /// daemon's side has lost the connection, so this function returns the error for a lost connection (`explain`).
  static awaitable<error> ended_by(std::shared_ptr<envd> self, cofferdam::detail::connect_failure failure,
                                   const char* doing) {
    if (failure.code() != cofferdam::detail::connect_code::unavailable) co_return self->refusal(failure, doing);
    const std::string message = one_line(self->redact_.clean(failure.message()), 400);
    error broken(exec_errc::provider_lost, "its stream broke off: unavailable, \"" + message + "\"",
                 net_errc::connection_lost);
    error why = co_await self->explain(std::move(broken), doing);
    co_return why;
  }

  /// Runs some work on the daemon, and cancels it after the time limit of one call. `stream` limits only the time until
  /// a stream begins, and a daemon that sends keepalives could keep a caller waiting for ever.
  /// \param work  returns an awaitable<void>.
  /// \throws the error of `explain` for a lost connection, with net_errc::timed_out as its `cause()`, if the limit has
  ///     ended the work.
  static awaitable<void> in_time(std::shared_ptr<envd> self, std::function<awaitable<void>()> work, const char* doing) {
    const std::chrono::milliseconds limit = self->request_timeout();
    error late(exec_errc::io_error,
               "not done within the time limit of a call, " + std::to_string(limit.count()) + " ms",
               net_errc::timed_out);
    std::optional<error> failure;
    try {
      co_await cofferdam::detail::within(self->executor_, limit, std::move(work), std::move(late));
    } catch (const error& reason) {
      if (reason.code() != exec_errc::io_error || reason.cause() != net_errc::timed_out) throw;
      failure = reason;
    }
    if (!failure) co_return;
    const error why = co_await self->explain(*failure, doing);
    throw why;
  }

  /// Runs a small script of this library to its end, within the time limit of one call, and discards its output.
  /// \param own_user  the user of the script, if it does not run as root. Empty means the user that was given to the
  ///                 constructor.
  /// \param as_root  true to run the script as root if the daemon permits this. This is needed because a command may
  ///                 run processes as another user, which the configured user may not signal.
  /// \return         true if the script has exited with code 0.
  static awaitable<bool> run_script(std::shared_ptr<envd> self, std::vector<std::string> words, std::string own_user,
                                    bool as_root, const char* doing) {
    bool good = false;
    const auto runs = [&]() -> awaitable<void> {
      good = co_await run_unlimited_script(self, std::move(words), std::move(own_user), as_root, doing);
    };
    co_await in_time(self, std::ref(runs), doing);
    co_return good;
  }

  /// Returns the message of a `Start` call, which starts a process.
  static boost::json::object start_message(std::string_view program, const std::vector<std::string>& words,
                                           std::string_view directory, bool has_input) {
    boost::json::object process;
    process["cmd"] = cofferdam::detail::json_text(program);
    boost::json::array args;
    for (const std::string& word : words) args.push_back(cofferdam::detail::json_text(word));
    process["args"] = std::move(args);
    process["cwd"] = cofferdam::detail::json_text(directory);
    boost::json::object message;
    message["process"] = std::move(process);
    message["stdin"] = has_input;
    return message;
  }

  /// Returns environment variables in the form of a `Start` message.
  /// \param all  the variables, as `NAME=value`.
  static boost::json::object variables(const std::vector<std::string>& all) {
    boost::json::object result;
    for (const std::string& each : all) {
      const std::size_t equals = each.find('=');
      result[cofferdam::detail::json_text(std::string_view(each).substr(0, equals))] =
          cofferdam::detail::json_text(std::string_view(each).substr(equals + 1));
    }
    return result;
  }

  /// Returns the message of a call about a running process.
  static boost::json::object process_message(std::int64_t pid) {
    boost::json::object process;
    process["pid"] = pid;
    boost::json::object message;
    message["process"] = std::move(process);
    return message;
  }

  /// Returns the message of a `SendInput` call, which writes to a running process.
  /// \param member  `stdin`, or `pty` for a process with a terminal.
  static boost::json::object input_message(std::int64_t pid, std::string_view member, bytes_view data) {
    boost::json::object input;
    input[cofferdam::detail::json_view(member)] = cofferdam::detail::json_text(cofferdam::detail::base64_encode(data));
    boost::json::object message = process_message(pid);
    message["input"] = std::move(input);
    return message;
  }

  // ---- files ----

  /// Makes a request that reads or writes a file.
  /// \param path  the path, as the daemon expects it: absolute, or relative to the user's home.
  http_request file_request(std::string method, std::string_view path) const {
    std::string query = "/files?path=" + cofferdam::detail::percent_encoded(path);
    if (!user_.empty()) query += "&username=" + cofferdam::detail::percent_encoded(user_);
    http_request what = request(std::move(method), query);
    what.field("User-Agent", std::string(user_agent));
    return what;
  }

  /// Sends a request that reads or writes a file.
  /// \param  own  the failure of the object that supplies the request's body, without a value as long as there is no
  ///              failure. May be null. The caller keeps it until the awaitable completes.
  /// \throws the error in `own` if there is one; otherwise the failure of the connection as
  ///     error{exec_errc::provider_lost}.
  static awaitable<cofferdam::detail::http_exchange> exchange(std::shared_ptr<envd> self, http_request what,
                                                              const char* doing, const std::optional<error>* own) {
    self->require();
    cofferdam::detail::http_limits limits;
    limits.connect(self->connect_limit()).head(self->request_timeout()).idle(self->request_timeout());
    cofferdam::detail::http_exchange answer;
    std::optional<error> failure;
    try {
      answer = co_await self->client_.send(std::move(what), std::move(limits));
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;
      if (own != nullptr && own->has_value()) throw **own;
      failure = reason;
    }
    if (failure) {
      const error why = co_await self->explain(*failure, doing);
      throw why;
    }
    co_return answer;
  }

  /// Returns the error to throw after a lost connection. Sends a request to find out whether the sandbox still exists,
  /// because the error depends on this.
  awaitable<error> explain(error reason, const char* doing) {
    if (lost_) co_return *lost_;
    if (closed_) co_return closed();
    // These errors do not concern the connection: for example, invalid_argument means that the body of the request is
    // wrong.
    for (const exec_errc own : {exec_errc::too_large, exec_errc::environment_closed, exec_errc::invalid_argument})
      if (reason.code() == own) co_return reason;
    bool gone = false;
    bool hiccup = false;
    std::string still = "the sandbox does not answer either";
    http_request what = request("GET", "/health");
    what.field("User-Agent", std::string(user_agent));
    cofferdam::detail::http_limits limits;
    limits.connect(probe_limit).head(probe_limit).body(std::size_t{64} * 1024);
    try {
      http_response answer = co_await client_.request(std::move(what), std::move(limits));
      gone = answer.status() == 502 && says_not_found(answer.text());
      hiccup = answer.status() == 502 && !gone;
      if (answer.ok()) still = "the sandbox itself still exists";
      if (hiccup) still = "the sandbox exists, but its daemon is temporarily unreachable: try again";
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
    }
    const std::string text = std::string("e2b: cannot ") + doing + ": " + redact_.clean(reason.what());
    if (!gone)
      co_return error(hiccup ? exec_errc::unavailable : exec_errc::provider_lost, text + "; " + still, reason.cause());
    error why = co_await missing(shared_from_this(), doing, reason.cause());
    co_return why;
  }

  /// Throws if a response comes from a proxy that could not reach the daemon. The sandbox counts as lost only if
  /// neither the proxy nor the service finds it.
  static awaitable<void> check_proxy(std::shared_ptr<envd> self, int status, std::string body, const char* doing) {
    const std::error_code cause(status, status_category());
    if (status == 502 && says_not_found(body)) {
      const error why = co_await missing(self, doing, cause);
      throw why;
    }
    const bool untouched = is_port_closed(status, body) || is_in_transition(status, body);
    if (status != 502 && !untouched) co_return;
    std::string text = std::string("e2b: cannot ") + doing +
                       ": the connection to the sandbox was interrupted: HTTP status " + std::to_string(status) +
                       ", \"" + one_line(self->redact_.clean(body), 400) + "\"; the sandbox still exists: try again";
    if (untouched) throw error(exec_errc::unavailable, std::move(text), sandbox_errc::not_reached);
    throw error(exec_errc::unavailable, std::move(text), cause);
  }

  void require() const {
    if (lost_) throw *lost_;
    if (closed_) throw closed();
  }

 private:
  static error closed() {
    return error(exec_errc::environment_closed, "e2b: the environment is closed; open another one");
  }
  static bool says_not_found(std::string_view body) { return body.find("was not found") != std::string_view::npos; }
  /// Returns true if the sandbox is running, but its daemon does not accept connections at the moment.
  static bool is_port_closed(int status, std::string_view body) {
    return status == 502 && body.find("port is not open") != std::string_view::npos;
  }
  /// Returns true if the sandbox is being paused or resumed at the moment.
  static bool is_in_transition(int status, std::string_view body) {
    return status == 409 && body.find("transitioning") != std::string_view::npos;
  }
  /// Returns true if the same call may succeed soon.
  /// \param busy  HTTP statuses that mean "busy" for this call, in addition to those that mean "busy" for every call.
  static bool may_be_repeated(const cofferdam::detail::connect_answer& answer, std::initializer_list<int> busy) {
    const std::string& message = answer.failure()->message();
    const int status = answer.status();
    const bool usual = status == 429 || is_port_closed(status, message) || is_in_transition(status, message) ||
                       std::find(busy.begin(), busy.end(), status) != busy.end();
    return should_retry(answer.fields()).value_or(usual);
  }

  /// Returns the error to throw if the proxy does not find the sandbox. The sandbox may be paused: the proxy does not
  /// find paused sandboxes either.
  static awaitable<error> missing(std::shared_ptr<envd> self, const char* doing, std::error_code cause) {
    if (self->lost_) co_return *self->lost_;
    const presence found = co_await self->service_->presence_of(self->id_);
    if (self->lost_) co_return *self->lost_;
    if (found == presence::gone) {
      const error why(exec_errc::provider_lost,
                      "e2b: the sandbox " + self->id_ + " is gone: it was ended, or its lifetime expired", cause);
      self->lose(why);
      co_return why;
    }
    const std::string text = std::string("e2b: cannot ") + doing + ": the sandbox " + self->id_;
    if (found == presence::paused)
      co_return error(exec_errc::unavailable, text + " is paused; call resume() first", sandbox_errc::paused);
    if (found == presence::running)
      co_return error(exec_errc::unavailable, text + " is running, but the proxy did not find it; try again", cause);
    co_return error(exec_errc::unavailable, text + " was not found, and the service gave no reason; try again", cause);
  }

  static awaitable<bool> run_unlimited_script(std::shared_ptr<envd> self, std::vector<std::string> words,
                                              std::string own_user, bool as_root, const char* doing) {
    boost::json::object message = start_message("/bin/sh", words, ".", false);
    for (;;) {
      const bool root = as_root && !self->no_root_;
      std::string user = own_user;
      if (root) user = "root";
      cofferdam::detail::connect_stream stream =
          co_await envd::stream(self, "/process.Process/Start", message, doing, std::move(user), script_limit);
      bool good = false;
      for (;;) {
        const std::optional<std::string_view> piece = co_await stream.next();
        if (!piece) break;
        const process_event event = process_event::parse(*piece);
        if (event.what == process_event::kind::end) good = event.end.exit_code == 0;
      }
      const bool refused =
          stream.failure() && (stream.failure()->code() == cofferdam::detail::connect_code::unauthenticated ||
                               stream.failure()->code() == cofferdam::detail::connect_code::permission_denied ||
                               stream.failure()->code() == cofferdam::detail::connect_code::invalid_argument);
      if (!root || !refused) co_return good;
      self->no_root_ = true;
    }
  }

  static constexpr std::chrono::seconds ping{50};
  static constexpr std::chrono::seconds probe_limit{5};
  static constexpr std::chrono::milliseconds script_limit{std::chrono::seconds(30)};

  static cofferdam::detail::http_client_settings settings() {
    cofferdam::detail::http_client_settings result;
    result.connections(1024).idle_connections(32);
    return result;
  }

  std::chrono::milliseconds connect_limit() const {
    return std::min<std::chrono::milliseconds>(request_timeout(), std::chrono::seconds(30));
  }

  http_request request(std::string method, std::string_view path) const {
    http_request result(std::move(method), base_.prefix() + std::string(path));
    result.field("E2b-Sandbox-Id", id_).field("E2b-Sandbox-Port", std::to_string(port));
    if (!token_.empty()) result.secret_field("X-Access-Token", token_);
    return result;
  }

  static std::string authorization(const std::string& user) {
    return "Basic " + cofferdam::detail::base64_encode(as_bytes(user + ":"));
  }

  cofferdam::detail::home_strand home_;
  asio::any_io_executor executor_;
  std::shared_ptr<api> service_;
  redactor redact_;
  std::string id_;
  secret_string token_;
  envd_abilities can_;
  std::string user_;
  endpoint base_;
  cofferdam::detail::http_client client_;
  std::function<void(const error&)> tell_;
  std::optional<error> lost_;
  bool closed_ = false;
  bool no_root_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
