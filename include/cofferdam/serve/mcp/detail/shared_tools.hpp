// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/schemas.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/list_files.hpp>
#include <cofferdam/tools/read_file.hpp>
#include <cofferdam/tools/tool.hpp>
#include <cofferdam/tools/view_image.hpp>
#include <cofferdam/tools/write_file.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// Functions that add tools of the library or of the user to a server, for all clients.
class shared_tools {
 public:
  /// Adds one tool object that all clients share.
  /// \param what  the description; its input schema is replaced by the tool's schema.
  static void add(server_core& core, tools::any_tool tool, tools::definition what) {
    const auto shared = std::make_shared<tools::any_tool>(std::move(tool));
    what.input(shared->parameters());
    tool_handler serve = [shared](call& invocation) { return run_shared(shared, invocation); };
    core.tools.push_back(std::make_shared<const registered_tool>(std::move(what), std::move(serve)));
  }

  /// Adds a tool that is made for each client, in the client's own environment.
  /// \param what  the description; its input schema is replaced by the tool's schema.
  static void add(server_core& core, workspace::tool_maker make, std::optional<tools::definition> what) {
    any_environment none;
    const tools::any_tool sample = make(none);
    tools::definition described = what ? std::move(*what) : definition_of(sample);
    described.input(sample.parameters());
    tool_handler serve = [make = std::move(make)](call& invocation) { return run(make, invocation); };
    core.tools.push_back(std::make_shared<const registered_tool>(std::move(described), std::move(serve)));
  }

  static tools::definition definition_of(const tools::any_tool& tool) {
    return tools::definition(std::string(tool.name()), std::string(tool.description()))
        .hints(tool.reads_only(), !tool.reads_only(), tool.reads_only(), !tool.reads_only());
  }

  /// Adds the tools read_file, write_file, list_files and view_image.
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
  static tools::definition like(const char* title) {
    any_environment none;
    const T sample(none);
    return tools::definition(std::string(sample.name()), std::string(sample.description())).title(title);
  }

  static awaitable<answer> run(workspace::tool_maker make, call& invocation) {
    const std::shared_ptr<workspace> place = invocation.inside()->place;
    tools::any_tool& tool = place->tool(invocation.name(), make);
    co_await workspace::take_turn(place);
    const cofferdam::detail::held_permits turn = place->turn();
    answer result = co_await reported(tool, invocation);
    co_return result;
  }

  /// \param tool  kept alive by this frame, because the tool may be removed from the server meanwhile.
  static awaitable<answer> run_shared(std::shared_ptr<tools::any_tool> tool, call& invocation) {
    answer result = co_await reported(*tool, invocation);
    co_return result;
  }

  static awaitable<answer> reported(tools::any_tool& tool, call& invocation) {
    const std::shared_ptr<live_report> report =
        invocation.inside()->place->report(invocation.inside(), invocation.name());
    const reporting at_end(report);
    boost::json::value arguments = invocation.arguments();
    tools::tool_output_listener listener;
    if (report) listener = [report](output_stream stream, bytes_view piece) { report->feed(stream, piece); };
    const tools::tool_result result = co_await tool.call(std::move(arguments), std::move(listener));
    answer tool_answer;
    if (!result.text().empty() || (result.images().empty() && result.media().empty()))
      tool_answer.add(content::text(result.text()));
    for (const tools::tool_image& image : result.images())
      tool_answer.add(content::image(image.content(), image.mime_type()));
    std::size_t number = 0;
    for (const tools::tool_media& each : result.media()) {
      const std::string uri = "sandbox://tools/" + invocation.name() + "/video-" + std::to_string(++number);
      // MCP has no block for video, so a video is an embedded resource.
      tool_answer.add(each.kind() == tools::media_kind::audio
                          ? content::audio(each.content(), each.mime_type())
                          : content::resource(uri, each.mime_type(), each.content()));
    }
    if (!result.data().empty()) tool_answer.structured(result.data());
    tool_answer.is_error(!result.ok());
    co_return tool_answer;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
