// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/serve/e2b_gateway/port_service.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// Whom an `e2b_gateway` serves, under which names, and how much of everything.
class e2b_gateway_options {
 public:
  e2b_gateway_options() = default;

  /// Lets clients in that say this key in `X-API-KEY`. Each key has sandboxes of its own and sees no others. Without any
  /// key every one is taken, and the gateway serves this machine only.
  /// \param key  1 to 512 visible ASCII characters; E2B's own look like `e2b_` and 40 hexadecimal digits, and older SDKs
  ///             refuse others.
  /// \throws error{errc::invalid_argument} for another; the sentence does not show it.
  e2b_gateway_options& api_key(std::string key) & {
    bool is_visible = !key.empty() && key.size() <= 512;
    for (const char c : key) is_visible = is_visible && c > ' ' && c < 0x7F;
    if (!is_visible)
      throw error(errc::invalid_argument, "e2b_gateway: an API key is 1 to 512 visible ASCII characters");
    api_keys_.push_back(std::move(key));
    return *this;
  }
  e2b_gateway_options&& api_key(std::string key) && { return std::move(api_key(std::move(key))); }

  /// The domain under which sandboxes are reached by name: `49983-ID.DOMAIN`, `sandbox.DOMAIN`, and the API as
  /// `api.DOMAIN`. Clients are told it, unless it is `localhost`, as it is made.
  /// \param name  a DNS name, without a port.
  e2b_gateway_options& domain(std::string name) & {
    bool is_name = !name.empty() && name.size() <= 253;
    for (const char c : name)
      is_name = is_name &&
                ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.');
    if (!is_name || name.front() == '.' || name.back() == '.')
      throw error(errc::invalid_argument, "e2b_gateway: the domain is a DNS name without a port");
    for (char& c : name) c = detail::lowered(c);
    domain_ = std::move(name);
    return *this;
  }
  e2b_gateway_options&& domain(std::string name) && { return std::move(domain(std::move(name))); }

  /// The templates that may be asked for, without their tags; `*` allows every name. As it is made: `base` and
  /// `code-interpreter-v1`. They all are the one provider.
  e2b_gateway_options& templates(std::vector<std::string> names) & {
    templates_ = std::move(names);
    return *this;
  }
  e2b_gateway_options&& templates(std::vector<std::string> names) && { return std::move(templates(std::move(names))); }

  /// The absolute path that stands for the workspace in what clients say. `/home/user` as it is made, as in E2B's own
  /// templates.
  e2b_gateway_options& home(std::string path) & { return absolute(home_, std::move(path)); }
  e2b_gateway_options&& home(std::string path) && { return std::move(home(std::move(path))); }

  /// How commands see the workspace, `/workspace` in our containers: a second name for the home, since clients send back
  /// what `pwd` has told them. Needed only where the environment does not say it by itself, as behind a layer.
  e2b_gateway_options& workspace(std::string path) & { return absolute(workspace_, std::move(path)); }
  e2b_gateway_options&& workspace(std::string path) && { return std::move(workspace(std::move(path))); }

  /// Says that what the provider opens reaches no network: sandboxes with `allow_internet_access: false` are given then,
  /// and refused otherwise. The gateway itself cannot take the network away.
  e2b_gateway_options& without_internet() & {
    has_internet_ = false;
    return *this;
  }
  e2b_gateway_options&& without_internet() && { return std::move(without_internet()); }

  /// What becomes of what a command has left running. As it is made `background_policy::keep`, which is what E2B does:
  /// `server &` in a command goes on until the sandbox ends. Where the environment cannot, it ends with the command.
  /// With `background_policy::kill` everything a command has started ends with it, and SIGKILL reaches all of it.
  e2b_gateway_options& background(background_policy policy) & {
    background_ = policy;
    return *this;
  }
  e2b_gateway_options&& background(background_policy policy) && { return std::move(background(policy)); }

