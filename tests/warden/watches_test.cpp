// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/wire.hpp>

#include "support/census.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam_test::eventually;
using cofferdam_test::temporary_folder;
using cofferdam_test::wire_client;
using cofferdam_test::wire_frame;
using cofferdam_test::wire_payload;
using cofferdam_test::wire_reader;
using frame = wire::frame_type;

constexpr std::uint32_t plenty = 1U << 30;

/// Watches of the warden, the helper program in a sandbox. Changes are shown as text, for example `+D folder`.
class WardenWatches : public ::testing::Test {
 protected:
  WardenWatches() {
    folder_.make_folder("in/w");
    client_.take_hello();
    client_.configure((folder_ / "in").string());
  }

  std::filesystem::path path(const std::string& name) const { return folder_ / ("in/w/" + name); }
  void touch(const std::string& name) const { std::ofstream(path(name)).flush(); }
  void append(const std::string& name) const { std::ofstream(path(name), std::ios::app) << "x"; }

  /// Sends a request and returns the errno of its reply. Keeps the changes that come before it.
  int ask(frame type, std::uint32_t job, std::string_view payload = {}) {
    client_.send_frame(type, job, payload);
    for (;;) {
      std::optional<wire_frame> next = client_.next_frame();
      if (!next) throw std::runtime_error("no reply");
      if (next->type == frame::changes) {
        take(*next);
        continue;
      }
      EXPECT_EQ(next->type, frame::reply);
      EXPECT_EQ(next->job, job);
      return wire_reader(next->payload).number<std::int32_t>();
    }
  }

  int watch(std::uint32_t job, std::string_view path, bool recursive, std::uint32_t credit = plenty) {
    return ask(frame::watch, job,
               wire_payload().string(path).number(static_cast<std::uint8_t>(recursive)).number(credit));
  }

  /// Returns the changes of a watch so far.
  std::vector<std::string> changes(std::uint32_t job, std::uint32_t credit = 0) {
    EXPECT_EQ(ask(frame::watch_credit, job, wire_payload().number(credit)), 0);
    std::vector<std::string> found;
    std::vector<std::pair<std::uint32_t, std::string>> others;
    for (auto& [number, text] : seen_) {
      if (number == job)
        found.push_back(std::move(text));
      else
        others.emplace_back(number, std::move(text));
    }
    seen_ = std::move(others);
    return found;
  }

  std::size_t bytes() const noexcept { return bytes_; }
  wire_client& client() { return client_; }

  temporary_folder folder_;

 private:
  void take(const wire_frame& arrived) {
    bytes_ += arrived.payload.size();
    EXPECT_LE(arrived.payload.size(), wire::max_payload);
    wire_reader from(arrived.payload);
    while (!from.at_end()) {
      const unsigned kind = from.number<std::uint8_t>();
      const std::string folder = from.number<std::uint8_t>() != 0 ? "D " : "";
      const std::int32_t number = from.number<std::int32_t>();
      const std::string name = from.string();
      const std::string before = from.string();
      std::string text = std::string("?+*->@!.").substr(kind, 1) + folder + name;
      if (!before.empty()) text = before + text;
      if (number != 0) text += " " + std::to_string(number);
      seen_.emplace_back(arrived.job, std::move(text));
    }
  }

  wire_client client_;
  std::vector<std::pair<std::uint32_t, std::string>> seen_;
  std::size_t bytes_ = 0;
};

using texts = std::vector<std::string>;

TEST_F(WardenWatches, every_change_of_a_burst_comes_once_and_in_order) {
  ASSERT_EQ(watch(1, "w", false), 0);
  constexpr int count = 2000;
  texts expected;
  for (int i = 0; i < count; ++i) {
    const std::string name = "f" + std::to_string(i);
    const std::string other = "g" + std::to_string(i);
    touch(name);
    append(name);
    std::filesystem::rename(path(name), path(other));
    std::filesystem::remove(path(other));
    for (const std::string& text : {"+" + name, "*" + name, name + ">" + other, "-" + other}) expected.push_back(text);
  }
  EXPECT_EQ(changes(1), expected);
}

