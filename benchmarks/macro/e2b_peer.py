#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Measures E2B's official Python SDK: reads one operation per line, and prints its elapsed seconds and its CPU
seconds."""
import os
import sys
import time

from e2b import Sandbox

SIZE = 64 * 1024 * 1024
sandbox = Sandbox.create()
content = b"x" * SIZE

for line in sys.stdin:
    word = line.strip()
    if word == "file" and sandbox.files.exists("peer"):
        sandbox.files.remove("peer")  # each round writes a new file
    begin, busy = time.perf_counter(), time.process_time()
    if word == "command":
        assert sandbox.commands.run("true").exit_code == 0
    elif word == "output":
        result = sandbox.commands.run(f"head -c {SIZE} /dev/zero | tr '\\0' x", timeout=0)
        assert len(result.stdout) == SIZE, len(result.stdout)
    elif word == "stream":
        seen = 0

        def arrived(text):
            global seen
            seen += len(text)

        sandbox.commands.run(f"head -c {SIZE} /dev/zero | tr '\\0' x", on_stdout=arrived, timeout=0)
        assert seen == SIZE, seen
    elif word == "small":
        sandbox.files.write("small", b"hello")
    elif word == "upload":
        sandbox.files.write("peer", content)
    elif word == "file":
        with open(os.environ["COFFERDAM_E2B_FILE"], "rb") as file:
            sandbox.files.write("peer", file)
    elif word == "download":
        assert len(sandbox.files.read("peer", format="bytes")) == SIZE
    elif word == "end":
        sandbox.kill()
        print("0 0", flush=True)
        break
    print(time.perf_counter() - begin, time.process_time() - busy, flush=True)
