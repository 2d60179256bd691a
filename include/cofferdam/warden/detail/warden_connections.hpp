// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/listener.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/listening.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/detail/warden_command.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A TCP connection to a program of the guest (code in the sandbox), or a socket that listens for such connections. The
/// warden, the helper program in the sandbox, has the socket. All members are called on one executor.
class warden_connection {
 public:
  /// The number of bytes that the warden may send before the first `host_credit`: the maximum that is kept here.
  static constexpr std::uint32_t window = 256 * 1024;

  warden_connection(const asio::any_io_executor& executor, std::uint32_t number)
      : changed_(executor), number_(number) {}

  std::uint32_t number() const noexcept { return number_; }

  // ---- frames of the warden ----

  void take(bytes_view data) {
    if (has_ended_ || data.size() > window - kept_ - returned_) throw wire::violation("more bytes than were permitted");
    kept_ += data.size();
    if (!is_closed_) pieces_.push_back(to_bytes(as_text(data)));
    changed_.notify();
  }
  /// \param failure  the error number of the attempt to connect; 0 for success.
  void answer(int failure) {
    if (answer_) throw wire::violation("two answers to one connection");
    answer_ = failure;
    if (failure != 0) drop(failure);
    changed_.notify();
  }
  void end() {
    has_ended_ = true;
    changed_.notify();
  }
  /// \param failure  the error number; 0 if both directions have ended.
  void drop(int failure) {
    has_ended_ = is_dropped_ = true;
    failure_ = failure;
    changed_.notify();
  }
  void permit(std::uint32_t more) {
    if (more > wire::connection_window - credit_) throw wire::violation("more credit than bytes were sent");
    credit_ += more;
    changed_.notify();
  }
  void lose(const error& reason) {
    lost_ = reason;
    changed_.notify();
  }

  // ---- the state ----

  async_event& changed() noexcept { return changed_; }
  /// Returns true if the attempt to connect has ended.
  bool is_answered() const noexcept { return answer_ || is_dropped(); }
  bool is_dropped() const noexcept { return is_dropped_ || lost_; }
  bool is_closed() const noexcept { return is_closed_; }
  void close() {
    is_closed_ = true;
    pieces_.clear();
    changed_.notify();
  }
  bool is_quiet() const noexcept { return pieces_.empty() && !has_ended_ && !lost_ && !is_closed_; }

  /// Throws if no byte can be read or written any more.
  void require_open(const char* doing) const {
    if (lost_) throw *lost_;
    if (is_closed_) throw failure(doing, ECANCELED);
    if (is_dropped_ && failure_ != 0) throw failure(doing, failure_);
  }
  static error failure(const char* doing, int number) {
    const std::error_code cause(number, std::system_category());
    return error(exec_errc::io_error,
                 std::string("connection to a program in the environment: ") + doing + ": " + cause.message(), cause);
  }

  /// Moves available bytes into `into`, and returns their number. Returns no value if nothing has arrived, and 0 at the
  /// end.
  std::optional<std::size_t> read(std::span<std::byte> into) {
    if (pieces_.empty()) {
      require_open("reading");
      if (has_ended_) return 0;
      return std::nullopt;
    }
    std::size_t count = 0;
    while (count != into.size() && !pieces_.empty()) {
      const bytes& first = pieces_.front();
      const std::size_t size = std::min(into.size() - count, first.size() - at_);
      std::copy_n(first.begin() + static_cast<std::ptrdiff_t>(at_), size,
                  into.begin() + static_cast<std::ptrdiff_t>(count));
      count += size;
      at_ += size;
      if (at_ != first.size()) continue;
      pieces_.pop_front();
      at_ = 0;
    }
    kept_ -= count;
    returned_ += count;
    return count;
  }
  /// Returns the credit that the warden should get now; 0 if it has enough.
  std::uint32_t take_credit() noexcept {
    if (returned_ < window / 4 || has_ended_) return 0;
    return static_cast<std::uint32_t>(std::exchange(returned_, 0));
  }

  /// Returns the number of bytes, at most `wanted`, that may be sent now, and counts them as sent.
  std::size_t take_room(std::size_t wanted) noexcept {
    const std::size_t size = std::min({wanted, wire::max_payload, static_cast<std::size_t>(credit_)});
    credit_ -= static_cast<std::uint32_t>(size);
    return size;
  }
  /// Returns true for the first call.
  bool end_sending() noexcept { return !std::exchange(sends_end_, true); }

