// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/listening.hpp>
#include <cofferdam/net/detail/socket_stream.hpp>
#include <cofferdam/net/detail/stream_errors.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/error.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/redirect_error.hpp>
#include <asio/socket_base.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The part of a listener that does not depend on the address family.
template <class Protocol>
class socket_listening : public listening {
 public:
  explicit socket_listening(const asio::any_io_executor& executor) : acceptor_(executor) {}

  void close() noexcept override {
    closed_ = true;
    std::error_code ignored;  // the acceptor is closed even if `close` fails
    acceptor_.close(ignored);
  }

 protected:
  void check(std::error_code failure) const {
    if (failure) throw error(exec_errc::io_error, "cannot listen on " + name_ + ": " + failure.message(), failure);
  }
  /// Sets close-on-exec. Asio opens and accepts sockets without this flag, so child processes would inherit them.
  static void keep_from_children(int fd) noexcept { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

  awaitable<typename Protocol::socket> accept_socket() {
    std::error_code failure;
    typename Protocol::socket socket(acceptor_.get_executor());
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, failure));
    if (failure) throw stream_error(name_, "accepting", failure, closed_);
    keep_from_children(socket.native_handle());
    co_return socket;
  }

  typename Protocol::acceptor acceptor_;
};

// A listener for TCP.
class tcp_listening : public socket_listening<asio::ip::tcp> {
 public:
  tcp_listening(const asio::any_io_executor& executor, const std::string& address, std::uint16_t port)
      : socket_listening(executor) {
    std::error_code failure;
    const asio::ip::address where = asio::ip::make_address(address, failure);
    if (failure)
      throw error(exec_errc::invalid_argument,
                  "\"" + one_line(address) + "\" is not an IPv4 or IPv6 address to listen on");
    asio::ip::tcp::endpoint place(where, port);
    name_ = text(place);
    acceptor_.open(place.protocol(), failure);
    check(failure);
    keep_from_children(acceptor_.native_handle());
    acceptor_.set_option(asio::socket_base::reuse_address(true), failure);
    check(failure);
    if (where.is_v6()) acceptor_.set_option(asio::ip::v6_only(true), failure);
    check(failure);
    acceptor_.bind(place, failure);
    check(failure);
    acceptor_.listen(asio::socket_base::max_listen_connections, failure);
    check(failure);
    place = acceptor_.local_endpoint(failure);
    check(failure);
    name_ = text(place);
    port_ = place.port();
    loopback_ = where.is_loopback();
  }

  awaitable<byte_stream> accept() override {
    asio::ip::tcp::socket socket = co_await accept_socket();
    std::string peer = peer_of(socket);
    co_return byte_stream(std::make_unique<socket_stream<asio::ip::tcp::socket>>(std::move(socket), std::move(peer)));
  }

 protected:
  static std::string peer_of(asio::ip::tcp::socket& socket) {
    std::error_code failure;
    socket.set_option(asio::ip::tcp::no_delay(true), failure);
    const asio::ip::tcp::endpoint from = socket.remote_endpoint(failure);
    return failure ? std::string("a disconnected client") : "the client " + text(from);
  }

 private:
  static std::string text(const asio::ip::tcp::endpoint& place) {
    const std::string address = place.address().to_string();
    return (place.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(place.port());
  }
};

// A listener on a Unix stream socket, which only the same user can connect to.
class unix_listening final : public socket_listening<asio::local::stream_protocol> {
 public:
  unix_listening(const asio::any_io_executor& executor, const std::string& path)
      : socket_listening(executor), path_(path) {
    if (path.empty() || path.front() != '/' || path.size() > 107 || path.find('\0') != std::string::npos)
      throw error(exec_errc::invalid_argument,
                  "\"" + one_line(path) +
                      "\" is not a valid path of a Unix socket: the path must be absolute and at most 107 bytes long");
    name_ = "the socket \"" + one_line(path) + "\"";
    remove_dead_socket();
    std::error_code failure;
    acceptor_.open(asio::local::stream_protocol(), failure);
    check(failure);
    keep_from_children(acceptor_.native_handle());
    // On Linux the socket's mode becomes the mode of its file. Because the mode is set before `bind`, other users can
    // never connect.
    if (::fchmod(acceptor_.native_handle(), 0600) != 0) check(std::error_code(errno, std::system_category()));
    acceptor_.bind(asio::local::stream_protocol::endpoint(path), failure);
    check(failure);
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) check(std::error_code(errno, std::system_category()));
    device_ = status.st_dev;
    inode_ = status.st_ino;
    bound_ = true;
    if (!S_ISSOCK(status.st_mode) || (status.st_mode & 0077U) != 0) {
      remove_file();
      throw error(exec_errc::permission_denied, "cannot listen on " + name_ + ": other users could connect to it");
    }
    acceptor_.listen(asio::socket_base::max_listen_connections, failure);
    if (failure) remove_file();
    check(failure);
  }
  ~unix_listening() override { remove_file(); }

  awaitable<byte_stream> accept() override {
    asio::local::stream_protocol::socket socket = co_await accept_socket();
    std::string peer = "a client of " + name_;
    co_return byte_stream(
        std::make_unique<socket_stream<asio::local::stream_protocol::socket>>(std::move(socket), std::move(peer)));
  }

  void close() noexcept override {
    socket_listening::close();
    remove_file();
  }

 private:
  void remove_dead_socket() {
    struct stat there {};
    if (::lstat(path_.c_str(), &there) != 0) return;
    if (!S_ISSOCK(there.st_mode))
      throw error(exec_errc::already_exists,
                  "cannot listen on " + name_ + ": something that is not a socket has this name");
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
    const bool dead = fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
                      errno == ECONNREFUSED;
    if (fd >= 0) ::close(fd);
    if (!dead)
      throw error(exec_errc::already_exists, "cannot listen on " + name_ + ": another process already listens there");
    ::unlink(path_.c_str());
  }

  void remove_file() noexcept {
    if (!std::exchange(bound_, false)) return;
    struct stat there {};
    if (::lstat(path_.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_)
      ::unlink(path_.c_str());
  }

  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool bound_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
