// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/tools/finish.hpp>
#include <cofferdam/tools/tool.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The tools of an `agent_session`, and their descriptions for the model.
class session_tools {
 public:
  explicit session_tools(std::vector<tools::any_tool> tools) : tools_(std::move(tools)) {}

  void add(tools::any_tool tool) { tools_.push_back(std::move(tool)); }

  /// Makes the descriptions of all tools. Adds the tool `finish` before, if the agent needs it. A later call does
  /// nothing unless a tool was added since.
  /// \param environment  the environment in which `finish` works. It must outlive this object.
  /// \throws error{exec_errc::invalid_argument} if two tools have the same name, or if a name does not match
  ///     `[A-Za-z0-9_-]{1,64}`.
  void prepare(const agent& who, any_environment& environment) {
    if (descriptions_ && descriptions_->size() == tools_.size()) return;
    const bool has_end =
        std::any_of(tools_.begin(), tools_.end(), [](const tools::any_tool& each) { return each.ends_work(); });
    if (!has_end && !who.is_text_finish()) tools_.emplace_back(tools::finish(environment));
    std::vector<chat_tool> list;
    for (const tools::any_tool& each : tools_) {
      if (!is_name_for_models(each.name()))
        throw error(exec_errc::invalid_argument, "session: models cannot call a tool named \"" + one_line(each.name()) +
                                                     "\"; use 1 to 64 letters, digits, underscores and dashes");
      for (const chat_tool& other : list)
        if (other.name() == each.name())
          throw error(exec_errc::invalid_argument,
                      "agent_session: two tools have the name \"" + one_line(each.name()) + "\"; rename one");
      list.emplace_back(std::string(each.name()), std::string(each.description()), each.parameters());
    }
    descriptions_ = std::make_shared<const std::vector<chat_tool>>(std::move(list));
  }

  std::vector<tools::any_tool>& all() noexcept { return tools_; }
  /// Returns true if a tool passes questions to the user.
  bool can_ask() const {
    return std::any_of(tools_.begin(), tools_.end(), [](const tools::any_tool& each) { return each.asks_user(); });
  }
  /// Returns the descriptions; null before the first call of `prepare`.
  const std::shared_ptr<const std::vector<chat_tool>>& descriptions() const noexcept { return descriptions_; }

 private:
  /// Returns true if the chat completions API accepts the name of a tool.
  static bool is_name_for_models(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
  }

  std::vector<tools::any_tool> tools_;
  std::shared_ptr<const std::vector<chat_tool>> descriptions_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
