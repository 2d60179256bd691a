// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks NT of the project's catalogue, by programs inside a jail and inside a container without a network. The
// programs are those of tests/network/guest_attacks.py. The tests judge by what arrives at listeners of this machine
// that count connections and bytes. In the control of each test, the same program succeeds where the wall is missing.
// (tests/network has more tests of the rows, in which the attacker speaks with the proxy directly.)

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/network/allow_hosts.hpp>
#include <cofferdam/network/egress_proxy.hpp>

#include "docker/docker_support.hpp"
#include "network/canary.hpp"
#include "network/egress_host.hpp"
#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/paths.hpp"
#include "support/process_memory.hpp"
#include "support/require.hpp"
#include "support/result_of.hpp"
#include "support/run_shell.hpp"
#include "support/spawn.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/ip/address.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace network_attacks {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using namespace std::string_literals;
using cofferdam_test::canary;
using cofferdam_test::certificate;
using cofferdam_test::echo_server;
using cofferdam_test::egress_host;
using cofferdam_test::lines_of;
using cofferdam_test::received_requests;
using cofferdam_test::result_of;
using cofferdam_test::run;
using cofferdam_test::text_server;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Returns the command that runs an attack of guest_attacks.py.
command attack(std::vector<std::string> words) {
  static const std::string source = [] {
    std::ifstream file(cofferdam_test::source_path("tests/network/guest_attacks.py"));
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }();
  words.insert(words.begin(), {"python3", "-c", source});
  return argv(std::move(words)).timeout(50s).keep_output(std::size_t{128} << 20);
}

/// A resolver that gives one answer after another, and the last one from then on.
class answers_in_turn {
 public:
  explicit answers_in_turn(std::vector<std::vector<std::string>> answers)
      : state_(std::make_shared<state>(state{std::move(answers), {}})) {}
  egress_policy::resolver_function function() const {
    return [state = state_](std::string host) { return next(state, std::move(host)); };
  }
  const std::vector<std::string>& names() const { return state_->names; }

 private:
  struct state {
    std::vector<std::vector<std::string>> answers;
    std::vector<std::string> names;
  };
  static awaitable<std::vector<asio::ip::address>> next(std::shared_ptr<state> of, std::string host) {
    std::vector<asio::ip::address> found;
    for (const std::string& each : of->answers[std::min(of->names.size(), of->answers.size() - 1)])
      found.push_back(asio::ip::make_address(each));
    of->names.push_back(std::move(host));
    co_return found;
  }
  std::shared_ptr<state> state_;
};

class NetworkAttack : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    COFFERDAM_NEEDS("python3", cofferdam_test::has_program("python3"), "attacks on the network");
    if (is_jail()) {
      COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "attacks on the network in the jail");
    } else {
      COFFERDAM_NEEDS_DOCKER();
    }
  }

  bool is_jail() const { return GetParam() == "jail"; }
  jail in_jail() const { return jail().temporary_base(base_.path()).kill_grace(100ms); }
  /// Returns the provider of the place, without a network.
  any_provider place() const {
    if (is_jail()) return any_provider(in_jail());
    return any_provider(cofferdam_test::test_image("debian"));
  }
  /// Returns the provider of the same place with a network, for controls.
  any_provider open_place() const {
    if (is_jail()) return any_provider(in_jail().network(network_policy::host));
    return any_provider(cofferdam_test::test_image("debian", docker::container_options().network("bridge")));
  }
  /// Returns true if `open_place` works.
  bool has_open_place() const {
    return is_jail() || !cofferdam_test::docker_says("network ls -q --filter driver=bridge").empty();
  }
  /// Returns this machine itself, for controls. The warden would keep abstract sockets from commands.
  static any_provider machine() { return any_provider(local().without_warning().warden(warden_policy::never)); }

  /// Runs an attack by a policy, and returns what it prints.
  std::string attacked(egress_policy policy, std::vector<std::string> words) {
    policy.log([this](const network_event& event) { events_.push_back(event); });
    return printed(result_of(place() | policy, attack(std::move(words))));
  }
  static std::string printed(const command_result& result) {
    EXPECT_TRUE(result.ok()) << result.summary() << "\n" << result.err_text();
    return result.out_text() + result.err_text();
  }
  void expect_silence() {
    EXPECT_EQ(canary_.connections(), 0U);
    EXPECT_EQ(canary_.datagrams(), 0U);
    EXPECT_EQ(canary_.bytes(), 0U);
  }
  /// Returns the words of an attack that sends to all addresses of this machine, and more.
  std::vector<std::string> sweep(const std::string& more = "127.0.0.1") const {
    std::vector<std::string> words{"sweep", tcp(), udp(), more};
    for (const std::string& each : cofferdam_test::own_addresses()) words.push_back(each);
    return words;
  }
  std::string tcp() const { return std::to_string(canary_.tcp_port()); }
  std::string udp() const { return std::to_string(canary_.udp_port()); }
  /// Returns a rule for a name on port 80, which leads to the server.
  host_rule web(const std::string& name = "web.example.org:80") {
    if (server_ == 0) server_ = servers_.start(echo_server(seen_));
    return host_rule(name).at("127.0.0.1", server_);
  }

  canary canary_;
  cofferdam_test::open_folder base_;
  std::vector<network_event> events_;
  std::shared_ptr<received_requests> seen_ = std::make_shared<received_requests>();
  std::uint16_t server_ = 0;
  egress_host servers_;
};

