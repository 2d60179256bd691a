// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "support/pass_descriptor.hpp"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// Listeners of this machine that count what arrives. They use neither the library nor its event loop, so they see what
// the library does not report.

namespace cofferdam_test {

/// A descriptor that is closed at the end.
class canary_socket {
 public:
  explicit canary_socket(int socket) : socket_(socket) {
    if (socket < 0) throw std::runtime_error(std::string("canary: ") + std::strerror(errno));
  }
  canary_socket(canary_socket&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  canary_socket& operator=(canary_socket&&) = delete;
  ~canary_socket() {
    if (socket_ >= 0) ::close(socket_);
  }
  int get() const noexcept { return socket_; }

 private:
  int socket_;
};

/// A TCP port and a UDP port on all addresses of this machine. Counts connections, datagrams and bytes, and answers the
/// first bytes of each connection by an HTTP response, "canary".
class canary {
 public:
  canary()
      : tcp_(bound(SOCK_STREAM)),
        udp_(bound(SOCK_DGRAM)),
        wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { watch(); }) {}
  canary(const canary&) = delete;
  canary& operator=(const canary&) = delete;
  ~canary() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake();
    thread_.join();
  }

  std::uint16_t tcp_port() const { return port_of(tcp_.get()); }
  std::uint16_t udp_port() const { return port_of(udp_.get()); }

  // Each of these functions first counts all that has arrived.

  /// Returns the number of TCP connections.
  std::size_t connections() {
    std::size_t sum = 0;
    const std::unique_lock lock = counted();
    for (const auto& [address, count] : by_address_) sum += count;
    return sum;
  }
  /// Returns the number of TCP connections to one address of this machine.
  std::size_t connections_to(const std::string& address) {
    const std::unique_lock lock = counted();
    return by_address_[address];
  }
  /// Returns the number of UDP datagrams.
  std::size_t datagrams() {
    const std::unique_lock lock = counted();
    return datagrams_;
  }
  /// Returns the number of bytes that have arrived, by TCP and UDP.
  std::size_t bytes() {
    const std::unique_lock lock = counted();
    return bytes_;
  }

