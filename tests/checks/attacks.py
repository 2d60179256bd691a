#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that each row of the attack catalogue has one state on each backend, and prints them.

The tests are in tests/attacks, tests/docker, tests/network, tests/os and tests/conformance/attacks_test.cpp. The name of
a test contains its rows: TEST(Attack, AL_01_a_second_command_is_refused). Tables in tests/attacks have the rest:

  waiting.txt      rows without a test: `EN-10 REASON`
  places.txt       rows without a test on a backend: `BACKENDS STATE ROWS: REASON`. STATE is `no` (the row does not apply
                   there), `open` (it applies, and is not proven there) or `fails` (it is known to fail there). ROWS are
                   rows, or FS-* for all rows of a kind that have no test there
  conformance.txt  tests of the conformance suites that prove a row: `ROW BACKENDS SUITE.TEST`
  controls.txt     rows whose test was seen red without its wall: `ROW BACKENDS WHAT WAS BROKEN`

A row has the first state of: known to fail, proven, a line of places.txt that names it, `no` for its kind, waiting.txt, and a line of
places.txt for its kind. A row is shown able to fail on a backend if a test of it in the same file has a control, which
its name or its text calls so, or if controls.txt names it. --scoreboard prints the figures of all backends, and
--scoreboard=BACKEND each row of one backend. Both have exit status 1 if this check finds a problem.
"""
import re
import sys
from collections import namedtuple

from _harness import ROOT, main

ROWS = {"AL": 28, "EN": 10, "FS": 23, "PR": 24, "OU": 12, "DK": 6, "E2": 4, "PY": 4, "PG": 14, "SY": 22, "NT": 18, "RS": 11}
BACKENDS = ["local", "jail", "docker", "e2b", "pyodide"]
STATES = {"proven": "proven", "fails": "failed (known)", "no": "does not apply", "open": "not proven here"}
TABLES = "tests/attacks"
FOLDERS = ["tests/attacks", "tests/docker", "tests/network", "tests/os"]  # the tests in the second folder need a Docker daemon
EVERYWHERE = "tests/conformance/attacks_test.cpp"  # runs at the places of docker_places.cpp and e2b_places.cpp
SUBROWS = {"PR-03": "b", "PR-06": "bcde", "DK-01": "b"}  # rows that also exist with letters, such as PR-06b
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)(.*?)(?=^\}|^\s*TEST|\Z)", re.M | re.S)
ROW = re.compile(r"(?<![A-Z])([A-Z][A-Z\d])_(\d\d[a-z]?)(?![a-z\d])")
CONTROL = re.compile(r"\b[Cc]ontrol\b(?! group)|_control_(?!c_)")
FUNCTION = re.compile(r"((?:^ *//[^\n]*\n)+)^ {0,2}(?!return|TEST)[\w:][\w:<>,&* ]* (\w+)\([^;]*?\{$", re.M)

Test = namedtuple("Test", "path name rows places has_control")


def catalogue():
    """Returns the names of all rows."""
    rows = [f"{kind}-{number:02}" for kind, last in ROWS.items() for number in range(1, last + 1)]
    return [row + letter for row in rows for letter in ["", *SUBROWS.get(row, "")]]


def rows_of(name):
    return {f"{kind}-{number}" for kind, number in ROW.findall(name) if kind in ROWS}


def backend_of(path, name):
    """Returns the backend that a test uses, judged by the name of its file and its own name."""
    words = f"{path.name} {name}".lower()
    if path.name.startswith("seccomp"):
        return "jail"  # the tests of the jail's system call filter
    if path.parent.name == "network":
        return "jail"  # the proxy of allow_hosts on this machine; allow_hosts_test.cpp tries it with a jail
    if path.parent.name == "docker" or "docker" in words or re.match(r"dk_", path.name):
        return "docker"
    for backend, mark in (("jail", "jail"), ("pyodide", "pyodide"), ("e2b", "e2")):
        if path.name.startswith(mark) or f"_{mark}" in path.name or (backend != "e2b" and mark in words):
            return backend
    return "local"


def places_of(path, suite, name, text):
    """Returns the backends over which a test runs."""
    if path.as_posix().endswith(EVERYWHERE):
        return ["docker", "e2b"]
    listed = re.search(rf"INSTANTIATE_TEST_SUITE_P\(\s*\w+,\s*{suite},[^;]*?in_places\(([^)]*)\)", text)
    return re.findall(r'"(\w+)"', listed.group(1)) if listed else [backend_of(path, suite + name)]


def control_calls(text):
    """Returns an expression for calls of a file's functions that run a control: the comment above them says so."""
    names = {name for comment, name in FUNCTION.findall(text) if CONTROL.search(comment)}
    return re.compile(r"\b(?:" + "|".join(sorted(names)) + r")\(") if names else None


