// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/warning.hpp>
#include <cofferdam/llm/agent_session.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/code_exec.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/view_media.hpp>

#include "llm/scripted_model.hpp"
#include "support/error_of.hpp"
#include "support/media_files.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam_test::memory_environment;
using cofferdam_test::run;
using cofferdam_test::scripted_model;

constexpr const char* done = R"({"reason":"done","paths":[]})";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

agent_result work(scripted_model model, memory_environment env, std::string task = "do it") {
  return run([&]() -> awaitable<agent_result> {
    agent_session session(agent(model), env);
    agent_result result = co_await session.run(task);
    co_return result;
  });
}

/// A tool whose name, behaviour and `reads_only` the test chooses.
class odd_tool {
 public:
  using action = std::function<tools::tool_result()>;
  odd_tool(std::string name, action act, bool reads = false)
      : name_(std::move(name)), act_(std::move(act)), reads_(reads) {}
  std::string_view name() const { return name_; }
  std::string_view description() const { return "odd"; }
  boost::json::object parameters() const { return {}; }
  bool reads_only() const { return reads_; }
  awaitable<tools::tool_result> call(boost::json::value) { co_return act_(); }

 private:
  std::string name_;
  action act_;
  bool reads_;
};

// Feature: I6, I8, I9
TEST(Session, works_through_calls_to_the_end) {
  scripted_model model;
  memory_environment env;
  env.all().runs = [](const command&) {
    captured_output out(to_bytes("hello\n"), {}, 6);
    return command_result::exited(0).out(std::move(out));
  };
  model.call("code_exec", R"({"cmd":"echo hello"})").call("write_file", R"({"path":"a/b.txt","content":"text"})");
  model.call("finish", R"({"reason":"all done","paths":["a/b.txt"]})");
  const agent_result result = work(model, env);
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.reason(), "all done");
  EXPECT_EQ(result.turns(), 3U);
  EXPECT_EQ(result.usage().total(), 45U);
  EXPECT_EQ(result.tools().at("code_exec").calls, 1U);
  EXPECT_GT(result.tools().at("code_exec").time.count(), 0);
  EXPECT_GT(result.model_time().count(), 0);
  EXPECT_EQ(env.text("a/b.txt"), "text");
  ASSERT_EQ(model.asked().size(), 3U);
  EXPECT_EQ(model.asked()[0].messages().size(), 2U);
  EXPECT_EQ(model.asked()[0].tools().size(), 6U);
  EXPECT_NE(model.told(1).find("<stdout>hello\n</stdout>"), std::string::npos) << model.told(1);
}

// Feature: E8, F1, F11, H5
TEST(Session, files_go_in_and_finished_ones_come_out_byte_for_byte) {
  const cofferdam_test::temporary_folder folder;
  std::ofstream(folder.path() / "in.csv") << "a,b\n";
  scripted_model model;
  memory_environment env;
  const std::string content("\0\xff binary\r\n", 11);
  model.call("write_file", R"({"path":"out/x.bin","content":"AP8gYmluYXJ5DQo=","encoding":"base64"})");
  model.call("finish", R"({"reason":"r","paths":["out/x.bin"]})");
  agent_result result;
  std::vector<std::string> saved;
  run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    session.input_files(files((folder.path() / "in.csv").string())).output_dir(folder.path() / "result");
    session.on_event([&](const agent_event& what) {
      if (what.kind() == agent_event_kind::saved) saved.emplace_back(what.name());
    });
    result = co_await session.run("look");
  });
  EXPECT_EQ(env.text("in.csv"), "a,b\n");
  EXPECT_NE(model.told(0).find("- in.csv"), std::string::npos) << model.told(0);
  EXPECT_EQ(read(folder.path() / "result/out/x.bin"), content);
  EXPECT_EQ(saved, std::vector<std::string>{"out/x.bin"});
  EXPECT_TRUE(result.saved().ok());
}

// Feature: H19, I11
TEST(Session, finishing_with_files_and_no_output_folder_is_one_warning) {
  static std::vector<std::string> warnings;
  warnings.clear();
  const warning_handler before =
      set_warning_handler([](std::string_view sentence) { warnings.emplace_back(sentence); });
  scripted_model model;
  memory_environment env;
  model.call("write_file", R"({"path":"a.txt","content":"x"})").call("write_file", R"({"path":"b.txt","content":"x"})");
  model.call("finish", R"({"reason":"r","paths":["a.txt","b.txt"]})");
  const agent_result result = work(model, env);
  scripted_model other;
  other.call("finish", done);
  work(other, env);
  set_warning_handler(before);
  EXPECT_TRUE(result.finished());
  ASSERT_EQ(warnings.size(), 1U) << "none where there are no files";
  EXPECT_NE(warnings[0].find("2 files (the first is \"a.txt\")"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("output_dir()"), std::string::npos) << warnings[0];
}

TEST(Session, S35_S42_a_command_that_fails_counts_as_failed_and_has_the_time_that_the_model_gave_it) {
  scripted_model model;
  memory_environment env;
  env.all().runs = [](const command&) { return command_result::exited(3); };
  model.call("code_exec", R"({"cmd":"false","timeout":0.5})").call("finish", done);
  bool success = true;
  agent_result result;
  run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    session.on_event([&](const agent_event& what) {
      if (what.kind() == agent_event_kind::tool_ended && what.name() == "code_exec") success = what.ok();
    });
    result = co_await session.run("x");
  });
  EXPECT_FALSE(success);
  EXPECT_EQ(result.tools().at("code_exec").failures, 1U);
  EXPECT_EQ(env.all().commands.at(0).timeout(), std::chrono::milliseconds(500));
}

