// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/progress_stream.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::progress_stream;
using namespace cofferdam::docker;
using cofferdam_test::code_of;
using kind = progress_event::kind;

// Returns the event as one line, which tests can compare.
std::string shown(const progress_event& event) {
  return std::to_string(static_cast<int>(event.what())) + "|" + event.id() + "|" + event.text() + "|" +
         std::to_string(event.current()) + "/" + std::to_string(event.total()) + "|" + std::to_string(event.code());
}

std::vector<std::string> read(const std::vector<std::string_view>& pieces) {
  progress_stream stream;
  std::vector<std::string> events;
  for (const std::string_view piece : pieces) {
    stream.feed(piece);
    while (const std::optional<progress_event> event = stream.next()) events.push_back(shown(*event));
  }
  stream.finish();
  return events;
}

// A progress stream as sent by a daemon.
constexpr std::string_view session =
    "{\"status\":\"Pulling from t/debpy\",\"id\":\"v1\"}\r\n"
    "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":552960,\"total\":107017620},\"progress\":\"[> ]\","
    "\"id\":\"2d00bfb92981\"}\r\n"
    "{\"status\":\"Retrying in 5 seconds\",\"progressDetail\":{},\"id\":\"2d00bfb92981\"}\n"
    "{\"stream\":\"Step 2/7 : RUN x\\n\"}{\"stream\":\"\\u001b[91mw\\u00fc\\u001b[0m\"} "
    "{\"aux\":{\"ID\":\"sha256:12\"}}\n"
    "{\"id\":\"moby.buildkit.trace\",\"aux\":\"Zm9v\"}{\"id\":\"moby.image.id\",\"aux\":{\"ID\":\"sha256:34\"}}\n"
    "{\"new\":1}{\"errorDetail\":{\"code\":42,\"message\":\"it failed\"},\"error\":\"old words\"}\n\n  ";

const std::vector<std::string> session_events{"0|v1|Pulling from t/debpy|0/0|0",
                                              "0|2d00bfb92981|Downloading|552960/107017620|0",
                                              "0|2d00bfb92981|Retrying in 5 seconds|0/0|0",
                                              "1||Step 2/7 : RUN x\n|0/0|0",
                                              "1||\x1b[91mw\xc3\xbc\x1b[0m|0/0|0",
                                              "3|sha256:12||0/0|0",
                                              "2||foo|0/0|0",
                                              "3|sha256:34||0/0|0",
                                              "5|||0/0|0",
                                              "4||it failed|0/0|42"};

TEST(ProgressStream, objects_are_read_whole_byte_by_byte_and_cut_at_every_byte) {
  EXPECT_EQ(read({session}), session_events);
  std::vector<std::string_view> bytes;
  for (std::size_t at = 0; at < session.size(); ++at) bytes.push_back(session.substr(at, 1));
  EXPECT_EQ(read(bytes), session_events);
  for (std::size_t cut = 0; cut <= session.size(); ++cut)
    EXPECT_EQ(read({session.substr(0, cut), session.substr(cut)}), session_events) << cut;
}

TEST(ProgressStream, an_error_is_an_event_in_each_of_its_forms) {
  EXPECT_EQ(read({R"({"errorDetail":{"message":"EOF"},"error":"EOF"})"}), std::vector<std::string>{"4||EOF|0/0|0"});
  EXPECT_EQ(read({R"({"error":"only this"})"}), std::vector<std::string>{"4||only this|0/0|0"});
  EXPECT_EQ(read({R"({"errorDetail":{}})"}), std::vector<std::string>{"4||an error without a message|0/0|0"});
  EXPECT_EQ(read({R"({"error":null,"status":"x"})"}).front().substr(0, 2), "4|");
}

TEST(ProgressStream, numbers_that_cannot_be_are_none) {
  EXPECT_EQ(read({R"({"status":"s","progressDetail":{"current":-1,"total":1e300}})"}),
            std::vector<std::string>{"0||s|0/0|0"});
  EXPECT_EQ(read({R"({"status":"s","progressDetail":{"current":"1","total":18446744073709551615}})"}),
            std::vector<std::string>{"0||s|0/0|0"});
  EXPECT_EQ(read({R"({"status":1,"id":2,"progressDetail":3})"}), std::vector<std::string>{"0|||0/0|0"});
  EXPECT_EQ(read({R"({"errorDetail":{"code":999,"message":"m"}})"}), std::vector<std::string>{"4||m|0/0|0"});
}

TEST(ProgressStream, a_stream_that_ends_inside_an_object_was_cut) {
  for (std::size_t cut = 1; cut < session.find('}'); ++cut) {
    progress_stream stream;
    stream.feed(session.substr(0, cut));
    EXPECT_EQ(code_of([&] { stream.finish(); }), exec_errc::provider_lost) << cut;
  }
  progress_stream empty;
  EXPECT_NO_THROW(empty.finish());
}

TEST(ProgressStream, what_is_no_json_object_ends_the_reading) {
  for (const std::string_view text :
       {"x", "[1]", "\"a\"", "1", "{]", "{\"a\":\"\xff\"}", "{}}", "<html>", "{\"a\" 1}"}) {
    progress_stream stream;
    EXPECT_EQ(code_of([&] { stream.feed(text); }), exec_errc::provider_failed) << text;
    EXPECT_EQ(code_of([&] { stream.feed("{}"); }), exec_errc::provider_failed) << text;
  }
}

TEST(ProgressStream, one_object_has_a_limit_and_many_have_none) {
  progress_stream exact(8);
  exact.feed(R"({"a":12})");
  EXPECT_TRUE(exact.next().has_value());
  progress_stream longer(8);
  EXPECT_EQ(code_of([&] { longer.feed(R"({"a":123})"); }), exec_errc::provider_failed);
  progress_stream slowly(8);
  EXPECT_EQ(code_of([&] {
              for (int i = 0; i < 1000; ++i) slowly.feed(i == 0 ? "{\"" : "x");
            }),
            exec_errc::provider_failed);
  progress_stream many(8);
  for (int i = 0; i < 1000; ++i) {
    many.feed("{\"a\":1}\n");
    EXPECT_TRUE(many.next().has_value());
  }
  progress_stream deep;
  EXPECT_EQ(code_of([&] {
              std::string text = "{\"a\":";
              text.append(1000, '[');
              deep.feed(text);
            }),
            exec_errc::provider_failed);
}

}  // namespace
