// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "page.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace program {

namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t option_columns = 22;

/// The kinds of providers, for completions.
constexpr std::string_view providers = "jail local docker: dockerfile: kubernetes: e2b: ssh: pyodide";

/// Appends a text that is broken into lines. The first line begins at the column `at`, the others at `indent`.
void append_wrapped(std::string& out, const std::string& text, std::size_t at, std::size_t indent) {
  std::size_t column = at;
  std::size_t begin = 0;
  bool is_first = true;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t size = end - begin;
    if (!is_first && column + 1 + size > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
      is_first = true;
    }
    if (!is_first) {
      out += ' ';
      ++column;
    }
    out.append(text, begin, size);
    column += size;
    is_first = false;
    begin = end + 1;
  }
  out += '\n';
}

std::string shown_names(const option_text& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + name;
  if (option.value.empty()) return text;
  return text + (option.optional_value ? "[=" + option.value + "]" : " " + option.value);
}

/// Returns the headings of a page's options, in the order of the options.
std::vector<std::string> groups_of(const page& shown) {
  std::vector<std::string> groups;
  for (const option_text& option : shown.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  return groups;
}

/// Escapes a text for man(7): a line must not begin with a dot or an apostrophe, and a dash is a minus sign.
std::string roff(std::string_view text) {
  std::string escaped;
  bool is_begin = true;
  for (const char c : text) {
    if (is_begin && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    is_begin = c == '\n';
  }
  return escaped;
}

void append_man_section(std::string& out, const page& shown) {
  for (const std::string& line : shown.usage) out += ".PP\n.nf\n\\fB" + roff(line) + "\\fR\n.fi\n";
  for (const std::string& group : groups_of(shown)) {
    if (!group.empty()) out += ".PP\n\\fI" + roff(group) + "\\fR\n";
    for (const option_text& option : shown.options)
      if (option.group == group) out += ".TP\n\\fB" + roff(shown_names(option)) + "\\fR\n" + roff(option.text) + "\n";
  }
  for (const section& note : shown.notes) {
    if (!note.heading.empty()) out += ".PP\n\\fI" + roff(note.heading) + "\\fR\n";
    for (const std::string& paragraph : note.paragraphs) {
      if (paragraph.starts_with(' ')) {
        out += ".PP\n.nf\n" + roff(paragraph) + "\n.fi\n";
      } else {
        out += ".PP\n" + roff(paragraph) + "\n";
      }
    }
  }
}

/// Returns the first sentence, without characters that a shell's quotes would need to escape.
std::string first_sentence(const std::string& text) {
  std::string sentence = text.substr(0, text.find(". "));
  while (sentence.ends_with('.')) sentence.pop_back();
  std::string plain;
  for (const char c : sentence)
    if (std::string_view("'\"`\\[]:$").find(c) == std::string_view::npos) plain += c;
  return plain;
}

enum class value_kind { text, file, folder, provider };

value_kind kind_of(const option_text& option) {
  if (option.value == "SPEC") return value_kind::provider;
  if (option.value == "DIR") return value_kind::folder;
  if (option.value.starts_with("FILE") || option.value.starts_with("HOST[:GUEST]")) return value_kind::file;
  return value_kind::text;
}

bool takes_files(const page& shown) { return shown.name == "run" || shown.name == "shell" || shown.name == "python"; }

std::string subcommands_of(const std::vector<page>& pages) {
  std::string names;
  for (const page& each : pages)
    if (!each.name.empty()) names += (names.empty() ? "" : " ") + each.name;
  return names;
}

std::string bash_completion(const std::vector<page>& pages) {
  std::string out =
      "# bash completion of cofferdam. Made by: cofferdam completion bash\n"
      "_cofferdam() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} sub=${COMP_WORDS[1]} options=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '" +
      subcommands_of(pages) +
      " --help --version' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$sub:$before\" in\n";
  for (const page& each : pages) {
    for (const option_text& option : each.options) {
      if (option.value.empty() || option.optional_value || each.name.empty()) continue;
      std::string patterns;
      for (const std::string& name : option.names) patterns += (patterns.empty() ? "" : "|") + each.name + ":" + name;
      out += "    " + patterns + ") ";
      switch (kind_of(option)) {
        case value_kind::provider:
          out += "COMPREPLY=($(compgen -W '" + std::string(providers) + "' -- \"$word\")); compopt -o nospace; return";
          break;
        case value_kind::folder: out += "COMPREPLY=($(compgen -d -- \"$word\")); return"; break;
        case value_kind::file: out += "COMPREPLY=($(compgen -f -- \"$word\")); return"; break;
        case value_kind::text: out += "return"; break;
      }
      out += " ;;\n";
    }
  }
  out += "  esac\n  case $sub in\n";
  for (const page& each : pages) {
    if (each.name.empty()) continue;
    out += "    " + each.name + ") options='";
    for (const option_text& option : each.options)
      for (const std::string& name : option.names) out += name + " ";
    if (each.name == "completion") out += "bash zsh fish ";
    out += "' ;;\n";
  }
  return out +
         "  esac\n"
         "  case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) if [ \"$sub\" = completion ]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\"));\n"
         "      else COMPREPLY=($(compgen -f -- \"$word\")); fi ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _cofferdam cofferdam\n";
}

std::string zsh_completion(const std::vector<page>& pages) {
  std::string out =
      "#compdef cofferdam\n"
      "# zsh completion of cofferdam. Made by: cofferdam completion zsh\n"
      "_cofferdam() {\n"
      "  local -a subcommands\n"
      "  if (( CURRENT == 2 )); then\n"
      "    subcommands=(\n";
  for (const page& each : pages)
    if (!each.name.empty()) out += "      '" + each.name + ":" + first_sentence(each.summary) + "'\n";
  out +=
      "    )\n"
      "    _describe subcommand subcommands\n"
      "    return\n"
      "  fi\n"
      "  local sub=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $sub in\n";
  for (const page& each : pages) {
    if (each.name.empty()) continue;
    out += "    " + each.name + ")\n      _arguments";
    for (const option_text& option : each.options) {
      for (const std::string& name : option.names) {
        out += " \\\n        '*" + name;
        if (option.optional_value) out += "=-";
        out += "[" + first_sentence(option.text) + "]";
        if (!option.value.empty()) {
          out += (option.optional_value ? "::" : ":") + first_sentence(option.value) + ":";
          switch (kind_of(option)) {
            case value_kind::provider: {
              std::string list(providers);
              list.erase(std::remove(list.begin(), list.end(), ':'), list.end());
              out += "(" + list + ")";
              break;
            }
            case value_kind::folder: out += "_files -/"; break;
            case value_kind::file: out += "_files"; break;
            case value_kind::text: break;
          }
        }
        out += "'";
      }
    }
    if (each.name == "completion") {
      out += " \\\n        '1:shell:(bash zsh fish)'";
    } else if (takes_files(each)) {
      out += " \\\n        '*::command:_normal'";
    }
    out += "\n      ;;\n";
  }
  return out + "  esac\n}\n_cofferdam \"$@\"\n";
}

std::string fish_completion(const std::vector<page>& pages) {
  std::string out =
      "# fish completion of cofferdam. Made by: cofferdam completion fish\n"
      "complete -c cofferdam -n __fish_use_subcommand -f\n";
  for (const page& each : pages) {
    if (each.name.empty()) continue;
    out += "complete -c cofferdam -n __fish_use_subcommand -a " + each.name + " -d '" + first_sentence(each.summary) +
           "'\n";
    for (const option_text& option : each.options) {
      out += "complete -c cofferdam -n '__fish_seen_subcommand_from " + each.name + "'";
      for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty() && !option.optional_value) {
        switch (kind_of(option)) {
          case value_kind::provider: out += " -x -a '" + std::string(providers) + "'"; break;
          case value_kind::folder: out += " -x -a '(__fish_complete_directories)'"; break;
          case value_kind::file: out += " -r"; break;
          case value_kind::text: out += " -x"; break;
        }
      }
      out += " -d '" + first_sentence(option.text) + "'\n";
    }
    if (each.name == "completion")
      out += "complete -c cofferdam -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
  }
  return out;
}

}  // namespace

