// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/upload_files.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

namespace {

using namespace cofferdam;
using cofferdam_test::run;

class UploadFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "cofferdam-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directories(folder_ / "dir/sub");
    write("a.txt", "alpha");
    write("dir/b.txt", "beta");
    write("dir/sub/c.txt", "gamma");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::string host(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(UploadFiles, are_there_when_the_environment_opens) {
  run([&]() -> awaitable<void> {
    co_await with(local().without_warning() | upload_files(host("a.txt"), host("dir")),
                  [&](auto& env) -> awaitable<void> {
                    std::vector<directory_entry> entries = co_await list_directory(env, ".");
                    std::string names;
                    for (const directory_entry& entry : entries) names += entry.path() + " ";
                    EXPECT_EQ(names, "a.txt dir dir/b.txt dir/sub dir/sub/c.txt ");
                  });
  });
}

TEST_F(UploadFiles, are_copied_afresh_for_each_environment) {
  run([&]() -> awaitable<void> {
    auto provider = local().without_warning() | upload_files(host("a.txt"));
    auto first = co_await provider.open();
    co_await write_text(first, "a.txt", "changed inside");
    write("a.txt", "changed outside");
    auto second = co_await provider.open();
    std::string in_first = co_await read_text(first, "a.txt");
    std::string in_second = co_await read_text(second, "a.txt");
    EXPECT_EQ(in_first, "changed inside");
    EXPECT_EQ(in_second, "changed outside");
    co_await first.close();
    co_await second.close();
  });
}

TEST_F(UploadFiles, an_allowlist_inside_or_outside_does_not_matter) {
  run([&]() -> awaitable<void> {
    co_await with(local().without_warning() | allow_commands("cat a.txt") | upload_files(host("a.txt")),
                  [&](auto& env) -> awaitable<void> {
                    command_result result = co_await env.run_command(shell("cat a.txt"));
                    EXPECT_EQ(result.out().text(), "alpha");
                  });
  });
}

TEST_F(UploadFiles, a_missing_file_fails_the_opening_and_leaves_nothing) {
  std::filesystem::create_directories(folder_ / "base");
  std::error_code code;
  std::string sentence;
  run([&]() -> awaitable<void> {
    auto provider = local().without_warning().temporary_base(folder_ / "base") |
                    upload_files(host("a.txt"), host("missing-1"), host("missing-2"));
    try {
      auto env = co_await provider.open();
      co_await env.close();
    } catch (const error& failure) {
      code = failure.code();
      sentence = failure.what();
    }
  });
  EXPECT_EQ(code, exec_errc::not_found);
  EXPECT_NE(sentence.find("missing-1"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("1 more"), std::string::npos) << sentence;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "base")) << "the environment was not closed";
}

}  // namespace
