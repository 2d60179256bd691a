// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks FS (files) of the project's catalogue of attacks, against the file operations of `local` and of the jail, and
// against upload and download. Each test checks the canary files outside the workspace, and this program's memory and
// time. Each test contains a control: a naive implementation, in which the attack succeeds.

#include <cofferdam/core/with.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/os/directory.hpp>

#include "support/attack_place.hpp"
#include "support/census.hpp"
#include "support/hostile.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_sides.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using cofferdam::as_bytes;
using cofferdam::as_text;
using cofferdam::directory;
using cofferdam::exec_errc;
using cofferdam::files;
using cofferdam::path_resolution;
using cofferdam::transfer_result;
using cofferdam_test::attack_folder;
using cofferdam_test::eventually;
using cofferdam_test::names;
using cofferdam_test::temporary_folder;
using cofferdam_test::thrown_by;
using cofferdam_test::tree;

/// Returns the number of repetitions of a race: COFFERDAM_ROUNDS if that environment variable is set, otherwise
/// `usual`. The catalogue requires 1,000,000, which takes too long for CI.
std::size_t rounds(std::size_t usual) {
  const char* setting = std::getenv("COFFERDAM_ROUNDS");
  return setting == nullptr ? usual : std::strtoull(setting, nullptr, 10);
}

/// A workspace `w`. Beside it lie files that no operation in the workspace may read or change.
class scene {
 public:
  explicit scene(const std::string& place = "local") : folder_(place) {
    folder_.write("canary", "untouched", 0640);
    folder_.write("outside/secret", "secret", 0640);
    folder_.make_folder("w-evil");
    folder_.write("w-evil/x", "secret");
  }
  void expect_untouched() const {
    EXPECT_EQ(folder_.read("canary"), "untouched");
    EXPECT_EQ(folder_.read("outside/secret"), "secret");
    EXPECT_EQ(folder_.read("w-evil/x"), "secret");
    EXPECT_EQ(folder_.mode("canary"), 0640U);
    EXPECT_EQ(folder_.mode("outside/secret"), 0640U);
    names found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      const std::string name = entry.path().lexically_relative(folder_.path()).string();
      if (name != "w" && !name.starts_with("w/")) found.push_back(name);
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (names{"canary", "outside", "outside/secret", "w-evil", "w-evil/x"}));
  }
  std::string path(std::string_view name = "") const { return (folder_ / name).string(); }
  const attack_folder& folder() const { return folder_; }

  /// Gives the workspace and all in it to the user of a jail of root, so that no attack fails for want of a permission.
  /// Does nothing the second time.
  void give_to_guest() const {
    constexpr uid_t guest = 61234;
    struct stat status {};
    if (!folder_.is_jail() || ::geteuid() != 0) return;
    if (::stat(path("w").c_str(), &status) == 0 && status.st_uid == guest) return;
    const std::string user = std::to_string(guest);
    ASSERT_EQ(std::system(("chown -hR " + user + ":" + user + " '" + path("w") + "'").c_str()), 0);
  }

  /// Runs `body(environment)` in an environment with `w` as its workspace.
  template <class Body>
  void run(Body body) const {
    give_to_guest();
    cofferdam_test::run([&]() -> cofferdam::awaitable<void> {
      return cofferdam::with(folder_.provider(std::chrono::milliseconds(100), std::chrono::milliseconds(100)),
                             std::move(body));
    });
  }

 private:
  attack_folder folder_;
};

class FsAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, FsAttack, cofferdam_test::in_places("local", "jail"), cofferdam_test::place_name);

/// Returns the error code of the exception from `work`, or zero if `work` succeeds.
template <class T>
cofferdam::awaitable<exec_errc> refusal(cofferdam::awaitable<T> work) {
  try {
    static_cast<void>(co_await std::move(work));
  } catch (const cofferdam::error& failure) {
    co_return static_cast<exec_errc>(failure.code().value());
  }
  co_return exec_errc{};
}

/// Runs every file operation on `path`, and returns the error codes. Every operation must be refused.
template <class E>
cofferdam::awaitable<std::vector<exec_errc>> all_operations(E& environment, std::string path) {
  static const std::string text = "overwritten";
  co_await environment.write_file("mover", as_bytes(text));
  std::vector<exec_errc> found;
  found.push_back(co_await refusal(environment.read_file(path, 1000)));
  found.push_back(co_await refusal(environment.write_file(path, as_bytes(text))));
  found.push_back(co_await refusal(environment.files().list(path)));
  found.push_back(co_await refusal(environment.files().stat(path + "/x")));
  found.push_back(co_await refusal(environment.files().remove(path + "/x")));
  found.push_back(co_await refusal(environment.files().make_directory(path + "/new")));
  found.push_back(co_await refusal(environment.files().rename(path + "/x", "stolen")));
  found.push_back(co_await refusal(environment.files().rename("mover", path + "/moved")));
  co_return found;
}

std::string naive_read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

TEST_P(FsAttack, FS_01_and_FS_02_paths_that_leave_the_workspace_are_refused) {
  const scene place(GetParam());
  place.folder().make_folder("w/a");
  const std::vector<std::string> leaving{"../canary",
                                         "../../etc/passwd",
                                         "a/../../canary",
                                         "a/..",
                                         "..",
                                         "/etc/passwd",
                                         "//",
                                         "//etc/passwd",
                                         place.path("canary"),
                                         place.path("w-evil/x"),
                                         place.path("w") + "/../canary",
                                         place.path("w") + "-evil",
                                         "a/../a/../../canary"};
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    for (const std::string& path : leaving) {
      std::vector<exec_errc> found = co_await all_operations(environment, path);
      for (const exec_errc refusal_code : found) EXPECT_EQ(refusal_code, exec_errc::outside_workspace) << path;
    }
    const std::array<std::string, 3> broken{"", std::string("a\0b", 3), std::string("\0", 1)};
    for (const std::string& path : broken) {
      exec_errc read = co_await refusal(environment.read_file(path, 10));
      EXPECT_EQ(read, exec_errc::invalid_argument);
      exec_errc listed = co_await refusal(environment.files().list(path));
      EXPECT_EQ(listed, exec_errc::invalid_argument);
    }
    // The absolute path of the workspace itself is allowed.
    const std::string text = "mine";
    co_await environment.write_file(place.path("w/mine"), as_bytes(text));
    cofferdam::bytes back = co_await environment.read_file("mine", 10);
    EXPECT_EQ(as_text(back), "mine");
  });
  place.expect_untouched();
  // Control: joining the paths reads the canary, and comparing them as strings accepts a folder beside the workspace.
  EXPECT_EQ(naive_read(place.path("w") + "/" + "../canary"), "untouched");
  EXPECT_TRUE(place.path("w-evil/x").starts_with(place.path("w")));
}

TEST_P(FsAttack, FS_03_symbolic_links_lead_no_operation_out) {
  const scene place(GetParam());
  place.folder().make_link("w/final", "../canary");
  place.folder().make_link("w/absolute", place.path("canary"));
  place.folder().make_link("w/dir", "../outside");
  place.folder().make_link("w/dangling", "../new");
  place.folder().make_link("w/self", "self");
  place.folder().make_link("w/back", "../w/dir");
  const directory beneath = directory::open(place.path("w"));
  const directory walked = directory::open(place.path("w"), path_resolution::component);
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    const std::string text = "overwritten";
    const std::array<std::string, 4> through{"dir", "back", "self", "final"};
    for (const std::string& path : through) {
      exec_errc read = co_await refusal(environment.read_file(path + "/secret", 100));
      EXPECT_EQ(read, exec_errc::outside_workspace) << path;
      exec_errc written = co_await refusal(environment.write_file(path + "/secret", as_bytes(text)));
      EXPECT_EQ(written, exec_errc::outside_workspace) << path;
      exec_errc creation = co_await refusal(environment.files().make_directory(path + "/new"));
      EXPECT_EQ(creation, exec_errc::outside_workspace) << path;
      exec_errc listed = co_await refusal(environment.files().list(path));
      EXPECT_EQ(listed, exec_errc::outside_workspace) << path;
      exec_errc removed = co_await refusal(environment.files().remove(path + "/secret"));
      EXPECT_EQ(removed, exec_errc::outside_workspace) << path;
      exec_errc moved = co_await refusal(environment.files().rename(path + "/secret", "stolen"));
      EXPECT_EQ(moved, exec_errc::outside_workspace) << path;
      for (const directory* folder : {&beneath, &walked})
        EXPECT_EQ(thrown_by([&] { folder->set_mode(path + "/secret", 0777); }), exec_errc::outside_workspace);
    }
    const std::array<std::string, 2> ends{"final", "absolute"};
    for (const std::string& path : ends) {
      exec_errc read = co_await refusal(environment.read_file(path, 100));
      EXPECT_EQ(read, exec_errc::outside_workspace) << path;
      for (const directory* folder : {&beneath, &walked})
        EXPECT_EQ(thrown_by([&] { folder->set_mode(path, 0777); }), exec_errc::outside_workspace);
    }
    exec_errc dangling = co_await refusal(environment.write_file("dangling/x", as_bytes(text)));
    EXPECT_EQ(dangling, exec_errc::outside_workspace);
    // If the link is the last part of a path, the operation replaces, renames or removes the link itself.
    co_await environment.write_file("absolute", as_bytes(text));
    co_await environment.files().rename("final", "renamed");
    co_await environment.files().remove("renamed");
    co_await environment.files().remove("dir");
    co_await environment.files().remove("dangling");
  });
  place.expect_untouched();
  // Control: plain system calls follow the link.
  place.folder().make_link("w/dir", "../outside");
  place.folder().make_link("w/final", "../canary");
  EXPECT_EQ(naive_read(place.path("w/dir/secret")), "secret");
  std::ofstream(place.path("w/final")) << "fooled";
  EXPECT_EQ(place.folder().read("canary"), "fooled");
}

