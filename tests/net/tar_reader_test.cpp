// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/net/tar_reader.hpp>

#include "support/tar_bytes.hpp"
#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::exec_errc;
using cofferdam::detail::tar_entry;
using cofferdam::detail::tar_event;
using cofferdam::detail::tar_limits;
using cofferdam::detail::tar_reader;
using cofferdam::detail::tar_type;
using cofferdam_test::gnu_long;
using cofferdam_test::pax_header;
using cofferdam_test::pax_line;
using cofferdam_test::read_tar;
using cofferdam_test::tar_end;
using cofferdam_test::tar_extension;
using cofferdam_test::tar_file;
using cofferdam_test::tar_header;
using cofferdam_test::thrown_by;

using tar_files = std::vector<tar_file>;

/// Returns the only entry of an archive that consists of `blocks` and the end-of-archive blocks.
tar_file only(const std::string& blocks) {
  const tar_files found = read_tar(blocks + tar_end());
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? tar_file() : found.front();
}

exec_errc refusal(const std::string& archive, tar_limits limits = tar_limits()) {
  return thrown_by([&] { read_tar(archive, std::string_view::npos, limits); });
}

std::string deep(std::size_t size) {
  std::string name;
  while (name.size() < size) {
    name.append(49, static_cast<char>('a' + name.size() / 50 % 26));
    name += '/';
  }
  name.resize(size);
  if (name.back() == '/') name.back() = 'z';
  return name;
}

/// Returns an archive with each kind of header, and with data of lengths around the block size.
std::string everything() {
  std::string archive = tar_header("dir/", '5').bytes();
  for (const std::size_t size : {0U, 1U, 511U, 512U, 513U, 1025U})
    archive += tar_header("dir/" + std::to_string(size), '0', size).with(std::string(size, 'x'));
  archive += tar_header("link", '2').link("dir/1").bytes() + tar_header("hard", '1').link("dir/1").bytes();
  archive += tar_extension('g', pax_line("comment", "nobody reads this") + pax_line("mtime", "77"));
  archive += gnu_long('K', deep(300)) + gnu_long('L', deep(400)) + tar_header("cut", '2').link("cut").bytes();
  archive += pax_header(pax_line("path", deep(700)) + pax_line("size", "3")) + tar_header("cut").with("abc");
  archive += tar_header("pipe", '6').bytes() + tar_header("char", '3').bytes() + tar_header("block", '4').bytes();
  archive += tar_header("own", 'Z', 5).with("12345");
  return archive + tar_end() + std::string(3000, '\0');
}

TEST(TarReader, reads_what_a_ustar_header_says) {
  tar_header header("name", '0', 5);
  header.put(100, 8, "0004755").put(108, 8, "0001750").put(116, 8, "0001751").put(136, 12, "14371573100");
  header.put(345, 155, "some/folder");
  const tar_file found = only(header.with("hello"));
  EXPECT_EQ(found.data, "hello");
  EXPECT_EQ(
      found.head,
      tar_entry("some/folder/name", tar_type::regular).size(5).mode(04755).owner(1000, 1001).modified(014371573100));
}

TEST(TarReader, reads_names_that_fill_their_fields) {
  const std::string name(100, 'n');
  const std::string prefix(155, 'p');
  EXPECT_EQ(only(tar_header(name).put(345, 155, prefix).bytes()).head.name(), prefix + "/" + name);
  EXPECT_EQ(only(tar_header("x", '2').link(name).bytes()).head.link(), name);
}

