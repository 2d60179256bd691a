// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks AL (command allowlist) and EN (environment variables) of the project's catalogue of attacks. Each attack
// tries to create a canary file outside the workspace, and the test checks if the file exists. Each attack first runs
// without protection (the control), where it must create the canary. The attacks EN also run in the jail, where the
// canary is a file of the workspace, because nothing else can be written.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/core/shell_words.hpp>
#include <cofferdam/middleware/allow_commands.hpp>

#include "support/attack_place.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/run_shell.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace al_en_tests {

namespace {

using namespace cofferdam;
using cofferdam::detail::is_valid_utf8;
using cofferdam::detail::quote_shell_word;
using cofferdam::detail::split_shell_words;
using namespace std::chrono_literals;
using namespace std::string_literals;
using cofferdam_test::run;
using cofferdam_test::run_shell;
using words = std::vector<std::string>;
namespace fs = std::filesystem;

// A workspace in a new folder. Beside the workspace lies the path of the canary, a file that only a successful attack
// creates.
class playground {
 public:
  explicit playground(const std::string& place = "local") : is_jail_(place == "jail") {
    std::string name = (fs::temp_directory_path() / "cofferdam-al-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = name;
    fs::create_directory(workspace());
    if (is_jail_) ::chmod(folder_.c_str(), 0755);
    plant("f", "one\ntwo\n");
  }
  playground(const playground&) = delete;
  playground& operator=(const playground&) = delete;
  ~playground() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  fs::path workspace() const { return folder_ / "workspace"; }
  fs::path canary() const { return (is_jail_ ? workspace() : folder_) / "canary"; }
  bool has_canary() const { return fs::exists(canary()); }
  void remove_canary() const { fs::remove(canary()); }

  void plant(const std::string& path, const std::string& content) const {
    fs::create_directories((workspace() / path).parent_path());
    std::ofstream(workspace() / path, std::ios::binary) << content;
  }
  // Writes a shell script that creates the canary file.
  void plant_program(const std::string& path) const {
    plant(path, "#!/bin/sh\n: >" + canary().string() + "\n");
    fs::permissions(workspace() / path, fs::perms::owner_all);
  }

  // Replaces `@C` with the path of the canary, and `@W` with the path of the workspace.
  std::string fill(std::string text) const {
    const auto replace = [&text](std::string_view what, const std::string& with) {
      for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    };
    replace("@C", canary().string());
    replace("@W", workspace().string());
    return text;
  }

  any_provider provider() const {
    if (!is_jail_) return any_provider(local().without_warning().paths(path_policy::ignore).workspace(workspace()));
    if (::geteuid() == 0) {
      // A jail of root has the user of its workspace.
      for (const fs::path& each : {workspace(), workspace() / "lib", workspace() / "f"})
        if (fs::exists(each) && ::lchown(each.c_str(), 61234, 61234) != 0)
          throw std::system_error(errno, std::generic_category(), "lchown");
    }
    return any_provider(jail().workspace(workspace()).workspace_path(workspace().string()));
  }

  // Runs the command in a local environment without the allowlist.
  command_result run_bare(command c) const {
    return run([&]() -> awaitable<command_result> {
      auto environment = co_await provider().open();
      auto result = co_await environment.run_command(std::move(c));
      co_await environment.close();
      co_return result;
    });
  }
  command_result run_under(const allow_commands& policy, command c) const {
    return run([&]() -> awaitable<command_result> {
      auto environment = co_await (provider() | policy).open();
      auto result = co_await environment.run_command(std::move(c));
      co_await environment.close();
      co_return result;
    });
  }

  // Runs the control: returns true if the command creates the canary when no allowlist protects the host. Waits up to
  // one second, because some attacks act a moment after their command has ended.
  bool attack_works(const command& c) const {
    remove_canary();
    run_bare(c.timeout().has_value() ? c : command(c).timeout(10s));
    for (int i = 0; i < 100 && !has_canary(); ++i) std::this_thread::sleep_for(10ms);
    const bool worked = has_canary();
    remove_canary();
    return worked;
  }
  bool is_refused(const allow_commands& policy, const command& c) const {
    remove_canary();
    const command_result result = run_under(policy, c);
    return result.kind() == error_kind::command_not_allowed && !has_canary();
  }

  // Expects that the line creates the canary without the allowlist, as the control, and is refused with it.
  void expect_stopped(const allow_commands& policy, const std::string& line) const {
    const command c = shell(fill(line));
    EXPECT_TRUE(attack_works(c)) << "the control leaves no canary: " << line;
    EXPECT_TRUE(is_refused(policy, c)) << line;
  }

 private:
  fs::path folder_;
  bool is_jail_;
};

// The policy of the catalogue's AL attacks. The options of `find` are limited to the listed ones.
allow_commands catalogue_policy() {
  return allow_commands("echo( .*)?", "ls( .*)?", "cat( .*)?", "grep .*", "git status",
                        "find( [a-z.]+| -name [^ ]+| -type [fd]| -maxdepth [0-9])*");
}

bool is_installed(const std::string& program) {
  for (const char* folder : {"/usr/bin/", "/bin/", "/usr/local/bin/"})
    if (::access((folder + program).c_str(), X_OK) == 0) return true;
  return false;
}

bool has_bash() { return ::access("/bin/bash", X_OK) == 0; }

TEST(Attack, AL_01_a_second_command_is_refused) {
  const playground here;
  for (const char* line : {"echo a; touch @C", "echo a && touch @C", "cat none || touch @C", "echo a & touch @C",
                           "echo a | touch @C", "echo a |& touch @C", "echo a;touch @C", "(touch @C)", "! touch @C"})
    here.expect_stopped(catalogue_policy(), line);
}

TEST(Attack, AL_02_line_breaks_and_their_look_alikes_are_refused) {
  const playground here;
  here.expect_stopped(catalogue_policy(), "echo a\ntouch @C");
  here.expect_stopped(catalogue_policy(), "echo a\r\ntouch @C");
  for (const char* separator :
       {"\r", "\v", "\f", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xc2\xa0", "\xe3\x80\x80"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(here.fill("echo a"s + separator + "touch @C"))));
}

TEST(Attack, AL_03_command_substitution_is_refused_in_and_out_of_quotes) {
  const playground here;
  for (const char* line : {"echo $(touch @C)", "echo `touch @C`", "echo \"$(touch @C)\"", "echo \"`touch @C`\"",
                           "echo $(echo $(touch @C))", "echo \"$(echo \"$(touch @C)\")\"", "echo \\\\$(touch @C)",
                           "echo \"\\\\$(touch @C)\"", "echo 'a'$(touch @C)'b'", "echo \"a$\"$(touch @C)",
                           "echo \\\n$(touch @C)", "echo $\\\n(touch @C)"})
    here.expect_stopped(catalogue_policy(), line);
}

TEST(Attack, AL_04_redirections_are_refused) {
  COFFERDAM_NEEDS("bash", has_bash(), "process substitution is refused where a shell has it");
  const playground here;
  for (const char* line :
       {"cat <(touch @C)", "echo a > >(touch @C)", "echo a > @C", "echo a >@C", "echo a >> @C", "echo a >| @C",
        "echo a &> @C", "echo a >& @C", "cat <> @C", "cat none 2>@C", "> @C", "cat <<E > @C\nx\nE", "cat <<<x >@C"})
    here.expect_stopped(catalogue_policy(), line);
  for (const char* line : {"cat <<E\nx\nE", "cat <<<x", "cat < f", "cat 0<f"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(line))) << line;
}

TEST(Attack, AL_05_expansions_are_refused) {
  COFFERDAM_NEEDS("bash", has_bash(), "bash's own expansions are refused");
  const playground here;
  for (const char* line : {"echo a$IFS$(touch${IFS}@C)", "echo ${x:=\\$(touch @C)} ${x@P}", "echo $((a[$(touch @C)]))",
                           "echo ${x:-$(touch @C)}", "echo \"${x:-`touch @C`}\"", "$'touch' @C", "$'\\x74ouch' @C",
                           "$\"touch\" @C", "echo $[a[$(touch @C)]]"})
    here.expect_stopped(catalogue_policy(), line);
  for (const char* line : {"echo $HOME", "echo \"$HOME\"", "echo ${HOME}", "echo ${!HOME@}", "echo $'\\x3b'",
                           "echo $\"a\"", "echo $$", "echo $((1+1))", "echo \"a$?\""}) {
    const std::string literal(std::string_view(line).substr(5));
    EXPECT_NE(here.run_bare(shell(line)).out().text(), literal + "\n") << "the control: a shell changes " << line;
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(line))) << line;
  }
}

TEST(Attack, AL_06_braces_globs_and_tildes_are_refused) {
  COFFERDAM_NEEDS("bash", has_bash(), "brace expansion is refused");
  const playground here;
  for (const char* line : {"{touch,@C}", "/bin/t?uch @C", "/bin/[t]ouch @C", "/bin/touc* @C", "echo a{b,$(touch @C)}"})
    here.expect_stopped(catalogue_policy(), line);
  for (const char* line :
       {"echo ~root", "echo a=~", "echo {a,b}", "echo {1..3}", "echo f*", "echo [f]", "echo a{},b}"}) {
    const std::string literal(std::string_view(line).substr(5));
    EXPECT_NE(here.run_bare(shell(line)).out().text(), literal + "\n") << "the control: a shell changes " << line;
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(line))) << line;
  }
  EXPECT_TRUE(here.is_refused(catalogue_policy(), shell("!!")));
  EXPECT_EQ(here.run_under(catalogue_policy(), shell("echo a! {} b~ {c} '*'")).out().text(), "a! {} b~ {c} *\n");
}

