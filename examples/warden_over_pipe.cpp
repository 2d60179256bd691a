// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Runs commands through a warden on another machine. The warden is the library's small helper program, which starts
// commands where it runs. It needs only a stream of bytes to this program. Here the stream is the standard input and
// output of a shell command; `ssh host /tmp/warden` would work in the same way. The output of the commands arrives over
// the stream. When this program ends, the warden ends all commands.

#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;

/// A stream that reads from one pipe and writes to another one: the standard output and input of a command.
class pipe_stream {
 public:
  using executor_type = asio::any_io_executor;

  pipe_stream(const executor_type& executor, unique_fd from, unique_fd to)
      : from_(executor, from.release()), to_(executor, to.release()) {}
  executor_type get_executor() { return from_.get_executor(); }
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return from_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return to_.async_write_some(buffers, std::forward<Token>(token));
  }
  void close() {
    from_.close();
    to_.close();
  }

 private:
  asio::posix::stream_descriptor from_;
  asio::posix::stream_descriptor to_;
};

/// The two descriptors of a pipe.
struct pipe_ends {
  unique_fd read_end;
  unique_fd write_end;
};

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category(), "pipe2");
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

/// Starts a shell line, and returns the stream to its standard input and output.
pipe_stream connect(const asio::any_io_executor& executor, const std::string& line) {
  pipe_ends down = make_pipe();
  pipe_ends up = make_pipe();
  spawn_request request = request_for(shell(line), "/bin/sh", {"PATH=" + std::string(default_path)});
  request.input = down.read_end.get();
  request.output = up.write_end.get();
  const unique_fd errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  request.error = errors.get();
  spawned started = spawn(request);
  if (!started.ok()) throw error(exec_errc::provider_failed, "sh: " + started.cause().message(), started.cause());
  return {executor, std::move(up.read_end), std::move(down.write_end)};
}

awaitable<void> work(std::filesystem::path warden) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  pipe_stream stream = connect(executor, "exec " + warden.string());
  warden_session session = co_await warden_session::open(std::move(stream));

  const std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
  const command count = shell("seq 1 100000 | tail -n 1; (setsid sleep 1000 &)");
  command_result counted = co_await session.run(count, request_for(count, "/bin/sh", variables));
  std::cout << "counted to " << counted.out().text();

  const command upper = argv("tr", "a-z", "A-Z").input("one stream, many commands\n");
  command_result shouted = co_await session.run(upper, request_for(upper, "/bin/sh", variables));
  std::cout << shouted.out().text();

  const command slow = shell("echo begun; sleep 1000").timeout(std::chrono::milliseconds(300));
  command_result ended = co_await session.run(slow, request_for(slow, "/bin/sh", variables));
  std::cout << ended.out().text() << to_string(ended.kind()) << "\n";
  co_await session.close();
}

}  // namespace

int main() {
  // Writes the warden program to a file. For another machine, the file would be copied there once.
  const warden_image image = native_warden_image();
  std::string folder = (std::filesystem::temp_directory_path() / "cofferdam-example-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return EXIT_FAILURE;
  const std::filesystem::path warden = std::filesystem::path(folder) / "warden";
  std::ofstream(warden, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.program().data()),
             static_cast<std::streamsize>(image.program().size()));
  std::filesystem::permissions(warden, std::filesystem::perms::owner_all);

  asio::io_context loop;
  int status = EXIT_FAILURE;
  asio::co_spawn(loop, work(warden), [&status](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
      status = EXIT_SUCCESS;
    } catch (const std::exception& reason) {
      std::cerr << "warden_over_pipe: " << reason.what() << "\n";
    }
  });
  loop.run();
  while (::waitpid(-1, nullptr, 0) > 0) continue;
  std::filesystem::remove_all(folder);
  return status;
}
