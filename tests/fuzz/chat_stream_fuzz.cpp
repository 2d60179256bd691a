// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of replies from models and their services get any bytes. The first byte sets the size of the
// pieces, which must not change the result.

#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/sse_reader.hpp>
#include <cofferdam/detail/tools/image_header.hpp>
#include <cofferdam/detail/tools/media_header.hpp>
#include <cofferdam/llm/chat_history.hpp>
#include <cofferdam/llm/detail/completion_error.hpp>
#include <cofferdam/llm/detail/completion_reply.hpp>
#include <cofferdam/llm/detail/completion_request.hpp>
#include <cofferdam/llm/detail/tool_arguments.hpp>

#include "fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::detail::sse_event;
using cofferdam::detail::sse_reader;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Returns the content of a stream as one text. Leaves out ids that the library generates.
std::string read_stream(std::string_view text, std::size_t size) {
  sse_reader reader(4096);
  detail::completion_assembly assembly(8192);
  std::string heard;
  const chat_request::delta_listener hears = [&](const chat_delta& piece) { heard += piece.text(); };
  const auto each = [&](const sse_event& event) {
    const std::optional<boost::json::value> value = detail::read_json(event.data());
    if (value && value->is_object()) {
      assembly.add(value->get_object(), hears);
    } else {
      heard += "|" + event.type() + ":" + event.data() + "#" + event.id();
    }
  };
  try {
    for (std::size_t at = 0; at < text.size(); at += size) reader.feed(text.substr(at, size), each);
    reader.finish(each);
    const chat_reply reply = assembly.finish("peer");
    heard += "=" + reply.text() + reply.message().reasoning() + reply.finish_reason();
    for (const chat_tool_call& call : reply.message().tool_calls()) {
      require(!call.id().empty());
      heard += "," + call.name() + call.arguments();
    }
    const std::vector<chat_message> history{chat_message::user("x"), reply.message()};
    const boost::json::array saved = history_to_json(history);
    require(history_to_json(history_from_json(saved)) == saved);
    detail::wire_messages wire(true, "system");
    require(wire.make(history).size() == 2 + reply.message().tool_calls().size());
  } catch (const error& failure) {
    heard += failure.what();
  }
  return heard;
}

}  // namespace

COFFERDAM_FUZZ_TARGET(chat_stream)(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_stream(text, text.size() + 1);
  require(read_stream(text, data[0] % 16U + 1U) == whole);
  std::string complaint;
  const std::optional<boost::json::value> arguments = detail::read_tool_arguments(text, "tool", complaint);
  require(arguments ? arguments->is_object() : !complaint.empty());
  const detail::service_complaint parsed = detail::service_complaint::read(text);
  detail::classify(100 + data[0] * 2, parsed);
  http_fields fields;
  if (detail::is_field_text(text)) fields.append("Retry-After", std::string(text));
  if (const auto wait = detail::asked_wait(fields, 0)) require(wait->count() > 0);
  static_cast<void>(tools::detail::read_image_header(as_bytes(text)));
  const std::optional<tools::detail::media_header> media = tools::detail::read_media_header(as_bytes(text));
  require(!media || media->format != nullptr);
  try {
    const std::optional<boost::json::value> saved = detail::read_json(text);
    if (saved) static_cast<void>(history_from_json(*saved));
  } catch (const error& failure) {
    require(failure.code() == exec_errc::invalid_argument);
  }
  return 0;
}
