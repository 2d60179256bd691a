// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

// The processes of this machine, read from /proc. This is the last resort for ending processes, if the helper process
// that should end them has failed.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// One living process.
class table_entry {
 public:
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t start_time = 0;  // distinguishes the process from a later one with the same number
  std::string name;
};

/// Returns the content of a file in /proc, or an empty text if it cannot be read.
inline std::string proc_text(const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd) return text;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
}

/// Parses the content of `/proc/PID/stat`.
/// \return        false if the process has ended. A process whose first thread has ended is in the state "zombie", but
///                is alive while another thread runs.
/// \par Source    proc(5).
inline bool parse_stat(std::string_view text, table_entry& into) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return false;
  into.name = std::string(text.substr(open + 1, close - open - 1));
  std::string_view rest = text.substr(close + 1);
  // The positions of four fields of the file. The state is field 0.
  constexpr std::size_t parent_at = 1;
  constexpr std::size_t session_at = 3;
  constexpr std::size_t threads_at = 17;
  constexpr std::size_t start_time_at = 19;
  bool is_zombie = false;
  for (std::size_t field = 0; field <= start_time_at; ++field) {
    const std::size_t start = rest.find_first_not_of(' ');
    if (start == std::string_view::npos) return false;
    rest.remove_prefix(start);
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (field == 0 && word == "X") return false;
    if (field == 0) is_zombie = word == "Z";
    if (field == parent_at) std::from_chars(word.data(), word.data() + word.size(), into.parent);
    if (field == session_at) std::from_chars(word.data(), word.data() + word.size(), into.session);
    if (field == threads_at && is_zombie) {
      unsigned threads = 0;
      std::from_chars(word.data(), word.data() + word.size(), threads);
      if (threads <= 1) return false;
    }
    if (field == start_time_at) std::from_chars(word.data(), word.data() + word.size(), into.start_time);
    rest.remove_prefix(word.size());
  }
  return true;
}

/// Returns true if a process is suspended by a signal or a tracer.
inline bool is_stopped(pid_t pid) {
  const std::string text = proc_text("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t close = text.rfind(')');
  if (close == std::string::npos || close + 2 >= text.size()) return false;
  return text[close + 2] == 'T' || text[close + 2] == 't';
}

/// Returns all living processes of this machine. Zombies are left out.
inline std::vector<table_entry> process_table() {
  std::vector<table_entry> entries;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return entries;
  while (const dirent* const dir_entry = ::readdir(folder)) {
    table_entry entry;
    const std::string_view name(dir_entry->d_name);
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), entry.pid);
    if (failure != std::errc() || end != name.data() + name.size()) continue;
    if (parse_stat(proc_text("/proc/" + std::string(name) + "/stat"), entry)) entries.push_back(std::move(entry));
  }
  ::closedir(folder);
  return entries;
}

/// Returns the living descendants of a process, without the process itself.
inline std::vector<table_entry> living_below(pid_t root) {
  const std::vector<table_entry> entries = process_table();
  std::set<pid_t> known{root};
  std::vector<table_entry> found;
  for (bool more = true; more;) {
    more = false;
    for (const table_entry& entry : entries) {
      if (!known.contains(entry.parent) || !known.insert(entry.pid).second) continue;
      found.push_back(entry);
      more = true;
    }
  }
  return found;
}

/// Returns the environment variables with which a process was started, each followed by a NUL. If the first thread of
/// the process has ended, reads them from another thread.
inline std::string variables_of(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::string variables(1, '\0');
  variables += proc_text(folder + "/environ");
  if (variables.size() > 1) return variables;
  DIR* const threads = ::opendir((folder + "/task").c_str());
  if (threads == nullptr) return variables;
  while (const dirent* const dir_entry = ::readdir(threads)) {
    if (dir_entry->d_name[0] == '.') continue;
    variables += proc_text(folder + "/task/" + dir_entry->d_name + "/environ");
    if (variables.size() > 1) break;
  }
  ::closedir(threads);
  return variables;
}

/// Returns all living processes of this machine that were started with this environment variable.
/// \param setting  `NAME=value`.
inline std::vector<table_entry> living_with_variable(std::string_view setting) {
  std::vector<table_entry> found;
  std::string assignment(1, '\0');
  assignment += setting;
  assignment += '\0';
  for (table_entry& entry : process_table()) {
    const std::string variables = variables_of(entry.pid);
    if (variables.find(assignment) != std::string::npos) found.push_back(std::move(entry));
  }
  return found;
}

/// Sends SIGKILL to a process, unless the process has ended and its number has been reused. Returns false if the kernel
/// has no descriptors of processes (before Linux 5.3); then nothing is sent.
inline bool kill_entry(const table_entry& entry) noexcept {
  try {
    const unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, entry.pid, 0)));
    if (!pidfd) return errno != ENOSYS;
    table_entry now;
    if (parse_stat(proc_text("/proc/" + std::to_string(entry.pid) + "/stat"), now) &&
        now.start_time == entry.start_time)
      signal_process(pidfd.get(), SIGKILL);
  } catch (const std::bad_alloc&) {  // without memory, the process is not killed
  }
  return true;
}

/// Returns a list of processes for messages, for example "812 (sh), 813 (sleep)". At most 20 processes are listed; the
/// rest are counted.
inline std::string list_of(const std::vector<table_entry>& processes) {
  constexpr std::size_t max_shown = 20;
  std::string text;
  for (std::size_t i = 0; i < processes.size() && i < max_shown; ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(processes[i].pid) + " (" + one_line(processes[i].name, 40) + ")";
  }
  if (processes.size() > max_shown) text += " and " + std::to_string(processes.size() - max_shown) + " more";
  return text;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
