// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/suspendable_environment.hpp>

#include "support/files_by_members.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// The calls that a fake environment has received, in order.
class journal {
 public:
  std::vector<std::string> calls;
  std::vector<cofferdam::command> commands;
};

/// An environment with the four required members only. Records the calls that it receives.
class plain_fake {
 public:
  explicit plain_fake(std::shared_ptr<journal> log) : log_(std::move(log)) {}

  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command c) {
    log_->calls.push_back("run_command");
    log_->commands.push_back(std::move(c));
    co_return cofferdam::command_result::exited(0);
  }
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string path, std::size_t) {
    log_->calls.push_back("read_file " + path);
    co_return cofferdam::to_bytes("content of " + path);
  }
  cofferdam::awaitable<void> write_file(std::string path, cofferdam::bytes_view) {
    log_->calls.push_back("write_file " + path);
    co_return;
  }
  cofferdam::awaitable<void> close() {
    log_->calls.push_back("close");
    co_return;
  }

 protected:
  std::shared_ptr<journal> log_;
};

/// An environment with all optional operations too. Records the calls that it receives.
class full_fake : public plain_fake {
 public:
  using plain_fake::plain_fake;

  cofferdam::awaitable<cofferdam::process> start(cofferdam::command c) {
    log_->calls.push_back("start");
    log_->commands.push_back(std::move(c));
    co_return cofferdam::process::finished(cofferdam::command_result::exited(0));
  }
  cofferdam::awaitable<cofferdam::directory_entry> stat(std::string path) {
    log_->calls.push_back("stat " + path);
    co_return cofferdam::directory_entry(path, cofferdam::file_type::regular, 0, 0644);
  }
  cofferdam::awaitable<std::vector<cofferdam::directory_entry>> list(
      std::string path, cofferdam::list_options = cofferdam::list_options()) {
    log_->calls.push_back("list " + path);
    co_return std::vector<cofferdam::directory_entry>();
  }
  cofferdam::awaitable<void> make_directory(std::string path) { return note("make_directory " + path); }
  cofferdam::awaitable<void> remove(std::string path) { return note("remove " + path); }
  cofferdam::awaitable<void> rename(std::string from, std::string to) { return note("rename " + from + " " + to); }
  cofferdam::awaitable<cofferdam::transfer_result> put_files(cofferdam::file_source&) {
    log_->calls.push_back("put_files");
    co_return cofferdam::transfer_result();
  }
  cofferdam::awaitable<std::unique_ptr<cofferdam::file_source>> get_files(std::vector<cofferdam::file_request>) {
    log_->calls.push_back("get_files");
    co_return nullptr;
  }
  cofferdam::file_system files() { return files_by_members(*this); }
  cofferdam::awaitable<void> pause() { return note("pause"); }
  cofferdam::awaitable<void> resume() { return note("resume"); }
  cofferdam::awaitable<std::string> snapshot() {
    log_->calls.push_back("snapshot");
    co_return "name";
  }

 private:
  cofferdam::awaitable<void> note(std::string what) {
    log_->calls.push_back(std::move(what));
    co_return;
  }
};

/// A provider (recipe) that opens environments of type `Fake`: `plain_fake` or `full_fake`.
template <class Fake>
class fake_provider {
 public:
  explicit fake_provider(std::shared_ptr<journal> log) : log_(std::move(log)) {}
  cofferdam::awaitable<Fake> open() const {
    log_->calls.push_back("open");
    co_return Fake(log_);
  }

 private:
  std::shared_ptr<journal> log_;
};

}  // namespace cofferdam_test
