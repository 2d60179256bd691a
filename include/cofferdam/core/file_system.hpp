// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/listed_watch.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The file operations of an environment. A `file_system` is a value that refers to the environment's files; copies
/// refer to the same files. It stays valid when the environment is moved. After the environment was closed or
/// destroyed, operations throw `error{exec_errc::environment_closed}`.
///
///     file_system files = environment.files();
///     std::vector<directory_entry> all = co_await files.list(".");
///
/// Paths are relative to the workspace and must not contain `..`. For other paths, operations throw
/// error{exec_errc::outside_workspace} or error{exec_errc::invalid_argument}.
/// \par Threads  the rules of the environment apply.
class file_system {
 public:
  template <class = void>
  class basic_implementation;
  /// The interface that a backend or a layer implements to provide its own file operations.
  using implementation = basic_implementation<>;

  /// The interface `implementation`. Each member does what the member of the same name in `file_system` does.
  /// `file_system_adaptor` implements all members in terms of one function.
  template <class Unused>
  class basic_implementation {
   public:
    basic_implementation() = default;
    basic_implementation(const basic_implementation&) = delete;
    basic_implementation& operator=(const basic_implementation&) = delete;
    virtual ~basic_implementation() = default;
    virtual awaitable<directory_entry> stat(std::string path) = 0;
    virtual awaitable<std::vector<directory_entry>> list(std::string path, list_options options) = 0;
    virtual awaitable<void> make_directory(std::string path) = 0;
    virtual awaitable<void> remove(std::string path) = 0;
    virtual awaitable<void> rename(std::string from, std::string to) = 0;
    virtual awaitable<transfer_result> put_files(file_source& source) = 0;
    virtual awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) = 0;
    /// Returns an empty watch if these files cannot be watched. `file_system` then compares listings.
    virtual awaitable<directory_watch> watch(std::string path, watch_options options) {
      static_cast<void>(path);
      static_cast<void>(options);
      co_return directory_watch();
    }
  };

  /// Makes an object without an environment. Operations throw `error{exec_errc::environment_closed}`.
  file_system() = default;
  /// Makes an object from the implementation of a backend or a layer.
  explicit file_system(std::shared_ptr<implementation> files) noexcept : files_(std::move(files)) {}

  /// Returns the entry at `path`. If the entry is a symbolic link, returns the link, not its target.
  /// \throws error{exec_errc::not_found} if the entry does not exist.
  awaitable<directory_entry> stat(std::string path) const { return get().stat(std::move(path)); }

  /// Lists everything beneath the directory `path`, down to the depth in the options. The paths are relative to `path`
  /// and sorted by bytes. The list contains symbolic links, but nothing from the directories that they point to.
  /// \param path  the directory; "." is the whole workspace.
  /// \param options  the depth and the maximum size of the list.
  /// \throws error{exec_errc::not_found} or error{exec_errc::not_a_directory} if `path` is not a directory.
  /// \throws error{exec_errc::too_large} if the list would exceed a limit of the options or of the environment. A list
  ///     is never incomplete.
  awaitable<std::vector<directory_entry>> list(std::string path, list_options options = list_options()) const {
    return get().list(std::move(path), options);
  }

  /// Creates a directory and its missing parents. Does nothing if the directory exists.
  awaitable<void> make_directory(std::string path) const { return get().make_directory(std::move(path)); }

  /// Removes a file, or a directory with its contents. Removes a symbolic link, and never its target.
  /// \throws error{exec_errc::not_found} if the entry does not exist.
  awaitable<void> remove(std::string path) const { return get().remove(std::move(path)); }

  /// Renames a file or directory. If `to` is an existing file, replaces it. The directory above `to` must exist.
  awaitable<void> rename(std::string from, std::string to) const {
    return get().rename(std::move(from), std::move(to));
  }

  /// Writes all files of a source into the workspace. Each file is written whole or not at all; missing directories are
  /// created. If a file fails, the result contains the failure, and the other files are still written. Some
  /// environments transfer all files in one stream. The permission bits are set too; an environment without file
  /// operations of its own sets them only for executable files.
  /// \param source  the files; the caller keeps the source alive until the awaitable completes.
  /// \throws error{exec_errc::cancelled}, error{exec_errc::environment_closed} or error{exec_errc::provider_lost}, each
  ///     of which ends the whole transfer.
  awaitable<transfer_result> put_files(file_source& source) const { return get().put_files(source); }

  /// Returns the requested regular files as a source, in the order of the requests. A file that cannot be read has a
  /// header with a `failure()`, and a directory has a header of its type, without content. Some environments transfer
  /// all files in one stream.
  /// \par Lifetime  the environment must outlive the source.
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) const {
    return get().get_files(std::move(requests));
  }

  /// Watches a directory. Changes are reported from the moment on at which the awaitable completes.
  ///
  ///     directory_watch watch = co_await environment.files().watch("src", watch_options().recursive());
  ///     std::vector<file_change> changes = co_await watch.next();
  ///
  /// Environments with a warden (the helper program in a sandbox) use inotify, with at most 64 watches and 16,384
  /// watched directories for each environment. Others list the directory at an interval (`directory_watch::lists`).
  /// \param path  the directory; "." is the whole workspace. Symbolic links in it are followed within the workspace.
  /// \param options  the depth, and the interval of listings.
  /// \throws error{exec_errc::not_found} or error{exec_errc::not_a_directory} if `path` is not a directory.
  /// \throws error{exec_errc::too_large} if a limit of the environment or of the kernel is exceeded. The message
  ///     contains the name of the kernel's setting.
  /// \par Cancellation  ends the watch.
  template <class = void>
  awaitable<directory_watch> watch(std::string path, watch_options options = watch_options()) const {
    get();
    return begin_watch(files_, std::move(path), options);
  }

 private:
  template <class = void>
  static awaitable<directory_watch> begin_watch(std::shared_ptr<implementation> files, std::string path,
                                                watch_options options) {
    directory_watch begun = co_await files->watch(path, options);
    if (!begun) {
      file_system listed(std::move(files));
      begun = co_await detail::listed_watch<file_system>::begin(std::move(listed), std::move(path), options);
    }
    co_return begun;
  }

  implementation& get() const {
    if (!files_)
      throw error(exec_errc::environment_closed,
                  "file_system: empty (default-constructed or moved from); call files() on an open environment");
    return *files_;
  }

  std::shared_ptr<implementation> files_;
};

