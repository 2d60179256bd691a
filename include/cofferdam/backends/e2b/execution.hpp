// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/captured_output.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/output_collector.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/net_error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// The limits on the kept output of a run.
class execution_limits {
 public:
  execution_limits() = default;
  execution_limits(std::size_t output, std::size_t results) noexcept : output_(output), results_(results) {}
  /// Returns the maximum bytes of each output.
  std::size_t output() const noexcept { return output_; }
  /// Returns the maximum bytes of all results together; further results are only counted.
  std::size_t results() const noexcept { return results_; }

 private:
  std::size_t output_ = command::default_kept_output;
  std::size_t results_ = std::size_t{64} * 1024 * 1024;
};

/// A value that code has displayed: the value of its last expression, a chart, a table; in all its forms.
class rich_output {
 public:
  rich_output() = default;
  /// \param said  a line of the type `result`.
  explicit rich_output(const boost::json::object& said)
      : is_value_(cofferdam::detail::is_true_at(said, "is_main_result")) {
    for (const auto& [key, value] : said) {
      const std::string name(key.data(), key.size());
      if (name == "type" || name == "is_main_result" || value.is_null()) continue;
      if (const boost::json::string* const text = value.if_string())
        forms_.emplace(name, std::string(text->data(), text->size()));
      else if (name != "extra" || (value.is_object() && !value.get_object().empty()))
        forms_.emplace(name, boost::json::serialize(value));
    }
  }

  /// Returns true if it is the value of the last expression, and false if it was displayed before.
  bool is_value() const noexcept { return is_value_; }
  /// Returns the forms by name: `text`, `html`, `markdown`, `svg`, `png`, `jpeg`, `pdf` (the last three in base64),
  /// `latex`, `json`, `javascript`, `data`, `chart`. A form that is not a text is JSON.
  const std::map<std::string, std::string>& forms() const noexcept { return forms_; }
  /// Returns one form; empty if there is none of that name.
  std::string_view form(const std::string& name) const noexcept {
    const auto found = forms_.find(name);
    return found == forms_.end() ? std::string_view() : std::string_view(found->second);
  }

 private:
  std::map<std::string, std::string> forms_;
  bool is_value_ = false;
};

/// An uncaught exception of the code.
class code_error {
 public:
  code_error() = default;

  std::string name;       ///< `ValueError`
  std::string value;      ///< its message
  std::string traceback;  ///< lines, possibly with terminal colours
};

/// The outcome of a run of code. A value.
class execution {
 public:
  execution() = default;

  captured_output out;
  captured_output err;
  std::vector<rich_output> results;
  /// The number of results that did not fit.
  std::size_t dropped = 0;
  std::optional<code_error> error;
  /// True if it was interrupted at its time limit.
  bool timed_out = false;
  /// The number of runs in its context so far; 0 if the service does not send it.
  std::int64_t number = 0;
  std::chrono::nanoseconds duration{};

  bool ok() const noexcept { return !error && !timed_out; }
  /// Returns the value of the last expression as text; empty if there is none.
  std::string_view value() const noexcept {
    for (const rich_output& one : results)
      if (one.is_value()) return one.form("text");
    return {};
  }
};

/// A parser of the code interpreter's report of a run: JSON, one object per line. Sans-I/O; the input may be cut
/// anywhere.
/// \par Source  E2B's code interpreter SDK.
class execution_reader {
 public:
  explicit execution_reader(const execution_limits& limits = execution_limits())
      : limits_(limits), out_(limits.output()), err_(limits.output()) {}

  /// \throws error{errc::io_error} with net_errc::malformed for a line that is not a JSON object;
  ///     error{errc::too_large} for a line that is longer than the limit of all results plus one mebibyte.
  void feed(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > limits_.results() + slack - line_.size())
        throw error(exec_errc::too_large, "e2b: the code interpreter says a line of more than " +
                                              std::to_string(limits_.results() + slack) + " bytes");
      line_ += text.substr(0, end);
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
      if (!line_.empty()) take_line();
      line_.clear();
    }
  }

  /// Returns true if the run is over.
  bool ended() const noexcept { return ended_; }
  /// Ends the run at its time limit.
  void time_out() noexcept { ended_ = made_.timed_out = true; }

  execution take(std::chrono::nanoseconds took) {
    made_.out = out_.take();
    made_.err = err_.take();
    made_.duration = took;
    return std::move(made_);
  }

 private:
  using error = cofferdam::error;
  static constexpr std::size_t slack = std::size_t{1024} * 1024;

  void take_line() {
    namespace json = cofferdam::detail;
    const boost::json::object said =
        json::parse_object(line_, exec_errc::io_error, "e2b: a line of the code interpreter");
    const std::string_view type = json::text_at(said, "type");
    if (type == "stdout") {
      out_.append(as_bytes(json::text_at(said, "text")));
    } else if (type == "stderr") {
      err_.append(as_bytes(json::text_at(said, "text")));
    } else if (type == "result") {
      if (line_.size() > limits_.results() - kept_) {
        ++made_.dropped;
        return;
      }
      kept_ += line_.size();
      made_.results.emplace_back(said);
    } else if (type == "error") {
      code_error& one = made_.error.emplace();
      one.name = json::text_at(said, "name");
      one.value = json::text_at(said, "value");
      one.traceback = json::text_at(said, "traceback");
    } else if (type == "number_of_executions") {
      made_.number = json::number_at(said, "execution_count").value_or(0);
    } else if (type == "end_of_execution") {
      ended_ = true;
    }
  }

  execution_limits limits_;
  cofferdam::detail::output_collector out_;
  cofferdam::detail::output_collector err_;
  std::string line_;
  std::size_t kept_ = 0;
  execution made_;
  bool ended_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
