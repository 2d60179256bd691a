// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Tests that layers allocate no memory. The count is made without Asio's cache of coroutine frames, because with the
// cache every frame would look free.
#include <cofferdam/core/layer.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/limit_output.hpp>
#include <cofferdam/middleware/read_only.hpp>
#include <cofferdam/middleware/retry.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/trace.hpp>
#include <cofferdam/middleware/variables.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "support/quick_files.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>

#if !defined(ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING)
#error "this program counts frames: it needs ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING"
#endif

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};

void* counted(std::size_t size) {
  if (counting) ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* counted_aligned(std::size_t size, std::align_val_t alignment) {
  if (counting) ++allocations;
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(sizeof(void*), static_cast<std::size_t>(alignment)), size) != 0)
    throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return counted_aligned(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return counted_aligned(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using namespace cofferdam;

/// A backend whose operations finish immediately.
class quick {
 public:
  awaitable<command_result> run_command(command) { co_return command_result::exited(0); }
  awaitable<process> start(command) { co_return process(); }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  file_system files() {
    static const auto shared_files = std::make_shared<cofferdam_test::quick_files>();
    return file_system(shared_files);
  }
  awaitable<void> close() { co_return; }
};

/// Control: a layer whose operations are coroutines, which must allocate.
template <code_exec_environment Inner>
class awaiting_layer : public layer<awaiting_layer<Inner>, Inner> {
 public:
  using layer<awaiting_layer<Inner>, Inner>::layer;
  awaitable<command_result> run_command(command c) {
    command_result result = co_await this->inner().run_command(std::move(c));
    co_return result;
  }
};

/// Returns the number of allocations of one awaited operation. The first call is a warm-up, and is not counted.
template <class E, class Operation>
long cost(E& environment, Operation operation) {
  long result = 0;
  cofferdam_test::run([&]() -> awaitable<void> {
    for (int round = 0; round < 3; ++round) {
      allocations = 0;
      counting = true;
      co_await operation(environment);
      counting = false;
      result = allocations;
    }
  });
  return result;
}

// Layers change settings of the command. The command has these settings already, so that the count contains no
// allocations for its strings.
command prepared() {
  command c = argv("ls");
  c.timeout(std::chrono::seconds(100)).keep_output(1 << 20).variable("A", "b");
  return c;
}

template <class E>
long cost_of_run(E& environment) {
  return cost(environment, [](E& env) -> awaitable<void> {
    counting = false;
    command c = prepared();
    counting = true;
    co_await env.run_command(std::move(c));
  });
}

auto five_layers(quick bottom) {
  return std::move(bottom) | timeout(std::chrono::seconds(30)) | limit_output(1024) | variables("A", "c") |
         timeout(std::chrono::seconds(20)) | limit_output(512);
}

TEST(Allocations, five_layers_add_none_to_run_command) {
  quick bare;
  auto layered = five_layers(quick());
  const long floor = cost_of_run(bare);
  EXPECT_GT(floor, 0) << "nothing is counted at all";
  EXPECT_EQ(cost_of_run(layered) - floor, 0);
}

TEST(Allocations, a_layer_that_is_a_coroutine_adds_one) {
  quick bare;
  awaiting_layer<quick> control{quick()};
  EXPECT_EQ(cost_of_run(control) - cost_of_run(bare), 1);
}

TEST(Allocations, five_layers_add_none_to_start) {
  quick bare;
  auto layered = five_layers(quick());
  const auto start = [](auto& env) -> awaitable<void> {
    counting = false;
    command c = prepared();
    counting = true;
    co_await env.start(std::move(c));
  };
  EXPECT_EQ(cost(layered, start) - cost(bare, start), 0);
}

TEST(Allocations, five_layers_add_none_to_file_operations) {
  quick bare;
  auto layered = five_layers(quick());
  const auto files = [](auto& env) -> awaitable<void> {
    co_await env.read_file("a", 1);
    co_await env.write_file("a", bytes_view());
    co_await cofferdam::stat(env, "a");
    co_await cofferdam::list_directory(env, "a");
    co_await cofferdam::make_directory(env, "a");
    co_await cofferdam::remove(env, "a");
    co_await cofferdam::rename(env, "a", "b");
  };
  EXPECT_EQ(cost(layered, files) - cost(bare, files), 0);
}

TEST(Allocations, layers_that_replace_the_files_allocate_nothing_for_files) {
  auto layered = quick() | trace(std::make_shared<operation_counts>()) | retry() | read_only();
  const auto files = [](auto& env) -> awaitable<void> {
    const file_system found = env.files();
    static_cast<void>(found);
    co_return;
  };
  quick bare;
  EXPECT_EQ(cost(layered, files) - cost(bare, files), 0);
  const auto stat = [](auto& env) -> awaitable<void> {
    const file_system found = env.files();
    co_await found.stat("a");
  };
  EXPECT_EQ(cost(layered, stat) - cost(bare, stat), 1) << "the frame of retry";
}

TEST(Allocations, an_open_environment_keeps_its_files) {
  long first = 0;
  long second = 0;
  cofferdam_test::run([&]() -> awaitable<void> {
    const cofferdam::testing::fake_provider provider;
    auto env = co_await provider.open();
    const auto files = [&env] {
      allocations = 0;
      counting = true;
      const file_system found = env.files();
      counting = false;
      return allocations.load();
    };
    first = files();
    auto moved = std::move(env);
    env = std::move(moved);
    second = files();
    co_await env.close();
  });
  EXPECT_EQ(first, 1) << "nothing is counted at all";
  EXPECT_EQ(second, 0);
}

static_assert(sizeof(timeout_layer<quick>) <= 2 * sizeof(std::chrono::milliseconds));

}  // namespace
