// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/call_chain.hpp>
#include <cofferdam/code/detail/driver_calls.hpp>
#include <cofferdam/code/detail/driver_link.hpp>
#include <cofferdam/code/detail/request_values.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The state of a runner, without its environment: the driver (an interpreter process that starts all runs) and the
/// runs.
///
/// `Settings` is the type of the runner's settings. It has the members `timeout`, `start_timeout`, `interrupt_grace`,
/// `kept_output`, `max_files` and `limits`. `name` and `interpreter` are used in error messages. `driver_command()`
/// returns the command that starts the driver, and `driver_input()` the first input of the driver. Two further members
/// are optional: after a failed start, the command of `version_command()` is run, and `require_version(result)` throws
/// if a wrong version is the cause.
template <class Settings>
class driver_core {
 public:
  using clock = std::chrono::steady_clock;

  /// \param executor  the strand of the driver. It may also be the strand of the environment.
  driver_core(asio::any_io_executor executor, std::shared_ptr<const Settings> shared_settings)
      : settings(std::move(shared_settings)), home_(executor), executor_(std::move(executor)), turn_(executor_, 1) {}

  const std::shared_ptr<const Settings> settings;

  /// Returns the strand on which this object is used. Only the settings may be read elsewhere.
  const home_strand& home() const noexcept { return home_; }

  bool closed() const noexcept { return closed_; }
  const std::shared_ptr<driver_link>& link() const noexcept { return link_; }
  bool works() const noexcept { return link_ && !link_->over(); }

  void abandon() {
    closed_ = true;
    if (link_) link_->abandon();
  }

  /// Starts a driver unless one is already running.
  /// \throws error{exec_errc::provider_failed} if the driver cannot be started.
  /// \throws error{exec_errc::cancelled} if the coroutine is cancelled.
  /// \throws error{exec_errc::environment_closed} if the runner is closed.
  /// \throws the exceptions of the environment's `start` and of the settings' `require_version`.
  static awaitable<void> ensure(std::shared_ptr<driver_core> self, driver_place& environment) {
    co_await self->turn_.acquire(1, "run_code");
    const held_permits mine(self->turn_, 1);
    self->require_open();
    if (self->works()) co_return;
    if (self->link_) {
      const std::shared_ptr<driver_link> old = std::exchange(self->link_, nullptr);
      co_await shielded([&old] { return driver_link::end(old, std::chrono::milliseconds(0)); });
    }
    std::shared_ptr<driver_link> started;
    bool cancelled = false;
    bool works = false;
    bool silent = false;
    const auto starts = [&]() -> awaitable<void> {
      process running = co_await environment.start(self->settings->driver_command());
      started = std::make_shared<driver_link>(self->executor_, std::move(running));
      started->start(to_bytes(self->settings->driver_input()));
      const clock::time_point limit = clock::now() + self->settings->start_timeout;
      while (!started->ready() && !started->over() && started->complaint().empty() && !cancelled &&
             clock::now() < limit) {
        const wait_result ended = co_await started->changed(limit);
        cancelled = ended == wait_result::cancelled;
      }
      works = started->ready() && !cancelled && !self->closed_;
    };
    const auto ends = [&]() -> awaitable<void> {
      if (works || !started) return {};
      const bool complains = !started->complaint().empty();
      silent = !started->over() && !complains;
      return driver_link::end(started, std::chrono::milliseconds(complains ? 1000 : 0));
    };
    co_await with_cleanup(starts, ends);
    if (works) {
      self->link_ = started;
      self->isolation_ = self->settings->isolation(started->isolation());
      self->restarted_ = std::exchange(self->has_started_, true);
      co_return;
    }
    if (cancelled)
      throw error(exec_errc::cancelled, self->settings->name + ": cancelled while the interpreter was starting");
    self->require_open();
    if (started->failure()) std::rethrow_exception(started->failure());
    if constexpr (requires(const command_result& about) { self->settings->require_version(about); }) {
      command asks = self->settings->version_command();
      const command_result about = co_await environment.run_command(std::move(asks));
      self->require_open();
      self->settings->require_version(about);
    }
    throw error(exec_errc::provider_failed,
                self->settings->name + ": " + why_not_started(*started, silent, self->settings->interpreter));
  }

  /// Runs a piece of code. It may be called on any executor.
  static awaitable<code_result> run_anywhere(std::shared_ptr<driver_core> self, driver_place& environment,
                                             code_request request) {
    const asio::any_io_executor caller = co_await asio::this_coro::executor;
    const home_strand home = self->home_;
    const auto work = [&self, &environment, &caller, &request] {
      return run(std::move(self), environment, caller, request);
    };
    code_result result = co_await home.run(work);
    co_return result;
  }