  /// Sandboxes at the same time, of all keys: 429. 20 as it is made.
  e2b_gateway_options& sandboxes(std::size_t most) & { return at_least_one(sandboxes_, most); }
  e2b_gateway_options&& sandboxes(std::size_t most) && { return std::move(at_least_one(sandboxes_, most)); }
  /// Processes of a sandbox that run at the same time. 256 as it is made.
  e2b_gateway_options& processes(std::size_t most) & { return at_least_one(processes_, most); }
  e2b_gateway_options&& processes(std::size_t most) && { return std::move(at_least_one(processes_, most)); }
  /// Streams that listen to one process. 32 as it is made.
  e2b_gateway_options& subscribers(std::size_t most) & { return at_least_one(subscribers_, most); }
  e2b_gateway_options&& subscribers(std::size_t most) && { return std::move(at_least_one(subscribers_, most)); }
  /// Watchers of directories of a sandbox. 32 as it is made.
  e2b_gateway_options& watchers(std::size_t most) & { return at_least_one(watchers_, most); }
  e2b_gateway_options&& watchers(std::size_t most) && { return std::move(at_least_one(watchers_, most)); }
  /// Bytes of one request that is no file: JSON and what it carries. 4 MiB as it is made.
  e2b_gateway_options& message(std::size_t most) & { return at_least_one(message_, most); }
  e2b_gateway_options&& message(std::size_t most) && { return std::move(at_least_one(message_, most)); }
  /// How long such a request may take to arrive, waiting for memory included: 408, and 503 where it is the memory. One
  /// minute as it is made; at least 10 ms.
  e2b_gateway_options& message_time(std::chrono::milliseconds most) & {
    if (most < std::chrono::milliseconds(10) || most > std::chrono::hours(1))
      throw error(errc::invalid_argument, "e2b_gateway: the message time is 10 ms to an hour");
    message_time_ = most;
    return *this;
  }
  e2b_gateway_options&& message_time(std::chrono::milliseconds most) && { return std::move(message_time(most)); }
  /// Bytes of all such requests of more than 16 KiB that are in memory at the same time; others wait. Those of one key
  /// have a quarter of it, or one message's. 64 MiB as it is made, and at least one message's.
  e2b_gateway_options& memory(std::size_t most) & { return at_least_one(memory_, most); }
  e2b_gateway_options&& memory(std::size_t most) && { return std::move(at_least_one(memory_, most)); }
  /// Bytes of one upload. 4 GiB as it is made. It is never in memory as a whole.
  e2b_gateway_options& upload(std::uint64_t most) & {
    upload_ = most;
    return *this;
  }
  e2b_gateway_options&& upload(std::uint64_t most) && { return std::move(upload(most)); }
  /// How long a sandbox may be asked to live from now on: 400. 24 h as it is made.
  e2b_gateway_options& longest_life(std::chrono::seconds most) & {
    if (most < std::chrono::seconds(1) || most > std::chrono::hours(24 * 365))
      throw error(errc::invalid_argument, "e2b_gateway: the longest life is one second to a year");
    longest_life_ = most;
    return *this;
  }
  e2b_gateway_options&& longest_life(std::chrono::seconds most) && { return std::move(longest_life(most)); }
  /// How often a watched directory is looked at. 250 ms as it is made; at least 10 ms.
  e2b_gateway_options& watch_interval(std::chrono::milliseconds time) & {
    if (time < std::chrono::milliseconds(10) || time > std::chrono::hours(1))
      throw error(errc::invalid_argument, "e2b_gateway: the watch interval is 10 ms to an hour");
    watch_interval_ = time;
    return *this;
  }
  e2b_gateway_options&& watch_interval(std::chrono::milliseconds time) && { return std::move(watch_interval(time)); }

