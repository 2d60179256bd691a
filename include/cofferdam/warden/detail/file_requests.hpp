// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>

#include <asio/any_io_executor.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// An object that receives the `reply_data` frames of a file request: pieces of a file or of a listing, which the
/// warden (the helper program in a sandbox) sends before its reply. The request keeps this object alive.
class reply_data_sink {
 public:
  virtual void take(bytes_view piece) = 0;

 protected:
  reply_data_sink() = default;
  reply_data_sink(const reply_data_sink&) = default;
  reply_data_sink& operator=(const reply_data_sink&) = default;
  ~reply_data_sink() = default;
};

/// An object that receives the `changes` frames of a watched directory.
class change_sink {
 public:
  virtual void take(const wire::frame& arrived) = 0;
  /// Called when the watch has ended without its owner's will.
  virtual void lose(const error& reason) = 0;

 protected:
  change_sink() = default;
  change_sink(const change_sink&) = default;
  change_sink& operator=(const change_sink&) = default;
  ~change_sink() = default;
};

/// The reply to a file request: the kernel's error number (0 for success), the fields of the reply, and the data that
/// was sent before the reply.
class file_answer {
 public:
  int number = 0;
  bytes values;
  bytes data;
};

template <class = void>
class basic_file_requests;
using file_requests = basic_file_requests<>;

/// The file requests that a warden has not answered yet. The warden answers requests in order. A request for which the
/// warden has no room waits in this program. All members are called on one executor.
template <class Unused>
class basic_file_requests final : public frame_receiver {
 public:
  /// A request that was sent.
  class sent {
   public:
    sent(const asio::any_io_executor& executor, std::uint32_t its_number, std::size_t its_size)
        : came(executor), number(its_number), size(its_size) {}
    bool is_answered() const noexcept { return answered; }

   private:
    friend class basic_file_requests;
    async_event came;
    std::uint32_t number;
    std::size_t size;
    file_answer answer;
    std::shared_ptr<reply_data_sink> data;
    bool answered = false;
  };

  explicit basic_file_requests(const asio::any_io_executor& executor)
      : executor_(executor), window_(executor, wire::file_window - reserve), files_(executor, wire::max_unfinished) {}

  static constexpr std::uint32_t first_number = 0x80000000;  ///< smaller numbers are for commands

  /// Returns a new number, for one request or for all requests that write one file.
  std::uint32_t number() noexcept {
    do next_ = (next_ + 1) | first_number;
    while (watches_.contains(next_));
    return next_;
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Delivers the changes of the watch with this number from now on.
  void add_watch(std::uint32_t number, std::shared_ptr<change_sink> changes) {
    watches_.emplace(number, std::move(changes));
  }
  /// Ignores the changes of a watch from now on.
  void end_watch(std::uint32_t number) noexcept { watches_.erase(number); }

  /// Returns the semaphore that limits the number of unfinished files.
  async_semaphore& files() noexcept { return files_; }

  /// Returns true if no request is waiting for its reply, and nothing is watched.
  bool empty() const noexcept override { return sent_.empty() && watches_.empty(); }

  /// Waits until the warden has room for the request (see `wire::file_window`), and sends it. Does not wait for the
  /// reply.
  /// \param data  receives the data before the reply. If it is null, the data is stored in the reply, at most
  ///              `wire::max_read` bytes.
  /// \throws error{exec_errc::cancelled} if the wait was cancelled; the request was then not sent. Otherwise the error
  ///         that ended the session (the connection to the warden).
  awaitable<std::shared_ptr<sent>> send(frame_sink& sink, std::uint32_t number, bytes frame,
                                        std::shared_ptr<reply_data_sink> data = nullptr) {
    co_await window_.acquire(frame.size(), "file operation");
    std::shared_ptr<sent> request;
    try {
      request = enqueue(sink, number, std::move(frame), true);
      request->data = std::move(data);
    } catch (...) {
      window_.release(frame.size());
      throw;
    }
    co_return request;
  }

  /// Sends a small request without waiting for room. Its reply is ignored.
  void send_now(frame_sink& sink, std::uint32_t number, bytes frame) {
    if (lost_) return;
    enqueue(sink, number, std::move(frame), false);
  }

  /// Waits for the reply to a request.
  /// \throws error{exec_errc::cancelled} if the wait was cancelled; the request may or may not be executed. Otherwise
  ///     the error that ended the session.
  awaitable<file_answer> answer(std::shared_ptr<sent> request) {
    while (!request->answered && !lost_) {
      const wait_result result = co_await request->came.wait();
      if (request->answered) break;
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled, "file operation: cancelled; it may or may not have been done");
    }
    if (!request->answered) throw *lost_;
    co_return std::move(request->answer);
  }

