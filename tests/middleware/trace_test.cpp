// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/core/trace_file.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/trace.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace trace_tests {

using namespace cofferdam;
using cofferdam::testing::any_command;
using cofferdam::testing::fail_with;
using cofferdam::testing::fake_provider;
using cofferdam::testing::reply;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

static_assert(streaming_environment<trace_layer<full_fake>> && file_environment<trace_layer<full_fake>>);
static_assert(suspendable_environment<trace_layer<full_fake>> && !streaming_environment<trace_layer<plain_fake>>);
// The function cannot change an event.
static_assert(!std::constructible_from<trace, void (*)(trace_event&)>);

/// A record of events.
class record {
 public:
  std::vector<trace_event> events;

  trace layer() {
    const auto add = [this](const trace_event& event) { events.push_back(event); };
    return trace(add);
  }
  std::vector<std::string> operations() const {
    std::vector<std::string> names;
    for (const trace_event& each : events) names.push_back(each.operation());
    return names;
  }
  const trace_event& at(std::string_view operation) const {
    for (const trace_event& each : events)
      if (each.operation() == operation) return each;
    throw std::out_of_range(std::string(operation));
  }
};

/// A file in a new directory, which is removed at the end.
class temporary_file {
 public:
  temporary_file() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cofferdam-trace-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder = pattern;
    path = folder / "trace.jsonl";
  }
  ~temporary_file() { std::filesystem::remove_all(folder); }

  std::vector<boost::json::object> lines() const {
    std::vector<boost::json::object> parsed;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) parsed.push_back(boost::json::parse(line).as_object());
    return parsed;
  }

  std::filesystem::path folder;
  std::filesystem::path path;
};

std::vector<std::string>& warnings() {
  static std::vector<std::string> received;
  return received;
}

/// Records warnings while it exists.
class warning_record {
 public:
  warning_record() { warnings().clear(); }
  ~warning_record() { set_warning_handler(before_); }

 private:
  warning_handler before_ = set_warning_handler([](std::string_view text) { warnings().emplace_back(text); });
};

/// Expects that an operation throws an error with this code.
template <class Begin>
awaitable<void> expect_code(Begin begin, exec_errc code) {
  std::error_code thrown;
  try {
    static_cast<void>(co_await begin());
  } catch (const error& failure) {
    thrown = failure.code();
  }
  EXPECT_EQ(thrown, code);
}

/// Returns the command line in the event of a command.
std::string line_of(const command& c, const std::function<void(trace&)>& change = nullptr) {
  record log;
  trace layer = log.layer();
  if (change) change(layer);
  fake_provider fake;
  fake.on(any_command, reply(""));
  run([&]() -> awaitable<void> {
    co_await with(fake | layer, [&](auto& env) -> awaitable<void> { co_await env.run_command(c); });
  });
  return log.at("run_command").text("process.command_line");
}