def tests_of(root):
    """Returns the tests of the catalogue's rows."""
    found = []
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*_test.cpp"))]
    if (root / EVERYWHERE).is_file():
        files.append(root / EVERYWHERE)
    for path in files:
        text = path.read_text(encoding="utf-8")
        called = control_calls(text)
        for test in TEST.finditer(re.sub(r"^\s*//\s*(?:TYPED_)?TEST[^\n]*|^\s*/\*.*?\*/", "", text, flags=re.S | re.M)):
            suite, name, body = test.groups()
            if not name.startswith("DISABLED_") and rows_of(name):
                has_control = bool(CONTROL.search(name + " " + body) or called and called.search(body))
                found.append(Test(path, name, rows_of(name), places_of(path, suite, name, text), has_control))
    return found


def lines_of(root, name, found):
    """Returns [(line number, line)] of a table."""
    path = root / TABLES / name
    if not path.is_file():
        found.append(f"{TABLES}/{name}: not there")
        return []
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]


def waiting(root, found):
    """Returns {row: reason} from waiting.txt."""
    rows = {}
    for number, line in lines_of(root, "waiting.txt", found):
        row, _, reason = line.partition(" ")
        if not reason.strip():
            found.append(f"waiting.txt:{number}: {row} waits without a reason")
        if row in rows:
            found.append(f"waiting.txt:{number}: {row} stands there twice")
        rows[row] = reason.strip()
    return rows


def backends_in(text, where, found):
    names = text.split(",")
    for name in names:
        if name not in BACKENDS:
            found.append(f"{where}: {name}: no such backend")
    return [name for name in names if name in BACKENDS]


def stated(root, found):
    """Returns {(backend, row or kind): (state, reason)} from places.txt."""
    states = {}
    known = set(catalogue()) | {f"{kind}-*" for kind in ROWS}
    for number, line in lines_of(root, "places.txt", found):
        where = f"places.txt:{number}"
        head, _, reason = line.partition(":")
        words = head.split()
        if len(words) < 3 or words[1] not in ("no", "open", "fails") or not reason.strip():
            found.append(f"{where}: not of the form BACKENDS no|open|fails ROWS: REASON")
            continue
        for backend in backends_in(words[0], where, found):
            for row in words[2:]:
                if row not in known:
                    found.append(f"{where}: {row}: no such row")
                if (backend, row) in states:
                    found.append(f"{where}: {row} on {backend} stands there twice")
                states[backend, row] = (words[1], reason.strip())
    return states


def conformance(root, found):
    """Returns {(backend, row): names of tests} from conformance.txt."""
    suites = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "include").rglob("*conformance*.hpp")))
    tests = {f"{suite}.{name}" for suite, name in re.findall(r"TYPED_TEST_P\(\s*(\w+),\s*(\w+)\s*\)", suites)}
    rows = {}
    for number, line in lines_of(root, "conformance.txt", found):
        where = f"conformance.txt:{number}"
        words = line.split()
        if len(words) != 3:
            found.append(f"{where}: not of the form ROW BACKENDS SUITE.TEST")
            continue
        if words[0] not in catalogue():
            found.append(f"{where}: {words[0]}: no such row")
        if words[2] not in tests:
            found.append(f"{where}: {words[2]}: no such test")
        for backend in backends_in(words[1], where, found):
            rows.setdefault((backend, words[0]), []).append(words[2])
    return rows


