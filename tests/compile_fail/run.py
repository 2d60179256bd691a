#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that wrong programs do not compile, and that the compiler's message explains the mistake to users.

Each *.cpp in this folder is a case. It has a line `// expect: REGEX`. Every compiler must reject it with a message that
matches. With -DFIXED, the case must compile, which proves that the mistake is the only reason. Two other lines are
optional:

* `// within: LINES`: the message must be in the first error, and in the first LINES lines of the output.
* `// only: g++ < 13`: only these compilers must reject the case. All others must compile it.

The cases use the compiled mode. Each compiler reads the shared headers once, into two precompiled headers; a case uses
the smaller one if that is enough. A case that includes the single header uses none. What must compile is compiled as
one file, in which each case has a namespace of its own. If a compiler rejects that file, it gets the cases one by one.

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


CORE = """
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>
"""
ALL = CORE + """
#include <cofferdam/backends/docker.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/tools/function.hpp>
"""
COMPILED = "-DCOFFERDAM_SEPARATE_COMPILATION"
CONDITIONAL = re.compile(r"^#if.*?^#endif$", re.M | re.S)
INCLUDE = re.compile(r"^#include .+$", re.M)


def precompile(compiler, folder):
    """Precompiles the shared headers. Returns a function that returns the flags for a case of `compiler`."""
    precompiled = {}
    for name, text in (("core", CORE), ("all", ALL)):
        header = Path(folder) / f"{Path(compiler).name}.{name}.hpp"
        header.write_text(text, encoding="utf-8")
        result = f"{header}.pch" if "clang" in compiler else f"{header}.gch"
        # Without -fpch-instantiate-templates, clang would instantiate the templates of the headers in each case again.
        language = ["-x", "c++-header", *(["-fpch-instantiate-templates"] if "clang" in compiler else [])]
        code, output = check(compiler, header, COMPILED, *language, "-o", result, only_syntax=False)
        if code:
            sys.exit(f"{compiler} does not compile the shared headers:\n{output}")
        precompiled[name] = ["-include-pch", result] if "clang" in compiler else ["-include", str(header)]

    def flags(text):
        if "single_include" in text:
            return [COMPILED, "-Wfatal-errors"]  # stops after the expected error, because more would follow
        headers = re.findall(r"^#include <(cofferdam/.+)>$", text, re.M)
        return [COMPILED, *precompiled["core" if all(f"<{each}>" in CORE for each in headers) else "all"]]

    return flags


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


def is_single(path):
    """Returns True if a case includes the single header."""
    return "single_include" in path.read_text(encoding="utf-8")


def start_of(output):
    """Returns the first lines of a compiler's messages."""
    return "\n    ".join(output.splitlines()[:12])


def judge_mistake(compiler, path, flags):
    """Checks with one compiler that a case is rejected. Returns the problem as text, or None."""
    text = path.read_text(encoding="utf-8")
    expected = re.search(r"^// expect: (.+)$", text, re.M)
    if not expected:
        return f"{path.name}: has no line // expect:"
    # The preprocessor finds that the single header is included with another one.
    code, output = check(compiler, path, *flags(text), *(["-E"] if is_single(path) else []))
    if code == 0:
        return f"{path.name}: {compiler} compiles it, and must not"
    if not re.search(expected[1].strip(), output):
        return f"{path.name}: {compiler} does not say {expected[1]!r}, but\n    {start_of(output)}"
    within = re.search(r"^// within: (\d+)$", text, re.M)
    if within and not in_first_error(output, expected[1].strip(), int(within[1])):
        return (f"{path.name}: {compiler} does not say so in its first error, within {within[1]} lines, but\n"
                f"    {start_of(output)}")
    return None


def judge_correct(compiler, path, defined, flags):
    """Checks with one compiler that a case compiles with the definitions. Returns the problem as text, or None."""
    code, output = check(compiler, path, *flags(path.read_text(encoding="utf-8")), *defined)
    if code == 0:
        return None
    how = f" with {defined[0]}" if defined else ""
    return f"{path.name}: {compiler} does not compile it{how}:\n    {start_of(output)}"


