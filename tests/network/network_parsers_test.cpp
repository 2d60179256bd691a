// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/network/detail/client_hello.hpp>
#include <cofferdam/network/detail/egress_decision.hpp>
#include <cofferdam/network/detail/forwarded_head.hpp>
#include <cofferdam/network/detail/socks_parser.hpp>
#include <cofferdam/network/detail/tunnel_opening.hpp>

#include "network/client_hello_text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace {

using cofferdam::as_bytes;
using cofferdam::host_rule;
using cofferdam::http_request_head;
using cofferdam::detail::client_hello;
using cofferdam::detail::forwarded_request;
using cofferdam::detail::parse_authority;
using cofferdam::detail::read_proxy_target;
using cofferdam::detail::socks_parser;
using cofferdam::detail::socks_step;
using cofferdam::detail::tunnel_opening;
using cofferdam::detail::tunnel_protocol;
using cofferdam_test::client_hello_text;
using cofferdam_test::in_records;
using namespace std::string_literals;
using state = client_hello::state;

// ---- SOCKS5 ---------------------------------------------------------------------------------------------------------

/// Feeds a client's bytes in pieces of a size, and returns all answers and the result.
std::string socks(std::string_view input, std::size_t piece) {
  socks_parser parser;
  std::string waiting;
  std::string result;
  while (true) {
    const socks_step step = parser.parse(as_bytes(std::string_view(waiting)));
    EXPECT_LE(step.consumed, waiting.size());
    waiting.erase(0, step.consumed);
    for (const char c : step.answer) result += std::to_string(static_cast<unsigned char>(c)) + " ";
    if (step.what == socks_step::event::refused) return result + "refused";
    if (step.what == socks_step::event::request) {
      result += parser.where() ? authority_text(*parser.where()) : "invalid " + parser.asked();
      return result + " " + parser.user() + "+" + std::to_string(waiting.size() + input.size());
    }
    if (step.what == socks_step::event::answer) continue;
    if (input.empty()) return result + "more";
    waiting += input.substr(0, piece);
    input.remove_prefix(std::min(piece, input.size()));
  }
}
/// Checks that the result does not depend on where the input is cut.
std::string socks_in_any_pieces(std::string_view input) {
  const std::string whole = socks(input, input.size() + 1);
  for (std::size_t piece = 1; piece <= input.size(); ++piece) EXPECT_EQ(socks(input, piece), whole) << piece;
  return whole;
}

TEST(SocksParser, reads_names_and_addresses) {
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x00\x05\x01\x00\x03\x0B"s + "Example.com"s + "\x01\xBB"s),
            "5 0 example.com:443 +0");
  EXPECT_EQ(socks_in_any_pieces("\x05\x02\x00\x01\x05\x01\x00\x01\x7F\x00\x00\x01\x00\x50rest"s),
            "5 0 127.0.0.1:80 +4");
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x00\x05\x01\x00\x04"s + std::string(10, '\0') +
                                "\xFF\xFF\x7F\x00\x00\x01\x00\x50"s),
            "5 0 127.0.0.1:80 +0");
}

TEST(SocksParser, the_user_name_is_a_label_and_every_password_is_accepted) {
  EXPECT_EQ(socks_in_any_pieces("\x05\x02\x00\x02\x01\x04job7\x00\x05\x01\x00\x01\x01\x02\x03\x04\x00\x50"s),
            "5 2 1 0 1.2.3.4:80 job7+0");
}

TEST(SocksParser, NT_03_a_name_that_is_none_is_no_place) {
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x00\x05\x01\x00\x03\x05"s + "a\0b.c"s + "\x00\x50"s),
            "5 0 invalid a\0b.c +0"s);
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x00\x05\x01\x00\x03\x06"s + "0x7f.1"s + "\x00\x50"s),
            "5 0 invalid 0x7f.1 +0");
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x00\x05\x01\x00\x03\x01"s + "a"s + "\x00\x00"s), "5 0 invalid a +0");
}

TEST(SocksParser, other_commands_methods_and_versions_are_refused) {
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x01"s), "5 255 refused");
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50"s),
            "5 0 5 7 0 1 0 0 0 0 0 0 refused");
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x00\x05\x01\x00\x05\x01\x02"s), "5 0 5 8 0 1 0 0 0 0 0 0 refused");
  EXPECT_EQ(socks_in_any_pieces("\x04\x01\x00\x50"s), "refused");
  EXPECT_EQ(socks_in_any_pieces("\x05\x01\x02\x05"s), "5 2 1 1 refused");
  EXPECT_EQ(socks_in_any_pieces("\x05\x01"s), "more");
}

