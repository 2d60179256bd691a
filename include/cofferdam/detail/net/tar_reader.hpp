// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/net/tar_entry.hpp>
#include <cofferdam/net/detail/tar_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The limits of a `tar_reader`.
class tar_limits {
 public:
  tar_limits() = default;
  /// Sets the maximum size of a name and of a link's target.
  /// \param bytes  default 4095.
  tar_limits& name(std::size_t bytes) {
    name_ = bytes;
    return *this;
  }
  /// Sets the maximum size of a pax header, which the reader keeps in memory.
  /// \param bytes  default 1 MiB.
  tar_limits& pax_header(std::size_t bytes) {
    pax_header_ = bytes;
    return *this;
  }
  /// Sets the maximum number of entries and global pax headers together.
  /// \param count  default 200,000.
  tar_limits& entries(std::size_t count) {
    entries_ = count;
    return *this;
  }
  /// Sets the maximum total size of the data of all entries and of the pax headers. The reader adds up the sizes that
  /// the headers announce.
  /// \param count  in bytes. Default 8 GiB.
  tar_limits& bytes(std::uint64_t count) {
    bytes_ = count;
    return *this;
  }

  std::size_t name() const noexcept { return name_; }
  std::size_t pax_header() const noexcept { return pax_header_; }
  std::size_t entries() const noexcept { return entries_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t name_ = max_path;
  std::size_t pax_header_ = std::size_t{1024} * 1024;
  std::size_t entries_ = 200'000;
  std::uint64_t bytes_ = std::uint64_t{8} * 1024 * 1024 * 1024;
};

/// The event that `tar_reader::next` has found.
enum class tar_event {
  more,            ///< all input has been read: feed the next piece
  head,            ///< an entry begins; `entry()` returns it
  data,            ///< `data()` returns a piece of the entry's data
  end_of_entry,    ///< the entry's data is complete; this event also follows an entry without data
  end_of_archive,  ///< the archive is complete; nothing but zeros may follow
};

/// A parser for tar archives. It does no I/O: the input may be cut anywhere.
///
///     tar_reader reader;
///     for (bytes piece = receive(); !piece.empty(); piece = receive()) {
///       reader.feed(piece);
///       for (tar_event event = reader.next(); event != tar_event::more; event = reader.next()) ...
///     }
///     reader.finish();
///
/// The reader supports the formats v7, ustar and pax (headers for one entry and global headers), and GNU tar's long
/// names and base-256 numbers. It refuses archives that two readers could understand differently:
/// - a second pax header for one entry, or a key that is set twice in a header,
/// - a global header that sets names or sizes,
/// - a directory, a link or a device with data,
/// - sparse files and parts of files from other volumes,
/// - a single block of zeros, and any byte except zeros after the end of the archive.
///
/// At most 1 MiB of zeros may follow the archive. Names are returned as they are in the archive, *not* checked: use
/// `tar_names` before unpacking.
///
/// The memory is limited to one block, the names of one entry and one pax header, whatever sizes the archive announces.
/// Data is not copied.
/// \throws       error{exec_errc::io_error} for a damaged or incomplete archive, error{exec_errc::too_large} beyond the
///               limits, error{exec_errc::unsupported} for sparse files and similar extensions. `next()` and `finish()`
///               throw these errors; after an error, every later call throws.
/// \par Threads  one at a time.
/// \par Source   POSIX pax(1); GNU tar's manual, "Basic Tar Format" and "Extensions".
class tar_reader {
 public:
  explicit tar_reader(tar_limits limits = tar_limits()) : limits_(limits) {}

  /// Sets the next piece of the archive.
  /// \param piece   kept by the caller until `next()` returns `more`.
  /// \throws        error{exec_errc::invalid_argument} if `next()` has not returned `more` since the last piece.
  void feed(bytes_view piece) {
    if (!input_.empty())
      throw error(exec_errc::invalid_argument,
                  "tar_reader: call next() until it returns 'more', then call feed() again");
    input_ = as_text(piece);
  }

  /// Reads up to the next event.
  tar_event next() {
    try {
      return read();
    } catch (...) {
      state_ = state::failed;
      input_ = {};
      throw;
    }
  }

  /// Checks that the archive is complete. Call this at the end of the stream.
  /// \throws error{exec_errc::io_error} if the archive is not complete.
  void finish() {
    if (state_ == state::failed) throw failure();
    if (state_ == state::ended) return;
    state_ = state::failed;
    throw error(exec_errc::io_error,
                "the tar archive was cut off after " + std::to_string(position_) + " bytes: its end is missing");
  }

  /// Returns the entry of the last event `head`. It is valid until the next event `head`.
  const tar_entry& entry() const noexcept { return entry_; }
  /// Returns the piece of data of the last event `data`. It is a part of the input, and valid until the next call.
  bytes_view data() const noexcept { return as_bytes(data_); }

