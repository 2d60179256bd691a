// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the gateway's files outside of the home, and of what it reports about files.

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/serve/e2b_gateway/detail/guest_names.hpp>

#include "serve/gateway_support.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_test::gateway_client;
using cofferdam_test::gateway_sandbox_name;
using cofferdam_test::gateway_stream;
using cofferdam_test::json_of;
using cofferdam_test::run_with_gateway;
using cofferdam_test::said;
using cofferdam_test::text_at;

/// A local environment whose results report that the files of the host are isolated. The tests then see the gateway's
/// way to files outside of the home, on files of this machine.
class walled_environment {
 public:
  explicit walled_environment(local_environment inside) : inside_(std::move(inside)) {}
  awaitable<command_result> run_command(command c) {
    command_result result = co_await inside_.run_command(std::move(c));
    isolation_report report;
    report.set(isolation_kind::files, "walls of a test");
    result.isolation(std::make_shared<const isolation_report>(std::move(report)));
    co_return result;
  }
  awaitable<process> start(command c) { return inside_.start(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inside_.read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inside_.write_file(std::move(path), content);
  }
  awaitable<void> close() { return inside_.close(); }

 protected:
  local_environment inside_;
};
/// The same, with file operations of its own, which refuse links out of the workspace.
class linked_environment : public walled_environment {
 public:
  using walled_environment::walled_environment;
  file_system files() { return inside_.files(); }
};
template <class Environment>
class provider_of {
 public:
  awaitable<Environment> open() const { return open_one(); }

 private:
  static awaitable<Environment> open_one() {
    const local recipe = local().without_warning();
    local_environment inside = co_await recipe.open();
    co_return Environment(std::move(inside));
  }
};
using walled_provider = provider_of<walled_environment>;
using linked_provider = provider_of<linked_environment>;

std::string files_call(const std::string& method) { return "filesystem.Filesystem/" + method; }
std::string with_path(const std::string& path) { return R"({"path":")" + path + "\"}"; }

// ---- outside of the home ----

TEST(E2bOutside, metadata_of_files_follow_a_move_to_another_file_system) {
  const std::string shared = "/dev/shm/cofferdam-" + std::to_string(getpid());
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_request request = gateway_client::to_sandbox("POST", "/files?path=d/a", box);
        request.field("X-Metadata-Author", "me").content("application/octet-stream", "x");
        http_response answer = co_await client.http.request(std::move(request));
        EXPECT_EQ(answer.status(), 200) << answer.text();
        answer = co_await client.call(box, files_call("Move"), R"({"source":"d","destination":")" + shared + "\"}");
        EXPECT_EQ(answer.status(), 200) << answer.text();
        answer = co_await client.call(box, files_call("Stat"), with_path(shared + "/a"));
        EXPECT_NE(answer.text().find(R"("metadata":{"author":"me"})"), std::string_view::npos) << answer.text();
        answer = co_await client.call(box, files_call("Remove"), with_path(shared));
        EXPECT_EQ(answer.status(), 200) << answer.text();
      },
      e2b_gateway::options(), any_provider(walled_provider()));
}

awaitable<gateway_stream> run_in(gateway_client& client, gateway_sandbox_name box, std::string directory,
                                 std::string line) {
  const std::string message =
      R"({"process":{"cmd":"/bin/sh","args":["-c",")" + line + R"("],"cwd":")" + directory + "\"}}";
  gateway_stream stream = co_await client.stream(box, "process.Process/Start", message);
  co_await stream.finish();
  co_return stream;
}

std::string names_in(const http_response& answer) {
  std::string names;
  const boost::json::value value = json_of(answer.text());
  if (!value.as_object().contains("entries")) return std::string(answer.text());
  for (const boost::json::value& entry : value.at("entries").as_array())
    names += text_at(entry, "name") + " " + text_at(entry, "path") + "\n";
  return names;
}

