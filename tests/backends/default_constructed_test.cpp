// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/backends/over.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/lazy.hpp>
#include <cofferdam/middleware/limit_concurrency.hpp>
#include <cofferdam/middleware/limit_output.hpp>
#include <cofferdam/middleware/retry.hpp>
#include <cofferdam/middleware/tap.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/trace.hpp>
#include <cofferdam/middleware/upload_files.hpp>
#include <cofferdam/middleware/variables.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <concepts>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Environments must be default-constructible, because some completion tokens of Asio construct them before they are
// open.

namespace default_constructed_tests {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::plain_fake;
using cofferdam_test::run;

static_assert(std::default_initializable<docker::environment> && std::default_initializable<e2b::environment>);
static_assert(std::default_initializable<timeout_layer<docker::environment>>);
static_assert(!std::default_initializable<plain_fake>, "the near miss: a layer has one only if what it wraps has");
static_assert(!std::default_initializable<timeout_layer<plain_fake>>);
static_assert(!std::default_initializable<allow_commands_layer<timeout_layer<plain_fake>>>);

constexpr std::array operations{"run_command",    "start",  "read_file", "write_file", "stat", "list",
                                "make_directory", "remove", "rename",    "get_files",  "close"};

/// Calls the operation with that name. One coroutine for all operations compiles faster than one each.
template <class E>
awaitable<void> call(E& closed, std::string_view operation) {
  if (operation == "run_command") co_await closed.run_command(shell("true"));
  if (operation == "start") co_await closed.start(shell("true"));
  if (operation == "read_file") co_await closed.read_file("a", 1);
  if (operation == "write_file") co_await closed.write_file("a", bytes_view());
  if (operation == "stat") co_await closed.files().stat("a");
  if (operation == "list") co_await closed.files().list(".");
  if (operation == "make_directory") co_await closed.files().make_directory("a");
  if (operation == "remove") co_await closed.files().remove("a");
  if (operation == "rename") co_await closed.files().rename("a", "b");
  if (operation == "get_files") co_await closed.files().get_files(std::vector<file_request>());
  if (operation == "close") co_await closed.close();
}

void expect_refusal(awaitable<void> called, const std::string& what) {
  bool thrown = false;
  try {
    run(std::move(called));
  } catch (const error& failure) {
    thrown = true;
    EXPECT_EQ(failure.code(), exec_errc::environment_closed) << what;
    EXPECT_NE(std::string(failure.what()).find("default-constructed"), std::string::npos) << failure.what();
  }
  EXPECT_TRUE(thrown) << what;
}

/// Expects that every operation of a default-constructed environment throws `environment_closed` with a sentence.
template <class E>
void expect_closed(const std::string& name) {
  for (const char* operation : operations) {
    E closed;
    expect_refusal(call(closed, operation), name + ": " + operation);
  }
  E first;
  E second = std::move(first);
  first = std::move(second);
}

TEST(DefaultConstructed, an_environment_that_is_not_open_refuses_every_operation) {
  expect_closed<local_environment>("local");
  expect_closed<over_environment>("over");
  expect_closed<docker::environment>("docker");
  expect_closed<e2b::environment>("e2b");
  expect_closed<any_environment>("any_environment");
  expect_closed<referenced_environment<local_environment>>("environment_ref");
}

TEST(DefaultConstructed, a_layer_around_nothing_refuses_every_operation) {
  expect_closed<timeout_layer<local_environment>>("timeout");
  expect_closed<limit_output_layer<local_environment>>("limit_output");
  expect_closed<variables_layer<local_environment>>("variables");
  expect_closed<trace_layer<local_environment>>("trace");
  expect_closed<upload_files_layer<local_environment>>("upload_files");
  expect_closed<retry_layer<local_environment>>("retry");
  expect_closed<tap_layer<local_environment>>("tap");
  expect_closed<limit_concurrency_layer<local_environment>>("limit_concurrency");
  expect_closed<lazy_environment<local>>("lazy");
  expect_closed<allow_commands_layer<timeout_layer<any_environment>>>("allow_commands");
}

/// A backend without an open() of its own: it is usable as soon as it is constructed, and never throws.
class always_open {
 public:
  awaitable<command_result> run_command(command) { co_return command_result::exited(0); }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  awaitable<void> close() { co_return; }
};

TEST(DefaultConstructed, an_allowlist_without_patterns_of_its_own_lets_nothing_through) {
  run([]() -> awaitable<void> {
    allow_commands_layer<always_open> closed;
    try {
      command_result result = co_await closed.run_command(shell("rm -rf /"));
      ADD_FAILURE() << "it ran: " << result.exit_code();
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::environment_closed);
    }
  });
}

/// Runs the context until the future is ready, and returns the value. A plain run() would not return, because an open
/// environment keeps its context busy.
template <class T>
T finish(asio::io_context& context, std::future<T> future) {
  // Asio sets the value on another thread, and this context may get no handler afterwards. The loop therefore waits
  // in steps of 10 ms.
  while (future.wait_for(0s) != std::future_status::ready) {
    context.restart();
    context.run_one_for(10ms);
  }
  return future.get();
}

TEST(DefaultConstructed, an_environment_is_opened_through_a_future) {
  const cofferdam_test::watchdog limit(60s);
  asio::io_context context;
  const auto spawn = [&](auto work) { return asio::co_spawn(context, std::move(work), asio::use_future); };
  const auto recipe = local().without_warning() | timeout(5s) | allow_commands("echo .*");
  local_environment plain = finish(context, spawn(local().without_warning().open()));
  auto layered = finish(context, spawn(recipe.open()));
  const command_result allowed = finish(context, spawn(layered.run_command(shell("echo hi"))));
  const command_result refused = finish(context, spawn(layered.run_command(shell("id"))));
  EXPECT_EQ(allowed.out().text(), "hi\n");
  EXPECT_EQ(refused.kind(), error_kind::command_not_allowed);
  finish(context, spawn(plain.close()));
  finish(context, spawn(layered.close()));
}

TEST(DefaultConstructed, environments_are_opened_side_by_side_in_a_parallel_group) {
  run([]() -> awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    const local recipe = local().without_warning();
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, recipe.open(), detail::deferred),
                                                         asio::co_spawn(executor, recipe.open(), detail::deferred));
    auto opened = co_await group.async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    auto& [order, first_failure, first, second_failure, second] = opened;
    EXPECT_EQ(order.size(), 2u);
    EXPECT_FALSE(first_failure);
    EXPECT_FALSE(second_failure);
    EXPECT_NE(first.workspace(), second.workspace());
    co_await first.close();
    co_await second.close();
  });
}

}  // namespace default_constructed_tests
