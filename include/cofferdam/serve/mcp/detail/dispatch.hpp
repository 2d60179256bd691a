// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/tools/answer_to_model.hpp>
#include <cofferdam/serve/mcp/detail/default_instructions.hpp>
#include <cofferdam/serve/mcp/detail/results.hpp>
#include <cofferdam/serve/mcp/detail/sealed_state.hpp>
#include <cofferdam/serve/mcp/detail/session_state.hpp>
#include <cofferdam/serve/mcp/detail/tool_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The methods of MCP. They answer requests from any transport (a byte stream or HTTP), and of both eras: protocol
/// versions up to 2025-11-25 (legacy) and 2026-07-28 (modern).
class dispatch {
 public:
  /// Sets the protocol version and the client's capabilities in a request. Returns an error reply if they are invalid;
  /// otherwise no value. MCP, "Lifecycle".
  static std::optional<reply> admit(session_state& of, request& pending) {
    const boost::json::object& params = pending.message.params;
    const boost::json::object* const meta = object_at(params, "_meta");
    if (meta != nullptr) {
      if (const boost::json::value* const token = meta->if_contains("progressToken");
          token != nullptr && (token->is_string() || token->is_number()))
        pending.progress_token = *token;
    }
    if (meta != nullptr && meta->contains(json_view(meta_version))) return admit_modern(pending, *meta);
    pending.version = of.version;
    pending.capabilities = of.capabilities;
    pending.level = of.level;
    if (!of.version.empty() || pending.message.method == "initialize") return std::nullopt;
    pending.version = std::string(latest_legacy);
    for (const char* const method : {"tools/call", "resources/read", "prompts/get", "completion/complete"})
      if (pending.message.method == method)
        return reply(rpc_error(pending.id, invalid_request, "Invalid Request: send initialize first"),
                     reply_kind::refused);
    return std::nullopt;
  }

  /// Answers a request.
  /// \throws failure with an error for the client. The client must not see the text of other exceptions.
  static awaitable<reply> answer_to(std::shared_ptr<session_state> of, std::shared_ptr<request> pending) {
    const std::string& method = pending->message.method;
    if (method == "tools/call") {
      boost::json::object called = co_await call_tool(of, pending);
      co_return reply(rpc_result(pending->id, called));
    }
    if (method == "resources/list") {
      boost::json::object listed = co_await list_resources(of, pending);
      co_return reply(rpc_result(pending->id, listed));
    }
    if (method == "resources/read") {
      boost::json::object read = co_await read_resource(of, pending);
      co_return reply(rpc_result(pending->id, read));
    }
    if (method == "prompts/get") {
      boost::json::object prompt = co_await get_prompt(of, pending);
      co_return reply(rpc_result(pending->id, prompt));
    }
    if (method == "completion/complete" && of->core->complete) {
      boost::json::object completed = co_await complete(of, pending);
      co_return reply(rpc_result(pending->id, completed));
    }
    if (pending->modern && method == "subscriptions/listen") {
      boost::json::object ended = co_await listen(of, pending);
      co_return reply(rpc_result(pending->id, ended));
    }
    if (std::optional<reply> now = answer_now(*of, *pending)) co_return std::move(*now);
    throw failure(internal_error, "Internal error");
  }

  /// Returns the answer to a request that can be answered without waiting; no value for other requests.
  /// \throws failure with an error for the client.
  static std::optional<reply> answer_now(session_state& of, request& pending) {
    const std::string& method = pending.message.method;
    for (const char* const waits : {"tools/call", "resources/list", "resources/read", "prompts/get"})
      if (method == waits) return std::nullopt;
    if (method == "completion/complete" && of.core->complete) return std::nullopt;
    if (pending.modern && method == "subscriptions/listen") return std::nullopt;
    return at_once(of, pending);
  }

