// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include <concepts>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL void on_expiry(asio::steady_timer& timer, wait_callback callback) {
  timer.async_wait(std::move(callback));
}

COFFERDAM_DECL void on_readable(asio::posix::stream_descriptor& descriptor, wait_callback callback) {
  descriptor.async_wait(asio::posix::stream_descriptor::wait_read, std::move(callback));
}

COFFERDAM_DECL void on_writable(asio::posix::stream_descriptor& descriptor, wait_callback callback) {
  descriptor.async_wait(asio::posix::stream_descriptor::wait_write, std::move(callback));
}

COFFERDAM_DECL void on_exception(asio::posix::stream_descriptor& descriptor, wait_callback callback) {
  descriptor.async_wait(asio::posix::stream_descriptor::wait_error, std::move(callback));
}

COFFERDAM_DECL void post_callback(const asio::any_io_executor& executor, inplace_callback<> callback) {
  asio::post(executor, std::move(callback));
}

template <std::same_as<awaitable<void>> Work>
void spawn_coroutine(asio::any_io_executor executor, Work work, end_callback at_end, asio::cancellation_slot stop) {
  asio::co_spawn(std::move(executor), std::move(work), asio::bind_cancellation_slot(stop, std::move(at_end)));
}
COFFERDAM_INSTANTIATE(void spawn_coroutine(asio::any_io_executor, awaitable<void>, end_callback,
                                           asio::cancellation_slot))

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
