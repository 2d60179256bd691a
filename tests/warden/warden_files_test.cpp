// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/warden/detail/wire.hpp>

#include "support/census.hpp"
#include "support/forbid.hpp"
#include "support/require.hpp"
#include "support/temporary_folder.hpp"
#include "support/wire_client.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam_test::eventually;
using cofferdam_test::forbid;
using cofferdam_test::temporary_folder;
using cofferdam_test::wire_client;
using cofferdam_test::wire_frame;
using cofferdam_test::wire_payload;
using cofferdam_test::wire_reader;
using frame = wire::frame_type;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// An entry of a directory as the warden sends it. (The warden is the helper program in each sandbox.)
struct wire_entry {
  unsigned type = 99;
  unsigned mode = 0;
  std::uint64_t size = 0;
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  std::uint32_t owner = 0;
  std::uint32_t group = 0;
  std::string target;
};
constexpr unsigned regular = 0, folder = 1, link = 2, other = 3;

wire_entry take_entry(wire_reader& from) {
  wire_entry entry;
  entry.type = from.number<std::uint8_t>();
  entry.mode = from.number<std::uint32_t>();
  entry.size = from.number<std::uint64_t>();
  entry.seconds = from.number<std::int64_t>();
  entry.nanoseconds = from.number<std::uint32_t>();
  entry.owner = from.number<std::uint32_t>();
  entry.group = from.number<std::uint32_t>();
  entry.target = from.string();
  return entry;
}

/// The reply to one request, and the data that arrived before it.
struct answer {
  int error = -1;
  std::string rest;  ///< the content of the reply after the error number
  std::string data;
  std::size_t pieces = 0;
};

/// The content of a file, or the errno if it cannot be read.
struct content {
  int error = 0;
  std::string data;
  std::uint64_t size = 0;
  unsigned mode = 0;
};

/// Sends requests for file operations, one at a time, and returns the replies.
class file_client {
 public:
  file_client(const std::string& root, bool walks) {
    const wire_frame hello = client_.take_hello();
    wire_reader from(hello.payload);
    from.number<std::uint64_t>();  // magic, version, machine
    for (int i = 0; i < 3; ++i) from.number<std::uint32_t>();
    capabilities_ = from.number<std::uint32_t>();
    client_.configure(root, walks ? std::uint32_t{wire::configure_component_walk} : 0);
  }

  wire_client& stream() { return client_; }
  bool has_openat2() const { return (capabilities_ & wire::capability_openat2) != 0; }

  std::uint32_t send(frame type, std::string_view payload) {
    client_.send_frame(type, ++job_, payload);
    return job_;
  }
  /// Receives frames until the reply to `job` arrives. Only data of this job may arrive before it.
  answer take(std::uint32_t job) {
    answer got;
    for (;;) {
      const std::optional<wire_frame> next = client_.next_frame();
      if (!next) throw std::runtime_error(client_.has_ended() ? "the stream has ended" : "no answer");
      if (next->job != job) throw std::runtime_error("an answer to something else");
      if (next->type == frame::reply_data) {
        EXPECT_LE(next->payload.size(), wire::max_payload);
        EXPECT_FALSE(next->payload.empty());
        got.data += next->payload;
        ++got.pieces;
        continue;
      }
      if (next->type != frame::reply) throw std::runtime_error("an unexpected frame");
      wire_reader from(next->payload);
      got.error = from.number<std::int32_t>();
      got.rest = std::string(from.rest());
      if (got.error != 0) {
        EXPECT_TRUE(got.rest.empty());
      }
      return got;
    }
  }
  answer ask(frame type, std::string_view payload) { return take(send(type, payload)); }
  answer ask_as(std::uint32_t job, frame type, std::string_view payload = {}) {
    client_.send_frame(type, job, payload);
    return take(job);
  }

  int stat(std::string_view path, wire_entry* entry = nullptr) {
    const answer got = ask(frame::stat, wire_payload().string(path));
    if (got.error != 0) return got.error;
    wire_reader from(got.rest);
    const wire_entry found = take_entry(from);
    EXPECT_TRUE(from.at_end());
    EXPECT_EQ(got.pieces, 0U);
    if (entry != nullptr) *entry = found;
    return 0;
  }
  int list(std::string_view path, bool recursive, std::map<std::string, wire_entry>* entries = nullptr) {
    const answer got = ask(frame::list, wire_payload().string(path).number(static_cast<std::uint8_t>(recursive)));
    EXPECT_TRUE(got.rest.empty());
    wire_reader from(got.data);
    while (!from.at_end()) {
      const wire_entry entry = take_entry(from);
      const std::string name = from.string();
      if (entries != nullptr) {
        EXPECT_TRUE(entries->emplace(name, entry).second) << name << " comes twice";
      }
    }
    return got.error;
  }
  std::set<std::string> names(std::string_view path, bool recursive) {
    std::map<std::string, wire_entry> entries;
    EXPECT_EQ(list(path, recursive, &entries), 0);
    std::set<std::string> listed;
    for (const auto& [name, entry] : entries) listed.insert(name);
    return listed;
  }
  content read(std::string_view path, std::uint64_t offset = 0, std::uint64_t limit = no_limit) {
    const answer got = ask(frame::read, wire_payload().string(path).number(offset).number(limit));
    content found{got.error, got.data};
    if (got.error != 0) return found;
    wire_reader from(got.rest);
    found.size = from.number<std::uint64_t>();
    found.mode = from.number<std::uint32_t>();
    EXPECT_TRUE(from.at_end());
    return found;
  }
  static wire_payload begin_of(std::string_view path, std::uint32_t mode = wire::keep_mode, bool exclusive = false) {
    return wire_payload().string(path).number(mode).number(static_cast<std::uint8_t>(exclusive));
  }
  /// Writes a file. Returns the first errno of the steps, or 0.
  int write(std::string_view path, std::string_view data, std::uint32_t mode = wire::keep_mode,
            bool exclusive = false) {
    const std::uint32_t job = send(frame::write, begin_of(path, mode, exclusive));
    if (const int error = take(job).error; error != 0) return error;
    const std::size_t size = data.size();
    while (!data.empty()) {
      const std::string_view piece = data.substr(0, wire::max_payload);
      if (const int error = ask_as(job, frame::write_data, piece).error; error != 0) return error;
      data.remove_prefix(piece.size());
    }
    const answer done = ask_as(job, frame::write_commit);
    if (done.error != 0) return done.error;
    wire_reader from(done.rest);
    EXPECT_EQ(from.number<std::uint64_t>(), size);
    EXPECT_TRUE(from.at_end());
    return 0;
  }
  int make_directory(std::string_view path, std::uint32_t mode = 0755) {
    return plain(frame::make_directory, wire_payload().string(path).number(mode));
  }
  int remove(std::string_view path) { return plain(frame::remove, wire_payload().string(path)); }
  int rename(std::string_view from, std::string_view to) {
    return plain(frame::rename, wire_payload().string(from).string(to));
  }
  int set_mode(std::string_view path, std::uint32_t mode) {
    return plain(frame::set_mode, wire_payload().string(path).number(mode));
  }
  int adopt(std::string_view path, std::string_view from, std::uint64_t size, std::uint32_t mode = wire::keep_mode) {
    return plain(frame::adopt, wire_payload().string(path).number(mode).number(size).string(from));
  }

 private:
  int plain(frame type, const wire_payload& payload) {
    const answer got = ask(type, payload);
    EXPECT_TRUE(got.rest.empty());
    EXPECT_EQ(got.pieces, 0U);
    return got.error;
  }

  wire_client client_;
  std::uint32_t capabilities_ = 0;
  std::uint32_t job_ = 100;
};

/// Runs `body` in a forked child. Returns true if `body` returned true there.
template <class F>
bool in_a_child(F&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (...) {
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Removes capabilities, so that programs which this process starts obey permission bits even if they run as root.
bool obey_permissions() {
  if (::getuid() != 0) return true;
  constexpr unsigned long dac_override = 1;
  constexpr unsigned long dac_read_search = 2;
  return ::prctl(PR_CAPBSET_DROP, dac_override, 0, 0, 0) == 0 &&
         ::prctl(PR_CAPBSET_DROP, dac_read_search, 0, 0, 0) == 0;
}

/// Makes `depth` folders, each in the one before. Uses no long paths. The lowest folder contains a file `end`.
void make_deep(const std::filesystem::path& top, int depth, const std::string& name = "d") {
  int at = ::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < depth && at >= 0; ++i) {
    ::mkdirat(at, name.c_str(), 0755);
    const int below = ::openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    ::close(at);
    at = below;
  }
  const int end = ::openat(at, "end", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  ::close(end);
  ::close(at);
}

std::size_t temporaries_in(const std::filesystem::path& place) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place))
    if (entry.path().filename().string().starts_with(".cofferdam-")) ++count;
  return count;
}

enum class resolution { kernel, component };

/// Each test runs twice: once with the kernel resolving paths (openat2), and once with the warden opening the
/// components of a path one by one (its walk).
class WardenFiles : public ::testing::TestWithParam<resolution> {
 protected:
  WardenFiles() {
    folder_.make_folder("in");
    folder_.write("canary", "untouched");
    folder_.write("outside/file", "secret");
    client_.emplace(root(), walks());
  }
  ~WardenFiles() override {
    client_.reset();
    for (const auto& [name, text] : {std::pair("canary", "untouched"), std::pair("outside/file", "secret")}) {
      EXPECT_TRUE(folder_.has(name)) << name;
      if (!folder_.has(name)) continue;
      EXPECT_EQ(folder_.read(name), text);
      EXPECT_EQ(folder_.mode(name), 0644U) << name;
    }
    EXPECT_EQ(folder_.mode("outside"), 0755U);
    std::error_code ignored;
    const std::filesystem::directory_iterator outside(folder_ / "outside", ignored);
    EXPECT_EQ(std::distance(begin(outside), end(outside)), 1);
    EXPECT_TRUE(eventually([&] { return temporaries_in(folder_ / "in") == 0; }));
  }

