// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the tools that the MCP server itself offers, over local folders.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/code_exec.hpp>

#include "serve/mcp/mcp_support.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcp_server_tests {

using namespace cofferdam;
using cofferdam_test::comes_true;
using cofferdam_test::error_code_in;
using cofferdam_test::mcp_client;
using cofferdam_test::member;
using cofferdam_test::result_in;
using cofferdam_test::run_with_mcp;
using cofferdam_test::text_said;
using value = boost::json::value;

/// A provider of local environments that counts how often it is opened.
class counted_local {
 public:
  explicit counted_local(std::shared_ptr<int> opened) : opened_(std::move(opened)) {}
  awaitable<any_environment> open() const { return open_one(opened_); }

 private:
  static awaitable<any_environment> open_one(std::shared_ptr<int> opened) {
    ++*opened;
    const local recipe = local().without_warning();
    local_environment environment = co_await recipe.open();
    co_return any_environment(std::move(environment));
  }
  std::shared_ptr<int> opened_;
};

class setup {
 public:
  std::shared_ptr<int> opened = std::make_shared<int>(0);
  mcp::server_options options;
  bool with_python = false;

  std::unique_ptr<mcp::server> operator()(const asio::any_io_executor& executor) const {
    auto server = std::make_unique<mcp::server>(executor, counted_local(opened), options);
    if (with_python) {
      server->runner([](any_environment& env) {
        return any_runner_provider(environment_ref<any_environment>(env) | python() | check_syntax());
      });
    }
    server->add(
        [](any_environment& env) { return tools::any_tool(tools::code_exec<any_environment>(env).name("seeds")); });
    return server;
  }
};

const value& facts(const value& answer) { return result_in(answer).at("structuredContent"); }

// Feature: A8
TEST(McpServer, a_client_that_only_looks_opens_no_environment) {
  const setup with;
  run_with_mcp(with, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value tools = co_await client.ask("tools/list");
    std::string names;
    for (const value& item : result_in(tools).at("tools").as_array()) names += member(item, "name") + " ";
    EXPECT_EQ(names,
              "code_exec start_command read_output signal_command list_commands read_file write_file list_files "
              "view_image download_file seeds ");
    const value resources = co_await client.ask("resources/list");
    EXPECT_TRUE(result_in(resources).at("resources").as_array().empty());
    const value templates = co_await client.ask("resources/templates/list");
    EXPECT_EQ(result_in(templates).at("resourceTemplates").as_array().size(), 1U);
    const value read = co_await client.ask("resources/read", R"({"uri":"sandbox://workspace/a"})");
    EXPECT_EQ(error_code_in(read), "-32002");
    const value wrong = co_await client.call("code_exec", R"({"cmd":5,"comand":"x"})");
    EXPECT_NE(text_said(wrong).find("'cmd' must be a string"), std::string::npos);
    EXPECT_NE(text_said(wrong).find("'comand'"), std::string::npos);
    EXPECT_EQ(*with.opened, 0);
    const value first = co_await client.call("list_files");
    const value second = co_await client.call("list_files");
    EXPECT_EQ(*with.opened, 1);
  });
}

