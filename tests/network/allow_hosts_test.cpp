// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/trace.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/network/allow_hosts.hpp>
#include <cofferdam/network/forward_port.hpp>

#include "network/canary.hpp"
#include "network/egress_host.hpp"
#include "support/census.hpp"
#include "support/jail_tests.hpp"
#include "support/process_memory.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_test::canary;
using cofferdam_test::certificate;
using cofferdam_test::echo_server;
using cofferdam_test::egress_host;
using cofferdam_test::received_requests;
using cofferdam_test::run;

static_assert(layer_for<egress_policy, jail_environment> && layer_for<egress_policy, any_environment>);
static_assert(!layer_for<egress_policy, local_environment>, "over local it does not compile");

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// A jail, whose policy allows servers of the test.
class AllowHosts : public cofferdam_test::jail_fixture {
 protected:
  void SetUp() override {
    COFFERDAM_NEEDS("curl", cofferdam_test::has_program("curl"), "programs that use the proxy");
    cofferdam_test::jail_fixture::SetUp();
  }

  /// Runs a body with an open environment.
  template <class Provider, class Body>
  void in(const Provider& provider, Body body) {
    run([&]() -> awaitable<void> { co_await with(provider, body); });
  }

  /// Runs shell lines one after another, and returns their outputs.
  template <class Provider>
  std::vector<std::string> outputs(const Provider& provider, std::vector<std::string> lines) {
    std::vector<std::string> all;
    in(provider, [&](auto& env) -> awaitable<void> {
      for (const std::string& line : lines) {
        const command c = shell(line);
        const command_result result = co_await env.run_command(c);
        all.push_back(result.out_text() + result.err_text());
      }
    });
    return all;
  }

  std::shared_ptr<received_requests> seen_ = std::make_shared<received_requests>();
  egress_host servers_;
};

// Feature: B25
TEST_F(AllowHosts, what_is_allowed_works_and_the_rest_is_refused_with_a_sentence) {
  const std::uint16_t port = servers_.start(echo_server(seen_));
  std::vector<network_event> events;
  const auto records = [&events](const network_event& event) { events.push_back(event); };
  const auto wrapped = recipe() | allow_hosts(host_rule("packages.example.org:80").at("127.0.0.1", port)).log(records);
  const std::vector<std::string> found =
      outputs(wrapped, {"curl -sS http://packages.example.org/simple/", "curl -sS http://other.example.org/",
                        "curl -sS https://packages.example.org/",
                        "curl -sS --noproxy '*' -m 3 http://127.0.0.1:" + std::to_string(port) + "/ || echo no"});
  EXPECT_TRUE(contains(found.at(0), "GET /simple/ HTTP/1.1\r\n")) << found.at(0);
  EXPECT_TRUE(contains(found.at(1), "other.example.org:80")) << found.at(1);
  EXPECT_TRUE(contains(found.at(1), "Allowed: packages.example.org:80")) << found.at(1);
  EXPECT_TRUE(contains(found.at(2), "403")) << found.at(2);
  EXPECT_TRUE(contains(found.at(3), "no")) << "the loopback interface is the jail's own: " << found.at(3);
  EXPECT_EQ(seen_->count(), 1U);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_TRUE(events.at(0).allowed());
  EXPECT_EQ(events.at(0).host(), "packages.example.org");
  EXPECT_FALSE(events.at(1).allowed());
}

TEST_F(AllowHosts, events_have_the_labels_of_their_commands) {
  const std::uint16_t port = servers_.start(echo_server(seen_));
  std::vector<std::string> connections;
  const auto records = [&](const network_event& event) {
    connections.push_back(event.label() + " " + event.host() + (event.allowed() ? " allowed" : " refused"));
  };
  std::vector<std::string> commands;
  const auto traced = [&](const trace_event& event) {
    if (event.operation() == "run_command")
      commands.push_back(event.text("cofferdam.command.label") + " " + event.text("process.command_line"));
  };
  const auto wrapped =
      recipe() | trace(traced) | allow_hosts(host_rule("a.example.org:80").at("127.0.0.1", port)).log(records);
  in(wrapped, [&](auto& env) -> awaitable<void> {
    command fetches = shell("curl -sS http://a.example.org/");
    co_await env.run_command(fetches);
    fetches.label("install");
    co_await env.run_command(fetches);
    const command other = shell("curl -sS http://b.example.org/");
    co_await env.run_command(other);
  });
  std::sort(connections.begin(), connections.end());
  EXPECT_EQ(connections, (std::vector<std::string>{"1 a.example.org allowed", "2 b.example.org refused",
                                                   "install a.example.org allowed"}));
  EXPECT_EQ(commands,
            (std::vector<std::string>{"1 curl -sS http://a.example.org/", "install curl -sS http://a.example.org/",
                                      "2 curl -sS http://b.example.org/"}));
}

