// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/quantity.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The result of comparing a requested pod with the pod that the API server has admitted.
class pod_check {
 public:
  pod_check(isolation_report isolation, std::vector<std::string> missing)
      : isolation_(std::move(isolation)), missing_(std::move(missing)) {}

  /// Returns the isolation that the admitted pod provides. The kinds `network` and `host_death` are not included: only
  /// a test from inside shows whether a NetworkPolicy is enforced.
  const isolation_report& isolation() const noexcept { return isolation_; }
  /// Returns short descriptions of the differences that weaken the pod; empty if there are none.
  const std::vector<std::string>& missing() const noexcept { return missing_; }

  /// \throws error{exec_errc::provider_failed}, whose message lists the differences. The pod must then be deleted.
  void require() const {
    if (missing_.empty()) return;
    std::string text = "kubernetes: the API server admitted a pod that differs from the request: ";
    for (std::size_t i = 0; i < missing_.size(); ++i) text += (i > 0 ? "; " : "") + missing_[i];
    throw error(exec_errc::provider_failed,
                text +
                    ". The pod was deleted; an admission webhook or policy of the cluster changes pods: exempt the " +
                    "namespace from it, or choose another with in_namespace()");
  }

 private:
  isolation_report isolation_;
  std::vector<std::string> missing_;
};

// The comparison behind `check_pod`.
class pod_checker {
 public:
  pod_checker(const boost::json::object& asked, const boost::json::object& admitted)
      : asked_(object_at(asked, "spec")),
        given_(object_at(admitted, "spec")),
        asked_metadata_(object_at(asked, "metadata")),
        metadata_(object_at(admitted, "metadata")),
        asked_container_(container_in(asked_)),
        container_(container_in(given_)) {}

  pod_check check() {
    check_containers();
    check_image();
    check_names();
    check_privileges();
    check_namespaces();
    check_secrets();
    check_limits();
    check_files();
    check_life();
    return pod_check(std::move(isolation_), std::move(missing_));
  }

 private:
  using object = boost::json::object;

  static const object* container_in(const object* spec) {
    const boost::json::array* const all = array_at(spec, "containers");
    if (all == nullptr) return nullptr;
    for (const boost::json::value& each : *all)
      if (text_at(each.if_object(), "name") == container_name) return each.if_object();
    return nullptr;
  }

  // Records a missing wall, unless the request does not have this wall either, because its merge patch removes it.
  // Returns true if the wall stands.
  bool wall(bool stands, bool was_asked, const std::string& what) {
    if (!stands && was_asked) missing_.push_back(what);
    return stands;
  }

  static bool is_false_at(const object* from, const char* key) {
    const boost::json::value* const found = from == nullptr ? nullptr : from->if_contains(key);
    return found != nullptr && found->is_bool() && !found->get_bool();
  }

  // Returns the value that a security setting has for the container: its own, otherwise the pod's.
  static const boost::json::value* security(const object* spec, const object* container, const char* key) {
    for (const object* const from : {object_at(container, "securityContext"), object_at(spec, "securityContext")}) {
      const boost::json::value* const found = from == nullptr ? nullptr : from->if_contains(key);
      if (found != nullptr && !found->is_null()) return found;
    }
    return nullptr;
  }

  template <class Holds>
  bool both(Holds holds, const std::string& what) {
    return wall(holds(given_, container_), holds(asked_, asked_container_), what);
  }

  static bool names_all(const object* container, const char* key) {
    const boost::json::array* const names =
        array_at(object_at(object_at(container, "securityContext"), "capabilities"), key);
    if (names == nullptr) return false;
    for (const boost::json::value& each : *names)
      if (each.is_string() && each.get_string() == "ALL") return true;
    return false;
  }

  static std::size_t size_of(const object* from, const char* key) {
    const boost::json::array* const array = array_at(from, key);
    return array == nullptr ? 0 : array->size();
  }

