// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attack FS-10 of the project's catalogue of attacks: hostile tar archives, unpacked into a folder beside a canary.
// The tests check the files on the disk afterwards, and this program's memory. In each control the same unpacker uses
// names and sizes unchecked, and must do harm.

#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/net/tar_reader.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/net/detail/tar_names.hpp>

#include "support/census.hpp"
#include "support/fake_environment.hpp"
#include "support/files_by_members.hpp"
#include "support/run.hpp"
#include "support/tar_bytes.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::exec_errc;
using cofferdam::detail::tar_entry;
using cofferdam::detail::tar_event;
using cofferdam::detail::tar_limits;
using cofferdam::detail::tar_names;
using cofferdam::detail::tar_reader;
using cofferdam::detail::tar_type;
using cofferdam_test::gnu_long;
using cofferdam_test::pax_header;
using cofferdam_test::pax_line;
using cofferdam_test::tar_end;
using cofferdam_test::tar_header;
using cofferdam_test::temporary_folder;
using cofferdam_test::thrown_by;

/// A folder to unpack into. Beside it lie files that no archive may read or change.
class scene {
 public:
  scene() {
    folder_.write("canary", "untouched", 0640);
    folder_.write("outside/secret", "secret", 0640);
    folder_.make_folder("w");
  }
  bool is_untouched() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      const std::string name = entry.path().lexically_relative(folder_.path()).string();
      if (name != "w" && !name.starts_with("w/")) found.insert(name);
    }
    // The archive could use a new hard link to a file outside to change that file later.
    struct stat status {};
    const bool has_one_name = ::stat((folder_ / "canary").c_str(), &status) == 0 && status.st_nlink == 1;
    return has_one_name && found == std::set<std::string>{"canary", "outside", "outside/secret"} &&
           folder_.read("canary") == "untouched" && folder_.read("outside/secret") == "secret" &&
           folder_.mode("canary") == 0640 && folder_.mode("outside/secret") == 0640;
  }
  std::filesystem::path root() const { return folder_ / "w"; }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string read(std::string_view name) const { return folder_.read("w/" + std::string(name)); }

 private:
  temporary_folder folder_;
};

/// A minimal unpacker: joins each name to the root, and creates the entry there.
class unpacker {
 public:
  /// \param names  checks the names of the entries; null means that names are used unchecked.
  unpacker(std::filesystem::path root, tar_names* names) : root_(std::move(root)), names_(names) {}

  /// Unpacks the archive. Stores the errors of single entries in `refused()`, and throws the errors of the archive.
  void unpack(std::string_view archive, tar_limits limits = tar_limits()) {
    tar_reader reader(limits);
    reader.feed(as_bytes(archive));
    for (tar_event event = reader.next(); event != tar_event::more; event = reader.next()) {
      if (event == tar_event::head) begin(reader.entry());
      if (event == tar_event::data && file_.is_open()) file_ << as_text(reader.data());
      if (event == tar_event::end_of_entry && file_.is_open()) file_.close();
    }
    if (names_ != nullptr) reader.finish();
  }

  const std::vector<exec_errc>& refused() const noexcept { return refused_; }
  std::size_t made() const noexcept { return made_; }

 private:
  std::filesystem::path at(const std::string& name) const { return root_.string() + "/" + name; }

  void begin(const tar_entry& entry) {
    std::string name = entry.name();
    std::string target = entry.link();
    if (names_ != nullptr) {
      try {
        name = names_->admit(entry);
      } catch (const cofferdam::error& failure) {
        refused_.push_back(static_cast<exec_errc>(failure.code().value()));
        return;
      }
    }
    ++made_;
    std::error_code ignored;
    // An unpacker without checks uses an absolute name as it is.
    const std::filesystem::path whole = name.starts_with('/') ? std::filesystem::path(name) : at(name);
    std::filesystem::create_directories(whole.parent_path(), ignored);
    switch (entry.type()) {
      case tar_type::regular: file_.open(whole, std::ios::binary); break;
      case tar_type::directory: std::filesystem::create_directories(whole, ignored); break;
      case tar_type::symlink: std::filesystem::create_symlink(target, whole, ignored); break;
      case tar_type::hard_link: std::filesystem::create_hard_link(at(target), whole, ignored); break;
      case tar_type::fifo: ::mkfifo(whole.c_str(), 0666); break;
      default: break;
    }
  }

