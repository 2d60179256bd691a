// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Support for the tests of the Docker backend. They use a daemon of their own, which tests/docker/daemon.sh starts,
// and check its state by the docker command.

#include <cofferdam/backends/docker.hpp>

#include "support/pause.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/run_shell.hpp"

#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>

namespace cofferdam_test {

inline std::string docker_address() {
  const char* const address = std::getenv("COFFERDAM_TEST_DOCKER");
  return address == nullptr ? std::string() : std::string(address);
}
inline std::string registry_address() {
  const char* const address = std::getenv("COFFERDAM_TEST_REGISTRY");
  return address == nullptr ? std::string() : std::string(address);
}

/// Skips the test if there is no daemon. If the environment variable COFFERDAM_REQUIRE names "docker", the test fails
/// instead.
#define COFFERDAM_NEEDS_DOCKER() \
  COFFERDAM_NEEDS("docker", !::cofferdam_test::docker_address().empty(), "what a Docker daemon does")

inline cofferdam::docker::daemon_choice test_daemon() {
  return cofferdam::docker::daemon_choice().address(docker_address());
}

/// Returns a provider of containers of a test image.
inline cofferdam::docker::provider test_image(
    const std::string& name, cofferdam::docker::container_options options = cofferdam::docker::container_options()) {
  return cofferdam::docker::from_image("cofferdam-test/" + name).options(std::move(options)).daemon(test_daemon());
}

/// Runs a shell line on the host, and returns its output without the last line break.
inline std::string output_of(const std::string& line) {
  std::string text = run_shell(line).output;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// Runs the docker command and returns its output, without its warning on machines that do not forward packets.
inline std::string docker_says(const std::string& words) {
  std::string printed = output_of("docker -H '" + docker_address() + "' " + words);
  while (printed.starts_with("WARNING: ")) printed.erase(0, std::min(printed.find('\n'), printed.size() - 1) + 1);
  return printed;
}

/// Returns the ids of all containers of this library, running or stopped, one per line.
inline std::string our_containers() { return docker_says("ps -aq --filter label=cofferdam.owner"); }

/// Checks the condition repeatedly until it is true, or `limit` has passed. Returns true if the condition became
/// true.
template <class Condition>
bool in_time(Condition condition, std::chrono::seconds limit = std::chrono::seconds(30)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

/// A container that was not created by the library. The destructor removes it.
class foreign_container {
 public:
  explicit foreign_container(const std::string& words = "", const std::string& image = "busybox") {
    id_ = docker_says("run -d --network none " + words + " cofferdam-test/" + image + " sleep 1000000");
  }
  foreign_container(const foreign_container&) = delete;
  foreign_container& operator=(const foreign_container&) = delete;
  ~foreign_container() { docker_says("rm -f " + id_); }
  const std::string& id() const { return id_; }
  bool runs() const { return docker_says("inspect -f '{{.State.Running}}' " + id_) == "true"; }

 private:
  std::string id_;
};

}  // namespace cofferdam_test
