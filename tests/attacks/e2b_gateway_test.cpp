// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks on the E2B gateway: by a web page in a browser, by malformed requests, and by one client on another. Each
// test contains a control: the same request without the attack, which must succeed.

#include <cofferdam/serve/e2b_gateway.hpp>

#include "serve/gateway_support.hpp"
#include "support/census.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::connect_message;
using namespace std::chrono_literals;
using cofferdam_test::comes_about;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::gateway_stream;
using cofferdam_test::json_of;
using cofferdam_test::memory_growth;
using cofferdam_test::raw_client;
using cofferdam_test::run_with_gateway;
using cofferdam_test::text_at;

/// Expects that this program's memory grew by less than `max_mib` MiB. Checks nothing where the kernel cannot report
/// exact figures, or under a sanitizer.
void expect_small(const memory_growth& memory, std::size_t max_mib) {
  if (memory.is_exact() && !cofferdam_test::is_sanitized()) {
    EXPECT_LT(memory.peak(), max_mib * 1024 * 1024);
  }
}

awaitable<int> status_of(gateway_client& client, http_request request) {
  const http_response answer = co_await client.http.request(std::move(request));
  co_return answer.status();
}

TEST(Attack, E2_gateway_MC_01_a_web_page_and_a_rebound_name_are_refused) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name sandbox_name = co_await client.create();
    const auto create = [&](const std::string& host, const std::string& origin) {
      http_request request("POST", "/v2/sandboxes");
      request.field("X-API-KEY", client.key).content("application/json", R"({"templateID":"base"})");
      if (!host.empty()) request.field("Host", host);
      if (!origin.empty()) request.field("Origin", origin);
      return request;
    };
    const auto list = [&](const std::string& host, const std::string& origin) {
      http_request request = gateway_client::to_sandbox("POST", "/process.Process/List", sandbox_name);
      request.content("application/json", "{}");
      if (!host.empty()) request.field("Host", host);
      if (!origin.empty()) request.field("Origin", origin);
      return request;
    };
    for (const char* const origin :
         {"http://evil.test", "null", "https://127.0.0.1.evil.test", "http://localhost.evil.test"}) {
      int status = co_await status_of(client, create("", origin));
      EXPECT_EQ(status, 403) << origin;
      status = co_await status_of(client, list("", origin));
      EXPECT_EQ(status, 403) << origin;
    }
    for (const char* const host : {"evil.test", "evil.test:3000", "49983-i.evil.test", "localhost.evil.test"}) {
      int status = co_await status_of(client, create(host, ""));
      EXPECT_EQ(status, 421) << host;
      status = co_await status_of(client, list(host, ""));
      EXPECT_EQ(status, 421) << host;
      status = co_await status_of(client, list(host, "http://" + std::string(host)));
      EXPECT_EQ(status, 421) << host << ": an origin that fits its host proves nothing";
    }
    EXPECT_EQ(gateway.sandboxes(), 1U);
    // Control: requests without an origin, and with the gateway's own host names, are accepted.
    for (const char* const host : {"", "localhost", "127.0.0.1:1", "[::1]", "api.localhost"}) {
      const int status = co_await status_of(client, create(host, ""));
      EXPECT_EQ(status, 201) << host;
    }
    const int by_name = co_await status_of(client, list("49983-" + sandbox_name.id + ".localhost", ""));
    EXPECT_EQ(by_name, 200);
  });
}

TEST(Attack, E2_gateway_MC_02_without_the_right_key_or_token_nothing_is_reached) {
  constexpr const char* right = "e2b_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  run_with_gateway(
      [&](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
        for (const std::string& key : {std::string(), std::string("e2b_"), std::string(right).substr(0, 43),
                                       std::string(right) + "a", std::string("E2B_") + (right + 4), std::string("*")}) {
          client.key = key;
          for (const char* const target : {"/sandboxes", "/v2/sandboxes", "/sandboxes/iabc", "/templates", "/"}) {
            const http_response answer = co_await client.api("GET", target);
            EXPECT_EQ(answer.status(), 401) << key << " " << target;
            EXPECT_EQ(
                text_at(json_of(answer.text()), "message"),
                "Invalid API key, please visit https://e2b.dev/docs/api-key for more information.\nCannot get the "
                "team for the given API key");
          }
          const http_response answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
          EXPECT_EQ(answer.status(), 401) << key;
        }
        EXPECT_EQ(gateway.sandboxes(), 0U);
        client.key = right;
        const gateway_sandbox_name sandbox_name = co_await client.create();
        const http_response control = co_await client.call(sandbox_name, "process.Process/List", "{}");
        EXPECT_EQ(control.status(), 200);
        for (const std::string& token :
             {std::string(), std::string(64, '0'), sandbox_name.token.substr(1), std::string(right)}) {
          gateway_sandbox_name wrong = sandbox_name;
          wrong.token = token;
          for (const char* const method : {"process.Process/List", "filesystem.Filesystem/ListDir"}) {
            const http_response answer = co_await client.call(wrong, method, R"({"path":"."})");
            EXPECT_EQ(answer.status(), 401) << method;
          }
          gateway_stream stream = co_await client.stream(wrong, "process.Process/Start", R"({"process":{"cmd":"id"}})");
          EXPECT_EQ(stream.status(), 401);
          http_response answer = co_await client.get(wrong, "/files?path=x");
          EXPECT_EQ(answer.status(), 401);
          answer = co_await client.put(wrong, "/files?path=x", "x");
          EXPECT_EQ(answer.status(), 401);
          answer = co_await client.get(wrong, "/envs");
          EXPECT_EQ(answer.status(), 401);
        }
        // The gateway's API key is not valid for a sandbox. The response to an unknown sandbox does not reveal which
        // sandboxes exist.
        const gateway_sandbox_name guessed{"i00000000000000000000", sandbox_name.token};
        const http_response answer = co_await client.call(guessed, "process.Process/List", "{}");
        EXPECT_EQ(answer.status(), 502);
      },
      e2b_gateway::options().api_key(right));
}

