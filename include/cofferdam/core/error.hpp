// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline v0 {

class command_result;

/// Why an operation could not do its work. What a command *did* is never one of these: that is a `command_result`.
enum class errc {
  invalid_argument = 1,  ///< the call itself is wrong; the sentence says which value and what is allowed
  cancelled,             ///< the awaiting coroutine was cancelled; its command has been ended
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
};

namespace detail {

class errc_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "cofferdam"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::invalid_argument: return "invalid argument";
      case errc::cancelled: return "cancelled";
      case errc::environment_closed: return "the environment is closed";
      case errc::provider_lost: return "the provider was lost";
      case errc::provider_failed: return "the environment could not be opened";
      case errc::unsupported: return "not supported by this backend";
      case errc::not_found: return "no such file or directory";
      case errc::not_a_file: return "not a regular file";
      case errc::not_a_directory: return "not a directory";
      case errc::already_exists: return "already exists";
      case errc::not_empty: return "directory not empty";
      case errc::outside_workspace: return "the path leads out of the workspace";
      case errc::permission_denied: return "permission denied";
      case errc::too_large: return "too large";
      case errc::collision: return "two files have one destination";
      case errc::io_error: return "input or output failed";
    }
    return "unknown cofferdam error";
  }
};

}  // namespace detail

/// The category of `errc`.
inline const std::error_category& error_category() noexcept {
  static const detail::errc_category category;
  return category;
}

/// Makes `errc` usable wherever an error code is; found by argument-dependent lookup.
inline std::error_code make_error_code(errc value) noexcept { return {static_cast<int>(value), error_category()}; }

}  // namespace cofferdam::inline v0

template <>
struct std::is_error_code_enum<cofferdam::errc> : std::true_type {};

namespace cofferdam::inline v0 {

/// What the library throws: an `errc`, and one sentence that says what happened, to what, and what to do about it.
///
/// `code()` compares with `errc`; `what()` is the sentence; `cause()` is the system's, the network's or the peer's own
/// code, where there was one. Copying does not throw.
class error : public std::system_error {
 public:
  error(errc code, std::string sentence, std::error_code cause = {})
      : std::system_error(make_error_code(code)),
        state_(std::make_shared<const state>(state{std::move(sentence), cause, nullptr})) {}

  /// The sentence. UTF-8; text that came from a guest or a peer stands in quotes and is escaped.
  const char* what() const noexcept override { return state_->sentence.c_str(); }

  /// The code underneath (`errno`, an HTTP status, an Asio code); false where there was none.
  std::error_code cause() const noexcept { return state_->cause; }

  /// What had arrived before the command was lost or cancelled; null where nothing is known.
  /// Lives as long as this error or a copy of it.
  const command_result* partial() const noexcept { return state_->partial.get(); }

  /// The same error, carrying what had arrived.
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

}  // namespace cofferdam::inline v0
