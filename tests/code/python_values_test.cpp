// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/code/tagged_value.hpp>

#include "code/python_support.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::python;
using cofferdam::python_type;
using cofferdam_test::all_of;
using cofferdam_test::python_here;
using cofferdam_test::run_python;
using cofferdam_test::value_of;
using cofferdam_test::with_python;

}  // namespace

TEST(PythonValues, a_value_that_goes_in_comes_out_the_same) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const std::vector<std::string> same = {
        "true",
        "[]",
        "{}",
        "\"\"",
        "\"\\u0000\\u00e9\\ud83d\\ude00\\\"\"",
        "-9223372036854775808",
        "18446744073709551615",
        R"({"$python":"int","text":"18446744073709551616"})",
        R"({"$python":"int","text":"-123456789012345678901234567890"})",
        R"({"$python":"float","text":"nan"})",
        R"({"$python":"float","text":"-inf"})",
        R"({"$python":"bytes","base64":"AP8="})",
        R"({"$python":"bytearray","base64":""})",
        R"({"$python":"tuple","items":[1,[2,{"$python":"tuple","items":[]}]]})",
        R"({"$python":"set","items":[1]})",
        R"({"$python":"frozenset","items":["a"]})",
        R"({"$python":"dict","items":[[1,"a"],[{"$python":"tuple","items":[1,2]},null]]})",
        R"({"$python":"dict","items":[["$f",1]]})",
        R"({"$python":"date","text":"2026-01-31"})",
        R"({"$python":"datetime","text":"2026-01-31T12:00:00.000001"})",
        R"({"$python":"datetime","text":"2026-01-31T12:00:00+02:00"})",
        R"({"$python":"datetime","text":"2026-01-31T12:00:00+00:00"})",
        R"({"$python":"datetime","text":"2026-01-31T12:00:00+00:00","zone":"GMT"})",
        R"({"$python":"datetime","text":"2026-01-31T12:00:00-00:00:01","zone":{"$python":"str","base64":"7aCA"}})",
        R"({"$python":"time","text":"23:59:59+02:00","zone":"UTC+2"})",
        R"({"$python":"time","text":"23:59:59"})",
        R"({"$python":"timedelta","days":-1,"seconds":86399,"microseconds":999999})",
        R"({"$python":"decimal","text":"1.10"})",
        R"({"$python":"complex","real":"-0.0","imag":"inf"})",
        R"({"$python":"str","base64":"7aCA"})",
        R"({"z":1,"a":[null,false,{"b":[[[[]]]]}]})",
    };
    for (const std::string& text : same) {
      code_result result = co_await runner.run_code(code_request("x").variable("x", boost::json::parse(text)));
      EXPECT_EQ(value_of(result), boost::json::serialize(boost::json::parse(text))) << all_of(result);
      EXPECT_TRUE(result.value_is_exact()) << text;
    }
    const std::string check =
        "from decimal import Decimal\nfrom datetime import *\n"
        "x == [2 ** 64, b'\\0\\xff', (1,), {1}, {1: 'a'}, date(2026, 1, 31), timedelta(1, 2, 3), Decimal('1.10'), "
        "'\\ud800'] "
        "and [type(i).__name__ for i in x]";
    boost::json::value tagged = boost::json::parse(
        R"([{"$python":"int","text":"0x10000000000000000"},{"$python":"bytes","base64":"AP8="},)"
        R"({"$python":"tuple","items":[1]},{"$python":"set","items":[1]},{"$python":"dict","items":[[1,"a"]]},)"
        R"({"$python":"date","text":"2026-01-31"},{"$python":"timedelta","days":1,"seconds":2,"microseconds":3},)"
        R"({"$python":"decimal","text":"1.10"},{"$python":"str","base64":"7aCA"}])");
    code_result result = co_await runner.run_code(code_request(check).variable("x", std::move(tagged)));
    EXPECT_EQ(value_of(result), R"(["int","bytes","tuple","set","dict","date","timedelta","Decimal","str"])")
        << all_of(result);
  });
}

