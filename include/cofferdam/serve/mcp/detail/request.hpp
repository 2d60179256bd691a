// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/protocol.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

using cofferdam::detail::async_event;
using tasks = cofferdam::detail::joined_tasks;

/// The kind of a reply, which determines the HTTP status.
enum class reply_kind {
  answered,       ///< the method returned a result or an error
  refused,        ///< the request is invalid, exceeds a limit or needs a missing capability
  unknown_method  ///< the method does not exist
};

class reply {
 public:
  explicit reply(std::string message, reply_kind its_kind = reply_kind::answered)
      : text(std::move(message)), kind(its_kind) {}
  std::string text;
  reply_kind kind;
};

/// A destination for messages to the client: either the messages of one request, or those that belong to no request.
class outlet {
 public:
  outlet() = default;
  outlet(const outlet&) = delete;
  outlet& operator=(const outlet&) = delete;
  virtual ~outlet() = default;
  /// Sends a message.
  /// \param droppable  true if the message may be dropped when the client reads too slowly.
  virtual void send(std::string message, bool droppable) = 0;
  /// Ends the request.
  /// \param last  the answer; no value if the request was cancelled.
  virtual void finish(std::optional<reply> last) = 0;
  /// Closes the connection, so that the client reconnects to get the rest. Does nothing if the client cannot reconnect,
  /// as over standard input and output.
  virtual void interrupt() {}
};

/// The requests that the server has sent to a client of the legacy era (versions up to 2025-11-25) and that wait for a
/// response.
class asked_table {
 public:
  class question {
   public:
    explicit question(const asio::any_io_executor& executor) : answered(executor) {}
    async_event answered;
    std::optional<boost::json::object> whole;
  };

  /// Passes a response to the request that waits for it. Ignores a response to an unknown request.
  void take(const rpc_message& response) {
    const boost::json::string* const id = response.id.if_string();
    if (id == nullptr) return;
    const auto found = open_.find(std::string(view_of(*id)));
    if (found == open_.end() || found->second->whole) return;
    found->second->whole = response.whole;
    found->second->answered.notify();
  }

  /// Sends a request to the client, and waits for the response.
  /// \return the `result` of the response.
  /// \throws error{exec_errc::io_error} if the client responds with an error.
  static awaitable<boost::json::object> ask(std::shared_ptr<asked_table> self, std::shared_ptr<outlet> out,
                                            asio::any_io_executor executor, std::string method,
                                            boost::json::object params) {
    const std::string id = "s-" + std::to_string(++self->last_);
    const auto mine = std::make_shared<question>(executor);
    self->open_[id] = mine;
    const closing at_end(*self, id);
    out->send(rpc_request("\"" + id + "\"", method, params), false);
    while (!mine->whole) co_await mine->answered.wait();
    if (const boost::json::object* const result = object_at(*mine->whole, "result")) co_return *result;
    std::string why = "no reason";
    if (const boost::json::object* const failure = object_at(*mine->whole, "error"))
      why = std::string(if_text_at(*failure, "message").value_or(why));
    throw error(exec_errc::io_error, "the client refused " + method + ": \"" + why.substr(0, 500) + "\"");
  }

 private:
  class closing {
   public:
    closing(asked_table& of, const std::string& id) : of_(of), id_(id) {}
    closing(const closing&) = delete;
    closing& operator=(const closing&) = delete;
    ~closing() { of_.open_.erase(id_); }

   private:
    asked_table& of_;
    const std::string& id_;
  };

  std::map<std::string, std::shared_ptr<question>> open_;
  std::uint64_t last_ = 0;
};

class workspace;

/// A client's request that is being answered.
class request {
 public:
  explicit request(rpc_message read) : message(std::move(read)), id(message.id_text()) {}

  rpc_message message;
  std::string id;  // the id as JSON text
  bool modern = false;
  std::string version;
  boost::json::object capabilities;   // declared by the client
  int level = silent;                 // the lowest severity that is sent to the client's log
  boost::json::value progress_token;  // null if the client wants no progress
  std::shared_ptr<outlet> out;
  std::shared_ptr<asked_table> asked;
  std::shared_ptr<workspace> place;
  asio::any_io_executor executor;
  asio::cancellation_signal cancel;
  bool cancelled = false;
  bool ended = false;

  bool at_least(std::string_view minimum) const { return version >= minimum; }
  bool wants_log(int severity) const { return severity >= level && !ended; }
  bool wants_progress() const { return !progress_token.is_null() && !ended; }

  void log(int severity, std::string_view logger, boost::json::value data) const {
    if (!wants_log(severity)) return;
    boost::json::object params;
    params["level"] = boost::json::string(json_view(log_levels.at(static_cast<std::size_t>(severity))));
    if (!logger.empty()) params["logger"] = boost::json::string(json_view(logger));
    params["data"] = std::move(data);
    out->send(rpc_notification("notifications/message", params), true);
  }

  void progress(double now, std::optional<double> total, std::string_view words) {
    if (!wants_progress() || (last_progress_ && now <= *last_progress_)) return;
    last_progress_ = now;
    boost::json::object params;
    params["progressToken"] = progress_token;
    params["progress"] = number(now);
    if (total) params["total"] = number(*total);
    if (!words.empty() && at_least("2025-03-26")) {
      std::string good;
      cofferdam::detail::append_repaired_utf8(good, words);
      params["message"] = boost::json::string(json_view(good));
    }
    out->send(rpc_notification("notifications/progress", params), true);
  }

 private:
  static boost::json::value number(double value) {
    if (value == static_cast<double>(static_cast<std::int64_t>(value))) return static_cast<std::int64_t>(value);
    return value;
  }

  std::optional<double> last_progress_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
