// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/exec_launcher.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/command_session.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The file operations of a container without a warden (the helper program that usually executes them). Each operation
/// runs one or more commands, which are Docker execs. A value type; the coroutine of each operation keeps a copy.
///
/// A path is checked before it is used, but the file is not kept open in between. A running command can change the path
/// in this time, and the change is not detected. The command gains no access by that, because the file operations have
/// the same rights as the command.
class exec_files : public cofferdam::detail::operations_by_command<exec_files> {
 public:
  exec_files(std::shared_ptr<exec_launcher> launcher, std::string root, std::vector<std::string> variables)
      : launcher_(std::move(launcher)), root_(std::move(root)), variables_(std::move(variables)) {}

  const std::string& root() const noexcept { return root_; }

  /// Runs one of the commands of the file operations. A time limit or a cancellation of another command may end this
  /// command too. The command is then run again, which is safe because all these commands can be repeated.
  awaitable<command_result> run_command(command c) {
    if (!c.timeout()) c.timeout(no_timeout);
    for (int turn = 0;; ++turn) {
      command again = c;
      spawn_request request = request_for(again, "/bin/sh", variables_);
      request.directory_path = root_;
      command_result result =
          co_await cofferdam::detail::command_launcher::run(launcher_, std::move(again), std::move(request));
      const bool was_ended = result.cause() == std::errc::interrupted;
      if (!was_ended || turn == max_turns) co_return result;
    }
  }

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    const std::string clean = workspace_path(path, root_);
    const std::size_t clamped = std::min(max_bytes, max_size);
    std::vector<std::string> words{"/bin/sh", "-c",         std::string(read_script),
                                   "sh",      "./" + clean, std::to_string(clamped)};
    command ask = argv(std::move(words));
    ask.keep_output(std::max<std::size_t>(clamped, 4096));
    command_result result = co_await run_command(std::move(ask));
    check(result, "read", clean, max_bytes);
    if (result.out().total() > max_bytes) throw too_large(clean, max_bytes);
    co_return result.out().head();
  }

  awaitable<void> write_file(std::string path, bytes_view content) {
    const std::string clean = workspace_path(path, root_);
    std::vector<std::string> words{"/bin/sh",
                                   "-c",
                                   std::string(write_script),
                                   "sh",
                                   "./" + clean,
                                   ".cofferdam-" + cofferdam::detail::random_digits(),
                                   std::to_string(content.size())};
    command put = argv(std::move(words));
    put.input(bytes(content.begin(), content.end()));
    command_result result = co_await run_command(std::move(put));
    check(result, "write", clean, 0);
  }

  /// Checks that a path is a directory of the workspace, and returns its absolute path.
  /// \throws error{exec_errc::outside_workspace, not_found, not_a_directory}.
  awaitable<std::string> directory_path(std::string path) {
    const std::string clean = workspace_path_or_root(path, root_);
    if (clean == ".") co_return root_;
    std::vector<std::string> words{"/bin/sh", "-c", std::string(enter_script), "sh", "./" + clean};
    command look = argv(std::move(words));
    command_result result = co_await run_command(std::move(look));
    check(result, "enter", clean, 0);
    co_return root_ == "/" ? "/" + clean : root_ + "/" + clean;
  }

  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests);

 private:
  static constexpr int max_turns = 5;
  static constexpr std::size_t max_size = std::size_t{1} << 60U;

  // The exit statuses by which the scripts below report the kind of failure.
  static constexpr int is_missing = 41;
  static constexpr int is_outside = 42;
  static constexpr int is_no_file = 43;
  static constexpr int is_longer = 44;
  static constexpr int is_denied = 45;
  static constexpr int is_no_directory = 46;
  static constexpr int is_incomplete = 47;

  /// A shell script that prints the content of a file. The arguments: $1 is the path, $2 the maximum size in bytes.
  static constexpr std::string_view read_script = R"sh(r=$(pwd -P); r=${r%/}