TEST(Attack, AL_07_assignments_are_refused) {
  const playground here;
  here.plant_program("evil/ls");
  for (const char* line : {"PATH=@W/evil ls", "FOO=1 PATH=@W/evil:/bin ls", "PATH+=:x PATH=@W/evil ls"})
    here.expect_stopped(catalogue_policy(), line);
  for (const char* line : {"FOO=1 ls", "LD_PRELOAD=x ls", "a[0]=1 ls", "FOO= ls", "export PATH=@W/evil", "declare A=1"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(here.fill(line)))) << line;
}

TEST(Attack, AL_08_quoting_a_name_changes_no_decision) {
  const playground here;
  for (const char* line :
       {"\\touch @C", "\"touch\" @C", "t''ouch @C", "'touch' @C", "to\\\nuch @C", "\\t\\o\\u\\c\\h @C"})
    here.expect_stopped(catalogue_policy(), line);
  for (const char* line : {"ls", "\\ls", "\"ls\"", "l''s", " 'l's"})
    EXPECT_EQ(here.run_under(catalogue_policy(), shell(line)).out().text(), "f\n") << line;
  EXPECT_TRUE(here.is_refused(catalogue_policy(), shell("$'ls'")));
}

TEST(Attack, AL_09_a_planted_program_of_an_allowed_name_never_runs) {
  const playground here;
  here.plant_program("ls");
  for (const char* path : {".:/usr/bin:/bin", ":/usr/bin:/bin", "/nonexistent::/bin"}) {
    const command c = shell("ls").variable("PATH", path);
    EXPECT_TRUE(here.attack_works(c)) << path;
    EXPECT_TRUE(here.is_refused(catalogue_policy(), c)) << path;
  }
  for (const char* line : {"./ls", "@W/ls", "../workspace/ls"}) here.expect_stopped(catalogue_policy(), line);
  here.remove_canary();
  // Runs the `ls` of the system, although a program of the same name lies in the workspace.
  EXPECT_TRUE(here.run_under(catalogue_policy(), shell("ls")).ok());
  EXPECT_FALSE(here.has_canary());
}

