// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/with.hpp>

#include "docker/docker_support.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::docker_says;
using cofferdam_test::our_containers;
using cofferdam_test::run;

/// An image built from a Dockerfile. The destructor removes it.
class built_image {
 public:
  explicit built_image(const std::string& dockerfile) {
    const cofferdam_test::temporary_folder folder;
    folder.write("Dockerfile", dockerfile);
    name_ = "cofferdam-volumes-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    said_ = docker_says("build -q --network none -t " + name_ + " " + folder.path().string());
  }
  built_image(const built_image&) = delete;
  built_image& operator=(const built_image&) = delete;
  ~built_image() { docker_says("rmi -f " + name_); }
  const std::string& name() const { return name_; }
  const std::string& said() const { return said_; }

  docker::provider provider(docker::container_options options = docker::container_options()) const {
    return docker::from_image(name_).options(std::move(options)).daemon(cofferdam_test::test_daemon());
  }

 private:
  static inline int count = 0;
  std::string name_;
  std::string said_;
};

template <class Body>
void inside(docker::provider provider, Body body) {
  run([&] { return with(provider, std::ref(body)); }, 180s);
}

std::string sentence_of_open(const docker::provider& provider, std::error_code& code) {
  std::string message;
  run(
      [&]() -> awaitable<void> {
        try {
          docker::environment env = co_await provider.open();
          co_await env.close();
        } catch (const error& failure) {
          message = failure.what();
          code = failure.code();
        }
      },
      180s);
  return message;
}

std::string volume_names() { return docker_says("volume ls -q --filter dangling=true"); }

TEST(Attack, DK_01b_an_images_volume_does_not_write_to_the_hosts_disk_beyond_its_limit) {
  COFFERDAM_NEEDS_DOCKER();
  const built_image image(
      "FROM cofferdam-test/busybox\nRUN mkdir -m 1777 /data /kept && echo image > /kept/file\n"
      "VOLUME /data /kept /not/there\n");
  const std::string write = "dd if=/dev/zero of=$d/big bs=1M count=100 2>/dev/null; du -sm $d | cut -f 1; rm -f $d/big";
  // Control: under `docker run` with 64 MiB of memory and a read-only root, a command can still write 100 MiB to the
  // disk.
  const std::string control =
      docker_says("run --rm --network none --read-only --memory 64m --user 1000 " + image.name() + " sh -c 'd=/data; " +
                  write + "; grep \" /data \" /proc/self/mountinfo'");
  EXPECT_TRUE(control.starts_with("100\n") || control.starts_with("101\n")) << control;
  EXPECT_EQ(control.find("tmpfs"), std::string::npos) << control;
  for (const docker::command_transport way : {docker::command_transport::automatic, docker::command_transport::exec})
    inside(image.provider(docker::container_options().memory(std::uint64_t{64} << 20)).by(way),
           [&](docker::environment& env) -> awaitable<void> {
             for (const std::string folder : {"/data", "/kept"}) {
               const command_result result = co_await env.run_command(shell("d=" + folder + "; " + write));
               EXPECT_LE(std::atoi(result.out().text().c_str()), 3) << folder << result.out().text();
               // The three volumes of the image share 8 MiB of memory equally.
               EXPECT_NE(result.isolation().of(isolation_kind::files).find("2793472 bytes of memory at " + folder),
                         std::string_view::npos)
                   << result.isolation().of(isolation_kind::files);
             }
             const command_result types = co_await env.run_command(
                 shell("for d in /data /kept /not/there; do grep \" $d \" /proc/self/mountinfo | "
                       "sed 's/.* - \\([a-z0-9]*\\) .*/\\1/'; done; cat /kept/file"));
             EXPECT_EQ(types.out().text(), "tmpfs\ntmpfs\ntmpfs\nimage\n");
             const std::string mounts =
                 docker_says("inspect -f '{{range .Mounts}}{{.Destination}} {{end}}' " + env.container_id());
             EXPECT_EQ(mounts.find("/data"), std::string::npos) << mounts;
           });
  EXPECT_EQ(our_containers(), "");
}

TEST(Attack, DK_01_a_link_to_the_daemons_socket_is_not_mounted) {
  COFFERDAM_NEEDS_DOCKER();
  if (!cofferdam_test::docker_address().starts_with("unix://")) GTEST_SKIP() << "the daemon's socket is elsewhere";
  const cofferdam_test::temporary_folder folder;
  const std::filesystem::path socket = cofferdam_test::docker_address().substr(7);
  const std::string link = (folder.path() / "harmless").string();
  std::filesystem::create_directory_symlink(socket.parent_path(), link);
  // Control: the daemon itself follows the link, and mounts the folder with the socket.
  const std::string control = docker_says("run --rm --network none -v " + link + ":/in cofferdam-test/busybox ls /in");
  EXPECT_NE(control.find(socket.filename().string()), std::string::npos) << control;
  for (const std::string& target : {std::string("/in"), std::string("/workspace")}) {
    std::error_code code;
    const docker::container_options options = docker::container_options().add(docker::mount::bind(link, target));
    const std::string message = sentence_of_open(cofferdam_test::test_image("busybox", options), code);
    EXPECT_EQ(code, exec_errc::invalid_argument) << message;
    EXPECT_NE(message.find("socket"), std::string::npos) << message;
  }
  EXPECT_EQ(our_containers(), "");
}