/// Returns a Python program that tries to reach a canary, whatever the proxy's variables say.
std::string raw_attempts(const canary& outside) {
  return "python3 -c \"\nimport socket\nfor to in ('127.0.0.1', socket.gethostname(), '10.0.2.2', '172.17.0.1'):\n"
         "  for kind, port in ((socket.SOCK_STREAM, " +
         std::to_string(outside.tcp_port()) + "), (socket.SOCK_DGRAM, " + std::to_string(outside.udp_port()) +
         ")):\n    try:\n      s = socket.socket(socket.AF_INET, kind); s.settimeout(1); s.connect((to, port)); "
         "s.send(b'x')\n      print('sent')\n    except OSError as e: print(e)\n\"";
}

TEST_F(AllowHosts, NT_01_NT_11_a_program_that_ignores_the_proxy_reaches_nothing) {
  canary outside;
  outputs(recipe() | allow_hosts("example.org"), {raw_attempts(outside)});
  EXPECT_EQ(outside.connections(), 0U);
  EXPECT_EQ(outside.datagrams(), 0U);
  EXPECT_EQ(outside.bytes(), 0U);
  outputs(recipe().network(network_policy::host), {raw_attempts(outside)});  // the control
  EXPECT_GT(outside.connections(), 0U);
  EXPECT_GT(outside.datagrams(), 0U);
  EXPECT_GT(outside.bytes(), 0U);
}

TEST_F(AllowHosts, an_environment_with_another_way_out_is_not_opened) {
  std::uint32_t others = 0;
  in(recipe().network(network_policy::host),
     [&](jail_environment& env) -> awaitable<void> { others = co_await env.network().other_interfaces(); });
  if (others == 0) GTEST_SKIP() << "this machine has no network interface";
  try {
    outputs(recipe().network(network_policy::host) | allow_hosts("example.org"), {"true"});
    FAIL() << "it was opened";
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::unsupported);
    EXPECT_TRUE(contains(failure.what(), "network interface")) << failure.what();
  }
}

TEST_F(AllowHosts, the_order_of_layers_does_not_matter) {
  const std::uint16_t port = servers_.start(echo_server(seen_));
  const host_rule rule = host_rule("a.example.org:80").at("127.0.0.1", port);
  const std::vector<std::string> lines{"curl -sS http://a.example.org/", "wget -q http://a.example.org/"};
  const auto outer = recipe() | allow_hosts(rule) | allow_commands("curl .*");
  const auto inner = recipe() | allow_commands("curl .*") | allow_hosts(rule);
  for (const std::vector<std::string>& found : {outputs(outer, lines), outputs(inner, lines)}) {
    EXPECT_TRUE(contains(found.at(0), "GET / HTTP/1.1\r\n")) << found.at(0);
    EXPECT_FALSE(contains(found.at(1), "GET /")) << found.at(1);
  }
}

TEST_F(AllowHosts, a_provider_of_any_type_is_wrapped) {
  const std::uint16_t port = servers_.start(echo_server(seen_));
  const any_provider any = recipe();
  const auto wrapped = any | allow_hosts(host_rule("a.example.org:80").at("127.0.0.1", port));
  EXPECT_TRUE(contains(outputs(wrapped, {"curl -sS http://a.example.org/"}).at(0), "GET / HTTP/1.1\r\n"));
  const any_provider bare = local().without_warning();
  EXPECT_THROW(outputs(bare | allow_hosts("a.example.org"), {"true"}), error);
}

