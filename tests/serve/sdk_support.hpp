// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Runs E2B's official SDKs, unmodified, against the gateway. serve/sdk/peers.sh installs the SDKs into a folder, and
// COFFERDAM_E2B_PEERS names that folder.

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run_shell.hpp"
#include "support/spawn.hpp"

#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// Returns the folder with the SDKs; empty if they are not installed.
inline std::string sdk_peers() {
  const char* const folder = std::getenv("COFFERDAM_E2B_PEERS");
  return folder == nullptr ? std::string() : std::string(folder);
}

/// Runs a script against a gateway of its own, and expects `least` checks, all of them good.
/// \param words   the program that runs the script, and its arguments, as a shell line.
/// \param places  the recipe of its sandboxes.
inline void run_sdk_script(const std::string& words, std::size_t least, cofferdam::e2b_gateway::options options,
                           const cofferdam::any_provider& places) {
  constexpr std::string_view key = "e2b_00112233445566778899aabbccddeeff00112233";
  asio::io_context context(1);
  cofferdam::e2b_gateway::server gateway(context.get_executor(), places, options.api_key(std::string(key)));
  cofferdam::listener where = cofferdam::tcp_listener(context.get_executor(), "127.0.0.1", 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(where.port());
  std::exception_ptr failure;
  const auto ended = [&](std::exception_ptr why) { failure = std::move(why); };
  cofferdam_test::spawn(context, gateway.serve(std::move(where)), ended);
  std::thread serving([&] { context.run(); });
  const shell_result run = run_shell("env -u E2B_DOMAIN -u E2B_DEBUG E2B_API_URL=" + url + " E2B_SANDBOX_URL=" + url +
                                     " E2B_API_KEY=" + std::string(key) + " timeout 300 " + words);
  const std::vector<std::string> lines = lines_of(run.output);
  cofferdam_test::spawn(context, gateway.stop(), [](std::exception_ptr) {});
  serving.join();
  std::size_t good = 0;
  for (const std::string& line : lines) {
    const bool is_good = line.starts_with("ok ");
    if (is_good) ++good;
    EXPECT_TRUE(is_good || line == "all passed") << line;
  }
  EXPECT_GE(good, least);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "all passed");
  if (failure) std::rethrow_exception(failure);
}

/// Returns the path of a script in serve/sdk.
inline std::string sdk_script(const std::string& name) { return source_path("tests/serve/sdk/" + name); }

}  // namespace cofferdam_test