INSTANTIATE_TEST_SUITE_P(Places, NetworkAttack, cofferdam_test::in_places("jail", "docker"),
                         cofferdam_test::place_name);

// ---- past the proxy -------------------------------------------------------------------------------------------------

TEST_P(NetworkAttack, NT_01_NT_08_NT_11_NT_16_a_program_that_sends_to_everything_reaches_nothing) {
  const std::vector<std::string> words = sweep("everywhere");
  const std::string output = attacked(egress_policy(web()), words);
  expect_silence();
  EXPECT_EQ(seen_->connections, 0) << output;
  EXPECT_TRUE(events_.empty()) << "nothing went through the proxy";
  printed(result_of(place(), attack(words)));
  expect_silence();
  // The control: the same program in the same place with a network, for the addresses of this machine.
  COFFERDAM_NEEDS("docker bridge", has_open_place(), "that the same program reaches this machine from an open place");
  const std::string open = printed(result_of(open_place(), attack(sweep())));
  EXPECT_GT(canary_.connections(), 0U) << open;
  EXPECT_GT(canary_.datagrams(), 0U) << open;
  EXPECT_GT(canary_.bytes(), 1000U) << open;
}

TEST_P(NetworkAttack, NT_12_NT_13_sockets_of_the_host_get_no_connection_and_pass_no_descriptor) {
  base_.write("secret", "canary");
  const std::string path = (base_ / "socket").string();
  cofferdam_test::unix_canary host(path, (base_ / "secret").string());
  const std::vector<std::string> words{"sockets", path, "@" + path};
  const std::string output = printed(result_of(place() | egress_policy(web()), attack(words)));
  EXPECT_FALSE(contains(output, "connected")) << output;
  EXPECT_EQ(count_of(output, "none: "), 8U) << output;
  EXPECT_TRUE(output.ends_with("pair\n")) << "a pair of sockets works: " << output;
  EXPECT_EQ(host.connections(), 0U);
  // The control: the same program on this machine.
  const std::string open = printed(result_of(machine(), attack(words)));
  EXPECT_TRUE(open.starts_with("connected: canary\nconnected: canary\n")) << open;
  EXPECT_EQ(host.connections(), 2U);
}

/// Returns true if a server of `serve` in an environment can be connected to at one of the addresses that it prints.
template <class Provider>
bool is_reached(const Provider& provider, std::string& inside) {
  bool reached = false;
  run([&]() -> awaitable<void> {
    const auto body = [&](auto& env) -> awaitable<void> {
      const command serves = attack({"serve"});
      process server = co_await env.start(serves);
      const output_chunk first = co_await server.read();
      std::istringstream words{std::string(as_text(first.data()))};
      std::uint16_t port = 0;
      words >> port;
      for (std::string address; port != 0 && words >> address;) {
        const cofferdam_test::shell_result outcome =
            cofferdam_test::run_shell("timeout 3 python3 -c \"import socket; print(socket.create_connection(('" +
                                      address + "', " + std::to_string(port) + ")).recv(100).decode())\"");
        reached = reached || outcome.output.starts_with("inside\n");
      }
      if (cofferdam::can_tunnel(env)) {
        byte_stream stream = co_await env.network().connect(port);
        std::array<std::byte, 100> piece{};
        const std::size_t count = co_await stream.read_some(piece);
        inside = as_text(bytes_view(piece).first(count));
      }
      co_await server.signal(SIGKILL);
      co_await server.wait();
    };
    co_await with(provider, body);
  });
  return reached;
}

