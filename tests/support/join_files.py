#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Writes a C++ file that includes test files, so that they are compiled as one.

    join_files.py FOLDER OUTPUT FILE...

Each test file is included inside a namespace of its own, so that two files may define the same name. Before that, the
headers of all files are included outside these namespaces; then the #include lines inside do nothing. Paths are
written relative to FOLDER, which must be on the include path.

A file is included outside of a namespace if it opens a namespace that a header opens too, because it means that one; if
it has no namespace, because it declares functions for other files; or if it replaces `operator new`. Such files come
last: their `using namespace` would hold for the files after them.
"""

import re
import sys
from pathlib import Path


def leading_includes(text: str) -> list[str]:
    """The #include lines before the first line of code."""
    found = []
    for line in text.splitlines():
        if line.startswith("#include "):
            found.append(line)
        elif line.strip() and not line.startswith("//"):
            break
    return found


def opened_namespaces(text: str) -> set[str]:
    """The outermost named namespaces that a file opens."""
    return {name.split("::")[0] for name in re.findall(r"^namespace (\w[\w:]*) \{", text, re.MULTILINE)}


def join(folder: Path, files: list[Path]) -> str:
    includes: dict[str, None] = {}  # in order, each once
    apart: list[str] = []
    together: list[str] = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        taken = {"cofferdam"}
        for line in leading_includes(text):
            includes[line] = None
            if line.startswith('#include "'):
                taken |= opened_namespaces((folder / line.split('"')[1]).read_text(encoding="utf-8"))
        name = path.relative_to(folder).as_posix()
        line = f'#include "{name}"'
        has_namespace = re.search(r"^namespace ", text, re.MULTILINE)
        replaces_new = re.search(r"^\S.* operator new\(", text, re.MULTILINE)
        if not has_namespace or replaces_new or opened_namespaces(text) & taken:
            together.append(line)
        else:
            apart.append(f"namespace {re.sub(r'[^a-z0-9]', '_', name)} {{\n{line}\n}}")
    return "\n".join([*includes, *apart, *together, ""])


def main() -> None:
    folder, output, *files = map(Path, sys.argv[1:])
    output.write_text(join(folder, files), encoding="utf-8")


if __name__ == "__main__":
    main()
