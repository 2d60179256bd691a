// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of uploads over existing files, of compressed uploads, of the metadata of files, and of the number of sandboxes
// per key.

#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "serve/gateway_support.hpp"
#include "support/hostile.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam::detail::base64_decode;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::gateway_stream;
using cofferdam_test::json_of;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;
using cofferdam_test::text_at;

// ---- uploads over existing files ----

TEST(E2bUploads, a_file_that_is_there_keeps_its_mode_and_its_other_names) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    http_response answer = co_await client.put(box, "/files?path=run.sh", "#!/bin/sh\necho first, and longer\n");
    EXPECT_EQ(answer.status(), 200);
    gateway_stream ran =
        co_await client.run(box, "chmod 755 run.sh && ln run.sh same && ln -s run.sh link && ./run.sh");
    EXPECT_EQ(ran.out, "first, and longer\n");
    answer = co_await client.put(box, "/files?path=run.sh", "#!/bin/sh\necho second\n");
    EXPECT_EQ(said(answer), R"(200 [{"name":"run.sh","path":"/home/user/run.sh","type":"file"}])");
    ran = co_await client.run(box, "./run.sh; ./same; stat -c '%a %h' run.sh");
    EXPECT_EQ(ran.out, "second\nsecond\n755 2\n") << ran.err;
    // An upload to a link writes the link's target, and keeps the link.
    answer = co_await client.put(box, "/files?path=link", "#!/bin/sh\necho third\n");
    EXPECT_EQ(answer.status(), 200) << answer.text();
    ran = co_await client.run(box, "readlink link; ./same");
    EXPECT_EQ(ran.out, "run.sh\nthird\n") << ran.err;
    // An upload as a form behaves in the same way.
    answer = co_await client.put(box, "/files",
                                 "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"same\"\r\n\r\n"
                                 "#!/bin/sh\necho fourth\n\r\n--B\r\nContent-Disposition: form-data; name=\"file\"; "
                                 "filename=\"new/one\"\r\n\r\nnew\r\n--B--\r\n",
                                 "multipart/form-data; boundary=B");
    EXPECT_EQ(answer.status(), 200) << answer.text();
    ran = co_await client.run(box, "./run.sh; cat new/one");
    EXPECT_EQ(ran.out, "fourth\nnew") << ran.err;
    std::string large(3'000'000, '\0');
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7919 >> 3);
    answer = co_await client.put(box, "/files?path=run.sh", large);
    EXPECT_EQ(answer.status(), 200) << answer.text();
    answer = co_await client.get(box, "/files?path=same");
    EXPECT_TRUE(answer.text() == large);
    answer = co_await client.put(box, "/files?path=run.sh", "");
    EXPECT_EQ(answer.status(), 200) << answer.text();
    ran = co_await client.run(box, "stat -c '%a %h %s' same");
    EXPECT_EQ(ran.out, "755 2 0\n");
  });
}

TEST(E2bUploads, a_link_that_leads_out_and_what_is_no_file_are_refused) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream ran = co_await client.run(
        box, "echo kept > ../tmp/outside; ln -s ../tmp/outside out; mkfifo pipe; mkdir folder; ln -s folder to_folder");
    EXPECT_EQ(ran.err, "");
    http_response answer = co_await client.put(box, "/files?path=out", "changed");
    EXPECT_EQ(answer.status(), 403) << answer.text();
    ran = co_await client.run(box, "cat ../tmp/outside; readlink out");
    EXPECT_EQ(ran.out, "kept\n../tmp/outside\n");
    for (const char* const path : {"pipe", "folder", "to_folder"}) {
      answer = co_await client.put(box, std::string("/files?path=") + path, "x");
      EXPECT_EQ(answer.status(), 400) << path << answer.text();
      const bool is_directory = answer.text().find("path is a directory") != std::string::npos;
      EXPECT_EQ(is_directory, std::string_view(path) != "pipe") << answer.text();
    }
    ran = co_await client.run(box, "ln -s loop loop; ln -s none/none lost");
    for (const char* const path : {"loop", "lost"}) {
      answer = co_await client.put(box, std::string("/files?path=") + path, "x");
      EXPECT_EQ(answer.status(), 400) << path;
      EXPECT_NE(answer.text().find("a symbolic link whose target does not exist"), std::string::npos) << answer.text();
    }
  });
}

// Root may write to every file. If the test runs as root, the gateway therefore runs as an ordinary user.
TEST(E2bUploads, a_file_that_its_owner_may_only_read_is_refused) {
  COFFERDAM_NEEDS("user", ::geteuid() != 0 || cofferdam_test::spare_user::instance().is_there(),
                  "that a read-only file is not overwritten (root can become no other user here)");
  const cofferdam_test::temporary_folder base;
  const std::string outcome = cofferdam_test::in_spare_host(base, [&base] {
    ::setenv("TMPDIR", base.path().c_str(), 1);
    std::string result;
    run_with_gateway([&result](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
      const gateway_sandbox_name box = co_await client.create();
      gateway_stream ran = co_await client.run(box, "id -u; echo kept > fixed; chmod 444 fixed");
      result = ran.out == "0\n" ? "root, " : "";
      http_response answer = co_await client.put(box, "/files?path=fixed", "x");
      result += std::to_string(answer.status());
      ran = co_await client.run(box, "cat fixed");
      result += ", " + ran.out;
      // Control: the same upload succeeds when the owner may write the file.
      ran = co_await client.run(box, "chmod 644 fixed");
      answer = co_await client.put(box, "/files?path=fixed", "x");
      result += std::to_string(answer.status());
    });
    return result;
  });
  EXPECT_EQ(outcome, "403, kept\n200");
}

