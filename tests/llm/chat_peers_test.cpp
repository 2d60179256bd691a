// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests the scripted service that these tests use in place of OpenAI's: OpenAI's own, unmodified clients must accept
// its replies. llm/peers.sh installs the clients into a folder, and COFFERDAM_OPENAI_PEERS names that folder.

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>

#include "llm/scripted_model_server.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam_test::scripted_answer;
using cofferdam_test::scripted_model_server;
using cofferdam_test::scripted_turn;

std::string openai_peers() {
  const char* const folder = std::getenv("COFFERDAM_OPENAI_PEERS");
  return folder == nullptr ? std::string() : std::string(folder);
}

scripted_answer text_answer(std::string text) {
  scripted_turn turn;
  turn.text = std::move(text);
  return turn.whole();
}

/// Fills the server with the turns that both scripts in llm/openai/ expect, in their order.
void write_peers_script(scripted_model_server& server) {
  scripted_turn polite;
  polite.text = "Grüße, ☺.";
  polite.reasoning = "Be polite.";
  for (int i = 0; i < 3; ++i) server.say(polite);
  scripted_turn both;
  both.calls = {{"call_a", "look", R"({"path":"ä b"})"}, {"call_b", "count", "{}"}};
  for (int i = 0; i < 2; ++i) server.say(both);
  server.script.push_back([](const boost::json::object& request) {
    const boost::json::object& last = request.at("messages").as_array().back().as_object();
    return text_answer(std::string(last.at("tool_call_id").as_string()) + ": " +
                       std::string(last.at("content").as_string()));
  });
  server.call("look", R"({"path": "cut)");
  server.script.push_back([](const boost::json::object& request) {
    const boost::json::array& parts = request.at("messages").as_array().back().as_object().at("content").as_array();
    return text_answer(std::string(parts.at(1).at("image_url").at("url").as_string()));
  });
  scripted_turn refused;
  refused.refusal = "I will not.";
  for (int i = 0; i < 2; ++i) server.say(refused);
  for (const int status : {429, 500}) {
    scripted_answer busy = scripted_answer::complaint(status, "not now");
    busy.fields.emplace_back("Retry-After-Ms", "1");
    server.say(busy);
    server.say("after " + std::to_string(status));
  }
  server.say(
      scripted_answer::complaint(400, "This model's maximum context length is 10 tokens.", "context_length_exceeded"));
  server.say(scripted_answer::complaint(401, "Incorrect API key provided.", "invalid_api_key"));
  scripted_turn cut;
  cut.text = "and so";
  cut.finish = "length";
  server.say(cut);
  scripted_turn half;
  half.text = "half";
  scripted_answer torn = half.streamed();
  torn.body.resize(torn.body.find(": keep-alive"));
  torn.torn = true;
  server.say(torn);
  scripted_answer complaining;
  complaining.type = "text/event-stream";
  complaining.body = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\",\"code\":null}}\n\n";
  server.say(complaining);
  scripted_answer wrong;
  wrong.body = R"({"id":"chatcmpl-1","object":"chat.completion","created":"yesterday","model":"m","choices":7})";
  server.say(wrong);
}

/// Runs a client against the script. Expects `count` successful checks, and `left` unused turns.
void play_to_peer(std::vector<std::string> words, std::size_t count, std::size_t left) {
  scripted_model_server server;
  write_peers_script(server);
  std::string output;
  cofferdam_test::run([&]() -> awaitable<void> {
    co_await server.around([&]() -> awaitable<void> {
      words.push_back(server.url());
      co_await with(local().without_warning(), [&](auto& environment) -> awaitable<void> {
        command line = argv(words);
        line.timeout(std::chrono::seconds(100));
        const command_result result = co_await environment.run_command(std::move(line));
        output = result.out().text() + result.err().text() + result.reason();
      });
    });
  });
  std::size_t good = 0;
  std::string last;
  for (std::string_view rest = output; !rest.empty();) {
    const std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("ok ")) {
      ++good;
    } else {
      EXPECT_EQ(line, "all passed");
    }
    last = line;
  }
  EXPECT_EQ(good, count) << output;
  EXPECT_EQ(last, "all passed");
  EXPECT_EQ(server.script.size(), left);
}

std::string peer_script(const std::string& name) { return cofferdam_test::source_path("tests/llm/openai/" + name); }

TEST(OpenAiPeers, the_official_javascript_client_understands_the_scripted_service) {
  COFFERDAM_NEEDS("openai-peers", !openai_peers().empty(), "that the scripted service is what OpenAI's clients know");
  play_to_peer({openai_peers() + "/node", peer_script("client_test.mjs"), openai_peers() + "/js"}, 17, 1);
}

TEST(OpenAiPeers, the_official_python_client_understands_the_scripted_service_and_finds_its_answers_well_formed) {
  COFFERDAM_NEEDS("openai-peers", !openai_peers().empty(), "that the scripted service is what OpenAI's clients know");
  play_to_peer({openai_peers() + "/python/bin/python", peer_script("client_test.py")}, 18, 0);
}

}  // namespace
