// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "place.hpp"

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/backends/over.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/network/allow_hosts.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/host_rule.hpp>

#include "options.hpp"
#include "progress.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace program {

namespace {

using namespace cofferdam;

/// Returns an absolute path, as jails and mounts need it.
std::string absolute(const std::string& folder) {
  return std::filesystem::absolute(folder).lexically_normal().string();
}

any_provider make_jail(const place_options& options) {
  jail recipe;
  recipe.alternatives(
      "Or choose another place for the commands:\n"
      "    --provider docker:IMAGE   a container; needs a Docker daemon\n"
      "    --provider local          no wall: commands have all rights of your user. For code that you trust");
  if (options.memory) recipe.memory(*options.memory);
  if (options.cpus) recipe.cpus(*options.cpus);
  const std::string network = options.network.empty() ? "none" : options.network.back();
  if (network != "none" && network != "host") refuse("jail: --network is none or host");
  if (network == "host") recipe.network(network_policy::host);
  if (!options.workspace.empty()) recipe.workspace(absolute(options.workspace));
  return any_provider(std::move(recipe));
}

any_provider make_local(const place_options& options) {
  if (options.memory || options.cpus || !options.network.empty())
    refuse("local does not support --memory, --cpus and --network, because it does not isolate; use jail or docker");
  // `local` warns that it does not isolate. The manual has already warned the user of --provider.
  if (options.workspace.empty()) return any_provider(local().without_warning());
  return any_provider(local().without_warning().workspace(options.workspace));
}

/// Adds up the sizes of the layers of an image, which arrive side by side.
class image_progress {
 public:
  image_progress(progress& shown, std::string name) : shown_(&shown), name_(std::move(name)) {}

  void operator()(const docker::progress_event& event) {
    using kind = docker::progress_event::kind;
    if (event.what() == kind::output) {
      shown_->show(name_ + ": " + event.text());
    } else if (event.what() == kind::status && event.total() != 0) {
      layers_[event.id()] = {event.current(), event.total()};
      std::uint64_t done = 0;
      std::uint64_t total = 0;
      for (const auto& [id, sizes] : layers_) {
        done += sizes.first;
        total += sizes.second;
      }
      shown_->show(name_, done, total);
    } else if (event.what() == kind::status) {
      shown_->show(name_ + ": " + event.text());
    } else if (event.what() == kind::image || event.what() == kind::failure) {
      layers_.clear();
      shown_->clear();
    }
  }

 private:
  progress* shown_;
  std::string name_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> layers_;
};

any_provider make_docker(const place_options& options, progress* shown, image_pull pull) {
  docker::container_options container;
  if (options.memory) container.memory(*options.memory);
  if (options.cpus) container.cpus(*options.cpus);
  if (pull == image_pull::never) container.pull(docker::pull_policy::never);
  for (const std::string& name : options.network) container.network(name);
  if (!options.workspace.empty()) container.add(docker::mount::bind(absolute(options.workspace), "/workspace"));
  const bool is_built = options.provider == "dockerfile";
  if (is_built && options.image.empty()) refuse("--provider dockerfile needs a folder, as in dockerfile:DIR");
  const std::string image = options.image.empty() ? "python:3.12-slim" : options.image;
  docker::provider recipe = is_built ? docker::from_dockerfile(image) : docker::from_image(image);
  recipe.options(std::move(container));
  if (shown != nullptr && shown->is_shown()) {
    image_progress listener(*shown, (is_built ? "building " : "pulling ") + image);
    recipe.progress(listener);
  }
  return any_provider(std::move(recipe));
}

any_provider make_kubernetes(const place_options& options, image_pull pull) {
  if (!options.workspace.empty())
    refuse("kubernetes does not support --workspace, because pods see no directory of this machine; use --input");
  const std::string network = options.network.empty() ? "none" : options.network.back();
  if (network != "none" && network != "cluster") refuse("kubernetes: --network must be none or cluster");
  kubernetes::pod_options pod;
  if (options.memory) pod.memory(*options.memory);
  if (options.cpus) pod.cpus(*options.cpus);
  if (network == "cluster") pod.network(kubernetes::pod_network::cluster);
  if (pull == image_pull::never) pod.pull(kubernetes::pull_policy::never);
  kubernetes::provider recipe = kubernetes::from_image(options.image.empty() ? "python:3.12-slim" : options.image);
  recipe.options(std::move(pod));
  return any_provider(std::move(recipe));
}

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

any_provider make_e2b(const place_options& options) {
  if (variable("E2B_API_KEY").empty() && variable("E2B_DEBUG") != "true")
    refuse("e2b needs an API key in the environment variable E2B_API_KEY; create a key in the service's dashboard");
  if (options.memory || options.cpus || !options.workspace.empty())
    refuse("e2b does not support --memory, --cpus and --workspace; the template has them");
  const std::string network = options.network.empty() ? "on" : options.network.back();
  if (network != "none" && network != "on") refuse("e2b: --network must be none or on");
  e2b::provider recipe = options.image.empty() ? e2b::from_template() : e2b::from_template(options.image);
  if (network == "none") recipe.without_internet();
  return any_provider(std::move(recipe));
}

any_provider make_ssh(const place_options& options) {
  if (options.memory || options.cpus || !options.network.empty())
    refuse("ssh does not support --memory, --cpus and --network, because it does not isolate");
  if (options.image.empty()) refuse("--provider ssh needs a host, as in ssh:HOST");
  over recipe = over_ssh(options.image);
  if (!options.workspace.empty()) recipe.workspace(options.workspace);
  return any_provider(std::move(recipe));
}

}  // namespace

