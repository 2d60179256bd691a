# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs Python code for the host, the C++ program at the other end of standard input and output.

Needs Python 3.8 or newer, and Linux. Four kinds of processes take part:

* The *driver* exchanges frames with the host and collects the output of runs. It executes no code of users, and it
  imports no modules of users.
* The *nursery* is the only child of the driver. It has imported the modules to preload, keeps no data of runs, and
  forks monitors.
* A *monitor* is a child of the nursery. There is one for each run. It forks the run, waits until the run ends, and
  kills the processes that the run leaves behind.
* A *run* executes one piece of code. The run of a context executes all pieces of code for this context. A run has three
  descriptors from the driver: standard output, standard error, and a channel for messages about this run only.

Runs, monitors and the nursery are subreapers: orphaned descendants become their children. The only child that a monitor
has forked is its run, so it kills all other children after the end of the run. If a process kills a monitor, the kernel
also kills its run. Other processes of that run then become children of the nursery. The nursery kills them, because
they are not among its monitors. One run without a context is always forked in advance, to save time.

A frame between host and driver, in both directions, consists of the length of the rest, the length of the header (both
32 bits, big-endian), the header (a JSON object), and the body (bytes). A message on a channel begins with its length
(32 bits, big-endian). In a message from the run, a letter for the kind of message follows. The rest is a JSON text.
"""
import os

DRIVER = "cofferdam_driver"  # the file name of this program in tracebacks; its frames are removed from them
GREETING = b"\ncofferdam python driver 1\n"
MOST_REPORT = 16 * 1024 * 1024  # maximum bytes of one message from a run: its report, a display or a call
MOST_DISPLAYED = 64 * 1024 * 1024  # maximum bytes of all displays of a run
MOST_BETWEEN = 64 * 1024  # maximum bytes kept of each output stream of a context between two of its runs
MOST_UNREAD = 256 * 1024 * 1024  # maximum bytes of messages that wait until a run reads them
LEFT = 71  # the exit code of a monitor that could not end all processes of its run
LINGER = 0.5  # maximum seconds for which the output of an ended run may stay open
SHORT = 0.01  # a run that ends within this number of seconds is short


def prctl(option, value):
    """Calls Linux's prctl. Returns False if this fails, for example without ctypes. Runs then still work, but some
    processes that they leave behind may not be ended."""
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
    """Returns freed memory to the kernel. Forks and process ends are then faster."""
    try:
        libc.malloc_trim(0)
    except Exception:  # there is no libc, or it is not the GNU libc
        pass


class MemoryKills:
    """The count of out-of-memory kills in this container. Keeps the file of the kernel open, because opening it takes
    much longer than reading it."""

    def __init__(self):
        self.descriptor = None
        for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
            try:
                self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                break
            except OSError:
                pass

    def count(self):
        """Returns the count, or 0 if it cannot be read."""
        try:
            for line in os.pread(self.descriptor, 4096, 0).splitlines():
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
        except (OSError, TypeError, ValueError):
            pass
        return 0


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def read_exactly(fd, count):
    """Reads the next `count` bytes. Returns None if the stream ends earlier."""
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
