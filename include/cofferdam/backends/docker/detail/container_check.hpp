// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/api_version.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The result of comparing the requested settings of a container with the settings that the daemon has applied.
class container_check {
 public:
  container_check(isolation_report isolation, std::vector<std::string> missing)
      : isolation_(std::move(isolation)), missing_(std::move(missing)) {}

  /// Returns the isolation that the applied settings provide. The kind `host_death` (what ends if the host program
  /// dies) is not included, because it depends on the connection to the container, not on settings.
  const isolation_report& isolation() const noexcept { return isolation_; }
  /// Returns short descriptions of the settings that the daemon did not apply; empty if it applied all.
  const std::vector<std::string>& missing() const noexcept { return missing_; }

  /// Throws if a setting is missing. After an exception the container must not be started.
  /// \throws error{exec_errc::provider_failed}, whose message lists the missing settings.
  void require() const {
    if (missing_.empty()) return;
    std::string text = "docker: the daemon created a container that differs from the request: ";
    for (std::size_t i = 0; i < missing_.size(); ++i) text += (i > 0 ? "; " : "") + missing_[i];
    throw error(exec_errc::provider_failed,
                text + ". The container was not started; run docker info and look for warnings about missing limits");
  }

 private:
  isolation_report isolation_;
  std::vector<std::string> missing_;
};

// The comparison behind `check_container`.
class container_checker {
 public:
  container_checker(const boost::json::object& asked, const boost::json::object& inspected, engine_kind kind)
      : asked_(asked),
        asked_host_(object_or_empty(asked, "HostConfig")),
        config_(object_or_empty(inspected, "Config")),
        host_(object_or_empty(inspected, "HostConfig")),
        inspected_(inspected),
        kind_(kind) {}

  container_check check() {
    check_privileges();
    check_limits();
    check_namespaces();
    check_files();
    check_rest();
    return container_check(std::move(isolation_), std::move(missing_));
  }

 private:
  static const boost::json::object& object_or_empty(const boost::json::object& from, std::string_view key) {
    static const boost::json::object empty;
    const boost::json::object* const found = object_at(from, key);
    return found == nullptr ? empty : *found;
  }

  bool expect(bool holds, const std::string& what) {
    if (!holds) missing_.push_back(what);
    return holds;
  }

  static bool holds_text(const boost::json::array* names, std::string_view name) {
    return names != nullptr && std::any_of(names->begin(), names->end(), [name](const boost::json::value& entry) {
             const boost::json::string* const text = entry.if_string();
             return text != nullptr && capability(std::string_view(text->data(), text->size())) == name;
           });
  }

  static std::string_view capability(std::string_view name) { return name.starts_with("CAP_") ? name.substr(4) : name; }

  // Returns true if all capabilities except the requested ones are dropped. Docker reports the list from the request,
  // `ALL`. Podman reports each capability that it has removed from Podman's default set.
  bool drops_all() const {
    const boost::json::array* const dropped = array_at(host_, "CapDrop");
    if (holds_text(dropped, "ALL")) return true;
    if (kind_ != engine_kind::podman) return false;
    constexpr std::array<std::string_view, 11> podmans{"CHOWN",   "DAC_OVERRIDE",     "FOWNER",    "FSETID",
                                                       "KILL",    "NET_BIND_SERVICE", "SETFCAP",   "SETGID",
                                                       "SETPCAP", "SETUID",           "SYS_CHROOT"};
    const boost::json::array* const kept = array_at(asked_host_, "CapAdd");
    return std::all_of(podmans.begin(), podmans.end(),
                       [&](std::string_view name) { return holds_text(dropped, name) || holds_text(kept, name); });
  }

  bool adds_no_more() const {
    const boost::json::array* const added = array_at(host_, "CapAdd");
    const boost::json::array* const requested = array_at(asked_host_, "CapAdd");
    return added == nullptr || std::all_of(added->begin(), added->end(), [&](const boost::json::value& entry) {
             const boost::json::string* const text = entry.if_string();
             return text != nullptr && holds_text(requested, capability(std::string_view(text->data(), text->size())));
           });
  }

