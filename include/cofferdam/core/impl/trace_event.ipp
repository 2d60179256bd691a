// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/detail/core/utc_time.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// Returns the name of an enumerator of `exec_errc`.
COFFERDAM_DECL std::string_view name_of(exec_errc code) noexcept {
  switch (code) {
    case exec_errc::invalid_argument: return "invalid_argument";
    case exec_errc::cancelled: return "cancelled";
    case exec_errc::environment_closed: return "environment_closed";
    case exec_errc::provider_lost: return "provider_lost";
    case exec_errc::provider_failed: return "provider_failed";
    case exec_errc::unsupported: return "unsupported";
    case exec_errc::not_found: return "not_found";
    case exec_errc::not_a_file: return "not_a_file";
    case exec_errc::not_a_directory: return "not_a_directory";
    case exec_errc::already_exists: return "already_exists";
    case exec_errc::not_empty: return "not_empty";
    case exec_errc::outside_workspace: return "outside_workspace";
    case exec_errc::permission_denied: return "permission_denied";
    case exec_errc::too_large: return "too_large";
    case exec_errc::collision: return "collision";
    case exec_errc::io_error: return "io_error";
    case exec_errc::deadlock: return "deadlock";
    case exec_errc::unavailable: return "unavailable";
    case exec_errc::busy: return "busy";
  }
  return "_OTHER";
}

/// Appends a UTF-16 code unit as a JSON escape.
COFFERDAM_DECL void append_json_unit(std::string& out, char32_t unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[(unit >> shift) & 0xF];
}

/// Appends a text as a JSON string. Each invalid sequence of UTF-8 becomes U+FFFD.
COFFERDAM_DECL void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const utf8_unit unit = decode_utf8(text);
    text.remove_prefix(unit.size());
    const char32_t c = unit.code_point();
    if (c == U'"' || c == U'\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || is_misleading(c)) {
      if (c > 0xFFFF) append_json_unit(out, 0xD800 + ((c - 0x10000) >> 10));
      append_json_unit(out, c > 0xFFFF ? 0xDC00 + ((c - 0x10000) & 0x3FF) : c);
    } else {
      append_utf8(out, c);
    }
  }
  out += '"';
}

/// Formats a duration as a JSON number of seconds.
COFFERDAM_DECL std::string seconds_text(std::chrono::nanoseconds time) {
  const std::int64_t count = std::max<std::int64_t>(time.count(), 0);
  const std::string fraction = std::to_string(1'000'000'000 + count % 1'000'000'000);
  return std::to_string(count / 1'000'000'000) + "." + fraction.substr(1);
}

}  // namespace detail

COFFERDAM_DECL trace_event::trace_event(std::string operation, std::string name)
    : operation_(std::move(operation)),
      name_(std::move(name)),
      start_(std::chrono::system_clock::now()),
      began_(std::chrono::steady_clock::now()) {}

COFFERDAM_DECL trace_event& trace_event::end() {
  duration_ = std::chrono::steady_clock::now() - began_;
  return *this;
}

COFFERDAM_DECL trace_event& trace_event::set(std::string_view name, trace_value value) {
  std::erase_if(attributes_, [name](const trace_attribute& each) { return each.name() == name; });
  attributes_.emplace_back(std::string(name), std::move(value));
  return *this;
}

COFFERDAM_DECL const trace_value* trace_event::find(std::string_view name) const noexcept {
  const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                  [name](const trace_attribute& each) { return each.name() == name; });
  return found == attributes_.end() ? nullptr : &found->value();
}

COFFERDAM_DECL std::string trace_event::text(std::string_view name) const {
  const trace_value* const value = find(name);
  if (value == nullptr) return {};
  if (const auto* const number = std::get_if<std::int64_t>(value)) return std::to_string(*number);
  return std::get<std::string>(*value);
}

COFFERDAM_DECL trace_event& trace_event::fail(std::exception_ptr reason) {
  std::string_view type = "_OTHER";
  try {
    std::rethrow_exception(std::move(reason));
  } catch (const error& failure) {
    type = detail::name_of(static_cast<exec_errc>(failure.code().value()));
  } catch (const std::system_error& failure) {
    if (failure.code() == asio::error::operation_aborted) type = detail::name_of(exec_errc::cancelled);
  } catch (...) {
    type = "_OTHER";
  }
  return set("error.type", std::string(type));
}

COFFERDAM_DECL std::string trace_event::json() const {
  std::string line =
      "{\"time\":\"" + detail::utc_time(start_, 6) + "\",\"duration\":" + detail::seconds_text(duration_);
  line += ",\"name\":";
  detail::append_json_text(line, name_);
  line += ",\"cofferdam.operation\":";
  detail::append_json_text(line, operation_);
  for (const trace_attribute& each : attributes_) {
    line += ',';
    detail::append_json_text(line, each.name());
    line += ':';
    if (const auto* const number = std::get_if<std::int64_t>(&each.value())) {
      line += std::to_string(*number);
    } else {
      detail::append_json_text(line, std::get<std::string>(each.value()));
    }
  }
  return line + "}";
}

}  // namespace cofferdam::inline COFFERDAM_ABI
