// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "support/temporary_folder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
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

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// A proxy between a client and a server, such as a Docker daemon or the API server of Kubernetes. It breaks the traffic
// at one chosen byte, to test how the client handles errors.

namespace cofferdam_test {

enum class direction { up, down };  ///< towards the server, or towards the client

/// A fault that the proxy injects once.
class fault {
 public:
  enum class kind {
    none,
    cut,      ///< both sides see the end of the stream
    reset,    ///< the client sees a reset over TCP, and the end of the stream over a Unix socket
    garbage,  ///< up to 16 bytes are overwritten
    silence,  ///< all later bytes of this direction are lost, and the connection stays open
  };
  fault() = default;
  /// \param at  offset of the byte before which the fault occurs, counted in this direction over all connections.
  fault(kind what, direction where, std::size_t at) : what(what), where(where), at(at) {}
  /// Returns a fault in the message with this number, counted from 0 in this direction over all connections. A message
  /// may come earlier or later than in another run; its number says what it is.
  /// \param offset  from the start of the message, in bytes.
  static fault in_message(kind what, direction where, std::size_t number, std::size_t offset = 0) {
    fault result(what, where, offset);
    result.message = number;
    return result;
  }
  /// Returns a fault after which the proxy also closes all connections, and refuses new ones.
  fault for_good() const {
    fault copy = *this;
    copy.is_last = true;
    return copy;
  }

  kind what = kind::none;
  direction where = direction::up;
  std::size_t at = 0;
  std::optional<std::size_t> message;
  bool is_last = false;
};

class fault_proxy {
 public:
  /// \param server  the path of a Unix socket, also as `unix://PATH`, or `tcp://127.0.0.1:PORT`.
  explicit fault_proxy(std::string server) {
    const std::string loopback_start = "tcp://127.0.0.1:";
    if (server.starts_with("unix://")) server.erase(0, 7);
    if (server.starts_with(loopback_start)) {
      auto& to = reinterpret_cast<sockaddr_in&>(server_);
      to.sin_family = AF_INET;
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      to.sin_port = htons(static_cast<in_port_t>(std::stoi(server.substr(loopback_start.size()))));
    } else {
      auto& to = reinterpret_cast<sockaddr_un&>(server_);
      to.sun_family = AF_UNIX;
      std::memcpy(to.sun_path, server.c_str(), std::min(server.size() + 1, sizeof to.sun_path - 1));
    }
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    const std::string path = socket();
    std::memcpy(local.sun_path, path.c_str(), path.size() + 1);
    listeners_[0] = listening(AF_UNIX, reinterpret_cast<const sockaddr*>(&local), sizeof local);
    sockaddr_in loopback{};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listeners_[1] = listening(AF_INET, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);
    socklen_t size = sizeof loopback;
    ::getsockname(listeners_[1], reinterpret_cast<sockaddr*>(&loopback), &size);
    port_ = ntohs(loopback.sin_port);
    if (::pipe2(wake_, O_CLOEXEC) != 0) throw std::runtime_error("fault_proxy: pipe");
    acceptor_ = std::thread([this] { accept_all(); });
  }
  fault_proxy(const fault_proxy&) = delete;
  fault_proxy& operator=(const fault_proxy&) = delete;
  ~fault_proxy() {
    ::close(wake_[1]);
    acceptor_.join();
    cut_all();
    for (connection& conn : connections_) conn.join();
    for (const int fd : {listeners_[0], listeners_[1], wake_[0]}) ::close(fd);
  }

  std::string socket() const { return (folder_.path() / "proxy.sock").string(); }
  std::string address() const { return "unix://" + socket(); }
  std::string tcp_address() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  unsigned short port() const { return port_; }

