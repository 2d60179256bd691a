// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Runs the C++ blocks of the guide, packaging/docs. Each block there is a copy of lines of this file or of an example;
// tests/checks/readme.py compares them.
#include <cofferdam/agent.hpp>
#include <cofferdam/core.hpp>
#include <cofferdam/local.hpp>
#include <cofferdam/mcp.hpp>
#include <cofferdam/net/make_byte_stream.hpp>
#include <cofferdam/over.hpp>
#include <cofferdam/python.hpp>
#include <cofferdam/sandbox.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "llm/scripted_model.hpp"
#include "support/jail_tests.hpp"
#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/buffer.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/connect_pipe.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/readable_pipe.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/writable_pipe.hpp>
#include <asio/write.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cofferdam_guide {

using namespace cofferdam;
using namespace std::chrono_literals;

// ---- limits ---------------------------------------------------------------------------------------------------------

awaitable<void> limit_memory() {
  auto recipe = jail().memory(std::size_t{256} << 20).processes(50).cpu_time(10s);
  co_await with(recipe, [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("python3 -c \"b'x' * 10**9\"");
    std::cout << "ok: " << result.ok() << ", kind: " << to_string(result.kind()) << "\n";
    std::cout << "limit: " << result.isolation().of(isolation_kind::memory) << "\n";
  });
}

awaitable<void> limit_accidents() {
  auto recipe = local().limits(process_limits().memory(256 << 20).cpu_time(10s).file_size(1 << 30).open_files(99));
  co_await with(recipe, [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("ulimit -n");
    std::cout << result.out_text() << result.isolation().of(isolation_kind::open_files) << "\n";
  });
}

awaitable<void> limit_time() {
  co_await with(sandbox() | timeout(30s), [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("echo begin; sleep 1000").timeout(200ms));
    std::cout << result.summary() << ", output: " << result.out_text();
  });
}

awaitable<void> limit_what_is_kept() {
  co_await with(sandbox() | limit_output(1000), [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("seq 100000");
    std::cout << result.out().total() << " bytes, " << result.out().cut() << " left out\n";
  });
}

// ---- layers for every provider --------------------------------------------------------------------------------------

awaitable<void> layers_around_a_provider() {
  const auto on_command = [](const command& c) { std::cout << "$ " << c.line() << "\n"; };
  const auto on_result = [](const command&, const command_result& result) { std::cout << result.summary() << "\n"; };
  auto recipe = sandbox() | retry(5) | lazy() | limit_concurrency(2) | tap(on_command, on_result);
  co_await with(recipe, [](auto& env) -> awaitable<void> {
    co_await env.run_command("exit 3");  // the jail is opened here
  });
}

// ---- a trace --------------------------------------------------------------------------------------------------------

awaitable<void> trace_all_operations(trace_file log) {
  const auto on_event = [](const trace_event& event) {
    if (!event.error_type().empty()) std::cout << event.name() << ": " << event.error_type() << "\n";
  };
  auto recipe = local() | trace(log) | trace(on_event);
  co_await with(recipe, [](auto& env) -> awaitable<void> {
    co_await env.run_command("API_KEY=abc ./tool");  // prints execute_tool run_command: exit_status
  });
}

// ---- values of Python ----------------------------------------------------------------------------------------------

awaitable<void> give_a_table() {
  data_table sales;
  sales.column("day", column_type::text, {"Mon", "Tue"}).column("sold", column_type::integer, {3, 5});
  co_await with(sandbox() | python(), [&](auto& runner) -> awaitable<void> {
    code_request request("{'days': len(sales['day']), 'sold': int(sum(sales['sold']))}");
    request.variable("sales", sales);
    code_result result = co_await runner.run_code(std::move(request));
    std::cout << result.value_text() << "\n";
  });
}

// ---- code that is not run -------------------------------------------------------------------------------------------

