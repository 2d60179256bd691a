// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of what a command sends to the proxy get any bytes. SOCKS5 must give the same result however
// the stream is cut. The first bytes of a tunnel must never change their meaning when more bytes follow. A host that
// was parsed must parse to itself. A forwarded request must be one valid head for the host that was requested, without
// fields of the connection. A rule that can be made covers no host outside its name.
// Input: one byte that selects the parser, one for the size of the pieces, then the bytes.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/network/detail/egress_decision.hpp>
#include <cofferdam/network/detail/forwarded_head.hpp>
#include <cofferdam/network/detail/host_name.hpp>
#include <cofferdam/network/detail/socks_parser.hpp>
#include <cofferdam/network/detail/tunnel_opening.hpp>
#include <cofferdam/network/host_rule.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using cofferdam::as_bytes;
using cofferdam::detail::parse_host;
using cofferdam::detail::socks_step;
using cofferdam::detail::tunnel_opening;
using cofferdam::detail::tunnel_protocol;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string socks(std::string_view stream, std::size_t piece) {
  cofferdam::detail::socks_parser parser;
  std::string waiting;
  std::string result;
  while (true) {
    const socks_step step = parser.parse(as_bytes(std::string_view(waiting)));
    require(step.consumed <= waiting.size());
    waiting.erase(0, step.consumed);
    result += step.answer;
    if (step.what == socks_step::event::refused) return result + "refused";
    if (step.what == socks_step::event::request) {
      if (!parser.where()) return result + "invalid";
      require(parse_host(parser.where()->host.text()) == parser.where()->host);
      return result + authority_text(*parser.where()) + parser.user();
    }
    if (step.what == socks_step::event::answer) continue;
    require(step.consumed == 0 && waiting.size() < 600);
    if (stream.empty()) return result + "more";
    waiting += stream.substr(0, piece);
    stream.remove_prefix(std::min(piece, stream.size()));
  }
}

void check_opening(std::string_view text) {
  const cofferdam::detail::host_and_number where(*parse_host("a.example"), 443);
  tunnel_protocol before = tunnel_protocol::undecided;
  std::string problem;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const tunnel_opening opening(as_bytes(text.substr(0, size)));
    if (before != tunnel_protocol::undecided) {
      require(opening.protocol() == before);
      if (before == tunnel_protocol::tls) require(opening.server_name_problem(where) == problem);
    }
    before = opening.protocol();
    if (before == tunnel_protocol::tls) problem = opening.server_name_problem(where);
  }
}

void check_host(std::string_view text) {
  const auto host = parse_host(text);
  if (host) {
    require(parse_host(host->text()) == *host);
    require(host->text().find_first_of("*/@%#?\\ []") == std::string::npos);
  }
  try {
    const cofferdam::host_rule rule(text);
    require(!rule.covers("evil.invalid", 443) || rule.place() == "evil.invalid");
    require(!rule.covers("127.0.0.1", 443) || rule.place() == "127.0.0.1");
    require(cofferdam::host_rule(rule.place()).place() == rule.place());
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::invalid_argument);
  }
}

void check_request(std::string_view stream) {
  cofferdam::detail::http_request_parser parser;
  try {
    if (parser.parse(as_bytes(stream)).event != cofferdam::detail::http_event::head) return;
  } catch (const cofferdam::error&) {
    return;
  }
  const auto target = cofferdam::detail::read_proxy_target(parser.head());
  if (!target.problem.empty() || parser.head().method == "CONNECT") return;
  const auto text =
      cofferdam::detail::forwarded_request(parser.head(), target.target, target.where, nullptr, 80, false);
  cofferdam::detail::http_request_parser again;
  const auto step = again.parse(as_bytes(std::string_view(text.data(), text.size())));
  require(step.event == cofferdam::detail::http_event::head && step.consumed == text.size());
  require(again.head().target.starts_with('/') && again.head().fields.count("Host") == 1);
  require(cofferdam::detail::parse_authority(*again.head().fields.find("Host"), 80) == target.where);
  require(again.head().fields.count("Proxy-Authorization") == 0);
  require(cofferdam::detail::framing_of(again.head().fields) == cofferdam::detail::framing_of(parser.head().fields));
}

}  // namespace

COFFERDAM_FUZZ_TARGET(network)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = 1 + data[1] % 40U;
  std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 4U) {
    case 0: require(socks(stream, piece) == socks(stream, 1) && socks(stream, piece) == socks(stream, size)); break;
    case 1: check_opening(stream.substr(0, 2048)); break;
    case 2: check_host(stream.substr(0, 400)); break;
    default: check_request(stream); break;
  }
  return 0;
}
