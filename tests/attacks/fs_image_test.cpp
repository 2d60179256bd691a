// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/tools/view_image.hpp>

#include "support/run.hpp"

#include <boost/json/object.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace cofferdam;
using namespace std::string_literals;
using cofferdam_test::run;

/// Runs the command `making` in a new environment, calls the tool `view_image` for `path`, and returns its result.
/// `time`, if given, becomes the duration of the call.
tools::tool_result look(std::string making, std::string path, std::chrono::steady_clock::duration* time = nullptr) {
  tools::tool_result result;
  run([&]() -> awaitable<void> {
    const any_provider provider{local().without_warning()};
    co_await with(provider, [&](any_environment& env) -> awaitable<void> {
      command_result creation = co_await env.run_command(shell(making));
      EXPECT_TRUE(creation.ok()) << creation.err().text();
      tools::view_image tool(env);
      boost::json::object arguments;
      arguments["path"] = path;
      boost::json::value given(std::move(arguments));
      const auto start = std::chrono::steady_clock::now();
      result = co_await tool.call(std::move(given));
      if (time != nullptr) *time = std::chrono::steady_clock::now() - start;
    });
  });
  return result;
}

constexpr const char* small =
    R"(printf '\211PNG\r\n\032\n\000\000\000\rIHDR\000\000\000\002\000\000\000\003\010\000\000\000\000' > )";

TEST(Attack, FS_21_images_that_are_bombs_or_lies_are_answered_at_once_and_never_decoded) {
  // Control: a valid image is accepted.
  const tools::tool_result honest = look(std::string(small) + "a.png", "a.png");
  EXPECT_TRUE(honest.ok()) << honest.text();
  EXPECT_EQ(honest.images().size(), 1U);

  class attack {
   public:
    const char* name;
    std::string making;
    std::string path;
    const char* wanted;
  };
  const attack attacks[] = {
      {"50,000 x 50,000 pixels",
       R"(printf '\211PNG\r\n\032\n\000\000\000\rIHDR\000\000\303\120\000\000\303\120\010\000\000\000\000' > a.png)",
       "a.png", "50000 x 50000 pixels"},
      {"SVG", "echo '<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"><script/></svg>' > a.png",
       "a.png", "SVG"},
      {"polyglot", "printf 'GIF8;alert(1)//' > a.gif; echo '<html>' >> a.gif", "a.gif", "not a png, jpeg, gif or webp"},
      {"wrong suffix", "echo '#!/bin/sh' > a.jpg", "a.jpg", "not a png, jpeg, gif or webp"},
      {"truncated", R"(printf '\211PNG\r\n\032\n' > a.png)", "a.png", "cut-off"},
      {"link out of the workspace", "ln -s /etc/passwd a.png", "a.png", "Error: "},
      {"1 GiB", "truncate -s 1G a.png", "a.png", "1073741824 bytes"},
      {"FIFO", "mkfifo a.png", "a.png", "not a regular file"},
      {"directory", "mkdir a.png", "a.png", "directory"},
      {"not there", "true", "a.png", "Error: "},
      {"TIFF", R"(printf 'II*\000\010\000\000\000' > a.tiff)", "a.tiff", "convert it to PNG"},
      {"unreadable", "touch a.png; chmod 0 a.png", "a.png", "Error: "}};
  for (const attack& each : attacks) {
    std::chrono::steady_clock::duration time{};
    const tools::tool_result result = look(each.making, each.path, &time);
    EXPECT_FALSE(result.ok()) << each.name;
    EXPECT_TRUE(result.images().empty()) << each.name;
    EXPECT_NE(result.text().find(each.wanted), std::string::npos) << each.name << ": " << result.text();
    EXPECT_LT(result.text().size(), 1000U) << each.name << ": the file's content is no part of the answer";
    // The tool is meant to answer within 200 ms. The test allows 5 s, because the machine may be busy.
    EXPECT_LT(time, std::chrono::seconds(5)) << each.name;
  }
}

}  // namespace
