// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests the library's HTTP server with clients of other projects: curl, Python's http.client and, for TLS, OpenSSL's
// client.

#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/net/tls.hpp>
#include <cofferdam/net/tls_listener.hpp>

#include "net/certificates.hpp"
#include "net/http_server_support.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace {

using cofferdam::awaitable;
using cofferdam::exec_errc;
using cofferdam::http_request;
using cofferdam::http_response;
using cofferdam::http_server_settings;
using cofferdam::detail::http_client;
using cofferdam::detail::http_server;
using cofferdam_test::certificate;
using cofferdam_test::comes_about;
using cofferdam_test::raw_client;
using cofferdam_test::run;
using cofferdam_test::site;
using cofferdam_test::temporary_folder;
using work = std::function<awaitable<void>(http_server&)>;

bool has(const std::string& program) { return std::system((program + " --version >/dev/null 2>&1").c_str()) == 0; }

/// A shell command that runs on another thread while the server runs on this one.
class command {
 public:
  explicit command(std::string line) : thread_([this, text = std::move(line)] { read(text); }) {}
  command(const command&) = delete;
  command& operator=(const command&) = delete;
  ~command() { thread_.join(); }
  bool ended() const { return ended_; }
  const std::string& output() const { return output_; }

 private:
  void read(const std::string& line) {
    std::FILE* pipe = ::popen(line.c_str(), "r");
    while (pipe != nullptr) {
      const int c = std::fgetc(pipe);
      if (c != EOF) {
        output_ += static_cast<char>(c);
      } else if (std::ferror(pipe) != 0 && errno == EINTR) {
        std::clearerr(pipe);
      } else {
        ::pclose(pipe);
        pipe = nullptr;
      }
    }
    ended_ = true;
  }
  std::string output_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

awaitable<std::string> output_of(std::string line) {
  command running(std::move(line));
  const std::function<bool()> over = [&] { return running.ended(); };
  const bool ended = co_await comes_about(over);
  if (!ended) throw std::runtime_error("the command did not end");
  co_return running.output();
}

TEST(HttpServerPeers, curl_is_served) {
  if (!has("curl")) GTEST_SKIP() << "there is no curl";
  const temporary_folder folder;
  const std::string big = folder / "big";
  std::ofstream(big) << std::string(3'000'000, 'x');
  site test_site;
  const work body = [&](http_server& server) -> awaitable<void> {
    const std::string curl = "curl -sS --noproxy '*' --max-time 60 ";
    const std::string url = "http://127.0.0.1:" + std::to_string(test_site.port);
    std::string output =
        co_await output_of(curl + url + "/hello " + url + "/stream " + url + "/sized -w '[%{num_connects}]'");
    EXPECT_EQ(output, "hello[1]one,two,three[0]one,two,[0]");
    output = co_await output_of(curl + "-I " + url + "/hello " + url + "/stream");
    EXPECT_NE(output.find("Content-Length: 5\r\n"), std::string::npos) << output;
    EXPECT_NE(output.find("Transfer-Encoding: chunked\r\n"), std::string::npos) << output;
    output = co_await output_of(curl + "-0 " + url + "/stream");
    EXPECT_EQ(output, "one,two,three");
    output = co_await output_of(
        curl + "--expect100-timeout 50 -o /dev/null -w '%{http_code} %{size_download}' --data-binary @" + big +
        " -H 'Expect: 100-continue' " + url + "/echo");
    EXPECT_EQ(output, "200 3000000");
    output = co_await output_of("cat " + big + " | " + curl +
                                "-o /dev/null -w '%{http_code} %{size_download}' -X POST -T - " + url + "/echo");
    EXPECT_EQ(output, "200 3000000");
    output = co_await output_of(curl + "-o /dev/null -w '%{http_code}' -X POST " + url + "/echo");
    EXPECT_EQ(output, "200");
    output = co_await output_of(curl + url + "/torn >/dev/null 2>&1; echo $?");
    EXPECT_EQ(output, "18\n") << "a torn reply looked whole";
    output = co_await output_of(curl + "-o /dev/null -w '%{http_code}' -H 'Host: evil.test' " + url + "/hello");
    EXPECT_EQ(output, "421");
    output =
        co_await output_of(curl + "-o /dev/null -w '%{http_code}' -H 'Origin: https://evil.test' " + url + "/hello");
    EXPECT_EQ(output, "403");
    output = co_await output_of("curl -s --noproxy '*' -m 2 " + url + "/wait");
    EXPECT_EQ(output, "begun");
    const std::function<bool()> left = [&] { return test_site.cancelled == 1 && server.connections() == 0; };
    const bool cancelled = co_await comes_about(left);
    EXPECT_TRUE(cancelled);
  };
  run([&] { return test_site.open(test_site.pages(), http_server_settings(), body); });
}

TEST(HttpServerPeers, a_reply_before_the_body_was_sent_reaches_curl) {
  if (!has("curl")) GTEST_SKIP() << "there is no curl";
  const temporary_folder folder;
  const std::string big = folder / "big";
  std::ofstream(big) << std::string(20'000'000, 'x');
  site test_site;
  const work body = [&](http_server&) -> awaitable<void> {
    const std::string output = co_await output_of(
        "curl -sS --noproxy '*' --max-time 60 -o /dev/null -w '%{http_code}' -H 'Expect:' --data-binary @" + big +
        " http://127.0.0.1:" + std::to_string(test_site.port) + "/echo 2>/dev/null");
    EXPECT_EQ(output, "413");
  };
  run([&] { return test_site.open(test_site.pages(), http_server_settings(), body); });
}

TEST(HttpServerPeers, pythons_http_client_is_served) {
  if (!has("python3")) GTEST_SKIP() << "there is no Python";
  site test_site;
  const work body = [&](http_server& server) -> awaitable<void> {
    const std::string output = co_await output_of("python3 - " + std::to_string(test_site.port) + R"( 2>&1 <<'END'
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
def ask(*what, **more):
    c.request(*what, **more)
    r = c.getresponse()
    print(r.status, r.read(100).decode(), sep=":", end=" ")
    r.read()
ask("GET", "/hello")
ask("HEAD", "/hello")
ask("GET", "/stream")
ask("POST", "/echo", body=b"abc")
ask("POST", "/echo", body=iter([b"ab", b"", b"cd"]), encode_chunked=True)
ask("PUT", "/hello", body=b"x" * 100000)
ask("GET", "/throw")
ask("GET", "/hello")
try:
    ask("GET", "/torn")
except http.client.IncompleteRead as e:
    print("incomplete")
END
)");
    EXPECT_EQ(output,
              "200:hello 200: 200:one,two,three 200:abc 200:abcd 200:hello 500:500 Internal Server Error\n 200:hello "
              "incomplete\n");
    static_cast<void>(server);
  };
  run([&] { return test_site.open(test_site.pages(), http_server_settings(), body); });
}

awaitable<void> serve_tls(site* test_site) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const certificate authority("");
  const certificate own("DNS:localhost,IP:127.0.0.1", &authority);
  http_server_settings settings;
  settings.head_timeout(std::chrono::seconds(3));
  http_server server(executor, test_site->pages(), settings);
  cofferdam::tls_server_settings shown;
  shown.certificate(own.pem(), own.key_pem());
  cofferdam::listener where = cofferdam::tls_listener(executor, "127.0.0.1", 0, shown);
  test_site->port = where.port();
  EXPECT_TRUE(where.is_loopback());
  server.listen(std::move(where));
  bool ended = false;
  const auto done = [&](const std::exception_ptr&) { ended = true; };
  cofferdam_test::spawn(executor, server.run(), done);
  cofferdam::tls_settings trust;
  trust.trust(authority.pem());
  {
    http_client client(executor, cofferdam::detail::tls_connector("127.0.0.1", test_site->port, trust));
    http_response answer = co_await client.request(http_request("GET", "/hello"));
    EXPECT_EQ(answer.text(), "hello");
    answer = co_await client.request(http_request("GET", "/stream"));
    EXPECT_EQ(answer.text(), "one,two,three");
    const std::string much(2'000'000, 'x');
    http_request upload("POST", "/echo");
    upload.content("text/plain", much);
    answer = co_await client.request(std::move(upload));
    EXPECT_EQ(answer.body().size(), much.size());
    EXPECT_EQ(server.connections(), 1U);
    co_await client.close();
  }
  raw_client plain = co_await raw_client::connect(test_site->there());
  co_await plain.say("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string heard = co_await plain.rest();
  EXPECT_EQ(heard.find("hello"), std::string::npos);
  raw_client silent = co_await raw_client::connect(test_site->there());
  heard = co_await silent.rest();
  EXPECT_EQ(heard, "");
  raw_client leaving =
      co_await raw_client::connect(cofferdam::detail::tls_connector("127.0.0.1", test_site->port, trust));
  co_await leaving.say("GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
  heard = co_await leaving.hear("begun");
  leaving.close();
  const std::function<bool()> left = [&] { return test_site->cancelled == 1; };
  const bool cancelled = co_await comes_about(left);
  EXPECT_TRUE(cancelled);
  co_await server.stop();
  const std::function<bool()> over = [&] { return ended; };
  const bool stopped = co_await comes_about(over);
  EXPECT_TRUE(stopped);
}

TEST(HttpServerPeers, tls_is_spoken) {
  site test_site;
  run([&] { return serve_tls(&test_site); });
}

TEST(HttpServerPeers, a_certificate_that_is_of_no_use_is_an_error) {
  asio::io_context context;
  const certificate issued("DNS:localhost");
  const certificate other("DNS:localhost");
  const auto refused = [&](cofferdam::tls_server_settings settings) {
    try {
      cofferdam::tls_listener(context.get_executor(), "127.0.0.1", 0, settings);
    } catch (const cofferdam::error& failure) {
      EXPECT_EQ(std::string(failure.what()).find("client"), std::string::npos) << failure.what();
      return failure.code() == exec_errc::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(cofferdam::tls_server_settings().certificate("nonsense", issued.key_pem())));
  EXPECT_TRUE(refused(cofferdam::tls_server_settings().certificate(issued.pem(), other.key_pem())));
  EXPECT_TRUE(refused(cofferdam::tls_server_settings().certificate(issued.pem(), issued.locked_key_pem())));
  EXPECT_TRUE(refused(cofferdam::tls_server_settings().certificate_files("/none/a", "/none/b")));
}

}  // namespace
