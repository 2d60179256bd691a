// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/image_name.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/upload.hpp>

#include "docker/docker_support.hpp"
#include "support/census.hpp"
#include "support/fault_proxy.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::docker_says;
using cofferdam_test::fault_proxy;
using cofferdam_test::foreign_container;
using cofferdam_test::in_time;
using cofferdam_test::output_of;
using cofferdam_test::run;
using cofferdam_test::test_image;

/// Opens a container of a test image, and runs `body` in it.
template <class Body>
void inside(const std::string& image, Body body, docker::container_options options = docker::container_options()) {
  run([&] { return with(test_image(image, options), std::ref(body)); }, 180s);
}

std::string inspected(const std::string& container, const std::string& field) {
  return docker_says("inspect -f '{{json " + field + "}}' " + container);
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text + "\n").find("\n" + line + "\n") != std::string::npos;
}

std::string namespace_here(const char* name) {
  return std::filesystem::read_symlink("/proc/self/ns/" + std::string(name)).string();
}

TEST(Attack, DK_01_a_container_is_hardened_as_the_daemon_tells_and_as_a_guest_sees_it) {
  COFFERDAM_NEEDS_DOCKER();
  const std::string look =
      "cat /proc/self/status; for n in pid net mnt ipc uts; do readlink /proc/self/ns/$n; done; ls /sys/class/net; "
      "touch /canary && echo WROTE; ls -d /var/run/docker.sock /run/docker.sock && echo SOCKET; ls /dev";
  // Control: a plain container has capabilities, runs as root and may gain privileges.
  const std::string plain = docker_says("run --rm cofferdam-test/debian sh -c '" + look + "'");
  EXPECT_FALSE(has_line(plain, "CapEff:\t0000000000000000")) << plain;
  EXPECT_TRUE(has_line(plain, "NoNewPrivs:\t0"));
  EXPECT_TRUE(has_line(plain, "Uid:\t0\t0\t0\t0"));
  EXPECT_TRUE(has_line(plain, "WROTE"));
  for (const char* image : {"busybox", "debian", "entrypoint", "user"}) {
    inside(image, [&](docker::environment& env) -> awaitable<void> {
      command_result result = co_await env.run_command(shell(look));
      const std::string report(result.out().text());
      for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
        EXPECT_TRUE(has_line(report, std::string(set) + ":\t0000000000000000")) << image << set << report;
      EXPECT_TRUE(has_line(report, "NoNewPrivs:\t1")) << report;
      EXPECT_TRUE(has_line(report, "Seccomp:\t2")) << report;
      EXPECT_EQ(report.find("Uid:\t0"), std::string::npos);
      EXPECT_EQ(report.find("Gid:\t0"), std::string::npos);
      EXPECT_FALSE(has_line(report, "WROTE"));
      EXPECT_FALSE(has_line(report, "SOCKET"));
      EXPECT_EQ(report.find("eth0"), std::string::npos);
      EXPECT_EQ(report.find("\nkmsg"), std::string::npos);
      EXPECT_EQ(report.find("\nsda"), std::string::npos);
      for (const char* name : {"pid", "net", "mnt", "ipc", "uts"})
        EXPECT_EQ(report.find(namespace_here(name)), std::string::npos) << name;
      const std::string& id = env.container_id();
      EXPECT_EQ(inspected(id, ".HostConfig.CapDrop"), "[\"ALL\"]");
      EXPECT_EQ(inspected(id, ".HostConfig.Privileged"), "false");
      EXPECT_EQ(inspected(id, ".HostConfig.NetworkMode"), "\"none\"");
      EXPECT_EQ(inspected(id, ".HostConfig.ReadonlyRootfs"), "true");
      EXPECT_EQ(inspected(id, ".HostConfig.PidsLimit"), "256");
      EXPECT_EQ(inspected(id, ".HostConfig.Memory"), "1073741824");
      EXPECT_EQ(inspected(id, ".HostConfig.MemorySwap"), "1073741824");
      EXPECT_EQ(inspected(id, ".HostConfig.NanoCpus"), "2000000000");
      EXPECT_EQ(inspected(id, ".HostConfig.PidMode"), "\"\"");
      EXPECT_EQ(inspected(id, ".HostConfig.IpcMode"), "\"private\"");
      EXPECT_EQ(inspected(id, ".HostConfig.Binds"), "null");
      const std::string devices = inspected(id, ".HostConfig.Devices");
      EXPECT_TRUE(devices == "null" || devices == "[]") << devices;
    });
  }
}

/// Returns the permission bits of the host's own /dev/null.
unsigned mode_of_hosts_null() {
  struct stat status {};
  return ::stat("/dev/null", &status) == 0 ? status.st_mode & 07777U : 0;
}

