// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/net/websocket_handshake.hpp>
#include <cofferdam/net/net_error.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam_test::code_of;
using cofferdam_test::error_of;

const std::string key = "dGhlIHNhbXBsZSBub25jZQ==";
const std::vector<std::string> both{"v5.channel.k8s.io", "v4.channel.k8s.io"};

http_response_head answer() {
  http_response_head head;
  head.status = 101;
  head.fields.append("Upgrade", "WebSocket");
  head.fields.append("Connection", "keep-alive, Upgrade");
  head.fields.append("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  return head;
}
std::string check(const http_response_head& head, const std::vector<std::string>& protocols = {}) {
  return detail::check_websocket_answer(head, key, protocols, "the peer");
}
error refusal(const http_response_head& head, const std::vector<std::string>& protocols = {}) {
  const std::optional<error> failure = error_of([&] { check(head, protocols); });
  return failure.value_or(error(exec_errc::invalid_argument, "nothing was thrown"));
}

// The example of RFC 6455, 1.3.
TEST(WebsocketHandshake, the_accepted_value_is_that_of_the_standard) {
  EXPECT_EQ(detail::websocket_accept(key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebsocketHandshake, each_key_is_new_and_has_16_bytes) {
  const std::string first = detail::websocket_handshake_key();
  EXPECT_EQ(first.size(), 24U);
  EXPECT_NE(first, detail::websocket_handshake_key());
}

TEST(WebsocketHandshake, a_request_offers_the_protocols_in_order) {
  http_request request("GET", "/exec");
  request.field("Upgrade", "tcp");
  detail::add_websocket_fields(request, key, both);
  EXPECT_EQ(request.fields().find("Sec-WebSocket-Protocol"), "v5.channel.k8s.io, v4.channel.k8s.io");
  EXPECT_EQ(request.fields().find("Sec-WebSocket-Key"), key);
  EXPECT_EQ(request.fields().find("Sec-WebSocket-Version"), "13");
  EXPECT_EQ(request.fields().find("Upgrade"), "websocket");
  EXPECT_EQ(request.fields().count("Upgrade"), 1U);
}

TEST(WebsocketHandshake, a_request_that_cannot_open_a_websocket_is_refused) {
  http_request post("POST", "/exec");
  EXPECT_EQ(code_of([&] { detail::add_websocket_fields(post, key, both); }), exec_errc::invalid_argument);
  http_request get("GET", "/exec");
  EXPECT_EQ(code_of([&] { detail::add_websocket_fields(get, key, {"a, b"}); }), exec_errc::invalid_argument);
}

TEST(WebsocketHandshake, a_right_answer_is_accepted) {
  EXPECT_EQ(check(answer()), "");
  http_response_head head = answer();
  head.fields.append("Sec-WebSocket-Protocol", "v4.channel.k8s.io");
  EXPECT_EQ(check(head, both), "v4.channel.k8s.io");
}

TEST(WebsocketHandshake, a_wrong_answer_is_refused_with_the_reason) {
  const auto changed = [](const std::string& name, const std::string& value) {
    http_response_head head = answer();
    head.fields.erase(name);
    if (!value.empty()) head.fields.append(name, value);
    return head;
  };
  http_response_head two = answer();
  two.fields.append("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  http_response_head status = answer();
  status.status = 200;
  const struct {
    http_response_head head;
    const char* words;
  } cases[] = {
      {changed("Upgrade", "tcp"), "another protocol"},
      {changed("Upgrade", ""), "another protocol"},
      {changed("Connection", "close"), "another protocol"},
      {changed("Sec-WebSocket-Accept", ""), "another request"},
      {changed("Sec-WebSocket-Accept", "S3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "another request"},
      {two, "another request"},
      {changed("Sec-WebSocket-Extensions", "permessage-deflate"), "extension"},
      {changed("Sec-WebSocket-Protocol", "v3"), "not offered"},
      {status, "200 instead of 101"},
  };
  for (const auto& each : cases) {
    const error failure = refusal(each.head);
    EXPECT_EQ(failure.cause(), net_errc::malformed) << each.words;
    EXPECT_NE(std::string(failure.what()).find(each.words), std::string::npos) << failure.what();
  }
}

TEST(WebsocketHandshake, a_server_without_a_common_protocol_is_refused) {
  EXPECT_EQ(refusal(answer(), both).cause(), net_errc::upgrade_refused);
}

TEST(WebsocketHandshake, a_refusal_has_the_status_and_the_text_of_the_server_in_one_line) {
  http_response_head head;
  head.status = 403;
  head.reason = "Forbidden";
  const error failure = detail::websocket_refusal(http_response(head, to_bytes("pods \"p\" is\nforbidden")), "pod p");
  EXPECT_EQ(failure.cause(), net_errc::upgrade_refused);
  EXPECT_STREQ(failure.what(), "pod p: the server refuses the WebSocket: 403 Forbidden: pods \\\"p\\\" is\\nforbidden");
}

}  // namespace
