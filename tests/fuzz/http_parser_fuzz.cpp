// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the HTTP/1.1 parsers get any bytes, as a response or as a request. They must report the same events, or
// the same refusal, however the stream is cut. They must never report more data than bytes, and never consume a byte
// behind the end. A parsed head that is written again must be one valid head. A server that listens on the loopback
// interface only must refuse requests for another host, and targets other than a path or `*`.
// Input: one byte that selects the parser and its limits, one for the size of the pieces, then the stream.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/http_parser.hpp>
#include <cofferdam/detail/net/http_serializer.hpp>
#include <cofferdam/net/detail/http_admission.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace {

using cofferdam::detail::http_event;

void require(bool holds) {
  if (!holds) std::abort();
}

struct found {
  std::string heads;
  std::string data;
  std::size_t consumed = 0;
  http_event last = http_event::need_more;
  std::error_code cause;
  bool operator==(const found&) const = default;
};

template <class Parser>
found feed(Parser parser, std::string_view stream, std::size_t piece) {
  found result;
  std::string waiting;
  try {
    while (result.last != http_event::end && result.last != http_event::upgrade) {
      const cofferdam::detail::http_step step = parser.parse(cofferdam::as_bytes(waiting));
      require(step.consumed <= waiting.size());
      result.consumed += step.consumed;
      result.data += cofferdam::as_text(step.data);
      if (step.event == http_event::head || step.event == http_event::interim) {
        const std::string text = cofferdam::detail::http_head_text(parser.head());
        require(text.find("\r\n\r\n") == text.size() - 4);
        result.heads += text;
      }
      if (step.event == http_event::end || step.event == http_event::upgrade) result.last = step.event;
      if (step.event == http_event::data) require(!step.data.empty());
      const bool more = step.event == http_event::need_more;
      require(!more || step.consumed == waiting.size());
      waiting.erase(0, step.consumed);
      if (!more) continue;
      if (stream.empty()) {
        result.last = parser.end_of_stream();
        break;
      }
      waiting += stream.substr(0, piece);
      stream.remove_prefix(std::min(piece, stream.size()));
    }
    for (const cofferdam::http_field& field : parser.trailers())
      result.heads += field.name() + "=" + field.value() + "\n";
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::io_error && failure.cause());
    // The amount of data before a refusal depends on the pieces, so only the cause of the refusal is compared.
    return {"", "", 0, http_event::need_more, failure.cause()};
  }
  return result;
}

template <class Parser>
void check(const Parser& parser, std::string_view stream, std::size_t piece) {
  const found whole = feed(parser, stream, stream.size() + 1);
  require(feed(parser, stream, piece) == whole);
  require(feed(parser, stream, 1) == whole);
  require(whole.data.size() <= whole.consumed && whole.consumed <= stream.size());
}

/// Checks the admission of a request. A refusal must have an HTTP error status. A server that listens on the loopback
/// interface must admit only requests for this machine.
void check_admission(const cofferdam::http_parser_limits& limits, std::string_view stream) {
  cofferdam::detail::http_request_parser parser(limits);
  try {
    if (parser.parse(cofferdam::as_bytes(stream)).event != http_event::head) return;
  } catch (const cofferdam::error&) {
    return;
  }
  const cofferdam::http_server_settings settings;
  cofferdam::http_request_head open = parser.head();
  const int elsewhere = cofferdam::detail::admit(open, settings, false);
  cofferdam::http_request_head head = parser.head();
  const int status = cofferdam::detail::admit(head, settings, true);
  require(status == 0 || (status >= 400 && status < 600));
  require(elsewhere == status || status == 421 || elsewhere == 403);
  if (status != 0) return;
  require(head.target == "*" || head.target.front() == '/');
  const auto host = cofferdam::detail::parse_authority(*head.fields.find("Host"));
  require(host && (host->host == "localhost" || host->host == "127.0.0.1" || host->host == "[::1]"));
}

}  // namespace

COFFERDAM_FUZZ_TARGET(http_parser)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  cofferdam::http_parser_limits limits;
  if ((data[0] & 4U) != 0) {
    limits.line = 40;
    limits.head = 120;
    limits.fields = 3;
    limits.interim = 2;
  }
  const std::size_t piece = 1 + data[1] % 40U;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[0] & 1U) != 0) {
    check(cofferdam::detail::http_request_parser(limits), stream, piece);
    check_admission(limits, stream);
  } else {
    check(cofferdam::detail::http_response_parser((data[0] & 2U) != 0 ? "HEAD" : "GET", limits), stream, piece);
  }
  return 0;
}
