// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks on the E2B backend by a hostile, broken or busy E2B service. Each test contains a control, in which the
// attack succeeds or an ordinary request works.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/detail/net/connect_envelope.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/tls_listener.hpp>

#include "backends/e2b/scripted_service.hpp"
#include "net/certificates.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::connect_end;
using cofferdam::detail::connect_message;
using cofferdam::detail::http_client;
using cofferdam::detail::http_server;
using namespace std::chrono_literals;
using cofferdam_test::certificate;
using cofferdam_test::comes_about;
using cofferdam_test::scripted_service;
using action = scripted_service::action;

const std::string canary = "e2b_canary0123456789";

std::string& warnings() {
  static std::string text;
  return text;
}

action says(int status, std::string text, std::string field = {}, std::string value = {}) {
  return [=](http_call& call, const boost::json::object&) -> awaitable<void> {
    http_reply answer(status);
    if (!field.empty()) answer.field(field, value);
    answer.content("application/json", text);
    co_await call.reply(std::move(answer));
  };
}

awaitable<void> torn(http_call&, const boost::json::object&) {
  throw std::runtime_error("torn");
  co_return;
}

/// Opens an environment, runs a command and writes a file. Returns the texts of all errors and advice.
awaitable<std::string> all_that_is_said(e2b::provider recipe) {
  std::string collected;
  try {
    e2b::environment env = co_await recipe.open();
    try {
      command_result result = co_await env.run_command(shell("x"));
      collected += result.reason() + result.advice();
      if (result.ok()) co_await env.write_file("f", as_bytes("content"));
    } catch (const error& failure) {
      collected += failure.what();
      collected += failure.cause().message();
    }
    co_await env.close();
  } catch (const error& failure) {
    collected += failure.what();
    collected += failure.cause().message();
  }
  co_return collected;
}

TEST(Attack, E2_01_a_service_that_quotes_the_key_does_not_make_us_say_it) {
  const warning_handler before =
      set_warning_handler([](std::string_view sentence) { warnings() += std::string(sentence); });
  const std::string token = "token-0123456789";
  const std::string quoting = R"({"code":401,"message":"no such key: )" + canary + " or " + token + R"("})";
  const std::string page = "<html>X-API-KEY: " + canary + " X-Access-Token: " + token + std::string(312, 'x') + canary;
  // Control: the response bodies, before they are redacted, contain the key.
  EXPECT_NE(e2b::detail::said_message(quoting).find(canary), std::string::npos);
  EXPECT_NE(e2b::detail::said_message(page).find(canary), std::string::npos);
  for (const int status : {400, 401, 403, 404, 409, 429, 500, 502, 503, 507}) {
    for (const std::string& words : {quoting, page}) {
      for (const char* const where :
           {"POST /sandboxes", "POST /v2/sandboxes", "POST /process.Process/Start", "POST /files",
            "DELETE /sandboxes/iabc", "GET /health", "POST /sandboxes/iabc/timeout"}) {
        scripted_service service;
        for (int i = 0; i < 10; ++i) service.instead[where].push_back(says(status, words));
        if (std::string(where) == "POST /v2/sandboxes") service.instead["POST /sandboxes"] = {says(405, "")};
        if (std::string(where) == "GET /health") service.command = &torn;
        if (std::string(where) == "POST /files")
          service.command = [](http_call& call, const boost::json::object& body) {
            return scripted_service::stream(call, scripted_service::whole(scripted_service::mark_of(body), "", "", 0));
          };
        std::string texts;
        service.run([&]() -> awaitable<void> {
          texts = co_await all_that_is_said(service.provider().first_pause(1ms).lifetime(1s));
        });
        EXPECT_EQ((texts + warnings()).find("canary0123"), std::string::npos) << where << texts;
        // If creating the sandbox fails, the client has not received a token yet.
        const bool has_token = !std::string(where).ends_with("sandboxes");
        EXPECT_TRUE(!has_token || (texts + warnings()).find(token) == std::string::npos) << where << texts;
      }
    }
  }
  set_warning_handler(before);
}

TEST(Attack, E2_01_a_redirect_does_not_take_the_key_elsewhere) {
  scripted_service elsewhere;
  scripted_service service;
  elsewhere.run([&]() -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    const std::string target = elsewhere.url() + "/sandboxes";
    for (const int status : {301, 302, 307, 308}) {
      service.instead["POST /sandboxes"] = {says(status, "{}", "Location", target)};
      const auto each = [&](http_call& call) -> awaitable<void> {
        co_await call.reply(http_reply(status).field("Location", target));
      };
      cofferdam_test::site first;
      const std::function<awaitable<void>(http_server&)> inner = [&](http_server&) -> awaitable<void> {
        const std::string texts =
            co_await all_that_is_said(service.provider().api_url("http://127.0.0.1:" + std::to_string(first.port)));
        EXPECT_NE(texts.find("not followed"), std::string::npos) << texts;
      };
      co_await first.open(each, http_server_settings(), inner);
    }
    EXPECT_TRUE(elsewhere.seen.empty());
    // Control: a client that follows redirects sends the key to the other server.
    http_client naive(executor, elsewhere.server.there());
    http_request what("POST", "/sandboxes");
    what.field("X-API-KEY", canary).content("application/json", "{}");
    co_await naive.request(std::move(what));
    EXPECT_EQ(elsewhere.seen.at(0).fields.find("X-API-KEY"), canary);
  });
}