TEST_F(WardenWatches, a_new_tree_is_watched_at_once) {
  ASSERT_EQ(watch(1, "w", true), 0);
  for (int i = 0; i < 50; ++i) {
    const std::string top = "t" + std::to_string(i);
    std::filesystem::create_directories(path(top + "/b/c"));
    touch(top + "/b/c/f");
    EXPECT_EQ(changes(1), (texts{"+D " + top, "+D " + top + "/b", "+D " + top + "/b/c", "+" + top + "/b/c/f"}));
  }
  append("t7/b/c/f");
  EXPECT_EQ(changes(1), (texts{"*t7/b/c/f"}));
}

TEST_F(WardenWatches, what_is_made_right_after_its_folder_comes_once) {
  ASSERT_EQ(watch(1, "w", true), 0);
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    const std::string folder = "d" + std::to_string(i);
    std::filesystem::create_directory(path(folder));
    expected.push_back("+D " + folder);
    for (int k = 0; k < 10; ++k) {
      touch(folder + "/" + std::to_string(k));
      expected.push_back("+" + folder + "/" + std::to_string(k));
    }
  }
  std::vector<std::string> seen = changes(1);
  std::sort(seen.begin(), seen.end());  // entries that were read come in the order of the directory
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(seen, expected);
}

TEST_F(WardenWatches, a_renamed_folder_is_watched_under_its_new_name) {
  std::filesystem::create_directories(path("a/b"));
  ASSERT_EQ(watch(1, "w", true), 0);
  std::filesystem::rename(path("a"), path("z"));
  EXPECT_EQ(changes(1), (texts{"a>D z"}));
  touch("z/b/f");
  EXPECT_EQ(changes(1), (texts{"+z/b/f"}));
  std::filesystem::rename(path("z/b"), folder_ / "in/out");
  EXPECT_EQ(changes(1), (texts{"-D z/b"}));
  std::ofstream(folder_ / "in/out/unseen").flush();
  EXPECT_EQ(changes(1), texts());
  std::filesystem::rename(folder_ / "in/out", path("back"));
  EXPECT_EQ(changes(1).front(), "+D back");
}

TEST_F(WardenWatches, a_written_file_has_no_temporary_name) {
  ASSERT_EQ(watch(1, "w", true), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(ask(frame::write, 9, wire_payload().string("w/f").number(wire::keep_mode).number(std::uint8_t{0})), 0);
    ASSERT_EQ(ask(frame::write_data, 9, "data"), 0);
    ASSERT_EQ(ask(frame::write_commit, 9), 0);
    EXPECT_EQ(changes(1), (texts{"+f", "*f"}));
  }
}

TEST_F(WardenWatches, only_a_recursive_watch_sees_what_is_below) {
  std::filesystem::create_directories(path("a"));
  ASSERT_EQ(watch(1, "w", false), 0);
  ASSERT_EQ(watch(2, "w", true), 0);
  ASSERT_EQ(watch(3, "w/a", false), 0);
  touch("a/f");
  ::chmod(path("a").c_str(), 0700);
  EXPECT_EQ(changes(1), (texts{"@D a"}));
  EXPECT_EQ(changes(2), (texts{"+a/f", "@D a"}));
  EXPECT_EQ(changes(3), (texts{"+f"}));
}

TEST_F(WardenWatches, the_end_of_the_folder_is_reported) {
  ASSERT_EQ(watch(1, "w", true), 0);
  touch("f");
  std::filesystem::remove_all(folder_ / "in/w");
  EXPECT_EQ(changes(1), (texts{"+f", "-f", ".D "}));
  EXPECT_EQ(ask(frame::watch_end, 1), 0);
  EXPECT_EQ(ask(frame::watch_end, 1), EBADF);
  std::filesystem::create_directory(folder_ / "in/w");
  ASSERT_EQ(watch(1, "w", false), 0);
  std::filesystem::rename(folder_ / "in/w", folder_ / "in/v");
  EXPECT_EQ(changes(1), (texts{".D "}));
}

