// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/daemon_choice.hpp>
#include <cofferdam/backends/docker/detail/config_file.hpp>
#include <cofferdam/backends/docker/detail/daemon_location.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/net/sha256.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The result of `find_daemon`: the possible addresses of the daemon.
class daemon_search {
 public:
  daemon_search(std::vector<daemon_location> candidates, std::vector<std::string> tried)
      : candidates_(std::move(candidates)), tried_(std::move(tried)) {}

  /// Returns the addresses to try, in order; at least one. If a daemon was selected, this is its address. Otherwise
  /// these are those of the usual sockets (see `find_daemon`) that exist, or `default_socket` if none exists.
  const std::vector<daemon_location>& candidates() const noexcept { return candidates_; }

  /// Returns the sources of the daemon's address that were checked, in order, for an error message. An element is a
  /// text such as `DOCKER_HOST is not set`.
  const std::vector<std::string>& tried() const noexcept { return tried_; }

 private:
  std::vector<daemon_location> candidates_;
  std::vector<std::string> tried_;
};

// The search behind `find_daemon`.
class daemon_finder {
 public:
  daemon_finder(const host_view& host, const daemon_choice& choice)
      : host_(host), choice_(choice), folder_(config_folder(host)) {}

  daemon_search find() {
    config_ = read_config(host_);
    if (!choice_.address().empty()) return one(with_tls(parse_daemon_address(choice_.address()), "the options"));
    if (!choice_.context().empty()) return named_context(choice_.context(), "the options");
    if (const std::string address = host_.value("DOCKER_HOST"); !address.empty())
      return one(with_tls(parse_daemon_address(address, "DOCKER_HOST"), "DOCKER_HOST"));
    tried_.push_back("DOCKER_HOST is not set");
    if (const std::string context_name = host_.value("DOCKER_CONTEXT"); !context_name.empty())
      return named_context(context_name, "DOCKER_CONTEXT");
    tried_.push_back("DOCKER_CONTEXT is not set");
    if (config_)
      if (const std::string context_name(text_at(*config_, "currentContext")); !context_name.empty())
        return named_context(context_name, "currentContext of " + folder_ + "/config.json");
    tried_.push_back("no current context in " + (folder_.empty() ? "~/.docker" : folder_) + "/config.json");
    return usual_sockets();
  }

 private:
  daemon_search one(daemon_location location) {
    tried_.push_back(location.address());
    return done({std::move(location)});
  }

  daemon_search done(std::vector<daemon_location> found) {
    daemon_location::header_list headers = configured_headers();
    for (daemon_location& location : found) location.headers(headers);
    return daemon_search(std::move(found), std::move(tried_));
  }

  daemon_search usual_sockets() {
    std::vector<daemon_location> found;
    for (const std::string& path : usual_paths()) {
      if (host_.look(path) != path_kind::socket) {
        tried_.push_back("no socket at " + path);
        continue;
      }
      tried_.push_back("unix://" + path);
      found.push_back(daemon_location::at_socket(path));
    }
    if (found.empty()) found.push_back(daemon_location::at_socket(std::string(default_socket)));
    return done(std::move(found));
  }

  std::vector<std::string> usual_paths() const {
    std::string runtime = host_.value("XDG_RUNTIME_DIR");
    if (runtime.empty()) runtime = "/run/user/" + std::to_string(host_.user_id());
    std::vector<std::string> paths;
    paths.emplace_back(default_socket);
    paths.push_back(runtime + "/docker.sock");
    if (!host_.home().empty()) paths.push_back(host_.home() + "/.docker/run/docker.sock");
    paths.push_back(runtime + "/podman/podman.sock");
    paths.emplace_back("/run/podman/podman.sock");
    return paths;
  }

  daemon_search named_context(const std::string& name, const std::string& said_by) {
    if (name == "default") {  // the context "default" has no files; it means that no context is selected
      tried_.push_back("the context \"default\" (from " + said_by + ")");
      return usual_sockets();
    }
    if (folder_.empty())
      throw error(exec_errc::provider_failed, "docker: the context " + quoted(name) + " (from " + said_by +
                                                  ") cannot be found: set HOME or DOCKER_CONFIG");
    const std::string id = cofferdam::detail::sha256_digits(name);
    const std::string meta = folder_ + "/contexts/meta/" + id + "/meta.json";
    const std::optional<std::string> text = host_.read(meta);
    if (!text)
      throw error(exec_errc::provider_failed, "docker: the context " + quoted(name) + " (from " + said_by +
                                                  ") does not exist: no file " + cofferdam::detail::shown_path(meta) +
                                                  "; run docker context ls to list the contexts");
    const std::string what = "docker: the context " + quoted(name) + " in " + cofferdam::detail::shown_path(meta);
    const boost::json::object context = parse_object(*text, exec_errc::provider_failed, what);
    const boost::json::object* const endpoints = object_at(context, "Endpoints");
    const boost::json::object* const endpoint = endpoints == nullptr ? nullptr : object_at(*endpoints, "docker");
    const std::string_view address = endpoint == nullptr ? std::string_view() : text_at(*endpoint, "Host");
    if (address.empty()) throw error(exec_errc::provider_failed, what + " has no Endpoints.docker.Host");
    daemon_location location = parse_daemon_address(address, "the context " + quoted(name));
    const std::string& keys = choice_.tls_folder();
    const tls_files files = files_in(keys.empty() ? folder_ + "/contexts/tls/" + id + "/docker" : keys);
    const bool skips = is_true_at(*endpoint, "SkipTLSVerify");
    const bool speaks = skips || !choice_.verifies() || !files.ca().empty() || !files.certificate().empty();
    const bool can = location.transport() == daemon_transport::tcp || location.transport() == daemon_transport::tls;
    if (can && (speaks || location.transport() == daemon_transport::tls))
      location.use_tls(files, !skips && choice_.verifies());
    return one(std::move(location));
  }

