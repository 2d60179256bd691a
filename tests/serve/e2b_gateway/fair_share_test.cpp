// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the limits on what one client of a gateway may take from the others: memory, time and file operations.

#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/code_interpreter.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_run.hpp>

#include "serve/gateway_support.hpp"
#include "support/error_of.hpp"
#include "support/files_by_members.hpp"
#include "support/spawn.hpp"

#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
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
using cofferdam_test::raw_client;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;
using cofferdam_test::text_at;

constexpr std::size_t kib = 1024;

/// Returns the head of a request whose body has `size` bytes.
std::string head_of(const std::string& target, const std::string& fields, std::size_t size) {
  return "POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + fields +
         "Content-Length: " + std::to_string(size) + "\r\n\r\n";
}
std::string key_field(const std::string& key) { return "X-API-KEY: " + key + "\r\n"; }
std::string sandbox_fields(const gateway_sandbox_name& box, const char* port = "49983") {
  return "E2b-Sandbox-Id: " + box.id + "\r\nE2b-Sandbox-Port: " + port + "\r\nX-Access-Token: " + box.token + "\r\n";
}
/// Returns a JSON message that is exactly `size` bytes long.
std::string padded(const std::string& members, std::size_t size) {
  const std::string text = "{" + members + R"(,"padding":")";
  return text + std::string(size - text.size() - 2, 'x') + "\"}";
}
e2b_gateway::options little_memory() { return e2b_gateway::options().message(64 * kib).memory(64 * kib); }

std::chrono::seconds since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun);
}

awaitable<std::list<raw_client>> say_often(gateway_client& client, std::size_t times, std::string text) {
  std::list<raw_client> clients;
  for (std::size_t i = 0; i < times; ++i) {
    raw_client raw = co_await raw_client::connect(client.there());
    co_await raw.say(text);
    clients.push_back(std::move(raw));
  }
  co_return clients;
}

// ---- memory ----

TEST(E2bFairShare, what_is_only_announced_takes_no_memory) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const std::string text = head_of("/sandboxes", key_field(client.key), 64 * kib) + "{";
        std::list<raw_client> idle = co_await say_often(client, 4, text);
        const auto begun = std::chrono::steady_clock::now();
        http_response answer = co_await client.api("POST", "/v2/sandboxes", padded(R"("templateID":"base")", 40 * kib));
        EXPECT_EQ(answer.status(), 201) << answer.text();
        EXPECT_LT(since(begun), 20s) << "it waited for those who send nothing";
      },
      little_memory());
}

TEST(E2bFairShare, one_owner_never_has_the_memory_of_all) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const std::string text =
            head_of("/sandboxes", key_field("e2b_of_another"), 60 * kib) + std::string(20 * kib, ' ');
        std::list<raw_client> slow = co_await say_often(client, 8, text);
        http_response answer = co_await client.api("GET", "/sandboxes");
        EXPECT_EQ(answer.status(), 200);
        const auto begun = std::chrono::steady_clock::now();
        answer = co_await client.api("POST", "/v2/sandboxes", padded(R"("templateID":"base")", 40 * kib));
        EXPECT_EQ(answer.status(), 201) << answer.text();
        EXPECT_LT(since(begun), 20s) << "it waited for another owner's requests";
      },
      e2b_gateway::options().message(64 * kib).memory(256 * kib));
}