  void check_containers() {
    if (container_ == nullptr) missing_.emplace_back("its container is missing");
    for (const char* const kind : {"containers", "initContainers", "ephemeralContainers"}) {
      const boost::json::array* const all = array_at(given_, kind);
      if (all == nullptr) continue;
      for (const boost::json::value& each : *all) {
        const std::string_view name = text_at(each.if_object(), "name");
        if (!has_named(array_at(asked_, kind), name))
          missing_.push_back("the container " + in_quotes(name) + " was added");
      }
    }
    for (const char* const key : {"command", "args"}) {
      const boost::json::array* const asked = array_at(asked_container_, key);
      const boost::json::array* const given = array_at(container_, key);
      const bool same = asked == nullptr || asked->empty() ? given == nullptr || given->empty()
                                                           : given != nullptr && *given == *asked;
      wall(same, true, "its first process is not the requested one");
    }
    for (const char* const key : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
      wall(object_at(container_, key) == nullptr, object_at(asked_container_, key) == nullptr,
           std::string("a ") + key + " was added, which runs programs or makes connections");
    const object* const labels = object_at(metadata_, "labels");
    const object* const annotations = object_at(metadata_, "annotations");
    for (const char* const key : {sandbox_label, network_label})
      wall(text_at(labels, key) == text_at(object_at(asked_metadata_, "labels"), key), true, "its labels are missing");
    wall(text_at(annotations, hold_annotation) == text_at(object_at(asked_metadata_, "annotations"), hold_annotation),
         true, "its annotation is missing");
    if (const std::string_view runtime = text_at(asked_, "runtimeClassName"); !runtime.empty())
      wall(text_at(given_, "runtimeClassName") == runtime, true, "its runtime class is not the requested one");
  }

  static bool has_named(const boost::json::array* array, std::string_view name) {
    if (array == nullptr) return false;
    for (const boost::json::value& each : *array)
      if (text_at(each.if_object(), "name") == name) return true;
    return false;
  }

  void check_privileges() {
    bool fine =
        both([](const object*, const object* c) { return names_all(c, "drop"); }, "capabilities were not dropped");
    fine &= both(
        [](const object*, const object* c) {
          return size_of(object_at(object_at(c, "securityContext"), "capabilities"), "add") == 0;
        },
        "capabilities were added that were not requested");
    fine &= both(
        [](const object*, const object* c) {
          return is_false_at(object_at(c, "securityContext"), "allowPrivilegeEscalation") &&
                 !is_true_at(object_at(c, "securityContext"), "privileged");
        },
        "the container may gain privileges");
    const auto is_user = [](const object* spec, const object* c) {
      const boost::json::value* const user = security(spec, c, "runAsUser");
      return user != nullptr && user->is_number() && *user != 0;
    };
    fine &= both(is_user, "its user is root, or not set");
    const boost::json::value* const asked_user = security(asked_, asked_container_, "runAsUser");
    const boost::json::value* const user = security(given_, container_, "runAsUser");
    fine &= wall(asked_user == nullptr || (user != nullptr && *user == *asked_user), true,
                 "its user is not the requested one");
    fine &= check_groups();
    const bool filtered = both(
        [](const object* spec, const object* c) {
          const boost::json::value* const profile = security(spec, c, "seccompProfile");
          const std::string_view type = profile == nullptr ? std::string_view() : text_at(profile->if_object(), "type");
          return type == "RuntimeDefault" || type == "Localhost";
        },
        "its seccomp profile is missing");
    if (fine)
      isolation_.set(isolation_kind::system_calls, filtered ? "no capabilities, no new privileges, the runtime's filter"
                                                            : "no capabilities, no new privileges");
  }

  // Returns true if the groups of the container are the requested ones.
  bool check_groups() {
    bool fine = true;
    for (const char* const key : {"runAsGroup", "fsGroup", "supplementalGroups"}) {
      const boost::json::value* const asked = security(asked_, asked_container_, key);
      const boost::json::value* const given = security(given_, container_, key);
      const bool same = asked == nullptr ? given == nullptr : given != nullptr && *given == *asked;
      fine &= wall(same, true, std::string(key) + " is not the requested one");
    }
    const auto confined = [](const object* spec, const object* c) {
      const boost::json::value* const profile = security(spec, c, "appArmorProfile");
      return profile == nullptr || text_at(profile->if_object(), "type") != "Unconfined";
    };
    return both(confined, "its AppArmor profile is switched off") && fine;
  }

  // A cluster may replace the registry of an image by a mirror, but not the image.
  static std::string_view name_and_tag(std::string_view image) {
    return image.substr(image.rfind('/') + 1);  // npos + 1 is 0
  }

  void check_image() {
    const std::string_view given = text_at(container_, "image");
    wall(name_and_tag(given) == name_and_tag(text_at(asked_container_, "image")), true,
         "its image is " + in_quotes(given) + ", which is not the requested one");
    const std::string_view message = text_at(container_, "terminationMessagePath");
    const std::string_view asked = text_at(asked_container_, "terminationMessagePath");
    wall(message == asked || (asked.empty() && (message.empty() || message == "/dev/termination-log")), true,
         "its terminationMessagePath, a file that the node makes, is not the usual one");
  }

  void check_names() {
    wall(text_at(given_, "dnsPolicy") == text_at(asked_, "dnsPolicy") || text_at(asked_, "dnsPolicy").empty(), true,
         "its dnsPolicy is not the requested one");
    wall(size_of(given_, "hostAliases") <= size_of(asked_, "hostAliases"), true, "names of hosts were added to it");
  }

  void check_namespaces() {
    bool fine = given_ != nullptr;
    for (const char* const key : {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"})
      fine &= wall(!is_true_at(given_, key), !is_true_at(asked_, key), std::string(key) + " is on");
    const boost::json::array* const ports = array_at(container_, "ports");
    if (ports != nullptr)
      for (const boost::json::value& each : *ports)
        wall(number_at(each.if_object(), "hostPort").value_or(0) == 0, true, "a port of the node leads to it");
    if (!fine) return;
    isolation_.set(isolation_kind::process_tree, "all of the pod");
    isolation_.set(isolation_kind::signals, "all of the pod");
  }

  void check_secrets() {
    bool fine =
        both([](const object* spec, const object*) { return is_false_at(spec, "automountServiceAccountToken"); },
             "it gets a token for the API server");
    fine &= both([](const object* spec, const object*) { return is_false_at(spec, "enableServiceLinks"); },
                 "it gets the addresses of services");
    for (const char* const key : {"env", "envFrom"})
      fine &= wall(size_of(container_, key) <= size_of(asked_container_, key), true, "variables were added to it");
    if (fine) isolation_.set(isolation_kind::secrets, "no token for the API server, no variables of the cluster");
  }

  bool is_same_amount(const char* kind, std::string_view resource) const {
    const std::string_view asked = text_at(object_at(object_at(asked_container_, "resources"), kind), resource);
    const object* const amounts = object_at(object_at(container_, "resources"), kind);
    const boost::json::value* const given = amounts == nullptr ? nullptr : amounts->if_contains(json_view(resource));
    if (given == nullptr) return asked.empty();
    const std::string number = given->is_number() ? std::to_string(given->to_number<double>()) : std::string();
    return is_same_quantity(asked, given->is_string() ? text_at(*amounts, resource) : std::string_view(number));
  }

  void check_limits() {
    const auto asked = [this](const char* resource) {
      return std::string(text_at(object_at(object_at(asked_container_, "resources"), "limits"), resource));
    };
    if (wall(is_same_amount("limits", "memory"), true, "its memory limit is not the requested one") &&
        !asked("memory").empty())
      isolation_.set(isolation_kind::memory, "limit of " + asked("memory") + " bytes");
    if (wall(is_same_amount("limits", "cpu"), true, "its CPU limit is not the requested one") && !asked("cpu").empty())
      isolation_.set(isolation_kind::processor_time, "limit of " + asked("cpu") + " of a CPU");
    if (wall(is_same_amount("limits", "ephemeral-storage"), true, "its disk limit is not the requested one") &&
        !asked("ephemeral-storage").empty())
      isolation_.set(isolation_kind::disk,
                     "limit of " + asked("ephemeral-storage") + " bytes; a pod that exceeds it is evicted");
  }

  void check_files() {
    const auto is_read_only = [](const object*, const object* c) {
      return is_true_at(object_at(c, "securityContext"), "readOnlyRootFilesystem");
    };
    const bool read_only = both(is_read_only, "its root is not read-only");
    bool fine = read_only || !is_read_only(asked_, asked_container_);
    fine &= check_volumes();
    fine &= check_mounts();
    fine &= wall(size_of(container_, "volumeDevices") == 0, size_of(asked_container_, "volumeDevices") == 0,
                 "it has devices of the node");
    if (fine)
      isolation_.set(isolation_kind::files,
                     read_only ? "the image's files, read-only" : "the image's files, as a private copy");
  }

  bool check_volumes() {
    bool fine = true;
    const boost::json::array* const asked = array_at(asked_, "volumes");
    const boost::json::array* const given = array_at(given_, "volumes");
    if (given != nullptr)
      for (const boost::json::value& each : *given) {
        const std::string_view name = text_at(each.if_object(), "name");
        fine &= wall(has_named(asked, name), true, "the volume " + in_quotes(name) + " was added");
      }
    for (const boost::json::value& each : asked == nullptr ? boost::json::array() : *asked) {
      const object* const want = each.if_object();
      const std::string_view name = text_at(want, "name");
      const object* have = nullptr;
      if (given != nullptr)
        for (const boost::json::value& candidate : *given)
          if (text_at(candidate.if_object(), "name") == name) have = candidate.if_object();
      bool same = have != nullptr;
      if (const object* const directory = object_at(want, "emptyDir")) {
        const object* const there = object_at(have, "emptyDir");
        same = there != nullptr && text_at(there, "medium") == text_at(directory, "medium") &&
               is_same_quantity(text_at(directory, "sizeLimit"), text_at(there, "sizeLimit"));
      } else if (const object* const map = object_at(want, "configMap")) {
        same = text_at(object_at(have, "configMap"), "name") == text_at(map, "name");
      }
      fine &= wall(same, true, "the volume " + in_quotes(name) + " is missing, or is another one");
    }
    return fine;
  }

  bool check_mounts() {
    bool fine = true;
    const boost::json::array* const asked = array_at(asked_container_, "volumeMounts");
    const boost::json::array* const given = array_at(container_, "volumeMounts");
    const auto mount_at = [](const boost::json::array* mounts, std::string_view path) -> const object* {
      if (mounts == nullptr) return nullptr;
      for (const boost::json::value& each : *mounts)
        if (text_at(each.if_object(), "mountPath") == path) return each.if_object();
      return nullptr;
    };
    for (const boost::json::value& each : given == nullptr ? boost::json::array() : *given) {
      const std::string_view path = text_at(each.if_object(), "mountPath");
      const object* const want = mount_at(asked, path);
      fine &= wall(want != nullptr, true, "a mount at " + in_quotes(path) + " was added");
      if (want == nullptr) continue;
      const bool same = text_at(each.if_object(), "name") == text_at(want, "name") &&
                        (!is_true_at(want, "readOnly") || is_true_at(each.if_object(), "readOnly"));
      fine &= wall(same, true, "the mount at " + in_quotes(path) + " is another one");
    }
    for (const boost::json::value& each : asked == nullptr ? boost::json::array() : *asked) {
      const std::string_view path = text_at(each.if_object(), "mountPath");
      fine &= wall(mount_at(given, path) != nullptr, true, "the mount at " + in_quotes(path) + " is missing");
    }
    return fine;
  }

  void check_life() {
    wall(text_at(given_, "restartPolicy") == "Never", true, "it would be restarted");
    wall(number_at(given_, "activeDeadlineSeconds") == number_at(asked_, "activeDeadlineSeconds"), true,
         "its longest life is not the requested one");
  }

  const object* asked_;
  const object* given_;
  const object* asked_metadata_;
  const object* metadata_;
  const object* asked_container_;
  const object* container_;
  isolation_report isolation_;
  std::vector<std::string> missing_;
};

/// Compares a requested pod with the pod that the API server has admitted. Webhooks and policies of the cluster may
/// change a pod, and an old API server ignores fields that it does not know.
/// \param asked     the requested pod: `pod_request::body()`. What its merge patch has removed is not required.
/// \param admitted  the answer to the request.
inline pod_check check_pod(const boost::json::object& asked, const boost::json::object& admitted) {
  return pod_checker(asked, admitted).check();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
