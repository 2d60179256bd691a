#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Checks that every macro that include/ and single_include/ define begins with COFFERDAM_.

A macro of another name changes the code of users that has the same name. Text in raw strings is data, for example an
embedded program, and is not checked. Nothing may be removed with #undef either, unless it begins with COFFERDAM_.
"""
import os
import re

from _harness import LICENCE, main

SUFFIXES = (".hpp", ".ipp", ".h", ".cpp")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(define|undef)[ \t]+([A-Za-z_]\w*)", re.M)
# Comments, strings and raw strings: a directive inside one of them defines nothing.
NO_CODE = re.compile(r"""R"([^()\\\s]{0,16})\(.*?\)\1" | "(?:[^"\\\n]|\\.)*" | //[^\n]* | /\*.*?\*/""", re.S | re.X)


# Settings of other libraries that this library needs. version.hpp says why.
OF_OTHERS = {"ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING"}


def blank(match):
    """Returns as many line breaks as the text has, so that line numbers stay right."""
    return "\n" * match.group().count("\n")


def problems(root):
    found = []
    for folder in ("include", "single_include"):
        for at, folders, names in os.walk(root / folder):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(SUFFIXES):
                    continue
                path = os.path.join(at, name)
                with open(path, encoding="utf-8") as stream:
                    text = NO_CODE.sub(blank, stream.read())
                for match in DIRECTIVE.finditer(text):
                    if not match[2].startswith("COFFERDAM_") and match[2] not in OF_OTHERS:
                        line = text.count("\n", 0, match.start()) + 1
                        found.append(f"{os.path.relpath(path, root)}:{line}: #{match[1]} {match[2]}: "
                                     "a macro of ours must begin with COFFERDAM_")
    return found


GOOD = {"include/a.hpp": LICENCE + '#define COFFERDAM_A 1\n  # undef COFFERDAM_A\nauto text = R"(\n#define IN_A_STRING 1\n)";\n'
                         "// \n/*\n#define IN_A_COMMENT\n*/\n#if defined(OTHER)\n#endif\n"}
BAD = [
    ("a short name", {"include/b.hpp": LICENCE + "#define CHECK(x) x\n"}, r"b\.hpp:3: #define CHECK"),
    ("an indented one", {"include/c/b.ipp": LICENCE + "  #  define CHECK\n"}, "CHECK"),
    ("a name that only contains ours", {"include/b.hpp": LICENCE + "#define MY_COFFERDAM_X\n"}, "MY_COFFERDAM_X"),
    ("a lower-case name", {"include/b.hpp": LICENCE + "#define cofferdam_x\n"}, "cofferdam_x"),
    ("another project's macro", {"include/b.hpp": LICENCE + "#undef major\n"}, "#undef major"),
    ("the single header", {"single_include/b.hpp": LICENCE + "#define X\n"}, "single_include"),
    ("after a raw string", {"include/b.hpp": LICENCE + 'auto t = R"x(\n)x";\n#define X\n'}, "b.hpp:5"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
