// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the splitter of shell lines gets any bytes. It must return words or a refusal. Words that are joined and
// split again must stay the same.

#include <cofferdam/detail/core/shell_words.hpp>

#include "fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

COFFERDAM_FUZZ_TARGET(shell_words)(const std::uint8_t* data, std::size_t size) {
  using namespace cofferdam;
  using namespace cofferdam::detail;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const parsed_words parsed = split_shell_words(line);
  if (!parsed.ok()) {
    require(parsed.words().empty());
    require(parsed.position() <= line.size());
    require(!parsed.construct().empty());
    return 0;
  }
  require(line.size() <= max_shell_line);
  require(!parsed.words().empty() && parsed.words().size() <= max_shell_words);
  require(!parsed.words().front().empty());
  std::size_t total = 0;
  for (const std::string& word : parsed.words()) {
    total += word.size();
    require(is_valid_utf8(word));
    require(word.find('\0') == std::string::npos);
  }
  require(total <= line.size());  // the words together are at most as long as the line

  const std::string canonical = join_shell_words(parsed.words());
  if (canonical.size() > max_shell_line) return 0;
  const parsed_words again = split_shell_words(canonical);
  require(again.ok());
  require(again.words() == parsed.words());
  require(join_shell_words(again.words()) == canonical);
  return 0;
}
