// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// One event of a stream of server-sent events.
class sse_event {
 public:
  sse_event() = default;
  sse_event(std::string type, std::string data, std::string id)
      : type_(std::move(type)), data_(std::move(data)), id_(std::move(id)) {}

  /// Returns the event's type, from its `event` line; "message" if there was none.
  const std::string& type() const noexcept { return type_; }
  /// Returns the values of the event's `data` lines, joined by `\n`.
  const std::string& data() const noexcept { return data_; }
  /// Returns the last `id` of the stream, from this or an earlier event; empty if there was none.
  const std::string& id() const noexcept { return id_; }

 private:
  std::string type_ = "message";
  std::string data_;
  std::string id_;
};

/// A parser for server-sent events. It does no I/O: the caller passes the received bytes, cut anywhere.
///
/// Lines end in `\n`, `\r\n` or `\r`. Comments, unknown fields and events without data are ignored. By
/// the standard, a last event that no empty line follows is dropped. `finish` passes such an event to the caller,
/// because real servers omit the empty line.
/// \par Source  WHATWG HTML, 9.2.6 "Interpreting an event stream".
class sse_reader {
 public:
  /// \param max_bytes  the maximum size of one event in bytes. Default 16 MiB.
  explicit sse_reader(std::size_t max_bytes = std::size_t{16} * 1024 * 1024) : max_bytes_(max_bytes) {}

  /// Parses a piece of the stream, and calls `each(sse_event)` for every event that it completes.
  /// \throws error{exec_errc::too_large} if an event is longer than the limit. After that, the reader cannot be used.
  template <class Each>
  void feed(std::string_view piece, Each&& each) {
    while (!piece.empty()) {
      if (after_return_ && piece.front() == '\n') piece.remove_prefix(1);
      after_return_ = false;
      const std::size_t end = piece.find_first_of("\r\n");
      keep(piece.substr(0, end));
      if (end == std::string_view::npos) return;
      after_return_ = piece[end] == '\r';
      piece.remove_prefix(end + 1);
      take_line(each);
    }
  }

  /// Returns the time that the stream's last `retry` line sets for the pause before a reconnection, in milliseconds; no
  /// value if there was none.
  std::optional<std::uint32_t> retry() const noexcept { return retry_; }
  /// Returns the last `id` of the stream; empty if there was none.
  const std::string& last_id() const noexcept { return id_; }

  /// Processes the end of the stream. Calls `each` for a last event without an empty line after it.
  template <class Each>
  void finish(Each&& each) {
    if (!line_.empty()) take_line(each);
    dispatch(each);
  }

 private:
  void keep(std::string_view part) {
    if (part.size() > max_bytes_ - line_.size() || line_.size() + part.size() > max_bytes_ - data_.size())
      throw error(exec_errc::too_large,
                  "an event of the stream is longer than the limit of " + std::to_string(max_bytes_) + " bytes");
    line_ += part;
  }

  template <class Each>
  void take_line(Each& each) {
    std::string_view line = line_;
    if (first_) {
      first_ = false;
      if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    }
    if (line.empty()) {
      dispatch(each);
    } else {
      const std::size_t colon = line.find(':');
      const std::string_view name = line.substr(0, colon);
      std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
      if (value.starts_with(' ')) value.remove_prefix(1);
      if (name == "data") {
        if (has_data_) data_ += '\n';
        data_ += value;
        has_data_ = true;
      } else if (name == "event") {
        type_ = value;
      } else if (name == "retry") {
        std::uint32_t time = 0;
        const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), time);
        if (problem == std::errc() && end == value.data() + value.size()) retry_ = time;
      } else if (name == "id" && value.find('\0') == std::string_view::npos) {
        id_ = value;
      }
    }
    line_.clear();
  }

  template <class Each>
  void dispatch(Each& each) {
    if (has_data_) {
      sse_event event(type_.empty() ? std::string("message") : std::move(type_), std::move(data_), id_);
      each(std::move(event));
    }
    type_.clear();
    data_.clear();
    has_data_ = false;
  }

  std::size_t max_bytes_;
  std::string line_;
  std::string type_;
  std::string data_;
  std::string id_;
  std::optional<std::uint32_t> retry_;
  bool has_data_ = false;
  bool after_return_ = false;
  bool first_ = true;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