TEST_F(AllowHosts, NT_17_a_secret_never_enters_the_jail) {
  const certificate root("");
  const certificate leaf("DNS:api.example.org", &root);
  const std::uint16_t port = servers_.start(echo_server(seen_), &leaf);
  const std::string secret = "Bearer " + std::string("s3cret") + "-t0ken";
  const auto wrapped = recipe() | allow_hosts(host_rule("api.example.org:443").at("127.0.0.1", port))
                                      .header("api.example.org:443", "Authorization", secret_string(secret))
                                      .trust(root.pem());
  in(wrapped, [&](auto& env) -> awaitable<void> {
    // The answer repeats the request, so the program sees only its length.
    const command asks = shell(
        "curl -sS https://api.example.org/v1 | wc -c; env; find / -xdev -name '*.pem' -newer /proc/1 "
        "-exec cat {} + 2>/dev/null");
    const command_result result = co_await env.run_command(asks);
    EXPECT_FALSE(contains(result.out_text(), "s3cret")) << result.out_text();
    const command waits = shell("exec sleep 30");
    process sleeper = co_await env.start(waits);
    std::vector<pid_t> inside;
    for (const cofferdam_test::process_entry& each : cofferdam_test::process_table())
      if (each.name == "sleep" || each.name == "bwrap") inside.push_back(each.pid);
    EXPECT_FALSE(inside.empty());
    EXPECT_FALSE(cofferdam_test::memory_contains(inside, secret));
    EXPECT_TRUE(cofferdam_test::memory_contains({::getpid()}, secret)) << "the control: it is in this program";
    co_await sleeper.signal(SIGKILL);
    co_await sleeper.wait();
  });
  ASSERT_EQ(seen_->count(), 1U);
  EXPECT_TRUE(contains(seen_->all()[0], "\r\nAuthorization: " + secret + "\r\n")) << seen_->all()[0];
}

TEST_F(AllowHosts, a_close_ends_connections_that_are_open) {
  const auto silent = [](byte_stream stream) -> awaitable<void> {
    std::array<std::byte, 100> piece{};
    while (co_await stream.read_some(piece) != 0) {
    }
  };
  const std::uint16_t port = servers_.start(silent);
  in(recipe() | allow_hosts(host_rule("slow.example.org:8080").at("127.0.0.1", port)),
     [&](auto& env) -> awaitable<void> {
       const command hangs = shell("curl -sS http://slow.example.org:8080/");
       process curl = co_await env.start(hangs);
       const command waits = shell("sleep 0.3");
       co_await env.run_command(waits);
       curl = process();
     });
}

TEST_F(AllowHosts, NT_14_a_port_is_forwarded_only_while_it_is_wanted) {
  std::uint16_t port = 0;
  in(recipe(), [&](jail_environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const command serves = shell("echo inside > index.html; exec python3 -m http.server 8000 >/dev/null 2>&1");
    process server = co_await env.start(serves);
    listener here = tcp_listener(executor, "127.0.0.1", 0);
    port = here.port();
    const command asks = shell(
        "for i in $(seq 100); do python3 -c \"import socket; socket.create_connection(('127.0.0.1', 8000))\" "
        "2>/dev/null && exit 0; sleep 0.1; done; exit 1");
    const command_result ready = co_await env.run_command(asks);
    EXPECT_TRUE(ready.ok());
    const auto fetches = [&]() -> awaitable<std::string> {
      const byte_stream none;
      const command_result fetched =
          co_await with(local().without_warning(), [&](auto& outside) -> awaitable<command_result> {
            const command c = shell("curl -sS http://127.0.0.1:" + std::to_string(port) + "/index.html");
            command_result result = co_await outside.run_command(c);
            co_return result;
          });
      co_return std::string(fetched.out_text());
    };
    using namespace asio::experimental::awaitable_operators;
    auto both = forward_port(env.network(), 8000, std::move(here)) || fetches();
    const auto ended = co_await std::move(both);
    EXPECT_EQ(ended.index(), 1U);
    EXPECT_EQ(std::get<1>(ended), "inside\n");
    co_await server.signal(SIGKILL);
  });
  EXPECT_THROW(cofferdam_test::sandboxed_client client(port), std::runtime_error);
}

}  // namespace
