// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/tools/image_header.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that lets a model look at an image in a workspace: `tools::view_image tool(environment);`
///
/// Its arguments are `path` and `shrink`. If the image exceeds a limit, or `shrink` is true, Pillow or ImageMagick in
/// the environment makes a smaller copy, of at most 1568 x 1568 pixels. Other PNG, JPEG, GIF and WebP files are passed
/// on unchanged. The format is detected from the content, not from the name.
/// The width and the height are read from the file's header, and nothing is decoded. If the file is missing, not an
/// image or incomplete, or is too large and neither program is installed, the answer explains this to the model, and
/// what to do.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
/// \par Source    Stirrup's `view_image`, without its defects.
template <code_exec_environment E>
class view_image : public detail::described_tool<view_image<E>> {
 public:
  /// Makes the tool for an environment, which the caller keeps open.
  explicit view_image(E& environment)
      : detail::described_tool<view_image<E>>(
            "view_image",
            "Look at an image file from the workspace (png, jpeg, gif or webp). The answer contains the image, so that "
            "you can see it. Use it to check plots and screenshots you made. An image that is too large is made "
            "smaller.",
            argument_list(
                argument("path", text, "Path relative to the workspace.").between(1, 4095),
                argument("shrink", boolean,
                         "Look at a smaller copy in any case, which costs less. Needs Pillow or ImageMagick in the "
                         "environment.")
                    .otherwise(false))),
        environment_(&environment) {}

  /// Sets the maximum size of the image file, in bytes. Default: 5 MiB.
  view_image& max_bytes(std::size_t count) {
    limits_.bytes = count;
    return *this;
  }
  /// Sets the maximum number of pixels, width times height. Default: 16 million.
  view_image& max_pixels(std::uint64_t count) {
    limits_.pixels = count;
    return *this;
  }

  bool reads_only() const noexcept { return true; }

  awaitable<tool_result> work(checked_arguments arguments) {
    return show(environment_, limits_, arguments.text("path"), arguments.boolean("shrink"));
  }

 private:
  struct limits {
    std::size_t bytes = std::size_t{5} * 1024 * 1024;
    std::uint64_t pixels = 16'000'000;
  };

  static tool_result refusal(std::string why) { return tool_result("Error: " + std::move(why), false); }

  /// \param smaller  true if the model wants a smaller copy. An image that exceeds the limits is made smaller anyway.
  static awaitable<tool_result> show(E* environment, limits maximum, std::string path, bool smaller) {
    const std::string name = "\"" + one_line(path) + "\"";
    const directory_entry found = co_await stat(*environment, path);
    if (found.is_directory()) co_return refusal(name + " is a directory.");
    if (found.type() == file_type::other) co_return refusal(name + " is not a regular file.");
    std::string reason;
    if (found.size() > maximum.bytes) {
      reason = " has " + std::to_string(found.size()) + " bytes, and the limit is " + std::to_string(maximum.bytes) +
               " bytes";
    } else if (!smaller) {
      bytes content = co_await environment->read_file(path, maximum.bytes);
      const std::optional<detail::image_header> header = detail::read_image_header(content);
      if (!header || header->pixels() <= maximum.pixels)
        co_return judge(name, path, std::move(content), maximum, false);
      reason = " has " + std::to_string(header->width) + " x " + std::to_string(header->height) +
               " pixels, and the limit is " + std::to_string(maximum.pixels) + " pixels";
    }
    tool_result result = co_await show_smaller(environment, maximum, std::move(path), std::move(reason));
    co_return result;
  }

