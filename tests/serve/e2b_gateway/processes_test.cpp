// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the gateway's API inside a sandbox: processes.

#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "serve/gateway_support.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::connect_end;
using cofferdam::detail::connect_message;
using namespace std::chrono_literals;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::gateway_stream;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;

std::string with_pid(std::uint32_t pid, const std::string& more = "") {
  return R"({"process":{"pid":)" + std::to_string(pid) + "}" + more + "}";
}

// ---- processes ----

TEST(E2bProcesses, an_end_is_told_as_by_the_real_one) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create(R"({"templateID":"base","envVars":{"A":"1","B":"2"}})");
    gateway_stream stream = co_await client.run(box, "echo out; echo err >&2; echo $A$B$E2B_SANDBOX$E2B_TEMPLATE_ID");
    EXPECT_EQ(stream.status(), 200);
    EXPECT_EQ(stream.head().fields.find("Content-Type"), "application/connect+json");
    EXPECT_EQ(stream.out, "out\n12truebase\n");
    EXPECT_EQ(stream.err, "err\n");
    EXPECT_EQ(boost::json::serialize(*stream.end), R"({"exited":true,"status":"exit status 0"})");
    EXPECT_EQ(stream.ending(), "{}");
    stream = co_await client.run(box, "exit 3");
    EXPECT_EQ(boost::json::serialize(*stream.end),
              R"({"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"})");
    stream = co_await client.run(box, "kill -SEGV $$");
    EXPECT_EQ(boost::json::serialize(*stream.end),
              R"({"exitCode":-1,"status":"signal: segmentation fault","error":"signal: segmentation fault"})");
    stream = co_await client.stream(box, "process.Process/Start", R"({"process":{"cmd":"/no/such/program"}})");
    co_await stream.finish();
    EXPECT_NE(stream.pid, 0U) << "a program that is missing is no error of the call";
    EXPECT_EQ(stream.end->at("exitCode").as_int64(), 127);
    EXPECT_FALSE(stream.err.empty());
  });
}

TEST(E2bProcesses, what_is_wrong_with_a_start_is_in_the_end_envelope) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    struct row {
      std::string message;
      std::string ending;
    };
    const std::vector<row> rows{
        {R"({"process":{"cmd":"ls","cwd":"/home/user/none"}})",
         R"({"error":{"code":"invalid_argument","message":"cwd '/home/user/none' does not exist"}})"},
        {R"({"process":{"cmd":""}})", R"({"error":{"code":"invalid_argument","message":"process.cmd is empty"}})"},
        {R"({})", R"({"error":{"code":"invalid_argument","message":"process is missing"}})"},
        {R"({"process":{"cmd":1}})",
         R"({"error":{"code":"invalid_argument","message":"unmarshal message: invalid value for the field cmd"}})"},
        {R"({"process":{"cmd":"ls","args":[1]}})",
         R"({"error":{"code":"invalid_argument","message":"unmarshal message: an argument is not a string"}})"},
        {R"({"process":{"cmd":"ls","envs":{"a=b":"c"}}})", R"({"error":{"code":"invalid_argument",)"},
        {R"({"process":{"cmd":"ls"},"pty":{}})",
         R"({"error":{"code":"invalid_argument","message":"a terminal must have 1 to 65535 rows and columns"}})"},
        {"{", R"({"error":{"code":"invalid_argument","message":"unmarshal message: )"},
        {"", R"({"error":{"code":"invalid_argument","message":"zero-length payload is not a valid JSON object"}})"},
        {"{\"process\":{\"cmd\":\"\xff\"}}", R"({"error":{"code":"invalid_argument","message":"unmarshal message: )"},
    };
    for (const row& each : rows) {
      gateway_stream stream = co_await client.stream(box, "process.Process/Start", each.message);
      const std::optional<std::string> first = co_await stream.next();
      EXPECT_FALSE(first) << each.message;
      EXPECT_EQ(stream.status(), 200);
      EXPECT_TRUE(stream.head().fields.find("Content-Length")) << "an early failure is one piece";
      EXPECT_TRUE(stream.ending().starts_with(each.ending)) << each.message << " " << stream.ending();
    }
    const gateway_client::fields stranger{{"Authorization", "Basic bm9ib2R5eDo="}};
    gateway_stream stream =
        co_await client.stream(box, "process.Process/Start", R"({"process":{"cmd":"ls"}})", stranger);
    co_await stream.finish();
    EXPECT_EQ(stream.ending(), R"({"error":{"code":"unauthenticated","message":"invalid username: 'nobodyx'"}})");
    const gateway_client::fields never{{"Connect-Timeout-Ms", "0"}};
    stream = co_await client.stream(box, "process.Process/Start", R"({"process":{"cmd":"ls"}})", never);
    co_await stream.finish();
    EXPECT_EQ(stream.ending(), R"({"error":{"code":"deadline_exceeded","message":"context deadline exceeded"}})");
    const gateway_client::fields odd{{"Connect-Timeout-Ms", "12345678901"}};
    stream = co_await client.stream(box, "process.Process/Start", R"({"process":{"cmd":"ls"}})", odd);
    co_await stream.finish();
    EXPECT_EQ(stream.ending(), R"({"error":{"code":"invalid_argument","message":"parse timeout: \"12345678901\""}})");
  });
}

