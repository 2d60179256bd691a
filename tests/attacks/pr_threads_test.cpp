// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attack PR-03b of the project's catalogue of attacks: processes whose main thread has ended while another thread
// continues. The kernel reports such a process as a zombie. A host that ignores zombies would neither kill nor count
// them.

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/process_table.hpp>

#include "support/attack_place.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <unistd.h>

namespace {

using asio::awaitable;
using cofferdam::command_result;
using cofferdam::shell;
using cofferdam::with;
using cofferdam_test::attack_folder;
using namespace std::chrono_literals;

/// Source of a program that forms a chain of 250 processes, each in a session of its own. The main thread of each
/// process ends, and a second thread continues. Each process counts in a shared file, and replaces its child if the
/// child is killed. The chain ends by itself after the number of seconds in the last argument.
constexpr const char* chain_source = R"(#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
struct shared { volatile int last; volatile int pid[1 << 20]; };
static struct shared* all;
static volatile long* count;
static int number;
static const int length = 250;
static time_t end;
static void* go_on(void* unused);
static void begin(void) {
  setsid();
  all->pid[number] = getpid();
  all->last = number;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_t thread;
  pthread_create(&thread, &small, go_on, 0);
  syscall(SYS_exit, 0);
}
static void* go_on(void* unused) {
  int child = -1;
  for (;;) {
    if (time(0) > end) _exit(0);
    if (child > 0 && kill(child, 0) < 0) child = -1;
    if (child < 0 && (number <= length || kill(all->pid[number - length], 0) < 0)) {
      child = fork();
      if (child == 0) {
        ++number;
        begin();
      }
    }
    ++*count;
    struct timespec pause = {0, child < 0 ? 1000 : all->last <= number + 3 ? 200000 : 20000000};
    nanosleep(&pause, 0);
  }
  return unused;
}
int main(int argc, char** words) {
  end = time(0) + atoi(words[argc - 1]);
  const int file = open("count", O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 4096) < 0) return 1;
  count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  all = mmap(0, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  signal(SIGCHLD, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  if (fork() == 0) {
    number = 1;
    begin();
  }
  for (;;) pause();
}
)";

/// Returns true if the chain outlives its time limit of one second. The chain ends by itself after 15 seconds. It has
/// outlived the limit if it delays the result or `close()` until then, or if it still counts after both.
bool outlives_its_time_limit(const std::string& place) {
  const attack_folder folder(place);
  folder.write("chain.c", chain_source, 0600);
  const std::string build =
      "cc -O1 -pthread -o '" + (folder / "w/chain").string() + "' '" + (folder / "chain.c").string() + "'";
  if (std::system(build.c_str()) != 0) {
    ADD_FAILURE() << "the chain does not compile";
    return false;
  }
  const auto begin = std::chrono::steady_clock::now();
  cofferdam_test::run(
      [&]() -> awaitable<void> {
        const auto body = [&](auto& env) -> awaitable<void> {
          command_result result = co_await env.run_command(shell("exec ./chain 15").timeout(1s));
          EXPECT_EQ(result.kind(), cofferdam::error_kind::timeout);
        };
        co_await with(folder.provider(500ms, 100ms), body);
      },
      60s);
  if (std::chrono::steady_clock::now() - begin > 10s) return true;
  std::this_thread::sleep_for(500ms);
  const std::string before = folder.read("w/count");
  std::this_thread::sleep_for(1s);
  return folder.read("w/count") != before;
}

class PrThreadsAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, PrThreadsAttack, cofferdam_test::in_places("local", "jail"),
                         cofferdam_test::place_name);

TEST_P(PrThreadsAttack, PR_03b_processes_whose_first_thread_has_ended_end_with_their_command) {
  COFFERDAM_NEEDS("cc", std::system("cc --version >/dev/null 2>&1") == 0, "that processes without a first thread end");
  EXPECT_FALSE(outlives_its_time_limit(GetParam()));
}

TEST(Attack, PR_03b_control_without_a_warden_they_go_on) {
  COFFERDAM_NEEDS("cc", std::system("cc --version >/dev/null 2>&1") == 0, "that the attack works");
  EXPECT_TRUE(outlives_its_time_limit("no_warden"));
}

TEST(Attack, PR_03b_the_host_counts_a_process_whose_first_thread_has_ended) {
  cofferdam::detail::table_entry entry;
  EXPECT_TRUE(cofferdam::detail::parse_stat("7 (a) b) Z 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 9171 0", entry));
  EXPECT_EQ(entry.parent, 3);
  EXPECT_EQ(entry.start_time, 9171U);
  EXPECT_FALSE(cofferdam::detail::parse_stat("7 (a) Z 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9171 0", entry));
}

}  // namespace
