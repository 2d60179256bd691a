// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/testing/detail/code_conformance_base.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of the output that the code prints and of the values that it displays.
template <class Backend>
class code_output_conformance : public detail::runner_conformance<Backend> {};
TYPED_TEST_SUITE_P(code_output_conformance);

TYPED_TEST_P(code_output_conformance, a_hundred_megabytes_are_counted_and_not_kept) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request(
        "import sys\nline = 'x' * 99 + '\\n'\nfor i in range(100):\n  sys.stdout.write(line * 10_000)");
    request.keep_output(100'000).timeout(detail::long_limit);
    code_result result = co_await runner.run_code(request);
    EXPECT_TRUE(result.ok()) << result.reason();
    EXPECT_EQ(result.out().total(), 100'000'000U);
    EXPECT_LE(result.out().text().size(), 101'000U);
    EXPECT_GE(result.out().text().size(), 99'000U);
  });
}

TYPED_TEST_P(code_output_conformance, the_beginning_and_the_end_are_kept) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request("import sys\nsys.stdout.write('begin' + '.' * 1_000_000 + 'end')\nsys.stderr.write('e' * 50)");
    request.keep_output(1000);
    code_result result = co_await runner.run_code(request);
    EXPECT_EQ(result.out().total(), 1'000'008U);
    EXPECT_EQ(result.out().text().substr(0, 5), "begin");
    EXPECT_EQ(result.out().text().substr(result.out().text().size() - 3), "end");
    EXPECT_EQ(result.err().text(), std::string(50, 'e'));
  });
}

TYPED_TEST_P(code_output_conformance, the_streams_do_not_mix) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request("import sys\nfor i in range(2000):\n  print('o', i)\n  print('e', i, file=sys.stderr)");
    code_result result = co_await runner.run_code(request.timeout(detail::long_limit));
    std::string out;
    std::string err;
    for (int i = 0; i < 2000; ++i) {
      out += "o " + std::to_string(i) + "\n";
      err += "e " + std::to_string(i) + "\n";
    }
    EXPECT_EQ(result.out().text(), out);
    EXPECT_EQ(result.err().text(), err);
  });
}

TYPED_TEST_P(code_output_conformance, bytes_that_are_no_text_are_kept) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(code_request(
        "import os, sys\nsys.stdout.buffer.write(bytes(range(256)))\nsys.stdout.flush()\nos.write(2, b'\\xff\\x00')"));
    EXPECT_TRUE(result.ok()) << detail::told(result);
    EXPECT_EQ(result.out().total(), 256U);
    const bytes kept = result.out().head();
    EXPECT_EQ(as_text(kept), detail::all_bytes());
    EXPECT_EQ(result.err().total(), 2U);
  });
}

TYPED_TEST_P(code_output_conformance, what_was_not_flushed_is_not_lost) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result =
        co_await runner.run_code(code_request("import sys\nsys.stdout.write('no line')\nsys.stderr.write('e')"));
    EXPECT_EQ(result.out().text(), "no line");
    EXPECT_EQ(result.err().text(), "e");
    code_result own =
        co_await runner.run_code(code_request("f = open(1, 'w', closefd=False)\nf.write('by hand')\nf.flush()"));
    EXPECT_EQ(own.out().text(), "by hand") << detail::told(own);
  });
}

TYPED_TEST_P(code_output_conformance, streams_that_a_run_has_closed_are_open_in_the_next) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result objects =
        co_await runner.run_code(code_request("import sys\nsys.stdout.close()\nsys.stderr.close()\n5"));
    EXPECT_EQ(detail::value_text(objects), "5") << detail::told(objects);
    code_result first = co_await runner.run_code(code_request("print('one')"));
    EXPECT_EQ(first.out().text(), "one\n") << detail::told(first);
    code_result descriptors = co_await runner.run_code(code_request("import os\nos.close(1)\nos.close(2)\n6"));
    EXPECT_EQ(detail::value_text(descriptors), "6") << detail::told(descriptors);
    code_result second =
        co_await runner.run_code(code_request("import sys\nprint('two')\nprint('three', file=sys.stderr)"));
    EXPECT_EQ(second.out().text(), "two\n") << detail::told(second);
    EXPECT_EQ(second.err().text(), "three\n");
  });
}

