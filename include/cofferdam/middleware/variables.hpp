// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/layer.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The environment type that `provider | variables(…)` opens.
template <code_exec_environment Inner>
class variables_layer : public layer<variables_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  variables_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns. The variables of `settings` are added to each command.
  variables_layer(Inner inner, std::shared_ptr<const command> settings)
      : layer<variables_layer<Inner>, Inner>(std::move(inner)), settings_(std::move(settings)) {}

  std::optional<command_result> admit(command& c) {
    if (!settings_)
      throw error(exec_errc::environment_closed,
                  "variables: not open (default-constructed or moved from); call open() on the provider first");
    for (const command::variable_setting& setting : settings_->variables())
      if (!has(c, setting.name())) c.variable(setting.name(), setting.value());
    return std::nullopt;
  }

 private:
  static bool has(const command& c, const std::string& name) {
    for (const command::variable_setting& setting : c.variables())
      if (setting.name() == name) return true;
    return false;
  }

  std::shared_ptr<const command> settings_;
};

/// Sets environment variables of every command: `provider | variables("LANG", "de_DE.UTF-8").set("TZ", "UTC")`.
///
/// A variable that a command sets itself keeps its value. Put the layer `allow_commands` to the right of this layer: it
/// then checks a command before these variables, which you trust, are added, and does not refuse them.
/// \throws error{exec_errc::invalid_argument} or error{exec_errc::too_large}, as `command::variable` does.
class variables : public pipeable {
 public:
  /// Starts with one environment variable. `set` adds others.
  variables(std::string name, std::string value) { settings_.variable(std::move(name), std::move(value)); }

  /// Adds an environment variable, or replaces its value.
  variables& set(std::string name, std::string value) {
    settings_.variable(std::move(name), std::move(value));
    return *this;
  }

  template <code_exec_environment Inner>
  variables_layer<Inner> attach(Inner inner) const {
    return variables_layer<Inner>(std::move(inner), std::make_shared<const command>(settings_));
  }

 private:
  command settings_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
