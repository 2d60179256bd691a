// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/utf8.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::docker {

/// An image that is to be built: what `docker build` is told. A value; setters chain.
/// \par Source  Engine API, "Build an image".
class build_request {
 public:
  /// \param context  a folder of this machine: what the Dockerfile may COPY.
  explicit build_request(std::filesystem::path context) : context_(std::move(context)) {}

  /// The Dockerfile, where it is not `Dockerfile` in the context; it may lie outside. A relative path is relative to this
  /// process's working directory.
  build_request& dockerfile(std::filesystem::path path) & {
    dockerfile_ = std::move(path);
    return *this;
  }
  build_request&& dockerfile(std::filesystem::path path) && { return std::move(dockerfile(std::move(path))); }

  /// A value for an `ARG`. **Not for secrets**: it can be read in the image's history.
  /// \throws error{errc::invalid_argument} for a name or value that is not UTF-8, or an empty name.
  build_request& argument(std::string name, std::string value) & {
    if (name.empty() || name.find('=') != std::string::npos || !is_valid_utf8(name) || !is_valid_utf8(value))
      throw error(errc::invalid_argument, "docker: a build argument needs a name without '=', and UTF-8");
    arguments_.insert_or_assign(std::move(name), std::move(value));
    return *this;
  }
  build_request&& argument(std::string name, std::string value) && {
    return std::move(argument(std::move(name), std::move(value)));
  }

  /// The stage to stop at.
  build_request& target(std::string stage) & {
    if (!is_valid_utf8(stage)) throw error(errc::invalid_argument, "docker: the target of a build is not UTF-8");
    target_ = std::move(stage);
    return *this;
  }
  build_request&& target(std::string stage) && { return std::move(target(std::move(stage))); }

  /// The network of the Dockerfile's RUN lines: `none`, `bridge`, or one of the daemon's. Default: the daemon's own
  /// default, since most Dockerfiles install something; what the commands later have is `container_options::network`.
  build_request& network(std::string name) & {
    if (name == "host" || name.find_first_of(" \t\r\n/?&") != std::string::npos)
      throw error(errc::invalid_argument,
                  "docker: the network of a build is none, bridge or one by name, not the host's");
    network_ = std::move(name);
    return *this;
  }
  build_request&& network(std::string name) && { return std::move(network(std::move(name))); }

  const std::filesystem::path& context() const noexcept { return context_; }
  const std::filesystem::path& dockerfile() const noexcept { return dockerfile_; }
  const std::map<std::string, std::string>& arguments() const noexcept { return arguments_; }
  const std::string& target() const noexcept { return target_; }
  const std::string& network() const noexcept { return network_; }

 private:
  std::filesystem::path context_;
  std::filesystem::path dockerfile_;
  std::map<std::string, std::string> arguments_;
  std::string target_;
  std::string network_;
};

}  // namespace cofferdam::inline v0::docker
