// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/join_all.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/serve/mcp/client_options.hpp>
#include <cofferdam/serve/mcp/detail/tool_names.hpp>
#include <cofferdam/serve/mcp/remote.hpp>
#include <cofferdam/serve/mcp/servers.hpp>
#include <cofferdam/serve/mcp/toolbox.hpp>
#include <cofferdam/serve/mcp_client.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

namespace detail {

/// A reader of one server of a configuration.
class entry_reader {
 public:
  entry_reader(std::string name, const boost::json::object& object, const variable_lookup& variable)
      : object_(object), variable_(variable) {
    entry_.name = std::move(name);
  }

  server_entry read() {
    const std::string program = text("command");
    entry_.url = text("url");
    if (program.empty() == entry_.url.empty())
      throw wrong("", "needs either a \"command\" (and \"args\") or a \"url\"");
    if (!program.empty()) {
      entry_.words.push_back(program);
      for (std::string& each : list("args")) entry_.words.push_back(std::move(each));
    }
    entry_.variables = pairs("env");
    entry_.headers = pairs("headers");
    entry_.folder = text("cwd");
    entry_.tools = names("tools");
    entry_.approve = names("approve");
    return std::move(entry_);
  }

 private:
  error wrong(std::string_view member, const std::string& why) const {
    return {exec_errc::invalid_argument, "mcpServers: \"" + one_line(entry_.name, 100) + "\"" +
                                             (member.empty() ? "" : ", \"" + std::string(member) + "\"") + ": " + why};
  }

  const boost::json::value* find(std::string_view key) const {
    const boost::json::value* const found = cofferdam::detail::member(object_, key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  std::string text(std::string_view key) const {
    const boost::json::value* const found = find(key);
    return found == nullptr ? std::string() : expanded(key, *found);
  }
  std::vector<std::string> list(std::string_view key) const {
    std::vector<std::string> all;
    const boost::json::value* const found = find(key);
    if (found == nullptr) return all;
    if (!found->is_array()) throw wrong(key, "must be a list of texts");
    for (const boost::json::value& each : found->get_array()) all.push_back(expanded(key, each));
    return all;
  }
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view key) const {
    std::vector<std::pair<std::string, std::string>> all;
    const boost::json::value* const found = find(key);
    if (found == nullptr) return all;
    if (!found->is_object()) throw wrong(key, "must be an object of texts");
    for (const auto& each : found->get_object())
      all.emplace_back(std::string(each.key().data(), each.key().size()), expanded(key, each.value()));
    return all;
  }
  /// Reads names of tools: a list, or one text.
  std::vector<std::string> names(std::string_view key) const {
    const boost::json::value* const found = find(key);
    if (found == nullptr || !found->is_string()) return list(key);
    return {std::string(cofferdam::detail::view_of(found->get_string()))};
  }

  /// Replaces the variables in a text.
  std::string expanded(std::string_view key, const boost::json::value& value) const {
    if (!value.is_string()) throw wrong(key, "must be text");
    std::string_view rest = cofferdam::detail::view_of(value.get_string());
    std::string made;
    for (;;) {
      const std::size_t begin = rest.find("${");
      made += rest.substr(0, begin);
      if (begin == std::string_view::npos) return made;
      rest.remove_prefix(begin + 2);
      const std::size_t end = rest.find('}');
      if (end == std::string_view::npos) throw wrong(key, "\"${\" has no \"}\"");
      const std::string_view inside = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      const std::size_t dash = inside.find(":-");
      const std::string name(inside.substr(0, dash));
      const std::optional<std::string> set = variable_(name);
      if (set && (!set->empty() || dash == std::string_view::npos)) {
        made += *set;
      } else if (dash != std::string_view::npos) {
        made += inside.substr(dash + 2);
      } else {
        throw wrong(key, "the environment variable " + one_line(name, 100) + " is not set");
      }
    }
  }

  const boost::json::object& object_;
  const variable_lookup& variable_;
  server_entry entry_;
};

/// A running server of a configuration.
class open_server {
 public:
  explicit open_server(server_entry from) : entry(std::move(from)) {}

  server_entry entry;
  local_environment place;  // of a program; outlives the client
  client connected;

  static awaitable<void> begin(open_server& self, client_options options) {
    try {
      if (self.entry.url.empty()) {
        local recipe = local().without_warning();
        if (!self.entry.folder.empty()) recipe.workspace(self.entry.folder);
        self.place = co_await recipe.open();
        command program = argv(self.entry.words);
        for (const auto& [name, value] : self.entry.variables) program.variable(name, value);
        self.connected = co_await client::start(self.place, std::move(program), std::move(options));
      } else {
        for (const auto& [name, value] : self.entry.headers) options.header(name, value);
        self.connected = co_await client::connect(self.entry.url, std::move(options));
      }
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;
      throw self.named(failure, failure.what());
    }
  }
  /// Returns an error of the server with its name.
  error named(const error& failure, const std::string& why) const {
    return {static_cast<exec_errc>(failure.code().value()), "the server \"" + one_line(entry.name, 100) + "\": " + why};
  }
  static awaitable<void> end(open_server& self) {
    co_await self.connected.close();
    co_await self.place.close();
  }
};

/// Starts servers at the same time.
class server_starts {
 public:
  server_starts(std::vector<std::unique_ptr<open_server>>& servers, client_options options)
      : servers_(servers), options_(std::move(options)) {}
  server_starts(const server_starts&) = delete;
  server_starts& operator=(const server_starts&) = delete;

  /// Starts all servers. If one fails, the others are cancelled.
  /// \throws the first error.
  static awaitable<void> run(server_starts& self) {
    const auto begins = [&self](std::size_t number) { return begin(self, number); };
    co_await cofferdam::detail::join_all(self.servers_.size(), self.servers_.size(), begins);
  }

 private:
  static awaitable<void> begin(server_starts& self, std::size_t number) {
    if (self.has_failed_) co_return;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    if (!self.failed_) self.failed_.emplace(executor);
    auto both = asio::experimental::make_parallel_group(
        asio::co_spawn(executor, open_server::begin(*self.servers_[number], self.options_),
                       cofferdam::detail::deferred),
        asio::co_spawn(executor, until_failure(self), cofferdam::detail::deferred));
    const auto result = co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    const std::exception_ptr failure = std::get<1>(result);
    if (!failure) co_return;
    self.has_failed_ = true;
    self.failed_->notify();
    std::rethrow_exception(failure);
  }

  static awaitable<void> until_failure(server_starts& self) {
    if (!self.has_failed_) co_await self.failed_->wait();
  }

