// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Rows FS-18 and FS-19 of the catalogue of attacks, as far as programs outside the jail take part: they replace files
// that the jail hides or protects, or folders that it mounts. Each attack has a control in which it works.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/with.hpp>

#include "support/census.hpp"
#include "support/forked_host.hpp"
#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"
#include "support/variable.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace jail_cover_attacks {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::eventually;
using cofferdam_test::result_of;
using cofferdam_test::run;

constexpr const char* canary = "canary-5d20";

class JailCovers : public cofferdam_test::jail_fixture {
 protected:
  /// Makes a workspace with the protected file `.envrc`, the hidden file `secret`, and `other` files to rename.
  std::filesystem::path project(const std::string& name) const {
    const std::filesystem::path folder = base_.make_shared_folder(name);
    for (const char* file : {".envrc", "secret", "other"})
      ::chmod(base_.write(name + "/" + file, file == std::string("other") ? canary : "original").c_str(), 0666);
    return folder;
  }
  jail covered(const std::filesystem::path& folder) const {
    return recipe().workspace(folder).protect(".envrc").hide(folder / "secret");
  }

  /// A change that a program outside makes to a file that a jail covers.
  class change {
   public:
    const char* name;
    std::function<void(const std::filesystem::path& folder, const std::string& file)> make;
  };
  static std::vector<change> changes() {
    return {
        {"rename over", [](auto& folder, auto& file) { std::filesystem::rename(folder / "other", folder / file); }},
        {"remove and make again",
         [](auto& folder, auto& file) {
           std::filesystem::remove(folder / file);
           std::filesystem::copy_file(folder / "other", folder / file);
         }},
        {"move away and make again",
         [](auto& folder, auto& file) {
           std::filesystem::rename(folder / file, folder / "backup");
           std::filesystem::copy_file(folder / "other", folder / file);
         }},
        {"the same file by its other name",
         [](auto& folder, auto& file) {
           std::filesystem::create_hard_link(folder / file, folder / "link");
           std::filesystem::remove(folder / file);
           std::filesystem::rename(folder / "link", folder / file);
         }},
    };
  }

  /// Writes a bubblewrap that first runs a line of bash, as a guest of another jail could at that time.
  std::filesystem::path bubblewrap_after(const std::string& line) const {
    return base_.write("changed/bwrap",
                       "#!/bin/bash\ncd " + base_.path().string() + " && " + line + "\nexec bwrap \"$@\"\n", 0755);
  }

  /// Returns the message with which `open()` fails; empty if it succeeds.
  static std::string failure_at_open(const jail& recipe) {
    try {
      result_of(recipe, "true");
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::provider_failed) << failure.what();
      return failure.what();
    }
    return "";
  }

  static constexpr const char* attack = "cat secret; echo evil > .envrc";
};

/// Awaits an operation that must fail, and returns its error.
template <class Work>
awaitable<std::optional<error>> failure_of(Work& work) {
  std::optional<error> failure;
  try {
    co_await work();
  } catch (const error& reason) {
    failure = reason;
  }
  co_return failure;
}

}  // namespace

TEST_F(JailCovers, FS_18_FS_19_no_command_begins_after_a_covered_file_was_replaced) {
  int count = 0;
  for (const change& each : changes())
    for (const std::string file : {".envrc", "secret"}) {
      const std::string name = "ws" + std::to_string(++count);
      const std::filesystem::path folder = project(name);
      run([&]() -> awaitable<void> {
        auto body = [&](jail_environment& env) -> awaitable<void> {
          const command_result before = co_await env.run_command(attack);
          EXPECT_EQ(before.out_text(), "");
          each.make(folder, file);
          std::string seen;
          auto attacks = [&]() -> awaitable<void> {
            const command_result result = co_await env.run_command(attack);
            seen = result.out_text();
          };
          const std::optional<error> failure = co_await failure_of(attacks);
          EXPECT_TRUE(failure && failure->code() == exec_errc::environment_closed) << each.name << " " << file;
          if (failure) {
            EXPECT_NE(std::string(failure->what()).find("'/workspace/" + file + "'"), std::string::npos)
                << failure->what();
          }
          EXPECT_EQ(seen, "");
          auto writes = [&]() -> awaitable<void> { co_await write_text(env, ".envrc", "evil"); };
          const std::optional<error> of_files = co_await failure_of(writes);
          EXPECT_TRUE(of_files && of_files->code() == exec_errc::environment_closed) << each.name << " " << file;
        };
        co_await with(covered(folder), std::ref(body));
      });
      EXPECT_EQ(base_.read(name + "/.envrc").find("evil"), std::string::npos) << each.name << " " << file;
    }
  // The control: without the covers, the same commands read and write the files.
  const std::filesystem::path open = project("open");
  EXPECT_EQ(result_of(recipe().workspace(open), attack).out_text(), "original");
  EXPECT_EQ(base_.read("open/.envrc"), "evil\n");
}

// A command that runs already is ended by the kernel's report of the change.
TEST_F(JailCovers, FS_18_a_running_command_ends_when_a_covered_file_is_replaced) {
  const std::filesystem::path folder = project("ws");
  const auto started = std::chrono::steady_clock::now();
  run([&]() -> awaitable<void> {
    auto body = [&](jail_environment& env) -> awaitable<void> {
      process running = co_await env.start("echo begun; sleep 20; cat secret; echo evil > .envrc");
      co_await running.read();
      std::filesystem::rename(folder / "other", folder / ".envrc");
      auto waits = [&]() -> awaitable<void> { co_await running.wait(); };
      const std::optional<error> failure = co_await failure_of(waits);
      EXPECT_TRUE(failure && failure->code() == exec_errc::environment_closed);
      if (failure) {
        EXPECT_NE(std::string(failure->what()).find("protect(\".envrc\")"), std::string::npos) << failure->what();
      }
    };
    co_await with(covered(folder), std::ref(body));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - started, 5s);
  EXPECT_EQ(base_.read("ws/.envrc"), canary);
}

// The guest is not able to end its jail by files of its own, and other changes outside do not end it either.
TEST_F(JailCovers, FS_18_changes_of_other_files_do_not_end_the_jail) {
  const std::filesystem::path folder = project("ws");
  run([&]() -> awaitable<void> {
    auto body = [&](jail_environment& env) -> awaitable<void> {
      process running = co_await env.start("echo begun; sleep 1; rm -rf secret .envrc; mv secret x; echo alive");
      co_await running.read();
      std::filesystem::rename(folder / "other", folder / "new");
      std::filesystem::copy_file(folder / "new", folder / "newer");
      ::chmod((folder / ".envrc").c_str(), 0600);
      const command_result result = co_await running.wait();
      EXPECT_NE(result.out_text().find("alive"), std::string::npos);
      const command_result after = co_await env.run_command("echo works");
      EXPECT_EQ(after.out_text(), "works\n");
    };
    co_await with(covered(folder), std::ref(body));
  });
  EXPECT_EQ(base_.read("ws/.envrc"), "original");
}

// ---- paths that other programs can change ---------------------------------------------------------------------------

TEST_F(JailCovers, FS_19_a_link_that_appears_while_the_jail_is_built_shows_nothing) {
  base_.make_shared_folder("outside");
  base_.write("outside/file", canary);
  const auto with_folder = [&](const std::string& name) {
    base_.make_shared_folder(name);
    return base_.make_shared_folder(name + "/sub");
  };
  const auto swap = [](const std::string& name) {
    return "mv " + name + "/sub " + name + "/gone; ln -s ../outside " + name + "/sub";
  };
  int count = 0;
  using option = std::function<jail(jail, const std::filesystem::path&)>;
  for (const option& set : {option([](jail made, const auto& path) { return made.mount_read_only(path); }),
                            option([](jail made, const auto& path) { return made.mount_writable(path); }),
                            option([](jail made, const auto& path) { return made.workspace(path); })}) {
    const std::string name = "folder" + std::to_string(++count);
    const std::filesystem::path sub = with_folder(name);
    const std::string during = failure_at_open(set(recipe(), sub).bubblewrap(bubblewrap_after(swap(name))));
    EXPECT_NE(during.find("was replaced while the jail was built"), std::string::npos) << count << ": " << during;

    const std::filesystem::path later = with_folder(name + "b");
    const jail earlier = set(recipe(), later);
    EXPECT_EQ(failure_at_open(earlier), "");
    ASSERT_EQ(std::system(("cd " + base_.path().string() + " && " + swap(name + "b")).c_str()), 0);
    const std::string after = failure_at_open(earlier);
    EXPECT_NE(after.find("has become a symbolic link"), std::string::npos) << count << ": " << after;

    // The control: an option that is set when the link exists already follows it.
    const jail follows = set(recipe(), later);
    EXPECT_EQ(result_of(follows, "cat file " + later.string() + "/file 2>/dev/null").out_text(), canary) << count;
  }
}

TEST_F(JailCovers, FS_19_a_link_that_appears_while_the_jail_is_built_moves_no_cover) {
  const auto with_secret = [&](const std::string& name) {
    const std::filesystem::path folder = base_.make_shared_folder(name);
    base_.make_shared_folder(name + "/sub");
    base_.write(name + "/sub/secret", canary);
    return folder;
  };
  const auto swap = [](const std::string& name) {
    return "cd " + name + "; mv sub other; mkdir decoy; touch decoy/secret; ln -s decoy sub";
  };
  const std::filesystem::path folder = with_secret("hidden");
  const std::string failure = failure_at_open(
      recipe().workspace(folder).hide(folder / "sub/secret").bubblewrap(bubblewrap_after(swap("hidden"))));
  EXPECT_NE(failure.find("hide(\"" + (folder / "sub/secret").string() + "\")"), std::string::npos) << failure;
  // The control: this is how the jail would show the secret.
  EXPECT_EQ(result_of(recipe().workspace(folder), "cat other/secret").out_text(), canary);
}

TEST_F(JailCovers, FS_18_a_writable_mount_is_no_way_around_a_protected_name) {
  const std::filesystem::path folder = base_.make_shared_folder("project");
  base_.make_shared_folder("project/.git");
  base_.make_shared_folder("project/.git/hooks");
  base_.make_shared_folder("project/data");
  base_.make_link("link", folder.string());
  const auto refusal = [](const jail& recipe) {
    try {
      result_of(recipe, "true");
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::invalid_argument) << failure.what();
      return std::string(failure.what());
    }
    return std::string();
  };
  const jail guarded = recipe().workspace(folder).protect(".git/hooks").protect(".envrc");
  const std::filesystem::path git = folder / ".git";
  for (const std::filesystem::path& path : {base_.path(), base_ / "link", folder, git, git / "hooks"}) {
    const std::string text = refusal(jail(guarded).mount_writable(path));
    EXPECT_NE(text.find("mount_writable(\"" + path.string() + "\") exclude each other"), std::string::npos)
        << path << text;
  }
  // Mounts that would lie over a protected name.
  const jail inside = jail(guarded).workspace_path(folder.string());
  EXPECT_NE(refusal(jail(inside).mount_read_only(git)).find("exclude each other"), std::string::npos);
  EXPECT_EQ(refusal(jail(inside).mount_read_only(folder / "data")), "");
  EXPECT_EQ(refusal(jail(guarded).mount_writable(folder / "data")), "");
  // The control: without protected names, the guest writes through the mount.
  result_of(recipe().workspace(folder).mount_writable(git), "echo evil > " + (git / "hooks/run").string());
  EXPECT_EQ(base_.read("project/.git/hooks/run"), "evil\n");
}