// Feature: I10
TEST(Trace, writes_one_line_of_json_for_each_operation) {
  temporary_file file;
  const auto journey = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    co_await with(cofferdam_test::fake_provider<full_fake>(journey) | trace(file.path),
                  [](auto& env) -> awaitable<void> {
                    co_await env.run_command(shell("x").label("first"));
                    process started = co_await env.start(argv("/bin/ls", "-l"));
                    co_await started.wait();
                    co_await started.wait();
                    co_await env.read_file("r", 100);
                    co_await env.write_file("w", bytes(7));
                    co_await env.files().stat("s");
                    co_await env.files().list("l");
                    co_await env.files().make_directory("m");
                    co_await env.files().remove("d");
                    co_await env.files().rename("f", "t");
                    co_await env.pause();
                    co_await env.resume();
                    co_await env.snapshot();
                    co_await env.close();
                  });
  });
  const std::vector<boost::json::object> lines = file.lines();
  std::vector<std::string> names;
  for (const boost::json::object& each : lines) names.emplace_back(each.at("name").as_string());
  EXPECT_EQ(names, (std::vector<std::string>{"open", "execute_tool run_command", "execute_tool start",
                                             "execute_tool read_file", "execute_tool write_file", "execute_tool stat",
                                             "execute_tool list", "execute_tool make_directory", "execute_tool remove",
                                             "execute_tool rename", "pause", "resume", "snapshot", "close"}));
  ASSERT_EQ(lines.size(), 14U);
  EXPECT_EQ(lines[1].at("cofferdam.operation"), "run_command");
  EXPECT_EQ(lines[1].at("gen_ai.operation.name"), "execute_tool");
  EXPECT_EQ(lines[1].at("gen_ai.tool.name"), "run_command");
  EXPECT_EQ(lines[1].at("process.command_line"), "x");
  EXPECT_EQ(lines[1].at("cofferdam.command.label"), "first");
  EXPECT_FALSE(lines[2].contains("cofferdam.command.label"));
  EXPECT_EQ(lines[1].at("process.exit.code"), 0);
  EXPECT_FALSE(lines[1].contains("error.type"));
  EXPECT_EQ(lines[2].at("process.command_line"), "/bin/ls -l");
  EXPECT_EQ(lines[2].at("process.executable.name"), "ls");
  EXPECT_EQ(lines[3].at("file.path"), "r");
  EXPECT_EQ(lines[3].at("file.size"), 12);
  EXPECT_EQ(lines[4].at("file.size"), 7);
  EXPECT_EQ(lines[9].at("cofferdam.file.destination"), "t");
  EXPECT_EQ(lines[12].at("cofferdam.snapshot"), "name");
  for (const boost::json::object& each : lines) {
    EXPECT_EQ(each.at("cofferdam.environment.id"), lines[0].at("cofferdam.environment.id"));
    EXPECT_EQ(each.at("cofferdam.environment.id").as_string().size(), 16U);
    EXPECT_TRUE(each.at("duration").is_double());
    EXPECT_EQ(each.at("time").as_string().size(), 27U);  // 2026-01-31T23:59:59.123456Z
  }
  struct stat status {};
  ASSERT_EQ(::stat(file.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Trace, reports_how_an_operation_has_ended) {
  record log;
  fake_provider fake;
  fake.on(argv("ok"), reply("four").err("sixsix"));
  fake.on(argv("three"), reply("").exit_code(3));
  fake.on(argv("lost"), fail_with(error(exec_errc::provider_lost, "gone")));
  fake.file("a.txt", "contents");
  run([&]() -> awaitable<void> {
    co_await with(fake | allow_commands("ok", "three", "lost") | log.layer(), [&](auto& env) -> awaitable<void> {
      co_await env.run_command("ok");
      co_await env.run_command("three");
      co_await env.run_command("rm x");
      const auto loses = [&] { return env.run_command("lost"); };
      const auto reads = [&] { return env.read_file("none", 10); };
      co_await expect_code(loses, exec_errc::provider_lost);
      co_await expect_code(reads, exec_errc::not_found);
    });
  });
  ASSERT_EQ(log.operations(), (std::vector<std::string>{"open", "run_command", "run_command", "run_command",
                                                        "run_command", "read_file", "close"}));
  EXPECT_EQ(log.events[1].text("cofferdam.stdout.bytes"), "4");
  EXPECT_EQ(log.events[1].text("cofferdam.stderr.bytes"), "6");
  EXPECT_EQ(log.events[1].error_type(), "");
  EXPECT_EQ(log.events[2].text("process.exit.code"), "3");
  EXPECT_EQ(log.events[2].error_type(), "exit_status");
  EXPECT_EQ(log.events[3].error_type(), "command_not_allowed");
  EXPECT_EQ(log.events[3].find("process.exit.code"), nullptr);
  EXPECT_EQ(log.events[4].error_type(), "provider_lost");
  EXPECT_EQ(log.events[5].error_type(), "not_found");
  EXPECT_EQ(log.events[5].text("file.path"), "none");
}

TEST(Trace, measures_the_time_of_an_operation) {
  record log;
  fake_provider fake;
  fake.on("slow", reply("").after(std::chrono::milliseconds(30)));
  const auto before = std::chrono::system_clock::now();
  run([&]() -> awaitable<void> {
    co_await with(fake | log.layer(), [](auto& env) -> awaitable<void> { co_await env.run_command("slow"); });
  });
  EXPECT_GE(log.at("run_command").duration(), std::chrono::milliseconds(30));
  EXPECT_LT(log.at("run_command").duration(), std::chrono::seconds(30));
  EXPECT_GE(log.at("run_command").start(), before);
  EXPECT_LE(log.at("run_command").start(), std::chrono::system_clock::now());
}

/// A provider that cannot open.
class closed_provider {
 public:
  awaitable<plain_fake> open() const {
    throw error(exec_errc::provider_failed, "no");
    co_return plain_fake(nullptr);
  }
};

TEST(Trace, reports_an_environment_that_cannot_be_opened) {
  record log;
  run([&]() -> awaitable<void> {
    const auto provider = closed_provider() | log.layer();
    const auto opens = [&] { return provider.open(); };
    co_await expect_code(opens, exec_errc::provider_failed);
  });
  ASSERT_EQ(log.operations(), (std::vector<std::string>{"open"}));
  EXPECT_EQ(log.events[0].error_type(), "provider_failed");
}

/// An environment in a container.
class contained_fake : public plain_fake {
 public:
  using plain_fake::plain_fake;
  const std::string& container_id() const {
    static const std::string id = "c0ffee";
    return id;
  }
};

TEST(Trace, tells_environments_apart) {
  record log;
  const auto journey = std::make_shared<journal>();
  run([&]() -> awaitable<void> {
    const auto nothing = [](auto&) -> awaitable<void> { co_return; };
    const auto provider = cofferdam_test::fake_provider<contained_fake>(journey) | log.layer();
    co_await with(provider, nothing);
    co_await with(provider, nothing);
  });
  ASSERT_EQ(log.operations(), (std::vector<std::string>{"open", "close", "open", "close"}));
  EXPECT_EQ(log.events[0].text("cofferdam.environment.id"), log.events[1].text("cofferdam.environment.id"));
  EXPECT_NE(log.events[0].text("cofferdam.environment.id"), log.events[2].text("cofferdam.environment.id"));
  for (const trace_event& each : log.events) EXPECT_EQ(each.text("container.id"), "c0ffee");
}

TEST(Trace, reports_a_process_when_it_has_ended_or_is_dropped) {
  record log;
  fake_provider fake;
  fake.on("quick", reply("abc").exit_code(2));
  fake.on("endless", reply("").after(std::chrono::seconds(20)));
  run([&]() -> awaitable<void> {
    co_await with(fake | log.layer(), [&](auto& env) -> awaitable<void> {
      process quick = co_await env.start("quick");
      EXPECT_EQ(log.operations(), (std::vector<std::string>{"open"}));
      co_await std::move(quick).wait();
      EXPECT_EQ(log.operations(), (std::vector<std::string>{"open", "start"}));
      EXPECT_EQ(log.events.back().text("process.exit.code"), "2");
      EXPECT_EQ(log.events.back().text("cofferdam.stdout.bytes"), "3");
      { process endless = co_await env.start("endless"); }
      EXPECT_EQ(log.events.size(), 3U);
      EXPECT_EQ(log.events.back().operation(), "start");
      EXPECT_EQ(log.events.back().error_type(), "cancelled");
    });
  });
}

/// An environment whose commands end by themselves only after a while.
class slow_fake : public plain_fake {
 public:
  using plain_fake::plain_fake;
  awaitable<command_result> run_command(command) {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(100));
    co_await timer.async_wait(asio::use_awaitable);
    co_return command_result::exited(0);
  }
};

