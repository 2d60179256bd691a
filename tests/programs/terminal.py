# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""A pseudo-terminal in which a program runs, for tests."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

LIMIT = 60  # seconds


class Failure(Exception):
    pass


class Terminal:
    """A program in a pseudo-terminal of its own."""

    def __init__(self, words, variables, rows=30, columns=100, cwd=None):
        self.child, self.master = pty.fork()
        if self.child == 0:
            try:
                if cwd is not None:
                    os.chdir(cwd)
                os.execvpe(words[0], words, dict(variables, TERM="xterm"))
            finally:
                os._exit(99)
        self.resize(rows, columns)
        self.seen = b""
        self.has_ended = False

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # all programs in the terminal have ended
            piece = b""
        self.has_ended = piece == b""
        self.seen += piece
        return not self.has_ended

    def expect(self, pattern):
        """Reads until the pattern is seen, and forgets the output up to its end."""
        end = time.monotonic() + LIMIT / 2
        while time.monotonic() < end:
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return found
            if not self.read(0.2) and self.has_ended:
                break
        raise Failure(f"the terminal shows {self.seen!r}; expected {pattern!r}")

    def expect_kept(self, pattern, after):
        """Reads until the pattern is seen behind the output `after`, and keeps all output."""
        end = time.monotonic() + LIMIT / 2
        while time.monotonic() < end and not re.search(pattern, self.seen[len(after):]):
            if not self.read(0.2) and self.has_ended:
                raise Failure(f"the terminal shows {self.seen!r}; expected {pattern!r}")

    def is_raw(self):
        return not termios.tcgetattr(self.master)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def status(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.child, os.WNOHANG)
            if pid:
                while self.read(0):
                    pass
                return os.waitstatus_to_exitcode(status)
        os.kill(self.child, signal.SIGKILL)
        raise Failure(f"does not end; the terminal shows {self.seen!r}")

    def close(self):
        os.close(self.master)
