// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/wire.hpp>

#include "support/census.hpp"
#include "support/wire_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam_test::eventually;
using cofferdam_test::wire_client;
using cofferdam_test::wire_frame;
using cofferdam_test::wire_payload;
using cofferdam_test::wire_reader;
using frame = wire::frame_type;

constexpr std::uint32_t plenty = 1U << 30;

/// A TCP socket on the loopback interface, as a program of a guest has it.
class tcp_socket {
 public:
  explicit tcp_socket(int fd = -1) : fd_(fd) {}
  tcp_socket(tcp_socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  tcp_socket& operator=(tcp_socket&&) = delete;
  ~tcp_socket() { close(); }

  static tcp_socket listening(std::uint16_t& port, int family = AF_INET) {
    tcp_socket made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_loopback;
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_four = family == AF_INET;
    auto* const where = is_four ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
    socklen_t size = is_four ? sizeof four : sizeof six;
    if (::bind(made.fd_, where, size) != 0 || ::listen(made.fd_, 16) != 0 || ::getsockname(made.fd_, where, &size) != 0)
      throw std::system_error(errno, std::system_category(), "listen");
    port = ntohs(is_four ? four.sin_port : six.sin6_port);
    return made;
  }
  static tcp_socket connected(std::uint16_t port) {
    tcp_socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(made.fd_, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0)
      throw std::system_error(errno, std::system_category(), "connect");
    return made;
  }
  tcp_socket accepted() const { return tcp_socket(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)); }