// Feature: H3
TEST(Session, S36_finish_with_paths_that_are_no_files_is_answered_and_the_run_goes_on) {
  for (const std::string path : {"/etc/passwd", "../x", "missing.txt", "dir", "link", "fifo", ""}) {
    scripted_model model;
    memory_environment env;
    env.all().others["dir"] = file_type::directory;
    env.all().others["link"] = file_type::symlink;
    env.all().others["fifo"] = file_type::other;
    model.call("finish", R"({"reason":"r","paths":[")" + path + R"("]})").call("finish", done);
    const agent_result result = work(model, env);
    EXPECT_TRUE(result.finished());
    EXPECT_EQ(result.turns(), 2U);
    EXPECT_TRUE(model.told(1).starts_with("Error: the task is not finished")) << model.told(1);
  }
}

TEST(Session, S36_a_tool_that_throws_anything_is_an_answer) {
  const odd_tool::action actions[] = {[]() -> tools::tool_result { throw std::runtime_error("broken pipe"); },
                                      []() -> tools::tool_result { throw error(exec_errc::unsupported, "cannot"); },
                                      []() -> tools::tool_result { throw error(exec_errc::cancelled, "not ours"); },
                                      []() -> tools::tool_result { throw 7; }};
  for (const odd_tool::action& act : actions) {
    scripted_model model;
    memory_environment env;
    model.call("odd", "{}").call("finish", done);
    agent_result result;
    run([&]() -> awaitable<void> {
      agent_session session(agent(model), env);
      session.tool(odd_tool("odd", act));
      result = co_await session.run("x");
    });
    EXPECT_TRUE(result.finished());
    EXPECT_TRUE(model.told(1).starts_with("Error: ")) << model.told(1);
    EXPECT_EQ(result.tools().at("odd").failures, 1U);
  }
}

TEST(Session, the_error_of_a_tool_reaches_the_model_without_misleading_characters) {
  scripted_model model;
  memory_environment env;
  model.call("odd", "{}").call("wrapped", "{}").call("finish", done);
  const odd_tool::action act = []() -> tools::tool_result {
    throw error(exec_errc::not_found, "no file 'a\x01\x1b[2J\u202eb'\nlook again");
  };
  const auto wrapped = [&act]() -> awaitable<std::string> { co_return act().text(); };
  run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    session.tool(odd_tool("odd", act));
    session.tool(tools::function("wrapped", "", wrapped));
    co_await session.run("x");
  });
  EXPECT_EQ(model.told(1), "Error: no file 'a\\x01\\u202eb'\nlook again");
  EXPECT_EQ(model.told(2), model.told(1));
}

// Feature: H7
TEST(Session, unknown_tools_and_arguments_that_are_no_json_are_answers) {
  std::string many = "{\"0\":0";
  for (int i = 1; i <= 1000; ++i) many += ",\"" + std::to_string(i) + "\":0";
  many += "}";
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"code_exe", "{}"}, "unknown tool 'code_exe'. Available tools: code_exec, read_file"},
      {{"code_exec", R"({"cmd": "ls)"}, "not valid JSON (the text ends too early)"},
      {{"code_exec", "{\n\"cmd\": ls}"}, "not valid JSON (line 2 column 8)"},
      {{"code_exec", R"({"cmd":"ls"} x)"}, "not valid JSON (line 1 column 14)"},
      {{"code_exec", many.c_str()}, "not valid JSON (an object has more than 1000 members)"},
      {{"code_exec", "[1]"}, "not an object"},
      {{"read_file", R"({"pth":"x","limit":"y"})"},
       "'path' is missing and must be a string; 'limit' must be an integer, not the string \"y\"; unknown argument "
       "'pth'"}};
  for (const auto& [call, expected] : cases) {
    scripted_model model;
    memory_environment env;
    model.call(call.first, call.second).call("finish", done);
    EXPECT_TRUE(work(model, env).finished());
    EXPECT_NE(model.told(1).find(expected), std::string::npos) << model.told(1);
    const chat_message& kept = model.asked()[1].messages()[2];
    EXPECT_TRUE(boost::json::parse(kept.tool_calls().at(0).arguments()).is_object())
        << "services refuse a history without";
  }
}

TEST(Session, arguments_in_a_fence_or_in_a_string_are_understood) {
  for (const std::string arguments :
       {"```json\n{\"path\":\"f\",\"content\":\"x\"}\n```", R"("{\"path\":\"f\",\"content\":\"x\"}")"}) {
    scripted_model model;
    memory_environment env;
    model.call("write_file", arguments).call("finish", done);
    work(model, env);
    EXPECT_EQ(env.text("f"), "x");
  }
}

// Feature: H4
TEST(Session, several_calls_that_end_the_work_are_refused_and_ordinary_ones_come_first) {
  scripted_model model;
  memory_environment env;
  model.calls({{"finish", done}, {"finish", done}, {"write_file", R"({"path":"f","content":"x"})"}});
  model.calls(
      {{"finish", R"({"reason":"r","paths":["late.txt"]})"}, {"write_file", R"({"path":"late.txt","content":"x"})"}});
  const agent_result result = work(model, env);
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.turns(), 2U);
  EXPECT_EQ(env.text("f"), "x");
  const std::vector<chat_message>& messages = model.asked()[1].messages();
  EXPECT_NE(messages[3].text().find("2 calls in this turn"), std::string::npos);
  EXPECT_NE(messages[4].text().find("2 calls in this turn"), std::string::npos);
  EXPECT_EQ(messages[3].call_id(), "c0");
}

