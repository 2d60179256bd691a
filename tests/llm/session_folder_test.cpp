// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/llm/agent_session.hpp>

#include "llm/scripted_model.hpp"
#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace session_folder_test {

using namespace cofferdam;
using cofferdam_test::code_of;
using cofferdam_test::memory_environment;
using cofferdam_test::scripted_model;
namespace fs = std::filesystem;

constexpr const char* done = R"({"reason":"done","paths":[]})";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, const std::string& content) { std::ofstream(path, std::ios::binary) << content; }

void save(memory_environment env, const fs::path& folder, std::uint64_t max_bytes = 1000) {
  scripted_model model;
  cofferdam_test::run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    co_await session.save_to(folder, max_bytes);
  });
}
void resume(memory_environment env, const fs::path& folder) {
  scripted_model model;
  cofferdam_test::run([&]() -> awaitable<void> {
    agent_session session(agent(model), env);
    co_await session.resume_from(folder);
  });
}
void resume(const fs::path& folder) { resume(memory_environment(), folder); }

// Feature: H14
TEST(SessionFolder, a_session_continues_in_another_environment_with_its_files) {
  const cofferdam_test::temporary_folder folder;
  const fs::path saved = folder.path() / "saved";
  scripted_model model;
  model.call("code_exec",
             R"({"cmd":"mkdir -p d && echo first > d/a && printf 'echo ran' > run.sh && chmod 755 run.sh"})");
  model.call("finish", done);
  model.call("code_exec", R"({"cmd":"cat d/a && ./run.sh"})").call("finish", done);
  std::uint64_t total = 0;
  cofferdam_test::run([&]() -> awaitable<void> {
    co_await with(local().without_warning(), [&](auto& env) -> awaitable<void> {
      agent_session session(agent(model), env);
      co_await session.run("begin");
      co_await session.save_to(saved);
    });
    co_await with(local().without_warning(), [&](auto& env) -> awaitable<void> {
      agent_session session(agent(model), env);
      co_await session.resume_from(saved);
      co_await session.run("go on");
      total = session.usage().total();
    });
  });
  EXPECT_NE(model.told(3).find("first\nran"), std::string::npos) << model.told(3);
  EXPECT_EQ(model.asked()[2].messages()[1].text(), "begin");
  EXPECT_EQ(total, 60U);
  EXPECT_EQ(read(saved / "files/d/a"), "first\n");
  EXPECT_EQ(fs::status(saved / "session.json").permissions(), fs::perms(0600));
}

TEST(SessionFolder, an_earlier_one_is_replaced_as_a_whole_and_other_folders_are_not) {
  const cofferdam_test::temporary_folder folder;
  const fs::path saved = folder.path() / "saved";
  memory_environment env;
  env.all().files["a"] = to_bytes("1");
  save(env, saved);
  env.all().files.erase("a");
  env.all().files["b"] = to_bytes("2");
  save(env, saved / "");
  EXPECT_FALSE(fs::exists(saved / "files/a"));
  EXPECT_EQ(read(saved / "files/b"), "2");
  env.all().files.clear();
  save(env, saved);
  EXPECT_FALSE(fs::exists(saved / "files"));
  resume(saved);

  write(saved / "mine.txt", "x");
  EXPECT_EQ(code_of([&] { save(env, saved); }), exec_errc::already_exists);
  fs::create_directories(folder.path() / "other/files");
  EXPECT_EQ(code_of([&] { save(env, folder.path() / "other"); }), exec_errc::already_exists);
  write(folder.path() / "file", "x");
  EXPECT_EQ(code_of([&] { save(env, folder.path() / "file"); }), exec_errc::already_exists);
  fs::create_directory_symlink("saved", folder.path() / "link");
  EXPECT_EQ(code_of([&] { save(env, folder.path() / "link"); }), exec_errc::already_exists);
  EXPECT_EQ(code_of([&] { save(env, folder.path() / "no/where"); }), exec_errc::io_error);
  fs::create_directory(folder.path() / "empty");
  save(env, folder.path() / "empty");
  std::size_t count = 0;
  for (const fs::directory_entry& each : fs::directory_iterator(folder.path())) count += each.exists() ? 1 : 0;
  EXPECT_EQ(count, 5U) << "no unfinished folder is left";
}