TEST(TarReader, reads_every_type) {
  const std::vector<std::pair<char, tar_type>> types{
      {'0', tar_type::regular},   {'\0', tar_type::regular},     {'7', tar_type::regular},
      {'1', tar_type::hard_link}, {'2', tar_type::symlink},      {'3', tar_type::character_device},
      {'5', tar_type::directory}, {'4', tar_type::block_device}, {'6', tar_type::fifo},
      {'V', tar_type::unknown},   {'\xff', tar_type::unknown}};
  for (const auto& [flag, type] : types)
    EXPECT_EQ(only(tar_header("n", flag).link("target").bytes()).head.type(), type) << flag;
  EXPECT_EQ(only(tar_header("n", '2').link("target").bytes()).head.link(), "target");
  EXPECT_EQ(only(tar_header("n", '0').link("target").bytes()).head.link(), "") << "no link, no target";
  EXPECT_EQ(only(tar_header("own", 'Z', 5).with("12345")).data, "12345") << "an unknown type may have data";
}

TEST(TarReader, a_name_that_ends_in_a_slash_is_a_directory_and_loses_it) {
  EXPECT_EQ(only(tar_header("a/b/", '5').bytes()).head, tar_entry("a/b", tar_type::directory));
  EXPECT_EQ(only(tar_header("a/b//", '\0').bytes()).head, tar_entry("a/b", tar_type::directory));
  EXPECT_EQ(only(tar_header("/", '5').bytes()).head, tar_entry("/", tar_type::directory));
  EXPECT_EQ(refusal(tar_header("a/b/", '0', 3).with("abc") + tar_end()), exec_errc::io_error);
}

TEST(TarReader, reads_archives_from_before_there_was_a_magic) {
  tar_header header("old", '\0', 3);
  header.put(257, 8, "").put(345, 155, "not a prefix").put(100, 8, "   644 ").put(124, 12, "          3 ");
  const tar_file found = only(header.with("abc"));
  EXPECT_EQ(found.head, tar_entry("old", tar_type::regular).size(3));
}

TEST(TarReader, GNU_tars_magic_means_that_there_is_no_prefix) {
  tar_header header("name");
  header.put(257, 8, std::string_view("ustar  \0", 8)).put(345, 155, "14371573100");
  EXPECT_EQ(only(header.bytes()).head.name(), "name");
}

TEST(TarReader, a_checksum_of_signed_characters_is_understood) {
  tar_header header("\xc3\xa9t\xc3\xa9");
  std::string block = header.bytes();
  int sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<signed char>(block[i]);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", static_cast<unsigned>(sum));
  block.replace(148, 7, std::string_view(text, 7));
  EXPECT_EQ(only(block).head.name(), "\xc3\xa9t\xc3\xa9");
}

TEST(TarReader, reads_long_names_of_GNU_tar) {
  const std::string name = deep(1000);
  const std::string target = deep(2000);
  const tar_file found = only(gnu_long('K', target) + gnu_long('L', name) + tar_header("cut", '2').link("cut").bytes());
  EXPECT_EQ(found.head.name(), name);
  EXPECT_EQ(found.head.link(), target);
  const tar_files two =
      read_tar(gnu_long('L', name) + tar_header("cut").bytes() + tar_header("own").bytes() + tar_end());
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].head.name(), "own") << "a long name is for one entry";
}

TEST(TarReader, reads_pax_headers) {
  const std::string records = pax_line("path", "n\xc3\xa9w\n=1\xff") + pax_line("linkpath", "unused") +
                              pax_line("size", "4") + pax_line("uid", "4000000000") + pax_line("gid", "9") +
                              pax_line("mtime", "-1.5") + pax_line("atime", "x") +
                              pax_line("SCHILY.xattr.a", std::string_view("\0\n", 2));
  const tar_files found = read_tar(pax_header(records) + tar_header("old", '0', 1).with("abcd") +
                                   tar_header("next", '0', 1).with("z") + tar_end());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].data, "abcd");
  EXPECT_EQ(found[0].head,
            tar_entry("n\xc3\xa9w\n=1\xff", tar_type::regular).size(4).owner(4000000000, 9).modified(-2));
  EXPECT_EQ(found[1].head, tar_entry("next", tar_type::regular).size(1));
}