// Feature: J1
TEST(McpServer, a_command_answers_with_text_and_facts) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value reply =
        co_await client.call("code_exec", R"({"cmd":"cat; pwd | tail -c 4; echo oh >&2; exit 3","stdin":"in\n"})");
    EXPECT_FALSE(result_in(reply).at("isError").as_bool());
    EXPECT_TRUE(text_said(reply).starts_with("exit code 3 (")) << text_said(reply);
    EXPECT_NE(text_said(reply).find("--- stderr (1 line) ---\noh\n"), std::string::npos);
    EXPECT_EQ(member(facts(reply), "status"), "exited");
    EXPECT_EQ(member(facts(reply), "exit_code"), "3");
    EXPECT_EQ(member(facts(reply), "stderr"), "oh\n");
    EXPECT_TRUE(member(facts(reply), "stdout").starts_with("in\n"));
    const value killed = co_await client.call("code_exec", R"({"cmd":"kill -SEGV $$"})");
    EXPECT_EQ(member(facts(killed), "signal"), "SIGSEGV");
    const value slow = co_await client.call("code_exec", R"({"cmd":"sleep 100","timeout_s":1})");
    EXPECT_EQ(member(facts(slow), "status"), "timeout");
    EXPECT_TRUE(result_in(slow).at("isError").as_bool());
    const value much = co_await client.call("code_exec", R"({"cmd":"head -c 100000 /dev/zero"})");
    EXPECT_EQ(member(facts(much), "stdout_bytes"), "100000");
    EXPECT_EQ(member(facts(much), "stdout_truncated"), "true");
    EXPECT_LT(text_said(much).size(), 200'000U);
    const value sudo = co_await client.call(
        "code_exec", R"({"cmd":"echo 'sudo: The \"no new privileges\" flag is set' >&2; exit 1"})");
    EXPECT_NE(text_said(sudo).find("no_new_privs"), std::string::npos) << text_said(sudo);
    const value nowhere = co_await client.call("code_exec", R"({"cmd":"true","cwd":"no/such"})");
    EXPECT_TRUE(result_in(nowhere).at("isError").as_bool());
    const value seeds = co_await client.call("seeds", R"({"cmd":"echo from a tool"})");
    EXPECT_NE(text_said(seeds).find("from a tool"), std::string::npos);
  });
}

TEST(McpServer, files_are_tools_and_resources) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value wrote = co_await client.call("write_file", R"({"path":"a b/ü.txt","content":"hello\n"})");
    EXPECT_EQ(member(facts(wrote), "created"), "true");
    const value binary =
        co_await client.call("code_exec", R"({"cmd":"printf '\\000\\377' > raw.bin; ln -s /etc/passwd out"})");
    const value listed = co_await client.ask("resources/list");
    std::string uris;
    for (const value& item : result_in(listed).at("resources").as_array()) uris += member(item, "uri") + " ";
    EXPECT_EQ(uris, "sandbox://workspace/a%20b/%C3%BC.txt sandbox://workspace/raw.bin ");
    const value text = co_await client.ask("resources/read", R"({"uri":"sandbox://workspace/a%20b/%C3%BC.txt"})");
    EXPECT_EQ(member(result_in(text).at("contents").at(0), "text"), "hello\n");
    const value blob = co_await client.ask("resources/read", R"({"uri":"sandbox://workspace/raw.bin"})");
    EXPECT_EQ(member(result_in(blob).at("contents").at(0), "blob"), "AP8=");
    for (const char* const wrong : {"..%2f..%2fetc%2fpasswd", "out", "a%20b", "", "%00", "no", "%zz"}) {
      const value no =
          co_await client.ask("resources/read", R"({"uri":"sandbox://workspace/)" + std::string(wrong) + "\"}");
      EXPECT_EQ(error_code_in(no), "-32002") << wrong;
    }
    const value read = co_await client.call("read_file", R"({"path":"a b/ü.txt"})");
    EXPECT_EQ(member(facts(read), "content"), "hello\n");
    const value list = co_await client.call("list_files", R"({"recursive":true})");
    EXPECT_EQ(facts(list).at("entries").as_array().size(), 4U);
  });
}