  static bool walks() { return GetParam() == resolution::component; }
  std::string root() { return (folder_ / "in").string(); }
  file_client& files() { return *client_; }

  /// Returns the process that performs the file operations: the warden's only child that is in the warden's session.
  /// Waits because a new supervisor (a process that starts commands) is also in the warden's session for a moment after
  /// its fork.
  pid_t worker() {
    std::vector<pid_t> found;
    eventually([&] {
      found.clear();
      for (const auto& entry : cofferdam_test::process_table())
        if (entry.parent == files().stream().pid() && entry.session == entry.parent && !entry.is_zombie())
          found.push_back(entry.pid);
      return found.size() == 1;
    });
    return found.size() == 1 ? found.front() : 0;
  }

  temporary_folder folder_;
  std::optional<file_client> client_;
};

INSTANTIATE_TEST_SUITE_P(Resolution, WardenFiles, ::testing::Values(resolution::kernel, resolution::component),
                         [](const auto& chosen) {
                           return chosen.param == resolution::kernel ? "kernel" : "component";
                         });

// ---- stat

TEST_P(WardenFiles, stat_tells_what_stands_there) {
  folder_.write("in/f", "12345", 0640);
  folder_.make_folder("in/d");
  folder_.make_link("in/l", "f");
  folder_.make_fifo("in/p");
  struct stat status {};
  ASSERT_EQ(::lstat((folder_ / "in/f").c_str(), &status), 0);
  wire_entry entry;
  ASSERT_EQ(files().stat("f", &entry), 0);
  EXPECT_EQ(entry.type, regular);
  EXPECT_EQ(entry.mode, 0640U);
  EXPECT_EQ(entry.size, 5U);
  EXPECT_EQ(entry.seconds, status.st_mtim.tv_sec);
  EXPECT_EQ(entry.nanoseconds, static_cast<std::uint32_t>(status.st_mtim.tv_nsec));
  EXPECT_EQ(entry.owner, status.st_uid);
  EXPECT_EQ(entry.group, status.st_gid);
  EXPECT_EQ(entry.target, "");
  ASSERT_EQ(files().stat("d", &entry), 0);
  EXPECT_EQ(entry.type, folder);
  EXPECT_EQ(entry.mode, 0755U);
  EXPECT_EQ(entry.size, 0U);
  ASSERT_EQ(files().stat("l", &entry), 0);
  EXPECT_EQ(entry.type, link);
  EXPECT_EQ(entry.size, 0U);
  EXPECT_EQ(entry.target, "f");
  std::map<std::string, wire_entry> entries;
  ASSERT_EQ(files().list(".", false, &entries), 0);
  EXPECT_EQ(entries.at("l").target, "f");
  EXPECT_EQ(entries.at("f").owner, status.st_uid);
  EXPECT_EQ(entries.at("f").target, "");
  ASSERT_EQ(files().stat("p", &entry), 0);
  EXPECT_EQ(entry.type, other);
}

TEST_P(WardenFiles, stat_tells_permission_bits_and_no_others) {
  folder_.write("in/f", "x", 06755);
  wire_entry entry;
  ASSERT_EQ(files().stat("f", &entry), 0);
  EXPECT_EQ(entry.mode, 0755U);
}

TEST_P(WardenFiles, stat_of_the_root_has_several_spellings) {
  wire_entry entry;
  for (const char* path : {".", "./", "././/."}) {
    ASSERT_EQ(files().stat(path, &entry), 0) << path;
    EXPECT_EQ(entry.type, folder);
  }
}

TEST_P(WardenFiles, a_path_has_one_meaning_in_all_its_spellings) {
  folder_.write("in/a/b", "text");
  for (const char* path : {"a/b", "./a/b", "a//b", "a/./b", "a/b/", ".//a/././b//."})
    EXPECT_EQ(files().read(path).data, "text") << path;
}

// ---- paths that are refused

TEST_P(WardenFiles, dot_dot_is_refused_by_every_operation) {
  folder_.make_folder("in/d");
  for (const char* path : {"..", "../canary", "d/..", "d/../../canary", "../in/d", "./../canary", "d/../d"}) {
    EXPECT_EQ(files().stat(path), EXDEV) << path;
    EXPECT_EQ(files().list(path, true), EXDEV) << path;
    EXPECT_EQ(files().read(path).error, EXDEV) << path;
    EXPECT_EQ(files().write(path, "x"), EXDEV) << path;
    EXPECT_EQ(files().make_directory(path), EXDEV) << path;
    EXPECT_EQ(files().remove(path), EXDEV) << path;
    EXPECT_EQ(files().rename(path, "x"), EXDEV) << path;
    EXPECT_EQ(files().rename("d", path), EXDEV) << path;
    EXPECT_EQ(files().set_mode(path, 0777), EXDEV) << path;
  }
}

// Operations with side effects use only paths in the temporary folder, because a broken program must not damage the
// machine.
TEST_P(WardenFiles, absolute_and_empty_paths_are_refused_by_every_operation) {
  folder_.make_folder("in/d");
  for (const std::string& path : {(folder_ / "in/d").string(), (folder_ / "canary").string(),
                                  "/" + (folder_ / "outside").string(), (folder_ / "new").string(), std::string()}) {
    EXPECT_EQ(files().stat(path), EINVAL) << path;
    EXPECT_EQ(files().list(path, true), EINVAL) << path;
    EXPECT_EQ(files().read(path).error, EINVAL) << path;
    EXPECT_EQ(files().write(path, "x"), EINVAL) << path;
    EXPECT_EQ(files().make_directory(path), EINVAL) << path;
    EXPECT_EQ(files().remove(path), EINVAL) << path;
    EXPECT_EQ(files().rename(path, "x"), EINVAL) << path;
    EXPECT_EQ(files().rename("d", path), EINVAL) << path;
    EXPECT_EQ(files().set_mode(path, 0777), EINVAL) << path;
  }
  for (const char* path : {"/", "//", "/etc/passwd", "/proc/self/root"}) {
    EXPECT_EQ(files().stat(path), EINVAL) << path;
    EXPECT_EQ(files().list(path, false), EINVAL) << path;
    EXPECT_EQ(files().read(path).error, EINVAL) << path;
  }
  EXPECT_FALSE(folder_.has("new"));
}

TEST_P(WardenFiles, the_root_itself_is_no_file_and_is_neither_removed_nor_renamed) {
  for (const char* path : {".", "./.", ".//"}) {
    EXPECT_EQ(files().read(path).error, EINVAL);
    EXPECT_EQ(files().write(path, "x"), EINVAL);
    EXPECT_EQ(files().remove(path), EINVAL);
    EXPECT_EQ(files().rename(path, "x"), EINVAL);
    EXPECT_EQ(files().rename("x", path), EINVAL);
  }
  EXPECT_TRUE(folder_.has("in"));
}

TEST_P(WardenFiles, long_names_and_paths_work_to_the_limit_and_are_refused_beyond) {
  const std::string longest(255, 'n');
  EXPECT_EQ(files().write(longest, "x"), 0);
  EXPECT_EQ(files().read(longest).data, "x");
  EXPECT_EQ(files().write(longest + "n", "x"), ENAMETOOLONG);
  EXPECT_EQ(files().stat(longest + "n/x"), ENAMETOOLONG);
  std::string path;
  while (path.size() + 2 <= 4095 - 1) path += "d/";
  path += "f";  // the path has 4095 bytes, the most that is allowed
  ASSERT_EQ(path.size(), 4095U);
  EXPECT_EQ(files().write(path, "deep"), 0);
  EXPECT_EQ(files().read(path).data, "deep");
  EXPECT_EQ(files().stat(path + "f"), ENAMETOOLONG);
  EXPECT_EQ(files().stat("./" + path), 0);
  EXPECT_EQ(files().stat(std::string(60000, '/').replace(0, 1, "x")), ENOENT);
  EXPECT_EQ(files().remove("d"), 0);
}

TEST_P(WardenFiles, a_name_that_only_begins_like_the_root_is_not_beneath_it) {
  folder_.write("in-evil/x", "secret");
  folder_.make_link("in/l", "../in-evil");
  EXPECT_EQ(files().read("../in-evil/x").error, EXDEV);
  EXPECT_EQ(files().read("l/x").error, EXDEV);
}

// ---- links

TEST_P(WardenFiles, links_that_stay_beneath_are_followed) {
  folder_.write("in/real/file", "text");
  folder_.make_link("in/to-file", "real/file");
  folder_.make_link("in/to-dir", "real");
  folder_.make_link("in/real/up", "../real/file");
  folder_.make_link("in/real/around", "../real/../real/./up");
  folder_.make_link("in/chain", "to-dir/up");
  for (const char* path : {"to-file", "to-dir/file", "real/up", "to-dir/up", "chain", "real/around", "to-dir/around"})
    EXPECT_EQ(files().read(path).data, "text") << path;
}

TEST_P(WardenFiles, links_to_the_root_from_beneath_are_followed) {
  folder_.write("in/a/b/c", "text");
  folder_.make_link("in/a/b/top", "../..");
  EXPECT_EQ(files().read("a/b/top/a/b/c").data, "text");
  EXPECT_EQ(files().names("a/b/top", false), std::set<std::string>{"a"});
}