TEST(Docker, an_empty_volume_of_an_image_is_memory_with_the_folders_mode_and_owner) {
  COFFERDAM_NEEDS_DOCKER();
  const built_image image(
      "FROM cofferdam-test/busybox\nRUN mkdir /a /b && chmod 0750 /a && chown 1000:7 /a && "
      "chmod 3777 /b && mkdir -p /workspace/cache && chown 1000 /workspace/cache\n"
      "VOLUME /a /b /c /workspace/cache\nUSER 1000:1000\n");
  const std::string look = "stat -c '%n %a %u %g' /a /b /c /workspace/cache; echo 'echo run' > /a/x && sh /a/x";
  const std::string control = docker_says("run --rm --network none " + image.name() + " sh -c \"" + look + "\"");
  const std::string before = volume_names();
  inside(image.provider(), [&](docker::environment& env) -> awaitable<void> {
    const command_result result = co_await env.run_command(shell(look));
    EXPECT_EQ(result.out().text(), control + "\n") << result.err().text();
    const command_result writes = co_await env.run_command(shell("touch /b/x cache/x && echo yes"));
    EXPECT_EQ(writes.out().text(), "yes\n") << writes.err().text();
  });
  EXPECT_EQ(volume_names(), before);
}

TEST(Docker, what_an_image_has_in_a_volume_is_copied_into_memory_with_modes_and_owners) {
  COFFERDAM_NEEDS_DOCKER();
  const built_image image(
      "FROM cofferdam-test/busybox\nRUN mkdir -p /data/deep/er && echo text > /data/deep/er/file && "
      "chown -R 1000:1000 /data && echo secret > /data/root && chmod 0600 /data/root && ln -s deep/er/file /data/link "
      "&& "
      "ln /data/deep/er/file /data/hard && chmod 0700 /data\nVOLUME /data\nUSER 1000:1000\n");
  const std::string look =
      "cd /data && stat -c '%n %a %u %g %h' . deep deep/er deep/er/file root link hard; cat link hard; readlink link";
  const std::string control = docker_says("run --rm --network none " + image.name() + " sh -c \"" + look + "\"");
  ASSERT_NE(control.find("root 600 0 0 1"), std::string::npos) << control;
  const std::string before = volume_names();
  inside(image.provider(), [&](docker::environment& env) -> awaitable<void> {
    const command_result result = co_await env.run_command(shell(look));
    EXPECT_EQ(result.out().text(), control + "\n") << result.err().text();
    const command_result writes =
        co_await env.run_command(shell("echo more >> /data/hard && cat /data/link; cat /data/root"));
    EXPECT_EQ(writes.out().text(), "text\nmore\n");
  });
  EXPECT_EQ(volume_names(), before);
}

TEST(Docker, a_volume_with_more_than_memory_holds_fails_and_names_the_options_that_help) {
  COFFERDAM_NEEDS_DOCKER();
  const built_image image(
      "FROM cofferdam-test/busybox\nRUN mkdir -m 1777 /data && dd if=/dev/zero of=/data/big bs=1M "
      "count=20 2>/dev/null\nVOLUME /data\n");
  const docker::container_options options = docker::container_options().memory(std::uint64_t{64} << 20);
  std::error_code code;
  const std::string message = sentence_of_open(image.provider(options), code);
  EXPECT_EQ(code, exec_errc::too_large) << message;
  for (const char* const part : {"\"/data\"", "8388608 bytes", ".tmpfs(\"/data\")", ".volume(\"/data\")", ".memory()"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(our_containers(), "");
  // Each of the three options that the error names solves the problem.
  docker::container_options empty = options;
  inside(image.provider(empty.tmpfs("/data")), [](docker::environment& env) -> awaitable<void> {
    const command_result result = co_await env.run_command(shell("ls -A /data; touch /data/x && echo yes"));
    EXPECT_EQ(result.out().text(), "yes\n");
  });
  docker::container_options disk = options;
  inside(image.provider(disk.volume("/data")), [](docker::environment& env) -> awaitable<void> {
    const command_result result =
        co_await env.run_command(shell("du -sm /data/big | cut -f 1; touch /data/x && echo yes"));
    EXPECT_EQ(result.out().text(), "20\nyes\n");
    EXPECT_NE(result.isolation().of(isolation_kind::files).find("unlimited space on the daemon's disk at /data"),
              std::string_view::npos);
  });
  docker::container_options more = options;
  inside(image.provider(more.memory(std::uint64_t{256} << 20)), [](docker::environment& env) -> awaitable<void> {
    const command_result result = co_await env.run_command(shell("du -sm /data/big | cut -f 1"));
    EXPECT_EQ(result.out().text(), "20\n");
  });
  EXPECT_EQ(our_containers(), "");
}

}  // namespace
