// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests tar_reader and tar_writer with GNU tar, bsdtar and Python's tarfile, in each format that these programs
// support. The library reads archives that the programs write, and the programs extract archives that the library
// writes.

#include <cofferdam/detail/net/tar_reader.hpp>
#include <cofferdam/detail/net/tar_writer.hpp>

#include "support/require.hpp"
#include "support/tar_bytes.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace {

using cofferdam::as_text;
using cofferdam::exec_errc;
using cofferdam::detail::tar_entry;
using cofferdam::detail::tar_limits;
using cofferdam::detail::tar_type;
using cofferdam_test::read_tar;
using cofferdam_test::tar_file;
using cofferdam_test::temporary_folder;
using cofferdam_test::thrown_by;

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// Runs a shell line in the folder, and returns its output. Fails the test if the line does not succeed.
std::string shell(const temporary_folder& place, const std::string& line) {
  const std::string log = (place / "log").string();
  const std::string whole = "export LC_ALL=C.UTF-8; cd '" + place.path().string() + "' && (" + line + ") >log 2>&1";
  const int status = std::system(whole.c_str());
  EXPECT_EQ(status, 0) << line << "\n" << temporary_folder::read_host(log);
  return temporary_folder::read_host(log);
}

/// A file as it must look on both sides. `content` is the target of a link, or the content of a file.
struct thing {
  tar_type type;
  unsigned mode;
  std::string content;
  bool operator==(const thing&) const = default;
};
void PrintTo(const thing& item, std::ostream* to) {
  *to << "type " << static_cast<int>(item.type) << " mode " << std::oct << item.mode << std::dec << " "
      << ::testing::PrintToString(item.content.substr(0, 40)) << " (" << item.content.size() << " bytes)";
}
using things = std::map<std::string, thing>;

/// Returns the files below a folder. Modes of links are left out.
things in_folder(const std::filesystem::path& root) {
  things found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().lexically_relative(root).string();
    struct stat status {};
    if (::lstat(entry.path().c_str(), &status) != 0) throw std::runtime_error("lstat failed");
    const unsigned mode = status.st_mode & 07777U;
    if (entry.is_symlink()) {
      found[name] = {tar_type::symlink, 0, std::filesystem::read_symlink(entry.path()).string()};
    } else if (entry.is_directory()) {
      found[name] = {tar_type::directory, mode, ""};
    } else if (entry.is_regular_file()) {
      found[name] = {tar_type::regular, mode, temporary_folder::read_host(entry.path())};
    } else {
      found[name] = {tar_type::fifo, mode, ""};
    }
  }
  return found;
}

/// Returns the entries of an archive of "tree" in the form of `in_folder`. Replaces hard links by their targets, and
/// counts them.
things in_archive(const std::vector<tar_file>& files, std::size_t& hard_links) {
  things found;
  for (const tar_file& file : files) {
    std::string name = file.head.name();
    if (name == "tree") continue;
    EXPECT_TRUE(name.starts_with("tree/")) << name;
    name = name.substr(5);
    EXPECT_EQ(found.count(name), 0U) << name;
    if (file.head.type() == tar_type::hard_link) {
      ++hard_links;
      const auto target = found.find(file.head.link().substr(5));
      EXPECT_NE(target, found.end()) << file.head.link();
      if (target != found.end()) found[name] = target->second;
    } else if (file.head.type() == tar_type::symlink) {
      found[name] = {tar_type::symlink, 0, file.head.link()};
    } else {
      found[name] = {file.head.type(), file.head.mode(), file.data};
    }
  }
  return found;
}

std::string long_name(std::size_t size) { return "n" + std::string(size - 2, 'o') + "m"; }