TEST_P(NetworkAttack, NT_14_a_port_that_a_guest_listens_on_is_reached_only_through_its_network) {
  std::string text;
  EXPECT_FALSE(is_reached(place() | egress_policy(web()), text));
  EXPECT_EQ(text, "inside\n");
  // The control: the same server in the same place with a network.
  COFFERDAM_NEEDS("docker bridge", has_open_place(), "that a server in an open place is reached");
  EXPECT_TRUE(is_reached(open_place(), text));
}

// ---- through the proxy ----------------------------------------------------------------------------------------------

TEST_P(NetworkAttack, NT_02_a_policy_without_rules_allows_nothing) {
  const std::vector<std::string> words{"hosts", "web.example.org", "127.0.0.1:" + tcp(), "localhost:" + tcp(),
                                       "example.com"};
  EXPECT_EQ(attacked(egress_policy(), words),
            "web.example.org 403\n127.0.0.1:" + tcp() + " 403\nlocalhost:" + tcp() + " 403\nexample.com 403\n");
  expect_silence();
  EXPECT_EQ(events_.size(), 4U);
  for (const char* rule : {"", "*", ".", "http://example.com", "{}", "example.com,evil.org"})
    EXPECT_THROW(static_cast<void>(host_rule(rule)), error) << rule;
  // The control: two rules.
  EXPECT_TRUE(attacked(egress_policy(web(), "127.0.0.1:" + tcp()), words)
                  .starts_with("web.example.org 200\n127.0.0.1:" + tcp() + " 200\n"));
  EXPECT_EQ(canary_.connections(), 1U);
}

TEST_P(NetworkAttack, NT_03_NT_04_only_the_hosts_that_a_rule_names_are_reached) {
  const auto policy = [&] { return egress_policy(web(), web("*.files.example.org:80")); };
  for (const std::string& line : lines_of(attacked(policy(), {"odd_hosts", "web.example.org", "evil.org"})))
    EXPECT_TRUE(line.ends_with(" 403 403") || line.ends_with(" 400 400") || line.ends_with(" 403 400") ||
                line.ends_with(" 400 403"))
        << line;
  for (const std::string& line : lines_of(
           attacked(policy(), {"hosts", "files.example.org", "evilfiles.example.org", "a.files.example.org.evil.org",
                               "example.org", "a%2efiles%00.example.org", "a.files.example.org@evil.org"})))
    EXPECT_TRUE(line.ends_with(" 403") || line.ends_with(" 400")) << line;
  EXPECT_EQ(seen_->connections, 0) << seen_->joined();
  for (const char* wide : {"*", "**", "*.com", "*.co.uk", "*.*.example.org", "web.*"})
    EXPECT_THROW(static_cast<void>(host_rule(wide)), error) << wide;
  // The control: the same hosts in other forms.
  EXPECT_EQ(attacked(policy(), {"hosts", "WEB.Example.ORG", "web.example.org.", "web.example.org:80",
                                "a.files.example.org", "b.a.files.example.org"}),
            "WEB.Example.ORG 200\nweb.example.org. 200\nweb.example.org:80 200\na.files.example.org "
            "200\nb.a.files.example.org 200\n");
  EXPECT_EQ(seen_->connections, 5);
}

