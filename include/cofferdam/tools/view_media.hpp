// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/tools/image_header.hpp>
#include <cofferdam/detail/tools/media_header.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that lets a model listen to an audio file, or watch a video, of a workspace:
/// `tools::view_media tool(environment);`
///
/// Its argument is `path`. The file is passed on unchanged; nothing is decoded. The format is detected from the
/// content, not from the name. If the file is missing, too large, incomplete or of another format, the answer explains
/// this to the model, and what to do.
///
/// An agent does not have this tool by default, because services refuse a conversation with audio or video that their
/// model does not support. Add it for models that do: `helper.tool([](any_environment& e) { return
/// tools::view_media(e); })`. OpenAI's audio models take WAV and MP3, and no video:
/// `tools::view_media(e).formats({"audio/wav", "audio/mpeg"})`.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
/// \par Source    OpenAI's API reference, "Chat Completions"; OpenRouter's documentation, "Video Inputs".
template <code_exec_environment E>
class view_media : public detail::described_tool<view_media<E>> {
 public:
  /// Makes the tool for an environment, which the caller keeps open.
  explicit view_media(E& environment)
      : detail::described_tool<view_media<E>>(
            "view_media", "",
            argument_list(argument("path", text, "Path relative to the workspace.").between(1, 4095))),
        environment_(&environment) {
    for (const detail::media_format& each : detail::media_formats)
      if (each.is_documented) formats_.push_back(&each);
    this->description(about(formats_));
  }

  /// Sets the maximum size of the file, in bytes. Default: 10 MiB. A request has about a third more, because files are
  /// sent as base64. Services often limit a request to 20 MB.
  view_media& max_bytes(std::size_t count) {
    max_bytes_ = count;
    return *this;
  }
  /// Sets the formats that the model supports, as MIME types, and the description of the tool accordingly. Default:
  /// audio/wav, audio/mpeg (MP3), video/mp4, video/mpeg, video/quicktime and video/webm. The tool also recognises
  /// audio/flac, audio/ogg, audio/aac, audio/aiff, audio/mp4, audio/webm, video/ogg, video/x-matroska and
  /// video/x-msvideo.
  /// \throws error{exec_errc::invalid_argument} for another type, and if there are none.
  view_media& formats(const std::vector<std::string>& mime_types) {
    format_list accepted;
    for (const std::string& each : mime_types) {
      accepted.push_back(detail::media_format_of(each));
      if (accepted.back() == nullptr)
        throw error(exec_errc::invalid_argument, "view_media: the format '" + one_line(each) + "' is not supported");
    }
    if (accepted.empty()) throw error(exec_errc::invalid_argument, "view_media: there must be at least one format");
    formats_ = std::move(accepted);
    return this->description(about(formats_));
  }

  bool reads_only() const noexcept { return true; }

  awaitable<tool_result> work(checked_arguments arguments) {
    return show(environment_, formats_, max_bytes_, arguments.text("path"));
  }

 private:
  using format_list = std::vector<const detail::media_format*>;

  static tool_result refusal(std::string why) { return tool_result("Error: " + std::move(why), false); }

  static bool has_kind(const format_list& formats, bool video) {
    return std::any_of(formats.begin(), formats.end(),
                       [&](const detail::media_format* each) { return each->is_video() == video; });
  }

  /// Returns the names of the formats, such as "audio/wav or audio/mpeg".
  static std::string names(const format_list& formats) {
    std::string list;
    for (std::size_t i = 0; i < formats.size(); ++i) {
      if (i != 0) list += i + 1 == formats.size() ? " or " : ", ";
      list += formats[i]->mime_type;
    }
    return list;
  }

  static std::string about(const format_list& formats) {
    const bool has_audio = has_kind(formats, false);
    const bool has_video = has_kind(formats, true);
    const char* const what = has_audio && has_video ? "Listen to an audio file or watch a video from the workspace"
                             : has_video            ? "Watch a video from the workspace"
                                                    : "Listen to an audio file from the workspace";
    return std::string(what) + " (" + names(formats) + "). The answer contains the file, so that you can " +
           (has_audio && has_video ? "hear or see"
            : has_video            ? "see"
                                   : "hear") +
           " it. For images use view_image.";
  }

