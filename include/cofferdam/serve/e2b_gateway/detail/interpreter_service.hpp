// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/code/notebook_python.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/arrival.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_lines.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_run.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>
#include <cofferdam/serve/e2b_gateway/options.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The code interpreter of one sandbox: its runner, its contexts and its executions.
class interpreter_service final : public e2b_gateway::port_service {
 public:
  interpreter_service(any_environment& environment, const e2b_gateway::sandbox_facts& facts,
                      std::shared_ptr<const interpreter_settings> settings)
      : environment_(environment),
        facts_(facts),
        settings_(std::move(settings)),
        memory_(std::make_shared<interpreter_memory>(settings_->memory, settings_->request)),
        paths_(facts.home(), facts.workspace()) {}

  awaitable<void> serve(http_call& call) override {
    if (!starting_) {
      executor_ = co_await asio::this_coro::executor;
      starting_ = std::make_unique<cofferdam::detail::async_semaphore>(executor_, 1);
      // E2B's server makes the default context before it serves clients, so this context is the oldest.
      usual_context(false);
    }
    std::optional<http_reply> reply;
    std::exception_ptr told;
    try {
      http_reply answered = co_await answer(call);
      reply = std::move(answered);
    } catch (const http_refusal& refusal) {
      reply = text_reply(refusal.status(), refusal.what());
    } catch (const schema_failure& failure) {
      reply = json_reply(422, failure.detail());
    } catch (const error& failure) {
      if (call.replied() || is_connection_failure(failure)) throw;
      const int status = http_status_of(failure);
      const bool is_start = failure.code() == exec_errc::provider_failed;  // of Python in the sandbox
      // A body that is too large is refused by the HTTP server itself, which also announces the end of the connection.
      if (cofferdam::detail::is_environment_gone(failure) || status == 413 || (status == 500 && !is_start)) throw;
      if (is_start || is_of_request_inside(failure)) {
        reply = text_reply(status, printable(failure.what()));
      } else {
        told = std::current_exception();
        reply = text_reply(status, "The sandbox could not run this request");
      }
    }
    if (reply && !call.replied()) co_await call.reply(std::move(*reply));
    if (told) std::rethrow_exception(told);
  }

  awaitable<void> close() override {
    if (runner_) co_await runner_->close();
    runner_.reset();
  }

 private:
  using runner = runner_of<python_provider<environment_ref<any_environment>>>;
  using context_pointer = std::shared_ptr<interpreter_context>;
  using run_pointer = std::shared_ptr<interpreter_run>;

  /// An exception for an invalid body. The reply has the format of FastAPI, because E2B's server uses FastAPI.
  class schema_failure : public std::exception {
   public:
    schema_failure(std::string member, std::string why) : member_(std::move(member)), why_(std::move(why)) {}
    const char* what() const noexcept override { return why_.c_str(); }
    boost::json::object detail() const {
      boost::json::array where;
      where.emplace_back("body");
      if (!member_.empty()) where.emplace_back(cofferdam::detail::json_view(member_));
      boost::json::object entry;
      entry["type"] = "value_error";
      entry["loc"] = std::move(where);
      entry["msg"] = cofferdam::detail::json_view(why_);
      boost::json::array entries;
      entries.emplace_back(std::move(entry));
      boost::json::object object;
      object["detail"] = std::move(entries);
      return object;
    }

   private:
    std::string member_;
    std::string why_;
  };

  static std::string printable(std::string_view text) {
    std::string repaired;
    cofferdam::detail::append_repaired_utf8(repaired, text);
    return repaired;
  }
  static http_reply said(int status, std::string_view text) {
    boost::json::object object;
    object["detail"] = cofferdam::detail::json_view(text);
    return json_reply(status, object);
  }

  /// Handles a request. The returned reply is used only if no reply was sent already.
  awaitable<http_reply> answer(http_call& call) {
    const std::string path(call.path());
    const bool is_get = call.method() == "GET";
    const bool is_post = call.method() == "POST";
    constexpr std::string_view contexts = "/contexts/";
    constexpr std::string_view restart = "/restart";
    http_reply reply = said(405, "Method Not Allowed");
    if (path == "/health") {
      if (is_get) reply = json_reply(200, "OK");
    } else if (path == "/execute") {
      if (is_post) co_await execute(call);
    } else if (path == "/contexts") {
      if (is_get) reply = json_reply(200, list());
      if (is_post) {
        boost::json::object created = co_await make_context(call);
        reply = json_reply(200, created);
      }
    } else if (path.starts_with(contexts)) {
      std::string id = path.substr(contexts.size());
      const bool restarts = id.ends_with(restart);
      if (restarts) id.resize(id.size() - restart.size());
      if (call.method() == (restarts ? "POST" : "DELETE")) {
        co_await end_context(form_decode(id), restarts);
        reply = json_reply(200, nullptr);
      }
    } else {
      reply = said(404, "Not Found");
    }
    co_return reply;
  }

