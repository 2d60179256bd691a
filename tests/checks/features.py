#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that each row of the feature list has a state, and a test if it works; prints the rows.

The list is tests/features.txt. A line `## LETTER TITLE` begins a group. The other lines are rows:

  ID works WHAT A USER GETS
  ID partial|missing|different WHAT A USER GETS | REASON

`partial` is a row of which a part works, and `different` a row that is not wanted in this form. A test names the rows
that it proves in a comment above it, `// Feature: A1, B2`. The test may be a TEST, an instantiation of a suite, or a
function of Python. Users get the headers of the conformance suites, so these have no such comments: an indented line
below a row, `  SUITE.TEST`, names one of their tests. --features prints the counts and the rows that do not work,
--features=STATE or --features=LETTER the rows of one state or group, with their tests. Both have exit status 1 if this
check finds a problem.
"""
import re
import sys
from collections import namedtuple

from _harness import ROOT, main

STATES = ["works", "partial", "missing", "different"]
TABLE = "tests/features.txt"
GROUP = re.compile(r"## ([A-Z]) (\S.*)")
LINE = re.compile(r"([A-Z]\d+) (\w+) ([^|]+?)(?: \| (.*\S))?")
COMMENT = re.compile(r"^[ \t]*(?://|#) Feature: (.*)$", re.M)
SUITE_TEST = re.compile(r"  (\w+\.\w+)")
TEST = re.compile(r"(?:[ \t]*(?://|#)[^\n]*\n)*[ \t]*(?:(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)"
                  r"|INSTANTIATE_\w*TEST_SUITE_P\s*\(\s*(\w+)\s*,\s*(\w+)|def ((?:test|once|on)_\w+))")

Row = namedtuple("Row", "name group state what reason tests")


def rows_of(root, found):
    """Returns the rows of the list, and {letter: title} of its groups."""
    path, rows, groups = root / TABLE, {}, {}
    suites = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "include").rglob("*conformance*.hpp")))
    known = {".".join(test) for test in re.findall(r"TYPED_TEST_P\(\s*(\w+),\s*(\w+)\s*\)", suites)}
    if not path.is_file():
        found.append(f"{TABLE}: not there")
        return rows, groups
    group, row = "", None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{TABLE}:{number}"
        title, fields, test = GROUP.fullmatch(line), LINE.fullmatch(line), SUITE_TEST.fullmatch(line)
        if test and row:
            if test[1] not in known:
                found.append(f"{where}: {test[1]}: no such test")
            row.tests.append((where, test[1]))
        elif title:
            group = title[1]
            groups[group] = title[2]
        elif fields:
            row = Row(fields[1], group, *fields.groups()[1:], [])
            if row.state not in STATES:
                found.append(f"{where}: {row.state}: no such state")
            if (row.state == "works") == bool(row.reason):
                found.append(f"{where}: {row.name} is `{row.state}` and has {'a' if row.reason else 'no'} reason")
            if not row.name.startswith(group or "?") or row.name in rows:
                found.append(f"{where}: {row.name} stands in another group, or twice")
            rows[row.name] = row
        elif line.strip() and not line.startswith("# "):
            found.append(f"{where}: not of the form ID STATE WHAT | REASON")
    for letter in groups:
        numbers = [int(name[1:]) for name, row in rows.items() if row.group == letter]
        if numbers != list(range(1, len(numbers) + 1)):
            found.append(f"{TABLE}: the rows of group {letter} are not numbered from 1 without gaps")
    return rows, groups


def tests_of(root, found):
    """Returns {row: names of the tests that name it}."""
    tests = {}
    files = [path for path in sorted((root / "tests").rglob("*"))
             if path.suffix in (".cpp", ".py") and path != root / "tests/checks/features.py"]
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        for comment in COMMENT.finditer(text):
            where = f"{path.relative_to(root)}:{text.count(chr(10), 0, comment.start()) + 1}"
            test = TEST.match(text, comment.end() + 1)
            if not test:
                found.append(f"{where}: no test follows this comment")
                continue
            names = [part for part in test.groups() if part]
            if names[-1].startswith("DISABLED_"):
                continue
            for row in comment[1].split(", "):
                tests.setdefault(row, []).append((where, ".".join(names)))
    return tests


class Board:
    """The state of each row, and its tests."""

    def __init__(self, root):
        self.problems = []
        self.rows, self.groups = rows_of(root, self.problems)
        tests = tests_of(root, self.problems)
        for row in self.rows.values():
            if row.tests:
                tests.setdefault(row.name, []).extend(row.tests)
        for name, places in tests.items():
            if name not in self.rows:
                self.problems.append(f"{places[0][0]}: {name}: no such row")
        self.tests = {name: [test for _, test in tests.get(name, [])] for name in self.rows}
        for row in self.rows.values():
            if row.state in ("works", "partial") and not self.tests[row.name]:
                self.problems.append(f"{row.name} is `{row.state}`, and no test names it")
            if row.state in ("missing", "different") and self.tests[row.name]:
                self.problems.append(f"{row.name} is `{row.state}`, but {self.tests[row.name][0]} names it")

    def count(self, state, group=None):
        return sum(row.state == state and group in (None, row.group) for row in self.rows.values())


def problems(root):
    return Board(root).problems


def show(wanted):
    """Prints the counts and the rows that do not work, or the rows of one state or group. Returns the exit status."""
    board = Board(ROOT)
    if wanted and wanted not in STATES and wanted not in board.groups:
        print(f"features: {wanted} is neither a state ({', '.join(STATES)}) nor a group "
              f"({', '.join(board.groups)})", file=sys.stderr)
        return 2
    if not wanted:
        width = max(map(len, board.groups.values()), default=0)
        print(f"{len(board.rows)} features:\n" + " " * (width + 4) + "".join(f"{state:>11}" for state in STATES))
        for letter, title in board.groups.items():
            counts = [board.count(state, letter) for state in STATES]
            print(f"{letter}  {title:<{width}} " + "".join(f"{count or '.':>11}" for count in counts))
        print(f"   {'all':<{width}} " + "".join(f"{board.count(state):>11}" for state in STATES) + "\n")
    for row in board.rows.values():
        if wanted in (row.state, row.group) or (not wanted and row.state != "works"):
            print(f"{row.name:<4} {row.state:<10} {row.what}" + (f": {row.reason}" if row.reason else ""))
            if wanted and board.tests[row.name]:
                print(" " * 16 + "tests: " + ", ".join(board.tests[row.name]))
    if not wanted:
        print("\n--features=STATE and --features=LETTER list rows with their tests.")
    for problem in board.problems:
        print(problem)
    return 1 if board.problems else 0


GOOD = {
    TABLE: "# Rows.\n\n## A First\nA1 works Run it\nA2 partial Run all | one at a time\n## B Second\n"
           "B1 missing Fly | no wings\nB2 different Swim | a boat is drier\nB3 works Sink\n  conformance.it_sinks\n",
    "tests/a_test.cpp": "// Feature: A1\nTEST(Run, it_runs) {}\n",
    "tests/b.py": "# Feature: A1, A2\n# What it does.\ndef test_all(): pass\n",
    "include/conformance.hpp": "TYPED_TEST_P(conformance, it_sinks) {}\n",
    "tests/c_test.cpp": "// Feature: A1\nINSTANTIATE_TYPED_TEST_SUITE_P(here, conformance, place);\n",
}
BAD = [
    ("no list", {TABLE: None}, "not there"),
    ("a row that works without a test", {TABLE: GOOD[TABLE].replace("A2 partial Run all | one at a time", "A2 works It")
                                         + "## C Third\nC1 works Sing\n"}, "C1 is `works`, and no test"),
    ("a row that works in part without a test", {"tests/b.py": "# Feature: A1\ndef test_all(): pass\n"},
     "A2 is `partial`, and no test"),
    ("a disabled test", {"tests/b.py": "", "tests/d_test.cpp": "// Feature: A2\nTEST(Run, DISABLED_all) {}\n"},
     "A2 is `partial`, and no test"),
    ("no reason", {TABLE: GOOD[TABLE].replace(" | no wings", "")}, "B1 is `missing` and has no reason"),
    ("a reason of a row that works", {TABLE: GOOD[TABLE].replace("Run it", "Run it | so")}, "A1 is `works` and has a reason"),
    ("an unknown state", {TABLE: GOOD[TABLE].replace("missing", "planned")}, "planned: no such state"),
    ("a row twice", {TABLE: GOOD[TABLE] + "B2 missing Dive | air\n"}, "B2 stands in another group, or twice"),
    ("a row in another group", {TABLE: GOOD[TABLE] + "A3 missing Dive | air\n"}, "A3 stands in another group"),
    ("a gap", {TABLE: GOOD[TABLE].replace("B2", "B4")}, "group B are not numbered"),
    ("a conformance test that is gone", {"include/conformance.hpp": ""}, "conformance.it_sinks: no such test"),
    ("no row", {TABLE: GOOD[TABLE] + "and more\n"}, "not of the form"),
    ("a test of an unknown row", {"tests/b.py": "# Feature: A2, A9\ndef test_all(): pass\n"}, "A9: no such row"),
    ("a test of a missing row", {"tests/b.py": "# Feature: A2, B1\ndef test_all(): pass\n"}, "B1 is `missing`, but test_all"),
    ("a comment over no test", {"tests/a_test.cpp": "// Feature: A1\nint x;\nTEST(Run, it_runs) {}\n"}, "no test follows"),
]

if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("--features"):
        sys.exit(show(sys.argv[1].partition("=")[2]))
    main(problems, GOOD, BAD)
