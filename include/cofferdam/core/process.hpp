// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// A command that has ended while a process that it started still runs (`background_policy::keep`).
class background_command {
 public:
  background_command(std::uint32_t number, std::string program) : number_(number), program_(std::move(program)) {}
  /// Returns the number of the command in its environment. This is not a process number.
  std::uint32_t number() const noexcept { return number_; }
  /// Returns the program or the shell line, cut to one line.
  const std::string& program() const noexcept { return program_; }

 private:
  std::uint32_t number_;
  std::string program_;
};

/// One of the two output streams of a command.
enum class output_stream { out, err };

/// A piece of a command's output, as it arrived: it may end inside a character or a line.
class output_chunk {
 public:
  /// The end of the output.
  output_chunk() = default;
  output_chunk(output_stream stream, bytes data) : stream_(stream), data_(std::move(data)) {}

  output_stream stream() const noexcept { return stream_; }
  const bytes& data() const& noexcept { return data_; }
  bytes data() && { return std::move(data_); }
  /// Returns true at the end of the output.
  bool end() const noexcept { return data_.empty(); }
  /// Returns false at the end of the output: `while (chunk piece = co_await process.read())`.
  explicit operator bool() const noexcept { return !end(); }

 private:
  output_stream stream_ = output_stream::out;
  bytes data_;
};

/// A running command. One type for all backends, so that layers can return one and backends can be swapped.
///
/// Unread output is not lost. If its pipe is full, the command waits (back-pressure), and `wait()` reads the rest.
/// `out()` and `err()` of the result hold all output, read or not. The destructor ends the command, without waiting for
/// its end; so does closing the environment. `read`, `write_input` and `signal` may be under way at the same time, each
/// once.
/// \par Threads  any, if the backend documents this for its environments, as all backends of the library do; one
///               `read`, `write_input` and `wait` at a time. Otherwise only the environment's executor.
class process {
 public:
  /// The interface that a backend implements to offer `start`. Each member means the same as in `process`. The
  /// destructor ends the command.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    virtual awaitable<output_chunk> read() = 0;
    virtual awaitable<void> write_input(bytes_view data) = 0;
    virtual awaitable<void> close_input() = 0;
    virtual awaitable<void> signal(int number) = 0;
    virtual awaitable<void> resize(std::uint16_t, std::uint16_t);
    virtual awaitable<command_result> wait() = 0;
    /// Returns the result, and may move it. Only `signal` is called after this.
    virtual awaitable<command_result> take_result() { return wait(); }
    virtual std::shared_ptr<const isolation_report> isolation() const { return nullptr; }
  };

  /// Holds no process: every operation throws `error{exec_errc::invalid_argument}`.
  process() = default;
  explicit process(std::unique_ptr<implementation> running) : running_(std::move(running)) {}

  /// Makes a process that has ended with this result and has no output to read. A layer returns it for a refused
  /// command.
  static process finished(command_result result);

  /// Returns the next piece of output of either stream, at most 64 KiB; an empty chunk at the end.
  /// \par Cancellation  terminal: ends the wait only, loses no byte; throws `error{exec_errc::cancelled}`.
  awaitable<output_chunk> read() { return get().read(); }

  /// Writes all of `data` to the command's standard input; needs `command::open_input()`.
  /// \param data  kept by the caller until the awaitable completes.
  /// \throws error{exec_errc::io_error} if the command has closed its input or ended; error{exec_errc::unsupported} if
  ///     its input was not left open.
  /// \par Cancellation  terminal: some of `data` may have been written; throws `error{exec_errc::cancelled}`.
  awaitable<void> write_input(bytes_view data) { return get().write_input(data); }
  /// Takes temporary bytes, such as `as_bytes` of a temporary text. The awaitable owns them.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_input(Bytes&& data) {
    return write_owned(get(), std::move(data));
  }

  /// Ends the command's standard input. Does nothing the second time.
  awaitable<void> close_input() { return get().close_input(); }

  /// Sends a signal to the command and its process group. Does nothing once the command has ended.
  /// \param number  as in `<csignal>`.
  awaitable<void> signal(int number) { return get().signal(number); }

  /// Changes the size of the command's terminal; the command gets SIGWINCH. Does nothing if the command has ended.
  /// \throws error{exec_errc::unsupported} if the command has no terminal; error{exec_errc::invalid_argument} if the
  ///     size is zero.
  awaitable<void> resize(std::uint16_t rows, std::uint16_t columns);

  /// Waits for the end and reads the rest of the output. A second call returns the same result.
  /// \par Cancellation  terminal: ends the command and all it started, then throws `error{exec_errc::cancelled}`.
  awaitable<command_result> wait() & { return get().wait(); }
  /// Waits as above, as the last operation, and moves the output out: `co_await std::move(running).wait()`.
  awaitable<command_result> wait() && { return get().take_result(); }

  /// Returns the isolation of the command, as `command_result` will have it; null if it is unknown while the command
  /// runs.
  std::shared_ptr<const isolation_report> isolation() const { return get().isolation(); }

 private:
  implementation& get() const {
    if (!running_)
      throw error(exec_errc::invalid_argument, "process: there is none (default-constructed or moved from)");
    return *running_;
  }

  static awaitable<void> write_owned(implementation& running, bytes data) { co_await running.write_input(data); }

  std::unique_ptr<implementation> running_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/core/impl/process.ipp>
#endif
