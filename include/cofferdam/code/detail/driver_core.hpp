// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/driver_link.hpp>
#include <cofferdam/core/allotment.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/utf8.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::detail {

/// What a runner is but for its environment: the driver, and how runs go through it.
///
/// `Settings` has `timeout`, `start_timeout`, `interrupt_grace`, `kept_output`, `most_files`, `limits`; `name` and
/// `interpreter`, for sentences; `driver_command()`, and `driver_input()`, what the driver reads first. Where it has them,
/// `version_command()` is run after a driver did not start, and `require_version(result)` throws if that is why.
template <class Settings>
class driver_core {
 public:
  using clock = std::chrono::steady_clock;

  driver_core(asio::any_io_executor executor, std::shared_ptr<const Settings> all)
      : settings(std::move(all)), executor_(std::move(executor)), turn_(executor_, 1) {}

  const std::shared_ptr<const Settings> settings;

  bool closed() const noexcept { return closed_; }
  const std::shared_ptr<driver_link>& link() const noexcept { return link_; }
  bool works() const noexcept { return link_ && !link_->over(); }

  void abandon() {
    closed_ = true;
    if (link_) link_->abandon();
  }

  /// Starts a driver where none works.
  /// \throws error{errc::provider_failed}, error{errc::cancelled}, error{errc::environment_closed}; what `start` and
  ///         `require_version` throw.
  template <streaming_environment E>
  static awaitable<void> ensure(std::shared_ptr<driver_core> self, E& environment) {
    co_await self->turn_.take(1, "run_code");
    const allotted mine(self->turn_, 1);
    self->require_open();
    if (self->works()) co_return;
    if (self->link_) {
      const std::shared_ptr<driver_link> old = std::exchange(self->link_, nullptr);
      co_await shielded([&old] { return driver_link::end(old, std::chrono::milliseconds(0)); });
    }
    process running = co_await environment.start(self->settings->driver_command());
    const auto started = std::make_shared<driver_link>(self->executor_, std::move(running));
    started->start(to_bytes(self->settings->driver_input()));
    const clock::time_point limit = clock::now() + self->settings->start_timeout;
    bool cancelled = false;
    while (!started->ready() && !started->over() && started->complaint().empty() && !cancelled &&
           clock::now() < limit) {
      const bool seen = co_await started->changed(limit);
      cancelled = seen;
    }
    if (started->ready() && !cancelled && !self->closed_) {
      self->link_ = started;
      self->walls_ = self->settings->walls(started->walls());
      self->restarted_ = std::exchange(self->has_started_, true);
      co_return;
    }
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    const bool silent = !started->over() && started->complaint().empty();
    const auto grace = std::chrono::milliseconds(started->complaint().empty() ? 0 : 1000);
    co_await shielded([&started, &grace] { return driver_link::end(started, grace); });
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (cancelled)
      throw error(errc::cancelled, self->settings->name + ": cancelled while the interpreter was starting");
    self->require_open();
    if (started->failure()) std::rethrow_exception(started->failure());
    if constexpr (requires(const command_result& about) { self->settings->require_version(about); }) {
      command asks = self->settings->version_command();
      const command_result about = co_await environment.run_command(std::move(asks));
      self->require_open();
      self->settings->require_version(about);
    }
    throw error(errc::provider_failed,
                self->settings->name + ": " + why_not_started(*started, silent, self->settings->interpreter));
  }

  /// Runs a piece of code by a driver that works.
  static awaitable<code_result> run(std::shared_ptr<driver_core> self, code_request request) {
    const std::shared_ptr<driver_link> link = self->link_;
    std::shared_ptr<const protections> walls = self->walls_;
    const Settings& settings = *self->settings;
    const std::size_t keep = std::min(request.kept_output().value_or(settings.kept_output), most_kept);
    const auto limit = request.timeout().value_or(settings.timeout);
    const bool in_context = request.context().has_value();
    const auto one = std::make_shared<driven_run>(self->executor_, std::move(request), keep);
    const std::string body = body_of(one->request, settings);
    if (!is_valid_utf8(body) || !is_valid_utf8(one->request.context().value_or("")))
      co_return code_result::refused(error_kind::invalid_argument,
                                     "The code, a variable or a name in it is not UTF-8.");
    link->begin(one, header_of(*one, settings, limit), body);
    const bool restarted = std::exchange(self->restarted_, false);
    bool cancelled = false;
    bool silent = false;
    std::shared_ptr<driver_question> sign;  // of life, where it waits in a queue
    while (!one->result && !cancelled && !silent && !one->listener_failure) {
      link->serve_calls(one);
      const clock::time_point patience = patience_with(*one, in_context, limit, settings.interrupt_grace);
      const bool seen = co_await one->changed.wait(patience);
      cancelled = seen;
      if (clock::now() < patience) continue;
      silent = one->turn != run_turn::queued || (sign && !sign->answer);
      if (silent) break;
      sign = std::make_shared<driver_question>(self->executor_);
      boost::json::object question;
      question["op"] = "contexts";
      link->ask(sign, std::move(question));
    }
    one->cancelled = cancelled || one->listener_failure;
    if (one->cancelled || silent || one->calling) {
      const bool throws = co_await asio::this_coro::throw_if_cancelled();
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await shielded(
          [&link, &one, &silent, &settings] { return finish(link, one, silent, settings.interrupt_grace); });
      co_await asio::this_coro::throw_if_cancelled(throws);
    }
    code_result result = std::move(*one->result);
    if (cancelled)
      throw error(errc::cancelled, "run_code: cancelled; the code was ended").with_partial(partial_of(result));
    if (one->listener_failure) std::rethrow_exception(one->listener_failure);
    if (one->lost) self->explain_loss(*link, silent, result);
    result.displays(std::move(one->displays)).driver_restarted(restarted).walls(std::move(walls));
    co_return result;
  }

