// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
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

/// The settings of a server: its description, its limits and its clients.
class server_options {
 public:
  server_options() = default;

  /// Sets the server's names: one for programs, and one for people.
  server_options& name(std::string for_programs, std::string for_people = {}) {
    name_ = std::move(for_programs);
    title_ = std::move(for_people);
    return *this;
  }
  server_options& version(std::string text) {
    version_ = std::move(text);
    return *this;
  }
  /// Sets a paragraph of instructions for the model. Default: a text that matches the tools.
  server_options& instructions(std::string text) {
    instructions_ = std::move(text);
    return *this;
  }
  /// Adds a sentence to the end of the command tools' descriptions: "There is no internet access."
  server_options& about_environment(std::string text) {
    about_environment_ = std::move(text);
    return *this;
  }
  /// Sets if commands can reach the network, for the hints of tools. Default true.
  server_options& open_world(bool reaches) {
    open_world_ = reaches;
    return *this;
  }

  /// Sets the time limits of commands and of Python code without one. Default 120 s and 60 s.
  /// \throws error{exec_errc::invalid_argument}
  server_options& command_timeout(std::chrono::seconds usual) { return set(command_timeout_, usual); }
  server_options& python_timeout(std::chrono::seconds usual) { return set(python_timeout_, usual); }
  /// Sets the maximum time limit that a call may request. Default one hour.
  server_options& max_timeout(std::chrono::seconds limit) { return set(max_timeout_, limit); }
  /// Sets how many Python interpreters a client may have besides the default one, and the idle time after which one is
  /// ended. Default 16 and 30 minutes.
  server_options& python_contexts(std::size_t limit, std::chrono::seconds idle = std::chrono::minutes(30)) {
    max_contexts_ = limit;
    return set(context_timeout_, idle);
  }
  /// Sets a folder of this machine from which clients may copy files by the tool `upload_file`, or one to which they
  /// may copy by `download_file`. Default: none. Clients cannot leave these folders, even through links in them. All
  /// clients that can read the output folder see each other's files there. At most 1 GiB per call. Set it before the
  /// server is made.
  server_options& input_folder(std::string path) {
    input_folder_ = std::move(path);
    return *this;
  }
  server_options& output_folder(std::string path) {
    output_folder_ = std::move(path);
    return *this;
  }
  /// Sets the maximum bytes of each output stream in an answer; of more the middle is left out. Default 20,000.
  server_options& kept_output(std::size_t max_bytes) {
    kept_output_ = max_bytes;
    return *this;
  }
  /// Sets how many calls run at once in one environment, and how many may wait. Default 8 and 64.
  server_options& calls(std::size_t at_once, std::size_t waiting) {
    if (at_once == 0) throw error(exec_errc::invalid_argument, "mcp: at least one call must be able to run");
    at_once_ = at_once;
    waiting_ = waiting;
    return *this;
  }
  /// Sets the maximum number of unanswered requests of one client. Default 128.
  server_options& requests(std::size_t limit) {
    requests_ = limit;
    return *this;
  }
  /// Sets the maximum size of a message from a client in bytes. It may have one JSON value for each 40 bytes of this
  /// limit (at least 1,000), because parsing values delays all other clients. Default 4 MiB; at least 1.
  /// \throws error{exec_errc::invalid_argument}
  server_options& message(std::size_t max_bytes) {
    if (max_bytes == 0) throw error(exec_errc::invalid_argument, "mcp: a message has at least one byte");
    message_ = max_bytes;
    return *this;
  }
  /// Sets the maximum number of entries in one page of a list. Default 100.
  server_options& page(std::size_t max_entries) {
    if (max_entries == 0) throw error(exec_errc::invalid_argument, "mcp: a page has at least one entry");
    page_ = max_entries;
    return *this;
  }
  /// Declares that environments contain files before anything has run in them: they are opened to list the files.
  server_options& has_files(bool has) {
    has_files_ = has;
    return *this;
  }

  /// HTTP: limits the memory of all messages of more than 16 KiB that are being received or handled, in bytes; others
  /// wait. With several tokens, the clients of each have an equal share, but at least a quarter and room for one
  /// message. Default 64 MiB, and at least one message.
  /// \throws error{exec_errc::invalid_argument}
  server_options& memory(std::size_t max_bytes) {
    if (max_bytes == 0) throw error(exec_errc::invalid_argument, "mcp: the memory of messages is at least one byte");
    memory_ = max_bytes;
    return *this;
  }
  /// HTTP: limits the time for the arrival of a message, including the wait for memory: 408, or 503 if it waited for
  /// memory. From 10 ms to an hour; default one minute.
  /// \throws error{exec_errc::invalid_argument}
  server_options& message_timeout(std::chrono::milliseconds limit) {
    if (limit < std::chrono::milliseconds(10) || limit > std::chrono::hours(1))
      throw error(exec_errc::invalid_argument, "mcp: the message time is 10 ms to an hour");
    message_timeout_ = limit;
    return *this;
  }

