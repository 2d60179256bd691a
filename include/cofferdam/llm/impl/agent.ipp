// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/llm/agent.hpp>
#include <cofferdam/tools/code_exec.hpp>
#include <cofferdam/tools/list_files.hpp>
#include <cofferdam/tools/read_file.hpp>
#include <cofferdam/tools/tool.hpp>
#include <cofferdam/tools/view_image.hpp>
#include <cofferdam/tools/write_file.hpp>

#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL std::vector<tools::any_tool> agent::make_tools(any_environment& environment) const {
  std::vector<tools::any_tool> tool_list;
  for (const tool_maker& each : makers_) tool_list.push_back(each(environment));
  if (makers_.empty()) {
    tool_list.emplace_back(tools::code_exec(environment));
    tool_list.emplace_back(tools::read_file(environment));
    tool_list.emplace_back(tools::write_file(environment));
    tool_list.emplace_back(tools::list_files(environment));
    tool_list.emplace_back(tools::view_image(environment));
  }
  return tool_list;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