/// An environment with a member `files()`, which returns its `file_system`. If an environment has only the four members
/// of `code_exec_environment`, then `provider | layer`, `with` and `any_environment` add a `files()` that runs commands
/// in the environment. A layer calls `files()` once and keeps the value.
template <class E>
concept file_environment = code_exec_environment<E> && requires(E& e) {
  { e.files() } -> std::same_as<file_system>;
};

namespace detail {

/// An empty base class of a `file_system_adaptor` whose operations are not virtual.
class no_interface {};

}  // namespace detail

/// An operation on files that has not begun. `file_system_adaptor` makes these objects and passes them to `call`.
///
/// `operation(files)` begins the operation on `files`, which is a `file_system` or an object with the same members, and
/// returns an awaitable. An operation that only reads can begin more than once.
/// \tparam Changes  true if the operation can change files.
/// \tparam Begin    a callable: `begin(files, operation)` begins the operation.
template <bool Changes, class Begin>
class file_operation {
 public:
  /// True if the operation can change files; false if it only reads.
  static constexpr bool changes = Changes;

  /// \param name         the name of the member of `file_system`, as a literal.
  /// \param begin        begins the operation.
  /// \param path         the path; empty if the operation has none.
  /// \param destination  the second path; empty if the operation has none.
  file_operation(std::string_view name, Begin begin, std::string path, std::string destination)
      : name_(name), begin_(std::move(begin)), path_(std::move(path)), destination_(std::move(destination)) {}

