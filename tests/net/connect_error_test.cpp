// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/detail/net/connect_error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include <support/error_of.hpp>

namespace {

using namespace cofferdam;
using cofferdam::detail::connect_code;
using cofferdam::detail::connect_code_named;
using cofferdam::detail::connect_end_text;
using cofferdam::detail::connect_failure;
using cofferdam::detail::connect_failure_text;
using cofferdam::detail::connect_status;
using cofferdam::detail::read_connect_end;
using cofferdam::detail::read_connect_failure;
using cofferdam_test::error_of;

TEST(ConnectError, each_code_has_a_name_that_leads_back_and_a_status) {
  for (int number = 1; number <= 16; ++number) {
    const auto code = static_cast<connect_code>(number);
    EXPECT_EQ(connect_code_named(to_string(code)), code);
    EXPECT_GE(connect_status(code), 400U);
  }
  EXPECT_EQ(connect_code_named("Unknown"), std::nullopt);
  EXPECT_EQ(connect_code_named(""), std::nullopt);
  EXPECT_EQ(connect_status(connect_code::canceled), 499U);
  EXPECT_EQ(connect_status(connect_code::aborted), 409U);
}

TEST(ConnectError, a_unary_error_is_read_by_its_code_whatever_the_status) {
  const connect_failure failure =
      read_connect_failure(404, R"({"code":"not_found","message":"process with pid 999999 not found","details":[]})");
  EXPECT_EQ(failure.code(), connect_code::not_found);
  EXPECT_EQ(failure.message(), "process with pid 999999 not found");
  EXPECT_EQ(read_connect_failure(400, R"({"code":"out_of_range"})").code(), connect_code::out_of_range);
}

TEST(ConnectError, an_answer_of_a_proxy_is_judged_by_its_number_or_its_status) {
  const connect_failure proxy =
      read_connect_failure(502, R"({"sandboxId":"i1","message":"The sandbox was not found","code":502})");
  EXPECT_EQ(proxy.code(), connect_code::unavailable);
  EXPECT_EQ(proxy.message(), "The sandbox was not found");
  EXPECT_EQ(read_connect_failure(500, R"({"code":401,"message":"no"})").code(), connect_code::unauthenticated);
  EXPECT_EQ(read_connect_failure(404, "404 page not found").code(), connect_code::not_found);
  EXPECT_EQ(read_connect_failure(404, "404 page not found").message(), "404 page not found");
  EXPECT_EQ(read_connect_failure(503, "").code(), connect_code::unavailable);
  EXPECT_EQ(read_connect_failure(429, "[]").code(), connect_code::resource_exhausted);
  EXPECT_EQ(read_connect_failure(418, R"({"code":"teapot","message":5})").code(), connect_code::unknown);
  EXPECT_EQ(read_connect_failure(400, R"({"code":99999999999})").code(), connect_code::invalid_argument);
  EXPECT_EQ(read_connect_failure(502, "<html>" + std::string(100000, 'x')).message().size(), 65536U);
}

TEST(ConnectError, an_end_envelope_says_how_the_stream_went) {
  EXPECT_FALSE(read_connect_end("{}").has_value());
  EXPECT_FALSE(read_connect_end(R"({"metadata":{"k":["v"]}})").has_value());
  EXPECT_FALSE(read_connect_end(R"({"error":null})").has_value());
  const auto failure = read_connect_end(R"({"error":{"code":"deadline_exceeded","message":"context deadline"}})");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code(), connect_code::deadline_exceeded);
  EXPECT_EQ(failure->message(), "context deadline");
  const auto nameless = read_connect_end(R"({"error":{}})");
  ASSERT_TRUE(nameless);
  EXPECT_EQ(nameless->code(), connect_code::unknown);
}

TEST(ConnectError, an_end_envelope_that_is_no_object_is_malformed) {
  for (const std::string_view text : {"", "[]", "null", "{", R"({"error":"x"})", R"({"error":[]})", "{}x"}) {
    const std::optional<error> failure = error_of([&] { read_connect_end(text); });
    ASSERT_TRUE(failure) << text;
    EXPECT_EQ(failure->cause(), net_errc::malformed) << text;
  }
}

TEST(ConnectError, what_is_written_is_read) {
  const connect_failure failure(connect_code::already_exists, "a \"quoted\" word\n");
  const connect_failure unary = read_connect_failure(connect_status(failure.code()), connect_failure_text(failure));
  EXPECT_EQ(unary.code(), failure.code());
  EXPECT_EQ(unary.message(), failure.message());
  const auto streamed = read_connect_end(connect_end_text(failure));
  ASSERT_TRUE(streamed);
  EXPECT_EQ(streamed->code(), failure.code());
  EXPECT_EQ(streamed->message(), failure.message());
}

}  // namespace