  /// Waits until the client has read enough of its earlier answers. Several requests wait in the order of their
  /// arrival.
  /// \param since  the time at which the request arrived.
  /// \throws failure if the client reads nothing for 5 s.
  static awaitable<void> wait_for_room(std::shared_ptr<session_state> of, std::chrono::steady_clock::time_point since) {
    co_await of->room.acquire(1, "call");
    const cofferdam::detail::held_permits first(of->room, 1);
    while (of->unread->is_full()) {
      const auto limit = std::max(since, of->unread->taken()) + std::chrono::seconds(5);
      if (std::chrono::steady_clock::now() >= limit) throw failure(internal_error, unread_answers::complaint);
      const cofferdam::detail::wait_result woken = co_await of->unread->wait(limit);
      if (woken == cofferdam::detail::wait_result::cancelled)
        throw error(exec_errc::cancelled, "mcp: cancelled while the client has too many unread answers");
    }
  }

 private:
  static reply refused(const request& pending, int code, const std::string& why,
                       const boost::json::value& data = nullptr) {
    return reply(rpc_error(pending.id, code, why, data), reply_kind::refused);
  }

  static std::optional<reply> admit_modern(request& pending, const boost::json::object& meta) {
    pending.modern = true;
    const std::optional<std::string> version(if_text_at(meta, meta_version));
    if (!version) return refused(pending, invalid_params, std::string(meta_version) + " must be a string");
    if (*version != modern_version) {
      boost::json::object data;
      boost::json::array supported;
      supported.emplace_back(json_view(modern_version));
      data["supported"] = std::move(supported);
      data["requested"] = *version;
      return refused(pending, unsupported_version, "Unsupported protocol version: " + one_line(*version, 60),
                     std::move(data));
    }
    pending.version = *version;
    const boost::json::object* const capabilities = object_at(meta, meta_capabilities);
    if (capabilities == nullptr)
      return refused(pending, invalid_params, std::string(meta_capabilities) + " is missing or not an object");
    pending.capabilities = *capabilities;
    if (const boost::json::value* const level = meta.if_contains(json_view(meta_log_level)); level != nullptr) {
      const std::optional<int> known = log_level(text_at(meta, meta_log_level));
      if (!known) return refused(pending, invalid_params, std::string(meta_log_level) + " is not a valid level");
      pending.level = *known;
    }
    return std::nullopt;
  }

  /// Adds the members that every result has in the client's protocol version: in the modern era (2026-07-28), the type
  /// of the result and the name of the server. In the legacy era there are none.
  /// \param seconds  the time for which a client may cache the result; no value for a result that cannot be cached.
  static boost::json::object finished(const session_state& of, const request& pending, boost::json::object result,
                                      std::optional<int> seconds = std::nullopt) {
    if (!pending.modern) return result;
    if (!result.contains("resultType")) result["resultType"] = "complete";
    if (seconds) {
      result["ttlMs"] = *seconds * 1000;
      result["cacheScope"] = "private";
    }
    boost::json::object meta;
    if (boost::json::value* const had = result.if_contains("_meta"); had != nullptr && had->is_object())
      meta = had->get_object();
    meta[json_view(meta_server)] = of.core->identity(pending.version);
    result["_meta"] = std::move(meta);
    return result;
  }

  // ---- requests that need no waiting ----
  static reply at_once(session_state& of, request& pending) {
    const std::string& method = pending.message.method;
    const boost::json::object& params = pending.message.params;
    const server_core& core = *of.core;
    const auto result = [&](boost::json::object body, std::optional<int> seconds = std::nullopt) {
      return reply(rpc_result(pending.id, finished(of, pending, std::move(body), seconds)));
    };
    const std::size_t page = core.options().page();
    if (method == "tools/list") {
      boost::json::array entries;
      for (const auto& each : core.tools) entries.push_back(tool_json(each->what, pending.version));
      return result(page_of(params, "tools", std::move(entries), page, core.revision), 300);
    }
    if (method == "resources/templates/list") {
      boost::json::array entries;
      for (const auto& each : core.resources)
        if (each->what.is_template()) entries.push_back(each->what.json(pending.version));
      if (of.place->has_environment())
        entries.push_back(resource_definition(std::string(workspace_uri) + "{+path}", "workspace file")
                              .description("A file of the tools' workspace, by its path in the workspace.")
                              .json(pending.version));
      return result(page_of(params, "resourceTemplates", std::move(entries), page, core.revision), 300);
    }
    if (method == "prompts/list" && !core.prompts.empty()) {
      boost::json::array entries;
      for (const auto& each : core.prompts) entries.push_back(each->what.json(pending.version));
      return result(page_of(params, "prompts", std::move(entries), page, core.revision), 300);
    }
    if (pending.modern) {
      if (method == "server/discover") return result(discovered(of), 0);
    } else {
      if (method == "initialize") return initialize(of, pending);
      if (method == "ping") return result(boost::json::object());
      if (method == "logging/setLevel") {
        const std::optional<int> level = log_level(text_at(params, "level"));
        if (!level) throw failure(invalid_params, "'level' must be one of debug, info, notice, ... emergency");
        of.level = *level;
        return result(boost::json::object());
      }
      const bool watches = method == "resources/subscribe";
      if ((watches || method == "resources/unsubscribe") && !core.resources.empty()) {
        const std::optional<std::string> uri(if_text_at(params, "uri"));
        if (!uri || uri->size() > 8192) throw failure(invalid_params, "'uri' must be a string");
        if (!watches) {
          of.watched.erase(*uri);
        } else if (of.watched.size() < 1000) {
          of.watched.insert(*uri);
        } else {
          throw failure(internal_error, "too many subscriptions");
        }
        return result(boost::json::object());
      }
    }
    return reply(rpc_error(pending.id, method_not_found, "Method not found: " + one_line(method, 100)),
                 reply_kind::unknown_method);
  }

