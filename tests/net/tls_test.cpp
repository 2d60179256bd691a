// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/tls.hpp>

#include "net/certificates.hpp"
#include "net/real_server.hpp"
#include "net/real_talk.hpp"
#include "support/cancel_when_idle.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/ip/tcp.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::byte_stream;
using cofferdam::exec_errc;
using cofferdam::net_errc;
using cofferdam::proxy_rules;
using cofferdam::tls_settings;
using cofferdam::detail::connector;
using cofferdam::detail::tls_connector;
using cofferdam_test::cancel_after;
using cofferdam_test::cancel_when_idle;
using cofferdam_test::certificate;
using cofferdam_test::destroy_after;
using cofferdam_test::open_descriptors;
using cofferdam_test::real_server;
using cofferdam_test::run;
using cofferdam_test::speak_to_a_real_server;
using cofferdam_test::temporary_folder;
using namespace std::chrono_literals;

awaitable<byte_stream> connect(connector target, std::chrono::milliseconds limit = 20s) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  byte_stream stream = co_await target.connect(executor, limit);
  co_return stream;
}

/// Makes one request. TLS 1.3 reports a missing client certificate only after the handshake, with the first reply.
awaitable<void> exchange(connector target) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam::detail::http_client client(executor, std::move(target));
  cofferdam::http_response answer = co_await client.request(cofferdam::http_request("GET", "/hello"));
  EXPECT_EQ(answer.text(), "hello");
  co_await client.close();
}

cofferdam::error failure_of(const connector& target) {
  try {
    run([&] { return exchange(target); });
  } catch (const cofferdam::error& failure) {
    return failure;
  }
  ADD_FAILURE() << "it was accepted";
  return cofferdam::error(exec_errc{}, "");
}

/// A fixture with a certificate authority, and with servers whose certificates this authority has signed.
class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    COFFERDAM_NEEDS("python3", cofferdam_test::has_python(), "that TLS works with a real server");
  }

  void serve(const certificate& shown, std::vector<std::string> options = {}) {
    const std::string file = folder.write("server.pem", shown.pem() + shown.key_pem()).string();
    options.insert(options.begin(), {"--certificate", file});
    server.emplace(std::move(options));
  }
  void serve_clients_with_certificates(const certificate& shown, const std::string& newest) {
    const std::string file = folder.write("clients.pem", authority.pem()).string();
    serve(shown, {"--client-authority", file, "--newest", newest});
  }
  connector to(const tls_settings& settings, const std::string& host = "127.0.0.1") {
    return tls_connector(host, server->port(), settings);
  }
  /// Returns a connector for a host that only a proxy can reach.
  connector through(const std::string& proxy, const std::string& exceptions = "") {
    return tls_connector("service.test", 443,
                         tls_settings().trust(authority.pem()).through(proxy_rules(proxy, exceptions)));
  }

  temporary_folder folder;
  certificate authority{""};
  certificate good{"DNS:good.test,IP:127.0.0.1", &authority};
  std::optional<real_server> server;
};

