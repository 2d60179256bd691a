// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attack FS-10 of the project's catalogue of attacks: hostile tar archives, here those that the library itself reads.
// The Docker backend reads files and folders of an image as archives from the daemon. The image is untrusted, and
// with it the archive. The daemon in these tests is a scripted one.

#include <cofferdam/backends/docker/detail/daemon_location.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/image_volumes.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>

#include "net/http_server_support.hpp"
#include "support/census.hpp"
#include "support/fake_host.hpp"
#include "support/run.hpp"
#include "support/tar_bytes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::detail::http_server;
using cofferdam_test::gnu_long;
using cofferdam_test::pax_header;
using cofferdam_test::pax_line;
using cofferdam_test::tar_end;
using cofferdam_test::tar_header;

constexpr std::size_t mib = 1024 * 1024;

/// A daemon that answers every request with `archive`, and counts the bytes it could send.
class archive_daemon {
 public:
  std::string archive;
  std::size_t repeats = 1;  ///< number of times the last 512 bytes of the archive are sent
  std::size_t sent = 0;

  template <class Read>
  std::optional<exec_errc> ask(Read read) {
    std::optional<exec_errc> failure;
    cofferdam_test::site server;
    const cofferdam_test::site::handler answer = [this](http_call& call) -> awaitable<void> {
      http_reply head(200);
      head.field("Content-Type", "application/x-tar");
      co_await call.begin(std::move(head));
      co_await call.write(std::string_view(archive));
      sent = archive.size();
      const std::string last = archive.size() < 512 ? std::string() : archive.substr(archive.size() - 512);
      std::string many;
      for (int i = 0; i < 128; ++i) many += last;
      for (std::size_t i = 1; i < repeats; i += 128) {
        co_await call.write(std::string_view(many));
        sent += many.size();
      }
      co_await call.end();
    };
    const std::function<awaitable<void>(http_server&)> body = [&](http_server&) -> awaitable<void> {
      const asio::any_io_executor executor = co_await asio::this_coro::executor;
      const docker::detail::daemon_location where =
          docker::detail::parse_daemon_address("tcp://127.0.0.1:" + std::to_string(server.port));
      auto api = std::make_shared<docker::detail::engine>(executor, where, host_.view());
      try {
        co_await read(api);
      } catch (const error& reason) {
        failure = static_cast<exec_errc>(reason.code().value());
      }
      co_await api->close();
    };
    cofferdam_test::run(
        server.open(answer, http_server_settings().stop_timeout(std::chrono::milliseconds(100)), std::ref(body)));
    return failure;
  }

  std::optional<exec_errc> file(std::string& content) {
    return ask([&content](std::shared_ptr<docker::detail::engine> api) -> awaitable<void> {
      content = co_await docker::detail::small_file(api, "id", "/etc/passwd");
    });
  }
  std::optional<exec_errc> folder(docker::detail::volume_folder& found) {
    return ask([&found](std::shared_ptr<docker::detail::engine> api) -> awaitable<void> {
      found = co_await docker::detail::look_at_folder(api, "id", "/data");
    });
  }

 private:
  cofferdam_test::fake_host host_;
};

const std::string accounts = "root:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n";

TEST(Attack, FS_10_a_file_of_an_image_is_read_whole_or_not_at_all) {
  const std::string whole = tar_header("passwd", '0', accounts.size()).with(accounts) + tar_end();
  {
    archive_daemon daemon;
    daemon.archive = whole;
    std::string content;
    EXPECT_EQ(daemon.file(content), std::nullopt);
    EXPECT_EQ(content, accounts);
  }
  // The daemon responds with status 200, and closes the response before the end of the file.
  const std::size_t end = 512 + accounts.size();
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{511}, std::size_t{512}, std::size_t{530},
                                 std::size_t{512 + 31}, end - 1}) {
    archive_daemon daemon;
    daemon.archive = whole.substr(0, size);
    std::string content;
    EXPECT_EQ(daemon.file(content), exec_errc::io_error) << size;
    EXPECT_EQ(content, "") << size;
  }
  // Control: if a truncated file were accepted, the user id would be cut too, from 1000 to 1.
  const std::string cut = accounts.substr(0, accounts.find("1000:1000") + 1);
  EXPECT_EQ(docker::detail::resolve_user("app", accounts, "").uid(), 1000U);
  EXPECT_EQ(docker::detail::resolve_user("app", cut, "").uid(), 1U);
}

