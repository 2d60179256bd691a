// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Parses the arguments of a tool call. Two common mistakes of models are repaired: a Markdown fence around the object,
/// and an object that is written as a JSON string.
/// \param name       the name of the tool, for the error message.
/// \param complaint  receives an error message for the model if the function returns no value.
std::optional<boost::json::value> read_tool_arguments(std::string_view text, const std::string& name,
                                                      std::string& complaint);

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/llm/detail/impl/tool_arguments.ipp>
#endif