TEST(E2bFairShare, a_request_that_comes_too_late_is_408_and_nobody_is_told) {
  int failures = 0;
  http_server_settings server;
  server.on_error([&](const http_request_head&, const std::exception_ptr&) { ++failures; });
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const std::string api = key_field(client.key);
        const std::string envd = sandbox_fields(box);
        const std::string interpreter = sandbox_fields(box, "49999");
        const std::vector<std::string> heads{
            head_of("/v2/sandboxes", api, 100), head_of("/process.Process/List", envd, 100),
            head_of("/filesystem.Filesystem/Stat", envd, 40 * kib), head_of("/execute", interpreter, 100),
            head_of("/contexts", interpreter, 100)};
        for (const std::string& head : heads) {
          raw_client slow = co_await raw_client::connect(client.there());
          co_await slow.say(head + "{");
          const std::string answer = co_await slow.hear("\r\n");
          EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 408") << head;
        }
        EXPECT_EQ(failures, 0);
      },
      e2b_gateway::options().message_timeout(100ms).server(server).port(
          49999, e2b_gateway::code_interpreter().request_timeout(100ms)));
}

awaitable<void> take_memory(e2b_gateway::detail::memory_budget& memory, detail::sha256_digest owner) {
  const auto room = co_await memory.take(owner, 8);
  EXPECT_TRUE(room);
}

awaitable<int> wait_for_memory() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  e2b_gateway::detail::memory_budget memory(executor, 32, 10);
  const detail::sha256_digest owner = detail::sha256_of("one");
  const detail::sha256_digest other = detail::sha256_of("other");
  const auto held = co_await memory.take(owner, 8);
  co_await e2b_gateway::detail::in_time(executor, 5ms, take_memory(memory, other));
  int status = 0;
  try {
    co_await e2b_gateway::detail::in_time(executor, 5ms, take_memory(memory, owner));
  } catch (const e2b_gateway::detail::http_refusal& refusal) {
    status = refusal.status();
  }
  co_return status;
}

TEST(E2bFairShare, a_wait_for_memory_ends_in_time_and_may_be_destroyed_or_cancelled_at_every_step) {
  EXPECT_EQ(cofferdam_test::run(wait_for_memory()), 408);
  for (std::size_t n = 0; !cofferdam_test::destroy_after(n, [] { return wait_for_memory(); }); ++n) ASSERT_LT(n, 1000U);
  std::exception_ptr failure;
  for (std::size_t n = 0; !cofferdam_test::cancel_after(
           n, [] { return wait_for_memory(); }, failure);
       ++n)
    ASSERT_LT(n, 1000U);
}

// ---- files ----

/// A local environment whose listings (and, if requested, `stat` calls) wait until the test opens the gate.
class gated_files {
 public:
  struct gate {
    bool is_open = true;
    bool holds_stats = false;
    int stats = 0;
    int listing = 0;
    int max_listing = 0;
  };

  gated_files(local_environment inside, std::shared_ptr<gate> at) : inside_(std::move(inside)), gate_(std::move(at)) {}
  awaitable<command_result> run_command(command c) { return inside_.run_command(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inside_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inside_.write_file(std::move(path), content);
  }
  file_system files() { return cofferdam_test::files_by_members(*this); }
  awaitable<directory_entry> stat(std::string path) {
    ++gate_->stats;
    while (gate_->holds_stats && !gate_->is_open) co_await cofferdam_test::pause(2ms);
    directory_entry found = co_await inside_.files().stat(std::move(path));
    co_return found;
  }
  awaitable<std::vector<directory_entry>> list(std::string path, list_options options) {
    ++gate_->listing;
    gate_->max_listing = std::max(gate_->max_listing, gate_->listing);
    while (!gate_->is_open) co_await cofferdam_test::pause(2ms);
    std::vector<directory_entry> entries = co_await inside_.files().list(std::move(path), options);
    --gate_->listing;
    co_return entries;
  }
  awaitable<void> close() { return inside_.close(); }

 private:
  local_environment inside_;
  std::shared_ptr<gate> gate_;
};
class gated_provider {
 public:
  explicit gated_provider(std::shared_ptr<gated_files::gate> at) : gate_(std::move(at)) {}
  awaitable<gated_files> open() const { return open_with(gate_); }