  static std::string instructions(const session_state& of) {
    const std::optional<std::string>& own = of.core->options().instructions();
    return own ? *own : default_instructions(*of.core);
  }

  static boost::json::object discovered(const session_state& of) {
    boost::json::object result;
    boost::json::array versions;
    versions.emplace_back(json_view(modern_version));
    result["supportedVersions"] = std::move(versions);
    result["capabilities"] = of.core->capabilities();
    if (const std::string words = instructions(of); !words.empty()) result["instructions"] = words;
    return result;
  }

  static reply initialize(session_state& of, request& pending) {
    const boost::json::object& params = pending.message.params;
    if (!of.version.empty()) throw failure(invalid_request, "Invalid Request: this session is already initialized");
    const std::optional<std::string> requested_version(if_text_at(params, "protocolVersion"));
    const boost::json::object* const capabilities = object_at(params, "capabilities");
    if (!requested_version) throw failure(invalid_params, "'protocolVersion' must be a string");
    if (capabilities == nullptr) throw failure(invalid_params, "'capabilities' must be an object");
    if (object_at(params, "clientInfo") == nullptr) throw failure(invalid_params, "'clientInfo' must be an object");
    // The client's capabilities are kept as long as the client is connected, so their size is limited.
    if (pending.message.size > 256 * 1024) throw failure(invalid_params, "the handshake is larger than 256 KiB");
    of.version = std::string(negotiate(*requested_version));
    of.capabilities = *capabilities;
    boost::json::object result;
    result["protocolVersion"] = of.version;
    result["capabilities"] = of.core->capabilities();
    result["serverInfo"] = of.core->identity(of.version);
    if (const std::string words = instructions(of); !words.empty()) result["instructions"] = words;
    return reply(rpc_result(pending.id, result));
  }

  // ---- the methods for tools ----
  /// Returns the purpose of a sealed state (a signed text that the client sends back, see `sealed_states`): the client,
  /// the method, and the name, URI and arguments of the request.
  static std::string purpose(const session_state& of, const request& pending) {
    const boost::json::object& params = pending.message.params;
    std::string text = of.principal + '\0' + pending.message.method;
    for (const char* const member : {"name", "uri", "arguments"}) {
      text += '\0';
      if (const boost::json::value* const found = params.if_contains(member)) text += boost::json::serialize(*found);
    }
    return text;
  }

  /// Reads a request that the client repeats because the server has asked it for input. Gives the client's answers, and
  /// the state that the server sent with its question, to the handler through `invocation`. The state is encrypted, so
  /// that a client cannot change it.
  static void resume(session_state& of, const request& pending, call& invocation) {
    const boost::json::object& params = pending.message.params;
    if (!pending.modern) return;
    boost::json::object responses;
    if (const boost::json::object* const given = object_at(params, "inputResponses")) responses = *given;
    std::string state;
    if (const boost::json::value* const given = params.if_contains("requestState"); given != nullptr) {
      const failure wrong(invalid_params, "'requestState' was not issued by this server for this request");
      if (!given->is_string()) throw wrong;
      const std::optional<std::string> opened =
          of.core->sealed.open(purpose(of, pending), view_of(given->get_string()));
      if (!opened) throw wrong;
      state = *opened;
    }
    invocation.resume(std::move(responses), std::move(state));
  }

