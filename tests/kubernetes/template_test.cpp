// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Environments in sandboxes that the real controller of agent-sandbox makes from templates.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_lease.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_request.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_object.hpp>
#include <cofferdam/backends/kubernetes/detail/credentials.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/net/http_message.hpp>

#include "kubernetes/kube_support.hpp"
#include "support/census.hpp"
#include "support/hostile.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam::kubernetes::detail::claims_api;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam_test::eventually;
using cofferdam_test::failure_of;
using cofferdam_test::marked;
using cofferdam_test::open_api;
using cofferdam_test::run;

class KubernetesTemplate : public ::testing::Test {
 protected:
  void SetUp() override {
    COFFERDAM_NEEDS_CLUSTER("that commands run in sandboxes of agent-sandbox");
    COFFERDAM_NEEDS("sandboxes", std::getenv("COFFERDAM_TEST_SANDBOXES") != nullptr,
                    "that commands run in sandboxes of agent-sandbox: run tests/kubernetes/cluster.sh start-sandboxes");
  }
  void TearDown() override {
    if (IsSkipped()) return;
    for (const auto& [kind, name] : made_) erase(kind, name);
    EXPECT_EQ(claims().size(), 0U);
  }

  /// Returns a text for the names of this program, which is the same in a forked copy.
  static std::string mark() {
    static const std::string text = std::to_string(::getpid());
    return text;
  }

  static kubernetes::pod_options options() {
    kubernetes::pod_options result;
    result.kubeconfig(cofferdam_test::kubeconfig_of("kubeconfig")).label("template-test", mark());
    return result;
  }

  /// Returns a provider of sandboxes of a template.
  static kubernetes::provider sandboxes(const std::string& name, kubernetes::pod_options with = options()) {
    kubernetes::provider result = kubernetes::from_template(name);
    result.options(std::move(with)).open_timeout(50s);
    return result;
  }

  /// Creates an object of the extensions' API. It is deleted after the test.
  void create(const std::string& kind, const std::string& name, const std::string& body) {
    made_.emplace_back(kind, name);
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      co_await api->ask("POST", api->path(kind, claims_api), body, "create " + name, std::vector<int>());
      co_await api->close();
    });
  }

  /// Creates a template with one container of busybox, and returns its name.
  /// \param container  more fields of the container, each after a comma.
  std::string make_template(const std::string& name, const std::string& container = {},
                            const std::string& image = "cofferdam-test/busybox:1") {
    const std::string whole = name + "-" + mark();
    made_.emplace_back("sandboxwarmpools", kubernetes::detail::own_pool_name(whole));
    create("sandboxtemplates", whole,
           R"({"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxTemplate", "metadata": {"name": ")" +
               whole + R"("}, "spec": {"podTemplate": {"metadata": {}, "spec": {"terminationGracePeriodSeconds": 1,
               "containers": [{"name": "main", "image": ")" +
               image + R"(", "imagePullPolicy": "Never", "command": ["sleep", "100000"],
               "env": [{"name": "COLOR", "value": "blue"}])" +
               container + "}]}}}}");
    return whole;
  }

  static std::optional<boost::json::object> look_at(const std::string& kind, const std::string& name,
                                                    std::string_view group = claims_api) {
    std::optional<boost::json::object> found;
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      found = co_await api->find(api->path(kind, group) + "/" + name, "look at " + name);
      co_await api->close();
    });
    return found;
  }
  static bool has_pod(const std::string& name) { return look_at("pods", name, "/api/v1").has_value(); }

  static void erase(const std::string& kind, const std::string& name) {
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      std::vector<int> fine{404};
      co_await api->ask("DELETE", api->path(kind, claims_api) + "/" + name, std::string(), "delete " + name,
                        std::move(fine));
      co_await api->close();
    });
  }

  /// Returns the claims of this program, except those that are being deleted.
  static boost::json::array claims() {
    boost::json::array found;
    run([&]() -> awaitable<void> {
      const std::shared_ptr<cluster_api> api = co_await open_api();
      const std::optional<boost::json::object> list = co_await api->find(
          api->path("sandboxclaims", claims_api) + "?labelSelector=template-test%3D" + mark(), "list claims");
      co_await api->close();
      for (const boost::json::value& each : list->at("items").as_array())
        if (!each.at("metadata").as_object().contains("deletionTimestamp")) found.push_back(each);
    });
    return found;
  }

  /// Returns the time until the controller deletes a claim.
  static long seconds_to_live(const boost::json::value& claim) {
    const std::string end(claim.at("spec").at("lifecycle").at("shutdownTime").as_string());
    const auto time = kubernetes::detail::parse_kube_time(end);
    EXPECT_TRUE(time) << end;
    const auto left = time.value_or(std::chrono::system_clock::time_point()) - std::chrono::system_clock::now();
    return static_cast<long>(std::chrono::duration_cast<std::chrono::seconds>(left).count());
  }

  static void expect_failure(const kubernetes::provider& where, exec_errc code, const std::vector<std::string>& words) {
    const error failure = failure_of(where);
    EXPECT_EQ(failure.code(), code) << failure.what();
    for (const std::string& each : words)
      EXPECT_NE(std::string(failure.what()).find(each), std::string::npos) << failure.what();
    EXPECT_EQ(claims().size(), 0U);
  }

  std::vector<std::pair<std::string, std::string>> made_;
};

