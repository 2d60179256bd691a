// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

template <class = void>
awaitable<void> send_file(byte_stream::implementation& to, int file, std::uint64_t offset, std::uint64_t count) {
  // sendfile(2) would save a copy, but a receiver on this machine would then wait for memory that no cache contains. It
  // would need a third more time, and usually needs more than the sender.
  constexpr std::uint64_t at_once = std::uint64_t{64} * 1024;  // stays in a processor's cache
  bytes piece(static_cast<std::size_t>(std::min(count, at_once)));
  while (count != 0) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(count, piece.size()));
    const ssize_t got = ::pread(file, piece.data(), wanted, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw error(exec_errc::invalid_argument, "the file to send cannot be read",
                  std::error_code(errno, std::system_category()));
    if (got == 0) throw error(exec_errc::invalid_argument, "the file to send became shorter while it was sent");
    const auto size = static_cast<std::size_t>(got);
    co_await to.write(bytes_view(piece).first(size));
    offset += size;
    count -= size;
  }
}

}  // namespace detail

COFFERDAM_DECL awaitable<std::size_t> byte_stream::read_some(std::span<std::byte> into) {
  if (into.empty()) throw error(exec_errc::invalid_argument, "byte_stream: the buffer to read into is empty");
  return get().read_some(into);
}

template <class>
awaitable<void> byte_stream::send_file(int file, std::uint64_t offset, std::uint64_t count) {
  return detail::send_file(get(), file, offset, count);
}

COFFERDAM_INSTANTIATE(awaitable<void> byte_stream::send_file<void>(int, std::uint64_t, std::uint64_t))

COFFERDAM_DECL void byte_stream::close() noexcept {
  if (open_) open_->close();
}

COFFERDAM_DECL auto byte_stream::get() const -> implementation& {
  if (!open_)
    throw error(exec_errc::invalid_argument,
                "byte_stream: empty (default-constructed or moved from); connect or accept first");
  return *open_;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
