// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/detail/link.hpp>
#include <cofferdam/warden/detail/warden_files.hpp>
#include <cofferdam/warden/detail/warden_launcher.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

template <class = void>
class basic_warden_session_files;
using warden_session_files = basic_warden_session_files<>;

/// The files that a warden reaches. Operations fail once the session is closed.
template <class Unused>
class basic_warden_session_files final : public session_files_adaptor<basic_warden_session_files<Unused>> {
 public:
  explicit basic_warden_session_files(std::shared_ptr<warden_launcher> launcher) : launcher_(std::move(launcher)) {}

  awaitable<void> adopt(std::string path, std::string from, std::uint64_t size,
                        std::optional<std::uint32_t> mode) override {
    return call([path = std::move(path), from = std::move(from), size, mode](auto& files) {
      return files.adopt(path, from, size, mode);
    });
  }

  template <class Operation>
  auto call(Operation operation) {
    auto makes = [launcher = launcher_] { return warden_launcher::files(launcher); };
    return on_made(std::move(makes), std::move(operation));
  }

 private:
  std::shared_ptr<warden_launcher> launcher_;
};

}  // namespace detail

template <class = void>
class basic_warden_session;
/// The name of `basic_warden_session<>` in programs.
using warden_session = basic_warden_session<>;

/// A session with a warden (the helper program in a sandbox) at the other end of a stream.
///
/// When a command has ended, all of its processes have ended, even those that have tried to escape from their process
/// group. If the stream ends, every pending command fails with error{exec_errc::provider_lost} and its output so far.
/// The destructor closes the stream if `close()` was not called. The warden then ends all commands.
template <class Unused>
class basic_warden_session : public command_session {
 public:
  /// Makes an object without a session.
  basic_warden_session() = default;

  /// Connects to a warden over a stream with coroutine operations, for example a `byte_stream`. The stream must carry
  /// nothing else.
  /// \param executor  the executor for all work of the session.
  /// \param stream  the connection to the warden, which the session then owns.
  /// \param settings  the settings of the session and its commands.
  /// \throws error{exec_errc::provider_failed} if no warden of this library's version answers in time;
  ///     error{exec_errc::cancelled}.
  template <coroutine_stream Stream>
  static awaitable<basic_warden_session> open(asio::any_io_executor executor, Stream stream,
                                              warden_settings settings = warden_settings()) {
    std::shared_ptr<detail::warden_link> link =
        std::make_shared<detail::coroutine_link<Stream>>(executor, std::move(stream));
    return meet(std::make_shared<detail::networked_launcher>(executor, std::move(settings), std::move(link)));
  }

  /// Connects to a warden over an asynchronous stream of Asio, or any type that models Asio's requirements and has
  /// `close()`. The stream must carry nothing else.
  /// \param stream  the connection to the warden, which the session then owns.
  /// \param settings  the settings of the session and its commands.
  /// \throws error{exec_errc::provider_failed} if no warden of this library's version answers in time;
  ///     error{exec_errc::cancelled}.
  template <class Stream>
  static awaitable<basic_warden_session> open(Stream stream, warden_settings settings = warden_settings()) {
    asio::any_io_executor executor = stream.get_executor();
    std::shared_ptr<detail::warden_link> link = std::make_shared<detail::stream_link<Stream>>(std::move(stream));
    return meet(std::make_shared<detail::networked_launcher>(executor, std::move(settings), std::move(link)));
  }

  /// Connects to a warden on this machine over a connected Unix socket. This program then makes the pipes of commands
  /// and passes them to the warden, so that output does not go through the warden.
  /// \param executor  the executor for all work of the session.
  /// \param socket    the socket, non-blocking.
  /// \param settings  the settings of the session and its commands.
  /// \throws error{exec_errc::provider_failed} if no warden of this library's version answers in time;
  ///     error{exec_errc::cancelled}.
  static awaitable<basic_warden_session> open(asio::any_io_executor executor, unique_fd socket,
                                              warden_settings settings = warden_settings()) {
    return open_as<detail::networked_launcher>(std::move(executor), std::move(socket), std::move(settings));
  }

  /// Returns the loopback network of the place where the commands run, as `command_session::network` does.
  guest_network network() const { return guest_network(warden()->reached_network()); }

  /// Returns the files beneath `warden_settings::root`. No path leads out of the root.
  std::shared_ptr<session_files> files() const { return std::make_shared<detail::warden_session_files>(warden()); }

  /// Ends the session and the warden, but not the processes that commands with `background_policy::keep` have left
  /// running. These continue without a warden, and their output is discarded.
  /// \param reason  the error of pending operations, and of all later ones.
  /// \param limit   the maximum time to wait for the end of the warden.
  awaitable<void> release(error reason, std::chrono::milliseconds limit) {
    return detail::warden_launcher::release(warden(), std::move(reason), limit);
  }

  /// Returns the warden's description of itself and its machine: version, architecture, ids and capabilities.
  const warden_hello& hello() const noexcept { return warden()->hello(); }

 protected:
  /// Connects to a warden on this machine. The session is of a backend that never calls `command_session::network`, so
  /// that programs without the network do not compile it.
  template <class Launcher = detail::warden_launcher>
  static awaitable<basic_warden_session> open_as(asio::any_io_executor executor, unique_fd socket,
                                                 warden_settings settings) {
    std::shared_ptr<detail::warden_link> link;
    try {
      link = std::make_shared<detail::socket_link>(executor, std::move(socket));
    } catch (const std::system_error& failure) {
      throw error(exec_errc::provider_failed, std::string("the warden's stream cannot be watched: ") + failure.what(),
                  failure.code());
    }
    return meet(std::make_shared<Launcher>(executor, std::move(settings), std::move(link)));
  }

 private:
  explicit basic_warden_session(std::shared_ptr<detail::warden_launcher> launcher)
      : command_session(std::move(launcher)) {}

  std::shared_ptr<detail::warden_launcher> warden() const noexcept {
    return std::static_pointer_cast<detail::warden_launcher>(launcher());
  }

  static awaitable<basic_warden_session> meet(std::shared_ptr<detail::warden_launcher> launcher) {
    basic_warden_session session(std::move(launcher));
    co_await detail::warden_launcher::greet(session.warden());
    co_return session;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI
