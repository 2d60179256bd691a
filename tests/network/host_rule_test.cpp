// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/network/detail/egress_decision.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/detail/request_path.hpp>
#include <cofferdam/network/detail/special_address.hpp>
#include <cofferdam/network/egress_policy.hpp>
#include <cofferdam/network/host_rule.hpp>

#include "support/error_of.hpp"

#include <asio/ip/address.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using cofferdam::egress_policy;
using cofferdam::exec_errc;
using cofferdam::host_rule;
using cofferdam::secret_string;
using cofferdam::detail::decide;
using cofferdam::detail::parse_authority;
using cofferdam::detail::parse_host;
using cofferdam::detail::special_address;
using cofferdam_test::sentence_of;
using namespace std::string_literals;

std::string parsed(std::string_view text) {
  const auto host = parse_host(text);
  return host ? host->text() : "none";
}

TEST(HostName, NT_03_has_one_form) {
  EXPECT_EQ(parsed("Example.COM"), "example.com");
  EXPECT_EQ(parsed("example.com."), "example.com");
  EXPECT_EQ(parsed("xn--exmple-cua.com"), "xn--exmple-cua.com");
  EXPECT_EQ(parsed("r3---sn-x_y.example.com"), "r3---sn-x_y.example.com");
  EXPECT_EQ(parsed("93.184.216.34"), "93.184.216.34");
  EXPECT_EQ(parsed("[2001:DB8:0::1]"), "2001:db8::1");
  EXPECT_EQ(parsed("2606:4700::1111"), "2606:4700::1111");
}

TEST(HostName, NT_03_what_could_be_read_in_two_ways_is_no_name) {
  for (const std::string& text : {""s,
                                  "."s,
                                  "example..com"s,
                                  "example.com.."s,
                                  ".example.com"s,
                                  "example.com\0.evil.org"s,
                                  "a b.com"s,
                                  "user@example.com"s,
                                  "example.com@evil.org"s,
                                  "example%2ecom"s,
                                  "ex\xD0\xB0mple.com"s,
                                  "example.com/"s,
                                  "example.com#x"s,
                                  "example.com?x"s,
                                  "-a.com"s,
                                  "a-.com"s,
                                  "example.com\r\nHost: x"s,
                                  "*.example.com"s,
                                  std::string(64, 'a') + ".com",
                                  std::string(254, 'a')})
    EXPECT_EQ(parsed(text), "none") << text;
}

TEST(HostName, NT_05_an_address_has_one_form) {
  for (const char* text : {"0x7f.1", "2130706433",     "0177.1",    "0177.0.0.1", "127.1",  "0x7f000001", "127.0.0.01",
                           "1.2.3",  "1.2.3.4.5",      "1.2.3.256", "1.2.3.4.",   "a.1",    "a.0x1",      "[::1",
                           "::1]",   "[fe80::1%eth0]", "fe80::1%1", "[1.2.3.4]",  "[::1]x", "1::2::3"})
    EXPECT_EQ(parsed(text), "none") << text;
  EXPECT_EQ(parsed("[::ffff:127.0.0.1]"), "127.0.0.1");
  EXPECT_EQ(parsed("::ffff:7f00:1"), "127.0.0.1");
  EXPECT_EQ(parsed("localhost."), "localhost");
}

TEST(HostName, an_authority_has_at_most_one_port) {
  EXPECT_EQ(parse_authority("a.example.com:8443", 443)->port, 8443);
  EXPECT_EQ(parse_authority("a.example.com", 443)->port, 443);
  EXPECT_EQ(parse_authority("[::1]:8080", 0)->port, 8080);
  EXPECT_EQ(authority_text(*parse_authority("[::1]:8080", 0)), "[::1]:8080");
  for (const char* wrong : {"a.com", "a.com:", "a.com:0", "a.com:65536", "a.com:80:80", "a.com:+80", "a.com:80x",
                            "::1:80", "[a.com]:80", "[]:80", ":80", "a@b.com:80"})
    EXPECT_FALSE(parse_authority(wrong, 0)) << wrong;
}

TEST(SpecialAddress, NT_05_NT_06_only_addresses_of_the_public_internet_are_public) {
  for (const char* text : {"0.0.0.0",
                           "10.0.0.1",
                           "100.64.0.1",
                           "100.100.100.200",
                           "127.0.0.1",
                           "127.255.255.254",
                           "168.63.129.16",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.168.65.7",
                           "198.18.0.1",
                           "198.51.100.1",
                           "203.0.113.9",
                           "224.0.0.251",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:10.0.0.1",
                           "::127.0.0.1",
                           "64:ff9b::7f00:1",
                           "64:ff9b:1::1",
                           "fd00:ec2::254",
                           "fc00::1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "2001:db8::1",
                           "2002:7f00:1::",
                           "2001::1",
                           "3fff::1",
                           "100::1",
                           "4000::1"})
    EXPECT_NE(special_address(asio::ip::make_address(text)), nullptr) << text;
  for (const char* text : {"1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.32.0.1", "168.63.129.17",
                           "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "64:ff9b::101:101", "2001:4860::8888"})
    EXPECT_EQ(special_address(asio::ip::make_address(text)), nullptr) << text;
}

TEST(HostRule, NT_03_an_exact_name_covers_only_itself) {
  const host_rule rule("example.com");
  for (const char* host : {"example.com", "EXAMPLE.com", "example.com."}) EXPECT_TRUE(rule.covers(host, 443)) << host;
  for (const std::string& host :
       {"evil-example.com"s, "example.com.evil.org"s, "www.example.com"s, "com"s, "example.com\0.evil.org"s,
        "x@example.com"s, "example.com%2f.evil.org"s, "ex\xC3\xA4mple.com"s, "xn--exmple-cua.com"s, "example.com.."s})
    EXPECT_FALSE(rule.covers(host, 443)) << host;
  EXPECT_TRUE(rule.covers("example.com", 80));
  for (const int port : {22, 8443, 0, 444}) EXPECT_FALSE(rule.covers("example.com", static_cast<std::uint16_t>(port)));
}

TEST(HostRule, NT_04_a_star_covers_the_names_below_but_not_the_name) {
  const host_rule rule("*.Files.example.org.");
  EXPECT_EQ(rule.place(), "*.files.example.org");
  for (const char* host : {"a.files.example.org", "a.b.files.example.org", "A.FILES.example.org."})
    EXPECT_TRUE(rule.covers(host, 443)) << host;
  for (const char* host : {"files.example.org", "evilfiles.example.org", "a.files.example.org.evil.org", "example.org",
                           ".files.example.org"})
    EXPECT_FALSE(rule.covers(host, 443)) << host;
}

TEST(HostRule, NT_04_too_wide_patterns_are_refused_when_they_are_made) {
  for (const char* wide : {"*", "**", "*.com", "*.*", "**.example.com", "*.co.uk", "*.com.au", "a.*.com", "*a.com",
                           "*.", "*.*.example.com", "*.1.2.3.4", "*.[::1]"})
    EXPECT_NE(sentence_of([&] { host_rule{wide}; }).find("host_rule \""), std::string::npos) << wide;
  EXPECT_NE(sentence_of([] { host_rule{"*.com"}; }).find("names of many owners"), std::string::npos);
  EXPECT_EQ(host_rule("*.example.co.uk").place(), "*.example.co.uk");
}

TEST(HostRule, what_is_no_place_is_refused) {
  for (const std::string& wrong :
       {""s, "https://example.com"s, "example.com/path"s, "user@example.com"s, "example.com:0"s, "example.com:x"s,
        "2130706433"s, "0x7f.1"s, "ex\xC3\xA4mple.com"s, "a b"s, "[::1"s, "example.com\0"s, "::ffff:1.2.3.4"s})
    EXPECT_NE(sentence_of([&] { host_rule{wrong}; }).find("host_rule \""), std::string::npos) << wrong;
}

TEST(HostRule, an_address_and_a_port_can_be_named) {
  EXPECT_TRUE(host_rule("10.1.2.3:8080").covers("10.1.2.3", 8080));
  EXPECT_TRUE(host_rule("[2001:db8::1]:8080").covers("2001:db8:0::1", 8080));
  EXPECT_TRUE(host_rule("2001:db8::1").covers("[2001:db8::1]", 443));
  EXPECT_TRUE(host_rule("127.0.0.1").covers("::ffff:127.0.0.1", 80));
  EXPECT_EQ(host_rule("api.example.com:8443").place(), "api.example.com:8443");
  EXPECT_FALSE(host_rule("api.example.com:8443").covers("api.example.com", 443));
}

TEST(HostRule, a_secret_needs_one_host_and_a_field_of_the_request) {
  const auto fails = [](const char* place, const char* name, const char* value) {
    const std::string sentence = sentence_of([&] { host_rule(place).header(name, secret_string(value)); });
    EXPECT_EQ(sentence.find("hidden"), std::string::npos) << sentence;
    return !sentence.empty();
  };
  EXPECT_TRUE(fails("*.example.com", "Authorization", "hidden"));
  for (const char* name : {"Host", "content-length", "Transfer-Encoding", "Connection", "a b", "", "Upgrade"})
    EXPECT_TRUE(fails("example.com", name, "hidden")) << name;
  EXPECT_TRUE(fails("example.com", "Authorization", "hidden\r\nX: y"));
  EXPECT_TRUE(fails("example.com", "Authorization", ""));
}

TEST(HostRule, methods_paths_and_addresses_are_checked) {
  EXPECT_NE(sentence_of([] { host_rule("a.example.com").methods({}); }), "");
  EXPECT_NE(sentence_of([] { host_rule("a.example.com").methods({"GET /"}); }), "");
  for (const char* path : {"v1", "", "/a/../b", "/a?b", "/a//b", "/%2e", "/ä"})
    EXPECT_NE(sentence_of([&] { host_rule("a.example.com").paths({path}); }), "") << path;
  EXPECT_NE(sentence_of([] { host_rule("a.example.com").at("localhost", 1); }), "");
  EXPECT_NE(sentence_of([] { host_rule("a.example.com").at("127.0.0.1", 0); }), "");
}

TEST(EgressDecision, a_path_is_below_its_prefix_as_every_server_reads_it) {
  const egress_policy policy(host_rule("a.example.com").paths({"/v1/", "/health"}).methods({"GET"}));
  const auto where = *parse_authority("a.example.com:443", 0);
  const auto allowed = [&](const char* method, const char* target) {
    return decide(policy.rules(), where, method, target).rule != nullptr;
  };
  for (const char* target :
       {"/v1/", "/v1/users", "/v1/users?x=/../..", "/v1/a%20b", "/health", "/health?x", "/health/a"})
    EXPECT_TRUE(allowed("GET", target)) << target;
  for (const char* target : {"/", "/v1", "/v10/", "/healthy", "/v1/../admin", "/v1/./x", "/v1/..", "/v1/%2e%2e/admin",
                             "/v1/.%2E/admin", "/v1/%2fadmin", "/v1/..%5cadmin", "/v1\\..\\admin", "/v1//admin",
                             "/v1/..;/admin", "/v1/%252e%252e/", "*", "?/v1/"})
    EXPECT_FALSE(allowed("GET", target)) << target;
  EXPECT_FALSE(allowed("POST", "/v1/users"));
  EXPECT_FALSE(allowed("get", "/v1/users"));
  EXPECT_EQ(
      decide(policy.rules(), where, "POST", "/x").sentence,
      "The network policy refuses POST /x on a.example.com:443: the rule a.example.com allows only the methods GET "
      "and paths below /v1/, /health.");
}

TEST(EgressDecision, the_exact_rule_counts_first) {
  egress_policy policy("*.example.com", "*.b.example.com");
  policy.header("a.b.example.com", "Authorization", secret_string("x"));
  const auto rule_for = [&](const char* authority) {
    const auto decision = decide(policy.rules(), *parse_authority(authority, 0));
    return decision.rule == nullptr ? "none"s : decision.rule->place();
  };
  EXPECT_EQ(rule_for("a.b.example.com:443"), "a.b.example.com");
  EXPECT_EQ(rule_for("c.b.example.com:443"), "*.b.example.com");
  EXPECT_EQ(rule_for("c.example.com:80"), "*.example.com");
  EXPECT_EQ(rule_for("c.example.com:22"), "none");
  EXPECT_TRUE(decide(policy.rules(), *parse_authority("a.b.example.com:443", 0)).reads_requests);
  EXPECT_FALSE(decide(policy.rules(), *parse_authority("c.b.example.com:443", 0)).reads_requests);
}

TEST(EgressDecision, NT_02_a_policy_without_rules_allows_nothing) {
  const egress_policy policy;
  const auto decision = decide(policy.rules(), *parse_authority("example.com:443", 0));
  EXPECT_EQ(decision.rule, nullptr);
  EXPECT_EQ(decision.sentence,
            "The network policy refuses example.com:443: no rule names this host. No host is allowed here.");
}

TEST(EgressDecision, NT_09_a_port_that_no_rule_has_is_refused_with_the_allowed_ports) {
  const egress_policy policy("example.com", "example.com:8443");
  EXPECT_EQ(decide(policy.rules(), *parse_authority("example.com:22", 0)).sentence,
            "The network policy refuses example.com:22: for this host it allows only the ports 443, 80, 8443.");
}

TEST(EgressDecision, NT_06_addresses_that_no_rule_names_are_removed) {
  const egress_policy policy("a.example.com", "10.0.0.1");
  const auto where = *parse_authority("a.example.com:443", 0);
  std::string refused;
  const auto permitted = [&](std::vector<std::string> texts) {
    std::vector<asio::ip::address> found;
    for (const std::string& text : texts) found.push_back(asio::ip::make_address(text));
    std::string result;
    for (const auto& each : cofferdam::detail::permitted(policy.rules(), where, found, refused))
      result += each.to_string() + " ";
    return result;
  };
  EXPECT_EQ(permitted({"1.1.1.1", "127.0.0.1", "10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1"}),
            "1.1.1.1 10.0.0.1 10.0.0.1 ");
  EXPECT_EQ(permitted({"169.254.169.254"}), "");
  EXPECT_EQ(refused,
            "The network policy refuses a.example.com: the name has the address 169.254.169.254, which is a cloud "
            "metadata address. Such an address is allowed only if a rule names it, without methods and paths.");
}

TEST(EgressDecision, NT_06_a_name_does_not_get_around_the_methods_and_paths_of_a_rule_for_an_address) {
  const auto where = *parse_authority("a.example.com:443", 0);
  const std::vector<asio::ip::address> found{asio::ip::make_address("10.0.0.1")};
  std::string refused;
  const auto count = [&](const egress_policy& policy) {
    return cofferdam::detail::permitted(policy.rules(), where, found, refused).size();
  };
  EXPECT_EQ(count(egress_policy("a.example.com", "10.0.0.1")), 1U) << "the control";
  EXPECT_EQ(count(egress_policy("a.example.com", host_rule("10.0.0.1").methods({"GET"}))), 0U);
  EXPECT_EQ(count(egress_policy("a.example.com", host_rule("10.0.0.1").paths({"/v1/"}))), 0U);
}

TEST(EgressDecision, NT_06_a_name_that_has_a_public_address_of_this_machine_is_refused) {
  const egress_policy policy("a.example.com");
  const auto where = *parse_authority("a.example.com:443", 0);
  const std::vector<asio::ip::address> found{asio::ip::make_address("1.1.1.1"), asio::ip::make_address("1.1.1.2")};
  std::string refused;
  const auto is_own = [](const asio::ip::address& each) { return each.to_string() == "1.1.1.2"; };
  const auto left = cofferdam::detail::permitted(policy.rules(), where, found, refused, is_own);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].to_string(), "1.1.1.1");
  EXPECT_NE(refused.find("1.1.1.2, which is an address of this machine"), std::string::npos) << refused;
  EXPECT_TRUE(cofferdam::detail::is_own_address(asio::ip::make_address("127.0.0.1")));
  EXPECT_TRUE(cofferdam::detail::is_own_address(asio::ip::make_address("::ffff:127.0.0.1")));
  EXPECT_FALSE(cofferdam::detail::is_own_address(asio::ip::make_address("192.0.2.77")));
}

TEST(EgressDecision, NT_17_the_rule_with_the_secret_counts_first_for_its_requests) {
  egress_policy policy("api.example.com", "other.example.com");
  policy.header("api.example.com:443", "Authorization", secret_string("x"));
  const auto where = *parse_authority("api.example.com:443", 0);
  const auto decision = decide(policy.rules(), where, "GET", "/");
  ASSERT_NE(decision.rule, nullptr);
  EXPECT_EQ(decision.rule->place(), "api.example.com:443");
  egress_policy late("api.example.com");
  late.allow("api.example.com:443").header("api.example.com:443", "Authorization", secret_string("x"));
  EXPECT_EQ(decide(late.rules(), where, "GET", "/").rule->place(), "api.example.com:443");
}

TEST(HostRule, port_1_is_a_port_as_others_are) {
  EXPECT_TRUE(host_rule("a.example.org:1").covers("a.example.org", 1));
  EXPECT_FALSE(host_rule("a.example.org:1").covers("a.example.org", 443));
  EXPECT_EQ(host_rule("a.example.org:1").place(), "a.example.org:1");
  EXPECT_NE(sentence_of([] { host_rule("a.example.org:0"); }), "");
}

TEST(EgressPolicy, limits_are_positive) {
  EXPECT_NE(sentence_of([] { egress_policy().connections(0); }), "");
  EXPECT_NE(sentence_of([] { egress_policy().idle_time(std::chrono::milliseconds(0)); }), "");
  EXPECT_NE(sentence_of([] { egress_policy().total_time(std::chrono::milliseconds(-1)); }), "");
  EXPECT_NE(sentence_of([] { egress_policy().opening_time(std::chrono::milliseconds(0)); }), "");
}

TEST(EgressPolicy, a_header_for_a_known_place_extends_its_rule) {
  egress_policy policy(host_rule("api.example.com").methods({"GET"}));
  policy.header("API.example.com.", "Authorization", secret_string("x"));
  ASSERT_EQ(policy.rules().size(), 1U);
  EXPECT_EQ(decide(policy.rules(), *parse_authority("api.example.com:443", 0), "POST", "/").rule, nullptr);
}

}  // namespace