awaitable<void> look_at_code(std::string code) {
  code_analysis facts = co_await analyze_code(code);
  if (facts.problem()) std::cout << "line " << facts.problem()->line() << ": " << facts.problem()->message() << "\n";
  for (const std::string& module : facts.imports()) std::cout << "imports " << module << "\n";
  for (const std::string& function : facts.functions()) std::cout << "defines " << function << "\n";
  for (const std::string& called : facts.calls()) std::cout << "calls " << called << "\n";
}

// ---- another place --------------------------------------------------------------------------------------------------

awaitable<void> build(over host) {
  host.variable("LEVEL", "2").connect_timeout(10s);
  co_await with(host, [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("echo \"building at level $LEVEL\"");
    std::cout << result.out_text();
  });
}

// ---- the end of a command -------------------------------------------------------------------------------------------

awaitable<void> stop_a_command() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    process running = co_await env.start("sleep 1000");
    co_await running.signal(SIGINT);  // as ^C does; a second signal may be SIGKILL
    command_result result = co_await running.wait();
    std::cout << result.summary() << "\n";
  });
}

awaitable<void> long_work() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("sleep 1000");
    std::cout << "not reached: " << result.exit_code() << "\n";
  });
}

void cancel_from_outside() {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  asio::cancellation_signal stop;
  std::exception_ptr failure;
  auto keep_failure = [&](std::exception_ptr thrown) { failure = std::move(thrown); };
  asio::co_spawn(strand, long_work, asio::bind_cancellation_slot(stop.slot(), keep_failure));

  std::thread other([&] {  // a signal is emitted on the strand of the coroutine, never from another thread
    asio::post(strand, [&] { stop.emit(asio::cancellation_type::terminal); });
  });
  context.run();
  other.join();
  std::cout << "cancelled: " << (failure != nullptr) << "\n";
}

awaitable<void> keep_a_server() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    command server = shell("sleep 1000 >/dev/null 2>&1 &").background(background_policy::keep);
    command_result started = co_await env.run_command(std::move(server));
    std::cout << "left running: " << started.left_running() << "\n";

    const std::vector<background_command> kept = env.background();
    for (const background_command& each : kept) co_await env.end_background(each.number());
    std::cout << "still there: " << env.background().size() << "\n";
  });  // the end of the environment ends the server too
}

awaitable<void> keep_environments_ready() {
  // Two environments are open before they are needed. Each is used once.
  co_await with(pool(sandbox() | variables("LANG", "C.UTF-8"), 2), [](auto& pool) -> awaitable<void> {
    for (const std::string line : {"echo first", "echo second"}) {
      co_await with(pool.provider() | timeout(10s), [&](auto& env) -> awaitable<void> {
        command_result result = co_await env.run_command(line);
        std::cout << result.out_text();
      });
    }
  });
}

// A worker takes the next line until none is left. Each line gets an environment of its own.
template <class Pool>
awaitable<void> work_on(Pool& pool, std::span<const std::string> lines, std::size_t& next) {
  while (next < lines.size()) {
    const std::string line = lines[next++];
    co_await with(pool.provider() | timeout(10s), [&](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command(line);
      std::cout << result.out_text();
    });
  }
}

awaitable<void> run_many(std::vector<std::string> lines) {
  using namespace asio::experimental::awaitable_operators;
  co_await with(pool(sandbox(), 2), [&](auto& pool) -> awaitable<void> {
    std::size_t next = 0;  // three workers: at most three environments are in use
    co_await (work_on(pool, lines, next) && work_on(pool, lines, next) && work_on(pool, lines, next));
    std::cout << "used: " << pool.counts().handed_out() << ", waiting: " << pool.counts().waiting() << "\n";
  });
}

awaitable<void> serve_from_a_pool(byte_stream client) {
  co_await with(pool(sandbox(), 2).without_waiting(), [&](auto& pool) -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    mcp::server server(executor, pool.provider());
    co_await server.serve(std::move(client));
  });  // the pool is closed after the server
}

// ---- input and output -----------------------------------------------------------------------------------------------

