#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Writes the umbrella header, the sources of the compiled mode and the single header from include/.

  amalgamate.py                 writes cofferdam.hpp and src.hpp in include/cofferdam/ and in single_include/cofferdam/
  amalgamate.py --check         writes nothing; fails when either is not what it would write
  amalgamate.py --output FILE   writes the single header there, and no umbrella
  --line                        adds #line, to debug the single header
  --stand-ins DIR               with --output: for each header one of the same name that includes the single header
"""
import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
UMBRELLA = "cofferdam/cofferdam.hpp"
SOURCE = "cofferdam/src.hpp"
LICENCE = "// SPDX-License-Identifier: BSL-1.0\n// Copyright the cofferdam authors. See LICENSE.\n"
OWN = re.compile(r'^\s*#\s*include\s*[<"](cofferdam/[^>"]+)[>"]')
# The last lines of a header whose bodies stand in a file of their own: the one form of an own include under #if.
BODIES = re.compile(
    r"\n#if !defined\(COFFERDAM_SEPARATE_COMPILATION\)\n#include <(cofferdam/[^>]+\.ipp)>\n#endif\n\Z")
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|endif)\b")


class Refused(Exception):
    """Something in include/ that has no place in a single header."""


def public_headers(include):
    """What the umbrella names: every header but itself, the test suites and what is in a detail folder."""
    names = sorted(path.relative_to(include).as_posix() for path in (include / "cofferdam").rglob("*.hpp"))
    return [n for n in names if n not in (UMBRELLA, SOURCE) and not n.startswith("cofferdam/testing/") and "/detail/" not in n]


def umbrella(include):
    lines = [LICENCE, "#pragma once\n\n", "// Everything but testing/. Written by ./dev amalgamate.\n\n"]
    return "".join(lines + [f"#include <{name}>\n" for name in public_headers(include)])


def body_files(include):
    return sorted(path.relative_to(include).as_posix() for path in (include / "cofferdam").rglob("*.ipp"))


ONLY_COMPILED = """#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#error "cofferdam/src.hpp belongs to the compiled mode: define COFFERDAM_SEPARATE_COMPILATION in every file"
#endif
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns about frames that hold a lambda, though a frame is as local as the function it belongs to.
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
"""


def source(include):
    """What one file of a program in the compiled mode includes."""
    lines = [LICENCE, "#pragma once\n\n",
             "// The compiled mode: one file of the program includes this. Written by ./dev amalgamate.\n\n",
             ONLY_COMPILED, "\n"]
    return "".join(lines + [f"#include <{name}>\n" for name in body_files(include)])


def single_source():
    return (LICENCE + "#pragma once\n\n"
            "// The compiled mode of the single header: one file of the program includes this, before anything else of\n"
            "// cofferdam. Written by ./dev amalgamate.\n\n" + ONLY_COMPILED +
            f"#define COFFERDAM_SOURCE\n#include <{UMBRELLA}>\n")


def expand(include, name, seen, line_marks, out, bodies):
    if name in seen:
        return
    seen.add(name)
    path = include / name
    if not path.is_file():
        raise Refused(f"{name} is included but is not there")
    text = path.read_text(encoding="utf-8")
    if not text.startswith(LICENCE):
        raise Refused(f"{name} does not start with the licence lines")
    own_bodies = BODIES.search(text)
    if own_bodies:
        text = text[:own_bodies.start() + 1]
        bodies.append(own_bodies[1])
    body, depth, marked = [], 0, False
    for number, line in enumerate(text[len(LICENCE):].splitlines(keepends=True), LICENCE.count("\n") + 1):
        condition = CONDITION.match(line)
        if condition:
            depth += -1 if condition[1] == "endif" else 1
        own = OWN.match(line)
        if own:
            if depth:
                raise Refused(f"{name}:{number}: includes {own[1]} under #if")
            expand(include, own[1], seen, line_marks, out, bodies)
            marked = False
        elif line.strip() != "#pragma once":
            if line_marks and not marked:
                body.append(f'#line {number} "{name}"\n')
                marked = True
            body.append(line)
    out.append(f"\n// ---- {name} ----\n" + re.sub(r"\n{3,}", "\n\n", "\n" + "".join(body)))


def single_header(include, line_marks=False):
    version = re.search(r'version = "([^"]+)"', (include / "cofferdam/version.hpp").read_text(encoding="utf-8"))[1]
    out = [LICENCE + f"""
// cofferdam {version} in one file. Generated from include/ by single_include/amalgamate.py: do not edit.
// Link what the whole library needs: Boost.JSON, Boost.URL, OpenSSL and threads; define ASIO_STANDALONE.
#pragma once

#if defined(COFFERDAM_VERSION)
#error "cofferdam: one of the headers was included before the single header; include either it or them, not both"
#endif
#define COFFERDAM_SINGLE_HEADER
#define COFFERDAM_AMALGAMATION
"""]
    seen, bodies = {UMBRELLA}, []
    for name in ["cofferdam/version.hpp"] + public_headers(include):
        expand(include, name, seen, line_marks, out, bodies)
    missed = set(public_headers(include)) - seen
    if missed:
        raise Refused(f"not reached: {', '.join(sorted(missed))}")
    # The bodies come last, with all that only they need.
    out.append("\n#if !defined(COFFERDAM_SEPARATE_COMPILATION) || defined(COFFERDAM_SOURCE)\n")
    while bodies:
        expand(include, bodies.pop(0), seen, line_marks, out, bodies)
    out.append("\n#endif  // the bodies\n")
    missed = set(body_files(include)) - seen
    if missed:
        raise Refused(f"bodies that no header includes: {', '.join(sorted(missed))}")
    return "".join(out) + "\n#undef COFFERDAM_AMALGAMATION\n"


def write(path, text):
    """Writes only what changed, so that nothing is rebuilt for nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        return True
    return False


def write_stand_ins(folder):
    for path in (INCLUDE / "cofferdam").rglob("*.hpp"):
        name = path.relative_to(INCLUDE).as_posix()
        target = f'"{path}"' if name.startswith("cofferdam/testing/") else f"<{UMBRELLA}>"
        if name not in (UMBRELLA, SOURCE):
            write(folder / name, f"#pragma once\n#include {target}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--line", action="store_true")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--stand-ins", type=Path)
    options = parser.parse_args()
    try:
        single = single_header(INCLUDE, options.line)
    except Refused as refusal:
        print(f"amalgamate: {refusal}", file=sys.stderr)
        return 1
    if options.output:
        write(options.output, single)
        write(options.output.parent / "src.hpp", single_source())
        options.output.touch()
        if options.stand_ins:
            write_stand_ins(options.stand_ins)
        return 0
    wanted = {INCLUDE / UMBRELLA: umbrella(INCLUDE), INCLUDE / SOURCE: source(INCLUDE),
              ROOT / "single_include" / UMBRELLA: single, ROOT / "single_include" / SOURCE: single_source()}
    stale = 0
    for path, text in wanted.items():
        name = path.relative_to(ROOT)
        if options.check:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                print(f"amalgamate: {name} is not current; run ./dev amalgamate")
                stale += 1
        elif write(path, text):
            print(f"wrote {name}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
