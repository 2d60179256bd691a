// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

enum class watch_event_kind {
  added,
  modified,
  deleted,
  bookmark,  ///< only the resourceVersion of the object is new
  failed,    ///< the object is a Status; the watch is over
};

/// One event of a watch.
class watch_event {
 public:
  watch_event(watch_event_kind kind, boost::json::object object) : kind_(kind), object_(std::move(object)) {}
  watch_event_kind kind() const noexcept { return kind_; }
  const boost::json::object& object() const noexcept { return object_; }

 private:
  watch_event_kind kind_;
  boost::json::object object_;
};

/// A reader for the answer to a watch: a stream of JSON objects, one a line, which may be cut at every byte.
/// \par Source  Kubernetes API, "Efficient detection of changes".
class watch_reader {
 public:
  /// The maximum size of one event in bytes: 8 MiB. The API server stores objects of at most about 1.5 MiB.
  static constexpr std::size_t max_event = std::size_t{8} * 1024 * 1024;

  /// Reads the next event.
  /// \param input  bytes of the answer. The function removes the bytes that it has read.
  /// \return  no value if the input contains no further complete event; `input` is then empty.
  /// \throws error{exec_errc::provider_failed} if a line is not an event; error{exec_errc::too_large} for a long one.
  std::optional<watch_event> next(std::string_view& input) {
    while (!input.empty()) {
      const std::size_t end = input.find('\n');
      const std::string_view piece = input.substr(0, end);
      if (piece.size() > max_event - line_.size())
        throw error(exec_errc::too_large, "kubernetes: the API server sent an event of more than 8 MiB");
      line_ += piece;
      input.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
      if (end == std::string_view::npos) break;
      const std::string line = std::exchange(line_, std::string());
      if (line.find_first_not_of(" \t\r") != std::string::npos) return parse(line);
    }
    return std::nullopt;
  }

  /// Returns true if the stream has ended within an event, which is then lost.
  bool is_cut() const noexcept { return !line_.empty(); }

 private:
  static watch_event parse(std::string_view line) {
    const boost::json::object event =
        cofferdam::detail::parse_object(line, exec_errc::provider_failed, "kubernetes: an event of a watch");
    const std::string_view type = cofferdam::detail::text_at(event, "type");
    const boost::json::object* const object = cofferdam::detail::object_at(event, "object");
    if (object == nullptr)
      throw error(exec_errc::provider_failed, "kubernetes: an event of a watch contains no object");
    constexpr std::string_view types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
    for (std::size_t i = 0; i < 5; ++i)
      if (type == types[i]) return watch_event(static_cast<watch_event_kind>(i), *object);
    throw error(exec_errc::provider_failed,
                "kubernetes: an event of a watch has the unknown type \"" + one_line(type, 40) + "\"");
  }

  std::string line_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
