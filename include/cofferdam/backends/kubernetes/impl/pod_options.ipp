// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

namespace detail {

inline constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;
inline constexpr std::string_view own_prefix = "cofferdam/";

inline void require_text(std::string_view text, const std::string& what) {
  if (text.find('\0') != std::string_view::npos) throw bad_option(what + " contains a NUL byte");
  if (!cofferdam::detail::is_valid_utf8(text)) throw bad_option(what + " is not UTF-8");
}

inline void require_key(std::string_view key, const std::string& what) {
  if (!is_label_key(key))
    throw bad_option(what + " " + in_quotes(key) +
                     " must have the form name or example.com/name, where the name has at " +
                     "most 63 letters, digits, '-', '_' and '.'");
}

inline void require_value(std::string_view value, const std::string& what) {
  if (!is_label_value(value))
    throw bad_option(what + " " + in_quotes(value) + " must have at most 63 letters, digits, '-', '_' and '.'");
}

inline void require_bytes(std::uint64_t bytes, std::uint64_t least, const std::string& what,
                          const std::string& least_shown) {
  if (bytes < least)
    throw bad_option(what + " must be at least " + least_shown + " bytes, not " + std::to_string(bytes));
  if (bytes > max_bytes)
    throw bad_option(what + " must be at most " + std::to_string(max_bytes) + " bytes, not " + std::to_string(bytes));
}

inline void require_foreign(std::string_view key, const std::string& what) {
  if (key.starts_with(own_prefix))
    throw bad_option(what + " " + in_quotes(key) + ": keys that start with cofferdam/ are reserved for the library");
}

inline void require_subdomain(std::string_view name, const std::string& what) {
  if (const std::string rule = broken_rule(name); !rule.empty())
    throw bad_option(what + " " + in_quotes(name) + ": " + rule);
}

}  // namespace detail

COFFERDAM_DECL toleration::toleration(std::string_view key) : key_(key) {
  detail::require_key(key, "the key of a toleration");
}

COFFERDAM_DECL toleration::toleration(std::string_view key, std::string_view value)
    : key_(key), value_(value), has_value_(true) {
  detail::require_key(key, "the key of a toleration");
  detail::require_value(value, "the value of a toleration");
}

