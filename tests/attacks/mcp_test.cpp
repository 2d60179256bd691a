// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks MC (MCP server) of the project's catalogue of attacks: by web pages, by clients on the server and on each
// other, and by the commands that the server runs. Each test also sends a valid request, which must succeed. The
// attacks MC-09 to MC-11 are tested elsewhere, and MC-13 is the conformance suite of the protocol.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp_server.hpp>

#include "serve/mcp/mcp_support.hpp"
#include "support/census.hpp"
#include "support/hostile.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json/parse.hpp>
#include <boost/system/error_code.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mcp_attack_tests {

using namespace cofferdam;
using cofferdam::detail::http_client;
using cofferdam::detail::tcp_connector;
using cofferdam_test::comes_true;
using cofferdam_test::error_code_in;
using cofferdam_test::mcp_body;
using cofferdam_test::mcp_client;
using cofferdam_test::member;
using cofferdam_test::result_in;
using cofferdam_test::run_with_mcp;
using cofferdam_test::text_said;
using value = boost::json::value;

std::unique_ptr<mcp::server> over_local(const asio::any_io_executor& executor) {
  return std::make_unique<mcp::server>(executor, local().without_warning());
}

/// Returns the number of processes whose command line contains this text.
std::size_t processes_with(const std::string& mark) { return cofferdam_test::marked(mark).size(); }
std::string new_mark() {
  static int last = 0;
  return "77" + std::to_string(::getpid()) + std::to_string(++last);
}

// ---- Attacks over HTTP ---------------------------------------------------------------------------------------------
awaitable<int> status_of(http_client& http, std::string name, std::string content, std::string session) {
  http_request request("POST", "/mcp");
  request.content("application/json", R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":)"
                                      R"("2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
  request.field("Accept", "application/json, text/event-stream");
  if (!name.empty()) request.field(name, content);
  if (!session.empty()) request.field("Mcp-Session-Id", session);
  const http_response response = co_await http.request(std::move(request));
  co_return response.status();
}

awaitable<void> stop_behind(mcp::server& server, std::function<awaitable<void>()> body) {
  std::exception_ptr failure;
  try {
    co_await body();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await server.stop();
  if (failure) std::rethrow_exception(failure);
}

void over_http(const std::function<awaitable<void>(std::uint16_t port, mcp::server& server)>& body) {
  const cofferdam_test::watchdog guard(std::chrono::seconds(120));
  asio::io_context context(1);
  mcp::server_options options;
  options.message(1024 * 1024).without_token();
  mcp::server server(context.get_executor(), local().without_warning(), options);
  listener where = tcp_listener(context.get_executor(), "127.0.0.1", 0);
  const std::uint16_t port = where.port();
  std::exception_ptr failure;
  const auto ended = [&failure](std::exception_ptr why) {
    if (why && !failure) failure = why;
  };
  cofferdam_test::spawn(context, server.serve(std::move(where)), ended);
  cofferdam_test::spawn(context, stop_behind(server, [&] { return body(port, server); }), ended);
  context.run();
  if (failure) std::rethrow_exception(failure);
}

TEST(Attack, MC_01_a_web_page_and_a_rebound_name_are_refused) {
  over_http([](std::uint16_t port, mcp::server&) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_client http(executor, tcp_connector("127.0.0.1", port));
    const int page = co_await status_of(http, "Origin", "http://evil.example", "");
    EXPECT_EQ(page, 403);
    const int sandboxed = co_await status_of(http, "Origin", "null", "");
    EXPECT_EQ(sandboxed, 403);
    const int rebound = co_await status_of(http, "Host", "evil.example", "");
    EXPECT_EQ(rebound, 403);
    const int good = co_await status_of(http, "", "", "");
    EXPECT_EQ(good, 200);
  });
}

TEST(Attack, MC_02_no_token_beyond_loopback_and_sessions_of_others_are_refused) {
  asio::io_context context(1);
  mcp::server server(context.get_executor());
  EXPECT_THROW(static_cast<void>(server.serve(tcp_listener(context.get_executor(), "0.0.0.0", 0))), error);
  over_http([](std::uint16_t port, mcp::server&) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_client http(executor, tcp_connector("127.0.0.1", port));
    for (const char* const guess : {"1", "../1", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}) {
      const int status = co_await status_of(http, "", "", guess);
      EXPECT_EQ(status, 404);
    }
  });
}

