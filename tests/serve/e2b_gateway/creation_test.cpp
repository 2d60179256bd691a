// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the gateway's control API: the wishes in a request for a sandbox, repeated requests, pausing, snapshots and
// forks.

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/middleware/variables.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>

#include "serve/gateway_support.hpp"
#include "support/error_of.hpp"
#include "support/spawn.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::comes_about;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::gateway_stream;
using cofferdam_test::json_of;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;
using cofferdam_test::text_at;

std::string message_of(const http_response& answer) {
  return std::to_string(answer.status()) + " " + text_at(json_of(answer.text()), "message");
}

TEST(E2bCreation, values_that_ask_for_nothing_special_are_taken) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const std::vector<std::string> more{
        R"("network":{},"mcp":null,"volumeMounts":[],"autoPause":false,"allow_internet_access":true,"something":"new")",
        R"("network":{"allowOut":[],"denyOut":null,"rules":{},"allowPublicTraffic":true},"mcp":{},"iam":{"tokens":{}})",
        R"("network":{"allowOut":["1.1.1.1"],"maskRequestHost":"localhost:${PORT}"},"timeout":60.0)",
        R"("autoPause":true,"autoPauseMemory":false,"autoResume":{"enabled":true},"secure":null,"metadata":null)",
        R"("autoResume":true,"lifecycle":{"onTimeout":{"action":"pause","mode":"memory"},"autoResume":true})",
        R"("lifecycle":{"on_timeout":"pause"},"allow_internet_access":null,"mcp":{"a":null,"b":[]},"envVars":null)",
        R"("network":null,"iam":null,"volumeMounts":null,"autoPause":null,"autoResume":{"enabled":false})",
    };
    for (const std::string& members : more) {
      const http_response answer =
          co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base",)" + members + "}");
      EXPECT_EQ(answer.status(), 201) << members << " " << answer.text();
    }
    EXPECT_EQ(gateway.sandboxes(), more.size());
  });
}

TEST(E2bCreation, a_template_can_have_a_provider_of_its_own) {
  const auto body = [](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    gateway.add_template("Python/Data", cofferdam_test::local_provider() | variables("PLACE", "its own"));
    const std::vector<std::pair<std::string, std::string>> rows{
        {"python/data", "its own"}, {"PYTHON/data:v2", "its own"}, {"other", "common"}, {"base", ""}};
    for (const auto& [name, place] : rows) {
      const http_response answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":")" + name + "\"}");
      if (place.empty()) {
        EXPECT_EQ(message_of(answer), "404 template 'base' not found");
        continue;
      }
      EXPECT_EQ(answer.status(), 201) << answer.text();
      const boost::json::value object = json_of(answer.text());
      gateway_sandbox_name box;
      box.id = text_at(object, "sandboxID");
      box.token = text_at(object, "envdAccessToken");
      const gateway_stream ran = co_await client.run(box, "printf %s \"$PLACE\"");
      EXPECT_EQ(ran.out, place) << name;
    }
    for (const std::string& wrong : {std::string(), std::string("a b"), std::string("*"), std::string(129, 'a')})
      EXPECT_EQ(cofferdam_test::code_of([&] { gateway.add_template(wrong, cofferdam_test::local_provider()); }),
                exec_errc::invalid_argument)
          << wrong;
  };
  run_with_gateway(body, e2b_gateway::options().templates({"Other"}),
                   any_provider(cofferdam_test::local_provider() | variables("PLACE", "common")));
}

