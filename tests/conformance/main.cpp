// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs the conformance suites with each "place", which is a provider with its options, in a process of its own. The
// environment variable COFFERDAM_PLACES selects places by name ("local frames"); by default all run.

#include "conformance/places.hpp"
#include "support/require.hpp"
#include "support/run_all_tests.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam_test {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct counts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

/// The result of the suites at one place.
struct outcome {
  std::string text;
  counts sum;
  bool good = false;
};

/// Runs this program in a child process for one place.
outcome run_at(const place& where, char** argv) {
  outcome result;
  result.text = "---- " + where.name + "\n";
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    ::dup2(pipe_ends[1], 1);
    ::setenv("COFFERDAM_PLACE", where.name.c_str(), 1);
    ::execv("/proc/self/exe", argv);
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  std::string line;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(pipe_ends[0], piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      if (piece[i] != '\n') {
        line += piece[i];
        continue;
      }
      // The output of each place ends with a line of counts. The program replaces these lines by one line with their
      // sums.
      counts place_counts;
      char end = 0;
      if (std::sscanf(line.c_str(), "%d passed, %d failed, %d skippe%c", &place_counts.passed, &place_counts.failed,
                      &place_counts.skipped, &end) == 4) {
        result.sum.passed += place_counts.passed;
        result.sum.failed += place_counts.failed;
        result.sum.skipped += place_counts.skipped;
        result.text += where.name + ": ";
      }
      result.text += line + '\n';
      line.clear();
    }
  }
  ::close(pipe_ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!result.good) result.text += where.name + ": FAILED (status " + std::to_string(status) + ")\n";
  return result;
}

/// Runs the suites at several places, two places at a time, because a place mostly waits. Prints the output of each
/// place when it has finished.
outcome run_at_all(const std::vector<const place*>& places, char** argv) {
  outcome total;
  total.good = true;
  std::mutex mine;
  std::size_t next = 0;
  const auto work = [&] {
    for (;;) {
      const place* where = nullptr;
      {
        const std::lock_guard lock(mine);
        if (next < places.size()) where = places[next++];
      }
      if (where == nullptr) return;
      const outcome result = run_at(*where, argv);
      const std::lock_guard lock(mine);
      std::cout << result.text << std::flush;
      total.good = total.good && result.good;
      total.sum.passed += result.sum.passed;
      total.sum.failed += result.sum.failed;
      total.sum.skipped += result.sum.skipped;
    }
  };
  std::thread other(work);
  work();
  other.join();
  return total;
}

}  // namespace

const place& this_place() {
  static const place found = [] {
    const std::string name = variable("COFFERDAM_PLACE");
    for (place& each : all_places())
      if (each.name == name) return each;
    throw std::runtime_error("no place is called '" + name + "'");
  }();
  return found;
}

}  // namespace cofferdam_test

int main(int argc, char** argv) {
  using namespace cofferdam_test;
  if (!variable("COFFERDAM_PLACE").empty()) {
    // GoogleTest reads its filter from the command line or from this environment variable.
    std::string filter = variable("GTEST_FILTER");
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word.rfind("--gtest_filter=", 0) == 0) filter = word.substr(15);
    }
    if (filter.empty()) filter = "*";
    const std::string& without = this_place().without;
    if (!without.empty()) filter += (filter.find('-') == std::string::npos ? "-" : ":") + without;
    filter.insert(0, "--gtest_filter=");
    std::vector<char*> words(argv, argv + argc);
    words.push_back(filter.data());
    words.push_back(nullptr);
    return run_all_tests(argc + 1, words.data());
  }
  std::string listed = variable("COFFERDAM_PLACES");
#ifdef COFFERDAM_USUAL_PLACES
  if (listed.empty()) listed = COFFERDAM_USUAL_PLACES;
#endif
  std::istringstream names(listed);
  std::vector<std::string> selected_names;
  for (std::string name; names >> name;) selected_names.push_back(name);
  const std::vector<place> places = all_places();
  std::vector<const place*> chosen;
  std::vector<std::string> missing;
  bool good = true;
  for (const std::string& name : selected_names) {
    if (std::any_of(places.begin(), places.end(), [&](const place& each) { return each.name == name; })) continue;
    std::cout << "no place is called '" << name << "'\n";
    good = false;
  }
  for (const place& each : places) {
    if (!selected_names.empty() &&
        std::find(selected_names.begin(), selected_names.end(), each.name) == selected_names.end())
      continue;
    if (!each.needs.empty() && variable(each.needs.c_str()).empty()) {
      missing.push_back(each.name + ": " + each.needs + " is not set");
      continue;
    }
    chosen.push_back(&each);
  }
  const outcome ran = run_at_all(chosen, argv);
  counts sum = ran.sum;
  good = good && ran.good;
  if (!missing.empty()) std::cout << "\nskipped: " << missing.size() << " places\n";
  for (const std::string& each : missing) std::cout << "  " << each << '\n';
  if (!missing.empty() && is_required("all")) {
    std::cout << "COFFERDAM_REQUIRE=all allows no skip\n";
    good = false;
  }
  sum.skipped += static_cast<int>(missing.size());
  if (!good && sum.failed == 0) sum.failed = 1;
  std::cout << sum.passed << " passed, " << sum.failed << " failed, " << sum.skipped << " skipped" << std::endl;
  return good ? 0 : 1;
}
