// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/over_words.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/core/environment_handle.hpp>

#include <chrono>
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
class over_settings;
class over_state;
}  // namespace detail

/// An open environment in a place that `over` reaches. Models every concept that refines `code_exec_environment`,
/// except `suspendable_environment`.
///
/// The environment may be moved while no operation is under way. If it is destroyed without `close()`, the pipe is
/// closed: the warden at its other end kills all commands, and the temporary folder is removed. If the host program
/// dies, the same happens.
/// \par Threads  may be used from several threads, under the rules that `local_environment` documents.
class over_environment {
 public:
  /// Makes an object without an environment. Its operations throw error{exec_errc::environment_closed}.
  over_environment();
  explicit over_environment(std::shared_ptr<detail::over_state> state);
  over_environment(over_environment&&) noexcept;
  over_environment& operator=(over_environment&&) noexcept;
  ~over_environment();

  /// Runs a command to its end. Every outcome of the command is a result, including a time limit. A command is never
  /// started twice.
  /// \throws error{exec_errc::environment_closed}; error{exec_errc::outside_workspace, not_found, not_a_directory} if
  ///     the command's working directory is not a directory of the workspace; error{exec_errc::provider_lost}, with the
  ///     output so far in `partial()`, if the pipe is lost. The text has the exit status of the pipe's program and the
  ///     end of its error output.
  /// \par Cancellation  terminal: all processes that the command has started get SIGTERM, and SIGKILL after the grace
  ///                    period (`over::kill_grace`). Then this function throws error{exec_errc::cancelled}.
  awaitable<command_result> run_command(command c);

  /// Starts a command, and returns the running process. If the command cannot be started, the returned process has
  /// already ended, and its result contains the reason.
  /// \throws the errors of `run_command`.
  awaitable<process> start(command c);

  /// Reads a whole file of the workspace.
  /// \param path       relative to the workspace.
  /// \param max_bytes  maximum size of the file in bytes.
  /// \throws error{exec_errc::too_large} if the file is larger; error{exec_errc::not_found};
  ///     error{exec_errc::outside_workspace}; error{exec_errc::environment_closed}; error{exec_errc::provider_lost}.
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes);
  /// Writes a file of the workspace, and makes missing folders. The file is written whole or not at all.
  /// \param path     relative to the workspace.
  /// \param content  the caller keeps these bytes until the awaitable completes.
  /// \throws error{exec_errc::outside_workspace}; error{exec_errc::environment_closed};
  ///     error{exec_errc::provider_lost}.
  awaitable<void> write_file(std::string path, bytes_view content);
  /// Writes a file from temporary bytes, which the awaitable takes over. The awaitable can therefore be stored and
  /// awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  /// Returns the file operations of the workspace: list, stat, remove, and transfers of whole directory trees.
  file_system files();
  /// Returns the loopback network of the place, with which this program can reach servers that run there.
  guest_network network();

  /// Returns the ended commands that had `background_policy::keep` and have left processes running. The oldest command
  /// is first.
  std::vector<background_command> background() const;
  /// Ends the processes that a command has left running (see `background()`), and waits for their end. The processes
  /// get SIGTERM, and SIGKILL after the grace period (`over::kill_grace`). This function cannot be cancelled.
  /// \param number  `background_command::number()`.
  /// \throws error{exec_errc::not_found} if no process of the command is left; error{exec_errc::environment_closed}.
  awaitable<void> end_background(std::uint32_t number);

  /// Returns the absolute path of the workspace in the place.
  const std::string& workspace() const;

  /// Returns true if the pipe is known to be lost, so that every command would fail. Also returns true after `close()`,
  /// and for an object without an environment. Sends nothing through the pipe. Any thread may call this function.
  bool is_lost() const noexcept;

  /// Ends all commands, removes the temporary folder, and waits for the end of the pipe's program. Commands that are
  /// still running fail with error{exec_errc::environment_closed}.
  ///
  /// The program gets SIGTERM if it has not ended 10 s after the pipe was closed (1 s if the pipe was lost before), and
  /// SIGKILL 1 s later. This function cannot be cancelled, and a second call waits for the first.
  /// \throws error{exec_errc::provider_lost} if the warden did not end every command in time.
  awaitable<void> close();

 private:
  detail::environment_handle<detail::over_state> handle_;
};