TEST(E2bCreation, a_wish_that_a_client_would_rely_on_is_refused_with_a_way_out) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const std::string way_out =
        "start it with one that has none: cofferdam serve --provider jail or docker, without --network (in C++, "
        "e2b_gateway::options::without_internet)";
    const std::vector<std::pair<std::string, std::string>> rows{
        {R"("allow_internet_access":false)",
         "501 allow_internet_access: this gateway cannot remove the network of a sandbox; " + way_out},
        {R"("network":{"denyOut":["0.0.0.0/0"]})",
         "501 network: this gateway cannot remove the network of a sandbox; " + way_out},
        {R"("network":{"rules":{"api.example.com":[{"transform":{}, "x":1}]}})",
         "501 network: this gateway cannot change the requests that leave a sandbox; leave rules out, and pass what a "
         "command needs in its variables"},
        {R"("volumeMounts":[{"name":"v","path":"/mnt"}])",
         "501 volumeMounts: this gateway has no volumes; leave it out, and upload the files instead"},
        {R"("mcp":{"github":{"token":"x"}})",
         "501 mcp: this gateway starts no MCP server in a sandbox; leave it out, and start the server as a command"},
        {R"("iam":{"tokens":{"a":{"audience":"b"}}})",
         "501 iam: this gateway issues no tokens for a sandbox; leave it out, and pass a token in envVars"},
    };
    for (const auto& [members, expected] : rows) {
      const http_response answer =
          co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base",)" + members + "}");
      EXPECT_EQ(message_of(answer), expected) << members;
    }
    EXPECT_EQ(gateway.sandboxes(), 0U);
    for (const std::string what :
         {"/v3/templates", "/templates", "/v2/templates/x/builds/y", "/secrets", "/secrets/x"}) {
      const http_response answer = co_await client.api("POST", what, "{}");
      EXPECT_EQ(answer.status(), 501) << what << answer.text();
    }
    http_response answer = co_await client.api("GET", "/templates/aliases/Base");
    EXPECT_EQ(said(answer), R"(200 {"templateID":"base","public":false})");
    answer = co_await client.api("GET", "/templates/aliases/other");
    EXPECT_EQ(answer.status(), 404);
    answer = co_await client.api("GET", "/volumes");
    EXPECT_EQ(said(answer), "200 []");
    answer = co_await client.api("POST", "/volumes", R"({"name":"v"})");
    EXPECT_EQ(message_of(answer),
              "501 volumes: this gateway has no volumes; upload the files into each sandbox instead");
  });
}

TEST(E2bCreation, network_rules_are_accepted_if_they_hold_already) {
  const auto asks = [](std::string rules) {
    return [rules = std::move(rules)](gateway_client& client, gateway_sandbox_name box) {
      return client.api("PUT", "/sandboxes/" + box.id + "/network", rules);
    };
  };
  const auto nothing = asks(R"({"allowOut":[],"denyOut":[]})");
  const auto denial = asks(R"({"denyOut":["0.0.0.0/0"]})");
  const auto permission = asks(R"({"allow_internet_access":false,"allowOut":["1.1.1.1"]})");
  run_with_gateway([&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    http_response answer = co_await nothing(client, box);
    EXPECT_EQ(answer.status(), 204);
    answer = co_await denial(client, box);
    EXPECT_EQ(answer.status(), 501);
  });
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_response answer = co_await denial(client, box);
        EXPECT_EQ(answer.status(), 204);
        answer = co_await permission(client, box);
        EXPECT_EQ(message_of(answer),
                  "501 network: the sandboxes of this gateway have no network at all; leave allowOut out, and upload "
                  "what they need");
      },
      e2b_gateway::options().without_internet());
}

TEST(E2bCreation, a_sandbox_has_the_resources_of_the_options) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const http_response answer = co_await client.api("GET", "/sandboxes/" + box.id);
        const boost::json::value detail = json_of(answer.text());
        EXPECT_EQ(detail.at("cpuCount").to_number<int>(), 3);
        EXPECT_EQ(detail.at("memoryMB").to_number<int>(), 100);
      },
      e2b_gateway::options().shown_resources(3, std::uint64_t{100} << 20U));
}

TEST(E2bCreation, host_names_of_ports_lead_to_this_machine_and_not_to_the_cloud) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    http_response answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
    boost::json::value value = json_of(answer.text());
    const std::string id = text_at(value, "sandboxID");
    const std::string domain = "localhost:" + std::to_string(client.port);
    EXPECT_EQ(text_at(value, "domain"), domain);
    answer = co_await client.api("GET", "/sandboxes/" + id);
    EXPECT_EQ(text_at(json_of(answer.text()), "domain"), domain);
    // The SDKs' name for port 8080, as a browser or curl would use it.
    http_request request("GET", "/");
    request.field("Host", "8080-" + id + "." + domain);
    answer = co_await client.http.request(std::move(request));
    EXPECT_EQ(answer.status(), 501);
    EXPECT_EQ(text_at(json_of(answer.text()), "sandboxId"), id);
  });
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const http_response answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
        EXPECT_EQ(text_at(json_of(answer.text()), "domain"), "box.example");
      },
      e2b_gateway::options().domain("box.example"));
}

