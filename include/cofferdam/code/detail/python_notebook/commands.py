# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Runs the commands of a notebook. An interrupt of the cell ends a command with all of its processes.

Commands are processes of the run, so they have its limits and its environment variables, and the monitor of the run
ends them with it. A command that ends may leave processes behind, such as a server; these end with the context.
"""
import codecs
import os
import signal
import string
import subprocess
import sys
import time

from interpreter import STREAMS, flush
from nursery import Nursery

KIND = 0.3  # seconds in which an interrupted command may end by itself; less than the grace of the run
LONGEST_END = 0.5  # maximum seconds for which an interrupted command is killed again and again


class Lines(list):
    """The output of `x = !command`: a list of lines, with IPython's other views of it."""

    @property
    def n(self):
        return "\n".join(self)

    @property
    def s(self):
        return " ".join(self)

    list = l = property(lambda self: self)
    nlstr, spstr = n, s

    def grep(self, pattern, prune=False, field=None):
        import re
        search = pattern if callable(pattern) else (lambda text: re.search(pattern, text, re.IGNORECASE))
        return Lines(line for line in self if bool(search(
            line if field is None else "".join(line.split()[field:field + 1]))) != prune)

    def fields(self, *indices):
        if not indices:
            return [line.split() for line in self]
        rows = [line.split() for line in self]
        return Lines(" ".join(row[index] for index in indices if -len(row) <= index < len(row)) for row in rows)


def run_command(command, keep=False, script=None, both=True, **options):
    """Runs a command and waits until it ends.

    A text is a shell line, a list is a program with its arguments. The command's input is the text `script`, or empty.
    Its output is the output of the cell, or is returned as text if `keep` is true. If `both` is true, its errors are
    part of its output. Returns the exit code and two texts.
    """
    flush()
    own = sys.stdout in STREAMS and sys.stderr in STREAMS
    before = set(Nursery.children())
    source = subprocess.DEVNULL if script is None else file_of(script)
    pipes = subprocess.PIPE if keep or not own else None
    try:
        process = subprocess.Popen(command, shell=isinstance(command, str), stdin=source, stdout=pipes,
                                   stderr=subprocess.STDOUT if both else pipes, start_new_session=True, **options)
        texts = ["", ""]
        if pipes is not None:
            texts = copied(process, keep)
        return process.wait(), texts[0], texts[1]
    except BaseException:
        end_commands(before)
        raise
    finally:
        if script is not None:
            source.close()
        import importlib
        importlib.invalidate_caches()  # the command may have installed or written a module


def file_of(text):
    """Returns an open file with a text that is in memory only."""
    try:
        stream = os.fdopen(os.memfd_create("cell"), "w+b")
    except (AttributeError, OSError):
        import tempfile
        stream = tempfile.TemporaryFile()
    stream.write(text.encode("utf-8", "surrogateescape"))
    stream.seek(0)
    return stream


def copied(process, keep):
    """Reads the output of a process until its end. Returns it if `keep` is true; otherwise writes it to the streams of
    the cell, which its code has replaced, as `%%capture` does."""
    import selectors
    texts, selector = ["", ""], selectors.DefaultSelector()
    with process, selector:
        for index, stream in enumerate((process.stdout, process.stderr)):
            if stream is not None:
                decoder = codecs.getincrementaldecoder("utf-8")("replace")
                selector.register(stream, selectors.EVENT_READ, (index, decoder, []))
        parts = {key.data[0]: key.data[2] for key in selector.get_map().values()}
        while selector.get_map():
            for key, _ in selector.select():
                index, decoder, kept = key.data
                data = os.read(key.fd, 1 << 16)
                text = decoder.decode(data, not data)
                if keep:
                    kept.append(text)
                elif text:
                    (sys.stderr if index else sys.stdout).write(text)
                if not data:
                    selector.unregister(key.fileobj)
        for index, kept in parts.items():
            texts[index] = "".join(kept)
    return texts


