// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>

#include <asio/any_io_executor.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::mcp::detail {

/// Something that is opened when it is first asked for, by whoever asks first, for all who do; and once more when it was
/// lost. Opening is nobody's in particular: who asked may be cancelled meanwhile.
template <class T>
class lazy : public std::enable_shared_from_this<lazy<T>> {
 public:
  using open_action = std::function<awaitable<std::shared_ptr<T>>()>;
  using close_action = std::function<awaitable<void>(std::shared_ptr<T>)>;

  lazy(const asio::any_io_executor& executor, std::shared_ptr<tasks> work, open_action open, close_action close)
      : work_(std::move(work)), open_(std::move(open)), close_(std::move(close)), changed_(executor) {}

  bool can_open() const noexcept { return static_cast<bool>(open_); }
  const std::shared_ptr<T>& now() const noexcept { return now_; }
  /// The number of the one that who asks now gets: counts how often it was opened.
  std::uint64_t generation() const noexcept { return now_ ? generation_ : generation_ + 1; }

  /// \throws what opening throws; error{errc::environment_closed} once it was closed.
  static awaitable<std::shared_ptr<T>> get(std::shared_ptr<lazy> self) {
    if (!self->open_) throw error(errc::unsupported, "this server has no such environment");
    for (;;) {
      if (self->closed_) throw error(errc::environment_closed, "the session has ended");
      if (self->now_) co_return self->now_;
      const std::uint64_t mine = self->attempts_;
      if (!self->is_opening_) {
        self->is_opening_ = true;
        self->work_->spawn(open(self));
      }
      while (self->attempts_ == mine && !self->closed_) co_await self->changed_.next();
      if (!self->now_ && self->failure_ && self->attempts_ == mine + 1) std::rethrow_exception(self->failure_);
    }
  }

  /// It is of no use any more: the next one who asks has another opened.
  void drop(std::uint64_t generation) {
    if (!now_ || generation != generation_) return;
    std::shared_ptr<T> lost = std::exchange(now_, nullptr);
    work_->spawn(discard(this->shared_from_this(), std::move(lost)));
  }

  /// Behind the end of all `work`.
  static awaitable<void> close(std::shared_ptr<lazy> self) {
    self->closed_ = true;
    self->changed_.happened();
    std::shared_ptr<T> last = std::exchange(self->now_, nullptr);
    if (last) co_await self->close_(std::move(last));
  }
  void refuse() {
    closed_ = true;
    changed_.happened();
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
    self->changed_.happened();
  }

  static awaitable<void> discard(std::shared_ptr<lazy> self, std::shared_ptr<T> lost) {
    try {
      co_await self->close_(std::move(lost));
    } catch (const std::exception&) {  // it was lost before
    }
  }

  std::shared_ptr<tasks> work_;
  open_action open_;
  close_action close_;
  event changed_;
  std::shared_ptr<T> now_;
  std::exception_ptr failure_;
  std::uint64_t attempts_ = 0;
  std::uint64_t generation_ = 0;
  bool is_opening_ = false;
  bool closed_ = false;
};

/// An environment that is opened by its first use.
class lazy_environment {
 public:
  explicit lazy_environment(std::shared_ptr<lazy<any_environment>> inside) : inside_(std::move(inside)) {}

  bool can_start() const noexcept { return !inside_->now() || inside_->now()->can_start(); }
  awaitable<command_result> run_command(command c) {
    return pass(inside_, &any_environment::run_command, std::move(c));
  }
  awaitable<process> start(command c) { return pass(inside_, &any_environment::start, std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t most) {
    return pass(inside_, &any_environment::read_file, std::move(path), most);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return pass(inside_, &any_environment::write_file, std::move(path), content);
  }
  awaitable<entry> stat(std::string path) { return pass(inside_, &any_environment::stat, std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return pass(inside_, &any_environment::list, std::move(path), options);
  }
  awaitable<void> make_directory(std::string path) {
    return pass(inside_, &any_environment::make_directory, std::move(path));
  }
  awaitable<void> remove(std::string path) { return pass(inside_, &any_environment::remove, std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) {
    return pass(inside_, &any_environment::rename, std::move(from), std::move(to));
  }
  awaitable<transfer> put_files(file_source& source) { return pass(inside_, &any_environment::put_files, source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return pass(inside_, &any_environment::get_files, std::move(requests));
  }
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

}  // namespace cofferdam::inline v0::mcp::detail
