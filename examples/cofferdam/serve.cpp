// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam serve`: serves jails, containers, pods or folders to E2B's official SDKs, including the code
// interpreter.
//
//     $ cofferdam serve --pool 4
//     export E2B_API_URL=http://127.0.0.1:3000 ...
//     $ python -c 'from e2b import Sandbox; print(Sandbox.create().commands.run("echo hello").stdout)'
//     $ python -c 'from e2b_code_interpreter import Sandbox; print(Sandbox.create().run_code("6 * 7").text)'

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/http_server_settings.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>

#include "options.hpp"
#include "outcome.hpp"
#include "place.hpp"
#include "report.hpp"
#include "serving.hpp"
#include "signals.hpp"
#include "subcommands.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

namespace program {

namespace {

using namespace cofferdam;

listener listen_on(const asio::any_io_executor& executor, const std::pair<std::string, std::uint16_t>& address) {
  try {
    return tcp_listener(executor, address.first, address.second);
  } catch (const error& failure) {
    if (failure.cause().value() != EADDRINUSE) throw;
    refuse(std::string(failure.what()) + "; choose another port with --port, or any free one with --port 0");
  }
}

/// A gateway that serves until a signal arrives.
class served_gateway {
 public:
  /// \param listens_on  the address and the port.
  /// \param shows_key   the printed line has the API key.
  served_gateway(asio::io_context& loop, e2b_gateway::options options,
                 const std::pair<std::string, std::uint16_t>& listens_on, bool shows_key)
      : executor_(loop.get_executor()),
        options_(std::move(options)),
        address_(listens_on.first),
        shows_key_(shows_key),
        where_(listen_on(executor_, listens_on)),
        signals_(loop) {}
  served_gateway(const served_gateway&) = delete;
  served_gateway& operator=(const served_gateway&) = delete;

  /// Serves the environments of a provider.
  /// \param pool  how many environments are kept open and unused; 0: each is opened when a client asks for it.
  /// \param more  the templates that have a provider of their own, by name.
  template <code_exec_provider Provider>
  awaitable<void> serve(Provider provider, std::size_t pool, std::map<std::string, Provider> more = {}) {
    if (pool == 0) return serve_all(*this, std::move(provider), std::move(more));
    return serve_pool(*this, std::move(provider), pool, std::move(more));
  }

  /// Ends the service at the first signal. The program ends at the latest 9 s later, and immediately at a second
  /// signal.
  void stop_on_signal() {
    signals_.start([this] {
      if (gateway_) {
        asio::co_spawn(executor_, gateway_->stop(), [this](std::exception_ptr why) { stop_failure_ = std::move(why); });
      } else {
        opening_.emit(asio::cancellation_type::terminal);  // the pool is being opened
      }
    });
  }

  asio::cancellation_slot slot() { return opening_.slot(); }
  bool is_stopped() const { return signals_.has_stopped(); }
  const std::exception_ptr& stop_failure() const { return stop_failure_; }

 private:
  /// The gateway is not made over `any_provider`, because it offers what the type of the environment can do.
  template <class Provider, class Other>
  static awaitable<void> serve_all(served_gateway& self, Provider provider, std::map<std::string, Other> more) {
    self.gateway_.emplace(self.executor_, std::move(provider), self.options_);
    for (auto& [name, other] : more) self.gateway_->add_template(name, std::move(other));
    const std::string url = "http://" + self.shown_address() + ":" + std::to_string(self.where_.port());
    std::cout << "export E2B_API_URL=" << url << " E2B_SANDBOX_URL=" << url;
    if (self.shows_key_) std::cout << " E2B_API_KEY=" << self.options_.api_keys().front();
    std::cout << "\n";
    flush_output();
    co_await self.gateway_->serve(std::move(self.where_));
  }

  /// Returns the address by which a client on this machine reaches the gateway, as it is in a URL.
  std::string shown_address() const {
    if (address_ == "0.0.0.0") return "127.0.0.1";
    if (address_ == "::") return "[::1]";
    return address_.find(':') == std::string::npos ? address_ : "[" + address_ + "]";
  }

  /// Opens the pool first, so that a backend that does not work ends the program before a client connects. The pool
  /// is closed after all sandboxes.
  template <class Provider>
  static awaitable<void> serve_pool(served_gateway& self, Provider provider, std::size_t size,
                                    std::map<std::string, Provider> more) {
    const auto serves = [&](auto& opened) { return serve_all(self, opened.provider(), more); };
    co_await with(cofferdam::pool(std::move(provider), size), serves);
  }

  asio::any_io_executor executor_;
  e2b_gateway::options options_;
  std::string address_;
  bool shows_key_;
  listener where_;
  stop_signals signals_;
  asio::cancellation_signal opening_;
  std::optional<e2b_gateway::server> gateway_;
  std::exception_ptr stop_failure_;
};

std::string network_of(const place_options& place) { return place.network.empty() ? "none" : place.network.back(); }

docker::provider containers_of(const std::string& image, const serve_options& chosen) {
  // Sandboxes of E2B start commands in this directory. A command therefore finds a file under the same relative path by
  // which a client has written it.
  docker::container_options containers;
  containers.working_directory(chosen.home);
  // Some programs of others write to /workspace. A jail has it as a link to its home.
  if (chosen.home != "/workspace") containers.tmpfs("/workspace");
  if (chosen.place.memory) containers.memory(*chosen.place.memory);
  if (chosen.place.cpus) containers.cpus(*chosen.place.cpus);
  for (const std::string& name : chosen.place.network) containers.network(name);
  return docker::from_image(image).options(std::move(containers));
}

kubernetes::provider pods_of(const std::string& image, const serve_options& chosen) {
  const std::string network = network_of(chosen.place);
  if (network != "none" && network != "cluster") refuse("kubernetes: --network must be none or cluster");
  kubernetes::pod_options pod;
  pod.working_directory(chosen.home);
  if (chosen.place.memory) pod.memory(*chosen.place.memory);
  if (chosen.place.cpus) pod.cpus(*chosen.place.cpus);
  if (network == "cluster") pod.network(kubernetes::pod_network::cluster);
  return kubernetes::from_image(image).options(std::move(pod));
}

jail jails_of(const serve_options& chosen) {
  const std::string network = network_of(chosen.place);
  if (network != "none" && network != "host") refuse("jail: --network is none or host");
  jail walls;
  if (chosen.place.memory) walls.memory(*chosen.place.memory);
  if (chosen.place.cpus) walls.cpus(*chosen.place.cpus);
  if (network == "host") walls.network(network_policy::host);
  walls.workspace_path(chosen.home)
      .alternatives(
          "Or serve another kind of place:\n"
          "    cofferdam serve --provider docker:IMAGE                containers; needs a Docker daemon\n"
          "    cofferdam serve --provider local --allow-host-paths    no wall: clients have all rights of your user");
  return walls;
}

/// Serves a backend with images, and the templates that have an image of their own.
/// \param make  a callable that makes the provider of an image.
template <class Make>
awaitable<void> serve_images(served_gateway& gateway, const serve_options& chosen, Make make) {
  const std::string& image = chosen.place.image;
  if (!chosen.place.hosts.empty()) {
    std::map<std::string, any_provider> walled;
    for (const template_option& each : chosen.templates)
      if (!each.image.empty()) walled.insert_or_assign(each.name, with_hosts(make(each.image, chosen), chosen.place));
    any_provider usual = with_hosts(make(image.empty() ? "debian:stable-slim" : image, chosen), chosen.place);
    return gateway.serve(std::move(usual), chosen.pool, std::move(walled));
  }
  std::map<std::string, std::invoke_result_t<Make&, const std::string&, const serve_options&>> more;
  for (const template_option& each : chosen.templates)
    if (!each.image.empty()) more.insert_or_assign(each.name, make(each.image, chosen));
  return gateway.serve(make(image.empty() ? "debian:stable-slim" : image, chosen), chosen.pool, std::move(more));
}

/// Serves the chosen backend.
awaitable<void> serve_place(served_gateway& gateway, const serve_options& chosen) {
  const place_options& place = chosen.place;
  if (place.provider == "docker") return serve_images(gateway, chosen, containers_of);
  if (place.provider == "kubernetes") return serve_images(gateway, chosen, pods_of);
  if (place.provider == "local") {
    if (!place.hosts.empty()) refuse("local does not support --allow-host, because it does not isolate");
    if (place.memory || place.cpus || !place.network.empty())
      refuse("local does not support --memory, --cpus and --network, because it does not isolate; use jail or docker");
    return gateway.serve(local().without_warning(), chosen.pool);
  }
  if (place.provider != "jail") refuse("serve does not support --provider " + place.provider);
  if (!place.hosts.empty()) return gateway.serve(with_hosts(jails_of(chosen), place), chosen.pool);
  return gateway.serve(jails_of(chosen), chosen.pool);
}

/// Prints why a request has failed, in one line and without keys. A client that disconnects is no failure.
void complain_of_request(const http_request_head& head, const std::exception_ptr& failure,
                         const std::vector<std::string>& keys) {
  std::string reason;
  try {
    std::rethrow_exception(failure);
  } catch (const error& why) {
    if (why.code() == exec_errc::cancelled || why.cause().category() == net_error_category()) return;
    reason = why.what();
  } catch (const std::exception& why) {
    reason = why.what();
  }
  // The query of a request may have a signature.
  reason = head.method + " " + head.target.substr(0, head.target.find('?')) + " failed: " + reason;
  for (const std::string& key : keys)
    for (std::size_t at = reason.find(key); at != std::string::npos; at = reason.find(key))
      reason.replace(at, key.size(), "***");
  for (char& c : reason)
    if (c == '\n') c = ' ';
  complain(printable_text(reason));
}

/// Shows clients the limits of a sandbox.
void show_resources(e2b_gateway::options& options, const place_options& place) {
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  double cpus = static_cast<double>(processors);
  if (place.provider == "docker") cpus = docker::container_options().cpus();
  cpus = std::clamp(std::ceil(place.cpus.value_or(cpus)), 1.0, 4096.0);
  std::uint64_t memory =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (place.provider == "docker") memory = docker::container_options().memory();
  if (place.provider == "kubernetes") memory = kubernetes::pod_options().memory();
  options.shown_resources(static_cast<std::size_t>(cpus),
                          std::max(place.memory.value_or(memory), std::uint64_t{1} << 20U));
}

constexpr const char* host_paths =
    "with --provider local, the commands of clients run on this machine as your user: /home/user, /tmp and all other "
    "absolute paths are those of this machine, and commands can read and overwrite the files there. A file that a "
    "client uploads to /home/user/a.py goes to a private folder instead, where a command finds it as a.py, not as "
    "/home/user/a.py. To accept this, add --allow-host-paths; --provider jail has its own /home/user";

}  // namespace

int run_serve(std::vector<std::string> words) {
  const std::optional<serve_options> chosen = parse_serve(std::move(words));
  if (!chosen) return 0;
  if (chosen->place.provider == "local" && !chosen->allow_host_paths) refuse(host_paths);
  become_undumpable();
  asio::io_context context(1);
  e2b_gateway::options options;
  const bool has_keys = !chosen->key_file.empty();
  if (has_keys)
    add_secrets(chosen->key_file, "key", [&options](std::string key) { options.api_key(std::move(key)); });
  else
    options.api_key("e2b_" + random_text(40));
  options.port(e2b_gateway::code_interpreter::usual_port, e2b_gateway::code_interpreter());
  options.home(chosen->home).sandboxes(chosen->limit);
  show_resources(options, chosen->place);
  std::vector<std::string> templates = options.templates();
  for (const template_option& each : chosen->templates) templates.push_back(each.name);
  options.templates(std::move(templates));
  http_server_settings server = options.server();
  for (const std::string& origin : chosen->origins) server.origin(origin);
  const auto complains = [keys = options.api_keys()](const http_request_head& head, std::exception_ptr failure) {
    complain_of_request(head, failure, keys);
  };
  options.server(server.stop_timeout(std::chrono::seconds(1)).on_error(complains));
  // Clients may create sandboxes without internet access only if no sandbox has it.
  const bool has_walls = chosen->place.provider == "jail" || chosen->place.provider == "docker";
  if (has_walls && network_of(chosen->place) == "none") options.without_internet();
  served_gateway gateway(context, std::move(options), {chosen->address, chosen->port}, !has_keys);
  const bool is_loopback = chosen->address.starts_with("127.") || chosen->address == "::1";
  if (!is_loopback)
    complain("other machines can connect to " + chosen->address +
             ": the traffic, which has the keys, is not encrypted; they use an address of this machine in the URL");
  gateway.stop_on_signal();
  std::exception_ptr failure;
  const auto ended = [&](std::exception_ptr why) {
    failure = std::move(why);
    context.stop();
  };
  asio::co_spawn(context, serve_place(gateway, *chosen), asio::bind_cancellation_slot(gateway.slot(), ended));
  context.run();
  if (failure && !(gateway.is_stopped() && is_cancellation(failure))) std::rethrow_exception(failure);
  if (gateway.stop_failure()) std::rethrow_exception(gateway.stop_failure());
  return 0;
}

}  // namespace program
