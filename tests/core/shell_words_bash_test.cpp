// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/detail/core/shell_words.hpp>

#include "support/require.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// Compares the accepted words with those of bash. Lines are made at random, by a grammar, and exhaustively. Lines that
// the splitter accepts are evaluated by a real bash in which every command only records its arguments.

namespace {

using cofferdam::detail::parsed_words;
using cofferdam::detail::shell_refusal;
using cofferdam::detail::split_shell_words;
using words = std::vector<std::string>;
using splitter = std::function<parsed_words(const std::string&)>;

constexpr const char* bash_program = "/bin/bash";
constexpr const char* coreutils_timeout = "/usr/bin/timeout";

bool has_bash() { return ::access(bash_program, X_OK) == 0 && ::access(coreutils_timeout, X_OK) == 0; }

// A folder with a few files, so that a glob that slipped through would find something.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cofferdam-bash-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    path_ = name;
    std::filesystem::create_directory(path_ / "work");
    std::filesystem::create_directory(path_ / "bin");
    for (const char* file : {"a", "b", "ab", "1", "f", "README"}) std::ofstream(path_ / "work" / file) << file;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

void write_whole(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string read_whole(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Runs a program in `directory` with exactly this environment, its three standard streams on /dev/null.
void run_program(const words& arguments, const words& environment, const std::filesystem::path& directory) {
  std::vector<char*> argument_list;
  for (const std::string& each : arguments) argument_list.push_back(const_cast<char*>(each.c_str()));
  argument_list.push_back(nullptr);
  std::vector<char*> environment_list;
  for (const std::string& each : environment) environment_list.push_back(const_cast<char*>(each.c_str()));
  environment_list.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int null = ::open("/dev/null", O_RDWR);
    if (::chdir(directory.c_str()) == 0 && ::dup2(null, 0) == 0 && ::dup2(null, 1) == 1 && ::dup2(null, 2) == 2)
      ::execve(argument_list.front(), argument_list.data(), environment_list.data());
    ::_exit(127);
  }
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  int status = 0;
  ::waitpid(child, &status, 0);
}

// Every command of the line leaves one record: the letter C, the number of its words, its words.
struct recorded {
  std::vector<words> commands;
};

// Reads records; `L`, and the number of the line, stands before those of each line.
std::map<std::size_t, recorded> read_records(const std::string& text) {
  std::map<std::size_t, recorded> result;
  std::vector<std::string> fields;
  std::string field;
  for (const char c : text) {
    if (c != '\0') {
      field.push_back(c);
      continue;
    }
    fields.push_back(std::move(field));
    field.clear();
  }
  std::size_t line = 0;
  for (std::size_t i = 0; i + 1 < fields.size();) {
    const std::size_t number = std::strtoull(fields[i + 1].c_str(), nullptr, 10);
    const bool is_line = fields[i] == "L";
    i += 2;
    if (is_line) {
      line = number;
      result[line];
      continue;
    }
    words command;
    for (std::size_t n = 0; n < number && i < fields.size(); ++n) command.push_back(fields[i++]);
    result[line].commands.push_back(std::move(command));
  }
  return result;
}

constexpr std::string_view program_names[] = {"echo", "ls",  "cat", "grep", "git", "find", "printf", "test", "cd",
                                              "sed",  "tar", "x",   "a",    "b",   "awk",  "read",   "env",  "make"};

// The script that evaluates many lines in one bash. No program can be found, hence none is started: what is not one of
// the functions ends in command_not_found_handle, in a child. A line is given to `eval`, which parses by the same
// function as `bash -c` (the next test but one proves it on a sample).
std::string batch_script() {
  std::string script =
      "record() { builtin printf 'C\\0%d\\0' \"$#\" >&3; builtin printf '%s\\0' \"$@\" >&3; }\n"
      "command_not_found_handle() { record \"$@\"; }\n"
      "for name in $(compgen -b); do\n"
      "  case $name in builtin|printf|read|eval|enable) ;; *) enable -n -- \"$name\" ;; esac\n"
      "done\n"
      "number=0\n";
  for (const std::string_view name : program_names)
    script.append(name).append("() { record ").append(name).append(" \"$@\"; }\n");
  return script +
         "while IFS= builtin read -r -d '' line <&4; do\n"
         "  builtin printf 'L\\0%d\\0' \"$number\" >&3\n"
         "  (( number += 1 ))\n"
         "  builtin eval -- \"$line\"\n"
         "done\n";
}

std::map<std::size_t, recorded> evaluate_in_bash(const std::vector<std::string>& lines, const std::string& locale) {
  const scratch_folder scratch;
  std::string input;
  for (const std::string& line : lines) input.append(line).push_back('\0');
  write_whole(scratch.path() / "lines", input);
  write_whole(scratch.path() / "batch", batch_script());
  const std::string start = "exec 3>../records 4<../lines; . ../batch";
  run_program({coreutils_timeout, "-s", "KILL", "100", bash_program, "-c", start},
              {"PATH=/nonexistent", "HOME=/h", "LC_ALL=" + locale}, scratch.path() / "work");
  return read_records(read_whole(scratch.path() / "records"));
}

// Returns the words of one `bash -c line`: the only programs are in a private folder, and record their words. All
// builtins are disabled.
recorded run_one_bash(const std::string& line, const std::string& program, const scratch_folder& scratch) {
  const auto bin = scratch.path() / "bin";
  const auto records = scratch.path() / "records";
  std::filesystem::remove(records);
  if (!std::filesystem::exists(bin / program)) std::filesystem::create_symlink("../dumper", bin / program);
  run_program({bash_program, "-c", "--", line},  // without "--" a line that starts with + or - would be an option
              {"PATH=" + bin.string(), "HOME=/h", "LC_ALL=C.UTF-8", "RECORDS=" + records.string(),
               "BASH_ENV=" + (scratch.path() / "no_builtins").string()},
              scratch.path() / "work");
  return read_records(read_whole(records))[0];
}

class line_maker {
 public:
  explicit line_maker(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    switch (below(6)) {
      case 0: return "echo " + noise(1 + below(14));
      case 1: return noise(1 + below(9));
      case 2: return command();
      case 3: return mutated(command(), 1 + below(3));
      case 4: return mutated(std::string(pick(real_lines)), below(3));
      default: return mutated(std::string(pick(real_lines)) + " " + word(), below(2));
    }
  }

 private:
  static constexpr std::string_view alphabet = "aab1 \t\\\\''\"\"$`;&|<>(){}[]*?~#=!^%+-,.:/@\n\r";
  static constexpr std::string_view fragments[] = {
      "é", "；", "\x7f",     "\x01", "~root", "$HOME", "{a,b}", "{}",  "..",    "{1..3}", "\\\n", "\\",
      "'", "\"", "''",       "\"\"", "${",    "$(",    "$'a'",  "\\$", "\"$\"", "a=",     "=~",   ":~",
      "#", "!",  "\xc2\xa0", "\t",   "[a]",   "$ ",    "$\"",   "a$",  "*",     "b?",     "{",    "}",
      ",", ".",  "\\~",      "\\{",  "%",     "if",    "~",     "=",   "😀"};
  static constexpr std::string_view real_lines[] = {
      "ls -la",
      "echo 'it'\"'\"'s $HOME'",
      "grep -rn \"foo$\" src/a.txt",
      "grep -E '^(a|b)+$' f",
      "find . -name '*.cpp' -exec grep -l x {} \\;",
      "git log --format=\"%h %s\" HEAD~3..HEAD",
      "git show stash@{0}:a/b",
      "sed -e 's/a\\(b\\)/\\1/g' f",
      "awk '{print $1}' f",
      "printf '%s\\n' \"a b\" c\\ d",
      "tar -xzf a.tar.gz -C b --strip-components=1",
      "make CC=gcc-12 -j4 a:b",
      "test ! -e a~",
      "cat \"a\\\"b\\\\c\\$d\\`e\" f",
      "python3 -c 'import os\nprint(1)'",
      "env A=b PATH=/x:/y x",
      "cat résumé.txt 漢字 '；'",
      "x a#b \\# '' \"\" a''b",
      "xargs -I{} echo {}/a b{}c",
      "echo a \\\n  --b \\\n  c",
  };

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }
  template <class Range>
  std::ranges::range_value_t<Range> pick(const Range& range) {
    return range[below(std::size(range))];
  }

  std::string noise(std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) {
      if (below(8) == 0)
        text += pick(fragments);
      else
        text.push_back(pick(alphabet));
    }
    return text;
  }

