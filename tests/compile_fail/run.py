#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that wrong programs do not compile, and that the compiler's message explains the mistake to users.

Each *.cpp in this folder is a case. It has a line `// expect: REGEX`. Every compiler must reject it with a message that
matches. With -DFIXED, the case must compile, which proves that the mistake is the only reason. Two other lines are
optional:

* `// within: LINES`: the message must be in the first error, and in the first LINES lines of the output.
* `// only: g++ < 13`: only these compilers must reject the case. All others must compile it.

The cases use the compiled mode. Each compiler reads the shared headers once, into a precompiled header. A case that
includes the single header does not use it.

--self-test proves that this program finds wrong programs that compile, wrong messages, late messages, and wrong fixes.
"""
import re
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "checks"))
from _compiler import check, compilers  # noqa: E402


SHARED = """
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>
"""
COMPILED = "-DCOFFERDAM_SEPARATE_COMPILATION"


def precompile(compiler, folder):
    """Precompiles the shared headers. Returns the flags with which `compiler` uses the result."""
    header = Path(folder) / f"{Path(compiler).name}.hpp"
    header.write_text(SHARED, encoding="utf-8")
    result = f"{header}.pch" if "clang" in compiler else f"{header}.gch"
    language = ["-x", "c++-header"]
    code, output = check(compiler, header, COMPILED, *language, "-o", result, only_syntax=False)
    if code:
        sys.exit(f"{compiler} does not compile the shared headers:\n{output}")
    return [COMPILED, "-include-pch", result] if "clang" in compiler else [COMPILED, "-include", str(header)]


def concerns(compiler, only):
    """Returns True if the line `// only: NAME < MAJOR` names the compiler."""
    name, limit = re.fullmatch(r"(\S+) < (\d+)", only.strip()).groups()
    if compiler.split("/")[-1].split("-")[0] != name:
        return False
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    return int(version.split(".")[0]) < int(limit)


def in_first_error(output, expected, lines):
    """Returns True if the first line with an error matches, and is among the first `lines` lines."""
    errors = [line for line in output.splitlines()[:lines] if "error:" in line]
    return bool(errors) and bool(re.search(expected, errors[0]))


def judge(compiler, path, flags):
    """Checks one case with one compiler. Returns the problem as text, or None."""
    if "single_include" in path.read_text(encoding="utf-8"):
        flags = [COMPILED, "-Wfatal-errors"]  # stops after the expected error, because more would follow
    only = re.search(r"^// only: (.+)$", path.read_text(encoding="utf-8"), re.M)
    if only and not concerns(compiler, only[1]):
        code, output = check(compiler, path, *flags)
        start = "\n    ".join(output.splitlines()[:12])
        return f"{path.name}: {compiler} does not compile it, and must:\n    {start}" if code else None
    expected = re.search(r"^// expect: (.+)$", path.read_text(encoding="utf-8"), re.M)
    if not expected:
        return f"{path.name}: has no line // expect:"
    code, output = check(compiler, path, *flags)
    if code == 0:
        return f"{path.name}: {compiler} compiles it, and must not"
    if not re.search(expected[1].strip(), output):
        start = "\n    ".join(output.splitlines()[:12])
        return f"{path.name}: {compiler} does not say {expected[1]!r}, but\n    {start}"
    within = re.search(r"^// within: (\d+)$", path.read_text(encoding="utf-8"), re.M)
    if within and not in_first_error(output, expected[1].strip(), int(within[1])):
        start = "\n    ".join(output.splitlines()[:12])
        return f"{path.name}: {compiler} does not say so in its first error, within {within[1]} lines, but\n    {start}"
    code, output = check(compiler, path, *flags, "-DFIXED")
    if code:
        start = "\n    ".join(output.splitlines()[:12])
        return f"{path.name}: {compiler} does not compile it with -DFIXED:\n    {start}"
    return None


def judge_all(folder, flags):
    """Checks all cases of a folder with all compilers. Returns the number of checks, and the problems."""
    cases = [(compiler, path, flags[compiler]) for path in sorted(folder.glob("*.cpp")) for compiler in compilers()]
    with ThreadPoolExecutor(2) as pool:
        return len(cases), [wrong for wrong in pool.map(lambda case: judge(*case), cases) if wrong]


def self_test():
    bad = {
        "compiles.cpp": "// expect: nothing\nint main() {}\n",
        "other_words.cpp": "// expect: a sentence of ours\n#ifndef FIXED\n#error \"another\"\n#endif\nint main() {}\n",
        "no_fix.cpp": "// expect: always\n#error \"always\"\n",
        "too_late.cpp": "// expect: second\n// within: 9\n#ifndef FIXED\n#error \"first\"\n#error \"second\"\n#endif\n"
                        "int main() {}\n",
        "no_expectation.cpp": "#error \"x\"\n",
        "others_refuse_it.cpp": "// only: cobol < 3\n// expect: a\n#error \"a\"\n",
    }
    good = {
        "good.cpp": "// expect: a sentence\n#ifndef FIXED\n#error \"a sentence\"\n#endif\nint main() {}\n",
        "at_once.cpp": "// expect: first\n// within: 9\n#ifndef FIXED\n#error \"first\"\n#endif\nint main() {}\n",
        "others_take_it.cpp": "// only: cobol < 3\n// expect: a\nint main() {}\n",
    }
    wrong = 0
    for name, text in {**bad, **good}.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text, encoding="utf-8")
            _, found = judge_all(Path(folder), {compiler: [] for compiler in compilers()})
            if bool(found) != (name in bad):
                print(f"self-test: {name} was judged wrongly: {found}")
                wrong += 1
    print(f"self-test: {len(bad)} bad cases and {len(good)} good ones, {wrong} judged wrongly")
    return 1 if wrong else 0


def main():
    if not compilers():
        print("no compiler is installed")
        return 1
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    with tempfile.TemporaryDirectory() as folder:
        cases, found = judge_all(HERE, {compiler: precompile(compiler, folder) for compiler in compilers()})
    for wrong in found:
        print(wrong)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    print(f"{cases} cases over {', '.join(compilers())}: {len(found)} wrong ({seconds:.0f} s of CPU time)")
    return 1 if found or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