// Feature: H6
TEST(Session, the_model_is_warned_and_then_stopped) {
  scripted_model model;
  memory_environment env;
  for (int i = 0; i < 10; ++i) model.call("list_files", "{}");
  agent_result result;
  run([&]() -> awaitable<void> {
    agent who(model);
    who.max_turns(4).warn_from(2);
    agent_session session(who, env);
    result = co_await session.run("x");
  });
  EXPECT_EQ(result.end(), agent_end::max_turns);
  EXPECT_EQ(model.asked().size(), 4U);
  EXPECT_EQ(model.told(1), "The directory is empty.\n");
  EXPECT_NE(model.told(2).find("You have 2 turns left"), std::string::npos);
  EXPECT_NE(model.told(3).find("last turn"), std::string::npos);
}

// Feature: H8
TEST(Session, a_model_that_only_talks_is_asked_to_go_on_and_then_left) {
  scripted_model model;
  memory_environment env;
  model.say("Well.").say("I think.").say("So.");
  const agent_result result = work(model, env);
  EXPECT_EQ(result.end(), agent_end::no_calls);
  EXPECT_EQ(result.reason(), "So.");
  EXPECT_NE(model.told(1).find("Continue the task"), std::string::npos);
}

TEST(Session, text_is_an_end_where_the_agent_says_so) {
  scripted_model model;
  memory_environment env;
  model.say("42");
  agent_result result;
  run([&]() -> awaitable<void> {
    agent who(model);
    who.text_is_finish();
    agent_session session(who, env);
    result = co_await session.run("x");
  });
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.reason(), "42");
}

// Feature: H18
TEST(Session, a_call_that_reaches_no_tool_is_an_event_and_counts_as_failed) {
  scripted_model model;
  memory_environment env;
  model.calls({{"code_exe", "{}"}, {"list_files", "{"}, {"list_files", "{}"}})
      .calls({{"finish", done}, {"finish", done}});
  model.call("finish", done);
  std::string text;
  agent_result result;
  run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    session.on_event([&](const agent_event& what) {
      if (what.kind() == agent_event_kind::tool_begun) text += std::string(what.name()) + " ";
      if (what.kind() == agent_event_kind::tool_ended) text += what.ok() ? "ok, " : "failed, ";
    });
    result = co_await session.run("x");
  });
  EXPECT_EQ(text, "code_exe failed, list_files failed, list_files ok, finish failed, finish failed, finish ok, ");
  EXPECT_EQ(result.tools().at("list_files").calls, 2U);
  EXPECT_EQ(result.tools().at("list_files").failures, 1U);
  EXPECT_EQ(result.tools().at("finish").failures, 2U);
  EXPECT_EQ(result.tools().count("code_exe"), 0U);
}

TEST(Session, the_same_mistake_again_and_again_ends_the_run) {
  for (const char* const arguments : {"{", "{}", R"({"cmd":1})", R"({"cmd":"ls","wait":true})"}) {
    scripted_model model;
    memory_environment env;
    for (int i = 0; i < 9; ++i) model.call("code_exec", arguments);
    const agent_result result = work(model, env);
    EXPECT_EQ(result.end(), agent_end::same_mistake) << arguments;
    EXPECT_EQ(result.turns(), 5U) << arguments;
  }
  scripted_model model;
  memory_environment env;
  for (int i = 0; i < 9; ++i) model.call("code_exec", "{");
  const agent_result result = work(model, env);
  EXPECT_EQ(result.end(), agent_end::same_mistake);
  EXPECT_EQ(result.turns(), 5U);
  EXPECT_NE(model.told(3).find("the same invalid call 3 times"), std::string::npos);
}

// Feature: G1
TEST(Session, images_go_to_the_model) {
  scripted_model model;
  memory_environment env;
  env.all().files["p.png"] = to_bytes(std::string_view("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03", 24));
  model.call("view_image", R"({"path":"p.png"})").call("finish", done);
  work(model, env);
  const chat_message& answer = model.asked()[1].messages().back();
  ASSERT_EQ(answer.parts().size(), 2U);
  EXPECT_NE(answer.text().find("2 x 3 pixels"), std::string::npos);
  EXPECT_EQ(answer.parts()[1].mime_type(), "image/png");
  EXPECT_EQ(answer.parts()[1].content().size(), 24U);
}