TEST(Attack, E2_01_a_stranger_with_a_certificate_of_his_own_is_not_talked_to) {
  const certificate authority("");
  const certificate good("DNS:localhost,IP:127.0.0.1", &authority);
  const cofferdam_test::temporary_folder folder;
  folder.write("ca.pem", authority.pem());
  int heard = 0;
  const auto work = [&]() -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_server server(executor, [&heard](http_call& call) -> awaitable<void> {
      ++heard;
      co_await call.reply(http_reply(401).content("application/json", R"({"code":401,"message":"heard"})"));
    });
    listener where =
        tls_listener(executor, "127.0.0.1", 0, tls_server_settings().certificate(good.pem(), good.key_pem()));
    const std::string url = "https://127.0.0.1:" + std::to_string(where.port());
    server.listen(std::move(where));
    bool over = false;
    cofferdam_test::spawn(executor, server.run(), [&over](std::exception_ptr) { over = true; });
    const auto recipe = [&url] {
      return e2b::from_template().variables_from(e2b::surroundings()).api_key(canary).api_url(url).first_pause(1ms);
    };
    const std::string stranger = co_await all_that_is_said(recipe());
    EXPECT_NE(stranger.find("trust"), std::string::npos) << stranger;
    EXPECT_EQ(heard, 0);
    // Control: a client that trusts this authority connects to the attacker's server.
    const std::string trusted = co_await all_that_is_said(recipe().ca_file((folder / "ca.pem").string()));
    EXPECT_NE(trusted.find("heard"), std::string::npos) << trusted;
    EXPECT_EQ(heard, 1);
    co_await server.stop();
    const std::function<bool()> is_over = [&over] { return over; };
    co_await comes_about(is_over);
  };
  cofferdam_test::run(work);
}

TEST(Attack, E2_01_the_key_goes_to_the_control_plane_only_and_an_id_leads_nowhere_else) {
  for (const char* const id : {"evil.example/", "a@evil", "..", "a%2f", "i\\r\\n"}) {
    scripted_service service;
    service.instead["POST /sandboxes"] = {
        says(201, std::string(R"({"sandboxID":")") + id + R"(","envdVersion":"0.6.13"})")};
    std::string texts;
    service.run([&]() -> awaitable<void> { texts = co_await all_that_is_said(service.provider()); });
    // After the invalid id, the client only sends requests to the control plane (`/sandboxes`), to find and remove
    // the sandbox that may exist.
    EXPECT_EQ(service.count("POST", "/sandboxes"), 1U);
    for (const auto& received : service.seen)
      EXPECT_TRUE(received.path.find("/sandboxes") <= 3) << received.path << texts;
  }
  // Control: with a valid id, the client also connects to the sandbox, and sends no key there.
  scripted_service service;
  service.run([&]() -> awaitable<void> { co_await all_that_is_said(service.provider()); });
  bool has_talked = false;
  for (const auto& received : service.seen) {
    if (received.path.find("/sandboxes") <= 3) continue;
    has_talked = true;
    EXPECT_FALSE(received.fields.find("X-API-KEY").has_value());
  }
  EXPECT_TRUE(has_talked);
}

TEST(Attack, E2_02_a_busy_service_is_asked_again_later_and_as_late_as_it_says) {
  scripted_service service;
  service.instead["POST /sandboxes"] = {
      says(429, R"({"code":429,"message":"Rate limit exceeded"})", "Retry-After", "1"),
      says(503, R"({"code":503,"error_code":"sandbox_capacity_unavailable","message":"busy"})")};
  const auto before = std::chrono::steady_clock::now();
  service.run([&]() -> awaitable<void> {
    const std::string texts = co_await all_that_is_said(service.provider());
    EXPECT_EQ(texts, "");
  });
  EXPECT_EQ(service.count("POST", "/sandboxes"), 3U);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 1s);
  // The number of attempts is limited to four, and a wait is limited by the time limit of the request.
  scripted_service never;
  for (int i = 0; i < 20; ++i) never.instead["POST /sandboxes"].push_back(says(503, "{}"));
  never.run([&]() -> awaitable<void> { co_await all_that_is_said(never.provider()); });
  EXPECT_EQ(never.count("POST", "/sandboxes"), 4U);
  scripted_service late;
  late.instead["POST /sandboxes"] = {says(429, "{}", "Retry-After", "600")};
  late.run([&]() -> awaitable<void> { co_await all_that_is_said(late.provider()); });
  EXPECT_EQ(late.count("POST", "/sandboxes"), 1U);
  // Control: the client does not retry an error that waiting cannot resolve.
  scripted_service full;
  full.instead["POST /sandboxes"] = {
      says(429, R"({"code":429,"message":"you have reached the maximum number of concurrent E2B sandboxes"})")};
  full.run([&]() -> awaitable<void> {
    const std::string texts = co_await all_that_is_said(full.provider());
    EXPECT_NE(texts.find("close unneeded sandboxes"), std::string::npos) << texts;
  });
  EXPECT_EQ(full.count("POST", "/sandboxes"), 1U);
}

