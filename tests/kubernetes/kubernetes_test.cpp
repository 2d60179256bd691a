// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Environments in pods of a real cluster.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/hostile.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/steady_timer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::kubernetes::pod_options;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam_test::failure_of;
using cofferdam_test::marked;
using cofferdam_test::run;

const std::string busybox = "cofferdam-test/busybox:1";

// The program of the guide, in packaging/docs/backends.md.
awaitable<void> multiply(std::string image, kubernetes::pod_options options) {
  options.memory(std::uint64_t{512} << 20).cpus(0.5);
  co_await with(kubernetes::from_image(image).options(options) | timeout(60s), [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("python3 -c 'print(6 * 7)'");
    std::cout << result.out_text();
  });
}

class KubernetesBackend : public ::testing::Test {
 protected:
  void SetUp() override { COFFERDAM_NEEDS_CLUSTER("that pods of a real cluster run commands"); }

  static pod_options options() {
    pod_options result;
    result.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")).pull(kubernetes::pull_policy::never);
    result.cpus(0.1).memory(std::uint64_t{128} << 20U);
    return result;
  }

  static kubernetes::provider pods(pod_options with = options()) {
    kubernetes::provider result = kubernetes::from_image(busybox);
    result.options(std::move(with));
    return result;
  }

  static void in_pod(std::function<awaitable<void>(kubernetes::environment&)> body,
                     kubernetes::provider provider = pods()) {
    run([&]() -> awaitable<void> { co_await with(provider, body); });
  }

  /// Returns the object of a pod; no value if it does not exist.
  static awaitable<std::optional<boost::json::object>> look_at(std::string name) {
    const std::shared_ptr<cluster_api> api = co_await cofferdam_test::open_api();
    std::optional<boost::json::object> pod = co_await api->find(api->pod_path(name), "look at a pod");
    co_await api->close();
    co_return pod;
  }

  static awaitable<void> delete_pod(std::string name) {
    const std::shared_ptr<cluster_api> api = co_await cofferdam_test::open_api();
    co_await api->ask("DELETE", api->pod_path(name) + "?gracePeriodSeconds=0", std::string(), "delete a pod",
                      std::vector<int>());
    co_await api->close();
  }
};

TEST_F(KubernetesBackend, a_command_runs_in_a_pod_as_another_user_than_root) {
  in_pod([](kubernetes::environment& env) -> awaitable<void> {
    const command_result result = co_await env.run_command(shell("id -u; pwd; echo x > f; cat f; ls -d /.cofferdam"));
    EXPECT_EQ(result.exit_code(), 0) << result.err().text();
    EXPECT_EQ(result.out().text(), "1000\n/workspace\nx\n/.cofferdam\n");
    EXPECT_TRUE(env.pod_name().starts_with("cofferdam-"));
    EXPECT_EQ(env.pod_namespace(), "default");
  });
}

TEST_F(KubernetesBackend, the_program_of_the_guide_runs) {
  std::ostringstream printed;
  std::streambuf* const before = std::cout.rdbuf(printed.rdbuf());
  run([]() -> awaitable<void> { co_await multiply("cofferdam-test/debian:1", options()); });
  std::cout.rdbuf(before);
  EXPECT_EQ(printed.str(), "42\n");
}

TEST_F(KubernetesBackend, close_deletes_the_pod) {
  run([]() -> awaitable<void> {
    kubernetes::environment env = co_await pods().open();
    const std::string name = env.pod_name();
    std::optional<boost::json::object> before = co_await look_at(name);
    EXPECT_TRUE(before.has_value());
    co_await env.close();
    std::optional<boost::json::object> after = co_await look_at(name);
    EXPECT_FALSE(after.has_value());
  });
}

TEST_F(KubernetesBackend, files_go_in_and_out) {
  in_pod([](kubernetes::environment& env) -> awaitable<void> {
    const std::string content(3'000'000, 'q');
    co_await env.write_file("sub/file", as_bytes(std::string_view(content)));
    const bytes back = co_await env.read_file("sub/file", 4'000'000);
    EXPECT_TRUE(as_text(back) == content);
    const command_result result = co_await env.run_command(shell("wc -c < sub/file"));
    EXPECT_EQ(result.out().text(), "3000000\n");
  });
}

TEST_F(KubernetesBackend, the_walls_are_reported) {
  in_pod([](kubernetes::environment& env) -> awaitable<void> {
    const command_result result = co_await env.run_command(shell("env; touch /x; ls /var/run/secrets"));
    EXPECT_EQ(result.out().text().find("KUBERNETES_"), std::string::npos) << result.out().text();
    const isolation_report& walls = result.isolation();
    EXPECT_EQ(walls.of(isolation_kind::process_tree), "everything the command started");
    EXPECT_NE(walls.of(isolation_kind::memory).find("134217728"), std::string::npos);
    EXPECT_EQ(walls.of(isolation_kind::files), "the image's files, read-only");
    // The cluster of the tests does not enforce policies, and no connection of a pod shows this.
    EXPECT_EQ(walls.of(isolation_kind::network), "none");
  });
}

TEST_F(KubernetesBackend, a_missing_image_is_reported_at_once) {
  kubernetes::provider absent = kubernetes::from_image("cofferdam-test/absent:1");
  absent.options(options());
  const error failure = failure_of(absent);
  EXPECT_EQ(failure.code(), exec_errc::not_found) << failure.what();
}

TEST_F(KubernetesBackend, a_pod_that_fits_on_no_node_is_reported_at_once) {
  pod_options large = options();
  large.cpus(5000);
  const error failure = failure_of(pods(large));
  EXPECT_EQ(failure.code(), exec_errc::provider_failed);
  EXPECT_NE(std::string(failure.what()).find("fits on no node"), std::string::npos) << failure.what();
}