  /// Runs a piece of code. If no driver is running, starts one first. It must be called on the driver's strand.
  /// \param environment  the environment in which the driver is started; it must outlive the run.
  /// \param caller       the caller's executor.
  /// \param asked        the request, which is moved from.
  static awaitable<code_result> run(std::shared_ptr<driver_core> self, driver_place& environment,
                                    const asio::any_io_executor& caller, code_request& asked) {
    self->require_open();
    if (!self->works()) co_await ensure(self, environment);
    const std::shared_ptr<const waiting_run> waiting = runs_waiting_for(caller);
    const std::shared_ptr<driver_link> link = self->link_;
    std::shared_ptr<const isolation_report> isolation = self->isolation_;
    const Settings& settings = *self->settings;
    const std::size_t keep = std::min(asked.kept_output().value_or(settings.kept_output), max_kept);
    const auto limit = asked.timeout().value_or(settings.timeout);
    self->require_no_deadlock(waiting.get(), asked.context());
    const auto current_run = std::make_shared<driven_run>(self->executor_, std::move(asked), keep);
    current_run->prepare_calls(caller, self.get(), waiting);
    const std::string body = body_of(current_run->request, settings);
    if (!is_valid_utf8(body) || !is_valid_utf8(current_run->request.context().value_or("")))
      co_return code_result::refused(error_kind::invalid_argument,
                                     "The code, a variable or a name in it is not UTF-8.");
    bool begun = false;
    bool restarted = false;
    bool cancelled = false;
    bool silent = false;
    const auto runs = [&]() -> awaitable<void> {
      send_run(*link, current_run, settings, limit, body);
      begun = true;
      restarted = std::exchange(self->restarted_, false);
      std::shared_ptr<driver_question> sign;  // to check that the driver responds while the run waits in a queue
      while (!current_run->result && !cancelled && !silent && !current_run->listener_failure) {
        link->serve_calls(current_run);
        const clock::time_point patience = patience_with(*current_run, limit, settings.interrupt_grace);
        const wait_result ended = co_await current_run->changed.wait(patience);
        cancelled = ended == wait_result::cancelled;
        if (clock::now() < patience) continue;
        silent = !current_run->waits_for_turn() || (sign && !sign->answer);
        if (silent) break;
        sign = std::make_shared<driver_question>(self->executor_);
        boost::json::object question;
        question["op"] = "contexts";
        link->ask(sign, std::move(question));
      }
    };
    const auto finishes = [&]() -> awaitable<void> {
      if (!begun) return {};  // the driver has not received the run
      current_run->cancelled = cancelled || current_run->listener_failure;
      if (current_run->result && !current_run->calling && !current_run->has_posted) return {};
      return finish(link, current_run, silent, settings.interrupt_grace);
    };
    co_await with_cleanup(runs, finishes);
    code_result result = std::move(*current_run->result);
    if (cancelled)
      throw error(exec_errc::cancelled, "run_code: cancelled; the code was ended").with_partial(partial_of(result));
    if (current_run->listener_failure) std::rethrow_exception(current_run->listener_failure);
    if (current_run->lost) self->explain_loss(*link, silent, result);
    result.displays(std::move(current_run->displays)).driver_restarted(restarted).isolation(std::move(isolation));
    co_return result;
  }

