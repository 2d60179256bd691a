// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/net/detail/tar_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A writer for tar archives. It does no I/O: it returns headers and padding, and the caller sends the data of the
/// entries in between.
///
///     tar_writer writer;
///     send(writer.head(tar_entry("a/b", tar_type::regular).size(data.size())));
///     send(data), writer.data(data.size());  // in pieces of any size
///     send(writer.padding());
///     send(writer.end());
///
/// An entry is written in the format ustar, which every reader supports, if its values fit. Otherwise a pax header is
/// added. That is necessary for a name or a target that is too long or not ASCII, for a size of 8 GiB or more, for an
/// owner above 2,097,151, and for a time before 1970 or after 2242. A name that is not UTF-8 is marked as binary. The
/// same entries always give the same bytes.
///
/// Names are written unchanged. The caller must make sure that they are relative and contain no `..` (see
/// `workspace_path`). The program that unpacks the archive must check them, too.
/// \par Threads  one at a time.
/// \par Source   POSIX pax(1), "ustar Interchange Format" and "pax Extended Header".
class tar_writer {
 public:
  /// Begins an entry and returns its header blocks, a multiple of 512 bytes. The caller must then send `entry.size()`
  /// bytes of data and `padding()`.
  /// \throws error{exec_errc::invalid_argument} if the name or a link's target is empty or has a NUL, if a file's name
  ///     ends in a slash, if an entry has data or a target that its type cannot have, if the previous entry is not
  ///     complete, or if the archive has ended; error{exec_errc::unsupported} for devices, FIFOs and unknown types.
  ///     After an exception, the writer is unchanged.
  bytes head(const tar_entry& entry) {
    if (ended_ || unfinished_) throw misuse("the previous entry is incomplete, or the archive was ended");
    check(entry);
    std::string name = entry.name();
    if (entry.type() == tar_type::directory && !name.ends_with('/')) name += '/';

    std::string records;
    const std::optional<split_name> split = split_to_fit(name);
    if (!split) add_record(records, "path", name);
    const bool link_fits = entry.link().size() <= detail::tar_link.size && is_ascii(entry.link());
    if (!link_fits) add_record(records, "linkpath", entry.link());
    if (entry.size() > octal_most(detail::tar_size)) add_record(records, "size", std::to_string(entry.size()));
    if (entry.uid() > octal_most(detail::tar_uid)) add_record(records, "uid", std::to_string(entry.uid()));
    if (entry.gid() > octal_most(detail::tar_gid)) add_record(records, "gid", std::to_string(entry.gid()));
    if (!time_fits(entry.modified())) add_record(records, "mtime", std::to_string(entry.modified()));
    if (!is_valid_utf8(name) || !is_valid_utf8(entry.link())) {
      std::string mark;
      add_record(mark, "hdrcharset", "BINARY");
      records.insert(0, mark);
    }

    std::string blocks;
    if (!records.empty()) {
      block pax;
      pax.text(detail::tar_name, stand_in);
      pax.common(0644, 0, 0, records.size(), 0, 'x');
      blocks += pax.finished();
      blocks += records;
      blocks.append(detail::tar_padding(records.size()), '\0');
    }
    block own;
    own.text(detail::tar_name, split ? split->name : stand_in);
    if (split) own.text(detail::tar_prefix, split->prefix);
    own.text(detail::tar_link, link_fits ? std::string_view(entry.link()) : stand_in);
    own.common(entry.mode(), fitting(entry.uid(), detail::tar_uid), fitting(entry.gid(), detail::tar_gid),
               fitting(entry.size(), detail::tar_size),
               time_fits(entry.modified()) ? static_cast<std::uint64_t>(entry.modified()) : 0, flag_of(entry.type()));
    blocks += own.finished();

    unfinished_ = true;
    remaining_ = entry.size();
    padding_ = detail::tar_padding(entry.size());
    return to_bytes(blocks);
  }

  /// Records that the caller has sent `count` bytes of the entry's data.
  /// \throws error{exec_errc::invalid_argument} if these are more bytes than the entry's head has announced; the writer
  ///     is then unchanged.
  void data(std::uint64_t count) {
    if (count > remaining_) throw misuse("the entry has more data than its header announced");
    remaining_ -= count;
  }

  /// Returns the number of bytes of the entry's data that the caller must still send.
  std::uint64_t remaining() const noexcept { return remaining_; }

  /// Completes an entry and returns its padding: 0 to 511 zeros.
  /// \throws error{exec_errc::invalid_argument} if data is missing, or if no entry was begun.
  bytes padding() {
    if (!unfinished_ || remaining_ != 0)
      throw misuse("the entry has less data than its header announced, or no entry is open");
    unfinished_ = false;
    return bytes(padding_);
  }

  /// Returns the end of the archive: two blocks of zeros. Call this once.
  /// \throws error{exec_errc::invalid_argument} if an entry is not complete, or if the archive has ended.
  bytes end() {
    if (ended_ || unfinished_) throw misuse("the previous entry is incomplete, or the archive was ended");
    ended_ = true;
    return bytes(2 * detail::tar_block);
  }

 private:
  struct split_name {
    std::string_view prefix;
    std::string_view name;
  };

