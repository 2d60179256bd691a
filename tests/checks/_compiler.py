# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Asks the compilers that are here whether a piece of C++ is right, without making a program of it."""
import os
import shutil
import subprocess

from _harness import ROOT


def compilers():
    """g++ and clang, those of them that are here."""
    wanted = os.environ.get("COFFERDAM_COMPILERS", "g++ clang++-16").split()
    return [name for name in wanted if shutil.which(name)]


def check(compiler, path, *flags, only_syntax=True):
    """The exit code and what the compiler said."""
    command = [compiler, "-std=c++20", *(["-fsyntax-only"] if only_syntax else []), "-Wall", "-Wextra", "-DASIO_STANDALONE", f"-I{ROOT / 'include'}"]
    if os.environ.get("COFFERDAM_ASIO_INCLUDE_DIR"):
        command += ["-isystem", os.environ["COFFERDAM_ASIO_INCLUDE_DIR"]]
    if "clang" in compiler:
        command.append("-DASIO_HAS_CO_AWAIT=1")  # Asio before 1.26 does not see it; the CMake target does the same
    done = subprocess.run(command + [*flags, str(path)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr
