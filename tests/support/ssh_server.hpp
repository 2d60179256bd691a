// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// An OpenSSH server for tests: with its own keys, settings and port of the loopback interface, in a temporary folder.

#include "support/temporary_folder.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cofferdam_test {

/// Returns true if this machine has the programs of an OpenSSH server and client.
inline bool has_ssh_server() {
  return ::access("/usr/sbin/sshd", X_OK) == 0 && ::access("/usr/bin/ssh", X_OK) == 0 &&
         ::access("/usr/bin/ssh-keygen", X_OK) == 0;
}

/// A running server. The destructor ends it. Log in as the user of the test, with `client_words`.
class ssh_server {
 public:
  /// \throws std::runtime_error if the server does not start.
  ssh_server() {
    for (const char* const name : {"host_key", "user_key"})
      if (wait_for(begin({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", (folder_ / name).string()})) !=
          0)
        throw std::runtime_error("ssh-keygen failed");
    folder_.write("authorized_keys", folder_.read("user_key.pub"), 0600);
    if (::geteuid() == 0) ::mkdir("/run/sshd", 0755);  // the server requires this folder when it runs as root
    for (int attempt = 0; attempt < 5 && pid_ <= 0; ++attempt) start();
    if (pid_ <= 0) throw std::runtime_error("sshd does not start: " + folder_.read("log"));
  }
  ssh_server(const ssh_server&) = delete;
  ssh_server& operator=(const ssh_server&) = delete;
  ~ssh_server() { stop(); }

  /// Returns the server of this process, which runs until the process ends.
  static ssh_server& shared() {
    static ssh_server server;
    return server;
  }

  /// Returns a command line that logs in at this server: `ssh`, options and the host.
  std::vector<std::string> client_words() const {
    const passwd* const user = ::getpwuid(::geteuid());
    return {"ssh",
            "-F",
            "/dev/null",
            "-i",
            (folder_ / "user_key").string(),
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "BatchMode=yes",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
            "-p",
            std::to_string(port_),
            "-l",
            user == nullptr ? "root" : user->pw_name,
            "127.0.0.1"};
  }

  /// Ends the server, and waits for its end. Open connections continue.
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    wait_for(pid_);
    pid_ = 0;
  }

 private:
  static pid_t begin(std::vector<std::string> words) {
    std::vector<char*> raw;
    for (std::string& each : words) raw.push_back(each.data());
    raw.push_back(nullptr);
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; ++fd) ::dup2(nothing, fd);
    ::execv(raw.front(), raw.data());
    ::_exit(127);
  }

  static int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  static int free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    int port = 0;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0)
      port = ::ntohs(at.sin_port);
    ::close(fd);
    return port;
  }

  bool answers() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    at.sin_port = ::htons(static_cast<std::uint16_t>(port_));
    const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(fd);
    return connected;
  }

  void start() {
    port_ = free_port();
    folder_.write("sshd_config", "Port " + std::to_string(port_) + "\nListenAddress 127.0.0.1\nHostKey " +
                                     (folder_ / "host_key").string() + "\nAuthorizedKeysFile " +
                                     (folder_ / "authorized_keys").string() +
                                     "\nPidFile none\nStrictModes no\nPasswordAuthentication no\nUsePAM no\n"
                                     "PermitRootLogin yes\nMaxStartups 100\nMaxSessions 100\n");
    folder_.write("log", "");
    pid_ = begin({"/usr/sbin/sshd", "-D", "-f", (folder_ / "sshd_config").string(), "-E", (folder_ / "log").string()});
    for (int i = 0; i < 500; ++i) {
      if (answers()) return;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    pid_ = 0;
  }

  temporary_folder folder_;
  int port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace cofferdam_test