TEST(E2bOutside, a_link_to_a_directory_is_followed) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    co_await client.put(box, "/files?path=d/e/f", "x");
    gateway_stream stream = co_await client.run(box, "ln -s d/e link; ln -s d/e/f file; ln -s /tmp out; ln -s . home");
    http_response answer = co_await client.call(box, files_call("ListDir"), with_path("link"));
    EXPECT_EQ(names_in(answer), "f /home/user/link/f\n");
    answer = co_await client.call(box, files_call("ListDir"), with_path("home/link"));
    EXPECT_EQ(names_in(answer), "f /home/user/home/link/f\n");
    answer = co_await client.call(box, files_call("ListDir"), with_path("file"));
    EXPECT_EQ(answer.status(), 400) << answer.text();
    answer = co_await client.call(box, files_call("ListDir"), with_path("out"));
    EXPECT_EQ(answer.status(), 403) << "these are files of the host: " << answer.text();
    answer = co_await client.call(box, files_call("CreateWatcher"), with_path("link"));
    const std::string watcher = text_at(json_of(answer.text()), "watcherId");
    EXPECT_NE(watcher, "") << answer.text();
    stream = co_await client.run(box, "echo x > d/e/new");
    const std::string request = R"({"watcherId":")" + watcher + "\"}";
    bool is_seen = false;
    for (int i = 0; i < 100 && !is_seen; ++i) {
      answer = co_await client.call(box, files_call("GetWatcherEvents"), request);
      is_seen = answer.text().find("\"name\":\"new\"") != std::string_view::npos;
      if (!is_seen) co_await cofferdam_test::pause(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(is_seen) << answer.text();
    stream = co_await run_in(client, box, "link", "ls");
    EXPECT_EQ(stream.out, "f\nnew\n");
  });
}

TEST(E2bOutside, a_link_in_the_home_leads_out_of_it_where_walls_stand) {
  const cofferdam_test::temporary_folder folder;
  const std::string root = folder.path().string();
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gateway_stream stream =
            co_await client.run(box, "ln -s " + root + " out; ln -s " + root + "/a a; echo old > out/b");
        for (const std::string path : {"out/a", "a"}) {
          http_response answer = co_await client.put(box, "/files?path=" + path, path);
          EXPECT_EQ(answer.status(), 200) << answer.text();
          answer = co_await client.get(box, "/files?path=" + path);
          EXPECT_EQ(said(answer), "200 " + path);
        }
        http_response answer = co_await client.call(box, files_call("ListDir"), with_path("out"));
        EXPECT_EQ(names_in(answer), "a /home/user/out/a\nb /home/user/out/b\n");
        answer = co_await client.call(box, files_call("Stat"), with_path("out/b"));
        EXPECT_EQ(text_at(json_of(answer.text()).at("entry"), "path"), "/home/user/out/b");
        answer = co_await client.call(box, files_call("MakeDir"), with_path("out/d/e"));
        EXPECT_EQ(answer.status(), 200) << answer.text();
        answer = co_await client.call(box, files_call("Move"), R"({"source":"out/b","destination":"out/d/b"})");
        EXPECT_EQ(answer.status(), 200) << answer.text();
        answer = co_await client.call(box, files_call("Remove"), with_path("out/a"));
        EXPECT_EQ(answer.status(), 200) << answer.text();
        stream = co_await run_in(client, box, "out", "find . | sort");
        EXPECT_EQ(stream.out, ".\n./d\n./d/b\n./d/e\n") << stream.err;
        answer = co_await client.put(box, "/files?path=/dev/null", "x");
        EXPECT_EQ(answer.status(), 200) << answer.text();
        answer = co_await client.put(box, "/files?path=" + root + "/d", "x");
        EXPECT_NE(answer.text().find("path is a directory"), std::string_view::npos) << answer.text();
        stream = co_await client.run(box, "mkfifo out/pipe");
        answer = co_await client.put(box, "/files?path=" + root + "/pipe", "x");
        EXPECT_NE(answer.text().find("not a regular file"), std::string_view::npos) << answer.text();
      },
      e2b_gateway::options(), any_provider(linked_provider()));
}