TEST(E2bCreation, traffic_that_is_not_public_needs_a_token) {
  const auto body = [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    http_response answer =
        co_await client.api("POST", "/sandboxes", R"({"templateID":"base","network":{"allowPublicTraffic":false}})");
    const boost::json::value value = json_of(answer.text());
    EXPECT_FALSE(value.as_object().contains("envdAccessToken"));
    const std::string token = text_at(value, "trafficAccessToken");
    EXPECT_EQ(token.size(), 64U);
    const auto ask = [&](const std::string& given) {
      http_request request("GET", "/");
      request.field("E2b-Sandbox-Id", text_at(value, "sandboxID")).field("E2b-Sandbox-Port", "49999");
      if (!given.empty()) request.field("E2B-Traffic-Access-Token", given);
      return request;
    };
    answer = co_await client.http.request(ask(""));
    EXPECT_EQ(answer.status(), 401);
    answer = co_await client.http.request(ask(token));
    EXPECT_EQ(answer.status(), 404) << "the code interpreter has no such page";
  };
  run_with_gateway(body, e2b_gateway::options().port(49999, e2b_gateway::code_interpreter()));
}

TEST(E2bCreation, a_repeated_request_gets_the_same_sandbox) {
  run_with_gateway([](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
    const auto ask = [&](const std::string& key, const std::string& body) {
      http_request request("POST", "/v2/sandboxes");
      request.field("X-API-KEY", client.key).field("Idempotency-Key", key).content("application/json", body);
      return client.http.request(std::move(request));
    };
    const std::string body = R"({"templateID":"base"})";
    // Both requests are sent before either is answered.
    std::vector<std::string> ids;
    const auto done = [&](std::exception_ptr failure, http_response answer) {
      ids.push_back(failure ? "failed" : text_at(json_of(answer.text()), "sandboxID"));
    };
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam_test::spawn(executor, ask("k1", body), done);
    cofferdam_test::spawn(executor, ask("k1", body), done);
    const std::function<bool()> both = [&] { return ids.size() == 2; };
    const bool answered = co_await comes_about(both);
    EXPECT_TRUE(answered);
    EXPECT_EQ(ids.front(), ids.back());
    EXPECT_EQ(gateway.sandboxes(), 1U);
    http_response answer = co_await ask("k1", body);
    EXPECT_EQ(text_at(json_of(answer.text()), "sandboxID"), ids.front());
    answer = co_await ask("k1", R"({"templateID":"base","timeout":60})");
    EXPECT_EQ(message_of(answer),
              "422 Idempotency-Key: the key was used for a different request; use a new key for each sandbox");
    answer = co_await ask("k2", body);
    EXPECT_NE(text_at(json_of(answer.text()), "sandboxID"), ids.front());
    // Another owner may use the same key.
    const std::string mine = std::exchange(client.key, "e2b_fedcba9876543210");
    answer = co_await ask("k1", R"({"templateID":"base","timeout":60})");
    EXPECT_EQ(answer.status(), 201);
    client.key = mine;
    // A request that failed, and a sandbox that has ended, are forgotten.
    answer = co_await ask("k3", R"({"templateID":"none"})");
    EXPECT_EQ(answer.status(), 404);
    answer = co_await ask("k3", body);
    EXPECT_EQ(answer.status(), 201);
    co_await client.api("DELETE", "/sandboxes/" + ids.front());
    answer = co_await ask("k1", R"({"templateID":"base","timeout":60})");
    EXPECT_EQ(answer.status(), 201);
    answer = co_await ask(std::string(257, 'k'), body);
    EXPECT_EQ(answer.status(), 400);
  });
}

TEST(E2bCreation, sandboxes_are_listed_by_the_time_of_their_start) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name first = co_await client.create();
    http_response answer = co_await client.api("GET", "/sandboxes/" + first.id);
    const std::string started = text_at(json_of(answer.text()), "startedAt");
    const gateway_sandbox_name second = co_await client.create();
    answer = co_await client.api("GET", "/v2/sandboxes?startedAfter=" + started + "&template=Base%3Alatest");
    const boost::json::value listed = json_of(answer.text());
    EXPECT_EQ(listed.as_array().size(), 1U);
    EXPECT_EQ(text_at(listed.at(0), "sandboxID"), second.id);
    answer = co_await client.api("GET", "/v2/sandboxes?startedAfter=2001-01-01T00%3A00%3A00%2B02%3A00");
    EXPECT_EQ(json_of(answer.text()).as_array().size(), 2U);
    answer = co_await client.api("GET", "/v2/sandboxes?startedAfter=yesterday");
    EXPECT_EQ(answer.status(), 400);
  });
}