// ---- Attacks over standard input and output ------------------------------------------------------------------------
std::string read_file_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

awaitable<mcp::answer> print_all_over(mcp::call&) {
  std::printf("a print of the program\n");
  std::fflush(stdout);
  static_cast<void>(::write(STDOUT_FILENO, "a write of a library\n", 21));
  static_cast<void>(!std::system("echo a child of the program"));
  co_return mcp::answer("printed");
}

/// Runs an MCP server over standard input and output. These are redirected to the three files, so call it only in a
/// child process.
void serve_files(const std::filesystem::path& in, const std::filesystem::path& out, const std::filesystem::path& err) {
  ::alarm(60);
  const int from = ::open(in.c_str(), O_RDONLY);
  const int to = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int errors = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (from < 0 || to < 0 || errors < 0) ::_exit(3);
  ::dup2(from, STDIN_FILENO);
  ::dup2(to, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  asio::io_context context(1);
  const std::unique_ptr<mcp::server> server = over_local(context.get_executor());
  server->add(tools::definition("print", "Prints"), print_all_over);
  cofferdam_test::spawn(context, server->serve_stdio(), [](std::exception_ptr failure) {
    if (failure) ::_exit(4);
  });
  context.run();
}

TEST(Attack, MC_03_prints_of_the_program_and_of_its_guests_do_not_get_into_the_protocol) {
  const cofferdam_test::temporary_folder folder;
  // The input is a FIFO that stays open until the responses are written, because the server cancels running calls at
  // the end of its input.
  const std::filesystem::path in = folder.path() / "in";
  ASSERT_EQ(::mkfifo(in.c_str(), 0600), 0);
  std::fflush(stdout);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    serve_files(in, folder.path() / "out", folder.path() / "err");
    ::_exit(0);
  }
  {
    std::ofstream client(in);
    client
        << R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}})"
        << "\n"
        << R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"print"}})"
        << "\n"
        << R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"code_exec","arguments":{"cmd":"echo guest; echo guest >&2; p=$PPID; for i in 1 2 3 4; do echo junk > /proc/$p/fd/1; p=$(cut -d' ' -f4 /proc/$p/stat); done"}}})"
        << std::endl;
    for (int i = 0; i < 6000 && read_file_of(folder.path() / "out").find("\"id\":2") == std::string::npos; ++i)
      ::usleep(10'000);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::ifstream out(folder.path() / "out");
  int lines = 0;
  for (std::string line; std::getline(out, line); ++lines) {
    boost::system::error_code broken;
    const value message = boost::json::parse(line, broken);
    EXPECT_FALSE(broken) << line;
    EXPECT_EQ(member(message, "jsonrpc"), "2.0");
  }
  EXPECT_EQ(lines, 3);
  // Control: each of these texts was printed, but to standard error.
  const std::string errors = read_file_of(folder.path() / "err");
  for (const char* const print : {"a print of the program", "a write of a library", "a child of the program"})
    EXPECT_NE(errors.find(print), std::string::npos) << print;
}