TEST(E2bOutside, commands_find_the_name_of_their_user) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream stream = co_await client.run(box, "test \"$(id -un)\" = \"$USER\" && echo $USER $LOGNAME");
    const std::string name = stream.out.substr(0, stream.out.find(' '));
    EXPECT_EQ(stream.out, name + " " + name + "\n");
    EXPECT_NE(name, "");
  });
}

TEST(E2bOutside, files_are_reached_where_walls_stand) {
  const cofferdam_test::temporary_folder folder;
  const std::string root = folder.path().string();
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        std::string content(300'000, '\0');
        for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7919 >> 3);
        http_response answer = co_await client.put(box, "/files?path=" + root + "/new/file.bin", content);
        EXPECT_EQ(said(answer), R"(200 [{"name":"file.bin","path":")" + root + R"(/new/file.bin","type":"file"}])");
        answer = co_await client.get(box, "/files?path=" + root + "/new/file.bin");
        EXPECT_EQ(answer.status(), 200);
        EXPECT_TRUE(answer.text() == content);
        answer = co_await client.put(box, "/files?path=" + root + "/empty", "");
        EXPECT_EQ(answer.status(), 200);
        answer = co_await client.get(box, "/files?path=" + root + "/empty");
        EXPECT_EQ(said(answer), "200 ");
        answer = co_await client.call(box, files_call("Stat"), with_path(root + "/new/file.bin"));
        const boost::json::value entry = json_of(answer.text()).at("entry");
        EXPECT_EQ(text_at(entry, "path"), root + "/new/file.bin");
        EXPECT_EQ(text_at(entry, "size"), "300000");
        answer = co_await client.call(box, files_call("MakeDir"), with_path(root + "/d/e"));
        EXPECT_EQ(answer.status(), 200);
        answer = co_await client.call(box, files_call("MakeDir"), with_path(root + "/d/e"));
        EXPECT_EQ(answer.status(), 409);
        answer = co_await client.call(box, files_call("ListDir"), with_path(root));
        const boost::json::value listed = json_of(answer.text());
        EXPECT_EQ(listed.at("entries").as_array().size(), 3U);
        EXPECT_EQ(text_at(listed.at("entries").at(0), "path"), root + "/d");
        answer = co_await client.call(box, files_call("Move"),
                                      R"({"source":")" + root + R"(/empty","destination":"/home/user/x/moved"})");
        EXPECT_EQ(text_at(json_of(answer.text()).at("entry"), "path"), "/home/user/x/moved");
        answer = co_await client.call(box, files_call("Move"),
                                      R"({"source":"x/moved","destination":")" + root + R"(/back"})");
        EXPECT_EQ(text_at(json_of(answer.text()).at("entry"), "path"), root + "/back");
        answer = co_await client.call(box, files_call("Remove"), with_path(root + "/new"));
        EXPECT_EQ(answer.status(), 200);
        EXPECT_FALSE(std::filesystem::exists(folder.path() / "new"));
        answer = co_await client.call(box, files_call("Remove"), with_path(root + "/new"));
        EXPECT_EQ(answer.status(), 200) << "a file that is missing is removed already";
        answer = co_await client.call(box, files_call("Stat"), with_path("/"));
        EXPECT_EQ(text_at(json_of(answer.text()).at("entry"), "name"), "/");
        answer = co_await client.call(box, files_call("ListDir"), with_path("/"));
        EXPECT_EQ(answer.status(), 200);
        EXPECT_NE(answer.text().find(R"("path":"/etc")"), std::string::npos);
      },
      e2b_gateway::options(), any_provider(walled_provider()));
}