TEST(PythonValues, floats_are_the_same_bits_both_ways) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    std::vector<double> numbers = {0.0,
                                   -0.0,
                                   0.1,
                                   1.0,
                                   1e22,
                                   1e23,
                                   5e-324,
                                   2.2250738585072014e-308,
                                   1.7976931348623157e308,
                                   0.3,
                                   123456789.123456789,
                                   std::numeric_limits<double>::infinity()};
    std::uint64_t bits = 88172645463325252U;
    while (numbers.size() < 3000) {
      bits ^= bits << 13U;
      bits ^= bits >> 7U;
      bits ^= bits << 17U;
      const double number = std::bit_cast<double>(bits);
      if (std::isfinite(number)) numbers.push_back(number);
    }
    boost::json::array array;
    for (const double each : numbers) array.emplace_back(each);
    code_result result = co_await runner.run_code(
        code_request("import struct\nx.append(struct.pack('<%dd' % len(x), *x))\nx").variable("x", std::move(array)));
    EXPECT_TRUE(result.ok() && result.value() && result.value()->is_array());
    if (!result.value() || !result.value()->is_array()) co_return;
    const boost::json::array& back = result.value()->get_array();
    const std::optional<cofferdam::bytes> packed = cofferdam::bytes_of(back.back());
    EXPECT_EQ(back.size(), numbers.size() + 1);
    EXPECT_TRUE(packed && packed->size() == 8 * numbers.size());
    if (back.size() != numbers.size() + 1 || !packed || packed->size() != 8 * numbers.size()) co_return;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      double parsed = 0;
      std::memcpy(&parsed, packed->data() + 8 * i, 8);
      if (std::bit_cast<std::uint64_t>(parsed) != std::bit_cast<std::uint64_t>(numbers[i])) ++wrong;
      if (std::isfinite(numbers[i]) && (!back[i].is_double() || std::bit_cast<std::uint64_t>(back[i].get_double()) !=
                                                                    std::bit_cast<std::uint64_t>(numbers[i])))
        ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(boost::json::serialize(back[11]), R"({"$python":"float","text":"inf"})");
  });
}

TEST(PythonValues, what_has_no_exact_form_is_its_text_and_says_so) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"class c(int): pass\nc(5)", "__main__.c"},
        {"import enum\nclass e(enum.IntEnum):\n  a = 1\ne.a", "__main__.e"},
        {"import collections\ncollections.namedtuple('n', 'a')(1)", "n"},
        {"x = []\nx.append(x)\nx", "contains itself"},
        {"x = []\nfor i in range(1000): x = [x]\nx", "too deep"},
        {"'x' * (1 << 23)", "too large"},
        {"a = [0] * 10\nfor i in range(12): a = [a] * 10\na", "too large"},
        {"b'x' * (1 << 23)", "too large"},
        {"1 << 20000000", "too large"},
        {"from datetime import datetime\ndatetime(2026, 1, 1, fold=1)", "datetime.datetime"},
        {"object", "builtins.type"},
        {"class bad:\n  def __repr__(self): raise ValueError\nbad()", "__main__.bad"},
        {"...", "ellipsis"},
    };
    for (const auto& [code, word] : cases) {
      code_result result = co_await runner.run_code(code_request(code));
      EXPECT_TRUE(result.ok()) << code << all_of(result).substr(0, 2000);
      EXPECT_FALSE(result.value_is_exact()) << code;
      EXPECT_NE(value_of(result).find(word), std::string::npos) << code << value_of(result).substr(0, 2000);
      EXPECT_LT(result.value_text().size(), 70'000U);
    }
    code_result plain = co_await runner.run_code(code_request("class c(int): pass\nc(5)"));
    EXPECT_EQ(value_of(plain), R"({"$python":"text","type":"__main__.c","text":"5"})");
  });
}

