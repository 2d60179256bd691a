// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/core/trace_file.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/core/event_listener.hpp>
#include <cofferdam/detail/core/kept_files.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/middleware/detail/trace_state.hpp>
#include <cofferdam/middleware/detail/traced_objects.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The counters of the layer `trace`. They count the operations that were started, whether they succeeded or not.
/// \par Threads  any.
class operation_counts {
 public:
  /// Returns the number of commands that were passed to `run_command` or `start`.
  std::uint64_t commands() const noexcept { return commands_; }
  /// Returns the number of `read_file` calls.
  std::uint64_t reads() const noexcept { return reads_; }
  /// Returns the number of `write_file` calls.
  std::uint64_t writes() const noexcept { return writes_; }
  /// Returns the number of operations on the `file_system` that `files()` returned.
  std::uint64_t file_operations() const noexcept { return file_operations_; }

  /// Counts a command. The layer calls this.
  void add_command() noexcept { ++commands_; }
  /// Counts a `read_file` call. The layer calls this.
  void add_read() noexcept { ++reads_; }
  /// Counts a `write_file` call. The layer calls this.
  void add_write() noexcept { ++writes_; }
  /// Counts an operation on files. The layer calls this.
  void add_file_operation() noexcept { ++file_operations_; }

 private:
  std::atomic<std::uint64_t> commands_ = 0;
  std::atomic<std::uint64_t> reads_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;
  std::atomic<std::uint64_t> file_operations_ = 0;
};

namespace detail {

template <class = void>
class basic_traced_files;
using traced_files = basic_traced_files<>;

/// File operations that count each call, and report it if there are settings.
template <class Unused>
class basic_traced_files final : public file_system_adaptor<basic_traced_files<Unused>> {
 public:
  basic_traced_files(file_system files, std::shared_ptr<operation_counts> counts,
                     std::shared_ptr<const trace_state> state)
      : files_(std::move(files)), counts_(std::move(counts)), state_(std::move(state)) {}

  template <class Operation>
  std::invoke_result_t<Operation&, const file_system&> call(Operation operation) {
    if (counts_) counts_->add_file_operation();
    if (!state_) return operation(std::as_const(files_));
    const std::string& path = operation.path();
    trace_event event =
        path.empty() ? state_->begin_tool(operation.name()) : state_->begin_file(operation.name(), path);
    if (const std::string& to = operation.destination(); !to.empty())
      event.set("cofferdam.file.destination", state_->shown_path(to));
    auto starts = [files = files_, operation = std::move(operation)] { return operation(files); };
    using result = typename awaited<std::invoke_result_t<Operation&, const file_system&>>::type;
    if constexpr (std::is_same_v<result, std::unique_ptr<file_source>>) {
      return begin_source(state_, std::move(event), std::move(starts));
    } else {
      return traced(state_, std::move(event), std::move(starts));
    }
  }

 private:
  file_system files_;
  std::shared_ptr<operation_counts> counts_;
  std::shared_ptr<const trace_state> state_;
};

}  // namespace detail

