// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/attached_stream.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/exec_script.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/short_pause.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A container in which each command is a Docker exec (a process that the daemon starts in the running container, as
/// `docker exec` does). This object creates and starts execs, and can end all of them. It is shared by the coroutines
/// of the commands.
///
/// In a container that this library has made, the first program runs `lease_script`. The connection to its standard
/// input and output is called the lease: it keeps the container running, and is used to end all commands.
class exec_place : public std::enable_shared_from_this<exec_place> {
 public:
  /// Makes the object for a running container.
  /// \param user  the user of execs. Empty means the container's own user.
  exec_place(std::shared_ptr<engine> api, std::string id, std::string name, std::string user)
      : api_(std::move(api)),
        id_(std::move(id)),
        name_(std::move(name)),
        user_(std::move(user)),
        heartbeat_(api_->executor()),
        changed_(api_->executor()) {}
  exec_place(const exec_place&) = delete;
  exec_place& operator=(const exec_place&) = delete;

  const std::shared_ptr<engine>& api() const noexcept { return api_; }
  const std::string& name() const noexcept { return name_; }
  /// Sets a function that is called once, with the reason, when the container is lost.
  void on_lost(std::function<void(const error&)> tell) { tell_ = std::move(tell); }
  const std::optional<error>& lost() const noexcept { return lost_; }
  /// Returns how often all commands were ended by `end_everything`.
  int ends() const noexcept { return ends_; }
  /// Returns true if the container's first program runs `lease_script`, so that it can end all commands.
  bool has_lease() const noexcept { return static_cast<bool>(lease_); }

  /// Takes over the connection to the first program, the lease, which keeps the container running until `close`.
  void hold(byte_stream raw) {
    lease_.emplace(std::move(raw), api_->container(name_));
    const auto self = shared_from_this();
    auto ended = [self](std::exception_ptr failure) { self->lease_over(failure); };
    cofferdam::detail::spawn_coroutine(api_->executor(), listen(self), std::move(ended));
    beat();
  }

  void close() noexcept {
    closed_ = true;
    changed_.notify();
    heartbeat_.cancel();
    if (lease_) lease_->close();
    tell_ = nullptr;
  }

  void lose(const error& reason) {
    if (lost_ || closed_) return;
    lost_ = reason;
    changed_.notify();
    heartbeat_.cancel();
    if (lease_) lease_->close();
    if (const auto tell = std::exchange(tell_, nullptr)) tell(reason);
  }

  /// Sends an empty line to the container's first program. This resets the count of failed reads at which the program
  /// would end; see `lease_script`.
  void nudge() {
    if (!lease_ || closed_ || lost_ || std::exchange(writing_, true)) return;
    const auto self = shared_from_this();
    auto written = [self](std::exception_ptr) {
      self->writing_ = false;
    };  // a failure also ends `listen`, which reports it
    cofferdam::detail::spawn_coroutine(api_->executor(), self->lease_->write(as_bytes(std::string_view("\n"))),
                                       std::move(written));
  }

  /// Creates an exec, without starting it.
  /// \return  the id of the exec.
  static awaitable<std::string> create(std::shared_ptr<exec_place> self, std::vector<std::string> words,
                                       std::vector<std::string> variables, bool has_input, bool has_terminal) {
    boost::json::object body;
    body["Cmd"] = texts(words);
    body["Env"] = texts(variables);
    body["AttachStdin"] = has_input;
    body["AttachStdout"] = true;
    body["AttachStderr"] = true;
    body["Tty"] = has_terminal;
    body["WorkingDir"] = "/";
    if (!self->user_.empty()) body["User"] = json_text(self->user_);
    http_request what = self->api_->request("POST", "/containers/" + self->id_ + "/exec");
    what.content("application/json", boost::json::serialize(body));
    const api_call doing = self->api_->call("run a command in the container", self->name_);
    http_response answer = co_await self->api_->ask(std::move(what), doing);
    const boost::json::object created = engine::object_of(answer, doing);
    std::string id(text_at(created, "Id"));
    if (id.empty()) throw error(exec_errc::provider_failed, doing.failed() + ": the daemon's answer has no Id");
    co_return id;
  }