TEST_P(WardenFiles, links_that_lead_out_are_refused_by_every_operation) {
  folder_.make_link("in/absolute", (folder_ / "canary").string());
  folder_.make_link("in/up", "../canary");
  folder_.make_link("in/dir", "../outside");
  folder_.make_folder("in/a/b");
  folder_.make_link("in/a/b/far", "../../../canary");
  folder_.make_link("in/out-and-in", "../in/a");
  folder_.make_link("in/back", (folder_ / "in/a").string());
  folder_.make_link("in/chain", "dir");
  for (const char* path : {"absolute", "up", "a/b/far", "dir/file", "chain/file", "out-and-in/x", "back/x"}) {
    EXPECT_EQ(files().read(path).error, EXDEV) << path;
    EXPECT_EQ(files().list(path, true), EXDEV) << path;
  }
  for (const char* path : {"dir/file", "chain/file", "out-and-in/x", "back/x", "dir/d/e"}) {
    EXPECT_EQ(files().stat(path), EXDEV) << path;
    EXPECT_EQ(files().write(path, "x"), EXDEV) << path;
    EXPECT_EQ(files().write(path, "x", 0644, true), EXDEV) << path;
    EXPECT_EQ(files().make_directory(path), EXDEV) << path;
    EXPECT_EQ(files().remove(path), EXDEV) << path;
    EXPECT_EQ(files().rename(path, "x"), EXDEV) << path;
    EXPECT_EQ(files().rename("a", path), EXDEV) << path;
    EXPECT_EQ(files().set_mode(path, 0777), EXDEV) << path;
  }
  EXPECT_EQ(files().make_directory("dir"), EXDEV);
  EXPECT_EQ(files().list("dir", true), EXDEV);
}

TEST_P(WardenFiles, links_in_circles_are_refused) {
  folder_.make_link("in/self", "self");
  folder_.make_link("in/ping", "pong");
  folder_.make_link("in/pong", "ping/x");
  for (const char* path : {"self", "ping", "self/x"}) EXPECT_EQ(files().read(path).error, ELOOP) << path;
  EXPECT_EQ(files().stat("self"), 0);
  EXPECT_EQ(files().list("self", false), ELOOP);
  EXPECT_EQ(files().write("self/x", "x"), ELOOP);
  EXPECT_EQ(files().remove("self/x"), ELOOP);
}

TEST_P(WardenFiles, forty_links_are_followed_and_forty_one_are_not) {
  folder_.write("in/l0", "end");
  for (int i = 1; i <= 41; ++i) folder_.make_link("in/l" + std::to_string(i), "l" + std::to_string(i - 1));
  EXPECT_EQ(files().read("l40").data, "end");
  EXPECT_EQ(files().read("l41").error, ELOOP);
}

