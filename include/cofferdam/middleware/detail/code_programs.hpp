// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// Returns true for an environment variable that can make a program load, run or trust other code. In the list, a `*` at
// the end of a name stands for any characters.
inline bool is_code_variable(std::string_view name) noexcept {
  static constexpr std::string_view harmless[] = {"PYTHONUNBUFFERED",   "PYTHONHASHSEED",          "PYTHONIOENCODING",
                                                  "PYTHONUTF8",         "PYTHONDONTWRITEBYTECODE", "PYTHONOPTIMIZE",
                                                  "PYTHONFAULTHANDLER", "PYTHONSAFEPATH",          "PYTHONNOUSERSITE"};
  static constexpr std::string_view names[] = {
      // the dynamic loader and the C library
      "LD_*", "DYLD_*", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_*", "HOSTALIASES", "RES_OPTIONS",
      "LOCALDOMAIN", "RESOLV_*", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSLKEYLOGFILE",
      // shells
      "BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "SHELLOPTS", "BASHOPTS",
      "BASH_FUNC_*", "BASH_LOADABLES_PATH", "BASH_XTRACEFD", "CDPATH", "FPATH", "GLOBIGNORE", "HISTFILE", "IFS",
      "INPUTRC", "MAILPATH", "PATH", "SHELL",
      // directories of settings files
      "HOME", "XDG_*", "TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH",
      // interpreters
      "PYTHON*", "NODE_*", "NPM_*", "npm_*", "DENO_*", "BUN_*", "PERL*", "RUBY*", "GEM_*", "BUNDLE_*", "LUA_*", "PHP*",
      "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "CLASSPATH", "MAVEN_*", "GRADLE_*", "R_*",
      "DOTNET_*", "COMPlus_*", "CORECLR_*", "JULIA_*", "GUILE_*", "TCLLIBPATH", "AWKPATH", "AWKLIBPATH", "ERL_*",
      "ELIXIR_*", "OCAMLRUNPARAM", "CAML_LD_LIBRARY_PATH", "PIP_*", "UV_*", "CONDA_*", "VIRTUAL_ENV", "DBX_*",
      // compilers and build tools
      "CC", "CXX", "CPP", "LD", "AR", "AS", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "COMPILER_PATH", "GCC_*",
      "CMAKE_*", "MAKE", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "MFLAGS", "CARGO_*", "RUSTC*", "RUSTDOC*",
      "RUSTFLAGS", "RUSTUP_*", "GOFLAGS", "GOROOT", "GOPATH", "GOENV", "GOPROXY", "GOTOOLCHAIN", "GOTOOLDIR", "CGO_*",
      // programs that start other programs
      "GIT_*", "SSH_ASKPASS", "SSH_AUTH_SOCK", "SUDO_*", "PAGER", "MANPAGER", "MANOPT", "MANPATH", "LESS", "LESSOPEN",
      "LESSCLOSE", "LESSKEY*", "LESSEDIT", "MORE", "EDITOR", "VISUAL", "FCEDIT", "SELECTED_EDITOR", "VIM*", "EXINIT",
      "BROWSER", "TAR_OPTIONS", "TAPE", "RSYNC_*", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "FZF_*", "GZIP", "ZIPOPT",
      "UNZIP", "CURL_HOME", "WGETRC", "SYSTEMD_*", "DOCKER_*", "KUBECONFIG", "GDK_*", "GTK_*", "QT_*", "GIO_*",
      "DBUS_*", "NETRC"};
  if (std::find(std::begin(harmless), std::end(harmless), name) != std::end(harmless)) return false;
  return std::any_of(std::begin(names), std::end(names), [name](std::string_view each) {
    return each.ends_with('*') ? name.starts_with(each.substr(0, each.size() - 1)) : name == each;
  });
}

// A program that can run other code that its arguments name. If `tails` is empty, every use of the program can run
// code, except printing its version. Otherwise only a command that contains one of the `tails` after the program's name
// can, such as " -exec id" for find.
class code_program {
 public:
  constexpr code_program(std::string_view name, std::span<const std::string_view> names,
                         std::span<const std::string_view> tails = {}) noexcept
      : name_(name), names_(names), tails_(tails) {}

  constexpr std::string_view name() const noexcept { return name_; }
  constexpr std::span<const std::string_view> names() const noexcept { return names_; }
  constexpr std::span<const std::string_view> tails() const noexcept { return tails_; }

 private:
  std::string_view name_;
  std::span<const std::string_view> names_;
  std::span<const std::string_view> tails_;
};