/// Exchanges two names in a thread of its own, in a loop, until destruction.
class swapper {
 public:
  swapper(std::string a, std::string b)
      : thread_([this, a = std::move(a), b = std::move(b)] {
          while (!done_) {
            ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
            ++swaps_;
          }
        }) {}
  ~swapper() {
    done_ = true;
    thread_.join();
  }
  std::size_t swaps() const { return swaps_; }

 private:
  std::atomic<bool> done_ = false;
  std::atomic<std::size_t> swaps_ = 0;
  std::thread thread_;
};

TEST(Attack, FS_04_a_directory_swapped_for_a_link_meanwhile_leads_nothing_out) {
  const scene place;
  place.folder().write("w/a/secret", "inside");
  place.folder().make_link("w/b", "../outside");
  for (const path_resolution route : {path_resolution::kernel, path_resolution::component}) {
    const directory root = directory::open(place.path("w"), route);
    std::size_t inside = 0;
    std::size_t refused = 0;
    std::size_t touched = 0;
    {
      const swapper attacker(place.path("w/a"), place.path("w/b"));
      const std::size_t max_rounds = rounds(100000);
      for (std::size_t i = 0; i < max_rounds; ++i) {
        try {
          switch (i % 8) {
            case 0: root.write_file("a/secret", as_bytes("inside")); break;
            case 1: root.make_directory("a/new"); break;
            case 2: root.set_mode("a/secret", 0600); break;
            case 3: root.remove("a/new"); break;
            case 4: root.list("."); break;
            default:
              if (as_text(root.read_file("a/secret", 100)) != "inside") ++touched;
          }
          ++inside;
        } catch (const cofferdam::error&) {
          ++refused;
        }
      }
      EXPECT_GT(attacker.swaps(), max_rounds / 100);
    }
    EXPECT_EQ(touched, 0U);
    EXPECT_GT(inside, 0U);
    EXPECT_GT(refused, 0U) << "the swaps were never met";
  }
  place.expect_untouched();
  // Control: code that checks a path and later opens it by name reads the secret.
  std::size_t fooled = 0;
  {
    const swapper attacker(place.path("w/a"), place.path("w/b"));
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (fooled == 0 && std::chrono::steady_clock::now() < give_up) {
      std::error_code ignored;
      const std::filesystem::path resolved = std::filesystem::canonical(place.path("w/a/secret"), ignored);
      if (!resolved.native().starts_with(place.path("w/"))) continue;
      if (naive_read(place.path("w/a/secret")) == "secret") ++fooled;
    }
  }
  EXPECT_GT(fooled, 0U);
}

TEST_P(FsAttack, FS_04_an_environment_follows_no_directory_that_is_swapped_meanwhile) {
  const scene place(GetParam());
  place.folder().write("w/a/secret", "inside");
  place.folder().make_link("w/b", "../outside");
  std::size_t inside = 0;
  std::size_t refused = 0;
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    const swapper attacker(place.path("w/a"), place.path("w/b"));
    const std::string text = "inside";
    const std::size_t max_rounds = rounds(1000);
    for (std::size_t i = 0; i < max_rounds || inside == 0 || refused == 0; ++i) {
      exec_errc found{};
      if (i % 4 == 0) {
        found = co_await refusal(environment.write_file("a/secret", as_bytes(text)));
      } else if (i % 4 == 1) {
        found = co_await refusal(environment.files().make_directory("a/new"));
      } else {
        try {
          cofferdam::bytes content = co_await environment.read_file("a/secret", 100);
          EXPECT_EQ(as_text(content), "inside");
        } catch (const cofferdam::error& failure) {
          found = static_cast<exec_errc>(failure.code().value());
        }
      }
      ++(found == exec_errc{} ? inside : refused);
      if (i > 100 * max_rounds) break;
    }
  });
  EXPECT_GT(inside, 0U);
  EXPECT_GT(refused, 0U) << "the swaps were never met";
  place.expect_untouched();
}

