# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Executes code in the process of one run."""
import fcntl
import os
import signal
import sys

from base import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from interpreter import STREAMS, Channel, Interpreter, flush


def begin_run(nursery, descriptors, is_context):
    """Runs the process of a run from its fork on. Returns the exit code."""
    parent = os.getppid()
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 1)
    if os.getppid() != parent:
        return 70
    out, err, link = descriptors
    for fd in nursery.descriptors:
        os.close(fd)
    nursery.link.detach()
    try:  # a high number, so that code that closes low descriptors does not close the channel
        channel_fd = fcntl.fcntl(link, fcntl.F_DUPFD_CLOEXEC, 900)
        os.close(link)
    except (OSError, ValueError):
        channel_fd = link
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    import io
    sys.stdin = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), "utf-8", "surrogateescape", line_buffering=True)
    sys.stderr = io.TextIOWrapper(open(2, "wb", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    STREAMS.extend([sys.stdout, sys.stderr])
    sys.path.append(os.getcwd())  # last, so that files there do not replace other modules
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()  # otherwise all runs would draw the same numbers
    channel = Channel(channel_fd)
    one = Interpreter(channel, is_context)
    signal.signal(signal.SIGINT, one.on_interrupt if is_context else signal.default_int_handler)
    one.rehearse()
    code = 0
    while True:
        try:
            request = channel.receive()
        except OSError:
            request = None
        except ValueError:
            return 70
        if request is None:
            break
        if "code" not in request:
            continue  # the answer to a call whose caller has stopped waiting
        code = one.run(request)
        request = None
        if not is_context:
            break
    leave()
    return code


def leave():
    """Does what Python does before it exits: joins threads, calls atexit functions, and flushes the streams."""
    import atexit
    import threading
    for step in (getattr(threading, "_shutdown", None), getattr(atexit, "_run_exitfuncs", None)):
        try:
            if step is not None:
                step()
        except SystemExit:
            pass
        except BaseException:
            import traceback
            traceback.print_exc()
    flush()
