// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/tools/image_header.hpp>
#include <cofferdam/detail/tools/media_header.hpp>
#include <cofferdam/serve/mcp/remote.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp {

namespace detail {

/// Adds a file of an answer to the result. Returns false if a model could not use the file.
inline bool add_file(tools::tool_result& result, std::string_view base64) {
  std::optional<bytes> file = cofferdam::detail::base64_decode(base64);
  if (!file) return false;
  if (const std::optional<tools::detail::image_header> image = tools::detail::read_image_header(*file)) {
    using tools::detail::image_format;
    const bool is_shown = image->format == image_format::png || image->format == image_format::jpeg ||
                          image->format == image_format::gif || image->format == image_format::webp;
    if (!is_shown || !image->has_size()) return false;
    result.image(tools::tool_image(std::move(*file), std::string(mime_type(image->format))));
    return true;
  }
  const std::optional<tools::detail::media_header> media = tools::detail::read_media_header(*file);
  if (!media || !media->can_play || !media->format->is_documented) return false;
  std::string type(media->format->mime_type);
  result.media(media->format->is_video() ? tools::tool_media::video(std::move(*file), std::move(type))
                                         : tools::tool_media::audio(std::move(*file), std::move(type)));
  return true;
}

}  // namespace detail

COFFERDAM_DECL tools::tool_result remote_answer::result() const {
  using cofferdam::detail::text_at;
  tools::tool_result made(text(), !is_error());
  std::string left_out;
  for (const boost::json::value& each : content()) {
    const boost::json::object* const block = each.if_object();
    const std::string_view type = text_at(block, "type");
    const boost::json::object* const resource = cofferdam::detail::object_at(block, "resource");
    std::string_view file;
    std::string_view name;
    if (type == "image" || type == "audio") {
      file = text_at(block, "data");
      name = text_at(block, "mimeType");
    } else if (type == "resource" && text_at(resource, "mimeType").starts_with("video/")) {
      file = text_at(resource, "blob");
      name = text_at(resource, "mimeType");
    } else {
      continue;
    }
    if (!detail::add_file(made, file))
      left_out += "\n[" + one_line(name, 100) + " left out: it is broken, or of a format that models do not take]";
  }
  if (!left_out.empty()) {
    tools::tool_result whole(made.text() + left_out, made.ok());
    for (const tools::tool_image& each : made.images()) whole.image(each);
    for (const tools::tool_media& each : made.media()) whole.media(each);
    made = std::move(whole);
  }
  const std::optional<boost::json::value> data = structured();
  if (data && data->is_object()) made.data(data->get_object());
  return made;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp
