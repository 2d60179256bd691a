// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/host_folders.hpp>
#include <cofferdam/backends/detail/host_state.hpp>
#include <cofferdam/backends/detail/jail_cover_watch.hpp>
#include <cofferdam/backends/detail/jail_limits.hpp>
#include <cofferdam/backends/detail/jail_plan.hpp>
#include <cofferdam/backends/detail/jail_protection.hpp>
#include <cofferdam/backends/detail/jail_python.hpp>
#include <cofferdam/backends/detail/jail_settings.hpp>
#include <cofferdam/backends/detail/jail_start.hpp>
#include <cofferdam/backends/detail/jail_walls.hpp>
#include <cofferdam/backends/detail/local_commands.hpp>
#include <cofferdam/backends/detail/local_shell.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/control_group.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/os/shown_file.hpp>
#include <cofferdam/os/directory.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the host's namespaces, by name.
inline std::map<std::string, std::string, std::less<>> host_namespaces() {
  std::map<std::string, std::string, std::less<>> all;
  for (const std::string_view name : jail_namespaces) {
    std::error_code failure;
    std::string link = std::filesystem::read_symlink("/proc/self/ns/" + std::string(name), failure).string();
    if (!failure) all.emplace(name, std::move(link));
  }
  return all;
}

/// Returns what this machine's /proc shows of process 1 of a jail, in the form of the proof; empty if it may not be
/// read.
inline std::string facts_of(pid_t process) {
  namespace fs = std::filesystem;
  const std::string folder = "/proc/" + std::to_string(process) + "/";
  std::string text;
  for (const char* const file : {"status", "net/dev", "mountinfo"}) {
    const std::string content = proc_text(folder + file);
    if (content.empty()) return "";
    text += content;
  }
  std::error_code failure;
  for (const std::string_view name : jail_namespaces)
    text.append(fs::read_symlink(folder + "ns/" + std::string(name), failure).string()).append("\n");
  for (fs::directory_iterator each(folder + "root", failure), end; !failure && each != end; each.increment(failure))
    text.append("root /").append(each->path().filename().string()).append("\n");
  return failure ? "" : text;
}

/// The requested walls that this process has seen proven from inside.
class proven_walls {
 public:
  static bool contains(const std::string& requested) {
    const std::lock_guard lock(mutex());
    return all().find(requested) != all().end();
  }
  static void add(std::string requested) {
    const std::lock_guard lock(mutex());
    if (all().size() >= max_remembered) all().clear();
    all().insert(std::move(requested));
  }

 private:
  static constexpr std::size_t max_remembered = 64;

  static std::mutex& mutex() {
    static std::mutex only;
    return only;
  }
  static std::set<std::string>& all() {
    static std::set<std::string> only;
    return only;
  }
};

/// Returns the isolation of a jail whose walls were proven.
inline isolation_report describe_jail(const jail_settings& settings, const control_group* group) {
  // The warden uses the same kernel. LANDLOCK_CREATE_RULESET_VERSION
  const bool has_scope = settings.landlock >= 6 && ::syscall(444, nullptr, 0, 1) >= 6;
  const jail_limits& limits = settings.limits;
  const auto bytes_of = [](std::uint64_t most) { return std::to_string(most) + " bytes"; };
  isolation_report report;
  report.set(isolation_kind::process_tree, "process namespace: everything the command started");
  report.set(isolation_kind::host_death, "process namespace: everything in the jail");
  std::string files = "private root, read-only; workspace";
  if (limits.workspace_size) files += " (in memory, at most " + bytes_of(*limits.workspace_size) + " by tmpfs)";
  for (const jail_mount& each : settings.mounts)
    files += (each.is_writable ? ", writable " : ", read-only ") + one_line(each.path.string());
  report.set(isolation_kind::files, std::move(files));
  if (settings.network == network_policy::none)
    report.set(isolation_kind::network, "network namespace: a loopback interface alone");
  report.set(isolation_kind::signals,
             has_scope ? "process namespace; Landlock: only what the command started" : "process namespace");
  report.set(isolation_kind::system_calls, "seccomp: a deny list; no capabilities, no new privileges");
  report.set(isolation_kind::secrets, "process and user namespace: not visible");
  limits.describe(report, group);
  const auto add = [&report](isolation_kind which, const std::string& words) {
    const std::string_view before = report.of(which);
    report.set(which, before == "none" ? words : std::string(before) + "; " + words);
  };
  add(isolation_kind::memory, "/tmp and /dev/shm: " + bytes_of(limits.max_temporary_size()) + " each (tmpfs)");
  if (group == nullptr || !group->limits_processes())
    add(isolation_kind::process_count,
        std::to_string(limits.max_processes()) + " in all, with the warden's (RLIMIT_NPROC in a user namespace)");
  if (limits.cpus && group != nullptr)
    add(isolation_kind::processor_time, number_text(*limits.cpus) + " CPUs in all (" + group->cpu_mechanism() + ")");
  if (limits.workspace_size) add(isolation_kind::disk, "workspace: " + bytes_of(*limits.workspace_size) + " (tmpfs)");
  return report;
}

