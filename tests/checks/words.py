#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that no text file of the tree contains a path of one machine, a TODO without an issue number, or stray bytes,
such as carriage returns."""
import os
import re

from _harness import main

LEAVE_OUT = {".git", "build", "__pycache__"}
# /home/user is allowed, because it is the home folder in E2B's images.
MACHINE_PATH = re.compile(r"(?<![\w/.~*$}-])/(work(?![\w-])|root/\w|home/(?!user\b)[A-Za-z0-9_-]{2,})")
TODO = re.compile(r"(?<!`)\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
BINARY = {".png", ".jpg", ".gif", ".gz", ".zip", ".bin"}


def text_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in LEAVE_OUT)
        for name in sorted(names):
            path = os.path.join(folder, name)
            # Leaves out the inputs for fuzzers, which are not text, and this file, which contains what it searches for.
            if name == ".git":  # a worktree's link to its repository
                continue
            if "/fuzz/corpus/" in path or os.path.splitext(name)[1] in BINARY or path.endswith("checks/words.py"):
                continue
            yield path


def problems(root):
    found = []
    for path in text_files(root):
        name = os.path.relpath(path, root)
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                text = stream.read()
        except UnicodeDecodeError:
            found.append(f"{name}: not UTF-8")
            continue
        if "\r" in text and not name.endswith(".csv"):
            found.append(f"{name}: has carriage returns")
        if text and not text.endswith("\n"):
            found.append(f"{name}: does not end with a newline")
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATH.search(line):
                found.append(f"{name}:{number}: a path of one machine: {line.strip()[:100]}")
            if TODO.search(line):
                found.append(f"{name}:{number}: say TODO(#issue): {line.strip()[:100]}")
            if line != line.rstrip() and not name.endswith((".md", ".csv", ".expected")):
                found.append(f"{name}:{number}: blanks at the end of the line")
    return found


GOOD = {"a.txt": "{\"/root\"} /root/.ssh /proc/self/root /usr/work /rootless /home/user/x ~/work ../work $X/work\nTODO(#12) do it\n"}
BAD = [
    ("a home", {"b.md": "see /home/ann/x\n"}, "path of one machine"),
    ("root's home", {"b.md": "in `/root/x`\n"}, "path of one machine"),
    ("a working folder", {"b.md": "cd /work\n"}, "path of one machine"),
    ("a TODO", {"include/b.hpp": "// TODO: later\n"}, "TODO"),
    ("carriage returns", {"b.txt": "x\r\n"}, "carriage"),
    ("no newline at the end", {"b.txt": "x"}, "newline"),
    ("blanks", {"b.txt": "x \n"}, "blanks"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
