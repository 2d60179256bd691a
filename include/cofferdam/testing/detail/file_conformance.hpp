// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/testing/detail/conformance_base.hpp>
#include <cofferdam/testing/detail/side_task.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::testing {

/// The tests of file operations: content, paths, listings and transfers.
template <class Backend>
class file_conformance : public detail::conformance<Backend> {};
TYPED_TEST_SUITE_P(file_conformance);

namespace detail {

/// Returns file names that expose common mistakes: names pasted into a shell line, taken for options, or split at the
/// wrong character.
inline std::vector<std::string> odd_names() {
  return {"plain",
          "two words",
          "-rf",
          "--help",
          "a'b",
          "a\"b",
          "$(id)",
          "`id`",
          "a\nb",
          "a\tb",
          "a;b|c&d",
          "a*b?[c]",
          "a\\b",
          "~",
          "#hash",
          ".hidden",
          "trailing.",
          "CON",
          "\xC3\xA9t\xC3\xA9",
          "e\xCC\x81",
          "\xF0\x9F\x9A\xA7",
          "not-utf8-\xFF\xFE",
          "%s%n",
          std::string(255, 'n')};
}

/// Returns `size` pseudo-random bytes, so that a lost or swapped piece changes the content.
inline bytes distinct_bytes(std::size_t size) {
  bytes content(size);
  std::uint32_t state = 12345;
  for (std::byte& byte : content) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return content;
}

inline std::string paths_of(const std::vector<directory_entry>& entries) {
  std::string paths;
  for (const directory_entry& entry : entries) paths += entry.path() + (entry.is_directory() ? "/ " : " ");
  return paths;
}

/// Returns changes as text: `+` created, `*` written, `-` removed, `from>` renamed; `D` before a directory. Changes of
/// attributes are left out, and so is a second change that equals the one before.
inline std::string shown_changes(const std::vector<file_change>& changes) {
  std::string text;
  std::string last;
  for (const file_change& change : changes) {
    if (change.kind() == change_kind::attributes) continue;
    std::string shown = change.is_directory() ? "D " + change.path() : change.path();
    if (change.kind() == change_kind::created) shown = "+" + shown;
    if (change.kind() == change_kind::written) shown = "*" + shown;
    if (change.kind() == change_kind::removed) shown = "-" + shown;
    if (change.kind() == change_kind::renamed) shown = change.from() + ">" + shown;
    if (shown != last) text += shown + " ";
    last = shown;
  }
  return text;
}

/// Reads changes until their text contains `last`, and then those that have come by then.
inline awaitable<std::string> changes_until(directory_watch& watch, std::string last) {
  std::vector<file_change> all;
  while (shown_changes(all).find(last) == std::string::npos) {
    const std::vector<file_change> more = co_await watch.next();
    all.insert(all.end(), more.begin(), more.end());
  }
  const std::vector<file_change> rest = co_await watch.next(std::chrono::milliseconds(0));
  all.insert(all.end(), rest.begin(), rest.end());
  co_return shown_changes(all);
}

}  // namespace detail

TYPED_TEST_P(file_conformance, what_is_written_is_read_back) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "a.txt", "content\n");
    std::string text = co_await read_text(env, "a.txt");
    EXPECT_EQ(text, "content\n");
  });
}

TYPED_TEST_P(file_conformance, an_empty_file_is_a_file) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "empty", "");
    bytes content = co_await env.read_file("empty", 0);
    EXPECT_TRUE(content.empty());
    const bool there = co_await exists(env, "empty");
    EXPECT_TRUE(there);
  });
}

TYPED_TEST_P(file_conformance, every_byte_value_passes_through_a_file) {
  this->with([](auto& env) -> awaitable<void> {
    const std::string everything = detail::all_bytes();
    co_await write_text(env, "binary", everything);
    std::string text = co_await read_text(env, "binary");
    EXPECT_EQ(text, everything);
  });
}

TYPED_TEST_P(file_conformance, writing_again_replaces_all_of_it) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "a", "a long first content");
    co_await write_text(env, "a", "short");
    std::string text = co_await read_text(env, "a");
    EXPECT_EQ(text, "short");
  });
}

TYPED_TEST_P(file_conformance, missing_folders_are_made) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "one/two/three/file", "deep");
    std::string text = co_await read_text(env, "one/two/three/file");
    EXPECT_EQ(text, "deep");
    const bool folder = co_await is_directory(env, "one/two");
    EXPECT_TRUE(folder);
  });
}

