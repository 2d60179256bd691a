// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// The type of the values in a column of a table. Every column may have null for missing values.
enum class column_type {
  any,       ///< JSON and tagged values of any kind
  boolean,   ///< true and false
  integer,   ///< integers
  number,    ///< floating-point numbers; NaN is null
  text,      ///< texts
  datetime,  ///< times as texts, such as "2026-01-31T12:00:00" or with an offset "+02:00"
};

/// Returns the name of a type, such as "integer".
constexpr std::string_view to_string(column_type type) noexcept {
  constexpr std::array<std::string_view, 6> names{"any", "boolean", "integer", "number", "text", "datetime"};
  return names[static_cast<std::size_t>(type)];
}

/// A table of named columns that have the same length: a DataFrame of pandas as a value of this program.
///
///     data_table sales;
///     sales.column("day", column_type::text, {"Mon", "Tue"}).column("sold", column_type::integer, {3, 5});
///     request.variable("sales", sales);            // a pandas.DataFrame, or a dict of lists without pandas
///     ...
///     std::optional<data_table> made = data_table::from(*result.value());
///
/// If the Python of the run has no pandas, the variable is a dict of lists, so that `sales["sold"]` works in both
/// cases. The import of pandas takes some tenths of a second in each run, unless it is a module of `python().preload`.
/// A DataFrame that comes out keeps its columns, types and index if its column names are different texts. A table of
/// more than 4 MiB as JSON comes out as a text.
class data_table {
 public:
  /// A column. Immutable.
  class column_data {
   public:
    /// Holds a column; `dtype` is pandas' name of its type, or empty.
    column_data(std::string name, column_type type, boost::json::array values, std::string dtype)
        : name_(std::move(name)), dtype_(std::move(dtype)), type_(type), values_(std::move(values)) {}
    /// Returns the name of the column.
    const std::string& name() const noexcept { return name_; }
    /// Returns the type of the values.
    column_type type() const noexcept { return type_; }
    /// Returns the type as pandas names it, such as "int32"; empty if the column does not come from pandas.
    const std::string& dtype() const noexcept { return dtype_; }
    /// Returns the values, from the first row to the last.
    const boost::json::array& values() const noexcept { return values_; }

   private:
    std::string name_;
    std::string dtype_;
    column_type type_;
    boost::json::array values_;
  };

  data_table() = default;

  /// Adds a column.
  /// \param name    the name, which no other column has.
  /// \param type    the type of the values. It decides pandas' type: `int64` or, with missing values, `Int64`.
  /// \param values  the values, one for each row.
  /// \throws error{exec_errc::invalid_argument} if there is a column of this name, or one of another length.
  data_table& column(std::string name, column_type type, boost::json::array values) {
    for (const column_data& each : columns_) {
      if (each.name() == name)
        throw error(exec_errc::invalid_argument, "data_table: two columns have the name '" + name + "'");
      if (each.values().size() != values.size())
        throw error(exec_errc::invalid_argument, "data_table: the column '" + name + "' has " +
                                                     std::to_string(values.size()) + " values, and '" + each.name() +
                                                     "' has " + std::to_string(each.values().size()));
    }
    columns_.emplace_back(std::move(name), type, std::move(values), std::string());
    return *this;
  }

  /// Returns the columns, in order. If the table comes from a DataFrame with an index, the columns of the index come
  /// first.
  const std::vector<column_data>& columns() const noexcept { return columns_; }
  /// Returns the column with this name, or null.
  const column_data* find(std::string_view name) const noexcept {
    for (const column_data& each : columns_)
      if (each.name() == name) return &each;
    return nullptr;
  }
  /// Returns the number of rows.
  std::size_t rows() const noexcept { return columns_.empty() ? 0 : columns_.front().values().size(); }
  /// Returns the number of columns that are the index of the DataFrame; 0 if it counts the rows from 0.
  std::size_t index_columns() const noexcept { return index_.size(); }

  /// Makes a value for a variable or the result of a function. `request.variable(name, table)` does the same.
  boost::json::value value() const {
    boost::json::array columns;
    for (const column_data& each : columns_) {
      boost::json::object column;
      column["name"] = each.name();
      column["type"] = to_string(each.type());
      if (!each.dtype().empty()) column["dtype"] = each.dtype();
      column["values"] = each.values();
      columns.push_back(std::move(column));
    }
    boost::json::object tagged;
    tagged["$python"] = "table";
    tagged["index"] = index_;
    tagged["columns"] = std::move(columns);
    return tagged;
  }

  /// Returns the table that a run has returned as a DataFrame; no value for any other value. The table comes from the
  /// guest and is untrusted.
  static std::optional<data_table> from(const boost::json::value& value) {
    if (python_type(value) != "table") return std::nullopt;
    const boost::json::value* const listed = value.get_object().if_contains("columns");
    if (listed == nullptr || !listed->is_array()) return std::nullopt;
    data_table table;
    for (const boost::json::value& each : listed->get_array()) {
      const boost::json::object* const about = each.if_object();
      const boost::json::value* const values = about == nullptr ? nullptr : about->if_contains("values");
      if (values == nullptr || !values->is_array()) return std::nullopt;
      std::string name(detail::text_at(*about, "name"));
      const column_type type = type_named(detail::text_at(*about, "type"));
      if (table.find(name) != nullptr || (!table.columns_.empty() && table.rows() != values->get_array().size()))
        return std::nullopt;
      table.columns_.emplace_back(std::move(name), type, plain(type, values->get_array()),
                                  std::string(detail::text_at(*about, "dtype")));
    }
    const boost::json::value* const index = value.get_object().if_contains("index");
    if (index != nullptr && index->is_array() && index->get_array().size() <= table.columns_.size())
      table.index_ = index->get_array();
    return table;
  }

  /// Lets Boost.JSON convert a table, so that `request.variable("sales", table)` compiles.
  friend void tag_invoke(const boost::json::value_from_tag&, boost::json::value& out, const data_table& table) {
    out = table.value();
  }

 private:
  static column_type type_named(std::string_view name) {
    for (const column_type each :
         {column_type::boolean, column_type::integer, column_type::number, column_type::text, column_type::datetime})
      if (to_string(each) == name) return each;
    return column_type::any;
  }

  /// Replaces tagged times by their texts, and NaN by null.
  static boost::json::array plain(column_type type, boost::json::array values) {
    for (boost::json::value& each : values) {
      const std::string_view kind = python_type(each);
      if (type == column_type::datetime && kind == "datetime")
        each = boost::json::value(boost::json::string(detail::text_at(each.if_object(), "text")));
      if (type == column_type::number && kind == "float" && detail::text_at(each.if_object(), "text") == "nan")
        each = nullptr;
    }
    return values;
  }

  std::vector<column_data> columns_;
  boost::json::array index_;  // the names of the index; null for one without a name
};

}  // namespace cofferdam::inline COFFERDAM_ABI