 private:
  static canary_socket bound(int type) {
    canary_socket made(::socket(AF_INET6, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int off = 0;
    ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    if (::bind(made.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) != 0 ||
        (type == SOCK_STREAM && ::listen(made.get(), 4096) != 0))
      throw std::runtime_error(std::string("canary: bind: ") + std::strerror(errno));
    return made;
  }
  static sockaddr_in6 name_of(int socket) {
    sockaddr_in6 name{};
    socklen_t size = sizeof name;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
    return name;
  }
  static std::uint16_t port_of(int socket) { return ntohs(name_of(socket).sin6_port); }
  static std::string address_of(int socket) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const sockaddr_in6 name = name_of(socket);
    ::inet_ntop(AF_INET6, &name.sin6_addr, text.data(), text.size());
    const std::string address = text.data();
    return address.starts_with("::ffff:") ? address.substr(7) : address;
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wakes_.get(), &one, sizeof one));
  }
  /// Waits until the thread has looked twice at everything: at new connections, and then at their first bytes.
  std::unique_lock<std::mutex> counted() {
    std::unique_lock lock(mutex_);
    const std::size_t until = rounds_ + 3;  // the current round may have looked already
    while (rounds_ < until) {
      wake();
      changed_.wait(lock);
    }
    return lock;
  }

  void watch() {
    std::vector<canary_socket> clients;
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        ++rounds_;
        changed_.notify_all();
        if (ends_) return;
      }
      std::vector<pollfd> waiting{{wakes_.get(), POLLIN, 0}, {tcp_.get(), POLLIN, 0}, {udp_.get(), POLLIN, 0}};
      for (const canary_socket& each : clients) waiting.push_back({each.get(), POLLIN, 0});
      ::poll(waiting.data(), waiting.size(), -1);
      std::uint64_t ignored = 0;
      static_cast<void>(::read(wakes_.get(), &ignored, sizeof ignored));
      std::vector<canary_socket> open;
      for (std::size_t i = 0; i < clients.size(); ++i)
        if (waiting[i + 3].revents == 0 || serve(clients[i].get())) open.push_back(std::move(clients[i]));
      clients.clear();
      for (canary_socket& each : open) clients.push_back(std::move(each));
      while (accept(clients)) continue;
      while (receive()) continue;
    }
  }
  bool accept(std::vector<canary_socket>& clients) {
    const int client = ::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return false;
    clients.emplace_back(client);
    const std::lock_guard lock(mutex_);
    ++by_address_[address_of(client)];
    return true;
  }
  /// Returns false at the end of the connection.
  bool serve(int client) {
    std::array<char, 65536> room{};
    const ssize_t count = ::recv(client, room.data(), room.size(), MSG_DONTWAIT);
    if (count <= 0) return false;
    {
      const std::lock_guard lock(mutex_);
      bytes_ += static_cast<std::size_t>(count);
    }
    constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ncanary";
    ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::shutdown(client, SHUT_WR);
    return true;
  }
  bool receive() {
    std::array<char, 65536> room{};
    const ssize_t count = ::recv(udp_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (count < 0) return false;
    const std::lock_guard lock(mutex_);
    ++datagrams_;
    bytes_ += static_cast<std::size_t>(count);
    return true;
  }

  canary_socket tcp_;
  canary_socket udp_;
  canary_socket wakes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::size_t> by_address_;
  std::size_t datagrams_ = 0;
  std::size_t bytes_ = 0;
  std::size_t rounds_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

/// A Unix socket of this machine, by a path and by an abstract name, that counts its connections and passes each an
/// open file.
class unix_canary {
 public:
  /// \param path  of the socket, and of the abstract name; at most 100 bytes.
  /// \param file  the file that clients get.
  unix_canary(const std::string& path, const std::string& file)
      : file_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)), path_(bound(path, 0)), abstract_(bound(path, 1)) {
    ::chmod(path.c_str(), 0777);
    threads_[0] = std::thread([this] { serve(path_.get()); });
    threads_[1] = std::thread([this] { serve(abstract_.get()); });
  }
  unix_canary(const unix_canary&) = delete;
  unix_canary& operator=(const unix_canary&) = delete;
  ~unix_canary() {
    ::shutdown(path_.get(), SHUT_RDWR);
    ::shutdown(abstract_.get(), SHUT_RDWR);
    for (std::thread& each : threads_) each.join();
  }

  std::size_t connections() {
    const std::lock_guard lock(mutex_);
    return connections_;
  }

 private:
  static canary_socket bound(const std::string& path, std::size_t abstract) {
    canary_socket made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path + abstract, sizeof address.sun_path - 2);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + abstract + path.size());
    if (::bind(made.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(made.get(), 64) != 0)
      throw std::runtime_error(std::string("canary: bind: ") + std::strerror(errno));
    return made;
  }

  void serve(int listener) {
    for (int client = -1; (client = ::accept(listener, nullptr, nullptr)) >= 0; ::close(client)) {
      {
        const std::lock_guard lock(mutex_);
        ++connections_;
      }
      pass_descriptor(client, file_.get());
    }
  }

  canary_socket file_;
  canary_socket path_;
  canary_socket abstract_;
  std::mutex mutex_;
  std::size_t connections_ = 0;
  std::thread threads_[2];
};

/// Returns the IPv6 address that an interface of this machine has on its link, without the interface; empty if it has
/// none.
inline std::string link_local_address(const std::string& interface) {
  std::string found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET6 || interface != each->ifa_name) continue;
    const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&address)) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET6, &address, text.data(), text.size());
    found = text.data();
  }
  ::freeifaddrs(all);
  return found;
}

/// Returns the addresses of all network interfaces of this machine, without those of the link only.
inline std::vector<std::string> own_addresses() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (each->ifa_addr->sa_family == AF_INET) {
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text.data(), text.size());
      found.emplace_back(text.data());
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;
      ::inet_ntop(AF_INET6, &address, text.data(), text.size());
      found.emplace_back(text.data());
    }
  }
  ::freeifaddrs(all);
  return found;
}

}  // namespace cofferdam_test
