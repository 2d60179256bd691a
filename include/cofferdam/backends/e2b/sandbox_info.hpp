// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// A process that the daemon of a sandbox has started, for this client or for another one.
class running_process {
 public:
  running_process() = default;
  /// \param fields  a ProcessInfo of envd's process.proto.
  explicit running_process(const boost::json::object& fields) {
    namespace json = cofferdam::detail;
    pid_ = json::number_at(fields, "pid").value_or(0);
    tag_ = json::text_at(fields, "tag");
    const boost::json::object* const config = json::object_at(fields, "config");
    if (config == nullptr) return;
    words_.emplace_back(json::text_at(*config, "cmd"));
    if (const boost::json::array* const args = json::array_at(*config, "args"))
      for (const boost::json::value& each : *args)
        if (const boost::json::string* const text = each.if_string()) words_.emplace_back(text->data(), text->size());
  }

  /// Returns the process id in the sandbox.
  std::int64_t pid() const noexcept { return pid_; }
  /// Returns the tag that a client has set when it started the process; often empty.
  const std::string& tag() const noexcept { return tag_; }
  /// Returns the program and its arguments. For a command of this library, the program is /bin/sh and the command is
  /// inside a script.
  const std::vector<std::string>& words() const noexcept { return words_; }

 private:
  std::int64_t pid_ = 0;
  std::string tag_;
  std::vector<std::string> words_;
};

/// The service's information about a sandbox. Texts that the service does not send are empty, and numbers are 0.
/// \par Source  E2B's API, openapi.yml: Sandbox, SandboxDetail, ListedSandbox.
class sandbox_info {
 public:
  sandbox_info() = default;
  /// Reads the fields of a response. If the object does not describe a sandbox, `id()` is empty.
  explicit sandbox_info(const boost::json::object& fields) {
    using cofferdam::detail::text_at;
    id_ = text_at(fields, "sandboxID");
    template_id_ = text_at(fields, "templateID");
    alias_ = text_at(fields, "alias");
    envd_version_ = text_at(fields, "envdVersion");
    domain_ = text_at(fields, "domain");
    state_ = text_at(fields, "state");
    started_at_ = text_at(fields, "startedAt");
    end_at_ = text_at(fields, "endAt");
    access_token_ = secret_string(std::string(text_at(fields, "envdAccessToken")));
    traffic_token_ = secret_string(std::string(text_at(fields, "trafficAccessToken")));
    cpus_ = cofferdam::detail::number_at(fields, "cpuCount").value_or(0);
    memory_mib_ = cofferdam::detail::number_at(fields, "memoryMB").value_or(0);
    disk_mib_ = cofferdam::detail::number_at(fields, "diskSizeMB").value_or(0);
    if (const boost::json::object* const pairs = cofferdam::detail::object_at(fields, "metadata"))
      for (const auto& [key, value] : *pairs)
        if (const boost::json::string* const text = value.if_string())
          metadata_.emplace(std::string(key.data(), key.size()), std::string(text->data(), text->size()));
  }

  /// Returns the id of the sandbox.
  const std::string& id() const noexcept { return id_; }
  /// Returns the id of the template from which the sandbox was made.
  const std::string& template_id() const noexcept { return template_id_; }
  /// Returns the name of the template; empty if the service does not send it.
  const std::string& alias() const noexcept { return alias_; }
  /// Returns the version of the daemon in the sandbox.
  const std::string& envd_version() const noexcept { return envd_version_; }
  /// Returns the domain of the sandbox's ports; empty if the service does not send it.
  const std::string& domain() const noexcept { return domain_; }
  /// Returns `running` or `paused`; empty if the information comes from the call that created the sandbox.
  const std::string& state() const noexcept { return state_; }
  /// Returns the start time in the format of the service, RFC 3339.
  const std::string& started_at() const noexcept { return started_at_; }
  /// Returns the time at which the sandbox ends unless its lifetime is extended, in the format of RFC 3339. For a
  /// paused sandbox it is the time of the pause.
  const std::string& end_at() const noexcept { return end_at_; }
  /// Returns the names and values that are stored with the sandbox.
  const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
  /// Returns the number of virtual processors; 0 if the service does not send it.
  std::int64_t cpus() const noexcept { return cpus_; }
  /// Returns the size of the memory in MiB; 0 if the service does not send it.
  std::int64_t memory_mib() const noexcept { return memory_mib_; }
  /// Returns the size of the disk in MiB; 0 if the service does not send it.
  std::int64_t disk_mib() const noexcept { return disk_mib_; }
  /// Returns the token for the sandbox's daemon; empty if the daemon does not require one.
  const secret_string& access_token() const noexcept { return access_token_; }
  /// Returns the token for the other ports of the sandbox; empty if these ports are public.
  const secret_string& traffic_token() const noexcept { return traffic_token_; }