TEST(TarReader, times_lose_their_fraction_towards_the_past) {
  const std::vector<std::pair<std::string, std::int64_t>> times{
      {"5", 5},     {"5.999", 5}, {"5.", 5},
      {"-5", -5},   {"-5.0", -5}, {"-5.001", -6},
      {"-0.5", -1}, {"0.5", 0},   {"1700000000.25", 1700000000}};
  for (const auto& [text, seconds] : times)
    EXPECT_EQ(only(pax_header(pax_line("mtime", text)) + tar_header("n").bytes()).head.modified(), seconds) << text;
  for (const std::string text :
       {"", ".", "-", "1e3", "1.x", "+1", " 1", "99999999999999999999", "-9223372036854775808.5"})
    EXPECT_EQ(refusal(pax_header(pax_line("mtime", text)) + tar_header("n").bytes() + tar_end()), exec_errc::io_error)
        << text;
}

TEST(TarReader, a_global_pax_header_holds_until_the_next_says_otherwise) {
  const tar_files found =
      read_tar(tar_extension('g', pax_line("uid", "7") + pax_line("comment", "x")) + tar_header("a").bytes() +
               pax_header(pax_line("uid", "8")) + tar_header("b").bytes() + tar_header("c").bytes() +
               tar_extension('g', pax_line("uid", "9")) + tar_header("d").bytes() + tar_end());
  std::vector<std::uint64_t> owners;
  for (const tar_file& file : found) owners.push_back(file.head.uid());
  EXPECT_EQ(owners, (std::vector<std::uint64_t>{7, 8, 7, 9}));
}

