// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/os/file_reader.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline v0::docker {

/// What stands at a path of the host.
enum class path_kind { nothing, file, socket, other };

/// What the Docker backend looks at on the machine it runs on: variables, a home folder, small files. A value, so that
/// tests can make one up.
///
/// \par Threads  const members from any thread, as far as the two functions allow that; those of `of_this_process` do.
class host_view {
 public:
  using variable_map = std::map<std::string, std::string, std::less<>>;
  /// Reads a whole small file: nothing where there is none.
  /// \throws error, for one that is there and cannot be read, or is longer than `most_bytes`.
  using read_function = std::function<std::optional<std::string>(const std::string& path)>;
  /// Says what stands at a path, symbolic links followed.
  using look_function = std::function<path_kind(const std::string& path)>;

  /// The longest file that is read: 4 MiB.
  static constexpr std::size_t most_bytes = std::size_t{4} * 1024 * 1024;

  host_view(variable_map variables, std::string home, unsigned user_id, read_function read, look_function look)
      : variables_(std::move(variables)),
        home_(std::move(home)),
        user_id_(user_id),
        read_(std::move(read)),
        look_(std::move(look)) {}

  /// This process's own surroundings. The variables are copied now; files are looked at when they are asked for, with
  /// calls that block for as long as the file system does.
  static host_view of_this_process() {
    variable_map variables;
    for (char** one = ::environ; one != nullptr && *one != nullptr; ++one) {
      const std::string_view text(*one);
      const std::size_t equals = text.find('=');
      if (equals != std::string_view::npos && equals > 0)
        variables.emplace(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
    return host_view(std::move(variables), home_of(::getuid()), ::getuid(), &read_host_file, &look_at_host);
  }

  /// A variable's value; nothing where it is not set. Docker takes an empty one for not set: see `said`.
  std::optional<std::string> variable(std::string_view name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return std::nullopt;
    return found->second;
  }

  /// A variable's value, empty where it is not set.
  std::string said(std::string_view name) const { return variable(name).value_or(std::string()); }

  /// The user's home: HOME, else what the system's table of users says; empty where neither knows.
  std::string home() const {
    const std::string home = said("HOME");
    return home.empty() ? home_ : home;
  }

  /// The real user id of the process.
  unsigned user_id() const noexcept { return user_id_; }

  /// All variables, as `NAME=value`: for a program that is to find what this one finds.
  std::vector<std::string> settings() const {
    std::vector<std::string> all;
    for (const auto& [name, value] : variables_) all.push_back(name + "=" + value);
    return all;
  }

  std::optional<std::string> read(const std::string& path) const { return read_(path); }
  path_kind look(const std::string& path) const { return look_(path); }

 private:
  static std::string home_of(uid_t user) {
    std::string buffer(16384, '\0');
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
    return found->pw_dir == nullptr ? std::string() : std::string(found->pw_dir);
  }

  static std::optional<std::string> read_host_file(const std::string& path) {
    try {
      file_reader reader = file_reader::open_host(path);
      const bytes content = reader.read_rest(most_bytes);
      return std::string(as_text(content));
    } catch (const error& failure) {
      if (failure.code() == errc::not_found || failure.code() == errc::not_a_directory) return std::nullopt;
      throw;
    }
  }

  static path_kind look_at_host(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return path_kind::nothing;
    if (S_ISREG(status.st_mode)) return path_kind::file;
    return S_ISSOCK(status.st_mode) ? path_kind::socket : path_kind::other;
  }

  variable_map variables_;
  std::string home_;
  unsigned user_id_;
  read_function read_;
  look_function look_;
};

}  // namespace cofferdam::inline v0::docker