TEST_F(JailCovers, FS_19_a_link_to_the_root_is_not_mounted) {
  base_.make_link("root", "/");
  base_.make_link("devices", "/dev");
  for (const auto& [name, words] : {std::pair{"root", "leads to the root"}, std::pair{"devices", "leads to '/dev'"}})
    for (const jail& wrong : {recipe().mount_read_only(base_ / name), recipe().mount_writable(base_ / name),
                              recipe().workspace(base_ / name)}) {
      std::string text;
      try {
        result_of(wrong, "true");
      } catch (const error& failure) {
        EXPECT_EQ(failure.code(), exec_errc::invalid_argument) << failure.what();
        text = failure.what();
      }
      EXPECT_NE(text.find(words), std::string::npos) << text;
    }
}

// ---- what an earlier command left in the workspace ------------------------------------------------------------------

TEST_F(JailCovers, FS_19_a_virtual_environment_in_the_workspace_does_not_choose_what_is_shown) {
  const std::filesystem::path secrets = base_.make_shared_folder("secrets");
  base_.write("secrets/bin/python3", "", 0755);
  base_.write("secrets/lib/python3.12/os.py", "");
  base_.write("secrets/key", canary);
  const auto environment_in = [&](const std::string& name) {
    const std::filesystem::path folder = base_.make_shared_folder(name);
    base_.write(name + "/venv/bin/python3", "", 0755);
    base_.write(name + "/venv/pyvenv.cfg", "home = " + (secrets / "bin").string() + "\n");
    return folder;
  };
  const std::filesystem::path workspace = environment_in("ws");
  const std::filesystem::path linked = base_.make_shared_folder("linked");
  base_.make_folder("linked/venv/bin");
  base_.make_link("linked/venv/bin/python3", (secrets / "bin/python3").string());
  const std::string look = "cat " + (secrets / "key").string();
  const auto shown_or_failure = [&](const jail& recipe) {
    try {
      return result_of(recipe, look).out_text();
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::provider_failed) << failure.what();
      return std::string(failure.what());
    }
  };
  for (const std::filesystem::path& folder : {workspace, linked}) {
    const cofferdam_test::variable active("VIRTUAL_ENV", (folder / "venv").string());
    for (const jail& each : {recipe().workspace(folder), recipe().mount_writable(folder)}) {
      const std::string text = shown_or_failure(each);
      EXPECT_NE(text.find("mount_read_only(\"" + secrets.string() + "\")"), std::string::npos) << text;
    }
    EXPECT_EQ(shown_or_failure(recipe().workspace(folder).mount_read_only(secrets)), canary);
  }
  // The control: commands cannot change this virtual environment, so it leads to its base.
  environment_in("trusted");
  const cofferdam_test::variable active("VIRTUAL_ENV", (base_ / "trusted/venv").string());
  EXPECT_EQ(shown_or_failure(recipe().workspace(workspace)), canary);
}