TEST(Attack, E2_gateway_MC_07_two_clients_see_nothing_of_each_other) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        client.key = "e2b_one";
        const gateway_sandbox_name mine = co_await client.create();
        co_await client.put(mine, "/files?path=secret.txt", "of one");
        gateway_stream stream = co_await client.start(mine, "sleep 1000");
        client.key = "e2b_two";
        const gateway_sandbox_name other = co_await client.create();
        http_response answer = co_await client.api("GET", "/v2/sandboxes");
        EXPECT_EQ(json_of(answer.text()).as_array().size(), 1U);
        for (const auto& [method, what] : std::vector<std::pair<const char*, const char*>>{{"GET", ""},
                                                                                           {"DELETE", ""},
                                                                                           {"POST", "/timeout"},
                                                                                           {"POST", "/connect"},
                                                                                           {"POST", "/pause"},
                                                                                           {"GET", "/metrics"}}) {
          answer = co_await client.api(method, "/sandboxes/" + mine.id + what, R"({"timeout":1})");
          EXPECT_EQ(answer.status(), 404) << method << what;
        }
        gateway_sandbox_name crossed = mine;
        crossed.token = other.token;
        answer = co_await client.get(crossed, "/files?path=secret.txt");
        EXPECT_EQ(answer.status(), 401);
        answer = co_await client.get(other, "/files?path=secret.txt");
        EXPECT_EQ(answer.status(), 404);
        const std::string kill =
            R"({"process":{"pid":)" + std::to_string(stream.pid) + R"(},"signal":"SIGNAL_SIGKILL"})";
        answer = co_await client.call(other, "process.Process/SendSignal", kill);
        EXPECT_EQ(answer.status(), 404) << "a process of the one is none of the other";
        answer = co_await client.call(mine, "process.Process/SendSignal", kill);
        EXPECT_EQ(answer.status(), 200) << "the control";
        answer = co_await client.get(mine, "/files?path=secret.txt");
        EXPECT_EQ(answer.text(), "of one");
      },
      e2b_gateway::options().api_key("e2b_one").api_key("e2b_two"));
}

TEST(Attack, E2_gateway_no_path_leads_out_of_a_sandbox) {
  const cofferdam_test::temporary_folder outside;
  const std::string secret = (std::filesystem::path(outside.path()) / "secret").string();
  std::ofstream(secret) << "canary";
  run_with_gateway([&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name sandbox_name = co_await client.create();
    gateway_stream stream =
        co_await client.run(sandbox_name, "ln -s '" + secret + "' link; ln -s '" + outside.path().string() +
                                              "' folder; pwd; echo control > file");
    const std::string workspace = stream.out.substr(0, stream.out.find('\n'));
    for (const std::string& path :
         {secret, "/../../../../.." + secret, std::string("../../../../../..") + secret, std::string("link"),
          std::string("folder/secret"), std::string("/home/user/link"), workspace + "/link", workspace + "/../x",
          "/home/user/../../" + secret, "/home/user" + std::string("/%2e%2e/%2e%2e/etc/passwd")}) {
      std::string encoded;
      for (const char c : path) encoded += c == ' ' ? std::string("%20") : std::string(1, c);
      http_response answer = co_await client.get(sandbox_name, "/files?path=" + encoded);
      EXPECT_GE(answer.status(), 400) << path;
      EXPECT_EQ(answer.text().find("canary"), std::string_view::npos) << path;
      if (path.find("link") == std::string::npos) {
        answer = co_await client.put(sandbox_name, "/files?path=" + encoded, "overwritten");
        EXPECT_GE(answer.status(), 400) << path;
      }
      answer = co_await client.call(sandbox_name, "filesystem.Filesystem/ListDir", R"({"path":")" + path + "\"}");
      EXPECT_GE(answer.status(), 400) << path;
    }
    for (const char* const name : {"../x", "folder/x", "/etc/x"}) {
      const std::string form = "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + std::string(name) +
                               "\"\r\n\r\nx\r\n--B--\r\n";
      const http_response answer = co_await client.put(sandbox_name, "/files", form, "multipart/form-data; boundary=B");
      EXPECT_GE(answer.status(), 400) << name;
    }
    const http_response moved = co_await client.call(sandbox_name, "filesystem.Filesystem/Move",
                                                     R"({"source":"folder/secret","destination":"mine"})");
    EXPECT_GE(moved.status(), 400);
    co_await client.call(sandbox_name, "filesystem.Filesystem/Remove", R"({"path":"folder"})");
    const http_response control = co_await client.get(sandbox_name, "/files?path=/home/user/./d/../file");
    EXPECT_EQ(control.text(), "control\n");
  });
  EXPECT_EQ(outside.read("secret"), "canary");
  EXPECT_FALSE(outside.has("x"));
}

