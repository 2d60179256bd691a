// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// A class of Python whose values cross between this program and a run as JSON that you choose.
///
///     const python_class point("shapely.Point",
///                              "import shapely\n"
///                              "def to_json(p): return [p.x, p.y]\n"
///                              "def from_json(v): return shapely.Point(v)\n");
///     code_request request("where");
///     request.describe(point).variable("where", point.value(boost::json::array{1, 2}));
///     code_result result = co_await runner.run_code(std::move(request));
///     point.json_of(*result.value());   // [1, 2]
///
/// Without such a description, a value of this class comes out as its text.
class python_class {
 public:
  /// \param name    the module and the name of the class, such as "shapely.Point". Values of derived classes cross in
  ///                the same way.
  /// \param source  Python that defines `to_json(value)`, which returns a value that JSON or a tagged value represents,
  ///                and `from_json(json)`, which returns a value of the class. The source is executed in the run when
  ///                it is first needed, and the host program trusts it as much as itself. If a function raises an
  ///                exception, a variable is an error of the run, and a value is its text with the reason.
  /// \throws error{exec_errc::invalid_argument} if the name has no module.
  python_class(std::string name, std::string source) : name_(std::move(name)), source_(std::move(source)) {
    const std::size_t dot = name_.rfind('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == name_.size())
      throw error(
          exec_errc::invalid_argument,
          "python_class: the name needs a module, such as \"shapely.Point\"; for a class of the code itself use "
          "\"__main__.Point\"");
  }

  /// Returns the module and the name of the class.
  const std::string& name() const noexcept { return name_; }
  /// Returns the Python source of the two functions.
  const std::string& source() const noexcept { return source_; }

  /// Makes a value of this class for a variable: `from_json` gets the JSON.
  boost::json::value value(boost::json::value json) const {
    boost::json::object tagged;
    tagged["$python"] = "object";
    tagged["class"] = name_;
    tagged["json"] = std::move(json);
    return tagged;
  }
  /// Returns what `to_json` has returned for a value from a run; no value if the value is not one of this class. The
  /// value comes from the guest and is untrusted.
  std::optional<boost::json::value> json_of(const boost::json::value& value) const {
    const boost::json::object* const tagged = value.if_object();
    if (detail::text_at(tagged, "$python") != "object" || detail::text_at(tagged, "class") != name_)
      return std::nullopt;
    const boost::json::value* const json = tagged->if_contains("json");
    return json == nullptr ? std::nullopt : std::optional<boost::json::value>(*json);
  }

 private:
  std::string name_;
  std::string source_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