TEST_F(JailCovers, FS_19_a_virtual_environment_in_the_workspace_leads_to_a_Python_of_root) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "a Python that only root can change");
  const cofferdam_test::variable outside_of_tmp("TMPDIR", "/opt");
  const cofferdam_test::open_folder opt;
  for (const char* folder : {"python", "python/bin", "python/lib", "python/lib/python3.12"})
    ::chmod(opt.make_folder(folder).c_str(), 0755);
  opt.write("python/bin/python3", "", 0755);
  opt.write("python/lib/python3.12/os.py", "");
  opt.write("python/key", canary);
  const std::filesystem::path folder = base_.make_shared_folder("ws");
  base_.write("ws/venv/bin/python3", "", 0755);
  base_.write("ws/venv/pyvenv.cfg", "home = " + (opt / "python/bin").string() + "\n");
  const cofferdam_test::variable active("VIRTUAL_ENV", (folder / "venv").string());
  const jail shared = recipe().workspace(folder);
  EXPECT_EQ(result_of(shared, "cat " + (opt / "python/key").string()).out_text(), canary);
  ::chmod((opt / "python").c_str(), 0777);
  EXPECT_NE(failure_at_open(shared).find("mount_read_only(\"" + (opt / "python").string() + "\")"), std::string::npos);
}

TEST_F(JailCovers, FS_19_a_link_at_the_place_of_a_mount_makes_no_file_outside) {
  const std::filesystem::path workspace = base_.make_shared_folder("ws");
  const std::filesystem::path named = base_.make_shared_folder("named");
  const std::filesystem::path open = base_.make_shared_folder("open");
  base_.make_shared_folder("named/sub");
  base_.make_shared_folder("named/sub/data");
  base_.write("named/file", "");
  const std::string to_open = "/oldroot" + open.string();  // where bubblewrap has the root of this machine meanwhile
  base_.make_link("ws/sub", to_open);
  base_.make_link("ws/file", to_open + "/file");
  const auto failure = [&](const jail& with) {
    return failure_at_open(jail(with).workspace(workspace).workspace_path(named.string()));
  };
  const std::filesystem::path data = named / "sub/data";
  const std::filesystem::path file = named / "file";
  for (const jail& each : {recipe().mount_read_only(data), recipe().mount_writable(data), recipe().hide(data),
                           recipe().mount_read_only(file), recipe().hide(file)}) {
    const std::string text = failure(each);
    EXPECT_NE(text.find("symbolic link in its path"), std::string::npos) << text;
  }
  EXPECT_FALSE(base_.has("open/data"));
  EXPECT_FALSE(base_.has("open/file"));
  // The control: the same with bubblewrap alone.
  const std::string bare = "bwrap --ro-bind /usr /usr --bind " + workspace.string() + " /w --ro-bind ";
  static_cast<void>(std::system((bare + (named / "file").string() + " /w/file true 2>/dev/null").c_str()));
  static_cast<void>(std::system((bare + (named / "sub/data").string() + " /w/sub/data true 2>/dev/null").c_str()));
  EXPECT_TRUE(base_.has("open/data"));
  EXPECT_TRUE(base_.has("open/file"));
}