TEST_P(WardenFiles, links_full_of_dot_dot_cost_a_bounded_time) {
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "d/";
  folder_.make_folder("in/" + deep);
  std::string up_and_down;
  for (int i = 0; i < 500; ++i) up_and_down += "../d/";
  for (int i = 0; i < 39; ++i)
    folder_.make_link("in/" + deep + "l" + std::to_string(i), up_and_down + "l" + std::to_string(i + 1));
  folder_.write("in/" + deep + "l39", "end");
  const auto start = std::chrono::steady_clock::now();
  const content got = files().read(deep + "l0");
  if (got.error == 0) {
    EXPECT_EQ(got.data, "end");
  }
  if (got.error != 0) {
    EXPECT_EQ(got.error, ELOOP);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_P(WardenFiles, links_of_the_longest_kind_are_followed_one_into_the_other) {
  std::string padding;
  while (padding.size() < 4090) padding += "./";
  folder_.write("in/l0", "end");
  for (int i = 1; i <= 40; ++i) folder_.make_link("in/l" + std::to_string(i), padding + "l" + std::to_string(i - 1));
  EXPECT_EQ(files().read("l40").data, "end");
}

TEST_P(WardenFiles, a_dangling_link_is_not_found_and_nothing_is_made_behind_it) {
  folder_.make_link("in/l", "nowhere");
  EXPECT_EQ(files().read("l").error, ENOENT);
  EXPECT_EQ(files().stat("l"), 0);
  EXPECT_EQ(files().make_directory("l"), ENOTDIR);
  EXPECT_EQ(files().write("l/x", "x"), ENOTDIR);
  EXPECT_FALSE(folder_.has("in/nowhere"));
}

/// The kernel fails with ELOOP for these links. The warden's walk reads the links, and fails with EXDEV.
TEST_P(WardenFiles, magic_links_of_proc_are_refused) {
  COFFERDAM_NEEDS("openat2", files().has_openat2(), "that the kernel resolves paths where it can");
  file_client proc("/proc/self", walks());
  const int refused = walks() ? EXDEV : ELOOP;
  for (const char* path : {"root/etc/passwd", "cwd/x", "exe", "task/../root/etc/passwd"}) {
    const bool dots = std::string_view(path).find("..") != std::string_view::npos;
    EXPECT_EQ(proc.read(path).error, dots ? EXDEV : refused) << path;
  }
  EXPECT_EQ(proc.list("root", false), refused);
  EXPECT_NE(proc.list("fd/0", false), 0);
}

// ---- lists

TEST_P(WardenFiles, list_gives_what_is_directly_in_a_directory) {
  folder_.write("in/d/f", "123", 0600);
  folder_.write("in/d/e/deeper", "x");
  folder_.make_link("in/d/l", "f");
  folder_.write("in/elsewhere", "x");
  std::map<std::string, wire_entry> entries;
  ASSERT_EQ(files().list("d", false, &entries), 0);
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries["f"].type, regular);
  EXPECT_EQ(entries["f"].size, 3U);
  EXPECT_EQ(entries["f"].mode, 0600U);
  EXPECT_EQ(entries["e"].type, folder);
  EXPECT_EQ(entries["l"].type, link);
}

TEST_P(WardenFiles, list_gives_every_depth_and_stops_at_links) {
  folder_.write("in/a/b/c/f", "x");
  folder_.write("in/a/g", "x");
  folder_.make_folder("in/a/empty");
  folder_.make_link("in/a/out", "../../outside");
  folder_.make_link("in/a/b/around", "../../a");
  const std::set<std::string> expected{"a", "a/b", "a/b/c", "a/b/c/f", "a/g", "a/empty", "a/out", "a/b/around"};
  EXPECT_EQ(files().names(".", true), expected);
  EXPECT_EQ(files().names("a/b", true), (std::set<std::string>{"c", "c/f", "around"}));
}

TEST_P(WardenFiles, list_of_an_empty_directory_is_empty) {
  EXPECT_TRUE(files().names(".", true).empty());
  EXPECT_TRUE(files().names(".", false).empty());
}

TEST_P(WardenFiles, list_takes_a_link_to_a_directory_beneath) {
  folder_.write("in/real/f", "x");
  folder_.make_link("in/l", "real");
  EXPECT_EQ(files().names("l", true), std::set<std::string>{"f"});
}

TEST_P(WardenFiles, what_cannot_be_listed_says_why) {
  folder_.write("in/f", "x");
  folder_.make_fifo("in/p");
  EXPECT_EQ(files().list("nothing", true), ENOENT);
  EXPECT_EQ(files().list("f", true), ENOTDIR);
  EXPECT_EQ(files().list("p", true), ENOTDIR);
  EXPECT_EQ(files().list("f/x", true), ENOTDIR);
}

TEST_P(WardenFiles, names_of_any_bytes_go_both_ways) {
  std::vector<std::string> expected{"new\nline",
                                    "tab\there",
                                    "-rf",
                                    " leading",
                                    "trailing ",
                                    "'quoted\"",
                                    "$(id)",
                                    "CON",
                                    "dot.",
                                    "...",
                                    ".h",
                                    "\x01\x1b[31m",
                                    "\xff\xfe\x80 invalid",
                                    "e\xcc\x81",
                                    "\xc3\xa9",
                                    "back\\slash",
                                    std::string(255, '\xe4'),
                                    "*",
                                    "~"};
  for (const std::string& name : expected) {
    EXPECT_EQ(files().write(name, "of " + name), 0) << name;
    EXPECT_EQ(folder_.read("in/" + name), "of " + name);
    EXPECT_EQ(files().read(name).data, "of " + name);
  }
  EXPECT_EQ(files().names(".", false), std::set<std::string>(expected.begin(), expected.end()));
  for (const std::string& name : expected) EXPECT_EQ(files().remove(name), 0) << name;
  EXPECT_TRUE(files().names(".", false).empty());
}

TEST_P(WardenFiles, a_wide_directory_is_listed_and_removed_whole) {
  folder_.make_folder("in/wide");
  std::set<std::string> expected;
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "a-rather-long-name-for-a-file-" + std::to_string(i);
    const int fd = ::open((folder_ / ("in/wide/" + name)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    ASSERT_GE(fd, 0);
    ::close(fd);
    expected.insert(name);
  }
  EXPECT_EQ(files().names("wide", false), expected);
  EXPECT_EQ(files().remove("wide"), 0);
  EXPECT_FALSE(folder_.has("in/wide"));
}

TEST_P(WardenFiles, a_wide_directory_of_directories_is_listed_and_removed_whole) {
  std::set<std::string> expected;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "a-rather-long-name-for-a-folder-" + std::to_string(i);
    folder_.make_folder("in/wide/" + name + "/below");
    expected.insert(name);
    expected.insert(name + "/below");
  }
  EXPECT_EQ(files().names("wide", true), expected);
  EXPECT_EQ(files().remove("wide"), 0);
  EXPECT_FALSE(folder_.has("in/wide"));
}

TEST_P(WardenFiles, a_tree_of_two_thousand_levels_is_listed_and_removed) {
  folder_.write("in/deep/beside", "x");
  make_deep(folder_ / "in/deep", 2000);
  std::set<std::string> expected{"deep", "deep/beside"};
  std::string path = "deep";
  for (int i = 0; i < 2000; ++i) expected.insert(path += "/d");
  expected.insert(path + "/end");
  EXPECT_EQ(files().names(".", true), expected);
  EXPECT_EQ(files().names("deep", false), (std::set<std::string>{"d", "beside"}));
  EXPECT_EQ(files().remove("deep"), 0);
  EXPECT_FALSE(folder_.has("in/deep"));
}

TEST_P(WardenFiles, a_deep_tree_with_neighbours_at_every_level_is_listed_and_removed_whole) {
  std::set<std::string> expected;
  std::string path = "t";
  for (int i = 0; i < 300; ++i) {
    for (const char* name : {"/before", "/m", "/zz"}) folder_.make_folder("in/" + path + name);
    folder_.write("in/" + path + "/before/f", "x");
    folder_.write("in/" + path + "/n", "x");
    const std::string beneath = path == "t" ? "" : path.substr(2) + "/";
    for (const char* name : {"before", "before/f", "m", "n", "zz"}) expected.insert(beneath + name);
    path += "/m";
  }
  EXPECT_EQ(files().names("t", true), expected);
  EXPECT_EQ(files().remove("t"), 0);
  EXPECT_FALSE(folder_.has("in/t"));
}

TEST_P(WardenFiles, a_path_too_long_for_a_frame_fails_the_list_and_not_the_removal) {
  make_deep(folder_ / "in", 300, std::string(250, 'n'));
  EXPECT_EQ(files().list(".", true), ENAMETOOLONG);
  EXPECT_EQ(files().names(".", false), std::set<std::string>{std::string(250, 'n')});
  EXPECT_EQ(files().remove(std::string(250, 'n')), 0);
  EXPECT_TRUE(files().names(".", true).empty());
}

TEST_P(WardenFiles, a_tree_that_changes_meanwhile_is_listed_without_what_vanished) {
  folder_.make_folder("in/t");
  for (int i = 0; i < 50; ++i) folder_.write("in/t/stays-" + std::to_string(i) + "/f", "x");
  std::atomic<bool> done = false;
  std::thread changer([&] {
    for (int i = 0; !done; ++i) {
      const std::string name = "in/t/goes-" + std::to_string(i % 20);
      std::error_code ignored;
      std::filesystem::create_directories(folder_ / (name + "/a/b"), ignored);
      std::filesystem::remove_all(folder_ / name, ignored);
    }
  });
  for (int i = 0; i < 300; ++i) {
    std::map<std::string, wire_entry> entries;
    EXPECT_EQ(files().list("t", true, &entries), 0);
    for (int k = 0; k < 50; ++k) EXPECT_EQ(entries.count("stays-" + std::to_string(k) + "/f"), 1U);
  }
  done = true;
  changer.join();
}

TEST_P(WardenFiles, an_unreadable_directory_fails_the_list_and_is_removed_all_the_same) {
  folder_.write("in/t/a/f", "x");
  folder_.write("in/t/locked/b/c/f", "x");
  ASSERT_EQ(::chmod((folder_ / "in/t/locked/b").c_str(), 0), 0);
  ASSERT_EQ(::chmod((folder_ / "in/t/locked").c_str(), 0500), 0);
  EXPECT_TRUE(in_a_child([&] {
    if (!obey_permissions()) return false;
    file_client mine(root(), walks());
    if (mine.list("t", true) != EACCES || mine.list("t/locked", false) != 0) return false;
    return mine.remove("t") == 0;
  }));
  EXPECT_FALSE(folder_.has("in/t"));
}

TEST_P(WardenFiles, a_deep_tree_that_cannot_be_written_to_is_removed_by_its_owner) {
  make_deep(folder_ / "in", 100);
  std::vector<std::string> folders;
  std::string path = "in";
  for (int i = 0; i < 100; ++i) folders.push_back(path += "/d");
  for (auto each = folders.rbegin(); each != folders.rend(); ++each)
    ASSERT_EQ(::chmod((folder_ / *each).c_str(), 0500), 0);
  EXPECT_TRUE(in_a_child([&] { return obey_permissions() && file_client(root(), walks()).remove("d") == 0; }));
  EXPECT_FALSE(folder_.has("in/d"));
}

TEST_P(WardenFiles, only_what_is_removed_is_given_other_permissions) {
  folder_.write("in/kept/f", "x");
  ASSERT_EQ(::chmod((folder_ / "in/kept").c_str(), 0500), 0);
  EXPECT_TRUE(
      in_a_child([&] { return obey_permissions() && file_client(root(), walks()).remove("kept/f") == EACCES; }));
  EXPECT_TRUE(folder_.has("in/kept/f"));
  EXPECT_EQ(folder_.mode("in/kept"), 0500U);
}

// ---- reading

TEST_P(WardenFiles, reads_what_a_file_holds) {
  folder_.write("in/d/e/f", "text", 0750);
  const content got = files().read("d/e/f");
  EXPECT_EQ(got.error, 0);
  EXPECT_EQ(got.data, "text");
  EXPECT_EQ(got.size, 4U);
  EXPECT_EQ(got.mode, 0750U);
}

TEST_P(WardenFiles, reads_a_part_of_a_file) {
  folder_.write("in/f", "0123456789");
  EXPECT_EQ(files().read("f", 3, 4).data, "3456");
  EXPECT_EQ(files().read("f", 8, 4).data, "89");
  EXPECT_EQ(files().read("f", 0, 0).data, "");
  EXPECT_EQ(files().read("f", 10, 4).data, "");
  EXPECT_EQ(files().read("f", 1000000, 4).data, "");
  EXPECT_EQ(files().read("f", 1000000, 4).size, 10U);
  EXPECT_EQ(files().read("f", no_limit, 4).error, EINVAL);
}

TEST_P(WardenFiles, reads_at_most_a_mebibyte_at_once) {
  std::string big;
  for (int i = 0; i < 3 * 1024 * 1024; ++i) big += static_cast<char>(i * 31 % 251);
  folder_.write("in/big", big);
  std::string content_read;
  for (;;) {
    const content got = files().read("big", content_read.size());
    ASSERT_EQ(got.error, 0);
    EXPECT_EQ(got.size, big.size());
    if (got.data.empty()) break;
    EXPECT_EQ(got.data.size(), std::min<std::size_t>(wire::max_read, big.size() - content_read.size()));
    content_read += got.data;
  }
  EXPECT_TRUE(content_read == big);
}

TEST_P(WardenFiles, a_sparse_terabyte_is_read_where_it_is_asked_for) {
  folder_.write("in/f", "");
  ASSERT_EQ(::truncate((folder_ / "in/f").c_str(), off_t{1} << 40), 0);
  const content got = files().read("f", (std::uint64_t{1} << 40) - 5);
  EXPECT_EQ(got.data, std::string(5, '\0'));
  EXPECT_EQ(got.size, std::uint64_t{1} << 40);
}

TEST_P(WardenFiles, what_is_no_regular_file_is_neither_read_nor_waited_for) {
  folder_.make_folder("in/d");
  folder_.make_fifo("in/p");
  folder_.make_link("in/l", "p");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(files().read("d").error, EISDIR);
  EXPECT_EQ(files().read("p").error, ENXIO);
  EXPECT_EQ(files().read("l").error, ENXIO);
  EXPECT_EQ(files().read("nothing").error, ENOENT);
  EXPECT_EQ(files().read("d/nothing/x").error, ENOENT);
  EXPECT_EQ(files().read("p/x").error, ENOTDIR);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_P(WardenFiles, a_fifo_is_refused_without_waking_its_writer) {
  folder_.make_fifo("in/fifo");
  std::atomic<bool> woken = false;
  std::thread writer([&] {
    // Blocks until the other side opens the FIFO for reading.
    const int fd = ::open((folder_ / "in/fifo").c_str(), O_WRONLY | O_CLOEXEC);
    woken = true;
    ::close(fd);
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(files().read("fifo").error, ENXIO);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(woken);
  const int fd = ::open((folder_ / "in/fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  writer.join();
  ::close(fd);
}

TEST_P(WardenFiles, sockets_and_devices_are_refused) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = (folder_ / "in/socket").string();
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::copy(name.begin(), name.end(), address.sun_path);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  EXPECT_EQ(files().read("socket").error, ENXIO);
  EXPECT_EQ(files().write("socket", "x"), ENXIO);
  const std::string device = (folder_ / "in/device").string();
  // The device of /dev/zero, if this user may create devices.
  if (::mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 5)) == 0) {
    EXPECT_EQ(files().read("device").error, ENXIO);
    EXPECT_EQ(files().write("device", "x"), ENXIO);
  }
}

// ---- writing

TEST_P(WardenFiles, writes_a_new_file_with_its_folders) {
  EXPECT_EQ(files().write("a/b/c", "text"), 0);
  EXPECT_EQ(folder_.read("in/a/b/c"), "text");
  EXPECT_EQ(folder_.mode("in/a/b/c"), 0644U);
  EXPECT_EQ(folder_.mode("in/a"), 0755U);
  EXPECT_EQ(folder_.mode("in/a/b"), 0755U);
  EXPECT_EQ(temporaries_in(folder_ / "in/a/b"), 0U);
}

TEST_P(WardenFiles, writes_an_empty_file_and_a_large_one) {
  EXPECT_EQ(files().write("empty", ""), 0);
  EXPECT_EQ(folder_.read("in/empty"), "");
  std::string big;
  for (int i = 0; i < 500000; ++i) big += static_cast<char>(i * 31 % 251);
  EXPECT_EQ(files().write("big", big), 0);
  EXPECT_TRUE(folder_.read("in/big") == big);
}

TEST_P(WardenFiles, a_replaced_file_keeps_its_mode_where_none_is_given) {
  folder_.write("in/a", "old", 0750);
  folder_.write("in/b", "old", 06755);
  EXPECT_EQ(files().write("a", "new"), 0);
  EXPECT_EQ(files().write("b", "new"), 0);
  EXPECT_EQ(folder_.read("in/a"), "new");
  EXPECT_EQ(folder_.mode("in/a"), 0750U);
  EXPECT_EQ(folder_.mode("in/b"), 0755U);
}

TEST_P(WardenFiles, a_given_mode_wins_and_loses_its_special_bits) {
  folder_.write("in/a", "old", 0600);
  EXPECT_EQ(files().write("a", "new", 07755), 0);
  EXPECT_EQ(folder_.mode("in/a"), 0755U);
  EXPECT_EQ(files().write("b", "new", 0), 0);
  EXPECT_EQ(folder_.mode("in/b"), 0U);
  EXPECT_EQ(files().write("c", "new", 0777), 0);
  EXPECT_EQ(folder_.mode("in/c"), 0777U);
}

TEST_P(WardenFiles, a_hard_link_to_the_old_file_keeps_its_content) {
  std::filesystem::create_hard_link(folder_ / "canary", folder_ / "in/hard");
  EXPECT_EQ(files().write("hard", "new"), 0);
  EXPECT_EQ(folder_.read("in/hard"), "new");
  EXPECT_EQ(folder_.read("canary"), "untouched");
}

TEST_P(WardenFiles, a_link_at_the_target_is_replaced_and_not_followed) {
  folder_.make_link("in/out", "../canary");
  folder_.write("in/real", "old", 0700);
  folder_.make_link("in/beneath", "real");
  EXPECT_EQ(files().write("out", "new"), 0);
  EXPECT_EQ(files().write("beneath", "new"), 0);
  EXPECT_EQ(folder_.read("in/out"), "new");
  EXPECT_EQ(folder_.read("in/real"), "old");
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "in/out"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "in/beneath"));
  EXPECT_EQ(folder_.mode("in/beneath"), 0644U);
}

TEST_P(WardenFiles, only_a_file_is_replaced) {
  folder_.write("in/d/f", "x");
  folder_.make_folder("in/empty");
  folder_.make_fifo("in/p");
  EXPECT_EQ(files().write("d", "x"), EISDIR);
  EXPECT_EQ(files().write("empty", "x"), EISDIR);
  EXPECT_EQ(files().write("p", "x"), ENXIO);
  EXPECT_EQ(files().write("d/f/x", "x"), ENOTDIR);
  EXPECT_TRUE(folder_.has("in/d/f"));
}

TEST_P(WardenFiles, a_directory_that_comes_into_its_place_meanwhile_is_not_replaced) {
  ASSERT_EQ(files().ask_as(7, frame::write, file_client::begin_of("f")).error, 0);
  folder_.make_folder("in/f");
  EXPECT_EQ(files().ask_as(7, frame::write_commit).error, EISDIR);
  EXPECT_EQ(temporaries_in(folder_ / "in"), 0U);
  EXPECT_EQ(files().ask_as(7, frame::write_commit).error, EBADF);
}

TEST_P(WardenFiles, nothing_is_seen_under_the_name_before_the_commit) {
  folder_.write("in/f", "old");
  ASSERT_EQ(files().ask_as(7, frame::write, file_client::begin_of("f", 0640)).error, 0);
  ASSERT_EQ(files().ask_as(7, frame::write_data, "ne").error, 0);
  ASSERT_EQ(files().ask_as(7, frame::write_data, "w").error, 0);
  EXPECT_EQ(folder_.read("in/f"), "old");
  ASSERT_EQ(temporaries_in(folder_ / "in"), 1U);
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "in")) {
    if (entry.path().filename() == "f") continue;
    EXPECT_EQ(entry.path().filename().string().size(), 11U + 16U);
    EXPECT_EQ(folder_.mode("in/" + entry.path().filename().string()), 0600U);
  }
  const answer done = files().ask_as(7, frame::write_commit);
  EXPECT_EQ(done.error, 0);
  EXPECT_EQ(wire_reader(done.rest).number<std::uint64_t>(), 3U);
  EXPECT_EQ(folder_.read("in/f"), "new");
  EXPECT_EQ(folder_.mode("in/f"), 0640U);
}

