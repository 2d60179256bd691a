// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <concepts>
#include <cstdlib>
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

/// Passes environment variables of this program to every command: `provider | forward_variables("LANG", "API_KEY")`.
/// The values are those at the time of this call. Otherwise like `variables`.
///
/// Every command can read the values, and code that a model wrote can send them anywhere it can reach.
/// \param name   the name of a variable.
/// \param names  the names of further variables.
/// \throws error{exec_errc::invalid_argument} if one of the variables is not set.
template <std::convertible_to<std::string>... Names>
variables forward_variables(const std::string& name, const Names&... names) {
  // std::getenv is safe as long as no other thread changes environment variables.
  const auto value_of = [](const std::string& wanted) {
    const char* const value = std::getenv(wanted.c_str());
    if (value == nullptr)
      throw error(exec_errc::invalid_argument,
                  "forward_variables: the environment variable \"" + one_line(wanted, 100) + "\" is not set");
    return std::string(value);
  };
  variables forwarded(name, value_of(name));
  (forwarded.set(names, value_of(names)), ...);
  return forwarded;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