TYPED_TEST_P(file_conformance, a_path_has_many_spellings) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "./a//b/./c", "same");
    std::string text = co_await read_text(env, "a/b/c");
    EXPECT_EQ(text, "same");
  });
}

TYPED_TEST_P(file_conformance, odd_names_round_trip_and_mean_the_same_to_commands) {
  this->with([](auto& env) -> awaitable<void> {
    for (const std::string& name : detail::odd_names()) {
      co_await write_text(env, "odd/" + name, "content of " + name);
      std::string text = co_await read_text(env, "odd/" + name);
      EXPECT_EQ(text, "content of " + name);
      command_result seen = co_await env.run_command(argv("cat", "./odd/" + name));
      EXPECT_EQ(as_text(seen.out().head()), "content of " + name);
    }
    std::vector<directory_entry> found = co_await list_directory(env, "odd");
    std::vector<std::string> names = detail::odd_names();
    std::sort(names.begin(), names.end());
    EXPECT_EQ(found.size(), names.size());
    for (std::size_t i = 0; i < std::min(found.size(), names.size()); ++i) EXPECT_EQ(found[i].path(), names[i]);
  });
}

TYPED_TEST_P(file_conformance, a_missing_file_is_not_found) {
  this->with([](auto& env) -> awaitable<void> {
    co_await detail::expect_error([&env] { return env.read_file("missing", 10); }, exec_errc::not_found, "read");
    co_await detail::expect_error([&env] { return env.read_file("missing/deeper", 10); }, exec_errc::not_found,
                                  "read deeper");
    const bool there = co_await exists(env, "missing");
    EXPECT_FALSE(there);
  });
}

TYPED_TEST_P(file_conformance, a_directory_is_not_a_file) {
  this->with([](auto& env) -> awaitable<void> {
    co_await make_directory(env, "folder");
    co_await detail::expect_error([&env] { return env.read_file("folder", 10); }, exec_errc::not_a_file, "read");
    co_await detail::expect_error([&env] { return env.write_file("folder", bytes_view()); }, exec_errc::not_a_file,
                                  "write");
  });
}

TYPED_TEST_P(file_conformance, a_file_that_is_too_large_is_not_read) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "ten", "0123456789");
    bytes exactly = co_await env.read_file("ten", 10);
    EXPECT_EQ(as_text(exactly), "0123456789");
    co_await detail::expect_error([&env] { return env.read_file("ten", 9); }, exec_errc::too_large, "read");
  });
}

TYPED_TEST_P(file_conformance, a_sparse_file_of_a_tebibyte_is_too_large_at_once) {
  this->with([](auto& env) -> awaitable<void> {
    command_result setup = co_await env.run_command(shell("truncate -s 1T huge"));
    if (!setup.ok()) co_return;  // without sparse files of 1 TiB this case cannot be tested
    co_await detail::expect_error([&env] { return env.read_file("huge", 1024 * 1024); }, exec_errc::too_large, "read");
  });
}

TYPED_TEST_P(file_conformance, paths_out_of_the_workspace_are_refused) {
  this->with([](auto& env) -> awaitable<void> {
    for (const std::string path : {"/etc/passwd", "../x", "a/../../x", "a/..", "..", "//etc/passwd"}) {
      co_await detail::expect_error([&] { return env.read_file(path, 10); }, exec_errc::outside_workspace,
                                    "read " + path);
      co_await detail::expect_error([&] { return env.write_file(path, bytes_view()); }, exec_errc::outside_workspace,
                                    "write " + path);
      co_await detail::expect_error([&]() -> awaitable<void> { co_await list_directory(env, path); },
                                    exec_errc::outside_workspace, "list " + path);
      co_await detail::expect_error([&] { return remove(env, path); }, exec_errc::outside_workspace, "remove " + path);
    }
  });
}

TYPED_TEST_P(file_conformance, paths_that_are_none_are_refused) {
  this->with([](auto& env) -> awaitable<void> {
    for (const std::string& path : {std::string(), std::string("a\0b", 3), std::string(256, 'n'),
                                    std::string("a/") + std::string(5000, '/') + std::string(300, 'n')}) {
      co_await detail::expect_error([&] { return env.read_file(path, 10); }, exec_errc::invalid_argument, "read");
      co_await detail::expect_error([&] { return env.write_file(path, bytes_view()); }, exec_errc::invalid_argument,
                                    "write");
    }
  });
}

