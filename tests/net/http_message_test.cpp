// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/http_serializer.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/net/net_error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace {

using cofferdam::exec_errc;
using cofferdam::http_body;
using cofferdam::http_field;
using cofferdam::http_fields;
using cofferdam::http_request;
using namespace std::string_literals;

static_assert(!std::is_aggregate_v<http_request> && !std::is_aggregate_v<http_body>);
static_assert(std::is_default_constructible_v<cofferdam::http_response>);

template <class F>
std::string refusal(F&& doing) {
  try {
    doing();
  } catch (const cofferdam::error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::invalid_argument);
    return failure.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(HttpFields, a_name_is_found_whatever_its_case_and_the_order_is_kept) {
  http_fields fields;
  fields.append("Content-Type", "a").append("X-One", "1").append("x-one", "2").append("Empty", "");
  EXPECT_EQ(fields.find("CONTENT-TYPE"), "a");
  EXPECT_EQ(fields.find("x-ONE"), "1");
  EXPECT_EQ(fields.count("X-One"), 2U);
  EXPECT_EQ(fields.find("empty"), "");
  EXPECT_FALSE(fields.find("none").has_value());
  std::string names;
  for (const http_field& field : fields) names += field.name() + ";";
  EXPECT_EQ(names, "Content-Type;X-One;x-one;Empty;");
}

TEST(HttpFields, set_replaces_all_lines_of_a_name_where_the_first_one_stood) {
  http_fields fields;
  fields.append("A", "1").append("B", "2").append("a", "3").set("a", "4").set("C", "5");
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields.begin()->value(), "4");
  fields.erase("b");
  EXPECT_EQ(fields.size(), 2U);
}

TEST(HttpFields, a_list_is_searched_by_members_on_all_lines) {
  http_fields fields;
  fields.append("Connection", "keep-alive , Upgrade").append("connection", "close");
  EXPECT_TRUE(fields.lists("Connection", "upgrade"));
  EXPECT_TRUE(fields.lists("Connection", "CLOSE"));
  EXPECT_FALSE(fields.lists("Connection", "keep"));
  EXPECT_FALSE(fields.lists("Upgrade", "tcp"));
}

TEST(HttpFields, no_control_character_gets_into_a_line) {
  for (int c = 0; c < 256; ++c) {
    const std::string text = "a"s + static_cast<char>(c) + "b";
    const bool is_control = (c < 0x20 && c != '\t') || c == 0x7F;
    if (is_control) {
      EXPECT_NE(refusal([&] { http_fields().append("Name", text); }).find("Name"), std::string::npos) << c;
      EXPECT_NE(refusal([&] { http_request("GET", "/" + text); }).find("percent-encode"), std::string::npos) << c;
    } else {
      EXPECT_NO_THROW(http_fields().append("Name", text)) << c;
    }
    if (c <= 0x20 || c >= 0x7F ||
        std::string_view("()<>@,;:\\\"/[]?={}").find(static_cast<char>(c)) != std::string_view::npos) {
      EXPECT_FALSE(refusal([&] { http_fields().append(text, "value"); }).empty()) << c;
      EXPECT_FALSE(refusal([&] { http_request(text, "/"); }).empty()) << c;
    }
  }
  refusal([] { http_fields().append("", "value"); });
  refusal([] { http_request("", "/"); });
  refusal([] { http_request("GET", ""); });
  refusal([] { http_request("GET", "/a b"); });
  refusal([] { http_request("GET", "/\xc3\xa9"); });
}

TEST(HttpFields, a_refused_value_is_not_shown) {
  EXPECT_EQ(refusal([] { http_field("Authorization", "Bearer secret\r\nX: y"); }).find("secret"), std::string::npos);
}

TEST(HttpRequest, says_whether_it_may_be_sent_twice) {
  EXPECT_TRUE(http_request("GET", "/").is_idempotent());
  EXPECT_TRUE(http_request("DELETE", "/").is_idempotent());
  EXPECT_FALSE(http_request("POST", "/").is_idempotent());
  EXPECT_FALSE(http_request("get", "/").is_idempotent());
  EXPECT_TRUE(http_request("POST", "/").idempotent().is_idempotent());
}

TEST(HttpRequest, its_body_knows_its_size_where_that_can_be_known) {
  EXPECT_FALSE(http_body().present());
  EXPECT_EQ(http_body("abc").size(), 3U);
  EXPECT_TRUE(http_body("").present());
  const auto nothing = []() -> cofferdam::awaitable<cofferdam::bytes> { co_return cofferdam::bytes(); };
  EXPECT_FALSE(http_body(nothing).size().has_value());
  EXPECT_EQ(http_body(nothing, 7).size(), 7U);
  refusal([] { static_cast<void>(http_body{http_body::source()}); });
}

TEST(HttpSerializer, writes_heads_and_chunks) {
  cofferdam::http_request_head request;
  request.method = "POST";
  request.target = "/x?y=1";
  request.fields.append("Host", "h").append("A", "");
  EXPECT_EQ(cofferdam::detail::http_head_text(request), "POST /x?y=1 HTTP/1.1\r\nHost: h\r\nA: \r\n\r\n");
  cofferdam::http_response_head response;
  response.status = 204;
  response.reason = "No Content";
  EXPECT_EQ(cofferdam::detail::http_head_text(response), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(cofferdam::detail::http_chunk_head(255), "ff\r\n");
  EXPECT_EQ(cofferdam::detail::http_chunk_head(~0ULL), "ffffffffffffffff\r\n");
  refusal([] { cofferdam::detail::http_chunk_head(0); });
}

TEST(HttpSerializer, refuses_what_would_break_out_of_its_line) {
  cofferdam::http_request_head request;
  request.method = "GET";
  request.target = "/ HTTP/1.1\r\nX: y";
  refusal([&] { cofferdam::detail::http_head_text(request); });
  cofferdam::http_response_head response;
  response.status = 200;
  response.reason = "OK\r\nX: y";
  refusal([&] { cofferdam::detail::http_head_text(response); });
  response.reason = "OK";
  response.status = 99;
  refusal([&] { cofferdam::detail::http_head_text(response); });
}

TEST(NetErrc, each_value_has_its_own_words) {
  std::set<std::string> messages;
  for (int value = 1; value <= static_cast<int>(cofferdam::net_errc::client_certificate_needed); ++value) {
    const std::error_code code = static_cast<cofferdam::net_errc>(value);
    EXPECT_TRUE(messages.insert(code.message()).second) << value;
    EXPECT_NE(code.message(), "unknown network error") << value;
  }
  EXPECT_EQ(std::error_code(cofferdam::net_errc::truncated).category().name(), "cofferdam.net"s);
  EXPECT_EQ(cofferdam::net_error_category().message(99), "unknown network error");
}

}  // namespace