TEST_F(KubernetesTemplate, commands_files_and_streams_work_in_a_sandbox) {
  const std::string name = make_template("works");
  run([&]() -> awaitable<void> {
    co_await with(sandboxes(name, options().variable("MORE", "red")),
                  [&](kubernetes::environment& env) -> awaitable<void> {
                    command_result result =
                        co_await env.run_command(shell("id -u; echo $COLOR $MORE; test $PWD = $HOME; hostname"));
                    EXPECT_EQ(result.out().text(), "0\nblue red\n" + env.pod_name() + "\n") << result.reason();
                    EXPECT_EQ(result.isolation().of(isolation_kind::network), "none");
                    EXPECT_NE(result.isolation().of(isolation_kind::process_tree), "none");
                    co_await env.write_file("a/b", as_bytes(std::string_view("content")));
                    result = co_await env.run_command(shell("cat a/b; printf other >a/c"));
                    EXPECT_EQ(result.out().text(), "content");
                    const bytes read = co_await env.read_file("a/c", 100);
                    EXPECT_EQ(as_text(bytes_view(read)), "other");
                    command asks = shell("echo first; read line; echo $line");
                    asks.open_input();
                    process running = co_await env.start(std::move(asks));
                    output_chunk piece = co_await running.read();
                    EXPECT_EQ(as_text(bytes_view(piece.data())), "first\n");
                    co_await running.write_input(as_bytes(std::string_view("second\n")));
                    piece = co_await running.read();
                    EXPECT_EQ(as_text(bytes_view(piece.data())), "second\n");
                    result = co_await running.wait();
                    EXPECT_TRUE(result.ok()) << result.reason();
                  });
  });
}

TEST_F(KubernetesTemplate, close_deletes_the_claim_and_the_pod) {
  const std::string name = make_template("closed");
  std::string pod;
  run([&]() -> awaitable<void> {
    kubernetes::environment env = co_await sandboxes(name, options().hold_time(1h)).open();
    pod = env.pod_name();
    const boost::json::array found = claims();
    EXPECT_EQ(found.size(), 1U);
    if (found.size() == 1) {
      const boost::json::value& life = found[0].at("spec").at("lifecycle");
      EXPECT_EQ(life.at("shutdownPolicy"), "Delete");
      const std::string end(life.at("shutdownTime").as_string());
      const auto time = kubernetes::detail::parse_kube_time(end);
      EXPECT_TRUE(time) << end;
      const auto left = time.value_or(std::chrono::system_clock::time_point()) - std::chrono::system_clock::now();
      EXPECT_TRUE(left > 55min && left <= 1h) << end;  // the hold time of the options
      EXPECT_EQ(std::string(found[0].at("spec").at("warmPoolRef").at("name").as_string()),
                kubernetes::detail::own_pool_name(name));
    }
    EXPECT_TRUE(has_pod(pod));
    co_await env.close();
    EXPECT_EQ(claims().size(), 0U);
  });
  EXPECT_TRUE(eventually([&] { return !has_pod(pod); }, 30s));
}

