// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/api_version.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::api_version;
using cofferdam::docker::detail::engine_kind;
using cofferdam::docker::detail::negotiate;
using cofferdam::docker::detail::newest_api;
using cofferdam::docker::detail::ping_answer;
using namespace cofferdam::docker;
using cofferdam_test::code_of;
using cofferdam_test::sentence_of;

ping_answer ping(const std::string& version) { return ping_answer({{"Api-Version", version}, {"Ostype", "linux"}}); }

TEST(ApiVersion, it_is_two_numbers) {
  EXPECT_EQ(api_version::parse("1.41"), api_version(1, 41));
  EXPECT_EQ(api_version(1, 41).path_prefix(), "/v1.41");
  EXPECT_LT(api_version(1, 9), api_version(1, 41));
  EXPECT_LT(api_version(1, 99), api_version(2, 0));
  for (const std::string_view text : {"", "1", "1.", ".1", "1.41.0", "1.x", " 1.41", "v1.41", "1.-1", "1.12345"})
    EXPECT_EQ(api_version::parse(text), std::nullopt) << text;
}

TEST(ApiVersion, the_headers_of_a_ping_are_read_in_any_case) {
  const ping_answer docker({{"API-VERSION", "1.44"}, {"ostype", "linux"}, {"Builder-Version", "2"}, {"Server", "x"}});
  EXPECT_EQ(docker.version(), api_version(1, 44));
  EXPECT_TRUE(docker.has_buildkit());
  EXPECT_EQ(docker.kind(), engine_kind::docker);
  const ping_answer podman({{"Libpod-Api-Version", "4.3.1"}, {"Api-Version", "1.41"}});
  EXPECT_EQ(podman.kind(), engine_kind::podman);
  EXPECT_FALSE(podman.has_buildkit());
}

TEST(ApiVersion, both_sides_speak_the_newest_that_both_know) {
  EXPECT_EQ(negotiate(ping("1.41"), "unix:///x"), api_version(1, 41));
  EXPECT_EQ(negotiate(ping("1.47"), "unix:///x"), api_version(1, 47));
  EXPECT_EQ(negotiate(ping("1.99"), "unix:///x"), newest_api);
  EXPECT_EQ(negotiate(ping("2.0"), "unix:///x"), newest_api);
}

TEST(ApiVersion, a_daemon_that_cannot_be_used_is_told_apart) {
  EXPECT_EQ(code_of([] { negotiate(ping("1.40"), "unix:///x"); }), exec_errc::unsupported);
  EXPECT_NE(sentence_of([] { negotiate(ping("1.40"), "unix:///x"); }).find("1.41"), std::string::npos);
  EXPECT_NE(sentence_of([] { negotiate(ping("1.40"), "unix:///x"); }).find("unix:///x"), std::string::npos);
  EXPECT_EQ(code_of([] { negotiate(ping("nonsense"), "x"); }), exec_errc::provider_failed);
  EXPECT_EQ(code_of([] { negotiate(ping_answer({}), "x"); }), exec_errc::provider_failed);
  EXPECT_EQ(code_of([] {
              negotiate(ping_answer({{"Api-Version", "1.45"}, {"OSType", "windows"}}), "x");
            }),
            exec_errc::unsupported);
}

TEST(ApiVersion, a_forced_version_is_used_or_refused) {
  EXPECT_EQ(negotiate(ping("1.47"), "x", "1.43"), api_version(1, 43));
  for (const std::string_view text : {"1.40", "1.52", "x", "1.x"})
    EXPECT_EQ(code_of([&] { negotiate(ping("1.47"), "x", text); }), exec_errc::invalid_argument) << text;
}

}  // namespace