TEST_P(FsAttack, FS_05_a_hard_link_to_a_host_file_is_not_written_through) {
  const scene place(GetParam());
  ASSERT_EQ(::link(place.path("canary").c_str(), place.path("w/hard").c_str()), 0);
  ASSERT_EQ(::link(place.path("outside/secret").c_str(), place.path("w/target").c_str()), 0);
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    const std::string text = "overwritten";
    co_await environment.write_file("hard", as_bytes(text));
    co_await environment.write_file("other", as_bytes(text));
    co_await environment.files().rename("other", "target");
    cofferdam::bytes back = co_await environment.read_file("hard", 100);
    EXPECT_EQ(as_text(back), "overwritten");
  });
  place.expect_untouched();
  // Control: opening the file in place and truncating it overwrites the canary.
  ASSERT_EQ(::link(place.path("canary").c_str(), place.path("w/again").c_str()), 0);
  std::ofstream(place.path("w/again")) << "fooled";
  EXPECT_EQ(place.folder().read("canary"), "fooled");
}

TEST_P(FsAttack, FS_06_proc_and_dev_fd_are_no_way_out) {
  const scene place(GetParam());
  const int held = ::open(place.path("canary").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(held, 0);
  const std::string number = std::to_string(held);
  const std::vector<std::string> ways{"/proc/self/root" + place.path("canary"), "/proc/self/fd/" + number,
                                      "/dev/fd/" + number, "/proc/" + std::to_string(::getppid()) + "/cwd"};
  for (std::size_t i = 0; i < ways.size(); ++i) place.folder().make_link("w/l" + std::to_string(i), ways[i]);
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      exec_errc absolute = co_await refusal(environment.read_file(ways[i], 100));
      EXPECT_EQ(absolute, exec_errc::outside_workspace);
      exec_errc linked = co_await refusal(environment.read_file("l" + std::to_string(i), 100));
      EXPECT_EQ(linked, exec_errc::outside_workspace);
    }
  });
  // A folder that contains such links already: /proc/self of this process.
  for (const path_resolution route : {path_resolution::kernel, path_resolution::component}) {
    const directory proc = directory::open("/proc/self", route);
    EXPECT_EQ(thrown_by([&] { proc.read_file("fd/" + number, 100); }), exec_errc::outside_workspace);
    EXPECT_EQ(thrown_by([&] { proc.read_file("root" + place.path("canary"), 100); }), exec_errc::outside_workspace);
  }
  place.expect_untouched();
  // Control: a plain open follows the first three links.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(naive_read(place.path("w/l" + std::to_string(i))), "untouched");
  ::close(held);
}

TEST_P(FsAttack, FS_07_what_is_no_file_is_a_typed_error_within_100_ms) {
  const scene place(GetParam());
  place.folder().make_fifo("w/fifo");
  place.folder().make_folder("w/dir");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket = place.path("w/socket");
  ASSERT_LT(socket.size(), sizeof address.sun_path);
  std::copy(socket.begin(), socket.end(), address.sun_path);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  std::vector<std::string> odd{"fifo", "dir", "socket"};
  if (::mknod(place.path("w/device").c_str(), S_IFCHR | 0666, makedev(1, 5)) == 0) odd.emplace_back("device");
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    const std::string text = "x";
    for (const std::string& path : odd) {
      const auto start = std::chrono::steady_clock::now();
      exec_errc read = co_await refusal(environment.read_file(path, 100));
      EXPECT_EQ(read, exec_errc::not_a_file) << path;
      exec_errc written = co_await refusal(environment.write_file(path, as_bytes(text)));
      EXPECT_EQ(written, exec_errc::not_a_file) << path;
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100)) << path;
    }
    const auto start = std::chrono::steady_clock::now();
    transfer_result report = co_await cofferdam::download(environment, files("."), place.folder() / "w/dir");
    EXPECT_EQ(report.failed().size(), odd.size() - 1);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  });
  ::close(listener);
  // Control: a plain open of a FIFO for reading blocks until a writer opens it.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::open(place.path("w/fifo").c_str(), O_RDONLY) >= 0 ? 0 : 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WNOHANG), 0) << "the plain open came back";
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
}

std::size_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