awaitable<void> untrusted_text(std::string name) {
  co_await with(sandbox(), [&](auto& env) -> awaitable<void> {
    command_result listed = co_await env.run_command(argv("ls", "--", name));
    command_result counted = co_await env.run_command("ls -- " + shell_quote(name) + " | wc -l");
    std::cout << "exit status " << listed.exit_code() << ", lines: " << counted.out_text();
  });
}

awaitable<void> input_and_variables() {
  co_await with(sandbox() | variables("LANG", "C.UTF-8"), [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command(shell("sort -r; echo $LANG").input("a\nb\n"));
    std::cout << result.out_text();
  });
}

awaitable<void> copy_files_in_and_out(std::string source, std::string destination) {
  co_await with(sandbox(), [&](auto& env) -> awaitable<void> {
    transfer_result sent = co_await upload(env, files(source).into("inputs"));
    sent.throw_if_failed("upload");
    co_await write_text(env, "script.sh", "cat inputs/* > report.md\n");
    command_result result = co_await env.run_command("sh script.sh");
    transfer_result saved = co_await download(env, files("report.md"), destination);
    for (const failed_file& file : saved.failed()) std::cout << file.source() << ": " << file.reason().what() << "\n";
    std::cout << "exit status " << result.exit_code() << ", saved " << saved.files().size() << "\n";
  });
}

awaitable<void> list_files() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    co_await write_text(env, "data/2024/june.csv", "a,b\n");
    std::vector<directory_entry> all = co_await env.files().list("data");
    for (const directory_entry& each : all) std::cout << each.path() << "\n";
    std::vector<directory_entry> top = co_await env.files().list("data", list_options().depth(1));
    std::cout << "at the top: " << top.size() << "\n";
  });
}

awaitable<void> watch_files() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    co_await make_directory(env, "src");
    directory_watch watch = co_await env.files().watch("src", watch_options().recursive());
    co_await env.run_command(shell("mkdir -p src/a && echo hello > src/a/draft && mv src/a/draft src/a/final"));
    bool done = false;
    while (!done) {
      const std::vector<file_change> changes = co_await watch.next();
      for (const file_change& change : changes) {
        if (change.kind() == change_kind::created) std::cout << "new: " << change.path() << "\n";
        if (change.kind() == change_kind::renamed) std::cout << change.from() << " -> " << change.path() << "\n";
        done = done || change.path() == "a/final";
      }
    }
  });
}

// ---- errors and isolation -------------------------------------------------------------------------------------------

awaitable<void> tell_errors_apart() {
  co_await with(sandbox(), [](auto& env) -> awaitable<void> {
    try {
      command_result result = co_await env.run_command("exit 3");  // what a command does is a value
      std::cout << result.summary() << "\n";
      co_await env.run_command(shell("true").working_directory("no/such/folder"));  // a mistake of the caller throws
    } catch (const error& failure) {
      if (failure.code() == exec_errc::cancelled) throw;  // let a cancellation pass
      std::cout << (failure.code() == exec_errc::not_found) << ": " << failure.what() << "\n";
    }
  });
}

awaitable<void> require_walls(any_provider provider) {
  co_await with(provider, [](auto& env) -> awaitable<void> {
    command_result probe = co_await env.run_command("true");
    if (!probe.ok()) throw std::runtime_error("the walls are not known: " + probe.summary());
    for (const isolation_kind wall : {isolation_kind::files, isolation_kind::network})
      if (probe.isolation().of(wall) == "none")
        throw std::runtime_error("no wall around " + std::string(to_string(wall)) + "; choose another backend");
  });
}

// ---- agents and tests -----------------------------------------------------------------------------------------------

// A model of your own is one function: it takes a conversation and returns the next message.
class own_model {
 public:
  awaitable<chat_reply> chat(chat_request request) {
    chat_message answer = chat_message::assistant("");
    if (request.messages().back().role() == chat_role::tool) {
      answer.call(chat_tool_call("2", "finish", R"({"reason": "It is 6.5 m.", "paths": []})"));
    } else {
      answer.call(chat_tool_call("1", "tide", R"({"place": "Brest"})"));
    }
    co_return chat_reply(std::move(answer));
  }
};