COFFERDAM_DECL pod_options& pod_options::kubeconfig(std::string_view path) {
  detail::require_text(path, "kubeconfig");
  if (path.empty()) throw detail::bad_option("kubeconfig: the path is empty");
  kubeconfig_ = std::string(path);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::context(std::string_view name) {
  detail::require_text(name, "context");
  if (name.empty()) throw detail::bad_option("context: the name is empty");
  context_ = std::string(name);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::in_namespace(std::string_view name) {
  if (!detail::is_label(name))
    throw detail::bad_option("in_namespace " + detail::in_quotes(name) +
                             " must have at most 63 lower-case letters, digits and '-', with no '-' at an end");
  namespace_ = std::string(name);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::allow_insecure() {
  allows_insecure_ = true;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::user(std::uint32_t uid, std::uint32_t gid) {
  constexpr std::uint32_t most = 0x7fffffff;  // the API's own limit
  if (uid == 0 || uid > most)
    throw detail::bad_option("user: the user id must be from 1 to 2147483647, not " + std::to_string(uid));
  if (gid > most)
    throw detail::bad_option("user: the group id must be from 0 to 2147483647, not " + std::to_string(gid));
  uid_ = uid;
  gid_ = gid;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::working_directory(std::string_view path) {
  detail::require_text(path, "working_directory");
  std::string clean;
  for (const std::string_view part : cofferdam::detail::path_components(path)) {
    if (part == "..") throw detail::bad_option("working_directory " + detail::in_quotes(path) + " contains '..'");
    clean += '/';
    clean += part;
  }
  // The API refuses a mount path with a colon.
  if (!path.starts_with('/') || clean.empty() || clean.size() > max_path || clean.find(':') != std::string::npos)
    throw detail::bad_option("working_directory " + detail::in_quotes(path) +
                             " must be an absolute path below /, without a colon");
  for (const std::string_view reserved : {"/proc", "/sys", "/dev", "/.cofferdam"})
    if (cofferdam::detail::is_beneath(clean, reserved))
      throw detail::bad_option("working_directory " + detail::in_quotes(path) + " is in " + std::string(reserved) +
                               "; choose another path");
  has_working_directory_ = true;
  working_directory_ = std::move(clean);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::workspace_size(std::uint64_t bytes) {
  detail::require_bytes(bytes, 4096, "workspace_size", "4096");
  workspace_size_ = bytes;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::workspace(workspace_medium where) {
  workspace_ = where;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::variable(std::string_view name, std::string_view value) {
  detail::require_text(name, "the name of a variable");
  const bool plain = !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    return c == '=' || static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (!plain) throw detail::bad_option("invalid name of a variable: " + detail::in_quotes(name));
  detail::require_text(value, "the value of the variable " + detail::in_quotes(name));
  variables_.insert_or_assign(std::string(name), std::string(value));
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::writable_root() {
  read_only_root_ = false;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::memory(std::uint64_t bytes) {
  detail::require_bytes(bytes, std::uint64_t{16} << 20, "memory", "16777216 (16 MiB)");
  memory_ = bytes;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::cpus(double count) {
  if (!(count >= 0.01) || !(count <= 65536))
    throw detail::bad_option("cpus must be a number from 0.01 to 65536, not " + cofferdam::detail::number_text(count));
  cpu_thousandths_ = static_cast<std::uint64_t>(std::llround(count * 1000));
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::ephemeral_storage(std::uint64_t bytes) {
  detail::require_bytes(bytes, std::uint64_t{1} << 20, "ephemeral_storage", "1048576 (1 MiB)");
  ephemeral_storage_ = bytes;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::gpus(unsigned count, std::string_view resource) {
  if (count == 0) throw detail::bad_option("gpus: the number must be at least 1, not 0");
  if (resource.find('/') == std::string_view::npos || !detail::is_label_key(resource))
    throw detail::bad_option("gpus: the resource " + detail::in_quotes(resource) +
                             " must have the form example.com/name, as nvidia.com/gpu");
  gpus_ = count;
  gpu_resource_ = std::string(resource);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::network(pod_network which) {
  network_ = which;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::runtime_class(std::string_view name) {
  detail::require_subdomain(name, "runtime_class");
  runtime_class_ = std::string(name);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::node_selector(std::string_view key, std::string_view value) {
  detail::require_key(key, "node_selector");
  detail::require_value(value, "the value of node_selector");
  node_selector_.insert_or_assign(std::string(key), std::string(value));
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::tolerate(toleration which) {
  tolerations_.push_back(std::move(which));
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::pull_secret(std::string_view name) {
  detail::require_subdomain(name, "pull_secret");
  pull_secrets_.emplace_back(name);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::pull(pull_policy when) {
  pull_ = when;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::label(std::string_view key, std::string_view value) {
  detail::require_key(key, "the label");
  detail::require_foreign(key, "the label");
  detail::require_value(value, "the value of the label " + detail::in_quotes(key));
  labels_.insert_or_assign(std::string(key), std::string(value));
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::annotation(std::string_view key, std::string_view value) {
  detail::require_key(key, "the annotation");
  detail::require_foreign(key, "the annotation");
  detail::require_text(value, "the value of the annotation " + detail::in_quotes(key));
  annotations_.insert_or_assign(std::string(key), std::string(value));
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::merge_patch(std::string_view json) {
  if (json.size() > std::size_t{64} * 1024)
    throw detail::bad_option("merge_patch has " + std::to_string(json.size()) + " bytes, and may have 65536 (64 KiB)");
  const boost::json::object patch =
      cofferdam::detail::parse_object(json, exec_errc::invalid_argument, "kubernetes: merge_patch");
  for (const char* const part : {"metadata", "spec"})
    if (const boost::json::value* const found = patch.if_contains(part); found != nullptr && !found->is_object())
      throw detail::bad_option("merge_patch: " + std::string(part) + " must be an object");
  merge_patch_ = std::string(json);
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::hold_time(std::chrono::milliseconds time) {
  if (time < std::chrono::seconds(1) || time > std::chrono::hours(24))
    throw detail::bad_option("hold_time must be from 1 second to 24 hours, not " + std::to_string(time.count()) +
                             " ms");
  hold_time_ = time;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::longest_life(std::chrono::seconds time) {
  if (time < std::chrono::seconds(1) || time.count() > 0x7fffffff)
    throw detail::bad_option("longest_life must be from 1 to 2147483647 seconds, not " + std::to_string(time.count()));
  longest_life_ = time;
  return *this;
}

COFFERDAM_DECL pod_options& pod_options::node_wait(std::chrono::seconds time) {
  if (time < std::chrono::seconds(0))
    throw detail::bad_option("node_wait must not be negative: " + std::to_string(time.count()) + " s");
  node_wait_ = time;
  return *this;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes
