// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>

#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::kubernetes::cluster_choice;
using cofferdam::kubernetes::detail::cluster_access;
using cofferdam::kubernetes::detail::find_cluster;
using cofferdam::kubernetes::detail::kube_surroundings;
using cofferdam_test::code_of;
using cofferdam_test::sentence_of;

class ClusterAccess : public ::testing::Test {
 protected:
  ClusterAccess() { around.pod_folder = (folder / "pod").string(); }

  /// Writes a kubeconfig whose context `x` has the cluster with this content, and makes it the one of KUBECONFIG.
  void configure(const std::string& cluster) {
    use({folder
             .write("config",
                    "current-context: x\ncontexts:\n- {name: x, context: {cluster: c}}\n"
                    "clusters:\n- {name: c, cluster: " +
                        cluster + "}\n")
             .string()});
  }
  void use(const std::vector<std::string>& files) {
    std::string list;
    for (const std::string& each : files) list += (list.empty() ? "" : ":") + each;
    around.variables = {"KUBECONFIG=" + list, "HOME=" + folder.path().string()};
  }
  cluster_access find(const cluster_choice& choice = cluster_choice()) { return find_cluster(around, choice); }

  cofferdam_test::temporary_folder folder;
  kube_surroundings around;
};

TEST_F(ClusterAccess, the_server_is_split_into_host_port_and_path) {
  const struct {
    const char* server;
    const char* url;
  } cases[] = {{"https://h", "https://h:443"},
               {"https://h:6443/", "https://h:6443"},
               {"https://[::1]:6443/k8s/c%20x/", "https://[::1]:6443/k8s/c%20x"},
               {"h.test:1", "https://h.test:1"},
               {"http://127.0.0.1:8001", "http://127.0.0.1:8001"}};
  for (const auto& each : cases) {
    configure(std::string("{server: '") + each.server + "'}");
    EXPECT_EQ(find().url(), each.url);
  }
}