// ---- hidden files at other places -----------------------------------------------------------------------------------

TEST_F(JailCovers, FS_19_a_hidden_file_is_hidden_under_each_name_of_a_Python_installation) {
  base_.write("real/pyvenv.cfg", "");
  base_.write("real/bin/python3", "", 0755);
  base_.write("real/secret", canary);
  base_.make_link("link", (base_ / "real").string());
  const cofferdam_test::variable active("VIRTUAL_ENV", (base_ / "link").string());
  const std::string look = "cat " + (base_ / "link/secret").string() + " " + (base_ / "real/secret").string();
  EXPECT_EQ(result_of(recipe().hide(base_ / "real/secret"), look).out_text(), "");
  EXPECT_EQ(result_of(recipe().hide(base_ / "link/secret"), look).out_text(), "");
  EXPECT_EQ(result_of(recipe(), look).out_text(), std::string(canary) + canary);
}

TEST_F(JailCovers, FS_19_a_hidden_file_is_hidden_where_this_machine_has_mounted_its_folder_again) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "mounts of a folder at two places");
  base_.make_shared_folder("ws");
  base_.write("real/deep/secret", canary);
  for (const char* name : {"alias", "data/sub", "ws/sub"}) base_.make_folder(name);
  const std::string outcome = cofferdam_test::in_forked_host([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return "no mounts";
    for (const auto& [from, to] : {std::pair{"real", "alias"}, {"real/deep", "data/sub"}, {"real", "ws/sub"}})
      if (::mount((base_ / from).c_str(), (base_ / to).c_str(), nullptr, MS_BIND, nullptr) != 0) return "no mounts";
    const std::string look = "cat " + (base_ / "alias/deep/secret").string() + " " +
                             (base_ / "data/sub/secret").string() + " sub/deep/secret 2>/dev/null; echo .";
    const jail shown =
        recipe().workspace(base_ / "ws").mount_read_only(base_ / "alias").mount_read_only(base_ / "data");
    return result_of(jail(shown).hide(base_ / "real/deep/secret"), look).out_text() +
           result_of(jail(shown).hide(base_ / "real/deep"), look).out_text() + result_of(shown, look).out_text();
  });
  COFFERDAM_NEEDS("mounts", outcome != "no mounts", "mounts of a folder at two places");
  EXPECT_EQ(outcome, std::string(".\n.\n") + canary + canary + canary + ".\n");
}

TEST_F(JailCovers, FS_19_a_hidden_name_that_is_a_link_inside_the_jail_is_an_error) {
  const std::filesystem::path workspace = base_.make_shared_folder("ws");
  base_.write("ws/real", canary);
  base_.make_link("ws/secret", "/workspace/real");  // on this machine, it leads nowhere
  base_.make_shared_folder("outside");
  base_.write("outside/key", canary);
  base_.make_link("ws/key", (base_ / "outside/key").string());
  const jail shown = recipe().workspace(workspace).mount_read_only(base_ / "outside");
  EXPECT_NE(failure_at_open(jail(shown).hide("/workspace/secret")).find("the jail shows it at '/workspace/secret'"),
            std::string::npos);
  EXPECT_EQ(result_of(jail(shown).hide("/workspace/key"), "cat key").out_text(), "");
  EXPECT_EQ(result_of(jail(shown).hide("/workspace/absent"), "cat key secret").out_text(),
            std::string(canary) + canary);
}

// The judge is a bubblewrap that shows the folder at one more place, as a change of this machine's mounts could.
TEST_F(JailCovers, FS_19_a_hidden_file_that_the_jail_shows_nevertheless_is_an_error) {
  const std::filesystem::path workspace = base_.make_shared_folder("ws");
  base_.make_shared_folder("real");
  base_.write("real/secret", canary);
  const std::filesystem::path changed = base_.write(
      "changed/bwrap",
      "#!/bin/bash\na=(\"$@\")\nfor i in \"${!a[@]}\"; do if [ \"${a[i]}\" = --chdir ]; then "
      "a=(\"${a[@]:0:i}\" --ro-bind '" +
          (base_ / "real").string() + "' /workspace/again \"${a[@]:i}\"); break; fi; done\nexec bwrap \"${a[@]}\"\n",
      0755);
  const jail shown = recipe().workspace(workspace).bubblewrap(changed);
  EXPECT_EQ(result_of(shown, "cat again/secret").out_text(), canary);  // the control
  const std::string text = failure_at_open(jail(shown).hide(base_ / "real/secret"));
  EXPECT_NE(text.find("the jail shows it at '/workspace/again/secret'"), std::string::npos) << text;
}

