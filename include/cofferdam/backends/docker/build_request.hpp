// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker {

/// The settings of an image build, like the options of `docker build`. A value; its setters can be chained.
class build_request {
 public:
  /// Makes a request with default settings.
  /// \param context  a folder of this machine, with the files that the Dockerfile may COPY; or the path of a
  ///                 Dockerfile, whose folder is then the context.
  explicit build_request(std::filesystem::path context) : context_(std::move(context)) {}

  /// Sets the path of the Dockerfile. It may be outside the context. A relative path is relative to the working
  /// directory of this process. Default: `Dockerfile` in the context.
  build_request& dockerfile(std::filesystem::path path) {
    dockerfile_ = std::move(path);
    return *this;
  }

  /// Sets the value of an `ARG` of the Dockerfile. **Do not pass secrets**: the value can be read in the image's
  /// history.
  /// \throws error{exec_errc::invalid_argument} if the name is empty or contains `=`, or if the name or the value is
  ///     not UTF-8.
  build_request& argument(std::string name, std::string value) {
    if (name.empty() || name.find('=') != std::string::npos || !cofferdam::detail::is_valid_utf8(name) ||
        !cofferdam::detail::is_valid_utf8(value))
      throw error(exec_errc::invalid_argument,
                  "docker: a build argument needs a non-empty name without '='; name and value must be UTF-8");
    arguments_.insert_or_assign(std::move(name), std::move(value));
    return *this;
  }

  /// Sets the stage of a multi-stage Dockerfile at which the build stops. Default: the last stage.
  build_request& target(std::string stage) {
    if (!cofferdam::detail::is_valid_utf8(stage))
      throw error(exec_errc::invalid_argument, "docker: the build target is not UTF-8");
    target_ = std::move(stage);
    return *this;
  }

  /// Sets the network of the Dockerfile's RUN commands. The network of commands in the finished container is set by
  /// `container_options::network`.
  /// \param name  `none`, `bridge`, or the name of a network of the daemon. Default: the daemon's default network,
  ///              because most Dockerfiles install packages.
  /// \throws error{exec_errc::invalid_argument} for the host's network or an invalid name.
  build_request& network(std::string name) {
    if (name == "host" || name.find_first_of(" \t\r\n/?&") != std::string::npos)
      throw error(exec_errc::invalid_argument,
                  "docker: the network of a build must be none, bridge or the name of a network; the host's network is "
                  "not allowed");
    network_ = std::move(name);
    return *this;
  }

  /// Returns a copy in which a context that is the path of a Dockerfile is replaced by the Dockerfile's folder, and
  /// `dockerfile()` is that path. Looks up on the disk whether the context is a file. The copy is unchanged if the
  /// context is a folder, or if a Dockerfile was set.
  build_request with_folder() const {
    build_request copy = *this;
    std::error_code ignored;
    if (!dockerfile_.empty() || !std::filesystem::is_regular_file(context_, ignored)) return copy;
    copy.dockerfile_ = context_;
    copy.context_ = context_.has_parent_path() ? context_.parent_path() : std::filesystem::path(".");
    return copy;
  }

  /// Returns the folder that is sent to the daemon.
  const std::filesystem::path& context() const noexcept { return context_; }
  const std::filesystem::path& dockerfile() const noexcept { return dockerfile_; }
  /// Returns the values of the Dockerfile's ARG variables, by name.
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

}  // namespace cofferdam::inline COFFERDAM_ABI::docker