TEST(E2bProcesses, unary_calls_say_what_is_wrong_by_status) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream silent = co_await client.start(box, "sleep 1000", R"(,"stdin":false)");
    gateway_stream typing = co_await client.start(box, "sleep 1000", R"(,"pty":{"size":{"rows":24,"cols":80}})");
    struct row {
      std::string method;
      std::string message;
      std::string answer;
    };
    const std::string gone = R"(404 {"code":"not_found","message":"process with pid 999999 not found"})";
    const std::string pipe = with_pid(silent.pid, R"(,"input":{"stdin":"aGk="})");
    const std::vector<row> rows{
        {"SendSignal", R"({"process":{"pid":999999},"signal":"SIGNAL_SIGKILL"})", gone},
        {"SendInput", R"({"process":{"pid":999999},"input":{"stdin":"aGk="}})", gone},
        {"CloseStdin", R"({"process":{"pid":999999}})", gone},
        {"Update", R"({"process":{"pid":999999}})", gone},
        {"SendSignal", R"({"process":{"tag":"none"},"signal":"SIGNAL_SIGKILL"})",
         R"(404 {"code":"not_found","message":"process with tag none not found"})"},
        {"SendSignal", with_pid(silent.pid, R"(,"signal":"SIGNAL_SIGHUP")"),
         R"(501 {"code":"unimplemented","message":"invalid signal: SIGNAL_UNSPECIFIED"})"},
        {"SendSignal", R"({"signal":"SIGNAL_SIGKILL"})",
         R"(501 {"code":"unimplemented","message":"invalid process selector"})"},
        {"SendInput", pipe,
         R"(500 {"code":"internal","message":"error writing to stdin: stdin not enabled or closed"})"},
        {"SendInput", with_pid(silent.pid), R"(501 {"code":"unimplemented","message":"invalid input type <nil>"})"},
        {"SendInput", with_pid(silent.pid, R"(,"input":{"stdin":"a"})"),
         R"(400 {"code":"invalid_argument","message":"unmarshal message: invalid value for the field stdin"})"},
        {"SendInput", with_pid(silent.pid, R"(,"input":{"pty":"aGk="})"),
         R"(500 {"code":"internal","message":"error writing to tty: tty not assigned to process"})"},
        {"Update", with_pid(silent.pid, R"(,"pty":{"size":{"rows":1,"cols":1}})"),
         R"(500 {"code":"internal","message":"error resizing tty: tty not assigned to process"})"},
        {"Update", with_pid(silent.pid), "200 {}"},
        {"CloseStdin", with_pid(typing.pid),
         R"(500 {"code":"unknown","message":"cannot close stdin for a tty process"})"},
        {"Update", with_pid(typing.pid, R"(,"pty":{"size":{"rows":30,"cols":100}})"), "200 {}"},
        {"List", "[]", R"(400 {"code":"invalid_argument","message":"unmarshal message: it is not an object"})"},
        {"SendSignal", with_pid(silent.pid, R"(,"signal":"SIGNAL_SIGTERM")"), "200 {}"},
        {"SendSignal", with_pid(typing.pid, R"(,"signal":9)"), "200 {}"},
    };
    for (const row& each : rows) {
      const http_response answer = co_await client.call(box, "process.Process/" + each.method, each.message);
      EXPECT_EQ(said(answer), each.answer) << each.method << " " << each.message;
    }
    co_await silent.finish();
    EXPECT_EQ(silent.end->at("status").as_string(), "signal: terminated");
    co_await typing.finish();
    EXPECT_EQ(typing.end->at("status").as_string(), "signal: killed");
    http_response answer = co_await client.call(box, "process.Process/List", "{}");
    EXPECT_EQ(said(answer), "200 {}");
    answer = co_await client.call(box, "process.Process/Nothing", "{}");
    EXPECT_EQ(said(answer), "404 404 page not found\n");
    answer = co_await client.get(box, "/process.Process/List");
    EXPECT_EQ(answer.status(), 405);
    EXPECT_EQ(answer.field("Allow"), "POST");
    answer = co_await client.put(box, "/process.Process/List", "{}", "text/plain");
    EXPECT_EQ(said(answer), "415 ");
    answer = co_await client.put(box, "/process.Process/List", "{}", "application/json; charset=utf-8");
    EXPECT_EQ(said(answer), "200 {}");
    http_request old = gateway_client::to_sandbox("POST", "/process.Process/List", box);
    old.field("Connect-Protocol-Version", "2").content("application/json", "{}");
    answer = co_await client.http.request(std::move(old));
    EXPECT_EQ(said(answer),
              R"(400 {"code":"invalid_argument","message":"connect-protocol-version must be \"1\": got \"2\""})");
  });
}

