// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/jail_plan.hpp>
#include <cofferdam/backends/detail/jail_walls.hpp>
#include <cofferdam/backends/detail/warden_child.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/os/control_group.hpp>
#include <cofferdam/detail/os/machine.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/os/seccomp_program.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the path of bubblewrap on this machine.
/// \param wanted  the path of `bubblewrap()`; empty: the first on this program's PATH that only root can change. A
///                program that others can change may come from a jail: a virtual environment in a workspace is on the
///                PATH while it is active.
/// \throws error{exec_errc::provider_failed} if there is none.
inline std::filesystem::path find_bubblewrap(const std::filesystem::path& wanted) {
  if (!wanted.empty()) {
    if (::access(wanted.c_str(), X_OK) == 0) return wanted;
    const std::error_code cause(errno, std::system_category());
    throw error(
        exec_errc::provider_failed,
        "jail: bubblewrap(\"" + one_line(wanted.string()) + "\"): " + cause.message() +
            "; name an executable file, or install the system's:" + copied_line("sudo apt-get install bubblewrap"),
        cause);
  }
  std::string refused;
  for (const std::string& candidate : program_candidates("bwrap", host_variable("PATH"))) {
    if (!is_program(candidate)) continue;
    if (belongs_to_root(candidate)) return candidate;
    if (refused.empty()) refused = candidate;
  }
  if (!refused.empty())
    throw error(exec_errc::provider_failed,
                "jail: '" + one_line(refused) +
                    "' is not used, because users other than root can change it or a folder above it, and so perhaps a "
                    "command in a jail; name it in the program, by jail().bubblewrap(\"" +
                    one_line(refused) +
                    "\"), or install the system's:" + copied_line("sudo apt-get install bubblewrap"));
  throw error(exec_errc::provider_failed, "jail: bubblewrap (bwrap) is not on the PATH of this program; install it:" +
                                              copied_line("sudo apt-get install bubblewrap"));
}

/// Returns what to do if this program may have too few files open.
inline std::string descriptor_advice() {
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return "this program may have " + (is_known ? "only " + std::to_string(limit.rlim_cur) : std::string("too few")) +
         " files open, which is too few to build a jail; allow 256 or more (ulimit -n, RLIMIT_NOFILE)";
}

/// Returns an error of `open()`, with advice if this program had too few descriptors. The step that fails first differs
/// with the number of files that the program has open.
inline error with_descriptor_advice(const error& failure) {
  const std::string text = failure.what();
  if (failure.cause() != std::errc::too_many_files_open || text.find("RLIMIT_NOFILE") != std::string::npos)
    return failure;
  return error(exec_errc::provider_failed,
               (text.starts_with("jail: ") ? "" : "jail: ") + text + "; " + descriptor_advice(), failure.cause());
}

template <class = void>
class basic_jail_start;
using jail_start = basic_jail_start<>;

/// The start of one jail: bubblewrap, and the warden as process 1 of the namespaces. The caller keeps it until the
/// awaitables complete.
template <class Unused>
class basic_jail_start {
 public:
  /// \param group  the control group of the jail; null if there is none.
  basic_jail_start(std::filesystem::path bubblewrap, jail_plan plan, jail_user user,
                   std::shared_ptr<const control_group> group)
      : bubblewrap_(std::move(bubblewrap)), plan_(std::move(plan)), user_(user), group_(std::move(group)) {}

  const jail_plan& plan() const noexcept { return plan_; }
  const jail_user& user() const noexcept { return user_; }
  /// Returns the number of process 1 of the jail, as the host counts.
  pid_t first_process() const noexcept { return first_process_; }
  /// Returns the walls that are requested of this bubblewrap: equal texts, equal walls.
  std::string requested() const {
    std::string text = bubblewrap_.string();
    struct stat status {};
    if (::stat(bubblewrap_.c_str(), &status) == 0) {
      const std::string changed = std::to_string(status.st_ctim.tv_sec) + '.' + std::to_string(status.st_ctim.tv_nsec);
      text += ' ' + std::to_string(status.st_dev) + ' ' + std::to_string(status.st_ino) + ' ' + changed;
    }
    return text + '\0' + plan_.requested();
  }

  /// Starts bubblewrap, and lets the warden begin.
  /// \throws error{exec_errc::provider_failed}; error{exec_errc::cancelled}. Nothing is left running then.
  awaitable<started_warden> begin() {
    unfinished_start begun;
    const auto builds = [&] { return build(begun.started); };
    const auto ends = [&] { return begun.end(); };
    co_await with_cleanup_after_failure(builds, ends);
    co_return std::exchange(begun.started, {});
  }

