// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// An object that is opened at its first use. All callers share it. If it is lost, the next use opens a new object. If
/// one caller is cancelled while the object is being opened, the opening continues for the other callers.
template <class T>
class lazy : public std::enable_shared_from_this<lazy<T>> {
 public:
  using open_action = std::function<awaitable<std::shared_ptr<T>>()>;
  using close_action = std::function<awaitable<void>(std::shared_ptr<T>)>;

  lazy(const asio::any_io_executor& executor, std::shared_ptr<tasks> work, open_action open, close_action close)
      : work_(std::move(work)), open_(std::move(open)), close_(std::move(close)), changed_(executor) {}

  bool can_open() const noexcept { return static_cast<bool>(open_); }
  const std::shared_ptr<T>& now() const noexcept { return now_; }
  /// Returns the number of the open object; if none is open, the number that the next object will have.
  std::uint64_t generation() const noexcept { return now_ ? generation_ : generation_ + 1; }

  /// Returns the object, and opens it if necessary.
  /// \throws the exceptions of opening.
  /// \throws error{exec_errc::environment_closed} after `refuse` or `close`.
  /// \throws error{exec_errc::unsupported} if the constructor got no action that opens the object.
  static awaitable<std::shared_ptr<T>> get(std::shared_ptr<lazy> self) {
    if (!self->open_) throw error(exec_errc::unsupported, "this server has no environment of this kind");
    for (;;) {
      if (self->closed_) throw error(exec_errc::environment_closed, "the session has ended");
      if (self->now_) co_return self->now_;
      const std::uint64_t mine = self->attempts_;
      if (!self->is_opening_) {
        self->is_opening_ = true;
        self->work_->spawn(open(self));
      }
      while (self->attempts_ == mine && !self->closed_) co_await self->changed_.wait();
      if (!self->now_ && self->failure_ && self->attempts_ == mine + 1) std::rethrow_exception(self->failure_);
    }
  }

  /// Drops the object with this number, because it is lost. The next use opens a new object.
  void drop(std::uint64_t generation) {
    if (!now_ || generation != generation_) return;
    std::shared_ptr<T> lost = std::exchange(now_, nullptr);
    work_->spawn(discard(this->shared_from_this(), std::move(lost)));
  }

  /// Closes the object, if it is open. Later uses throw.
  static awaitable<void> close(std::shared_ptr<lazy> self) {
    self->closed_ = true;
    self->changed_.notify();
    std::shared_ptr<T> last = std::exchange(self->now_, nullptr);
    if (last) co_await self->close_(std::move(last));
  }
  /// Makes all later uses throw, but does not close the object.
  void refuse() {
    closed_ = true;
    changed_.notify();
  }

 private:
  static awaitable<void> open(std::shared_ptr<lazy> self) {
    std::exception_ptr failure;
    try {
      std::shared_ptr<T> opened = co_await self->open_();
      self->now_ = std::move(opened);
      ++self->generation_;
    } catch (...) {
      failure = std::current_exception();
    }
    self->failure_ = failure;
    self->is_opening_ = false;
    ++self->attempts_;
    self->changed_.notify();
  }

  static awaitable<void> discard(std::shared_ptr<lazy> self, std::shared_ptr<T> lost) {
    try {
      co_await self->close_(std::move(lost));
    } catch (const std::exception&) {  // expected: the object was lost before
    }
  }

  std::shared_ptr<tasks> work_;
  open_action open_;
  close_action close_;
  async_event changed_;
  std::shared_ptr<T> now_;
  std::exception_ptr failure_;
  std::uint64_t attempts_ = 0;
  std::uint64_t generation_ = 0;
  bool is_opening_ = false;
  bool closed_ = false;
};

/// The files of an environment that is opened at its first use.
class lazy_files final : public file_system_adaptor<lazy_files> {
 public:
  explicit lazy_files(std::shared_ptr<lazy<any_environment>> inside) : inside_(std::move(inside)) {}

  template <class Operation>
  auto call(Operation operation) {
    using result = typename cofferdam::detail::awaited<std::invoke_result_t<Operation&, const file_system&>>::type;
    return pass<result>(inside_, std::move(operation));
  }

 private:
  template <class Result, class Operation>
  static awaitable<Result> pass(std::shared_ptr<lazy<any_environment>> inside, Operation operation) {
    const std::shared_ptr<any_environment> opened = co_await lazy<any_environment>::get(inside);
    if constexpr (std::is_void_v<Result>) {
      co_await cofferdam::detail::on_kept(opened->files(), std::move(operation));
    } else {
      Result result = co_await cofferdam::detail::on_kept(opened->files(), std::move(operation));
      co_return result;
    }
  }

  std::shared_ptr<lazy<any_environment>> inside_;
};

/// An environment that is opened at its first use.
class lazy_environment {
 public:
  explicit lazy_environment(std::shared_ptr<lazy<any_environment>> inside) : inside_(std::move(inside)) {}

  bool can_start() const noexcept { return !inside_->now() || inside_->now()->can_start(); }
  awaitable<command_result> run_command(command c) {
    return pass(inside_, &any_environment::run_command, std::move(c));
  }
  awaitable<process> start(command c) { return pass(inside_, &any_environment::start, std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return pass(inside_, &any_environment::read_file, std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    constexpr awaitable<void> (any_environment::*write)(std::string, bytes_view) = &any_environment::write_file;
    return pass(inside_, write, std::move(path), content);
  }
  file_system files() { return file_system(std::make_shared<lazy_files>(inside_)); }
  awaitable<void> close() { return nothing(); }

 private:
  static awaitable<void> nothing() { co_return; }

  template <class R, class... A>
  static awaitable<R> pass(std::shared_ptr<lazy<any_environment>> inside,
                           awaitable<R> (any_environment::*operation)(A...), std::type_identity_t<A>... arguments) {
    const std::shared_ptr<any_environment> opened = co_await lazy<any_environment>::get(inside);
    if constexpr (std::is_void_v<R>) {
      co_await ((*opened).*operation)(std::forward<A>(arguments)...);
    } else {
      R result = co_await ((*opened).*operation)(std::forward<A>(arguments)...);
      co_return result;
    }
  }

  std::shared_ptr<lazy<any_environment>> inside_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
