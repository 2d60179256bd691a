#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that clang compiles each public header alone, without the function bodies.

A header starts from the precompiled form of a public header that it includes, which saves half of the time. The result
is the same: a header is only precompiled if it compiles alone, and every header that is included before it is a public
header too, and so compiles alone. --self-test proves that a header with a missing include is found.
"""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# benchmarks.py compiles with these options too.
COMPILER = ["clang++-16", "-std=c++20", "-DASIO_STANDALONE", "-DASIO_NO_DEPRECATED", "-DASIO_HAS_CO_AWAIT", "-Wall",
            "-Wextra", "-Wpedantic", "-Werror", "-DCOFFERDAM_SEPARATE_COMPILATION"]
INCLUDE = re.compile(r'^#include [<"]([^>"]+\.hpp)[>"]', re.MULTILINE)


def messages(command, text=None):
    """Returns the messages of the compiler if the command fails, and otherwise an empty text.

    The compiler reads `text` from its standard input."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stderr or f"the compiler failed with {done.returncode}" if done.returncode != 0 else ""


def public_headers(folder):
    """Returns the names of the public headers, as programs include them."""
    names = [str(path.relative_to(folder)) for path in (folder / "cofferdam").rglob("*.hpp")]
    return sorted(name for name in names if "/detail/" not in name and not name.endswith("/src.hpp"))


class Headers:
    """The public headers below a folder, and the header whose precompiled form each one starts from."""

    def __init__(self, folder, work):
        self.folder, self.work = folder, work
        self.names = public_headers(folder)
        self.direct, self.all = {}, {}
        self.precompiled = set(self.names)
        while True:
            self.base = {name: self.base_of(name) for name in self.names}
            uses = collections.Counter(self.base.values())
            rare = min((uses[name] for name in self.precompiled), default=2)
            if rare >= 2:
                break
            self.precompiled = {name for name in self.precompiled if uses[name] > rare}

    def includes(self, name):
        """Returns the headers that a header includes itself; an empty list for a header of another project."""
        if name not in self.direct:
            path = self.folder / name
            self.direct[name] = INCLUDE.findall(path.read_text(encoding="utf-8")) if path.exists() else []
        return self.direct[name]

    def closure(self, name):
        """Returns all headers that a header includes, itself or through others. Their count estimates its cost."""
        if name not in self.all:
            self.all[name] = {name}
            for inner in self.includes(name):
                self.all[name] = self.all[name] | self.closure(inner)
        return self.all[name]

    def base_of(self, name):
        """Returns the costliest precompiled header among the public headers that a header includes first, or None."""
        leading = []
        for inner in self.includes(name):
            if inner not in self.names:
                break
            if inner in self.precompiled:
                leading.append(inner)
        return max(leading, key=lambda inner: len(self.closure(inner)), default=None)

    def in_order(self):
        """Returns the headers, first those that are precompiled."""
        return sorted(self.names, key=lambda name: name not in self.precompiled)

    def stored(self, name):
        return self.work / (name.replace("/", "_") + ".pch")

    def compile(self, name):
        """Returns the messages of the compiler, or an empty text."""
        command = [*COMPILER, f"-I{self.folder}"]
        if name in self.precompiled:
            # Starts from nothing: clang 16 crashes if a precompiled header starts from another one.
            command += ["-fpch-instantiate-templates", "-x", "c++-header", "-o", str(self.stored(name)), "-"]
        else:
            if self.base[name] is not None:
                command += ["-include-pch", str(self.stored(self.base[name]))]
            command += ["-fsyntax-only", "-x", "c++", "-"]
        return messages(command, f"#include <{name}>\n")


def problems(folder):
    """Returns a text for each public header below a folder that does not compile alone."""
    found, started = [], {}
    with tempfile.TemporaryDirectory() as work:
        headers = Headers(folder, Path(work))

        def one(name):
            base = None if name in headers.precompiled else headers.base[name]
            if base is not None and not started[base].result():
                return False  # the problem of the base is reported
            messages = headers.compile(name)
            if messages:
                found.append(f"{name} does not compile alone:\n{messages}")
            return not messages

        # A header is submitted after the one that it waits for, so there is no deadlock.
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name in headers.in_order():
                started[name] = pool.submit(one, name)
        for future in started.values():
            future.result()  # passes on exceptions
    return found, len(headers.names)


def self_test():
    """Checks a good tree, and trees in which one header lacks an include. Returns the exit code."""
    good = {
        "cofferdam/one.hpp": "#pragma once\n#include <string>\nstruct one { std::string text; };\n",
        "cofferdam/two.hpp": "#pragma once\n#include <cofferdam/one.hpp>\n#include <vector>\n"
                             "struct two { std::vector<one> all; };\n",
        "cofferdam/three.hpp": "#pragma once\n#include <cofferdam/one.hpp>\n#include <cofferdam/two.hpp>\n"
                               "struct three { one first; two rest; };\n",
        "cofferdam/four.hpp": "#pragma once\n#include <cofferdam/two.hpp>\n#include <map>\n"
                              "struct four { std::map<int, two> all; };\n",
    }
    bad = [("cofferdam/one.hpp", "#include <string>\n"), ("cofferdam/two.hpp", "#include <vector>\n"),
           ("cofferdam/two.hpp", "#include <cofferdam/one.hpp>\n"),
           ("cofferdam/three.hpp", "#include <cofferdam/two.hpp>\n"), ("cofferdam/four.hpp", "#include <map>\n")]
    wrong = 0
    for broken, line in [("", ""), *bad]:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in good.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text.replace(line, "") if name == broken else text, encoding="utf-8")
            found, _ = problems(Path(folder))
        reported = [text.split(" ")[0] for text in found]
        # A header that includes the broken one may be reported too.
        if broken not in reported if broken else reported:
            print(f"self-test: {broken or 'the good tree'} without {line!r}: found {found}")
            wrong += 1
    print(f"self-test: {len(bad)} mistakes and a good tree, {wrong} judged wrongly")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found, count = problems(ROOT / "include")
    for problem in found:
        print(problem)
    print(f"headers: {len(found)} of {count} public headers do not compile alone")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
