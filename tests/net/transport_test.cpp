// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/detail/socket_stream.hpp>
#include <cofferdam/net/make_byte_stream.hpp>
#include <cofferdam/net/net_error.hpp>

#include "net/real_server.hpp"
#include "net/real_talk.hpp"
#include "support/cancel_when_idle.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/experimental/parallel_group.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using cofferdam::awaitable;
using cofferdam::byte_stream;
using cofferdam::bytes;
using cofferdam::exec_errc;
using cofferdam::net_errc;
using cofferdam::detail::connector;
using cofferdam_test::cancel_when_idle;
using cofferdam_test::open_descriptors;
using cofferdam_test::read_all;
using cofferdam_test::real_server;
using cofferdam_test::run;
using cofferdam_test::speak_to_a_real_server;
using cofferdam_test::temporary_folder;
using namespace std::chrono_literals;
using namespace std::string_literals;

template <class F>
cofferdam::error failure_of(F&& make) {
  try {
    static_cast<void>(run(std::forward<F>(make)));
  } catch (const cofferdam::error& failure) {
    return failure;
  }
  ADD_FAILURE() << "nothing was thrown";
  return cofferdam::error(exec_errc{}, "");
}

/// A Unix socket at a path. It listens if `backlog` is not negative.
class unix_listener {
 public:
  explicit unix_listener(const std::string& path, int backlog = 16)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (backlog >= 0) {
      EXPECT_EQ(::listen(fd_, backlog), 0);
    }
  }
  unix_listener(const unix_listener&) = delete;
  unix_listener& operator=(const unix_listener&) = delete;
  ~unix_listener() { ::close(fd_); }
  int accept() const { return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC); }

 private:
  int fd_;
};

awaitable<byte_stream> connect(connector target, std::chrono::milliseconds limit = 10s) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  byte_stream stream = co_await target.connect(executor, limit);
  co_return stream;
}
TEST(UnixConnector, a_path_that_no_socket_can_have_is_refused) {
  for (const std::string& path : {""s, "relative.sock"s, "/"s + std::string(107, 'x'), "/a\0b"s}) {
    EXPECT_THROW(cofferdam::detail::unix_connector(path), cofferdam::error) << path;
  }
}

TEST(UnixConnector, a_failure_names_the_socket_and_what_to_do) {
  const temporary_folder folder;
  const std::string path = (folder / "a.sock").string();
  const std::size_t before = open_descriptors();
  const cofferdam::error none = failure_of([&] { return connect(cofferdam::detail::unix_connector(path)); });
  EXPECT_EQ(none.code(), exec_errc::io_error);
  EXPECT_EQ(none.cause(), std::errc::no_such_file_or_directory);
  EXPECT_NE(std::string(none.what()).find(path), std::string::npos);
  EXPECT_NE(std::string(none.what()).find("check that the server is running"), std::string::npos);
  { const unix_listener dead(path, -1); }
  const cofferdam::error refused = failure_of([&] { return connect(cofferdam::detail::unix_connector(path)); });
  EXPECT_EQ(refused.cause(), std::errc::connection_refused);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(UnixConnector, a_socket_that_may_not_be_used_is_named_so) {
  const temporary_folder folder;
  const std::string path = (folder / "a.sock").string();
  const unix_listener closed(path);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  const bool is_root = ::geteuid() == 0;  // root may connect to each socket, whatever its mode
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const cofferdam::error refused = failure_of([&] { return connect(cofferdam::detail::unix_connector(path)); });
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
    ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);  // later tests expect this state, which seteuid has changed
  }
  EXPECT_EQ(refused.cause(), std::errc::permission_denied);
}

TEST(UnixConnector, a_server_that_is_too_busy_is_waited_for_until_the_limit) {
  const temporary_folder folder;
  const std::string path = (folder / "a.sock").string();
  const unix_listener busy(path, 0);
  run([&]() -> awaitable<void> {
    std::vector<byte_stream> held;
    std::exception_ptr failure;
    while (!failure && held.size() < 100) {
      try {
        byte_stream idle = co_await connect(cofferdam::detail::unix_connector(path), 30ms);
        held.push_back(std::move(idle));
      } catch (...) {
        failure = std::current_exception();
      }
    }
    EXPECT_LT(held.size(), 100U);
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const cofferdam::error& reason) {
      EXPECT_EQ(reason.cause(), net_errc::timed_out);
    }
    ::close(busy.accept());
    byte_stream late = co_await connect(cofferdam::detail::unix_connector(path));
    EXPECT_TRUE(static_cast<bool>(late));
  });
}

TEST(TcpConnector, a_host_that_cannot_be_one_is_refused) {
  for (const std::string& host :
       {""s, "a b"s, "a\r\nb"s, "[::1]"s, "http://x"s, "a@b"s, "1:2"s, std::string(300, 'a')}) {
    EXPECT_THROW(cofferdam::detail::tcp_connector(host, 80), cofferdam::error) << host;
  }
  EXPECT_THROW(cofferdam::detail::tcp_connector("localhost", 0), cofferdam::error);
}

