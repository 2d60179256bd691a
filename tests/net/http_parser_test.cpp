// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/http_parser.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using cofferdam::http_parser_limits;
using cofferdam::net_errc;
using cofferdam::detail::http_event;
using cofferdam::detail::http_request_parser;
using cofferdam::detail::http_response_parser;
using cofferdam::detail::http_step;
using namespace std::string_literals;

/// The events of a stream as one text. Pieces of data are joined, so that the result does not depend on how the stream
/// was cut.
struct found {
  std::string text;
  std::string left;
  std::error_code cause;
  bool keeps_alive = false;
  bool operator==(const found&) const = default;
};

void describe(found& into, const cofferdam::http_response_head& head) {
  into.text += std::to_string(head.status) + "(" + head.reason + ")/" + std::to_string(head.minor_version);
  for (const auto& field : head.fields) into.text += "[" + field.name() + "=" + field.value() + "]";
}
void describe(found& into, const cofferdam::http_request_head& head) {
  into.text += head.method + "(" + head.target + ")/" + std::to_string(head.minor_version);
  for (const auto& field : head.fields) into.text += "[" + field.name() + "=" + field.value() + "]";
}

/// Feeds pieces to the parser, each after the unconsumed rest of the last one. If the message has not ended after the
/// last piece and `ends` is true, reports the end of the stream to the parser.
template <class Parser>
found feed(Parser parser, const std::vector<std::string>& pieces, bool ends = true) {
  found result;
  std::string waiting;
  bool over = false;
  bool in_data = false;
  const auto step_through = [&] {
    while (!over) {
      const http_step step = parser.parse(cofferdam::as_bytes(waiting));
      EXPECT_LE(step.consumed, waiting.size());
      if (step.event == http_event::need_more) {
        EXPECT_EQ(step.consumed, waiting.size());
      }
      if (step.event == http_event::data) {
        EXPECT_FALSE(step.data.empty());
        if (!in_data) result.text += " data:";
        in_data = true;
        result.text += cofferdam::as_text(step.data);
      } else if (step.event != http_event::need_more) {
        if (step.event == http_event::interim || step.event == http_event::head) {
          result.text += step.event == http_event::head ? " head:" : " interim:";
          describe(result, parser.head());
        }
        over = step.event == http_event::end || step.event == http_event::upgrade;
        if (over) result.text += step.event == http_event::end ? " end" : " upgrade";
      }
      waiting.erase(0, step.consumed);
      if (step.event == http_event::need_more) return;
    }
  };
  try {
    for (const std::string& piece : pieces) {
      waiting += piece;
      step_through();
    }
    if (!over && ends) result.text += parser.end_of_stream() == http_event::end ? " end" : " upgrade";
    for (const auto& field : parser.trailers()) result.text += "{" + field.name() + "=" + field.value() + "}";
    result.keeps_alive = parser.keeps_alive();
  } catch (const cofferdam::error& failure) {
    EXPECT_EQ(failure.code(), cofferdam::exec_errc::io_error);
    result.cause = failure.cause();
    result.text = "refused";
    waiting.clear();
  }
  result.left = waiting;
  return result;
}

std::vector<std::string> bytewise(std::string_view text) {
  std::vector<std::string> pieces;
  for (const char c : text) pieces.emplace_back(1, c);
  return pieces;
}

/// Feeds the text as a whole, byte by byte, and cut in two at each position. Expects the same result each time, and
/// returns it.
template <class Parser>
found in_every_cut(const Parser& parser, std::string_view text) {
  const found whole = feed(parser, {std::string(text)});
  EXPECT_EQ(feed(parser, bytewise(text)), whole) << text;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const found other = feed(parser, {std::string(text.substr(0, cut)), std::string(text.substr(cut))});
    EXPECT_EQ(other.text, whole.text) << "cut at " << cut << " of " << text;
    EXPECT_EQ(other.cause, whole.cause);
  }
  return whole;
}

std::string response(std::string_view text, std::string_view method = "GET") {
  return in_every_cut(http_response_parser(method), text).text;
}
std::error_code response_refusal(std::string_view text) { return in_every_cut(http_response_parser(), text).cause; }
std::string request(std::string_view text) { return in_every_cut(http_request_parser(), text).text; }
std::error_code request_refusal(std::string_view text) { return in_every_cut(http_request_parser(), text).cause; }

TEST(HttpResponseParser, takes_a_body_of_a_known_length) {
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX:  y \r\n\r\nhello"),
            " head:200(OK)/1[Content-Length=5][X=y] data:hello end");
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), " head:200(OK)/1[Content-Length=0] end");
}

TEST(HttpResponseParser, takes_status_lines_without_a_reason_and_fields_without_a_value) {
  EXPECT_EQ(response("HTTP/1.1 404\r\nContent-Type:\r\nContent-Length: 0\r\n\r\n"),
            " head:404()/1[Content-Type=][Content-Length=0] end");
  EXPECT_EQ(response("HTTP/1.1 404 \r\nContent-Length:0\r\n\r\n"), " head:404()/1[Content-Length=0] end");
  EXPECT_EQ(response("HTTP/1.1 101 UPGRADED\r\n\r\n\x01\x02"), " head:101(UPGRADED)/1 upgrade");
}

