// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/api_version.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Returns true if only BuildKit can build a Dockerfile. That is so if the Dockerfile selects a frontend (`# syntax=`),
/// uses an option of RUN, COPY or ADD that the classic builder does not support, or contains a here-document. The
/// result may also be true for some Dockerfiles that both builders support.
inline bool needs_buildkit(std::string_view dockerfile) {
  const auto lower = [](std::string_view text) {
    std::string copy(text);
    for (char& c : copy)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return copy;
  };
  const auto words_of = [](std::string_view line) {
    std::vector<std::string_view> words;
    constexpr std::string_view blanks = " \t\r\\";
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
      words.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(blanks, end);
    }
    return words;
  };
  const auto has_here_document = [](std::string_view line) {
    for (std::size_t at = line.find("<<"); at != std::string_view::npos; at = line.find("<<", at + 2)) {
      std::string_view rest = line.substr(at + 2);
      if (rest.starts_with('-')) rest.remove_prefix(1);
      if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
      const char c = rest.empty() ? ' ' : rest.front();
      if (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    }
    return false;
  };
  std::string instruction;    // the instruction of the current line, which may begin on an earlier line
  bool in_options = false;    // true while all words after the instruction were options
  bool in_directives = true;  // true while all lines were comments, which may be parser directives
  while (!dockerfile.empty()) {
    const std::string_view line = dockerfile.substr(0, dockerfile.find('\n'));
    dockerfile.remove_prefix(std::min(line.size() + 1, dockerfile.size()));
    std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    if (words.front().starts_with('#')) {
      std::string plain = lower(line);
      std::erase_if(plain, [](char c) { return c == ' ' || c == '\t'; });
      if (in_directives && plain.starts_with("#syntax=")) return true;
      continue;
    }
    in_directives = false;
    if (instruction.empty()) {
      instruction = lower(words.front());
      words.erase(words.begin());
      if (instruction == "onbuild" && !words.empty()) {
        instruction = lower(words.front());
        words.erase(words.begin());
      }
      in_options = true;
    }
    if (instruction == "run" || instruction == "copy" || instruction == "add") {
      for (const std::string_view word : words) {
        in_options = in_options && word.starts_with("--");
        if (!in_options) break;
        const std::string name = lower(word.substr(0, word.find('=')));
        const bool is_classic =
            instruction != "run" && (name == "--chown" || (instruction == "copy" && name == "--from"));
        if (!is_classic) return true;
      }
      if (has_here_document(line)) return true;
    }
    const std::size_t last = line.find_last_not_of(" \t\r");
    if (last == std::string_view::npos || line[last] != '\\') instruction.clear();
  }
  return false;
}

/// The program that builds an image.
enum class builder {
  classic,   ///< the daemon's original builder; also Podman's only builder
  buildkit,  ///< BuildKit, selected by the query parameter `version=2`
};

/// Returns the builder to use. For Podman this is always the classic builder. For Docker it is BuildKit if the daemon
/// prefers BuildKit, or if the Dockerfile needs it (`is_needed`). Each Docker daemon that is new enough for this
/// library has BuildKit, although Docker 20.10 does not report it.
inline builder builder_for(engine_kind kind, bool prefers_buildkit, bool is_needed) {
  if (kind == engine_kind::podman) return builder::classic;
  return prefers_buildkit || is_needed ? builder::buildkit : builder::classic;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
