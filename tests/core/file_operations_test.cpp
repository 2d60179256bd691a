// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/core/file_operations.hpp>

#include "support/fake_environment.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace {

using namespace cofferdam;
using cofferdam_test::run;

/// A minimal environment with the four required members. A function of the test returns the result of each command.
class answering {
 public:
  explicit answering(std::function<command_result(const command&)> answer) : answer_(std::move(answer)) {}
  awaitable<command_result> run_command(command c) { co_return answer_(c); }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view) { co_return; }
  awaitable<void> close() { co_return; }

 private:
  std::function<command_result(const command&)> answer_;
};

command_result said(std::string out, std::uint64_t total) {
  command_result result = command_result::exited(0);
  return result.out(captured_output(to_bytes(out), bytes(), total));
}
command_result said(std::string out) {
  const std::uint64_t size = out.size();
  return said(std::move(out), size);
}
command_result failed(std::string text) {
  command_result result = command_result::exited(1);
  return result.err(captured_output(to_bytes(text), bytes(), text.size()));
}

exec_errc list_error(command_result answer) {
  exec_errc code{};
  run([&]() -> awaitable<void> {
    answering env([&](const command&) { return answer; });
    try {
      co_await list_directory(env, "dir");
    } catch (const error& failure) {
      code = static_cast<exec_errc>(failure.code().value());
    }
  });
  return code;
}

std::string record(std::string_view text) { return std::string(text) + '\0'; }

TEST(FileOperations, a_listing_is_read_record_by_record) {
  run([&]() -> awaitable<void> {
    answering env([&](const command&) {
      return said(record("f 5 644 1700000000 0 7 root UNKNOWN ./dir/b\nc") + record("") +
                  record("d 4096 755 -5 1 2 a b ./dir/a") + record("") + record("l 3 777 0 0 0 a b ./dir/z z") +
                  record("to there\n") + record("o 0 600 9223372036854775807 0 0 a b ./dir/p") + record(""));
    });
    std::vector<directory_entry> found = co_await list_directory(env, "dir");
    EXPECT_EQ(found.size(), 4U);
    EXPECT_EQ(found.at(0).path(), "a");
    EXPECT_TRUE(found.at(0).is_directory());
    EXPECT_EQ(found.at(0).size(), 0U);
    EXPECT_EQ(found.at(1).path(), "b\nc");
    EXPECT_EQ(found.at(1).size(), 5U);
    EXPECT_EQ(found.at(1).mode(), 0644U);
    EXPECT_EQ(found.at(1).modified(), std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)));
    EXPECT_EQ(found.at(1).owner_id(), 0U);
    EXPECT_EQ(found.at(1).group_id(), 7U);
    EXPECT_EQ(found.at(1).owner(), "root");
    EXPECT_EQ(found.at(1).group(), "") << "stat prints UNKNOWN for a group without a name";
    EXPECT_EQ(found.at(2).type(), file_type::other);
    EXPECT_FALSE(found.at(2).modified()) << "no clock can represent this time";
    EXPECT_EQ(found.at(3).type(), file_type::symlink);
    EXPECT_EQ(found.at(3).target(), "to there\n");
  });
}

TEST(FileOperations, a_listing_that_was_cut_is_too_large_and_never_short) {
  EXPECT_EQ(list_error(said(record("f 5 644 0 0 0 a b ./dir/b") + record(""), 1 << 30)), exec_errc::too_large);
}

TEST(FileOperations, an_answer_that_makes_no_sense_is_an_error) {
  for (const std::string& answer :
       {std::string("garbage"), record("f") + record(""), record("f x 644 0 0 0 a b ./dir/a") + record(""),
        record("f 5 x 0 0 0 a b ./dir/a") + record(""), record("f 5 644 x 0 0 a b ./dir/a") + record(""),
        record("f 5 644 0 -1 0 a b ./dir/a") + record(""), record("f 5 644 0 0 0") + record(""),
        record("f 5 644 0 0 0 a b c") + record(""), record("f 5 644 0 0 0 a b ./dir/without_target"),
        record("f 5 644 0 0 0 a b ./dir/a") + "unfinished", record("")})
    EXPECT_EQ(list_error(said(answer)), exec_errc::io_error) << answer;
}

