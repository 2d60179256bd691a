// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/yaml.hpp>
#include <cofferdam/detail/core/yaml_node.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The entries of kubeconfig files, without I/O: one file, and several files merged.

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

using cofferdam::detail::yaml_node;
using cofferdam::detail::yaml_reader;

/// PEM text, or the path of a file with such text; neither if the kubeconfig has no such entry.
class kube_pem {
 public:
  std::string path;    ///< absolute, unless the kubeconfig's own path is relative
  secret_string text;  ///< from a `*-data` entry, decoded; it has priority over `path`

  bool given() const noexcept { return !path.empty() || !text.empty(); }
};

/// An entry of `clusters`.
class kube_cluster {
 public:
  std::string name;
  std::string where;  ///< the file and the line, for error messages
  std::string server;
  std::string server_name;  ///< `tls-server-name`
  std::string proxy;        ///< `proxy-url`; may contain a password
  kube_pem authority;
  bool insecure = false;  ///< `insecure-skip-tls-verify`
};

/// A program that supplies credentials: the entry `exec` of a user.
class kube_exec {
 public:
  std::string api_version;  ///< `client.authentication.k8s.io/v1` or `.../v1beta1`
  std::string program;      ///< a name to look up in the PATH, or a path
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> variables;
  std::string hint;            ///< `installHint`: what to do if the program does not exist
  bool wants_cluster = false;  ///< `provideClusterInfo`
};

/// An entry of `users`.
class kube_user {
 public:
  std::string name;
  std::string where;
  kube_pem certificate;
  kube_pem key;
  secret_string token;
  std::string token_file;
  std::string login;  ///< `username`
  secret_string password;
  std::optional<kube_exec> exec;
  std::string acts_as;     ///< `as`
  std::string acts_as_id;  ///< `as-uid`
  std::vector<std::string> acts_as_groups;
};

/// An entry of `contexts`.
class kube_context {
 public:
  std::string name;
  std::string where;
  std::string cluster;
  std::string user;
  std::string namespace_name;
};

/// The content of one kubeconfig file, or of several files.
class kubeconfig {
 public:
  std::string current_context;
  std::vector<kube_cluster> clusters;
  std::vector<kube_user> users;
  std::vector<kube_context> contexts;

  /// Adds the entries of another file. Entries and a current context that are already there stay as they are, as with
  /// kubectl.
  void merge(kubeconfig other) {
    if (current_context.empty()) current_context = std::move(other.current_context);
    add_missing(clusters, std::move(other.clusters));
    add_missing(users, std::move(other.users));
    add_missing(contexts, std::move(other.contexts));
  }

  template <class Entry>
  static const Entry* find(const std::vector<Entry>& entries, std::string_view name) noexcept {
    for (const Entry& each : entries)
      if (each.name == name) return &each;
    return nullptr;
  }

 private:
  template <class Entry>
  static void add_missing(std::vector<Entry>& to, std::vector<Entry> from) {
    for (Entry& each : from)
      if (find(to, each.name) == nullptr) to.push_back(std::move(each));
  }
};

/// Reads the entries of one kubeconfig file.
class kubeconfig_reader {
 public:
  kubeconfig_reader(std::string_view text, std::string file) : file_(std::move(file)), yaml_(text, file_) {}

  kubeconfig read() {
    kubeconfig result;
    const yaml_node root = yaml_.read();
    if (root.type == yaml_node::kind::null) return result;
    require(root, yaml_node::kind::map, "the file");
    const std::string version = text(root, "apiVersion");
    if (!version.empty() && version != "v1") yaml_.fail(root.find("apiVersion")->line, "apiVersion is not v1");
    const std::string kind = text(root, "kind");
    if (!kind.empty() && kind != "Config") yaml_.fail(root.find("kind")->line, "kind is not Config");
    result.current_context = text(root, "current-context");
    result.clusters = entries<kube_cluster>(root, "clusters", "cluster");
    result.users = entries<kube_user>(root, "users", "user");
    result.contexts = entries<kube_context>(root, "contexts", "context");
    return result;
  }

