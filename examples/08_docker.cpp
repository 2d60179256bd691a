// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Runs a command in a container with little memory and no network. Expected output: the Python version and the network
// interfaces of the container, or one line with the reason if no container can be started.
#include <cofferdam/docker.hpp>

#include <iostream>

using namespace cofferdam;

awaitable<void> look_around() {
  docker::container_options limits;
  limits.memory(256 << 20).cpus(0.5).pids(32).shm_size(16 << 20);
  docker::provider containers = docker::from_image("python:3.12-slim").options(limits);
  try {
    co_await with(containers, [](auto& env) -> awaitable<void> {
      command_result result = co_await env.run_command("python3 --version; ls /sys/class/net");
      std::cout << result.out_text();
    });
  } catch (const error& failure) {
    if (failure.code() == exec_errc::cancelled) throw;  // a cancellation is not a failure of Docker
    std::cout << "no container: " << failure.what() << "\n";
  }
}

int main() { return cofferdam::run(look_around()); }
