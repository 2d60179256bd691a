// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>

#include <asio/any_io_executor.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The output of a command that was not read yet. If there are more than `most` bytes, the oldest ones are dropped.
class unread_output {
 public:
  static constexpr std::size_t max_bytes = 256 * 1024;

  void append(std::string_view piece) {
    text_ += piece;
    if (text_.size() <= max_bytes) return;
    const std::size_t cut = text_.size() - max_bytes / 2;
    dropped_ += cut;
    text_.erase(0, cut);
  }
  bool empty() const noexcept { return text_.empty() && dropped_ == 0; }
  /// Returns the oldest output as valid UTF-8, and removes it.
  /// \param count    the maximum number of bytes.
  /// \param last     true if no more output will arrive; then an incomplete character at the end is returned too.
  /// \param dropped  receives the number of bytes that were dropped since the last call.
  std::string take(std::size_t count, bool last, std::uint64_t& dropped) {
    dropped = std::exchange(dropped_, 0);
    std::string_view part = std::string_view(text_).substr(0, count);
    if (part.size() < text_.size() || !last) part = cofferdam::detail::without_cut_end(part);
    std::string good;
    cofferdam::detail::append_repaired_utf8(good, dropped == 0 ? part : cofferdam::detail::without_cut_start(part));
    text_.erase(0, part.size());
    return good;
  }

 private:
  std::string text_;
  std::uint64_t dropped_ = 0;
};

/// A command that continues after the end of the tool call that has started it.
class background_command {
 public:
  background_command(const asio::any_io_executor& executor, std::string its_id, std::string its_line,
                     std::shared_ptr<any_environment> environment, process command)
      : id(std::move(its_id)),
        line(std::move(its_line)),
        environment_(std::move(environment)),
        signal_turn_(executor, 1),
        running(std::move(command)),
        changed(executor),
        started(std::chrono::steady_clock::now()) {}

  std::string id;
  std::string line;

 private:
  std::shared_ptr<any_environment> environment_;  // declared first, so that it outlives the process
  cofferdam::detail::async_semaphore signal_turn_;

 public:
  process running;
  async_event changed;
  std::chrono::steady_clock::time_point started;
  unread_output out;
  unread_output err;
  std::optional<command_result> result;
  std::string lost;  // the reason, if the result of the command cannot be known
  bool over() const noexcept { return result || !lost.empty(); }

  /// Sends a signal, after earlier signals were sent.
  static awaitable<void> signal(std::shared_ptr<background_command> self, int number) {
    co_await self->signal_turn_.acquire(1, "signal");
    const cofferdam::detail::held_permits turn(self->signal_turn_, 1);
    co_await self->running.signal(number);
  }

  /// Reads the output of the command until its end, and stores the result.
  static awaitable<void> watch(std::shared_ptr<background_command> self) {
    std::string lost;
    try {
      for (;;) {
        const output_chunk piece = co_await self->running.read();
        if (piece.end()) break;
        (piece.stream() == output_stream::err ? self->err : self->out).append(as_text(piece.data()));
        self->changed.notify();
      }
      command_result ended = co_await self->running.wait();
      self->result = std::move(ended);
    } catch (const std::exception& failure) {
      lost = failure.what();
    }
    if (!self->result) self->lost = lost.empty() ? "the command was lost" : lost;
    self->changed.notify();
  }
};

/// The background commands of one client's workspace (its environment, and the work in it).
class background_commands {
 public:
  static constexpr std::size_t max_running = 16;
  static constexpr std::size_t max_ended = 48;

  explicit background_commands(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  std::size_t running() const noexcept {
    std::size_t count = starting_;
    for (const auto& entry : all_)
      if (!entry->over()) ++count;
    return count;
  }
  /// While a command is being started, counts it against `max_running`. The destructor ends the counting.
  class reservation {
   public:
    /// \throws error{exec_errc::too_large} if too many commands run already.
    explicit reservation(background_commands& commands) : commands_(commands) { commands_.reserve(); }
    reservation(const reservation&) = delete;
    reservation& operator=(const reservation&) = delete;
    ~reservation() { --commands_.starting_; }

   private:
    background_commands& commands_;
  };

  std::shared_ptr<background_command> add(std::string line, std::shared_ptr<any_environment> environment,
                                          process running) {
    std::size_t ended = 0;
    for (const auto& entry : all_)
      if (entry->over()) ++ended;
    for (auto at = all_.begin(); at != all_.end() && ended >= max_ended;) {
      if ((*at)->over()) {
        at = all_.erase(at);
        --ended;
      } else {
        ++at;
      }
    }
    all_.push_back(std::make_shared<background_command>(executor_, "cmd-" + std::to_string(++last_), std::move(line),
                                                        std::move(environment), std::move(running)));
    return all_.back();
  }
  /// Returns the command with this id; null if there is none.
  std::shared_ptr<background_command> find(std::string_view id) const {
    for (const auto& entry : all_)
      if (entry->id == id) return entry;
    return nullptr;
  }
  const std::list<std::shared_ptr<background_command>>& all() const noexcept { return all_; }
  void clear() { all_.clear(); }

 private:
  void reserve() {
    if (running() >= max_running)
      throw error(exec_errc::too_large, "the maximum of " + std::to_string(max_running) +
                                            " background commands is running; end one with signal_command first");
    ++starting_;
  }

  asio::any_io_executor executor_;
  std::list<std::shared_ptr<background_command>> all_;
  std::size_t starting_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
