// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/json_members.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/api_error.hpp>
#include <cofferdam/backends/e2b/detail/sandbox.hpp>
#include <cofferdam/backends/e2b/execution.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/utf8.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/net/http_client.hpp>
#include <cofferdam/net/http_limits.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/percent_encoding.hpp>
#include <cofferdam/net/untrusted_json.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::e2b {

/// Where code of one language is run, and what it has defined stays.
class code_context {
 public:
  code_context() = default;
  code_context(std::string id, std::string language, std::string directory)
      : id_(std::move(id)), language_(std::move(language)), directory_(std::move(directory)) {}
  const std::string& id() const noexcept { return id_; }
  const std::string& language() const noexcept { return language_; }
  const std::string& directory() const noexcept { return directory_; }

 private:
  std::string id_;
  std::string language_;
  std::string directory_;
};

/// Code, and how it is to be run: `code("1 + 1").timeout(10s)`.
class code {
 public:
  /// \param source  UTF-8.
  explicit code(std::string source) : source_(std::move(source)) {}

  /// In this context. Default: the service's own, which all share.
  code&& in(const code_context& where) && {
    context_ = where.id();
    return std::move(*this);
  }
  /// In the default context of this language: python, javascript, typescript, r, java, bash. Not together with `in`.
  code&& language(std::string name) && {
    language_ = std::move(name);
    return std::move(*this);
  }
  code&& variable(std::string name, std::string value) && {
    variables_[std::move(name)] = std::move(value);
    return std::move(*this);
  }
  /// Interrupts it then. Default: 5 minutes; `no_timeout` for none; more than zero.
  code&& timeout(std::chrono::milliseconds limit) && {
    if (limit <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "e2b: the timeout of code must be longer than zero");
    timeout_ = limit;
    return std::move(*this);
  }
  /// How many bytes of each output, and of all results together, are kept. Default: 1 MiB and 64 MiB.
  code&& keep(std::size_t output, std::size_t results) && {
    limits_ = execution_limits(output, results);
    return std::move(*this);
  }

  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  const execution_limits& limits() const noexcept { return limits_; }

  /// What `/execute` is asked. \par Source  E2B's code interpreter SDK.
  boost::json::object body() const {
    if (!is_valid_utf8(source_)) throw error(errc::invalid_argument, "e2b: the code is not UTF-8");
    boost::json::object all;
    all["code"] = cofferdam::detail::json_text(source_);
    if (!context_.empty()) all["context_id"] = cofferdam::detail::json_text(context_);
    if (!language_.empty()) all["language"] = cofferdam::detail::json_text(language_);
    if (!variables_.empty()) {
      boost::json::object variables;
      for (const auto& [name, value] : variables_)
        variables[cofferdam::detail::json_text(name)] = cofferdam::detail::json_text(value);
      all["env_vars"] = std::move(variables);
    }
    return all;
  }

 private:
  std::string source_;
  std::string context_;
  std::string language_;
  std::map<std::string, std::string> variables_;
  std::chrono::milliseconds timeout_{std::chrono::minutes(5)};
  execution_limits limits_;
};

/// E2B's code interpreter: runs code in a sandbox made from a template that has one, such as `code-interpreter-v1`. What
/// it has defined stays, as in a notebook; one run at a time in each context.
///
///     e2b::environment env = co_await e2b::from_template("code-interpreter-v1").open();
///     e2b::code_interpreter python(env);
///     e2b::execution done = co_await python.run(e2b::code("[i * i for i in range(5)]"));
///
/// \par Errors        as the environment's; error{errc::unsupported} where the sandbox has no code interpreter.
/// \par Lifetime      not beyond its environment, whose `close()` ends what runs.
/// \par Cancellation  terminal: the code is interrupted; throws error{errc::cancelled}.
/// \par Threads       the environment's executor.
/// \par Source        E2B's code interpreter SDK.
class code_interpreter {
 public:
  static constexpr std::uint16_t port = 49999;

  /// \param in  kept open by the caller.
  explicit code_interpreter(environment& in) : inside_(in.get()) {
    const account& who = inside_->service()->who();
    const endpoint there = who.sandbox(port, inside_->id(), inside_->info().domain());
    prefix_ = there.prefix();
    client_ = std::make_shared<http_client>(inside_->executor(), there.reach(who.tls()));
    redact_ = inside_->place()->redact();
  }

  /// Runs code to its end. What it does is the result: an exception of its own, and its time limit, included.
  awaitable<execution> run(code what) {
    return execute(inside_, client_, redact_, request("POST", "/execute"), std::move(what));
  }

  /// Makes a context.
  /// \param language   empty: python.
  /// \param directory  where its code starts, relative to the workspace.
  awaitable<code_context> make_context(std::string language = {}, std::string directory = ".") {
    const std::string clean = workspace_path_or_root(directory, inside_->where().root);
    boost::json::object body;
    if (!language.empty()) body["language"] = cofferdam::detail::json_text(language);
    body["cwd"] = cofferdam::detail::json_text(cofferdam::detail::joined_path(inside_->where().root, clean));
    http_request what = request("POST", "/contexts");
    what.content("application/json", boost::json::serialize(body));
    return made_context(inside_, client_, redact_, std::move(what));
  }
  awaitable<std::vector<code_context>> contexts() {
    return list(inside_, client_, redact_, request("GET", "/contexts"));
  }
  /// Forgets all that code has defined there. \throws error{errc::not_found}.
  awaitable<void> restart(code_context which) {
    http_request what = request("POST", "/contexts/" + percent_encoded(which.id()) + "/restart");
    return done(inside_, client_, redact_, std::move(what), "restart a context");
  }
  /// \throws error{errc::not_found}.
  awaitable<void> remove(code_context which) {
    http_request what = request("DELETE", "/contexts/" + percent_encoded(which.id()));
    return done(inside_, client_, redact_, std::move(what), "remove a context");
  }

