// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Compares Python code in a warm runner (whose interpreter is already running) with a new interpreter for each run. The
// measurements are interleaved:
//   python_bench [ROUNDS [PYTHON [MODULE]]]
// PYTHON is an interpreter itself, not a script that starts one. COFFERDAM_KODEAGENT_PEER names a folder with
// kodeagent, whose runner on the host starts the same PYTHON (benchmarks/macro/kodeagent_peer.sh installs it). The rows
// in a container need the Docker daemon of the tests (tests/docker/daemon.sh). COFFERDAM_DENO and COFFERDAM_PYODIDE
// name Deno and the folder of Pyodide (tests/code/deno_peers.sh installs both). Missing parts are reported and skipped.
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core/environment_ref.hpp>

#include "../support/peer.hpp"
#include "../support/table.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_bench::row;
using nanoseconds = std::chrono::nanoseconds;

/// Runs a process from its start to its end, and discards its output.
void run_process(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
  pid_t pid = -1;
  const int failure = ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (failure != 0 || ::waitpid(pid, &status, 0) != pid || status != 0)
    throw std::runtime_error(words.front() + " failed");
}

template <class Runner>
awaitable<nanoseconds> run_warm(Runner& runner, std::string code) {
  const auto begin = std::chrono::steady_clock::now();
  code_result result = co_await runner.run_code(code_request(std::move(code)));
  const nanoseconds elapsed = std::chrono::steady_clock::now() - begin;
  if (!result.ok()) throw std::runtime_error("a run failed: " + result.reason() + result.err().text());
  co_return elapsed;
}

/// Returns the time that the peer itself measured. It excludes the communication between the peer and this program.
nanoseconds asked(cofferdam_bench::peer& other, const std::string& line) {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(std::stod(other.ask(line))));
}

awaitable<void> plain(std::string interpreter, int rounds) {
  std::vector<row> rows;
  rows.emplace_back("1+1 in a warm runner, a fork for each run");
  rows.emplace_back("PYTHON -c 1+1");
  std::optional<cofferdam_bench::peer> kodeagent;
  if (const char* const peer_folder = std::getenv("COFFERDAM_KODEAGENT_PEER")) {
    const std::string program = std::string(peer_folder) + "/python/bin/python";
    kodeagent.emplace(std::vector<std::string>{program, COFFERDAM_PEERS "/kodeagent_peer.py", interpreter});
    rows.emplace_back("1+1 in kodeagent's runner on the host");
  } else {
    std::printf("not run: COFFERDAM_KODEAGENT_PEER names no folder (benchmarks/macro/kodeagent_peer.sh makes one)\n");
  }
  auto recipe = local().without_warning() | python().interpreter(interpreter);
  auto runner = co_await recipe.open();
  for (int i = -5; i < rounds; ++i) {
    const nanoseconds ours = co_await run_warm(runner, "1+1");
    const nanoseconds cold = cofferdam_bench::timed([&] { run_process({interpreter, "-c", "1+1"}); });
    nanoseconds theirs{};
    if (kodeagent) theirs = asked(*kodeagent, "\"1+1\"");
    if (i < 0) continue;
    rows[0].add(ours);
    rows[1].add(cold);
    if (kodeagent) rows[2].add(theirs);
  }
  co_await runner.close();
  cofferdam_bench::print("1+1, interleaved", rows);
}

awaitable<void> preloaded(std::string interpreter, std::string module, int rounds) {
  try {
    run_process({interpreter, "-c", "import " + module});
  } catch (const std::exception&) {
    std::printf("not run: %s has no module %s\n", interpreter.c_str(), module.c_str());
    co_return;
  }
  std::vector<row> rows;
  rows.emplace_back(module + " used in a warm runner that has it preloaded");
  rows.emplace_back("PYTHON -c import " + module);
  auto recipe = local().without_warning() | python().interpreter(interpreter).preload(module);
  auto runner = co_await recipe.open();
  for (int i = -3; i < rounds; ++i) {
    const nanoseconds ours = co_await run_warm(runner, "import " + module + "\n" + module + ".__name__");
    const nanoseconds cold = cofferdam_bench::timed([&] { run_process({interpreter, "-c", "import " + module}); });
    if (i < 0) continue;
    rows[0].add(ours);
    rows[1].add(cold);
  }
  co_await runner.close();
  cofferdam_bench::print("A module, interleaved", rows);
}