TYPED_TEST_P(file_conformance, a_link_out_of_the_workspace_is_not_followed) {
  this->with([](auto& env) -> awaitable<void> {
    command_result setup =
        co_await env.run_command(shell("ln -s /etc/hostname absolute; ln -s ../../../../../../etc/hostname relative; "
                                       "ln -s /etc folder; ln -s loop loop"));
    EXPECT_TRUE(setup.ok());
    for (const std::string path : {"absolute", "relative", "folder/hostname", "loop"}) {
      try {
        co_await env.read_file(path, 1000);
        ADD_FAILURE() << path << " was read";
      } catch (const error& refused) {
        EXPECT_NE(refused.code(), exec_errc::invalid_argument) << refused.what();
      }
    }
  });
}

TYPED_TEST_P(file_conformance, a_link_inside_the_workspace_is_followed_for_reading) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "target", "behind the link");
    command_result setup = co_await env.run_command(shell("ln -s target link"));
    EXPECT_TRUE(setup.ok());
    std::string text = co_await read_text(env, "link");
    EXPECT_EQ(text, "behind the link");
  });
}

TYPED_TEST_P(file_conformance, a_fifo_is_refused_and_does_not_block) {
  this->with([](auto& env) -> awaitable<void> {
    command_result setup = co_await env.run_command(shell("mkfifo pipe"));
    EXPECT_TRUE(setup.ok());
    const auto before = std::chrono::steady_clock::now();
    co_await detail::expect_error([&env] { return env.read_file("pipe", 10); }, exec_errc::not_a_file, "read a FIFO");
    co_await detail::expect_error([&env] { return env.write_file("pipe", bytes_view()); }, exec_errc::not_a_file,
                                  "write a FIFO");
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  });
}

TYPED_TEST_P(file_conformance, a_big_file_is_exact_both_ways) {
  this->with([](auto& env) -> awaitable<void> {
    const bytes content = detail::distinct_bytes(32 * 1024 * 1024 + 7);
    co_await env.write_file("big", content);
    bytes back = co_await env.read_file("big", content.size());
    EXPECT_TRUE(back == content);
    command_result size = co_await env.run_command(shell("wc -c < big"));
    EXPECT_EQ(std::stoull(size.out().text()), content.size());
  });
}

TYPED_TEST_P(file_conformance, a_list_has_every_depth_in_order) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "b/c/d", "x");
    co_await write_text(env, "b/a", "xy");
    co_await write_text(env, "a", "xyz");
    co_await write_text(env, "b.txt", "");
    co_await make_directory(env, "empty");
    std::vector<directory_entry> entries = co_await list_directory(env, ".");
    EXPECT_EQ(detail::paths_of(entries), "a b/ b.txt b/a b/c/ b/c/d empty/ ");
    std::vector<directory_entry> below = co_await list_directory(env, "b");
    EXPECT_EQ(detail::paths_of(below), "a c/ c/d ");
    EXPECT_EQ(below.front().size(), 2U);
    std::vector<directory_entry> none = co_await list_directory(env, "empty");
    EXPECT_TRUE(none.empty());
  });
}

TYPED_TEST_P(file_conformance, a_list_goes_as_deep_as_it_is_told) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "b/c/d/e", "x");
    co_await write_text(env, "b/a", "xy");
    co_await write_text(env, "a", "xyz");
    std::vector<directory_entry> top = co_await list_directory(env, ".", list_options().depth(1));
    EXPECT_EQ(detail::paths_of(top), "a b/ ");
    std::vector<directory_entry> two = co_await list_directory(env, ".", list_options().depth(2));
    EXPECT_EQ(detail::paths_of(two), "a b/ b/a b/c/ ");
    std::vector<directory_entry> below = co_await list_directory(env, "b", list_options().depth(2));
    EXPECT_EQ(detail::paths_of(below), "a c/ c/d/ ");
    std::vector<directory_entry> entries = co_await list_directory(env, ".", list_options().depth(1'000'000));
    EXPECT_EQ(entries.size(), 6U);
  });
}

