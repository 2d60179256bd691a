// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/detail/kubeconfig.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/detail/os/file_reader.hpp>
#include <cofferdam/net/proxy.hpp>
#include <cofferdam/net/tls.hpp>

#include <boost/url/parse.hpp>
#include <boost/url/scheme.hpp>
#include <boost/url/url_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The surroundings in which kubeconfig files are looked for.
class kube_surroundings {
 public:
  std::vector<std::string> variables;  ///< environment variables, each as "NAME=value"
  /// The folder with the credentials of a pod.
  std::string pod_folder = "/var/run/secrets/kubernetes.io/serviceaccount";

  /// Returns the surroundings of this process.
  static kube_surroundings of_this_process() {
    kube_surroundings around;
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry)
      around.variables.emplace_back(*entry);
    return around;
  }

  /// Returns the value of a variable; empty if it is not set.
  std::string value(std::string_view name) const {
    for (const std::string& each : variables)
      if (each.size() > name.size() && each[name.size()] == '=' && each.starts_with(name))
        return each.substr(name.size() + 1);
    return {};
  }
};

/// The API server of a cluster, and the user with whom to speak to it. It holds no connection.
class cluster_access {
 public:
  std::string context;  ///< the name of the context; "in-cluster" in a pod
  std::string host;     ///< a name, or an IP address without brackets
  std::uint16_t port = 443;
  std::string base_path;  ///< the path of the server's URL, without a slash at its end; usually empty
  std::string namespace_name = "default";
  bool is_plain = false;  ///< http instead of https; only on loopback
  kube_cluster cluster;
  kube_user user;
  std::vector<std::string> variables;  ///< for an exec plugin, and for HTTPS_PROXY

  /// Returns the URL of the API server.
  std::string url() const {
    const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return (is_plain ? "http://" : "https://") + shown + ":" + std::to_string(port) + base_path;
  }
};

/// Returns the content of a file of at most 4 MiB; no value if the file does not exist. Blocks while it reads.
/// \throws error{exec_errc::provider_failed} if the file cannot be read.
inline std::optional<std::string> read_kube_file(const std::string& path) {
  try {
    cofferdam::detail::file_reader reader = cofferdam::detail::file_reader::open_host(path);
    const bytes content = reader.read_rest(yaml_reader::max_size);
    return std::string(as_text(bytes_view(content)));
  } catch (const error& failure) {
    if (failure.code() == exec_errc::not_found || failure.code() == exec_errc::not_a_directory) return std::nullopt;
    throw error(exec_errc::provider_failed, std::string("kubernetes: ") + failure.what(), failure.cause());
  }
}

/// The search behind `find_cluster`.
class cluster_finder {
 public:
  cluster_finder(const kube_surroundings& around, const cluster_choice& choice) : around_(around), choice_(choice) {}

  cluster_access find() {
    const bool any = load();
    if (!any && choice_.context().empty() && !around_.value("KUBERNETES_SERVICE_HOST").empty()) return in_pod();
    if (!any && !around_.value("KUBECONFIG").empty()) throw lost("KUBECONFIG names no file that exists");
    if (!any) throw lost("no cluster is configured: set KUBECONFIG to the path of a kubeconfig file");
    if (config_.contexts.empty()) throw lost("the kubeconfig has no contexts");
    const std::string name = choice_.context().empty() ? config_.current_context : choice_.context();
    if (name.empty())
      throw lost("no context is chosen: run kubectl config use-context NAME, or name one; " + contexts());
    const kube_context* const context = kubeconfig::find(config_.contexts, name);
    if (context == nullptr) throw lost("there is no context " + in_quotes(name) + "; " + contexts());
    const kube_cluster* const cluster = kubeconfig::find(config_.clusters, context->cluster);
    if (cluster == nullptr)
      throw lost("the context " + in_quotes(name) + " (" + context->where + ") names the cluster " +
                 in_quotes(context->cluster) + ", which does not exist");
    cluster_access access;
    if (!context->user.empty()) {
      const kube_user* const user = kubeconfig::find(config_.users, context->user);
      if (user == nullptr)
        throw lost("the context " + in_quotes(name) + " (" + context->where + ") names the user " +
                   in_quotes(context->user) + ", which does not exist");
      access.user = *user;
    }
    access.context = name;
    access.cluster = *cluster;
    if (!context->namespace_name.empty()) access.namespace_name = context->namespace_name;
    complete(access);
    return access;
  }