  /// Returns the answer for the content of a file: the image, or an error message for the model.
  /// \param scaled  true if the content is a smaller copy.
  static tool_result judge(const std::string& name, const std::string& path, bytes content, limits maximum,
                           bool scaled) {
    const std::optional<detail::image_header> header = detail::read_image_header(content);
    if (!header) {
      if (content.empty()) return refusal(name + " is empty.");
      if (as_text(content).substr(0, 1024).find("<svg") != std::string_view::npos)
        return refusal(name + " is an SVG; convert it to PNG in the workspace and view that.");
      return refusal(name + " is not a png, jpeg, gif or webp image, even if its name suggests it.");
    }
    const std::string kind(detail::mime_type(header->format));
    if (header->format != detail::image_format::png && header->format != detail::image_format::jpeg &&
        header->format != detail::image_format::gif && header->format != detail::image_format::webp)
      return refusal(name + " is " + kind + ", a format that models cannot see; convert it to PNG and view that.");
    if (!header->has_size()) return refusal(name + " is a broken or cut-off " + kind + " file; create it again.");
    const std::string size = std::to_string(header->width) + " x " + std::to_string(header->height);
    if (header->pixels() > maximum.pixels)
      return refusal(name + " has " + size + " pixels even as a smaller copy; the limit is " +
                     std::to_string(maximum.pixels) + " pixels.");
    boost::json::object facts;
    facts["path"] = path;
    facts["mime_type"] = kind;
    facts["width"] = header->width;
    facts["height"] = header->height;
    facts["size_bytes"] = content.size();
    facts["scaled"] = scaled;
    tool_result result("Image " + name + ": " + kind + ", " + size + " pixels" + (scaled ? ", made smaller" : "") + ".",
                       true);
    result.image(tool_image(std::move(content), kind));
    result.data(std::move(facts));
    return result;
  }

  /// A shell script that prints a smaller copy of an image as PNG. The shell opens the file, because an image program
  /// might interpret parts of the file name, such as `png:`.
  static constexpr std::string_view shrink_script =
      "exec < \"$1\" || exit 1\n"
      "if python3 -c 'import PIL' 2>/dev/null; then exec python3 -c '\n"
      "import io, sys\n"
      "from PIL import Image\n"
      "Image.MAX_IMAGE_PIXELS = None\n"
      "image = Image.open(io.BytesIO(sys.stdin.buffer.read()))\n"
      "image.draft(\"RGB\", (1568, 1568))\n"
      "image.thumbnail((1568, 1568))\n"
      "image.convert(\"RGB\").save(sys.stdout.buffer, \"PNG\")'\n"
      "elif command -v magick >/dev/null; then exec magick - -resize '1568x1568>' png:-\n"
      "elif command -v convert >/dev/null; then exec convert - -resize '1568x1568>' png:-\n"
      "else echo 'neither Pillow nor ImageMagick is installed' >&2; exit 127; fi";

  /// \param reason  the reason why the image is too large, as a part of a sentence; empty if it is not.
  static awaitable<tool_result> show_smaller(E* environment, limits maximum, std::string path, std::string reason) {
    const std::string name = "\"" + one_line(path) + "\"";
    std::string inside = path;
    if (!inside.starts_with('/')) inside.insert(0, "./");
    std::vector<std::string> words{"sh", "-c", std::string(shrink_script), "sh", inside};
    command line = argv(std::move(words));
    line.keep_output(2 * maximum.bytes + 2);
    line.timeout(std::chrono::seconds(60));
    const command_result result = co_await environment->run_command(std::move(line));
    std::string failure;
    if (!result.ok()) {
      failure = "could not be made smaller: \"" + one_line(failure_of(result), 300) + "\"";
    } else if (result.out().cut() != 0 || result.out().total() > maximum.bytes) {
      failure = "is too large even after shrinking";
    }
    if (failure.empty()) co_return judge(name, path, result.out().head(), maximum, true);
    co_return refusal(name + reason + (reason.empty() ? " " : ", and it ") + failure +
                      ". Make a smaller copy in the workspace with another tool (a lower dpi for a plot, fewer pixels "
                      "for a picture, at most 1568 x 1568), and view that.");
  }

  /// Returns the reason why the program failed: for a traceback of Python, its last line.
  static std::string failure_of(const command_result& result) {
    if (!result.reason().empty()) return result.reason();
    std::string text = result.err().text();
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

  E* environment_;
  limits limits_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