TEST(McpServer, commands_go_on_in_the_background_until_they_are_ended) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value begun =
        co_await client.call("start_command", R"({"cmd":"echo one; read -r x < /dev/null; sleep 1000"})");
    EXPECT_EQ(member(facts(begun), "id"), "cmd-1");
    const value out = co_await client.call("read_output", R"({"id":"cmd-1","wait_s":20})");
    EXPECT_EQ(member(facts(out), "stdout"), "one\n");
    EXPECT_EQ(member(facts(out), "status"), "running");
    const value listed = co_await client.call("list_commands");
    EXPECT_EQ(facts(listed).at("commands").as_array().size(), 1U);
    const value killed = co_await client.call("signal_command", R"({"id":"cmd-1","signal":"KILL"})");
    EXPECT_EQ(member(facts(killed), "was_running"), "true");
    value end = co_await client.call("read_output", R"({"id":"cmd-1","wait_s":20})");
    EXPECT_EQ(member(facts(end), "status"), "signaled");
    EXPECT_EQ(member(facts(end), "signal"), "SIGKILL");
    const value late = co_await client.call("signal_command", R"({"id":"cmd-1"})");
    EXPECT_EQ(member(facts(late), "was_running"), "false");
    const value unknown = co_await client.call("read_output", R"({"id":"cmd-7"})");
    EXPECT_TRUE(result_in(unknown).at("isError").as_bool());
    for (int i = 0; i < 16; ++i) {
      const value more = co_await client.call("start_command", R"({"cmd":"sleep 1000"})");
      EXPECT_FALSE(result_in(more).at("isError").as_bool());
    }
    const value too_many = co_await client.call("start_command", R"({"cmd":"sleep 1000"})");
    EXPECT_TRUE(result_in(too_many).at("isError").as_bool());
  });
}

// Feature: J4
TEST(McpServer, live_output_goes_to_the_log_and_the_progress_of_who_wants_it) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value level = co_await client.ask("logging/setLevel", R"({"level":"info"})");
    const value reply = co_await client.call(
        "code_exec", R"({"cmd":"echo begun; sleep 2; printf '\\303'; sleep 0.6; printf '\\274\\n' "})",
        R"({"progressToken":"p"})");
    std::string logged;
    std::string progress_texts;
    for (const value& item : client.others) {
      if (member(item, "method") == "notifications/message") logged += member(item.at("params").at("data"), "text");
      if (member(item, "method") == "notifications/progress") progress_texts = member(item.at("params"), "message");
    }
    EXPECT_EQ(logged, "begun\n\xC3\xBC\n");
    EXPECT_NE(progress_texts.find(" out: "), std::string::npos) << progress_texts;
  });
}

// Feature: J2
TEST(McpServer, python_lives_on_in_the_same_workspace_behind_its_guards) {
  setup with;
  with.with_python = true;
  run_with_mcp(with, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value first = co_await client.call(
        "run_python",
        R"({"code":"y = x * 2\nopen('made.txt','w').write('by python')\nprint('hi')\ny","variables":{"x":21}})");
    EXPECT_EQ(member(facts(first), "result"), "42");
    EXPECT_EQ(member(facts(first), "result_json"), "42");
    EXPECT_EQ(member(facts(first), "stdout"), "hi\n");
    EXPECT_EQ(boost::json::serialize(facts(first).at("new_files")), R"(["made.txt"])");
    const value mean = co_await client.call("run_python", R"({"code":"24.0 / 2"})");
    EXPECT_EQ(member(facts(mean), "result"), "12.0");
    EXPECT_EQ(member(facts(mean), "result_json"), "12.0") << "as people write it";
    const value file = co_await client.call("read_file", R"({"path":"made.txt"})");
    EXPECT_EQ(member(facts(file), "content"), "by python\n");
    EXPECT_EQ(*with.opened, 1);
    const value created = co_await client.call("create_python_context", R"({"label":"another"})");
    const std::string id = member(facts(created), "context_id");
    EXPECT_EQ(member(facts(created), "expires_after_idle_s"), "1800");
    const std::string in_context = R"("context_id":")" + id + "\"}";
    const value other = co_await client.call("run_python", R"({"code":"y",)" + in_context);
    EXPECT_EQ(member(facts(other), "status"), "error");
    EXPECT_FALSE(result_in(other).at("isError").as_bool());
    EXPECT_EQ(member(facts(other).at("error"), "type"), "NameError");
    const value fresh = co_await client.call("run_python", R"({"code":"'y' in dir() ","reset":true})");
    EXPECT_EQ(member(facts(fresh), "result"), "False");
    EXPECT_EQ(member(facts(fresh), "context_restarted"), "true");
    const value guarded = co_await client.call("run_python", R"({"code":"1 +"})");
    EXPECT_EQ(member(facts(guarded), "status"), "rejected");
    const value name = co_await client.call("run_python", R"({"code":"1","context_id":"a/b"})");
    EXPECT_TRUE(result_in(name).at("isError").as_bool());
    const value slow = co_await client.call("run_python", R"({"code":"while True: pass","timeout_s":1})");
    EXPECT_EQ(member(facts(slow), "status"), "timeout");
  });
}

