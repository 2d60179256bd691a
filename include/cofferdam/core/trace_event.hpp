// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The value of an attribute of a `trace_event`.
using trace_value = std::variant<std::string, std::int64_t>;

/// A named value of a `trace_event`.
class trace_attribute {
 public:
  /// Makes an attribute. The members of the same names describe the parameters.
  trace_attribute(std::string name, trace_value value) : name_(std::move(name)), value_(std::move(value)) {}
  /// Returns the name, such as `process.exit.code`.
  const std::string& name() const noexcept { return name_; }
  /// Returns the value. A text may come from a model, so it is untrusted.
  const trace_value& value() const noexcept { return value_; }

 private:
  std::string name_;
  trace_value value_;
};

/// An operation that has ended, as the layer `trace` and `traced_model` report it: a span, in the words of
/// OpenTelemetry. `trace` lists the attributes.
class trace_event {
 public:
  /// Begins an event; its time is now.
  /// \param operation  the operation, such as `read_file`.
  /// \param name       the name of the span.
  trace_event(std::string operation, std::string name);

  /// Returns the operation: the name of the member that was called, such as `run_command`, or
  /// `gen_ai.client.operation` for a call of a model.
  const std::string& operation() const noexcept { return operation_; }
  /// Returns the name of the span as OpenTelemetry's conventions define it, such as `execute_tool run_command`.
  const std::string& name() const noexcept { return name_; }
  trace_event& name(std::string text) {
    name_ = std::move(text);
    return *this;
  }
  /// Returns the time at which the operation began.
  std::chrono::system_clock::time_point start() const noexcept { return start_; }
  /// Returns the duration of the operation, measured by a steady clock.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }
  /// Sets the duration to the time since the event began.
  trace_event& end();

  /// Returns the attributes, in the order in which they were set.
  const std::vector<trace_attribute>& attributes() const noexcept { return attributes_; }
  /// Sets an attribute, and replaces an earlier one of this name.
  /// \param name   the name of the attribute.
  /// \param value  its value.
  trace_event& set(std::string_view name, trace_value value);
  /// Returns the value of an attribute; null if the event does not have it.
  const trace_value* find(std::string_view name) const noexcept;
  /// Returns the value of an attribute as text; empty if the event does not have it.
  std::string text(std::string_view name) const;
  /// Returns the attribute `error.type`: the class of the failure, such as `not_found`; empty after a success.
  std::string error_type() const { return text("error.type"); }
  /// Sets the attribute `error.type` from an exception: the name of its `exec_errc`; `cancelled` for a cancellation of
  /// Asio; `_OTHER` for all other exceptions. The message is not used, because it may contain parts of files.
  trace_event& fail(std::exception_ptr reason);

  /// Returns the event as a JSON object in one line, without a line break at its end. The members are `time` (the start
  /// as RFC 3339 defines it, in UTC), `duration` in seconds, `name`, `cofferdam.operation`, and the attributes. Control
  /// characters and characters that mislead a terminal are escaped.
  /// \return  ASCII or valid UTF-8.
  std::string json() const;

 private:
  std::string operation_;
  std::string name_;
  std::chrono::system_clock::time_point start_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::nanoseconds duration_{};
  std::vector<trace_attribute> attributes_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/core/impl/trace_event.ipp>
#endif
