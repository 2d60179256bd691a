#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Measures what it costs to install cofferdam in each way, and to reach the first command in a wall after `git clone`.

./dev bench install [--runs N] [--only REGEX]

Runs the commands of the guide's page about installing, packaging/docs/install.md, in clean folders, with g++. All
figures are processor seconds (user and system), because these hardly depend on the other programs of the machine. They
are printed as ratios to compiling benchmarks/compile/bare.cpp, a program that uses Asio alone, with the same compiler in
the same run. A figure is the median of N runs (default 1); bare.cpp is compiled before and after each run. ccache is not
used. A way that this machine lacks a program for is listed with the reason.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "packaging"))
import guide  # noqa: E402

BARE = ROOT / "benchmarks" / "compile" / "bare.cpp"


def seconds_of(words, folder, environment, expected=None):
    """Runs a command. Returns its processor seconds. Ends the program if the command fails or does not print `expected`."""
    begin = guide.processor_seconds()
    done = subprocess.run(words, cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode or (expected and expected not in done.stdout):
        sys.exit(f"install: {' '.join(map(str, words))} failed, exit code {done.returncode}:\n{done.stdout[-4000:]}")
    return guide.processor_seconds() - begin


def bare_seconds(folder):
    words = ["g++", "-std=c++20", "-DASIO_STANDALONE", "-c", str(BARE), "-o", "bare.o"]
    return seconds_of(words, folder, dict(os.environ, CCACHE_DISABLE="1"))


def after_clone(folder, hello):
    """Returns the processor seconds from `git clone` to the first command in a wall: {name: (clone, the rest)}."""
    environment = dict(os.environ, CCACHE_DISABLE="1", COFFERDAM_NO_INSTALL="1", COFFERDAM_JOBS="1")
    clone = seconds_of(["git", "clone", "-q", f"file://{ROOT}", "cofferdam"], folder, environment)
    (folder / "hello.cpp").write_text(hello, encoding="utf-8")
    build = ["bash", "-euc", "g++ -std=c++20 -DASIO_STANDALONE -I cofferdam/include hello.cpp -o hello -pthread && ./hello"]
    found = {"`git clone`, then g++ with the include directory": (clone, seconds_of(build, folder, environment, guide.HELLO))}
    quickstart = seconds_of(["./dev", "quickstart"], folder / "cofferdam", environment)
    found["`git clone`, then `./dev quickstart` with all packages installed"] = (clone, quickstart)
    return found


def measure(only, say):
    """Measures once. Returns {name: (installation, build) as seconds, or a reason}, and the seconds of bare.cpp."""
    hello, sections = guide.read_page(guide.PAGE.read_text(encoding="utf-8"))
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        bare = [bare_seconds(Path(folder))]
        reader = guide.Reader(folder, hello)
        reader.environment["CCACHE_DISABLE"] = "1"
        for section in sections:
            if not re.search(only, section.title):
                continue
            reason = reader.missing(section)
            if reason:
                found[section.title] = reason
                continue
            say(section.title)
            error, once, build = reader.run(section)
            if error:
                sys.exit(f"install: {section.title}: {error}")
            found[section.title] = (once, build)
        bare.append(bare_seconds(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        if re.search(only, "git clone"):
            say("git clone")
            found.update(after_clone(Path(folder), hello))
        bare.append(bare_seconds(Path(folder)))
    return found, bare


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    runs, bare = [], []
    for number in range(options.runs):
        found, seconds = measure(options.only, lambda what: print(f"[{number + 1}/{options.runs}] {what}", file=sys.stderr, flush=True))
        runs.append(found)
        bare += seconds
    yardstick = statistics.median(bare)
    print("\nProcessor time, as ratios to compiling bare.cpp, with g++. `once`: installing cofferdam. `program`: configuring,")
    print("building and running hello.cpp.\n")
    print("| way | once | program |\n|---|---:|---:|")
    for name in runs[0]:
        if isinstance(runs[0][name], str):
            print(f"| {name} | not measured: {runs[0][name]} | |")
            continue
        columns = [statistics.median(run[name][column] for run in runs) / yardstick for column in (0, 1)]
        print(f"| {name} | " + " | ".join(f"{value:.1f}" if value >= 0.05 else "0" for value in columns) + " |")
    spread = (max(bare) - min(bare)) / yardstick
    print(f"\n{options.runs} run(s); bare.cpp: {len(bare)} compilations, which differ by {spread:.0%} of their median")


if __name__ == "__main__":
    main()