 private:
  std::string id_;
  std::string template_id_;
  std::string alias_;
  std::string envd_version_;
  std::string domain_;
  std::string state_;
  std::string started_at_;
  std::string end_at_;
  std::map<std::string, std::string> metadata_;
  secret_string access_token_;
  secret_string traffic_token_;
  std::int64_t cpus_ = 0;
  std::int64_t memory_mib_ = 0;
  std::int64_t disk_mib_ = 0;
};

/// A snapshot of a sandbox: a stored copy, from which sandboxes can be created.
class snapshot_info {
 public:
  snapshot_info() = default;
  /// Reads the fields of a response. If the object does not describe a snapshot, `id()` is empty.
  explicit snapshot_info(const boost::json::object& fields) : id_(cofferdam::detail::text_at(fields, "snapshotID")) {
    if (const boost::json::array* const names = cofferdam::detail::array_at(fields, "names"))
      for (const boost::json::value& each : *names)
        if (const boost::json::string* const text = each.if_string()) names_.emplace_back(text->data(), text->size());
  }

  /// Returns the id of the snapshot, for `from_template`.
  const std::string& id() const noexcept { return id_; }
  /// Returns the full names of the snapshot, with the name of the team and the version; none for an unnamed snapshot.
  const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  std::string id_;
  std::vector<std::string> names_;
};

/// The load of a sandbox at one moment.
class sandbox_metrics {
 public:
  sandbox_metrics() = default;
  /// \param fields  a JSON object of the service's list of metrics. Absent members count as 0.
  explicit sandbox_metrics(const boost::json::object& fields) {
    using cofferdam::detail::number_at;
    const auto bytes_at = [&](std::string_view key) {
      const std::int64_t number = number_at(fields, key).value_or(0);
      return number < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(number);
    };
    timestamp = number_at(fields, "timestampUnix").value_or(0);
    cpus = number_at(fields, "cpuCount").value_or(0);
    const boost::json::value* const used = cofferdam::detail::member(fields, "cpuUsedPct");
    if (used != nullptr && used->is_number()) cpu_percent = used->to_number<double>();
    memory_used = bytes_at("memUsed");
    memory_total = bytes_at("memTotal");
    disk_used = bytes_at("diskUsed");
    disk_total = bytes_at("diskTotal");
  }

  std::int64_t timestamp = 0;  ///< seconds since 1970
  /// The number of virtual processors.
  std::int64_t cpus = 0;
  /// The load of the processors, in percent.
  double cpu_percent = 0;
  std::uint64_t memory_used = 0;  ///< in bytes, like the three members below
  /// The size of the memory, in bytes.
  std::uint64_t memory_total = 0;
  /// The used part of the disk, in bytes.
  std::uint64_t disk_used = 0;
  /// The size of the disk, in bytes.
  std::uint64_t disk_total = 0;
};

/// One line of a sandbox's log.
class sandbox_log_line {
 public:
  sandbox_log_line() = default;
  /// \param fields  a JSON object of the service's log. Absent members count as empty.
  explicit sandbox_log_line(const boost::json::object& fields) {
    using cofferdam::detail::text_at;
    timestamp = text_at(fields, "timestamp");
    level = text_at(fields, "level");
    message = text_at(fields, "message");
  }

  std::string timestamp;  ///< in the format of the service: `2026-01-31T12:00:00.123Z`
  std::string level;      ///< `debug`, `info`, `warn` or `error`
  /// The text of the line. Untrusted.
  std::string message;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