TEST_F(ClusterAccess, an_unusable_server_is_refused_with_its_place) {
  const struct {
    const char* cluster;
    const char* words;
  } cases[] = {{"{}", "is missing"},
               {"{server: 'http://h'}", "without TLS"},
               {"{server: 'ftp://h'}", "scheme other than https"},
               {"{server: 'https://u:p@h'}", "contains more than"},
               {"{server: 'https://h?x'}", "contains more than"},
               {"{server: 'https://h:0'}", "invalid port"},
               {"{server: 'https://'}", "is not a URL"}};
  for (const auto& each : cases) {
    configure(each.cluster);
    const std::string sentence = sentence_of([&] { find(); });
    EXPECT_NE(sentence.find("config, line 5: the server"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(each.words), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("u:p"), std::string::npos) << sentence;
  }
}

TEST_F(ClusterAccess, an_unverified_server_is_refused_unless_asked_for) {
  configure("{server: 'https://h', insecure-skip-tls-verify: true}");
  EXPECT_EQ(code_of([&] { find(); }), exec_errc::invalid_argument);
  const std::string sentence = sentence_of([&] { find(); });
  EXPECT_NE(sentence.find("allow_insecure() of pod_options"), std::string::npos) << sentence;
  EXPECT_TRUE(find(cluster_choice().allow_insecure()).cluster.insecure);
  configure("{server: 'https://h'}");
  EXPECT_FALSE(find(cluster_choice().allow_insecure()).cluster.insecure);
}

TEST_F(ClusterAccess, several_files_are_merged_and_missing_ones_ignored) {
  const std::string one = folder.write("one", "contexts:\n- {name: x, context: {cluster: c, namespace: n}}\n").string();
  const std::string two =
      folder.write("two", "current-context: x\nclusters:\n- {name: c, cluster: {server: 'https://a'}}\n").string();
  const std::string three =
      folder.write("three", "current-context: y\nclusters:\n- {name: c, cluster: {server: 'https://b'}}\n").string();
  use({one, "", (folder / "absent").string(), two, three});
  EXPECT_EQ(find().url(), "https://a:443");
  EXPECT_EQ(find().context, "x");
  EXPECT_EQ(find().namespace_name, "n");
  EXPECT_EQ(find(cluster_choice().namespace_name("m")).namespace_name, "m");
}

TEST_F(ClusterAccess, a_chosen_file_is_the_only_one) {
  configure("{server: 'https://a'}");
  const std::string other = folder
                                .write("other",
                                       "current-context: y\ncontexts: [{name: y, context: {cluster: d}}]\n"
                                       "clusters: [{name: d, cluster: {server: 'https://b'}}]\n")
                                .string();
  EXPECT_EQ(find(cluster_choice().kubeconfig(other)).host, "b");
  EXPECT_EQ(code_of([&] { find(cluster_choice().kubeconfig(other).context("x")); }), exec_errc::provider_failed);
  const std::string sentence = sentence_of([&] { find(cluster_choice().kubeconfig("/no/file")); });
  EXPECT_NE(sentence.find("\"/no/file\" does not exist"), std::string::npos) << sentence;
}

TEST_F(ClusterAccess, the_file_in_the_home_is_used_without_kubeconfig) {
  around.variables = {"HOME=" + folder.path().string()};
  std::filesystem::create_directory(folder / ".kube");
  folder.write(".kube/config",
               "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
               "clusters: [{name: c, cluster: {server: 'https://a'}}]\n");
  EXPECT_EQ(find().host, "a");
}

TEST_F(ClusterAccess, missing_entries_are_named_with_what_was_tried) {
  use({folder
           .write("config",
                  "contexts:\n- {name: x, context: {cluster: c, user: u}}\n"
                  "- {name: z, context: {cluster: d, user: u}}\n"
                  "clusters: [{name: d, cluster: {server: 'https://a'}}]\n")
           .string()});
  EXPECT_NE(sentence_of([&] { find(); }).find("no context is chosen"), std::string::npos);
  const auto of = [&](const char* name) { return sentence_of([&] { find(cluster_choice().context(name)); }); };
  EXPECT_NE(of("y").find("there is no context \"y\"; the contexts are \"x\", \"z\"; tried"), std::string::npos)
      << of("y");
  EXPECT_NE(of("x").find("line 2) names the cluster \"c\", which does not exist"), std::string::npos) << of("x");
  EXPECT_NE(of("z").find("line 3) names the user \"u\", which does not exist"), std::string::npos) << of("z");
  around.variables = {"HOME=/nowhere"};
  const std::string sentence = sentence_of([&] { find(); });
  EXPECT_NE(sentence.find("no cluster is configured"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("KUBECONFIG (not set), '/nowhere/.kube/config' (does not exist)"), std::string::npos)
      << sentence;
}

TEST_F(ClusterAccess, files_that_are_missing_or_empty_are_named) {
  const auto expect = [&](const std::string& words, const cluster_choice& choice = cluster_choice()) {
    const std::string sentence = sentence_of([&] { find(choice); });
    EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
  };
  use({(folder / "absent").string(), "/absent/too"});
  expect("KUBECONFIG names no file that exists; tried '" + (folder / "absent").string() +
         "' (does not exist), '/absent");
  use({"~/config"});
  expect("'~/config' (does not exist; '~' is not expanded here");
  expect("the kubeconfig \"~/config\" does not exist; '~' is not expanded here",
         cluster_choice().kubeconfig("~/config"));
  use({folder.write("config", "").string()});
  expect("the kubeconfig has no contexts; tried '");
}

TEST_F(ClusterAccess, a_pod_uses_its_own_cluster_unless_a_file_exists) {
  std::filesystem::create_directory(folder / "pod");
  folder.write("pod/namespace", "mine");
  around.variables = {"HOME=/nowhere", "KUBERNETES_SERVICE_HOST=fd00::1", "KUBERNETES_SERVICE_PORT=6443"};
  const cluster_access access = find();
  EXPECT_EQ(access.url(), "https://[fd00::1]:6443");
  EXPECT_EQ(access.context, "in-cluster");
  EXPECT_EQ(access.namespace_name, "mine");
  EXPECT_EQ(access.cluster.authority.path, (folder / "pod/ca.crt").string());
  EXPECT_EQ(access.user.token_file, (folder / "pod/token").string());
  configure("{server: 'https://a'}");
  around.variables.push_back("KUBERNETES_SERVICE_HOST=10.0.0.1");
  EXPECT_EQ(find().host, "a");
}

TEST_F(ClusterAccess, an_unusable_proxy_or_authority_is_an_error) {
  for (const char* cluster :
       {"{server: 'https://a', proxy-url: 'socks5://p:1'}", "{server: 'https://a', certificate-authority: absent.pem}",
        "{server: 'https://a', certificate-authority-data: QQ==}"}) {
    configure(cluster);
    const cluster_access access = find();
    EXPECT_EQ(code_of([&] { cluster_connector(access, secret_string(), secret_string()); }),
              exec_errc::invalid_argument)
        << cluster;
  }
  configure("{server: 'https://a', proxy-url: 'http://p:1'}");
  EXPECT_EQ(cluster_connector(find(), secret_string(), secret_string()).host(), "a");
}

}  // namespace
