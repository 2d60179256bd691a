# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""The common part of all checks. A check finds problems in a source tree; --self-test proves that it can find them."""
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LICENCE = "// SPDX-License-Identifier: BSL-1.0\n// Copyright the cofferdam authors. See LICENSE.\n"


def write_tree(folder, files):
    """Writes {path: text} into a folder. A text that is None removes the file."""
    for name, text in files.items():
        path = Path(folder) / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def self_test(problems, good, bad):
    """Runs a check on small trees. Returns 0 if the check finds exactly the expected problems, else 1.

    good: {path: content} of a tree without problems.
    bad:  [(description, changes to the good tree, regular expression that one of the problems must match)].
    """
    wrong = 0
    for what, changes, pattern in [("the good tree", {}, None)] + bad:
        with tempfile.TemporaryDirectory() as folder:
            write_tree(folder, good)
            write_tree(folder, changes)
            found = problems(Path(folder))
        if pattern is None and found:
            print(f"self-test: {what}: nothing is wrong with it, but found {found}")
            wrong += 1
        if pattern is not None and not any(re.search(pattern, problem) for problem in found):
            print(f"self-test: {what}: nothing matches {pattern!r} in {found}")
            wrong += 1
    print(f"self-test: {len(bad)} mistakes and a good tree, {wrong} judged wrongly")
    return 1 if wrong else 0


def main(problems, good, bad):
    """Runs a check on this source tree, or with --self-test its self-test. Then ends the program.

    problems: a function that takes the root of a tree, and returns the problems in it as texts.
    """
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test(problems, good, bad))
    found = problems(ROOT)
    for problem in found:
        print(problem)
    print(f"{Path(sys.argv[0]).stem}: {len(found)} problems")
    sys.exit(1 if found else 0)