/// The environment type that `provider | trace(...)` opens.
template <code_exec_environment Inner>
class trace_layer : public layer<trace_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  trace_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns, and counts its operations in `counts`.
  trace_layer(Inner inner, std::shared_ptr<operation_counts> counts)
      : layer<trace_layer<Inner>, Inner>(std::move(inner)), counts_(std::move(counts)) {}
  /// Wraps an open environment, which the layer then owns, and reports its operations. `trace` calls this constructor.
  trace_layer(Inner inner, std::shared_ptr<detail::trace_state> state)
      : layer<trace_layer<Inner>, Inner>(std::move(inner)), state_(std::move(state)) {}

  awaitable<command_result> run_command(command c) {
    check();
    if (counts_) counts_->add_command();
    if (!state_) return this->inner().run_command(std::move(c));
    trace_event event = state_->begin_command("run_command", c);
    return report(std::move(event),
                  [this, c = std::move(c)]() mutable { return this->inner().run_command(std::move(c)); });
  }
  awaitable<process> start(command c)
    requires streaming_environment<Inner>
  {
    check();
    if (counts_) counts_->add_command();
    if (!state_) return this->inner().start(std::move(c));
    trace_event event = state_->begin_command("start", c);
    return begin_process(state_, std::move(event), this->inner(), std::move(c));
  }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    check();
    if (counts_) counts_->add_read();
    if (!state_) return this->inner().read_file(std::move(path), max_bytes);
    trace_event event = state_->begin_file("read_file", path);
    return report(std::move(event), [this, path = std::move(path), max_bytes]() mutable {
      return this->inner().read_file(std::move(path), max_bytes);
    });
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    check();
    if (counts_) counts_->add_write();
    if (!state_) return this->inner().write_file(std::move(path), content);
    trace_event event = state_->begin_file("write_file", path);
    event.set("file.size", detail::count_of(content.size()));
    return report(std::move(event), [this, path = std::move(path), content]() mutable {
      return this->inner().write_file(std::move(path), content);
    });
  }
  /// Writes a file from temporary bytes. The awaitable owns the bytes, so it can be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }

  file_system files()
    requires file_environment<Inner>
  {
    check();
    return kept_.get([this] { return std::make_shared<detail::traced_files>(this->inner().files(), counts_, state_); });
  }

  awaitable<void> pause()
    requires pausable_environment<Inner>
  {
    return report("pause", [this] { return this->inner().pause(); });
  }
  awaitable<void> resume()
    requires pausable_environment<Inner>
  {
    return report("resume", [this] { return this->inner().resume(); });
  }
  awaitable<std::string> snapshot()
    requires snapshot_environment<Inner>
  {
    return report("snapshot", [this] { return this->inner().snapshot(); });
  }
  /// Ends the processes that a command has left running, as `layer::end_background` describes.
  /// \param number  `background_command::number()`.
  awaitable<void> end_background(std::uint32_t number)
    requires requires(Inner& inner) { inner.end_background(number); }
  {
    return report("end_background", [this, number] { return this->inner().end_background(number); });
  }

  awaitable<void> close() {
    if (state_ && !state_->is_first_close()) return this->inner().close();
    return report("close", [this] { return this->inner().close(); });
  }

 private:
  void check() const {
    if (!counts_ && !state_)
      throw error(exec_errc::environment_closed,
                  "trace: not open (default-constructed or moved from); call open() on the provider first");
  }

  template <class Make>
  std::invoke_result_t<Make&> report(std::string_view operation, Make make) {
    if (!state_) return make();
    return report(state_->begin(operation), std::move(make));
  }
  template <class Make>
  std::invoke_result_t<Make&> report(trace_event event, Make make) {
    return detail::traced(state_, std::move(event), std::move(make));
  }

  static awaitable<process> begin_process(std::shared_ptr<const detail::trace_state> state, trace_event event,
                                          Inner& inner, command c) {
    detail::pending_event pending(std::move(state), std::move(event));
    try {
      process started = co_await inner.start(std::move(c));
      co_return process(std::make_unique<detail::traced_process>(std::move(started), std::move(pending)));
    } catch (...) {
      pending.fail(std::current_exception());
      throw;
    }
  }

  std::shared_ptr<operation_counts> counts_;
  std::shared_ptr<detail::trace_state> state_;
  detail::kept_files kept_;
};

/// Reports or counts the operations of all environments that a provider opens:
///
///     auto reported = sandbox() | trace("trace.jsonl");                              // one line of JSON an operation
///     auto handled = sandbox() | trace([](const trace_event& e) { log(e.json()); });  // calls a function
///     auto counted = sandbox() | trace(counts);                                       // only counts
///
/// A layer to the right receives a command first. If that layer refuses the command, it is not reported. The refusal of
/// a layer to the left is. Put `trace` to the left of `lazy` to report when environments are really opened.
///
/// There is one event for each operation, at its end: opening and closing, `run_command`, `start`, `read_file`,
/// `write_file`, the operations of `files()`, `pause`, `resume`, `snapshot` and `end_background`. The event of `start`
/// comes when `wait` of the process has returned or thrown, or when the process is destroyed; that of `get_files` when
/// all files were read, or the source is destroyed; that of `watch` when the watch has begun. The `error.type` is
/// `cancelled` for an operation that is destroyed before its end, and for a process without a `wait`. Connections of
/// `network()` are not reported.
///
/// Attributes with names of OpenTelemetry's semantic conventions, all in development there:
/// * `gen_ai.operation.name` (`execute_tool`) and `gen_ai.tool.name` (the operation), for commands and files.
/// * `process.command_line`, `process.executable.name` (for `argv`), `process.exit.code`.
/// * `file.path`, and `file.size` in bytes: of `read_file`, `write_file` and `stat`.
/// * `error.type`: the name of an `exec_errc`, such as `not_found`; that of an `error_kind`, such as `timeout`;
///   `exit_status` for an exit status other than 0; `signal`; `_OTHER`. Absent after a success.
/// * `container.id`, if the environment on the left has a member `container_id()`.
///
/// Our own attributes:
/// * `cofferdam.environment.id`: 16 random hexadecimal digits for each environment, also in the event of its opening.
/// * `cofferdam.command.label`: the label of a command, if it has one when the layer receives it (`command::label`).
///   `allow_hosts` on the right of `trace` labels commands that have none.
/// * `cofferdam.signal`: the name of the signal that ended the command.
/// * `cofferdam.stdout.bytes`, `cofferdam.stderr.bytes`: the whole output of a command.
/// * `cofferdam.file.destination` of a rename; `cofferdam.file.count`: the entries of a list, the files of a transfer;
///   `cofferdam.file.failed`; `cofferdam.transfer.bytes`.
/// * `cofferdam.snapshot`: the name of the snapshot.
///
/// Input, output, variables and contents of files are never in an event. Of a command, only the first line is, at most
/// 200 characters of it, without the values of the command's own variables, and without what looks like a secret: the
/// value of a name such as `API_KEY` or `--password`, the user of a URL, a bearer token, a key of a well-known service.
/// This cannot find every secret: add yours by `hide`, or leave out the text of commands by `command_characters(0)`.
///
/// The function cannot fail an operation: its exceptions are dropped, the first one with a warning. It must be callable
/// until the last environment, process and operation is destroyed. `trace_file` describes the file.
/// \par Threads  the function is called on the executor of the operation. If environments are used on several threads,
///               it must allow concurrent calls.
/// \par Cost     counting: 1 atomic addition for each operation. Reporting: 1 coroutine frame and about 10 allocations
///               for each operation.
class trace : public pipeable {
 public:
  /// Makes a recipe that counts.
  /// \param counts  the counters, which all environments share.
  /// \throws error{exec_errc::invalid_argument} if `counts` is null.
  explicit trace(std::shared_ptr<operation_counts> counts) : counts_(std::move(counts)) {
    if (!counts_) throw error(exec_errc::invalid_argument, "trace: the pointer to the counts is null");
  }
  /// Makes a recipe that calls a function with the event of each operation. A `trace_file` is such a function.
  /// \throws error{exec_errc::invalid_argument} if the function is an empty `std::function` or a null pointer.
  template <class Function>
    requires(!std::derived_from<std::remove_cvref_t<Function>, pipeable> &&
             std::invocable<std::decay_t<Function>&, const trace_event&> &&
             std::constructible_from<std::function<void(const trace_event&)>, Function>)
  explicit trace(Function&& on_event) {
    detail::require_safe_callable<Function>();
    auto settings = std::make_shared<detail::trace_settings>();
    settings->listener = std::make_shared<const detail::event_listener>(std::forward<Function>(on_event));
    if (!*settings->listener) throw error(exec_errc::invalid_argument, "trace: the function is empty");
    settings_ = std::move(settings);
  }
  /// Makes a recipe that appends the event of each operation to a file, as `trace(trace_file(path))` does.
  explicit trace(std::filesystem::path path) : trace(trace_file(std::move(path))) {}

