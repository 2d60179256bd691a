// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/host_link.hpp>
#include <cofferdam/detail/net/transport.hpp>
#include <cofferdam/net/make_byte_stream.hpp>

#include "support/pause.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"
#include "support/temporary_folder.hpp"

#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::attached_stream;
using cofferdam::docker::detail::host_link;
using cofferdam::docker::detail::owner;
using cofferdam_test::pause_for;
using socket_type = asio::local::stream_protocol::socket;

/// Sets the environment variable TMPDIR to a new folder. The destructor restores the old value.
class temporary_place {
 public:
  temporary_place() {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  ~temporary_place() {
    if (before_)
      ::setenv("TMPDIR", before_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  bool is_empty() const { return std::filesystem::is_empty(folder_.path()); }

 private:
  cofferdam_test::temporary_folder folder_;
  std::optional<std::string> before_;
};

/// The attached streams of a container. The test controls the daemon's end of the connection.
class attachment {
 public:
  explicit attachment(const asio::any_io_executor& executor) : daemon_(executor) {
    socket_type ours(executor);
    asio::local::connect_pair(ours, daemon_);
    const int in = ours.release();
    const int out = ::fcntl(in, F_DUPFD_CLOEXEC, 3);
    stream_.emplace(cofferdam::make_byte_stream(asio::posix::stream_descriptor(executor, in),
                                                asio::posix::stream_descriptor(executor, out), "the daemon"),
                    "the container x");
  }
  attached_stream& stream() { return *stream_; }
  void says(int channel, std::string_view text) {
    std::string frame(1, static_cast<char>(channel));
    frame.append(6, '\0');
    frame += static_cast<char>(text.size());
    daemon_.send(asio::buffer(frame + std::string(text)));
  }
  void ends() { daemon_.close(); }

 private:
  socket_type daemon_;
  std::optional<attached_stream> stream_;
};

constexpr std::chrono::milliseconds patience = std::chrono::seconds(60);

TEST(HostLink, who_connects_is_met_and_nothing_is_left_of_the_way) {
  const temporary_place place;
  cofferdam_test::run([&place]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    attachment container(executor);
    std::shared_ptr<host_link> link = host_link::open(executor, owner::this_process());
    EXPECT_NE(link, nullptr);
    if (!link) co_return;
    struct stat door {};
    struct stat folder {};
    struct stat socket {};
    const std::string inside = link->folder();
    EXPECT_EQ(::stat(std::filesystem::path(inside).parent_path().c_str(), &door), 0);
    EXPECT_EQ(::stat(inside.c_str(), &folder), 0);
    EXPECT_EQ(::stat((inside + "/socket").c_str(), &socket), 0);
    EXPECT_EQ(door.st_mode & 07777U, 0700U) << "nobody else of this machine comes in";
    EXPECT_EQ(folder.st_mode & 07777U, 0755U);
    EXPECT_EQ(socket.st_mode & 07777U, 0666U) << "the container's user may be any";
    socket_type warden(executor);
    warden.connect(asio::local::stream_protocol::endpoint(inside + "/socket"));
    unique_fd met = co_await host_link::meet(link, container.stream(), patience);
    EXPECT_TRUE(met);
    EXPECT_NE(::fcntl(met.get(), F_GETFL) & O_NONBLOCK, 0);
    warden.send(asio::buffer("hello", 5));
    char text[5] = {};
    EXPECT_EQ(::read(met.get(), text, 5), 5);
    EXPECT_TRUE(place.is_empty());
  });
}

TEST(HostLink, a_warden_that_comes_late_is_waited_for) {
  const temporary_place place;
  cofferdam_test::run([]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    attachment container(executor);
    std::shared_ptr<host_link> link = host_link::open(executor, owner::this_process());
    socket_type warden(executor);
    const auto comes = [&warden, path = link->folder() + "/socket"]() -> awaitable<void> {
      co_await pause_for(std::chrono::milliseconds(50));
      co_await warden.async_connect(asio::local::stream_protocol::endpoint(path), asio::use_awaitable);
    };
    cofferdam_test::spawn(executor, comes, [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
    unique_fd met = co_await host_link::meet(link, container.stream(), patience);
    EXPECT_TRUE(met);
  });
}

TEST(HostLink, a_warden_that_speaks_over_its_streams_is_heard_from_its_first_byte_on) {
  const temporary_place place;
  cofferdam_test::run([&place]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    attachment container(executor);
    std::shared_ptr<host_link> link = host_link::open(executor, owner::this_process());
    container.says(1, "hello");
    unique_fd met = co_await host_link::meet(link, container.stream(), patience);
    EXPECT_FALSE(met);
    bytes text(64);
    const std::size_t got = co_await container.stream().read_some(text);
    EXPECT_EQ(as_text(text).substr(0, got), "hello");
    EXPECT_TRUE(place.is_empty());
  });
}

TEST(HostLink, a_container_that_ends_first_is_an_error_that_says_what_it_said) {
  const temporary_place place;
  cofferdam_test::run([&place]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    attachment container(executor);
    std::shared_ptr<host_link> link = host_link::open(executor, owner::this_process());
    container.ends();
    std::optional<error> failure;
    try {
      unique_fd met = co_await host_link::meet(link, container.stream(), patience);
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_lost);
    EXPECT_NE(std::string(failure ? failure->what() : "").find("the container x"), std::string::npos);
    EXPECT_TRUE(place.is_empty());
  });
}

TEST(HostLink, silence_is_not_waited_for_without_end) {
  const temporary_place place;
  cofferdam_test::run([&place]() -> awaitable<void> {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    attachment container(executor);
    std::shared_ptr<host_link> link = host_link::open(executor, owner::this_process());
    std::optional<error> failure;
    try {
      unique_fd met = co_await host_link::meet(link, container.stream(), std::chrono::milliseconds(30));
    } catch (const error& reason) {
      failure = reason;
    }
    EXPECT_TRUE(failure && failure->code() == exec_errc::provider_failed);
    EXPECT_TRUE(place.is_empty());
  });
}

TEST(HostLink, without_a_place_for_it_there_is_none) {
  const temporary_place place;
  asio::io_context io;
  const std::filesystem::path deep = place.path() / std::string(200, 'x');
  std::filesystem::create_directory(deep);
  ::setenv("TMPDIR", deep.c_str(), 1);
  EXPECT_NE(host_link::open(io.get_executor(), owner::this_process()), nullptr) << "a long name is no hindrance";
  ::setenv("TMPDIR", "/nowhere", 1);
  EXPECT_EQ(host_link::open(io.get_executor(), owner::this_process()), nullptr);
}

TEST(HostLink, what_somebody_else_has_put_under_such_a_name_leads_nowhere) {
  const temporary_place place;
  const owner here = owner::this_process();
  const std::string dead =
      "cofferdam-host-" + std::to_string(here.pid_namespace()) + "-" + std::to_string(::getpid()) + "-1-";
  std::filesystem::create_directory(place.path() / "precious");
  std::ofstream(place.path() / "precious" / "socket") << "kept";
  // In the folder `dead + "a"`, `link` is a symbolic link. The folder `dead + "b"` itself is a symbolic link.
  std::filesystem::create_directory(place.path() / (dead + "a"));
  std::filesystem::create_directory_symlink(place.path() / "precious", place.path() / (dead + "a") / "link");
  std::filesystem::create_directory(place.path() / "holder");
  std::filesystem::create_directory_symlink(place.path() / "precious", place.path() / "holder" / "link");
  std::filesystem::create_directory_symlink(place.path() / "holder", place.path() / (dead + "b"));
  // Control: a folder that looks like an abandoned folder of this program is removed.
  std::filesystem::create_directories(place.path() / (dead + "c") / "link");
  std::ofstream(place.path() / (dead + "c") / "link" / "socket") << "";
  // This folder belongs to another user, and must stay.
  std::filesystem::create_directory(place.path() / (dead + "d"));
  const bool is_anothers = ::chown((place.path() / (dead + "d")).c_str(), 4242, 4242) == 0;
  host_link::sweep(here);
  EXPECT_TRUE(std::filesystem::exists(place.path() / "precious" / "socket"));
  EXPECT_FALSE(std::filesystem::exists(place.path() / (dead + "c")));
  if (is_anothers) {
    EXPECT_TRUE(std::filesystem::exists(place.path() / (dead + "d")));
  }
}

TEST(HostLink, what_the_dead_have_left_goes_and_nothing_else) {
  const temporary_place place;
  const owner here = owner::this_process();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    asio::io_context io;
    std::shared_ptr<host_link> link = host_link::open(io.get_executor(), owner::this_process());
    // Like a killed process, this process exits without cleaning up.
    ::_exit(link ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_FALSE(place.is_empty());
  asio::io_context io;
  std::shared_ptr<host_link> ours = host_link::open(io.get_executor(), here);
  const std::string pid = std::to_string(::getpid());
  // These folders must stay: one of another PID namespace, names without a number or without a random part, and one
  // with foreign content.
  const std::string other = "cofferdam-host-1-999999-1-x";
  const std::string used = "cofferdam-host-" + std::to_string(here.pid_namespace()) + "-" + pid + "-1-x";
  for (const std::string& name : {other, used, std::string("cofferdam-host-"), std::string("cofferdam-host-a-b-c-d"),
                                  "cofferdam-host-" + std::to_string(here.pid_namespace()) + "-" + pid})
    std::filesystem::create_directory(place.path() / name);
  std::filesystem::create_directory(place.path() / used / "kept");
  host_link::sweep(here);
  EXPECT_TRUE(std::filesystem::exists(ours->folder() + "/socket"));
  EXPECT_TRUE(std::filesystem::exists(place.path() / other));
  EXPECT_TRUE(std::filesystem::exists(place.path() / used / "kept"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), std::filesystem::directory_iterator()), 6);
  std::filesystem::remove(place.path() / used / "kept");
  host_link::sweep(here);
  EXPECT_FALSE(std::filesystem::exists(place.path() / used)) << "that process id was another's then";
}

}  // namespace