// A jail has a link at /workspace, and openai-agents works there.
TEST(E2bOutside, a_link_to_a_directory_is_that_directory) {
  const cofferdam_test::temporary_folder folder;
  const std::string root = folder.path().string();
  std::filesystem::create_directory(folder.path() / "real");
  std::filesystem::create_directory(folder.path() / "real" / "inside");
  std::filesystem::create_directory_symlink(folder.path() / "real", folder.path() / "link");
  std::filesystem::create_symlink("nowhere", folder.path() / "broken");
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_response answer = co_await client.call(box, files_call("ListDir"), with_path(root + "/link"));
        EXPECT_EQ(answer.status(), 200) << answer.text();
        EXPECT_EQ(text_at(json_of(answer.text()).at("entries").at(0), "path"), root + "/link/inside");
        answer = co_await client.call(box, files_call("MakeDir"), with_path(root + "/link"));
        EXPECT_EQ(answer.status(), 409) << answer.text();
        answer = co_await client.call(box, files_call("MakeDir"), with_path(root + "/broken"));
        EXPECT_EQ(answer.status(), 400) << answer.text();
        answer = co_await client.call(box, files_call("ListDir"), with_path(root + "/broken"));
        EXPECT_EQ(answer.status(), 400) << answer.text();
      },
      e2b_gateway::options(), any_provider(walled_provider()));
}

TEST(E2bOutside, what_is_wrong_is_said_as_in_the_home) {
  const cofferdam_test::temporary_folder folder;
  const std::string root = folder.path().string();
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_response answer = co_await client.get(box, "/files?path=" + root + "/none");
        EXPECT_EQ(answer.status(), 404);
        EXPECT_EQ(text_at(json_of(answer.text()), "message"), "path '" + root + "/none' does not exist");
        answer = co_await client.get(box, "/files?path=" + root);
        EXPECT_EQ(answer.status(), 400);
        answer = co_await client.put(box, "/files?path=" + root, "x");
        EXPECT_EQ(answer.status(), 400);
        answer = co_await client.put(box, "/files?path=/", "x");
        EXPECT_EQ(answer.status(), 400);
        answer = co_await client.put(box, "/files?path=/proc/x", "x");
        EXPECT_GE(answer.status(), 400);
        answer = co_await client.call(box, files_call("Stat"), with_path(root + "/none"));
        EXPECT_EQ(answer.status(), 404);
        answer = co_await client.call(box, files_call("ListDir"), with_path(root + "/none"));
        EXPECT_EQ(answer.status(), 404);
        answer = co_await client.call(box, files_call("Remove"), with_path("/"));
        EXPECT_EQ(answer.status(), 400);
        answer = co_await client.call(box, files_call("Move"), R"({"source":"/","destination":"/x"})");
        EXPECT_EQ(answer.status(), 400);
      },
      e2b_gateway::options(), any_provider(walled_provider()));
}

TEST(E2bOutside, what_is_no_regular_file_is_named) {
  const cofferdam_test::temporary_folder folder;
  const std::string root = folder.path().string();
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  run_with_gateway(
      [&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        const auto message = [](const http_response& answer) {
          return std::to_string(answer.status()) + " " + text_at(json_of(answer.text()), "message");
        };
        const std::string special = "it is a FIFO, socket or device, and not a regular file";
        http_response answer = co_await client.get(box, "/files?path=/dev/zero");
        EXPECT_EQ(message(answer), "400 read '/dev/zero': " + special);
        answer = co_await client.put(box, "/files?path=/dev/full", "x");
        EXPECT_EQ(message(answer), "507 not enough disk space available") << "a device such as /dev/null is written";
        answer = co_await client.put(box, "/files?path=" + root + "/pipe", "x");
        EXPECT_EQ(message(answer), "400 write '" + root + "/pipe': " + special);
        answer = co_await client.get(box, "/files?path=" + root);
        EXPECT_EQ(message(answer), "400 path is a directory: '" + root + "'");
        answer = co_await client.put(box, "/files?path=" + root + "/loop", "x");
        EXPECT_EQ(message(answer), "400 write '" + root +
                                       "/loop': it is a symbolic link whose target does not exist, or which leads "
                                       "back to itself");
      },
      e2b_gateway::options(), any_provider(walled_provider()));
}

