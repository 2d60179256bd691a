// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/layer.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>

#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam_test {

using namespace cofferdam;

/// A minimal environment with the four required members: a map of files. It records its commands.
class map_environment {
 public:
  class content {
   public:
    std::map<std::string, std::string> files;
    std::vector<std::vector<std::string>> commands;
    bool chmod_fails = false;
  };

  explicit map_environment(std::shared_ptr<content> inside) : inside_(std::move(inside)) {}

  awaitable<command_result> run_command(command c) {
    inside_->commands.push_back(c.words());
    if (c.words().front() == "chmod") co_return command_result::exited(inside_->chmod_fails ? 1 : 0);
    if (c.words().front() == "mkdir") co_return command_result::exited(0);
    // The path is the last word of the `stat` command, and starts with "./".
    const std::string path = c.words().back().substr(2);
    command_result result = command_result::exited(inside_->files.contains(path) ? 0 : 1);
    const std::string answer = result.ok() ? "f 5 640 0 0 0 root root ./" + path + std::string(2, '\0') : "";
    const std::string complaint = result.ok() ? "" : "No such file";
    result.out(captured_output(to_bytes(answer), bytes(), answer.size()));
    result.err(captured_output(to_bytes(complaint), bytes(), complaint.size()));
    co_return result;
  }
  awaitable<bytes> read_file(std::string path, std::size_t) {
    if (path == "unreadable") throw error(exec_errc::permission_denied, "no");
    co_return to_bytes(inside_->files.at(path));
  }
  awaitable<void> write_file(std::string path, bytes_view data) {
    if (path == "unwritable") throw error(exec_errc::permission_denied, "no");
    if (path == "closed") throw error(exec_errc::environment_closed, "closed");
    inside_->files[path] = std::string(as_text(data));
    co_return;
  }
  awaitable<void> close() { co_return; }

 private:
  std::shared_ptr<content> inside_;
};

/// A source of files from a list.
class list_source final : public file_source {
 public:
  void add(file_header header, std::string content) { files_.emplace_back(std::move(header), std::move(content)); }
  awaitable<std::optional<file_header>> next() override {
    if (at_ == files_.size()) co_return std::nullopt;
    sent_ = 0;
    co_return files_[at_++].first;
  }
  awaitable<bytes> read(std::size_t) override {
    const std::string& content = files_[at_ - 1].second;
    // The pieces have at most 3 bytes, so that the reader must join them.
    const std::string piece = content.substr(std::min(sent_, content.size()), 3);
    sent_ += piece.size();
    co_return to_bytes(piece);
  }

 private:
  std::vector<std::pair<file_header, std::string>> files_;
  std::size_t at_ = 0;
  std::size_t sent_ = 0;
};

/// The environment as the library completes it, with all file operations.
using completed_map = cofferdam::detail::completed_t<map_environment>;

/// A layer that refuses every command.
template <code_exec_environment Inner>
class refusing_layer : public layer<refusing_layer<Inner>, Inner> {
 public:
  using layer<refusing_layer<Inner>, Inner>::layer;
  std::optional<command_result> admit(command&) {
    return command_result::refused(error_kind::command_not_allowed, "nothing is allowed");
  }
};

}  // namespace cofferdam_test

namespace {

using namespace cofferdam_test;

file_header file(std::string destination, unsigned mode = 0644) {
  return {"host/" + destination, destination, file_type::regular, 5, mode};
}

TEST(FileTransfer, files_are_put_one_by_one_where_the_environment_knows_no_better) {
  auto inside = std::make_shared<map_environment::content>();
  list_source source;
  source.add(file("a"), "first content");
  source.add(file("empty"), "");
  source.add(file_header("host/dir", "dir", file_type::directory, 0, 0755), "");
  run([&]() -> awaitable<void> {
    map_environment env(inside);
    transfer_result report = co_await put_files(env, source);
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.files().size(), 3U);
    EXPECT_EQ(report.files().front().source(), "host/a");
    EXPECT_EQ(report.files().front().size(), 13U);
  });
  EXPECT_EQ(inside->files, (std::map<std::string, std::string>{{"a", "first content"}, {"empty", ""}}));
  EXPECT_EQ(inside->commands, (std::vector<std::vector<std::string>>{{"mkdir", "-p", "./dir"}}));
}

