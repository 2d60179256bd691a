// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/json_events.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

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

COFFERDAM_DECL std::optional<std::vector<bool>> large_objects(std::string_view text,
                                                              const boost::json::parse_options& options) {
  // Each member has a colon, and at least three more characters. A text with few colons has no large object, even if it
  // is long (base64), so it is not parsed to count members.
  if (text.size() < 4 * max_members) return std::vector<bool>();
  if (static_cast<std::size_t>(std::count(text.begin(), text.end(), ':')) <= max_members) return std::vector<bool>();
  boost::json::basic_parser<large_object_finder> finder(options, max_members);
  if (!parses_wholly(finder, text)) return std::nullopt;
  std::vector<bool> large = finder.handler().large();
  if (std::find(large.begin(), large.end(), true) == large.end()) large.clear();
  return large;
}

COFFERDAM_DECL bool has_more_values(std::string_view text, std::size_t max_values,
                                    const boost::json::parse_options& options) {
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

COFFERDAM_DECL boost::json::value parse_untrusted_json(std::string_view text, std::error_code& failure,
                                                       const boost::json::parse_options& options,
                                                       boost::json::storage_ptr memory) {
  const std::optional<std::vector<bool>> large = large_objects(text, options);
  if (large && !large->empty()) {
    failure = boost::json::make_error_code(boost::json::error::object_too_large);
    return nullptr;
  }
  return boost::json::parse({text.data(), text.size()}, failure, std::move(memory), options);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
