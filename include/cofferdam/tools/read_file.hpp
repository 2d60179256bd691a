// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that reads a text file of a workspace, or some of its lines: `tools::read_file tool(environment);`
///
/// Its arguments are `path`, `offset` and `limit` for a range of lines, or `tail` for the last lines. The first line of
/// the answer has the range and the total number of lines. The lines of the file follow. Bytes that are not valid UTF-8
/// become U+FFFD.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
template <code_exec_environment E>
class read_file : public detail::described_tool<read_file<E>> {
 public:
  /// \param environment  the environment of the files, which the caller keeps open.
  /// \param largest  the maximum size of a file in bytes; a larger file is an error for the model. Default: 16 MiB.
  explicit read_file(E& environment, std::size_t largest = std::size_t{16} * 1024 * 1024)
      : detail::described_tool<read_file<E>>(
            "read_file",
            "Read a text file from the workspace. Returns at most `limit` lines from line `offset` on, or the last "
            "`tail` lines, and the total number of lines, so that you can read large files in parts. For images use "
            "view_image; for other binary files use a command.",
            argument_list(
                argument("path", text, "Path relative to the workspace.").between(1, 4095),
                argument("offset", integer, "First line to return, counting from 1.").between(1, 1e9).otherwise(1),
                argument("limit", integer, "Maximum number of lines to return.").between(1, 10000).otherwise(2000),
                argument("tail", integer, "Return this many lines from the end instead.")
                    .between(1, 10000)
                    .optional())),
        environment_(&environment),
        largest_(largest) {}

  bool reads_only() const noexcept { return true; }

  awaitable<tool_result> work(checked_arguments arguments) {
    return look(environment_, largest_, std::move(arguments));
  }

 private:
  static constexpr std::size_t max_text = 64 * 1024;
  static constexpr std::size_t max_line = 4 * 1024;

  static awaitable<tool_result> look(E* environment, std::size_t largest, checked_arguments arguments) {
    const std::string path = arguments.text("path");
    bytes content;
    try {
      content = co_await environment->read_file(path, largest);
    } catch (const error& failure) {
      if (failure.code() != exec_errc::too_large) throw;
      co_return tool_result("Error: \"" + one_line(path) + "\" is larger than the limit of " + std::to_string(largest) +
                                " bytes; extract the part you need with a command first (head, tail, grep, sed -n).",
                            false);
    }
    co_return show(path, as_text(content), arguments);
  }

  static tool_result show(const std::string& path, std::string_view content, const checked_arguments& arguments) {
    const std::string name = "\"" + one_line(path) + "\"";
    if (content.substr(0, 8192).find('\0') != std::string_view::npos)
      return tool_result("Error: " + name + " is a binary file of " + std::to_string(content.size()) +
                             " bytes; use view_image or a command to inspect it.",
                         false);
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < content.size();) {
      const std::size_t end = std::min(content.find('\n', at), content.size());
      lines.push_back(content.substr(at, end - at));
      at = end + 1;
    }
    std::size_t first = static_cast<std::size_t>(arguments.integer("offset")) - 1;
    std::size_t count = static_cast<std::size_t>(arguments.integer("limit"));
    if (arguments.has("tail")) {
      count = static_cast<std::size_t>(arguments.integer("tail"));
      first = lines.size() - std::min(count, lines.size());
    }
    if (first >= lines.size() && first != 0)
      return tool_result("Error: " + name + " has only " + std::to_string(lines.size()) + " lines.", false);
    std::string text;
    std::size_t shown = 0;
    bool cut = false;
    for (std::size_t at = first; at < lines.size() && shown < count && text.size() < max_text; ++at, ++shown) {
      const std::string_view line = lines[at];
      cofferdam::detail::append_repaired_utf8(
          text, line.size() > max_line ? cofferdam::detail::without_cut_end(line.substr(0, max_line)) : line);
      if (line.size() > max_line) {
        text += " [... " + std::to_string(line.size() - max_line) + " more bytes in this line]";
        cut = true;
      }
      text += '\n';
    }
    cut = cut || shown != lines.size();
    std::string head = name + ": empty";
    if (!lines.empty())
      head = name + ": lines " + std::to_string(first + 1) + " to " + std::to_string(first + shown) + " of " +
             std::to_string(lines.size()) + ", " + std::to_string(content.size()) + " bytes in all";
    boost::json::object facts;
    facts["path"] = path;
    facts["first_line"] = lines.empty() ? 0 : first + 1;
    facts["last_line"] = first + shown;
    facts["total_lines"] = lines.size();
    facts["size_bytes"] = content.size();
    facts["truncated"] = cut;
    facts["content"] = text;
    tool_result result(head + "\n" + text, true);
    result.data(std::move(facts));
    return result;
  }

  E* environment_;
  std::size_t largest_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