TYPED_TEST_P(file_conformance, a_list_of_more_than_was_allowed_is_an_error) {
  this->with([](auto& env) -> awaitable<void> {
    command_result setup = co_await env.run_command(shell("mkdir d && cd d && touch a b c dd && mkdir e && touch e/f"));
    EXPECT_TRUE(setup.ok());
    std::vector<directory_entry> six = co_await list_directory(env, "d", list_options().entries(6).path_bytes(9));
    EXPECT_EQ(six.size(), 6U);
    std::vector<directory_entry> five =
        co_await list_directory(env, "d", list_options().depth(1).entries(5).path_bytes(6));
    EXPECT_EQ(five.size(), 5U);
    const list_options few = list_options().entries(5);
    co_await detail::expect_error([&]() -> awaitable<void> { co_await list_directory(env, "d", few); },
                                  exec_errc::too_large, "5 names");
    const list_options brief = list_options().path_bytes(8);
    co_await detail::expect_error([&]() -> awaitable<void> { co_await list_directory(env, "d", brief); },
                                  exec_errc::too_large, "8 bytes");
    std::vector<directory_entry> again = co_await list_directory(env, "d");
    EXPECT_EQ(again.size(), 6U);
  });
}

TYPED_TEST_P(file_conformance, a_list_does_not_enter_links) {
  this->with([](auto& env) -> awaitable<void> {
    command_result setup = co_await env.run_command(shell("mkdir d && ln -s /etc d/out && ln -s . d/self"));
    EXPECT_TRUE(setup.ok());
    std::vector<directory_entry> entries = co_await list_directory(env, ".");
    EXPECT_EQ(detail::paths_of(entries), "d/ d/out d/self ");
    EXPECT_EQ(entries.back().type(), file_type::symlink);
  });
}

TYPED_TEST_P(file_conformance, listing_what_is_no_directory_is_an_error) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "file", "x");
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await list_directory(env, "missing"); },
                                  exec_errc::not_found, "missing");
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await list_directory(env, "file"); },
                                  exec_errc::not_a_directory, "file");
  });
}

TYPED_TEST_P(file_conformance, a_stat_tells_what_stands_there) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "file", "12345");
    command_result setup = co_await env.run_command(shell("chmod 750 file; mkdir dir; ln -s file link; mkfifo pipe"));
    EXPECT_TRUE(setup.ok());
    directory_entry file = co_await stat(env, "file");
    directory_entry dir = co_await stat(env, "dir");
    directory_entry link = co_await stat(env, "link");
    directory_entry pipe = co_await stat(env, "pipe");
    EXPECT_EQ(file.type(), file_type::regular);
    EXPECT_EQ(file.path(), "file");
    EXPECT_EQ(file.size(), 5U);
    EXPECT_EQ(file.mode(), 0750U);
    EXPECT_EQ(dir.type(), file_type::directory);
    EXPECT_EQ(link.type(), file_type::symlink);
    EXPECT_EQ(pipe.type(), file_type::other);
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await stat(env, "missing"); }, exec_errc::not_found,
                                  "missing");
  });
}

TYPED_TEST_P(file_conformance, a_directory_may_be_made_twice_but_not_over_a_file) {
  this->with([](auto& env) -> awaitable<void> {
    co_await make_directory(env, "a/b/c");
    co_await make_directory(env, "a/b/c");
    const bool there = co_await is_directory(env, "a/b/c");
    EXPECT_TRUE(there);
    co_await write_text(env, "file", "x");
    for (const char* const path : {"file", "file/below"})
      co_await detail::expect_error([&] { return make_directory(env, path); }, exec_errc::not_a_directory, "file");
    std::string text = co_await read_text(env, "file");
    EXPECT_EQ(text, "x");
  });
}

TYPED_TEST_P(file_conformance, removing_takes_files_trees_and_links_but_not_what_links_name) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "keep/file", "kept");
    co_await write_text(env, "tree/a/b", "x");
    command_result setup = co_await env.run_command(shell("ln -s ../keep tree/link; ln -s keep link"));
    EXPECT_TRUE(setup.ok());
    co_await remove(env, "tree");
    co_await remove(env, "link");
    std::vector<directory_entry> left = co_await list_directory(env, ".");
    EXPECT_EQ(detail::paths_of(left), "keep/ keep/file ");
    co_await detail::expect_error([&env] { return remove(env, "missing"); }, exec_errc::not_found, "missing");
  });
}