/// Measures the time that guards add to a run of new code. The code is an ordinary script of some 30 lines.
awaitable<void> guarded(std::string interpreter, int rounds) {
  std::string script;
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    script += "def f" + n + "(x):\n    return [y * " + n + " for y in range(x)]\nrows" + n + " = f" + n + "(5)\n";
  }
  std::vector<row> rows;
  rows.emplace_back("a script in a warm runner");
  rows.emplace_back("... behind check_syntax, allow_imports, reject_patterns");
  auto bare = local().without_warning() | python().interpreter(interpreter);
  auto walled = local().without_warning() | python().interpreter(interpreter) | check_syntax() | allow_imports("json") |
                reject_patterns();
  auto runner = co_await bare.open();
  auto guarded = co_await walled.open();
  for (int i = -5; i < rounds; ++i) {
    const std::string code = script + "rows0[1:] + [" + std::to_string(i + 5) + "]";
    const nanoseconds without = co_await run_warm(runner, code);
    const nanoseconds with = co_await run_warm(guarded, code);
    if (i < 0) continue;
    rows[0].add(without);
    rows[1].add(with);
  }
  co_await runner.close();
  co_await guarded.close();
  cofferdam_bench::print("Guards, interleaved", rows);
}

awaitable<void> in_pyodide(int rounds) {
  const char* const deno = std::getenv("COFFERDAM_DENO");
  const char* const folder = std::getenv("COFFERDAM_PYODIDE");
  if (deno == nullptr || folder == nullptr) {
    std::printf("not run: COFFERDAM_DENO and COFFERDAM_PYODIDE name nothing (tests/code/deno_peers.sh gets both)\n");
    co_return;
  }
  std::vector<row> rows;
  rows.emplace_back("runPython('1+1') of a warm Pyodide, one namespace for all");
  rows.emplace_back("1+1 in a warm Pyodide runner, a namespace for each run");
  rows.emplace_back("a Deno and a Pyodide for it");
  cofferdam_bench::peer warm({deno, "run", "--quiet", "--allow-read", COFFERDAM_PEERS "/pyodide_peer.mjs", folder});
  auto recipe = pyodide().deno(deno).folder(folder);
  auto runner = co_await recipe.open();
  for (int i = -5; i < rounds; ++i) {
    const nanoseconds theirs = asked(warm, "\"1+1\"");
    const nanoseconds ours = co_await run_warm(runner, "1+1");
    std::optional<nanoseconds> cold;
    if (i % 20 == 0) {
      cold = cofferdam_bench::timed([&] {
        cofferdam_bench::peer fresh(
            {deno, "run", "--quiet", "--allow-read", COFFERDAM_PEERS "/pyodide_peer.mjs", folder});
        asked(fresh, "\"1+1\"");
      });
    }
    if (i < 0) continue;
    rows[0].add(theirs);
    rows[1].add(ours);
    if (cold) rows[2].add(*cold);
  }
  co_await runner.close();
  cofferdam_bench::print("1+1 in Pyodide, interleaved", rows);
}

awaitable<void> contained(int rounds) {
  const char* const address = std::getenv("COFFERDAM_TEST_DOCKER");
  if (address == nullptr) {
    std::printf("not run: there is no Docker daemon of the tests' own\n");
    co_return;
  }
  std::vector<row> rows;
  rows.emplace_back("1+1 in a warm runner in a container");
  rows.emplace_back("docker exec python3 -c 1+1");
  auto recipe = docker::from_image("cofferdam-test/debian").daemon(docker::daemon_choice().address(address));
  auto environment = co_await recipe.open();
  const std::string container = environment.container_name();
  auto inside = environment_ref(environment) | python();
  auto runner = co_await inside.open();
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer settling(executor);
  for (int i = -3; i < rounds; ++i) {
    // After an exec the daemon is still busy with cleaning up. The pause keeps this work out of the next measurement.
    settling.expires_after(std::chrono::milliseconds(30));
    co_await settling.async_wait(asio::use_awaitable);
    const nanoseconds ours = co_await run_warm(runner, "1+1");
    settling.expires_after(std::chrono::milliseconds(30));
    co_await settling.async_wait(asio::use_awaitable);
    const nanoseconds theirs = cofferdam_bench::timed([&] {
      run_process({"docker", "-H", address, "exec", container, "python3", "-c", "1+1"});
    });
    if (i < 0) continue;
    rows[0].add(ours);
    rows[1].add(theirs);
  }
  co_await runner.close();
  co_await environment.close();
  cofferdam_bench::print("1+1 in a container, interleaved", rows);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 200;
  const std::string interpreter = count > 2 ? arguments[2] : "/usr/bin/python3";
  const std::string module = count > 3 ? arguments[3] : "pandas";
  int status = 0;
  asio::io_context loop(1);
  const auto work = [&]() -> awaitable<void> {
    co_await plain(interpreter, rounds);
    co_await preloaded(interpreter, module, std::max(5, rounds / 10));
    co_await contained(std::max(5, rounds / 4));
    co_await guarded(interpreter, rounds);
    co_await in_pyodide(rounds);
  };
  const auto ended = [&](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "python_bench: %s\n", error.what());
      status = 1;
    }
  };
  asio::co_spawn(loop, work, ended);
  loop.run();
  return status;
}