 private:
  async_event changed_;
  std::uint32_t number_;
  std::deque<bytes> pieces_;
  std::size_t at_ = 0;        // the position in the first piece
  std::size_t kept_ = 0;      // bytes that have arrived and were not read
  std::size_t returned_ = 0;  // bytes that were read, and not yet returned as credit
  std::uint32_t credit_ = wire::connection_window;
  std::optional<int> answer_;
  int failure_ = 0;
  bool has_ended_ = false;
  bool is_dropped_ = false;
  bool is_closed_ = false;
  bool sends_end_ = false;
  std::optional<error> lost_;
};

template <class = void>
class basic_warden_connections;
using warden_connections = basic_warden_connections<>;

/// The connections of one session with a warden. All members are called on one executor.
template <class Unused>
class basic_warden_connections final : public frame_receiver {
 public:
  explicit basic_warden_connections(const asio::any_io_executor& executor) : executor_(executor) {}

  bool empty() const noexcept override { return open_.empty() && listening_.empty(); }

  /// Handles a frame that has arrived. Returns false if it does not belong to a connection.
  bool arrived(frame_sink& sink, const wire::frame& frame) override;

  void lose(const error& reason) override {
    lost_ = reason;
    for (const auto& [number, one] : open_) one->lose(reason);
    for (const auto& [number, one] : listening_) one->lose(reason);
    open_.clear();
    listening_.clear();
  }

  /// The network of the session, for the users of the library.
  class network;

 private:
  class stream;
  class socket;

  // The operations of `guest_network`. `sink` sends frames to the warden.

  static awaitable<byte_stream> begin_stream(std::shared_ptr<basic_warden_connections> self,
                                             std::shared_ptr<frame_sink> sink, std::uint16_t port);
  static awaitable<listener> begin_listener(std::shared_ptr<basic_warden_connections> self,
                                            std::shared_ptr<frame_sink> sink, std::uint16_t port);
  static awaitable<std::uint32_t> count_interfaces(std::shared_ptr<basic_warden_connections> self,
                                                   std::shared_ptr<frame_sink> sink);

  /// A listening socket at the warden.
  class listening_socket {
   public:
    explicit listening_socket(const asio::any_io_executor& executor) : changed(executor) {}
    void lose(const error& reason) {
      lost = reason;
      changed.notify();
    }

    async_event changed;
    std::deque<std::shared_ptr<warden_connection>> accepted;
    std::optional<error> lost;
    std::optional<int> answer;  // of `listening`
    std::uint16_t port = 0;
    std::uint32_t others = 0;
    bool is_closed = false;
  };

  class begun {
   public:
    std::uint32_t number = 0;
    std::shared_ptr<listening_socket> socket;
  };

  static awaitable<begun> begin_listening(std::shared_ptr<basic_warden_connections> self,
                                          std::shared_ptr<frame_sink> sink, std::uint16_t port);

  void end_listening(frame_sink& sink, std::uint32_t number) noexcept;
  /// Closes a connection; what the warden still sends for it is ignored.
  void close(frame_sink& sink, warden_connection& one) noexcept;

  static void send_quietly(frame_sink& sink, wire::frame_type type, std::uint32_t number) noexcept {
    try {
      sink.send(wire::frame_writer(type, number).take());
    } catch (const std::exception&) {  // no memory, or no session: the socket is closed at the end of the session
    }
  }

  /// Returns the next number. Numbers are used once: a session does not live long enough to use all of them.
  std::uint32_t next_number() noexcept { return ++last_; }

  asio::any_io_executor executor_;
  std::uint32_t last_ = 0;
  std::optional<error> lost_;
  std::unordered_map<std::uint32_t, std::shared_ptr<warden_connection>> open_;
  std::unordered_map<std::uint32_t, std::shared_ptr<listening_socket>> listening_;
};

template <class Unused>
class basic_warden_connections<Unused>::network final : public guest_network::implementation {
 public:
  /// \param sink  sends frames to the warden.
  network(std::shared_ptr<basic_warden_connections> table, std::shared_ptr<frame_sink> sink)
      : table_(std::move(table)), sink_(std::move(sink)) {}
  awaitable<byte_stream> connect(std::uint16_t port) override { return begin_stream(table_, sink_, port); }
  awaitable<listener> listen(std::uint16_t port) override { return begin_listener(table_, sink_, port); }
  awaitable<std::uint32_t> other_interfaces() override { return count_interfaces(table_, sink_); }
  /// The warden knows no policy of its surroundings.
  awaitable<std::string> enforced_policy() override { co_return std::string(); }

 private:
  std::shared_ptr<basic_warden_connections> table_;
  std::shared_ptr<frame_sink> sink_;
};

