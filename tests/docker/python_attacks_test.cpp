// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks PG (Python guards) of the project's catalogue of attacks, without the guards: the code runs, and the
// container alone must contain it. The tests check a file and a listener outside. In the control, the same code runs
// on `local`, which does not isolate, and succeeds.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/with.hpp>

#include "docker/docker_support.hpp"
#include "support/temporary_folder.hpp"

#include <asio/ip/tcp.hpp>
#include <asio/this_coro.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

// This namespace is named, because coroutine templates are instantiated with its types, and g++ warns about types of
// an unnamed namespace.
namespace python_attacks_test {

using cofferdam::awaitable;
using cofferdam::code_request;
using cofferdam::code_result;
using cofferdam::local;
using cofferdam::python;
using cofferdam_test::run;
using cofferdam_test::test_image;

/// A folder outside the container, with a file that contains a secret.
class outside {
 public:
  outside() : path_((folder_.path() / "canary").string()) { std::ofstream(path_) << "secret"; }
  const std::string& path() const { return path_; }
  std::string canary() const {
    std::ifstream in(path_);
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }

 private:
  cofferdam_test::temporary_folder folder_;
  std::string path_;
};

// Each text imports modules in a way that a guard would refuse. The number names the attack in the catalogue.
const std::vector<std::string> routes{
    "import os as o, socket as s",                              // PG-01
    "o, s = __import__('o' + 's'), __import__('soc' + 'ket')",  // PG-02
    "w = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]\n"
    // PG-03
    "o = w.__init__.__globals__['sys'].modules['os']\ns = o.sys.modules.get('socket') or __import__('socket')",
    "import random\no = random._os\nimport queue\ns = __import__('socket')",        // PG-04
    "exec('import os as o, socket as s')",                                          // PG-07
    "import sys\no = sys.modules['os']\nimport _socket\ns = __import__('socket')",  // PG-09
};

const std::string deed = R"py(
said = []
try:
    with open(path) as canary: said.append(canary.read())
except OSError as e: said.append(type(e).__name__)
try:
    f = o.open(path, o.O_WRONLY | o.O_APPEND)
    said.append(str(o.write(f, b'in')))
    o.close(f)
except OSError as e: said.append(type(e).__name__)
try:
    s.create_connection(('127.0.0.1', port), 5).close()
    said.append('reached')
except OSError as e: said.append(type(e).__name__)
print(*said)
)py";

/// Runs every text of `routes`. Returns for each the output, the content of the canary file, and " a caller" if a
/// connection arrived.
template <class Provider>
std::vector<std::string> tried(Provider provider) {
  std::vector<std::string> results;
  const auto work = [&]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    asio::ip::tcp::acceptor listener(executor, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    listener.non_blocking(true);
    const int port = listener.local_endpoint().port();
    auto recipe = provider | python();
    auto runner = co_await recipe.open();
    for (const std::string& route : routes) {
      const outside outside_files;
      code_request request(route + deed);
      request.variable("path", boost::json::value(outside_files.path())).variable("port", boost::json::value(port));
      code_result result = co_await runner.run_code(std::move(request));
      std::error_code nobody;
      asio::ip::tcp::socket caller = listener.accept(nobody);
      results.push_back(result.out().text() + result.err().text() + outside_files.canary() +
                        (nobody ? " nobody" : " a caller"));
    }
    co_await runner.close();
  };
  run(work);
  return results;
}

}  // namespace python_attacks_test

using namespace python_attacks_test;

TEST(Attack, PG_01_with_the_guards_off_a_container_holds_alone) {
  COFFERDAM_NEEDS_DOCKER();
  const std::vector<std::string> control = tried(local().without_warning());
  for (const std::string& result : control) EXPECT_EQ(result, "secret 2 reached\nsecretin a caller");
  const std::vector<std::string> walled = tried(test_image("debian"));
  ASSERT_EQ(walled.size(), routes.size());
  for (const std::string& result : walled)
    EXPECT_EQ(result, "FileNotFoundError FileNotFoundError ConnectionRefusedError\nsecret nobody");
}
