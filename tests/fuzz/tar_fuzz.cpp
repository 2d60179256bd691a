// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the tar reader gets any bytes. It must return the same entries, or the same refusal, however the archive
// is cut. No accepted name may lead out of the workspace, not even through symbolic links. The returned entries must
// survive being written and read again.
// Input: one byte for the size of the pieces and for the form of the rest. If the byte is even, the rest is the blocks
// of an archive; the target corrects their checksums and appends the end. If it is odd, each line of the rest becomes
// an entry: the type, then name, link, size and data, separated by tabs.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/net/tar_reader.hpp>
#include <cofferdam/detail/net/tar_writer.hpp>
#include <cofferdam/net/detail/tar_names.hpp>

#include "fuzz/target.hpp"
#include "support/tar_bytes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using cofferdam::exec_errc;
using cofferdam::detail::tar_entry;
using cofferdam::detail::tar_type;
using cofferdam_test::tar_file;
using tar_files = std::vector<tar_file>;

void require(bool holds) {
  if (!holds) std::abort();
}

cofferdam::detail::tar_limits limits() {
  return cofferdam::detail::tar_limits().name(300).pax_header(1000).entries(20).bytes(100'000);
}

struct outcome {
  tar_files files;
  exec_errc refused{};
  bool operator==(const outcome&) const = default;
};

outcome read(std::string_view archive, std::size_t piece) {
  outcome found;
  cofferdam::detail::tar_reader reader(limits());
  bool open = false;
  try {
    while (!archive.empty()) {
      const std::string_view next = archive.substr(0, piece);
      archive.remove_prefix(next.size());
      cofferdam_test::feed_tar(reader, next, found.files, open);
    }
    reader.finish();
  } catch (const cofferdam::error& failure) {
    found.refused = static_cast<exec_errc>(failure.code().value());
    require(found.refused == exec_errc::io_error || found.refused == exec_errc::too_large ||
            found.refused == exec_errc::unsupported);
  }
  std::size_t data = 0;
  for (const tar_file& file : found.files) {
    require(!file.head.name().empty() && file.head.name().size() <= 300 && file.head.link().size() <= 300);
    require(file.data.size() <= file.head.size());
    data += file.data.size();
  }
  require(found.files.size() <= 20 && data <= 100'000);
  return found;
}

std::string repaired(std::string_view blocks) {
  std::string archive(blocks);
  archive.resize((archive.size() + 511) / 512 * 512);
  for (std::size_t at = 0; at < archive.size(); at += 512) {
    const std::string_view block = std::string_view(archive).substr(at, 512);
    if (block.find_first_not_of('\0') == std::string_view::npos) continue;
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i)
      sum += i >= 148 && i < 156 ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(block[i]);
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%06o", sum);
    archive.replace(at + 148, 8, std::string_view(text.data(), 8));
  }
  return archive + cofferdam_test::tar_end();
}

std::string from_lines(std::string_view lines) {
  std::string archive;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    if (line.empty()) continue;
    const char flag = line.front();
    line.remove_prefix(1);
    std::array<std::string, 4> part;
    for (std::string& field : part) {
      const std::string_view text = line.substr(0, line.find('\t'));
      field = text;
      line.remove_prefix(std::min(line.size(), text.size() + 1));
    }
    // The input separates the records of a pax header by bars, and leaves out their lengths. This adds the lengths.
    if (flag == 'x' || flag == 'g') {
      std::string records;
      for (std::string_view rest = part[3]; !rest.empty();) {
        const std::string_view record = rest.substr(0, rest.find('|'));
        rest.remove_prefix(std::min(rest.size(), record.size() + 1));
        const std::size_t equals = std::min(record.find('='), record.size());
        records += cofferdam_test::pax_line(std::string(record.substr(0, equals)),
                                            record.substr(std::min(record.size(), equals + 1)));
      }
      part[3] = records;
    }
    cofferdam_test::tar_header header(part[0], flag, part[3].size());
    header.link(part[1]);
    if (!part[2].empty()) header.put(124, 12, part[2]);
    archive += header.with(part[3]);
  }
  return archive + cofferdam_test::tar_end();
}

// ---- a simulated file system, whose links are followed as a kernel does ---------------------------------------------

using world = std::map<std::string, tar_entry>;

/// Follows `name`, starting in the folder `at`. Aborts if the path leads above the root.
void walk(const world& files, std::vector<std::string>& at, std::string_view name, int& hops) {
  require(!name.starts_with('/'));
  for (const std::string_view part : cofferdam::detail::path_components(name)) {
    if (part == "..") {
      require(!at.empty());
      at.pop_back();
      continue;
    }
    std::string whole;
    for (const std::string& folder : at) whole += folder + "/";
    whole += part;
    const auto found = files.find(whole);
    if (found != files.end() && found->second.type() == tar_type::symlink) {
      if (--hops < 0) return;
      walk(files, at, found->second.link(), hops);
    } else {
      at.emplace_back(part);
    }
  }
}

void expect_inside(const tar_files& files) {
  cofferdam::detail::tar_names names(10'000);
  world extracted;
  std::set<std::string> folders;
  for (const tar_file& file : files) {
    std::string clean;
    try {
      clean = names.admit(file.head);
    } catch (const cofferdam::error&) {
      continue;
    }
    require(cofferdam::workspace_path_or_root(clean) == clean);
    const tar_type type = file.head.type();
    require(type == tar_type::regular || type == tar_type::directory || type == tar_type::symlink ||
            type == tar_type::hard_link);
    // An entry must not replace another one, and its path must not lead through a link or a file.
    const auto previous = extracted.find(clean);
    require(previous == extracted.end() ||
            (type == tar_type::directory && previous->second.type() == tar_type::directory));
    for (std::size_t slash = clean.find('/'); slash != std::string::npos; slash = clean.find('/', slash + 1)) {
      const auto above = extracted.find(clean.substr(0, slash));
      require(above == extracted.end() || above->second.type() == tar_type::directory);
    }
    if (type == tar_type::hard_link) {
      const auto target = extracted.find(cofferdam::workspace_path(file.head.link()));
      require(target != extracted.end());
      require(target->second.type() == tar_type::regular || target->second.type() == tar_type::hard_link);
    }
    extracted.insert_or_assign(clean, file.head);
  }
  for (const auto& [name, entry] : extracted) {
    if (entry.type() != tar_type::symlink) continue;
    std::vector<std::string> at;
    int hops = 40;
    walk(extracted, at, name, hops);
  }
}

void expect_same_again(const tar_files& files) {
  tar_files writable;
  for (const tar_file& file : files) {
    const tar_type type = file.head.type();
    const bool is_plain = type == tar_type::regular || type == tar_type::directory || type == tar_type::symlink ||
                          type == tar_type::hard_link;
    const bool ends_well = !file.head.name().ends_with('/') && file.data.size() == file.head.size();
    if (is_plain && ends_well) writable.push_back(file);
  }
  require(cofferdam_test::read_tar(cofferdam_test::write_tar(writable)) == writable);
}

}  // namespace

COFFERDAM_FUZZ_TARGET(tar)(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1 + data[0] / 2U * 9U;
  const std::string archive = data[0] % 2 == 0 ? repaired(rest) : from_lines(rest);
  const outcome whole = read(archive, archive.size());
  require(read(archive, piece) == whole);
  require(read(rest, piece) == read(rest, rest.size()));
  expect_inside(whole.files);
  expect_same_again(whole.files);
  return 0;
}