  std::vector<std::unique_ptr<open_server>>& servers_;
  client_options options_;
  std::optional<cofferdam::detail::async_event> failed_;  // notified when a server could not be started
  bool has_failed_ = false;
};

inline awaitable<void> close_each(std::vector<std::unique_ptr<open_server>>& servers) {
  for (const std::unique_ptr<open_server>& each : servers) co_await open_server::end(*each);
  servers.clear();
}

inline awaitable<void> close_servers(std::vector<std::unique_ptr<open_server>>& servers) {
  const std::function<awaitable<void>()> closes = [&servers] { return close_each(servers); };
  co_await cofferdam::detail::shielded(closes);
}

/// \throws error{exec_errc::not_found} if `approve` names a tool that the server does not have.
inline awaitable<void> check_approved(open_server& server) {
  const std::vector<std::string>& names = server.entry.approve;
  if (std::all_of(names.begin(), names.end(), [](const std::string& name) { return name == "*"; })) co_return;
  const std::vector<remote_tool> listed = co_await server.connected.tools();
  for (const std::string& name : names) {
    const bool is_found = name == "*" || std::any_of(listed.begin(), listed.end(),
                                                     [&](const remote_tool& tool) { return tool.name() == name; });
    if (!is_found)
      throw error(exec_errc::not_found, "\"approve\" names the tool \"" + one_line(name, 100) +
                                            "\", which it does not have; " + tool_names(listed));
  }
}

inline awaitable<void> offer_servers(std::vector<std::unique_ptr<open_server>>& servers, toolbox& box) {
  std::map<std::string, std::vector<std::string>> approved;
  for (const std::unique_ptr<open_server>& each : servers) {
    if (each->entry.tools.empty())
      throw error(exec_errc::invalid_argument,
                  "mcpServers: \"" + one_line(each->entry.name, 100) +
                      "\": add \"tools\", the names of the tools that code may call, or \"*\" for all of them");
    try {
      co_await box.add(each->entry.name, each->connected, each->entry.tools);
      co_await check_approved(*each);
    } catch (const error& failure) {
      const std::string_view why = failure.what();
      if (failure.code() == exec_errc::cancelled || why.starts_with("mcp::toolbox: ")) throw;
      throw each->named(failure, std::string(why));
    }
    approved[each->entry.name] = each->entry.approve;
  }
  const call_approval ask = [approved](const tool_call& call) -> awaitable<bool> {
    const auto found = approved.find(call.server());
    if (found == approved.end()) co_return false;
    const std::vector<std::string>& names = found->second;
    co_return std::any_of(names.begin(), names.end(),
                          [&](const std::string& name) { return name == "*" || name == call.tool().name(); });
  };
  box.approve(ask);
}

}  // namespace detail

COFFERDAM_DECL std::vector<server_entry> read_servers(std::string_view text, variable_lookup variable) {
  if (!variable)
    variable = [](const std::string& name) -> std::optional<std::string> {
      // std::getenv is safe as long as no other thread changes environment variables.
      const char* const value = std::getenv(name.c_str());
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
  std::error_code failure;
  const boost::json::value whole = cofferdam::detail::parse_untrusted_json(text, failure);
  if (failure) throw error(exec_errc::invalid_argument, "mcpServers: the text is not JSON: " + failure.message());
  const boost::json::object* const listed = cofferdam::detail::object_at(whole.if_object(), "mcpServers");
  if (listed == nullptr)
    throw error(exec_errc::invalid_argument,
                "mcpServers: the text must be an object with the member \"mcpServers\", an object of servers");
  std::vector<server_entry> entries;
  for (const auto& each : *listed) {
    const std::string name(each.key().data(), each.key().size());
    const boost::json::object* const object = each.value().if_object();
    if (object == nullptr)
      throw error(exec_errc::invalid_argument, "mcpServers: \"" + one_line(name, 100) + "\" must be an object");
    if (cofferdam::detail::is_true_at(*object, "disabled")) continue;
    entries.push_back(detail::entry_reader(name, *object, variable).read());
  }
  return entries;
}

COFFERDAM_DECL connected_servers::connected_servers() = default;
COFFERDAM_DECL connected_servers::connected_servers(connected_servers&&) noexcept = default;
COFFERDAM_DECL connected_servers& connected_servers::operator=(connected_servers&&) noexcept = default;
COFFERDAM_DECL connected_servers::~connected_servers() = default;

COFFERDAM_DECL awaitable<connected_servers> connected_servers::open(std::vector<server_entry> entries,
                                                                    client_options options) {
  connected_servers opened;
  for (server_entry& each : entries) opened.servers_.push_back(std::make_unique<detail::open_server>(std::move(each)));
  detail::server_starts starts(opened.servers_, std::move(options));
  const auto begins = [&starts] { return detail::server_starts::run(starts); };
  const auto ends = [&opened] { return detail::close_servers(opened.servers_); };
  co_await cofferdam::detail::with_cleanup_after_failure(begins, ends);
  co_return opened;
}

COFFERDAM_DECL client& connected_servers::find(std::string_view name) {
  for (const std::unique_ptr<detail::open_server>& each : servers_)
    if (each->entry.name == name) return each->connected;
  throw error(exec_errc::not_found, "mcp: there is no server \"" + one_line(name, 100) + "\"");
}

COFFERDAM_DECL awaitable<void> connected_servers::offer(toolbox& box) { return detail::offer_servers(servers_, box); }

namespace detail {

COFFERDAM_DECL awaitable<void> use_servers(std::vector<server_entry> entries,
                                           std::function<awaitable<void>(connected_servers&)> body) {
  connected_servers opened;
  const auto runs = [&]() -> awaitable<void> {
    opened = co_await connected_servers::open(std::move(entries));
    co_await body(opened);
  };
  const auto ends = [&opened] { return opened.close(); };
  co_await cofferdam::detail::with_cleanup(runs, ends);
}

}  // namespace detail

COFFERDAM_DECL awaitable<void> connected_servers::close() { return detail::close_servers(servers_); }

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