  /// HTTP: serves every client that can connect, without a token: every user of this machine, and every program of such
  /// a user, can use this server. On loopback only.
  server_options& without_token() {
    without_token_ = true;
    return *this;
  }
  /// HTTP: serves clients that send `Authorization: Bearer TOKEN`; each token has its own sessions and environments. At
  /// least 16 characters.
  /// \throws error{exec_errc::invalid_argument}
  server_options& token(std::string secret) {
    bool good = secret.size() >= 16;
    for (const char c : secret) good = good && c > ' ' && c < 0x7F;
    if (!good) throw error(exec_errc::invalid_argument, "mcp: a token has at least 16 visible characters");
    tokens_.push_back(std::move(secret));
    return *this;
  }
  /// HTTP: sets the path of the endpoint. Default "/mcp".
  server_options& path(std::string where) {
    if (!where.starts_with('/')) throw error(exec_errc::invalid_argument, "mcp: the path begins with a slash");
    path_ = std::move(where);
    return *this;
  }
  /// HTTP: adds hosts that requests may name, besides those of loopback; names without a port, or with one.
  server_options& host(std::string name) {
    hosts_.push_back(std::move(name));
    return *this;
  }
  /// HTTP: adds origins of web pages that may send requests, besides those of this machine: "https://app.example".
  server_options& origin(std::string page) {
    origins_.push_back(std::move(page));
    return *this;
  }
  /// HTTP: sets the maximum number of sessions of legacy clients and named places of modern ones, and the time after
  /// which an unused one ends. Default 256 and 30 minutes. With several tokens, each has an equal share, at least one;
  /// beyond it, new sessions are refused (503) until one of the same token ends. The place without a name, one for each
  /// token, is not counted.
  server_options& sessions(std::size_t limit, std::chrono::seconds idle = std::chrono::minutes(30)) {
    sessions_ = limit;
    return set(session_timeout_, idle);
  }
  /// HTTP, legacy era: sets if a single answer is sent as JSON. Default true. If false, all answers are streams, which
  /// clients can resume from the first byte on.
  server_options& json_answers(bool sends) {
    json_answers_ = sends;
    return *this;
  }
  /// HTTP: sets the limits of connections. Default: 1024 at once. Hosts, origins and the body's size have their own
  /// settings.
  server_options& http(http_server_settings settings) {
    http_ = std::move(settings);
    return *this;
  }
  /// Receives failures that are not reported to clients; must not throw. Default: none.
  server_options& on_error(std::function<void(const std::string& doing, std::exception_ptr)> told) {
    on_error_ = std::move(told);
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& title() const noexcept { return title_; }
  const std::string& version() const noexcept { return version_; }
  const std::optional<std::string>& instructions() const noexcept { return instructions_; }
  const std::string& about_environment() const noexcept { return about_environment_; }
  bool open_world() const noexcept { return open_world_; }
  std::chrono::seconds command_timeout() const noexcept { return command_timeout_; }
  std::chrono::seconds python_timeout() const noexcept { return python_timeout_; }
  std::chrono::seconds max_timeout() const noexcept { return max_timeout_; }
  std::size_t max_contexts() const noexcept { return max_contexts_; }
  std::chrono::seconds context_timeout() const noexcept { return context_timeout_; }
  const std::string& input_folder() const noexcept { return input_folder_; }
  const std::string& output_folder() const noexcept { return output_folder_; }
  std::size_t kept_output() const noexcept { return kept_output_; }
  std::size_t at_once() const noexcept { return at_once_; }
  std::size_t waiting() const noexcept { return waiting_; }
  std::size_t requests() const noexcept { return requests_; }
  std::size_t message() const noexcept { return message_; }
  std::size_t page() const noexcept { return page_; }
  bool has_files() const noexcept { return has_files_; }
  std::size_t memory() const noexcept { return memory_; }
  std::chrono::milliseconds message_timeout() const noexcept { return message_timeout_; }
  const std::vector<std::string>& tokens() const noexcept { return tokens_; }
  bool needs_token() const noexcept { return !without_token_; }
  const std::string& path() const noexcept { return path_; }
  const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  const std::vector<std::string>& origins() const noexcept { return origins_; }
  bool json_answers() const noexcept { return json_answers_; }
  std::size_t sessions() const noexcept { return sessions_; }
  std::chrono::seconds session_timeout() const noexcept { return session_timeout_; }
  const http_server_settings& http() const noexcept { return http_; }
  const std::function<void(const std::string&, std::exception_ptr)>& on_error() const noexcept { return on_error_; }

 private:
  server_options& set(std::chrono::seconds& which, std::chrono::seconds value) {
    if (value <= std::chrono::seconds::zero() || value > std::chrono::hours(24 * 365))
      throw error(exec_errc::invalid_argument, "mcp: a time is at least a second and at most a year");
    which = value;
    return *this;
  }

  std::string name_ = "cofferdam";
  std::string title_;
  std::string version_ = std::string(::cofferdam::version);
  std::optional<std::string> instructions_;
  std::string about_environment_;
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
