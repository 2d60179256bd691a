// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/with_opened.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/files/copy_files.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/content.hpp>
#include <cofferdam/serve/mcp/detail/checked_tool.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/results.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/definition.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The tools `upload_file` and `download_file`. They transfer files between a client's environment, the client and two
/// folders of the host.
///
/// A folder of the host is accessed like a workspace: paths and links that lead out of it are refused.
class transfer_tools {
 public:
  static void add_to(server_core& core) {
    const auto self = std::make_shared<const transfer_tools>(core.options());
    if (!self->input_.empty())
      add_checked(core, self, self->upload_arguments_, upload_definition(), &transfer_tools::upload);
    add_checked(core, self, self->download_arguments_, self->download_definition(), &transfer_tools::download);
  }

  explicit transfer_tools(const server_options& options)
      : input_(options.input_folder()), output_(options.output_folder()) {
    using tools::argument;
    upload_arguments_ = tools::argument_list(
        argument("source", tools::text, "Path relative to the shared input folder.").between(1, 4095),
        argument("dest", tools::text,
                 "File or directory in the workspace to copy to. For a directory, end the path in a slash or name an "
                 "existing one.")
            .between(1, 4095)
            .otherwise("."));
    argument deliver = argument("deliver", tools::text,
                                "link: return a resource link. inline: return the bytes, at most 1 MiB." +
                                    std::string(output_.empty() ? "" : " host: copy to the output folder."))
                           .optional();
    download_arguments_ = tools::argument_list(
        argument("path", tools::text, "Path relative to the workspace root. A file, not a directory.").between(1, 4095),
        output_.empty() ? std::move(deliver).one_of({"link", "inline"}).otherwise("link")
                        : std::move(deliver).one_of({"link", "inline", "host"}).otherwise("link"));
  }

 private:
  using self_pointer = std::shared_ptr<const transfer_tools>;
  static constexpr std::size_t max_inline = std::size_t{1024} * 1024;
  /// The maximum size in bytes of a file whose SHA-256 digest is reported, because the file must be read for it.
  static constexpr std::size_t max_digested = std::size_t{8} * 1024 * 1024;
  /// The maximum bytes that one call may copy from or to a folder of the host.
  static constexpr std::uint64_t max_moved = std::uint64_t{1024} * 1024 * 1024;

