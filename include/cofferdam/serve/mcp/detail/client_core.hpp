// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/serve/detail/tasks.hpp>
#include <cofferdam/serve/mcp/client_options.hpp>
#include <cofferdam/serve/mcp/detail/client_link.hpp>
#include <cofferdam/serve/mcp/detail/http_link.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/process_link.hpp>
#include <cofferdam/serve/mcp/detail/protocol.hpp>
#include <cofferdam/serve/mcp/detail/repeated_headers.hpp>
#include <cofferdam/serve/mcp/remote.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The state of an `mcp::client`, which its requests share: the connection, what the server has declared, and the
/// listeners.
class client_core : public std::enable_shared_from_this<client_core> {
 public:
  client_core(asio::any_io_executor executor, client_options options)
      : executor_(executor),
        options_(std::move(options)),
        tasks_(std::make_shared<cofferdam::detail::joined_tasks>(executor)),
        renewed_(std::move(executor)) {}

  const std::string& server_name() const noexcept { return server_name_; }
  const std::string& server_version() const noexcept { return server_version_; }
  const std::string& instructions() const noexcept { return instructions_; }
  const std::string& protocol_version() const noexcept { return version_; }
  const boost::json::object& capabilities() const noexcept { return capabilities_; }
  bool offers(std::string_view capability) const { return object_at(capabilities_, capability) != nullptr; }

  /// Connects to a server that is a running command.
  static awaitable<void> begin(std::shared_ptr<client_core> self, started_server running) {
    self->process_ = std::make_shared<process_link>(self->executor_, std::move(running), self->options_.message(),
                                                    listener_of(self));
    self->process_->begin();
    self->link_ = self->process_.get();
    co_await begin_session(self);
  }
  /// Connects to a server by HTTP.
  static awaitable<void> begin(std::shared_ptr<client_core> self, server_address where) {
    self->http_ = std::make_shared<http_link>(self->executor_, std::move(where), self->options_, listener_of(self));
    self->link_ = self->http_.get();
    co_await begin_session(self);
  }

  /// Sends a request, and returns the result. A server of the modern era may need answers to questions first.
  /// \param on_progress  receives the progress; may be empty.
  static awaitable<boost::json::object> request(std::shared_ptr<client_core> self, std::string method,
                                                boost::json::object params, progress_listener on_progress = nullptr) {
    const request_time limit(self->options_.timeout());
    boost::json::object result = co_await once(self, method, params, on_progress, limit);
    for (int round = 0; text_at(result, "resultType") == "input_required"; ++round) {
      if (round == most_rounds)
        throw protocol_violation(self->server(), "it asks for input again and again (" + method + ")");
      boost::json::object answers = co_await answers_to(self, result);
      boost::json::object repeated = params;
      repeated["inputResponses"] = std::move(answers);
      if (const auto state = if_text_at(result, "requestState"))
        repeated["requestState"] = cofferdam::detail::json_text(*state);
      result = co_await once(self, method, std::move(repeated), on_progress, limit);
    }
    co_return result;
  }

  /// Returns the elements of a list that the server sends in pages.
  /// \param key  the member of each page with its elements.
  static awaitable<boost::json::array> list(std::shared_ptr<client_core> self, std::string method, std::string key) {
    boost::json::array all;
    std::optional<std::string> cursor;
    std::size_t pages = 0;
    std::size_t bytes = 0;
    do {
      boost::json::object params;
      if (cursor) params["cursor"] = cofferdam::detail::json_text(*cursor);
      const boost::json::object page = co_await request(self, method, std::move(params));
      const boost::json::array* const elements = cofferdam::detail::array_at(page, key);
      if (elements == nullptr) throw protocol_violation(self->server(), "the answer to " + method + " has no " + key);
      for (const boost::json::value& each : *elements)
        if (each.is_object()) all.push_back(each);
      bytes += readable_json(page).size();
      if (all.size() > most_elements || ++pages > most_elements || bytes > most_listed)
        throw error(exec_errc::too_large, "mcp: " + self->server() + " lists more than " +
                                              std::to_string(most_elements) + " " + key +
                                              " or pages, or 64 MiB of them");
      const auto next = if_text_at(page, "nextCursor");
      if (next && cursor && *next == *cursor)
        throw protocol_violation(self->server(), "the pages of " + method + " do not end");
      cursor = next ? std::optional<std::string>(*next) : std::nullopt;
    } while (cursor);
    co_return all;
  }