  /// Asks the driver something that it answers at once; nothing where there is no driver.
  static awaitable<std::optional<boost::json::object>> ask(std::shared_ptr<driver_core> self,
                                                           boost::json::object header) {
    self->require_open();
    const std::shared_ptr<driver_link> link = self->link_;
    if (!self->works()) co_return std::nullopt;
    const auto question = std::make_shared<driver_question>(self->executor_);
    const std::uint64_t number = link->ask(question, std::move(header));
    const clock::time_point limit = clock::now() + std::chrono::seconds(30);
    bool cancelled = false;
    while (!question->answer && !link->over() && !cancelled && clock::now() < limit) {
      const bool seen = co_await question->changed.wait(limit);
      cancelled = seen;
    }
    link->forget(number);
    if (cancelled)
      throw error(errc::cancelled, self->settings->name + ": cancelled while the driver was asked for its contexts");
    co_return std::move(question->answer);
  }

  static awaitable<std::vector<std::string>> contexts(std::shared_ptr<driver_core> self) {
    boost::json::object question;
    question["op"] = "contexts";
    std::optional<boost::json::object> answer = co_await ask(self, std::move(question));
    std::vector<std::string> names;
    const boost::json::value* const listed = answer ? answer->if_contains("names") : nullptr;
    if (listed != nullptr && listed->is_array())
      for (const boost::json::value& each : listed->get_array())
        if (each.is_string()) names.emplace_back(view_of(each.get_string()));
    co_return names;
  }

  static awaitable<bool> end_context(std::shared_ptr<driver_core> self, std::string name) {
    boost::json::object question;
    question["op"] = "drop";
    question["context"] = name;
    std::optional<boost::json::object> answer = co_await ask(self, std::move(question));
    co_return answer&& true_member(*answer, "found");
  }

  /// Ends the driver. Not to be cancelled.
  static awaitable<void> close(std::shared_ptr<driver_core> self) {
    self->closed_ = true;
    co_await self->turn_.take(1, "close");
    const allotted mine(self->turn_, 1);
    const std::shared_ptr<driver_link> link = std::exchange(self->link_, nullptr);
    if (link) co_await driver_link::end(link, std::chrono::seconds(2));
  }

  void require_open() const {
    if (closed_) throw error(errc::environment_closed, settings->name + ": the runner is closed");
  }

 private:
  /// The driver ends runs in time. One that is silent for longer was stopped, or has no processor to run on.
  static constexpr std::chrono::seconds driver_slack{10};
  /// Of one stream: more does not fit into a frame.
  static constexpr std::size_t most_kept = 512U * 1024 * 1024;

  static clock::time_point patience_with(const driven_run& one, bool in_context, std::chrono::milliseconds limit,
                                         std::chrono::milliseconds grace) {
    if (in_context && one.turn == run_turn::unknown) return one.began + 3 * driver_slack;
    if (one.turn == run_turn::queued) return clock::now() + driver_slack;
    if (limit > std::chrono::hours(24 * 365)) return clock::time_point::max();
    return one.began + limit + grace + driver_slack;
  }

  /// Ends what is left of a run: its call of a host function, and itself; a silent driver, too.
  static awaitable<void> finish(std::shared_ptr<driver_link> link, std::shared_ptr<driven_run> one, bool silent,
                                std::chrono::milliseconds grace) {
    if (one->calling) one->cancel_call.emit(asio::cancellation_type::terminal);
    if (!one->result && !silent) {
      link->cancel(*one);
      const clock::time_point limit = clock::now() + grace + driver_slack;
      while (!one->result && clock::now() < limit) co_await one->changed.wait(limit);
    }
    if (!one->result) {
      co_await driver_link::kill(link);
      const clock::time_point limit = clock::now() + driver_slack;
      while (!one->result && clock::now() < limit) co_await one->changed.wait(limit);
    }
    if (!one->result) link->abandon();
    while (!one->result || one->calling) co_await one->changed.wait(clock::time_point::max());
  }

