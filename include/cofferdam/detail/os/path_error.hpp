// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// Converts `errno` to an error of the library, for operations on a path beneath a directory. In these operations, EXDEV
// and ELOOP mean that the path led out of the directory or through /proc, or had a cycle.
inline error path_error(int code, std::string_view doing, std::string_view path) {
  const std::string what = std::string(doing) + " " + shown_path(path) + ": ";
  const std::error_code cause(code, std::system_category());
  switch (code) {
    case ENOENT: return error(exec_errc::not_found, what + "no such file or directory", cause);
    case ENOTDIR: return error(exec_errc::not_a_directory, what + "a part of the path is not a directory", cause);
    case EISDIR: return error(exec_errc::not_a_file, what + "it is a directory", cause);
    case EXDEV:
    case ELOOP:
      return error(exec_errc::outside_workspace,
                   what + "a symbolic link leads out of the directory, or the links form a loop", cause);
    case EACCES:
    case EPERM:
    case EROFS: return error(exec_errc::permission_denied, what + cause.message(), cause);
    case EEXIST: return error(exec_errc::already_exists, what + "the name already exists", cause);
    case ENOTEMPTY: return error(exec_errc::not_empty, what + "the directory is not empty", cause);
    case EFBIG:
    case ENAMETOOLONG: return error(exec_errc::too_large, what + cause.message(), cause);
    case ENXIO: return error(exec_errc::not_a_file, what + "it is a FIFO, socket or device", cause);
    default: return error(exec_errc::io_error, what + cause.message(), cause);
  }
}

// Converts `errno` to an error of the library, for operations on single names. In these operations, EXDEV means that
// two names are on different file systems.
inline error name_error(int code, std::string_view doing, std::string_view path) {
  if (code == EXDEV)
    return error(exec_errc::io_error,
                 std::string(doing) + " " + shown_path(path) + ": source and destination are on different file systems",
                 std::error_code(code, std::system_category()));
  return path_error(code, doing, path);
}

// Throws the error for a command whose working directory cannot be entered. Call it in a catch block only. An error
// that is not about the path is thrown unchanged.
// \param failure  the error of the step that failed, such as "stat 'x': no such file or directory".
[[noreturn]] inline void throw_working_directory_error(const error& failure, std::string_view path) {
  for (const exec_errc code : {exec_errc::not_found, exec_errc::not_a_directory, exec_errc::not_a_file,
                               exec_errc::outside_workspace, exec_errc::permission_denied}) {
    if (failure.code() != code) continue;
    const std::string_view what = failure.what();
    const std::size_t reason = what.rfind("': ");
    throw error(code,
                "the working directory " + shown_path(path) + " of the command cannot be entered: " +
                    std::string(reason == std::string_view::npos ? what : what.substr(reason + 3)),
                failure.cause());
  }
  throw;
}

// Converts `errno` to an error of the library, for the rename of one path beneath a directory to another. Its message
// names both paths, because the kernel does not tell which of them is the reason. EOPNOTSUPP means that they are on
// different file systems.
inline error rename_error(int code, std::string_view from, std::string_view to) {
  const std::string doing = "rename " + shown_path(from) + " to";
  const std::error_code cause(code, std::system_category());
  switch (code) {
    case EINVAL:
      return error(exec_errc::invalid_argument,
                   doing + " " + shown_path(to) + ": a directory cannot be moved into itself", cause);
    case ENOTDIR:
      return error(
          exec_errc::not_a_directory,
          doing + " " + shown_path(to) + ": a part of a path is not a directory, or a directory would replace a file",
          cause);
    case EOPNOTSUPP: return name_error(EXDEV, doing, to);
    case EEXIST: return path_error(ENOTEMPTY, doing, to);
    default: return path_error(code, doing, to);
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
