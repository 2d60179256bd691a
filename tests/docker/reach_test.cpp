// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests the ways to connect to a Docker daemon (a socket, TLS with certificates, contexts, ssh), and the errors if
// there is no daemon.

#include <cofferdam/core/with.hpp>

#include "docker/docker_support.hpp"
#include "net/certificates.hpp"
#include "support/forked_host.hpp"
#include "support/script_server.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::certificate;
using cofferdam_test::docker_address;
using cofferdam_test::run;
using cofferdam_test::temporary_folder;

/// Sets environment variables of this process. The destructor restores the old values.
class variables_set {
 public:
  explicit variables_set(const std::map<std::string, std::string>& settings) {
    for (const char* name : {"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_TLS",
                             "DOCKER_CERT_PATH", "PATH", "HOME", "XDG_RUNTIME_DIR"}) {
      const char* const value = std::getenv(name);
      before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
    }
    for (const auto& [name, value] : before_)
      if (name != "PATH") ::unsetenv(name.c_str());
    for (const auto& [name, value] : settings) ::setenv(name.c_str(), value.c_str(), 1);
  }
  variables_set(const variables_set&) = delete;
  variables_set& operator=(const variables_set&) = delete;
  ~variables_set() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

/// Starts tests/docker/tls_proxy.py, which offers the daemon's socket over TLS.
class tls_proxy {
 public:
  explicit tls_proxy(const std::string& folder)
      : server_("tests/docker/tls_proxy.py", {folder, docker_address().substr(7)}) {}
  const std::string& port() const { return server_.line(); }

