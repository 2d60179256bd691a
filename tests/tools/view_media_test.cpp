// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/tools/view_media.hpp>

#include "llm/scripted_model.hpp"
#include "support/error_of.hpp"
#include "support/media_files.hpp"
#include "support/run.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace view_media_test {

using namespace cofferdam;
using cofferdam_test::code_of;
using cofferdam_test::memory_environment;
using cofferdam_test::mp4_file;
using cofferdam_test::run;
using cofferdam_test::wav_file;
using namespace std::string_literals;

static_assert(tools::tool<tools::view_media<memory_environment>>);

tools::tool_result view(tools::view_media<memory_environment> tool, const std::string& path) {
  return run([&]() -> awaitable<tools::tool_result> {
    boost::json::object arguments;
    arguments["path"] = path;
    boost::json::value given(std::move(arguments));
    tools::tool_result result = co_await tool.call(std::move(given));
    co_return result;
  });
}

// Feature: G6
TEST(ViewMedia, goes_by_what_the_file_is_and_not_by_its_name) {
  memory_environment env;
  env.all().files["sound.txt"] = to_bytes(wav_file());
  env.all().files["picture.png"] = to_bytes(mp4_file());
  const tools::view_media tool(env);
  const tools::tool_result sound = view(tool, "sound.txt");
  EXPECT_EQ(sound.text(), "Audio \"sound.txt\": audio/wav, 60 bytes.");
  ASSERT_EQ(sound.media().size(), 1U) << sound.text();
  EXPECT_EQ(sound.media()[0].kind(), tools::media_kind::audio);
  EXPECT_EQ(sound.media()[0].mime_type(), "audio/wav");
  EXPECT_EQ(sound.media()[0].content(), env.all().files["sound.txt"]);
  EXPECT_EQ(boost::json::serialize(sound.data()), R"({"path":"sound.txt","mime_type":"audio/wav","size_bytes":60})");
  const tools::tool_result video = view(tool, "picture.png");
  ASSERT_EQ(video.media().size(), 1U) << video.text();
  EXPECT_EQ(video.media()[0].kind(), tools::media_kind::video);
  EXPECT_EQ(video.media()[0].mime_type(), "video/mp4");
  EXPECT_TRUE(video.images().empty());
}

TEST(ViewMedia, another_file_is_refused_with_what_to_do) {
  memory_environment env;
  env.all().files["s.wav"] = to_bytes("#!/bin/sh\n");
  env.all().files["p.mp4"] = to_bytes("\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03"s);
  env.all().files["f.mp3"] = to_bytes("fLaC\0\0\0\x22"s);
  env.all().files["k.mp4"] = to_bytes("\x1A\x45\xDF\xA3\x8B\x42\x82\x88matroska"s);
  env.all().files["cut.mp4"] = to_bytes(mp4_file().substr(0, 100));
  env.all().files["e.wav"];
  env.all().others["d"] = file_type::directory;
  env.all().others["fifo"] = file_type::other;
  const std::pair<const char*, const char*> cases[] = {
      {"s.wav", "not an audio or video file of a known format, even if its name suggests it"},
      {"p.mp4", "is an image, image/png; use view_image"},
      {"f.mp3",
       "is audio/flac, and only files of the type audio/wav, audio/mpeg, video/mp4, video/mpeg, "
       "video/quicktime or video/webm can be viewed. Convert it in the workspace, for example with "
       "`ffmpeg -i IN OUT.mp3`"},
      {"k.mp4", "`ffmpeg -i IN OUT.mp4`"},
      {"cut.mp4", "is a broken or cut-off video/mp4 file"},
      {"e.wav", "is empty"},
      {"d", "is a directory"},
      {"fifo", "is not a regular file"},
      {"gone.wav", "gone.wav"},
      {"../x.wav", "'../x.wav'"}};
  for (const auto& [path, words] : cases) {
    const tools::tool_result result = view(tools::view_media(env), path);
    EXPECT_FALSE(result.ok()) << path;
    EXPECT_TRUE(result.media().empty()) << path;
    EXPECT_TRUE(result.text().starts_with("Error: ")) << result.text();
    EXPECT_NE(result.text().find(words), std::string::npos) << result.text();
  }
}

TEST(ViewMedia, a_file_above_the_limit_is_not_read_and_the_answer_has_the_command_that_helps) {
  memory_environment env;
  const std::string file = wav_file(std::string(1000, 'x'));
  env.all().files["a.wav"] = to_bytes(file);
  tools::view_media tool(env);
  tool.max_bytes(file.size());
  EXPECT_TRUE(view(tool, "a.wav").ok()) << "control: exactly the limit";
  tool.max_bytes(file.size() - 1);
  const tools::tool_result result = view(tool, "a.wav");
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(
      result.text(),
      "Error: \"a.wav\" has 1044 bytes, and the limit is 1043 bytes. Make a smaller copy in the workspace, or cut "
      "out the part you need, and view that. For audio: `ffmpeg -i IN -ss START -t SECONDS -ac 1 -ar 16000 "
      "OUT.mp3`. For video: `ffmpeg -i IN -ss START -t SECONDS -vf scale=-2:360 -r 5 OUT.mp4`.");
}

TEST(ViewMedia, offers_only_the_formats_that_were_set) {
  memory_environment env;
  env.all().files["v"] = to_bytes(mp4_file());
  env.all().files["f"] = to_bytes("fLaC\0\0\0\x22"s);
  env.all().files["w"] = to_bytes(wav_file());
  tools::view_media tool(env);
  EXPECT_NE(tool.description().find("watch a video"), std::string::npos);
  tool.formats({"audio/wav", "audio/flac"});
  EXPECT_EQ(tool.description(),
            "Listen to an audio file from the workspace (audio/wav or audio/flac). The answer contains the file, so "
            "that you can hear it. For images use view_image.");
  EXPECT_TRUE(view(tool, "f").ok());
  EXPECT_TRUE(view(tool, "w").ok());
  const tools::tool_result video = view(tool, "v");
  EXPECT_FALSE(video.ok());
  EXPECT_NE(video.text().find("Extract what you need in the workspace: the sound"), std::string::npos) << video.text();
  EXPECT_EQ(code_of([&] { tool.formats({"audio/midi"}); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { tool.formats({}); }), exec_errc::invalid_argument);
  EXPECT_TRUE(view(tool, "f").ok()) << "a refused list changes nothing";
}

}  // namespace view_media_test