/// The byte stream of a connection.
template <class Unused>
class basic_warden_connections<Unused>::stream final : public byte_stream::implementation {
 public:
  stream(std::shared_ptr<basic_warden_connections> table, std::shared_ptr<frame_sink> sink,
         std::shared_ptr<warden_connection> one)
      : table_(std::move(table)), sink_(std::move(sink)), one_(std::move(one)) {}
  ~stream() override { close(); }

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    const std::shared_ptr<warden_connection> one = one_;
    for (;;) {
      if (const std::optional<std::size_t> count = one->read(into)) {
        const std::uint32_t credit = one->take_credit();
        if (credit != 0)
          sink_->send(wire::frame_writer(wire::frame_type::host_credit, one->number()).number(credit).take());
        co_return *count;
      }
      const wait_result result = co_await one->changed().wait();
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled, "connection to a program in the environment: reading was cancelled");
    }
  }

  awaitable<void> write(bytes_view data) override {
    const std::shared_ptr<warden_connection> one = one_;
    while (!data.empty()) {
      one->require_open("writing");
      if (one->is_dropped()) throw warden_connection::failure("writing", EPIPE);
      const std::size_t size = one->take_room(data.size());
      if (size != 0) {
        sink_->send(wire::frame_writer(wire::frame_type::to_guest, one->number()).data(data.first(size)).take());
        data = data.subspan(size);
        continue;
      }
      const wait_result result = co_await one->changed().wait();
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled, "connection to a program in the environment: writing was cancelled");
    }
  }

  awaitable<void> shutdown_send() override {
    if (!one_->is_dropped() && !one_->is_closed() && one_->end_sending())
      sink_->send(wire::frame_writer(wire::frame_type::to_guest_end, one_->number()).take());
    co_return;
  }

  void close() noexcept override { table_->close(*sink_, *one_); }

  bool is_quiet() noexcept override { return one_->is_quiet(); }

 private:
  std::shared_ptr<basic_warden_connections> table_;
  std::shared_ptr<frame_sink> sink_;
  std::shared_ptr<warden_connection> one_;
};

/// The implementation of a `listener` in the sandbox.
template <class Unused>
class basic_warden_connections<Unused>::socket final : public listening {
 public:
  socket(std::shared_ptr<basic_warden_connections> table, std::shared_ptr<frame_sink> sink, begun made)
      : table_(std::move(table)), sink_(std::move(sink)), number_(made.number), socket_(std::move(made.socket)) {
    port_ = socket_->port;
    name_ = "127.0.0.1:" + std::to_string(port_) + " in the environment";
    loopback_ = true;
  }
  ~socket() override { close(); }

  awaitable<byte_stream> accept() override {
    const std::shared_ptr<listening_socket> at = socket_;
    const std::shared_ptr<basic_warden_connections> table = table_;
    const std::shared_ptr<frame_sink> sink = sink_;
    while (at->accepted.empty()) {
      if (at->lost) throw *at->lost;
      if (at->is_closed) throw warden_connection::failure("accepting", ECANCELED);
      const wait_result result = co_await at->changed.wait();
      if (result == wait_result::cancelled)
        throw error(exec_errc::cancelled, "listener in the environment: waiting for a connection was cancelled");
    }
    std::shared_ptr<warden_connection> one = std::move(at->accepted.front());
    at->accepted.pop_front();
    co_return byte_stream(std::make_unique<stream>(table, sink, std::move(one)));
  }

  void close() noexcept override {
    if (socket_->is_closed) return;
    table_->end_listening(*sink_, number_);
    socket_->is_closed = true;
    socket_->changed.notify();
    for (const std::shared_ptr<warden_connection>& waiting : socket_->accepted) table_->close(*sink_, *waiting);
    socket_->accepted.clear();
  }

 private:
  std::shared_ptr<basic_warden_connections> table_;
  std::shared_ptr<frame_sink> sink_;
  std::uint32_t number_;
  std::shared_ptr<listening_socket> socket_;
};

template <class Unused>
bool basic_warden_connections<Unused>::arrived(frame_sink& sink, const wire::frame& frame) {
  using enum wire::frame_type;
  const wire::frame_type type = frame.type();
  if (type < listening || type > connection_credit) return false;
  wire::payload_reader values(frame);
  if (type == listening) {
    const auto found = listening_.find(frame.job());
    if (found == listening_.end() || found->second->answer) throw wire::violation("an answer to no request to listen");
    found->second->answer = values.number<std::int32_t>();
    found->second->port = values.number<std::uint16_t>();
    found->second->others = values.number<std::uint32_t>();
    found->second->changed.notify();
    return true;
  }
  if (type == accepted) {
    const auto number = values.number<std::uint32_t>();
    if (number < wire::first_accepted || open_.contains(number)) throw wire::violation("a connection's number twice");
    auto one = std::make_shared<warden_connection>(executor_, number);
    open_.emplace(number, one);
    const auto found = listening_.find(frame.job());
    if (found == listening_.end()) {  // it came before the warden knew that the listener is closed
      close(sink, *one);
      return true;
    }
    found->second->accepted.push_back(std::move(one));
    found->second->changed.notify();
    return true;
  }
  const auto found = open_.find(frame.job());
  if (found == open_.end()) throw wire::violation("a frame for a connection that does not exist");
  const std::shared_ptr<warden_connection> one = found->second;
  switch (type) {
    case connected: one->answer(values.number<std::int32_t>()); break;
    case to_host: one->take(frame.payload()); break;
    case to_host_end: one->end(); break;
    case connection_credit: one->permit(values.number<std::uint32_t>()); break;
    default: one->drop(values.number<std::int32_t>()); break;
  }
  if (one->is_dropped()) open_.erase(found);
  return true;
}

