#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that clang compiles the benchmarks, which no test builds.

The benchmarks are compiled as one file, in which each has a namespace of its own: their headers take most of the time.
If the compiler rejects that file, it gets the benchmarks one by one. --self-test proves that a wrong benchmark is found.
"""
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headers import COMPILER, ROOT, messages

FLAGS = ['-DCOFFERDAM_PEERS=""', '-DCOFFERDAM_MCP_PROGRAM=""', '-DCOFFERDAM_MCP_EVERYTHING=""', f"-I{ROOT / 'include'}",
         f"-I{ROOT / 'benchmarks'}", f"-I{ROOT / 'tests'}", "-fsyntax-only"]
INCLUDE = re.compile(r"^#include .+$", re.MULTILINE)


def messages_about(path):
    """Returns the messages of the compiler about a file, or an empty text."""
    return messages([*COMPILER, *FLAGS, str(path)])


def joined(paths):
    """Returns one file that contains all programs. Their headers come first, outside of the namespaces."""
    headers = dict.fromkeys(line.replace('"../', '"') for path in paths
                            for line in INCLUDE.findall(path.read_text(encoding="utf-8")))
    programs = [f'namespace program_{number} {{\n#include "{path}"\n}}\n' for number, path in enumerate(paths)]
    return "\n".join(headers) + "\n" + "".join(programs)


def problems(paths):
    """Returns a text for each program that does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "joined.cpp"
        whole.write_text(joined(paths), encoding="utf-8")
        if not messages_about(whole):
            return []
    with ThreadPoolExecutor(2) as pool:
        return [f"{path.name} does not compile:\n{text}" for path, text in zip(paths, pool.map(messages_about, paths)) if text]


def self_test():
    """Judges correct programs, and a wrong one among them. Returns the exit code."""
    good = '#include <string>\nnamespace {\nstd::string text() { return "x"; }\n}\nint main() { return text().empty(); }\n'
    wrong = 0
    for bad in ("", good.replace('"x"', "5"), good.replace("text()", "unused()", 1)):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in {"one.cpp": good, "two.cpp": good, **({"bad.cpp": bad} if bad else {})}.items():
                paths.append(Path(folder) / name)
                paths[-1].write_text(text, encoding="utf-8")
            found = problems(paths)
        if [text.split(" ")[0] for text in found] != (["bad.cpp"] if bad else []):
            print(f"self-test: {bad or 'the good programs'}: found {found}")
            wrong += 1
    print(f"self-test: 2 mistakes and good programs, {wrong} judged wrongly")
    return 1 if wrong else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    paths = sorted([*(ROOT / "benchmarks" / "micro").glob("*.cpp"), *(ROOT / "benchmarks" / "macro").glob("*.cpp")])
    found = problems(paths)
    for problem in found:
        print(problem)
    print(f"benchmarks: {len(found)} of {len(paths)} do not compile")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
