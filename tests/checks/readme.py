#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks the Markdown files: their C++ blocks compile or come from a source file, and their commands and links exist.

A ```cpp block with a main function is a program and must compile. Any other ```cpp block must appear, line by line, in
a file of examples/, include/ or tests/. A ./dev command must be one that ./dev has. A relative link must name a file.
"""
import re
import tempfile
from pathlib import Path

from _compiler import check, compilers
from _harness import main

BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def stands_in(block, root):
    """Returns True if a source file contains the lines of the block in order. Ignores indentation and empty lines."""
    wanted = "\n" + "\n".join(lines_of(block)) + "\n"
    for folder in ("examples", "include", "tests"):
        for path in (root / folder).rglob("*.[ch]pp"):
            if wanted in "\n" + "\n".join(lines_of(path.read_text(encoding="utf-8"))) + "\n":
                return True
    return False


def compile_errors(block):
    """Returns the first errors of a compiler that does not compile the block, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "block.cpp"
        path.write_text(block, encoding="utf-8")
        for compiler in compilers():
            code, output = check(compiler, path)
            if code:
                return f"{compiler}: " + "\n".join(output.splitlines()[:5])
    return None


def problems(root):
    found = []
    if not (root / "README.md").is_file():
        return ["README.md: not there"]
    dev = (root / "dev").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^  ([a-z]+)\)", dev, re.M)) | {"help"}
    for path in sorted(root.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            where = f"{path.name}:{text.count(chr(10), 0, match.start()) + 1}"
            language, block = match[1], match[2]
            if language == "cpp" and re.search(r"\bmain\s*\(", block):
                errors = compile_errors(block)
                if errors:
                    found.append(f"{where}: does not compile: {errors}")
            elif language == "cpp" and not stands_in(block, root):
                found.append(f"{where}: stands in no source file, and has no main")
        for match in re.finditer(r"(?:^|[\s`])\./dev ([a-z]+)", text):
            if match[1] not in verbs:
                found.append(f"{path.name}: ./dev has no verb {match[1]}")
        for match in LINK.finditer(BLOCK.sub("", text)):
            if not (root / match[1]).exists():
                found.append(f"{path.name}: links to {match[1]}, which is not there")
    return found


DEV = "case $verb in\n  quickstart) x ;;\n  test) x ;;\nesac\n"
SHOWN = "# x\n\n```cpp\nint f() {\n\n  return 1;\n}\n```\n```cpp\nint main() { [](auto x) { return x; }(0); }\n```\n`./dev test` [a](dev)\n"
GOOD = {"README.md": SHOWN, "dev": DEV, "examples/a.cpp": "int b;\n  int f() {\n    return 1;\n  }\n"}
BAD = [
    ("another line", {"examples/a.cpp": "int f() {\n  return 2;\n}\n"}, "README.md:3: stands in no source file"),
    ("a program that does not compile", {"README.md": "```cpp\nint main() { return x; }\n```\n"}, "does not compile"),
    ("an unknown verb", {"README.md": "run `./dev fly`\n"}, "no verb fly"),
    ("a dead link", {"CONTRIBUTING.md": "[a](gone.md)\n"}, "gone.md"),
    ("no README", {"README.md": None}, "not there"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
