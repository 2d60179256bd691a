#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that comments are plain English: limits four bad habits per 1,000 comment lines, and lines to 120 columns.

--list prints each offence with its file and line. --list PATH... prints only the offences in files below these paths.
"""
import os
import re
import sys
from collections import namedtuple
from pathlib import Path

from _harness import LICENCE, ROOT, main

FOLDERS = ("include", "tests", "examples", "benchmarks")
CPP = (".hpp", ".ipp", ".cpp", ".h")
SCRIPTS = (".py", ".sh")
# Files that are not checked: inputs for fuzzers, folders with generated files, and this file, which names the habits.
LEAVE_OUT = re.compile(r"/fuzz/corpus/|/__pycache__/|(^|/)build/|checks/prose\.py$")
COLUMNS = 120

Habit = namedtuple("Habit", "name limit pattern opens")

# The limits are offences per 1,000 comment lines, close to the rates of Boost.Redis and Boost.MySQL.
HABITS = [
    Habit("opens with a noun clause", 5,
          re.compile(r"(What|Whatever|Where|Wherever|Who|Whoever|Whom|Whose|Whether|Which|Whichever|How|Why)\b"), True),
    Habit("lets a program speak", 2,
          re.compile(r"\b(says?|said|saying|tells?|told|telling|hears?|heard|hearing|asks?|asked|asking)\b", re.I), False),
    Habit("somebody, nobody, anybody", 1,
          re.compile(r"\b((some|no|any|every)body|(some|any)one)\b", re.I), False),
    Habit("who, whom, whoever", 1, re.compile(r"\b(who|whoever|whom|whomever)\b", re.I), False),
]

# Exceptions: (part of the path, pattern of the comment line, reason).
ALLOWED = [
    ("tests/compile_fail/", r"^(expect|within|only):", "a pattern of the compiler's message, no prose"),
]

Comment = namedtuple("Comment", "line text opens")  # a line of a comment; `opens`: it begins the comment

CPP_TOKEN = re.compile(
    r"""R"([^()\\\s]{0,16})\(.*?\)\1" | "(?:[^"\\\n]|\\.)*" | (?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+' |
        (?P<line>//[^\n]*) | (?P<block>/\*.*?\*/)""", re.S | re.X)
SCRIPT_COMMENT = re.compile(r"^[ \t]*(#[^\n]*)", re.M)
NAMES = re.compile(r"`[^`]*`|\"\w+\"|\\t?param\s+(\w+(,\s+)?)+")  # code and parameter names are not prose
BARE = re.compile(r"^(//[/!]?<?|/\*[*!]?|\*/|\*|#!?)[ \t]*")


def comments_of_cpp(text):
    """Yields (line number, text, True if code stands before the comment on its line)."""
    number, done = 1, 0
    for token in CPP_TOKEN.finditer(text):
        if token.lastgroup not in ("line", "block"):
            continue
        number += text.count("\n", done, token.start())
        done = token.start()
        trailing = bool(text[text.rfind("\n", 0, done) + 1:done].strip())
        for offset, line in enumerate(token.group().split("\n")):
            yield number + offset, line.strip(), trailing and offset == 0


def comments_of_script(text):
    number, done = 1, 0
    for token in SCRIPT_COMMENT.finditer(text):
        number += text.count("\n", done, token.start(1))
        done = token.start(1)
        yield number, token.group(1), False


def comments(name, text):
    """Returns the comment lines that have words, except the licence, a script's first line and the ends of namespaces."""
    found, last, opened = [], -1, True
    for number, line, trailing in (comments_of_cpp if name.endswith(CPP) else comments_of_script)(text):
        words = BARE.sub("", line).removesuffix("*/").strip()
        if line.startswith("#!") or words.startswith(("SPDX-", "Copyright ")) or (
                trailing and words.startswith("namespace ")):
            continue
        if trailing or number != last + 1:
            opened = False
        last = number
        if not re.search(r"[A-Za-z]", words):
            continue
        found.append(Comment(number, words, not opened))
        opened = True
    return found


def too_long(text):
    """Yields the number and length of lines over the limit, except in raw strings and in unformatted parts."""
    skipped, unformatted = set(), False
    for token in CPP_TOKEN.finditer(text):
        if token.group().startswith('R"'):
            first = text.count("\n", 0, token.start()) + 1
            skipped.update(range(first, first + token.group().count("\n") + 1))
    for number, line in enumerate(text.split("\n"), 1):
        unformatted = (unformatted or "clang-format off" in line) and "clang-format on" not in line
        if len(line) > COLUMNS and number not in skipped and not unformatted:
            yield number, len(line)


def files(root):
    for folder in FOLDERS:
        for at, folders, names in os.walk(Path(root) / folder):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(at, name)
                if name.endswith(CPP + SCRIPTS) and not LEAVE_OUT.search(path):
                    yield path


def allowed(name, text):
    return any(path in name and re.search(pattern, text) for path, pattern, _ in ALLOWED)


def measure(root):
    """Returns the number of comment lines, the offences of each habit, and the lines that are too long."""
    total, offences, long_lines = 0, [[] for _ in HABITS], []
    for path in files(root):
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8", newline="") as stream:
            text = stream.read()
        if name.endswith(CPP):
            long_lines += [f"{name}:{number}: {length} columns" for number, length in too_long(text)]
        for comment in comments(name, text):
            total += 1
            prose = NAMES.sub("_", comment.text)
            for habit, found in zip(HABITS, offences):
                match = (habit.pattern.match if habit.opens else habit.pattern.search)(prose)
                if match and (comment.opens or not habit.opens) and not allowed(name, comment.text):
                    found.append(f"{name}:{comment.line}: {comment.text}")
    return total, offences, long_lines


def problems(root):
    total, offences, long_lines = measure(root)
    found = [f"the allow list gives no reason for {path}: {pattern}" for path, pattern, why in ALLOWED if not why.strip()]
    for habit, places in zip(HABITS, offences):
        rate = 1000 * len(places) / max(total, 1)
        if rate > habit.limit:
            found.append(f"{habit.name}: {rate:.1f} of 1,000 comment lines, at most {habit.limit}; see --list")
            found += places[:10]
    return found + long_lines


def show(paths):
    total, offences, long_lines = measure(ROOT)
    for habit, places in zip(HABITS, offences):
        for place in places:
            if place.startswith(tuple(paths)):
                print(f"{place}  [{habit.name}]")
    for place in long_lines:
        if place.startswith(tuple(paths)):
            print(place)
    for habit, places in zip(HABITS, offences):
        print(f"{habit.name}: {len(places)}, {1000 * len(places) / max(total, 1):.1f} of 1,000; at most {habit.limit}")
    print(f"comment lines: {total}; lines over {COLUMNS} columns: {len(long_lines)}")


def header(*lines):
    return {"include/b.hpp": LICENCE + "".join(line + "\n" for line in lines)}


GOOD = {
    "include/a.hpp": LICENCE + 'auto a = "// What nobody says"; auto b = R"x(// Who asks)x"; auto c = 1\'000;  // Returns two.\n'
    + "// Returns `said()`, or \"ask\".\n// What follows is no opening.\n/// \\param asked  the number.\n" * 30
    + 'auto d = R"(' + "x" * 120 + ')";\n}  // namespace whom\n',
    "tests/a.sh": "#!/bin/sh\n# Runs it.\necho '# who asks'\n",
    "examples/a.md": "Who says so? Somebody.\n",
}
BAD = [
    ("a noun clause", header("// What the caller gets."), r"noun clause: .* at most 5"),
    ("a noun clause behind code", header("int x;  ///< Whether it is there."), r"noun clause"),
    ("a noun clause on the second line", header("//", "// Where it stands."), r"noun clause"),
    ("a block", header("/* Who", " * is there. */"), r"noun clause"),
    ("a program that speaks", header("// Returns it.", "// The daemon says no."), r"speak"),
    ("somebody", header("// Waits until somebody comes."), r"somebody"),
    ("who", header("// The process who waits."), r"who, whom"),
    ("a Python comment", {"tests/b.py": "# Whether it is there\n"}, r"noun clause"),
    ("a shell comment", {"tests/b.sh": "#!/bin/sh\n  # asks nobody\n"}, r"somebody"),
    ("a long comment", header("// " + "x" * 118), r"b\.hpp:3: 121 columns"),
    ("a long line of code", header("int " + "x" * 117 + ";"), r"122 columns"),
]

if __name__ == "__main__":
    if sys.argv[1:2] == ["--list"]:
        show(sys.argv[2:] or [""])
    else:
        main(problems, GOOD, BAD)