TEST(Attack, E2_gateway_MC_04_hostile_requests_leave_it_alive_and_small) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name sandbox_name = co_await client.create();
        const memory_growth memory;
        const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
        const std::vector<std::string> bodies{
            deep,
            std::string(900'000, '{'),
            R"({"process":{"cmd":"echo","cmd":"echo"},"process":{"cmd":"true","args":["x"]}})",
            "{\"process\":{\"cmd\":\"\xff\xfe\"}}",
            std::string("\0\0\0", 3),
            R"({"process":{"cmd":"\u0000"}})",
            R"({"process":{"pid":18446744073709551616}})",
            R"({"process":{"pid":-1}})",
            R"({"process":{"cmd":"x","args":)" + std::string(30, '[') + std::string(30, ']') + "}}",
        };
        for (const std::string& body : bodies) {
          for (const char* const method : {"process.Process/SendInput", "filesystem.Filesystem/Stat"}) {
            const http_response answer = co_await client.call(sandbox_name, method, body);
            // Unknown fields are not errors: Stat ignores them, and returns the entry of the home directory.
            const bool is_stat = std::string_view(method).ends_with("Stat");
            EXPECT_TRUE(answer.status() >= 400 || is_stat) << body.substr(0, 80);
            EXPECT_LT(answer.text().size(), 2000U);
          }
          gateway_stream stream = co_await client.stream(sandbox_name, "process.Process/Start", body);
          co_await stream.finish();
          EXPECT_FALSE(stream.ending().empty()) << body.substr(0, 80);
          const http_response created = co_await client.api("POST", "/v2/sandboxes", body);
          EXPECT_GE(created.status(), 400);
        }
        // These requests announce wrong lengths, or have bodies above the limit, with and without Content-Length.
        const std::string head =
            "POST /process.Process/Start HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: " + sandbox_name.id +
            "\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: " + sandbox_name.token +
            "\r\nContent-Type: application/connect+json\r\n";
        const std::string mebibyte(std::size_t{1} << 20U, 'x');
        const std::string none = head + "Content-Length: 104857600\r\n\r\n";
        const std::string lies = head + "Content-Length: 5\r\n\r\n" + std::string("\0\xff\xff\xff\xff", 5);
        const std::string reserved = head + "Content-Length: 7\r\n\r\n" + std::string("\x80\0\0\0\2{}", 7);
        const std::string zipped = head + "Content-Length: 7\r\n\r\n" + std::string("\1\0\0\0\2{}", 7);
        const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n100000\r\n" + mebibyte +
                                    "\r\n100000\r\n" + mebibyte + "\r\n100000\r\n" + mebibyte + "\r\n0\r\n\r\n";
        for (const std::string& text : {none, lies, reserved, zipped, chunked}) {
          raw_client raw = co_await raw_client::connect(client.there());
          try {
            co_await raw.say(text);
            co_await raw.end();
          } catch (const error&) {
            // The gateway may have refused the request and closed the connection already.
          }
          const std::string heard = co_await raw.rest();
          EXPECT_EQ(heard.find("\"event\""), std::string::npos) << heard;
        }
        // Sends prefixes of a valid request, each 7 bytes longer than the previous one, and closes the connection
        // after each.
        const std::string whole = head + "Content-Length: 40\r\n\r\n" +
                                  connect_message(R"({"process":{"cmd":"sleep"},"tag":"x"})").substr(0, 40);
        for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
          raw_client raw = co_await raw_client::connect(client.there());
          co_await raw.say(whole.substr(0, cut));
          raw.close();
        }
        gateway_stream alive = co_await client.run(sandbox_name, "echo alive");
        EXPECT_EQ(alive.out, "alive\n");
        expect_small(memory, 128);
      },
      e2b_gateway::options().message(std::size_t{1} << 20U));
}