TEST(E2bProcesses, input_reaches_them_and_ends) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream stream = co_await client.start(box, "cat; echo over", R"(,"tag":"mine","stdin":true)");
    // The input in base64 for URLs and without padding: "hé>
    // ?"
    http_response answer = co_await client.call(box, "process.Process/SendInput",
                                                R"({"process":{"tag":"mine"},"input":{"stdin":"aMOpPgo_"}})");
    EXPECT_EQ(said(answer), "200 {}");
    co_await stream.hear("?");
    answer = co_await client.call(box, "process.Process/List", "{}");
    EXPECT_EQ(said(answer),
              "200 {\"processes\":[{\"config\":{\"cmd\":\"/bin/sh\",\"args\":[\"-c\",\"cat; echo over\"]},"
              "\"pid\":" +
                  std::to_string(stream.pid) + ",\"tag\":\"mine\"}]}");
    answer = co_await client.call(box, "process.Process/CloseStdin", with_pid(stream.pid));
    EXPECT_EQ(said(answer), "200 {}");
    co_await stream.finish();
    EXPECT_EQ(stream.out, "h\xC3\xA9>\n?over\n");
    answer = co_await client.call(box, "process.Process/CloseStdin", with_pid(stream.pid));
    EXPECT_EQ(answer.status(), 404);
  });
}

TEST(E2bProcesses, several_listen_to_one_and_late_ones_hear_the_end) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gateway_stream first = co_await client.start(box, "read x; echo $x; exit 7", R"(,"stdin":true)");
        gateway_stream second = co_await client.stream(box, "process.Process/Connect", with_pid(first.pid));
        std::optional<std::string> begun = co_await second.next();
        EXPECT_EQ(begun, R"({"event":{"start":{"pid":)" + std::to_string(first.pid) + "}}}");
        gateway_stream third = co_await client.stream(box, "process.Process/Connect", with_pid(first.pid));
        begun = co_await third.next();
        EXPECT_FALSE(begun);
        EXPECT_TRUE(third.ending().starts_with(R"({"error":{"code":"resource_exhausted")")) << third.ending();
        co_await client.call(box, "process.Process/SendInput", with_pid(first.pid, R"(,"input":{"stdin":"aGkK"})"));
        co_await first.finish();
        co_await second.finish();
        EXPECT_EQ(first.out, "hi\n");
        EXPECT_EQ(second.out, "hi\n");
        EXPECT_EQ(second.end->at("exitCode").as_int64(), 7);
        gateway_stream late = co_await client.stream(box, "process.Process/Connect", with_pid(first.pid));
        co_await late.finish();
        EXPECT_EQ(late.pid, first.pid);
        EXPECT_EQ(late.out, "") << "nothing is said again";
        EXPECT_EQ(late.end->at("exitCode").as_int64(), 7);
        gateway_stream none = co_await client.stream(box, "process.Process/Connect", R"({"process":{"pid":4}})");
        co_await none.finish();
        EXPECT_EQ(none.ending(), R"({"error":{"code":"not_found","message":"process with pid 4 not found"}})");
      },
      e2b_gateway::options().subscribers(2));
}