  // A part of a word that is right as it is.
  std::string part() {
    static constexpr std::string_view plain = "abcXYZ019_-+./:@%,^]";
    static constexpr std::string_view any = "ab1 \t;&|<>(){}[]*?~#=!^%$`\"\\\n\r.,:é";
    std::string text;
    switch (below(5)) {
      case 0:
      case 1:
        for (std::size_t i = 1 + below(4); i > 0; --i) text.push_back(pick(plain));
        return text;
      case 2:
        text = "'";
        for (std::size_t i = below(6); i > 0; --i) text.push_back(any[below(any.size() - 4)]);
        return text + "'";
      case 3:
        text = "\"";
        for (std::size_t i = below(6); i > 0; --i) {
          const char c = any[below(any.size() - 4)];
          if (c == '$' || c == '`' || c == '"') text.push_back('\\');
          text.push_back(c);
        }
        if (text.back() == '\\' && text.size() % 2 == 0) text += "\\";
        return text + (below(6) == 0 ? "$\"" : "\"");
      default: {
        const char c = any[below(any.size() - 4)];
        return std::string("\\") + (c == '\r' ? 'r' : c);
      }
    }
  }

  std::string word() {
    std::string text;
    for (std::size_t i = 1 + below(3); i > 0; --i) text += part();
    return text;
  }

