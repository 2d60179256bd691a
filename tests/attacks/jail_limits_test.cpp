// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Rows RS of the catalogue of attacks: a guest in the jail that takes all memory, disk space, processor time or
// processes of the machine. The judge is the host. Each attack has a control without the limit.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/with.hpp>

#include "support/census.hpp"
#include "support/hostile.hpp"
#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace jail_limit_attacks {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::has_control_groups;
using cofferdam_test::read_proc;
using cofferdam_test::result_of;
using cofferdam_test::run;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Watches how much of the machine's available memory is used at most, in MiB, from its construction on.
class memory_watch {
 public:
  memory_watch() : before_(available()), lowest_(before_), thread_([this] { watch(); }) {}
  memory_watch(const memory_watch&) = delete;
  memory_watch& operator=(const memory_watch&) = delete;
  ~memory_watch() {
    ends_ = true;
    thread_.join();
  }
  /// Returns the largest use so far: the memory available at the construction, less the smallest since then.
  long taken() const { return before_ - lowest_; }
  /// Returns the largest use so far by another figure: the memory available now, less the smallest until now.
  long given_back() const { return available() - lowest_; }

 private:
  static long available() {
    const std::string text = read_proc("/proc/meminfo");
    const std::size_t at = text.find("MemAvailable:");
    return at == std::string::npos ? 0 : std::atol(text.c_str() + at + 13) / 1024;
  }
  void watch() {
    while (!ends_) {
      lowest_ = std::min(lowest_.load(), available());
      std::this_thread::sleep_for(5ms);
    }
  }

  long before_;
  std::atomic<long> lowest_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

class JailLimits : public cofferdam_test::jail_fixture {};

command python(const std::string& code) { return argv("python3", "-I", "-c", code).timeout(60s); }

/// Returns how many MiB the machine lacked at most while `attack` ran, in comparison with before or with afterwards.
/// Programs beside this one take and give back memory too, which spoils one of the two figures. So the second is
/// returned if the first is not `expected`, and if neither is, they are measured again, up to five times.
long used_by(const std::function<void()>& attack, const std::function<bool(long)>& expected) {
  long used = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const memory_watch watch;
    attack();
    const long given_back = watch.given_back();
    used = watch.taken();
    if (expected(used)) break;
    if (expected(given_back)) return given_back;
  }
  return used;
}

TEST_F(JailLimits, RS_01_memory_of_one_process_of_many_and_of_files_is_bounded) {
  COFFERDAM_NEEDS("control groups", has_control_groups(), "that memory is bounded in total");
  constexpr long limit = 192;
  constexpr long slack = 300;  // MiB: other programs of the machine, and the tests beside this one
  const auto is_held = [](long used) { return used < limit + slack; };
  const jail small = recipe().memory(limit * mebibyte).require_total_memory();
  const std::string in_one = "b = []\nfor i in range(64): b.append(bytearray(16 << 20))";
  const std::string in_many =
      "import os, time\n"
      "for i in range(40):\n"
      "    if os.fork() == 0:\n"
      "        b = bytearray(24 << 20); time.sleep(2); os._exit(0)\n"
      "for i in range(40): os.wait()\n";
  const std::string in_shared = "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): m[i] = 1\n";
  for (const std::string& attack : {in_one, in_many, in_shared}) {
    const auto attacks = [&] {
      const command_result held = result_of(small, python(attack));
      if (attack != in_many) {
        EXPECT_EQ(held.kind(), error_kind::out_of_memory) << held.exit_code() << held.err_text();
      }
    };
    EXPECT_LT(used_by(attacks, is_held), limit + slack) << attack;
  }
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    const auto attacks = [&] {
      EXPECT_FALSE(result_of(small, "head -c 1G /dev/zero > " + std::string(folder) + "/x").ok());
    };
    EXPECT_LT(used_by(attacks, is_held), limit + slack) << folder;
  }
  const auto without_limit = [&] {  // the control
    EXPECT_TRUE(result_of(recipe(), python(in_one + "\nimport time; time.sleep(0.2)")).ok());
  };
  EXPECT_GT(used_by(without_limit, [](long used) { return used > 700; }), 700);
}

TEST_F(JailLimits, RS_01_memory_of_sockets_is_bounded) {
  COFFERDAM_NEEDS("control groups", has_control_groups(), "that the memory of sockets is bounded");
  // Fills connections of the jail to itself, which nothing reads, and prints how many MiB they hold.
  const command fill = python(
      "import socket\n"
      "server = socket.create_server(('127.0.0.1', 0), backlog=200)\n"
      "held, kept = 0, []\n"
      "for i in range(60):\n"
      "    one = socket.create_connection(server.getsockname()); kept.append((one, server.accept()[0]))\n"
      "    one.setblocking(False)\n"
      "    try:\n"
      "        while True: held += one.send(b'x' * 65536)\n"
      "    except BlockingIOError: pass\n"
      "print(held >> 20)\n");
  const jail small = recipe().memory(64 * mebibyte).require_total_memory();
  const command_result held = result_of(small, fill);
  // The kernel may also end the attack, if the sockets count as any other memory.
  if (held.ok()) {
    EXPECT_LT(std::stol(held.out_text()), 96) << held.isolation().of(isolation_kind::memory);
  }
  const command_result control = result_of(recipe(), fill);
  EXPECT_GT(std::stol(control.out_text()), 128) << "the control, without a limit";
}

