// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Several files of one program may include the single header. A second file would take as long to compile as the first,
// so this test reads the symbols of one: a function or variable that is not inline could not be linked twice, and one
// that is static would exist twice.

#include <cofferdam/cofferdam.hpp>

#include "support/run_shell.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <unistd.h>

extern "C" int single_header_control() { return 1; }

namespace {

/// Returns the symbols that begin with a text and are not inline: a line for each, with its type, as nm(1) prints it.
std::string not_inline(std::string_view begin) {
  const cofferdam_test::shell_result symbols =
      cofferdam_test::run_shell("nm --demangle --defined-only /proc/" + std::to_string(::getpid()) + "/exe");
  EXPECT_EQ(symbols.status, 0) << symbols.output;
  std::istringstream rest(symbols.output);
  std::string found;
  for (std::string address, type, name; rest >> address >> type && std::getline(rest >> std::ws, name);) {
    const bool is_inline = type == "W" || type == "V" || type == "u";
    // A template whose argument is a type of a test's unnamed namespace is as local as that type. A clone is a part
    // that g++ has taken out of a function.
    const bool is_of_a_test = name.find("(anonymous namespace)") != std::string::npos;
    const bool is_clone = name.find("[clone") != std::string::npos;
    if (!is_inline && !is_of_a_test && !is_clone && name.starts_with(begin)) found += type + " " + name + "\n";
  }
  return found;
}

}  // namespace

TEST(SingleHeader, all_of_it_is_inline_so_that_several_files_may_include_it) {
  EXPECT_EQ(not_inline("cofferdam::"), "");
}

TEST(SingleHeader, control_what_is_not_inline_is_found) {
  EXPECT_EQ(single_header_control(), 1);
  EXPECT_EQ(not_inline("single_header_control"), "T single_header_control\n");
}

TEST(SingleHeader, its_error_categories_have_names_and_messages) {
  std::string names;
  for (const std::error_category* each :
       {&cofferdam::error_category(), &cofferdam::net_error_category(), &cofferdam::chat_error_category(),
        &cofferdam::docker::detail::http_status_category(), &cofferdam::e2b::detail::status_category(),
        &cofferdam::e2b::sandbox_category()})
    names += std::string(each->name()) + ": " + each->message(2) + "\n";
  EXPECT_EQ(names,
            "cofferdam: cancelled\n"
            "cofferdam.net: the connection was closed inside a message\n"
            "cofferdam.chat: the answer was cut off by the output limit\n"
            "http status: HTTP status 2\n"
            "cofferdam.e2b: HTTP status 2\n"
            "cofferdam.e2b.sandbox: the sandbox is paused\n");
}
