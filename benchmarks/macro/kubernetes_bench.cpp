// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Compares a pod of this library with one exec per command, both by a plain WebSocket and by the official Python
// client. The measurements are interleaved. Needs a cluster (tests/kubernetes/cluster.sh) and a Python with the package
// `kubernetes`: kubernetes_bench [ROUNDS [PYTHON [PHASES]]].
// ROUNDS is the number of measurements per row (default 50), PYTHON the interpreter (default python3), PHASES the
// phases to run (default 12345).
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/owned_pod.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>

#include "../support/hand_out.hpp"
#include "../support/peer.hpp"
#include "../support/table.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam::kubernetes::detail::cluster_api;
using cofferdam::kubernetes::detail::exec_stream;
using cofferdam::kubernetes::detail::owned_pod;
using cofferdam_bench::peer;
using cofferdam_bench::row;
using clock_type = std::chrono::steady_clock;
using nanoseconds = std::chrono::nanoseconds;

constexpr const char* image = "cofferdam-test/busybox:1";
constexpr std::size_t large = std::size_t{200} << 20;  // a multiple of 4 MiB

nanoseconds since(clock_type::time_point begin) { return clock_type::now() - begin; }

/// Returns the time that the Python client needed for an operation, as measured by kubernetes_peer.py.
nanoseconds time_of(peer& python, const std::string& words) {
  return nanoseconds(static_cast<std::int64_t>(std::stod(python.ask(words)) * 1e9));
}

kubernetes::provider recipe() {
  kubernetes::pod_options options;
  options.kubeconfig(std::getenv("COFFERDAM_TEST_KUBECONFIG")).pull(kubernetes::pull_policy::never);
  options.cpus(1).memory(std::uint64_t{2} << 30).workspace_size(std::uint64_t{1} << 30);
  return kubernetes::from_image(image).options(std::move(options));
}

std::shared_ptr<cluster_api> plain_api(const asio::any_io_executor& executor) {
  kubernetes::cluster_choice choice;
  choice.kubeconfig(std::getenv("COFFERDAM_TEST_KUBECONFIG"));
  return std::make_shared<cluster_api>(
      executor, kubernetes::detail::find_cluster(kubernetes::detail::kube_surroundings::of_this_process(), choice));
}

// g++ 12 cannot compile braced lists in a co_await expression.
const std::vector<std::string> just_true{"true"};
const std::vector<std::string> print_zeros{"head", "-c", std::to_string(large), "/dev/zero"};
const std::vector<std::string> print_file{"cat", "/workspace/ours"};

/// Runs a program by an exec of its own, as clients without a warden do, and reads all of its output.
awaitable<std::size_t> by_exec(std::shared_ptr<cluster_api> api, std::string pod, std::vector<std::string> words) {
  exec_stream stream = co_await api->exec(pod, std::string(), std::move(words), false);
  std::array<std::byte, 65536> buffer;
  std::size_t total = 0;
  for (std::size_t got = 1; got != 0; total += got) got = co_await stream.read_output(buffer);
  if (!stream.end() || stream.end()->exit_code() != 0) throw std::runtime_error("a plain exec failed");
  co_return total;
}

/// Writes a file by an exec. A writer that never waits for the program loses its connection after some MiB, so the
/// program reports each piece that it has written.
awaitable<void> write_by_exec(std::shared_ptr<cluster_api> api, std::string pod, bytes_view content) {
  constexpr std::size_t piece = std::size_t{4} << 20;
  std::vector<std::string> words{"sh", "-c",
                                 "rm -f /workspace/theirs; i=0; while [ $i -lt $1 ]; do "
                                 "head -c $0 >> /workspace/theirs; echo; i=$((i+1)); done",
                                 std::to_string(piece), std::to_string(content.size() / piece)};
  exec_stream stream = co_await api->exec(pod, std::string(), std::move(words), true);
  std::array<std::byte, 1> report;
  for (std::size_t at = 0; at < content.size(); at += piece) {
    co_await stream.write(content.subspan(at, piece));
    const std::size_t got = co_await stream.read_output(report);
    if (got != 1) throw std::runtime_error("a plain exec with input has ended");
  }
  for (std::size_t got = 1; got != 0;) got = co_await stream.read_output(report);
  if (!stream.end() || stream.end()->exit_code() != 0) throw std::runtime_error("a plain exec with input failed");
}

