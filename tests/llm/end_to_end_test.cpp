// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include "llm/end_to_end.hpp"

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/make_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>
#include <cofferdam/tools/run_python.hpp>
#include <cofferdam/tools/tool.hpp>
#include <cofferdam/tools/view_image.hpp>

#include "docker/docker_support.hpp"
#include "support/gateway_thread.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace cofferdam;

TEST(EndToEnd, a_model_charts_a_file_looks_at_the_chart_and_hands_it_over) {
  for (const bool streams : {true, false})
    cofferdam_test::play_end_to_end(any_provider(local().without_warning()), streams);
}

TEST(EndToEnd, and_does_the_same_in_a_sandbox_of_e2b) {
  const cofferdam_test::gateway_thread gateway(local().without_warning(),
                                               e2b_gateway::options().api_key("e2b_0123456789"));
  cofferdam_test::play_end_to_end(any_provider(e2b::from_template("base")
                                                   .variables_from(e2b::surroundings())
                                                   .api_key("e2b_0123456789")
                                                   .api_url(gateway.url())
                                                   .sandbox_url(gateway.url())),
                                  true);
}

TEST(EndToEnd, a_runner_of_e2b_is_made_by_its_name) {
  const cofferdam_test::gateway_thread gateway(local().without_warning(),
                                               e2b_gateway::options().api_key("e2b_0123456789"));
  code_result result;
  cofferdam_test::run([&]() -> awaitable<void> {
    auto recipe = make_runner("e2b", runner_options().e2b(e2b::from_template("base")
                                                              .variables_from(e2b::surroundings())
                                                              .api_key("e2b_0123456789")
                                                              .api_url(gateway.url())
                                                              .sandbox_url(gateway.url())));
    co_await with(std::move(recipe), [&](auto& runner) -> awaitable<void> {
      result = co_await runner.run_code(code_request("open('f', 'w').write('x')\n6 * 7"));
      EXPECT_TRUE(runner.has_environment());
      const std::vector<directory_entry> entries = co_await list_directory(runner.environment(), ".");
      EXPECT_EQ(entries.size(), 1U);
    });
  });
  EXPECT_EQ(result.value_text(), "42") << result.reason() << result.err().text();
  EXPECT_NE(result.isolation().of(isolation_kind::files).find("the service's sandbox"), std::string_view::npos);
}

TEST(EndToEnd, a_runner_of_docker_is_made_by_its_name_says_its_walls_and_hands_over_files) {
  COFFERDAM_NEEDS_DOCKER();
  code_result result;
  std::string text;
  cofferdam_test::run([&]() -> awaitable<void> {
    auto recipe = make_runner("docker", runner_options().docker(cofferdam_test::test_image("debian")));
    co_await with(std::move(recipe), [&](auto& runner) -> awaitable<void> {
      code_request request("import os\nsave('a/b.txt', 'of the container')\nos.path.exists('/.dockerenv')");
      request.prelude(
          "def save(path, text):\n    import os\n    os.makedirs(os.path.dirname(path))\n"
          "    open(path, 'w').write(text)\n");
      result = co_await runner.run_code(std::move(request));
      text = co_await read_text(runner.environment(), "a/b.txt", 100);
    });
  });
  EXPECT_EQ(result.value_text(), "True") << result.reason() << result.err().text();
  EXPECT_EQ(text, "of the container");
  EXPECT_NE(result.isolation().of(isolation_kind::host_death).find("the container ends with the connection"),
            std::string_view::npos);
  EXPECT_NE(result.isolation().of(isolation_kind::memory), "none");
  EXPECT_NE(result.isolation().of(isolation_kind::network), "none");
}

TEST(EndToEnd, what_the_memory_of_a_container_has_ended_is_told_apart_from_what_was_killed) {
  COFFERDAM_NEEDS_DOCKER();
  constexpr std::uint64_t limit = 96ULL * 1024 * 1024;
  std::vector<code_result> results;
  cofferdam_test::run([&]() -> awaitable<void> {
    auto recipe = make_runner("docker", runner_options().docker(cofferdam_test::test_image(
                                            "debian", docker::container_options().memory(limit))));
    co_await with(std::move(recipe), [&](auto& runner) -> awaitable<void> {
      for (const char* const code : {"print('greedy', flush=True)\nx = b'x' * (400 << 20)", "6 * 7",
                                     "import os\nos.kill(os.getpid(), 9)", "x = b'x' * (400 << 20)"}) {
        code_request request(code);
        if (results.size() == 3) request.context("c");
        code_result result = co_await runner.run_code(std::move(request));
        results.push_back(std::move(result));
      }
    });
  });
  ASSERT_EQ(results.size(), 4U);
  for (const std::size_t greedy : {0U, 3U}) {
    EXPECT_EQ(results[greedy].kind(), error_kind::out_of_memory) << results[greedy].reason();
    EXPECT_EQ(results[greedy].term_signal(), SIGKILL);
    EXPECT_FALSE(results[greedy].driver_restarted());
  }
  EXPECT_EQ(results[0].out().text(), "greedy\n");
  EXPECT_TRUE(results[3].context_lost());
  EXPECT_EQ(results[1].value_text(), "42") << results[1].reason();
  EXPECT_EQ(results[2].kind(), error_kind::none) << results[2].reason();
  EXPECT_EQ(results[2].term_signal(), SIGKILL);
}

