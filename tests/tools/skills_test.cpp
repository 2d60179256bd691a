// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/tools/skills.hpp>

#include "support/error_of.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace skills_test {

using namespace cofferdam;
namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string front(const std::string& name, const std::string& more = "") {
  return "---\nname: " + name + "\ndescription: Fills PDF forms.\n" + more + "---\n\n# Use\nRun it.\n";
}

/// Returns the code of the error that a call throws; no code if it throws none.
template <class Call>
std::error_code code_or_none(Call call) {
  try {
    call();
  } catch (const error& failure) {
    return failure.code();
  }
  return {};
}

std::error_code code_of_skill(const std::string& text, const std::string& name = "pdf") {
  const cofferdam_test::temporary_folder folder;
  write(folder.path() / name / "SKILL.md", text);
  return code_or_none([&] { tools::skills all(folder.path()); });
}

// Feature: H13
TEST(Skills, are_offered_by_name_and_description_and_read_with_their_files_when_asked_for) {
  const cofferdam_test::temporary_folder folder;
  write(folder.path() / "pdf/SKILL.md", front("pdf", "license: MIT\nmetadata:\n  author: us\nallowed-tools: Bash\n"));
  write(folder.path() / "pdf/scripts/fill.sh", "echo filled");
  fs::permissions(folder.path() / "pdf/scripts/fill.sh", fs::perms(0755));
  fs::create_symlink("scripts/fill.sh", folder.path() / "pdf/link.sh");
  write(folder.path() / "tables/SKILL.md",
        "---\r\nname: tables\r\ndescription: >\r\n  Reads\r\n  tables.\r\n---\r\nText");
  write(folder.path() / "notes/readme.txt", "no skill");
  write(folder.path() / ".git/SKILL.md", "no skill");
  const tools::skills all(folder.path());
  ASSERT_EQ(all.list().size(), 2U);
  EXPECT_EQ(all.list()[0]->instructions, "# Use\nRun it.\n");
  EXPECT_EQ(all.list()[1]->description, "Reads tables.");
  fs::remove_all(folder.path() / "pdf");  // the skills are in memory
  cofferdam_test::run([&]() -> awaitable<void> {
    co_await with(local().without_warning(), [&](auto& env) -> awaitable<void> {
      any_environment inside(referenced_environment{env});
      tools::open_skill tool = all(inside);
      EXPECT_TRUE(std::string(tool.description()).ends_with("\n- pdf: Fills PDF forms.\n- tables: Reads tables."))
          << tool.description();
      EXPECT_NE(boost::json::serialize(tool.parameters()).find(R"("enum":["pdf","tables"])"), std::string::npos);
      boost::json::value arguments = boost::json::parse(R"({"name":"pdf"})");
      const tools::tool_result read = co_await tool.call(std::move(arguments));
      EXPECT_TRUE(read.ok());
      EXPECT_EQ(read.text(),
                "The files of the skill pdf are in the workspace:\n- skills/pdf/SKILL.md\n- skills/pdf/link.sh\n"
                "- skills/pdf/scripts/fill.sh\nPaths in its instructions are relative to skills/pdf. The instructions:"
                "\n\n# Use\nRun it.\n");
      const command_result filled = co_await env.run_command("skills/pdf/scripts/fill.sh && ./skills/pdf/link.sh");
      EXPECT_EQ(filled.out_text(), "filled\nfilled\n");
      boost::json::value other = boost::json::parse(R"({"name":"other"})");
      const tools::tool_result wrong = co_await tool.call(std::move(other));
      EXPECT_FALSE(wrong.ok());
    });
  });
}

TEST(Skills, bad_front_matter_is_an_error) {
  EXPECT_EQ(code_of_skill(front("pdf")), std::error_code());
  for (const std::string& text :
       {std::string(""), std::string("# Use\n"), std::string("---\nname: pdf\n"), std::string("---\nname: pdf\n---\n"),
        std::string("---\ndescription: x\n---\n"), std::string("---\nname: pdf\ndescription:\n---\n"),
        std::string("---\nname: pdf\ndescription: '  '\n---\n"), std::string("---\nname: [pdf]\ndescription: x\n---\n"),
        std::string("---\nname: pdf\nname: pdf\ndescription: x\n---\n"), std::string("---\n- pdf\n---\n"),
        std::string("---\nname: pdf\ndescription: \xff\n---\n"), front("pdf") + std::string("\xff"), front("other"),
        "---\nname: pdf\ndescription: " + std::string(1025, 'x') + "\n---\n"})
    EXPECT_EQ(code_of_skill(text), exec_errc::invalid_argument) << text;
  for (const std::string name : {"PDF", "a_b", "-a", "a-", "a--b", "a b"})
    EXPECT_EQ(code_of_skill(front("'" + name + "'"), name), exec_errc::invalid_argument) << name;
}

TEST(Skills, large_files_duplicates_and_links_out_of_the_folder_are_errors) {
  EXPECT_EQ(code_of_skill(front("pdf") + std::string(128 * 1024, 'x')), exec_errc::too_large);
  const cofferdam_test::temporary_folder folder;
  write(folder.path() / "secret", "key");
  write(folder.path() / "all/pdf/SKILL.md", front("pdf"));
  const fs::path skill = folder.path() / "all/pdf";
  const auto code = [&] { return code_or_none([&] { tools::skills all(folder.path() / "all"); }); };
  EXPECT_EQ(code(), std::error_code());
  for (const std::string target : {"../../secret", "/etc/passwd", "../pdf/../../secret"}) {
    fs::create_symlink(target, skill / "link");
    EXPECT_EQ(code(), exec_errc::outside_workspace) << target;
    fs::remove(skill / "link");
  }
  fs::create_symlink(".", skill / "link");
  EXPECT_EQ(code(), exec_errc::not_a_file);
  fs::remove(skill / "link");
  fs::create_directory_symlink("../..", folder.path() / "all/out");
  EXPECT_EQ(code(), exec_errc::outside_workspace);
  fs::remove(folder.path() / "all/out");
  ::mkfifo((skill / "fifo").c_str(), 0600);
  EXPECT_EQ(code(), exec_errc::not_a_file);
  fs::remove(skill / "fifo");
  write(skill / "large.bin", std::string((4U << 20U) + 1, 'x'));
  EXPECT_EQ(code(), exec_errc::too_large);
  for (int i = 0; i < 5; ++i) write(skill / ("large" + std::to_string(i)), std::string(3'500'000, 'x'));
  fs::remove(skill / "large.bin");
  EXPECT_EQ(code(), exec_errc::too_large);
  for (int i = 0; i < 5; ++i) fs::remove(skill / ("large" + std::to_string(i)));
  for (int i = 0; i < 1000; ++i) write(skill / std::to_string(i), "");
  EXPECT_EQ(code(), exec_errc::too_large);
  for (int i = 0; i < 1000; ++i) fs::remove(skill / std::to_string(i));
  tools::skills all(skill);  // the folder of one skill
  EXPECT_EQ(cofferdam_test::code_of([&] { all.add(folder.path() / "all"); }), exec_errc::already_exists);
  EXPECT_EQ(all.list().size(), 1U);
  EXPECT_EQ(cofferdam_test::code_of([&] { all.add(folder.path() / "none"); }), exec_errc::not_found);
  fs::create_directory(folder.path() / "empty");
  EXPECT_EQ(cofferdam_test::code_of([&] { all.add(folder.path() / "empty"); }), exec_errc::not_found);
}

}  // namespace skills_test
