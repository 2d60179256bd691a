// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Compares a command with the least that it can cost: posix_spawn and waitpid of the same shell, with the same
// arguments, environment variables and folder.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/limit_output.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/variables.hpp>
#include <cofferdam/os/command_request.hpp>

#include "../support/table.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_bench::row;
using cofferdam_bench::timed;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& text : strings) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Runs a program by posix_spawn, and waits for its end. This is the floor for a command whose output is not read.
void spawn_and_wait(const std::string& program, std::vector<std::string> words, std::vector<std::string> variables,
                    const std::string& folder) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (failed != 0 || ::waitpid(pid, &status, 0) != pid || status != 0) throw std::runtime_error("posix_spawn failed");
}

/// Runs a program by posix_spawn, and reads both outputs to their ends. This is the floor for a command whose output is
/// read.
void spawn_and_drain(const std::string& program, std::vector<std::string> words, std::vector<std::string> variables,
                     const std::string& folder) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  char buffer[65536];
  while (::read(out[0], buffer, sizeof buffer) > 0) continue;
  while (::read(err[0], buffer, sizeof buffer) > 0) continue;
  ::close(out[0]);
  ::close(err[0]);
  int status = 0;
  if (failed != 0 || ::waitpid(pid, &status, 0) != pid || status != 0) throw std::runtime_error("posix_spawn failed");
}

template <class E>
awaitable<std::chrono::nanoseconds> timed_run(E& env, command c) {
  const auto before = std::chrono::steady_clock::now();
  command_result result = co_await env.run_command(std::move(c));
  const auto took = std::chrono::steady_clock::now() - before;
  if (!result.ok()) throw std::runtime_error("the command failed: " + result.reason());
  co_return took;
}

/// Opens an environment on the executor of the coroutine that awaits this one.
awaitable<std::unique_ptr<local_environment>> opened() {
  const local recipe = local().without_warning();
  local_environment env = co_await recipe.open();
  co_return std::make_unique<local_environment>(std::move(env));
}

/// Compares two environments. The first was opened on a strand, so its commands stay on that strand. The second was
/// opened on a plain executor, so each command switches to the environment's own strand and back.
awaitable<void> compare_strands(int rounds) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const asio::any_io_executor strand = asio::make_strand(executor);
  const std::unique_ptr<local_environment> hops = co_await opened();
  const std::unique_ptr<local_environment> stays = co_await asio::co_spawn(strand, opened(), asio::use_awaitable);
  std::vector<row> rows;
  rows.emplace_back("opened on an asio::strand: stays there");
  rows.emplace_back("opened on the loop: has a strand of its own");
  for (int i = -20; i < rounds; ++i) {
    const std::chrono::nanoseconds on_strand =
        co_await asio::co_spawn(strand, timed_run(*stays, shell("true")), asio::use_awaitable);
    const std::chrono::nanoseconds here = co_await timed_run(*hops, shell("true"));
    if (i < 0) continue;  // warm-up
    rows[0].add(on_strand);
    rows[1].add(here);
  }
  cofferdam_bench::print("run_command(shell(\"true\")) on a loop with one thread, interleaved", rows);
  co_await hops->close();
  co_await asio::co_spawn(strand, stays->close(), asio::use_awaitable);
}

