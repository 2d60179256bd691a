// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/version.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The configuration of the image that is made from a container. The daemon would take the container's own, with the
/// first program, the user and the labels of this library.
class snapshot_image {
 public:
  static constexpr const char* repository = "cofferdam-snapshot";

  /// \param user  the user of the image that the container was made from; may be empty.
  explicit snapshot_image(std::string user) : user_(std::move(user)) {}

  /// Returns the body of the request `POST /commit`. The daemon adds what is absent from the container's configuration.
  /// \par Source  Engine API, "Create a new image from a container"; the merge in Docker's daemon.
  boost::json::object config() const {
    boost::json::object config;
    config["User"] = json_text(user_);
    config["Entrypoint"] = boost::json::array();
    boost::json::array shell;
    shell.push_back("/bin/sh");
    config["Cmd"] = std::move(shell);
    boost::json::object labels;
    for (const std::string_view label : {owner_label_key, std::string_view("cofferdam.host"),
                                         std::string_view("cofferdam.version"), std::string_view("cofferdam.deadline")})
      labels[json_view(label)] = "";
    config["Labels"] = std::move(labels);
    return config;
  }

 private:
  std::string user_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