TEST_P(WardenFiles, a_file_from_elsewhere_is_adopted) {
  folder_.write("new", "text");
  EXPECT_EQ(files().adopt("a/b/f", (folder_ / "new").string(), 4), 0);
  EXPECT_EQ(folder_.read("in/a/b/f"), "text");
  EXPECT_EQ(folder_.mode("in/a/b/f"), 0644U);
  EXPECT_FALSE(folder_.has("new"));
  folder_.write("new", "other");
  std::filesystem::permissions(folder_ / "in/a/b/f", std::filesystem::perms(0604));
  EXPECT_EQ(files().adopt("a/b/f", (folder_ / "new").string(), 5), 0) << "it replaces a file and keeps its mode";
  EXPECT_EQ(folder_.read("in/a/b/f"), "other");
  EXPECT_EQ(folder_.mode("in/a/b/f"), 0604U);
  folder_.write("new", "x");
  EXPECT_EQ(files().adopt("a/b/f", (folder_ / "new").string(), 1, 0750), 0);
  EXPECT_EQ(folder_.mode("in/a/b/f"), 0750U);
}

TEST_P(WardenFiles, only_a_regular_file_of_the_given_size_is_adopted) {
  folder_.write("new", "text");
  folder_.write("in/f", "old");
  folder_.make_folder("in/d");
  folder_.make_folder("folder");
  folder_.make_fifo("fifo");
  folder_.make_link("link", "new");
  folder_.make_link("in/out", "..");
  EXPECT_EQ(files().adopt("f", (folder_ / "new").string(), 3), ESTALE);
  EXPECT_EQ(files().adopt("f", (folder_ / "missing").string(), 4), ESTALE);
  for (const char* name : {"folder", "fifo", "link"})
    EXPECT_EQ(files().adopt("f", (folder_ / name).string(), 3), ESTALE) << name;
  EXPECT_EQ(files().adopt("f", "new", 4), EINVAL) << "a path that is not absolute";
  EXPECT_EQ(files().adopt("d", (folder_ / "new").string(), 4), EISDIR);
  EXPECT_EQ(files().adopt("out/f", (folder_ / "new").string(), 4), EXDEV);
  EXPECT_EQ(files().adopt("../f", (folder_ / "new").string(), 4), EXDEV);
  EXPECT_EQ(files().adopt("f/x", (folder_ / "new").string(), 4), ENOTDIR);
  const std::filesystem::path memory = "/dev/shm/cofferdam-" + std::to_string(::getpid());
  std::ofstream(memory) << "text";
  EXPECT_EQ(files().adopt("f", memory.string(), 4), EOPNOTSUPP) << "another file system";
  EXPECT_TRUE(std::filesystem::remove(memory));
  EXPECT_EQ(folder_.read("in/f"), "old");
  EXPECT_EQ(folder_.read("new"), "text");
}

TEST_P(WardenFiles, an_aborted_file_leaves_nothing) {
  ASSERT_EQ(files().ask_as(7, frame::write, file_client::begin_of("d/f")).error, 0);
  ASSERT_EQ(files().ask_as(7, frame::write_data, "text").error, 0);
  EXPECT_EQ(files().ask_as(7, frame::write_abort).error, 0);
  EXPECT_EQ(files().names(".", true), std::set<std::string>{"d"});
  EXPECT_EQ(files().ask_as(7, frame::write_abort).error, EBADF);
  EXPECT_EQ(files().ask_as(7, frame::write_data, "text").error, EBADF);
  EXPECT_EQ(files().ask_as(7, frame::write_commit).error, EBADF);
}

TEST_P(WardenFiles, an_exclusive_file_takes_only_a_free_name) {
  folder_.write("in/f", "old");
  folder_.make_link("in/dangling", "nowhere");
  folder_.make_folder("in/d");
  for (const char* path : {"f", "dangling", "d"}) EXPECT_EQ(files().write(path, "new", 0644, true), EEXIST) << path;
  EXPECT_EQ(folder_.read("in/f"), "old");
  EXPECT_EQ(files().write("new", "new", 0600, true), 0);
  EXPECT_EQ(folder_.read("in/new"), "new");
  EXPECT_EQ(folder_.mode("in/new"), 0600U);
}

TEST_P(WardenFiles, an_exclusive_file_yields_to_one_that_came_meanwhile) {
  ASSERT_EQ(files().ask_as(7, frame::write, file_client::begin_of("f", 0644, true)).error, 0);
  folder_.write("in/f", "theirs");
  EXPECT_EQ(files().ask_as(7, frame::write_commit).error, EEXIST);
  EXPECT_EQ(folder_.read("in/f"), "theirs");
  EXPECT_EQ(temporaries_in(folder_ / "in"), 0U);
}

