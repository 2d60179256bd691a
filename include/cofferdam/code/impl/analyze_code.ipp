// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/analyze_code.hpp>
#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

COFFERDAM_DECL awaitable<code_analysis> analyse_copied(std::shared_ptr<analysis_worker> worker, std::string source,
                                                       interpreter_info guest) {
  std::shared_ptr<const code_analysis> facts = co_await analyse_code(std::move(worker), source, guest);
  co_return *facts;
}

COFFERDAM_DECL awaitable<code_analysis> analyse_once(std::shared_ptr<analysis_worker> worker, std::string source,
                                                     interpreter_info guest) {
  std::shared_ptr<const code_analysis> facts;
  const auto reads = [&]() -> awaitable<void> {
    std::shared_ptr<const code_analysis> found = co_await analyse_code(worker, source, guest);
    facts = std::move(found);
  };
  const auto ends = [&]() -> awaitable<void> { return close_analysis_worker(worker); };
  co_await with_cleanup(reads, ends);
  co_return *facts;
}

}  // namespace detail

COFFERDAM_DECL code_analyzer::code_analyzer(python_reader settings)
    : worker_(detail::make_analysis_worker(std::move(settings))) {}

COFFERDAM_DECL awaitable<code_analysis> code_analyzer::analyze(std::string source) {
  return detail::analyse_copied(worker_, std::move(source), interpreter_info());
}

COFFERDAM_DECL awaitable<void> code_analyzer::close() { return detail::close_analysis_worker(worker_); }

COFFERDAM_DECL awaitable<code_analysis> analyze_code(std::string source, python_reader settings) {
  return detail::analyse_once(detail::make_analysis_worker(std::move(settings)), std::move(source), interpreter_info());
}

}  // namespace cofferdam::inline COFFERDAM_ABI