  /// Closes all connections, resets all counters and settings, and arms a new fault.
  void arm(fault new_fault) {
    cut_all();
    std::list<connection> old;
    {
      const std::lock_guard lock(mutex_);
      old.swap(connections_);
    }
    for (connection& each : old) {
      each.cut();  // it may have been accepted after `cut_all`
      each.join();
    }
    const std::lock_guard lock(mutex_);
    fault_ = new_fault;
    fired_ = dead_ = false;
    piece_ = 0;
    delay_ = {};
    totals_ = {};
    for (auto& starts : messages_) starts.clear();
    requests_.clear();
  }
  /// Forwards at most `piece` bytes at a time; 0 means no limit.
  void chop(std::size_t piece) {
    const std::lock_guard lock(mutex_);
    piece_ = piece;
  }
  /// Delays each message by this time.
  void delay(std::chrono::milliseconds time) {
    const std::lock_guard lock(mutex_);
    delay_ = time;
  }
  /// Replaces a text in the server's responses by another text of the same length. A text that is divided between two
  /// reads is not replaced.
  void replace_answers(std::string from, std::string to) {
    if (from.size() != to.size()) throw std::runtime_error("fault_proxy: the texts differ in length");
    const std::lock_guard lock(mutex_);
    replaced_ = {std::move(from), std::move(to)};
  }
  bool fired() const {
    const std::lock_guard lock(mutex_);
    return fired_;
  }
  /// Returns the offsets at which messages began, counted as in `fault::at`.
  std::vector<std::size_t> messages(direction where) const {
    const std::lock_guard lock(mutex_);
    return messages_[index(where)];
  }
  /// Returns the number of requests whose first line contains this text.
  std::size_t requests(std::string_view start) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(requests_.begin(), requests_.end(), [&](const std::string& line) {
      return line.find(start) != std::string::npos;
    }));
  }
  /// Returns the number of open connections.
  int open() const { return open_; }

 private:
  static std::size_t index(direction where) { return where == direction::up ? 0 : 1; }

  struct connection {
    connection(int client, int server) : client(client), server(server) {}
    void cut() {
      const std::lock_guard lock(mutex);
      if (client >= 0) ::shutdown(client, SHUT_RDWR);
      if (server >= 0) ::shutdown(server, SHUT_RDWR);
    }
    void join() {
      for (std::thread& each : pumps)
        if (each.joinable()) each.join();
    }
    std::mutex mutex;
    int client;
    int server;
    int left = 2;
    int last = -1;  // direction of the last bytes; -1 means that there were none
    std::array<std::thread, 2> pumps;
  };

  static int listening(int family, const sockaddr* where, socklen_t size) {
    const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::bind(fd, where, size) != 0 || ::listen(fd, 128) != 0)
      throw std::runtime_error(std::string("fault_proxy: ") + std::strerror(errno));
    return fd;
  }

  void cut_all() {
    const std::lock_guard lock(mutex_);
    for (connection& conn : connections_) conn.cut();
  }

  void accept_all() {
    for (;;) {
      std::array<pollfd, 3> polled{pollfd{listeners_[0], POLLIN, 0}, pollfd{listeners_[1], POLLIN, 0},
                                   pollfd{wake_[0], POLLIN, 0}};
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      if (polled[2].revents != 0) return;
      for (std::size_t i = 0; i < 2; ++i)
        if (polled[i].revents != 0) accept_one(listeners_[i]);
    }
  }

  void accept_one(int listener) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = ::socket(server_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::lock_guard lock(mutex_);
    const socklen_t size = server_.ss_family == AF_UNIX ? sizeof(sockaddr_un) : sizeof(sockaddr_in);
    if (dead_ || ::connect(server, reinterpret_cast<const sockaddr*>(&server_), size) != 0) {
      ::close(server);
      ::close(client);
      return;
    }
    ++open_;
    connection& conn = connections_.emplace_back(client, server);
    conn.pumps[0] = std::thread([this, &conn] { pump(conn, direction::up); });
    conn.pumps[1] = std::thread([this, &conn] { pump(conn, direction::down); });
  }

  static bool send_all(int to, const char* data, std::size_t size) {
    while (size != 0) {
      const ssize_t sent = ::send(to, data, size, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      data += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }

  /// Waits after the client has ended its sending direction. Such a client still receives responses. If it has closed
  /// its socket, this function closes the connection.
  static void watch_client(connection& conn) {
    for (;;) {
      {
        const std::lock_guard lock(conn.mutex);
        if (conn.left < 2) return;
      }
      pollfd client{conn.client, 0, 0};
      ::poll(&client, 1, 20);
      if ((client.revents & (POLLHUP | POLLERR)) != 0) return conn.cut();
    }
  }

  void pump(connection& conn, direction where) {
    const int from = where == direction::up ? conn.client : conn.server;
    const int to = where == direction::up ? conn.server : conn.client;
    std::array<char, 16 * 1024> buffer;
    for (;;) {
      const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      auto size = static_cast<std::size_t>(got);
      fault::kind what = fault::kind::none;
      bool is_last = false;
      std::size_t before = size;
      std::size_t piece = size;
      std::chrono::milliseconds hold{0};
      {
        const std::lock_guard lock(mutex_);
        std::size_t& total = totals_[index(where)];
        if (conn.last != static_cast<int>(index(where))) {
          conn.last = static_cast<int>(index(where));
          if (fault_.where == where && fault_.message == messages_[index(where)].size()) {
            fault_.message.reset();
            fault_.at += total;
          }
          messages_[index(where)].push_back(total);
          hold = delay_;
          const std::string_view text(buffer.data(), size);
          if (where == direction::up) requests_.emplace_back(text.substr(0, text.find("\r\n")));
        }
        if (where == direction::down && !replaced_.first.empty()) {
          const std::size_t at = std::string_view(buffer.data(), size).find(replaced_.first);
          if (at != std::string_view::npos) replaced_.second.copy(buffer.data() + at, replaced_.second.size());
        }
        if (fault_.what != fault::kind::none && !fault_.message && !fired_ && fault_.where == where &&
            total + size > fault_.at) {
          fired_ = true;
          what = fault_.what;
          is_last = fault_.is_last;
          before = fault_.at > total ? fault_.at - total : 0;
        }
        total += size;
        if (piece_ != 0) piece = piece_;
      }
      std::this_thread::sleep_for(hold);
      if (what == fault::kind::silence) {
        send_all(to, buffer.data(), before);
        while (::recv(from, buffer.data(), buffer.size(), 0) > 0) {
        }
        break;
      }
      if (what == fault::kind::garbage)
        for (std::size_t i = before; i < std::min(size, before + 16); ++i) buffer[i] = static_cast<char>(0xA5);
      if (what == fault::kind::cut || what == fault::kind::reset) size = before;
      bool fine = true;
      for (std::size_t at = 0; fine && at < size; at += piece)
        fine = send_all(to, buffer.data() + at, std::min(piece, size - at));
      if (what == fault::kind::reset) {
        const linger at_once{1, 0};
        ::setsockopt(conn.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        // The client sees the reset when the socket is closed, after the other direction has ended too.
        ::shutdown(conn.client, SHUT_RD);
        ::shutdown(conn.server, SHUT_RDWR);
      } else if (what == fault::kind::cut) {
        conn.cut();
      }
      if (is_last) {
        {
          const std::lock_guard lock(mutex_);
          dead_ = true;
        }
        cut_all();
      }
      // The proxy may already have read bytes that follow the fault. It must not forward them.
      if (!fine || what == fault::kind::cut || what == fault::kind::reset) break;
    }
    ::shutdown(to, SHUT_WR);
    if (where == direction::up) watch_client(conn);
    const std::lock_guard lock(conn.mutex);
    if (--conn.left == 0) {
      ::close(std::exchange(conn.client, -1));
      ::close(std::exchange(conn.server, -1));
      --open_;
    }
  }

  temporary_folder folder_;
  sockaddr_storage server_{};
  std::array<int, 2> listeners_{};
  unsigned short port_ = 0;
  int wake_[2] = {-1, -1};
  std::thread acceptor_;
  std::atomic<int> open_ = 0;

  mutable std::mutex mutex_;
  std::list<connection> connections_;
  fault fault_;
  bool fired_ = false;
  bool dead_ = false;
  std::size_t piece_ = 0;
  std::chrono::milliseconds delay_{0};
  std::array<std::size_t, 2> totals_{};
  std::array<std::vector<std::size_t>, 2> messages_;
  std::vector<std::string> requests_;
  std::pair<std::string, std::string> replaced_;
};

}  // namespace cofferdam_test