awaitable<double> height_at(std::string place) { co_return place == "Brest" ? 6.5 : 1.5; }

awaitable<void> agent_with_a_tool() {
  tools::function tide("tide", "Returns the height of the tide at a place, in metres.",
                       tools::argument("place", tools::text, "Name of a harbour."), height_at);
  agent helper(own_model(), tide);
  co_await with(sandbox(), [&](auto& env) -> awaitable<void> {
    agent_session work(helper, env);
    agent_result result = co_await work.run("How high is the tide at Brest?");
    std::cout << "finished: " << result.finished() << ", " << result.reason() << "\n";
  });
}

awaitable<std::string> ask_on_terminal(tools::user_question question) {
  std::cout << printable_text(question.text()) << "\n";
  co_return "the red one";
}

std::int64_t count_rows(std::string table) { return static_cast<std::int64_t>(table.size()); }  // blocks its thread

template <class Model>
awaitable<void> agent_with_skills(Model model, std::filesystem::path folder, std::filesystem::path saved) {
  asio::thread_pool threads(2);
  tools::function rows("rows", "Returns the number of rows of a table.", tools::argument("table", tools::text),
                       tools::blocking(threads, count_rows));
  agent helper(std::move(model), rows);
  helper.environment_tools().tool(tools::skills(folder)).tool(tools::ask_user(ask_on_terminal).timeout(5min));
  co_await with(sandbox(), [&](auto& env) -> awaitable<void> {
    agent_session session(helper, env);
    if (std::filesystem::exists(saved)) co_await session.resume_from(saved);
    agent_result result = co_await session.run("Draw a plot of the table.");
    co_await session.save_to(saved);
    std::cout << result.reason() << "\n";
  });
}

template <class Model>
awaitable<void> agent_that_writes_code(Model model, const mcp::toolbox& box) {
  tools::function tide("tide", "Returns the height of the tide at a place, in metres.",
                       tools::argument("place", tools::text, "Name of a harbour."), height_at);
  agent helper(std::move(model));
  co_await with(sandbox(), [&](auto& env) -> awaitable<void> {
    auto recipe = environment_ref(env) | python() | mcp::offer_tools(box);
    co_await with(recipe, [&](auto& runner) -> awaitable<void> {
      agent_session work(helper, env);
      work.tool(tools::run_python(runner).functions(tide));
      agent_result result = co_await work.run("How high is the tide at Brest and at Oslo, together?");
      std::cout << result.reason() << "\n";
    });
  });
}

awaitable<void> test_without_processes() {
  cofferdam::testing::fake_provider fake;
  fake.on("ls", cofferdam::testing::reply("a.txt\n"));
  co_await with(fake | timeout(5s), [](auto& env) -> awaitable<void> {
    command_result result = co_await env.run_command("ls");
    std::cout << result.out_text();
  });
  std::cout << "limit: " << fake.commands().front().timeout()->count() << " ms\n";
}

// ---- the tests ------------------------------------------------------------------------------------------------------

/// Collects what the guide's functions print.
class captured_cout {
 public:
  captured_cout() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  captured_cout(const captured_cout&) = delete;
  captured_cout& operator=(const captured_cout&) = delete;
  ~captured_cout() { std::cout.rdbuf(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

std::string printed(awaitable<void> work) {
  const captured_cout output;
  cofferdam_test::run(std::move(work));
  return output.text();
}

#define COFFERDAM_GUIDE_NEEDS_JAIL() \
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the blocks of the guide that use the jail")

TEST(Guide, limits_memory) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  const std::string text = printed(limit_memory());
  EXPECT_TRUE(text.starts_with("ok: 0, kind: ")) << text;
  EXPECT_EQ(text.find("limit: none"), std::string::npos) << text;
}

TEST(Guide, limits_accidents_of_local_commands) {
  EXPECT_EQ(printed(limit_accidents()), "99\n99 per process (RLIMIT_NOFILE)\n");
}

TEST(Guide, limits_time_and_keeps_the_output_until_then) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(limit_time()), "Command timed out after 0.2 seconds, output: begin\n");
}

