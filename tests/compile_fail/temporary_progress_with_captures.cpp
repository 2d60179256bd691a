// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// g++ 12 would destroy the captures of a temporary lambda twice, so the progress callback of an image cannot be such a
// lambda with g++ 12.
// only: g++ < 13
// expect: cofferdam: .*Name the lambda in a statement of its own

#include <cofferdam/backends/docker.hpp>

#include <string>
#include <utility>

cofferdam::awaitable<void> work(std::string name) {
#ifdef FIXED
  auto tell = [name](const cofferdam::docker::progress_event&) {};
  auto opened = co_await cofferdam::docker::from_image("debian").progress(tell).open();
#else
  auto opened = co_await cofferdam::docker::from_image("debian")
                    .progress([name](const cofferdam::docker::progress_event&) {})
                    .open();
#endif
  co_await opened.close();
}

int main() {}