TEST_F(KubernetesTemplate, two_environments_of_a_template_are_two_pods) {
  const std::string name = make_template("twice");
  run([&]() -> awaitable<void> {
    kubernetes::environment first = co_await sandboxes(name).open();
    kubernetes::environment second = co_await sandboxes(name).open();
    EXPECT_NE(first.pod_name(), second.pod_name());
    co_await first.run_command(shell("touch /tmp/mine"));
    command_result seen = co_await second.run_command(shell("ls /tmp | grep -c mine"));
    EXPECT_EQ(seen.out().text(), "0\n");
    co_await first.close();
    seen = co_await second.run_command(shell("echo here"));
    EXPECT_EQ(seen.out().text(), "here\n");
    co_await second.close();
  });
}

TEST_F(KubernetesTemplate, a_sandbox_that_is_ready_is_taken_from_the_pool_of_the_template) {
  const std::string name = make_template("warm");
  const std::string pool = "ready-" + mark();
  create("sandboxwarmpools", pool,
         R"({"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool", "metadata": {"name": ")" +
             pool + R"("}, "spec": {"replicas": 1, "sandboxTemplateRef": {"name": ")" + name + R"("}}})");
  const auto is_ready = [&] {
    const std::optional<boost::json::object> seen = look_at("sandboxwarmpools", pool);
    return seen && kubernetes::detail::number_at(kubernetes::detail::object_at(*seen, "status"), "readyReplicas") == 1;
  };
  EXPECT_TRUE(eventually(is_ready, 30s));
  run([&]() -> awaitable<void> {
    co_await with(sandboxes(name), [&](kubernetes::environment& env) -> awaitable<void> {
      EXPECT_TRUE(env.pod_name().starts_with(pool)) << env.pod_name();
      const command_result result = co_await env.run_command(shell("echo fine"));
      EXPECT_EQ(result.out().text(), "fine\n") << result.reason();
    });
  });
  EXPECT_FALSE(look_at("sandboxwarmpools", kubernetes::detail::own_pool_name(name)));
}

TEST_F(KubernetesTemplate, a_cancelled_open_deletes_the_claim) {
  const std::string name = make_template("cancelled", R"(, "readinessProbe": {"exec": {"command": ["false"]}})");
  const auto opens = [&]() -> awaitable<void> {
    kubernetes::environment env = co_await sandboxes(name).open();
    co_await env.close();
  };
  const cofferdam_test::watchdog guard(120s);
  for (const bool early : {true, false}) {
    cofferdam_test::driven<void> coroutine(opens());
    // Early: the claim was just made. Otherwise, open() waits for the pod, which will never be ready.
    EXPECT_TRUE(eventually(
        [&] {
          coroutine.context().run_for(early ? 1ms : 200ms);
          const boost::json::array found = claims();
          return !found.empty() && (early || has_pod(std::string(found[0].at("metadata").at("name").as_string())));
        },
        40s));
    coroutine.cancel();
    coroutine.run_to_end();
    try {
      coroutine.result();
      ADD_FAILURE() << "open() was not cancelled";
    } catch (const std::system_error&) {  // cancelled
    }
    EXPECT_EQ(claims().size(), 0U);
  }
}