TEST(Trace, reports_a_cancelled_operation_once) {
  bool has_cancelled = false;
  bool has_destroyed = false;
  for (std::size_t step = 0; step < 8; ++step) {
    for (const bool destroys : {false, true}) {
      record log;
      const auto journey = std::make_shared<journal>();
      const auto work = [&]() -> awaitable<void> {
        auto env = slow_fake(journey) | log.layer();
        co_await env.run_command("slow");
      };
      std::exception_ptr failure;
      if (destroys) {
        cofferdam_test::destroy_after(step, work);
      } else {
        cofferdam_test::cancel_after(step, work, failure);
      }
      ASSERT_LE(log.events.size(), 1U) << step;
      if (log.events.empty()) continue;  // ended before the command began
      EXPECT_EQ(log.events[0].operation(), "run_command") << step;
      if (log.events[0].error_type() == "cancelled") (destroys ? has_destroyed : has_cancelled) = true;
    }
  }
  EXPECT_TRUE(has_cancelled && has_destroyed);
}

TEST(Trace, reports_files_that_are_fetched_when_they_were_read) {
  record log;
  fake_provider fake;
  fake.file("a", "12345").file("b", "678");
  run([&]() -> awaitable<void> {
    co_await with(fake | log.layer(), [&](auto& env) -> awaitable<void> {
      std::vector<file_request> requests;
      requests.emplace_back("a", "a");
      requests.emplace_back("none", "none");
      requests.emplace_back("b", "b");
      std::unique_ptr<file_source> source = co_await env.files().get_files(requests);
      EXPECT_EQ(log.operations(), (std::vector<std::string>{"open"}));
      while (true) {
        std::optional<file_header> header = co_await source->next();
        if (!header) break;
        if (header->failure()) continue;
        while (true) {
          bytes piece = co_await source->read(4);
          if (piece.empty()) break;
        }
      }
      EXPECT_EQ(log.operations(), (std::vector<std::string>{"open", "get_files"}));
      source.reset();
    });
  });
  ASSERT_EQ(log.operations(), (std::vector<std::string>{"open", "get_files", "close"}));
  EXPECT_EQ(log.events[1].text("cofferdam.transfer.bytes"), "8");
  EXPECT_EQ(log.events[1].text("cofferdam.file.count"), "2");
  EXPECT_EQ(log.events[1].text("cofferdam.file.failed"), "1");
  EXPECT_EQ(log.events[1].error_type(), "not_found");
}

