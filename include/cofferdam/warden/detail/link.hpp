// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/detail/protocol.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

/// A stream with coroutine operations, such as `byte_stream`. `read_some` returns 0 at the end of the stream, `write`
/// writes all bytes, and `close` ends the operations under way.
template <class Stream>
concept coroutine_stream = requires(Stream& stream, std::span<std::byte> into, bytes_view data) {
  { stream.read_some(into) } -> awaitable_of<std::size_t>;
  { stream.write(data) } -> awaitable_of<void>;
  stream.close();
};

}  // namespace cofferdam::inline COFFERDAM_ABI

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// An object that receives the frames that a link delivers. A link is the connection between this program and a warden
/// (the helper program in a sandbox). The link keeps this object alive while the link is open.
class link_listener {
 public:
  virtual void frame_arrived(const wire::frame& arrived) = 0;
  /// Called if the `spawn` frame of a job (a command) was not sent, because the frame's descriptors could not be sent
  /// or because the job was killed first. If the job was killed, `cause` is empty. Later frames of the job are not sent
  /// either.
  virtual void spawn_dropped(std::uint32_t job, std::error_code cause) = 0;
  /// Called when the stream has ended or its content is invalid. No further member is called after that.
  virtual void link_lost(const error& reason) = 0;

 protected:
  ~link_listener() = default;
};

/// A connection to a warden, which carries frames in both directions. All members are called on one executor.
class warden_link {
 public:
  warden_link() = default;
  warden_link(const warden_link&) = delete;
  warden_link& operator=(const warden_link&) = delete;
  virtual ~warden_link() = default;

  /// Begins to read and to call `listener`.
  virtual void start(std::shared_ptr<link_listener> listener) = 0;
  /// Sends a frame after all earlier frames. Does not wait.
  /// \param descriptors  borrowed. `send` duplicates them if it cannot send them at once.
  virtual void send(bytes frame, std::span<const int> descriptors) = 0;
  /// Returns true if `send` accepts descriptors.
  virtual bool carries_descriptors() const noexcept = 0;
  /// Stops sending and receiving. The warden reads the end of the stream.
  virtual void close() noexcept = 0;

 protected:
  enum class delivery { all, turn_is_over, ended };

  /// Delivers the complete frames that have arrived. Stops after `turn` frames, so that the event loop can handle its
  /// timers.
  static delivery deliver(wire::frame_decoder& decoder, link_listener& listener, const bool& open, int& turn) {
    try {
      for (; open; --turn) {
        if (turn == 0) return delivery::turn_is_over;
        const std::optional<wire::frame> arrived = decoder.next();
        if (!arrived) return delivery::all;
        listener.frame_arrived(*arrived);
      }
    } catch (const error& reason) {
      if (open) listener.link_lost(reason);
    }
    return delivery::ended;
  }

  static constexpr int frames_in_turn = 64;

  static error ended(std::error_code cause) {
    return error(exec_errc::provider_lost,
                 std::string("the warden is gone: its stream has ended") + (cause ? ": " + cause.message() : ""),
                 cause);
  }
};

template <class = void>
class basic_socket_link;
using socket_link = basic_socket_link<>;

/// A link over a connected Unix socket, which also carries descriptors.
///
/// The kernel refuses to pass descriptors (ETOOMANYREFS) while processes of the same user have too many descriptors in
/// flight. The link then keeps the `spawn` frame and tries again for `hold_time`, but at most until the command's time
/// limit. Meanwhile frames of other jobs are sent. Later frames of the same job wait, too. A `kill` frame for the job
/// removes its waiting frames. The waiting time is subtracted from the command's time limit.
template <class Unused>
class basic_socket_link final : public warden_link, public std::enable_shared_from_this<socket_link> {
 public:
  /// \param socket  must be non-blocking.
  basic_socket_link(const asio::any_io_executor& executor, unique_fd socket) : socket_(executor), retry_(executor) {
    socket_.assign(socket.get());
    socket.release();
  }

  void start(std::shared_ptr<link_listener> listener) override {
    listener_ = std::move(listener);
    read_later();
  }

  void send(bytes frame, std::span<const int> descriptors) override {
    if (!open_ || follows_held(frame)) return;
    if (queue_.empty()) {
      const ssize_t sent = send_now(frame, descriptors);
      if (sent == static_cast<ssize_t>(frame.size())) return;
      const int number = errno;
      if (sent < 0 && !is_full(number)) return;  // the warden has closed the stream, which the reading side detects
      outgoing rest{std::move(frame), sent > 0 ? static_cast<std::size_t>(sent) : 0, {}, {}, clock::now(), {}};
      if (sent <= 0) rest.descriptors = copied(descriptors);
      if (sent < 0 && number == ETOOMANYREFS) return hold(std::move(rest));
      queue_.push_back(std::move(rest));
      write_later();
      return;
    }
    queue_.push_back(outgoing{std::move(frame), 0, copied(descriptors), {}, clock::now(), {}});
  }