#if defined(__x86_64__)
/// A program without a library, which has less memory than the warden (the helper program in a sandbox) and its
/// supervisors. It makes itself as unlikely a victim as they are, and fills a file in memory until the kernel must
/// choose.
constexpr const char* smallest_filler = R"c(
static long call(long n, long a, const void* b, long c) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return r;
}
static char page[4096];
void _start(void) {
  long file = call(2, (long)"/proc/self/oom_score_adj", (void*)1, 0);
  call(1, file, "0", 1);
  file = call(319, (long)"x", 0, 0);
  while (call(1, file, page, sizeof page) > 0) {}
  call(60, 3, 0, 0);
}
)c";

TEST_F(JailLimits, RS_01_when_the_kernel_chooses_the_warden_the_error_names_the_memory_limit) {
  COFFERDAM_NEEDS("control groups", has_control_groups(), "that memory is bounded in total");
  COFFERDAM_NEEDS("gcc", ::access("/usr/bin/gcc", X_OK) == 0, "a program of the guest's own");
  const cofferdam_test::temporary_folder folder;
  const std::string source = folder.write("fill.c", smallest_filler).string();
  const std::string program = (folder.path() / "fill").string();
  ASSERT_EQ(std::system(("gcc -w -O1 -nostdlib -static -o " + program + " " + source).c_str()), 0);
  ::chmod(folder.path().c_str(), 0755);
  const jail small = recipe().memory(64 * mebibyte).require_total_memory().mount_read_only(folder.path());
  for (int i = 0; i < 5; ++i) {
    try {
      // The kernel has chosen the program, or its supervisor.
      const command_result ended = result_of(small, "exec " + program);
      EXPECT_EQ(ended.kind(), error_kind::out_of_memory) << ended.reason();
    } catch (const error& failure) {  // the kernel has chosen the warden
      EXPECT_EQ(failure.code(), exec_errc::provider_lost) << failure.what();
      EXPECT_EQ(failure.cause(), std::errc::not_enough_memory) << failure.what();
      EXPECT_NE(std::string(failure.what()).find("memory()"), std::string::npos) << failure.what();
    }
  }
}
#endif

TEST_F(JailLimits, RS_02_a_full_workspace_takes_nothing_from_the_disk_of_the_host) {
  const auto used = [] {
    const std::filesystem::space_info space = std::filesystem::space(std::filesystem::temp_directory_path());
    return static_cast<std::int64_t>(space.capacity - space.free);
  };
  const std::int64_t before = used();
  run([&]() -> awaitable<void> {
    auto body = [&](jail_environment& env) -> awaitable<void> {
      command_result whole = co_await env.run_command("head -c 600M /dev/zero > a");
      EXPECT_EQ(whole.kind(), error_kind::disk_full) << whole.err_text();
      co_await env.run_command("rm a");
      command_result sparse = co_await env.run_command("truncate -s 1T s && stat -c %b s");
      EXPECT_EQ(sparse.out_text(), "0\n");
      command_result filled = co_await env.run_command("dd if=/dev/zero of=s bs=1M count=600 conv=notrunc 2>/dev/null");
      EXPECT_EQ(filled.kind(), error_kind::disk_full);
      EXPECT_LT(used() - before, static_cast<std::int64_t>(200 * mebibyte));
    };
    co_await with(recipe().workspace_size(8 * mebibyte), std::ref(body));
  });
  run([&]() -> awaitable<void> {  // the control
    auto body = [&](jail_environment& env) -> awaitable<void> {
      command_result whole = co_await env.run_command("head -c 600M /dev/zero > a && sync a");
      EXPECT_TRUE(whole.ok()) << whole.err_text();
      EXPECT_GT(used() - before, static_cast<std::int64_t>(400 * mebibyte));
    };
    co_await with(recipe(), std::ref(body));
  });
}