 private:
  static awaitable<gated_files> open_with(std::shared_ptr<gated_files::gate> at) {
    local_environment inside = co_await local().without_warning().open();
    co_return gated_files(std::move(inside), std::move(at));
  }
  std::shared_ptr<gated_files::gate> gate_;
};
static_assert(code_exec_provider<gated_provider>);

TEST(E2bFairShare, who_waits_for_a_listing_holds_no_memory) {
  const auto gate = std::make_shared<gated_files::gate>();
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gate->is_open = false;
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        int answered = 0;
        const auto over = [&](std::exception_ptr failure, http_response answer) {
          EXPECT_FALSE(failure);
          EXPECT_EQ(answer.status(), 200) << answer.text();
          ++answered;
        };
        const std::string method = "filesystem.Filesystem/ListDir";
        for (int i = 0; i < 4; ++i)
          cofferdam_test::spawn(executor, client.call(box, method, padded(R"("path":".")", 40 * kib)), over);
        const std::function<bool()> all = [&] { return gate->stats == 4; };
        const bool waits = co_await comes_about(all);
        EXPECT_TRUE(waits) << "each has the memory of all until it waits: " << gate->stats;
        const auto begun = std::chrono::steady_clock::now();
        http_response answer =
            co_await client.call(box, "filesystem.Filesystem/Stat", padded(R"("path":".")", 40 * kib));
        EXPECT_EQ(answer.status(), 200) << answer.text();
        EXPECT_LT(since(begun), 20s);
        gate->is_open = true;
        const std::function<bool()> done = [&] { return answered == 4; };
        const bool ended = co_await comes_about(done);
        EXPECT_TRUE(ended);
      },
      little_memory(), any_provider(gated_provider(gate)));
}

TEST(E2bFairShare, memory_that_does_not_come_is_503) {
  const auto gate = std::make_shared<gated_files::gate>();
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gate->is_open = false;
        gate->holds_stats = true;
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        bool is_answered = false;
        const auto over = [&](std::exception_ptr failure, http_response answer) {
          EXPECT_FALSE(failure);
          EXPECT_EQ(answer.status(), 200) << answer.text();
          is_answered = true;
        };
        const std::string message = padded(R"("path":".")", 40 * kib);
        cofferdam_test::spawn(executor, client.call(box, "filesystem.Filesystem/Stat", message), over);
        const std::function<bool()> stands = [&] { return gate->stats == 1; };
        const bool is_held = co_await comes_about(stands);
        EXPECT_TRUE(is_held);
        http_response answer = co_await client.call(box, "filesystem.Filesystem/Stat", message);
        EXPECT_EQ(
            said(answer),
            "503 {\"code\":\"unavailable\",\"message\":\"The gateway has no memory for another request; try again "
            "later\"}");
        answer = co_await client.api("POST", "/v2/sandboxes", padded(R"("templateID":"base")", 40 * kib));
        EXPECT_EQ(answer.status(), 503) << answer.text();
        answer = co_await client.api("POST", "/v2/sandboxes", R"({"templateID":"base"})");
        EXPECT_EQ(answer.status(), 201) << "a small one needs none: " << answer.text();
        gate->is_open = true;
        const std::function<bool()> done = [&] { return is_answered; };
        const bool ended = co_await comes_about(done);
        EXPECT_TRUE(ended);
        answer = co_await client.call(box, "filesystem.Filesystem/Stat", message);
        EXPECT_EQ(answer.status(), 200) << "what was held was given back: " << answer.text();
      },
      little_memory().message_timeout(100ms), any_provider(gated_provider(gate)));
}

