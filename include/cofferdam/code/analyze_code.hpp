// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/code/interpreter_info.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/asio.hpp>

#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// Analyses Python code without running it, with the process that parses code for guards. The process starts with the
/// first piece of code, and stays for the next ones.
///
///     code_analyzer analyzer;
///     code_analysis facts = co_await analyzer.analyze("import os\nos.getcwd()");
///     facts.imports();   // {"os"}
///     facts.calls();     // {"os.getcwd"}
///     facts.problem();   // a syntax error with its line, if there is one
///     co_await analyzer.close();
///
/// \par Threads  may be used from several threads.
class code_analyzer {
 public:
  /// Makes an analyzer with the Python of the host, "python3".
  code_analyzer() : code_analyzer(python_reader()) {}
  /// Makes an analyzer with these settings. There is no guest, so that `analysis_place::guest` finds no Python.
  explicit code_analyzer(python_reader settings);

  /// Returns the facts about the code. Code that is not Python, or is too costly to parse, is a result with a problem.
  /// \param source  the code, UTF-8.
  /// \throws error{exec_errc::provider_failed} if there is no Python that can parse the code.
  /// \throws error{exec_errc::environment_closed} after `close`.
  /// \par Cancellation  terminal; throws error{exec_errc::cancelled}.
  /// \par Cost          some tenths of a millisecond for 50 lines, after the start of the process.
  awaitable<code_analysis> analyze(std::string source);
  /// Ends the process. A second call does nothing. If an analyzer is destroyed without `close`, its process ends too.
  awaitable<void> close();

 private:
  std::shared_ptr<detail::analysis_worker> worker_;
};

/// Analyses one piece of code, as `code_analyzer` does: `co_await analyze_code("import os")`. It starts a process for
/// this piece, which takes some tens of milliseconds.
/// \param source    the code, UTF-8.
/// \param settings  the process that parses the code.
awaitable<code_analysis> analyze_code(std::string source, python_reader settings = python_reader());

namespace detail {

/// Returns the facts about one piece of code, and closes the worker.
/// \param guest  the Python that would run the code.
awaitable<code_analysis> analyse_once(std::shared_ptr<analysis_worker> worker, std::string source,
                                      interpreter_info guest);

/// Returns the facts about one piece of code.
awaitable<code_analysis> analyse_copied(std::shared_ptr<analysis_worker> worker, std::string source,
                                        interpreter_info guest);

}  // namespace detail

/// Analyses one piece of code for the Python that would run it in a runner, as the guards of the runner do. The process
/// of its guards parses the code. A runner without guards gets a process for this piece.
/// \param runner  an open runner, which the caller keeps until the awaitable completes. The code does not run in it.
/// \param source  the code, UTF-8.
/// \throws error{exec_errc::provider_failed} if there is no Python that can parse the code.
template <code_runner R>
awaitable<code_analysis> analyze_code(R& runner, std::string source) {
  std::shared_ptr<detail::analysis_worker> shared;
  if constexpr (detail::shares_reader<R>) shared = runner.shared_reader();
  if (shared) return detail::analyse_copied(std::move(shared), std::move(source), detail::interpreter_of(runner));
  return detail::analyse_once(detail::make_analysis_worker(python_reader()), std::move(source),
                              detail::interpreter_of(runner));
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/impl/analyze_code.ipp>
#endif
