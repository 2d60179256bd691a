// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

// Handlers for the parser of Boost.JSON. They are slow to compile, so only files with function bodies include them.

namespace cofferdam::inline COFFERDAM_ABI::detail {

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

/// A handler that finds the objects with more members than a limit. It numbers all objects in the order in which they
/// begin.
class large_object_finder : public json_silence {
 public:
  explicit large_object_finder(std::size_t most_members) : most_members_(most_members) {}

  const std::vector<bool>& large() const noexcept { return large_; }

  bool on_object_begin(code&) {
    open_.push_back(large_.size());
    large_.push_back(false);
    return true;
  }
  bool on_object_end(std::size_t count, code&) {
    large_[open_.back()] = count > most_members_;
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
  std::size_t most_members_;
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

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