// Feature: G6
TEST(Session, audio_and_video_go_to_the_model_and_stay_in_a_saved_conversation) {
  scripted_model model;
  memory_environment env;
  env.all().files["a"] = to_bytes(cofferdam_test::wav_file());
  env.all().files["v"] = to_bytes(cofferdam_test::mp4_file());
  model.calls({{"view_media", R"({"path":"a"})"}, {"view_media", R"({"path":"v"})"}}).call("finish", done);
  agent who(model);
  who.tool([](any_environment& inside) { return tools::view_media(inside); });
  std::string saved;
  run([&]() -> awaitable<void> {
    agent_session session(who, env);
    agent_result result = co_await session.run("listen");
    EXPECT_TRUE(result.finished());
    saved = boost::json::serialize(session.save());
  });
  model.call("finish", done);
  run([&]() -> awaitable<void> {
    agent_session session(who, env);
    session.resume(boost::json::parse(saved));
    EXPECT_EQ(boost::json::serialize(session.save()), saved);
    agent_result result = co_await session.run("again");
    EXPECT_TRUE(result.finished());
  });
  for (const std::size_t request : {1U, 2U}) {
    const std::vector<chat_message>& messages = model.asked()[request].messages();
    ASSERT_GT(messages.size(), 4U);
    ASSERT_EQ(messages[3].parts().size(), 2U) << messages[3].text();
    ASSERT_EQ(messages[4].parts().size(), 2U) << messages[4].text();
    const chat_part& audio = messages[3].parts()[1];
    const chat_part& video = messages[4].parts()[1];
    EXPECT_TRUE(audio.is_audio() && !audio.is_image() && !audio.is_text());
    EXPECT_EQ(audio.mime_type(), "audio/wav");
    EXPECT_EQ(as_text(audio.content()), cofferdam_test::wav_file());
    EXPECT_TRUE(video.is_video());
    EXPECT_EQ(video.mime_type(), "video/mp4");
    EXPECT_EQ(as_text(video.content()), cofferdam_test::mp4_file());
  }
}

TEST(Session, audio_and_video_of_one_turn_have_a_limit_but_the_first_file_has_none) {
  for (const std::size_t megabytes : {5U, 15U}) {
    scripted_model model;
    memory_environment env;
    env.all().files["a"] = to_bytes(cofferdam_test::wav_file(std::string(megabytes << 20U, 'x')));
    model.calls(std::vector<std::pair<std::string, std::string>>(4, {"view_media", R"({"path":"a"})"}));
    model.call("finish", done);
    agent who(model);
    who.tool([](any_environment& inside) { return tools::view_media(inside).max_bytes(std::size_t{20} << 20U); });
    run([&]() -> awaitable<void> {
      agent_session session(who, env);
      agent_result result = co_await session.run("listen");
      EXPECT_TRUE(result.finished());
    });
    std::size_t heard = 0;
    for (const chat_message& each : model.asked()[1].messages())
      for (const chat_part& part : each.parts()) heard += part.is_audio() ? 1 : 0;
    EXPECT_EQ(heard, megabytes == 5 ? 2U : 1U);
    EXPECT_NE(model.told(1).find("[audio left out: the limit is 14680064 bytes"), std::string::npos) << model.told(1);
  }
}

TEST(Session, a_model_that_wants_to_see_everything_sees_eight_images_a_turn) {
  scripted_model model;
  memory_environment env;
  env.all().files["p.png"] = to_bytes(std::string_view("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03", 24));
  model.calls(std::vector<std::pair<std::string, std::string>>(20, {"view_image", R"({"path":"p.png"})"}));
  model.call("finish", done);
  work(model, env);
  std::size_t images = 0;
  for (const chat_message& each : model.asked()[1].messages())
    for (const chat_part& part : each.parts()) images += part.is_image() ? 1 : 0;
  EXPECT_EQ(images, 8U);
  EXPECT_NE(model.told(1).find("[image left out"), std::string::npos);
}

TEST(Session, calls_that_only_read_run_at_once_and_others_one_after_another) {
  for (const bool reads : {true, false}) {
    scripted_model model;
    memory_environment env;
    int running = 0;
    int max_seen = 0;
    class slow {
     public:
      slow(int& running, int& max_running, bool reads) : running_(&running), most_(&max_running), reads_(reads) {}
      std::string_view name() const { return "slow"; }
      std::string_view description() const { return ""; }
      boost::json::object parameters() const { return {}; }
      bool reads_only() const { return reads_; }
      awaitable<tools::tool_result> call(boost::json::value arguments) {
        *most_ = std::max(*most_, ++*running_);
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        for (int i = 0; i < 5; ++i) co_await asio::post(executor, asio::use_awaitable);
        --*running_;
        co_return tools::tool_result(boost::json::serialize(arguments), true);
      }

     private:
      int* running_;
      int* most_;
      bool reads_;
    };
    model.calls({{"slow", R"({"n":1})"}, {"slow", R"({"n":2})"}, {"slow", R"({"n":3})"}}).call("finish", done);
    run([&]() -> awaitable<void> {
      agent_session session(agent(model), env);
      session.tool(slow(running, max_seen, reads));
      co_await session.run("x");
    });
    EXPECT_EQ(max_seen, reads ? 3 : 1);
    EXPECT_EQ(model.told(1), R"({"n":3})") << "answers stand in the calls' order";
  }
}

