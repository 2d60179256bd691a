// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/worded_category.hpp>
#include <cofferdam/version.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

class command_result;

/// The kind of failure that an `error` reports. A command that fails does not cause an `error`: its outcome is in its
/// `command_result`.
enum class exec_errc {
  invalid_argument = 1,  ///< the caller passed an invalid value; the message contains the value and the valid values
  cancelled,             ///< the awaiting coroutine was cancelled; the message reports if the command was ended
  environment_closed,    ///< the environment was closed before or during the operation
  provider_lost,         ///< the service that runs the commands was lost: its daemon, connection or container
  provider_failed,       ///< `open()` could not create an environment
  unsupported,           ///< the backend does not support the operation
  not_found,             ///< the file or directory does not exist
  not_a_file,            ///< the entry is a directory, FIFO, device, socket or symbolic link, and not a regular file
  not_a_directory,       ///< the entry is not a directory
  already_exists,        ///< an entry with this name exists already
  not_empty,             ///< the directory is not empty
  outside_workspace,     ///< the path leads out of the workspace
  permission_denied,     ///< the operating system, or the `read_only` layer, refused the access
  too_large,             ///< the data exceeds the caller's limit or a limit of the system
  collision,             ///< two files of one transfer have the same destination
  io_error,              ///< reading or writing failed; `cause()` returns the system's error code, if it is known
  deadlock,              ///< the operation would wait for work that itself waits for the operation
  unavailable,           ///< the service did not answer, or the environment is paused; try again, or resume it
  busy,                  ///< commands run, and the operation would end them; end them first, or wait for their ends
};

namespace detail {

class errc_words {
 public:
  static constexpr const char* name = "cofferdam";
  static constexpr std::string_view message(int value) {
    switch (static_cast<exec_errc>(value)) {
      case exec_errc::invalid_argument: return "invalid argument";
      case exec_errc::cancelled: return "cancelled";
      case exec_errc::environment_closed: return "the environment is closed";
      case exec_errc::provider_lost: return "the provider was lost";
      case exec_errc::provider_failed: return "the environment could not be opened";
      case exec_errc::unsupported: return "not supported by this backend";
      case exec_errc::not_found: return "no such file or directory";
      case exec_errc::not_a_file: return "not a regular file";
      case exec_errc::not_a_directory: return "not a directory";
      case exec_errc::already_exists: return "already exists";
      case exec_errc::not_empty: return "directory not empty";
      case exec_errc::outside_workspace: return "the path leads out of the workspace";
      case exec_errc::permission_denied: return "permission denied";
      case exec_errc::too_large: return "too large";
      case exec_errc::collision: return "two files have one destination";
      case exec_errc::io_error: return "input or output failed";
      case exec_errc::deadlock: return "the operation would wait for itself";
      case exec_errc::unavailable: return "not available for now";
      case exec_errc::busy: return "commands are running";
    }
    return "unknown cofferdam error";
  }
};

}  // namespace detail

/// Returns the `std::error_category` of `exec_errc`.
inline const std::error_category& error_category() noexcept { return detail::category_of<detail::errc_words>(); }

/// Makes a `std::error_code` from an `exec_errc`. The standard library calls this function when it converts an
/// `exec_errc`.
inline std::error_code make_error_code(exec_errc value) noexcept { return {static_cast<int>(value), error_category()}; }

}  // namespace cofferdam::inline COFFERDAM_ABI

template <>
struct std::is_error_code_enum<cofferdam::exec_errc> : std::true_type {};

namespace cofferdam::inline COFFERDAM_ABI {

/// The exception type of the library. It contains an `exec_errc` and one sentence: what happened, to which object, and
/// what the caller can do.
///
/// `code()` compares equal to an `exec_errc`. `what()` returns the sentence. `cause()` returns the error code of the
/// system, the network or the remote service, if there was one. Copying an `error` does not throw.
class error : public std::system_error {
 public:
  /// Makes an error.
  /// \param code      the kind of the failure.
  /// \param sentence  one sentence in UTF-8: what happened, to which object, and what the caller can do.
  /// \param cause     the error code of the system, the network or the remote service; empty if there is none.
  error(exec_errc code, std::string sentence, std::error_code cause = {})
      : std::system_error(make_error_code(code)),
        state_(std::make_shared<const state>(state{std::move(sentence), cause, nullptr})) {}

  /// Returns the sentence, in UTF-8. Text that came from a command or from a remote service is quoted and escaped.
  const char* what() const noexcept override { return state_->sentence.c_str(); }

  /// Returns the underlying error code (`errno`, an HTTP status or an Asio code); empty if there was none.
  std::error_code cause() const noexcept { return state_->cause; }

  /// Returns the output that had arrived before the command was lost or cancelled; null if no output is known. The
  /// pointer is valid while this error or a copy of it exists.
  const command_result* partial() const noexcept { return state_->partial.get(); }

  /// Returns a copy of this error whose `partial()` is the given result.
  error with_partial(std::shared_ptr<const command_result> partial) const {
    error copy = *this;
    copy.state_ = std::make_shared<const state>(state{state_->sentence, state_->cause, std::move(partial)});
    return copy;
  }

 private:
  struct state {
    std::string sentence;
    std::error_code cause;
    std::shared_ptr<const command_result> partial;
  };
  std::shared_ptr<const state> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