TEST(E2bCreation, times_are_read_as_rfc_3339_writes_them) {
  const auto read = [](const char* text) {
    const auto found = e2b_gateway::detail::time_from(text);
    return found ? e2b_gateway::detail::timestamp(*found) : std::string("none");
  };
  EXPECT_EQ(read("2026-01-31T12:00:00Z"), "2026-01-31T12:00:00.000000000Z");
  EXPECT_EQ(read("2026-01-31t12:00:00.25z"), "2026-01-31T12:00:00.250000000Z");
  EXPECT_EQ(read("2026-01-31T12:00:00+01:30"), "2026-01-31T10:30:00.000000000Z");
  EXPECT_EQ(read("2026-01-31T12:00:00 01:30"), "2026-01-31T10:30:00.000000000Z");
  EXPECT_EQ(read("2026-01-31T12:00:00.123456789-00:01"), "2026-01-31T12:01:00.123456789Z");
  for (const char* const wrong : {"", "2026", "2026-02-30T12:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T12:00:00Zx",
                                  "2026-01-31T12:00:00+1", "2026/01/31T12:00:00Z", "-026-01-31T12:00:00Z"})
    EXPECT_EQ(read(wrong), "none") << wrong;
}

// ---- pausing and saving ----

TEST(E2bCreation, what_cannot_be_paused_keeps_running) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box =
        co_await client.create(R"({"templateID":"base","autoPause":true,"autoResume":{"enabled":true}})");
    http_response answer = co_await client.api("GET", "/sandboxes/" + box.id);
    const boost::json::value detail = json_of(answer.text());
    EXPECT_EQ(text_at(detail.at("lifecycle"), "onTimeout"), "pause");
    EXPECT_NE(text_at(detail, "notice").find("keeps running for up to 86400 s"), std::string::npos);
    answer = co_await client.api("POST", "/sandboxes/" + box.id + "/pause", "{}");
    EXPECT_EQ(message_of(answer),
              "409 Error pausing sandbox - the backend of this gateway cannot be paused; sandbox '" + box.id +
                  "' keeps running");
    EXPECT_EQ(text_at(json_of(answer.text()), "error_code"), "unsupported") << "so cofferdam's client reports an error";
    answer = co_await client.get(box, "/health");
    EXPECT_EQ(answer.status(), 204);
    const std::string way_out =
        ": the backend of this gateway cannot save a sandbox; create a new sandbox, and download and upload the files";
    answer = co_await client.api("POST", "/sandboxes/" + box.id + "/snapshots", "{}");
    EXPECT_EQ(message_of(answer), "501 snapshots" + way_out);
    answer = co_await client.api("POST", "/sandboxes/" + box.id + "/fork", "{}");
    EXPECT_EQ(message_of(answer), "501 fork" + way_out);
    answer = co_await client.api("GET", "/snapshots");
    EXPECT_EQ(said(answer), "200 []");
  });
}

TEST(E2bCreation, what_cannot_be_paused_is_kept_after_its_lifetime_until_a_limit) {
  run_with_gateway(
      [](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
        const std::string body = R"({"templateID":"base","timeout":1,"lifecycle":{"onTimeout":"pause"}})";
        http_response answer = co_await client.api("POST", "/v2/sandboxes", body);
        const boost::json::value made = json_of(answer.text());
        EXPECT_NE(text_at(made, "notice"), "");
        const gateway_sandbox_name kept{text_at(made, "sandboxID"), text_at(made, "envdAccessToken")};
        const gateway_sandbox_name killed = co_await client.create(R"({"templateID":"base","timeout":1})");
        const std::function<bool()> one = [&] { return gateway.sandboxes() == 1; };
        const bool is_one = co_await comes_about(one);
        EXPECT_TRUE(is_one);
        gateway_stream stream = co_await client.run(kept, "echo here");
        EXPECT_EQ(stream.out, "here\n");
        answer = co_await client.api("GET", "/sandboxes/" + kept.id);
        EXPECT_EQ(text_at(json_of(answer.text()), "state"), "running");
        answer = co_await client.api("GET", "/sandboxes/" + killed.id);
        EXPECT_EQ(answer.status(), 404);
        // A new lifetime is not longer than requested, and the sandbox is kept again after it.
        answer = co_await client.api("POST", "/v2/sandboxes/" + kept.id + "/connect", R"({"timeout":1})");
        EXPECT_EQ(answer.status(), 200);
        const std::function<bool()> none = [&] { return gateway.sandboxes() == 0; };
        const auto begin = std::chrono::steady_clock::now();
        const bool is_none = co_await comes_about(none);
        EXPECT_TRUE(is_none);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(3900));
      },
      e2b_gateway::options().max_kept(std::chrono::seconds(3)));
}