template <class Unused>
awaitable<byte_stream> basic_warden_connections<Unused>::begin_stream(std::shared_ptr<basic_warden_connections> self,
                                                                      std::shared_ptr<frame_sink> sink,
                                                                      std::uint16_t port) {
  if (port == 0) throw error(exec_errc::invalid_argument, "network: 0 is no port to connect to");
  if (self->lost_) throw *self->lost_;
  const auto one = std::make_shared<warden_connection>(self->executor_, self->next_number());
  self->open_.emplace(one->number(), one);
  auto made = std::make_unique<stream>(self, sink, one);  // closes the connection if this function throws
  wire::frame_writer frame(wire::frame_type::connect, one->number());
  sink->send(frame.number(port).number(warden_connection::window).take());
  const std::string doing = "connecting to port " + std::to_string(port);
  while (!one->is_answered()) {
    const wait_result result = co_await one->changed().wait();
    if (result == wait_result::cancelled) throw error(exec_errc::cancelled, "network: " + doing + " was cancelled");
  }
  one->require_open(doing.c_str());
  co_return byte_stream(std::move(made));
}

template <class Unused>
auto basic_warden_connections<Unused>::begin_listening(std::shared_ptr<basic_warden_connections> self,
                                                       std::shared_ptr<frame_sink> sink, std::uint16_t port)
    -> awaitable<begun> {
  if (self->lost_) throw *self->lost_;
  begun made;
  made.number = self->next_number();
  made.socket = std::make_shared<listening_socket>(self->executor_);
  self->listening_.emplace(made.number, made.socket);
  try {
    wire::frame_writer frame(wire::frame_type::listen, made.number);
    sink->send(frame.number(port).number(warden_connection::window).take());
  } catch (...) {
    self->listening_.erase(made.number);
    throw;
  }
  while (!made.socket->answer && !made.socket->lost) {
    const wait_result result = co_await made.socket->changed.wait();
    if (result != wait_result::cancelled) continue;
    self->end_listening(*sink, made.number);
    throw error(exec_errc::cancelled, "network: listening on port " + std::to_string(port) + " was cancelled");
  }
  if (made.socket->lost) throw *made.socket->lost;
  if (*made.socket->answer != 0) {
    self->listening_.erase(made.number);
    const std::error_code cause(*made.socket->answer, std::system_category());
    throw error(exec_errc::io_error,
                "network: cannot listen on port " + std::to_string(port) + " of the environment: " + cause.message(),
                cause);
  }
  co_return made;
}

template <class Unused>
awaitable<listener> basic_warden_connections<Unused>::begin_listener(std::shared_ptr<basic_warden_connections> self,
                                                                     std::shared_ptr<frame_sink> sink,
                                                                     std::uint16_t port) {
  begun made = co_await begin_listening(self, sink, port);
  co_return listener(std::make_unique<socket>(self, sink, std::move(made)));
}

template <class Unused>
awaitable<std::uint32_t> basic_warden_connections<Unused>::count_interfaces(
    std::shared_ptr<basic_warden_connections> self, std::shared_ptr<frame_sink> sink) {
  begun made = co_await begin_listening(self, sink, 0);  // the warden counts the interfaces when it begins to listen
  self->end_listening(*sink, made.number);
  co_return made.socket->others;
}

template <class Unused>
void basic_warden_connections<Unused>::end_listening(frame_sink& sink, std::uint32_t number) noexcept {
  if (listening_.erase(number) != 0) send_quietly(sink, wire::frame_type::listen_end, number);
}

template <class Unused>
void basic_warden_connections<Unused>::close(frame_sink& sink, warden_connection& one) noexcept {
  if (one.is_closed()) return;
  const bool is_known = !one.is_dropped();
  one.close();
  if (is_known) send_quietly(sink, wire::frame_type::drop, one.number());
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