  std::string command() {
    std::string text(pick(program_names));
    if (below(8) == 0) text = word();
    for (std::size_t i = below(5); i > 0; --i) text += (below(8) == 0 ? " \t " : " ") + word();
    return text;
  }

  std::string mutated(std::string text, std::size_t times) {
    for (; times > 0; --times) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0: text.insert(at, 1, pick(alphabet)); break;
        case 1: text.insert(at, pick(fragments)); break;
        case 2: text.erase(at, 1 + below(2)); break;
        default:
          if (at < text.size()) text[at] = pick(alphabet);
          break;
      }
    }
    return text;
  }

  std::mt19937_64 random_;
};

struct comparison {
  std::size_t made = 0;
  std::size_t accepted = 0;
  std::size_t replayed = 0;
  std::size_t differences = 0;
  std::string first_differences;
};

std::string shown(const words& list) {
  std::string text;
  for (const std::string& each : list) text += "[" + cofferdam::detail::quote_shell_word(each) + "]";
  return text;
}

comparison compare_with_bash(const std::vector<std::string>& lines, const splitter& split,
                             const std::string& locale = "C.UTF-8") {
  comparison result;
  result.made = lines.size();
  std::vector<std::string> replayed;
  std::vector<words> expected;
  for (const std::string& line : lines) {
    parsed_words parsed = split(line);
    if (!parsed.ok()) continue;
    ++result.accepted;
    // A program with a slash is not looked up, so nothing would record it.
    if (parsed.words().front().find('/') != std::string::npos) continue;
    replayed.push_back(line);
    expected.push_back(std::move(parsed).words());
  }
  result.replayed = replayed.size();
  const auto records = evaluate_in_bash(replayed, locale);
  for (std::size_t i = 0; i < replayed.size(); ++i) {
    const auto found = records.find(i);
    const std::vector<words> commands = found == records.end() ? std::vector<words>() : found->second.commands;
    if (commands.size() == 1 && commands.front() == expected[i]) continue;
    if (++result.differences > 8) continue;
    result.first_differences +=
        "line " + cofferdam::detail::quote_shell_word(replayed[i]) + "\n  ours " + shown(expected[i]);
    for (const words& each : commands) result.first_differences += "\n  bash " + shown(each);
    result.first_differences += "\n";
  }
  return result;
}

