// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/core/yaml.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace std::string_literals;
using cofferdam::detail::read_yaml;
using cofferdam::detail::yaml_node;

/// Returns a value in one line: texts in quotes if they were quoted, `~` for a null.
std::string shown(const yaml_node& node) {
  std::string text;
  switch (node.type) {
    case yaml_node::kind::null: return "~";
    case yaml_node::kind::scalar: return node.quoted ? "'" + node.text + "'" : node.text;
    case yaml_node::kind::list:
      for (const yaml_node& item : node.items) text += (text.empty() ? "" : ", ") + shown(item);
      return "[" + text + "]";
    case yaml_node::kind::map:
      for (std::size_t i = 0; i < node.keys.size(); ++i)
        text += (text.empty() ? "" : ", ") + node.keys[i] + ": " + shown(node.items[i]);
      return "{" + text + "}";
  }
  return text;
}
std::string read(std::string_view text) { return shown(read_yaml(text, "config")); }
std::string refusal(std::string_view text) {
  return cofferdam_test::sentence_of([&] { read_yaml(text, "config"); });
}

TEST(Yaml, reads_maps_lists_and_scalars) {
  EXPECT_EQ(read(""), "~");
  EXPECT_EQ(read("# nothing\n\n---\n"), "~");
  EXPECT_EQ(read("a: 1\nb: two words\nc:\nd: ~\ne: null\nf: ''\n"), "{a: 1, b: two words, c: ~, d: ~, e: ~, f: ''}");
  EXPECT_EQ(read("---\na:\n  b:\n    c: d\n  e: f\ng: h"), "{a: {b: {c: d}, e: f}, g: h}");
  EXPECT_EQ(read("a:\n- b\n- c: 1\n  d: 2\n-\n  e: 3\n- - x\n  - y\nf:\n  - g\n"),
            "{a: [b, {c: 1, d: 2}, {e: 3}, [x, y]], f: [g]}");
  EXPECT_EQ(read("- a\n-\n- b: c"), "[a, ~, {b: c}]");
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a: b\r\nc: d\r\n"),
            "{a: b, c: d}");
}

TEST(Yaml, reads_urls_colons_and_number_signs_in_plain_scalars) {
  EXPECT_EQ(read("server: https://10.0.0.1:6443/path#part"), "{server: https://10.0.0.1:6443/path#part}");
  EXPECT_EQ(read("a: b # a comment\nname: arn:aws:eks:eu:1:cluster/x # c"), "{a: b, name: arn:aws:eks:eu:1:cluster/x}");
  EXPECT_EQ(read("a : b\n\"c: d\" : e\n'f''g': h"), "{a: b, c: d: e, f'g: h}");
  EXPECT_EQ(read("a: -1\nb: --flag=x"), "{a: -1, b: --flag=x}");
}

TEST(Yaml, joins_the_lines_of_plain_and_quoted_scalars) {
  EXPECT_EQ(read("hint: Install it by following\n  https://example.test/x#y\n\n  now\nb: c"),
            "{hint: Install it by following https://example.test/x#y\nnow, b: c}");
  EXPECT_EQ(read("a: \"one  \n    two\\\n    three\n\n  four\"\nb: 'x\n  y'"), "{a: 'one twothree\nfour', b: 'x y'}");
}

TEST(Yaml, reads_escapes_and_surrogate_pairs) {
  EXPECT_EQ(read(R"(a: "\t\n\"\\\/\x41\u00e9\ud83d\ude00\U0001F600")"),
            "{a: '\t\n\"\\/A\xC3\xA9\xF0\x9F\x98\x80\xF0\x9F\x98\x80'}");
  EXPECT_EQ(read(R"(a: '\n it''s')"), R"({a: '\n it's'})");
}

TEST(Yaml, reads_block_scalars) {
  EXPECT_EQ(read("a: |\n  one\n   two\n\n  three\n\nb: |-\n  x\nc: |+\n  y\n\nd: e"),
            "{a: 'one\n two\n\nthree\n', b: 'x', c: 'y\n\n', d: e}");
  EXPECT_EQ(read("a: >\n  one\n  two\n\n  three\n    code\n  four\n"), "{a: 'one two\nthree\n  code\nfour\n'}");
  EXPECT_EQ(read("a: |2-\n    x\nb:\n- |\n  y\n- >-\n  z"), "{a: '  x', b: ['y\n', 'z']}");
  EXPECT_EQ(read("a: |\nb: c"), "{a: '', b: c}");
}

TEST(Yaml, reads_json) {
  EXPECT_EQ(read("{\"a\":[1,{\"b\":null,\"c\":\"d\"}],\n\t\"e\":{},\"f\":[]}"),
            "{a: [1, {b: ~, c: 'd'}], e: {}, f: []}");
  EXPECT_EQ(read("clusters: [{name: c, cluster: {server: \"https://h:1\", tls-server-name: k}}] # x\nb: {c, d: }"),
            "{clusters: [{name: c, cluster: {server: 'https://h:1', tls-server-name: k}}], b: {c: ~, d: ~}}");
  EXPECT_EQ(read("a: [ # one\n  b,\n  c,\n]\n"), "{a: [b, c]}");
}