TEST_F(KubernetesTemplate, cancellation_at_any_step_leaves_no_claim) {
  const std::string name = make_template("steps");
  bool has_ended = false;
  for (std::size_t handlers = 1; handlers < 4000 && !has_ended; handlers += handlers / 2 + 1) {
    std::exception_ptr failure;
    has_ended = cofferdam_test::cancel_after(
        handlers,
        [&]() -> awaitable<void> {
          co_await with(sandboxes(name), [](kubernetes::environment&) -> awaitable<void> { co_return; });
        },
        failure);
    EXPECT_EQ(claims().size(), 0U) << handlers;
  }
}

TEST_F(KubernetesTemplate, failures_name_the_template_and_the_remedy) {
  expect_failure(sandboxes("no-such-template"), exec_errc::not_found,
                 {"no-such-template", "does not exist", "in_namespace()"});
  expect_failure(sandboxes(make_template("no-image", "", "cofferdam-test/no-such-image:1")), exec_errc::not_found,
                 {"ErrImageNeverPull", "no-image-", "SandboxTemplate"});
  expect_failure(sandboxes(make_template("too-large", R"(, "resources": {"requests": {"cpu": "5000"}})")),
                 exec_errc::provider_failed, {"fits on no node", "node_wait()"});
  // The API server rejects the pod, and the controller reports this in the status of the claim.
  expect_failure(sandboxes(make_template("invalid", R"(, "workingDir": "/", "ports": [{"containerPort": 100000}])")),
                 exec_errc::invalid_argument, {"is invalid: spec.containers[0].ports", "change the SandboxTemplate"});
  expect_failure(sandboxes(make_template("ends", R"(, "args": ["x"])")), exec_errc::provider_failed,
                 {"CrashLoopBackOff", "has a container that cannot run"});
  kubernetes::provider slow =
      sandboxes(make_template("slow", R"(, "readinessProbe": {"exec": {"command": ["false"]}})"));
  expect_failure(slow.open_timeout(5s), exec_errc::provider_failed,
                 {"did not become ready in time", "it runs, but is not ready"});
  for (const char* const bad : {"", "UPPER", "a/b", "a b"}) EXPECT_THROW(kubernetes::from_template(bad), error) << bad;
}

TEST_F(KubernetesTemplate, a_user_without_rights_is_told_which_one_is_missing) {
  kubernetes::pod_options guest;
  guest.kubeconfig(cofferdam_test::kubeconfig_of("guest.kubeconfig"));
  expect_failure(sandboxes("any", guest), exec_errc::permission_denied, {"sandboxwarmpools", "guest"});
}

