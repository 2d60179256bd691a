// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/in_time.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/mcp/detail/client_link.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

using cofferdam::detail::async_event;
using cofferdam::detail::wait_result;

/// A server that is a running command, and the secrets that it got.
class started_server {
 public:
  process running;
  std::vector<std::string> secrets;  ///< the values of its environment variables
};

/// A connection to a server that is a running command, with one message per line. MCP, "Transports", "stdio".
///
/// Two background coroutines, which keep the object alive, read and write. They end when the command ends, and
/// `abandon()` ends them at once.
class process_link final : public client_link, public std::enable_shared_from_this<process_link> {
 public:
  /// \param hears  receives the messages that are no responses.
  process_link(asio::any_io_executor executor, started_server server, std::size_t max_bytes,
               server_message_listener hears)
      : process_(std::move(server.running)),
        limits_{max_bytes},
        hears_(std::move(hears)),
        changed_(executor),
        tasks_(std::make_shared<cofferdam::detail::joined_tasks>(executor)) {
    // Short values, such as "1" or "true", are no secrets, and would garble the texts.
    for (std::string& value : server.secrets)
      if (value.size() >= 8) redactor_.hide(secret_string(std::move(value)));
  }

  /// Starts the background coroutines.
  void begin() {
    tasks_->spawn(read_all(shared_from_this()));
    tasks_->spawn(write_all(shared_from_this()));
  }

  awaitable<boost::json::object> request(client_request what, request_time limit) override {
    return ask(shared_from_this(), std::move(what), limit);
  }
  awaitable<void> send(std::string text) override {
    enqueue(std::move(text));
    co_return;
  }
  void speak(std::string_view) override {}
  std::string name() const override { return "the server"; }
  std::string clean(std::string_view text) const override { return redactor_.clean(text); }

  /// Ends the background coroutines, and thereby the command, without waiting. Requests under way fail.
  void abandon() noexcept {
    is_closed_ = true;
    changed_.notify();
    tasks_->cancel();
  }

  awaitable<void> close() override { return end(shared_from_this()); }

 private:
  /// The maximum size of the messages that wait to be written, in bytes.
  static constexpr std::size_t most_unsent = std::size_t{64} * 1024 * 1024;
  static constexpr std::chrono::seconds patience{2};

  struct waiting {
    std::optional<boost::json::object> response;
    std::optional<error> failure;
  };

  void enqueue(std::string text) {
    if (lost_) throw *lost_;
    if (is_closed_) throw error(exec_errc::environment_closed, "mcp: the client was closed");
    if (unsent_bytes_ + text.size() > most_unsent)
      throw error(exec_errc::too_large, "mcp: the server does not read, and 64 MiB of messages wait for it already");
    unsent_bytes_ += text.size();
    unsent_.push_back(std::move(text));
    changed_.notify();
  }

  /// Notifies the server that a request is cancelled. A server that does not read its input is not notified.
  void give_up(std::string text) {
    try {
      enqueue(std::move(text));
    } catch (const error&) {
      // The caller reports why it has given up the request.
    }
  }

  static awaitable<boost::json::object> ask(std::shared_ptr<process_link> self, client_request what,
                                            request_time limit) {
    const auto mine = std::make_shared<waiting>();
    self->enqueue(std::move(what.text));
    self->pending_[what.id] = mine;
    bool is_late = false;
    bool is_cancelled = false;
    while (!mine->response && !mine->failure && !self->lost_ && !self->is_closed_ && !is_late && !is_cancelled) {
      const wait_result woken = co_await self->changed_.wait(limit.end());
      is_cancelled = woken == wait_result::cancelled;
      is_late = woken == wait_result::timed_out;
    }
    self->pending_.erase(what.id);
    if (mine->response) co_return std::move(*mine->response);
    if (mine->failure) throw *mine->failure;
    if (self->lost_) throw *self->lost_;
    if (self->is_closed_) throw error(exec_errc::environment_closed, "mcp: the client was closed");
    if (what.method != "initialize") self->give_up(cancellation_of(what.id, is_late ? "time limit" : "cancelled"));
    if (is_late) throw limit.missed("the server", what.method);
    throw error(exec_errc::cancelled, "mcp: " + what.method + " was cancelled");
  }

