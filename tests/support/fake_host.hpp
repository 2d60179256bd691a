// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/host_view.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam_test {

/// A simulated machine for tests: environment variables, files and sockets.
class fake_host {
 public:
  fake_host& set(std::string name, std::string value) {
    variables_.insert_or_assign(std::move(name), std::move(value));
    return *this;
  }
  fake_host& file(std::string path, std::string content) {
    files_.insert_or_assign(std::move(path), std::move(content));
    return *this;
  }
  fake_host& socket(std::string path) {
    sockets_.insert_or_assign(std::move(path), std::string());
    return *this;
  }
  /// Adds a symbolic link. Paths that are `path`, or lie below it, resolve to `target`.
  fake_host& link(std::string path, std::string target) {
    links_.insert_or_assign(std::move(path), std::move(target));
    return *this;
  }
  /// Sets the content of the user's Docker configuration file.
  fake_host& config(std::string content) { return file("/h/.docker/config.json", std::move(content)); }

  /// Returns a copy of the machine's present state. The home directory is /h, the user id 1000.
  cofferdam::docker::detail::host_view view() const {
    const auto files = files_;
    const auto sockets = sockets_;
    const auto links = links_;
    return cofferdam::docker::detail::host_view(
        variables_, "/h", 1000,
        [files](const std::string& path) {
          const auto found = files.find(path);
          return found == files.end() ? std::nullopt : std::optional<std::string>(found->second);
        },
        [files, sockets](const std::string& path) {
          if (sockets.contains(path)) return cofferdam::docker::detail::path_kind::socket;
          return files.contains(path) ? cofferdam::docker::detail::path_kind::file
                                      : cofferdam::docker::detail::path_kind::nothing;
        },
        [links](const std::string& path) {
          for (const auto& [link, target] : links)
            if (path == link || path.starts_with(link + "/")) return target + path.substr(link.size());
          return path;
        });
  }

 private:
  cofferdam::docker::detail::host_view::variable_map variables_;
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> sockets_;
  std::map<std::string, std::string> links_;
};

}  // namespace cofferdam_test
