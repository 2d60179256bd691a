// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/allotment.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>
#include <cofferdam/warden/protocol.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Takes what comes before a reply, piece by piece, as the warden sent it. It is kept as long as the request is under way.
class reply_data_sink {
 public:
  virtual void take(bytes_view piece) = 0;

 protected:
  reply_data_sink() = default;
  reply_data_sink(const reply_data_sink&) = default;
  reply_data_sink& operator=(const reply_data_sink&) = default;
  ~reply_data_sink() = default;
};

/// The answer to a file request: the number the kernel gave, what the reply says, and the data before it.
class file_answer {
 public:
  int number = 0;
  bytes values;
  bytes data;
};

/// File requests under way at a warden, which answers them in the order in which they were sent. Never more are sent than
/// the warden has room for; who comes then waits for his turn. One executor.
class file_requests {
 public:
  /// A request that was sent.
  class sent {
   public:
    sent(const asio::any_io_executor& executor, std::uint32_t number, std::size_t size)
        : woken(executor, std::chrono::steady_clock::time_point::max()), number(number), size(size) {}
    bool is_answered() const noexcept { return answered; }

   private:
    friend class file_requests;
    asio::steady_timer woken;
    std::uint32_t number;
    std::size_t size;
    file_answer answer;
    std::shared_ptr<reply_data_sink> data;
    bool answered = false;
  };

  explicit file_requests(const asio::any_io_executor& executor)
      : executor_(executor), window_(executor, wire::file_window - reserve), files_(executor, wire::most_unfinished) {}

  static constexpr std::uint32_t first_number = 0x80000000;  ///< commands have the numbers below

  /// A number for one request, or for all of one file that is written.
  std::uint32_t number() noexcept { return next_ = (next_ + 1) | first_number; }

  /// The files that may be unfinished at a time.
  allotment& files() noexcept { return files_; }

  /// Whether none is under way.
  bool empty() const noexcept { return sent_.empty(); }

  /// Sends a request, once there is room for it, and does not wait for the answer.
  /// \param data  takes what comes before the reply; without one that is in the answer, and a file's worth at most.
  /// \throws error{errc::cancelled}: it was not sent; or what the session was lost for.
  awaitable<std::shared_ptr<sent>> send(frame_sink& sink, std::uint32_t number, bytes frame,
                                        std::shared_ptr<reply_data_sink> data = nullptr) {
    co_await window_.take(frame.size(), "file operation");
    std::shared_ptr<sent> one;
    try {
      one = enqueue(sink, number, std::move(frame), true);
      one->data = std::move(data);
    } catch (...) {
      window_.give(frame.size());
      throw;
    }
    co_return one;
  }

  /// Sends a small request whose answer nobody waits for, at once.
  void send_now(frame_sink& sink, std::uint32_t number, bytes frame) {
    if (lost_) return;
    enqueue(sink, number, std::move(frame), false);
  }

  /// Waits for an answer.
  /// \throws error{errc::cancelled}, or what the session was lost for.
  awaitable<file_answer> answer(std::shared_ptr<sent> one) {
    while (!one->answered && !lost_) {
      std::error_code woken;
      co_await one->woken.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (one->answered) break;
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none)
        throw error(errc::cancelled, "file operation: cancelled; whether it was done is not known");
    }
    if (!one->answered) throw *lost_;
    co_return std::move(one->answer);
  }

  /// The answer to a request that has been answered.
  static file_answer take_answer(sent& one) { return std::move(one.answer); }

  /// \return  whether the frame was an answer.
  /// \throws error{errc::provider_lost} for one to something that was not asked.
  bool arrived(const wire::frame& frame) {
    if (frame.type() == wire::frame_type::worker_lost) {
      wire::payload_reader values(frame);
      const auto count = values.number<std::uint32_t>();
      if (count > sent_.size()) throw wire::violation("more file requests are lost than were sent");
      for (std::uint32_t i = 0; i < count; ++i) {
        sent_.front()->answer.number = ECONNRESET;
        end_first();
      }
      return true;
    }
    if (frame.type() != wire::frame_type::reply && frame.type() != wire::frame_type::reply_data) return false;
    if (sent_.empty() || sent_.front()->number != frame.job())
      throw wire::violation("an answer to a file request that was not sent");
    sent& one = *sent_.front();
    const bool is_wanted = sent_.front().use_count() > 1;  // nobody waits for one that was cancelled
    bytes_view payload = frame.payload();
    if (frame.type() == wire::frame_type::reply_data) {
      if (!is_wanted) return true;
      if (one.data) {
        one.data->take(payload);
        return true;
      }
      if (payload.size() > wire::most_read - one.answer.data.size())
        throw wire::violation("more data for a file request than was asked for");
      one.answer.data.insert(one.answer.data.end(), payload.begin(), payload.end());
      return true;
    }
    wire::payload_reader values(frame);
    one.answer.number = values.number<std::int32_t>();
    payload = payload.subspan(sizeof(std::int32_t));
    one.answer.values.assign(payload.begin(), payload.end());
    end_first();
    return true;
  }

  void lose(const error& reason) {
    lost_ = reason;
    window_.fail(reason);
    files_.fail(reason);
    for (const std::shared_ptr<sent>& one : sent_) one->woken.cancel();
  }

 private:
  /// Room that is kept for what must not wait: files that are given up.
  static constexpr std::size_t reserve = 16 * 1024;

  std::shared_ptr<sent> enqueue(frame_sink& sink, std::uint32_t number, bytes frame, bool is_counted) {
    auto one = std::make_shared<sent>(executor_, number, is_counted ? frame.size() : 0);
    sent_.push_back(one);
    try {
      sink.send(std::move(frame));
    } catch (...) {
      sent_.pop_back();
      throw;
    }
    return one;
  }

  void end_first() {
    const std::shared_ptr<sent> one = std::move(sent_.front());
    sent_.pop_front();
    one->answered = true;
    one->woken.cancel();
    if (one->size != 0) window_.give(one->size);
  }

  asio::any_io_executor executor_;
  std::uint32_t next_ = first_number;
  std::optional<error> lost_;
  std::deque<std::shared_ptr<sent>> sent_;
  allotment window_;
  allotment files_;
};

}  // namespace cofferdam::inline v0::detail
