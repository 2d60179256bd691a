// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attack PY-02 of the project's catalogue of attacks: code in Pyodide that fills memory outside of WebAssembly. The
// tests check the resident memory of Deno's process, as reported by the kernel.

#include "code/pyodide_support.hpp"
#include "support/census.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::error_kind;
using cofferdam::pyodide;
using cofferdam::pyodide_runner;
using cofferdam_test::all_of;
using cofferdam_test::fast_pyodide;
using cofferdam_test::value_of;
using cofferdam_test::with_pyodide;
using namespace std::chrono_literals;

constexpr std::uint64_t mib = 1024 * 1024;

/// Samples the resident memory of the Deno processes below this process, and keeps the maximum of one process.
class resident_watch {
 public:
  resident_watch() : thread_([this] { watch(); }) {}
  resident_watch(const resident_watch&) = delete;
  resident_watch& operator=(const resident_watch&) = delete;
  ~resident_watch() {
    done_ = true;
    thread_.join();
  }
  std::uint64_t most() const noexcept { return most_; }

 private:
  void watch() {
    // The search for the processes reads all of /proc, so it is made for each twentieth sample only.
    std::vector<cofferdam_test::process_entry> found;
    for (int sample = 0; !done_; ++sample) {
      if (sample % 20 == 0) found = cofferdam_test::denos();
      for (const auto& each : found) {
        std::ifstream file("/proc/" + std::to_string(each.pid) + "/statm");
        std::uint64_t size = 0;
        std::uint64_t resident = 0;
        if (file >> size >> resident) resident *= static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        if (resident > most_) most_ = resident;
      }
      std::this_thread::sleep_for(10ms);
    }
  }

  std::atomic<std::uint64_t> most_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

/// Returns programs that fill memory outside of WebAssembly. Each program stops by itself at 2.5 GiB, if the runner
/// does not end it before.
std::vector<std::pair<std::string, std::string>> ways_to_fill() {
  const std::string find_host =
      "import gc\nhost = next(one.host for one in gc.get_objects() if type(one).__name__ == 'PyodideChannel')\n";
  return {
      {"buffers that to_js makes",
       "from pyodide.ffi import to_js\nkept = [to_js(b'x' * (20 << 20)) for _ in range(128)]"},
      {"one large buffer, filled",
       "from pyodide.ffi import to_js\nkept = []\nfor _ in range(10):\n  one = to_js(b'x').constructor.new(256 << 20)\n"
       "  one.fill(1)\n  kept.append(one)"},
      {"arrays of JavaScript",
       "from pyodide.ffi import to_js\nkept = [to_js(list(range(1 << 20))) for _ in range(320)]"},
      {"messages that nobody reads",
       find_host + "from pyodide.ffi import to_js\none = to_js(b'x' * (64 << 20))\n"
                   "for _ in range(40):\n  try:\n    host.send('c', one)\n  except Exception:\n    pass"},
      {"small messages that hold a large buffer",
       find_host + "from pyodide.ffi import to_js\none = to_js(b'x' * (64 << 20)).subarray(0, 1)\n"
                   "for _ in range(40):\n  try:\n    host.send('c', one)\n  except Exception:\n    pass"},
      {"a text as a message's name",
       find_host + "from pyodide.ffi import to_js\none = 'x' * (32 << 20)\n"
                   "for _ in range(80):\n  try:\n    host.send(one, to_js(b''))\n  except Exception:\n    pass"},
      {"output, one byte a call", "import os\nfor _ in range(2_000_000): os.write(1, b'x')"},
      {"output, all in one call", "import os\nfor _ in range(40): os.write(1, b'x' * (64 << 20))"},
  };
}

pyodide small_pyodide() { return fast_pyodide().memory_limit(192 * mib); }

/// The default memory limit of an interpreter's process, and the amount that code can allocate between two checks of
/// the limit.
constexpr std::uint64_t allowed = (192 + 320) * mib;
constexpr std::uint64_t between_looks = 700 * mib;

/// Returns the processor time of all Deno processes, in clock ticks.
std::uint64_t ticks() {
  std::uint64_t total = 0;
  for (const auto& each : cofferdam_test::denos()) {
    std::ifstream file("/proc/" + std::to_string(each.pid) + "/stat");
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    if (fields >> user >> system) total += user + system;
  }
  return total;
}

}  // namespace

TEST(Attack, PY_02_memory_outside_of_webassembly_is_bounded_and_its_end_is_out_of_memory) {
  COFFERDAM_NEEDS_DENO();
  for (const auto& [name, code] : ways_to_fill()) {
    const resident_watch watch;
    with_pyodide(small_pyodide(), [&, &name = name, &code = code](pyodide_runner& runner) -> awaitable<void> {
      code_request request(code);
      // Two million calls take minutes, but the amount of memory no longer changes after the first seconds. Only a soak
      // watches it for longer.
      request.timeout(name == "output, one byte a call" && !cofferdam_test::is_soak() ? 12s : 60s);
      code_result result = co_await runner.run_code(request.keep_output(1000));
      EXPECT_LT(watch.most(), allowed + between_looks) << name << ": " << all_of(result);
      if (watch.most() > allowed) {
        EXPECT_EQ(result.kind(), error_kind::out_of_memory) << name << ": " << all_of(result);
      }
      code_result next = co_await runner.run_code(code_request("6 * 7").timeout(60s));
      EXPECT_EQ(value_of(next), "42") << name << ": " << all_of(next);
    });
    std::printf("%-45s %5u MiB\n", name.c_str(), static_cast<unsigned>(watch.most() / mib));
  }
}

TEST(Attack, PY_02_control_without_the_limit_the_same_code_goes_past_it) {
  COFFERDAM_NEEDS_DENO();
  const resident_watch watch;
  with_pyodide(small_pyodide().process_memory(16384 * mib), [&](pyodide_runner& runner) -> awaitable<void> {
    const auto ways = ways_to_fill();
    code_request request(ways.front().second);
    code_result result = co_await runner.run_code(request.timeout(100s));
    EXPECT_TRUE(result.ok()) << all_of(result);
  });
  EXPECT_GT(watch.most(), allowed + between_looks);
}

// Deno's `Worker.terminate` does not stop a busy worker, so the runner must end the whole process.
TEST(Attack, PY_02_a_run_past_its_limit_leaves_nothing_that_goes_on_running) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(small_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    for (const std::string& code : {std::string("while True: pass"), std::string("10 ** 10 ** 8")}) {
      code_result result = co_await runner.run_code(code_request(code).timeout(1s));
      EXPECT_EQ(result.kind(), error_kind::timeout) << code << ": " << all_of(result);
    }
    // The next interpreter starts in the background, and afterwards no process may use the processor.
    std::uint64_t spent = 100;
    for (int i = 0; i < 60 && spent > 15; ++i) {
      const std::uint64_t before = ticks();
      std::this_thread::sleep_for(1s);
      spent = ticks() - before;
    }
    EXPECT_LE(spent, 15U) << "hundredths of a second of processor time in the last second";
  });
}
