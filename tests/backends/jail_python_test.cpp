// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/detail/jail_python.hpp>

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace jail_python_tests {

using cofferdam::detail::python_folders;
using cofferdam_test::temporary_folder;
using paths = std::vector<std::filesystem::path>;

TEST(JailPython, a_virtual_environment_has_a_prefix_and_a_base_prefix) {
  const temporary_folder base;
  base.write("opt/python/bin/python3", "", 0755);
  base.write("opt/python/lib/python3.12/os.py", "");
  base.make_folder("venv/bin");
  base.make_link("venv/bin/python3", (base / "opt/python/bin/python3").string());
  base.write("venv/pyvenv.cfg", "home = " + (base / "opt/python/bin").string() + "\nversion = 3.12\n");
  EXPECT_EQ(python_folders(base / "venv/bin/python3", base / "home"), (paths{base / "venv", base / "opt/python"}));
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

}  // namespace jail_python_tests
