// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_origin.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/version.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

/// The settings of an MCP server: its description, its limits, and the clients that it accepts.
class server_options {
 public:
  server_options() = default;

  /// Sets the names of the server.
  /// \param for_programs  the name that identifies the server in the protocol. Default: "cofferdam".
  /// \param for_people    the title that clients show; an empty title is left out.
  server_options& name(std::string for_programs, std::string for_people = {}) {
    name_ = std::move(for_programs);
    title_ = std::move(for_people);
    return *this;
  }
  /// Sets the version of the server that clients see. Default: the version of this library.
  server_options& version(std::string text) {
    version_ = std::move(text);
    return *this;
  }
  /// Sets a paragraph of instructions for the model; an empty text is left out. Default: a few sentences that say which
  /// of the server's tools to use for which task; none if the server has neither `code_exec` nor `run_python`.
  server_options& instructions(std::string text) {
    instructions_ = std::move(text);
    return *this;
  }
  /// Adds a sentence about the environment to the descriptions of the tools that run commands or Python, such as "There
  /// is no internet access."
  server_options& about_environment(std::string text) {
    about_environment_ = std::move(text);
    return *this;
  }
  /// Adds a paragraph to the description of `run_python` only, such as `toolbox::description()`.
  server_options& about_python(std::string text) {
    about_python_ = std::move(text);
    return *this;
  }
  /// Declares if commands can reach the network. Clients see it as a hint of the tools. Default: true.
  server_options& open_world(bool reaches) {
    open_world_ = reaches;
    return *this;
  }

  /// Sets the time limit of a command if the call requests none. Default: 120 s.
  /// \throws error{exec_errc::invalid_argument} unless the time is one second to one year.
  server_options& command_timeout(std::chrono::seconds usual) { return set(command_timeout_, usual); }
  /// Sets the time limit of Python code if the call requests none. Default: 60 s; one second to one year.
  server_options& python_timeout(std::chrono::seconds usual) { return set(python_timeout_, usual); }
  /// Sets the maximum time limit that a call may request. Default: one hour; one second to one year.
  server_options& max_timeout(std::chrono::seconds limit) { return set(max_timeout_, limit); }
  /// Sets the maximum number of Python interpreters that a client may have besides its default interpreter. An
  /// interpreter is ended after it was unused for the time `idle`. Default: 16 interpreters and 30 minutes.
  server_options& python_contexts(std::size_t limit, std::chrono::seconds idle = std::chrono::minutes(30)) {
    max_contexts_ = limit;
    return set(context_timeout_, idle);
  }
  /// Sets a folder of this machine from which clients may copy files with the tool `upload_file`. Default: none; there
  /// is no such tool. Clients cannot leave the folder, not even through links in it. One call copies at most 1 GiB. Set
  /// the folder before the server is made.
  server_options& input_folder(std::string path) {
    input_folder_ = std::move(path);
    return *this;
  }
  /// Sets a folder of this machine to which clients may copy files with the tool `download_file`. Default: none.
  /// Clients cannot leave the folder, not even through links in it. All clients share the folder, so a client that can
  /// read it sees the files of the others. One call copies at most 1 GiB. Set the folder before the server is made.
  server_options& output_folder(std::string path) {
    output_folder_ = std::move(path);
    return *this;
  }
  /// Sets the maximum bytes of each output stream in an answer. The middle of a longer stream is left out. Default:
  /// 20,000.
  server_options& kept_output(std::size_t max_bytes) {
    kept_output_ = max_bytes;
    return *this;
  }
  /// Sets the maximum number of calls that run at the same time in one environment, and the maximum number of calls
  /// that wait for them. More calls are refused. Default: 8 and 64.
  /// \throws error{exec_errc::invalid_argument} if `at_once` is 0.
  server_options& calls(std::size_t at_once, std::size_t waiting) {
    if (at_once == 0)
      throw error(exec_errc::invalid_argument, "mcp: the maximum number of calls at once must be at least 1");
    at_once_ = at_once;
    waiting_ = waiting;
    return *this;
  }
  /// Sets the maximum number of unanswered requests of one client; more requests are refused. Default: 128.
  server_options& requests(std::size_t limit) {
    requests_ = limit;
    return *this;
  }
  /// Sets the maximum size of a message from a client, in bytes. Default: 4 MiB; at least 1. The number of JSON values
  /// in a message is limited too: one for every 40 bytes of this maximum, but at least 1,000. The reason is that a
  /// message with many values takes long to parse, and delays all other clients.
  /// \throws error{exec_errc::invalid_argument} for 0.
  server_options& message(std::size_t max_bytes) {
    if (max_bytes == 0)
      throw error(exec_errc::invalid_argument, "mcp: the maximum size of a message must be at least one byte");
    message_ = max_bytes;
    return *this;
  }
  /// Sets the maximum number of entries in one page of a list. Default: 100; at least 1.
  server_options& page(std::size_t max_entries) {
    if (max_entries == 0)
      throw error(exec_errc::invalid_argument, "mcp: the size of a page must be at least one entry");
    page_ = max_entries;
    return *this;
  }
  /// Declares if a new environment contains files. If so, a request for the list of files opens the client's
  /// environment. If not, the list is empty until a tool has opened the environment. Default: false.
  server_options& has_files(bool has) {
    has_files_ = has;
    return *this;
  }