TEST_P(WardenFiles, an_exclusive_file_works_without_renameat2) {
  EXPECT_TRUE(in_a_child([&] {
    if (!forbid(SYS_renameat2, ENOSYS)) return false;
    file_client mine(root(), walks());
    if (mine.write("f", "first", 0644, true) != 0) return false;
    if (mine.ask_as(7, frame::write, file_client::begin_of("g", 0644, true)).error != 0) return false;
    folder_.write("in/g", "theirs");
    return mine.ask_as(7, frame::write_commit).error == EEXIST;
  }));
  EXPECT_EQ(folder_.read("in/f"), "first");
  EXPECT_EQ(folder_.read("in/g"), "theirs");
  EXPECT_EQ(files().names(".", true), (std::set<std::string>{"f", "g"}));
}

TEST_P(WardenFiles, files_of_several_numbers_are_written_side_by_side_up_to_a_limit) {
  for (std::uint32_t i = 0; i < wire::max_unfinished; ++i)
    ASSERT_EQ(files().ask_as(i, frame::write, file_client::begin_of("f" + std::to_string(i))).error, 0);
  EXPECT_EQ(files().ask_as(50, frame::write, file_client::begin_of("more")).error, EMFILE);
  EXPECT_EQ(files().ask_as(3, frame::write, file_client::begin_of("again")).error, EBUSY);
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t i = 0; i < wire::max_unfinished; ++i)
      ASSERT_EQ(files().ask_as(i, frame::write_data, std::to_string(i)).error, 0);
  EXPECT_EQ(files().ask_as(5, frame::write_abort).error, 0);
  EXPECT_EQ(files().ask_as(50, frame::write, file_client::begin_of("more")).error, 0);
  EXPECT_EQ(files().ask_as(50, frame::write_commit).error, 0);
  for (std::uint32_t i = 0; i < wire::max_unfinished; ++i) {
    if (i == 5) continue;
    ASSERT_EQ(files().ask_as(i, frame::write_commit).error, 0);
    const std::string digit = std::to_string(i);
    EXPECT_EQ(folder_.read("in/f" + digit), digit + digit + digit);
  }
  EXPECT_FALSE(folder_.has("in/f5"));
  EXPECT_TRUE(folder_.has("in/more"));
}

TEST_P(WardenFiles, requests_sent_at_once_are_answered_in_their_order) {
  for (std::uint32_t i = 0; i < 200; ++i)
    files().stream().send_frame(frame::write, 1000 + i, file_client::begin_of("f" + std::to_string(i % 10)));
  for (std::uint32_t i = 0; i < 200; ++i)
    EXPECT_EQ(files().take(1000 + i).error, i < wire::max_unfinished ? 0 : EMFILE);
}

TEST_P(WardenFiles, a_file_that_cannot_be_written_on_is_given_up_and_leaves_nothing) {
  const rlimit small{100000, 100000};
  ASSERT_EQ(::prlimit(files().stream().pid(), RLIMIT_FSIZE, &small, nullptr), 0);
  folder_.write("in/f", "old");
  ASSERT_EQ(files().ask_as(7, frame::write, file_client::begin_of("f")).error, 0);
  EXPECT_EQ(files().ask_as(7, frame::write_data, std::string(60000, 'x')).error, 0);
  EXPECT_EQ(files().ask_as(7, frame::write_data, std::string(60000, 'x')).error, EFBIG);
  EXPECT_EQ(temporaries_in(folder_ / "in"), 0U);
  EXPECT_EQ(files().ask_as(7, frame::write_data, std::string(60000, 'x')).error, EBADF);
  EXPECT_EQ(files().ask_as(7, frame::write_commit).error, EBADF);
  EXPECT_EQ(folder_.read("in/f"), "old");
  EXPECT_EQ(files().write("g", "short"), 0);
}

TEST_P(WardenFiles, a_file_whose_directory_goes_meanwhile_is_not_committed) {
  ASSERT_EQ(files().ask_as(7, frame::write, file_client::begin_of("d/f")).error, 0);
  EXPECT_EQ(files().remove("d"), 0);
  EXPECT_EQ(files().ask_as(7, frame::write_data, "x").error, 0);
  EXPECT_EQ(files().ask_as(7, frame::write_commit).error, ENOENT);
  EXPECT_FALSE(folder_.has("in/d"));
}

TEST_P(WardenFiles, unfinished_files_go_when_the_stream_ends) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_EQ(files().ask_as(i, frame::write, file_client::begin_of("f" + std::to_string(i))).error, 0);
    ASSERT_EQ(files().ask_as(i, frame::write_data, "text").error, 0);
  }
  EXPECT_EQ(temporaries_in(folder_ / "in"), 5U);
  files().stream().close();
  EXPECT_TRUE(eventually([&] { return temporaries_in(folder_ / "in") == 0; }));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "in"));
}

TEST_P(WardenFiles, unfinished_files_go_when_the_client_vanishes_in_the_middle_of_a_frame) {
  ASSERT_EQ(files().ask_as(1, frame::write, file_client::begin_of("f")).error, 0);
  wire_payload half;
  half.number(std::uint32_t{60000}).number(static_cast<std::uint8_t>(frame::write_data)).number(std::uint32_t{1});
  files().stream().send_bytes(half.bytes() + std::string(30000, 'x'));
  files().stream().close();
  EXPECT_TRUE(eventually([&] { return std::filesystem::is_empty(folder_ / "in"); }));
}

// ---- directories, names, modes

TEST_P(WardenFiles, makes_directories_with_those_above) {
  EXPECT_EQ(files().make_directory("a/b/c", 0750), 0);
  EXPECT_EQ(folder_.mode("in/a/b/c"), 0750U);
  EXPECT_EQ(folder_.mode("in/a"), 0750U);
  EXPECT_EQ(files().make_directory("a/b/c", 0700), 0);
  EXPECT_EQ(folder_.mode("in/a/b/c"), 0750U);
  EXPECT_EQ(files().make_directory("a/b/d", 07777), 0);
  EXPECT_EQ(folder_.mode("in/a/b/d"), 0777U);
  EXPECT_EQ(files().make_directory("."), 0);
}

TEST_P(WardenFiles, makes_directories_behind_a_link_that_stays_beneath) {
  folder_.make_folder("in/real");
  folder_.make_link("in/l", "real");
  EXPECT_EQ(files().make_directory("l/a/b"), 0);
  EXPECT_EQ(files().make_directory("l"), 0);
  EXPECT_TRUE(folder_.has("in/real/a/b"));
}

TEST_P(WardenFiles, a_directory_is_not_made_where_something_else_has_one_of_the_names) {
  folder_.write("in/f", "x");
  EXPECT_EQ(files().make_directory("f"), ENOTDIR);
  EXPECT_EQ(files().make_directory("f/a/b"), ENOTDIR);
  EXPECT_EQ(folder_.read("in/f"), "x");
}

TEST_P(WardenFiles, removes_files_links_and_trees) {
  folder_.write("in/f", "x");
  folder_.make_link("in/l", "../outside");
  folder_.make_fifo("in/p");
  folder_.write("in/t/a/b/f", "x");
  folder_.write("in/t/g", "x");
  folder_.make_link("in/t/a/out", "../../../outside");
  folder_.make_link("in/t/a/canary", "../../../canary");
  for (const char* path : {"f", "l", "p", "t"}) EXPECT_EQ(files().remove(path), 0) << path;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "in"));
  EXPECT_EQ(files().remove("f"), ENOENT);
  EXPECT_EQ(files().remove("no/thing"), ENOENT);
}

TEST_P(WardenFiles, removes_behind_a_link_in_the_middle_that_stays_beneath) {
  folder_.write("in/real/f", "x");
  folder_.make_link("in/l", "real");
  EXPECT_EQ(files().remove("l/f"), 0);
  EXPECT_TRUE(folder_.has("in/real"));
  EXPECT_TRUE(folder_.has("in/l"));
}

TEST_P(WardenFiles, removes_a_tree_that_is_being_filled) {
  std::atomic<bool> done = false;
  folder_.make_folder("in/t");
  std::thread filler([&] {
    for (int i = 0; i < 3000 && !done; ++i) {
      std::error_code ignored;
      std::filesystem::create_directories(folder_ / ("in/t/" + std::to_string(i % 7) + "/x"), ignored);
    }
  });
  const int error = files().remove("t");
  EXPECT_TRUE(error == 0 || error == ENOTEMPTY || error == ENOENT) << error;
  done = true;
  filler.join();
  const int again = files().remove("t");
  EXPECT_TRUE(again == 0 || again == ENOENT) << again;
}

TEST_P(WardenFiles, renames_files_directories_and_links) {
  folder_.write("in/a", "x");
  folder_.write("in/d/f", "y");
  folder_.make_link("in/l", "../canary");
  folder_.make_folder("in/to");
  EXPECT_EQ(files().rename("a", "to/b"), 0);
  EXPECT_EQ(folder_.read("in/to/b"), "x");
  EXPECT_EQ(files().rename("d", "to/e"), 0);
  EXPECT_EQ(folder_.read("in/to/e/f"), "y");
  EXPECT_EQ(files().rename("l", "m"), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "in/m"));
}

TEST_P(WardenFiles, rename_replaces_a_file_or_link_and_never_writes_through_it) {
  folder_.write("in/a", "new");
  folder_.write("in/b", "old");
  folder_.make_link("in/l", "../canary");
  EXPECT_EQ(files().rename("a", "b"), 0);
  EXPECT_EQ(folder_.read("in/b"), "new");
  EXPECT_EQ(files().rename("b", "l"), 0);
  EXPECT_EQ(folder_.read("in/l"), "new");
}

