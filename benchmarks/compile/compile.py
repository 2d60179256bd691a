#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Measures the cost of compiling programs, as ratios to a program that uses Asio alone (bare.cpp).

./dev bench compile [--runs N] [--compilers g++,clang++-16] [--levels=-O0,-O2] [--cases hello,mcp]

Each case is compiled in both modes, header-only and compiled. The runs of the cases are interleaved. A cell of the
table is the ratio of two medians: of CPU seconds (user and system), of peak memory, or of the size of the object
file.
"""
import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The checksum of bare.cpp. It must not change, because all ratios refer to it.
BARE = "e93b223fc39f8db9822b746ef73994be49858a8783f00f25c35d4ded3969cb20"
# The programs that are compiled.
CASES = {name: HERE / f"{name}.cpp" for name in ("local", "hello", "docker", "e2b")}
CASES["python"] = ROOT / "examples/warm_python.cpp"
CASES["mcp"] = HERE / "mcp.cpp"
CASES["umbrella"] = HERE / "umbrella.cpp"
MODES = {"compiled": ["-DCOFFERDAM_SEPARATE_COMPILATION"], "header-only": []}
FLAGS = ["-std=c++20", "-DASIO_STANDALONE", "-DASIO_NO_DEPRECATED", "-DASIO_HAS_CO_AWAIT", '-DCOFFERDAM_EXAMPLE_DATA="."']


def compile_once(compiler, level, mode_flags, source, folder):
    """Compiles once. Returns the CPU seconds, the peak memory in bytes, and the size of the object file in bytes."""
    made = Path(folder) / "object.o"
    asio = os.environ.get("COFFERDAM_ASIO_INCLUDE_DIR")
    include = ["-I", str(ROOT / "include")] + (["-I", asio] if asio else [])
    words = [compiler, *FLAGS, *mode_flags, level, *include, "-c", str(source), "-o", str(made)]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode != 0:
        sys.exit(f"compile: {' '.join(words)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, made.stat().st_size


def measure(compiler, level, cases, runs):
    """Returns the medians for each pair of a case and a mode: CPU seconds, peak memory, and size of the object file."""
    jobs = {("bare", ""): (HERE / "bare.cpp", [])}
    for mode, flags in MODES.items():
        for name in cases:
            jobs[name, mode] = (CASES[name], flags)
    taken = {job: [] for job in jobs}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            for job, (source, flags) in jobs.items():
                taken[job].append(compile_once(compiler, level, flags, source, folder))
    return {job: [statistics.median(column) for column in zip(*rows)] for job, rows in taken.items()}


def print_table(compiler, level, found, cases):
    bare = found["bare", ""]
    print(f"\n{compiler} {level}; bare Asio: {bare[0]:.1f} s of CPU, {bare[1] / 1e6:.0f} MB, object {bare[2] / 1e6:.2f} MB\n")
    print("| program | compiled: CPU | memory | object | header-only: CPU | memory | object |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in cases:
        cells = [f"{value / unit:.2f}" for mode in MODES for value, unit in zip(found[name, mode], bare)]
        print(f"| {name} | " + " | ".join(cells) + " |")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--compilers", default="g++,clang++-16")
    parser.add_argument("--levels", default="-O0,-O2")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--check", action="store_true", help="only check that bare.cpp is unchanged; compile nothing")
    options = parser.parse_args()
    if hashlib.sha256((HERE / "bare.cpp").read_bytes()).hexdigest() != BARE:
        sys.exit("compile: bare.cpp has changed, but all ratios refer to its old text; restore it")
    if options.check:
        return
    cases = options.cases.split(",")
    for compiler in options.compilers.split(","):
        if not shutil.which(compiler):
            print(f"\n{compiler} is not installed: skipped")
            continue
        for level in options.levels.split(","):
            print_table(compiler, level, measure(compiler, level, cases, options.runs), cases)


if __name__ == "__main__":
    main()
