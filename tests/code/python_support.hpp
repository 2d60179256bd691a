// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/with.hpp>

#include "support/census.hpp"
#include "support/run.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam_test {

using python_here = cofferdam::python_runner<cofferdam::local_environment>;

class found_python {
 public:
  std::string program;
  int major = 0;
  int minor = 0;
};

/// Returns the Python interpreters of this machine: the system's python3, the newest packaged by Debian if
/// COFFERDAM_NEWEST_PYTHON names it, and those of pyenv by their paths.
inline std::vector<found_python> pythons() {
  std::vector<found_python> found;
  const char* const home = std::getenv("HOME");
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(home == nullptr ? "" : home) / ".pyenv/versions";
  for (const auto& each : std::filesystem::directory_iterator(folder, ignored)) {
    found_python candidate;
    candidate.program = (each.path() / "bin/python").string();
    if (std::sscanf(each.path().filename().c_str(), "%d.%d", &candidate.major, &candidate.minor) == 2 &&
        std::filesystem::exists(candidate.program))
      found.push_back(candidate);
  }
  const char* const newest = std::getenv("COFFERDAM_NEWEST_PYTHON");
  for (const std::string program : {"python3", newest == nullptr ? "" : newest}) {
    if (program.empty()) continue;
    found_python candidate;
    candidate.program = program;
    const std::string question = program + " -c 'import sys; print(*sys.version_info[:2])'";
    if (std::FILE* const pipe = ::popen(question.c_str(), "r")) {
      if (std::fscanf(pipe, "%d %d", &candidate.major, &candidate.minor) == 2) found.push_back(candidate);
      ::pclose(pipe);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const found_python& a, const found_python& b) { return a.program < b.program; });
  return found;
}

/// A folder for the environments of one test. The destructor removes it.
class python_folder {
 public:
  python_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cofferdam-python-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  python_folder(const python_folder&) = delete;
  python_folder& operator=(const python_folder&) = delete;
  ~python_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const noexcept { return path_; }
  cofferdam::local provider() const { return cofferdam::local().without_warning().temporary_base(path_); }

 private:
  std::filesystem::path path_;
};

/// Opens a runner of the system's python3 and awaits `body(runner)`.
template <class Body>
void with_python(cofferdam::python options, Body body) {
  const python_folder folder;
  auto provider = folder.provider() | options;
  run([&] { return cofferdam::with(provider, [&body](python_here& runner) { return body(runner); }); },
      std::chrono::seconds(120));
}

/// Opens a runner, runs one piece of code, and returns the result.
inline cofferdam::code_result run_python(cofferdam::code_request request,
                                         cofferdam::python options = cofferdam::python()) {
  cofferdam::code_result result;
  with_python(std::move(options), [&](python_here& runner) -> cofferdam::awaitable<void> {
    cofferdam::code_result got = co_await runner.run_code(std::move(request));
    result = std::move(got);
  });
  return result;
}

/// Returns the value of the result as JSON text, or "(none)" if there is no value.
inline std::string value_of(const cofferdam::code_result& result) {
  return result.value() ? boost::json::serialize(*result.value()) : "(none)";
}

/// Returns all parts of a result as text, for failure messages.
inline std::string all_of(const cofferdam::code_result& result) {
  return "exit " + std::to_string(result.exit_code()) + ", signal " + std::to_string(result.term_signal()) + ", " +
         std::string(to_string(result.kind())) + ": " + result.reason() + "\nout: " + result.out().text() +
         "\nerr: " + result.err().text() + "\nvalue: " + value_of(result);
}

/// Sets a variable in a context, and awaits `body(runner)`. Expects that the variable still exists afterwards, and that
/// the same driver (the program that runs code in the sandbox) still runs code.
template <class Runner, class Body>
cofferdam::awaitable<void> around_a_context(Runner& runner, Body body) {
  cofferdam::code_result before = co_await runner.run_code(
      cofferdam::code_request("known = 42").context("other").timeout(std::chrono::seconds(30)));
  EXPECT_TRUE(before.ok()) << all_of(before);
  co_await body(runner);
  cofferdam::code_result after =
      co_await runner.run_code(cofferdam::code_request("known").context("other").timeout(std::chrono::seconds(30)));
  EXPECT_EQ(value_of(after), "42") << all_of(after);
  cofferdam::code_result fresh =
      co_await runner.run_code(cofferdam::code_request("6 * 7").timeout(std::chrono::seconds(30)));
  EXPECT_EQ(value_of(fresh), "42") << all_of(fresh);
  EXPECT_FALSE(fresh.driver_restarted());
}

}  // namespace cofferdam_test
