// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of values that JSON does not have by themselves: classes that the host has described, and tables.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/data_table.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/python_class.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/function.hpp>

#include "support/error_of.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

namespace {

using namespace cofferdam;
using cofferdam_test::code_of;

const python_class fraction("fractions.Fraction",
                            "import fractions\n"
                            "def to_json(v): return (v.numerator, v.denominator)\n"
                            "def from_json(v): return fractions.Fraction(*v)\n");

using body = std::function<awaitable<void>(python_runner<local_environment>&)>;

void with_python(const body& work, const std::string& interpreter = "python3") {
  cofferdam_test::run(
      [&]() -> awaitable<void> {
        const auto recipe =
            local().without_warning() | python().interpreter(interpreter).timeout(std::chrono::seconds(60));
        co_await with(recipe, work);
      },
      std::chrono::seconds(200));
}

std::string shown(const code_result& result) {
  return result.value() ? boost::json::serialize(*result.value()) : result.err().text() + result.reason();
}

// Feature: K8
TEST(OwnValues, a_described_class_crosses_in_both_directions_and_in_each_other) {
  with_python([](auto& runner) -> awaitable<void> {
    boost::json::array half{1, 2};
    code_request request(
        "import fractions\nassert type(x) is fractions.Fraction\n[x + 1, {'a': fractions.Fraction(2, 6)}]");
    request.describe(fraction).variable("x", fraction.value(half));
    code_result result = co_await runner.run_code(request);
    EXPECT_TRUE(result.ok() && result.value() && result.value_is_exact()) << shown(result);
    if (!result.value()) co_return;
    const boost::json::array& items = result.value()->as_array();
    EXPECT_EQ(boost::json::serialize(*fraction.json_of(items.at(0))), R"({"$python":"tuple","items":[3,2]})");
    EXPECT_EQ(boost::json::serialize(*fraction.json_of(items.at(1).at("a"))), R"({"$python":"tuple","items":[1,3]})");
    EXPECT_FALSE(fraction.json_of(items));
    // Control: a run without the description returns the text, in the same runner.
    code_result control = co_await runner.run_code(code_request("import fractions\nfractions.Fraction(1, 2)"));
    EXPECT_FALSE(control.value_is_exact());
    EXPECT_FALSE(control.value() && fraction.json_of(*control.value())) << shown(control);
  });
}

TEST(OwnValues, a_described_class_crosses_in_calls_of_functions_and_in_contexts) {
  with_python([](auto& runner) -> awaitable<void> {
    const auto twice = [](boost::json::value given) -> awaitable<boost::json::value> {
      const std::optional<boost::json::value> parts = fraction.json_of(given);
      boost::json::array doubled{2, 1};
      if (parts) doubled[0] = parts->at("items").as_array().at(0).as_int64() * 2;
      if (parts) doubled[1] = parts->at("items").as_array().at(1);
      co_return fraction.value(doubled);
    };
    const tools::function doubles("twice", "Doubles.", tools::argument("x", tools::any, "A fraction."), twice);
    code_request request("import fractions\nstr(twice(fractions.Fraction(3, 4)))");
    request.describe(fraction).function(doubles).context("c");
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(shown(result), "\"3/2\"");
    code_result later = co_await runner.run_code(code_request("fractions.Fraction(1, 2)").context("c"));
    EXPECT_FALSE(later.value_is_exact()) << "the description was that of one run";
  });
}

TEST(OwnValues, a_class_of_the_code_and_classes_derived_from_it_are_known_by_name) {
  with_python([](auto& runner) -> awaitable<void> {
    const python_class point("__main__.Point", "def to_json(p): return p.x\n");
    code_request request("class Point:\n  x = 5\nclass Pixel(Point): pass\n[Point(), Pixel()]");
    request.describe(point);
    code_result result = co_await runner.run_code(request);
    const std::string five = R"({"$python":"object","class":"__main__.Point","json":5})";
    EXPECT_EQ(shown(result), "[" + five + "," + five + "]");
  });
}

TEST(OwnValues, what_fails_in_a_description_is_told) {
  with_python([](auto& runner) -> awaitable<void> {
    const python_class broken("fractions.Fraction",
                              "def to_json(v): return 1 / 0\ndef from_json(v): return v.nothing\n");
    code_result out =
        co_await runner.run_code(code_request("import fractions\nfractions.Fraction(1, 2)").describe(broken));
    EXPECT_FALSE(out.value_is_exact());
    EXPECT_NE(shown(out).find("to_json of the class fractions.Fraction fails: ZeroDivisionError"), std::string::npos)
        << shown(out);
    code_result in = co_await runner.run_code(code_request("1").describe(broken).variable("x", broken.value(1)));
    EXPECT_NE(shown(in).find("from_json of the class fractions.Fraction fails: AttributeError"), std::string::npos);
    code_result unknown = co_await runner.run_code(code_request("1").variable("x", broken.value(1)));
    EXPECT_NE(shown(unknown).find("the request does not describe the class 'fractions.Fraction'"), std::string::npos);
    const python_class endless("fractions.Fraction", "def to_json(v): return v\n");
    code_result circle =
        co_await runner.run_code(code_request("import fractions\nfractions.Fraction(1, 2)").describe(endless));
    EXPECT_NE(shown(circle).find("it contains itself"), std::string::npos) << shown(circle);
  });
}

TEST(OwnValues, a_class_needs_a_module_and_one_description) {
  for (const char* const name : {"", "Point", ".Point", "shapes."})
    EXPECT_EQ(code_of([&] { python_class(name, ""); }), exec_errc::invalid_argument) << name;
  code_request request("1");
  request.describe(fraction);
  EXPECT_EQ(code_of([&] { request.describe(fraction); }), exec_errc::invalid_argument);
}

data_table sales() {
  data_table table;
  table.column("day", column_type::text, {"Mon", "Tue", nullptr}).column("sold", column_type::integer, {3, 5, nullptr});
  table.column("price", column_type::number, {1.5, nullptr, 2});
  table.column("at", column_type::datetime, {"2026-01-31T12:00:00", nullptr, "2026-02-01T00:00:00"});
  return table;
}

TEST(DataTable, a_column_of_another_length_or_of_the_same_name_is_refused) {
  data_table table = sales();
  EXPECT_EQ(code_of([&] { table.column("day", column_type::any, {1, 2, 3}); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { table.column("x", column_type::any, {1}); }), exec_errc::invalid_argument);
  EXPECT_EQ(table.columns().size(), 4U);
  EXPECT_EQ(table.rows(), 3U);
}

TEST(DataTable, what_is_no_table_is_none) {
  for (const char* const text :
       {"1", "[]", "{}", R"({"$python":"table"})", R"({"$python":"table","columns":[1]})",
        R"({"$python":"table","columns":[{"name":"a","type":"any"}]})",
        R"({"$python":"table","columns":[{"name":"a","values":[1]},{"name":"a","values":[1]}]})",
        R"({"$python":"table","columns":[{"name":"a","values":[1]},{"name":"b","values":[]}]})"})
    EXPECT_FALSE(data_table::from(boost::json::parse(text))) << text;
  const std::optional<data_table> back = data_table::from(sales().value());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->value(), sales().value());
}

TEST(DataTable, without_pandas_it_is_a_dict_of_lists) {
  with_python([](auto& runner) -> awaitable<void> {
    code_request request(
        "import sys, datetime\nsys.modules['pandas'] = None\n[sales['day'], sales['sold'], sales['at'][0].year]");
    request.variable("sales", sales());
    code_result without =
        co_await runner.run_code(code_request("try:\n  import pandas\nexcept ImportError: print('none')"));
    if (without.out().text().empty()) co_return;  // this Python has pandas; the next test uses it
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(shown(result), R"([["Mon","Tue",null],[3,5,null],2026])");
  });
}

/// Returns the Python with pandas that COFFERDAM_PANDAS_PEER names, or an empty text.
std::string python_with_pandas() {
  const char* const folder = std::getenv("COFFERDAM_PANDAS_PEER");
  return folder == nullptr ? std::string() : std::string(folder) + "/python/bin/python3";
}

TEST(DataTable, with_pandas_it_is_a_data_frame_in_both_directions) {
  COFFERDAM_NEEDS("pandas", !python_with_pandas().empty(), "that DataFrames go in and come out");
  with_python(
      [](auto& runner) -> awaitable<void> {
        code_request request("[str(t) for t in sales.dtypes], int(sales.sold.sum()), sales['at'][0].year");
        request.variable("sales", sales());
        code_result in = co_await runner.run_code(request);
        EXPECT_NE(shown(in).find(R"("Int64","float64","datetime64[us]")"), std::string::npos) << shown(in);
        EXPECT_NE(shown(in).find("8,2026"), std::string::npos) << shown(in);
        request = code_request("sales").variable("sales", sales());
        code_result out = co_await runner.run_code(request);
        EXPECT_TRUE(out.value_is_exact()) << shown(out);
        const std::optional<data_table> back = data_table::from(*out.value());
        EXPECT_TRUE(back) << shown(out);
        if (!back) co_return;
        const data_table given = sales();
        for (std::size_t i = 0; i < 4; ++i) {
          EXPECT_EQ(back->columns()[i].name(), given.columns()[i].name());
          EXPECT_EQ(back->columns()[i].type(), given.columns()[i].type()) << given.columns()[i].name();
        }
        EXPECT_EQ(boost::json::serialize(back->find("sold")->values()), "[3,5,null]");
        EXPECT_EQ(back->find("price")->values()[0], 1.5);
        EXPECT_TRUE(back->find("price")->values()[1].is_null());
        EXPECT_EQ(back->find("at")->values(), given.find("at")->values());
        EXPECT_EQ(boost::json::serialize(back->find("day")->values()), R"(["Mon","Tue",null])");
      },
      python_with_pandas());
}

TEST(DataTable, of_pandas_keeps_its_index_its_types_and_says_what_it_cannot_keep) {
  COFFERDAM_NEEDS("pandas", !python_with_pandas().empty(), "that DataFrames go in and come out");
  with_python(
      [](auto& runner) -> awaitable<void> {
        code_request makes(
            "import pandas, numpy\nframe = pandas.DataFrame({'a': numpy.array([1, 2], 'int32'), 'c': "
            "pandas.Categorical(['x', 'y'])}, index=pandas.Index(['r', 's'], name='row'))\nframe");
        code_result made = co_await runner.run_code(makes.context("c"));
        const std::optional<data_table> table = made.value() ? data_table::from(*made.value()) : std::nullopt;
        EXPECT_TRUE(table) << shown(made);
        if (!table) co_return;
        EXPECT_EQ(table->index_columns(), 1U);
        EXPECT_EQ(table->columns()[0].name(), "row");
        EXPECT_EQ(table->find("a")->dtype(), "int32");
        code_request back("back.equals(frame) and list(back.index.names) == ['row']");
        code_result same = co_await runner.run_code(back.context("c").variable("back", *table));
        EXPECT_EQ(shown(same), "true");
        code_result numbered = co_await runner.run_code(code_request("pandas.DataFrame([[1, 2]])").context("c"));
        EXPECT_FALSE(numbered.value_is_exact()) << "its columns have no texts as names";
        EXPECT_NE(shown(numbered).find("the names of its columns"), std::string::npos);
        code_result nano =
            co_await runner.run_code(code_request("pandas.DataFrame({'t': [pandas.Timestamp(1)]})").context("c"));
        EXPECT_FALSE(nano.value_is_exact()) << shown(nano);
        code_result large =
            co_await runner.run_code(code_request("pandas.DataFrame({'t': range(1_000_000)})").context("c"));
        EXPECT_NE(shown(large).find("too large"), std::string::npos);
      },
      python_with_pandas());
}

}  // namespace
