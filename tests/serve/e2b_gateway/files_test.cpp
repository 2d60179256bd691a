// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the gateway's API inside a sandbox: files and directories, and services on further ports.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/detail/secrets.hpp>

#include "serve/gateway_support.hpp"
#include "support/files_by_members.hpp"
#include "support/jail_tests.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/spawn.hpp"

#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::comes_about;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::gateway_stream;
using cofferdam_test::json_of;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;
using cofferdam_test::text_at;

// ---- files ----

TEST(E2bFiles, come_back_as_they_went) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    std::string content(3'000'000, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7919 >> 3);
    http_response answer = co_await client.put(box, "/files?path=%2Fhome%2Fuser%2Fa%20b%2Fc+d.bin", content);
    EXPECT_EQ(said(answer), R"(200 [{"name":"c d.bin","path":"/home/user/a b/c d.bin","type":"file"}])");
    EXPECT_EQ(answer.field("Content-Type"), "text/plain; charset=utf-8");
    answer = co_await client.get(box, "/files?path=a%20b%2Fc%20d.bin");
    EXPECT_EQ(answer.status(), 200);
    EXPECT_TRUE(answer.text() == content);
    EXPECT_EQ(answer.field("Content-Length"), "3000000");
    EXPECT_EQ(answer.field("Content-Disposition"), "attachment; filename=\"c d.bin\"");
    EXPECT_EQ(answer.field("Content-Type"), "application/octet-stream");
    answer = co_await client.put(box, "/files?path=empty", "");
    EXPECT_EQ(answer.status(), 200);
    answer = co_await client.get(box, "/files?path=empty&username=root");
    EXPECT_EQ(said(answer), "200 ");
    const std::string form =
        "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"/home/user/f/1\"\r\n\r\none\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nskipped\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f/2\"\r\n\r\n\r\n--B--\r\n";
    answer = co_await client.put(box, "/files", form, "multipart/form-data; boundary=B");
    EXPECT_EQ(said(answer), R"(200 [{"name":"1","path":"/home/user/f/1","type":"file"},)"
                            R"({"name":"2","path":"/home/user/f/2","type":"file"}])");
    answer = co_await client.get(box, "/files?path=f/1");
    EXPECT_EQ(said(answer), "200 one");
    answer = co_await client.put(box, "/files", "--B--\r\n", "multipart/form-data; boundary=B");
    EXPECT_EQ(said(answer), "200 []");
  });
}