/// A local environment that pretends to support pausing and snapshots.
class saving_environment {
 public:
  saving_environment(local_environment inside, std::shared_ptr<std::string> calls)
      : inside_(std::move(inside)), calls_(std::move(calls)) {}
  awaitable<command_result> run_command(command c) { return inside_.run_command(std::move(c)); }
  awaitable<process> start(command c) { return inside_.start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inside_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inside_.write_file(std::move(path), content);
  }
  awaitable<void> pause() {
    *calls_ += "pause ";
    if (failure) throw error(*failure, "secret reason");
    co_return;
  }
  awaitable<void> resume() {
    *calls_ += "resume ";
    co_return;
  }
  awaitable<std::string> snapshot() {
    *calls_ += "snapshot ";
    co_return "saved:" + std::to_string(++saved_);
  }
  awaitable<void> close() { return inside_.close(); }

  std::shared_ptr<const exec_errc> failure;  ///< the failure of each `pause`; null if it succeeds

 private:
  local_environment inside_;
  std::shared_ptr<std::string> calls_;
  int saved_ = 0;
};
class saving_provider {
 public:
  explicit saving_provider(std::shared_ptr<std::string> calls, std::shared_ptr<const exec_errc> failure = nullptr)
      : calls_(std::move(calls)), failure_(std::move(failure)) {}
  awaitable<saving_environment> open() const { return open_with(calls_, failure_); }

 private:
  static awaitable<saving_environment> open_with(std::shared_ptr<std::string> calls,
                                                 std::shared_ptr<const exec_errc> failure) {
    *calls += "open ";
    const local recipe = local().without_warning();
    local_environment inside = co_await recipe.open();
    saving_environment saving(std::move(inside), std::move(calls));
    saving.failure = std::move(failure);
    co_return saving;
  }
  std::shared_ptr<std::string> calls_;
  std::shared_ptr<const exec_errc> failure_;
};
static_assert(suspendable_environment<saving_environment> && code_exec_provider<saving_provider>);

TEST(E2bCreation, a_request_resumes_a_paused_sandbox_that_asked_for_it) {
  const auto calls = std::make_shared<std::string>();
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box =
            co_await client.create(R"({"templateID":"base","autoPause":true,"autoResume":{"enabled":true}})");
        http_response answer = co_await client.api("GET", "/sandboxes/" + box.id);
        EXPECT_TRUE(json_of(answer.text()).at("lifecycle").at("autoResume").as_bool());
        answer = co_await client.api("POST", "/sandboxes/" + box.id + "/pause", "{}");
        EXPECT_EQ(answer.status(), 204);
        gateway_sandbox_name stranger = box;
        stranger.token = std::string(64, '0');
        answer = co_await client.call(stranger, "process.Process/List", "{}");
        EXPECT_EQ(answer.status(), 403) << "a wrong token wakes nothing";
        EXPECT_EQ(*calls, "open pause ");
        answer = co_await client.call(box, "process.Process/List", "{}");
        EXPECT_EQ(said(answer), "200 {}");
        EXPECT_EQ(*calls, "open pause resume ");
      },
      e2b_gateway::options(), any_provider(saving_provider(calls)));
}