  static awaitable<std::vector<remote_tool>> tools(std::shared_ptr<client_core> self) {
    std::vector<remote_tool> all;
    if (!self->offers("tools")) co_return all;
    boost::json::array listed = co_await list(self, "tools/list", "tools");
    for (boost::json::value& each : listed) {
      if (text_at(each.get_object(), "name").empty()) continue;
      remote_tool tool(std::move(each.get_object()));
      // The protocol forbids to use a tool whose parameters are marked wrongly.
      if (self->http_ && self->is_modern() && !self->headers_.learn(tool)) continue;
      all.push_back(std::move(tool));
    }
    co_return all;
  }

  static awaitable<void> close(std::shared_ptr<client_core> self) {
    if (std::exchange(self->is_closed_, true)) co_return;
    self->tasks_->cancel();
    std::exception_ptr failure;
    try {
      if (self->link_ != nullptr) co_await self->link_->close();
    } catch (...) {
      failure = std::current_exception();
    }
    co_await cofferdam::detail::joined_tasks::join(self->tasks_);
    if (failure) std::rethrow_exception(failure);
  }

  /// Ends everything without waiting.
  void abandon() noexcept {
    is_closed_ = true;
    tasks_->cancel();
    if (process_) process_->abandon();
    if (http_) http_->abandon();
  }

 private:
  static constexpr int most_rounds = 10;
  static constexpr std::size_t most_elements = 10'000;
  static constexpr std::size_t most_listed = std::size_t{64} << 20U;  // bytes
  static constexpr std::size_t most_questions = 32;
  // With the refusals of further requests. By HTTP, this leaves 16 connections for the client's own requests.
  static constexpr std::size_t most_answers = 48;

  /// Returns the words for the server in messages.
  std::string server() const {
    return server_name_.empty() ? link_->name() : "the server " + link_->shown(server_name_, 100);
  }
  bool is_modern() const { return version_ == modern_version; }

  static server_message_listener listener_of(const std::shared_ptr<client_core>& self) {
    return [weak = std::weak_ptr<client_core>(self)](rpc_message message) {
      if (const std::shared_ptr<client_core> core = weak.lock()) core->hear(std::move(message));
    };
  }

  boost::json::object own_capabilities() const {
    boost::json::object all;
    if (options_.on_sampling()) all["sampling"] = boost::json::object();
    if (options_.on_elicitation()) all["elicitation"] = boost::json::object();
    return all;
  }
  boost::json::object own_info() const {
    boost::json::object info;
    info["name"] = cofferdam::detail::json_text(options_.name());
    info["version"] = cofferdam::detail::json_text(options_.version());
    return info;
  }

  // ---- the beginning ----

  static awaitable<void> begin_session(std::shared_ptr<client_core> self) {
    co_await shake_hands(self);
    const client_options& options = self->options_;
    if (self->is_modern() && options.on_change()) self->tasks_->spawn(subscribe(self));
    // Servers of the legacy era may send their questions and logs outside of the streams of requests.
    const bool listens = options.on_change() || options.on_log() || options.on_sampling() || options.on_elicitation();
    if (!self->is_modern() && self->http_ && listens) self->http_->listen();
  }

  static awaitable<void> shake_hands(std::shared_ptr<client_core> self) {
    std::optional<error> refused;
    if (self->options_.era() != protocol_era::modern) {
      try {
        co_await initialize(self);
      } catch (const server_error& failure) {
        if (self->options_.era() == protocol_era::legacy) throw;
        refused = failure;
      }
      if (!refused) co_return;
    }
    try {
      co_await discover(self);
    } catch (const server_error&) {
      if (!refused) throw;
    }
    if (self->version_.empty()) throw *refused;
  }

  static awaitable<void> initialize(std::shared_ptr<client_core> self) {
    boost::json::object params;
    params["protocolVersion"] = cofferdam::detail::json_text(latest_legacy);
    params["capabilities"] = self->own_capabilities();
    params["clientInfo"] = self->own_info();
    const request_time limit(self->options_.start_timeout());
    const boost::json::object result = co_await plain(self, "initialize", std::move(params), nullptr, limit);
    const std::string version(text_at(result, "protocolVersion"));
    if (!is_legacy(version))
      throw error(exec_errc::unsupported, "mcp: " + self->server() + " speaks version \"" +
                                              self->link_->shown(version, 40) +
                                              "\" of the protocol, which this library does not know");
    self->version_ = version;
    self->link_->speak(version);
    self->note(result, object_at(result, "serverInfo"));
    co_await self->link_->send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }

  static awaitable<void> discover(std::shared_ptr<client_core> self) {
    self->version_ = modern_version;
    self->link_->speak(modern_version);
    const request_time limit(self->options_.start_timeout());
    boost::json::object result;
    for (bool is_again = false;; is_again = true) {
      std::optional<server_error> refused;
      try {
        result = co_await plain(self, "server/discover", boost::json::object(), nullptr, limit);
      } catch (const server_error& failure) {
        refused = failure;
      }
      if (!refused) break;
      // A server may refuse the version although it lists it as supported.
      const std::vector<std::string> offered = cofferdam::detail::texts_at(refused->data().if_object(), "supported");
      const bool is_offered = std::find(offered.begin(), offered.end(), modern_version) != offered.end();
      if (is_again || refused->number() != unsupported_version || !is_offered) {
        self->version_.clear();
        throw *refused;
      }
    }
    const std::vector<std::string> versions = cofferdam::detail::texts_at(result, "supportedVersions");
    if (std::find(versions.begin(), versions.end(), modern_version) == versions.end())
      throw error(exec_errc::unsupported,
                  "mcp: " + self->server() + " does not support version " + std::string(modern_version));
    self->note(result, object_at(object_at(result, "_meta"), meta_server));
  }

  /// Notes what the server has declared.
  void note(const boost::json::object& result, const boost::json::object* info) {
    const boost::json::object* const declared = object_at(result, "capabilities");
    capabilities_ = declared == nullptr ? boost::json::object() : *declared;
    instructions_ = text_at(result, "instructions");
    server_name_ = text_at(info, "name");
    server_version_ = text_at(info, "version");
  }

  // ---- requests ----

  /// Sends a request, once more if the server has forgotten the session.
  static awaitable<boost::json::object> once(std::shared_ptr<client_core> self, std::string method,
                                             boost::json::object params, progress_listener on_progress,
                                             request_time limit) {
    while (self->is_renewing_) {
      const wait_result woken = co_await self->renewed_.wait(limit.end());
      if (woken == wait_result::cancelled) throw error(exec_errc::cancelled, "mcp: " + method + " was cancelled");
      if (woken == wait_result::timed_out) break;
    }
    bool is_lost = false;
    boost::json::object result;
    const std::uint64_t session = self->sessions_;
    try {
      result = co_await plain(self, method, params, on_progress, limit);
    } catch (const session_lost&) {
      is_lost = true;
    }
    if (!is_lost) co_return result;
    co_await renew(self, session, limit);
    result = co_await plain(self, std::move(method), std::move(params), std::move(on_progress), limit);
    co_return result;
  }

  /// Begins a new session, unless another request has done that meanwhile, and waits while another request does it.
  /// \param lost  the number of the session that the server has forgotten.
  static awaitable<void> renew(std::shared_ptr<client_core> self, std::uint64_t lost, request_time limit) {
    while (self->is_renewing_) {
      const wait_result woken = co_await self->renewed_.wait(limit.end());
      if (woken != wait_result::notified)
        throw error(woken == wait_result::cancelled ? exec_errc::cancelled : exec_errc::unavailable,
                    "mcp: the request ended before a new session began");
    }
    if (self->sessions_ != lost) co_return;
    const renewing turn(*self);
    self->http_->forget_session();
    co_await initialize(self);
    ++self->sessions_;
  }

  /// The time in which a new session begins. Other requests wait for its end.
  class renewing {
   public:
    explicit renewing(client_core& core) noexcept : core_(core) { core_.is_renewing_ = true; }
    renewing(const renewing&) = delete;
    renewing& operator=(const renewing&) = delete;
    ~renewing() {
      core_.is_renewing_ = false;
      core_.renewed_.notify();
    }

   private:
    client_core& core_;
  };

  static awaitable<boost::json::object> plain(std::shared_ptr<client_core> self, std::string method,
                                              boost::json::object params, progress_listener on_progress,
                                              request_time limit) {
    if (self->is_closed_) throw error(exec_errc::environment_closed, "mcp: the client was closed");
    client_request what;
    what.id = std::to_string(++self->last_id_);
    what.method = method;
    if (self->is_modern()) what.fields = self->headers_.fields_of(method, params);
    self->complete(params, on_progress ? what.id : std::string());
    what.text = rpc_request(what.id, method, params);
    const heard_progress heard(*self, what.id, std::move(on_progress));
    boost::json::object response = co_await self->link_->request(std::move(what), limit);
    if (const boost::json::object* const failure = object_at(response, "error")) {
      const boost::json::value* const data = cofferdam::detail::member(*failure, "data");
      const int number = static_cast<int>(cofferdam::detail::number_at(*failure, "code").value_or(0));
      const std::string words = self->link_->shown(text_at(*failure, "message"), 1000);
      throw server_error("mcp: " + self->server() + " answered " + method + " with an error: " + words + " (" +
                             std::to_string(number) + ")",
                         number, data == nullptr ? boost::json::value() : self->cleaned(*data));
    }
    const boost::json::object* const result = object_at(response, "result");
    if (result == nullptr) throw protocol_violation(self->server(), "the result of " + method + " is not an object");
    co_return *result;
  }