TEST_F(JailLimits, RS_03_spinning_threads_get_no_more_than_their_share_of_the_processors) {
  COFFERDAM_NEEDS("control groups", has_control_groups(), "that the share of the processors is bounded");
  // The processor time of all processes in the jail that are alive, by the host's process table.
  const auto used = [](const std::string& marker) {
    double ticks = 0;
    for (const cofferdam_test::process_entry& each : cofferdam_test::marked(marker)) {
      const std::string text = read_proc("/proc/" + std::to_string(each.pid) + "/stat");
      std::istringstream rest(text.substr(text.rfind(')') + 1));
      std::string word;
      for (int i = 0; i < 11; ++i) rest >> word;
      double user = 0, kernel = 0;
      rest >> user >> kernel;
      ticks += user + kernel;
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  };
  const auto share = [&](const jail& recipe) {
    const std::string marker = cofferdam_test::new_marker();
    double result = 0;
    run([&]() -> awaitable<void> {
      auto body = [&](jail_environment& env) -> awaitable<void> {
        process spinning = co_await env.start(
            argv("python3", "-I", "-c", "import os\nfor i in range(7):\n    if os.fork() == 0: break\nwhile True: pass",
                 marker));
        cofferdam_test::eventually([&] { return cofferdam_test::marked(marker).size() == 8; });
        const double before = used(marker);
        const auto begin = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(1500ms);
        result =
            (used(marker) - before) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        spinning = process();
      };
      co_await with(recipe, std::ref(body));
    });
    return result;
  };
  const double limited = share(recipe().cpus(0.1));
  const double control = share(recipe());
  std::cout << "CPUs used: " << limited << " of 0.1; without a limit " << control << "\n";
  EXPECT_LT(limited, 0.16);  // the period of the limit and the clock's ticks are coarse
  EXPECT_GT(control, 0.2);
  const command_result told = result_of(recipe().cpus(0.5), "true");
  EXPECT_TRUE(told.isolation().of(isolation_kind::processor_time).starts_with("0.5 CPUs in all (control group, cpu."))
      << told.isolation().of(isolation_kind::processor_time);
  EXPECT_THROW(result_of(recipe().cpus(0.5).control_groups(false), "true"), error);
}

TEST_F(JailLimits, RS_04_processor_time_and_time_are_two_reasons) {
  const command_result by_processor = result_of(recipe().cpu_time(1s), command("while :; do :; done").timeout(20s));
  EXPECT_EQ(by_processor.kind(), error_kind::processor_time_limit) << by_processor.reason();
  const command_result by_time = result_of(recipe().cpu_time(1s), command("sleep 20").timeout(500ms));
  EXPECT_EQ(by_time.kind(), error_kind::timeout);
  EXPECT_NE(by_processor.reason(), by_time.reason());
  const command_result control = result_of(recipe(), command("while :; do :; done").timeout(1300ms));
  EXPECT_EQ(control.kind(), error_kind::timeout) << control.reason();
}

TEST_F(JailLimits, RS_05_limits_of_a_process_hold_and_cannot_be_raised) {
  const jail limited = recipe().open_files(32).file_size(mebibyte);
  EXPECT_EQ(result_of(limited, "ulimit -n 64; ulimit -n").out_text(), "32\n");
  EXPECT_EQ(result_of(limited, "ulimit -f unlimited; head -c 4M /dev/zero > x; stat -c %s x").out_text(), "1048576\n");
  EXPECT_NE(result_of(recipe(), "ulimit -n 64; ulimit -n").out_text(), "32\n");  // the control
  EXPECT_FALSE(result_of(recipe(), "chrt -f 1 true").ok());
  EXPECT_EQ(result_of(recipe(), "nice -n -5 nice 2>/dev/null").out_text(), "0\n");
  if (::geteuid() == 0) {
    EXPECT_EQ(std::system("chrt -f 1 true"), 0);  // the control
  }
}

// The kernel counts descriptors that wait in Unix sockets for all processes of a user, and all jails of a root host
// have one user. A process may add some while they are fewer than its own limit of open files.
TEST_F(JailLimits, RS_05_descriptors_in_flight_of_one_jail_do_not_stop_another) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  COFFERDAM_NEEDS("open_files", files.rlim_max >= 8192, "a limit of open files that the control can use up");
  const std::string hold = R"(
import array, resource, socket, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
files, pairs = array.array("i", [0] * 253), []
try:
    for _ in range(900):
        a, b = socket.socketpair()
        a.setblocking(False)
        pairs.append((a, b))
        try:
            while True:
                a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        except BlockingIOError:
            pass
except OSError:
    pass
print("held", flush=True)
time.sleep(50)
)";
  const auto other_works = [&](const jail& attacker) {
    return run([&]() -> awaitable<bool> {
      bool works = false;
      auto body = [&](jail_environment& holder, jail_environment& other) -> awaitable<void> {
        process held = co_await holder.start(argv("python3", "-c", hold));
        while (auto chunk = co_await held.read())
          if (as_text(chunk.data()).find("held") != std::string_view::npos) break;
        try {
          works = (co_await other.run_command("true")).ok();
        } catch (const error& failure) {
          EXPECT_NE(std::string(failure.what()).find("in transit"), std::string::npos) << failure.what();
        }
      };
      auto first = [&](jail_environment& holder) -> awaitable<void> {
        auto second = [&](jail_environment& other) -> awaitable<void> { co_await body(holder, other); };
        co_await with(recipe(), std::ref(second));
      };
      co_await with(attacker, std::ref(first));
      co_return works;
    });
  };
  EXPECT_TRUE(other_works(recipe()));
  EXPECT_FALSE(other_works(recipe().open_files(static_cast<std::uint32_t>(files.rlim_max))));  // the control
}

}  // namespace

}  // namespace jail_limit_attacks
