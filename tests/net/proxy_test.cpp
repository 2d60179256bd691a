// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/net/proxy.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

using cofferdam::exec_errc;
using cofferdam::http_proxy;
using cofferdam::proxy_rules;

TEST(HttpProxy, is_read_from_a_url) {
  const http_proxy proxy = http_proxy::parse("http://us%65r:p%3Ass@proxy.test:3128/", "it");
  EXPECT_EQ(proxy.host(), "proxy.test");
  EXPECT_EQ(proxy.port(), 3128);
  EXPECT_EQ(proxy.authorization(), "Basic dXNlcjpwOnNz");
  const http_proxy bare = http_proxy::parse("proxy.test", "it");
  EXPECT_EQ(bare.port(), 80);
  EXPECT_EQ(bare.authorization(), "");
  EXPECT_EQ(http_proxy::parse("[::1]:8080", "it").host(), "::1");
}

TEST(HttpProxy, what_is_none_is_refused_without_being_shown) {
  for (const char* wrong :
       {"https://secret.test", "socks5://secret.test", "http://", "http://secret.test:0", "http://secret.test:70000",
        "http://secret.test/path", "http://secret.test?x", "http://a b", "secret.test:x"}) {
    try {
      http_proxy::parse(wrong, "HTTPS_PROXY");
      ADD_FAILURE() << wrong;
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::invalid_argument);
      EXPECT_EQ(std::string(failure.what()).find("HTTPS_PROXY is not a valid proxy URL: "), 0U) << failure.what();
      EXPECT_EQ(std::string(failure.what()).find("secret"), std::string::npos) << failure.what();
    }
  }
}

bool direct(const proxy_rules& rules, std::string_view host, std::uint16_t port = 443) {
  return !rules.on_the_way_to(host, port);
}

TEST(ProxyRules, nothing_said_is_direct) {
  EXPECT_TRUE(direct(proxy_rules(), "example.com"));
  EXPECT_TRUE(direct(proxy_rules("", "a,b"), "example.com"));
}

TEST(ProxyRules, this_machine_is_reached_directly) {
  const proxy_rules rules("proxy.test:1");
  for (const char* host : {"localhost", "LocalHost.", "a.localhost", "127.0.0.1", "127.9.9.9", "::1"})
    EXPECT_TRUE(direct(rules, host)) << host;
  for (const char* host : {"example.com", "localhost.example.com", "128.0.0.1", "::2"})
    EXPECT_FALSE(direct(rules, host)) << host;
}

TEST(ProxyRules, exceptions_are_names_with_all_below_them) {
  for (const char* list : {"example.com", ".example.com", "*.Example.COM", " a.test, example.com\t", "example.com."}) {
    const proxy_rules rules("proxy.test", list);
    EXPECT_TRUE(direct(rules, "example.com")) << list;
    EXPECT_TRUE(direct(rules, "API.example.com.")) << list;
    EXPECT_FALSE(direct(rules, "badexample.com")) << list;
    EXPECT_FALSE(direct(rules, "example.com.evil.test")) << list;
    EXPECT_FALSE(direct(rules, "com")) << list;
  }
  EXPECT_TRUE(direct(proxy_rules("proxy.test", "*"), "anything.test"));
}

TEST(ProxyRules, an_exception_may_be_for_one_port) {
  const proxy_rules rules("proxy.test", "example.com:8443,[2001:db8::1]:9,10.0.0.1:7");
  EXPECT_TRUE(direct(rules, "example.com", 8443));
  EXPECT_FALSE(direct(rules, "example.com", 443));
  EXPECT_TRUE(direct(rules, "2001:db8::1", 9));
  EXPECT_FALSE(direct(rules, "2001:db8::1", 10));
  EXPECT_TRUE(direct(rules, "10.0.0.1", 7));
}

TEST(ProxyRules, exceptions_may_be_addresses_and_networks) {
  const proxy_rules rules("proxy.test", "10.1.2.3,192.168.0.0/16,2001:db8::/32,fe80::1");
  for (const char* host : {"10.1.2.3", "192.168.7.7", "2001:db8:1::1", "fe80::1"})
    EXPECT_TRUE(direct(rules, host)) << host;
  for (const char* host : {"10.1.2.4", "192.169.0.1", "2001:db9::1", "fe80::2"})
    EXPECT_FALSE(direct(rules, host)) << host;
}

TEST(ProxyRules, odd_exceptions_match_nothing) {
  const proxy_rules rules("proxy.test", ",,:,[],10.0.0.0/99,/,:443,example.com:x,a:b:c,]:1");
  for (const char* host : {"example.com", "10.0.0.1", "a", "x.test"}) EXPECT_FALSE(direct(rules, host)) << host;
}

}  // namespace
