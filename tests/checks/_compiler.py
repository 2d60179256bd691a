# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs the installed compilers on a piece of C++, by default without generating code."""
import os
import shutil
import subprocess

from _harness import ROOT


def compilers():
    """Returns the compilers of COFFERDAM_COMPILERS (default: g++ and clang) that are installed."""
    wanted = os.environ.get("COFFERDAM_COMPILERS", "g++ clang++-16").split()
    return [name for name in wanted if shutil.which(name)]


def check(compiler, path, *flags, only_syntax=True):
    """Compiles a file with the library's headers. Returns the exit code and the messages of the compiler."""
    command = [compiler, "-std=c++20", *(["-fsyntax-only"] if only_syntax else []), "-Wall", "-Wextra", "-DASIO_STANDALONE", f"-I{ROOT / 'include'}"]
    if os.environ.get("COFFERDAM_ASIO_INCLUDE_DIR"):
        command += ["-isystem", os.environ["COFFERDAM_ASIO_INCLUDE_DIR"]]
    if "clang" in compiler:
        command.append("-DASIO_HAS_CO_AWAIT=1")  # Asio before 1.26 does not detect it; CMake does the same
    done = subprocess.run(command + [*flags, str(path)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr
