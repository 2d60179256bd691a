// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/net/tls_listener.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/egress_proxy.hpp>
#include <cofferdam/network/network_event.hpp>

#include "net/certificates.hpp"
#include "support/run_shell.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cofferdam_test {

/// A function that serves one connection of a test's server.
using connection_handler = std::function<cofferdam::awaitable<void>(cofferdam::byte_stream)>;

/// Servers on the loopback interface, and the proxy under test, in one thread with one event loop.
class egress_host {
 public:
  egress_host() : work_(asio::make_work_guard(context_)), thread_([this] { context_.run(); }) {}
  egress_host(const egress_host&) = delete;
  egress_host& operator=(const egress_host&) = delete;
  ~egress_host() { stop(); }

  asio::io_context& context() noexcept { return context_; }

  /// Starts the proxy. A test can do this once.
  /// \return the port of the proxy.
  std::uint16_t serve(cofferdam::egress_policy policy) {
    policy.log([this](const cofferdam::network_event& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
      changed_.notify_all();
    });
    return in_loop([&] {
      proxy_.emplace(std::move(policy));
      connection_handler handler = [proxy = *proxy_](cofferdam::byte_stream guest) {
        return proxy.serve(std::move(guest));
      };
      return listen(std::move(handler), nullptr);
    });
  }

  /// Starts a server.
  /// \param identity  the certificate for TLS; null for plain TCP.
  /// \return          its port.
  std::uint16_t start(connection_handler handler, const certificate* identity = nullptr) {
    return in_loop([&] { return listen(std::move(handler), identity); });
  }

  /// Calls a function in the event loop, and returns its result.
  template <class F>
  std::invoke_result_t<F&> in_loop(F&& call) {
    std::packaged_task<std::invoke_result_t<F&>()> task(std::ref(call));
    auto result = task.get_future();
    asio::post(context_, [&task] { task(); });
    return result.get();
  }

  /// Returns the certificate that programs behind the proxy must trust.
  std::string authority_pem() { return proxy_->authority_pem(); }
  /// Returns the number of connections that the proxy serves.
  std::size_t open() {
    return in_loop([this] { return proxy_->connections(); });
  }
  /// Cancels the serving of all connections of the proxy and of all servers.
  void cancel_all() {
    in_loop([this] {
      for (asio::cancellation_signal& each : signals_) each.emit(asio::cancellation_type::terminal);
    });
  }