 private:
  enum class state { head, extension, data, padding, last_block, ended, failed };

  /// The values from a pax header. They override the values in the header block of the entry.
  struct overrides {
    std::optional<std::string> name;
    std::optional<std::string> link;
    std::optional<std::int64_t> size;
    std::optional<std::int64_t> uid;
    std::optional<std::int64_t> gid;
    std::optional<std::int64_t> modified;
  };

  tar_event read() {
    data_ = {};
    for (;;) {
      switch (state_) {
        case state::head:
          if (!take_block()) return tar_event::more;
          if (is_zero(block())) {
            if (has_extension()) throw damaged("an extension header without an entry after it");
            state_ = state::last_block;
          } else if (read_head()) {
            return tar_event::head;
          }
          break;
        case state::extension: {
          const std::string_view piece = take(left_);
          extension_ += piece;
          left_ -= piece.size();
          if (left_ != 0) return tar_event::more;
          read_extension();
          pad();
          break;
        }
        case state::data:
          if (left_ == 0) {
            pad();
            return tar_event::end_of_entry;
          }
          data_ = take(left_);
          if (data_.empty()) return tar_event::more;
          left_ -= data_.size();
          return tar_event::data;
        case state::padding:
          left_ -= take(left_).size();
          if (left_ != 0) return tar_event::more;
          state_ = state::head;
          break;
        case state::last_block:
          if (!take_block()) return tar_event::more;
          if (!is_zero(block())) throw damaged("a single block of zeros, where an end has two");
          state_ = state::ended;
          return tar_event::end_of_archive;
        case state::ended: {
          const std::string_view rest = take(input_.size());
          if (!is_zero(rest)) throw damaged("data after its end");
          if (rest.size() > max_trailing - trailing_) throw damaged("too many zeros after its end");
          trailing_ += rest.size();
          return tar_event::more;
        }
        case state::failed: throw failure();
      }
    }
  }

  // ---- bytes -------------------------------------------------------------------------------------------------------

