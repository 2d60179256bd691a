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

/// A command that has ended, but left a process running (`background_policy::keep`).
class background_command {
 public:
  /// Describes a command. The other members describe the parameters.
  background_command(std::uint32_t number, std::string program) : number_(number), program_(std::move(program)) {}
  /// Returns the number of the command in its environment. This is not a process ID.
  std::uint32_t number() const noexcept { return number_; }
  /// Returns the program, or the shell line cut to one line.
  const std::string& program() const noexcept { return program_; }

 private:
  std::uint32_t number_;
  std::string program_;
};

/// One of the two output streams of a command.
enum class output_stream { out, err };

/// A piece of a command's output, as it arrived. A piece may end inside a character or a line. An empty piece means the
/// end of the output.
class output_chunk {
 public:
  /// Makes an empty piece, which means the end of the output.
  output_chunk() = default;
  /// Makes a piece of output of this stream.
  output_chunk(output_stream stream, bytes data) : stream_(stream), data_(std::move(data)) {}

  /// Returns the stream from which the piece came.
  output_stream stream() const noexcept { return stream_; }
  /// Returns the bytes of the piece.
  const bytes& data() const& noexcept { return data_; }
  bytes data() && { return std::move(data_); }
  /// Returns true if this piece means the end of the output.
  bool end() const noexcept { return data_.empty(); }
  /// Returns false if this piece means the end of the output: `while (output_chunk piece = co_await process.read())`.
  explicit operator bool() const noexcept { return !end(); }

 private:
  output_stream stream_ = output_stream::out;
  bytes data_;
};

/// A running command. All backends use this type, so that layers can return it and a program can change its backend.
///
/// Unread output is not lost. If the output pipe is full, the command waits until the program reads; `wait()` reads the
/// rest. `out()` and `err()` of the result cover all output, including the output that `read` returned, within the
/// limit of `command::keep_output`.
///
/// The destructor and the closing of the environment end the command. The destructor does not wait until the command
/// has ended. One `read`, one `write_input` and one `signal` may be under way at the same time.
/// \par Threads  any, if the backend allows this for its environments, as all backends of the library do. Even then, at
///               most one `read`, one `write_input` and one `wait` may be under way at a time. With other backends, use
///               the process only on the environment's executor.
class process {
 public:
  template <class = void>
  class basic_implementation;
  /// The interface that a backend implements to support `start`.
  using implementation = basic_implementation<>;

  /// The interface `implementation`. Each member does what the member of the same name in `process` does. The
  /// destructor ends the command.
  template <class Unused>
  class basic_implementation {
   public:
    basic_implementation() = default;
    basic_implementation(const basic_implementation&) = delete;
    basic_implementation& operator=(const basic_implementation&) = delete;
    virtual ~basic_implementation() = default;
    virtual awaitable<output_chunk> read() = 0;
    virtual awaitable<void> write_input(bytes_view data) = 0;
    virtual awaitable<void> close_input() = 0;
    virtual awaitable<void> signal(int number) = 0;
    virtual awaitable<void> resize(std::uint16_t, std::uint16_t);
    virtual awaitable<command_result> wait() = 0;
    /// Returns the result as `wait` does, but may move it out of the object. After this call only `signal` is called.
    virtual awaitable<command_result> take_result() { return wait(); }
    virtual std::shared_ptr<const isolation_report> isolation() const { return nullptr; }
  };

  /// Makes an object without a process. Every operation throws `error{exec_errc::invalid_argument}`.
  process() = default;
  /// Makes a process from the implementation of a backend. The pointer must not be null.
  explicit process(std::unique_ptr<implementation> running) : running_(std::move(running)) {}

  /// Makes a process that has already ended with this result and has no output to read. A layer returns such a process
  /// for a command that it refuses.
  template <class = void>
  static process finished(command_result result);

  /// Returns the next piece of output of either stream, at most 64 KiB; an empty piece at the end of the output.
  /// \par Cancellation  terminal: ends this call, not the command, and loses no byte; throws
  ///                    `error{exec_errc::cancelled}`.
  awaitable<output_chunk> read() { return get().read(); }

  /// Writes all of `data` to the command's standard input. The command must have been started with
  /// `command::open_input()`.
  /// \param data  the bytes; the caller keeps them alive until the awaitable completes.
  /// \throws error{exec_errc::io_error} if the command has ended or closed its standard input. Where the command is not
  ///     on this machine, bytes that are sent before its end is known here are accepted and discarded.
  /// \throws error{exec_errc::unsupported} if the command was started without `open_input()`.
  /// \par Cancellation  terminal: throws `error{exec_errc::cancelled}`; a part of `data` may have been written.
  awaitable<void> write_input(bytes_view data) { return get().write_input(data); }
  /// Writes temporary bytes, such as `as_bytes` of a temporary text. The awaitable owns the bytes.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_input(Bytes&& data) {
    return write_owned(get(), std::move(data));
  }

  /// Closes the command's standard input, so that the command reads its end. A second call does nothing.
  awaitable<void> close_input() { return get().close_input(); }

  /// Sends a signal to the command and its process group. Does nothing if the command has ended.
  /// \param number  the number of the signal, as in `<csignal>`.
  awaitable<void> signal(int number) { return get().signal(number); }

  /// Changes the size of the command's terminal, and sends SIGWINCH to the command. Does nothing if the command has
  /// ended.
  /// \param rows, columns  the new size in characters, each 1 to 65535.
  /// \throws error{exec_errc::unsupported} if the command has no terminal.
  /// \throws error{exec_errc::invalid_argument} if a number is zero.
  template <class = void>
  awaitable<void> resize(std::uint16_t rows, std::uint16_t columns);

  /// Waits for the end of the command and reads the rest of its output. Returns the result. A second call returns the
  /// same result.
  /// \par Cancellation  terminal: ends the command and all processes that it started, then throws
  ///                    `error{exec_errc::cancelled}`.
  awaitable<command_result> wait() & { return get().wait(); }
  /// Waits for the end of the command and moves the result out, which avoids a copy of the output: `co_await
  /// std::move(running).wait()`. Do not use the process afterwards.
  awaitable<command_result> wait() && { return get().take_result(); }

  /// Returns the isolation report that the `command_result` will contain; null if the backend cannot provide it while
  /// the command runs.
  std::shared_ptr<const isolation_report> isolation() const { return get().isolation(); }

 private:
  implementation& get() const {
    if (!running_)
      throw error(exec_errc::invalid_argument,
                  "process: empty (default-constructed or moved from); call start() on an environment first");
    return *running_;
  }

  template <class = void>
  static awaitable<void> write_owned(implementation& running, bytes data);

  std::unique_ptr<implementation> running_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/core/impl/process.ipp>
#endif
