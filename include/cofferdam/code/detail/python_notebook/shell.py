# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""What get_ipython() returns: it runs magics and commands, as an object that libraries take for IPython's."""
import sys

from commands import Lines, expand, run_command


class UsageError(Exception):
    """A magic that does not exist, or that was used wrongly."""


UsageError.__module__ = "IPython.core.error"
ALIASES = {"ls": "ls -F", "ll": "ls -lF", "cat": "cat", "cp": "cp", "mv": "mv", "rm": "rm", "mkdir": "mkdir",
           "rmdir": "rmdir", "man": "man"}
WITHOUT_EFFECT = {"load_ext", "reload_ext", "unload_ext", "autoreload", "config", "colors", "xmode", "precision",
                  "matplotlib", "automagic", "pdb"}


class Nothing:
    """Accepts any method call. Libraries register for events of IPython, which a notebook here does not have."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


class Shell:
    """What get_ipython() returns."""

    def __init__(self, notebook):
        self.notebook = notebook
        self.user_ns = self.user_global_ns = notebook.interpreter.main.__dict__
        self.events, self.config, self.lines, self.cells = Nothing(), {}, {}, {}

    def names(self, depth):
        frame = sys._getframe(depth + 1)
        return self.user_ns if frame.f_locals is self.user_ns else {**self.user_ns, **frame.f_locals}

    def system(self, command):
        self.notebook.system(expand(command, self.names(1)))

    system_piped = system_raw = system

    def getoutput(self, command, split=True, depth=0):
        _, text, _ = run_command(expand(command, self.names(1 + depth)), keep=True)
        return Lines(text.splitlines()) if split else text

    def run_line_magic(self, name, line, _stack_depth=1):
        made = self.lines.get(name) or getattr(self.notebook, "line_" + name, None)
        if made is None and name in WITHOUT_EFFECT:
            return None
        if made is None and name not in ALIASES:
            known = name in self.cells or self.notebook.cell_magic(name)
            raise UsageError("Line magic function `%%%s` not found%s." % (
                name, " (But cell magic `%%%%%s` exists, did you mean that instead?)" % name if known else ""))
        line = expand(line, self.names(_stack_depth)) if name not in ("timeit", "time") else line
        return self.notebook.system(ALIASES[name] + " " + line) if made is None else made(line)

    def run_cell_magic(self, name, line, cell):
        made = self.cells.get(name) or self.notebook.cell_magic(name)
        if made is None:
            known = name in self.lines or hasattr(self.notebook, "line_" + name) or name in ALIASES
            raise UsageError("Cell magic `%%%%%s` not found%s." % (
                name, " (But line magic `%%%s` exists, did you mean that instead?)" % name if known else ""))
        self.notebook.begins = sys._getframe(1).f_lineno
        return made(expand(line, self.user_ns) if name not in ("timeit", "time") else line, cell)

    def magic(self, text):
        name, _, line = text.lstrip("%").partition(" ")
        return self.run_line_magic(name, line.strip(), 2)

    def run_cell(self, source, *ignored, **ignored_too):
        return self.notebook.run_body(source, 0)

    def ev(self, expression):
        return eval(expression, self.user_ns)

    def ex(self, source):
        exec(source, self.user_ns)

    def push(self, variables, interactive=True):
        self.user_ns.update(variables)

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        name = magic_name or function.__name__
        if magic_kind in ("line", "line_cell"):
            self.lines[name] = function
        if magic_kind in ("cell", "line_cell"):
            self.cells[name] = function

    def set_custom_exc(self, *ignored):
        pass

    def enable_gui(self, *ignored):
        pass


Shell.__module__, Shell.__qualname__ = "IPython.core.interactiveshell", "InteractiveShell"