  /// Returns the name of the member of `file_system`, such as "make_directory".
  std::string_view name() const noexcept { return name_; }
  /// Returns the path. Empty for `put_files` and `get_files`, whose files have paths of their own.
  const std::string& path() const noexcept { return path_; }
  /// Returns the path to which `rename` moves a file. Empty for all other operations.
  const std::string& destination() const noexcept { return destination_; }

  /// Begins the operation.
  template <class Files>
  auto operator()(Files& files) const {
    return begin_(files, *this);
  }

 private:
  std::string_view name_;
  Begin begin_;
  std::string path_;
  std::string destination_;
};

/// A base class that implements all operations of a `file_system` in terms of one member function of `Derived`:
///
///     template <class Operation>
///     auto call(Operation operation);
///
/// `call` receives each operation as a `file_operation`. `operation(files)` begins it on `files`, which is a
/// `file_system` or an object with the same members, and returns an awaitable. `call` returns an awaitable of the same
/// type. `Operation::changes` is true if the operation can change files, so a layer that refuses changes also refuses
/// operations that later versions of the library add. `Derived` may override single operations.
/// \tparam Base  the interface: `file_system::implementation` or a class derived from it. With an empty class, the
///               operations are not virtual.
template <class Derived, class Base = file_system::implementation>
class file_system_adaptor : public Base {
 public:
  // These functions override those of the interface. They are not marked, because `Base` may be an empty class.
  awaitable<directory_entry> stat(std::string path) {
    const auto begin = [](auto& files, const auto& of) { return files.stat(of.path()); };
    return derived().call(reading("stat", begin, std::move(path)));
  }
  awaitable<std::vector<directory_entry>> list(std::string path, list_options options) {
    const auto begin = [options](auto& files, const auto& of) { return files.list(of.path(), options); };
    return derived().call(reading("list", begin, std::move(path)));
  }
  awaitable<void> make_directory(std::string path) {
    const auto begin = [](auto& files, const auto& of) { return files.make_directory(of.path()); };
    return derived().call(changing("make_directory", begin, std::move(path)));
  }
  awaitable<void> remove(std::string path) {
    const auto begin = [](auto& files, const auto& of) { return files.remove(of.path()); };
    return derived().call(changing("remove", begin, std::move(path)));
  }
  awaitable<void> rename(std::string from, std::string to) {
    const auto begin = [](auto& files, const auto& of) { return files.rename(of.path(), of.destination()); };
    return derived().call(changing("rename", begin, std::move(from), std::move(to)));
  }
  awaitable<transfer_result> put_files(file_source& source) {
    const auto begin = [&source](auto& files, const auto&) { return files.put_files(source); };
    return derived().call(changing("put_files", begin));
  }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    auto begin = [requests = std::move(requests)](auto& files, const auto&) { return files.get_files(requests); };
    return derived().call(reading("get_files", std::move(begin)));
  }
  awaitable<directory_watch> watch(std::string path, watch_options options) {
    const auto begin = [options](auto& files, const auto& of) {
      return detail::watch_if_possible(files, of.path(), options);
    };
    return derived().call(reading("watch", begin, std::move(path)));
  }

 protected:
  /// Returns this object as the derived class.
  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  /// Makes an operation that only reads. The parameters are those of `file_operation`.
  template <class Begin>
  static file_operation<false, Begin> reading(std::string_view name, Begin begin, std::string path = {}) {
    return {name, std::move(begin), std::move(path), std::string()};
  }
  /// Makes an operation that can change files. The parameters are those of `file_operation`.
  template <class Begin>
  static file_operation<true, Begin> changing(std::string_view name, Begin begin, std::string path = {},
                                              std::string destination = {}) {
    return {name, std::move(begin), std::move(path), std::move(destination)};
  }
};

namespace detail {

/// Runs an operation on `files`, and keeps `files` alive until the operation has ended.
/// \param operation  a callable that takes `files` by reference and returns an awaitable; it may be a coroutine that
///                   refers to `files`.
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

/// Calls `make` to create an object with file operations, runs an operation on it, and keeps it alive until the
/// operation has ended. If `make` throws, the exception is thrown when the awaitable is awaited.
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
