// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/backends/e2b/command_transport.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/os/command_settings.hpp>

#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The settings of a recipe for sandboxes.
class sandbox_settings {
 public:
  sandbox_settings() = default;

  account_options who;
  std::optional<surroundings> around;  ///< absent: the variables of this process
  create_options create;
  std::string connect_to;  ///< the id of an existing sandbox; empty to create one
  command_settings commands;
  std::string user;
  std::string workspace = "workspace";
  command_transport by = command_transport::automatic;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
