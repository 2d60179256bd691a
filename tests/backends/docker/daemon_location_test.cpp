// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/daemon_location.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::daemon_location;
using cofferdam::docker::detail::daemon_transport;
using cofferdam::docker::detail::default_socket;
using cofferdam::docker::detail::parse_daemon_address;
using namespace cofferdam::docker;
using namespace std::string_view_literals;
using cofferdam_test::code_of;
using cofferdam_test::sentence_of;

TEST(DaemonLocation, a_socket_is_named_by_its_absolute_path) {
  const daemon_location location = parse_daemon_address("unix:///run/user/1000/docker.sock");
  EXPECT_EQ(location.transport(), daemon_transport::unix_socket);
  EXPECT_EQ(location.path(), "/run/user/1000/docker.sock");
  EXPECT_EQ(location.port(), 0);
  EXPECT_EQ(location.address(), "unix:///run/user/1000/docker.sock");
  EXPECT_EQ(parse_daemon_address("unix://").path(), default_socket);
}

TEST(DaemonLocation, a_port_of_its_own_or_the_usual_one) {
  const daemon_location plain = parse_daemon_address("tcp://box");
  EXPECT_EQ(plain.transport(), daemon_transport::tcp);
  EXPECT_EQ(plain.host(), "box");
  EXPECT_EQ(plain.port(), 2375);
  EXPECT_FALSE(plain.has_port());
  EXPECT_EQ(plain.address(), "tcp://box:2375");
  EXPECT_EQ(parse_daemon_address("tcp://10.0.0.7:4000").port(), 4000);
  EXPECT_EQ(parse_daemon_address("http://box:80").transport(), daemon_transport::tcp);
  const daemon_location safe = parse_daemon_address("https://box");
  EXPECT_EQ(safe.transport(), daemon_transport::tls);
  EXPECT_EQ(safe.port(), 2376);
  EXPECT_TRUE(safe.verifies());
}

TEST(DaemonLocation, what_stands_before_each_path_is_kept_without_its_last_slash) {
  EXPECT_EQ(parse_daemon_address("tcp://box/").path(), "");
  EXPECT_EQ(parse_daemon_address("tcp://box:1/docker/").path(), "/docker");
}

TEST(DaemonLocation, an_ipv6_address_stands_in_brackets) {
  const daemon_location location = parse_daemon_address("tcp://[fe80::1]:2375");
  EXPECT_EQ(location.host(), "fe80::1");
  EXPECT_EQ(location.address(), "tcp://[fe80::1]:2375");
  for (const std::string_view text : {"tcp://[::1", "tcp://[x]", "tcp://[::1]2375", "tcp://[]", "tcp://::1"})
    EXPECT_EQ(code_of([&] { parse_daemon_address(text); }), exec_errc::invalid_argument) << text;
}

TEST(DaemonLocation, ssh_has_a_user_a_port_and_a_socket_over_there) {
  const daemon_location location = parse_daemon_address("ssh://ann@box:2222/run/podman/podman.sock");
  EXPECT_EQ(location.transport(), daemon_transport::ssh);
  EXPECT_EQ(location.user(), "ann");
  EXPECT_EQ(location.host(), "box");
  EXPECT_EQ(location.port(), 2222);
  EXPECT_EQ(location.path(), "/run/podman/podman.sock");
  EXPECT_EQ(location.address(), "ssh://ann@box:2222/run/podman/podman.sock");
  EXPECT_EQ(parse_daemon_address("ssh://box").address(), "ssh://box");
  EXPECT_EQ(parse_daemon_address("ssh://box/").path(), "");
}

TEST(DaemonLocation, what_is_not_accepted_says_what_is) {
  for (const std::string_view text : {""sv,
                                      "/var/run/docker.sock"sv,
                                      "box:2375"sv,
                                      "npipe:////./pipe/docker_engine"sv,
                                      "fd://"sv,
                                      "unix://relative"sv,
                                      "tcp://"sv,
                                      "tcp://:2375"sv,
                                      "tcp://box:"sv,
                                      "tcp://box:0"sv,
                                      "tcp://box:65536"sv,
                                      "tcp://box:99999999999999"sv,
                                      "tcp://box:12a"sv,
                                      "tcp://box:+1"sv,
                                      "tcp://b ox"sv,
                                      "tcp://box?x=1"sv,
                                      "tcp://box#x"sv,
                                      "tcp://ann@box"sv,
                                      "ssh://ann:pw@box"sv,
                                      "ssh://@box"sv,
                                      "tcp://box\n"sv,
                                      "tcp://b\0x"sv,
                                      "tcp://b%20x"sv,
                                      "TCP://box"sv}) {
    const std::string sentence = sentence_of([&] { parse_daemon_address(text, "DOCKER_HOST"); });
    EXPECT_NE(sentence.find("unix:///path"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("DOCKER_HOST"), std::string::npos) << sentence;
  }
  EXPECT_NE(sentence_of([] { parse_daemon_address("/run/x.sock"); }).find("write unix://"), std::string::npos);
}

TEST(DaemonLocation, a_socket_path_that_the_kernel_cannot_take_is_refused) {
  EXPECT_EQ(parse_daemon_address("unix:///" + std::string(106, 'x')).path().size(), 107U);
  EXPECT_EQ(code_of([] { parse_daemon_address("unix:///" + std::string(107, 'x')); }), exec_errc::invalid_argument);
}

}  // namespace