TYPED_TEST_P(file_conformance, renaming_moves_and_replaces) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "old", "new content");
    co_await write_text(env, "taken", "old content");
    co_await rename(env, "old", "taken");
    std::string text = co_await read_text(env, "taken");
    EXPECT_EQ(text, "new content");
    const bool gone = co_await exists(env, "old");
    EXPECT_FALSE(gone);
    co_await detail::expect_error([&env] { return rename(env, "missing", "x"); }, exec_errc::not_found, "missing");
    co_await rename(env, "taken", "taken");
    text = co_await read_text(env, "taken");
    EXPECT_EQ(text, "new content");
    co_await detail::expect_error([&env] { return rename(env, "missing", "missing"); }, exec_errc::not_found,
                                  "missing");
  });
}

TYPED_TEST_P(file_conformance, renaming_says_why_it_cannot_be_done) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "file", "x");
    co_await write_text(env, "full/entry", "x");
    co_await make_directory(env, "empty");
    struct row {
      const char* from;
      const char* to;
      exec_errc code;
    };
    constexpr row rows[] = {{"empty", "file", exec_errc::not_a_directory},
                            {"file", "empty", exec_errc::not_a_file},
                            {"empty", "full", exec_errc::not_empty},
                            {"full", "full/inside", exec_errc::invalid_argument},
                            {"file", "missing/file", exec_errc::not_found},
                            {"full", "file/inside", exec_errc::not_a_directory},
                            {"file", "file/inside", exec_errc::not_a_directory},
                            {"file/inside", "x", exec_errc::not_a_directory}};
    for (const row& each : rows)
      co_await detail::expect_error([&] { return rename(env, each.from, each.to); }, each.code, each.to);
    for (const char* const path : {"file/inside", "file/inside/more"}) {
      co_await detail::expect_error([&] { return stat(env, path); }, exec_errc::not_a_directory, "file");
      co_await detail::expect_error([&] { return remove(env, path); }, exec_errc::not_a_directory, "file");
      co_await detail::expect_error([&] { return list_directory(env, path); }, exec_errc::not_a_directory, "file");
    }
    std::vector<directory_entry> left = co_await list_directory(env, ".");
    EXPECT_EQ(detail::paths_of(left), "empty/ file full/ full/entry ");
    co_await rename(env, "full", "empty");
    left = co_await list_directory(env, ".");
    EXPECT_EQ(detail::paths_of(left), "empty/ empty/entry file ");
  });
}

TYPED_TEST_P(file_conformance, a_file_that_replaces_another_is_never_seen_in_part) {
  this->with([](auto& env) -> awaitable<void> {
    const bytes first(100'000, static_cast<std::byte>('a'));
    const bytes second(100'000, static_cast<std::byte>('b'));
    co_await env.write_file("whole", first);
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const auto work = [&env, first, second]() -> awaitable<void> {
      for (int i = 0; i < 10; ++i) {
        co_await env.write_file("whole", second);
        co_await env.write_file("whole", first);
      }
    };
    const detail::side_task task(executor, work);
    while (!task.has_ended()) {
      command_result seen =
          co_await env.run_command(shell("tr -d '\\n' < whole | fold -w 1 | sort -u | tr -d '\\n'; wc -c < whole"));
      const std::string text = seen.out().text();
      EXPECT_TRUE(text == "a100000\n" || text == "b100000\n") << text;
    }
    EXPECT_FALSE(task.code()) << task.code().message();
  });
}

TYPED_TEST_P(file_conformance, other_work_runs_while_operations_follow_one_another) {
  this->with([](auto& env) -> awaitable<void> {
    const auto fired = std::make_shared<bool>(false);
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(20));
    const auto fires = [fired](std::error_code) { *fired = true; };
    timer.async_wait(fires);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string last;
    while (!*fired && std::chrono::steady_clock::now() < limit) {
      co_await write_text(env, "f", "x");
      last = co_await read_text(env, "f");
    }
    EXPECT_TRUE(*fired);
    EXPECT_EQ(last, "x");
  });
}

TYPED_TEST_P(file_conformance, a_watch_reports_what_a_command_changes) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "src/old", "x");
    directory_watch watch = co_await watch_directory(env, "src");
    command_result changed = co_await env.run_command(
        shell("echo long text > src/new; mv src/old src/moved; mkdir src/folder; echo > outside; rm src/new"));
    EXPECT_TRUE(changed.ok());
    const std::string seen = co_await detail::changes_until(watch, "D folder");
    const std::string expected =
        watch.lists() ? "+D folder +moved *moved -old " : "+new *new old>moved +D folder -new ";
    EXPECT_EQ(seen, expected);
  });
}

