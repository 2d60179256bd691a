// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

/// The common base of the library's tools. It stores the name and the description, checks the arguments against their
/// description, and converts failures to answers. A tool derives from `described_tool<itself>` and has
/// `awaitable<tool_result> work(checked_arguments)`.
/// \par Cancellation  terminal, as far as `work` honours it.
template <class Derived>
class described_tool {
 public:
  std::string_view name() const noexcept { return name_; }
  Derived& name(std::string text) {
    name_ = std::move(text);
    return static_cast<Derived&>(*this);
  }
  std::string_view description() const noexcept { return description_; }
  Derived& description(std::string text) {
    description_ = std::move(text);
    return static_cast<Derived&>(*this);
  }
  boost::json::object parameters() const { return arguments_.schema(); }

  /// Checks the arguments and does the work.
  /// \throws error{exec_errc::cancelled}, error{exec_errc::provider_lost}, error{exec_errc::environment_closed}; never
  ///     because of the model's arguments or the outcome of the work.
  awaitable<tool_result> call(boost::json::value arguments) {
    return checked(static_cast<Derived*>(this), arguments_, std::move(arguments));
  }

 protected:
  described_tool(std::string name, std::string description, argument_list arguments)
      : name_(std::move(name)), description_(std::move(description)), arguments_(std::move(arguments)) {}
  ~described_tool() = default;
  described_tool(described_tool&&) noexcept = default;
  described_tool& operator=(described_tool&&) noexcept = default;
  described_tool(const described_tool&) = default;
  described_tool& operator=(const described_tool&) = default;

 private:
  static awaitable<tool_result> checked(Derived* self, const argument_list& list, boost::json::value arguments) {
    checked_arguments values;
    std::string complaint = list.check(arguments, values);
    if (!complaint.empty()) co_return tool_result("Error: " + complaint, false);
    try {
      tool_result result = co_await self->work(std::move(values));
      co_return result;
    } catch (const error& failure) {
      if (cofferdam::detail::ends_everything(failure)) throw;
      complaint = failure.what();
    }
    co_return tool_result("Error: " + complaint, false);
  }

  std::string name_;
  std::string description_;
  argument_list arguments_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
