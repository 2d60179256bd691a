// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

// A table of measurements. The rows of a comparison are measured in turn (a, b, c, a, b, c, …), so that a change of the
// machine's speed affects all of them. The first row is the floor, the least that the measured work can cost: its ratio
// is 1, and the other ratios are relative to it.

namespace cofferdam_bench {

class row {
 public:
  explicit row(std::string name) : name_(std::move(name)) {}

  void add(std::chrono::nanoseconds time) { times_.push_back(static_cast<double>(time.count())); }
  const std::string& name() const { return name_; }

  double percentile(double part) const {
    std::vector<double> sorted = times_;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty()) return 0;
    return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
  }

 private:
  std::string name_;
  std::vector<double> times_;
};

inline void print(const char* title, const std::vector<row>& rows) {
  std::printf("%s\n%-58s %10s %10s %10s %8s\n", title, "", "p50 us", "p95 us", "p99 us", "ratio");
  for (const row& entry : rows)
    std::printf("%-58s %10.1f %10.1f %10.1f %8.2f\n", entry.name().c_str(), entry.percentile(0.5) / 1000,
                entry.percentile(0.95) / 1000, entry.percentile(0.99) / 1000,
                entry.percentile(0.5) / rows.front().percentile(0.5));
  std::printf("\n");
}

template <class Work>
std::chrono::nanoseconds timed(Work work) {
  const auto before = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - before;
}

}  // namespace cofferdam_bench
