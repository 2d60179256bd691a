// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/tracked_script.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/connect_client.hpp>
#include <cofferdam/detail/net/connect_error.hpp>
#include <cofferdam/detail/os/random_text.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// Runs the small programs of this library, such as those of file operations, as processes of envd, the daemon in a
/// sandbox. They need neither a session nor the script around a command: they end with their children, so the daemon
/// reports their end in time, and a variable identifies them if they must be ended early.
class envd_script {
 public:
  /// Returns true if a program can be started in this way: if it has no input, and the daemon can get its words and
  /// variables unchanged, in JSON and within the limits of Linux.
  static bool can_run(const command& c, const std::vector<std::string>& variables) {
    if (c.is_shell() || c.input() || c.terminal() || c.words().empty()) return false;
    std::size_t size = 0;
    const auto is_plain = [&size](const std::string& text) {
      size += text.size() + 1;
      return cofferdam::detail::is_valid_utf8(text);
    };
    return std::all_of(c.words().begin(), c.words().end(), is_plain) &&
           std::all_of(variables.begin(), variables.end(), is_plain) && size < max_size;
  }

  /// Runs a program to its end. If the caller is cancelled or the connection breaks, its processes are ended.
  /// \param words      the program and its arguments.
  /// \param variables  the environment variables, as `NAME=value`.
  /// \param directory  the working directory, as the daemon expects it: absolute, or relative to the user's home.
  /// \param max_bytes  the number of bytes that the result keeps of each output, from its beginning.
  static awaitable<command_result> run(std::shared_ptr<envd> daemon, std::vector<std::string> words,
                                       std::vector<std::string> variables, std::string directory,
                                       std::size_t max_bytes) {
    const std::string tag = "COFFERDAM_COMMAND=" + cofferdam::detail::random_digits();
    variables.push_back(tag);
    const std::string program = words.front();
    words.erase(words.begin());
    boost::json::object message = envd::start_message(program, words, directory, false);
    message["process"].as_object()["envs"] = envd::variables(variables);
    command_result result;
    bool runs = false;
    const auto reads = [&]() -> awaitable<void> {
      result = co_await read(daemon, std::move(message), doing, max_bytes, &runs);
    };
    const auto ends = [&]() -> awaitable<void> {
      if (!runs) return {};
      return end(daemon, tag);
    };
    co_await cofferdam::detail::with_cleanup_after_failure(reads, ends);
    co_return result;
  }

  /// Starts a process, and reads its output to the end, within the time limit of one call. The daemon enforces this
  /// limit, too, in case this program dies.
  /// \param message  the message of the `Start` call.
  /// \param purpose  the purpose of the process, for error messages. The text must outlive the call.
  /// \param runs     set to true while the process may run. May be null. The caller keeps it until the awaitable
  ///                 completes.
  /// \throws the error of `envd::in_time`; error{exec_errc::too_large} if the process prints far more than `max_bytes`.
  static awaitable<command_result> read(std::shared_ptr<envd> daemon, boost::json::object message, const char* purpose,
                                        std::size_t max_bytes, bool* runs) {
    command_result result;
    const auto reads = [&]() -> awaitable<void> {
      result = co_await read_unlimited(daemon, std::move(message), purpose, max_bytes, runs);
    };
    co_await envd::in_time(daemon, std::ref(reads), purpose);
    co_return result;
  }

 private:
  static awaitable<command_result> read_unlimited(std::shared_ptr<envd> daemon, boost::json::object message,
                                                  const char* purpose, std::size_t max_bytes, bool* runs) {
    bool unused = false;
    bool& may_run = runs != nullptr ? *runs : unused;
    may_run = true;
    cofferdam::detail::connect_stream stream;
    try {
      stream = co_await envd::stream(daemon, "/process.Process/Start", std::move(message), purpose, std::string(),
                                     daemon->request_timeout());
    } catch (const error& reason) {
      may_run = leaves_in_doubt(reason);
      throw;
    }
    kept_output out;
    kept_output err;
    std::optional<process_end> ended;
    bool started = false;
    for (;;) {
      std::optional<std::string_view> piece;
      try {
        piece = co_await envd::next_message(daemon, stream, purpose);
      } catch (const error&) {
        const bool is_refusal =
            stream.failure() && stream.failure()->code() != cofferdam::detail::connect_code::unavailable;
        if (is_refusal && !started) may_run = false;
        throw;
      }
      if (!piece) break;
      process_event event = process_event::parse(*piece);
      if (event.what == process_event::kind::start) started = true;
      if (event.what == process_event::kind::out) out.add(event.data, max_bytes);
      if (event.what == process_event::kind::err) err.add(event.data, max_bytes);
      const std::uint64_t total = out.total() + err.total();
      if (total > max_dropped && total - max_dropped > max_bytes)
        throw error(exec_errc::too_large, std::string("e2b: cannot ") + purpose +
                                              ": its process has printed too much, " + std::to_string(total) +
                                              " bytes");
      if (event.what == process_event::kind::end) {
        ended = event.end;
        may_run = false;
      }
    }
    if (!ended)
      throw error(exec_errc::provider_lost,
                  std::string("e2b: cannot ") + purpose + ": the stream of its process ended before the process did");
    command_result result;
    if (ended->signal != 0)
      result.term_signal(ended->signal);
    else
      result.exit_code(ended->exit_code);
    result.out(out.take()).err(err.take());
    co_return result;
  }

  /// The beginning of an output.
  class kept_output {
   public:
    void add(const bytes& piece, std::size_t max_bytes) {
      const std::size_t room = max_bytes - std::min(max_bytes, head_.size());
      head_.insert(head_.end(), piece.begin(),
                   piece.begin() + static_cast<std::ptrdiff_t>(std::min(room, piece.size())));
      total_ += piece.size();
    }
    std::uint64_t total() const noexcept { return total_; }
    captured_output take() { return {std::move(head_), bytes(), total_}; }

   private:
    bytes head_;
    std::uint64_t total_ = 0;
  };

  /// Kills all processes with a variable. A failure is ignored: the caller gets the error that has led to this call.
  static awaitable<void> end(std::shared_ptr<envd> daemon, std::string tag) {
    std::vector<std::string> words{"-c", std::string(cofferdam::detail::signal_script), "sh", "9", "none", "a"};
    words.push_back(std::move(tag));
    try {
      co_await envd::run_script(daemon, std::move(words), std::string(), true, doing);
    } catch (const error&) {
    }
  }

  static constexpr const char* doing = "run a program of this library";
  /// The maximum size of all words and variables, in bytes; far below the limits of Linux.
  static constexpr std::size_t max_size = std::size_t{64} * 1024;
  /// The maximum size of the output that is read and not kept, in bytes.
  static constexpr std::size_t max_dropped = std::size_t{16} * 1024 * 1024;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
