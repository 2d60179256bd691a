// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the collector of a command's output gets any output, in any pieces, with any limit on what is kept. It
// must keep the right parts of the whole stream. The text that is shown to a model must be valid UTF-8, must not
// contain terminal controls, and must not imitate a field of the result.
// Input: one byte for the limit, one for the size of the pieces, one for the limit on the shown text, then the output.

#include <cofferdam/core/format_result.hpp>
#include <cofferdam/detail/core/output_collector.hpp>

#include "fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace std::string_view_literals;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void check_captured(const cofferdam::captured_output& kept, std::string_view stream, std::size_t keep) {
  require(kept.total() == stream.size(), "the total is exact");
  if (stream.size() <= keep) {
    require(cofferdam::as_text(kept.head()) == stream && kept.tail().empty() && kept.cut() == 0,
            "what fits is kept whole");
    return;
  }
  require(cofferdam::as_text(kept.head()) == stream.substr(0, keep / 2), "the head is the start");
  require(cofferdam::as_text(kept.tail()) == stream.substr(stream.size() - (keep - keep / 2)), "the tail is the end");
  require(kept.cut() == stream.size() - keep, "the rest is counted");
}

void check_harmless(std::string_view shown, bool may_have_lines) {
  require(cofferdam::detail::is_valid_utf8(shown), "what is shown is UTF-8");
  while (!shown.empty()) {
    const auto unit = cofferdam::detail::decode_utf8(shown);
    const char32_t c = unit.code_point();
    require(c >= 0x20 || (may_have_lines && (c == '\n' || c == '\t')), "no control character");
    require(c < 0x7F || c > 0x9F, "no DEL, no 8-bit control");
    require(c != 0x61C && c != 0x200E && c != 0x200F && (c < 0x2028 || c > 0x202E) && (c < 0x2066 || c > 0x2069),
            "no bidirectional control, no hidden line separator");
    require(c < 0xE0000 || c > 0xE007F, "no invisible letter");
    shown.remove_prefix(unit.size());
  }
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

void check_rendered(std::string_view rendered, std::size_t max_marks) {
  check_harmless(rendered, true);
  std::size_t tags = 0;
  for (const auto tag : {"<shell_results>"sv, "</shell_results>"sv, "<exit_code>"sv, "</exit_code>"sv, "<stdout>"sv,
                         "</stdout>"sv, "<stderr>"sv, "</stderr>"sv}) {
    require(count(rendered, tag) == 1, "each tag is there once");
    ++tags;
  }
  const std::size_t marks = count(rendered, "<cut>part of the text is left out here; the whole text had ");
  require(marks <= max_marks && marks == count(rendered, "</cut>"), "a mark stands only where something was cut");
  require(count(rendered, "<") == tags + 2 * marks && count(rendered, ">") == tags + 2 * marks,
          "there is no other tag");
  require(rendered.starts_with("<shell_results>\n<exit_code>7</exit_code>\n<stdout>"),
          "the fields stand in their order");
  require(rendered.ends_with("</stderr>\n</shell_results>"), "nothing follows the last field");
}

}  // namespace

COFFERDAM_FUZZ_TARGET(output_collector)(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::size_t keep = data[0] == 255 ? 100'000 : data[0];
  const std::size_t piece = 1 + data[1] % 80U;
  const std::size_t limit = data[2] == 255 ? 100'000 : data[2];
  const std::string_view stream(reinterpret_cast<const char*>(data) + 3, size - 3);

  cofferdam::detail::output_collector collector(keep);
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    collector.append(cofferdam::as_bytes(stream.substr(at, piece)));
    if (at % 7 == 0) check_captured(collector.snapshot(), stream.substr(0, at + piece), keep);
  }
  const cofferdam::captured_output kept = collector.take();
  check_captured(kept, stream, keep);
  check_captured(collector.take(), {}, keep);

  const std::string text = kept.text();
  require(cofferdam::detail::is_valid_utf8(text), "the text is UTF-8");
  const std::string shown = cofferdam::printable_text(text);
  check_harmless(shown, true);
  require(shown.size() <= 4 * text.size(), "what is shown is bounded by what was printed");
  const std::string line = cofferdam::one_line(stream, limit);
  check_harmless(line, false);
  require(cofferdam::detail::count_code_points(line) <= (limit < 3 ? 3 : limit), "a line is as long as it may be");

  const auto options = cofferdam::format_options().limit(limit);
  check_rendered(cofferdam::format_result(cofferdam::command_result::exited(7).out(kept).err(kept), options), 2);
  return 0;
}