TEST(E2bFiles, what_is_wrong_is_said_as_by_the_real_one) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    co_await client.put(box, "/files?path=d/file", "x");
    const auto failure = [](int code, const std::string& message) {
      return std::to_string(code) + " {\"code\":" + std::to_string(code) + ",\"message\":\"" + message + "\"}";
    };
    http_response answer = co_await client.get(box, "/files?path=%2Fhome%2Fuser%2Fnone");
    EXPECT_EQ(said(answer), failure(404, "path '/home/user/none' does not exist"));
    answer = co_await client.get(box, "/files?path=d/file/below");
    EXPECT_GE(answer.status(), 400);
    answer = co_await client.get(box, "/files");
    EXPECT_EQ(said(answer), failure(400, "path '/home/user' is a directory"));
    answer = co_await client.get(box, "/files?path=d");
    EXPECT_EQ(said(answer), failure(400, "path '/home/user/d' is a directory"));
    answer = co_await client.get(box, "/files?path=x&username=nobodyx");
    EXPECT_EQ(said(answer), failure(401, "error looking up user 'nobodyx': user: unknown user nobodyx"));
    answer = co_await client.put(box, "/files?path=d", "x");
    EXPECT_EQ(answer.status(), 400) << answer.text();
    answer = co_await client.put(box, "/files?path=d/file/below", "x");
    EXPECT_GE(answer.status(), 400);
    answer = co_await client.put(box, "/files", "x");
    EXPECT_EQ(said(answer), failure(400, "path query parameter is required for raw body upload"));
    answer = co_await client.put(box, "/files?path=x", "x", "text/plain");
    EXPECT_EQ(said(answer), failure(400,
                                    "unsupported content type: text/plain, expected multipart/form-data or "
                                    "application/octet-stream"));
    answer = co_await client.put(box, "/files?path=x", "x", "multipart/form-data");
    EXPECT_EQ(answer.status(), 400);
    const std::string twice =
        "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n1\r\n"
        "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"./a\"\r\n\r\n2\r\n--B--\r\n";
    answer = co_await client.put(box, "/files", twice, "multipart/form-data; boundary=B");
    EXPECT_EQ(said(answer), failure(400,
                                    "you cannot upload multiple files to the same path '/home/user/a' in one upload "
                                    "request"));
    answer =
        co_await client.put(box, "/files?path=cut", "--B\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhalf",
                            "multipart/form-data; boundary=B");
    EXPECT_EQ(said(answer), failure(400, "multipart: NextPart: EOF"));
    answer = co_await client.get(box, "/files?path=cut");
    EXPECT_EQ(answer.status(), 404) << "half a file is none";
    http_request zipped = gateway_client::to_sandbox("POST", "/files?path=z", box);
    zipped.field("Content-Encoding", "gzip").content("application/octet-stream", "x");
    answer = co_await client.http.request(std::move(zipped));
    EXPECT_EQ(answer.status(), 400);
    http_request head = gateway_client::to_sandbox("HEAD", "/files?path=d/file", box);
    answer = co_await client.http.request(std::move(head));
    EXPECT_EQ(answer.status(), 405);
    EXPECT_EQ(answer.field("Allow"), "GET, POST");
    answer = co_await client.get(box, "/nothing");
    EXPECT_EQ(said(answer), "404 404 page not found\n");
    answer = co_await client.put(box, "/init", "{}", "application/json");
    EXPECT_EQ(said(answer),
              "404 {\"message\":\"This endpoint is reserved for the E2B control plane and is not reachable "
              "through the sandbox URL\",\"path\":\"/init\",\"code\":404}");
    answer = co_await client.get(box, "/envs");
    EXPECT_EQ(said(answer),
              "200 {\"E2B_SANDBOX\":\"true\",\"E2B_SANDBOX_ID\":\"" + box.id + "\",\"E2B_TEMPLATE_ID\":\"base\"}");
  });
}

TEST(E2bFiles, uploads_have_a_limit) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_response answer = co_await client.put(box, "/files?path=a", std::string(1000, 'x'));
        EXPECT_EQ(answer.status(), 200);
        answer = co_await client.put(box, "/files?path=b", std::string(1001, 'x'));
        EXPECT_EQ(answer.status(), 413);
        answer = co_await client.get(box, "/files?path=b");
        EXPECT_EQ(answer.status(), 404);
      },
      e2b_gateway::options().upload(1000));
}

TEST(E2bFiles, signatures_let_in_without_a_token) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    co_await client.put(box, "/files?path=a.txt", "content");
    gateway_sandbox_name bare = box;
    bare.token.clear();
    const auto url = [&](const std::string& path, const std::string& operation, const std::string& until) {
      std::string signature = e2b_gateway::detail::url_signature(path, operation, "", box.token, until);
      for (const auto& [from, to] : {std::pair<char, const char*>{'+', "%2B"}, {'/', "%2F"}})
        for (auto at = signature.find(from); at != std::string::npos; at = signature.find(from))
          signature.replace(at, 1, to);
      return "/files?path=" + path + "&signature=" + signature +
             (until.empty() ? "" : "&signature_expiration=" + until);
    };
    const auto text = [](const http_response& answer) { return text_at(json_of(answer.text()), "message"); };
    http_response answer = co_await client.get(bare, url("a.txt", "read", ""));
    EXPECT_EQ(said(answer), "200 content");
    answer = co_await client.get(bare, url("a.txt", "read", "4000000000"));
    EXPECT_EQ(said(answer), "200 content");
    // The request has no header that names the sandbox. The signature is enough to find it.
    http_request plain("GET", url("a.txt", "read", ""));
    answer = co_await client.http.request(std::move(plain));
    EXPECT_EQ(said(answer), "200 content");
    answer = co_await client.get(bare, url("a.txt", "read", "1000000000"));
    EXPECT_EQ(answer.status(), 401);
    EXPECT_EQ(text(answer), "signature is already expired");
    answer = co_await client.get(bare, url("a.txt", "write", ""));
    EXPECT_EQ(text(answer), "invalid signature");
    answer = co_await client.get(bare, "/files?path=a.txt");
    EXPECT_EQ(text(answer), "missing signature query parameter");
    gateway_sandbox_name wrong = box;
    wrong.token = std::string(64, '0');
    answer = co_await client.get(wrong, url("a.txt", "read", ""));
    EXPECT_EQ(text(answer), "access token present in header but does not match");
    answer = co_await client.put(bare, url("b.txt", "write", ""), "new");
    EXPECT_EQ(answer.status(), 200);
    answer = co_await client.call(bare, "process.Process/List", "{}");
    EXPECT_EQ(said(answer), R"(401 {"code":401,"message":"unauthorized access, please provide a valid access token or )"
                            R"(method signing if supported"})");
  });
}