TEST_P(FsAttack, FS_08_endless_sparse_and_growing_files_cost_no_more_than_the_limit) {
  const scene place(GetParam());
  place.folder().make_link("w/zero", "/dev/zero");
  place.folder().write("w/sparse", "");
  ASSERT_EQ(::truncate(place.path("w/sparse").c_str(), off_t{1} << 40), 0);
  place.folder().write("w/growing", std::string(1 << 20, 'x'));
  constexpr std::size_t limit = 8 * 1024 * 1024;
  std::atomic<bool> done = false;
  std::thread writer([&] {
    std::ofstream stream(place.path("w/growing"), std::ios::app | std::ios::binary);
    const std::string piece(1 << 20, 'y');
    for (int i = 0; i < 256 && !done; ++i) stream << piece << std::flush;
  });
  const std::size_t before = peak_memory();
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    exec_errc zero = co_await refusal(environment.read_file("zero", limit));
    EXPECT_EQ(zero, exec_errc::outside_workspace);
    exec_errc sparse = co_await refusal(environment.read_file("sparse", limit));
    EXPECT_EQ(sparse, exec_errc::too_large);
    exec_errc growing{};
    for (int i = 0; i < 10000 && growing == exec_errc{}; ++i) {
      growing = co_await refusal(environment.read_file("growing", limit));
    }
    EXPECT_EQ(growing, exec_errc::too_large);
    exec_errc fetched = co_await refusal(cofferdam::download(environment, files("sparse"), place.folder() / "w"));
    EXPECT_EQ(fetched, exec_errc::too_large);
  });
  done = true;
  writer.join();
  if (!cofferdam_test::is_sanitized()) {
    EXPECT_LT(peak_memory() - before, 8 * limit);
  }
  // Control: reading until the end of the file exceeds any limit.
  std::ifstream stream(place.path("w/sparse"), std::ios::binary);
  std::vector<char> piece(1 << 20);
  std::size_t got = 0;
  while (got <= limit && stream.read(piece.data(), static_cast<std::streamsize>(piece.size()))) got += piece.size();
  EXPECT_GT(got, limit);
}

TEST_P(FsAttack, FS_09_download_of_a_hostile_tree_brings_nothing_from_outside) {
  const scene place(GetParam());
  place.folder().write("w/t/plain", "fine");
  place.folder().write("w/t/suid", "fine", 06777);
  place.folder().make_link("w/t/outward", "../../outside/secret");
  place.folder().make_link("w/t/absolute", place.path("canary"));
  place.folder().make_link("w/t/chain1", "chain2");
  place.folder().make_link("w/t/chain2", "../../outside");
  place.folder().make_link("w/t/chain2-file", "chain2/secret");
  place.folder().make_fifo("w/t/fifo");
  if (::mknod(place.path("w/t/device").c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0)
    GTEST_LOG_(INFO) << "no device: not root";
  place.give_to_guest();  // which takes special mode bits away
  ASSERT_EQ(::chmod(place.path("w/t/suid").c_str(), 06777), 0);
  const temporary_folder out;
  for (const bool follow : {false, true}) {
    place.run([&](auto& environment) -> cofferdam::awaitable<void> {
      cofferdam::file_set set = files("t");
      if (follow) set.follow_symlinks();
      transfer_result report = co_await cofferdam::download(environment, std::move(set), out.path());
      EXPECT_EQ(report.files().size(), 2U);
      EXPECT_GE(report.failed().size(), 6U);
    });
    EXPECT_EQ(tree(out), (names{"t/", "t/plain=fine", "t/suid=fine"}));
    EXPECT_EQ(out.mode("t/suid"), 0777U);
  }
  place.expect_untouched();
  // Control: the copy of the standard library follows the link, and keeps the special mode bits.
  const temporary_folder naive;
  std::error_code ignored;
  std::filesystem::copy(place.path("w/t/outward"), naive / "outward", ignored);
  std::filesystem::copy(place.path("w/t/suid"), naive / "suid", ignored);
  EXPECT_EQ(naive.read("outward"), "secret");
  if (::geteuid() == 0) {
    EXPECT_NE(naive.mode("suid") & 07000U, 0U);  // the kernel takes them from a file that another user writes
  }
}

TEST_P(FsAttack, FS_12_upload_follows_no_link_to_secrets_unless_asked) {
  const scene place(GetParam());
  const temporary_folder input;
  input.write("data/a.csv", "1");
  input.make_link("data/keys", place.path("outside"));
  input.make_link("data/key", place.path("outside/secret"));
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    transfer_result report = co_await cofferdam::upload(environment, files((input / "data").string()));
    EXPECT_EQ(report.failed().size(), 2U);
    transfer_result matched = co_await cofferdam::upload(environment, files((input / "data/*").string()).into("m"));
    EXPECT_EQ(matched.failed().size(), 2U);
  });
  EXPECT_FALSE(place.folder().has("w/data/key"));
  EXPECT_FALSE(place.folder().has("w/data/keys"));
  EXPECT_FALSE(place.folder().has("w/m/key"));
  EXPECT_TRUE(place.folder().has("w/data/a.csv"));
  // Control: with follow_symlinks() the files are copied.
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    transfer_result report =
        co_await cofferdam::upload(environment, files((input / "data").string()).follow_symlinks());
    EXPECT_TRUE(report.ok());
  });
  EXPECT_EQ(place.folder().read("w/data/keys/secret"), "secret");
}

