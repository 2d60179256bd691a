// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// A provider for tests whose environments reach a warden (the helper program that starts commands in a sandbox) over a
// stream that carries bytes only. Commands and files therefore travel in frames, and no descriptor is passed.

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/streaming_environment.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/warden/session.hpp>

#include <asio/local/stream_protocol.hpp>
#include <asio/this_coro.hpp>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stdlib.h>

namespace cofferdam_test {

using namespace cofferdam;
using cofferdam::detail::start_warden;
using cofferdam::detail::started_warden;

/// A temporary folder that is removed with its environment.
class session_folder {
 public:
  session_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cofferdam-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
    path_ = std::filesystem::canonical(pattern);
  }
  session_folder(const session_folder&) = delete;
  session_folder& operator=(const session_folder&) = delete;
  ~session_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// An environment whose commands and files go through a `warden_session` over a byte stream.
class far_environment {
 public:
  far_environment(warden_session session, std::shared_ptr<session_folder> folder, unique_fd warden)
      : folder_(std::move(folder)), session_(std::move(session)), warden_(std::move(warden)) {}
  far_environment(far_environment&&) noexcept = default;
  far_environment& operator=(far_environment&&) noexcept = default;
  ~far_environment() {
    session_.abandon();
    if (warden_) cofferdam::detail::reaper::instance().adopt(std::move(warden_));
  }

  awaitable<command_result> run_command(command c) {
    if (auto refusal = refuse_invalid(c)) co_return std::move(*refusal);
    spawn_request request = co_await request_of(c);
    command_result result = co_await session_.run(std::move(c), std::move(request));
    co_return result;
  }
  awaitable<process> start(command c) {
    if (auto refusal = refuse_invalid(c)) co_return process::finished(std::move(*refusal));
    spawn_request request = co_await request_of(c);
    process running = co_await session_.start(std::move(c), std::move(request));
    co_return running;
  }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return session_.files()->read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return session_.files()->write_file(std::move(path), content);
  }
  file_system files() { return file_system(session_.files()); }
  awaitable<void> close() { return session_.close(); }

  warden_session& session() { return session_; }
  const std::filesystem::path& folder() const { return folder_->path(); }

 private:
  awaitable<spawn_request> request_of(const command& c) {
    const std::vector<std::string> variables{"PATH=" + std::string(default_path), "HOME=" + folder_->path().string(),
                                             "TMPDIR=/tmp", "LANG=C.UTF-8", "TERM=dumb"};
    spawn_request request = request_for(c, "/bin/bash", variables);
    const std::shared_ptr<session_files> workspace = session_.files();
    request.directory_path = co_await workspace->directory_path(c.working_directory());
    co_return request;
  }

  std::shared_ptr<session_folder> folder_;
  warden_session session_;
  unique_fd warden_;
};

/// A provider of `far_environment`s. `open` starts a warden and connects to it over a socket.
class far_provider {
 public:
  far_provider() = default;
  explicit far_provider(warden_settings settings) : settings_(std::move(settings)) {}

  awaitable<far_environment> open() const {
    auto folder = std::make_shared<session_folder>();
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    cofferdam::detail::reaper::instance().sweep();
    started_warden started = start_warden(native_warden_image().program(), folder->path());
    asio::local::stream_protocol::socket stream(executor, asio::local::stream_protocol(), started.socket.release());
    warden_settings settings = settings_;
    settings.root = folder->path().string();
    settings.commands.kill_grace = std::chrono::milliseconds(500);
    warden_session session = co_await warden_session::open(std::move(stream), std::move(settings));
    co_return far_environment(std::move(session), std::move(folder), std::move(started.pidfd));
  }

 private:
  warden_settings settings_;
};

static_assert(code_exec_provider<far_provider>);
static_assert(streaming_environment<far_environment> && file_environment<far_environment>);

}  // namespace cofferdam_test