def joined(cases):
    """Returns one file that contains all cases, each with its definitions and in a namespace of its own."""
    headers, parts = [], []
    for number, (path, defined) in enumerate(cases):
        for each in INCLUDE.findall(CONDITIONAL.sub("", path.read_text(encoding="utf-8"))):
            if each not in headers:
                headers.append(each)
        fixed = "#define FIXED\n" if defined else ""
        parts.append(f'{fixed}namespace case_{number} {{\n#include "{path}"\n}}\n#undef FIXED\n')
    return "\n".join(headers) + "\n" + "".join(parts)


def judge_all_correct(compiler, cases, flags):
    """Checks with one compiler that all cases compile, each with its definitions. Returns the problems as texts."""
    found = []
    for part in ([each for each in cases if is_single(each[0])], [each for each in cases if not is_single(each[0])]):
        if not part:
            continue
        text = joined(part)
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / "joined.cpp"
            whole.write_text(text, encoding="utf-8")
            code, _ = check(compiler, whole, *flags(text), f"-I{part[0][0].parent}")
        if code:
            found += [judge_correct(compiler, *each, flags) for each in part]
    return [wrong for wrong in found if wrong]


def judge_all(folder, flags):
    """Checks all cases of a folder with all compilers. Returns the number of checks, and the problems."""
    paths = sorted(folder.glob("*.cpp"))
    with ThreadPoolExecutor(2) as pool:
        jobs = []
        for compiler in compilers():
            correct = []
            for path in paths:
                only = re.search(r"^// only: (.+)$", path.read_text(encoding="utf-8"), re.M)
                is_mistake = not only or concerns(compiler, only[1])
                correct.append((path, ["-DFIXED"] if is_mistake else []))
                if is_mistake:
                    jobs.append(pool.submit(judge_mistake, compiler, path, flags[compiler]))
            jobs.append(pool.submit(judge_all_correct, compiler, correct, flags[compiler]))
        found = []
        for job in jobs:
            result = job.result()
            found += result if isinstance(result, list) else [result] if result else []
    return len(paths) * len(compilers()), found


def self_test():
    bad = {
        "compiles.cpp": "// expect: nothing\nint main() {}\n",
        "other_words.cpp": "// expect: a sentence of ours\n#ifndef FIXED\n#error \"another\"\n#endif\nint main() {}\n",
        "no_fix.cpp": "// expect: always\n#error \"always\"\n",
        "too_late.cpp": "// expect: second\n// within: 9\n#ifndef FIXED\n#error \"first\"\n#error \"second\"\n#endif\n"
                        "int main() {}\n",
        "like_good.cpp": "// expect: a sentence\n#error \"a sentence\"\nint main() {}\n",
        "no_expectation.cpp": "#error \"x\"\n",
        "others_refuse_it.cpp": "// only: cobol < 3\n// expect: a\n#error \"a\"\n",
    }
    good = {
        "good.cpp": "// expect: a sentence\n#ifndef FIXED\n#error \"a sentence\"\n#endif\nint main() {}\n",
        "at_once.cpp": "// expect: first\n// within: 9\n#ifndef FIXED\n#error \"first\"\n#endif\nint main() {}\n",
        "others_take_it.cpp": "// only: cobol < 3\n// expect: a\n#ifdef FIXED\n#error \"a\"\n#endif\nint main() {}\n",
    }
    wrong = 0
    for name, text in {**bad, **good}.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text, encoding="utf-8")
            _, found = judge_all(Path(folder), {compiler: lambda _: [] for compiler in compilers()})
            if bool(found) != (name in bad):
                print(f"self-test: {name} was judged wrongly: {found}")
                wrong += 1
    # Cases that are compiled together have equal names, and one of them has a wrong fix.
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**good, "no_fix.cpp": bad["no_fix.cpp"]}.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        _, found = judge_all(Path(folder), {compiler: lambda _: [] for compiler in compilers()})
    if len(found) != len(compilers()) or not all(each.startswith("no_fix.cpp: ") for each in found):
        print(f"self-test: cases that are compiled together were judged wrongly: {found}")
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
