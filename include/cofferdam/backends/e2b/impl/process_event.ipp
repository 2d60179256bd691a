// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/net_error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL process_event process_event::parse(std::string_view text) {
  namespace json = cofferdam::detail;
  if (std::optional<process_event> output = plain_output(text)) return std::move(*output);
  const boost::json::object message =
      json::parse_object(text, exec_errc::io_error, "e2b: a message of a command's stream");
  process_event result;
  const boost::json::object* const event = json::object_at(message, "event");
  if (event == nullptr) return result;
  if (const boost::json::object* const start = json::object_at(*event, "start")) {
    result.what = kind::start;
    result.pid = json::number_at(*start, "pid").value_or(0);
  } else if (const boost::json::object* const data = json::object_at(*event, "data")) {
    for (const auto& [name, what] : outputs) {
      const boost::json::value* const found = json::member(*data, name);
      if (found == nullptr || !found->is_string()) continue;
      result.what = what;
      result.data = decoded(json::text_at(*data, name));
    }
  } else if (const boost::json::object* const end = json::object_at(*event, "end")) {
    result.what = kind::end;
    result.end = end_of(*end);
  }
  return result;
}

COFFERDAM_DECL std::optional<process_event> process_event::plain_output(std::string_view text) {
  constexpr std::string_view before = R"({"event":{"data":{")";
  constexpr std::string_view between = R"(":")";
  constexpr std::string_view behind = R"("}}})";
  if (!text.starts_with(before) || !text.ends_with(behind)) return std::nullopt;
  text.remove_prefix(before.size());
  for (const auto& [name, what] : outputs) {
    if (!text.starts_with(name) || !text.substr(name.size()).starts_with(between)) continue;
    text.remove_prefix(name.size() + between.size());
    if (text.size() < behind.size()) return std::nullopt;
    text.remove_suffix(behind.size());
    std::optional<bytes> content = cofferdam::detail::base64_decode(text);
    if (!content) return std::nullopt;
    process_event result;
    result.what = what;
    result.data = std::move(*content);
    return result;
  }
  return std::nullopt;
}

COFFERDAM_DECL bytes process_event::decoded(std::string_view text) {
  std::optional<bytes> plain = cofferdam::detail::base64_decode(text);
  if (!plain) {
    std::string copy(text);
    std::replace(copy.begin(), copy.end(), '-', '+');
    std::replace(copy.begin(), copy.end(), '_', '/');
    while (copy.size() % 4 != 0 && copy.size() % 4 != 1) copy += '=';
    plain = cofferdam::detail::base64_decode(copy);
  }
  if (!plain)
    throw error(exec_errc::io_error, "e2b: the output in a message of a command's stream is not base64",
                net_errc::malformed);
  return std::move(*plain);
}

COFFERDAM_DECL process_end process_event::end_of(const boost::json::object& fields) {
  namespace json = cofferdam::detail;
  process_end result;
  std::optional<std::int64_t> code = json::number_at(fields, "exitCode");
  if (!code) code = json::number_at(fields, "exit_code");
  const std::string_view status = json::text_at(fields, "status");
  if (status.starts_with("signal: ")) {
    result.signal = signal_named(status.substr(8));
  } else if (const std::int64_t number = code.value_or(0); number >= 0 && number <= 255) {
    result.exit_code = static_cast<int>(number);
  } else {
    result.signal = -1;
  }
  return result;
}

COFFERDAM_DECL int process_event::signal_named(std::string_view words) {
  constexpr std::array<std::pair<std::string_view, int>, 31> names{{{"hangup", SIGHUP},
                                                                    {"interrupt", SIGINT},
                                                                    {"quit", SIGQUIT},
                                                                    {"illegal instruction", SIGILL},
                                                                    {"trace/breakpoint trap", SIGTRAP},
                                                                    {"aborted", SIGABRT},
                                                                    {"bus error", SIGBUS},
                                                                    {"floating point exception", SIGFPE},
                                                                    {"killed", SIGKILL},
                                                                    {"user defined signal 1", SIGUSR1},
                                                                    {"segmentation fault", SIGSEGV},
                                                                    {"user defined signal 2", SIGUSR2},
                                                                    {"broken pipe", SIGPIPE},
                                                                    {"alarm clock", SIGALRM},
                                                                    {"terminated", SIGTERM},
                                                                    {"stack fault", SIGSTKFLT},
                                                                    {"child exited", SIGCHLD},
                                                                    {"continued", SIGCONT},
                                                                    {"stopped (signal)", SIGSTOP},
                                                                    {"stopped", SIGTSTP},
                                                                    {"stopped (tty input)", SIGTTIN},
                                                                    {"stopped (tty output)", SIGTTOU},
                                                                    {"urgent I/O condition", SIGURG},
                                                                    {"CPU time limit exceeded", SIGXCPU},
                                                                    {"file size limit exceeded", SIGXFSZ},
                                                                    {"virtual timer expired", SIGVTALRM},
                                                                    {"profiling timer expired", SIGPROF},
                                                                    {"window changed", SIGWINCH},
                                                                    {"I/O possible", SIGIO},
                                                                    {"power failure", SIGPWR},
                                                                    {"bad system call", SIGSYS}}};
  if (words.ends_with(" (core dumped)")) words.remove_suffix(std::string_view(" (core dumped)").size());
  for (const auto& [name, number] : names)
    if (name == words) return number;
  int number = 0;
  if (words.starts_with("signal ")) words.remove_prefix(7);
  for (const char c : words) {
    if (c < '0' || c > '9' || number > 64) return -1;
    number = number * 10 + (c - '0');
  }
  return number >= 1 && number <= 64 ? number : -1;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
