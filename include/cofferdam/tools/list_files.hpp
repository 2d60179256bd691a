// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/files/glob.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/described_tool.hpp>
#include <cofferdam/tools/tool.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::tools {

/// The tool that lists a directory of a workspace: `tools::list_files tool(environment);`
///
/// Its arguments are `path`, `recursive`, `pattern` (a shell wildcard), `limit` (the maximum number of entries in one
/// answer) and `cursor`. An incomplete answer ends with a cursor, which the next call passes on to continue. The answer
/// has one line for each entry, with its size or type. Names with special characters are quoted and escaped.
/// \par Lifetime  the environment outlives the tool and its calls, and stays at one address.
template <code_exec_environment E>
class list_files : public detail::described_tool<list_files<E>> {
 public:
  /// Makes the tool for an environment, which the caller keeps open.
  explicit list_files(E& environment)
      : detail::described_tool<list_files<E>>(
            "list_files",
            "List a directory of the workspace, in name order, with types and sizes. Set `recursive` to walk "
            "subdirectories and `pattern` to filter. If the answer contains a cursor, there is more: call again with "
            "that cursor.",
            argument_list(
                argument("path", text, "Directory relative to the workspace.").between(1, 4095).otherwise("."),
                argument("recursive", boolean, "Also list all subdirectories.").otherwise(false),
                argument("pattern", text,
                         "Shell wildcard that the path below the directory must match, such as *.csv or src/**/*.py.")
                    .between(1, 4095)
                    .optional(),
                argument("limit", integer, "Maximum number of entries to return.").between(1, 2000).otherwise(200),
                argument("cursor", text, "The cursor of the previous answer.").optional())),
        environment_(&environment) {}

  bool reads_only() const noexcept { return true; }

  awaitable<tool_result> work(checked_arguments arguments) { return look(environment_, std::move(arguments)); }

 private:
  static awaitable<tool_result> look(E* environment, checked_arguments arguments) {
    const std::string path = arguments.text("path");
    list_options options = list_options().entries(max_walked);
    if (!is_deep(arguments)) options.depth(1);
    const std::vector<directory_entry> listed = co_await list_directory(*environment, path, options);
    co_return show(path, listed, arguments);
  }

  /// The maximum number of entries that one call may read. Every call reads the tree again, so a model should list a
  /// larger tree in parts.
  static constexpr std::size_t max_walked = 200'000;

  static bool is_deep(const checked_arguments& arguments) {
    return arguments.boolean("recursive") ||
           (arguments.has("pattern") && arguments.text("pattern").find('/') != std::string::npos);
  }

  static std::string_view kind(const directory_entry& entry) {
    switch (entry.type()) {
      case file_type::regular: return "file";
      case file_type::directory: return "dir";
      case file_type::symlink: return "symlink";
      case file_type::other: break;
    }
    return "other";
  }

  /// Returns the cursor for a page that ends with this name: the name itself, or its base64 form if it has special
  /// characters.
  static std::string cursor_at(const std::string& name) {
    if (one_line(name, 4095) == name && !name.starts_with(not_plain)) return name;
    return std::string(not_plain) +
           cofferdam::detail::base64_encode(as_bytes(name), cofferdam::detail::base64_alphabet::url);
  }
  static std::string name_at(const std::string& cursor) {
    if (!cursor.starts_with(not_plain)) return cursor;
    const std::optional<bytes> name = cofferdam::detail::base64_decode(
        std::string_view(cursor).substr(not_plain.size()), cofferdam::detail::base64_alphabet::url);
    return name ? std::string(as_text(*name)) : cursor;
  }
  static constexpr std::string_view not_plain = "=";

  static tool_result show(const std::string& path, const std::vector<directory_entry>& listed,
                          const checked_arguments& arguments) {
    std::optional<cofferdam::detail::glob> pattern;
    if (arguments.has("pattern")) pattern.emplace(arguments.text("pattern"));
    const std::string prefix = pattern && !pattern->prefix().empty() ? pattern->prefix() + "/" : std::string();
    const std::string cursor = name_at(arguments.text("cursor"));
    const std::size_t limit = static_cast<std::size_t>(arguments.integer("limit"));
    std::string text;
    boost::json::array entries;
    std::string next;
    std::string more;
    std::size_t count = 0;
    for (const directory_entry& each : listed) {
      const std::string& name = each.path();
      if (!cursor.empty() && name <= cursor) continue;
      if (pattern && !(name.starts_with(prefix) && pattern->matches(std::string_view(name).substr(prefix.size()))))
        continue;
      if (count == limit) {
        more = cursor_at(next);
        text += "There is more: call again with cursor \"" + more + "\".\n";
        break;
      }
      ++count;
      next = name;
      const std::string shown = one_line(name, 1000);
      text += shown == name ? shown : "\"" + shown + "\"";
      if (each.is_directory()) text += "/";
      if (each.is_regular()) text += "  " + std::to_string(each.size()) + " bytes";
      if (each.type() == file_type::symlink) text += "  (link)";
      if (each.type() == file_type::other) text += "  (not a file)";
      text += "\n";
      boost::json::object entry;
      entry["path"] = shown;
      entry["type"] = boost::json::string_view(kind(each).data(), kind(each).size());
      if (each.is_regular()) entry["size_bytes"] = each.size();
      entries.push_back(std::move(entry));
    }
    if (count == 0)
      text = pattern          ? "Nothing matches the pattern.\n"
             : cursor.empty() ? "The directory is empty.\n"
                              : "There is nothing more.\n";
    boost::json::object facts;
    facts["path"] = path;
    facts["entries"] = std::move(entries);
    if (!more.empty()) facts["next_cursor"] = more;
    tool_result result(text, true);
    result.data(std::move(facts));
    return result;
  }

  E* environment_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::tools