TEST(Attack, E2_02_a_command_that_may_have_started_is_never_sent_again) {
  constexpr const char* const path = "/process.Process/Start";
  const auto commands = [](const scripted_service& service) {
    std::size_t found = 0;
    for (const auto& received : service.seen)
      if (received.path == path && received.body.find("COFFERDAM_COMMAND") != std::string::npos &&
          received.body.find("environ") == std::string::npos)
        ++found;
    return found;
  };
  const auto cut_after = [](std::size_t size) -> action {
    return [size](http_call& call, const boost::json::object& body) -> awaitable<void> {
      const std::string response = scripted_service::whole(scripted_service::mark_of(body), "out", "", 0);
      co_await scripted_service::torn_stream(call, response.substr(0, size));
    };
  };
  for (const action& what : {action(&torn), cut_after(0), cut_after(3), cut_after(60), says(500, "{}"), says(502, "x"),
                             says(504, "<html>")}) {
    scripted_service service;
    service.command = what;
    service.run([&]() -> awaitable<void> {
      const std::string texts = co_await all_that_is_said(service.provider());
      EXPECT_NE(texts, "");
    });
    EXPECT_EQ(commands(service), 1U);
  }
  // Control: after a response which guarantees that nothing was started, the client sends the command again.
  scripted_service service;
  int turn = 0;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    const std::string response = scripted_service::whole(scripted_service::mark_of(body), "out", "", 0);
    if (turn++ == 0)
      co_await scripted_service::json(call, 429, R"({"code":429,"message":"too many"})");
    else
      co_await scripted_service::stream(call, response);
  };
  service.run([&]() -> awaitable<void> { co_await all_that_is_said(service.provider()); });
  EXPECT_GE(commands(service), 2U);
}

TEST(Attack, E2_03_a_sandbox_that_nobody_closes_has_an_end) {
  scripted_service service;
  service.run([&]() -> awaitable<void> {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    e2b::environment env = co_await service.provider().lifetime(7s).open();
    EXPECT_NE(service.seen.front().body.find("\"timeout\":7"), std::string::npos);
    co_await env.run_command(shell("x"));
    // Control: the sandbox is not deleted before `close()`.
    EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 0U);
    co_await env.close();
    EXPECT_EQ(service.count("DELETE", "/sandboxes/iabc"), 1U);
  });
}

TEST(Attack, E2_03_expiry_in_the_middle_of_a_command_is_an_error_of_its_own) {
  scripted_service service;
  bool expires = true;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    const std::string response = scripted_service::whole(scripted_service::mark_of(body), "out", "", 0);
    if (!expires) {
      co_await scripted_service::stream(call, response);
      co_return;
    }
    service.sandbox_lives = false;
    co_await scripted_service::torn_stream(call, response.substr(0, 200));
  };
  service.run([&]() -> awaitable<void> {
    // Control: the sandbox does not expire, and the command succeeds.
    expires = false;
    const std::string whole = co_await all_that_is_said(service.provider());
    EXPECT_EQ(whole, "");
    expires = true;
    const std::string texts = co_await all_that_is_said(service.provider());
    EXPECT_NE(texts.find("the sandbox iabc is gone"), std::string::npos) << texts;
  });
}

TEST(Attack, E2_04_envelopes_that_lie_are_refused_and_cost_nothing) {
  std::string wire;
  scripted_service service;
  service.command = [&](http_call& call, const boost::json::object& body) -> awaitable<void> {
    const std::string response = scripted_service::whole(scripted_service::mark_of(body), "out", "", 0);
    co_await scripted_service::stream(call, wire.empty() ? response : wire);
  };
  service.run([&]() -> awaitable<void> {
    e2b::environment env = co_await service.provider().open();
    // Control: a valid stream of envelopes is accepted.
    command_result whole = co_await env.run_command(shell("x"));
    EXPECT_EQ(whole.out().text(), "out");
    const std::string deep = connect_message(std::string(100'000, '['));
    for (const std::string& each :
         {std::string("\0\xff\xff\xff\xff", 5), std::string("\x01\0\0\0\x02{}", 7), std::string("\x80\0\0\0\x02{}", 7),
          std::string("\0\0\0\0\x7f{}", 7), connect_end() + connect_end(), connect_end("null"), deep,
          std::string("\x1f\x8b\x08\0\0\0\0\0", 8)}) {
      wire = each;
      std::optional<error> failure;
      try {
        co_await env.run_command(shell("x"));
      } catch (const error& reason) {
        failure = reason;
      }
      EXPECT_TRUE(failure.has_value());
    }
    wire.clear();
    command_result again = co_await env.run_command(shell("x"));
    EXPECT_EQ(again.out().text(), "out");
    co_await env.close();
  });
}

}  // namespace
