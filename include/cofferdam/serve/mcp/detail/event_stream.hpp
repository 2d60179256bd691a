// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>
#include <cofferdam/serve/mcp/detail/unread_answers.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A stream of messages to a client as Server-Sent Events: the messages of one request, or those that belong to no
/// request. The events are numbered and stored, so that a client can fetch missed events after a lost connection. MCP,
/// "Transports", "Resumability".
class event_stream final : public outlet {
 public:
  static constexpr std::size_t max_events = 256;
  static constexpr std::size_t max_bytes = std::size_t{1024} * 1024;

  event_stream(const asio::any_io_executor& executor, std::shared_ptr<unread_answers> unread, std::string id,
               bool is_kept)
      : changed_(executor), unread_(std::move(unread)), id_(std::move(id)), is_kept_(is_kept) {}
  /// Sets a callable that is called when the stream has ended and no writer sends it to a client. It must not throw.
  void on_left(std::function<void()> action) { left_ = std::move(action); }

  const std::string& id() const noexcept { return id_; }
  bool is_done() const noexcept { return done_; }
  std::size_t size() const noexcept { return bytes_; }

  void send(std::string message, bool droppable) override {
    if (done_) return;
    if (droppable && (events_.size() >= max_events || bytes_ >= max_bytes)) trim();
    if (droppable && (events_.size() >= max_events || bytes_ >= max_bytes || unread_->is_full())) return;
    push(std::move(message));
    ++notified_;
  }
  void finish(std::optional<reply> last) override {
    if (done_) return;
    done_ = true;
    if (last) {
      kind_ = last->kind;
      answered_ = true;
      push(std::move(last->text));
    }
    changed_.notify();
    if (!attached_ && left_) left_();
  }
  void interrupt() override {
    interrupted_ = true;
    changed_.notify();
  }

  /// Returns true if the stream has ended, and contains no message except the answer.
  bool is_one_answer() const noexcept { return done_ && notified_ == 0; }
  bool has_answer() const noexcept { return answered_; }
  reply_kind kind() const noexcept { return kind_; }
  /// Returns the text of the last event. After the end of the stream this is the answer, if there is one.
  const std::shared_ptr<const unread_text>& last() const { return events_.back().text; }

  /// Returns true if the event with the number `seen` is the last event, and no further event can follow.
  bool is_over(std::uint64_t seen) const noexcept { return done_ && seen >= last_; }
  /// Returns true if all events after the number `seen` are still stored.
  bool has_all_since(std::uint64_t seen) const noexcept {
    return seen <= last_ && (events_.empty() ? seen == last_ : seen + 1 >= events_.front().number);
  }
  /// Returns the text of the next event after the number `seen`, and sets `seen` to its number; null if there is none
  /// yet.
  std::shared_ptr<const unread_text> next(std::uint64_t& seen) const {
    for (const item& event : events_) {
      if (event.number <= seen) continue;
      seen = event.number;
      return event.text;
    }
    return nullptr;
  }
  /// Returns the number of the last event that the client has received.
  std::uint64_t last_delivered() const noexcept { return delivered_; }
  /// Records that the client has received the event with this number, and all events before it.
  void delivered(std::uint64_t number) {
    delivered_ = std::max(delivered_, number);
    if (!is_kept_) {
      while (!events_.empty() && events_.front().number <= delivered_) drop_first();
    } else {
      trim();
    }
  }

  /// Makes the caller the writer that sends the events to the client. A previous writer then ends.
  /// \return the number of the new writer.
  std::uint64_t attach() {
    // The flag stays set for the first writer, because the interruption may have happened before that writer began.
    if (writer_++ != 0) interrupted_ = false;
    attached_ = true;
    changed_.notify();
    return writer_;
  }
  void detach(std::uint64_t writer) noexcept {
    if (writer != writer_) return;
    attached_ = false;
    if (done_ && left_) left_();
  }
  bool is_attached() const noexcept { return attached_; }
  /// Returns true if this writer must end its connection.
  bool is_to_leave(std::uint64_t writer) const noexcept { return interrupted_ || writer != writer_; }

  /// Waits for a change of the stream, at most until the time `until`.
  awaitable<cofferdam::detail::wait_result> change(async_event::clock::time_point until = async_event::never) {
    return changed_.wait(until);
  }

 private:
  class item {
   public:
    item(std::uint64_t its_number, std::shared_ptr<const unread_text> its_text)
        : number(its_number), text(std::move(its_text)) {}
    std::uint64_t number;
    std::shared_ptr<const unread_text> text;  // the writer shares it while it sends the text
  };

  void push(std::string text) {
    bytes_ += text.size();
    events_.emplace_back(++last_, std::make_shared<const unread_text>(unread_, std::move(text)));
    trim();
    changed_.notify();
  }
  void drop_first() {
    bytes_ -= events_.front().text->size();
    events_.pop_front();
  }
  /// Removes the oldest events until there is room for another one within the limits. Keeps events that the client has
  /// not received, and the last event.
  void trim() {
    while (events_.size() > 1 && (events_.size() >= max_events || bytes_ >= max_bytes) &&
           events_.front().number <= delivered_)
      drop_first();
  }

  async_event changed_;
  std::shared_ptr<unread_answers> unread_;
  std::function<void()> left_;
  std::string id_;
  std::deque<item> events_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t notified_ = 0;
  std::uint64_t writer_ = 0;
  reply_kind kind_ = reply_kind::answered;
  bool is_kept_;
  bool answered_ = false;
  bool done_ = false;
  bool attached_ = false;
  bool interrupted_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