awaitable<void> compare(int rounds) {
  const local recipe = local().without_warning();
  local_environment bare = co_await recipe.open();
  const local direct_recipe = local().without_warning().warden(warden_policy::never);
  local_environment direct = co_await direct_recipe.open();
  local_environment below = co_await recipe.open();
  auto five = std::move(below) | timeout(std::chrono::seconds(60)) | limit_output(65536) | variables("A", "b") |
              timeout(std::chrono::seconds(50)) | limit_output(32768);
  local_environment erased_below = co_await recipe.open();
  any_environment erased(std::move(erased_below));

  const std::string shell_path = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  const std::string shell_name = shell_path.substr(5);
  const std::string folder = bare.workspace().string();
  const std::vector<std::string> words{shell_name, "-c", "--", "true"};
  const std::vector<std::string> variables{"PATH=" + std::string(default_path), "HOME=" + folder, "LANG=C.UTF-8",
                                           "TERM=dumb", "TMPDIR=" + folder};

  std::vector<row> rows;
  rows.emplace_back("posix_spawn + waitpid of " + shell_name + " -c true");
  rows.emplace_back("the same, both outputs drained through pipes");
  rows.emplace_back("run_command(shell(\"true\"))");
  rows.emplace_back("... without a warden");
  rows.emplace_back("... behind five layers");
  rows.emplace_back("... behind any_environment");
  for (int i = -20; i < rounds; ++i) {
    std::vector<std::chrono::nanoseconds> times;
    times.push_back(timed([&] { spawn_and_wait(shell_path, words, variables, folder); }));
    times.push_back(timed([&] { spawn_and_drain(shell_path, words, variables, folder); }));
    const std::chrono::nanoseconds by_bare = co_await timed_run(bare, shell("true"));
    times.push_back(by_bare);
    const std::chrono::nanoseconds by_direct = co_await timed_run(direct, shell("true"));
    times.push_back(by_direct);
    const std::chrono::nanoseconds by_five = co_await timed_run(five, shell("true"));
    times.push_back(by_five);
    const std::chrono::nanoseconds by_erased = co_await timed_run(erased, shell("true"));
    times.push_back(by_erased);
    if (i < 0) continue;  // warm-up
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].add(times[k]);
  }
  cofferdam_bench::print("One command, interleaved", rows);
  co_await bare.close();
  co_await direct.close();
  co_await five.close();
  co_await erased.close();
}

/// Runs a program by fork and execve. A fork copies the page tables, which is slow if the host holds much memory. The
/// library avoids such a fork, because the warden (a small helper process) starts the commands.
void fork_and_wait(const std::string& program, std::vector<std::string> words, std::vector<std::string> variables) {
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execve(program.c_str(), arguments.data(), environment.data());
    ::_exit(127);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || status != 0) throw std::runtime_error("fork failed");
}

/// Memory that this program holds and has written to, as a host with much data does.
class ballast {
 public:
  explicit ballast(std::size_t size) : size_(size) {
    memory_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory for the ballast");
    ::madvise(memory_, size, MADV_NOHUGEPAGE);  // small pages, as in a heap that has grown gradually
    for (std::size_t at = 0; at < size; at += 4096) static_cast<char*>(memory_)[at] = 1;
  }
  ballast(const ballast&) = delete;
  ballast& operator=(const ballast&) = delete;
  ~ballast() { ::munmap(memory_, size_); }

 private:
  void* memory_;
  std::size_t size_;
};

awaitable<void> compare_with_memory(int rounds) {
  const ballast memory(std::size_t{4} << 30);
  const local recipe = local().without_warning();
  local_environment env = co_await recipe.open();
  const std::string folder = env.workspace().string();
  const std::string shell_path = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  const std::vector<std::string> words{shell_path.substr(5), "-c", "--", "true"};
  const std::vector<std::string> variables{"PATH=" + std::string(default_path), "HOME=" + folder, "LANG=C.UTF-8",
                                           "TERM=dumb", "TMPDIR=" + folder};
  std::vector<row> rows;
  rows.emplace_back("posix_spawn + waitpid");
  rows.emplace_back("run_command(shell(\"true\"))");
  for (int i = -20; i < rounds; ++i) {
    const std::chrono::nanoseconds floor = timed([&] { spawn_and_wait(shell_path, words, variables, folder); });
    const std::chrono::nanoseconds ours = co_await timed_run(env, shell("true"));
    if (i < 0) continue;
    rows[0].add(floor);
    rows[1].add(ours);
  }
  cofferdam_bench::print("One command while the host holds 4 GiB, interleaved", rows);
  // Measured separately, because a fork of this size disturbs the measurements after it.
  std::vector<row> forked;
  forked.emplace_back("fork + execve + waitpid");
  for (int i = -2; i < std::max(5, rounds / 20); ++i) {
    const std::chrono::nanoseconds time = timed([&] { fork_and_wait(shell_path, words, variables); });
    if (i >= 0) forked[0].add(time);
  }
  cofferdam_bench::print("The same by a host that forks", forked);
  co_await env.close();
}