  /// Sends a question to the driver, which answers it at once. Returns no value if no driver is running.
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
      const wait_result ended = co_await question->changed.wait(limit);
      cancelled = ended == wait_result::cancelled;
    }
    link->forget(number);
    if (cancelled)
      throw error(exec_errc::cancelled, self->settings->name + ": cancelled while reading the list of contexts");
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
    co_return answer&& is_true_at(*answer, "found");
  }

  /// Ends the driver and all runs. Must not be cancelled.
  static awaitable<void> close(std::shared_ptr<driver_core> self) {
    self->closed_ = true;
    co_await self->turn_.acquire(1, "close");
    const held_permits mine(self->turn_, 1);
    const std::shared_ptr<driver_link> link = std::exchange(self->link_, nullptr);
    if (link) co_await driver_link::end(link, std::chrono::seconds(2));
  }

  void require_open() const {
    if (closed_) throw error(exec_errc::environment_closed, settings->name + ": the runner is closed");
  }

 private:
  /// The time that the driver has to report the end of a run after the run's time limit. If the report is later, the
  /// driver does not work (it was suspended by SIGSTOP, or gets no processor time) and is killed.
  static constexpr std::chrono::seconds driver_slack{10};
  /// The maximum number of bytes that are kept of one output stream. More would not fit into a frame.
  static constexpr std::size_t max_kept = 512U * 1024 * 1024;

  /// Throws error{exec_errc::deadlock} if the new run needs a context or an interpreter that is occupied until the
  /// caller has ended.
  /// \param waiting  the runs that wait for the caller; may be null.
  void require_no_deadlock(const waiting_run* waiting, const std::optional<std::string>& context) const {
    if (waiting == nullptr) return;
    if (context && waiting->holds(this, *context))
      throw error(exec_errc::deadlock, "run_code: the context '" + one_line(*context, 100) +
                                           "' is running the code that called this host function, so this run would "
                                           "wait for itself; use another context, or none");
    if constexpr (requires { settings->interpreters(); }) {
      if (!context && waiting->without_context(this) >= settings->interpreters())
        throw error(exec_errc::deadlock,
                    "run_code: each of the " + std::to_string(settings->interpreters()) +
                        " interpreters for runs without a context is running code that called a host function and "
                        "waits for it; raise at_once, or run the code in a context");
    }
  }

  static clock::time_point patience_with(const driven_run& current_run, std::chrono::milliseconds limit,
                                         std::chrono::milliseconds grace) {
    if (current_run.waits_for_turn()) return clock::now() + driver_slack;
    if (limit > std::chrono::hours(24 * 365)) return clock::time_point::max();
    return current_run.began + limit + grace + driver_slack;
  }

  /// Ends the remaining parts of a run: the host function that it has called, the run itself, and the driver if it does
  /// not respond. Waits until the request's listeners have received everything.
  static awaitable<void> finish(std::shared_ptr<driver_link> link, std::shared_ptr<driven_run> current_run, bool silent,
                                std::chrono::milliseconds grace) {
    if (current_run->calling) current_run->cancel_call.emit(asio::cancellation_type::terminal);
    if (!current_run->result && !silent) {
      link->cancel(*current_run);
      const clock::time_point limit = clock::now() + grace + driver_slack;
      while (!current_run->result && clock::now() < limit) co_await current_run->changed.wait(limit);
    }
    if (!current_run->result) {
      co_await driver_link::kill(link);
      const clock::time_point limit = clock::now() + driver_slack;
      while (!current_run->result && clock::now() < limit) co_await current_run->changed.wait(limit);
    }
    if (!current_run->result) link->abandon();
    while (!current_run->result || current_run->calling) co_await current_run->changed.wait();
    if (current_run->has_posted) co_await driven_run::until_listeners_done(current_run);
  }

  void explain_loss(const driver_link& link, bool silent, code_result& result) const {
    if (closed_)
      throw error(exec_errc::environment_closed, "run_code: the runner was closed; the code was ended")
          .with_partial(partial_of(result));
    if (silent) {
      result.kind(error_kind::timeout)
          .reason("The code ran longer than its time limit, and the Python driver did not stop it; both were ended.");
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
              "The time limit of a layer below the runner ended the interpreter and all contexts. Set time limits on "
              "the runner, or on each request.");
      return;
    }
    result.kind(error_kind::execution_error)
        .reason(
            "The Python driver died while the code ran, perhaps because of the code; the next run starts a new driver, "
            "and all contexts start empty.");
  }

  static std::shared_ptr<const command_result> partial_of(const code_result& result) {
    auto partial = std::make_shared<command_result>();
    partial->out(result.out()).err(result.err()).duration(result.duration());
    return partial;
  }

  static std::string why_not_started(const driver_link& link, bool silent, const std::string& interpreter) {
    const std::string name = "'" + one_line(interpreter) + "'";
    if (silent) return name + " did not finish loading within the start timeout";
    if (!link.complaint().empty()) return "the driver cannot start: " + one_line(link.complaint(), 3000);
    const std::optional<command_result>& ended = link.ended_as();
    if (ended && ended->kind() != error_kind::none)
      return name + " did not start: " + ended->reason() + (ended->advice().empty() ? "" : ". " + ended->advice());
    if (ended) {
      std::string stderr_note = "; its error output: '" + one_line(link.stderr_text(), 2000) + "'";
      if (link.stderr_text().empty()) stderr_note = "; it printed no error";
      return name + " ended with exit code " + std::to_string(ended->exit_code()) + stderr_note;
    }
    return name + " was lost during its start";
  }

  /// Sends a run to the driver.
  static void send_run(driver_link& link, const std::shared_ptr<driven_run>& current_run, const Settings& settings,
                       std::chrono::milliseconds limit, std::string_view body) {
    std::array<unsigned char, 2048> room;
    boost::json::monotonic_resource memory(room.data(), room.size());
    boost::json::object header(&memory);
    header.reserve(16);
    header["op"] = "run";
    header["keep"] = current_run->keep;
    header["files"] = settings.max_files;
    header["grace"] = settings.interrupt_grace.count();
    header["timeout"] = nullptr;
    if (limit < std::chrono::hours(24 * 365)) header["timeout"] = limit.count();
    header["keep_files"] = std::min(current_run->request.kept_files(), max_kept);
    header["context"] = nullptr;
    if (current_run->request.context()) header["context"] = *current_run->request.context();
    link.begin(current_run, std::move(header), body);
  }

  /// Returns the request as the interpreter receives it. A member that is empty is left out.
  static std::string body_of(const code_request& request, const Settings& settings) {
    std::array<unsigned char, 4096> room;
    boost::json::monotonic_resource memory(room.data(), room.size());
    boost::json::object body = request_values(request, &memory);
    body["code"] = request.source();
    boost::json::array functions(&memory);
    for (const host_function& each : request.functions()) functions.emplace_back(described(each, &memory));
    if (!functions.empty()) body["functions"] = std::move(functions);
    if (!request.final_name().empty()) {
      boost::json::object final_function(&memory);
      final_function["name"] = request.final_name();
      boost::json::array fields(&memory);
      for (const std::string& each : request.final_fields()) fields.emplace_back(each);
      final_function["fields"] = std::move(fields);
      body["final"] = std::move(final_function);
    }
    if (!settings.limits.empty()) body["limits"] = settings.limits;
    if (request.kept_files() > 0) body["keep_files"] = std::min(request.kept_files(), max_kept);
    if (!request.environment().empty()) body["environment"] = request.environment();
    if (request.is_quiet_failure()) body["quiet"] = true;
    return boost::json::serialize(body);
  }

  static boost::json::object described(const host_function& function, const boost::json::storage_ptr& memory) {
    boost::json::object about(memory);
    about["name"] = function.name();
    about["doc"] = function.doc();
    boost::json::array parameters(memory);
    for (const host_parameter& each : function.parameters()) {
      boost::json::object parameter(memory);
      parameter["name"] = each.name();
      parameter["type"] = each.type();
      if (each.default_value()) parameter["default"] = *each.default_value();
      parameters.emplace_back(std::move(parameter));
    }
    about["parameters"] = std::move(parameters);
    return about;
  }

  home_strand home_;
  asio::any_io_executor executor_;
  async_semaphore turn_;
  std::shared_ptr<driver_link> link_;
  std::shared_ptr<const isolation_report> isolation_;
  bool has_started_ = false;
  bool restarted_ = false;
  bool closed_ = false;
};