TEST(Attack, DK_01_a_guest_gets_nothing_of_the_hosts_but_pipes_and_finds_no_way_to_it) {
  COFFERDAM_NEEDS_DOCKER();
  const unsigned before = mode_of_hosts_null();
  const std::string marks = "cofferdam-host-";
  docker::container_options as_root = docker::container_options().user("0:0");
  inside(
      "busybox",
      [&](docker::environment& env) -> awaitable<void> {
        // A command of the same user may change the files it has open. Control: the container's own null device
        // changes.
        command_result changed = co_await env.run_command(
            shell("for n in 1 2; do readlink /proc/$$/fd/$n | sed 's/:.*//'; done; chmod 0 /proc/$$/fd/0 && "
                  "stat -c %a /dev/null; chmod 666 /dev/null"));
        EXPECT_EQ(changed.out().text(), "pipe\npipe\n0\n") << changed.err().text();
        EXPECT_EQ(mode_of_hosts_null(), before);
        command_result more = co_await env.run_command(
            shell("ls -l /proc/$$/fd >open; grep -c pipe open; grep -c socket open").input("text"));
        EXPECT_EQ(more.out().text(), "3\n0\n");
        // The socket to the host existed only while the warden (the helper program in the container) connected. The
        // folder of the socket is empty, and the guest cannot write to it.
        command_result way = co_await env.run_command(
            shell("ls -A /.cofferdam-host | wc -l; touch /.cofferdam-host/x 2>/dev/null || echo no; "
                  "mkdir /.cofferdam-host/x 2>/dev/null || echo no; cat /proc/net/unix | grep -c cofferdam-host"));
        EXPECT_EQ(way.out().text(), "0\nno\nno\n0\n");
        EXPECT_EQ(output_of("ls " + std::filesystem::temp_directory_path().string() + " | grep -c '^" + marks + ".*-" +
                            std::to_string(::getpid()) + "-' || true"),
                  "0");
      },
      as_root);
}

TEST(Attack, DK_01_an_image_that_calls_root_by_another_name_does_not_get_commands_that_are_root) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  folder.write("Dockerfile",
               "FROM cofferdam-test/busybox\nRUN echo 'harmless:x:0:0::/:/bin/sh' >> /etc/passwd\nUSER harmless\n");
  docker_says("build -q --network none -t cofferdam-attack-root " + folder.path().string());
  // Control: the user of this image is root.
  EXPECT_EQ(docker_says("run --rm --network none cofferdam-attack-root id -u"), "0");
  run(
      [&]() -> awaitable<void> {
        const docker::provider provider =
            docker::from_image("cofferdam-attack-root").daemon(cofferdam_test::test_daemon());
        co_await with(provider, [&](docker::environment& env) -> awaitable<void> {
          command_result result = co_await env.run_command(shell("id -u; touch mine"));
          EXPECT_EQ(result.out().text(), "1000\n");
          EXPECT_TRUE(result.ok()) << result.err().text();
          co_await write_text(env, "file", "x");
        });
      },
      120s);
  docker_says("rmi -f cofferdam-attack-root");
  docker_says("image prune -f");
}

TEST(Attack, DK_02_values_that_look_like_options_reach_the_daemon_as_values) {
  COFFERDAM_NEEDS_DOCKER();
  // Control: a command line that is concatenated from strings creates a privileged container.
  const std::string glued =
      docker_says("create --label a=b" + std::string(" --privileged") + " cofferdam-test/busybox");
  EXPECT_EQ(inspected(glued, ".HostConfig.Privileged"), "true");
  docker_says("rm -f " + glued);
  const std::string value = "x\",\"Privileged\":true,\"\n--privileged; $(touch /tmp/canary) `id` \\ \xE2\x80\xA8";
  docker::container_options options;
  options.label("attack", value).variable("ATTACK", value);
  inside(
      "busybox",
      [&](docker::environment& env) -> awaitable<void> {
        EXPECT_EQ(inspected(env.container_id(), ".HostConfig.Privileged"), "false");
        EXPECT_EQ(docker_says("inspect -f '{{index .Config.Labels \"attack\"}}' " + env.container_id()), value);
        command_result result = co_await env.run_command(shell("printf %s \"$ATTACK\""));
        EXPECT_EQ(result.out().text(), value);
        command_result overridden =
            co_await env.run_command(shell("printf %s \"$ATTACK\"").variable("ATTACK", value + "2"));
        EXPECT_EQ(overridden.out().text(), value + "2");
        std::error_code code;
        try {
          command_result odd = co_await env.run_command(shell("pwd").working_directory("$(id); --privileged"));
          EXPECT_FALSE(odd.ok());
        } catch (const error& failure) {
          code = failure.code();
          EXPECT_EQ(code, exec_errc::not_found) << failure.what();
        }
      },
      options);
  for (const char* name : {"--privileged", "-v/:/host", "busybox;id", "busybox\nid", "busybox --privileged", "$(id)"})
    EXPECT_THROW(docker::from_image(name), error) << name;
}

