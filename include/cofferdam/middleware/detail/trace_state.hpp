// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/event_listener.hpp>
#include <cofferdam/detail/core/signal_name.hpp>
#include <cofferdam/middleware/detail/command_text.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The settings of `trace`. They are not changed once an environment uses them.
class trace_settings {
 public:
  std::shared_ptr<const event_listener> listener;
  redactor hidden;
  std::size_t command_characters = 200;
};

/// The part of a traced environment that its operations keep alive.
class trace_state {
 public:
  trace_state(std::shared_ptr<const trace_settings> settings, std::string id)
      : settings_(std::move(settings)), id_(std::move(id)) {}

  const trace_settings& settings() const noexcept { return *settings_; }
  const std::string& id() const noexcept { return id_; }
  /// Sets the attribute `container.id` of later events.
  void container(std::string id) { container_ = std::move(id); }
  void add_container(trace_event& event) const {
    if (!container_.empty()) event.set("container.id", container_);
  }
  /// Returns true at the first call only.
  bool is_first_close() noexcept { return !std::exchange(is_closed_, true); }

  /// Begins an event about the environment itself.
  trace_event begin(std::string_view operation) const {
    trace_event event{std::string(operation), std::string(operation)};
    add_ids(event);
    return event;
  }
  /// Begins an event about work in the environment.
  trace_event begin_tool(std::string_view operation) const {
    trace_event event(std::string(operation), "execute_tool " + std::string(operation));
    event.set("gen_ai.operation.name", "execute_tool").set("gen_ai.tool.name", std::string(operation));
    add_ids(event);
    return event;
  }
  trace_event begin_command(std::string_view operation, const command& c) const {
    trace_event event = begin_tool(operation);
    if (!c.label().empty()) event.set("cofferdam.command.label", c.label());
    if (!c.is_shell() && !c.words().empty()) {
      const std::string_view program = c.words().front();
      event.set("process.executable.name", shortened(program.substr(program.rfind('/') + 1), max_path));
    }
    if (settings_->command_characters != 0)
      event.set("process.command_line", command_text(c, settings_->hidden, settings_->command_characters));
    return event;
  }
  trace_event begin_file(std::string_view operation, std::string_view path) const {
    trace_event event = begin_tool(operation);
    event.set("file.path", shown_path(path));
    return event;
  }
  std::string shown_path(std::string_view path) const { return shortened(settings_->hidden.clean(path), max_path); }

 private:
  static constexpr std::size_t max_path = 400;

  void add_ids(trace_event& event) const {
    event.set("cofferdam.environment.id", id_);
    add_container(event);
  }

  std::shared_ptr<const trace_settings> settings_;
  std::string id_;
  std::string container_;
  bool is_closed_ = false;
};

inline trace_value count_of(std::uint64_t number) { return static_cast<std::int64_t>(number); }

/// An event that is reported once: by `end`, `fail`, or the destructor, which reports a cancellation.
class pending_event {
 public:
  pending_event(std::shared_ptr<const trace_state> state, trace_event event)
      : state_(std::move(state)), event_(std::move(event)) {}
  pending_event(pending_event&& other) noexcept : state_(std::move(other.state_)), event_(std::move(other.event_)) {}
  pending_event& operator=(pending_event&&) = delete;
  ~pending_event() {
    if (!state_) return;
    try {
      event_.set("error.type", "cancelled");
    } catch (const std::exception&) {
      return;  // no memory for the event
    }
    end();
  }

  trace_event& event() noexcept { return event_; }

  void end() noexcept {
    const std::shared_ptr<const trace_state> state = std::move(state_);
    state_ = nullptr;
    if (state) state->settings().listener->report(event_.end(), "trace");
  }
  void fail(std::exception_ptr reason) {
    event_.fail(std::move(reason));
    end();
  }
  void end(const command_result& result) {
    if (result.exit_code() >= 0) event_.set("process.exit.code", std::int64_t{result.exit_code()});
    if (result.term_signal() != 0) event_.set("cofferdam.signal", signal_name(result.term_signal()));
    event_.set("cofferdam.stdout.bytes", count_of(result.out().total()));
    event_.set("cofferdam.stderr.bytes", count_of(result.err().total()));
    if (result.kind() != error_kind::none) {
      event_.set("error.type", std::string(to_string(result.kind())));
    } else if (result.term_signal() != 0) {
      event_.set("error.type", "signal");
    } else if (result.exit_code() != 0) {
      event_.set("error.type", "exit_status");
    }
    end();
  }

 private:
  std::shared_ptr<const trace_state> state_;
  trace_event event_;
};

// Sets the attributes that describe the result of an operation.
inline void describe(trace_event& event, const bytes& content) { event.set("file.size", count_of(content.size())); }
inline void describe(trace_event& event, const directory_entry& entry) {
  event.set("file.size", count_of(entry.size()));
}
inline void describe(trace_event& event, const std::vector<directory_entry>& entries) {
  event.set("cofferdam.file.count", count_of(entries.size()));
}
inline void describe(trace_event& event, const transfer_result& result) {
  std::uint64_t sum = 0;
  for (const transferred_file& each : result.files()) sum += each.size();
  event.set("cofferdam.file.count", count_of(result.files().size())).set("cofferdam.transfer.bytes", count_of(sum));
  if (result.ok()) return;
  event.set("cofferdam.file.failed", count_of(result.failed().size()));
  event.fail(std::make_exception_ptr(result.failed().front().reason()));
}
inline void describe(trace_event& event, const std::string& snapshot) {
  event.set("cofferdam.snapshot", shortened(snapshot, 400));
}
template <class Result>
void describe(trace_event&, const Result&) {}

/// Starts an operation, awaits it, and reports it.
/// \param make  a callable without parameters that starts the operation and returns its awaitable.
template <class Make>
auto traced(std::shared_ptr<const trace_state> state, trace_event event, Make make) -> std::invoke_result_t<Make&> {
  using result = typename awaited<std::invoke_result_t<Make&>>::type;
  pending_event pending(std::move(state), std::move(event));
  try {
    if constexpr (std::is_void_v<result>) {
      co_await make();
      pending.end();
    } else if constexpr (std::is_same_v<result, command_result>) {
      result value = co_await make();
      pending.end(value);
      co_return value;
    } else {
      result value = co_await make();
      describe(pending.event(), value);
      pending.end();
      co_return value;
    }
  } catch (...) {
    pending.fail(std::current_exception());
    throw;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