  bool carries_descriptors() const noexcept override { return true; }

  void close() noexcept override {
    if (!std::exchange(open_, false)) return;
    // A child process that was forked from this program may have a copy of the socket. Without shutdown(2), the warden
    // would not read the end of the stream before that copy is closed.
    ::shutdown(socket_.native_handle(), SHUT_RDWR);
    std::error_code ignored;  // the socket is closed even if `close` fails
    socket_.close(ignored);
    retry_.cancel();
    listener_.reset();
    queue_.clear();
    held_.clear();
  }

  /// The time for which sending a frame is tried again if the kernel refuses to pass the frame's descriptors.
  static constexpr std::chrono::milliseconds hold_time{300};

 private:
  using clock = std::chrono::steady_clock;

  struct outgoing {
    bytes frame;
    std::size_t sent;
    std::vector<unique_fd> descriptors;
    clock::time_point held_since;
    // Up to this moment, the waiting time was already subtracted from the time limit in the `spawn` frame.
    clock::time_point counted_until;
    std::vector<bytes> followers;  // waiting frames of the same job
  };

  static constexpr std::chrono::milliseconds retry_time{20};

  /// Keeps a frame if the `spawn` frame of its job is still waiting.
  /// \return false if that `spawn` frame is not waiting; the caller then sends the frame.
  bool follows_held(bytes& frame) {
    const wire::frame_type type = wire::type_of(frame);
    if (held_.empty() || type < wire::frame_type::input || type > wire::frame_type::resize) return false;
    const std::uint32_t job = wire::job_of(frame);
    const auto found = std::find_if(held_.begin(), held_.end(),
                                    [job](const outgoing& each) { return wire::job_of(each.frame) == job; });
    if (found == held_.end()) return false;
    if (type == wire::frame_type::kill) {
      post_callback(socket_.get_executor(), [self = shared_from_this(), job] {  // later, not inside `send`
        const std::shared_ptr<link_listener> listener = self->listener_;
        if (self->open_) listener->spawn_dropped(job, {});
      });
      held_.erase(found);
    } else {
      found->followers.push_back(std::move(frame));
    }
    return true;
  }

  void hold(outgoing message) {
    message.held_since = clock::now();
    held_.push_back(std::move(message));
    if (held_.size() == 1) retry_later();
  }

  void retry_later() {
    retry_.expires_after(retry_time);
    on_expiry(retry_, [self = shared_from_this()](std::error_code failure) {
      if (!failure && self->open_) self->retry_held();
    });
  }

  /// Sends the waiting `spawn` frames that can be sent now. Removes those that have waited too long.
  void retry_held() {
    const std::shared_ptr<link_listener> listener = listener_;
    std::deque<outgoing> waiting = std::exchange(held_, {});
    std::vector<std::uint32_t> dropped;
    for (outgoing& each : waiting) {
      const bool has_room = queue_.empty();
      const bool is_sent = has_room && write_one(each);
      if (is_sent || !has_room || errno != ETOOMANYREFS) {  // if other frames are queued, the frame is put behind them
        const std::vector<bytes> followers = std::exchange(each.followers, {});
        if (each.sent != each.frame.size()) {
          queue_.push_back(std::move(each));
          if (has_room) write_later();
        }
        for (const bytes& frame : followers) send(frame, {});
      } else if (has_waited_enough(each)) {
        dropped.push_back(wire::job_of(each.frame));
      } else {
        held_.push_back(std::move(each));
      }
    }
    if (!held_.empty()) retry_later();
    for (const std::uint32_t job : dropped) {
      if (!open_) return;
      listener->spawn_dropped(job, std::error_code(ETOOMANYREFS, std::system_category()));
    }
  }

  static bool has_waited_enough(const outgoing& message) {
    const clock::time_point now = clock::now();
    const std::optional<std::chrono::milliseconds> limit = wire::spawn_limit(message.frame);
    return now >= message.held_since + hold_time || (limit && now >= message.counted_until + *limit);
  }