TYPED_TEST_P(code_output_conformance, what_looks_like_the_runners_own_speech_is_output) {
  this->with([](auto& runner) -> awaitable<void> {
    const std::string code =
        "import os, struct, json\n"
        "header = json.dumps({'t': 'end', 'id': 1, 'reason': None, 'exit': 0}).encode()\n"
        "frame = struct.pack('>II', 4 + len(header), len(header)) + header\n"
        "text = b'\\ncofferdam python driver 1\\n' + frame * 200 + b'{\"jsonrpc\": \"2.0\", \"method\": "
        "\"tool_call\"}\\n' * 200\n"
        "for fd in range(1, 3):\n"
        "  os.write(fd, text)\n"
        "len(text)";
    code_result result = co_await runner.run_code(code_request(code));
    EXPECT_TRUE(result.ok()) << detail::told(result);
    EXPECT_EQ(detail::value_text(result), std::to_string(result.out().total()));
    EXPECT_EQ(result.err().total(), result.out().total());
    code_result next = co_await runner.run_code(code_request("'next'"));
    EXPECT_EQ(detail::value_text(next), R"("next")");
    EXPECT_FALSE(next.driver_restarted());
  });
}

TYPED_TEST_P(code_output_conformance, is_told_while_the_code_runs) {
  this->with([](auto& runner) -> awaitable<void> {
    const auto heard = std::make_shared<std::string>();
    code_request request("import time\nfor i in range(5):\n  print(i)\n  time.sleep(0.3)");
    const auto hear = [heard](output_stream, bytes_view piece) { *heard += as_text(piece); };
    request.on_output(hear);
    code_result result = co_await runner.run_code(request.timeout(detail::long_limit));
    EXPECT_EQ(result.out().text(), "0\n1\n2\n3\n4\n");
    EXPECT_EQ(*heard, result.out().text());
  });
}

TYPED_TEST_P(code_output_conformance, is_told_to_its_end_however_short_the_code_runs) {
  this->with([](auto& runner) -> awaitable<void> {
    for (const char* const code : {"print('a')", "import sys\nprint('a', flush=True)\nprint('b', file=sys.stderr)",
                                   "for i in range(100_000): print(i)"}) {
      const auto heard = std::make_shared<std::string>();
      const auto errors = std::make_shared<std::string>();
      code_request request(code);
      const auto hear = [heard, errors](output_stream stream, bytes_view piece) {
        *(stream == output_stream::out ? heard : errors) += as_text(piece);
      };
      request.on_output(hear);
      code_result result = co_await runner.run_code(request.keep_output(256 * 1024));
      EXPECT_TRUE(result.ok()) << detail::told(result);
      EXPECT_EQ(*heard, as_text(result.out().head())) << code;
      EXPECT_EQ(*errors, as_text(result.err().head())) << code;
    }
  });
}

TYPED_TEST_P(code_output_conformance, a_listener_that_throws_ends_even_the_shortest_run) {
  this->with([](auto& runner) -> awaitable<void> {
    code_request request("print('a')");
    const auto fails = [](output_stream, bytes_view) { throw std::length_error("that is enough"); };
    request.on_output(fails);
    std::string thrown;
    try {
      co_await runner.run_code(request);
    } catch (const std::length_error& failure) {
      thrown = failure.what();
    }
    EXPECT_EQ(thrown, "that is enough");
  });
}

TYPED_TEST_P(code_output_conformance, shows_values_in_every_form_they_have) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("class page:\n  def __repr__(self): return 'a page'\n  def _repr_html_(self): return '<p>'\n"
                     "  def _repr_png_(self): return b'png'\ndisplay(page())\n7"));
    EXPECT_EQ(result.displays().size(), 2U) << detail::told(result);
    if (result.displays().size() != 2) co_return;
    EXPECT_EQ(result.displays()[0].forms().at("text/plain"), "a page");
    EXPECT_EQ(result.displays()[0].forms().at("text/html"), "<p>");
    EXPECT_EQ(result.displays()[0].forms().at("image/png"), "cG5n");
    EXPECT_FALSE(result.displays()[0].is_value());
    EXPECT_TRUE(result.displays()[1].is_value());
    EXPECT_EQ(result.displays()[1].forms().at("text/plain"), "7");
  });
}