  /// Starts an exec and returns its streams. A successful response does not prove that the program runs.
  static awaitable<byte_stream> start(std::shared_ptr<exec_place> self, std::string exec, bool has_terminal) {
    boost::json::object body;
    body["Detach"] = false;
    body["Tty"] = has_terminal;
    http_request what = self->api_->request("POST", "/exec/" + cofferdam::detail::percent_encoded(exec) + "/start");
    what.content("application/json", boost::json::serialize(body));
    byte_stream stream =
        co_await self->api_->upgrade(std::move(what), self->api_->call("run a command in the container", self->name_));
    co_return stream;
  }

  /// Returns the daemon's description of an exec whose stream has ended, with the exit code. Returns no value if the
  /// daemon does not have the exec any more.
  static awaitable<std::optional<boost::json::object>> inspect(std::shared_ptr<exec_place> self, std::string exec) {
    static const std::vector<int> absent{404};
    const api_call doing = self->api_->call("inspect a command in the container", self->name_);
    std::optional<boost::json::object> found;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (;;) {
      http_request what = self->api_->request("GET", "/exec/" + cofferdam::detail::percent_encoded(exec) + "/json");
      http_response answer = co_await self->api_->ask(std::move(what), doing, absent);
      if (answer.status() == 404) co_return found;
      found = engine::object_of(answer, doing);
      if (!is_true_at(*found, "Running") || std::chrono::steady_clock::now() > end) co_return found;
      co_await cofferdam::detail::short_pause(self->api_->executor());
    }
  }

  static awaitable<void> resize(std::shared_ptr<exec_place> self, std::string exec, unsigned rows, unsigned columns) {
    static const std::vector<int> fine{404, 409, 500};  // the exec has already ended
    http_request what = self->api_->request("POST", "/exec/" + cofferdam::detail::percent_encoded(exec) + "/resize?h=" +
                                                        std::to_string(rows) + "&w=" + std::to_string(columns));
    co_await self->api_->ask(std::move(what), self->api_->call("resize a terminal", self->name_), fine);
  }

  /// Returns true if the container runs.
  static awaitable<bool> is_running(std::shared_ptr<exec_place> self) {
    static const std::vector<int> absent{404};
    http_request what = self->api_->request("GET", "/containers/" + self->id_ + "/json");
    const api_call doing = self->api_->call("inspect the container", self->name_);
    http_response answer = co_await self->api_->ask(std::move(what), doing, absent);
    if (answer.status() == 404) co_return false;
    const boost::json::object seen = engine::object_of(answer, doing);
    const boost::json::object* const state = object_at(seen, "State");
    co_return state != nullptr&& is_true_at(*state, "Running");
  }

  /// Runs a small command of this library to its end, and discards its output.
  static awaitable<void> do_quietly(std::shared_ptr<exec_place> self, std::vector<std::string> words) {
    std::string exec = co_await create(self, std::move(words), std::vector<std::string>(), false, false);
    byte_stream stream = co_await start(self, std::move(exec), false);
    std::array<std::byte, 512> ignored;
    for (;;) {
      const std::size_t got = co_await stream.read_some(std::span(ignored));
      if (got == 0) break;
    }
  }

  /// Runs a small command of this library with input to its end, and discards its output.
  /// \return  true if the command exited with status 0.
  static awaitable<bool> try_out(std::shared_ptr<exec_place> self, std::vector<std::string> words, bytes input) {
    std::string exec = co_await create(self, std::move(words), std::vector<std::string>(), true, false);
    byte_stream stream = co_await start(self, exec, false);
    try {
      co_await stream.write(input);
      co_await stream.shutdown_send();
    } catch (const error& failure) {  // the command ended before it had read all input
      if (failure.code() == exec_errc::cancelled) throw;
    }
    std::array<std::byte, 512> ignored;
    for (;;) {
      const std::size_t got = co_await stream.read_some(std::span(ignored));
      if (got == 0) break;
    }
    const std::optional<boost::json::object> seen = co_await inspect(self, exec);
    co_return seen&& number_at(*seen, "ExitCode") == 0;
  }