TEST_P(NetworkAttack, NT_05_no_form_of_a_loopback_address_is_reached) {
  const std::string output = attacked(egress_policy(web(), "*.example.org:" + tcp()), {"addresses", tcp()});
  for (const std::string& line : lines_of(output)) {
    EXPECT_FALSE(contains(line, " 200")) << line;
    EXPECT_TRUE(line.ends_with(" 2")) << "refused by SOCKS5: " << line;
  }
  EXPECT_EQ(lines_of(output).size(), 28U) << output;
  expect_silence();
  // The control: rules that name the addresses.
  const std::string named =
      attacked(egress_policy("127.0.0.1:" + tcp(), "[::1]:" + tcp(), "localhost:" + tcp()), {"addresses", tcp()});
  EXPECT_TRUE(contains(named, "127.0.0.1 200 200 0\n")) << named;
  EXPECT_TRUE(contains(named, "[::ffff:127.0.0.1] 200 200 ")) << named;
  EXPECT_TRUE(contains(named, "v4 0\n")) << named;
  EXPECT_FALSE(contains(named, "2130706433 200")) << "there is one form of an address: " << named;
  EXPECT_GT(canary_.connections_to("127.0.0.1"), 2U);
}

TEST_P(NetworkAttack, NT_06_metadata_addresses_are_refused_whatever_name_leads_there) {
  const answers_in_turn names({{"169.254.169.254"},
                               {"fd00:ec2::254"},
                               {"100.100.100.200"},
                               {"168.63.129.16"},
                               {"::ffff:169.254.169.254"},
                               {"64:ff9b::a9fe:a9fe"},
                               {"127.0.0.1"}});
  std::vector<std::string> words{"hosts"};
  for (int i = 0; i < 7; ++i) words.push_back("metadata.google.internal:" + tcp());
  words.insert(words.end(), {"169.254.169.254", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "2852039166",
                             "0xA9FEA9FE", "169.254.43518"});
  for (const std::string& line :
       lines_of(attacked(egress_policy("*.google.internal:" + tcp()).resolver(names.function()), words)))
    EXPECT_TRUE(line.ends_with(" 403") || line.ends_with(" 400")) << line;
  EXPECT_EQ(names.names().size(), 7U);
  EXPECT_EQ(events_.size(), 14U);
  for (const network_event& each : events_) EXPECT_EQ(each.address(), "") << "connected to " << each.address();
  expect_silence();
  // The control: an address that a rule names.
  const answers_in_turn here({{"127.0.0.1"}});
  EXPECT_EQ(attacked(egress_policy("*.google.internal:" + tcp(), "127.0.0.1:" + tcp()).resolver(here.function()),
                     {"hosts", "metadata.google.internal:" + tcp()}),
            "metadata.google.internal:" + tcp() + " 200\n");
  EXPECT_EQ(canary_.connections(), 1U);
}

// 127.0.0.2, which a rule names, stands for the public address: the tests use no network.
TEST_P(NetworkAttack, NT_07_a_name_that_turns_to_this_machine_is_refused) {
  const std::string place_of_name = "rebind.example.org:" + tcp();
  const std::vector<std::vector<std::string>> answers{
      {"127.0.0.2"}, {"127.0.0.1"}, {"::1"}, {"::ffff:127.0.0.1"}, {"127.0.0.1", "127.0.0.2"}, {"10.0.0.1", "0.0.0.0"}};
  const std::vector<std::string> words{"hosts",       place_of_name, place_of_name, place_of_name,
                                       place_of_name, place_of_name, place_of_name};
  const auto statuses = [&](const std::vector<std::string>& in_turn) {
    std::string text;
    for (const std::string& each : in_turn) text += place_of_name + " " + each + "\n";
    return text;
  };
  const answers_in_turn names(answers);
  EXPECT_EQ(attacked(egress_policy(place_of_name, "127.0.0.2:" + tcp()).resolver(names.function()), words),
            statuses({"200", "403", "403", "403", "200", "403"}));
  EXPECT_EQ(names.names().size(), 6U) << "a name is resolved once for each connection: what is checked is connected to";
  EXPECT_EQ(canary_.connections_to("127.0.0.2"), 2U);
  EXPECT_EQ(canary_.connections(), 2U) << "nothing arrived at another address";
  // The control: a rule names the second address, too.
  const answers_in_turn again(answers);
  EXPECT_TRUE(
      attacked(egress_policy(place_of_name, "127.0.0.2:" + tcp(), "127.0.0.1:" + tcp()).resolver(again.function()),
               words)
          .starts_with(statuses({"200", "200"})));
  EXPECT_GT(canary_.connections_to("127.0.0.1"), 0U);
}

