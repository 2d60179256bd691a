// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/net/connect_client.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The standard input and output of a process of envd, the daemon in a sandbox, combined into one stream. The error
/// output is stored for error messages. Models `coroutine_stream`.
///
/// The daemon keeps the process and its input when the connection is lost. So `close` also ends the input, and the
/// process must end by itself if even that does not arrive.
/// \par Threads  the daemon's executor.
class envd_wire {
 public:
  /// Starts a process, and reads its output from now on.
  /// \param words  the program and its arguments.
  /// \param user   the user of the process; empty for the daemon's usual user.
  /// \throws error{exec_errc::permission_denied} and other errors of `envd::refusal` if the daemon refuses the call.
  static awaitable<envd_wire> start(std::shared_ptr<envd> daemon, std::vector<std::string> words, std::string user) {
    const std::string program = words.front();
    words.erase(words.begin());
    boost::json::object message = envd::start_message(program, words, ".", true);
    auto opened = std::make_shared<state>(daemon);
    opened->stream = co_await envd::stream(std::move(daemon), "/process.Process/Start", std::move(message), doing,
                                           std::move(user), std::nullopt);
    envd_wire result(std::move(opened));
    state::begin(result.state_);
    while (result.state_->pid == 0 && !result.state_->failure) {
      const auto woken = co_await result.state_->changed.wait();
      if (woken == cofferdam::detail::wait_result::cancelled)
        throw error(exec_errc::cancelled, "e2b: cancelled while a program of this library was starting");
    }
    if (result.state_->pid == 0) throw *result.state_->failure;
    co_return result;
  }

  envd_wire(envd_wire&&) noexcept = default;
  envd_wire& operator=(envd_wire&&) noexcept = default;
  ~envd_wire() {
    if (state_) close();
  }

  /// Returns the process id at the daemon.
  std::int64_t pid() const noexcept { return state_->pid; }

  /// Reads some bytes of the output.
  /// \throws error{exec_errc::provider_lost} if the connection or the sandbox is lost, and at the end of the output.
  awaitable<std::size_t> read_some(std::span<std::byte> into) { return state::read(state_, into); }

  /// Puts bytes back that were read, so that the next read returns them first.
  void put_back(std::string_view text) {
    bytes all(as_bytes(text).begin(), as_bytes(text).end());
    all.insert(all.end(), state_->left.begin() + static_cast<std::ptrdiff_t>(state_->taken), state_->left.end());
    state_->left = std::move(all);
    state_->taken = 0;
  }

  /// Writes to the input of the process. One write may be under way at a time.
  awaitable<void> write(bytes_view data) { return state::write(state_, data); }

  /// Ends the connection without waiting. The daemon then ends the input of the process.
  void close() noexcept { state::close(state_); }

 private:
  static constexpr const char* doing = "start a program of this library";

  class state {
   public:
    explicit state(std::shared_ptr<envd> at) : daemon(std::move(at)), changed(daemon->executor()) {}

    static void begin(const std::shared_ptr<state>& self) {
      self->reads = true;
      auto ended = [self](std::exception_ptr thrown) {
        self->reads = false;
        self->stream = cofferdam::detail::connect_stream();
        try {
          if (thrown) std::rethrow_exception(thrown);
        } catch (const error& reason) {
          if (!self->failure) self->failure = reason;
        } catch (const std::exception& reason) {
          if (!self->failure) self->failure.emplace(exec_errc::provider_lost, std::string("e2b: ") + reason.what());
        }
        if (!self->failure) self->failure.emplace(exec_errc::provider_lost, self->ended_text());
        self->changed.notify();
      };
      cofferdam::detail::spawn_coroutine(self->daemon->executor(), take_events(self), std::move(ended),
                                         self->stop.slot());
    }

    /// Reads the messages of the stream. Waits while more than `max_left` bytes were not read by `read`.
    static awaitable<void> take_events(std::shared_ptr<state> self) {
      while (!self->closed) {
        if (self->left.size() - self->taken > max_left) {
          const auto woken = co_await self->changed.wait();
          if (woken == cofferdam::detail::wait_result::cancelled) co_return;
          continue;
        }
        const std::optional<std::string_view> message =
            co_await envd::next_message(self->daemon, self->stream, "read the output of a program of this library");
        if (!message) co_return;
        process_event event = process_event::parse(*message);
        if (event.what == process_event::kind::start) {
          self->pid = event.pid;
        } else if (event.what == process_event::kind::out) {
          self->arrived(std::move(event.data));
        } else if (event.what == process_event::kind::err) {
          self->said.append(as_text(event.data).substr(0, max_said - std::min(max_said, self->said.size())));
        }
        self->changed.notify();
      }
    }

