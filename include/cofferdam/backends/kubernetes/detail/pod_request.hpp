// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/kubernetes/detail/merge_patch.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/warden/image.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

using cofferdam::detail::array_at;
using cofferdam::detail::is_true_at;
using cofferdam::detail::json_text;
using cofferdam::detail::json_view;
using cofferdam::detail::number_at;
using cofferdam::detail::object_at;
using cofferdam::detail::text_at;

inline constexpr std::string_view container_name = "sandbox";
inline constexpr std::string_view programs_at = "/.cofferdam";
inline constexpr const char* sandbox_label = "cofferdam/sandbox";
inline constexpr const char* network_label = "cofferdam/network";
/// The annotation with the time limit for the start of a pod. A pod that has not started by then has no owner.
inline constexpr const char* opening_annotation = "cofferdam/opening-seconds";
inline constexpr const char* hold_annotation = "cofferdam/hold-seconds";

/// Returns the path of the warden in a pod.
/// \param machine  "x86_64" or "aarch64".
inline std::string warden_path(std::string_view machine) {
  return std::string(programs_at) + "/" + std::string(machine);
}

/// Returns the script that is the first process of a pod without the ConfigMap of the wardens. It waits until
/// `over_script` has put a warden into a folder of the programs' volume, announces this by the file `taken`, and
/// becomes the holder, as if it had been started in hold mode. It ends if no warden comes within the hold time.
/// \par Source  POSIX sh; programs: sleep, whose argument may have to be a whole number.
inline std::string waiting_script(std::chrono::milliseconds hold_time) {
  const std::string turns = std::to_string(hold_time.count() / 100 + 1);
  return "i=0; while [ \"$i\" -lt " + turns + " ]; do for d in " + std::string(programs_at) +
         "/cofferdam-*; do if [ -x \"$d/warden\" ]; then : >\"$d/taken\"; exec \"$d/warden\" hold " +
         std::to_string(hold_time.count()) +
         "; fi; done; sleep 0.1 2>/dev/null || { sleep 1 && i=$((i+9)); } || exit 4; i=$((i+1)); done";
}

/// Returns the name of the ConfigMap with the wardens. The name contains the beginnings of their digests, so that
/// different versions of this library can use one namespace.
inline std::string warden_map_name() {
  return "cofferdam-warden-" + std::string(warden_image_for("x86_64").sha256().substr(0, 6)) +
         std::string(warden_image_for("aarch64").sha256().substr(0, 6));
}

/// Returns the metadata of an object that this library creates.
inline boost::json::object own_metadata(std::string_view name) {
  boost::json::object labels;
  labels["app.kubernetes.io/managed-by"] = "cofferdam";
  boost::json::object metadata;
  metadata["name"] = json_text(name);
  metadata["labels"] = std::move(labels);
  return metadata;
}

/// Returns the ConfigMap with the wardens for both architectures. It is created once in a namespace, and cannot be
/// changed afterwards.
inline boost::json::object warden_map() {
  boost::json::object programs;
  for (const char* const machine : {"x86_64", "aarch64"}) {
    const std::span<const unsigned char> program = warden_image_for(machine).program();
    programs[machine] = json_text(cofferdam::detail::base64_encode(std::as_bytes(program)));
  }
  boost::json::object map;
  map["apiVersion"] = "v1";
  map["kind"] = "ConfigMap";
  map["metadata"] = own_metadata(warden_map_name());
  map["immutable"] = true;
  map["binaryData"] = std::move(programs);
  return map;
}

inline constexpr std::string_view network_policy_name = "cofferdam-no-network";

