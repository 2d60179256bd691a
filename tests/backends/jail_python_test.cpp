// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/detail/jail_python.hpp>

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace jail_python_tests {

using cofferdam_test::temporary_folder;
using paths = std::vector<std::filesystem::path>;

paths python_folders(const std::filesystem::path& program, const std::filesystem::path& home) {
  paths found;
  for (const auto& each : cofferdam::detail::python_folders(program, home)) found.push_back(each.path);
  return found;
}

/// Returns the folders that something in a writable folder names, and by what.
paths chosen(const std::filesystem::path& program, const std::filesystem::path& writable) {
  paths found;
  for (const auto& each : cofferdam::detail::python_folders(program, "/nonexistent", {writable}))
    if (!each.named_by.empty()) found.insert(found.end(), {each.path, each.named_by});
  return found;
}

TEST(JailPython, a_virtual_environment_has_a_prefix_and_a_base_prefix) {
  const temporary_folder base;
  base.write("opt/python/bin/python3", "", 0755);
  base.write("opt/python/lib/python3.12/os.py", "");
  base.make_folder("venv/bin");
  base.make_link("venv/bin/python3", (base / "opt/python/bin/python3").string());
  base.write("venv/pyvenv.cfg", "home = " + (base / "opt/python/bin").string() + "\nversion = 3.12\n");
  EXPECT_EQ(python_folders(base / "venv/bin/python3", base / "home"), (paths{base / "venv", base / "opt/python"}));
}

// A command in a jail may have made any kind of file. Reading them as a stream would never end.
TEST(JailPython, a_configuration_that_is_no_small_file_is_not_read) {
  const temporary_folder base;
  base.write("opt/python/bin/python3", "", 0755);
  base.write("opt/python/lib/python3.12/os.py", "");
  base.make_folder("venv/bin");
  base.make_link("venv/bin/python3", (base / "opt/python/bin/python3").string());
  const std::filesystem::path config = base / "venv/pyvenv.cfg";
  const auto found = [&] { return python_folders(base / "venv/bin/python3", base / "home"); };
  const paths only_the_target = {base / "opt/python"};
  base.make_fifo("venv/pyvenv.cfg");
  EXPECT_EQ(found(), only_the_target);
  std::filesystem::remove(config);
  std::filesystem::create_symlink("/dev/zero", config);
  EXPECT_EQ(found(), only_the_target);
  std::filesystem::remove(config);
  const std::string text = "home = " + (base / "opt/python/bin").string() + "\n";
  base.write("venv/pyvenv.cfg", text);
  std::filesystem::resize_file(config, 3'000'000'000);
  EXPECT_EQ(found(), only_the_target);
  std::filesystem::resize_file(config, text.size());  // the control
  EXPECT_EQ(found(), (paths{base / "venv", base / "opt/python"}));
}

TEST(JailPython, the_python_of_the_system_needs_no_folder) {
  EXPECT_EQ(python_folders("/usr/bin/python3", "/home/user"), paths());
}

TEST(JailPython, a_home_is_never_shown_nor_what_holds_it) {
  const temporary_folder base;
  base.write("home/user/bin/python3", "", 0755);
  base.write("home/user/lib/python3.12/os.py", "");
  base.write("home/user/.local/bin/python3", "", 0755);
  base.write("home/user/.local/lib/python3.12/os.py", "");
  base.write("home/bin/python3", "", 0755);
  base.write("home/lib/python3.12/os.py", "");
  const std::filesystem::path home = base / "home/user";
  EXPECT_EQ(python_folders(home / "bin/python3", home), paths());
  EXPECT_EQ(python_folders(home / ".local/bin/python3", home), paths());
  EXPECT_EQ(python_folders(base / "home/bin/python3", home), paths());
  EXPECT_EQ(python_folders(home / ".local/bin/python3", base / "elsewhere"), paths{home / ".local"});
}

// A virtual environment may be in the workspace of a guest.
TEST(JailPython, a_changed_virtual_environment_leads_to_installations_alone) {
  const temporary_folder base;
  base.write("secrets/lib/key", "");
  base.write("secrets/bin/python3", "", 0755);
  base.make_folder("venv/bin");
  base.make_link("venv/bin/python3", (base / "secrets/bin/python3").string());
  base.write("venv/pyvenv.cfg", "home = " + (base / "secrets/bin").string() + "\n");
  EXPECT_EQ(python_folders(base / "venv/bin/python3", base / "home"), paths{base / "venv"});
  base.write("secrets/lib/python3.13t/os.py", "");  // the control: now it is an installation
  EXPECT_EQ(python_folders(base / "venv/bin/python3", base / "home"), (paths{base / "venv", base / "secrets"}));
}

TEST(JailPython, a_folder_that_a_command_may_have_chosen_is_marked_with_the_file_that_names_it) {
  const temporary_folder base;
  base.write("opt/bin/python3", "", 0755);
  base.write("opt/lib/python3.12/os.py", "");
  const std::filesystem::path program = base / "ws/venv/bin/python3";
  base.make_folder("ws/venv/bin");
  base.write("ws/venv/pyvenv.cfg", "home = " + (base / "opt/bin").string() + "\n");
  base.write("ws/venv/bin/python3", "", 0755);
  EXPECT_EQ(chosen(program, base / "ws"), (paths{base / "opt", base / "ws/venv/pyvenv.cfg"}));
  EXPECT_EQ(chosen(program, base / "other"), paths());  // the control: nobody can change the file
  // By the link to the program, and by a link that leads through the folder.
  std::filesystem::remove(base / "ws/venv/pyvenv.cfg");
  std::filesystem::remove(program);
  base.make_link("ws/venv/bin/python3", (base / "opt/bin/python3").string());
  base.make_folder("local/bin");
  base.make_link("local/bin/python3", "../../ws/venv/bin/python3");
  for (const std::filesystem::path& each : {program, base / "local/bin/python3"})
    EXPECT_EQ(chosen(each, base / "ws"), (paths{base / "opt", each}));
  // An installation in the folder itself shows nothing that is outside.
  base.write("ws/own/bin/python3", "", 0755);
  base.write("ws/own/lib/python3.12/os.py", "");
  EXPECT_EQ(chosen(base / "ws/own/bin/python3", base / "ws"), paths());
}

}  // namespace jail_python_tests
