// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/os/atomic_file.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the path itself if it is a directory, otherwise its nearest parent that is an existing directory.
inline std::filesystem::path existing_above(std::filesystem::path path) {
  std::error_code ignored;
  path = std::filesystem::absolute(path);
  while (!std::filesystem::is_directory(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path;
}

template <class = void>
awaitable<transferred_file> put_one_on_host(const directory& there, const std::filesystem::path& shown,
                                            file_source& source, const file_header& header) {
  const std::string path = workspace_path(header.destination());
  std::uint64_t size = 0;
  if (header.type() == file_type::directory) {
    there.make_directory(path);
    there.set_mode(path, header.mode());
  } else {
    atomic_file file = there.create_file(path);
    for (;;) {
      const bytes piece = co_await source.read(file_turn);
      if (piece.empty()) break;
      file.write(piece);
      size += piece.size();
      co_await yield_turn("download " + shown_path(path));
    }
    file.commit(header.mode());
  }
  co_return transferred_file(header.source(), (shown / path).string(), size);
}

/// Writes all files of a source beneath a directory of the host.
/// \param there, shown, source  the caller keeps them until the awaitable completes. `shown` is the path of `there`,
///     for the reported destinations.
template <class = void>
awaitable<transfer_result> put_on_host(const directory& there, const std::filesystem::path& shown,
                                       file_source& source) {
  return put_each(source, [&there, &shown, &source](const file_header& header) {
    return put_one_on_host(there, shown, source, header);
  });
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
