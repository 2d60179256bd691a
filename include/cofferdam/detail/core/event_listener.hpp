// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/core/warning.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A function that receives events and whose exceptions are dropped, the first one with a warning.
class event_listener {
 public:
  explicit event_listener(std::function<void(const trace_event&)> function) : function_(std::move(function)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(function_); }

  /// \param owner  the beginning of the warning.
  void report(const trace_event& event, const char* owner) const noexcept {
    try {
      function_(event);
    } catch (const std::exception& failure) {
      warn_once(owner, failure.what());
    } catch (...) {
      warn_once(owner, "an exception of an unknown type");
    }
  }

 private:
  void warn_once(const char* owner, const char* reason) const noexcept {
    if (has_warned_.exchange(true)) return;
    try {
      warn(std::string(owner) + ": the function for events has thrown: " + one_line(reason) + "; this event is lost");
    } catch (const std::exception&) {
      return;  // no memory for the warning
    }
  }

  std::function<void(const trace_event&)> function_;
  mutable std::atomic<bool> has_warned_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