TEST(E2bOutside, a_file_whose_size_is_reported_as_0_is_read_to_its_end) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_response answer = co_await client.get(box, "/files?path=/proc/self/status");
        EXPECT_EQ(answer.status(), 200);
        EXPECT_TRUE(answer.text().starts_with("Name:\tcat\n")) << answer.text();
        answer = co_await client.get(box, "/files?path=/proc/self/mem");
        EXPECT_EQ(answer.status(), 500) << "a file that cannot be read is not an empty one";
      },
      e2b_gateway::options(), any_provider(walled_provider()));
}

TEST(E2bOutside, files_of_the_host_stay_out_of_reach_without_walls) {
  const cofferdam_test::temporary_folder folder;
  const std::string root = folder.path().string();
  run_with_gateway([&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    const std::string sentence =
        " is outside /home/user, and the backend of this gateway does not isolate the files of its host; use a path in "
        "/home/user, or a backend with walls, such as jail or docker";
    http_response answer = co_await client.get(box, "/files?path=/etc/hostname");
    EXPECT_EQ(answer.status(), 403);
    EXPECT_EQ(text_at(json_of(answer.text()), "message"), "path '/etc/hostname'" + sentence);
    answer = co_await client.put(box, "/files?path=" + root + "/x", "x");
    EXPECT_EQ(answer.status(), 403);
    for (const char* const method : {"Stat", "ListDir", "MakeDir", "Remove"}) {
      answer = co_await client.call(box, files_call(method), with_path(root + "/x"));
      EXPECT_EQ(answer.status(), 403) << method << " " << answer.text();
    }
    answer = co_await client.put(box, "/files?path=a", "x");
    answer = co_await client.call(box, files_call("Move"), R"({"source":"a","destination":")" + root + R"(/a"})");
    EXPECT_EQ(answer.status(), 403);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  });
}

TEST(E2bOutside, an_allowlist_of_commands_holds_for_files_too) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        http_response answer = co_await client.get(box, "/files?path=/etc/hostname");
        EXPECT_EQ(answer.status(), 403) << answer.text();
        EXPECT_NE(answer.text().find("need a shell in the sandbox, which was refused"), std::string::npos);
        answer = co_await client.call(box, files_call("ListDir"), with_path("/etc"));
        EXPECT_EQ(answer.status(), 403) << answer.text();
      },
      e2b_gateway::options(), any_provider(walled_provider() | allow_commands("ls .*")));
}

TEST(E2bOutside, a_command_starts_in_any_directory_that_it_could_enter) {
  const cofferdam_test::temporary_folder folder;
  const std::string root = folder.path().string();
  run_with_gateway([&](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    const auto start = [&](const std::string& directory, const std::string& line) {
      return client.stream(
          box, "process.Process/Start",
          R"({"process":{"cmd":"/bin/sh","args":["-c",")" + line + R"(","two  words"],"cwd":")" + directory + "\"}}");
    };
    for (const std::string& directory : std::vector<std::string>{"/", "/tmp", root}) {
      gateway_stream stream = co_await start(directory, R"(pwd -P; echo \"$0\")");
      co_await stream.finish();
      EXPECT_EQ(stream.out, std::filesystem::canonical(directory).string() + "\ntwo  words\n");
    }
    gateway_stream missing = co_await start(root + "/none", "pwd");
    co_await missing.finish();
    EXPECT_EQ(missing.ending(),
              R"({"error":{"code":"invalid_argument","message":"cwd ')" + root + R"(/none' does not exist"}})");
  });
}

// ---- facts ----

