// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <string>
#include <vector>

namespace program {

/// The description of one option, as --help, the man page and the completions show it.
struct option_text {
  std::vector<std::string> names;  ///< with their dashes, the short name first
  std::string value;               ///< a placeholder such as SIZE; empty for a flag
  bool optional_value = false;     ///< true if the value may follow only after `=`
  std::string text;                ///< sentences; the first one says what the option does
  std::string group;               ///< the heading above the option
};

/// A heading of a page with its paragraphs. A paragraph that begins with a blank is printed as it is.
struct section {
  std::string heading;
  std::vector<std::string> paragraphs;
};

/// The description of one subcommand. --help, the man page and the completions are made from it.
struct page {
  std::string name;     ///< the subcommand; empty for the program itself
  std::string summary;  ///< one line that begins with a verb
  std::vector<std::string> usage;
  std::vector<option_text> options;
  std::vector<section> notes;
};

/// Returns the text that --help prints.
/// \param program  the name of the program, such as "cofferdam run".
std::string help_text(const std::string& program, const page& shown);

/// Returns the manual of the program in the format of man(7).
/// \param pages  the page of the program itself, then those of its subcommands.
std::string man_page(const std::vector<page>& pages, const std::string& version);

/// Returns a completion script.
/// \param shell  "bash", "zsh" or "fish".
/// \throws std::invalid_argument for another shell.
std::string completion_script(const std::vector<page>& pages, const std::string& shell);

}  // namespace program