TEST(E2bProcesses, a_process_goes_on_without_its_listener_and_stops_at_its_time_limit) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    std::uint32_t pid = 0;
    std::uint32_t limited = 0;
    {
      gateway_stream stream = co_await client.start(box, "read x; echo $x > said.txt", R"(,"stdin":true)");
      pid = stream.pid;
      const gateway_client::fields soon{{"Connect-Timeout-Ms", "300"}};
      gateway_stream other = co_await client.start(box, "sleep 1000", "", soon);
      limited = other.pid;
    }
    const http_response answer =
        co_await client.call(box, "process.Process/SendInput", with_pid(pid, R"(,"input":{"stdin":"aGkK"})"));
    EXPECT_EQ(said(answer), "200 {}");
    gateway_stream again = co_await client.stream(box, "process.Process/Connect", with_pid(limited));
    co_await again.finish();
    EXPECT_EQ(again.end->at("status").as_string(), "signal: killed") << "though its client had long gone";
    gateway_stream ended = co_await client.stream(box, "process.Process/Connect", with_pid(pid));
    co_await ended.finish();
    const http_response file = co_await client.get(box, "/files?path=said.txt");
    EXPECT_EQ(said(file), "200 hi\n");
  });
}

TEST(E2bProcesses, a_time_limit_ends_the_process_of_a_start_and_only_the_stream_of_a_connect) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    const gateway_client::fields soon{{"Connect-Timeout-Ms", "300"}};
    gateway_stream stream = co_await client.start(box, "sleep 1000", "", soon);
    co_await stream.finish();
    EXPECT_EQ(stream.ending(), R"({"error":{"code":"deadline_exceeded","message":"context deadline exceeded"}})");
    EXPECT_FALSE(stream.end);
    gateway_stream lasting = co_await client.start(box, "sleep 1000");
    gateway_stream brief = co_await client.stream(box, "process.Process/Connect", with_pid(lasting.pid), soon);
    co_await brief.finish();
    EXPECT_EQ(brief.ending(), R"({"error":{"code":"deadline_exceeded","message":"context deadline exceeded"}})");
    const http_response answer = co_await client.call(box, "process.Process/List", "{}");
    EXPECT_NE(answer.text().find(std::to_string(lasting.pid)), std::string_view::npos);
  });
}

TEST(E2bProcesses, silence_is_filled_with_keepalives) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    const gateway_client::fields often{{"Keepalive-Ping-Interval", "1"}};
    gateway_stream stream = co_await client.start(box, "sleep 2.5", "", often);
    co_await stream.finish();
    EXPECT_GE(stream.keepalives, 1);
    EXPECT_TRUE(stream.end);
    const gateway_client::fields never{{"Keepalive-Ping-Interval", "0"}};
    stream = co_await client.start(box, "true", "", never);
    co_await stream.finish();
    EXPECT_TRUE(stream.end);
  });
}

TEST(E2bProcesses, a_listener_that_does_not_read_stops_the_process) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    // The process writes its progress into a file, so that the test can observe the progress without reading the
    // output. It replaces the file by a rename, so that the file never shrinks while it is sent.
    gateway_stream lazy = co_await client.start(
        box, "i=0; while [ $i -lt 600 ]; do head -c 65536 /dev/zero; i=$((i+1)); echo $i > new; mv new at.txt; done");
    std::string at;
    std::string before = "x";
    for (int same = 0; same < 20;) {
      co_await cofferdam_test::pause(50ms);
      const http_response file = co_await client.get(box, "/files?path=at.txt");
      at = std::string(file.text());
      if (at == before && !at.empty()) ++same;
      if (at != before) same = 0;
      before = at;
    }
    EXPECT_LT(std::stoi(at), 500) << "it ran on while nobody took what it wrote";
    co_await lazy.finish();
    EXPECT_EQ(lazy.out.size(), std::size_t{600} * 65536);
    EXPECT_TRUE(lazy.end);
  });
}