  static boost::json::object asked_for(session_state& of, const request& pending, const answer& handler_answer) {
    if (!pending.modern) throw failure(internal_error, "This request needs a client of version 2026-07-28 or newer");
    for (const auto& each : *handler_answer.requests()) {
      const boost::json::object* const input_request = each.value().if_object();
      const std::string method = input_request == nullptr ? "" : std::string(text_at(*input_request, "method"));
      const std::string capability = method.substr(0, method.find('/'));
      if (!pending.capabilities.contains(json_view(capability))) throw failure::missing_capability(capability);
    }
    boost::json::object result;
    result["resultType"] = "input_required";
    if (!handler_answer.requests()->empty()) result["inputRequests"] = *handler_answer.requests();
    if (!handler_answer.state().empty())
      result["requestState"] = of.core->sealed.seal(purpose(of, pending), handler_answer.state());
    return result;
  }

  static boost::json::object arguments_of(const request& pending) {
    const boost::json::value* const given = pending.message.params.if_contains("arguments");
    if (given == nullptr || given->is_null()) return {};
    if (!given->is_object()) throw failure(invalid_params, "'arguments' must be an object");
    return given->get_object();
  }

  static awaitable<boost::json::object> call_tool(std::shared_ptr<session_state> of, std::shared_ptr<request> pending) {
    const std::optional<std::string> name(if_text_at(pending->message.params, "name"));
    if (!name) throw failure(invalid_params, "'name' must be a string");
    const std::shared_ptr<const registered_tool> found = of->core->tool(*name);
    if (!found) throw failure(invalid_params, "Unknown tool: " + one_line(*name, 130));
    call invocation(pending, *name, arguments_of(*pending));
    resume(*of, *pending, invocation);
    const auto generation = of->place->generation();
    answer handler_answer;
    std::exception_ptr told;
    try {
      answer worked = co_await found->serve(invocation);
      handler_answer = std::move(worked);
    } catch (const failure&) {
      throw;
    } catch (const error& wrong) {
      if (pending->cancelled || wrong.code() == exec_errc::cancelled) throw;
      const bool lost = cofferdam::detail::is_environment_gone(wrong);
      if (lost) of->place->drop(generation);
      handler_answer = answer::failed(
          "could not run: " + cofferdam::detail::reason_for_model(std::current_exception()) +
          (lost ? "\nThe environment and its files are lost; the next call gets a new environment." : ""));
      if (lost || wrong.code() == exec_errc::provider_failed) told = std::current_exception();
    } catch (...) {  // a handler may throw an object of any type
      if (pending->cancelled) throw;
      told = std::current_exception();
      handler_answer = answer::failed("Error: the tool failed inside the server.");
    }
    if (told) of->core->report("tools/call " + *name, told);
    if (handler_answer.requests()) co_return finished(*of, *pending, asked_for(*of, *pending, handler_answer));
    co_return finished(*of, *pending, tool_result(handler_answer, pending->version));
  }

  // ---- the methods for resources ----
  static failure no_such_resource(const request& pending, const std::string& uri) {
    boost::json::object data;
    data["uri"] = uri;
    return {pending.modern ? int{invalid_params} : int{no_resource}, "Resource not found: " + one_line(uri, 200),
            std::move(data)};
  }

  static awaitable<void> take_turn(std::shared_ptr<session_state> of) {
    try {
      co_await workspace::take_turn(of->place);
    } catch (const error& busy) {
      if (busy.code() != exec_errc::too_large) throw;
      throw failure(internal_error, std::string(busy.what()));
    }
  }