/// Runs commands in any place that a program reaches through its standard input and output:
///
///     co_await with(over("ssh", "build-host"), [](auto& env) -> awaitable<void> { ... });
///     over("podman", "run", "-i", "--rm", "debian:stable-slim")
///     over("kubectl", "exec", "-i", "pod/build", "--")
///     over("srun", "apptainer", "exec", "image.sif")
///
/// `kubectl run -i` does not work, because it connects only after the pod has begun, and may lose the first output.
/// Make the pod first, and use `kubectl exec -i`; or use `kubernetes::from_image`.
///
/// **This library adds no wall**: a command has the rights that the place gives it. For `over("ssh", "host")` these are
/// all rights of the user on that host. `isolation()` of the results has only what this library did: it ends all
/// processes of a command. It has nothing about walls of the place, because they are unknown here.
///
/// `open()` starts the program on this machine with the given words, and lets it run a small script for the POSIX shell
/// (`sh`) in the place. The script makes a private temporary folder. It receives a warden, the helper program of this
/// library that starts and ends commands, through its standard input, and starts the warden there. From then on the
/// pipe carries the messages of the warden. The place needs Linux on x86-64 or arm64, `sh`, and the usual small
/// programs (`mkdir`, `chmod`, `rm`, `cat`, `uname`, `wc`, and `head` or `dd`).
///
/// Texts of errors can contain the words, so give no password as a word.
///
/// The program must pass bytes unchanged in both directions. A terminal does not, so leave out options that ask for
/// one, such as `-t`. Text that the program prints before the script runs is skipped, up to 64 KiB. The program must
/// not ask questions: it has no terminal, and its standard input is the pipe. It gets the environment variables and the
/// working directory of this program, as `ssh` needs them.
///
/// Programs pass words to the place in one of two ways; `words()` selects it. If another program starts `ssh`, set
/// `words(place_words::joined)`.
///
/// Commands get PATH, USER, LOGNAME and TZ of the place, HOME (the workspace), TMPDIR (a private folder), SHELL, LANG
/// and TERM. `variable()` sets more, and `place_variable()` passes more variables of the place. No other variable
/// reaches the commands, because `srun` and `apptainer` copy all variables of this program to the place.
///
/// If the pipe is lost, the warden reads the end of its input, and ends all commands. If the connection breaks without
/// a notice, the warden ends them after the time of `lease()`, and operations under way fail after about the same time.
/// The connection is never made again, and no command is repeated. The temporary folder stays only if the shell that
/// runs the script in the place is killed by SIGKILL.
///
/// A provider is a value: it holds no connection and can be copied. Its setters can be chained.
class over {
 public:
  /// \param program  the name of the program, which is searched in the PATH of this program, or its path.
  /// \param words    the arguments of the program, without the command to run in the place. No NUL bytes.
  /// \throws error{exec_errc::invalid_argument} if the program's name is empty, or if a word has a NUL byte.
  template <class... Words>
    requires(std::convertible_to<Words, std::string> && ...)
  explicit over(std::string program, Words... words) {
    std::vector<std::string> all{std::move(program)};
    (all.push_back(std::move(words)), ...);
    settings_ = settings_of(std::move(all));
  }
  /// \param words  the program and its arguments, as for the other constructor. At least one word.
  /// \throws error{exec_errc::invalid_argument} as the other constructor.
  explicit over(std::vector<std::string> words);