TEST(E2bFairShare, watches_look_at_the_files_of_a_sandbox_one_at_a_time) {
  const auto gate = std::make_shared<gated_files::gate>();
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gate->is_open = false;
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        std::vector<std::string> ids;
        const auto over = [&](std::exception_ptr failure, http_response answer) {
          EXPECT_FALSE(failure);
          EXPECT_EQ(answer.status(), 200) << answer.text();
          if (answer.status() == 200) ids.push_back(text_at(json_of(answer.text()), "watcherId"));
        };
        for (int i = 0; i < 4; ++i)
          cofferdam_test::spawn(executor, client.call(box, "filesystem.Filesystem/CreateWatcher", R"({"path":"."})"),
                                over);
        const std::function<bool()> all = [&] { return gate->stats == 4; };
        const bool waits = co_await comes_about(all);
        EXPECT_TRUE(waits);
        co_await cofferdam_test::pause(20ms);
        EXPECT_EQ(gate->max_listing, 1);
        gate->is_open = true;
        const std::function<bool()> done = [&] { return ids.size() == 4; };
        const bool all_done = co_await comes_about(done);
        EXPECT_TRUE(all_done);
        gate->is_open = false;
        int heard = 0;
        const auto replied = [&](std::exception_ptr failure, http_response answer) {
          EXPECT_FALSE(failure);
          EXPECT_EQ(said(answer), "200 {}");
          ++heard;
        };
        for (const std::string& id : ids)
          cofferdam_test::spawn(
              executor, client.call(box, "filesystem.Filesystem/GetWatcherEvents", "{\"watcherId\":\"" + id + "\"}"),
              replied);
        const std::function<bool()> looks = [&] { return gate->listing == 1; };
        const bool begun = co_await comes_about(looks);
        EXPECT_TRUE(begun);
        co_await cofferdam_test::pause(20ms);
        EXPECT_EQ(gate->max_listing, 1);
        gate->is_open = true;
        const std::function<bool()> answered = [&] { return heard == 4; };
        const bool ended = co_await comes_about(answered);
        EXPECT_TRUE(ended);
      },
      e2b_gateway::options(), any_provider(gated_provider(gate)));
}

// ---- processes ----

TEST(E2bFairShare, a_tag_is_short) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream refused = co_await client.run(box, "echo begun", ",\"tag\":\"" + std::string(1025, 't') + "\"");
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(refused.ending(),
              R"({"error":{"code":"invalid_argument","message":"the tag is longer than 1024 bytes"}})");
    gateway_stream accepted = co_await client.run(box, "echo begun", ",\"tag\":\"" + std::string(1024, 't') + "\"");
    EXPECT_EQ(accepted.out, "begun\n");
  });
}

TEST(E2bFairShare, a_process_that_has_ended_is_forgotten_though_nobody_asks) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const e2b_gateway::detail::environment_opener opener = [] {
      return e2b_gateway::detail::open_environment(local().without_warning());
    };
    const auto core = std::make_shared<e2b_gateway::detail::sandbox_registry>(executor, opener, e2b_gateway::options());
    e2b_gateway::detail::sandbox_settings settings;
    settings.life = std::chrono::seconds(600);
    const auto box = co_await e2b_gateway::detail::sandbox_registry::create(core, std::move(settings));
    box->ended_time = 500ms;
    std::weak_ptr<e2b_gateway::detail::served_process> ended;
    std::uint32_t pid = 0;
    {
      process running = co_await box->environment().start(argv("true"));
      const auto served = std::make_shared<e2b_gateway::detail::served_process>(
          executor, std::move(running), box->next_pid(), boost::json::object(), "mine", false, false);
      box->add(served);
      ended = served;
      pid = served->pid();
      const std::function<bool()> is_over = [&] { return served->end() && box->processes().empty(); };
      const bool over = co_await comes_about(is_over);
      EXPECT_TRUE(over);
      EXPECT_EQ(served->tag(), "") << "it is of no use any more";
    }
    EXPECT_TRUE(box->find_ended(pid)) << "who comes late still hears how it ended";
    const std::function<bool()> is_forgotten = [&] { return ended.expired(); };
    const bool forgotten = co_await comes_about(is_forgotten);
    EXPECT_TRUE(forgotten);
    box->ended_time = 1h;
    process running = co_await box->environment().start(argv("true"));
    box->add(std::make_shared<e2b_gateway::detail::served_process>(executor, std::move(running), box->next_pid(),
                                                                   boost::json::object(), "mine", false, false));
    const std::function<bool()> is_over = [&] { return box->processes().empty(); };
    const bool over = co_await comes_about(is_over);
    EXPECT_TRUE(over);
    co_await e2b_gateway::detail::sandbox_registry::close_all(core);
  });
}