TEST(McpServer, interpreters_are_made_closed_and_forgotten) {
  setup with;
  with.with_python = true;
  with.options.python_contexts(2, std::chrono::seconds(1));
  run_with_mcp(with, [](mcp_client& client) -> awaitable<void> {
    const auto in = [](const std::string& id, const std::string& code) {
      return R"({"code":")" + code + R"(","context_id":")" + id + "\"}";
    };
    co_await client.initialize();
    const value unknown = co_await client.call("run_python", in("mine", "1"));
    EXPECT_TRUE(result_in(unknown).at("isError").as_bool());
    EXPECT_NE(text_said(unknown).find("does not exist or has expired; call create_python_context"), std::string::npos);
    const value created = co_await client.call("create_python_context");
    const value two = co_await client.call("create_python_context");
    const value three = co_await client.call("create_python_context");
    EXPECT_TRUE(result_in(three).at("isError").as_bool());
    const std::string first = member(facts(created), "context_id");
    const std::string second = member(facts(two), "context_id");
    EXPECT_NE(first, second);
    // The idle limit of an interpreter does not end a run that takes longer than the limit.
    const value long_run = co_await client.call("run_python", in(first, "import time; x = 5; time.sleep(2)"));
    EXPECT_EQ(member(facts(long_run), "status"), "ok");
    const value kept = co_await client.call("run_python", in(first, "x"));
    EXPECT_EQ(member(facts(kept), "result"), "5");
    const value old = co_await client.call("run_python", in(second, "1"));
    EXPECT_NE(text_said(old).find("has expired"), std::string::npos) << text_said(old);
    const std::string which = R"({"context_id":")" + first + "\"}";
    const value closed = co_await client.call("close_python_context", which);
    EXPECT_EQ(member(facts(closed), "closed"), "true");
    const value again = co_await client.call("close_python_context", which);
    EXPECT_EQ(member(facts(again), "closed"), "false");
    const value gone = co_await client.call("run_python", in(first, "x"));
    EXPECT_TRUE(result_in(gone).at("isError").as_bool());
    // The default interpreter can be closed too. The next run then starts a new one.
    const value set = co_await client.call("run_python", in("default", "z = 1"));
    EXPECT_EQ(member(facts(set), "status"), "ok");
    const value ended = co_await client.call("close_python_context", R"({"context_id":"default"})");
    EXPECT_EQ(member(facts(ended), "closed"), "true");
    const value fresh = co_await client.call("run_python", in("default", "'z' in dir()"));
    EXPECT_EQ(member(facts(fresh), "result"), "False");
  });
}

