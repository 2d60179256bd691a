// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/file_system.hpp>
#include <cofferdam/detail/core/command_files.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// File operations of a test's environment. An operation calls the environment's own member if there is such a member,
/// and runs a command otherwise.
template <class E>
class member_files : public cofferdam::detail::command_files<E> {
 public:
  using by_commands = cofferdam::detail::command_files<E>;

  explicit member_files(E& environment) : by_commands(environment), environment_(environment) {}

  cofferdam::awaitable<cofferdam::directory_entry> stat(std::string path) {
    if constexpr (requires { environment_.stat(path); }) {
      return environment_.stat(std::move(path));
    } else {
      return by_commands::stat(std::move(path));
    }
  }
  cofferdam::awaitable<std::vector<cofferdam::directory_entry>> list(std::string path,
                                                                     cofferdam::list_options options) {
    if constexpr (requires { environment_.list(path, options); }) {
      return environment_.list(std::move(path), options);
    } else {
      return by_commands::list(std::move(path), options);
    }
  }
  cofferdam::awaitable<void> make_directory(std::string path) {
    if constexpr (requires { environment_.make_directory(path); }) {
      return environment_.make_directory(std::move(path));
    } else {
      return by_commands::make_directory(std::move(path));
    }
  }
  cofferdam::awaitable<void> remove(std::string path) {
    if constexpr (requires { environment_.remove(path); }) {
      return environment_.remove(std::move(path));
    } else {
      return by_commands::remove(std::move(path));
    }
  }
  cofferdam::awaitable<void> rename(std::string from, std::string to) {
    if constexpr (requires { environment_.rename(from, to); }) {
      return environment_.rename(std::move(from), std::move(to));
    } else {
      return by_commands::rename(std::move(from), std::move(to));
    }
  }
  cofferdam::awaitable<cofferdam::transfer_result> put_files(cofferdam::file_source& source) {
    if constexpr (requires { environment_.put_files(source); }) {
      return environment_.put_files(source);
    } else {
      return by_commands::put_files(source);
    }
  }
  cofferdam::awaitable<std::unique_ptr<cofferdam::file_source>> get_files(
      std::vector<cofferdam::file_request> requests) {
    if constexpr (requires { environment_.get_files(requests); }) {
      return environment_.get_files(std::move(requests));
    } else {
      return by_commands::get_files(std::move(requests));
    }
  }

 private:
  E& environment_;
};

/// A `file_system` that refers to an environment. The environment must not move or end before the `file_system`.
template <class E>
class member_file_system final : public cofferdam::file_system_adaptor<member_file_system<E>> {
 public:
  explicit member_file_system(E& environment) : environment_(environment) {}

  template <class Operation>
  auto call(Operation operation) {
    member_files<E> files(environment_);
    return operation(files);
  }

 private:
  E& environment_;
};

/// Returns a `file_system` for an environment of a test. `environment` must outlive the result and must not move.
template <class E>
cofferdam::file_system files_by_members(E& environment) {
  return cofferdam::file_system(std::make_shared<member_file_system<E>>(environment));
}

}  // namespace cofferdam_test
