// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/temporary_folder.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Tools for the tests of attacks on process trees: hosts that a test forks, kills and observes from outside. A host is
// a program that uses the library.

namespace cofferdam_test {

// ---- observation from outside ---------------------------------------------------------------------------------------

/// Returns a unique number of seconds for `sleep`. The number marks the processes of one attack: it stays in their
/// command lines when they change their parent or their environment.
inline std::string new_marker() {
  static std::mt19937_64 random{std::random_device{}()};
  std::string digits = std::to_string(random());
  digits.resize(std::max<std::size_t>(digits.size(), 15), '7');
  return "98765." + digits.substr(digits.size() - 15);
}

/// Returns the living processes that have `marker` in their command line.
inline std::vector<process_entry> marked(const std::string& marker) {
  std::vector<process_entry> found;
  for (const process_entry& entry : process_table()) {
    if (entry.pid == ::getpid() || entry.is_zombie()) continue;
    if (read_proc("/proc/" + std::to_string(entry.pid) + "/cmdline").find(marker) != std::string::npos)
      found.push_back(entry);
  }
  return found;
}

/// Kills the remaining processes of an attack. Returns when five scans in a row have found no process, because a single
/// scan can miss a process that is being forked.
inline void kill_marked(const std::string& marker) {
  int empty_looks = 0;
  eventually([&] {
    const std::vector<process_entry> left = marked(marker);
    for (const process_entry& entry : left) ::kill(entry.pid, SIGKILL);
    empty_looks = left.empty() ? empty_looks + 1 : 0;
    return empty_looks == 5;
  });
}

inline std::string shown(const std::vector<process_entry>& processes) {
  std::ostringstream text;
  for (const process_entry& entry : processes)
    text << entry.name << " " << entry.pid << " (" << entry.state << ", parent " << entry.parent << ") ";
  return text.str();
}

/// Returns the id of the only process in the list; 0 if there is none, or more than one.
inline pid_t only(const std::vector<process_entry>& processes) {
  return processes.size() == 1 ? processes.front().pid : 0;
}

/// Returns the supervisors of a warden: the children that start commands and watch them.
inline std::vector<pid_t> supervisors_of(pid_t warden) {
  std::vector<pid_t> found;
  for (const process_entry& entry : process_table())
    if (entry.parent == warden && !entry.is_zombie() && is_warden(entry.pid)) found.push_back(entry.pid);
  return found;
}

inline std::string joined(const std::vector<pid_t>& numbers) {
  std::string text;
  for (const pid_t number : numbers) text += " " + std::to_string(number);
  return text;
}

/// Makes this program the parent of all orphaned descendants while the object exists. Processes that a killed host has
/// started, commands and wardens alike, therefore stay visible to the test. The destructor kills them.
class orphanage {
 public:
  orphanage() {
    for (const process_entry& entry : process_table())
      if (entry.parent == ::getpid()) before_.insert(entry.pid);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  orphanage(const orphanage&) = delete;
  orphanage& operator=(const orphanage&) = delete;
  ~orphanage() {
    eventually([&] {
      const std::vector<process_entry> left = living();
      for (const process_entry& entry : left) ::kill(entry.pid, SIGKILL);
      return left.empty();
    });
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  /// Returns the living descendants of this program that were started after the construction of this object.
  std::vector<process_entry> living() const {
    std::vector<process_entry> table = process_table();
    std::set<pid_t> ours{::getpid()};
    for (bool grown = true; grown;) {
      grown = false;
      for (const process_entry& entry : table)
        if (ours.contains(entry.parent) && !before_.contains(entry.pid)) grown = ours.insert(entry.pid).second || grown;
    }
    std::vector<process_entry> found;
    for (const process_entry& entry : table) {
      if (entry.pid == ::getpid() || !ours.contains(entry.pid)) continue;
      if (!entry.is_zombie())
        found.push_back(entry);
      else if (entry.parent == ::getpid())
        ::waitpid(entry.pid, nullptr, WNOHANG);
    }
    return found;
  }

  /// Returns true if two scans in a row find no living process. One scan can miss a process that is forked meanwhile.
  bool is_empty() const { return living().empty() && living().empty(); }

 private:
  std::set<pid_t> before_;
};

// ---- hosts ----------------------------------------------------------------------------------------------------------

/// A user id without other processes, so that a host's kill(-1) reaches only the processes of the test. Exists only if
/// the test runs as root.
class spare_user {
 public:
  static const spare_user& instance() {
    static const spare_user user;
    return user;
  }
  bool is_there() const noexcept { return uid_ != 0; }
  uid_t uid() const noexcept { return uid_; }

  /// Makes the spare user the owner of `folder`. Does nothing if there is no spare user.
  void own(const temporary_folder& folder) const {
    if (is_there() && ::chown(folder.path().c_str(), uid_, uid_) != 0) throw std::runtime_error("chown failed");
  }
  /// Changes the calling process to the spare user. Call it only in a forked host.
  void become() const {
    if (!is_there()) return;
    if (::setgroups(0, nullptr) != 0 || ::setresgid(uid_, uid_, uid_) != 0 || ::setresuid(uid_, uid_, uid_) != 0)
      throw std::runtime_error("cannot become another user");
    ::prctl(PR_SET_DUMPABLE, 1);  // otherwise /proc/self would belong to root
  }

 private:
  spare_user() {
    if (::geteuid() != 0) return;
    std::set<uid_t> used;
    for (const process_entry& entry : process_table()) {
      struct stat status {};
      if (::stat(("/proc/" + std::to_string(entry.pid)).c_str(), &status) == 0) used.insert(status.st_uid);
    }
    // Starts the search at a number that depends on this program's process id, so that two test programs which search
    // at the same time do not choose the same user id.
    for (uid_t candidate = 40'000 + static_cast<uid_t>(::getpid()) % 20'000; candidate < 64'000; ++candidate) {
      if (used.contains(candidate) || ::getpwuid(candidate) != nullptr) continue;
      const bool can = in_forked_host([candidate] {
                         return ::setresgid(candidate, candidate, candidate) == 0 &&
                                        ::setresuid(candidate, candidate, candidate) == 0
                                    ? std::string("yes")
                                    : std::string("no");
                       }) == "yes";
      if (can) uid_ = candidate;
      return;
    }
  }
  uid_t uid_ = 0;
};

/// Runs `body` in a forked host, and returns the text that `body` returns. The host runs as the spare user if there is
/// one.
template <class Body>
inline std::string in_spare_host(const temporary_folder& base, Body body) {
  const spare_user& user = spare_user::instance();
  user.own(base);
  return in_forked_host([&] {
    user.become();
    return body();
  });
}

/// A forked copy of this program that runs `body(fd)` and exits. What `body` writes to `fd` is read by `line()`. The
/// destructor kills the copy if it still runs.
class forked_program {
 public:
  template <class Body>
  explicit forked_program(Body body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    std::cout.flush();
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
      ::close(ends[0]);
      ::alarm(600);
      try {
        body(ends[1]);
      } catch (const std::exception& thrown) {
        say(ends[1], std::string("threw: ") + thrown.what() + "\n");
        ::_exit(9);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    words_ = ends[0];
  }
  forked_program(const forked_program&) = delete;
  forked_program& operator=(const forked_program&) = delete;
  ~forked_program() {
    kill();
    ::close(words_);
  }

  static void say(int fd, std::string_view text) {
    if (::write(fd, text.data(), text.size()) < 0) ::_exit(8);
  }

  pid_t pid() const noexcept { return pid_; }
  /// Returns the next line that the copy writes. Returns an empty or incomplete line if the copy ends, or if no byte
  /// arrives within `limit`.
  std::string line(std::chrono::milliseconds limit = std::chrono::seconds(120)) {
    std::string text;
    for (;;) {
      pollfd ready{words_, POLLIN, 0};
      char byte = 0;
      if (::poll(&ready, 1, static_cast<int>(limit.count())) <= 0 || ::read(words_, &byte, 1) <= 0) return text;
      if (byte == '\n') return text;
      text += byte;
    }
  }
  void kill() noexcept {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int words_ = -1;
};

// ---- help for hostile commands --------------------------------------------------------------------------------------

inline bool has_perl() { return ::access("/usr/bin/perl", X_OK) == 0; }

/// Replaces each word `M` in a shell line by the marker.
inline std::string with_marker(std::string line, const std::string& marker) {
  for (std::size_t at = 0; (at = line.find('M', at)) != std::string::npos; at += marker.size()) {
    const bool whole = (at == 0 || std::isalpha(static_cast<unsigned char>(line[at - 1])) == 0) &&
                       (at + 1 == line.size() || std::isalpha(static_cast<unsigned char>(line[at + 1])) == 0) &&
                       (at == 0 || line[at - 1] != '-');
    if (whole)
      line.replace(at, 1, marker);
    else
      at -= marker.size() - 1;
  }
  return line;
}

}  // namespace cofferdam_test
