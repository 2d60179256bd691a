// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Compares a container of this library with docker-py and the docker command. The measurements are interleaved. Needs a
// daemon (DOCKER_HOST), its test images, and a Python with docker-py: docker_bench [ROUNDS [PYTHON [PHASES]]].
// ROUNDS is the number of measurements per row (default 100), PYTHON the interpreter (default python3), PHASES the
// phases to run (default 1234).
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/upload.hpp>

#include "../support/peer.hpp"
#include "../support/table.hpp"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_bench::peer;
using cofferdam_bench::row;
using cofferdam_bench::timed;
using nanoseconds = std::chrono::nanoseconds;

/// Returns the time that docker-py needed for an operation, as measured by docker_peer.py.
nanoseconds time_of(peer& python, const std::string& word) {
  return nanoseconds(static_cast<std::int64_t>(std::stod(python.ask(word)) * 1e9));
}

void shell_out(const std::string& line) {
  if (std::system(line.c_str()) != 0) throw std::runtime_error("failed: " + line);
}

nanoseconds since(std::chrono::steady_clock::time_point begin) { return std::chrono::steady_clock::now() - begin; }

docker::provider recipe(const std::string& image) {
  return docker::from_image("cofferdam-test/" + image)
      .options(docker::container_options().memory(std::uint64_t{2} << 30).workspace_size(std::uint64_t{1} << 30));
}

awaitable<void> warm(peer& python, const std::string& image, int rounds) {
  docker::environment env = co_await recipe(image).open();
  python.ask("start cofferdam-test/" + image);
  const std::string name = python.ask("name");
  std::vector<row> rows;
  rows.emplace_back("true in a container of " + image);
  rows.emplace_back("docker-py, exec_run");
  rows.emplace_back("docker exec");
  for (int i = -3; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    command_result result = co_await env.run_command(argv("true"));
    const nanoseconds ours = since(begin);
    if (!result.ok()) throw std::runtime_error("true failed: " + result.reason());
    const nanoseconds theirs = time_of(python, "true");
    const nanoseconds command = timed([&] { shell_out("docker exec " + name + " true"); });
    if (i < 0) continue;
    rows[0].add(ours);
    rows[1].add(theirs);
    rows[2].add(command);
  }
  cofferdam_bench::print("A warm command, interleaved", rows);
  co_await env.close();
  shell_out("docker rm -f " + name + " >/dev/null");
}

awaitable<void> lives(peer& python, int rounds) {
  std::vector<row> opens;
  opens.emplace_back("docker-py, a container made and started");
  opens.emplace_back("open()");
  std::vector<row> closes;
  closes.emplace_back("docker-py, stop and remove (tail as first program)");
  closes.emplace_back("close()");
  for (int i = -1; i < rounds; ++i) {
    const nanoseconds theirs = time_of(python, "open cofferdam-test/debian");
    auto begin = std::chrono::steady_clock::now();
    docker::environment env = co_await recipe("debian").open();
    const nanoseconds ours = since(begin);
    begin = std::chrono::steady_clock::now();
    co_await env.close();
    const nanoseconds closed = since(begin);
    const nanoseconds stopped = time_of(python, "close");
    if (i < 0) continue;
    opens[0].add(theirs);
    opens[1].add(ours);
    closes[0].add(stopped);
    closes[1].add(closed);
  }
  cofferdam_bench::print("From nothing to a container that takes commands, interleaved", opens);
  cofferdam_bench::print("And its end", closes);
}

awaitable<void> output(peer& python, int rounds) {
  docker::environment env = co_await recipe("debian").open();
  python.ask("start cofferdam-test/debian");
  const std::string name = python.ask("name");
  std::vector<row> rows;
  rows.emplace_back("docker exec, 500 MiB of output to /dev/null");
  rows.emplace_back("run_command, the same, 64 KiB kept");
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  for (int i = -1; i < rounds; ++i) {
    const nanoseconds theirs =
        timed([&] { shell_out("docker exec " + name + " head -c 524288000 /dev/zero >/dev/null"); });
    const auto begin = std::chrono::steady_clock::now();
    command_result result = co_await env.run_command(argv("head", "-c", "524288000", "/dev/zero").keep_output(65536));
    const nanoseconds ours = since(begin);
    if (result.out().total() != 524288000) throw std::runtime_error("output is missing");
    if (i < 0) continue;
    rows[0].add(theirs);
    rows[1].add(ours);
  }
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  cofferdam_bench::print("Output, interleaved", rows);
  std::printf("our memory grew by %ld KiB at its peak meanwhile\n\n", after.ru_maxrss - before.ru_maxrss);
  co_await env.close();
  shell_out("docker rm -f " + name + " >/dev/null");
}