 private:
  void require(const yaml_node& node, yaml_node::kind type, const std::string& what) const {
    if (node.type == type) return;
    const char* const kind = type == yaml_node::kind::map ? " is not a map" : " is not a list";
    yaml_.fail(node.line, what + kind);
  }

  const yaml_node* member(const yaml_node& of, std::string_view key) const {
    const yaml_node* const found = of.find(key);
    return found == nullptr || found->type == yaml_node::kind::null ? nullptr : found;
  }
  std::string text(const yaml_node& of, std::string_view key) const {
    const yaml_node* const found = member(of, key);
    if (found == nullptr) return {};
    return text_of(*found, std::string(key));
  }
  std::string text_of(const yaml_node& node, const std::string& what) const {
    if (node.type != yaml_node::kind::scalar) yaml_.fail(node.line, what + " is not a text");
    if (node.text.find('\0') != std::string::npos) yaml_.fail(node.line, what + " contains a NUL");
    return node.text;
  }
  bool flag(const yaml_node& of, std::string_view key) const {
    const yaml_node* const found = member(of, key);
    if (found == nullptr) return false;
    const bool yes = !found->quoted && (found->text == "true" || found->text == "True" || found->text == "TRUE");
    const bool no = !found->quoted && (found->text == "false" || found->text == "False" || found->text == "FALSE");
    if (!yes && !no) yaml_.fail(found->line, std::string(key) + " is neither true nor false");
    return yes;
  }
  std::vector<std::string> texts(const yaml_node& of, std::string_view key) const {
    std::vector<std::string> result;
    const yaml_node* const found = member(of, key);
    if (found == nullptr) return result;
    require(*found, yaml_node::kind::list, std::string(key));
    for (const yaml_node& item : found->items) result.push_back(text_of(item, "an item of " + std::string(key)));
    return result;
  }
  /// Returns a path relative to the folder of the file.
  std::string path(std::string given) const {
    const std::size_t slash = file_.rfind('/');
    if (given.empty() || given.front() == '/' || slash == std::string::npos) return given;
    return file_.substr(0, slash + 1) + given;
  }
  kube_pem pem(const yaml_node& of, const std::string& key) const {
    kube_pem result;
    result.path = path(text(of, key));
    const yaml_node* const data = member(of, key + "-data");
    if (data == nullptr) return result;
    std::string encoded = text_of(*data, key + "-data");
    std::erase_if(encoded, [](char c) { return c == '\n' || c == ' '; });
    std::optional<bytes> decoded = cofferdam::detail::base64_decode(encoded);
    cofferdam::detail::wipe(encoded);
    if (!decoded) yaml_.fail(data->line, key + "-data is not valid base64");
    result.text = secret_string(std::string(as_text(bytes_view(*decoded))));
    std::fill(decoded->begin(), decoded->end(), std::byte{0});
    return result;
  }

  template <class Entry>
  std::vector<Entry> entries(const yaml_node& root, const char* list, const char* kind) const {
    std::vector<Entry> result;
    const yaml_node* const found = member(root, list);
    if (found == nullptr) return result;
    require(*found, yaml_node::kind::list, list);
    for (const yaml_node& item : found->items) {
      require(item, yaml_node::kind::map, std::string("an item of ") + list);
      Entry entry;
      entry.name = text(item, "name");
      entry.where = file_ + ", line " + std::to_string(item.line);
      if (entry.name.empty()) yaml_.fail(item.line, std::string("an item of ") + list + " has no name");
      if (const yaml_node* const content = member(item, kind)) {
        require(*content, yaml_node::kind::map, kind);
        fill(entry, *content);
      }
      // kubectl uses the last of two entries with one name.
      std::erase_if(result, [&](const Entry& each) { return each.name == entry.name; });
      result.push_back(std::move(entry));
    }
    return result;
  }