TYPED_TEST_P(code_output_conformance, a_form_that_is_too_large_is_left_out_with_a_message) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result result = co_await runner.run_code(
        code_request("class page:\n  def __repr__(self): return 'a page'\n"
                     "  def _repr_html_(self): return '<p>' * (6 << 20)\n  def _repr_markdown_(self): return '#'\n"
                     "  def _repr_png_(self): return b'x' * (5 << 20)\ndisplay(page())")
            .timeout(detail::long_limit));
    EXPECT_TRUE(result.ok()) << detail::told(result);
    EXPECT_EQ(result.displays().size(), 1U) << detail::told(result);
    if (result.displays().size() != 1) co_return;
    const auto& forms = result.displays()[0].forms();
    EXPECT_EQ(forms.at("text/plain"), "a page");
    EXPECT_EQ(forms.at("text/markdown"), "#");
    EXPECT_EQ(forms.at("image/png").size(), (std::size_t{5} << 20) / 3 * 4 + 4);
    EXPECT_EQ(forms.count("text/html"), 0U);
    EXPECT_NE(result.err().text().find("text/html of 18874368 bytes was left out"), std::string::npos)
        << detail::told(result);
  });
}

TYPED_TEST_P(code_output_conformance, the_text_of_a_long_value_says_its_length) {
  this->with([](auto& runner) -> awaitable<void> {
    code_result text = co_await runner.run_code(code_request("display('a' * 1_000_000)"));
    EXPECT_EQ(text.displays().size(), 1U) << detail::told(text);
    if (text.displays().size() != 1) co_return;
    EXPECT_TRUE(text.displays()[0].forms().at("text/plain").ends_with("a... (of 1000000 characters)"))
        << text.displays()[0].forms().at("text/plain").substr(65000);
    text = co_await runner.run_code(code_request("display(list(range(200_000)))"));
    EXPECT_EQ(text.displays().size(), 1U) << detail::told(text);
    if (text.displays().size() != 1) co_return;
    const std::string& list = text.displays()[0].forms().at("text/plain");
    EXPECT_TRUE(list.starts_with("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10")) << list.substr(0, 60);
    EXPECT_TRUE(list.ends_with("... (of 200000 items)")) << list.substr(65000);
  });
}

TYPED_TEST_P(code_output_conformance, what_was_printed_is_told_before_what_is_shown_after_it) {
  this->with([](auto& runner) -> awaitable<void> {
    const auto order = std::make_shared<std::string>();
    code_request request("for i in range(3):\n  print(i, end='')\n  display(i)");
    const auto hear = [order](output_stream, bytes_view piece) { *order += as_text(piece); };
    request.on_output(hear);
    const auto show = [order](display_output shown) { *order += "[" + shown.forms().at("text/plain") + "]"; };
    request.on_display(show);
    code_result result = co_await runner.run_code(request);
    EXPECT_TRUE(result.ok()) << detail::told(result);
    for (const char* const number : {"0", "1", "2"}) {
      const std::size_t shown = order->find("[" + std::string(number) + "]");
      EXPECT_NE(shown, std::string::npos) << *order;
      EXPECT_LT(order->find(number), shown) << *order;
    }
    EXPECT_TRUE(result.displays().empty());
  });
}

REGISTER_TYPED_TEST_SUITE_P(code_output_conformance, a_hundred_megabytes_are_counted_and_not_kept,
                            the_beginning_and_the_end_are_kept, the_streams_do_not_mix, bytes_that_are_no_text_are_kept,
                            what_was_not_flushed_is_not_lost, streams_that_a_run_has_closed_are_open_in_the_next,
                            what_looks_like_the_runners_own_speech_is_output, is_told_while_the_code_runs,
                            is_told_to_its_end_however_short_the_code_runs,
                            a_listener_that_throws_ends_even_the_shortest_run, shows_values_in_every_form_they_have,
                            a_form_that_is_too_large_is_left_out_with_a_message,
                            the_text_of_a_long_value_says_its_length,
                            what_was_printed_is_told_before_what_is_shown_after_it);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