// Feature: H10
TEST(Session, a_conversation_that_is_too_long_is_shortened_step_by_step) {
  scripted_model model;
  memory_environment env;
  env.all().files["big"] = to_bytes(std::string(3000, 'x'));
  for (int i = 0; i < 5; ++i) model.call("read_file", R"({"path":"big"})");
  model.fail(chat_errc::context_overflow);  // the agent session cuts old tool results
  model.fail(chat_errc::context_overflow);  // there are no images to remove, so the session requests a summary
  model.fail(chat_errc::context_overflow);  // ... and the request for the summary is too long as well
  model.say("The summary.").call("finish", done);
  std::vector<std::string> steps;
  agent_result result;
  run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    session.on_event([&](const agent_event& what) {
      if (what.kind() == agent_event_kind::shortened) steps.emplace_back(what.text());
    });
    result = co_await session.run("the task");
  });
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(steps, (std::vector<std::string>{"old answers of tools were cut", "the conversation was summarised"}));
  const std::vector<chat_message>& last = model.asked().back().messages();
  ASSERT_EQ(last.size(), 5U);
  EXPECT_EQ(last[1].text(), "the task");
  EXPECT_NE(last[2].text().find("The summary."), std::string::npos);
  EXPECT_EQ(result.turns(), 6U) << "what was done about the length is no turn";
}

TEST(Session, a_conversation_that_cannot_be_made_short_enough_is_an_error_and_still_whole) {
  scripted_model model;
  memory_environment env;
  for (int i = 0; i < 3; ++i) model.fail(chat_errc::context_overflow);
  std::size_t length = 0;
  const std::optional<error> failure = cofferdam_test::error_of([&] {
    run([&]() -> awaitable<void> {
      agent_session session(agent(model), env);
      std::exception_ptr broke;
      try {
        co_await session.run("the task");
      } catch (...) {
        broke = std::current_exception();
      }
      length = session.history().size();
      if (broke) std::rethrow_exception(broke);
    });
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->cause(), chat_errc::context_overflow);
  EXPECT_EQ(length, 2U);
}

// Feature: H9
TEST(Session, a_context_that_fills_up_is_summarised_before_it_is_full) {
  scripted_model model;
  memory_environment env;
  model.call("list_files", "{}").call("list_files", "{}").say("Summary.").call("finish", done);
  agent_result result;
  run([&]() -> awaitable<void> {
    agent who(model);
    who.context_window(20);
    agent_session session(who, env);
    result = co_await session.run("x");
  });
  // No summary is requested after the first turn, because there is nothing to summarise yet.
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.turns(), 3U);
  ASSERT_EQ(model.asked().size(), 4U);
  EXPECT_EQ(model.asked()[2].tool_choice(), chat_tool_choice::none);
  EXPECT_NE(model.asked()[3].messages()[2].text().find("Summary."), std::string::npos);
}

TEST(Session, an_answer_that_was_cut_off_is_asked_for_once_more) {
  scripted_model model;
  memory_environment env;
  model.fail(chat_errc::output_limit).call("finish", done);
  EXPECT_TRUE(work(model, env).finished());
  EXPECT_NE(model.told(1).find("cut off"), std::string::npos);
  scripted_model other;
  other.fail(chat_errc::output_limit).fail(chat_errc::output_limit);
  EXPECT_EQ(cofferdam_test::error_of([&] { work(other, env); })->cause(), chat_errc::output_limit);
}

// Feature: I2
TEST(Session, a_budget_of_tokens_ends_the_run) {
  scripted_model model;
  memory_environment env;
  for (int i = 0; i < 9; ++i) model.call("list_files", "{}");
  agent_result result;
  run([&]() -> awaitable<void> {
    agent who(model);
    who.token_budget(40);
    agent_session session(who, env);
    result = co_await session.run("x");
  });
  EXPECT_EQ(result.end(), agent_end::token_budget);
  EXPECT_EQ(result.turns(), 3U);
}

TEST(Session, S37_two_sessions_of_one_agent_at_once_do_not_touch_each_other) {
  scripted_model model;
  const scripted_model::step by_task = [](const chat_request& asked) {
    const std::string task = asked.messages()[1].text();
    chat_message message = chat_message::assistant("");
    if (asked.messages().size() == 2) {
      message.call(chat_tool_call("a", "write_file", R"({"path":"f","content":")" + task + R"("})"));
    } else {
      message.call(chat_tool_call("b", "finish", R"({"reason":")" + task + R"(","paths":["f"]})"));
    }
    return chat_reply(std::move(message));
  };
  for (int i = 0; i < 4; ++i) model.then(by_task);
  const cofferdam_test::temporary_folder folder;
  memory_environment first_env;
  memory_environment second_env;
  const agent shared{model};
  agent_result first;
  agent_result second;
  asio::io_context context;
  const auto run_task = [&](memory_environment& env, std::string task, agent_result& result) -> awaitable<void> {
    agent_session mine(shared, env);
    mine.output_dir(folder.path() / task);
    result = co_await mine.run(task);
  };
  const auto rethrow = [](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  };
  cofferdam_test::spawn(context, run_task(first_env, "one", first), rethrow);
  cofferdam_test::spawn(context, run_task(second_env, "two", second), rethrow);
  context.run();
  EXPECT_EQ(first.reason(), "one");
  EXPECT_EQ(second.reason(), "two");
  EXPECT_EQ(read(folder.path() / "one/f"), "one");
  EXPECT_EQ(read(folder.path() / "two/f"), "two");
}

TEST(Session, S38_a_later_session_knows_nothing_of_an_earlier_one) {
  scripted_model model;
  memory_environment env;
  model.call("finish", done).call("finish", done);
  const agent who(model);
  for (int i = 0; i < 2; ++i) {
    run([&]() -> awaitable<void> {
      agent_session session(who, env);
      co_await session.run("task " + std::to_string(i));
    });
  }
  EXPECT_EQ(model.asked()[1].messages().size(), 2U);
  EXPECT_EQ(model.told(1), "task 1");
}