TEST(Attack, MC_04_huge_deep_and_broken_messages_are_answered_and_bounded) {
  const auto make = [](const asio::any_io_executor& executor) {
    mcp::server_options options;
    options.message(1024 * 1024);
    return std::make_unique<mcp::server>(executor, local().without_warning(), options);
  };
  run_with_mcp(make, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const cofferdam_test::memory_growth memory;
    const std::string piece(1024 * 1024, 'x');
    for (int i = 0; i < 100; ++i) co_await client.say_part(piece);
    co_await client.say("the end of 100 MB");
    const value huge = co_await client.hear();
    EXPECT_EQ(error_code_in(huge), "-32600");
    if (memory.is_exact() && !cofferdam_test::is_sanitized()) {
      EXPECT_LT(memory.peak(), std::size_t{64} * 1024 * 1024);
    }
    const std::string deep(100'000, '[');
    // The message `wide` has 800 kB that contain 270,000 arrays, and parsing it would block all other clients.
    // Control: the message `text` has as many bytes in one string, and is parsed.
    std::string wide = R"({"jsonrpc":"2.0","id":1,"method":"no/such","params":{"a":[[])";
    const std::string text = wide.substr(0, wide.size() - 3) + "\"" + std::string(800'000, ',') + "\"}}";
    while (wide.size() < 800'000) wide += ",[]";
    wide += "]}}";
    const std::vector<std::pair<std::string, std::string>> messages{
        {deep, "-32700"},
        {wide, "-32600"},
        {text, "-32601"},
        {"{\"a\":\"\xff\xfe\"}", "-32700"},
        {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"no/such","method":"no/such"})", "-32601"},
        {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"})", "-32602"}};
    for (const auto& [line, code] : messages) {
      co_await client.say(line);
      const value response = co_await client.hear();
      EXPECT_EQ(error_code_in(response), code) << line.substr(0, 60);
    }
    const value alive = co_await client.call("code_exec", R"({"cmd":"echo alive"})");
    EXPECT_NE(text_said(alive).find("alive"), std::string::npos);
  });
}

TEST(Attack, MC_05_who_cancels_or_vanishes_leaves_nothing_running) {
  const std::string cancelled = new_mark();
  const std::string left = new_mark();
  const std::string background = new_mark();
  const auto call = [](int id, const std::string& tool, const std::string& mark) {
    // The command starts a grandchild in a session of its own.
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" + tool +
           R"(","arguments":{"cmd":"(setsid sleep )" + mark + R"( & sleep )" + mark + R"() ; sleep )" + mark + "\"}}}";
  };
  run_with_mcp(over_local, [&](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    co_await client.say(call(1, "code_exec", cancelled));
    co_await client.say(call(2, "code_exec", left));
    const value begun = co_await client.call("start_command", R"({"cmd":"setsid sleep )" + background + "\"}");
    const bool all_run = co_await comes_true(
        [&] { return processes_with(cancelled) > 1 && processes_with(left) > 1 && processes_with(background) > 0; });
    EXPECT_TRUE(all_run);
    co_await client.say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
    const bool ended = co_await comes_true([&] { return processes_with(cancelled) == 0; });
    EXPECT_TRUE(ended);
    EXPECT_GT(processes_with(left), 1U);
    client.vanish();
    const bool nothing = co_await comes_true([&] { return processes_with(left) + processes_with(background) == 0; });
    EXPECT_TRUE(nothing);
  });
}

TEST(Attack, MC_06_wrong_arguments_are_named_and_nothing_runs) {
  run_with_mcp(over_local, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const std::vector<std::array<const char*, 3>> calls{
        {"code_exec", R"({"cmd":["ls"]})", "'cmd'"},
        {"code_exec", R"({"cmd":"ls","timeout_s":1e300})", "'timeout_s'"},
        {"code_exec", R"({"cmd":"ls","timeout_s":-1})", "'timeout_s'"},
        {"code_exec", R"({"cmd":"ls","timeout_s":"9"})", "'timeout_s'"},
        {"code_exec", R"({"cmd":"ls","shell":"/bin/evil"})", "'shell'"},
        {"code_exec", R"({"cmd":"ls","cwd":"../.."})", "../.."},
        {"code_exec", R"({"cmd":""})", "'cmd'"},
        {"read_file", R"({"path":"../../etc/passwd"})", "passwd"},
        {"read_file", R"({"path":"a\u0000b"})", "NUL"},
        {"write_file", R"({"path":"../x","content":"y"})", "../x"},
        {"read_output", R"({"id":{},"wait_s":99999})", "'wait_s'"},
        {"signal_command", R"({"id":"cmd-1","signal":"9"})", "'signal'"}};
    for (const auto& [tool, arguments, named] : calls) {
      const value response = co_await client.call(tool, arguments);
      EXPECT_TRUE(result_in(response).at("isError").as_bool()) << arguments;
      EXPECT_NE(text_said(response).find(named), std::string::npos) << text_said(response);
    }
    const value good = co_await client.call("code_exec", R"({"cmd":"ls","timeout_s":9.0,"cwd":null})");
    EXPECT_FALSE(result_in(good).at("isError").as_bool());
  });
}

TEST(Attack, MC_07_two_clients_see_nothing_of_each_other) {
  const auto make = [](const asio::any_io_executor& executor) {
    auto new_server = std::make_unique<mcp::server>(executor, local().without_warning());
    new_server->python(python());
    return new_server;
  };
  int ready = 0;
  const auto body = [&ready](const std::string& mine, const std::string& other) -> mcp_body {
    return [&ready, mine, other](mcp_client& client) -> awaitable<void> {
      const auto work = [](mcp_client& client, std::string mine, std::string other, int& ready) -> awaitable<void> {
        co_await client.initialize();
        co_await client.call("write_file", R"({"path":")" + mine + R"(","content":"secret"})");
        co_await client.call("run_python", R"({"code":"secret = ')" + mine + "'\"}");
        co_await client.call("start_command", R"({"cmd":"sleep 1000"})");
        ++ready;
        const bool both = co_await comes_true([&] { return ready == 2; });
        EXPECT_TRUE(both);
        const value files = co_await client.call("list_files");
        // Control: the client sees its own file.
        EXPECT_NE(text_said(files).find(mine), std::string::npos);
        EXPECT_EQ(text_said(files).find(other), std::string::npos);
        const value secret = co_await client.call("run_python", R"({"code":"secret"})");
        EXPECT_EQ(member(result_in(secret).at("structuredContent"), "result"), "'" + mine + "'");
        const value commands = co_await client.call("list_commands");
        EXPECT_EQ(result_in(commands).at("structuredContent").at("commands").as_array().size(), 1U);
        const value foreign = co_await client.call("read_output", R"({"id":"cmd-2"})");
        EXPECT_TRUE(result_in(foreign).at("isError").as_bool());
        const value resources = co_await client.ask("resources/list");
        EXPECT_EQ(boost::json::serialize(resources).find(other), std::string::npos);
      };
      return work(client, mine, other, ready);
    };
  };
  run_with_mcp(make, {body("first", "second"), body("second", "first")});
}

/// Calls a tool by the protocol version of 2026, which has no sessions. \param place  value of the header field
/// `Cofferdam-Place`, which selects an environment; empty means that the field is absent.
awaitable<std::string> call_modern(http_client& http, std::string place, std::string tool, std::string arguments) {
  http_request request("POST", "/mcp");
  request.content("application/json", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool +
                                          R"(","arguments":)" + arguments +
                                          R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                                          R"("io.modelcontextprotocol/clientCapabilities":{}}}})");
  request.field("Accept", "application/json, text/event-stream").field("MCP-Protocol-Version", "2026-07-28");
  request.field("Mcp-Method", "tools/call").field("Mcp-Name", tool);
  if (!place.empty()) request.field("Cofferdam-Place", place);
  const http_response response = co_await http.request(std::move(request));
  co_return std::string(response.text());
}

