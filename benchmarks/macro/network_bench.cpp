// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Compares connections into a jail, through its warden, with a relay of two hops (TCP to a Unix socket, and from there
// to TCP), which two programs `socat` make outside. The server is the same Python program. The measurements are
// interleaved. Usage: network_bench [ROUNDS]
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/net/transport.hpp>

#include "../support/table.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace {

using namespace cofferdam;
using cofferdam::detail::connector;
using cofferdam::detail::tcp_connector;
using cofferdam_bench::row;
using clock_type = std::chrono::steady_clock;
using nanoseconds = std::chrono::nanoseconds;
using connects = std::function<awaitable<byte_stream>()>;

constexpr std::size_t large = std::size_t{128} << 20;

/// A program of the benchmark, which ends with this object.
class helper_program {
 public:
  explicit helper_program(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int failure = ::posix_spawnp(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (failure != 0) throw std::system_error(failure, std::system_category(), words[0]);
  }
  helper_program(const helper_program&) = delete;
  helper_program& operator=(const helper_program&) = delete;
  ~helper_program() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

/// A connector over a TCP port of this machine.
awaitable<byte_stream> connect_here(std::uint16_t port) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const connector peer = tcp_connector("127.0.0.1", port);
  byte_stream stream = co_await peer.connect(executor, std::chrono::seconds(5));
  co_return stream;
}

awaitable<void> write_text(byte_stream& stream, std::string text) {
  const bytes_view content = as_bytes(text);
  co_await stream.write(content);
}

awaitable<nanoseconds> receive_large(connects connect) {
  byte_stream stream = co_await connect();
  const clock_type::time_point begin = clock_type::now();
  co_await write_text(stream, "send " + std::to_string(large) + "\n");
  bytes piece(std::size_t{256} << 10);
  for (std::size_t left = large; left != 0;) {
    const std::size_t count = co_await stream.read_some(piece);
    if (count == 0) throw std::runtime_error("the server has sent too little");
    left -= count;
  }
  co_return clock_type::now() - begin;
}

awaitable<nanoseconds> send_large(connects connect) {
  byte_stream stream = co_await connect();
  const clock_type::time_point begin = clock_type::now();
  co_await write_text(stream, "take " + std::to_string(large) + "\n");
  const bytes piece(std::size_t{1} << 20, std::byte{'x'});
  for (std::size_t sent = 0; sent < large; sent += piece.size()) co_await stream.write(piece);
  bytes answer(1);
  const std::size_t count = co_await stream.read_some(answer);
  if (count != 1) throw std::runtime_error("no answer");
  co_return clock_type::now() - begin;
}

awaitable<nanoseconds> one_byte(byte_stream& stream) {
  const clock_type::time_point begin = clock_type::now();
  co_await write_text(stream, "x");
  bytes answer(1);
  const std::size_t count = co_await stream.read_some(answer);
  if (count != 1) throw std::runtime_error("no answer");
  co_return clock_type::now() - begin;
}

/// Waits until the server answers, and returns a connection whose bytes come back.
awaitable<byte_stream> until_answered(connects connect) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  byte_stream stream;
  for (int attempt = 0;; ++attempt) {
    try {
      stream = co_await connect();
      co_await write_text(stream, "echo\n");
      co_await one_byte(stream);
      break;
    } catch (const std::exception&) {  // the server or the relay is not ready
      if (attempt == 199) throw;
    }
    timer.expires_after(std::chrono::milliseconds(50));
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_return stream;
}

awaitable<nanoseconds> connect_and_ask(connects connect) {
  const clock_type::time_point begin = clock_type::now();
  byte_stream stream = co_await connect();
  co_await write_text(stream, "echo\n");
  co_await one_byte(stream);
  co_return clock_type::now() - begin;
}

std::vector<row> two_rows() {
  std::vector<row> rows;
  rows.emplace_back("a relay of two hops by socat");
  rows.emplace_back("guest_network::connect, through the warden of a jail");
  return rows;
}

awaitable<void> compare(std::vector<connects> ways, int rounds) {
  std::vector<row> out = two_rows();
  std::vector<row> in = two_rows();
  std::vector<row> first = two_rows();
  std::vector<row> each = two_rows();
  std::vector<byte_stream> open;
  for (const connects& connect : ways) {
    byte_stream stream = co_await until_answered(connect);
    open.push_back(std::move(stream));
  }
  for (int i = -1; i < rounds; ++i) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const nanoseconds received = co_await receive_large(ways[way]);
      const nanoseconds sent = co_await send_large(ways[way]);
      if (i < 0) continue;
      out[way].add(received);
      in[way].add(sent);
    }
  }
  for (int i = -20; i < rounds * 100; ++i) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const nanoseconds asked = co_await one_byte(open[way]);
      if (i >= 0) each[way].add(asked);
    }
  }
  for (int i = -2; i < rounds * 10; ++i) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const nanoseconds asked = co_await connect_and_ask(ways[way]);
      if (i >= 0) first[way].add(asked);
    }
  }
  cofferdam_bench::print("128 MiB out of a server, interleaved", out);
  cofferdam_bench::print("128 MiB into a server, interleaved", in);
  cofferdam_bench::print("A byte there and back on an open connection, interleaved", each);
  cofferdam_bench::print("A new connection, and a byte there and back, interleaved", first);
}

std::string server_text() {
  std::ifstream file(COFFERDAM_PEERS "/network_peer.py");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

awaitable<void> measure(jail_environment& env, int rounds) {
  const std::string text = server_text();
  const bytes_view content = as_bytes(text);
  co_await env.write_file("server.py", content);
  const command serves = argv("python3", "server.py", "18080");
  process server = co_await env.start(serves);
  const guest_network network = env.network();
  const connects through_socat = [] { return connect_here(18082); };
  const connects through_warden = [network] { return network.connect(18080); };
  std::vector<connects> ways{through_socat, through_warden};
  co_await compare(std::move(ways), rounds);
  co_await server.signal(SIGKILL);
}

}  // namespace

int main(int count, char** arguments) {
  if (std::system("socat -V >/dev/null 2>&1") != 0) {
    std::printf("not run: socat is not installed\n");
    return 0;
  }
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 7;
  const std::string path =
      std::filesystem::temp_directory_path() / ("network_bench-" + std::to_string(::getpid()) + ".socket");
  const helper_program server({"python3", COFFERDAM_PEERS "/network_peer.py", "18081"});
  const helper_program second({"socat", "UNIX-LISTEN:" + path + ",fork", "TCP:127.0.0.1:18081,nodelay"});
  const helper_program first(
      {"socat", "TCP-LISTEN:18082,fork,nodelay,reuseaddr,bind=127.0.0.1", "UNIX-CONNECT:" + path});
  asio::io_context context;
  std::exception_ptr failure;
  const auto body = [rounds](jail_environment& env) { return measure(env, rounds); };
  asio::co_spawn(context, with(jail(), body), [&failure](std::exception_ptr reason) { failure = std::move(reason); });
  context.run();
  std::filesystem::remove(path);
  if (!failure) return 0;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& reason) {
    std::printf("failed: %s\n", reason.what());
  }
  return 1;
}