/// Returns the NetworkPolicy that forbids all connections of pods without a network. It selects only pods with a label
/// of this library, so that other pods of the namespace keep their network.
inline boost::json::object network_policy() {
  boost::json::object selected;
  selected[network_label] = "none";
  boost::json::object selector;
  selector["matchLabels"] = std::move(selected);
  boost::json::array types;
  types.emplace_back("Ingress");
  types.emplace_back("Egress");
  boost::json::object spec;
  spec["podSelector"] = std::move(selector);
  spec["policyTypes"] = std::move(types);
  boost::json::object metadata;
  metadata["name"] = json_text(network_policy_name);
  boost::json::object policy;
  policy["apiVersion"] = "networking.k8s.io/v1";
  policy["kind"] = "NetworkPolicy";
  policy["metadata"] = std::move(metadata);
  policy["spec"] = std::move(spec);
  return policy;
}

/// A builder of the pod that is sent to the API server. A value; it sends nothing.
/// \par Source  Kubernetes API, Pod; the profile "restricted" of the Pod Security Standards.
class pod_request {
 public:
  /// \param image    the image of the container.
  /// \param name     the name of the pod: a label of RFC 1123, unique in the namespace.
  /// \param machine  the architecture whose warden is the first process: "x86_64" or "aarch64". If it is empty, the pod
  ///                 needs no ConfigMap: its first process is a shell that waits for a warden, see `waiting_script`.
  /// \throws error{exec_errc::invalid_argument} for a malformed name or image.
  pod_request(std::string image, std::string name, std::string machine, pod_options options)
      : image_(std::move(image)), name_(std::move(name)), machine_(std::move(machine)), options_(std::move(options)) {
    const bool plain = image_.find_first_of(std::string_view(" \t\r\n\0", 5)) == std::string::npos;
    if (image_.empty() || !plain) throw bad_option("invalid name of an image: " + in_quotes(image_));
    if (!is_label(name_)) throw bad_option("invalid name of a pod: " + in_quotes(name_));
  }

  const std::string& name() const noexcept { return name_; }
  const pod_options& options() const noexcept { return options_; }

  /// Returns the JSON of the pod.
  /// \throws error{exec_errc::invalid_argument} if the merge patch changes what this library needs.
  boost::json::object body() const {
    boost::json::object pod = plain_body();
    if (options_.merge_patch().empty()) return pod;
    const boost::json::object patch =
        cofferdam::detail::parse_object(options_.merge_patch(), exec_errc::invalid_argument, "kubernetes: merge_patch");
    boost::json::value changed = pod;
    apply_merge_patch(changed, patch);
    require_own_parts(pod, changed.get_object());
    return std::move(changed.get_object());
  }

 private:
  static boost::json::array texts(std::initializer_list<std::string_view> words) {
    boost::json::array array;
    for (const std::string_view word : words) array.push_back(json_text(word));
    return array;
  }

  boost::json::object plain_body() const {
    boost::json::object pod;
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    pod["metadata"] = metadata();
    pod["spec"] = spec();
    return pod;
  }