/// Returns the known programs that can run other code.
inline std::vector<code_program> code_programs() {
  static constexpr std::string_view plain[] = {"perl",
                                               "ruby",
                                               "php",
                                               "lua",
                                               "julia",
                                               "Rscript",
                                               "ghci",
                                               "erl",
                                               "guile",
                                               "tclsh",
                                               "expect",
                                               "deno",
                                               "bun",
                                               "npm",
                                               "npx",
                                               "yarn",
                                               "pnpm",
                                               "tsx",
                                               "ts-node",
                                               "java",
                                               "jshell",
                                               "kotlin",
                                               "scala",
                                               "dotnet",
                                               "pwsh",
                                               "sh",
                                               "dash",
                                               "ksh",
                                               "zsh",
                                               "fish",
                                               "csh",
                                               "tcsh",
                                               "busybox",
                                               "toybox",
                                               "make",
                                               "cmake",
                                               "ctest",
                                               "ninja",
                                               "meson",
                                               "bazel",
                                               "cargo",
                                               "rustc",
                                               "go",
                                               "cc",
                                               "c++",
                                               "tcc",
                                               "ld",
                                               "as",
                                               "mvn",
                                               "gradle",
                                               "ant",
                                               "env",
                                               "xargs",
                                               "sudo",
                                               "su",
                                               "doas",
                                               "pkexec",
                                               "runuser",
                                               "chroot",
                                               "unshare",
                                               "nsenter",
                                               "setpriv",
                                               "ssh",
                                               "scp",
                                               "sftp",
                                               "rsync",
                                               "timeout",
                                               "nice",
                                               "ionice",
                                               "chrt",
                                               "taskset",
                                               "nohup",
                                               "setsid",
                                               "stdbuf",
                                               "time",
                                               "watch",
                                               "parallel",
                                               "flock",
                                               "script",
                                               "strace",
                                               "ltrace",
                                               "gdb",
                                               "lldb",
                                               "valgrind",
                                               "perf",
                                               "screen",
                                               "tmux",
                                               "git",
                                               "hg",
                                               "svn",
                                               "pip",
                                               "pip3",
                                               "pipx",
                                               "uv",
                                               "uvx",
                                               "poetry",
                                               "conda",
                                               "apt",
                                               "apt-get",
                                               "dpkg",
                                               "docker",
                                               "podman",
                                               "kubectl",
                                               "systemctl",
                                               "crontab",
                                               "at",
                                               "batch",
                                               "ed",
                                               "ex",
                                               "vi",
                                               "vim",
                                               "nvim",
                                               "nano",
                                               "emacs",
                                               "less",
                                               "more",
                                               "man",
                                               "m4",
                                               "pytest",
                                               "tox",
                                               "jupyter",
                                               "ipython",
                                               "sqlite3",
                                               "psql",
                                               "mysql",
                                               "socat",
                                               "nc",
                                               "ncat",
                                               "openssl",
                                               "exec",
                                               "command",
                                               "source",
                                               "run-parts",
                                               "start-stop-daemon",
                                               "ld-linux-x86-64.so.2",
                                               "bwrap",
                                               "firejail",
                                               "qemu-x86_64"};
  static constexpr std::string_view python[] = {"python3",    "python",     "python2",    "pypy",       "pypy3",
                                                "python3.8",  "python3.9",  "python3.10", "python3.11", "python3.12",
                                                "python3.13", "python3.14", "python3.15"};
  static constexpr std::string_view node[] = {"node", "nodejs"};
  static constexpr std::string_view bash[] = {"bash", "rbash"};
  static constexpr std::string_view gcc[] = {"gcc", "g++", "gcc-12", "g++-12", "gcc-14", "g++-14"};
  static constexpr std::string_view clang[] = {"clang", "clang++", "clang-16", "clang++-16"};
  static constexpr std::string_view awk[] = {"awk", "gawk", "mawk", "nawk"};
  static constexpr std::string_view find[] = {"find"};
  static constexpr std::string_view find_tails[] = {" -exec id", " -execdir id", " -ok id", " -okdir id"};
  static constexpr std::string_view fd[] = {"fd", "fdfind"};
  static constexpr std::string_view fd_tails[] = {" -x id", " -X id", " --exec id", " --exec-batch id"};
  static constexpr std::string_view sed[] = {"sed"};
  static constexpr std::string_view sed_tails[] = {" 'e id'", " -e 'e id'", " 's/x/id/e'", " -f x"};
  static constexpr std::string_view tar[] = {"tar", "bsdtar"};
  static constexpr std::string_view tar_tails[] = {" --to-command=id", " --checkpoint-action=exec=id",
                                                   " -I id",           " --use-compress-program=id",
                                                   " -F id",           " --rsh-command=id"};
  static constexpr std::string_view sort[] = {"sort"};
  static constexpr std::string_view sort_tails[] = {" --compress-program=id", " --compress-program id"};
  static constexpr std::string_view rg[] = {"rg"};
  static constexpr std::string_view rg_tails[] = {" --pre id", " --pre=id", " --hostname-bin id", " --hostname-bin=id"};
  static constexpr std::string_view zip[] = {"zip"};
  static constexpr std::string_view zip_tails[] = {" -TT id", " --unzip-command id"};
  static constexpr std::string_view split[] = {"split"};
  static constexpr std::string_view split_tails[] = {" --filter=id", " --filter id"};
  std::vector<code_program> programs = {{"python3", python},
                                        {"node", node},
                                        {"bash", bash},
                                        {"gcc", gcc},
                                        {"clang", clang},
                                        {"awk", awk},
                                        {"find", find, find_tails},
                                        {"fd", fd, fd_tails},
                                        {"sed", sed, sed_tails},
                                        {"tar", tar, tar_tails},
                                        {"sort", sort, sort_tails},
                                        {"rg", rg, rg_tails},
                                        {"zip", zip, zip_tails},
                                        {"split", split, split_tails}};
  for (const std::string_view& name : plain) programs.emplace_back(name, std::span<const std::string_view>(&name, 1));
  return programs;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
