// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/analysis_worker.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL std::shared_ptr<analysis_worker> make_analysis_worker(python_reader settings) {
  return analysis_worker::make(std::move(settings));
}

COFFERDAM_DECL awaitable<std::shared_ptr<const code_analysis>> analyse_code(std::shared_ptr<analysis_worker> worker,
                                                                            const std::string& source,
                                                                            const interpreter_info& guest) {
  return analysis_worker::read(std::move(worker), source, guest);
}

COFFERDAM_DECL awaitable<void> close_analysis_worker(std::shared_ptr<analysis_worker> worker) {
  return analysis_worker::close(std::move(worker));
}

COFFERDAM_DECL std::optional<code_result> refuse_unreadable(const code_analysis& facts, const std::string& rule) {
  if (!facts.problem()) return std::nullopt;
  const code_problem& why = *facts.problem();
  if (!why.is_syntax())
    return guard_refusal(rule, 0, one_line(why.message(), 300), "Write shorter and simpler code.")
        .result(facts.source());
  const std::string text = one_line(line_of(facts.source(), why.line()), 160);
  std::string reason = "Not run: " + rule + " finds a " + one_line(why.type(), 40);
  if (why.line() > 0) {
    reason += " in line " + std::to_string(why.line());
    if (why.column() > 0) reason += ", column " + std::to_string(why.column());
    reason += ", \"" + text + "\"";
  }
  reason += ": " + one_line(why.message(), 300);
  if (!why.note().empty()) reason += ". " + why.note();
  reason += ". Correct it and send all of the code again; only Python runs here.";
  code_result result = code_result::refused(error_kind::security_violation, std::move(reason));
  result.failure(code_error(why.type(), why.message(), why.line(), std::string()));
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
