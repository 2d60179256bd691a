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

/// The state of a process of this machine.
class process_view {
 public:
  enum class state {
    gone,     ///< the process does not exist
    running,  ///< the process exists, and `start_time` is known
    unknown,  ///< the state cannot be determined
  };

  static process_view gone() { return process_view(state::gone, 0); }
  static process_view unknown() { return process_view(state::unknown, 0); }
  static process_view running(std::uint64_t start_time) { return process_view(state::running, start_time); }

  state what() const noexcept { return what_; }
  /// Returns the start time of the process, in clock ticks since the boot of the machine.
  std::uint64_t start_time() const noexcept { return start_time_; }

 private:
  process_view(state what, std::uint64_t start_time) : what_(what), start_time_(start_time) {}
  state what_;
  std::uint64_t start_time_;
};

/// Parses `/proc/PID/stat`. A zombie counts as gone, because it has ended and is only waiting to be reaped.
/// \param text  the content of the file. The program's name in it may contain any bytes, including blanks and brackets.
/// \return      `unknown` if the text is malformed.
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
  // If the first thread of a process has ended before the others, the state is also Z, but the process still runs.
  if (state == 'X' || (state == 'Z' && *threads <= 1)) return process_view::gone();
  return process_view::running(*start);
}

/// Returns the state of a process of this machine. A process that is not accessible is `unknown`, never `gone`, because
/// /proc may hide processes of other users.
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

/// The identity of the process that made a container, a volume or an image. Other processes on the same machine use it
/// to find out whether that process still exists. It consists of the boot id, the PID namespace, the process id, and
/// the start time; the last is needed because process ids are reused.
///
/// A process of another boot or another PID namespace counts as a process of another host. This process cannot see that
/// process, so containers of that process are never treated as left behind. Therefore, if programs in two containers
/// use the same daemon, they do not remove each other's containers.
class owner {
 public:
  owner(std::string boot, std::uint64_t pid_namespace, std::int64_t pid, std::uint64_t start_time)
      : boot_(std::move(boot)), pid_namespace_(pid_namespace), pid_(pid), start_time_(start_time) {}

  /// Returns the identity of this process.
  /// \throws error{exec_errc::provider_failed} if /proc does not contain the necessary data.
  static owner this_process() {
    const std::string boot = line_of("/proc/sys/kernel/random/boot_id");
    struct stat status {};
    const process_view self = look_at_process(::getpid());
    std::error_code failure;
    const bool is_ours =  // false if /proc belongs to another PID namespace, where these ids mean other processes
        std::filesystem::read_symlink("/proc/self", failure) == std::to_string(::getpid());
    if (!is_ours || !is_boot(boot) || ::stat("/proc/self/ns/pid", &status) != 0 ||
        self.what() != process_view::state::running)
      throw error(exec_errc::provider_failed,
                  "docker: /proc does not describe this process, so its containers could not be distinguished from "
                  "those of other processes; mount the /proc of this process's PID namespace");
    return owner(boot, status.st_ino, ::getpid(), self.start_time());
  }

  /// Returns the random id that the kernel has generated at its boot, a UUID.
  const std::string& boot() const noexcept { return boot_; }
  std::uint64_t pid_namespace() const noexcept { return pid_namespace_; }
  std::int64_t pid() const noexcept { return pid_; }
  std::uint64_t start_time() const noexcept { return start_time_; }

  /// Returns true if both processes have the same boot and PID namespace, so that they can see each other.
  bool same_host(const owner& other) const noexcept {
    return boot_ == other.boot_ && pid_namespace_ == other.pid_namespace_;
  }

  friend bool operator==(const owner& a, const owner& b) = default;

  /// Returns true if a text has the form of a boot id.
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

/// The key of the label that identifies the process that has made a container, a volume or an image; see `owner_label`.
inline constexpr std::string_view owner_label_key = "cofferdam.owner";
/// The prefix of this library's labels. Users must not set labels with this prefix.
inline constexpr std::string_view own_label_prefix = "cofferdam.";

/// The value of the label `cofferdam.owner`: the identity of the owner, and the name of the labelled object. The name
/// is needed because labels are inherited: an image that was committed from a container has the labels of the
/// container, and so has each container that is started from that image. Such a container has another name than the
/// label contains, and is therefore not treated as one of this library's containers.
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

  /// Parses a label. Returns no value if the text is not exactly in the form that `text` writes, because such a label
  /// was made by another program.
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
    if (pid <= 0 || label.text() != text) return std::nullopt;  // rejects leading zeros and signs
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
/// \param label  the value of the label `owner_label_key`; untrusted.
/// \param name   the current name of the object in the daemon; the name of a container without the `/` before it.
/// \param here   the identity of this process: `owner::this_process()`.
/// \param look   returns the state of a process; `look_at_process` except in tests.
/// \return       false in case of doubt.
inline bool is_left_over(std::string_view label, std::string_view name, const owner& here,
                         const std::function<process_view(std::int64_t)>& look = &look_at_process) {
  const std::optional<owner_label> found = owner_label::parse(label);
  if (!found || found->name() != name || !found->who().same_host(here) || found->who() == here) return false;
  const process_view now = look(found->who().pid());
  if (now.what() == process_view::state::gone) return true;
  return now.what() == process_view::state::running && now.start_time() != found->who().start_time();
}

/// Returns true if the deadline in an object's labels has passed, so that any process on any host may remove the
/// object.
/// \param deadline  the value of the label `cofferdam.deadline`, in seconds since 1970; untrusted.
/// \param label     the value of the label `owner_label_key`. If the name in it is not `name`, the labels are
///                  inherited, and the deadline is ignored.
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
