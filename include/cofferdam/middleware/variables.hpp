// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/layer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// What `variables(…)` makes of an environment.
template <code_exec_environment Inner>
class variables_layer : public layer<variables_layer<Inner>, Inner> {
 public:
  variables_layer(Inner inner, std::shared_ptr<const command> settings)
      : layer<variables_layer<Inner>, Inner>(std::move(inner)), settings_(std::move(settings)) {}

  std::optional<command_result> admit(command& c) {
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

/// Gives every command environment variables: `provider | variables("LANG", "de_DE.UTF-8").set("TZ", "UTC")`.
///
/// A variable that the command sets itself stays as the command has it. Put an allowlist outside (to the right): these
/// variables are the program's own and are not judged by it.
/// \throws error{errc::invalid_argument}, error{errc::too_large} as `command::variable` does.
class variables : public pipeable {
 public:
  variables(std::string name, std::string value) { settings_.variable(std::move(name), std::move(value)); }

  /// One more variable, or another value for the same.
  variables& set(std::string name, std::string value) & {
    settings_.variable(std::move(name), std::move(value));
    return *this;
  }
  variables&& set(std::string name, std::string value) && { return std::move(set(std::move(name), std::move(value))); }

  template <code_exec_environment Inner>
  variables_layer<Inner> attach(Inner inner) const {
    return variables_layer<Inner>(std::move(inner), std::make_shared<const command>(settings_));
  }

 private:
  command settings_;
};

}  // namespace cofferdam::inline v0