TEST_F(KubernetesTemplate, a_deleted_claim_is_a_lost_provider_with_the_reason) {
  const std::string name = make_template("deleted");
  run([&]() -> awaitable<void> {
    kubernetes::environment env = co_await sandboxes(name).open();
    process running = co_await env.start(shell("echo begun; sleep 1000"));
    co_await running.read();
    const boost::json::array found = claims();
    EXPECT_EQ(found.size(), 1U);
    if (!found.empty()) erase("sandboxclaims", std::string(found[0].at("metadata").at("name").as_string()));
    std::optional<error> failure;
    try {
      co_await running.wait();
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    if (failure) {
      EXPECT_NE(std::string(failure->what()).find(env.pod_name()), std::string::npos) << failure->what();
    }
    EXPECT_TRUE(env.is_lost());
    co_await env.close();
  });
}

TEST_F(KubernetesTemplate, PR_19_commands_end_when_the_host_dies_and_the_claim_ends_at_its_shutdown_time) {
  const std::string name = make_template("dies");
  const std::string marker = cofferdam_test::new_marker();
  cofferdam_test::forked_program host([&](int) {
    run([&]() -> awaitable<void> {
      kubernetes::environment env = co_await sandboxes(name, options().longest_life(40s)).open();
      const std::string line =
          cofferdam_test::with_marker("trap '' TERM HUP; (setsid sleep M &); (sleep M &); sleep M", marker);
      co_await env.run_command(shell(line));
    });
  });
  EXPECT_TRUE(eventually([&] { return marked(marker).size() >= 3; }, 35s)) << host.line(0ms);
  host.kill();
  EXPECT_TRUE(eventually([&] { return marked(marker).empty(); }, 10s)) << cofferdam_test::shown(marked(marker));
  cofferdam_test::kill_marked(marker);
  EXPECT_EQ(claims().size(), 1U);  // no program is left that could delete it
  EXPECT_TRUE(eventually([] { return claims().empty(); }, 60s));
}

TEST_F(KubernetesTemplate, PR_19_the_claim_of_a_dead_host_has_minutes_to_live) {
  const std::string name = make_template("short");
  cofferdam_test::forked_program host([&](int out) {
    run([&]() -> awaitable<void> {
      kubernetes::environment env = co_await sandboxes(name).open();
      cofferdam_test::forked_program::say(out, "open\n");
      co_await env.run_command(shell("sleep 1000"));
    });
  });
  EXPECT_EQ(host.line(35s), "open");
  host.kill();
  const boost::json::array found = claims();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_LE(seconds_to_live(found[0]), 180);
  erase("sandboxclaims", std::string(found[0].at("metadata").at("name").as_string()));
}

TEST_F(KubernetesTemplate, a_lease_keeps_a_claim_alive_until_it_ends) {
  using kubernetes::detail::claim_lease;
  using kubernetes::detail::cluster_object;
  const std::string name = make_template("leased");
  run([&]() -> awaitable<void> {
    kubernetes::environment env = co_await sandboxes(name).open();  // makes the pool of the template
    co_await env.close();
  });
  run([&]() -> awaitable<void> {
    const std::shared_ptr<cluster_api> api = co_await open_api();
    const auto claim = std::make_shared<cluster_object>(api, api->path("sandboxclaims", claims_api), "lease-" + mark(),
                                                        "a claim of the test");
    const boost::json::object body =
        kubernetes::detail::claim_request(claim->name(), kubernetes::detail::own_pool_name(name),
                                          options().longest_life(40s), std::chrono::system_clock::now());
    co_await cluster_object::create(claim, body, std::chrono::steady_clock::now() + 30s);
    const auto lease = std::make_shared<claim_lease>(claim, 6s, 40s);
    claim_lease::begin(lease);
    co_await cofferdam_test::pause_for(16s);  // far longer than one lease
    const bool exists = co_await cluster_object::look(claim);
    EXPECT_TRUE(exists);
    EXPECT_LE(seconds_to_live(claim->seen()), 8);
    lease->stop();
    co_await api->close();
  });
  EXPECT_TRUE(eventually([] { return claims().empty(); }, 20s));
}

TEST_F(KubernetesTemplate, a_lease_does_not_outlive_the_longest_life) {
  using kubernetes::detail::claim_lease;
  using kubernetes::detail::cluster_object;
  run([&]() -> awaitable<void> {
    const std::shared_ptr<cluster_api> api = co_await open_api();
    const auto claim = std::make_shared<cluster_object>(api, api->path("sandboxclaims", claims_api),
                                                        "longest-" + mark(), "a claim of the test");
    const boost::json::object body =
        kubernetes::detail::claim_request(claim->name(), "no-such-pool", options(), std::chrono::system_clock::now());
    co_await cluster_object::create(claim, body, std::chrono::steady_clock::now() + 30s);
    const auto lease = std::make_shared<claim_lease>(claim, 1h, 5s);
    claim_lease::begin(lease);
    co_await cofferdam_test::pause_for(4s);
    lease->stop();
    co_await api->close();
  });
  EXPECT_TRUE(eventually([] { return claims().empty(); }, 20s));
}

}  // namespace
