// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// Waits and coroutines that call a function at their end, for code that is not a coroutine. Asio compiles fifty to a
// hundred functions for each type of handler. These functions give all handlers one type.

/// A function object without a result. It keeps the function in place, so it never allocates: a wait that begins in a
/// handler could not report that memory is exhausted. Empty after it was moved from.
template <class... Arguments>
class inplace_callback {
 public:
  /// \param function  at most `max_size` bytes; moving it does not throw.
  template <class F>
    requires(!std::same_as<F, inplace_callback>)
  inplace_callback(F function) noexcept : call_(&call<F>), move_(&move<F>) {
    static_assert(sizeof(F) <= max_size, "capture less, or a pointer");
    static_assert(alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>);
    ::new (static_cast<void*>(room_)) F(std::move(function));
  }
  inplace_callback(inplace_callback&& other) noexcept : call_(other.call_), move_(other.move_) {
    if (move_ != nullptr) move_(other.room_, room_);
    other.move_ = nullptr;
  }
  inplace_callback& operator=(inplace_callback&&) = delete;
  ~inplace_callback() {
    if (move_ != nullptr) move_(room_, nullptr);
  }

  void operator()(Arguments... arguments) { call_(room_, std::move(arguments)...); }

 private:
  static constexpr std::size_t max_size = 48;

  template <class F>
  static void call(void* function, Arguments... arguments) {
    (*static_cast<F*>(function))(std::move(arguments)...);
  }
  /// Moves a function to `to`, if that is not null, and destroys the original.
  template <class F>
  static void move(void* from, void* to) noexcept {
    F& function = *static_cast<F*>(from);
    if (to != nullptr) ::new (to) F(std::move(function));
    function.~F();
  }

  void (*call_)(void*, Arguments...);
  void (*move_)(void*, void*) noexcept;
  alignas(std::max_align_t) std::byte room_[max_size];
};

/// Receives the result of a wait; `asio::error::operation_aborted` if the wait was cancelled.
using wait_callback = inplace_callback<std::error_code>;

/// Calls `callback` when `timer` expires or is cancelled.
void on_expiry(asio::steady_timer& timer, wait_callback callback);

/// Calls `callback` when `descriptor` can be read without blocking, has failed, or is closed.
void on_readable(asio::posix::stream_descriptor& descriptor, wait_callback callback);

/// Calls `callback` when `descriptor` can be written without blocking, has failed, or is closed.
void on_writable(asio::posix::stream_descriptor& descriptor, wait_callback callback);

/// Calls `callback` when `descriptor` has an exceptional condition, such as a change that the kernel reports, or is
/// closed.
void on_exception(asio::posix::stream_descriptor& descriptor, wait_callback callback);

/// Calls `callback` on `executor`, never before this function returns.
void post_callback(const asio::any_io_executor& executor, inplace_callback<> callback);

/// Receives the exception of a coroutine, or null.
using end_callback = inplace_callback<std::exception_ptr>;

/// Starts a coroutine on `executor`, and calls `at_end` there when the coroutine has ended.
/// \param work  a coroutine that keeps the objects it uses alive.
/// \param stop  cancels the coroutine. Its signal exists until the coroutine has ended.
/// \tparam Work  makes the call of Asio dependent: g++ otherwise compiles its coroutine in every file.
template <std::same_as<awaitable<void>> Work>
void spawn_coroutine(asio::any_io_executor executor, Work work, end_callback at_end, asio::cancellation_slot stop = {});

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/core/impl/callbacks.ipp>
#endif