  std::filesystem::path root_;
  tar_names* names_;
  std::ofstream file_;
  std::vector<exec_errc> refused_;
  std::size_t made_ = 0;
};

struct hostile {
  std::string what;
  std::string blocks;
  std::vector<exec_errc> refused;
};

std::string file(std::string_view name, std::string_view content = "overwritten") {
  return tar_header(name, '0', content.size()).with(content);
}
std::string symlink(std::string_view name, std::string_view target) {
  return tar_header(name, '2').link(target).bytes();
}
std::string hard_link(std::string_view name, std::string_view target) {
  return tar_header(name, '1').link(target).bytes();
}

TEST(Attack, FS_10_no_archive_writes_outside_the_folder_it_is_unpacked_into) {
  const auto archives = [](const scene& place) {
    const exec_errc out = exec_errc::outside_workspace;
    std::vector<hostile> attacks;
    attacks.push_back({"dots", file("../canary"), {out}});
    attacks.push_back({"dots behind a folder", tar_header("a/", '5').bytes() + file("a/../../canary"), {out}});
    attacks.push_back({"an absolute name", file(place.path("canary")), {out}});
    attacks.push_back({"a pax path", pax_header(pax_line("path", "../canary")) + file("harmless"), {out}});
    attacks.push_back({"a GNU name", gnu_long('L', "../canary") + file("harmless"), {out}});
    attacks.push_back({"a prefix", tar_header("canary", '0', 1).put(345, 155, "..").with("x"), {out}});
    attacks.push_back({"a file through a link", symlink("a", "..") + file("a/canary"), {out, out}});
    attacks.push_back(
        {"a file through an absolute link", symlink("a", place.path("outside")) + file("a/secret"), {out, out}});
    attacks.push_back({"a new file through a link", symlink("a", "../outside") + file("a/new"), {out, out}});
    attacks.push_back({"a file over a link", symlink("a", "../canary") + file("a"), {out, exec_errc::collision}});
    attacks.push_back(
        {"a file over a link, spelt otherwise", symlink("a", "../canary") + file("./a"), {out, exec_errc::collision}});
    attacks.push_back(
        {"a long link", gnu_long('K', "../canary") + symlink("a", "x") + file("a"), {out, exec_errc::collision}});
    attacks.push_back({"a pax link",
                       pax_header(pax_line("linkpath", "../canary")) + symlink("a", "x") + file("a"),
                       {out, exec_errc::collision}});
    // The target "dot/dot/.." looks like "dot", but is the folder above the root. Each link alone points into the
    // root.
    attacks.push_back(
        {"a longer chain of links", symlink("dot", ".") + symlink("up", "dot/dot/..") + file("up/canary"), {out, out}});
    attacks.push_back(
        {"a chain of links", symlink("dot", ".") + symlink("up", "dot/..") + file("up/canary"), {out, out}});
    attacks.push_back(
        {"a link made of a link",
         tar_header("d/e/", '5').bytes() + symlink("s", "d/e") + symlink("u", "s/../../..") + file("u/canary"),
         {out, out}});
    // The link "s" leads two folders up, to the root. The target "s/.." looks like one folder up from there, but is
    // the folder above the root.
    attacks.push_back({"a link that goes down through another and up again",
                       symlink("x/y/s", "../..") + symlink("x/y/u", "s/..") + file("x/y/u/canary"),
                       {out, out}});
    attacks.push_back({"a hard link", hard_link("a", "../canary"), {out}});
    attacks.push_back(
        {"a file over a hard link", hard_link("a", "../canary") + file("a"), {out, exec_errc::collision}});
    attacks.push_back(
        {"a hard link through a link", symlink("a", "..") + hard_link("b", "a/canary"), {out, exec_errc::not_found}});
    attacks.push_back(
        {"a folder through a link", symlink("a", "../outside") + tar_header("a/new/", '5').bytes(), {out, out}});
    return attacks;
  };
  const scene first;
  for (std::size_t i = 0; i < archives(first).size(); ++i) {
    {
      const scene place;
      const hostile attack = archives(place)[i];
      SCOPED_TRACE(attack.what);
      tar_names names;
      unpacker careful(place.root(), &names);
      careful.unpack(file("before", "1") + attack.blocks + file("behind", "2") + tar_end());
      EXPECT_TRUE(place.is_untouched());
      EXPECT_EQ(careful.refused(), attack.refused);
      EXPECT_EQ(place.read("before") + place.read("behind"), "12") << "the rest arrives";
    }
    // Control: the same archive does harm if its names are not checked.
    const scene place;
    const hostile attack = archives(place)[i];
    unpacker naive(place.root(), nullptr);
    naive.unpack(attack.blocks + tar_end());
    EXPECT_FALSE(place.is_untouched()) << "the control did not fall for: " << attack.what;
  }
}

