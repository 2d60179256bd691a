// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

using steady_clock = std::chrono::steady_clock;
/// A message in its encoded form. All receivers share it, so that it is encoded only once.
using encoded_message = std::shared_ptr<const std::string>;

/// A process of a sandbox, and the listeners that receive its output. The coroutine `pump` reads the output, and waits
/// until each listener has room for it. So the slowest listener slows the process down, and memory is bounded. If there
/// is no listener, the output is discarded.
class served_process : public std::enable_shared_from_this<served_process> {
 public:
  /// The maximum number of messages that wait for one listener. Each message has one piece of output.
  static constexpr std::size_t max_pending = 2;

  /// A receiver of the process's output, from the constructor to the destructor.
  class listener {
   public:
    listener(std::shared_ptr<served_process> process, const asio::any_io_executor& executor)
        : process_(std::move(process)), arrived_(executor) {
      process_->listeners_.push_back(this);
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() {
      process_->listeners_.remove(this);
      process_->room_.notify();
    }

    /// Waits for a message, for the end of the process, or until the time `due`.
    awaitable<void> wait(steady_clock::time_point due) {
      if (!pending_.empty() || process_->over_) co_return;
      co_await arrived_.wait(due);
    }
    /// Returns the next message, and removes it from the queue; null if there is none now.
    encoded_message take() {
      if (pending_.empty()) return nullptr;
      encoded_message first = std::move(pending_.front());
      pending_.pop_front();
      process_->room_.notify();
      return first;
    }

   private:
    friend class served_process;
    void give(encoded_message message) {
      pending_.push_back(std::move(message));
      wake();
    }
    void wake() noexcept { arrived_.notify(); }
    std::shared_ptr<served_process> process_;
    cofferdam::detail::async_event arrived_;
    std::deque<encoded_message> pending_;
  };

  served_process(const asio::any_io_executor& executor, process running, std::uint32_t pid, boost::json::object config,
                 std::string tag, bool has_terminal, bool has_input)
      : running_(std::move(running)),
        room_(executor),
        input_turn_(executor, 1),
        signal_turn_(executor, 1),
        ended_(executor),
        config_(std::move(config)),
        tag_(std::move(tag)),
        pid_(pid),
        has_terminal_(has_terminal),
        has_input_(has_input) {}

  std::uint32_t pid() const noexcept { return pid_; }
  const std::string& tag() const noexcept { return tag_; }
  const boost::json::object& config() const noexcept { return config_; }
  /// Releases the parts of the request that are not needed after the end of the process.
  void forget_request() noexcept {
    config_ = boost::json::object();
    tag_ = std::string();
  }
  bool has_terminal() const noexcept { return has_terminal_; }
  bool has_input() const noexcept { return has_input_; }
  std::size_t listeners() const noexcept { return listeners_.size(); }
  bool over() const noexcept { return over_; }
  /// Returns true if `kill_at` has killed the process.
  bool timed_out() const noexcept { return timed_out_; }
  /// Returns the message with the end event; null if the process still runs, or was lost with its environment.
  const encoded_message& end() const noexcept { return end_; }

  std::string start_message() const {
    boost::json::object start;
    start["pid"] = pid_;
    return event_message("start", std::move(start));
  }
  static std::string event_message(std::string_view kind, boost::json::object value) {
    boost::json::object event;
    event[cofferdam::detail::json_view(kind)] = std::move(value);
    boost::json::object message;
    message["event"] = std::move(event);
    return cofferdam::detail::connect_message(boost::json::serialize(message));
  }

  /// Delivers the output to the listeners until the process has ended. Throws only if it is cancelled.
  static awaitable<void> pump(std::shared_ptr<served_process> self) {
    const ending at_end(*self);
    try {
      for (;;) {
        const output_chunk piece = co_await self->running_.read();
        if (piece.end()) break;
        self->give(piece);
        while (self->is_full()) co_await self->room_.wait();
      }
      const command_result result = co_await self->running_.wait();
      const bool never_ran = result.exit_code() < 0 && result.term_signal() == 0 && !result.reason().empty() &&
                             result.kind() != error_kind::timeout;
      if (never_ran) self->give(output_chunk(output_stream::err, to_bytes(refusal_text(result))));
      self->end_ = std::make_shared<const std::string>(event_message("end", end_event(result)));
    } catch (const error& failure) {
      // The process was lost with its environment. There is no end event, so `process_service` aborts the listeners'
      // streams.
      if (failure.code() == exec_errc::cancelled) throw;
    }
  }