TEST(HttpResponseParser, takes_chunks_with_extensions_and_trailers) {
  EXPECT_EQ(
      response(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhello\r\n001\r\n!\r\n0 ; x\r\nT: u\r\n\r\n"),
      " head:200(OK)/1[Transfer-Encoding=Chunked] data:hello! end{T=u}");
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n"),
            " head:200(OK)/1[transfer-encoding=chunked] data:0123456789 end");
}

TEST(HttpResponseParser, reads_until_the_end_of_the_stream_where_there_is_no_length) {
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\n\r\nraw\r\n\r\n"), " head:200(OK)/1 data:raw\r\n\r\n end");
  EXPECT_EQ(response("HTTP/1.0 200 OK\r\n\r\n"), " head:200(OK)/0 end");
}

TEST(HttpResponseParser, some_answers_have_no_body_whatever_their_fields_say) {
  EXPECT_EQ(response("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", "HEAD"),
            " head:200(OK)/1[Content-Length=99] end");
  EXPECT_EQ(response("HTTP/1.1 204 No\r\n\r\n"), " head:204(No)/1 end");
  EXPECT_EQ(response("HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n"), " head:304(No)/1[Content-Length=5] end");
}

TEST(HttpResponseParser, interim_answers_come_before_the_one_that_counts_but_not_without_end) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(response(interim + "HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 204 X\r\n\r\n"),
            " interim:100(Continue)/1 interim:103(Hints)/1[A=b] head:204(X)/1 end");
  std::string many;
  for (int i = 0; i < 40; ++i) many += interim;
  EXPECT_EQ(feed(http_response_parser(), {many}).cause, net_errc::malformed);
}