TEST_F(KubernetesBackend, a_user_without_rights_gets_the_words_of_the_server) {
  pod_options guest = options();
  guest.kubeconfig(cofferdam_test::kubeconfig_of("guest.kubeconfig"));
  const error failure = failure_of(pods(guest));
  EXPECT_EQ(failure.code(), exec_errc::permission_denied) << failure.what();
  EXPECT_NE(std::string(failure.what()).find("networkpolicies"), std::string::npos) << failure.what();
}

TEST_F(KubernetesBackend, a_deleted_pod_fails_its_commands_with_the_output_so_far) {
  run([]() -> awaitable<void> {
    kubernetes::environment env = co_await pods().open();
    process running = co_await env.start(shell("echo before; sleep 100"));
    const output_chunk first = co_await running.read();
    EXPECT_EQ(as_text(bytes_view(first.data())), "before\n");
    co_await delete_pod(env.pod_name());
    std::optional<error> failure;
    try {
      const command_result result = co_await running.wait();
      ADD_FAILURE() << result.exit_code();
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    if (failure) {
      EXPECT_NE(std::string(failure->what()).find("deleted"), std::string::npos) << failure->what();
    }
    EXPECT_TRUE(env.is_lost());
    co_await env.close();
  });
}

// This machine is also the node, so it sees the processes of pods.
TEST_F(KubernetesBackend, PR_19_a_killed_host_leaves_nothing_20_times) {
  std::vector<std::string> pods_left;
  for (int round = 0; round < 20; ++round) {
    const cofferdam_test::temporary_folder folder;
    const std::string guest = cofferdam_test::new_marker();
    const std::string told = cofferdam_test::in_forked_host([&]() -> std::string {
      run([&]() -> awaitable<void> {
        kubernetes::environment env = co_await pods(options().hold_time(2s)).open();
        process running = co_await env.start(shell("setsid sleep " + guest + " & echo up; exec sleep " + guest));
        co_await running.read();
        // the control: it runs now
        folder.write("seen", marked(guest).empty() ? "" : env.pod_name());
        ::raise(SIGKILL);
      });
      return "survived";
    });
    EXPECT_EQ(told, "died of signal 9");
    EXPECT_TRUE(cofferdam_test::eventually([&] { return marked(guest).empty(); }, 1s)) << round;
    pods_left.push_back(folder.read("seen"));
    EXPECT_NE(pods_left.back(), "");
  }
  // A pod of another program, which has ended like those of this library, stays.
  const std::string foreign = "foreign-" + std::to_string(::getpid());
  run([&]() -> awaitable<void> {
    const std::shared_ptr<cluster_api> api = co_await cofferdam_test::open_api();
    const std::string body = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + foreign +
                             R"("}, "spec": {"restartPolicy": "Never", "containers": [{"name": "it", "image": ")" +
                             busybox + R"(", "imagePullPolicy": "Never", "command": ["true"]}]}})";
    co_await api->ask("POST", api->path("pods"), body, "create a foreign pod", std::vector<int>());
    co_await api->close();
  });
  const auto phase_of = [](std::string name) {
    std::string phase = "none";
    run([&]() -> awaitable<void> {
      const std::optional<boost::json::object> pod = co_await look_at(name);
      if (pod) phase = pod->at("status").at("phase").as_string();
    });
    return phase;
  };
  EXPECT_TRUE(cofferdam_test::eventually([&] { return phase_of(pods_left.back()) == "Succeeded"; }, 15s))
      << phase_of(pods_left.back());
  EXPECT_TRUE(cofferdam_test::eventually([&] { return phase_of(foreign) == "Succeeded"; }, 15s)) << phase_of(foreign);
  // open() deletes pods that ended more than ten seconds ago, and looks for them at most once a minute.
  const auto all_are_gone = [&] {
    std::this_thread::sleep_for(3s);
    run([]() -> awaitable<void> {
      kubernetes::environment env = co_await pods().open();
      co_await env.close();
    });
    return std::ranges::all_of(pods_left, [&](const std::string& name) { return phase_of(name) == "none"; });
  };
  EXPECT_TRUE(cofferdam_test::eventually(all_are_gone, 90s));
  EXPECT_EQ(phase_of(foreign), "Succeeded");
  run([&]() -> awaitable<void> { co_await delete_pod(foreign); });
}

// With control groups of version 2, the kubelet lets the kernel end all processes of the container at once. With
// version 1, the kernel ends one process.
TEST_F(KubernetesBackend, exceeded_memory_ends_the_pod_with_a_cause_and_the_output_so_far) {
  const bool ends_all = std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers");
  run([&]() -> awaitable<void> {
    kubernetes::environment env = co_await pods(options().memory(std::uint64_t{64} << 20U)).open();
    std::optional<error> failure;
    std::optional<command_result> result;
    try {
      result = co_await env.run_command(shell("echo begun; sleep 0.3; tail /dev/zero"));
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_EQ(failure.has_value(), ends_all);
    if (failure) {
      EXPECT_EQ(failure->code(), exec_errc::provider_lost) << failure->what();
      EXPECT_EQ(failure->cause(), std::errc::not_enough_memory) << failure->what();
      EXPECT_TRUE(failure->partial() != nullptr && failure->partial()->out().text() == "begun\n");
    } else {
      EXPECT_EQ(result->out().text(), "begun\n");
      EXPECT_FALSE(result->ok());
      std::cout << "the result: " << result->summary() << "\n";
    }
    co_await env.close();
  });
}

}  // namespace
