// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/backends/detail/warden_delivery.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_stream.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_facts.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/backends/kubernetes/detail/warden_for_pod.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The steps that connect a sandbox to a running pod that this library did not make.
class pod_adoption {
 public:
  /// Brings a warden into the pod by an exec, and begins the session.
  static awaitable<void> run(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings) {
    const std::shared_ptr<cluster_api> api = into->api();
    const std::string name = settings->adopted_pod;
    const std::optional<boost::json::object> pod =
        co_await api->find(api->pod_path(name), "look at " + api->shown(name));
    if (!pod)
      throw error(exec_errc::not_found, "kubernetes: " + api->shown(name) +
                                            " does not exist; `kubectl get pods` lists those of a namespace, and "
                                            "pod_options::in_namespace() chooses it");
    const std::string phase(cofferdam::detail::text_at(cofferdam::detail::object_at(*pod, "status"), "phase"));
    if (phase != "Running")
      throw error(exec_errc::provider_failed, "kubernetes: " + api->shown(name) +
                                                  " does not run: it is in the phase \"" + one_line(phase, 40) + "\"");
    into->adopt(name);
    const std::string container =
        settings->adopted_container.empty() ? default_container(*pod) : settings->adopted_container;

    std::vector<std::string> words{"sh", "-c", std::string(cofferdam::detail::over_script)};
    exec_stream stream = co_await api->exec(name, container, std::move(words), true);
    cofferdam::detail::delivery_order order;
    order.speaker = "kubernetes";
    if (settings->options.has_working_directory()) order.workspace = settings->options.working_directory();
    order.workspace_advice = "; name another one with pod_options::working_directory()";
    order.folder_advice = "; the pod needs a volume for it, such as an emptyDir at /tmp";
    cofferdam::detail::warden_delivery<exec_stream> delivery(stream, std::move(order));
    bool reached = false;
    const std::string first = co_await delivery.run(reached);
    stream.put_back(first);
    stream.explain_by([api, name, container] { return why_lost(api, name, container); });
    const cofferdam::detail::place_report& place = delivery.place();
    warden_settings for_warden = warden_settings_for(into, *settings);
    for_warden.root = place.workspace();
    warden_session session = co_await warden_session::open(api->executor(), std::move(stream), std::move(for_warden));
    std::shared_ptr<session_files> files = session.files();
    into->begin(std::move(session), std::move(files),
                command_variables(settings->options, place.variables(), place.workspace(), place.folder() + "/tmp"));
    into->shell(settings->shell.empty() ? place.shell() : settings->shell);
  }

 private:
  /// Returns the container that kubectl would use, too: the one that an annotation names, or the first one.
  static std::string default_container(const boost::json::object& pod) {
    using cofferdam::detail::object_at;
    using cofferdam::detail::text_at;
    const std::string_view named =
        text_at(object_at(object_at(pod, "metadata"), "annotations"), "kubectl.kubernetes.io/default-container");
    if (!named.empty()) return std::string(named);
    const boost::json::array* const containers = cofferdam::detail::array_at(object_at(pod, "spec"), "containers");
    if (containers == nullptr || containers->empty()) return {};
    return std::string(text_at(containers->front().if_object(), "name"));
  }

  /// Finds out why the connection to the pod is lost. The status of a pod may be late, so this waits a moment for it.
  /// \return  no value if the cluster knows no reason.
  static awaitable<std::optional<error>> why_lost(std::shared_ptr<cluster_api> api, std::string name,
                                                  std::string container) {
    constexpr int looks = 5;
    for (int look = 0; look < looks; ++look) {
      if (look > 0) co_await wait_for(api->executor(), std::chrono::milliseconds(200));
      std::optional<boost::json::object> pod;
      bool is_asked = false;
      try {
        pod = co_await api->find(api->pod_path(name), "look at " + api->shown(name));
        is_asked = true;
      } catch (const error&) {  // the loss of the stream is reported instead
      }
      if (!is_asked) co_return std::nullopt;
      const std::string end = pod ? end_of(*pod, container) : "does not exist any more";
      if (!end.empty()) co_return error(exec_errc::provider_lost, "kubernetes: " + api->shown(name) + " " + end);
    }
    co_return std::nullopt;
  }

  /// Returns how a pod or its container has ended; empty if both run.
  static std::string end_of(const boost::json::object& pod, std::string_view container) {
    using cofferdam::detail::array_at;
    using cofferdam::detail::object_at;
    using cofferdam::detail::text_at;
    if (const boost::json::object* const metadata = object_at(pod, "metadata");
        metadata != nullptr && metadata->contains("deletionTimestamp"))
      return "is being deleted";
    const boost::json::object* const status = object_at(pod, "status");
    const std::string_view phase = text_at(status, "phase");
    if (phase == "Failed" || phase == "Succeeded")
      return "has ended: it is in the phase \"" + one_line(phase, 40) + "\"" + words_of(status);
    const boost::json::array* const containers = array_at(status, "containerStatuses");
    for (const boost::json::value& each : containers == nullptr ? boost::json::array() : *containers) {
      const boost::json::object* const one = each.if_object();
      if (text_at(one, "name") != container) continue;
      const boost::json::object* const end = object_at(object_at(one, "state"), "terminated");
      if (end != nullptr) return "has lost its container" + words_of(end);
    }
    return {};
  }

  /// Returns the reason and the message of a status, each after ": "; empty if there is none.
  static std::string words_of(const boost::json::object* status) {
    std::string text;
    for (const char* const name : {"reason", "message"}) {
      const std::string_view words = cofferdam::detail::text_at(status, name);
      if (!words.empty()) text += ": " + one_line(words, 200);
    }
    return text;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