class Bash:
    """A shell that keeps its variables, functions and directory from cell to cell.

    The shell is interactive, but has no terminal: an interrupt then ends the cell and not the shell. It reads a fixed
    line from its input for each cell, and the cell itself from a pipe, so that the cell's commands cannot read it.
    """

    def __init__(self):
        self.process = None

    def start(self):
        cells, self.cells = os.pipe()
        self.codes, codes = os.pipe()
        errors = os.dup(2)
        try:
            self.process = subprocess.Popen(
                ["bash", "--norc", "--noprofile", "--noediting", "-i", "+m"], stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL, pass_fds=(cells, codes, errors), start_new_session=True)
        except BaseException:
            os.close(self.cells)
            os.close(self.codes)
            raise
        finally:
            for fd in (cells, codes, errors):
                os.close(fd)
        self.line = ("IFS= read -r -d '' -u {0} cofferdam_cell; eval \"$cofferdam_cell\" {0}<&- {1}>&- </dev/null; "
                     "printf '%d\\n' $? >&{1}\n").format(cells, codes)
        self.answer = "printf 'here\\n' >&%d\n" % codes
        self.say("PS1= PS2= PROMPT_COMMAND=; set +H; unset HISTFILE; exec 2>&{0} {0}>&-\n".format(errors))

    def say(self, line):
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def forget(self):
        """Lets the next cell start another shell."""
        for close in (self.process.stdin.close, lambda: os.close(self.cells), lambda: os.close(self.codes)):
            try:
                close()
            except OSError:
                pass
        self.process = None

    def run(self, cell):
        """Runs a cell. Returns the exit code of its last command, or of the shell if the cell has ended it."""
        if "\0" in cell:
            raise ValueError("code for bash cannot contain a zero character")
        flush()
        if self.process is None or self.process.poll() is not None:
            self.start()
        before = {self.process.pid, *Nursery.children(), *children_of(self.process.pid)}
        try:
            try:
                self.say(self.line)
                data = memoryview(cell.encode("utf-8", "surrogateescape") + b"\0")
                while data:
                    data = data[os.write(self.cells, data):]
            except BrokenPipeError:
                pass
            found = self.heard(None)
            while found == "here\n":  # an answer that came too late for an earlier interrupt
                found = self.heard(None)
            if found is not None:
                return int(found)
            code = self.process.wait()
            self.forget()
            return code if code >= 0 else 128 - code
        except BaseException:
            self.interrupt(before)
            raise

    def heard(self, limit):
        """Returns the next line that the shell sends, or None if the shell ends before or the time `limit` comes."""
        import select
        text = b""
        while not text.endswith(b"\n"):
            if select.select([self.codes], [], [], 0.05)[0]:
                part = os.read(self.codes, 1)
                if not part:
                    return None
                text += part
            elif self.process.poll() is not None or limit is not None and time.monotonic() > limit:
                return None
        return text.decode()

    def interrupt(self, before):
        """Ends the cell that runs, with its processes. Ends the shell too if it does not answer then."""
        if self.process is None:
            return
        try:
            # A shell goes on with the next command if a program has ignored the interrupt. So it is interrupted again.
            for kind in (KIND, 0, 0, 0):
                os.kill(self.process.pid, signal.SIGINT)
                end_commands(before, self.process.pid, kind)
                self.say(self.answer)
                limit = time.monotonic() + 0.1
                line = self.heard(limit)
                while line is not None and line != "here\n":  # the cell had ended before it was interrupted
                    line = self.heard(limit)
                if line is not None:
                    return
        except OSError:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            pass
        self.forget()


def end_commands(before, shell=None, kind=KIND):
    """Ends the processes of a command that was interrupted, also those that have left its session or lost their parent.

    They are the children of this process that did not exist before, and their descendants. Children in the session of
    this process are not commands but the work of other threads. `shell` is a child that stays, but whose new children
    end too. Each process is interrupted once; if the shell has started it since, so is the shell. `kind` is the time in
    seconds until processes that were interrupted are killed.
    """
    limit, kind = time.monotonic() + kind + LONGEST_END, time.monotonic() + kind
    told = set()  # the processes that were interrupted
    while time.monotonic() < limit:
        of_shell = [pid for pid in children_of(shell) if pid not in before] if shell is not None else []
        todo, found = [pid for pid in Nursery.children() if pid not in before and is_command(pid)] + of_shell, []
        while todo:
            pid = todo.pop()
            found.append(pid)
            todo += children_of(pid)
        if not found:
            return
        if told and not told.issuperset(of_shell):  # the shell goes on, because a program has missed the interrupt
            os.kill(shell, signal.SIGINT)
        hard = time.monotonic() >= kind
        for pid in found:
            try:
                if pid not in told or hard:
                    os.kill(pid, signal.SIGKILL if pid in told else signal.SIGINT)
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                pass
        told.update(found)
        time.sleep(0.005)


def is_command(pid):
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False


def children_of(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as stream:
                found += [int(word) for word in stream.read().split()]
    except (OSError, ValueError):
        pass
    return found


def expand(text, names):
    """Replaces `{expression}` and `$name` by values of Python. A text that cannot be expanded stays as it is."""
    try:
        parts = []
        for literal, field, layout, conversion in string.Formatter().parse(text):
            parts.append(with_names(literal, names))
            if field is not None:
                value = eval(field, names)
                value = string.Formatter().convert_field(value, conversion)
                parts.append(format(value, layout or ""))
        return "".join(parts)
    except Exception:
        return text


def with_names(text, names):
    """Replaces `$name` and `$name.attribute` outside single quotes. `$$name` becomes `$name` for the shell."""
    import re

    def value(found):
        word = found.group(1)
        if word.startswith("$"):
            return word
        try:
            return str(eval(word, names))
        except Exception:
            return found.group()

    return re.sub(r"\$(\$?[\w.]+)(?=([^']*'[^']*')*[^']*$)", value, text)
