// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/progress_stream.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// A field of a protobuf message. Its content is a number or bytes.
class wire_field {
 public:
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view content;
};

/// A parser of a protobuf message, which returns one field after another. It stops at the first invalid byte.
class wire_reader {
 public:
  explicit wire_reader(std::string_view message) : rest_(message) {}

  std::optional<wire_field> next() {
    const std::optional<std::uint64_t> key = number();
    if (!key) return std::nullopt;
    wire_field field;
    field.number = static_cast<std::uint32_t>(*key >> 3U);
    switch (*key & 7U) {
      case 0: {
        const std::optional<std::uint64_t> value = number();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1: return bytes_of(field, 8);
      case 2: {
        const std::optional<std::uint64_t> size = number();
        if (!size) return std::nullopt;
        return bytes_of(field, *size);
      }
      case 5: return bytes_of(field, 4);
      default: return std::nullopt;
    }
  }

 private:
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    rest_ = {};
    return std::nullopt;
  }

  std::optional<wire_field> bytes_of(wire_field field, std::uint64_t size) {
    if (size > rest_.size()) {
      rest_ = {};
      return std::nullopt;
    }
    field.content = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

/// A converter from BuildKit's progress messages to the events of the classic builder: a line of output at the start of
/// each step, the output of the steps, and the progress of downloads.
class build_trace {
 public:
  /// Returns the events of one message.
  /// \param message  a serialized `StatusResponse`. Unknown fields are ignored.
  std::vector<progress_event> read(std::string_view message) {
    std::vector<progress_event> events;
    wire_reader fields(message);
    while (const std::optional<wire_field> field = fields.next()) {
      if (field->number == 1) read_step(field->content, events);
      if (field->number == 2) read_status(field->content, events);
      if (field->number == 3) read_output(field->content, events);
    }
    return events;
  }

 private:
  using kind = progress_event::kind;

  static std::string text_of(std::string_view raw) {
    std::string text;
    cofferdam::detail::append_repaired_utf8(text, raw);
    return text;
  }

  static void add_line(std::string_view line, std::vector<progress_event>& events) {
    progress_event event(kind::output);
    event.text(text_of(line) + "\n");
    events.push_back(std::move(event));
  }

  // Adds a line at the start of a step, and a line for its failure. BuildKit sends a step again after each change of
  // the step, so lines that were added before are not added again.
  void read_step(std::string_view message, std::vector<progress_event>& events) {
    std::string digest;
    std::string_view name;
    std::string_view failure;
    bool is_cached = false;
    bool has_started = false;
    wire_reader fields(message);
    while (const std::optional<wire_field> field = fields.next()) {
      switch (field->number) {
        case 1: digest = std::string(field->content); break;
        case 3: name = field->content; break;
        case 4: is_cached = field->value != 0; break;
        case 5: has_started = true; break;
        case 7: failure = field->content; break;
        default: break;
      }
    }
    if (!has_started && !is_cached) return;
    if (begun_.insert(digest).second) add_line(std::string(name) + (is_cached ? " (cached)" : ""), events);
    if (!failure.empty() && failed_.insert(digest).second)
      add_line(std::string(name) + ": " + std::string(failure), events);
  }

  static void read_status(std::string_view message, std::vector<progress_event>& events) {
    progress_event event(kind::status);
    std::uint64_t current = 0;
    std::uint64_t total = 0;
    wire_reader fields(message);
    while (const std::optional<wire_field> field = fields.next()) {
      switch (field->number) {
        case 1: event.id(text_of(field->content)); break;
        case 3: event.text(text_of(field->content)); break;
        case 4: current = field->value; break;
        case 5: total = field->value; break;
        default: break;
      }
    }
    if (total == 0) return;
    event.progress(current, total);
    events.push_back(std::move(event));
  }

  static void read_output(std::string_view message, std::vector<progress_event>& events) {
    wire_reader fields(message);
    while (const std::optional<wire_field> field = fields.next()) {
      if (field->number != 4 || field->content.empty()) continue;
      progress_event event(kind::output);
      event.text(text_of(field->content));
      events.push_back(std::move(event));
    }
  }

  std::set<std::string> begun_;
  std::set<std::string> failed_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
