// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "../examples/custom_backend.hpp"

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/testing/provider_conformance.hpp>

#include "support/run.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <stdlib.h>

namespace cofferdam_test {

/// A provider whose environments have a new temporary folder each. The example's `folder_provider` uses one given
/// folder, but the conformance suite needs an empty folder for each environment.
class fresh_folder_provider {
 public:
  cofferdam::awaitable<folder_environment> open() const {
    std::string pattern = (std::filesystem::temp_directory_path() / "cofferdam-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folders_->add(pattern);
    folder_provider recipe(pattern);
    folder_environment environment = co_await recipe.open();
    co_return environment;
  }

 private:
  class folders {
   public:
    void add(std::filesystem::path folder) { all_.push_back(std::move(folder)); }
    ~folders() {
      std::error_code ignored;  // the folder is temporary, so a failed removal does no harm
      for (const std::filesystem::path& folder : all_) std::filesystem::remove_all(folder, ignored);
    }

   private:
    std::vector<std::filesystem::path> all_;
  };

  std::shared_ptr<folders> folders_ = std::make_shared<folders>();
};

class custom {
 public:
  static auto provider() { return fresh_folder_provider(); }
};

}  // namespace cofferdam_test

namespace {

using namespace cofferdam;

TEST(CustomBackend, one_that_is_dropped_ends_its_commands) {
  cofferdam_test::run([]() -> awaitable<void> {
    const cofferdam_test::fresh_folder_provider provider;
    folder_environment watcher = co_await provider.open();
    command_result pid;
    {
      folder_environment dropped = co_await provider.open();
      asio::any_io_executor executor = co_await asio::this_coro::executor;
      asio::co_spawn(
          executor, [&]() -> awaitable<void> { co_await dropped.run_command(shell("echo $$ > pid; exec sleep 60")); },
          [](std::exception_ptr failure) { EXPECT_TRUE(failure) << "it was let run to its end"; });
      for (;;) {
        try {
          std::string text = co_await read_text(dropped, "pid");
          if (text.empty()) continue;
          pid.reason(text);
          break;
        } catch (const error&) {
        }
        asio::steady_timer timer(executor, std::chrono::milliseconds(2));
        co_await timer.async_wait(asio::use_awaitable);
      }
      command_result alive = co_await watcher.run_command(shell("kill -0 " + pid.reason()));
      EXPECT_TRUE(alive.ok());
    }
    for (int i = 0; i < 1000; ++i) {
      command_result alive = co_await watcher.run_command(shell("kill -0 " + pid.reason()));
      if (!alive.ok()) break;
      EXPECT_LT(i, 999) << "it still runs";
    }
    co_await watcher.close();
  });
}

}  // namespace

namespace cofferdam::testing {

// Feature: A1
INSTANTIATE_TYPED_TEST_SUITE_P(custom, command_conformance, cofferdam_test::custom);
INSTANTIATE_TYPED_TEST_SUITE_P(custom, file_conformance, cofferdam_test::custom);
INSTANTIATE_TYPED_TEST_SUITE_P(custom, lifetime_conformance, cofferdam_test::custom);

}  // namespace cofferdam::testing