/// The kinds of files in a test tree: only those that the oldest format can store, or that ustar can store, or all.
enum class amount { short_names, ustar_names, all };
void make_tree(const temporary_folder& place, amount how_much) {
  place.make_folder("tree/empty");
  place.make_folder("tree/sub");
  for (const std::size_t size : {0U, 1U, 511U, 512U, 513U, 70'000U})
    place.write("tree/size" + std::to_string(size), std::string(size, static_cast<char>('a' + size % 26)));
  place.write("tree/program", "#!/bin/sh\n", 0755);
  place.write("tree/-rf $(id) 'x'", "dash", 0600);
  place.write("tree/new\nline", "line");
  place.make_link("tree/link", "size1");
  place.make_link("tree/dangling", "../nowhere/at all");
  std::filesystem::create_hard_link(place / "tree/size511", place / "tree/zz-hard");
  if (how_much == amount::short_names) return;
  place.write("tree/" + long_name(90) + "/" + long_name(80), "cut at the slash");
  place.make_link("tree/long-link", long_name(100));
  place.make_fifo("tree/pipe");
  if (how_much == amount::ustar_names) return;
  place.write("tree/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "not ASCII");
  place.write("tree/" + long_name(200), "a long name");
  place.write("tree/" + long_name(250) + "/" + long_name(250) + "/" + long_name(255), "a very long name", 0640);
  place.make_folder("tree/folder-" + long_name(200));
  place.make_link("tree/very-long-link", long_name(200) + "/" + long_name(200));
  std::filesystem::create_hard_link(place / ("tree/" + long_name(200)), place / ("tree/" + long_name(201)));
}

struct packer {
  std::string name;
  std::string program;
  std::string line;  // the shell line that packs tree into archive.tar
  amount how_much;
};

std::string python_packs(const std::string& format) {
  return "python3 -c \"import tarfile; t = tarfile.open('archive.tar', 'w', format=tarfile." + format +
         "_FORMAT); t.add('tree'); t.close()\"";
}

const std::vector<packer>& packers() {
  static const std::vector<packer> known{
      {"GNU tar, v7", "tar", "tar --format=v7 -cf archive.tar tree", amount::short_names},
      {"GNU tar, ustar", "tar", "tar --format=ustar -cf archive.tar tree", amount::ustar_names},
      {"GNU tar, oldgnu", "tar", "tar --format=oldgnu -cf archive.tar tree", amount::all},
      {"GNU tar, gnu", "tar", "tar --format=gnu -cf archive.tar tree", amount::all},
      {"GNU tar, pax", "tar", "tar --format=posix -cf archive.tar tree", amount::all},
      {"bsdtar, v7", "bsdtar", "bsdtar --format=v7 -cf archive.tar tree", amount::short_names},
      {"bsdtar, ustar", "bsdtar", "bsdtar --format=ustar -cf archive.tar tree", amount::ustar_names},
      {"bsdtar, gnutar", "bsdtar", "bsdtar --format=gnutar -cf archive.tar tree", amount::all},
      {"bsdtar, pax", "bsdtar", "bsdtar --format=pax -cf archive.tar tree", amount::all},
      {"bsdtar, restricted pax", "bsdtar", "bsdtar --format=paxr -cf archive.tar tree", amount::all},
      {"Python, ustar", "python3", python_packs("USTAR"), amount::ustar_names},
      {"Python, gnu", "python3", python_packs("GNU"), amount::all},
      {"Python, pax", "python3", python_packs("PAX"), amount::all},
  };
  return known;
}

void expect_read(const std::string& program) {
  COFFERDAM_NEEDS(program, has(program), "that archives of " + program + " are read");
  for (const packer& archiver : packers()) {
    if (archiver.program != program) continue;
    SCOPED_TRACE(archiver.name);
    const temporary_folder place;
    make_tree(place, archiver.how_much);
    shell(place, archiver.line);
    const std::string archive = place.read("archive.tar");
    const std::vector<tar_file> files = read_tar(archive);
    EXPECT_EQ(read_tar(archive, 1), files);
    std::size_t hard_links = 0;
    EXPECT_EQ(in_archive(files, hard_links), in_folder(place / "tree"));
    EXPECT_EQ(hard_links, archiver.how_much == amount::all ? 2U : 1U);
  }
}

TEST(TarPeers, reads_what_GNU_tar_packs) { expect_read("tar"); }
TEST(TarPeers, reads_what_bsdtar_packs) { expect_read("bsdtar"); }
TEST(TarPeers, reads_what_Python_packs) { expect_read("python3"); }

/// Packs a folder with `tar_writer`, and returns the archive.
std::string packed(const std::filesystem::path& root) {
  std::vector<tar_file> files;
  std::map<ino_t, std::string> first_names;
  for (const auto& [name, item] : in_folder(root)) {
    struct stat status {};
    EXPECT_EQ(::lstat((root / name).c_str(), &status), 0);
    tar_entry entry(name, item.type);
    entry.mode(item.mode).owner(status.st_uid, status.st_gid).modified(status.st_mtime);
    std::string data = item.content;
    if (item.type == tar_type::symlink) {
      entry.link(std::exchange(data, ""));
    } else if (item.type == tar_type::regular && !first_names.emplace(status.st_ino, name).second) {
      entry = tar_entry(name, tar_type::hard_link).link(first_names[status.st_ino]).mode(item.mode);
      data.clear();
    } else if (item.type == tar_type::fifo) {
      continue;
    }
    entry.size(data.size());
    files.push_back({entry, data});
  }
  return cofferdam_test::write_tar(files);
}

void expect_unpacked(const std::string& program, const std::string& line, bool any_bytes) {
  COFFERDAM_NEEDS(program, has(program), "that " + program + " unpacks what we pack");
  const temporary_folder place;
  make_tree(place, amount::all);
  std::filesystem::remove(place / "tree/pipe");
  if (any_bytes) place.write("tree/not\xff\xfeUTF-8\xc3", "bytes");
  place.write("archive.tar", packed(place / "tree"));
  place.make_folder("out");
  shell(place, line);
  EXPECT_EQ(in_folder(place / "out"), in_folder(place / "tree"));
  std::size_t links = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place / "out"))
    links += entry.is_regular_file() && !entry.is_symlink() && entry.hard_link_count() == 2 ? 1U : 0U;
  EXPECT_EQ(links, 4U);
}

const std::string python_unpacks =
    "python3 -c \"import tarfile; tarfile.open('archive.tar', errorlevel=2).extractall('out')\"";

TEST(TarPeers, GNU_tar_unpacks_what_we_pack) { expect_unpacked("tar", "tar -C out -xpf archive.tar", true); }
TEST(TarPeers, bsdtar_unpacks_what_we_pack) { expect_unpacked("bsdtar", "bsdtar -C out -xpf archive.tar", true); }
TEST(TarPeers, Python_unpacks_what_we_pack) { expect_unpacked("python3", python_unpacks, true); }

/// Writes an archive whose first file has 9 GiB of zeros. Most of the archive is a hole, which takes no space on the
/// disk.
void write_big_archive(const temporary_folder& place, const tar_entry& entry) {
  cofferdam::detail::tar_writer writer;
  const std::string head(as_text(writer.head(entry)));
  place.write("archive.tar", head);
  writer.data(entry.size());
  std::string rest(as_text(writer.padding()));
  rest += as_text(writer.head(tar_entry("after", tar_type::regular)));
  writer.padding();
  rest += as_text(writer.end());
  std::filesystem::resize_file(place / "archive.tar", head.size() + entry.size());
  std::ofstream(place / "archive.tar", std::ios::binary | std::ios::app) << rest;
}

TEST(TarPeers, all_three_understand_our_large_numbers) {
  const temporary_folder place;
  const std::uint64_t size = (std::uint64_t{9} << 30U) + 5;
  write_big_archive(place,
                    tar_entry("big", tar_type::regular).size(size).owner(4000000000, 3000000000).modified(-86400));
  const std::string gnu = shell(place, "TZ=UTC tar --numeric-owner -tvf archive.tar");
  EXPECT_NE(gnu.find("4000000000/3000000000"), std::string::npos) << gnu;
  EXPECT_NE(gnu.find(std::to_string(size) + " 1969-12-31"), std::string::npos) << gnu;
  EXPECT_NE(gnu.find("after"), std::string::npos) << gnu;
  const std::string python = shell(place,
                                   "python3 -c \"import tarfile\nfor e in tarfile.open('archive.tar'): print(e.name, "
                                   "e.size, e.uid, e.gid, int(e.mtime))\"");
  EXPECT_EQ(python, "big " + std::to_string(size) + " 4000000000 3000000000 -86400\nafter 0 0 0 0\n");
  COFFERDAM_NEEDS("bsdtar", has("bsdtar"), "that bsdtar understands our large numbers");
  const std::string bsd = shell(place, "bsdtar --numeric-owner -tvf archive.tar");
  EXPECT_NE(bsd.find(std::to_string(size)), std::string::npos) << bsd;
  EXPECT_NE(bsd.find("4000000000"), std::string::npos) << bsd;
  EXPECT_NE(bsd.find("after"), std::string::npos) << bsd;
}

TEST(TarPeers, their_large_numbers_are_understood) {
  const temporary_folder place;
  const std::uint64_t size = (std::uint64_t{9} << 30U) + 5;
  place.write("big", "");
  std::filesystem::resize_file(place / "big", size);
  std::vector<std::string> lines;
  for (const char* format : {"gnu", "posix"})
    lines.push_back(
        "tar --format=" + std::string(format) +
        " --owner=x:4000000000 --group=y:3000000000 --mtime=@-86400 -cf - big 2>/dev/null | head -c 2048 >head");
  for (const char* format : {"GNU", "PAX"})
    lines.push_back(
        "python3 -c \"import tarfile; t = tarfile.TarInfo('big'); t.size = " + std::to_string(size) +
        "; t.uid = 4000000000; t.gid = 3000000000; t.mtime = -86400\nopen('head', 'wb').write(t.tobuf(tarfile." +
        format + "_FORMAT))\"");
  for (const std::string& line : lines) {
    shell(place, line);
    const std::string head = place.read("head");
    cofferdam::detail::tar_reader reader(tar_limits().bytes(std::uint64_t{1} << 40U));
    reader.feed(cofferdam::as_bytes(head));
    ASSERT_EQ(reader.next(), cofferdam::detail::tar_event::head) << line;
    EXPECT_EQ(reader.entry(), tar_entry("big", tar_type::regular)
                                  .size(size)
                                  .owner(4000000000, 3000000000)
                                  .modified(-86400)
                                  .mode(reader.entry().mode()))
        << line << ::testing::PrintToString(reader.entry());
    cofferdam::detail::tar_reader careful;
    careful.feed(cofferdam::as_bytes(head));
    EXPECT_EQ(thrown_by([&] { careful.next(); }), exec_errc::too_large) << line;
  }
}

TEST(TarPeers, sparse_files_of_GNU_tar_are_refused_in_every_format) {
  const temporary_folder place;
  place.write("hole", "");
  std::filesystem::resize_file(place / "hole", std::uint64_t{10} << 30U);
  for (const char* format : {"--format=oldgnu", "--format=gnu", "--format=posix", "--format=posix --sparse-version=0.0",
                             "--format=posix --sparse-version=0.1"}) {
    shell(place, "tar " + std::string(format) + " -S -cf archive.tar hole");
    const std::string archive = place.read("archive.tar");
    EXPECT_LT(archive.size(), 100'000U);
    EXPECT_EQ(thrown_by([&] { read_tar(archive); }), exec_errc::unsupported) << format;
  }
}

}  // namespace
