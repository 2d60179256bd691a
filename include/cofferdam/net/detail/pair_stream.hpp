// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/without_sigpipe.hpp>
#include <cofferdam/net/detail/stream_errors.hpp>

#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A stream made of a readable and a writable object, for example two pipes of a child process. It also owns an object
/// that must live as long as both, for example the child process.
template <class Readable, class Writable, class Owner>
class pair_stream final : public byte_stream::implementation {
 public:
  pair_stream(Readable readable, Writable writable, std::string peer, Owner owner)
      : owner_(std::move(owner)),
        readable_(std::move(readable)),
        writable_(std::move(writable)),
        peer_(std::move(peer)) {
    if constexpr (is_descriptor<Writable>) writable_.native_non_blocking(true);
  }

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    std::error_code failure;
    const asio::mutable_buffer room(into.data(), into.size());
    const std::size_t count =
        co_await readable_.async_read_some(room, asio::redirect_error(asio::use_awaitable, failure));
    if (failure == asio::error::eof) co_return 0;
    if (failure) throw stream_error(peer_, "reading", failure, closed_);
    co_return count;
  }

  awaitable<void> write(bytes_view data) override {
    if (write_closed_) throw stream_error(peer_, "writing", asio::error::broken_pipe, closed_);
    std::error_code failure;
    if constexpr (is_descriptor<Writable>) {
      while (!data.empty() && !failure) {
        const ssize_t written =
            without_sigpipe([&] { return ::write(writable_.native_handle(), data.data(), data.size()); });
        if (written >= 0) {
          data = data.subspan(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
          co_await writable_.async_wait(asio::posix::stream_descriptor::wait_write,
                                        asio::redirect_error(asio::use_awaitable, failure));
          if (write_closed_) failure = asio::error::operation_aborted;
        } else if (errno != EINTR) {
          failure = std::error_code(errno, std::system_category());
        }
      }
    } else {
      const asio::const_buffer content(data.data(), data.size());
      co_await asio::async_write(writable_, content, asio::redirect_error(asio::use_awaitable, failure));
    }
    if (failure) throw stream_error(peer_, "writing", failure, closed_);
  }

  awaitable<void> shutdown_send() override {
    close_write_end();
    co_return;
  }

  void close() noexcept override {
    closed_ = true;
    close_write_end();
    try {
      readable_.close();
    } catch (const std::system_error&) {  // the descriptor is closed even if `close` fails
    }
  }

  bool is_quiet() noexcept override {
    if (closed_ || write_closed_) return false;
    if constexpr (is_descriptor<Readable>) return is_quiet_descriptor(readable_.native_handle());
    return true;
  }

 private:
  template <class End>
  static constexpr bool is_descriptor = std::same_as<End, asio::posix::stream_descriptor>;

  void close_write_end() noexcept {
    if (std::exchange(write_closed_, true)) return;
    try {
      writable_.close();
    } catch (const std::system_error&) {  // the descriptor is closed even if `close` fails
    }
  }

  Owner owner_;
  Readable readable_;
  Writable writable_;
  std::string peer_;
  bool write_closed_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