TEST(TarReader, reads_numbers_in_base_256) {
  const auto with = [](std::size_t at, std::string_view value) {
    tar_header header("n");
    header.put(at, value.size(), value);
    return header.bytes();
  };
  EXPECT_EQ(only(with(108, std::string_view("\x80\0\0\0\xee\x6b\x28\0", 8))).head.uid(), 4000000000U);
  EXPECT_EQ(only(with(136, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe")).head.modified(), -2);
  EXPECT_EQ(only(with(136, std::string_view("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12))).head.modified(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(only(with(136, std::string_view("\xff\xff\xff\xff\x80\0\0\0\0\0\0\0", 12))).head.modified(),
            std::numeric_limits<std::int64_t>::min());
  // Numbers that do not fit into 63 bits, positive and negative. Then negative numbers in fields that do not allow
  // them.
  EXPECT_EQ(refusal(with(136, std::string_view("\x80\0\0\0\x80\0\0\0\0\0\0\0", 12))), exec_errc::io_error);
  EXPECT_EQ(refusal(with(136, std::string_view("\x80\0\0\1\0\0\0\0\0\0\0\0", 12))), exec_errc::io_error);
  EXPECT_EQ(refusal(with(136, "\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff")), exec_errc::io_error);
  EXPECT_EQ(refusal(with(136, std::string_view("\xa0\0\0\0\0\0\0\0\0\0\0\0", 12))), exec_errc::io_error);
  EXPECT_EQ(refusal(with(108, "\xff\xff\xff\xff\xff\xff\xff\xff")), exec_errc::io_error);
  EXPECT_EQ(refusal(with(124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")), exec_errc::io_error);
  EXPECT_EQ(refusal(with(124, std::string_view("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12))),
            exec_errc::too_large);
}

TEST(TarReader, finds_the_same_wherever_the_archive_is_cut) {
  const std::string archive = everything();
  const tar_files whole = read_tar(archive);
  ASSERT_EQ(whole.size(), 15U);
  for (const std::size_t piece : {1U, 2U, 7U, 511U, 512U, 513U, 4096U})
    EXPECT_EQ(read_tar(archive, piece), whole) << piece;
  for (std::size_t cut = 1; cut < archive.size(); ++cut) {
    tar_reader reader;
    tar_files found;
    bool open = false;
    cofferdam_test::feed_tar(reader, std::string_view(archive).substr(0, cut), found, open);
    cofferdam_test::feed_tar(reader, std::string_view(archive).substr(cut), found, open);
    reader.finish();
    ASSERT_EQ(found, whole) << cut;
  }
}

TEST(TarReader, an_archive_cut_off_anywhere_is_an_error) {
  const std::string archive = everything();
  const std::size_t end = archive.size() - 3000;
  for (std::size_t size = 0; size < end; ++size) {
    const exec_errc refused = refusal(archive.substr(0, size));
    ASSERT_EQ(refused, exec_errc::io_error) << size;
  }
  EXPECT_EQ(read_tar(archive.substr(0, end)).size(), 15U);
}

TEST(TarReader, a_changed_byte_of_a_header_is_noticed) {
  const std::string archive = tar_header("name", '0', 3).with("abc") + tar_end();
  for (std::size_t i = 0; i < 512; ++i) {
    if (i >= 148 && i < 156) continue;
    std::string changed = archive;
    changed[i] = static_cast<char>(changed[i] + 1);
    EXPECT_EQ(refusal(changed), exec_errc::io_error) << i;
  }
}

TEST(TarReader, what_two_readers_could_understand_differently_is_refused) {
  const std::string file = tar_header("n").bytes();
  const std::string name = pax_header(pax_line("path", "p"));
  const std::string zeros(512, '\0');
  const std::vector<std::pair<std::string, std::string>> archives{
      {"two pax headers", name + name + file},
      {"two long names", gnu_long('L', "a") + gnu_long('L', "b") + file},
      {"two long targets", gnu_long('K', "a") + gnu_long('K', "b") + tar_header("n", '2').link("x").bytes()},
      {"a long name and a path", gnu_long('L', "a") + name + file},
      {"a long target and a linkpath",
       gnu_long('K', "a") + pax_header(pax_line("linkpath", "b")) + tar_header("n", '2').link("x").bytes()},
      {"path twice in one header", pax_header(pax_line("path", "a") + pax_line("path", "b")) + file},
      {"size twice in one header", pax_header(pax_line("size", "0") + pax_line("size", "0")) + file},
      {"a global path", tar_extension('g', pax_line("path", "a")) + file},
      {"a global linkpath", tar_extension('g', pax_line("linkpath", "a")) + file},
      {"a global size", tar_extension('g', pax_line("size", "0")) + file},
      {"a global header inside", name + tar_extension('g', pax_line("uid", "1")) + file},
      {"a pax header and no entry", name},
      {"a long name and no entry", gnu_long('L', "a")},
      {"an empty path", pax_header(pax_line("path", "")) + file},
      {"a NUL in a path", pax_header(pax_line("path", std::string_view("a\0b", 3))) + file},
      {"an empty long name", gnu_long('L', "") + file},
      {"a long name with a NUL inside", gnu_long('L', std::string("a\0b", 3)) + file},
      {"an empty name", tar_header("").bytes()},
      {"a link to nothing", tar_header("n", '2').bytes()},
      {"a hard link to nothing", tar_header("n", '1').bytes()},
      {"a directory with data", tar_header("n", '5', 3).with("abc")},
      {"a symbolic link with data", tar_header("n", '2', 3).link("x").with("abc")},
      {"a hard link with data", tar_header("n", '1', 3).link("x").with("abc")},
      {"a device with data", tar_header("n", '3', 3).with("abc")},
      {"a directory with data by pax", pax_header(pax_line("size", "3")) + tar_header("n", '5').with("abc")},
      {"a negative size by pax", pax_header(pax_line("size", "-1")) + file},
      {"a size that is no number", tar_header("n").put(124, 12, "12x").bytes()},
      {"a size with more behind it", tar_header("n").put(124, 12, std::string_view("1\0001", 3)).bytes()},
      {"a size with a sign", tar_header("n").put(124, 12, "-1").bytes()},
      {"a mode that is no number", tar_header("n").put(100, 8, "rw-r--r--").bytes()},
      {"one block of zeros", zeros + file},
  };
  for (const auto& [what, blocks] : archives) EXPECT_EQ(refusal(blocks + tar_end()), exec_errc::io_error) << what;
  EXPECT_EQ(refusal(file + zeros), exec_errc::io_error) << "one block of zeros, and then nothing";
  EXPECT_EQ(refusal(file + tar_end() + file), exec_errc::io_error) << "an archive after the archive";
  EXPECT_EQ(refusal(file + tar_end() + std::string(2 << 20, '\0')), exec_errc::io_error) << "too many zeros";
  EXPECT_EQ(read_tar(file + tar_end() + std::string(1 << 20, '\0')).size(), 1U);
}

TEST(TarReader, a_pax_header_must_be_made_of_records) {
  for (const std::string records :
       {"x", "6 a=b", "7 a=b\n", "5 a=b\n", "6 a=bx", "0 a=b\n", "-6 a=b\n", " 6 a=b\n", "06a=b\n", "5 ab\n", "5 =b\n",
        "99999999999999999999 a=b\n", "000000000000006 a=b\n", "6 a=b\n\n", "6\na=b\n", "+6 a=b\n"})
    EXPECT_EQ(refusal(pax_header(records) + tar_header("n").bytes() + tar_end()), exec_errc::io_error) << records;
  for (const std::string records : {"", "6 a=b\n", "5 a=\n", "7 a=b=\n", "6 a=\n\n"})
    EXPECT_EQ(only(pax_header(records) + tar_header("n").bytes()).head.name(), "n") << records;
}

TEST(TarReader, sparse_files_and_parts_of_volumes_are_not_supported) {
  const std::string file = tar_header("n").bytes();
  EXPECT_EQ(refusal(tar_header("n", 'S', 0).bytes() + tar_end()), exec_errc::unsupported);
  EXPECT_EQ(refusal(tar_header("n", 'M', 0).bytes() + tar_end()), exec_errc::unsupported);
  EXPECT_EQ(refusal(tar_header("n", 'X', 0).bytes() + tar_end()), exec_errc::unsupported);
  for (const char* key : {"GNU.sparse.major", "GNU.sparse.size", "GNU.sparse.name", "SCHILY.realsize"}) {
    EXPECT_EQ(refusal(pax_header(pax_line(key, "1")) + file + tar_end()), exec_errc::unsupported) << key;
    EXPECT_EQ(refusal(tar_extension('g', pax_line(key, "1")) + file + tar_end()), exec_errc::unsupported) << key;
  }
}

TEST(TarReader, every_limit_holds_at_its_edge) {
  const std::string name = deep(200);
  const std::string longer = name + "x";
  const tar_limits names = tar_limits().name(200);
  EXPECT_EQ(read_tar(gnu_long('L', name) + tar_header("n").bytes() + tar_end(), 1, names).size(), 1U);
  EXPECT_EQ(refusal(gnu_long('L', longer) + tar_header("n").bytes() + tar_end(), names), exec_errc::too_large);
  EXPECT_EQ(read_tar(pax_header(pax_line("path", name)) + tar_header("n").bytes() + tar_end(), 1, names).size(), 1U);
  EXPECT_EQ(refusal(pax_header(pax_line("path", longer)) + tar_header("n").bytes() + tar_end(), names),
            exec_errc::too_large);
  EXPECT_EQ(refusal(pax_header(pax_line("linkpath", longer)) + tar_header("n").bytes() + tar_end(), names),
            exec_errc::too_large);
  EXPECT_EQ(refusal(tar_header("nn").put(345, 155, "p").bytes() + tar_end(), tar_limits().name(3)),
            exec_errc::too_large);
  EXPECT_EQ(refusal(tar_header("n", '2').link("1234").bytes() + tar_end(), tar_limits().name(3)), exec_errc::too_large);

  const std::string comment = pax_line("comment", "some text");
  const std::string commented = pax_header(comment) + tar_header("n").bytes() + tar_end();
  EXPECT_EQ(read_tar(commented, 1, tar_limits().pax_header(comment.size())).size(), 1U);
  EXPECT_EQ(refusal(commented, tar_limits().pax_header(comment.size() - 1)), exec_errc::too_large);

  const std::string two = tar_header("a").bytes() + tar_header("b").bytes() + tar_end();
  EXPECT_EQ(read_tar(two, 1, tar_limits().entries(2)).size(), 2U);
  EXPECT_EQ(refusal(two, tar_limits().entries(1)), exec_errc::too_large);
  std::string globals;
  for (int i = 0; i < 3; ++i) globals += tar_extension('g', comment);
  EXPECT_EQ(refusal(globals + tar_end(), tar_limits().entries(2)), exec_errc::too_large);

  const std::string sized = tar_header("a", '0', 5).with("12345") + tar_header("b", '0', 5).with("12345") + tar_end();
  EXPECT_EQ(read_tar(sized, 1, tar_limits().bytes(10)).size(), 2U);
  EXPECT_EQ(refusal(sized, tar_limits().bytes(9)), exec_errc::too_large);
  EXPECT_EQ(refusal(sized, tar_limits().bytes(4)), exec_errc::too_large);
}

TEST(TarReader, a_limit_is_held_at_the_header_before_any_data) {
  tar_reader reader;
  const std::string header = tar_header("n").put(124, 12, std::string_view("\x80\0\0\0\0\1\0\0\0\0\0\0", 12)).bytes();
  reader.feed(as_bytes(header));
  EXPECT_EQ(thrown_by([&] { reader.next(); }), exec_errc::too_large);
}

TEST(TarReader, nothing_more_is_read_after_an_error) {
  tar_reader reader;
  const std::string good = tar_header("n").bytes();
  std::string bad = good;
  bad[0] = 'm';
  reader.feed(as_bytes(bad));
  EXPECT_EQ(thrown_by([&] { reader.next(); }), exec_errc::io_error);
  EXPECT_EQ(thrown_by([&] { reader.next(); }), exec_errc::io_error);
  for (int i = 0; i < 2; ++i) {
    reader.feed(as_bytes(good));
    EXPECT_EQ(thrown_by([&] { reader.next(); }), exec_errc::io_error);
  }
  EXPECT_EQ(thrown_by([&] { reader.finish(); }), exec_errc::io_error);
}

TEST(TarReader, a_piece_is_read_before_the_next_is_fed) {
  tar_reader reader;
  const std::string header = tar_header("n").bytes();
  EXPECT_EQ(reader.next(), tar_event::more);
  reader.feed(as_bytes(header));
  EXPECT_EQ(thrown_by([&] { reader.feed(as_bytes(header)); }), exec_errc::invalid_argument);
  EXPECT_EQ(reader.next(), tar_event::head);
  EXPECT_EQ(reader.next(), tar_event::end_of_entry);
  EXPECT_EQ(reader.next(), tar_event::more);
  EXPECT_EQ(reader.next(), tar_event::more);
}

TEST(TarReader, data_is_handed_on_where_it_lies) {
  tar_reader reader;
  const std::string archive = tar_header("n", '0', 600).with(std::string(600, 'd'));
  reader.feed(as_bytes(archive));
  EXPECT_EQ(reader.next(), tar_event::head);
  EXPECT_EQ(reader.next(), tar_event::data);
  EXPECT_EQ(reader.data().size(), 600U);
  EXPECT_EQ(as_text(reader.data()).data(), archive.data() + 512);
}

TEST(TarReader, an_error_says_where_and_shows_names_escaped) {
  try {
    read_tar(tar_header("ok").bytes() + tar_header("a\x1b[31m\n", '5', 3).with("abc") + tar_end());
    FAIL() << "nothing was thrown";
  } catch (const cofferdam::error& failure) {
    const std::string_view what = failure.what();
    EXPECT_NE(what.find("before byte 1024"), std::string_view::npos) << what;
    EXPECT_EQ(what.find('\x1b'), std::string_view::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string_view::npos) << what;
  }
}

}  // namespace
