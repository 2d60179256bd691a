// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Pods of a user who may not create ConfigMaps: the warden comes by an exec.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/owned_pod.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/with.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/hostile.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json/object.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
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
using cofferdam::kubernetes::detail::pod_request;
using cofferdam::kubernetes::detail::warden_map;
using cofferdam::kubernetes::detail::warden_map_name;
using cofferdam_test::eventually;
using cofferdam_test::marked;
using cofferdam_test::open_api;
using cofferdam_test::run;

class KubernetesWithoutConfigMaps : public ::testing::Test {
 protected:
  static inline const std::string busybox = "cofferdam-test/busybox:1";
  static inline const std::string first_process = "tr '\\0' ' ' </proc/1/cmdline";

  void SetUp() override {
    COFFERDAM_NEEDS_CLUSTER("that pods need no right to create ConfigMaps");
    space_.emplace();
    allow("");
  }

  /// Gives the user all rights that the library needs, except those for ConfigMaps.
  /// \param more  further rules of the Role, each with a comma at its end.
  void allow(const std::string& more) const {
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api(space_->name());
      const std::string group = "/apis/rbac.authorization.k8s.io/v1";
      const std::string head =
          R"({"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "all-but-maps"}, )";
      const std::string role =
          head + R"("kind": "Role", "rules": [)" + more +
          R"({"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "watch", "delete"]},
          {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]},
          {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": ["get", "create"]}]})";
      const std::string binding = head + R"("kind": "RoleBinding",
          "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all-but-maps"},
          "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": ")" +
                                  user_ + R"("}]})";
      co_await api->ask(more.empty() ? "POST" : "PUT",
                        api->path("roles", group) + (more.empty() ? "" : "/all-but-maps"), role, "write a role",
                        std::vector<int>());
      if (more.empty())
        co_await api->ask("POST", api->path("rolebindings", group), binding, "bind a role", std::vector<int>());
      co_await api->close();
    });
  }

  kubernetes::pod_options options() const {
    kubernetes::pod_options result;
    const std::string text =
        cofferdam_test::kubeconfig_text(cofferdam_test::verified_fields(), "as: \"" + user_ + "\"");
    result.kubeconfig(folder_.write("kubeconfig", text).string()).in_namespace(space_->name());
    result.pull(kubernetes::pull_policy::never).cpus(0.1).memory(std::uint64_t{64} << 20U);
    return result;
  }

  kubernetes::provider pods(const std::string& image = busybox) const {
    kubernetes::provider result = kubernetes::from_image(image);
    result.options(options());
    return result;
  }

  awaitable<std::optional<boost::json::object>> find(std::string kind, std::string name) const {
    const std::shared_ptr<cluster_api> api = co_await open_api(space_->name());
    std::optional<boost::json::object> object = co_await api->find(api->path(kind) + "/" + name, "look at an object");
    co_await api->close();
    co_return object;
  }

  std::string phase_of(const std::string& pod) const {
    std::string phase = "none";
    run([&]() -> awaitable<void> {
      const std::optional<boost::json::object> object = co_await find("pods", pod);
      if (object) phase = object->at("status").at("phase").as_string();
    });
    return phase;
  }

  const std::string user_ = "no-maps-" + std::to_string(::getpid());
  std::optional<cofferdam_test::scratch_namespace> space_;
  cofferdam_test::temporary_folder folder_;
};

