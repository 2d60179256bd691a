// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/backends/detail/warden_delivery.hpp>
#include <cofferdam/backends/detail/within.hpp>
#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_object.hpp>
#include <cofferdam/backends/kubernetes/detail/control_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/deliver_in_time.hpp>
#include <cofferdam/backends/kubernetes/detail/ended_pods.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_stream.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/network_wall.hpp>
#include <cofferdam/backends/kubernetes/detail/owned_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_check.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_containers.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_facts.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/backends/kubernetes/detail/warden_for_pod.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/os/machine.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Returns the name of an architecture for this library ("x86_64") from that of a node's label ("amd64").
inline std::string_view machine_of(std::string_view architecture) {
  if (architecture == "amd64") return "x86_64";
  if (architecture == "arm64") return "aarch64";
  return {};
}

/// The steps that make a pod and open its session.
class pod_opening {
 public:
  /// Makes a pod for a sandbox, and begins the session in it.
  static awaitable<void> run(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings) {
    const auto until = owned_pod::clock::now() + settings->open_timeout;
    const std::shared_ptr<cluster_api> api = into->api();
    const std::optional<error> no_map = co_await ensure_wardens(api);
    if (settings->options.network() == pod_network::none) co_await ensure_network_policy(api);
    std::vector<choice> choices;
    if (no_map) {
      choices.emplace_back("", "");  // the pod itself shows its architecture
    } else {
      choices = co_await architectures(api, settings->options);
    }
    for (std::size_t i = 0;; ++i) {
      std::optional<error> failure;
      bool is_wrong = false;
      try {
        co_await make(into, settings, choices[i], until);
      } catch (const error& reason) {
        failure = reason;
        is_wrong = into->pod_runs_on_another_machine() && i + 1 < choices.size();
      }
      if (!failure) co_return;
      if (no_map && into->pod_cannot_start() && !into->pod_runs_on_another_machine())
        throw without_shell(*no_map, *failure, settings->image);
      if (!is_wrong) throw *failure;
      co_await into->disown();
    }
  }

 private:
  /// An architecture for a pod.
  class choice {
   public:
    choice(std::string_view name, std::string_view label) : machine(name), node_label(label) {}
    std::string machine;     ///< empty if the warden comes by an exec, see `pod_request`
    std::string node_label;  ///< the value of the label that a node must have; empty if any node will do
  };

  /// Creates the ConfigMap with the wardens.
  /// \return  the error of the API server if the user may not do this; no value if the map exists.
  static awaitable<std::optional<error>> ensure_wardens(std::shared_ptr<cluster_api> api) {
    const std::string path = api->path("configmaps");
    const std::string doing = "create the ConfigMap with the wardens in the namespace \"" + api->space() + "\"";
    std::vector<int> is_missing{403, 404};
    http_response answer =
        co_await api->ask("GET", path + "/" + warden_map_name(), std::string(), doing, std::move(is_missing));
    static const boost::json::object map = warden_map();  // the same for all environments
    if (answer.status() == 200) {
      require_own_map(cluster_api::object_of(answer, doing), map, api->space());
      co_return std::nullopt;
    }
    const bool is_unreadable = answer.status() == 403;
    std::vector<int> exists{409};
    std::optional<error> denied;
    try {
      answer = co_await api->ask("POST", path, boost::json::serialize(map), doing, std::move(exists));
    } catch (const error& reason) {
      if (!is_denied(reason)) throw;
      denied = reason;
    }
    if (denied || answer.status() != 409) co_return denied;
    if (is_unreadable) {  // another user may have made it, with other programs
      co_return error(exec_errc::permission_denied, "kubernetes: the ConfigMap \"" + warden_map_name() +
                                                        "\" exists in the namespace \"" + api->space() +
                                                        "\", and the user has no right to read it");
    }
    const std::optional<boost::json::object> found = co_await api->find(path + "/" + warden_map_name(), doing);
    if (found) require_own_map(*found, map, api->space());
    co_return std::nullopt;
  }

  /// Throws unless a ConfigMap has the wardens of this library and cannot be changed. Whoever may create ConfigMaps in
  /// the namespace can make one of this name first.
  static void require_own_map(const boost::json::object& found, const boost::json::object& own,
                              const std::string& space) {
    const boost::json::value* const programs = found.if_contains("binaryData");
    const bool is_same = programs != nullptr && *programs == own.at("binaryData");
    if (is_same && is_true_at(&found, "immutable")) return;
    throw error(
        exec_errc::provider_failed,
        "kubernetes: the ConfigMap \"" + warden_map_name() + "\" of the namespace \"" + space +
            "\" does not have the programs of this library, or can be changed; find out who made it, and delete "
            "it: it is made again");
  }

