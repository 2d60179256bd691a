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

namespace cofferdam::inline v0::mcp {

/// What a server says of itself, how much it gives, and to whom.
class server_options {
 public:
  server_options() = default;

  /// What clients show: a name for programs, and one for people.
  server_options& name(std::string for_programs, std::string for_people = {}) {
    name_ = std::move(for_programs);
    title_ = std::move(for_people);
    return *this;
  }
  server_options& version(std::string text) {
    version_ = std::move(text);
    return *this;
  }
  /// A paragraph for the model. As it is made: what fits the tools.
  server_options& instructions(std::string text) {
    instructions_ = std::move(text);
    return *this;
  }
  /// Another sentence at the end of the command tools' descriptions: "There is no internet access."
  server_options& about_environment(std::string text) {
    about_environment_ = std::move(text);
    return *this;
  }
  /// Whether commands can reach the network, as far as tools say to clients. True as it is made.
  server_options& open_world(bool reaches) {
    open_world_ = reaches;
    return *this;
  }

  /// Of a command or a piece of Python that says none: 120 s and 60 s as it is made. \throws error{errc::invalid_argument}
  server_options& command_time(std::chrono::seconds usual) { return set(command_time_, usual); }
  server_options& python_time(std::chrono::seconds usual) { return set(python_time_, usual); }
  /// The longest that a call may ask for. One hour as it is made.
  server_options& longest_time(std::chrono::seconds most) { return set(longest_time_, most); }
  /// Python interpreters that a client may have besides the default one, and how long one lives that it does not use.
  /// 16 and 30 minutes as it is made.
  server_options& python_contexts(std::size_t most, std::chrono::seconds idle = std::chrono::minutes(30)) {
    most_contexts_ = most;
    return set(context_time_, idle);
  }
  /// A folder of this machine that clients may copy from, by the tool `upload_file`, and one that they may copy to, by
  /// `download_file`. Neither as it is made. Clients never get out of them, whatever links lie there; what one client
  /// puts into the output folder all see who can read that. At most 1 GiB a call. Before the server is made.
  server_options& input_folder(std::string path) {
    input_folder_ = std::move(path);
    return *this;
  }
  server_options& output_folder(std::string path) {
    output_folder_ = std::move(path);
    return *this;
  }
  /// Bytes of each output stream in an answer; of more the middle is left out. 20,000 as it is made.
  server_options& kept_output(std::size_t most) {
    kept_output_ = most;
    return *this;
  }
  /// Calls that run at once in one environment, and how many may wait for their turn. 8 and 64 as it is made.
  server_options& calls(std::size_t at_once, std::size_t waiting) {
    if (at_once == 0) throw error(errc::invalid_argument, "mcp: at least one call must be able to run");
    at_once_ = at_once;
    waiting_ = waiting;
    return *this;
  }
  /// Requests of one client that are not answered yet. 128 as it is made.
  server_options& requests(std::size_t most) {
    requests_ = most;
    return *this;
  }
  /// Bytes of a message from a client. 16 MiB as it is made.
  server_options& message(std::size_t most) {
    message_ = most;
    return *this;
  }
  /// Entries of a list in one answer. 100 as it is made.
  server_options& page(std::size_t most) {
    if (most == 0) throw error(errc::invalid_argument, "mcp: a page has at least one entry");
    page_ = most;
    return *this;
  }
  /// Says that environments have files before anything has run in them: they are opened to list those.
  server_options& has_files(bool has) {
    has_files_ = has;
    return *this;
  }