  /// For HTTP: sets the maximum memory of all messages that are being received or handled, in bytes. Messages of up to
  /// 16 KiB do not count; other messages wait until there is memory. If there are several tokens, the clients of each
  /// token may use an equal share, but at least a quarter, and always enough for one message. Default: 64 MiB.
  /// \throws error{exec_errc::invalid_argument} for 0.
  server_options& memory(std::size_t max_bytes) {
    if (max_bytes == 0)
      throw error(exec_errc::invalid_argument, "mcp: the memory of messages must be at least one byte");
    memory_ = max_bytes;
    return *this;
  }
  /// For HTTP: sets the time limit for the arrival of a message, including its wait for memory. A late message is
  /// answered with status 408, or with status 503 if it waited for memory. From 10 ms to one hour; default: one minute.
  /// \throws error{exec_errc::invalid_argument} for a time outside of this range.
  server_options& message_timeout(std::chrono::milliseconds limit) {
    if (limit < std::chrono::milliseconds(10) || limit > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument, "mcp: the message time must be from 10 ms to an hour");
    message_timeout_ = limit;
    return *this;
  }

  /// For HTTP: accepts clients without a token. Then every user of this machine, and every program of such a user, can
  /// use the server. This is allowed only for a loopback listener.
  server_options& without_token() {
    without_token_ = true;
    return *this;
  }
  /// For HTTP: adds a token. Clients must send one of the tokens as `Authorization: Bearer TOKEN`. Each token has its
  /// own sessions and environments.
  /// \param secret  at least 16 visible ASCII characters.
  /// \throws error{exec_errc::invalid_argument} for another secret.
  server_options& token(std::string secret) {
    bool good = secret.size() >= 16;
    for (const char c : secret) good = good && c > ' ' && c < 0x7F;
    if (!good) throw error(exec_errc::invalid_argument, "mcp: a token must have at least 16 visible characters");
    tokens_.push_back(std::move(secret));
    return *this;
  }
  /// For HTTP: sets the path of the endpoint. It begins with a slash. Default: "/mcp".
  /// \throws error{exec_errc::invalid_argument} for another path.
  server_options& path(std::string where) {
    if (!where.starts_with('/')) throw error(exec_errc::invalid_argument, "mcp: the path must begin with a slash");
    path_ = std::move(where);
    return *this;
  }
  /// For HTTP: adds a host that requests may name in their `Host` field. The names of loopback are always allowed.
  /// \param name  with a port, or without a port, which allows every port.
  server_options& host(std::string name) {
    hosts_.push_back(std::move(name));
    return *this;
  }
  /// For HTTP: adds an origin of web pages that may send requests and read the replies (CORS). Pages of this machine
  /// and of the hosts of `host` may always send requests, but a browser lets them read the replies only if their origin
  /// is the server's own, or was added here.
  /// \param page  the origin, for example `https://app.example`, `http://localhost:5173` or `chrome-extension://abc`:
  ///              without a path. The usual port of http and https is removed, because browsers do not send it.
  /// \throws error{exec_errc::invalid_argument} for another text; also for `*` and `null`.
  server_options& origin(std::string page) {
    origins_.push_back(cofferdam::detail::require_origin("mcp::server_options::origin", std::move(page)));
    return *this;
  }
  /// For HTTP: sets the maximum number of sessions, and the time after which an unused session is ended. In the modern
  /// era (2026-07-28) there are no sessions. Instead, each environment that clients of a token name in the header field
  /// `Cofferdam-Place` (see `server::serve`) counts as one; the environment without a name does not count. If there are
  /// several tokens, each has an equal share of the sessions, at least one. When a token's share is used up, its new
  /// sessions get status 503. Default: 256 sessions and 30 minutes.
  server_options& sessions(std::size_t limit, std::chrono::seconds idle = std::chrono::minutes(30)) {
    sessions_ = limit;
    return set(session_timeout_, idle);
  }
  /// For HTTP in the legacy era (protocol versions up to 2025-11-25): sets if the answer to a request is sent as plain
  /// JSON when no other message accompanies it. Otherwise every answer is an event stream, which a client can resume
  /// after a lost connection. Default: true.
  server_options& json_answers(bool sends) {
    json_answers_ = sends;
    return *this;
  }
  /// For HTTP: sets the limits of connections. The hosts, the origins, the maximum size of a body and the stop timeout
  /// in `settings` are ignored, because the server sets them itself. Default: at most 1024 connections at a time.
  server_options& http(http_server_settings settings) {
    http_ = std::move(settings);
    return *this;
  }
  /// Sets a callable that receives failures which are not reported to clients. It must not throw. Default: none.
  /// \param handler  receives the name of the failed operation and the exception.
  server_options& on_error(std::function<void(const std::string& doing, std::exception_ptr)> handler) {
    on_error_ = std::move(handler);
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  /// Returns the title of the server, which clients show to people.
  const std::string& title() const noexcept { return title_; }
  const std::string& version() const noexcept { return version_; }
  const std::optional<std::string>& instructions() const noexcept { return instructions_; }
  const std::string& about_environment() const noexcept { return about_environment_; }
  const std::string& about_python() const noexcept { return about_python_; }
  bool open_world() const noexcept { return open_world_; }
  std::chrono::seconds command_timeout() const noexcept { return command_timeout_; }
  std::chrono::seconds python_timeout() const noexcept { return python_timeout_; }
  std::chrono::seconds max_timeout() const noexcept { return max_timeout_; }
  /// Returns the maximum number of Python interpreters of a client besides its default interpreter.
  std::size_t max_contexts() const noexcept { return max_contexts_; }
  /// Returns the time without use after which a Python interpreter is ended.
  std::chrono::seconds context_timeout() const noexcept { return context_timeout_; }
  const std::string& input_folder() const noexcept { return input_folder_; }
  const std::string& output_folder() const noexcept { return output_folder_; }
  std::size_t kept_output() const noexcept { return kept_output_; }
  /// Returns the maximum number of calls that run at the same time in one environment.
  std::size_t at_once() const noexcept { return at_once_; }
  /// Returns the maximum number of calls that wait for one environment.
  std::size_t waiting() const noexcept { return waiting_; }
  std::size_t requests() const noexcept { return requests_; }
  std::size_t message() const noexcept { return message_; }
  std::size_t page() const noexcept { return page_; }
  bool has_files() const noexcept { return has_files_; }
  std::size_t memory() const noexcept { return memory_; }
  std::chrono::milliseconds message_timeout() const noexcept { return message_timeout_; }
  /// Returns the tokens that HTTP clients may use.
  const std::vector<std::string>& tokens() const noexcept { return tokens_; }
  /// Returns true if HTTP clients need a token.
  bool needs_token() const noexcept { return !without_token_; }
  const std::string& path() const noexcept { return path_; }
  /// Returns the hosts that `host` has added.
  const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  /// Returns the origins that `origin` has added.
  const std::vector<std::string>& origins() const noexcept { return origins_; }
  bool json_answers() const noexcept { return json_answers_; }
  std::size_t sessions() const noexcept { return sessions_; }
  /// Returns the time without use after which an HTTP session is ended.
  std::chrono::seconds session_timeout() const noexcept { return session_timeout_; }
  const http_server_settings& http() const noexcept { return http_; }
  /// Returns the callable that receives failures which are not reported to clients; may be empty.
  const std::function<void(const std::string&, std::exception_ptr)>& on_error() const noexcept { return on_error_; }

 private:
  server_options& set(std::chrono::seconds& which, std::chrono::seconds value) {
    if (value <= std::chrono::seconds::zero() || value > std::chrono::hours(24 * 365))
      throw error(exec_errc::invalid_argument, "mcp: a time limit must be at least a second and at most a year");
    which = value;
    return *this;
  }

  std::string name_ = "cofferdam";
  std::string title_;
  std::string version_ = std::string(::cofferdam::version);
  std::optional<std::string> instructions_;
  std::string about_environment_;
  std::string about_python_;
  bool open_world_ = true;
  bool has_files_ = false;
  bool json_answers_ = true;
  bool without_token_ = false;
  std::chrono::seconds command_timeout_{120};
  std::chrono::seconds python_timeout_{60};
  std::chrono::seconds max_timeout_{3600};
  std::size_t max_contexts_ = 16;
  std::chrono::seconds context_timeout_{1800};
  std::string input_folder_;
  std::string output_folder_;
  std::size_t kept_output_ = 20'000;
  std::size_t at_once_ = 8;
  std::size_t waiting_ = 64;
  std::size_t requests_ = 128;
  std::size_t message_ = std::size_t{4} * 1024 * 1024;
  std::size_t memory_ = std::size_t{64} * 1024 * 1024;
  std::chrono::milliseconds message_timeout_{60'000};
  std::size_t page_ = 100;
  std::size_t sessions_ = 256;
  std::chrono::seconds session_timeout_{1800};
  std::vector<std::string> tokens_;
  std::string path_ = "/mcp";
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
  http_server_settings http_ = http_server_settings().connections(1024);
  std::function<void(const std::string&, std::exception_ptr)> on_error_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