 private:
  cofferdam_test::script_server server_;
};

/// Opens a container and runs a command in it. By default the daemon is found as the docker command would find it.
std::string greeting(docker::daemon_choice choice = docker::daemon_choice()) {
  return run(
      [&]() -> awaitable<std::string> {
        const auto provider = docker::from_image("cofferdam-test/busybox").daemon(choice);
        std::string text;
        try {
          text = co_await with(provider, [](docker::environment& env) -> awaitable<std::string> {
            // The first command writes more output than fits into one read.
            command_result result = co_await env.run_command(shell("head -c 3000000 /dev/zero | wc -c; echo hello"));
            co_return std::string(result.out().text());
          });
        } catch (const error& failure) {
          text = std::string("error: ") + failure.what();
        }
        co_return text;
      },
      120s);
}

constexpr const char* greeted = "3000000\nhello\n";

void write_keys(const std::filesystem::path& folder, const certificate& authority, const std::string& names) {
  const certificate server(names, &authority);
  const certificate client("DNS:client", &authority);
  std::ofstream(folder / "ca.pem") << authority.pem();
  std::ofstream(folder / "server-cert.pem") << server.pem();
  std::ofstream(folder / "server-key.pem") << server.key_pem();
  std::ofstream(folder / "cert.pem") << client.pem();
  std::ofstream(folder / "key.pem") << client.key_pem();
}

TEST(DockerReach, the_socket_that_docker_host_names) {
  COFFERDAM_NEEDS_DOCKER();
  const variables_set set({{"DOCKER_HOST", docker_address()}});
  EXPECT_EQ(greeting(), greeted);
}

TEST(DockerReach, a_daemon_that_does_not_see_the_files_of_this_program_is_spoken_with_all_the_same) {
  COFFERDAM_NEEDS_DOCKER();
  COFFERDAM_NEEDS("docker", ::geteuid() == 0, "a daemon that sees other files than this program (only root can mount)");
  // The same happens if this program runs in a container to which the daemon's socket was passed.
  const temporary_folder folder;
  const std::string place = (folder.path() / "elsewhere").string();
  std::filesystem::create_directory(place);
  const std::string printed = cofferdam_test::in_forked_host(
      [&]() -> std::string {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", place.c_str(), "tmpfs", 0, nullptr) != 0)
          return "cannot mount";
        ::setenv("TMPDIR", place.c_str(), 1);
        const docker::daemon_choice choice = cofferdam_test::test_daemon();
        // The second call uses the cached result.
        std::string greetings = greeting(choice) + greeting(choice);
        return greetings + (std::filesystem::is_empty(place) ? "" : "something is left");
      },
      120);
  EXPECT_EQ(printed, std::string(greeted) + greeted);
  EXPECT_TRUE(std::filesystem::is_empty(place)) << "the daemon has made a folder here";
}

TEST(DockerReach, tls_with_certificates_from_the_variables_and_from_a_context) {
  COFFERDAM_NEEDS_DOCKER();
  const temporary_folder folder;
  const certificate authority("");
  write_keys(folder.path(), authority, "DNS:localhost,IP:127.0.0.1");
  const tls_proxy proxy(folder.path().string());
  const std::string address = "tcp://127.0.0.1:" + proxy.port();
  {
    const variables_set set(
        {{"DOCKER_HOST", address}, {"DOCKER_TLS_VERIFY", "1"}, {"DOCKER_CERT_PATH", folder.path().string()}});
    EXPECT_EQ(greeting(), greeted);
  }
  const std::filesystem::path config = folder.path() / "config";
  std::filesystem::create_directories(config);
  std::ofstream(config / "config.json") << R"({"currentContext":"far"})";
  const std::string hash = cofferdam::detail::sha256_digits("far");
  std::filesystem::create_directories(config / "contexts" / "meta" / hash);
  std::ofstream(config / "contexts" / "meta" / hash / "meta.json")
      << R"({"Name":"far","Metadata":{},"Endpoints":{"docker":{"Host":")" << address << R"(","SkipTLSVerify":false}}})";
  const std::filesystem::path keys = config / "contexts" / "tls" / hash / "docker";
  std::filesystem::create_directories(keys);
  for (const char* name : {"ca.pem", "cert.pem", "key.pem"})
    std::filesystem::copy_file(folder.path() / name, keys / name);
  const variables_set set({{"DOCKER_CONFIG", config.string()}});
  EXPECT_EQ(greeting(), greeted);
}

TEST(DockerReach, a_daemon_that_cannot_prove_who_it_is_is_refused) {
  COFFERDAM_NEEDS_DOCKER();
  const temporary_folder folder;
  const certificate authority("");
  write_keys(folder.path(), authority, "DNS:another.example");
  const tls_proxy proxy(folder.path().string());
  const variables_set set({{"DOCKER_HOST", "tcp://127.0.0.1:" + proxy.port()},
                           {"DOCKER_TLS_VERIFY", "1"},
                           {"DOCKER_CERT_PATH", folder.path().string()}});
  const std::string printed = greeting();
  EXPECT_EQ(printed.rfind("error: ", 0), 0U) << printed;
  EXPECT_NE(printed.find("127.0.0.1"), std::string::npos) << printed;
  EXPECT_NE(printed.find("certificate was not accepted"), std::string::npos) << printed;
}

TEST(DockerReach, a_plain_client_of_a_daemon_that_speaks_tls_is_told_so) {
  COFFERDAM_NEEDS_DOCKER();
  const temporary_folder folder;
  const certificate authority("");
  write_keys(folder.path(), authority, "IP:127.0.0.1");
  const tls_proxy proxy(folder.path().string());
  const variables_set set({{"DOCKER_HOST", "tcp://127.0.0.1:" + proxy.port()}});
  const std::string printed = greeting();
  EXPECT_EQ(printed.rfind("error: ", 0), 0U) << printed;
}

TEST(DockerReach, ssh_is_the_users_own_and_its_complaint_is_the_error) {
  COFFERDAM_NEEDS_DOCKER();
  const temporary_folder folder;
  const std::filesystem::path bin = folder.path() / "bin";
  std::filesystem::create_directories(bin);
  const auto script = [&](const std::string& text) {
    std::ofstream(bin / "ssh") << "#!/bin/sh\n" << text;
    std::filesystem::permissions(bin / "ssh", std::filesystem::perms::all);
  };
  // A script replaces ssh(1): it runs the command on this machine instead of another one.
  script("echo \"$@\" >> '" + (folder.path() / "asked").string() + "'\nfor last; do :; done\nexport DOCKER_HOST='" +
         docker_address() + "'\nexec sh -c \"$last\"\n");
  const std::string path = bin.string() + ":" + std::getenv("PATH");
  const variables_set set({{"DOCKER_HOST", "ssh://somebody@far.example:2222"}, {"PATH", path}});
  EXPECT_EQ(greeting(), greeted);
  std::ifstream asked(folder.path() / "asked");
  std::string first;
  std::getline(asked, first);
  EXPECT_NE(first.find("-l somebody"), std::string::npos) << first;
  EXPECT_NE(first.find("-p 2222"), std::string::npos) << first;
  EXPECT_NE(first.find("-- far.example docker system dial-stdio"), std::string::npos) << first;

  script("echo 'far.example: no such machine' >&2\nexit 255\n");
  const std::string printed = greeting();
  EXPECT_EQ(printed.rfind("error: ", 0), 0U) << printed;
  EXPECT_NE(printed.find("no such machine"), std::string::npos) << printed;
}

// Feature: A20
TEST(DockerReach, where_there_is_no_daemon_the_error_says_where_was_looked_and_what_to_do) {
  const temporary_folder folder;
  const variables_set set({{"HOME", folder.path().string()}});
  const std::string missing = (folder.path() / "no.sock").string();
  std::string printed = greeting(docker::daemon_choice().address("unix://" + missing));
  EXPECT_NE(printed.find(missing), std::string::npos) << printed;
  EXPECT_NE(printed.find("the socket does not exist"), std::string::npos) << printed;

  // A daemon that was killed leaves its socket behind.
  const std::string dead = (folder.path() / "dead.sock").string();
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dead.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(listener);
  printed = greeting(docker::daemon_choice().address("unix://" + dead));
  EXPECT_NE(printed.find("no process listens there"), std::string::npos) << printed;

  printed = greeting(docker::daemon_choice().address("/var/run/docker.sock"));
  EXPECT_NE(printed.find("unix://"), std::string::npos) << printed;
  printed = greeting(docker::daemon_choice().address("ssh://user:secret@host"));
  EXPECT_EQ(printed.find("secret"), std::string::npos) << printed;
}

}  // namespace
