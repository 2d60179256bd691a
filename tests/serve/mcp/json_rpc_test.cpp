// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/serve/mcp/detail/json_rpc.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace mcp_json_rpc_tests {

using namespace cofferdam::mcp::detail;

rpc_input read(std::string_view text) { return read_rpc(text, rpc_limits()); }

/// Describes the messages of an input: "request 7 ping", "notification x", "response 1", "fault -32600 id".
std::string told(const rpc_input& input) {
  std::string text = input.is_batch ? "batch" : "";
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const rpc_message& message : input.messages) {
    if (message.kind == rpc_kind::request) add("request " + message.id_text() + " " + message.method);
    if (message.kind == rpc_kind::notification) add("notification " + message.method);
    if (message.kind == rpc_kind::response) add("response " + message.id_text());
  }
  for (const auto& [fault, id] : input.faults)
    add("fault " + std::to_string(fault.code()) + " " + boost::json::serialize(id));
  return text;
}

TEST(McpJsonRpc, an_id_keeps_its_type_and_value) {
  for (const char* const id : {"0", "-1", "1788000000000", "18446744073709551615", "\"\"", "\"0\"", "\"a b\""})
    EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","method":"ping","id":)" + std::string(id) + "}")),
              "request " + std::string(id) + " ping");
}

TEST(McpJsonRpc, what_is_no_id_is_a_fault) {
  for (const char* const id : {"null", "1.5", "true", "[1]", "{}", "1e3"})
    EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","method":"ping","id":)" + std::string(id) + "}")), "fault -32600 null")
        << id;
  const std::string longest = "\"" + std::string(1024, 'x') + "\"";
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","method":"p","id":)" + longest + "}")), "request " + longest + " p");
  const std::string longer = "\"" + std::string(1025, 'x') + "\"";
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","method":"p","id":)" + longer + "}")), "fault -32600 null");
}

TEST(McpJsonRpc, kinds_of_messages_are_told_apart_in_any_order_of_members) {
  EXPECT_EQ(told(read(R"({"method":"a","params":{"x":1},"jsonrpc":"2.0","id":1,"more":[]})")), "request 1 a");
  EXPECT_EQ(told(read(R"({"method":"a","jsonrpc":"2.0"})")), "notification a");
  EXPECT_EQ(told(read(R"({"result":{},"jsonrpc":"2.0","id":"s-1"})")), "response \"s-1\"");
  EXPECT_EQ(told(read(R"({"error":{"code":1,"message":"no"},"jsonrpc":"2.0","id":2})")), "response 2");
  EXPECT_EQ(read(R"({"method":"a","jsonrpc":"2.0","id":1})").messages.front().params.size(), 0U);
  EXPECT_EQ(read(R"({"method":"a","jsonrpc":"2.0","id":1,"params":null})").messages.front().params.size(), 0U);
}

TEST(McpJsonRpc, what_is_no_message_is_a_fault_with_its_id_where_there_is_one) {
  EXPECT_EQ(told(read("{bad json")), "fault -32700 null");
  EXPECT_EQ(told(read("\xff\xfe")), "fault -32700 null");
  EXPECT_EQ(told(read("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\",\"id\":1}")), "fault -32700 null");
  EXPECT_EQ(told(read("7")), "fault -32600 null");
  EXPECT_EQ(told(read(R"({"id":3,"method":"a"})")), "fault -32600 3");
  EXPECT_EQ(told(read(R"({"jsonrpc":"1.0","id":3,"method":"a"})")), "fault -32600 3");
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","id":3})")), "fault -32600 3");
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","id":3,"method":5})")), "fault -32600 3");
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","id":3,"result":1,"error":{}})")), "fault -32600 3");
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","id":3,"method":"a","params":[1]})")), "fault -32602 3");
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","method":"a","params":[1]})")), "");
  EXPECT_EQ(told(read(R"({"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}})")), "");
}

