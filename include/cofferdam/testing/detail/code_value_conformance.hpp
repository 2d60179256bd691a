// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/testing/detail/code_conformance_base.hpp>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <limits>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of values that are passed to the code as Python variables or returned from the code.
template <class Backend>
class code_value_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_value_conformance);

namespace detail {

/// A Python expression and the JSON form of its value.
class spelled_value {
 public:
  std::string python;
  std::string json;
};

inline std::vector<spelled_value> spelled_values() {
  return {
      {"[True, False, None, 0, -1]", "[true,false,null,0,-1]"},
      {"[2**53 + 1, -2**63, 2**64 - 1]", "[9007199254740993,-9223372036854775808,18446744073709551615]"},
      {"[2**64, -2**63 - 1]",
       R"([{"$python":"int","text":"18446744073709551616"},{"$python":"int","text":"-9223372036854775809"}])"},
      {"[float('nan'), float('inf'), float('-inf')]",
       R"([{"$python":"float","text":"nan"},{"$python":"float","text":"inf"},{"$python":"float","text":"-inf"}])"},
      {R"(['', 'text', 'a\0b', '\u20ac', '"\\'])", "[\"\",\"text\",\"a\\u0000b\",\"\xe2\x82\xac\",\"\\\"\\\\\"]"},
      {R"('\ud800')", R"({"$python":"str","base64":"7aCA"})"},
      {R"([b'', b'\x00\xff', bytearray(b'ab')])",
       R"([{"$python":"bytes","base64":""},{"$python":"bytes","base64":"AP8="},{"$python":"bytearray","base64":"YWI="}])"},
      {"[(1, 2), (), {3}, frozenset([4])]",
       R"([{"$python":"tuple","items":[1,2]},{"$python":"tuple","items":[]},{"$python":"set","items":[3]},{"$python":"frozenset","items":[4]}])"},
      {"{'a': 1, 'b': {'c': [2]}}", R"({"a":1,"b":{"c":[2]}})"},
      {"{1: 'one', (2, 3): None}",
       R"({"$python":"dict","items":[[1,"one"],[{"$python":"tuple","items":[2,3]},null]]})"},
      {"{'$python': 'int', 'text': '5'}", R"({"$python":"dict","items":[["$python","int"],["text","5"]]})"},
      {"{'$f': '1'}", R"({"$python":"dict","items":[["$f","1"]]})"},
      {"__import__('datetime').date(2026, 1, 31)", R"({"$python":"date","text":"2026-01-31"})"},
      {"__import__('datetime').datetime(2026, 1, 31, 12, 0, 0, 5)",
       R"({"$python":"datetime","text":"2026-01-31T12:00:00.000005"})"},
      {"__import__('datetime').datetime(2026, 1, 31, 12, tzinfo=__import__('datetime').timezone.utc)",
       R"({"$python":"datetime","text":"2026-01-31T12:00:00+00:00"})"},
      {"(lambda d: d.datetime(2026, 1, 31, 12, tzinfo=d.timezone(d.timedelta(0), 'GMT')))(__import__('datetime'))",
       R"({"$python":"datetime","text":"2026-01-31T12:00:00+00:00","zone":"GMT"})"},
      {"(lambda d: d.time(12, 30, tzinfo=d.timezone(d.timedelta(hours=2), 'CEST')))(__import__('datetime'))",
       R"({"$python":"time","text":"12:30:00+02:00","zone":"CEST"})"},
      {"__import__('datetime').timedelta(1, 2, 3)", R"({"$python":"timedelta","days":1,"seconds":2,"microseconds":3})"},
      {"__import__('decimal').Decimal('1.10')", R"({"$python":"decimal","text":"1.10"})"},
      {"complex(1, -0.0)", R"({"$python":"complex","real":"1.0","imag":"-0.0"})"},
  };
}

}  // namespace detail

TYPED_TEST_P(code_value_conformance, values_come_out_exactly) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::vector<detail::spelled_value> cases = detail::spelled_values();
    for (const detail::spelled_value& each : cases) {
      code_result result = co_await runner.run_code(code_request(each.python));
      EXPECT_EQ(detail::value_text(result), each.json) << each.python << "\n" << detail::told(result);
      EXPECT_TRUE(result.value_is_exact()) << each.python;
    }
  });
}

TYPED_TEST_P(code_value_conformance, values_go_in_exactly) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::vector<detail::spelled_value> cases = detail::spelled_values();
    for (const detail::spelled_value& each : cases) {
      code_request request("y = " + each.python + "\nrepr(x) == repr(y) and type(x) is type(y)");
      request.variable("x", boost::json::parse(each.json));
      code_result result = co_await runner.run_code(request);
      EXPECT_EQ(detail::value_text(result), "true") << each.python << "\n" << detail::told(result);
    }
  });
}

