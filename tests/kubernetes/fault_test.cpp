// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Connections to a real API server that break, at each message of a conversation.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/census.hpp"
#include "support/fault_proxy.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/script_server.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam_test::direction;
using cofferdam_test::eventually;
using cofferdam_test::fault;
using cofferdam_test::fault_proxy;
using cofferdam_test::open_api;
using cofferdam_test::run;

/// Starts tests/kubernetes/tls_client.py, which offers the plain text of the API server on a Unix socket.
class tls_client {
 public:
  tls_client() : tls_client(cofferdam_test::admin_access()) {}
  std::string socket() const { return (folder_.path() / "plain.sock").string(); }

 private:
  explicit tls_client(const cofferdam::kubernetes::detail::cluster_access& access)
      : server_("tests/kubernetes/tls_client.py",
                {socket(), std::to_string(access.port), access.cluster.authority.path}) {}

  cofferdam_test::temporary_folder folder_;
  cofferdam_test::script_server server_;
};

/// The result of one conversation.
class outcome {
 public:
  std::string said;  ///< the text of the exception; empty for success
  std::error_code code;
  bool is_ours = true;  ///< true if the exception is a cofferdam::error
  std::chrono::milliseconds took{0};
};

std::size_t descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class KubernetesFaults : public ::testing::Test {
 protected:
  void SetUp() override { COFFERDAM_NEEDS_CLUSTER("that broken connections to an API server are typed errors"); }
  void TearDown() override {
    if (IsSkipped()) return;
    run([]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      co_await api->ask("DELETE", api->path("pods") + "?gracePeriodSeconds=0&labelSelector=fault-test%3D" + mark(),
                        std::string(), "delete the pods of the test", std::vector<int>());
      co_await api->close();
    });
  }

  static std::string mark() { return std::to_string(::getpid()); }

  static std::string server() { return "tcp://127.0.0.1:" + std::to_string(cofferdam_test::admin_access().port); }

  /// Writes a kubeconfig whose server is the proxy.
  /// \param is_plain  true if the proxy sees plain text.
  void use(const fault_proxy& proxy, bool is_plain) {
    const std::string at = "127.0.0.1:" + std::to_string(proxy.port());
    const std::string verified = cofferdam_test::verified_fields();
    const std::string cluster = is_plain ? "server: \"http://" + at + "\""
                                         : "server: \"https://" + at + "\"" + verified.substr(verified.find(','));
    kubeconfig_ = folder_.write("kubeconfig", cofferdam_test::kubeconfig_text(cluster)).string();
  }

  /// Opens an environment, uses it and closes it.
  awaitable<void> converse() const {
    kubernetes::pod_options options;
    options.kubeconfig(kubeconfig_).pull(kubernetes::pull_policy::never).hold_time(hold_time_);
    options.cpus(0.05).memory(std::uint64_t{64} << 20U).label("fault-test", mark());
    kubernetes::provider provider = kubernetes::from_image("cofferdam-test/busybox:1");
    provider.options(options).open_timeout(30s).default_timeout(30s);
    kubernetes::environment env = co_await provider.open();
    const command_result result = co_await env.run_command(shell("cat; seq 10000; echo done").input("in\n"));
    std::string expected = "in\n";
    for (int i = 1; i <= 10000; ++i) expected += std::to_string(i) + "\n";
    if (!result.ok() || result.out().text() != expected + "done\n")
      throw std::logic_error("a wrong result: " + result.summary() + " " + std::string(result.out().text()));
    const std::string text(50'000, 'q');
    co_await env.write_file("file", as_bytes(text));
    const bytes again = co_await env.read_file("file", 100'000);
    if (as_text(again) != text) throw std::logic_error("a wrong file");
    co_await env.close();
  }

  outcome outcome_of_conversation() const {
    outcome result;
    const auto begin = std::chrono::steady_clock::now();
    try {
      run([&] { return converse(); }, 400s);
    } catch (const error& failure) {
      result.said = failure.what();
      result.code = failure.code();
    } catch (const std::exception& failure) {
      result.said = failure.what();
      result.is_ours = false;
    }
    result.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    return result;
  }

  /// Returns the pods of this test that have not ended.
  static std::string living_pods() {
    std::string names;
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      const std::optional<boost::json::object> list =
          co_await api->find(api->path("pods") + "?labelSelector=fault-test%3D" + mark(), "list the pods of the test");
      co_await api->close();
      for (const boost::json::value& pod : list->at("items").as_array()) {
        const std::string phase(pod.at("status").at("phase").as_string());
        if (phase != "Succeeded" && phase != "Failed")
          names += std::string(pod.at("metadata").at("name").as_string()) + " " + phase + " ";
      }
    });
    return names;
  }

  /// Injects faults one by one, each in a conversation of its own, and checks how each conversation ends.
  /// \param least  the least number of conversations that must break.
  /// \param is_plain  true if nothing protects the content: bytes that are damaged there give a wrong result.
  void inject(fault_proxy& proxy, const std::vector<fault>& faults, std::size_t step, int least,
              bool is_plain = false) {
    static constexpr const char* kinds[] = {"none", "cut", "reset", "garbage", "silence"};
    const std::size_t before = descriptors();
    int broken = 0;
    int survived = 0;
    std::chrono::milliseconds longest{0};
    for (std::size_t i = 0; i < faults.size(); i += step) {
      const fault& injected = faults[i];
      const std::string what = std::string(kinds[static_cast<std::size_t>(injected.what)]) +
                               (injected.where == direction::up ? " up, " : " down, ") + std::to_string(injected.at) +
                               " bytes into message " + std::to_string(injected.message.value_or(0));
      proxy.arm(injected);
      const outcome result = outcome_of_conversation();
      longest = std::max(longest, result.took);
      if (std::getenv("COFFERDAM_TEST_VERBOSE") != nullptr || result.took > 20s)
        std::cout << what << ' ' << result.took.count() << " ms: " << result.said << std::endl;
      const bool is_damaged_content =
          is_plain && injected.what == fault::kind::garbage && result.said.starts_with("a wrong ");
      EXPECT_TRUE(result.is_ours || is_damaged_content) << what << ": " << result.said;
      EXPECT_LT(result.took, 200s) << what << ": " << result.said;
      if (result.said.empty() || is_damaged_content) {
        ++survived;  // a request was repeated, the conversation was shorter than before, or content is damaged
      } else {
        ++broken;
        EXPECT_TRUE(result.said.find("kubernetes") != std::string::npos ||
                    result.said.find("warden") != std::string::npos)
            << what << ": " << result.said;
        EXPECT_TRUE(result.code == exec_errc::provider_failed || result.code == exec_errc::provider_lost ||
                    result.code == exec_errc::invalid_argument)
            << what << ": " << result.code.message() << ": " << result.said;
      }
      EXPECT_TRUE(eventually([] { return living_pods().empty(); }, 30s))
          << what << ": " << result.said << "\nleft: " << living_pods();
      EXPECT_TRUE(eventually([&] { return proxy.open() == 0; }, 10s)) << what << ": a connection is left open";
    }
    EXPECT_GE(broken, least);
    proxy.arm(fault());
    EXPECT_TRUE(eventually([&] { return descriptors() <= before; }, 10s)) << descriptors() << ", before " << before;
    std::cout << broken << " broken, " << survived << " survived, the longest took " << longest.count() << " ms\n";
  }

  /// Runs two conversations without a fault: the first one has the requests that are sent only once in a process.
  void learn(fault_proxy& proxy) {
    ASSERT_EQ(outcome_of_conversation().said, "");
    ASSERT_TRUE(eventually([&] { return proxy.open() == 0; }, 10s));
    proxy.arm(fault());
    ASSERT_EQ(outcome_of_conversation().said, "");
    ASSERT_TRUE(eventually([&] { return proxy.open() == 0; }, 10s));
    // The proxy counts messages that arrive together as one, so the number varies.
    ASSERT_GT(proxy.messages(direction::up).size(), 6U);
    ASSERT_GT(proxy.messages(direction::down).size(), 6U);
    std::cout << proxy.messages(direction::up).size() << " messages up, " << proxy.messages(direction::down).size()
              << " down\n";
  }

  static bool is_long() { return std::getenv("COFFERDAM_SOAK") != nullptr; }

  std::string kubeconfig_;
  std::chrono::seconds hold_time_{2};
  cofferdam_test::temporary_folder folder_;
};