  /// Kills the process at the time `due`, even if it has listeners.
  static awaitable<void> kill_at(std::shared_ptr<served_process> self, steady_clock::time_point due) {
    if (self->over_) co_return;
    co_await self->ended_.wait(due);
    if (self->over_ || steady_clock::now() < due) co_return;
    self->timed_out_ = true;
    try {
      co_await signal(self, SIGKILL);
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;  // other failures mean that the process is gone
    }
  }

  /// Waits until the process has ended, at most until the time `due`.
  static awaitable<void> until_over(std::shared_ptr<served_process> self, steady_clock::time_point due) {
    if (!self->over_) co_await self->ended_.wait(due);
  }

  static awaitable<void> signal(std::shared_ptr<served_process> self, int number) {
    co_await self->signal_turn_.acquire(1, "signal");
    const cofferdam::detail::held_permits turn(self->signal_turn_, 1);
    co_await self->running_.signal(number);
  }
  static awaitable<void> resize(std::shared_ptr<served_process> self, std::uint16_t rows, std::uint16_t columns) {
    co_await self->signal_turn_.acquire(1, "resize");
    const cofferdam::detail::held_permits turn(self->signal_turn_, 1);
    co_await self->running_.resize(rows, columns);
  }
  static awaitable<void> write(std::shared_ptr<served_process> self, bytes data) {
    co_await self->input_turn_.acquire(1, "write");
    const cofferdam::detail::held_permits turn(self->input_turn_, 1);
    const bytes_view view(data);
    co_await self->running_.write_input(view);
  }
  static awaitable<void> close_input(std::shared_ptr<served_process> self) {
    co_await self->input_turn_.acquire(1, "close input");
    const cofferdam::detail::held_permits turn(self->input_turn_, 1);
    co_await self->running_.close_input();
    self->has_input_ = false;
  }

 private:
  /// A scope object that marks the process as ended in its destructor, however `pump` ends.
  class ending {
   public:
    explicit ending(served_process& of) noexcept : of_(of) {}
    ending(const ending&) = delete;
    ending& operator=(const ending&) = delete;
    ~ending() {
      of_.over_ = true;
      of_.ended_.notify();
      for (listener* const subscriber : of_.listeners_) subscriber->wake();
    }

   private:
    served_process& of_;
  };

  static std::string refusal_text(const command_result& result) {
    std::string text = result.reason();
    if (!result.advice().empty()) text += "\n" + result.advice();
    return text + "\n";
  }

  void give(const output_chunk& piece) {
    if (listeners_.empty()) return;
    std::string_view kind = piece.stream() == output_stream::err ? "stderr" : "stdout";
    if (has_terminal_) kind = "pty";
    // The JSON is built by hand, because all output passes here and must be fast. Base64 needs no escaping.
    std::string payload = R"({"event":{"data":{")";
    payload += kind;
    payload += R"(":")";
    payload += cofferdam::detail::base64_encode(piece.data());
    payload += R"("}}})";
    const auto message = std::make_shared<const std::string>(cofferdam::detail::connect_message(payload));
    for (listener* const subscriber : listeners_) subscriber->give(message);
  }
  bool is_full() const noexcept {
    return std::any_of(listeners_.begin(), listeners_.end(),
                       [](const listener* subscriber) { return subscriber->pending_.size() >= max_pending; });
  }

  process running_;
  cofferdam::detail::async_event room_;
  cofferdam::detail::async_semaphore input_turn_;
  cofferdam::detail::async_semaphore signal_turn_;
  cofferdam::detail::async_event ended_;
  std::list<listener*> listeners_;
  boost::json::object config_;
  std::string tag_;
  encoded_message end_;
  std::uint32_t pid_;
  bool has_terminal_;
  bool has_input_;
  bool over_ = false;
  bool timed_out_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