TEST(TcpConnector, host_and_port_stand_in_the_field_host) {
  EXPECT_EQ(cofferdam::detail::tcp_connector("example.test", 2375).host(), "example.test:2375");
  EXPECT_EQ(cofferdam::detail::tcp_connector("example.test", 80).host(), "example.test");
  EXPECT_EQ(cofferdam::detail::tcp_connector("::1", 2375).host(), "[::1]:2375");
  EXPECT_EQ(cofferdam::detail::unix_connector("/run/x.sock").host(), "localhost");
}

/// Returns a port on which nothing listens.
std::uint16_t free_port() {
  asio::io_context context;
  const asio::ip::tcp::acceptor acceptor(context, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

TEST(TcpConnector, a_failure_names_the_host_and_the_address) {
  const std::uint16_t port = free_port();
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const cofferdam::error refused = failure_of([&] { return connect(cofferdam::detail::tcp_connector(host, port)); });
    EXPECT_EQ(refused.code(), exec_errc::io_error);
    EXPECT_EQ(refused.cause(), std::errc::connection_refused) << refused.what();
    EXPECT_NE(std::string(refused.what()).find("check that the server is running"), std::string::npos)
        << refused.what();
    const std::string name = std::string(host) + ":" + std::to_string(port);
    EXPECT_NE(std::string(refused.what()).find(name), std::string::npos) << refused.what();
    EXPECT_NE(std::string(refused.what()).find("("), std::string::npos) << refused.what();
  }
}

TEST(TcpConnector, every_address_of_a_name_is_tried) {
  // Only 127.0.0.1 listens. If localhost also means ::1, the connection to ::1 is refused first.
  asio::io_context context;
  const asio::ip::tcp::acceptor acceptor(context, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::uint16_t port = acceptor.local_endpoint().port();
  run([&]() -> awaitable<void> {
    byte_stream stream = co_await connect(cofferdam::detail::tcp_connector("localhost", port));
    EXPECT_TRUE(static_cast<bool>(stream));
  });
}

TEST(Connector, what_is_missing_is_refused) {
  EXPECT_THROW(static_cast<void>(connector().connect(asio::any_io_executor(), 1s)), cofferdam::error);
  EXPECT_THROW(connector("a", "b", nullptr), cofferdam::error);
  EXPECT_THROW(static_cast<void>(cofferdam::detail::unix_connector("/x").connect(asio::any_io_executor(), 0s)),
               cofferdam::error);
  byte_stream none;
  none.close();
  EXPECT_THROW(static_cast<void>(none.shutdown_send()), cofferdam::error);
}

/// Returns both ends of a connection over a Unix socket.
awaitable<std::pair<byte_stream, byte_stream>> two_ends() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::local::stream_protocol::socket a(executor);
  asio::local::stream_protocol::socket b(executor);
  asio::local::connect_pair(a, b);
  using stream = cofferdam::detail::socket_stream<asio::local::stream_protocol::socket>;
  std::pair<byte_stream, byte_stream> both;
  both.first = byte_stream(std::make_unique<stream>(std::move(a), "this side"));
  both.second = byte_stream(std::make_unique<stream>(std::move(b), "the other side"));
  co_return both;
}

TEST(ByteStream, ends_each_direction_on_its_own) {
  run([]() -> awaitable<void> {
    std::pair<byte_stream, byte_stream> ends = co_await two_ends();
    const bytes text = cofferdam::to_bytes("there");
    const bytes answer = cofferdam::to_bytes("back");
    EXPECT_TRUE(ends.second.is_quiet());
    co_await ends.first.write(text);
    EXPECT_FALSE(ends.second.is_quiet());
    co_await ends.first.shutdown_send();
    co_await ends.first.shutdown_send();
    const std::string heard = co_await read_all(ends.second);
    EXPECT_EQ(heard, "there");
    co_await ends.second.write(answer);
    ends.second.close();
    const std::string back = co_await read_all(ends.first);
    EXPECT_EQ(back, "back");
    EXPECT_FALSE(ends.first.is_quiet());
  });
}

TEST(ByteStream, a_cancelled_read_is_an_error_of_ours_and_loses_nothing) {
  const std::exception_ptr failure = cancel_when_idle([]() -> awaitable<void> {
    std::pair<byte_stream, byte_stream> ends = co_await two_ends();
    std::array<std::byte, 8> room;
    co_await ends.first.read_some(room);
  });
  ASSERT_TRUE(failure);
  EXPECT_THROW(
      try { std::rethrow_exception(failure); } catch (const cofferdam::error& reason) {
        EXPECT_EQ(reason.code(), exec_errc::cancelled);
        throw;
      },
      cofferdam::error);
}

awaitable<void> close_it(byte_stream& stream) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  for (int turn = 0; turn < 5; ++turn) co_await asio::post(executor, asio::use_awaitable);
  stream.close();
}

