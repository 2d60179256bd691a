// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <sys/types.h>
#include <unistd.h>

// Observations of the host: its processes, descriptors and memory. The attack tests use these observations to check the
// library, so this file uses neither the library nor any process that the library has started.

namespace cofferdam_test {

/// One process in the host's process table, from /proc/PID/stat.
class process_entry {
 public:
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';
  std::string name;

  bool is_zombie() const noexcept { return state == 'Z' || state == 'X'; }
};

/// Returns the content of a file in /proc. Returns an empty string if the file does not exist, for example because the
/// process has ended.
inline std::string read_proc(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(fd);
  return text;
}

/// Returns the entry of the process `pid`. The entry's pid is 0 if there is no such process.
inline process_entry process_of(pid_t pid) {
  process_entry entry;
  const std::string text = read_proc("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return entry;
  entry.name = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  rest >> entry.state >> entry.parent >> entry.group >> entry.session;
  entry.pid = pid;
  return entry;
}

inline bool is_alive(pid_t pid) {
  const process_entry entry = process_of(pid);
  return entry.pid != 0 && !entry.is_zombie();
}

/// Returns all processes of this machine.
inline std::vector<process_entry> process_table() {
  std::vector<process_entry> table;
  std::error_code ignored;  // a process can end while its entry is read
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = folder.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const process_entry entry = process_of(static_cast<pid_t>(std::atol(name.c_str())));
    if (entry.pid != 0) table.push_back(entry);
  }
  return table;
}

/// Returns true if a process is a warden or a supervisor. (A warden is the helper program of an environment; it starts
/// one supervisor per command.)
inline bool is_warden(pid_t pid) {
  const std::string words = read_proc("/proc/" + std::to_string(pid) + "/cmdline");
  return words.starts_with("cofferdam-warden") || words.starts_with("/.warden");  // the second is that of a jail
}

/// Returns the living wardens that this program has started, without their supervisors.
inline std::vector<process_entry> own_wardens() {
  std::vector<process_entry> found;
  for (const process_entry& entry : process_table())
    if (entry.parent == ::getpid() && !entry.is_zombie() && is_warden(entry.pid)) found.push_back(entry);
  return found;
}

/// Returns the living bubblewraps that this program has started, one for each jail.
inline std::vector<process_entry> own_bubblewraps() {
  std::vector<process_entry> found;
  for (const process_entry& entry : process_table())
    if (entry.parent == ::getpid() && !entry.is_zombie() && entry.name == "bwrap") found.push_back(entry);
  return found;
}

/// Returns the living guests of `folder`: the processes of commands whose environment lies in `folder`. Finds them by
/// the path in their environment variables HOME and TMPDIR, whatever their parent and session. Living children of this
/// program other than wardens and bubblewraps count too.
inline std::vector<process_entry> guests_of(const std::filesystem::path& folder) {
  std::vector<process_entry> found;
  for (const process_entry& entry : process_table()) {
    if (entry.pid == ::getpid() || entry.is_zombie()) continue;
    const bool ours = entry.parent == ::getpid() && !is_warden(entry.pid) && entry.name != "bwrap";
    if (ours || read_proc("/proc/" + std::to_string(entry.pid) + "/environ").find(folder.native()) != std::string::npos)
      found.push_back(entry);
  }
  return found;
}

/// Polls `condition` until it is true. Returns false if it is still false after `limit`.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (condition()) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// Returns the numbers of the open descriptors of a process that was just started, separated by commas. The dynamic
/// loader opens libraries after the exec, so this waits until only 0, 1 and 2 are open. Returns the open descriptors
/// after the limit of `eventually` if others stay open.
inline std::string settled_descriptors(pid_t pid) {
  std::string open_numbers;
  eventually([&] {
    std::set<std::string> names;
    std::error_code gone;
    for (const auto& descriptor : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", gone))
      names.insert(descriptor.path().filename().string());
    open_numbers.clear();
    for (const std::string& name : names) open_numbers += open_numbers.empty() ? name : "," + name;
    return open_numbers == "0,1,2";
  });
  return open_numbers;
}

/// Kills the guests of `folder` until none is left. Cleans up after a control run, in which attacks succeed.
inline void kill_guests_of(const std::filesystem::path& folder) {
  eventually([&] {
    const std::vector<process_entry> left = guests_of(folder);
    for (const process_entry& entry : left) ::kill(entry.pid, SIGKILL);
    return left.empty();
  });
}

/// The resources of the host that a test must leave unchanged: processes, zombies, descriptors, threads and folders.
class census {
 public:
  /// \param folder  the directory in which environments create their folders. Must be used by this test only.
  static census take(const std::filesystem::path& folder) {
    census now;
    now.processes = guests_of(folder).size() + own_wardens().size() + own_bubblewraps().size();
    const std::vector<process_entry> table = process_table();
    now.zombies = static_cast<std::size_t>(std::count_if(table.begin(), table.end(), [](const process_entry& entry) {
      return entry.parent == ::getpid() && entry.is_zombie();
    }));
    now.descriptors = entries_of("/proc/self/fd");
    now.threads = entries_of("/proc/self/task");
    now.folders = entries_of(folder);
    return now;
  }

  bool operator==(const census&) const = default;

  friend std::ostream& operator<<(std::ostream& out, const census& resources) {
    return out << resources.processes << " processes, " << resources.zombies << " zombies, " << resources.descriptors
               << " descriptors, " << resources.threads << " threads, " << resources.folders << " folders";
  }

  std::size_t processes = 0;
  std::size_t zombies = 0;
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t folders = 0;

 private:
  static std::size_t entries_of(const std::filesystem::path& folder) {
    std::error_code ignored;
    const std::filesystem::directory_iterator entries(folder, ignored);
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }
};

/// Returns the resident memory of this program, in bytes.
inline std::size_t resident_memory() {
  std::istringstream text(read_proc("/proc/self/statm"));
  std::size_t virtual_pages = 0;
  std::size_t resident = 0;
  text >> virtual_pages >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// The growth of this program's peak memory since the construction of this object, measured by the kernel.
class memory_growth {
 public:
  memory_growth() {
    ::malloc_trim(0);  // returns memory that earlier tests have freed, so that new allocations are counted
    const int fd = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
      is_exact_ = ::write(fd, "5", 1) == 1;  // proc(5): resets the peak
      ::close(fd);
    }
    before_ = resident_memory();
  }

  /// Returns false if the kernel cannot reset the peak of the memory. `peak()` may then include the peak of an earlier
  /// test.
  bool is_exact() const noexcept { return is_exact_; }

  /// Returns the difference between the peak and the memory at the construction, in bytes; 0 if there is no growth.
  std::size_t peak() const {
    const std::string status = read_proc("/proc/self/status");
    const std::size_t at = status.find("VmHWM:");
    if (at == std::string::npos) return 0;
    const std::size_t highest = std::strtoull(status.c_str() + at + 6, nullptr, 10) * 1024;
    return highest > before_ ? highest - before_ : 0;
  }

 private:
  std::size_t before_ = 0;
  bool is_exact_ = false;
};

/// Returns true if a sanitizer is active. Its own data is then part of all memory figures.
constexpr bool is_sanitized() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#else
  return false;
#endif
#else
  return false;
#endif
}

/// Returns true if the long form of a test is requested: COFFERDAM_SOAK=1.
inline bool is_soak() {
  const char* value = std::getenv("COFFERDAM_SOAK");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace cofferdam_test
