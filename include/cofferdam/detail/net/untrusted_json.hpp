// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Parsers for JSON from untrusted sources. The objects of Boost.JSON are hash tables. An attacker can choose keys that
// collide in the table, and then an object of one megabyte blocks the event loop for seconds. The parsers here
// therefore refuse or avoid objects with many members.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The maximum number of members of one object in untrusted JSON.
inline constexpr std::size_t max_members = 1000;

/// A handler for `boost::json::basic_parser` that ignores the parser's events. Derived handlers override the events
/// that they need.
class json_silence {
 public:
  using code = boost::system::error_code;
  using text = boost::json::string_view;
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  bool on_document_begin(code&) { return true; }
  bool on_document_end(code&) { return true; }
  bool on_comment_part(text, code&) { return true; }
  bool on_comment(text, code&) { return true; }
  bool on_number_part(text, code&) { return true; }
};

/// A handler that finds the objects with more than `max_members` members. It numbers all objects in the order in which
/// they begin.
class large_object_finder : public json_silence {
 public:
  const std::vector<bool>& large() const noexcept { return large_; }

  bool on_object_begin(code&) {
    open_.push_back(large_.size());
    large_.push_back(false);
    return true;
  }
  bool on_object_end(std::size_t count, code&) {
    large_[open_.back()] = count > max_members;
    open_.pop_back();
    return true;
  }
  bool on_array_begin(code&) { return true; }
  bool on_array_end(std::size_t, code&) { return true; }
  bool on_key_part(text, std::size_t, code&) { return true; }
  bool on_key(text, std::size_t, code&) { return true; }
  bool on_string_part(text, std::size_t, code&) { return true; }
  bool on_string(text, std::size_t, code&) { return true; }
  bool on_int64(std::int64_t, text, code&) { return true; }
  bool on_uint64(std::uint64_t, text, code&) { return true; }
  bool on_double(double, text, code&) { return true; }
  bool on_bool(bool, code&) { return true; }
  bool on_null(code&) { return true; }

 private:
  std::vector<bool> large_;
  std::vector<std::size_t> open_;
};

/// Parses a text with a handler. Returns false if the text is not JSON, if other text follows, or if the handler stops.
template <class Handler>
bool parses_wholly(boost::json::basic_parser<Handler>& parser, std::string_view text) {
  boost::system::error_code failure;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), failure);
  return !failure && parser.done() && text.find_first_not_of(" \t\r\n", read) == std::string_view::npos;
}

/// Returns a flag for each object of a JSON text, in the order in which the objects begin. A flag is true if its object
/// has more than `max_members` members. The result is empty if no flag is true. Returns no value if a long text is not
/// JSON or is nested too deeply.
inline std::optional<std::vector<bool>> large_objects(std::string_view text,
                                                      const boost::json::parse_options& options) {
  // Each member has a colon, and at least three more characters. A text with few colons has no large object, even if it
  // is long (base64), so it is not parsed to count members.
  if (text.size() < 4 * max_members) return std::vector<bool>();
  if (static_cast<std::size_t>(std::count(text.begin(), text.end(), ':')) <= max_members) return std::vector<bool>();
  boost::json::basic_parser<large_object_finder> finder(options);
  if (!parses_wholly(finder, text)) return std::nullopt;
  std::vector<bool> large = finder.handler().large();
  if (std::find(large.begin(), large.end(), true) == large.end()) large.clear();
  return large;
}

/// A handler that counts the values of a JSON text, and stops the parser at a limit.
class value_counter : public json_silence {
 public:
  explicit value_counter(std::size_t max_values) : left_(max_values) {}

  bool on_object_begin(code& failure) { return count(failure); }
  bool on_object_end(std::size_t, code&) { return true; }
  bool on_array_begin(code& failure) { return count(failure); }
  bool on_array_end(std::size_t, code&) { return true; }
  bool on_key_part(text, std::size_t, code&) { return true; }
  bool on_key(text, std::size_t, code&) { return true; }
  bool on_string_part(text, std::size_t, code&) { return true; }
  bool on_string(text, std::size_t, code& failure) { return count(failure); }
  bool on_int64(std::int64_t, text, code& failure) { return count(failure); }
  bool on_uint64(std::uint64_t, text, code& failure) { return count(failure); }
  bool on_double(double, text, code& failure) { return count(failure); }
  bool on_bool(bool, code& failure) { return count(failure); }
  bool on_null(code& failure) { return count(failure); }

  bool is_past_limit() const noexcept { return is_past_limit_; }

 private:
  bool count(code& failure) {
    if (left_ == 0) {
      is_past_limit_ = true;
      failure = boost::json::make_error_code(boost::json::error::array_too_large);
      return false;
    }
    --left_;
    return true;
  }

  std::size_t left_;
  bool is_past_limit_ = false;
};

/// Returns true if a JSON text has more than `max_values` values of any type, at any depth. Building many small objects
/// and arrays takes far more time than building a long string: a megabyte of `[],[],` costs as much as a hundred
/// megabytes of text. This function builds no values, and stops at the limit.
inline bool has_more_values(std::string_view text, std::size_t max_values, const boost::json::parse_options& options) {
  // Each value except the first has one of these characters of its own before it: a comma, or the bracket that begins
  // its array or object.
  const auto begins = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return c == ',' || c == '[' || c == '{'; }));
  if (begins < max_values) return false;
  boost::json::basic_parser<value_counter> counter(options, max_values);
  boost::system::error_code failure;
  counter.write_some(false, text.data(), text.size(), failure);
  return counter.handler().is_past_limit();
}

/// Parses JSON as `boost::json::parse` does, but refuses an object with more than `max_members` members: `failure` is
/// then `object_too_large`.
/// \param memory  where the value is stored.
inline boost::json::value parse_untrusted_json(std::string_view text, std::error_code& failure,
                                               const boost::json::parse_options& options = {},
                                               boost::json::storage_ptr memory = {}) {
  const std::optional<std::vector<bool>> large = large_objects(text, options);
  if (large && !large->empty()) {
    failure = boost::json::make_error_code(boost::json::error::object_too_large);
    return nullptr;
  }
  return boost::json::parse({text.data(), text.size()}, failure, std::move(memory), options);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
