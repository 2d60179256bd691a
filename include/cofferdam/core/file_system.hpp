// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The files of an environment: a value that shares the environment's state. It stays valid when the environment is
/// moved; after the environment is closed or destroyed, operations throw `error{exec_errc::environment_closed}`.
///
///     file_system files = environment.files();
///     std::vector<entry> all = co_await files.list(".");
///
/// Paths are relative to the workspace, without `..`; error{exec_errc::outside_workspace} and
/// error{exec_errc::invalid_argument} for others. Copies share the same files.
/// \par Threads  as the environment.
class file_system {
 public:
  /// The interface for a backend or a layer with file operations of its own. Each member means the same as in
  /// `file_system`. `file_system_adaptor` implements all members by one hook.
  class implementation {
   public:
    implementation() = default;
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    virtual ~implementation() = default;
    virtual awaitable<directory_entry> stat(std::string path) = 0;
    virtual awaitable<std::vector<directory_entry>> list(std::string path, list_options options) = 0;
    virtual awaitable<void> make_directory(std::string path) = 0;
    virtual awaitable<void> remove(std::string path) = 0;
    virtual awaitable<void> rename(std::string from, std::string to) = 0;
    virtual awaitable<transfer_result> put_files(file_source& source) = 0;
    virtual awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) = 0;
  };

  /// Has no files: operations throw `error{exec_errc::environment_closed}`.
  file_system() = default;
  explicit file_system(std::shared_ptr<implementation> files) noexcept : files_(std::move(files)) {}

  /// Returns the entry at `path`. Does not follow a symbolic link at the end.
  /// \throws error{exec_errc::not_found}.
  awaitable<directory_entry> stat(std::string path) const { return get().stat(std::move(path)); }

  /// Returns everything beneath the directory `path`, to the depth in the options, as paths relative to it, in byte
  /// order. Lists symbolic links, and does not enter them.
  /// \param path  "." lists the whole workspace.
  /// \throws error{exec_errc::not_found}, error{exec_errc::not_a_directory}; error{exec_errc::too_large} instead of an
  ///     incomplete list, as soon as the limit is reached.
  awaitable<std::vector<directory_entry>> list(std::string path, list_options options = list_options()) const {
    return get().list(std::move(path), options);
  }

  /// Makes a directory and its parents. Does nothing if it exists.
  awaitable<void> make_directory(std::string path) const { return get().make_directory(std::move(path)); }

  /// Removes a file, or a directory and its contents. Removes symbolic links, and does not follow them.
  /// \throws error{exec_errc::not_found}.
  awaitable<void> remove(std::string path) const { return get().remove(std::move(path)); }

  /// Renames a file or directory. Replaces a file that has the new name.
  awaitable<void> rename(std::string from, std::string to) const {
    return get().rename(std::move(from), std::move(to));
  }

  /// Writes all files of a source, in one trip if the environment can: each whole or not at all, with its mode, in
  /// folders that are made if they are missing. Reports each failure and goes on.
  /// \param source  kept by the caller until the awaitable completes.
  /// \throws error{exec_errc::cancelled}, error{exec_errc::environment_closed}, error{exec_errc::provider_lost}.
  awaitable<transfer_result> put_files(file_source& source) const { return get().put_files(source); }

  /// Returns a source of regular files, in the order of the requests: streamed if the environment can.
  /// \par Lifetime  the source must not outlive the environment.
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) const {
    return get().get_files(std::move(requests));
  }

 private:
  implementation& get() const {
    if (!files_)
      throw error(exec_errc::environment_closed, "files: there is no environment (default-constructed or moved from)");
    return *files_;
  }

  std::shared_ptr<implementation> files_;
};

/// An environment with file operations of its own: `files()` yields them. For an environment with the four members
/// only, `provider | layer`, `with` and `any_environment` add `files()`, made of commands.
template <class E>
concept file_environment = code_exec_environment<E> && requires(E& e) {
  { e.files() } -> std::same_as<file_system>;
};

/// Writes all operations of a `file_system` by one hook of `Derived`:
///
///     template <class Operation>
///     auto call(Operation operation);
///
/// `operation(files)` begins the operation on `files`, which is a `file_system` or anything with its members, and
/// yields an awaitable; `call` yields one of the same type. `Derived` may override single operations.
/// \tparam Base  the interface: `file_system::implementation` or a class derived from it.
template <class Derived, class Base = file_system::implementation>
class file_system_adaptor : public Base {
 public:
  awaitable<directory_entry> stat(std::string path) override {
    return derived().call([path = std::move(path)](auto& files) { return files.stat(path); });
  }
  awaitable<std::vector<directory_entry>> list(std::string path, list_options options) override {
    return derived().call([path = std::move(path), options](auto& files) { return files.list(path, options); });
  }
  awaitable<void> make_directory(std::string path) override {
    return derived().call([path = std::move(path)](auto& files) { return files.make_directory(path); });
  }
  awaitable<void> remove(std::string path) override {
    return derived().call([path = std::move(path)](auto& files) { return files.remove(path); });
  }
  awaitable<void> rename(std::string from, std::string to) override {
    return derived().call([from = std::move(from), to = std::move(to)](auto& files) { return files.rename(from, to); });
  }
  awaitable<transfer_result> put_files(file_source& source) override {
    return derived().call([&source](auto& files) { return files.put_files(source); });
  }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) override {
    return derived().call([requests = std::move(requests)](auto& files) { return files.get_files(requests); });
  }

 protected:
  Derived& derived() noexcept { return static_cast<Derived&>(*this); }
};

namespace detail {

/// Keeps files until an operation on them has ended.
/// \param operation  yields an awaitable of `files`; it may be a coroutine that refers to them.
template <class Files, class Operation>
auto on_kept(Files files, Operation operation) -> std::invoke_result_t<Operation&, Files&> {
  using result = typename awaited<std::invoke_result_t<Operation&, Files&>>::type;
  if constexpr (std::is_void_v<result>) {
    co_await operation(files);
  } else {
    result value = co_await operation(files);
    co_return value;
  }
}

/// Makes files, and keeps them until an operation on them has ended. An exception of `make` is thrown on await.
template <class Make, class Operation>
auto on_made(Make make, Operation operation) -> std::invoke_result_t<Operation&, std::invoke_result_t<Make&>&> {
  using files = std::invoke_result_t<Make&>;
  using result = typename awaited<std::invoke_result_t<Operation&, files&>>::type;
  files target = make();
  if constexpr (std::is_void_v<result>) {
    co_await operation(target);
  } else {
    result value = co_await operation(target);
    co_return value;
  }
}

}  // namespace detail

}  // namespace cofferdam::inline COFFERDAM_ABI
