// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/tools/list_files.hpp>
#include <cofferdam/tools/read_file.hpp>
#include <cofferdam/tools/tool.hpp>
#include <cofferdam/tools/view_image.hpp>
#include <cofferdam/tools/write_file.hpp>

#include <boost/json/object.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A `tool` of the library or of the user, in each client's own environment.
class shared_tools {
 public:
  /// \param what  the description; its input schema is the tool's own.
  static void add(server_core& core, workspace::tool_maker make, std::optional<tool_definition> what) {
    any_environment none;
    const tools::any_tool sample = make(none);
    tool_definition described =
        what ? std::move(*what)
             : tool_definition(std::string(sample.name()), std::string(sample.description()))
                   .hints(sample.reads_only(), !sample.reads_only(), sample.reads_only(), !sample.reads_only());
    tool_definition whole = std::move(described).input(sample.parameters());
    tool_handler serve = [make = std::move(make)](call& made) { return run(make, made); };
    core.tools.push_back(std::make_shared<const registered_tool>(std::move(whole), std::move(serve)));
  }

  /// Adds read_file, write_file, list_files and view_image.
  static void add_file_tools(server_core& core) {
    add(
        core, [](any_environment& there) { return tools::any_tool(tools::read_file<any_environment>(there)); },
        like<tools::read_file<any_environment>>("Read file")
            .output(schema_of(R"({"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},
              "first_line":{"type":"integer"},"last_line":{"type":"integer"},"total_lines":{"type":"integer"},
              "size_bytes":{"type":"integer"},
              "truncated":{"type":"boolean","description":"True when lines or long line ends were left out."}},
              "required":["path","content","truncated"],"additionalProperties":false})"))
            .hints(true, false, true, false));
    add(
        core, [](any_environment& there) { return tools::any_tool(tools::write_file<any_environment>(there)); },
        like<tools::write_file<any_environment>>("Write file")
            .output(schema_of(R"({"type":"object","properties":{"path":{"type":"string"},
              "bytes_written":{"type":"integer"},"size_bytes":{"type":"integer"},"created":{"type":"boolean"}},
              "required":["path","bytes_written","created"],"additionalProperties":false})"))
            .hints(false, true, false, false));
    add(
        core, [](any_environment& there) { return tools::any_tool(tools::list_files<any_environment>(there)); },
        like<tools::list_files<any_environment>>("List files")
            .output(schema_of(R"({"type":"object","properties":{"path":{"type":"string"},
              "entries":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},
              "type":{"type":"string","enum":["file","dir","symlink","other"]},"size_bytes":{"type":"integer"}},
              "required":["path","type"],"additionalProperties":false}},"next_cursor":{"type":"string"}},
              "required":["entries"],"additionalProperties":false})"))
            .hints(true, false, true, false));
    add(
        core, [](any_environment& there) { return tools::any_tool(tools::view_image<any_environment>(there)); },
        like<tools::view_image<any_environment>>("View image")
            .output(schema_of(R"({"type":"object","properties":{"path":{"type":"string"},"mime_type":{"type":"string"},
              "width":{"type":"integer"},"height":{"type":"integer"},"size_bytes":{"type":"integer"},
              "scaled":{"type":"boolean"}},"required":["path","mime_type"],"additionalProperties":false})"))
            .hints(true, false, true, false));
  }

 private:
  template <class T>
  static tool_definition like(const char* title) {
    any_environment none;
    const T sample(none);
    return tool_definition(std::string(sample.name()), std::string(sample.description())).title(title);
  }

  static awaitable<answer> run(workspace::tool_maker make, call& made) {
    const std::shared_ptr<workspace> place = made.inside()->place;
    tools::any_tool& tool = place->tool(made.name(), make);
    co_await workspace::take_turn(place);
    const cofferdam::detail::held_permits turn = place->turn();
    const std::shared_ptr<live_report> report = place->report(made.inside(), made.name());
    const reporting at_end(report);
    boost::json::value arguments = made.arguments();
    tools::tool_output_listener listener;
    if (report) listener = [report](output_stream stream, bytes_view piece) { report->feed(stream, piece); };
    const tools::tool_result result = co_await tool.call(std::move(arguments), std::move(listener));
    answer said(result.text());
    for (const tools::tool_image& image : result.images()) said.add(content::image(image.content(), image.mime_type()));
    if (!result.data().empty()) said.structured(result.data());
    said.is_error(!result.success());
    co_return said;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