TEST(PythonValues, a_variable_that_cannot_be_one_is_an_error_of_the_run) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result name = co_await runner.run_code(code_request("1").variable("class", 1));
    EXPECT_EQ(name.failure() ? name.failure()->type() : "", "ValueError");
    code_result spaces = co_await runner.run_code(code_request("1").variable("a b", 1));
    EXPECT_FALSE(spaces.ok());
    code_result kind =
        co_await runner.run_code(code_request("1").variable("x", boost::json::parse(R"({"$python":"os.system"})")));
    EXPECT_FALSE(kind.ok());
    code_result digits = co_await runner.run_code(code_request("1").variable("x", cofferdam::python_int("1+1")));
    EXPECT_FALSE(digits.ok());
    code_result after = co_await runner.run_code(code_request("x").variable("x", 1));
    EXPECT_TRUE(after.ok());
  });
}

TEST(PythonValues, line_numbers_are_those_of_the_code_whatever_variables_there_are) {
  const code_result result = run_python(code_request("y = x\nz = y / 0").variable("x", "a\nb\nc"));
  EXPECT_EQ(result.failure() ? result.failure()->line() : 0, 2) << all_of(result);
}

TEST(PythonValues, a_large_variable_arrives_whole) {
  const std::string large(20'000'000, 'x');
  const code_result result = run_python(code_request("len(x)").variable("x", large));
  EXPECT_EQ(value_of(result), "20000000") << all_of(result);
}

TEST(PythonValues, a_final_value_ends_the_run) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result first = co_await runner.run_code(
        code_request("try:\n  SUBMIT([2 ** 70, 0.5])\nexcept Exception: pass\nprint('not reached')")
            .final_function("SUBMIT"));
    EXPECT_TRUE(first.ok()) << all_of(first);
    EXPECT_TRUE(first.out().text().empty());
    EXPECT_TRUE(first.final_value().has_value());
    if (!first.final_value()) co_return;
    EXPECT_EQ(boost::json::serialize(*first.final_value()),
              R"({"output":[{"$python":"int","text":"1180591620717411303424"},5E-1]})");
    EXPECT_TRUE(first.final_value_is_exact());
    const std::vector<std::string> fields = {"answer", "why"};
    code_result second =
        co_await runner.run_code(code_request("submit(1, why=float('nan'))").final_function("submit", fields));
    EXPECT_EQ(second.final_value() ? boost::json::serialize(*second.final_value()) : "",
              R"({"answer":1,"why":{"$python":"float","text":"nan"}})");
    code_result less = co_await runner.run_code(code_request("submit(1)").final_function("submit", fields));
    EXPECT_EQ(less.failure() ? less.failure()->type() : "", "TypeError");
    EXPECT_FALSE(less.final_value());
    code_result none = co_await runner.run_code(code_request("submit(1)"));
    EXPECT_EQ(none.failure() ? none.failure()->type() : "", "NameError");
    code_result swallowed = co_await runner.run_code(
        code_request("try:\n  SUBMIT(1)\nexcept: pass\nprint('goes on')\n5").final_function("SUBMIT"));
    EXPECT_TRUE(swallowed.final_value()) << all_of(swallowed);
  });
}

TEST(PythonValues, a_timezone_keeps_its_name) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    for (const char* const zone :
         {"timedelta(0), 'GMT'", "timedelta(hours=2), 'name'", "timedelta(hours=-3)", "timedelta(0)"}) {
      const std::string script =
          std::string("from datetime import *\ny = datetime(2026, 1, 31, tzinfo=timezone(") + zone + "))\n";
      code_result out = co_await runner.run_code(code_request(script + "y"));
      EXPECT_TRUE(out.value_is_exact()) << all_of(out);
      code_request in(script + "x == y and x.tzname() == y.tzname()");
      in.variable("x", out.value().value_or(nullptr));
      code_result back = co_await runner.run_code(in);
      EXPECT_EQ(value_of(back), "true") << zone << all_of(back) << value_of(out);
    }
  });
}

