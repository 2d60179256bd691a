// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/warden_child.hpp>
#include <cofferdam/backends/local_policies.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/detail/core/short_pause.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/file_reader.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The sessions of `local` and `jail`: their network is reached only through `warden_session::network`, so that a
/// program compiles it only if it uses it.
class lean_session final : public warden_session {
 public:
  using warden_session::open_as;
};

template <class = void>
class basic_local_commands;
using local_commands = basic_local_commands<>;

/// The commands of a local environment: a warden's, or this program's own children.
template <class Unused>
class basic_local_commands {
 public:
  /// \param folder  a private folder.
  /// \param program  the path of a warden to use instead of the built-in one; empty: the built-in one.
  static awaitable<basic_local_commands> open(asio::any_io_executor executor, warden_settings settings,
                                              warden_policy policy, std::filesystem::path program,
                                              std::filesystem::path folder, std::vector<int> control_groups) {
    std::string why;
    if (policy != warden_policy::never) {
      std::exception_ptr failure;
      try {
        const auto starts = [&]() -> awaitable<started_warden> { co_return start(program, folder, control_groups); };
        basic_local_commands commands = co_await open_warden(executor, settings, starts, mark_in(folder));
        co_return commands;
      } catch (...) {
        failure = std::current_exception();
      }
      why = reason_to_go_on(failure, policy);
    }
    isolation_report isolation;
    isolation.set(isolation_kind::process_tree, why.empty() ? "process group" : "process group only, because " + why);
    isolation.set(isolation_kind::secrets, "readable");
    settings.commands.isolation = std::make_shared<const isolation_report>(std::move(isolation));
    co_return basic_local_commands(child_processes(std::move(executor), std::move(settings.commands)));
  }

  /// Starts a warden and begins a session with it.
  /// \param starts  starts the warden; kept by the caller until the awaitable completes.
  /// \param mark    a variable, `NAME=value`, that no other process has and every command gets; empty if the kernel
  ///                ends all commands with the warden.
  static awaitable<basic_local_commands> open_warden(asio::any_io_executor executor, warden_settings settings,
                                                     const std::function<awaitable<started_warden>()>& starts,
                                                     std::string mark) {
    reaper::instance().sweep();
    warden_child child;
    std::optional<warden_session> session;
    const std::chrono::milliseconds grace = settings.commands.kill_grace;
    const auto begins = [&]() -> awaitable<void> {
      started_warden started = co_await starts();
      child = warden_child(started);
      warden_settings copy = settings;
      hold(copy, child, mark);
      warden_session opened = co_await lean_session::open_as(executor, std::move(started.socket), std::move(copy));
      session.emplace(std::move(opened));
    };
    const auto kills = [&child] {
      child.kill();
      return until_ended(child);
    };
    co_await with_cleanup_after_failure(begins, kills);
    co_return basic_local_commands(std::move(*session), std::move(child), grace, std::move(mark));
  }

  command_session& session() noexcept { return warden_ ? warden_ : session_; }
  const command_session& session() const noexcept { return warden_ ? warden_ : session_; }
  /// Returns the files beneath `warden_settings::root`, reached through the warden; null without one.
  const std::shared_ptr<session_files>& files() {
    if (!files_ && warden_) files_ = warden_.files();
    return files_;
  }

  /// Returns the loopback network of the commands.
  /// \throws error{exec_errc::unsupported} without a warden.
  guest_network network() const { return warden_ ? warden_.network() : session_.network(); }

  /// Ends everything and waits for the end, at most the grace period and 5 s. This object must live until then.
  /// \throws error{exec_errc::provider_lost} with a list of the processes that were still alive; they were sent
  /// SIGKILL.
  awaitable<void> close() {
    if (!has_warden()) {
      co_await session().close();
      co_return;
    }
    const auto until = std::chrono::steady_clock::now() + grace_ + warden_patience;
    bool has_given_up = false;
    try {
      co_await session().close();
    } catch (const error& failure) {
      if (failure.code() != exec_errc::provider_lost) throw;
      has_given_up = true;
    }
    const bool is_gone = co_await child_.ended(until);
    if (is_gone && child_.is_sound() && !has_given_up) co_return;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::vector<table_entry> survivors = alive();
    // If the warden was killed, each command's supervisor ends that command.
    while (is_gone && !survivors.empty() && std::chrono::steady_clock::now() < until) {
      for (int i = 0; i < 10; ++i) co_await short_pause(executor);
      survivors = alive();
    }
    if (is_gone && survivors.empty()) co_return;
    // This program must kill the rest.
    const std::vector<table_entry> found = survivors;
    const auto last = std::chrono::steady_clock::now() + kill_patience;
    for (;;) {
      // The warden is ended last: as long as it exists, orphans stay beneath it.
      const bool is_last = survivors.empty() || std::chrono::steady_clock::now() >= last;
      for (const table_entry& one : survivors) kill_entry(one);
      if (is_last) break;
      co_await short_pause(executor);
      survivors = alive();
    }
    child_.kill();
    const bool is_reaped = co_await child_.ended(std::chrono::steady_clock::now() + kill_patience);
    survivors = alive();
    throw unended(found, survivors, is_gone, is_reaped);
  }