TEST(Attack, AL_10_other_names_of_a_shell_are_refused) {
  const playground here;
  here.expect_stopped(catalogue_policy(), "/proc/self/root/bin/sh -c 'touch @C'");
  if (has_bash()) here.expect_stopped(catalogue_policy(), "exec 3</bin/bash; /dev/fd/3 -c 'touch @C'");
  if (has_bash()) here.expect_stopped(catalogue_policy(), "/proc/$$/exe -c 'touch @C'");
  if (::access("/lib64/ld-linux-x86-64.so.2", X_OK) == 0)
    here.expect_stopped(catalogue_policy(), "/lib64/ld-linux-x86-64.so.2 /bin/sh -c 'touch @C'");
  for (const char* line : {"/proc/self/exe", "/dev/fd/3", "ld-linux-x86-64.so.2 /bin/sh", "busybox sh", "/bin/ls"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(line))) << line;
}

TEST(Attack, AL_11_launchers_are_refused) {
  const playground here;
  const std::pair<const char*, const char*> rows[] = {
      {"env", "env touch @C"},           {"env", "env -S 'touch @C'"},
      {"nice", "nice touch @C"},         {"nohup", "nohup touch @C"},
      {"timeout", "timeout 5 touch @C"}, {"xargs", "xargs touch @C"},
      {"setsid", "setsid touch @C"},     {"stdbuf", "stdbuf -o0 touch @C"},
      {"sh", "sh -c 'touch @C'"},        {"script", "script -qc 'touch @C' /dev/null"}};
  for (const auto& [program, line] : rows) {
    if (is_installed(program)) here.expect_stopped(catalogue_policy(), line);
  }
  for (const char* line : {"command touch @C", "exec touch @C", "eval 'touch @C'"})
    here.expect_stopped(catalogue_policy(), line);
  if (has_bash())
    for (const char* line : {"time touch @C", "builtin eval 'touch @C'", "coproc touch @C"})
      here.expect_stopped(catalogue_policy(), line);
  for (const char* line : {"watch touch @C", "parallel touch ::: @C"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(here.fill(line)))) << line;
}

TEST(Attack, AL_12_find_runs_and_writes_nothing) {
  const playground here;
  for (const char* line : {"find . -maxdepth 0 -exec touch @C ';'", "find . -maxdepth 0 -exec touch @C \\;",
                           "find . -maxdepth 0 -exec touch @C {} +", "find . -maxdepth 0 -execdir touch @C ';'",
                           "find . -fprint @C", "find . -fprintf @C x", "find . -fls @C"})
    here.expect_stopped(catalogue_policy(), line);
  for (const char* line : {"find . -name f -ok touch @C ';'", "find . -okdir touch @C ';'", "find . -name f -delete"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(here.fill(line)))) << line;
  EXPECT_TRUE(fs::exists(here.workspace() / "f"));
  EXPECT_EQ(here.run_under(catalogue_policy(), shell("find . -maxdepth 1 -type f -name f")).out().text(), "./f\n");
  // Control: without the allowlist, `find -delete` deletes the file.
  EXPECT_TRUE(here.run_bare(shell("find . -name f -delete")).ok());
  EXPECT_FALSE(fs::exists(here.workspace() / "f"));
}

TEST(Attack, AL_13_git_takes_no_options_that_run_programs) {
  COFFERDAM_NEEDS("git", is_installed("git"), "git's options are refused");
  const playground here;
  here.plant_program("evil/git-x");
  for (const char* line :
       {"git -c alias.x='!touch @C' x", "git --exec-path=@W/evil x", "A='!touch @C' git --config-env=alias.x=A x"})
    here.expect_stopped(catalogue_policy(), line);
  for (const char* line : {"git -c core.pager=x status", "git -C /elsewhere status", "git diff --ext-diff",
                           "git grep -Ox a", "git fetch --upload-pa=x .", "git status -v", "git -p status"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(line))) << line;
}

