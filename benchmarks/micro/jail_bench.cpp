// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// The jail beside its floor, bubblewrap with the same arguments, and beside bubblewrap for each command, `local` and
// Docker (if a daemon answers and has the image COFFERDAM_BENCH_IMAGE, debian:stable-slim). Then the hand-out of a pool
// beside `open()`, for the jail and for Docker.
#include <cofferdam/backends/detail/jail_plan.hpp>
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/machine.hpp>
#include <cofferdam/detail/os/seccomp_program.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>

#include "../support/hand_out.hpp"
#include "../support/table.hpp"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_bench::row;
using cofferdam_bench::timed;

/// Bubblewrap with the arguments of a jail, but with another program instead of the warden.
class bare_bubblewrap {
 public:
  explicit bare_bubblewrap(std::vector<std::string> program) : user_(detail::choose_jail_user(-1)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "jail-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = pattern;
    if (user_.is_other && ::chown(pattern.c_str(), user_.uid, user_.gid) != 0) throw std::runtime_error("chown failed");
    detail::jail_plan plan(detail::jail_settings(), folder_, user_, "/bin/bash", {}, nullptr);
    words_ = plan.arguments();
    for (const char* reported : {"--info-fd", "--block-fd"}) {
      const auto at = std::find(words_.begin(), words_.end(), reported);
      words_.erase(at, at + 2);
    }
    words_.resize(words_.size() - 2);
    words_.insert(words_.end(), program.begin(), program.end());
    const auto& image = native_warden_image().program();
    keep({reinterpret_cast<const char*>(image.data()), image.size()});
    const bytes filter = detail::filter_bytes(detail::jail_filter(detail::native_machine()));
    keep({reinterpret_cast<const char*>(filter.data()), filter.size()});
    keep("");
    keep("");
    for (const std::string& file : plan.files()) keep(file);
  }
  bare_bubblewrap(const bare_bubblewrap&) = delete;
  bare_bubblewrap& operator=(const bare_bubblewrap&) = delete;
  ~bare_bubblewrap() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void run() {
    spawn_request request;
    request.candidates = {"/usr/bin/bwrap"};
    request.words = words_;
    request.input = request.output = request.error = request.control = kept_.front().get();
    for (const unique_fd& file : kept_) {
      ::lseek(file.get(), 0, SEEK_SET);
      request.further.push_back(file.get());
    }
    if (user_.is_other) {
      request.uid = user_.uid;
      request.gid = user_.gid;
    }
    spawned made = spawn(request);
    int status = 0;
    if (!made.ok() || ::waitpid(made.pid(), &status, 0) != made.pid() || status != 0)
      throw std::runtime_error("bubblewrap failed");
  }