  /// Sends as much of a frame as the socket accepts.
  /// \return false and sets `errno` if the socket accepts nothing.
  bool write_one(outgoing& message) {
    if (message.sent == 0 && wire::type_of(message.frame) == wire::frame_type::spawn) {
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - message.counted_until);
      wire::shorten_spawn_limit(message.frame, waited);
      message.counted_until += waited;
    }
    std::array<int, 4> raw{};
    std::transform(message.descriptors.begin(), message.descriptors.end(), raw.begin(),
                   [](const unique_fd& fd) { return fd.get(); });
    const ssize_t sent = send_now(bytes_view(message.frame).subspan(message.sent),
                                  std::span<const int>(raw.data(), message.descriptors.size()));
    if (sent < 0) return false;
    message.descriptors.clear();
    message.sent += static_cast<std::size_t>(sent);
    return true;
  }

  /// Returns true if trying again later may succeed: the socket is full, memory is short, or too many descriptors are
  /// in flight.
  static bool is_full(int number) noexcept {
    return number == EAGAIN || number == ETOOMANYREFS || number == ENOBUFS || number == ENOMEM;
  }

  static std::vector<unique_fd> copied(std::span<const int> descriptors) {
    std::vector<unique_fd> copies;
    for (const int fd : descriptors) copies.push_back(usable(unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)), "dup"));
    return copies;
  }

  ssize_t send_now(bytes_view data, std::span<const int> descriptors) noexcept {
    iovec vector{const_cast<std::byte*>(data.data()), data.size()};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    ssize_t sent = 0;
    do {
      sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent;
  }

  void write_later() {
    on_writable(socket_, [self = shared_from_this()](std::error_code failure) {
      if (!failure) self->write_queued();
    });
  }

  void write_queued() {
    while (open_ && !queue_.empty()) {
      outgoing& first = queue_.front();
      if (!write_one(first)) {
        if (errno == ETOOMANYREFS) {
          hold(std::move(first));
          queue_.pop_front();
          std::deque<outgoing> behind = std::exchange(queue_, {});
          for (outgoing& each : behind)
            if (!follows_held(each.frame)) queue_.push_back(std::move(each));
          continue;
        }
        if (is_full(errno)) write_later();
        return;
      }
      if (first.sent == first.frame.size()) queue_.pop_front();
    }
  }

  void read_later() {
    on_readable(socket_, [self = shared_from_this()](std::error_code failure) {
      if (failure != asio::error::operation_aborted) self->read(failure);
    });
  }

  void read(std::error_code failure) {
    const std::shared_ptr<link_listener> listener = listener_;
    for (int turn = frames_in_turn; open_;) {
      const delivery how = deliver(decoder_, *listener, open_, turn);
      if (how == delivery::ended) return;
      if (how == delivery::turn_is_over) {
        post_callback(socket_.get_executor(), [self = shared_from_this()] { self->read({}); });
        return;
      }
      ssize_t got = -1;
      if (!failure) {
        const std::span<std::byte> room = decoder_.room();
        do {
          got = ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
        } while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN) break;
        if (got < 0) failure = std::error_code(errno, std::system_category());
      }
      if (got <= 0) return listener->link_lost(ended(failure));
      decoder_.arrived(static_cast<std::size_t>(got));
    }
    if (open_) read_later();
  }

  asio::posix::stream_descriptor socket_;
  std::shared_ptr<link_listener> listener_;
  wire::frame_decoder decoder_;
  std::deque<outgoing> queue_;
  std::deque<outgoing> held_;  // `spawn` frames whose descriptors the kernel has refused to pass
  asio::steady_timer retry_;
  bool open_ = true;
};

/// A link over a stream that models Asio's `AsyncReadStream` and `AsyncWriteStream` and has `close()`.
template <class Stream>
class stream_link final : public warden_link, public std::enable_shared_from_this<stream_link<Stream>> {
 public:
  explicit stream_link(Stream stream) : stream_(std::move(stream)) {}

  void start(std::shared_ptr<link_listener> listener) override {
    listener_ = std::move(listener);
    read_later();
  }

  void send(bytes frame, std::span<const int>) override {
    if (!open_) return;
    queue_.push_back(std::move(frame));
    if (queue_.size() == 1) write_next();
  }

  bool carries_descriptors() const noexcept override { return false; }

  void close() noexcept override {
    open_ = false;
    try {
      stream_.close();
    } catch (const std::system_error&) {  // the stream is closed even if `close` fails
    }
    listener_.reset();
  }

 private:
  void write_next() {
    asio::async_write(stream_, asio::buffer(queue_.front()),
                      [self = this->shared_from_this()](std::error_code failure, std::size_t) {
                        if (!self->open_ || failure) return;  // the reading side detects the failure
                        self->queue_.pop_front();
                        if (!self->queue_.empty()) self->write_next();
                      });
  }