TEST(McpServer, files_come_from_one_folder_of_the_host_and_go_to_another) {
  const cofferdam_test::temporary_folder root;
  std::filesystem::create_directories(root.path() / "in/dir/deep");
  std::filesystem::create_directories(root.path() / "out");
  std::ofstream(root.path() / "secret") << "no";
  std::ofstream(root.path() / "in/a.csv") << "1,2\n";
  std::ofstream(root.path() / "in/dir/deep/b") << "b";
  std::filesystem::create_symlink(root.path() / "secret", root.path() / "in/link");
  setup with;
  with.options.input_folder((root.path() / "in").string()).output_folder((root.path() / "out").string());
  run_with_mcp(with, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value same = co_await client.call("upload_file", R"({"source":"a.csv"})");
    EXPECT_EQ(boost::json::serialize(facts(same)), R"({"files":[{"path":"a.csv","size_bytes":4}]})");
    const value renamed = co_await client.call("upload_file", R"({"source":"a.csv","dest":"data/c.csv"})");
    EXPECT_EQ(boost::json::serialize(facts(renamed)), R"({"files":[{"path":"data/c.csv","size_bytes":4}]})");
    const value again = co_await client.call("upload_file", R"({"source":"a.csv","dest":"data/c.csv"})");
    EXPECT_FALSE(result_in(again).at("isError").as_bool());
    const value beside = co_await client.call("upload_file", R"({"source":"a.csv","dest":"data"})");
    EXPECT_EQ(member(facts(beside).at("files").at(0), "path"), "data/a.csv");
    const value tree = co_await client.call("upload_file", R"({"source":"dir"})");
    EXPECT_EQ(member(facts(tree).at("files").at(0), "path"), "dir/deep/b");
    const value as_new = co_await client.call("upload_file", R"({"source":"dir","dest":"fresh"})");
    EXPECT_EQ(member(facts(as_new).at("files").at(0), "path"), "fresh/deep/b");
    const value listed =
        co_await client.call("code_exec", R"({"cmd":"find . -type f | sort; find . -name '.upload*'"})");
    EXPECT_EQ(member(facts(listed), "stdout"), "./a.csv\n./data/a.csv\n./data/c.csv\n./dir/deep/b\n./fresh/deep/b\n");
    for (const char* const wrong : {"../secret", "/etc/passwd", "link", "none", "dir/../../secret"}) {
      const value refused = co_await client.call("upload_file", R"({"source":")" + std::string(wrong) + "\"}");
      EXPECT_TRUE(result_in(refused).at("isError").as_bool()) << wrong;
    }
    const value out = co_await client.call("upload_file", R"({"source":"a.csv","dest":"../x"})");
    EXPECT_TRUE(result_in(out).at("isError").as_bool());

    const value linked = co_await client.call("download_file", R"({"path":"data/c.csv"})");
    EXPECT_EQ(member(facts(linked), "uri"), "sandbox://workspace/data/c.csv");
    EXPECT_EQ(member(facts(linked), "sha256"), "52186c933993da4082b3cdc7c40bb4bf735b391ff54a2ef78c037dda6c38a680");
    EXPECT_EQ(member(result_in(linked).at("content").at(1), "type"), "resource_link");
    const value inside = co_await client.call("download_file", R"({"path":"data/c.csv","deliver":"inline"})");
    EXPECT_EQ(member(result_in(inside).at("content").at(1).at("resource"), "blob"), "MSwyCg==");
    const value handed = co_await client.call("download_file", R"({"path":"./data/c.csv","deliver":"host"})");
    EXPECT_EQ(member(facts(handed), "host_path"), (root.path() / "out/data/c.csv").string());
    EXPECT_EQ(std::filesystem::file_size(root.path() / "out/data/c.csv"), 4U);
    // A symbolic link inside the output folder must not let a client write outside that folder.
    std::filesystem::create_directory_symlink(root.path(), root.path() / "out/fresh");
    const value beyond = co_await client.call("download_file", R"({"path":"fresh/deep/b","deliver":"host"})");
    EXPECT_TRUE(result_in(beyond).at("isError").as_bool());
    EXPECT_FALSE(std::filesystem::exists(root.path() / "deep"));
    const value big = co_await client.call(
        "code_exec", R"({"cmd":"truncate -s 2M big; truncate -s 2G huge; ln -s /etc/passwd way"})");
    for (const char* const wrong : {R"("big","deliver":"inline")", R"("huge","deliver":"host")", R"("way")",
                                    R"("data")", R"("none")", R"("../x")"}) {
      const value refused = co_await client.call("download_file", R"({"path":)" + std::string(wrong) + "}");
      EXPECT_TRUE(result_in(refused).at("isError").as_bool()) << wrong;
    }
  });
}