awaitable<void> run_true(kubernetes::environment& env) {
  const command_result result = co_await env.run_command(argv("true"));
  if (!result.ok()) throw std::runtime_error("true failed: " + result.reason());
}

awaitable<void> warm(peer& python, std::shared_ptr<cluster_api> api, int rounds) {
  kubernetes::environment env = co_await recipe().open();
  std::vector<row> rows;
  rows.emplace_back("run_command");
  rows.emplace_back("an exec of its own, by a WebSocket");
  rows.emplace_back("an exec of its own, by the Python client");
  for (int i = -3; i < rounds; ++i) {
    auto begin = clock_type::now();
    co_await run_true(env);
    const nanoseconds ours = since(begin);
    begin = clock_type::now();
    co_await by_exec(api, env.pod_name(), just_true);
    const nanoseconds plain = since(begin);
    const nanoseconds theirs = time_of(python, "true " + env.pod_name());
    if (i < 0) continue;
    rows[0].add(ours);
    rows[1].add(plain);
    rows[2].add(theirs);
  }
  cofferdam_bench::print("`true` in a running pod, interleaved", rows);
  co_await env.close();
}

/// Runs `each` a number of times, at most eight at once, and waits for all.
template <class Each>
awaitable<nanoseconds> eight_at_once(int times, Each each) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto begin = clock_type::now();
  int started = 0, failed = 0, working = 0;
  asio::steady_timer done(executor, clock_type::time_point::max());
  const auto work = [&]() -> awaitable<void> {
    while (started < times) {
      ++started;
      co_await each();
    }
  };
  for (int i = 0; i < 8; ++i) {
    ++working;
    asio::co_spawn(executor, work(), [&](std::exception_ptr failure) {
      if (failure) ++failed;
      if (--working == 0) done.cancel();
    });
  }
  std::error_code ended;
  co_await done.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  if (failed != 0) throw std::runtime_error("a command failed");
  co_return since(begin);
}

awaitable<void> many(peer& python, std::shared_ptr<cluster_api> api, int rounds) {
  kubernetes::environment env = co_await recipe().open();
  std::vector<row> rows;
  rows.emplace_back("run_command, 8 at once, per command");
  rows.emplace_back("execs by WebSockets, 8 at once, per command");
  rows.emplace_back("execs by the Python client, 8 threads, per command");
  constexpr int few = 24, most = 800;
  for (int i = -1; i < std::max(3, rounds / 10); ++i) {
    const auto by_us = [&]() -> awaitable<void> { return run_true(env); };
    const nanoseconds ours = co_await eight_at_once(most, by_us);
    const auto plainly = [&]() -> awaitable<void> { co_await by_exec(api, env.pod_name(), just_true); };
    const nanoseconds plain = co_await eight_at_once(few, plainly);
    const nanoseconds theirs = time_of(python, "many " + env.pod_name() + " " + std::to_string(few));
    if (i < 0) continue;
    rows[0].add(ours / most);
    rows[1].add(plain / few);
    rows[2].add(theirs / few);
  }
  cofferdam_bench::print("Throughput of `true`", rows);
  co_await env.close();
}

awaitable<void> lives(std::shared_ptr<cluster_api> api, int rounds) {
  std::vector<row> rows;
  rows.emplace_back("a bare pod: create, wait, one exec");
  rows.emplace_back("open() and one command");
  for (int i = -1; i < std::max(5, rounds / 5); ++i) {
    auto begin = clock_type::now();
    const std::string name = "bench-" + std::to_string(::getpid()) + "-" + std::to_string(i + 1);
    const auto pod = std::make_shared<owned_pod>(api, name);
    co_await owned_pod::create(pod,
                               boost::json::parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": ")" +
                                                  name + R"("}, "spec": {"restartPolicy": "Never",
      "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false, "containers": [{"name": "sandbox",
      "image": ")" + image + R"(", "imagePullPolicy": "Never", "command": ["sleep", "1000"]}]}})")
                                   .as_object(),
                               clock_type::now() + std::chrono::minutes(1));
    co_await owned_pod::until_running(pod, clock_type::now() + std::chrono::minutes(1), std::chrono::seconds(10));
    co_await by_exec(api, name, just_true);
    const nanoseconds bare = since(begin);
    co_await owned_pod::remove(pod);
    begin = clock_type::now();
    kubernetes::environment env = co_await recipe().open();
    co_await run_true(env);
    const nanoseconds ours = since(begin);
    co_await env.close();
    if (i < 0) continue;
    rows[0].add(bare);
    rows[1].add(ours);
  }
  cofferdam_bench::print("From nothing to the end of the first command, interleaved", rows);
}