any_provider with_hosts(any_provider provider, const place_options& options) {
  if (options.hosts.empty()) return provider;
  if (!options.network.empty() && options.network.back() != "none")
    refuse("--allow-host needs --network none: with another network, commands could reach every host");
  egress_policy policy;
  for (const std::string& host : options.hosts) {
    try {
      policy.allow(host_rule(host));
    } catch (const error& failure) {
      refuse("--allow-host: " + std::string(failure.what()));
    }
  }
  return any_provider(std::move(provider) | policy);
}

std::vector<std::string> reachable_hosts(const place_options& options) {
  if (options.provider != "pyodide") return options.hosts;
  std::vector<std::string> hosts = options.network;
  std::erase(hosts, "none");
  return hosts;
}

std::string about_network(const place_options& options) {
  const bool is_pyodide = options.provider == "pyodide";
  if (const std::vector<std::string> hosts = reachable_hosts(options); !hosts.empty()) {
    constexpr std::size_t max_listed = 20;
    std::string text = "Only these hosts can be reached: ";
    for (std::size_t i = 0; i < hosts.size() && i < max_listed; ++i)
      text += (i == 0 ? "" : ", ") + one_line(hosts[i], 100);
    if (hosts.size() > max_listed) text += " and " + std::to_string(hosts.size() - max_listed) + " others";
    return text + (is_pyodide ? "." : ". HTTP_PROXY and HTTPS_PROXY are set.");
  }
  const bool is_offline_by_default =
      options.provider == "jail" || options.provider == "docker" || options.provider == "dockerfile" || is_pyodide;
  const bool is_offline =
      options.network.empty() ? is_offline_by_default : is_pyodide || options.network.back() == "none";
  // A cluster may not enforce the network policy of a pod.
  return is_offline && options.provider != "kubernetes" ? "There is no internet access." : "";
}

any_provider make_place(const place_options& options, progress* shown, image_pull pull) {
  if (options.provider == "jail") return with_hosts(make_jail(options), options);
  if (options.provider == "docker" || options.provider == "dockerfile")
    return with_hosts(make_docker(options, shown, pull), options);
  if (options.provider == "kubernetes") return with_hosts(make_kubernetes(options, pull), options);
  if (!options.hosts.empty())
    refuse(options.provider + " does not support --allow-host; use jail, docker or kubernetes" +
           (options.provider == "pyodide" ? ", or --network HOST" : ""));
  if (options.provider == "local") return make_local(options);
  if (options.provider == "e2b") return make_e2b(options);
  if (options.provider == "ssh") return make_ssh(options);
  refuse("pyodide cannot run commands");
}

}  // namespace program