  void read_later() {
    const std::span<std::byte> room = decoder_.room();
    stream_.async_read_some(
        asio::buffer(room.data(), room.size()),
        [self = this->shared_from_this()](std::error_code failure, std::size_t count) { self->read(failure, count); });
  }

  void read(std::error_code failure, std::size_t count) {
    if (!open_) return;
    const std::shared_ptr<link_listener> listener = listener_;
    decoder_.arrived(count);
    int turn = frames_in_turn;
    const delivery how = deliver(decoder_, *listener, open_, turn);
    if (how == delivery::ended) return;
    if (how == delivery::turn_is_over) {
      post_callback(stream_.get_executor(), [self = this->shared_from_this(), failure] { self->read(failure, 0); });
      return;
    }
    if (failure) return listener->link_lost(ended(failure == asio::error::eof ? std::error_code() : failure));
    if (open_) read_later();
  }

  Stream stream_;
  std::shared_ptr<link_listener> listener_;
  wire::frame_decoder decoder_;
  std::deque<bytes> queue_;
  bool open_ = true;
};

/// A link over a stream with coroutine operations. One coroutine reads, and at most one writes. Both end when the
/// stream is closed.
template <coroutine_stream Stream>
class coroutine_link final : public warden_link, public std::enable_shared_from_this<coroutine_link<Stream>> {
 public:
  coroutine_link(asio::any_io_executor executor, Stream stream)
      : executor_(std::move(executor)), stream_(std::move(stream)) {}

  void start(std::shared_ptr<link_listener> listener) override {
    listener_ = std::move(listener);
    const auto self = this->shared_from_this();
    auto ended = [self](std::exception_ptr failure) { self->lose(failure); };
    spawn_coroutine(executor_, read(self), std::move(ended));
  }

  void send(bytes frame, std::span<const int>) override {
    if (!open_) return;
    if (queued_.empty())
      queued_ = std::move(frame);
    else
      queued_.insert(queued_.end(), frame.begin(), frame.end());
    if (std::exchange(writing_, true)) return;
    const auto self = this->shared_from_this();
    auto ended = [self](std::exception_ptr failure) {
      if (!failure) return;
      self->writing_ = false;
      self->lose(failure);
    };
    spawn_coroutine(executor_, write(self), std::move(ended));
  }

  bool carries_descriptors() const noexcept override { return false; }

  void close() noexcept override {
    open_ = false;
    stream_.close();
    listener_.reset();
    queued_.clear();
  }

 private:
  static awaitable<void> read(std::shared_ptr<coroutine_link> self) {
    while (self->open_) {
      const std::span<std::byte> room = self->decoder_.room();
      const std::size_t got = co_await self->stream_.read_some(room);
      const std::shared_ptr<link_listener> listener = self->listener_;
      if (!self->open_) co_return;
      if (got == 0) {
        listener->link_lost(warden_link::ended({}));
        co_return;
      }
      self->decoder_.arrived(got);
      for (;;) {
        int turn = warden_link::frames_in_turn;
        const auto how = warden_link::deliver(self->decoder_, *listener, self->open_, turn);
        if (how == warden_link::delivery::ended) co_return;
        if (how == warden_link::delivery::all) break;
        co_await asio::post(await_in<Stream>);
      }
    }
  }

  static awaitable<void> write(std::shared_ptr<coroutine_link> self) {
    while (self->open_ && !self->queued_.empty()) {
      // Frames that are queued during this write are joined, and sent by the next write.
      const bytes going = std::exchange(self->queued_, bytes());
      co_await self->stream_.write(going);
    }
    // Not in the handler of the spawned coroutine, which may be called later: a frame that is queued meanwhile would
    // wait until another frame is sent.
    self->writing_ = false;
  }

  void lose(const std::exception_ptr& failure) {
    if (!open_ || !failure) return;
    const std::shared_ptr<link_listener> listener = listener_;
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      listener->link_lost(
          error(exec_errc::provider_lost, std::string("the warden is gone: ") + reason.what(), reason.cause()));
    } catch (const std::system_error& reason) {
      listener->link_lost(ended(reason.code()));
    } catch (const std::exception& reason) {
      listener->link_lost(error(exec_errc::provider_lost, std::string("the warden is lost: ") + reason.what()));
    }
  }

  asio::any_io_executor executor_;
  Stream stream_;
  std::shared_ptr<link_listener> listener_;
  wire::frame_decoder decoder_;
  bytes queued_;
  bool writing_ = false;
  bool open_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
