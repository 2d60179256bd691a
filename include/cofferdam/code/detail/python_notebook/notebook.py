# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Makes the process of a context a notebook: magics, get_ipython(), IPython.display, forms of tables and charts.

Only code interpreters use this program. The driver of plain Python does not contain it.
"""
import builtins
import os
import sys
import types

from cells import is_quiet, translate
from charts import chart_of
from commands import Bash, run_command
from imports import Modules
from interpreter import rich_forms
from shell import ALIASES, WITHOUT_EFFECT, Shell, UsageError
from shows import CHART, DATA, DisplayHandle, is_of, plain, table_data
from values import is_large, remember_source

# The error of a bash context whose cell ends with a failing command. As at E2B, it has the exit code, and no name.
BashError = type("", (Exception,), {"__module__": "builtins"})
MOST_STEPS = 400000  # maximum steps (see is_large) of a list or dict that is also sent as JSON
HIDDEN = {"magic", "cofferdam_bash"}  # names that begin as cell magics do, but that users do not call
MAGIC_CODE = "<magic>"  # the file name of code that a magic was given
PROGRAMS = {"bash", "sh", "perl", "ruby", "python", "python2", "python3", "pypy"}
FORMS = {"html": "text/html", "HTML": "text/html", "markdown": "text/markdown", "latex": "text/latex",
         "svg": "image/svg+xml", "SVG": "image/svg+xml", "javascript": "application/javascript",
         "js": "application/javascript"}


class Notebook:
    def __init__(self, interpreter):
        self.interpreter = interpreter
        self.filename, self.begins = "<code>", 0
        self.shell = Shell(self)
        self.shown_figures = []  # the figures that this cell has shown
        self.bash = Bash()  # the shell of a context whose language is bash
        self.previous = None  # the directory before the last %cd
        sys.meta_path.insert(0, Modules(self))
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].show = self.show_function()

    # -- what the interpreter calls

    def prepare(self, names):
        """Adds the names of a notebook to the names of the user, before a cell runs."""
        names.update(get_ipython=self.get_ipython, display=self.display)
        self.shown_figures = []
        self.find_packages()

    @staticmethod
    def find_packages():
        """Makes the packages importable that pip has installed since the interpreter was started."""
        import importlib
        import site
        importlib.invalidate_caches()
        try:
            users = site.getusersitepackages()  # where pip installs if it may not write to the interpreter's folder
        except Exception:
            return
        if users not in sys.path and os.path.isdir(users):
            sys.path.insert(max(0, len(sys.path) - 1), users)

    def cell(self, source, filename):
        """Returns the code of a cell, which is the cell itself unless it is one magic without `%`."""
        if filename != MAGIC_CODE:
            self.filename = filename
        word = source.strip()
        if "\n" not in word and self.is_automatic(word.split(" ")[0] if word else "", word):
            return "get_ipython().run_line_magic(%r, %r)" % tuple((word + " ").split(" ", 1))
        return source

    @staticmethod
    def translated(source):
        """Returns the Python for a cell that is not valid Python, and the text that tracebacks show."""
        made = translate(source)
        left = source.split("\n")[made.count("\n") + 1:]  # the body of a cell magic
        return made, "\n".join([made, *left])

    def is_automatic(self, name, line):
        """Returns True if a cell of one line is a magic without its `%`: `ls -l`, `pwd`, `pip install x`."""
        if not name.isidentifier() or name in self.interpreter.main.__dict__ or hasattr(builtins, name):
            return False
        if name not in ALIASES and not hasattr(self, "line_" + name) and name not in self.shell.lines:
            return False
        rest = line[len(name):].lstrip()
        return rest[:1] not in tuple("=(.[,:;") or rest[:1] == "." and rest[:2] in (".", "./", "..")

    def value(self, value, source):
        """Returns the value to show of a cell, or None."""
        return None if is_quiet(source) else value

    def displays(self, value):
        """Returns True if a value has shown itself."""
        method = None if isinstance(value, type) else getattr(type(value), "_ipython_display_", None)
        if method is None:
            return False
        try:
            value._ipython_display_()
            return True
        except NotImplementedError:
            return False

    def raw_forms(self, value):
        """Returns the forms that a notebook adds to those of `rich_forms`: {MIME type: content}."""
        forms = {}
        for method, kind in (("_repr_e2b_data_", DATA), ("_repr_e2b_chart_", CHART)):
            try:
                forms[kind] = getattr(value, method)()
            except Exception:
                pass
        try:
            if is_of(value, "pandas", "DataFrame"):
                forms[DATA] = table_data(value)
            elif is_of(value, "matplotlib.figure", "Figure"):
                self.shown_figures.append(value)
                forms["image/png"] = picture(value)
                forms[CHART] = chart_of(value)
            elif type(value) in (list, dict) and not is_large(value, MOST_STEPS):
                forms["application/json"] = plain(value, True)
        except Exception:
            pass
        return forms

    def show_function(self):
        """Returns the function that replaces plt.show. It is no method, because matplotlib sets an attribute of it."""
        def show(*ignored, **ignored_too):
            self.interpreter.show_figures()

        return show

    def has_shown(self, figure):
        return any(one is figure for one in self.shown_figures)

    # -- names of IPython

    def get_ipython(self):
        return self.shell

    def display(self, *values, include=None, exclude=None, metadata=None, transient=None, display_id=None, raw=False,
                clear=False, **ignored):
        for value in values:
            if raw:
                self.publish(value)
            else:
                self.interpreter.show(value, False)
        if display_id is not None:
            return DisplayHandle("%x" % id(values) if display_id is True else display_id, self.display)
        return None

    def publish(self, data, *ignored, **ignored_too):
        forms = rich_forms(Bundle(data))
        if "text/plain" not in data:
            del forms["text/plain"]
        self.interpreter.send_display(forms, False)

    # -- execution

    def run_body(self, source, line):
        """Runs code that a magic was given, as lines after the line `line` of the cell. Returns its value."""
        return self.interpreter.execute("\n" * line + source, self.filename, line > 0)

    def run_expression(self, source):
        """Runs a statement in the cell's names. Returns its value."""
        return self.interpreter.execute(source, MAGIC_CODE)

    def system(self, command):
        self.shell.user_ns["_exit_code"] = run_command(command)[0]

    def run_program(self, words, line, cell):
        """Runs a cell as the input of a program. Options: --out NAME, --err NAME, --no-raise-error."""
        import shlex
        try:
            given = shlex.split(line)
        except ValueError as failure:
            raise UsageError(str(failure)) from None
        keep, raises, rest = {}, True, []
        while given:
            word, _, name = given.pop(0).partition("=")
            if word in ("--out", "--err"):
                keep[word] = name or (given.pop(0) if given else "")
            elif word == "--no-raise-error":
                raises = False
            elif word in ("--bg", "--proc"):
                raise UsageError("the option %s is not supported; start the command with `&`" % word)
            else:
                rest.append(word + ("=" + name if name else ""))
        words = [*words, *rest]
        if not words:
            raise UsageError("%%script needs the name of a program")
        try:
            code, out, err = run_command(words, keep=bool(keep), script=cell, both=False)
        except FileNotFoundError:
            raise FileNotFoundError("Couldn't find program: %r" % words[0]) from None
        for name, text, stream in (("--out", out, sys.stdout), ("--err", err, sys.stderr)):
            if name in keep:
                self.shell.user_ns[keep[name]] = text
            elif keep:
                stream.write(text)
        self.shell.user_ns["_exit_code"] = code
        if code and raises:
            import subprocess
            raise subprocess.CalledProcessError(code, cell.encode("utf-8", "surrogateescape"), out or None, err or None)

    def cell_magic(self, name):
        """Returns the function of a cell magic, or None."""
        if name in PROGRAMS:
            words = [sys.executable, "-"] if name in ("python", "python3") else [name]
            return lambda line, cell: self.run_program(words[:1] if line else words, line, cell)
        if name in FORMS:
            kind = {"js": "Javascript", "javascript": "Javascript"}.get(name, name.capitalize())
            return lambda line, cell: self.publish({"text/plain": "<IPython.core.display.%s object>" % (
                kind.upper() if kind in ("Html", "Svg") else kind), FORMS[name]: cell})
        return getattr(self, "cell_" + {"!": "sx", "system": "sx", "file": "writefile"}.get(name, name), None)

    def cell_script(self, line, cell):
        self.run_program([], line, cell)

    def cell_cofferdam_bash(self, line, cell):
        """Runs a cell of a context whose language is bash. The host puts this magic before the code."""
        import shlex
        changed = self.interpreter.environment
        known = [name for name in changed if name.isascii() and name.isidentifier()]
        if known:
            self.bash.run("\n".join("export %s=%s" % (name, shlex.quote(os.environ[name])) for name in known))
        try:
            code = self.bash.run(cell)
        finally:
            if known and self.bash.process is not None:
                self.bash.run("\n".join("unset " + name if changed[name] is None else "export %s=%s" % (
                    name, shlex.quote(changed[name])) for name in known))
        if code:
            raise BashError(str(code))

    def cell_sx(self, line, cell):
        return self.shell.getoutput((line + "\n" + cell).strip())

    def cell_time(self, line, cell):
        return self.timed(lambda: self.run_body(cell, self.begins))

    def cell_timeit(self, line, cell):
        return self.measured(line, cell)

    def cell_capture(self, line, cell):
        import contextlib
        import io
        words = line.split()
        name = next((word for word in words if not word.startswith("-")), None)
        out, err, shown = io.StringIO(), io.StringIO(), []
        real = self.interpreter.send_display
        with contextlib.ExitStack() as stack:
            if "--no-stdout" not in words:
                stack.enter_context(contextlib.redirect_stdout(out))
            if "--no-stderr" not in words:
                stack.enter_context(contextlib.redirect_stderr(err))
            if "--no-display" not in words:
                self.interpreter.send_display = lambda forms, *ignored: shown.append(forms)
                stack.callback(setattr, self.interpreter, "send_display", real)
            value = self.run_body(cell, self.begins)
            if value is not None:
                self.interpreter.show(value, False)
            if "--no-display" not in words:
                self.interpreter.show_figures()
        if name:
            self.shell.user_ns[name] = Captured(out.getvalue(), err.getvalue(), shown, self)

    def cell_writefile(self, line, cell):
        words = line.split()
        append = bool(words) and words[0] in ("-a", "--append")
        name = " ".join(words[1 if append else 0:]).strip("'\"")
        if not name:
            raise UsageError("the following arguments are required: filename")
        path = os.path.expanduser(name)
        print(("Appending to %s" if append else "Overwriting %s" if os.path.exists(path) else "Writing %s") % path)
        with open(path, "a" if append else "w", encoding="utf-8") as stream:
            stream.write(cell)

    # -- line magics

    def line_pip(self, line):
        import shlex
        program = sys.executable or "python3"
        self.system("%s -m pip %s" % (shlex.quote(program), line))
        self.find_packages()
        if line.split()[:1] in (["install"], ["uninstall"]):
            print("Note: you may need to restart the kernel to use updated packages.")

    def line_sx(self, line):
        return self.shell.getoutput(line)

    line_system = line_sx

    def line_cd(self, line):
        words = line.split()
        quiet = "-q" in words
        target = " ".join(word for word in words if word != "-q").strip("'\"") or "~"
        if target == "-":
            if self.previous is None:
                raise UsageError("%cd -: No previous directory to change to.")
            target = self.previous
        before = os.getcwd()
        try:
            os.chdir(os.path.expanduser(target))
        except OSError as failure:
            raise type(failure)(failure.errno, failure.strerror, target) from None
        self.previous = before
        if sys.path and sys.path[-1] == before:
            sys.path[-1] = os.getcwd()
        if not quiet:
            print(os.getcwd())

    def line_pwd(self, line):
        return os.getcwd()

    def line_env(self, line):
        name, separator, value = line.partition("=")
        if not separator:
            name, separator, value = line.partition(" ")
        name, value = name.strip(), value.strip()
        if not name:
            return dict(os.environ)
        if not separator:
            if name not in os.environ:
                raise UsageError("Environment does not have key: %s" % name)
            return os.environ[name]
        os.environ[name] = value
        print("env: %s=%s" % (name, value))

    line_set_env = line_env

    def users_names(self):
        names = self.shell.user_ns
        own = {"display", "get_ipython", *self.interpreter.extras}
        return sorted(name for name in names if not name.startswith("_") and name not in own)

    def line_who_ls(self, line):
        kinds = line.split()
        names = self.shell.user_ns
        return [name for name in self.users_names() if not kinds or type(names[name]).__name__ in kinds]

    def line_who(self, line):
        names = self.line_who_ls(line)
        if not names:
            print("No variables match your requested type." if line else "Interactive namespace is empty.")
            return
        for start in range(0, len(names), 8):
            print("\t ".join(names[start:start + 8]) + "\t")

    def line_whos(self, line):
        names = self.line_who_ls(line)
        if not names:
            return self.line_who(line)
        rows = [("Variable", "Type", "Data/Info")]
        for name in names:
            value = self.shell.user_ns[name]
            text = "n=%d" % len(value) if isinstance(value, (list, tuple, dict, set)) else " ".join(repr(value).split())
            rows.append((name, type(value).__name__, text[:60]))
        wide = [max(len(row[index]) for row in rows) for index in (0, 1)]
        rows.insert(1, ("-" * (sum(wide) + 6 + 9), "", ""))
        for row in rows:
            print(("%-*s   %-*s   %s" % (wide[0], row[0], wide[1], row[1], row[2])).rstrip())

    def line_reset(self, line):
        for name in self.users_names():
            del self.shell.user_ns[name]

    def line_time(self, line):
        return self.timed(lambda: self.run_expression(line))

    def line_timeit(self, line):
        return self.measured(line, "")

    def line_run(self, line):
        import shlex
        words = shlex.split(line)
        while words and words[0].startswith("-"):
            words.pop(0)
        if not words:
            raise UsageError("you must provide at least a filename.")
        path = os.path.expanduser(words[0])
        path = path if os.path.exists(path) or path.endswith(".py") else path + ".py"
        with open(path, "rb") as stream:
            code = compile(stream.read(), path, "exec")
        before, names = sys.argv, {"__name__": "__main__", "__file__": path, "__builtins__": builtins}
        sys.argv = [path, *words[1:]]
        try:
            exec(code, names)
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise
        finally:
            sys.argv = before
        for name in ("__name__", "__file__", "__builtins__"):
            names.pop(name, None)
        self.shell.user_ns.update(names)

    def line_lsmagic(self, line):
        lines = sorted({name[5:] for name in dir(self) if name.startswith("line_")} | set(ALIASES) | WITHOUT_EFFECT)
        cells = sorted({name[5:] for name in dir(self) if name.startswith("cell_")} - HIDDEN | PROGRAMS | set(FORMS))
        print("Available line magics:\n%s\n\nAvailable cell magics:\n%s" % (
            "  ".join("%" + name for name in lines), "  ".join("%%" + name for name in cells)))

    def line_pinfo(self, line, whole=False):
        name = line.strip()
        if name.startswith("%"):
            return print("The magics are listed by %lsmagic.")
        try:
            value = self.look_up(name)
        except Exception:
            return print("Object `%s` not found." % name)
        import inspect
        about = []
        try:
            about.append(("Signature", "%s%s" % (name, inspect.signature(value))))
        except (TypeError, ValueError):
            pass
        about.append(("Type", type(value).__name__))
        if not callable(value) and not isinstance(value, types.ModuleType):
            about.append(("String form", str(value)[:2000]))
        text = None
        if whole:
            try:
                text = inspect.getsource(value)
            except (OSError, TypeError):
                pass
        about.append(("Source", "\n" + text) if text else ("Docstring", inspect.getdoc(value) or "<no docstring>"))
        try:
            about.append(("File", inspect.getfile(value)))
        except (OSError, TypeError):
            pass
        for title, text in about:
            print("%-13s%s" % (title + ":", text))

    def line_pinfo2(self, line):
        self.line_pinfo(line, True)

    def look_up(self, name):
        """Returns the value of a dotted name. Calls nothing except attribute access."""
        first, *rest = name.split(".")
        names = self.shell.user_ns
        value = names[first] if first in names else getattr(builtins, first)
        for part in rest:
            value = getattr(value, part)
        return value

    # -- time

    @staticmethod
    def timed(work):
        import time
        begun, before = time.perf_counter(), os.times()
        try:
            return work()
        finally:
            took, after = time.perf_counter() - begun, os.times()
            user, kernel = after[0] - before[0], after[1] - before[1]
            print("CPU times: user %s, sys: %s, total: %s\nWall time: %s" % (
                duration(user), duration(kernel), duration(user + kernel), duration(took)))

    def measured(self, line, cell):
        """Measures code many times: `%timeit [-n loops] [-r repeats] [-q] [-o] code`, and as a cell magic."""
        import ast
        import time
        options, line = {}, line.strip()
        while line[:2] in ("-n", "-r", "-p", "-q", "-o", "-t", "-c"):
            flag, line = line[:2], line[2:].lstrip()
            if flag in ("-n", "-r", "-p"):
                number, _, line = line.partition(" ")
                try:
                    options[flag] = int(number)
                except ValueError:
                    raise UsageError("%%timeit: %s needs a number" % flag) from None
            else:
                options[flag] = True
            line = line.lstrip()
        setup, source = (line, cell) if cell else ("pass", line)
        if not source.strip():
            return None
        frame = ast.parse("def measure(_loops, _clock):\n    pass\n    _begun = _clock()\n    for _loop in _loops:\n"
                          "        pass\n    return _clock() - _begun\n")
        remember_source(MAGIC_CODE, source)
        body = frame.body[0].body
        body[2].body = ast.parse(translate(source), MAGIC_CODE).body
        body[0:1] = ast.parse(setup or "pass", MAGIC_CODE).body
        own = {}
        exec(compile(ast.fix_missing_locations(frame), MAGIC_CODE, "exec"), self.shell.user_ns, own)
        measure, repeats, loops = own["measure"], max(1, options.get("-r", 7)), options.get("-n", 0)
        import itertools

        def take(count):
            return measure(itertools.repeat(None, count), time.perf_counter)

        if not loops:
            loops = 1
            while take(loops) < 0.2 and loops < 10 ** 9:
                loops *= 10
        runs = [take(loops) / loops for _ in range(repeats)]
        mean = sum(runs) / len(runs)
        spread = (sum((run - mean) ** 2 for run in runs) / len(runs)) ** 0.5
        text = "%s \xb1 %s per loop (mean \xb1 std. dev. of %d run%s, %s loop%s each)" % (
            duration(mean), duration(spread), repeats, "s" * (repeats != 1), format(loops, ","), "s" * (loops != 1))
        if "-q" not in options:
            print(text)
        if "-o" in options:
            return types.SimpleNamespace(average=mean, stdev=spread, best=min(runs), worst=max(runs), loops=loops,
                                         repeat=repeats, timings=runs)


def duration(seconds):
    """Returns a time with its unit and three digits, as IPython writes it."""
    if seconds >= 60:
        minutes, rest = divmod(int(seconds), 60)
        return "%dmin %ds" % (minutes, rest) if minutes < 60 else "%dh %dmin %ds" % (*divmod(minutes, 60), rest)
    for unit, size in (("s", 1), ("ms", 1e-3), ("\xb5s", 1e-6), ("ns", 1e-9)):
        if seconds >= size or unit == "ns":
            return "%.3g %s" % (seconds / size, unit)


def picture(figure):
    import io
    stream = io.BytesIO()
    figure.savefig(stream, format="png", bbox_inches="tight")
    return stream.getvalue()


class Bundle:
    """Forms that were given as they are."""

    def __init__(self, forms):
        self.forms = dict(forms)

    def __repr__(self):
        return str(self.forms.get("text/plain", ""))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.forms


class Captured:
    """The output of a cell under `%%capture name`."""

    def __init__(self, out, err, shown, notebook):
        self.stdout, self.stderr, self.notebook = out, err, notebook
        self.outputs = [Bundle(forms) for forms in shown]

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for one in self.outputs:
            self.notebook.interpreter.send_display(one.forms, False)

    __call__ = show