awaitable<void> files_both_ways(peer& python, int rounds, bool on_disk) {
  docker::container_options options;
  options.memory(std::uint64_t{2} << 30).workspace_size(std::uint64_t{1} << 30);
  if (on_disk) options.writable_root();
  const docker::provider provider = docker::from_image("cofferdam-test/debian").options(options);
  docker::environment env = co_await provider.open();
  python.ask("start cofferdam-test/debian");
  const std::string name = python.ask("name");
  std::string folder = (std::filesystem::temp_directory_path() / "cofferdam-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder");
  {
    std::ofstream large(folder + "/large", std::ios::binary);
    const std::string piece(1024 * 1024, 'x');
    for (int i = 0; i < 200; ++i) large << piece;
  }
  std::vector<row> up;
  up.emplace_back("docker cp, 200 MiB into a container");
  up.emplace_back(std::string("upload, the same") + (on_disk ? ", workspace on the disk" : ", workspace in memory"));
  std::vector<row> down;
  down.emplace_back("docker cp, 200 MiB out of it");
  down.emplace_back("download, the same");
  for (int i = -1; i < rounds; ++i) {
    const nanoseconds theirs_up =
        timed([&] { shell_out("docker cp " + folder + "/large " + name + ":/large >/dev/null 2>&1"); });
    auto begin = std::chrono::steady_clock::now();
    transfer_result in = co_await upload(env, files(folder + "/large"));
    const nanoseconds ours_up = since(begin);
    if (!in.ok()) throw std::runtime_error("the upload failed");
    const nanoseconds theirs_down =
        timed([&] { shell_out("docker cp " + name + ":/large " + folder + "/theirs >/dev/null 2>&1"); });
    begin = std::chrono::steady_clock::now();
    transfer_result out = co_await download(env, files("large"), folder + "/ours");
    const nanoseconds ours_down = since(begin);
    if (!out.ok()) throw std::runtime_error("the download failed");
    if (std::filesystem::file_size(folder + "/ours/large") != std::uintmax_t{200} << 20)
      throw std::runtime_error("the download is short");
    std::filesystem::remove_all(folder + "/ours");
    std::filesystem::remove(folder + "/theirs");
    if (i < 0) continue;
    up[0].add(theirs_up);
    up[1].add(ours_up);
    down[0].add(theirs_down);
    down[1].add(ours_down);
  }
  cofferdam_bench::print("Files in, interleaved", up);
  cofferdam_bench::print("Files out, interleaved", down);
  std::filesystem::remove_all(folder);
  co_await env.close();
  shell_out("docker rm -f " + name + " >/dev/null");
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 100;
  const std::string python_path = count > 2 ? arguments[2] : "python3";
  const std::string_view phases = count > 3 ? arguments[3] : "1234";
  if (std::getenv("DOCKER_HOST") == nullptr) {
    std::printf("not run: DOCKER_HOST names no daemon (tests/docker/daemon.sh starts one)\n");
    return 0;
  }
  peer python({python_path, COFFERDAM_PEERS "/docker_peer.py"});
  asio::io_context loop;
  int status = 0;
  asio::co_spawn(
      loop,
      [&]() -> awaitable<void> {
        if (phases.find('1') != std::string_view::npos) {
          co_await warm(python, "debian", rounds);
          co_await warm(python, "busybox", rounds);
        }
        if (phases.find('2') != std::string_view::npos) co_await lives(python, std::max(3, rounds / 10));
        if (phases.find('3') != std::string_view::npos) co_await output(python, std::max(3, rounds / 20));
        if (phases.find('4') != std::string_view::npos) {
          co_await files_both_ways(python, std::max(3, rounds / 20), false);
          co_await files_both_ways(python, std::max(3, rounds / 20), true);
        }
      },
      [&](std::exception_ptr failure) {
        try {
          if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "docker_bench: %s\n", error.what());
          status = 1;
        }
      });
  loop.run();
  python.ask("end");
  return status;
}
