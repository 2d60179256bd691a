// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/code_interpreter.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/detail/sandbox.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_limits.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
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

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL rich_output::rich_output(const boost::json::object& line)
    : is_value_(cofferdam::detail::is_true_at(line, "is_main_result")) {
  for (const auto& [key, value] : line) {
    const std::string name(key.data(), key.size());
    if (name == "type" || name == "is_main_result" || value.is_null()) continue;
    if (const boost::json::string* const text = value.if_string())
      forms_.emplace(name, std::string(text->data(), text->size()));
    else if (name != "extra" || (value.is_object() && !value.get_object().empty()))
      forms_.emplace(name, boost::json::serialize(value));
  }
}

COFFERDAM_DECL void execution_reader::feed(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > limits_.results() + slack - line_.size())
      throw error(exec_errc::too_large, "e2b: the code interpreter sent a line of more than " +
                                            std::to_string(limits_.results() + slack) + " bytes");
    line_ += text.substr(0, end);
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
    if (!line_.empty()) take_line();
    line_.clear();
  }
}

COFFERDAM_DECL void execution_reader::take_line() {
  namespace json = cofferdam::detail;
  const boost::json::object message =
      json::parse_object(line_, exec_errc::io_error, "e2b: a line of the code interpreter");
  const std::string_view type = json::text_at(message, "type");
  if (type == "stdout") {
    out_.append(as_bytes(json::text_at(message, "text")));
  } else if (type == "stderr") {
    err_.append(as_bytes(json::text_at(message, "text")));
  } else if (type == "result") {
    if (line_.size() > limits_.results() - kept_) {
      ++made_.dropped_;
      return;
    }
    kept_ += line_.size();
    made_.results_.emplace_back(message);
  } else if (type == "error") {
    made_.failure_.emplace(std::string(json::text_at(message, "name")), std::string(json::text_at(message, "value")),
                           std::string(json::text_at(message, "traceback")));
  } else if (type == "number_of_executions") {
    made_.number_ = json::number_at(message, "execution_count").value_or(0);
  } else if (type == "end_of_execution") {
    ended_ = true;
  }
}

COFFERDAM_DECL code& code::in(const code_context& where) {
  context_ = where.id();
  require_one_place();
  return *this;
}

COFFERDAM_DECL code& code::language(std::string name) {
  language_ = std::move(name);
  require_one_place();
  return *this;
}

COFFERDAM_DECL void code::require_one_place() const {
  if (!context_.empty() && !language_.empty())
    throw error(
        exec_errc::invalid_argument,
        "e2b: code with a context cannot have a language, because the context has one; call in() or language()");
}

COFFERDAM_DECL code& code::variable(std::string name, std::string value) {
  variables_[std::move(name)] = std::move(value);
  return *this;
}

COFFERDAM_DECL code& code::timeout(std::chrono::milliseconds limit) {
  if (limit <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, "e2b: the timeout of code must be longer than zero");
  timeout_ = limit;
  return *this;
}

COFFERDAM_DECL code& code::keep(std::size_t output, std::size_t results) {
  limits_ = execution_limits(output, results);
  return *this;
}

COFFERDAM_DECL boost::json::object code::body() const {
  if (!cofferdam::detail::is_valid_utf8(source_))
    throw error(exec_errc::invalid_argument, "e2b: the code is not UTF-8");
  boost::json::object body;
  body["code"] = cofferdam::detail::json_text(source_);
  if (!context_.empty()) body["context_id"] = cofferdam::detail::json_text(context_);
  if (!language_.empty()) body["language"] = cofferdam::detail::json_text(language_);
  if (!variables_.empty()) {
    boost::json::object variables;
    for (const auto& [name, value] : variables_)
      variables[cofferdam::detail::json_text(name)] = cofferdam::detail::json_text(value);
    body["env_vars"] = std::move(variables);
  }
  return body;
}

COFFERDAM_DECL code_interpreter::code_interpreter(environment& in) : inside_(in.get()) {
  const detail::account& who = inside_->service()->who();
  const detail::endpoint there = who.sandbox(port, inside_->id(), inside_->info().domain());
  prefix_ = there.prefix();
  client_ = {new cofferdam::detail::http_client(inside_->executor(), there.reach(who.tls())),
             [home = inside_->home()](cofferdam::detail::http_client* dropped) {
               home.run_soon([dropped] { delete dropped; });
             }};
  redact_ = inside_->daemon()->redact();
}

COFFERDAM_DECL awaitable<execution> code_interpreter::run(code what) {
  return inside_->home().run([inside = inside_, by = client_, redact = redact_, to = request("POST", "/execute"),
                              what = std::move(what)] { return execute(inside, by, redact, to, what); });
}

