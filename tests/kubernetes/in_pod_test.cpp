// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Environments in pods of a real cluster that others have made.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/owned_pod.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/hostile.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam::kubernetes::detail::owned_pod;
using cofferdam_test::eventually;
using cofferdam_test::failure_of;
using cofferdam_test::marked;
using cofferdam_test::open_api;
using cofferdam_test::pause_for;
using cofferdam_test::run;

class KubernetesAdoption : public ::testing::Test {
 protected:
  void SetUp() override {
    COFFERDAM_NEEDS_CLUSTER("that commands run in pods that others have made");
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      const auto pod = std::make_shared<owned_pod>(api, name_);
      const std::string text = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" + name_ + R"("},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
          "containers": [
            {"name": "first", "image": "cofferdam-test/busybox:1", "imagePullPolicy": "Never",
             "command": ["sleep", "1000"], "env": [{"name": "COLOR", "value": "blue"}]},
            {"name": "second", "image": "cofferdam-test/busybox:1", "imagePullPolicy": "Never",
             "command": ["sleep", "1000"], "securityContext": {"runAsUser": 4242}}]}})";
      co_await owned_pod::create(pod, boost::json::parse(text).as_object(), owned_pod::clock::now() + 1min);
      for (int i = 0; i < 300; ++i) {
        const std::optional<boost::json::object> seen = co_await api->find(api->pod_path(name_), "look at the pod");
        if (seen && seen->at("status").at("phase") == "Running") break;
        co_await pause_for(100ms);
      }
      co_await api->close();
    });
  }
  void TearDown() override {
    if (IsSkipped()) return;
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      co_await owned_pod::remove(std::make_shared<owned_pod>(api, name_));
      co_await api->close();
    });
  }

  static kubernetes::pod_options options() {
    kubernetes::pod_options result;
    result.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig"));
    return result;
  }

  kubernetes::provider there(const std::string& container = {}, kubernetes::pod_options with = options()) const {
    kubernetes::provider result = kubernetes::in_pod(name_, container);
    result.options(std::move(with));
    return result;
  }

  /// Runs a shell line in an environment of its own, and returns its output.
  std::string output_of(const kubernetes::provider& where, const std::string& line) const {
    std::string text;
    run([&]() -> awaitable<void> {
      co_await with(where, [&](auto& env) -> awaitable<void> {
        command_result result = co_await env.run_command(shell(line));
        text = result.out().text() + result.err().text();
      });
    });
    return text;
  }

  const std::string name_ = "adopted-" + std::to_string(::getpid());
};

TEST_F(KubernetesAdoption, commands_run_in_the_pod_and_the_pod_continues) {
  std::string workspace;
  run([&]() -> awaitable<void> {
    co_await with(there(), [&](kubernetes::environment& env) -> awaitable<void> {
      EXPECT_EQ(env.pod_name(), name_);
      command_result result = co_await env.run_command(shell("id -u; echo $COLOR; test $PWD = $HOME && pwd"));
      EXPECT_TRUE(result.out().text().starts_with("0\nblue\n/")) << result.out().text();
      workspace = result.out().text().substr(7);
      co_await env.write_file("a/b", as_bytes(std::string_view("content")));
      result = co_await env.run_command(shell("cat a/b; (sleep 1000 &)"));
      EXPECT_EQ(result.out().text(), "content");
      EXPECT_EQ(result.isolation().of(isolation_kind::network), "none");
      EXPECT_NE(result.isolation().of(isolation_kind::process_tree), "none");
    });
  });
  // The folder and all processes of the environment are soon gone.
  EXPECT_TRUE(eventually(
      [&] { return output_of(there(), "ls -d " + workspace).ends_with("No such file or directory\n"); }, 10s));
  EXPECT_EQ(output_of(there(), "ps -o args | grep -c '^sleep'"), "1\n");
}

