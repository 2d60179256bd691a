// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>

#include <boost/json/fwd.hpp>

#include <array>
#include <cstdint>
#include <optional>
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
  static process_event parse(std::string_view text);

 private:
  static constexpr std::array<std::pair<std::string_view, kind>, 3> outputs{
      {{"stdout", kind::out}, {"stderr", kind::err}, {"pty", kind::terminal}}};

  /// Parses an output message without a JSON parser. Output messages are the most frequent, so this path is fast. It
  /// requires the exact form that the daemon writes. The base64 text can be used directly, because it contains no JSON
  /// escapes. Returns no value for any other form.
  static std::optional<process_event> plain_output(std::string_view text);

  /// Decodes base64 in the standard or the URL-safe alphabet, with or without padding. The JSON mapping of protobuf
  /// requires this.
  static bytes decoded(std::string_view text);

  static process_end end_of(const boost::json::object& fields);

  /// Returns the signal number for the signal name that Go, the daemon's language, prints; -1 if the name is not known.
  static int signal_named(std::string_view words);
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/process_event.ipp>
#endif