COFFERDAM_DECL awaitable<code_context> code_interpreter::make_context(std::string language, std::string directory) {
  const std::string clean = workspace_path_or_root(directory, inside_->where().root);
  boost::json::object body;
  if (!language.empty()) body["language"] = cofferdam::detail::json_text(language);
  body["cwd"] = cofferdam::detail::json_text(cofferdam::detail::joined_path(inside_->where().root, clean));
  http_request what = request("POST", "/contexts");
  what.content("application/json", boost::json::serialize(body));
  return inside_->home().run([inside = inside_, by = client_, redact = redact_, what = std::move(what)] {
    return made_context(inside, by, redact, what);
  });
}

COFFERDAM_DECL awaitable<std::vector<code_context>> code_interpreter::contexts() {
  return inside_->home().run([inside = inside_, by = client_, redact = redact_, what = request("GET", "/contexts")] {
    return list(inside, by, redact, what);
  });
}

COFFERDAM_DECL awaitable<void> code_interpreter::restart(code_context which) {
  http_request what = request("POST", "/contexts/" + cofferdam::detail::percent_encoded(which.id()) + "/restart");
  return inside_->home().run([inside = inside_, by = client_, redact = redact_, what = std::move(what)] {
    return done(inside, by, redact, what, "restart a context");
  });
}

COFFERDAM_DECL awaitable<void> code_interpreter::remove(code_context which) {
  http_request what = request("DELETE", "/contexts/" + cofferdam::detail::percent_encoded(which.id()));
  return inside_->home().run([inside = inside_, by = client_, redact = redact_, what = std::move(what)] {
    return done(inside, by, redact, what, "remove a context");
  });
}

COFFERDAM_DECL http_request code_interpreter::request(std::string method, std::string_view path) const {
  http_request result(std::move(method), prefix_ + std::string(path));
  result.field("User-Agent", std::string(detail::user_agent));
  result.field("E2b-Sandbox-Id", inside_->id()).field("E2b-Sandbox-Port", std::to_string(port));
  const secret_string& token = inside_->daemon()->token();
  if (!token.empty()) result.secret_field("X-Access-Token", token);
  if (!inside_->info().traffic_token().empty())
    result.secret_field("E2B-Traffic-Access-Token", inside_->info().traffic_token());
  return result;
}

COFFERDAM_DECL awaitable<cofferdam::detail::http_exchange> code_interpreter::ask(
    shared inside, client by, redactor redact, http_request what, const char* doing,
    cofferdam::detail::http_limits limits) {
  co_await inside->until_running();
  cofferdam::detail::http_exchange answer;
  std::optional<error> failure;
  try {
    answer = co_await by->send(std::move(what), std::move(limits));
  } catch (const error& reason) {
    if (reason.code() == exec_errc::cancelled) throw;
    failure = reason;
  }
  if (failure) {
    const error why = co_await inside->daemon()->explain(*failure, doing);
    throw why;
  }
  if (answer.status() == 200) co_return answer;
  const int status = answer.status();
  bytes body = co_await answer.read_all(max_answer);
  const std::string message = redact.clean(detail::said_message(redact.clean(as_text(body))));
  if (status == 502 && message.find("port is not open") != std::string::npos)
    throw error(exec_errc::unsupported,
                "e2b: the sandbox has no code interpreter: use a template with one, such as code-interpreter-v1");
  co_await detail::envd::check_proxy(inside->daemon(), status, message, doing);
  throw detail::refused_code_error(doing, status, message);
}

COFFERDAM_DECL cofferdam::detail::http_limits code_interpreter::usual(const shared& inside) {
  cofferdam::detail::http_limits limits;
  limits.head(inside->daemon()->request_timeout()).idle(inside->daemon()->request_timeout());
  return limits;
}

COFFERDAM_DECL void code_interpreter::timed_run::end(std::exception_ptr why) {
  reads = false;
  failure = std::move(why);
  limit.cancel();
  changed.notify();
}

COFFERDAM_DECL void code_interpreter::timed_run::cancel() {
  limit.cancel();
  if (reads && !has_read) stop.emit(asio::cancellation_type::terminal);
}

