// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/llm/chat_message.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Shortens a conversation that exceeds the context of its model. In all functions, `kept` is the number of messages at
// the start (instructions, the task, a summary) that are never changed.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the index of the message with which the newest `count` turns begin. A turn begins with a message of the
/// assistant.
inline std::size_t start_of_last_turns(const std::vector<chat_message>& messages, std::size_t kept, std::size_t count) {
  std::size_t at = messages.size();
  while (at > kept && count != 0)
    if (messages[--at].role() == chat_role::assistant) --count;
  return count == 0 ? at : kept;
}

/// Returns a copy of the message with other parts.
inline chat_message with_parts(const chat_message& message, std::vector<chat_part> parts) {
  chat_message result(message.role(), std::string());
  if (message.role() == chat_role::tool) result = chat_message::tool(message.call_id(), std::string());
  for (chat_part& each : parts) result.add(std::move(each));
  return result;
}

/// Shortens long results of tool calls that are older than the newest `spared` turns. Returns false if there were none.
inline bool cut_answers(std::vector<chat_message>& messages, std::size_t kept, std::size_t spared) {
  constexpr std::size_t max_bytes = 500;
  const std::size_t end = start_of_last_turns(messages, kept, spared);
  bool changed = false;
  for (std::size_t at = kept; at < end; ++at) {
    if (messages[at].role() != chat_role::tool) continue;
    std::vector<chat_part> parts;
    bool mine = false;
    for (const chat_part& each : messages[at].parts()) {
      if (!each.is_text() || each.text().size() <= max_bytes + 100) {
        parts.push_back(each);
        continue;
      }
      mine = true;
      parts.emplace_back(std::string(without_cut_end(std::string_view(each.text()).substr(0, max_bytes))) +
                         "\n[the rest of this answer was left out to save space]");
    }
    if (mine) messages[at] = with_parts(messages[at], std::move(parts));
    changed = changed || mine;
  }
  return changed;
}

/// Replaces images, audio and video that are older than the newest turn by short texts. Returns false if there were no
/// such files.
inline bool remove_old_files(std::vector<chat_message>& messages, std::size_t kept) {
  const std::size_t end = start_of_last_turns(messages, kept, 1);
  bool changed = false;
  for (std::size_t at = kept; at < end; ++at) {
    const std::vector<chat_part>& old = messages[at].parts();
    if (std::all_of(old.begin(), old.end(), [](const chat_part& each) { return each.is_text(); })) continue;
    std::vector<chat_part> parts;
    for (const chat_part& each : old) {
      const char* const kind = each.is_image() ? "image" : each.is_audio() ? "audio" : "video";
      parts.push_back(each.is_text() ? each : chat_part("\n[" + std::string(kind) + " removed to save space]"));
    }
    messages[at] = with_parts(messages[at], std::move(parts));
    changed = true;
  }
  return changed;
}

/// Removes the newest turn and the messages of the user directly before it, but never the first turn. Returns false if
/// there is no other turn.
inline bool drop_newest_turn(std::vector<chat_message>& messages, std::size_t kept) {
  const std::size_t from = start_of_last_turns(messages, kept, 1);
  if (from <= kept) return false;
  std::size_t cut = from;
  while (cut > kept && messages[cut - 1].role() == chat_role::user) --cut;
  if (cut <= kept) return false;
  messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(cut), messages.end());
  return true;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