// ---- directories ----

TEST(E2bFilesystem, directories_are_listed_made_moved_and_removed) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    const auto call = [&](const std::string& method, const std::string& message) {
      return client.call(box, "filesystem.Filesystem/" + method, message);
    };
    http_response answer = co_await call("MakeDir", R"({"path":"/home/user/d/e"})");
    EXPECT_EQ(answer.status(), 200) << answer.text();
    EXPECT_EQ(text_at(json_of(answer.text()).at("entry"), "path"), "/home/user/d/e");
    answer = co_await call("MakeDir", R"({"path":"d/e"})");
    EXPECT_EQ(said(answer), R"(409 {"code":"already_exists","message":"directory already exists: /home/user/d/e"})");
    co_await client.put(box, "/files?path=d/f.txt", "12345");
    answer = co_await call("MakeDir", R"({"path":"d/f.txt"})");
    EXPECT_EQ(answer.status(), 400);
    answer = co_await call("Stat", R"({"path":"d/f.txt"})");
    EXPECT_TRUE(
        said(answer).starts_with(R"(200 {"entry":{"name":"f.txt","type":"FILE_TYPE_FILE","path":"/home/user/d/f.txt",)"
                                 R"("size":"5","mode":420,"permissions":"-rw-r--r--","owner":)"))
        << answer.text();
    answer = co_await call("Stat", R"({"path":"none"})");
    EXPECT_EQ(said(answer),
              R"(404 {"code":"not_found","message":"file not found: lstat /home/user/none: no such file or )"
              R"(directory"})");
    answer = co_await call("Stat", R"({"path":"/etc/passwd"})");
    EXPECT_EQ(answer.status(), 403);
    EXPECT_EQ(text_at(json_of(answer.text()), "code"), "permission_denied");
    answer = co_await call("ListDir", R"({"path":"d"})");
    EXPECT_EQ(json_of(answer.text()).at("entries").as_array().size(), 2U);
    answer = co_await call("ListDir", R"({"path":"/home/user","depth":2})");
    EXPECT_EQ(json_of(answer.text()).at("entries").as_array().size(), 3U);
    answer = co_await call("ListDir", R"({"path":"d/e"})");
    EXPECT_EQ(said(answer), "200 {}");
    answer = co_await call("ListDir", R"({"path":"none"})");
    EXPECT_EQ(answer.status(), 404);
    answer = co_await call("ListDir", R"({"path":"d/f.txt"})");
    EXPECT_EQ(said(answer),
              R"(400 {"code":"invalid_argument","message":"path is not a directory: /home/user/d/f.txt"})");
    answer = co_await call("Move", R"({"source":"d/f.txt","destination":"/home/user/new/g.txt"})");
    EXPECT_EQ(text_at(json_of(answer.text()).at("entry"), "path"), "/home/user/new/g.txt");
    answer = co_await call("Move", R"({"source":"none","destination":"x"})");
    EXPECT_EQ(answer.status(), 404);
    answer = co_await call("Move", R"({"source":"/home/user","destination":"x"})");
    EXPECT_EQ(answer.status(), 400);
    answer = co_await call("Remove", R"({"path":"d"})");
    EXPECT_EQ(said(answer), "200 {}");
    answer = co_await call("Remove", R"({"path":"d"})");
    EXPECT_EQ(said(answer), "200 {}");
    answer = co_await call("Remove", R"({"path":"/home/user"})");
    EXPECT_EQ(answer.status(), 400);
    answer = co_await call("ListDir", R"({"path":""})");
    EXPECT_EQ(json_of(answer.text()).at("entries").as_array().size(), 1U);
  });
}

