#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Prints a line for each kernel feature or program that the backends use: `yes|no  name: its purpose`."""
import ctypes
import errno
import os
import shutil
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)
# The numbers are the same on x86-64 and arm64.
PIDFD_OPEN, CLOSE_RANGE, OPENAT2, LANDLOCK_CREATE_RULESET = 434, 436, 437, 444


def system_call(number, *arguments):
    result = LIBC.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return result, ctypes.get_errno()


def has(number, *arguments):
    """Returns True if the kernel implements the call. The result of the call with these arguments does not matter."""
    result, code = system_call(number, *arguments)
    if result >= 0 and number != LANDLOCK_CREATE_RULESET and number != CLOSE_RANGE:
        os.close(result)
    return result >= 0 or code not in (errno.ENOSYS, errno.EPERM)


def landlock_abi():
    result, _ = system_call(LANDLOCK_CREATE_RULESET, 0, 0, 1)
    return max(result, 0)


def memory_file_runs():
    try:
        fd = os.memfd_create("probe", 0)
        with open(shutil.which("true"), "rb") as program:
            os.write(fd, program.read())
        return subprocess.run([f"/proc/self/fd/{fd}"], pass_fds=[fd], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def user_namespaces():
    unshare = shutil.which("unshare")
    return bool(unshare) and subprocess.run([unshare, "--user", "true"], check=False, capture_output=True).returncode == 0


def main():
    how = ctypes.create_string_buffer(24)
    landlock = landlock_abi()
    rows = [
        (has(OPENAT2, -100, b".", how, 24), "openat2", "path lookups that cannot leave a folder; slower without"),
        (has(PIDFD_OPEN, os.getpid(), 0), "pidfd", "signals that cannot reach an unrelated process; needed"),
        (has(CLOSE_RANGE, 1000000, 1000001, 0), "close_range", "commands inherit no other descriptors; needed"),
        (memory_file_runs(), "exec of a memory file", "starts the warden, our helper program, without a file on disk"),
        (landlock > 0, f"landlock (ABI {landlock})", "for the jail"),
        (user_namespaces(), "user namespaces without privileges", "for the jail; sysctl kernel.unprivileged_userns_clone, "
         "kernel.apparmor_restrict_unprivileged_userns"),
        (shutil.which("bwrap") is not None, "bubblewrap", "for the jail; apt-get install bubblewrap"),
    ]
    for there, name, purpose in rows:
        print(f"  {'yes' if there else 'no '}  {name}: {purpose}")


main()