TYPED_TEST_P(file_conformance, a_recursive_watch_misses_nothing_in_new_folders) {
  this->with([](auto& env) -> awaitable<void> {
    co_await make_directory(env, "src");
    directory_watch watch = co_await watch_directory(env, "src", watch_options().recursive());
    command_result changed = co_await env.run_command(shell("mkdir -p src/a/b/c && : > src/a/b/c/f"));
    EXPECT_TRUE(changed.ok());
    const std::string seen = co_await detail::changes_until(watch, "+a/b/c/f ");
    EXPECT_TRUE(seen.starts_with("+D a +D a/b +D a/b/c +a/b/c/f ")) << seen;
  });
}

TYPED_TEST_P(file_conformance, a_file_operation_is_seen_by_a_watch_without_temporary_names) {
  this->with([](auto& env) -> awaitable<void> {
    directory_watch watch = co_await watch_directory(env, ".");
    co_await write_text(env, "file", "content");
    const std::string seen = co_await detail::changes_until(watch, "*file ");
    EXPECT_EQ(seen, "+file *file ");
  });
}

TYPED_TEST_P(file_conformance, two_watches_are_independent_and_end_with_their_folder) {
  this->with([](auto& env) -> awaitable<void> {
    co_await make_directory(env, "a");
    directory_watch inner = co_await watch_directory(env, "a");
    directory_watch outer = co_await watch_directory(env, ".");
    co_await remove(env, "a");
    const std::string seen = co_await detail::changes_until(outer, "-D a ");
    EXPECT_EQ(seen, "-D a ");
    co_await detail::expect_error([&inner]() -> awaitable<void> { co_await inner.next(); }, exec_errc::not_found,
                                  "a removed directory");
  });
}

TYPED_TEST_P(file_conformance, what_is_no_directory_cannot_be_watched) {
  this->with([](auto& env) -> awaitable<void> {
    co_await write_text(env, "file", "x");
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await watch_directory(env, "missing"); },
                                  exec_errc::not_found, "missing");
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await watch_directory(env, "file"); },
                                  exec_errc::not_a_directory, "file");
    co_await detail::expect_error([&env]() -> awaitable<void> { co_await watch_directory(env, "../up"); },
                                  exec_errc::outside_workspace, "../up");
  });
}

REGISTER_TYPED_TEST_SUITE_P(
    file_conformance, what_is_written_is_read_back, an_empty_file_is_a_file, every_byte_value_passes_through_a_file,
    writing_again_replaces_all_of_it, missing_folders_are_made, a_path_has_many_spellings,
    odd_names_round_trip_and_mean_the_same_to_commands, a_missing_file_is_not_found, a_directory_is_not_a_file,
    a_file_that_is_too_large_is_not_read, a_sparse_file_of_a_tebibyte_is_too_large_at_once,
    paths_out_of_the_workspace_are_refused, paths_that_are_none_are_refused,
    a_link_out_of_the_workspace_is_not_followed, a_link_inside_the_workspace_is_followed_for_reading,
    a_fifo_is_refused_and_does_not_block, a_big_file_is_exact_both_ways, a_list_has_every_depth_in_order,
    a_list_goes_as_deep_as_it_is_told, a_list_of_more_than_was_allowed_is_an_error, a_list_does_not_enter_links,
    listing_what_is_no_directory_is_an_error, a_stat_tells_what_stands_there,
    a_directory_may_be_made_twice_but_not_over_a_file, removing_takes_files_trees_and_links_but_not_what_links_name,
    renaming_moves_and_replaces, renaming_says_why_it_cannot_be_done,
    a_file_that_replaces_another_is_never_seen_in_part, other_work_runs_while_operations_follow_one_another,
    a_watch_reports_what_a_command_changes, a_recursive_watch_misses_nothing_in_new_folders,
    a_file_operation_is_seen_by_a_watch_without_temporary_names, two_watches_are_independent_and_end_with_their_folder,
    what_is_no_directory_cannot_be_watched);

}  // namespace cofferdam::inline COFFERDAM_ABI::testing