  bool is_open() const noexcept { return fd_ >= 0; }
  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::system_error(errno, std::system_category(), "send");
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Sends as much as the socket takes at once.
  std::size_t send_some(std::string_view text) const {
    const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  void finish() const { ::shutdown(fd_, SHUT_WR); }
  /// Returns the next bytes; an empty text at the end. Throws the error of the connection.
  std::string receive(std::size_t most = 65536) const {
    std::string text(most, '\0');
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, 20'000) != 1) throw std::runtime_error("nothing arrives");
    const ssize_t got = ::recv(fd_, text.data(), text.size(), 0);
    if (got < 0) throw std::system_error(errno, std::system_category(), "recv");
    text.resize(static_cast<std::size_t>(got));
    return text;
  }
  std::string receive_all(std::size_t size) const {
    std::string text;
    while (text.size() < size) {
      const std::string piece = receive(size - text.size());
      if (piece.empty()) break;
      text += piece;
    }
    return text;
  }
  /// Makes the next `close` send a reset.
  void forget_unsent() const {
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// Connections through the warden, the helper program in a sandbox. The test's own sockets play the guest's programs.
class WardenConnections : public ::testing::Test {
 protected:
  WardenConnections() {
    client_.take_hello();
    client_.configure("");
  }

  /// Returns the next frame, which must have this type and number.
  std::string next(frame type, std::uint32_t number) {
    const std::optional<wire_frame> got = client_.next_frame(std::chrono::seconds(20));
    if (!got) throw std::runtime_error("no frame");
    EXPECT_EQ(static_cast<int>(got->type), static_cast<int>(type));
    EXPECT_EQ(got->job, number);
    return got->payload;
  }
  std::int32_t next_number(frame type, std::uint32_t number) {
    return wire_reader(next(type, number)).number<std::int32_t>();
  }
  /// Returns true if nothing arrives for a moment.
  bool is_silent() { return !client_.next_frame(std::chrono::milliseconds(150)); }

  /// Listens, and returns the port.
  std::uint16_t listen(std::uint32_t number, std::uint32_t credit = plenty) {
    client_.send_frame(frame::listen, number, wire_payload().number(std::uint16_t{0}).number(credit));
    const std::string answer = next(frame::listening, number);
    wire_reader from(answer);
    EXPECT_EQ(from.number<std::int32_t>(), 0);
    const auto port = from.number<std::uint16_t>();
    from.number<std::uint32_t>();
    EXPECT_TRUE(from.at_end());
    return port;
  }
  std::uint32_t next_accepted(std::uint32_t listening) {
    const auto number = static_cast<std::uint32_t>(next_number(frame::accepted, listening));
    EXPECT_GE(number, wire::first_accepted);
    return number;
  }
  std::int32_t connect(std::uint32_t number, std::uint16_t port, std::uint32_t credit = plenty) {
    client_.send_frame(frame::connect, number, wire_payload().number(port).number(credit));
    return next_number(frame::connected, number);
  }
  void to_guest(std::uint32_t number, std::string_view text) { client_.send_frame(frame::to_guest, number, text); }
  /// Collects the bytes of a connection until `size` have arrived. Frames of credit are added to `credit_`.
  std::string collect(std::uint32_t number, std::size_t size) {
    std::string text;
    while (text.size() < size) {
      const std::optional<wire_frame> got = client_.next_frame(std::chrono::seconds(20));
      if (!got) throw std::runtime_error("no frame");
      EXPECT_EQ(got->job, number);
      if (got->type == frame::connection_credit)
        credit_ += wire_reader(got->payload).number<std::uint32_t>();
      else if (got->type == frame::to_host)
        text += got->payload;
      else
        throw std::runtime_error("a frame of another type");
    }
    return text;
  }

  wire_client client_;
  std::uint64_t credit_ = 0;
};

TEST_F(WardenConnections, a_program_of_the_guest_talks_to_the_host) {
  const std::uint16_t port = listen(1);
  const tcp_socket program = tcp_socket::connected(port);
  const std::uint32_t number = next_accepted(1);
  program.send("question");
  EXPECT_EQ(next(frame::to_host, number), "question");
  to_guest(number, "answer");
  EXPECT_EQ(program.receive(), "answer");
  EXPECT_EQ(next_number(frame::connection_credit, number), 6);
  program.finish();
  EXPECT_EQ(next(frame::to_host_end, number), "");
  to_guest(number, "rest");
  EXPECT_EQ(program.receive(), "rest");
  EXPECT_EQ(next_number(frame::connection_credit, number), 4);
  client_.send_frame(frame::to_guest_end, number);
  EXPECT_EQ(program.receive(), "");
  EXPECT_EQ(next_number(frame::dropped, number), 0);
}

TEST_F(WardenConnections, the_host_talks_to_a_server_of_the_guest) {
  std::uint16_t port = 0;
  const tcp_socket server = tcp_socket::listening(port);
  ASSERT_EQ(connect(7, port), 0);
  const tcp_socket inside = server.accepted();
  to_guest(7, "question");
  EXPECT_EQ(inside.receive(), "question");
  EXPECT_EQ(next_number(frame::connection_credit, 7), 8);
  inside.send("answer");
  EXPECT_EQ(next(frame::to_host, 7), "answer");
  client_.send_frame(frame::to_guest_end, 7);
  EXPECT_EQ(inside.receive(), "");
  inside.finish();
  EXPECT_EQ(next(frame::to_host_end, 7), "");
  EXPECT_EQ(next_number(frame::dropped, 7), 0);
  ASSERT_EQ(connect(7, port), 0) << "the number may be used again";
}

TEST_F(WardenConnections, a_server_that_listens_only_on_ipv6_is_reached) {
  std::uint16_t port = 0;
  try {
    const tcp_socket server = tcp_socket::listening(port, AF_INET6);
    ASSERT_EQ(connect(1, port), 0);
    const tcp_socket inside = server.accepted();
    to_guest(1, "x");
    EXPECT_EQ(inside.receive(), "x");
  } catch (const std::system_error& failure) {
    GTEST_SKIP() << "no IPv6 here: " << failure.what();
  }
}

TEST_F(WardenConnections, a_port_without_a_server_is_refused) {
  std::uint16_t port = 0;
  { const tcp_socket closed = tcp_socket::listening(port); }
  EXPECT_EQ(connect(1, port), ECONNREFUSED);
  EXPECT_EQ(connect(1, port), ECONNREFUSED) << "the number may be used again";
}

TEST_F(WardenConnections, a_port_in_use_cannot_be_listened_on) {
  const std::uint16_t port = listen(1);
  client_.send_frame(frame::listen, 2, wire_payload().number(port).number(plenty));
  EXPECT_EQ(next_number(frame::listening, 2), EADDRINUSE);
  client_.send_frame(frame::listen_end, 1);
  // Other programs of this machine may use the port for a moment.
  EXPECT_TRUE(eventually([&] {
    client_.send_frame(frame::listen, 2, wire_payload().number(port).number(plenty));
    return next_number(frame::listening, 2) == 0;
  }));
}

TEST_F(WardenConnections, a_closed_listening_socket_accepts_nothing) {
  const std::uint16_t port = listen(1);
  client_.send_frame(frame::listen_end, 1);
  EXPECT_TRUE(eventually([&] {
    try {
      tcp_socket::connected(port);
    } catch (const std::system_error& failure) {
      return failure.code().value() == ECONNREFUSED;
    }
    return false;
  }));
}

TEST_F(WardenConnections, no_more_is_sent_to_the_host_than_its_credit) {
  const std::uint16_t port = listen(1, 1000);
  const tcp_socket program = tcp_socket::connected(port);
  const std::uint32_t number = next_accepted(1);
  program.send(std::string(5000, 'a'));
  EXPECT_EQ(collect(number, 1000), std::string(1000, 'a'));
  EXPECT_TRUE(is_silent());
  client_.send_frame(frame::host_credit, number, wire_payload().number(std::uint32_t{1500}));
  EXPECT_EQ(collect(number, 1500), std::string(1500, 'a'));
  EXPECT_TRUE(is_silent());
  client_.send_frame(frame::host_credit, number, wire_payload().number(plenty));
  EXPECT_EQ(collect(number, 2500), std::string(2500, 'a'));
}

TEST_F(WardenConnections, a_program_that_does_not_read_holds_one_window_and_stops_only_itself) {
  const std::uint16_t port = listen(1);
  const tcp_socket idle = tcp_socket::connected(port);
  const std::uint32_t number = next_accepted(1);
  std::uint64_t sent = 0;
  std::uint64_t credit = wire::connection_window;
  const std::string piece(32 * 1024, 'x');
  for (;;) {  // until the program's socket and the warden's buffer are full
    while (credit >= piece.size()) {
      to_guest(number, piece);
      sent += piece.size();
      credit -= piece.size();
    }
    const std::optional<wire_frame> got = client_.next_frame(std::chrono::milliseconds(300));
    if (!got) break;
    ASSERT_EQ(static_cast<int>(got->type), static_cast<int>(frame::connection_credit));
    credit += wire_reader(got->payload).number<std::uint32_t>();
  }
  EXPECT_LT(credit, piece.size());
  const tcp_socket other = tcp_socket::connected(port);
  const std::uint32_t second = next_accepted(1);
  other.send("hello");
  EXPECT_EQ(next(frame::to_host, second), "hello");
  EXPECT_EQ(idle.receive_all(sent).size(), sent) << "nothing was lost";
}

TEST_F(WardenConnections, more_than_the_window_ends_the_session) {
  const std::uint16_t port = listen(1);
  const tcp_socket idle = tcp_socket::connected(port);
  const std::uint32_t number = next_accepted(1);
  const std::string piece(60 * 1024, 'x');
  bool ended = false;
  for (int i = 0; i < 1000 && !ended; ++i) {
    try {
      to_guest(number, piece);
    } catch (const std::system_error&) {
      ended = true;
    }
    const std::optional<wire_frame> got = client_.next_frame(std::chrono::milliseconds(0));
    ended = ended || (got && got->type == frame::protocol_error);
  }
  EXPECT_TRUE(ended);
}

TEST_F(WardenConnections, much_goes_through_in_both_directions_at_once) {
  const std::uint16_t port = listen(1, 200'000);
  const tcp_socket program = tcp_socket::connected(port);
  const std::uint32_t number = next_accepted(1);
  constexpr std::size_t total = std::size_t{8} << 20;
  std::string out;
  for (std::size_t i = 0; i < total; ++i) out += static_cast<char>('a' + i % 23 + (i >> 16) % 3);
  std::size_t sent = 0;       // by the program
  std::string received;       // by the program
  std::size_t host_sent = 0;  // by the host
  std::string host_received;  // by the host
  std::uint64_t credit = wire::connection_window;
  while (received.size() < total || host_received.size() < total) {
    sent += program.send_some(std::string_view(out).substr(sent, 50'000));
    while (host_sent < total && credit != 0) {
      const std::size_t size = std::min<std::size_t>({credit, wire::max_payload, total - host_sent});
      to_guest(number, std::string_view(out).substr(host_sent, size));
      host_sent += size;
      credit -= size;
    }
    while (const std::optional<wire_frame> got = client_.next_frame(std::chrono::milliseconds(0))) {
      if (got->type == frame::connection_credit) credit += wire_reader(got->payload).number<std::uint32_t>();
      if (got->type != frame::to_host) continue;
      host_received += got->payload;
      client_.send_frame(frame::host_credit, number,
                         wire_payload().number(static_cast<std::uint32_t>(got->payload.size())));
    }
    if (host_sent > received.size()) received += program.receive();
  }
  EXPECT_EQ(received, out);
  EXPECT_EQ(host_received, out);
}

TEST_F(WardenConnections, a_reset_of_the_program_is_reported) {
  const std::uint16_t port = listen(1);
  tcp_socket program = tcp_socket::connected(port);
  const std::uint32_t number = next_accepted(1);
  program.forget_unsent();
  program.close();
  EXPECT_EQ(next_number(frame::dropped, number), ECONNRESET);
  to_guest(number, "late");  // ignored
  client_.send_frame(frame::drop, number);
  EXPECT_TRUE(is_silent());
}

TEST_F(WardenConnections, a_connection_that_the_host_drops_is_closed) {
  const std::uint16_t port = listen(1);
  const tcp_socket program = tcp_socket::connected(port);
  const std::uint32_t number = next_accepted(1);
  client_.send_frame(frame::drop, number);
  EXPECT_EQ(next_number(frame::dropped, number), 0);
  EXPECT_EQ(program.receive(), "");
}

TEST_F(WardenConnections, many_at_once_and_more_than_the_most_wait) {
  const std::uint16_t port = listen(1);
  std::vector<tcp_socket> programs;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < wire::max_connections - 1; ++i) {  // the listening socket counts, too
    programs.push_back(tcp_socket::connected(port));
    numbers.push_back(next_accepted(1));
  }
  for (std::size_t i = 0; i < programs.size(); i += 50) {
    programs[i].send("a");
    EXPECT_EQ(next(frame::to_host, numbers[i]), "a");
  }
  const tcp_socket waiting = tcp_socket::connected(port);  // in the kernel's queue
  waiting.send("b");
  EXPECT_TRUE(is_silent());
  client_.send_frame(frame::drop, numbers[3]);
  EXPECT_EQ(next_number(frame::dropped, numbers[3]), 0);
  const std::uint32_t number = next_accepted(1);
  EXPECT_EQ(next(frame::to_host, number), "b");
}

TEST_F(WardenConnections, malformed_frames_end_the_session) {
  const std::vector<std::pair<frame, std::string>> bad{
      {frame::listen, "x"},
      {frame::listen, wire_payload().number(std::uint16_t{0}).number(plenty).bytes() + "x"},
      {frame::connect, wire_payload().number(std::uint16_t{0}).bytes()},
      {frame::host_credit, "abc"},
      {frame::listen_end, "x"},
      {frame::to_guest_end, "x"},
      {frame::drop, "x"},
      {static_cast<frame>(0x37), ""},
  };
  for (const auto& [type, payload] : bad) {
    wire_client other;
    other.take_hello();
    other.configure("");
    other.send_frame(type, 1, payload);
    const std::optional<wire_frame> got = other.next_frame();
    ASSERT_TRUE(got);
    EXPECT_EQ(static_cast<int>(got->type), static_cast<int>(frame::protocol_error)) << static_cast<int>(type);
  }
  // A number that only the warden may choose, and one that is in use.
  for (const std::uint32_t number : {wire::first_accepted, std::uint32_t{1}}) {
    wire_client other;
    other.take_hello();
    other.configure("");
    other.send_frame(frame::listen, 1, wire_payload().number(std::uint16_t{0}).number(plenty));
    other.next_frame();
    other.send_frame(frame::listen, number, wire_payload().number(std::uint16_t{0}).number(plenty));
    const std::optional<wire_frame> got = other.next_frame();
    ASSERT_TRUE(got);
    EXPECT_EQ(static_cast<int>(got->type), static_cast<int>(frame::protocol_error)) << number;
  }
}

TEST_F(WardenConnections, the_end_of_the_session_closes_them_all) {
  const std::uint16_t port = listen(1);
  const tcp_socket program = tcp_socket::connected(port);
  next_accepted(1);
  client_.close();
  client_.wait();
  try {
    EXPECT_EQ(program.receive(), "");
  } catch (const std::system_error&) {  // a reset
  }
  EXPECT_THROW(tcp_socket::connected(port), std::system_error);
}

}  // namespace
