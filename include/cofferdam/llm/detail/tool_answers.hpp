// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/detail/tool_round.hpp>
#include <cofferdam/tools/tool.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Converts the results of tool calls to messages, and detects a model that repeats the same invalid call.
class tool_answers {
 public:
  /// Returns one message for each call, in the order of the calls. If a call has no result, because its execution was
  /// interrupted, the message states this.
  std::vector<chat_message> messages(const std::vector<round_call>& calls) {
    std::vector<chat_message> answers;
    std::size_t images = 0;
    std::size_t media_bytes = 0;
    for (const round_call& each : calls) {
      std::string text = each.answer ? each.answer->text() : "Error: no result (interrupted).";
      if (each.invalid) text += complaint_about(each);
      chat_message answer = chat_message::tool(each.id, std::move(text));
      if (each.answer) add_images(answer, each.answer->images(), images);
      if (each.answer) add_media(answer, each.answer->media(), media_bytes);
      answers.push_back(std::move(answer));
    }
    return answers;
  }

  /// Returns true if the model has sent the same invalid call five times.
  bool is_stuck() const noexcept { return stuck_; }

 private:
  static constexpr std::size_t max_images_a_turn = 8;
  // The first audio or video file of a turn may be larger: the tool has its own limit.
  static constexpr std::size_t max_media_bytes_a_turn = std::size_t{14} * 1024 * 1024;

  /// Counts an invalid call. Returns a text that is added to the result of the call. The text is empty for the first
  /// two identical calls.
  std::string complaint_about(const round_call& call) {
    const std::size_t times = ++mistakes_[call.name + "\n" + call.text];
    if (times >= 5) stuck_ = true;
    if (times < 3) return {};
    return "\nYou sent the same invalid call " + std::to_string(times) +
           " times; change the arguments or use another tool.";
  }

  /// \param count  the number of images that were added in this turn so far.
  static void add_images(chat_message& answer, const std::vector<tools::tool_image>& images, std::size_t& count) {
    std::size_t left_out = 0;
    for (const tools::tool_image& image : images) {
      if (++count > max_images_a_turn) {
        ++left_out;
      } else {
        answer.add(chat_part::image(image.content(), image.mime_type()));
      }
    }
    if (left_out != 0)
      answer.add(
          chat_part("\n[image left out: the limit is " + std::to_string(max_images_a_turn) + " images in a turn]"));
  }

  /// \param total  the size of the files that were added in this turn so far.
  static void add_media(chat_message& answer, const std::vector<tools::tool_media>& media, std::size_t& total) {
    for (const tools::tool_media& each : media) {
      const bool is_audio = each.kind() == tools::media_kind::audio;
      if (total != 0 && total + each.content().size() > max_media_bytes_a_turn) {
        answer.add(chat_part(std::string(is_audio ? "\n[audio" : "\n[video") + " left out: the limit is " +
                             std::to_string(max_media_bytes_a_turn) +
                             " bytes of audio and video in a turn; request it again in the next turn]"));
        continue;
      }
      total += each.content().size();
      answer.add(is_audio ? chat_part::audio(each.content(), each.mime_type())
                          : chat_part::video(each.content(), each.mime_type()));
    }
  }

  std::map<std::string, std::size_t> mistakes_;
  bool stuck_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