def controls(root, tests, found):
    """Returns the pairs (backend, row) that were shown able to fail."""
    shown = set()
    for number, line in lines_of(root, "controls.txt", found):
        where = f"controls.txt:{number}"
        row, _, rest = line.partition(" ")
        backends, _, broken = rest.partition(" ")
        if row not in catalogue():
            found.append(f"{where}: {row}: no such row")
        if not broken.strip():
            found.append(f"{where}: not of the form ROW BACKENDS WHAT WAS BROKEN")
        shown |= {(backend, row) for backend in backends_in(backends, where, found)}
    able = {(test.path, row) for test in tests if test.has_control for row in test.rows}
    return shown | {(place, row) for test in tests for row in test.rows if (test.path, row) in able for place in test.places}


class Board:
    """The state of each row on each backend."""

    def __init__(self, root):
        self.problems = []
        tests = tests_of(root)
        self.proofs = conformance(root, self.problems)
        for test in tests:
            for row in test.rows:
                for place in test.places:
                    self.proofs.setdefault((place, row), []).append(test.name)
        waits, lines = waiting(root, self.problems), stated(root, self.problems)
        self.controls = controls(root, tests, self.problems)
        self.states = {(backend, row): self.state(backend, row, lines, waits)
                       for backend in BACKENDS for row in catalogue()}
        held = {row for _, row in self.proofs}
        for row in sorted((held | set(waits)) - set(catalogue())):
            self.problems.append(f"{row}: no such row")
        for row in catalogue():
            if row not in held and row not in waits:
                self.problems.append(f"{row}: neither a test nor a line in waiting.txt")
            if row in held and row in waits:
                self.problems.append(f"{row}: waits, but a test proves it")
        for backend, row in sorted(self.controls - set(self.proofs)):
            self.problems.append(f"controls.txt: {row} has no test on {backend}")

    def state(self, backend, row, lines, waits):
        line = lines.get((backend, row))
        kind = lines.get((backend, row[:3] + "*"))
        if line and line[0] == "fails":
            return line
        if (backend, row) in self.proofs:
            if line:
                self.problems.append(f"places.txt: {row} on {backend} is `{line[0]}`, but {self.proofs[backend, row][0]} proves it")
            return "proven", ", ".join(self.proofs[backend, row])
        if line:
            return line
        if kind and kind[0] == "no":
            return kind
        if row in waits:
            return "open", waits[row]
        if kind:
            return kind
        self.problems.append(f"{row}: no test on {backend}, and no line in places.txt")
        return "lost", ""

    def table(self):
        """Returns the figures of all backends, as a table of Markdown."""
        rows = [["", *BACKENDS], ["---"] + ["---:"] * len(BACKENDS)]
        for state, title in STATES.items():
            rows.append([title] + [str(sum(self.states[backend, row][0] == state for row in catalogue()))
                                   for backend in BACKENDS])
            if state == "proven":
                rows.append(["of these shown able to fail"]
                            + [str(sum(place == backend and self.states[place, row][0] == "proven"
                                        for place, row in self.controls)) for backend in BACKENDS])
        return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def problems(root):
    board = Board(root)
    readme = root / "README.md"
    if readme.is_file() and board.table() not in readme.read_text(encoding="utf-8"):
        board.problems.append("README.md: its table is not that of ./dev doctor --scoreboard:\n" + board.table())
    return board.problems


