// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/progress_event.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/base64.hpp>

#include <boost/json/object.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A parser of the daemon's response to a pull, a load or a build: JSON objects one after another, with or without line
/// ends between them. Sans-I/O: `feed` received bytes, cut anywhere; take events with `next`; call `finish` at the end.
///
/// The status of such a response is 200 even after a failure; the events then include a `failure`. Without one, the
/// operation has succeeded only if `finish` does not throw, because a dying daemon ends its stream normally.
/// \par Memory   one object, at most `max_object` bytes as text, and the events of what was fed and not yet taken.
/// \par Source   moby `pkg/jsonmessage`.
class progress_stream {
 public:
  /// \param max_object  maximum size of an object in bytes.
  explicit progress_stream(std::size_t max_object = std::size_t{1024} * 1024) : most_(max_object) {}

  /// \throws error{exec_errc::provider_failed}: not JSON, not an object, or too long. Nothing can be read after that.
  void feed(std::string_view piece) {
    if (failed_) throw bad("is not read any further");
    while (!piece.empty()) {
      if (size_ == 0) {
        const std::size_t begin = piece.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos) return;
        piece.remove_prefix(begin);
        if (piece.front() != '{') throw bad("is not a JSON object");
      }
      // Scans no more than the object may still have.
      const std::string_view part = piece.substr(0, most_ - size_);
      if (part.empty()) throw bad("is longer than the " + std::to_string(most_) + " bytes that are read");
      std::error_code failure;
      const std::size_t used = parser_.write_some(part.data(), part.size(), failure);
      if (failure) throw bad("is not valid JSON");
      size_ += used;
      piece.remove_prefix(used);
      if (!parser_.done()) continue;
      const boost::json::value value = parser_.release();
      parser_.reset();
      size_ = 0;
      if (const boost::json::object* const object = value.if_object()) events_.push_back(event_of(*object));
    }
  }

  /// Returns the next event; no value until more is fed.
  std::optional<progress_event> next() {
    if (events_.empty()) return std::nullopt;
    std::optional<progress_event> event(std::move(events_.front()));
    events_.pop_front();
    return event;
  }

  /// Declares the end of the stream.
  /// \throws error{exec_errc::provider_lost}: it ended inside an object.
  void finish() const {
    if (size_ > 0)
      throw error(exec_errc::provider_lost,
                  "docker: the daemon's progress report ends in the middle of a message: the connection was cut");
  }

 private:
  error bad(const std::string& what) {
    failed_ = true;
    return error(exec_errc::provider_failed, "docker: a message of the daemon's progress report " + what);
  }

  static std::uint64_t count_at(const boost::json::object* object, std::string_view key) {
    const std::optional<std::int64_t> number = object == nullptr ? std::nullopt : detail::number_at(*object, key);
    return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
  }

  static progress_event event_of(const boost::json::object& object) {
    using kind = progress_event::kind;
    const boost::json::object* const failure = detail::object_at(object, "errorDetail");
    if (failure != nullptr || detail::member(object, "error") != nullptr) {
      std::string_view message = failure == nullptr ? std::string_view() : detail::text_at(*failure, "message");
      if (message.empty()) message = detail::text_at(object, "error");
      progress_event event(kind::failure);
      event.text(message.empty() ? std::string("an error without a message") : std::string(message));
      const std::uint64_t code = count_at(failure, "code");
      if (code <= 255) event.code(static_cast<int>(code));
      return event;
    }
    if (const boost::json::object* const aux = detail::object_at(object, "aux")) {
      const std::string_view id = detail::text_at(*aux, "ID");
      progress_event event(id.empty() ? kind::other : kind::image);
      event.id(std::string(id));
      return event;
    }
    if (detail::text_at(object, "id") == "moby.buildkit.trace") {
      progress_event event(kind::trace);
      if (const std::optional<bytes> raw = cofferdam::detail::base64_decode(detail::text_at(object, "aux")))
        event.text(std::string(as_text(*raw)));
      return event;
    }
    if (detail::member(object, "stream") != nullptr) {
      progress_event event(kind::output);
      event.text(std::string(detail::text_at(object, "stream")));
      return event;
    }
    const bool has_status = detail::member(object, "status") != nullptr;
    progress_event event(has_status ? kind::status : kind::other);
    event.text(std::string(detail::text_at(object, "status"))).id(std::string(detail::text_at(object, "id")));
    const boost::json::object* const progress = detail::object_at(object, "progressDetail");
    event.progress(count_at(progress, "current"), count_at(progress, "total"));
    return event;
  }

  boost::json::stream_parser parser_;
  std::size_t most_;
  std::size_t size_ = 0;  // size of the object that is being read
  bool failed_ = false;
  std::deque<progress_event> events_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