TEST_F(WardenWatches, changes_that_nobody_reads_are_bounded_and_their_loss_is_reported) {
  constexpr std::uint32_t credit = 1000;
  ASSERT_EQ(watch(1, "w", true, credit), 0);
  for (int i = 0; i < 50'000; ++i) {  // twice as many changes, many more than the kernel's queue holds
    touch("f");
    std::filesystem::remove(path("f"));
  }
  std::filesystem::create_directories(path("late/folder"));
  EXPECT_FALSE(changes(1).empty());
  EXPECT_LE(bytes(), credit + 100) << "a change is short here";
  texts seen = changes(1, plenty);
  ASSERT_FALSE(seen.empty());
  EXPECT_LT(seen.size(), 100'000U);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "!D "), 1);
  EXPECT_EQ(seen.back(), "!D ") << "the loss comes behind the last change that may be missing";
  touch("late/folder/f");
  EXPECT_EQ(changes(1), (texts{"+late/folder/f"})) << "what was made meanwhile is watched";
}

TEST_F(WardenWatches, watches_are_refused_with_a_reason) {
  touch("f");
  ::symlink("/etc", path("out").c_str());
  EXPECT_EQ(watch(1, "missing", true), ENOENT);
  EXPECT_EQ(watch(1, "w/f", true), ENOTDIR);
  EXPECT_EQ(watch(1, "../in", true), EXDEV);
  EXPECT_EQ(watch(1, "w/out", true), EXDEV);
  EXPECT_EQ(ask(frame::watch, 1, wire_payload().string("w").number(std::uint8_t{2}).number(plenty)), EINVAL);
  EXPECT_EQ(ask(frame::watch_credit, 1, wire_payload().number(plenty)), EBADF);
  ASSERT_EQ(watch(1, "w", true), 0);
  EXPECT_EQ(watch(1, "w", true), EBUSY);
  for (std::uint32_t i = 2; i <= wire::max_watches; ++i) ASSERT_EQ(watch(i, "w", false), 0) << i;
  EXPECT_EQ(watch(100, "w", false), EUSERS);
  EXPECT_EQ(ask(frame::watch_end, 3), 0);
  EXPECT_EQ(watch(100, "w", false), 0);
}

TEST_F(WardenWatches, a_tree_with_too_many_folders_is_refused_and_its_watches_are_freed) {
  for (std::uint32_t i = 0; i < wire::max_watched_directories; ++i)
    std::filesystem::create_directory(path(std::to_string(i)));
  EXPECT_EQ(watch(1, "w", true), EFBIG);
  std::filesystem::remove(path("0"));
  EXPECT_EQ(watch(1, "w", true), 0);
  std::filesystem::create_directory(path("new"));
  EXPECT_EQ(changes(1), (texts{"+D new", "!D  " + std::to_string(EFBIG)})) << "the limit is reported, not silent";
}

TEST_F(WardenWatches, a_watch_does_not_delay_requests) {
  ASSERT_EQ(watch(1, "w", true, 0), 0);
  for (int i = 0; i < 1000; ++i) touch("f" + std::to_string(i));
  EXPECT_EQ(ask(frame::stat, 5, wire_payload().string("w/f1")), 0);
  EXPECT_EQ(bytes(), 0U) << "there is no credit";
  EXPECT_EQ(changes(1, plenty).size(), 1000U);
}

TEST_F(WardenWatches, a_name_that_is_replaced_by_a_link_leads_nowhere) {
  folder_.make_folder("outside/secret");
  ASSERT_EQ(watch(1, "w", true), 0);
  for (int i = 0; i < 300; ++i) {
    std::filesystem::create_directory(path("d"));
    std::filesystem::rename(path("d"), path("e"));
    std::filesystem::create_directory_symlink(folder_ / "outside", path("d"));
    std::filesystem::remove(path("d"));
    std::filesystem::remove(path("e"));
  }
  for (const std::string& text : changes(1)) EXPECT_EQ(text.find("secret"), std::string::npos) << text;
}

}  // namespace