  /// Sets how the program passes words to the place. Default: `place_words::automatic`.
  over& words(place_words how);
  /// Sets a folder of the place as the workspace. It is made if it is missing, and never removed. Default: a new folder
  /// in the temporary folder, removed by `close()`.
  /// \param folder  absolute, or relative to the folder in which the place starts commands. No line break and no NUL.
  /// \throws error{exec_errc::invalid_argument}.
  over& workspace(std::string folder);
  /// Sets the folder of the place in which the temporary folder is made. It must allow writing and executing. Default:
  /// the first such folder of TMPDIR, /tmp, /var/tmp, /dev/shm, /run and HOME.
  /// \param folder  an absolute path. No line break and no NUL.
  /// \throws error{exec_errc::invalid_argument}.
  over& warden_folder(std::string folder);
  /// Sets an environment variable of every command.
  /// \throws error{exec_errc::invalid_argument} if the name is empty or has '=', or if a NUL byte is in either text.
  over& variable(std::string name, std::string value);
  /// Passes an environment variable of the place to every command, for example HOME, for a home that is not the
  /// workspace. Nothing is passed if the place does not have the variable.
  /// \throws error{exec_errc::invalid_argument} as `variable()`.
  over& place_variable(std::string name);
  /// Sets the shell that runs commands given as a shell line.
  /// \param path  absolute path in the place. The shell must accept `-c -- LINE`. Default: bash, or sh if the place has
  ///              no bash.
  /// \throws error{exec_errc::invalid_argument}.
  over& shell(std::string path);
  /// Sets the time limit of `open()`.
  /// \param limit  more than zero. Default: 30 s.
  over& connect_timeout(std::chrono::milliseconds limit);
  /// Sets the time without a message from the other side after which the warden ends everything, and this program gives
  /// the environment up. Each side sends messages three times as often; this program's event loop must run meanwhile.
  /// \param time  zero for no such limit, or 1 s to 24 h. Default: 5 minutes.
  over& lease(std::chrono::milliseconds time);
  /// Sets the time limit of commands that have no timeout of their own.
  /// \param limit  more than zero, or `no_timeout` for no limit. Default: 5 minutes.
  over& default_timeout(std::chrono::milliseconds limit);
  /// Sets the grace period: the time from SIGTERM to SIGKILL when processes are ended.
  /// \param time  zero or more. Default: 500 ms.
  over& kill_grace(std::chrono::milliseconds time);
  /// Sets how long processes that a command leaves behind may continue to write output after the command has ended.
  /// \param time  zero or more. Default: 100 ms.
  over& output_grace(std::chrono::milliseconds time);

  /// Starts the program, and returns an environment in the place. After an exception, the process group of the program
  /// is ended; processes that have left the group are not. In the place, the script ends at the end of its input, and
  /// removes its folder.
  /// \throws error{exec_errc::provider_failed} if the program cannot be started, ends early, or does not answer in
  ///     time, or if the workspace cannot be used; error{exec_errc::unsupported} if a terminal is in the way, if the
  ///     place has another kind of machine, or if no folder allows both writing and executing;
  ///     error{exec_errc::cancelled}. The text has the end of the program's error output.
  /// \par Cancellation  terminal: ends the program, then throws error{exec_errc::cancelled}.
  awaitable<over_environment> open() const;

 private:
  static std::shared_ptr<const detail::over_settings> settings_of(std::vector<std::string> words);
  static awaitable<over_environment> open_with(std::shared_ptr<const detail::over_settings> settings);

  template <class Change>
  over& with(Change change);

  std::shared_ptr<const detail::over_settings> settings_;
};

/// Returns the place that ssh reaches under a name: `over("ssh", "-o", "BatchMode=yes", "--", host)`. For names that
/// come from the user of a program, because the name cannot be an option of ssh.
/// \param host  a name from the configuration of ssh, a host name or address, or `user@host`.
/// \throws error{exec_errc::invalid_argument} if the name is empty, begins with '-', or has a NUL byte.
over over_ssh(std::string host);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/impl/over.ipp>
#endif
