// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/detail/core/listed_watch.hpp>

#include "support/run.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using cofferdam::awaitable;
using cofferdam::change_kind;
using cofferdam::directory_entry;
using cofferdam::directory_watch;
using cofferdam::error;
using cofferdam::exec_errc;
using cofferdam::file_change;
using cofferdam::file_system;
using cofferdam::file_type;
using cofferdam::watch_options;
using namespace std::chrono_literals;

namespace directory_watch_tests {

std::string shown(const std::vector<file_change>& changes) {
  std::string text;
  for (const file_change& change : changes)
    text += std::string("+*->@").substr(static_cast<std::size_t>(change.kind()), 1) +
            (change.is_directory() ? "D " : "") + change.path() + " ";
  return text;
}

directory_entry file(std::string path, std::uint64_t size = 1, unsigned mode = 0644) {
  return directory_entry(std::move(path), file_type::regular, size, mode);
}
directory_entry folder(std::string path) { return directory_entry(std::move(path), file_type::directory, 0, 0755); }

TEST(ListingChanges, two_listings_are_compared) {
  using cofferdam::detail::listing_changes;
  EXPECT_EQ(shown(listing_changes({}, {})), "");
  EXPECT_EQ(shown(listing_changes({file("a")}, {file("a")})), "");
  EXPECT_EQ(shown(listing_changes({}, {file("a"), folder("b")})), "+a *a +D b ");
  EXPECT_EQ(shown(listing_changes({file("a"), folder("b")}, {})), "-a -D b ");
  EXPECT_EQ(shown(listing_changes({file("a"), file("c")}, {file("b"), file("c", 2, 0600)})), "-a +b *b *c @c ");
  EXPECT_EQ(shown(listing_changes({file("a")}, {folder("a"), file("a/b")})), "-a +D a +a/b *a/b ");
  directory_entry later = file("a");
  later.modified(std::chrono::system_clock::time_point(5s));
  EXPECT_EQ(shown(listing_changes({file("a")}, {later})), "*a ") << "the size is the same";
  directory_entry other = file("a");
  other.ids(1, 2);
  EXPECT_EQ(shown(listing_changes({file("a")}, {other})), "@a ");
}

/// Files that can only be listed.
class listed_files final : public file_system::implementation {
 public:
  awaitable<directory_entry> stat(std::string) override { throw unsupported(); }
  awaitable<std::vector<directory_entry>> list(std::string, cofferdam::list_options options) override {
    ++listings;
    depth = options.depth();
    if (failure) throw error(*failure);
    co_return entries;
  }
  awaitable<void> make_directory(std::string) override { throw unsupported(); }
  awaitable<void> remove(std::string) override { throw unsupported(); }
  awaitable<void> rename(std::string, std::string) override { throw unsupported(); }
  awaitable<cofferdam::transfer_result> put_files(cofferdam::file_source&) override { throw unsupported(); }
  awaitable<std::unique_ptr<cofferdam::file_source>> get_files(std::vector<cofferdam::file_request>) override {
    throw unsupported();
  }

  std::vector<directory_entry> entries;
  std::optional<error> failure;
  int listings = 0;
  std::size_t depth = 0;

 private:
  static error unsupported() { return error(exec_errc::unsupported, "not in this test"); }
};

template <class Work>
awaitable<exec_errc> code_of(Work work) {
  try {
    co_await work();
  } catch (const error& failure) {
    co_return static_cast<exec_errc>(failure.code().value());
  }
  co_return exec_errc{};
}

TEST(DirectoryWatch, an_empty_object_watches_nothing) {
  cofferdam_test::run([]() -> awaitable<void> {
    directory_watch none;
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.lists());
    exec_errc code = co_await code_of([&none]() -> awaitable<void> { co_await none.next(); });
    EXPECT_EQ(code, exec_errc::environment_closed);
    file_system nothing;
    code = co_await code_of([&nothing]() -> awaitable<void> { co_await nothing.watch("."); });
    EXPECT_EQ(code, exec_errc::environment_closed);
  });
}

TEST(DirectoryWatch, an_interval_is_checked) {
  EXPECT_THROW(watch_options().interval(9ms), error);
  EXPECT_EQ(watch_options().interval(10ms).interval(), 10ms);
  EXPECT_TRUE(watch_options().recursive().is_recursive());
  EXPECT_FALSE(watch_options().is_recursive());
}

TEST(DirectoryWatch, files_that_cannot_be_watched_are_listed) {
  cofferdam_test::run([]() -> awaitable<void> {
    const auto files = std::make_shared<listed_files>();
    files->entries = {file("a")};
    const file_system system(files);
    directory_watch watch = co_await system.watch("d", watch_options().interval(10ms));
    EXPECT_TRUE(watch.lists());
    EXPECT_EQ(files->depth, 1U);
    files->entries = {file("a", 2), file("b")};
    std::vector<file_change> changes = co_await watch.next(0ms);
    EXPECT_EQ(shown(changes), "*a +b *b ") << "a limit of 0 lists at once";
    changes = co_await watch.next(0ms);
    EXPECT_TRUE(changes.empty());
    const int before = files->listings;
    changes = co_await watch.next(35ms);
    EXPECT_TRUE(changes.empty());
    EXPECT_GT(files->listings, before);
    EXPECT_LT(files->listings, before + 10) << "the interval is kept";
    files->entries.clear();
    changes = co_await watch.next();
    EXPECT_EQ(shown(changes), "-a -b ");
    watch = co_await system.watch("d", watch_options().recursive());
    EXPECT_GT(files->depth, 1U);
  });
}

TEST(DirectoryWatch, a_listed_folder_that_is_gone_ends_the_watch_after_its_changes) {
  cofferdam_test::run([]() -> awaitable<void> {
    const auto files = std::make_shared<listed_files>();
    files->entries = {file("a")};
    const file_system system(files);
    directory_watch watch = co_await system.watch("d", watch_options().interval(10ms));
    files->failure = error(exec_errc::not_found, "gone");
    const std::vector<file_change> changes = co_await watch.next();
    EXPECT_EQ(shown(changes), "-a ");
    exec_errc code = co_await code_of([&watch]() -> awaitable<void> { co_await watch.next(); });
    EXPECT_EQ(code, exec_errc::not_found);
    files->failure = error(exec_errc::too_large, "too many");
    code = co_await code_of([&watch]() -> awaitable<void> { co_await watch.next(); });
    EXPECT_EQ(code, exec_errc::too_large);
  });
}

TEST(DirectoryWatch, a_wait_for_listed_changes_can_be_cancelled_at_every_step) {
  const auto files = std::make_shared<listed_files>();
  const auto work = [&files]() -> awaitable<void> {
    const file_system system(files);
    directory_watch watch = co_await system.watch("d", watch_options().interval(10ms));
    co_await watch.next(25ms);
  };
  std::size_t steps = 0;
  std::exception_ptr failure;
  while (!cofferdam_test::cancel_after(steps, work, failure)) {
    EXPECT_TRUE(failure) << steps;
    ASSERT_LT(++steps, 100U);
  }
  EXPECT_FALSE(failure);
  EXPECT_GT(steps, 2U);
}

}  // namespace directory_watch_tests