 private:
  error lost(const std::string& what) const {
    std::string text = "kubernetes: " + what + "; tried";
    for (std::size_t i = 0; i < tried_.size(); ++i) text += (i == 0 ? " " : ", ") + tried_[i];
    return error(exec_errc::provider_failed, text);
  }

  /// Returns a list of the contexts, for an error message.
  std::string contexts() const {
    constexpr std::size_t most = 12;
    std::string text = "the contexts are";
    for (std::size_t i = 0; i < config_.contexts.size() && i < most; ++i)
      text += (i == 0 ? " " : ", ") + in_quotes(config_.contexts[i].name);
    return text + (config_.contexts.size() > most ? " and others" : "");
  }

  /// Returns the advice for a path that does not exist; empty if there is none.
  static std::string advice_for(std::string_view path) {
    return path.starts_with('~') ? "; '~' is not expanded here, so write the path of the home folder" : "";
  }

  /// Reads the files. Returns false if none exists.
  bool load() {
    if (!choice_.kubeconfig().empty()) {
      if (!add(choice_.kubeconfig()))
        throw error(exec_errc::provider_failed, "kubernetes: the kubeconfig " + in_quotes(choice_.kubeconfig()) +
                                                    " does not exist" + advice_for(choice_.kubeconfig()));
      return true;
    }
    bool any = false;
    std::string list = around_.value("KUBECONFIG");
    if (list.empty()) {
      tried_.emplace_back("KUBECONFIG (not set)");
      const std::string home = around_.value("HOME");
      if (!home.empty()) any = add(home + "/.kube/config");
    }
    while (!list.empty()) {
      const std::size_t colon = list.find(':');
      const std::string path = list.substr(0, colon);
      list = colon == std::string::npos ? std::string() : list.substr(colon + 1);
      if (!path.empty()) any = add(path) || any;
    }
    if (!any) tried_.emplace_back("the pod's own cluster (KUBERNETES_SERVICE_HOST is not set)");
    return any;
  }
  bool add(const std::string& path) {
    std::optional<std::string> text = read_kube_file(path);
    tried_.push_back(cofferdam::detail::shown_path(path) + (text ? "" : " (does not exist" + advice_for(path) + ")"));
    if (!text) return false;
    config_.merge(read_kubeconfig(*text, path));
    cofferdam::detail::wipe(*text);
    return true;
  }

  cluster_access in_pod() const {
    cluster_access access;
    access.context = "in-cluster";
    std::string host = around_.value("KUBERNETES_SERVICE_HOST");
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    const std::string port = around_.value("KUBERNETES_SERVICE_PORT");
    access.cluster.where = "KUBERNETES_SERVICE_HOST";
    access.cluster.server = "https://" + host + (port.empty() ? "" : ":" + port);
    access.cluster.authority.path = around_.pod_folder + "/ca.crt";
    access.user.token_file = around_.pod_folder + "/token";
    access.user.where = access.user.token_file;
    const std::optional<std::string> name = read_kube_file(around_.pod_folder + "/namespace");
    if (name && !name->empty()) access.namespace_name = *name;
    complete(access);
    return access;
  }

