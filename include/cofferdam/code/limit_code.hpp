// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_layer.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/code_runner.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The runner type of `runner | limit_code(...)`. It counts bytes and lines without parsing them, so it works for any
/// language.
template <code_runner Inner>
class limit_code_layer : public code_layer<limit_code_layer<Inner>, Inner> {
 public:
  /// Makes an object without a runner. Every operation throws `error{exec_errc::environment_closed}`.
  limit_code_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open runner, which the layer then owns. The limits are those of `limit_code`.
  limit_code_layer(Inner inner, std::size_t max_bytes, std::size_t max_lines)
      : code_layer<limit_code_layer, Inner>(std::move(inner)), bytes_(max_bytes), lines_(max_lines) {}

  awaitable<std::optional<code_result>> admit(const code_request& request) {
    if (bytes_ == 0)
      throw error(exec_errc::environment_closed,
                  "limit_code: not open (default-constructed); call open() on the runner's recipe first");
    return answer(refusal_of(request.source()));
  }

 private:
  static awaitable<std::optional<code_result>> answer(std::optional<code_result> refusal) { co_return refusal; }

  /// Returns the number of lines. As in Python, only "\n", "\r" and "\r\n" end a line.
  static std::size_t lines_of(const std::string& source) noexcept {
    std::size_t lines = 0;
    char before = '\n';
    for (const char each : source) {
      if (each == '\r' || (each == '\n' && before != '\r')) ++lines;
      before = each;
    }
    return lines + (before == '\n' || before == '\r' ? 0 : 1);
  }

  std::optional<code_result> refusal_of(const std::string& source) const {
    const auto too_much = [](std::size_t is, std::size_t limit, const std::string& unit) {
      return guard_refusal("limit_code", 0,
                           "it has " + std::to_string(is) + " " + unit + "; the limit is " + std::to_string(limit),
                           "Write shorter code, or put data into a file and read the file.")
          .result(std::string());
    };
    if (source.size() > bytes_) return too_much(source.size(), bytes_, "bytes");
    const std::size_t lines = lines_of(source);
    if (lines > lines_) return too_much(lines, lines_, "lines");
    return std::nullopt;
  }

  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
};

/// Refuses code that is too long: `runner | limit_code(18'000, 400)`. Only the source of the request counts, not the
/// code that a runner adds (helpers, tools).
///
/// \param  max_bytes  the maximum size of the source in UTF-8, in bytes; more than zero. Default: 64 KiB.
/// \param  max_lines  the maximum number of lines; more than zero. Default: 2,000.
/// \return        a refusal is a `code_result` of kind `error_kind::security_violation`.
/// \throws        error{exec_errc::invalid_argument} from the constructor if a limit is zero.
/// \par Source    the limits of DSPy's code executor.
class limit_code : public pipeable {
 public:
  /// Sets the limits, which the class describes.
  explicit limit_code(std::size_t max_bytes = 64 * 1024, std::size_t max_lines = 2000)
      : bytes_(max_bytes), lines_(max_lines) {
    if (max_bytes == 0 || max_lines == 0)
      throw error(exec_errc::invalid_argument, "limit_code: the limits must be more than zero");
  }

  template <code_runner Inner>
  limit_code_layer<Inner> attach(Inner inner) const {
    return limit_code_layer<Inner>(std::move(inner), bytes_, lines_);
  }

 private:
  std::size_t bytes_;
  std::size_t lines_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