TEST(E2bFilesystem, a_directory_is_watched_by_stream_and_by_asking) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        co_await client.call(box, "filesystem.Filesystem/MakeDir", R"({"path":"w"})");
        gateway_stream stream = co_await client.stream(box, "filesystem.Filesystem/WatchDir",
                                                       R"({"path":"w","recursive":true,"includeEntry":true})");
        std::optional<std::string> message = co_await stream.next();
        EXPECT_EQ(message, R"({"start":{}})");
        http_response created = co_await client.call(box, "filesystem.Filesystem/CreateWatcher", R"({"path":"w"})");
        const std::string id = text_at(json_of(created.text()), "watcherId");
        EXPECT_EQ(id.size(), 21U);
        created = co_await client.call(box, "filesystem.Filesystem/CreateWatcher", R"({"path":"w"})");
        EXPECT_EQ(created.status(), 429) << "there is a limit for both together";
        co_await client.put(box, "/files?path=w/new.txt", "x");
        message = co_await stream.next();
        EXPECT_TRUE(message && message->starts_with(
                                   R"({"filesystem":{"name":"new.txt","type":"EVENT_TYPE_CREATE","entry":{"name":)"))
            << *message;
        http_response events =
            co_await client.call(box, "filesystem.Filesystem/GetWatcherEvents", R"({"watcherId":")" + id + "\"}");
        EXPECT_EQ(said(events), R"(200 {"events":[{"name":"new.txt","type":"EVENT_TYPE_CREATE"},)"
                                R"({"name":"new.txt","type":"EVENT_TYPE_WRITE"}]})");
        events = co_await client.call(box, "filesystem.Filesystem/GetWatcherEvents", R"({"watcherId":")" + id + "\"}");
        EXPECT_EQ(said(events), "200 {}");
        co_await client.put(box, "/files?path=w/s/deep.txt", "x");
        events = co_await client.call(box, "filesystem.Filesystem/GetWatcherEvents", R"({"watcherId":")" + id + "\"}");
        EXPECT_EQ(said(events), R"(200 {"events":[{"name":"s","type":"EVENT_TYPE_CREATE"}]})") << "it is not recursive";
        events = co_await client.call(box, "filesystem.Filesystem/RemoveWatcher", R"({"watcherId":")" + id + "\"}");
        EXPECT_EQ(said(events), "200 {}");
        events = co_await client.call(box, "filesystem.Filesystem/RemoveWatcher", R"({"watcherId":")" + id + "\"}");
        EXPECT_EQ(said(events), R"(404 {"code":"not_found","message":"watcher with id )" + id + R"( not found"})");
        gateway_stream none = co_await client.stream(box, "filesystem.Filesystem/WatchDir", R"({"path":"none"})");
        co_await none.finish();
        EXPECT_TRUE(
            none.ending().starts_with(R"({"error":{"code":"not_found","message":"path /home/user/none not found)"))
            << none.ending();
      },
      e2b_gateway::options().watchers(2).watch_interval(10ms));
}

/// A local environment whose listings, and so its watches, fail once if the test sets `fails`.
class failing_listings {
 public:
  failing_listings(local_environment inside, std::shared_ptr<bool> fails)
      : inside_(std::move(inside)), fails_(std::move(fails)) {}
  awaitable<command_result> run_command(command c) { return inside_.run_command(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inside_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inside_.write_file(std::move(path), content);
  }
  file_system files() { return cofferdam_test::files_by_members(*this); }
  awaitable<std::vector<directory_entry>> list(std::string path, list_options options) {
    if (std::exchange(*fails_, false)) throw error(exec_errc::too_large, "changes were lost");
    return inside_.files().list(std::move(path), options);
  }
  awaitable<void> close() { return inside_.close(); }

 private:
  local_environment inside_;
  std::shared_ptr<bool> fails_;
};
class failing_listings_provider {
 public:
  explicit failing_listings_provider(std::shared_ptr<bool> fails) : fails_(std::move(fails)) {}
  awaitable<failing_listings> open() const { return open_with(fails_); }