// ---- the code interpreter ----

TEST(E2bFairShare, a_sandbox_has_a_part_of_the_interpreters_memory_and_room_for_one_request) {
  const auto shared = std::make_shared<e2b_gateway::detail::interpreter_memory>(1000);
  e2b_gateway::detail::interpreter_memory first(shared, 10);
  e2b_gateway::detail::interpreter_memory second(shared, 300);
  EXPECT_FALSE(first.take(251));
  EXPECT_TRUE(first.take(250));
  EXPECT_FALSE(first.take(1));
  EXPECT_TRUE(second.take(300));
  EXPECT_FALSE(second.take(1));
  EXPECT_FALSE(shared->take(451));
  EXPECT_TRUE(shared->take(450));
  first.give(250);
  EXPECT_FALSE(shared->take(251));
  EXPECT_TRUE(shared->take(250));
  EXPECT_FALSE(first.take(1)) << "it has room, and all together have none";
}

TEST(E2bFairShare, requests_to_an_interpreter_take_memory_as_they_come_and_only_their_sandboxs_part) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const gateway_sandbox_name other = co_await client.create();
        const std::string head = head_of("/execute", sandbox_fields(box, "49999"), 10'000);
        std::list<raw_client> idle = co_await say_often(client, 12, head + "{");
        const std::string code = padded(R"("code":"'answered'")", 9'000);
        for (const gateway_sandbox_name& each : {box, other}) {
          http_request request("POST", "/execute");
          request.field("E2b-Sandbox-Id", each.id).field("E2b-Sandbox-Port", "49999");
          request.field("X-Access-Token", each.token).content("application/json", code);
          http_response answer = co_await client.http.request(std::move(request));
          EXPECT_EQ(answer.status(), 200) << "what is only announced takes nothing: " << answer.text();
          EXPECT_NE(answer.text().find("answered"), std::string_view::npos);
        }
        std::list<raw_client> slow = co_await say_often(client, 3, head + std::string(9'000, ' '));
        const std::string refused = co_await slow.back().hear("\r\n");
        EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 503");
        http_request request("POST", "/execute");
        request.field("E2b-Sandbox-Id", other.id).field("E2b-Sandbox-Port", "49999");
        request.field("X-Access-Token", other.token).content("application/json", code);
        http_response answer = co_await client.http.request(std::move(request));
        EXPECT_EQ(answer.status(), 200) << "another sandbox has a part of its own: " << answer.text();
      },
      e2b_gateway::options().port(49999, e2b_gateway::code_interpreter().memory(80'000).request(10'000)));
}

TEST(E2bFairShare, contexts_that_are_being_made_count_as_executions) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        std::list<raw_client> slow =
            co_await say_often(client, 2, head_of("/contexts", sandbox_fields(box, "49999"), 100) + "{");
        const std::string refused = co_await slow.back().hear("this sandbox");
        EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 429");
        EXPECT_NE(refused.find("Too many executions"), std::string::npos);
      },
      e2b_gateway::options().port(49999, e2b_gateway::code_interpreter().executions(1)));
}

TEST(E2bFairShare, times_that_cannot_be_are_refused) {
  EXPECT_EQ(cofferdam_test::code_of([] { e2b_gateway::options().message_timeout(1ms); }), exec_errc::invalid_argument);
  EXPECT_EQ(cofferdam_test::code_of([] { e2b_gateway::code_interpreter().request_timeout(2h); }),
            exec_errc::invalid_argument);
}

}  // namespace
