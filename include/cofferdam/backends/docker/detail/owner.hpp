// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/file_reader.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The known facts about one process of this machine.
class process_view {
 public:
  enum class state {
    gone,     ///< the process does not exist
    running,  ///< the process exists, and `start_time` is known
    unknown,  ///< not known
  };

  static process_view gone() { return process_view(state::gone, 0); }
  static process_view unknown() { return process_view(state::unknown, 0); }
  static process_view running(std::uint64_t start_time) { return process_view(state::running, start_time); }

  state what() const noexcept { return what_; }
  /// Returns the start time in clock ticks since the machine was started.
  std::uint64_t start_time() const noexcept { return start_time_; }

 private:
  process_view(state what, std::uint64_t start_time) : what_(what), start_time_(start_time) {}
  state what_;
  std::uint64_t start_time_;
};

/// Parses `/proc/PID/stat`. A zombie counts as gone: it has ended, and only waits to be reaped.
/// \param text  the file. The program's name in it may have any bytes, also blanks and brackets.
/// \return      unknown for anything else.
/// \par Source  proc(5): fields 3 (state), 20 (number of threads) and 22 (start time), counted after the last `)`.
inline process_view read_process_stat(std::string_view text) {
  const std::size_t close = text.rfind(')');
  if (close == std::string_view::npos) return process_view::unknown();
  std::vector<std::string_view> fields;
  std::string_view rest = text.substr(close + 1);
  while (fields.size() < 20) {
    const std::size_t begin = rest.find_first_not_of(" \n");
    if (begin == std::string_view::npos) return process_view::unknown();
    rest.remove_prefix(begin);
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const std::optional<std::uint64_t> threads = number(fields[17]);
  const std::optional<std::uint64_t> start = number(fields[19]);
  if (fields[0].size() != 1 || !threads || !start) return process_view::unknown();
  const char state = fields[0].front();
  // A first thread that ended before the others is shown as a zombie too.
  if (state == 'X' || (state == 'Z' && *threads <= 1)) return process_view::gone();
  return process_view::running(*start);
}

/// Returns the state of a process of this machine. A process that is not accessible is unknown, never gone: /proc may
/// hide processes of other users.
inline process_view look_at_process(std::int64_t pid) {
  if (pid <= 0 || pid > 0x7fffffff) return process_view::unknown();
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return process_view::gone();
  try {
    cofferdam::detail::file_reader reader =
        cofferdam::detail::file_reader::open_host("/proc/" + std::to_string(pid) + "/stat");
    const bytes content = reader.read_rest(4096);
    return read_process_stat(as_text(content));
  } catch (const error&) {
    return process_view::unknown();
  }
}

/// The identity of a process, by which other processes on the same machine can find out if it still exists: the boot,
/// the PID namespace, the process id, and the start time, because ids are reused.
///
/// Another boot or another PID namespace counts as another host. Its processes are not visible here, so their objects
/// are never treated as left over. Two containers that share a daemon do not remove each other's objects.
class owner {
 public:
  owner(std::string boot, std::uint64_t pid_namespace, std::int64_t pid, std::uint64_t start_time)
      : boot_(std::move(boot)), pid_namespace_(pid_namespace), pid_(pid), start_time_(start_time) {}

  /// Returns the owner for this process.
  /// \throws error{exec_errc::provider_failed} if /proc lacks the data.
  static owner this_process() {
    const std::string boot = line_of("/proc/sys/kernel/random/boot_id");
    struct stat status {};
    const process_view self = look_at_process(::getpid());
    std::error_code failure;
    const bool is_ours =  // false in another PID namespace, where our process numbers belong to other processes
        std::filesystem::read_symlink("/proc/self", failure) == std::to_string(::getpid());
    if (!is_ours || !is_boot(boot) || ::stat("/proc/self/ns/pid", &status) != 0 ||
        self.what() != process_view::state::running)
      throw error(exec_errc::provider_failed,
                  "docker: /proc does not say who this process is, so what it makes could not be told from what others "
                  "make; mount /proc for its own PID namespace");
    return owner(boot, status.st_ino, ::getpid(), self.start_time());
  }

  /// Returns the kernel's random id of this boot, a UUID.
  const std::string& boot() const noexcept { return boot_; }
  std::uint64_t pid_namespace() const noexcept { return pid_namespace_; }
  std::int64_t pid() const noexcept { return pid_; }
  std::uint64_t start_time() const noexcept { return start_time_; }

  /// Returns true if both can see each other's processes.
  bool same_host(const owner& other) const noexcept {
    return boot_ == other.boot_ && pid_namespace_ == other.pid_namespace_;
  }

  friend bool operator==(const owner& a, const owner& b) = default;

  /// Returns true if a text has the form of the kernel's boot id.
  static bool is_boot(std::string_view text) {
    return text.size() == 36 && std::all_of(text.begin(), text.end(), [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
           });
  }

 private:
  static std::string line_of(const char* path) {
    try {
      cofferdam::detail::file_reader reader = cofferdam::detail::file_reader::open_host(path);
      const bytes content = reader.read_rest(256);
      const std::string_view text = as_text(content);
      return std::string(text.substr(0, text.find('\n')));
    } catch (const error&) {
      return {};
    }
  }

  std::string boot_;
  std::uint64_t pid_namespace_;
  std::int64_t pid_;
  std::uint64_t start_time_;
};

/// The label with the process that made a container, a volume or an image, and with its name.
inline constexpr std::string_view owner_label_key = "cofferdam.owner";
/// The prefix of the library's labels, which users must not use.
inline constexpr std::string_view own_label_prefix = "cofferdam.";

/// The value of the label: the owner, and the name of the labelled object. The name is included because labels are
/// inherited: an image that was committed from a container has the container's labels, and so has each container that
/// is started from that image. Such a container has another name.
///
/// ```
/// label = "1:" boot ":" pid-namespace ":" pid ":" start-time ":" name
/// ```
class owner_label {
 public:
  owner_label(owner who, std::string name) : who_(std::move(who)), name_(std::move(name)) {}

  const owner& who() const noexcept { return who_; }
  const std::string& name() const noexcept { return name_; }

  std::string text() const {
    return "1:" + who_.boot() + ":" + std::to_string(who_.pid_namespace()) + ":" + std::to_string(who_.pid()) + ":" +
           std::to_string(who_.start_time()) + ":" + name_;
  }

  /// Parses a label. No value for any text that `text` would not write exactly: such a label is foreign.
  static std::optional<owner_label> parse(std::string_view text) {
    if (text.size() > 512) return std::nullopt;
    std::array<std::string_view, 5> parts;
    std::string_view rest = text;
    for (std::string_view& part : parts) {
      const std::size_t colon = rest.find(':');
      if (colon == std::string_view::npos) return std::nullopt;
      part = rest.substr(0, colon);
      rest.remove_prefix(colon + 1);
    }
    std::uint64_t pid_namespace = 0;
    std::int64_t pid = 0;
    std::uint64_t start_time = 0;
    if (parts[0] != "1" || !owner::is_boot(parts[1]) || rest.empty()) return std::nullopt;
    if (!read(parts[2], pid_namespace) || !read(parts[3], pid) || !read(parts[4], start_time)) return std::nullopt;
    owner_label label(owner(std::string(parts[1]), pid_namespace, pid, start_time), std::string(rest));
    if (pid <= 0 || label.text() != text) return std::nullopt;  // no leading zeros, no signs
    return label;
  }

 private:
  template <class Number>
  static bool read(std::string_view digits, Number& value) {
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return failure == std::errc() && end == digits.data() + digits.size();
  }

  owner who_;
  std::string name_;
};

/// Returns true if a labelled object was left behind by a dead process of this host. Only such objects may be removed.
/// \param label  the value of `owner_label_key`; untrusted.
/// \param name   the daemon's current name of the object; for a container without the `/` before it.
/// \param here   this process: `owner::this_process()`.
/// \param look   `process_view(std::int64_t pid)`; `look_at_process` except in tests.
/// \return       false in case of doubt.
inline bool is_left_over(std::string_view label, std::string_view name, const owner& here,
                         const std::function<process_view(std::int64_t)>& look = &look_at_process) {
  const std::optional<owner_label> found = owner_label::parse(label);
  if (!found || found->name() != name || !found->who().same_host(here) || found->who() == here) return false;
  const process_view now = look(found->who().pid());
  if (now.what() == process_view::state::gone) return true;
  return now.what() == process_view::state::running && now.start_time() != found->who().start_time();
}

/// Returns true if the deadline that the owner gave an object has passed, so that any process on any host may remove
/// it.
/// \param deadline  the value of its label `cofferdam.deadline`, seconds since 1970; untrusted.
/// \param label     as for `is_left_over`: an object with inherited labels has no deadline.
/// \return          false in case of doubt.
inline bool is_past_deadline(std::string_view deadline, std::string_view label, std::string_view name,
                             std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) {
  const std::optional<owner_label> found = owner_label::parse(label);
  if (!found || found->name() != name || deadline.empty() || deadline.size() > 12) return false;
  std::int64_t seconds = 0;
  const auto [end, failure] = std::from_chars(deadline.data(), deadline.data() + deadline.size(), seconds);
  if (failure != std::errc() || end != deadline.data() + deadline.size() || seconds <= 0) return false;
  return std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count() > seconds;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
