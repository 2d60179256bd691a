// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "host_io.hpp"

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>

#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace program {

namespace {

using namespace cofferdam;

constexpr std::size_t piece_size = 64 * 1024;
/// A pipe that poll() reports as writable has room for this many bytes, so that writing them does not block.
constexpr std::size_t certain_room = 4096;
/// The result of an operation that was woken.
constexpr long woken = -EINTR;

/// Waits until the descriptor is ready. Returns false if `waker` came first.
bool wait_ready(int descriptor, short events, int waker) {
  for (;;) {
    pollfd both[2] = {{descriptor, events, 0}, {waker, POLLIN, 0}};
    const int count = ::poll(both, 2, -1);
    if (count < 0 && errno == EINTR) continue;
    if (both[1].revents != 0) return false;
    if (count < 0 || both[0].revents != 0) return true;
  }
}

long read_some(int descriptor, int waker, bytes& into) {
  for (;;) {
    if (!wait_ready(descriptor, POLLIN, waker)) return woken;
    const ssize_t size = ::read(descriptor, into.data(), into.size());
    if (size >= 0) return size;
    if (errno != EINTR && errno != EAGAIN) return 0;  // a terminal that has gone is the end of the input
  }
}

long write_all(int descriptor, int waker, bytes_view data) {
  struct stat about {};
  const bool is_file = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  while (!data.empty()) {
    if (!wait_ready(descriptor, POLLOUT, waker)) return woken;
    const std::size_t size = is_file ? data.size() : std::min(data.size(), certain_room);
    const ssize_t written = ::write(descriptor, data.data(), size);
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return -errno;
    data = data.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

host_stream::host_stream(int descriptor)
    : descriptor_(descriptor), waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_(1) {
  if (waker_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

host_stream::~host_stream() {
  wake();
  thread_.join();
  ::close(waker_);
}

void host_stream::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(waker_, &one, sizeof one));
}

/// Runs `job` on the thread, and completes on the executor of the coroutine.
template <class Job>
awaitable<long> host_stream::perform(Job job) {
  std::uint64_t ignored = 0;
  static_cast<void>(!::read(waker_, &ignored, sizeof ignored));  // forgets an earlier wake()
  auto begin = [this](auto handler, Job work) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected()) slot.assign([this](asio::cancellation_type) { wake(); });
    auto guard = asio::make_work_guard(asio::get_associated_executor(handler));
    asio::post(thread_, [handler = std::move(handler), guard = std::move(guard), work = std::move(work)]() mutable {
      const long result = work();
      const auto executor = guard.get_executor();
      asio::post(executor, [handler = std::move(handler), guard = std::move(guard), result]() mutable {
        auto used = asio::get_associated_cancellation_slot(handler);
        if (used.is_connected()) used.clear();
        guard.reset();
        std::move(handler)(result);
      });
    });
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(long)>(std::move(begin), asio::use_awaitable,
                                                                         std::move(job));
}

awaitable<bytes> host_stream::read() {
  bytes piece(piece_size);
  const auto job = [this, &piece] { return read_some(descriptor_, waker_, piece); };
  const long size = co_await perform(job);
  piece.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  co_return piece;
}

awaitable<bool> host_stream::write(bytes_view data) {
  const auto job = [this, data] { return write_all(descriptor_, waker_, data); };
  const long result = co_await perform(job);
  if (result == 0) co_return true;
  if (result == woken || result == -EPIPE || result == -EBADF) co_return false;
  const std::error_code cause(static_cast<int>(-result), std::generic_category());
  const std::string name = descriptor_ == STDERR_FILENO ? "standard error" : "standard output";
  throw error(exec_errc::io_error, name + " cannot be written: " + cause.message(), cause);
}

}  // namespace program
