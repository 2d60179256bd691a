// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/over_bootstrap.hpp>
#include <cofferdam/backends/detail/warden_delivery.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/deliver_in_time.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_stream.hpp>
#include <cofferdam/backends/kubernetes/detail/loss_reason.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_containers.hpp>
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
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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
    co_await connect(into, settings, *pod, container, settings->open_timeout);
  }

  /// Brings a warden into a running pod of a sandbox that has the pod's name, and begins the session.
  /// \param pod    the object of the pod.
  /// \param limit  the time limit until the warden answers.
  static awaitable<void> connect(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings,
                                 boost::json::object pod, std::string container, std::chrono::milliseconds limit) {
    const std::shared_ptr<cluster_api> api = into->api();
    const std::string name = into->pod();
    std::vector<std::string> words{"sh", "-c", std::string(cofferdam::detail::over_script)};
    exec_stream stream = co_await api->exec(name, container, std::move(words), true);
    const std::int64_t restarts = restarts_of(container_status(pod, container));
    stream.explain_by([api, name, container, restarts] {
      return find_loss_reason(
          api, name, [shown = api->shown(name), container, restarts](const std::optional<boost::json::object>& now) {
            return reason_of(now, shown, container, restarts);
          });
    });
    cofferdam::detail::delivery_order order;
    order.speaker = "kubernetes";
    if (settings->options.has_working_directory()) order.workspace = settings->options.working_directory();
    order.workspace_advice = "; name another one with pod_options::working_directory()";
    order.folder_advice = "; the pod needs a volume for it, such as an emptyDir at /tmp";
    cofferdam::detail::warden_delivery<exec_stream> delivery(stream, std::move(order));
    const std::string first = co_await deliver_in_time(api, stream, delivery, limit);
    stream.put_back(first);
    const cofferdam::detail::place_report& place = delivery.place();
    warden_settings for_warden = warden_settings_for(into, *settings);
    for_warden.root = place.workspace();
    warden_session session = co_await warden_session::open(api->executor(), std::move(stream), std::move(for_warden));
    std::shared_ptr<session_files> files = session.files();
    into->begin(std::move(session), std::move(files),
                command_variables(settings->options, place.variables(), place.workspace(), place.folder() + "/tmp"));
    into->shell(settings->shell.empty() ? place.shell() : settings->shell);
  }

  /// Returns how often a container was started again.
  /// \param container  its status; null means that there is none.
  static std::int64_t restarts_of(const boost::json::object* container) {
    const boost::json::value* const count = container == nullptr ? nullptr : container->if_contains("restartCount");
    return count != nullptr && count->is_int64() ? count->get_int64() : 0;
  }

 private:
  /// Returns why the connection to the pod is lost; no value if the pod shows no reason.
  /// \param shown     the description of the pod for error messages.
  /// \param restarts  how often the container had been started again when the session began.
  static std::optional<error> reason_of(const std::optional<boost::json::object>& pod, const std::string& shown,
                                        std::string_view container, std::int64_t restarts) {
    if (!pod) return lost(shown + " does not exist any more");
    const boost::json::object* const one = container_status(*pod, container);
    const bool is_another = restarts_of(one) > restarts;
    const boost::json::object* const end = cofferdam::detail::object_at(
        cofferdam::detail::object_at(one, is_another ? "lastState" : "state"), "terminated");
    if (cofferdam::detail::text_at(end, "reason") == "OOMKilled")
      return lost(shown + " exceeded its memory, and the kernel ended the processes of the container",
                  make_error_code(std::errc::not_enough_memory));
    if (end != nullptr || is_another) return lost(shown + " has lost its container" + words_of(end));
    const std::string why = end_of(*pod);
    if (why.empty()) return std::nullopt;
    return lost(shown + " " + why);
  }

  static error lost(const std::string& text, std::error_code cause = {}) {
    return error(exec_errc::provider_lost, "kubernetes: " + text, cause);
  }

  /// Returns how a pod has ended; empty if it runs.
  static std::string end_of(const boost::json::object& pod) {
    using cofferdam::detail::object_at;
    const boost::json::object* const metadata = object_at(pod, "metadata");
    if (metadata != nullptr && metadata->contains("deletionTimestamp")) return "is being deleted";
    const boost::json::object* const status = object_at(pod, "status");
    const std::string_view phase = cofferdam::detail::text_at(status, "phase");
    if (phase != "Failed" && phase != "Succeeded") return {};
    return "has ended: it is in the phase \"" + one_line(phase, 40) + "\"" + words_of(status);
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