  /// Checks the server's URL, and sets what follows from it.
  void complete(cluster_access& access) const {
    if (!choice_.namespace_name().empty()) access.namespace_name = choice_.namespace_name();
    access.variables = around_.variables;
    const kube_cluster& cluster = access.cluster;
    const auto wrong = [&cluster](const std::string& why) {
      std::string shown = cluster.server;  // without a login
      const std::size_t login = shown.find('@');
      if (login != std::string::npos) shown.erase(0, login + 1);
      return error(exec_errc::invalid_argument, cluster.where + ": the server " + in_quotes(shown) + why);
    };
    // As kubectl does, a server without a scheme is a host, reached by TLS.
    const std::string& given = cluster.server;
    if (given.empty()) throw wrong(" is missing");
    const std::string whole = given.find("://") == std::string::npos ? "https://" + given : given;
    const auto parsed = boost::urls::parse_uri(whole);
    if (!parsed || parsed->encoded_host().empty()) throw wrong(" is not a URL such as https://host:6443");
    const boost::urls::url_view& url = *parsed;
    if (url.has_userinfo() || url.has_query() || url.has_fragment())
      throw wrong(" contains more than a host, a port and a path");
    if (url.scheme_id() != boost::urls::scheme::https && url.scheme_id() != boost::urls::scheme::http)
      throw wrong(" has a scheme other than https");
    access.is_plain = url.scheme_id() == boost::urls::scheme::http;
    access.host = url.host_address();
    access.port = access.is_plain ? 80 : 443;
    if (url.has_port()) {
      if (url.port_number() == 0) throw wrong(" has an invalid port");
      access.port = url.port_number();
    }
    access.base_path = url.encoded_path();
    while (access.base_path.ends_with('/')) access.base_path.pop_back();
    if (access.is_plain && access.host != "localhost" && access.host != "127.0.0.1" && access.host != "::1")
      throw wrong(" is reached without TLS; only a server on this machine may be");
    if (cluster.insecure && !choice_.allows_insecure())
      throw error(exec_errc::invalid_argument,
                  cluster.where +
                      ": insecure-skip-tls-verify is refused, because anybody on the way could read and "
                      "change everything, the credentials included; set certificate-authority, or call "
                      "allow_insecure() of pod_options or cluster_choice");
    if (cluster.insecure && cluster.authority.given())
      throw error(exec_errc::invalid_argument,
                  cluster.where + ": insecure-skip-tls-verify and certificate-authority exclude each other");
  }

  const kube_surroundings& around_;
  const cluster_choice& choice_;
  kubeconfig config_;
  std::vector<std::string> tried_;
};

/// Finds the cluster that kubectl would use, without connecting. Reads the kubeconfig file of `choice`, or the files of
/// KUBECONFIG (separated by colons; missing ones are ignored), or ~/.kube/config. If none of these exists, uses the
/// credentials of the pod in which this program runs. Blocks while it reads.
/// \throws error{exec_errc::invalid_argument} for an invalid entry, with the file and the line;
///         error{exec_errc::provider_failed} if a context, cluster or user does not exist; the message has the files
///         that were tried.
inline cluster_access find_cluster(const kube_surroundings& around, const cluster_choice& choice = cluster_choice()) {
  return cluster_finder(around, choice).find();
}

/// Makes a connector to the API server. Blocks while it reads the file of the certificate authority.
///
/// The proxy is that of `proxy-url`, otherwise that of HTTPS_PROXY and NO_PROXY. Only `http://` proxies are supported,
/// and none is used for a server on this machine.
/// \param certificate  the client certificate in PEM form; empty for none.
/// \param key          the private key of the certificate.
inline cofferdam::detail::connector cluster_connector(const cluster_access& access, const secret_string& certificate,
                                                      const secret_string& key) {
  if (access.is_plain) return cofferdam::detail::tcp_connector(access.host, access.port);
  tls_settings settings;
  const kube_cluster& cluster = access.cluster;
  if (!cluster.authority.text.empty()) {
    settings.trust(std::string(cluster.authority.text.reveal()));
  } else if (!cluster.authority.path.empty()) {
    settings.trust_file(cluster.authority.path);
  }
  if (!certificate.empty()) settings.certificate(std::string(certificate.reveal()), std::string(key.reveal()));
  if (!cluster.server_name.empty()) settings.server_name(cluster.server_name);
  if (cluster.insecure) settings.insecure_without_verification();
  if (!cluster.proxy.empty()) {
    settings.through(proxy_rules(cluster.proxy, "", cluster.where + ": proxy-url"));
  } else {
    const kube_surroundings around{access.variables, ""};
    const auto either = [&around](const char* upper, const char* lower) {
      const std::string value = around.value(upper);
      return value.empty() ? around.value(lower) : value;
    };
    settings.through(proxy_rules(either("HTTPS_PROXY", "https_proxy"), either("NO_PROXY", "no_proxy")));
  }
  return cofferdam::detail::tls_connector(access.host, access.port, settings);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