 private:
  void keep(std::string_view content) {
    unique_fd file(::memfd_create("jail-bench", MFD_CLOEXEC));
    if (::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
      throw std::runtime_error("a file in memory failed");
    kept_.emplace_back(::fcntl(file.get(), F_DUPFD_CLOEXEC, spawn_request::first_borrowable));
  }

  detail::jail_user user_;
  std::filesystem::path folder_;
  std::vector<std::string> words_;
  std::vector<unique_fd> kept_;
};

template <class E>
awaitable<std::chrono::nanoseconds> timed_run(E& env, command c) {
  const auto before = std::chrono::steady_clock::now();
  command_result result = co_await env.run_command(std::move(c));
  const auto took = std::chrono::steady_clock::now() - before;
  if (!result.ok()) throw std::runtime_error("the command failed: " + result.reason());
  co_return took;
}

/// Returns the recipe of the container, if there is a daemon with the image.
awaitable<std::optional<docker::provider>> containers() {
  const char* const image = std::getenv("COFFERDAM_BENCH_IMAGE");
  docker::container_options options;
  options.pull(docker::pull_policy::never);
  docker::provider recipe = docker::from_image(image != nullptr ? image : "debian:stable-slim").options(options);
  try {
    docker::environment env = co_await recipe.open();
    co_await env.close();
    co_return recipe;
  } catch (const error& reason) {
    std::printf("without Docker: %s\n\n", reason.what());
  }
  co_return std::nullopt;
}

awaitable<void> compare_open(int rounds, const std::optional<docker::provider>& container) {
  bare_bubblewrap bare({"/usr/bin/true"});
  const jail walls;
  const local none = local().without_warning();
  std::vector<row> first;
  first.emplace_back("bubblewrap with the same arguments, running true");
  first.emplace_back("jail().open(), the first in this process: the full proof");
  first[0].add(timed([&] { bare.run(); }));
  const std::chrono::nanoseconds proven = co_await cofferdam_bench::timed_open(walls);
  first[1].add(proven);
  cofferdam_bench::print("The first environment", first);

  std::vector<row> rows;
  rows.emplace_back("bubblewrap with the same arguments, running true");
  rows.emplace_back("jail().open()");
  rows.emplace_back("local().open()");
  if (container) rows.emplace_back("docker::from_image(...).open()");
  for (int i = -5; i < rounds; ++i) {
    std::vector<std::chrono::nanoseconds> times;
    times.push_back(timed([&] { bare.run(); }));
    const std::chrono::nanoseconds by_jail = co_await cofferdam_bench::timed_open(walls);
    times.push_back(by_jail);
    const std::chrono::nanoseconds by_local = co_await cofferdam_bench::timed_open(none);
    times.push_back(by_local);
    if (container && i % 20 == 0) {
      const std::chrono::nanoseconds by_docker = co_await cofferdam_bench::timed_open(*container);
      times.push_back(by_docker);
    }
    if (i < 0) continue;  // warm-up
    for (std::size_t k = 0; k < times.size(); ++k) rows[k].add(times[k]);
  }
  cofferdam_bench::print("Opening an environment, interleaved", rows);
}

awaitable<void> compare_commands(int rounds, const std::optional<docker::provider>& container) {
  bare_bubblewrap each({"/bin/bash", "-c", "--", "true"});
  const local no_walls = local().without_warning();
  const jail walls;
  local_environment none = co_await no_walls.open();
  jail_environment jailed = co_await walls.open();
  std::optional<docker::environment> contained;
  if (container) {
    docker::environment opened = co_await container->open();
    contained.emplace(std::move(opened));
  }
  std::vector<row> rows;
  rows.emplace_back("local: run_command(shell(\"true\"))");
  rows.emplace_back("jail: the same");
  rows.emplace_back("bubblewrap for each command, with the same arguments");
  if (contained) rows.emplace_back("docker: the same");
  for (int i = -20; i < rounds; ++i) {
    std::vector<std::chrono::nanoseconds> times;
    const std::chrono::nanoseconds by_local = co_await timed_run(none, shell("true"));
    times.push_back(by_local);
    const std::chrono::nanoseconds by_jail = co_await timed_run(jailed, shell("true"));
    times.push_back(by_jail);
    times.push_back(timed([&] { each.run(); }));
    if (contained) {
      const std::chrono::nanoseconds by_docker = co_await timed_run(*contained, shell("true"));
      times.push_back(by_docker);
    }
    if (i < 0) continue;  // warm-up
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].add(times[k]);
  }
  cofferdam_bench::print("A command in an open environment, interleaved", rows);
  co_await none.close();
  co_await jailed.close();
  if (contained) co_await contained->close();
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 300;
  asio::io_context loop;
  int status = 0;
  asio::co_spawn(
      loop,
      [&]() -> awaitable<void> {
        const std::optional<docker::provider> container = co_await containers();
        co_await compare_open(rounds, container);
        co_await cofferdam_bench::compare_hand_out(rounds, jail(), "jail()");
        if (container)
          co_await cofferdam_bench::compare_hand_out(std::max(10, rounds / 10), *container, "docker::from_image(...)");
        co_await compare_commands(rounds, container);
      },
      [&](std::exception_ptr failure) {
        try {
          if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "jail_bench: %s\n", error.what());
          status = 1;
        }
      });
  loop.run();
  return status;
}
