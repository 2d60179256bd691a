// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of the Docker backend get any bytes. The first byte selects the parser. For parsers of
// streams the second byte sets the size of the pieces, which must not change the result.

#include <cofferdam/backends/docker/detail/docker_ignore.hpp>
#include <cofferdam/backends/docker/detail/image_name.hpp>
#include <cofferdam/backends/docker/detail/multiplexed_stream.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/progress_stream.hpp>
#include <cofferdam/core/error.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::docker_ignore;
using cofferdam::docker::detail::image_name;
using cofferdam::docker::detail::multiplexed_stream;
using cofferdam::docker::detail::owner_label;
using cofferdam::docker::detail::progress_stream;
using cofferdam::docker::detail::read_process_stat;
using cofferdam::docker::detail::stream_piece;
using namespace cofferdam::docker;

void require(bool holds) {
  if (!holds) std::abort();
}

// Calls `take` for each piece of `size` bytes.
template <class Take>
void cut(std::string_view text, std::size_t size, Take take) {
  for (std::size_t at = 0; at < text.size(); at += size) take(text.substr(at, size));
}

std::string read_frames(std::string_view text, std::size_t size) {
  multiplexed_stream stream;
  std::string channels[4];
  std::string end = "whole";
  try {
    cut(text, size, [&](std::string_view piece) {
      while (const std::optional<stream_piece> found = stream.next(piece)) {
        require(!found->content().empty());
        channels[static_cast<std::size_t>(found->channel())] += found->content();
      }
      require(piece.empty());
    });
    stream.finish();
  } catch (const error& failure) {
    end = failure.what();
  }
  std::string description = end;
  for (const std::string& channel : channels) description += "|" + channel;
  return description;
}

std::string read_progress(std::string_view text, std::size_t size) {
  progress_stream stream(256);
  std::string events;
  try {
    cut(text, size, [&](std::string_view piece) {
      stream.feed(piece);
      while (const std::optional<progress_event> event = stream.next())
        events += std::to_string(static_cast<int>(event->what())) + event->id() + event->text() +
                  std::to_string(event->current()) + "\n";
    });
    stream.finish();
    events += "whole";
  } catch (const error& failure) {
    // The events before a refusal depend on the pieces; the refusal itself does not.
    events = "refused";
  }
  return events;
}

void read_image(std::string_view text) {
  try {
    const image_name name(text);
    const std::string whole = name.text();
    require(whole.size() <= 1024 + 32);
    require(image_name(whole) == name);
    require(image_name(whole).text() == whole);
    require(name.is_id() || name.pull_tag().empty() != (name.pull_from().find('@') == std::string::npos));
    require(whole.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/@[]") ==
            std::string::npos);
  } catch (const error& refusal) {
    require(refusal.code() == exec_errc::invalid_argument);
  }
}

void read_ignore(std::string_view text) {
  const std::size_t zero = std::min(text.find('\0'), text.size());
  const std::string_view path = text.substr(0, zero);
  try {
    const docker_ignore rules(text.substr(std::min(zero + 1, text.size())));
    const bool out = rules.ignored(path);
    // If no later rule includes files of an ignored folder again, all files below the folder are ignored.
    if (!path.empty() && rules.ignores_all_of(path)) {
      require(out);
      require(rules.ignored(std::string(path) + "/x"));
    }
  } catch (const error& refusal) {
    require(refusal.code() == exec_errc::invalid_argument);
  }
}

void read_owner(std::string_view text) {
  const std::optional<owner_label> label = owner_label::parse(text);
  if (label) require(label->text() == text);
  static_cast<void>(read_process_stat(text));
}

}  // namespace

COFFERDAM_FUZZ_TARGET(docker_pieces)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t pieces = data[1] % 16U + 1;
  switch (data[0] % 5) {
    case 0: require(read_frames(text, pieces) == read_frames(text, text.size() + 1)); break;
    case 1: require(read_progress(text, pieces) == read_progress(text, text.size() + 1)); break;
    case 2: read_image(text); break;
    case 3: read_ignore(text); break;
    default: read_owner(text); break;
  }
  return 0;
}
