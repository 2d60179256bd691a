// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of the gateway's requests get any bytes: forms, routes, paths and queries. The first byte
// sets the size of the pieces in which a form arrives.

#include <cofferdam/core/error.hpp>
#include <cofferdam/serve/e2b_gateway/detail/multipart_reader.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::detail;
using namespace cofferdam::e2b_gateway::detail;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "e2b_gateway_fuzz: %s\n", what);
  std::abort();
}

/// Returns the parts of a form that arrives in pieces of `size` bytes, as one text.
std::string parts_of(std::string_view text, std::size_t size) {
  multipart_reader reader("XY");
  std::string parts;
  try {
    const std::size_t limit = 4 * text.size() + 100;
    for (std::size_t steps = 0;; ++steps) {
      require(steps < limit, "the reader does not come to an end");
      const auto event = reader.next();
      if (event == multipart_reader::event::end) return parts + "e";
      if (event == multipart_reader::event::part)
        parts += "[" + reader.name() + "|" + reader.file_name().value_or("-") + "]";
      if (event == multipart_reader::event::content) parts += reader.content();
      if (event == multipart_reader::event::part_end) parts += "$";
      if (event != multipart_reader::event::more) continue;
      if (text.empty()) return parts + "c";
      reader.feed(text.substr(0, size));
      text.remove_prefix(std::min(size, text.size()));
    }
  } catch (const error& failure) {
    require(failure.code() == exec_errc::io_error, "a form fails with another error");
    return parts + "m";
  }
}

void route(std::string_view host, std::string_view id, std::string_view port, std::string_view target) {
  static const request_router router("boxes.test", {});
  http_request_head head;
  head.target = std::string(target);
  for (const auto& [name, value] :
       {std::pair("Host", host), std::pair("E2b-Sandbox-Id", id), std::pair("E2b-Sandbox-Port", port)})
    if (is_field_text(value)) head.fields.append(name, std::string(value));
  const request_route found = router.find(head);
  if (found.where() != request_route::target::sandbox) return;
  require(found.port() != 0 && !found.id().empty(), "a route without a sandbox");
  require(found.id().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos,
          "an id that is none");
}

void walk(std::string_view path) {
  const guest_paths paths("/home/user", "/tmp/x/workspace");
  std::string inside;
  try {
    inside = paths.inside(path);
  } catch (const error& failure) {
    require(failure.code() == exec_errc::outside_workspace || failure.code() == exec_errc::invalid_argument,
            "a path fails with another error");
    return;
  }
  require(!inside.empty() && inside.front() != '/', "a path is absolute");
  for (const std::string_view part : path_components(inside)) require(part != "..", "a path climbs");
  require(paths.inside(paths.outside(inside)) == inside, "a path does not come back");
}

}  // namespace

COFFERDAM_FUZZ_TARGET(e2b_gateway)(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = parts_of(text, text.size() + 1);
  const std::string pieces = parts_of(text, data[0] % 16 + 1U);
  // If the form is malformed, the number of parts before the error depends on the pieces, so only well-formed results
  // are compared.
  if (whole.back() != 'm' && pieces.back() != 'm')
    require(whole == pieces, "the pieces say something else than the whole");
  std::vector<std::string_view> lines;
  for (std::string_view rest = text; lines.size() < 4;) {
    lines.push_back(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), lines.back().size() + 1));
  }
  route(lines[0], lines[1], lines[2], lines[3]);
  for (const std::string_view line : lines) {
    walk(line);
    const query_fields query(line);
    for (const auto& [name, value] : query.all())
      require(name.size() + value.size() <= line.size(), "a query has grown");
  }
  return 0;
}
