// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/llm/detail/conversation.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::conversation;

std::vector<std::string> texts(const conversation& of) {
  std::vector<std::string> result;
  for (const chat_message& each : of.messages()) result.push_back(each.text());
  return result;
}

/// Returns a conversation with a system prompt, a task, and a turn with one tool call.
conversation one_turn() {
  conversation history;
  history.add(chat_message::system("system"));
  history.add_task("first task");
  history.add_reply(chat_message::assistant("reply").call(chat_tool_call("c", "list_files", "{}")));
  history.add(chat_message::tool("c", "answer"));
  return history;
}

TEST(Conversation, a_summary_keeps_the_first_task_and_asks_to_go_on) {
  conversation talk = one_turn();
  EXPECT_FALSE(talk.can_be_summarised());
  talk.add_reply(chat_message::assistant("more"));
  ASSERT_TRUE(talk.can_be_summarised());
  talk.replace_by_summary("what was done");
  EXPECT_EQ(texts(talk),
            (std::vector<std::string>{"system", "first task",
                                      "This is a summary of the work so far, which you wrote:\n\nwhat was done",
                                      "Thank you. I will continue from there.", "Please continue."}));
  EXPECT_EQ(talk.kept(), 2U);
  EXPECT_EQ(talk.task_end(), 5U);
}

TEST(Conversation, a_summary_repeats_a_later_task_which_no_later_turn_can_drop) {
  conversation talk = one_turn();
  talk.add_task("second task");
  talk.replace_by_summary("what was done");
  EXPECT_EQ(texts(talk).back(), "second task");
  EXPECT_EQ(talk.messages().size(), 5U);
  talk.add_reply(chat_message::assistant("newest"));
  EXPECT_FALSE(talk.drop_turn()) << "the first turn of a task stays";
  EXPECT_EQ(talk.messages().size(), 6U);
}

TEST(Conversation, old_images_audio_and_video_make_room_for_new_ones) {
  conversation talk = one_turn();
  talk.add(chat_message::user("").add(chat_part::audio(to_bytes("aaa"), "audio/wav")));
  talk.add(chat_message::user("").add(chat_part::video(to_bytes("vv"), "video/mp4")));
  talk.add(chat_message::user("").add(chat_part::image(to_bytes("i"), "image/png")));
  talk.add_reply(chat_message::assistant("newest"));
  talk.add(chat_message::user("").add(chat_part::audio(to_bytes("new"), "audio/wav")));
  EXPECT_EQ(talk.file_bytes(), 9U);
  EXPECT_TRUE(talk.remove_files());
  EXPECT_EQ(talk.file_bytes(), 3U);
  EXPECT_EQ(texts(talk)[4], "\n[audio removed to save space]");
  EXPECT_EQ(texts(talk)[5], "\n[video removed to save space]");
  EXPECT_EQ(texts(talk)[6], "\n[image removed to save space]");
  EXPECT_FALSE(talk.remove_files()) << "the newest turn keeps its files";
}

TEST(Conversation, arguments_that_are_no_json_object_are_kept_inside_one) {
  conversation talk;
  chat_message reply = chat_message::assistant("");
  for (const char* const arguments : {R"({"path":"x"})", "{\"path\":", "[1]", ""})
    reply.call(chat_tool_call("c", "read_file", arguments));
  talk.add_reply(reply);
  std::vector<std::string> kept;
  for (const chat_tool_call& each : talk.messages().back().tool_calls()) kept.push_back(each.arguments());
  EXPECT_EQ(kept, (std::vector<std::string>{R"({"path":"x"})", R"({"unreadable":"{\"path\":"})",
                                            R"({"unreadable":"[1]"})", "{}"}));
}

}  // namespace