TEST(E2bProcesses, a_terminal_is_one) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream stream = co_await client.start(box, "tty -s && stty size; read x; stty size",
                                                  R"(,"pty":{"size":{"rows":24,"cols":80}})");
    co_await stream.hear("24 80");
    co_await client.call(box, "process.Process/Update",
                         with_pid(stream.pid, R"(,"pty":{"size":{"rows":30,"cols":100}})"));
    co_await client.call(box, "process.Process/SendInput", with_pid(stream.pid, R"(,"input":{"pty":"Cg=="})"));
    co_await stream.finish();
    EXPECT_NE(stream.out.find("30 100"), std::string::npos) << stream.out;
  });
}

TEST(E2bProcesses, input_may_come_as_a_stream) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream cat = co_await client.start(box, "head -n 2", R"(,"stdin":true)");
    http_request request = gateway_client::to_sandbox("POST", "/process.Process/StreamInput", box);
    request.content("application/connect+json", connect_message(R"({"start":)" + with_pid(cat.pid) + "}") +
                                                    connect_message(R"({"keepalive":{}})") +
                                                    connect_message(R"({"data":{"input":{"stdin":"b25lCg=="}}})") +
                                                    connect_message(R"({"data":{"input":{"stdin":"dHdvCg=="}}})"));
    const http_response answer = co_await client.http.request(std::move(request));
    EXPECT_EQ(answer.text(), connect_message("{}") + connect_end());
    co_await cat.finish();
    EXPECT_EQ(cat.out, "one\ntwo\n");
    http_request early = gateway_client::to_sandbox("POST", "/process.Process/StreamInput", box);
    early.content("application/connect+json", connect_message(R"({"data":{"input":{"stdin":"b25lCg=="}}})"));
    const http_response refused = co_await client.http.request(std::move(early));
    EXPECT_NE(refused.text().find("the first message must be start"), std::string_view::npos);
  });
}

TEST(E2bProcesses, there_are_no_more_than_allowed) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gateway_stream first = co_await client.start(box, "sleep 1000");
        gateway_stream second = co_await client.start(box, "sleep 1000");
        EXPECT_TRUE(second.ending().starts_with(R"({"error":{"code":"resource_exhausted")")) << second.ending();
        co_await client.call(box, "process.Process/SendSignal", with_pid(first.pid, R"(,"signal":"SIGNAL_SIGKILL")"));
        co_await first.finish();
        gateway_stream third = co_await client.run(box, "echo again");
        EXPECT_EQ(third.out, "again\n");
      },
      e2b_gateway::options().processes(1));
}

TEST(E2bProcesses, a_layer_of_the_stack_stands) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gateway_stream stream = co_await client.stream(box, "process.Process/Start", R"({"process":{"cmd":"id"}})");
        co_await stream.finish();
        EXPECT_EQ(stream.out, "");
        EXPECT_NE(stream.err, "") << "the refusal is what the command says";
        EXPECT_EQ(stream.end->at("exitCode").as_int64(), 126);
        stream = co_await client.stream(box, "process.Process/Start", R"({"process":{"cmd":"echo","args":["yes"]}})");
        co_await stream.finish();
        EXPECT_EQ(stream.out, "yes\n");
      },
      e2b_gateway::options(), any_provider(local().without_warning() | allow_commands("echo .*")));
}

TEST(E2bProcesses, a_process_is_killed_once) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    for (const std::string more : {"", R"(,"pty":{"size":{"rows":24,"cols":80}})"}) {
      gateway_stream stream = co_await client.start(box, "sleep 100", more);
      const std::string kill = R"({"process":{"pid":)" + std::to_string(stream.pid) + R"(},"signal":"SIGNAL_SIGKILL"})";
      http_response answer = co_await client.call(box, "process.Process/SendSignal", kill);
      EXPECT_EQ(said(answer), "200 {}");
      answer = co_await client.call(box, "process.Process/SendSignal", kill);
      EXPECT_EQ(answer.status(), 404) << answer.text();
    }
  });
}

}  // namespace