TEST_P(FsAttack, FS_13_what_root_uploads_under_a_strict_umask_is_the_guests_own) {
  const scene place(GetParam());
  const temporary_folder input;
  input.write("data/a/b/c.txt", "mine", 0600);
  const mode_t before = ::umask(0077);
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    transfer_result report = co_await cofferdam::upload(environment, files((input / "data").string()).into("x/y"));
    EXPECT_TRUE(report.ok());
    cofferdam::command_result used = co_await environment.run_command(
        cofferdam::shell("cd x/y/a/b && cat c.txt && echo more >> c.txt && echo new > beside && rm c.txt && "
                         "echo again > c.txt && mkdir -p deep/er && echo done"));
    EXPECT_EQ(used.out().text(), "minedone\n") << used.err().text();
  });
  EXPECT_EQ(place.folder().read("w/x/y/a/b/c.txt"), "again\n");
  if (place.folder().is_jail() && ::geteuid() == 0) {
    // Control: a copy that root makes in the usual way is of no use to the guest.
    std::filesystem::copy(input / "data", place.path("w/naive"), std::filesystem::copy_options::recursive);
    place.run([&](auto& environment) -> cofferdam::awaitable<void> {
      cofferdam::command_result used = co_await environment.run_command(cofferdam::shell("cat naive/a/b/c.txt"));
      EXPECT_FALSE(used.ok());
    });
  }
  ::umask(before);
}

TEST_P(FsAttack, FS_14_names_of_any_bytes_make_the_round_trip) {
  const scene place(GetParam());
  const std::string evil = "$(touch " + std::string("hacked)");
  const std::vector<std::string> evil_names{"new\nline",
                                            "-rf",
                                            "--help",
                                            "'",
                                            "\"",
                                            "`id`",
                                            evil,
                                            std::string(255, 'n'),
                                            "\xff\xfe\x80",
                                            "trailing.",
                                            "CON",
                                            "nfc-\xc3\xa9",
                                            "nfd-e\xcc\x81",
                                            "case",
                                            "CASE",
                                            " ",
                                            "\t",
                                            "a b",
                                            "*",
                                            "[1]",
                                            "\\",
                                            ";",
                                            "|",
                                            "&",
                                            "\x01",
                                            "\x7f",
                                            "~",
                                            "#"};
  const temporary_folder out;
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    for (const std::string& name : evil_names) co_await environment.write_file(name, as_bytes(name));
    std::vector<cofferdam::directory_entry> listed = co_await environment.files().list(".");
    EXPECT_EQ(listed.size(), evil_names.size());
    for (const cofferdam::directory_entry& entry : listed) {
      cofferdam::bytes back = co_await environment.read_file(entry.path(), 1000);
      EXPECT_EQ(as_text(back), entry.path());
    }
    transfer_result report = co_await cofferdam::download(environment, files("."), out.path());
    EXPECT_EQ(report.files().size(), evil_names.size());
    for (const std::string& name : evil_names) {
      std::string again = name;
      again.insert(again.size() == 255 ? 254 : again.size(), "2");
      again.resize(std::min<std::size_t>(again.size(), 255));
      co_await environment.files().rename(name, again);
      co_await environment.files().remove(again);
    }
    exec_errc longer = co_await refusal(environment.write_file(std::string(256, 'n'), as_bytes(evil)));
    EXPECT_EQ(longer, exec_errc::invalid_argument);
  });
  for (const std::string& name : evil_names) EXPECT_EQ(out.read(name), name);
  EXPECT_TRUE(std::filesystem::is_empty(place.path("w")));
  place.expect_untouched();
  // Control: a shell line that contains the file name unquoted runs the command in the name.
  ASSERT_EQ(std::system(("cd '" + place.path("w") + "' && (cat < " + evil + ") 2>/dev/null; true").c_str()), 0);
  EXPECT_TRUE(place.folder().has("w/hacked"));
}