TYPED_TEST_P(code_value_conformance, floats_are_the_same_bits_both_ways) {
  this->with([](auto& runner) -> awaitable<void> {
    boost::json::array numbers;
    for (const double number : {0.1, -0.0, 1e308, 5e-324, 1.0, 123456789.123456789, 2.0 / 3, 1e22, 9007199254740993.0})
      numbers.emplace_back(number);
    code_request request("assert x[1] == 0 and str(x[1]) == '-0.0', x\nassert x[0].hex() == '0x1.999999999999ap-4'\nx");
    request.variable("x", numbers);
    code_result result = co_await runner.run_code(request);
    EXPECT_TRUE(result.ok()) << detail::told(result);
    const boost::json::value back = result.value().value_or(nullptr);
    EXPECT_TRUE(back == boost::json::value(numbers)) << detail::told(result);
  });
}

TYPED_TEST_P(code_value_conformance, very_long_integers_go_both_ways) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result out = co_await runner.run_code(code_request("1 << 100000"));
    EXPECT_TRUE(out.value_is_exact()) << detail::told(out);
    code_request request("x == 1 << 100000");
    request.variable("x", out.value().value_or(nullptr));
    code_result back = co_await runner.run_code(request);
    EXPECT_EQ(detail::value_text(back), "true") << detail::told(back);
    code_request decimal("x == -(10 ** 5000 // 9)");
    decimal.variable("x", python_int("-" + std::string(5000, '1')));
    code_result read = co_await runner.run_code(decimal);
    EXPECT_EQ(detail::value_text(read), "true") << detail::told(read);
  });
}

TYPED_TEST_P(code_value_conformance, integers_of_thousands_of_digits_do_not_spoil_the_text) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("[10 ** 5000, 'more']"));
    EXPECT_TRUE(result.value_is_exact()) << detail::told(result);
    EXPECT_EQ(result.value_text(), "[<an int of 16610 bits>, 'more']");
  });
}

TYPED_TEST_P(code_value_conformance, json_from_elsewhere_goes_in_as_it_is) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string json = R"({"$python":"tuple","items":[1,{"$python":5}],"a":[{"$f":"1"},2.5,null]})";
    code_request request("import json\nx == json.loads(y) and [type(x).__name__, sorted(x)]");
    request.variable("x", python_json(boost::json::parse(json))).variable("y", json);
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(detail::value_text(result), R"(["dict",["$python","a","items"]])") << detail::told(result);
  });
}

TYPED_TEST_P(code_value_conformance, what_is_no_tagged_value_says_so) {
  this->with([](auto& runner) -> awaitable<void> {
    for (const char* const json :
         {R"({"$python":5})", R"([{"$python":"tuple"}])", R"({"$python":"set","items":[[]]})"}) {
      code_request request("'ran'");
      request.variable("given", boost::json::parse(json));
      code_result result = co_await runner.run_code(request);
      EXPECT_EQ(detail::failure_type(result), "ValueError") << json << detail::told(result);
      const std::string message = result.failure() ? result.failure()->message() : "";
      EXPECT_NE(message.find("'given'"), std::string::npos) << message;
      EXPECT_NE(message.find("python_json"), std::string::npos) << message;
    }
  });
}

TYPED_TEST_P(code_value_conformance, what_has_no_exact_form_is_its_text_and_says_so) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result =
        co_await runner.run_code(code_request("class thing:\n  def __repr__(self): return '<thing>'\n[1, thing()]"));
    EXPECT_FALSE(result.value_is_exact());
    EXPECT_EQ(detail::value_text(result), R"([1,{"$python":"text","type":"__main__.thing","text":"<thing>"}])");
    code_result fails = co_await runner.run_code(code_request("class thing:\n  def __repr__(self): 1/0\nthing()"));
    EXPECT_TRUE(fails.ok()) << detail::told(fails);
    EXPECT_FALSE(fails.value_is_exact());
  });
}

TYPED_TEST_P(code_value_conformance, values_that_hold_themselves_or_are_too_deep_are_text) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result itself = co_await runner.run_code(code_request("x = [1]\nx.append(x)\nx"));
    EXPECT_TRUE(itself.ok()) << detail::told(itself);
    EXPECT_FALSE(itself.value_is_exact());
    code_result deep = co_await runner.run_code(code_request("x = []\nfor i in range(500):\n  x = [x]\nx"));
    EXPECT_TRUE(deep.ok()) << detail::told(deep);
    EXPECT_FALSE(deep.value_is_exact());
  });
}

TYPED_TEST_P(code_value_conformance, values_that_are_too_large_are_text) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request("'x' * 20_000_000").timeout(detail::long_limit));
    EXPECT_TRUE(result.ok()) << result.reason();
    EXPECT_FALSE(result.value_is_exact());
    EXPECT_LT(detail::value_text(result).size(), 1'000'000U);
  });
}

TYPED_TEST_P(code_value_conformance, a_large_variable_arrives_whole) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request("len(x), x[:3], x[-3:]");
    request.variable("x", "abc" + std::string(5'000'000, '.') + "xyz").timeout(detail::long_limit);
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(detail::value_text(result), R"({"$python":"tuple","items":[5000006,"abc","xyz"]})") << result.reason();
  });
}

TYPED_TEST_P(code_value_conformance, a_variable_that_cannot_be_one_is_an_error_of_the_run) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result name = co_await runner.run_code(code_request("1").variable("a b", 1));
    EXPECT_EQ(detail::failure_type(name), "ValueError") << detail::told(name);
    code_result keyword = co_await runner.run_code(code_request("1").variable("class", 1));
    EXPECT_EQ(detail::failure_type(keyword), "ValueError");
    code_result number = co_await runner.run_code(code_request("1").variable("x", python_int("twelve")));
    EXPECT_EQ(detail::failure_type(number), "ValueError") << detail::told(number);
    code_result json = co_await runner.run_code(code_request("json").variable("json", 5));
    EXPECT_EQ(detail::value_text(json), "5");
    const std::string ligature = "\xef\xac\x81";  // Python reads this character in a name as the letters f and i
    code_result read = co_await runner.run_code(code_request("[" + ligature + ", fi]").variable(ligature, 7));
    EXPECT_EQ(detail::value_text(read), "[7,7]") << detail::told(read);
    code_request two("fi");
    code_result both = co_await runner.run_code(two.variable(ligature, 1).variable("fi", 2));
    EXPECT_EQ(detail::failure_type(both), "ValueError") << detail::told(both);
    code_result hidden = co_await runner.run_code(code_request("1").variable(ligature + "nally", 1));
    EXPECT_EQ(detail::failure_type(hidden), "ValueError") << detail::told(hidden);
  });
}

TYPED_TEST_P(code_value_conformance, line_numbers_are_those_of_the_code_whatever_variables_there_are) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request("a\n1/0");
    request.variable("a", "x\ny\nz").variable("b", 2);
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(result.failure() ? result.failure()->line() : 0, 2) << detail::told(result);
  });
}

TYPED_TEST_P(code_value_conformance, a_final_value_ends_the_run) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request unnamed("try:\n  print('before')\n  SUBMIT(42)\nexcept Exception:\n  pass\nprint('after')");
    code_result single = co_await runner.run_code(unnamed.final_function("SUBMIT"));
    EXPECT_TRUE(single.ok()) << detail::told(single);
    EXPECT_EQ(detail::final_text(single), R"({"output":42})");
    EXPECT_EQ(single.out().text(), "before\n");
    code_request named("SUBMIT('a', score=0.5)");
    named.final_function("SUBMIT", {"answer", "score"});
    code_result both = co_await runner.run_code(named);
    EXPECT_EQ(detail::final_text(both), R"({"answer":"a","score":5E-1})") << detail::told(both);
    EXPECT_TRUE(both.final_value_is_exact());
    code_result gone = co_await runner.run_code(code_request("'SUBMIT' in globals()"));
    EXPECT_EQ(detail::value_text(gone), "false");
  });
}

TYPED_TEST_P(code_value_conformance, a_final_value_is_exact) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request("SUBMIT(big=2**64, odd=2**53 + 1, n=float('nan'), s={1}, b=b'\\x00')");
    code_result result = co_await runner.run_code(request.final_function("SUBMIT"));
    EXPECT_EQ(detail::final_text(result),
              R"({"big":{"$python":"int","text":"18446744073709551616"},"odd":9007199254740993,)"
              R"("n":{"$python":"float","text":"nan"},"s":{"$python":"set","items":[1]},)"
              R"("b":{"$python":"bytes","base64":"AA=="}})")
        << detail::told(result);
    EXPECT_TRUE(result.final_value_is_exact());
  });
}

TYPED_TEST_P(code_value_conformance, a_final_value_that_is_not_what_was_asked_for_is_a_type_error) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::vector<std::string> calls{"SUBMIT()", "SUBMIT(1, 2, 3)", "SUBMIT(1, b=2)", "SUBMIT(1, a=2)"};
    for (const std::string& call : calls) {
      code_request request(call);
      request.final_function("SUBMIT", {"a", "c"});
      code_result result = co_await runner.run_code(request);
      EXPECT_EQ(detail::failure_type(result), "TypeError") << call;
      EXPECT_FALSE(result.final_value()) << call;
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(code_value_conformance, values_come_out_exactly, values_go_in_exactly,
                            floats_are_the_same_bits_both_ways, very_long_integers_go_both_ways,
                            integers_of_thousands_of_digits_do_not_spoil_the_text, json_from_elsewhere_goes_in_as_it_is,
                            what_is_no_tagged_value_says_so, what_has_no_exact_form_is_its_text_and_says_so,
                            values_that_hold_themselves_or_are_too_deep_are_text, values_that_are_too_large_are_text,
                            a_large_variable_arrives_whole, a_variable_that_cannot_be_one_is_an_error_of_the_run,
                            line_numbers_are_those_of_the_code_whatever_variables_there_are, a_final_value_ends_the_run,
                            a_final_value_is_exact, a_final_value_that_is_not_what_was_asked_for_is_a_type_error);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