TEST(Attack, MC_07_clients_of_the_modern_era_with_different_places_see_nothing_of_each_other) {
  over_http([](std::uint16_t port, mcp::server& server) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    http_client http(executor, tcp_connector("127.0.0.1", port));
    for (const char* const place : {"first", "second", ""}) {
      const std::string wrote = co_await call_modern(
          http, place, "write_file", R"({"path":"of-)" + std::string(place) + R"(","content":"secret"})");
      EXPECT_EQ(wrote.find("\"isError\":true"), std::string::npos) << wrote;
    }
    for (const char* const place : {"first", "second"}) {
      const std::string files = co_await call_modern(http, place, "list_files", "{}");
      EXPECT_NE(files.find("of-" + std::string(place)), std::string::npos) << files;
      EXPECT_EQ(files.find(place == std::string("first") ? "of-second" : "of-first"), std::string::npos) << files;
    }
    EXPECT_EQ(server.sessions(), 3U);
    // Control: clients that send no `Cofferdam-Place` share one environment.
    const std::string shared = co_await call_modern(http, "", "write_file", R"({"path":"of-another","content":"x"})");
    const std::string files = co_await call_modern(http, "", "list_files", "{}");
    EXPECT_NE(files.find("\"of-\""), std::string::npos) << files;
    EXPECT_NE(files.find("of-another"), std::string::npos) << files;
    co_await http.close();
  });
}

