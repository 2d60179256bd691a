#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that each row of the attack catalogue has a test, or a reason in waiting.txt.

The tests are in tests/attacks, tests/docker and tests/os. The name of a test contains its rows: TEST(Attack,
AL_01_a_second_command_is_refused). A line of tests/attacks/waiting.txt names a row without a test, and the reason:
`PR-20 needs the jail's terminal`. --scoreboard prints each row with its tests or its reason.
"""
import re
import sys

from _harness import ROOT, main

ROWS = {"AL": 28, "EN": 10, "FS": 23, "PR": 24, "OU": 12, "DK": 6, "E2": 4, "PY": 4, "PG": 14, "SY": 22, "NT": 18, "RS": 11}
FOLDERS = ["tests/attacks", "tests/docker", "tests/os"]  # the tests in the second folder need a Docker daemon
SUBROWS = {"PR-03": "b", "PR-06": "bcde", "DK-01": "b"}  # rows that also exist with letters, such as PR-06b
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*\w+\s*,\s*(\w+)\s*\)", re.M)
ROW = re.compile(r"(?<![A-Z])([A-Z][A-Z\d])_(\d\d[a-z]?)(?![a-z\d])")


def catalogue():
    """Returns the names of all rows."""
    rows = [f"{kind}-{number:02}" for kind, last in ROWS.items() for number in range(1, last + 1)]
    return [row + letter for row in rows for letter in ["", *SUBROWS.get(row, "")]]


def proven(root):
    """Returns {row: names of its tests}."""
    rows = {}
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*_test.cpp"))]
    for path in files:
        text = re.sub(r"//[^\n]*|^\s*/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        for name in TEST.findall(text):
            if not name.startswith("DISABLED_"):
                for kind, number in ROW.findall(name):
                    if kind in ROWS:
                        rows.setdefault(f"{kind}-{number}", []).append(name)
    return rows


def waiting(root, found):
    """Returns {row: reason} from waiting.txt."""
    rows = {}
    path = root / "tests/attacks/waiting.txt"
    if not path.is_file():
        found.append("tests/attacks/waiting.txt: not there")
        return rows
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row, _, reason = line.partition(" ")
        if not reason.strip():
            found.append(f"waiting.txt:{number}: {row} waits without a reason")
        if row in rows:
            found.append(f"waiting.txt:{number}: {row} stands there twice")
        rows[row] = reason.strip()
    return rows


def problems(root):
    found = []
    held, waits, known = proven(root), waiting(root, found), catalogue()
    for row in known:
        if row not in held and row not in waits:
            found.append(f"{row}: neither a test nor a line in waiting.txt")
        if row in held and row in waits:
            found.append(f"{row}: waits, but {held[row][0]} proves it")
    for row in [*held, *waits]:
        if row not in known:
            found.append(f"{row}: no such row")
    return found


def backend_of(path, name):
    """Returns the backend that a test uses, judged by the name of its file and its own name."""
    words = f"{path.name} {name}".lower()
    if path.name.startswith("seccomp"):
        return "jail"  # the tests of the jail's system call filter
    if path.parent.name == "docker" or "docker" in words or "image" in path.name or re.match(r"dk_", path.name):
        return "docker"
    for backend, mark in (("jail", "jail"), ("pyodide", "pyodide"), ("e2b", "e2")):
        if path.name.startswith(mark) or f"_{mark}" in path.name or (backend != "e2b" and mark in words):
            return backend
    return "local"


def by_backend(root):
    """Returns {backend: the rows with a test that uses this backend}."""
    rows = {name: set() for name in ("local", "jail", "docker", "e2b", "pyodide")}
    for path in (path for folder in FOLDERS for path in sorted((root / folder).rglob("*_test.cpp"))):
        for suite, name in re.findall(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)",
                                      path.read_text(encoding="utf-8"), re.M):
            rows[backend_of(path, suite + name)] |= {f"{kind}-{number}" for kind, number in ROW.findall(name)
                                                     if kind in ROWS}
    return rows


def scoreboard():
    """Prints how many rows have a test on each backend, and then each row with its tests or its reason."""
    held, waits = proven(ROOT), waiting(ROOT, [])
    rows = by_backend(ROOT)
    print("rows with a test, by the backend on which the attack runs:")
    print("       " + "".join(f"{name:>9}" for name in rows) + "  of")
    for kind, last in ROWS.items():
        counts = [sum(row.startswith(kind) for row in found) for found in rows.values()]
        total = sum(row.startswith(kind) for row in catalogue())
        print(f"  {kind}   " + "".join(f"{count or '.':>9}" for count in counts) + f"  {total}")
    print("  all  " + "".join(f"{len(found):>9}" for found in rows.values()) + f"  {len(catalogue())}")
    print(f"proven: {len(held)} of {len(catalogue())}")
    for row in catalogue():
        if row in held:
            print(f"  {row}  {', '.join(held[row])}")
    print(f"waits: {len(waits)}")
    for row in catalogue():
        if row in waits:
            print(f"  {row}  {waits[row]}")
    lost = [row for row in catalogue() if row not in held and row not in waits]
    if lost:
        print(f"neither: {len(lost)}\n  {' '.join(lost)}")


REST = "".join(f"{row} a later wall\n" for row in catalogue() if row not in ("AL-01", "AL-02", "DK-05"))
GOOD = {
    "tests/attacks/allow_test.cpp": "TEST(Attack, AL_01_and_AL_02_are_refused) {}\n",
    "tests/docker/attacks_test.cpp": "TEST(Attack, DK_05_is_refused_too) {}\n",
    "tests/attacks/waiting.txt": "# why\n" + REST,
}
BAD = [
    ("a row in neither", {"tests/attacks/waiting.txt": REST.replace("FS-07 a later wall\n", "")}, "FS-07: neither"),
    ("a commented test", {"tests/attacks/allow_test.cpp": "// TEST(Attack, AL_01_x) {}\nTEST(Attack, AL_02_x) {}\n"},
     "AL-01: neither"),
    ("a row of the other folder whose test is gone", {"tests/docker/attacks_test.cpp": None}, "DK-05: neither"),
    ("a disabled test", {"tests/attacks/allow_test.cpp": "TEST(Attack, DISABLED_AL_01_x) {}\n"}, "AL-01: neither"),
    ("a row in both", {"tests/attacks/waiting.txt": REST + "AL-01 later\n"}, "AL-01: waits, but"),
    ("a row of which only the one above it has a test",
     {"tests/attacks/allow_test.cpp": "TEST(Attack, AL_01_x_AL_02_y_PR_06_z) {}\n",
      "tests/attacks/waiting.txt": REST.replace("PR-06 a later wall\n", "").replace("PR-06b a later wall\n", "")},
     "PR-06b: neither"),
    ("a row of another letter", {"tests/attacks/allow_test.cpp": "TEST(Attack, AL_01_x_AL_02_y_PR_06f_z) {}\n"},
     "PR-06f: no such row"),
    ("no reason", {"tests/attacks/waiting.txt": REST.replace("FS-07 a later wall", "FS-07")}, "without a reason"),
    ("an unknown row", {"tests/attacks/waiting.txt": REST + "FS-99 later\n"}, "no such row"),
    ("no list", {"tests/attacks/waiting.txt": None}, "not there"),
]

if __name__ == "__main__":
    if sys.argv[1:] == ["--scoreboard"]:
        scoreboard()
    else:
        main(problems, GOOD, BAD)
