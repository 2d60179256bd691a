// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command_result.hpp>

#include "transfer.hpp"

#include <boost/json/object.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <system_error>

namespace program {

/// Returns the exit status of the program for the end of a command or of code.
/// \param kind         `kind()` of the result.
/// \param exit_code    `exit_code()` of the result; negative if there is none.
/// \param term_signal  `term_signal()` of the result; 0 if there is none.
/// \param cause        the system's error code, if the command could not be started.
int status_of(cofferdam::error_kind kind, int exit_code, int term_signal, std::error_code cause) noexcept;

/// Returns the status of a command whose files were copied: its own, or 125 if it succeeded and a file is missing.
int status_with(int status, const saved_files& saved) noexcept;

/// Prints the reason of a result on standard error, unless it is empty.
void complain_about(cofferdam::error_kind kind, const std::string& reason, const std::string& advice);

/// Prints the files that could not be copied.
void complain_about(const saved_files& saved);

// Members of the object that --json prints.
void add_output(boost::json::object& into, const cofferdam::captured_output& out,
                const cofferdam::captured_output& err);
/// Adds the isolation, or null if the command was refused: nothing has run, so there is nothing to report.
void add_isolation(boost::json::object& into, cofferdam::error_kind kind, const cofferdam::isolation_report& isolation);
void add_saved(boost::json::object& into, const saved_files& saved);
void add_end(boost::json::object& into, int status, cofferdam::error_kind kind, int exit_code, int term_signal,
             const std::string& reason);

/// Returns the object that --json prints if the program itself has failed.
boost::json::object failure_object(const std::string& message);

/// Returns a text with U+FFFD in place of bytes that are not UTF-8, as JSON needs it.
std::string valid_text(std::string_view text);

/// Prints an object in one line on standard output.
void print(const boost::json::object& object);

/// Returns true if an exception only tells that the coroutine was cancelled.
bool is_cancellation(const std::exception_ptr& failure);

}  // namespace program
