// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_analysis.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/analysis_worker.hpp>
#include <cofferdam/code/python_reader.hpp>

#include "support/run.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// A runner that runs nothing, and records the requests it receives.
class fake_runner {
 public:
  class notes {
   public:
    std::vector<std::string> ran;
    int closed = 0;
    std::vector<std::string> contexts;
  };
  explicit fake_runner(std::shared_ptr<notes> book) : book_(std::move(book)) {}

  cofferdam::awaitable<cofferdam::code_result> run_code(cofferdam::code_request request) {
    book_->ran.push_back(request.source());
    if (request.context()) book_->contexts.push_back(*request.context());
    cofferdam::code_result result;
    result.exit_code(0);
    co_return result;
  }
  cofferdam::awaitable<std::vector<std::string>> contexts() { co_return book_->contexts; }
  cofferdam::awaitable<bool> end_context(std::string name) {
    const bool found = std::erase(book_->contexts, name) > 0;
    co_return found;
  }
  cofferdam::awaitable<void> close() {
    ++book_->closed;
    co_return;
  }

 private:
  std::shared_ptr<notes> book_;
};

class fake_runner_provider {
 public:
  explicit fake_runner_provider(std::shared_ptr<fake_runner::notes> book) : book_(std::move(book)) {}
  cofferdam::awaitable<fake_runner> open() const { return make(book_); }

 private:
  static cofferdam::awaitable<fake_runner> make(std::shared_ptr<fake_runner::notes> book) {
    co_return fake_runner(std::move(book));
  }
  std::shared_ptr<fake_runner::notes> book_;
};

/// Parses pieces of code with one reader process (the Python that parses code for the guards) on the host, in order.
/// Returns the facts about each.
inline std::vector<std::shared_ptr<const cofferdam::code_analysis>> read_all(
    const std::vector<std::string>& sources, cofferdam::python_reader settings = cofferdam::python_reader(),
    const std::function<void(std::size_t)>& before_each = nullptr) {
  std::vector<std::shared_ptr<const cofferdam::code_analysis>> analyses;
  run(
      [&]() -> cofferdam::awaitable<void> {
        const auto worker = std::make_shared<cofferdam::detail::analysis_worker>(settings);
        const cofferdam::interpreter_info nowhere;
        for (const std::string& each : sources) {
          if (before_each) before_each(analyses.size());
          std::shared_ptr<const cofferdam::code_analysis> facts =
              co_await cofferdam::detail::analysis_worker::read(worker, each, nowhere);
          analyses.push_back(std::move(facts));
        }
        co_await cofferdam::detail::analysis_worker::close(worker);
      },
      std::chrono::seconds(300));
  return analyses;
}

inline std::shared_ptr<const cofferdam::code_analysis> read_one(const std::string& source) {
  const std::vector<std::string> sources(1, source);
  return read_all(sources).front();
}

/// The facts about a piece of code, and the time to parse it.
class decision {
 public:
  std::string code;
  std::chrono::steady_clock::duration took;
  std::shared_ptr<const cofferdam::code_analysis> facts;
};

/// Parses each piece three times with one reader process, and returns the shortest time.
inline std::vector<decision> decisions(const std::vector<std::string>& codes,
                                       cofferdam::python_reader settings = cofferdam::python_reader()) {
  using clock = std::chrono::steady_clock;
  std::vector<std::string> sources(1, "import json\n");
  // Each repetition adds another comment, because the reader caches code that it has parsed.
  for (int turn = 0; turn < 3; ++turn)
    for (const std::string& each : codes) sources.push_back(each + "\n# " + std::to_string(turn));
  std::vector<clock::time_point> times;
  const auto facts = read_all(sources, std::move(settings), [&](std::size_t) { times.push_back(clock::now()); });
  times.push_back(clock::now());
  std::vector<decision> results;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    decision fastest{codes[i], clock::duration::max(), facts[1 + i]};
    for (std::size_t at = 1 + i; at < sources.size(); at += codes.size())
      fastest.took = std::min(fastest.took, times[at + 1] - times[at]);
    results.push_back(std::move(fastest));
  }
  return results;
}

}  // namespace cofferdam_test