 private:
  static awaitable<failing_listings> open_with(std::shared_ptr<bool> fails) {
    local_environment inside = co_await local().without_warning().open();
    co_return failing_listings(std::move(inside), std::move(fails));
  }
  std::shared_ptr<bool> fails_;
};

TEST(E2bFilesystem, a_stream_whose_events_are_lost_ends_with_the_error_and_a_watcher_continues) {
  const auto fails = std::make_shared<bool>(false);
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gateway_stream stream = co_await client.stream(box, "filesystem.Filesystem/WatchDir", R"({"path":""})");
        const std::optional<std::string> begun = co_await stream.next();
        EXPECT_EQ(begun, R"({"start":{}})");
        *fails = true;
        const std::optional<std::string> event = co_await stream.next();
        EXPECT_FALSE(event) << *event;
        const std::string sentence = R"({"code":"internal","message":"watcher error: changes were lost"})";
        EXPECT_EQ(stream.ending(), "{\"error\":" + sentence + "}");
        http_response answer = co_await client.call(box, "filesystem.Filesystem/CreateWatcher", R"({"path":""})");
        const std::string message = "{\"watcherId\":\"" + text_at(json_of(answer.text()), "watcherId") + "\"}";
        *fails = true;
        answer = co_await client.call(box, "filesystem.Filesystem/GetWatcherEvents", message);
        EXPECT_EQ(said(answer), "500 " + sentence);
        answer = co_await client.call(box, "filesystem.Filesystem/GetWatcherEvents", message);
        EXPECT_EQ(said(answer), "200 {}");
      },
      e2b_gateway::options().watch_interval(10ms), any_provider(failing_listings_provider(fails)));
}

TEST(E2bFilesystem, every_event_of_a_command_reaches_a_watcher) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    co_await client.call(box, "filesystem.Filesystem/MakeDir", R"({"path":"w"})");
    http_response created = co_await client.call(box, "filesystem.Filesystem/CreateWatcher", R"({"path":"w"})");
    const std::string id = text_at(json_of(created.text()), "watcherId");
    gateway_stream done =
        co_await client.run(box, "cd w; for i in $(seq 300); do : > f$i; mv f$i g$i; chmod 600 g$i; rm g$i; done");
    co_await done.finish();
    http_response events =
        co_await client.call(box, "filesystem.Filesystem/GetWatcherEvents", R"({"watcherId":")" + id + "\"}");
    std::string expected;
    for (int i = 1; i <= 300; ++i) {
      const std::string number = std::to_string(i);
      for (const char* const event : {"CREATE f", "RENAME f", "CREATE g", "CHMOD g", "REMOVE g"})
        expected += event + number + " ";
    }
    std::string seen;
    const boost::json::value answer = json_of(events.text());
    for (const boost::json::value& event : answer.at("events").as_array())
      seen += text_at(event, "type").substr(11) + " " + text_at(event, "name") + " ";
    EXPECT_EQ(seen, expected);
  });
}

TEST(E2bFiles, a_page_that_a_guest_has_written_is_not_shown_by_a_browser) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name one = co_await client.create();
    for (const char* const name : {"page.html", "picture.svg", "page"}) {
      const std::string target = std::string("/files?path=") + name;
      co_await client.put(one, target, "<script>alert(1)</script>");
      const http_response answer = co_await client.get(one, target);
      EXPECT_EQ(answer.status(), 200);
      EXPECT_EQ(answer.field("Content-Disposition"), "attachment; filename=\"" + std::string(name) + "\"");
      EXPECT_EQ(answer.field("X-Content-Type-Options"), "nosniff");
    }
  });
}

// ---- further ports ----