  void explain_loss(const driver_link& link, bool silent, code_result& result) const {
    if (closed_)
      throw error(errc::environment_closed, "run_code: the runner was closed; the code was ended")
          .with_partial(partial_of(result));
    if (silent) {
      result.kind(error_kind::timeout)
          .reason("The code ran longer than its time limit, and the Python driver did not end it; both were ended.");
      return;
    }
    if (link.failure()) {
      try {
        std::rethrow_exception(link.failure());
      } catch (const error& reason) {
        throw reason.with_partial(partial_of(result));
      }
    }
    if (link.ended_as() && link.ended_as()->kind() == error_kind::timeout) {
      result.kind(error_kind::timeout)
          .reason(
              "The time limit of a layer below the runner has ended the interpreter itself, with all contexts. Give "
              "limits to the runner, or to each piece of code.");
      return;
    }
    result.kind(error_kind::execution_error)
        .reason(
            "The Python driver has died while the code ran, perhaps by the code's own doing; the next run starts "
            "another, and contexts begin afresh.");
  }

  static std::shared_ptr<const command_result> partial_of(const code_result& result) {
    auto partial = std::make_shared<command_result>();
    partial->out(result.out()).err(result.err()).duration(result.duration());
    return partial;
  }

  static std::string why_not_started(const driver_link& link, bool silent, const std::string& interpreter) {
    const std::string name = "'" + one_line(interpreter) + "'";
    if (silent) return name + " had not loaded everything within the start timeout";
    if (!link.complaint().empty()) return "the driver cannot start: " + one_line(link.complaint(), 3000);
    const std::optional<command_result>& ended = link.ended_as();
    if (ended && ended->kind() != error_kind::none) return name + " did not start: " + ended->reason();
    if (ended) {
      std::string said = "; it said: '" + one_line(link.said(), 2000) + "'";
      if (link.said().empty()) said = "; it said nothing";
      return name + " ended with exit code " + std::to_string(ended->exit_code()) + said;
    }
    return name + " was lost while it started";
  }

  static boost::json::object header_of(const driven_run& one, const Settings& settings,
                                       std::chrono::milliseconds limit) {
    boost::json::object header;
    header["op"] = "run";
    header["keep"] = one.keep;
    header["files"] = settings.most_files;
    header["grace"] = settings.interrupt_grace.count();
    header["timeout"] = nullptr;
    if (limit < std::chrono::hours(24 * 365)) header["timeout"] = limit.count();
    header["context"] = nullptr;
    if (one.request.context()) header["context"] = *one.request.context();
    return header;
  }

  static std::string body_of(const code_request& request, const Settings& settings) {
    boost::json::object body;
    body["code"] = request.source();
    body["prelude"] = request.prelude();
    boost::json::value variables(request.variables());
    mark_special_floats(variables);
    body["variables"] = std::move(variables);
    boost::json::array functions;
    for (const host_function& each : request.functions()) functions.emplace_back(described(each));
    body["functions"] = std::move(functions);
    body["final"] = nullptr;
    if (!request.final_name().empty()) {
      boost::json::object final_function;
      final_function["name"] = request.final_name();
      boost::json::array fields;
      for (const std::string& each : request.final_fields()) fields.emplace_back(each);
      final_function["fields"] = std::move(fields);
      body["final"] = std::move(final_function);
    }
    body["limits"] = settings.limits;
    body["environment"] = request.environment();
    body["quiet"] = request.is_quiet_failure();
    body["most_value"] = 4 * 1024 * 1024;
    return boost::json::serialize(body);
  }

  static boost::json::object described(const host_function& one) {
    boost::json::object about;
    about["name"] = one.name();
    about["doc"] = one.doc();
    boost::json::array parameters;
    for (const host_parameter& each : one.parameters()) {
      boost::json::object parameter;
      parameter["name"] = each.name();
      parameter["type"] = each.type();
      if (each.default_value()) parameter["default"] = *each.default_value();
      parameters.emplace_back(std::move(parameter));
    }
    about["parameters"] = std::move(parameters);
    return about;
  }

  asio::any_io_executor executor_;
  allotment turn_;
  std::shared_ptr<driver_link> link_;
  std::shared_ptr<const protections> walls_;
  bool has_started_ = false;
  bool restarted_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline v0::detail