TEST(FileOperations, what_the_commands_complain_of_becomes_a_code) {
  EXPECT_EQ(list_error(failed("find: No such file or directory")), exec_errc::not_found);
  EXPECT_EQ(list_error(failed("ls: Permission denied")), exec_errc::permission_denied);
  EXPECT_EQ(list_error(failed("x: Not a directory")), exec_errc::not_a_directory);
  EXPECT_EQ(list_error(failed("mkdir: File exists")), exec_errc::already_exists);
  EXPECT_EQ(list_error(failed("mv: cannot move 'a' to 'd': Directory not empty")), exec_errc::not_empty);
  EXPECT_EQ(list_error(failed("mv: cannot overwrite non-directory 'f' with directory 'd'")),
            exec_errc::not_a_directory);
  EXPECT_EQ(list_error(failed("mv: cannot overwrite directory 'd' with non-directory")), exec_errc::not_a_file);
  EXPECT_EQ(list_error(failed("mv: cannot move 'd' to a subdirectory of itself, 'd/e'")), exec_errc::invalid_argument);
  EXPECT_EQ(list_error(failed("something else")), exec_errc::io_error);
}

TEST(FileOperations, names_of_files_do_not_decide_the_code) {
  EXPECT_EQ(list_error(failed("mv: cannot overwrite non-directory 'No such file' with directory 'Permission denied'")),
            exec_errc::not_a_directory);
  EXPECT_EQ(list_error(failed("mv: cannot move 'it'\\''s No such file' to \"it's\": Directory not empty")),
            exec_errc::not_empty);
  EXPECT_EQ(list_error(failed("ls: cannot access 'a'$'\\n''Is a directory': Not a directory")),
            exec_errc::not_a_directory);
  EXPECT_EQ(list_error(failed("ls: cannot access '" + std::string(300, 'a') + "': No such file or directory")),
            exec_errc::not_found);
}

TEST(FileOperations, a_missing_program_is_no_missing_file) {
  const command_result failure =
      command_result::refused(error_kind::execution_error, "Cannot run \"sh\": No such file or directory");
  EXPECT_EQ(list_error(failure), exec_errc::io_error);
}

TEST(FileOperations, names_reach_the_commands_as_arguments_with_a_dot_and_slash) {
  std::vector<std::vector<std::string>> commands;
  run([&]() -> awaitable<void> {
    answering env([&](const command& c) {
      EXPECT_FALSE(c.is_shell());
      commands.push_back(c.words());
      return said("");
    });
    for (const std::string name : {"-rf", "$(id)", "a b", "--help"}) {
      co_await make_directory(env, name);
      co_await remove(env, name);
      co_await rename(env, name, "-x");
      co_await list_directory(env, name);
    }
  });
  EXPECT_EQ(commands.size(), 16U);
  for (const std::vector<std::string>& words : commands)
    for (const std::string& word : words)
      for (const char* name : {"-rf", "$(id)", "a b", "--help", "-x"})
        EXPECT_TRUE(word != name || word == "-rf") << word;
  EXPECT_EQ(commands.at(0), (std::vector<std::string>{"mkdir", "-p", "./-rf"}));
  EXPECT_EQ(commands.at(2), (std::vector<std::string>{"mv", "-f", "-T", "./-rf", "./-x"}));
}

TEST(FileOperations, wrong_paths_are_refused_before_any_command) {
  run([&]() -> awaitable<void> {
    answering env([&](const command&) {
      ADD_FAILURE() << "a command was run";
      return said("");
    });
    for (const std::string& path :
         {std::string(".."), std::string("/etc"), std::string(), std::string("a\0b", 3), std::string("a/../../b")}) {
      bool refused = false;
      try {
        co_await make_directory(env, path);
      } catch (const error& failure) {
        refused = failure.code() == exec_errc::outside_workspace || failure.code() == exec_errc::invalid_argument;
      }
      EXPECT_TRUE(refused) << path;
    }
  });
}

/// Stores the content of a write as it is when the coroutine of write_file() begins.
class writing_down {
 public:
  explicit writing_down(std::string& content) : content_(&content) {}
  awaitable<command_result> run_command(command) { co_return command_result::exited(0); }
  awaitable<bytes> read_file(std::string, std::size_t) { co_return bytes(); }
  awaitable<void> write_file(std::string, bytes_view content) {
    *content_ = as_text(content);
    co_return;
  }
  awaitable<void> close() { co_return; }

 private:
  std::string* content_;
};

TEST(FileOperations, an_awaitable_that_is_kept_writes_the_text_that_it_was_given) {
  std::string written;
  const std::string expected(5000, 'x');
  run([&]() -> awaitable<void> {
    writing_down env(written);
    awaitable<void> text = write_text(env, "a", std::string(5000, 'x'));
    // This string may reuse the memory of the destroyed temporary.
    const std::string other(5000, 'o');
    co_await std::move(text);
    EXPECT_EQ(written, expected);
    awaitable<void> content = write_bytes(env, "a", to_bytes(std::string(5000, 'x')));
    written.clear();
    co_await std::move(content);
    EXPECT_EQ(written, expected);
    EXPECT_EQ(other.size(), expected.size());
  });
}

}  // namespace