TEST(E2bCreation, a_failed_pause_has_the_status_of_its_failure_and_no_reason_of_the_host) {
  const auto failure = std::make_shared<exec_errc>(exec_errc::busy);
  std::string told;
  http_server_settings server;
  server.on_error([&told](const http_request_head&, std::exception_ptr reason) {
    try {
      std::rethrow_exception(reason);
    } catch (const error& pause) {
      told += std::to_string(pause.code().value()) + " ";
    }
  });
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const auto pausing = [&](exec_errc reason) -> awaitable<std::string> {
          *failure = reason;
          const http_response answer = co_await client.api("POST", "/sandboxes/" + box.id + "/pause", "{}");
          co_return message_of(answer);
        };
        const std::string hidden = " The sandbox could not be changed";
        std::string why = co_await pausing(exec_errc::busy);
        EXPECT_EQ(why, "503" + hidden) << "409 would mean that it is paused";
        why = co_await pausing(exec_errc::unavailable);
        EXPECT_EQ(why, "503" + hidden);
        why = co_await pausing(exec_errc::outside_workspace);
        EXPECT_EQ(why, "403" + hidden);
        why = co_await pausing(exec_errc::not_found);
        EXPECT_EQ(why, "500" + hidden) << "404 would mean that there is no such sandbox";
        why = co_await pausing(exec_errc::already_exists);
        EXPECT_EQ(why, "500" + hidden);
        why = co_await pausing(exec_errc::unsupported);
        EXPECT_EQ(why, "501 secret reason");
        const std::function<bool()> all = [&] { return told == "19 18 12 7 10 "; };
        const bool are_all = co_await comes_about(all);
        EXPECT_TRUE(are_all) << told;
      },
      e2b_gateway::options().server(server), any_provider(saving_provider(std::make_shared<std::string>(), failure)));
}

TEST(E2bCreation, snapshots_are_taken_listed_and_used) {
  const auto calls = std::make_shared<std::string>();
  const auto opened = std::make_shared<std::string>();
  const auto factory = [opened](const std::string& name) {
    *opened += name + " ";
    return cofferdam_test::local_provider();
  };
  run_with_gateway(
      [&](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const std::string target = "/sandboxes/" + box.id;
        http_response answer = co_await client.api("POST", target + "/snapshots", "{}");
        EXPECT_EQ(said(answer), R"(201 {"snapshotID":"saved:1","names":[]})");
        answer = co_await client.api("POST", target + "/snapshots", R"({"name":"mine"})");
        EXPECT_EQ(said(answer), R"(201 {"snapshotID":"saved:2","names":["mine"]})");
        answer = co_await client.api("GET", "/snapshots?limit=1&sandboxID=" + box.id);
        EXPECT_EQ(said(answer), R"(200 [{"snapshotID":"saved:2","names":["mine"]}])");
        answer =
            co_await client.api("GET", "/snapshots?nextToken=" + std::string(answer.field("X-Next-Token").value()));
        EXPECT_EQ(said(answer), R"(200 [{"snapshotID":"saved:1","names":[]}])");
        EXPECT_FALSE(answer.field("X-Next-Token"));
        co_await client.create(R"({"templateID":"mine"})");
        EXPECT_EQ(*opened, "saved:2 ");
        answer = co_await client.api("DELETE", "/templates/saved%3A1");
        EXPECT_EQ(answer.status(), 501);
        answer = co_await client.api("DELETE", "/templates/other");
        EXPECT_EQ(answer.status(), 404);
        const std::string mine = std::exchange(client.key, "e2b_fedcba9876543210");
        answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"mine"})");
        EXPECT_EQ(answer.status(), 404) << "another owner has no such snapshot";
        client.key = mine;
        // There is room for one more sandbox, so one of two forks fails.
        answer = co_await client.api("POST", target + "/fork", R"({"count":2,"timeout":60})");
        EXPECT_EQ(answer.status(), 201);
        const boost::json::value forks = json_of(answer.text());
        EXPECT_EQ(text_at(forks.at(0).at("sandbox"), "envdAccessToken").size(), 64U);
        EXPECT_NE(text_at(forks.at(0).at("sandbox"), "envdAccessToken"), box.token);
        EXPECT_EQ(forks.at(1).at("error").at("code").to_number<int>(), 429);
        EXPECT_EQ(*opened, "saved:2 saved:3 saved:3 ");
        EXPECT_EQ(gateway.sandboxes(), 3U);
      },
      e2b_gateway::options().sandboxes(3).snapshots(factory), any_provider(saving_provider(calls)));
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const http_response answer = co_await client.api("POST", "/sandboxes/" + box.id + "/fork", "{}");
        EXPECT_EQ(answer.status(), 501) << "no provider opens a snapshot";
      },
      e2b_gateway::options(), any_provider(saving_provider(calls)));
}

}  // namespace
