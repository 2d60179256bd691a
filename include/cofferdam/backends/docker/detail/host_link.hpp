// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/attached_stream.hpp>
#include <cofferdam/backends/docker/owner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/os/pipe.hpp>
#include <cofferdam/os/random_text.hpp>
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

namespace cofferdam::inline v0::docker::detail {

/// A socket of this program's that the warden of one container connects to, where both are on one machine: then nothing
/// has to go through the daemon, and the commands' pipes can be handed over.
///
/// It stands in a folder that nobody but this user can enter, and that is mounted, read-only, into that one container.
/// The first who comes is met; that is the warden, since nothing else runs there yet. Then socket and folder are gone.
/// The warden gets pipes over it and nothing else of this machine: a guest could change whatever else came.
class host_link {
 public:
  /// Where the folder is in the container, and the socket there.
  static constexpr std::string_view folder_at = "/.cofferdam-host";
  static constexpr std::string_view socket_at = "/.cofferdam-host/socket";

  /// \return  nothing where none can be made: it makes commands faster, and is not needed.
  static std::shared_ptr<host_link> open(const asio::any_io_executor& executor, const owner& here) {
    std::error_code failure;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(failure);
    if (failure || !temporary.is_absolute()) return nullptr;
    std::string home = (temporary / (name_of(here) + "-" + cofferdam::detail::random_digits())).string();
    auto made = std::make_shared<host_link>(executor, std::move(home));
    return made->listen() ? made : nullptr;
  }

  host_link(const asio::any_io_executor& executor, std::string home)
      : home_(std::move(home)), listener_(executor), patience_(executor) {}
  host_link(const host_link&) = delete;
  host_link& operator=(const host_link&) = delete;
  ~host_link() { remove(home_); }

  /// The folder on this machine.
  std::string folder() const { return home_ + "/link"; }

  /// Waits for the warden, which comes, or else speaks over its standard streams.
  /// \param stream  of the container, kept by the caller; it is closed where the warden comes.
  /// \return        the connection, non-blocking; nothing where the stream is to be used.
  /// \throws        what the stream throws; error{errc::provider_failed} where nothing has been heard for `patience`.
  static awaitable<unique_fd> meet(std::shared_ptr<host_link> self, attached_stream& stream,
                                   std::chrono::milliseconds patience) {
    self->waits_for_ = &stream;
    self->listener_.async_accept([self](std::error_code failure, asio::local::stream_protocol::socket met) {
      if (!failure && self->waits_for_ != nullptr) self->came(std::move(met));
    });
    self->patience_.expires_after(patience);
    self->patience_.async_wait([self](std::error_code failure) {
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
    std::error_code ignored;  // an acceptor of a path
    self->listener_.close(ignored);
    self->patience_.cancel();
    remove(self->home_);
    if (failure && failure->code() == errc::cancelled) throw *failure;
    if (self->met_) co_return std::move(self->met_);
    if (!in_time)
      throw error(errc::provider_failed, "docker: the warden did not say a word within " +
                                             std::to_string(patience.count()) + " ms, and did not end either");
    if (failure) throw *failure;
    co_return unique_fd();
  }

  /// Removes what processes of this host that are dead have left.
  static void sweep(const owner& here) {
    std::error_code failure;
    const std::filesystem::path temporary = std::filesystem::temp_directory_path(failure);
    std::filesystem::directory_iterator one(temporary, failure);
    for (; !failure && one != std::filesystem::directory_iterator(); one.increment(failure))
      if (is_left_over(one->path().filename().string(), here)) remove(one->path().string());
  }

 private:
  static constexpr std::string_view start_of_name = "cofferdam-host-";

  static std::string name_of(const owner& one) {
    return std::string(start_of_name) + std::to_string(one.pid_namespace()) + "-" + std::to_string(one.pid()) + "-" +
           std::to_string(one.start_time());
  }

  /// Whether the name is that of a process that this one could see, and which is not there.
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

  // Not what somebody else has put under such a name: no link is followed, what is not this user's is left alone, and only
  // these three go.
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
    // The container's user may be any: what it passes is open to all, behind a door that only the daemon goes through.
    if (::mkdir(home_.c_str(), 0700) != 0) return false;
    if (::mkdir(folder().c_str(), 0700) != 0 || ::chmod(folder().c_str(), 0755) != 0) return false;
    // By a name that is short, and tells nothing of this machine: the container finds it in its /proc/net/unix.
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
  attached_stream* waits_for_ = nullptr;  // while `meet` awaits it
  unique_fd met_;
};

}  // namespace cofferdam::inline v0::docker::detail
