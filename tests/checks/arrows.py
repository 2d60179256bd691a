#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Who may include whom, and what every header has in common."""
import importlib.util
import re

from _harness import LICENCE, ROOT, main

# The folders that a folder may include, besides itself and version.hpp. It may also include what these may include.
ARROWS = {
    "core": [],
    "os": ["core"],
    "net": ["core"],
    "files": ["os"],
    "middleware": ["files"],
    "warden": ["os"],
    "backends": ["warden", "net"],
    "code": ["backends"],
    "tools": ["code", "files"],
    "llm": ["tools"],
    "serve": ["llm"],
    "testing": ["code"],
}
# The headers of the target cofferdam::core (as in CMakeLists.txt), and the libraries that they must not need.
CORE_TARGET = re.compile(
    r"cofferdam/((version|core|jail|local|sandbox)\.hpp|(detail/)?(core|os|files|middleware|warden)/.*|backends/((detail|impl)/)?(host|local|jail)[a-z_]*\.[hi]pp|testing/(detail/)?fake_[a-z_]*\.hpp)$")
NOT_IN_CORE = re.compile(r"(boost/(json|url)|openssl|gtest)\b")
MOST_LINES = 600
GENERATED = re.compile(r"^// Written by \./dev [a-z]+ from ", re.M)
UMBRELLA = "cofferdam/cofferdam.hpp"
SOURCE = "cofferdam/src.hpp"
VERSION = "cofferdam/version.hpp"
# What only the library needs, in more than one folder. Entry headers, which users read, include none of it.
SHARED_DETAIL = "cofferdam/detail/"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(folder):
    seen, todo = set(), list(ARROWS[folder])
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += ARROWS[one]
    return seen


def folder_of(name):
    parts = name.split("/")
    if parts[1] == "detail":  # cofferdam/detail/os/x.hpp belongs to os, and is for all that may include os
        del parts[1]
    return parts[1] if len(parts) > 2 and parts[1] != "impl" else None  # impl/ beside the entry headers has their bodies


def is_entry(name):
    """True for a header at the top, such as cofferdam/sandbox.hpp: all that a kind of program needs, of any folder."""
    return folder_of(name) is None and name not in (VERSION, UMBRELLA, SOURCE)


def bodies_of(name):
    """The file with the bodies of a header: impl/x.ipp beside x.hpp."""
    folder, _, file = name.rpartition("/")
    return f"{folder}/impl/{file[:-len('.hpp')]}.ipp" if file.endswith(".hpp") else None


def read_includes(name, text, found):
    """Own and foreign includes of one header; says what is wrong with how they are written."""
    own, foreign, depth = [], [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"^\s*#\s*if", line):
            depth += 1
        elif re.match(r"^\s*#\s*endif", line):
            depth -= 1
        include = INCLUDE.match(line)
        if not include:
            continue
        if include[2].startswith("cofferdam/"):
            own.append(include[2])
            if depth and include[2] != bodies_of(name):
                found.append(f"{name}:{number}: includes {include[2]} under #if")
            if include[1] != "<":
                found.append(f"{name}:{number}: includes {include[2]} without angle brackets")
        else:
            foreign.append(include[2])
            if include[1] == '"':
                found.append(f"{name}:{number}: includes {include[2]} in quotes: own headers are <cofferdam/...>")
            if include[2] == "asio.hpp":
                found.append(f"{name}:{number}: includes all of Asio; take the narrow headers")
    return own, foreign


def check_arrows(name, own, headers, found):
    folder = folder_of(name)
    if name == SOURCE:
        return
    if folder is not None and folder not in ARROWS:
        found.append(f"{name}: no folder is called {folder}")
        return
    for target in own:
        there = folder_of(target)
        if target not in headers:
            found.append(f"{name}: includes {target}, which is not there")
        elif name == UMBRELLA:
            continue
        elif target.endswith(".ipp") and target != bodies_of(name):
            found.append(f"{name}: includes {target}; only the header beside it and {SOURCE} do")
        elif target == UMBRELLA:
            found.append(f"{name}: includes the umbrella header")
        elif "/detail/" in target and there != folder and (is_entry(name) or not target.startswith(SHARED_DETAIL)):
            found.append(f"{name}: includes {target}, a detail of another folder")
        elif is_entry(target) and folder is not None:
            found.append(f"{name}: includes the entry header {target}; those are for programs")
        elif is_entry(name):
            continue
        elif there is not None and there != folder and (folder is None or there not in reachable(folder)):
            found.append(f"{name}: wrong arrow to {target}")
    if name not in (VERSION, UMBRELLA) and not own:
        found.append(f"{name}: includes no header of ours, so it must include <{VERSION}> (it guards the single header)")


def cycles(includes, found):
    done, path = set(), []

    def visit(name):
        if name in path:
            found.append("cycle: " + " > ".join(path[path.index(name):] + [name]))
            return
        if name in done:
            return
        path.append(name)
        for target in includes.get(name, []):
            visit(target)
        path.pop()
        done.add(name)

    for name in includes:
        visit(name)


def check_core_target(includes, foreign, found):
    for name in includes:
        if not CORE_TARGET.match(name):
            continue
        for target in includes[name]:
            if target in includes and not CORE_TARGET.match(target):
                found.append(f"{name}: belongs to cofferdam::core, but includes {target}, which does not")
        for target in foreign[name]:
            if NOT_IN_CORE.match(target):
                found.append(f"{name}: belongs to cofferdam::core, which must do without <{target}>")


# Macros that differ by library or machine: the kind of Asio, and the instructions of the processor.
MAY_TEST = (VERSION, "cofferdam/core/asio.hpp", "cofferdam/detail/core/base64_blocks.hpp")


def check_bodies(headers, includes, end_form, found):
    for name, text in headers.items():
        if name.endswith(".ipp"):
            owner = name.replace("/impl/", "/")[:-len(".ipp")] + ".hpp"
            if owner not in headers:
                found.append(f"{name}: there is no {owner}, whose bodies these would be")
            elif owner not in includes[name]:
                found.append(f"{name}: does not include {owner}")
            elif name not in includes[owner]:
                found.append(f"{name}: {owner} does not include it at its end")
        elif bodies_of(name) in includes[name]:
            form = end_form.search(text)
            if not form or form[1] != bodies_of(name):
                found.append(f"{name}: includes its bodies otherwise than in its last three lines, "
                             "under #if !defined(COFFERDAM_SEPARATE_COMPILATION)")


def check_text(name, text, found):
    if not text.startswith(LICENCE):
        found.append(f"{name}: does not start with the two licence lines")
    if "#pragma once" not in text:
        found.append(f"{name}: has no #pragma once")
    lines = text.count("\n")
    if lines > MOST_LINES and not GENERATED.search(text):
        found.append(f"{name}: {lines} lines; more than {MOST_LINES} are two headers")
    code = re.sub(r"//[^\n]*", "", text)
    if re.search(r"^\s*using namespace (?!std::(chrono_|string_|string_view_)?literals)", code, re.M):
        found.append(f"{name}: using namespace in a header")
    if re.search(r"\bnamespace\s*\{", code):
        found.append(f"{name}: anonymous namespace in a header")
    if re.search(r"\bnamespace cofferdam::inline (?!COFFERDAM_ABI\b)", code):
        found.append(f"{name}: opens an inline namespace that is not COFFERDAM_ABI (version.hpp)")
    may_test = name in MAY_TEST or folder_of(name) == "os"
    if not may_test and re.search(r"^\s*#\s*if", code, re.M):
        found.append(f"{name}: #if belongs into os/, core/asio.hpp and detail/core/base64_blocks.hpp")
    if name != "cofferdam/core/asio.hpp" and "ASIO_VERSION" in code:
        found.append(f"{name}: only core/asio.hpp looks at ASIO_VERSION")


def amalgamator():
    spec = importlib.util.spec_from_file_location("amalgamate", ROOT / "single_include/amalgamate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems(root):
    found = []
    include = root / "include"
    headers = {path.relative_to(include).as_posix(): path.read_text(encoding="utf-8")
               for path in sorted((include / "cofferdam").rglob("*.[hi]pp"))}
    tool = amalgamator()
    includes, foreign = {}, {}
    for name, text in headers.items():
        includes[name], foreign[name] = read_includes(name, text, found)
        if name != SOURCE:
            check_text(name, tool.BODIES.sub("\n", text), found)
    for name in headers:
        check_arrows(name, includes[name], headers, found)
    check_bodies(headers, includes, tool.BODIES, found)
    # A header that includes its bodies needs what they need, but is complete when they include it.
    cycles({name: [n for n in names if bodies_of(n) != name] for name, names in includes.items() if name != SOURCE},
           found)
    check_core_target(includes, foreign, found)
    if headers.get(UMBRELLA) != tool.umbrella(include):
        found.append(f"{UMBRELLA}: does not name exactly the public headers; run ./dev amalgamate")
    if headers.get(SOURCE) != tool.source(include):
        found.append(f"{SOURCE}: does not name exactly the bodies; run ./dev amalgamate")
    return found


def header(*includes, rest=""):
    return LICENCE + "#pragma once\n\n" + "".join(f"#include <{name}>\n" for name in includes) + rest


A, B, LOCAL = "cofferdam/core/a.hpp", "cofferdam/os/b.hpp", "cofferdam/backends/local.hpp"
ENTRY = "cofferdam/sandbox.hpp"
LOCAL_BODIES = "cofferdam/backends/impl/local.ipp"
BODIES = f"\n#if !defined(COFFERDAM_SEPARATE_COMPILATION)\n#include <{LOCAL_BODIES}>\n#endif\n"
GOOD = {
    "include/" + VERSION: header(),
    "include/" + A: header(VERSION),
    "include/" + B: header(A, "cofferdam/os/detail/d.hpp"),
    "include/cofferdam/os/detail/d.hpp": header(A, rest="#ifdef X\n#include <x.h>\n#endif\n"),
    "include/" + LOCAL: header(B, rest=BODIES),
    "include/" + LOCAL_BODIES: header(LOCAL, B),
    "include/cofferdam/net/n.hpp": header(A),
    "include/" + ENTRY: header(LOCAL, A),
    "include/cofferdam/testing/t.hpp": header(LOCAL, rest="#include <gtest/gtest.h>\n"),
    "include/" + UMBRELLA: LICENCE + "#pragma once\n\n// Everything but testing/. Written by ./dev amalgamate.\n\n" +
    "".join(f"#include <{n}>\n" for n in sorted([VERSION, A, B, LOCAL, ENTRY, "cofferdam/net/n.hpp"])),
    "include/" + SOURCE: LICENCE + "#pragma once\n\n// The compiled mode: one file of the program includes this. "
    "Written by ./dev amalgamate.\n\n" + amalgamator().ONLY_COMPILED + f"\n#include <{LOCAL_BODIES}>\n",
}
BAD = [
    ("an arrow that points back", {"include/" + A: header(B)}, "wrong arrow to cofferdam/os"),
    ("folders that do not know each other", {"include/" + B: header("cofferdam/net/n.hpp")}, "wrong arrow"),
    ("a header that uses the suites", {"include/" + LOCAL: header("cofferdam/testing/t.hpp")}, "wrong arrow"),
    ("an entry header used", {"include/" + LOCAL: header(ENTRY)}, "those are for programs"),
    ("a detail in an entry header", {"include/" + ENTRY: header("cofferdam/os/detail/d.hpp")}, "detail of another folder"),
    ("a shared detail of a layer above", {"include/cofferdam/detail/os/s.hpp": header(B), "include/" + A: header("cofferdam/detail/os/s.hpp")}, "wrong arrow"),
    ("a shared detail in an entry header", {"include/cofferdam/detail/os/s.hpp": header(B), "include/" + ENTRY: header("cofferdam/detail/os/s.hpp")}, "detail of another folder"),
    ("a foreign detail", {"include/" + LOCAL: header("cofferdam/os/detail/d.hpp")}, "detail of another folder"),
    ("a cycle", {"include/cofferdam/os/detail/d.hpp": header(B)}, "^cycle: "),
    ("the umbrella used", {"include/" + A: header(UMBRELLA)}, "umbrella"),
    ("an unknown folder", {"include/cofferdam/utils/u.hpp": header(A)}, "no folder is called utils"),
    ("a header that the umbrella misses", {"include/cofferdam/core/new.hpp": header(VERSION)}, "public headers"),
    ("no umbrella", {"include/" + UMBRELLA: None}, "public headers"),
    ("an own include under #if", {"include/" + B: header(A, rest=f"#if 1\n#include <{A}>\n#endif\n")}, "under #if"),
    ("quotes", {"include/" + B: header(rest=f'#include "{A}"\n')}, "without angle brackets"),
    ("a missing header", {"include/" + B: header("cofferdam/core/gone.hpp")}, "not there"),
    ("no guard against the single header", {"include/" + A: header()}, "must include <cofferdam/version.hpp>"),
    ("all of Asio", {"include/" + B: header(A, "asio.hpp")}, "all of Asio"),
    ("JSON in core", {"include/" + B: header(A, "boost/json.hpp")}, "must do without"),
    ("GoogleTest in a fake", {"include/cofferdam/testing/fake_x.hpp": header(A, "gtest/gtest.h")}, "must do without"),
    ("TLS by a detour", {"include/" + LOCAL: header("cofferdam/net/n.hpp")}, "belongs to cofferdam::core, but includes"),
    ("bodies under another #if", {"include/" + LOCAL: header(B, rest=BODIES.replace("!defined", "defined"))}, "last three"),
    ("bodies that do not come last", {"include/" + LOCAL: header(B, rest=BODIES + "int more();\n")}, "last three"),
    ("bodies of another header", {"include/" + B: header(A, LOCAL_BODIES)}, "only the header beside it"),
    ("bodies without a header", {"include/cofferdam/os/impl/c.ipp": header(A)}, "there is no cofferdam/os/c.hpp"),
    ("bodies that nobody includes", {"include/" + LOCAL: header(B)}, "does not include it at its end"),
    ("bodies that need who includes their header",
     {"include/" + LOCAL_BODIES: header(LOCAL, "cofferdam/backends/detail/d.hpp"),
      "include/cofferdam/backends/detail/d.hpp": header(LOCAL)}, "^cycle: "),
    ("bodies that src.hpp misses", {"include/" + SOURCE: LICENCE + "#pragma once\n"}, "exactly the bodies"),
    ("no licence", {"include/" + A: "#pragma once\n#include <cofferdam/version.hpp>\n"}, "licence"),
    ("no pragma", {"include/" + A: LICENCE + "#include <cofferdam/version.hpp>\n"}, "#pragma once"),
    ("601 lines", {"include/" + A: header(VERSION, rest="\n" * 600)}, "two headers"),
    ("using namespace", {"include/" + A: header(VERSION, rest="using namespace std;\n")}, "using namespace"),
    ("one mode's namespace", {"include/" + A: header(VERSION, rest="namespace cofferdam::inline v0 {\n}\n")}, "COFFERDAM_ABI"),
    ("anonymous namespace", {"include/" + A: header(VERSION, rest="namespace {\n}\n")}, "anonymous"),
    ("#if elsewhere", {"include/" + A: header(VERSION, rest="#if 1\n#endif\n")}, "#if belongs"),
    ("Asio's version elsewhere", {"include/" + B: header(A, rest="#if ASIO_VERSION\n#endif\n")}, "ASIO_VERSION"),
]

if __name__ == "__main__":
    main(problems, GOOD, BAD)