/// Starts a child process that replaces `file` with one of two texts in a loop, and kills the child at a random
/// moment. Returns how often `file` contained neither text afterwards, or another file lay beside it.
template <class Write>
std::size_t broken_after_kills(const std::filesystem::path& folder, std::size_t times, Write write) {
  const std::string first_text(300000, '1');
  const std::string second_text(200000, '2');
  std::mt19937 random(7);
  std::size_t broken = 0;
  { std::ofstream(folder / "file") << first_text; }
  for (std::size_t i = 0; i < times; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (bool odd = false;; odd = !odd) write(odd ? first_text : second_text);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 4000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const std::string content = naive_read((folder / "file").string());
    const auto count =
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
    if ((content != first_text && content != second_text) || count != 1) ++broken;
  }
  return broken;
}

TEST(Attack, FS_15_a_host_killed_while_it_writes_leaves_the_old_file_or_the_new_one) {
  const scene place;
  place.folder().make_folder("staging");
  const std::size_t times = rounds(200);
  for (const path_resolution route : {path_resolution::kernel, path_resolution::component}) {
    const directory root = directory::open(place.path("w"), route);
    const directory staging = directory::open(place.path("staging"), route);
    EXPECT_EQ(broken_after_kills(place.folder() / "w", times,
                                 [&](const std::string& text) {
                                   cofferdam::detail::atomic_file file = root.create_file("file", staging);
                                   for (std::size_t at = 0; at < text.size(); at += 50000)
                                     file.write(as_bytes(std::string_view(text).substr(at, 50000)));
                                   file.commit();
                                 }),
              0U);
  }
  std::filesystem::remove_all(place.path("staging"));
  place.expect_untouched();
  // Control: writing into the file itself leaves truncated texts.
  EXPECT_GT(broken_after_kills(
                place.folder() / "w", times,
                [&](const std::string& text) { std::ofstream(place.path("w/file"), std::ios::binary) << text; }),
            0U);
}

TEST_P(FsAttack, FS_15_an_environment_whose_host_is_killed_leaves_the_old_file_or_the_new_one) {
  const scene place(GetParam());
  place.folder().write("w/file", "", 0666);
  const std::string first_text(3'000'000, '1');
  const std::string second_text(2'000'000, '2');
  std::mt19937 random(7);
  const cofferdam_test::orphanage orphans;
  for (std::size_t i = 0; i < rounds(4); ++i) {
    cofferdam_test::forked_program host([&](int words) {
      place.run([&](auto& environment) -> cofferdam::awaitable<void> {
        co_await environment.write_file("file", as_bytes(first_text));
        cofferdam_test::forked_program::say(words, "begun\n");
        for (bool odd = false;; odd = !odd)
          co_await environment.write_file("file", as_bytes(odd ? first_text : second_text));
      });
    });
    ASSERT_EQ(host.line(), "begun");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    host.kill();
    ASSERT_TRUE(eventually([&] { return orphans.is_empty(); })) << cofferdam_test::shown(orphans.living());
    const std::string content = place.folder().read("w/file");
    EXPECT_TRUE(content == first_text || content == second_text) << content.size();
    // The user has named the workspace, so an unfinished file has a temporary name in it, between two system calls.
    std::size_t left = 0;
    for (const auto& each : std::filesystem::directory_iterator(place.path("w"))) {
      const std::string name = each.path().filename().string();
      if (name.starts_with(".cofferdam-")) {
        ++left;
      } else {
        EXPECT_EQ(name, "file");
      }
    }
    EXPECT_LE(left, i + 1) << "at most one file for each killed host";
  }
}