  /// Returns true if the API server has refused a request because the user lacks a right.
  static bool is_denied(const error& reason) {
    return reason.code() == exec_errc::permission_denied &&
           reason.cause() == std::error_code(403, http_status_category());
  }

  /// Returns the error for a pod whose first process, a shell, cannot run.
  /// \param denied   why the pod has no ConfigMap.
  /// \param failure  why the pod cannot run.
  static error without_shell(const error& denied, const error& failure, const std::string& image) {
    return error(exec_errc::permission_denied,
                 std::string(denied.what()) + ". Without the ConfigMap, the first process of the pod is a shell, but " +
                     failure.what() +
                     ". Give the user the rights to get and create configmaps, or use an image with "
                     "sh, sleep, head and the like in place of " +
                     in_quotes(image),
                 denied.cause());
  }

  static awaitable<void> ensure_network_policy(std::shared_ptr<cluster_api> api) {
    const std::string path = api->path("networkpolicies", "/apis/networking.k8s.io/v1");
    const std::string doing = "create the NetworkPolicy for pods without a network in the namespace \"" + api->space() +
                              "\" (pod_network::cluster needs none)";
    const boost::json::object policy = network_policy();
    const std::optional<boost::json::object> found =
        co_await api->ensure(path, std::string(network_policy_name), policy, doing);
    if (found && found->if_contains("spec") != nullptr && found->at("spec") != policy.at("spec"))
      throw error(exec_errc::provider_failed,
                  "kubernetes: the NetworkPolicy \"" + std::string(network_policy_name) + "\" of the namespace \"" +
                      api->space() + "\" was changed, and may allow connections; delete it, and it is made again");
  }

  /// Returns the architectures to try, the best first. They come from the nodes, if the user may list them. Otherwise
  /// the pod is first made for the architecture of this program.
  static awaitable<std::vector<choice>> architectures(std::shared_ptr<cluster_api> api, const pod_options& options) {
    std::vector<choice> choices;
    const auto chosen = options.node_selector().find("kubernetes.io/arch");
    if (chosen != options.node_selector().end()) {
      const std::string_view machine = machine_of(chosen->second);
      if (machine.empty())
        throw error(exec_errc::unsupported,
                    "kubernetes: wardens exist only for nodes of the architectures amd64 and arm64");
      choices.emplace_back(machine, chosen->second);
      co_return choices;
    }
    const std::string_view own = cofferdam::detail::native_machine();
    const std::string_view other = own == "aarch64" ? "x86_64" : "aarch64";
    std::string selector = "kubernetes.io/os=linux";
    for (const auto& [key, value] : options.node_selector())
      if (key != "kubernetes.io/os") selector += "," + key + "=" + value;
    std::vector<int> fine{401, 403, 404};
    http_response answer = co_await api->ask(
        "GET", "/api/v1/nodes?limit=100&labelSelector=" + cofferdam::detail::percent_encoded(selector), std::string(),
        "list the nodes", std::move(fine));
    std::vector<std::string> found;
    if (answer.status() == 200) {
      const boost::json::object list = cluster_api::object_of(answer, "list the nodes");
      const boost::json::array* const nodes = array_at(list, "items");
      for (const boost::json::value& node : nodes == nullptr ? boost::json::array() : *nodes)
        found.emplace_back(text_at(object_at(object_at(node.if_object(), "metadata"), "labels"), "kubernetes.io/arch"));
    }
    for (const std::string_view machine : {own, other}) {
      const std::string_view label = machine == "x86_64" ? "amd64" : "arm64";
      if (std::find(found.begin(), found.end(), label) == found.end()) continue;
      choices.emplace_back(machine, label);
      co_return choices;
    }
    choices.emplace_back(own.empty() ? "x86_64" : own, "");
    choices.emplace_back(other, "");
    co_return choices;
  }

  static awaitable<void> make(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings,
                              const choice& by, owned_pod::clock::time_point until) {
    pod_options options = settings->options;
    if (!by.node_label.empty()) options.node_selector("kubernetes.io/arch", by.node_label);
    const pod_request request(settings->image, "cofferdam-" + cofferdam::detail::random_name(12), by.machine,
                              std::move(options));
    isolation_report isolation = co_await start(into, settings, request.name(), request.body(), until);
    isolation.set(isolation_kind::process_tree, "everything the command started");
    isolation.set(isolation_kind::host_death, "everything in the pod");
    const auto report = std::make_shared<isolation_report>(std::move(isolation));
    const std::vector<std::string> variables =
        co_await begin(into, settings, settings->options, by.machine, report, until);
    co_await choose_shell(into, settings);
    if (settings->options.network() != pod_network::none) co_return;
    into->check_network_by(
        [settings, variables, machine = by.machine](std::shared_ptr<sandbox> guest) {
          return prove_wall(std::move(guest), settings, machine, variables);
        },
        report);
  }