TEST_F(KubernetesAdoption, a_container_and_a_workspace_can_be_chosen) {
  EXPECT_EQ(output_of(there("second", options().working_directory("/tmp/mine").variable("COLOR", "red")),
                      "id -u; pwd; echo $COLOR; touch kept"),
            "4242\n/tmp/mine\nred\n");
  EXPECT_EQ(output_of(there("second", options().working_directory("/tmp/mine")), "ls"), "kept\n");
}

TEST_F(KubernetesAdoption, several_environments_are_open_at_once_and_apart) {
  run([&]() -> awaitable<void> {
    kubernetes::environment first = co_await there().open();
    kubernetes::environment second = co_await there().open();
    co_await first.run_command(shell("touch mine"));
    const command_result seen = co_await second.run_command(shell("ls -A"));
    EXPECT_EQ(seen.out().text(), "");
    co_await first.close();
    const command_result still = co_await second.run_command(shell("echo here"));
    EXPECT_EQ(still.out().text(), "here\n");
    co_await second.close();
  });
}

TEST_F(KubernetesAdoption, failures_name_the_pod_and_the_remedy) {
  const error missing = failure_of(kubernetes::in_pod("no-such-pod").options(options()));
  EXPECT_EQ(missing.code(), exec_errc::not_found);
  EXPECT_NE(std::string(missing.what()).find("no-such-pod"), std::string::npos) << missing.what();
  const error container = failure_of(there("third"));
  EXPECT_EQ(container.code(), exec_errc::invalid_argument);
  EXPECT_NE(std::string(container.what()).find("third"), std::string::npos) << container.what();
  const error place = failure_of(there("second", options().working_directory("/bin/mine")));
  EXPECT_EQ(place.code(), exec_errc::provider_failed);
  EXPECT_NE(std::string(place.what()).find("/bin/mine"), std::string::npos) << place.what();
  EXPECT_NE(std::string(place.what()).find("working_directory()"), std::string::npos) << place.what();
  const error slow = failure_of(there("second").open_timeout(1ms));
  EXPECT_EQ(slow.code(), exec_errc::provider_failed);
  EXPECT_NE(std::string(slow.what()).find("open_timeout()"), std::string::npos) << slow.what();
  for (const char* const bad : {"", "UPPER", "a/b", "a b"}) EXPECT_THROW(kubernetes::in_pod(bad), error) << bad;
  EXPECT_THROW(kubernetes::in_pod("fine", "Not.A.Label"), error);
}

TEST_F(KubernetesAdoption, a_deleted_pod_is_a_lost_provider_with_the_reason) {
  run([&]() -> awaitable<void> {
    kubernetes::environment env = co_await there().open();
    process running = co_await env.start(shell("echo begun; sleep 1000"));
    co_await pause_for(300ms);
    const std::shared_ptr<cluster_api> api = co_await open_api();
    co_await owned_pod::remove(std::make_shared<owned_pod>(api, name_));
    co_await api->close();
    std::optional<error> failure;
    try {
      co_await running.wait();
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    if (failure) {
      EXPECT_NE(std::string(failure->what()).find(name_), std::string::npos) << failure->what();
    }
    EXPECT_TRUE(env.is_lost());
    co_await env.close();
  });
}

TEST_F(KubernetesAdoption, PR_19_commands_end_when_the_host_dies) {
  const std::string marker = cofferdam_test::new_marker();
  cofferdam_test::forked_program host([&](int) {
    run([&]() -> awaitable<void> {
      kubernetes::environment env = co_await there().open();
      const std::string line =
          cofferdam_test::with_marker("trap '' TERM HUP; (setsid sleep M &); (sleep M &); sleep M", marker);
      co_await env.run_command(shell(line));
    });
  });
  EXPECT_TRUE(eventually([&] { return marked(marker).size() >= 3; }, 30s)) << host.line(0ms);
  host.kill();
  EXPECT_TRUE(eventually([&] { return marked(marker).empty(); }, 10s)) << cofferdam_test::shown(marked(marker));
  cofferdam_test::kill_marked(marker);
  EXPECT_EQ(output_of(there(), "ps -o args | grep -c '^sleep'"), "1\n");
}

}  // namespace