TEST_P(NetworkAttack, NT_08_no_data_leaves_by_the_names_of_hosts) {
  const answers_in_turn names({{"240.0.0.1"}});
  const auto policy = [&] { return egress_policy("*.allowed.example.org").resolver(names.function()); };
  attacked(policy(), {"hosts", "secret-data.evil.org", "secret-data.example.org", "allowed.example.org",
                      "secret%252edata.allowed.example.org", std::string(63, 's') + ".evil.org"});
  EXPECT_TRUE(names.names().empty()) << names.names().front();
  EXPECT_EQ(events_.size(), 5U);
  // The control: a name that the rule allows is resolved.
  EXPECT_EQ(attacked(policy(), {"hosts", "a.allowed.example.org"}), "a.allowed.example.org 403\n");
  EXPECT_EQ(names.names(), std::vector<std::string>{"a.allowed.example.org"});
}

TEST_P(NetworkAttack, NT_09_a_tunnel_leads_only_to_its_own_host) {
  canary tls;  // the server of the second host, which counts bytes
  const auto policy = [&] {
    return egress_policy(web(), host_rule("secure.example.org:443").at("127.0.0.1", tls.tcp_port()));
  };
  const std::string output =
      attacked(policy(), {"tunnels", "web.example.org", "secure.example.org", "127.0.0.1:" + tcp()});
  EXPECT_EQ(tls.bytes(), 0U) << output;
  expect_silence();
  EXPECT_FALSE(contains(seen_->joined(), "evil")) << seen_->joined();
  EXPECT_FALSE(contains(seen_->joined(), tcp())) << seen_->joined();
  EXPECT_EQ(seen_->count(), 3U) << "the first one of two requests is for the right host: " << seen_->joined();
  EXPECT_EQ(count_of(output, "web.example.org:22 403\n"), 1U) << output;
  EXPECT_EQ(count_of(output, "127.0.0.1:" + tcp() + " 403\n"), 1U) << output;
  // The control: the right name of the server.
  attacked(policy(), {"tls", "secure.example.org:443", "secure.example.org"});
  EXPECT_GT(tls.bytes(), 100U);
  // And a policy that allows the other host.
  attacked(egress_policy(web(), "127.0.0.1:" + tcp()),
           {"tunnels", "web.example.org", "secure.example.org", "127.0.0.1:" + tcp()});
  EXPECT_GT(canary_.bytes(), 0U);
}

TEST_P(NetworkAttack, NT_10_nothing_is_smuggled_through_the_proxy) {
  const std::string evil = "127.0.0.1:" + tcp();
  const std::string output = attacked(egress_policy(web()).opening_time(2s), {"smuggle", "web.example.org", evil});
  expect_silence();
  EXPECT_FALSE(contains(seen_->joined(), "hidden")) << seen_->joined();
  EXPECT_FALSE(contains(seen_->joined(), "evil")) << seen_->joined();
  const std::vector<std::string> lines = lines_of(output);
  EXPECT_EQ(lines.size(), 25U) << output;
  EXPECT_EQ(count_of(output,
                     "200 1 b'POST http://web.example.org/ HTTP/1.1\\r\\nHost: web.example.org\\r\\nContent-Length: 3"),
            1U)
      << "the valid request is answered: " << output;
  EXPECT_LE(count_of(output, "200 1 "), 2U) << "and one whose body breaks after the answer: " << output;
  EXPECT_EQ(count_of(output, "200 2 "), 0U) << "and no request behind it: " << output;
  // The control: a relay that does not read HTTP. Bytes that are not HTTP open one on a port other than 80 and 443.
  const std::string relay = "relay.example.org:" + std::to_string(server_);
  attacked(egress_policy(host_rule(relay).at("127.0.0.1", server_)), {"relay", relay, evil});
  EXPECT_TRUE(contains(seen_->joined(), "GET /hidden HTTP/1.1\r\nHost: " + evil)) << seen_->joined();
}