TEST(Attack, AL_15_scripts_of_sed_and_awk_are_the_listed_ones) {
  const playground here;
  const allow_commands policy("sed -n [0-9]+p [a-z]+", "awk '\\{print \\$[0-9]+\\}' [a-z]+", "rg [a-z]+");
  for (const char* line :
       {"sed -n '1e touch @C' f", "sed -n 'w @C' f", "sed -n 1p f -e 'w @C'", "awk 'BEGIN{system(\"touch @C\")}'",
        "awk '{print > \"@C\"}' f", "awk 'BEGIN{\"touch @C\" | getline}'"})
    here.expect_stopped(policy, line);
  for (const char* line : {"sed -i d f", "sed -n 1p -i f", "rg --pre x a", "rg --hostname-bin x a", "rg -z a"})
    EXPECT_TRUE(here.is_refused(policy, shell(line))) << line;
  EXPECT_EQ(here.run_under(policy, shell("sed -n 2p f")).out().text(), "two\n");
  EXPECT_EQ(here.run_under(policy, shell("awk '{print $1}' f")).out().text(), "one\ntwo\n");
}

TEST(Attack, AL_16_archivers_and_pagers_start_nothing) {
  const playground here;
  const allow_commands policy("tar -cf [a-z]+ [a-z]+", "sort [a-z]+", "ls");
  for (const char* line :
       {"tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch @C' f", "tar -cf x -I 'touch @C;cat' f",
        "tar -cf x --use-compress-program='touch @C;cat' f", "sort -o @C f", "sort f -o @C"})
    here.expect_stopped(policy, line);
  for (const char* line : {"tar -xf x --to-command=id", "sort --compress-program=id f", "man --html=id ls",
                           "less '+!id' f", "vim -c '!id'"})
    EXPECT_TRUE(here.is_refused(policy, shell(line))) << line;
  EXPECT_EQ(here.run_under(policy, shell("sort f")).out().text(), "one\ntwo\n");
}

TEST(Attack, AL_17_abbreviated_and_joined_options_are_not_the_listed_ones) {
  const playground here;
  const allow_commands policy("sort( -[nru])*( [a-z]+)?", "grep( -[ivn])* [a-z]+ [a-z]+");
  for (const char* line :
       {"sort --outp=@C f", "sort --output=@C f", "sort -no@C f", "sort -n -o@C f", "sort -no @C f", "sort f -o@C"})
    here.expect_stopped(policy, line);
  for (const char* line :
       {"sort -- -o", "sort -n=x f", "sort -nu f", "grep -f/etc/passwd f", "grep -ve x f", "grep -- -f f"})
    EXPECT_TRUE(here.is_refused(policy, shell(line))) << line;
  EXPECT_EQ(here.run_under(policy, shell("sort -n -u f")).kind(), error_kind::none);
}

TEST(Attack, AL_18_a_pattern_is_the_whole_command) {
  const playground here;
  const command longer = shell(here.fill("sort f -o @C"));
  const allow_commands policy("sort f", "git status");
  here.remove_canary();
  // Control: a pattern that is anchored only at the start admits the longer command.
  here.run_under(allow_commands("sort f").prefix_match(), longer);
  EXPECT_TRUE(here.has_canary());
  EXPECT_TRUE(here.is_refused(policy, longer));
  for (const char* line :
       {"git status-evil", "xgit status", "git status\nid", "git 'status\nid'", "git status '\nid'", "git statusx"})
    EXPECT_TRUE(here.is_refused(policy, shell(line))) << line;
}

std::size_t memory_figure(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::strtoull(line.c_str() + std::string_view(name).size() + 1, nullptr, 10);
  return 0;
}