  void check_privileges() {
    bool fine = expect(drops_all(), "capabilities were not dropped");
    fine &= expect(adds_no_more(), "capabilities were added that were not requested");
    fine &= expect(!is_true_at(host_, "Privileged"), "the container is privileged");
    const boost::json::array* const security = array_at(host_, "SecurityOpt");
    bool no_new = false;
    bool weaker = false;
    if (security != nullptr)
      for (const boost::json::value& entry : *security) {
        const std::string_view text = entry.is_string()
                                          ? std::string_view(entry.get_string().data(), entry.get_string().size())
                                          : std::string_view();
        no_new |= text == "no-new-privileges" || text == "no-new-privileges:true" || text == "no-new-privileges=true";
        weaker |= text.find("unconfined") != std::string_view::npos || text.find("disable") != std::string_view::npos;
      }
    fine &= expect(no_new, "no-new-privileges is not set");
    fine &= expect(!weaker, "a security profile was switched off");
    const std::string_view user = text_at(asked_, "User");
    fine &= expect(text_at(config_, "User") == user, "its user is not the requested one");
    if (fine) isolation_.set(isolation_kind::system_calls, "no capabilities, no new privileges");
  }

  bool same_number(const char* key) const {
    const std::optional<std::int64_t> requested = number_at(asked_host_, key);
    return requested && number_at(host_, key) == requested;
  }

  void check_limits() {
    if (expect(same_number("Memory"), "the memory limit was not set")) {
      // A kernel without swap accounting cannot limit swap, and the daemon then reports no swap limit. This is
      // accepted, and `isolation()` mentions it.
      const bool unlimited = number_at(host_, "MemorySwap").value_or(0) <= 0;
      if (unlimited || expect(same_number("MemorySwap"), "swap was not switched off"))
        isolation_.set(isolation_kind::memory, "limit of " + std::to_string(*number_at(host_, "Memory")) + " bytes, " +
                                                   (unlimited ? "but swap is not limited" : "no swap"));
    }
    if (expect(same_number("PidsLimit"), "the limit on processes was not set"))
      isolation_.set(isolation_kind::process_count, "limit of " + std::to_string(*number_at(host_, "PidsLimit")));
    expect(same_number("NanoCpus"), "the limit on CPUs was not set");
    expect(same_number("ShmSize"), "the size of /dev/shm was not set");
    expect(has_no_core_files(), "core files were not switched off");
  }

  bool has_no_core_files() const {
    const boost::json::array* const limits = array_at(host_, "Ulimits");
    return limits != nullptr && std::any_of(limits->begin(), limits->end(), [](const boost::json::value& entry) {
             const boost::json::object* const limit = entry.if_object();
             if (limit == nullptr || number_at(*limit, "Hard") != 0) return false;
             const std::string_view name = text_at(*limit, "Name");
             return name == "core" || name == "RLIMIT_CORE";
           });
  }

  // Returns true if a namespace is shared with the host or another container (the daemon reports `host`, `container:x`
  // or `ns:x`), or if Docker reports that other containers may join it (`shareable`).
  bool is_shared(const char* key) const {
    const std::string_view mode = text_at(host_, key);
    if (mode == "shareable") return kind_ != engine_kind::podman;  // Podman reports `shareable` for `private`
    return mode == "host" || mode.starts_with("container:") || mode.starts_with("ns:");
  }

  void check_namespaces() {
    const std::string_view network = text_at(asked_host_, "NetworkMode");
    const bool same =
        expect(!network.empty() && text_at(host_, "NetworkMode") == network, "its network is not the requested one");
    if (same && !is_shared("NetworkMode"))
      isolation_.set(isolation_kind::network, network == "none" ? std::string("only its own loopback")
                                                                : "the daemon's network " + std::string(network));
    expect(same_array("Dns"), "its name servers are not the requested ones");
    expect(same_array("ExtraHosts"), "its additional host names are not the requested ones");
    const bool pids = expect(!is_shared("PidMode"), "it shares the PID namespace of others");
    const bool ipc = expect(!is_shared("IpcMode"), "it shares the IPC namespace of others");
    expect(!is_shared("UTSMode") && !is_shared("UsernsMode"), "it shares a namespace with the host");
    if (pids && ipc) {
      isolation_.set(isolation_kind::process_tree, "all of the container");
      isolation_.set(isolation_kind::signals, "all of the container");
    }
  }

