// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PY of the project's catalogue of attacks: code in Pyodide against its isolation. The tests check for a file
// outside, and for connections to a listener.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>

#include "code/pyodide_support.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::command_result;
using cofferdam::error_kind;
using cofferdam::pyodide_runner;
using cofferdam_test::all_of;
using cofferdam_test::fast_pyodide;
using cofferdam_test::temporary_folder;
using cofferdam_test::value_of;
using cofferdam_test::with_pyodide;
using namespace std::chrono_literals;

/// Returns Python programs that try to reach a file of the host. Each program writes to `path` if it succeeds.
std::vector<std::string> ways_out() {
  const std::string act = "'Deno.writeTextFileSync(\"' + path + '\", \"out\")'";
  return {
      "from js import Deno\nDeno.writeTextFileSync(path, 'out')",
      "from pyodide.code import run_js\nrun_js(" + act + ")",
      "import pyodide_js\npyodide_js.loadPackage.constructor(" + act + ")()",
      "from pyodide.ffi import to_js\nto_js(b'x').constructor.constructor(" + act + ")()",
      // This program uses the interpreter's own channel to the main thread.
      "import gc\nfor one in gc.get_objects():\n  if type(one).__name__ == 'PyodideChannel':\n    "
      "one.host.send.constructor(" +
          act + ")()",
      "import sys\nframe = sys._getframe()\nwhile frame:\n  if 'CHANNEL' in frame.f_globals:\n    "
      "frame.f_globals['CHANNEL'].host.constructor.constructor(" +
          act + ")()\n  frame = frame.f_back",
      "import ctypes\nctypes.CDLL(None).emscripten_run_script(bytes(" + act + ", 'ascii'))",
      "import os\nfd = os.open(path, os.O_CREAT | os.O_WRONLY)\nos.write(fd, b'out')",
  };
}

/// Runs the code by Deno and Pyodide directly, with the given permissions, and without the library's driver (the
/// program that runs code in Pyodide).
command_result run_bare(std::vector<std::string> permissions, const temporary_folder& folder, const std::string& code) {
  folder.write("bare.mjs",
               "const [folder, code] = Deno.args;\n"
               "const { loadPyodide } = await import('file://' + folder + '/pyodide.mjs');\n"
               "const python = await loadPyodide({ indexURL: folder + '/' });\n"
               "python.runPython(code);\n");
  const char* const where = std::getenv("COFFERDAM_PYODIDE");
  std::vector<std::string> words{std::getenv("COFFERDAM_DENO"), "run", "--no-config", "--no-lock", "--no-prompt"};
  words.insert(words.end(), permissions.begin(), permissions.end());
  words.push_back((folder / "bare.mjs").string());
  words.push_back(std::filesystem::canonical(where).string());
  words.push_back(code);
  command_result result;
  cofferdam_test::run(
      [&] {
        return cofferdam::with(
            cofferdam::local().without_warning(), [&](cofferdam::local_environment& env) -> awaitable<void> {
              command_result got =
                  co_await env.run_command(cofferdam::argv(words).timeout(100s).variable("DENO_DIR", "deno"));
              result = std::move(got);
            });
      },
      std::chrono::seconds(200));
  return result;
}

/// A listener on the loopback address that counts connections and responds to each.
class counting_listener {
 public:
  explicit counting_listener(const asio::any_io_executor& executor)
      : acceptor_(executor, {asio::ip::make_address("127.0.0.1"), 0}) {}
  unsigned short port() const { return acceptor_.local_endpoint().port(); }
  int count = 0;

  static awaitable<void> serve(std::shared_ptr<counting_listener> self) {
    for (;;) {
      std::error_code failed;
      asio::ip::tcp::socket socket =
          co_await self->acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      if (failed) co_return;
      ++self->count;
      char request[4096];
      co_await socket.async_read_some(asio::buffer(request), asio::redirect_error(asio::use_awaitable, failed));
      const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
      co_await asio::async_write(socket, asio::buffer(answer), asio::redirect_error(asio::use_awaitable, failed));
    }
  }
  void stop() { acceptor_.close(); }

 private:
  asio::ip::tcp::acceptor acceptor_;
};

}  // namespace

// The isolation here is inside Deno's process: the names that Python can reach, and Deno's permissions. (The control
// shows that the permissions alone are sufficient.) The catalogue also describes an operating system sandbox around
// Deno, which does not exist: a guest that breaks out of V8 has the rights of the calling user. The documentation of
// `pyodide` and every result report this.
// Feature: D21
TEST(Attack, PY_01_no_way_from_python_leads_to_javascript_or_the_host) {
  COFFERDAM_NEEDS_DENO();
  const temporary_folder folder;
  const std::string canary = (folder / "canary").string();
  with_pyodide(fast_pyodide(), [&canary](pyodide_runner& runner) -> awaitable<void> {
    const std::vector<std::string> ways = ways_out();
    for (const std::string& way : ways) {
      code_request request(way);
      request.variable("path", canary).timeout(100s);
      code_result result = co_await runner.run_code(request);
      EXPECT_FALSE(std::filesystem::exists(canary)) << way << "\n" << all_of(result);
    }
    const std::string names = "['Deno', 'fetch', 'eval', 'Function', 'globalThis', 'process', 'self']";
    code_request left("try:\n  import js\n  x = [n for n in " + names +
                      " if hasattr(js, n)]\nexcept ImportError:\n  x = []\nx");
    code_result next = co_await runner.run_code(left.timeout(100s));
    EXPECT_EQ(value_of(next), "[]") << all_of(next);
    EXPECT_EQ(next.isolation().of(cofferdam::isolation_kind::files), "Deno's permissions: no files of the host");
    EXPECT_EQ(next.isolation().of(cofferdam::isolation_kind::system_calls),
              "WebAssembly makes no system calls; the kernel does not restrict Deno's process");
  });
}