TEST_F(Tls, a_server_that_is_who_it_says_is_spoken_to) {
  for (const char* newest : {"1.2", "1.3"}) {
    serve(good, {"--newest", newest});
    const std::size_t before = open_descriptors();
    run([&] { return speak_to_a_real_server(to(tls_settings().trust(authority.pem()))); });
    run([&] { return exchange(to(tls_settings().trust(authority.pem()).server_name("good.test"))); });
    const std::string file = folder.write("trusted.pem", authority.pem()).string();
    run([&] { return exchange(to(tls_settings().trust_file(file))); });
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST_F(Tls, a_certificate_for_another_host_is_named_so) {
  serve(good);
  for (const char* name : {"other.test", "127.0.0.2", "ood.test", "x.good.test"}) {
    const cofferdam::error failure = failure_of(to(tls_settings().trust(authority.pem()).server_name(name)));
    EXPECT_EQ(failure.code(), exec_errc::io_error);
    EXPECT_EQ(failure.cause(), net_errc::certificate_wrong_host) << name;
    EXPECT_NE(std::string(failure.what()).find("127.0.0.1:" + std::to_string(server->port())), std::string::npos)
        << failure.what();
  }
}

TEST_F(Tls, an_expired_certificate_and_one_of_the_future_are_named_so) {
  const certificate expired("IP:127.0.0.1", &authority, -7200, -3600);
  serve(expired);
  EXPECT_EQ(failure_of(to(tls_settings().trust(authority.pem()))).cause(), net_errc::certificate_expired);
  const certificate later("IP:127.0.0.1", &authority, 3600, 7200);
  serve(later);
  EXPECT_EQ(failure_of(to(tls_settings().trust(authority.pem()))).cause(), net_errc::certificate_not_yet_valid);
}

TEST_F(Tls, a_certificate_that_nobody_trusted_has_signed_is_named_so) {
  const certificate alone("IP:127.0.0.1");
  serve(alone);
  EXPECT_EQ(failure_of(to(tls_settings().trust(authority.pem()))).cause(), net_errc::certificate_untrusted);
  EXPECT_EQ(failure_of(to(tls_settings())).cause(), net_errc::certificate_untrusted);
  serve(good);
  const cofferdam::error failure = failure_of(to(tls_settings()));
  EXPECT_EQ(failure.cause(), net_errc::certificate_untrusted);
  EXPECT_NE(std::string(failure.what()).find("trust its authority"), std::string::npos) << failure.what();
}

TEST_F(Tls, verification_is_left_out_only_where_that_is_said) {
  const certificate alone("DNS:other.test", nullptr, -7200, -3600);
  serve(alone);
  run([&] { return exchange(to(tls_settings().insecure_without_verification())); });
}

TEST_F(Tls, a_missing_client_certificate_is_named_so) {
  for (const char* newest : {"1.2", "1.3"}) {
    serve_clients_with_certificates(good, newest);
    const cofferdam::error failure = failure_of(to(tls_settings().trust(authority.pem())));
    EXPECT_EQ(failure.code(), exec_errc::io_error);
    EXPECT_EQ(failure.cause(), net_errc::client_certificate_needed) << newest << ": " << failure.what();
    EXPECT_NE(std::string(failure.what()).find("requires a client certificate"), std::string::npos) << failure.what();
  }
}

TEST_F(Tls, a_client_certificate_is_shown_and_one_that_is_not_trusted_is_named_so) {
  const certificate client("DNS:client.test", &authority);
  const certificate stranger("DNS:client.test");
  for (const char* newest : {"1.2", "1.3"}) {
    serve_clients_with_certificates(good, newest);
    const tls_settings trusting = tls_settings().trust(authority.pem());
    run([&] { return exchange(to(tls_settings(trusting).certificate(client.pem(), client.key_pem()))); });
    const std::string chain = folder.write("client.pem", client.pem()).string();
    const std::string key = folder.write("client.key", client.key_pem()).string();
    run([&] { return exchange(to(tls_settings(trusting).certificate_files(chain, key))); });
    const cofferdam::error failure =
        failure_of(to(tls_settings(trusting).certificate(stranger.pem(), stranger.key_pem())));
    EXPECT_EQ(failure.cause(), net_errc::client_certificate_needed) << newest << ": " << failure.what();
    EXPECT_NE(std::string(failure.what()).find("rejects the client certificate"), std::string::npos) << failure.what();
  }
}

TEST_F(Tls, a_server_without_tls_is_named_so) {
  server.emplace();
  const cofferdam::error failure = failure_of(to(tls_settings().trust(authority.pem())));
  EXPECT_EQ(failure.cause(), net_errc::not_tls) << failure.what();
}

TEST_F(Tls, files_and_texts_that_are_of_no_use_are_refused_when_the_connector_is_made) {
  const certificate client("DNS:client.test", &authority);
  const certificate other("DNS:client.test", &authority);
  const auto refusal = [](const tls_settings& settings) {
    try {
      tls_connector("good.test", 443, settings);
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::invalid_argument);
      EXPECT_EQ(std::string(failure.what()).find("PRIVATE KEY"), std::string::npos);
      return std::string(failure.what());
    }
    ADD_FAILURE() << "it was accepted";
    return std::string();
  };
  const std::string missing = (folder / "missing.pem").string();
  EXPECT_NE(refusal(tls_settings().trust_file(missing)).find(missing), std::string::npos);
  EXPECT_NE(refusal(tls_settings().certificate_files(missing, missing)).find(missing), std::string::npos);
  refusal(tls_settings().trust("garbage"));
  refusal(tls_settings().trust(""));
  refusal(tls_settings().certificate("garbage", client.key_pem()));
  refusal(tls_settings().certificate(client.pem(), "garbage"));
  refusal(tls_settings().certificate(client.pem(), other.key_pem()));
  refusal(tls_settings().certificate(client.pem(), client.locked_key_pem()));
  EXPECT_EQ(tls_connector("good.test", 443).host(), "good.test");
}

TEST_F(Tls, a_peer_that_never_shakes_hands_runs_into_the_limit_or_is_given_up) {
  asio::io_context context;
  const asio::ip::tcp::acceptor acceptor(context, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const connector silent =
      tls_connector("127.0.0.1", acceptor.local_endpoint().port(), tls_settings().trust(authority.pem()));
  try {
    run([&] { return connect(silent, 50ms); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const cofferdam::error& failure) {
    EXPECT_EQ(failure.cause(), net_errc::timed_out) << failure.what();
  }
  const std::exception_ptr failure = cancel_when_idle([&] { return connect(silent, 1000s); });
  EXPECT_TRUE(failure);
}

TEST_F(Tls, a_connection_that_breaks_off_is_not_an_end) {
  // The server closes the TCP connection without the TLS close message. An attacker on the network could do the same.
  serve(good);
  run([&]() -> awaitable<void> {
    byte_stream stream = co_await connect(to(tls_settings().trust(authority.pem())));
    server.reset();
    std::array<std::byte, 8> room;
    std::exception_ptr failure;
    try {
      co_await stream.read_some(room);
    } catch (const cofferdam::error&) {
      failure = std::current_exception();
    }
    EXPECT_TRUE(failure);
  });
}

TEST_F(Tls, destroying_the_context_after_every_handler_leaks_nothing) {
  serve(good);
  const std::size_t before = open_descriptors();
  bool ended = false;
  for (std::size_t n = 0; !ended && n < 200; ++n) {
    ended = destroy_after(n, [&] { return exchange(to(tls_settings().trust(authority.pem()))); });
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Tls, cancelling_at_every_step_leaves_nothing_open) {
  serve(good);
  const std::size_t before = open_descriptors();
  bool ended = false;
  for (std::size_t n = 0; !ended && n < 200; ++n) {
    std::exception_ptr failure;
    ended = cancel_after(
        n, [&] { return exchange(to(tls_settings().trust(authority.pem()))); }, failure);
    EXPECT_EQ(open_descriptors(), before) << n;
  }
  EXPECT_TRUE(ended);
}

TEST_F(Tls, goes_through_a_proxy_that_alone_knows_the_host) {
  serve(certificate("DNS:service.test", &authority));
  const std::string port = std::to_string(server->port());
  const std::size_t before = open_descriptors();
  {
    const real_server proxy({"--tunnel-to", port});
    const std::string address = "http://127.0.0.1:" + std::to_string(proxy.port());
    run([&] { return exchange(through(address)); });
    run([&] { return exchange(through("127.0.0.1:" + std::to_string(proxy.port()))); });
    const real_server locked({"--tunnel-to", port, "--proxy-user", "some one:pass@word"});
    run([&] { return exchange(through("http://some%20one:pass%40word@127.0.0.1:" + std::to_string(locked.port()))); });
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Tls, the_proxy_may_not_stand_in_for_the_host) {
  serve(good);  // the certificate is not for service.test
  const real_server proxy({"--tunnel-to", std::to_string(server->port())});
  const cofferdam::error failure = failure_of(through("http://127.0.0.1:" + std::to_string(proxy.port())));
  EXPECT_EQ(failure.cause(), net_errc::certificate_wrong_host) << failure.what();
}

TEST_F(Tls, what_a_proxy_refuses_is_said_without_its_password) {
  const real_server closed;
  const real_server locked({"--tunnel-to", "1", "--proxy-user", "a:b"});
  const std::string address = "127.0.0.1:" + std::to_string(locked.port());
  const auto sentence = [&](const std::string& proxy) {
    const cofferdam::error failure = failure_of(through(proxy));
    EXPECT_EQ(failure.code(), exec_errc::io_error);
    EXPECT_EQ(failure.cause(), net_errc::proxy_refused);
    return std::string(failure.what());
  };
  const std::string begin = "cannot connect to service.test:443 through the proxy ";
  EXPECT_EQ(sentence("http://127.0.0.1:" + std::to_string(closed.port())),
            begin + "127.0.0.1:" + std::to_string(closed.port()) +
                " (HTTPS_PROXY): the proxy refuses the connection: 403 Forbidden");
  EXPECT_EQ(sentence("http://" + address),
            begin + address +
                " (HTTPS_PROXY): the proxy refuses the connection: 407 Proxy Authentication Required; it requires a "
                "user and a password: write http://USER:PASSWORD@HOST:PORT");
  EXPECT_EQ(sentence("http://a:secret@" + address),
            begin + address +
                " (HTTPS_PROXY): the proxy refuses the connection: 407 Proxy Authentication Required; it rejects the "
                "user and password of its URL");
}

TEST_F(Tls, a_proxy_that_is_not_there_is_named) {
  asio::io_context loop;
  asio::ip::tcp::acceptor nobody(loop, {asio::ip::make_address("127.0.0.1"), 0});
  const std::string address = "127.0.0.1:" + std::to_string(nobody.local_endpoint().port());
  nobody.close();
  const std::string sentence = failure_of(through(address)).what();
  EXPECT_NE(sentence.find("service.test:443's proxy " + address), std::string::npos) << sentence;
}

TEST_F(Tls, a_proxy_that_never_answers_is_waited_for_no_longer_than_said) {
  asio::io_context loop;
  const asio::ip::tcp::acceptor silent(loop, {asio::ip::make_address("127.0.0.1"), 0});
  const connector target = through("127.0.0.1:" + std::to_string(silent.local_endpoint().port()));
  try {
    run([&]() -> awaitable<void> { co_await connect(target, 200ms); });
    FAIL() << "it has connected";
  } catch (const cofferdam::error& failure) {
    EXPECT_EQ(failure.cause(), net_errc::timed_out) << failure.what();
  }
}

}  // namespace