TEST(E2bFacts, of_files_are_those_of_the_system) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream stream = co_await client.run(
        box, "echo content > f; chmod 640 f; touch -d '2020-02-03 04:05:06.5 UTC' f; ln -s f link; id -un; id -gn");
    const std::string user = stream.out.substr(0, stream.out.find('\n'));
    const std::string group = stream.out.substr(user.size() + 1, stream.out.size() - user.size() - 2);
    http_response answer = co_await client.call(box, files_call("Stat"), with_path("f"));
    EXPECT_EQ(said(answer), R"(200 {"entry":{"name":"f","type":"FILE_TYPE_FILE","path":"/home/user/f","size":"8",)"
                            R"("mode":416,"permissions":"-rw-r-----","owner":")" +
                                user + R"(","group":")" + group +
                                R"(","modifiedTime":"2020-02-03T04:05:06.500000000Z"}})");
    answer = co_await client.call(box, files_call("ListDir"), with_path("."));
    const boost::json::value listed = json_of(answer.text());
    const boost::json::value& link = listed.at("entries").at(1);
    EXPECT_EQ(text_at(link, "type"), "FILE_TYPE_FILE") << "that of the target, as envd's";
    EXPECT_EQ(text_at(link, "symlinkTarget"), "/home/user/f") << "absolute, as envd's";
    EXPECT_EQ(text_at(listed.at("entries").at(0), "modifiedTime"), "2020-02-03T04:05:06.500000000Z");
  });
}

TEST(E2bFacts, of_links_are_those_of_their_targets) {
  run_with_gateway([](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
    const gateway_sandbox_name box = co_await client.create();
    gateway_stream stream = co_await client.run(
        box,
        "mkdir -p -- d real; cd d; : > f; mkfifo p; ln -s ../real -- -l; ln -s f to; ln -s p wait; ln -s none gone");
    http_response answer = co_await client.call(box, files_call("ListDir"), with_path("d"));
    std::string kinds;
    const boost::json::value listed = json_of(answer.text());
    for (const boost::json::value& entry : listed.at("entries").as_array())
      kinds += text_at(entry, "name") + ' ' + text_at(entry, "type") + ' ' + text_at(entry, "symlinkTarget") + '\n';
    EXPECT_EQ(kinds,
              "-l FILE_TYPE_DIRECTORY /home/user/real\nf FILE_TYPE_FILE \ngone  /home/user/d/gone\np  \n"
              "to FILE_TYPE_FILE /home/user/d/f\nwait  /home/user/d/p\n");
    answer = co_await client.call(box, files_call("Stat"), with_path("d/-l"));
    const boost::json::value one = json_of(answer.text());
    EXPECT_EQ(text_at(one.at("entry"), "type"), "FILE_TYPE_DIRECTORY");
    EXPECT_EQ(text_at(one.at("entry"), "permissions").front(), 'L');
  });
}

TEST(E2bFacts, come_from_commands_if_an_environment_has_no_file_operations) {
  run_with_gateway(
      [](e2b_gateway::server&, gateway_client& client) -> awaitable<void> {
        const gateway_sandbox_name box = co_await client.create();
        gateway_stream stream = co_await client.run(box,
                                                    "echo content > f; touch -d '2020-02-03 04:05:06 UTC' f; ln -s "
                                                    "none link; : > 'z target\n'; ln -s 'z target\n' to; id -un");
        http_response answer = co_await client.call(box, files_call("ListDir"), with_path("."));
        const boost::json::value listed = json_of(answer.text());
        EXPECT_EQ(text_at(listed.at("entries").at(0), "modifiedTime"), "2020-02-03T04:05:06.000000000Z");
        EXPECT_EQ(text_at(listed.at("entries").at(0), "owner") + "\n", stream.out);
        EXPECT_EQ(text_at(listed.at("entries").at(1), "symlinkTarget"), "/home/user/link");
        EXPECT_EQ(text_at(listed.at("entries").at(2), "symlinkTarget"), "/home/user/z target\n");
      },
      e2b_gateway::options(), any_provider(walled_provider()));
}

TEST(E2bFacts, an_id_without_a_name_is_reported_as_a_number) {
  e2b_gateway::detail::guest_names names;
  const std::string raw(
      "root:x:0:0:root:/root:/bin/sh\nbroken\n:x:7:\na:x:1000:1000::/home/a:\nb:x:1000:1:\n\0wheel:x:0:\n", 91);
  names.read(raw);
  EXPECT_EQ(names.user(0), "root");
  EXPECT_EQ(names.user(1000), "a");
  EXPECT_EQ(names.user(7), "7");
  EXPECT_EQ(names.group(0), "wheel");
  EXPECT_EQ(names.group(1), "1");
}

}  // namespace