  boost::json::string clean_string(std::string_view text) const {
    return cofferdam::detail::json_text(link_->clean(text));
  }
  /// Returns JSON without the secrets that the server got. Its depth has a limit (`rpc_limits`).
  boost::json::value cleaned(const boost::json::value& value) const {
    if (const boost::json::object* const object = value.if_object()) {
      boost::json::object result;
      for (const auto& entry : *object) result[clean_string(entry.key())] = cleaned(entry.value());
      return result;
    }
    if (const boost::json::array* const array = value.if_array()) {
      boost::json::array result;
      for (const boost::json::value& each : *array) result.push_back(cleaned(each));
      return result;
    }
    const std::string text = value.is_string() ? std::string(view_of(value.get_string())) : readable_json(value);
    boost::json::string result = clean_string(text);
    return value.is_string() || view_of(result) != text ? boost::json::value(std::move(result)) : value;
  }

  /// Adds `_meta`: the envelope of the modern era, and the token for progress.
  void complete(boost::json::object& params, const std::string& token) const {
    boost::json::object meta;
    if (const boost::json::object* const given = object_at(params, "_meta")) meta = *given;
    if (is_modern()) {
      meta[cofferdam::detail::json_view(meta_version)] = cofferdam::detail::json_text(modern_version);
      meta[cofferdam::detail::json_view(meta_capabilities)] = own_capabilities();
      meta["io.modelcontextprotocol/clientInfo"] = own_info();
      if (options_.on_log()) meta[cofferdam::detail::json_view(meta_log_level)] = "info";
    }
    if (!token.empty()) meta["progressToken"] = last_id_;
    if (!meta.empty()) params["_meta"] = std::move(meta);
  }

  /// The entry of a request that has a listener for its progress.
  class heard_progress {
   public:
    heard_progress(client_core& core, std::string id, progress_listener listener) : core_(core), id_(std::move(id)) {
      if (listener) core_.progress_[id_] = std::move(listener);
    }
    heard_progress(const heard_progress&) = delete;
    heard_progress& operator=(const heard_progress&) = delete;
    ~heard_progress() { core_.progress_.erase(id_); }

   private:
    client_core& core_;
    std::string id_;
  };

  // ---- messages of the server ----

  void hear(rpc_message message) {
    if (is_closed_) return;
    if (message.kind == rpc_kind::request) {
      // Each answer needs a coroutine, and by HTTP also a connection, until the server has read it.
      if (answers_ == most_answers) return;
      const bool is_refused = answers_ >= most_questions;
      auto counted = std::make_unique<open_answer>(shared_from_this());
      tasks_->spawn(is_refused ? refuse(std::move(counted), std::move(message))
                               : answer(std::move(counted), std::move(message)));
      return;
    }
    if (message.method == "notifications/progress") {
      const boost::json::value* const token = cofferdam::detail::member(message.params, "progressToken");
      const auto found = progress_.find(token == nullptr ? std::string() : boost::json::serialize(*token));
      if (found == progress_.end()) return;
      const progress_listener listener = found->second;
      tell([&] {
        listener(real_at(message.params, "progress"), real_at(message.params, "total"),
                 std::string(text_at(message.params, "message")));
      });
    } else if (message.method == "notifications/message") {
      if (options_.on_log()) tell([&] { options_.on_log()(message.params); });
    } else if (message.method.ends_with("/list_changed") || message.method == "notifications/resources/updated") {
      if (!options_.on_change()) return;
      message.params["method"] = cofferdam::detail::json_text(message.method);
      tell([&] { options_.on_change()(message.params); });
    }
  }

  /// Calls a listener. Its exceptions are ignored: they must not end the connection.
  template <class Call>
  static void tell(const Call& call) noexcept {
    try {
      call();
    } catch (...) {
      // The documents of the listeners describe this.
    }
  }

  static double real_at(const boost::json::object& object, std::string_view key) {
    const boost::json::value* const found = cofferdam::detail::member(object, key);
    return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
  }

  const question_handler* handler_of(std::string_view method) const {
    const question_handler* found = nullptr;
    if (method == "sampling/createMessage") found = &options_.on_sampling();
    if (method == "elicitation/create") found = &options_.on_elicitation();
    return found != nullptr && *found ? found : nullptr;
  }

