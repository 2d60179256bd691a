// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/warden/detail/wire.hpp>

#include "support/paths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam_test {

/// An encoder for the content of a frame, one value after another. (A frame is a message between a host and its warden,
/// the helper program in a sandbox.)
class wire_payload {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  wire_payload& number(T value) & {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
    return *this;
  }
  wire_payload& string(std::string_view text) & {
    number(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    bytes_ += '\0';
    return *this;
  }
  wire_payload& strings(const std::vector<std::string>& list) & {
    number(static_cast<std::uint32_t>(list.size()));
    for (const std::string& text : list) string(text);
    return *this;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  wire_payload&& number(T value) && {
    return std::move(number(value));
  }
  wire_payload&& string(std::string_view text) && { return std::move(string(text)); }
  wire_payload&& strings(const std::vector<std::string>& list) && { return std::move(strings(list)); }

  const std::string& bytes() const noexcept { return bytes_; }
  operator std::string_view() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// A decoder for the content of a frame. Throws if the frame ends before the requested value does.
class wire_reader {
 public:
  explicit wire_reader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string string() {
    std::string text(take(number<std::uint32_t>()));
    if (take(1) != std::string_view("\0", 1)) throw std::runtime_error("a string without its NUL");
    return text;
  }
  bool at_end() const noexcept { return bytes_.empty(); }
  std::string_view rest() const noexcept { return bytes_; }

 private:
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) throw std::runtime_error("a frame is cut");
    const std::string_view piece = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return piece;
  }

  std::string_view bytes_;
};

/// A received frame: the header's fields and the content.
struct wire_frame {
  cofferdam::detail::wire::frame_type type{};
  std::uint32_t job = 0;
  std::string payload;

  friend std::ostream& operator<<(std::ostream& out, const wire_frame& frame) {
    return out << "frame " << static_cast<unsigned>(frame.type) << " of job " << frame.job << ", "
               << frame.payload.size() << " bytes";
  }
};

/// The command line that starts the warden, and the kind of stream to it.
struct wire_start {
  std::vector<std::string> words = {warden_program(), "3"};
  bool over_pipes = false;       ///< true for two pipes (standard input and output); false for a socket (descriptor 3)
  std::string connects_to = {};  ///< socket on which the test listens; empty means none. Needs `over_pipes`
};

/// A warden process and the stream to it. Sends and receives frames in one thread with blocking calls, and shares no
/// code with the library's client. The destructor closes the stream and waits for the process.
class wire_client {
 public:
  static constexpr std::chrono::milliseconds patience = std::chrono::seconds(60);

  wire_client() : wire_client(wire_start()) {}
  explicit wire_client(wire_start how) {
    const int listener = how.connects_to.empty() ? -1 : listen_at(how.connects_to);
    int theirs[2];
    if (how.over_pipes) {
      int in[2];
      int out[2];
      if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) fail("pipe2");
      fd_ = in[1];
      from_fd_ = out[0];
      theirs[0] = in[0];
      theirs[1] = out[1];
    } else {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("socketpair");
      fd_ = from_fd_ = pair[0];
      theirs[0] = theirs[1] = pair[1];
    }
    std::vector<char*> words;
    for (std::string& word : how.words) words.push_back(word.data());
    words.push_back(nullptr);
    char* const variables[] = {nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (how.over_pipes) {
      ::posix_spawn_file_actions_adddup2(&actions, theirs[0], 0);
      ::posix_spawn_file_actions_adddup2(&actions, theirs[1], 1);
    } else {
      ::posix_spawn_file_actions_adddup2(&actions, theirs[0], 3);
    }
    const int code = ::posix_spawnp(&pid_, words[0], &actions, nullptr, words.data(), variables);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(theirs[0]);
    if (theirs[1] != theirs[0]) ::close(theirs[1]);
    if (code != 0) {
      close();
      throw std::system_error(code, std::system_category(), "starting " + how.words[0]);
    }
    if (listener >= 0) {
      const int met = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (met < 0) fail("accept4");
      ::close(listener);
      close();
      fd_ = from_fd_ = met;
    }
  }
  wire_client(const wire_client&) = delete;
  wire_client& operator=(const wire_client&) = delete;
  ~wire_client() {
    close();
    wait();
  }

  /// Receives the first frame of the program, which must be `hello`. Throws if it is another frame.
  wire_frame take_hello() {
    std::optional<wire_frame> hello = next_frame();
    if (!hello || hello->type != cofferdam::detail::wire::frame_type::hello) throw std::runtime_error("no hello");
    return std::move(*hello);
  }

