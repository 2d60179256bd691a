// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>

#include <asio/thread_pool.hpp>

#include <cstddef>

namespace program {

/// A descriptor that this program has inherited: standard input, output or error. It is read or written by a thread of
/// its own, because the descriptor must stay in blocking mode: it is shared with other programs. At most one operation
/// may be under way.
class host_stream {
 public:
  explicit host_stream(int descriptor);
  host_stream(const host_stream&) = delete;
  host_stream& operator=(const host_stream&) = delete;
  /// Ends the operation that is under way.
  ~host_stream();

  /// Returns the next bytes, at most 64 KiB; empty at the end of the input.
  /// \par Cancellation  terminal: the result is empty, and no byte is lost.
  cofferdam::awaitable<cofferdam::bytes> read();

  /// Writes all bytes. Returns false if the reader has gone.
  /// \param data  the caller keeps the bytes until the awaitable completes.
  /// \throws cofferdam::error if writing fails, for example because the disk is full.
  /// \par Cancellation  terminal: a part may have been written; the result is false.
  cofferdam::awaitable<bool> write(cofferdam::bytes_view data);

 private:
  template <class Job>
  cofferdam::awaitable<long> perform(Job job);

  void wake() noexcept;

  int descriptor_;
  int waker_;  // an eventfd
  asio::thread_pool thread_;
};

}  // namespace program
