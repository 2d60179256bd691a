// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::tools {

/// What a tool answers to a model.
class tool_result {
 public:
  tool_result() = default;
  /// \param text     UTF-8, for the model to read.
  /// \param success  whether the tool did what it was asked to.
  tool_result(std::string text, bool success) : text_(std::move(text)), success_(success) {}

  const std::string& text() const noexcept { return text_; }
  bool success() const noexcept { return success_; }

 private:
  std::string text_;
  bool success_ = false;
};

/// Something a model can call: a name, a description, a JSON schema of its arguments, and a coroutine.
///
/// * `name()` matches `[A-Za-z0-9_-]{1,64}`; `description()` is for the model.
/// * `parameters()` is a JSON schema object of type "object".
/// * `call(arguments)` answers wrong arguments and failed work with a result; it throws only where there is nobody to
///   answer: cancellation, and an environment that is lost or closed.
template <class T>
concept tool = requires(T& t, const T& fixed, boost::json::value arguments) {
  { fixed.name() } -> std::convertible_to<std::string_view>;
  { fixed.description() } -> std::convertible_to<std::string_view>;
  { fixed.parameters() } -> std::same_as<boost::json::object>;
  { t.call(std::move(arguments)) } -> awaitable_of<tool_result>;
};

/// Any tool, for lists of them.
class any_tool {
 public:
  template <class T>
    requires(!std::same_as<T, any_tool> && tool<T>)
  explicit any_tool(T inside) : inside_(std::make_unique<box<T>>(std::move(inside))) {}

  std::string_view name() const { return get().name(); }
  std::string_view description() const { return get().description(); }
  boost::json::object parameters() const { return get().parameters(); }
  awaitable<tool_result> call(boost::json::value arguments) { return get().call(std::move(arguments)); }

 private:
  class interface {
   public:
    virtual ~interface() = default;
    virtual std::string_view name() const = 0;
    virtual std::string_view description() const = 0;
    virtual boost::json::object parameters() const = 0;
    virtual awaitable<tool_result> call(boost::json::value arguments) = 0;
  };

  template <class T>
  class box final : public interface {
   public:
    explicit box(T inside) : inside_(std::move(inside)) {}
    std::string_view name() const override { return inside_.name(); }
    std::string_view description() const override { return inside_.description(); }
    boost::json::object parameters() const override { return inside_.parameters(); }
    awaitable<tool_result> call(boost::json::value arguments) override { return inside_.call(std::move(arguments)); }

   private:
    T inside_;
  };

  interface& get() const {
    if (!inside_) throw error(errc::invalid_argument, "any_tool: there is none (moved from)");
    return *inside_;
  }

  std::unique_ptr<interface> inside_;
};

}  // namespace cofferdam::inline v0::tools