TEST(E2bUploads, without_a_shell_a_file_keeps_its_mode_and_a_link_is_not_replaced) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_response answer = co_await client.put(box, "/files?path=a", "first");
        EXPECT_EQ(answer.status(), 200) << answer.text();
        const auto run = [&](const char* words) {
          return client.stream(box, "process.Process/Start", std::string(R"({"process":{"cmd":)") + words + "}}");
        };
        gateway_stream changed = co_await run(R"("chmod","args":["750","a"])");
        co_await changed.finish();
        gateway_stream linked = co_await run(R"("ln","args":["-s","a","link"])");
        co_await linked.finish();
        answer = co_await client.put(box, "/files?path=a", "second");
        EXPECT_EQ(answer.status(), 200) << answer.text();
        answer = co_await client.call(box, "filesystem.Filesystem/Stat", R"({"path":"a"})");
        EXPECT_EQ(json_of(answer.text()).at("entry").at("mode").to_number<int>(), 0750);
        answer = co_await client.put(box, "/files?path=link", "third");
        EXPECT_EQ(answer.status(), 403) << answer.text();
        answer = co_await client.get(box, "/files?path=a");
        EXPECT_EQ(said(answer), "200 second");
      },
      e2b_gateway::options(), any_provider(cofferdam_test::local_provider() | allow_commands("chmod .*", "ln .*")));
}

// ---- gzip ----

// "compressed" and a line break, compressed by gzip, in base64.
constexpr std::string_view compressed = "H4sIAAAAAAACA0vOzy0oSi0uTk3hAgC7bU/ICwAAAA==";

TEST(E2bUploads, gzip_is_decoded_and_held_to_the_limit) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const auto send = [&](std::string target, std::string body, std::string type) {
          http_request request = gateway_client::to_sandbox("POST", std::move(target), box);
          request.field("Content-Encoding", "gzip").content(std::move(type), body);
          return client.http.request(std::move(request));
        };
        const std::string stream(as_text(base64_decode(compressed).value()));
        http_response answer = co_await send("/files?path=z", stream, "application/octet-stream");
        EXPECT_EQ(answer.status(), 200) << answer.text();
        answer = co_await client.get(box, "/files?path=z");
        EXPECT_EQ(said(answer), "200 compressed\n");
        answer = co_await send("/files?path=z", stream.substr(0, stream.size() - 1), "application/octet-stream");
        EXPECT_EQ(answer.status(), 400) << answer.text();
        answer = co_await send("/files?path=y", "no gzip", "application/octet-stream");
        EXPECT_EQ(answer.status(), 400) << answer.text();
        answer = co_await client.get(box, "/files?path=y");
        EXPECT_EQ(answer.status(), 404);
        // A file of about 2,000 bytes that decodes to 2,000,000 bytes, which is more than the limit of an upload.
        const char* const many = "import gzip,sys;sys.stdout.buffer.write(gzip.compress(bytes(2000000)))";
        gateway_stream compressing = co_await client.run(box, std::string("python3 -c '") + many + "' > bomb");
        EXPECT_EQ(compressing.err, "");
        const http_response bomb = co_await client.get(box, "/files?path=bomb");
        EXPECT_LT(bomb.text().size(), 5000U);
        answer = co_await send("/files?path=x", std::string(bomb.text()), "application/octet-stream");
        EXPECT_EQ(answer.status(), 413) << answer.text();
        answer = co_await client.get(box, "/files?path=x");
        EXPECT_EQ(answer.status(), 404);
      },
      e2b_gateway::options().upload(1'000'000));
}

// ---- metadata of files ----