TEST(PythonValues, integers_of_any_length_are_read_in_bounded_time) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    for (const int digits : {499, 500, 501, 1000, 1001, 4300, 4301, 5000}) {
      for (const char* const sign : {"", "-", "+"}) {
        code_request request("x == s * (10 ** n // 9)");
        request.variable("x", cofferdam::python_int(sign + std::string(static_cast<std::size_t>(digits), '1')));
        request.variable("n", digits).variable("s", *sign == '-' ? -1 : 1);
        code_result read = co_await runner.run_code(request);
        EXPECT_EQ(value_of(read), "true") << sign << digits << all_of(read);
      }
    }
    // Python's own conversion has quadratic time, and would take minutes for this number.
    code_request large("x.bit_length()");
    large.variable("x", cofferdam::python_int(std::string(1'500'000, '9'))).timeout(std::chrono::seconds(60));
    code_result read = co_await runner.run_code(large);
    EXPECT_EQ(value_of(read), "4982893") << all_of(read);
    code_result lower = co_await runner.run_code(code_request(
        "import sys\nif hasattr(sys, 'set_int_max_str_digits'): sys.set_int_max_str_digits(640)\n[10 ** 700]"));
    EXPECT_TRUE(lower.ok() && lower.value_is_exact()) << all_of(lower);
  });
}

TEST(PythonValues, a_text_that_cannot_be_made_says_why) {
  const code_result result = run_python(code_request("from fractions import Fraction\nFraction(10 ** 5000)"));
  EXPECT_FALSE(result.value_is_exact());
  if (result.value_text().find("<Fraction whose repr fails: ValueError: Exceeds the limit") == std::string::npos) {
    EXPECT_TRUE(result.value_text().starts_with("Fraction(1000")) << "a Python without a limit: " << all_of(result);
  }
}

TEST(PythonValues, json_with_the_keys_of_tagged_values_is_made_a_list_of_pairs) {
  const boost::json::value plain = boost::json::parse(R"([1,{"a":{"$f":"1"}},"$python"])");
  EXPECT_EQ(cofferdam::python_json(plain), plain);
  EXPECT_EQ(boost::json::serialize(cofferdam::python_json(boost::json::parse(R"([{"$python":{"$python":1},"b":[]}])"))),
            R"([{"$python":"dict","items":[["$python",{"$python":"dict","items":[["$python",1]]}],["b",[]]]}])");
}

TEST(PythonValues, kinds_are_read_off_values) {
  EXPECT_EQ(python_type(cofferdam::python_bytes({})), "bytes");
  EXPECT_EQ(python_type(boost::json::value(1)), "");
  EXPECT_EQ(python_type(boost::json::parse(R"({"$python":5})")), "");
  EXPECT_EQ(python_type(cofferdam::python_items("set", {})), "set");
  EXPECT_TRUE(cofferdam::bytes_of(cofferdam::python_bytes({}))->empty());
  EXPECT_FALSE(cofferdam::bytes_of(boost::json::parse(R"({"$python":"bytes","base64":"?"})")));
  EXPECT_FALSE(cofferdam::bytes_of(boost::json::parse(R"({"$python":"bytes"})")));
}

TEST(PythonValues, a_forged_float_is_refused) {
  boost::json::value good = boost::json::parse(R"([{"$f":"1.5"},{"$f":"nan"},{"$f":"x","y":1}])");
  EXPECT_TRUE(cofferdam::detail::read_floats(good));
  EXPECT_EQ(boost::json::serialize(good), R"([1.5E0,{"$python":"float","text":"nan"},{"$f":"x","y":1}])");
  for (const char* const text : {R"({"$f":"1.5x"})", R"({"$f":5})", R"([[{"$f":""}]])"}) {
    boost::json::value bad = boost::json::parse(text);
    EXPECT_FALSE(cofferdam::detail::read_floats(bad)) << text;
  }
}
