// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/os/atomic_file.hpp>
#include <cofferdam/detail/os/file_reader.hpp>
#include <cofferdam/detail/os/tree_walk.hpp>
#include <cofferdam/os/detail/beneath.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

// The types of the objects that `directory` returns.
using detail::atomic_file;
using detail::file_reader;
using detail::tree_removal;
using detail::tree_walk;

/// An open directory, and access to the files beneath it. No path leads out of the directory: not by `..`, not by a
/// symbolic link, not through /proc, and not if another process replaces a directory by a link between a check and a
/// use.
///
/// The object stays valid if the directory is renamed. Symbolic links in a path are followed as long as they stay
/// beneath the directory. A link with an absolute target is an error. If another process moves a subdirectory *out of*
/// this directory, files that are already open in it move along. Only permissions can prevent this.
///
/// All members are synchronous. Most of them take microseconds. `walk`, `removal`, `open_file` and `create_file` return
/// objects that do large work in pieces, so that other coroutines can run in between.
/// \par Paths    relative, with `/` between components, any bytes except NUL, as for `workspace_path`. "." is the
///               directory itself.
/// \par Errors   error{exec_errc::invalid_argument, outside_workspace, not_found, not_a_directory, not_a_file,
///               permission_denied, io_error}, with `errno` as the `cause()`.
/// \par Threads  const members may be called from any thread.
/// \par Source   openat2(2), open(2), path_resolution(7); attacks FS-01 to FS-09 of the project's catalogue
///               (tests/attacks).
class directory {
 public:
  /// Constructs an object without a directory.
  directory() = default;

  /// Opens a directory of the host. Symbolic links in `path` are followed, because the path comes from the caller.
  /// \param path  a path of the host.
  /// \param resolution  `component` forces the slower method for kernels without openat2(2).
  static directory open(const std::filesystem::path& path, path_resolution resolution = path_resolution::kernel) {
    unique_fd fd(detail::open_retried(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY));
    if (!fd) throw host_error(errno, path);
    fd = unique_fd::above_standard(std::move(fd));
    if (!fd) throw host_error(errno, path);
    return directory(std::move(fd), resolution);
  }

  /// Takes ownership of the descriptor of a directory. It may have been opened with O_PATH.
  explicit directory(unique_fd fd, path_resolution resolution = path_resolution::kernel)
      : fd_(std::move(fd)), resolution_(resolution) {
    if (resolution_ == path_resolution::kernel) resolution_ = detail::available_resolution(fd_.get());
  }

  /// Returns the descriptor (O_PATH), which the object still owns; -1 if there is no directory.
  int fd() const noexcept { return fd_.get(); }
  /// Returns the method by which paths are resolved: the requested one, or `component` if the kernel does not support
  /// it.
  path_resolution resolution() const noexcept { return resolution_; }

  /// Opens the directory at `path` as a separate object. Paths in it cannot lead out of the subdirectory, not even into
  /// this directory.
  directory subdirectory(std::string_view path, link_policy links = link_policy::follow) const {
    return directory(open_directory_fd(path, links), resolution_);
  }

