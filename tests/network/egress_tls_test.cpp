// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/network/detail/certificate_authority.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/egress_proxy.hpp>

#include "network/egress_host.hpp"
#include "support/require.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using cofferdam::egress_policy;
using cofferdam::host_rule;
using cofferdam::secret_string;
using cofferdam_test::certificate;
using cofferdam_test::echo_server;
using cofferdam_test::egress_host;
using cofferdam_test::received_requests;
using cofferdam_test::run_shell;
using cofferdam_test::shell_result;
using namespace std::string_literals;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// A proxy, and a TLS server for the names api.example.org and other.example.org whose authority the policy trusts.
/// curl is the program in the sandbox. The two names have different ports, so each has a server of its own.
class EgressTls : public ::testing::Test {
 protected:
  static constexpr const char* secret = "Bearer s3cret-token";

  void start(egress_policy policy = egress_policy(), const std::string& names = "DNS:api.example.org") {
    leaf_ = std::make_unique<certificate>(names, &root_);
    api_ = host_.start(echo_server(seen_), leaf_.get());
    other_ = host_.start(echo_server(others_), &other_leaf_);
    plain_ = host_.start(echo_server(plainly_));
    policy.allow(host_rule("api.example.org:443").at("127.0.0.1", api_).header("Authorization", secret_string(secret)));
    policy.allow(host_rule("api.example.org:80").at("127.0.0.1", plain_));
    policy.allow(host_rule("other.example.org:443").at("127.0.0.1", other_));
    policy.trust(root_.pem());
    proxy_ = host_.serve(std::move(policy));
    bundle_ = folder_.write("ca.pem", root_.pem() + host_.authority_pem());
  }
  shell_result curl(const std::string& arguments) {
    return run_shell("curl -sS --max-time 20 -x http://job1@127.0.0.1:" + std::to_string(proxy_) + " --cacert " +
                     bundle_.string() + " " + arguments);
  }

  certificate root_{""};
  std::unique_ptr<certificate> leaf_;
  certificate other_leaf_{"DNS:other.example.org", &root_};
  cofferdam_test::temporary_folder folder_;
  std::filesystem::path bundle_;
  std::shared_ptr<received_requests> seen_ = std::make_shared<received_requests>();
  std::shared_ptr<received_requests> others_ = std::make_shared<received_requests>();
  std::shared_ptr<received_requests> plainly_ = std::make_shared<received_requests>();
  egress_host host_;
  std::uint16_t api_ = 0;
  std::uint16_t other_ = 0;
  std::uint16_t plain_ = 0;
  std::uint16_t proxy_ = 0;
};

TEST(CertificateAuthority, an_old_certificate_of_a_host_is_replaced_and_the_authority_outlives_it) {
  using cofferdam::detail::certificate_authority;
  certificate_authority authority;
  const cofferdam::detail::host_name host("api.example.org");
  const auto now = certificate_authority::clock::now();
  const auto valid_days = [](X509* shown) {
    int days = 0;
    int seconds = 0;
    EXPECT_EQ(ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(shown)), 1);
    return days;
  };
  SSL_CTX* const first = authority.server_for(host, now);
  SSL_CTX_up_ref(first);
  EXPECT_EQ(authority.server_for(host, now + std::chrono::hours(11)), first);
  SSL_CTX* const second = authority.server_for(host, now + std::chrono::hours(13));
  EXPECT_NE(second, first);
  EXPECT_EQ(authority.server_for(host, now + std::chrono::hours(20)), second);
  SSL_CTX_free(first);
  EXPECT_LE(valid_days(SSL_CTX_get0_certificate(second)), 1);
  const std::string pem = authority.pem();
  const cofferdam::detail::unique_bio text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const cofferdam::detail::unique_x509 own(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  ASSERT_NE(own, nullptr);
  EXPECT_GE(valid_days(own.get()), 364);
}

TEST(CertificateAuthority, a_server_sends_nothing_after_the_handshake) {
  using cofferdam::detail::certificate_authority;
  using cofferdam::detail::unique_ssl;
  using cofferdam::detail::unique_ssl_ctx;
  certificate_authority authority;
  const unique_ssl server(SSL_new(authority.server_for(cofferdam::detail::host_name("api.example.org"))));
  const unique_ssl_ctx clients(SSL_CTX_new(TLS_client_method()));
  const unique_ssl client(SSL_new(clients.get()));
  BIO* at_server = nullptr;
  BIO* at_client = nullptr;
  ASSERT_EQ(BIO_new_bio_pair(&at_server, 0, &at_client, 0), 1);
  SSL_set_bio(server.get(), at_server, at_server);
  SSL_set_bio(client.get(), at_client, at_client);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  for (int turn = 0; turn < 4 && SSL_is_init_finished(server.get()) == 0; ++turn) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  ASSERT_EQ(SSL_is_init_finished(server.get()), 1);
  ASSERT_EQ(SSL_is_init_finished(client.get()), 1);
  EXPECT_EQ(SSL_version(server.get()), TLS1_3_VERSION);
  EXPECT_EQ(BIO_pending(at_client), 0);  // session tickets would be here
}

