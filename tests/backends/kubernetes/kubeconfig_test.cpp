// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/kubernetes/detail/kubeconfig.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

using namespace cofferdam;
using cofferdam::kubernetes::detail::kube_cluster;
using cofferdam::kubernetes::detail::kube_user;
using cofferdam::kubernetes::detail::kubeconfig;
using cofferdam::kubernetes::detail::read_kubeconfig;

std::string refusal(const std::string& text) {
  return cofferdam_test::sentence_of([&] { read_kubeconfig(text, "/home/u/.kube/config"); });
}
/// Returns a kubeconfig with one user whose content is `lines`, which is indented by 4.
std::string user(const std::string& lines) { return "users:\n- name: u\n  user:\n" + lines; }

TEST(Kubeconfig, reads_the_file_that_gke_writes) {
  const kubeconfig config = read_kubeconfig(R"(apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0E=
    server: https://34.1.2.3
  name: gke_project_zone_name
contexts:
- context:
    cluster: gke_project_zone_name
    user: gke_project_zone_name
  name: gke_project_zone_name
current-context: gke_project_zone_name
kind: Config
preferences: {}
users:
- name: gke_project_zone_name
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: gke-gcloud-auth-plugin
      installHint: Install gke-gcloud-auth-plugin for use with kubectl by following
        https://example.test/install#plugin
      provideClusterInfo: true
)",
                                            "config");
  EXPECT_EQ(config.current_context, "gke_project_zone_name");
  ASSERT_EQ(config.clusters.size(), 1U);
  EXPECT_EQ(config.clusters[0].authority.text.reveal(), "CA");
  EXPECT_EQ(config.clusters[0].where, "config, line 3");
  ASSERT_TRUE(config.users.at(0).exec);
  EXPECT_EQ(config.users[0].exec->program, "gke-gcloud-auth-plugin");
  EXPECT_EQ(config.users[0].exec->hint,
            "Install gke-gcloud-auth-plugin for use with kubectl by following https://example.test/install#plugin");
  EXPECT_TRUE(config.users[0].exec->wants_cluster);
  EXPECT_EQ(config.contexts.at(0).user, "gke_project_zone_name");
}

TEST(Kubeconfig, reads_the_plugin_that_eks_writes) {
  const kubeconfig config = read_kubeconfig(user(R"(    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - --region
      - eu-west-1
      - eks
      - get-token
      command: aws
      env:
      - name: AWS_PROFILE
        value: work
      interactiveMode: IfAvailable
)"),
                                            "config");
  const auto& exec = config.users.at(0).exec;
  ASSERT_TRUE(exec);
  EXPECT_EQ(exec->arguments, (std::vector<std::string>{"--region", "eu-west-1", "eks", "get-token"}));
  EXPECT_EQ(exec->variables, (std::vector<std::pair<std::string, std::string>>{{"AWS_PROFILE", "work"}}));
}

TEST(Kubeconfig, paths_are_relative_to_the_file) {
  const kubeconfig config = read_kubeconfig(
      R"({"clusters": [{"name": "c", "cluster": {"certificate-authority": "ca.pem", "insecure-skip-tls-verify": true}}],
         "users": [{"name": "u", "user": {"client-certificate": "../c.pem", "client-key": "/k.pem", "tokenFile": "t"}},
                   {"name": "v", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./p"}}}]})",
      "/home/u/.kube/config");
  EXPECT_EQ(config.clusters.at(0).authority.path, "/home/u/.kube/ca.pem");
  EXPECT_TRUE(config.clusters.at(0).insecure);
  EXPECT_EQ(config.users.at(0).certificate.path, "/home/u/.kube/../c.pem");
  EXPECT_EQ(config.users.at(0).key.path, "/k.pem");
  EXPECT_EQ(config.users.at(0).token_file, "/home/u/.kube/t");
  EXPECT_EQ(config.users.at(1).exec->program, "/home/u/.kube/./p");
}

TEST(Kubeconfig, the_first_file_with_an_entry_wins_whole) {
  kubeconfig first = read_kubeconfig("users:\n- name: red\n  user: {token: one}\ncontexts:\n- name: x\n", "a");
  first.merge(read_kubeconfig(
      "current-context: y\nusers:\n- name: red\n  user: {token: two, username: me}\n- name: blue\n  user: {token: b}\n",
      "b"));
  first.merge(read_kubeconfig("current-context: z\n", "c"));
  EXPECT_EQ(first.current_context, "y");
  ASSERT_EQ(first.users.size(), 2U);
  EXPECT_EQ(first.users[0].token.reveal(), "one");
  EXPECT_EQ(first.users[0].login, "") << "entries must not be mixed";
  EXPECT_EQ(first.users[1].where, "b, line 5");
}

TEST(Kubeconfig, a_token_of_digits_is_a_text) {
  EXPECT_EQ(read_kubeconfig(user("    token: 0123\n"), "config").users.at(0).token.reveal(), "0123");
}

TEST(Kubeconfig, an_empty_file_has_no_entries) {
  EXPECT_TRUE(read_kubeconfig("", "config").clusters.empty());
  EXPECT_TRUE(read_kubeconfig("apiVersion: v1\nkind: Config\nclusters: null\nusers: []\n", "config").users.empty());
}

TEST(Kubeconfig, errors_name_the_file_and_the_line) {
  const std::string file = "/home/u/.kube/config, line ";
  EXPECT_EQ(refusal("apiVersion: v2\n"), file + "1: apiVersion is not v1");
  EXPECT_EQ(refusal("\nkind: Pod\n"), file + "2: kind is not Config");
  EXPECT_EQ(refusal("- a\n"), file + "1: the file is not a map");
  EXPECT_EQ(refusal("users: a\n"), file + "1: users is not a list");
  EXPECT_EQ(refusal("users:\n- user: {}\n"), file + "2: an item of users has no name");
  EXPECT_EQ(refusal(user("    token: [a]\n")), file + "4: token is not a text");
  EXPECT_EQ(refusal(user("    client-certificate-data: '%'\n")),
            file + "4: client-certificate-data is not valid base64");
  EXPECT_EQ(refusal(user("    client-key: k\n")),
            file + "4: the user has only one of client-certificate and client-key; both are needed");
  EXPECT_EQ(refusal(user("    x: y\n    auth-provider: {name: gcp}\n")),
            file + "5: auth-provider is not supported, because kubectl removed it in 1.26; use an exec plugin");
  EXPECT_EQ(refusal(user("    exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: a}\n")),
            file +
                "4: the apiVersion of exec is not client.authentication.k8s.io/v1 or v1beta1; update the program "
                "that wrote this file");
  EXPECT_EQ(refusal(user("    exec: {apiVersion: client.authentication.k8s.io/v1}\n")),
            file + "4: exec has no command");
  EXPECT_EQ(refusal(user("    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: a\n"
                         "      interactiveMode: Always\n")),
            file + "5: exec needs a terminal (interactiveMode: Always), which this program does not offer");
  EXPECT_EQ(refusal("clusters:\n- name: c\n  cluster: {insecure-skip-tls-verify: 'true'}\n"),
            file + "3: insecure-skip-tls-verify is neither true nor false");
}

TEST(Kubeconfig, errors_contain_no_secret) {
  for (const std::string text :
       {"    token: {secret: secret}\n", "    token: secret\n   x: y\n",
        "    client-key-data: secret!\n    client-certificate: a\n", "    password: [secret\n"})
    EXPECT_EQ(refusal(user(text)).find("secret"), std::string::npos) << refusal(user(text));
}

}  // namespace
