// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/network/egress_proxy.hpp>

#include "network/egress_host.hpp"
#include "support/run.hpp"

#include <asio/ip/address.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using cofferdam::egress_policy;
using cofferdam::host_rule;
using cofferdam::network_event;
using cofferdam_test::echo_server;
using cofferdam_test::egress_host;
using cofferdam_test::exchange_text;
using cofferdam_test::received_requests;
using cofferdam_test::sandboxed_client;
using cofferdam_test::text_server;
using namespace std::chrono_literals;
using namespace std::string_literals;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// A proxy with one allowed server, "web.example.org", on ports 80 and 443. The server answers with the head of the
/// request.
class Egress : public ::testing::Test {
 protected:
  void start(egress_policy policy = egress_policy()) {
    server_ = host_.start(echo_server(seen_));
    policy.allow(host_rule("web.example.org").at("127.0.0.1", server_));
    proxy_ = host_.serve(std::move(policy));
  }
  std::string get(const std::string& url, const std::string& host, const std::string& more = "") {
    return exchange_text(proxy_,
                         "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" + more + "\r\n");
  }

  std::shared_ptr<received_requests> seen_ = std::make_shared<received_requests>();
  egress_host host_;
  std::uint16_t server_ = 0;
  std::uint16_t proxy_ = 0;
};

TEST_F(Egress, an_allowed_request_is_written_anew_and_answered) {
  start();
  const std::string answer = get("http://web.example.org/a?b=c", "web.example.org",
                                 "Proxy-Connection: keep-alive\r\nX-Own: 1\r\nProxy-Authorization: Basic am9iNzpw\r\n");
  EXPECT_TRUE(contains(answer, "200 OK")) << answer;
  ASSERT_EQ(seen_->count(), 1U);
  EXPECT_EQ(seen_->all()[0], "GET /a?b=c HTTP/1.1\r\nHost: web.example.org\r\nX-Own: 1\r\nConnection: close\r\n\r\n");
  const std::vector<network_event> events = host_.events(1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].allowed());
  EXPECT_EQ(events[0].label(), "job7");
  EXPECT_EQ(events[0].host(), "web.example.org");
  EXPECT_EQ(events[0].port(), 80);
  EXPECT_EQ(events[0].address(), "127.0.0.1");
  EXPECT_EQ(events[0].rule(), "web.example.org");
  EXPECT_EQ(events[0].reason(), "");
  EXPECT_EQ(events[0].bytes_up(), seen_->all()[0].size());
  EXPECT_GT(events[0].bytes_down(), seen_->all()[0].size());
}

TEST_F(Egress, another_host_is_refused_with_a_sentence) {
  start();
  const std::string answer = get("http://other.example.org/", "other.example.org");
  EXPECT_TRUE(contains(answer, "HTTP/1.1 403 Forbidden: The network policy refuses ")) << answer;
  EXPECT_TRUE(contains(answer,
                       "The network policy refuses other.example.org:80: no rule names this host. Allowed: "
                       "web.example.org"))
      << answer;
  const std::vector<network_event> events = host_.events(1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(events[0].allowed());
  EXPECT_TRUE(contains(events[0].reason(), "no rule names this host"));
  EXPECT_EQ(seen_->connections, 0);
}

TEST_F(Egress, requests_on_one_connection_are_decided_one_by_one) {
  start();
  const std::string first = "GET http://web.example.org/1 HTTP/1.1\r\nHost: web.example.org\r\n\r\n";
  const std::string second =
      "POST http://web.example.org/2 HTTP/1.1\r\nHost: web.example.org\r\nContent-Length: 3\r\n\r\nabc";
  const std::string third = "GET http://other.example.org/3 HTTP/1.1\r\nHost: other.example.org\r\n\r\n";
  const std::string answers = exchange_text(proxy_, first + second + third + first);
  EXPECT_TRUE(contains(answers, "GET /1 HTTP")) << answers;
  EXPECT_TRUE(contains(answers, "POST /2 HTTP")) << answers;
  EXPECT_TRUE(contains(answers, "403 Forbidden")) << answers;
  EXPECT_TRUE(answers.ends_with("Use one of these, or work without.\n")) << answers;
  EXPECT_EQ(seen_->connections, 2) << "one request for each connection to the host";
  EXPECT_EQ(host_.events(3).size(), 3U);
}

TEST_F(Egress, NT_03_only_the_true_host_is_reached) {
  start();
  for (const std::string& host :
       {"evil-web.example.org"s, "web.example.org.evil.org"s, "web.example.org@evil.org"s, "evil.org#web.example.org"s,
        "web%2eexample.org"s, "web.example.org%00.evil.org"s, "evil.org\\@web.example.org"s, "web.example.org.."s,
        "xn--wb-cja.example.org"s, "web.example.org:22"s, "web.example.org:0x50"s}) {
    const std::string answer = get("http://" + host + "/", host);
    EXPECT_TRUE(contains(answer, " 403 Forbidden") || contains(answer, " 400 Bad Request")) << host << answer;
  }
  for (const std::string& bytes : {"web.example.org\0.evil.org"s,
                                   "w\xD0\xB5"
                                   "b.example.org"s})
    EXPECT_TRUE(contains(get("http://" + bytes + "/", bytes), " 400 Bad Request")) << bytes;
  EXPECT_EQ(seen_->connections, 0);
  // The control: the same host in other forms.
  for (const char* host : {"WEB.Example.ORG", "web.example.org.", "web.example.org:80"})
    EXPECT_TRUE(contains(get("http://"s + host + "/", host), "200 OK")) << host;
  EXPECT_EQ(seen_->connections, 3);
}

TEST_F(Egress, NT_05_no_form_of_a_loopback_address_is_reached) {
  start();
  const std::string port = ":" + std::to_string(server_);
  for (const char* host : {"0x7f.1", "2130706433", "0177.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
                           "0.0.0.0", "localhost.", "localhost", "127.0.0.1", "127.1", "[::]", "0"}) {
    const std::string answer = get("http://" + (host + port) + "/", host + port);
    EXPECT_TRUE(contains(answer, " 403 Forbidden") || contains(answer, " 400 Bad Request")) << host << answer;
    const std::string tunnel =
        exchange_text(proxy_, "CONNECT " + (host + port) + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    EXPECT_TRUE(contains(tunnel, " 403 Forbidden") || contains(tunnel, " 400 Bad Request")) << host << tunnel;
  }
  EXPECT_EQ(seen_->connections, 0);
}

TEST_F(Egress, NT_05_control_an_address_that_a_rule_names_is_reached) {
  const std::shared_ptr<received_requests> canary = std::make_shared<received_requests>();
  const std::string port = std::to_string(host_.start(echo_server(canary)));
  start(egress_policy("127.0.0.1:" + port));
  EXPECT_TRUE(contains(get("http://[::ffff:127.0.0.1]:" + port + "/", "127.0.0.1:" + port), "200 OK"));
  EXPECT_EQ(canary->connections, 1);
}

/// A resolver whose answers change with each call.
class changing_names {
 public:
  explicit changing_names(std::vector<std::vector<std::string>> answers) : answers_(std::move(answers)) {}
  cofferdam::awaitable<std::vector<asio::ip::address>> next() {
    std::vector<asio::ip::address> result;
    for (const std::string& each : answers_[std::min(calls_, answers_.size() - 1)])
      result.push_back(asio::ip::make_address(each));
    ++calls_;
    co_return result;
  }
  static egress_policy::resolver_function function(std::shared_ptr<changing_names> names) {
    return [names](const std::string&) { return names->next(); };
  }

 private:
  std::vector<std::vector<std::string>> answers_;
  std::size_t calls_ = 0;
};

TEST_F(Egress, NT_06_NT_07_a_name_that_turns_to_this_machine_is_refused) {
  const std::shared_ptr<received_requests> canary = std::make_shared<received_requests>();
  const std::string port = std::to_string(host_.start(echo_server(canary)));
  const std::vector<std::vector<std::string>> answers{{"240.0.0.1", "127.0.0.1"},
                                                      {"127.0.0.1"},
                                                      {"::1"},
                                                      {"::ffff:127.0.0.1"},
                                                      {"169.254.169.254"},
                                                      {"fd00:ec2::254"},
                                                      {"100.100.100.200"},
                                                      {"168.63.129.16"},
                                                      {"10.0.0.1", "192.168.65.7"},
                                                      {"0.0.0.0"}};
  egress_policy policy("rebind.example.org:" + port, "*.google.internal:" + port);
  policy.resolver(changing_names::function(std::make_shared<changing_names>(answers)));
  start(std::move(policy));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string host = i % 2 == 0 ? "rebind.example.org:" + port : "metadata.google.internal:" + port;
    const std::string answer = get("http://" + host + "/", host);
    EXPECT_TRUE(contains(answer, "403 Forbidden")) << answer;
    EXPECT_TRUE(contains(answer, "allowed only if a rule names it")) << answer;
  }
  EXPECT_EQ(canary->connections, 0);
}

TEST_F(Egress, NT_07_control_the_name_reaches_this_machine_while_its_address_is_one_that_a_rule_names) {
  const std::shared_ptr<received_requests> canary = std::make_shared<received_requests>();
  const std::string port = std::to_string(host_.start(echo_server(canary)));
  egress_policy policy("rebind.example.org:" + port, "127.0.0.1:" + port);
  policy.resolver(changing_names::function(std::make_shared<changing_names>(
      std::vector<std::vector<std::string>>{{"10.9.9.9", "127.0.0.1"}, {"10.0.0.1"}})));
  start(std::move(policy));
  const std::string host = "rebind.example.org:" + port;
  EXPECT_TRUE(contains(get("http://" + host + "/", host), "200 OK"));
  EXPECT_EQ(canary->connections, 1);
  // The next connection resolves the name again.
  EXPECT_TRUE(contains(get("http://" + host + "/", host), "403 Forbidden"));
  EXPECT_EQ(canary->connections, 1);
}

TEST_F(Egress, NT_08_only_names_that_a_rule_allows_are_resolved) {
  const auto resolved = std::make_shared<std::vector<std::string>>();
  egress_policy policy("*.allowed.example.org");
  policy.resolver([resolved](std::string host) -> cofferdam::awaitable<std::vector<asio::ip::address>> {
    resolved->push_back(host);
    throw std::runtime_error("no such name");
  });
  start(std::move(policy));
  for (const char* host : {"secret-data.evil.org", "secret-data.example.org", "allowed.example.org"})
    EXPECT_TRUE(contains(get("http://"s + host + "/", host), "403 Forbidden")) << host;
  EXPECT_TRUE(host_.in_loop([&] { return resolved->empty(); }));
  // The control: an allowed name is resolved.
  EXPECT_TRUE(contains(get("http://a.allowed.example.org/", "a.allowed.example.org"), "502 Bad Gateway"));
  EXPECT_EQ(host_.in_loop([&] { return *resolved; }), std::vector<std::string>{"a.allowed.example.org"});
}

/// Requests that two HTTP readers could understand differently, and requests that are none.
std::vector<std::string> ambiguous_requests() {
  const std::string start = "POST http://web.example.org/ HTTP/1.1\r\n";
  const std::string host = "Host: web.example.org\r\n";
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: evil.org\r\n\r\n";
  return {
      start + host + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
      start + host + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
      start + host + "Content-Length: 0\r\nContent-Length: 44\r\n\r\n" + hidden,
      start + host + "Content-Length: 44, 0\r\n\r\n" + hidden,
      start + host + "Content-Length: +4\r\n\r\n" + hidden,
      start + host + "Content-Length : 44\r\n\r\n" + hidden,
      start + host + "Transfer-Encoding: xchunked\r\n\r\n" + hidden,
      start + host + "Transfer-Encoding: chunked, identity\r\n\r\n" + hidden,
      start + host +
          "Transfer-Encoding:\x0B"
          "chunked\r\n\r\n0\r\n\r\n" +
          hidden,
      start + host + "Host: evil.org\r\n\r\n",
      start + "Host: evil.org\r\n\r\n",
      start + "Host: web.example.org, evil.org\r\n\r\n",
      start + "\r\n",
      start + host + " folded: x\r\n\r\n",
      start + host + "A: b\nHost: evil.org\r\n\r\n",
      start + host + "A: b\rHost: evil.org\r\n\r\n",
      start + host + "A: b\0c\r\n\r\n"s,
      "GET http://web.example.org/\r\n\r\n",
      "GET /\r\n",
      "GET http://web.example.org/ HTTP/0.9\r\n\r\n",
      "GET http://web.example.org/ HTTP/2.0\r\n" + host + "\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "GET http://web.example.org/\r\nX: HTTP/1.1\r\n" + host + "\r\n",
      "GET http://web.example.org/ x HTTP/1.1\r\n" + host + "\r\n",
      "GET http://web.example.org\r\n.evil.org/ HTTP/1.1\r\n" + host + "\r\n",
      "GET /path HTTP/1.1\r\n" + host + "\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03\n"s,
      std::string(64, '\xFF') + "\n",
  };
}

TEST_F(Egress, NT_10_ambiguous_requests_are_refused_and_nothing_is_smuggled) {
  start();
  for (const std::string& request : ambiguous_requests()) {
    const std::string answer = exchange_text(proxy_, request);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request: ")) << request << "\n--\n" << answer;
    EXPECT_FALSE(contains(answer.substr(1), "HTTP/1.1 2")) << request << "\n--\n" << answer;
  }
  EXPECT_EQ(seen_->connections, 0) << seen_->joined();
}

TEST_F(Egress, NT_10_a_broken_body_ends_the_connection_and_hides_no_request) {
  start();
  const std::string head = "POST http://web.example.org/ HTTP/1.1\r\nHost: web.example.org\r\n";
  const std::string hidden = "GET http://evil.org/hidden HTTP/1.1\r\nHost: evil.org\r\n\r\n";
  for (const std::string& request : {head + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + hidden,
                                     head + "Transfer-Encoding: chunked\r\n\r\n4\r\nabcdX\r\n" + hidden,
                                     head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n" + hidden,
                                     head + "Transfer-Encoding: chunked\r\n\r\n4\nabcd\r\n0\r\n\r\n" + hidden}) {
    const std::string answer = exchange_text(proxy_, request);
    EXPECT_FALSE(contains(answer, "hidden")) << answer;
  }
  EXPECT_FALSE(contains(seen_->joined(), "hidden"));
}

TEST_F(Egress, NT_10_control_a_relay_that_does_not_parse_would_smuggle) {
  start();
  // A tunnel to a port that is neither 80 nor 443, for bytes that are not HTTP at their beginning, is such a relay.
  const std::string port = std::to_string(server_);
  egress_host second;
  egress_policy policy("web.example.org:" + port);
  policy.allow(host_rule("relay.example.org:" + port).at("127.0.0.1", server_));
  const sandboxed_client client(second.serve(std::move(policy)));
  client.send("CONNECT relay.example.org:" + port + " HTTP/1.1\r\nHost: relay.example.org\r\n\r\n");
  EXPECT_TRUE(contains(client.receive("\r\n\r\n"), " 200 "));
  client.send(": no HTTP\r\n\r\nGET /hidden HTTP/1.1\r\nHost: evil.org\r\n\r\n");
  EXPECT_TRUE(contains(client.receive("evil.org"), "/hidden"));
}

TEST_F(Egress, NT_10_a_header_of_1_MiB_and_a_slow_header_are_refused) {
  start(egress_policy().opening_time(300ms));
  const sandboxed_client large(proxy_);
  large.send("GET http://web.example.org/ HTTP/1.1\r\nHost: web.example.org\r\nX: ");
  large.send(std::string(1024 * 1024, 'x'));
  EXPECT_TRUE(large.receive().starts_with("HTTP/1.1 400 ")) << "longer than the limit";
  const sandboxed_client slow(proxy_);
  const auto begin = std::chrono::steady_clock::now();
  slow.send("GET http://web.example.org/ HTTP/1.1\r\nHost: web.exam");
  EXPECT_TRUE(contains(slow.receive(), "The head of the request took longer than the time limit."));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  const sandboxed_client silent(proxy_);
  EXPECT_EQ(silent.receive(), "");
  EXPECT_EQ(seen_->connections, 0);
}

TEST_F(Egress, methods_and_paths_of_plain_http_are_held) {
  start(egress_policy(host_rule("narrow.example.org").methods({"GET"}).paths({"/v1/"}).at("127.0.0.1", 1)));
  const std::string answer =
      exchange_text(proxy_, "DELETE http://narrow.example.org/v1/x HTTP/1.1\r\nHost: narrow.example.org\r\n\r\n");
  EXPECT_TRUE(contains(answer, "403 Forbidden")) << answer;
  EXPECT_TRUE(contains(answer, "allows only the methods GET")) << answer;
  EXPECT_TRUE(contains(get("http://narrow.example.org/v1/../x", "narrow.example.org"), "paths below /v1/"));
  // The control: what the rule allows is tried, and nothing listens there.
  EXPECT_TRUE(contains(get("http://narrow.example.org/v1/x", "narrow.example.org"), "502 Bad Gateway"));
}

TEST_F(Egress, failures_of_a_host_are_answers) {
  const std::uint16_t garbage = host_.start(text_server("no HTTP at all\r\n\r\n"));
  const std::uint16_t nothing = host_.start(text_server(""));
  const std::uint16_t both =
      host_.start(text_server("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"));
  const std::uint16_t switched =
      host_.start(text_server("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nraw"));
  egress_policy policy;
  policy.allow(host_rule("garbage.example.org").at("127.0.0.1", garbage));
  policy.allow(host_rule("nothing.example.org").at("127.0.0.1", nothing));
  policy.allow(host_rule("both.example.org").at("127.0.0.1", both));
  policy.allow(host_rule("switched.example.org").at("127.0.0.1", switched));
  policy.allow(host_rule("closed.example.org").at("127.0.0.1", 1));
  policy.allow("unknown.example.org")
      .resolver([](const std::string&) -> cofferdam::awaitable<std::vector<asio::ip::address>> {
        throw std::runtime_error("no such name");
      });
  start(std::move(policy));
  for (const char* host : {"garbage", "nothing", "both", "switched", "closed", "unknown"}) {
    const std::string name = host + ".example.org"s;
    const std::string answer = get("http://" + name + "/", name);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 502 Bad Gateway: ")) << host << answer;
    EXPECT_FALSE(contains(answer, "raw")) << answer;
  }
  const std::vector<network_event> events = host_.events(6);
  ASSERT_EQ(events.size(), 6U);
  for (const network_event& each : events) EXPECT_TRUE(each.allowed() && !each.reason().empty()) << each.host();
}

TEST_F(Egress, responses_keep_their_bodies_in_every_framing) {
  const std::uint16_t until_close = host_.start(text_server("HTTP/1.0 200 OK\r\n\r\nto the end"));
  const std::uint16_t chunked =
      host_.start(text_server("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: r\r\n\r\n"));
  egress_policy policy;
  policy.allow(host_rule("close.example.org").at("127.0.0.1", until_close));
  policy.allow(host_rule("chunked.example.org").at("127.0.0.1", chunked));
  start(std::move(policy));
  EXPECT_TRUE(contains(get("http://close.example.org/", "close.example.org"), "a\r\nto the end\r\n0\r\n\r\n"));
  const std::string answer = get("http://chunked.example.org/", "chunked.example.org");
  EXPECT_TRUE(contains(answer, "103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"))
      << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) << answer;
  const std::string old = exchange_text(proxy_, "GET http://chunked.example.org/ HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.ends_with("Connection: close\r\n\r\nabcde")) << old;
  const std::string head = exchange_text(
      proxy_, "HEAD http://web.example.org/ HTTP/1.1\r\nHost: web.example.org\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(contains(head, "Content-Length: ") && head.ends_with("\r\n\r\n")) << head;
}

TEST_F(Egress, a_host_that_answers_before_the_end_of_the_body_is_heard) {
  const std::uint16_t early = host_.start(text_server("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"));
  start(egress_policy(host_rule("early.example.org").at("127.0.0.1", early)));
  const sandboxed_client client(proxy_);
  client.send(
      "POST http://early.example.org/ HTTP/1.1\r\nHost: early.example.org\r\nContent-Length: 100000000\r\n\r\n" +
      std::string(1000, 'x'));
  EXPECT_TRUE(client.receive("big").ends_with("\r\n\r\nbig"));
}

TEST_F(Egress, a_large_body_with_expect_continue_arrives_whole) {
  start();
  const sandboxed_client client(proxy_);
  client.send(
      "POST http://web.example.org/ HTTP/1.1\r\nHost: web.example.org\r\nExpect: 100-continue\r\nConnection: "
      "close\r\nTransfer-Encoding: chunked\r\n\r\n");
  // The server does not wait for the body, so its answer may come together with the status 100.
  std::string answer = client.receive("\r\n\r\n");
  EXPECT_TRUE(contains(answer, "100 Continue")) << answer;
  client.send("5\r\nhello\r\n0\r\n\r\n");
  answer += client.receive();
  EXPECT_TRUE(contains(answer, "200 OK")) << answer;
  EXPECT_FALSE(contains(seen_->joined(), "Expect")) << seen_->joined();
}

TEST_F(Egress, NT_16_each_hop_of_a_redirect_is_judged) {
  const std::uint16_t redirects = host_.start(
      text_server("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nContent-Length: 0\r\n\r\n"));
  start(egress_policy(host_rule("redirects.example.org").at("127.0.0.1", redirects)));
  const auto followed = cofferdam_test::run_shell("curl -sS -L -x http://127.0.0.1:" + std::to_string(proxy_) +
                                                  " http://redirects.example.org/");
  EXPECT_TRUE(contains(followed.output, "The network policy refuses 169.254.169.254:80")) << followed.output;
}

}  // namespace