  std::vector<cofferdam::network_event> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  /// Waits until there are `count` events, for at most 10 seconds, and returns all events.
  std::vector<cofferdam::network_event> events(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return events_.size() >= count; });
    return events_;
  }
  /// Returns all events as one text.
  std::string log() {
    std::string text;
    for (const cofferdam::network_event& each : events())
      text += each.label() + "|" + each.host() + "|" + std::to_string(each.port()) + "|" + each.address() + "|" +
              each.rule() + "|" + each.reason() + "\n";
    return text;
  }

  /// Ends the event loop and destroys everything in it.
  void stop() {
    if (!thread_.joinable()) return;
    context_.stop();
    thread_.join();
  }

 private:
  std::uint16_t listen(connection_handler handler, const certificate* identity) {
    auto door = std::make_shared<cofferdam::listener>();
    if (identity != nullptr) {
      cofferdam::tls_server_settings settings;
      settings.certificate(identity->pem(), identity->key_pem());
      *door = cofferdam::tls_listener(context_.get_executor(), "127.0.0.1", 0, settings);
    } else {
      *door = cofferdam::tcp_listener(context_.get_executor(), "127.0.0.1", 0);
    }
    spawn(accept_all(this, door, std::move(handler)));
    return door->port();
  }

  void spawn(cofferdam::awaitable<void> work) {
    asio::cancellation_signal& signal = signals_.emplace_back();
    cofferdam_test::spawn(
        context_, std::move(work), [](std::exception_ptr) {}, signal.slot());
  }

  static cofferdam::awaitable<void> accept_all(egress_host* self, std::shared_ptr<cofferdam::listener> door,
                                               connection_handler handler) {
    while (true) {
      cofferdam::byte_stream accepted = co_await door->accept();
      self->spawn(handler(std::move(accepted)));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<cofferdam::network_event> events_;
  std::list<asio::cancellation_signal> signals_;  // outlive the context, whose coroutines hold their slots
  asio::io_context context_{1};
  std::optional<cofferdam::egress_proxy> proxy_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

/// The requests that an `echo_server` has received.
class received_requests {
 public:
  void add(std::string head) {
    const std::lock_guard lock(mutex_);
    heads_.push_back(std::move(head));
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return heads_;
  }
  std::size_t count() { return all().size(); }
  std::string joined() {
    std::string text;
    for (const std::string& each : all()) text += each;
    return text;
  }
  std::atomic<int> connections = 0;

 private:
  std::mutex mutex_;
  std::vector<std::string> heads_;
};

/// Serves requests: records their heads, and answers each with its head as the body.
inline cofferdam::awaitable<void> echo_heads(cofferdam::byte_stream stream, std::shared_ptr<received_requests> seen,
                                             std::string extra_fields) {
  ++seen->connections;
  std::string text;
  std::array<std::byte, 4096> room{};
  while (true) {
    std::size_t end = text.find("\r\n\r\n");
    while (end == std::string::npos) {
      const std::size_t count = co_await stream.read_some(room);
      if (count == 0) co_return;
      text += cofferdam::as_text(cofferdam::bytes_view(room).first(count));
      end = text.find("\r\n\r\n");
    }
    const std::string head = text.substr(0, end + 4);
    text.erase(0, end + 4);
    seen->add(head);
    std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + extra_fields;
    answer += "Content-Length: " + std::to_string(head.size()) + "\r\n\r\n" + head;
    co_await stream.write(cofferdam::as_bytes(answer));
  }
}
inline connection_handler echo_server(std::shared_ptr<received_requests> seen, std::string extra_fields = "") {
  return
      [seen, extra_fields](cofferdam::byte_stream stream) { return echo_heads(std::move(stream), seen, extra_fields); };
}

/// Sends a fixed text to each client, after the first bytes of the client if `waits` is true, and closes.
inline cofferdam::awaitable<void> send_text(cofferdam::byte_stream stream, std::string text, bool waits) {
  std::array<std::byte, 4096> room{};
  if (waits) co_await stream.read_some(room);
  co_await stream.write(cofferdam::as_bytes(text));
  co_await stream.shutdown_send();
  std::size_t count = 1;
  while (count != 0) count = co_await stream.read_some(room);
}
inline connection_handler text_server(std::string text, bool waits = true) {
  return [text, waits](cofferdam::byte_stream stream) { return send_text(std::move(stream), text, waits); };
}

/// A client with a blocking socket, as a program in a sandbox could write it.
class sandboxed_client {
 public:
  explicit sandboxed_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket_ < 0 || ::connect(socket_, reinterpret_cast<sockaddr*>(&there), sizeof there) != 0)
      throw std::runtime_error("connect failed");
  }
  sandboxed_client(sandboxed_client&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  sandboxed_client& operator=(sandboxed_client&&) = delete;
  ~sandboxed_client() {
    if (socket_ >= 0) ::close(socket_);
  }

  int socket() const noexcept { return socket_; }
  /// Sends all of a text. Returns false if the connection is closed.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void end_sending() const { ::shutdown(socket_, SHUT_WR); }
  /// Receives until the text contains `mark`; with an empty mark, until the end. Gives up after some seconds of
  /// silence, and adds "[timeout]".
  std::string receive(std::string_view mark = "", int seconds = 15) const {
    std::string text;
    std::array<char, 65536> room{};
    while (mark.empty() || text.find(mark) == std::string::npos) {
      pollfd waiting{socket_, POLLIN, 0};
      if (::poll(&waiting, 1, seconds * 1000) <= 0) return text + "[timeout]";
      const ssize_t count = ::recv(socket_, room.data(), room.size(), 0);
      if (count <= 0) return text;
      text.append(room.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int socket_;
};

/// Sends a text to the proxy and returns everything that it answers.
inline std::string exchange_text(std::uint16_t port, std::string_view text) {
  const sandboxed_client client(port);
  client.send(text);
  return client.receive();
}

inline bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace cofferdam_test