TEST(Guide, limits_the_kept_output_and_counts_all) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(limit_what_is_kept()), "588895 bytes, 587895 left out\n");
}

TEST(Guide, wraps_a_provider_in_layers) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(layers_around_a_provider()), "$ exit 3\nexit status 3\n");
}

TEST(Guide, traces_operations) {
  const cofferdam_test::temporary_folder folder;
  const std::filesystem::path path = std::filesystem::path(folder.path()) / "trace.jsonl";
  EXPECT_EQ(printed(trace_all_operations(trace_file(path))), "execute_tool run_command: exit_status\n");
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) EXPECT_EQ(line.find("abc"), std::string::npos) << line;
  EXPECT_EQ(lines, 3U);
}

TEST(Guide, gives_python_a_table) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(give_a_table()), "{'days': 2, 'sold': 8}\n");
}

TEST(Guide, looks_at_code_without_running_it) {
  EXPECT_EQ(printed(look_at_code("import os as o\ndef f():\n  o.remove('x')\n")),
            "imports os\ndefines f\ncalls os.remove\n");
  EXPECT_EQ(printed(look_at_code("f(\n")), "line 1: '(' was never closed\n");
}

TEST(Guide, runs_in_a_place_that_a_program_reaches) { EXPECT_EQ(printed(build(over("env"))), "building at level 2\n"); }

TEST(Guide, stops_a_command_by_a_signal) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(stop_a_command()), "killed by signal 2 (SIGINT)\n");
}

TEST(Guide, cancels_a_coroutine_from_another_thread) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  const captured_cout output;
  cofferdam_test::watchdog limit(std::chrono::seconds(60));
  cancel_from_outside();
  EXPECT_EQ(output.text(), "cancelled: 1\n");
}

TEST(Guide, keeps_a_server_until_the_environment_ends) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(keep_a_server()), "left running: 1\nstill there: 0\n");
}

TEST(Guide, keeps_environments_ready) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(keep_environments_ready()), "first\nsecond\n");
}

TEST(Guide, runs_many_commands_a_few_at_once) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(run_many({"echo a", "echo a", "echo a", "echo a", "echo a"})),
            "a\na\na\na\na\nused: 5, waiting: 0\n");
}

TEST(Guide, serves_from_a_pool) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  const std::string calls =
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},)"
      R"("clientInfo":{"name":"test","version":"1"}}})"
      "\n"
      R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"code_exec","arguments":{"cmd":"pwd; id"}}})"
      "\n";
  std::string answers;
  cofferdam_test::run([&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::readable_pipe input(executor);
    asio::writable_pipe host_output(executor);
    asio::connect_pipe(input, host_output);
    asio::readable_pipe host_input(executor);
    asio::writable_pipe output(executor);
    asio::connect_pipe(host_input, output);
    bool is_over = false;
    byte_stream client = make_byte_stream(std::move(input), std::move(output), "the host");
    asio::co_spawn(executor, serve_from_a_pool(std::move(client)), [&](const std::exception_ptr& failure) {
      EXPECT_FALSE(failure);
      is_over = true;
    });
    co_await asio::async_write(host_output, asio::buffer(calls), asio::use_awaitable);
    while (answers.find("\"id\":2") == std::string::npos) {
      std::array<char, 4096> piece;
      const std::size_t count = co_await host_input.async_read_some(asio::buffer(piece), asio::use_awaitable);
      answers.append(piece.data(), count);
    }
    host_output.close();
    while (!is_over) co_await cofferdam_test::pause_for(1ms);
  });
  EXPECT_NE(answers.find("/workspace"), std::string::npos) << answers;
}

TEST(Guide, passes_untrusted_text_as_one_argument) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(untrusted_text("x; touch y; ls")), "exit status 2, lines: 0\n");
}

