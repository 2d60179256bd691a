# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Answers the requests of the host."""
import json
import os
import re
import signal
import struct
import sys

from reader import read

GREETING = b"\ncofferdam python reader 2 %d.%d\n" % sys.version_info[:2]


def limit():
    """Limits the memory of this process, because the code may be hostile, and disables core dumps. The host has other
    limits too, for systems where this fails."""
    try:
        import resource
        for what, size in ((resource.RLIMIT_AS, int(sys.argv[2])), (resource.RLIMIT_CORE, 0)):
            hard = resource.getrlimit(what)[1]
            if hard != resource.RLIM_INFINITY:
                size = min(size, hard)
            resource.setrlimit(what, (size, size))
    except (ImportError, OSError, ValueError):
        pass


def take(count):
    parts = []
    while count:
        part = os.read(0, min(count, 1 << 20))
        if not part:
            sys.exit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view):]


def prepare():
    sys.setrecursionlimit(3000)
    read(b"import json\nfor x in [1]:\n  print(json.dumps({'a': f'{x}'}))\n")  # executes what is slow the first time
    return GREETING


def answer_to(source, minor):
    answer = json.dumps(read(bytes(source), minor)).encode("ascii", "replace")
    answer = re.sub(rb"\\ud[89a-f][0-9a-f]{2}", rb"\\ufffd", answer) if b"\\ud" in answer else answer
    return struct.pack(">I", len(answer)) + answer


def main():
    limit()
    seconds = int(sys.argv[1]) / 1000
    put(prepare())
    while True:
        size, minor = struct.unpack(">IB", take(5))
        source = take(size)
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the signal has no handler, so it ends this process
        answer = answer_to(source, minor)
        signal.setitimer(signal.ITIMER_REAL, 0)
        put(answer)


if __name__ == "__main__":
    main()
