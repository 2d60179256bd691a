// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#pragma once

// A test of everything together, over a socket: a scripted service, the client, the agent loop, the tools, and commands
// in an environment.

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/llm/chat_completions_client.hpp>

#include "llm/scripted_model_server.hpp"
#include "support/paths.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam_test {

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline constexpr const char* chart_program = R"py(
import collections, csv, struct, zlib
years = collections.defaultdict(list)
for row in csv.DictReader(open("mauna_loa_co2.csv")):
    if row["co2"]:
        years[int(row["date"][:4])].append(float(row["co2"]))
means = {y: sum(v) / len(v) for y, v in sorted(years.items()) if len(v) > 40}
width, height = 4 * len(means), 60
low, high = min(means.values()), max(means.values())
rows = [bytearray(b"\xff" * width) for _ in range(height)]
for i, mean in enumerate(means.values()):
    for y in range(height - 1 - round((mean - low) / (high - low) * (height - 2)), height):
        for x in range(4 * i, 4 * i + 3):
            rows[y][x] = 0
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
raw = b"".join(b"\0" + bytes(row) for row in rows)
with open("chart.png", "wb") as out:
    out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
              + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))
with open("report.md", "w") as out:
    out.write(f"CO2 rose from {low:.1f} to {high:.1f} ppm in {len(means)} years.\n")
print("charted", len(means), "years", flush=True)
)py";

inline std::string json_of(const char* key, const std::string& value, const char* key2 = nullptr,
                           const std::string& value2 = "") {
  boost::json::object result;
  result[key] = value;
  if (key2 != nullptr) result[key2] = value2;
  return boost::json::serialize(result);
}

/// Fills the server with the replies of the test. Among them are the faults that the client must survive.
inline void write_script(scripted_model_server& server) {
  scripted_answer busy = scripted_answer::complaint(429, "slow down");
  busy.fields.emplace_back("Retry-After-Ms", "1");
  server.say(busy);
  server.call("code_exec", R"({"cmd": "head -n 3 mauna_loa_co2.csv)");  // incomplete JSON, as from a cut reply
  server.say(scripted_answer::complaint(500, "oops"));
  scripted_turn both;
  both.text = "Two looks at once.";
  both.calls = {{"call_x", "list_files", "{}"}, {"call_y", "read_file", R"({"path":"mauna_loa_co2.csv","limit":3})"}};
  server.say(both);
  server.call("write_file", json_of("path", "plot.py", "content", chart_program));
  scripted_answer nothing;
  nothing.type = "text/event-stream";
  nothing.body = ": keep-alive\n\n";
  nothing.torn = true;
  server.say(nothing);
  server.call("code_exec", R"({"cmd":"python3 plot.py","timeout":60})");
  server.call("view_image", R"({"path":"chart.png"})");
  server.call("finish", R"({"reason":"charted","paths":["chart.png","report.md","missing.txt"]})");
  server.call("finish", R"({"reason":"charted","paths":["chart.png","report.md"]})");
}

/// Runs the script with an environment of `provider`, and checks the result, the files and the requests.
inline void play_end_to_end(const cofferdam::any_provider& provider, bool streams) {
  using namespace cofferdam;
  const temporary_folder folder;
  scripted_model_server server;
  write_script(server);
  agent_result result;
  std::string chart;
  std::string spoken;
  std::string printed;
  run([&]() -> awaitable<void> {
    co_await server.around([&]() -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      chat_completions_client client(executor, chat_completions_options("scripted")
                                                   .base_url(server.url())
                                                   .api_key("k")
                                                   .retry_pause(std::chrono::milliseconds(1)));
      agent helper(client);
      co_await with(provider, [&](any_environment& env) -> awaitable<void> {
        agent_session session(helper, env);
        session.input_files(files(source_path("examples/data/mauna_loa_co2.csv"))).output_dir(folder.path() / "out");
        if (streams)
          session.on_event([&](const agent_event& what) {
            if (what.kind() == agent_event_kind::text) spoken += what.text();
            if (what.kind() == agent_event_kind::tool_output) printed += what.text();
          });
        result = co_await session.run("Chart the CO2 of the years.");
        const bytes content = co_await env.read_file("chart.png", 1'000'000);
        chart = cofferdam::as_text(content);
      });
      co_await client.close();
    });
  });
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.turns(), 7U);
  EXPECT_EQ(result.reason(), "charted");
  EXPECT_TRUE(result.saved().ok());
  EXPECT_EQ(result.saved().files().size(), 2U);
  ASSERT_FALSE(chart.empty());
  EXPECT_EQ(content_of(folder.path() / "out/chart.png"), chart);
  EXPECT_NE(content_of(folder.path() / "out/report.md").find("CO2 rose from"), std::string::npos);
  EXPECT_EQ(spoken, streams ? "Two looks at once." : "");
  EXPECT_EQ(printed.find("charted") != std::string::npos, streams) << printed;
  // A user message contains the picture itself.
  const std::string shown = boost::json::serialize(server.requests.at(server.requests.size() - 2).at("messages"));
  EXPECT_NE(shown.find("data:image/png;base64,iVBORw0KGgo"), std::string::npos);
  const std::string last = boost::json::serialize(server.requests.back().at("messages"));
  EXPECT_NE(last.find("does not exist"), std::string::npos);
  EXPECT_TRUE(server.script.empty());
}

}  // namespace cofferdam_test