TEST(Attack, MC_08_an_image_that_is_a_url_is_never_fetched) {
  run_with_mcp(over_local, [](mcp_client& client) -> awaitable<void> {
    co_await client.initialize();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    listener trap = tcp_listener(executor, "127.0.0.1", 0);
    const std::string at = "127.0.0.1:" + std::to_string(trap.port());
    bool was_fetched = false;
    bool ended = false;
    const auto fetched = [&was_fetched, &ended](std::exception_ptr failure, byte_stream) {
      was_fetched = !failure;
      ended = true;
    };
    asio::cancellation_signal stop;
    cofferdam_test::spawn(executor, trap.accept(), fetched, stop.slot());
    const std::string make_image =
        R"({"cmd":"printf '\\211PNG\\r\\n\\032\\n\\000\\000\\000\\rIHDR\\000\\000\\000\\001\\000\\000\\000\\001\\010\\006\\000\\000\\000' > a.png"})";
    co_await client.call("code_exec", make_image);
    const std::vector<std::string> urls{"http://" + at + "/a.png", "https://" + at + "/a.png", "//" + at + "/a.png",
                                        "file:///etc/passwd", "data:image/png;base64,iVBORw0KGgo="};
    for (const std::string& url : urls) {
      const value response = co_await client.call("view_image", R"({"path":")" + url + "\"}");
      EXPECT_TRUE(result_in(response).at("isError").as_bool()) << url;
    }
    const value good = co_await client.call("view_image", R"({"path":"a.png"})");
    EXPECT_EQ(member(result_in(good).at("content").at(1), "mimeType"), "image/png");
    EXPECT_FALSE(was_fetched);
    stop.emit(asio::cancellation_type::terminal);
    const bool all_over = co_await comes_true([&] { return ended; });
    EXPECT_TRUE(all_over);
  });
}

TEST(Attack, MC_12_an_allowlist_stands_before_background_commands_and_python_too) {
  const auto guarded = [](const char* pattern) {
    return [pattern](const asio::any_io_executor& executor) {
      auto new_server =
          std::make_unique<mcp::server>(executor, local().without_warning() | allow_commands(std::string(pattern)));
      new_server->python(python());
      return new_server;
    };
  };
  for (const bool allowed : {false, true}) {
    run_with_mcp(guarded(allowed ? "(.|\\n)*" : "ls"), [&](mcp_client& client) -> awaitable<void> {
      co_await client.initialize();
      const value listed = co_await client.call("code_exec", R"({"cmd":"ls"})");
      EXPECT_FALSE(result_in(listed).at("isError").as_bool());
      const value touched = co_await client.call("code_exec", R"({"cmd":"touch x"})");
      EXPECT_EQ(result_in(touched).at("isError").as_bool(), !allowed);
      const value script = co_await client.call("run_python", R"({"code":"1"})");
      EXPECT_EQ(result_in(script).at("isError").as_bool(), !allowed);
      co_await client.call("start_command", R"({"cmd":"touch made-here"})");
      const value out = co_await client.call("read_output", R"({"id":"cmd-1","wait_s":20})");
      const value files = co_await client.call("list_files");
      EXPECT_EQ(text_said(files).find("made-here") != std::string::npos, allowed);
    });
  }
}

TEST(Attack, MC_07_two_hundred_sessions_at_once_have_two_hundred_workspaces) {
  constexpr int many = 200;
  int ready = 0;
  std::vector<mcp_body> bodies;
  for (int i = 0; i < many; ++i) {
    bodies.emplace_back([&ready, i](mcp_client& client) -> awaitable<void> {
      const auto work = [](mcp_client& client, int mine, int& ready) -> awaitable<void> {
        co_await client.initialize();
        const value wrote =
            co_await client.call("code_exec", R"({"cmd":"echo )" + std::to_string(mine) + R"( > mine"})");
        EXPECT_FALSE(result_in(wrote).at("isError").as_bool()) << text_said(wrote);
        ++ready;
        for (int i = 0; i < 3000 && ready < many; ++i) co_await cofferdam_test::nap(std::chrono::milliseconds(20));
        const value read = co_await client.call("read_file", R"({"path":"mine"})");
        EXPECT_EQ(member(result_in(read).at("structuredContent"), "content"), std::to_string(mine) + "\n");
      };
      return work(client, i, ready);
    });
  }
  run_with_mcp(over_local, bodies);
  EXPECT_EQ(ready, many);
}

}  // namespace mcp_attack_tests
