// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/backends/kubernetes/detail/unused_options.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/net/listener.hpp>

#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes;
using cofferdam::kubernetes::detail::require_used_options;

/// Opens an environment of a template in a cluster that answers each request with 404, and returns the error.
awaitable<std::optional<error>> open_without_sandboxes() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  cofferdam::detail::http_server server(executor, [](http_call& call) -> awaitable<void> {
    http_reply reply(404);
    reply.content("text/plain", "404 page not found\n");
    co_await call.reply(std::move(reply));
  });
  listener where = tcp_listener(executor, "127.0.0.1", 0);
  const std::string port = std::to_string(where.port());
  server.listen(std::move(where));
  cofferdam_test::temporary_folder folder;
  cofferdam_test::spawn(executor, server.run(), [](std::exception_ptr) {});
  folder.write("config", R"({"apiVersion": "v1", "kind": "Config", "current-context": "c",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:)" +
                             port + R"("}}],
    "contexts": [{"name": "c", "context": {"cluster": "c"}}]})");
  pod_options options;
  options.kubeconfig((folder.path() / "config").string());
  provider places = from_template("tools");
  places.options(std::move(options));
  std::optional<error> failure;
  try {
    environment env = co_await places.open();
  } catch (const error& reason) {
    failure = reason;
  }
  co_await server.stop();
  co_return failure;
}

TEST(FromTemplate, a_cluster_without_agent_sandbox_is_unsupported_and_the_error_names_the_definitions) {
  const std::optional<error> failure = cofferdam_test::run(open_without_sandboxes());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), exec_errc::unsupported) << failure->what();
  for (const std::string_view part :
       {"agent-sandbox", "not installed", "sandboxclaims.extensions.agents.x-k8s.io", "sandboxes.agents.x-k8s.io"})
    EXPECT_NE(std::string(failure->what()).find(part), std::string::npos) << failure->what();
}

TEST(FromTemplate, the_name_is_checked_at_once) {
  EXPECT_NO_THROW(from_template("python-3.12"));
  for (const char* const bad : {"", "UPPER", "a/b", "a b", "-a"}) EXPECT_THROW(from_template(bad), error) << bad;
}

TEST(FromTemplate, the_error_for_an_invalid_name_has_the_rule) {
  const auto sentence = [](const std::string& name) {
    return cofferdam_test::sentence_of([&name] { from_template(name); });
  };
  for (const auto& [name, rule] : std::vector<std::pair<std::string, std::string>>{
           {"", "must not be empty"},
           {"A", "only lower-case letters"},
           {"a..b", "beside another dot"},
           {"a.", "a dot must not be at an end"},
           {"a.-b", "a '-' must not be at an end of a name, or beside a dot"},
           {std::string(300, 'a'), "at most 253 characters, and this one has 300"}})
    EXPECT_NE(sentence(name).find(rule), std::string::npos) << sentence(name);
  EXPECT_NO_THROW(in_pod(std::string(100, 'a')));
}

cofferdam::kubernetes::detail::sandbox_settings settings_of(pod_options options, bool is_claim) {
  cofferdam::kubernetes::detail::sandbox_settings settings;
  (is_claim ? settings.sandbox_template : settings.adopted_pod) = "a";
  settings.options = std::move(options);
  return settings;
}

TEST(FromTemplate, an_option_without_effect_is_refused_by_its_name) {
  const std::vector<std::pair<const char*, pod_options>> refused{
      {"user()", pod_options().user(5, 1000)},
      {"writable_root()", pod_options().writable_root()},
      {"memory()", pod_options().memory(std::uint64_t{2} << 30)},
      {"workspace_size()", pod_options().workspace_size(8192)},
      {"workspace()", pod_options().workspace(workspace_medium::disk)},
      {"cpus()", pod_options().cpus(2)},
      {"ephemeral_storage()", pod_options().ephemeral_storage(std::uint64_t{2} << 30)},
      {"gpus()", pod_options().gpus(1)},
      {"network()", pod_options().network(pod_network::cluster)},
      {"runtime_class()", pod_options().runtime_class("gvisor")},
      {"node_selector()", pod_options().node_selector("a", "b")},
      {"tolerate()", pod_options().tolerate(toleration("a"))},
      {"pull_secret()", pod_options().pull_secret("a")},
      {"pull()", pod_options().pull(pull_policy::always)},
      {"merge_patch()", pod_options().merge_patch("{}")}};
  const std::vector<std::pair<const char*, pod_options>> of_a_claim{
      {"label()", pod_options().label("a", "b")},
      {"annotation()", pod_options().annotation("a", "b")},
      {"hold_time()", pod_options().hold_time(std::chrono::seconds(5))},
      {"longest_life()", pod_options().longest_life(std::chrono::seconds(5))},
      {"node_wait()", pod_options().node_wait(std::chrono::seconds(5))}};
  const auto sentence = [](const pod_options& options, bool is_claim) {
    return cofferdam_test::sentence_of([&] { require_used_options(settings_of(options, is_claim)); });
  };
  for (const auto& [name, options] : refused) {
    EXPECT_NE(sentence(options, true).find("option " + std::string(name) + " has no effect with from_template"),
              std::string::npos)
        << sentence(options, true);
    EXPECT_NE(sentence(options, false).find(std::string(name) + " has no effect with in_pod"), std::string::npos)
        << sentence(options, false);
  }
  for (const auto& [name, options] : of_a_claim) {
    EXPECT_NO_THROW(require_used_options(settings_of(options, true))) << name;
    EXPECT_NE(sentence(options, false).find(std::string(name) + " has no effect with in_pod"), std::string::npos)
        << sentence(options, false);
  }
}

TEST(FromTemplate, options_with_an_effect_are_accepted_and_from_image_accepts_all) {
  pod_options options;
  options.kubeconfig("/a").context("c").in_namespace("n").allow_insecure().variable("A", "b").working_directory("/w");
  for (const bool is_claim : {true, false}) EXPECT_NO_THROW(require_used_options(settings_of(options, is_claim)));
  cofferdam::kubernetes::detail::sandbox_settings of_image;
  of_image.image = "a";
  of_image.options.memory(std::uint64_t{2} << 30).user(5, 5);
  EXPECT_NO_THROW(require_used_options(of_image));
}

TEST(FromTemplate, open_refuses_an_option_without_effect_before_it_looks_for_a_cluster) {
  std::optional<error> failure;
  cofferdam_test::run([&]() -> awaitable<void> {
    provider places = in_pod("a");
    places.options(pod_options().kubeconfig("/no/such/file").runtime_class("gvisor"));
    try {
      environment env = co_await places.open();
    } catch (const error& reason) {
      failure = reason;
    }
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), exec_errc::invalid_argument) << failure->what();
  EXPECT_NE(std::string(failure->what()).find("runtime_class()"), std::string::npos) << failure->what();
}

}  // namespace
