// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/daemon_location.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/detail/os/pipe.hpp>
#include <cofferdam/detail/os/reaper.hpp>
#include <cofferdam/net/make_byte_stream.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/spawn.hpp>
#include <cofferdam/os/unique_fd.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns the command line of an `ssh` whose standard input and output are a connection to the daemon.
inline std::vector<std::string> ssh_words(const daemon_location& where) {
  std::vector<std::string> words{"ssh"};
  if (!where.user().empty()) {
    words.push_back("-l");
    words.push_back(where.user());
  }
  if (where.has_port()) {
    words.push_back("-p");
    words.push_back(std::to_string(where.port()));
  }
  // BatchMode prevents ssh from prompting, because there is no user to answer.
  for (const char* word : {"-o", "ConnectTimeout=30", "-o", "BatchMode=yes", "-T", "--"}) words.emplace_back(word);
  words.push_back(where.host());
  std::string remote = "docker";
  if (!where.path().empty()) {
    remote += " --host='unix://";
    for (const char c : where.path()) remote += c == '\'' ? std::string("'\\''") : std::string(1, c);
    remote += "'";
  }
  words.push_back(remote + " system dial-stdio");
  return words;
}

/// A child process that runs `ssh`. The destructor kills it.
class ssh_process {
 public:
  ssh_process(unique_fd pidfd, unique_fd errors) : pidfd_(std::move(pidfd)), errors_(std::move(errors)) {}
  ssh_process(ssh_process&&) noexcept = default;
  ssh_process& operator=(ssh_process&&) = delete;
  ~ssh_process() {
    if (!pidfd_) return;
    cofferdam::detail::signal_process(pidfd_.get(), SIGKILL);
    cofferdam::detail::reaper::instance().adopt(std::move(pidfd_));
  }

  /// Returns the process's error output so far, as one line.
  std::string stderr_text() const {
    char text[2048];
    ssize_t got = 0;
    do {
      got = ::read(errors_.get(), text, sizeof text);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? one_line(std::string_view(text, static_cast<std::size_t>(got)), 400) : std::string();
  }

 private:
  unique_fd pidfd_;
  unique_fd errors_;
};

/// A stream through an `ssh` process. If the stream ends before the first byte, reading throws an error with the error
/// output of ssh.
class ssh_stream final : public byte_stream::implementation {
 public:
  ssh_stream(byte_stream inner, ssh_process process, std::string address)
      : inner_(std::move(inner)), process_(std::move(process)), address_(std::move(address)) {}

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    const std::size_t got = co_await inner_.read_some(into);
    if (got == 0 && !received_) throw ended();
    received_ = true;
    co_return got;
  }
  awaitable<void> write(bytes_view data) override { return inner_.write(data); }
  awaitable<void> shutdown_send() override { return inner_.shutdown_send(); }
  void close() noexcept override { inner_.close(); }
  bool is_quiet() noexcept override { return inner_.is_quiet(); }

 private:
  error ended() const {
    const std::string stderr_text = process_.stderr_text();
    return error(exec_errc::io_error, "docker: ssh exited before the daemon of " + address_ + " answered: " +
                                          (stderr_text.empty() ? std::string("ssh gave no reason") : stderr_text) +
                                          "; try: ssh HOST docker system dial-stdio");
  }

  byte_stream inner_;
  ssh_process process_;
  std::string address_;
  bool received_ = false;
};

/// Starts `ssh` and returns its standard input and output as a stream to the daemon.
inline byte_stream open_ssh(const asio::any_io_executor& executor, const daemon_location& where,
                            const host_view& host) {
  cofferdam::detail::reaper::instance().sweep();
  cofferdam::detail::pipe_ends in = cofferdam::detail::make_pipe();
  cofferdam::detail::pipe_ends out = cofferdam::detail::make_pipe();
  cofferdam::detail::pipe_ends err = cofferdam::detail::make_pipe();
  for (const unique_fd* ours : {&in.write_end, &out.read_end, &err.read_end}) cofferdam::detail::set_nonblocking(*ours);
  spawn_request request;
  request.words = ssh_words(where);
  // ssh gets all environment variables of this process, because it needs HOME, the address of the ssh agent, and PATH
  // for programs that its configuration names.
  request.variables = host.settings();
  const std::string path = host.value("PATH");
  request.candidates = program_candidates("ssh", path.empty() ? default_path : std::string_view(path));
  request.input = in.read_end.get();
  request.output = out.write_end.get();
  request.error = err.write_end.get();
  spawned started = spawn(request);
  if (!started.ok())
    throw error(exec_errc::provider_failed,
                "docker: cannot run ssh for " + where.address() + ": " + started.cause().message() +
                    "; install openssh-client, or use another address of the daemon",
                started.cause());
  ssh_process process(std::move(started.pidfd()), std::move(err.read_end));
  asio::posix::stream_descriptor readable(executor);
  asio::posix::stream_descriptor writable(executor);
  readable.assign(out.read_end.get());
  out.read_end.release();
  writable.assign(in.write_end.get());
  in.write_end.release();
  byte_stream inner = make_byte_stream(std::move(readable), std::move(writable), "ssh to " + where.host());
  return byte_stream(std::make_unique<ssh_stream>(std::move(inner), std::move(process), where.address()));
}

/// Returns a connector that starts an `ssh` process for each connection.
inline cofferdam::detail::connector ssh_connector(daemon_location where, host_view host) {
  const std::string name = where.address();
  return cofferdam::detail::connector(
      name, "docker",
      [where = std::move(where), host = std::move(host)](asio::any_io_executor executor, std::chrono::milliseconds)
          -> awaitable<byte_stream> { co_return open_ssh(executor, where, host); });
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