// Pillow is not installed on a bare machine, so the test puts a replacement package of the same name into the
// workspace.
// Feature: G3
TEST(EndToEnd, an_image_that_is_too_large_is_made_smaller_by_a_command_in_the_environment) {
  tools::tool_result whole;
  tools::tool_result smaller;
  tools::tool_result broken;
  cofferdam_test::run([&]() -> awaitable<void> {
    co_await with(local().without_warning(), [&](auto& environment) -> awaitable<void> {
      co_await write_text(environment, "PIL/__init__.py", "");
      co_await write_text(environment, "PIL/Image.py", R"py(
import struct
class open:
    def __init__(self, file): self.head = file.read()[:24]; self.size = struct.unpack(">II", self.head[16:])
    def draft(self, mode, size): pass
    def thumbnail(self, most): self.size = tuple(side * min(most) // max(self.size) for side in self.size)
    def convert(self, mode): return self
    def save(self, out, kind): out.write(self.head[:16] + struct.pack(">II", *self.size))
)py");
      // The header declares 4000 x 8000 pixels.
      co_await write_text(environment, "-a b'.png",
                          std::string("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\x0F\xA0\0\0\x1F\x40", 24));
      tools::view_image tool(environment);
      boost::json::object arguments;
      arguments["path"] = "-a b'.png";
      boost::json::value plain = arguments;
      smaller = co_await tool.call(std::move(plain));
      tool.max_pixels(100'000'000);
      boost::json::value large = arguments;
      whole = co_await tool.call(std::move(large));
      co_await write_text(environment, "PIL/Image.py", "raise ValueError('no picture')");
      arguments["shrink"] = true;
      boost::json::value shrinking = arguments;
      broken = co_await tool.call(std::move(shrinking));
    });
  });
  EXPECT_EQ(whole.text(), "Image \"-a b'.png\": image/png, 4000 x 8000 pixels.");
  EXPECT_TRUE(broken.text().starts_with(
      "Error: \"-a b'.png\" could not be made smaller: \"ValueError: no picture\". Make a smaller copy"))
      << broken.text();
  EXPECT_EQ(smaller.text(), "Image \"-a b'.png\": image/png, 784 x 1568 pixels, made smaller.");
  EXPECT_EQ(smaller.images().size(), 1U);
}

TEST(EndToEnd, S41_what_a_model_wants_computed_is_computed_in_the_environment_and_a_sum_without_end_is_ended) {
  cofferdam_test::scripted_model_server server;
  // The code would escape from a sandbox inside a Python process: from any object, it reaches each loaded module. If
  // the library ran the code in this process, the code would find the environment variables of this process.
  server.call("run_python", cofferdam_test::json_of("code", R"py(
import os
found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "_wrap_close"][0].__init__.__globals__["sys"]
found.modules["os"].environ.get("COFFERDAM_S41_CANARY", "no canary"), os.getpid()
)py"));
  server.call("run_python", R"({"code":"9**9**9","timeout":0.5})");
  server.call("run_python", R"({"code":"6*7"})");
  server.call("finish", R"({"reason":"computed","paths":[]})");
  ::setenv("COFFERDAM_S41_CANARY", "tweet", 1);
  agent_result result;
  cofferdam_test::run([&]() -> awaitable<void> {
    co_await server.around([&]() -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      chat_completions_client client(
          executor, chat_completions_options("scripted").base_url(server.url()).api_key("k").max_retries(0));
      agent helper(client);
      co_await with(local().without_warning() | python(), [&](auto& runner) -> awaitable<void> {
        agent_session session(helper, runner.environment());
        session.tool(tools::run_python(runner));
        result = co_await session.run("What is 9**9**9?");
      });
      co_await client.close();
    });
  });
  ::unsetenv("COFFERDAM_S41_CANARY");
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.tools().at("run_python").calls, 3U);
  EXPECT_EQ(result.tools().at("run_python").failures, 1U);
  const boost::json::array& messages = server.requests.back().at("messages").as_array();
  ASSERT_GE(messages.size(), 8U);
  const auto answer = [&](std::size_t at) { return std::string(messages.at(at).at("content").as_string()); };
  EXPECT_NE(answer(3).find("no canary"), std::string::npos) << answer(3);
  EXPECT_EQ(answer(3).find(std::to_string(::getpid()) + ")"), std::string::npos) << answer(3);
  EXPECT_NE(answer(5).find("timeout"), std::string::npos) << answer(5);
  EXPECT_NE(answer(7).find("42"), std::string::npos) << answer(7);
}

}  // namespace
