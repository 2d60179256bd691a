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

/// The reason of a failed operation. The outcome of a command is never an `errc`: it is a `command_result`.
enum class exec_errc {
  invalid_argument = 1,  ///< the call is wrong; the sentence has the bad value and the valid ones
  cancelled,             ///< the awaiting coroutine was cancelled; the sentence has the state of its command
  environment_closed,    ///< the environment was closed before, or while, this ran
  provider_lost,         ///< what ran the commands is gone (a daemon, a connection, a container)
  provider_failed,       ///< an environment could not be opened
  unsupported,           ///< this backend cannot do that
  not_found,             ///< no such file or directory
  not_a_file,            ///< a directory, FIFO, device, socket or symbolic link where a regular file is needed
  not_a_directory,       ///< something else where a directory is needed
  already_exists,        ///< the name is taken
  not_empty,             ///< the directory still has entries
  outside_workspace,     ///< the path leads out of the workspace
  permission_denied,     ///< the operating system refused
  too_large,             ///< more than the caller's limit, or than the system's
  collision,             ///< two files would be written to one name
  io_error,              ///< reading or writing failed; `cause()` has the system's code
  deadlock,              ///< the operation would wait for something that waits for the operation
  unavailable,           ///< what runs the commands is there, but did not answer or is paused: try again, or resume it
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
      case exec_errc::deadlock: return "it would wait for itself";
      case exec_errc::unavailable: return "not available for now";
    }
    return "unknown cofferdam error";
  }
};

}  // namespace detail

/// The category of `errc`.
inline const std::error_category& error_category() noexcept { return detail::category_of<detail::errc_words>(); }

/// Makes `errc` usable wherever an error code is; found by argument-dependent lookup.
inline std::error_code make_error_code(exec_errc value) noexcept { return {static_cast<int>(value), error_category()}; }

}  // namespace cofferdam::inline COFFERDAM_ABI

template <>
struct std::is_error_code_enum<cofferdam::exec_errc> : std::true_type {};

namespace cofferdam::inline COFFERDAM_ABI {

/// The exception type of the library: an `errc`, and one sentence with what happened, to what, and what to do about it.
///
/// `code()` compares with `errc`. `what()` is the sentence. `cause()` is the error code of the system, the network or
/// the peer, if there was one. Copying does not throw.
class error : public std::system_error {
 public:
  error(exec_errc code, std::string sentence, std::error_code cause = {})
      : std::system_error(make_error_code(code)),
        state_(std::make_shared<const state>(state{std::move(sentence), cause, nullptr})) {}

  /// Returns the sentence. UTF-8; text from a guest or a peer is quoted and escaped.
  const char* what() const noexcept override { return state_->sentence.c_str(); }

  /// Returns the underlying code (`errno`, an HTTP status, an Asio code), or an empty code.
  std::error_code cause() const noexcept { return state_->cause; }

  /// Returns the output that had arrived before the command was lost or cancelled; null if none is known. Valid as long
  /// as this error or a copy of it lives.
  const command_result* partial() const noexcept { return state_->partial.get(); }

  /// Returns a copy of this error that carries the output so far.
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