  /// Lists all files of the workspace. If the tree is too large to be listed for each page, lists only its top level.
  static awaitable<std::vector<directory_entry>> workspace_files(std::shared_ptr<session_state> of) {
    const list_options recursive = list_options().entries(100'000).path_bytes(std::size_t{32} * 1024 * 1024);
    const list_options top = list_options(recursive).depth(1);
    std::vector<directory_entry> files;
    bool is_too_large = false;
    try {
      files = co_await of->place->face().files().list(".", recursive);
    } catch (const error& failure) {
      if (failure.code() != exec_errc::too_large) throw;
      is_too_large = true;
    }
    if (is_too_large) files = co_await of->place->face().files().list(".", top);
    co_return files;
  }

  static awaitable<boost::json::object> list_resources(std::shared_ptr<session_state> of,
                                                       std::shared_ptr<request> pending) {
    boost::json::array entries;
    for (const auto& each : of->core->resources)
      if (!each->what.is_template()) entries.push_back(each->what.json(pending->version));
    std::uint64_t revision = of->core->revision;
    if (of->place->may_have_files()) {
      constexpr std::size_t max_entries = 10'000;
      co_await take_turn(of);
      const cofferdam::detail::held_permits turn = of->place->turn();
      const std::vector<directory_entry> files = co_await workspace_files(of);
      for (const directory_entry& each : files) {
        if (!each.is_regular() || entries.size() == max_entries) continue;
        boost::json::object entry;
        entry["uri"] = uri_of(each.path());
        entry["name"] = one_line(each.path(), 200);
        entry["description"] = "A file of the workspace, of " + std::to_string(each.size()) + " bytes.";
        if (const std::string_view type = mime_type_of(each.path()); !type.empty())
          entry["mimeType"] = boost::json::string(json_view(type));
        entry["size"] = each.size();
        entries.push_back(std::move(entry));
      }
      revision = revision * 1'000'003 + entries.size();
    }
    boost::json::object page =
        page_of(pending->message.params, "resources", std::move(entries), of->core->options().page(), revision);
    co_return finished(*of, *pending, std::move(page), 0);
  }

  static awaitable<boost::json::object> read_resource(std::shared_ptr<session_state> of,
                                                      std::shared_ptr<request> pending) {
    const std::optional<std::string> uri(if_text_at(pending->message.params, "uri"));
    if (!uri) throw failure(invalid_params, "'uri' must be a string");
    const auto since = std::chrono::steady_clock::now();
    co_await take_turn(of);
    const cofferdam::detail::held_permits turn = of->place->turn();
    co_await wait_for_room(of, since);
    boost::json::array contents;
    std::shared_ptr<const registered_resource> found;
    boost::json::object variables;
    for (const auto& each : of->core->resources) {
      std::optional<boost::json::object> match = each->what.match(*uri);
      if (!match) continue;
      found = each;
      variables = std::move(*match);
      break;
    }
    if (found) {
      call invocation(pending, *uri, std::move(variables));
      resume(*of, *pending, invocation);
      const content read = co_await found->serve(invocation);
      contents.push_back(read.json().at("resource"));
    } else {
      const std::optional<std::string> path = path_of(*uri);
      if (!path || !of->place->may_have_files()) throw no_such_resource(*pending, *uri);
      boost::json::object file = co_await read_file(of, pending, *uri, *path);
      contents.push_back(std::move(file));
    }
    boost::json::object result;
    result["contents"] = std::move(contents);
    co_return finished(*of, *pending, std::move(result), 0);
  }

  static awaitable<boost::json::object> read_file(std::shared_ptr<session_state> of, std::shared_ptr<request> pending,
                                                  std::string uri, std::string path) {
    constexpr std::size_t max_bytes = std::size_t{8} * 1024 * 1024;
    bytes content;
    try {
      bytes read = co_await of->place->face().read_file(path, max_bytes);
      content = std::move(read);
    } catch (const error& wrong) {
      for (const exec_errc code :
           {exec_errc::not_found, exec_errc::not_a_file, exec_errc::not_a_directory, exec_errc::outside_workspace,
            exec_errc::permission_denied, exec_errc::invalid_argument})
        if (wrong.code() == code) throw no_such_resource(*pending, uri);
      if (wrong.code() == exec_errc::too_large)
        throw failure(invalid_params, "The file is larger than 8 MiB: read parts of it with a tool");
      throw;
    }
    const std::string_view text = as_text(content);
    std::string_view type = mime_type_of(path);
    const bool is_text = (type.empty() || type.starts_with("text/") || type.starts_with("application/json") ||
                          type.ends_with("xml") || type.ends_with("yaml")) &&
                         text.find('\0') == std::string_view::npos &&
                         cofferdam::detail::valid_utf8_prefix(text) == text.size();
    if (type.empty()) type = is_text ? "text/plain" : "application/octet-stream";
    boost::json::object result;
    result["uri"] = uri;
    result["mimeType"] = boost::json::string(json_view(type));
    if (is_text) {
      result["text"] = boost::json::string(json_view(text));
    } else {
      result["blob"] = cofferdam::detail::base64_encode(content);
    }
    co_return result;
  }

  // ---- the methods for prompts and completions ----
  static awaitable<boost::json::object> get_prompt(std::shared_ptr<session_state> of,
                                                   std::shared_ptr<request> pending) {
    const std::optional<std::string> name(if_text_at(pending->message.params, "name"));
    if (!name) throw failure(invalid_params, "'name' must be a string");
    const std::shared_ptr<const registered_prompt> found = of->core->prompt(*name);
    if (!found) throw failure(invalid_params, "Unknown prompt: " + one_line(*name, 130));
    call invocation(pending, *name, arguments_of(*pending));
    for (const boost::json::value& required : found->what.required())
      if (!invocation.arguments().contains(required.get_string()))
        throw failure(invalid_params, "The argument '" + std::string(view_of(required.get_string())) + "' is missing");
    resume(*of, *pending, invocation);
    const std::vector<prompt_message> prompt_messages = co_await found->serve(invocation);
    if (const std::optional<answer>& input_request = invocation.wanted_input())
      co_return finished(*of, *pending, asked_for(*of, *pending, *input_request));
    boost::json::array messages;
    for (const prompt_message& each : prompt_messages) {
      boost::json::object message;
      message["role"] = each.role();
      message["content"] = block_for(each.words(), pending->version);
      messages.push_back(std::move(message));
    }
    boost::json::object result;
    result["description"] = found->what.description();
    result["messages"] = std::move(messages);
    co_return finished(*of, *pending, std::move(result));
  }

  static awaitable<boost::json::object> complete(std::shared_ptr<session_state> of, std::shared_ptr<request> pending) {
    const boost::json::object* const argument = object_at(pending->message.params, "argument");
    if (object_at(pending->message.params, "ref") == nullptr || argument == nullptr || !if_text_at(*argument, "name"))
      throw failure(invalid_params, "'ref' and 'argument' must be objects");
    call invocation(pending, std::string(text_at(*argument, "name")), pending->message.params);
    const std::vector<std::string> values = co_await of->core->complete(invocation);
    boost::json::array shown;
    for (const std::string& each : values)
      if (shown.size() < 100) shown.emplace_back(each);
    boost::json::object completion;
    completion["total"] = values.size();
    completion["hasMore"] = values.size() > shown.size();
    completion["values"] = std::move(shown);
    boost::json::object result;
    result["completion"] = std::move(completion);
    co_return finished(*of, *pending, std::move(result));
  }

  // ---- the method subscriptions/listen ----
  static awaitable<boost::json::object> listen(std::shared_ptr<session_state> of, std::shared_ptr<request> pending) {
    const auto mine = std::make_shared<subscription>(of->core->executor(), pending);
    const boost::json::object has = of->core->capabilities();
    mine->acknowledge(has.contains("tools"), has.contains("prompts"), has.contains("resources"));
    of->subscriptions.push_back(mine);
    const leaving at_end(*of, mine);
    while (!of->closing) co_await mine->ended.wait();
    boost::json::object meta;
    meta[json_view(meta_subscription)] = pending->message.id;
    boost::json::object result;
    result["_meta"] = std::move(meta);
    co_return finished(*of, *pending, std::move(result));
  }

  class leaving {
   public:
    leaving(session_state& of, std::shared_ptr<subscription> subscribed) : of_(of), one_(std::move(subscribed)) {}
    leaving(const leaving&) = delete;
    leaving& operator=(const leaving&) = delete;
    ~leaving() { of_.subscriptions.remove(one_); }

   private:
    session_state& of_;
    std::shared_ptr<subscription> one_;
  };
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