/// A service on a port that replies with the facts about its sandbox, and records its end.
class echo_service final : public e2b_gateway::port_service {
 public:
  echo_service(any_environment& environment, e2b_gateway::sandbox_facts facts, std::string* noted)
      : environment_(environment), facts_(std::move(facts)), noted_(noted) {}
  awaitable<void> serve(http_call& call) override {
    if (call.path() == "/wait") co_await wait();
    const bytes file = co_await environment_.read_file("a.txt", 100);
    co_await call.reply(http_reply(200).content("text/plain", facts_.id() + std::string(as_text(file))));
  }
  awaitable<void> close() override {
    *noted_ += "closed ";
    co_return;
  }

 private:
  awaitable<void> wait() {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::steady_clock::time_point::max());
    *noted_ += "waits ";
    co_await timer.async_wait(asio::use_awaitable);
  }
  any_environment& environment_;
  e2b_gateway::sandbox_facts facts_;
  std::string* noted_;
};

TEST(E2bPorts, a_service_answers_on_its_port_and_ends_with_the_sandbox) {
  std::string noted;
  const e2b_gateway::port_factory factory = [&](any_environment& environment, const e2b_gateway::sandbox_facts& facts) {
    return std::make_unique<echo_service>(environment, facts, &noted);
  };
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        co_await client.put(box, "/files?path=a.txt", " here");
        const auto ask = [&](const std::string& port, const std::string& token, const std::string& path) {
          http_request request("GET", path);
          request.field("E2b-Sandbox-Id", box.id).field("E2b-Sandbox-Port", port);
          if (!token.empty()) request.field("X-Access-Token", token);
          return request;
        };
        http_response answer = co_await client.http.request(ask("49999", box.token, "/"));
        EXPECT_EQ(said(answer), "200 " + box.id + " here");
        answer = co_await client.http.request(ask("49999", "", "/"));
        EXPECT_EQ(answer.status(), 401);
        for (const std::string& token : {box.token, std::string()}) {
          answer = co_await client.http.request(ask("8080", token, "/"));
          EXPECT_EQ(said(answer), "501 {\"sandboxId\":\"" + box.id +
                                      "\",\"message\":\"this gateway cannot connect to a port of a sandbox; run the "
                                      "client in the sandbox too, as a command, such as curl http://127.0.0.1:8080\","
                                      "\"port\":8080,\"code\":501}");
        }
        int status = 0;
        const auto ended = [&](std::exception_ptr, http_response late) { status = late.status(); };
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        cofferdam_test::spawn(executor, client.http.request(ask("49999", box.token, "/wait")), ended);
        const std::function<bool()> waits = [&] { return noted == "waits "; };
        const bool is_waiting = co_await comes_about(waits);
        EXPECT_TRUE(is_waiting);
        answer = co_await client.api("DELETE", "/sandboxes/" + box.id);
        EXPECT_EQ(noted, "waits closed ");
        const std::function<bool()> answered = [&] { return status != 0; };
        const bool is_answered = co_await comes_about(answered);
        EXPECT_TRUE(is_answered);
        EXPECT_EQ(status, 502);
      },
      e2b_gateway::options().port(49999, factory));
}

/// A local environment that records when it is closed.
class recording_environment {
 public:
  recording_environment(local_environment inner, std::string* noted) : inner_(std::move(inner)), noted_(noted) {}
  awaitable<command_result> run_command(command c) { return inner_.run_command(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inner_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inner_.write_file(std::move(path), content);
  }
  awaitable<void> close() {
    *noted_ += "environment ";
    return inner_.close();
  }

 private:
  local_environment inner_;
  std::string* noted_;
};

class recording_provider {
 public:
  explicit recording_provider(std::string* noted) : noted_(noted) {}
  awaitable<recording_environment> open() const { return open_one(noted_); }

 private:
  static awaitable<recording_environment> open_one(std::string* noted) {
    const local recipe = local().without_warning();
    local_environment opened = co_await recipe.open();
    co_return recording_environment(std::move(opened), noted);
  }
  std::string* noted_;
};

/// Answers at once. Its `close` takes an hour unless it is cancelled, and records when it ends.
class slow_service final : public e2b_gateway::port_service {
 public:
  explicit slow_service(std::string* noted) : noted_(noted) {}
  awaitable<void> serve(http_call& call) override { return call.reply(http_reply(200)); }
  awaitable<void> close() override {
    const end_note at_end(noted_);
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    co_await timer.async_wait(asio::use_awaitable);
  }