awaitable<void> transfers(std::shared_ptr<cluster_api> api, int rounds) {
  kubernetes::environment env = co_await recipe().open();
  std::vector<row> out;
  out.emplace_back("a plain exec, 200 MiB of output");
  out.emplace_back("run_command, the same, 64 KiB kept");
  std::vector<row> in;
  in.emplace_back("a plain exec, 200 MiB of input into a file");
  in.emplace_back("write_file, the same");
  std::vector<row> back;
  back.emplace_back("a plain exec, a file of 200 MiB to output");
  back.emplace_back("read_file, the same");
  const bytes content(large, std::byte{'x'});
  const std::string count = std::to_string(large);
  for (int i = -1; i < std::max(3, rounds / 10); ++i) {
    auto begin = clock_type::now();
    const std::size_t printed = co_await by_exec(api, env.pod_name(), print_zeros);
    if (printed != large) throw std::runtime_error("output of a plain exec is missing");
    const nanoseconds plain_out = since(begin);
    begin = clock_type::now();
    command zeros = argv("head", "-c", count, "/dev/zero").keep_output(65536);
    const command_result result = co_await env.run_command(std::move(zeros));
    const nanoseconds ours_out = since(begin);
    if (result.out().total() != large) throw std::runtime_error("output is missing: " + result.reason());
    begin = clock_type::now();
    co_await write_by_exec(api, env.pod_name(), content);
    const nanoseconds plain_in = since(begin);
    begin = clock_type::now();
    co_await env.write_file("ours", content);
    const nanoseconds ours_in = since(begin);
    begin = clock_type::now();
    const std::size_t shown = co_await by_exec(api, env.pod_name(), print_file);
    if (shown != large) throw std::runtime_error("a part of the file is missing");
    const nanoseconds plain_back = since(begin);
    begin = clock_type::now();
    const bytes read = co_await env.read_file("ours", large);
    const nanoseconds ours_back = since(begin);
    if (read != content) throw std::runtime_error("the file came back changed");
    if (i < 0) continue;
    out[0].add(plain_out);
    out[1].add(ours_out);
    in[0].add(plain_in);
    in[1].add(ours_in);
    back[0].add(plain_back);
    back[1].add(ours_back);
  }
  cofferdam_bench::print("Output, interleaved", out);
  cofferdam_bench::print("A file in, interleaved", in);
  cofferdam_bench::print("A file out, interleaved", back);
  co_await env.close();
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 50;
  const std::string python_path = count > 2 ? arguments[2] : "python3";
  const std::string_view phases = count > 3 ? arguments[3] : "12345";
  if (std::getenv("COFFERDAM_TEST_KUBECONFIG") == nullptr) {
    std::printf("not run: COFFERDAM_TEST_KUBECONFIG names no cluster (tests/kubernetes/cluster.sh starts one)\n");
    return 0;
  }
  peer python({python_path, COFFERDAM_PEERS "/kubernetes_peer.py", std::getenv("COFFERDAM_TEST_KUBECONFIG")});
  asio::io_context loop;
  int status = 0;
  const auto has = [&](char phase) { return phases.find(phase) != std::string_view::npos; };
  asio::co_spawn(
      loop,
      [&]() -> awaitable<void> {
        const std::shared_ptr<cluster_api> api = plain_api(loop.get_executor());
        if (has('1')) co_await warm(python, api, rounds);
        if (has('2')) co_await many(python, api, rounds);
        if (has('3')) co_await lives(api, rounds);
        if (has('4')) co_await transfers(api, rounds);
        if (has('5')) co_await cofferdam_bench::compare_hand_out(rounds, recipe(), "kubernetes");
        co_await api->close();
      },
      [&](std::exception_ptr failure) {
        try {
          if (failure) std::rethrow_exception(failure);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "kubernetes_bench: %s\n", error.what());
          status = 1;
        }
      });
  loop.run();
  python.ask("end");
  return status;
}