  std::string_view take(std::uint64_t max_bytes) noexcept {
    const std::string_view piece =
        input_.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(max_bytes, input_.size())));
    input_.remove_prefix(piece.size());
    position_ += piece.size();
    return piece;
  }

  /// Moves input into the block. Returns true if the block is complete.
  bool take_block() noexcept {
    const std::string_view piece = take(block_.size() - filled_);
    std::copy(piece.begin(), piece.end(), block_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += piece.size();
    if (filled_ != block_.size()) return false;
    filled_ = 0;
    return true;
  }

  std::string_view block() const noexcept { return {block_.data(), block_.size()}; }
  std::string_view field(detail::tar_field where) const noexcept { return block().substr(where.at, where.size); }
  static bool is_zero(std::string_view text) noexcept { return text.find_first_not_of('\0') == std::string_view::npos; }

  void pad() noexcept {
    left_ = padding_;
    state_ = state::padding;
  }

  // ---- headers -----------------------------------------------------------------------------------------------------

  std::int64_t number(detail::tar_field where, const char* what) const {
    const std::optional<std::int64_t> value = detail::tar_number(field(where));
    if (!value) throw damaged(std::string("a header whose ") + what + " is not a number");
    return *value;
  }

  static std::uint64_t not_negative(std::int64_t value, const char* what, const tar_reader& reader) {
    if (value < 0) throw reader.damaged(std::string("a header whose ") + what + " is negative");
    return static_cast<std::uint64_t>(value);
  }

  /// Interprets the header block. Returns true if an entry begins, and false for a header that describes the next
  /// entry.
  bool read_head() {
    const std::optional<std::int64_t> sum = detail::tar_number(field(detail::tar_checksum));
    const detail::tar_sums sums = detail::tar_sums_of(block());
    if (!sum || (*sum != sums.of_unsigned && *sum != sums.of_signed)) throw damaged("a header whose checksum is wrong");
    const char flag = block_[detail::tar_flag.at];
    switch (flag) {
      case 'x':
      case 'g':
      case 'L':
      case 'K': begin_extension(flag); return false;
      case 'S': throw unsupported("a sparse file");
      case 'M': throw unsupported("the rest of a file that began in another volume");
      case 'X': throw unsupported("a header that only Solaris writes");
      default: begin_entry(flag); return true;
    }
  }

  void begin_extension(char flag) {
    const std::uint64_t size = not_negative(number(detail::tar_size, "size"), "size", *this);
    const bool again = flag == 'x'   ? has_pax_
                       : flag == 'L' ? long_name_.has_value()
                                     : flag == 'K' && long_link_.has_value();
    if (again) throw damaged("two headers of the same kind for one entry");
    if (flag == 'g') {
      if (has_extension()) throw damaged("a global header between an entry and its extension header");
      count_entry();
    }
    const bool is_pax = flag == 'x' || flag == 'g';
    // A long name is stored with a NUL at its end, which does not count as a part of the name.
    const std::uint64_t max_size = is_pax ? limits_.pax_header() : std::uint64_t{limits_.name()} + 1;
    if (size > max_size)
      throw too_large((is_pax ? "a pax header of " : "a name of ") + std::to_string(size) + " bytes, more than " +
                      std::to_string(max_size));
    announce(size);
    extension_flag_ = flag;
    extension_.clear();
    left_ = size;
    padding_ = detail::tar_padding(size);
    state_ = state::extension;
  }

  void read_extension() {
    switch (extension_flag_) {
      case 'L': long_name_ = long_text(); break;
      case 'K': long_link_ = long_text(); break;
      case 'g': {
        overrides values = read_pax();
        if (values.name || values.link || values.size) throw damaged("a global header that names a file or its size");
        if (values.uid) global_.uid = values.uid;
        if (values.gid) global_.gid = values.gid;
        if (values.modified) global_.modified = values.modified;
        break;
      }
      default:
        local_ = read_pax();
        has_pax_ = true;
        break;
    }
    extension_.clear();
    if (extension_.capacity() > kept_capacity) extension_.shrink_to_fit();
  }

  std::string long_text() const {
    const std::string_view text = detail::until_nul(extension_);
    if (text.empty() || !is_zero(std::string_view(extension_).substr(text.size())))
      throw damaged("a long name that is empty or contains a NUL");
    return std::string(text);
  }

  overrides read_pax() const {
    overrides values;
    std::string_view rest = extension_;
    while (!rest.empty()) {
      const std::optional<detail::pax_record> record = detail::take_pax_record(rest);
      if (!record) throw damaged("a pax header that cannot be read");
      const std::string_view key = record->key;
      if (key == "path") {
        set_text(values.name, *record);
      } else if (key == "linkpath") {
        set_text(values.link, *record);
      } else if (key == "size") {
        set_number(values.size, *record, false);
      } else if (key == "uid") {
        set_number(values.uid, *record, false);
      } else if (key == "gid") {
        set_number(values.gid, *record, false);
      } else if (key == "mtime") {
        set_number(values.modified, *record, true);
      } else if (key.starts_with("GNU.sparse.") || key.starts_with("SCHILY.realsize")) {
        throw unsupported("a sparse file");
      }
    }
    return values;
  }

  void set_text(std::optional<std::string>& to, const detail::pax_record& record) const {
    if (to) throw damaged("a pax header with the same key twice");
    if (record.value.empty() || record.value.find('\0') != std::string_view::npos)
      throw damaged("a pax header with a name that is empty or contains a NUL");
    if (record.value.size() > limits_.name()) throw long_name(record.value);
    to.emplace(record.value);
  }

  /// \param is_time  true to accept negative numbers and fractions. A fraction is rounded down.
  void set_number(std::optional<std::int64_t>& to, const detail::pax_record& record, bool is_time) const {
    if (to) throw damaged("a pax header with the same key twice");
    std::string_view whole = record.value;
    bool rounds_down = false;
    if (const std::size_t point = whole.find('.'); is_time && point != std::string_view::npos) {
      const std::string_view fraction = whole.substr(point + 1);
      if (fraction.find_first_not_of("0123456789") != std::string_view::npos)
        throw damaged("a pax header with an invalid number");
      whole = whole.substr(0, point);
      rounds_down = whole.starts_with('-') && fraction.find_first_not_of('0') != std::string_view::npos;
    }
    std::optional<std::int64_t> value = detail::decimal<std::int64_t>(whole);
    if (!value || (*value < 0 && !is_time) || (rounds_down && *value == std::numeric_limits<std::int64_t>::min()))
      throw damaged("a pax header with an invalid number");
    to = rounds_down ? *value - 1 : *value;
  }

  // ---- entries -----------------------------------------------------------------------------------------------------

  bool has_extension() const noexcept { return has_pax_ || long_name_ || long_link_; }

  void begin_entry(char flag) {
    count_entry();
    std::string name = entry_name();
    tar_type type = type_of(flag);
    std::int64_t announced = number(detail::tar_size, "size");
    if (local_.size) announced = *local_.size;
    const std::uint64_t size = not_negative(announced, "size", *this);
    // The first tar format had no type for directories: a directory's name ended in a slash instead.
    if (type == tar_type::regular && name.ends_with('/')) type = tar_type::directory;
    if (type == tar_type::directory) {
      while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    }
    if (size != 0 && type != tar_type::regular && type != tar_type::unknown)
      throw damaged("data in an entry whose type allows no data, " + detail::shown_path(name));
    announce(size);
    entry_ = tar_entry(std::move(name), type);
    if (type == tar_type::symlink || type == tar_type::hard_link) entry_.link(entry_link());
    entry_.size(size).mode(static_cast<unsigned>(number(detail::tar_mode, "mode") & 07777));
    entry_.owner(not_negative(chosen(&overrides::uid, detail::tar_uid, "owner"), "owner", *this),
                 not_negative(chosen(&overrides::gid, detail::tar_gid, "group"), "group", *this));
    entry_.modified(chosen(&overrides::modified, detail::tar_modified, "time"));
    local_ = overrides();
    has_pax_ = false;
    long_name_.reset();
    long_link_.reset();
    left_ = size;
    padding_ = detail::tar_padding(size);
    state_ = state::data;
  }

  static tar_type type_of(char flag) noexcept {
    switch (flag) {
      case '0':
      case '\0':
      case '7': return tar_type::regular;  // type 7 is a file whose blocks are contiguous on the disk
      case '1': return tar_type::hard_link;
      case '2': return tar_type::symlink;
      case '3': return tar_type::character_device;
      case '4': return tar_type::block_device;
      case '5': return tar_type::directory;
      case '6': return tar_type::fifo;
      default: return tar_type::unknown;
    }
  }

  std::string entry_name() {
    if (local_.name && long_name_) throw damaged("an entry with two long names");
    if (local_.name) return std::move(*local_.name);
    if (long_name_) return std::move(*long_name_);
    std::string name;
    // GNU tar has another magic, and uses the field of the prefix for other values.
    if (field(detail::tar_magic).starts_with(detail::tar_posix_magic))
      name = detail::until_nul(field(detail::tar_prefix));
    if (!name.empty()) name += '/';
    name += detail::until_nul(field(detail::tar_name));
    return checked(std::move(name), "name");
  }

  std::string entry_link() {
    if (local_.link && long_link_) throw damaged("a link with two long targets");
    if (local_.link) return std::move(*local_.link);
    if (long_link_) return std::move(*long_link_);
    return checked(std::string(detail::until_nul(field(detail::tar_link))), "target");
  }

  std::string checked(std::string text, const char* what) const {
    if (text.empty()) throw damaged(std::string("an entry without a ") + what);
    if (text.size() > limits_.name()) throw long_name(text);
    return text;
  }

  /// Returns a value of the current entry: from its pax header if set there, otherwise from a global pax header,
  /// otherwise from the header block.
  std::int64_t chosen(std::optional<std::int64_t> overrides::*which, detail::tar_field where, const char* what) const {
    if (local_.*which) return *(local_.*which);
    if (global_.*which) return *(global_.*which);
    return number(where, what);
  }

  // ---- limits and errors -------------------------------------------------------------------------------------------

  void count_entry() {
    if (seen_ == limits_.entries()) throw too_large("more than " + std::to_string(limits_.entries()) + " entries");
    ++seen_;
  }

  void announce(std::uint64_t size) {
    if (size > limits_.bytes() - announced_)
      throw too_large("more than " + std::to_string(limits_.bytes()) + " bytes of data");
    announced_ += size;
  }

  std::string place() const { return "the tar archive has, before byte " + std::to_string(position_) + ", "; }
  error damaged(const std::string& what) const {
    return error(exec_errc::io_error, place() + what + ": the archive is damaged");
  }
  error unsupported(const std::string& what) const {
    return error(exec_errc::unsupported, place() + what + ": not supported");
  }
  error too_large(const std::string& what) const {
    return error(exec_errc::too_large, place() + what + ": raise the limit to read this archive");
  }
  error long_name(std::string_view name) const {
    return too_large("the name " + detail::shown_path(name) + ", longer than " + std::to_string(limits_.name()) +
                     " bytes");
  }
  static error failure() {
    return error(exec_errc::io_error, "the tar archive was rejected after an error: it cannot be read further");
  }

  static constexpr std::size_t kept_capacity = std::size_t{16} * 1024;
  static constexpr std::size_t max_trailing = std::size_t{1024} * 1024;  // tar programs pad the archive with zeros

  tar_limits limits_;
  state state_ = state::head;
  std::string_view input_;
  std::string_view data_;
  std::array<char, detail::tar_block> block_{};
  std::size_t filled_ = 0;
  std::uint64_t left_ = 0;
  std::size_t padding_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t announced_ = 0;
  std::size_t seen_ = 0;
  std::size_t trailing_ = 0;
  char extension_flag_ = 'x';
  std::string extension_;
  overrides global_;
  overrides local_;
  bool has_pax_ = false;
  std::optional<std::string> long_name_;
  std::optional<std::string> long_link_;
  tar_entry entry_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