  void abandon() noexcept { session().abandon(); }

  /// Kills the warden, and makes pending and later commands fail with `reason`. A jail ends with its warden.
  void lose(const error& reason) noexcept {
    session().lose(reason);
    child_.kill();
  }

 private:
  // close() takes at most the grace period and 5 s: most of that for the warden, the rest for processes it has not
  // ended.
  static constexpr std::chrono::milliseconds warden_patience{4000};
  static constexpr std::chrono::milliseconds kill_patience{300};

  basic_local_commands(warden_session session, warden_child child, std::chrono::milliseconds grace, std::string mark)
      : warden_(std::move(session)), child_(std::move(child)), grace_(grace), mark_(std::move(mark)) {}
  explicit basic_local_commands(command_session children) : session_(std::move(children)) {}

  bool has_warden() const noexcept { return child_.pid() != 0; }

  static awaitable<void> until_ended(warden_child& child) { co_await child.ended(); }

  /// A variable of every command.
  static std::string mark_in(const std::filesystem::path& folder) { return "TMPDIR=" + (folder / "tmp").native(); }

  /// Sets the functions with which a session handles a warden that a guest has stopped. The child outlives the
  /// session's commands.
  static void hold(warden_settings& settings, const warden_child& child, const std::string& mark) {
    const int pidfd = child.descriptor();
    const pid_t pid = child.pid();
    settings.rouse = [pidfd, pid] {
      const bool stood_still = is_stopped(pid);
      signal_process(pidfd, SIGCONT);
      return stood_still;
    };
    settings.end_all = [pidfd, pid, mark] {
      if (mark.empty()) {
        signal_process(pidfd, SIGKILL);
        return;
      }
      const auto last = std::chrono::steady_clock::now() + kill_patience;
      for (bool is_last = false; !is_last;) {  // a scan of thousands of processes may take longer than the whole time
        const std::vector<table_entry> survivors = living_of(pid, mark);
        is_last = survivors.empty() || std::chrono::steady_clock::now() >= last;
        for (const table_entry& one : survivors) kill_entry(one);
      }
      signal_process(pidfd, SIGKILL);
    };
  }

  /// Returns the living processes of commands, as this program sees them: beneath the warden, or, if it is gone, by the
  /// variable that every command gets.
  std::vector<table_entry> alive() const { return living_of(child_.is_there() ? child_.pid() : 0, mark_); }

  /// \param warden  0: it is gone.
  static std::vector<table_entry> living_of(pid_t warden, const std::string& mark) {
    std::vector<table_entry> found;
    if (warden != 0) found = living_below(warden);
    if (mark.empty()) return found;
    for (table_entry& one : living_with_variable(mark)) {
      const auto is_it = [&one](const table_entry& known) { return known.pid == one.pid; };
      if (std::none_of(found.begin(), found.end(), is_it)) found.push_back(std::move(one));
    }
    return found;
  }

  error unended(const std::vector<table_entry>& found, const std::vector<table_entry>& survivors, bool was_gone,
                bool is_reaped) const {
    std::string text = "close: the warden (process " + std::to_string(child_.pid()) + ") ";
    text += was_gone ? "was killed" : "did not exit in time";
    text += found.empty() ? "; none of its commands was running" : "; its running commands were " + list_of(found);
    text += "; this program sent SIGKILL";
    if (!survivors.empty()) {
      text += "; still alive: " + list_of(survivors);
    } else {
      text += is_reaped ? "; everything has ended" : "; the warden is still running";
    }
    return error(exec_errc::provider_lost, text);
  }

  /// Returns the reason why there is no warden, if the policy allows to continue; otherwise rethrows.
  static std::string reason_to_go_on(const std::exception_ptr& failure, warden_policy policy) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& reason) {
      if (policy == warden_policy::require || reason.code() != exec_errc::provider_failed) throw;
      return reason.what();
    } catch (const std::system_error& reason) {
      rethrow_cancellation(reason, "open: cancelled while the warden was starting");
    }
  }

  static started_warden start(const std::filesystem::path& program, const std::filesystem::path& folder,
                              const std::vector<int>& control_groups) {
    if (program.empty()) return start_warden(native_warden_image().program(), folder, control_groups);
    const bytes content = file_reader::open_host(program.string()).read_rest(max_program);
    return start_warden({reinterpret_cast<const unsigned char*>(content.data()), content.size()}, folder,
                        control_groups);
  }

  static constexpr std::size_t max_program = 16 * 1024 * 1024;

  warden_session warden_;    // empty without a warden
  command_session session_;  // used without a warden
  std::shared_ptr<session_files> files_;
  warden_child child_;
  std::chrono::milliseconds grace_{0};
  std::string mark_;  // empty if the kernel ends all commands with the warden
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