awaitable<void> drain(int rounds) {
  const local recipe = local().without_warning();
  local_environment env = co_await recipe.open();
  constexpr const char* produce = "exec head -c 1073741824 /dev/zero";
  const std::string folder = env.workspace().string();
  std::vector<row> rows;
  rows.emplace_back("1 GiB by a bare read loop");
  rows.emplace_back("1 GiB by run_command, 64 KiB kept");
  for (int i = -1; i < rounds; ++i) {
    const std::chrono::nanoseconds floor = timed([&] {
      spawn_and_drain("/bin/sh", {"sh", "-c", produce}, {"PATH=" + std::string(default_path)}, folder);
    });
    const std::chrono::nanoseconds ours = co_await timed_run(env, shell(produce).keep_output(65536));
    if (i < 0) continue;
    rows[0].add(floor);
    rows[1].add(ours);
  }
  cofferdam_bench::print("Draining output, interleaved", rows);
  co_await env.close();
}

/// Measures the delay of a 1 ms timer repeatedly, until `done` is true.
awaitable<void> tick(row& late, const bool& done) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!done) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    timer.expires_at(due);
    co_await timer.async_wait(asio::use_awaitable);
    late.add(std::chrono::steady_clock::now() - due);
  }
}

/// Runs a thousand commands at once, and measures how late the timers of the event loop fire.
awaitable<void> crowd(int commands) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  rlimit more = files;
  more.rlim_cur = std::min<rlim_t>(files.rlim_max, static_cast<rlim_t>(commands) * 4 + 256);
  ::setrlimit(RLIMIT_NOFILE, &more);
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const local recipe = local().without_warning();
  local_environment env = co_await recipe.open();
  const std::string folder = env.workspace().string();
  std::vector<row> rows;
  rows.emplace_back("a loop that only ticks");
  rows.emplace_back("... while a thread starts 1000 shells by posix_spawn");
  rows.emplace_back("... while it runs 1000 commands");
  for (int turn = 0; turn < 5; ++turn) {
    const auto ended = [](bool& flag) { return [&flag](std::exception_ptr) { flag = true; }; };
    for (std::size_t kind = 0; kind < rows.size(); ++kind) {
      bool done = false;
      bool ticked = false;
      asio::co_spawn(executor, tick(rows[kind], done), ended(ticked));
      asio::steady_timer timer(executor);
      std::thread other;
      std::atomic<bool> spawned{kind != 1};
      if (kind == 1) {
        other = std::thread([&] {
          for (int i = 0; i < commands; ++i)
            spawn_and_wait("/bin/sh", {"sh", "-c", "true"}, {"PATH=" + std::string(default_path)}, folder);
          spawned = true;
        });
      }
      int running = 0;
      if (kind == 2) {
        for (int i = 0; i < commands; ++i) {
          ++running;
          asio::co_spawn(
              executor,
              [&env]() -> awaitable<void> {
                command_result result = co_await env.run_command(shell("true"));
                if (!result.ok()) throw std::runtime_error("a command failed");
              },
              [&running](std::exception_ptr) { --running; });
        }
      } else if (kind == 0) {
        timer.expires_after(std::chrono::seconds(1));
        co_await timer.async_wait(asio::use_awaitable);
      }
      while (running != 0 || !spawned) {
        timer.expires_after(std::chrono::milliseconds(5));
        co_await timer.async_wait(asio::use_awaitable);
      }
      done = true;
      while (!ticked) {
        timer.expires_after(std::chrono::milliseconds(2));
        co_await timer.async_wait(asio::use_awaitable);
      }
      if (other.joinable()) other.join();
    }
  }
  cofferdam_bench::print("How late a timer of 1 ms comes", rows);
  co_await env.close();
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 1000;
  asio::io_context loop;
  int status = 0;
  asio::co_spawn(
      loop,
      [&]() -> awaitable<void> {
        co_await compare(rounds);
        co_await compare_strands(rounds);
        co_await compare_with_memory(rounds);
        co_await drain(std::max(3, rounds / 100));
        co_await crowd(1000);
      },
      [&](std::exception_ptr failure) {
        try {
          if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "command_bench: %s\n", error.what());
          status = 1;
        }
      });
  loop.run();
  return status;
}
