#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Writes python_driver.hpp from python_driver.py, or says whether it is current.

    make_python_driver.py [--check]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
MARK = "driver_ends"  # no line of the driver holds `)driver_ends"`
PIECE = 8000  # bytes of one literal; compilers promise no more than 64 KiB


def header(source):
    if ")" + MARK + '"' in source or not source.isascii():
        sys.exit("python_driver.py: has the mark of its own end in it, or is not ASCII")
    pieces, current = [], ""
    for line in source.splitlines(True):
        if len(current) + len(line) > PIECE:
            pieces.append(current)
            current = ""
        current += line
    pieces.append(current)
    names, text = [], ""
    for number, piece in enumerate(pieces, 1):
        names.append(f"python_driver_{number}")
        text += f'inline constexpr std::string_view {names[-1]} = R"{MARK}({piece}){MARK}";\n'
    listed = ", ".join(names)
    return f"""// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Written by ./dev driver from python_driver.py.
#pragma once

#include <cofferdam/version.hpp>

#include <array>
#include <string_view>

// clang-format off
namespace cofferdam::inline v0::detail {{

{text}
/// The program of the Python driver, in pieces that follow one another.
inline constexpr std::array<std::string_view, {len(names)}> python_driver = {{
    {listed}}};

}}  // namespace cofferdam::inline v0::detail
"""


def main(arguments):
    wanted = header((HERE / "python_driver.py").read_text(encoding="utf-8"))
    path = HERE / "python_driver.hpp"
    if arguments == ["--check"]:
        if not path.is_file() or path.read_text(encoding="utf-8") != wanted:
            print("python_driver.hpp is not what python_driver.py gives; run make_python_driver.py")
            return 1
        return 0
    path.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
