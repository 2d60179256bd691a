// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/llm/detail/run_scope.hpp>
#include <cofferdam/tools/code_exec.hpp>
#include <cofferdam/tools/list_files.hpp>
#include <cofferdam/tools/read_file.hpp>
#include <cofferdam/tools/tool.hpp>
#include <cofferdam/tools/view_image.hpp>
#include <cofferdam/tools/write_file.hpp>

#include <memory>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL agent& agent::environment_tools() {
  tool([](any_environment& inside) { return tools::code_exec(inside); });
  tool([](any_environment& inside) { return tools::read_file(inside); });
  tool([](any_environment& inside) { return tools::write_file(inside); });
  tool([](any_environment& inside) { return tools::list_files(inside); });
  tool([](any_environment& inside) { return tools::view_image(inside); });
  return *this;
}

COFFERDAM_DECL std::vector<tools::any_tool> agent::make_tools(any_environment& environment,
                                                              const std::shared_ptr<detail::run_scope>& scope) const {
  if (makers_.empty()) {
    agent usual = *this;
    return usual.environment_tools().make_tools(environment, scope);
  }
  std::vector<tools::any_tool> tool_list;
  for (const tool_maker& each : makers_) tool_list.push_back(each(environment, scope));
  return tool_list;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
