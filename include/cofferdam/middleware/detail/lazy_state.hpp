// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/joined_tasks.hpp>
#include <cofferdam/detail/core/kept_files.hpp>
#include <cofferdam/detail/core/lazy_object.hpp>

#include <asio/any_io_executor.hpp>

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The state of a `lazy_environment`. `use` and `opened` may be called on any executor; the other members are used on
/// the strand `home()`.
template <class Provider>
class lazy_state {
 public:
  using inner = opened_by<Provider>;
  using shared = std::shared_ptr<lazy_state>;

  static shared make(asio::any_io_executor executor, Provider provider) {
    return std::make_shared<lazy_state>(home_strand(std::move(executor)), std::move(provider));
  }

  lazy_state(home_strand home, Provider provider)
      : home_(std::move(home)),
        work_(std::make_shared<joined_tasks>(home_.executor())),
        object_(std::make_shared<lazy_object<inner>>(
            home_.executor(), work_, sentences, [provider = std::move(provider)] { return open(provider); },
            [](std::shared_ptr<inner> last) { return close_kept(std::move(last)); })) {}
  lazy_state(const lazy_state&) = delete;
  lazy_state& operator=(const lazy_state&) = delete;

  const home_strand& home() const noexcept { return home_; }
  kept_files& kept() noexcept { return kept_files_; }

  /// Returns the environment, or null if it is not open.
  inner* opened() const noexcept { return opened_.load(std::memory_order_acquire); }

  /// Opens the environment if necessary, and runs an operation on it.
  /// \param operation  a callable that takes the environment and returns an awaitable.
  template <class Operation>
  static std::invoke_result_t<Operation&, inner&> use(shared self, Operation operation) {
    if (inner* const environment = self->opened()) return operation(*environment);
    return open_and_use(std::move(self), std::move(operation));
  }

  static awaitable<void> close(shared self) {
    self->object_->refuse();
    self->work_->cancel();
    co_await joined_tasks::join(self->work_);
    self->keep();
    if (self->kept_) co_await self->kept_->close();
  }

  /// Cancels the opening, and destroys the environment, without waiting.
  void abandon() {
    object_->refuse();
    work_->cancel();
    opened_.store(nullptr, std::memory_order_release);
    kept_.reset();
    object_->forget();
  }

 private:
  static constexpr lazy_sentences sentences{"lazy: there is no provider",
                                            "lazy: the environment is closed; open another one"};

  template <class Operation>
  static std::invoke_result_t<Operation&, inner&> open_and_use(shared self, Operation operation) {
    using result = typename awaited<std::invoke_result_t<Operation&, inner&>>::type;
    const auto opens = [&self] { return obtain(self); };
    inner* const environment = co_await self->home_.run(opens);
    if constexpr (std::is_void_v<result>) {
      co_await operation(*environment);
    } else {
      result value = co_await operation(*environment);
      co_return value;
    }
  }

  static awaitable<inner*> obtain(shared self) {
    co_await lazy_object<inner>::get(self->object_);
    self->keep();
    co_return self->kept_.get();
  }

  static awaitable<std::shared_ptr<inner>> open(Provider provider) {
    environment_of<Provider> opened = co_await provider.open();
    co_return std::make_shared<inner>(std::move(opened));
  }
  static awaitable<void> close_kept(std::shared_ptr<inner> last) { co_await last->close(); }

  /// Keeps the environment until this object is destroyed, because operations may end after `close`.
  void keep() noexcept {
    kept_ = object_->now();
    opened_.store(kept_.get(), std::memory_order_release);
  }

  const home_strand home_;
  const std::shared_ptr<joined_tasks> work_;
  const std::shared_ptr<lazy_object<inner>> object_;
  std::shared_ptr<inner> kept_;
  std::atomic<inner*> opened_ = nullptr;
  kept_files kept_files_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