// ---- ClientHello ----------------------------------------------------------------------------------------------------

TEST(ClientHello, finds_the_server_name_wherever_the_message_is_cut) {
  const std::string message = client_hello_text("www.example.com");
  for (const std::size_t record : {1U, 3U, 7U, 50U, 16384U}) {
    const std::string text = in_records(message, record);
    for (std::size_t size = 0; size < text.size(); ++size)
      EXPECT_EQ(client_hello(as_bytes(std::string_view(text).substr(0, size))).result(), state::need_more) << size;
    const client_hello hello(as_bytes(std::string_view(text)));
    EXPECT_EQ(hello.result(), state::complete);
    EXPECT_EQ(hello.server_name(), "www.example.com");
  }
}

TEST(ClientHello, an_absent_name_is_no_name) {
  const std::string text = in_records(client_hello_text(""));
  const client_hello hello(as_bytes(std::string_view(text)));
  EXPECT_EQ(hello.result(), state::complete);
  EXPECT_FALSE(hello.server_name());
}

TEST(ClientHello, two_names_and_broken_lengths_are_malformed) {
  const auto result = [](const std::string& message) {
    const std::string text = in_records(message);
    return client_hello(as_bytes(std::string_view(text))).result();
  };
  EXPECT_EQ(result(client_hello_text("a.example", "b.example")), state::malformed);
  const std::string good = client_hello_text("a.example");
  EXPECT_EQ(result(good), state::complete);
  EXPECT_EQ(result(good + "x"), state::malformed);
  EXPECT_EQ(result("\x02" + good.substr(1)), state::malformed);
  for (std::size_t at = 38; at < good.size(); ++at) {  // no changed length makes another name out of the bytes
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] + 1);
    const std::string text = in_records(bad);
    const client_hello hello(as_bytes(std::string_view(text)));
    EXPECT_TRUE(hello.result() == state::malformed || !hello.server_name() || hello.server_name()->size() == 9) << at;
  }
  EXPECT_EQ(result("\x01\xFF\xFF\xFF"s), state::malformed);
  EXPECT_EQ(client_hello(as_bytes(std::string_view("\x16\x03\x01\x00\x00", 5))).result(), state::malformed);
  EXPECT_EQ(client_hello(as_bytes(std::string_view("GET / HTTP/1.1"))).result(), state::not_tls);
}

// ---- the first bytes of a tunnel ------------------------------------------------------------------------------------

tunnel_protocol protocol_of(std::string_view text) { return tunnel_opening(as_bytes(text)).protocol(); }

TEST(TunnelOpening, the_first_bytes_decide) {
  for (const char* text : {"", "G", "GET", "GET ", "GET / HTTP", "\r\n\r\nGET /x", "SSH-2.0-x"})
    EXPECT_EQ(protocol_of(text), tunnel_protocol::undecided) << text;
  for (const char* text :
       {"GET / HTTP/1.1\r\n", "GET / HTTP/", "\r\nPOST /a HTTP/1.1\r\nHost: x\r\n", "get\t/ HTTP/1.0\r\n"})
    EXPECT_EQ(protocol_of(text), tunnel_protocol::http) << text;
  for (const char* text : {"SSH-2.0-OpenSSH_9 Debian\r\n", "EHLO a\r\n", "\x01\x02", "{}", "GET /\r\n", ":x"})
    EXPECT_EQ(protocol_of(text), tunnel_protocol::other) << text;
  EXPECT_EQ(protocol_of("GET /" + std::string(17 * 1024, 'a')), tunnel_protocol::malformed);
  const std::string hello = in_records(client_hello_text("a.example"));
  EXPECT_EQ(protocol_of(hello.substr(0, 20)), tunnel_protocol::undecided);
  EXPECT_EQ(protocol_of(hello), tunnel_protocol::tls);
  EXPECT_EQ(protocol_of("\x16\x02"), tunnel_protocol::other);
}

TEST(TunnelOpening, NT_09_the_server_name_is_the_host_of_the_tunnel) {
  const auto problem = [](const std::string& name, const char* authority) {
    const std::string text = in_records(client_hello_text(name));
    return tunnel_opening(as_bytes(std::string_view(text))).server_name_problem(*parse_authority(authority, 0));
  };
  EXPECT_EQ(problem("A.example", "a.example:443"), "");
  EXPECT_NE(problem("b.example", "a.example:443"), "");
  EXPECT_NE(problem("", "a.example:443"), "");
  EXPECT_NE(problem("a.example\0.evil"s, "a.example:443"), "");
  EXPECT_EQ(problem("", "1.2.3.4:443"), "");
  EXPECT_NE(problem("a.example", "1.2.3.4:443"), "");
}

