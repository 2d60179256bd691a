#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Writes python_driver.hpp, python_code_reader.hpp, pyodide_driver.hpp and pyodide_reader.hpp from the programs beside
them, or checks that they are current.

    make_python_driver.py [--check]
"""
import ast
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("base", "files", "values", "interpreter", "run", "nursery", "driver")  # of python_driver/, in this order
IN_PYODIDE = ("files", "values", "interpreter")  # those that Pyodide runs, too
MARK = "driver_ends"  # no line of the driver holds `)driver_ends"`
PIECE = 8000  # bytes of one literal; compilers promise no more than 64 KiB


def literals(source, name, file):
    """The text as constants, and their names."""
    if ")" + MARK + '"' in source or not source.isascii():
        sys.exit(file + ": has the mark of its own end in it, or is not ASCII")
    pieces, current = [], ""
    for line in source.splitlines(True):
        if len(current) + len(line) > PIECE:
            pieces.append(current)
            current = ""
        current += line
    pieces.append(current)
    names, text = [], ""
    for number, piece in enumerate(pieces, 1):
        names.append(f"{name}_{number}")
        text += f'inline constexpr std::string_view {names[-1]} = R"{MARK}({piece}){MARK}";\n'
    return names, text


def listing(name, names, what):
    return f"""/// {what}, in pieces that follow one another.
inline constexpr std::array<std::string_view, {len(names)}> {name} = {{
    {", ".join(names)}}};
"""


def whole(files, body):
    return f"""// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Written by ./dev driver from {files}.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <string_view>

// clang-format off
namespace cofferdam::inline COFFERDAM_ABI::detail {{

{body}
}}  // namespace cofferdam::inline COFFERDAM_ABI::detail
"""


def joined(name, source):
    """A module as a part of one program: without its license and docstring, and its imports of other modules."""
    if name == MODULES[0]:
        return source
    body = ast.parse(source).body
    source = "".join(source.splitlines(True)[body[0].end_lineno:])
    return re.sub(rf"^from ({'|'.join(MODULES)}) import .*\n", "", source, flags=re.M).strip("\n") + "\n"


def driver_header(sources):
    """From the modules' sources by name."""
    text, names = "", {}
    for name in MODULES:
        part = joined(name, sources[name])
        names[name], pieces = literals(part if name == MODULES[0] else "\n\n" + part, "python_driver_" + name, name + ".py")
        text += pieces
    return whole("python_driver/*.py", text + "\n" +
                 listing("python_driver", sum(names.values(), []), "The program of the Python driver") + "\n" +
                 listing("python_driver_in_pyodide", sum((names[each] for each in IN_PYODIDE), []),
                         "The part of it that runs in Pyodide, too"))


def reader_header(source):
    names, text = literals(source, "python_code_reader", "python_code_reader.py")
    return whole("python_code_reader.py", text + "\n" +
                 listing("python_code_reader", names, "The program of the Python code reader"))


def pyodide_header(driver, run):
    names, text = literals(driver, "pyodide_driver", "pyodide_driver.js")
    run_names, run_text = literals(run, "pyodide_run", "pyodide_run.py")
    return whole("pyodide_driver.js and pyodide_run.py", text + run_text + "\n" +
                 listing("pyodide_driver", names, "The program of the Pyodide driver") + "\n" +
                 listing("pyodide_run", run_names, "The part of it that runs in Pyodide, after python_driver_in_pyodide"))


def pyodide_reader_header(reader):
    names, text = literals(reader, "pyodide_reader", "pyodide_reader.js")
    return whole("pyodide_reader.js", text + "\n" + listing("pyodide_reader", names, "The program that runs the code reader in Pyodide"))


def read(name):
    return (HERE / name).read_text(encoding="utf-8")


def main(arguments):
    wanted = {"python_driver.hpp": driver_header({name: read(f"python_driver/{name}.py") for name in MODULES}),
              "python_code_reader.hpp": reader_header(read("python_code_reader.py"))}
    wanted["pyodide_driver.hpp"] = pyodide_header(read("pyodide_driver.js"), read("pyodide_run.py"))
    wanted["pyodide_reader.hpp"] = pyodide_reader_header(read("pyodide_reader.js"))
    for name, text in wanted.items():
        path = HERE / name
        if arguments != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(name + " is not what its sources give; run make_python_driver.py")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
