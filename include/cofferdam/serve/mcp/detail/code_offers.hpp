// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/code/function_text.hpp>
#include <cofferdam/detail/code/host_function.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The functions and tools that the code of `run_python` can call.
class code_offers {
 public:
  using offer_action = std::function<code_request(code_request request)>;

  /// \throws error{exec_errc::already_exists} if there is a function of this name.
  void add(cofferdam::detail::host_function added) {
    for (const cofferdam::detail::host_function& each : functions_)
      if (each.name() == added.name())
        throw error(exec_errc::already_exists, "mcp: code can call a function '" + added.name() + "' already");
    functions_.push_back(std::move(added));
  }

  /// \param offer  adds the tools of a toolbox to a request.
  /// \param about  describes the tools for a model.
  /// \throws error{exec_errc::already_exists} if there is a toolbox.
  void add_toolbox(offer_action offer, std::string about) {
    if (toolbox_)
      throw error(exec_errc::already_exists, "mcp: the server has a toolbox already; add all tools to one toolbox");
    toolbox_ = std::move(offer);
    about_toolbox_ = std::move(about);
  }

  /// Returns the text that describes everything for a model; empty if there is nothing.
  std::string about() const {
    std::string text = cofferdam::detail::function_list(functions_);
    if (!text.empty() && !about_toolbox_.empty()) text += "\n";
    return text + about_toolbox_;
  }

  /// Returns the request with all functions and tools.
  code_request offer(code_request request) const {
    for (const cofferdam::detail::host_function& each : functions_) request.function(each);
    if (!toolbox_) return request;
    return toolbox_(std::move(request));
  }

 private:
  std::vector<cofferdam::detail::host_function> functions_;
  offer_action toolbox_;
  std::string about_toolbox_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