  /// Returns the error of a start that failed: with what bubblewrap has printed, and a remedy. Bubblewrap has ended.
  error explained(const error& failure) const {
    if (failure.code() != exec_errc::provider_failed || !complaints_) return failure;
    std::string text;
    char piece[2048];
    for (ssize_t got = 0; text.size() < 4096; text.append(piece, static_cast<std::size_t>(got))) {
      got = ::read(complaints_.get(), piece, sizeof piece);
      if (got <= 0) break;
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.empty()) return failure;
    return error(exec_errc::provider_failed,
                 "jail: bubblewrap could not build it: " + one_line(text) + "; " + bubblewrap_advice(text),
                 failure.cause());
  }

 private:
  /// A bubblewrap that has not finished its work. The destructor kills it, with the processes that it has made.
  class unfinished_start {
   public:
    unfinished_start() = default;
    unfinished_start(const unfinished_start&) = delete;
    unfinished_start& operator=(const unfinished_start&) = delete;
    ~unfinished_start() {
      if (!started.pidfd) return;
      kill();
      reaper::instance().adopt(std::move(started.pidfd));
    }

    /// Kills it, and waits until it has ended, so that its folders can be removed.
    awaitable<void> end() {
      if (!started.pidfd) co_return;
      kill();
      warden_child child(started);
      co_await child.ended(std::chrono::steady_clock::now() + std::chrono::seconds(1));
    }

    started_warden started;

   private:
    void kill() noexcept {
      signal_process(started.pidfd.get(), SIGKILL);
      // Without bubblewrap, a child that waits for its message would wait for ever. The child is in bubblewrap's
      // session, also if bubblewrap has ended before and process 1 is its parent now. Bubblewrap's number is not given
      // to another process before bubblewrap was reaped.
      try {
        for (const table_entry& each : process_table()) {
          if (each.session != started.pid || each.pid == started.pid) continue;
          if (!kill_entry(each)) ::kill(each.pid, SIGKILL);
        }
      } catch (const std::bad_alloc&) {  // without memory, the child is not found
      }
    }
  };

