#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs the commands of the guide's page about installing, packaging/docs/install.md, as a reader of the page would.

Each section runs in a clean folder with the page's hello.cpp and a copy of this source tree, `cofferdam`. A `cmake` block
becomes CMakeLists.txt, `ini` becomes conanfile.txt, `json` becomes vcpkg.json. The last `sh` block builds the program and
must print HELLO; the `sh` blocks before it install cofferdam. Prints a line for each section and finally `N passed,
N failed, N skipped`.

COFFERDAM_CONAN        the program Conan. It uses no remote; Asio, Boost and OpenSSL are this machine's
COFFERDAM_VCPKG_ROOT   a tree of vcpkg with its program. The dependencies are ports without content
--only REGEX           only the sections whose titles match
--self-test            proves that each section can fail
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "packaging" / "docs" / "install.md"
HELLO = "hello from inside"
# deb.sh runs the commands of these sections: one needs root and a clean system, and both take long to build.
# tests/checks/readme.py compares them.
ELSEWHERE = ("Debian package", "The program cofferdam")
FILES = {"cmake": "CMakeLists.txt", "ini": "conanfile.txt", "json": "vcpkg.json"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
# The folders that later sections use.
KEPT = ("cofferdam", "hello.cpp", "prefix", "home")


class Section:
    """A section of the page with its files and its `sh` blocks."""

    def __init__(self, title, text):
        self.title = title
        self.files, self.commands = {}, []
        for language, block in BLOCK.findall(text):
            if language == "sh":
                self.commands.append(block)
            elif language in FILES:
                self.files[FILES[language]] = block


def read_page(text):
    """Returns hello.cpp and the sections that have commands."""
    head, *rest = re.split(r"^## (.*)\n", text, flags=re.M)
    hello = next(block for language, block in BLOCK.findall(head) if language == "cpp")
    sections = [Section(title, part) for title, part in zip(rest[::2], rest[1::2])]
    return hello, [each for each in sections if each.commands and each.title not in (*ELSEWHERE, COSTS)]


# The section with the measurements. Its command is one of ./dev.
COSTS = "What each way costs"


def copy_source(target):
    """Copies the files of this source tree, edited ones too, without what a build has made."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           stdout=subprocess.PIPE, check=False).stdout.decode().split("\0")
    for name in names:
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    if not (target / "CMakeLists.txt").is_file():
        sys.exit("guide: this is not a clone of git, so its files cannot be listed")


def defined(name, macro):
    """Returns the value of a macro of an installed header."""
    machine = os.uname().machine + "-linux-gnu"
    for folder in (Path("/usr/include"), Path("/usr/include") / machine):
        if (folder / name).is_file():
            match = re.search(rf"^# *define {macro} \"?([\w.]+)", (folder / name).read_text(encoding="utf-8"), re.M)
            if match:
                return match[1]
    sys.exit(f"guide: {name} does not define {macro}")


def dotted(number):
    number = int(number)
    return f"{number // 100000}.{number // 100 % 1000}.{number % 100}"


def prepare_conan(conan, folder, environment):
    """Makes a home of Conan without remotes. Its default profile takes the dependencies from this machine."""
    environment["CONAN_HOME"] = str(folder / "home")
    environment["PATH"] = f"{Path(conan).resolve().parent}:{environment['PATH']}"
    for command in (["profile", "detect"], ["remote", "disable", "*"]):
        subprocess.run([conan, *command], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    profile = folder / "home" / "profiles" / "default"
    # The other sections build without optimisation too.
    text = profile.read_text(encoding="utf-8").replace("build_type=Release", "build_type=Debug")
    profile.write_text(f"{text}\n[platform_requires]\nasio/{dotted(defined('asio/version.hpp', 'ASIO_VERSION'))}\n"
                       f"boost/{dotted(defined('boost/version.hpp', 'BOOST_VERSION'))}\n"
                       f"openssl/{defined('openssl/opensslv.h', 'OPENSSL_VERSION_STR')}\n", encoding="utf-8")


def prepare_vcpkg(root, folder, environment):
    """Makes a port without content for each dependency, and keeps vcpkg from downloading programs."""
    for name in ("asio", "boost-json", "boost-regex", "boost-system", "boost-url", "openssl"):
        port = folder / "home" / "ports" / name
        port.mkdir(parents=True, exist_ok=True)
        (port / "vcpkg.json").write_text(f'{{"name": "{name}", "version": "999"}}\n', encoding="utf-8")
        (port / "portfile.cmake").write_text("set(VCPKG_POLICY_EMPTY_PACKAGE enabled)\n", encoding="utf-8")
    environment.update({"VCPKG_ROOT": root, "VCPKG_OVERLAY_PORTS": str(folder / "home" / "ports"), "VCPKG_FORCE_SYSTEM_BINARIES": "1",
                        "VCPKG_DISABLE_METRICS": "1", "VCPKG_BINARY_SOURCES": "clear",
                        "VCPKG_DOWNLOADS": str(folder / "home" / "downloads")})
    (folder / "home" / "downloads").mkdir(exist_ok=True)


class Reader:
    """A folder in which the sections of the page run, one after the other."""

    def __init__(self, folder, hello, source=None):
        self.folder, self.hello = Path(folder), hello
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("CXX", "CXXFLAGS", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_PREFIX_PATH")}
        (self.folder / "home").mkdir()
        if source:
            shutil.copytree(source, self.folder / "cofferdam")
        else:
            copy_source(self.folder / "cofferdam")
        self.conan = os.environ.get("COFFERDAM_CONAN")
        self.vcpkg = os.environ.get("COFFERDAM_VCPKG_ROOT")
        if self.conan:
            prepare_conan(self.conan, self.folder, self.environment)
        if self.vcpkg:
            prepare_vcpkg(self.vcpkg, self.folder, self.environment)

    def missing(self, section):
        """Returns why a section cannot run on this machine, or None."""
        if section.title == "Conan" and not self.conan:
            return "COFFERDAM_CONAN does not name Conan; ./dev peers packages installs it"
        if section.title == "vcpkg" and not self.vcpkg:
            return "COFFERDAM_VCPKG_ROOT does not name a tree of vcpkg"
        return None

    def run(self, section):
        """Runs a section. Returns the error, or None, and the processor seconds of the installation and of the build."""
        for path in self.folder.iterdir():
            if path.name not in KEPT:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        (self.folder / "hello.cpp").write_text(self.hello, encoding="utf-8")
        for name, text in section.files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        seconds, output = [], ""
        for block in section.commands:
            begin = processor_seconds()
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=self.folder, env=self.environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            seconds.append(processor_seconds() - begin)
            output = done.stdout
            if done.returncode:
                return f"exit code {done.returncode}:\n{output[-4000:]}", sum(seconds[:-1]), seconds[-1]
        if output.splitlines()[-1:] != [HELLO]:
            return f"the last line is not {HELLO!r}:\n{output[-4000:]}", sum(seconds[:-1]), seconds[-1]
        return None, sum(seconds[:-1]), seconds[-1]


def processor_seconds():
    """Returns the processor time, user and system, of all ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def self_test(hello, sections):
    """A library without a header that every program needs: no section may pass."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(folder, hello)
        (reader.folder / "cofferdam/include/cofferdam/core/command.hpp").unlink()
        single = reader.folder / "cofferdam/single_include/cofferdam/cofferdam.hpp"
        single.write_text("#include <cofferdam/core/command.hpp>\n" + single.read_text(encoding="utf-8"), encoding="utf-8")
        tried = [each for each in sections if not reader.missing(each)]
        for section in tried:
            error = reader.run(section)[0]
            if error is None or "command.hpp" not in error:
                print(f"self-test: {section.title}: {error or 'passes with a broken library'}")
                wrong += 1
    with tempfile.TemporaryDirectory() as folder:
        silent = Reader(folder, "int main() {}\n")
        section = next(each for each in sections if each.title == "Include directory")
        if "the last line" not in (silent.run(section)[0] or ""):
            print("self-test: a program that prints nothing passes")
            wrong += 1
    print(f"self-test: {len(tried)} sections with a broken library and a silent program, {wrong} judged wrongly")
    return 1 if wrong else 0


def main():
    words = sys.argv[1:]
    hello, sections = read_page(PAGE.read_text(encoding="utf-8"))
    if words == ["--self-test"]:
        return self_test(hello, sections)
    only = words[1] if words[:1] == ["--only"] and len(words) == 2 else ""
    if words and not only:
        sys.exit(__doc__)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(folder, hello)
        for section in sections:
            if not re.search(only, section.title):
                continue
            reason = reader.missing(section)
            if reason:
                print(f"skipped the guide: {section.title}: {reason}")
                skipped += 1
                continue
            error = reader.run(section)[0]
            if error:
                print(f"FAILED  the guide: {section.title}: {error}")
                failed += 1
            else:
                print(f"ok      the guide: {section.title}")
                passed += 1
            sys.stdout.flush()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