TEST(Trace, never_has_input_variables_or_contents) {
  temporary_file file;
  fake_provider fake;
  fake.on(any_command, reply("s3cr3t-output").err("s3cr3t-errors"));
  fake.file("a.txt", "s3cr3t-content");
  run([&]() -> awaitable<void> {
    co_await with(fake | trace(file.path), [](auto& env) -> awaitable<void> {
      command c = shell("cat > f <<'EOF'\ns3cr3t-document\nEOF\n");
      c.input("s3cr3t-input").variable("NAME", "s3cr3t-variable");
      co_await env.run_command(c);
      command repeats = shell("echo s3cr3t-variable and more");
      repeats.variable("NAME", "s3cr3t-variable");
      co_await env.run_command(repeats);
      command script = argv("python3", "-c", "import this\ns3cr3t-code");
      co_await env.run_command(script);
      co_await env.read_file("a.txt", 100);
      co_await env.write_file("b.txt", to_bytes("s3cr3t-written"));
    });
  });
  std::ifstream in(file.path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text.find("s3cr3t"), std::string::npos) << text;
  EXPECT_NE(text.find("cat > f <<'EOF' ..."), std::string::npos) << text;  // the control: commands are there
  EXPECT_NE(text.find("echo [redacted] and more"), std::string::npos) << text;
}

TEST(Trace, hides_what_looks_like_a_secret) {
  const auto shown = [](std::string line) { return line_of(shell(std::move(line))); };
  EXPECT_EQ(shown("API_KEY=abc123 ./run --fast"), "API_KEY=[redacted] ./run --fast");
  EXPECT_EQ(shown("export DB_PASSWORD='a b c'; ls"), "export DB_PASSWORD='[redacted]'; ls");
  EXPECT_EQ(shown("export P_TOKEN=\"a\\\"b c\"; ls"), "export P_TOKEN=\"[redacted]\"; ls");
  EXPECT_EQ(shown("login --password hunter2 --user me"), "login --password [redacted] --user me");
  EXPECT_EQ(shown("login --password='hun ter2' x"), "login --password='[redacted]' x");
  EXPECT_EQ(shown("bash -c \"TOKEN=a b\" x"), "bash -c \"TOKEN=[redacted]\" x");
  EXPECT_EQ(shown("curl -H \"Authorization: Bearer abc.def\" http://h/p"),
            "curl -H \"Authorization: [redacted]\" http://h/p");
  EXPECT_EQ(shown("curl -H 'X-Api-Key: abc def' h"), "curl -H 'X-Api-Key: [redacted]' h");
  EXPECT_EQ(shown("curl -u me:pass:word h"), "curl -u me:[redacted] h");
  EXPECT_EQ(shown("curl -u \"me:pass word\" h"), "curl -u \"me:[redacted]\" h");
  EXPECT_EQ(shown("git clone https://me:pw@host/x.git"), "git clone https://[redacted]@host/x.git");
  EXPECT_EQ(shown("post '{\"password\": \"abc\", \"n\": 1}'"), "post '{\"password\": \"[redacted]\", \"n\": 1}'");
  EXPECT_EQ(shown("post \"{\\\"secret\\\": \\\"abc\\\"}\""), "post \"{\\\"secret\\\": \\\"[redacted]\\\"}\"");
  EXPECT_EQ(shown("get 'http://h/p?access_token=abc&x=1'"), "get 'http://h/p?access_token=[redacted]'");
  EXPECT_EQ(shown("echo ghp_0123456789abcdefghij0123"), "echo [redacted]");
  EXPECT_EQ(line_of(argv("login", "--password=a b", "x")), "login '--password=[redacted]' x");
  EXPECT_EQ(line_of(argv("login", "--token", "a b", "x")), "login --token '[redacted]' x");
  EXPECT_EQ(line_of(argv("curl", "-u", "me:a b", "x")), "curl -u 'me:[redacted]' x");
  // The rest stays.
  for (const char* plain : {"ls -la /tmp", "make -j 4 CC=gcc", "echo 'a = b'", "curl http://h:80/p?q=1", "id -u"})
    EXPECT_EQ(shown(plain), plain);
}