TEST_F(KubernetesFaults, a_conversation_that_comes_in_pieces_or_late_is_the_same_conversation) {
  fault_proxy proxy(server());
  use(proxy, false);
  hold_time_ = 20s;
  proxy.arm(fault());
  proxy.chop(7);
  EXPECT_EQ(outcome_of_conversation().said, "");
  proxy.arm(fault());
  proxy.delay(120ms);
  EXPECT_EQ(outcome_of_conversation().said, "");
  EXPECT_TRUE(eventually([] { return living_pods().empty(); }, 10s)) << living_pods();
}

TEST_F(KubernetesFaults, wherever_an_encrypted_conversation_breaks_there_is_a_typed_error_and_no_pod) {
  fault_proxy proxy(server());
  use(proxy, false);
  ASSERT_NO_FATAL_FAILURE(learn(proxy));
  std::vector<fault> faults;
  for (std::size_t i = 0; i < proxy.messages(direction::up).size(); ++i) {
    faults.push_back(fault::in_message(fault::kind::cut, direction::up, i));
    faults.push_back(fault::in_message(fault::kind::garbage, direction::up, i, 9));
    faults.push_back(fault::in_message(fault::kind::cut, direction::up, i, 30));
  }
  for (std::size_t i = 0; i < proxy.messages(direction::down).size(); ++i) {
    faults.push_back(fault::in_message(fault::kind::cut, direction::down, i));
    faults.push_back(fault::in_message(fault::kind::reset, direction::down, i, 1));
    faults.push_back(fault::in_message(fault::kind::garbage, direction::down, i, 9));
    faults.push_back(fault::in_message(fault::kind::cut, direction::down, i, 30));
  }
  inject(proxy, faults, is_long() ? 1 : 11, is_long() ? 20 : 3);
}