TEST_P(NetworkAttack, NT_16_each_hop_of_a_redirect_is_judged) {
  const auto redirects = [&](egress_policy policy, const std::vector<std::string>& targets) {
    std::vector<std::string> words{"fetch"};
    for (const std::string& target : targets) {
      const std::string host = "hop" + std::to_string(words.size()) + ".example.org";
      const std::string head = "HTTP/1.1 302 Found\r\nLocation: " + target + "\r\nContent-Length: 0\r\n\r\n";
      policy.allow(host_rule(host + ":80").at("127.0.0.1", servers_.start(text_server(head))));
      words.push_back("http://" + host + "/");
    }
    return attacked(std::move(policy), words);
  };
  const std::string end = ":" + tcp() + "/";
  const std::vector<std::string> targets{
      "http://127.0.0.1" + end,  "http://[::ffff:127.0.0.1]" + end, "http://[::1]" + end,
      "http://2130706433" + end, "http://localhost" + end,          "http://web.example.org@127.0.0.1" + end,
      "https://127.0.0.1" + end, "http://hop1.example.org:22/",     "http://169.254.169.254/latest/"};
  const std::string output = redirects(egress_policy(web()), targets);
  std::size_t refused = 0;
  for (const std::string& line : lines_of(output))
    if (line.starts_with("403 ") || line.starts_with("400 ") || line.starts_with("failed: ")) ++refused;
  EXPECT_EQ(refused, targets.size()) << output;
  EXPECT_FALSE(contains(output, "canary")) << output;
  EXPECT_EQ(std::count_if(events_.begin(), events_.end(), [](const network_event& each) { return each.allowed(); }),
            static_cast<std::ptrdiff_t>(targets.size()))
      << "the first hop of each was allowed";
  EXPECT_EQ(events_.size(), 2 * targets.size()) << "and each second one refused";
  expect_silence();
  // The control: a policy that allows the target.
  EXPECT_EQ(redirects(egress_policy("127.0.0.1:" + tcp()), {targets[0]}), "200 canary\n");
  EXPECT_EQ(canary_.connections(), 1U);
}

// ---- secrets --------------------------------------------------------------------------------------------------------

/// Records what a client sends first, and answers without sending it back.
awaitable<void> record_first(byte_stream stream, std::shared_ptr<received_requests> seen) {
  std::array<std::byte, 8192> room{};
  const std::size_t count = co_await stream.read_some(room);
  seen->add(std::string(as_text(bytes_view(room).first(count))));
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine";
  co_await cofferdam_test::send_text(std::move(stream), answer, false);
}

/// Returns the processes that run an attack, and the process that has started each.
std::vector<pid_t> processes_of(const std::string& name) {
  std::vector<pid_t> found;
  for (const cofferdam_test::process_entry& each : cofferdam_test::process_table()) {
    const std::string line = cofferdam_test::read_proc("/proc/" + std::to_string(each.pid) + "/cmdline");
    if (!line.starts_with("python3\0-c\0"s) || !contains(line, "\0"s + name + "\0"s)) continue;
    found.push_back(each.pid);
    found.push_back(each.parent);
  }
  return found;
}

