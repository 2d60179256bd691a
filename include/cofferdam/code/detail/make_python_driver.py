#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Writes python_driver.hpp, python_code_reader.hpp, pyodide_driver.hpp and pyodide_reader.hpp from the programs beside
them, or says whether they are current.

    make_python_driver.py [--check]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {"python_driver": "driver", "python_code_reader": "code reader"}  # file: what it is called
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
namespace cofferdam::inline v0::detail {{

{body}
}}  // namespace cofferdam::inline v0::detail
"""


def header(source, program="python_driver"):
    names, text = literals(source, program, program + ".py")
    return whole(program + ".py", text + "\n" + listing(program, names, "The program of the Python " + PROGRAMS[program]))


def pyodide_header(driver, run):
    names, text = literals(driver, "pyodide_driver", "pyodide_driver.js")
    run_names, run_text = literals(run, "pyodide_run", "pyodide_run.py")
    return whole("pyodide_driver.js and pyodide_run.py", text + run_text + "\n" +
                 listing("pyodide_driver", names, "The program of the Pyodide driver") + "\n" +
                 listing("pyodide_run", run_names, "What of it runs in Pyodide, behind parts of python_driver"))


def pyodide_reader_header(reader):
    names, text = literals(reader, "pyodide_reader", "pyodide_reader.js")
    return whole("pyodide_reader.js", text + "\n" + listing("pyodide_reader", names, "What runs the code reader in Pyodide"))


def read(name):
    return (HERE / name).read_text(encoding="utf-8")


def main(arguments):
    wanted = {program + ".hpp": header(read(program + ".py"), program) for program in PROGRAMS}
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