  static awaitable<void> write_all(std::shared_ptr<process_link> self) {
    while (!self->lost_) {
      if (self->unsent_.empty()) {
        if (self->is_closed_) break;
        const wait_result woken = co_await self->changed_.wait();
        if (woken == wait_result::cancelled) co_return;
        continue;
      }
      std::string line = std::move(self->unsent_.front());
      self->unsent_.pop_front();
      self->unsent_bytes_ -= line.size();
      line += '\n';
      const bytes_view data = as_bytes(line);
      bool is_broken = false;
      try {
        co_await self->process_.write_input(data);
      } catch (const error& failure) {
        if (failure.code() == exec_errc::cancelled) throw;
        is_broken = true;  // the reader reports why the command has ended
      }
      if (is_broken) co_return;
    }
    try {
      co_await self->process_.close_input();
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
      // The command has ended already.
    }
  }

  static awaitable<void> wait_for_end(std::shared_ptr<process_link> self, std::string& ending) {
    const command_result result = co_await self->process_.wait();
    ending = self->describe(result);
  }

  static awaitable<void> read_all(std::shared_ptr<process_link> self) {
    std::optional<error> broken;
    std::string ending;
    try {
      line_reader lines(self->limits_.bytes);
      for (;;) {
        const output_chunk chunk = co_await self->process_.read();
        if (chunk.end()) break;
        if (chunk.stream() != output_stream::out) continue;
        std::string_view piece = as_text(chunk.data());
        std::string_view line;
        for (line_reader::found found = lines.next(piece, line); found != line_reader::found::nothing;
             found = lines.next(piece, line)) {
          if (found == line_reader::found::too_long) {
            self->fail_all(error(exec_errc::too_large, "mcp: a message of the server is longer than the limit of " +
                                                           std::to_string(self->limits_.bytes) + " bytes"));
          } else {
            self->take(line);
          }
        }
      }
      // A command that has closed its output can answer nothing. If it goes on, it is ended.
      const bool has_ended =
          co_await cofferdam::detail::arrived_in_time(self->changed_.executor(), patience, wait_for_end(self, ending));
      if (!has_ended) ending = "it closed its output without ending, and was ended";
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
      broken = failure;
    }
    self->lost_ = broken ? *broken : error(exec_errc::provider_lost, "mcp: the server has ended: " + ending);
    self->changed_.notify();
  }

  /// Fails all requests under way. The response to one of them cannot be read, and it is not known which.
  void fail_all(const error& reason) {
    for (const auto& [id, request] : pending_)
      if (!request->response) request->failure = reason;
    changed_.notify();
  }

  /// Takes a line of the server. A line that is no message is skipped: some servers print other lines.
  void take(std::string_view line) {
    rpc_input input = read_rpc(line, limits_);
    if (const std::string why = unreadable_part(line, input); !why.empty())
      fail_all(protocol_violation(name(), "a message cannot be read: " + why));
    for (rpc_message& each : input.messages) {
      if (each.kind != rpc_kind::response) {
        hears_(std::move(each));
        continue;
      }
      const auto found = pending_.find(each.id_text());
      if (found == pending_.end()) continue;  // of a request that was given up
      found->second->response = std::move(each.whole);
      changed_.notify();
    }
  }

  /// Describes the end of a command, and the end of its error output.
  std::string describe(const command_result& result) const {
    std::string text = result.summary();
    const std::string whole = clean(as_text(result.err().tail().empty() ? result.err().head() : result.err().tail()));
    std::string_view words = whole;
    if (words.size() > 500) words.remove_prefix(words.size() - 500);
    const std::string end = shown(words, 500);
    return end.empty() ? text : text + "; its error output: " + end;
  }

  static awaitable<void> end(std::shared_ptr<process_link> self) {
    self->is_closed_ = true;
    self->changed_.notify();
    for (const int number : {SIGTERM, SIGKILL}) {
      co_await cofferdam::detail::joined_tasks::wait(self->tasks_, patience);
      if (self->lost_) break;
      try {
        co_await self->process_.signal(number);
      } catch (const error&) {
        // The command has ended already.
      }
    }
    if (!self->lost_) co_await cofferdam::detail::joined_tasks::wait(self->tasks_, patience);
    self->tasks_->cancel();
    co_await cofferdam::detail::joined_tasks::join(self->tasks_);
    self->process_ = process();
  }

  process process_;
  rpc_limits limits_;
  server_message_listener hears_;
  async_event changed_;
  std::shared_ptr<cofferdam::detail::joined_tasks> tasks_;
  std::map<std::string, std::shared_ptr<waiting>> pending_;
  std::deque<std::string> unsent_;
  std::size_t unsent_bytes_ = 0;
  redactor redactor_;
  std::optional<error> lost_;
  bool is_closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