TEST(SessionFolder, a_failed_save_leaves_the_earlier_one) {
  const cofferdam_test::temporary_folder folder;
  const fs::path saved = folder.path() / "saved";
  memory_environment env;
  env.all().files["a"] = to_bytes("1");
  save(env, saved);
  env.all().files["large"] = to_bytes(std::string(1001, 'x'));
  EXPECT_EQ(code_of([&] { save(env, saved); }), exec_errc::too_large);
  EXPECT_EQ(read(saved / "files/a"), "1");
  EXPECT_FALSE(fs::exists(saved / "files/large"));
  resume(saved);
}

TEST(SessionFolder, what_is_no_saved_session_is_not_resumed) {
  const cofferdam_test::temporary_folder folder;
  EXPECT_EQ(code_of([&] { resume(folder.path() / "none"); }), exec_errc::not_found);
  EXPECT_EQ(code_of([&] { resume(folder.path()); }), exec_errc::not_found);
  for (const char* const text : {"", "{", "{}", "[]", R"({"version":2,"history":[]})"}) {
    write(folder.path() / "session.json", text);
    EXPECT_EQ(code_of([&] { resume(folder.path()); }), exec_errc::invalid_argument) << text;
  }
}

// A saved session may come from somewhere else. It must not name other files of the host.
TEST(SessionFolder, no_link_in_a_saved_session_leads_to_other_files_of_the_host) {
  const cofferdam_test::temporary_folder folder;
  const fs::path saved = folder.path() / "saved";
  fs::create_directories(folder.path() / "private");
  write(folder.path() / "private/key", "secret");
  memory_environment env;
  save(env, saved);

  fs::create_directory_symlink(folder.path() / "private", saved / "files");
  EXPECT_EQ(code_of([&] { resume(env, saved); }), exec_errc::invalid_argument);
  EXPECT_TRUE(env.all().files.empty()) << "the files of a link were copied";
  fs::remove(saved / "files");
  fs::create_directory_symlink("../private", saved / "files");
  EXPECT_EQ(code_of([&] { resume(env, saved); }), exec_errc::invalid_argument);
  EXPECT_TRUE(env.all().files.empty()) << "the files of a relative link were copied";
  fs::remove(saved / "files");

  fs::create_directory(saved / "files");
  fs::create_symlink(folder.path() / "private/key", saved / "files/key");
  fs::create_directory_symlink(folder.path() / "private", saved / "files/d");
  EXPECT_EQ(code_of([&] { resume(env, saved); }), exec_errc::not_a_file);
  EXPECT_TRUE(env.all().files.empty());
  fs::remove_all(saved / "files");
  write(saved / "files", "a file");
  EXPECT_EQ(code_of([&] { resume(env, saved); }), exec_errc::invalid_argument);
  EXPECT_TRUE(env.all().files.empty());
  fs::remove(saved / "files");

  fs::rename(folder.path() / "private", saved / "files");  // the control: the same files in a directory are copied
  resume(env, saved);
  EXPECT_EQ(env.all().files.size(), 1U);
}

TEST(SessionFolder, a_folder_without_a_name_and_a_workspace_that_is_too_large_are_refused_with_a_reason) {
  const cofferdam_test::temporary_folder folder;
  memory_environment env;
  env.all().files["a"] = to_bytes("1234");
  EXPECT_EQ(code_of([&] { save(env, ""); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { save(env, folder.path() / std::string("a\0b", 3)); }), exec_errc::invalid_argument);
  EXPECT_FALSE(fs::exists(folder.path() / "a"));
  EXPECT_EQ(cofferdam_test::sentence_of([&] { save(env, folder.path() / "saved", 3); }),
            "agent_session: save_to: the workspace has 4 bytes in 1 files; the limit for a copy is 3 bytes in 100000 "
            "files");
}

}  // namespace session_folder_test
