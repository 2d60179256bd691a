#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Builds the warden for each machine and writes it as a header, or says whether the headers are current.

The same compiler package gives the same bytes, wherever the sources lie: Debian 12's g++ 12.2.0 and binutils 2.40.

    make_images.py [--check]
    make_images.py --program MACHINE PATH     builds one as a file
    make_images.py --extract MACHINE PATH     writes the one in the header as a file; needs no compiler
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[2]
MOST = 48 * 1024
# Machine, compiler, and what stands in the preprocessor where it is ours.
MACHINES = {
    "x86_64": "x86_64-linux-gnu-g++-12",
    "aarch64": "aarch64-linux-gnu-g++-12",
}
FLAGS = """
    -std=c++20 -Os -Wall -Wextra -Werror
    -ffreestanding -nostdlib -static -fno-pic -no-pie -fno-exceptions -fno-rtti -fno-threadsafe-statics
    -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-stack-protector -fcf-protection=none
    -fno-tree-loop-distribute-patterns -fno-ident -ffunction-sections -fdata-sections
    -fno-strict-aliasing -fwrapv
    -Wl,--gc-sections,--build-id=none,-z,noseparate-code,-z,max-page-size=4096,-z,noexecstack -s
"""


def build(machine, output):
    flags = FLAGS.split()
    if machine == "aarch64":
        # No helpers of libgcc's for atomics, and pages of up to 64 KiB.
        flags = [f.replace("max-page-size=4096", "max-page-size=65536") for f in flags if "cf-protection" not in f]
        flags.append("-mno-outline-atomics")
    command = [MACHINES[machine], *flags, f"-ffile-prefix-map={INCLUDE}=.", f"-I{INCLUDE}",
               str(HERE / "warden.cpp"), "-o", str(output)]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"})


def literal(byte, following):
    """A byte as it stands in a string literal, before the next one."""
    if byte in b'"\\?':
        return "\\" + chr(byte)
    if 32 <= byte < 127:
        return chr(byte)
    return f"\\{byte:03o}" if following in b"01234567" else f"\\{byte:o}"


def header(machine, program):
    digest = hashlib.sha256(program).hexdigest()
    lines, line = [], ""
    for place in range(len(program)):
        text = literal(program[place], program[place + 1 : place + 2] or b"8")
        if len(line) + len(text) > 113:
            lines.append(line)
            line = ""
        line += text
    lines.append(line)
    body = "\n".join(f'    "{line}"' for line in lines)
    return f"""// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Written by ./dev warden from warden/program; not to be edited.
#pragma once

#include <cofferdam/version.hpp>

#include <span>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail::wire {{

/// The warden for {machine}, as an ELF file and a zero: a literal, which compilers read faster than numbers.
inline constexpr unsigned char image_{machine}_literal[] =
    // clang-format off
{body};
// clang-format on

/// The file: {len(program)} bytes.
inline constexpr std::span<const unsigned char> image_{machine}(image_{machine}_literal, {len(program)});

/// Of the file.
inline constexpr std::string_view image_{machine}_sha256 =
    "{digest}";

}}  // namespace cofferdam::inline COFFERDAM_ABI::detail::wire
"""


def stored_in(name):
    """The program that a header holds."""
    found = re.search(r"format off\n(.*?);\n// clang", name.read_text() if name.exists() else "", re.S)
    text = "".join(line.strip()[1:-1] for line in found[1].split("\n")) if found else ""
    return bytes(int(octal, 8) if octal else ord(other[-1]) for octal, other in
                 re.findall(r"\\([0-7]{1,3})|(\\?.)", text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--program", nargs=2, metavar=("MACHINE", "PATH"))
    parser.add_argument("--extract", nargs=2, metavar=("MACHINE", "PATH"))
    arguments = parser.parse_args()
    if arguments.program:
        build(arguments.program[0], arguments.program[1])
        return 0
    if arguments.extract:
        path = pathlib.Path(arguments.extract[1])
        path.write_bytes(stored_in(HERE.parent / "detail" / f"image_{arguments.extract[0]}.hpp"))
        path.chmod(0o755)
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for machine in MACHINES:
            output = pathlib.Path(folder) / machine
            build(machine, output)
            program = output.read_bytes()
            name = HERE.parent / "detail" / f"image_{machine}.hpp"
            digest = hashlib.sha256(program).hexdigest()
            print(f"{machine}: {len(program)} bytes, sha256 {digest}")
            if len(program) > MOST:
                print(f"{machine}: more than {MOST} bytes")
                bad += 1
            if arguments.check:
                if stored_in(name) != program or name.read_text() != header(machine, program):
                    print(f"{name.name} is not what these sources give; run ./dev warden")
                    bad += 1
            else:
                name.write_text(header(machine, program))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