  // ---- the bodies of requests ----

  /// Reads the body of a request.
  /// \param share  counts the bytes while they arrive.
  /// \param body   receives the bytes. The caller keeps all parameters until this completes.
  awaitable<void> read_body(http_call& call, interpreter_share& share, bytes& body) {
    call.body_limit(settings_->request);
    std::array<std::byte, 16 * 1024> piece;
    for (;;) {
      const std::size_t count = co_await call.read_some(piece);
      if (count == 0) break;
      if (!share.take(count)) throw http_refusal(503, "The gateway has no memory for another request; try again later");
      body.insert(body.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  /// Reads the JSON object in the body of a request.
  /// \param share  counts the size of the body.
  awaitable<boost::json::object> read(http_call& call, interpreter_share& share) {
    bytes body;
    co_await in_time(executor_, settings_->request_timeout, read_body(call, share, body));
    std::error_code broken;
    boost::json::value value = cofferdam::detail::parse_untrusted_json(as_text(body), broken);
    if (broken) throw schema_failure("", "JSON decode error");
    if (!value.is_object()) throw schema_failure("", "Input should be a valid dictionary");
    co_return std::move(value.get_object());
  }

  /// Returns the text of a member; no value if the member is absent or null.
  static std::optional<std::string> text(const boost::json::object& object, const char* name) {
    const boost::json::value* const found = object.if_contains(name);
    if (found == nullptr || found->is_null()) return std::nullopt;
    if (!found->is_string()) throw schema_failure(name, "Input should be a valid string");
    return std::string(found->get_string().data(), found->get_string().size());
  }

  /// Returns true if a language is bash, and false if it is Python or absent. Refuses other languages. E2B refuses them
  /// with status 500, but the JavaScript SDK shows the text of a reply to its user only if the status is 404.
  static bool is_bash(const std::optional<std::string>& language) {
    std::string name = language.value_or("");
    for (char& c : name) c = cofferdam::detail::lowered(c);
    if (name == "bash") return true;
    if (name.empty() || name == "python") return false;
    throw http_refusal(404, "Failed to create context: this gateway has no kernel for the language '" +
                                one_line(language->substr(0, 64)) + "'; use python or bash");
  }

  /// The first line of a cell for a bash context. This magic of the Python driver runs the rest in a shell.
  static constexpr std::string_view bash_magic = "%%cofferdam_bash\n";

  static code_request request_of(std::string source, const boost::json::object& object,
                                 const interpreter_settings& settings) {
    code_request request(std::move(source));
    request.timeout(no_timeout).keep_output(settings.output).quiet_failure();
    const boost::json::value* const variables = object.if_contains("env_vars");
    if (variables == nullptr || variables->is_null()) return request;
    if (!variables->is_object()) throw schema_failure("env_vars", "Input should be a valid dictionary");
    for (const auto& [name, value] : variables->get_object()) {
      if (!value.is_string()) throw schema_failure("env_vars", "Input should be a valid string");
      request.environment(std::string(name.data(), name.size()),
                          std::string(value.get_string().data(), value.get_string().size()));
    }
    return request;
  }

  // ---- the contexts of clients ----

  boost::json::object described(const interpreter_context& context) const {
    boost::json::object object;
    object["id"] = context.id;
    object["language"] = context.is_bash ? "bash" : "python";
    object["cwd"] = valid_json_text(paths_.outside(context.directory));
    return object;
  }
  boost::json::array list() const {
    boost::json::array contexts;
    for (const context_pointer& context : contexts_) contexts.emplace_back(described(*context));
    return contexts;
  }

  context_pointer add_context(std::string directory, bool bash) {
    if (contexts_.size() >= settings_->contexts)
      throw http_refusal(429,
                         "The maximum of " + std::to_string(contexts_.size()) + " contexts exists; remove one first");
    const std::string id = cofferdam::detail::random_digits(32);
    contexts_.push_back(std::make_shared<interpreter_context>(executor_, id, std::move(directory), bash));
    return contexts_.back();
  }
  /// Returns the default context of a language, and makes it if necessary.
  context_pointer usual_context(bool bash) {
    context_pointer& usual = bash ? usual_bash_ : usual_;
    if (!usual || usual->is_removed) usual = add_context(".", bash);
    return usual;
  }
  context_pointer find(const std::string& id) const {
    for (const context_pointer& context : contexts_)
      if (context->id == id) return context;
    throw http_refusal(404, "Context " + one_line(id.substr(0, 128)) + " not found");
  }
  void forget(const context_pointer& context) {
    context->is_removed = true;
    std::erase(contexts_, context);
  }

  awaitable<boost::json::object> make_context(http_call& call) {
    if (runs_ >= settings_->runs) throw too_many();
    const counted mine(runs_);
    interpreter_share share(memory_);
    const boost::json::object object = co_await read(call, share);
    const bool bash = is_bash(text(object, "language"));
    const std::optional<std::string> directory = text(object, "cwd");
    // Code may change to every directory itself, so a context may begin in any.
    std::string place = paths_.locate(directory.value_or(""));
    co_await start_runner();
    const context_pointer context = add_context(place, bash);
    std::exception_ptr failure;
    missing lacks = missing::nothing;
    try {
      const missing found = co_await prepare(context);
      lacks = found;
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure || lacks != missing::nothing) forget(context);
    if (failure) std::rethrow_exception(failure);
    if (lacks == missing::bash)
      throw http_refusal(404, "Failed to create context: the sandbox has no program 'bash'; use python");
    if (lacks == missing::directory)
      throw http_refusal(404, "Failed to create context: the directory '" + one_line(paths_.outside(place)) +
                                  "' does not exist, or cannot be entered");
    co_return described(*context);
  }

  awaitable<void> end_context(std::string id, bool restarts) {
    const context_pointer context = find(id);
    const std::string name = context->name();
    if (restarts)
      ++context->restarts;
    else
      forget(context);
    context->count = 0;
    if (!runner_) co_return;
    const auto drops = [&] { return drop(*runner_, name); };
    co_await cofferdam::detail::shielded(drops);
  }

  /// Ends a context of the runner.
  static awaitable<void> drop(runner& of, std::string name) { co_await of.end_context(std::move(name)); }

  // ---- executions of code ----

  awaitable<void> start_runner() {
    if (runner_) co_return;
    co_await starting_->acquire(1, "the code interpreter");
    const cofferdam::detail::held_permits turn(*starting_, 1);
    if (runner_) co_return;
    python options = cofferdam::detail::notebook_python::of(settings_->runner);
    options = std::move(options).working_directory(".").track_files(0);
    command probe = argv("/bin/sh", "-c", ":");
    const command_result probed = co_await environment_.run_command(std::move(probe));
    if (served_sandbox::isolates_files(probed)) options = std::move(options).variable("PIP_BREAK_SYSTEM_PACKAGES", "1");
    options = std::move(options).variable("E2B_SANDBOX", "true").variable("E2B_SANDBOX_ID", facts_.id());
    options = std::move(options).variable("E2B_TEMPLATE_ID", facts_.template_name());
    for (const auto& [name, value] : facts_.variables()) options = std::move(options).variable(name, value);
    const auto recipe = environment_ref<any_environment>(environment_) | options;
    runner opened = co_await recipe.open();
    runner_.emplace(std::move(opened));
  }

  /// The thing that the sandbox lacks for a context.
  enum class missing { nothing, directory, bash };

  /// Makes the runner's context for the client's `context`, if the runner's context does not exist yet or was lost.
  awaitable<missing> prepare(context_pointer context) {
    const std::vector<std::string> living = co_await runner_->contexts();
    if (std::find(living.begin(), living.end(), context->name()) != living.end()) co_return missing::nothing;
    context->count = 0;
    if (context->directory == "." && !context->is_bash) co_return missing::nothing;
    std::string source =
        "import os, sys\n"
        "os.chdir(cofferdam_directory)\n"
        "sys.path[-1] = os.getcwd()\n"
        "del os, sys, cofferdam_directory\n";
    if (context->is_bash)
      source += "import shutil\nif shutil.which('bash') is None: raise LookupError('bash')\ndel shutil\n";
    code_request enter(std::move(source));
    enter.context(context->name()).timeout(std::chrono::seconds(30));
    enter.variable("cofferdam_directory", boost::json::value(valid_json_text(context->directory)));
    const std::string name = context->name();
    missing lacks = missing::directory;
    const auto enters = [&]() -> awaitable<void> {
      code_result result = co_await runner_->run_code(std::move(enter));
      if (result.ok()) lacks = missing::nothing;
      if (const auto& why = result.failure(); why && why->type() == "LookupError") lacks = missing::bash;
    };
    const auto drops = [&]() -> awaitable<void> {
      if (lacks == missing::nothing) return {};
      return drop(*runner_, name);
    };
    co_await cofferdam::detail::with_cleanup(enters, drops);
    co_return lacks;
  }

  class counted {
   public:
    explicit counted(std::size_t& number) noexcept : number_(number) { ++number_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --number_; }

   private:
    std::size_t& number_;
  };

  static http_refusal too_many() { return {429, "Too many executions are waiting in this sandbox"}; }

  static awaitable<void> until_over(run_pointer execution) {
    while (!execution->is_over) co_await execution->until_changed();
  }

  awaitable<void> execute(http_call& call) {
    if (runs_ >= settings_->runs) throw too_many();
    const counted mine(runs_);
    interpreter_share share(memory_);
    code_request request;
    context_pointer where;
    {
      const boost::json::object object = co_await read(call, share);
      std::optional<std::string> source = text(object, "code");
      if (!source) throw schema_failure("code", "Field required");
      const std::optional<std::string> id = text(object, "context_id");
      const std::optional<std::string> language = text(object, "language");
      if (id && language) throw http_refusal(400, "Only one of context_id or language can be provided");
      where = id && *id != "default" ? find(*id) : usual_context(is_bash(language));
      if (where->is_bash) source->insert(0, bash_magic);
      request = request_of(std::move(*source), object, *settings_);
    }
    co_await start_runner();
    const auto execution = std::make_shared<interpreter_run>(executor_, *settings_, memory_, where, std::move(request));
    bool is_begun = false;
    const auto runs = [&]() -> awaitable<void> {
      auto over = [execution](std::exception_ptr failure) {
        execution->failure = std::move(failure);
        execution->is_over = true;
        execution->change();
      };
      cofferdam::detail::spawn_coroutine(executor_, run(execution), std::move(over), execution->cancel.slot());
      is_begun = true;
      co_await stream(call, execution);
    };
    const auto ends = [&execution, &is_begun]() -> awaitable<void> {
      // If the code still runs, its client has disconnected or the sandbox ends. So the code is cancelled.
      if (execution->is_over || !is_begun) return {};
      execution->cancel.emit(asio::cancellation_type::terminal);
      return until_over(execution);
    };
    co_await cofferdam::detail::with_cleanup(runs, ends);
    if (execution->failure) std::rethrow_exception(execution->failure);
  }

  /// Runs the code after the earlier executions of its context, and queues the outcome for the client.
  awaitable<void> run(run_pointer execution) {
    const context_pointer where = execution->context;
    co_await where->turn.acquire(1, "execute");
    const cofferdam::detail::held_permits turn(where->turn, 1);
    const std::uint64_t restarts = where->restarts;
    missing lacks = missing::nothing;
    if (!where->is_removed) {
      const missing found = co_await prepare(where);
      lacks = found;
    }
    if (where->is_removed || where->restarts != restarts) {
      execution->conclude(code_result(), restarts);
      execution->end();
      co_return;
    }
    if (lacks != missing::nothing) {
      const std::string_view why = lacks == missing::bash ? "The sandbox has no program 'bash'"
                                                          : "The context's working directory no longer exists";
      execution->say(interpreter_error_line("ExecutionAborted", why, ""));
      execution->end();
      co_return;
    }
    execution->say(interpreter_count_line(++where->count));
    interpreter_run& told = *execution;
    const std::string name = where->name();
    execution->request.context(name);
    execution->request.on_output([&told](output_stream stream, bytes_view piece) { told.hear(stream, piece); });
    execution->request.on_display([&told](display_output shown) { told.show(shown); });
    code_result result = co_await runner_->run_code(std::move(execution->request));
    execution->conclude(result, restarts);
    execution->end();
    const bool is_left = where->is_removed || where->restarts != restarts;
    if (is_left) co_await runner_->end_context(name);  // the run may have made this context again after it was dropped
  }

  /// Sends the lines of an execution to the client as soon as they are queued, and keep-alive messages in between.
  awaitable<void> stream(http_call& call, run_pointer execution) {
    co_await call.begin(http_reply(200));
    for (;;) {
      while (execution->has_lines()) {
        const std::string text = execution->take_lines();
        co_await call.write(text);
        execution->written();
      }
      if (execution->is_over) co_return;
      const auto limit = std::chrono::steady_clock::now() + settings_->keepalive;
      co_await execution->until_changed(limit);
      const bool is_silent =
          !execution->has_lines() && !execution->is_over && std::chrono::steady_clock::now() >= limit;
      if (is_silent) execution->say(interpreter_line("keepalive"));
    }
  }

  any_environment& environment_;
  e2b_gateway::sandbox_facts facts_;
  std::shared_ptr<const interpreter_settings> settings_;
  std::shared_ptr<interpreter_memory> memory_;
  guest_paths paths_;
  asio::any_io_executor executor_;
  std::unique_ptr<cofferdam::detail::async_semaphore> starting_;
  std::optional<runner> runner_;
  std::vector<context_pointer> contexts_;
  context_pointer usual_;
  context_pointer usual_bash_;
  std::size_t runs_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