#define NEEDS_CURL() COFFERDAM_NEEDS("curl", cofferdam_test::has_program("curl"), "TLS that ends on the host")

TEST_F(EgressTls, NT_17_the_host_receives_the_secret_and_nobody_else) {
  NEEDS_CURL();
  start();
  const shell_result answer = curl("-H 'Authorization: Bearer own' -H 'X-Other: 1' https://api.example.org/v1");
  EXPECT_EQ(answer.status, 0) << answer.output;
  ASSERT_EQ(seen_->count(), 1U);
  EXPECT_TRUE(contains(seen_->all()[0], "\r\nAuthorization: Bearer s3cret-token\r\n")) << seen_->all()[0];
  EXPECT_FALSE(contains(seen_->all()[0], "Bearer own"));
  EXPECT_TRUE(contains(seen_->all()[0], "\r\nX-Other: 1\r\n"));
  const shell_result second = curl("https://other.example.org/");
  EXPECT_EQ(second.status, 0) << second.output;
  const shell_result plain = curl("http://api.example.org/");
  EXPECT_EQ(plain.status, 0) << plain.output;
  const shell_result tunnelled = curl("-p http://api.example.org/");
  EXPECT_EQ(tunnelled.status, 0) << tunnelled.output;
  EXPECT_EQ(others_->count(), 1U);
  EXPECT_EQ(plainly_->count(), 2U);
  EXPECT_FALSE(contains(others_->joined() + plainly_->joined(), "s3cret"));
  host_.events(4);
  EXPECT_TRUE(contains(host_.log(), "job1|api.example.org|443|127.0.0.1|api.example.org:443|\n")) << host_.log();
  EXPECT_FALSE(contains(host_.log(), "s3cret"));
}

TEST_F(EgressTls, NT_17_a_redirect_to_another_host_or_to_plain_http_has_no_secret) {
  NEEDS_CURL();
  for (const char* place : {"https://other.example.org/", "http://api.example.org/"}) {
    const std::string location = "HTTP/1.1 307 Go\r\nLocation: "s + place + "\r\nContent-Length: 0\r\n\r\n";
    const certificate leaf("DNS:redirects.example.org", &root_);
    const std::uint16_t port = host_.start(cofferdam_test::text_server(location), &leaf);
    egress_host second;
    egress_policy policy(
        host_rule("redirects.example.org:443").at("127.0.0.1", port).header("Authorization", secret_string(secret)));
    others_ = std::make_shared<received_requests>();
    const certificate target("DNS:other.example.org", &root_);
    policy.allow(host_rule("other.example.org:443").at("127.0.0.1", second.start(echo_server(others_), &target)));
    policy.allow(host_rule("api.example.org:80").at("127.0.0.1", second.start(echo_server(others_))));
    policy.trust(root_.pem());
    proxy_ = second.serve(std::move(policy));
    bundle_ = folder_.write("ca.pem", root_.pem() + second.authority_pem());
    const shell_result answer = curl("-L https://redirects.example.org/");
    EXPECT_EQ(answer.status, 0) << answer.output;
    EXPECT_EQ(others_->count(), 1U) << place;
    EXPECT_FALSE(contains(others_->joined() + answer.output, "s3cret")) << place;
  }
}

TEST_F(EgressTls, NT_17_a_request_without_tls_never_has_the_secret) {
  NEEDS_CURL();
  const std::uint16_t port = host_.start(echo_server(others_));
  start(egress_policy(
      host_rule("both.example.org").at("127.0.0.1", port).header("Authorization", secret_string(secret))));
  for (const char* way : {"http://both.example.org/", "-p http://both.example.org/"})
    EXPECT_TRUE(contains(curl(way).output, "GET / HTTP/1.1")) << way;
  EXPECT_EQ(others_->count(), 2U);
  EXPECT_FALSE(contains(others_->joined(), "s3cret")) << others_->joined();
}

TEST_F(EgressTls, NT_17_methods_whose_answer_shows_the_request_are_refused) {
  NEEDS_CURL();
  start();
  for (const char* method : {"TRACE", "trace", "TRACK"}) {
    const shell_result answer = curl("-i -X "s + method + " https://api.example.org/");
    EXPECT_TRUE(contains(answer.output, "403 Forbidden")) << answer.output;
  }
  EXPECT_EQ(seen_->count(), 0U);
}

TEST_F(EgressTls, NT_17_control_a_program_that_has_the_secret_sends_it_anywhere) {
  NEEDS_CURL();
  start();
  EXPECT_EQ(curl("-H 'Authorization: Bearer s3cret-token' https://other.example.org/").status, 0);
  EXPECT_TRUE(contains(others_->joined(), "s3cret"));
}