  /// Sends a signal to the processes of a command by `signal_script`.
  /// \param process  the process id of the command's `exec_script`.
  /// \param scope    the processes to signal: the argument $3 of `signal_script`.
  /// \param tag      `NAME=value`, the environment variable that identifies the command's processes.
  static awaitable<void> signal(std::shared_ptr<exec_place> self, int number, long process, char scope,
                                std::string tag) {
    std::vector<std::string> words{"/bin/sh",
                                   "-c",
                                   std::string(signal_script),
                                   "sh",
                                   std::to_string(number),
                                   std::to_string(process),
                                   std::string(1, scope),
                                   std::move(tag)};
    co_await do_quietly(std::move(self), std::move(words));
  }

  /// Announces a call of `end_everything`. No command is started until `end_expected` is called, because it would be
  /// killed too.
  void expect_end() noexcept { ++expected_; }
  void end_expected() noexcept {
    --expected_;
    changed_.notify();
  }
  static awaitable<void> until_may_begin(std::shared_ptr<exec_place> self) {
    while (self->expected_ > 0 && !self->closed_ && !self->lost_) co_await self->changed_.wait();
  }

  /// Kills all processes in the container except the first program, and waits for the confirmation. If no confirmation
  /// arrives within 30 s, the container is treated as lost.
  static awaitable<void> end_everything(std::shared_ptr<exec_place> self) {
    static const std::vector<int> gone{404, 409};
    while (self->ending_) co_await self->changed_.wait();
    if (self->closed_ || self->lost_) co_return;
    self->ending_ = true;
    const end_at_exit guard(*self);
    ++self->ends_;
    const int before = self->answers_;
    http_request what = self->api_->request("POST", "/containers/" + self->id_ + "/kill?signal=USR1");
    co_await self->api_->ask(std::move(what), self->api_->call("end the processes in the container", self->name_),
                             gone);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (self->answers_ == before && !self->closed_ && !self->lost_) {
      if (std::chrono::steady_clock::now() >= end) {
        self->lose(error(exec_errc::provider_lost, "docker: the processes in the container " + self->name_ +
                                                       " did not end; if it is paused, run docker unpause " +
                                                       self->name_));
        co_return;
      }
      co_await self->changed_.wait(end);
    }
  }

 private:
  class end_at_exit {
   public:
    explicit end_at_exit(exec_place& place) : place_(place) {}
    end_at_exit(const end_at_exit&) = delete;
    end_at_exit& operator=(const end_at_exit&) = delete;
    ~end_at_exit() {
      place_.ending_ = false;
      place_.changed_.notify();
    }

   private:
    exec_place& place_;
  };

  static boost::json::array texts(const std::vector<std::string>& strings) {
    boost::json::array array;
    for (const std::string& text : strings) array.push_back(json_text(text));
    return array;
  }

  /// Reads the output of the first program. Each line confirms that all other processes were killed.
  static awaitable<void> listen(std::shared_ptr<exec_place> self) {
    std::array<std::byte, 256> piece;
    for (;;) {
      const std::size_t got = co_await self->lease_->read_some(std::span(piece));
      if (got == 0) co_return;
      self->answers_ += static_cast<int>(
          std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got), static_cast<std::byte>('\n')));
      self->changed_.notify();
    }
  }

  void lease_over(const std::exception_ptr& failure) {
    std::string why = "docker: the container " + name_ + " has exited";
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& reason) {
      why = reason.what();
    }
    lose(error(exec_errc::provider_lost, why));
  }

  void beat() {
    heartbeat_.expires_after(std::chrono::seconds(30));
    cofferdam::detail::on_expiry(heartbeat_, [kept = weak_from_this()](std::error_code failure) {
      const std::shared_ptr<exec_place> self = kept.lock();
      if (failure || !self || self->closed_ || self->lost_) return;
      self->nudge();
      self->beat();
    });
  }

  std::shared_ptr<engine> api_;
  std::string id_;
  std::string name_;
  std::string user_;
  asio::steady_timer heartbeat_;
  cofferdam::detail::async_event changed_;  // notified when one of the following members changes
  std::optional<attached_stream> lease_;
  std::function<void(const error&)> tell_;
  std::optional<error> lost_;
  int answers_ = 0;
  int ends_ = 0;
  int expected_ = 0;
  bool writing_ = false;
  bool ending_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