  /// Makes a pod, and waits until it runs.
  /// \return  the walls of the pod.
  static awaitable<isolation_report> start(std::shared_ptr<sandbox> into,
                                           std::shared_ptr<const sandbox_settings> settings, std::string name,
                                           boost::json::object body, owned_pod::clock::time_point until) {
    const std::shared_ptr<cluster_api> api = into->api();
    const auto patience = std::chrono::ceil<std::chrono::seconds>(settings->open_timeout);
    boost::json::object& metadata = body["metadata"].as_object();
    metadata["annotations"].as_object()[opening_annotation] = json_text(std::to_string(patience.count()));
    const auto pod = std::make_shared<owned_pod>(api, name);
    into->own(pod);
    co_await owned_pod::create(pod, body, until);
    pod_check check = check_pod(body, pod->seen());
    check.require();
    co_await delete_ended_pods(api);  // meanwhile, the pod starts
    co_await owned_pod::until_running(pod, until, settings->options.node_wait());
    co_return check.isolation();
  }

  /// Begins the session of a running pod.
  /// \param variables_of  the options with the variables of the commands.
  /// \param report        the description of the pod in results.
  /// \return  the variables of the container.
  static awaitable<std::vector<std::string>> begin(std::shared_ptr<sandbox> into,
                                                   std::shared_ptr<const sandbox_settings> settings,
                                                   pod_options variables_of, std::string machine,
                                                   std::shared_ptr<isolation_report> report,
                                                   owned_pod::clock::time_point until) {
    warden_settings for_warden = warden_settings_for(into, *settings);
    for_warden.root = settings->options.working_directory();
    for_warden.commands.isolation = report;
    std::vector<std::string> variables;
    std::optional<exec_stream> stream;
    if (machine.empty()) {
      stream = co_await deliver(into, settings, until, variables);
    } else {
      stream = co_await start_warden(into, machine, image_id(into->owned()->seen()), variables);
    }
    warden_session session =
        co_await warden_session::open(into->api()->executor(), std::move(*stream), std::move(for_warden));
    std::shared_ptr<session_files> files = session.files();
    into->begin(std::move(session), std::move(files),
                command_variables(variables_of, variables, settings->options.working_directory(), "/tmp"));
    co_return variables;
  }

  static awaitable<void> choose_shell(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings) {
    static known_facts<std::string> known_shells;
    const std::string image = image_id(into->owned()->seen());
    std::optional<std::string> shell = known_shells.find(image);
    if (!settings->shell.empty()) {
      shell = settings->shell;
    } else if (!shell || image.empty()) {
      shell = co_await find_shell(into);
      known_shells.keep(image, *shell);
    }
    into->shell(*shell);
  }

  /// Shows that the NetworkPolicy is enforced for a pod, by a control pod that it does not select.
  /// \param variables  those of the container, with the address of the API server.
  static awaitable<std::string> prove_wall(std::shared_ptr<sandbox> guest,
                                           std::shared_ptr<const sandbox_settings> settings, std::string machine,
                                           std::vector<std::string> variables) {
    const std::shared_ptr<cluster_api> api = guest->api();
    guest_network network = co_await sandbox::network(guest);
    const std::uint32_t interfaces = co_await network.other_interfaces();
    if (interfaces != 1)
      throw error(exec_errc::unsupported,
                  "kubernetes: it cannot be shown that the NetworkPolicy of the pod is enforced: the pod must have one "
                  "network interface besides the loopback interface, because policies do not hold for further ones");
    const auto exists = co_await cluster_object::look(guest->owned());
    if (!exists) throw error(exec_errc::provider_lost, "kubernetes: " + api->shown(guest->pod()) + " was deleted");
    const boost::json::object pod = guest->owned()->seen();
    const auto wall = std::make_shared<const network_wall>(api, guest->shell(), variables, pod);
    co_await network_wall::require_no_hole(wall);
    const auto control = std::make_shared<sandbox>(api);
    std::string found;
    const auto proves = [&]() -> awaitable<void> {
      co_await make_control(control, settings, machine, std::string(text_at(object_at(pod, "spec"), "nodeName")));
      control->shell(guest->shell());
      found = co_await network_wall::prove(wall, prober_of(guest), prober_of(control), control->owned()->seen());
    };
    const std::chrono::seconds discard_limit(20);
    const auto discards = [&control, &api, discard_limit] {
      return cofferdam::detail::within(
          api->executor(), discard_limit, [&control] { return sandbox::discard_pod(control); },
          error(exec_errc::provider_failed, "late"));
    };
    const auto proves_in_time = [&proves, &api, limit = settings->open_timeout + network_wall::longest_proof] {
      return cofferdam::detail::within(
          api->executor(), limit, std::ref(proves),
          error(exec_errc::provider_failed,
                "kubernetes: the check of the NetworkPolicy did not end in time; raise open_timeout()"));
    };
    co_await cofferdam::detail::with_cleanup(proves_in_time, discards);
    co_await network_wall::require_no_hole(wall);  // one may have been made meanwhile
    co_return found;
  }

