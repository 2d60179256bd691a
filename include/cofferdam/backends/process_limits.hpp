// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI {

/// Limits of what commands may use: `local().limits(process_limits().memory(std::uint64_t{1} << 30).cpu_time(10s))`.
/// Each has the meaning and the bounds of the option of the same name of `jail`. What is not set has no limit.
class process_limits {
 public:
  /// Limits memory, in bytes: of all processes of the environment together if this program may make control groups;
  /// otherwise the address space of each process (RLIMIT_AS). At least 16 MiB.
  process_limits& memory(std::uint64_t max_bytes) {
    require(max_bytes >= minimum_memory && max_bytes <= maximum_memory, "memory must be from 16 MiB to 2^62 bytes");
    memory_ = max_bytes;
    return *this;
  }
  /// Limits the number of processes and threads of the environment together, those of the warden included: 1, and 1 for
  /// each command that runs. From 8 to 4,194,304.
  process_limits& processes(std::uint32_t count) {
    require(count >= 8 && count <= maximum_processes, "processes must be from 8 to 4194304");
    processes_ = count;
    return *this;
  }
  /// Limits the processor time of each process. Whole seconds, at least 1.
  process_limits& cpu_time(std::chrono::seconds time) {
    require(time.count() >= 1, "cpu_time must be at least 1 s");
    cpu_time_ = time;
    return *this;
  }
  /// Limits the size of each file that a command writes, in bytes.
  process_limits& file_size(std::uint64_t max_bytes) {
    file_size_ = max_bytes;
    return *this;
  }
  /// Limits the number of open files of each process. At least 16.
  process_limits& open_files(std::uint32_t count) {
    require(count >= 16, "open_files must be at least 16");
    open_files_ = count;
    return *this;
  }

  std::optional<std::uint64_t> memory() const noexcept { return memory_; }
  std::optional<std::uint32_t> processes() const noexcept { return processes_; }
  std::optional<std::chrono::seconds> cpu_time() const noexcept { return cpu_time_; }
  std::optional<std::uint64_t> file_size() const noexcept { return file_size_; }
  std::optional<std::uint32_t> open_files() const noexcept { return open_files_; }

  /// Returns true if no limit is set.
  bool empty() const noexcept { return !memory_ && !processes_ && !cpu_time_ && !file_size_ && !open_files_; }

 private:
  static constexpr std::uint64_t minimum_memory = std::uint64_t{16} << 20;
  static constexpr std::uint64_t maximum_memory = std::uint64_t{1} << 62;
  static constexpr std::uint32_t maximum_processes = std::uint32_t{1} << 22;

  static void require(bool holds, const char* sentence) {
    if (!holds) throw error(exec_errc::invalid_argument, std::string("process_limits: ") + sentence);
  }

  std::optional<std::uint64_t> memory_;
  std::optional<std::uint32_t> processes_;
  std::optional<std::chrono::seconds> cpu_time_;
  std::optional<std::uint64_t> file_size_;
  std::optional<std::uint32_t> open_files_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
