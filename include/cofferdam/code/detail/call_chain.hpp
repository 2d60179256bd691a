// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/execution.hpp>
#include <asio/prefer.hpp>
#include <asio/query.hpp>
#include <asio/require.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

// Detects deadlocks by host functions that run code. Such a function, called by a run in a context, may itself run code
// in the same context. That code waits for the first run to end, and the first run waits for the function: a deadlock.
// To detect it, each host function runs on an executor that carries the list of the runs that wait for the function. An
// executor is used for this, because Asio has no other storage that follows a coroutine into the coroutines that it
// awaits and spawns.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A run that waits for a host function, linked to the runs that wait for this run in turn.
class waiting_run {
 public:
  /// \param driver   identifies the driver (the interpreter process that executes the run).
  /// \param context  the context of the run; absent if the run has no context.
  /// \param outer    the run that waits for this run; may be null.
  waiting_run(const void* driver, std::optional<std::string> context, std::shared_ptr<const waiting_run> outer)
      : driver_(driver), context_(std::move(context)), outer_(std::move(outer)) {}

  /// Returns true if this run, or one of the runs that wait for it, uses this context of this driver.
  bool holds(const void* driver, const std::string& context) const noexcept {
    for (const waiting_run* each = this; each != nullptr; each = each->outer_.get())
      if (each->driver_ == driver && each->context_ == context) return true;
    return false;
  }

  /// Returns how many of these runs (this run and the runs that wait for it) this driver executes without a context. In
  /// Pyodide, each of them occupies an interpreter.
  std::size_t without_context(const void* driver) const noexcept {
    std::size_t count = 0;
    for (const waiting_run* each = this; each != nullptr; each = each->outer_.get())
      if (each->driver_ == driver && !each->context_) ++count;
    return count;
  }

 private:
  const void* driver_;
  std::optional<std::string> context_;
  std::shared_ptr<const waiting_run> outer_;
};

/// An executor that forwards all work to another executor, and carries the runs that wait for its coroutines.
class calling_executor {
 public:
  calling_executor(asio::any_io_executor inner, std::shared_ptr<const waiting_run> waiting) noexcept
      : inner_(std::move(inner)), waiting_(std::move(waiting)) {}

  const asio::any_io_executor& inner() const noexcept { return inner_; }
  const std::shared_ptr<const waiting_run>& waiting() const noexcept { return waiting_; }

  template <class Function>
  void execute(Function&& function) const {
    inner_.execute(std::forward<Function>(function));
  }

  template <class Property>
    requires asio::can_query<const asio::any_io_executor&, const Property&>::value
  decltype(auto) query(const Property& property) const {
    return asio::query(inner_, property);
  }
  template <class Property>
    requires asio::can_require<const asio::any_io_executor&, const Property&>::value
  calling_executor require(const Property& property) const {
    return calling_executor(asio::require(inner_, property), waiting_);
  }
  template <class Property>
    requires asio::can_prefer<const asio::any_io_executor&, const Property&>::value
  calling_executor prefer(const Property& property) const {
    return calling_executor(asio::prefer(inner_, property), waiting_);
  }

  friend bool operator==(const calling_executor& a, const calling_executor& b) noexcept {
    return a.inner_ == b.inner_ && a.waiting_ == b.waiting_;
  }
  friend bool operator!=(const calling_executor& a, const calling_executor& b) noexcept { return !(a == b); }

 private:
  asio::any_io_executor inner_;
  std::shared_ptr<const waiting_run> waiting_;
};

/// Returns the executor as a `calling_executor`, or null if it has another type. The type is compared here, because
/// `target` of Asio 1.22 does not compare it.
inline const calling_executor* as_calling(const asio::any_io_executor& executor) noexcept {
  return executor.target_type() == typeid(calling_executor) ? executor.target<calling_executor>() : nullptr;
}

/// Returns the runs that wait for a coroutine on this executor; null if there are none.
inline std::shared_ptr<const waiting_run> runs_waiting_for(const asio::any_io_executor& executor) noexcept {
  const calling_executor* const calling = as_calling(executor);
  return calling == nullptr ? nullptr : calling->waiting();
}

/// Returns the executor without the list of waiting runs.
inline asio::any_io_executor plain_executor(const asio::any_io_executor& executor) {
  const calling_executor* const calling = as_calling(executor);
  return calling == nullptr ? executor : calling->inner();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