// Feature: H14
TEST(Session, S39_a_run_that_was_out_of_turns_goes_on_when_it_is_resumed) {
  scripted_model model;
  memory_environment env;
  env.all().files["p.png"] = to_bytes(std::string_view("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03", 24));
  model.call("view_image", R"({"path":"p.png"})").call("list_files", "{}");
  std::string saved;
  agent who(model);
  who.max_turns(2);
  run([&]() -> awaitable<void> {
    agent_session session(who, env);
    agent_result result = co_await session.run("the task");
    EXPECT_EQ(result.end(), agent_end::max_turns);
    saved = boost::json::serialize(session.save());
  });
  model.call("finish", done);
  run([&]() -> awaitable<void> {
    agent_session session(who, env);
    session.resume(boost::json::parse(saved));
    EXPECT_EQ(boost::json::serialize(session.save()), saved);
    EXPECT_EQ(session.usage().total(), 30U);
    agent_result result = co_await session.run("");
    EXPECT_TRUE(result.finished());
    EXPECT_EQ(result.turns(), 1U);
  });
  EXPECT_EQ(model.asked()[2].messages()[1].text(), "the task");
  EXPECT_EQ(model.asked()[2].messages()[3].parts().at(1).content().size(), 24U) << "the image is there";
}

TEST(Session, what_is_no_saved_session_is_refused) {
  scripted_model model;
  memory_environment env;
  agent_session session(agent(model), env);
  for (const char* text : {"null", "{}", R"({"version":2,"history":[]})", R"({"version":1,"history":{}})",
                           R"({"version":1,"history":[{"role":"root"}]})", R"({"version":1,"history":[],"head":5})",
                           R"({"version":1,"history":[{"role":"user","parts":[{"base64":"!"}]}]})",
                           R"({"version":1,"history":[{"role":"user","parts":[{"base64":"","kind":"smell"}]}]})"})
    EXPECT_EQ(cofferdam_test::code_of([&] { session.resume(boost::json::parse(text)); }), exec_errc::invalid_argument)
        << text;
  const auto refused = [&session](const std::string& text) {
    const boost::json::value saved = boost::json::parse(text);
    return cofferdam_test::code_of([&] { session.resume(saved); }) == exec_errc::invalid_argument;
  };
  // A message in another form must not become an empty one.
  for (const char* text :
       {R"({"role":"assistant","content":[{"type":"text","text":"x"}]})", R"({"role":"tool","content":"x"})",
        R"({"role":"tool","parts":[]})", R"({"role":"user","parts":"x"})", R"({"role":"user","parts":["x"]})",
        R"({"role":"user","parts":[{"type":"text"}]})", R"({"role":"user","parts":[{"text":5}]})",
        R"({"role":"user","parts":[{"base64":""}]})", R"({"role":"assistant","parts":[],"tool_calls":{}})",
        R"({"role":"assistant","parts":[],"tool_calls":[{"id":"1","function":{"name":"f"}}]})",
        R"({"role":"assistant","parts":[],"reasoning":5})"})
    EXPECT_TRUE(refused(R"({"version":1,"history":[)" + std::string(text) + "]}")) << text;
  for (const char* text :
       {R"("cost":1e400)", R"("cost":-1)", R"("cost":"NaN")", R"("input_tokens":-5)", R"("output_tokens":"5")",
        R"("cached_tokens":1.5)", R"("reasoning_tokens":null)", R"("head":-1)", R"("task":[])"})
    EXPECT_TRUE(refused(R"({"version":1,"history":[],)" + std::string(text) + "}")) << text;
  EXPECT_TRUE(session.history().empty());
  session.resume(boost::json::parse(R"({"version":1,"history":[{"role":"user","parts":[{"text":"x"}]}],"cost":5})"));
  EXPECT_EQ(session.usage().cost, 5.0);
  EXPECT_EQ(session.history().size(), 1U);
}

TEST(Session, all_numbers_of_the_usage_are_saved) {
  scripted_model model;
  memory_environment env;
  agent_session session(agent(model), env);
  const char* const text =
      R"({"version":1,"history":[],"head":0,"task":0,"input_tokens":40,"output_tokens":30,"cached_tokens":20,)"
      R"("reasoning_tokens":10,"cost":0.5})";
  session.resume(boost::json::parse(text));
  EXPECT_EQ(session.usage().cached, 20U);
  EXPECT_EQ(session.usage().reasoning, 10U);
  EXPECT_EQ(readable_json(session.save()), text);
}

TEST(Session, S40_an_input_that_is_not_there_stops_the_run_before_the_model_is_asked) {
  scripted_model model;
  memory_environment env;
  const std::string sentence = cofferdam_test::sentence_of([&] {
    run([&]() -> awaitable<void> {
      agent_session session(agent(model), env);
      session.input_files(files("/nowhere/data.csv"));
      co_await session.run("x");
    });
  });
  EXPECT_NE(sentence.find("data.csv"), std::string::npos) << sentence;
  EXPECT_TRUE(model.asked().empty());
}

