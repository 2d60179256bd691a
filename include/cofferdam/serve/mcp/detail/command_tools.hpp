// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/detail/checked_tool.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/tools/arguments.hpp>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Commands as tools: run one, and keep some going.

namespace cofferdam::inline v0::mcp::detail {

using cofferdam::detail::signal_name;

/// Of "TERM". \param wanted  one that the tool's schema has.
inline int signal_number(std::string_view wanted) {
  for (int number = 1; number < 32; ++number)
    if (signal_name(number) == "SIG" + std::string(wanted)) return number;
  return SIGTERM;
}

inline std::string seconds_text(std::chrono::nanoseconds time) {
  const auto hundredths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 10;
  const std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (fraction.size() == 1 ? "0" : "") + fraction + " s";
}

/// What the client gets of an output stream: text for the model, and its facts.
inline void add_stream(std::string& text, const char* name, const captured& stream) {
  if (stream.total() == 0) return;
  const std::string shown = printable_text(stream.text());
  const auto lines = static_cast<std::size_t>(std::count(shown.begin(), shown.end(), '\n')) +
                     (shown.empty() || shown.back() == '\n' ? 0U : 1U);
  text += "--- " + std::string(name) + " (" + std::to_string(lines) + (lines == 1 ? " line" : " lines") +
          (stream.cut() != 0 ? ", middle cut" : "") + ") ---\n" + shown;
  if (!shown.empty() && shown.back() != '\n') text += '\n';
}
inline void add_streams(boost::json::object& facts, const captured& out, const captured& err) {
  facts["stdout"] = out.text();
  facts["stderr"] = err.text();
  facts["stdout_truncated"] = out.cut() != 0;
  facts["stderr_truncated"] = err.cut() != 0;
}

/// `status`, and the first line of the text.
class outcome {
 public:
  const char* status = "failed";
  std::string line;
  bool is_error = false;
};

/// Whether nothing ran because somebody said no.
inline bool is_rejection(error_kind kind) noexcept {
  return kind == error_kind::command_not_allowed || kind == error_kind::absolute_path_detected ||
         kind == error_kind::invalid_argument || kind == error_kind::security_violation;
}

inline std::string why(const std::string& reason, const std::string& advice) {
  return advice.empty() ? reason : reason + "\n" + advice;
}

inline outcome outcome_of(const command_result& result) {
  outcome made;
  const std::string time = " (" + seconds_text(result.duration()) + ")";
  if (result.kind() == error_kind::timeout) {
    made.status = "timeout";
    made.line = "timed out" + time + "; the command and everything it started were killed";
    made.is_error = true;
  } else if (is_rejection(result.kind())) {
    made.status = "rejected";
    made.line = "not run: " + why(result.reason(), result.advice());
    made.is_error = true;
  } else if (result.term_signal() != 0) {
    made.status = "signaled";
    made.line = "killed by " + signal_name(result.term_signal()) + time;
    if (!result.reason().empty()) made.line += ": " + why(result.reason(), result.advice());
  } else if (result.exit_code() >= 0) {
    made.status = "exited";
    made.line = "exit code " + std::to_string(result.exit_code()) + time;
    if (!result.reason().empty()) made.line += ": " + why(result.reason(), result.advice());
  } else {
    made.line = "could not run: " + why(result.reason(), result.advice());
    made.is_error = true;
  }
  return made;
}

inline answer command_answer(const command_result& result) {
  const outcome how = outcome_of(result);
  std::string text = how.line + "\n";
  add_stream(text, "stdout", result.out());
  add_stream(text, "stderr", result.err());
  boost::json::object facts;
  facts["status"] = how.status;
  const std::string_view status = how.status;
  if (status == "exited") facts["exit_code"] = result.exit_code();
  if (status == "signaled") facts["signal"] = signal_name(result.term_signal());
  add_streams(facts, result.out(), result.err());
  facts["stdout_bytes"] = result.out().total();
  facts["stderr_bytes"] = result.err().total();
  facts["duration_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(result.duration()).count();
  if (!result.reason().empty()) facts["reason"] = why(result.reason(), result.advice());
  answer made(text);
  made.structured(std::move(facts)).is_error(how.is_error);
  return made;
}

/// The command tools of a server.
class command_tools {
 public:
  static void add_to(server_core& core) {
    const auto self = std::make_shared<const command_tools>(core.options());
    add_checked(core, self, self->exec_, self->exec_definition(), &command_tools::exec);
    add_checked(core, self, self->start_, self->start_definition(), &command_tools::start);
    add_checked(core, self, self->read_, self->read_definition(), &command_tools::read);
    add_checked(core, self, self->signal_, self->signal_definition(), &command_tools::send_signal);
    add_checked(core, self, self->list_, self->list_definition(), &command_tools::list);
  }

  explicit command_tools(const server_options& options)
      : kept_(options.kept_output()), about_(options.about_environment()), open_world_(options.open_world()) {
    const auto longest = static_cast<double>(options.longest_time().count());
    const std::int64_t usual = std::min(options.command_time(), options.longest_time()).count();
    using tools::argument;
    using tools::argument_kind;
    exec_ = tools::argument_list(
        argument("cmd", argument_kind::text,
                 "The bash command line. May span several lines and use pipes, &&, redirects and here-documents.")
            .required()
            .between(1, 100'000),
        argument("cwd", argument_kind::text, "Directory to run in, relative to the workspace root.")
            .between(1, 4095)
            .otherwise("."),
        argument("timeout_s", argument_kind::integer,
                 "Seconds before the command is killed. Raise it for builds and installs.")
            .between(1, longest)
            .otherwise(usual),
        argument("stdin", argument_kind::text, "Text fed to the command's standard input."));
    start_ = tools::argument_list(
        argument("cmd", argument_kind::text, "The bash command line.").required().between(1, 100'000),
        argument("cwd", argument_kind::text, "Directory to run in, relative to the workspace root.")
            .between(1, 4095)
            .otherwise("."),
        argument("timeout_s", argument_kind::integer,
                 "Seconds before the command is killed. Left out: it runs until it ends, is signaled, or the session "
                 "ends.")
            .between(1, 604'800));
    read_ = tools::argument_list(
        argument("id", argument_kind::text, "What start_command returned.").required().between(1, 100),
        argument("wait_s", argument_kind::integer,
                 "Seconds to wait for new output or the end, where there is neither yet.")
            .between(0, 50)
            .otherwise(0));
    signal_ = tools::argument_list(
        argument("id", argument_kind::text, "What start_command returned.").required().between(1, 100),
        argument("signal", argument_kind::text, "TERM asks it to end, KILL ends it, INT is what ^C sends.")
            .one_of({"TERM", "KILL", "INT", "HUP", "QUIT", "STOP", "CONT", "USR1", "USR2"})
            .otherwise("TERM"));
  }

 private:
  using self_pointer = std::shared_ptr<const command_tools>;

  tool_definition exec_definition() const {
    return tool_definition("code_exec",
                           "Run one command line with bash in the sandbox workspace, wait for it to end, and return "
                           "its exit code, stdout and stderr. Use it to run programs and tests, install packages, and "
                           "inspect, search, move or delete files.\n"
                           "- Every call starts a new shell in `cwd`: exported variables and `cd` do not carry over to "
                           "the next call, files do.\n"
                           "- It is not interactive: stdin is empty unless `stdin` is given. Pass flags such as -y; "
                           "never start an editor, a pager or a REPL.\n"
                           "- A non-zero exit code is a normal result, not a tool failure: read stderr and decide.\n"
                           "- Long output is cut in the middle. To keep all of it, redirect to a file and read parts "
                           "with read_file.\n"
                           "- After `timeout_s` seconds the command and everything it started are killed. For servers "
                           "and long work use start_command." +
                               also())
        .title("Run shell command")
        .output(schema_of(R"({"type":"object","properties":{
          "status":{"type":"string","enum":["exited","signaled","timeout","cancelled","rejected","failed"],"description":"exited: ran to its end, see exit_code. rejected: a policy refused it. failed: the sandbox could not run it."},
          "exit_code":{"type":"integer","description":"Present when status is exited."},
          "signal":{"type":"string","description":"Present when status is signaled, such as SIGKILL."},
          "stdout":{"type":"string"},"stderr":{"type":"string"},
          "stdout_truncated":{"type":"boolean"},"stderr_truncated":{"type":"boolean"},
          "stdout_bytes":{"type":"integer","minimum":0},"stderr_bytes":{"type":"integer","minimum":0},
          "duration_ms":{"type":"integer","minimum":0},
          "reason":{"type":"string","description":"Why, when status is rejected or failed."}},
          "required":["status","stdout","stderr","stdout_truncated","stderr_truncated","duration_ms"],
          "additionalProperties":false})"))
        .hints(false, true, false, open_world_);
  }

  tool_definition start_definition() const {
    return tool_definition("start_command",
                           "Start a command line with bash in the background of the sandbox workspace and return its "
                           "id at once, for servers, watchers and long work. See what it prints with read_output, end "
                           "it with signal_command; list_commands shows all of them. For a command whose result you "
                           "need now use code_exec." +
                               also())
        .title("Start background command")
        .output(schema_of(R"({"type":"object","properties":{"id":{"type":"string"},
          "status":{"type":"string","enum":["running","rejected","failed"]},"reason":{"type":"string"}},
          "required":["status"],"additionalProperties":false})"))
        .hints(false, true, false, open_world_);
  }

  static tool_definition read_definition() {
    return tool_definition("read_output",
                           "Return what a background command has printed since the last read_output for it, and "
                           "whether it still runs. Set `wait_s` to wait for something new instead of asking again and "
                           "again.")
        .title("Read background output")
        .output(schema_of(R"({"type":"object","properties":{"id":{"type":"string"},
          "status":{"type":"string","enum":["running","exited","signaled","timeout","rejected","failed"]},
          "exit_code":{"type":"integer"},"signal":{"type":"string"},
          "stdout":{"type":"string"},"stderr":{"type":"string"},
          "bytes_dropped":{"type":"integer","minimum":0,"description":"How much older output nobody read in time."},
          "more":{"type":"boolean","description":"There is more to read at once."},
          "reason":{"type":"string"}},
          "required":["id","status","stdout","stderr","more"],"additionalProperties":false})"))
        .hints(false, false, false, false);
  }

  static tool_definition signal_definition() {
    return tool_definition("signal_command",
                           "Send a signal to a background command and the processes of its group. Its end shows in "
                           "read_output.")
        .title("Signal background command")
        .output(schema_of(R"({"type":"object","properties":{"id":{"type":"string"},"signal":{"type":"string"},
          "was_running":{"type":"boolean"}},"required":["id","signal","was_running"],"additionalProperties":false})"))
        .hints(false, true, true, false);
  }

  static tool_definition list_definition() {
    return tool_definition("list_commands",
                           "List the background commands of this session: those that run, and those "
                           "that have ended.")
        .title("List background commands")
        .output(schema_of(R"({"type":"object","properties":{"commands":{"type":"array","items":{"type":"object",
          "properties":{"id":{"type":"string"},"cmd":{"type":"string"},"status":{"type":"string"},
          "exit_code":{"type":"integer"},"age_s":{"type":"integer","minimum":0}},
          "required":["id","cmd","status","age_s"],"additionalProperties":false}}},
          "required":["commands"],"additionalProperties":false})"))
        .hints(true, false, true, false);
  }

  std::string also() const { return about_.empty() ? std::string() : "\n- " + about_; }

  static command line_of(const tools::checked_arguments& arguments) {
    command made = shell(arguments.text("cmd"));
    made.working_directory(arguments.text("cwd"));
    return made;
  }

  static awaitable<answer> exec(self_pointer self, call& made, tools::checked_arguments arguments) {
    const std::shared_ptr<workspace> place = made.inside()->place;
    const std::shared_ptr<any_environment> environment = co_await place->environment();
    co_await workspace::take_turn(place);
    const cofferdam::detail::allotted turn = place->turn();
    command line = line_of(arguments);
    line.timeout(std::chrono::seconds(arguments.integer("timeout_s"))).keep_output(self->kept_);
    if (arguments.has("stdin")) line.input(arguments.text("stdin"));
    std::shared_ptr<live_report> report;
    if (environment->can_start()) report = place->report(made.inside(), made.name());
    if (!report) {
      const command_result result = co_await environment->run_command(std::move(line));
      co_return command_answer(result);
    }
    const reporting at_end(report);
    const auto tell = [&report](const chunk& piece) { report->feed(piece.stream(), piece.data()); };
    const command_result result = co_await stream_output(*environment, std::move(line), tell);
    co_return command_answer(result);
  }

  class reservation {
   public:
    explicit reservation(background_commands& of) : of_(of) { of_.reserve(); }
    reservation(const reservation&) = delete;
    reservation& operator=(const reservation&) = delete;
    ~reservation() { of_.release(); }

   private:
    background_commands& of_;
  };

  static awaitable<answer> start(self_pointer, call& made, tools::checked_arguments arguments) {
    const std::shared_ptr<workspace> place = made.inside()->place;
    const std::shared_ptr<any_environment> environment = co_await place->environment();
    const reservation mine(place->commands());
    command line = line_of(arguments);
    line.keep_output(0);
    if (arguments.has("timeout_s")) {
      line.timeout(std::chrono::seconds(arguments.integer("timeout_s")));
    } else {
      line.timeout(no_timeout);
    }
    process running = co_await environment->start(std::move(line));
    const std::shared_ptr<background_command> one =
        place->commands().add(arguments.text("cmd"), environment, std::move(running));
    place->work().spawn(background_command::watch(one));
    boost::json::object facts;
    facts["id"] = one->id;
    facts["status"] = "running";
    answer said("started as " + one->id + "; see read_output\n");
    said.structured(std::move(facts));
    co_return said;
  }

  static std::shared_ptr<background_command> find(const call& made, const tools::checked_arguments& arguments) {
    std::shared_ptr<background_command> found = made.inside()->place->commands().find(arguments.text("id"));
    if (!found)
      throw error(errc::not_found, "there is no background command '" + one_line(arguments.text("id"), 100) +
                                       "' in this session; list_commands shows those there are");
    return found;
  }

  static void add_status(boost::json::object& facts, std::string& line, const background_command& one) {
    if (!one.over()) {
      facts["status"] = "running";
      line = "running";
    } else if (one.result) {
      const outcome how = outcome_of(*one.result);
      facts["status"] = how.status;
      line = how.line;
      if (one.result->exit_code() >= 0) facts["exit_code"] = one.result->exit_code();
    } else {
      facts["status"] = "failed";
      line = "lost: " + one.lost;
    }
  }

  static awaitable<answer> read(self_pointer self, call& made, tools::checked_arguments arguments) {
    const std::shared_ptr<background_command> one = find(made, arguments);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.integer("wait_s"));
    if (arguments.integer("wait_s") > 0) {
      const auto alarm = std::make_shared<asio::steady_timer>(made.inside()->executor, until);
      made.inside()->place->work().spawn(wake(one, alarm));
      const alarm_off at_end(alarm);
      while (one->out.empty() && one->err.empty() && !one->over() && std::chrono::steady_clock::now() < until)
        co_await one->changed.next();
    }
    boost::json::object facts;
    std::string text;
    facts["id"] = one->id;
    add_status(facts, text, *one);
    if (one->result && one->result->term_signal() != 0) facts["signal"] = signal_name(one->result->term_signal());
    if (one->result && !one->result->reason().empty())
      facts["reason"] = why(one->result->reason(), one->result->advice());
    if (!one->result && one->over()) facts["reason"] = one->lost;
    std::uint64_t dropped_out = 0;
    std::uint64_t dropped_err = 0;
    const std::string out = one->out.take(self->kept_, one->over(), dropped_out);
    const std::string err = one->err.take(self->kept_, one->over(), dropped_err);
    const bool more = !(one->out.empty() && one->err.empty()) && out.size() + err.size() != 0;
    text += "\n";
    if (dropped_out + dropped_err != 0)
      text += "(" + std::to_string(dropped_out + dropped_err) + " older bytes were dropped)\n";
    add_stream(text, "stdout", captured(to_bytes(out), bytes(), out.size()));
    add_stream(text, "stderr", captured(to_bytes(err), bytes(), err.size()));
    if (more) text += "(there is more: call read_output again)\n";
    facts["stdout"] = out;
    facts["stderr"] = err;
    facts["bytes_dropped"] = dropped_out + dropped_err;
    facts["more"] = more;
    answer said(text);
    said.structured(std::move(facts));
    co_return said;
  }

  class alarm_off {
   public:
    explicit alarm_off(std::shared_ptr<asio::steady_timer> of) : of_(std::move(of)) {}
    alarm_off(const alarm_off&) = delete;
    alarm_off& operator=(const alarm_off&) = delete;
    ~alarm_off() {
      try {
        of_->cancel();
      } catch (const std::system_error&) {  // then nobody waits
      }
    }

   private:
    std::shared_ptr<asio::steady_timer> of_;
  };
  static awaitable<void> wake(std::shared_ptr<background_command> one, std::shared_ptr<asio::steady_timer> alarm) {
    std::error_code woken;
    co_await alarm->async_wait(asio::redirect_error(asio::use_awaitable, woken));
    one->changed.happened();
  }

  static awaitable<answer> send_signal(self_pointer, call& made, tools::checked_arguments arguments) {
    const std::shared_ptr<background_command> one = find(made, arguments);
    const std::string name = arguments.text("signal");
    const bool was_running = !one->over();
    if (was_running) {
      const int number = signal_number(name);
      co_await background_command::signal(one, number);
    }
    boost::json::object facts;
    facts["id"] = one->id;
    facts["signal"] = "SIG" + name;
    facts["was_running"] = was_running;
    answer said(was_running ? "sent SIG" + name + " to " + one->id + "\n" : one->id + " had ended already\n");
    said.structured(std::move(facts));
    co_return said;
  }

  static awaitable<answer> list(self_pointer, call& made, tools::checked_arguments) {
    boost::json::array all;
    std::string text;
    for (const auto& one : made.inside()->place->commands().all()) {
      boost::json::object facts;
      std::string line;
      facts["id"] = one->id;
      facts["cmd"] = one_line(one->line, 200);
      add_status(facts, line, *one);
      const auto age = std::chrono::steady_clock::now() - one->started;
      facts["age_s"] = std::chrono::duration_cast<std::chrono::seconds>(age).count();
      text += one->id + ": " + one_line(line, 200) + ": " + one_line(one->line, 200) + "\n";
      all.push_back(std::move(facts));
    }
    if (all.empty()) text = "There are no background commands.\n";
    boost::json::object facts;
    facts["commands"] = std::move(all);
    answer said(text);
    said.structured(std::move(facts));
    co_return said;
  }

  std::size_t kept_;
  std::string about_;
  bool open_world_;
  tools::argument_list exec_;
  tools::argument_list start_;
  tools::argument_list read_;
  tools::argument_list signal_;
  tools::argument_list list_;
};

}  // namespace cofferdam::inline v0::mcp::detail
