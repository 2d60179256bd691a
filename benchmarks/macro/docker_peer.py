#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Measures docker-py for docker_bench: reads one operation per line, and prints how many seconds it took.

`start IMAGE` starts a container, `true` runs the program of that name in it, and `name` prints its name. `open IMAGE`
starts another container as the agent framework Stirrup does, with `tail` as its first program. `close` stops and
removes this second container. `end` removes both.
"""
import sys
import time

import docker

client = docker.from_env()
kept = None
opened = None


def begin(image):
    return client.containers.run(image, ["tail", "-f", "/dev/null"], detach=True, network_mode="none", mem_limit="1g")


for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    start = time.perf_counter()
    if word == "start":
        kept = begin(rest)
    elif word == "true":
        code, _ = kept.exec_run(["true"], demux=True)
        assert code == 0, code
    elif word == "open":
        opened = begin(rest)
    elif word == "close":
        opened.stop()
        opened.remove()
    elif word == "name":
        print(kept.name, flush=True)
        continue
    elif word == "end":
        for one in (kept, opened):
            try:
                if one is not None:
                    one.remove(force=True)
            except docker.errors.NotFound:
                pass
        print(0, flush=True)
        break
    print(time.perf_counter() - start, flush=True)
