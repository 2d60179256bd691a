// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools {

namespace detail {

/// The facts about a function that models and clients can see, except its arguments. `Derived` is the class of the
/// object that the setters return.
template <class Derived>
class basic_definition {
 public:
  /// Sets the name by which models and clients call the function.
  /// \throws error{exec_errc::invalid_argument} for a name that is not `[A-Za-z0-9_.-]{1,128}`.
  Derived& name(std::string text) {
    name_ = checked_name(std::move(text));
    return self();
  }
  /// Sets the description, which models read.
  Derived& description(std::string text) {
    description_ = std::move(text);
    return self();
  }
  /// Sets the title that MCP clients show to people.
  Derived& title(std::string text) {
    title_ = std::move(text);
    return self();
  }
  /// Sets the JSON schema of the answer's `data()`, for MCP clients (`outputSchema`).
  Derived& output(boost::json::object schema) {
    output_ = std::move(schema);
    return self();
  }
  /// Sets hints about the effects of a call. They are for MCP clients, and for agents, which may run several read-only
  /// calls in parallel.
  /// \param read_only    true if a call changes nothing. Default: false.
  /// \param destructive  true if a call may overwrite or delete something. Default: true.
  /// \param idempotent   true if repeating a call with the same arguments changes nothing more. Default: false.
  /// \param open_world   true if a call may reach other systems, such as the internet. Default: true.
  Derived& hints(bool read_only, bool destructive, bool idempotent, bool open_world) {
    read_only_ = read_only;
    destructive_ = destructive;
    idempotent_ = idempotent;
    open_world_ = open_world;
    return self();
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& description() const noexcept { return description_; }
  const std::string& title() const noexcept { return title_; }
  const std::optional<boost::json::object>& output() const noexcept { return output_; }
  bool reads_only() const noexcept { return read_only_; }
  bool is_destructive() const noexcept { return destructive_; }
  bool is_idempotent() const noexcept { return idempotent_; }
  bool is_open_world() const noexcept { return open_world_; }

 protected:
  basic_definition(std::string name, std::string description)
      : name_(checked_name(std::move(name))), description_(std::move(description)) {}
  ~basic_definition() = default;
  basic_definition(basic_definition&&) noexcept = default;
  basic_definition& operator=(basic_definition&&) noexcept = default;
  basic_definition(const basic_definition&) = default;
  basic_definition& operator=(const basic_definition&) = default;

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
  static std::string checked_name(std::string name) {
    bool good = !name.empty() && name.size() <= 128;
    for (const char c : name)
      good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      c == '.' || c == '-');
    if (!good)
      throw error(
          exec_errc::invalid_argument,
          "tools: the name of a function must have 1 to 128 letters, digits, dots, dashes and underscores, not \"" +
              name + "\"");
    return name;
  }

  std::string name_;
  std::string description_;
  std::string title_;
  std::optional<boost::json::object> output_;
  bool read_only_ = false;
  bool destructive_ = true;
  bool idempotent_ = false;
  bool open_world_ = true;
};

}  // namespace detail

/// The description of a function without its handler: `definition("wait", "Waits.", argument("ms", integer))`. It is
/// used with a handler that only one protocol supports, such as `mcp::tool_handler`. A `function` is a description with
/// a handler for all protocols.
class definition : public detail::basic_definition<definition> {
 public:
  /// \param name       matches `[A-Za-z0-9_.-]{1,128}`.
  /// \param description  the purpose of the function, as a text for the model.
  /// \param described  the arguments; each must have a type.
  /// \throws error{exec_errc::invalid_argument} for a wrong name, two arguments of the same name, or a default value
  ///     that violates the rules of its argument.
  template <argument_type... Types>
  definition(std::string name, std::string description, argument<Types>... described)
      : basic_definition(std::move(name), std::move(description)), arguments_(std::move(described)...) {}

  /// Sets the JSON schema of the arguments. It replaces the arguments from the constructor.
  /// \param schema  has the type "object". Only its `required`, the `type` of each property and `additionalProperties:
  ///                false` are checked before the handler is called; the handler must check everything else.
  /// \throws error{exec_errc::invalid_argument} if `schema` is not the schema of an object.
  definition& input(boost::json::object schema) {
    const std::string complaint = schema_complaint(schema);
    if (!complaint.empty())
      throw error(exec_errc::invalid_argument, "tools: the input schema of '" + name() + "' " + complaint);
    input_ = std::move(schema);
    return *this;
  }

  /// Returns the schema that `input` has set; no value if `input` was not called.
  const std::optional<boost::json::object>& input() const noexcept { return input_; }
  /// Returns the arguments from the constructor.
  const argument_list& arguments() const noexcept { return arguments_; }
  /// Returns the JSON schema of the arguments, of type "object": the schema from `input`, or else one made from
  /// `arguments()`.
  boost::json::object parameters() const { return input_ ? *input_ : arguments_.schema(); }

 private:
  /// Returns an error message if the schema cannot describe arguments; otherwise an empty text.
  static std::string schema_complaint(const boost::json::object& schema) {
    if (cofferdam::detail::text_at(schema, "type") != "object") return R"(has no "type": "object")";
    if (schema.contains("properties") && cofferdam::detail::object_at(schema, "properties") == nullptr)
      return "has 'properties' that are not an object";
    const boost::json::value* const required = schema.if_contains("required");
    if (required == nullptr) return {};
    if (!required->is_array()) return "has a 'required' that is not an array";
    for (const boost::json::value& each : required->get_array())
      if (!each.is_string()) return "has a 'required' with an item that is not a string";
    return {};
  }

  argument_list arguments_;
  std::optional<boost::json::object> input_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