  // Switches an address to TLS if `daemon_choice` or an environment variable (DOCKER_TLS_VERIFY, DOCKER_TLS,
  // DOCKER_CERT_PATH) requires it. As for the docker command, any value of such a variable means yes, even "0". The
  // docker command does not verify the daemon's certificate if only DOCKER_TLS is set; this library does, because an
  // environment variable must not switch the verification off.
  daemon_location with_tls(daemon_location location, const std::string& said_by) const {
    const bool is_tls = location.transport() == daemon_transport::tls;
    if (!is_tls && location.transport() != daemon_transport::tcp) return location;
    const std::string cert_path = host_.value("DOCKER_CERT_PATH");
    const bool named = !choice_.tls_folder().empty() || !cert_path.empty();
    if (!is_tls && !named && choice_.verifies() && host_.value("DOCKER_TLS_VERIFY").empty() &&
        host_.value("DOCKER_TLS").empty())
      return location;
    const std::string folder = !choice_.tls_folder().empty() ? choice_.tls_folder()
                               : cert_path.empty()           ? folder_
                                                             : cert_path;
    tls_files files = files_in(folder);
    if (named && files.ca().empty() && files.certificate().empty())
      throw error(exec_errc::invalid_argument, "docker: the folder " + cofferdam::detail::shown_path(folder) +
                                                   " for the keys of " + location.address() + " (from " + said_by +
                                                   ") contains neither ca.pem nor cert.pem");
    location.use_tls(std::move(files), choice_.verifies());
    return location;
  }

  tls_files files_in(const std::string& folder) const {
    if (folder.empty()) return tls_files();
    const auto there = [&](const char* name) {
      std::string path = folder + "/" + name;
      return host_.look(path) == path_kind::file ? path : std::string();
    };
    tls_files files(there("ca.pem"), there("cert.pem"), there("key.pem"));
    if (files.certificate().empty() != files.key().empty())
      throw error(exec_errc::invalid_argument, "docker: the folder " + cofferdam::detail::shown_path(folder) +
                                                   " contains only one of cert.pem and key.pem; both are needed");
    return files;
  }

  daemon_location::header_list configured_headers() const {
    daemon_location::header_list headers;
    const boost::json::object* const headers_json = config_ ? object_at(*config_, "HttpHeaders") : nullptr;
    if (headers_json == nullptr) return headers;
    for (const auto& [key, value] : *headers_json) {
      const std::string name(key.data(), key.size());
      if (!value.is_string() || !is_header(name, text_at(*headers_json, name)))
        throw error(exec_errc::invalid_argument, "docker: the header " + quoted(name) + " under HttpHeaders in " +
                                                     folder_ +
                                                     "/config.json cannot be sent: its name or value is invalid, or "
                                                     "its name is reserved for the connection");
      headers.emplace_back(name, text_at(*headers_json, name));
    }
    return headers;
  }

  static bool is_header(std::string_view name, std::string_view value) {
    const auto is_token = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    };
    const auto is_control = [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f'; };
    std::string lower(name);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    for (const std::string_view ours :
         {"host", "content-length", "transfer-encoding", "connection", "upgrade", "expect"})
      if (lower == ours) return false;
    return !name.empty() && std::all_of(name.begin(), name.end(), is_token) &&
           std::none_of(value.begin(), value.end(), is_control);
  }

  static std::string quoted(std::string_view name) { return "\"" + one_line(name, 100) + "\""; }

  const host_view& host_;
  const daemon_choice& choice_;
  std::string folder_;
  std::optional<boost::json::object> config_;
  std::vector<std::string> tried_;
};

/// Finds the daemon's address, without connecting.
///
/// The following sources are checked in this order:
/// * `choice`;
/// * DOCKER_HOST;
/// * DOCKER_CONTEXT;
/// * `currentContext` in Docker's `config.json`, which is in the folder DOCKER_CONFIG, or in ~/.docker;
/// * the usual sockets: /var/run/docker.sock, the sockets of rootless Docker ($XDG_RUNTIME_DIR/docker.sock,
///   ~/.docker/run/docker.sock), and the sockets of Podman ($XDG_RUNTIME_DIR/podman/podman.sock,
///   /run/podman/podman.sock).
///
/// The result has more than one candidate only if no daemon was selected.
///
/// TCP is used with TLS if DOCKER_TLS_VERIFY, DOCKER_TLS or DOCKER_CERT_PATH is set, if the context has keys, or if
/// `choice` requires it. The daemon's certificate is then verified, unless `choice` or the context (SkipTLSVerify)
/// switches that off.
/// \throws     error{exec_errc::invalid_argument} for an unusable address, header or folder of keys;
///             error{exec_errc::provider_failed} for a missing or broken context or configuration. The messages contain
///             no secrets.
/// \par Source docker(1); docker/cli `cli/config`, `cli/context/store`.
inline daemon_search find_daemon(const host_view& host, const daemon_choice& choice = daemon_choice()) {
  return detail::daemon_finder(host, choice).find();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
