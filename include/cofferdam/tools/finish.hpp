// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that a model calls when its work is done: `tools::finish tool(environment);`
///
/// Its arguments are `reason` and `paths`, the files that the user should receive. Every path must be a regular file of
/// the workspace; `files()` of the result are these paths. If a path is wrong, the answer lists the wrong paths, and
/// the work goes on.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
/// \par Source    Stirrup's finish tool, without its defects.
template <code_exec_environment E>
class finish : public detail::described_tool<finish<E>> {
 public:
  /// Makes the tool for an environment, which the caller keeps open.
  explicit finish(E& environment)
      : detail::described_tool<finish<E>>(
            "finish",
            "End the task. Call it alone, when the work is done or cannot continue. List every file the user should "
            "receive.",
            argument_list(
                argument("reason", text, "What was done, or why the work cannot be done."),
                argument(
                    "paths", list_of(text),
                    "Files created or changed for the user, relative to the workspace. Files only, no directories."))),
        environment_(&environment) {}

  bool ends_work() const noexcept { return true; }

  awaitable<tool_result> work(checked_arguments arguments) { return check(environment_, std::move(arguments)); }

 private:
  static awaitable<tool_result> check(E* environment, checked_arguments arguments) {
    const std::vector<std::string> paths = arguments.texts("paths");
    std::string complaints;
    for (const std::string& path : paths) {
      const std::string name = "\"" + one_line(path) + "\" ";
      std::string complaint;
      try {
        const directory_entry found = co_await stat(*environment, path);
        if (found.is_directory()) complaint = name + "is a directory: list the files in it";
        if (found.type() == file_type::symlink) complaint = name + "is a symbolic link: name the file itself";
        if (found.type() == file_type::other) complaint = name + "is not a regular file";
      } catch (const error& failure) {
        if (cofferdam::detail::ends_everything(failure)) throw;
        complaint = failure.code() == exec_errc::not_found ? name + "does not exist" : std::string(failure.what());
      }
      if (!complaint.empty()) complaints += "\n- " + complaint;
    }
    if (!complaints.empty())
      co_return tool_result(
          "Error: the task is not finished, because some paths are not files of the workspace:" + complaints +
              "\nCheck that the files were saved, and call this tool again with the right paths.",
          false);
    boost::json::object facts;
    facts["reason"] = arguments.text("reason");
    boost::json::array list;
    for (const std::string& path : paths) list.emplace_back(path);
    facts["paths"] = std::move(list);
    tool_result result("Finished: " + arguments.text("reason"), true);
    result.files(paths);
    result.data(std::move(facts));
    co_return result;
  }

  E* environment_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