COFFERDAM_DECL awaitable<execution> code_interpreter::execute(shared inside, client by, redactor redact,
                                                              http_request what, code source) {
  const auto begins = std::chrono::steady_clock::now();
  what.fields().set("Content-Type", "application/json");
  const std::string text = boost::json::serialize(source.body());
  // In chunks although the length is known: some proxies abort the response otherwise. See `in_chunks`.
  what.body(http_body(text).in_chunks());
  const auto current_run = std::make_shared<timed_run>(inside->executor(), source.limits());
  if (source.timeout() < longest) {
    current_run->limit.expires_after(source.timeout());
    // The time limit closes the connection. The service interrupts the code of a client that has disconnected.
    cofferdam::detail::on_expiry(current_run->limit, [current_run](std::error_code failure) {
      if (failure || !current_run->reads || current_run->has_read) return;
      current_run->expired = true;
      current_run->stop.emit(asio::cancellation_type::terminal);
    });
  }
  auto over = [current_run](std::exception_ptr failure) { current_run->end(failure); };
  cofferdam::detail::spawn_coroutine(inside->executor(),
                                     read(inside, by, std::move(redact), std::move(what), current_run), std::move(over),
                                     current_run->stop.slot());
  bool cancelled = false;
  while (current_run->reads) {
    const cofferdam::detail::wait_result result = co_await current_run->changed.wait();
    if (result != cofferdam::detail::wait_result::cancelled || cancelled) continue;
    cancelled = true;
    current_run->cancel();
    break;
  }
  if (cancelled) throw error(exec_errc::cancelled, "e2b: cannot run code: cancelled; the code is interrupted");
  if (current_run->failure && !current_run->expired) std::rethrow_exception(current_run->failure);
  if (current_run->expired) current_run->reader.time_out();
  if (!current_run->reader.ended())
    throw error(exec_errc::provider_lost, "e2b: cannot run code: the answer ended before the code did",
                net_errc::truncated);
  co_return current_run->reader.take(std::chrono::steady_clock::now() - begins);
}

COFFERDAM_DECL awaitable<void> code_interpreter::read(shared inside, client by, redactor redact, http_request what,
                                                      std::shared_ptr<timed_run> current_run) {
  constexpr const char* doing = "run code";
  cofferdam::detail::http_limits limits = usual(inside);
  limits.idle(silence);
  cofferdam::detail::http_exchange answer = co_await ask(inside, by, std::move(redact), std::move(what), doing, limits);
  std::array<std::byte, 32 * 1024> piece;
  std::optional<error> failure;
  try {
    while (!current_run->reader.ended()) {
      const std::size_t count = co_await answer.read_some(std::span(piece));
      if (count == 0) break;
      current_run->reader.feed(as_text(bytes_view(piece).first(count)));
    }
  } catch (const error& reason) {
    if (reason.code() == exec_errc::cancelled) throw;
    failure = reason;
  }
  if (failure) {
    const error why = co_await inside->daemon()->explain(*failure, doing);
    current_run->has_read = true;
    throw why;
  }
  current_run->has_read = true;
}

COFFERDAM_DECL awaitable<code_context> code_interpreter::made_context(shared inside, client by, redactor redact,
                                                                      http_request what) {
  constexpr const char* doing = "create a context";
  cofferdam::detail::http_exchange answer = co_await ask(inside, by, redact, std::move(what), doing, usual(inside));
  bytes body = co_await answer.read_all(max_answer);
  code_context created =
      context_of(cofferdam::detail::parse_object(as_text(body), exec_errc::io_error, "e2b: a context"));
  co_return created;
}

COFFERDAM_DECL awaitable<std::vector<code_context>> code_interpreter::list(shared inside, client by, redactor redact,
                                                                           http_request what) {
  cofferdam::detail::http_exchange answer =
      co_await ask(inside, by, redact, std::move(what), "list the contexts", usual(inside));
  bytes body = co_await answer.read_all(max_answer);
  std::error_code broken;
  const std::string_view text = as_text(body);
  const boost::json::value value = cofferdam::detail::parse_untrusted_json(text, broken);
  std::vector<code_context> result;
  if (broken || !value.is_array())
    throw error(exec_errc::io_error, "e2b: cannot list the contexts: the answer is not a JSON array");
  for (const boost::json::value& each : value.get_array())
    if (const boost::json::object* const object = each.if_object()) result.push_back(context_of(*object));
  co_return result;
}

COFFERDAM_DECL awaitable<void> code_interpreter::done(shared inside, client by, redactor redact, http_request what,
                                                      const char* doing) {
  cofferdam::detail::http_exchange answer = co_await ask(inside, by, redact, std::move(what), doing, usual(inside));
  co_await answer.read_all(max_answer);
}

COFFERDAM_DECL code_context code_interpreter::context_of(const boost::json::object& object) {
  using cofferdam::detail::text_at;
  return code_context(std::string(text_at(object, "id")), std::string(text_at(object, "language")),
                      std::string(text_at(object, "cwd")));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
