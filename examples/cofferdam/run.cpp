// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam run` and `cofferdam shell`: one command behind a wall, with pipes or in a terminal.
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>

#include "options.hpp"
#include "outcome.hpp"
#include "place.hpp"
#include "progress.hpp"
#include "relay.hpp"
#include "report.hpp"
#include "session.hpp"
#include "subcommands.hpp"
#include "terminal.hpp"
#include "transfer.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace program {

namespace {

using namespace cofferdam;

/// The shell that `cofferdam shell` opens if no command is given.
constexpr const char* usual_shell = "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi";

command command_of(const run_options& options, relay_kind kind) {
  command wanted =
      options.words.empty() ? shell(options.line.empty() ? usual_shell : options.line) : argv(options.words);
  wanted.timeout(options.work.timeout.value_or(no_timeout))
      .working_directory(options.work.working_directory)
      .open_input();
  if (kind != relay_kind::silent) wanted.keep_output(0);
  if (kind == relay_kind::terminal) {
    const window_size size = size_of_terminal(STDIN_FILENO).value_or(window_size());
    wanted.terminal(size.rows, size.columns);
    if (const char* const type = std::getenv("TERM"); type != nullptr) wanted.variable("TERM", type);
  }
  for (const auto& [name, value] : options.work.variables) wanted.variable(name, value);
  return wanted;
}

void print_result(const command_result& result, const saved_files& saved, int status) {
  boost::json::object object;
  add_end(object, status, result.kind(), result.exit_code(), result.term_signal(), result.reason());
  object["advice"] = nullptr;
  if (!result.advice().empty()) object["advice"] = result.advice();
  add_output(object, result.out(), result.err());
  object["duration_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(result.duration()).count();
  object["cpu_ms"] = nullptr;
  if (result.cpu_time())
    object["cpu_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(*result.cpu_time()).count();
  object["peak_memory"] = nullptr;
  if (result.peak_memory()) object["peak_memory"] = *result.peak_memory();
  add_saved(object, saved);
  add_isolation(object, result.kind(), result.isolation());
  print(object);
}

/// Runs the command in an open environment. Returns the exit status of the program.
awaitable<int> run_inside(session& used, const run_options& options, relay_kind kind, progress& shown,
                          any_environment& inside) {
  shown.clear();
  co_await copy_in(inside, options.work.inputs, shown);
  process running = co_await inside.start(command_of(options, kind));
  std::optional<raw_terminal> raw;
  if (kind == relay_kind::terminal) raw.emplace(STDIN_FILENO);
  relayed end = co_await relay(used, running, kind);
  raw.reset();
  if (end.reader_gone) co_return status_of_signal + SIGPIPE;
  const command_result& result = end.result;
  const saved_files saved = co_await copy_out(inside, options.work.outputs, shown);
  int status = status_of(result.kind(), result.exit_code(), result.term_signal(), result.cause());
  status = status_with(status, saved);
  if (kind == relay_kind::silent) {
    print_result(result, saved, status);
  } else {
    complain_about(result.kind(), result.reason(), result.advice());
    complain_about(saved);
  }
  co_return status;
}

awaitable<int> run_all(session& used, run_options options, relay_kind kind) {
  progress shown(options.work.quiet || kind == relay_kind::silent);
  any_provider place = make_place(options.work.place, &shown);
  if (!options.allow.empty()) place = any_provider(std::move(place) | allow_commands(options.allow));
  const int status = co_await with(std::move(place), [&](any_environment& inside) -> awaitable<int> {
    return run_inside(used, options, kind, shown, inside);
  });
  co_return status;
}

int run_with(const run_options& options, relay_kind kind) {
  session used;
  try {
    return used.run(run_all(used, options, kind));
  } catch (const usage_error&) {
    throw;
  } catch (const std::exception& failure) {
    if (kind != relay_kind::silent) throw;
    print(failure_object(failure.what()));
    return status_own_failure;
  }
}

}  // namespace

int run_command(std::vector<std::string> words) {
  const std::optional<run_options> options = parse_run(std::move(words));
  if (!options) return 0;
  return run_with(*options, options->json ? relay_kind::silent : relay_kind::pipes);
}

int run_shell(std::vector<std::string> words) {
  const std::optional<run_options> options = parse_shell(std::move(words));
  if (!options) return 0;
  if (::isatty(STDIN_FILENO) != 1) refuse("standard input is no terminal; cofferdam run runs commands without one");
  return run_with(*options, relay_kind::terminal);
}

}  // namespace program
