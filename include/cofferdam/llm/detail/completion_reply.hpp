// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/chat_model.hpp>
#include <cofferdam/llm/detail/read_json.hpp>
#include <cofferdam/net/readable_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Reads an answer of POST /chat/completions, whole or streamed. See OpenAI's API reference, "Chat Completions" and
// "Streaming".

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline chat_usage read_usage(const boost::json::object& usage) {
  chat_usage read;
  read.input = count_at(usage, "prompt_tokens").value_or(0);
  read.output = count_at(usage, "completion_tokens").value_or(0);
  if (const auto* const more = object_at(usage, "prompt_tokens_details"))
    read.cached = count_at(*more, "cached_tokens").value_or(0);
  if (const auto* const more = object_at(usage, "completion_tokens_details"))
    read.reasoning = count_at(*more, "reasoning_tokens").value_or(0);
  // Some services report the cost of an answer, in their own currency.
  const boost::json::value* const cost = member(usage, "cost");
  if (cost != nullptr && cost->is_number()) {
    const double reported = cost->to_number<double>();
    if (std::isfinite(reported) && reported >= 0) read.cost = reported;
  }
  return read;
}

/// Returns a random id for a tool call that the service has sent without an id.
inline std::string made_up_id() { return "call_" + random_digits(); }

/// An answer that is assembled from the chunks of a stream. A whole answer is treated as one chunk.
class completion_assembly {
 public:
  /// \param max_bytes  the maximum total size of all texts of the answer, in bytes.
  explicit completion_assembly(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Adds a `chat.completion.chunk` or a `chat.completion` object. Every member of the object may be missing.
  /// \param hears  a callable that receives the new pieces; may be empty.
  void add(const boost::json::object& chunk, const chat_request::delta_listener& hears) {
    if (const std::string_view model = text_at(chunk, "model"); !model.empty() && model_.empty()) keep(model_, model);
    if (const auto* const usage = object_at(chunk, "usage")) usage_ = read_usage(*usage);
    const boost::json::array* const choices = array_at(chunk, "choices");
    if (choices == nullptr || choices->empty()) return;
    const boost::json::object* const choice = choices->front().if_object();
    if (choice == nullptr) return;
    has_choice_ = true;
    if (const std::string_view why = text_at(*choice, "finish_reason"); !why.empty()) {
      finish_.clear();
      keep(finish_, why);
    }
    if (const auto* const piece = object_at(*choice, "delta")) {
      add_piece(*piece, hears);
    } else if (const auto* const message = object_at(*choice, "message")) {
      whole_ = true;
      add_piece(*message, hears);
    }
  }

  /// Returns true if the service has sent the reason why the answer ended.
  bool ended() const noexcept { return !finish_.empty(); }

  /// Returns the whole answer.
  /// \throws chat_failure with output_limit, filtered or bad_answer.
  chat_reply finish(const std::string& peer) {
    if (!has_choice_) throw chat_failure(chat_errc::bad_answer, peer + ": the answer contains no choice");
    if (finish_ == "length" || finish_ == "max_tokens")
      throw chat_failure(chat_errc::output_limit, peer +
                                                      ": the answer was cut off by the limit of output tokens; raise "
                                                      "max_output_tokens, or request less at a time");
    if (finish_ == "content_filter" && calls_.empty())
      throw chat_failure(chat_errc::filtered, peer + ": a content filter withheld the answer");
    chat_message message(chat_role::assistant, std::move(text_));
    message.reasoning(std::move(reasoning_));
    message.refusal(std::move(refusal_));
    std::set<std::string> ids;
    for (slot& each : calls_) {
      if (each.id.empty() || ids.contains(each.id)) each.id = made_up_id();
      ids.insert(each.id);
      message.call(chat_tool_call(std::move(each.id), std::move(each.name), std::move(each.arguments)));
    }
    chat_reply reply(std::move(message));
    reply.usage(usage_).finish_reason(std::move(finish_)).model(std::move(model_));
    return reply;
  }

 private:
  static constexpr std::size_t max_calls = 128;

  struct slot {
    std::uint64_t index = 0;
    std::string id;
    std::string name;
    std::string arguments;
  };

  void keep(std::string& where, std::string_view what) {
    if (what.size() > max_bytes_ - kept_)
      throw chat_failure(chat_errc::bad_answer,
                         "the model's answer is longer than the limit of " + std::to_string(max_bytes_) + " bytes");
    kept_ += what.size();
    where += what;
  }

  void say(std::string& where, std::string_view what, chat_delta_kind kind, const chat_request::delta_listener& hears) {
    if (what.empty()) return;
    keep(where, what);
    if (hears) hears(chat_delta(kind, what));
  }

  void add_piece(const boost::json::object& piece, const chat_request::delta_listener& hears) {
    std::string_view thought = text_at(piece, "reasoning_content");
    if (thought.empty()) thought = text_at(piece, "reasoning");
    say(reasoning_, thought, chat_delta_kind::reasoning, hears);
    say(refusal_, text_at(piece, "refusal"), chat_delta_kind::text, hears);
    say(text_, text_at(piece, "content"), chat_delta_kind::text, hears);
    if (const auto* const parts = array_at(piece, "content"))
      for (const boost::json::value& each : *parts)
        if (const boost::json::object* const part = each.if_object())
          say(text_, text_at(*part, "text"), chat_delta_kind::text, hears);
    if (const auto* const calls = array_at(piece, "tool_calls"))
      for (const boost::json::value& each : *calls)
        if (const boost::json::object* const call = each.if_object()) add_call(*call, hears);
  }

  void add_call(const boost::json::object& call, const chat_request::delta_listener& hears) {
    const boost::json::object* function = object_at(call, "function");
    if (function == nullptr) function = &call;
    const std::string_view id = text_at(call, "id");
    slot& to = slot_for(count_at(call, "index"), id, text_at(*function, "name"));
    if (to.id.empty()) keep(to.id, id);
    const std::string_view name = text_at(*function, "name");
    if (!name.empty() && name != to.name) {
      const bool begins = to.name.empty();
      // Some servers send a name in pieces. Others repeat the name with more text.
      if (!begins && name.starts_with(to.name)) to.name.clear();
      keep(to.name, name);
      if (begins && hears) hears(chat_delta(chat_delta_kind::tool_call, name));
    }
    const boost::json::value* const arguments = member(*function, "arguments");
    if (arguments == nullptr || arguments->is_null()) return;
    if (const boost::json::string* const text = arguments->if_string()) {
      keep(to.arguments, view_of(*text));
    } else {
      keep(to.arguments, readable_json(*arguments));  // some servers send an object instead of its JSON text
    }
  }

  /// Finds the tool call to which a piece belongs. Servers identify calls in different ways: some send index 0 for
  /// every call, some send no index, and some send an id in every piece.
  slot& slot_for(std::optional<std::uint64_t> index, std::string_view id, std::string_view name) {
    if (whole_) return new_slot(calls_.size());
    if (!id.empty())
      for (slot& each : calls_)
        if (each.id == id && (!index || each.index == *index)) return each;
    if (index) {
      for (auto each = calls_.rbegin(); each != calls_.rend(); ++each)
        if (each->index == *index && (id.empty() || each->id.empty())) return *each;
    } else if (id.empty() && !calls_.empty() && (name.empty() || calls_.back().arguments.empty())) {
      return calls_.back();
    }
    return new_slot(index.value_or(calls_.size()));
  }

  slot& new_slot(std::uint64_t index) {
    if (calls_.size() == max_calls)
      throw chat_failure(chat_errc::bad_answer, "the model's answer has more than 128 tool calls");
    calls_.emplace_back();
    calls_.back().index = index;
    return calls_.back();
  }

  std::size_t max_bytes_;
  std::size_t kept_ = 0;
  bool has_choice_ = false;
  bool whole_ = false;  // the answer is one whole message, in which each element of `tool_calls` is a separate call
  std::string text_;
  std::string reasoning_;
  std::string refusal_;
  std::string finish_;
  std::string model_;
  std::vector<slot> calls_;
  chat_usage usage_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
