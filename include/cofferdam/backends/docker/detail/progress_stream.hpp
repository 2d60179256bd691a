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

/// A parser of the daemon's response to a pull, a load or a build. The response is a sequence of JSON objects, with or
/// without line ends between them. The parser does no I/O: pass received bytes, cut anywhere, to `feed`, get events
/// from `next`, and call `finish` at the end.
///
/// The HTTP status of such a response is 200 even if the operation fails; the events then include a `failure`. If there
/// is no such event, the operation has succeeded only if `finish` does not throw, because a daemon that dies may end
/// its response in the regular way.
/// \par Memory   at most one object of `max_object` bytes, and the events that `next` has not returned yet.
/// \par Source   moby `pkg/jsonmessage`.
class progress_stream {
 public:
  /// Makes a parser.
  /// \param max_object  maximum size of one object in bytes. Default: 1 MiB.
  explicit progress_stream(std::size_t max_object = std::size_t{1024} * 1024) : max_object_(max_object) {}

  /// Parses the next piece of the response.
  /// \throws error{exec_errc::provider_failed} if the response contains something that is not valid JSON, is not an
  ///     object, or is longer than `max_object`. Every later call then throws too.
  void feed(std::string_view piece) {
    if (failed_) throw bad("follows an invalid one, so it is not read");
    while (!piece.empty()) {
      if (size_ == 0) {
        const std::size_t begin = piece.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos) return;
        piece.remove_prefix(begin);
        if (piece.front() != '{') throw bad("is not a JSON object");
      }
      // Parses at most the number of bytes that the object may still have.
      const std::string_view part = piece.substr(0, max_object_ - size_);
      if (part.empty()) throw bad("is longer than the limit of " + std::to_string(max_object_) + " bytes");
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

  /// Returns the next event, or no value if more input is needed.
  std::optional<progress_event> next() {
    if (events_.empty()) return std::nullopt;
    std::optional<progress_event> event(std::move(events_.front()));
    events_.pop_front();
    return event;
  }

  /// Checks that the response may end at this point. Call this when the response has ended.
  /// \throws error{exec_errc::provider_lost} if the response ended inside an object.
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
  std::size_t max_object_;
  std::size_t size_ = 0;  // size in bytes of the part of the current object that was parsed
  bool failed_ = false;
  std::deque<progress_event> events_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
