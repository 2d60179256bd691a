// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/net/sse_reader.hpp>
#include <cofferdam/llm/detail/completion_error.hpp>
#include <cofferdam/llm/detail/completion_reply.hpp>

#include "llm/scripted_model_server.hpp"
#include "support/error_of.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::sse_event;
using cofferdam::detail::sse_reader;

/// Returns the reply that is assembled from stream chunks, or from one whole message.
chat_reply assemble(std::vector<std::string> chunks, std::size_t limit = 100'000) {
  detail::completion_assembly assembly(limit);
  for (const std::string& each : chunks) assembly.add(boost::json::parse(each).as_object(), {});
  return assembly.finish("test");
}
std::string calls(const std::string& list) { return R"({"choices":[{"delta":{"tool_calls":[)" + list + "]}}]}"; }
std::string shown(const chat_reply& reply) {
  std::string text;
  for (const chat_tool_call& each : reply.message().tool_calls())
    text += each.id() + " " + each.name() + " " + each.arguments() + "|";
  return text;
}

TEST(CompletionReply, interleaved_parallel_calls_are_put_together) {
  EXPECT_EQ(shown(assemble(
                {calls(R"({"index":0,"id":"a","function":{"name":"x","arguments":""}})"),
                 calls(R"({"index":0,"function":{"arguments":"{\"c\":"}})"),
                 calls(R"({"index":1,"id":"b","function":{"name":"y","arguments":""}})"),
                 calls(R"({"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"{}"}})")})),
            "a x {\"c\":1}|b y {}|");
}

TEST(CompletionReply, an_index_of_0_for_every_call_still_makes_several) {
  EXPECT_EQ(shown(assemble({calls(R"({"index":0,"id":"a","function":{"name":"x","arguments":"{}"}})"),
                            calls(R"({"index":0,"id":"b","function":{"name":"x","arguments":"{}"}})")})),
            "a x {}|b x {}|");
}

TEST(CompletionReply, an_id_and_a_name_in_every_piece_are_one_call) {
  EXPECT_EQ(shown(assemble({calls(R"({"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\""}})"),
                            calls(R"({"index":0,"id":"a","function":{"name":"x","arguments":":2}"}})")})),
            "a x {\"k\":2}|");
}

TEST(CompletionReply, calls_without_an_index_go_by_their_ids) {
  EXPECT_EQ(shown(assemble({calls(R"({"id":"a","function":{"name":"x","arguments":"{"}})"),
                            calls(R"({"function":{"arguments":"}"}})"),
                            calls(R"({"id":"b","function":{"name":"y","arguments":{"k":1}}})")})),
            "a x {}|b y {\"k\":1}|");
}

TEST(CompletionReply, a_whole_message_may_leave_out_what_it_likes) {
  const chat_reply reply = assemble(
      {R"({"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"reasoning":"r",
          "tool_calls":[{"function":{"name":"x","arguments":{"k":1}}},{"id":"","function":{"name":"x"}}]}}]})"});
  EXPECT_EQ(reply.text(), "ab");
  EXPECT_EQ(reply.message().reasoning(), "r");
  const std::vector<chat_tool_call>& both = reply.message().tool_calls();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_TRUE(both[0].id().starts_with("call_"));
  EXPECT_NE(both[0].id(), both[1].id());
  EXPECT_EQ(both[0].arguments(), "{\"k\":1}");
  EXPECT_EQ(assemble({R"({"choices":[{"message":{"content":"t","tool_calls":null}}]})"}).text(), "t");
}

TEST(CompletionReply, two_calls_with_one_id_get_two) {
  const chat_reply reply = assemble({R"({"choices":[{"message":{"tool_calls":[
      {"id":"a","function":{"name":"x","arguments":"1"}},{"id":"a","function":{"name":"y","arguments":"2"}}]}}]})"});
  const std::vector<chat_tool_call>& both = reply.message().tool_calls();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].id(), "a");
  EXPECT_NE(both[1].id(), "a");
  EXPECT_EQ(both[1].arguments(), "2");
}

// Feature: I6
TEST(CompletionReply, usage_is_taken_wherever_it_stands) {
  const chat_reply reply = assemble({R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]})",
                                     R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5.0,
                                         "prompt_tokens_details":{"cached_tokens":4},
                                         "completion_tokens_details":{"reasoning_tokens":3}}})"});
  EXPECT_EQ(reply.usage().input, 10U);
  EXPECT_EQ(reply.usage().output, 5U);
  EXPECT_EQ(reply.usage().cached, 4U);
  EXPECT_EQ(reply.usage().reasoning, 3U);
  EXPECT_EQ(reply.finish_reason(), "stop");
}

// Feature: I3
TEST(CompletionReply, a_cut_a_filtered_and_an_empty_answer_are_typed_errors) {
  const auto cause = [](std::string text) {
    try {
      assemble({text});
    } catch (const error& failure) {
      return failure.cause();
    }
    return std::error_code();
  };
  EXPECT_EQ(cause(R"({"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]})"), chat_errc::output_limit);
  EXPECT_EQ(cause(R"({"choices":[{"delta":{},"finish_reason":"content_filter"}]})"), chat_errc::filtered);
  EXPECT_EQ(cause(R"({"choices":[]})"), chat_errc::bad_answer);
  EXPECT_EQ(cause(R"({"choices":7})"), chat_errc::bad_answer);
}

TEST(CompletionReply, what_a_server_sends_is_bounded) {
  EXPECT_EQ(cofferdam_test::code_of([] { assemble({R"({"choices":[{"delta":{"content":"0123456789"}}]})"}, 9); }),
            exec_errc::io_error);
  std::vector<std::string> many;
  for (int i = 0; i < 129; ++i)
    many.push_back(calls(R"({"id":")" + std::to_string(i) + R"(","function":{"name":"x"}})"));
  EXPECT_EQ(cofferdam_test::code_of([&] { assemble(many); }), exec_errc::io_error);
}

TEST(CompletionReply, a_stream_reads_alike_however_it_is_cut) {
  cofferdam_test::scripted_turn turn;
  turn.text =
      "Gr\xC3\xBC\xC3\x9F"
      "e \"x\"";
  turn.reasoning = "hm";
  turn.calls = {{"a", "x", R"({"k":"v"})"}, {"b", "y", "{}"}};
  const std::string stream = turn.streamed(3).body;
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    detail::completion_assembly assembly(100'000);
    std::string heard;
    const auto hears = [&](const chat_delta& piece) {
      if (piece.kind() == chat_delta_kind::text) heard += piece.text();
    };
    const auto each = [&](const sse_event& event) {
      if (event.data() != "[DONE]") assembly.add(boost::json::parse(event.data()).as_object(), hears);
    };
    sse_reader reader;
    reader.feed(std::string_view(stream).substr(0, cut), each);
    reader.feed(std::string_view(stream).substr(cut), each);
    ASSERT_TRUE(assembly.ended());
    const chat_reply reply = assembly.finish("test");
    ASSERT_EQ(reply.text(), turn.text) << cut;
    ASSERT_EQ(heard, turn.text);
    ASSERT_EQ(reply.message().reasoning(), "hm");
    ASSERT_EQ(shown(reply), "a x {\"k\":\"v\"}|b y {}|");
  }
}

// Feature: I3
TEST(CompletionError, overflow_is_told_in_many_ways) {
  const auto why = [](int status, std::string body) {
    return detail::classify(status, detail::service_complaint::read(body));
  };
  EXPECT_EQ(why(400, R"({"error":{"message":"m","code":"context_length_exceeded"}})"), chat_errc::context_overflow);
  EXPECT_EQ(
      why(400, R"({"object":"error","message":"You passed 1015 input tokens and requested 64 output tokens. However,
      the model's context length is only 1024 tokens","code":400})"),
      chat_errc::context_overflow);
  EXPECT_EQ(why(400, R"({"error":"This model's Maximum Context Length is 262144 tokens"})"),
            chat_errc::context_overflow);
  EXPECT_EQ(why(413, R"({"error":{"message":"Prompt is too long: 9 > 8"}})"), chat_errc::context_overflow);
  EXPECT_EQ(why(400, "input length 9000 exceeds the limit"), chat_errc::context_overflow);
  EXPECT_EQ(why(400, R"({"error":{"message":"bad tools"}})"), chat_errc::rejected);
  EXPECT_EQ(why(413, "<html>"), chat_errc::request_too_large);
  EXPECT_EQ(why(401, ""), chat_errc::not_authenticated);
  EXPECT_EQ(why(404, ""), chat_errc::no_such_model);
  EXPECT_EQ(why(429, R"({"error":{"code":"insufficient_quota"}})"), chat_errc::no_quota);
  EXPECT_EQ(why(429, R"({"error":{"message":"Request too large for m"}})"), chat_errc::request_too_large);
  EXPECT_EQ(why(429, ""), chat_errc::rate_limited);
  EXPECT_EQ(why(529, ""), chat_errc::service_failed);
}

TEST(CompletionError, the_wait_that_a_service_asks_for) {
  const auto wait = [](const char* name, const char* value) {
    http_fields fields;
    fields.append(name, value);
    const auto asked = detail::asked_wait(fields, 784111777);  // Sun, 06 Nov 1994 08:49:37 GMT
    return asked ? asked->count() : -1;
  };
  EXPECT_EQ(wait("Retry-After-Ms", "50"), 50);
  EXPECT_EQ(wait("Retry-After", "2"), 2000);
  EXPECT_EQ(wait("Retry-After", "0.25"), 250);
  EXPECT_EQ(wait("Retry-After", "Sun, 06 Nov 1994 08:50:00 GMT"), 23000);
  for (const char* useless : {"0", "-5", "soon", "nan", "inf", "Sun, 06 Nov 1994 08:00:00 GMT", ""})
    EXPECT_EQ(wait("Retry-After", useless), -1) << useless;
  EXPECT_EQ(wait("Retry-After", "1e300"), 1'000'000'000);
}

}  // namespace