    void arrived(bytes piece) {
      if (left.empty()) {
        left = std::move(piece);
        return;
      }
      if (taken >= max_left) {
        left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(taken));
        taken = 0;
      }
      left.insert(left.end(), piece.begin(), piece.end());
    }

    static awaitable<std::size_t> read(std::shared_ptr<state> self, std::span<std::byte> into) {
      while (self->taken == self->left.size()) {
        if (self->failure) throw *self->failure;
        const auto woken = co_await self->changed.wait();
        if (woken == cofferdam::detail::wait_result::cancelled) throw error(exec_errc::cancelled, "e2b: cancelled");
      }
      const std::size_t count = std::min(into.size(), self->left.size() - self->taken);
      std::copy_n(self->left.begin() + static_cast<std::ptrdiff_t>(self->taken), count, into.begin());
      self->taken += count;
      if (self->taken == self->left.size()) {
        self->left.clear();
        self->taken = 0;
      }
      self->changed.notify();
      co_return count;
    }

    static awaitable<void> write(std::shared_ptr<state> self, bytes_view data) {
      while (!data.empty()) {
        if (self->failure) throw *self->failure;
        const bytes_view piece = data.first(std::min(data.size(), max_piece));
        boost::json::object message = envd::input_message(self->pid, "stdin", piece);
        constexpr const char* purpose = "write to a program of this library";
        cofferdam::detail::connect_answer answer = co_await envd::call(
            self->daemon, "/process.Process/SendInput", std::move(message), purpose, std::nullopt, false);
        self->daemon->require_ok(answer, purpose);
        data = data.subspan(piece.size());
      }
    }

    static void close(const std::shared_ptr<state>& self) noexcept {
      if (std::exchange(self->closed, true)) return;
      try {
        if (!self->failure)
          self->failure.emplace(exec_errc::environment_closed, "e2b: the environment is closed; open another one");
        self->changed.notify();
        if (self->reads)
          cofferdam::detail::post_callback(self->daemon->executor(), [self] {
            if (self->reads) self->stop.emit(asio::cancellation_type::terminal);
          });
        if (self->pid == 0 || self->daemon->lost()) return;
        auto ended = [self](std::exception_ptr, cofferdam::detail::connect_answer) {
        };  // a failure is ignored: the process ends by itself
        asio::co_spawn(self->daemon->executor(),
                       envd::call(self->daemon, "/process.Process/CloseStdin", self->selected(),
                                  "end the input of a program of this library", self->daemon->request_timeout(), true),
                       std::move(ended));
      } catch (const std::exception&) {  // no memory: the process ends by itself
      }
    }

    boost::json::object selected() const { return envd::process_message(pid); }

    std::string ended_text() const {
      std::string text = "e2b: a program of this library has ended in the sandbox " + daemon->id();
      if (!said.empty()) text += "; its error output: \"" + one_line(daemon->redact().clean(said), 400) + "\"";
      return text;
    }

    static constexpr std::size_t max_said = 4096;
    static constexpr std::size_t max_left = std::size_t{256} * 1024;
    /// More than a frame of the warden, because each piece is a call of its own.
    static constexpr std::size_t max_piece = std::size_t{1024} * 1024;

    std::shared_ptr<envd> daemon;
    cofferdam::detail::connect_stream stream;
    cofferdam::detail::async_event changed;  // notified when a member below changes
    asio::cancellation_signal stop;
    std::int64_t pid = 0;  // the process id at the daemon
    bytes left;            // output; the first `taken` bytes were read
    std::size_t taken = 0;
    std::string said;              // the beginning of the error output
    std::optional<error> failure;  // why the stream has ended
    bool reads = false;            // true while `take_events` runs
    bool closed = false;
  };

  explicit envd_wire(std::shared_ptr<state> opened) noexcept : state_(std::move(opened)) {}

  std::shared_ptr<state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
