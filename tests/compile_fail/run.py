#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Wrong programs must not compile, and the compiler must say why in words a user understands.

Each *.cpp here has a line `// expect: REGEX`. As it stands it must fail, on every compiler, with a message that matches;
with -DFIXED it must compile, which proves that it fails for that reason alone.
--self-test: proves that this finds a wrong program that compiles, one that says something else, and a fix that is none.
"""
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "checks"))
from _compiler import check, compilers  # noqa: E402


def judge(compiler, path):
    """What is wrong with one case on one compiler, or None."""
    expected = re.search(r"^// expect: (.+)$", path.read_text(encoding="utf-8"), re.M)
    if not expected:
        return f"{path.name}: has no line // expect:"
    code, output = check(compiler, path)
    if code == 0:
        return f"{path.name}: {compiler} compiles it, and must not"
    if not re.search(expected[1].strip(), output):
        start = "\n    ".join(output.splitlines()[:12])
        return f"{path.name}: {compiler} does not say {expected[1]!r}, but\n    {start}"
    code, output = check(compiler, path, "-DFIXED")
    if code:
        start = "\n    ".join(output.splitlines()[:12])
        return f"{path.name}: {compiler} does not compile it with -DFIXED:\n    {start}"
    return None


def judge_all(folder):
    cases = [(compiler, path) for path in sorted(folder.glob("*.cpp")) for compiler in compilers()]
    with ThreadPoolExecutor(2) as pool:
        return len(cases), [wrong for wrong in pool.map(lambda case: judge(*case), cases) if wrong]


def self_test():
    bad = {
        "compiles.cpp": "// expect: nothing\nint main() {}\n",
        "other_words.cpp": "// expect: a sentence of ours\n#ifndef FIXED\n#error \"another\"\n#endif\nint main() {}\n",
        "no_fix.cpp": "// expect: always\n#error \"always\"\n",
        "no_expectation.cpp": "#error \"x\"\n",
    }
    good = {"good.cpp": "// expect: a sentence\n#ifndef FIXED\n#error \"a sentence\"\n#endif\nint main() {}\n"}
    wrong = 0
    for name, text in {**bad, **good}.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text, encoding="utf-8")
            _, found = judge_all(Path(folder))
            if bool(found) != (name in bad):
                print(f"self-test: {name} was judged wrongly: {found}")
                wrong += 1
    print(f"self-test: {len(bad)} bad cases and a good one, {wrong} judged wrongly")
    return 1 if wrong else 0


def main():
    if not compilers():
        print("no compiler is here")
        return 1
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    cases, found = judge_all(HERE)
    for wrong in found:
        print(wrong)
    print(f"{cases} cases over {', '.join(compilers())}: {len(found)} wrong")
    return 1 if found or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