TEST(Yaml, knows_the_line_of_each_value) {
  const yaml_node root = read_yaml("# x\na: 1\nb:\n- c\n-\n  d: {e: [\n  f]}\n", "config");
  EXPECT_EQ(root.find("a")->line, 2);
  EXPECT_EQ(root.find("b")->items[0].line, 4);
  EXPECT_EQ(root.find("b")->items[1].find("d")->find("e")->items[0].line, 7);
}

TEST(Yaml, refuses_what_it_does_not_support_and_says_where) {
  const struct {
    std::string text;
    const char* sentence;
  } cases[] = {
      {"a: &x b", "config, line 1: anchors (&) are not supported"},
      {"\na: *x", "config, line 2: aliases (*) are not supported"},
      {"a: !!str b", "config, line 1: tags (!) are not supported"},
      {"a: [!x b]", "config, line 1: tags (!) are not supported"},
      {"<<: b", "config, line 1: merge keys (<<) are not supported"},
      {"%YAML 1.2\n---\na: b", "config, line 1: directives (%) are not supported"},
      {"a: b\n---\nc: d", "config, line 2: a second document (---) is not supported"},
      {"a: b\n...\n", "config, line 2: the end of a document (...) is not supported"},
      {"--- a: b", "config, line 1: text after --- is not supported; begin the document on the next line"},
      {"? a\n: b", "config, line 1: keys of several lines (?) are not supported"},
      {"a:\n\tb: c", "config, line 2: a tab is used as indentation; use spaces"},
      {"a: b: c", "config, line 1: a value has a colon and a blank; put it in quotes"},
      {"a: - b", "config, line 1: a list must begin on a line of its own"},
      {"a: b\n  c: d", "config, line 2: a value has a colon and a blank; put it in quotes"},
      {"a:\n    b: 1\n  c: 2", "config, line 3: the indentation fits no line before it"},
      {"a:\n- b\n  - c\n d: e", "config, line 4: a value has a colon and a blank; put it in quotes"},
      {"a: b\na: c", "config, line 2: the key \"a\" is there twice"},
      {"{a: b, \"a\": c}", "config, line 1: the key \"a\" is there twice"},
      {"a: 'b", "config, line 1: a quotation has no end"},
      {"a: \"b\nc: d\"", "config, line 1: a quotation has no end"},
      {"a: [b,\n\nc", "config, line 1: a bracket or brace has no end"},
      {"a: [b c: d]", "config, line 1: expected a comma or ]"},
      {"a: {b: c} d", "config, line 1: unexpected text after a value"},
      {"a: \"b\" c", "config, line 1: unexpected text after a value"},
      {"a: \"\\q\"", "config, line 1: unknown escape in a quotation"},
      {"a: \"\\ud83d\"", "config, line 1: an escape is no character"},
      {"a: \"\\u12\"", "config, line 1: an escape needs more hexadecimal digits"},
      {"a: b\n\x01", "config, line 2: the line has a control character"},
      {"a: @b", "config, line 1: a value must not begin with @; put it in quotes"},
      {"a: b\nc", "config, line 2: expected a key and a colon"},
      {"a\nb: c", "config, line 2: expected a key and a colon"},
      {std::string(200, '['), "config, line 1: the values are nested too deeply"},
      {"- " + std::string(200, '-'), ""},
  };
  for (const auto& each : cases) {
    if (each.sentence[0] != '\0') {
      EXPECT_EQ(refusal(each.text), each.sentence) << each.text;
    }
  }
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "- ";
  EXPECT_EQ(refusal(deep + "x"), "config, line 1: the values are nested too deeply");
}

TEST(Yaml, a_map_with_many_keys_is_read_in_time) {
  std::string block;
  std::string flow = "{";
  for (int i = 0; i < 100'000; ++i) {
    block += std::to_string(i) + ":\n";
    flow += std::to_string(i) + ",\n";
  }
  const std::clock_t begin = std::clock();  // the processor time, so that other programs do not matter
  EXPECT_EQ(read_yaml(block, "config").keys.size(), 100'000U);
  EXPECT_EQ(read_yaml(flow + "}", "config").keys.size(), 100'000U);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10.0);
}

TEST(Yaml, an_error_quotes_no_value) {
  for (const std::string& text : {"token: &secret x"s, "token: \"secret\n"s, "token: 'x' secret"s, "token: a: secret"s})
    EXPECT_EQ(refusal(text).find("secret"), std::string::npos) << text;
}

TEST(Yaml, each_beginning_of_a_document_is_read_or_refused) {
  const std::string text =
      "---\n# x\na: 'it''s'\nb: \"c\\u00e9\n  d\"\ne: [f, {g: \"h\"}]\ni: |-\n  j\n  k\nl:\n- m: n # o\n  p:\n- q\n";
  EXPECT_EQ(read(text), "{a: 'it's', b: 'c\xC3\xA9 d', e: [f, {g: 'h'}], i: 'j\nk', l: [{m: n, p: ~}, q]}");
  int refused = 0;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    try {
      read_yaml(std::string_view(text).substr(0, cut), "config");
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(failure.code(), cofferdam::exec_errc::invalid_argument);
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
