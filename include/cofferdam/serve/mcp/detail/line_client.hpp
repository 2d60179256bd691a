// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/serve/mcp/detail/session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A client that is connected by a byte stream with one message per line, such as standard input and output. MCP,
/// "Transports".
class line_client : public std::enable_shared_from_this<line_client> {
 public:
  line_client(std::shared_ptr<server_core> core, byte_stream stream)
      : core_(std::move(core)),
        stream_(std::move(stream)),
        session_(session::make(core_)),
        work_(std::make_shared<tasks>(core_->executor())),
        changed_(core_->executor()) {}

  /// Serves the client until it disconnects or this coroutine is cancelled. Then ends all work of the client.
  static awaitable<void> serve(std::shared_ptr<line_client> self) {
    self->session_->side = std::make_shared<line_outlet>(self, nullptr);
    self->work_->spawn(write_all(self));
    const auto reads = [&self]() -> awaitable<void> {
      try {
        co_await read_all(*self);
      } catch (const error& lost) {
        // A lost connection is the same as a client that has disconnected.
        if (lost.code() != exec_errc::io_error) throw;
      }
    };
    const auto ends = [&self] { return end(self); };
    co_await cofferdam::detail::with_cleanup(reads, ends, cofferdam::detail::failure_to_report);
  }

 private:
  static constexpr std::size_t max_queued = 1024;
  static constexpr std::size_t max_queued_bytes = std::size_t{64} * 1024 * 1024;

  /// The answers to one batch, which is a JSON array of messages. They are sent together.
  class batch {
   public:
    std::size_t open = 0;
    std::string text;
  };

  class line_outlet final : public outlet {
   public:
    line_outlet(const std::shared_ptr<line_client>& of, std::shared_ptr<batch> part)
        : of_(of), batch_(std::move(part)) {}
    void send(std::string message, bool droppable) override {
      if (const auto client = of_.lock()) client->queue(std::move(message), droppable);
    }
    void finish(std::optional<reply> last) override {
      const auto client = of_.lock();
      if (!client) return;
      if (!batch_) {
        if (last) client->queue(std::move(last->text), false);
        return;
      }
      if (last) batch_->text += (batch_->text.empty() ? "[" : ",") + last->text;
      if (--batch_->open == 0 && !batch_->text.empty()) client->queue(batch_->text + "]", false);
    }

   private:
    std::weak_ptr<line_client> of_;
    std::shared_ptr<batch> batch_;
  };

  static awaitable<void> read_all(line_client& self) {
    const std::size_t longest = self.core_->options().message();
    line_reader lines(longest);
    std::vector<std::byte> room(64 * 1024);
    for (;;) {
      const std::size_t count = co_await self.stream_.read_some(room);
      if (count == 0) break;
      std::string_view piece = as_text(bytes_view(room).first(count));
      for (;;) {
        std::string_view line;
        const line_reader::found found = lines.next(piece, line);
        if (found == line_reader::found::nothing) break;
        if (found == line_reader::found::too_long) {
          self.queue(rpc_error("", invalid_request,
                               "Invalid Request: a message can have at most " + std::to_string(longest) + " bytes"),
                     false);
        } else {
          self.take(line);
        }
      }
      // While the client does not read its answers, no further requests are read from it.
      while (self.is_full() && !self.broken_) co_await self.changed_.wait();
      if (self.broken_) break;
    }
  }

  void take(std::string_view line) {
    rpc_limits limits;
    limits.bytes = core_->options().message();
    rpc_input input = read_rpc(line, limits);
    const bool takes_batches = session_->version == "2025-03-26";
    if (input.is_batch && !takes_batches) {
      queue(rpc_error("", invalid_request, "Invalid Request: this version of the protocol does not support batches"),
            false);
      return;
    }
    std::shared_ptr<batch> part;
    if (input.is_batch) {
      part = std::make_shared<batch>();
      part->open = 1;
      for (const rpc_message& each : input.messages)
        if (each.kind == rpc_kind::request) ++part->open;
    }
    const auto out = std::make_shared<line_outlet>(shared_from_this(), part);
    for (const auto& [fault, id] : input.faults) {
      std::string text = rpc_error(id.is_null() ? "" : boost::json::serialize(id), fault.code(), fault.message());
      if (part) {
        part->text += (part->text.empty() ? "[" : ",") + text;
      } else {
        queue(std::move(text), false);
      }
    }
    for (rpc_message& each : input.messages) session_->receive(std::move(each), out);
    if (part) out->finish(std::nullopt);
  }

  bool is_full() const noexcept { return queue_.size() >= max_queued || queued_bytes_ >= max_queued_bytes; }

  void queue(std::string message, bool droppable) {
    if (ended_ || broken_) return;
    if (droppable && (queue_.size() >= max_queued / 2 || queued_bytes_ >= max_queued_bytes / 2)) return;
    message += '\n';
    queued_bytes_ += message.size();
    queue_.push_back(std::move(message));
    changed_.notify();
  }

  static awaitable<void> write_all(std::shared_ptr<line_client> self) {
    try {
      for (;;) {
        while (self->queue_.empty() && !self->ended_) co_await self->changed_.wait();
        if (self->queue_.empty()) break;
        // Small messages are sent together in one write.
        std::string text = std::move(self->queue_.front());
        self->queue_.pop_front();
        while (!self->queue_.empty() && text.size() + self->queue_.front().size() < 64 * 1024) {
          text += self->queue_.front();
          self->queue_.pop_front();
        }
        const bytes_view view = as_bytes(text);
        co_await self->stream_.write(view);
        self->queued_bytes_ -= text.size();
        self->changed_.notify();
      }
    } catch (const std::exception&) {  // the client does not read any more, so its input is ignored too
      self->broken_ = true;
      self->stream_.close();
    }
    self->queue_.clear();
    self->changed_.notify();
  }

  static awaitable<void> end(std::shared_ptr<line_client> self) {
    std::exception_ptr failure;
    try {
      co_await session::close(self->session_);
    } catch (...) {
      failure = std::current_exception();
    }
    self->ended_ = true;
    self->changed_.notify();
    // The client gets 500 ms to read the remaining answers.
    self->work_->spawn(give_up(self));
    while (!self->queue_.empty() || (self->queued_bytes_ != 0 && !self->broken_)) co_await self->changed_.wait();
    self->work_->cancel();
    try {
      co_await tasks::join(self->work_);
    } catch (const std::exception&) {  // the writer was cancelled above
    }
    self->stream_.close();
    if (failure) std::rethrow_exception(failure);
  }

  static awaitable<void> give_up(std::shared_ptr<line_client> self) {
    asio::steady_timer timer(self->core_->executor(), std::chrono::milliseconds(500));
    std::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    self->broken_ = true;
    self->queue_.clear();
    self->changed_.notify();
  }

  std::shared_ptr<server_core> core_;
  byte_stream stream_;
  std::shared_ptr<session> session_;
  std::shared_ptr<tasks> work_;
  async_event changed_;
  std::deque<std::string> queue_;
  std::size_t queued_bytes_ = 0;
  bool ended_ = false;
  bool broken_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