  boost::json::object metadata() const {
    boost::json::object labels;
    for (const auto& [key, value] : options_.labels()) labels[json_view(key)] = json_text(value);
    labels["app.kubernetes.io/managed-by"] = "cofferdam";
    labels[sandbox_label] = "1";
    labels[network_label] = options_.network() == pod_network::none ? "none" : "cluster";
    boost::json::object annotations;
    for (const auto& [key, value] : options_.annotations()) annotations[json_view(key)] = json_text(value);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.hold_time()).count();
    annotations[hold_annotation] = json_text(std::to_string(seconds));
    boost::json::object metadata;
    metadata["name"] = json_text(name_);
    metadata["labels"] = std::move(labels);
    metadata["annotations"] = std::move(annotations);
    return metadata;
  }

  boost::json::object spec() const {
    boost::json::object spec;
    spec["restartPolicy"] = "Never";
    spec["automountServiceAccountToken"] = false;
    spec["enableServiceLinks"] = false;
    spec["shareProcessNamespace"] = false;
    spec["terminationGracePeriodSeconds"] = 0;
    spec["activeDeadlineSeconds"] = options_.longest_life().count();
    spec["hostname"] = "sandbox";
    if (options_.network() == pod_network::none) {  // the names of the cluster's services are no business of the guest
      boost::json::object resolver;
      resolver["nameservers"] = texts({"127.0.0.1"});
      spec["dnsPolicy"] = "None";
      spec["dnsConfig"] = std::move(resolver);
    }
    boost::json::object security = identity();
    security["fsGroup"] = options_.gid();
    spec["securityContext"] = std::move(security);
    boost::json::object selector;
    for (const auto& [key, value] : options_.node_selector()) selector[json_view(key)] = json_text(value);
    if (!selector.contains("kubernetes.io/os")) selector["kubernetes.io/os"] = "linux";
    spec["nodeSelector"] = std::move(selector);
    if (!options_.runtime_class().empty()) spec["runtimeClassName"] = json_text(options_.runtime_class());
    if (!options_.tolerations().empty()) spec["tolerations"] = tolerations();
    if (!options_.pull_secrets().empty()) {
      boost::json::array secrets;
      for (const std::string& name : options_.pull_secrets()) {
        boost::json::object secret;
        secret["name"] = json_text(name);
        secrets.push_back(std::move(secret));
      }
      spec["imagePullSecrets"] = std::move(secrets);
    }
    boost::json::array containers;
    containers.push_back(container());
    spec["containers"] = std::move(containers);
    spec["volumes"] = volumes();
    return spec;
  }

  boost::json::object identity() const {
    boost::json::object seccomp;
    seccomp["type"] = "RuntimeDefault";
    boost::json::object identity;
    identity["runAsNonRoot"] = true;
    identity["runAsUser"] = options_.uid();
    identity["runAsGroup"] = options_.gid();
    identity["seccompProfile"] = std::move(seccomp);
    return identity;
  }

  boost::json::array tolerations() const {
    constexpr const char* effects[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute"};
    boost::json::array array;
    for (const toleration& each : options_.tolerations()) {
      boost::json::object entry;
      entry["key"] = json_text(each.key());
      entry["operator"] = each.has_value() ? "Equal" : "Exists";
      if (each.has_value()) entry["value"] = json_text(each.value());
      if (each.effect() != taint_effect::any) entry["effect"] = effects[static_cast<std::size_t>(each.effect())];
      array.push_back(std::move(entry));
    }
    return array;
  }

  boost::json::object container() const {
    constexpr const char* policies[] = {"IfNotPresent", "Always", "Never"};
    boost::json::object container;
    container["name"] = json_text(container_name);
    container["image"] = json_text(image_);
    container["imagePullPolicy"] = policies[static_cast<std::size_t>(options_.pull())];
    if (machine_.empty())
      container["command"] = texts({"sh", "-c", waiting_script(options_.hold_time())});
    else
      container["command"] = texts({warden_path(machine_), "hold", std::to_string(options_.hold_time().count())});
    container["args"] = boost::json::array();
    container["workingDir"] = "/";
    boost::json::object capabilities;
    capabilities["drop"] = texts({"ALL"});
    boost::json::object security = identity();
    security["allowPrivilegeEscalation"] = false;
    security["privileged"] = false;
    security["readOnlyRootFilesystem"] = options_.has_read_only_root();
    security["capabilities"] = std::move(capabilities);
    container["securityContext"] = std::move(security);
    boost::json::object amounts;
    amounts["cpu"] = json_text(std::to_string(options_.cpu_thousandths()) + "m");
    amounts["memory"] = json_text(std::to_string(options_.memory()));
    amounts["ephemeral-storage"] = json_text(std::to_string(options_.ephemeral_storage()));
    if (options_.gpus() != 0) amounts[json_view(options_.gpu_resource())] = json_text(std::to_string(options_.gpus()));
    boost::json::object resources;
    resources["limits"] = amounts;
    resources["requests"] = std::move(amounts);
    container["resources"] = std::move(resources);
    boost::json::array mounts;
    mounts.push_back(mount("cofferdam-programs", programs_at, !machine_.empty()));
    mounts.push_back(mount("workspace", options_.working_directory(), false));
    if (options_.working_directory() != "/tmp") mounts.push_back(mount("tmp", "/tmp", false));
    container["volumeMounts"] = std::move(mounts);
    return container;
  }

  static boost::json::object mount(std::string_view volume, std::string_view path, bool read_only) {
    boost::json::object mount;
    mount["name"] = json_text(volume);
    mount["mountPath"] = json_text(path);
    if (read_only) mount["readOnly"] = true;
    return mount;
  }

  boost::json::object programs_volume() const {
    constexpr const char* name = "cofferdam-programs";
    if (machine_.empty()) return empty_volume(name, std::uint64_t{1} << 20U);
    boost::json::object map;
    map["name"] = json_text(warden_map_name());
    map["defaultMode"] = 0555;
    boost::json::object programs;
    programs["name"] = name;
    programs["configMap"] = std::move(map);
    return programs;
  }

  boost::json::array volumes() const {
    boost::json::array volumes;
    volumes.push_back(programs_volume());
    volumes.push_back(empty_volume("workspace", options_.workspace_size()));
    if (options_.working_directory() != "/tmp") volumes.push_back(empty_volume("tmp", options_.workspace_size() / 2));
    return volumes;
  }

  boost::json::object empty_volume(std::string_view name, std::uint64_t bytes) const {
    boost::json::object directory;
    if (options_.workspace() == workspace_medium::memory) directory["medium"] = "Memory";
    directory["sizeLimit"] = json_text(std::to_string(bytes));
    boost::json::object volume;
    volume["name"] = json_text(name);
    volume["emptyDir"] = std::move(directory);
    return volume;
  }

  // Throws if a merge patch has changed a part without which a pod cannot be used, found or removed.
  static void require_own_parts(const boost::json::object& pod, const boost::json::object& changed) {
    const auto refuse = [](const std::string& what) {
      throw bad_option("merge_patch changes " + what + ", which this library needs; arrays in the patch replace the " +
                       "whole array of the pod");
    };
    for (const char* const each : {"apiVersion", "kind"})
      if (text_at(pod, each) != text_at(changed, each)) refuse(each);
    const boost::json::object& before = *object_at(pod, "metadata");
    const boost::json::object* const after = object_at(changed, "metadata");
    if (text_at(after, "name") != text_at(before, "name")) refuse("the pod's name");
    if (const std::string_view space = text_at(after, "namespace"); !space.empty()) refuse("the pod's namespace");
    for (const char* const key : {sandbox_label, network_label})
      if (text_at(object_at(after, "labels"), key) != text_at(object_at(before, "labels"), key)) refuse("a label");
    if (text_at(object_at(after, "annotations"), hold_annotation) !=
        text_at(object_at(before, "annotations"), hold_annotation))
      refuse("an annotation");
    const boost::json::object* const spec = object_at(changed, "spec");
    const boost::json::array& containers = *array_at(object_at(pod, "spec"), "containers");
    if (!holds(array_at(spec, "containers"), containers.front())) refuse("the container");
    for (const boost::json::value& volume : *array_at(object_at(pod, "spec"), "volumes"))
      if (!holds(array_at(spec, "volumes"), volume)) refuse("a volume");
    if (text_at(spec, "restartPolicy") != "Never") refuse("restartPolicy");
    if (is_true_at(spec, "shareProcessNamespace") || is_true_at(spec, "hostPID")) refuse("the process namespace");
    if (is_true_at(spec, "hostNetwork")) refuse("the network namespace");
  }

  static bool holds(const boost::json::array* array, const boost::json::value& wanted) {
    if (array == nullptr) return false;
    for (const boost::json::value& each : *array)
      if (each == wanted) return true;
    return false;
  }

  std::string image_;
  std::string name_;
  std::string machine_;
  pod_options options_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
