// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/file_reader.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The type of the file at a path of this machine. `nothing` means that there is no file.
enum class path_kind { nothing, file, socket, other };

/// The parts of this machine that the Docker backend reads: environment variables, the user's home, and small files. A
/// value, so that tests can construct their own.
///
/// \par Threads  const members may be used from any thread if the functions given to the constructor allow it. The
///               functions that `of_this_process` uses do.
class host_view {
 public:
  using variable_map = std::map<std::string, std::string, std::less<>>;
  /// The type of a function that reads a whole file. It returns no value if the file does not exist.
  /// \throws error if the file cannot be read, or is longer than `max_bytes`.
  using read_function = std::function<std::optional<std::string>(const std::string& path)>;
  /// The type of a function that returns the type of the file at a path. It follows symbolic links.
  using look_function = std::function<path_kind(const std::string& path)>;
  /// The type of a function that returns a path with symbolic links resolved, as far as the path exists.
  using real_function = std::function<std::string(const std::string& path)>;

  /// The maximum size in bytes of a file that is read: 4 MiB.
  static constexpr std::size_t max_bytes = std::size_t{4} * 1024 * 1024;

  /// Makes a view from its parts.
  /// \param real  resolves symbolic links in a path. Default: paths stay unchanged, as if there were no symbolic links.
  host_view(variable_map variables, std::string home, unsigned user_id, read_function read, look_function look,
            real_function real = {})
      : variables_(std::move(variables)),
        home_(std::move(home)),
        user_id_(user_id),
        read_(std::move(read)),
        look_(std::move(look)),
        real_(std::move(real)) {}

  /// Returns the view of this process. Copies the environment variables at once. Files are read later, by blocking
  /// calls.
  static host_view of_this_process() {
    variable_map variables;
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      const std::size_t equals = text.find('=');
      if (equals != std::string_view::npos && equals > 0)
        variables.emplace(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
    return host_view(std::move(variables), home_of(::getuid()), ::getuid(), &read_host_file, &look_at_host,
                     &real_host_path);
  }

  /// Returns the value of an environment variable, or no value if it is not set. Docker treats an empty variable as not
  /// set; to do the same, call `said` instead.
  std::optional<std::string> variable(std::string_view name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return std::nullopt;
    return found->second;
  }

  /// Returns the value of a variable, or an empty text if it is not set.
  std::string value(std::string_view name) const { return variable(name).value_or(std::string()); }

  /// Returns the user's home: the value of HOME, otherwise the home in the system's user database. Empty if both are
  /// missing.
  std::string home() const {
    const std::string home = value("HOME");
    return home.empty() ? home_ : home;
  }

  /// Returns the real user id of the process.
  unsigned user_id() const noexcept { return user_id_; }

  /// Returns all environment variables as `NAME=value`, for a helper program that is started with the same environment.
  std::vector<std::string> settings() const {
    std::vector<std::string> assignments;
    for (const auto& [name, value] : variables_) assignments.push_back(name + "=" + value);
    return assignments;
  }

  std::optional<std::string> read(const std::string& path) const { return read_(path); }
  path_kind look(const std::string& path) const { return look_(path); }
  std::string real(const std::string& path) const { return real_ ? real_(path) : path; }

 private:
  static std::string home_of(uid_t user) {
    std::string buffer(16384, '\0');
    passwd account{};
    passwd* found = nullptr;
    if (::getpwuid_r(user, &account, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
    return found->pw_dir == nullptr ? std::string() : std::string(found->pw_dir);
  }

  static std::optional<std::string> read_host_file(const std::string& path) {
    try {
      cofferdam::detail::file_reader reader = cofferdam::detail::file_reader::open_host(path);
      const bytes content = reader.read_rest(max_bytes);
      return std::string(as_text(content));
    } catch (const error& failure) {
      if (failure.code() == exec_errc::not_found || failure.code() == exec_errc::not_a_directory) return std::nullopt;
      throw;
    }
  }

  static path_kind look_at_host(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return path_kind::nothing;
    if (S_ISREG(status.st_mode)) return path_kind::file;
    return S_ISSOCK(status.st_mode) ? path_kind::socket : path_kind::other;
  }

  static std::string real_host_path(const std::string& path) {
    std::error_code failure;
    const std::filesystem::path found = std::filesystem::weakly_canonical(path, failure);
    return failure ? path : found.string();  // the path has a cycle of symbolic links, or an inaccessible folder
  }

  variable_map variables_;
  std::string home_;
  unsigned user_id_;
  read_function read_;
  look_function look_;
  real_function real_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
