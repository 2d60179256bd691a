// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/tools/detail/typed_handler.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/execution_context.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools {

namespace detail {

/// Runs work on a pool, and waits for its end. If the awaiting coroutine is cancelled, work that has not begun never
/// begins; otherwise the token is stopped, and the work is awaited.
/// \param work  must not throw.
awaitable<void> run_on_pool(asio::any_io_executor pool, std::function<void(std::stop_token stop)> work);

/// The value or the exception of a function.
template <class Result>
class blocking_outcome {
 public:
  std::optional<Result> value;
  std::exception_ptr failure;

  template <class Call>
  void set(Call call) noexcept {
    try {
      value.emplace(call());
    } catch (...) {
      failure = std::current_exception();
    }
  }
  Result take() {
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
  }
};
template <>
class blocking_outcome<void> {
 public:
  std::exception_ptr failure;

  template <class Call>
  void set(Call call) noexcept {
    try {
      call();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  void take() const {
    if (failure) std::rethrow_exception(failure);
  }
};

template <class Result>
awaitable<Result> outcome_on_pool(asio::any_io_executor pool, std::function<void(std::stop_token stop)> work,
                                  std::shared_ptr<blocking_outcome<Result>> outcome) {
  co_await run_on_pool(std::move(pool), std::move(work));
  co_return outcome->take();
}

/// The handler that `blocking` makes. `Parameters` is a tuple of `std::type_identity`.
template <class Function, class Result, bool TakesStop, class Parameters>
class blocking_handler;
template <class Function, class Result, bool TakesStop, class... Parameters>
class blocking_handler<Function, Result, TakesStop, std::tuple<std::type_identity<Parameters>...>> {
 public:
  blocking_handler(asio::any_io_executor pool, Function function)
      : pool_(std::move(pool)), function_(std::make_shared<const Function>(std::move(function))) {}

  awaitable<Result> operator()(std::decay_t<Parameters>... values) const {
    auto outcome = std::make_shared<blocking_outcome<Result>>();
    auto kept = std::make_shared<std::tuple<std::decay_t<Parameters>...>>(std::move(values)...);
    auto work = [function = function_, kept, outcome](std::stop_token stop) {
      outcome->set([&]() -> Result {
        return std::apply(
            [&](auto&... each) -> Result {
              if constexpr (TakesStop) {
                return std::invoke(*function, std::move(stop), std::move(each)...);
              } else {
                return std::invoke(*function, std::move(each)...);
              }
            },
            *kept);
      });
    };
    return outcome_on_pool<Result>(pool_, std::move(work), std::move(outcome));
  }

  /// Marks a class whose temporaries g++ 12 handles correctly.
  using safe_as_temporary = void;

 private:
  asio::any_io_executor pool_;
  std::shared_ptr<const Function> function_;
};

template <class Parameters>
class split_parameters {
 public:
  static constexpr bool takes_stop = false;
  using rest = Parameters;
};
template <class... Rest>
class split_parameters<std::tuple<std::type_identity<std::stop_token>, Rest...>> {
 public:
  static constexpr bool takes_stop = true;
  using rest = std::tuple<Rest...>;
};

template <class Function>
using blocking_handler_for =
    blocking_handler<Function, typename signature_of<Function>::result,
                     split_parameters<typename signature_of<Function>::parameters>::takes_stop,
                     typename split_parameters<typename signature_of<Function>::parameters>::rest>;

}  // namespace detail

/// Makes a handler for a `tools::function` from a function that blocks, such as a query of a database:
///
///     asio::thread_pool pool(4);
///     tools::function rows("rows", "Returns the number of rows.", tools::argument("table", tools::text),
///                          tools::blocking(pool, count_rows));  // std::int64_t count_rows(std::string table)
///
/// Each call runs on a thread of the pool. Its result, or its exception, arrives on the executor of the caller, which
/// stays free meanwhile. Several threads may run the function at the same time. The arguments are copied or moved to
/// the thread, so the function gets objects of its own, even for reference parameters.
///
/// If the first parameter is a `std::stop_token`, it is no argument of the tool. It is stopped when the call is
/// cancelled.
/// \param pool      a thread pool, or its executor. It must not be the executor of the caller.
/// \param function  a function pointer, or a callable with one `operator() const` that is no template.
/// \throws          the handler throws the exceptions of the function; error{exec_errc::unavailable} if the pool was
///                  stopped before the call has begun.
/// \par Cancellation  terminal. A call that has not begun never begins. A thread cannot be interrupted: if the function
///                    runs, the cancelled coroutine waits for its end, and then throws error{exec_errc::cancelled}. So
///                    nothing runs after a cancelled call, but a function that can take long should use the token.
/// \par Lifetime      the pool outlives the calls; the execution context of the callers outlives the threads of the
///                    pool: declare the pool after it.
/// \par Threads       the coroutine that calls the handler runs on a strand or a single thread.
template <class Function>
  requires detail::has_signature<std::decay_t<Function>>
detail::blocking_handler_for<std::decay_t<Function>> blocking(asio::any_io_executor pool, Function&& function) {
  static_assert(detail::signature_of<std::decay_t<Function>>::is_const,
                "cofferdam: the function of tools::blocking must not be mutable, because several threads call it");
  // A reference to a function refers to a function.
  constexpr bool is_function = std::is_function_v<std::remove_reference_t<Function>>;
  if constexpr (detail::can_be_empty<std::decay_t<Function>>::value && !is_function) {
    if (!function) throw error(exec_errc::invalid_argument, "tools::blocking: the function is empty");
  }
  return {std::move(pool), std::forward<Function>(function)};
}
/// Makes a handler that runs a function on a thread pool, as the function above does with the pool's executor.
template <std::derived_from<asio::execution_context> Pool, class Function>
  requires detail::has_signature<std::decay_t<Function>>
detail::blocking_handler_for<std::decay_t<Function>> blocking(Pool& pool, Function&& function) {
  return blocking(asio::any_io_executor(pool.get_executor()), std::forward<Function>(function));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/tools/impl/blocking.ipp>
#endif