TEST(Attack, FS_10_what_an_image_puts_in_the_place_of_a_file_is_no_content) {
  const std::string real = tar_header("passwd", '0', accounts.size()).with(accounts);
  const std::string other = "app:x:0:0::/:/bin/sh\n";
  const std::vector<std::pair<const char*, std::string>> nothing{
      {"a symbolic link", tar_header("passwd", '2').link("/etc/shadow").bytes() + tar_end()},
      {"a FIFO", tar_header("passwd", '6').bytes() + tar_end()},
      {"a folder", tar_header("passwd/", '5').bytes() + tar_end()},
      {"of an unknown type", tar_header("passwd", 'V', other.size()).with(other) + tar_end()},
      {"an archive without entries", tar_end()}};
  for (const auto& [what, archive] : nothing) {
    archive_daemon daemon;
    daemon.archive = archive;
    std::string content;
    EXPECT_EQ(daemon.file(content), std::nullopt) << what;
    EXPECT_EQ(content, "") << what;
  }
  // Entries before and after the requested file are ignored.
  for (const std::string& archive : {tar_header("other", 'V', other.size()).with(other) + real + tar_end(),
                                     real + tar_header("passwd", '0', other.size()).with(other) + tar_end()}) {
    archive_daemon daemon;
    daemon.archive = archive;
    std::string content;
    EXPECT_EQ(daemon.file(content), std::nullopt);
    EXPECT_EQ(content, accounts);
  }
  // Control: a client that joins the data of all entries would run the user "app" as root.
  EXPECT_EQ(docker::detail::resolve_user("app", other + accounts, "").uid(), 0U);
}

TEST(Attack, FS_10_a_file_of_an_image_has_a_limit_and_lies_about_sizes_are_refused) {
  const cofferdam_test::memory_growth memory;
  const std::string huge("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xfe\0", 12);
  const std::vector<std::pair<std::string, exec_errc>> archives{
      {tar_header("passwd").put(124, 12, huge).bytes(), exec_errc::too_large},
      {pax_header(pax_line("size", "9223372036854775807")) + tar_header("passwd").bytes(), exec_errc::too_large},
      {tar_header("passwd", 'S').bytes() + tar_end(), exec_errc::unsupported},
      {gnu_long('L', std::string(mib, 'n')) + tar_header("passwd").bytes() + tar_end(), exec_errc::too_large},
      {std::string(512, 'x') + tar_end(), exec_errc::io_error}};
  for (const auto& [archive, expected] : archives) {
    archive_daemon daemon;
    daemon.archive = archive;
    std::string content;
    EXPECT_EQ(daemon.file(content), expected);
  }
  // The file has 1 GiB. The client must close the connection early: the daemon's count stays below 64 MiB.
  archive_daemon daemon;
  daemon.archive = tar_header("passwd", '0', std::uint64_t{1024} * mib).bytes() + std::string(512, 'x');
  daemon.repeats = 2 * 1024 * mib / 1024;
  std::string content;
  EXPECT_NE(daemon.file(content), std::nullopt);
  EXPECT_LT(daemon.sent, 64 * mib);
  if (memory.is_exact() && !cofferdam_test::is_sanitized()) {
    EXPECT_LT(memory.peak(), 64 * mib);
  }
}

TEST(Attack, FS_10_a_folder_of_an_image_is_looked_at_and_not_read) {
  const std::string root = tar_header("./", '5').put(100, 8, "0001777").put(108, 8, "0000007").bytes();
  const std::string device = tar_header("./sda", '4').bytes();
  // Control: a valid archive is accepted, for an empty folder and for a folder with content.
  {
    archive_daemon daemon;
    daemon.archive = root + tar_end();
    docker::detail::volume_folder found;
    EXPECT_EQ(daemon.folder(found), std::nullopt);
    EXPECT_EQ(found.mode, 01777U);
    EXPECT_EQ(found.uid, 7U);
    EXPECT_FALSE(found.has_content);
    daemon.archive = root + device + tar_end();
    EXPECT_EQ(daemon.folder(found), std::nullopt);
    EXPECT_TRUE(found.has_content);
  }
  // The archive is truncated before the first entry of the folder. It must not be taken for an empty folder, because
  // the content of the folder would then be missing without an error.
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{512}, std::size_t{700}}) {
    archive_daemon daemon;
    daemon.archive = (root + device + tar_end()).substr(0, size);
    docker::detail::volume_folder found;
    EXPECT_EQ(daemon.folder(found), exec_errc::io_error) << size;
  }
  // The archive has a million entries. The client closes the connection after the first entries, because two are
  // enough to answer if the folder is empty.
  archive_daemon daemon;
  daemon.archive = root + device;
  daemon.repeats = 1'000'000;
  docker::detail::volume_folder found;
  EXPECT_EQ(daemon.folder(found), std::nullopt);
  EXPECT_TRUE(found.has_content);
  EXPECT_LT(daemon.sent, 64 * mib);
}

}  // namespace
