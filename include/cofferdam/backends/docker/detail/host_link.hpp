// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/attached_stream.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A socket of this program to which the warden (the helper program) of one container connects, if both run on the same
/// machine. The data then does not pass through the daemon, and the pipes of the commands can be passed over the socket
/// as descriptors.
///
/// The socket is in a folder that is mounted read-only into the container, and that no other user of this machine can
/// reach. Only the first connection is accepted. It comes from the warden, because no other program runs in the
/// container yet. Afterwards the socket and the folder are removed. Only descriptors of pipes are passed to the warden,
/// because a command in the container could modify any other kind of file.
class host_link {
 public:
  /// The path at which the folder of the socket is mounted in the container.
  static constexpr std::string_view folder_at = "/.cofferdam-host";
  /// The path of the socket in the container.
  static constexpr std::string_view socket_at = "/.cofferdam-host/socket";

  /// Makes the folder and the socket, and listens.
  /// \return  null on failure. The link makes commands faster, but it is not required.
  static std::shared_ptr<host_link> open(const asio::any_io_executor& executor, const owner& here) {
    std::error_code failure;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(failure);
    if (failure || !temporary.is_absolute()) return nullptr;
    std::string home = (temporary / (name_of(here) + "-" + cofferdam::detail::random_digits())).string();
    auto opened = std::make_shared<host_link>(executor, std::move(home));
    return opened->listen() ? opened : nullptr;
  }

  host_link(const asio::any_io_executor& executor, std::string home)
      : home_(std::move(home)), listener_(executor), patience_(executor) {}
  host_link(const host_link&) = delete;
  host_link& operator=(const host_link&) = delete;
  ~host_link() { remove(home_); }

  /// Returns the path of the folder of the socket on this machine.
  std::string folder() const { return home_ + "/link"; }

  /// Waits until the warden connects to the socket, or sends data on its standard output instead.
  /// \param stream  the standard streams of the container. The caller keeps it; it is closed if the warden connects.
  /// \return        the connection, in non-blocking mode; no value if the warden uses the standard streams.
  /// \throws        the exceptions of the stream; error{exec_errc::provider_failed} if nothing arrives within
  ///                `patience`.
  static awaitable<unique_fd> meet(std::shared_ptr<host_link> self, attached_stream& stream,
                                   std::chrono::milliseconds patience) {
    self->waits_for_ = &stream;
    self->listener_.async_accept([self](std::error_code failure, asio::local::stream_protocol::socket met) {
      if (!failure && self->waits_for_ != nullptr) self->came(std::move(met));
    });
    self->patience_.expires_after(patience);
    cofferdam::detail::on_expiry(self->patience_, [self](std::error_code failure) {
      if (!failure && self->waits_for_ != nullptr) self->stop_waiting();
    });
    std::optional<error> failure;
    try {
      co_await stream.fill();
    } catch (const error& reason) {
      failure = reason;
    }
    const bool in_time = self->waits_for_ != nullptr || self->met_;
    self->waits_for_ = nullptr;
    std::error_code ignored;  // a failed close is ignored: nothing uses the acceptor after this
    self->listener_.close(ignored);
    self->patience_.cancel();
    remove(self->home_);
    if (failure && failure->code() == exec_errc::cancelled) throw *failure;
    if (self->met_) co_return std::move(self->met_);
    if (!in_time)
      throw error(exec_errc::provider_failed, "docker: the warden sent no greeting within " +
                                                  std::to_string(patience.count()) + " ms and did not exit");
    if (failure) throw *failure;
    co_return unique_fd();
  }

  /// Removes the folders of host links that dead processes of this host have left behind.
  static void sweep(const owner& here) {
    std::error_code failure;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(failure);
    std::filesystem::directory_iterator entry(temporary, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure))
      if (is_left_over(entry->path().filename().string(), here)) remove(entry->path().string());
  }

 private:
  static constexpr std::string_view start_of_name = "cofferdam-host-";

  static std::string name_of(const owner& identity) {
    return std::string(start_of_name) + std::to_string(identity.pid_namespace()) + "-" +
           std::to_string(identity.pid()) + "-" + std::to_string(identity.start_time());
  }

  /// Returns true if the name of a folder identifies a dead process of this PID namespace.
  static bool is_left_over(std::string_view name, const owner& here) {
    if (!name.starts_with(start_of_name)) return false;
    name.remove_prefix(start_of_name.size());
    std::uint64_t numbers[3] = {};
    for (std::uint64_t& number : numbers) {
      const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (failure != std::errc() || end == name.data() + name.size() || *end != '-') return false;
      name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
    }
    if (numbers[0] != here.pid_namespace() || numbers[1] > 0x7fffffff) return false;
    const process_view seen = look_at_process(static_cast<std::int64_t>(numbers[1]));
    if (seen.what() == process_view::state::unknown) return false;
    return seen.what() == process_view::state::gone || seen.start_time() != numbers[2];
  }

  // Removes the outer folder `home`, the inner folder `link`, and the socket. Another program may have put something
  // under the same name. Therefore this function follows no symbolic link, leaves folders of other users unchanged, and
  // removes nothing else.
  static void remove(const std::string& home) noexcept {
    constexpr int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const unique_fd door(::open(home.c_str(), flags));
    struct stat status {};
    if (!door || ::fstat(door.get(), &status) != 0 || status.st_uid != ::geteuid()) return;
    if (const unique_fd inside{::openat(door.get(), "link", flags)}) ::unlinkat(inside.get(), "socket", 0);
    ::unlinkat(door.get(), "link", AT_REMOVEDIR);
    ::rmdir(home.c_str());
  }

  bool listen() {
    // The warden may run as any user, so all users may enter the inner folder. The outer folder protects the inner one,
    // because only this user and the daemon can enter the outer folder.
    if (::mkdir(home_.c_str(), 0700) != 0) return false;
    if (::mkdir(folder().c_str(), 0700) != 0 || ::chmod(folder().c_str(), 0755) != 0) return false;
    // The socket is bound under a name in /proc/self/fd, because commands in the container can read the name in
    // /proc/net/unix. Such a name reveals nothing about this machine, and is short enough for a socket address.
    const unique_fd inside(::open(folder().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inside) return false;
    const std::string name = "/proc/self/fd/" + std::to_string(inside.get()) + "/socket";
    std::error_code failure;
    listener_.open(asio::local::stream_protocol(), failure);
    if (!failure) listener_.bind(asio::local::stream_protocol::endpoint(name), failure);
    if (!failure) listener_.listen(1, failure);
    return !failure && ::chmod((folder() + "/socket").c_str(), 0666) == 0;
  }

  void came(asio::local::stream_protocol::socket met) {
    std::error_code failure;
    met_.reset(met.release(failure));
    if (failure || !met_) return;
    cofferdam::detail::set_nonblocking(met_);
    stop_waiting();
  }

  void stop_waiting() noexcept { std::exchange(waits_for_, nullptr)->close(); }

  std::string home_;
  asio::local::stream_protocol::acceptor listener_;
  asio::steady_timer patience_;
  attached_stream* waits_for_ = nullptr;  // the stream that `meet` awaits, or null
  unique_fd met_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