TEST_F(EgressTls, the_certificate_of_the_real_server_is_verified) {
  NEEDS_CURL();
  const certificate stranger("");
  const certificate untrusted("DNS:untrusted.example.org", &stranger);
  const certificate wrong("DNS:elsewhere.example.org", &root_);
  const certificate expired("DNS:expired.example.org", &root_, -7200, -3600);
  egress_policy policy;
  const auto add = [&](const char* name, const certificate& identity) {
    policy.allow(host_rule(name)
                     .at("127.0.0.1", host_.start(echo_server(seen_), &identity))
                     .header("Authorization", secret_string(secret)));
  };
  add("untrusted.example.org", untrusted);
  add("wrong.example.org", wrong);
  add("expired.example.org", expired);
  start(std::move(policy));
  for (const char* name : {"untrusted", "wrong", "expired"}) {
    const shell_result answer = curl("-i https://"s + name + ".example.org/");
    EXPECT_TRUE(contains(answer.output, "HTTP/1.1 502 Bad Gateway")) << answer.output;
    EXPECT_TRUE(contains(answer.output, "certificate was not accepted")) << answer.output;
  }
  EXPECT_EQ(seen_->count(), 0U);
}

TEST_F(EgressTls, requests_share_a_verified_connection_and_each_is_decided) {
  NEEDS_CURL();
  start(egress_policy());
  const shell_result answer =
      curl("https://api.example.org/1 https://api.example.org/2 -d body https://api.example.org/3");
  EXPECT_EQ(answer.status, 0) << answer.output;
  EXPECT_EQ(seen_->count(), 3U);
  EXPECT_EQ(seen_->connections, 1);
}

TEST_F(EgressTls, methods_and_paths_hold_inside_tls) {
  NEEDS_CURL();
  egress_policy policy;
  const certificate narrow("DNS:narrow.example.org", &root_);
  const std::uint16_t port = host_.start(echo_server(seen_), &narrow);
  policy.allow(host_rule("narrow.example.org").at("127.0.0.1", port).methods({"GET"}).paths({"/v1/"}));
  start(std::move(policy));
  EXPECT_TRUE(contains(curl("https://narrow.example.org/v1/x").output, "GET /v1/x"));
  EXPECT_TRUE(contains(curl("-i -X DELETE https://narrow.example.org/v1/x").output, "HTTP/1.1 403 Forbidden"));
  EXPECT_TRUE(contains(curl("-i --path-as-is https://narrow.example.org/v1/../admin").output, "paths below /v1/"));
  EXPECT_TRUE(
      contains(curl("-i -H 'Host: evil.org' https://narrow.example.org/v1/x").output, "HTTP/1.1 400 Bad Request"));
  EXPECT_EQ(seen_->count(), 1U) << seen_->joined();
}

TEST_F(EgressTls, NT_09_another_server_name_is_refused_where_tls_ends_here) {
  NEEDS_CURL();
  start();
  // curl opens a tunnel to api.example.org, and then begins TLS with other.example.org.
  const shell_result answer = curl("--connect-to other.example.org:443:api.example.org:443 https://other.example.org/");
  EXPECT_NE(answer.status, 0) << answer.output;
  EXPECT_EQ(seen_->count() + others_->count(), 0U);
  host_.events(1);
  EXPECT_TRUE(contains(host_.log(), "names another server, other.example.org")) << host_.log();
  // The control: the same option with the right name works.
  EXPECT_EQ(curl("--connect-to api.example.org:443:api.example.org:443 https://api.example.org/").status, 0);
}

TEST_F(EgressTls, only_http_1_1_is_offered) {
  NEEDS_CURL();
  start();
  const shell_result answer = curl("-v --http2 https://api.example.org/");
  EXPECT_TRUE(contains(answer.output, "ALPN")) << answer.output;
  EXPECT_TRUE(contains(answer.output, "HTTP/1.1 200 OK")) << answer.output;
}

TEST_F(EgressTls, a_program_that_does_not_trust_the_authority_is_reported) {
  NEEDS_CURL();
  start();
  bundle_ = folder_.write("only-root.pem", root_.pem());
  EXPECT_NE(curl("https://api.example.org/").status, 0);
  EXPECT_EQ(seen_->count(), 0U);
  host_.events(1);
  EXPECT_TRUE(contains(host_.log(), "the program must trust the authority of the sandbox")) << host_.log();
}

TEST_F(EgressTls, a_body_of_some_megabytes_arrives_whole_in_both_directions) {
  NEEDS_CURL();
  const std::shared_ptr<received_requests> bytes = std::make_shared<received_requests>();
  const certificate large("DNS:large.example.org", &root_);
  const std::string body(3 * 1024 * 1024 + 17, 'z');
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  const std::uint16_t port = host_.start(cofferdam_test::text_server(answer), &large);
  egress_policy policy(
      host_rule("large.example.org").at("127.0.0.1", port).header("X-Key", secret_string("k3y-value")));
  start(std::move(policy));
  const std::string upload = folder_.write("body", body).string();
  const shell_result result = curl("--data-binary @" + upload + " https://large.example.org/ | wc -c");
  EXPECT_TRUE(contains(result.output, std::to_string(body.size()))) << result.output.substr(0, 200);
}

}  // namespace
