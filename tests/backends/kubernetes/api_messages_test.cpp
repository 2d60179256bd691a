// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_channel.hpp>
#include <cofferdam/backends/kubernetes/detail/watch_reader.hpp>

#include "support/error_of.hpp"

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes::detail;
using cofferdam_test::code_of;
using namespace std::chrono_literals;
using namespace std::string_literals;

std::string status_json(unsigned code, const std::string& message) {
  return R"({"kind":"Status","status":"Failure","code":)" + std::to_string(code) + R"(,"message":")" + message + "\"}";
}

error refused(unsigned code, const std::string& message) {
  return api_error(api_status::read(code, status_json(code, message)), "create the pod");
}

TEST(KubernetesApiError, the_code_and_the_advice_follow_the_message) {
  struct row {
    unsigned status;
    const char* message;
    exec_errc code;
    const char* advice;
  };
  const std::vector<row> rows{
      {403, "pods \\\"a\\\" is forbidden: exceeded quota: q, requested: cpu=2", exec_errc::provider_failed,
       "quota is used"},
      {403, "pods \\\"a\\\" is forbidden: violates PodSecurity \\\"restricted:latest\\\"", exec_errc::permission_denied,
       "Pod Security"},
      {400, "admission webhook \\\"w.x.io\\\" denied the request: no sandboxes here", exec_errc::permission_denied,
       "no sandboxes here"},
      {500, "Internal error occurred: failed calling webhook \\\"w\\\"", exec_errc::unavailable, "does not answer"},
      {403, "pods \\\"a\\\" is forbidden: maximum memory usage per Container is 1Gi", exec_errc::invalid_argument,
       "LimitRange"},
      {403, "pods \\\"a\\\" is forbidden: no PriorityClass with name low was found", exec_errc::unsupported,
       "no such PriorityClass"},
      {403, "pods \\\"a\\\" is forbidden: pod rejected: RuntimeClass \\\"g\\\" not found", exec_errc::unsupported,
       "no such RuntimeClass"},
      {404, "namespaces \\\"x\\\" not found", exec_errc::not_found, "in_namespace()"},
      {403, "pods is forbidden: User \\\"u\\\" cannot create resource \\\"pods\\\"", exec_errc::permission_denied,
       "lacks a right"},
      {401, "Unauthorized", exec_errc::permission_denied, "expired"},
      {409, "configmaps \\\"a\\\" already exists", exec_errc::already_exists, "conflicts"},
      {422, "Pod \\\"a\\\" is invalid: spec.x", exec_errc::invalid_argument, "rejects a field"},
      {429, "too many requests", exec_errc::unavailable, "try again later"},
      {503, "", exec_errc::unavailable, "not ready"},
      {500, "boom", exec_errc::provider_failed, "log"}};
  for (const row& each : rows) {
    const error failure = refused(each.status, each.message);
    EXPECT_EQ(failure.code(), each.code) << failure.what();
    EXPECT_NE(std::string(failure.what()).find(each.advice), std::string::npos) << failure.what();
    EXPECT_EQ(failure.cause().value(), static_cast<int>(each.status));
  }
}

TEST(KubernetesApiError, the_advice_for_a_certificate_names_the_entry_of_the_kubeconfig) {
  const auto text = [](net_errc cause) {
    return connection_text(
        error(exec_errc::io_error, "cannot connect to h:1: its certificate was not accepted: why; call f()", cause));
  };
  const std::string begin = "cannot connect to h:1: its certificate was not accepted: why; ";
  EXPECT_TRUE(text(net_errc::certificate_wrong_host).starts_with(begin + "connect by a name in the certificate, or"));
  EXPECT_NE(text(net_errc::certificate_wrong_host).find("set tls-server-name of the cluster"), std::string::npos);
  EXPECT_TRUE(text(net_errc::certificate_untrusted).starts_with(begin + "set certificate-authority of the cluster"));
  EXPECT_TRUE(text(net_errc::client_certificate_needed).starts_with(begin + "check client-certificate"));
  EXPECT_TRUE(text(net_errc::certificate_rejected).starts_with(begin + "set certificate-authority of the cluster"));
  EXPECT_EQ(text(net_errc::certificate_expired), begin + "call f()");
}

TEST(KubernetesApiError, an_answer_that_is_no_status_is_the_message) {
  const error failure = api_error(api_status::read(502, "<html>bad\ngateway\x1b[31m"), "list the pods");
  EXPECT_NE(std::string(failure.what()).find("502"), std::string::npos);
  EXPECT_EQ(std::string(failure.what()).find('\x1b'), std::string::npos);
  EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos);
}

TEST(KubernetesApiError, the_time_to_wait_is_read_and_bounded) {
  EXPECT_EQ(retry_after("1"), 1s);
  EXPECT_EQ(retry_after("0"), 0s);
  EXPECT_EQ(retry_after("99999999999999999999"), 600s);
  for (const char* const value : {"", "-1", "1.5", "Wed, 21 Oct 2015 07:28:00 GMT", " 1", "1s"})
    EXPECT_EQ(retry_after(value), std::nullopt) << value;
  const auto in_body = [](const std::string& seconds) {
    return api_status::read(429, R"({"status":"Failure","details":{"retryAfterSeconds":)" + seconds + "}}")
        .retry_after();
  };
  EXPECT_EQ(in_body("3"), 3s);
  EXPECT_EQ(in_body("100000"), 600s);
  EXPECT_EQ(in_body("0"), std::nullopt);
  EXPECT_EQ(in_body("\"3\""), std::nullopt);
  EXPECT_TRUE(may_repeat(api_status::read(429, "")));
  EXPECT_FALSE(may_repeat(api_status::read(403, "")));
}