TEST(Session, S40_an_output_that_cannot_be_saved_is_told) {
  const cofferdam_test::temporary_folder folder;
  std::filesystem::create_directories(folder.path() / "out/f/in-the-way");
  scripted_model model;
  memory_environment env;
  env.all().files["f"] = to_bytes("x");
  env.all().files["g"] = to_bytes("y");
  model.call("finish", R"({"reason":"r","paths":["f","g"]})");
  int calls = 0;
  agent_result result;
  run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    session.output_dir(folder.path() / "out").on_event([&](const agent_event& what) {
      if (what.kind() == agent_event_kind::not_saved) ++calls;
    });
    result = co_await session.run("x");
  });
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.saved().failed().size(), 1U);
  EXPECT_EQ(result.saved().files().size(), 1U);
  EXPECT_EQ(calls, 1);
}

TEST(Session, what_stands_in_the_workspace_when_the_turns_run_out_is_saved_apart) {
  for (const std::uint64_t limit : {10U, 11U}) {
    const cofferdam_test::temporary_folder folder;
    scripted_model model;
    memory_environment env;
    env.all().files["a/half.txt"] = to_bytes("half of it");
    env.all().files[".cache/big"] = to_bytes("not the work");
    env.all().files["b"] = to_bytes("b");
    env.all().others["pipe"] = file_type::other;
    for (int i = 0; i < 2; ++i) model.call("list_files", "{}");
    std::vector<std::string> events;
    agent_result result;
    run([&]() -> awaitable<void> {
      agent who(model);
      who.max_turns(2);
      agent_session session(who, env);
      session.output_dir(folder.path() / "out").save_unfinished(limit).on_event([&](const agent_event& what) {
        if (what.kind() == agent_event_kind::saved) events.emplace_back(what.name());
        if (what.kind() == agent_event_kind::not_saved) events.push_back("not " + std::string(what.text()));
      });
      result = co_await session.run("x");
    });
    EXPECT_EQ(result.end(), agent_end::max_turns);
    EXPECT_TRUE(result.arguments().empty());
    if (limit == 11) {
      EXPECT_EQ(events, (std::vector<std::string>{"a/half.txt", "b"}));
      EXPECT_TRUE(result.saved().ok());
      EXPECT_EQ(read(folder.path() / "out/unfinished/a/half.txt"), "half of it");
      EXPECT_FALSE(std::filesystem::exists(folder.path() / "out/unfinished/.cache"));
    } else {
      ASSERT_EQ(events.size(), 1U);
      EXPECT_NE(events[0].find("has 11 bytes in 2 files; the limit for a copy is 10"), std::string::npos) << events[0];
      EXPECT_FALSE(std::filesystem::exists(folder.path() / "out"));
    }
  }
}

TEST(Session, a_finished_run_saves_what_it_names_and_one_that_is_not_asked_to_saves_nothing) {
  for (const bool finishes : {true, false}) {
    const cofferdam_test::temporary_folder folder;
    scripted_model model;
    memory_environment env;
    env.all().files["a"] = to_bytes("a");
    env.all().files["b"] = to_bytes("b");
    model.call(finishes ? "finish" : "list_files", finishes ? R"({"reason":"r","paths":["a"]})" : "{}");
    agent_result result;
    run([&]() -> awaitable<void> {
      agent who(model);
      who.max_turns(1);
      agent_session session(who, env);
      session.output_dir(folder.path() / "out");
      if (finishes) session.save_unfinished();
      result = co_await session.run("x");
    });
    EXPECT_EQ(result.finished(), finishes);
    EXPECT_EQ(result.saved().files().size(), finishes ? 1U : 0U);
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "out/unfinished"));
  }
}

TEST(Session, S33_a_pattern_of_the_allowlist_admits_no_more_than_it_says_and_the_run_goes_on) {
  scripted_model model;
  memory_environment inside;
  const std::vector<std::string> sly{"lsblk",        "python3 evil.py",       "python -c 'print(1)'",
                                     "git statusx",  "find . -exec id ';'",   "find . -delete",
                                     "git status x", "echo hi && git status", "ls extra"};
  const std::vector<std::string> plain{"ls", "git status", "'ls'", "python"};
  const auto say = [&](const std::string& line) {
    boost::json::object arguments;
    arguments["cmd"] = line;
    model.call("code_exec", boost::json::serialize(arguments));
  };
  for (const std::string& line : sly) say(line);
  for (const std::string& line : plain) say(line);
  model.call("finish", done);
  auto env = allow_commands("ls", "python", "find [a-z]+", "git status").attach(inside);
  agent_result result;
  run([&]() -> awaitable<void> {
    agent who(model);
    who.tool([](any_environment& e) { return tools::code_exec(e); });
    agent_session session(who, env);
    result = co_await session.run("x");
  });
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.tools().at("code_exec").calls, sly.size() + plain.size());
  EXPECT_EQ(result.tools().at("code_exec").failures, sly.size());
  EXPECT_EQ(inside.all().commands.size(), plain.size());
  for (std::size_t i = 0; i < sly.size(); ++i)
    EXPECT_NE(model.told(i + 1).find("<error_kind>command_not_allowed</error_kind>"), std::string::npos) << sly[i];
}