TEST_F(KubernetesWithoutConfigMaps, commands_and_files_work_and_the_first_process_is_the_holder) {
  for (const std::string& image : {busybox, std::string("cofferdam-test/debian:1")})
    run([&]() -> awaitable<void> {
      co_await with(pods(image), [&](kubernetes::environment& env) -> awaitable<void> {
        command_result result = co_await env.run_command(shell("id -u; pwd; echo x >f; cat f; touch /x"));
        EXPECT_EQ(result.out().text(), "1000\n/workspace\nx\n") << image << result.err().text();
        const isolation_report& walls = result.isolation();
        EXPECT_EQ(walls.of(isolation_kind::host_death), "everything in the pod");
        EXPECT_EQ(walls.of(isolation_kind::process_tree), "everything the command started");
        EXPECT_EQ(walls.of(isolation_kind::files), "the image's files, read-only");
        EXPECT_EQ(walls.of(isolation_kind::secrets), "no token for the API server, no variables of the cluster");
        EXPECT_EQ(walls.of(isolation_kind::network), "none");  // the cluster of the tests does not enforce policies
        result = co_await env.run_command(shell(first_process));
        EXPECT_TRUE(result.out().text().starts_with("/.cofferdam/")) << result.out().text();
        EXPECT_TRUE(result.out().text().ends_with("/warden hold 60000 ")) << result.out().text();
        const std::string content(300'000, 'q');
        co_await env.write_file("sub/file", as_bytes(std::string_view(content)));
        const bytes back = co_await env.read_file("sub/file", 400'000);
        EXPECT_TRUE(as_text(back) == content);
        const std::optional<boost::json::object> map = co_await find("configmaps", warden_map_name());
        EXPECT_FALSE(map.has_value());
      });
    });
}

TEST_F(KubernetesWithoutConfigMaps, a_command_that_removes_the_warden_s_file_changes_nothing) {
  run([&]() -> awaitable<void> {
    co_await with(pods(), [](kubernetes::environment& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell("rm -r /.cofferdam/*; ls -A /.cofferdam"));
      EXPECT_EQ(result.out().text(), "") << result.err().text();
      result = co_await env.run_command(shell("echo still here"));
      EXPECT_EQ(result.out().text(), "still here\n");
    });
  });
}

TEST_F(KubernetesWithoutConfigMaps, PR_19_a_killed_host_leaves_nothing) {
  const cofferdam_test::temporary_folder folder;
  const std::string guest = cofferdam_test::new_marker();
  const std::string told = cofferdam_test::in_forked_host([&]() -> std::string {
    run([&]() -> awaitable<void> {
      kubernetes::provider provider = pods();
      provider.options(options().hold_time(2s));
      kubernetes::environment env = co_await provider.open();
      process running = co_await env.start(shell("setsid sleep " + guest + " & echo up; exec sleep " + guest));
      co_await running.read();
      folder.write("seen", marked(guest).empty() ? "" : env.pod_name());  // the control: it runs now
      ::raise(SIGKILL);
    });
    return "survived";
  });
  EXPECT_EQ(told, "died of signal 9");
  EXPECT_TRUE(eventually([&] { return marked(guest).empty(); }, 2s)) << cofferdam_test::shown(marked(guest));
  cofferdam_test::kill_marked(guest);
  const std::string pod = folder.read("seen");
  EXPECT_NE(pod, "");
  EXPECT_TRUE(eventually([&] { return phase_of(pod) == "Succeeded"; }, 15s)) << phase_of(pod);
}

TEST_F(KubernetesWithoutConfigMaps, a_pod_to_which_no_warden_comes_ends_after_its_hold_time) {
  const pod_request request(busybox, "waiting", "", options().hold_time(2s));
  run([&]() -> awaitable<void> {
    const std::shared_ptr<cluster_api> api = co_await open_api(space_->name());
    const auto pod = std::make_shared<owned_pod>(api, request.name());
    co_await owned_pod::create(pod, request.body(), owned_pod::clock::now() + 1min);
    co_await owned_pod::until_running(pod, owned_pod::clock::now() + 1min, 0s);
    co_await api->close();
  });
  EXPECT_TRUE(eventually([&] { return phase_of("waiting") == "Succeeded"; }, 15s)) << phase_of("waiting");
}

TEST_F(KubernetesWithoutConfigMaps, an_image_without_a_shell_is_an_error_with_the_right_and_two_ways_out) {
  std::optional<error> failure;
  try {
    run([&]() -> awaitable<void> {
      kubernetes::environment env = co_await pods("cofferdam-test/bare:1").open();
      co_await env.close();
    });
  } catch (const error& reason) {
    failure = reason;
  }
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), exec_errc::permission_denied);
  const std::string text = failure->what();
  EXPECT_NE(text.find("configmaps\\\" in API group"), std::string::npos) << text;
  EXPECT_NE(text.find("Give the user the rights to get and create configmaps, or use an image with sh"),
            std::string::npos)
      << text;
}

TEST_F(KubernetesWithoutConfigMaps, a_user_who_may_only_read_the_map_uses_it_once_it_is_there) {
  allow(R"({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},)");
  const auto cmdline = [&] {
    std::string text;
    run([&]() -> awaitable<void> {
      co_await with(pods(), [&](kubernetes::environment& env) -> awaitable<void> {
        const command_result result = co_await env.run_command(shell(first_process));
        text = result.out().text();
      });
    });
    return text;
  };
  EXPECT_TRUE(cmdline().ends_with("/warden hold 60000 ")) << cmdline();
  run([&]() -> awaitable<void> {
    const std::shared_ptr<cluster_api> api = co_await open_api(space_->name());
    const std::string body = boost::json::serialize(warden_map());
    co_await api->ask("POST", api->path("configmaps"), body, "create the map", std::vector<int>());
    co_await api->close();
  });
  const std::string with_map = cmdline();
  EXPECT_TRUE(with_map.starts_with("/.cofferdam/")) << with_map;
  EXPECT_TRUE(with_map.ends_with("64 hold 60000 ")) << with_map;
}

}  // namespace