TEST(Attack, AL_19_long_and_deep_commands_are_refused_fast_and_in_little_memory) {
  const playground here;
  std::string many;
  for (int i = 0; i < 51; ++i) many += "echo a; ";
  here.expect_stopped(catalogue_policy(), many + "touch @C");

  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "\"$(echo ";
  std::string quotes = "echo ";
  for (int i = 0; i < 10'000; ++i) quotes += "'\"";
  const std::string rows[] = {"echo " + std::string(1 << 20, 'a'),
                              std::string(1 << 20, '\''),
                              std::string(1 << 20, '\n'),
                              deep,
                              quotes + "\xff",
                              std::string(60'000, '(')};
  const allow_commands policy = catalogue_policy();
  for (const std::string& line : rows) {
    command c = shell(line);
    std::ofstream clear("/proc/self/clear_refs");
    const bool counts_from_here = static_cast<bool>(clear << "5" << std::flush);
    const std::size_t before = memory_figure("VmRSS");
    const std::clock_t start = std::clock();
    const detail::command_policy direct({"echo .*"});
    const std::optional<command_result> refusal = direct.admit(c);
    const double elapsed = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const std::size_t peak = memory_figure("VmHWM");
    ASSERT_TRUE(refusal.has_value());
    EXPECT_LT(refusal->reason().size(), 320u);
    EXPECT_TRUE(here.is_refused(policy, c));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(elapsed, 50);
    if (counts_from_here) {
      EXPECT_LE(peak, before + 1024) << "KiB";
    }
#else
    static_cast<void>(elapsed + static_cast<double>(peak + before) + (counts_from_here ? 1 : 0));
#endif
  }
}

TEST(Attack, AL_20_text_that_looks_like_other_text_is_refused_and_shown_escaped) {
  const playground here;
  here.plant_program(
      "bin/\xd1\x81"
      // The name is a Cyrillic letter followed by "at".
      "at");
  here.plant_program("bin/echo\xef\xbc\x9b");  // The name is "echo" and a full-width semicolon.
  here.plant_program("bin/l\xe2\x80\x8bs");    // The name contains a zero-width space.
  const allow_commands policy = catalogue_policy().allow_variables("PATH");
  const std::string path = (here.workspace() / "bin").string() + ":/usr/bin:/bin";
  for (const char* line : {"\xd1\x81"
                           "at f",
                           "echo\xef\xbc\x9b id", "l\xe2\x80\x8bs"}) {
    const command c = shell(line).variable("PATH", path);
    EXPECT_TRUE(here.attack_works(c)) << line;
    EXPECT_TRUE(here.is_refused(policy, c)) << line;
  }
  // These characters look like shell operators to a reader: U+037E, then the full-width forms of operators, from
  // the quotation mark to the vertical line. The policy allows all arguments of `echo`, and must still refuse them.
  // Control: other characters of the same length are admitted.
  EXPECT_EQ(here.run_under(catalogue_policy(), shell("echo a\xcd\xbf id")).out().text(), "a\xcd\xbf id\n");
  EXPECT_EQ(here.run_under(catalogue_policy(), shell("echo a\xef\xbc\x9a id")).out().text(), "a\xef\xbc\x9a id\n");
  for (const char* look_alike :
       {"\xcd\xbe", "\xef\xbc\x82", "\xef\xbc\x84", "\xef\xbc\x86", "\xef\xbc\x87", "\xef\xbc\x88", "\xef\xbc\x89",
        "\xef\xbc\x9b", "\xef\xbc\x9c", "\xef\xbc\x9e", "\xef\xbc\xbc", "\xef\xbd\x80", "\xef\xbd\x9c"}) {
    const command c = shell("echo a"s + look_alike + " id");
    EXPECT_TRUE(here.run_bare(c).ok()) << look_alike;
    EXPECT_TRUE(here.is_refused(catalogue_policy(), c)) << look_alike;
  }
  // These characters are invisible or change the direction of text. The list contains the first and the last of each
  // refused range. The policy allows all arguments of `echo`, and must still refuse them. Control: a no-break space
  // is admitted between quotes.
  EXPECT_EQ(here.run_under(catalogue_policy(), shell("echo 'a\xc2\xa0"
                                                     "b'"))
                .out()
                .text(),
            "a\xc2\xa0"
            "b\n");
  for (const char* unseen :
       {"\xc2\x80",         "\xc2\xa0",         "\xc2\xad",     "\xe1\x85\x9f", "\xe1\x85\xa0", "\xe1\x9a\x80",
        "\xe1\xa0\x8e",     "\xe2\x80\x80",     "\xe2\x80\x8b", "\xe2\x80\x8d", "\xe2\x80\xa8", "\xe2\x80\xa9",
        "\xe2\x80\xaf",     "\xe2\x81\x9f",     "\xe2\x81\xa4", "\xe2\x81\xaa", "\xe2\x81\xaf", "\xe2\xa0\x80",
        "\xe3\x80\x80",     "\xe3\x85\xa4",     "\xef\xbb\xbf", "\xef\xbe\xa0", "\xef\xbf\xb9", "\xef\xbf\xbb",
        "\xf3\xa0\x80\x80", "\xf3\xa0\x81\xbf", "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa",
        "\xe2\x80\xae",     "\xe2\x81\xa6",     "\xe2\x81\xa9"}) {
    const command c = shell("echo a"s + unseen + "id");
    EXPECT_TRUE(here.run_bare(c).ok()) << unseen;
    EXPECT_TRUE(here.is_refused(catalogue_policy(), c)) << unseen;
  }
  for (const std::string& line : {"echo a\0b"s, "echo \xff"s, "echo '\xc0\xaf'"s, "echo '\xed\xa0\x80'"s,
                                  "echo '\xe2\x80\xae"
                                  "abc'"s,
                                  "id \x1b]0;x\a"s}) {
    const command_result result = here.run_under(policy, shell(line));
    EXPECT_EQ(result.kind(), error_kind::command_not_allowed);
    EXPECT_TRUE(is_valid_utf8(result.reason()));
    for (const std::string_view raw : {"\xe2\x80\xae", "\x1b", "\xff", "\xc0"}) {
      EXPECT_EQ(result.reason().find(raw), std::string::npos);
    }
    EXPECT_NE(result.reason().find('\\'), std::string::npos) << result.reason();
  }
}

TEST(Attack, AL_21_unfinished_text_and_comments_are_refused) {
  const playground here;
  // Control: a shell drops the text after "#".
  EXPECT_EQ(here.run_bare(shell("echo a # b")).out().text(), "a\n");
  for (const char* line : {"echo a # b", "# ls", "echo 'a", "echo \"a", "echo a\\", "echo \"a\\\"", "echo 'a'\\''"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(line))) << line;
  EXPECT_EQ(here.run_under(catalogue_policy(), shell("echo a#b '# c'")).out().text(), "a#b # c\n");
}

TEST(Attack, AL_22_quoted_operators_run_as_the_shell_would_run_them) {
  const playground here;
  here.plant("f", "a|b\nit's\n");
  for (const char* line : {"echo \"a;b\"", "grep 'a|b' f", "echo \\;", "echo 'it'\"'\"'s $HOME'", "grep \"s$\" f",
                           "echo \"a\\$b\\`c\\\\d\"", "echo a \\\n  b", "echo \"\" '' x", "grep -c 'it'\\''s' f"}) {
    const command_result bare = here.run_bare(shell(line));
    const command_result layered = here.run_under(catalogue_policy(), shell(line));
    EXPECT_TRUE(layered.ok()) << line << ": " << layered.reason();
    EXPECT_FALSE(bare.out().text().empty()) << line;
    EXPECT_EQ(layered.out().text(), bare.out().text()) << line;
  }
}

TEST(Attack, AL_23_accepted_lines_start_one_program_with_bash_s_own_words) {
  COFFERDAM_NEEDS("bash", has_bash(), "accepted lines have bash's own words, end to end");
  const playground here;
  here.plant("x", "#!/bin/sh\n{ printf '%s\\0' \"$#\" \"$@\"; } >>record\n");
  fs::permissions(here.workspace() / "x", fs::perms::owner_all);
  const auto take_record = [&] {
    std::ifstream stream(here.workspace() / "record", std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    fs::remove(here.workspace() / "record");
    return content;
  };
  const allow_commands policy("(?s)\\./x( .*)?");
  std::mt19937 random(23);
  constexpr std::string_view alphabet = "abf  \\\\''\"\"$;*?~={},.#!\n:/-";
  std::size_t accepted = 0;
  std::size_t refused = 0;
  std::size_t naive_differences = 0;
  for (int i = 0; accepted < 120 && i < 5'000; ++i) {
    std::string line = "./x ";
    for (std::size_t n = random() % 9; n > 0; --n) line.push_back(alphabet[random() % alphabet.size()]);
    if (!split_shell_words(line).ok()) {
      ++refused;
      continue;
    }
    ++accepted;
    EXPECT_TRUE(here.run_under(policy, shell(line)).ok()) << line;
    const std::string ours = take_record();
    here.run_bare(shell(line));
    const std::string theirs = take_record();
    EXPECT_FALSE(theirs.empty()) << line;
    EXPECT_EQ(ours, theirs) << quote_shell_word(line);
    // Control: a splitter that only looks for spaces produces other words.
    words naive;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      if (end > at) naive.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    here.run_bare(argv(naive));
    if (take_record() != theirs) ++naive_differences;
  }
  EXPECT_EQ(accepted, 120u);
  EXPECT_GT(refused, 0u);
  EXPECT_GT(naive_differences, 20u);
}

TEST(Attack, AL_24_exported_functions_are_not_used) {
  COFFERDAM_NEEDS("bash", has_bash(), "exported functions are refused");
  const playground here;
  const command function = shell("echo hi").variable("BASH_FUNC_echo%%", here.fill("() { touch @C; }"));
  EXPECT_TRUE(here.attack_works(function));
  EXPECT_TRUE(here.is_refused(catalogue_policy(), function));
  here.plant("aliases", here.fill("shopt -s expand_aliases\nalias echo='touch @C'\n"));
  const command alias = shell("echo hi").variable("BASH_ENV", here.fill("@W/aliases"));
  EXPECT_TRUE(here.attack_works(alias));
  EXPECT_TRUE(here.is_refused(catalogue_policy(), alias));
  const allow_commands careless = catalogue_policy().allow_variables("BASH_ENV", "BASH_FUNC_echo%%");
  // Even a policy that allows these environment variables is safe, because the library starts `echo` without a shell.
  for (const command& c : {function, alias}) {
    EXPECT_EQ(here.run_under(careless, c).out().text(), "hi\n");
    EXPECT_FALSE(here.has_canary());
  }
}

TEST(Attack, AL_25_files_with_the_names_of_options_are_files) {
  const playground here;
  // The policy allows no command, so the file operations below cannot depend on commands.
  const auto provider = here.provider() | allow_commands();
  const words names = {"-rf", "--help", "$(id)", "-", "a b", "'", "*"};
  run([&]() -> awaitable<void> {
    auto environment = co_await provider.open();
    for (const std::string& name : names) {
      co_await environment.write_file(name, as_bytes("content"));
      auto content = co_await environment.read_file(name, 100);
      EXPECT_EQ(as_text(content), "content") << name;
    }
    auto entries = co_await cofferdam::list_directory(environment, std::string("."));
    EXPECT_EQ(entries.size(), names.size() + 1);
    co_await cofferdam::remove(environment, std::string("*"));
    co_await cofferdam::remove(environment, std::string("-rf"));
    co_await environment.close();
  });
  EXPECT_FALSE(fs::exists(here.workspace() / "-rf"));
  EXPECT_FALSE(fs::exists(here.workspace() / "*"));
  for (const char* name : {"--help", "$(id)", "a b", "f"}) EXPECT_TRUE(fs::exists(here.workspace() / name)) << name;
  // Control: `cat` takes the file name `--help` for an option.
  EXPECT_NE(here.run_bare(shell("cat --help")).out().text(), "content");
}

TEST(Attack, AL_26_a_policy_with_an_interpreter_is_warned_of_once) {
  for (const char* program : {"python3", "make", "node"}) {
    const auto warnings = allow_commands(std::string(program) + " .*", "ls", std::string(program) + "( -v .*)?").lint();
    ASSERT_EQ(warnings.size(), 1u) << program;
    EXPECT_NE(warnings[0].find("arbitrary code"), std::string::npos);
    EXPECT_NE(warnings[0].find(program), std::string::npos);
  }
  // Control: a policy without an interpreter produces no warning.
  EXPECT_TRUE(allow_commands("ls( .*)?", "git-lfs ls").lint().empty());
}

TEST(Attack, AL_27_another_directory_is_refused) {
  const playground here;
  for (const char* line : {"cd .. && touch canary", "cd ..; touch canary", "pushd .. && touch canary"}) {
    if (line[0] == 'p' && !has_bash()) continue;
    here.expect_stopped(catalogue_policy(), line);
  }
  for (const char* line : {"cd ..", "pushd ..", "cd"})
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell(line))) << line;
  for (const char* folder : {"..", "/", "../workspace/..", "/tmp"}) {
    try {
      const command_result result = here.run_under(catalogue_policy(), shell("ls").working_directory(folder));
      EXPECT_NE(result.kind(), error_kind::none) << folder;
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::outside_workspace) << folder << ": " << failure.what();
    }
  }
}

// ---- EN: the environment -------------------------------------------------------------------------------------------

class EnAttack : public cofferdam_test::attack_places {};
INSTANTIATE_TEST_SUITE_P(Places, EnAttack, cofferdam_test::in_places("local", "jail"), cofferdam_test::place_name);

// Sets an environment variable of this process. The destructor restores the old value.
class host_variable {
 public:
  host_variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  host_variable(const host_variable&) = delete;
  host_variable& operator=(const host_variable&) = delete;
  ~host_variable() {
    if (before_) {
      ::setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

TEST_P(EnAttack, EN_01_secrets_of_the_host_are_not_inherited) {
  const playground here(GetParam());
  constexpr const char* names[] = {
      "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "OH_SESSION_API_KEYS_0", "SSH_AUTH_SOCK", "KUBECONFIG",
      "DOCKER_HOST"};
  const host_variable a(names[0], "hush-0"), b(names[1], "hush-1"), c(names[2], "hush-2"), d(names[3], "hush-3"),
      e(names[4], "hush-4"), f(names[5], "hush-5"), g(names[6], "hush-6");
  // Control: a child process that inherits the environment prints the secret.
  EXPECT_NE(run_shell("env").output.find("hush-6"), std::string::npos);
  for (const char* line : {"env", "cat /proc/self/environ | tr '\\0' '\\n'", "cat /proc/$$/environ | tr '\\0' '\\n'"}) {
    const std::string output = here.run_bare(shell(line)).out().text();
    EXPECT_NE(output.find("PATH="), std::string::npos) << line << " printed " << output;
    EXPECT_EQ(output.find("hush-"), std::string::npos) << output;
    for (const char* name : names) EXPECT_EQ(output.find(name), std::string::npos) << name;
  }
}

// Expects that `catalogue_policy()` refuses a command that sets one of these environment variables, and that the same
// policy with `allow_variables` admits the command.
void expect_variables_refused(const playground& here, const words& names) {
  for (const std::string& name : names) {
    EXPECT_TRUE(here.is_refused(catalogue_policy(), shell("ls").variable(name, "x"))) << name;
    EXPECT_TRUE(here.is_refused(catalogue_policy(), argv("ls").variable(name, "x"))) << name;
    const allow_commands naming = catalogue_policy().allow_variables(name);
    EXPECT_NE(here.run_under(naming, argv("ls").variable(name, "")).kind(), error_kind::command_not_allowed) << name;
  }
}

TEST_P(EnAttack, EN_02_the_loader_s_variables_are_refused) {
  const playground here(GetParam());
  const command c = argv("ls").variable("LD_DEBUG", "files").variable("LD_DEBUG_OUTPUT", here.fill("@W/loader"));
  // Control: without the allowlist, the dynamic loader writes to the file that the environment variable names.
  here.run_bare(c);
  const auto written = [&] {
    return std::any_of(
        fs::directory_iterator(here.workspace()), fs::directory_iterator(),
        [](const fs::directory_entry& each) { return each.path().filename().string().starts_with("loader"); });
  };
  EXPECT_TRUE(written());
  here.run_bare(shell("rm loader*"));
  EXPECT_TRUE(here.is_refused(catalogue_policy(), c));
  EXPECT_FALSE(written());
  expect_variables_refused(here, {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GLIBC_TUNABLES", "GCONV_PATH"});
}

TEST_P(EnAttack, EN_03_the_shell_s_variables_are_refused) {
  COFFERDAM_NEEDS("bash", has_bash(), "a planted start-up script of bash does not run");
  const playground here(GetParam());
  here.plant("startup", here.fill("touch @C\n"));
  const command c = shell("echo a").variable("BASH_ENV", here.fill("@W/startup"));
  EXPECT_TRUE(here.attack_works(c));
  EXPECT_TRUE(here.is_refused(catalogue_policy(), c));
  expect_variables_refused(
      here, {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_x%%", "IFS"});
}

TEST_P(EnAttack, EN_04_python_s_variables_are_refused) {
  COFFERDAM_NEEDS("python3", is_installed("python3"), "a planted module of Python's does not run");
  const playground here(GetParam());
  here.plant("lib/sitecustomize.py", here.fill("open('@C', 'w')\n"));
  const command c = argv("python3", "-c", "1").variable("PYTHONPATH", here.fill("@W/lib"));
  EXPECT_TRUE(here.attack_works(c));
  const allow_commands policy("python3 -c 1");
  EXPECT_TRUE(here.is_refused(policy, c));
  EXPECT_TRUE(here.run_under(policy, argv("python3", "-c", "1")).ok());
  EXPECT_FALSE(here.has_canary());
  expect_variables_refused(
      here, {"PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "BROWSER"});
}

TEST_P(EnAttack, EN_05_other_interpreters_variables_are_refused) {
  COFFERDAM_NEEDS("perl", is_installed("perl"), "a planted module of Perl's does not run");
  const playground here(GetParam());
  here.plant("lib/Evil.pm", here.fill("package Evil; open(my $f, '>', '@C'); 1;\n"));
  const command c = argv("perl", "-e", "1").variable("PERL5LIB", here.fill("@W/lib")).variable("PERL5OPT", "-MEvil");
  EXPECT_TRUE(here.attack_works(c));
  EXPECT_TRUE(here.is_refused(allow_commands("perl -e 1"), c));
  expect_variables_refused(
      here, {"NODE_OPTIONS", "PERL5OPT", "PERL5LIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "DOTNET_STARTUP_HOOKS"});
}

TEST_P(EnAttack, EN_06_git_s_and_pagers_variables_are_refused) {
  COFFERDAM_NEEDS("git", is_installed("git"), "git's variables are refused");
  const playground here(GetParam());
  const command c = argv("git", "x")
                        .variable("GIT_CONFIG_COUNT", "1")
                        .variable("GIT_CONFIG_KEY_0", "alias.x")
                        .variable("GIT_CONFIG_VALUE_0", here.fill("!touch @C"));
  EXPECT_TRUE(here.attack_works(c));
  EXPECT_TRUE(here.is_refused(allow_commands("git x"), c));
  expect_variables_refused(
      here, {"GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT", "GIT_PAGER", "PAGER", "EDITOR", "LESSOPEN"});
}

TEST_P(EnAttack, EN_07_impossible_variables_are_typed_errors) {
  const auto code_of = [](const std::string& name, const std::string& value) {
    try {
      command c = argv("true");
      c.variable(name, value);
      return std::error_code();
    } catch (const error& failure) {
      return failure.code();
    }
  };
  // Control: a valid environment variable is accepted.
  EXPECT_EQ(code_of("A", "b"), std::error_code());
  for (const std::string& name : {""s, "A=B"s, "A\0B"s, "A\nB"s})
    EXPECT_EQ(code_of(name, "x"), exec_errc::invalid_argument);
  EXPECT_EQ(code_of("A", "x\0y"s), exec_errc::invalid_argument);
  EXPECT_EQ(code_of("A", std::string(128 * 1024, 'x')), exec_errc::too_large);

  const playground here(GetParam());
  const auto with_variables = [](std::size_t count) {
    command c = argv("env");
    for (std::size_t i = 0; i < count; ++i) c.variable("V" + std::to_string(i), std::string(100'000, 'x'));
    return c;
  };
  EXPECT_TRUE(here.run_bare(with_variables(5)).ok());
  const command_result too_much = here.run_bare(with_variables(80));
  EXPECT_NE(too_much.kind(), error_kind::none);
  EXPECT_EQ(too_much.exit_code(), -1);
  EXPECT_FALSE(too_much.reason().empty());
}

TEST_P(EnAttack, EN_08_proxy_variables_of_the_host_are_not_inherited) {
  const playground here(GetParam());
  const host_variable a("http_proxy", "http://proxy.invalid:1"), b("HTTPS_PROXY", "http://proxy.invalid:2"),
      c("ALL_PROXY", "socks5://proxy.invalid:3"), d("NO_PROXY", "hush.invalid");
  // Control: a child process that inherits the environment prints the proxy.
  EXPECT_NE(run_shell("env").output.find("proxy.invalid"), std::string::npos);
  const std::string output = here.run_bare(shell("env")).out().text();
  for (const char* name : {"proxy.invalid", "hush.invalid", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
    EXPECT_EQ(output.find(name), std::string::npos) << name;
}

TEST_P(EnAttack, EN_09_home_and_temporary_folders_are_the_guest_s_own) {
  const playground here(GetParam());
  const playground host;
  host.plant(".netrc", "machine hush.invalid password hush\n");
  host.plant(".bashrc", "echo hush\n");
  host.plant(".gitconfig", "[user]\n\tname = hush\n");
  const host_variable home("HOME", host.workspace().string()), temporary("TMPDIR", host.workspace().string()),
      config("XDG_CONFIG_HOME", host.workspace().string());
  // Control: a child process that inherits HOME reads the secret.
  EXPECT_NE(run_shell("cat ~/.netrc").output.find("hush"), std::string::npos);
  const command_result result =
      here.run_bare(shell("cat ~/.netrc ~/.bashrc; git config --get user.name; echo $HOME; echo $TMPDIR; env"));
  const std::string output = result.out().text();
  EXPECT_EQ(output.find("hush"), std::string::npos) << output;
  EXPECT_EQ(output.find(host.workspace().string() + "\n"), std::string::npos) << output;
  EXPECT_EQ(output.find("XDG_"), std::string::npos);
  EXPECT_NE(output.find("HOME=" + here.workspace().string() + "\n"), std::string::npos) << output;
}

}  // namespace

}  // namespace al_en_tests
