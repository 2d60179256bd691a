// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/guard.hpp>

#include <optional>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

/// A policy that admits code if it is valid Python and does not declare an encoding other than UTF-8.
class syntax_policy {
 public:
  static constexpr std::string_view name = "check_syntax";

  std::optional<guard_refusal> judge(const code_analysis& facts) const {
    for (const code_feature& each : facts.all())
      if (each.kind() == feature_kind::coding)
        return guard_refusal("check_syntax", each.line(), "the code declares an encoding other than UTF-8",
                             "Remove the encoding comment; code must be UTF-8.");
    return std::nullopt;
  }
};

/// Refuses code that is not valid Python, before anything runs: `local() | python() | check_syntax()`.
///
/// The reason of a refusal has the line, the column, the error message of CPython, and advice. `code_result::failure()`
/// has the type of the exception, such as SyntaxError. The IPython forms `!ls` and `%magic` are not Python, so they are
/// refused. The time and the memory for parsing are limited (see `python_reader`). **A guard is advice to the model
/// that writes the code; the backend provides the isolation.**
/// \return        a refusal is a `code_result` of kind `error_kind::security_violation`.
/// \throws        error{exec_errc::provider_failed} if there is no Python that can parse the code.
/// \par Cost      some tenths of a millisecond for 50 lines. All guards of a runner share this cost: the code is parsed
///                once.
/// \par Source    kodeagent's check.
class check_syntax : public guard<check_syntax> {
 public:
  syntax_policy policy() const { return {}; }
};

}  // namespace cofferdam::inline COFFERDAM_ABI