// Without TLS, the client itself must find damaged bytes. Only the beginnings of messages are damaged, because nothing
// protects their content. A message of a WebSocket may begin in the middle of a frame.
TEST_F(KubernetesFaults, wherever_a_plain_conversation_breaks_there_is_a_typed_error_and_no_pod) {
  const tls_client plain;
  fault_proxy proxy(plain.socket());
  use(proxy, true);
  ASSERT_NO_FATAL_FAILURE(learn(proxy));
  std::vector<fault> faults;
  for (std::size_t i = 0; i < proxy.messages(direction::up).size(); ++i) {
    faults.push_back(fault::in_message(fault::kind::cut, direction::up, i));
    faults.push_back(fault::in_message(fault::kind::cut, direction::up, i, 7));
    faults.push_back(fault::in_message(fault::kind::garbage, direction::up, i));
  }
  for (std::size_t i = 0; i < proxy.messages(direction::down).size(); ++i) {
    faults.push_back(fault::in_message(fault::kind::cut, direction::down, i));
    faults.push_back(fault::in_message(fault::kind::cut, direction::down, i, 9));
    faults.push_back(fault::in_message(fault::kind::reset, direction::down, i, 1));
    faults.push_back(fault::in_message(fault::kind::garbage, direction::down, i));
  }
  inject(proxy, faults, is_long() ? 1 : 11, is_long() ? 20 : 3, true);
}

TEST_F(KubernetesFaults, a_server_that_is_gone_for_good_is_an_error_and_the_pod_ends_by_itself) {
  fault_proxy proxy(server());
  use(proxy, false);
  ASSERT_NO_FATAL_FAILURE(learn(proxy));
  std::vector<fault> faults;
  for (std::size_t i = 0; i < proxy.messages(direction::down).size(); ++i)
    faults.push_back(fault::in_message(fault::kind::cut, direction::down, i, 1).for_good());
  inject(proxy, faults, is_long() ? 1 : 4, is_long() ? 10 : 3);
}

// The time limits of the HTTP client and the heartbeat of the WebSocket find out, within a minute each.
TEST_F(KubernetesFaults, a_connection_that_falls_silent_is_a_typed_error_in_bounded_time) {
  if (!is_long()) GTEST_SKIP() << "takes minutes; set COFFERDAM_SOAK";
  fault_proxy proxy(server());
  use(proxy, false);
  ASSERT_NO_FATAL_FAILURE(learn(proxy));
  std::vector<fault> faults;
  for (std::size_t i = 0; i < proxy.messages(direction::up).size(); ++i)
    faults.push_back(fault::in_message(fault::kind::silence, direction::up, i));
  for (std::size_t i = 0; i < proxy.messages(direction::down).size(); ++i)
    faults.push_back(fault::in_message(fault::kind::silence, direction::down, i));
  inject(proxy, faults, 5, 5);
}

}  // namespace