  void configure(std::string_view root, std::uint32_t flags = 0, std::uint32_t lease_ms = 0) {
    send_frame(cofferdam::detail::wire::frame_type::configure, 0,
               wire_payload().number(flags).number(lease_ms).string(root));
  }

  pid_t pid() const noexcept { return pid_; }
  int fd() const noexcept { return fd_; }

  void send_frame(cofferdam::detail::wire::frame_type type, std::uint32_t job, std::string_view payload = {},
                  const std::vector<int>& fds = {}) {
    wire_payload head;
    head.number(static_cast<std::uint32_t>(payload.size())).number(static_cast<std::uint8_t>(type)).number(job);
    send_bytes(head.bytes() + std::string(payload), fds);
  }

  /// Sends bytes without a frame header. The descriptors in `fds` are sent with the first byte.
  void send_bytes(std::string_view bytes, const std::vector<int>& fds = {}) {
    bool first = true;
    while (!bytes.empty()) {
      iovec vector{const_cast<char*>(bytes.data()), bytes.size()};
      msghdr message{};
      message.msg_iov = &vector;
      message.msg_iovlen = 1;
      std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
      if (first && !fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
      }
      const ssize_t sent =
          is_socket() ? ::sendmsg(fd_, &message, MSG_NOSIGNAL) : ::write(fd_, bytes.data(), bytes.size());
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) fail("sendmsg");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      first = false;
    }
  }

  /// Returns the next frame; no value if none arrives in time, or if the stream has ended (`has_ended`).
  std::optional<wire_frame> next_frame(std::chrono::milliseconds limit = patience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!whole_frame()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd ready{from_fd_, POLLIN, 0};
      const int count = ::poll(&ready, 1, static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0)));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      char piece[65536];
      const ssize_t got = ::read(from_fd_, piece, sizeof piece);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        ended_ = true;
        return std::nullopt;
      }
      if (begin_ != 0) {
        received_.erase(0, begin_);
        begin_ = 0;
      }
      received_.append(piece, static_cast<std::size_t>(got));
    }
    wire_reader head(std::string_view(received_).substr(begin_));
    const std::size_t size = head.number<std::uint32_t>();
    wire_frame frame;
    frame.type = static_cast<cofferdam::detail::wire::frame_type>(head.number<std::uint8_t>());
    frame.job = head.number<std::uint32_t>();
    frame.payload = received_.substr(begin_ + cofferdam::detail::wire::header_size, size);
    begin_ += cofferdam::detail::wire::header_size + size;
    return frame;
  }
  bool has_ended() const noexcept { return ended_; }

  /// Closes the test's end of the stream, in both directions.
  void close() {
    if (from_fd_ >= 0 && from_fd_ != fd_) ::close(from_fd_);
    if (fd_ >= 0) ::close(fd_);
    fd_ = from_fd_ = -1;
  }
  /// Closes the direction in which the test sends. Frames can still be received.
  void finish_sending() {
    if (is_socket()) {
      ::shutdown(fd_, SHUT_WR);
    } else {
      ::close(fd_);
      fd_ = -1;
    }
  }

  /// Waits until the program has ended, and returns its wait status. If the program does not end within `limit`, kills
  /// it and fails the test.
  int wait(std::chrono::milliseconds limit = patience) {
    if (pid_ <= 0) return status_;
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
      const pid_t got = ::waitpid(pid_, &status_, WNOHANG);
      if (got != 0 && !(got < 0 && errno == EINTR)) break;
      if (std::chrono::steady_clock::now() > end) {
        ADD_FAILURE() << "the warden does not end";
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, &status_, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid_ = 0;
    return status_;
  }

 private:
  [[noreturn]] static void fail(const char* what) { throw std::system_error(errno, std::system_category(), what); }

  static int listen_at(const std::string& path) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    if (path.size() >= sizeof where.sun_path) throw std::length_error("a long path: " + path);
    path.copy(where.sun_path, path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0 || ::listen(fd, 1) != 0)
      fail("listen");
    return fd;
  }

  bool is_socket() const noexcept { return fd_ == from_fd_; }
  bool whole_frame() const {
    const std::string_view here = std::string_view(received_).substr(begin_);
    if (here.size() < cofferdam::detail::wire::header_size) return false;
    return here.size() - cofferdam::detail::wire::header_size >= wire_reader(here).number<std::uint32_t>();
  }

  int fd_ = -1;       ///< the test writes to this descriptor
  int from_fd_ = -1;  ///< the test reads from this descriptor; equal to `fd_` if the stream is a socket
  pid_t pid_ = 0;
  int status_ = 0;
  bool ended_ = false;
  std::string received_;
  std::size_t begin_ = 0;
};

}  // namespace cofferdam_test
