// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/find_daemon.hpp>

#include "support/error_of.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::daemon_location;
using cofferdam::docker::detail::daemon_search;
using cofferdam::docker::detail::daemon_transport;
using cofferdam::docker::detail::default_socket;
using cofferdam::docker::detail::find_daemon;
using cofferdam::docker::detail::host_view;
using namespace cofferdam::docker;
using cofferdam_test::code_of;
using cofferdam_test::fake_host;
using cofferdam_test::sentence_of;

// The SHA-256 of "remote1", computed by sha256sum(1). Docker names the folder of a context by it.
const std::string remote1 = "e0de706a7deed95a1dbbd5165af012b68bed0d6d5b342ecee8522eaed74a2352";

fake_host with_context(const std::string& endpoint) {
  fake_host host;
  host.file("/h/.docker/contexts/meta/" + remote1 + "/meta.json",
            R"({"Name":"remote1","Metadata":{},"Endpoints":{"docker":)" + endpoint + "}}");
  return host;
}

daemon_location only(const fake_host& host, const daemon_choice& choice = daemon_choice()) {
  const daemon_search found = find_daemon(host.view(), choice);
  EXPECT_EQ(found.candidates().size(), 1U);
  return found.candidates().front();
}

TEST(FindDaemon, the_usual_socket_is_there_even_where_nothing_is) {
  const daemon_search found = find_daemon(fake_host().view());
  ASSERT_EQ(found.candidates().size(), 1U);
  EXPECT_EQ(found.candidates().front().path(), default_socket);
  std::string tried;
  for (const std::string& candidate : found.tried()) tried += candidate + "\n";
  for (const char* const part : {"DOCKER_HOST is not set", "DOCKER_CONTEXT", "/var/run/docker.sock",
                                 "/run/user/1000/docker.sock", "/h/.docker/run/docker.sock", "/run/podman/podman.sock"})
    EXPECT_NE(tried.find(part), std::string::npos) << part << " in " << tried;
}

TEST(FindDaemon, every_usual_socket_that_is_there_is_a_candidate_in_order) {
  fake_host host;
  host.socket("/run/podman/podman.sock").socket("/x/docker.sock").socket("/x/podman/podman.sock");
  host.set("XDG_RUNTIME_DIR", "/x");
  const daemon_search found = find_daemon(host.view());
  ASSERT_EQ(found.candidates().size(), 3U);
  EXPECT_EQ(found.candidates()[0].path(), "/x/docker.sock");
  EXPECT_EQ(found.candidates()[1].path(), "/x/podman/podman.sock");
  EXPECT_EQ(found.candidates()[2].path(), "/run/podman/podman.sock");
}