/// The parameter of `host_state` for jails: the walls, the visible folders, and what a jail removes when it closes.
template <class Unused>
class basic_jail_place {
 public:
  using settings_type = jail_settings;
  using state = host_state<basic_jail_place>;

  static constexpr const char* name = "jail";
  static constexpr const char* nothing_open =
      "jail: there is no environment (default-constructed or moved from); open one with jail().open()";

  static awaitable<std::shared_ptr<state>> open(asio::any_io_executor executor,
                                                std::shared_ptr<const jail_settings> settings) {
    if (settings->limits.workspace_size && !settings->workspace.empty())
      throw error(exec_errc::invalid_argument,
                  "jail: workspace_size() keeps the workspace in memory, and workspace() names a folder; use one of "
                  "them");
    std::string shell = find_shell("jail", settings->shell);
    std::filesystem::path program = bubblewrap_of(*settings);
    std::shared_ptr<host_folders> folders;
    try {
      folders = std::make_shared<host_folders>("jail", settings->temporary_base, settings->workspace);
      require_same_path(*settings, *folders);
      const jail_user user = choose_jail_user(settings->workspace.empty() ? -1 : folders->workspace_fd());
      if (user.is_other) folders->give_workspace_to(user.uid, user.gid);
      const bool is_in_memory = settings->limits.workspace_size.has_value();
      auto protection = std::make_shared<workspace_protection>(
          is_in_memory ? std::filesystem::path() : folders->workspace(), settings->protected_names);
      std::string obstacle;
      std::shared_ptr<control_group> group = group_for(settings->limits, obstacle);
      jail_plan plan(*settings, folders->workspace(), user, shell, protection->paths(), group.get());
      jail_start start(std::move(program), std::move(plan), user, group);
      basic_jail_place place(settings, start.plan().visible(), std::move(protection), std::move(group));
      const auto builds = [&] { return build(executor, std::move(place), folders, std::move(shell), start); };
      std::shared_ptr<state> opened = co_await with_alternatives(*settings, builds);
      co_return opened;
    } catch (const error& failure) {
      folders.reset();
      reaper::instance().sweep();
      throw with_descriptor_advice(failure);
    } catch (...) {
      folders.reset();
      reaper::instance().sweep();
      throw;
    }
  }

  basic_jail_place(std::shared_ptr<const jail_settings> settings, std::vector<std::string> visible,
                   std::shared_ptr<workspace_protection> protection, std::shared_ptr<control_group> group)
      : settings_(std::move(settings)),
        visible_(std::move(visible)),
        protection_(std::move(protection)),
        group_(std::move(group)),
        limit_watch_(std::make_shared<jail_limit_watch>(settings_->limits, group_)),
        isolation_(describe_jail(*settings_, group_.get())) {}

  const isolation_report& isolation() const noexcept { return isolation_; }

  std::vector<std::string> variables(const host_folders&, const std::string& shell) const {
    return {"PATH=" + std::string(default_path),
            "HOME=" + settings_->workspace_path,
            "SHELL=" + shell,  // otherwise bash queries the user database
            "LANG=C.UTF-8",
            "TERM=dumb",
            "TMPDIR=/tmp"};
  }

  session_files& files(host_folders&, local_commands& commands) const { return *commands.files(); }