  /// Hides a secret wherever it occurs in command lines and paths, besides those that are found without help.
  /// \param secret  at least 4 bytes; a shorter secret is ignored.
  trace& hide(const secret_string& secret) {
    change([&secret](detail::trace_settings& settings) { settings.hidden.hide(secret); });
    return *this;
  }
  /// Sets the maximum length of command lines in events.
  /// \param max_characters  0 leaves out command lines. Default: 200.
  trace& command_characters(std::size_t max_characters) {
    change([max_characters](detail::trace_settings& settings) { settings.command_characters = max_characters; });
    return *this;
  }

  template <code_exec_environment Inner>
  trace_layer<Inner> attach(Inner inner) const {
    if (!settings_) return trace_layer<Inner>(std::move(inner), counts_);
    return wrapped(std::move(inner), new_state(settings_));
  }
  /// Opens an environment of the provider, and reports the opening. `provider | trace(...)` calls this.
  template <code_exec_provider Provider>
  awaitable<trace_layer<detail::opened_by<Provider>>> open_with(Provider provider) const {
    return open(std::move(provider), counts_, settings_);
  }

 private:
  static std::shared_ptr<detail::trace_state> new_state(std::shared_ptr<const detail::trace_settings> settings) {
    return std::make_shared<detail::trace_state>(std::move(settings), detail::random_digits());
  }

  template <class Inner>
  static trace_layer<Inner> wrapped(Inner inner, std::shared_ptr<detail::trace_state> state) {
    if constexpr (requires { state->container(std::string(inner.container_id())); })
      state->container(std::string(inner.container_id()));
    return trace_layer<Inner>(std::move(inner), std::move(state));
  }

  template <class Provider>
  static awaitable<trace_layer<detail::opened_by<Provider>>> open(
      Provider provider, std::shared_ptr<operation_counts> counts,
      std::shared_ptr<const detail::trace_settings> settings) {
    using inner = detail::opened_by<Provider>;
    if (!settings) {
      environment_of<Provider> opened = co_await provider.open();
      co_return trace_layer<inner>(inner(std::move(opened)), std::move(counts));
    }
    const std::shared_ptr<detail::trace_state> state = new_state(std::move(settings));
    detail::pending_event pending(state, state->begin("open"));
    try {
      environment_of<Provider> opened = co_await provider.open();
      trace_layer<inner> layered = wrapped(inner(std::move(opened)), state);
      state->add_container(pending.event());
      pending.end();
      co_return layered;
    } catch (...) {
      pending.fail(std::current_exception());
      throw;
    }
  }

  // Replaces the settings by a copy before a change, because other objects may share them.
  template <class Change>
  void change(Change apply) {
    if (!settings_) return;  // counts have no texts
    auto changed = std::make_shared<detail::trace_settings>(*settings_);
    apply(*changed);
    settings_ = std::move(changed);
  }

  std::shared_ptr<operation_counts> counts_;
  std::shared_ptr<const detail::trace_settings> settings_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