// ---- options that take away each other's effect ---------------------------------------------------------------------

TEST_F(JailCovers, FS_18_a_mount_that_would_have_no_effect_is_an_error) {
  const std::filesystem::path folder = base_.make_shared_folder("project");
  for (const char* name : {"project/a", "project/a/b", "project/a/c", "project/d"}) base_.make_shared_folder(name);
  const auto refusal = [](const jail& recipe) {
    try {
      result_of(recipe, "true");
    } catch (const error& failure) {
      EXPECT_EQ(failure.code(), exec_errc::invalid_argument) << failure.what();
      return std::string(failure.what());
    }
    return std::string("opened");
  };
  // The folder above a protected name is a mount too, and would cover one below it.
  const jail named = recipe().workspace(folder).workspace_path(folder.string());
  EXPECT_NE(refusal(jail(named).protect("a/b").mount_read_only(folder / "a/c")).find("exclude each other"),
            std::string::npos);
  EXPECT_EQ(refusal(jail(named).protect("a/b").mount_read_only(folder / "d")), "opened");
  EXPECT_EQ(refusal(jail(named).protect("a/c").mount_read_only(folder / "d")), "opened");
  // Commands write to the same files at another path.
  const jail usual = recipe().workspace(folder);
  for (const std::filesystem::path& path : {folder, folder / "a"})
    EXPECT_NE(refusal(jail(usual).mount_read_only(path)).find("has no effect"), std::string::npos) << path;
  EXPECT_EQ(refusal(jail(usual).mount_read_only(base_.path())), "opened");
  // The workspace would cover these.
  EXPECT_NE(refusal(jail(named).mount_read_only(folder)).find("would cover the mount"), std::string::npos);
  EXPECT_NE(refusal(recipe().mount_read_only("/workspace")).find("would cover the mount"), std::string::npos);
}

// ---- mounts of this machine -----------------------------------------------------------------------------------------

// Under systemd all mounts are shared: what is mounted later appears wherever a folder above it is bound.
TEST_F(JailCovers, FS_18_what_this_machine_mounts_later_does_not_appear) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "shared mounts, as under systemd");
  const std::filesystem::path folder = base_.make_shared_folder("ws");
  base_.make_shared_folder("ws/sub");
  base_.make_shared_folder("data");
  base_.make_shared_folder("data/sub");
  const auto mounts_later = [&](const char* name) {
    const std::string place = (base_ / name).string();
    if (::mount("none", place.c_str(), "tmpfs", 0, nullptr) != 0) return false;
    base_.write(std::string(name) + "/file", canary);
    return true;
  };
  const std::string outcome = cofferdam_test::in_forked_host([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_SHARED, nullptr) != 0)
      return "no mounts";
    std::string seen = "jail:";
    run([&]() -> awaitable<void> {
      auto body = [&](jail_environment& env) -> awaitable<void> {
        if (!mounts_later("ws/sub") || !mounts_later("data/sub")) co_return;
        const command_result result =
            co_await env.run_command("cat sub/file; cat " + (base_ / "data/sub/file").string() + "; echo looked");
        seen += result.out_text();
      };
      co_await with(recipe().workspace(folder).mount_read_only(base_ / "data"), std::ref(body));
    });
    // The control: the same with bubblewrap alone.
    for (const char* name : {"ws/sub", "data/sub"}) ::umount((base_ / name).c_str());
    const std::string line = "bwrap --unshare-user --bind / / sh -c 'touch " + folder.string() + "/begun; until [ -e " +
                             folder.string() + "/done ]; do sleep 0.05; done; cat " + folder.string() + "/sub/file'";
    FILE* const bare = ::popen(line.c_str(), "r");
    eventually([&] { return base_.has("ws/begun"); });
    mounts_later("ws/sub");
    base_.write("ws/done", "");
    char text[64] = {};
    seen += std::fgets(text, sizeof text, bare) != nullptr ? std::string("bare:") + text : "bare: nothing";
    ::pclose(bare);
    return seen;
  });
  COFFERDAM_NEEDS("mounts", outcome != "no mounts", "shared mounts, as under systemd");
  EXPECT_EQ(outcome, std::string("jail:looked\nbare:") + canary);
}

}  // namespace jail_cover_attacks