TEST(McpJsonRpc, size_depth_and_batches_are_limited) {
  rpc_limits small;
  small.bytes = 40;
  EXPECT_EQ(told(read_rpc(R"({"jsonrpc":"2.0","id":3,"method":"ping"})", small)), "request 3 ping");
  EXPECT_EQ(told(read_rpc(R"({"jsonrpc":"2.0","id":33,"method":"ping"})", small)), "fault -32600 null");
  const auto nested = [](std::size_t depth) {
    return R"({"jsonrpc":"2.0","id":3,"method":"a","params":{"x":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}}";
  };
  EXPECT_EQ(told(read(nested(60))), "request 3 a");
  EXPECT_EQ(told(read(nested(64))), "fault -32700 null");
  EXPECT_EQ(told(read(nested(100'000))), "fault -32700 null");
  EXPECT_EQ(told(read("[]")), "batch; fault -32600 null");
  EXPECT_EQ(told(read(R"([{"jsonrpc":"2.0","id":1,"method":"a"},7,{"jsonrpc":"2.0","method":"b"}])")),
            "batch; request 1 a; notification b; fault -32600 null");
  std::string many = "[1";
  for (int i = 0; i < 100; ++i) many += ",1";
  EXPECT_EQ(told(read(many + "]")), "batch; fault -32600 null");
}

TEST(McpJsonRpc, values_are_limited_by_the_bytes_that_a_message_may_have) {
  rpc_limits limits;
  EXPECT_EQ(limits.values(), 16U * 1024 * 1024 / 40);
  limits.bytes = 100;
  EXPECT_EQ(limits.values(), 1000U);
  limits.bytes = 80'000;
  const auto with = [](int more) {  // five values without `more`: the message, two texts, the parameters, their array
    std::string text = R"({"jsonrpc":"2.0","method":"a","params":{"x":[0)";
    for (int i = 1; i < more; ++i) text += i % 2 == 0 ? ",0" : ",[]";
    return text + "]}}";
  };
  EXPECT_EQ(told(read_rpc(with(2000 - 5), limits)), "notification a");
  EXPECT_EQ(told(read_rpc(with(2000 - 4), limits)), "fault -32600 null");
  // Commas and brackets inside a text do not count as values.
  const std::string text =
      R"({"jsonrpc":"2.0","method":"a","params":{"x":")" + std::string(5000, ',') + std::string(5000, '[') + R"("}})";
  EXPECT_EQ(told(read_rpc(text, limits)), "notification a");
  EXPECT_EQ(told(read_rpc(text + "}", limits)), "fault -32700 null");
}

TEST(McpJsonRpc, answers_are_one_line_each) {
  boost::json::object result;
  result["text"] = "a\nb";
  EXPECT_EQ(rpc_result("\"x\"", result), R"({"jsonrpc":"2.0","id":"x","result":{"text":"a\nb"}})");
  boost::json::object numbers;
  numbers["mean"] = 12.0;
  EXPECT_EQ(rpc_result("1", numbers), R"({"jsonrpc":"2.0","id":1,"result":{"mean":12.0}})");
  EXPECT_EQ(rpc_notification("n", numbers), R"({"jsonrpc":"2.0","method":"n","params":{"mean":12.0}})");
  EXPECT_EQ(rpc_error("", -1, "no"), R"({"jsonrpc":"2.0","error":{"code":-1,"message":"no"}})");
  EXPECT_EQ(rpc_error("null", -1, "no", 5),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no","data":5}})");
}

/// Returns the lines and faults that the reader reports when `text` arrives in pieces of `size` bytes.
std::string lines_of(std::string_view text, std::size_t size, std::size_t longest) {
  line_reader reader(longest);
  std::string described;
  for (std::size_t at = 0; at < text.size(); at += size) {
    std::string_view piece = text.substr(at, size);
    for (;;) {
      std::string_view line;
      const line_reader::found found = reader.next(piece, line);
      if (found == line_reader::found::nothing) break;
      described += found == line_reader::found::line ? "[" + std::string(line) + "]" : std::string("(long)");
    }
    EXPECT_TRUE(piece.empty());
  }
  return described;
}

TEST(McpLineReader, finds_the_same_lines_however_the_stream_is_cut) {
  const std::string text = "one\r\n\n  \ntwo\n\r\nthree and more\n12345678\n123456789\nlast\nrest";
  for (std::size_t size = 1; size <= text.size(); ++size)
    EXPECT_EQ(lines_of(text, size, 8), "[one][two](long)[12345678](long)[last]") << size;
}

TEST(McpLineReader, a_long_line_takes_no_memory_and_is_told_once) {
  std::string text(1000, 'x');
  text += "\nnext\n";
  for (const std::size_t size : {1U, 7U, 8U, 9U, 10U, 2000U})
    EXPECT_EQ(lines_of(text, size, 8), "(long)[next]") << size;
}

}  // namespace mcp_json_rpc_tests