  /// HTTP: who says `Authorization: Bearer TOKEN` is served; each token has sessions and an environment of its own.
  /// Without any everybody is, who reaches it: on loopback only. At least 16 characters. \throws error{errc::invalid_argument}
  server_options& token(std::string secret) {
    bool good = secret.size() >= 16;
    for (const char c : secret) good = good && c > ' ' && c < 0x7F;
    if (!good) throw error(errc::invalid_argument, "mcp: a token has at least 16 visible characters");
    tokens_.push_back(std::move(secret));
    return *this;
  }
  /// HTTP: where it is served. "/mcp" as it is made.
  server_options& path(std::string where) {
    if (!where.starts_with('/')) throw error(errc::invalid_argument, "mcp: the path begins with a slash");
    path_ = std::move(where);
    return *this;
  }
  /// HTTP: hosts that requests may name besides those of loopback; names without a port, or with one.
  server_options& host(std::string name) {
    hosts_.push_back(std::move(name));
    return *this;
  }
  /// HTTP: web pages that may send requests besides those of this machine: "https://app.example".
  server_options& origin(std::string page) {
    origins_.push_back(std::move(page));
    return *this;
  }
  /// HTTP: sessions of legacy clients at once, and how long one lives that nobody uses. 256 and 30 minutes as it is made.
  /// Each of several tokens has the same share of them, at least one; beyond that its clients are refused until one of its
  /// own sessions ends.
  server_options& sessions(std::size_t most, std::chrono::seconds idle = std::chrono::minutes(30)) {
    sessions_ = most;
    return set(session_time_, idle);
  }
  /// HTTP, legacy era: whether an answer that comes alone is sent as JSON. True as it is made; else all are streams, which
  /// clients can come back to from the first byte on.
  server_options& json_answers(bool sends) {
    json_answers_ = sends;
    return *this;
  }
  /// HTTP: limits of connections; 1024 at once as it is made. Hosts, origins and the body's size are said elsewhere.
  server_options& http(http_server_settings settings) {
    http_ = std::move(settings);
    return *this;
  }
  /// Told what went wrong and is none of the client's business; does not throw. Nobody as it is made.
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
  std::chrono::seconds command_time() const noexcept { return command_time_; }
  std::chrono::seconds python_time() const noexcept { return python_time_; }
  std::chrono::seconds longest_time() const noexcept { return longest_time_; }
  std::size_t most_contexts() const noexcept { return most_contexts_; }
  std::chrono::seconds context_time() const noexcept { return context_time_; }
  const std::string& input_folder() const noexcept { return input_folder_; }
  const std::string& output_folder() const noexcept { return output_folder_; }
  std::size_t kept_output() const noexcept { return kept_output_; }
  std::size_t at_once() const noexcept { return at_once_; }
  std::size_t waiting() const noexcept { return waiting_; }
  std::size_t requests() const noexcept { return requests_; }
  std::size_t message() const noexcept { return message_; }
  std::size_t page() const noexcept { return page_; }
  bool has_files() const noexcept { return has_files_; }
  const std::vector<std::string>& tokens() const noexcept { return tokens_; }
  const std::string& path() const noexcept { return path_; }
  const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  const std::vector<std::string>& origins() const noexcept { return origins_; }
  bool json_answers() const noexcept { return json_answers_; }
  std::size_t sessions() const noexcept { return sessions_; }
  std::chrono::seconds session_time() const noexcept { return session_time_; }
  const http_server_settings& http() const noexcept { return http_; }
  const std::function<void(const std::string&, std::exception_ptr)>& on_error() const noexcept { return on_error_; }

 private:
  server_options& set(std::chrono::seconds& which, std::chrono::seconds wanted) {
    if (wanted <= std::chrono::seconds::zero() || wanted > std::chrono::hours(24 * 365))
      throw error(errc::invalid_argument, "mcp: a time is at least a second and at most a year");
    which = wanted;
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
  std::chrono::seconds command_time_{120};
  std::chrono::seconds python_time_{60};
  std::chrono::seconds longest_time_{3600};
  std::size_t most_contexts_ = 16;
  std::chrono::seconds context_time_{1800};
  std::string input_folder_;
  std::string output_folder_;
  std::size_t kept_output_ = 20'000;
  std::size_t at_once_ = 8;
  std::size_t waiting_ = 64;
  std::size_t requests_ = 128;
  std::size_t message_ = std::size_t{16} * 1024 * 1024;
  std::size_t page_ = 100;
  std::size_t sessions_ = 256;
  std::chrono::seconds session_time_{1800};
  std::vector<std::string> tokens_;
  std::string path_ = "/mcp";
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
  http_server_settings http_ = http_server_settings().connections(1024);
  std::function<void(const std::string&, std::exception_ptr)> on_error_;
};

}  // namespace cofferdam::inline v0::mcp