  /// Returns the reply to a request for which `is_answered()` is true.
  static file_answer take_answer(sent& request) { return std::move(request.answer); }

  /// Handles a frame that has arrived.
  /// \return  true if the frame belongs to a file request.
  /// \throws error{exec_errc::provider_lost} if it belongs to a request that was not sent.
  bool arrived(frame_sink&, const wire::frame& frame) override {
    if (frame.type() == wire::frame_type::worker_lost) {
      wire::payload_reader values(frame);
      const auto count = values.number<std::uint32_t>();
      if (count > sent_.size()) throw wire::violation("more file requests were lost than were sent");
      for (std::uint32_t i = 0; i < count; ++i) {
        sent_.front()->answer.number = ECONNRESET;
        end_first();
      }
      lose_watches(error(exec_errc::io_error, "watch: the process for file operations was killed; watch again"));
      return true;
    }
    if (frame.type() == wire::frame_type::changes) {
      const auto found = watches_.find(frame.job());  // the changes of a watch that has just ended are ignored
      if (found != watches_.end()) std::shared_ptr(found->second)->take(frame);
      return true;
    }
    if (frame.type() != wire::frame_type::reply && frame.type() != wire::frame_type::reply_data) return false;
    if (sent_.empty() || sent_.front()->number != frame.job())
      throw wire::violation("an answer to a file request that was not sent");
    sent& request = *sent_.front();
    const bool is_wanted = sent_.front().use_count() > 1;  // data of a cancelled request is ignored
    bytes_view payload = frame.payload();
    if (frame.type() == wire::frame_type::reply_data) {
      if (!is_wanted) return true;
      if (request.data) {
        request.data->take(payload);
        return true;
      }
      if (payload.size() > wire::max_read - request.answer.data.size())
        throw wire::violation("more data for a file request than was requested");
      request.answer.data.insert(request.answer.data.end(), payload.begin(), payload.end());
      return true;
    }
    wire::payload_reader values(frame);
    request.answer.number = values.number<std::int32_t>();
    payload = payload.subspan(sizeof(std::int32_t));
    request.answer.values.assign(payload.begin(), payload.end());
    end_first();
    return true;
  }

  void lose(const error& reason) override {
    lost_ = reason;
    window_.fail(reason);
    files_.fail(reason);
    for (const std::shared_ptr<sent>& request : sent_) request->came.notify();
    lose_watches(reason);
  }

 private:
  /// The part of `wire::file_window`, in bytes, that is kept free for requests that must not wait: requests to discard
  /// a file.
  static constexpr std::size_t reserve = 16 * 1024;

  void lose_watches(const error& reason) {
    for (const auto& [number, changes] : watches_) changes->lose(reason);
  }

  std::shared_ptr<sent> enqueue(frame_sink& sink, std::uint32_t number, bytes frame, bool is_counted) {
    auto request = std::make_shared<sent>(executor_, number, is_counted ? frame.size() : 0);
    sent_.push_back(request);
    try {
      sink.send(std::move(frame));
    } catch (...) {
      sent_.pop_back();
      throw;
    }
    return request;
  }

  void end_first() {
    const std::shared_ptr<sent> request = std::move(sent_.front());
    sent_.pop_front();
    request->answered = true;
    request->came.notify();
    if (request->size != 0) window_.release(request->size);
  }

  asio::any_io_executor executor_;
  std::uint32_t next_ = first_number;
  std::optional<error> lost_;
  std::deque<std::shared_ptr<sent>> sent_;
  std::unordered_map<std::uint32_t, std::shared_ptr<change_sink>> watches_;
  async_semaphore window_;
  async_semaphore files_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