 private:
  class end_note {
   public:
    explicit end_note(std::string* noted) : noted_(noted) {}
    end_note(const end_note&) = delete;
    end_note& operator=(const end_note&) = delete;
    ~end_note() { *noted_ += "slow "; }

   private:
    std::string* noted_;
  };
  std::string* noted_;
};

TEST(E2bPorts, a_server_in_a_sandbox_is_reached_by_its_port) {
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "sandboxes whose ports the gateway reaches");
  const cofferdam_test::open_folder base;
  const jail walls = jail().temporary_base(base.path()).workspace_path("/home/user");
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        co_await client.put(box, "/files?path=serve.py",
                            "import http.server\n"
                            "class Echo(http.server.BaseHTTPRequestHandler):\n"
                            "  def do_POST(self):\n"
                            "    body = self.rfile.read(int(self.headers['Content-Length']))\n"
                            "    self.send_response(201); self.send_header('X-Seen', self.headers['X-Own'])\n"
                            "    self.end_headers(); self.wfile.write(self.path.encode() + b' ' + body)\n"
                            "http.server.HTTPServer(('127.0.0.1', 8080), Echo).serve_forever()\n");
        const auto ask = [&](const std::string& body) {
          http_request request("POST", "/a?b=1");
          request.field("E2b-Sandbox-Id", box.id).field("E2b-Sandbox-Port", "8080").field("X-Own", "mine");
          request.content("text/plain", body);
          return request;
        };
        http_response answer = co_await client.http.request(ask("x"));
        EXPECT_EQ(said(answer), "502 {\"sandboxId\":\"" + box.id +
                                    "\",\"message\":\"The sandbox is running but port is not open\",\"port\":8080,"
                                    "\"code\":502}");
        gateway_stream started = co_await client.run(box, "nohup python3 serve.py >/dev/null 2>&1 & echo started");
        co_await started.finish();
        for (int attempt = 0; answer.status() == 502 && attempt < 100; ++attempt) {
          answer = co_await client.http.request(ask("hello"));
          if (answer.status() == 502) co_await cofferdam_test::pause_for(std::chrono::milliseconds(50));
        }
        EXPECT_EQ(said(answer), "201 /a?b=1 hello");
        EXPECT_EQ(answer.field("X-Seen"), "mine");
        const std::string large(std::size_t{3} << 20, 'y');
        answer = co_await client.http.request(ask(large));
        EXPECT_EQ(answer.text(), "/a?b=1 " + large);
        http_request upgrade = ask("");
        upgrade.field("Connection", "Upgrade").field("Upgrade", "websocket");
        answer = co_await client.http.request(std::move(upgrade));
        EXPECT_EQ(answer.status(), 501);
      },
      e2b_gateway::options(), any_provider(walls));
}

TEST(E2bPorts, all_services_are_closed_before_the_environment_although_one_is_slow) {
  std::string noted;
  const e2b_gateway::port_factory slow = [&](any_environment&, const e2b_gateway::sandbox_facts&) {
    return std::make_unique<slow_service>(&noted);
  };
  const e2b_gateway::port_factory quick = [&](any_environment& environment, const e2b_gateway::sandbox_facts& facts) {
    return std::make_unique<echo_service>(environment, facts, &noted);
  };
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name one = co_await client.create();
        co_await client.put(one, "/files?path=a.txt", "");
        for (const char* const port : {"5000", "6000"}) {
          http_request request("GET", "/");
          request.field("E2b-Sandbox-Id", one.id).field("E2b-Sandbox-Port", port).field("X-Access-Token", one.token);
          const http_response answer = co_await client.http.request(std::move(request));
          EXPECT_EQ(answer.status(), 200);
        }
        co_await client.api("DELETE", "/sandboxes/" + one.id);
        EXPECT_EQ(noted, "closed slow environment ");
      },
      e2b_gateway::options().port(5000, slow).port(6000, quick), any_provider(recording_provider(&noted)));
}

}  // namespace
