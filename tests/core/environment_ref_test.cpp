// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/command_files.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam_test::full_fake;
using cofferdam_test::journal;
using cofferdam_test::plain_fake;

static_assert(code_exec_provider<environment_ref<plain_fake>>);
static_assert(!streaming_environment<referenced_environment<plain_fake>>);
static_assert(streaming_environment<referenced_environment<full_fake>>);
static_assert(sizeof(referenced_environment<full_fake>) == sizeof(void*));

/// A layer that overrides write_file() and does not define files(). It therefore has no files(): file operations
/// through it would bypass the override.
class writing_layer : public layer<writing_layer, full_fake> {
 public:
  using layer<writing_layer, full_fake>::layer;
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inner().write_file(std::move(path), content);
  }
};
static_assert(!file_environment<referenced_environment<writing_layer>>);
static_assert(
    std::same_as<detail::completed_t<referenced_environment<writing_layer>>, referenced_environment<writing_layer>>,
    "commands would go round the layer's write_file");

TEST(BorrowedEnvironment, passes_everything_on_but_the_close) {
  const auto log = std::make_shared<journal>();
  full_fake owned(log);
  const auto body = [&owned]() -> awaitable<void> {
    environment_ref<full_fake> recipe(owned);
    referenced_environment<full_fake> lent = co_await recipe.open();
    co_await lent.run_command(shell("a"));
    co_await lent.start(shell("b"));
    co_await lent.read_file("r", 10);
    co_await lent.write_file("w", bytes_view());
    co_await lent.files().stat("s");
    co_await lent.files().list("l");
    co_await lent.files().make_directory("m");
    co_await lent.files().remove("d");
    co_await lent.files().rename("f", "t");
    co_await lent.files().get_files(std::vector<file_request>());
    co_await lent.close();
  };
  cofferdam_test::run(body);
  const std::vector<std::string> expected{"run_command", "start",    "read_file r",      "write_file w",
                                          "stat s",      "list l",   "make_directory m", "remove d",
                                          "rename f t",  "get_files"};
  EXPECT_EQ(log->calls, expected);
}

}  // namespace
