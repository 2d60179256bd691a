# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs Python code for a host that stands at the other end of standard input and output. Python 3.8 or newer, Linux.

Four kinds of processes:

* The *driver* talks to the host and holds what runs print. It executes nobody's code and loads nobody's modules.
* The *nursery*, its one child, has loaded what is to be preloaded, holds no data, and forks.
* A *monitor*, a child of the nursery for each run, forks that, waits for its end and ends what it leaves behind.
* A *run*, for one piece of code, or for all that are said to one context. It has three descriptors from the driver:
  its standard output, its standard error, and a channel that speaks of this run only.

Run, monitor and nursery adopt what their descendants leave behind. A monitor has one child of its own: any other is a
stray, and killed. Where somebody kills a monitor, its run dies with it and the rest falls to the nursery, which knows
its monitors. One run is forked before it is asked for.

Frames, both ways between host and driver: length of the rest, length of the header (32 bits, big end first), header
(a JSON object), body (bytes). On a channel: length, one letter that says what it is, bytes.
"""
import os

DRIVER = "cofferdam_driver"  # the file name of this program in tracebacks; its frames are removed from them
GREETING = b"\ncofferdam python driver 1\n"
MOST_REPORT = 16 * 1024 * 1024  # maximum bytes of one message from a run: its report, a display or a call
MOST_DISPLAYED = 64 * 1024 * 1024  # maximum bytes of all displays of a run
MOST_BETWEEN = 64 * 1024  # maximum bytes that are kept of each output of a context between two runs
MOST_UNREAD = 256 * 1024 * 1024  # maximum bytes that wait until a run reads them
LEFT = 71  # the exit code of a monitor that could not end all processes of its run
LINGER = 0.5  # seconds for which the output of an ended run may stay open


def prctl(option, value):
    """Linux only, and only where there is ctypes; the runner works without, and keeps less in order."""
    global libc
    try:
        if libc is None:
            import ctypes
            libc = ctypes.CDLL(None)
        return libc.prctl(option, value, 0, 0, 0) == 0
    except Exception:
        return False


libc = None
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36


def give_back():
    """Memory that was freed goes back to the kernel: a fork copies what it says of it, an end takes that down."""
    try:
        libc.malloc_trim(0)
    except Exception:  # there is no libc, or it is not the GNU libc
        pass


def memory_events():
    """The file that says how often the kernel has ended something in this container for want of memory; or None."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        if os.access(path, os.R_OK):
            return path
    return None


def memory_kills(path):
    try:
        with open(path) as stream:
            for line in stream:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, TypeError, ValueError):
        pass
    return 0


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def read_exactly(fd, count):
    """The next bytes; None where they end before."""
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