  /// Directories are passed by name: an open directory of the host would lead its way up, past the walls.
  bool enter(host_folders&, const command& c, spawn_request& request, unique_fd&) const {
    request.directory_path = settings_->workspace_path;
    return c.working_directory() == ".";
  }
  static awaitable<void> resolve(std::shared_ptr<state> self, const command& c, spawn_request& request) {
    try {
      request.directory_path = co_await self->commands().files()->directory_path(c.working_directory());
    } catch (const error& failure) {
      throw_working_directory_error(failure, c.working_directory());
    }
  }

  /// A program that the jail does not show is refused with the line that would show it. A model reads this text, so it
  /// is the same whether this machine has the program or not.
  std::optional<command_result> judge(const host_folders&, const command& c, std::string&) const {
    if (c.is_shell() || c.words().empty() || !c.words().front().starts_with('/')) return std::nullopt;
    const std::filesystem::path program = std::filesystem::path(c.words().front()).lexically_normal();
    const auto holds = [&program](const std::string& folder) { return is_within(program, folder); };
    if (std::any_of(visible_.begin(), visible_.end(), holds)) return std::nullopt;
    return command_result::refused(error_kind::execution_error,
                                   "Cannot run " + one_line(program.string()) + ": it is not visible in the jail",
                                   "If this machine has it, add to the recipe: .mount_read_only(\"" +
                                       one_line(folder_of_program(program).string()) + "\")");
  }

  bool can_be_lost() const noexcept { return static_cast<bool>(watch_); }
  std::optional<error> lost() const { return watch_ ? watch_->lost() : std::nullopt; }

  bool closed() const {
    if (watch_) watch_->stop();
    limit_watch_->forget_folders();
    if (protection_) protection_->remove_stubs();
    return !group_ || group_->remove();
  }

 private:
  /// Returns the folder that a program needs, by its path alone: the folder above its `bin`, or its own. If that is the
  /// root, a home, or a folder of homes, returns the next folder that is none, or the program.
  static std::filesystem::path folder_of_program(const std::filesystem::path& program) {
    const std::filesystem::path home = std::filesystem::path(host_variable("HOME")).lexically_normal();
    const auto is_too_much = [&home](const std::filesystem::path& folder) {
      const std::filesystem::path above = folder.parent_path();
      return above == folder || above == above.root_path() || above == "/home" || is_within(home, folder);
    };
    const std::filesystem::path folder = program.parent_path();
    if (folder.filename() == "bin" && !is_too_much(folder.parent_path())) return folder.parent_path();
    return is_too_much(folder) ? program : folder;
  }

  /// Refuses a workspace in whose path a link has appeared since the option was set.
  static void require_same_path(const jail_settings& settings, const host_folders& folders) {
    if (settings.workspace.empty() || settings.workspace_has_links || folders.workspace() == settings.workspace) return;
    throw error(exec_errc::provider_failed,
                "jail: workspace(\"" + one_line(settings.workspace.string()) +
                    "\"): a part of the path has become a symbolic link since the option was set; keep other programs "
                    "from its folders, or name the path that is meant");
  }

  /// Compares what the jail shows with the files and folders that were examined before: another program may have put a
  /// link in the path meanwhile.
  static void require_sources(const jail_root& root, const jail_plan& plan) {
    for (const jail_source& each : plan.sources()) {
      const auto hides = [&each](const jail_cover& cover) { return is_within(each.place, cover.place); };
      if (std::any_of(plan.covers().begin(), plan.covers().end(), hides)) continue;
      const std::optional<shown_file> there = shown_file::of(root.find(each.place, link_policy::follow));
      const std::optional<shown_file> wanted = shown_file::of(each.file);
      if (there && wanted && there->is_same_file(*wanted)) continue;
      throw error(exec_errc::provider_failed, "jail: " + each.call +
                                                  ": a part of the path was replaced while the jail was built; keep "
                                                  "other programs from its folders");
    }
  }