TEST(McpServer, without_folders_of_the_host_there_is_no_way_to_them) {
  run_with_mcp(setup(), [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const value up = co_await client.call("upload_file", R"({"source":"a"})");
    EXPECT_EQ(error_code_in(up), "-32602");
    const value wrote = co_await client.call("write_file", R"({"path":"a","content":"x"})");
    const value host = co_await client.call("download_file", R"({"path":"a","deliver":"host"})");
    EXPECT_TRUE(result_in(host).at("isError").as_bool());
  });
}

/// An environment whose second command fails because the backend is lost.
class fragile {
 public:
  awaitable<command_result> run_command(command) { return run(++count_ > 1); }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  awaitable<void> close() { co_return; }

 private:
  static awaitable<command_result> run(bool lost) {
    if (lost) throw error(exec_errc::provider_lost, "the daemon is gone");
    co_return command_result::exited(0);
  }
  int count_ = 0;
};
class fragile_provider {
 public:
  explicit fragile_provider(std::shared_ptr<int> opened) : opened_(std::move(opened)) {}
  awaitable<fragile> open() const { return open_one(opened_); }

 private:
  static awaitable<fragile> open_one(std::shared_ptr<int> opened) {
    if (++*opened == 2) throw error(exec_errc::provider_failed, "not just now");
    co_return fragile();
  }
  std::shared_ptr<int> opened_;
};

TEST(McpServer, what_is_lost_or_cannot_be_opened_is_told_and_tried_again) {
  const auto opened = std::make_shared<int>(0);
  const auto make = [&](const asio::any_io_executor& executor) {
    return std::make_unique<mcp::server>(executor, fragile_provider(opened));
  };
  run_with_mcp(make, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    std::string course;
    for (int i = 0; i < 5; ++i) {
      const value reply = co_await client.call("code_exec", R"({"cmd":"true"})");
      course += text_said(reply).substr(0, text_said(reply).find_first_of("(\n")) + "; ";
    }
    EXPECT_EQ(course,
              "exit code 0 ; could not run: the daemon is gone; could not run: not just now; exit code 0 ; could "
              "not run: the daemon is gone; ");
    const value background = co_await client.call("start_command", R"({"cmd":"true"})");
    EXPECT_TRUE(result_in(background).at("isError").as_bool());
  });
}

TEST(McpServer, calls_beyond_those_at_once_wait_and_beyond_those_are_refused) {
  setup with;
  with.options.calls(1, 1);
  run_with_mcp(with, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    for (int i = 0; i < 3; ++i)
      co_await client.say(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                          R"(,"method":"tools/call","params":{"name":"code_exec","arguments":{"cmd":"sleep 0.5"}}})");
    int busy = 0;
    for (int i = 0; i < 3; ++i) {
      const value reply = co_await client.hear();
      if (text_said(reply).find("busy") != std::string::npos) ++busy;
    }
    EXPECT_EQ(busy, 1);
  });
}

/// Returns the instructions that a client receives in the handshake; "(none)" if there are none.
std::string instructions_of(const setup& with) {
  std::string text;
  run_with_mcp(with, [&](mcp_client& client) -> awaitable<void> {
    const value reply = co_await client.ask(
        "initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test"}})");
    text = member(result_in(reply), "instructions");
  });
  return text;
}

// Feature: K9
TEST(McpServer, the_default_instructions_name_the_tools_of_the_server) {
  setup with;
  std::string text = instructions_of(with);
  EXPECT_NE(text.find("code_exec"), std::string::npos) << text;
  EXPECT_NE(text.find("start_command"), std::string::npos) << text;
  EXPECT_EQ(text.find("run_python"), std::string::npos) << text;
  with.with_python = true;
  text = instructions_of(with);
  EXPECT_NE(text.find("code_exec"), std::string::npos) << text;
  EXPECT_NE(text.find("run_python"), std::string::npos) << text;
  with.options.instructions("Be brief.");
  EXPECT_EQ(instructions_of(with), "Be brief.");
  with.options.instructions("");
  EXPECT_EQ(instructions_of(with), "(none)");
}

}  // namespace mcp_server_tests