if [ ! -e "$1" ]; then [ -L "$1" ] && [ "$(readlink -f "$1")" = "" ] && exit 42; fi
t=$(readlink -f "$1") || exit 41
case $t in "$r"/*) ;; *) exit 42 ;; esac
[ -d "$1" ] && exit 43
if [ ! -e "$1" ]; then p=${1%/*}; [ -e "$p" ] && [ ! -d "$p" ] && exit 46; exit 41; fi
[ -f "$1" ] || exit 43
[ -r "$1" ] || exit 45
s=$(stat -L -c %s "$1") || exit 45
[ "$s" -gt "$2" ] && exit 44
exec cat "$1")sh";

  /// A shell script that writes its standard input to a file. The arguments: $1 is the path, $2 the name of a temporary
  /// file in the same folder, $3 the expected size.
  static constexpr std::string_view write_script = R"sh(r=$(pwd -P); r=${r%/}
p=${1%/*}
g=$p
while [ ! -e "$g" ] && [ ! -L "$g" ]; do g=${g%/*}; done
t=$(readlink -f "$g") || exit 42
case $t/ in "$r"/*) ;; *) exit 42 ;; esac
[ -d "$g" ] || exit 46
mkdir -p "$p" || exit 1
if [ ! -L "$1" ]; then [ -e "$1" ] && [ ! -f "$1" ] && exit 43; fi
m=
[ -f "$1" ] && [ ! -L "$1" ] && m=$(stat -c %a "$1")
f=$p/$2
cat >"$f" || { rm -f "$f"; exit 1; }
[ "$(stat -c %s "$f")" = "$3" ] || { rm -f "$f"; exit 47; }
[ "$m" ] && chmod "$m" "$f"
mv -f -T "$f" "$1" || { rm -f "$f"; exit 1; })sh";

  /// A shell script that checks that a path is an accessible directory of the workspace. The argument $1 is the path.
  static constexpr std::string_view enter_script = R"sh(r=$(pwd -P); r=${r%/}
[ -e "$1" ] || exit 41
[ -d "$1" ] || exit 46
t=$(cd "$1" && pwd -P) || exit 45
case $t/ in "$r"/*) ;; *) exit 42 ;; esac)sh";

  static error too_large(const std::string& path, std::size_t max_bytes) {
    return error(exec_errc::too_large, "read " + cofferdam::detail::shown_path(path) + ": longer than " +
                                           std::to_string(max_bytes) + " bytes");
  }

  static void check(const command_result& result, const char* doing, const std::string& path, std::size_t max_bytes) {
    using cofferdam::detail::path_error;
    if (result.ok()) return;
    const std::string what = std::string(doing) + " " + cofferdam::detail::shown_path(path) + ": ";
    switch (result.exit_code()) {
      case is_missing: throw path_error(ENOENT, doing, path);
      case is_outside: throw error(exec_errc::outside_workspace, what + "a symbolic link leads out of the workspace");
      case is_no_file: throw error(exec_errc::not_a_file, what + "not a regular file");
      case is_longer: throw too_large(path, max_bytes);
      case is_denied: throw path_error(EACCES, doing, path);
      case is_no_directory: throw path_error(ENOTDIR, doing, path);
      case is_incomplete: throw error(exec_errc::io_error, what + "the transfer was incomplete; try again");
      default: cofferdam::detail::throw_file_failure(result, doing, path);
    }
  }

  std::shared_ptr<exec_launcher> launcher_;
  std::string root_;
  std::vector<std::string> variables_;
};

/// A source of the requested files, which owns a copy of the file operations.
class exec_file_source final : public file_source {
 public:
  exec_file_source(exec_files files, std::vector<file_request> requests)
      : files_(std::move(files)), inner_(files_, std::move(requests)) {}
  awaitable<std::optional<file_header>> next() override { return inner_.next(); }
  awaitable<bytes> read(std::size_t max_bytes) override { return inner_.read(max_bytes); }

 private:
  exec_files files_;
  cofferdam::detail::whole_file_source<exec_files> inner_;
};

inline awaitable<std::unique_ptr<file_source>> exec_files::get_files(std::vector<file_request> requests) {
  std::unique_ptr<file_source> source = std::make_unique<exec_file_source>(*this, std::move(requests));
  co_return source;
}

/// The file operations of a container without a warden. They throw after the end of the command session.
class exec_session_files final : public cofferdam::detail::session_files_adaptor<exec_session_files> {
 public:
  exec_session_files(std::shared_ptr<exec_launcher> launcher, std::string root, std::vector<std::string> variables)
      : launcher_(std::move(launcher)), root_(std::move(root)), variables_(std::move(variables)) {}

  template <class Operation>
  auto call(Operation operation) {
    auto makes = [launcher = launcher_, root = root_, variables = variables_] {
      launcher->check_open();
      return exec_files(launcher, root, variables);
    };
    return cofferdam::detail::on_made(std::move(makes), std::move(operation));
  }

 private:
  std::shared_ptr<exec_launcher> launcher_;
  std::string root_;
  std::vector<std::string> variables_;
};

/// A command session (the object that starts and tracks commands) for a container without a warden. Its commands are
/// Docker execs.
class exec_session : public command_session {
 public:
  exec_session(std::shared_ptr<exec_place> place, command_settings settings)
      : command_session(std::make_shared<exec_launcher>(std::move(place), std::move(settings))) {
    execs()->watch();
  }

  /// Returns the file operations of the workspace.
  /// \param root       the absolute path of the workspace in the container.
  /// \param variables  the environment variables of the commands that the file operations run.
  std::shared_ptr<session_files> files(std::string root, std::vector<std::string> variables) const {
    return std::make_shared<exec_session_files>(execs(), std::move(root), std::move(variables));
  }

 private:
  std::shared_ptr<exec_launcher> execs() const { return std::static_pointer_cast<exec_launcher>(launcher()); }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