TEST(FileTransfer, an_executable_file_is_made_one_by_a_command_below_every_layer) {
  auto inside = std::make_shared<map_environment::content>();
  list_source source;
  source.add(file("-rf", 0750), "#!/bin/sh");
  run([&]() -> awaitable<void> {
    refusing_layer<completed_map> env{completed_map(map_environment(inside))};
    transfer_result report = co_await put_files(env, source);
    EXPECT_TRUE(report.ok());
  });
  EXPECT_EQ(inside->commands, (std::vector<std::vector<std::string>>{{"chmod", "750", "./-rf"}}));
}

TEST(FileTransfer, a_file_that_fails_is_reported_and_the_rest_goes_on) {
  auto inside = std::make_shared<map_environment::content>();
  inside->chmod_fails = true;
  list_source source;
  source.add(file_header("host/gone", error(exec_errc::not_found, "gone")), "");
  source.add(file("unwritable"), "x");
  source.add(file("../outside"), "x");
  source.add(file("script", 0755), "x");
  source.add(file("good"), "x");
  run([&]() -> awaitable<void> {
    map_environment env(inside);
    transfer_result report = co_await put_files(env, source);
    EXPECT_EQ(report.files().size(), 1U);
    EXPECT_EQ(report.failed().size(), 4U);
    EXPECT_EQ(report.failed().at(0).reason().code(), exec_errc::not_found);
    EXPECT_EQ(report.failed().at(1).reason().code(), exec_errc::permission_denied);
    EXPECT_EQ(report.failed().at(2).reason().code(), exec_errc::outside_workspace);
    EXPECT_EQ(report.failed().at(3).reason().code(), exec_errc::permission_denied);
  });
  EXPECT_TRUE(inside->files.contains("good"));
}

TEST(FileTransfer, an_environment_that_is_closed_ends_it_all) {
  auto inside = std::make_shared<map_environment::content>();
  list_source source;
  source.add(file("closed"), "x");
  source.add(file("good"), "x");
  std::error_code code;
  run([&]() -> awaitable<void> {
    map_environment env(inside);
    try {
      static_cast<void>(co_await put_files(env, source));
    } catch (const error& failure) {
      code = failure.code();
    }
  });
  EXPECT_EQ(code, exec_errc::environment_closed);
  EXPECT_FALSE(inside->files.contains("good"));
}

TEST(FileTransfer, files_are_got_one_by_one_with_their_modes_below_every_layer) {
  auto inside = std::make_shared<map_environment::content>();
  inside->files = {{"a", "content of a"}, {"unreadable", "x"}};
  run([&]() -> awaitable<void> {
    refusing_layer<completed_map> env{completed_map(map_environment(inside))};
    std::vector<file_request> requests;
    requests.emplace_back("a", "to/a");
    requests.emplace_back("missing", "m");
    requests.emplace_back("unreadable", "u");
    std::unique_ptr<file_source> source = co_await get_files(env, std::move(requests));
    std::optional<file_header> first = co_await source->next();
    EXPECT_EQ(first->destination(), "to/a");
    EXPECT_EQ(first->mode(), 0640U);
    std::string content;
    for (;;) {
      bytes piece = co_await source->read(5);
      if (piece.empty()) break;
      content += as_text(piece);
    }
    EXPECT_EQ(content, "content of a");
    std::optional<file_header> second = co_await source->next();
    EXPECT_EQ(second->failure()->code(), exec_errc::not_found);
    std::optional<file_header> third = co_await source->next();
    EXPECT_EQ(third->failure()->code(), exec_errc::permission_denied);
    std::optional<file_header> end = co_await source->next();
    EXPECT_FALSE(end);
  });
}

}  // namespace
