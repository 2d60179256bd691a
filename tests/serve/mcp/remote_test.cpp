// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/mcp/remote.hpp>
#include <cofferdam/serve/mcp_client.hpp>
#include <cofferdam/serve/mcp_server.hpp>
#include <cofferdam/tools/function.hpp>

#include "llm/scripted_model.hpp"
#include "support/media_files.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcp_remote_test {

using namespace cofferdam;
using namespace std::string_literals;
using boost::json::object;
using cofferdam::detail::base64_encode;
using cofferdam_test::memory_environment;
using cofferdam_test::mp4_file;
using cofferdam_test::scripted_model;
using cofferdam_test::wav_file;

const std::string png = "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"s;

object file_block(const char* type, std::string_view file, const char* mime_type) {
  object block;
  block["type"] = type;
  block["data"] = base64_encode(as_bytes(file));
  block["mimeType"] = mime_type;
  return block;
}
object resource_block(std::string_view file, const char* mime_type) {
  object resource;
  resource["uri"] = "test://r";
  resource["mimeType"] = mime_type;
  resource["blob"] = base64_encode(as_bytes(file));
  object block;
  block["type"] = "resource";
  block["resource"] = std::move(resource);
  return block;
}
object text_block(const char* text) {
  object block;
  block["type"] = "text";
  block["text"] = text;
  return block;
}
mcp::remote_answer answer_with(boost::json::array blocks) {
  object json;
  json["content"] = std::move(blocks);
  return mcp::remote_answer(std::move(json));
}

TEST(RemoteAnswer, is_a_result_with_images_audio_video_and_data_for_a_model) {
  boost::json::array blocks{text_block("hello"), file_block("image", png, "image/png"),
                            file_block("audio", wav_file(), "audio/x-wav"), resource_block(mp4_file(), "video/mp4"),
                            resource_block("binary", "application/zip")};
  object json;
  json["content"] = std::move(blocks);
  json["structuredContent"] = object{{"n", 1}};
  const tools::tool_result result = mcp::remote_answer(json).result();
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.text(), "hello\n[image image/png]\n[audio audio/x-wav]\n[resource test://r]\n[resource test://r]");
  ASSERT_EQ(result.images().size(), 1U);
  EXPECT_EQ(as_text(result.images()[0].content()), png);
  ASSERT_EQ(result.media().size(), 2U);
  EXPECT_EQ(result.media()[0].mime_type(), "audio/wav");
  EXPECT_EQ(as_text(result.media()[0].content()), wav_file());
  EXPECT_EQ(result.media()[1].kind(), tools::media_kind::video);
  EXPECT_EQ(as_text(result.media()[1].content()), mp4_file());
  EXPECT_EQ(boost::json::serialize(result.data()), R"({"n":1})");
  json["isError"] = true;
  EXPECT_FALSE(mcp::remote_answer(json).result().ok());
}

TEST(RemoteAnswer, has_for_a_model_no_file_that_is_not_what_its_content_shows) {
  object broken = file_block("audio", wav_file(), "audio/wav");
  broken["data"] = "no base64!";
  const tools::tool_result result =
      answer_with({file_block("audio", "#!/bin/sh", "audio/wav"), file_block("image", "<svg/>", "image/svg+xml"),
                   file_block("audio", "fLaC\0\0\0\x22"s, "audio/\nflac"), broken,
                   file_block("audio", png, "audio/wav")})
          .result();
  EXPECT_TRUE(result.media().empty());
  ASSERT_EQ(result.images().size(), 1U) << "the image that was called audio";
  EXPECT_EQ(result.images()[0].mime_type(), "image/png");
  EXPECT_TRUE(
      result.text().ends_with("\n[audio/wav left out: it is broken, or of a format that models do not take]"
                              "\n[image/svg+xml left out: it is broken, or of a format that models do not take]"
                              "\n[audio/\\nflac left out: it is broken, or of a format that models do not take]"
                              "\n[audio/wav left out: it is broken, or of a format that models do not take]"))
      << result.text();
}

awaitable<tools::tool_media> sound() { co_return tools::tool_media::audio(to_bytes(wav_file()), "audio/wav"); }
awaitable<tools::tool_media> film() { co_return tools::tool_media::video(to_bytes(mp4_file()), "video/mp4"); }

/// Runs an agent with tools that call a tool of a server, and returns the second request to its model.
awaitable<chat_request> second_request(mcp::client& client) {
  const auto handler = [&client](std::string name) -> awaitable<tools::tool_result> {
    const mcp::remote_answer answer = co_await client.call(std::move(name), object());
    co_return answer.result();
  };
  scripted_model model;
  model.calls({{"remote", R"({"tool":"sound"})"}, {"remote", R"({"tool":"film"})"}});
  model.call("finish", R"({"reason":"r","paths":[]})");
  agent who(model, tools::function("remote", "Calls a tool.", tools::argument("tool", tools::text, ""), handler));
  memory_environment env;
  agent_session session(who, env);
  agent_result result = co_await session.run("listen");
  EXPECT_TRUE(result.finished());
  co_return model.asked().at(1);
}

// Feature: G6
TEST(RemoteAnswer, audio_and_video_of_a_server_go_to_the_model_of_an_agent) {
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    mcp::server_options options;
    options.without_token();
    mcp::server server(executor, std::move(options));
    server.add(tools::function("sound", "Sounds.", sound));
    server.add(tools::function("film", "Shows.", film));
    listener where = tcp_listener(executor, "127.0.0.1", 0);
    const std::string url = "http://127.0.0.1:" + std::to_string(where.port()) + "/mcp";
    asio::cancellation_signal stop;
    bool has_ended = false;
    const auto done = [&](const std::exception_ptr&) { has_ended = true; };
    cofferdam_test::spawn(executor, server.serve(std::move(where)), done, stop.slot());
    mcp::client client = co_await mcp::client::connect(url);
    const mcp::remote_answer heard = co_await client.call("sound", object());
    EXPECT_EQ(boost::json::serialize(heard.content()),
              "[" + boost::json::serialize(file_block("audio", wav_file(), "audio/wav")) + "]");
    const chat_request request = co_await second_request(client);
    co_await client.close();
    stop.emit(asio::cancellation_type::terminal);
    asio::steady_timer pause(executor);
    while (!has_ended) {
      pause.expires_after(std::chrono::milliseconds(1));
      co_await pause.async_wait(asio::use_awaitable);
    }
    const std::vector<chat_message>& messages = request.messages();
    EXPECT_EQ(messages.size(), 5U);
    if (messages.size() != 5) co_return;
    EXPECT_EQ(messages[3].parts().size(), 2U) << messages[3].text();
    EXPECT_TRUE(messages[3].parts().back().is_audio());
    EXPECT_EQ(as_text(messages[3].parts().back().content()), wav_file());
    EXPECT_TRUE(messages[4].parts().back().is_video()) << messages[4].text();
    EXPECT_EQ(as_text(messages[4].parts().back().content()), mp4_file());
  });
}

}  // namespace mcp_remote_test