TEST(FindDaemon, the_options_go_before_variables_and_those_before_the_configuration) {
  fake_host host = with_context(R"({"Host":"tcp://context:1"})");
  host.config(R"({"currentContext":"remote1"})");
  EXPECT_EQ(only(host).host(), "context");
  // An empty environment variable counts as not set.
  host.set("DOCKER_HOST", "");
  EXPECT_EQ(only(host).host(), "context");
  host.set("DOCKER_CONTEXT", "default");
  EXPECT_EQ(only(host).path(), default_socket);
  host.set("DOCKER_HOST", "tcp://variable:2");
  EXPECT_EQ(only(host).host(), "variable");
  EXPECT_EQ(only(host, daemon_choice().context("remote1")).host(), "context");
  EXPECT_EQ(only(host, daemon_choice().address("tcp://option:3")).host(), "option");
}

TEST(FindDaemon, docker_config_names_another_folder) {
  fake_host host;
  host.set("DOCKER_CONFIG", "/c").file("/c/config.json", R"({"currentContext":"remote1"})");
  host.file("/c/contexts/meta/" + remote1 + "/meta.json", R"({"Endpoints":{"docker":{"Host":"unix:///c.sock"}}})");
  EXPECT_EQ(only(host).path(), "/c.sock");
}

TEST(FindDaemon, any_text_in_the_tls_variables_means_tls_and_it_is_verified) {
  for (const char* const name : {"DOCKER_TLS_VERIFY", "DOCKER_TLS"}) {
    fake_host host;
    host.set("DOCKER_HOST", "tcp://box").set(name, "0");
    EXPECT_EQ(only(host).transport(), daemon_transport::tls) << name;
    EXPECT_TRUE(only(host).verifies()) << name;
    EXPECT_EQ(only(host).port(), 2376) << name;
  }
  fake_host host;
  host.set("DOCKER_HOST", "tcp://box").set("DOCKER_CERT_PATH", "/k").file("/k/ca.pem", "x");
  EXPECT_EQ(only(host).transport(), daemon_transport::tls);
  EXPECT_TRUE(only(host).verifies());
  EXPECT_EQ(only(host).tls().ca(), "/k/ca.pem");
  EXPECT_EQ(only(host).tls().key(), "");
  EXPECT_FALSE(only(host, daemon_choice().without_verification()).verifies());
}

TEST(FindDaemon, sockets_and_ssh_do_not_take_tls_from_variables) {
  fake_host host;
  host.set("DOCKER_TLS_VERIFY", "1").set("DOCKER_HOST", "ssh://box");
  EXPECT_EQ(only(host).transport(), daemon_transport::ssh);
  host.set("DOCKER_HOST", "unix:///x.sock");
  EXPECT_EQ(only(host).transport(), daemon_transport::unix_socket);
}

TEST(FindDaemon, a_folder_of_keys_without_keys_is_an_error) {
  fake_host host;
  host.set("DOCKER_HOST", "tcp://box").set("DOCKER_CERT_PATH", "/typo");
  EXPECT_NE(sentence_of([&] { find_daemon(host.view()); }).find("/typo"), std::string::npos);
  host.file("/typo/ca.pem", "").file("/typo/cert.pem", "");
  EXPECT_NE(sentence_of([&] { find_daemon(host.view()); }).find("only one"), std::string::npos);
  host.file("/typo/key.pem", "");
  EXPECT_EQ(only(host).tls().key(), "/typo/key.pem");
}

TEST(FindDaemon, a_context_brings_its_own_keys) {
  fake_host host = with_context(R"({"Host":"tcp://box:1","SkipTLSVerify":false})");
  host.set("DOCKER_CONTEXT", "remote1");
  EXPECT_EQ(only(host).transport(), daemon_transport::tcp);
  const std::string keys = "/h/.docker/contexts/tls/" + remote1 + "/docker/";
  host.file(keys + "ca.pem", "").file(keys + "cert.pem", "").file(keys + "key.pem", "");
  EXPECT_EQ(only(host).transport(), daemon_transport::tls);
  EXPECT_EQ(only(host).tls().certificate(), keys + "cert.pem");
  EXPECT_TRUE(only(host).verifies());
}

TEST(FindDaemon, a_context_may_give_up_verification_for_itself) {
  fake_host host = with_context(R"({"Host":"tcp://box:1","SkipTLSVerify":true})");
  host.set("DOCKER_CONTEXT", "remote1");
  EXPECT_EQ(only(host).transport(), daemon_transport::tls);
  EXPECT_FALSE(only(host).verifies());
}

TEST(FindDaemon, the_program_may_bring_other_keys_for_a_context) {
  fake_host host = with_context(R"({"Host":"tcp://box:1"})");
  host.file("/k/ca.pem", "");
  const daemon_location location = only(host, daemon_choice().context("remote1").tls_folder("/k"));
  EXPECT_EQ(location.transport(), daemon_transport::tls);
  EXPECT_EQ(location.tls().ca(), "/k/ca.pem");
  EXPECT_FALSE(only(host, daemon_choice().context("remote1").without_verification()).verifies());
}

TEST(FindDaemon, a_context_that_cannot_be_used_is_named_with_its_file) {
  fake_host none;
  none.set("DOCKER_CONTEXT", "remote1");
  const std::string sentence = sentence_of([&] { find_daemon(none.view()); });
  EXPECT_NE(sentence.find("\"remote1\""), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(remote1 + "/meta.json"), std::string::npos) << sentence;
  for (const char* const endpoint : {R"({})", R"({"Host":1})", R"("x")", R"({"Host":"nonsense"})"}) {
    fake_host host = with_context(endpoint);
    host.set("DOCKER_CONTEXT", "remote1");
    EXPECT_NE(sentence_of([&] { find_daemon(host.view()); }).find("\"remote1\""), std::string::npos) << endpoint;
  }
}

TEST(FindDaemon, a_broken_configuration_is_an_error_and_an_empty_one_is_none) {
  fake_host host;
  host.config("  \n");
  EXPECT_EQ(only(host).path(), default_socket);
  for (const char* const text : {"{", "[]", "{\"a\":}", "x"}) {
    host.config(text);
    EXPECT_EQ(code_of([&] { find_daemon(host.view()); }), exec_errc::provider_failed) << text;
  }
}

TEST(FindDaemon, configured_headers_go_with_each_location_and_never_split_a_request) {
  fake_host host;
  host.config(R"({"HttpHeaders":{"X-Meta":"s3cret"}})");
  ASSERT_EQ(only(host).headers().size(), 1U);
  EXPECT_EQ(only(host).headers()[0].second, "s3cret");
  for (const char* const text : {R"({"HttpHeaders":{"X":"s3cret\r\nHost: y"}})", R"({"HttpHeaders":{"X ":"s3cret"}})",
                                 R"({"HttpHeaders":{"":"s3cret"}})", R"({"HttpHeaders":{"content-Length":"s3cret"}})",
                                 R"({"HttpHeaders":{"X":["s3cret"]}})"}) {
    host.config(text);
    const std::string sentence = sentence_of([&] { find_daemon(host.view()); });
    EXPECT_EQ(sentence.find("s3cret"), std::string::npos) << sentence;
  }
}

TEST(FindDaemon, this_process_can_be_looked_from) {
  EXPECT_FALSE(find_daemon(host_view::of_this_process(), daemon_choice().address("unix:///x")).candidates().empty());
}

}  // namespace