  /// Implements begin(). After a failure, `started` contains a bubblewrap that was started in vain, if there is one.
  awaitable<void> build(started_warden& started) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) throw cannot_start("socketpair", errno);
    started.socket.reset(ends[0]);
    unique_fd theirs(ends[1]);
    started.socket = usable(std::move(started.socket), "socketpair");
    set_nonblocking(started.socket);

    pipe_ends complaints = make_pipe();
    pipe_ends info = make_pipe();
    pipe_ends block = make_pipe();
    set_nonblocking(complaints.read_end);
    set_nonblocking(info.read_end);
    complaints_ = std::move(complaints.read_end);

    std::vector<unique_fd> passed;
    passed.push_back(in_memory(native_warden_image().program()));
    const std::vector<filter_instruction> filter = jail_filter(native_machine());
    if (filter.empty() || native_warden_image().program().empty())
      throw error(exec_errc::provider_failed,
                  "jail: there is no warden or system call filter for this kind of machine; use docker");
    const bytes filter_text = filter_bytes(filter);
    passed.push_back(in_memory(as_octets(filter_text)));
    passed.push_back(high(std::move(info.write_end)));
    passed.push_back(high(std::move(block.read_end)));
    for (const std::string& file : plan_.files())
      passed.push_back(in_memory({reinterpret_cast<const unsigned char*>(file.data()), file.size()}));
    // Bubblewrap also gets the end that this program reads, and uses it for nothing. Otherwise its report would have no
    // reader if this program is killed now. SIGPIPE would then end bubblewrap between its fork and the message on which
    // its child waits, and the child would wait for ever. So bubblewrap goes on, and the warden ends at once because
    // its stream has ended.
    passed.push_back(high(unique_fd(::fcntl(info.read_end.get(), F_DUPFD_CLOEXEC, 0))));

    theirs = high(std::move(theirs));
    const unique_fd nothing = high(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
    const unique_fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const unique_fd error_end = high(std::move(complaints.write_end));
    spawn_request request;
    request.candidates.push_back(bubblewrap_.string());
    request.words = plan_.arguments();
    request.input = request.output = nothing.get();
    request.error = error_end.get();
    request.control = theirs.get();
    request.directory = root.get();
    for (const unique_fd& each : passed) request.further.push_back(each.get());
    if (user_.is_other) {
      request.uid = user_.uid;
      request.gid = user_.gid;
    }
    if (group_) request.control_groups = group_->members();
    spawned made = spawn(request);
    if (!made.ok())
      throw error(exec_errc::provider_failed,
                  "jail: '" + bubblewrap_.string() + "' cannot be started: " + made.cause().message(), made.cause());
    started.pid = made.pid();
    started.pidfd = std::move(made.pidfd());
    passed.clear();

    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    started.inner_pid = co_await read_child(executor, std::move(info.read_end));
    started.inner_pidfd = watch(started.inner_pid, started.pid);
    first_process_ = started.inner_pid;
    block.write_end.reset();  // now the warden begins
  }

  static std::span<const unsigned char> as_octets(bytes_view content) noexcept {
    return {reinterpret_cast<const unsigned char*>(content.data()), content.size()};
  }

  /// Moves a descriptor to a number that `spawn_request::further` takes.
  static unique_fd high(unique_fd fd) {
    unique_fd moved(fd ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, spawn_request::first_borrowable) : -1);
    if (moved) return moved;
    const std::error_code cause(errno, std::system_category());
    if (cause.value() == EINVAL || cause.value() == EMFILE)
      throw error(exec_errc::provider_failed, "jail: " + descriptor_advice(), cause);
    throw cannot_start("descriptors", cause.value());
  }

  /// Makes a file in memory, to be read from its start.
  static unique_fd in_memory(std::span<const unsigned char> content) {
    unique_fd file(::memfd_create("cofferdam-jail", MFD_CLOEXEC));
    if (!file || !write_whole(file, content) || ::lseek(file.get(), 0, SEEK_SET) != 0)
      throw cannot_start("a file in memory", errno);
    return high(std::move(file));
  }

  static constexpr std::chrono::seconds patience{10};

  /// The pipe on which bubblewrap reports. The timer's handler shares it.
  class report_pipe {
   public:
    report_pipe(const asio::any_io_executor& executor, const unique_fd& fd) : pipe(executor, fd.get()) {}

    asio::posix::stream_descriptor pipe;
    bool is_late = false;
  };

  static std::shared_ptr<report_pipe> listen(const asio::any_io_executor& executor, unique_fd info) {
    try {
      auto report = std::make_shared<report_pipe>(executor, info);
      info.release();
      return report;
    } catch (const std::system_error& failure) {  // from Asio
      throw error(exec_errc::io_error, std::string("jail: bubblewrap cannot be watched: ") + failure.what(),
                  failure.code());
    }
  }

  /// Reads the process number that bubblewrap reports, as the host counts.
  static awaitable<pid_t> read_child(asio::any_io_executor executor, unique_fd info) {
    const std::shared_ptr<report_pipe> report = listen(executor, std::move(info));
    asio::steady_timer limit(executor, patience);
    on_expiry(limit, [report](std::error_code cancelled) {
      if (cancelled) return;
      report->is_late = true;
      std::error_code ignored;
      report->pipe.cancel(ignored);
    });
    std::string text;
    bool is_cancelled = false;
    for (;;) {
      char piece[1024];
      const ssize_t got = ::read(report->pipe.native_handle(), piece, sizeof piece);
      if (got > 0) text.append(piece, static_cast<std::size_t>(got));
      if (got == 0 || text.find('}') != std::string::npos || report->is_late || is_cancelled) break;
      if (got > 0 || errno == EINTR) continue;
      if (errno != EAGAIN) break;
      std::error_code woken;
      co_await report->pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                                       asio::redirect_error(asio::use_awaitable, woken));
      const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
      is_cancelled = state.cancelled() != asio::cancellation_type::none;
    }
    limit.cancel();
    const bool is_late = report->is_late;
    if (is_cancelled) throw error(exec_errc::cancelled, "open: cancelled while the jail was starting");
    constexpr std::string_view key = "\"child-pid\":";
    const std::size_t at = text.find(key);
    pid_t child = 0;
    if (at != std::string::npos) {
      const std::size_t digits = text.find_first_not_of(' ', at + key.size());
      if (digits != std::string::npos) std::from_chars(text.data() + digits, text.data() + text.size(), child);
    }
    if (child <= 0)
      throw error(exec_errc::provider_failed, is_late ? "jail: bubblewrap has not built it within 10 s"
                                                      : "jail: bubblewrap has ended before it had built it");
    co_return child;
  }

  /// Opens a descriptor of the warden's process, which is still the child of bubblewrap.
  static unique_fd watch(pid_t child, pid_t parent) {
    unique_fd process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    table_entry entry;
    if (!process || !parse_stat(proc_text("/proc/" + std::to_string(child) + "/stat"), entry) || entry.parent != parent)
      throw error(exec_errc::provider_failed, "jail: its first process has ended at once");
    return unique_fd::above_standard(std::move(process));
  }

  std::filesystem::path bubblewrap_;
  jail_plan plan_;
  jail_user user_;
  std::shared_ptr<const control_group> group_;
  unique_fd complaints_;
  pid_t first_process_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
