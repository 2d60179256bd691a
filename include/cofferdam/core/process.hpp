// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/protections.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace cofferdam::inline v0 {

/// Which of a command's two outputs.
enum class output_stream { out, err };

/// A piece of a command's output, as it came: not cut at characters or lines.
class chunk {
 public:
  /// The end of the output.
  chunk() = default;
  chunk(output_stream stream, bytes data) : stream_(stream), data_(std::move(data)) {}

  output_stream stream() const noexcept { return stream_; }
  const bytes& data() const noexcept { return data_; }
  /// Nothing more will come.
  bool end() const noexcept { return data_.empty(); }

 private:
  output_stream stream_ = output_stream::out;
  bytes data_;
};

/// A command that runs. One type for all backends, so that layers can return one and backends can be swapped.
///
/// What is not read is not lost: while nobody reads, the command waits once its pipe is full (back-pressure), and
/// `wait()` takes what is left. The result's `out()` and `err()` hold what went by, read or not.
/// Destroying it ends the command, without waiting for that; so does closing the environment.
/// `read`, `write_input` and `signal` may be under way at the same time, each once.
/// \par Threads  the environment's executor only.
class process {
 public:
  /// What a backend writes to offer `start`. The members mean what `process`'s own mean; the destructor ends the command.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    virtual awaitable<chunk> read() = 0;
    virtual awaitable<void> write_input(bytes_view data) = 0;
    virtual awaitable<void> close_input() = 0;
    virtual awaitable<void> signal(int number) = 0;
    virtual awaitable<void> resize(std::uint16_t, std::uint16_t) {
      throw error(errc::unsupported, "resize: the command has no terminal; say terminal() on the command");
      co_return;
    }
    virtual awaitable<command_result> wait() = 0;
    virtual std::shared_ptr<const protections> walls() const { return nullptr; }
  };

  /// No process; everything but assignment throws `error{errc::invalid_argument}`.
  process() = default;
  explicit process(std::unique_ptr<implementation> running) : running_(std::move(running)) {}

  /// A process that is over already, with this result and no output to read: what a layer returns when it refuses.
  static process finished(command_result result);

  /// The next piece of output of either stream, at most 64 KiB; an empty chunk at the end.
  /// \par Cancellation  terminal: ends the wait only, loses no byte; throws `error{errc::cancelled}`.
  awaitable<chunk> read() { return get().read(); }

  /// Writes all of `data` to the command's standard input; needs `command::open_input()`.
  /// \param data  kept by the caller until the awaitable completes.
  /// \throws error{errc::io_error} where the command has closed its input or ended; error{errc::unsupported} where its
  ///         input was not left open.
  /// \par Cancellation  terminal: some of `data` may have been written; throws `error{errc::cancelled}`.
  awaitable<void> write_input(bytes_view data) { return get().write_input(data); }

  /// Ends the command's standard input. Does nothing the second time.
  awaitable<void> close_input() { return get().close_input(); }

  /// Sends a signal to the command and its process group. Does nothing once the command has ended.
  /// \param number  as in `<csignal>`.
  awaitable<void> signal(int number) { return get().signal(number); }

  /// Gives the command's terminal another size; it hears of that by SIGWINCH. Does nothing once the command has ended.
  /// \throws error{errc::unsupported} where the command has no terminal; error{errc::invalid_argument} for a size of zero.
  awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) {
    if (rows == 0 || columns == 0)
      throw error(errc::invalid_argument, "resize: a terminal has at least one row and one column");
    return get().resize(rows, columns);
  }

  /// Waits for the end and takes what output is left; a second call yields the same result.
  /// \par Cancellation  terminal: ends the command and all it started, then throws `error{errc::cancelled}`.
  awaitable<command_result> wait() { return get().wait(); }

  /// The walls that stand around it, as `command_result::walls()` will say; null where nothing is said while it runs.
  std::shared_ptr<const protections> walls() const { return get().walls(); }

 private:
  implementation& get() const {
    if (!running_) throw error(errc::invalid_argument, "process: there is none (default-constructed or moved from)");
    return *running_;
  }

  std::unique_ptr<implementation> running_;
};

namespace detail {

class finished_process final : public process::implementation {
 public:
  explicit finished_process(command_result result) : result_(std::move(result)) {}
  awaitable<chunk> read() override { co_return chunk(); }
  awaitable<void> write_input(bytes_view) override {
    throw error(errc::io_error, "write_input: the command has ended", std::make_error_code(std::errc::broken_pipe));
    co_return;
  }
  awaitable<void> close_input() override { co_return; }
  awaitable<void> signal(int) override { co_return; }
  awaitable<void> resize(std::uint16_t, std::uint16_t) override { co_return; }
  awaitable<command_result> wait() override { co_return result_; }

 private:
  command_result result_;
};

}  // namespace detail

inline process process::finished(command_result result) {
  return process(std::make_unique<detail::finished_process>(std::move(result)));
}

}  // namespace cofferdam::inline v0
