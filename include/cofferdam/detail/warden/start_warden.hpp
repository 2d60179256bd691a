// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A warden (the helper program that starts commands) as a child process of this program.
class started_warden {
 public:
  /// This program's end of the socket to the warden, non-blocking. When it is closed, the warden kills everything that
  /// it has started, and exits.
  unique_fd socket;
  /// The pidfd of the child process, for reaping it.
  unique_fd pidfd;
  /// The process number of the child.
  pid_t pid = 0;
  /// The pidfd and the process number of the warden, if the child process is not the warden but a program that runs the
  /// warden in a sandbox and exits after it. Otherwise empty and 0.
  unique_fd inner_pidfd;
  pid_t inner_pid = 0;
};

inline error cannot_start(const std::string& what, int number) {
  const std::error_code cause(number, std::system_category());
  return error(exec_errc::provider_failed, "the warden cannot be started: " + what + ": " + cause.message(), cause);
}

inline bool write_whole(const unique_fd& fd, std::span<const unsigned char> content) noexcept {
  while (!content.empty()) {
    const ssize_t written = ::write(fd.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// Moves a descriptor to a number of at least 10, as `spawn_request::program` requires.
inline unique_fd numbered_high(unique_fd fd) noexcept {
  if (!fd) return fd;
  return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 10));
}

/// Writes a program into a sealed file in memory, and returns its descriptor. On failure returns an empty object and
/// sets `errno`.
inline unique_fd program_in_memory(std::span<const unsigned char> program) noexcept {
  constexpr unsigned executable = 0x10;  // MFD_EXEC, since Linux 6.3; needed if the sysctl vm.memfd_noexec is 1
  unique_fd file(::memfd_create("cofferdam-warden", MFD_CLOEXEC | MFD_ALLOW_SEALING | executable));
  if (!file && errno == EINVAL) file.reset(::memfd_create("cofferdam-warden", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || !write_whole(file, program)) return {};
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return numbered_high(std::move(file));
}

/// Writes a program into a file in `folder`, removes the file's name, and returns its descriptor. On failure returns an
/// empty object and sets `errno`.
inline unique_fd program_in_file(std::span<const unsigned char> program, const std::filesystem::path& folder) noexcept {
  const std::string path = (folder / ".cofferdam-warden").string();
  unique_fd written(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700));
  if (!written) return {};
  const bool whole = write_whole(written, program);
  written.reset();  // a file cannot be executed while it is open for writing
  unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const int number = errno;
  ::unlink(path.c_str());
  errno = number;
  if (!whole) errno = ENOSPC;
  return whole ? numbered_high(std::move(file)) : unique_fd();
}

/// Executes the program in an open file as a warden.
inline spawned spawn_warden(const unique_fd& program, const unique_fd& socket, const unique_fd& nothing,
                            const std::vector<int>& control_groups) {
  spawn_request request;
  request.program = program.get();
  request.words = {"cofferdam-warden", "3"};
  request.input = request.output = request.error = nothing.get();
  request.control = socket.get();
  request.control_groups = control_groups;
  return spawn(request);
}

/// Starts a warden as a child process from a file in memory. If the system does not permit executing such a file,
/// starts the warden from a file in `folder`, whose name is removed at once.
/// \param program  an ELF file for this machine; see `native_warden_image`.
/// \param folder   an existing directory to which only this user can write.
/// \param control_groups  see `spawn_request::control_groups`.
/// \throws error{exec_errc::provider_failed} if neither file can be executed, or if the system has no free descriptor
///     or process.
inline started_warden start_warden(std::span<const unsigned char> program, const std::filesystem::path& folder,
                                   const std::vector<int>& control_groups = {}) {
  if (program.empty())
    throw error(exec_errc::provider_failed,
                "the warden cannot be started: no warden exists for this machine's architecture");
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) throw detail::cannot_start("socketpair", errno);
  started_warden started;
  started.socket.reset(ends[0]);
  unique_fd theirs(ends[1]);
  started.socket = detail::usable(std::move(started.socket), "socketpair");
  theirs = detail::usable(std::move(theirs), "socketpair");
  detail::set_nonblocking(started.socket);
  const unique_fd nothing = detail::usable(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)), "/dev/null");

  unique_fd file = detail::program_in_memory(program);
  int number = errno;
  if (file) {
    spawned result = detail::spawn_warden(file, theirs, nothing, control_groups);
    if (result.ok()) {
      started.pidfd = std::move(result.pidfd());
      started.pid = result.pid();
      return started;
    }
    if (result.stage() != spawn_stage::exec)
      throw detail::cannot_start("its process cannot be created", result.cause().value());
    number = result.cause().value();
  }
  file = detail::program_in_file(program, folder);
  if (!file)
    throw detail::cannot_start(
        "neither from memory (" + std::generic_category().message(number) + ") nor from a file in " + folder.string(),
        errno);
  spawned result = detail::spawn_warden(file, theirs, nothing, control_groups);
  if (!result.ok())
    throw detail::cannot_start(
        "neither from memory (" + std::generic_category().message(number) + ") nor from a file in " + folder.string(),
        result.cause().value());
  started.pidfd = std::move(result.pidfd());
  started.pid = result.pid();
  return started;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