std::string help_text(const std::string& program, const page& shown) {
  std::string out = program + ": " + shown.summary + "\n\n";
  for (const std::string& line : shown.usage) out += "  " + line + "\n";
  for (const std::string& group : groups_of(shown)) {
    out += "\n" + group + "\n";
    for (const option_text& option : shown.options) {
      if (option.group != group) continue;
      std::string line = "  " + shown_names(option);
      if (line.size() + 2 > option_columns) {
        line += "\n" + std::string(option_columns, ' ');
      } else {
        line.resize(option_columns, ' ');
      }
      out += line;
      append_wrapped(out, option.text, option_columns, option_columns);
    }
  }
  for (const section& note : shown.notes) {
    out += "\n";
    if (!note.heading.empty()) out += note.heading + "\n";
    bool is_first = true;
    for (const std::string& paragraph : note.paragraphs) {
      if (!is_first) out += "\n";
      is_first = false;
      if (paragraph.starts_with(' ')) {
        out += paragraph + "\n";
      } else {
        append_wrapped(out, paragraph, 0, 0);
      }
    }
  }
  return out;
}

std::string man_page(const std::vector<page>& pages, const std::string& version) {
  std::string out = ".TH COFFERDAM 1 \"\" \"cofferdam " + roff(version) +
                    "\" \"User commands\"\n.SH NAME\ncofferdam \\- " + roff(pages.front().summary) + "\n.SH SYNOPSIS\n";
  for (const page& each : pages)
    if (!each.name.empty())
      out += ".B " + roff(each.usage.front().substr(0, each.usage.front().find("  "))) + "\n.br\n";
  for (const page& each : pages) {
    if (each.name.empty()) {
      out += ".SH DESCRIPTION\n";
    } else {
      std::string heading = "cofferdam " + each.name;
      out += ".SH " + roff(heading) + "\n" + roff("Subcommand " + each.name + ": " + each.summary + ".") + "\n";
    }
    append_man_section(out, each);
  }
  return out;
}

std::string completion_script(const std::vector<page>& pages, const std::string& shell) {
  if (shell == "bash") return bash_completion(pages);
  if (shell == "zsh") return zsh_completion(pages);
  if (shell == "fish") return fish_completion(pages);
  throw std::invalid_argument("there are completions for bash, zsh and fish, not for \"" + shell + "\"");
}

}  // namespace program
