// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/tar_writer.hpp>

#include "support/tar_bytes.hpp"
#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using cofferdam::as_text;
using cofferdam::bytes;
using cofferdam::exec_errc;
using cofferdam::detail::tar_entry;
using cofferdam::detail::tar_limits;
using cofferdam::detail::tar_type;
using cofferdam::detail::tar_writer;
using cofferdam_test::pax_line;
using cofferdam_test::read_tar;
using cofferdam_test::tar_file;
using cofferdam_test::tar_header;
using cofferdam_test::thrown_by;
using cofferdam_test::write_tar;

using tar_files = std::vector<tar_file>;

tar_entry file(std::string name, std::uint64_t size = 0) {
  return tar_entry(std::move(name), tar_type::regular).size(size);
}

std::string head(const tar_entry& entry) { return std::string(as_text(tar_writer().head(entry))); }

exec_errc refusal(const tar_entry& entry) {
  tar_writer writer;
  return thrown_by([&] { writer.head(entry); });
}

/// Returns an entry after its header was written and read back.
tar_entry back(const tar_entry& entry) {
  cofferdam::detail::tar_reader reader(tar_limits().bytes(std::numeric_limits<std::uint64_t>::max()));
  const std::string blocks = head(entry);
  reader.feed(cofferdam::as_bytes(blocks));
  EXPECT_EQ(reader.next(), cofferdam::detail::tar_event::head);
  return reader.entry();
}

TEST(TarWriter, a_header_is_ustar_to_the_byte) {
  tar_header expected("a/b", '0', 5);
  expected.put(100, 8, "0000750").put(108, 8, "0001750").put(116, 8, "0001751").put(136, 12, "14371573100");
  // The header must equal one that was built by hand, except for padding with blanks or NULs, which POSIX leaves open.
  EXPECT_EQ(head(file("a/b", 5).mode(0750).owner(1000, 1001).modified(014371573100)), expected.bytes());
  tar_header link("l", '2');
  EXPECT_EQ(head(tar_entry("l", tar_type::symlink).link("to/x")), link.link("to/x").bytes());
  tar_header folder("d/", '5');
  EXPECT_EQ(head(tar_entry("d", tar_type::directory)), folder.bytes());
  EXPECT_EQ(head(tar_entry("d/", tar_type::directory)), folder.bytes());
}

TEST(TarWriter, a_whole_archive_is_headers_data_zeros_and_the_end) {
  const std::string archive =
      write_tar({{file("a", 3), "abc"}, {file("b"), ""}, {file("c", 512), std::string(512, 'c')}});
  EXPECT_EQ(archive, tar_header("a", '0', 3).with("abc") + tar_header("b").bytes() +
                         tar_header("c", '0', 512).with(std::string(512, 'c')) + std::string(1024, '\0'));
  EXPECT_EQ(write_tar({}), std::string(1024, '\0'));
}

TEST(TarWriter, a_name_up_to_256_bytes_is_cut_at_a_slash) {
  const std::string p155(155, 'p');
  const std::string n100(100, 'n');
  const std::vector<std::pair<std::string, bool>> names{{n100, true},
                                                        {n100 + "n", false},
                                                        {p155 + "/" + n100, true},
                                                        {p155 + "p/" + n100, false},
                                                        {p155 + "/" + n100 + "n", false},
                                                        {std::string(60, 'a') + "/" + std::string(60, 'b'), true},
                                                        {"/" + n100, false},
                                                        {"//" + n100, true},
                                                        {"a/" + n100, true}};
  for (const auto& [name, fits] : names) {
    EXPECT_EQ(head(file(name)).size(), fits ? 512U : 1536U) << name;
    EXPECT_EQ(back(file(name)), file(name));
  }
  // The slash at the end of a directory's name is not a place where the name may be split into prefix and name.
  const tar_entry folder(std::string(99, 'd'), tar_type::directory);
  EXPECT_EQ(head(folder).size(), 512U);
  EXPECT_EQ(back(folder), folder);
  const tar_entry longer(std::string(100, 'd'), tar_type::directory);
  EXPECT_EQ(head(longer).size(), 1536U);
  EXPECT_EQ(back(longer), longer);
}