  /// A header block of 512 bytes.
  class block {
   public:
    void text(detail::tar_field where, std::string_view value) {
      std::copy(value.begin(), value.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(where.at));
    }
    void octal(detail::tar_field where, std::uint64_t value) {
      for (std::size_t at = where.at + where.size - 1; at-- > where.at; value /= 8)
        bytes_[at] = static_cast<char>('0' + value % 8);
    }
    void common(unsigned mode, std::uint64_t uid, std::uint64_t gid, std::uint64_t size, std::uint64_t modified,
                char flag) {
      octal(detail::tar_mode, mode);
      octal(detail::tar_uid, uid);
      octal(detail::tar_gid, gid);
      octal(detail::tar_size, size);
      octal(detail::tar_modified, modified);
      bytes_[detail::tar_flag.at] = flag;
      text(detail::tar_magic, std::string_view("ustar\00000", 8));
    }
    /// Computes the checksum and returns the block. The checksum is six octal digits, a NUL and a blank.
    std::string finished() {
      const auto sum = static_cast<std::uint64_t>(detail::tar_sums_of({bytes_.data(), bytes_.size()}).of_unsigned);
      octal({detail::tar_checksum.at, 7}, sum);
      bytes_[detail::tar_checksum.at + 7] = ' ';
      return {bytes_.data(), bytes_.size()};
    }

   private:
    std::array<char, detail::tar_block> bytes_{};
  };

  /// The name that a header block contains if the entry's real name or target is in the pax header before the block.
  static constexpr std::string_view stand_in = "pax-header";

  static error misuse(const std::string& what) { return error(exec_errc::invalid_argument, "tar_writer: " + what); }

  static void check(const tar_entry& entry) {
    const bool is_link = entry.type() == tar_type::symlink || entry.type() == tar_type::hard_link;
    const auto refuse = [&](const char* what) {
      return misuse("entry " + detail::shown_path(entry.name()) + " " + what);
    };
    if (!is_link && entry.type() != tar_type::regular && entry.type() != tar_type::directory)
      throw error(exec_errc::unsupported, "tar_writer: entry " + detail::shown_path(entry.name()) +
                                              " is neither a file, nor a directory, nor a link");
    if (entry.name().empty()) throw refuse("has no name");
    if (entry.name().find('\0') != std::string::npos || entry.link().find('\0') != std::string::npos)
      throw refuse("has a NUL byte in its name or target");
    if (entry.type() != tar_type::directory && entry.name().ends_with('/'))
      throw refuse("is not a directory, but its name ends in '/'");
    if (is_link == entry.link().empty())
      throw refuse(is_link ? "is a link without a target" : "is not a link, but has a target");
    if (entry.size() != 0 && entry.type() != tar_type::regular) throw refuse("has data, which its type does not allow");
    if (entry.size() > std::uint64_t{1} << 62U) throw refuse("is larger than the maximum size of a file");
  }

  static bool is_ascii(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  }

  /// Splits a name for the two fields of ustar: not at all, or at a slash into at most 155 and 100 bytes. Returns no
  /// value if the name does not fit.
  static std::optional<split_name> split_to_fit(std::string_view name) noexcept {
    if (!is_ascii(name)) return std::nullopt;
    if (name.size() <= detail::tar_name.size) return split_name{{}, name};
    const std::size_t slash = name.find('/', name.size() - 1 - detail::tar_name.size);
    if (slash == std::string_view::npos || slash == 0 || slash > detail::tar_prefix.size || slash + 1 == name.size())
      return std::nullopt;
    return split_name{name.substr(0, slash), name.substr(slash + 1)};
  }

  /// Returns the largest number that fits into a field as octal digits. The last byte of the field is a NUL.
  static constexpr std::uint64_t octal_most(detail::tar_field where) noexcept {
    return (std::uint64_t{1} << (3 * (where.size - 1))) - 1;
  }
  static constexpr std::uint64_t fitting(std::uint64_t value, detail::tar_field where) noexcept {
    return value <= octal_most(where) ? value : 0;
  }
  static constexpr bool time_fits(std::int64_t seconds) noexcept {
    return seconds >= 0 && static_cast<std::uint64_t>(seconds) <= octal_most(detail::tar_modified);
  }

  static char flag_of(tar_type type) noexcept {
    switch (type) {
      case tar_type::directory: return '5';
      case tar_type::symlink: return '2';
      case tar_type::hard_link: return '1';
      default: return '0';
    }
  }

  /// Appends "LENGTH KEY=VALUE\n". LENGTH is the size of the whole record, including the digits of LENGTH.
  static void add_record(std::string& to, std::string_view key, std::string_view value) {
    const std::size_t rest = 1 + key.size() + 1 + value.size() + 1;
    std::size_t size = rest + 1;
    while (size != rest + std::to_string(size).size()) size = rest + std::to_string(size).size();
    to += std::to_string(size);
    to += ' ';
    to += key;
    to += '=';
    to += value;
    to += '\n';
  }

  bool unfinished_ = false;
  bool ended_ = false;
  std::uint64_t remaining_ = 0;
  std::size_t padding_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