TEST(Attack, E2_gateway_a_listener_that_does_not_read_costs_no_memory) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name sandbox_name = co_await client.create();
    const memory_growth memory;
    gateway_stream first = co_await client.start(sandbox_name, "head -c 100000000 /dev/zero");
    std::vector<gateway_stream> lazy;
    for (int i = 0; i < 8; ++i) {
      gateway_stream more = co_await client.stream(sandbox_name, "process.Process/Connect",
                                                   R"({"process":{"pid":)" + std::to_string(first.pid) + "}}");
      lazy.push_back(std::move(more));
    }
    // While the other subscribers do not read, the gateway stops reading from the command. Control: after they
    // disconnect, all output arrives.
    co_await cofferdam_test::pause(500ms);
    expect_small(memory, 64);
    lazy.clear();
    std::size_t total = 0;
    for (;;) {
      const std::optional<std::string> message = co_await first.next();
      if (!message) break;
      first.take(*message);
      total += std::exchange(first.out, std::string()).size();
    }
    EXPECT_EQ(total, 100'000'000U);
    expect_small(memory, 64);
  });
}

TEST(Attack, E2_gateway_an_upload_is_never_in_memory) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name sandbox_name = co_await client.create();
    const std::string piece(std::size_t{1} << 20U, 'x');
    const memory_growth memory;
    raw_client raw = co_await raw_client::connect(client.there());
    co_await raw.say("POST /files?path=big HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: " + sandbox_name.id +
                     "\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: " + sandbox_name.token +
                     "\r\nContent-Type: application/octet-stream\r\nContent-Length: 134217728\r\n\r\n");
    for (int i = 0; i < 128; ++i) co_await raw.say(piece);
    const std::string heard = co_await raw.hear("\r\n\r\n");
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 200 OK")) << heard;
    expect_small(memory, 48);
    // An upload that the client aborts leaves neither a file nor a temporary file.
    raw_client cut = co_await raw_client::connect(client.there());
    co_await cut.say("POST /files?path=cut HTTP/1.1\r\nHost: localhost\r\nE2b-Sandbox-Id: " + sandbox_name.id +
                     "\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: " + sandbox_name.token +
                     "\r\nContent-Type: application/octet-stream\r\nContent-Length: 134217728\r\n\r\n");
    for (int i = 0; i < 4; ++i) co_await cut.say(piece);
    cut.close();
    const http_response answer = co_await client.get(sandbox_name, "/files?path=cut");
    EXPECT_EQ(answer.status(), 404);
    for (int i = 0; i < 400; ++i) {
      const http_response list = co_await client.call(sandbox_name, "filesystem.Filesystem/ListDir", R"({"path":"."})");
      if (json_of(list.text()).at("entries").as_array().size() == 1) co_return;
      co_await cofferdam_test::pause(50ms);
    }
    ADD_FAILURE() << "something of the cut upload stays";
  });
}

TEST(Attack, E2_03_a_sandbox_ends_with_its_time_and_takes_what_it_started_with_it) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name brief = co_await client.create(R"({"templateID":"base","timeout":1})");
    const gateway_sandbox_name lasting = co_await client.create();
    const std::string line =
        "setsid sh -c 'echo $$; exec sleep 1000' & setsid setsid sh -c 'echo $$; exec sleep 1000' & wait";
    std::vector<std::string> pids[2];
    int which = 0;
    std::vector<gateway_stream> streams;
    for (const gateway_sandbox_name& sandbox_name : {brief, lasting}) {
      gateway_stream stream = co_await client.start(sandbox_name, line);
      while (std::count(stream.out.begin(), stream.out.end(), '\n') < 2) {
        const std::optional<std::string> message = co_await stream.next();
        if (!message) break;
        stream.take(*message);
      }
      for (std::size_t at = 0; at < stream.out.size(); at = stream.out.find('\n', at) + 1)
        pids[which].push_back(stream.out.substr(at, stream.out.find('\n', at) - at));
      ++which;
      streams.push_back(std::move(stream));
    }
    const auto alive = [](const std::string& pid) { return std::filesystem::exists("/proc/" + pid); };
    EXPECT_EQ(pids[0].size(), 2U);
    const std::function<bool()> dead = [&] { return !alive(pids[0].at(0)) && !alive(pids[0].at(1)); };
    const bool are_dead = co_await comes_about(dead);
    EXPECT_TRUE(are_dead);
    for (const std::string& pid : pids[1]) EXPECT_TRUE(alive(pid)) << "the control";
    EXPECT_EQ(gateway.sandboxes(), 1U);
  });
}

}  // namespace
