// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/guest_json.hpp>
#include <cofferdam/detail/net/json_events.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A handler for the JSON parser that builds a value. A large object becomes a list of pairs.
class guest_value_maker : public json_silence {
 public:
  explicit guest_value_maker(std::vector<bool> large) : large_(std::move(large)) {}

  boost::json::value take() { return made_.release(); }

  bool on_document_begin(code&) {
    made_.reset();
    return true;
  }
  bool on_object_begin(code&) {
    const bool is_large = large_[next_++];
    open_.push_back(is_large);
    if (is_large) {
      made_.push_key("$python");
      made_.push_string("dict");
      made_.push_key("items");
    }
    return true;
  }
  bool on_object_end(std::size_t count, code&) {
    const bool is_large = open_.back();
    open_.pop_back();
    if (is_large) {
      made_.push_array(count);
      made_.push_object(2);
    } else {
      made_.push_object(count);
    }
    return made();
  }
  bool on_array_begin(code&) {
    open_.push_back(false);
    return true;
  }
  bool on_array_end(std::size_t count, code&) {
    open_.pop_back();
    made_.push_array(count);
    return made();
  }
  bool on_key_part(text part, std::size_t, code&) { return add(part); }
  bool on_key(text part, std::size_t, code&) {
    if (open_.back())
      made_.push_string(part);
    else
      made_.push_key(part);
    return true;
  }
  bool on_string_part(text part, std::size_t, code&) { return add(part); }
  bool on_string(text part, std::size_t, code&) {
    made_.push_string(part);
    return made();
  }
  bool on_int64(std::int64_t number, text, code&) {
    made_.push_int64(number);
    return made();
  }
  bool on_uint64(std::uint64_t number, text, code&) {
    made_.push_uint64(number);
    return made();
  }
  bool on_double(double number, text, code&) {
    made_.push_double(number);
    return made();
  }
  bool on_bool(bool is_true, code&) {
    made_.push_bool(is_true);
    return made();
  }
  bool on_null(code&) {
    made_.push_null();
    return made();
  }

 private:
  bool add(text part) {
    made_.push_chars(part);
    return true;
  }
  /// Completes a value. In a large object this also completes the pair of key and value.
  bool made() {
    if (!open_.empty() && open_.back()) made_.push_array(2);
    return true;
  }

  std::vector<bool> large_;
  std::vector<bool> open_;
  std::size_t next_ = 0;
  boost::json::value_stack made_;
};

COFFERDAM_DECL std::optional<boost::json::value> parse_guest_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = deepest_guest_json;
  const std::optional<std::vector<bool>> large = large_objects(text, options);
  if (!large) return std::nullopt;
  if (!large->empty()) {
    boost::json::basic_parser<guest_value_maker> maker(options, *large);
    if (!parses_wholly(maker, text)) return std::nullopt;
    return maker.handler().take();
  }
  boost::system::error_code failure;
  boost::json::value value = boost::json::parse({text.data(), text.size()}, failure, {}, options);
  if (failure) return std::nullopt;
  return value;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