TEST(Guide, gives_input_and_variables) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(input_and_variables()), "b\na\nC.UTF-8\n");
}

TEST(Guide, copies_files_in_and_out) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  const cofferdam_test::temporary_folder folder;
  std::ofstream(folder.path() / "a.txt") << "one\n";
  const std::filesystem::path out = folder.path() / "out";
  EXPECT_EQ(printed(copy_files_in_and_out((folder.path() / "a.txt").string(), out.string())),
            "exit status 0, saved 1\n");
  std::ifstream report(out / "report.md");
  std::string line;
  std::getline(report, line);
  EXPECT_EQ(line, "one");
}

TEST(Guide, lists_files_with_and_without_subfolders) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(list_files()), "2024\n2024/june.csv\nat the top: 1\n");
}

TEST(Guide, watches_a_directory) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  const std::string text = printed(watch_files());
  EXPECT_TRUE(text.starts_with("new: a\n")) << text;
  EXPECT_TRUE(text.ends_with("new: a/draft\na/draft -> a/final\n") || text.ends_with("new: a/final\n")) << text;
}

TEST(Guide, tells_results_and_errors_apart) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  const std::string text = printed(tell_errors_apart());
  EXPECT_TRUE(text.starts_with("exit status 3\n1: ")) << text;
}

TEST(Guide, refuses_to_work_without_walls) {
  EXPECT_THROW(printed(require_walls(any_provider(local()))), std::runtime_error);
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(require_walls(any_provider(sandbox()))), "");
  try {
    printed(require_walls(any_provider(sandbox() | allow_commands("ls"))));
    FAIL();
  } catch (const std::runtime_error& refused) {
    EXPECT_TRUE(std::string_view(refused.what()).starts_with("the walls are not known")) << refused.what();
  }
}

TEST(Guide, gives_an_agent_a_tool) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  EXPECT_EQ(printed(agent_with_a_tool()), "finished: 1, It is 6.5 m.\n");
}

TEST(Guide, gives_an_agent_skills_a_user_and_a_saved_session) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  const cofferdam_test::temporary_folder folder;
  std::filesystem::create_directories(folder.path() / "skills/plots");
  std::ofstream(folder.path() / "skills/plots/SKILL.md") << "---\nname: plots\ndescription: Draws.\n---\nUse red.\n";
  cofferdam_test::scripted_model model;
  model.call("open_skill", R"({"name":"plots"})").call("rows", R"({"table":"four"})");
  model.call("ask_user", R"({"question":"Which colour?"})");
  model.call("finish", R"({"reason":"Drawn.","paths":[]})").call("finish", R"({"reason":"Again.","paths":[]})");
  const auto skills = folder.path() / "skills";
  const auto saved = folder.path() / "saved";
  EXPECT_EQ(printed(agent_with_skills(model, skills, saved)), "Which colour?\nDrawn.\n");
  EXPECT_NE(model.told(1).find("Use red."), std::string::npos);
  EXPECT_EQ(model.told(2), "4");
  EXPECT_EQ(model.told(3), "the red one");
  EXPECT_EQ(printed(agent_with_skills(model, skills, saved)), "Again.\n");
  EXPECT_GT(model.asked()[4].messages().size(), 8U);
}

TEST(Guide, lets_an_agent_write_code_that_calls_functions) {
  COFFERDAM_GUIDE_NEEDS_JAIL();
  cofferdam_test::scripted_model model;
  model.call("run_python", R"-({"code":"tide('Brest') + tide('Oslo')"})-");
  model.call("finish", R"({"reason":"8 metres.","paths":[]})");
  EXPECT_EQ(printed(agent_that_writes_code(model, mcp::toolbox())), "8 metres.\n");
  EXPECT_NE(model.told(1).find("<value>8.0</value>"), std::string::npos) << model.told(1);
}

TEST(Guide, tests_a_layer_without_processes) {
  EXPECT_EQ(printed(test_without_processes()), "a.txt\nlimit: 5000 ms\n");
}

}  // namespace cofferdam_guide