TEST(TarWriter, what_ustar_cannot_hold_stands_in_a_pax_header) {
  const std::string blocks = head(file("\xc3\xa4"));
  EXPECT_EQ(blocks.substr(512, 512), pax_line("path", "\xc3\xa4") + std::string(512 - 11, '\0'));
  EXPECT_EQ(head(file("\xff")).substr(512, 31), std::string_view("21 hdrcharset=BINARY\n9 path=\xff\n\0", 31));
  const std::uint64_t max_owner = 07777777;
  const std::uint64_t max_size = 077777777777;
  const std::vector<std::pair<tar_entry, bool>> entries{
      {file("n", max_size), true},
      {file("n", max_size + 1), false},
      {file("n", std::uint64_t{1} << 62U), false},
      {file("n").owner(max_owner, max_owner), true},
      {file("n").owner(max_owner + 1, 0), false},
      {file("n").owner(0, max_owner + 1), false},
      {file("n").modified(077777777777), true},
      {file("n").modified(0100000000000), false},
      {file("n").modified(-1), false},
      {file("n").modified(std::numeric_limits<std::int64_t>::min()), false},
      {file("n").modified(std::numeric_limits<std::int64_t>::max()), false},
      {tar_entry("n", tar_type::symlink).link(std::string(100, 'l')), true},
      {tar_entry("n", tar_type::symlink).link(std::string(101, 'l')), false},
      {tar_entry("n", tar_type::hard_link).link("\xc3\xa4"), false},
      {tar_entry("n", tar_type::hard_link).link("\xff"), false},
      {file("new\nline"), true},
      {file("n").mode(07777), true}};
  for (const auto& [entry, fits] : entries) {
    EXPECT_EQ(head(entry).size(), fits ? 512U : 1536U) << ::testing::PrintToString(entry);
    EXPECT_EQ(back(entry), entry);
  }
}

TEST(TarWriter, the_length_of_a_record_counts_its_own_digits) {
  // Covers each power of ten, because there the length of a record has one more digit, which makes the record longer.
  for (std::size_t size = 101; size < 1200; ++size) {
    const tar_entry entry = file(std::string(size, 'n'));
    ASSERT_EQ(head(entry).substr(512, size + 20).find(pax_line("path", entry.name())), 0U) << size;
    ASSERT_EQ(back(entry), entry) << size;
  }
}

TEST(TarWriter, what_it_writes_is_read_back) {
  std::mt19937 random(20260203);
  for (int round = 0; round < 200; ++round) {
    tar_files files;
    for (std::size_t i = random() % 6; i-- > 0;) {
      std::string name;
      const std::size_t size = 1 + random() % 300;
      while (name.size() < size) name += random() % 20 == 0 ? '/' : static_cast<char>(1 + random() % 255);
      if (name.back() == '/') name.back() = 'x';
      tar_entry entry(name, tar_type::regular);
      std::string data;
      switch (random() % 4) {
        case 0: entry = tar_entry(name, tar_type::directory); break;
        case 1: entry = tar_entry(name, tar_type::symlink).link("to/" + name); break;
        case 2: entry = tar_entry(name, tar_type::hard_link).link(name); break;
        default: data.assign(random() % 1500, static_cast<char>(random() % 256)); break;
      }
      entry.size(data.size()).mode(random() % 010000).owner(random(), random() % 100'000);
      entry.modified(static_cast<std::int64_t>(random()) - 1000);
      files.push_back({entry, data});
    }
    ASSERT_EQ(read_tar(write_tar(files), 1 + random() % 2000), files);
  }
}

TEST(TarWriter, entries_that_no_archive_can_hold_are_refused) {
  EXPECT_EQ(refusal(file("")), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(file(std::string("a\0b", 3))), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(file("a/")), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(file("a", std::uint64_t{1} << 63U)), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(tar_entry("l", tar_type::symlink)), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(tar_entry("l", tar_type::symlink).link(std::string("a\0b", 3))), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(tar_entry("l", tar_type::symlink).link("x").size(1)), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(tar_entry("d", tar_type::directory).size(1)), exec_errc::invalid_argument);
  EXPECT_EQ(refusal(file("a").link("x")), exec_errc::invalid_argument);
  for (const tar_type type : {tar_type::character_device, tar_type::block_device, tar_type::fifo, tar_type::unknown})
    EXPECT_EQ(refusal(tar_entry("d", type)), exec_errc::unsupported);
}

TEST(TarWriter, an_entry_is_complete_before_the_next_begins) {
  tar_writer writer;
  EXPECT_EQ(thrown_by([&] { writer.padding(); }), exec_errc::invalid_argument);
  EXPECT_EQ(thrown_by([&] { writer.head(file("")); }), exec_errc::invalid_argument);
  writer.head(file("a", 3));
  EXPECT_EQ(writer.remaining(), 3U);
  EXPECT_EQ(thrown_by([&] { writer.data(4); }), exec_errc::invalid_argument);
  writer.data(2);
  EXPECT_EQ(thrown_by([&] { writer.padding(); }), exec_errc::invalid_argument);
  EXPECT_EQ(thrown_by([&] { writer.head(file("b")); }), exec_errc::invalid_argument);
  EXPECT_EQ(thrown_by([&] { writer.end(); }), exec_errc::invalid_argument);
  writer.data(1);
  EXPECT_EQ(writer.padding(), bytes(509));
  EXPECT_EQ(thrown_by([&] { writer.padding(); }), exec_errc::invalid_argument);
  EXPECT_EQ(writer.end(), bytes(1024));
  EXPECT_EQ(thrown_by([&] { writer.end(); }), exec_errc::invalid_argument);
  EXPECT_EQ(thrown_by([&] { writer.head(file("b")); }), exec_errc::invalid_argument);
}

}  // namespace