parsed_words ours(const std::string& line) { return split_shell_words(line); }

std::vector<std::string> random_lines(std::uint64_t seed, std::size_t count) {
  line_maker maker(seed);
  std::vector<std::string> lines;
  lines.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = maker.next();
    if (line.find('\0') == std::string::npos) lines.push_back(std::move(line));
  }
  return lines;
}

// Every text of at most `longest` characters of `alphabet`, after `before`.
void add_every_text(std::vector<std::string>& lines, const std::string& before, std::string_view alphabet,
                    std::size_t longest) {
  std::vector<std::string> shorter{before};
  for (std::size_t length = 1; length <= longest; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : shorter) {
      for (const char c : alphabet) longer.push_back(text + c);
    }
    lines.insert(lines.end(), longer.begin(), longer.end());
    shorter = std::move(longer);
  }
}

std::uint64_t extra_seed() {
  if (const char* wanted = std::getenv("COFFERDAM_SEED")) return std::strtoull(wanted, nullptr, 10);
  return std::random_device()();
}

void report(std::string_view what, const comparison& result) {
  std::cout << "  " << what << ": " << result.made << " lines, " << result.accepted << " accepted, "
            << result.made - result.accepted << " refused, " << result.replayed << " replayed, " << result.differences
            << " differences\n";
}