  /// Looks for the files and folders that must be hidden, at each place at which a mount of the jail can show them, and
  /// at the path that the option names.
  static void require_hidden(const jail_root& root, const jail_plan& plan, pid_t first_process) {
    if (plan.hidden().empty()) return;
    const mount_table mounts(proc_text("/proc/" + std::to_string(first_process) + "/mountinfo"));
    const auto fail = [](const hidden_file& each, const std::filesystem::path& place) {
      throw error(exec_errc::provider_failed, "jail: " + each.call + ": the jail shows it at '" +
                                                  one_line(place.string()) +
                                                  "'; hide the file or folder itself, by a path without links");
    };
    for (const hidden_file& each : plan.hidden()) {
      const std::optional<shown_file> wanted = shown_file::of(each.file);
      if (wanted && each.location) {
        for (const std::filesystem::path& place : mounts.places_of(*each.location)) {
          const std::optional<shown_file> there = shown_file::of(root.find(place.string(), link_policy::refuse));
          if (there && there->is_same_file(*wanted)) fail(each, place);
        }
      }
      const std::optional<shown_file> named = shown_file::of(root.find_as_command(each.named.string()));
      if (!named) continue;
      const auto is_it = [&](const jail_cover& cover) {
        return shown_file::of(root.find(cover.place, link_policy::refuse)) == named;
      };
      if (std::none_of(plan.covers().begin(), plan.covers().end(), is_it)) fail(each, each.named);
    }
  }

  static std::filesystem::path bubblewrap_of(const jail_settings& settings) {
    try {
      return find_bubblewrap(settings.bubblewrap);
    } catch (const error& failure) {
      throw with_alternatives(settings, failure);
    }
  }

  /// Adds the other choices to an error about walls that cannot be built.
  static error with_alternatives(const jail_settings& settings, const error& failure) {
    if (failure.code() != exec_errc::provider_failed || settings.alternatives.empty()) return failure;
    return error(exec_errc::provider_failed, std::string(failure.what()) + "\n" + settings.alternatives,
                 failure.cause());
  }

  template <class Build>
  static awaitable<std::shared_ptr<state>> with_alternatives(const jail_settings& settings, Build& builds) {
    std::optional<error> failure;
    try {
      std::shared_ptr<state> opened = co_await builds();
      co_return opened;
    } catch (const error& reason) {
      failure = with_alternatives(settings, reason);
    }
    throw *failure;
  }

  /// Builds the walls and proves them.
  static awaitable<std::shared_ptr<state>> build(asio::any_io_executor executor, basic_jail_place place,
                                                 std::shared_ptr<host_folders> folders, std::string shell,
                                                 jail_start& start) {
    std::shared_ptr<state> opened;
    const auto builds_and_proves = [&]() -> awaitable<void> {
      local_commands commands = co_await begin(executor, place, start);
      opened = std::make_shared<state>(executor, std::move(place), folders, std::move(commands), std::move(shell));
      co_await prove(opened, start);
    };
    const auto ends = [&]() -> awaitable<void> {
      if (!opened) return {};
      return state::close(opened);
    };
    co_await with_cleanup_after_failure(builds_and_proves, ends);
    co_return opened;
  }

  /// Starts bubblewrap and begins a session with its warden. The caller keeps `place` and `start` until the
  /// awaitable completes.
  static awaitable<local_commands> begin(asio::any_io_executor executor, const basic_jail_place& place,
                                         jail_start& start) {
    const std::shared_ptr<const jail_settings> settings = place.settings_;
    warden_settings wanted;
    wanted.commands = settings->commands;
    wanted.commands.isolation = std::make_shared<const isolation_report>(place.isolation());
    wanted.landlock = settings->landlock;
    wanted.root = settings->workspace_path;
    wanted.commands_are_of_another_user = start.user().is_other;
    wanted.limits = settings->limits.for_each_process(place.group_.get());
    const std::shared_ptr<jail_limit_watch> watch = place.limit_watch_;
    wanted.explain_end = [watch](command_result& result) { watch->explain(result); };
    wanted.explain_loss = [watch](const error& reason) { return watch->explain_loss(reason); };
    std::optional<error> failure;
    try {
      const auto starts = [&start] { return start.begin(); };
      local_commands commands = co_await local_commands::open_warden(executor, std::move(wanted), starts, "");
      watch->add_folders(start.first_process(), settings->workspace_path);
      co_return commands;
    } catch (const error& reason) {
      failure = start.explained(reason);
    }
    throw *failure;
  }