// ---- heads ----------------------------------------------------------------------------------------------------------

http_request_head head_of(const std::string& text) {
  cofferdam::detail::http_request_parser parser;
  EXPECT_EQ(parser.parse(as_bytes(std::string_view(text))).event, cofferdam::detail::http_event::head);
  return parser.head();
}

TEST(ProxyTarget, is_the_authority_or_an_absolute_url) {
  const auto read = [](const std::string& line, const std::string& host) {
    const auto target = read_proxy_target(head_of(line + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"));
    return target.problem.empty() ? authority_text(target.where) + " " + target.target : "refused";
  };
  EXPECT_EQ(read("CONNECT a.example:443", "a.example:443"), "a.example:443 ");
  EXPECT_EQ(read("CONNECT a.example:443", "a.example"), "a.example:443 ");
  EXPECT_EQ(read("GET http://A.example/x?y", "a.example"), "a.example:80 /x?y");
  EXPECT_EQ(read("GET HTTP://a.example:8080", "a.example:8080"), "a.example:8080 /");
  EXPECT_EQ(read("GET http://a.example?q", "a.example"), "a.example:80 /?q");
  // NT-09, NT-10: another Host, and forms that another reader would understand otherwise.
  for (const char* line : {"CONNECT a.example", "CONNECT a.example:443/x", "CONNECT u@a.example:443", "GET /x",
                           "GET https://a.example/", "GET http://u:p@a.example/", "GET http://a.example\\@b.example/",
                           "GET http://a%2eexample/", "GET http://a.example/x#y", "GET http:///x", "GET http://",
                           "GET ftp://a.example/", "GET http://0x7f.1/", "OPTIONS *"})
    EXPECT_EQ(read(line, "a.example"), "refused") << line;
  for (const char* host : {"b.example", "a.example:81", "a.example:80, b.example", "", "a.example b", "x@a.example"})
    EXPECT_EQ(read("GET http://a.example/", host), "refused") << host;
}

TEST(ForwardedRequest, fields_of_the_connection_are_removed_and_the_secret_replaces_the_commands_own) {
  host_rule rule("api.example");
  rule.header("Authorization", cofferdam::secret_string("Bearer real"));
  const http_request_head head = head_of(
      "POST /x HTTP/1.1\r\nHost: api.example:443\r\nAUTHORIZATION: mine\r\nauthorization: also\r\nConnection: X-Hop, "
      "close\r\nX-Hop: 1\r\nTE: trailers\r\nProxy-Authorization: Basic eA==\r\nUpgrade: h2c\r\nExpect: "
      "100-continue\r\nKept: 1\r\nContent-Length: 3\r\n\r\n");
  const auto text = forwarded_request(head, "/x", *parse_authority("api.example:443", 0), &rule, 443, true);
  EXPECT_EQ(
      std::string(text.begin(), text.end()),
      "POST /x HTTP/1.1\r\nHost: api.example\r\nKept: 1\r\nContent-Length: 3\r\nAuthorization: Bearer real\r\n\r\n");
  const auto plain = forwarded_request(head, "/x", *parse_authority("api.example:80", 0), nullptr, 80, false);
  EXPECT_EQ(std::string(plain.begin(), plain.end()),
            "POST /x HTTP/1.1\r\nHost: api.example\r\nAUTHORIZATION: mine\r\nauthorization: also\r\nKept: "
            "1\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
}

TEST(ForwardedRequest, only_websocket_is_an_upgrade) {
  const http_request_head head = head_of(
      "GET /w HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "
      "WebSocket\r\nSec-WebSocket-Key: k\r\n\r\n");
  const auto text = forwarded_request(head, "/w", *parse_authority("a.example:8080", 0), nullptr, 80, false);
  EXPECT_EQ(std::string(text.begin(), text.end()),
            "GET /w HTTP/1.1\r\nHost: a.example:8080\r\nSec-WebSocket-Key: k\r\nConnection: Upgrade\r\nUpgrade: "
            "websocket\r\n\r\n");
}

TEST(LabelOf, the_label_is_the_user_name) {
  const auto label = [](const std::string& field) {
    return cofferdam::detail::label_of(
        head_of("GET / HTTP/1.1\r\nHost: a\r\nProxy-Authorization: " + field + "\r\n\r\n").fields);
  };
  EXPECT_EQ(label("Basic am9iNzpw"), "job7");
  EXPECT_EQ(label("basic am9iNw=="), "job7");
  EXPECT_EQ(label("Basic !!"), "");
  EXPECT_EQ(label("Bearer am9iNzpw"), "");
  EXPECT_EQ(label("Basic Cg=="), "\\n");
}

}  // namespace
