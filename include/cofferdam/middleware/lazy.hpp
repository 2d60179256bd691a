// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/suspendable_environment.hpp>
#include <cofferdam/detail/core/shielded.hpp>
#include <cofferdam/middleware/detail/lazy_state.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// The files of an environment that is opened at its first use. Does not keep the environment.
template <class Provider>
class lazy_files final : public file_system_adaptor<lazy_files<Provider>> {
 public:
  explicit lazy_files(const std::shared_ptr<lazy_state<Provider>>& state) : state_(state) {}

  template <class Operation>
  auto call(Operation operation) {
    using inner = opened_by<Provider>;
    std::shared_ptr<lazy_state<Provider>> state = state_.lock();
    if (!state) throw error(exec_errc::environment_closed, "files: the environment is closed; open another one");
    return lazy_state<Provider>::use(std::move(state), [operation = std::move(operation)](inner& opened) {
      return on_kept(opened.files(), operation);
    });
  }

 private:
  std::weak_ptr<lazy_state<Provider>> state_;
};

}  // namespace detail

/// The environment type that `provider | lazy()` opens.
template <code_exec_provider Provider>
class lazy_environment {
 public:
  /// Makes an object without an environment. Operations throw `error{exec_errc::environment_closed}`.
  lazy_environment() = default;
  explicit lazy_environment(std::shared_ptr<detail::lazy_state<Provider>> state) noexcept : state_(std::move(state)) {}
  lazy_environment(lazy_environment&&) noexcept = default;
  lazy_environment& operator=(lazy_environment&& other) noexcept {
    if (this != &other) {
      abandon();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~lazy_environment() { abandon(); }

  awaitable<command_result> run_command(command c) {
    return use([c = std::move(c)](inner& opened) mutable { return opened.run_command(std::move(c)); });
  }
  awaitable<process> start(command c)
    requires streaming_environment<detail::opened_by<Provider>>
  {
    return use([c = std::move(c)](inner& opened) mutable { return opened.start(std::move(c)); });
  }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return use([path = std::move(path), max_bytes](inner& opened) mutable {
      return opened.read_file(std::move(path), max_bytes);
    });
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return use([path = std::move(path), content](inner& opened) mutable {
      return opened.write_file(std::move(path), content);
    });
  }
  /// Writes a file from temporary bytes. The awaitable owns the bytes, so it can be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  file_system files()
    requires file_environment<detail::opened_by<Provider>>
  {
    const std::shared_ptr<detail::lazy_state<Provider>>& state = get();
    return state->kept().get([&state] { return std::make_shared<detail::lazy_files<Provider>>(state); });
  }

  awaitable<void> pause()
    requires pausable_environment<detail::opened_by<Provider>>
  {
    return use([](inner& opened) { return opened.pause(); });
  }
  awaitable<void> resume()
    requires pausable_environment<detail::opened_by<Provider>>
  {
    return use([](inner& opened) { return opened.resume(); });
  }
  awaitable<std::string> snapshot()
    requires snapshot_environment<detail::opened_by<Provider>>
  {
    return use([](inner& opened) { return opened.snapshot(); });
  }

  /// Returns true if `start` works. Also true before the environment is open: whether its type depends on the choice of
  /// a backend is not known then.
  bool can_start() const noexcept
    requires streaming_environment<detail::opened_by<Provider>>
  {
    return ask([](const inner& opened) { return cofferdam::can_start(opened); }, true);
  }
  /// Returns true if `pause` and `resume` work, and before the environment is open.
  bool can_pause() const noexcept
    requires pausable_environment<detail::opened_by<Provider>>
  {
    return ask([](const inner& opened) { return cofferdam::can_pause(opened); }, true);
  }
  /// Returns true if `snapshot` works, and before the environment is open.
  bool can_snapshot() const noexcept
    requires snapshot_environment<detail::opened_by<Provider>>
  {
    return ask([](const inner& opened) { return cofferdam::can_snapshot(opened); }, true);
  }
  /// Returns true if the environment is open and known to be lost.
  bool is_lost() const noexcept
    requires requires(const detail::opened_by<Provider>& opened) { opened.is_lost(); }
  {
    return ask([](const inner& opened) { return opened.is_lost(); }, false);
  }

  /// Returns the ended commands that had `background_policy::keep` and have left processes running; none before the
  /// environment is open.
  std::vector<background_command> background() const
    requires requires(const detail::opened_by<Provider>& opened) { opened.background(); }
  {
    return ask([](const inner& opened) { return opened.background(); }, std::vector<background_command>());
  }
  /// Ends the processes that a command has left running (see `background()`).
  /// \param number  `background_command::number()`.
  awaitable<void> end_background(std::uint32_t number)
    requires requires(detail::opened_by<Provider>& opened) { opened.end_background(number); }
  {
    return use([number](inner& opened) { return opened.end_background(number); });
  }

  /// Closes the environment. If it was never used, nothing was opened, and nothing is closed. If it is opening, the
  /// opening is cancelled first. A cancellation does not stop this operation.
  awaitable<void> close() {
    return detail::shielded(
        [state = get()] { return state->home().run([state] { return detail::lazy_state<Provider>::close(state); }); });
  }

 private:
  using inner = detail::opened_by<Provider>;

  const std::shared_ptr<detail::lazy_state<Provider>>& get() const {
    if (!state_)
      throw error(exec_errc::environment_closed,
                  "lazy: not open (default-constructed or moved from); call open() on the provider first");
    return state_;
  }

  template <class Operation>
  std::invoke_result_t<Operation&, inner&> use(Operation operation) const {
    return detail::lazy_state<Provider>::use(get(), std::move(operation));
  }

  /// Calls a function with the environment if it is open; otherwise returns `otherwise`.
  template <class Question, class Answer>
  Answer ask(Question question, Answer otherwise) const {
    const inner* const opened = state_ ? state_->opened() : nullptr;
    return opened == nullptr ? std::move(otherwise) : question(*opened);
  }

  void abandon() noexcept {
    if (!state_) return;
    const detail::home_strand home = state_->home();
    home.run_soon([state = std::move(state_)] { state->abandon(); });
  }

  std::shared_ptr<detail::lazy_state<Provider>> state_;
};

/// Opens the environment at its first use: `provider | lazy()`. For a program that often needs no environment, such as
/// an agent that may answer without tools.
///
/// `open()` opens nothing and cannot fail. The first operation opens the environment. Operations that begin meanwhile
/// wait for the same environment. If it cannot be opened, they all throw the error, and the next operation tries again.
/// The time limit of a command begins when the environment is open.
///
/// Layers to the left are part of what opens late: `provider | upload_files(...) | lazy()` copies the files at the
/// first use. A layer to the right that uses the environment when it opens, as `upload_files` does, makes `lazy`
/// pointless.
/// The layer hides members that only the environment of one backend has, such as `container_name()`.
///
/// \par Cancellation  an operation that waits throws `error{exec_errc::cancelled}`. The opening continues for the
///                    others and for later ones; only `close()` ends it.
/// \par Threads       any, if the environment allows it.
/// \par Cost          nothing once the environment is open, except 1 comparison, and 1 coroutine frame for
///                    each operation of `files()`.
class lazy : public pipeable {
 public:
  /// Makes an environment that opens another one of the provider at its first use. `provider | lazy()` calls this.
  template <code_exec_provider Provider>
  awaitable<lazy_environment<Provider>> open_with(Provider provider) const {
    return make(std::move(provider));
  }

 private:
  template <class Provider>
  static awaitable<lazy_environment<Provider>> make(Provider provider) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    co_return lazy_environment<Provider>(detail::lazy_state<Provider>::make(std::move(executor), std::move(provider)));
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI
