// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/os/workspace_files.hpp>

#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>

namespace {

using asio::awaitable;
using cofferdam::bytes;
using cofferdam::directory;
using cofferdam::error;
using cofferdam::exec_errc;
using cofferdam::file_header;
using cofferdam::file_source;
using cofferdam::file_type;
using cofferdam::workspace_files;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;

/// A source of two files. Reading the first one fails.
class failing_source final : public file_source {
 public:
  explicit failing_source(exec_errc reason) : reason_(reason) {}
  awaitable<std::optional<file_header>> next() override {
    std::optional<file_header> header;
    if (given_ < 2) header.emplace("there", given_ == 0 ? "first" : "second", file_type::regular, 0, 0644);
    ++given_;
    co_return header;
  }
  awaitable<bytes> read(std::size_t) override {
    if (given_ == 1) throw error(reason_, "from read");
    co_return bytes();
  }

 private:
  exec_errc reason_;
  int given_ = 0;
};

}  // namespace

TEST(WorkspaceFiles, a_file_whose_content_fails_is_reported_and_the_next_one_is_put) {
  const temporary_folder folder;
  workspace_files files(directory::open(folder.path()), folder.path().string(), std::nullopt);
  failing_source source(exec_errc::io_error);
  run([&]() -> awaitable<void> {
    const cofferdam::transfer_result report = co_await files.put_files(source);
    EXPECT_EQ(report.failed().size(), 1U);
    EXPECT_EQ(report.files().size(), 1U);
  });
}

TEST(WorkspaceFiles, a_lost_or_closed_source_ends_the_whole_transfer) {
  const temporary_folder folder;
  workspace_files files(directory::open(folder.path()), folder.path().string(), std::nullopt);
  for (const exec_errc reason : {exec_errc::provider_lost, exec_errc::environment_closed, exec_errc::cancelled}) {
    failing_source source(reason);
    std::error_code code;
    run([&]() -> awaitable<void> {
      try {
        static_cast<void>(co_await files.put_files(source));
      } catch (const error& failure) {
        code = failure.code();
      }
    });
    EXPECT_EQ(code, reason);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "second"));
  }
}
