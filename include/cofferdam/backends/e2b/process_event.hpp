// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
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
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The end of a process, as reported by the sandbox's daemon.
class process_end {
 public:
  process_end() = default;

  int exit_code = -1;  ///< from 0 to 255; -1 if a signal ended the process
  int signal = 0;      ///< the signal that ended the process; 0 if no signal did; -1 if the name of the signal is not
                       ///< known
};

/// One message of the daemon's stream about a process: its start, a piece of output, or its end.
class process_event {
 public:
  process_event() = default;

  /// The kind of a message: the start of the process, output of one of three kinds, its end, or an unknown message.
  enum class kind { start, out, err, terminal, end, other };
  /// The kind of this message.
  kind what = kind::other;
  std::int64_t pid = 0;  ///< the process id, in a `start` message
  bytes data;            ///< the output, in an `out`, `err` or `terminal` message
  process_end end;       ///< the exit status, in an `end` message

  /// Parses one message of the stream.
  /// \param text  the JSON text of the message: `{"event":{...}}`. For an unknown event the result has the kind
  ///              `other`.
  /// \throws error{exec_errc::io_error} with net_errc::malformed if the text is not a JSON object, or its data is not
  ///     base64.
  /// \par Source  envd's process.proto, in proto3's JSON mapping.
  static process_event parse(std::string_view text) {
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

 private:
  static constexpr std::array<std::pair<std::string_view, kind>, 3> outputs{
      {{"stdout", kind::out}, {"stderr", kind::err}, {"pty", kind::terminal}}};

  /// Parses an output message without a JSON parser. Output messages are the most frequent, so this path is fast. It
  /// requires the exact form that the daemon writes. The base64 text can be used directly, because it contains no JSON
  /// escapes. Returns no value for any other form.
  static std::optional<process_event> plain_output(std::string_view text) {
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

  /// Decodes base64 in the standard or the URL-safe alphabet, with or without padding. The JSON mapping of protobuf
  /// requires this.
  static bytes decoded(std::string_view text) {
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

  static process_end end_of(const boost::json::object& fields) {
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

  /// Returns the signal number for the signal name that Go, the daemon's language, prints; -1 if the name is not known.
  static int signal_named(std::string_view words) {
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
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
