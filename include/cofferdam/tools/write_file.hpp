// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that writes a file of a workspace: `tools::write_file tool(environment);` The file is written completely,
/// or it stays unchanged.
///
/// Its arguments are `path`, `content`, `mode` (overwrite, append or create) and `encoding` (utf-8 or base64).
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
template <code_exec_environment E>
class write_file : public detail::described_tool<write_file<E>> {
 public:
  /// \param environment  the environment of the files, which the caller keeps open.
  /// \param largest  the maximum size in bytes of an existing file to which a call may append. Default: 16 MiB.
  explicit write_file(E& environment, std::size_t largest = std::size_t{16} * 1024 * 1024)
      : detail::described_tool<write_file<E>>(
            "write_file",
            "Create or change a file in the workspace. Missing parent directories are created. Prefer this to echo or "
            "here-documents: the content is written exactly as given.",
            argument_list(
                argument("path", text, "Path relative to the workspace.").between(1, 4095),
                argument("content", text, "The whole content; with mode append, the part to add."),
                argument("mode", text,
                         "overwrite replaces the file; append adds to its end; create fails if the file exists.")
                    .one_of({"overwrite", "append", "create"})
                    .otherwise("overwrite"),
                argument("encoding", text, "Set to base64 if content is base64 of binary data.")
                    .one_of({"utf-8", "base64"})
                    .otherwise("utf-8"))),
        environment_(&environment),
        largest_(largest) {}

  awaitable<tool_result> work(checked_arguments arguments) { return put(environment_, largest_, std::move(arguments)); }

 private:
  static awaitable<tool_result> put(E* environment, std::size_t largest, checked_arguments arguments) {
    const std::string path = arguments.text("path");
    const std::string mode = arguments.text("mode");
    const std::string name = "\"" + one_line(path) + "\"";
    bytes added = to_bytes(arguments.text("content"));
    if (arguments.text("encoding") == "base64") {
      std::optional<bytes> decoded = cofferdam::detail::base64_decode(arguments.text("content"));
      if (!decoded) co_return tool_result("Error: 'content' is not base64 (with padding, without line breaks).", false);
      added = std::move(*decoded);
    }
    const std::size_t count = added.size();
    const bool existed = co_await exists(*environment, path);
    if (existed && mode == "create")
      co_return tool_result("Error: " + name + " already exists; use mode overwrite or append, or another path.",
                            false);
    if (existed && mode == "append") {
      bytes before = co_await environment->read_file(path, largest);
      before.insert(before.end(), added.begin(), added.end());
      added = std::move(before);
    }
    const std::size_t slash = path.rfind('/');
    if (!existed && slash != std::string::npos && slash != 0) {
      const std::string folder = path.substr(0, slash);
      co_await make_directory(*environment, folder);
    }
    const bytes_view content(added);
    co_await environment->write_file(path, content);
    boost::json::object facts;
    facts["path"] = path;
    facts["bytes_written"] = count;
    facts["size_bytes"] = added.size();
    facts["created"] = !existed;
    tool_result result((mode == "append" ? "Appended " : "Wrote ") + std::to_string(count) + " bytes to " + name +
                           ", which " + (existed ? "now has " : "is new and has ") + std::to_string(added.size()) +
                           " bytes.",
                       true);
    result.data(std::move(facts));
    co_return result;
  }

  E* environment_;
  std::size_t largest_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