  static bool is_empty(const boost::json::object& object, const char* key) {
    const boost::json::array* const found = array_at(object, key);
    return found == nullptr || found->empty();
  }

  // Returns true if an array of the settings is the requested one. An absent array counts as empty.
  bool same_array(const char* key) const {
    if (is_empty(asked_host_, key)) return is_empty(host_, key);
    const boost::json::array* const given = array_at(host_, key);
    return given != nullptr && *given == *array_at(asked_host_, key);
  }

  bool has_same_gpus() const {
    const boost::json::array* const asked = array_at(asked_host_, "DeviceRequests");
    const boost::json::array* const given = array_at(host_, "DeviceRequests");
    if (is_empty(asked_host_, "DeviceRequests")) return is_empty(host_, "DeviceRequests");
    if (given == nullptr || given->size() != asked->size() || !given->front().is_object()) return false;
    const boost::json::object& want = asked->front().get_object();
    const boost::json::object& have = given->front().get_object();
    const auto same_list = [&](const char* key) {
      return (is_empty(want, key) && is_empty(have, key)) || (!is_empty(have, key) && want.at(key) == have.at(key));
    };
    return number_at(have, "Count").value_or(0) == number_at(want, "Count") && same_list("DeviceIDs") &&
           same_list("Capabilities") && text_at(have, "Driver").empty();
  }

  void check_files() {
    bool fine = true;
    const bool read_only = is_true_at(asked_host_, "ReadonlyRootfs");
    fine &= expect(is_true_at(host_, "ReadonlyRootfs") == read_only, "its root is not read-only");
    fine &= expect(is_empty(host_, "Devices"), "it has devices of the host");
    fine &= expect(has_same_gpus(), "its GPUs are not the requested ones");
    fine &= expect(is_empty(host_, "VolumesFrom"), "it has the volumes of another container");
    const boost::json::object& tmpfs = object_or_empty(asked_host_, "Tmpfs");
    const boost::json::object& given = object_or_empty(host_, "Tmpfs");
    for (const auto& [key, how] : tmpfs) {
      const std::string path(key.data(), key.size());
      fine &= expect(given.contains(key), "the tmpfs at " + path + " is missing");
      if (path != "/tmp" && path != text_at(asked_, "WorkingDir") && how.is_string())
        describe_memory(path, std::string_view(how.get_string().data(), how.get_string().size()));
    }
    std::size_t binds = 0;
    fine &= check_mounts(binds);
    if (!fine) return;
    std::string words = read_only ? "the image's files, read-only" : "the image's files, as a private copy";
    for (const std::string& volume : volumes_) words += ", " + volume;
    if (binds > 0) words += ", and " + std::to_string(binds) + (binds == 1 ? " folder" : " folders") + " of the host";
    if (!is_empty(asked_host_, "DeviceRequests")) words += ", and GPUs of the host";
    isolation_.set(isolation_kind::files, words);
  }

  // Adds an in-memory file system to the list that `isolation_kind::files` reports. `how` contains its mount options;
  // without a `size=` in them, nothing is added.
  void describe_memory(const std::string& path, std::string_view how) {
    const std::size_t at = how.find("size=");
    if (at == std::string_view::npos) return;
    const std::string_view digits = how.substr(at + 5, how.substr(at + 5).find(','));
    volumes_.push_back(std::string(digits) + " bytes of memory at " + path);
  }