TEST_P(WardenFiles, what_cannot_be_renamed_says_why) {
  folder_.write("in/f", "x");
  folder_.write("in/d/g", "x");
  folder_.make_folder("in/empty");
  EXPECT_EQ(files().rename("nothing", "x"), ENOENT);
  EXPECT_EQ(files().rename("f", "no/where"), ENOENT);
  EXPECT_EQ(files().rename("f", "d"), EISDIR);
  EXPECT_EQ(files().rename("empty", "d"), ENOTEMPTY);
  EXPECT_EQ(files().rename("d", "f"), ENOTDIR);
  EXPECT_EQ(files().rename("d", "d/inside"), EINVAL);
  EXPECT_EQ(files().rename("f/x", "y"), ENOTDIR);
  EXPECT_TRUE(folder_.has("in/f"));
  EXPECT_FALSE(folder_.has("in/no"));
}

TEST_P(WardenFiles, sets_permission_bits_and_no_others) {
  folder_.write("in/f", "x");
  folder_.make_folder("in/d");
  folder_.write("in/closed", "x", 0);
  EXPECT_EQ(files().set_mode("f", 07750), 0);
  EXPECT_EQ(folder_.mode("in/f"), 0750U);
  EXPECT_EQ(files().set_mode("d", 0700), 0);
  EXPECT_EQ(folder_.mode("in/d"), 0700U);
  EXPECT_EQ(files().set_mode("closed", 0400), 0);
  EXPECT_EQ(folder_.mode("in/closed"), 0400U);
  EXPECT_EQ(files().set_mode(".", 0711), 0);
  EXPECT_EQ(folder_.mode("in"), 0711U);
  EXPECT_EQ(files().set_mode("nothing", 0700), ENOENT);
}

TEST_P(WardenFiles, a_link_is_not_followed_to_set_a_mode) {
  folder_.write("in/f", "x", 0600);
  folder_.make_link("in/l", "f");
  folder_.make_link("in/out", "../canary");
  EXPECT_EQ(files().set_mode("l", 0777), ELOOP);
  EXPECT_EQ(files().set_mode("out", 0777), ELOOP);
  EXPECT_EQ(folder_.mode("in/f"), 0600U);
}

TEST_P(WardenFiles, modes_are_set_without_fchmodat2) {
  folder_.write("in/f", "x", 0);
  constexpr unsigned fchmodat2 = 452;
  EXPECT_TRUE(
      in_a_child([&] { return forbid(fchmodat2, ENOSYS) && file_client(root(), walks()).set_mode("f", 0604) == 0; }));
  EXPECT_EQ(folder_.mode("in/f"), 0604U);
}

TEST_P(WardenFiles, everything_works_where_a_filter_hides_openat2) {
  folder_.write("in/f", "text");
  folder_.make_link("in/l", "f");
  folder_.make_link("in/out", "../canary");
  for (const int code : {ENOSYS, EPERM}) {
    EXPECT_TRUE(in_a_child([&] {
      if (!forbid(SYS_openat2, static_cast<unsigned>(code))) return false;
      file_client mine(root(), walks());
      return mine.read("l").data == "text" && mine.read("out").error == EXDEV && mine.write("d/g", "x") == 0 &&
             mine.remove("d") == 0 && mine.names(".", true).size() == 3;
    })) << code;
  }
}

// ---- files that another process replaces during an operation

/// A thread that exchanges the names of two files as fast as it can, until the destructor stops it.
class swapper {
 public:
  swapper(std::string a, std::string b)
      : a_(std::move(a)), b_(std::move(b)), thread_([this] {
          while (!done_)
            if (::syscall(SYS_renameat2, AT_FDCWD, a_.c_str(), AT_FDCWD, b_.c_str(), 2) == 0) ++count_;  // EXCHANGE
        }) {}
  ~swapper() {
    done_ = true;
    thread_.join();
  }
  std::size_t count() const noexcept { return count_; }

 private:
  std::string a_;
  std::string b_;
  std::atomic<bool> done_ = false;
  std::atomic<std::size_t> count_ = 0;
  std::thread thread_;
};

TEST_P(WardenFiles, swapping_a_directory_and_a_link_never_leads_out) {
  folder_.write("in/spot/file", "inside");
  folder_.make_link("in/link", "../outside");
  std::size_t read_inside = 0;
  std::size_t refused = 0;
  {
    const swapper attack((folder_ / "in/spot").string(), (folder_ / "in/link").string());
    for (std::size_t i = 0; i < 1500 || (attack.count() < 10000 && i < 100000); ++i) {
      const content got = files().read("spot/file");
      EXPECT_NE(got.data, "secret");
      if (got.error == 0) ++read_inside;
      if (got.error == EXDEV) ++refused;
      files().write("spot/file", "inside");
      files().write("spot/more/file", "inside");
      files().set_mode("spot/file", 0600);
      files().make_directory("spot/new/dir");
      files().rename("spot/file", "spot/other");
      files().remove("spot/new");
      files().remove("spot/more");
      wire_entry entry;
      if (files().stat("spot/other", &entry) == 0) {
        EXPECT_EQ(entry.size, 6U);
      }
    }
    EXPECT_GE(attack.count(), 10000U);
  }
  EXPECT_GT(read_inside, 0U);
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(folder_.read("outside/file"), "secret");
}

TEST_P(WardenFiles, listing_a_tree_whose_directories_are_swapped_for_links_never_leads_out) {
  folder_.write("in/spot/inside", "x");
  folder_.make_link("in/link", "../outside");
  const swapper attack((folder_ / "in/spot").string(), (folder_ / "in/link").string());
  for (std::size_t i = 0; i < 3000 || (attack.count() < 10000 && i < 100000); ++i) {
    for (const char* path : {".", "spot"}) {
      std::map<std::string, wire_entry> entries;
      const int error = files().list(path, true, &entries);
      EXPECT_TRUE(error == 0 || error == EXDEV) << error;
      for (const auto& [name, entry] : entries) ASSERT_FALSE(name.ends_with("file")) << name;
    }
  }
  EXPECT_GE(attack.count(), 10000U);
}

TEST_P(WardenFiles, removing_a_tree_whose_directories_are_swapped_for_links_never_leads_out) {
  const std::string spot = (folder_ / "in/tree/a").string();
  const std::string apart = (folder_ / "in/link").string();
  const std::string target = (folder_ / "outside").string();
  folder_.make_link("in/link", target);
  const swapper attack(spot, apart);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int i = 0; i < 2000 && std::chrono::steady_clock::now() < end; ++i) {
    if (!folder_.has("in/tree")) {  // the tree was removed: makes it again
      const bool has_link = std::filesystem::is_symlink(apart);
      folder_.make_folder("in/tree");
      if (has_link) {
        folder_.make_folder("in/tree/a");
      } else {
        folder_.make_link("in/tree/a", target);
      }
    }
    const std::size_t before = attack.count();
    while (attack.count() < before + 3 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    const int error = files().remove("tree");
    EXPECT_TRUE(error == 0 || error == ENOTEMPTY) << error;
    ASSERT_TRUE(folder_.has("outside/file"));
  }
}

TEST_P(WardenFiles, a_walk_on_a_moved_tree_does_not_go_on_elsewhere) {
  make_deep(folder_ / "in/", 100);
  folder_.make_folder("in/t");
  std::filesystem::rename(folder_ / "in/d", folder_ / "in/t/d");
  std::string half = "in/t";
  for (int i = 0; i < 50; ++i) half += "/d";
  std::atomic<bool> done = false;
  std::thread mover([&] {
    while (!done) {  // moves a part of the listed tree out of it, and back
      ::rename((folder_ / half).c_str(), (folder_ / "in/apart").c_str());
      ::rename((folder_ / "in/apart").c_str(), (folder_ / half).c_str());
    }
  });
  for (int i = 0; i < 300; ++i) {
    std::map<std::string, wire_entry> entries;
    const int error = files().list("t", true, &entries);
    EXPECT_TRUE(error == 0 || error == EIO || error == ENOENT) << error;
    for (const auto& [name, entry] : entries) EXPECT_TRUE(name.starts_with("d")) << name;
  }
  done = true;
  mover.join();
}

// ---- frames

struct request {
  frame type;
  std::string payload;
};

/// \param adoptable  the absolute path of a file of one byte.
std::vector<request> good_requests(const std::string& adoptable = "/no such file") {
  const auto text = [](const wire_payload& from) { return from.bytes(); };
  return {
      {frame::stat, text(wire_payload().string("f"))},
      {frame::list, text(wire_payload().string(".").number(std::uint8_t{1}))},
      {frame::read, text(wire_payload().string("f").number(std::uint64_t{0}).number(std::uint64_t{10}))},
      {frame::write, text(file_client::begin_of("new"))},
      {frame::make_directory, text(wire_payload().string("d").number(std::uint32_t{0755}))},
      {frame::remove, text(wire_payload().string("gone"))},
      {frame::rename, text(wire_payload().string("f").string("f"))},
      {frame::set_mode, text(wire_payload().string("f").number(std::uint32_t{0644}))},
      {frame::adopt,
       text(wire_payload().string("adopted").number(std::uint32_t{0644}).number(std::uint64_t{1}).string(adoptable))},
  };
}