  void fill(kube_cluster& cluster, const yaml_node& node) const {
    cluster.server = text(node, "server");
    cluster.server_name = text(node, "tls-server-name");
    cluster.proxy = text(node, "proxy-url");
    cluster.authority = pem(node, "certificate-authority");
    cluster.insecure = flag(node, "insecure-skip-tls-verify");
  }

  void fill(kube_context& context, const yaml_node& node) const {
    context.cluster = text(node, "cluster");
    context.user = text(node, "user");
    context.namespace_name = text(node, "namespace");
  }

  void fill(kube_user& user, const yaml_node& node) const {
    user.certificate = pem(node, "client-certificate");
    user.key = pem(node, "client-key");
    user.token = secret_string(text(node, "token"));
    user.token_file = path(text(node, "tokenFile"));
    user.login = text(node, "username");
    user.password = secret_string(text(node, "password"));
    user.acts_as = text(node, "as");
    user.acts_as_id = text(node, "as-uid");
    user.acts_as_groups = texts(node, "as-groups");
    if (const yaml_node* const extra = member(node, "as-user-extra"))
      yaml_.fail(extra->line, "as-user-extra is not supported");
    if (const yaml_node* const old = member(node, "auth-provider"))
      yaml_.fail(old->line, "auth-provider is not supported, because kubectl removed it in 1.26; use an exec plugin");
    if (const yaml_node* const exec = member(node, "exec")) {
      require(*exec, yaml_node::kind::map, "exec");
      user.exec = read_exec(*exec);
    }
    if (user.certificate.given() != user.key.given())
      yaml_.fail(node.line, "the user has only one of client-certificate and client-key; both are needed");
  }

  kube_exec read_exec(const yaml_node& node) const {
    kube_exec exec;
    exec.api_version = text(node, "apiVersion");
    if (exec.api_version != "client.authentication.k8s.io/v1" &&
        exec.api_version != "client.authentication.k8s.io/v1beta1")
      yaml_.fail(node.line,
                 "the apiVersion of exec is not client.authentication.k8s.io/v1 or v1beta1; update the "
                 "program that wrote this file");
    exec.program = text(node, "command");
    if (exec.program.empty()) yaml_.fail(node.line, "exec has no command");
    if (exec.program.find('/') != std::string::npos) exec.program = path(std::move(exec.program));
    exec.arguments = texts(node, "args");
    exec.hint = text(node, "installHint");
    exec.wants_cluster = flag(node, "provideClusterInfo");
    const std::string mode = text(node, "interactiveMode");
    if (mode == "Always")
      yaml_.fail(node.line, "exec needs a terminal (interactiveMode: Always), which this program does not offer");
    if (!mode.empty() && mode != "Never" && mode != "IfAvailable")
      yaml_.fail(node.line, "interactiveMode is not Never, IfAvailable or Always");
    if (const yaml_node* const variables = member(node, "env")) {
      require(*variables, yaml_node::kind::list, "env");
      for (const yaml_node& item : variables->items) {
        require(item, yaml_node::kind::map, "an item of env");
        const std::string name = text(item, "name");
        if (name.empty() || name.find('=') != std::string::npos)
          yaml_.fail(item.line, "a variable of env has no valid name");
        exec.variables.emplace_back(name, text(item, "value"));
      }
    }
    return exec;
  }

  std::string file_;
  yaml_reader yaml_;
};

/// Reads one kubeconfig file, in YAML or JSON.
/// \param file  the path of the file. Relative paths in the file are relative to its folder.
/// \throws      error{exec_errc::invalid_argument} with the file and the line. The message contains no secret.
/// \par Source  kubectl's documentation, "Organizing Cluster Access Using kubeconfig Files".
inline kubeconfig read_kubeconfig(std::string_view text, std::string file) {
  return kubeconfig_reader(text, std::move(file)).read();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