TEST_P(FsAttack, FS_16_huge_and_deep_trees_and_deep_patterns_take_bounded_time_and_memory) {
  const scene place(GetParam());
  const bool is_jail = place.folder().is_jail();
  const std::size_t count = std::max<std::size_t>(rounds(is_jail ? 5000 : 100000), 1000);
  const std::size_t levels = is_jail ? 1000 : 5000;  // the time grows with the square
  for (std::size_t folder = 0; folder * 1000 < count; ++folder) {
    // All names in a folder are hard links to one file, because creating 1,000 new files takes ten times longer.
    const std::string at = place.path("w/wide/" + std::to_string(folder));
    place.folder().write("w/wide/" + std::to_string(folder) + "/0", "");
    const int fd = ::open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (std::size_t i = 1; i < 1000; ++i) ASSERT_EQ(::linkat(fd, "0", fd, std::to_string(i).c_str(), 0), 0);
    ::close(fd);
  }
  place.folder().make_folder("w/deep");
  int fd = ::open(place.path("w/deep").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (std::size_t i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(fd, "d", 0755), 0);
    const int below = ::openat(fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ::close(fd);
    fd = below;
  }
  ASSERT_EQ(::symlinkat("..", fd, "loop"), 0);
  ::close(fd);

  // Control: an iterator that keeps one descriptor open for each level runs out of descriptors.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::error_code naive;
  for (std::filesystem::recursive_directory_iterator at(place.path("w/deep"), naive), end; !naive && at != end;)
    at.increment(naive);
  EXPECT_TRUE(naive);

  const std::size_t memory = peak_memory();
  const auto start = std::chrono::steady_clock::now();
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    std::vector<cofferdam::directory_entry> deep = co_await environment.files().list("deep");
    EXPECT_EQ(deep.size(), levels + 1);
    std::vector<cofferdam::directory_entry> wide = co_await environment.files().list("wide");
    EXPECT_EQ(wide.size(), (count + 999) / 1000 * 1001);
    transfer_result fetched =
        co_await cofferdam::download(environment, files("**/**/**/x", "wide/*/999x"), place.folder() / "w");
    EXPECT_EQ(fetched.failed().size(), 2U);
    exec_errc many =
        co_await refusal(cofferdam::download(environment, files("wide").at_most_files(500), place.folder() / "w"));
    EXPECT_EQ(many, exec_errc::too_large);
    transfer_result sent = co_await cofferdam::upload(environment, files(place.path("w/deep/**/**/**/x")));
    EXPECT_EQ(sent.failed().size(), 1U);
    co_await environment.files().remove("deep");
    co_await environment.files().remove("wide");
  });
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(took, std::chrono::seconds(60));
  if (!cofferdam_test::is_sanitized()) {
    EXPECT_LT(peak_memory() - memory, 200 * 1024 * 1024 + count * 1000);
  }
  EXPECT_TRUE(std::filesystem::is_empty(place.path("w")));
  place.expect_untouched();
}

TEST_P(FsAttack, FS_22_a_working_directory_outside_is_refused) {
  const scene place(GetParam());
  place.folder().write("w/file", "x");
  place.folder().make_folder("w/gone");
  place.folder().make_folder("w/fine");
  place.folder().make_link("w/out", "../outside");
  place.folder().make_link("w/absolute", place.path("outside"));
  std::filesystem::remove(place.path("w/gone"));
  place.run([&](auto& environment) -> cofferdam::awaitable<void> {
    const auto write_there = [&](std::string path) {
      return refusal(
          environment.run_command(cofferdam::shell("echo fooled > mark").working_directory(std::move(path))));
    };
    const std::vector<std::pair<std::string, exec_errc>> refused{{"out", exec_errc::outside_workspace},
                                                                 {"absolute", exec_errc::outside_workspace},
                                                                 {"..", exec_errc::outside_workspace},
                                                                 {"fine/../..", exec_errc::outside_workspace},
                                                                 {place.path("outside"), exec_errc::outside_workspace},
                                                                 {"/", exec_errc::outside_workspace},
                                                                 {"file", exec_errc::not_a_directory},
                                                                 {"gone", exec_errc::not_found}};
    for (const auto& attempt : refused) {
      exec_errc found = co_await write_there(attempt.first);
      EXPECT_EQ(found, attempt.second) << attempt.first;
    }
    exec_errc fine = co_await write_there("fine");
    EXPECT_EQ(fine, exec_errc{});
  });
  EXPECT_EQ(place.folder().read("w/fine/mark"), "fooled\n");
  place.expect_untouched();
  // Control: a plain `cd` follows the link.
  ASSERT_EQ(std::system(("cd '" + place.path("w/out") + "' && echo fooled > mark").c_str()), 0);
  EXPECT_TRUE(place.folder().has("outside/mark"));
}

TEST_P(FsAttack, FS_23_outputs_that_collide_where_case_is_ignored_are_refused_before_any_is_written) {
  const scene place(GetParam());
  place.folder().write("w/Report.md", "1");
  place.folder().write("w/report.md", "2");
  const auto fetch = [&](const std::filesystem::path& to, bool ignores_case) {
    exec_errc found{};
    const auto answer = ignores_case ? [](const std::filesystem::path&) { return true; }
                                     : [](const std::filesystem::path&) { return false; };
    place.run([&](auto& environment) -> cofferdam::awaitable<void> {
      found = co_await refusal(cofferdam::detail::download_files(environment, files("*.md"), to, answer));
    });
    return found;
  };
  const temporary_folder out;
  EXPECT_EQ(fetch(out / "new", true), exec_errc::collision);
  EXPECT_EQ(tree(out), names{});
  place.expect_untouched();
  // Control: without the check for collisions both files are written, and a host that ignores case would keep only
  // one.
  EXPECT_EQ(fetch(out / "new", false), exec_errc{});
  EXPECT_EQ(tree(out).size(), 3U);
}

}  // namespace