TEST(KubernetesExec, output_has_a_channel_and_the_end_has_a_code) {
  exec_reader reader;
  for (const std::string& announcement : {"\0"s, "\1"s, "\2"s, "\3"s, "\4"s, "\xff\1"s})
    EXPECT_FALSE(reader.take(announcement).has_value());
  EXPECT_FALSE(reader.end().has_value());
  const std::string message = "\1hello\0"s;
  const std::optional<exec_message> out = reader.take(message);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->channel(), exec_channel::output);
  EXPECT_EQ(out->content(), "hello\0"s);
  EXPECT_EQ(reader.take("\2err")->channel(), exec_channel::error_output);
  const std::string status =
      R"({"status":"Failure","reason":"NonZeroExitCode","message":"command terminated with exit code 3",)"
      R"("details":{"causes":[{"reason":"ExitCode","message":"3"}]}})";
  reader.take("\3" + status.substr(0, 10));
  reader.take("\3" + status.substr(10));
  ASSERT_TRUE(reader.end());
  EXPECT_EQ(reader.end()->exit_code(), 3);
}

TEST(KubernetesExec, an_end_without_a_code_has_a_message) {
  EXPECT_EQ(read_exec_end(R"({"status":"Success"})").exit_code(), 0);
  const exec_end failed = read_exec_end(
      R"({"status":"Failure","reason":"InternalError","message":"exec failed: no such file or directory"})");
  EXPECT_EQ(failed.exit_code(), std::nullopt);
  EXPECT_EQ(failed.message(), "exec failed: no such file or directory");
  for (const char* const code : {"", "x", "-1", "256", "0003", "3 "})
    EXPECT_EQ(read_exec_end(R"({"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":")"s +
                            code + R"("}]}})")
                  .exit_code(),
              std::nullopt)
        << code;
  EXPECT_EQ(read_exec_end("not json").message(), "not json");
  EXPECT_EQ(read_exec_end("[]").exit_code(), std::nullopt);
}

TEST(KubernetesExec, malformed_messages_are_refused) {
  exec_reader reader;
  for (const std::string& message : {""s, "\0x!"s, "\4{}"s, "\5"s, "\xff\1\1"s, "\x7fx"s})
    EXPECT_EQ(code_of([&] { reader.take(message); }), exec_errc::provider_failed);
  reader.take("\3" + std::string(exec_reader::max_status, 'x'));
  EXPECT_EQ(code_of([&] { reader.take("\3x"); }), exec_errc::too_large);
}

TEST(KubernetesExec, input_is_framed) {
  EXPECT_EQ(input_message("a\0b"s), "\0a\0b"s);
  EXPECT_EQ(end_of_input_message(), "\xff\0"s);
}

std::vector<std::string> events_in(std::string_view text, std::size_t piece_size) {
  watch_reader reader;
  std::vector<std::string> events;
  while (!text.empty()) {
    std::string_view piece = text.substr(0, piece_size);
    text.remove_prefix(piece.size());
    while (const std::optional<watch_event> event = reader.next(piece))
      events.push_back(std::to_string(static_cast<int>(event->kind())) + boost::json::serialize(event->object()));
    EXPECT_TRUE(piece.empty());
  }
  if (reader.is_cut()) events.emplace_back("cut");
  return events;
}

TEST(KubernetesWatch, events_are_the_same_however_the_stream_is_cut) {
  const std::string text =
      "{\"type\":\"ADDED\",\"object\":{\"a\":\"\\n\"}}\n\n{\"type\":\"MODIFIED\",\"object\":{}}\r\n"
      "{\"type\":\"DELETED\",\"object\":{\"b\":[1]}}\n{\"type\":\"BOOKMARK\",\"object\":{}}\n"
      "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n{\"type\":";
  const std::vector<std::string> expected{"0{\"a\":\"\\n\"}", "1{}", "2{\"b\":[1]}", "3{}", "4{\"code\":410}", "cut"};
  for (std::size_t size = 1; size <= text.size(); ++size) EXPECT_EQ(events_in(text, size), expected) << size;
}

TEST(KubernetesWatch, what_is_no_event_is_refused) {
  for (const char* const line : {"x\n", "[]\n", "{}\n", "{\"type\":\"ADDED\"}\n", "{\"type\":\"NEW\",\"object\":{}}\n",
                                 "{\"type\":\"ADDED\",\"object\":[]}\n"})
    EXPECT_EQ(code_of([&] { events_in(line, 100); }), exec_errc::provider_failed) << line;
}

TEST(KubernetesWatch, an_event_without_end_is_refused) {
  watch_reader reader;
  const std::string block(watch_reader::max_event, 'x');
  std::string_view first = block;
  EXPECT_FALSE(reader.next(first).has_value());
  std::string_view second = "x";
  EXPECT_EQ(code_of([&] { reader.next(second); }), exec_errc::too_large);
}

}  // namespace