 private:
  using shared = std::shared_ptr<detail::sandbox>;
  using client = std::shared_ptr<http_client>;
  static constexpr std::size_t most_answer = std::size_t{1024} * 1024;
  static constexpr std::chrono::seconds silence{30};  // the service says every 5 s that it lives
  static constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);

  http_request request(std::string method, std::string_view path) const {
    http_request made(std::move(method), prefix_ + std::string(path));
    made.field("User-Agent", std::string(detail::user_agent));
    made.field("E2b-Sandbox-Id", inside_->id()).field("E2b-Sandbox-Port", std::to_string(port));
    const secret& token = inside_->place()->token();
    if (!token.empty()) made.secret_field("X-Access-Token", token.text());
    if (!inside_->info().traffic_token().empty())
      made.secret_field("E2B-Traffic-Access-Token", inside_->info().traffic_token().text());
    return made;
  }

  /// Sends a request, and takes 200 for a yes.
  static awaitable<http_exchange> ask(shared inside, client by, redactor redact, http_request what, const char* doing,
                                      http_limits limits) {
    co_await inside->until_running();
    http_exchange answer;
    std::optional<error> failure;
    try {
      answer = co_await by->send(std::move(what), std::move(limits));
    } catch (const error& reason) {
      if (reason.code() == errc::cancelled) throw;
      failure = reason;
    }
    if (failure) {
      const error why = co_await inside->place()->explain(*failure, doing);
      throw why;
    }
    if (answer.status() == 200) co_return answer;
    const int status = answer.status();
    bytes body = co_await answer.read_all(most_answer);
    const std::string said = redact.clean(said_message(redact.clean(as_text(body))));
    if (status == 502 && said.find("port is not open") != std::string::npos)
      throw error(errc::unsupported,
                  "e2b: the sandbox has no code interpreter: use a template that has, such as code-interpreter-v1");
    if (status == 502) inside->place()->heard_502(said);
    throw refused_error(doing, status, said);
  }

  static http_limits usual(const shared& inside) {
    http_limits limits;
    limits.head(inside->place()->request_timeout()).idle(inside->place()->request_timeout());
    return limits;
  }

  /// A run that is under way; whoever awaits it may go first.
  class timed_run {
   public:
    timed_run(const asio::any_io_executor& executor, const execution_limits& limits)
        : reader(limits), limit(executor), changed(executor, std::chrono::steady_clock::time_point::max()) {}
    void end(std::exception_ptr why) {
      reads = false;
      failure = std::move(why);
      limit.cancel();
      changed.cancel();
    }
    void cancel() {
      limit.cancel();
      if (reads && !has_read) stop.emit(asio::cancellation_type::terminal);
    }

    execution_reader reader;
    asio::steady_timer limit;
    asio::steady_timer changed;  // never expires
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    bool reads = true;
    bool has_read = false;  // nobody signals a coroutine that has ended
    bool expired = false;
  };

  static awaitable<execution> execute(shared inside, client by, redactor redact, http_request what, code source) {
    const auto begins = std::chrono::steady_clock::now();
    what.content("application/json", boost::json::serialize(source.body()));
    const auto one = std::make_shared<timed_run>(inside->executor(), source.limits());
    if (source.timeout() < longest) {
      one->limit.expires_after(source.timeout());
      // The limit is enforced by going away: the service interrupts the code then.
      one->limit.async_wait([one](std::error_code failure) {
        if (failure || !one->reads || one->has_read) return;
        one->expired = true;
        one->stop.emit(asio::cancellation_type::terminal);
      });
    }
    auto over = [one](std::exception_ptr failure) { one->end(failure); };
    asio::co_spawn(inside->executor(), read(inside, by, std::move(redact), std::move(what), one),
                   asio::bind_cancellation_slot(one->stop.slot(), std::move(over)));
    bool cancelled = false;
    while (one->reads) {
      std::error_code woken;
      co_await one->changed.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() == asio::cancellation_type::none || cancelled) continue;
      cancelled = true;
      one->cancel();
      break;
    }
    if (cancelled) throw error(errc::cancelled, "e2b: cannot run code: cancelled; the code is interrupted");
    if (one->failure && !one->expired) std::rethrow_exception(one->failure);
    if (one->expired) one->reader.time_out();
    if (!one->reader.ended())
      throw error(errc::provider_lost, "e2b: cannot run code: the answer ended before the code did",
                  net_errc::truncated);
    co_return one->reader.take(std::chrono::steady_clock::now() - begins);
  }

  static awaitable<void> read(shared inside, client by, redactor redact, http_request what,
                              std::shared_ptr<timed_run> one) {
    constexpr const char* doing = "run code";
    http_limits limits = usual(inside);
    limits.idle(silence);
    http_exchange answer = co_await ask(inside, by, std::move(redact), std::move(what), doing, limits);
    std::array<std::byte, 32 * 1024> piece;
    std::optional<error> failure;
    try {
      while (!one->reader.ended()) {
        const std::size_t count = co_await answer.read_some(std::span(piece));
        if (count == 0) break;
        one->reader.feed(as_text(bytes_view(piece).first(count)));
      }
    } catch (const error& reason) {
      if (reason.code() == errc::cancelled) throw;
      failure = reason;
    }
    if (failure) {
      const error why = co_await inside->place()->explain(*failure, doing);
      one->has_read = true;
      throw why;
    }
    one->has_read = true;
  }

  static awaitable<code_context> made_context(shared inside, client by, redactor redact, http_request what) {
    constexpr const char* doing = "make a context";
    http_exchange answer = co_await ask(inside, by, redact, std::move(what), doing, usual(inside));
    bytes body = co_await answer.read_all(most_answer);
    code_context made = context_of(cofferdam::detail::parse_object(as_text(body), errc::io_error, "e2b: a context"));
    co_return made;
  }

  static awaitable<std::vector<code_context>> list(shared inside, client by, redactor redact, http_request what) {
    http_exchange answer = co_await ask(inside, by, redact, std::move(what), "list the contexts", usual(inside));
    bytes body = co_await answer.read_all(most_answer);
    std::error_code broken;
    const std::string_view text = as_text(body);
    const boost::json::value value = cofferdam::detail::parse_untrusted_json(text, broken);
    std::vector<code_context> all;
    if (broken || !value.is_array())
      throw error(errc::io_error, "e2b: cannot list the contexts: the answer is no JSON array");
    for (const boost::json::value& each : value.get_array())
      if (const boost::json::object* const one = each.if_object()) all.push_back(context_of(*one));
    co_return all;
  }

  static awaitable<void> done(shared inside, client by, redactor redact, http_request what, const char* doing) {
    http_exchange answer = co_await ask(inside, by, redact, std::move(what), doing, usual(inside));
    co_await answer.read_all(most_answer);
  }

  static code_context context_of(const boost::json::object& said) {
    using cofferdam::detail::text_at;
    return code_context(std::string(text_at(said, "id")), std::string(text_at(said, "language")),
                        std::string(text_at(said, "cwd")));
  }

  shared inside_;
  client client_;
  redactor redact_;
  std::string prefix_;
};

}  // namespace cofferdam::inline v0::e2b