TEST(ByteStream, closing_ends_a_read_that_is_under_way) {
  run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::pair<byte_stream, byte_stream> ends = co_await two_ends();
    std::array<std::byte, 8> room;
    auto group = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, ends.first.read_some(room), cofferdam::detail::deferred),
        asio::co_spawn(executor, close_it(ends.first), cofferdam::detail::deferred));
    auto result = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    try {
      if (std::get<1>(result)) std::rethrow_exception(std::get<1>(result));
      ADD_FAILURE() << "the read did not fail";
    } catch (const cofferdam::error& reason) {
      EXPECT_EQ(reason.code(), exec_errc::io_error);
    }
  });
}

TEST(MakeByteStream, two_pipes_make_one_stream_that_keeps_its_owner) {
  const std::size_t before = open_descriptors();
  const std::shared_ptr<int> owner = std::make_shared<int>(1);
  run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    int out[2];
    int in[2];
    EXPECT_EQ(::pipe2(out, O_CLOEXEC) + ::pipe2(in, O_CLOEXEC), 0);
    byte_stream stream =
        cofferdam::make_byte_stream(asio::posix::stream_descriptor(executor, in[0]),
                                    asio::posix::stream_descriptor(executor, out[1]), "the child", owner);
    EXPECT_EQ(owner.use_count(), 2);
    const bytes text = cofferdam::to_bytes("there");
    co_await stream.write(text);
    std::array<char, 16> heard{};
    EXPECT_EQ(::read(out[0], heard.data(), heard.size()), 5);
    EXPECT_TRUE(stream.is_quiet());
    EXPECT_EQ(::write(in[1], "back", 4), 4);
    EXPECT_FALSE(stream.is_quiet());
    co_await stream.shutdown_send();
    EXPECT_EQ(::read(out[0], heard.data(), heard.size()), 0);
    ::close(in[1]);
    const std::string back = co_await read_all(stream);
    EXPECT_EQ(back, "back");
    ::close(out[0]);
  });
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(MakeByteStream, a_reader_that_is_gone_is_an_error_and_no_signal) {
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  const cofferdam::error failure = failure_of([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    int out[2];
    int in[2];
    EXPECT_EQ(::pipe2(out, O_CLOEXEC) + ::pipe2(in, O_CLOEXEC), 0);
    byte_stream stream = cofferdam::make_byte_stream(asio::posix::stream_descriptor(executor, in[0]),
                                                     asio::posix::stream_descriptor(executor, out[1]), "the child");
    ::close(out[0]);
    ::close(in[1]);
    const bytes text = cofferdam::to_bytes("there");
    co_await stream.write(text);
  });
  std::signal(SIGPIPE, before);
  EXPECT_EQ(failure.code(), exec_errc::io_error);
  EXPECT_EQ(failure.cause(), std::errc::broken_pipe);
  EXPECT_NE(std::string(failure.what()).find("the child"), std::string::npos);
}

TEST(MakeByteStream, a_full_pipe_is_waited_for_and_that_can_be_cancelled) {
  int out[2];
  int in[2];
  ASSERT_EQ(::pipe2(out, O_CLOEXEC) + ::pipe2(in, O_CLOEXEC), 0);
  const std::exception_ptr failure = cancel_when_idle([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    byte_stream stream = cofferdam::make_byte_stream(asio::posix::stream_descriptor(executor, in[0]),
                                                     asio::posix::stream_descriptor(executor, out[1]), "the child");
    const bytes much(1'000'000);
    co_await stream.write(much);
  });
  ::close(out[0]);
  ::close(in[1]);
  try {
    if (failure) std::rethrow_exception(failure);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const cofferdam::error& reason) {
    EXPECT_EQ(reason.code(), exec_errc::cancelled);
  }
}

TEST(RealServer, is_understood_over_a_unix_socket) {
  COFFERDAM_NEEDS("python3", cofferdam_test::has_python(), "that another HTTP implementation understands ours");
  const temporary_folder folder;
  const std::string path = (folder / "http.sock").string();
  const real_server server({"--unix", path});
  const std::size_t before = open_descriptors();
  run([&] { return speak_to_a_real_server(cofferdam::detail::unix_connector(path)); });
  EXPECT_EQ(open_descriptors(), before);
}

TEST(RealServer, is_understood_over_tcp) {
  COFFERDAM_NEEDS("python3", cofferdam_test::has_python(), "that another HTTP implementation understands ours");
  const real_server server;
  run([&] { return speak_to_a_real_server(cofferdam::detail::tcp_connector("127.0.0.1", server.port())); });
}

}  // namespace
