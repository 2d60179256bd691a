// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/os/pipe.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/protocol.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cofferdam::inline v0 {

/// A stream of bytes that coroutines read and write, as `byte_stream` is one: `read_some` yields 0 at the end, `write`
/// writes everything, `close` ends what is under way.
template <class Stream>
concept coroutine_stream = requires(Stream& stream, std::span<std::byte> into, bytes_view data) {
  { stream.read_some(into) } -> awaitable_of<std::size_t>;
  { stream.write(data) } -> awaitable_of<void>;
  stream.close();
};

}  // namespace cofferdam::inline v0

namespace cofferdam::inline v0::detail {

/// Hears what arrives over a link. Kept alive by the link while it is open.
class link_listener {
 public:
  virtual void frame_arrived(const wire::frame& arrived) = 0;
  /// The last call: the stream has ended, or cannot be understood.
  virtual void link_lost(const error& reason) = 0;

 protected:
  ~link_listener() = default;
};

/// A stream to a warden. One executor.
class warden_link {
 public:
  warden_link() = default;
  warden_link(const warden_link&) = delete;
  warden_link& operator=(const warden_link&) = delete;
  virtual ~warden_link() = default;

  /// Begins to read.
  virtual void start(std::shared_ptr<link_listener> listener) = 0;
  /// Sends a frame, in order, without waiting. \param descriptors  borrowed; copied where they cannot go at once.
  virtual void send(bytes frame, std::span<const int> descriptors) = 0;
  /// Whether `send` takes descriptors.
  virtual bool carries_descriptors() const noexcept = 0;
  /// Nothing is sent or heard any more; the other side sees the end of the stream.
  virtual void close() noexcept = 0;

 protected:
  enum class delivery { all, turn_is_over, ended };

  /// Hands over whole frames: all that are there, but no more in one turn than leaves the loop's timers their time.
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
    return error(errc::provider_lost,
                 std::string("the warden is gone: its stream has ended") + (cause ? ": " + cause.message() : ""),
                 cause);
  }
};

/// A connected Unix socket, which carries descriptors too.
class socket_link final : public warden_link, public std::enable_shared_from_this<socket_link> {
 public:
  /// \param socket  non-blocking.
  socket_link(const asio::any_io_executor& executor, unique_fd socket) : socket_(executor) {
    socket_.assign(socket.get());
    socket.release();
  }

  void start(std::shared_ptr<link_listener> listener) override {
    listener_ = std::move(listener);
    read_later();
  }

  void send(bytes frame, std::span<const int> descriptors) override {
    if (!open_) return;
    if (queue_.empty()) {
      const ssize_t sent = send_now(frame, descriptors);
      if (sent == static_cast<ssize_t>(frame.size())) return;
      if (sent < 0 && !is_full(errno)) return;  // it is gone: reading tells
      outgoing rest{std::move(frame), sent > 0 ? static_cast<std::size_t>(sent) : 0, {}};
      if (sent <= 0) rest.descriptors = copied(descriptors);
      queue_.push_back(std::move(rest));
      write_later();
      return;
    }
    queue_.push_back(outgoing{std::move(frame), 0, copied(descriptors)});
  }

  bool carries_descriptors() const noexcept override { return true; }

  void close() noexcept override {
    if (!std::exchange(open_, false)) return;
    // A program that this one has forked may hold the socket too; the warden is to see the end all the same.
    ::shutdown(socket_.native_handle(), SHUT_RDWR);
    std::error_code ignored;  // a socket
    socket_.close(ignored);
    listener_.reset();
    queue_.clear();
  }

 private:
  struct outgoing {
    bytes frame;
    std::size_t sent;
    std::vector<unique_fd> descriptors;
  };

  /// Whether a later try may succeed: no room, or (for all but root) too many descriptors on their way.
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
    socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                       [self = shared_from_this()](std::error_code failure) {
                         if (!failure) self->write_queued();
                       });
  }

  void write_queued() {
    while (open_ && !queue_.empty()) {
      outgoing& first = queue_.front();
      std::array<int, 4> raw{};
      std::transform(first.descriptors.begin(), first.descriptors.end(), raw.begin(),
                     [](const unique_fd& fd) { return fd.get(); });
      const ssize_t sent = send_now(bytes_view(first.frame).subspan(first.sent),
                                    std::span<const int>(raw.data(), first.descriptors.size()));
      if (sent < 0) {
        if (is_full(errno)) write_later();
        return;
      }
      first.descriptors.clear();
      first.sent += static_cast<std::size_t>(sent);
      if (first.sent == first.frame.size()) queue_.pop_front();
    }
  }

  void read_later() {
    socket_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](std::error_code failure) {
      if (failure != asio::error::operation_aborted) self->read(failure);
    });
  }

  void read(std::error_code failure) {
    const std::shared_ptr<link_listener> listener = listener_;
    for (int turn = frames_in_turn; open_;) {
      const delivery how = deliver(decoder_, *listener, open_, turn);
      if (how == delivery::ended) return;
      if (how == delivery::turn_is_over) {
        asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read({}); });
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
  bool open_ = true;
};

/// Any stream of Asio's, or of somebody else who models `AsyncReadStream` and `AsyncWriteStream` and has `close()`.
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
    } catch (const std::system_error&) {  // it is closed all the same
    }
    listener_.reset();
  }

 private:
  void write_next() {
    asio::async_write(stream_, asio::buffer(queue_.front()),
                      [self = this->shared_from_this()](std::error_code failure, std::size_t) {
                        if (!self->open_ || failure) return;  // reading tells
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
      asio::post(stream_.get_executor(), [self = this->shared_from_this(), failure] { self->read(failure, 0); });
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

/// Any stream of coroutines. One reads, one at a time writes; both end with the stream.
template <coroutine_stream Stream>
class coroutine_link final : public warden_link, public std::enable_shared_from_this<coroutine_link<Stream>> {
 public:
  coroutine_link(asio::any_io_executor executor, Stream stream)
      : executor_(std::move(executor)), stream_(std::move(stream)) {}

  void start(std::shared_ptr<link_listener> listener) override {
    listener_ = std::move(listener);
    const auto self = this->shared_from_this();
    auto ended = [self](std::exception_ptr failure) { self->lose(failure); };
    asio::co_spawn(executor_, read(self), std::move(ended));
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
      self->writing_ = false;
      if (failure) self->lose(failure);
    };
    asio::co_spawn(executor_, write(self), std::move(ended));
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
        co_await asio::post(asio::use_awaitable);
      }
    }
  }

  static awaitable<void> write(std::shared_ptr<coroutine_link> self) {
    while (self->open_ && !self->queued_.empty()) {
      // What is queued meanwhile goes together, the next time.
      const bytes going = std::exchange(self->queued_, bytes());
      co_await self->stream_.write(going);
    }
  }

  void lose(const std::exception_ptr& failure) {
    if (!open_ || !failure) return;
    const std::shared_ptr<link_listener> listener = listener_;
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      listener->link_lost(
          error(errc::provider_lost, std::string("the warden is gone: ") + reason.what(), reason.cause()));
    } catch (const std::system_error& reason) {
      listener->link_lost(ended(reason.code()));
    } catch (const std::exception& reason) {
      listener->link_lost(error(errc::provider_lost, std::string("the warden is lost: ") + reason.what()));
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

}  // namespace cofferdam::inline v0::detail