TEST_P(WardenFiles, a_frame_cut_anywhere_is_refused_and_the_next_one_works) {
  folder_.write("in/f", "text");
  folder_.write("adoptable", "x");
  for (const request& good : good_requests((folder_ / "adoptable").string())) {
    if (good.type == frame::remove) folder_.write("in/gone", "x");
    for (std::size_t cut = 0; cut < good.payload.size(); ++cut) {
      EXPECT_EQ(files().ask(good.type, good.payload.substr(0, cut)).error, EINVAL)
          << static_cast<int>(good.type) << " at " << cut;
      EXPECT_EQ(files().read("f").data, "text");
    }
    EXPECT_EQ(files().ask(good.type, good.payload + '\0').error, EINVAL) << static_cast<int>(good.type);
    EXPECT_EQ(files().ask(good.type, good.payload + good.payload).error, EINVAL) << static_cast<int>(good.type);
    const std::uint32_t job = files().send(good.type, good.payload);
    EXPECT_EQ(files().take(job).error, 0) << static_cast<int>(good.type);
    if (good.type == frame::write) {
      EXPECT_EQ(files().ask_as(job, frame::write_abort).error, 0);
    }
  }
  EXPECT_FALSE(folder_.has("in/gone"));
}

TEST_P(WardenFiles, a_string_that_lies_is_refused) {
  folder_.write("in/f", "text");
  for (const request& good : good_requests()) {
    for (const std::uint32_t length : {0U, 2U, 100U, 65536U, 0x7fffffffU, 0x80000000U, 0xfffffff0U, 0xffffffffU}) {
      std::string lying = good.payload;
      lying.replace(0, 4, wire_payload().number(length).bytes());
      const int error = files().ask(good.type, lying).error;
      EXPECT_EQ(error, EINVAL) << static_cast<int>(good.type) << " with " << length;
    }
    std::string unterminated = good.payload;
    unterminated[4 + wire_reader(good.payload).number<std::uint32_t>()] = 'x';
    EXPECT_EQ(files().ask(good.type, unterminated).error, EINVAL) << static_cast<int>(good.type);
    std::string holding_nul = good.payload;
    holding_nul[4] = '\0';
    EXPECT_EQ(files().ask(good.type, holding_nul).error, EINVAL) << static_cast<int>(good.type);
  }
  EXPECT_EQ(files().read("f").data, "text");
}

TEST_P(WardenFiles, a_choice_is_yes_or_no) {
  EXPECT_EQ(files().ask(frame::list, wire_payload().string(".").number(std::uint8_t{2})).error, EINVAL);
  EXPECT_EQ(files().ask(frame::write, wire_payload().string("f").number(0644U).number(std::uint8_t{255})).error,
            EINVAL);
  EXPECT_EQ(files().list(".", true), 0);
}

TEST_P(WardenFiles, bytes_behind_a_commit_are_refused_and_the_file_stays_open) {
  ASSERT_EQ(files().ask_as(7, frame::write, file_client::begin_of("f")).error, 0);
  EXPECT_EQ(files().ask_as(7, frame::write_commit, "x").error, EINVAL);
  EXPECT_EQ(files().ask_as(7, frame::write_abort, "x").error, EINVAL);
  EXPECT_EQ(files().ask_as(7, frame::write_data, "").error, 0);
  EXPECT_EQ(files().ask_as(7, frame::write_commit).error, 0);
  EXPECT_EQ(folder_.read("in/f"), "");
}

TEST_P(WardenFiles, random_payloads_are_answered) {
  folder_.write("in/f", "text");
  std::uint32_t state = 12345;
  const auto random = [&state] {
    state = state * 1664525 + 1013904223;
    return state >> 16;
  };
  const std::vector<request> good = good_requests();
  for (int i = 0; i < 3000; ++i) {
    request mutated = good[random() % good.size()];
    if (mutated.type == frame::remove) mutated.type = frame::stat;
    const std::size_t changes = random() % 4;
    for (std::size_t k = 0; k < changes; ++k)
      mutated.payload[random() % mutated.payload.size()] = static_cast<char>(random());
    if (random() % 4 == 0) mutated.payload.resize(random() % (mutated.payload.size() + 20));
    const std::uint32_t job = files().send(mutated.type, mutated.payload);
    const answer got = files().take(job);
    if (mutated.type == frame::write && got.error == 0) {
      EXPECT_EQ(files().ask_as(job, frame::write_abort).error, 0);
    }
  }
  EXPECT_EQ(files().list(".", true), 0);
}

TEST_P(WardenFiles, a_frame_may_come_byte_by_byte) {
  folder_.write("in/f", "text");
  const wire_payload payload = wire_payload().string("f").number(std::uint64_t{0}).number(std::uint64_t{10});
  wire_payload bytes;
  bytes.number(static_cast<std::uint32_t>(payload.bytes().size()))
      .number(static_cast<std::uint8_t>(frame::read))
      .number(std::uint32_t{9});
  const std::string stream = bytes.bytes() + payload.bytes();
  for (const char c : stream) {
    files().stream().send_bytes(std::string_view(&c, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(files().take(9).data, "text");
}

// ---- the root, and the worker process

TEST_P(WardenFiles, without_a_root_every_operation_is_refused) {
  file_client none("", walks());
  for (const request& good : good_requests()) EXPECT_EQ(none.ask(good.type, good.payload).error, EINVAL);
  for (const frame type : {frame::write_data, frame::write_commit, frame::write_abort})
    EXPECT_EQ(none.ask(type, "").error, EINVAL);
}

TEST_P(WardenFiles, a_root_that_cannot_be_opened_says_why_every_time) {
  file_client nowhere((folder_ / "nowhere").string(), walks());
  file_client no_directory((folder_ / "canary").string(), walks());
  for (const request& good : good_requests()) {
    EXPECT_EQ(nowhere.ask(good.type, good.payload).error, ENOENT);
    EXPECT_EQ(no_directory.ask(good.type, good.payload).error, ENOTDIR);
    EXPECT_EQ(nowhere.ask(good.type, good.payload.substr(1)).error, EINVAL);
  }
  EXPECT_EQ(nowhere.ask(frame::write_data, "x").error, ENOENT);
}

TEST_P(WardenFiles, goes_on_meaning_the_same_directory_when_it_is_renamed) {
  folder_.write("in/a", "1");
  EXPECT_EQ(files().read("a").data, "1");
  std::filesystem::rename(folder_ / "in", folder_ / "moved");
  EXPECT_EQ(files().read("a").data, "1");
  std::filesystem::rename(folder_ / "moved", folder_ / "in");
}

TEST_P(WardenFiles, a_killed_worker_is_reported_and_replaced) {
  folder_.write("in/f", "text");
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(files().read("f").data, "text");
    const pid_t pid = worker();
    ASSERT_GT(pid, 0);
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    const std::optional<wire_frame> lost = files().stream().next_frame();
    ASSERT_TRUE(lost.has_value());
    EXPECT_EQ(lost->type, frame::worker_lost);
    EXPECT_EQ(lost->job, 0U);
    EXPECT_EQ(lost->payload, std::string(4, '\0')) << "no request was under way";
    EXPECT_EQ(files().ask_as(7, frame::write_data, "x").error, EBADF);
  }
  EXPECT_EQ(files().read("f").data, "text");
}

TEST_P(WardenFiles, the_worker_holds_few_descriptors_and_leaks_none) {
  folder_.write("in/f", "text");
  folder_.make_folder("in/d");
  folder_.make_link("in/up", "d/../f");
  folder_.make_link("in/out", "../canary");
  make_deep(folder_ / "in", 60);
  EXPECT_EQ(files().read("f").data, "text");
  const std::string place = "/proc/" + std::to_string(worker()) + "/fd";
  const auto count = [&place] {
    const std::filesystem::directory_iterator entries(place);
    return std::distance(begin(entries), end(entries));
  };
  const auto before = count();
  EXPECT_LT(before, 10);
  for (int i = 0; i < 20; ++i) {
    for (const char* path : {"f", "up", "out", "d", "no", "f/x", "no/x", "out/x", "../x"}) {
      files().stat(path);
      files().read(path);
      files().list(path, true);
      files().write(path, "text");
      files().write(path, "text", 0644, true);
      files().make_directory(path);
      files().rename(path, path);
      files().set_mode(path, 0755);
    }
    EXPECT_EQ(files().list(".", true), 0);
    files().remove("no/x");
    files().remove("no");
  }
  EXPECT_EQ(files().remove("d"), 0);
  EXPECT_EQ(count(), before);
}

TEST_P(WardenFiles, memory_stays_bounded_by_a_large_tree) {
  EXPECT_EQ(files().list(".", true), 0);
  const auto peak_kib = [place = "/proc/" + std::to_string(worker()) + "/status"] {
    const std::string status = cofferdam_test::read_proc(place);
    const std::size_t at = status.find("VmHWM:");
    return at == std::string::npos ? -1 : std::stol(status.substr(at + 6));
  };
  const long before = peak_kib();
  ASSERT_GE(before, 0);
  for (int i = 0; i < 5; ++i) {
    folder_.make_folder("in/t/" + std::to_string(i));
    make_deep(folder_ / ("in/t/" + std::to_string(i)), 400);
  }
  EXPECT_EQ(files().names("t", true).size(), 5U * 402U);
  EXPECT_EQ(files().remove("t"), 0);
  EXPECT_LT(peak_kib(), before + 1024);
}

TEST_P(WardenFiles, a_client_that_does_not_read_holds_nothing_up_for_ever) {
  std::string big(1024 * 1024, 'x');
  folder_.write("in/big", big);
  std::vector<std::uint32_t> jobs;
  for (int i = 0; i < 20; ++i)
    jobs.push_back(files().send(frame::read, wire_payload().string("big").number(std::uint64_t{0}).number(no_limit)));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (const std::uint32_t job : jobs) EXPECT_EQ(files().take(job).data.size(), big.size());
}

}  // namespace