TEST_P(NetworkAttack, NT_17_a_secret_reaches_its_host_and_never_the_guest) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "that the memory of processes in the place has no secret");
  const std::string secret = "Bearer " + "s3cret"s + "-t0ken";
  const certificate root("");
  const certificate leaf("DNS:api.example.org,DNS:other.example.org,DNS:back.example.org", &root);
  const auto owners = std::make_shared<received_requests>();
  const auto others = std::make_shared<received_requests>();
  const auto records = [owners](byte_stream stream) { return record_first(std::move(stream), owners); };
  const std::string down = "HTTP/1.1 307 Go\r\nLocation: http://api.example.org/down\r\nContent-Length: 0\r\n\r\n";
  const std::uint16_t plain = servers_.start(echo_server(others));
  const auto at = [](const char* rule, std::uint16_t port) { return host_rule(rule).at("127.0.0.1", port); };
  egress_policy policy;
  policy.allow(
      at("api.example.org:443", servers_.start(records, &leaf)).header("Authorization", secret_string(secret)));
  policy.allow(at("back.example.org:443", servers_.start(text_server(down), &leaf))
                   .header("Authorization", secret_string(secret)));
  policy.allow(at("other.example.org:443", servers_.start(echo_server(others), &leaf)).methods({"GET"}));
  policy.allow(at("api.example.org:80", plain));
  policy.trust(root.pem());
  std::string output;
  const auto body = [&](auto& env) -> awaitable<void> {
    const command fetches = attack({"hold", "https://api.example.org/", "http://api.example.org/plain",
                                    "https://other.example.org/", "https://back.example.org/"});
    process held = co_await env.start(fetches);
    while (!contains(output, "waiting\n")) {
      const output_chunk chunk = co_await held.read();
      if (!chunk) break;
      output += as_text(chunk.data());
    }
    const std::vector<pid_t> inside = processes_of("hold");
    EXPECT_GE(inside.size(), 2U);
    EXPECT_FALSE(cofferdam_test::memory_contains(inside, "s3cret"s + "-t0ken"));
    EXPECT_TRUE(cofferdam_test::memory_contains({::getpid()}, "s3cret"s + "-t0ken"))
        << "the control: it is in this program";
    EXPECT_TRUE(cofferdam_test::memory_contains(inside, "api.example.org")) << "the control: their memory is read";
    co_await held.signal(SIGKILL);
    co_await held.wait();
    const command looks = attack({"look"});
    const command_result looked = co_await env.run_command(looks);
    EXPECT_TRUE(contains(looked.out_text(), "SSL_CERT_FILE"));
    output += printed(looked);
  };
  run([&]() -> awaitable<void> { co_await with(place() | policy, body); });
  EXPECT_FALSE(contains(output, "s3cret"));
  EXPECT_TRUE(contains(output, "200 fine\n")) << output.substr(0, 2000);
  EXPECT_TRUE(contains(owners->joined(), "\r\nAuthorization: " + secret + "\r\n")) << owners->joined();
  EXPECT_EQ(others->count(), 3U) << others->joined();
  EXPECT_FALSE(contains(others->joined(), "s3cret")) << others->joined();
  // The control: a program that has the secret sends it to any allowed host.
  EXPECT_TRUE(contains(
      attacked(egress_policy(at("api.example.org:80", plain)), {"send_own", "http://api.example.org/", secret}),
      "s3cret"));
  EXPECT_TRUE(contains(others->joined(), "s3cret"));
}

// ---- a proxy that is slow, stalled or gone --------------------------------------------------------------------------

/// Serves the connections of a listener until it is closed.
awaitable<void> serve_all(std::shared_ptr<listener> open, egress_proxy proxy) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  try {
    while (true) {
      byte_stream guest = co_await open->accept();
      cofferdam_test::spawn(executor, proxy.serve(std::move(guest)), [](std::exception_ptr) {});
    }
  } catch (const error&) {  // the listener is closed
  }
}

TEST_P(NetworkAttack, NT_15_without_its_proxy_a_guest_reaches_nothing_and_a_new_proxy_works) {
  const egress_proxy proxy(egress_policy(web(), "127.0.0.1:" + tcp()));
  const auto body = [&](any_environment& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto fetched = [&]() -> awaitable<std::string> {
      const command c = attack({"fetch", "http://web.example.org/"}).timeout(8s);
      const command_result result = co_await env.run_command(c);
      co_return result.ok() ? result.out_text() : result.summary();
    };
    const auto swept = [&]() -> awaitable<void> {
      const command c = attack(sweep("everywhere"));
      co_await env.run_command(c);
    };
    std::vector<std::shared_ptr<listener>> open;
    const auto begins = [&](bool serves) -> awaitable<void> {
      guest_network network = env.network();
      listener made = co_await network.listen();
      open.push_back(std::make_shared<listener>(std::move(made)));
      co_await network.use_proxy(open.back()->port());
      if (serves) cofferdam_test::spawn(executor, serve_all(open.back(), proxy), [](std::exception_ptr) {});
    };
    co_await begins(true);
    const std::string works = co_await fetched();
    EXPECT_TRUE(works.starts_with("200 ")) << works;
    open.back()->close();  // the proxy is gone
    const std::string gone = co_await fetched();
    EXPECT_TRUE(gone.starts_with("failed: ")) << gone;
    co_await swept();
    co_await begins(false);  // the proxy is stalled: it accepts no connection
    const std::string stalled = co_await fetched();
    EXPECT_TRUE(contains(stalled, "timed out") || stalled.starts_with("failed: ")) << stalled;
    co_await swept();
    EXPECT_EQ(canary_.connections() + canary_.bytes(), 0U);
    EXPECT_EQ(seen_->count(), 1U);
    co_await begins(true);
    const std::string again = co_await fetched();
    EXPECT_TRUE(again.starts_with("200 ")) << again;
    EXPECT_EQ(seen_->count(), 2U);
    // The control: the same proxy lets the guest reach the canary, which a rule names.
    const command reaches = attack({"hosts", "127.0.0.1:" + tcp()});
    co_await env.run_command(reaches);
    EXPECT_EQ(canary_.connections(), 1U);
    for (const std::shared_ptr<listener>& each : open) each->close();
  };
  run([&]() -> awaitable<void> { co_await with(place(), body); }, 120s);
}