  /// Has this answer on one more port of every sandbox: `e2b_code_interpreter()` on 49999. Without it the port is closed.
  /// \param port  1 to 65535, but 49983.
  e2b_gateway_options& port(std::uint16_t number, e2b_port_factory factory) & {
    if (number == 0 || number == 49983 || !factory)
      throw error(errc::invalid_argument, "e2b_gateway: a service needs a factory, and a port that is not 0 or 49983");
    ports_[number] = std::move(factory);
    return *this;
  }
  e2b_gateway_options&& port(std::uint16_t number, e2b_port_factory factory) && {
    return std::move(port(number, std::move(factory)));
  }

  /// The server's own limits. The hosts it answers to are the gateway's business, the rest is taken as it is. As it is
  /// made: 1024 connections, 10 minutes for a client that does not take what a process writes, and 640 s between two
  /// requests, more than E2B's clients keep a connection for.
  e2b_gateway_options& server(http_server_settings settings) & {
    server_ = std::move(settings);
    return *this;
  }
  e2b_gateway_options&& server(http_server_settings settings) && { return std::move(server(std::move(settings))); }

  const std::vector<std::string>& api_keys() const noexcept { return api_keys_; }
  const std::string& domain() const noexcept { return domain_; }
  const std::vector<std::string>& templates() const noexcept { return templates_; }
  const std::string& home() const noexcept { return home_; }
  const std::string& workspace() const noexcept { return workspace_; }
  bool has_internet() const noexcept { return has_internet_; }
  background_policy background() const noexcept { return background_; }
  std::size_t sandboxes() const noexcept { return sandboxes_; }
  std::size_t processes() const noexcept { return processes_; }
  std::size_t subscribers() const noexcept { return subscribers_; }
  std::size_t watchers() const noexcept { return watchers_; }
  std::size_t message() const noexcept { return message_; }
  std::chrono::milliseconds message_time() const noexcept { return message_time_; }
  std::size_t memory() const noexcept { return memory_ < message_ ? message_ : memory_; }
  std::uint64_t upload() const noexcept { return upload_; }
  std::chrono::seconds longest_life() const noexcept { return longest_life_; }
  std::chrono::milliseconds watch_interval() const noexcept { return watch_interval_; }
  const std::map<std::uint16_t, e2b_port_factory>& ports() const noexcept { return ports_; }
  const http_server_settings& server() const noexcept { return server_; }

 private:
  e2b_gateway_options& at_least_one(std::size_t& which, std::size_t most) {
    if (most == 0) throw error(errc::invalid_argument, "e2b_gateway: a limit is at least 1");
    which = most;
    return *this;
  }
  e2b_gateway_options& absolute(std::string& which, std::string path) {
    if (path.size() < 2 || path.front() != '/' || path.back() == '/' || path.find("//") != std::string::npos ||
        path.find("/.") != std::string::npos)
      throw error(errc::invalid_argument,
                  "e2b_gateway: the home and the workspace are absolute paths in their shortest form: /home/user");
    which = std::move(path);
    return *this;
  }
  static http_server_settings usual_server() {
    return http_server_settings()
        .connections(1024)
        .write_time(std::chrono::minutes(10))
        .idle_time(std::chrono::seconds(640));
  }

  std::vector<std::string> api_keys_;
  std::string domain_ = "localhost";
  std::vector<std::string> templates_{"base", "code-interpreter-v1"};
  std::string home_ = "/home/user";
  std::string workspace_;
  bool has_internet_ = true;
  background_policy background_ = background_policy::keep;
  std::size_t sandboxes_ = 20;
  std::size_t processes_ = 256;
  std::size_t subscribers_ = 32;
  std::size_t watchers_ = 32;
  std::size_t message_ = std::size_t{4} * 1024 * 1024;
  std::chrono::milliseconds message_time_{60'000};
  std::size_t memory_ = std::size_t{64} * 1024 * 1024;
  std::uint64_t upload_ = std::uint64_t{4} * 1024 * 1024 * 1024;
  std::chrono::seconds longest_life_{24 * 3600};
  std::chrono::milliseconds watch_interval_{250};
  std::map<std::uint16_t, e2b_port_factory> ports_;
  http_server_settings server_ = usual_server();
};

}  // namespace cofferdam::inline v0
