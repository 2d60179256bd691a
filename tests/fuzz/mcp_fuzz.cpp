// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of an MCP server's input get any bytes: lines, messages, HTTP fields, URIs and sealed
// states. The first byte sets the size of the pieces, which must not change the result.

#include <cofferdam/serve/mcp/detail/http_checks.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>
#include <cofferdam/serve/mcp/detail/results.hpp>
#include <cofferdam/serve/mcp/detail/sealed_state.hpp>

#include "fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using namespace cofferdam::mcp::detail;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string read_stream(std::string_view text, std::size_t size) {
  line_reader reader(200);
  rpc_limits limits;
  limits.bytes = 200;
  std::string described;
  for (std::size_t at = 0; at < text.size(); at += size) {
    std::string_view piece = text.substr(at, size);
    for (;;) {
      std::string_view line;
      const line_reader::found found = reader.next(piece, line);
      if (found == line_reader::found::nothing) break;
      if (found == line_reader::found::too_long) {
        described += "(long)";
        continue;
      }
      require(line.size() <= 200 && line.find('\n') == std::string_view::npos);
      const rpc_input input = read_rpc(line, limits);
      for (const rpc_message& message : input.messages) {
        require(message.kind != rpc_kind::request || message.id.is_string() || message.id.is_int64() ||
                message.id.is_uint64());
        described += "[" + message.id_text() + message.method + boost::json::serialize(message.params) + "]";
      }
      for (const auto& [fault, id] : input.faults) {
        const std::string answer = rpc_error(boost::json::serialize(id), fault.code(), fault.message());
        require(answer.find('\n') == std::string::npos);
        described += answer;
      }
    }
    require(piece.empty());
  }
  return described;
}

}  // namespace

COFFERDAM_FUZZ_TARGET(mcp)(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = read_stream(text, text.size() + 1);
  require(read_stream(text, data[0] % 16U + 1U) == whole);

  static_cast<void>(accepts(text, "text/event-stream"));
  static_cast<void>(token_of(text, {"0123456789abcdef"}));
  if (is_own_host(text, {})) require(is_own_name(host_name(text)));
  if (is_own_origin(text, {}, {})) require(lowered(text).starts_with("http"));
  static_cast<void>(decoded_field(text));
  if (const std::optional<std::string> path = path_of(text)) require(path_of(uri_of(*path)) == path);
  if (!text.empty() && text.find('\0') == std::string_view::npos) require(path_of(uri_of(text)) == text);
  const mcp::resource_definition pattern{std::string(text), "x"};
  static_cast<void>(pattern.match("test://1/data"));
  const std::optional<boost::json::object> matched = mcp::resource_definition("a{x}b{+y}", "x").match(text);
  if (matched) require(matched->size() == 2);

  static sealed_states states;
  require(!states.open("purpose", text));
  const std::string sealed = states.seal(text, text);
  require(!states.open("p" + std::string(text), sealed));
  std::string changed = sealed;
  changed[data[0] % changed.size()] ^= 1;
  require(!states.open(text, changed));
  const std::optional<std::string> opened = states.open(text, sealed);
  require(opened.has_value() && !states.open(text, sealed));
  return 0;
}
