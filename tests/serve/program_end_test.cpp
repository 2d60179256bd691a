// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Tests of the programs that serve: how they end, and their messages about wrong options. COFFERDAM_MCP_PROGRAM and
// COFFERDAM_PROGRAM are the paths of the programs cofferdam-mcp and cofferdam.

#include "support/jail_tests.hpp"
#include "support/paths.hpp"
#include "support/require.hpp"
#include "support/run_shell.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace program_end_test {

std::string quoted(const std::string& word) { return "'" + word + "' "; }

/// Runs serve/program_end.py, and expects that all of its checks succeed.
void run_script(const std::string& kind, const std::string& program, const std::string& arguments) {
  const std::string line = "timeout 120 python3 " + quoted(cofferdam_test::source_path("tests/serve/program_end.py")) +
                           kind + " " + quoted(program) + arguments;
  const std::string text = cofferdam_test::run_shell(line).output;
  EXPECT_EQ(text.find("FAILED"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("all passed\n")) << text;
}

TEST(ProgramEnd, cofferdam_mcp_ends_in_time_with_a_status_that_says_whether_all_has_ended) {
  run_script("mcp", COFFERDAM_MCP_PROGRAM, "--provider local");
}

TEST(ProgramEnd, cofferdam_serve_ends_in_time_with_a_status_that_says_whether_all_has_ended) {
  run_script("gateway", COFFERDAM_PROGRAM, "serve --provider local --allow-host-paths");
}

TEST(ProgramEnd, the_jails_of_a_program_end_with_it) {
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the walls of the jail");
  run_script("mcp", COFFERDAM_MCP_PROGRAM, "--provider jail");
  run_script("gateway", COFFERDAM_PROGRAM, "serve");
}

/// Returns the output of a shell line, and "status N" at the end.
std::string said_by(const std::string& line, const std::string& arguments) {
  return cofferdam_test::run_shell("timeout 60 " + line + arguments + "; echo status $?").output;
}
std::string said(const std::string& program, const std::string& arguments) {
  return said_by(quoted(program), arguments);
}

// A server over stdio has no tokens, so the option would have no effect. The program refuses it, so that no user relies
// on it.
TEST(ProgramOptions, no_token_without_http_is_refused_with_a_sentence) {
  const std::string text = said(COFFERDAM_MCP_PROGRAM, "--no-token");
  EXPECT_NE(text.find("--no-token needs --http"), std::string::npos) << text;
  EXPECT_EQ(text.find("status 0"), std::string::npos) << text;
}

/// The beginnings of the command lines of all subcommands.
const std::vector<std::string>& subcommands() {
  static const std::vector<std::string> all = [] {
    const std::string program = quoted(COFFERDAM_PROGRAM);
    std::vector<std::string> lines{quoted(COFFERDAM_MCP_PROGRAM)};
    for (const char* const name :
         {"run ", "shell ", "python ", "mcp ", "serve ", "agent ", "doctor ", "completion ", "man "})
      lines.push_back(program + name);
    return lines;
  }();
  return all;
}

TEST(ProgramOptions, an_unknown_option_is_named_as_unknown_wherever_it_stands) {
  for (const std::string& subcommand : subcommands()) {
    for (const char* const words : {"--bogus", "--bogus=3", "--bogus local"}) {
      const std::string text = said_by(subcommand, words);
      EXPECT_NE(text.find("unknown option \"--bogus\"; see --help"), std::string::npos) << subcommand << ": " << text;
      EXPECT_EQ(text.find("status 0"), std::string::npos) << text;
    }
  }
  const std::string text = said(COFFERDAM_PROGRAM, "agent a task --bogus");
  EXPECT_NE(text.find("unknown option \"--bogus\"; see --help"), std::string::npos) << text;
}

TEST(ProgramOptions, a_known_option_without_its_value_is_told_so) {
  for (const std::string& subcommand : subcommands()) {
    if (subcommand.ends_with("completion ") || subcommand.ends_with("man ")) continue;
    const std::string text = said_by(subcommand, "--provider");
    EXPECT_NE(text.find("--provider needs a value; see --help"), std::string::npos) << subcommand << ": " << text;
  }
}

TEST(ProgramOptions, a_configuration_may_be_named_behind_an_equals_sign) {
  const std::string text = said(COFFERDAM_MCP_PROGRAM, "--config=/nowhere/at.all");
  EXPECT_NE(text.find("\"/nowhere/at.all\" cannot be read"), std::string::npos) << text;
}

// The default is the jail, and never something weaker.
TEST(ProgramOptions, a_program_without_a_provider_uses_the_jail_or_lists_the_choices) {
  const std::string line = "OPENAI_API_KEY=none PATH=/nowhere " + quoted(COFFERDAM_PROGRAM) + "agent do something";
  const std::string agent = cofferdam_test::run_shell(line).output;
  for (const char* const choice :
       {"\n    sudo apt-get install bubblewrap\n", "\n    --provider docker:IMAGE ", "\n    --provider local "})
    EXPECT_NE(agent.find(choice), std::string::npos) << agent;
  const cofferdam_test::shell_result doctor = cofferdam_test::run_shell("PATH=/nowhere COFFERDAM_DENO=/nowhere/deno " +
                                                                        quoted(COFFERDAM_MCP_PROGRAM) + "doctor");
  EXPECT_TRUE(doctor.output.starts_with("jail\n    does not work here: jail: bubblewrap (bwrap) is not on the PATH"))
      << doctor.output;
  EXPECT_NE(doctor.output.find("--provider docker:IMAGE"), std::string::npos) << doctor.output;
  EXPECT_EQ(doctor.status, 1);
}

TEST(ProgramOptions, the_doctor_prints_the_table_of_walls) {
  COFFERDAM_NEEDS("bubblewrap", cofferdam_test::has_jail(), "the walls of the jail");
  // The doctor also tries Pyodide, whose start would take most of the time of this test.
  const std::string without_pyodide = "env COFFERDAM_DENO=/nowhere/deno ";
  for (const std::string& program : {quoted(COFFERDAM_MCP_PROGRAM), quoted(COFFERDAM_PROGRAM)}) {
    const std::string text = said_by(without_pyodide + program, "doctor");
    EXPECT_TRUE(text.starts_with("jail\n    process_tree: process namespace")) << text;
    EXPECT_NE(text.find("    system_calls: seccomp: a deny list"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("status 0\n")) << text;
  }
}

TEST(ProgramOptions, help_is_printed_with_status_0) {
  for (const std::string& subcommand : subcommands()) {
    for (const char* const words : {"--help", "-h"}) {
      const std::string text = said_by(subcommand, words);
      EXPECT_NE(text.find("--help"), std::string::npos) << subcommand << ": " << text;
      EXPECT_TRUE(text.ends_with("status 0\n")) << text;
    }
  }
}

}  // namespace program_end_test