  static tools::definition upload_definition() {
    return tools::definition("upload_file",
                             "Copy a file or directory from the host's shared input folder into the sandbox workspace. "
                             "`source` is relative to that folder; paths outside it are refused.")
        .title("Copy into sandbox")
        .output(schema_of(R"({"type":"object","properties":{"files":{"type":"array","items":{"type":"object",
          "properties":{"path":{"type":"string"},"size_bytes":{"type":"integer"}},
          "required":["path","size_bytes"],"additionalProperties":false}}},
          "required":["files"],"additionalProperties":false})"))
        .hints(false, true, true, false);
  }

  tools::definition download_definition() const {
    return tools::definition("download_file",
                             "Hand a finished file from the sandbox workspace to the user. By default the answer is a "
                             "link that the client can fetch; set `deliver` to inline to embed a small file" +
                                 std::string(output_.empty() ? "."
                                                             : ", or to host to copy it into the host's output folder, "
                                                               "where it replaces a file of the same name."))
        .title("Hand over a file")
        .output(schema_of(R"({"type":"object","properties":{"path":{"type":"string"},"uri":{"type":"string"},
          "mime_type":{"type":"string"},"size_bytes":{"type":"integer"},"sha256":{"type":"string"},
          "host_path":{"type":"string"}},"required":["path","uri","size_bytes"],"additionalProperties":false})"))
        .hints(false, false, true, false);
  }

  /// Returns a folder of the host as the workspace of a local environment, which is used only for files.
  static local folder(const std::string& path) {
    return local().without_warning().warden(warden_policy::never).workspace(path);
  }

  static void require_all(const transfer_result& moved) {
    if (!moved.ok()) throw moved.failed().front().reason();
  }

  // ---- the tool upload_file ----
  static awaitable<answer> upload(self_pointer self, call& invocation, tools::checked_arguments arguments) {
    const std::shared_ptr<workspace> place = invocation.inside()->place;
    const std::shared_ptr<any_environment> inside = co_await place->environment();
    co_await workspace::take_turn(place);
    const cofferdam::detail::held_permits turn = place->turn();
    const std::string source = arguments.text("source");
    const std::string dest = arguments.text("dest");
    const auto copy = [&](local_environment& from) { return copy_in(from, *inside, source, dest); };
    const transfer_result moved = co_await with(folder(self->input_), copy);
    boost::json::array files;
    std::string text;
    for (const transferred_file& transferred : moved.files()) {
      const std::string shown = one_line(transferred.destination(), 1000);
      text += shown + "  " + std::to_string(transferred.size()) + " bytes\n";
      boost::json::object file;
      file["path"] = shown;
      file["size_bytes"] = transferred.size();
      files.push_back(std::move(file));
    }
    boost::json::object facts;
    facts["files"] = std::move(files);
    answer result(text.empty() ? "The directory is empty.\n" : text);
    result.structured(std::move(facts));
    co_return result;
  }

  static awaitable<transfer_result> copy_in(local_environment& from, any_environment& to, std::string source,
                                            std::string dest) {
    const directory_entry what = co_await from.files().stat(source);
    bool into_directory = co_await is_directory(to, dest);
    into_directory = into_directory || dest.ends_with('/');
    if (into_directory || what.is_directory()) {
      file_set set;
      set.exactly(source).into(dest).at_most(max_moved);
      // A directory that is copied into another directory keeps its name, as a file does.
      if (what.is_directory() && into_directory) set.into(joined(dest, last_part(source)));
      transfer_result moved = co_await copy_files(from, to, std::move(set));
      require_all(moved);
      co_return moved;
    }
    transfer_result moved = co_await copy_as(from, to, source, workspace_path(dest));
    co_return moved;
  }

  /// A temporary folder in a workspace. `close` removes it with its contents.
  class folder_aside {
   public:
    folder_aside(any_environment& inside, std::string path) : inside_(&inside), path_(std::move(path)) {}
    const std::string& path() const noexcept { return path_; }
    awaitable<void> close() { return remove_quietly(*inside_, path_); }

   private:
    static awaitable<void> remove_quietly(any_environment& inside, std::string path) {
      try {
        co_await remove(inside, std::move(path));
      } catch (const error&) {  // the folder was never made, or is removed with the workspace
      }
    }
    any_environment* inside_;
    std::string path_;
  };
  /// A recipe (an object with `open`) for a temporary folder. `with_opened` opens the folder, and closes it at the end.
  class aside {
   public:
    explicit aside(any_environment& inside) : inside_(&inside) {}
    awaitable<folder_aside> open() const { return make(*inside_); }

   private:
    static awaitable<folder_aside> make(any_environment& inside) {
      co_return folder_aside(inside, ".upload-" + cofferdam::detail::random_name(16));
    }
    any_environment* inside_;
  };

  /// Copies a file to another name. The file is copied into a temporary folder and then renamed, so that it never
  /// appears incomplete.
  static awaitable<transfer_result> copy_as(local_environment& from, any_environment& to, std::string source,
                                            std::string dest) {
    const auto move = [&](folder_aside& there) { return move_through(from, to, source, there.path(), dest); };
    transfer_result moved = co_await cofferdam::detail::with_opened<folder_aside>(aside(to), move);
    co_return moved;
  }
  static awaitable<transfer_result> move_through(local_environment& from, any_environment& to, std::string source,
                                                 std::string through, std::string dest) {
    file_set set;
    set.exactly(source).into(through).at_most(max_moved);
    const transfer_result moved = co_await copy_files(from, to, std::move(set));
    require_all(moved);
    const std::size_t slash = dest.rfind('/');
    if (slash != std::string::npos) co_await make_directory(to, dest.substr(0, slash));
    const transferred_file& file = moved.files().front();
    co_await rename(to, file.destination(), dest);
    transfer_result renamed;
    renamed.add(transferred_file(source, dest, file.size()));
    co_return renamed;
  }

  // ---- the tool download_file ----
  static awaitable<answer> download(self_pointer self, call& invocation, tools::checked_arguments arguments) {
    const std::shared_ptr<workspace> place = invocation.inside()->place;
    const std::shared_ptr<any_environment> inside = co_await place->environment();
    co_await workspace::take_turn(place);
    const cofferdam::detail::held_permits turn = place->turn();
    const std::string path = workspace_path(arguments.text("path"));
    const std::string deliver = arguments.text("deliver");
    const directory_entry what = co_await stat(*inside, path);
    if (!what.is_regular())
      throw error(exec_errc::not_a_file,
                  "'" + one_line(path) + "' is not a file; pack a directory with tar or zip first");
    if (deliver == "inline" && what.size() > max_inline)
      throw error(exec_errc::too_large, "'" + one_line(path) + "' has " + std::to_string(what.size()) +
                                            " bytes, but an answer can contain only 1 MiB: use deliver=link");
    const std::string uri = uri_of(path);
    const std::string_view type = mime_type_of(path);
    boost::json::object facts;
    facts["path"] = one_line(path, 4095);
    facts["uri"] = uri;
    if (!type.empty()) facts["mime_type"] = boost::json::string(json_view(type));
    std::uint64_t size = what.size();
    std::optional<content> block;
    std::string text = one_line(path, 1000);
    if (deliver == "host") {
      const std::string& root = self->output_;
      const auto copy = [&](local_environment& to) { return copy_out(*inside, to, path); };
      const transfer_result moved = co_await with(folder(root), copy);
      size = moved.files().front().size();
      const std::string where = (std::filesystem::absolute(root) / path).lexically_normal().string();
      facts["host_path"] = one_line(where, 4095);
      text += " was copied to " + one_line(where, 4095);
    }
    if (size <= max_digested) {
      const bytes file = co_await inside->read_file(path, max_digested);
      size = file.size();
      facts["sha256"] = cofferdam::detail::sha256_digits(as_text(file));
      if (deliver == "inline" && size <= max_inline)
        block = content::resource(uri, type.empty() ? "application/octet-stream" : type, file);
    }
    if (deliver == "link") block = content::link(uri, one_line(path, 200), type);
    facts["size_bytes"] = size;
    text += ", " + std::to_string(size) + " bytes\n";
    answer result(text);
    if (block) result.add(std::move(*block));
    result.structured(std::move(facts));
    co_return result;
  }

  static awaitable<transfer_result> copy_out(any_environment& from, local_environment& to, std::string path) {
    file_set set;
    set.exactly(path).at_most(max_moved);
    const std::size_t slash = path.rfind('/');
    if (slash != std::string::npos) set.into(path.substr(0, slash));
    transfer_result moved = co_await copy_files(from, to, std::move(set));
    require_all(moved);
    co_return moved;
  }

  static std::string last_part(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    return std::string(path.substr(path.rfind('/') + 1));
  }
  static std::string joined(std::string folder, const std::string& name) {
    if (folder == "." || folder == "./") return name;
    while (folder.ends_with('/')) folder.pop_back();
    return folder + "/" + name;
  }

  std::string input_;
  std::string output_;
  tools::argument_list upload_arguments_;
  tools::argument_list download_arguments_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
