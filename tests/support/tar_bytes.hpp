// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/detail/net/tar_reader.hpp>
#include <cofferdam/detail/net/tar_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Functions that build tar archives byte by byte, and read them back. The archives do not come from the library's
// writer, because the writer is under test too.

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline void PrintTo(const tar_entry& entry, std::ostream* to) {
  *to << entry.name() << " type " << static_cast<int>(entry.type()) << " -> '" << entry.link() << "' " << entry.size()
      << " bytes, mode " << std::oct << entry.mode() << std::dec << ", " << entry.uid() << ":" << entry.gid() << ", "
      << entry.modified();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam_test {

/// One entry of an archive, with its data.
struct tar_file {
  cofferdam::detail::tar_entry head;
  std::string data;
  bool operator==(const tar_file&) const = default;
};
inline void PrintTo(const tar_file& file, std::ostream* to) {
  PrintTo(file.head, to);
  *to << ", has " << file.data.size();
}

/// Feeds one more piece to `reader`, and appends the entries and data that the reader finds to `to`. `open` is true
/// while an entry is incomplete. Throws if the events arrive in a wrong order.
inline void feed_tar(cofferdam::detail::tar_reader& reader, std::string_view piece, std::vector<tar_file>& to,
                     bool& open) {
  using cofferdam::detail::tar_event;
  reader.feed(cofferdam::as_bytes(piece));
  for (;;) {
    switch (reader.next()) {
      case tar_event::more: return;
      case tar_event::head:
        if (open) throw std::logic_error("a head within an entry");
        open = true;
        to.push_back({reader.entry(), {}});
        break;
      case tar_event::data:
        if (!open || reader.data().empty()) throw std::logic_error("data without an entry, or none");
        to.back().data += cofferdam::as_text(reader.data());
        break;
      case tar_event::end_of_entry:
        if (!open || to.back().data.size() != to.back().head.size()) throw std::logic_error("an end too early");
        open = false;
        break;
      case tar_event::end_of_archive:
        if (open) throw std::logic_error("the end within an entry");
        break;
    }
  }
}

/// Returns all entries of an archive. Feeds the archive to a reader in pieces of `piece` bytes.
inline std::vector<tar_file> read_tar(std::string_view archive, std::size_t piece = std::string_view::npos,
                                      cofferdam::detail::tar_limits limits = cofferdam::detail::tar_limits()) {
  cofferdam::detail::tar_reader reader(limits);
  std::vector<tar_file> found;
  bool open = false;
  while (!archive.empty()) {
    const std::string_view next = archive.substr(0, piece);
    archive.remove_prefix(next.size());
    feed_tar(reader, next, found, open);
  }
  reader.finish();
  return found;
}

/// Returns an archive of `files`, written by the library's writer.
inline std::string write_tar(const std::vector<tar_file>& files) {
  cofferdam::detail::tar_writer writer;
  std::string archive;
  for (const tar_file& file : files) {
    archive += cofferdam::as_text(writer.head(file.head));
    archive += file.data;
    writer.data(file.data.size());
    archive += cofferdam::as_text(writer.padding());
  }
  archive += cofferdam::as_text(writer.end());
  return archive;
}

/// A header block, written field by field as POSIX describes for pax(1). A test may put a wrong value into each field.
class tar_header {
 public:
  explicit tar_header(std::string_view name, char flag = '0', std::uint64_t size = 0) : block_(512, '\0') {
    put(0, 100, name);
    put(100, 8, "0000644");
    put(108, 8, "0000000");
    put(116, 8, "0000000");
    this->size(size);
    put(136, 12, "00000000000");
    block_[156] = flag;
    put(257, 8,
        std::string_view("ustar\0"
                         "00",
                         8));
  }
  tar_header& put(std::size_t at, std::size_t room, std::string_view value) {
    std::fill_n(block_.begin() + static_cast<std::ptrdiff_t>(at), room, '\0');
    block_.replace(at, std::min(room, value.size()), value.substr(0, room));
    return *this;
  }
  tar_header& size(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "%011llo", static_cast<unsigned long long>(value));
    return put(124, 12, text);
  }
  tar_header& link(std::string_view target) { return put(157, 100, target); }

  std::string bytes() const {
    std::string whole = block_;
    whole.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : whole) sum += static_cast<unsigned char>(c);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    whole.replace(148, 7, std::string_view(text, 7));
    return whole;
  }
  /// Returns the header and its data, padded to a multiple of 512 bytes.
  std::string with(std::string_view data) const {
    std::string whole = bytes() + std::string(data);
    whole.append((512 - data.size() % 512) % 512, '\0');
    return whole;
  }

 private:
  std::string block_;
};

/// Returns the two blocks of zeros that end an archive.
inline std::string tar_end() { return std::string(1024, '\0'); }

/// Returns one record of a pax header: its length, a blank, and `key=value` with a line break.
inline std::string pax_line(const std::string& key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t size = rest + 1;
  while (size != rest + std::to_string(size).size()) ++size;
  return std::to_string(size) + " " + key + "=" + std::string(value) + "\n";
}

/// Returns a special entry, whose content describes the next entry.
inline std::string tar_extension(char flag, const std::string& content) {
  return tar_header("././@Extension", flag, content.size()).with(content);
}
inline std::string pax_header(const std::string& records) { return tar_extension('x', records); }
/// Returns the entry that GNU tar writes before an entry with a long name (flag L) or a long link (flag K).
inline std::string gnu_long(char flag, const std::string& text) {
  return tar_extension(flag, text + std::string(1, '\0'));
}

}  // namespace cofferdam_test