/// Sends without end, and counts the bytes.
awaitable<void> send_without_end(byte_stream stream, std::shared_ptr<std::atomic<std::size_t>> sent) {
  const std::string block(65536, 'f');
  while (true) {
    co_await stream.write(as_bytes(block));
    *sent += block.size();
  }
}

TEST_P(NetworkAttack, NT_15_a_guest_that_reads_nothing_stops_only_itself) {
  const auto sent = std::make_shared<std::atomic<std::size_t>>(0);
  const auto floods = [sent](byte_stream stream) { return send_without_end(std::move(stream), sent); };
  egress_policy policy(web(), host_rule("flood.example.org:7003").at("127.0.0.1", servers_.start(floods)));
  const auto body = [&](auto& env) -> awaitable<void> {
    const command stalls = attack({"stall", "flood.example.org:7003"});
    process stalled = co_await env.start(stalls);
    const output_chunk opened = co_await stalled.read();
    EXPECT_EQ(as_text(opened.data()), "200\n");
    for (int i = 0; i < 5; ++i) {
      const command fetches = attack({"fetch", "http://web.example.org/"});
      const command_result result = co_await env.run_command(fetches);
      EXPECT_TRUE(result.out_text().starts_with("200 ")) << result.out_text();
    }
    const std::size_t before = *sent;
    EXPECT_GT(before, 0U);
    EXPECT_LT(before, 32U << 20) << "the kernel's buffers of two connections, and the credit of the warden";
    co_await stalled.signal(SIGKILL);
    co_await stalled.wait();
  };
  run([&]() -> awaitable<void> { co_await with(place() | policy, body); });
}

TEST_P(NetworkAttack, NT_18_many_slow_connections_neither_stop_the_host_nor_exceed_the_limit) {
  std::size_t refused = 0;
  egress_policy policy(web());
  policy.connections(64).opening_time(20s).log([&refused](const network_event& event) {
    if (contains(event.reason(), "allows 64 connections at the same time")) ++refused;
  });
  std::vector<std::chrono::microseconds> late;
  std::string output;
  const auto body = [&](auto& env) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const command opens = attack({"slow", "400", "3"});
    process slow = co_await env.start(opens);
    const auto end = std::chrono::steady_clock::now() + 3s;
    while (std::chrono::steady_clock::now() < end) {
      asio::steady_timer tick(executor, 5ms);
      const auto due = tick.expiry();
      co_await tick.async_wait(asio::use_awaitable);
      late.push_back(std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - due));
    }
    const command_result result = co_await std::move(slow).wait();
    output = printed(result);
    // The control: all places are free again.
    const command fetches = attack({"fetch", "http://web.example.org/"});
    const command_result fetched = co_await env.run_command(fetches);
    EXPECT_TRUE(fetched.out_text().starts_with("200 ")) << fetched.out_text();
  };
  run([&]() -> awaitable<void> { co_await with(place() | policy, body); }, 120s);
  EXPECT_EQ(refused, 336U) << output;
  std::sort(late.begin(), late.end());
  EXPECT_LT(late[late.size() / 2], 10ms) << "the median, because other work may run on this machine";
  RecordProperty("late_p99_us", static_cast<int>(late[late.size() * 99 / 100].count()));
}

}  // namespace

}  // namespace network_attacks
