// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/provider_name.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using cofferdam::error;
using cofferdam::exec_errc;
using cofferdam::provider_name;

provider_name parse(std::string_view text) { return provider_name::parse(text, {"local", "docker:IMAGE"}); }

std::string refusal_of(std::string_view text) {
  try {
    parse(text);
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), exec_errc::invalid_argument);
    return refused.what();
  }
  return "taken";
}

TEST(ProviderName, has_a_kind_and_what_follows_the_first_colon) {
  EXPECT_EQ(parse("local").kind(), "local");
  EXPECT_EQ(parse("docker").value_or("usual"), "usual");
  EXPECT_EQ(parse("docker:python:3.12-slim").kind(), "docker");
  EXPECT_EQ(parse("docker:python:3.12-slim").value_or("usual"), "python:3.12-slim");
}

TEST(ProviderName, an_unknown_one_is_refused_with_those_that_there_are) {
  EXPECT_EQ(refusal_of("podman"), "unknown provider \"podman\"; use one of: local, docker:IMAGE");
  EXPECT_EQ(refusal_of(""), "unknown provider \"\"; use one of: local, docker:IMAGE");
  EXPECT_EQ(refusal_of("Local"), "unknown provider \"Local\"; use one of: local, docker:IMAGE");
}

TEST(ProviderName, what_a_kind_does_not_take_is_refused) {
  EXPECT_EQ(refusal_of("local:x"), "the provider \"local\" takes no value after a colon; remove \"x\"");
  EXPECT_EQ(refusal_of("docker:"), "the provider \"docker:\" needs a value after its colon");
}

}  // namespace