  // Checks that each requested mount exists, and that there is no other mount: neither a folder of the host, nor a
  // VOLUME of the image, which would be a folder on the daemon's disk.
  bool check_mounts(std::size_t& binds) {
    static const boost::json::array none;
    const boost::json::object& tmpfs = object_or_empty(asked_host_, "Tmpfs");
    const boost::json::array* const requested = array_at(asked_host_, "Mounts");
    const boost::json::array* const given = array_at(inspected_, "Mounts");
    bool fine = true;
    for (const boost::json::value& entry : requested == nullptr ? none : *requested) {
      const boost::json::object* const want = entry.if_object();
      if (want == nullptr) continue;
      const boost::json::object* const have = mount_at(given == nullptr ? none : *given, text_at(*want, "Target"));
      const std::string target(text_at(*want, "Target"));
      const bool bind = text_at(*want, "Type") == "bind";
      const std::string_view source = text_at(*want, "Source");
      const bool same = have != nullptr && text_at(*have, "Type") == text_at(*want, "Type") &&
                        (source.empty() || text_at(*have, bind ? "Source" : "Name") == source);
      fine &= expect(same, "the mount at " + target + " is missing, or is another one");
      if (!bind && !target.starts_with("/.cofferdam")) describe_volume(*want, target);
      if (same && is_true_at(*want, "ReadOnly")) fine &= expect(!is_writable(*have), target + " is not read-only");
      if (bind && !target.starts_with("/.cofferdam")) ++binds;  // the library's own mount contains no files of the host
    }
    for (const boost::json::value& entry : given == nullptr ? none : *given) {
      const boost::json::object* const have = entry.if_object();
      if (have == nullptr) continue;
      const std::string_view path = text_at(*have, "Destination");
      const bool is_wanted = mount_at(requested == nullptr ? none : *requested, path, "Target") != nullptr ||
                             (text_at(*have, "Type") == "tmpfs" && tmpfs.contains(path));
      fine &= expect(is_wanted, "a " + one_line(text_at(*have, "Type"), 40) + " mount that was not requested is at " +
                                    one_line(path, 120));
    }
    return fine;
  }

  void describe_volume(const boost::json::object& want, const std::string& target) {
    const boost::json::object& how = object_or_empty(want, "VolumeOptions");
    const boost::json::object& driver = object_or_empty(how, "DriverConfig");
    const std::string_view memory = text_at(object_or_empty(driver, "Options"), "o");
    if (!memory.empty())
      describe_memory(target, memory);
    else if (!is_true_at(want, "ReadOnly"))
      volumes_.push_back("unlimited space on the daemon's disk at " + target);
  }

  static bool is_writable(const boost::json::object& have) {
    const boost::json::value* const writable = member(have, "RW");
    return writable == nullptr || !writable->is_bool() || writable->get_bool();
  }

  static const boost::json::object* mount_at(const boost::json::array& mounts, std::string_view path,
                                             std::string_view key = "Destination") {
    for (const boost::json::value& entry : mounts)
      if (const boost::json::object* const object = entry.if_object();
          object != nullptr && text_at(*object, key) == path)
        return object;
    return nullptr;
  }

  void check_rest() {
    expect(text_at(object_or_empty(host_, "LogConfig"), "Type") == "none", "its output is logged on the daemon's disk");
    expect(is_true_at(host_, "AutoRemove"), "it would not be removed when it exits");
    if (const std::string_view runtime = text_at(asked_host_, "Runtime"); !runtime.empty())
      expect(text_at(host_, "Runtime") == runtime, "its runtime is not the requested one");
    const boost::json::array* const entry = array_at(asked_, "Entrypoint");
    const boost::json::array* const started = array_at(config_, "Entrypoint");
    expect(entry != nullptr && started != nullptr && *entry == *started, "its first program is not the requested one");
    const boost::json::object& labels = object_or_empty(config_, "Labels");
    const boost::json::object& requested = object_or_empty(asked_, "Labels");
    const bool labelled = std::all_of(requested.begin(), requested.end(), [&](const auto& label) {
      const boost::json::value* const found = labels.if_contains(label.key());
      return found != nullptr && *found == label.value();
    });
    expect(labelled, "its labels are missing");
    expect(!is_true_at(config_, "Tty"), "it has a terminal");
  }

  const boost::json::object& asked_;
  const boost::json::object& asked_host_;
  const boost::json::object& config_;
  const boost::json::object& host_;
  const boost::json::object& inspected_;
  engine_kind kind_;
  isolation_report isolation_;
  std::vector<std::string> missing_;
  std::vector<std::string> volumes_;
};

/// Compares the requested settings of a container with the settings that the daemon has applied. This is necessary
/// because both Docker and Podman ignore unknown fields in a request.
/// \param asked      the requested settings: `create_request::body()`.
/// \param inspected  the response to `GET /containers/ID/json`, before the container is started.
/// \return           the isolation that exists, and the missing settings. A setting that the response does not contain
///                   counts as missing.
/// \par Source       Engine API, "Inspect a container".
inline container_check check_container(const boost::json::object& asked, const boost::json::object& inspected,
                                       engine_kind kind = engine_kind::docker) {
  return detail::container_checker(asked, inspected, kind).check();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