TEST(Attack, FS_10_devices_duplicates_and_files_as_folders_are_refused) {
  const std::vector<hostile> archives{
      {"a character device", tar_header("dev", '3').bytes(), {exec_errc::not_a_file}},
      {"a block device", tar_header("dev", '4').bytes(), {exec_errc::not_a_file}},
      {"a FIFO", tar_header("pipe", '6').bytes(), {exec_errc::not_a_file}},
      {"an unknown type", tar_header("dev", 'D', 3).with("abc"), {exec_errc::not_a_file}},
      {"one name twice", file("x", "first") + file("x", "second"), {exec_errc::collision}},
      {"one name twice, spelt differently", file("x", "first") + file(".//x", "second"), {exec_errc::collision}},
      {"a file where a folder is", tar_header("x/", '5').bytes() + file("x"), {exec_errc::collision}},
      {"a file beneath a file", file("x", "first") + file("x/y"), {exec_errc::not_a_directory}},
      {"a hard link to itself", hard_link("x", "x"), {exec_errc::not_found}},
      {"a hard link to what was refused",
       tar_header("dev", '4').bytes() + hard_link("x", "dev"),
       {exec_errc::not_a_file, exec_errc::not_found}},
      {"a file as the root", file("."), {exec_errc::collision}}};
  for (const hostile& attack : archives) {
    SCOPED_TRACE(attack.what);
    const scene place;
    tar_names names;
    unpacker careful(place.root(), &names);
    careful.unpack(attack.blocks + tar_end());
    EXPECT_EQ(careful.refused(), attack.refused);
    EXPECT_TRUE(place.is_untouched());
  }
  // Control: an unpacker without checks creates the FIFO, and overwrites the first file "x" with the second.
  const scene place;
  unpacker naive(place.root(), nullptr);
  naive.unpack(tar_header("pipe", '6').bytes() + file("x", "first") + file("./x", "second") + tar_end());
  EXPECT_TRUE(std::filesystem::is_fifo(place.root() / "pipe"));
  EXPECT_EQ(place.read("x"), "second");
}