TEST(Attack, PY_01_control_a_bare_pyodide_gives_the_host_away_and_the_permissions_alone_hold_it) {
  COFFERDAM_NEEDS_DENO();
  const temporary_folder folder;
  const std::string canary = (folder / "canary").string();
  const std::string attack = "path = '" + canary + "'\nfrom js import Deno\nDeno.writeTextFileSync(path, 'out')";
  const command_result permitted = run_bare({"--allow-all"}, folder, attack);
  EXPECT_TRUE(std::filesystem::exists(canary)) << permitted.err().text();
  std::filesystem::remove(canary);
  const command_result held = run_bare({"--allow-read"}, folder, attack);
  EXPECT_FALSE(std::filesystem::exists(canary));
  EXPECT_FALSE(held.ok());
  EXPECT_NE(held.err().text().find("NotCapable"), std::string::npos) << held.err().text();
}

TEST(Attack, PY_02_loops_growth_and_floods_in_wasm_are_ended_or_bounded) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide().memory_limit(128U * 1024 * 1024), [](pyodide_runner& runner) -> awaitable<void> {
    code_result loop = co_await runner.run_code(code_request("while True: pass").timeout(500ms));
    EXPECT_EQ(loop.kind(), error_kind::timeout) << all_of(loop);
    code_result growth =
        co_await runner.run_code(code_request("x = bytearray(1 << 20)\nwhile True: x = x + x").timeout(100s));
    EXPECT_EQ(growth.failure() ? growth.failure()->type() : "", "MemoryError") << all_of(growth);
    code_result flood =
        co_await runner.run_code(code_request("while True: print('x' * 100_000)").timeout(2s).keep_output(1000));
    EXPECT_EQ(flood.kind(), error_kind::timeout) << flood.reason();
    EXPECT_LE(flood.out().text().size(), 2000U);
    code_result next = co_await runner.run_code(code_request("1").timeout(100s));
    EXPECT_TRUE(next.ok()) << all_of(next);
  });
}

TEST(Attack, PY_03_globals_of_one_run_are_not_those_of_the_next_unless_a_context_is_named) {
  COFFERDAM_NEEDS_DENO();
  with_pyodide(fast_pyodide(), [](pyodide_runner& runner) -> awaitable<void> {
    const std::string looks =
        "import builtins, sys\n['secret' in globals(), hasattr(builtins, 'secret'), 'secret' in sys.modules]";
    const std::string leaves = "import builtins, sys\nsecret = builtins.secret = sys.modules['secret'] = 5";
    code_result set = co_await runner.run_code(code_request(leaves));
    EXPECT_TRUE(set.ok()) << all_of(set);
    code_result fresh = co_await runner.run_code(code_request(looks));
    EXPECT_EQ(value_of(fresh), "[false,false,false]") << all_of(fresh);
    code_result named = co_await runner.run_code(code_request(leaves).context("c").timeout(100s));
    EXPECT_TRUE(named.ok()) << all_of(named);
    code_result control = co_await runner.run_code(code_request(looks).context("c"));
    EXPECT_EQ(value_of(control), "[true,true,true]") << all_of(control);
  });
}

TEST(Attack, PY_04_the_network_is_reached_by_permission_only) {
  COFFERDAM_NEEDS_DENO();
  cofferdam_test::run(
      []() -> awaitable<void> {
        asio::any_io_executor executor = co_await asio::this_coro::executor;
        const auto listener = std::make_shared<counting_listener>(executor);
        cofferdam_test::spawn(executor, counting_listener::serve(listener), [](std::exception_ptr) {});
        const std::string place = "127.0.0.1:" + std::to_string(listener->port());
        const std::string code =
            "import urllib.request, socket, urllib.error\nseen = []\n"
            "for url in ('http://" +
            place +
            "/', 'http://169.254.169.254/latest', 'https://pypi.org/simple/', 'file:///etc/passwd'):\n"
            "  try:\n    seen.append(urllib.request.urlopen(url, timeout=20).read().decode())\n"
            "  except (OSError, urllib.error.URLError) as e:\n    pass\n"
            "try:\n  s = socket.create_connection(('127.0.0.1', " +
            std::to_string(listener->port()) +
            "), timeout=2)\n"
            "  s.send(b'GET / HTTP/1.0\\r\\n\\r\\n')\nexcept Exception:\n  pass\nseen";
        const cofferdam::pyodide closed = fast_pyodide();
        pyodide_runner runner = co_await closed.open();
        code_result refused = co_await runner.run_code(code_request(code).timeout(100s));
        EXPECT_EQ(value_of(refused), "[]") << all_of(refused);
        EXPECT_EQ(listener->count, 0);
        co_await runner.close();
        // Control: with permission for this one address, the code connects.
        const cofferdam::pyodide open = fast_pyodide().allow_network(place);
        pyodide_runner allowed = co_await open.open();
        code_result reached = co_await allowed.run_code(code_request(code).timeout(100s));
        EXPECT_EQ(value_of(reached), R"(["hello"])") << all_of(reached);
        EXPECT_EQ(listener->count, 1);
        co_await allowed.close();
        listener->stop();
      },
      std::chrono::seconds(300));
}