TEST(E2bUploads, metadata_is_kept_and_moves_with_the_file) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    const auto send = [&](std::string path, gateway_client::fields more) {
      http_request request = gateway_client::to_sandbox("POST", "/files?path=" + path, box);
      for (const auto& [name, value] : more) request.field(name, value);
      request.content("application/octet-stream", "x");
      return client.http.request(std::move(request));
    };
    const auto stat = [&](std::string path) {
      return client.call(box, "filesystem.Filesystem/Stat", R"({"path":")" + path + "\"}");
    };
    const gateway_client::fields two{{"X-Metadata-Author", "me"}, {"x-metadata-b", "2 ~"}};
    http_response answer = co_await send("d/a", two);
    EXPECT_EQ(said(answer), R"(200 [{"name":"a","path":"/home/user/d/a","type":"file",)"
                            R"("metadata":{"author":"me","b":"2 ~"}}])");
    answer = co_await stat("d/a");
    EXPECT_EQ(boost::json::serialize(json_of(answer.text()).at("entry").at("metadata")),
              R"({"author":"me","b":"2 ~"})");
    answer = co_await client.call(box, "filesystem.Filesystem/ListDir", R"({"path":"d"})");
    EXPECT_NE(answer.text().find(R"("metadata":{"author":"me")"), std::string_view::npos);
    answer = co_await client.call(box, "filesystem.Filesystem/Move", R"({"source":"d","destination":"e"})");
    EXPECT_EQ(answer.status(), 200) << answer.text();
    answer = co_await stat("e/a");
    EXPECT_NE(answer.text().find("author"), std::string_view::npos);
    // Each upload replaces all metadata of the file.
    const gateway_client::fields none;
    answer = co_await send("e/a", none);
    EXPECT_EQ(answer.text().find("metadata"), std::string_view::npos);
    answer = co_await send("e/a", two);
    answer = co_await client.call(box, "filesystem.Filesystem/Remove", R"({"path":"e"})");
    answer = co_await client.put(box, "/files?path=e/b", "x");
    answer = co_await client.call(box, "filesystem.Filesystem/Move", R"({"source":"e/b","destination":"e/a"})");
    EXPECT_EQ(answer.text().find("metadata"), std::string_view::npos) << answer.text();
    // A command moves a file, and another file takes its place.
    answer = co_await send("g", two);
    gateway_stream moved = co_await client.run(box, "mv g h; echo other > g; ln h hard; cp h copy");
    for (const std::string path : {"h", "hard"}) {
      answer = co_await stat(path);
      EXPECT_NE(answer.text().find("author"), std::string_view::npos) << path;
    }
    for (const std::string path : {"g", "copy"}) {
      answer = co_await stat(path);
      EXPECT_EQ(answer.text().find("author"), std::string_view::npos) << path;
    }
    const std::vector<gateway_client::fields> wrong{{{"X-Metadata-", "x"}},
                                                    {{"X-Metadata-a", "\xC3\xA4"}},
                                                    {{"X-Metadata-" + std::string(247, 'k'), "x"}},
                                                    {{"X-Metadata-a", std::string(4096, 'v')}}};
    for (const gateway_client::fields& each : wrong) {
      answer = co_await send("f", each);
      EXPECT_EQ(answer.status(), 400) << each.front().first << answer.text();
    }
    answer = co_await client.get(box, "/files?path=f");
    EXPECT_EQ(answer.status(), 404);
  });
}

TEST(E2bUploads, metadata_that_could_be_lost_is_refused_before_the_file_is_written) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_request request = gateway_client::to_sandbox("POST", "/files?path=a", box);
        request.field("X-Metadata-Author", "me").content("application/octet-stream", "x");
        http_response answer = co_await client.http.request(std::move(request));
        EXPECT_EQ(answer.status(), 501) << answer.text();
        EXPECT_NE(answer.text().find("stat"), std::string_view::npos) << answer.text();
        answer = co_await client.get(box, "/files?path=a");
        EXPECT_EQ(answer.status(), 404);
        answer = co_await client.put(box, "/files?path=a", "x");
        EXPECT_EQ(answer.status(), 200) << answer.text();
      },
      e2b_gateway::options(), any_provider(local().without_warning() | allow_commands("true")));
}

// ---- sandboxes per key ----

TEST(E2bUploads, a_key_does_not_take_the_sandboxes_of_another) {
  const std::string second = "e2b_fedcba9876543210";
  run_with_gateway(
      [&](e2b_gateway::server& gateway, gateway_client& client) -> awaitable<void> {
        const std::string body = R"({"templateID":"base"})";
        const gateway_sandbox_name first = co_await client.create();
        for (const int status : {201, 429, 429}) {
          const http_response answer = co_await client.api("POST", "/v2/sandboxes", body);
          EXPECT_EQ(answer.status(), status) << answer.text();
        }
        const std::string mine = std::exchange(client.key, second);
        for (const int status : {201, 201, 429}) {
          const http_response answer = co_await client.api("POST", "/v2/sandboxes", body);
          EXPECT_EQ(answer.status(), status) << answer.text();
        }
        EXPECT_EQ(gateway.sandboxes(), 4U);
        // A sandbox that is removed frees a slot for its own key only.
        client.key = mine;
        http_response answer = co_await client.api("DELETE", "/sandboxes/" + first.id);
        EXPECT_EQ(answer.status(), 204);
        client.key = second;
        answer = co_await client.api("POST", "/v2/sandboxes", body);
        EXPECT_EQ(answer.status(), 429);
        client.key = mine;
        answer = co_await client.api("POST", "/v2/sandboxes", body);
        EXPECT_EQ(answer.status(), 201);
      },
      e2b_gateway::options().api_key("e2b_0123456789abcdef").api_key(second).sandboxes(4));
}

}  // namespace