TEST(Attack, FS_10_sizes_that_lie_cost_nothing_and_are_refused) {
  const std::string huge("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xfe\0", 12);
  const std::string negative("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  const std::string mebibyte(std::size_t{1} << 20U, 'n');
  const std::vector<std::pair<std::string, exec_errc>> archives{
      {tar_header("x").put(124, 12, huge).bytes(), exec_errc::too_large},
      {tar_header("x").put(124, 12, "77777777777").bytes() + tar_end(), exec_errc::io_error},
      {tar_header("x").put(124, 12, negative).bytes(), exec_errc::io_error},
      {pax_header(pax_line("size", "9223372036854775807")) + tar_header("x").bytes(), exec_errc::too_large},
      {pax_header(pax_line("size", "-1")) + tar_header("x").bytes(), exec_errc::io_error},
      {tar_header("x", 'x').put(124, 12, huge).bytes(), exec_errc::too_large},
      {tar_header("x", 'x').put(124, 12, "4000000").bytes(), exec_errc::io_error},
      {tar_header("x", 'L').put(124, 12, "77777777777").bytes(), exec_errc::too_large},
      {gnu_long('L', mebibyte) + file("x"), exec_errc::too_large},
      {gnu_long('K', mebibyte) + symlink("x", "y"), exec_errc::too_large},
      {pax_header(pax_line("path", std::string_view(mebibyte).substr(100))) + file("x"), exec_errc::too_large},
      {tar_header("sparse", 'S').put(124, 12, "1000").put(483, 12, "120000000000").bytes(), exec_errc::unsupported},
      {pax_header(pax_line("GNU.sparse.realsize", "10737418240")) + file("x"), exec_errc::unsupported},
  };
  const cofferdam_test::memory_growth memory;
  for (const auto& [archive, expected] : archives) {
    for (const std::size_t piece : {std::string::npos, std::size_t{512}, std::size_t{100}}) {
      EXPECT_EQ(thrown_by([&] { cofferdam_test::read_tar(archive, piece); }), expected);
    }
  }
  // The limit counts the sum of all sizes, each of which is valid alone. Control: one of the two files is accepted.
  const std::string half = file("x", std::string(600, 'x'));
  EXPECT_EQ(thrown_by([&] {
              cofferdam_test::read_tar(half + half + tar_end(), std::string::npos, tar_limits().bytes(1000));
            }),
            exec_errc::too_large);
  EXPECT_EQ(cofferdam_test::read_tar(half + tar_end(), std::string::npos, tar_limits().bytes(1000)).size(), 1U);
  if (memory.is_exact() && !cofferdam_test::is_sanitized()) {
    EXPECT_LT(memory.peak(), std::size_t{16} << 20U);
  }
  // Control: a reader that reserves the announced size would reserve 2^62 bytes for an archive of one block.
  tar_reader trusting(tar_limits().bytes(~std::uint64_t{0}));
  trusting.feed(as_bytes(archives.front().first));
  ASSERT_EQ(trusting.next(), tar_event::head);
  EXPECT_GT(trusting.entry().size(), std::uint64_t{1} << 62U);
}

/// A minimal reader of tar archives. Where implementations differ, a flag selects one of two behaviours.
class simple_reader {
 public:
  bool skips_data_of_links = true;  // true: skips the data of a link; false: reads it as entries
  bool takes_last_header = true;    // true: the last of two name headers counts; false: the first
  bool prefers_pax = true;          // true: a pax name wins over a GNU long name; false: the GNU name wins
  bool takes_global_names = true;   // true: uses names in global headers; false: ignores them
  bool checks_sums = true;          // true: skips headers with a wrong checksum; false: accepts them
  bool ends_at_one_block = true;    // true: the archive ends at the first block of zeros; false: at the second
  bool ends_at_end = true;          // true: ignores bytes after the end; false: reads them as another archive
  bool cuts_names_at_nul = true;    // true: cuts a long name at its first NUL; false: uses all bytes
  bool drops_names_without = true;  // true: drops a name header without an entry; false: reports its name

  std::vector<std::string> names(std::string_view archive) const {
    std::vector<std::string> found;
    std::string pax;
    std::string gnu;
    std::string global;
    const auto keep = [&](std::string& name, std::string new_name) {
      if (name.empty() || takes_last_header) name = std::move(new_name);
    };
    int zeros = 0;
    while (archive.size() >= 512) {
      const std::string_view head = archive.substr(0, 512);
      archive.remove_prefix(512);
      if (head.find_first_not_of('\0') == std::string_view::npos) {
        ++zeros;
        if (ends_at_end && (ends_at_one_block || zeros == 2)) break;
        continue;
      }
      if (checks_sums && !has_its_sum(head)) continue;
      const char flag = head[156];
      const auto size = static_cast<std::size_t>(std::strtoull(std::string(head.substr(124, 12)).c_str(), nullptr, 8));
      const bool is_link = flag == '1' || flag == '2';
      const std::string_view data = archive.substr(0, size);
      if (!is_link || skips_data_of_links) archive.remove_prefix(std::min(archive.size(), (size + 511) / 512 * 512));
      if (flag == 'L') {
        keep(gnu, std::string(cuts_names_at_nul ? data.substr(0, data.find('\0')) : data.substr(0, data.size() - 1)));
      } else if (flag == 'x' || flag == 'g') {
        const std::size_t at = data.find("path=");
        const std::string path_name(at == std::string_view::npos ? data.substr(0, 0)
                                                                 : data.substr(at + 5, data.find('\n', at) - at - 5));
        if (flag == 'x') keep(pax, path_name);
        if (flag == 'g' && takes_global_names) global = path_name;
      } else {
        std::string name(head.substr(0, std::min<std::size_t>(head.find('\0'), 100)));
        if (!global.empty()) name = global;
        if (!gnu.empty()) name = gnu;
        if (!pax.empty() && (prefers_pax || gnu.empty())) name = pax;
        found.push_back(name);
        pax.clear();
        gnu.clear();
      }
    }
    if (!drops_names_without && !(pax + gnu).empty()) found.push_back(pax + gnu);
    return found;
  }

 private:
  static bool has_its_sum(std::string_view head) {
    unsigned long sum = 0;
    for (std::size_t i = 0; i < head.size(); ++i)
      sum += i >= 148 && i < 156 ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(head[i]);
    return std::strtoul(std::string(head.substr(148, 8)).c_str(), nullptr, 8) == sum;
  }
};

TEST(Attack, FS_10_what_two_readers_could_understand_differently_is_refused_before_it_is_made) {
  struct ambiguous {
    const char* what;
    std::string blocks;
    bool simple_reader::*choice;
  };
  const std::string hidden = file("hidden", "hidden");
  std::string wrong_sum = file("hidden", "hidden");
  wrong_sum[148] = wrong_sum[148] == '0' ? '1' : '0';
  const std::string zeros(512, '\0');
  const std::vector<ambiguous> archives{
      {"a symbolic link that holds an entry", tar_header("a", '2', 1024).link("b").with(hidden),
       &simple_reader::skips_data_of_links},
      {"a hard link that holds an entry", file("b") + tar_header("a", '1', 1024).link("b").with(hidden),
       &simple_reader::skips_data_of_links},
      {"two pax headers", pax_header(pax_line("path", "shown")) + pax_header(pax_line("path", "hidden")) + file("x"),
       &simple_reader::takes_last_header},
      {"two long names", gnu_long('L', "shown") + gnu_long('L', "hidden") + file("x"),
       &simple_reader::takes_last_header},
      {"a long name and a path", gnu_long('L', "shown") + pax_header(pax_line("path", "hidden")) + file("x"),
       &simple_reader::prefers_pax},
      {"a global path", cofferdam_test::tar_extension('g', pax_line("path", "hidden")) + file("x"),
       &simple_reader::takes_global_names},
      {"a sum that is wrong", wrong_sum + file("x"), &simple_reader::checks_sums},
      {"one block of zeros", file("x") + zeros + hidden, &simple_reader::ends_at_one_block},
      {"an archive behind the archive", file("x") + tar_end() + hidden, &simple_reader::ends_at_end},
      {"a long name with a NUL inside", gnu_long('L', std::string("shown\0hidden", 12)) + file("x"),
       &simple_reader::cuts_names_at_nul},
      {"a name and no entry", file("x") + pax_header(pax_line("path", "hidden")), &simple_reader::drops_names_without},
  };
  for (const ambiguous& sample : archives) {
    SCOPED_TRACE(sample.what);
    const std::string archive = sample.blocks + tar_end();
    // Control: two simple readers, both valid, list different entries for this archive.
    const simple_reader first;
    simple_reader second;
    second.*sample.choice = false;
    EXPECT_NE(first.names(archive), second.names(archive));
    for (const std::size_t piece : {std::string::npos, std::size_t{100}})
      EXPECT_EQ(thrown_by([&] { cofferdam_test::read_tar(archive, piece); }), exec_errc::io_error);
    const scene place;
    tar_names names;
    unpacker careful(place.root(), &names);
    EXPECT_EQ(thrown_by([&] { careful.unpack(archive); }), exec_errc::io_error);
    EXPECT_FALSE(std::filesystem::exists(place.root() / "hidden"));
  }
  // Writers pad an archive with at most 1 MiB of zeros. Longer padding is refused, because it could continue for
  // ever.
  const std::string whole = file("x") + tar_end();
  EXPECT_EQ(cofferdam_test::read_tar(whole + std::string(std::size_t{1} << 20U, '\0')).size(), 1U);
  EXPECT_EQ(thrown_by([&] { cofferdam_test::read_tar(whole + std::string((std::size_t{1} << 20U) + 512, '\0')); }),
            exec_errc::io_error);
}

TEST(Attack, FS_10_a_million_entries_are_refused_within_bounded_memory) {
  // Feeds the reader an archive that never ends, one entry at a time.
  const auto read_on = [](tar_reader& reader, tar_names& names, std::size_t count) {
    std::size_t read = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string header = tar_header("d" + std::to_string(i % 1000) + "/" + std::to_string(i)).bytes();
      reader.feed(as_bytes(header));
      for (tar_event event = reader.next(); event != tar_event::more; event = reader.next()) {
        if (event != tar_event::head) continue;
        names.admit(reader.entry());
        ++read;
      }
    }
    return read;
  };
  const cofferdam_test::memory_growth memory;
  {
    tar_reader reader;
    tar_names names;
    EXPECT_EQ(thrown_by([&] { read_on(reader, names, 1'000'000); }), exec_errc::too_large);
  }
  {
    tar_reader reader(tar_limits().entries(1'000'000));
    tar_names names(std::size_t{10} << 20U);
    EXPECT_EQ(thrown_by([&] { read_on(reader, names, 1'000'000); }), exec_errc::too_large)
        << "the names' memory ends first";
  }
  // Global headers count towards the limit of entries too.
  tar_reader reader;
  const std::string global = cofferdam_test::tar_extension('g', pax_line("comment", "x"));
  EXPECT_EQ(thrown_by([&] {
              for (std::size_t i = 0; i < 1'000'000; ++i) {
                reader.feed(as_bytes(global));
                while (reader.next() != tar_event::more) {
                }
              }
            }),
            exec_errc::too_large);
  if (memory.is_exact() && !cofferdam_test::is_sanitized()) {
    EXPECT_LT(memory.peak(), std::size_t{128} << 20U);
  }
  // Control: with higher limits, the reader accepts more entries than the defaults allow.
  tar_reader patient(tar_limits().entries(300'000));
  tar_names names;
  EXPECT_EQ(read_on(patient, names, 250'000), 250'000U);
}

TEST(Attack, FS_10_names_made_to_be_slow_are_not) {
  // Each name is nested 2,000 folders deep. The time per name must not grow with the square of the depth.
  std::string deep;
  while (deep.size() < 4000) deep += "a/";
  tar_names names(std::size_t{1} << 20U);
  for (int i = 0; i < 2'000; ++i) names.admit(tar_entry(deep + std::to_string(i), tar_type::regular));
  EXPECT_EQ(thrown_by([&] { names.admit(tar_entry(deep + "7", tar_type::regular)); }), exec_errc::collision);
  // Control: the names alone, stored as whole paths, would exceed the memory limit.
  EXPECT_GT(deep.size() * 2'000, std::size_t{1} << 20U);
}

TEST(Attack, FS_10_a_truncated_archive_is_never_taken_for_a_whole_one) {
  const std::string archive = file("a", "content of a") + file("b", "content of b") + tar_end();
  for (std::size_t size = 0; size < archive.size(); ++size) {
    if (size % 97 != 0 && size % 512 != 0) continue;
    const scene place;
    tar_names names;
    unpacker careful(place.root(), &names);
    EXPECT_EQ(thrown_by([&] { careful.unpack(archive.substr(0, size)); }), exec_errc::io_error) << size;
  }
  // Control: a reader without `finish()` returns half a file without an error.
  const scene place;
  unpacker naive(place.root(), nullptr);
  naive.unpack(archive.substr(0, 512 + 7));
  EXPECT_EQ(naive.made(), 1U);
}

}  // namespace

// A named namespace, because g++ warns if a coroutine template is instantiated with a type of an unnamed namespace.
namespace cofferdam_test::fs_archive {

/// An environment that returns hostile names: in its directory listings, and for the files it sends.
class hostile_guest : public cofferdam_test::full_fake {
 public:
  hostile_guest() : full_fake(std::make_shared<cofferdam_test::journal>()) {}

  std::vector<cofferdam::directory_entry> listed;
  std::string sent_as;  ///< name under which a file is sent; empty means the requested name
  cofferdam::file_type sent_type = cofferdam::file_type::regular;
  unsigned sent_mode = 0644;

  cofferdam::file_system files() { return cofferdam_test::files_by_members(*this); }
  cofferdam::awaitable<cofferdam::directory_entry> stat(std::string path) {
    co_return cofferdam::directory_entry(path, cofferdam::file_type::directory, 0, 0755);
  }
  cofferdam::awaitable<std::vector<cofferdam::directory_entry>> list(std::string, cofferdam::list_options) {
    co_return listed;
  }
  cofferdam::awaitable<std::unique_ptr<cofferdam::file_source>> get_files(
      std::vector<cofferdam::file_request> requests) {
    std::vector<cofferdam::file_header> heads;
    for (const cofferdam::file_request& requested : requests)
      heads.emplace_back(requested.path(), sent_as.empty() ? requested.destination() : sent_as, sent_type, 11,
                         sent_mode);
    std::unique_ptr<cofferdam::file_source> files = std::make_unique<sent>(std::move(heads));
    co_return files;
  }

 private:
  class sent final : public cofferdam::file_source {
   public:
    explicit sent(std::vector<cofferdam::file_header> heads) : heads_(std::move(heads)) {}
    cofferdam::awaitable<std::optional<cofferdam::file_header>> next() override {
      std::optional<cofferdam::file_header> head;
      is_read_ = false;
      if (at_ < heads_.size()) head = heads_[at_++];
      co_return head;
    }
    cofferdam::awaitable<cofferdam::bytes> read(std::size_t) override {
      cofferdam::bytes content;
      if (!is_read_) content = cofferdam::to_bytes("overwritten");
      is_read_ = true;
      co_return content;
    }

   private:
    std::vector<cofferdam::file_header> heads_;
    std::size_t at_ = 0;
    bool is_read_ = false;
  };
};

inline cofferdam::transfer_result fetch(hostile_guest& guest, const std::filesystem::path& into) {
  return run([&] { return cofferdam::download(guest, cofferdam::files("."), into); });
}

}  // namespace cofferdam_test::fs_archive

namespace {

using cofferdam_test::fs_archive::fetch;
using cofferdam_test::fs_archive::hostile_guest;

TEST(Attack, FS_10_download_takes_no_name_and_no_type_on_a_guests_word) {
  using cofferdam::directory_entry;
  using cofferdam::file_type;
  // The environment lists entries outside the requested folder.
  for (const bool is_directory : {false, true}) {
    for (const char* const what : {"../canary", "a/../../canary", "a/../../outside/secret", "..", "@canary", "@new"}) {
      const scene place;
      // A leading "@" stands for the folder's absolute path.
      const std::string name = *what == '@' ? place.path(what + 1) : what;
      SCOPED_TRACE(name);
      hostile_guest guest;
      guest.listed.emplace_back(name, is_directory ? file_type::directory : file_type::regular, 11, 0777);
      EXPECT_EQ(cofferdam_test::only_failure(fetch(guest, place.root())), exec_errc::io_error);
      EXPECT_TRUE(place.is_untouched());
      EXPECT_TRUE(std::filesystem::is_empty(place.root()));
      // Control: code that joins the name to its folder, or uses the name unchanged, leaves the folder.
      const std::filesystem::path naive = (place.root() / name).lexically_normal();
      EXPECT_EQ(*naive.lexically_relative(place.root()).begin(), "..");
    }
  }
  // For a valid name, the environment sends another name, or an entry that is not a file.
  for (const char* const sent : {"../canary", "b", "/canary", ""}) {
    const scene place;
    SCOPED_TRACE(sent);
    hostile_guest guest;
    guest.listed.emplace_back("a", file_type::regular, 11, 0644);
    guest.sent_as = sent;
    if (*sent == '\0') guest.sent_type = file_type::directory;
    EXPECT_EQ(cofferdam_test::only_failure(fetch(guest, place.root())), exec_errc::io_error);
    EXPECT_TRUE(place.is_untouched());
    EXPECT_TRUE(std::filesystem::is_empty(place.root()));
  }
  // Set-user-id, set-group-id and sticky bits are removed, in listings and in files. Control: the files of a
  // well-behaved environment arrive.
  const scene place;
  hostile_guest guest;
  guest.listed.emplace_back("d", file_type::directory, 0, 07777);
  guest.listed.emplace_back("d/a", file_type::regular, 11, 07777);
  guest.sent_mode = 07777;
  EXPECT_TRUE(fetch(guest, place.root()).ok());
  EXPECT_EQ(place.read("d/a"), "overwritten");
  for (const char* const name : {"d", "d/a"}) {
    struct stat status {};
    EXPECT_EQ(::stat((place.root() / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07000U, 0U) << name;
  }
  EXPECT_TRUE(place.is_untouched());
}

}  // namespace
