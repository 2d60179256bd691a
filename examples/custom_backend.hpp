// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// A backend of your own needs two classes: an environment with four member functions, and a provider, which opens
// environments, with one. This environment runs commands in a folder that you name; yours may run them in a pod, on a
// phone or in a simulator. The library's building blocks for processes and files (`child_processes`, `workspace_files`)
// do most of the work.
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/workspace_files.hpp>

#include <asio/this_coro.hpp>

#include <string>
#include <utility>

class folder_environment {
 public:
  folder_environment(asio::any_io_executor executor, std::string folder)
      : children_(std::move(executor)), files_(cofferdam::directory::open(folder), folder, {}), folder_(folder) {}

  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command c) {
    if (closed_) throw cofferdam::error(cofferdam::exec_errc::environment_closed, "this folder is closed");
    if (auto refusal = cofferdam::refuse_invalid(c)) co_return *refusal;
    cofferdam::spawn_request request = cofferdam::request_for(c, "/bin/sh", {"HOME=" + folder_, "TMPDIR=/tmp", path()});
    const auto directory = files().root().open_directory_fd(files().beneath(c.working_directory()));
    request.directory = directory.get();
    cofferdam::command_result result = co_await children_.run(std::move(c), std::move(request));
    co_return result;
  }
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string path, std::size_t max_bytes) {
    return files().read_file(std::move(path), max_bytes);
  }
  cofferdam::awaitable<void> write_file(std::string path, cofferdam::bytes_view content) {
    return files().write_file(std::move(path), content);
  }
  cofferdam::awaitable<void> close() {
    closed_ = true;
    return children_.close();
  }

 private:
  cofferdam::workspace_files& files() {
    if (closed_) throw cofferdam::error(cofferdam::exec_errc::environment_closed, "this folder is closed");
    return files_;
  }
  static std::string path() { return "PATH=" + std::string(cofferdam::default_path); }

  cofferdam::child_processes children_;
  cofferdam::workspace_files files_;
  std::string folder_;
  bool closed_ = false;
};

class folder_provider {
 public:
  explicit folder_provider(std::string folder) : folder_(std::move(folder)) {}
  cofferdam::awaitable<folder_environment> open() const {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    co_return folder_environment(executor, folder_);
  }

 private:
  std::string folder_;
};

static_assert(cofferdam::code_exec_provider<folder_provider>);