  static awaitable<tool_result> show(E* environment, format_list formats, std::size_t max_bytes, std::string path) {
    const std::string name = "\"" + one_line(path) + "\"";
    const directory_entry found = co_await stat(*environment, path);
    if (found.is_directory()) co_return refusal(name + " is a directory.");
    if (found.type() == file_type::other) co_return refusal(name + " is not a regular file.");
    if (found.size() > max_bytes)
      co_return refusal(name + " has " + std::to_string(found.size()) + " bytes, and the limit is " +
                        std::to_string(max_bytes) + " bytes. " + how_to_shrink(formats));
    bytes content = co_await environment->read_file(path, max_bytes);
    co_return judge(formats, name, path, std::move(content));
  }

  /// Returns the answer for the content of a file: the file, or an error message for the model.
  static tool_result judge(const format_list& formats, const std::string& name, const std::string& path,
                           bytes content) {
    if (content.empty()) return refusal(name + " is empty.");
    const std::optional<detail::media_header> header = detail::read_media_header(content);
    if (!header) {
      const std::optional<detail::image_header> image = detail::read_image_header(content);
      if (image) return refusal(name + " is an image, " + std::string(mime_type(image->format)) + "; use view_image.");
      return refusal(name + " is not an audio or video file of a known format, even if its name suggests it. Files " +
                     "of the type " + names(formats) + " can be viewed.");
    }
    const detail::media_format& format = *header->format;
    if (std::find(formats.begin(), formats.end(), &format) == formats.end())
      return refusal(name + " is " + std::string(format.mime_type) + ", and only files of the type " + names(formats) +
                     " can be viewed. " + how_to_convert(formats, format.is_video()));
    const std::string kind(format.mime_type);
    if (!header->can_play) return refusal(name + " is a broken or cut-off " + kind + " file; create it again.");
    boost::json::object facts;
    facts["path"] = path;
    facts["mime_type"] = kind;
    facts["size_bytes"] = content.size();
    tool_result result((format.is_video() ? "Video " : "Audio ") + name + ": " + kind + ", " +
                           std::to_string(content.size()) + " bytes.",
                       true);
    result.media(format.is_video() ? tool_media::video(std::move(content), kind)
                                   : tool_media::audio(std::move(content), kind));
    result.data(std::move(facts));
    return result;
  }

  /// Returns a name for a file of an accepted format of a kind. MP3 and MP4 come first, because they are small.
  static std::string output_name(const format_list& formats, bool video) {
    std::string_view suffix;
    for (const detail::media_format* const each : formats)
      if (each->is_video() == video && (suffix.empty() || each->suffix == (video ? "mp4" : "mp3")))
        suffix = each->suffix;
    return "OUT." + std::string(suffix);
  }

  static std::string how_to_convert(const format_list& formats, bool video) {
    if (has_kind(formats, video))
      return "Convert it in the workspace, for example with `ffmpeg -i IN " + output_name(formats, video) +
             "`, and view that.";
    return video ? "Extract what you need in the workspace: the sound (ffmpeg -i IN -vn " +
                       output_name(formats, false) + "), or single frames as images."
                 : "Use a command to inspect it.";
  }

  static std::string how_to_shrink(const format_list& formats) {
    std::string hint = "Make a smaller copy in the workspace, or cut out the part you need, and view that. ";
    if (has_kind(formats, false))
      hint += "For audio: `ffmpeg -i IN -ss START -t SECONDS -ac 1 -ar 16000 " + output_name(formats, false) + "`. ";
    if (has_kind(formats, true))
      hint +=
          "For video: `ffmpeg -i IN -ss START -t SECONDS -vf scale=-2:360 -r 5 " + output_name(formats, true) + "`. ";
    hint.pop_back();
    return hint;
  }

  E* environment_;
  format_list formats_;
  std::size_t max_bytes_ = std::size_t{10} * 1024 * 1024;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