TEST(ShellWordsAgainstBash, random_lines_have_the_words_bash_gives_them) {
  COFFERDAM_NEEDS("bash", has_bash(), "accepted lines have bash's own words");
  const std::uint64_t extra = extra_seed();
  std::cout << "  seeds 1 and " << extra << " (COFFERDAM_SEED=" << extra << " repeats it)\n";
  for (const std::uint64_t seed : {std::uint64_t{1}, extra}) {
    const comparison result = compare_with_bash(random_lines(seed, 60'000), ours);
    report("random", result);
    EXPECT_EQ(result.differences, 0u) << "seed " << seed << "\n" << result.first_differences;
    EXPECT_GT(result.accepted * 5, result.made);
    EXPECT_GT(result.replayed * 100, result.accepted * 95);
  }
}

TEST(ShellWordsAgainstBash, every_short_text_has_the_words_bash_gives_it) {
  COFFERDAM_NEEDS("bash", has_bash(), "accepted lines have bash's own words");
  std::vector<std::string> lines;
  add_every_text(lines, "x ", "a \\'\"${},.~=#:\n!", 4);
  add_every_text(lines, "", "a \\'\"${},.~=#:\n!%", 3);
  add_every_text(lines, "x \"", "a\\'\"$ |)/,\n!`", 3);
  add_every_text(lines, "x {", "1a.,}\\'", 4);
  const comparison result = compare_with_bash(lines, ours);
  report("exhaustive", result);
  EXPECT_EQ(result.differences, 0u) << result.first_differences;
}

TEST(ShellWordsAgainstBash, the_plain_C_locale_changes_nothing) {
  COFFERDAM_NEEDS("bash", has_bash(), "accepted lines have bash's own words in the C locale");
  const comparison result = compare_with_bash(random_lines(2, 10'000), ours, "C");
  report("C locale", result);
  EXPECT_EQ(result.differences, 0u) << result.first_differences;
}

TEST(ShellWordsAgainstBash, a_bash_of_its_own_for_each_line_says_the_same_and_starts_one_program) {
  COFFERDAM_NEEDS("bash", has_bash(), "the batch evaluation above is what bash -c does");
  const scratch_folder scratch;
  write_whole(scratch.path() / "dumper",
              "#!/bin/sh\n"
              "{ printf 'C\\0%d\\0%s\\0' \"$(($# + 1))\" \"${0##*/}\"; [ $# = 0 ] || printf '%s\\0' \"$@\"; } "
              ">>\"$RECORDS\"\n");
  std::filesystem::permissions(scratch.path() / "dumper", std::filesystem::perms::owner_all);
  write_whole(scratch.path() / "no_builtins", "enable -n -- $(compgen -b)\n");
  std::size_t run = 0;
  for (const std::string& line : random_lines(3, 100'000)) {
    if (run == 250) break;
    const parsed_words parsed = split_shell_words(line);
    if (!parsed.ok()) continue;
    const std::string& program = parsed.words().front();
    if (program.find('/') != std::string::npos || program == "." || program == "..") continue;
    if (parsed.words().size() == 1 && run % 4 != 0) continue;
    ++run;
    const recorded found = run_one_bash(line, program, scratch);
    ASSERT_EQ(found.commands.size(), 1u) << cofferdam::detail::quote_shell_word(line);
    EXPECT_EQ(found.commands.front(), parsed.words()) << cofferdam::detail::quote_shell_word(line);
  }
  EXPECT_EQ(run, 250u);
}

// The control: splitters that are wrong on purpose, each of which must be found out.

// Thinks that `c` is an ordinary character.
splitter blind_to(char c) {
  return [c](const std::string& line) {
    std::string changed = line;
    for (char& each : changed) {
      if (each == c) each = 'Q';
    }
    if (changed == line || line.find('Q') != std::string::npos)
      return parsed_words::refused(shell_refusal::shell_syntax, 0, "not of interest");
    parsed_words parsed = split_shell_words(changed);
    if (!parsed.ok()) return parsed;
    words list = std::move(parsed).words();
    for (std::string& word : list) {
      for (char& each : word) {
        if (each == 'Q') each = c;
      }
    }
    return parsed_words::accepted(std::move(list));
  };
}

// Splits at blanks and leaves quotes where they are.
parsed_words naive(const std::string& line) {
  words list;
  std::string word;
  if (line.find_first_of("<>&|()") != std::string::npos)
    return parsed_words::refused(shell_refusal::shell_syntax, 0, "left out: could do harm");
  for (const char c : line + " ") {
    if (c != ' ' && c != '\t') {
      word.push_back(c);
      continue;
    }
    if (!word.empty()) list.push_back(std::move(word));
    word.clear();
  }
  if (list.empty()) return parsed_words::refused(shell_refusal::empty_command, 0, "no words");
  return parsed_words::accepted(std::move(list));
}

TEST(ShellWordsAgainstBash, a_wrong_splitter_is_found_out) {
  COFFERDAM_NEEDS("bash", has_bash(), "the comparison with bash can fail");
  std::vector<std::string> lines = random_lines(4, 12'000);
  add_every_text(lines, "x ", "a 1{},.~=#:*?[]$!", 3);
  add_every_text(lines, "", "a =#!%", 3);
  for (const char c : std::string_view("~*?[{#$=%;\n!")) {
    const comparison result = compare_with_bash(lines, blind_to(c));
    report(std::string("blind to ") + (c == '\n' ? "line break" : std::string(1, c)), result);
    EXPECT_GT(result.replayed, 20u) << c;
    EXPECT_GT(result.differences, 0u) << c;
  }
  const comparison result = compare_with_bash(random_lines(5, 3'000), naive);
  report("naive", result);
  EXPECT_GT(result.differences, result.replayed / 10);
}

}  // namespace