TEST(Session, functions_and_makers_of_an_agent_are_its_tools) {
  scripted_model model;
  memory_environment env;
  model.call("double", R"({"n":21})")
      .call("double", R"({"n":"x"})")
      .call("fall", "{}")
      .call("code_exec", R"({"cmd":"ls"})");
  model.call("finish", done);
  const auto twice = [](int n) -> awaitable<int> { co_return 2 * n; };
  const auto fall = []() -> awaitable<void> {
    throw std::runtime_error("fell");
    co_return;
  };
  agent_result result;
  run([&]() -> awaitable<void> {
    agent who(model, tools::function("double", "Doubles.", tools::argument("n"), twice),
              [](any_environment& e) { return tools::code_exec(e); });
    who.tool(tools::function("fall", "Falls.", fall));
    agent_session session(who, env);
    result = co_await session.run("x");
  });
  EXPECT_TRUE(result.finished());
  std::string names;
  for (const auto& each : model.asked()[0].tools()) names += each.name() + " ";
  EXPECT_EQ(names, "double code_exec fall finish ");
  EXPECT_EQ(model.told(1), "42");
  EXPECT_EQ(model.told(2), "Error: Wrong arguments: 'n' must be an integer, not the string \"x\".");
  EXPECT_EQ(model.told(3), "Error: the tool failed: fell");
  EXPECT_EQ(result.tools().at("double").calls, 2U);
  EXPECT_EQ(result.tools().at("double").failures, 1U);
}

TEST(Session, a_tool_with_a_name_that_models_cannot_call_is_refused) {
  const auto answer = []() -> awaitable<int> { co_return 1; };
  for (const std::string& name : {std::string("tide.height"), std::string(65, 'n')}) {
    scripted_model model;
    memory_environment env;
    std::string message;
    try {
      run([&]() -> awaitable<void> {
        agent_session work(agent(model, tools::function(name, "For MCP only.", answer)), env);
        co_await work.run("x");
      });
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::invalid_argument);
      message = failure.what();
    }
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_EQ(model.asked().size(), 0U);
  }
}

TEST(Session, a_lost_environment_ends_the_run_and_the_history_is_whole) {
  scripted_model model;
  memory_environment env;
  env.all().lost = true;
  model.calls({{"list_files", "{}"}, {"code_exec", R"({"cmd":"ls"})"}});
  std::size_t length = 0;
  const auto code = cofferdam_test::code_of([&] {
    run([&]() -> awaitable<void> {
      agent_session session(agent(model), env);
      std::exception_ptr broke;
      try {
        co_await session.run("x");
      } catch (...) {
        broke = std::current_exception();
      }
      length = session.history().size();
      if (broke) std::rethrow_exception(broke);
    });
  });
  EXPECT_EQ(code, exec_errc::provider_lost);
  EXPECT_EQ(length, 5U) << "each call has its answer";
}

TEST(Session, cancelled_at_any_step_it_says_so_and_another_run_goes_on) {
  for (std::size_t handlers = 0; handlers < 300; ++handlers) {
    scripted_model model;
    memory_environment env;
    env.all().files["f"] = to_bytes("x");
    model.calls({{"read_file", R"({"path":"f"})"}, {"list_files", "{}"}})
        .call("code_exec", R"({"cmd":"ls"})")
        .call("finish", done);
    agent_session session(agent(model), env);
    std::exception_ptr failure;
    const bool ended = cofferdam_test::cancel_after(
        handlers, [&]() -> awaitable<void> { co_await session.run("x"); }, failure);
    if (ended) return;
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const std::system_error& reason) {
      EXPECT_TRUE(reason.code() == exec_errc::cancelled || reason.code() == asio::error::operation_aborted)
          << reason.what();
    }
    scripted_model rest = model;
    while (rest.left() > 0) {
      run([&]() -> awaitable<void> { co_await session.run("go on"); });
    }
  }
  ADD_FAILURE() << "it never ended";
}

TEST(Session, misuse_is_refused) {
  scripted_model model;
  memory_environment env;
  EXPECT_EQ(cofferdam_test::code_of([&] { work(model, env, ""); }), exec_errc::invalid_argument);
  EXPECT_EQ(cofferdam_test::code_of([&] {
              run([&]() -> awaitable<void> {
                agent_session session(agent(model), env);
                session.tool(odd_tool("read_file", {}));
                co_await session.run("x");
              });
            }),
            exec_errc::invalid_argument);
  EXPECT_EQ(cofferdam_test::code_of([&] { agent(model).max_turns(0); }), exec_errc::invalid_argument);
}

TEST(Session, a_turn_costs_less_than_a_millisecond_besides_the_model) {
  constexpr int turns = 200;
  scripted_model model;
  memory_environment env;
  env.all().files["f"] = to_bytes(std::string(2000, 'x'));
  for (int i = 1; i < turns; ++i) model.call("read_file", R"({"path":"f"})");
  model.call("finish", done);
  agent_result result;
  const auto start = std::chrono::steady_clock::now();
  run([&]() -> awaitable<void> {
    agent who(model);
    who.max_turns(turns);
    agent_session session(who, env);
    result = co_await session.run("x");
  });
  const auto each = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start -
                                                                          result.model_time()) /
                    turns;
  EXPECT_TRUE(result.finished());
  RecordProperty("microseconds_a_turn", static_cast<int>(each.count()));
  std::cout << "a turn: " << each.count() << " us\n";
  // The limit is ten times the promised time, because the machine may be busy and this build is not optimised.
  EXPECT_LT(each, std::chrono::milliseconds(10));
}

}  // namespace