TEST(HttpResponseParser, leaves_what_belongs_to_the_next_message) {
  EXPECT_EQ(feed(http_response_parser(), {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"}).left, "bc");
  EXPECT_EQ(feed(http_response_parser(), {"HTTP/1.1 101 X\r\n\r\nabc"}).left, "abc");
  EXPECT_EQ(feed(http_response_parser(), {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nabc"}).left,
            "abc");
}

TEST(HttpResponseParser, says_whether_another_answer_may_follow) {
  const auto keeps = [](std::string_view text) {
    return feed(http_response_parser(), {std::string(text)}).keeps_alive;
  };
  EXPECT_TRUE(keeps("HTTP/1.1 204 X\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 204 X\r\nConnection: x, Close\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0 204 X\r\n\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.0 204 X\r\nConnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 200 X\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 101 X\r\n\r\n"));
}

TEST(HttpResponseParser, a_length_that_two_readers_could_see_differently_is_refused) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  for (const std::string_view fields :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 5\r\n", "Content-Length: +5\r\n",
        "Content-Length: -5\r\n", "Content-Length: 0x5\r\n", "Content-Length:\r\n", "Content-Length: 5 5\r\n",
        "Content-Length: 99999999999999999999\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"})
    EXPECT_EQ(response_refusal(ok + std::string(fields) + "\r\nhello"), net_errc::ambiguous_length) << fields;
  for (const std::string_view fields :
       {"Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding:\r\n"})
    EXPECT_EQ(response_refusal(ok + std::string(fields) + "\r\nhello"), net_errc::unsupported_coding) << fields;
  EXPECT_EQ(response_refusal("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            net_errc::ambiguous_length);
}

TEST(HttpResponseParser, lines_that_are_not_exactly_so_are_refused) {
  for (const std::string_view text : {"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
                                      "HTTP/1.1 200 OK\r\nA: b\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\n\tA: b\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nnothing\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
                                      "HTTP/1.1 200 OK\r\nA: \x01\r\n\r\n",
                                      "HTTP/1.1  200 OK\r\n\r\n",
                                      "HTTP/1.1 20 OK\r\n\r\n",
                                      "HTTP/1.1 2000 OK\r\n\r\n",
                                      "HTTP/1.1 600 OK\r\n\r\n",
                                      "HTTP/1.1 099 OK\r\n\r\n",
                                      "HTTP/2.0 200 OK\r\n\r\n",
                                      "HTTP/1.2 200 OK\r\n\r\n",
                                      "http/1.1 200 OK\r\n\r\n",
                                      "\r\nHTTP/1.1 200 OK\r\n\r\n",
                                      "HTTP/1.1\r\n\r\n",
                                      "garbage\r\n\r\n",
                                      " HTTP/1.1 200 OK\r\n\r\n"})
    EXPECT_EQ(response_refusal(text), net_errc::malformed) << text;
  EXPECT_EQ(response_refusal("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n"s), net_errc::malformed);
}

TEST(HttpResponseParser, chunks_that_are_not_exactly_so_are_refused) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view body :
       {"10000000000000000\r\n", "ffffffffffffffff\r\n", "\r\n", "-1\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "g\r\n", ";x\r\n", "00000000000000005\r\nhello\r\n"})
    EXPECT_EQ(response_refusal(head + std::string(body)), net_errc::ambiguous_length) << body;
  for (const std::string_view body : {"5\nhello\r\n0\r\n\r\n", "5\r\nhello!\r\n", "5\r\nhello\n0\r\n\r\n",
                                      "5\r\nhello\r\r\n", "0\r\nA : b\r\n\r\n", "0\r\n\n", "5;\x01\r\nhello\r\n"})
    EXPECT_EQ(response_refusal(head + std::string(body)), net_errc::malformed) << body;
  EXPECT_EQ(response_refusal(head + "5;" + std::string(1100, 'x') + "\r\nhello\r\n"), net_errc::head_too_large);
}

TEST(HttpResponseParser, a_stream_that_ends_inside_an_answer_is_an_error_at_every_byte) {
  for (const std::string_view text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n",
        "HTTP/1.1 100 X\r\n\r\nHTTP/1.1 204 X\r\n\r\n"}) {
    EXPECT_EQ(feed(http_response_parser(), {""}).cause, net_errc::connection_lost);
    for (std::size_t cut = 1; cut < text.size(); ++cut)
      EXPECT_EQ(feed(http_response_parser(), {std::string(text.substr(0, cut))}).cause, net_errc::truncated) << cut;
    EXPECT_FALSE(feed(http_response_parser(), {std::string(text)}).cause);
  }
}

TEST(HttpResponseParser, its_limits_hold_to_the_byte) {
  http_parser_limits limits;
  limits.line = 20;
  limits.head = 60;
  limits.fields = 3;
  const auto cause = [&](const std::string& text) {
    return in_every_cut(http_response_parser("GET", limits), text).cause;
  };
  const std::string start = "HTTP/1.1 204 X\r\n";
  EXPECT_FALSE(cause(start + "A: " + std::string(17, 'x') + "\r\n\r\n"));
  EXPECT_EQ(cause(start + "A: " + std::string(18, 'x') + "\r\n\r\n"), net_errc::head_too_large);
  EXPECT_FALSE(cause(start + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n"));
  EXPECT_EQ(cause(start + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n"), net_errc::too_many_fields);
  EXPECT_FALSE(cause(start + "A: " + std::string(17, 'x') + "\r\nB: " + std::string(15, 'x') + "\r\n\r\n"));
  EXPECT_EQ(cause(start + "A: " + std::string(17, 'x') + "\r\nB: " + std::string(16, 'x') + "\r\n\r\n"),
            net_errc::head_too_large);
  const std::string chunked = "HTTP/1.1 200 X\r\nTransfer-Encoding:chunked\r\n\r\n0\r\n";
  http_parser_limits trailers;
  trailers.fields = 2;
  EXPECT_EQ(in_every_cut(http_response_parser("GET", trailers), chunked + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n").cause,
            net_errc::too_many_fields);
  std::string endless = start;
  for (int i = 0; i < 5000; ++i) endless += "A: b\r\n";
  EXPECT_EQ(feed(http_response_parser(), {endless}).cause, net_errc::too_many_fields);
  EXPECT_EQ(feed(http_response_parser(), {std::string(1 << 20, 'x')}).cause, net_errc::head_too_large);
}

TEST(HttpRequestParser, takes_requests_with_and_without_a_body) {
  EXPECT_EQ(request("GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n"), " head:GET(/a?b)/1[Host=h] end");
  EXPECT_EQ(request("\r\nGET / HTTP/1.0\r\n\r\n"), " head:GET(/)/0 end");
  EXPECT_EQ(request("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab"),
            " head:POST(/)/1[Host=h][Content-Length=2] data:ab end");
  EXPECT_EQ(request("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n"),
            " head:POST(/)/1[Host=h][Transfer-Encoding=chunked] data:ab end{X=y}");
}

TEST(HttpRequestParser, requests_that_could_be_smuggled_are_refused) {
  for (const std::string_view text :
       {"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "GET /\r\nHost: a\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\nHost: a\r\n\r\n"})
    EXPECT_EQ(request_refusal(text), net_errc::malformed) << text;
  for (const std::string_view fields :
       {"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n"})
    EXPECT_EQ(request_refusal("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\nx"),
              net_errc::ambiguous_length);
}

TEST(HttpRequestParser, tells_no_request_from_half_a_request) {
  EXPECT_EQ(feed(http_request_parser(), {""}).cause, net_errc::connection_lost);
  EXPECT_EQ(feed(http_request_parser(), {"\r\n"}).cause, net_errc::connection_lost);
  EXPECT_EQ(feed(http_request_parser(), {"G"}).cause, net_errc::truncated);
  EXPECT_EQ(feed(http_request_parser(), {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na"}).cause,
            net_errc::truncated);
}

TEST(HttpRequestParser, says_what_the_client_expects) {
  http_request_parser parser;
  const std::string_view text =
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab";
  EXPECT_EQ(parser.parse(cofferdam::as_bytes(text)).event, http_event::head);
  EXPECT_TRUE(parser.expects_continue());
  EXPECT_FALSE(parser.keeps_alive());
}

}  // namespace