TEST(Trace, hides_secrets_of_the_program_and_can_leave_out_commands) {
  const secret_string mine(std::string("open sesame"));
  EXPECT_EQ(line_of(shell("say open sesame now"), [&](trace& layer) { layer.hide(mine); }), "say [redacted] now");
  EXPECT_EQ(line_of(shell("say open"), [](trace& layer) { layer.command_characters(0); }), "");
  EXPECT_EQ(line_of(shell("0123456789"), [](trace& layer) { layer.command_characters(4); }), "0123...");
  EXPECT_EQ(line_of(shell(std::string(10'000, 'x'))), std::string(200, 'x') + "...");
  EXPECT_EQ(line_of(shell("\xc3\xa4\xff")), "\xc3\xa4\xef\xbf\xbd");
}

TEST(Trace, is_quick_for_a_hostile_command) {
  for (const std::string& part : {std::string("-u a "), std::string("TOKEN="), std::string("://"), std::string("\"'"),
                                  std::string("Bearer "), std::string("--token ")}) {
    std::string line;
    while (line.size() < 2'000'000) line += part;
    const auto before = std::chrono::steady_clock::now();
    line_of(shell(line));
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5)) << part;
  }
}

TEST(Trace, never_fails_an_operation_because_of_its_function) {
  const warning_record record_warnings;
  fake_provider fake;
  fake.on("ls", reply("a"));
  const auto throws = [](const trace_event&) { throw std::runtime_error("broken"); };
  run([&]() -> awaitable<void> {
    co_await with(fake | trace(throws), [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command("ls");
      EXPECT_TRUE(result.ok());
    });
  });
  ASSERT_EQ(warnings().size(), 1U);
  EXPECT_NE(warnings()[0].find("broken"), std::string::npos);
}

TEST(TraceFile, warns_once_and_fails_nothing_if_it_cannot_write) {
  temporary_file file;
  const warning_record record_warnings;
  fake_provider fake;
  fake.on("ls", reply("a"));
  run([&]() -> awaitable<void> {
    const trace_file log(file.folder / "none" / "trace.jsonl");
    const auto uses = [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command("ls");
      EXPECT_TRUE(result.ok());
    };
    co_await with(fake | trace(log), uses);
    co_await with(fake | trace(log), uses);
  });
  ASSERT_EQ(warnings().size(), 1U);
  EXPECT_NE(warnings()[0].find("none/trace.jsonl"), std::string::npos) << warnings()[0];
}

TEST(TraceFile, is_not_blocked_or_killed_by_a_pipe) {
  temporary_file file;
  const warning_record record_warnings;
  ASSERT_EQ(::mkfifo(file.path.c_str(), 0600), 0);
  const trace_file log(file.path);
  log(trace_event("a", "a"));  // no reader
  EXPECT_EQ(warnings().size(), 1U);
  const trace_file full("/dev/full");
  full(trace_event("a", "a"));
  EXPECT_EQ(warnings().size(), 2U);
}

TEST(TraceFile, appends_whole_lines_from_several_threads) {
  temporary_file file;
  const trace_file log(file.path);
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&log] {
      const trace_file other = log;
      for (int n = 0; n < 200; ++n) other(trace_event("op", std::string(500, 'x')));
    });
  for (std::thread& each : writers) each.join();
  EXPECT_EQ(file.lines().size(), 800U);  // each line is an object of JSON
}

TEST(TraceEvent, escapes_what_would_break_a_line_or_mislead) {
  trace_event event("op", "a\"b\\c\nd\x1b\xff");
  event.set("x", std::string("\xe2\x80\xae\xf3\xa0\x81\x81z", 8)).set("n", std::int64_t{-5});
  const std::string line = event.end().json();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(line.find("\\u202e\\udb40\\udc41z"), std::string::npos) << line;
  const boost::json::object parsed = boost::json::parse(line).as_object();
  EXPECT_EQ(parsed.at("name"), "a\"b\\c\nd\x1b\xef\xbf\xbd");
  EXPECT_EQ(parsed.at("n"), -5);
}

TEST(Trace, refuses_an_empty_function_and_path) {
  const std::function<void(const trace_event&)> empty;
  EXPECT_THROW(trace{empty}, error);
  EXPECT_THROW(static_cast<void>(trace(std::filesystem::path{})), error);
}

}  // namespace trace_tests
