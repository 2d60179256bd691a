// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cofferdam_test {

/// A fuzz target of this program, in a list of all.
class fuzz_target {
 public:
  using function = int (*)(const std::uint8_t* data, std::size_t size);

  fuzz_target(const char* name, function run) noexcept : name_(name), run_(run), next_(first()) { first() = this; }
  fuzz_target(const fuzz_target&) = delete;
  fuzz_target& operator=(const fuzz_target&) = delete;

  const char* name() const noexcept { return name_; }
  function run() const noexcept { return run_; }
  const fuzz_target* next() const noexcept { return next_; }

  static const fuzz_target*& first() noexcept {
    static const fuzz_target* begin = nullptr;
    return begin;
  }

 private:
  const char* name_;
  function run_;
  const fuzz_target* next_;
};

}  // namespace cofferdam_test

/// Begins the definition of a fuzz target: `COFFERDAM_FUZZ_TARGET(tar)(const std::uint8_t* data, std::size_t size) {`.
/// Its corpus is in the folder corpus/tar.
#if defined(COFFERDAM_LIBFUZZER)
#define COFFERDAM_FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput
#else
#define COFFERDAM_FUZZ_TARGET(name)                                           \
  static int run_##name(const std::uint8_t*, std::size_t);                    \
  static const cofferdam_test::fuzz_target name##_target(#name, &run_##name); \
  static int run_##name
#endif