  /// Opens the directory at `path` and returns an O_PATH descriptor, which a child process can pass to fchdir(2). Its
  /// number is at least 3.
  unique_fd open_directory_fd(std::string_view path, link_policy links = link_policy::follow) const {
    const std::string clean = workspace_path_or_root(path);
    if (clean == ".") {  // duplicates the descriptor, which needs no permission on the directory
      unique_fd same(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
      if (!same) throw detail::path_error(errno, "open directory", clean);
      return same;
    }
    unique_fd fd = detail::open_beneath(fd_.get(), clean, O_PATH | O_DIRECTORY, resolution_, links);
    if (!fd && errno == ELOOP && links == link_policy::refuse) errno = ENOTDIR;
    if (fd) fd = unique_fd::above_standard(std::move(fd));
    if (!fd) throw detail::path_error(errno, "open directory", clean);
    return fd;
  }

  /// Returns the properties of the entry at `path`. If the entry is a symbolic link, it is not followed.
  directory_entry stat(std::string_view path) const {
    const std::string clean = workspace_path_or_root(path);
    const unique_fd found = detail::open_beneath(fd_.get(), clean, O_PATH | O_NOFOLLOW, resolution_);
    struct stat status {};
    if (!found || ::fstat(found.get(), &status) != 0) throw detail::path_error(errno, "stat", clean);
    directory_entry entry = detail::entry_of(clean, status);
    if (entry.type() == file_type::symlink) entry.target(detail::read_link(found.get()));
    return entry;
  }

  /// Returns the unchanged target of the symbolic link at `path`.
  /// \throws error{exec_errc::invalid_argument} if the entry is not a symbolic link.
  std::string link_target(std::string_view path) const {
    const std::string clean = workspace_path_or_root(path);
    const unique_fd found = detail::open_beneath(fd_.get(), clean, O_PATH | O_NOFOLLOW, resolution_);
    if (!found) throw detail::path_error(errno, "read link", clean);
    std::string target = detail::read_link(found.get());
    if (target.empty())
      throw error(exec_errc::invalid_argument, "read link " + detail::shown_path(clean) + ": it is not a symbolic link",
                  std::error_code(errno, std::system_category()));
    return target;
  }

  /// Lists all entries beneath the directory at `path`, at every depth. Their paths are relative to that directory, and
  /// sorted by their bytes. Symbolic links are listed, not followed. The call blocks until all entries are listed: for
  /// large trees use `walk`.
  /// \throws error{exec_errc::too_large} if a limit of `options` is exceeded, because the list is never cut; and the
  ///     errors of the class.
  std::vector<directory_entry> list(std::string_view path, const list_options& options = list_options()) const {
    tree_walk walker = walk(path, options);
    std::vector<directory_entry> entries;
    while (std::optional<directory_entry> found = walker.next()) entries.push_back(std::move(*found));
    sort_entries(entries);
    return entries;
  }

  /// Sorts the entries from `walk` into the order of `list`.
  static void sort_entries(std::vector<directory_entry>& entries) {
    std::sort(entries.begin(), entries.end(),
              [](const directory_entry& a, const directory_entry& b) { return a.path() < b.path(); });
  }

  /// Returns an object that lists one entry at a time, in no particular order.
  tree_walk walk(std::string_view path, const list_options& options = list_options()) const {
    const std::string clean = workspace_path_or_root(path);
    return tree_walk(open_directory_fd(clean), clean, options);
  }

  /// Makes a directory and its missing parents. Does nothing if the directory exists.
  /// \param path  relative to this directory.
  /// \param mode  the permission bits of new directories, whatever the umask is.
  /// \throws      error{exec_errc::not_a_directory} if a component of the path exists and is not a directory; and the
  ///              errors of the class.
  void make_directory(std::string_view path, unsigned mode = 0755) const {
    static_cast<void>(made_directory(workspace_path_or_root(path), mode));
  }

  /// Removes a file, or a directory and its contents. Symbolic links are removed, not followed. The call blocks until
  /// everything is removed: for large trees use `removal`.
  /// \throws error{exec_errc::not_found} if the entry does not exist; error{exec_errc::invalid_argument} for "."; and
  ///     the errors of the class.
  void remove(std::string_view path) const {
    tree_removal work = removal(path);
    while (!work.step()) continue;
  }

  /// Returns an object that removes the entry at `path` in steps.
  tree_removal removal(std::string_view path) const {
    const std::string clean = workspace_path(path);
    const auto [above, name] = detail::split_path(clean);
    return tree_removal(parent_fd(above, "remove", clean), name, clean);
  }

  /// Returns an object that removes everything in this directory in steps, but not the directory.
  tree_removal removal_of_all() const { return tree_removal(open_directory_fd("."), "."); }

  /// Renames `from` to `to`. An existing file at `to` is replaced. If `from` is a symbolic link, the link is renamed,
  /// not its target.
  /// \throws error{exec_errc::not_empty} if `to` is a directory with entries; error{exec_errc::not_a_file} if a file
  ///     would replace a directory; error{exec_errc::invalid_argument} if a directory would be moved into itself; and
  ///     the errors of the class.
  void rename(std::string_view from, std::string_view to) const {
    const std::string clean_from = workspace_path(from);
    const std::string clean_to = workspace_path(to);
    const auto [above_from, name_from] = detail::split_path(clean_from);
    const auto [above_to, name_to] = detail::split_path(clean_to);
    const auto parent_of = [&](const std::string& above) {
      unique_fd parent = detail::open_beneath(fd_.get(), above, O_PATH | O_DIRECTORY, resolution_);
      if (!parent) throw detail::rename_error(errno, clean_from, clean_to);
      return parent;
    };
    const unique_fd parent_from = parent_of(above_from);
    const unique_fd parent_to = parent_of(above_to);
    if (::renameat(parent_from.get(), name_from.c_str(), parent_to.get(), name_to.c_str()) == 0) return;
    if (errno == EXDEV) throw detail::name_error(errno, "rename " + detail::shown_path(clean_from) + " to", clean_to);
    throw detail::rename_error(errno, clean_from, clean_to);
  }

  /// Sets the permission bits of a file or directory. A symbolic link is followed, if its target is beneath this
  /// directory.
  /// \param path  relative to this directory.
  /// \param mode  0 to 0777; other bits are ignored.
  void set_mode(std::string_view path, unsigned mode) const {
    const std::string clean = workspace_path_or_root(path);
    const unique_fd found = detail::open_beneath(fd_.get(), clean, O_PATH, resolution_);
    if (!found || !detail::change_mode(found.get(), mode & 0777U))
      throw detail::path_error(errno, "set mode of", clean);
  }

  /// Opens a regular file for reading.
  /// \throws also error{exec_errc::not_a_file} for a FIFO, device, socket or directory, without blocking, and for a
  ///     symbolic link if `links` is `refuse`.
  file_reader open_file(std::string_view path, link_policy links = link_policy::follow) const {
    return file_reader::open(fd_.get(), workspace_path(path), resolution_, links);
  }

  /// Reads a whole file.
  /// \param path  relative to this directory.
  /// \param max_bytes  the maximum size in bytes. A longer file throws error{exec_errc::too_large}.
  bytes read_file(std::string_view path, std::size_t max_bytes) const {
    file_reader reader = open_file(path);
    return reader.read_rest(max_bytes);
  }

  /// Begins a file, which becomes visible under its name when `atomic_file::commit` is called. Makes missing parents at
  /// once.
  /// \throws also error{exec_errc::not_a_file} if a directory, FIFO, socket or device has this name.
  atomic_file create_file(std::string_view path) const { return create_in(path, unique_fd()); }

  /// Begins a file whose unfinished content is stored in `staging`, a directory outside this tree on the same file
  /// system. If the program is killed, no unfinished file stays in this tree.
  atomic_file create_file(std::string_view path, const directory& staging) const {
    return create_in(path, staging.open_directory_fd("."));
  }

  /// Writes a file, whole or not at all.
  /// \param path  relative to this directory.
  /// \param content  the bytes, which replace those of an existing file.
  /// \param mode  the permission bits; by default those of the file that is replaced, or 0644 for a new file.
  void write_file(std::string_view path, bytes_view content, std::optional<unsigned> mode = {}) const {
    atomic_file file = create_file(path);
    file.write(content);
    file.commit(mode);
  }

 private:
  static error host_error(int code, const std::filesystem::path& path) {
    const error plain = detail::name_error(code, "open directory", path.native());
    if (code == ELOOP)
      return error(exec_errc::io_error,
                   "open directory " + detail::shown_path(path.native()) + ": too many symbolic links", plain.cause());
    return plain;
  }

  unique_fd parent_fd(const std::string& above, std::string_view doing, std::string_view path) const {
    unique_fd parent = detail::open_beneath(fd_.get(), above, O_PATH | O_DIRECTORY, resolution_);
    if (!parent) throw detail::path_error(errno, doing, path);
    return parent;
  }

  atomic_file create_in(std::string_view path, unique_fd staging) const {
    const std::string clean = workspace_path(path);
    const auto [above, name] = detail::split_path(clean);
    return atomic_file(made_directory(above, 0755), std::move(staging), name, clean);
  }

  // Finds the deepest existing directory of the path, and then makes the missing directories below it.
  unique_fd made_directory(const std::string& path, unsigned mode) const {
    std::string there = path;
    unique_fd at;
    for (;;) {
      at = detail::open_beneath(fd_.get(), there, O_PATH | O_DIRECTORY, resolution_);
      if (at) break;
      if (errno != ENOENT || there == ".") throw detail::path_error(errno, "make directory", path);
      there = detail::split_path(there).first;
    }
    std::string_view rest = path;
    rest.remove_prefix(there == "." ? 0 : there.size());
    if (there == "." && path == ".") return at;
    for (const std::string_view part : detail::path_components(rest)) {
      const std::string name(part);
      const bool created = ::mkdirat(at.get(), name.c_str(), mode & 0777U) == 0;
      if (!created && errno != EEXIST) throw detail::path_error(errno, "make directory", path);
      unique_fd below(detail::open_retried(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW));
      struct stat status {};
      if (!below || ::fstat(below.get(), &status) != 0) {
        if (errno == ELOOP) errno = ENOTDIR;  // the name is a dangling link, or was replaced by a link just now
        throw detail::path_error(errno, "make directory", path);
      }
      if (created && (status.st_mode & 0777U) != (mode & 0777U) &&
          !detail::change_mode(below.get(), (status.st_mode & S_ISGID) | (mode & 0777U)))
        throw detail::path_error(errno, "make directory", path);
      at = std::move(below);
    }
    return at;
  }

  unique_fd fd_;
  path_resolution resolution_ = path_resolution::kernel;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