  /// A request of the server that has no answer yet.
  class open_answer {
   public:
    explicit open_answer(std::shared_ptr<client_core> core) noexcept : core_(std::move(core)) { ++core_->answers_; }
    open_answer(const open_answer&) = delete;
    open_answer& operator=(const open_answer&) = delete;
    ~open_answer() { --core_->answers_; }
    const std::shared_ptr<client_core>& core() const noexcept { return core_; }

   private:
    std::shared_ptr<client_core> core_;
  };

  static awaitable<void> refuse(std::unique_ptr<open_answer> counted, rpc_message message) {
    co_await send(counted->core(), rpc_error(message.id_text(), internal_error, "Too many requests"));
  }

  static awaitable<void> send(std::shared_ptr<client_core> self, std::string text) {
    try {
      co_await self->link_->send(std::move(text));
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
      // The connection is lost, which the requests report.
    }
  }

  /// Answers a request of the server.
  static awaitable<void> answer(std::unique_ptr<open_answer> counted, rpc_message message) {
    const std::shared_ptr<client_core> self = counted->core();
    std::string text;
    const question_handler* const handler = self->handler_of(message.method);
    if (message.method == "ping") {
      text = rpc_result(message.id_text(), boost::json::object());
    } else if (handler == nullptr) {
      text = rpc_error(message.id_text(), method_not_found,
                       "This client does not support " + one_line(message.method, 100));
    } else {
      try {
        awaitable<boost::json::object> answering = (*handler)(std::move(message.params));
        const boost::json::object result = co_await std::move(answering);
        text = rpc_result(message.id_text(), result);
      } catch (const std::exception& failure) {
        text = rpc_error(message.id_text(), internal_error, failure.what());
      } catch (...) {
        text = rpc_error(message.id_text(), internal_error, "The handler failed");
      }
    }
    // If this coroutine was cancelled, the next line ends it.
    co_await send(self, std::move(text));
  }

  /// Answers the questions in a result that is not complete.
  static awaitable<boost::json::object> answers_to(std::shared_ptr<client_core> self,
                                                   const boost::json::object& result) {
    boost::json::object answers;
    const boost::json::object* const asked = object_at(result, "inputRequests");
    if (asked == nullptr) co_return answers;
    if (asked->size() > most_questions)
      throw protocol_violation(self->server(), "it asks more than " + std::to_string(most_questions) + " questions");
    for (const auto& entry : *asked) {
      const boost::json::object* const question = entry.value().if_object();
      const std::string method(text_at(question, "method"));
      const question_handler* const handler = self->handler_of(method);
      if (handler == nullptr)
        throw error(exec_errc::unsupported, "mcp: " + self->server() + " needs an answer to " +
                                                self->link_->shown(method, 100) +
                                                ", which this client does not give; set a handler in client_options");
      boost::json::object params;
      if (const boost::json::object* const given = object_at(question, "params")) params = *given;
      awaitable<boost::json::object> answering = (*handler)(std::move(params));
      boost::json::object reply = co_await std::move(answering);
      answers[entry.key()] = std::move(reply);
    }
    co_return answers;
  }

  /// Listens for changes, in the modern era.
  static awaitable<void> subscribe(std::shared_ptr<client_core> self) {
    boost::json::object wanted;
    for (const auto& [capability, name] :
         {std::pair("tools", "toolsListChanged"), std::pair("prompts", "promptsListChanged"),
          std::pair("resources", "resourcesListChanged")})
      if (self->offers(capability)) wanted[name] = true;
    boost::json::object params;
    params["notifications"] = std::move(wanted);
    try {
      const boost::json::object result =
          co_await plain(self, "subscriptions/listen", std::move(params), nullptr, request_time::unlimited());
      static_cast<void>(result);
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
      // The server reports no changes.
    }
  }

  asio::any_io_executor executor_;
  client_options options_;
  std::shared_ptr<cofferdam::detail::joined_tasks> tasks_;
  std::shared_ptr<process_link> process_;
  std::shared_ptr<http_link> http_;
  client_link* link_ = nullptr;  // one of the two
  std::string version_;
  std::string server_name_;
  std::string server_version_;
  std::string instructions_;
  boost::json::object capabilities_;
  std::map<std::string, progress_listener> progress_;  // by the id of the request
  repeated_headers headers_;
  cofferdam::detail::async_event renewed_;  // notified when a new session has begun, or has failed to
  bool is_renewing_ = false;
  std::uint64_t last_id_ = 0;
  std::uint64_t sessions_ = 0;
  std::size_t answers_ = 0;  // the requests of the server that have no answer yet
  bool is_closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