template <class Settings>
std::shared_ptr<driver_core<Settings>> make_core(asio::any_io_executor strand,
                                                 std::shared_ptr<const Settings> settings) {
  return std::make_shared<driver_core<Settings>>(std::move(strand), std::move(settings));
}

template <class Settings>
const home_strand& home_of(const driver_core<Settings>& core) {
  return core.home();
}

template <class Settings>
const Settings& settings_of(const driver_core<Settings>& core) {
  return *core.settings;
}

template <class Settings>
std::string version_of(const driver_core<Settings>& core) {
  return core.home().look([&core] { return core.link() ? core.link()->version() : std::string(); });
}

template <class Settings>
awaitable<void> ensure_driver(std::shared_ptr<driver_core<Settings>> core, driver_place& place) {
  return driver_core<Settings>::ensure(std::move(core), place);
}

template <class Settings>
awaitable<code_result> run_by_driver(std::shared_ptr<driver_core<Settings>> core, driver_place& place,
                                     code_request request) {
  return driver_core<Settings>::run_anywhere(std::move(core), place, std::move(request));
}

template <class Settings>
awaitable<std::vector<std::string>> contexts_of(std::shared_ptr<driver_core<Settings>> core) {
  const home_strand home = core->home();
  return home.run([core = std::move(core)] { return driver_core<Settings>::contexts(core); });
}

template <class Settings>
awaitable<bool> end_context_of(std::shared_ptr<driver_core<Settings>> core, std::string name) {
  const home_strand home = core->home();
  return home.run([core = std::move(core), name = std::move(name)]() mutable {
    return driver_core<Settings>::end_context(core, std::move(name));
  });
}

template <class Settings>
awaitable<void> close_driver(std::shared_ptr<driver_core<Settings>> core) {
  return driver_core<Settings>::close(std::move(core));
}

template <class Settings>
void abandon_driver(std::shared_ptr<driver_core<Settings>> core, std::unique_ptr<driver_place> place) noexcept {
  if (!core) return;
  const home_strand home = core->home();
  home.run_soon([place = std::move(place), core = std::move(core)] {
    try {
      core->abandon();
    } catch (const std::exception&) {  // out of memory: the destruction of the environment ends the driver
    }
  });
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
