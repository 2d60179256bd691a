// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "outcome.hpp"

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include "report.hpp"

#include <asio/error.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace program {

using namespace cofferdam;

namespace {

/// Returns true if a layer or a guard refused the command or code, so that nothing has run.
bool was_refused(error_kind kind) noexcept {
  return kind == error_kind::command_not_allowed || kind == error_kind::absolute_path_detected ||
         kind == error_kind::security_violation;
}

}  // namespace

int status_of(error_kind kind, int exit_code, int term_signal, std::error_code cause) noexcept {
  if (was_refused(kind)) return status_not_executable;
  switch (kind) {
    case error_kind::timeout: return status_timeout;
    case error_kind::execution_error:
      if (cause == std::errc::no_such_file_or_directory) return status_not_found;
      return cause ? status_not_executable : status_own_failure;
    case error_kind::invalid_argument: return status_own_failure;
    case error_kind::none:
    case error_kind::command_not_allowed:
    case error_kind::absolute_path_detected:
    case error_kind::security_violation:
    case error_kind::out_of_memory:
    case error_kind::process_limit:
    case error_kind::disk_full:
    case error_kind::file_too_large:
    case error_kind::processor_time_limit: break;
  }
  if (term_signal > 0) return status_of_signal + term_signal;
  return exit_code >= 0 ? exit_code : status_own_failure;
}

int status_with(int status, const saved_files& saved) noexcept {
  return status == 0 && !saved.failures.empty() ? status_own_failure : status;
}

void complain_about(error_kind kind, const std::string& reason, const std::string& advice) {
  if (kind == error_kind::none) return;
  std::string sentence = reason.empty() ? std::string(to_string(kind)) : printable_text(reason);
  if (!advice.empty()) sentence += "\n" + printable_text(advice);
  complain(sentence);
}

void complain_about(const saved_files& saved) {
  for (const std::string& failure : saved.failures) complain(printable_text(failure));
}

void add_output(boost::json::object& into, const captured_output& out, const captured_output& err) {
  into["stdout"] = out.text();
  into["stderr"] = err.text();
  into["stdout_bytes"] = out.total();
  into["stderr_bytes"] = err.total();
  into["stdout_truncated"] = out.cut() != 0;
  into["stderr_truncated"] = err.cut() != 0;
}

void add_isolation(boost::json::object& into, error_kind kind, const isolation_report& isolation) {
  into["isolation"] = nullptr;
  if (was_refused(kind)) return;
  boost::json::object report;
  for (std::size_t i = 0; i < isolation_report::count; ++i) {
    const auto which = static_cast<isolation_kind>(i);
    const std::string_view words = isolation.of(which);
    report[to_string(which)] = std::string(words);
  }
  into["isolation"] = std::move(report);
}

void add_saved(boost::json::object& into, const saved_files& saved) {
  boost::json::array files;
  for (const saved_file& each : saved.files) {
    boost::json::object file;
    file["path"] = valid_text(each.path());
    file["size"] = each.size();
    files.push_back(std::move(file));
  }
  into["outputs"] = std::move(files);
  boost::json::array failures;
  for (const std::string& failure : saved.failures) failures.emplace_back(valid_text(failure));
  into["output_failures"] = std::move(failures);
}

void add_end(boost::json::object& into, int status, error_kind kind, int exit_code, int term_signal,
             const std::string& reason) {
  into["status"] = status;
  into["exit_code"] = nullptr;
  if (exit_code >= 0) into["exit_code"] = exit_code;
  into["signal"] = nullptr;
  if (term_signal > 0) into["signal"] = term_signal;
  into["error"] = nullptr;
  if (kind != error_kind::none) into["error"] = std::string(to_string(kind));
  into["reason"] = nullptr;
  if (!reason.empty()) into["reason"] = valid_text(reason);
}

boost::json::object failure_object(const std::string& message) {
  boost::json::object object;
  object["status"] = static_cast<int>(status_own_failure);
  object["exit_code"] = nullptr;
  object["signal"] = nullptr;
  object["error"] = "cofferdam";
  object["reason"] = valid_text(message);
  return object;
}

std::string valid_text(std::string_view text) { return captured_output(to_bytes(text), bytes(), text.size()).text(); }

void print(const boost::json::object& object) { std::cout << boost::json::serialize(object) << std::endl; }

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::system_error& reason) {
    return reason.code() == exec_errc::cancelled || reason.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace program
