# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Executes the code of one run, and manages its namespace, its channel to the driver and its output."""
import base64
import json
import os
import struct
import sys

from base import DRIVER, MOST_REPORT, read_exactly, write_all
from values import MOST_VALUE, Encoder, clean, decode, is_plain, remember_source, set_classes, set_variables, text_of


class HostFunctionError(RuntimeError):
    """The error that is raised if a function of the host fails, or refuses the call."""


class Final(BaseException):
    """Ends the run with a final value. Derives from BaseException, so that `except Exception` does not catch it."""


class Channel:
    """The run's end of its connection to the driver. Several threads may use it at once."""

    def __init__(self, descriptor):
        import threading
        self.descriptor = descriptor
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.calling = threading.Lock()
        self.calls = 0
        self.waiting = b""

    def send(self, letter, what, waits=False):
        """Sends a message. If `waits` is true, sends it only together with the next message, which must follow soon."""
        if os.getpid() != self.owner:
            return  # a process that the run has forked must not use the channel
        body = json.dumps(what, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        with self.lock:
            text = self.waiting + struct.pack(">I", len(body) + 1) + letter + body
            self.waiting = text if waits else b""
            if not waits:
                self.write(text)

    def write(self, text):
        write_all(self.descriptor, text)

    def receive(self):
        """Returns the next message from the driver, or None if the channel has ended."""
        size = read_exactly(self.descriptor, 4)
        body = size and read_exactly(self.descriptor, struct.unpack(">I", size)[0])
        return json.loads(body) if body else None

    def call(self, name, arguments):
        if os.getpid() != self.owner:
            raise HostFunctionError("%s: only the process of the run can call host functions, not its forks" % name)
        encoder = Encoder(MOST_REPORT // 4)
        encoded = {}
        for key, value in arguments.items():
            encoded[key] = encoder.encode(value)
            if not encoder.exact:
                raise TypeError("%s: the argument %r cannot be passed to the host: %s" % (
                    name, key, why_inexact(key, value, *encoder.first)))
        with self.calling:
            self.calls += 1
            mine = self.calls
            self.send(b"c", {"call": mine, "name": name, "arguments": encoded})
            while True:
                reply = self.receive()
                if reply is None:
                    raise HostFunctionError("%s: the connection to the host is closed" % name)
                if reply.get("call") == mine:
                    break
        if reply.get("ok"):
            return decode(reply.get("value"))
        kind = {"TypeError": TypeError, "NameError": NameError}.get(reply.get("type"), HostFunctionError)
        raise kind(reply.get("message", "the host function failed"))


def why_inexact(name, value, kind, why):
    """Returns a message with the reason why an argument cannot be sent to the host, and with what to pass instead.

    `kind` is the type of the first value in it without a JSON form. `why` is the reason, or None if that is the type.
    """
    called = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        called = "%s.%s" % (kind.__module__, called)
    text = "it %s of the type %s" % ("is" if type(value) is kind else "holds a value", called)
    if why:
        return clean("%s; %s (the limits are 4 MiB and 100 levels)" % (text, why))
    if type(value) is not kind:
        name = "value"
    instead = "numbers, strings, bytes, lists or dicts"
    enum = sys.modules.get("enum")
    if enum and issubclass(kind, enum.Enum):
        instead = name + ".value"
    elif issubclass(kind, (int, float, str, bytes, list, tuple, dict, set, frozenset)):
        plain = [one for one in kind.__mro__ if one.__module__ == "builtins"]
        instead = "%s(%s)" % (plain[0].__name__, name)
    elif hasattr(kind, "tolist") and hasattr(kind, "__len__"):
        instead = name + ".tolist()"
    elif hasattr(kind, "tolist") and hasattr(kind, "item"):  # a scalar of numpy
        instead = name + ".item()"
    elif hasattr(kind, "__index__") or hasattr(kind, "__float__"):
        instead = "%s(%s)" % ("int" if hasattr(kind, "__index__") else "float", name)
    return clean("%s, which cannot be sent to the host; pass %s" % (text, instead))


class Silence(Channel):
    """A channel that sends nothing."""

    def write(self, text):
        pass


TYPES = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "bytes": bytes}


def make_function(channel, about):
    """Returns a Python function that calls a function of the host. Its signature is the same, so Python checks the
    arguments."""
    names, only_by_name, defaults, kinds = [], [], [], {}
    for one in about["parameters"]:
        if "default" in one:
            defaults.append(decode(one["default"]))
        (only_by_name if defaults and "default" not in one else names).append(one["name"])
        if one.get("type") in TYPES:
            kinds[one["name"]] = TYPES[one["type"]]
    given = names + only_by_name
    call = "call"
    while call in given or call == about["name"]:
        call += "_"
    source = "def %s(%s):\n    return %s(%r, {%s})\n" % (
        about["name"], ", ".join(names + (["*"] if only_by_name else []) + only_by_name), call, about["name"],
        ", ".join("%r: %s" % (name, name) for name in given))
    made = {"__name__": "__main__", call: channel.call}
    exec(compile(source, DRIVER, "exec"), made)
    function = made[about["name"]]
    function.__defaults__ = tuple(defaults)
    function.__annotations__ = kinds
    function.__doc__ = about.get("doc") or None
    return function


FORMATS = [("_repr_html_", "text/html"), ("_repr_markdown_", "text/markdown"), ("_repr_svg_", "image/svg+xml"),
           ("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"), ("_repr_latex_", "text/latex"),
           ("_repr_json_", "application/json"), ("_repr_javascript_", "application/javascript"),
           ("_repr_pdf_", "application/pdf")]


# Values of exactly these types, not of subclasses, have only a text form.
WITHOUT_FORMS = {int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset}


def rich_forms(value, notebook=None):
    """Returns {MIME type: text, or base64 if the type is binary}."""
    forms = {"text/plain": text_of(value, 65536)}
    raw = {} if notebook is None else notebook.raw_forms(value)
    has_methods = not isinstance(value, type) and type(value) not in WITHOUT_FORMS
    if not has_methods and not raw:
        return forms
    if has_methods:
        try:
            bundle = value._repr_mimebundle_(include=None, exclude=None)
            raw.update(bundle[0] if type(bundle) is tuple else bundle)
        except Exception:
            pass
    for method, mime in FORMATS if has_methods else ():
        if mime in raw:
            continue
        try:
            made = getattr(value, method)()
        except Exception:  # the method does not exist or fails; the other forms are kept
            continue
        raw[mime] = made[0] if type(made) is tuple else made
    add_forms(forms, raw)
    return forms


def add_forms(forms, raw):
    """Adds `raw`, the forms that the methods of a value have returned, to `forms` as `rich_forms` returns them.

    A form that is too large is left out with a message.
    """
    most = MOST_REPORT - (1 << 20)  # bytes of these forms, as they are sent
    left = most
    for mime, made in raw.items():
        try:
            if made is None or type(mime) is not str or not is_plain(mime):
                continue
            if isinstance(made, (bytes, bytearray)):
                made = base64.b64encode(made).decode()
            elif not isinstance(made, str):
                made = json.dumps(made, allow_nan=False)
            made = clean(made)
            size = len(json.dumps({mime: made}, ensure_ascii=False).encode("utf-8"))
        except Exception:
            continue
        if size > left:
            complain("display: %s of %d bytes was left out; the forms of a value may have at most %d bytes together"
                     % (mime, len(made.encode("utf-8")), most))
            continue
        left -= size
        forms[mime] = made


def complain(text):
    """Prints a line to the standard error of the code."""
    try:
        print(text, file=sys.stderr, flush=True)
    except Exception:  # the code has closed or replaced sys.stderr
        pass


# The request of Interpreter.rehearse.
REHEARSAL = """{"code": "1 + 1", "variables": {"_": 1}}"""


NOTEBOOK = []  # the class Notebook, if the host has sent the program of notebooks


class Interpreter:
    """Executes the pieces of code of one run process, one after the other."""

    def __init__(self, channel, is_context):
        self.channel = channel
        self.is_context = is_context
        self.pid = os.getpid()
        self.count = 0
        self.running = False
        self.loop = None
        self.notebook = None
        self.main = sys.modules["__main__"]
        self.extras = {}  # functions that the request has added: name -> function
        self.environment = {}  # environment variables that the request has changed: name -> old value
        if NOTEBOOK and is_context:
            self.notebook = NOTEBOOK[0](self)

    def on_interrupt(self, number, frame):
        if self.running:
            raise KeyboardInterrupt

    def limit(self, limits):
        for name, value in limits.items():
            import resource
            number = getattr(resource, "RLIMIT_" + name)
            _, hard = resource.getrlimit(number)
            if hard != resource.RLIM_INFINITY:
                value = min(value, hard)
            resource.setrlimit(number, (value, value))

    def prepare(self, request):
        names = self.main.__dict__
        for name, value in request.get("environment", {}).items():
            before = os.environ.get(name)
            os.environ[name] = value
            self.environment[name] = before
        for name, given in self.extras.items():
            if names.get(name) is given:
                del names[name]
        self.extras = {}
        self.final = None
        self.has_final = False
        functions = request.get("functions", ())
        if functions and HostFunctionError.__name__ not in names:
            self.extras[HostFunctionError.__name__] = HostFunctionError
        for about in functions:
            self.extras[about["name"]] = make_function(self.channel, about)
        if "final" in request:
            self.extras[request["final"]["name"]] = self.make_final(**request["final"])
        names.update(self.extras)
        names["display"] = self.display
        if self.notebook is not None:
            self.notebook.prepare(names)
        names["__builtins__"] = __builtins__ if type(__builtins__) is not dict else sys.modules["builtins"]
        set_classes(request.get("classes", ()))
        set_variables(names, request.get("variables", {}))

    def restore_environment(self):
        for name, value in self.environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self.environment = {}

    def make_final(self, name, fields):
        def final(*args, **kwargs):
            if fields:
                if len(args) > len(fields):
                    raise TypeError("%s takes the arguments %s" % (name, ", ".join(fields)))
                values = dict(zip(fields, args))
                for key, value in kwargs.items():
                    if key in values or key not in fields:
                        raise TypeError("%s: the argument %r is unknown or given twice" % (name, key))
                    values[key] = value
                missing = [field for field in fields if field not in values]
                if missing:
                    raise TypeError("%s: missing arguments: %s" % (name, ", ".join(missing)))
            elif len(args) == 1 and not kwargs:
                values = {"output": args[0]}
            elif kwargs and not args:
                values = kwargs
            else:
                raise TypeError("%s takes one value or keyword arguments" % name)
            self.final = values
            self.has_final = True
            raise Final()

        final.__name__ = final.__qualname__ = name
        return final

    def display(self, *values, **ignored):
        """Shows values in the richest form they have."""
        for value in values:
            self.show(value, False)

    def show(self, value, is_value):
        if self.notebook is not None and self.notebook.displays(value):
            return
        # The value of the last expression is sent together with the report, unless figures are displayed after it.
        waits = is_value and "matplotlib.pyplot" not in sys.modules
        self.send_display(rich_forms(value, self.notebook), is_value, waits)

    def send_display(self, forms, is_value, waits=False):
        flush()
        self.channel.send(b"d", {"forms": forms, "value": is_value}, waits)

    def show_figures(self):
        """Sends the open figures of matplotlib, as a notebook does, and closes them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        import io
        for number in list(pyplot.get_fignums()):
            picture = io.BytesIO()
            figure = pyplot.figure(number)
            if self.notebook is not None:
                if not self.notebook.has_shown(figure):
                    self.show(figure, False)
                continue
            figure.savefig(picture, format="png", bbox_inches="tight")
            forms = {"text/plain": text_of(figure, 4096)}
            add_forms(forms, {"image/png": picture.getvalue()})
            self.send_display(forms, False)
        pyplot.close("all")

    def evaluate(self, code):
        """Executes a code object of the user. If its top level contains `await`, executes it in an event loop."""
        result = eval(code, self.main.__dict__)
        if code.co_flags & 0x80:  # CO_COROUTINE
            import asyncio
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self.loop)
            result = self.loop.run_until_complete(result)
        return result

    def execute(self, source, filename, is_part=False):
        """Executes source code. Returns the value of the last statement if that is an expression, else None. If
        `is_part` is true, the code is a part of a cell whose source is already known by this file name."""
        import _ast as ast  # the names below come from this module; importing `ast` would cost each fork time
        if self.notebook is not None:
            source = self.notebook.cell(source, filename)
        if not is_part:
            remember_source(filename, source)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = None
        try:
            tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST | flags, True)
        except (SyntaxError, ValueError):
            if self.notebook is None:
                raise
        if tree is None:
            source, shown = self.notebook.translated(source)
            if not is_part:
                remember_source(filename, shown)
            tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST | flags, True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        if last is not None:
            last = compile(last, filename, "eval", flags, True)
        if tree.body:
            self.evaluate(compile(tree, filename, "exec", flags, True))
        return None if last is None else self.evaluate(last)

    def run(self, request):
        """Executes one request and sends its report. Returns the exit code.

        The request has the member "code". It has the other members only if they are not empty.
        """
        self.count += 1
        filename = "<code %d>" % self.count if self.is_context else "<code>"
        report = {"ok": False, "exit": 1}
        failure = None
        try:
            try:
                self.limit(request.get("limits", {}))
                self.prepare(request)
                self.running = True
                if "prelude" in request:
                    self.execute(request["prelude"], "<prelude>")
                value = self.execute(request["code"], filename)
                if self.notebook is not None:
                    value = self.notebook.value(value, request["code"])
                if self.has_final:  # the code has caught the exception that ends the run
                    value = None
                if value is not None:
                    self.report_value(report, value)
                    self.main.__dict__["_"] = value
                self.show_figures()
            finally:
                self.running = False
            report.update(ok=True, exit=0)
        except Final:
            report.update(ok=True, exit=0)
        except SystemExit as ended:
            report["exit"] = exit_code(ended.code)
            report["ok"] = report["exit"] == 0
            if report["exit"]:
                report["error"] = {"type": "SystemExit", "message": text_of(ended.code, 4096)}
        except BaseException as raised:
            failure = raised
            report["exit"] = 130 if isinstance(raised, KeyboardInterrupt) else 1
        if os.getpid() != self.pid:  # a process that the code has forked ends here too
            if failure is not None:
                describe(failure, filename)
            flush()
            os._exit(report["exit"])
        try:
            self.restore_environment()
            if failure is not None:
                report["error"] = describe(failure, filename, request.get("quiet", False))
            if self.has_final:
                encoder = Encoder(MOST_VALUE)
                report["final"] = {key: encoder.encode(value) for key, value in self.final.items()}
                report["final_exact"] = encoder.exact
        except BaseException as worse:  # probably out of memory
            report["error"] = {"type": type(failure or worse).__name__, "message": "(no description)"}
        failure = None
        flush()
        try:
            try:
                self.channel.send(b"r", report)
            except (MemoryError, RecursionError, ValueError) as worse:
                error = {"type": type(worse).__name__, "message": "the value of the last expression cannot be sent"}
                self.channel.send(b"r", {"ok": False, "exit": 1, "error": error})
        except OSError:  # the code has closed the channel
            pass
        return report["exit"]

    def rehearse(self):
        """Executes a small piece of code without output, before the first request arrives.

        A fork shares memory pages with its parent, until it first writes to a page and the kernel copies it. Python
        writes reference counts even where it only reads, so these copies take most of the time of a short run.
        """
        import linecache
        names = self.main.__dict__
        before = dict(names)
        real, self.channel = self.channel, Silence(self.channel.descriptor)
        try:
            request = json.loads(REHEARSAL)
            struct.unpack(">I", struct.pack(">I", 7))
            self.run(request)
        finally:
            self.channel = real
            self.count = 0
            names.clear()
            names.update(before)
            for name in ("<code>", "<code 1>"):
                linecache.cache.pop(name, None)

    def report_value(self, report, value):
        encoder = Encoder(MOST_VALUE)
        report["value"] = encoder.encode(value)
        report["value_exact"] = encoder.exact
        report["text"] = text_of(value, 65536)
        self.show(value, True)


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 255
    try:
        print(code, file=sys.stderr)
    except Exception:
        pass
    return 1


STREAMS = []  # the streams of the run, even if its code replaces sys.stdout and sys.stderr


def flush():
    for stream in [sys.stdout, sys.stderr, *STREAMS]:
        try:
            stream.flush()
        except Exception:
            pass


def describe(failure, filename, quiet=False):
    """Prints the traceback of an exception unless `quiet` is true. Returns a description of it for the report."""
    import traceback
    line, step = 0, failure.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == filename:
            line = step.tb_lineno
        step = step.tb_next
    if isinstance(failure, SyntaxError) and failure.filename == filename and line == 0:
        line = failure.lineno or 0
    whole = traceback.TracebackException(type(failure), failure, failure.__traceback__)
    todo, seen = [whole], set()
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.stack = traceback.StackSummary.from_list([at for at in one.stack if at.filename != DRIVER])
            todo += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or [])]
    text = clean("".join(whole.format()))
    if len(text) > 65536:
        text = text[:32768] + "\n... (left out) ...\n" + text[-32768:]
    try:
        message = clean(str(failure))
    except Exception:
        message = "(the exception's __str__ failed)"
    try:
        if not quiet:
            sys.stderr.write(text)
    except Exception:
        try:
            write_all(2, text.encode("utf-8"))
        except OSError:
            pass
    return {"type": type(failure).__name__, "message": message[:65536], "line": line, "traceback": text}
