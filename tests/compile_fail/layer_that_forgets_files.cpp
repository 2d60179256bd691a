// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A layer that overrides write_file must also define files(). If it does not, the library gives the layer no files(),
// so that no file operation can bypass its write_file.
// expect: this layer has no files\(\)

#include <cofferdam/core/layer.hpp>

#include "minimal_provider.hpp"

#include <string>
#include <utility>

template <cofferdam::code_exec_environment Inner>
struct checking : cofferdam::layer<checking<Inner>, Inner> {
  using cofferdam::layer<checking<Inner>, Inner>::layer;
  cofferdam::awaitable<void> write_file(std::string path, cofferdam::bytes_view content) {
    return this->inner().write_file(std::move(path), content);
  }
#ifdef FIXED
  cofferdam::file_system files() { return this->inner().files(); }
#endif
};

struct check : cofferdam::pipeable {
  template <cofferdam::code_exec_environment Inner>
  checking<Inner> attach(Inner inner) const {
    return checking<Inner>(std::move(inner));
  }
};

cofferdam::awaitable<void> work(minimal::environment open) {
  auto wrapped = std::move(open) | check();
  co_await cofferdam::remove(wrapped, "a");
}

int main() {}