  /// Proves the walls: from inside if this process has not yet done so for the same requested walls, and in any case by
  /// what the kernel shows of process 1, from which all others descend.
  /// \throws error{exec_errc::provider_failed} with the name of the wall that is missing.
  static awaitable<void> prove(std::shared_ptr<state> self, const jail_start& start) {
    jail_root root(start.first_process());
    wanted_walls wanted;
    for (const jail_cover& each : start.plan().covers()) wanted.covered.push_back(each.place);
    wanted.host_namespaces = host_namespaces();
    wanted.has_network = self->place().settings_->network == network_policy::host;
    wanted.visible = start.plan().visible();
    wanted.writable = start.plan().writable();
    wanted.read_only = start.plan().read_only();
    root.make_private(start.first_process());
    require_sources(root, start.plan());
    require_hidden(root, start.plan(), start.first_process());
    self->place().require_protected(start.first_process());
    if (!start.plan().covers().empty()) watch_covers(self, std::move(root), start.plan().covers());
    const std::string facts = facts_of(start.first_process());
    if (!facts.empty()) {
      wanted.processes = 1;
      wanted.user_id = std::to_string(start.user().uid);
      wanted.group_id = std::to_string(start.user().gid);
      require_all(seen_walls(facts), wanted);
    }
    std::string requested = start.requested();
    if (!facts.empty() && proven_walls::contains(requested)) co_return;
    wanted.processes = 2;
    wanted.user_id = wanted.group_id = inside_id;
    co_await prove_from_inside(self, wanted);
    proven_walls::add(std::move(requested));
  }

  /// Ends the jail when a mount that hides or protects a name is gone.
  static void watch_covers(const std::shared_ptr<state>& self, jail_root root, const std::vector<jail_cover>& covers) {
    const auto watch = std::make_shared<jail_cover_watch>(self->home().executor(), std::move(root), covers);
    self->place().watch_ = watch;
    watch->start([weak = std::weak_ptr<state>(self)](const error& reason) {
      if (const std::shared_ptr<state> kept = weak.lock()) kept->fail(reason);
    });
  }

  /// Compares what is mounted at the protected names with what was there before: another process may have put a link in
  /// its place meanwhile.
  void require_protected(pid_t first_process) const {
    const std::string root = "/proc/" + std::to_string(first_process) + "/root" + settings_->workspace_path + "/";
    for (const protected_path& each : protection_->paths()) {
      struct stat status {};
      if (each.inode == 0) continue;
      if (::lstat((root + each.path).c_str(), &status) != 0 || status.st_dev != each.device ||
          status.st_ino != each.inode)
        throw error(exec_errc::provider_failed,
                    "jail: protect(\"" + one_line(each.path) +
                        "\"): it was replaced while the jail was built; keep other programs from the workspace");
    }
  }

  static void require_all(const seen_walls& seen, const wanted_walls& wanted) {
    const std::optional<missing_wall> missing = seen.missing(wanted);
    if (missing)
      throw error(exec_errc::provider_failed,
                  "jail: a wall is missing: " + missing->name + " (" + one_line(missing->seen) + "); " + retry_advice);
  }

  static awaitable<void> prove_from_inside(std::shared_ptr<state> self, const wanted_walls& wanted) {
    command look = command(walls_script()).timeout(std::chrono::seconds(10)).keep_output(std::size_t{4} << 20);
    command_result result = co_await state::run(self, std::move(look));
    if (!result.ok())
      throw error(exec_errc::provider_failed,
                  "jail: the walls cannot be proven, because a command inside has failed: " +
                      one_line(result.reason()) + " " + one_line(result.err().text()) + "; " + retry_advice);
    const std::string text(as_text(result.out().head()));  // unchanged, because names of files may be no text
    require_all(seen_walls(text), wanted);
  }

  static constexpr const char* retry_advice =
      "use the bubblewrap of the system, unchanged (apt-get install bubblewrap), or another backend, such as docker";

  std::shared_ptr<const jail_settings> settings_;
  std::vector<std::string> visible_;
  std::shared_ptr<workspace_protection> protection_;
  std::shared_ptr<control_group> group_;  // null if nothing is limited in total
  std::shared_ptr<jail_limit_watch> limit_watch_;
  std::shared_ptr<jail_cover_watch> watch_;  // null if nothing is hidden or protected
  isolation_report isolation_;
};

using jail_place = basic_jail_place<void>;
using jail_state = host_state<jail_place>;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