  /// Makes the control pod, which has the network of the cluster. It differs from the pod of the environment only in
  /// the label that the policy selects, in its node, which is given, and in its amounts.
  static awaitable<void> make_control(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings,
                                      std::string machine, std::string node) {
    const auto until = owned_pod::clock::now() + settings->open_timeout;
    const auto plain = std::make_shared<sandbox_settings>(*settings);
    plain->options = control_options(*settings);
    const std::shared_ptr<const sandbox_settings> of_control = plain;
    const pod_request request(settings->image, "cofferdam-control-" + cofferdam::detail::random_name(12), machine,
                              of_control->options);
    boost::json::object body = control_body(request.body(), node, of_control->options.gpu_resource());
    std::optional<error> failure;
    try {
      co_await start(into, of_control, request.name(), std::move(body), until);
      const auto report = std::make_shared<isolation_report>();
      // The shell of the image runs there with a network, so that it gets no variable of the options.
      pod_options no_variables;
      co_await begin(into, of_control, std::move(no_variables), machine, report, until);
    } catch (const error& reason) {
      failure = reason;
    }
    if (!failure) co_return;
    if (failure->code() == exec_errc::cancelled) throw *failure;
    throw error(
        static_cast<exec_errc>(failure->code().value()),
        std::string("kubernetes: no control pod, without which the check of the NetworkPolicy shows nothing: ") +
            failure->what(),
        failure->cause());
  }

  static network_wall::runner prober_of(std::shared_ptr<sandbox> in) {
    return [in = std::move(in)](command c) { return sandbox::probe(in, std::move(c)); };
  }

  /// Starts the warden of the ConfigMap.
  /// \param variables  set to the variables of the container.
  static awaitable<exec_stream> start_warden(std::shared_ptr<sandbox> into, std::string machine, std::string image,
                                             std::vector<std::string>& variables) {
    static known_facts<std::vector<std::string>> known_variables;
    const std::shared_ptr<cluster_api> api = into->api();
    const std::string place = api->address() + " " + image;  // a variable has the address of the API server
    std::optional<std::vector<std::string>> known = known_variables.find(place);
    if (!known || image.empty()) {
      known = co_await variables_in(api, into->pod(), std::string(container_name));
      known_variables.keep(place, *known);
    }
    variables = std::move(*known);
    std::vector<std::string> words{warden_path(machine), "held"};
    exec_stream stream = co_await api->exec(into->pod(), std::string(container_name), std::move(words), true);
    stream.explain_by([api, pod = into->pod()] { return owned_pod::why_lost(api, pod); });
    co_return stream;
  }

  /// Brings a warden by an exec into a pod whose first process waits for it, and starts it.
  static awaitable<exec_stream> deliver(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings,
                                        owned_pod::clock::time_point until, std::vector<std::string>& variables) {
    const std::shared_ptr<cluster_api> api = into->api();
    std::vector<std::string> words{"sh", "-c", std::string(cofferdam::detail::over_script), "sh", "held"};
    exec_stream stream = co_await api->exec(into->pod(), std::string(container_name), std::move(words), true);
    stream.explain_by([api, pod = into->pod()] { return owned_pod::why_lost(api, pod); });
    cofferdam::detail::delivery_order order;
    order.speaker = "kubernetes";
    order.folder = std::string(programs_at);
    order.workspace = settings->options.working_directory();
    order.folder_advice = "; with the rights to get and create configmaps, the warden comes by a ConfigMap instead";
    cofferdam::detail::warden_delivery<exec_stream> delivery(stream, std::move(order));
    const std::string first = co_await deliver_in_time(api, stream, delivery, time_left(until));
    stream.put_back(first);
    variables = delivery.place().variables();
    co_return stream;
  }

  /// Returns the id of the image that a pod runs; empty if it is not known.
  static std::string image_id(const boost::json::object& pod) {
    return std::string(text_at(container_status(pod, container_name), "imageID"));
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