TEST(Attack, DK_04_the_first_use_by_a_new_process_removes_what_the_dead_left_and_nothing_else) {
  COFFERDAM_NEEDS_DOCKER();
  const docker::detail::owner here = docker::detail::owner::this_process();
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  const docker::detail::process_view was = docker::detail::look_at_process(gone);
  ::waitpid(gone, nullptr, 0);
  const std::uint64_t start = was.what() == docker::detail::process_view::state::running ? was.start_time() : 1;
  const docker::detail::owner dead(here.boot(), here.pid_namespace(), gone, start);
  const std::string tail = std::to_string(::getpid());
  const auto labelled = [](const docker::detail::owner& who, const std::string& in_label, const std::string& name) {
    return "--label '" + std::string(docker::detail::owner_label_key) + "=" +
           docker::detail::owner_label(who, in_label).text() + "' --name " + name;
  };
  const std::string a = "cofferdam-a" + tail;
  const foreign_container left(labelled(dead, a, a));
  const foreign_container by_name("--name cofferdam-b" + tail);
  const foreign_container copied(labelled(dead, a, "cofferdam-c" + tail));
  const std::string d = "cofferdam-d" + tail;
  const foreign_container living(labelled(here, d, d));
  const std::string e = "cofferdam-e" + tail;
  const foreign_container other_boot(
      labelled(docker::detail::owner("00000000-0000-0000-0000-000000000000", here.pid_namespace(), gone, start), e, e));
  const std::string f = "cofferdam-f" + tail;
  const foreign_container other_namespace(labelled(docker::detail::owner(here.boot(), 1, gone, start), f, f));
  const std::vector<const foreign_container*> strangers{&by_name, &copied, &living, &other_boot, &other_namespace};
  ASSERT_TRUE(left.runs());
  // Control: a removal by the prefix of the name, or by the label, would remove all of these containers.
  EXPECT_EQ(docker_says("ps -q --filter name=cofferdam-[a-f]" + tail + " | wc -l"), "6");
  const pid_t next = ::fork();
  ASSERT_GE(next, 0);
  if (next == 0) {
    asio::io_context loop;
    cofferdam_test::spawn(
        loop,
        []() -> awaitable<void> {
          docker::environment env = co_await test_image("busybox").open();
          co_await env.close();
        },
        [](std::exception_ptr failure) { ::_exit(failure ? 2 : 0); });
    loop.run();
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(next, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(in_time([&] { return !left.runs(); }));
  for (const foreign_container* stranger : strangers)
    EXPECT_TRUE(stranger->runs()) << inspected(stranger->id(), ".Config.Labels");
}

TEST(Attack, DK_05_a_container_that_is_paused_stopped_killed_or_removed_beneath_a_command_is_a_lost_provider) {
  COFFERDAM_NEEDS_DOCKER();
  // Control: a plain exec reports nothing about a paused container.
  {
    const foreign_container plain;
    const std::string docker = "docker -H '" + cofferdam_test::docker_address() + "' ";
    const std::string printed =
        output_of("(sleep 1; " + docker + "pause " + plain.id() + " >/dev/null) & timeout 4 " + docker + "exec " +
                  plain.id() + " sleep 2; echo rc $?; " + docker + "unpause " + plain.id());
    EXPECT_NE(printed.find("rc 124"), std::string::npos) << printed;
  }
  for (const std::string doing : {"pause", "stop -t 1", "kill", "rm -f"}) {
    run(
        [&]() -> awaitable<void> {
          docker::environment env = co_await test_image("busybox").open();
          const std::string id = env.container_id();
          process running = co_await env.start(shell("echo before; sleep 1000"));
          output_chunk piece = co_await running.read();
          EXPECT_FALSE(piece.end());
          docker_says(doing + " " + id);
          const auto begin = std::chrono::steady_clock::now();
          std::string message;
          std::string partial;
          std::error_code code;
          try {
            co_await running.wait();
          } catch (const error& failure) {
            message = failure.what();
            code = failure.code();
            if (failure.partial() != nullptr) partial = failure.partial()->out().text();
          }
          EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s) << doing;
          EXPECT_EQ(code, exec_errc::provider_lost) << doing << ": " << message;
          EXPECT_EQ(partial, "before\n") << doing;
          EXPECT_NE(message.find(env.container_name()), std::string::npos) << message;
          std::error_code after;
          try {
            co_await env.run_command(shell("true"));
          } catch (const error& failure) {
            after = failure.code();
          }
          EXPECT_EQ(after, exec_errc::provider_lost) << doing;
          co_await env.close();
          EXPECT_EQ(docker_says("ps -aq --no-trunc --filter id=" + id), "") << doing;
        },
        120s);
  }
}

TEST(Attack, DK_05_file_operations_on_a_paused_container_are_a_lost_provider_too) {
  COFFERDAM_NEEDS_DOCKER();
  run(
      []() -> awaitable<void> {
        docker::environment env = co_await test_image("busybox").open();
        co_await write_text(env, "file", "x");
        docker_says("pause " + env.container_id());
        std::error_code code;
        try {
          co_await env.read_file("file", 100);
        } catch (const error& failure) {
          code = failure.code();
        }
        EXPECT_EQ(code, exec_errc::provider_lost);
        co_await env.close();
      },
      60s);
}

/// An image in the registry that no other test uses. The destructor removes it.
class own_image {
 public:
  own_image() : name_(cofferdam_test::registry_address() + "/cofferdam-attack/p" + std::to_string(::getpid())) {
    docker_says("tag cofferdam-test/busybox " + name_);
    docker_says("push -q " + name_);
    forget();
  }
  own_image(const own_image&) = delete;
  own_image& operator=(const own_image&) = delete;
  ~own_image() { forget(); }
  void forget() const {
    docker_says("rmi " + name_ + " $(docker -H " + cofferdam_test::docker_address() +
                " images -q --digests --format '{{.Repository}}@{{.Digest}}' " + name_ + ")");
  }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

awaitable<void> want_image(std::string address, std::string name, int* done) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const docker::daemon_choice choice = docker::daemon_choice().address(address);
  const docker::detail::host_view host = docker::detail::host_view::of_this_process();
  std::shared_ptr<docker::detail::engine> api = co_await docker::detail::engine::connect(executor, choice, host);
  docker::detail::image_name image_to_pull(name);
  docker::container_options options;
  docker::detail::progress_function tell;
  co_await docker::detail::ensure_image(api, image_to_pull, options, host, tell);
  co_await api->close();
  ++*done;
}

// Feature: A17
TEST(Attack, DK_06_a_hundred_first_uses_of_an_image_are_one_pull) {
  COFFERDAM_NEEDS_DOCKER();
  const own_image image;
  fault_proxy proxy(cofferdam_test::docker_address());
  proxy.arm(cofferdam_test::fault());
  const cofferdam_test::watchdog guard(120s);
  int done = 0;
  {
    asio::io_context loop;
    for (int i = 0; i < 100; ++i)
      cofferdam_test::spawn(loop, want_image(proxy.address(), image.name(), &done), [](std::exception_ptr) {});
    loop.run();
  }
  EXPECT_EQ(done, 100);
  EXPECT_EQ(proxy.requests("/images/create"), 1U);
  // Control: without a shared pull, each coroutine sends a request.
  image.forget();
  proxy.arm(cofferdam_test::fault());
  asio::io_context loop;
  for (int i = 0; i < 3; ++i)
    cofferdam_test::spawn(
        loop,
        [&]() -> awaitable<void> {
          asio::any_io_executor executor = co_await asio::this_coro::executor;
          const docker::daemon_choice choice = docker::daemon_choice().address(proxy.address());
          const docker::detail::host_view host = docker::detail::host_view::of_this_process();
          std::shared_ptr<docker::detail::engine> api =
              co_await docker::detail::engine::connect(executor, choice, host);
          docker::detail::image_name image_to_pull(image.name());
          docker::detail::progress_function tell;
          co_await docker::detail::pull_image(api, image_to_pull, std::string(), host, tell);
          co_await api->close();
        },
        [](std::exception_ptr) {});
  loop.run();
  EXPECT_EQ(proxy.requests("/images/create"), 3U);
}

TEST(Attack, DK_06_a_puller_that_is_cancelled_hands_over_to_the_next) {
  COFFERDAM_NEEDS_DOCKER();
  const own_image image;
  fault_proxy proxy(cofferdam_test::docker_address());
  proxy.arm(cofferdam_test::fault());
  // The delay ensures that the pull is in progress when it is cancelled.
  proxy.delay(200ms);
  const cofferdam_test::watchdog guard(120s);
  int done = 0;
  int cancelled = 0;
  asio::io_context loop;
  asio::cancellation_signal signal;
  cofferdam_test::spawn(
      loop, want_image(proxy.address(), image.name(), &done),
      [&](std::exception_ptr failure) {
        try {
          if (failure) std::rethrow_exception(failure);
        } catch (const error& reason) {
          if (reason.code() == exec_errc::cancelled) ++cancelled;
        }
      },
      signal.slot());
  while (proxy.requests("/images/create") == 0) loop.run_one_for(10ms);
  for (int i = 0; i < 5; ++i)
    cofferdam_test::spawn(loop, want_image(proxy.address(), image.name(), &done), [](std::exception_ptr) {});
  for (int i = 0; i < 200 && proxy.requests("/_ping") < 6; ++i) loop.run_one_for(10ms);
  signal.emit(asio::cancellation_type::terminal);
  loop.run();
  EXPECT_EQ(done + cancelled, 6);
  EXPECT_GE(done, 5);
  EXPECT_LE(proxy.requests("/images/create"), 2U);
}

TEST(Attack, DK_06_a_digest_that_is_not_the_images_is_refused) {
  COFFERDAM_NEEDS_DOCKER();
  const own_image image;
  const std::string wrong = "@sha256:" + std::string(64, '0');
  docker_says("pull -q " + image.name());
  // Control: the image exists under its tag, so only the comparison of the digest can refuse it.
  EXPECT_EQ(docker_says("run --rm --network none " + image.name() + " echo runs"), "runs");
  for (const std::string& name : {image.name() + wrong, image.name() + ":latest" + wrong}) {
    std::error_code code;
    std::string message;
    try {
      run([&]() -> awaitable<void> {
        const docker::provider provider = docker::from_image(name).daemon(cofferdam_test::test_daemon());
        docker::environment env = co_await provider.open();
        co_await env.close();
      });
    } catch (const error& failure) {
      code = failure.code();
      message = failure.what();
    }
    EXPECT_TRUE(code == exec_errc::not_found || code == exec_errc::provider_failed) << name << ": " << message;
  }
}

// ---- attacks of a guest on its warden -------------------------------------------------------------------------------

TEST(Attack, PR_06_a_guest_of_a_container_kills_nobody_but_itself) {
  COFFERDAM_NEEDS_DOCKER();
  // Control: in a plain container, one command can kill another.
  {
    const foreign_container plain("--user 1000:1000");
    docker_says("exec -d " + plain.id() + " sleep 4321");
    docker_says("exec " + plain.id() + " sh -c 'kill -9 -1'");
    EXPECT_TRUE(in_time([&] { return docker_says("top " + plain.id()).find("4321") == std::string::npos; }));
  }
  inside("debian", [](docker::environment& env) -> awaitable<void> {
    process sibling = co_await env.start(shell("echo up; read line; echo \"heard $line\"").open_input());
    output_chunk up = co_await sibling.read();
    EXPECT_FALSE(up.end());
    for (const char* attack : {"kill -9 1", "kill -STOP 1", "kill -9 -1", "kill -STOP -1",
                               "for p in $(seq 1 300); do [ $p = $$ ] || kill -9 $p; done",
                               "for p in $(seq 1 300); do [ $p = $$ ] || kill -STOP "
                               "$p; done",
                               "for p in $(seq 1 300); do [ $p = $$ ] || kill -TERM $p; done"}) {
      command_result result = co_await env.run_command(shell(attack).timeout(5s));
      static_cast<void>(result);
      command_result next = co_await env.run_command(shell("echo alive").timeout(30s));
      EXPECT_EQ(next.out().text(), "alive\n") << attack;
      co_await write_text(env, "file", attack);
      std::string text = co_await read_text(env, "file");
      EXPECT_EQ(text, attack);
    }
    co_await sibling.write_input(as_bytes(std::string_view("you\n")));
    command_result result = co_await sibling.wait();
    EXPECT_EQ(result.out().text(), "up\nheard you\n") << "the sibling was killed: " << result.term_signal();
  });
}

TEST(Attack, PR_06_a_guest_of_a_container_cannot_read_trace_or_forge_its_warden) {
  COFFERDAM_NEEDS_DOCKER();
  // The script lists the processes whose memory or descriptors it can open, which it can trace, or whose descriptors
  // it can copy.
  const std::string script =
      "import os, ctypes\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "mine = {os.getpid(), os.getppid()}\n"
      "won = []\n"
      "for p in [int(x) for x in os.listdir('/proc') if x.isdigit()]:\n"
      "  if p in mine: continue\n"
      "  try: comm = open(f'/proc/{p}/cmdline').read()\n"
      "  except OSError: continue\n"
      "  if 'victim' in comm: continue\n"
      "  for what in ['mem', 'environ', 'maps']:\n"
      "    try:\n"
      "      with open(f'/proc/{p}/{what}', 'r+b' if what == 'mem' else 'rb', 0) as f: f.read(1); won.append((p, "
      "what))\n"
      "    except OSError: pass\n"
      "  try:\n"
      "    for fd in os.listdir(f'/proc/{p}/fd'):\n"
      "      try: os.close(os.open(f'/proc/{p}/fd/{fd}', os.O_WRONLY | os.O_NONBLOCK)); won.append((p, 'fd', fd))\n"
      "      except OSError: pass\n"
      "  except OSError: pass\n"
      "  if libc.ptrace(16, p, 0, 0) == 0: won.append((p, 'ptrace'))\n"
      "  try:\n"
      "    pidfd = os.pidfd_open(p)\n"
      "    for n in range(8):\n"
      "      if libc.syscall(438, pidfd, n, 0) >= 0: won.append((p, 'pidfd_getfd', n))\n"
      "    os.close(pidfd)\n"
      "  except OSError: pass\n"
      "print(won)\n"
      "print(sorted(os.listdir('/proc/self/fd'))[:-1])\n";
  // Control: in a plain container, a command of the same user can read the environment of the first program.
  {
    const foreign_container plain("--user 1000:1000");
    const std::string printed =
        docker_says("exec " + plain.id() + " sh -c 'cat /proc/1/environ >/dev/null && echo open'");
    EXPECT_EQ(printed, "open");
  }
  for (const char* user : {"", "root"}) {
    docker::container_options options;
    if (*user != 0) options.user(user);
    inside(
        "debian",
        [&](docker::environment& env) -> awaitable<void> {
          co_await write_text(env, "attack.py", script);
          command_result result = co_await env.run_command(shell("python3 attack.py"));
          EXPECT_EQ(result.out().text(), "[]\n['0', '1', '2']\n") << "user " << user << result.err().text();
        },
        options);
  }
}

namespace {

/// Tests a container whose commands have the same user as the warden. A guest tries to set limits of its warden and of
/// its supervisor (the process that started the command), and must fail. Control: a process without the system call
/// filter succeeds.
template <class Environment>
awaitable<void> limit_those_who_watch(Environment& env, const std::string& user) {
  process running = co_await env.start(
      shell("W=$(ps -o ppid= -p $PPID | tr -d ' '); for p in $PPID $W; do prlimit --pid $p --msgqueue=77:77 2>&1 && "
            "echo won; "
            "done; prlimit --msgqueue=78:78 grep msgqueue /proc/self/limits; echo they are $PPID $W; exec sleep 3100")
          .timeout(120s));
  std::string text;
  while (text.find("they are") == std::string::npos || !text.ends_with('\n')) {
    const output_chunk piece = co_await running.read();
    if (piece.data().empty()) break;
    text.append(reinterpret_cast<const char*>(piece.data().data()), piece.data().size());
  }
  EXPECT_EQ(text.find("won"), std::string::npos) << text;
  EXPECT_NE(text.find("Operation not permitted"), std::string::npos) << text;
  EXPECT_NE(text.find(" 78 "), std::string::npos) << "its own limits can be set: " << text;
  const std::size_t at = text.find("they are ");
  EXPECT_NE(at, std::string::npos) << text;
  std::istringstream numbers(at == std::string::npos ? "" : text.substr(at + 9));
  long supervisor = 0;
  long warden = 0;
  numbers >> supervisor >> warden;
  EXPECT_GT(supervisor, 0) << text;
  EXPECT_GT(warden, 0) << text;
  for (const long pid : {supervisor, warden}) {
    const std::string look =
        "exec " + env.container_id() + " sh -c \"grep 'Max msgqueue' /proc/" + std::to_string(pid) + "/limits\"";
    EXPECT_EQ(docker_says(look).find(" 77 "), std::string::npos) << docker_says(look);
    docker_says("exec -u " + user + " " + env.container_id() + " prlimit --pid " + std::to_string(pid) +
                " --msgqueue=77:77");
    EXPECT_NE(docker_says(look).find(" 77 "), std::string::npos) << "control: " << docker_says(look);
  }
  command_result next = co_await env.run_command(shell("echo alive"));
  EXPECT_EQ(next.out().text(), "alive\n");
}

}  // namespace

TEST(Attack, PR_06d_in_an_adopted_container_no_limit_of_those_who_watch_can_be_changed) {
  COFFERDAM_NEEDS_DOCKER();
  for (const std::string user : {"0:0", "1000:1000"}) {
    SCOPED_TRACE(user);
    const foreign_container container("--user " + user + " --tmpfs /workspace:exec,mode=1777", "debian");
    run(
        [&]() -> awaitable<void> {
          docker::environment env = co_await docker::in_container(container.id())
                                        .daemon(cofferdam_test::test_daemon())
                                        .by(docker::command_transport::warden)
                                        .open();
          co_await limit_those_who_watch(env, user);
          co_await env.close();
        },
        180s);
  }
}

TEST(Attack, PR_06d_in_a_container_whose_commands_are_root_no_limit_of_those_who_watch_can_be_changed) {
  COFFERDAM_NEEDS_DOCKER();
  inside(
      "debian", [](docker::environment& env) -> awaitable<void> { co_await limit_those_who_watch(env, "0:0"); },
      docker::container_options().user("0"));
}

TEST(Attack, PR_05_a_fork_bomb_in_a_container_ends_with_its_command_and_the_next_one_works) {
  COFFERDAM_NEEDS_DOCKER();
  inside(
      "debian",
      [](docker::environment& env) -> awaitable<void> {
        for (const char* bomb : {"f() { f | f & }; f; sleep 100", "while :; do setsid sleep 1000 & done",
                                 "python3 -c 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'"}) {
          command_result result = co_await env.run_command(shell(bomb).timeout(500ms).keep_output(std::size_t{4096}));
          EXPECT_FALSE(result.ok());
          command_result next = co_await env.run_command(shell("echo alive").timeout(60s));
          EXPECT_EQ(next.out().text(), "alive\n") << bomb << next.reason() << next.err().text();
          co_await write_text(env, "file", "x");
        }
        const std::string top = "top " + env.container_id() + " -eo pid,comm,args | grep -c -e sleep -e python || true";
        EXPECT_TRUE(in_time([&] { return docker_says(top) == "0"; })) << docker_says("top " + env.container_id());
      },
      docker::container_options().pids(64));
}

TEST(Attack, RS_02_a_full_workspace_and_full_memory_folders_leave_a_container_that_works) {
  COFFERDAM_NEEDS_DOCKER();
  const docker::container_options options = docker::container_options().memory(std::uint64_t{256} << 20);
  inside(
      "busybox",
      [](docker::environment& env) -> awaitable<void> {
        command_result full = co_await env.run_command(
            shell("cat /dev/zero > full; cat /dev/zero > /tmp/full; cat /dev/zero > /dev/shm/full; echo filled"));
        std::error_code cause;
        const bytes content(100'000);
        try {
          co_await env.write_file("another", content);
        } catch (const error& failure) {
          cause = failure.cause();
          EXPECT_NE(failure.code(), exec_errc::provider_lost) << failure.what();
        }
        EXPECT_EQ(cause, std::error_code(ENOSPC, std::system_category()));
        command_result next = co_await env.run_command(shell("rm -f full /tmp/full /dev/shm/full; echo alive"));
        EXPECT_EQ(next.out().text(), "alive\n") << full.err().text();
        co_await env.write_file("another", content);
      },
      options);
}

TEST(Attack, OU_01_a_flood_of_output_takes_no_memory_of_the_host) {
  COFFERDAM_NEEDS_DOCKER();
  const auto resident = [] {
    const std::string text = cofferdam_test::read_proc("/proc/self/status");
    return std::atol(text.c_str() + text.find("VmRSS:") + 6);
  };
  inside("busybox", [&](docker::environment& env) -> awaitable<void> {
    const long before = resident();
    command_result result = co_await env.run_command(
        shell("head -c 300000000 /dev/zero; head -c 50000000 /dev/zero >&2").keep_output(std::size_t{64} * 1024));
    EXPECT_TRUE(result.ok());
    EXPECT_LE(result.out().text().size(), std::size_t{200} * 1024);
    EXPECT_LT(resident() - before, 64 * 1024) << "kB";
    // Control: a client that keeps the whole output needs as much memory.
    std::string kept_output = docker_says("run --rm --network none cofferdam-test/busybox head -c 70000000 /dev/zero");
    EXPECT_EQ(kept_output.size(), 70'000'000U);
    EXPECT_GT(resident() - before, 60 * 1024);
  });
}

TEST(Attack, FS_03_links_out_of_a_containers_workspace_are_not_followed) {
  COFFERDAM_NEEDS_DOCKER();
  for (const char* user : {"", "root"}) {
    docker::container_options options;
    if (*user != 0) options.user(user).writable_root();
    inside(
        "busybox",
        [&](docker::environment& env) -> awaitable<void> {
          command_result result = co_await env.run_command(shell(
              "ln -s /etc/passwd secret; ln -s /.cofferdam/warden warden; ln -s /etc folder; ln -s /proc/1/environ "
              "proc; ln -s /tmp tmp; ln -s loop loop; cat secret > /dev/null && echo read; mkfifo fifo; mkdir real; "
              "cat /etc/passwd > /tmp/canary"));
          // Control: a guest, or a naive client, follows the links.
          EXPECT_EQ(result.out().text(), "read\n");
          for (const char* path : {"secret", "warden", "folder/passwd", "proc", "tmp/canary", "loop", "fifo", "real",
                                   "../etc/passwd", "/etc/passwd", "/proc/1/environ", "real/../../etc/passwd"}) {
            std::error_code read;
            std::error_code written;
            try {
              co_await env.read_file(path, std::size_t{1} << 20);
            } catch (const error& failure) {
              read = failure.code();
            }
            EXPECT_TRUE(read) << "read " << path;
            EXPECT_NE(read, exec_errc::provider_lost) << path;
            // The link or the FIFO itself may be replaced, but not its target.
            const std::string_view name(path);
            const bool may_go =
                name == "secret" || name == "warden" || name == "loop" || name == "fifo" || name == "proc";
            const std::string text = "forged";
            try {
              co_await env.write_file(path, as_bytes(text));
            } catch (const error& failure) {
              written = failure.code();
            }
            EXPECT_TRUE(written || may_go) << "wrote " << path;
          }
          for (const char* path : {"folder", "tmp", "..", "/", "/etc"}) {
            std::error_code listed;
            try {
              co_await env.files().list(path);
            } catch (const error& failure) {
              listed = failure.code();
            }
            EXPECT_TRUE(listed) << "listed " << path;
          }
          command_result canary = co_await env.run_command(shell("cmp /etc/passwd /tmp/canary && echo same"));
          EXPECT_EQ(canary.out().text(), "same\n");
        },
        options);
  }
}

TEST(Attack, FS_13_what_root_uploads_under_a_strict_umask_is_the_guests_own) {
  COFFERDAM_NEEDS_DOCKER();
  const cofferdam_test::temporary_folder folder;
  const mode_t before = ::umask(077);
  std::filesystem::create_directories(folder.path() / "data/nested/new");
  std::ofstream(folder.path() / "data/nested/new/f") << "x";
  ::umask(before);
  ASSERT_EQ(output_of("stat -c %a " + (folder.path() / "data/nested/new/f").string()), "600");
  for (const bool is_in_memory : {true, false}) {
    docker::container_options options = docker::container_options().user("1000");
    if (!is_in_memory) options.writable_root();
    inside(
        "debian",
        [&](docker::environment& env) -> awaitable<void> {
          const std::string deeds =
              "cat data/nested/new/f && echo y >> data/nested/new/f && touch data/nested/new/beside data/nested/g && "
              "mkdir data/nested/new/below && rm data/nested/new/f && rm -r data/nested && echo done";
          // Control: a copy by the docker command belongs to root, so the commands fail.
          if (!is_in_memory) {
            docker_says("cp " + (folder.path() / "data").string() + " " + env.container_name() + ":/workspace/data");
            command_result control = co_await env.run_command(shell(deeds));
            EXPECT_FALSE(control.ok()) << control.out().text();
            docker_says("exec -u 0 " + env.container_name() + " rm -rf /workspace/data");
          }
          const mode_t old = ::umask(077);
          transfer_result sent = co_await upload(env, files((folder.path() / "data").string()));
          ::umask(old);
          sent.throw_if_failed();
          command_result result = co_await env.run_command(shell(deeds));
          EXPECT_EQ(result.out().text(), "xdone\n") << result.err().text();
        },
        options);
  }
}

TEST(Attack, FS_07_a_workspace_that_is_moved_or_closed_to_its_owner_is_a_typed_error) {
  COFFERDAM_NEEDS_DOCKER();
  inside("busybox", [](docker::environment& env) -> awaitable<void> {
    command_result moved = co_await env.run_command(
        shell("cd / && mv /workspace /tmp/elsewhere; rmdir /workspace; chmod 000 /workspace; ls /workspace"));
    EXPECT_FALSE(moved.ok());
    std::error_code code;
    try {
      co_await env.files().list("");
    } catch (const error& failure) {
      code = failure.code();
    }
    EXPECT_TRUE(code);
    EXPECT_NE(code, exec_errc::provider_lost);
    // The user has no access to the workspace any more, so commands fail. The container itself continues.
    command_result again = co_await env.run_command(shell("echo inside"));
    EXPECT_EQ(again.kind(), error_kind::execution_error);
  });
}

}  // namespace