def scoreboard(backend):
    """Prints the figures of all backends, and the rows of one backend if it is named. Returns the exit status."""
    board = Board(ROOT)
    if backend and backend not in BACKENDS:
        print(f"attacks: no backend is called {backend}; there are {', '.join(BACKENDS)}", file=sys.stderr)
        return 2
    if not backend:
        print(f"{len(catalogue())} attacks, each over:\n\n{board.table()}\nproven, by kind:")
        print("       " + "".join(f"{name:>9}" for name in BACKENDS) + "  of")
        for kind in ROWS:
            rows = [row for row in catalogue() if row.startswith(kind)]
            counts = [sum(board.states[name, row][0] == "proven" for row in rows) for name in BACKENDS]
            print(f"  {kind}   " + "".join(f"{count or '.':>9}" for count in counts) + f"  {len(rows)}")
        print("--scoreboard=BACKEND lists the rows of a backend; `*` marks those not shown able to fail.")
    for state, title in STATES.items() if backend else ():
        rows = [row for row in catalogue() if board.states[backend, row][0] == state]
        print(f"{title}: {len(rows)}")
        for row in rows:
            mark = "*" if state == "proven" and (backend, row) not in board.controls else " "
            print(f"  {row:<6}{mark} {board.states[backend, row][1]}")
    for problem in board.problems:
        print(problem)
    return 1 if board.problems else 0


TESTED = ("AL-01", "AL-02", "DK-05", "FS-01")
REST = "".join(f"{row} a later wall\n" for row in catalogue() if row not in TESTED)
PLACES = "".join(f"{','.join(BACKENDS)} open {kind}-*: no test\n" for kind in ROWS)
GOOD = {
    "tests/attacks/allow_test.cpp": "TEST(Attack, AL_01_and_AL_02_are_refused) {}\n",
    "tests/attacks/fs_test.cpp": 'INSTANTIATE_TEST_SUITE_P(Places, Fs, in_places("local", "jail"), name);\n'
                                 "TEST_P(Fs, FS_01_a_path) {}\n",
    "tests/docker/attacks_test.cpp": "TEST(Attack, DK_05_is_refused_too) {}\n",
    "tests/attacks/waiting.txt": "# why\n" + REST,
    "tests/attacks/places.txt": PLACES,
    "tests/attacks/conformance.txt": "FS-01 e2b a_conformance.a_path\n",
    "tests/attacks/controls.txt": "FS-01 jail,e2b the check was left out\n",
    "include/conformance.hpp": "TYPED_TEST_P(a_conformance, a_path) {}\n",
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
    ("a row without a state on one backend",
     {"tests/attacks/places.txt": PLACES.replace("local,jail,docker,e2b,pyodide open FS", "local,jail,e2b,pyodide open FS")},
     "FS-01: no test on docker"),
    ("a row in two states", {"tests/attacks/places.txt": PLACES + "jail no FS-01: no files\n"}, "FS_01_a_path proves it"),
    ("a place that a suite has lost",
     {"tests/attacks/fs_test.cpp": 'INSTANTIATE_TEST_SUITE_P(Places, Fs, in_places("local"), name);\n'
                                   "TEST_P(Fs, FS_01_a_path) {}\n"}, "FS-01 has no test on jail"),
    ("a state without a reason", {"tests/attacks/places.txt": PLACES + "jail no FS-02:\n"}, "not of the form"),
    ("a state that does not exist", {"tests/attacks/places.txt": PLACES + "jail maybe FS-02: who knows\n"}, "not of the form"),
    ("a backend that does not exist", {"tests/attacks/places.txt": PLACES + "moon no FS-02: air\n"}, "no such backend"),
    ("a state twice", {"tests/attacks/places.txt": PLACES + "jail no FS-02: x\njail open FS-02: y\n"}, "stands there twice"),
    ("a conformance test that is gone", {"include/conformance.hpp": ""}, "no such test"),
    ("a control of a row without a test", {"tests/attacks/controls.txt": "FS-02 jail it\n"}, "FS-02 has no test on jail"),
    ("an old table", {"README.md": "| | local |\n"}, "README.md: its table"),
]

if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("--scoreboard"):
        sys.exit(scoreboard(sys.argv[1].partition("=")[2]))
    main(problems, GOOD, BAD)
